-- The first rows of groups by time or by a value, by DISTINCT ON and row_number(): which plans skip over series, and that they give
-- the rows that a plain plan gives, whatever the rows' times, values, states and conditions are.
SET TimeZone = 'UTC';
SET DateStyle = ISO;
CREATE TABLE points(id integer PRIMARY KEY, ts timestamptz, service text, host smallint, dur integer, note text);
-- times come several at once, or not at all
INSERT INTO points SELECT i, CASE WHEN i % 37 <> 0 THEN timestamptz '2024-03-01' + i / 4 * interval '1 min' END,
		CASE WHEN i % 41 <> 0 THEN (ARRAY['api', 'db', 'web'])[1 + i % 3] END, i % 5, i * 7919 % 1000, 'n' || i % 10 FROM generate_series(1, 20000) i;
CREATE INDEX points_if ON points USING iforest (service, host, ts) INCLUDE (dur);
VACUUM ANALYZE points;
SET max_parallel_workers_per_gather = 0;
SET cpu_tuple_cost = 10;

-- The nodes of a plan, and whether its rows are those of a plain plan.
CREATE FUNCTION shape(question text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	gather text := format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question);
	line text;
	expected text[];
	actual text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		IF line ~ 'Unique|WindowAgg|Custom Scan|Rows Per Series|Order By|Index Scan|Seq Scan' THEN
			RETURN NEXT regexp_replace(line, ' +$', '');
		END IF;
	END LOOP;
	EXECUTE gather INTO actual;
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE gather INTO expected;
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN NEXT format('rows: %s, %s', coalesce(cardinality(expected), 0),
		CASE WHEN actual IS NOT DISTINCT FROM expected THEN 'the same' ELSE 'different' END);
END $$;

SELECT shape('SELECT DISTINCT ON (service) service, ts, dur FROM points ORDER BY service, ts DESC, id');
SELECT shape('SELECT DISTINCT ON (service) * FROM points ORDER BY service DESC, ts DESC NULLS LAST, id');
SELECT shape('SELECT DISTINCT ON (host, service) * FROM points WHERE ts > ''2024-03-02'' AND note = ''n3'' ORDER BY service, host, ts, id DESC');
SELECT shape('SELECT DISTINCT ON (service) * FROM points WHERE host = 3 ORDER BY service, ts, id');
SELECT shape('SELECT DISTINCT ON (service) service, host, ts, id FROM points ORDER BY service, host DESC, ts DESC, id');
SELECT shape('SELECT DISTINCT ON (lower(service) || host) id, dur + 1 FROM points ORDER BY lower(service) || host, ts DESC, id LIMIT 4');
SELECT shape('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY service ORDER BY ts DESC, id) AS n FROM points) q WHERE n <= 3');
SELECT shape('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY service ORDER BY ts DESC, id) AS n FROM points) q WHERE n = 2');
SELECT shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY service, host ORDER BY ts) AS n FROM points WHERE dur > 500) q WHERE n < 3');
-- One window since 16, two before. Numbers of rows at the same time are any order's.
SELECT string_agg(line, ' ') LIKE CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN '%IForestSkip%' ELSE '%WindowAgg%WindowAgg%' END AS is_taken_as_one,
	max(line) FILTER (WHERE line LIKE 'rows:%') AS rows FROM shape('SELECT id, r, d FROM (SELECT id, rank() OVER w AS r, dense_rank() OVER w AS d, row_number() OVER (w ROWS UNBOUNDED PRECEDING) AS n
	FROM points WINDOW w AS (PARTITION BY service ORDER BY ts DESC NULLS LAST)) q WHERE r <= 5 AND n IS NOT NULL AND d < 100') AS line;
SELECT shape('SELECT * FROM (SELECT id, rank() OVER w AS r FROM points WINDOW unused AS (ORDER BY id), w AS (PARTITION BY service ORDER BY ts DESC NULLS LAST)) q WHERE r <= 5');

