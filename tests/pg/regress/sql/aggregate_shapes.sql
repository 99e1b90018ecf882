-- Where in a query the Custom Scan stands, that the answer is the plain plan's there, and why there is none elsewhere.
SET TimeZone = 'UTC';
SET DateStyle = ISO;
CREATE TABLE spans(id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ts timestamptz NOT NULL, service text, host smallint,
	dur integer, price numeric(9,2), load float8, done timestamptz, note text);
INSERT INTO spans(ts, service, host, dur, price, load, done, note)
	SELECT timestamptz '2024-03-01' + i * interval '4 min', (ARRAY['api', 'db', 'web'])[1 + i % 3], CASE WHEN i % 31 <> 0 THEN i % 4 END,
		CASE WHEN i % 13 <> 0 THEN i % 1000 END, i % 500 / 100.0, i / 4.0, timestamptz '2024-03-01' + i * interval '5 min', 'n'
	FROM generate_series(0, 19999) i;
CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (dur, price, load, done);
ANALYZE spans;
CREATE TABLE owner(service text PRIMARY KEY, team text);
INSERT INTO owner VALUES ('api', 'front'), ('db', 'back'), ('web', 'front');

-- Nodes of the plan and what the Custom Scan says of itself, without what versions of the server name differently; and whether
-- it gives the same rows as a plan without it.
CREATE FUNCTION shape(question text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	gather text := format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question);
	line text;
	expected text[];
	actual text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		IF line ~ '^\S|->|^ *(Init|Sub)Plan [0-9]|Index(es)?: |Index Cond: |(Series|Time|One-Time) Filter: |Value Range: ' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, 'InitPlan.*', 'InitPlan'), '\$[0-9]+', '$n', 'g');
		END IF;
	END LOOP;
	EXECUTE gather INTO actual;
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE gather INTO expected;
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN NEXT format('rows: %s, %s', coalesce(cardinality(expected), 0),
		CASE WHEN actual IS NOT DISTINCT FROM expected THEN 'the same' ELSE 'different' END);
END $$;

-- For questions whose plans are nobody's concern, or that are declined: with a notice of why.
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

-- A session that has not opened an index yet: the hook comes with the first one, while the query is planned.
\c
\set VERBOSITY default
SET TimeZone = 'UTC';
SET DateStyle = ISO;
SELECT count(*) AS known FROM pg_settings WHERE name LIKE 'iforest.%';
EXPLAIN (COSTS OFF) SELECT service, count(*), sum(dur) FROM spans GROUP BY service;
SELECT name, setting FROM pg_settings WHERE name LIKE 'iforest.%' ORDER BY name;
-- Set before they are known, and what is none of them.
\c
SET iforest.enable = off;
SET iforest.no_such = 1;
EXPLAIN (COSTS OFF) SELECT service, count(*), sum(dur) FROM spans GROUP BY service;
SET iforest.no_such = 1;
RESET iforest.enable;

-- From here on no plan that reads the table is cheap.
SET TimeZone = 'UTC';
SET DateStyle = ISO;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;

-- ---- one level ----
SELECT shape('SELECT count(*), sum(dur), avg(price), min(ts), max(ts) FROM spans');
SELECT shape('SELECT date_trunc(''day'', ts) AS day, service, sum(dur) FROM spans GROUP BY 1, 2');
SELECT shape('SELECT service, count(*) FROM spans WHERE ts >= ''2024-03-05'' AND service IN (''api'', ''db'') GROUP BY 1');
SELECT shape('SELECT service, max(dur) FROM spans WHERE service LIKE ''%b'' AND extract(dow FROM ts) = 1 AND dur > 500 AND current_user <> '''' GROUP BY 1');
SELECT shape('SELECT service, count(*), max(load * 2), min(-dur) FROM spans WHERE 3 / length(service) > 0 AND load > 99 GROUP BY 1');
SELECT shape('SELECT date_trunc(''week'', ts), sum(dur) FROM spans GROUP BY 1 HAVING sum(dur) > 1000000 AND count(*) > 5');
SELECT shape('SELECT date_trunc(''day'', ts), sum(dur) FROM spans GROUP BY 1 ORDER BY sum(dur) DESC, 1 LIMIT 3');
SELECT shape('SELECT service || ''!'', 1 + sum(dur) / count(*)::numeric FROM spans GROUP BY service');
SELECT shape('SELECT date_trunc(''week'', ts), sum(sum(dur)) OVER (ORDER BY date_trunc(''week'', ts)) FROM spans GROUP BY 1');
SELECT shape('SELECT DISTINCT service FROM spans');
SELECT shape('SELECT DISTINCT service, extract(month FROM ts) FROM spans WHERE ts > ''2024-04-01''');
SELECT answered('SELECT DISTINCT count(*) FROM spans GROUP BY service');
SELECT shape('SELECT service, count(*) FROM spans GROUP BY service, service HAVING true');
SELECT shape('SELECT 1 FROM spans HAVING count(*) > 1');
SELECT shape('SELECT count(*), sum(dur) FROM spans WHERE service = ''none''');
SELECT shape('SELECT service, count(*) FROM spans WHERE service = ''none'' GROUP BY 1');
SELECT shape('SELECT count(*) FROM spans WHERE NULL::boolean');

