-- ORDER BY a value LIMIT k through Custom Scan (IForestTopK): which queries, and the same rows as a plain plan.
CREATE TABLE spans(id integer GENERATED ALWAYS AS IDENTITY, service text, host integer NOT NULL, ts timestamptz, dur integer, load float8,
	price numeric(9,2), done timestamptz, small smallint NOT NULL, name text);
INSERT INTO spans(service, host, ts, dur, load, price, done, small, name)
SELECT CASE WHEN i % 97 > 0 THEN (ARRAY['web', 'db', 'api'])[1 + i * 7919 % 3] END, i % 2,
	CASE WHEN i % 89 > 0 THEN '2024-03-01 00:00 UTC'::timestamptz + i * interval '1 second' END,
	CASE WHEN i % 50 > 0 THEN (i * 104729::bigint) % 3001 - 100 END,
	CASE WHEN i % 40 = 0 THEN NULL WHEN i % 301 = 0 THEN 'NaN' WHEN i % 302 = 0 THEN 'Infinity' WHEN i % 303 = 0 THEN '-Infinity' ELSE i % 1000 / 8.0 - 20 END,
	(i * 31 % 5000) / 100.0, '2024-03-01 00:00 UTC'::timestamptz + (i * 7907 % 20000) * interval '1 minute', i % 300, 'n' || i % 10
FROM generate_series(1, 20000) i;
CREATE INDEX spans_if ON spans USING iforest (service, host, ts) INCLUDE (dur, load, price, done, small) WITH (background_merge = off, pending_pages = 4);
VACUUM ANALYZE spans;
SET TimeZone = 'UTC';
SET max_parallel_workers_per_gather = 0;

-- ---- plans ----
EXPLAIN (COSTS OFF) SELECT * FROM spans WHERE ts BETWEEN '2024-03-01 01:00' AND '2024-03-01 02:00' ORDER BY dur DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id, dur + 1 FROM spans WHERE service = 'db' AND host IN (0, 1) ORDER BY dur DESC NULLS LAST LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id, load FROM spans WHERE load > 5 AND name = 'n7' ORDER BY load LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY dur NULLS FIRST, ts, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT s.name, t.* FROM (VALUES ('web'), ('db')) s(name), LATERAL (SELECT id, dur FROM spans WHERE service = s.name ORDER BY dur DESC LIMIT 2) t;
EXPLAIN (COSTS OFF) SELECT id FROM spans WHERE '2024-03-01 03:00' < ts ORDER BY small DESC LIMIT 1 FOR UPDATE;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM spans ORDER BY price DESC LIMIT 1;
-- not of an expression, of what is not in the index, of many rows, or where there is no order
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY -dur LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY dur;
SET iforest.enable = off;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY dur LIMIT 5;
SET iforest.enable = on;

-- ---- the same rows ----