-- Nothing is left to sort by: the columns of the window have one value. Which plan it is depends on the version.
CREATE TABLE moments(ts timestamptz, id integer);
INSERT INTO moments SELECT timestamptz '2024-03-01' + i % 500 * interval '1 min', i FROM generate_series(1, 2000) i;
CREATE INDEX ON moments USING iforest (ts);
VACUUM ANALYZE moments;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT line FROM shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY 1::integer ORDER BY ts) AS n FROM moments WHERE ts = ''2024-03-01 01:00'') q WHERE n <= 40') AS line WHERE line LIKE 'rows:%';
SELECT line FROM shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY 1::integer ORDER BY ts DESC) AS n FROM moments WHERE ts IN (''2024-03-01 01:00'')) q WHERE n <= 20') AS line WHERE line LIKE 'rows:%';
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE moments;

-- By a value: NULLs at either end, ties of any number, conditions on it, numbers of every kind.
CREATE TABLE costs(id integer PRIMARY KEY, ts timestamptz NOT NULL, service text, host integer, n bigint, x double precision, f real, d numeric(9, 2), day date, must integer NOT NULL, note text);
INSERT INTO costs SELECT i, timestamptz '2024-03-01' + i * interval '1 min', CASE WHEN i % 41 <> 0 THEN 's' || i % 5 END, i % 3, CASE WHEN i % 7 <> 0 THEN i * 7919 % 500 END,
		CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' WHEN 4 THEN NULL ELSE i % 100 / 7.0 END, i % 50 / 3.0, i * 31 % 1000 / 100.0, date '2024-01-01' + i % 60, i % 200, 'n' || i % 10
	FROM generate_series(1, 6000) i;
CREATE INDEX costs_if ON costs USING iforest (service, host, ts) INCLUDE (n, x, f, d, day, must);
VACUUM ANALYZE costs;
SELECT shape('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY service ORDER BY n DESC NULLS LAST, id) AS place FROM costs) q WHERE place <= 3');
SELECT shape('SELECT DISTINCT ON (service) * FROM costs ORDER BY service, n DESC, id');
SELECT shape('SELECT DISTINCT ON (service, host) * FROM costs WHERE n IS NOT NULL ORDER BY service, host, n, id DESC');
SELECT shape('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY service ORDER BY n NULLS FIRST) AS place FROM costs WHERE note <> ''n3'') q WHERE place <= 20');
SELECT shape('SELECT * FROM (SELECT id, rank() OVER w AS place, dense_rank() OVER w AS step FROM costs WINDOW w AS (PARTITION BY service, host ORDER BY must DESC)) q WHERE place < 4');
SELECT v, count(*) AS queries, count(*) FILTER (WHERE of_rows LIKE '%the same') AS equal, count(*) FILTER (WHERE plan LIKE '%IForestTopK%') AS taken
	FROM unnest(ARRAY['x', 'f', 'd', 'day', 'must', 'n']) v, unnest(ARRAY['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']) o, unnest(ARRAY['true', 'ts > ''2024-03-03''', 'x > -1', 'x IS NULL', 'x = 0', 'n BETWEEN 100 AND 300', 'd < 3', 'host = 1']) c,
	LATERAL (SELECT string_agg(line, ' ') AS plan, max(line) FILTER (WHERE line LIKE 'rows:%') AS of_rows
		FROM shape(format('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY service ORDER BY %s%s) AS place FROM costs WHERE %s) q WHERE place <= 3', v, o, c)) AS line) answer
	GROUP BY 1 ORDER BY 1;
