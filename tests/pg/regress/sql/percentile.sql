-- percentile_cont and percentile_disc from an index: exact ones are those of the plain plan, in values; those from sketches are
-- near it. Oracle: iforest.enable = off.
\set VERBOSITY terse
SELECT setseed(0.125);
CREATE TABLE p(id int, s text, ts bigint, i2 smallint, i4 int, i8 bigint, f4 real, f8 double precision, n numeric(12, 3), d date, at timestamptz);
INSERT INTO p SELECT i, 's' || i % 4, i * 10, (i * 7919 % 2001 - 1000)::smallint, nullif(i * 31 % 1009, 7), (i::bigint * 7919 % 100003) * (i % 17) - 1000, (i % 977) / 8.0::real,
	CASE WHEN i % 500 = 0 THEN 'NaN' WHEN i % 501 = 0 THEN 'Infinity' WHEN i % 502 = 0 THEN '-Infinity' ELSE exp((i * 7919 % 1000) / 100.0::float8) END,
	(i * 31 % 7919) / 8.0::numeric, '2024-01-01'::date + i % 366, '2024-01-01'::timestamptz + i % 1000 * interval '1 hour'
	FROM generate_series(1, 4000) i;
INSERT INTO p SELECT 20000 + i, NULL, CASE WHEN i % 2 = 0 THEN NULL ELSE 5000 END, i, i, i, i, i, i, NULL, NULL FROM generate_series(1, 9) i;
CREATE INDEX p_if ON p USING iforest (s, ts) INCLUDE (i2, i4, i8, f4, f8, n, d, at) WITH (sketch = 'i8, f8', pending_pages = 4);
VACUUM ANALYZE p;
INSERT INTO p SELECT 30000 + i, 's' || i % 5, i * 70, i % 100, -i, i, i / 3.0::real, -i, i, '2023-01-01', '2023-01-01' FROM generate_series(1, 700) i;
DELETE FROM p WHERE id % 41 = 0;

