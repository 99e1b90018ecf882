-- Sketches by scanning. Oracles: percentile_disc, from which a quantile may be off by 1/128 of it; the bytes of SQLite's
-- functions are compared in test_sketch.
\set VERBOSITY terse
SELECT setseed(0.25);
CREATE TABLE numbers AS
	SELECT kind, v FROM (
		SELECT 'constant' AS kind, 1e9 AS v FROM generate_series(1, 100)
		UNION ALL SELECT 'none but zero', 0 FROM generate_series(1, 10)
		UNION ALL SELECT 'one', -17.25
		UNION ALL SELECT 'all magnitudes', (CASE WHEN i % 2 = 0 THEN 1 ELSE -1 END) * power(10::float8, i % 600 - 300) * (1 + random()) FROM generate_series(1, 5000) i
		UNION ALL SELECT 'denormal', (i * 4.9406564584124654e-324) FROM generate_series(-500, 500) i
		UNION ALL SELECT 'edges of buckets', power(2::float8, i / 64) * (1 + (i % 64) / 64.0::float8) FROM generate_series(-2000, 2000) i
		UNION ALL SELECT 'just below edges', power(2::float8, i / 64) * (1 + (i % 64) / 64.0::float8) * (1 - 1.2e-16) FROM generate_series(0, 4000) i
		UNION ALL SELECT 'lognormal', exp(3 * sqrt(-2 * ln(1 - random())) * cos(6.2831853 * random())) FROM generate_series(1, 5000)
		UNION ALL SELECT 'two ends', CASE WHEN i < 990 THEN 1e-300 ELSE 1.7e308 END FROM generate_series(1, 1000) i
		UNION ALL SELECT 'infinities and NaN', (ARRAY['Infinity', '-Infinity', 'NaN', '1', '-0', '0'])[1 + i % 6]::float8 FROM generate_series(1, 60) i
	) n;
-- A sketch serves all places, and percentile_disc finds all of them in one sort.
CREATE TABLE places AS SELECT array_agg(DISTINCT q) AS all_q FROM (SELECT i / 200.0::float8 AS q FROM generate_series(0, 200) i UNION ALL VALUES (0.999), (0.0001)) p;

-- How far off a quantile is, in 1/128 of the true one: nowhere more than 1.
CREATE FUNCTION is_near(a float8, truth float8) RETURNS boolean LANGUAGE SQL AS
	$$ SELECT a = truth OR abs(a - truth) <= abs(truth) / 128 $$;
SELECT kind, count(*) AS places, count(*) FILTER (WHERE NOT is_near(iforest_quantile(sketch, q), truth)) AS wrong
FROM (SELECT kind, iforest_sketch(v) AS sketch, percentile_disc((TABLE places)) WITHIN GROUP (ORDER BY v) AS truths FROM numbers GROUP BY 1) a, places, unnest(all_q, truths) AS t(q, truth)
GROUP BY 1 ORDER BY kind COLLATE "C";
-- With the exact extremes it lies between them, and the ends are exact.
SELECT count(*) FILTER (WHERE NOT is_near(a, truth)) AS wrong, count(*) FILTER (WHERE a NOT BETWEEN low AND high) AS outside,
	count(*) FILTER (WHERE q IN (0, 1) AND a <> truth) AS inexact
FROM (SELECT kind, iforest_sketch(v) AS sketch, percentile_disc((TABLE places)) WITHIN GROUP (ORDER BY v) AS truths, min(v) AS low, max(v) AS high
	FROM numbers GROUP BY 1) n, places, unnest(all_q, truths) AS t(q, truth), iforest_quantile(sketch, q, low, high) AS a;
-- Integers: all of -127 to 127 exactly, and all sizes.
SELECT count(*) AS wrong FROM (SELECT iforest_sketch(i) AS sketch, percentile_disc((TABLE places)) WITHIN GROUP (ORDER BY i) AS truths FROM generate_series(-127, 127) i) n,
	places, unnest(all_q, truths) AS t(q, truth) WHERE iforest_quantile(sketch, q) <> truth;
CREATE TABLE integers AS SELECT v FROM (SELECT (random() * power(2::float8, i % 62))::bigint * (CASE WHEN i % 3 = 0 THEN -1 ELSE 1 END) AS v
	FROM generate_series(1, 5000) i UNION ALL VALUES (9223372036854775807), (-9223372036854775808), (0), (9007199254740993)) n;
SELECT count(*) FILTER (WHERE NOT is_near(a, truth)) AS wrong, count(*) FILTER (WHERE NOT is_near(b, truth) OR pg_typeof(b) <> 'bigint'::regtype) AS wrong_between
FROM (SELECT iforest_sketch(v) AS sketch, percentile_disc((TABLE places)) WITHIN GROUP (ORDER BY v) AS truths, min(v) AS low, max(v) AS high FROM integers) n,
	places, unnest(all_q, truths) AS t(q, truth), iforest_quantile(sketch, q) AS a, iforest_quantile(sketch, q, low, high) AS b;