-- Compiled expressions, where the server has a compiler.
SET jit = on; SET jit_above_cost = 0;
SELECT shape('SELECT service || ''!'', 1 + sum(dur) / count(*)::numeric, max(load * 2) FROM spans WHERE dur > 500 GROUP BY service HAVING sum(dur) % 7 < 9');
RESET jit; RESET jit_above_cost;

-- ---- parts of larger queries ----
CREATE VIEW daily AS SELECT date_trunc('day', ts) AS day, service, count(*) AS n, sum(dur) AS dur FROM spans GROUP BY 1, 2;
SELECT shape('SELECT day, n FROM daily WHERE service = ''db'' AND day >= ''2024-03-05''');
SELECT shape('WITH g AS (SELECT service, sum(dur) AS dur FROM spans GROUP BY 1) SELECT service, dur FROM g WHERE dur > 0');
SELECT shape('WITH g AS MATERIALIZED (SELECT service, sum(dur) AS dur FROM spans GROUP BY 1) SELECT a.service, a.dur - b.dur FROM g a, g b');
SELECT shape('SELECT sum(n) FROM (SELECT service, count(*) AS n FROM spans GROUP BY 1) s WHERE n > 3');
SELECT shape('SELECT count(*) FROM (SELECT * FROM spans WHERE dur > 100 OFFSET 0) s');
SELECT shape('SELECT service, sum(x) FROM (SELECT service, dur * 2 AS x FROM spans WHERE ts < ''2024-03-09'') s GROUP BY 1');
SELECT shape('SELECT ''all'' AS service, count(*) FROM spans UNION ALL SELECT service, count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT service FROM spans WHERE dur < 5 GROUP BY 1 EXCEPT SELECT service FROM spans WHERE dur > 998 GROUP BY 1');
SELECT shape('SELECT (SELECT count(*) FROM spans WHERE service = ''db''), (SELECT max(dur) FROM spans)');
SELECT shape('SELECT service, count(*) FROM spans WHERE ts >= (SELECT max(ts) - interval ''1 day'' FROM spans WHERE service = ''db'') GROUP BY 1');
SELECT shape('SELECT count(*) FROM spans WHERE service = ANY (ARRAY(VALUES (''api''), (''db'')))');
SELECT shape('SELECT team, n FROM owner, LATERAL (SELECT count(*) AS n, sum(dur) FROM spans WHERE spans.service = owner.service) s');
SELECT shape('SELECT t, n, dur FROM generate_series(timestamptz ''2024-03-01'', ''2024-03-09'', ''1 day'') t,
	LATERAL (SELECT count(*) AS n, sum(dur) AS dur FROM spans WHERE ts >= t AND ts < t + interval ''1 day'') s');
SELECT shape('SELECT w, s.* FROM generate_series(1, 3) w,
	LATERAL (SELECT date_bin(w * interval ''1 week'', ts, ''2024-01-01'') AS t, sum(dur * w) FROM spans GROUP BY 1) s');
SELECT answered('SELECT team, sum(n) FROM (SELECT service, count(*) AS n FROM spans GROUP BY 1) s JOIN owner USING (service) GROUP BY 1');
SELECT shape('SELECT team FROM owner o WHERE EXISTS (SELECT 1 FROM spans s WHERE s.service = o.service HAVING count(*) > 6000)');
CREATE TABLE kept AS SELECT service, sum(price) AS price FROM spans GROUP BY 1;
INSERT INTO kept SELECT 'all', sum(price) FROM spans;
UPDATE kept SET price = price - s.least FROM (SELECT service, min(price) AS least FROM spans GROUP BY 1) s WHERE s.service = kept.service;
SELECT * FROM kept ORDER BY 1;

-- ---- prepared, and cursors ----
SET plan_cache_mode = force_generic_plan;
PREPARE of_service(text, timestamptz, integer) AS
	SELECT date_bin($3 * interval '1 day', ts, '2024-01-01') AS t, count(*) FROM spans WHERE service = $1 AND ts < $2 GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) EXECUTE of_service('db', '2024-03-09', 7);
EXECUTE of_service('db', '2024-03-09', 7);
EXECUTE of_service('web', '2024-03-05', 30);
EXECUTE of_service(NULL, '2024-03-05', 30);
SET iforest.enable = off;
EXECUTE of_service('db', '2024-03-09', 7);
RESET iforest.enable;
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT service, count(*) FROM spans GROUP BY 1 ORDER BY 1;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH FORWARD ALL FROM c;
COMMIT;

-- ---- partitions ----
CREATE TABLE logs(ts timestamp, host text, bytes bigint) PARTITION BY RANGE (ts);
CREATE TABLE logs_1 PARTITION OF logs FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE logs_2 PARTITION OF logs FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY LIST (host);
CREATE TABLE logs_2a PARTITION OF logs_2 FOR VALUES IN ('a');
CREATE TABLE logs_2b(bytes bigint, gone integer, host text, ts timestamp);
ALTER TABLE logs_2b DROP gone;
ALTER TABLE logs_2 ATTACH PARTITION logs_2b DEFAULT;
CREATE INDEX logs_if ON logs USING iforest (host, ts) INCLUDE (bytes);
INSERT INTO logs SELECT timestamp '2024-01-01' + i * interval '1 min', (ARRAY['a', 'b', NULL])[1 + i % 3], i FROM generate_series(0, 80000) i;
VACUUM ANALYZE logs;
SELECT shape('SELECT host, date_trunc(''month'', ts), count(*), sum(bytes) FROM logs GROUP BY 1, 2');
SELECT shape('SELECT host, sum(bytes) FROM logs WHERE ts >= ''2024-02-10'' GROUP BY 1');
SELECT shape('SELECT sum(bytes) FROM logs WHERE ts >= ''2024-02-10'' AND host = ''a''');
SELECT shape('SELECT count(*) FROM logs_2');
SET iforest.explain_decline = on;
CREATE TABLE logs_3 PARTITION OF logs FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
SELECT shape('SELECT count(*) FROM logs');
DROP INDEX logs_if;
CREATE INDEX logs_1_if ON logs_1 USING iforest (host, ts) INCLUDE (bytes);
SELECT answered('SELECT count(*) FROM logs');
SELECT answered('SELECT count(*) FROM logs WHERE ts < ''2024-01-05''');

-- ---- partial indexes and those of expressions ----
CREATE TABLE measured(at bigint, sensor integer, v integer);
INSERT INTO measured SELECT i, i % 5, i % 100 FROM generate_series(1, 20000) i;
CREATE INDEX measured_odd_if ON measured USING iforest (at) INCLUDE (v) WHERE sensor % 2 = 1;
CREATE INDEX measured_half_if ON measured USING iforest ((sensor / 2), (at / 2)) INCLUDE (v);
ANALYZE measured;
SELECT shape('SELECT at / 5000, sum(v) FROM measured WHERE sensor % 2 = 1 GROUP BY 1');
SELECT shape('SELECT sensor / 2, at / 2 / 5000, sum(v) FROM measured WHERE at / 2 > 100 GROUP BY 1, 2');
RESET iforest.explain_decline;

-- ---- row security, security barriers, privileges ----
CREATE ROLE iforest_shapes_reader;
CREATE TABLE secret(ts bigint, tenant text, v integer);
INSERT INTO secret SELECT i, 'tenant ' || i % 4, i % 100 FROM generate_series(1, 20000) i;
CREATE INDEX secret_if ON secret USING iforest (tenant, ts) INCLUDE (v);
ANALYZE secret;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM secret WHERE tenant = 'tenant 1';
CREATE POLICY own ON secret USING (tenant = current_setting('shapes.tenant'));
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON secret, barrier TO iforest_shapes_reader;
SET shapes.tenant = 'tenant 2';
SET iforest.explain_decline = on;
SET ROLE iforest_shapes_reader;
SELECT shape('SELECT tenant, count(*), sum(v) FROM secret GROUP BY 1');
SELECT shape('SELECT tenant, count(*) FROM secret WHERE ts > 5000 AND tenant > ''a'' GROUP BY 1');
SELECT answered('SELECT count(*) FROM secret WHERE tenant LIKE ''t%''');
SELECT answered('SELECT l.team, count(*) FROM secret JOIN (VALUES (''tenant 1'', ''a''), (''tenant 2'', ''b'')) AS l(tenant, team) USING (tenant) GROUP BY 1');
-- The planner plans such a view apart, like a subquery that hands on rows.
SELECT answered('SELECT count(*) FROM barrier WHERE ts <= 400');
SELECT count(*) FROM spans;
RESET ROLE;
SELECT answered('SELECT l.team, count(*) FROM secret JOIN (VALUES (''tenant 1'', ''a''), (''tenant 2'', ''b'')) AS l(tenant, team) USING (tenant) GROUP BY 1');
SELECT shape('SELECT tenant, count(*) FROM secret WHERE tenant LIKE ''t%'' GROUP BY 1');

-- ---- why not: each reason ----
SELECT answered('SELECT max(spans::text) FROM spans');
SELECT answered('SELECT tableoid, count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT host, count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT count(host) FROM spans');
SELECT answered('SELECT count(*) FROM spans WHERE note = ''n''');
SELECT answered('SELECT id, note, count(*) FROM spans GROUP BY id');
SELECT answered('SELECT load, count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT random() < 2, count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT generate_series(1, 2), count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT service::money, count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT extract(epoch FROM ts) / 60, count(*) FROM spans GROUP BY 1');
SELECT answered('SELECT max(price / 10 / 10) FROM spans');
SELECT answered('SELECT max(CASE WHEN service = ''db'' THEN price ELSE 0 END) FROM spans');
SELECT shape('SELECT max(CASE WHEN service = ''db'' THEN price ELSE 0.00 END), min(CASE WHEN service = ''db'' THEN price WHEN service = ''web'' THEN price END),
	max(CASE WHEN service = ''db'' THEN dur ELSE 0 END), sum(CASE WHEN service = ''db'' THEN price ELSE 0 END) FROM spans');
SELECT answered('SELECT stddev(dur) FROM spans');
SELECT answered('SELECT mode() WITHIN GROUP (ORDER BY dur) FROM spans');
SELECT answered('SELECT count(DISTINCT dur) FROM spans');
SELECT answered('SELECT sum(dur ORDER BY ts) FROM spans');
SELECT answered('SELECT sum(dur / 2) FROM spans');
SELECT answered('SELECT avg(dur / 1000.0) FROM spans');
SELECT answered('SELECT avg(dur / 60.0) FROM spans');
SELECT answered('SELECT max(abs(dur)) FROM spans');
SELECT answered('SELECT sum(dur * load) FROM spans');
SELECT answered('SELECT max(done::date) FROM spans');
SELECT answered('SELECT max(-load) FROM spans');
SELECT answered('SELECT sum(interval ''1 day'') FROM spans');
SELECT answered('SELECT sum(dur + random()::integer) FROM spans');
SELECT answered('SELECT count(*) FILTER (WHERE random() < 2) FROM spans');
SELECT answered('SELECT count(*) FILTER (WHERE dur > 3) FROM spans');
SELECT answered('SELECT sum(CASE WHEN dur > 3 THEN dur END) FROM spans');
SELECT answered('SELECT count(*) FROM spans WHERE dur <> 2');
SELECT answered('SELECT count(*) FROM spans WHERE dur IN (2, 3)');
SELECT answered('SELECT count(*) FROM spans WHERE -load < -10');
SELECT answered('SELECT count(*) FROM spans WHERE (load > 5) >= true');
SELECT answered('SELECT sum(load * ''Infinity'') FROM spans');
SELECT answered('SELECT count(*) FROM spans WHERE dur > load');
SELECT answered('SELECT count(*) FROM spans WHERE load > length(service)');
SELECT answered('SELECT count(*) FROM spans WHERE ts < clock_timestamp()');
SELECT answered('SELECT count(*) FROM spans WHERE service = (SELECT max(team) FROM owner WHERE owner.service <> spans.service)');
-- Before PostgreSQL 18 a key that is a constant cannot be told from the same constant in the select list.
SET client_min_messages = warning;
SELECT (answered('SELECT service, ''all'', count(*) FROM spans GROUP BY ROLLUP (1, 2)') = 'by the index') = (current_setting('server_version_num')::int >= 180000) AS as_known;
RESET client_min_messages;
SELECT answered('SELECT service AS a, service AS b, count(*) FROM spans GROUP BY GROUPING SETS (1, 2)');
CREATE TABLE keyed(service text PRIMARY KEY, ts bigint, note text);
INSERT INTO keyed SELECT 'service ' || i, i, 'n' FROM generate_series(1, 1000) i;
CREATE INDEX keyed_if ON keyed USING iforest (service, note, ts);
SELECT answered('SELECT service, note, count(*) FROM keyed GROUP BY service');
SET iforest.float_aggregates = off;
SELECT answered('SELECT sum(load) FROM spans');
SELECT answered('SELECT max(load) FROM spans');
SELECT answered('SELECT sum(dur::float8) FROM spans');
SELECT answered('SELECT count(load), avg(price) FROM spans');
RESET iforest.float_aggregates;
SELECT answered('SELECT count(*) FROM spans FULL JOIN owner USING (service)');
SELECT answered('SELECT count(*) FROM spans JOIN owner USING (service)');
SELECT answered('SELECT count(*) FROM spans TABLESAMPLE SYSTEM (50)');
-- Nothing to be said.
SELECT answered('SELECT service FROM spans');
SET iforest.enable = off;
SELECT answered('SELECT stddev(dur) FROM spans');
RESET iforest.enable;
RESET iforest.explain_decline;

-- ---- equalities with two values that are compared before a row is read, in a join, too ----
SELECT team, count(*) FROM spans JOIN owner USING (service) WHERE service = (SELECT 'db') AND service = 'web' GROUP BY 1;
SELECT team, sum(dur) FROM spans LEFT JOIN owner USING (service) WHERE service = (SELECT 'db') AND service IN ('db') GROUP BY 1;
SELECT answered('SELECT team, sum(dur) FROM spans LEFT JOIN owner USING (service) WHERE service = (SELECT ''db'') AND service IN (''db'') GROUP BY 1');
SET plan_cache_mode = force_generic_plan;
PREPARE of_both(text) AS SELECT team, count(*) FROM spans JOIN owner USING (service) WHERE service = $1 AND service = 'db' GROUP BY 1;
SELECT answered('EXECUTE of_both(''web'')');
EXECUTE of_both('web');
EXECUTE of_both('db');
RESET plan_cache_mode;

-- ---- domains over reals: as reals, of which NaN is the greatest ----
CREATE DOMAIN share AS float8;
CREATE TABLE shared(ts bigint NOT NULL, part share);
INSERT INTO shared SELECT i, CASE WHEN i % 5 <> 0 THEN i % 100 - 50.0 ELSE 'NaN'::float8 END FROM generate_series(1, 20000) i;
CREATE INDEX shared_if ON shared USING iforest (ts) INCLUDE (part);
VACUUM ANALYZE shared;
SELECT shape('SELECT min(-part), max(-part) FROM shared');
SELECT shape('SELECT min(part * 2), max(part), count(part) FROM shared');
SET plan_cache_mode = force_generic_plan;
PREPARE scaled(share) AS SELECT sum(part * $1), max(part * $1) FROM shared WHERE part > 0 AND part < 'NaN';
EXECUTE scaled('Infinity');
RESET plan_cache_mode;
DEALLOCATE scaled;
DROP TABLE shared;
DROP DOMAIN share;

-- ---- constants: 0, infinite, and beyond what double precision can hold ----
CREATE TABLE extremes(ts float8, at timestamptz, v integer, price numeric(9, 2));
INSERT INTO extremes SELECT i / 4.0 - 100, timestamptz '2024-01-01' + i * interval '1 min', i, i / 100.0 FROM generate_series(1, 20000) i;
INSERT INTO extremes VALUES ('Infinity', 'infinity', NULL, NULL), ('-Infinity', '-infinity', NULL, NULL), ('NaN', NULL, NULL, NULL), (NULL, NULL, 1, 1);
CREATE INDEX extremes_ts_if ON extremes USING iforest (ts) INCLUDE (v, at, price);
CREATE INDEX extremes_at_if ON extremes USING iforest (at) INCLUDE (v);
VACUUM ANALYZE extremes;
-- Of the infinities they make NaN, which is the greatest of all: one group, wherever it comes from.
SELECT shape('SELECT round((ts * 0)::numeric), count(*) FROM extremes GROUP BY 1');
SELECT shape('SELECT DISTINCT ts + ''Infinity'' FROM extremes');
SELECT shape('SELECT (ts / ''Infinity'')::numeric < 1, count(*) FROM extremes GROUP BY 1');
SELECT shape('SELECT extract(epoch FROM at) * 0, count(*) FROM extremes GROUP BY 1');
SELECT shape('SELECT floor(ts / 1000), count(*) FROM extremes GROUP BY 1');
-- NaN stays the greatest where all others change their order.
SELECT shape('SELECT ts * -1 < 5, count(*) FROM extremes GROUP BY 1');
SELECT shape('SELECT DISTINCT 3 - ts > 5 FROM extremes');
SELECT shape('SELECT min(extract(epoch FROM at) * 0), max(extract(epoch FROM at) * 0) FROM extremes');
SELECT shape('SELECT extract(epoch FROM at) - extract(epoch FROM at) % 86400, count(*) FROM extremes GROUP BY 1');
SELECT shape('SELECT min(extract(epoch FROM at) - extract(epoch FROM at) % 86400), max(extract(epoch FROM at) - extract(epoch FROM at) % 86400) FROM extremes');
SET plan_cache_mode = force_generic_plan;
PREPARE times(float8) AS SELECT (ts * $1)::numeric(3, 0) AS t, count(*) FROM extremes GROUP BY 1 ORDER BY 1;
EXECUTE times(0);
PREPARE epochs(integer) AS SELECT extract(epoch FROM at) * $1 AS t, count(*) FROM extremes GROUP BY 1 ORDER BY 1;
EXECUTE epochs(0);
PREPARE least(integer) AS SELECT min(extract(epoch FROM at) * $1) FROM extremes;
EXECUTE least(0);
-- Between them it would come, too, where the infinity is the factor.
SELECT shape('SELECT count(*), min(ts) FROM extremes WHERE ts * ''Infinity'' >= ''NaN''');
SELECT shape('SELECT ts * ''Infinity'' >= ''NaN'', count(*) FROM extremes GROUP BY 1');
SELECT count(*) FROM extremes WHERE (price - 100) * 'Infinity'::numeric >= 'NaN';
PREPARE product(numeric, numeric) AS SELECT count(*) FROM extremes WHERE ts::numeric * $1 >= $2;
EXECUTE product('Infinity', 'NaN');
EXECUTE product(2, 9794.5);
SELECT sum(price * 1e400) > 0 AS sum, max(price + 1e400) > 0 AS max, min(price / 1e400) > 0 AS min FROM extremes WHERE price / 1e400 >= 0 AND price * 1e-400 < 1;
-- What is constant in an argument fails for rows whose value is NULL, too, and what is not before a factor that is NULL.
PREPARE factor(integer, integer) AS SELECT sum(v * 200000 * $1) FROM extremes WHERE v = $2;
EXECUTE factor(NULL, 20000);
EXECUTE factor(NULL, 2);
PREPARE quotient(integer) AS SELECT sum(v * (1 / $1)), max(v * (1 / $1)), count(v * (1 / $1)) FROM extremes WHERE v IS NULL;
EXECUTE quotient(1);
EXECUTE quotient(0);
RESET plan_cache_mode;
DEALLOCATE ALL;
DROP TABLE extremes;

-- ---- reals less most of what they are: their sum does not tell ----
CREATE TABLE clocked(ts bigint NOT NULL, at float8, ns bigint);
INSERT INTO clocked SELECT i, 1704067200 + i % 1000 / 1024.0, 1704067200000000000 + i FROM generate_series(1, 20000) i;
CREATE INDEX clocked_if ON clocked USING iforest (ts) INCLUDE (at, ns);
VACUUM ANALYZE clocked;
SET iforest.explain_decline = on;
SELECT answered('SELECT ts / 7000, avg(at - 1704067200) FROM clocked WHERE ts < 17000 GROUP BY 1');
SELECT answered('SELECT sum(1704067200 - at) FROM clocked WHERE ts BETWEEN 11 AND 17');
SELECT answered('SELECT sum(ns::float8 - 1704067200000000000) FROM clocked');
RESET iforest.explain_decline;
SELECT shape('SELECT sum(ns - 1704067200000000000), avg(-ns + 5), max(at - 1704067200), round(sum(at / -4) / 1000000) FROM clocked');
SELECT shape('SELECT trunc(ts / 7000.0), max(round(ns / 60.0)), min(round(ns / 7.0, -2)), max(trunc(ns / 3.0)) FROM clocked GROUP BY 1');
SELECT shape('SELECT ts / 7000, max(ns / 1e6), min(ns / 1000.0), max(ts / 10.0) FROM clocked GROUP BY 1');
DROP TABLE clocked;

-- ---- times that are shifted by something of the series: its buckets are not those of another ----
SELECT shape('SELECT date_trunc(''day'', ts + length(service) * interval ''5 hours''), count(*), sum(dur) FROM spans GROUP BY 1');
SELECT shape('SELECT service, count(*) FILTER (WHERE ts - length(service) * interval ''7 days'' > ''2024-03-20''), count(*) FROM spans WHERE (ts + length(service) * interval ''5 hours'')::date > ''2024-03-05'' GROUP BY 1');
SELECT shape('SELECT date_trunc(''day'', ts - o), count(*), sum(dur) FROM spans JOIN (VALUES (''api'', interval ''1 hour''), (''api'', ''30 hours''), (''db'', ''50 hours'')) AS l(service, o) USING (service) GROUP BY 1');

-- ---- extremes and sums of quotients: about where PostgreSQL gives them fewer digits ----
CREATE TABLE edges(ts bigint NOT NULL, v bigint, price numeric(18,2), n integer);
INSERT INTO edges SELECT (row_number() OVER (ORDER BY sign, edge, delta) - 1) / 2, sign * (edge + delta),
	CASE WHEN edge < 1e18 THEN (sign * (edge + delta) / 100.0)::numeric(18,2) END, CASE WHEN edge < 1e9 THEN sign * (edge + delta) END
	FROM unnest('{0, 1, 10, 100, 1000, 9999}'::integer[]) d, generate_series(0, 4) j,
		LATERAL (SELECT (d + 1)::numeric * 10000::numeric ^ j AS edge) edge, unnest('{-1000000, -1000, -2, -1, 0, 1, 2, 999999}'::integer[]) delta,
		unnest('{1, -1}'::integer[]) sign
	WHERE edge < 9e18;
INSERT INTO edges SELECT 1000 + i / 2000, i, i / 100.0, i FROM generate_series(0, 20000) i;
CREATE INDEX edges_if ON edges USING iforest (ts) INCLUDE (v, price, n);
VACUUM ANALYZE edges;
SELECT shape('SELECT ts / 2, max(v / 1e6), min(v / 1000.0), max(v / 1.000), min(v / 1e18), max(v / 0.01), min(n / 1e3), max(n / 10.0) FROM edges GROUP BY 1');
SELECT shape('SELECT ts / 2, max(v * 1.0 / 1e6), min(v * 1.0 / 1000.0), max(v * 1.000 / 1.0), min(v * 1 / 1e18), max(v * 1.00 / 0.01), max(n * 1.0 / 10.0), min(price * 1.0 / 1e6), max(price * 1.000 / 10), min(price * 1.0 * 1.0 / 1e18) FROM edges GROUP BY 1');
SELECT shape('SELECT ts / 2, max(price / 1e6), min(price / 1000.0), max(price / 10), min(price / 1e18), max(price / 0.01) FROM edges GROUP BY 1');
SELECT shape('SELECT ts / 2, sum(v * 1.0 / 1000.0), avg(v * 1.0 / 1000.0), sum(n * -2.50 / 1e3), avg(-(0.5 * n) / 8) FROM edges GROUP BY 1');
SELECT shape('SELECT ts / 2, sum(0.001 * v / 0.001), avg(price * 1.0 / 10) FROM edges GROUP BY 1');
SET iforest.explain_decline = on;
SELECT answered('SELECT ts / 2, sum(v * 1.0 / 1e6) FROM edges GROUP BY 1');
SELECT answered('SELECT ts / 2, sum(v * 1e20 / 1000) FROM edges GROUP BY 1');
SELECT answered('SELECT ts / 2, sum((v + 1.0) / 1000) FROM edges GROUP BY 1');
SELECT answered('SELECT ts / 2, max(v / 1e6 / 10) FROM edges GROUP BY 1');
SELECT answered('SELECT ts / 2, max(v / 60.0) FROM edges GROUP BY 1');
SELECT answered('SELECT ts / 2, max(v * 10.0 / 1e6) FROM edges GROUP BY 1');
RESET iforest.explain_decline;
DROP TABLE edges;

-- ---- factors of reals that no double can hold, where they are taken together ----
CREATE TABLE tiny(ts bigint NOT NULL, v float8, z float8);
INSERT INTO tiny SELECT i, power(2::float8, -1000), 0 FROM generate_series(1, 20000) i;
CREATE INDEX tiny_if ON tiny USING iforest (ts) INCLUDE (v, z);
VACUUM ANALYZE tiny;
SELECT shape('SELECT sum(v / power(2::float8, -1030)), avg(v * power(2::float8, 600) * power(2::float8, 600)), sum(z / power(2::float8, -1030)) FROM tiny');
DROP TABLE tiny;

-- ---- value columns that are made wider, as far as the index holds them; and no further ----
CREATE TABLE paid(ts bigint NOT NULL, price numeric(12, 2), number integer);
INSERT INTO paid SELECT i, i / 100.0, i % 7 - 3 FROM generate_series(1, 20000) i;
CREATE INDEX paid_if ON paid USING iforest (ts) INCLUDE (price, number);
VACUUM ANALYZE paid;
PREPARE spent AS SELECT sum(price), max(price), count(*) FILTER (WHERE ts > 100) FROM paid;
EXECUTE spent;
ALTER TABLE paid ALTER COLUMN price TYPE numeric(14, 2);
SELECT shape('SELECT sum(price), max(price) FROM paid');
ALTER TABLE paid ALTER COLUMN price TYPE numeric(20, 2);
ALTER TABLE paid ALTER COLUMN price TYPE numeric(18, 2);
EXECUTE spent;
SELECT shape('SELECT sum(price), max(price) FROM paid');
ALTER TABLE paid ALTER COLUMN number TYPE oid;
SELECT refusal('INSERT INTO paid VALUES (1, 1, 1)');
DEALLOCATE spent;
DROP TABLE paid;

-- ---- a by column that would lose its length: blanks at the end of a string would count no more than before, and be shown ----
CREATE TABLE owed(who char(4), ts bigint NOT NULL, dur integer);
CREATE INDEX owed_if ON owed USING iforest (who, ts) INCLUDE (dur) WITH (duration = 'dur');
ALTER TABLE owed ALTER COLUMN who TYPE bpchar;
DROP TABLE owed;

-- ---- a pattern that is wrong: an error where there are rows that it is compared with ----
CREATE TABLE paths(path text, ts bigint NOT NULL);
INSERT INTO paths SELECT CASE WHEN i % 2 = 0 THEN 'abc' ELSE 'x' END, i FROM generate_series(1, 20000) i;
CREATE INDEX paths_if ON paths USING iforest (path, ts);
VACUUM ANALYZE paths;
SELECT refusal($$SELECT count(*) FROM paths WHERE path LIKE 'ab\'$$);
DELETE FROM paths WHERE path = 'abc' AND ts > 2;
SELECT refusal($$SELECT count(*), min(ts) FROM paths WHERE path LIKE 'ab\'$$);
DELETE FROM paths WHERE path = 'abc';
SELECT shape($$SELECT count(*) FROM paths WHERE path LIKE 'ab\'$$);
DROP TABLE paths;

-- ---- a condition that fails, and a cheaper one that keeps it from it wherever they stand ----
CREATE TABLE named(name text COLLATE "C", ts timestamptz NOT NULL);
INSERT INTO named SELECT CASE WHEN i % 2 = 0 THEN 'abc' ELSE '' END, timestamptz '2024-01-01' + i * interval '1 min' FROM generate_series(1, 20000) i;
CREATE INDEX named_if ON named USING iforest (name, ts);
VACUUM ANALYZE named;
SELECT shape($$SELECT count(*), min(ts) FROM named WHERE substr(name, 1, 100 / length(name)) <> 'q' AND length(name) > 0$$);
-- The same where it is not known by which collation to compare.
SELECT shape($$SELECT s.* FROM (SELECT text 'b' COLLATE "POSIX" AS name OFFSET 0) other, LATERAL (SELECT count(*) FROM named WHERE named.name <> other.name AND ts < '2000-01-01') s$$);
SELECT refusal($$SELECT s.* FROM (SELECT text 'b' COLLATE "POSIX" AS name OFFSET 0) other, LATERAL (SELECT count(*) FROM named WHERE named.name <> other.name) s$$);
DROP TABLE named;

-- ---- what a value is compared with is computed: once, and what that raises is raised where there are rows to be compared ----
SELECT shape('SELECT service, count(*) FROM spans WHERE dur > (SELECT max(dur) FROM spans) - 100 AND done < now() - interval ''1 day'' GROUP BY 1');
SELECT shape('SELECT count(*), sum(dur) FROM spans WHERE done <= CURRENT_TIMESTAMP AND ts::date < CURRENT_DATE - 7');
SELECT shape('SELECT n, s.* FROM generate_series(1, 3) n, LATERAL (SELECT count(*), max(price) FROM spans WHERE dur BETWEEN n * 100 AND n * 100 + 9) s');
SET plan_cache_mode = force_generic_plan;
PREPARE longer(integer, timestamptz) AS SELECT count(*), min(dur) FROM spans WHERE dur > 1000 / $1 AND ts >= $2;
EXPLAIN (COSTS OFF) EXECUTE longer(2, '2024-03-02');
EXECUTE longer(2, '2024-03-02');
EXECUTE longer(NULL, '2024-03-02');
EXECUTE longer(0, '2024-03-02');
EXECUTE longer(0, '2030-01-01');
PREPARE longer_of_all(integer) AS SELECT count(*) FROM spans WHERE dur > 1000 / $1 AND price < 1 / $1;
EXECUTE longer_of_all(10);
EXECUTE longer_of_all(0);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- A subquery is run before, and what that raises is raised: it might have been anywhere.
CREATE FUNCTION day_after(i integer) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN timestamptz '2024-03-01' + 10 / i * interval '1 day'; END $$;
SELECT shape('SELECT count(*) FROM spans WHERE extract(hour FROM ts) = 9 AND date_trunc(''day'', ts) >= (SELECT day_after(2))');
SELECT refusal('SELECT count(*) FROM spans WHERE extract(hour FROM ts) = 99 AND date_trunc(''day'', ts) >= (SELECT day_after(0))');
SELECT refusal('SELECT count(*) FROM spans WHERE ts < ''2000-01-01'' AND done > (SELECT day_after(0))');
DROP FUNCTION day_after;

-- ---- formats of EXPLAIN ----
CREATE FUNCTION explained(options text, question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	answer text := '';
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, question) LOOP
		answer := answer || line || E'\n';
	END LOOP;
	RETURN answer;
END $$;
VACUUM spans;
\set question '''SELECT date_trunc(''''day'''', ts), count(*) FROM spans WHERE service = ''''db'''' AND ts < ''''2024-03-09'''' AND extract(hour FROM ts) < 5 AND dur > 3 AND current_user <> '''''''' GROUP BY 1'''
SELECT plan ->> 'Node Type' AS node, plan ->> 'Custom Plan Provider' AS provider, plan ->> 'Index' AS index, plan ->> 'Index Cond' AS index_cond,
	plan ->> 'Time Filter' AS time_filter, plan ->> 'Value Range' AS value_range, plan ->> 'Bucket Method' AS buckets,
	plan ->> 'Series' AS series, plan ->> 'Runs' AS runs, plan ->> 'Pending Entries' AS pending, plan ->> 'Heap Blocks Checked' AS heap, plan ->> 'Restarts' AS restarts
FROM (SELECT explained('ANALYZE, FORMAT JSON', :question)::json #> '{0,Plan}' AS plan) p \gx
CREATE INDEX logs_if ON logs USING iforest (host, ts) INCLUDE (bytes);
SELECT plan -> 'Indexes' AS indexes FROM (SELECT explained('FORMAT JSON', 'SELECT count(*) FROM logs_2')::json #> '{0,Plan}' AS plan) p;
SELECT xml_is_well_formed(explained('ANALYZE, FORMAT XML', :question)) AS xml, (xpath('//*[local-name() = ''Index'']/text()', explained('FORMAT XML', :question)::xml))[1] AS index;
SELECT count(*) AS yaml FROM regexp_split_to_table(explained('ANALYZE, FORMAT YAML', :question), '\n') line
WHERE line ~ '^ *(- )?"?(Index|Index Cond|Time Filter|Value Range|One-Time Filter|Bucket Method)"?: ".*"$'
	OR line ~ '^ *(Series|Buckets|Buckets By Width|Key Evaluations|Runs|Nodes|Leaf Pages|Node Pages|Pending Entries|Heap Blocks Checked|Restarts): [0-9]+$';
EXPLAIN (COSTS OFF, VERBOSE) SELECT date_trunc('day', ts AT TIME ZONE 'Europe/Zurich') AS day, sum(dur) * 2 AS twice FROM spans GROUP BY 1 HAVING count(*) > 1;
EXPLAIN (COSTS OFF, VERBOSE) SELECT max(dur) FROM spans;
DROP VIEW daily, barrier;
DROP TABLE spans, owner, kept, logs, measured, secret, keyed;
DROP FUNCTION shape, answered, explained;
DROP ROLE iforest_shapes_reader;
