-- Aggregates of the rows of a table that each row of other relations joins: which joins are answered so, that the rows are those
-- of a plain plan, and that privileges are those of the statement.
SET TimeZone = 'UTC';
SET DateStyle = ISO;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE points(id integer PRIMARY KEY, ts timestamptz, service text, dur integer, note text);
INSERT INTO points SELECT i, CASE WHEN i % 37 <> 0 THEN timestamptz '2024-03-01' + i / 4 * interval '1 min' END,
		CASE WHEN i % 41 <> 0 THEN (ARRAY['api', 'db', 'web'])[1 + i % 3] END, CASE WHEN i % 5 > 0 THEN i * 7919 % 1000 END, 'n' || i % 10 FROM generate_series(1, 20000) i;
CREATE INDEX points_if ON points USING iforest (service, ts) INCLUDE (dur) WITH (variance = 'dur');
CREATE TABLE teams(id integer PRIMARY KEY, name text, service text, since timestamptz, tags json);
INSERT INTO teams VALUES (1, 'red', 'api', '2024-03-02'), (2, 'red', 'web', '2024-03-03'), (3, 'blue', 'none', '2024-03-02'), (4, NULL, NULL, NULL), (5, 'red', 'api', '2024-03-02');
UPDATE teams SET tags = json_build_array(name) WHERE id <> 2;
CREATE TABLE parted(LIKE points) PARTITION BY RANGE (ts);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2024-03-01') TO ('2024-03-03');
CREATE TABLE parted_2 PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT * FROM points WHERE ts IS NOT NULL;
CREATE INDEX parted_if ON parted USING iforest (service, ts) INCLUDE (dur);
CREATE FUNCTION hours() RETURNS TABLE(t timestamptz) LANGUAGE sql STABLE AS
	'SELECT generate_series(timestamptz ''2024-03-01 22:00'', ''2024-03-02 03:00'', ''1 hour'')';
CREATE VIEW seen_hours AS SELECT t FROM hours() AS h;
CREATE VIEW seen AS SELECT ts, service, dur AS took FROM points WHERE service <> 'db';
VACUUM ANALYZE points, teams, parted;

-- The nodes of a plan, and whether its rows are those of a plain plan.
CREATE FUNCTION shape(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	gather text := format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question);
	line text;
	nodes text := '';
	expected text[];
	actual text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		nodes := nodes || coalesce(substring(line FROM 'IForest\w+') || ' ', '');
	END LOOP;
	EXECUTE gather INTO actual;
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE gather INTO expected;
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN format('%s%s, %s rows', nodes, CASE WHEN actual IS DISTINCT FROM expected THEN 'different' ELSE 'same' END, cardinality(expected));
END $$;

