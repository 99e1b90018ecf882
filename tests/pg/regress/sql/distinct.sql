-- Distinct sketches: what is counted, from an index with the same bytes as by scanning, the parameter, the setting. test_sketch changes rows.
\set VERBOSITY terse
CREATE DOMAIN word AS text;
CREATE TABLE visits(track text, ts bigint, dur bigint, load float8, who text, page varchar(20), code char(6), key uuid, raw bytea, at timestamptz, price numeric(10, 2), said word, day date);
INSERT INTO visits SELECT 'track ' || i % 3, i, i * 7919::bigint % 5003, CASE i % 9000 WHEN 7 THEN 'NaN' WHEN 8 THEN 'Infinity' WHEN 9 THEN '-0' ELSE i % 3000 / 4.0 END,
	'user ' || nullif(i::bigint * i % 20011, 5), 'page ' || i % 700, i % 999, md5((i % 4000)::text)::uuid, decode(md5((i % 50)::text), 'hex'), to_timestamp(i % 2500), i / 100.0,
	'said ' || i % 10, date '2024-01-01' + i % 900 FROM generate_series(1, 60000) i;
INSERT INTO visits(track, ts, who) VALUES ('track 0', NULL, 'nobody'), (NULL, 5, NULL), (NULL, 6, '');

-- Without an index: estimates near the exact counts (six standard errors), equal values of other types, parts, parallel plans.
CREATE FUNCTION is_near(estimate bigint, exact bigint) RETURNS boolean LANGUAGE sql AS 'SELECT abs(estimate - exact) <= CASE WHEN exact < 700 THEN 1 ELSE 0.0975 * exact END';
SELECT is_near(iforest_distinct_count(iforest_distinct(dur)), count(DISTINCT dur)) AS dur, is_near(iforest_distinct_count(iforest_distinct(load)), count(DISTINCT load)) AS load,
	is_near(iforest_distinct_count(iforest_distinct(who)), count(DISTINCT who)) AS who, is_near(iforest_distinct_count(iforest_distinct(page)), count(DISTINCT page)) AS page,
	is_near(iforest_distinct_count(iforest_distinct(code)), count(DISTINCT code)) AS code, is_near(iforest_distinct_count(iforest_distinct(key)), count(DISTINCT key)) AS key,
	is_near(iforest_distinct_count(iforest_distinct(raw)), count(DISTINCT raw)) AS raw, is_near(iforest_distinct_count(iforest_distinct(at)), count(DISTINCT at)) AS at,
	is_near(iforest_distinct_count(iforest_distinct(price)), count(DISTINCT price)) AS price, is_near(iforest_distinct_count(iforest_distinct(said)), count(DISTINCT said)) AS said,
	is_near(iforest_distinct_count(iforest_distinct(day)), count(DISTINCT day)) AS day, iforest_distinct_count(iforest_distinct(dur > 100)) AS booleans FROM visits;
SELECT iforest_distinct(1::smallint) = iforest_distinct(1::numeric) AND iforest_distinct(1::bigint) = iforest_distinct(1.0::real) AND iforest_distinct('a'::text) = iforest_distinct('a  '::char(3)) AS alike,
	iforest_distinct('a'::text) = iforest_distinct('a'::bytea) AS not_alike, iforest_distinct(NULL::int) AS none, iforest_distinct_count(NULL) AS zero;
SELECT (SELECT iforest_distinct_merge(s) FROM (SELECT iforest_distinct(who) AS s FROM visits GROUP BY ts / 100 UNION ALL SELECT NULL UNION ALL SELECT iforest_distinct(who) FROM visits) p) =
	(SELECT iforest_distinct(who) FROM visits) AS parts;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT iforest_distinct(who) FROM visits;
CREATE TABLE parallel AS SELECT iforest_distinct(who) AS whole FROM visits;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
SELECT whole = (SELECT iforest_distinct(who) FROM visits) AS same FROM parallel;
DROP TABLE parallel;

-- Errors.
SELECT iforest_distinct_count('text');
SELECT iforest_distinct_count(iforest_sketch(1));
SELECT iforest_sketch_count(iforest_distinct(1));
SELECT iforest_distinct_merge('\x00');
SELECT iforest_distinct(interval '1 s');
SELECT iforest_distinct(ROW(1, 2));
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT iforest_distinct(v COLLATE blind) FROM (VALUES ('a'), ('A')) t(v);