SELECT iforest_quantile(s, 0, low, high), iforest_quantile(s, 1, low, high) FROM (SELECT iforest_sketch(v) AS s, min(v) AS low, max(v) AS high FROM integers) a;

-- A number counts the same in each type of its kind; numerics and reals count as double precision.
SELECT count(DISTINCT s) AS sketches FROM (SELECT iforest_sketch(i::smallint) FROM generate_series(-300, 300) i
	UNION ALL SELECT iforest_sketch(i) FROM generate_series(-300, 300) i UNION ALL SELECT iforest_sketch(i::bigint) FROM generate_series(-300, 300) i) a(s);
CREATE DOMAIN latency AS integer CHECK (VALUE >= 0);
SELECT iforest_sketch(i::latency) = iforest_sketch(i) AS of_domain FROM generate_series(0, 300) i;
SELECT iforest_sketch(v::numeric) = iforest_sketch(v::numeric::float8) AS numerics FROM numbers WHERE kind IN ('lognormal', 'infinities and NaN');
SELECT iforest_sketch(v::numeric(20, 3)) = iforest_sketch(v::numeric(20, 3)::float8) AS with_scale FROM numbers WHERE kind = 'lognormal';
SELECT iforest_sketch(v::real) = iforest_sketch(v::real::float8) AS reals FROM numbers WHERE kind = 'lognormal';
SELECT iforest_sketch('0'::float8) = iforest_sketch('-0'::float8) AS zeros, iforest_sketch(1) = iforest_sketch(1.0::float8) AS kinds;

-- NULL is not a number, and no numbers are NULL.
SELECT iforest_sketch(v) IS NULL AS nothing, iforest_sketch_merge(iforest_sketch) IS NULL AS nothing_merged, iforest_sketch_count(iforest_sketch),
	iforest_quantile(iforest_sketch, 0.5) IS NULL AS none
FROM (SELECT NULL::integer AS v, iforest_sketch(v) FROM (VALUES (NULL::integer), (NULL)) n(v)) a GROUP BY iforest_sketch;
SELECT iforest_sketch(v) IS NULL AS nothing FROM numbers WHERE false;
SELECT iforest_sketch_count(iforest_sketch(v)), iforest_sketch(v) = iforest_sketch(v) FILTER (WHERE v IS NOT NULL) AS same FROM (VALUES (1), (NULL), (2)) n(v);
SELECT iforest_quantile(iforest_sketch(v), NULL) IS NULL AS a, iforest_quantile(iforest_sketch(v), 0.5, NULL, max(v)) AS b FROM (VALUES (1), (2)) n(v);

-- The order makes no difference, nor do parts.
SELECT iforest_sketch(v ORDER BY v) = iforest_sketch(v ORDER BY -v) AS order_is_nothing FROM numbers;
SELECT (SELECT iforest_sketch_merge(s) FROM (SELECT iforest_sketch(v) AS s FROM numbers GROUP BY kind, v::text) a) = (SELECT iforest_sketch(v) FROM numbers) AS parts_are_nothing;
SELECT (SELECT iforest_sketch_count(iforest_sketch(v)) FROM numbers) = (SELECT count(v) FROM numbers) AS all_are_counted;