-- Asks random questions both ways; the rest of the order makes the answer one. How many, of those how many through the index, and
-- the first that differs.
CREATE FUNCTION compare_tops(n integer, OUT asked bigint, OUT taken bigint, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
	value text;
	question text;
	expected text;
	actual text;
	line text;
	is_taken boolean;
BEGIN
	asked := 0;
	taken := 0;
	FOR i IN 1..n LOOP
		value := (ARRAY['dur', 'load', 'price', 'done', 'small'])[1 + floor(random() * 5)];
		question := format('SELECT id, %1$s, ts FROM spans WHERE %2$s AND %3$s AND %4$s AND %5$s ORDER BY %10$s %6$s %7$s, id LIMIT %8$s OFFSET %9$s', value,
			(ARRAY['name > ''''', 'service = ''db''', 'service IS NULL', 'host = 1', 'service IN (''web'', ''api'', ''none'')', 'service > ''b'' AND host < 1'])[1 + floor(random() * 6)],
			(ARRAY['id > 0', 'ts IS NULL', 'ts < ''2024-03-01 01:23:45''', 'ts >= ''2024-03-01 04:00''', 'ts BETWEEN ''2024-03-01 01:00'' AND ''2024-03-01 03:00''',
				'(ts < ''2024-03-01 01:00'' OR ts > ''2024-03-01 05:00'')', 'ts = ANY (ARRAY[''2024-03-01 02:00'', ''2024-03-01 04:00'']::timestamptz[])'])[1 + floor(random() * 7)],
			(ARRAY['true', 'name = ''n3''', 'id % 7 = 2'])[1 + floor(random() * 3)],
			CASE WHEN value IN ('dur', 'load', 'small')
				THEN format((ARRAY['true', '%1$s > %2$s', '%1$s <= %2$s', '%1$s = %2$s', '%1$s IS NULL', '%1$s IS NOT NULL', '%2$s >= %1$s', '%1$s BETWEEN %2$s AND %2$s + 9', '%1$s < NULL'])[1 + floor(random() * 9)],
					value, floor(random() * 300))
				ELSE (ARRAY['true', value || ' IS NOT NULL'])[1 + floor(random() * 2)] END,
			(ARRAY['', 'DESC'])[1 + floor(random() * 2)], (ARRAY['', 'NULLS FIRST', 'NULLS LAST'])[1 + floor(random() * 3)],
			(ARRAY[1, 2, 10, 100, 1000])[1 + floor(random() * 5)], (ARRAY[0, 0, 3, 50])[1 + floor(random() * 4)],
			-- the column, or what rises with it
			CASE WHEN value = 'done' THEN value ELSE format((ARRAY['%1$s', '%1$s', '%1$s', '%1$s / 1000.0', '(%1$s + 3) * 2', 'round((%1$s / 7.0)::numeric, 1)', '%1$s::float8 / 60'])[1 + floor(random() * 7)], value) END);
		is_taken := false;
		FOR line IN EXECUTE 'EXPLAIN ' || question LOOP
			is_taken := is_taken OR line ~ 'IForestTopK';
		END LOOP;
		EXECUTE format('SELECT string_agg(q::text, %L) FROM (%s) q', E'\n', question) INTO actual;
		SET LOCAL iforest.enable = off;
		SET LOCAL enable_seqscan = on;
		EXECUTE format('SELECT string_agg(q::text, %L) FROM (%s) q', E'\n', question) INTO expected;
		SET LOCAL iforest.enable = on;
		SET LOCAL enable_seqscan = off;
		asked := asked + 1;
		taken := taken + is_taken::integer;
		IF actual IS DISTINCT FROM expected THEN
			different := question;
			RETURN;
		END IF;
	END LOOP;
END $$;
SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;
SELECT setseed(0.1);
SELECT asked, taken > 250 AS are_taken, different FROM compare_tops(300);
-- with pending entries, removed ones, dead rows and several runs
INSERT INTO spans(service, host, ts, dur, load, price, done, small, name)
SELECT (ARRAY['web', 'new'])[1 + i % 2], 0, '2024-03-01 01:30'::timestamptz + i * interval '1 second', CASE WHEN i % 9 > 0 THEN 2900 + i % 100 END, i, i, now(), i % 400, 'n3'
FROM generate_series(1, 3000) i;
DELETE FROM spans WHERE dur > 2800 AND id % 3 = 0;
UPDATE spans SET dur = dur + 1, host = 1 - host WHERE id % 11 = 0;
SELECT asked, taken > 150 AS are_taken, different FROM compare_tops(200);
VACUUM spans;
SELECT asked, taken > 150 AS are_taken, different FROM compare_tops(200);
BEGIN;
DELETE FROM spans WHERE id % 2 = 0;
INSERT INTO spans(service, host, ts, dur, small) VALUES ('db', 1, '2024-03-01 02:00', 100000, 1), ('db', 1, NULL, NULL, 2);
SELECT asked, taken > 50 AS are_taken, different FROM compare_tops(100);
ROLLBACK;
SELECT iforest_merge('spans_if', true) >= 0 AS merged;
SELECT asked, taken > 50 AS are_taken, different FROM compare_tops(100);

-- ---- parameters, cursors, joins ----
PREPARE top(text, integer) AS SELECT id, dur FROM spans WHERE service = $1 AND dur < $2 ORDER BY dur DESC LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE top('db', 1000);
EXECUTE top('db', 1000);
EXECUTE top('db', NULL);
EXECUTE top('web', 0);
SELECT s.name, t.* FROM (VALUES ('web'), ('db'), ('none')) s(name), LATERAL (SELECT id, dur FROM spans WHERE service = s.name AND dur IS NOT NULL ORDER BY dur DESC, id LIMIT 2) t;
SELECT l.bound, t.* FROM (VALUES (0), (1000), (NULL)) l(bound), LATERAL (SELECT id, dur FROM spans WHERE dur >= l.bound ORDER BY dur, id LIMIT 2) t;
-- whole rows, which the index scan gives as they stand in the table, in what is above
SELECT s.*, h.n FROM spans s JOIN (VALUES (0, 'even'), (1, 'odd')) h(host, n) ON h.host = s.host WHERE dur < 2000 ORDER BY dur DESC, id LIMIT 2;
SELECT max(note), count(*) FROM (SELECT *, name || service AS note FROM spans s WHERE NOT EXISTS (SELECT FROM (VALUES (1), (2)) v(id) WHERE v.id = s.id) ORDER BY dur LIMIT 100) t;
-- what bounds take to be evaluated is given back
BEGIN;
DECLARE c CURSOR FOR SELECT n, t.dur FROM generate_series(1, 1000) n, LATERAL (SELECT dur FROM spans WHERE dur < length(repeat('x', 100000 + n)) ORDER BY dur DESC LIMIT 1) t;
MOVE 300 FROM c;
SELECT sum(total_bytes) < 5000000 AS is_little FROM pg_backend_memory_contexts WHERE name = 'ExecutorState';
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT id, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC, id;
FETCH 3 FROM c;
DELETE FROM spans WHERE dur > 2990;
FETCH 3 FROM c;
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, small FROM spans ORDER BY small, id;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
MOVE FORWARD 100 FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;

-- ---- spans that reach into a window ----
CREATE TABLE calls(id integer GENERATED ALWAYS AS IDENTITY, who integer, ts bigint, dur integer, since timestamptz, until timestamptz);
INSERT INTO calls(who, ts, dur, since, until)
SELECT i % 5, CASE WHEN i % 71 > 0 THEN i * 10 END, d, '2024-03-01 00:00 UTC'::timestamptz + i * interval '1 second', '2024-03-01 00:00 UTC'::timestamptz + i * interval '1 second' + d * interval '100 ms'
FROM (SELECT i, CASE WHEN i % 53 = 0 THEN NULL WHEN i % 17 = 0 THEN -1 WHEN i % 3 = 0 THEN 0 WHEN i = 500 THEN 150000 ELSE i * 7919 % 97 END AS d FROM generate_series(1, 20000) i) s;
CREATE INDEX calls_if ON calls USING iforest (who, ts) INCLUDE (dur) WITH (duration = 'dur', background_merge = off);
CREATE INDEX calls_end_if ON calls USING iforest (since) INCLUDE (until, dur) WITH ("end" = 'until', background_merge = off);
VACUUM ANALYZE calls;
RESET enable_seqscan; RESET enable_sort; RESET enable_bitmapscan;
EXPLAIN (COSTS OFF) SELECT * FROM calls WHERE ts < 150100 AND ts + dur > 150000;
EXPLAIN (COSTS OFF) SELECT * FROM calls WHERE since < '2024-03-01 03:00' AND '2024-03-01 02:59' <= until;
EXPLAIN (COSTS OFF) SELECT id, dur FROM calls WHERE who = 2 AND ts < 150100 AND dur + ts > 100000 ORDER BY dur DESC LIMIT 3;
-- rows that were fetched for nothing
CREATE FUNCTION fetched_in_vain(question text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || question INTO plan;
	RETURN plan #>> '{0,Plan,Plans,0,Rows Removed by Filter}';
END $$;
SELECT fetched_in_vain('SELECT id FROM calls WHERE ts < 150100 AND ts + dur > 150000') < 5 AS few;
-- another column, another operation, a time of another type: not so
EXPLAIN (COSTS OFF) SELECT count(id) FROM calls WHERE ts < 100 AND ts - dur > 50;
EXPLAIN (COSTS OFF) SELECT count(id) FROM calls WHERE since < '2024-03-01 00:01' AND until > '2024-03-01'::date;

CREATE FUNCTION compare_reaches(n integer, OUT asked bigint, OUT taken bigint, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
	low integer;
	question text;
	expected text;
	actual text;
	line text;
	is_taken boolean;
BEGIN
	asked := 0;
	taken := 0;
	FOR i IN 1..n LOOP
		low := floor(random() * 210000);
		question := format((ARRAY['SELECT id FROM calls WHERE ts < %2$s AND ts + dur > %1$s AND %3$s ORDER BY id', 'SELECT id FROM calls WHERE ts <= %2$s AND %1$s <= dur + ts AND %3$s ORDER BY id',
			'SELECT id FROM calls WHERE since < %4$L AND until > %5$L AND %3$s ORDER BY id', 'SELECT id, dur FROM calls WHERE since < %4$L AND until >= %5$L AND %3$s ORDER BY dur DESC, id LIMIT 10',
			'SELECT id, dur FROM calls WHERE ts < %2$s AND ts + dur > %1$s AND %3$s ORDER BY dur DESC NULLS LAST, id LIMIT 5', 'SELECT id FROM calls WHERE ts + dur > %1$s AND ts + dur > 100000 AND %3$s ORDER BY id'])[1 + floor(random() * 6)],
			low, low + floor(random() * 1000), (ARRAY['true', 'who = 2', 'who IN (1, 3)', 'dur > 50', 'id % 3 = 0', 'who IS NOT NULL'])[1 + floor(random() * 6)],
			'2024-03-01 00:00 UTC'::timestamptz + low * interval '100 ms' + interval '1 minute', '2024-03-01 00:00 UTC'::timestamptz + low * interval '100 ms');
		is_taken := false;
		FOR line IN EXECUTE 'EXPLAIN ' || question LOOP
			is_taken := is_taken OR line ~ 'IForestReach|IForestTopK';
		END LOOP;
		EXECUTE format('SELECT string_agg(q::text, %L) FROM (%s) q', E'\n', question) INTO actual;
		SET LOCAL iforest.enable = off;
		EXECUTE format('SELECT string_agg(q::text, %L) FROM (%s) q', E'\n', question) INTO expected;
		SET LOCAL iforest.enable = on;
		asked := asked + 1;
		taken := taken + is_taken::integer;
		IF actual IS DISTINCT FROM expected THEN
			different := question;
			RETURN;
		END IF;
	END LOOP;
END $$;
SELECT asked, taken > 150 AS are_taken, different FROM compare_reaches(200);
INSERT INTO calls(who, ts, dur, since, until) SELECT 9, i * 100, 5000, now(), now() FROM generate_series(1, 1000) i;
UPDATE calls SET dur = dur * 3, until = until + interval '1 hour' WHERE id % 101 = 0;
DELETE FROM calls WHERE id % 13 = 0;
SELECT asked, taken > 100 AS are_taken, different FROM compare_reaches(200);
VACUUM calls;
SELECT asked, taken > 100 AS are_taken, different FROM compare_reaches(200);
SET plan_cache_mode = force_generic_plan;
PREPARE reach(bigint, bigint) AS SELECT count(*), sum(id) FROM (SELECT id FROM calls WHERE ts < $2 AND ts + dur > $1 OFFSET 0) s;
EXPLAIN (COSTS OFF) EXECUTE reach(150000, 150100);
EXECUTE reach(150000, 150100);
EXECUTE reach(NULL, 150100);
SET iforest.enable = off;
EXECUTE reach(150000, 150100);
SET iforest.enable = on;
SELECT a, (SELECT count(*) FROM (SELECT id FROM calls WHERE ts < a + 10 AND ts + dur > a OFFSET 0) s) FROM (VALUES (1000), (150000), (NULL), (10000000)) w(a);
-- rows without a time may have an end; the index keeps it only of those with a time
INSERT INTO calls(who, ts, dur, since, until) VALUES (1, NULL, 5, NULL, '2030-01-01'), (1, 8, NULL, '2024-03-01', '2030-01-02');
VACUUM ANALYZE calls;
EXPLAIN (COSTS OFF) SELECT until FROM calls WHERE until > '2029-01-01';
SELECT until FROM calls WHERE until > '2029-01-01' ORDER BY until;
SET enable_sort = off;
SELECT until, dur FROM calls WHERE until > '2029-01-01' ORDER BY dur LIMIT 3;
RESET enable_sort;
EXPLAIN (COSTS OFF) SELECT until FROM calls WHERE until > '2029-01-01' AND since IS NOT NULL;
SELECT until FROM calls WHERE until > '2029-01-01' AND since IS NOT NULL;
-- what is computed at the table from another one's columns
SET enable_seqscan = off;
CREATE TABLE others(x bigint);
INSERT INTO others VALUES (-1), (NULL);
SELECT o.x, count(*), min(s.y), max(s.y) FROM others o LEFT JOIN LATERAL (SELECT coalesce(o.x, ts) AS y FROM calls WHERE ts < 50000 AND ts + dur > 49950) s ON true GROUP BY 1 ORDER BY 1;
DROP TABLE others;
RESET enable_seqscan;
-- the row that a cursor stands at
BEGIN;
EXPLAIN (COSTS OFF) SELECT id FROM calls WHERE who = 0 AND ts < 150000 AND ts + dur > 149900;
DECLARE c CURSOR FOR SELECT id FROM calls WHERE who = 0 AND ts < 150000 AND ts + dur > 149900;
FETCH c;
UPDATE calls SET who = 100 WHERE CURRENT OF c RETURNING id, who;
DECLARE d CURSOR FOR SELECT dur + 1 FROM calls ORDER BY dur DESC NULLS LAST LIMIT 2;
FETCH d;
DELETE FROM calls WHERE CURRENT OF d RETURNING dur;
ROLLBACK;
-- in a worker
SELECT set_config(CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END, 'on', false);
SELECT count(*) > 0 AS is_there FROM (SELECT id FROM calls WHERE ts < 150100 AND ts + dur > 150000 OFFSET 0) s;
SELECT dur FROM calls ORDER BY dur DESC NULLS LAST LIMIT 1;
SELECT set_config(CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END, 'off', false);
DROP TABLE calls;
DROP FUNCTION compare_reaches, fetched_in_vain;

-- ---- ends that are not of the type of the starts: of another time zone than UTC, their numbers are none to go by ----
CREATE TABLE zoned(id integer, since timestamp NOT NULL, until timestamptz);
INSERT INTO zoned SELECT i, timestamp '2024-03-01' + i * interval '1 min', timestamptz '2024-03-01 UTC' + i * interval '1 min' + i % 50 * interval '1 min'
	FROM generate_series(1, 20000) i;
CREATE INDEX zoned_if ON zoned USING iforest (since) INCLUDE (until) WITH ("end" = 'until');
VACUUM ANALYZE zoned;
SET TimeZone = 'Asia/Kolkata';
SET enable_seqscan = off;
SELECT count(id), min(id), max(id) FROM zoned WHERE since < '2024-03-13' AND until > timestamp '2024-03-12 05:30';
ALTER TABLE zoned ALTER COLUMN since TYPE timestamptz USING since AT TIME ZONE 'UTC';
SELECT count(id), min(id), max(id) FROM zoned WHERE since < '2024-03-13 UTC' AND until > timestamp '2024-03-12 05:30';
EXPLAIN (COSTS OFF) SELECT id FROM zoned WHERE since < '2024-03-13 UTC' AND until > timestamptz '2024-03-12 UTC';
RESET enable_seqscan;
SET TimeZone = 'UTC';
DROP TABLE zoned;

-- ---- expressions that rise with a value; others do not have its order ----
EXPLAIN (COSTS OFF) SELECT dur / 1000.0 AS ms FROM spans WHERE dur IS NOT NULL ORDER BY ms DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT ms FROM (SELECT round(dur / 1000.0) AS ms FROM spans) s ORDER BY ms LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY -dur LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY dur / -2.0 LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY dur % 10 LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY coalesce(dur, 0) LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM spans ORDER BY dur + small LIMIT 3;

-- ---- partitions ----
CREATE TABLE days(id integer, ts timestamp, dur integer, note text) PARTITION BY RANGE (ts);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2024-03-01') TO ('2024-03-02');
CREATE TABLE days_2 (note text, dur integer, gone integer, ts timestamp, id integer);
ALTER TABLE days_2 DROP COLUMN gone;
ALTER TABLE days ATTACH PARTITION days_2 FOR VALUES FROM ('2024-03-02') TO ('2024-03-03');
INSERT INTO days SELECT i, '2024-03-01'::timestamp + i * interval '15 seconds', i * 7919 % 10007, 'x' FROM generate_series(1, 10000) i;
CREATE INDEX days_if ON days USING iforest (ts) INCLUDE (dur);
VACUUM ANALYZE days;
EXPLAIN (COSTS OFF) SELECT id, dur FROM days ORDER BY dur DESC LIMIT 4;
SELECT id, dur FROM days ORDER BY dur DESC LIMIT 4;
SELECT id, dur FROM days WHERE ts > '2024-03-01 20:00' ORDER BY dur, id LIMIT 4;

-- ---- rights ----
CREATE ROLE iforest_top_reader;
GRANT SELECT ON spans TO iforest_top_reader;
ALTER TABLE spans ENABLE ROW LEVEL SECURITY;
CREATE POLICY web_only ON spans FOR SELECT TO iforest_top_reader USING (service = 'web');
SET ROLE iforest_top_reader;
EXPLAIN (COSTS OFF) SELECT id, service, dur FROM spans WHERE dur < 500 ORDER BY dur DESC LIMIT 3;
SELECT DISTINCT service FROM (SELECT service, dur FROM spans WHERE dur < 500 ORDER BY dur DESC LIMIT 50) t;
RESET ROLE;
REVOKE SELECT ON spans FROM iforest_top_reader;
SET ROLE iforest_top_reader;
SELECT id FROM spans ORDER BY dur LIMIT 1;
RESET ROLE;
DROP TABLE spans, days;
DROP FUNCTION compare_tops;
DROP ROLE iforest_top_reader;

-- smallint is cast to oid by the function that makes an integer of it, and the order of oid is that of unsigned numbers.
CREATE TABLE signed(ts smallint, v smallint);
INSERT INTO signed SELECT i - 1000, (i * 7) % 41 - 20 FROM generate_series(1, 2000) i;
CREATE INDEX signed_if ON signed USING iforest (ts) INCLUDE (v);
VACUUM ANALYZE signed;
SET enable_seqscan = off;
SET cpu_tuple_cost = 10;
SELECT min(v::oid), max(v::oid), min(ts::oid), max(ts::oid) FROM signed;
SELECT count(*), sum(v) FROM signed WHERE v::oid > 4;
SELECT count(*), sum(v) FROM signed WHERE v::oid IN (4, 5);
SELECT count(*), sum(v) FROM signed WHERE ts > 7::oid;
SELECT count(*), sum(v) FROM signed WHERE ts::oid BETWEEN 7 AND 70;
SELECT count(*), sum(v) FROM signed WHERE ts::regclass = 7::regclass;
SELECT v::oid FROM signed ORDER BY v::oid LIMIT 1;
SELECT v::oid FROM signed ORDER BY v::oid DESC LIMIT 1;
-- as an integer it is the same number
SELECT count(*), sum(v) FROM signed WHERE v::integer > 4;
SET iforest.enable = off;
SELECT min(v::oid), max(v::oid), min(ts::oid), max(ts::oid) FROM signed;
SELECT count(*), sum(v) FROM signed WHERE v::oid > 4;
SELECT count(*), sum(v) FROM signed WHERE v::oid IN (4, 5);
SELECT count(*), sum(v) FROM signed WHERE ts > 7::oid;
SELECT count(*), sum(v) FROM signed WHERE ts::oid BETWEEN 7 AND 70;
SELECT count(*), sum(v) FROM signed WHERE ts::regclass = 7::regclass;
SELECT count(*), sum(v) FROM signed WHERE v::integer > 4;
RESET iforest.enable;
RESET enable_seqscan;
RESET cpu_tuple_cost;
DROP TABLE signed;
