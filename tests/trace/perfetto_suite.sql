-- The tables of Perfetto's trace processor as views over those that trace2sqlite loads (perfetto_suite.py). They know no test.
-- What they add is what the processor always has: a main thread of each process, process and thread 0, numbers of processes and
-- threads that are named by text, prefixes of arguments, names of operations in JSON. format(name) is the format of the file.

CREATE TEMP VIEW _above AS  -- each track with itself and the tracks above it
WITH RECURSIVE above(track, ancestor, distance) AS (
  SELECT track, track, 0 FROM tracks
  UNION ALL SELECT above.track, t.parent, distance + 1 FROM above JOIN tracks t ON t.track = above.ancestor WHERE t.parent IS NOT NULL AND distance < 100)
SELECT above.track, t.id, t.kind, t.pid, distance FROM above JOIN tracks t ON t.track = above.ancestor;

CREATE TEMP VIEW _process AS  -- upid is 0 for the process without a number, and for number 0
SELECT track, CASE WHEN pid IN ('', '0') THEN 0 ELSE id END AS upid,
  CASE WHEN pid GLOB '*[^0-9-]*' THEN 1000000000 + id ELSE CAST(pid AS INTEGER) END AS pid,
  COALESCE(name, CASE WHEN pid GLOB '*[^0-9-]*' THEN pid END) AS name, sort_index
FROM tracks WHERE kind = 'process';

CREATE TEMP VIEW process AS
SELECT upid, upid AS id, pid, name, 'process ' || upid AS arg_set_id, sort_index AS _sort_index FROM _process
UNION ALL SELECT 0, 0, 0, NULL, 'process 0', NULL WHERE NOT EXISTS (SELECT 1 FROM _process WHERE upid = 0);

CREATE TEMP VIEW _thread AS  -- a thread without a number is the main thread
SELECT t.track, CASE WHEN p.upid = 0 AND t.tid IN ('', '0') THEN 0 ELSE t.id END AS utid,
  CASE WHEN t.tid = '' THEN p.pid WHEN t.tid GLOB '*[^0-9-]*' THEN 1000000000 + t.id ELSE CAST(t.tid AS INTEGER) END AS tid,
  COALESCE(t.name, CASE WHEN t.tid GLOB '*[^0-9-]*' THEN t.tid END) AS name, t.sort_index, p.upid
FROM tracks t LEFT JOIN _process p ON p.track = t.parent WHERE t.kind = 'thread';

CREATE TEMP VIEW _run AS  -- what runs on a CPU: in Perfetto's files spans of a CPU, in JSON states of a thread
SELECT s.id, ts, coalesce(dur, -1) AS dur, CAST(substr(s.track, 5) AS INTEGER) AS cpu, CAST(span_id AS INTEGER) AS tid, name, args ->> 'end_state' AS end_state,
  args ->> 'prio' AS priority, NULL AS of_thread
FROM spans s WHERE kind = 'cpu'
UNION ALL
SELECT id, ts, coalesce(dur, -1) AS dur, args ->> 'cpu', NULL, NULL, NULL, NULL, substr(track, 7) FROM spans
WHERE kind = 'state' AND track LIKE 'state:%' AND name = 'Running' AND args ->> 'cpu' IS NOT NULL;

CREATE TEMP VIEW thread AS
SELECT utid, utid AS id, tid, name, upid, 'thread ' || utid AS arg_set_id, sort_index AS _sort_index FROM _thread
UNION ALL SELECT 2000000000 + upid, 2000000000 + upid, pid, NULL, upid, NULL, NULL FROM process p
  WHERE upid <> 0 AND NOT EXISTS (SELECT 1 FROM _thread t WHERE t.upid = p.upid AND t.tid = p.pid)
UNION ALL SELECT DISTINCT 3000000000 + tid, 3000000000 + tid, tid, name, NULL, NULL, NULL FROM _run r
  WHERE tid <> 0 AND NOT EXISTS (SELECT 1 FROM _thread t WHERE t.tid = r.tid)
UNION ALL SELECT 0, 0, 0, NULL, 0, NULL, NULL WHERE NOT EXISTS (SELECT 1 FROM _thread WHERE utid = 0);

CREATE TEMP VIEW _utid_of AS  -- of a track that is a thread's, or below one
SELECT a.track, t.utid FROM _above a JOIN tracks k ON k.id = a.id JOIN _thread t ON t.track = k.track
WHERE NOT EXISTS (SELECT 1 FROM _above b WHERE b.track = a.track AND b.kind = 'thread' AND b.distance < a.distance);

