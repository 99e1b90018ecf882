-- Every answer that the index gives is the one that a sequential scan gives.
CREATE TABLE spans(id integer, service text, host smallint, ts bigint, dur integer);
CREATE FUNCTION add_spans(first integer, last integer) RETURNS void LANGUAGE sql AS $$
	INSERT INTO spans
	SELECT i, (ARRAY['api', 'db', 'web', 'Zürich', ''])[1 + i % 5], CASE WHEN i % 31 = 0 THEN NULL ELSE i % 3 END,
		CASE WHEN i % 101 = 0 THEN NULL ELSE (i * 7919::bigint) % 2999 - 500 END, CASE WHEN i % 13 = 0 THEN NULL ELSE i % 1000 END
	FROM generate_series($1, $2) i
$$;
SELECT add_spans(1, 6000);
CREATE INDEX spans_if ON spans USING iforest (service, host, ts) INCLUDE (dur) WITH (duration = 'dur', background_merge = off);

CREATE TABLE question(number serial, question text);
INSERT INTO question(question) VALUES
	('SELECT * FROM spans'),
	('SELECT * FROM spans WHERE service = ''db'''),
	('SELECT * FROM spans WHERE service = ''db'' AND host = 1'),
	('SELECT * FROM spans WHERE service = ''db'' AND host = 1 AND ts >= 100 AND ts < 900'),
	('SELECT * FROM spans WHERE service = ''db'' AND host = 1 AND ts > 100 AND ts <= 900'),
	('SELECT * FROM spans WHERE service = ''web'' AND host = 1 AND ts = 700'),
	('SELECT * FROM spans WHERE service = ''no such'''),
	('SELECT * FROM spans WHERE service = ''db'' AND ts >= 100 AND ts < 200'),
	('SELECT * FROM spans WHERE ts >= 100 AND ts < 130'),
	('SELECT * FROM spans WHERE ts < -490'),
	('SELECT * FROM spans WHERE ts >= 2490 AND ts < 2000'),
	('SELECT * FROM spans WHERE ts > 9223372036854775806'),
	('SELECT * FROM spans WHERE ts < -9223372036854775808'),
	('SELECT * FROM spans WHERE ts <= 9223372036854775807 AND ts >= -9223372036854775808'),
	('SELECT * FROM spans WHERE ts > 10 AND ts > 20 AND ts < 40 AND ts <= 30'),
	('SELECT * FROM spans WHERE service > ''db'' AND ts BETWEEN 5 AND 30'),
	('SELECT * FROM spans WHERE service >= ''db'' AND service < ''web'' AND ts BETWEEN 5 AND 30'),
	('SELECT * FROM spans WHERE host >= 1 AND ts BETWEEN 5 AND 30'),
	('SELECT * FROM spans WHERE service = ''db'' AND host < 2 AND ts BETWEEN 5 AND 300'),
	('SELECT * FROM spans WHERE service IN (''db'', ''web'') AND host = 2 AND ts < 0'),
	('SELECT * FROM spans WHERE service IN (''db'', ''web'', ''db'') AND host IN (2, 0) AND ts < 0'),
	('SELECT * FROM spans WHERE service = ANY (ARRAY[''db'', NULL, ''no such'']) AND ts BETWEEN 0 AND 100'),
	('SELECT * FROM spans WHERE service = ANY (ARRAY[]::text[])'),
	('SELECT * FROM spans WHERE service IN (''web'', ''Zürich'') AND host IN (1, 2) AND ts IN (700, 1234, 702, 13, 700)'),
	('SELECT * FROM spans WHERE ts = ANY (ARRAY[700, 701, NULL]::bigint[])'),
	('SELECT * FROM spans WHERE host IS NULL'),
	('SELECT * FROM spans WHERE host IS NULL AND ts IS NULL'),
	('SELECT * FROM spans WHERE service = ''db'' AND host IS NULL AND ts < 600'),
	('SELECT * FROM spans WHERE service = ''db'' AND ts IS NULL'),
	('SELECT * FROM spans WHERE ts IS NOT NULL AND service = ''db'''),
	('SELECT * FROM spans WHERE host IS NOT NULL AND service = ''db'' AND ts < 50'),
	('SELECT * FROM spans WHERE service = NULL'),
	('SELECT * FROM spans WHERE ts < NULL::bigint'),
	('SELECT * FROM spans WHERE ts = 700::smallint'),
	('SELECT * FROM spans WHERE ts >= 700::integer AND ts < 710::smallint'),
	('SELECT * FROM spans WHERE host = 1::bigint AND ts < 0'),
	('SELECT * FROM spans WHERE host = 100000::integer AND ts < 0'),
	('SELECT * FROM spans WHERE host < 100000::integer AND ts < -490'),
	('SELECT * FROM spans WHERE (ts < -490 OR ts > 2490) AND service = ''db'''),
	('SELECT * FROM spans WHERE service = ''web'' AND ts + 0 = 700'),
	('SELECT a.id, b.id FROM spans a JOIN spans b ON b.service = a.service AND b.host = a.host AND b.ts BETWEEN a.ts AND a.ts + 3 WHERE a.id < 200'),
	('SELECT service, host, ts FROM spans ORDER BY service, host, ts'),
	('SELECT service, host, ts FROM spans ORDER BY service DESC, host DESC, ts DESC'),
	('SELECT service, host, ts FROM spans WHERE ts BETWEEN 0 AND 99 ORDER BY service, host, ts'),
	('SELECT host, ts FROM spans WHERE service = ''db'' ORDER BY host, ts'),
	('SELECT host, ts FROM spans WHERE service = ''db'' ORDER BY host DESC, ts DESC'),
	('SELECT ts FROM spans WHERE service = ''db'' AND host = 1 ORDER BY ts'),
	('SELECT ts FROM spans WHERE service = ''db'' AND host = 1 ORDER BY ts LIMIT 7'),
	('SELECT ts FROM spans WHERE service = ''db'' AND host = 1 ORDER BY ts DESC LIMIT 7'),
	('SELECT ts FROM spans WHERE service = ''db'' AND host = 1 AND ts < 1000 ORDER BY ts DESC LIMIT 7'),
	('SELECT ts FROM spans WHERE service = ''db'' AND host = 1 AND ts > 1000 ORDER BY ts LIMIT 7 OFFSET 3'),
	('SELECT max(ts), min(ts) FROM spans WHERE service = ''db'' AND host = 1');

