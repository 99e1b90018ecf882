-- Sketches asked the other way: the share at or below a number, and the counts of bins. Oracles: plain counts of the numbers, each as the
-- sketch of it alone has it; and plain counts of the numbers themselves, moved by the greatest error.
\set VERBOSITY terse
SELECT setseed(0.75);
CREATE TABLE numbers AS
	SELECT kind, v, row_number() OVER () AS n FROM (
		SELECT 'constant' AS kind, 1e9::float8 AS v FROM generate_series(1, 100)
		UNION ALL SELECT 'zero', 0 FROM generate_series(1, 10)
		UNION ALL SELECT 'one', -17.25
		UNION ALL SELECT 'all magnitudes', (CASE WHEN i % 2 = 0 THEN 1 ELSE -1 END) * power(10::float8, i % 600 - 300) * (1 + random()) FROM generate_series(1, 1000) i
		UNION ALL SELECT 'denormal', (i * 4.9406564584124654e-324) FROM generate_series(-200, 200) i
		UNION ALL SELECT 'edges of buckets', power(2::float8, i / 64) * (1 + (i % 64) / 64.0::float8) FROM generate_series(-500, 500) i
		UNION ALL SELECT 'lognormal', exp(3 * sqrt(-2 * ln(1 - random())) * cos(6.2831853 * random())) FROM generate_series(1, 1000)
		UNION ALL SELECT 'infinities and NaN', (ARRAY['Infinity', '-Infinity', 'NaN', '1', '-0', '0'])[1 + i % 6]::float8 FROM generate_series(1, 60) i
	) a;
CREATE TABLE sketches AS SELECT kind, iforest_sketch(v) AS s, count(*) AS n FROM numbers GROUP BY kind;
CREATE TABLE held AS SELECT kind, v, iforest_quantile(iforest_sketch(v), 0.5) AS h FROM numbers GROUP BY kind, v, n;
CREATE TABLE bounds AS SELECT DISTINCT kind, bound FROM (
	SELECT kind, v AS bound FROM numbers WHERE n % 20 = 0 UNION ALL SELECT kind, v * (1 + (n % 5 - 2) / 128.0::float8) FROM numbers WHERE n % 17 = 0 AND abs(v) < 1e300
	UNION ALL SELECT kind, x FROM sketches, (VALUES (0::float8), (1), (64), ('Infinity'), ('-Infinity')) b(x)) a WHERE bound <> 'NaN';
SELECT kind, count(*) >= 5 AS many, count(*) FILTER (WHERE round(iforest_rank(s, bound) * n) IS DISTINCT FROM (SELECT count(*) FROM held h WHERE h.kind = b.kind AND h.h <= bound)) AS differ,
	count(*) FILTER (WHERE bound > 0 AND bound < 1e300 AND kind <> 'denormal' AND NOT (iforest_rank(s, bound) * n BETWEEN (SELECT count(*) FROM numbers h WHERE h.kind = b.kind AND v / 128 * 129 <= bound * (1 - 1e-15)) - 1e-6
		AND (SELECT count(*) FROM numbers h WHERE h.kind = b.kind AND v / 128 * 127 <= bound * (1 + 1e-15)) + 1e-6)) AS far
FROM bounds b JOIN sketches USING (kind) GROUP BY 1 ORDER BY kind COLLATE "C";
WITH arrays AS (SELECT kind, array_agg(bound ORDER BY bound) AS bounds FROM bounds GROUP BY kind)
SELECT kind, count(*) = cardinality(bounds) + 1 AS bins, sum(count) = n AS all_counted,
	count(*) FILTER (WHERE count <> (SELECT count(*) FROM held h WHERE h.kind = a.kind AND (lower = '-Infinity' AND bin = 1 OR h.h >= lower) AND (bin > cardinality(bounds) OR h.h < upper))) AS differ,
	count(*) FILTER (WHERE count <> (SELECT count(*) FROM held h WHERE h.kind = a.kind AND width_bucket(h.h, bounds) = bin - 1)) AS differ_from_width_bucket
FROM arrays a JOIN sketches USING (kind), iforest_histogram(s, bounds) WITH ORDINALITY AS b(lower, upper, count, bin) GROUP BY kind, bounds, n ORDER BY kind COLLATE "C";
-- The sketch's own buckets: each number is in one of them.
SELECT kind, count(*) > 0 AS some, sum(count) = n AS all_counted, count(*) FILTER (WHERE count <> (SELECT count(*) FROM numbers v WHERE v.kind = s.kind AND
	CASE WHEN lower = upper THEN v = lower WHEN lower < 0 THEN v > lower AND v <= upper ELSE v >= lower AND v < upper END)) AS differ
FROM sketches s, iforest_histogram(s) GROUP BY kind, n ORDER BY kind COLLATE "C";
-- What lies below a power of two is exact, of positive numbers.
SELECT count(*) FILTER (WHERE count <> (SELECT count(*) FROM numbers v WHERE v.kind = s.kind AND v >= lower AND v < upper)) AS differ
FROM sketches s, iforest_histogram(s, (SELECT array_agg(power(2::float8, i)) FROM generate_series(-20, 20) i)) WHERE kind IN ('lognormal', 'constant') AND lower > 0 AND upper < 'Infinity';

-- Nothing, NULL and no bounds.
SELECT iforest_rank(NULL, 1) IS NULL AS a, iforest_rank(iforest_sketch(1), NULL) IS NULL AS b, iforest_rank(iforest_sketch(1), 'NaN') AS c, iforest_rank(iforest_sketch(1), 0.99) AS d,
	iforest_rank(iforest_sketch(1), 1) AS e;
SELECT * FROM iforest_histogram(NULL, '{1}');
SELECT * FROM iforest_histogram(NULL);
SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), NULL);
SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '{}');
SELECT (iforest_histogram(iforest_sketch(x), ARRAY[2, 5])).* FROM generate_series(1, 10) x;

-- Errors.
SELECT iforest_rank('', 1);
SELECT * FROM iforest_histogram('');
SELECT * FROM iforest_histogram('\x00', '{1}');
SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '{1,2,2}');
SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '{1,NaN}');
SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '{1,NULL}');
SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '{{1,2},{3,4}}');
DROP TABLE numbers, sketches, held, bounds;