-- axes
SELECT t, count(p.id), count(*), sum(dur) FROM hours() h LEFT JOIN points p ON ts >= t AND ts < t + interval '1 hour' GROUP BY t HAVING count(*) > 0 ORDER BY t;
SELECT shape('SELECT t, count(p.id), count(p), count(*), count(1), sum(dur), avg(dur), min(ts), max(dur), stddev(dur) FROM hours() h LEFT JOIN points p ON ts >= t AND ts < t + interval ''1 hour'' GROUP BY t');
SELECT shape('SELECT t, count(p.id) FROM points p RIGHT JOIN hours() h ON ts >= t AND ts < t + interval ''1 hour'' AND service IN (''api'', ''web'') GROUP BY t');
SELECT shape('SELECT t::date, service IS NULL, name, count(dur) FROM hours() h CROSS JOIN teams LEFT JOIN points p USING (service) WHERE t > ''2024-03-01 23:30'' GROUP BY 1, 2, 3') AS other_columns;
SELECT shape('SELECT t::date, name, count(dur), max(ts) FROM hours() h JOIN teams ON t >= since LEFT JOIN points p ON p.service = teams.service AND ts >= t AND ts < t + ''1 hour''::interval GROUP BY 1, 2');
SELECT shape('SELECT t, count(p.id), max(dur) FROM generate_series(timestamptz ''2024-03-01'', ''2024-03-08'', ''1 day'') t JOIN points p ON ts >= t AND ts < t + interval ''1 day'' AND service = ''web'' GROUP BY t');
SELECT shape('SELECT t, count(p.id) FROM hours() h, points p WHERE ts >= t AND ts < t + interval ''1 minute'' AND service = ''db'' AND t <> ''2024-03-02'' GROUP BY t');
SELECT shape('WITH axis AS MATERIALIZED (SELECT t FROM hours() h) SELECT a.t, count(p.dur), (SELECT max(t) FROM axis) FROM axis a LEFT JOIN points p ON ts >= a.t AND ts < a.t + interval ''1 hour'' GROUP BY a.t');
SELECT shape('SELECT * FROM (WITH axis AS MATERIALIZED (SELECT t FROM hours() h) SELECT a.t, count(p.dur) FROM axis a LEFT JOIN points p ON ts >= a.t AND ts < a.t + interval ''1 hour'' GROUP BY a.t UNION ALL SELECT t, 0 FROM axis) q WHERE count < 100');
SELECT shape('SELECT t, count(took), sum(took) FROM generate_series(timestamptz ''2024-03-01'', ''2024-03-05'', ''1 day'') WITH ORDINALITY AS a(t, n) LEFT JOIN seen ON ts >= t AND ts < t + interval ''1 day'' GROUP BY t');
SELECT shape('SELECT t, count(p.dur), sum(dur) FROM generate_series(timestamptz ''2024-03-01'', ''2024-03-05'', ''1 day'') t LEFT JOIN parted p ON ts >= t AND ts < t + interval ''1 day'' GROUP BY t');
SELECT shape('SELECT sum(n) FROM (SELECT t, count(p.dur) AS n FROM generate_series(timestamptz ''2024-03-05'', ''2024-03-01'', ''1 day'') t LEFT JOIN points p ON ts >= t AND ts < t + interval ''1 day'' GROUP BY t) q') AS no_rows;
SELECT shape('SELECT t, max(dur) FROM hours() h LEFT JOIN points p ON ts >= t AND ts < t + interval ''1 hour'' GROUP BY t') AS extremes_alone;

-- lists
SELECT name, count(p.dur), count(*), max(dur) FROM teams LEFT JOIN points p USING (service) GROUP BY name ORDER BY name;
SELECT shape('SELECT name, count(p.dur), count(*) FILTER (WHERE dur > 500), sum(dur) FROM teams LEFT JOIN points p ON p.service = teams.service AND ts >= since WHERE teams.id <> 2 GROUP BY name');
SELECT shape('SELECT label, min(dur) FROM (VALUES (''api'', ''a''), (''web'', ''b''), (''web'', ''b'')) AS l(service, label) LEFT JOIN points p ON p.service = l.service GROUP BY label');
SELECT shape('SELECT name, sum(dur) FROM (SELECT teams.name, dur, points.service FROM teams LEFT JOIN points USING (service)) q GROUP BY name ORDER BY sum(dur) LIMIT 2');

-- columns beside a primary key, of any type
SELECT t.id, name, count(p.dur), sum(dur) FROM teams t LEFT JOIN points p USING (service) GROUP BY t.id ORDER BY t.id;
SELECT shape('SELECT t.id, upper(name) || t.id, t.tags, t, t.ctid, t.tableoid::regclass, count(p.dur), count(*), max(dur) FROM teams t LEFT JOIN points p USING (service) GROUP BY t.id HAVING count(*) > 10 OR t.service = ''none''');
SELECT shape('SELECT since, count(p.dur) FROM teams t LEFT JOIN points p ON p.service = t.service AND ts >= since GROUP BY t.id') AS key_unseen;
SELECT shape('SELECT h.t, name, tags, sum(dur) FROM hours() h JOIN teams ON h.t >= since LEFT JOIN points p ON p.service = teams.service AND ts >= h.t AND ts < h.t + interval ''1 hour'' GROUP BY h.t, teams.id') AS of_an_axis;
SELECT shape('SELECT teams.id, name, count(dur) FROM teams JOIN points p ON ts >= since AND ts < since + interval ''1 day'' GROUP BY teams.id') AS inner_join;
SELECT shape('SELECT * FROM (SELECT teams.id, name, count(p.dur) FROM teams LEFT JOIN points p USING (service) GROUP BY teams.id) q WHERE name = ''red''') AS filtered_below;
SELECT shape('SELECT t.id, name, count(p.dur), sum(dur) FROM teams t LEFT JOIN parted p USING (service) GROUP BY t.id') AS partitions;
SELECT shape('SELECT t.id, name, count(p.dur), sum(dur) FROM teams t LEFT JOIN points p USING (service) WHERE t.id < 0 GROUP BY t.id') AS no_teams;
SELECT shape('SELECT name, max(dur), p.id FROM teams t JOIN points p ON ts >= since AND ts < since + interval ''10 minutes'' GROUP BY t.id, p.id') AS key_of_the_table;

