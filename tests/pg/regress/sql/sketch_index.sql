-- Sketches from an index: which queries, the same bytes as by scanning, the parameter that keeps them. test_sketch changes rows.
\set VERBOSITY terse
CREATE TABLE spans(track text, ts bigint, dur bigint, load float8, heat real, small smallint, price numeric(10, 2), day date, fin timestamp);
INSERT INTO spans SELECT 'track ' || i % 3, i, i % 1000 * (i % 777), CASE i % 9000 WHEN 7 THEN 'NaN' WHEN 8 THEN 'Infinity' WHEN 9 THEN '-Infinity' ELSE sqrt(i) - 100 END,
	i / 7.0, nullif(i % 99, 5), i / 100.0, date '2024-01-01' + i % 9, timestamp '2024-01-01' + i * interval '1 s' FROM generate_series(1, 60000) i;
INSERT INTO spans VALUES ('track 0', NULL, 77, 0.5, 0.5, 1, 1, NULL, NULL), (NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- The parameter.
CREATE INDEX ON spans USING iforest (ts) INCLUDE (dur) WITH (sketch = 'nothing');
CREATE INDEX ON spans USING iforest (ts) INCLUDE (dur, price) WITH (sketch = 'dur, price');
CREATE INDEX ON spans USING iforest (ts) INCLUDE (day) WITH (sketch = 'day');
CREATE INDEX ON spans USING iforest (ts) INCLUDE (dur) WITH (sketch = 'dur,, load');
CREATE INDEX spans_if ON spans USING iforest (track, ts) INCLUDE (dur, load, heat, small, price, day, fin) WITH (sketch = 'DUR, load, "heat", small');
CREATE INDEX spans_time_if ON spans USING iforest (ts) INCLUDE (dur, load, heat, small, price) WITH (sketch = 'dur', variance = 'dur');
VACUUM ANALYZE spans;
SELECT kind, count(*) > 0 AS some FROM iforest_stats('spans_if') s, generate_series(0, s.total_pages - 1) block, iforest_page('spans_if', block) p WHERE kind = 'sketch' GROUP BY 1;
SELECT iforest_check('spans_if', true), iforest_check('spans_time_if', true);

-- Answered from the index, with the same bytes.
CREATE FUNCTION answers_alike(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	by_index text;
	by_table text;
	n bigint;
	is_from_index boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		is_from_index := is_from_index OR line ~ 'IForest';
	END LOOP;
	EXECUTE 'SELECT string_agg(q::text, E''\n'' ORDER BY q::text COLLATE "C"), count(*) FROM (' || question || ') q' INTO by_index, n;
	SET iforest.enable = off;
	EXECUTE 'SELECT string_agg(q::text, E''\n'' ORDER BY q::text COLLATE "C") FROM (' || question || ') q' INTO by_table;
	RESET iforest.enable;
	RETURN format('%s: %s rows, %s', CASE WHEN is_from_index THEN 'index' ELSE 'table' END, n,
		CASE WHEN by_index IS NOT DISTINCT FROM by_table THEN 'the same' ELSE 'other answers' END);
END $$;
SET enable_indexscan = off; SET enable_bitmapscan = off; -- which few rows would be read by
SELECT question, answers_alike(question) FROM unnest(ARRAY[
	'SELECT iforest_sketch(dur) FROM spans',
	'SELECT iforest_sketch(dur), iforest_sketch(load), iforest_sketch(heat), iforest_sketch(small), count(*), max(load) FROM spans',
	'SELECT track, iforest_sketch(dur) FROM spans GROUP BY 1',
	'SELECT track, ts / 7000, iforest_sketch(load), count(dur) FROM spans GROUP BY 1, 2',
	'SELECT iforest_sketch(dur) FROM spans WHERE ts BETWEEN 100 AND 59000',
	'SELECT iforest_sketch(dur) FROM spans WHERE ts IS NULL',
	'SELECT iforest_sketch(dur) FROM spans WHERE ts > 70000',
	'SELECT iforest_sketch(dur) FROM spans WHERE track IS NULL',
	'SELECT iforest_sketch(dur) FROM spans WHERE track = ''track 1'' AND dur BETWEEN 100 AND 100000',
	'SELECT iforest_sketch(load) FROM spans WHERE load > 50',
	'SELECT iforest_sketch(dur::bigint), iforest_sketch(small::integer), iforest_sketch(heat::float8) FROM spans',
	'SELECT iforest_sketch(dur) FILTER (WHERE track = ''track 2''), iforest_sketch(dur) FILTER (WHERE ts < 30000) FROM spans',
	'SELECT iforest_sketch(CASE WHEN track = ''track 2'' THEN dur WHEN track = ''track 1'' THEN small END) FROM spans',
	'SELECT iforest_sketch(CASE WHEN track = ''track 2'' THEN dur ELSE NULL END) FROM spans GROUP BY ts / 20000',
	'SELECT track, iforest_quantile(iforest_sketch(dur), 0.9, min(dur), max(dur)) FROM spans GROUP BY 1 HAVING iforest_quantile(iforest_sketch(dur), 0.5) > 10',
	'SELECT iforest_sketch_merge(s) FROM (SELECT ts / 9000, iforest_sketch(dur) AS s FROM spans GROUP BY 1) q',
	'SELECT iforest_sketch_count(iforest_sketch(dur)) FROM spans WHERE ts >= 1000 UNION ALL SELECT count(dur) FROM spans WHERE ts >= 1000']) question;

RESET enable_indexscan; RESET enable_bitmapscan;

-- Not answered, and why.
SET iforest.explain_decline = on;
SET client_min_messages = notice;
\set VERBOSITY default
SELECT iforest_sketch_count(iforest_sketch(price)) FROM spans WHERE track IS NOT NULL;
SELECT iforest_quantile(iforest_sketch(price::float8), 0.5) FROM spans WHERE track IS NOT NULL;
SELECT iforest_sketch_count(iforest_sketch(dur::float8)) FROM spans WHERE track IS NOT NULL;
SELECT iforest_sketch_count(iforest_sketch(dur + 1)) FROM spans WHERE track IS NOT NULL;
SELECT iforest_sketch_count(iforest_sketch(ts)) FROM spans WHERE track IS NOT NULL;
SELECT iforest_sketch_count(iforest_sketch(7)) FROM spans WHERE track IS NOT NULL;
SELECT iforest_sketch_count(iforest_sketch(DISTINCT small)) FROM spans WHERE track IS NOT NULL;
\set VERBOSITY terse
RESET client_min_messages;
RESET iforest.explain_decline;
SELECT iforest_sketch(fin) FROM spans;

-- Sums are not asked of reals, so that parameter does not matter.
SET iforest.float_aggregates = off;
SELECT answers_alike('SELECT iforest_sketch(load) FROM spans');
RESET iforest.float_aggregates;

-- The parameter, for an index that there is: by VACUUM and merges. Leaf pages are read at the ends only.
CREATE FUNCTION leaf_pages(question text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || question INTO plan;
	RETURN (jsonb_path_query_first(plan, '$.**."Leaf Pages"'))::bigint;
END $$;
CREATE VIEW reading AS SELECT leaf_pages('SELECT iforest_sketch(dur) FROM spans WHERE ts >= 0') AS dur, leaf_pages('SELECT iforest_sketch(load) FROM spans WHERE ts >= 0') AS load,
	(SELECT leaf_pages FROM iforest_stats('spans_time_if')) AS there;
DROP INDEX spans_if;
SELECT dur < there / 4 AS dur_kept, load < there / 4 AS load_kept FROM reading;
ALTER INDEX spans_time_if SET (sketch = 'load');
VACUUM spans;
SELECT dur < there / 4 AS dur_kept, load < there / 4 AS load_kept FROM reading;
SELECT iforest_check('spans_time_if', true);
SELECT refusal($$ALTER INDEX spans_time_if SET (sketch = 'dur, load, nothing')$$);
ALTER INDEX spans_time_if SET (sketch = 'dur, load');
SELECT iforest_merge('spans_time_if', true);
SELECT dur < there / 4 AS dur_kept, load < there / 4 AS load_kept FROM reading;
SELECT iforest_check('spans_time_if', true);
ALTER INDEX spans_time_if RESET (sketch);
SELECT dur < there / 4 AS dur_kept, load < there / 4 AS load_kept FROM reading;
-- Rows that are removed make what is kept old, until VACUUM has made it anew; it reads the entries meanwhile.
ALTER INDEX spans_time_if SET (sketch = 'dur');
VACUUM spans;
DELETE FROM spans WHERE ts % 1000 = 1;
SELECT answers_alike('SELECT iforest_sketch(dur), iforest_sketch(load) FROM spans WHERE ts > 10');
VACUUM (INDEX_CLEANUP ON) spans;
SELECT dur < there / 4 AS dur_kept, load < there / 4 AS load_kept FROM reading;
SELECT answers_alike('SELECT iforest_sketch(dur), iforest_sketch(load) FROM spans WHERE ts > 10'), iforest_check('spans_time_if', true);
REINDEX INDEX spans_time_if;
SELECT dur < there / 4 AS dur_kept FROM reading;
DROP VIEW reading;

-- Partitions of which each has its own parameters; unlogged and temporary tables.
CREATE TABLE parts(k int, ts bigint, v int) PARTITION BY HASH (ts);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE UNLOGGED TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parts SELECT i % 2, i, i % 3000 - 1000 FROM generate_series(1, 60000) i;
CREATE INDEX parts_if ON parts USING iforest (k, ts) INCLUDE (v);
ALTER INDEX parts_1_k_ts_v_idx SET (sketch = 'v');
ALTER INDEX parts_2_k_ts_v_idx SET (sketch = 'v');
VACUUM ANALYZE parts;
SELECT question, answers_alike(question) FROM unnest(ARRAY['SELECT iforest_sketch(v) FROM parts', 'SELECT k, iforest_sketch(v) FROM parts WHERE ts > 50 GROUP BY 1',
	'SELECT ts / 10000, iforest_sketch(v) FROM parts GROUP BY 1']) question;
CREATE TEMP TABLE gone(ts bigint, v int);
INSERT INTO gone SELECT i, i * 7 FROM generate_series(1, 30000) i;
CREATE INDEX gone_if ON gone USING iforest (ts) INCLUDE (v) WITH (sketch = 'v');
VACUUM ANALYZE gone;
SELECT answers_alike('SELECT iforest_sketch(v) FROM gone WHERE ts > 5'), iforest_check('gone_if', true);

-- Domains are as the types below them: integers that are cast to reals are counted otherwise.
CREATE DOMAIN latency AS integer CHECK (VALUE >= 0);
CREATE DOMAIN share AS double precision;
CREATE TABLE limited(ts bigint NOT NULL, v latency, part share);
INSERT INTO limited SELECT i, i % 1000, i / 8.0 FROM generate_series(1, 30000) i;
CREATE INDEX limited_if ON limited USING iforest (ts) INCLUDE (v, part) WITH (sketch = 'v, part');
VACUUM ANALYZE limited;
SELECT question, answers_alike(question) FROM unnest(ARRAY['SELECT iforest_sketch(v), iforest_sketch(part) FROM limited', 'SELECT iforest_sketch(v::bigint) FROM limited',
	'SELECT iforest_sketch(v::double precision) FROM limited']) question;
DROP TABLE spans, parts, gone, limited;
DROP DOMAIN latency, share;
DROP FUNCTION answers_alike, leaf_pages;
