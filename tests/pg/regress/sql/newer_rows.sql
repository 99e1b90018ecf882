-- Rows that are newer than all that ANALYZE has seen: how many the planner takes a window to have, beside how many it has.

-- "good" where the estimate is between half and twice of what is there, else both numbers.
CREATE FUNCTION estimate(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	estimated numeric;
	actual bigint;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || question INTO plan;
	EXECUTE 'SELECT count(*) FROM (' || question || ') AS rows' INTO actual;
	estimated := plan->0->'Plan'->>'Plan Rows';
	RETURN CASE WHEN estimated BETWEEN actual / 2.0 AND actual * 2.0 THEN 'good' ELSE estimated || ' for ' || actual END;
END $$;

CREATE TABLE newer(id bigint, ts bigint, at timestamptz, day date, real float8, track int, dur int) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_newer(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO newer SELECT i, i * 10, '2026-01-01 00:00 UTC'::timestamptz + i * interval '1 second', '2026-01-01'::date + i / 100,
		i / 8.0, i % 7, i % 100 FROM generate_series(first, last) AS i;
$$;
SELECT add_newer(1, 30000);
ANALYZE newer;

-- appended to runs, and what is pending
CREATE INDEX newer_ts ON newer USING iforest (ts) INCLUDE (dur);
CREATE INDEX newer_at ON newer USING iforest (track, at) INCLUDE (dur);
CREATE INDEX newer_day ON newer USING iforest (day);
CREATE INDEX newer_real ON newer USING iforest (real);
SELECT add_newer(30001, 40000);
SELECT estimate('SELECT * FROM newer WHERE ts > 310000 AND ts <= 390000');
SELECT count(*) FROM (SELECT iforest_merge(i) FROM unnest(ARRAY['newer_ts', 'newer_at', 'newer_day', 'newer_real']::regclass[]) AS i) AS merged;
SELECT estimate('SELECT * FROM newer WHERE ts > 310000 AND ts <= 390000');
SELECT estimate('SELECT * FROM newer WHERE ts > 310000');
SELECT estimate('SELECT * FROM newer WHERE ts < 100000');
SELECT estimate('SELECT * FROM newer WHERE ts BETWEEN 250000 AND 350000');
SELECT estimate($$SELECT * FROM newer WHERE at >= '2026-01-01 09:00 UTC' AND at < '2026-01-01 10:30 UTC'$$);
SELECT estimate($$SELECT * FROM newer WHERE day >= '2026-11-10' AND day < '2027-01-20'$$);
SELECT estimate('SELECT * FROM newer WHERE real >= 4000');
SELECT estimate('SELECT * FROM (SELECT ts, track FROM newer OFFSET 0) AS n WHERE ts > 310000');
SELECT estimate('SELECT n.* FROM newer AS n JOIN newer AS m ON m.id = n.id WHERE n.ts > 310000');

-- so the index answers what would have been read row by row
EXPLAIN (COSTS OFF) SELECT count(*), sum(dur) FROM newer WHERE ts > 310000 AND ts <= 390000;

-- switched off: as PostgreSQL has it
SET iforest.enable = off;
SELECT estimate('SELECT * FROM newer WHERE ts > 310000 AND ts <= 390000');
RESET iforest.enable;

-- statistics that are new again
ANALYZE newer;
SELECT estimate('SELECT * FROM newer WHERE ts > 310000 AND ts <= 390000');
SELECT add_newer(40001, 50000);
SELECT estimate('SELECT * FROM newer WHERE ts > 410000 AND ts <= 490000');

-- statistics that are taken back: they need the newer rows again
BEGIN;
ANALYZE newer;
SELECT estimate('SELECT * FROM newer WHERE ts > 410000 AND ts <= 490000');
ROLLBACK;
SELECT estimate('SELECT * FROM newer WHERE ts > 410000 AND ts <= 490000');

-- rows at infinity say nothing of the others: behind the histogram all is as PostgreSQL has it, in it as well
INSERT INTO newer(id, at, real) VALUES(0, 'infinity', 'NaN'), (0, '-infinity', '-infinity');
SELECT estimate($$SELECT * FROM newer WHERE at >= '2026-01-01 11:30 UTC' AND at < '2026-01-01 13:00 UTC'$$);
ANALYZE newer;
SELECT add_newer(50001, 51000);
SELECT estimate('SELECT * FROM newer WHERE at < ''2026-01-01 05:00 UTC''');

-- what was there before, and comes again
DELETE FROM newer WHERE id > 1000;
VACUUM newer;
SELECT add_newer(1001, 1500);
SELECT estimate('SELECT * FROM newer WHERE ts > 5000');

-- what a scan is estimated to cost follows statistics, too: more series are more searches
CREATE FUNCTION startup_cost(question text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || question INTO plan;
	RETURN plan->0->'Plan'->>'Startup Cost';
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT startup_cost($$SELECT * FROM newer WHERE at < '2026-01-01 00:01 UTC'$$) AS before \gset
BEGIN;
ALTER TABLE newer ALTER track SET (n_distinct = 5000);
ANALYZE newer(track);
SELECT startup_cost($$SELECT * FROM newer WHERE at < '2026-01-01 00:01 UTC'$$) > 10 * :before AS costs_more;
ROLLBACK;
SELECT startup_cost($$SELECT * FROM newer WHERE at < '2026-01-01 00:01 UTC'$$) = :before AS costs_the_same;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP FUNCTION startup_cost;

-- partitions have statistics of their own
CREATE TABLE days(ts bigint, dur int) PARTITION BY RANGE (ts);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM (0) TO (100000);
CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM (100000) TO (200000);
CREATE INDEX days_ts ON days USING iforest (ts) INCLUDE (dur);
INSERT INTO days SELECT i * 10, i % 100 FROM generate_series(1, 15000) AS i;
ANALYZE days;
INSERT INTO days SELECT i * 10, i % 100 FROM generate_series(15001, 19000) AS i;
SELECT estimate('SELECT * FROM days WHERE ts > 155000');
DROP TABLE newer, days;
DROP FUNCTION estimate, add_newer;

-- after five executions the server takes a generic plan by itself, whose bounds are parameters
CREATE TABLE often(ts bigint, v bigint);
INSERT INTO often SELECT i, i % 100 FROM generate_series(1, 50000) i;
CREATE INDEX often_index ON often USING iforest (ts) INCLUDE (v);
VACUUM ANALYZE often;
PREPARE window_of(bigint, bigint) AS SELECT count(*), sum(v) FROM often WHERE ts >= $1 AND ts < $2;
EXECUTE window_of(1000, 40000);
EXECUTE window_of(1000, 40000);
EXECUTE window_of(1000, 40000);
EXECUTE window_of(1000, 40000);
EXECUTE window_of(1000, 40000);
EXECUTE window_of(2000, 40000);
EXPLAIN (COSTS off) EXECUTE window_of(3000, 40000);
EXECUTE window_of(3000, 40000);
SET iforest.enable = off;
SELECT count(*), sum(v) FROM often WHERE ts >= 3000 AND ts < 40000;
RESET iforest.enable;
DEALLOCATE window_of;
DROP TABLE often;
