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

-- The rows in which both plans differ.
CREATE PROCEDURE compare() LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
	CREATE TEMPORARY TABLE answered AS SELECT * FROM counts;
	SET LOCAL iforest.enable = off;
	SELECT count(*) INTO n FROM (TABLE answered EXCEPT ALL SELECT * FROM counts) AS d;
	RAISE NOTICE '% rows, % of them differ', (SELECT count(*) FROM answered), n;
	DROP TABLE answered;
	SET LOCAL iforest.enable = on;
END $$;
CALL compare();
BEGIN;
INSERT INTO calls SELECT 'host 1', '2024-01-03'::timestamptz + i * interval '1 s', i * 3 - 400, i % 4 - 1, i % 5, 1, 1 FROM generate_series(1, 3000) AS i;
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

-- What is not answered.
SET iforest.explain_decline = on;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5001) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5000 AND took <= 1000) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE price <= 10) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took <> 1000) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5000.0) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5000 OR took <= 0) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE took > 5000 AND size > 0) FROM calls;
EXPLAIN (COSTS OFF) SELECT count(size) FILTER (WHERE took > 5000) FROM calls;
EXPLAIN (COSTS OFF) SELECT sum(size) FILTER (WHERE took > 5000) FROM calls;
RESET iforest.explain_decline;

-- Constants of a prepared statement are known while it is planned anew for each execution.
PREPARE slower (int) AS SELECT count(*) FILTER (WHERE took > $1) FROM calls;
EXPLAIN (COSTS OFF) EXECUTE slower(5000);
EXECUTE slower(5000);
EXECUTE slower(5002);

-- Partitions answer by the bounds that all of them keep.
CREATE TABLE parts (at int, v int) PARTITION BY RANGE (at);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (2000);
INSERT INTO parts SELECT i, i % 100 FROM generate_series(0, 1999) AS i;
CREATE INDEX parts_if ON parts USING iforest (at) INCLUDE (v) WITH (histogram = 'v(10, 50)');
VACUUM ANALYZE parts;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE v <= 50) FROM parts;
SELECT count(*) FILTER (WHERE v <= 50), count(*) FILTER (WHERE v > 10) FROM parts;
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
DROP TABLE calls, parts;
DROP PROCEDURE compare;
DROP FUNCTION try_histogram;
