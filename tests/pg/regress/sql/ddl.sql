-- An index must outlive what may be done to its table and to it. kept() says of each step: is the index whole (iforest_check with the heap
-- beside it), does it have every row, and does it answer as the table does?
CREATE FUNCTION kept(index regclass, OUT checked boolean, OUT complete boolean, OUT answered text) LANGUAGE plpgsql AS $$
DECLARE
	owner regclass := (SELECT indrelid FROM pg_index WHERE indexrelid = index);
	rows bigint;
BEGIN
	PERFORM iforest_check(index, true);
	checked := true;
	EXECUTE format('SELECT count(*) FROM %s', owner) INTO rows;
	complete := rows <= indexed(index);
	SELECT a.index_scan || ', ' || a.bitmap_scan INTO answered FROM answers(format('SELECT * FROM %s WHERE ts BETWEEN 100 AND 300', owner)) a;
END $$;
CREATE FUNCTION fill(owner regclass, first integer, last integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s(id, who, ts, v) SELECT i, i %% 5, i %% 500, i FROM generate_series(%s, %s) i', owner, first, last);
END $$;

-- Built anew, without and with others at work.
CREATE TABLE made(id integer, who integer, ts integer, v integer);
SELECT fill('made', 1, 2000);
DELETE FROM made WHERE id % 10 = 0;
CREATE INDEX CONCURRENTLY made_if ON made USING iforest (who, ts) INCLUDE (v) WITH (background_merge = off);
SELECT * FROM kept('made_if');
SELECT indexed('made_if'), count(*) FROM made;
SELECT fill('made', 2001, 2100);
REINDEX INDEX made_if;
SELECT 'reindex' AS step, * FROM kept('made_if');
REINDEX INDEX CONCURRENTLY made_if;
SELECT 'reindex concurrently' AS step, * FROM kept('made_if');
SELECT relname, indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'made'::regclass;
REINDEX TABLE made;
SELECT 'reindex table' AS step, * FROM kept('made_if');
VACUUM FULL made;
SELECT 'vacuum full' AS step, * FROM kept('made_if');
SELECT indexed('made_if'), count(*) FROM made;
CREATE INDEX made_id ON made(id DESC);
CLUSTER made USING made_id;
SELECT 'cluster' AS step, * FROM kept('made_if');
SELECT refusal('CLUSTER made USING made_if');
DROP INDEX made_id;

-- Emptied: at once, in the transaction that made it, and taken back.
TRUNCATE made;
SELECT 'truncate' AS step, * FROM kept('made_if');
SELECT runs, entries, pending_entries FROM iforest_stats('made_if');
SELECT fill('made', 1, 1000);
SELECT 'filled again' AS step, * FROM kept('made_if');
BEGIN;
TRUNCATE made;
SELECT fill('made', 1, 10);
SELECT indexed('made_if');
ROLLBACK;
SELECT 'truncate taken back' AS step, * FROM kept('made_if');
SELECT indexed('made_if');
BEGIN;
CREATE TABLE fresh(id integer, who integer, ts integer, v integer);
CREATE INDEX fresh_if ON fresh USING iforest (who, ts) INCLUDE (v);
SELECT fill('fresh', 1, 1000);
TRUNCATE fresh;
SELECT fill('fresh', 1, 700);
SELECT 'in its transaction' AS step, * FROM kept('fresh_if');
SAVEPOINT before;
SELECT fill('fresh', 701, 1400);
TRUNCATE fresh;
SELECT fill('fresh', 1, 20);
ROLLBACK TO before;
SELECT 'back to the savepoint' AS step, * FROM kept('fresh_if');
SELECT count(*) FROM fresh;
COMMIT;
SELECT 'committed' AS step, * FROM kept('fresh_if');
BEGIN;
TRUNCATE fresh;
COPY fresh(id, who, ts, v) FROM stdin WITH (FREEZE);
1	1	100	5
2	2	200	6
\.
COMMIT;
SELECT 'copy freeze' AS step, * FROM kept('fresh_if');
SELECT id FROM fresh WHERE who = 2 AND ts >= 100;
DROP TABLE fresh;

-- Filled in the transaction that emptied it: its own as much as what it made, with as many runs, and no more space.
CREATE TABLE again(id bigint, a float8, b float8, c float8, d float8, e float8, f float8);
CREATE INDEX again_if ON again USING iforest (id) INCLUDE (a, b, c, d, e, f) WITH (pending_pages = 2);
BEGIN;
TRUNCATE again;
INSERT INTO again SELECT i::bigint * 7919 % 1000003, i, i, i, i, i, i FROM generate_series(1, 60000) i;
CREATE TABLE made_now(LIKE again);
CREATE INDEX made_now_if ON made_now USING iforest (id) INCLUDE (a, b, c, d, e, f) WITH (pending_pages = 2);
INSERT INTO made_now SELECT * FROM again;
SELECT a.runs = m.runs AS runs, a.total_pages = m.total_pages AS pages FROM iforest_stats('again_if') a, iforest_stats('made_now_if') m;
COMMIT;
SELECT iforest_check('again_if', true);
DROP TABLE again, made_now;

-- Rows that a transaction or a savepoint takes back are in the index until a vacuum, and in no answer.
SELECT indexed('made_if');
BEGIN;
SELECT fill('made', 5001, 5100);
ROLLBACK;
SELECT indexed('made_if'), count(*) FROM made;
SELECT 'rolled back' AS step, * FROM kept('made_if');
VACUUM made;
SELECT indexed('made_if');
BEGIN;
SELECT fill('made', 6001, 6050);
PREPARE TRANSACTION 'two phases';
SELECT count(*) FROM made WHERE id > 6000;
COMMIT PREPARED 'two phases';
SELECT count(*) FROM made WHERE id > 6000;
SELECT 'prepared' AS step, * FROM kept('made_if');

-- Columns come, change and go.
ALTER TABLE made ADD COLUMN extra text DEFAULT 'x';
SELECT 'column added' AS step, * FROM kept('made_if');
ALTER TABLE made DROP COLUMN id;
SELECT 'column before ours dropped' AS step, * FROM kept('made_if');
ALTER TABLE made RENAME COLUMN who TO service;
ALTER TABLE made RENAME COLUMN v TO dur;
SELECT 'renamed' AS step, * FROM kept('made_if');
ALTER TABLE made ALTER COLUMN ts TYPE bigint;
SELECT 'time widened' AS step, * FROM kept('made_if');
ALTER TABLE made ALTER COLUMN service TYPE text USING 'service ' || service;
SELECT 'by column of another type' AS step, * FROM kept('made_if');
SELECT refusal('ALTER TABLE made ALTER COLUMN ts TYPE numeric');
SELECT refusal('ALTER TABLE made ALTER COLUMN dur TYPE text USING dur::text');
REINDEX TABLE made;
ALTER INDEX made_if RENAME TO made_other_if;
ALTER TABLE made RENAME TO made_other;
SELECT 'index and table renamed' AS step, * FROM kept('made_other_if');
ALTER TABLE made_other DROP COLUMN dur;
SELECT count(*) FROM pg_class WHERE relname = 'made_other_if';
DROP TABLE made_other;

-- Logged, unlogged, temporary.
CREATE UNLOGGED TABLE quick(id integer, who integer, ts integer, v integer);
CREATE INDEX quick_if ON quick USING iforest (who, ts) INCLUDE (v);
SELECT fill('quick', 1, 3000);
SELECT 'unlogged' AS step, * FROM kept('quick_if');
ALTER TABLE quick SET LOGGED;
SELECT 'logged' AS step, * FROM kept('quick_if');
ALTER TABLE quick SET UNLOGGED;
SELECT 'unlogged again' AS step, * FROM kept('quick_if');
SELECT iforest_merge('quick_if', true);
SELECT 'merged' AS step, * FROM kept('quick_if');
DROP TABLE quick;
CREATE TEMP TABLE brief(id integer, who integer, ts integer, v integer) ON COMMIT DELETE ROWS;
CREATE INDEX brief_if ON brief USING iforest (who, ts) INCLUDE (v);
BEGIN;
SELECT fill('brief', 1, 3000);
SELECT 'temporary' AS step, * FROM kept('brief_if');
COMMIT;
SELECT indexed('brief_if');
BEGIN;
SELECT fill('brief', 1, 10);
SELECT 'temporary, again' AS step, * FROM kept('brief_if');
COMMIT;
DROP TABLE brief;

-- Of some rows, and of expressions.
CREATE TABLE part(id integer, who integer, ts integer, v integer);
SELECT fill('part', 1, 1000);
CREATE INDEX part_if ON part USING iforest (who, ts) WHERE v > 900;
-- From 18 on the server leaves the table's number unknown where autovacuum is off.
SELECT relname, reltuples IN (1000, -1) AS of_all, reltuples = 100 AS of_some FROM pg_class WHERE relname IN ('part', 'part_if') ORDER BY 1;
SELECT fill('part', 1001, 1100);
SELECT indexed('part_if');
SELECT a.* FROM answers('SELECT id FROM part WHERE who = 1 AND v > 900') a;
SELECT a.* FROM answers('SELECT id FROM part WHERE who = 1 AND v > 800') a;
SELECT iforest_check('part_if', true);
CREATE INDEX part_scaled_if ON part USING iforest ((who % 2), (ts * 10::bigint));
SELECT a.* FROM answers('SELECT id FROM part WHERE who % 2 = 1 AND ts * 10::bigint BETWEEN 500 AND 900') a;
SELECT fill('part', 1101, 1200);
SELECT a.* FROM answers('SELECT id FROM part WHERE who % 2 = 1 AND ts * 10::bigint BETWEEN 500 AND 900') a;
SELECT iforest_check('part_scaled_if', true);
SELECT refusal('CREATE INDEX ON part USING iforest (ts) INCLUDE ((v * 2))');
DROP TABLE part;

-- Partitions, with their indexes made, attached and taken off.
CREATE TABLE days(id integer, who integer, ts integer, v integer) PARTITION BY RANGE (ts);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM (0) TO (200);
CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM (200) TO (400);
CREATE INDEX days_1_if ON days_1 USING iforest (who, ts) INCLUDE (v);
CREATE INDEX days_2_if ON days_2 USING iforest (who, ts) INCLUDE (v);
CREATE INDEX days_if ON days USING iforest (who, ts) INCLUDE (v);
CREATE TABLE days_3(id integer, who integer, ts integer, v integer);
CREATE INDEX days_3_if ON days_3 USING iforest (who, ts) INCLUDE (v);
CREATE TABLE days_rest(v integer, ts integer, who integer, id integer);
CREATE INDEX days_rest_if ON days_rest USING iforest (who, ts) INCLUDE (v);
SELECT fill('days_3', 400, 449);
ALTER TABLE days ATTACH PARTITION days_3 FOR VALUES FROM (400) TO (450);
ALTER TABLE days ATTACH PARTITION days_rest DEFAULT;
SELECT fill('days', 1, 2000);
SELECT c.relname, i.relname AS index, indexed(i.oid) AS rows, a.amname FROM pg_inherits h JOIN pg_class i ON i.oid = h.inhrelid
JOIN pg_index x ON x.indexrelid = i.oid JOIN pg_class c ON c.oid = x.indrelid JOIN pg_am a ON a.oid = i.relam
WHERE h.inhparent = 'days_if'::regclass ORDER BY 1;
SELECT question, a.* FROM (VALUES
	('SELECT id FROM days WHERE who = 1 AND ts BETWEEN 150 AND 470'), ('SELECT who, ts FROM days WHERE ts BETWEEN 190 AND 210 ORDER BY who, ts')) v(question),
	answers(question) a;
UPDATE days SET ts = ts + 200 WHERE ts < 100 AND who = 2;
SELECT 'moved from one to another' AS step, * FROM kept('days_3_if');
ALTER TABLE days DETACH PARTITION days_3;
SELECT 'detached' AS step, * FROM kept('days_3_if');
SELECT refusal('DROP INDEX days_1_if');
SELECT refusal('SELECT iforest_merge(''days_if'')');
SELECT refusal('SELECT iforest_stats(''days_if'')');
SELECT refusal('SELECT iforest_check(''days_if'')');
DROP TABLE days, days_3;

-- Rows that go to many partitions in turn: what a session knows of the series of each is kept, not read again, 60 pages, for each row.
CREATE TABLE spread(part integer, who text, ts integer) PARTITION BY LIST (part);
DO $$ BEGIN
	FOR i IN 0 .. 19 LOOP
		EXECUTE format('CREATE TABLE spread_%s PARTITION OF spread FOR VALUES IN (%s)', i, i);
	END LOOP;
END $$;
CREATE INDEX spread_if ON spread USING iforest (who, ts);
INSERT INTO spread SELECT i % 20, repeat('long ', 190) || i / 20, i FROM generate_series(0, 9999) i;
CREATE FUNCTION blocks_of(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || statement INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks';
END $$;
SELECT blocks_of($$INSERT INTO spread SELECT i % 20, repeat('long ', 190) || i / 20, i FROM generate_series(0, 999) i$$) / 1000 < 40 AS few_blocks_a_row;
DROP TABLE spread;
DROP FUNCTION blocks_of;

-- Moved to another tablespace.
CREATE TABLE moving(id integer, who integer, ts integer, v integer);
CREATE INDEX moving_if ON moving USING iforest (who, ts) INCLUDE (v);
SELECT fill('moving', 1, 3000);
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE iforest_elsewhere LOCATION '';
ALTER INDEX moving_if SET TABLESPACE iforest_elsewhere;
SELECT 'moved' AS step, * FROM kept('moving_if');
SELECT fill('moving', 3001, 6000);
REINDEX (TABLESPACE pg_default) INDEX moving_if;
SELECT 'moved back' AS step, * FROM kept('moving_if');
DROP TABLE moving;

-- What a transaction added to the copy that it made goes with it: also from what the session knows of the series.
CREATE TABLE stayed(id integer, who text, ts integer);
CREATE INDEX stayed_if ON stayed USING iforest (who, ts);
INSERT INTO stayed VALUES (1, 'a', 100);
BEGIN;
ALTER INDEX stayed_if SET TABLESPACE iforest_elsewhere;
INSERT INTO stayed VALUES (2, 'b', 200);
ROLLBACK;
INSERT INTO stayed VALUES (3, 'b', 300);
\connect -
INSERT INTO stayed VALUES (4, 'c', 300);
SELECT a.* FROM answers('SELECT id FROM stayed WHERE who = ''b'' AND ts BETWEEN 100 AND 300') a;
SELECT iforest_check('stayed_if', true);
DROP TABLE stayed;
DROP TABLESPACE iforest_elsewhere;

-- A plan that was kept goes on when its index is gone, made invalid or made anew.
CREATE TABLE planned(id integer, who integer, ts integer, v integer);
SELECT fill('planned', 1, 1000);
CREATE INDEX planned_if ON planned USING iforest (who, ts);
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE ask(integer) AS SELECT count(*), sum(id) FROM planned WHERE who = 1 AND ts > $1;
EXECUTE ask(100);
DROP INDEX planned_if;
EXECUTE ask(100);
CREATE INDEX planned_if ON planned USING iforest (who, ts);
EXECUTE ask(100);
REINDEX INDEX planned_if;
EXECUTE ask(100);
TRUNCATE planned;
EXECUTE ask(100);
SELECT fill('planned', 1, 1000);
EXECUTE ask(100);
DEALLOCATE ask;
RESET plan_cache_mode;
RESET enable_seqscan;
DROP TABLE planned;

-- Nothing stays behind.
CREATE TABLE left_over(id integer, who integer, ts integer, v integer);
CREATE INDEX left_over_if ON left_over USING iforest (who, ts);
SELECT refusal('DROP ACCESS METHOD iforest');
SELECT refusal('DROP EXTENSION iforest');
BEGIN;
DROP EXTENSION iforest CASCADE;
SELECT count(*) FROM pg_class WHERE relname = 'left_over_if';
ROLLBACK;
SELECT fill('left_over', 1, 100);
SELECT * FROM kept('left_over_if');
DROP INDEX left_over_if;
DROP EXTENSION iforest;
SELECT count(*) FROM pg_proc WHERE proname ~ '^iforest_';
SELECT count(*) FROM pg_am WHERE amname = 'iforest';
CREATE EXTENSION iforest;
CREATE SCHEMA apart;
SELECT refusal('ALTER EXTENSION iforest SET SCHEMA apart');
CREATE INDEX left_over_if ON left_over USING iforest (who, ts);
SELECT * FROM kept('left_over_if');
DROP TABLE left_over;
DROP SCHEMA apart;
DROP FUNCTION kept, fill;