SELECT number, row_count, index_scan, bitmap_scan, question FROM question, answers(question) ORDER BY number;

-- The same in other states of the index: a table of states, each of which must show no question answered differently.
CREATE VIEW differences AS
	SELECT count(*) AS questions, count(*) FILTER (WHERE index_scan ~ 'same') AS index_same, count(*) FILTER (WHERE bitmap_scan = 'same') AS bitmap_same,
		array_agg(number) FILTER (WHERE 'different' IN (index_scan, bitmap_scan)) AS different
	FROM question, answers(question);
SELECT add_spans(6001, 9000);
SELECT 'half of it appended' AS state, * FROM differences;
DELETE FROM spans WHERE id % 7 = 3;
UPDATE spans SET ts = ts + 5, service = 'db' WHERE id % 11 = 3;
SELECT 'updated' AS state, * FROM differences;
VACUUM spans;
SELECT 'vacuumed' AS state, * FROM differences;
SELECT add_spans(9001, 9500);
SELECT iforest_merge('spans_if', true) AS runs;
SELECT 'merged to one run' AS state, * FROM differences;
DELETE FROM spans WHERE service = 'db' OR ts > 2000;
VACUUM spans;
SELECT add_spans(9501, 9600);
SELECT 'a series gone and partly back' AS state, * FROM differences;
BEGIN;
DELETE FROM spans WHERE id % 2 = 0;
SELECT add_spans(9601, 9700);
SELECT 'own changes' AS state, * FROM differences;
ROLLBACK;
SELECT 'taken back' AS state, * FROM differences;
SELECT iforest_check('spans_if', true);