CREATE TEMP VIEW _upid_of AS  -- of a track that is a process's, or below one, and not a thread's
SELECT a.track, p.upid FROM _above a JOIN tracks k ON k.id = a.id JOIN _process p ON p.track = k.track
WHERE a.track NOT IN (SELECT track FROM _utid_of);

CREATE TEMP VIEW slice AS  -- instants are slices without a duration
SELECT 2 * s.id AS id, 2 * s.id AS slice_id, s.ts, coalesce(s.dur, -1) AS dur, t.id AS track_id, s.category, s.name, s.depth,
  CASE WHEN s.args IS NOT NULL THEN 'slice ' || (2 * s.id) END AS arg_set_id, s.args AS _args
FROM spans s JOIN tracks t USING (track) WHERE s.kind NOT IN ('cpu', 'state')
UNION ALL
SELECT 2 * i.id + 1, 2 * i.id + 1, i.ts, 0, t.id, i.category, i.name, NULL,
  CASE WHEN i.args IS NOT NULL THEN 'slice ' || (2 * i.id + 1) END, i.args
FROM instants i JOIN tracks t USING (track);

CREATE TEMP VIEW flow AS
SELECT id, COALESCE(2 * from_span, 2 * from_instant + 1) AS slice_out, COALESCE(2 * to_span, 2 * to_instant + 1) AS slice_in FROM flows;

CREATE TEMP VIEW args AS
WITH RECURSIVE tree(arg_set_id, place, flat_key, key, type, value, atom) AS (
  SELECT arg_set_id, printf('%06d', j.id), prefix || j.key, prefix || j.key, j.type, j.value, j.atom
  FROM (SELECT *, CASE (SELECT name FROM format) WHEN 'Chrome JSON' THEN 'args.' ELSE 'debug.' END AS prefix FROM slice) s, json_each(s._args) j
  UNION ALL
  SELECT arg_set_id, place || printf('%06d', j.id), flat_key || CASE tree.type WHEN 'array' THEN '' ELSE '.' || j.key END,
    tree.key || CASE tree.type WHEN 'array' THEN '[' || j.key || ']' ELSE '.' || j.key END, j.type, j.value, j.atom
  FROM tree, json_each(tree.value) j WHERE tree.type IN ('array', 'object'))
SELECT arg_set_id || '/' || place AS id, arg_set_id, flat_key, key, CASE type WHEN 'text' THEN 'string' WHEN 'integer' THEN 'int' WHEN 'real' THEN 'real' ELSE 'bool' END AS value_type,
  CASE WHEN type IN ('integer', 'true', 'false') THEN atom END AS int_value, CASE type WHEN 'text' THEN atom END AS string_value,
  CASE type WHEN 'real' THEN atom END AS real_value, CAST(atom AS TEXT) AS display_value
FROM tree WHERE type NOT IN ('array', 'object', 'null')
UNION ALL SELECT arg_set_id, arg_set_id, 'process_sort_index_hint', 'process_sort_index_hint', 'int', _sort_index, NULL, NULL, CAST(_sort_index AS TEXT)
  FROM process WHERE _sort_index IS NOT NULL
UNION ALL SELECT arg_set_id, arg_set_id, 'thread_sort_index_hint', 'thread_sort_index_hint', 'int', _sort_index, NULL, NULL, CAST(_sort_index AS TEXT)
  FROM thread WHERE _sort_index IS NOT NULL;

CREATE TEMP VIEW _counter_track AS
SELECT 4000000000 + row_number() OVER (ORDER BY min(id)) AS id, track, name, counter_id, key, unit,
  name || CASE WHEN counter_id IS NOT NULL AND (SELECT name FROM format) = 'Chrome JSON' THEN ' id: ' || counter_id ELSE '' END
    || CASE WHEN key <> '' THEN ' ' || key ELSE '' END AS full_name
FROM counters GROUP BY track, name, counter_id, key, unit;

CREATE TEMP VIEW counter AS
SELECT c.id, c.ts, c.value, t.id AS track_id FROM counters c
JOIN _counter_track t ON t.track IS c.track AND t.name IS c.name AND t.counter_id IS c.counter_id AND t.key IS c.key AND t.unit IS c.unit;

CREATE TEMP VIEW counter_track AS SELECT id, full_name AS name, unit FROM _counter_track;
CREATE TEMP VIEW process_counter_track AS SELECT c.id, full_name AS name, unit, upid FROM _counter_track c JOIN _upid_of USING (track);
CREATE TEMP VIEW thread_counter_track AS SELECT c.id, full_name AS name, unit, utid FROM _counter_track c JOIN _utid_of USING (track);

