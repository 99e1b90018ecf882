-- The memory that a session keeps, for its scans and of the manifests of indexes: who has it, and that it is taken back when cursors close, and when errors end what had it.
CREATE TABLE held(series integer, ts bigint, v bigint);
CREATE INDEX held_if ON held USING iforest (series, ts) INCLUDE (v) WITH (pending_pages = 1, background_merge = off);
INSERT INTO held SELECT i % 8, i, i % 1000 FROM generate_series(1, 30000) i;
INSERT INTO held SELECT i % 8, i, i % 1000 FROM generate_series(30001, 33000) i;
INSERT INTO held SELECT i % 8, i, i % 1000 FROM generate_series(33001, 33500) i;
VACUUM ANALYZE held;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;

CREATE VIEW kept AS SELECT CASE WHEN used_bytes > 8192 THEN 'in use' ELSE 'idle' END AS state, total_bytes BETWEEN 400000 AND 800000 AS is_bounded
	FROM pg_backend_memory_contexts WHERE name = 'iforest scans';
-- "right" if the index answers what the table does
CREATE FUNCTION right_or_wrong(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	gather text := format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question);
	expected text[];
	actual text[];
BEGIN
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE gather INTO expected;
	PERFORM set_config('iforest.enable', 'on', true);
	EXECUTE gather INTO actual;
	RETURN CASE WHEN actual IS NOT DISTINCT FROM expected THEN 'right' ELSE 'wrong' END;
END
$$;

EXPLAIN (COSTS OFF) SELECT count(*), sum(v), max(v) FROM held WHERE series = 3 AND ts BETWEEN 29000 AND 33100;
SELECT right_or_wrong('SELECT count(*), sum(v), max(v) FROM held WHERE series = 3 AND ts BETWEEN 29000 AND 33100');
SELECT * FROM kept;

-- An open cursor has it; questions beside it have memory of their own.
BEGIN;
DECLARE first_cursor CURSOR FOR SELECT series, count(*), sum(v) FROM held WHERE ts > 1000 GROUP BY series;
FETCH 1 FROM first_cursor;
SELECT * FROM kept;
SELECT right_or_wrong('SELECT series, count(*), min(v), max(v) FROM held WHERE ts < 33000 GROUP BY series');
DECLARE second_cursor CURSOR FOR SELECT series, min(ts), max(ts) FROM held WHERE v > 10 GROUP BY series;
FETCH 1 FROM second_cursor;
CLOSE first_cursor;
SELECT * FROM kept;
SELECT right_or_wrong('SELECT series, count(*), min(v), max(v) FROM held WHERE ts < 33000 GROUP BY series');
FETCH ALL FROM second_cursor;
COMMIT;
SELECT * FROM kept;

-- Several scans in one plan, one after the other and one within the other.
SELECT right_or_wrong('SELECT count(*), sum(v) FROM held WHERE ts < 500 UNION ALL SELECT count(*), sum(v) FROM held WHERE ts > 500');
SELECT right_or_wrong('SELECT * FROM generate_series(1, 9) s, LATERAL (SELECT count(*), sum(v) FROM held WHERE series = s AND ts < 100 * s
	AND ts > (SELECT min(ts) + s FROM held WHERE series = 2)) answer');
SELECT * FROM kept;

-- An error ends what had it: a statement,
SELECT 1 / (count(*) - 33500) FROM held;
SELECT * FROM kept;
SELECT right_or_wrong('SELECT count(*), sum(v), max(v) FROM held WHERE series = 3 AND ts BETWEEN 29000 AND 33100');
-- a transaction with a cursor,
BEGIN;
DECLARE failing CURSOR FOR SELECT series, count(*), sum(v) FROM held WHERE ts > 1000 GROUP BY series;
FETCH 1 FROM failing;
SELECT * FROM kept;
SELECT 1 / 0;
ROLLBACK;
SELECT * FROM kept;
-- a savepoint,
BEGIN;
SAVEPOINT before_cursor;
DECLARE failing CURSOR FOR SELECT series, count(*), sum(v) FROM held WHERE ts > 1000 GROUP BY series;
FETCH 1 FROM failing;
SELECT * FROM kept;
ROLLBACK TO before_cursor;
SELECT * FROM kept;
SELECT right_or_wrong('SELECT series, count(*), sum(v) FROM held WHERE ts > 1000 GROUP BY series');
COMMIT;
-- a block of a function, alone and while a cursor that is open outside of it has the memory.
CREATE FUNCTION fails() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 / (count(*) - 33500) FROM held;
	RETURN 'no error';
EXCEPTION WHEN division_by_zero THEN
	RETURN right_or_wrong('SELECT series, count(*), sum(v) FROM held WHERE ts > 1000 GROUP BY series');
END
$$;
SELECT fails();
SELECT * FROM kept;
BEGIN;
DECLARE survivor CURSOR FOR SELECT series, count(*), sum(v) FROM held WHERE ts > 1000 GROUP BY series;
FETCH 1 FROM survivor;
SELECT fails();
SELECT * FROM kept;
FETCH ALL FROM survivor;
COMMIT;
SELECT * FROM kept;

-- More indexes than a session caches manifests of: each is answered, whether its manifest is cached, evicted or changed, and the
-- manifests cached stay as few as they may be.
CREATE TABLE many(part integer, ts bigint, v bigint) PARTITION BY LIST (part);
DO $$ BEGIN FOR i IN 1..90 LOOP EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES IN (%s)', i, i); END LOOP; END $$;
CREATE INDEX many_if ON many USING iforest (ts) INCLUDE (v) WITH (pending_pages = 1, background_merge = off);
INSERT INTO many SELECT 1 + i % 90, i, i % 1000 FROM generate_series(1, 30000) i;
CREATE VIEW cached AS SELECT count(*) BETWEEN 40 AND 64 AS is_bounded FROM pg_backend_memory_contexts WHERE name = 'iforest manifest';
SELECT right_or_wrong('SELECT count(*), sum(v), max(v) FROM many WHERE ts > 5000');
SELECT * FROM cached;
INSERT INTO many SELECT 1 + i % 60, i, 7 FROM generate_series(30001, 60000) i;
SELECT right_or_wrong('SELECT count(*), sum(v), max(v) FROM many WHERE ts > 5000');
SELECT right_or_wrong('SELECT part, count(*), sum(v) FROM many WHERE part % 7 = 0 AND ts BETWEEN 100 AND 40000 GROUP BY part');
DO $$ BEGIN FOR i IN 1..90 BY 3 LOOP EXECUTE format('REINDEX TABLE many_%s', i); END LOOP; END $$;
SELECT right_or_wrong('SELECT count(*), sum(v), max(v) FROM many WHERE ts > 5000');
SELECT * FROM cached;
DROP VIEW cached;
DROP TABLE many;

DROP VIEW kept;
DROP FUNCTION fails(), right_or_wrong(text);
DROP TABLE held;