-- Neither by an expression, even one that rises with the column, as its ties are others; nor after another column.
SELECT shape('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY service ORDER BY round(d)) AS place FROM costs) q WHERE place <= 3');
SELECT shape('SELECT * FROM (SELECT id, rank() OVER (PARTITION BY service ORDER BY note, n) AS place FROM costs) q WHERE place <= 3');
SET enable_seqscan = off;
SELECT shape('SELECT h, q.* FROM generate_series(0, 3) h, LATERAL (SELECT DISTINCT ON (service) * FROM costs WHERE host = h ORDER BY service, n DESC NULLS LAST, id) q');
RESET enable_seqscan;
PREPARE most(bigint, integer) AS SELECT DISTINCT ON (service) service, n, id FROM costs WHERE n < $1 AND host = $2 ORDER BY service, n DESC, id;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE most(400, 1);
EXECUTE most(400, 1);
EXECUTE most(NULL, 1);
EXECUTE most(10, 2);
RESET plan_cache_mode;
BEGIN;
DELETE FROM costs WHERE n > 400 AND id % 3 > 0;
UPDATE costs SET n = n + 1000 WHERE id % 500 = 1;
INSERT INTO costs VALUES (30001, '2026-01-01', 's1', 2, 5000, 5, 5, 5, '2024-01-01', 300, 'new'), (30002, '2020-01-01', 'new', 2, NULL, 5, 5, 5, '2024-01-01', 300, 'new');
SELECT shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY service ORDER BY n DESC NULLS LAST) AS place FROM costs) q WHERE place <= 4');
ROLLBACK;
SELECT shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY service ORDER BY n DESC NULLS LAST) AS place FROM costs) q WHERE place <= 4');
DELETE FROM costs WHERE n > 400;
SELECT shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY service ORDER BY n DESC NULLS LAST) AS place FROM costs) q WHERE place <= 4');
VACUUM costs;
SELECT shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY service ORDER BY n DESC NULLS LAST) AS place FROM costs) q WHERE place <= 4');
DROP TABLE costs;

-- Not so: NULL times first in ascending order, other orders, groups that are no series, windows that look further.
SET iforest.explain_decline = on;
SELECT shape('SELECT DISTINCT ON (service) * FROM points ORDER BY service, ts NULLS FIRST, id');
SELECT shape('SELECT DISTINCT ON (service) * FROM points ORDER BY service, note, id');
SELECT shape('SELECT DISTINCT ON (note) * FROM points ORDER BY note, ts, id');
RESET iforest.explain_decline;
SELECT shape('SELECT DISTINCT ON (service) * FROM points WHERE random() < 2 ORDER BY service, ts, id');
SELECT shape('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY service ORDER BY ts DESC, id) AS n FROM points) q WHERE n >= 1664');
SELECT shape('SELECT * FROM (SELECT id, row_number() OVER w AS n, lead(id) OVER w AS next FROM points WINDOW w AS (PARTITION BY service ORDER BY ts DESC, id)) q WHERE n <= 2');
SELECT shape('SELECT * FROM (SELECT id, dense_rank() OVER (PARTITION BY service ORDER BY ts DESC) AS n FROM points) q WHERE n <= 2');
SELECT shape('SELECT DISTINCT ON (service) service, max(dur) FROM points GROUP BY service, host ORDER BY service, 2');

-- Below other nodes: run again with other parameters, and by a cursor.
SET enable_seqscan = off;
SELECT shape('SELECT h, q.* FROM generate_series(0, 4) h, LATERAL (SELECT DISTINCT ON (service) * FROM points WHERE host = h ORDER BY service, ts DESC, id) q');
SELECT shape('SELECT h, (SELECT sum(id) FROM (SELECT DISTINCT ON (service, host) id FROM points WHERE dur % 5 = h ORDER BY service, host, ts, id) q) FROM generate_series(0, 4) h');
RESET enable_seqscan;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT DISTINCT ON (service) service, id FROM points ORDER BY service, ts DESC NULLS LAST, id DESC;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
COMMIT;
PREPARE last(timestamptz, integer) AS SELECT DISTINCT ON (service) service, ts, id FROM points WHERE ts < $1 AND host = $2 ORDER BY service, ts DESC, id;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE last('2024-03-02', 1);
EXECUTE last('2024-03-02', 1);
EXECUTE last(NULL, 1);
EXECUTE last('2024-03-01 00:05', 4);
RESET plan_cache_mode;