-- Asks with the index and without: how, and whether rows are the same.
CREATE FUNCTION ask(outputs text, rest text, OUT how text, OUT n bigint, OUT differ bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	question text := 'SELECT ' || outputs || ' FROM p ' || rest;
	as_text text := 'SELECT q::text AS row FROM (' || question || ') q';
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_indexscan = off;
	how := 'plain';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		IF line ~ 'Percentiles' THEN
			how := trim(line);
		END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE by_index AS ' || as_text;
	SET LOCAL iforest.enable = off;
	EXECUTE 'CREATE TEMP TABLE plain AS ' || as_text;
	SET LOCAL iforest.enable = on;
	SELECT count(*) INTO n FROM plain;
	SELECT count(*) INTO differ FROM (SELECT count(*) AS n, row FROM by_index GROUP BY 2) a FULL JOIN (SELECT count(*) AS n, row FROM plain GROUP BY 2) b USING (n, row)
		WHERE a.row IS NULL OR b.row IS NULL;
	DROP TABLE by_index, plain;
END $$;
CREATE TABLE windows(w text);
INSERT INTO windows VALUES (''), ('WHERE ts >= 10000 AND ts < 17000'), ('WHERE s IN (''s1'', ''s2'') AND ts < 30010'), ('WHERE ts IS NULL'), ('WHERE ts < 0'), ('WHERE i8 > 50000 AND ts > 20000');
CREATE TABLE outputs(o text);
INSERT INTO outputs SELECT 'percentile_disc(' || q || ') WITHIN GROUP (ORDER BY ' || c || ')' FROM unnest(ARRAY['i2', 'i4', 'i8', 'f4', 'f8', 'n', 'd', 'at', '-i8', 'i4 / 7', 'i8::numeric * 0.5', 'f8 * 2', 'n + 1', 'd::timestamp',
	'i4 DESC', '(- i8) DESC', 'at DESC', '10 - i4']) c, unnest(ARRAY['0', '0.37', '1', 'ARRAY[0.5, NULL, 0.99]', 'ARRAY[[0, 1], [0.2, 0.9]]', 'ARRAY[]::float8[]', 'NULL::float8']) q;
INSERT INTO outputs SELECT 'percentile_cont(' || q || ') WITHIN GROUP (ORDER BY ' || c || ')' FROM unnest(ARRAY['i2', 'i4', 'i8', 'f4', 'f8', 'n', '-i8', 'i4 / 10.0', 'i4::float8 / 3', 'f8 * 2', 'i4 DESC', 'f8 DESC', '(- i8) DESC', '10 - i4']) c,
	unnest(ARRAY['0', '0.37', '1', 'ARRAY[0.5, NULL, 0.99]', 'ARRAY[[0, 1], [0.2, 0.9]]']) q;
CREATE TABLE parts AS SELECT part, string_agg(o, ', ') AS o FROM (SELECT o, row_number() OVER () % 3 AS part FROM outputs) o GROUP BY part;
SELECT how, count(*), sum(differ) AS differ FROM windows, parts, ask(o, w) GROUP BY 1;
SELECT how, count(*), sum(differ) AS differ FROM windows, parts, unnest(ARRAY['s', 'ts / 9000', 's, iforest_bucket(ts, 0, 30000, 7)']) WITH ORDINALITY g(g, i),
	ask(g || ', count(*), max(f8), sum(i8), ' || o, w || ' GROUP BY ' || g) WHERE part = i - 1 GROUP BY 1;
SELECT * FROM ask('s, percentile_cont(0.5) WITHIN GROUP (ORDER BY i8) FILTER (WHERE ts < 15000), percentile_disc(0.5) WITHIN GROUP (ORDER BY i8) FILTER (WHERE s = ''s1''),
	percentile_disc(0.5) WITHIN GROUP (ORDER BY CASE WHEN s <> ''s3'' THEN i8 END)', 'GROUP BY s HAVING percentile_disc(0.5) WITHIN GROUP (ORDER BY i4) > 3');
SELECT * FROM ask('percentile_cont((SELECT 0.25)) WITHIN GROUP (ORDER BY i8)', 'WHERE ts < 30000');
PREPARE by_fraction(float8, bigint) AS SELECT s, percentile_cont($1) WITHIN GROUP (ORDER BY i8 + $2) FROM p WHERE ts < 30000 GROUP BY s ORDER BY s;
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = off; SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_fraction(0.5, 3);
EXECUTE by_fraction(0.5, 3);
EXECUTE by_fraction(1, NULL);
SET iforest.enable = off;
EXECUTE by_fraction(0.5, 3);
RESET iforest.enable; RESET plan_cache_mode;

-- Errors are the same, and come from the same calls.
SELECT percentile_disc(1.5) WITHIN GROUP (ORDER BY i8) FROM p;
SELECT percentile_disc(1.5) WITHIN GROUP (ORDER BY i8) FROM p WHERE ts < 0;
SELECT percentile_disc(ARRAY[1.5]) WITHIN GROUP (ORDER BY i8) FROM p WHERE ts < 0;
SELECT percentile_cont(ARRAY[0.5, -1]) WITHIN GROUP (ORDER BY i8) FROM p;
SELECT percentile_cont('NaN') WITHIN GROUP (ORDER BY i8) FROM p;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY (i8 * 100000)::int) FROM p;

-- From sketches: near the exact ones, exact at the ends; numerics, dates and times stay exact.
SET iforest.approximate_percentiles = on;
SELECT * FROM ask('percentile_disc(0.5) WITHIN GROUP (ORDER BY n), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY at), count(*)', 'WHERE ts > 7000');
CREATE FUNCTION near(c text, g text, w text, OUT how text, OUT n bigint, OUT far bigint, OUT inexact_ends bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	places float8[] := ARRAY[0, 0.01, 0.25, 0.5, 0.9, 0.99, 1];
	question text := 'SELECT k, q, d, e FROM (SELECT ' || '(' || g || ')::text AS k, percentile_disc(' || quote_literal(places) || '::float8[]) WITHIN GROUP (ORDER BY ' || c || ') AS ds, percentile_cont(' || quote_literal(places)
		|| '::float8[]) WITHIN GROUP (ORDER BY ' || c || ') AS es FROM p ' || w || ' GROUP BY 1) a, unnest(ds, es, ' || quote_literal(places) || '::float8[]) u(d, e, q)';
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_indexscan = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		IF line ~ 'Percentiles' THEN
			how := trim(line);
		END IF;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE by_index AS ' || question;
	SET LOCAL iforest.enable = off;
	EXECUTE 'CREATE TEMP TABLE plain AS ' || question;
	SET LOCAL iforest.enable = on;
	SELECT count(*), count(*) FILTER (WHERE NOT (b.d = p.d OR abs(b.d - p.d) <= abs(p.d) / 127.99) OR NOT (b.e = p.e OR abs(b.e - p.e) <= greatest(abs(p.e), abs(p.d)) / 127)),
		count(*) FILTER (WHERE q IN (0, 1) AND (b.d <> p.d OR b.e <> p.e)) INTO n, far, inexact_ends FROM by_index b JOIN plain p USING (k, q);
	DROP TABLE by_index, plain;
END $$;
SELECT c, min(how) = max(how) AND max(how) = 'Percentiles: from sketches, at most 1/128 off' AS from_sketches, sum(n) > 0 AS some, sum(far) AS far, sum(inexact_ends) AS inexact_ends
FROM unnest(ARRAY['i2', 'i4', 'i8', 'f4', 'i8 DESC', '- i8', 'i8 / 4.0::float8']) WITH ORDINALITY c(c, i), windows, near(c, (ARRAY['s', 'ts / 9000'])[1 + i % 2], w) GROUP BY c ORDER BY c COLLATE "C";
EXPLAIN (COSTS OFF) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i8), percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM p;
SELECT percentile_disc(1.5) WITHIN GROUP (ORDER BY i8) FROM p WHERE ts < 0;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i8) IS NULL AS none FROM p WHERE ts < 0;
RESET iforest.approximate_percentiles;