-- A cursor goes forward and backward over the index, also past both ends.
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
CREATE TABLE marks(ts integer);
INSERT INTO marks SELECT generate_series(1, 2000);
CREATE INDEX marks_if ON marks USING iforest (ts);
INSERT INTO marks SELECT generate_series(2001, 2010);
BEGIN;
EXPLAIN (COSTS OFF) DECLARE walk SCROLL CURSOR FOR SELECT ts FROM marks WHERE ts > 10 ORDER BY ts;
DECLARE walk SCROLL CURSOR FOR SELECT ts FROM marks WHERE ts > 10 ORDER BY ts;
FETCH BACKWARD 1 FROM walk;
FETCH 3 FROM walk;
FETCH BACKWARD 2 FROM walk;
FETCH BACKWARD 2 FROM walk;
FETCH 1 FROM walk;
MOVE 1995 IN walk;
FETCH 5 FROM walk;
FETCH 1 FROM walk;
FETCH BACKWARD 2 FROM walk;
FETCH ABSOLUTE 1000 FROM walk;
FETCH LAST FROM walk;
FETCH FIRST FROM walk;
COMMIT;

-- A rescan with other comparands, and a mark that is returned to (merge join over duplicates).
SELECT i, (SELECT count(*) FROM marks WHERE ts BETWEEN i AND i * 2), (SELECT ts FROM marks WHERE ts > i ORDER BY ts LIMIT 1)
FROM unnest(ARRAY[1, 1000, NULL, 2010]) i;
CREATE TABLE twins(ts integer);
INSERT INTO twins SELECT i / 3 FROM generate_series(0, 299) i;
CREATE INDEX twins_if ON twins USING iforest (ts);
SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_material = off;
SELECT count(*) FROM twins a JOIN twins b USING (ts);
RESET enable_hashjoin; RESET enable_nestloop; RESET enable_material; RESET enable_sort;

-- Two indexes' bitmaps meet.
CREATE INDEX spans_time_if ON spans USING iforest (ts);
CREATE INDEX spans_dur ON spans USING btree (dur);
RESET enable_bitmapscan; SET enable_indexscan = off;
SELECT count(*) FROM spans WHERE ts BETWEEN 0 AND 400 AND dur BETWEEN 0 AND 400;
SET enable_seqscan = on; SET enable_bitmapscan = off;
SELECT count(*) FROM spans WHERE ts BETWEEN 0 AND 400 AND dur BETWEEN 0 AND 400;
RESET ALL;

-- Lists of by values, of which series are looked up: as many as there are series and more, some twice, some with other conditions beside them.
CREATE TABLE listed(track text, host integer, ts integer);
INSERT INTO listed SELECT 'track ' || i % 1000, i % 2, i FROM generate_series(1, 1200) i;
CREATE INDEX listed_one_if ON listed USING iforest (track, ts);
INSERT INTO listed SELECT 'track ' || i % 1000, i % 2, i FROM generate_series(1201, 1220) i;
CREATE TABLE lists AS SELECT n, (SELECT array_agg('track ' || i * 3 % 1080) || NULL::text FROM generate_series(1, n) i) AS a FROM unnest(ARRAY[3, 900, 1100]) n;
CREATE FUNCTION listed_answers() RETURNS TABLE(condition text, n integer, index_scan text, bitmap_scan text) LANGUAGE sql AS $$
	SELECT c, l.n, r.index_scan, r.bitmap_scan FROM lists l, unnest(ARRAY['', 'AND track > ''track 3''', 'AND track = ''track 6''', 'AND track IN (''track 9'', ''track 3'', ''none'')', 'AND host = 1', 'AND host IN (0, 7)']) c,
		answers(format('SELECT ts + 0 FROM listed WHERE track = ANY (ARRAY(SELECT unnest(a) FROM lists WHERE n = %s)) %s AND ts < 1180', l.n, c)) r ORDER BY 2, 1 $$;
SELECT * FROM listed_answers();
DROP INDEX listed_one_if;
CREATE INDEX listed_two_if ON listed USING iforest (host, track, ts);
SELECT * FROM listed_answers();
DROP TABLE listed, lists;
DROP FUNCTION listed_answers;

