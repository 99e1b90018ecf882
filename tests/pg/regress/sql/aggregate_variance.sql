-- Variances and standard deviations from sums of squares: the very digits of the plain plan, and why there are none elsewhere.
SET TimeZone = 'UTC';
SET DateStyle = ISO;
-- whole grows a digit every 30 rows; far is one end of its type or the other; of series 'one' there is one row, of 'gaps' only NULLs.
CREATE TABLE spans(id integer, ts timestamptz, service text, small smallint, whole integer, dur bigint, price numeric(12,3), far bigint, still integer,
	load float8, "Odd Name" numeric(18,9));
INSERT INTO spans
SELECT i, timestamptz '2024-03-01' + i * interval '20 s', CASE i % 4 WHEN 3 THEN NULL ELSE (ARRAY['api', 'db', 'web'])[1 + i % 4] END,
	(i * 7919 % 65536 - 32768)::smallint, i * 7919 % (10::bigint ^ (i / 30 % 10))::bigint - 500,
	CASE WHEN i % 13 <> 0 THEN i * 2654435761 % (10::bigint ^ (i / 15 % 12))::bigint END, (i * 104729 % 1000000000 - 400000000) / 1000.0,
	CASE i % 3 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 END, -7, i % 100 / 8.0, (i * 15485863::bigint % 1000000007) / 1000000000.0
FROM generate_series(0, 11999) i;
INSERT INTO spans VALUES (12000, '2024-03-03', 'one', 5, 5, 5, 5.125, -9223372036854775808, -7, 5, 5);
INSERT INTO spans(id, ts, service) SELECT i, timestamptz '2024-03-01' + i * interval '1 s', 'gaps' FROM generate_series(12001, 12100) i;
CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (small, whole, dur, price, far, still, load, "Odd Name")
	WITH (variance = 'small, WHOLE ,dur, price,far, still, "Odd Name"', background_merge = off, pending_pages = 1);
VACUUM ANALYZE spans;

-- Whether the index answers, and whether the rows are those of a plan without it, digit by digit.
CREATE FUNCTION digits(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	gather text := format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question);
	line text;
	expected text[];
	actual text[];
	is_taken boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		is_taken := is_taken OR line ~ 'IForestAggregate';
	END LOOP;
	EXECUTE gather INTO actual;
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE gather INTO expected;
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN format('%s; rows: %s, %s', CASE WHEN is_taken THEN 'by the index' ELSE 'by another plan' END, coalesce(cardinality(expected), 0),
		CASE WHEN actual IS NOT DISTINCT FROM expected THEN 'the same' ELSE 'different' END);
