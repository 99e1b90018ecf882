-- Correlations and regressions from kept products: those of the plain plan within its own error, on rows of any visibility; and why there are none elsewhere.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE calls (host text, at bigint, took int, size bigint, level smallint, price numeric(8,2), load float8);
INSERT INTO calls SELECT 'host ' || i % 3, i * 37, CASE WHEN i % 17 > 0 THEN i * 7919 % 10007 + i / 20 END, CASE WHEN i % 13 > 0 THEN i * 7919 % 10007 * 3 + i % 5 END,
	7, i % 100, i FROM generate_series(1, 20000) AS i;
CREATE INDEX calls_if ON calls USING iforest (host, at) INCLUDE (took, size, level, price, load)
	WITH (products = 'took*size, size * at,level*took', variance = 'took', background_merge = off, pending_pages = 1);
VACUUM ANALYZE calls;

CREATE VIEW lines AS SELECT host, at / 100000 AS bucket, ARRAY[corr(took, size), covar_pop(took, size), covar_samp(took, size), regr_slope(took, size),
	regr_intercept(took, size), regr_r2(took, size), regr_avgx(took, size), regr_avgy(took, size), regr_sxx(took, size), regr_syy(took, size), regr_sxy(took, size), regr_count(took, size),
	corr(size, took), regr_slope(size, took), regr_intercept(size, took), regr_avgx(size, took), regr_slope(size, at), regr_intercept(size, at), regr_r2(size, at), regr_count(size, at), corr(at, size), regr_slope(at, size),
	corr(took, level), regr_r2(took, level), regr_r2(level, took), regr_slope(took, level), regr_slope(level, took), covar_pop(level, took) FILTER (WHERE host <> 'host 1')] AS results
	FROM calls WHERE at >= 50000 GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT * FROM lines;
SELECT host, bucket, regr_count, round(corr::numeric, 9) AS corr, round(slope::numeric, 9) AS slope FROM (SELECT host, at / 300000 AS bucket, regr_count(took, size), corr(took, size), regr_slope(size, at) AS slope
	FROM calls GROUP BY 1, 2) AS l ORDER BY 1, 2 LIMIT 3;

-- How many results differ by more than a billionth, or in being NULL.
CREATE PROCEDURE compare() LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
	CREATE TEMPORARY TABLE answered AS SELECT * FROM lines;
	SET LOCAL iforest.enable = off;
	SELECT count(*) INTO n FROM answered AS a FULL JOIN lines AS l USING (host, bucket), unnest(a.results, l.results) AS r(x, y)
		WHERE NOT (x IS NULL AND y IS NULL) AND (abs(x - y) <= 1e-9 * greatest(abs(x), abs(y), 1)) IS NOT TRUE;
	RAISE NOTICE '% rows, % results differ', (SELECT count(*) FROM answered), n;
	DROP TABLE answered;
	SET LOCAL iforest.enable = on;
END $$;
CALL compare();
BEGIN;
INSERT INTO calls SELECT 'host 1', 300000 + i * 7, i * 3 - 400, i % 4 - 1, i % 5, 1, 1 FROM generate_series(1, 3000) AS i;
CALL compare();
DELETE FROM calls WHERE took % 7 = 0;
UPDATE calls SET took = took - 900 WHERE took % 11 = 0;
CALL compare();
ROLLBACK;
CALL compare();
DELETE FROM calls WHERE took % 13 = 0;
UPDATE calls SET took = NULL, size = 1 - size WHERE took % 19 = 0;
CALL compare();
VACUUM calls;
CALL compare();
SELECT iforest_check('calls_if', true);

-- Exact where double precision is not: numbers of 19 digits on a line.
CREATE TABLE far (at int, x bigint, y bigint);
INSERT INTO far SELECT i, 9000000000000000000 + i, 3 * i - 9000000000000000000 FROM generate_series(1, 20000) AS i;
CREATE INDEX far_if ON far USING iforest (at) INCLUDE (x, y) WITH (products = 'y*x');
VACUUM ANALYZE far;
EXPLAIN (COSTS OFF) SELECT corr(y, x) FROM far;
SELECT corr(y, x), regr_slope(y, x), regr_r2(y, x), covar_pop(y, x), regr_intercept(y, x) FROM far;
-- One row, none, and rows with a NULL.
SELECT corr(y, x), regr_slope(y, x), covar_pop(y, x), covar_samp(y, x), regr_count(y, x), regr_sxx(y, x) FROM far WHERE at = 3;
SELECT corr(y, x), regr_slope(y, x), covar_pop(y, x), covar_samp(y, x), regr_count(y, x), regr_sxx(y, x) FROM far WHERE at = 30000;

-- What is not answered.
SET iforest.explain_decline = on;
EXPLAIN (COSTS OFF) SELECT corr(took, took) FROM calls;
EXPLAIN (COSTS OFF) SELECT corr(took, at) FROM calls;
EXPLAIN (COSTS OFF) SELECT corr(price, size) FROM calls;
EXPLAIN (COSTS OFF) SELECT corr(load, took) FROM calls;
EXPLAIN (COSTS OFF) SELECT corr(took + 1, size) FROM calls;
EXPLAIN (COSTS OFF) SELECT corr(1, 2) FROM calls;
EXPLAIN (COSTS OFF) SELECT corr(took, size) FILTER (WHERE took > 0) FROM calls;
-- PostgreSQL 16 and later sort below such an aggregate: only the notice is the same everywhere.
DO $$ BEGIN EXECUTE 'EXPLAIN SELECT corr(DISTINCT took, size) FROM calls'; END $$;
SET iforest.float_aggregates = off;
EXPLAIN (COSTS OFF) SELECT corr(took, size) FROM calls;
RESET iforest.float_aggregates;
RESET iforest.explain_decline;

-- The parameter.
CREATE FUNCTION try_products(list text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER INDEX calls_if SET (products = %L)', list);
	EXECUTE 'REINDEX INDEX calls_if';
	RETURN 'made';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT list, try_products(list) FROM unnest(ARRAY['took', 'took*', '*took', 'took*size*level', 'took*nope', 'at*took', 'took*3', 'took*price', 'load*took', 'took*host', 'took(1)', '', 'took*size, took*size',
	'took*size, took*level, took*at, size*level, size*at', 'took*size, took*level, took*at, size*level, size*at, level*at', 'size*took, took*size, size*AT']) AS list;
ALTER TABLE calls RENAME COLUMN took TO "Took";
ALTER TABLE calls RENAME COLUMN at TO "a*t";
SELECT reloptions FROM pg_class WHERE relname = 'calls_if';
SELECT try_products(substr(option, 10)) FROM pg_class, unnest(reloptions) AS option WHERE relname = 'calls_if' AND option LIKE 'products=%';
CREATE TABLE dated (at timestamptz, v int);
CREATE INDEX dated_if ON dated USING iforest (at) INCLUDE (v) WITH (products = 'v*at');
DROP VIEW lines;
DROP TABLE calls, far, dated;
DROP PROCEDURE compare;
DROP FUNCTION try_products;
