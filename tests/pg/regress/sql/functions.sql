-- iforest_bucket(), the aggregates of a row, and the functions of an index: by scanning and from the index they give what plain SQL gives.
SET client_min_messages = warning;
SET iforest.enable = on;

-- "same" where both queries give the same rows, and some; the plan of the first has the custom scan where it is wanted.
CREATE FUNCTION pg_temp.compare(question text, plain text, OUT rows bigint, OUT verdict text) LANGUAGE plpgsql AS $$
DECLARE
	actual text[];
	expected text[];
BEGIN
	EXECUTE format('SELECT array_agg(a::text ORDER BY a::text) FROM (%s) a', question) INTO actual;
	EXECUTE format('SELECT array_agg(a::text ORDER BY a::text) FROM (%s) a', plain) INTO expected;
	rows := cardinality(actual);
	verdict := CASE WHEN actual = expected THEN 'same' WHEN actual IS NULL AND expected IS NULL THEN 'none' ELSE 'different: '
		|| (SELECT string_agg(d, '; ') FROM (SELECT d FROM unnest(actual) d EXCEPT SELECT d FROM unnest(expected) d LIMIT 3) d)
		|| ' instead of '
		|| (SELECT string_agg(d, '; ') FROM (SELECT d FROM unnest(expected) d EXCEPT SELECT d FROM unnest(actual) d LIMIT 3) d) END;
