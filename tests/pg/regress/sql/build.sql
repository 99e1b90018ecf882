-- CREATE INDEX by several processes: the answers are those of the table, as with one. Of rows that come late one process alone makes a second
-- run where there are no by columns, and several do not: that shows how many there were.
SET client_min_messages = warning;
CREATE TABLE built(id integer, who text, ts bigint, took bigint, load real) WITH (autovacuum_enabled = off, parallel_workers = 2);
INSERT INTO built SELECT i, CASE WHEN i % 50 > 0 THEN 'host ' || i % 37 END,
	CASE WHEN i % 101 > 0 THEN i * 10 + i * 7919 % 2000 - CASE WHEN i % 500 = 0 THEN 100000 ELSE 0 END END,
	CASE WHEN i % 7 > 0 THEN i % 1000 END, i / 8.0 FROM generate_series(1, 30000) i;
DELETE FROM built WHERE id % 11 = 0;
UPDATE built SET took = took + 1 WHERE id % 13 = 0;

CREATE INDEX built_if ON built USING iforest (ts) INCLUDE (took, load);

-- What was built: its entries and runs, whether it is sound, and how plans that use it answer.
CREATE FUNCTION alike(question text) RETURNS text LANGUAGE plpgsql SET enable_seqscan FROM CURRENT SET enable_indexscan FROM CURRENT
	SET enable_bitmapscan FROM CURRENT AS $$
DECLARE
	gather text := format('SELECT string_agg(a::text, '','' ORDER BY a::text) FROM (%s) a', question);
	expected text;
	actual text;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true);
	EXECUTE gather INTO actual;
	PERFORM set_config('iforest.enable', 'off', true), set_config('enable_seqscan', 'on', true),
		set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE gather INTO expected;
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN CASE WHEN actual IS NOT DISTINCT FROM expected THEN 'same' ELSE 'different' END;
END $$;
CREATE VIEW verdict AS SELECT entries, runs, iforest_check('built_if'::text::regclass, true)::text AS wrong,
	alike('SELECT who, count(*), sum(took), max(load), min(ts) FROM built WHERE ts >= 1000 AND ts < 250000 GROUP BY who') AS groups,
	alike('SELECT count(*), sum(took), max(load) FROM built WHERE ts >= 77') AS sums,
	(SELECT index_scan FROM answers('SELECT * FROM built WHERE who = ''host 5'' AND ts BETWEEN 5000 AND 200000 ORDER BY ts, id')) AS scan
	FROM iforest_stats('built_if'::text::regclass);

SET max_parallel_maintenance_workers = 0;
REINDEX INDEX built_if;
SELECT * FROM verdict;
SET max_parallel_maintenance_workers = 2;
REINDEX INDEX built_if;
SELECT * FROM verdict;
DROP INDEX built_if;
CREATE INDEX built_if ON built USING iforest (who, ts) INCLUDE (took, load) WITH (duration = took, sketch = took);
SELECT * FROM verdict;
DROP INDEX built_if;
-- Of a part of the table, and of an expression.
CREATE INDEX built_if ON built USING iforest (lower(who), ts) INCLUDE (took, load) WHERE id > 500;
SELECT * FROM verdict;
DROP INDEX built_if;
-- A function that may not run in a worker is computed by one process.
CREATE FUNCTION only_here(ts bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN ts + 1; END';
CREATE INDEX built_if ON built USING iforest (only_here(ts)) INCLUDE (took, load);
SELECT * FROM verdict;
DROP INDEX built_if;

-- Concurrently.
CREATE INDEX CONCURRENTLY built_if ON built USING iforest (ts) INCLUDE (took, load);
SELECT * FROM verdict;
REINDEX INDEX CONCURRENTLY built_if;
SELECT * FROM verdict;
DROP INDEX built_if;

-- In the transaction that wrote the rows, some of which were taken back or changed since.
BEGIN;
INSERT INTO built SELECT i, 'new', i, i, i FROM generate_series(30001, 31000) i;
SAVEPOINT s;
INSERT INTO built SELECT i, 'newer', i, i, i FROM generate_series(31001, 32000) i;
ROLLBACK TO s;
UPDATE built SET took = 5 WHERE id > 30900;
CREATE INDEX built_if ON built USING iforest (who, ts) INCLUDE (took, load);
SELECT * FROM verdict;
COMMIT;
DROP INDEX built_if;

-- An error of a worker is the error of the command.
UPDATE built SET who = repeat('long ', 250) WHERE id IN (29990, 15001, 3);
\set SHOW_CONTEXT never
CREATE INDEX built_if ON built USING iforest (who, ts);
\set SHOW_CONTEXT errors
TRUNCATE built;
CREATE INDEX built_if ON built USING iforest (who, ts) INCLUDE (took, load);
SELECT * FROM verdict;
DROP VIEW verdict;
DROP TABLE built;
DROP FUNCTION alike, only_here;
