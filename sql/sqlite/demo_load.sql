-- Loads traces of any format into the table spans: what has an end, on tracks under their names. temp.files says which:
--
--   CREATE TEMP TABLE files(path TEXT, track TEXT, title TEXT, begin_us INTEGER);
--   INSERT INTO files(path) VALUES ('trace.json');
--   .load ./build/chrometrace
--   .read sql/sqlite/demo_table.sql
--   .read sql/sqlite/demo_load.sql
--
-- The other columns are for traces of clang, of which each file tells of one run of the compiler: the track that the run belongs
-- to, what was compiled, and the time at which its clock started (clang writes it as "beginningOfTime").

BEGIN;
WITH named(path, track, name) AS MATERIALIZED (
  SELECT f.path, r.track, r.name FROM files AS f, read_trace_tracks(f.path) AS r
  WHERE f.track IS NULL AND r.kind IN ('async', 'state') AND r.name <> ''
)
INSERT INTO spans(ts_ns, dur_ns, track, depth, name, args)
SELECT t.ts_ns + coalesce(1000 * (f.begin_us - (SELECT min(begin_us) FROM files)), 0),
       t.dur_ns,
       coalesce(f.track, iif(t.thread <> '' AND t.track = t.pid || '/' || t.tid, t.thread || ' ' || t.track, coalesce(n.name || ' ', '') || t.track)),
       t.depth,
       iif(f.title IS NOT NULL AND t.name = 'ExecuteCompiler', f.title, t.name),
       t.args
FROM files AS f, read_trace(f.path) AS t LEFT JOIN named AS n ON n.path = f.path AND n.track = t.track
WHERE t.dur_ns >= 0 AND (f.track IS NULL OR t.name NOT LIKE 'Total %');    -- clang appends totals: sums, not spans
COMMIT;
