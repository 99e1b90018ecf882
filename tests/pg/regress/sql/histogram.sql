-- Counts by the bounds of a histogram: equal to the plain plan's, on rows of any visibility; and why there are none elsewhere.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE calls (host text, at timestamptz, took int, size bigint, level smallint, price numeric(8,2), load float8);
INSERT INTO calls SELECT 'host ' || i % 3, '2024-01-01'::timestamptz + i * interval '37 s', CASE WHEN i % 17 > 0 THEN i * 7919 % 10007 - 500 END,
	i % 5 - 2, i % 7, i % 100, i FROM generate_series(1, 20000) AS i;
CREATE INDEX calls_if ON calls USING iforest (host, at) INCLUDE (took, size, level, price, load)
	WITH (histogram = 'took(-1, 0, 1000,5000 , 9000), SIZE (-1,0,1),level(3)', variance = 'took', background_merge = off, pending_pages = 1);
VACUUM ANALYZE calls;

CREATE VIEW counts AS SELECT date_trunc('day', at) AS day, count(*), count(*) FILTER (WHERE took > 5000) AS slow,
	count(*) FILTER (WHERE took >= 1) AS positive, count(*) FILTER (WHERE took < 0) AS negative, count(*) FILTER (WHERE 1000 >= took AND host = 'host 1') AS of_host,
	count(took) FILTER (WHERE took BETWEEN 1001 AND 9000) AS middle, count(1) FILTER (WHERE took > 0 AND took < 5001 AND took <= 9000) AS both,
	count(*) FILTER (WHERE took = 0) AS zero, count(*) FILTER (WHERE size = 1) AS one, count(*) FILTER (WHERE size <= 0::smallint) AS small,
	count(*) FILTER (WHERE level > 3::bigint) AS high, variance(took), max(took)
	FROM calls WHERE at >= '2024-01-02 03:04:05+00' GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM counts;
SELECT * FROM counts ORDER BY 1 LIMIT 2;