-- Rows that are gone, changed, or of this transaction; pending entries and several runs.
BEGIN;
DELETE FROM points WHERE ts > '2024-03-04' AND id % 2 = 0;
UPDATE points SET ts = ts + interval '1 year', note = 'moved' WHERE id % 1000 = 1;
INSERT INTO points VALUES (30001, '2026-01-01', 'api', 2, 5, 'new'), (30002, '2026-01-01', 'api', 2, 6, 'new'), (30003, NULL, 'new', 2, 6, 'new');
SELECT shape('SELECT DISTINCT ON (service) * FROM points ORDER BY service, ts DESC NULLS LAST, id DESC');
SELECT shape('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY service ORDER BY ts DESC, id) AS n FROM points) q WHERE n <= 4');
ROLLBACK;
SELECT shape('SELECT DISTINCT ON (service) * FROM points ORDER BY service, ts DESC NULLS LAST, id DESC');
DELETE FROM points WHERE ts > '2024-03-04';
SELECT shape('SELECT DISTINCT ON (service) * FROM points WHERE ts IS NOT NULL ORDER BY service, ts DESC, id DESC');
VACUUM points;
SELECT shape('SELECT DISTINCT ON (service) * FROM points WHERE ts IS NOT NULL ORDER BY service, ts DESC, id DESC');

-- Partitions, some of them of another layout; one without rows.
CREATE TABLE parted(ts timestamp NOT NULL, host text, bytes bigint) PARTITION BY RANGE (ts);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY LIST (host);
CREATE TABLE parted_2a PARTITION OF parted_2 FOR VALUES IN ('a');
CREATE TABLE parted_2b(bytes bigint, gone integer, host text, ts timestamp NOT NULL);
ALTER TABLE parted_2b DROP gone;
ALTER TABLE parted_2 ATTACH PARTITION parted_2b DEFAULT;
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
CREATE INDEX parted_if ON parted USING iforest (host, ts) INCLUDE (bytes);
INSERT INTO parted SELECT timestamp '2024-01-01' + i * interval '1 min', (ARRAY['a', 'b', NULL])[1 + i % 3], i FROM generate_series(0, 80000) i;
VACUUM ANALYZE parted;
SELECT shape('SELECT DISTINCT ON (host) host, ts, bytes * 2 AS twice FROM parted ORDER BY host, ts DESC');
SELECT shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY host ORDER BY ts) AS n FROM parted WHERE ts > ''2024-01-30'') q WHERE n <= 2');
SELECT shape('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY host ORDER BY bytes DESC) AS n FROM parted WHERE ts > ''2024-01-30'') q WHERE n <= 2');
DROP TABLE parted;

-- Many small series are skipped over at ordinary costs, too: they share pages.
CREATE TABLE names(name text, ts bigint, dur bigint);
INSERT INTO names SELECT 'name ' || i % 5000, i, i * 7919 % 1000 FROM generate_series(1, 100000) i;
CREATE INDEX ON names USING iforest (name, ts) INCLUDE (dur);
VACUUM ANALYZE names;
RESET cpu_tuple_cost;
SELECT shape('SELECT DISTINCT ON (name) name, ts, dur FROM names ORDER BY name, ts DESC');
SET cpu_tuple_cost = 10;
DROP TABLE names;

-- Policies.
CREATE ROLE point_reader;
GRANT SELECT ON points TO point_reader;
ALTER TABLE points ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON points USING (note = 'n4');
SET ROLE point_reader;
SELECT shape('SELECT DISTINCT ON (service) * FROM points ORDER BY service, ts DESC NULLS LAST, id');
RESET ROLE;
DROP TABLE points;
DROP FUNCTION shape;
DROP ROLE point_reader;