-- Partitions.
CREATE TABLE q(s text, ts bigint, v int) PARTITION BY RANGE (ts);
CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (20000);
CREATE TABLE q2 PARTITION OF q FOR VALUES FROM (20000) TO (60000);
INSERT INTO q SELECT s, ts, i4 FROM p WHERE ts IS NOT NULL;
CREATE INDEX q_if ON q USING iforest (s, ts) INCLUDE (v) WITH (sketch = 'v');
VACUUM ANALYZE q;
CREATE TABLE by_index AS SELECT s, percentile_cont(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY v) AS a, percentile_disc(0.9) WITHIN GROUP (ORDER BY v DESC) AS b FROM q WHERE ts > 10000 GROUP BY s;
EXPLAIN (COSTS OFF) SELECT s, percentile_cont(0.1) WITHIN GROUP (ORDER BY v) FROM q WHERE ts > 10000 GROUP BY s;
SET iforest.enable = off;
SELECT count(*) AS n, count(*) FILTER (WHERE a.a IS DISTINCT FROM b.a OR a.b IS DISTINCT FROM b.b) AS differ FROM by_index a JOIN (SELECT s, percentile_cont(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY v) AS a,
	percentile_disc(0.9) WITHIN GROUP (ORDER BY v DESC) AS b FROM q WHERE ts > 10000 GROUP BY s) b ON a.s IS NOT DISTINCT FROM b.s;
RESET iforest.enable;

-- What is declined.
\set VERBOSITY default
RESET enable_indexscan; SET iforest.explain_decline = on;
EXPLAIN (COSTS OFF) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ts) FROM p WHERE ts < 0;
EXPLAIN (COSTS OFF) SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY i8 * interval '1 second') FROM p WHERE ts < 0;
EXPLAIN (COSTS OFF) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY CASE WHEN s = 's1' THEN i8 ELSE 0 END) FROM p WHERE ts < 0;
EXPLAIN (COSTS OFF) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i8 % 10) FROM p WHERE ts < 0;
EXPLAIN (COSTS OFF) SELECT ts / 100000, percentile_disc(ts / 100000 / 10.0) WITHIN GROUP (ORDER BY i8) FROM p WHERE ts < 0 GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT percentile_disc(random()) WITHIN GROUP (ORDER BY i8) FROM p WHERE ts < 0;
EXPLAIN (COSTS OFF) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY s USING ~<~) FROM p WHERE ts < 0;
EXPLAIN (COSTS OFF) SELECT mode() WITHIN GROUP (ORDER BY i8) FROM p WHERE ts < 0;
RESET iforest.explain_decline; RESET enable_seqscan; RESET enable_bitmapscan;
DROP TABLE p, q, windows, outputs, parts, by_index;
DROP FUNCTION ask, near;