-- Other ways to ask for counts by bounds.
CREATE TABLE questions (number int GENERATED ALWAYS AS IDENTITY, question text);
INSERT INTO questions (question) VALUES
	('TABLE counts'),
	-- conditions outside of FILTER
	('SELECT count(*), count(took), count(at), sum(2), max(host) FROM calls WHERE took <= 5000'),
	('SELECT host, date_trunc(''day'', at), count(*), count(*) FILTER (WHERE took > 1000) FROM calls WHERE took <= 5000 AND took > 0 AND at < ''2024-01-05'' GROUP BY 1, 2'),
	('SELECT host, count(*) FROM calls WHERE took > 9000 AND host <> ''host 2'' GROUP BY 1 HAVING count(*) > 1'),
	('SELECT count(*) FROM calls WHERE took <= 0 AND took > 5000'),
	('SELECT date_trunc(''day'', at), count(*) FROM calls WHERE took <= -1 AND took > 9000 GROUP BY 1'),
	('SELECT count(*) FROM calls WHERE took IS NULL'),
	('SELECT count(*) FROM calls WHERE took = 0'),
	('SELECT count(*) FROM calls WHERE took / 1000.0 <= 5'),
	-- CASE, sums and averages of conditions
	('SELECT date_trunc(''day'', at), sum(CASE WHEN took > 5000 THEN 1 ELSE 0 END), count(CASE WHEN took > 5000 THEN 1 END), count(CASE WHEN took > 5000 THEN at END), avg((took <= 5000)::int), sum(size), max(took) FROM calls GROUP BY 1'),
	('SELECT host, avg(CASE WHEN took <= 1000 THEN 1.0 WHEN took <= 5000 THEN 0.5 ELSE 0 END), sum(CASE WHEN took <= 1000 THEN 1 WHEN took <= 5000 THEN 0.5::float8 END) / count(*), avg((took > 5000 OR took <= 0)::int), max(CASE WHEN took > 9000 THEN 2 ELSE 1 END), bool_or(took > 9000 AND host = ''host 1'') FROM calls GROUP BY 1'),
	('SELECT (count(*) FILTER (WHERE took <= 1000) + count(*) FILTER (WHERE took > 1000 AND took <= 5000) / 2.0) / count(*) AS apdex, count(*) FILTER (WHERE took > 5000) / count(took)::float8, count(took) FILTER (WHERE took IS NULL), count(*) FILTER (WHERE NOT took > 5000), count(*) FILTER (WHERE coalesce(took, 0) <= 1000) FROM calls'),
	('SELECT sum(CASE WHEN took > 5000 AND host = ''host 1'' THEN length(host) WHEN at < ''2024-01-03'' AND took <= 0 THEN extract(day FROM at) ELSE -1 END), count(*) FILTER (WHERE (took > 5000) = (host > ''host 0'')) FROM calls'),
	('SELECT sum(CASE size WHEN 0 THEN 10 WHEN 1 THEN 1 ELSE NULL END), sum(CASE WHEN size > 0 THEN 1 END), count(*) FILTER (WHERE level <= 3.5), count(*) FILTER (WHERE took <> 0), count(*) FILTER (WHERE took > 5000 AND took <= 1000) FROM calls WHERE host = ''host 2'''),
	-- groups of values
	('SELECT width_bucket(took, ARRAY[0, 1, 1001, 5001]), count(*) FROM calls GROUP BY 1'),
	('SELECT date_trunc(''day'', at) AS day, width_bucket(took::numeric, ARRAY[0.5, 1000.5, 9000.2]) AS band, count(*), count(took), sum(1), min(host), count(*) FILTER (WHERE took > 5000), sum(CASE WHEN took = 0 THEN 3 END) FROM calls GROUP BY 1, 2'),
	('SELECT host, width_bucket(size, 0, 2, 2), count(*) FROM calls WHERE at > ''2024-01-02'' GROUP BY 1, 2'),
	('SELECT took > 5000, count(*) FROM calls WHERE took > 5000 AND host || '''' = ''nobody'' GROUP BY 1'),
	('SELECT price IS NULL, host, count(*), sum((price IS NULL)::int), count(*) FILTER (WHERE price IS NOT NULL AND host > ''host 1'') FROM calls GROUP BY 1, 2'),
	('SELECT CASE WHEN took > 5000 THEN ''slow on '' || host WHEN took <= 1000 THEN ''fast'' END, count(*) FROM calls GROUP BY 1'),
	('SELECT took > 5000, date_trunc(''day'', at), count(*) FROM calls WHERE took > 0 AND host < ''host 2'' GROUP BY 1, 2 HAVING count(*) > 10'),
	('SELECT took > 5000, count(*) FROM calls WHERE size > 0 AND took < 3333 GROUP BY 1'),
	('SELECT DISTINCT level > 3 FROM calls'),
	-- keys of a piece that are equal although they are written otherwise, that may raise an error, and beside others of each sort
	('SELECT CASE WHEN took > 5000 THEN current_user WHEN took <= 0 THEN session_user END, count(*), sum(3) FROM calls GROUP BY 1'),
	('SELECT CASE WHEN size > 0 THEN extract(day FROM at)::int END, host, width_bucket(size, 0, 2, 2)::text, date_trunc(''day'', at), count(*), min(host) FROM calls GROUP BY 1, 2, 3, 4'),
	('SELECT CASE WHEN took > 9000 THEN 1 / (length(current_user) - length(session_user) + 1) WHEN took > 0 THEN 2 END, host, count(*) FROM calls WHERE took > 0 GROUP BY 1, 2'),
	-- no rows, on steps that all groups share
	('SELECT took > 9000, count(*) FROM calls WHERE took > 9000 AND host = (SELECT ''host 7'') GROUP BY 1'),
	('SELECT (took > 9000)::text || ''x'', took > 0, min(host), count(*) FROM calls WHERE took > 9000 AND at > (SELECT ''2030-01-01''::timestamptz) GROUP BY 1, 2');

SET cpu_tuple_cost = 1; -- so that the index answers whatever it can
CALL compare_questions('%IForestAggregate%');
BEGIN;
INSERT INTO calls SELECT 'host 1', '2024-01-03'::timestamptz + i * interval '1 s', i * 3 - 400, i % 4 - 1, i % 5, 1, 1 FROM generate_series(1, 3000) AS i;
CALL compare_questions('%IForestAggregate%');
DELETE FROM calls WHERE took % 7 = 0;
UPDATE calls SET took = took - 900 WHERE took % 11 = 0;
CALL compare_questions('%IForestAggregate%');
ROLLBACK;
CALL compare_questions('%IForestAggregate%');
DELETE FROM calls WHERE took % 13 = 0;
UPDATE calls SET took = NULL, size = 1 - size WHERE took % 19 = 0;
CALL compare_questions('%IForestAggregate%');
VACUUM calls;
CALL compare_questions('%IForestAggregate%');
SELECT iforest_check('calls_if', true);

RESET cpu_tuple_cost;

-- What the histogram does not answer: rows are read in passes, or another plan is taken.
SET iforest.explain_decline = on;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5001) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE price <= 10) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took <> 1000) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5000 OR took <= 7) FROM calls;
EXPLAIN (COSTS OFF) SELECT avg((took > 5001)::int), sum(took * took) FROM calls;
EXPLAIN (COSTS OFF) SELECT sum(took * took) FROM calls;
EXPLAIN (COSTS OFF) SELECT sum(CASE WHEN took > 5000 THEN took END) FROM calls;
EXPLAIN (COSTS OFF) SELECT width_bucket(took, 0, 10000, 10), count(*) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT width_bucket(load, 0, 10000, 10), count(*) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT took > 5000, max(took) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT took > 5000, level > 3, count(*) FROM calls GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT took > 5000, count(*) FILTER (WHERE level > 3) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5000 AND size > 0) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(size) FILTER (WHERE took > 5000) FROM calls;
EXPLAIN (COSTS OFF) SELECT sum(size) FILTER (WHERE took > 5000) FROM calls;
RESET iforest.explain_decline;

-- Constants of a prepared statement are known while it is planned anew for each execution.
PREPARE slower (int) AS SELECT count(*) FILTER (WHERE took > $1) FROM calls;
EXPLAIN (COSTS OFF) EXECUTE slower(5000);
EXECUTE slower(5000);
EXECUTE slower(5002);
PREPARE slow (int) AS SELECT count(*) FROM calls WHERE took > $1;
EXPLAIN (COSTS OFF) EXECUTE slow(5000);
EXPLAIN (COSTS OFF) EXECUTE slow(5002);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE slow(5000);
EXECUTE slow(5000);
RESET plan_cache_mode;
EXECUTE slow(5000);

-- Partitions answer by the bounds that all of them keep.
CREATE TABLE parts (at int, v int) PARTITION BY RANGE (at);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (2000);
INSERT INTO parts SELECT i, i % 100 FROM generate_series(0, 1999) AS i;
CREATE INDEX parts_if ON parts USING iforest (at) INCLUDE (v) WITH (histogram = 'v(10, 50)');
VACUUM ANALYZE parts;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE v <= 50) FROM parts;
SELECT count(*) FILTER (WHERE v <= 50), count(*) FILTER (WHERE v > 10) FROM parts;
EXPLAIN (COSTS OFF) SELECT at / 500, width_bucket(v, ARRAY[11, 51]), count(*) FROM parts WHERE v > 10 GROUP BY 1, 2;
SELECT at / 500, width_bucket(v, ARRAY[11, 51]), count(*) FROM parts WHERE v > 10 GROUP BY 1, 2 ORDER BY 1, 2;
ALTER INDEX parts_2_at_v_idx SET (histogram = 'v(50)');
REINDEX INDEX parts_2_at_v_idx;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE v <= 50) FROM parts;

-- The parameter.
CREATE FUNCTION try_histogram(list text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER INDEX calls_if SET (histogram = %L)', list);
	EXECUTE 'REINDEX INDEX calls_if';
	RETURN 'made';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT list, try_histogram(list) FROM unnest(ARRAY['took', 'took()', 'took(1', 'took(1,)', 'took(1.5)', 'took(2, 1)', 'took(1), took(1)', 'took(x)', 'took(1) size(2)', '"took"(1)',
	'nope(1)', 'price(1)', 'load(1)', 'at(1)', 'took(9223372036854775808)', '', ' took ( -9223372036854775808 , 9223372036854775807 ) ']) AS list;
ALTER TABLE calls RENAME COLUMN took TO "Took (1)";
SELECT reloptions FROM pg_class WHERE relname = 'calls_if';
SELECT try_histogram(substr(option, 11)) FROM pg_class, unnest(reloptions) AS option WHERE relname = 'calls_if' AND option LIKE 'histogram=%';
DROP VIEW counts;
DROP TABLE questions, calls, parts;
DROP FUNCTION try_histogram;
-- Digits of quotients: zero has fewer than the least numerics, and large quotients fewer than small ones.
CREATE TABLE quotients(ts int, amount numeric(12, 2), n numeric(6, 4), i int);
INSERT INTO quotients SELECT i, (i % 7 - 3) / 100.0, (i % 9 - 2) / 10000.0, i % 5 - 1 FROM generate_series(1, 1000) i;
INSERT INTO quotients SELECT i, (i % 7 - 3) * 1000000, (i % 9 - 2) * 11, (i % 5 - 1) * 123456789 FROM generate_series(1001, 2000) i;
CREATE INDEX quotients_if ON quotients USING iforest (ts) INCLUDE (amount, n, i);
VACUUM ANALYZE quotients;
CREATE VIEW averages AS SELECT ts / 100 AS k, avg(amount / 100)::text AS a, sum(amount / 8)::text AS b, sum(n / 1000.0)::text AS c,
	avg(i / 1e6)::text AS d, sum(amount / 1e6)::text AS e FROM quotients GROUP BY 1;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM averages;
CREATE TABLE indexed AS SELECT * FROM averages;
SET iforest.enable = off;
SELECT count(*) FROM averages;
SELECT * FROM averages EXCEPT SELECT * FROM indexed;
RESET ALL;
DROP VIEW averages;
DROP TABLE quotients, indexed;
-- what planning has learned of an index is forgotten when the index is built anew, in the session that has planned with it before
CREATE TABLE relearned(ts bigint NOT NULL, v int);
INSERT INTO relearned SELECT i, i * 7919 % 2001 - 1000 FROM generate_series(1, 5000) i;
CREATE INDEX relearned_if ON relearned USING iforest (ts) INCLUDE (v);
VACUUM ANALYZE relearned;
SET seq_page_cost = 1000;
EXPLAIN (COSTS OFF) SELECT sum(least(greatest(v, 0), 1)) FROM relearned;
ALTER INDEX relearned_if SET (histogram = 'v(-1, 0)');
REINDEX INDEX relearned_if;
EXPLAIN (COSTS OFF) SELECT sum(least(greatest(v, 0), 1)) FROM relearned;
ALTER INDEX relearned_if RESET (histogram);
REINDEX INDEX relearned_if;
EXPLAIN (COSTS OFF) SELECT sum(least(greatest(v, 0), 1)) FROM relearned;
RESET ALL;
DROP TABLE relearned;

-- More bounds than a column has, and more than an index has.
CREATE TABLE bounded(ts bigint, a bigint, b bigint, c bigint, d bigint);
SELECT format('CREATE INDEX ON bounded USING iforest (ts) INCLUDE (a) WITH (histogram = ''a(%s)'')', string_agg(i::text, ',')) FROM generate_series(1, 33) i \gexec
SELECT format('CREATE INDEX ON bounded USING iforest (ts) INCLUDE (a, b, c, d) WITH (histogram = ''a(%s), b(%1$s), c(%1$s), d(%1$s)'')', string_agg(i::text, ',')) FROM generate_series(1, 32) i \gexec
DROP TABLE bounded;