-- In parallel.
CREATE TABLE many AS SELECT i % 5 AS series, ((i::bigint * 7919) % 1000003) * (i % 1000) AS v, sqrt(i) AS x FROM generate_series(1, 100000) i;
ANALYZE many;
CREATE TABLE alone AS SELECT series, iforest_sketch(v) AS v, iforest_sketch(x) AS x FROM many GROUP BY 1;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
CREATE FUNCTION is_parallel(question text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		IF line ~ 'Partial' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT is_parallel('SELECT series, iforest_sketch(v), iforest_sketch(x) FROM many GROUP BY 1'), is_parallel('SELECT iforest_sketch_merge(v) FROM alone');
SELECT count(*) AS differ FROM (SELECT series, iforest_sketch(v) AS v, iforest_sketch(x) AS x FROM many GROUP BY 1) a
	FULL JOIN alone USING (series, v, x) WHERE a.series IS NULL OR alone.series IS NULL;
SELECT (SELECT iforest_sketch_merge(v) FROM alone) = (SELECT iforest_sketch(v) FROM many) AS same;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;

-- Frames that move: numbers are taken out again.
WITH framed AS MATERIALIZED (SELECT row_number() OVER (ORDER BY kind COLLATE "C", v) AS n, CASE WHEN v < 1e9 THEN v END AS v FROM numbers WHERE kind < 'k' ORDER BY random() LIMIT 300),
	moved AS (SELECT n, iforest_sketch(v) OVER w AS s, iforest_sketch_merge(s) OVER w AS merged
		FROM (SELECT n, v, CASE WHEN v IS NOT NULL THEN iforest_sketch(v) OVER (PARTITION BY n) END AS s FROM framed) f WINDOW w AS (ORDER BY n ROWS BETWEEN 9 PRECEDING AND 3 PRECEDING)),
	anew AS (SELECT f.n, iforest_sketch(w.v) AS s FROM (SELECT n, row_number() OVER (ORDER BY n) AS place FROM framed) f
		LEFT JOIN (SELECT v, row_number() OVER (ORDER BY n) AS place FROM framed) w ON w.place BETWEEN f.place - 9 AND f.place - 3 GROUP BY 1)
SELECT count(*) AS frames, count(*) FILTER (WHERE moved.s IS DISTINCT FROM anew.s OR moved.merged IS DISTINCT FROM anew.s) AS differ FROM moved JOIN anew USING (n);

-- Errors.
SELECT iforest_sketch(v) FROM (VALUES (interval '1 s')) n(v);
SELECT iforest_sketch(v) FROM (VALUES ('1'::text)) n(v);
\set VERBOSITY sqlstate
SELECT iforest_sketch(v) FROM (VALUES (1e400)) n(v);
\set VERBOSITY terse
SELECT iforest_quantile('', 0.5);
SELECT iforest_quantile(iforest_sketch(1), 99);
SELECT iforest_quantile(iforest_sketch(1), 'NaN');
SELECT iforest_quantile(iforest_sketch(1), -0.01, 1, 1);
SELECT iforest_quantile(iforest_sketch(1), 0.5, 2, 3);
SELECT iforest_quantile(iforest_sketch(v), 0.5, 3, 1) FROM (VALUES (1), (3)) n(v);
SELECT iforest_quantile(iforest_sketch(v), 0.5, 1::bigint, 3::bigint) FROM (VALUES (1.5), (3)) n(v);
SELECT iforest_quantile(iforest_sketch(v), 0.5, 1::bigint, 3::bigint) FROM (VALUES (1), (2.5), (3)) n(v);
SELECT iforest_quantile(iforest_sketch(v), 0.5, 1.5, 3), iforest_quantile(iforest_sketch(v), 0) FROM (VALUES (1.5), (3)) n(v);
WITH RECURSIVE doubled(n, s) AS (SELECT 0, (SELECT iforest_sketch(1) FROM generate_series(1, 2))
	UNION ALL SELECT n + 1, (SELECT iforest_sketch_merge(x) FROM (VALUES (s), (s)) t(x)) FROM doubled WHERE n < 61)
SELECT iforest_sketch_count(s) FROM doubled WHERE n = 61;
WITH RECURSIVE doubled(n, s) AS (SELECT 0, (SELECT iforest_sketch(1) FROM generate_series(1, 2))
	UNION ALL SELECT n + 1, (SELECT iforest_sketch_merge(x) FROM (VALUES (s), (s)) t(x)) FROM doubled WHERE n < 62)
SELECT iforest_sketch_count(s) FROM doubled WHERE n = 62;

-- Damaged bytes are an error: each bit turned over, each length, bytes of something else.
CREATE FUNCTION refuses(sketch bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	n_errors integer := 0;
BEGIN
	BEGIN
		PERFORM iforest_sketch_count(sketch);
	EXCEPTION WHEN invalid_parameter_value OR feature_not_supported THEN n_errors := n_errors + 1;
	END;
	BEGIN
		PERFORM iforest_quantile(sketch, 0.5);
	EXCEPTION WHEN invalid_parameter_value OR feature_not_supported THEN n_errors := n_errors + 1;
	END;
	BEGIN
		PERFORM iforest_sketch_merge(s) FROM (VALUES (NULL), (sketch)) t(s);
	EXCEPTION WHEN invalid_parameter_value OR feature_not_supported THEN n_errors := n_errors + 1;
	END;
	RETURN n_errors = 3;
END $$;
CREATE TABLE whole AS SELECT iforest_sketch(v) AS s FROM numbers WHERE kind IN ('infinities and NaN', 'one', 'constant') OR (kind = 'lognormal' AND v > 100);
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE NOT refuses(set_bit(s, i, 1 - get_bit(s, i)))) AS accepted FROM whole, generate_series(0, 8 * length(s) - 1) i;
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE NOT refuses(substr(s, 1, i))) AS accepted FROM whole, generate_series(0, length(s) - 1) i;
SELECT count(*) FILTER (WHERE NOT refuses(s || decode(lpad(to_hex(i), 2, '0'), 'hex'))) AS accepted FROM whole, generate_series(0, 255) i;
SELECT count(*) FILTER (WHERE NOT refuses(substr(s, 1, 8 + i % 20) || decode(md5(i::text), 'hex'))) AS accepted FROM whole, generate_series(0, 999) i;
SELECT refuses('\x00'), refuses(decode(md5('x'), 'hex')), refuses((SELECT decode(repeat('ff', 100000), 'hex')));
DROP TABLE numbers, places, integers, many, alone, whole;
DROP FUNCTION is_near, is_parallel, refuses;
DROP DOMAIN latency;