-- The parameter.
CREATE INDEX ON visits USING iforest (ts) INCLUDE (who);
CREATE INDEX ON visits USING iforest (ts) INCLUDE (who) WITH (distinct = 'nothing');
CREATE INDEX ON visits USING iforest (ts) INCLUDE (dur, price) WITH (distinct = 'dur, price');
CREATE INDEX ON visits USING iforest (ts) INCLUDE (dur) WITH (distinct = 'dur,, load');
CREATE INDEX ON visits USING iforest (ts) INCLUDE (who) WITH (distinct = who, variance = who);
CREATE INDEX ON visits USING iforest (ts) INCLUDE (who) WITH (distinct = who, duration = who);
CREATE INDEX ON visits USING iforest (ts) INCLUDE (who) WITH (distinct = who, sketch = who);
CREATE TABLE folded(ts bigint, who text COLLATE blind);
CREATE INDEX ON folded USING iforest (ts) INCLUDE (who) WITH (distinct = who);
DROP TABLE folded; DROP COLLATION blind;
CREATE INDEX visits_if ON visits USING iforest (track, ts) INCLUDE (who, dur, load, page, code, key, raw, at) WITH (distinct = 'WHO, dur, load, page, "code", key, raw, at', sketch = 'dur');
CREATE INDEX visits_time_if ON visits USING iforest (ts) INCLUDE (price, who, said, day, dur) WITH (distinct = 'who, said, dur', duration = dur, variance = price);
VACUUM ANALYZE visits;
SELECT iforest_check('visits_if', true), iforest_check('visits_time_if', true);
ALTER INDEX visits_if RESET (distinct);
ALTER INDEX visits_if SET (distinct = 'who, page, code, key, raw, dur, load, at');

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
	'SELECT iforest_distinct(who) FROM visits',
	'SELECT iforest_distinct(who), iforest_distinct(dur), iforest_distinct(load), iforest_distinct(page), iforest_distinct(code), iforest_distinct(key), iforest_distinct(raw), iforest_distinct(at) FROM visits',
	'SELECT track, iforest_distinct(who), iforest_sketch(dur), count(who), count(*), max(dur) FROM visits GROUP BY 1',
	'SELECT track, ts / 7000, iforest_distinct(key), count(dur) FROM visits GROUP BY 1, 2',
	'SELECT iforest_distinct(who), iforest_distinct(said), count(said), iforest_distinct(day), variance(price) FROM visits WHERE ts BETWEEN 100 AND 59000',
	'SELECT iforest_distinct(who) FROM visits WHERE ts IS NULL',
	'SELECT iforest_distinct(who) FROM visits WHERE ts > 70000',
	'SELECT iforest_distinct(who) FROM visits WHERE track IS NULL',
	'SELECT iforest_distinct(who) FROM visits WHERE track = ''track 1'' AND dur BETWEEN 100 AND 4000',
	'SELECT iforest_distinct(who) FILTER (WHERE track = ''track 2''), iforest_distinct(dur) FILTER (WHERE ts < 30000) FROM visits',
	'SELECT iforest_distinct_merge(s) FROM (SELECT ts / 9000, iforest_distinct(who) AS s FROM visits GROUP BY 1) q',
	'SELECT iforest_distinct_count(iforest_distinct(who)) FROM visits WHERE ts >= 1000 UNION ALL SELECT count(who) FROM visits WHERE ts >= 1000',
	'SELECT count(*), count(who), sum(dur) FROM visits WHERE ts BETWEEN 1000 AND 50000']) question;
RESET enable_indexscan; RESET enable_bitmapscan;

-- Of text nothing else is asked of the index.
SELECT question, answers_alike(question) FROM unnest(ARRAY[
	'SELECT min(who), max(who) FROM visits', 'SELECT who, count(*) FROM visits GROUP BY 1', 'SELECT count(*) FROM visits WHERE who = ''user 9''', 'SELECT count(*) FROM visits WHERE who IS NULL',
	'SELECT count(*) FILTER (WHERE who = ''user 9'') FROM visits', 'SELECT count(lower(who)) FROM visits', 'SELECT count(CASE WHEN track = ''track 1'' THEN who END) FROM visits',
	'SELECT count(DISTINCT who) FROM visits', 'SELECT iforest_distinct(who || ''x'') FROM visits', 'SELECT iforest_distinct(CASE WHEN dur > 5 THEN who END) FROM visits',
	'SELECT sum(length(who)) FROM visits', 'SELECT iforest_distinct(price) FROM visits', 'SELECT iforest_last(said, ts, ctid) FROM visits', 'SELECT DISTINCT who FROM visits',
	'SELECT who FROM visits ORDER BY who LIMIT 3', 'SELECT who, ts FROM visits WHERE who > ''user 9'' ORDER BY who DESC, ts LIMIT 3', 'SELECT max(key::text) FROM visits',
	'SELECT count(*), who FROM visits WHERE ts < 100 GROUP BY who HAVING count(*) > 0']) question;
SET iforest.explain_decline = on;
SET client_min_messages = notice;
\set VERBOSITY default
SELECT min(who) IS NULL FROM visits WHERE track IS NOT NULL;
SELECT iforest_distinct_count(iforest_distinct(dur + 1)) > 0 FROM visits WHERE track IS NOT NULL;
SELECT iforest_distinct_count(iforest_distinct(price)) > 0 FROM visits WHERE ts IS NOT NULL;
\set VERBOSITY terse
RESET client_min_messages;
RESET iforest.explain_decline;