CREATE TEMP VIEW _track AS  -- those on which something happens, and those above them that are not processes and threads
SELECT t.id, t.track, t.kind, t.parent,
  CASE WHEN kind IN ('thread', 'process') THEN NULL
    WHEN name IS NULL AND (SELECT name FROM format) = 'Chrome JSON'
    THEN (SELECT s.name FROM slice s WHERE s.track_id = t.id ORDER BY s.ts, s.id LIMIT 1) ELSE name END AS name
FROM tracks t
WHERE EXISTS (SELECT 1 FROM _above a WHERE a.id = t.id AND (a.distance = 0 OR t.kind NOT IN ('thread', 'process'))
  AND a.track IN (SELECT track FROM spans UNION ALL SELECT track FROM instants));

CREATE TEMP VIEW track AS
SELECT id, name, (SELECT p.id FROM _track p WHERE p.track = t.parent AND p.kind NOT IN ('thread', 'process')) AS parent_id,
  CASE WHEN track LIKE 'async:g:%' THEN 'legacy_async_global_slice' WHEN track LIKE 'async:p%' THEN 'legacy_async_process_slice' END AS type
FROM _track t
UNION ALL SELECT id, name, NULL, NULL FROM counter_track;

CREATE TEMP VIEW thread_track AS SELECT t.id, t.name, utid FROM _track t JOIN _utid_of USING (track) WHERE kind <> 'state';
CREATE TEMP VIEW process_track AS SELECT t.id, t.name, upid FROM _track t JOIN _upid_of USING (track) WHERE kind <> 'state';

-- the module slices.with_context
CREATE TEMP VIEW thread_or_process_slice AS
SELECT s.*, t.name AS thread_name, t.utid, t.tid, p.upid, p.name AS process_name, p.pid
FROM slice s JOIN thread_track k ON k.id = s.track_id JOIN thread t USING (utid) LEFT JOIN process p USING (upid)
UNION ALL
SELECT s.*, NULL, NULL, NULL, p.upid, p.name, p.pid FROM slice s JOIN process_track k ON k.id = s.track_id JOIN process p USING (upid);

CREATE TEMP VIEW state_track AS SELECT id, name FROM _track WHERE kind = 'state' AND track NOT LIKE 'state:%';
CREATE TEMP VIEW thread_state_track AS SELECT t.id, t.name, utid FROM _track t JOIN _utid_of USING (track) WHERE kind = 'state';
CREATE TEMP VIEW process_state_track AS SELECT t.id, t.name, upid FROM _track t JOIN _upid_of USING (track) WHERE kind = 'state';
CREATE TEMP VIEW state AS
SELECT row_number() OVER (ORDER BY s.ts, s.id) - 1 AS id, s.ts, coalesce(s.dur, -1) AS dur, s.category, s.name AS value, t.id AS track_id
FROM spans s JOIN tracks t USING (track) WHERE s.kind = 'state' AND track NOT LIKE 'state:%';

CREATE TEMP VIEW cpu AS SELECT DISTINCT cpu AS id, cpu AS ucpu, cpu FROM _run;
CREATE TEMP VIEW sched AS
SELECT r.id, r.ts, r.dur, r.cpu, r.cpu AS ucpu, t.utid, r.end_state, r.priority FROM _run r
LEFT JOIN thread t ON t.utid = (SELECT utid FROM thread u WHERE u.tid = r.tid UNION ALL SELECT utid FROM _thread u WHERE u.track = r.of_thread LIMIT 1);
CREATE TEMP VIEW thread_state AS
SELECT s.id, s.ts, coalesce(s.dur, -1) AS dur, s.name AS state, s.args ->> 'io_wait' AS io_wait, s.args ->> 'blocked_function' AS blocked_function, s.args ->> 'cpu' AS cpu, t.utid
FROM spans s LEFT JOIN _thread t ON t.track = substr(s.track, 7) WHERE s.kind = 'state' AND s.track LIKE 'state:%';

CREATE TEMP VIEW stats AS
SELECT column1 AS name, (SELECT COALESCE(sum(n), 0) FROM left_out WHERE finding = 'left out' AND what = column2) AS value
FROM (VALUES ('track_event_parser_errors', 'state event of a track that is none of states'), ('track_event_invalid_timestamp', 'track event before time 0'),
  ('json_tokenizer_failure', 'text that is no event'));
