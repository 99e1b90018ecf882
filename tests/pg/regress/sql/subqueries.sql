-- Aggregates over a table within subqueries and CTEs that hand on its rows: what becomes of privileges, policies, parameters
-- and plans that are kept.
SET TimeZone = 'UTC';
SET DateStyle = ISO;
CREATE TABLE sourced(id integer PRIMARY KEY, ts timestamptz NOT NULL, service text, dur integer, note text);
INSERT INTO sourced SELECT i, timestamptz '2024-03-01' + i * interval '1 min', (ARRAY['api', 'db', 'web'])[1 + i % 3], i % 1000, 'n'
	FROM generate_series(1, 20000) i;
CREATE INDEX sourced_if ON sourced USING iforest (service, ts) INCLUDE (dur);
VACUUM ANALYZE sourced;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;

-- A parameter in OFFSET is known where a plan is made for its value.
PREPARE counted(timestamptz, bigint) AS SELECT count(*), sum(dur) FROM (SELECT id, dur FROM sourced WHERE ts < $1 OFFSET $2) AS sub;
EXPLAIN (COSTS OFF) EXECUTE counted('2024-03-02', 0);
EXECUTE counted('2024-03-02', 0);
EXECUTE counted('2024-03-02', NULL);
EXECUTE counted('2024-03-02', 1439);
SET plan_cache_mode = force_generic_plan;
SET iforest.explain_decline = on;
EXECUTE counted('2024-03-02', 0);
RESET iforest.explain_decline;
RESET plan_cache_mode;

-- What limits, locks, groups or repeats rows is a question of its own.
SELECT count(*) FROM (SELECT id FROM sourced LIMIT 7) AS sub;
SELECT count(*) FROM (SELECT id FROM sourced ORDER BY id LIMIT 7 OFFSET 0) AS sub;
SELECT count(*) FROM (SELECT id FROM sourced OFFSET 19990) AS sub;
SELECT count(*), sum(n) FROM (SELECT service, generate_series(1, 2) AS n FROM sourced OFFSET 0) AS sub;
SELECT count(*) FROM (SELECT DISTINCT service FROM sourced OFFSET 0) AS sub;
SELECT count(*), max(n) FROM (SELECT row_number() OVER (ORDER BY id) AS n FROM sourced OFFSET 0) AS sub;
SELECT count(*) FROM (SELECT a.id FROM sourced a JOIN sourced b USING (id) OFFSET 0) AS sub;
BEGIN;
SELECT count(*) FROM (SELECT id FROM sourced WHERE ts < '2024-03-01 01:00' FOR UPDATE) AS sub;
SELECT count(*) > 0 AS locked FROM pg_locks WHERE relation = 'sourced'::regclass AND mode = 'RowShareLock';
ROLLBACK;

-- The condition above sees what the one below leaves: no division by zero.
SELECT count(*), min(100 / dur) FROM (SELECT dur FROM sourced WHERE dur > 0 OFFSET 0) AS sub WHERE 100 / dur >= 0;
SELECT service, count(*) FROM (SELECT service, length(service) - 2 AS n FROM sourced WHERE service <> 'db' OFFSET 0) AS sub WHERE 1 / n = 1 GROUP BY 1 ORDER BY 1;

-- Parameters of levels further out.
SELECT d, (SELECT count(*) FROM (SELECT ts, dur FROM sourced WHERE dur = d OFFSET 0) AS sub WHERE ts < '2024-03-03') AS n FROM generate_series(1, 3) AS d;
SELECT d, n FROM generate_series(1, 3) AS d, LATERAL (WITH c AS MATERIALIZED (SELECT ts FROM sourced WHERE dur = d) SELECT count(*) AS n FROM c WHERE ts < '2024-03-03') AS q;
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT count(*) FROM c;

-- Privileges are those on the table; a plan that is kept is made anew.
CREATE ROLE source_reader;
GRANT SELECT (id, dur) ON sourced TO source_reader;
SET ROLE source_reader;
SELECT count(*), sum(dur) FROM (SELECT dur FROM sourced OFFSET 0) AS sub;
SELECT count(*) FROM (SELECT service FROM sourced OFFSET 0) AS sub;
SELECT count(*) FROM (SELECT dur, ts FROM sourced ORDER BY ts) AS sub;
WITH c AS MATERIALIZED (SELECT service FROM sourced) SELECT count(*) FROM c;
RESET ROLE;
REVOKE SELECT (id, dur) ON sourced FROM source_reader;
PREPARE kept AS SELECT count(*), sum(dur)::numeric::bigint FROM (SELECT dur FROM sourced OFFSET 0) AS sub;
SET plan_cache_mode = force_generic_plan;
EXECUTE kept;
SET ROLE source_reader;
EXECUTE kept;
RESET ROLE;
ALTER TABLE sourced ALTER dur TYPE numeric(9,1);
EXECUTE kept;
DROP INDEX sourced_if;
EXECUTE kept;
RESET plan_cache_mode;

-- Policies: what leaks may not be asked of rows that they hide.
CREATE INDEX sourced_if ON sourced USING iforest (service, ts) INCLUDE (dur);
ALTER TABLE sourced ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON sourced USING (service = 'db');
GRANT SELECT ON sourced TO source_reader;
CREATE FUNCTION tell(x text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE 'told %', x; RETURN true; END $$;
SET ROLE source_reader;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT service, ts FROM sourced OFFSET 0) AS sub WHERE ts < '2024-03-02';
SELECT count(*) FROM (SELECT service, ts FROM sourced OFFSET 0) AS sub WHERE ts < '2024-03-02';
SET iforest.explain_decline = on;
SELECT count(*) FROM (SELECT service, ts FROM sourced WHERE ts < '2024-03-01 00:04' OFFSET 0) AS sub WHERE tell(service);
RESET iforest.explain_decline;
RESET ROLE;
DROP TABLE sourced;
DROP FUNCTION tell;
DROP ROLE source_reader;