-- count(DISTINCT x), when the setting allows it.
CREATE FUNCTION answered(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		IF line ~ 'IForestAggregate' THEN
			RETURN 'by the index';
		END IF;
	END LOOP;
	RETURN 'by another plan';
END $$;
SELECT answered('SELECT track, count(DISTINCT who) FROM visits GROUP BY 1');
SET iforest.approximate_distinct = on;
EXPLAIN (COSTS OFF) SELECT track, count(DISTINCT who), count(DISTINCT dur), count(*) FROM visits GROUP BY 1;
SELECT track, count(DISTINCT who) = iforest_distinct_count(iforest_distinct(who)) AS who, count(DISTINCT dur) = iforest_distinct_count(iforest_distinct(dur)) AS dur, count(*) FROM visits GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT who) FILTER (WHERE ts < 0) AS none, count(DISTINCT track) AS by_columns_stay_exact, count(DISTINCT page) AS pages FROM visits WHERE track IS NOT NULL;
SELECT is_near(count(DISTINCT who), (SELECT count(*) FROM (SELECT who FROM visits WHERE ts BETWEEN 500 AND 40000 GROUP BY 1) w)) FROM visits WHERE ts BETWEEN 500 AND 40000;
SELECT answered('SELECT count(DISTINCT price) FROM visits'); -- exact, as numerics have no sketch
SELECT answered('SELECT count(DISTINCT dur + 1) FROM visits');
RESET iforest.approximate_distinct;

-- What is kept follows, and is checked.
CREATE FUNCTION leaf_pages(question text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || question INTO plan;
	RETURN (jsonb_path_query_first(plan, '$.**."Leaf Pages"'))::bigint;
END $$;
CREATE VIEW reading AS SELECT leaf_pages('SELECT iforest_distinct(who) FROM visits WHERE ts >= 0') AS who, leaf_pages('SELECT iforest_distinct(day) FROM visits WHERE ts >= 0') AS day,
	(SELECT leaf_pages FROM iforest_stats('visits_time_if')) AS there;
SELECT count(*) > 0 AS some FROM iforest_stats('visits_time_if') s, generate_series(0, s.total_pages - 1) block, iforest_page('visits_time_if', block) p WHERE kind = 'sketch';
SELECT who < there / 2 AS who_kept, day < there / 2 AS day_kept FROM reading;
ALTER INDEX visits_time_if SET (distinct = 'day, who, said');
VACUUM visits;
SELECT who < there / 2 AS who_kept, day < there / 2 AS day_kept FROM reading;
UPDATE visits SET who = upper(who) WHERE ts % 1000 = 1;
DELETE FROM visits WHERE ts % 1000 = 2;
SELECT answers_alike('SELECT iforest_distinct(who), count(who) FROM visits WHERE ts > 10');
VACUUM (INDEX_CLEANUP ON) visits;
SELECT answers_alike('SELECT iforest_distinct(who), count(who) FROM visits WHERE ts > 10'), iforest_check('visits_if', true), iforest_check('visits_time_if', true);
REINDEX INDEX visits_time_if;
SELECT answers_alike('SELECT iforest_distinct(who), count(who) FROM visits WHERE ts > 10');
DROP VIEW reading;
ALTER TABLE visits RENAME COLUMN who TO visitor;
SELECT reloptions FROM pg_class WHERE relname = 'visits_time_if';
INSERT INTO visits SELECT * FROM visits WHERE ts < 3000;
SELECT iforest_merge('visits_if', true), iforest_check('visits_if', true);
SELECT answers_alike('SELECT track, iforest_distinct(visitor) FROM visits GROUP BY 1');

-- Functions of an index have no columns of text.
SET client_min_messages = error;
SELECT count(*) > 0 AS some FROM iforest_create_functions('visits_time_if');
RESET client_min_messages;
SELECT count, round(var_price, 3) = (SELECT round(variance(price), 3) FROM visits WHERE ts >= 10 AND ts < 900) AS price, sum_dur = (SELECT sum(dur) FROM visits WHERE ts >= 10 AND ts < 900) AS dur FROM visits_time_if(10, 900);
SELECT count(*) > 0 AS some FROM visits_time_if_overlap(10, 900);
SELECT count(*) AS columns_of_text FROM pg_proc p, unnest(proargnames) name WHERE proname LIKE 'visits\_time\_if%' AND (name LIKE '%visitor%' OR name LIKE '%said%');

-- Partitions, of which each has its own parameters.
CREATE TABLE parts(k int, ts bigint, v text) PARTITION BY HASH (ts);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT i % 2, i, 'v' || i % 3000 FROM generate_series(1, 40000) i;
CREATE INDEX parts_if ON parts USING iforest (k, ts) INCLUDE (v) WITH (distinct = v);
VACUUM ANALYZE parts;
SELECT question, answers_alike(question) FROM unnest(ARRAY['SELECT iforest_distinct(v) FROM parts', 'SELECT k, iforest_distinct(v), count(v) FROM parts WHERE ts > 50 GROUP BY 1',
	'SELECT ts / 10000, iforest_distinct(v) FROM parts GROUP BY 1']) question;
DROP TABLE parts, visits;
DROP DOMAIN word;
DROP FUNCTION answered, answers_alike, is_near, leaf_pages;
