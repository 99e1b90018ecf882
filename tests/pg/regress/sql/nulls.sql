-- Every row is in the index, whatever of it is NULL.
CREATE TABLE gaps(id integer, a text, b integer, ts timestamptz, v integer, w float8);
INSERT INTO gaps
SELECT i, CASE WHEN i & 1 > 0 THEN 'a' END, CASE WHEN i & 2 > 0 THEN i % 3 END, CASE WHEN i & 4 > 0 THEN to_timestamp(i % 50) END,
	CASE WHEN i & 8 > 0 THEN i END, CASE WHEN i & 16 > 0 THEN i END
FROM generate_series(0, 639) i;
CREATE INDEX gaps_if ON gaps USING iforest (a, b, ts) INCLUDE (v, w) WITH (background_merge = off);
CREATE TABLE question AS
SELECT DISTINCT 'SELECT id FROM gaps WHERE ' || a || ' AND ' || b || ' AND ' || ts AS question
FROM unnest('{a IS NULL, a IS NOT NULL, a = ''a'', a > ''a'', a IN (''a''\, NULL), true}'::text[]) a,
	unnest('{b IS NULL, b IS NOT NULL, b = 1, b <= 1, true}'::text[]) b,
	unnest('{ts IS NULL, ts IS NOT NULL, ts > to_timestamp(20), ts <= to_timestamp(20), ts = to_timestamp(21), true}'::text[]) ts;
CREATE VIEW differences AS
	SELECT count(*) AS questions, sum(row_count) AS rows, count(*) FILTER (WHERE index_scan = 'same') AS index_same,
		count(*) FILTER (WHERE bitmap_scan = 'same') AS bitmap_same,
		array_agg(question) FILTER (WHERE 'different' IN (index_scan, bitmap_scan)) AS different
	FROM question, answers(question);
SELECT 'built' AS state, * FROM differences;
TRUNCATE gaps;
INSERT INTO gaps
SELECT i, CASE WHEN i & 1 > 0 THEN 'a' END, CASE WHEN i & 2 > 0 THEN i % 3 END, CASE WHEN i & 4 > 0 THEN to_timestamp(i % 50) END,
	CASE WHEN i & 8 > 0 THEN i END, CASE WHEN i & 16 > 0 THEN i END
FROM generate_series(0, 639) i;
SELECT 'appended' AS state, * FROM differences;
SELECT iforest_merge('gaps_if', true);
SELECT 'sealed' AS state, * FROM differences;
SELECT entries, pending_entries FROM iforest_stats('gaps_if');
SELECT iforest_check('gaps_if', true);

-- NULLs come last, and first backwards; the index's order is no other.
SELECT question, a.* FROM (VALUES
	('SELECT a, b, ts FROM gaps ORDER BY a, b, ts'),
	('SELECT a, b, ts FROM gaps ORDER BY a DESC, b DESC, ts DESC'),
	('SELECT ts FROM gaps WHERE a = ''a'' AND b IS NULL ORDER BY ts'),
	('SELECT ts FROM gaps WHERE a = ''a'' AND b = 1 ORDER BY ts DESC LIMIT 3'),
	('SELECT ts FROM gaps WHERE a = ''a'' AND b = 1 ORDER BY ts NULLS FIRST')) v(question), answers(question) a;

-- A parameter that is NULL finds nothing, also when only execution knows it.
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
PREPARE ask(text, timestamptz) AS SELECT count(*) FROM gaps WHERE a = $1 AND ts > $2;
EXECUTE ask('a', '-infinity');
EXECUTE ask(NULL, '-infinity');
EXECUTE ask('a', NULL);
PREPARE ask_any(text[]) AS SELECT count(*) FROM gaps WHERE a = ANY ($1);
EXECUTE ask_any('{a, NULL}');
EXECUTE ask_any('{NULL}');
EXECUTE ask_any(NULL);
RESET ALL;

-- All NULL, and nothing at all.
CREATE TABLE void(a integer, ts date, v numeric(5, 1));
CREATE INDEX void_if ON void USING iforest (a, ts) INCLUDE (v);
SELECT question, a.* FROM (VALUES ('SELECT * FROM void WHERE ts > ''2024-01-01'''), ('SELECT * FROM void ORDER BY a, ts')) v(question), answers(question) a;
SELECT runs, entries, pending_entries, series FROM iforest_stats('void_if');
SELECT iforest_merge('void_if', true);
INSERT INTO void SELECT NULL, NULL, NULL FROM generate_series(1, 1000);
SELECT iforest_merge('void_if', true);
SELECT question, a.* FROM (VALUES ('SELECT * FROM void WHERE ts > ''2024-01-01'''), ('SELECT * FROM void ORDER BY a, ts'),
	('SELECT * FROM void WHERE a IS NULL AND ts IS NULL')) v(question), answers(question) a;
SELECT runs, entries, pending_entries, series FROM iforest_stats('void_if');
SELECT iforest_check('void_if', true);
DROP TABLE gaps, question, void CASCADE;