END $$;
-- The plan alone, with a notice of why.
CREATE FUNCTION answered(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('iforest.explain_decline', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		IF line ~ 'IForestAggregate' THEN
			RETURN 'by the index';
		END IF;
	END LOOP;
	RETURN 'by another plan';
END $$;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;

-- ---- what is reckoned by hand ----
CREATE TABLE eight(at integer, v integer, p numeric(6,2));
INSERT INTO eight SELECT i, v, v FROM unnest('{2,4,4,4,5,5,7,9}'::integer[]) WITH ORDINALITY q(v, i);
CREATE INDEX eight_if ON eight USING iforest (at) INCLUDE (v, p) WITH (variance = 'v, p');
SELECT answered('SELECT stddev_pop(v) FROM eight');
SELECT var_pop(v), stddev_pop(v), var_samp(v) = 32 / 7.0 AS samp, variance(v) = var_samp(v) AS variance, stddev(v) = stddev_samp(v) AS stddev FROM eight;
SELECT var_pop(p), stddev_pop(p) FROM eight;
SELECT at / 5 AS half, variance(v), stddev_pop(v), pg_typeof(stddev(v)) FROM eight GROUP BY 1 ORDER BY 1;
SELECT at, variance(v), stddev(v), var_pop(v), stddev_pop(v) FROM eight WHERE at < 3 GROUP BY 1 ORDER BY 1;
SELECT variance(v), stddev_pop(v) FROM eight WHERE at > 8;

-- ---- whole, by series, by buckets ----
\set functions 'variance(@), var_samp(@), var_pop(@), stddev(@), stddev_samp(@), stddev_pop(@)'
SELECT v, digits(format('SELECT %s FROM spans', replace(:'functions', '@', v))) AS whole,
	digits(format('SELECT service, %s FROM spans GROUP BY 1', replace(:'functions', '@', v))) AS by_service,
	digits(format('SELECT date_trunc(''hour'', ts), %s FROM spans GROUP BY 1', replace(:'functions', '@', v))) AS by_hour,
	digits(format('SELECT service, date_trunc(''minute'', ts), %s FROM spans GROUP BY 1, 2', replace(:'functions', '@', v))) AS by_both
FROM unnest('{small,whole,dur,price,far,still,"\"Odd Name\""}'::text[]) v;
-- thousands of groups of three rows
SELECT v, digits(format('SELECT date_trunc(''minute'', ts), %s FROM spans GROUP BY 1', replace(:'functions', '@', v))) AS by_minute
FROM unnest('{small,whole,dur,price,far,still,"\"Odd Name\""}'::text[]) v;
-- what is NULL
SELECT service, count(*), count(far), variance(far), var_pop(far), stddev_samp(price), stddev_pop(price) FROM spans WHERE service IN ('one', 'gaps') GROUP BY 1 ORDER BY 1;
-- what is equal
SELECT service, variance(still), stddev_pop(still) FROM spans GROUP BY 1 ORDER BY 1;
-- Two at the ends, 2^64 - 1 apart; the sum of all squares is beyond 128 bits.
SELECT variance(far), stddev_pop(far) FROM spans WHERE ts < '2024-03-01 00:00:40';
SELECT digits('SELECT var_pop(far), variance(far), stddev(far) FROM spans WHERE ts < ''2024-03-01 00:00:40''');

-- ---- parts of rows ----
SELECT digits('SELECT service, stddev(dur), stddev(price) FROM spans WHERE ts >= ''2024-03-01 03:00:17'' AND ts < ''2024-03-02 04:05'' AND service IN (''api'', ''web'') GROUP BY 1');
SELECT digits('SELECT date_trunc(''hour'', ts), stddev(dur), variance(far), var_pop(small) FROM spans WHERE dur BETWEEN 10 AND 70000 GROUP BY 1');
SELECT digits('SELECT service, stddev(price), count(*) FROM spans WHERE price < -12.5 GROUP BY 1');
SELECT digits('SELECT service, stddev(price), stddev_pop(still) FROM spans WHERE load > 12 GROUP BY 1');
SELECT digits('SELECT stddev(dur) FILTER (WHERE service = ''db''), stddev(dur) FILTER (WHERE service IS NULL AND extract(hour FROM ts) > 11), variance(far) FILTER (WHERE false) FROM spans');
SELECT digits('SELECT date_trunc(''hour'', ts), stddev(dur) FILTER (WHERE ts < ''2024-03-02 10:30:10''), variance(far) FILTER (WHERE service = ''one'') FROM spans GROUP BY 1');
SELECT digits('SELECT date_trunc(''hour'', ts), stddev(CASE WHEN service = ''api'' THEN dur END), var_pop(CASE service WHEN ''one'' THEN far ELSE still END) FROM spans GROUP BY 1');
-- Of two columns with 3 and 9 digits, or none; rounded to as many as those that there are.
SELECT digits('SELECT date_trunc(''minute'', ts), variance(v), stddev(v), var_pop(v), stddev_pop(v) FROM (SELECT ts, CASE WHEN service = ''api'' THEN price ELSE "Odd Name" END AS v FROM spans) q GROUP BY 1');
SELECT digits('SELECT date_trunc(''minute'', ts), variance(v), stddev(v), var_pop(v), stddev_pop(v) FROM (SELECT ts, CASE WHEN service = ''api'' THEN price WHEN service = ''db'' THEN whole END AS v FROM spans) q GROUP BY 1');
SELECT digits('SELECT service, stddev(CASE WHEN service = ''api'' THEN price WHEN service = ''db'' THEN whole ELSE far END) FROM spans GROUP BY 1');
SELECT digits('SELECT service, stddev(small::bigint), variance(small::numeric), var_pop(whole::bigint), stddev(dur::numeric), stddev(price::numeric), stddev(whole::smallint) FILTER (WHERE ts < ''2024-03-01'') FROM spans GROUP BY 1');

-- ---- in larger queries ----
SELECT digits('SELECT service, round(stddev(dur), 2), stddev(dur) / nullif(avg(dur), 0), sum(dur), max(dur), min(price), count(*) FROM spans GROUP BY 1 HAVING stddev_pop(price) > 0 ORDER BY stddev(dur) DESC NULLS LAST LIMIT 3');
SELECT digits('SELECT hour, sd, avg(sd) OVER (ORDER BY hour ROWS 3 PRECEDING) FROM (SELECT date_trunc(''hour'', ts) AS hour, stddev(whole) AS sd FROM spans GROUP BY 1) q');
SELECT digits('SELECT t, s.* FROM generate_series(timestamptz ''2024-03-01'', ''2024-03-04'', ''7 hours'') t, LATERAL (SELECT variance(dur), stddev(price) FROM spans WHERE ts >= t AND ts < t + interval ''7 hours'') s');
SET iforest.float_aggregates = off;
SELECT digits('SELECT service, stddev(price) FROM spans GROUP BY 1');
RESET iforest.float_aggregates;

-- ---- pending rows, runs, removed entries, rows of this transaction ----
CREATE TABLE question(n integer, question text);
INSERT INTO question VALUES
	(1, 'SELECT stddev(small), variance(whole), stddev_pop(dur), stddev(price), var_pop(far), stddev(still) FROM spans'),
	(2, 'SELECT service, stddev(small), variance(whole), stddev_pop(dur), stddev(price), var_pop(far), stddev(still) FROM spans GROUP BY 1'),
	(3, 'SELECT date_trunc(''minute'', ts), stddev(small), variance(whole), stddev_pop(dur), stddev(price), var_pop(far) FROM spans WHERE ts < ''2024-03-02'' GROUP BY 1'),
	(4, 'SELECT service, stddev(dur), variance(far) FROM spans WHERE dur BETWEEN 100 AND 100000 GROUP BY 1');
INSERT INTO spans(id, ts, service, small, whole, dur, price, far)
	SELECT 20000 + i, timestamptz '2024-03-01' + i * interval '7 s', (ARRAY['api', 'new'])[1 + i % 2], i % 100, -i, i * 1000, i / 7.0, 9223372036854775807 - i FROM generate_series(1, 2000) i;
SELECT n, digits(question) FROM question ORDER BY n;
DELETE FROM spans WHERE dur % 7 = 3 OR id < 2;
SELECT n, digits(question) FROM question ORDER BY n;
BEGIN;
UPDATE spans SET dur = dur + 1000000, small = -small WHERE id % 5 = 1 AND small > -32768;
DELETE FROM spans WHERE service = 'one';
INSERT INTO spans(id, ts, service, dur, far) VALUES (30000, '2024-03-01 12:00', 'newer', 77, 9223372036854775807), (30001, '2024-03-01 12:00', 'newer', 78, -9223372036854775808);
SELECT n, digits(question) FROM question ORDER BY n;
SAVEPOINT s;
UPDATE spans SET far = 0;
SELECT n, digits(question) FROM question ORDER BY n;
ROLLBACK TO s;
SELECT n, digits(question) FROM question ORDER BY n;
COMMIT;
SELECT n, digits(question) FROM question ORDER BY n;
VACUUM spans;
SELECT n, digits(question) FROM question ORDER BY n;
SELECT iforest_merge('spans_if', true);
SELECT n, digits(question) FROM question ORDER BY n;
SELECT iforest_check('spans_if', true);

-- ---- why not ----
SELECT answered('SELECT stddev(load) FROM spans');
SELECT answered('SELECT variance(dur::float8) FROM spans');
SELECT answered('SELECT stddev(dur + 1) FROM spans');
SELECT answered('SELECT stddev(-dur) FROM spans');
SELECT answered('SELECT stddev(dur * 1) FROM spans');
SELECT answered('SELECT stddev(numeric_mul(price, 10)) FROM spans');
SELECT answered('SELECT stddev(int84pl(dur, 1)) FROM spans');
SELECT answered('SELECT var_pop(abs(dur)) FROM spans');
SELECT answered('SELECT stddev(price::integer) FROM spans');
SELECT answered('SELECT stddev(price::numeric(12,1)) FROM spans');
SELECT answered('SELECT stddev(coalesce(dur, 0)) FROM spans');
SELECT answered('SELECT stddev(3) FROM spans');
SELECT answered('SELECT stddev(length(service)) FROM spans');
SELECT answered('SELECT stddev(CASE WHEN service = ''api'' THEN dur ELSE 0 END) FROM spans');
SELECT answered('SELECT stddev(extract(epoch FROM ts)) FROM spans');
SELECT answered('SELECT stddev(dur + far) FROM spans');
SELECT answered('SELECT stddev(CASE WHEN dur > 3 THEN dur END) FROM spans');
SELECT answered('SELECT stddev(DISTINCT dur) FROM spans');
SELECT answered('SELECT stddev(id) FROM spans');
SELECT answered('SELECT var_pop(dur), corr(dur, far) FROM spans');
SELECT digits('SELECT stddev(load), variance(-dur), stddev(length(service)) FROM spans');

-- ---- the index is what it was built as ----
ALTER INDEX spans_if SET (variance = 'dur');
SELECT answered('SELECT stddev(price) FROM spans');
PREPARE deviation AS SELECT stddev(price) IS NOT NULL AS price FROM spans;
SET plan_cache_mode = force_generic_plan;
EXECUTE deviation;
EXPLAIN (COSTS OFF) EXECUTE deviation;
REINDEX INDEX spans_if;
SELECT answered('SELECT stddev(price) FROM spans');
SELECT answered('SELECT stddev(CASE WHEN service = ''api'' THEN dur ELSE far END) FROM spans');
SELECT answered('SELECT sum(price), stddev(dur) FROM spans');
EXECUTE deviation;
ALTER INDEX spans_if SET (variance = 'dur,price');
SELECT answered('SELECT stddev(price) FROM spans');
REINDEX INDEX spans_if;
SELECT digits('SELECT service, stddev(price), stddev(dur) FROM spans GROUP BY 1');
EXPLAIN (COSTS OFF) EXECUTE deviation;
RESET plan_cache_mode;
ALTER INDEX spans_if RESET (variance);
SELECT answered('SELECT stddev(dur) FROM spans');
REINDEX INDEX spans_if;
SELECT answered('SELECT stddev(dur) FROM spans');
SELECT refusal($$ALTER INDEX spans_if SET (variance = 'dur, nope')$$);
SELECT answered('SELECT sum(dur) FROM spans');
ALTER INDEX spans_if SET (variance = 'dur');
-- one index of two has them
CREATE INDEX spans_time_if ON spans USING iforest (ts) INCLUDE (dur, price) WITH (variance = 'dur, price');
SELECT answered('SELECT stddev(dur) FROM spans');
REINDEX INDEX spans_if;
SELECT iforest_check('spans_if', true), iforest_check('spans_time_if', true);
-- A renamed column is followed by the parameter.
ALTER TABLE spans RENAME price TO cost;
SELECT digits('SELECT stddev(cost), stddev(dur) FROM spans');
SELECT refusal('REINDEX INDEX spans_time_if');
-- An index that is made anew by TRUNCATE has what the parameter says by then.
ALTER INDEX spans_time_if SET (variance = 'cost');
SELECT refusal('REINDEX INDEX spans_time_if');
TRUNCATE spans;
INSERT INTO spans(id, ts, dur, cost) SELECT i, timestamptz '2024-03-01' + i * interval '1 s', i, i FROM generate_series(1, 1000) i;
ANALYZE spans;
SELECT digits('SELECT date_trunc(''minute'', ts), stddev(cost) FROM spans GROUP BY 1');
SELECT var_pop(cost) FROM spans;

-- ---- partitions ----
CREATE TABLE parts(ts integer, host text, v bigint) PARTITION BY RANGE (ts);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2(v bigint, host text, ts integer);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (1000) TO (2000);
INSERT INTO parts SELECT i, 'host ' || i % 3, i * 7919 % 1000 FROM generate_series(0, 1999) i;
CREATE INDEX parts_2_if ON parts_2 USING iforest (host, ts) INCLUDE (v);
CREATE INDEX parts_if ON parts USING iforest (host, ts) INCLUDE (v) WITH (variance = 'v');
VACUUM ANALYZE parts;
SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'parts_if'::regclass ORDER BY 1;
SELECT answered('SELECT stddev(v) FROM parts');
SELECT answered('SELECT stddev(v) FROM parts WHERE ts < 900');
SELECT answered('SELECT sum(v) FROM parts');
ALTER INDEX parts_2_if SET (variance = 'v');
REINDEX INDEX parts_2_if;
SELECT digits('SELECT host, ts / 300, stddev(v), var_pop(v) FROM parts GROUP BY 1, 2');
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (2000) TO (3000);
INSERT INTO parts SELECT i, 'host ' || i % 3, NULL FROM generate_series(2000, 2099) i;
SELECT digits('SELECT host, ts / 300, stddev(v), var_pop(v) FROM parts GROUP BY 1, 2');

-- ---- what the parameter may say ----
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TABLE odd(ts timestamptz, v integer, w integer, "Odd Name" bigint, "a,b" smallint, "say ""x""" bigint, p positive, n numeric(18,18), f real, g float8, d date,
	t timestamp, z timestamptz);
INSERT INTO odd SELECT to_timestamp(i), i, i, i, i, i, i, i / 1000000.0, i, i, '2024-01-01', '2024-01-01', '2024-01-01' FROM generate_series(1, 100) i;
SELECT parameter, refusal(format('CREATE INDEX ON odd USING iforest (ts) INCLUDE (v, w, %s) WITH (variance = %L)', columns, parameter)) FROM (VALUES
	('n', 'v'), ('n', 'n'), ('n', 'v, w,n'), ('n', ' v ,V'), ('n', ''), ('n', '"v"'), ('p', 'p'), ('"Odd Name"', '"Odd Name"'), ('"a,b"', 'v,"a,b"'), ('"say ""x"""', '"say ""x"""'),
	('n', 'nope'), ('n', 'p'), ('n', 'ts'), ('n', '"V"'), ('"Odd Name"', 'Odd Name'), ('"a,b"', 'a,b'), ('n', 'v,'), ('n', ',v'), ('n', 'v w'), ('n', 'v; w'), ('n', '"v'), ('n', ','), ('n', '3'),
	('f', 'f'), ('g', 'v, g'), ('d', 'd'), ('t', 't'), ('z', 'v,z')) q(columns, parameter);
SELECT refusal('CREATE INDEX ON odd USING iforest (ts) WITH (variance = v)');
SELECT refusal('CREATE INDEX ON odd USING iforest (v, ts) INCLUDE (w) WITH (variance = v)');
CREATE INDEX odd_if ON odd USING iforest (ts) INCLUDE (v, "Odd Name", "a,b", p, n, "say ""x""") WITH (variance = '"Odd Name", "a,b",p,n, "say ""x""",v', duration = 'v');
SELECT pg_get_indexdef('odd_if'::regclass);
SELECT digits('SELECT date_trunc(''minute'', ts), stddev("Odd Name"), var_pop("a,b"), stddev(p), stddev_pop(n), variance(n), stddev("say ""x""") FROM odd GROUP BY 1');
SELECT iforest_check('odd_if', true);

DROP TABLE spans, eight, question, parts, odd;
DROP DOMAIN positive;
DROP FUNCTION digits, answered;