-- on the right, a list that each series joins without an equality
SELECT shape('SELECT g, CASE WHEN g > 0 THEN service END, CASE WHEN g = 2 THEN ts::date END, count(*), sum(dur), count(DISTINCT service) FROM points CROSS JOIN generate_series(0, 2) g GROUP BY 1, 2, 3') AS levels;
SELECT shape('SELECT g, CASE WHEN g > 0 THEN service END, CASE WHEN g = 2 THEN ts::date END, count(*), sum(dur) FROM parted CROSS JOIN generate_series(0, 2) g GROUP BY 1, 2, 3') AS of_partitions;
SELECT shape('SELECT g, date_trunc(''day'', ts + g * interval ''12 hours''), count(*), sum(dur) FROM points, generate_series(0, 2) g WHERE g < 2 OR service <> ''db'' GROUP BY 1, 2') AS shifted;
SELECT shape('SELECT name, count(*), sum(dur) FROM points p LEFT JOIN teams t ON t.service > p.service AND p.service IS NOT NULL GROUP BY name') AS by_order;
SELECT shape('SELECT count(*), sum(dur), count(g) FROM points CROSS JOIN generate_series(1, 0) g') AS empty_list;
SELECT shape('SELECT count(*), sum(dur), count(g) FROM points LEFT JOIN generate_series(1, 0) g ON true') AS empty_list_on_the_right;
SELECT shape('SELECT g, count(*) FROM points LEFT JOIN generate_series(1, 2) g ON (SELECT count(*) > 9 FROM teams) GROUP BY g') AS condition_known_at_last;
SELECT shape('SELECT v.n, q.* FROM (VALUES (0), (2), (NULL)) v(n), LATERAL (SELECT g, service, count(*) FROM points CROSS JOIN generate_series(1, v.n) g GROUP BY 1, 2) q') AS list_of_a_query_above;
SELECT shape('SELECT p.service, q.service, count(*), sum(p.dur) FROM points p CROSS JOIN (SELECT service FROM points WHERE ts < ''2024-03-02'' GROUP BY 1) q WHERE q.service <> p.service GROUP BY 1, 2') AS groups_below;
SELECT shape('SELECT g, service, count(*), sum(dur) FROM points CROSS JOIN generate_series(0, 1) g WHERE g = 0 OR dur > 500 GROUP BY 1, 2') AS levels_with_values;
SELECT shape('SELECT service, count(*) FROM points p WHERE NOT EXISTS (SELECT FROM teams t WHERE t.service > p.service) GROUP BY 1') AS none_by_order;

-- what is left to other plans
SELECT shape('SELECT g, count(*) FROM points CROSS JOIN LATERAL generate_series(0, length(service)) g GROUP BY g') AS list_of_the_series;
SELECT shape('SELECT name, GROUPING(name), count(dur) FROM teams LEFT JOIN points p USING (service) GROUP BY name') AS sets_of_one;
SELECT shape('SELECT name, sum(coalesce(dur, 1)) FROM teams LEFT JOIN points p USING (service) GROUP BY name') AS not_strict;
SELECT shape('SELECT name, count(DISTINCT p.service) FROM teams LEFT JOIN points p USING (service) GROUP BY name') AS of_all_rows;
SELECT shape('SELECT name, sum(dur + teams.id) FROM teams LEFT JOIN points p USING (service) GROUP BY name') AS of_both;
SELECT shape('SELECT name, count(dur) FROM teams LEFT JOIN points p USING (service) WHERE dur IS NULL GROUP BY name') AS filtered_above;
SELECT shape('SELECT name, p.service, count(dur) FROM teams LEFT JOIN points p USING (service) GROUP BY 1, 2') AS keys_of_both;
SELECT shape('SELECT name, count(dur) FROM teams FULL JOIN points p USING (service) GROUP BY name') AS full_join;
SELECT shape('SELECT name, count(dur) FROM teams LEFT JOIN points p ON p.note = teams.name GROUP BY name') AS no_key;
SELECT shape('SELECT name, count(p.dur) FROM teams LEFT JOIN hours() h ON t = since LEFT JOIN points p USING (service) GROUP BY name') AS two_outer_joins;
SELECT shape('SELECT name, count(dur) FROM teams LEFT JOIN points p USING (service) GROUP BY ROLLUP (name)') AS sets;
SELECT shape('SELECT g, count(dur) FROM points p, generate_series(p.ts, p.ts, ''1 hour'') g WHERE p.ts < g + interval ''1 hour'' AND p.id < 100 GROUP BY g') AS made_of_the_table;
SELECT shape('SELECT n, (SELECT max(c) FROM (SELECT t, count(dur) AS c FROM hours() h LEFT JOIN points p ON ts >= t AND ts < t + interval ''1 hour'' AND dur > n GROUP BY t) q) FROM generate_series(1, 3) n') AS of_a_query_above;
SELECT shape('SELECT n, q.* FROM generate_series(1, 3) n LEFT JOIN LATERAL (SELECT t, count(dur) AS c FROM generate_series(timestamptz ''2024-03-01'', ''2024-03-02'', n * interval ''6 hours'') t LEFT JOIN points p ON ts >= t AND ts < t + interval ''1 hour'' GROUP BY t) q ON true') AS axis_of_a_query_above;