END $$;
CREATE FUNCTION pg_temp.uses_index(question text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan ~ 'Custom Scan \(IForestAggregate\)' AND plan !~ 'Seq Scan|Aggregate\n';
END $$;
-- From the index, by scanning, and by scanning with several processes.
CREATE FUNCTION pg_temp.compare_all(question text, plain text, OUT rows bigint, OUT index text, OUT scan text, OUT parallel text) LANGUAGE plpgsql
SET iforest.enable FROM CURRENT SET max_parallel_workers_per_gather FROM CURRENT SET cpu_tuple_cost FROM CURRENT AS $$
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', '0', true), set_config('cpu_tuple_cost', '100', true);
	SELECT c.rows, c.verdict || CASE WHEN pg_temp.uses_index(question) THEN '' ELSE ', without the index' END INTO rows, index
	FROM pg_temp.compare(question, plain) c;
	PERFORM set_config('iforest.enable', 'off', true), set_config('cpu_tuple_cost', '0.01', true);
	SELECT c.verdict INTO scan FROM pg_temp.compare(question, plain) c;
	PERFORM set_config('max_parallel_workers_per_gather', '2', true), set_config('parallel_setup_cost', '0', true),
		set_config('parallel_tuple_cost', '0', true), set_config('min_parallel_table_scan_size', '0', true);
	SELECT c.verdict INTO parallel FROM pg_temp.compare(question, plain) c;
END $$;

-- ---- iforest_bucket ----

SELECT iforest_bucket(0, 0, 100, 4), iforest_bucket(99, 0, 100, 4), iforest_bucket(100, 0, 100, 4), iforest_bucket(-1, 0, 100, 4),
	iforest_bucket(5, 9, 3, 4), iforest_bucket(NULL::bigint, 0, 100, 4);
SELECT iforest_bucket(date '2024-02-01', '2024-01-01', '2025-01-01', 12), iforest_bucket(timestamp '2024-01-02', '2024-01-01', '2024-01-03', 2),
	iforest_bucket(timestamptz '2024-01-02 23:59:59Z', '2024-01-01Z', '2024-01-03Z', 2);
-- Every time of a window lies between the bounds of its bucket, reckoned without overflow.
SELECT count(*) > 1000 AS some, count(*) FILTER (WHERE b IS NULL OR ts < t0 + div(b * w, n) OR ts >= t0 + div((b + 1) * w, n)) AS wrong
FROM (SELECT ts, t0, n, t1::numeric - t0 AS w, iforest_bucket(ts, t0, t1, n)::numeric AS b
      FROM (SELECT least(a, b, c) AS t0, greatest(a, b, c) AS t1, a::numeric + b + c - least(a, b, c) - greatest(a, b, c) AS mid, n
            FROM (SELECT hashint8extended(i, 1) >> i % 60 AS a, hashint8extended(i, 2) >> i % 60 AS b, hashint8extended(i, 3) >> i % 50 AS c,
                         1 + abs(hashint8extended(i, 4) >> 1 + i % 62) AS n FROM generate_series(1, 2000) i) r) w,
           LATERAL (SELECT mid::bigint AS ts) t
      WHERE ts >= t0 AND ts < t1) x;
SELECT refusal($$SELECT iforest_bucket(1, 0, 10, 0)$$);
SELECT refusal($$SELECT iforest_bucket(1, 0, 10, -3)$$);

-- ---- aggregates of a row ----

CREATE TABLE fn_t(id integer GENERATED ALWAYS AS IDENTITY, track text, ts bigint, dur bigint, price numeric(9,2), load real);
ALTER TABLE fn_t SET (autovacuum_enabled = off);
CREATE INDEX fn_if ON fn_t USING iforest (track, ts) INCLUDE (dur, price, load) WITH (duration = 'dur', variance = 'dur');
CREATE FUNCTION pg_temp.fill_t(n integer, seed integer) RETURNS void LANGUAGE sql AS $$
	INSERT INTO fn_t(track, ts, dur, price, load)
	SELECT CASE WHEN i % 97 = 0 THEN NULL ELSE 'track ' || i % 5 END,
		CASE WHEN i % 53 = 0 THEN NULL WHEN i % 301 = 0 THEN i * 1000000::bigint ELSE abs(hashint8(i + seed * 1000)) % 20000 END,
		CASE WHEN i % 11 = 0 THEN NULL WHEN i % 89 = 0 THEN -1 WHEN i % 13 = 0 THEN 0 WHEN i % 499 = 0 THEN 15000 ELSE abs(hashint8(i + 7 * seed)) % 60 END,
		CASE WHEN i % 7 = 0 THEN NULL ELSE (abs(hashint8(i * seed)) % 400) / 4.0 END,
		CASE WHEN i % 17 = 0 THEN 'NaN' WHEN i % 19 = 0 THEN NULL ELSE (abs(hashint8(i)) % 64) / 8.0 END
	FROM generate_series(1, n) i $$;
SELECT pg_temp.fill_t(6000, 1);
VACUUM ANALYZE fn_t;
SELECT pg_temp.fill_t(700, 2);
DELETE FROM fn_t WHERE id % 23 = 5;
UPDATE fn_t SET dur = dur + 1 WHERE id % 31 = 7;

SELECT * FROM pg_temp.compare_all(
	$$SELECT track, iforest_bucket(ts, 500, 19000, 300) AS b, iforest_min_row(dur, ts, ctid), iforest_max_row(dur, ts, ctid), iforest_min_time(dur, ts, ctid),
		iforest_max_time(dur, ts, ctid), iforest_first(dur, ts, ctid), iforest_last(dur, ts, ctid), count(*), sum(dur) FROM fn_t GROUP BY 1, 2$$,
	$$SELECT track, b, (array_agg(ctid ORDER BY dur, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1],
		(array_agg(ctid ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1],
		(array_agg(ts ORDER BY dur, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1], (array_agg(ts ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1],
		(array_agg(dur ORDER BY ts, ctid) FILTER (WHERE dur IS NOT NULL AND ts IS NOT NULL))[1],
		(array_agg(dur ORDER BY ts DESC, ctid DESC) FILTER (WHERE dur IS NOT NULL AND ts IS NOT NULL))[1], count(*), sum(dur)
	FROM (SELECT *, ctid, CASE WHEN ts >= 500 AND ts < 19000 THEN div((ts - 500 + 1) * 300 - 1, 18500)::bigint END AS b FROM fn_t) x GROUP BY 1, 2$$);
-- numerics, reals with NaN, filters, all rows
SELECT * FROM pg_temp.compare_all(
	$$SELECT iforest_max_row(price, ts, ctid), iforest_min_time(price, ts, ctid), iforest_first(price, ts, ctid), iforest_last(price, ts, ctid) FILTER (WHERE ts < 9000),
		iforest_max_row(load, ts, ctid), iforest_min_row(load, ts, ctid), iforest_first(load, ts, ctid) FROM fn_t$$,
	$$SELECT (array_agg(ctid ORDER BY price DESC, ts, ctid) FILTER (WHERE price IS NOT NULL))[1], (array_agg(ts ORDER BY price, ts, ctid) FILTER (WHERE price IS NOT NULL))[1],
		(array_agg(price ORDER BY ts, ctid) FILTER (WHERE price IS NOT NULL AND ts IS NOT NULL))[1],
		(array_agg(price ORDER BY ts DESC, ctid DESC) FILTER (WHERE price IS NOT NULL AND ts < 9000))[1],
		(array_agg(ctid ORDER BY load DESC, ts, ctid) FILTER (WHERE load IS NOT NULL))[1], (array_agg(ctid ORDER BY load, ts, ctid) FILTER (WHERE load IS NOT NULL))[1],
		(array_agg(load ORDER BY ts, ctid) FILTER (WHERE load IS NOT NULL AND ts IS NOT NULL))[1] FROM fn_t$$);
-- in windows of hours that are no buckets, and of no rows
SELECT * FROM pg_temp.compare_all(
	$$SELECT ts / 700, iforest_first(dur, ts, ctid), iforest_last(dur, ts, ctid), iforest_max_row(dur, ts, ctid) FROM fn_t WHERE ts BETWEEN 300 AND 9999 AND track > 'track 1' GROUP BY 1$$,
	$$SELECT ts / 700, (array_agg(dur ORDER BY ts, ctid) FILTER (WHERE dur IS NOT NULL))[1], (array_agg(dur ORDER BY ts DESC, ctid DESC) FILTER (WHERE dur IS NOT NULL))[1],
		(array_agg(ctid ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1] FROM fn_t WHERE ts BETWEEN 300 AND 9999 AND track > 'track 1' GROUP BY 1$$);
SELECT iforest_max_row(dur, ts, ctid), iforest_first(dur, ts, ctid), iforest_max_time(dur, ts, ctid), iforest_first(dur, ts) FROM fn_t WHERE ts < -5;
-- of other types, and without ctid: by scanning
SELECT iforest_first(v, t), iforest_last(v, t), iforest_first(v, t, c), iforest_last(v, t, c), iforest_max_row(v, t, c), iforest_max_time(v, t, c), iforest_min_time(v, t, c)
FROM (VALUES ('b', date '2024-01-02', '(0,1)'::tid), ('a', '2024-01-02', '(0,2)'), ('c', '2024-01-05', '(0,3)'), ('d', NULL, '(0,4)'), (NULL, '2024-01-01', '(0,5)'), ('c', '2024-01-05', '(0,9)'))
	AS t(v, t, c);
SELECT iforest_last(v, ts, ctid) OVER (ORDER BY ts) FROM (SELECT dur AS v, ts, ctid FROM fn_t WHERE dur > 40 ORDER BY id LIMIT 3) x;
SELECT refusal($$SELECT iforest_first('(1,2)'::point, 1)$$);
SET iforest.explain_decline = on;
SET client_min_messages = notice;
EXPLAIN (COSTS OFF) SELECT iforest_first(dur, ts) FROM fn_t;
EXPLAIN (COSTS OFF) SELECT iforest_max_row(dur + 1, ts, ctid) FROM fn_t;
EXPLAIN (COSTS OFF) SELECT iforest_max_row(dur, ts, NULL), iforest_max_row(dur, ts, '(0,1)') FROM fn_t;
SET client_min_messages = warning;
RESET iforest.explain_decline;

-- ---- the ctid that a snapshot sees ----

CREATE TABLE fn_h(ts bigint, v bigint, note text);
INSERT INTO fn_h SELECT i, i % 10, 'before' FROM generate_series(1, 19) i;
CREATE INDEX fn_h_if ON fn_h USING iforest (ts) INCLUDE (v);
VACUUM ANALYZE fn_h;
SET cpu_tuple_cost = 100;
EXPLAIN (COSTS OFF) SELECT iforest_max_row(v, ts, ctid), iforest_min_row(v, ts, ctid) FROM fn_h;
BEGIN;
DECLARE from_index CURSOR FOR SELECT iforest_max_row(v, ts, ctid), iforest_min_row(v, ts, ctid) FROM fn_h;
UPDATE fn_h SET note = 'moved within its page' WHERE v = 9;
SELECT iforest_max_row(v, ts, ctid), iforest_min_row(v, ts, ctid) FROM fn_h;
FETCH from_index;
SELECT ctid, ts FROM fn_h WHERE v = 9;
COMMIT;
VACUUM fn_h;
SELECT iforest_max_row(v, ts, ctid), iforest_min_row(v, ts, ctid) FROM fn_h;
SELECT note FROM fn_h WHERE ctid = (SELECT iforest_max_row(v, ts, ctid) FROM fn_h);
RESET cpu_tuple_cost;
DROP TABLE fn_h;

-- ---- functions of an index ----

SELECT unnest(iforest_create_functions('fn_if'));
SELECT proname, provolatile, proparallel, obj_description(oid, 'pg_proc') FROM pg_proc WHERE proname ~ '^fn_if' ORDER BY 1;
SELECT * FROM pg_temp.compare_all('SELECT * FROM fn_if(500, 19000, 37)',
	$$SELECT track, b, 500 + b * 18500 / 37, 500 + (b + 1) * 18500 / 37, count(*), min(ts), max(ts),
		count(dur), sum(dur), min(dur), max(dur), avg(dur), (array_agg(dur ORDER BY ts, ctid) FILTER (WHERE dur IS NOT NULL))[1], (array_agg(dur ORDER BY ts DESC, ctid DESC) FILTER (WHERE dur IS NOT NULL))[1],
		(array_agg(ctid ORDER BY dur, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1], (array_agg(ctid ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1], (array_agg(ts ORDER BY dur, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1], (array_agg(ts ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1],
		count(price), sum(price), min(price), max(price), avg(price), (array_agg(price ORDER BY ts, ctid) FILTER (WHERE price IS NOT NULL))[1], (array_agg(price ORDER BY ts DESC, ctid DESC) FILTER (WHERE price IS NOT NULL))[1],
		(array_agg(ctid ORDER BY price, ts, ctid) FILTER (WHERE price IS NOT NULL))[1], (array_agg(ctid ORDER BY price DESC, ts, ctid) FILTER (WHERE price IS NOT NULL))[1], (array_agg(ts ORDER BY price, ts, ctid) FILTER (WHERE price IS NOT NULL))[1], (array_agg(ts ORDER BY price DESC, ts, ctid) FILTER (WHERE price IS NOT NULL))[1],
		count(load), sum(load), min(load), max(load), avg(load), (array_agg(load ORDER BY ts, ctid) FILTER (WHERE load IS NOT NULL))[1], (array_agg(load ORDER BY ts DESC, ctid DESC) FILTER (WHERE load IS NOT NULL))[1],
		(array_agg(ctid ORDER BY load, ts, ctid) FILTER (WHERE load IS NOT NULL))[1], (array_agg(ctid ORDER BY load DESC, ts, ctid) FILTER (WHERE load IS NOT NULL))[1], (array_agg(ts ORDER BY load, ts, ctid) FILTER (WHERE load IS NOT NULL))[1], (array_agg(ts ORDER BY load DESC, ts, ctid) FILTER (WHERE load IS NOT NULL))[1],
		variance(dur), stddev(dur),
		(array_agg(ctid ORDER BY ts, ctid) FILTER (WHERE dur IS NOT NULL))[1], (array_agg(ctid ORDER BY ts DESC, ctid DESC) FILTER (WHERE dur IS NOT NULL))[1], min(ts) FILTER (WHERE dur IS NOT NULL), max(ts) FILTER (WHERE dur IS NOT NULL),
		(array_agg(ctid ORDER BY ts, ctid) FILTER (WHERE price IS NOT NULL))[1], (array_agg(ctid ORDER BY ts DESC, ctid DESC) FILTER (WHERE price IS NOT NULL))[1], min(ts) FILTER (WHERE price IS NOT NULL), max(ts) FILTER (WHERE price IS NOT NULL),
		(array_agg(ctid ORDER BY ts, ctid) FILTER (WHERE load IS NOT NULL))[1], (array_agg(ctid ORDER BY ts DESC, ctid DESC) FILTER (WHERE load IS NOT NULL))[1], min(ts) FILTER (WHERE load IS NOT NULL), max(ts) FILTER (WHERE load IS NOT NULL)
	FROM (SELECT *, ctid, ((ts - 500 + 1) * 37 - 1) / 18500 AS b FROM fn_t WHERE ts >= 500 AND ts < 19000) x GROUP BY track, b$$);
SELECT * FROM pg_temp.compare_all('SELECT track, bucket, bucket_start, bucket_end, count, sum_dur FROM fn_if()',
	'SELECT track, 0, NULL, NULL, count(*), sum(dur) FROM fn_t GROUP BY 1');
SELECT * FROM pg_temp.compare_all('SELECT track, bucket, bucket_start, bucket_end, count, sum_dur FROM fn_if(t0 => 700)',
	'SELECT track, 0, 700, NULL, count(*), sum(dur) FROM fn_t WHERE ts >= 700 GROUP BY 1');
SELECT * FROM pg_temp.compare_all('SELECT track, bucket, bucket_start, bucket_end, count, sum_dur FROM fn_if(t1 => 700, n => 1)',
	'SELECT track, 0, NULL, 700, count(*), sum(dur) FROM fn_t WHERE ts < 700 GROUP BY 1');
SELECT * FROM pg_temp.compare_all($$SELECT bucket, bucket_start, bucket_end, count, max_dur FROM fn_if(-300, 5000, step => 700, origin => 100) WHERE track = 'track 3'$$,
	$$SELECT floor((ts - 100) / 700.0), floor((ts - 100) / 700.0) * 700 + 100, floor((ts - 100) / 700.0) * 700 + 800, count(*), max(dur)
	FROM fn_t WHERE ts >= -300 AND ts < 5000 AND track = 'track 3' GROUP BY 1$$);
SELECT * FROM pg_temp.compare('SELECT track, bucket, count, count_dur, sum_dur, max_dur FROM fn_if(-1000, 1000, step => 300, fill => $$zero$$)',
	$$SELECT t.track, b, count(f.id), count(dur), coalesce(sum(dur), 0), max(dur) FROM (SELECT DISTINCT track FROM fn_t) t CROSS JOIN generate_series(-4, 3) b
	LEFT JOIN fn_t f ON f.track IS NOT DISTINCT FROM t.track AND ts >= -1000 AND ts < 1000 AND floor(ts / 300.0) = b GROUP BY 1, 2$$);
SELECT track, bucket, count, count_dur, sum_dur, max_dur FROM fn_if(-9000, -8000, 2, fill => 'null') WHERE track < 'track 2' ORDER BY 1, 2;
-- more buckets than times: those in which no time can lie, too
SELECT count(*), min(bucket), max(bucket), count(DISTINCT bucket_start), min(bucket_end), max(bucket_start) FROM fn_if(0, 10, 100, fill => 'null') WHERE track = 'track 1';
SELECT count(*) FROM fn_if(-9000, -8000, 2, fill => 'none');
-- the last sample, also from before the window, and a line to the next, which may lie behind it
CREATE FUNCTION pg_temp.samples(fill text, t0 bigint, t1 bigint, step bigint) RETURNS TABLE(track text, b bigint, n bigint, v bigint, a numeric, row_ctid tid, row_ts bigint, p numeric, l real)
LANGUAGE sql STABLE SET iforest.enable = off AS $$
	SELECT s.track, b, g.n, CASE WHEN g.n > 0 THEN g.v WHEN fill = 'last' THEN d.dur ELSE round(line.dur)::bigint END, CASE WHEN g.n > 0 THEN g.a WHEN fill = 'last' THEN d.dur ELSE line.dur END,
		CASE WHEN g.n > 0 THEN g.c WHEN fill = 'last' THEN d.ctid END, CASE WHEN g.n > 0 THEN g.t WHEN fill = 'last' THEN d.ts END,
		CASE WHEN g.np > 0 THEN g.p WHEN fill = 'last' THEN p.price ELSE p.price + (p2.price - p.price) * (start - p.ts) / (p2.ts - p.ts) END,
		CASE WHEN g.nl > 0 THEN g.l WHEN fill = 'last' THEN l.load ELSE (l.load::float8 * ((l2.ts - start)::float8 / (l2.ts - l.ts)) + l2.load::float8 * ((start - l.ts)::float8 / (l2.ts - l.ts)))::real END
	FROM (SELECT DISTINCT track FROM fn_t) s CROSS JOIN generate_series(div(t0, step)::bigint, div(t1 - 1, step)::bigint) b CROSS JOIN LATERAL (SELECT greatest(b * step, t0) AS start) w
	CROSS JOIN LATERAL (SELECT count(dur) AS n, max(dur) AS v, avg(dur) AS a, (array_agg(ctid ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1] AS c,
			(array_agg(ts ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1] AS t, count(price) AS np, max(price) AS p, count(load) AS nl, max(load) AS l
		FROM fn_t x WHERE x.track IS NOT DISTINCT FROM s.track AND x.ts >= start AND x.ts < least((b + 1) * step, t1)) g
	LEFT JOIN LATERAL (SELECT dur, ts, ctid FROM fn_t x WHERE x.track IS NOT DISTINCT FROM s.track AND dur IS NOT NULL AND x.ts < start ORDER BY ts DESC, ctid DESC LIMIT 1) d ON true
	LEFT JOIN LATERAL (SELECT dur, ts FROM fn_t x WHERE x.track IS NOT DISTINCT FROM s.track AND dur IS NOT NULL AND x.ts >= start ORDER BY ts, ctid LIMIT 1) d2 ON true
	CROSS JOIN LATERAL (SELECT d.dur + (d2.dur - d.dur)::numeric * (start - d.ts) / (d2.ts - d.ts) AS dur) line
	LEFT JOIN LATERAL (SELECT price, ts FROM fn_t x WHERE x.track IS NOT DISTINCT FROM s.track AND price IS NOT NULL AND x.ts < start ORDER BY ts DESC, ctid DESC LIMIT 1) p ON true
	LEFT JOIN LATERAL (SELECT price, ts FROM fn_t x WHERE x.track IS NOT DISTINCT FROM s.track AND price IS NOT NULL AND x.ts >= start ORDER BY ts, ctid LIMIT 1) p2 ON true
	LEFT JOIN LATERAL (SELECT load, ts FROM fn_t x WHERE x.track IS NOT DISTINCT FROM s.track AND load IS NOT NULL AND x.ts < start ORDER BY ts DESC, ctid DESC LIMIT 1) l ON true
	LEFT JOIN LATERAL (SELECT load, ts FROM fn_t x WHERE x.track IS NOT DISTINCT FROM s.track AND load IS NOT NULL AND x.ts >= start ORDER BY ts, ctid LIMIT 1) l2 ON true $$;
SELECT fill, c.* FROM unnest('{last,linear}'::text[]) fill, pg_temp.compare(
	format('SELECT track, bucket, count_dur, max_dur, round(avg_dur, 9), max_dur_ctid, max_dur_ts, round(max_price, 9), max_load FROM fn_if(10000, 10050, step => 3, fill => %L)', fill),
	format('SELECT track, b, n, v, round(a, 9), row_ctid, row_ts, round(p, 9), l FROM pg_temp.samples(%L, 10000, 10050, 3)', fill)) c;
-- behind all rows, before all of them, and where the only rows have no time
SELECT fill, c.* FROM unnest('{last,linear}'::text[]) fill, (VALUES (19990, 2000000, 50000), (-100, 40, 20)) w(t0, t1, step), pg_temp.compare(
	format('SELECT track, bucket, count_dur, max_dur, round(avg_dur, 9), max_dur_ctid, max_dur_ts, round(max_price, 9), max_load FROM fn_if(%s, %s, step => %s, fill => %L)', t0, t1, step, fill),
	format('SELECT track, b, n, v, round(a, 9), row_ctid, row_ts, round(p, 9), l FROM pg_temp.samples(%L, %s, %s, %s)', fill, t0, t1, step)) c;
-- what is not asked for is not planned, nor run
EXPLAIN (COSTS OFF) SELECT * FROM fn_if(0, 9000, 3) WHERE track = 'track 1';
EXPLAIN (COSTS OFF) SELECT * FROM fn_if(0, 9000, 3, fill => 'none') WHERE track = 'track 1';
PREPARE fn_fill AS SELECT track, bucket, count, last_dur FROM fn_if(10000, 10020, 3, fill => $1) WHERE track = 'track 1' ORDER BY bucket;
SET plan_cache_mode = force_generic_plan;
EXECUTE fn_fill(NULL);
EXECUTE fn_fill('last');
EXECUTE fn_fill('linear');
EXECUTE fn_fill('zero');
RESET plan_cache_mode;
DEALLOCATE fn_fill;
-- times and values of other types
CREATE TABLE fn_l(ts timestamptz, i integer, r float8, d date, z timestamptz);
INSERT INTO fn_l VALUES ('2024-03-01Z', 10, 1, '2024-01-01', '2024-01-01Z'), ('2024-03-05Z', 20, 'Infinity', '2024-01-05', '2024-01-02Z'), ('infinity', 1, 1, 'infinity', 'infinity');
CREATE INDEX fn_l_if ON fn_l USING iforest (ts) INCLUDE (i, r, d, z);
SELECT cardinality(iforest_create_functions('fn_l_if'));
SET TimeZone = 'UTC';
SELECT bucket_start, count, last_i, round(avg_i, 2) AS avg_i, last_r, last_d, last_z FROM fn_l_if('2024-03-02 06:00', '2024-03-07', step => '1 day', fill => 'linear');
SELECT bucket_start, count, last_i, avg_i, last_r, last_d, last_z, max_i_ts FROM fn_l_if('2024-03-02 06:00', '2024-03-07', step => '1 day', fill => 'last');
RESET TimeZone;
DROP TABLE fn_l;
-- of functions that were made before there was that
SELECT refusal($$SELECT iforest_window_asks(0, 9, NULL, NULL, NULL, 'last', false, true)$$);
SELECT refusal($$SELECT iforest_line(1::bigint, 0, 2, 'a'::text, 'b')$$);
-- Bounds that are NULL or leave no room; rows without a time; NULL for what need not be given.
SELECT (SELECT count(*) FROM fn_if(NULL, 5)) AS t0, (SELECT count(*) FROM fn_if(5, NULL, fill => 'zero')) AS t1, (SELECT count(*) FROM fn_if(9, 3, 4, fill => 'zero')) AS none,
	(SELECT count(*) FROM fn_if(0, 9000, 2)) = (SELECT count(*) FROM fn_if(0, 9000, 2, NULL, NULL, NULL)) AS not_given;
SELECT refusal('SELECT * FROM fn_if(0, 9, 0)');
SELECT refusal('SELECT * FROM fn_if(0, 9, step => 0)');
SELECT refusal('SELECT * FROM fn_if(0, 9, 4, 4)');
SELECT refusal('SELECT * FROM fn_if(0, 9, 4, origin => 4)');
SELECT refusal('SELECT * FROM fn_if(n => 4)');
SELECT refusal('SELECT * FROM fn_if(t0 => 0, step => 4, fill => $$zero$$)');
SELECT refusal('SELECT * FROM fn_if(0, 9, fill => $$some$$)');
SELECT refusal('SELECT * FROM fn_if(0, 9, 4, 4) WHERE track = $$none$$');
-- Parameters, generic plans, arguments of another table, functions that are not inlined.
PREPARE window_of AS SELECT count(*), sum(count) FROM (SELECT * FROM fn_if($1, $2, $3)) x;
SET plan_cache_mode = force_generic_plan;
EXECUTE window_of(0, 10000, 5);
EXECUTE window_of(0, 10000, 1920);
RESET plan_cache_mode;
SELECT w, bucket, count FROM (VALUES (0, 5000), (5000, 9000)) AS w(a, b), fn_if(a, b, 2) WHERE track = 'track 1' ORDER BY 1, 2;
SELECT bucket, count FROM fn_if((SELECT 0), (SELECT 5000), 2) WHERE track = 'track 1' ORDER BY 1;

-- ---- rows and overlap ----

SELECT * FROM pg_temp.compare('SELECT * FROM fn_if_rows(9000, 9100)',
	'SELECT ctid, track, ts, dur, price, load, ts + greatest(coalesce(dur, 0), 0) FROM fn_t WHERE ts < 9100 AND (ts + dur > 9000 OR (coalesce(dur, 0) <= 0 AND ts >= 9000))');
SELECT * FROM pg_temp.compare('SELECT * FROM fn_if_overlap(9000, 9100, 7)',
	$$SELECT track, b, lo, hi, count(*), sum(least(e, hi) - greatest(ts, lo)), max(dur), (array_agg(ctid ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1],
		(array_agg(ts ORDER BY dur DESC, ts, ctid) FILTER (WHERE dur IS NOT NULL))[1]
	FROM (SELECT b, 9000 + b * 100 / 7 AS lo, 9000 + (b + 1) * 100 / 7 AS hi FROM generate_series(0, 6) b) b,
		(SELECT *, ctid, greatest(coalesce(dur, 0), 0) AS d, ts + greatest(coalesce(dur, 0), 0) AS e FROM fn_t) s
	WHERE ts < hi AND (e > lo OR (d = 0 AND ts >= lo)) GROUP BY 1, 2, 3, 4$$);
SELECT * FROM pg_temp.compare('SELECT track, count, clipped_dur, longest_dur FROM fn_if_overlap(9000, 9100)',
	$$SELECT track, count(*), sum(least(e, 9100) - greatest(ts, 9000)), max(dur) FROM (SELECT *, greatest(coalesce(dur, 0), 0) AS d, ts + greatest(coalesce(dur, 0), 0) AS e FROM fn_t) s
	WHERE ts < 9100 AND (e > 9000 OR (d = 0 AND ts >= 9000)) GROUP BY 1$$);
SELECT * FROM pg_temp.compare('SELECT track, bucket, count, clipped_dur FROM fn_if_overlap(9005, 9100, step => 30)',
	$$SELECT track, b, count(*), sum(least(e, hi) - greatest(ts, lo)) FROM (SELECT b, greatest(b * 30, 9005) AS lo, least(b * 30 + 30, 9100) AS hi FROM generate_series(300, 303) b) b,
		(SELECT *, greatest(coalesce(dur, 0), 0) AS d, ts + greatest(coalesce(dur, 0), 0) AS e FROM fn_t) s
	WHERE ts < hi AND (e > lo OR (d = 0 AND ts >= lo)) GROUP BY 1, 2$$);
SELECT (SELECT count(*) FROM fn_if_rows(NULL, 5)) AS t0, (SELECT count(*) FROM fn_if_overlap(0, NULL)) AS t1, (SELECT count(*) FROM fn_if_overlap(100, 100)) AS none,
	(SELECT count(*) FROM fn_if_rows(9050, 9050)) AS no_rows, (SELECT count(*) FROM fn_if_rows(9060, 9050)) AS neither;
SELECT refusal('SELECT * FROM fn_if_overlap(0, 9, 4, 4)');

-- ---- times of other types ----

CREATE TABLE fn_z(ts timestamptz, d date, l timestamp, dur integer, fin timestamptz, i smallint);
INSERT INTO fn_z SELECT timestamptz '2024-03-30 12:00Z' + i * interval '7 min 13 s', date '2023-12-31' + i % 400, timestamp '2024-01-01' + i * interval '1 h', i % 50 - 2,
	timestamptz '2024-03-30 12:00Z' + i * interval '7 min 13 s' + (i % 90 - 3) * interval '1 min', i % 200 FROM generate_series(0, 999) i;
INSERT INTO fn_z(ts, d, l, dur) VALUES ('infinity', 'infinity', 'infinity', 5), ('-infinity', '-infinity', '-infinity', 6), (NULL, NULL, NULL, 7);
CREATE INDEX fn_z_ts ON fn_z USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur', duration_unit = 's');
CREATE INDEX fn_z_fin ON fn_z USING iforest (ts) INCLUDE (dur, fin) WITH ("end" = 'fin');
CREATE INDEX fn_z_d ON fn_z USING iforest (d) INCLUDE (dur) WITH (duration = 'dur');
CREATE INDEX fn_z_l ON fn_z USING iforest (l) INCLUDE (dur);
CREATE INDEX fn_z_i ON fn_z USING iforest (i) INCLUDE (dur) WITH (duration = 'dur');
SELECT unnest(iforest_create_functions(i::regclass)) FROM unnest(ARRAY['fn_z_ts', 'fn_z_fin', 'fn_z_d', 'fn_z_l', 'fn_z_i']) i;
SET TimeZone = 'Europe/Zurich';
SET enable_seqscan = off;
SELECT * FROM pg_temp.compare_all($$SELECT bucket, bucket_start, bucket_end, count, first_ts, sum_dur FROM fn_z_ts('2024-03-31', '2024-04-02', 48)$$,
	$$SELECT b, timestamptz '2024-03-31' + b * w, timestamptz '2024-03-31' + (b + 1) * w, count(*), min(ts), sum(dur)
	FROM (SELECT *, floor(extract(epoch FROM ts - '2024-03-31') / extract(epoch FROM w))::integer AS b FROM fn_z, (SELECT (timestamptz '2024-04-02' - '2024-03-31') / 48 AS w) w
	      WHERE ts >= '2024-03-31' AND ts < '2024-04-02') x GROUP BY b, w$$);
SELECT * FROM pg_temp.compare_all($$SELECT bucket_start, count FROM fn_z_ts('2024-03-31', '2024-04-02', step => '1 h')$$,
	$$SELECT date_bin('1 h', ts, '1970-01-01Z'), count(*) FROM fn_z WHERE ts >= '2024-03-31' AND ts < '2024-04-02' GROUP BY 1$$);
SELECT * FROM pg_temp.compare_all($$SELECT bucket_start, count FROM fn_z_l('2024-01-01', '2024-01-20', step => '1 day', origin => '2024-01-01 06:00')$$,
	$$SELECT date_bin('1 day', l, '2024-01-01 06:00'), count(*) FROM fn_z WHERE l >= '2024-01-01' AND l < '2024-01-20' GROUP BY 1$$);
SELECT * FROM pg_temp.compare_all($$SELECT bucket_start, bucket_end, count FROM fn_z_d('2024-01-01', '2024-02-01', step => 7)$$,
	$$SELECT date '1970-01-01' + 7 * b, date '1970-01-08' + 7 * b, count(*) FROM (SELECT (d - '1970-01-01') / 7 AS b FROM fn_z WHERE d >= '2024-01-01' AND d < '2024-02-01') x GROUP BY b$$);
SELECT * FROM pg_temp.compare_all('SELECT bucket, bucket_start, count, sum_dur FROM fn_z_i(10, 110, 5)',
	'SELECT (i - 10) / 20, 10 + (i - 10) / 20 * 20, count(*), sum(dur) FROM fn_z WHERE i >= 10 AND i < 110 GROUP BY 1, 2');
SELECT count, count_dur, sum_dur FROM fn_z_ts();
SELECT count, count_dur, sum_dur = (SELECT sum(dur) FROM fn_z) AS all FROM fn_z_ts(n => 1);
SELECT count FROM fn_z_l(t0 => '2024-02-11');
SELECT bucket_start, bucket_end, count, count_dur, sum_dur, min_dur_ctid FROM fn_z_l('2000-01-01', '2000-01-02', fill => 'zero');
SELECT bucket_start, count, max_dur FROM fn_z_l('2024-02-11 14:00', '2024-02-11 18:00', step => '1 h', fill => 'null');
CREATE TABLE fn_empty(ts bigint, v float8);
CREATE INDEX fn_empty_if ON fn_empty USING iforest (ts) INCLUDE (v);
SELECT cardinality(iforest_create_functions('fn_empty_if'));
SELECT * FROM fn_empty_if();
SELECT bucket, count, count_v, sum_v, max_v FROM fn_empty_if(fill => 'zero');
SELECT bucket, count, count_v, sum_v, max_v FROM fn_empty_if(0, 10, 2, fill => 'null');
DROP TABLE fn_empty;
RESET enable_seqscan;
SELECT * FROM pg_temp.compare($$SELECT ts, "end" FROM fn_z_ts_rows('2024-03-31', '2024-03-31 00:10')$$,
	$$SELECT ts, ts + greatest(dur, 0) * interval '1 s' FROM fn_z WHERE ts < '2024-03-31 00:10' AND (ts + dur * interval '1 s' > '2024-03-31' OR dur <= 0 AND ts >= '2024-03-31')$$);
SELECT * FROM pg_temp.compare($$SELECT bucket, count, clipped_fin, longest_fin FROM fn_z_fin_overlap('2024-03-31', '2024-03-31 02:00', 4)$$,
	$$SELECT b, count(*), sum(least(e, hi) - greatest(ts, lo)), max(e - ts) FROM (SELECT b, timestamptz '2024-03-31' + b * interval '30 min' AS lo, timestamptz '2024-03-31' + (b + 1) * interval '30 min' AS hi FROM generate_series(0, 3) b) b,
		(SELECT *, greatest(fin, ts) AS e FROM fn_z WHERE isfinite(ts)) s WHERE ts < hi AND (e > lo OR (e = ts AND ts >= lo)) GROUP BY 1$$);
SELECT * FROM pg_temp.compare($$SELECT bucket, count, clipped_dur, longest_dur FROM fn_z_d_overlap('2024-01-01', '2024-01-29', step => 7, origin => '2024-01-01')$$,
	$$SELECT b, count(*), sum(least(d + len, hi) - greatest(d, lo)), max(dur) FROM (SELECT b, date '2024-01-01' + b * 7 AS lo, date '2024-01-08' + b * 7 AS hi FROM generate_series(0, 3) b) b,
		(SELECT *, greatest(dur, 0) AS len FROM fn_z WHERE isfinite(d)) s WHERE d < hi AND (d + len > lo OR (len = 0 AND d >= lo)) GROUP BY 1$$);
SELECT refusal($$SELECT * FROM fn_z_ts(step => '1 month')$$);
SELECT refusal($$SELECT * FROM fn_z_ts(step => '-1 day')$$);
SELECT refusal($$SELECT * FROM fn_z_ts(step => '106751992 days')$$);
SELECT refusal($$SELECT iforest_span_end(1, 2, 'ms')$$);
SELECT refusal($$SELECT iforest_span_end(timestamptz '2024-01-01', 2, 'weeks')$$);
SELECT refusal('SELECT iforest_bucket_of(9223372036854775807, -9223372036854775808, 9223372036854775807, NULL, 1, -5)');
RESET TimeZone;

-- ---- whose rows ----

CREATE ROLE fn_reader;
CREATE ROLE fn_stranger;
GRANT SELECT (track, ts) ON fn_t TO fn_stranger;
GRANT SELECT ON fn_t TO fn_reader;
SET ROLE fn_stranger;
SELECT refusal('SELECT * FROM fn_if(0, 9000)');
SELECT refusal('SELECT * FROM fn_if_rows(0, 9000)');
SELECT refusal('SELECT * FROM fn_if_overlap(0, 9000)');
SELECT refusal('SELECT fn_if(0, 9000)');
SELECT refusal($$SELECT iforest_create_functions('fn_if')$$);
RESET ROLE;
ALTER TABLE fn_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY fn_some ON fn_t TO fn_reader USING (track IN ('track 1', 'track 2'));
SET ROLE fn_reader;
SELECT array_agg(DISTINCT track) FROM fn_if(0, 9000, 3);
SELECT array_agg(DISTINCT track) FROM fn_if(0, 9000, 3, fill => 'zero');
SELECT array_agg(DISTINCT track) FROM fn_if(100, 9000, 300, fill => 'linear');
SELECT array_agg(DISTINCT track) FROM fn_if_rows(0, 9000);
SELECT array_agg(DISTINCT track) FROM fn_if_overlap(0, 9000);
SELECT array_agg(DISTINCT (f).track) FROM (SELECT fn_if(0, 9000) f) x;
SELECT pg_temp.uses_index('SELECT * FROM fn_if(0, 9000, 3)');
RESET ROLE;
ALTER TABLE fn_t DISABLE ROW LEVEL SECURITY;

-- ---- names ----

CREATE SCHEMA "fn S'--";
CREATE TABLE "fn S'--"."a ""b'; DROP TABLE fn_t; --"("t0" integer, "step" text, "n" text, "count" text, "end" integer, "$1" integer, "b%sc" integer);
INSERT INTO "fn S'--"."a ""b'; DROP TABLE fn_t; --" SELECT i, 'x', 'y', 'z', i % 3, i % 4, i % 5 FROM generate_series(1, 100) i;
CREATE INDEX "i' ""x; $1 %s" ON "fn S'--"."a ""b'; DROP TABLE fn_t; --" USING iforest ("step", "n", "count", (upper("step")), "t0") INCLUDE ("end", "$1", "b%sc") WITH (duration = 'b%sc')
	WHERE "t0" > 10;
SELECT unnest(iforest_create_functions($$"fn S'--"."i' ""x; $1 %s"$$));
SELECT by_step, by_n, by_count, upper, bucket, "count", "sum_$1", "max_b%sc_ts" FROM "fn S'--"."i' ""x; $1 %s"(0, 51, 2) ORDER BY bucket;
SELECT count(*), sum("b%sc"), max(time_t0), max(value_end) FROM "fn S'--"."i' ""x; $1 %s_rows"(0, 51);
SELECT bucket, count FROM "fn S'--"."i' ""x; $1 %s_overlap"(0, 51, 2) ORDER BY 1;
-- A search path, and operators and functions on it, mean nothing to them.
CREATE FUNCTION "fn S'--".greatest_of(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR "fn S'--".>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = "fn S'--".greatest_of);
CREATE FUNCTION "fn S'--".count() RETURNS bigint LANGUAGE sql AS 'SELECT -1::bigint';
SET search_path = "fn S'--", pg_catalog, public;
SELECT unnest(public.iforest_create_functions('public.fn_if'));
SELECT pg_catalog.sum(count) > 0::numeric FROM fn_if(0, 9000);
SHOW search_path;
RESET search_path;
DROP SCHEMA "fn S'--" CASCADE;
SELECT count(*) FROM pg_proc WHERE proname ~ '^i'' "x';
-- Two names that are the same, names that are too long.
CREATE TABLE fn_names(ts bigint, v bigint, v_ts bigint, min_v text, this_name_has_as_many_characters_as_a_name_may_have_and_no_more bigint);
CREATE INDEX fn_names_a ON fn_names USING iforest (ts) INCLUDE (v, v_ts);
CREATE INDEX fn_names_b ON fn_names USING iforest (ts) INCLUDE (this_name_has_as_many_characters_as_a_name_may_have_and_no_more);
CREATE INDEX fn_names_c ON fn_names USING iforest (min_v, ts) INCLUDE (v);
CREATE INDEX this_index_has_a_name_that_is_as_long_as_that_of_any_could_be ON fn_names USING iforest (ts) INCLUDE (v) WITH (duration = 'v');
SELECT refusal($$SELECT iforest_create_functions('fn_names_b')$$);
SELECT refusal($$SELECT iforest_create_functions('this_index_has_a_name_that_is_as_long_as_that_of_any_could_be')$$);
SELECT refusal($$SELECT iforest_create_functions('fn_names_a')$$);
SELECT unnest(iforest_create_functions('fn_names_c'));
SELECT by_min_v, min_v FROM fn_names_c();
DROP TABLE fn_names;

-- ---- made anew, and gone ----

SELECT proname, oid AS function FROM pg_proc WHERE proname = 'fn_if' \gset
CREATE VIEW fn_view AS SELECT * FROM fn_if(0, 9000, 9);
SELECT iforest_create_functions('fn_if') IS NOT NULL AS again;
SELECT oid = :function AS the_same FROM pg_proc WHERE proname = 'fn_if';
SELECT count(*) > 0 FROM fn_view;
DROP VIEW fn_view;
ALTER INDEX fn_if RENAME TO fn_other;
SELECT unnest(iforest_create_functions('fn_other'));
SELECT proname FROM pg_proc WHERE proname ~ '^fn_(if|other)' ORDER BY 1;
REINDEX INDEX CONCURRENTLY fn_other;
SELECT proname, refobjid::regclass FROM pg_proc JOIN pg_depend ON objid = pg_proc.oid AND deptype = 'a' WHERE proname ~ '^fn_other' ORDER BY 1;
DROP INDEX CONCURRENTLY fn_other;
ALTER TABLE fn_t RENAME COLUMN dur TO took;
SELECT sum(sum_dur) = (SELECT sum(took) FROM fn_t) AS still FROM fn_other();
SELECT iforest_create_functions('fn_other') IS NOT NULL AS again;
SELECT sum(sum_took) = (SELECT sum(took) FROM fn_t) AS still FROM fn_other();
SELECT refusal('ALTER TABLE fn_t ALTER price TYPE numeric(10,2)') ~ 'used by a function' AS refused;
-- A function of somebody else is not replaced.
CREATE FUNCTION fn_foreign(t0 bigint DEFAULT 0, t1 bigint DEFAULT 0, n bigint DEFAULT 0, step bigint DEFAULT 0, origin bigint DEFAULT 0, fill text DEFAULT '') RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE INDEX fn_foreign ON fn_t USING iforest (ts);
SELECT refusal($$SELECT iforest_create_functions('fn_foreign')$$);
DROP INDEX fn_foreign;
SELECT fn_foreign();
DROP FUNCTION fn_foreign;
-- Nor is a part of another index, which would have the same columns.
CREATE INDEX fn_two ON fn_t USING iforest (ts) INCLUDE (took);
CREATE INDEX fn_two_fill ON fn_t USING iforest (ts) INCLUDE (took);
SELECT cardinality(iforest_create_functions('fn_two'));
SELECT refusal($$SELECT iforest_create_functions('fn_two_fill')$$);
SELECT count(*) FROM fn_two(0, 100, 10, fill => 'last');
DROP INDEX fn_two;
SELECT cardinality(iforest_create_functions('fn_two_fill'));
CREATE INDEX fn_two ON fn_t USING iforest (ts) INCLUDE (took);
SELECT refusal($$SELECT iforest_create_functions('fn_two')$$);
DROP INDEX fn_two, fn_two_fill;
-- They go with the index, or the table.
DROP INDEX fn_other;
SELECT count(*) FROM pg_proc WHERE proname ~ '^fn_other';
DROP TABLE fn_z;
SELECT count(*) FROM pg_proc WHERE proname ~ '^fn_z';
-- What has none.
CREATE TABLE fn_p(ts bigint, v bigint, r float8) PARTITION BY RANGE (ts);
CREATE TABLE fn_p1 PARTITION OF fn_p FOR VALUES FROM (0) TO (100);
CREATE INDEX fn_p_if ON fn_p USING iforest (ts) INCLUDE (v);
CREATE INDEX fn_p_r ON fn_p1 USING iforest (r) INCLUDE (v);
CREATE TABLE fn_p2 PARTITION OF fn_p FOR VALUES FROM (100) TO (200);
INSERT INTO fn_p SELECT i % 200, i * 7919::bigint % 1000 FROM generate_series(0, 9999) i;
VACUUM ANALYZE fn_p;
SELECT * FROM pg_temp.compare_all('SELECT iforest_bucket(ts, 10, 190, 9), iforest_max_time(v, ts, ctid), iforest_min_time(v, ts, ctid) FROM fn_p GROUP BY 1',
	$$SELECT CASE WHEN ts >= 10 AND ts < 190 THEN (ts - 10) / 20 END, (array_agg(ts ORDER BY v DESC, ts))[1], (array_agg(ts ORDER BY v, ts))[1] FROM fn_p GROUP BY 1$$);
-- rows of several partitions with the same time and ctid
CREATE TABLE fn_q(half integer, ts bigint, v bigint) PARTITION BY LIST (half);
CREATE TABLE fn_q1 PARTITION OF fn_q FOR VALUES IN (0);
CREATE TABLE fn_q2 PARTITION OF fn_q FOR VALUES IN (1);
CREATE INDEX fn_q_if ON fn_q USING iforest (ts) INCLUDE (v);
INSERT INTO fn_q SELECT i % 2, i / 2, i * 7919::bigint % 1000 FROM generate_series(0, 9999) i;
VACUUM ANALYZE fn_q;
SELECT * FROM pg_temp.compare_all('SELECT ts / 100, iforest_first(v, ts, ctid), iforest_last(v, ts, ctid) FROM fn_q GROUP BY 1',
	$$SELECT ts / 100, (array_agg(v ORDER BY ts, v))[1], (array_agg(v ORDER BY ts DESC, v DESC))[1] FROM fn_q GROUP BY 1$$);
DROP TABLE fn_q;
SET iforest.explain_decline = on;
SET client_min_messages = notice;
EXPLAIN (COSTS OFF) SELECT iforest_max_row(v, ts, ctid) FROM fn_p WHERE ts > 5;
SET client_min_messages = warning;
RESET iforest.explain_decline;
-- of a partitioned index: no ctid says of which partition it is (its _overlap: overlap_partitions.sql)
SELECT unnest(iforest_create_functions('fn_p_if'));
SELECT proname, name FROM pg_proc, unnest(proargnames) name WHERE proname ~ '^fn_p_if' AND name ~ 'ctid|tableoid' ORDER BY 1, 2;
SELECT * FROM pg_temp.compare_all('SELECT bucket, bucket_start, bucket_end, count, first_ts, last_ts, count_v, sum_v, min_v, max_v, first_v, last_v, min_v_ts, max_v_ts FROM fn_p_if(10, 190, 9)',
	$$SELECT (ts - 10) / 20, 10 + (ts - 10) / 20 * 20, 30 + (ts - 10) / 20 * 20, count(*), min(ts), max(ts), count(v), sum(v), min(v), max(v), (array_agg(v ORDER BY ts, ctid, v))[1],
		(array_agg(v ORDER BY ts DESC, ctid DESC, v DESC))[1], (array_agg(ts ORDER BY v, ts))[1], (array_agg(ts ORDER BY v DESC, ts))[1] FROM fn_p WHERE ts >= 10 AND ts < 190 GROUP BY 1$$);
SELECT * FROM pg_temp.compare($$SELECT bucket, count, sum_v FROM fn_p_if(50, 250, step => 60, origin => 10, fill => 'zero')$$,
	'SELECT b, count(v), coalesce(sum(v), 0) FROM generate_series(0, 3) b LEFT JOIN fn_p ON (ts - 10) / 60 = b AND ts >= 50 AND ts < 250 GROUP BY 1');
SELECT bucket, bucket_start, count, last_v, round(avg_v, 2) AS avg_v FROM fn_p_if(98, 102, 12, fill => 'linear');
SELECT * FROM pg_temp.compare_all('SELECT count, sum_v FROM fn_p_if()', 'SELECT count(*), sum(v) FROM fn_p');
EXPLAIN (COSTS OFF) SELECT * FROM fn_p_if(10, 190, 9);
EXPLAIN (COSTS OFF) SELECT * FROM fn_p_if(110, 190, 9);
SELECT count(*), count(DISTINCT tableoid), sum(v) = (SELECT sum(v) FROM fn_p WHERE ts >= 90 AND ts < 110) AS same FROM fn_p_if_rows(90, 110);
-- they follow the partitions, and go with the index
CREATE TABLE fn_p3 PARTITION OF fn_p FOR VALUES FROM (200) TO (300);
INSERT INTO fn_p VALUES (250, 1), (260, NULL);
SELECT bucket_start, count, sum_v FROM fn_p_if(0, 300, 3);
ALTER TABLE fn_p DETACH PARTITION fn_p1;
SELECT bucket_start, count, sum_v FROM fn_p_if(0, 300, 3);
ALTER TABLE fn_p ATTACH PARTITION fn_p1 FOR VALUES FROM (0) TO (100);
DROP TABLE fn_p3;
CREATE INDEX fn_p_d ON ONLY fn_p USING iforest (ts) INCLUDE (v) WITH (duration = 'v');
SELECT refusal($$SELECT iforest_create_functions('fn_p_d')$$);
DROP INDEX fn_p_d;
CREATE INDEX fn_p_d ON fn_p USING iforest (ts) INCLUDE (v) WITH (duration = 'v', variance = 'v', histogram = 'v(-1, 50)', products = 'v*ts');
SELECT unnest(iforest_create_functions('fn_p_d'));
SELECT * FROM pg_temp.compare_all('SELECT tableoid, ts, v, "end" FROM fn_p_d_rows(95, 102)', 'SELECT tableoid, ts, v, ts + v FROM fn_p WHERE ts < 102 AND (ts >= 95 OR ts + v > 95)');
SELECT round(var_v) = (SELECT round(variance(v)) FROM fn_p) AS same FROM fn_p_d();
SELECT * FROM pg_temp.compare_all('SELECT bucket, count, "count_v_le_-1", count_v_le_50, regr_count_v_ts, round(regr_slope_v_ts::numeric, 6) FROM fn_p_d(3, 197, 5)',
	$$SELECT ((ts - 3 + 1) * 5 - 1) / 194, count(*), count(*) FILTER (WHERE v <= -1), count(*) FILTER (WHERE v <= 50), regr_count(v, ts), round(regr_slope(v, ts)::numeric, 6)
	FROM fn_p WHERE ts >= 3 AND ts < 197 GROUP BY 1$$);
EXPLAIN (COSTS OFF) SELECT count_v_le_50, corr_v_ts FROM fn_p_d(3, 197);
DROP INDEX fn_p_d;
SELECT count(*) FROM pg_proc WHERE proname ~ '^fn_p_d';
SELECT refusal($$SELECT iforest_merge('fn_p_if')$$);
SELECT unnest(iforest_create_functions('fn_p1_ts_v_idx'));
SELECT bucket, count, sum_v = (SELECT sum(v) FROM fn_p WHERE ts / 50 = bucket) AS all FROM fn_p1_ts_v_idx(0, 100, 2);
SELECT refusal($$SELECT iforest_create_functions('fn_p_r')$$);
SELECT refusal($$SELECT iforest_create_functions('fn_p')$$);
-- of a temporary table
CREATE TEMP TABLE fn_temp AS SELECT i AS ts FROM generate_series(1, 9) i;
CREATE INDEX fn_temp_if ON fn_temp USING iforest (ts);
SELECT cardinality(iforest_create_functions('fn_temp_if'));
SELECT count FROM pg_temp.fn_temp_if(2, 5);
-- which no other process reads, where the call stands as it is
SELECT DISTINCT proname, proparallel FROM pg_proc WHERE pronamespace = pg_my_temp_schema() AND proname ~ '^fn_temp' ORDER BY 1;
SELECT set_config(CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END, 'on', false);
SELECT count FROM pg_temp.fn_temp_if(2, 5) WITH ORDINALITY;
SELECT set_config(CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END, 'off', false);
DROP TABLE fn_p, fn_t, fn_temp;
DROP ROLE fn_reader, fn_stranger;