-- Row locks, updates and deletes through the index.
SET enable_seqscan = off;
BEGIN;
WITH gone AS (DELETE FROM marks WHERE ts BETWEEN 100 AND 199 RETURNING ts) SELECT count(*), min(ts), max(ts) FROM gone;
WITH moved AS (UPDATE marks SET ts = ts + 10000 WHERE ts BETWEEN 50 AND 300 RETURNING ts) SELECT count(*), min(ts), max(ts) FROM moved;
SELECT count(*), min(ts), max(ts) FROM (SELECT ts FROM marks WHERE ts > 1 FOR UPDATE) locked;
ROLLBACK;
SELECT count(*), min(ts), max(ts) FROM marks WHERE ts > 1;
RESET enable_seqscan;
DROP TABLE spans, marks, twins, question CASCADE;
DROP FUNCTION add_spans;

-- A clock that is put forward leaves an hour out, and local times in it come out of order when they are compared with a timestamptz.
SET TimeZone = 'America/New_York';
CREATE TABLE clocks(id integer, ts timestamp);
INSERT INTO clocks SELECT i, '2021-03-13 22:00'::timestamp + i * interval '7 minutes' FROM generate_series(1, 120) i;
INSERT INTO clocks SELECT i, '2021-11-06 22:00'::timestamp + i * interval '7 minutes' FROM generate_series(121, 240) i;
CREATE INDEX clocks_if ON clocks USING iforest (ts);
SELECT count(*) AS questions, bool_and(a.index_scan = 'same' AND a.bitmap_scan = 'same') AS all_same, sum(a.row_count) AS rows
FROM generate_series('2021-03-14 06:00+00'::timestamptz, '2021-03-14 08:30+00', '11 minutes') AS tz,
	unnest(ARRAY['<', '<=', '=', '>=', '>']) AS op,
	LATERAL answers(format('SELECT * FROM clocks WHERE ts %s %L::timestamptz', op, tz)) a;
SELECT count(*) AS questions, bool_and(a.index_scan = 'same' AND a.bitmap_scan = 'same') AS all_same, sum(a.row_count) AS rows
FROM generate_series('2021-11-07 04:00+00'::timestamptz, '2021-11-07 08:30+00', '13 minutes') AS tz,
	unnest(ARRAY['<', '<=', '=', '>=', '>']) AS op,
	LATERAL answers(format('SELECT * FROM clocks WHERE ts %s %L::timestamptz', op, tz)) a;
SELECT * FROM answers('SELECT * FROM clocks WHERE ts = ANY (ARRAY[''2021-03-14 03:31-04'', ''2021-03-13 22:07-05'']::timestamptz[])');
RESET TimeZone;
DROP TABLE clocks;

-- Every pair of types, with times long ago, far ahead and at both infinities. No operator may be asked about what is not a date.
SET TimeZone = 'Europe/Berlin';
CREATE TABLE ages(d date, t timestamp, z timestamptz);
INSERT INTO ages SELECT x::date, x, x FROM generate_series('1989-11-09 12:00'::timestamp, '2011-01-01', '11 days') x;
INSERT INTO ages VALUES ('-infinity', '-infinity', '-infinity'), ('infinity', 'infinity', 'infinity'), ('4713-01-01 BC', '4713-01-01 BC', '4713-01-02 BC'),
	('5874897-12-31', '294276-12-31 23:59:59', '294276-12-31 00:00');
CREATE INDEX ages_d_if ON ages USING iforest (d);
CREATE INDEX ages_t_if ON ages USING iforest (t);
CREATE INDEX ages_z_if ON ages USING iforest (z);
SELECT c AS column, p.type, count(*) AS questions, bool_and(a.index_scan = 'same' AND a.bitmap_scan = 'same') AS all_same, sum(a.row_count) AS rows
FROM unnest('{d, t, z}'::text[]) c, unnest('{date, timestamp, timestamptz}'::text[]) AS p(type), unnest('{<, <=, =, >=, >}'::text[]) op,
	unnest('{1989-11-09, 1999-01-01, 2000-01-01, 2005-05-05, 4713-01-03 BC, -infinity, infinity}'::text[]) v,
	LATERAL answers(format('SELECT * FROM ages WHERE %s %s %L::%s', c, op, v, p.type)) a
GROUP BY 1, 2 ORDER BY 1, 2;
RESET TimeZone;
DROP TABLE ages;