-- rows of this transaction, and parameters
BEGIN;
DELETE FROM points WHERE id % 3 = 0;
INSERT INTO points SELECT 100000 + i, timestamptz '2024-03-01 22:30' + i * interval '1 min', 'api', i, 'new' FROM generate_series(1, 300) i;
SELECT shape('SELECT t, count(p.id), sum(dur) FROM hours() h LEFT JOIN points p ON ts >= t AND ts < t + interval ''1 hour'' GROUP BY t');
ROLLBACK;
PREPARE filled(timestamptz, interval) AS SELECT t, count(dur) FROM generate_series($1, $1 + 3 * $2, $2) t LEFT JOIN points p ON ts >= t AND ts < t + $2 GROUP BY t ORDER BY t;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE filled('2024-03-01 23:00', '30 min');
EXECUTE filled('2024-03-01 23:00', '30 min');
EXECUTE filled('2024-02-29 23:59', '1 min');
PREPARE named(integer) AS SELECT t.id, name, tags, count(dur) FROM teams t LEFT JOIN points p USING (service) WHERE t.id > $1 GROUP BY t.id ORDER BY t.id;
EXECUTE named(2);
EXECUTE named(9);
RESET plan_cache_mode;

-- privileges: of what the statement names, and no more
CREATE ROLE outer_reader;
GRANT SELECT ON points TO outer_reader;
GRANT SELECT (name, service) ON teams TO outer_reader;
SET ROLE outer_reader;
SELECT name, count(dur) FROM teams LEFT JOIN points p USING (service) GROUP BY name ORDER BY name;
SELECT name, count(dur) FROM teams LEFT JOIN points p ON p.service = teams.service AND ts >= since GROUP BY name ORDER BY name;
SELECT t, count(dur) FROM (SELECT since AS t FROM teams OFFSET 0) h LEFT JOIN points p ON ts >= t AND ts < t + interval '1 hour' GROUP BY t;
SELECT t, count(dur) FROM seen_hours LEFT JOIN points p ON ts >= t AND ts < t + interval '1 hour' GROUP BY t;
RESET ROLE;
REVOKE SELECT ON points FROM outer_reader;
GRANT SELECT ON seen_hours, seen TO outer_reader;
SET ROLE outer_reader;
SELECT name, count(dur) FROM teams LEFT JOIN points p USING (service) GROUP BY name ORDER BY name;
SELECT name, count(took) FROM teams LEFT JOIN seen USING (service) GROUP BY name ORDER BY name;
RESET ROLE;
ALTER TABLE points ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON points USING (dur < 100);
GRANT SELECT ON points TO outer_reader;
SET ROLE outer_reader;
SELECT shape('SELECT name, count(dur) FROM teams LEFT JOIN points p USING (service) GROUP BY name') AS row_security;
RESET ROLE;
DROP VIEW seen_hours, seen;
DROP FUNCTION hours;
DROP TABLE points, teams, parted;
DROP FUNCTION shape;
DROP ROLE outer_reader;
