-- What a transaction sees through the Custom Scan: its own changes, what it took back, what its cursors and functions have begun with.
CREATE TABLE seen(id integer, who text, ts integer, dur integer);
INSERT INTO seen SELECT i, 'who ' || i % 3, i, i % 10 FROM generate_series(1, 2000) i;
CREATE INDEX seen_if ON seen USING iforest (who, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 1);
VACUUM ANALYZE seen;
SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT who, count(*) FROM seen GROUP BY who;

-- Does the index answer these, and as the table does?
CREATE FUNCTION agrees(OUT n bigint, OUT total bigint, OUT is_taken boolean, OUT is_same boolean) LANGUAGE plpgsql AS $$
DECLARE
	question text;
	expected text;
	actual text;
	line text;
BEGIN
	is_same := true;
	FOREACH question IN ARRAY ARRAY['SELECT who, count(*), sum(dur), min(ts), max(dur) FROM seen GROUP BY who',
			'SELECT who, ts / 100, count(*), sum(dur) FROM seen WHERE ts > 50 GROUP BY 1, 2', 'SELECT count(*), sum(dur) FROM seen',
			'SELECT who, count(*) FROM seen WHERE dur BETWEEN 3 AND 7 GROUP BY who'] LOOP
		is_taken := false;
		FOR line IN EXECUTE 'EXPLAIN ' || question LOOP
			is_taken := is_taken OR line ~ 'IForestAggregate';
		END LOOP;
		EXECUTE format('SELECT string_agg(q::text, %L ORDER BY q::text) FROM (%s) q', E'\n', question) INTO actual;
		SET LOCAL iforest.enable = off;
		EXECUTE format('SELECT string_agg(q::text, %L ORDER BY q::text) FROM (%s) q', E'\n', question) INTO expected;
		SET LOCAL iforest.enable = on;
		is_same := is_same AND is_taken AND actual IS NOT DISTINCT FROM expected;
	END LOOP;
	SELECT count(*), sum(dur) FROM seen INTO n, total;
END $$;
SELECT * FROM agrees();

-- Own changes, savepoints, errors that are caught.
BEGIN;
INSERT INTO seen SELECT i, 'new', i, 1 FROM generate_series(1, 300) i;
SELECT * FROM agrees();
SAVEPOINT one;
DELETE FROM seen WHERE who = 'who 1';
UPDATE seen SET dur = dur + 100 WHERE who = 'new';
SELECT * FROM agrees();
SAVEPOINT two;
UPDATE seen SET id = -id WHERE id % 7 = 0;
INSERT INTO seen SELECT i, 'newer', i, 1 FROM generate_series(1, 300) i;
SELECT * FROM agrees();
ROLLBACK TO two;
SELECT * FROM agrees();
ROLLBACK TO one;
SELECT * FROM agrees();
DO $$
BEGIN
	DELETE FROM seen;
	ASSERT (SELECT count(*) FROM seen WHERE ts > 0) = 0;
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
	ASSERT (SELECT count(*) FROM seen WHERE ts > 0) = 2300;
END $$;
SELECT * FROM agrees();
ROLLBACK;
SELECT * FROM agrees();

-- A statement does not see what itself does.
BEGIN;
WITH added AS (INSERT INTO seen VALUES (1, 'who 1', 1, 1000) RETURNING who) SELECT who, count(*), (SELECT count(*) FROM added) FROM seen GROUP BY who ORDER BY who;
INSERT INTO seen SELECT count(*), who, 0, 7 FROM seen GROUP BY who;
SELECT who, count(*), max(id) FILTER (WHERE ts = 0) AS plain FROM seen GROUP BY who ORDER BY who;
DELETE FROM seen WHERE ts < (SELECT max(s.ts) FROM seen s) - 100;
SELECT * FROM agrees();
-- a volatile function sees it, the query that calls it does not
CREATE FUNCTION add_one() RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen VALUES (1, 'who 1', 1000, 0);
	RETURN (SELECT count(*) FROM seen);
END $$;
CREATE FUNCTION number() RETURNS bigint STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM seen); END $$;
SELECT add_one() - min(n) AS more, number() - min(n) AS less FROM (SELECT count(*) AS n FROM seen OFFSET 0) q, generate_series(1, 2) GROUP BY ();
SELECT i, add_one() - number() AS behind, (SELECT count(*) FROM seen WHERE ts > i) - number() AS same FROM generate_series(-3, -1) i;
ROLLBACK;

-- Cursors show what was there when they were opened.
BEGIN;
DECLARE early CURSOR FOR SELECT who, count(*), sum(dur) FROM seen GROUP BY who ORDER BY who;
DELETE FROM seen WHERE who = 'who 1';
DECLARE later SCROLL CURSOR WITH HOLD FOR SELECT who, count(*), sum(dur) FROM seen GROUP BY who ORDER BY who;
SAVEPOINT s;
INSERT INTO seen SELECT i, 'new', i, 1 FROM generate_series(1, 300) i;
FETCH 2 FROM early;
ROLLBACK TO s;
FETCH ALL FROM early;
FETCH 1 FROM later;
DELETE FROM seen WHERE who = 'who 0';
COMMIT;
FETCH ALL FROM later;
FETCH BACKWARD ALL FROM later;
CLOSE later;
VACUUM seen;
SELECT * FROM agrees();
INSERT INTO seen SELECT i, 'who ' || i % 2, i, i % 10 FROM generate_series(1, 2000) i;
SELECT * FROM agrees();

-- Loops over an answer, that change what was asked.
DO $$
DECLARE
	part record;
	n integer := 0;
BEGIN
	FOR part IN SELECT who, count(*) AS rows FROM seen GROUP BY who LOOP
		INSERT INTO seen SELECT i, part.who, -i, 1 FROM generate_series(1, 100) i;
		ASSERT (SELECT count(*) FROM seen WHERE who = part.who) = part.rows + 100;
		n := n + 1;
	END LOOP;
	ASSERT n = 3;
	FOR i IN 1 .. 20 LOOP
		ASSERT (SELECT count(*) FROM seen WHERE ts < 0 AND ts >= -i) = 3 * i;
		DELETE FROM seen WHERE ts = -200;
	END LOOP;
END $$;
CREATE PROCEDURE work_off() LANGUAGE plpgsql AS $$
DECLARE
	part record;
BEGIN
	FOR part IN SELECT who, count(*) AS rows FROM seen GROUP BY who ORDER BY who LOOP
		DELETE FROM seen WHERE who = part.who AND ts < 0;
		COMMIT;
		ASSERT (SELECT count(*) FROM seen WHERE who = part.who) = part.rows - 100;
		DELETE FROM seen;
		ASSERT (SELECT count(*) FROM seen WHERE ts > 0) = 0;
		ROLLBACK;
	END LOOP;
END $$;
CALL work_off();
SELECT * FROM agrees();

-- A trigger asks while a statement is at work; after it, it sees all that the statement did.
CREATE TABLE noted(at text, n bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO noted SELECT TG_WHEN || ' ' || TG_LEVEL, count(*) FROM seen WHERE who = 'noted'; RETURN NEW; END $$;
CREATE TRIGGER before_rows BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER after_rows AFTER INSERT ON seen FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER after_all AFTER INSERT ON seen FOR EACH STATEMENT EXECUTE FUNCTION note();
BEGIN;
INSERT INTO seen SELECT i, 'noted', i, 0 FROM generate_series(1, 3) i;
SELECT * FROM noted;
ROLLBACK;
DROP TRIGGER before_rows ON seen; DROP TRIGGER after_rows ON seen; DROP TRIGGER after_all ON seen;

-- Prepared statements over an index that goes and comes.
SET plan_cache_mode = force_generic_plan;
PREPARE counted(integer) AS SELECT who, count(*), sum(dur) FROM seen WHERE ts > $1 GROUP BY who ORDER BY who;
EXECUTE counted(1000);
BEGIN;
DROP INDEX seen_if;
EXECUTE counted(1000);
ROLLBACK;
EXECUTE counted(1000);
REINDEX INDEX seen_if;
BEGIN;
DELETE FROM seen WHERE who = 'who 1';
EXECUTE counted(1000);
SAVEPOINT s;
TRUNCATE seen;
EXECUTE counted(1000);
INSERT INTO seen VALUES (1, 'who 9', 1001, 9);
EXECUTE counted(1000);
SELECT * FROM agrees();
ROLLBACK TO s;
EXECUTE counted(1000);
SELECT * FROM agrees();
ROLLBACK;
DROP INDEX seen_if;
EXECUTE counted(1900);
CREATE INDEX other_if ON seen USING iforest (ts) INCLUDE (dur);
EXECUTE counted(1900);
DROP INDEX other_if;
CREATE INDEX seen_if ON seen USING iforest (who, ts) INCLUDE (dur);
EXPLAIN (COSTS OFF) EXECUTE counted(1900);
EXECUTE counted(1900);
RESET plan_cache_mode;

-- Made, filled, asked and taken back in one transaction.
BEGIN;
CREATE TABLE made(who text, ts integer, dur integer);
CREATE INDEX made_if ON made USING iforest (who, ts) INCLUDE (dur);
INSERT INTO made SELECT 'who ' || i % 3, i, i FROM generate_series(1, 1000) i;
SAVEPOINT s;
DELETE FROM made WHERE ts > 500;
REINDEX INDEX made_if;
SELECT who, count(*), sum(dur) FROM made GROUP BY who ORDER BY who;
ROLLBACK TO s;
SELECT who, count(*), sum(dur) FROM made GROUP BY who ORDER BY who;
ROLLBACK;
CREATE TEMP TABLE made(who text, ts integer, dur integer) ON COMMIT DELETE ROWS;
CREATE INDEX made_if ON made USING iforest (who, ts) INCLUDE (dur);
BEGIN;
INSERT INTO made SELECT 'who ' || i % 3, i, i FROM generate_series(1, 1000) i;
DELETE FROM made WHERE ts > 900;
SELECT who, count(*), sum(dur) FROM made GROUP BY who ORDER BY who;
COMMIT;
SELECT who, count(*), sum(dur) FROM made GROUP BY who ORDER BY who;
SELECT count(*), sum(dur) FROM made;

-- A prepared transaction is not seen until it is committed.
BEGIN;
DELETE FROM seen WHERE who = 'who 1';
INSERT INTO seen SELECT i, 'prepared', i, 1 FROM generate_series(1, 300) i;
PREPARE TRANSACTION 'iforest_seen';
SELECT * FROM agrees();
VACUUM seen;
SELECT * FROM agrees();
COMMIT PREPARED 'iforest_seen';
SELECT * FROM agrees();
VACUUM seen;
SELECT * FROM agrees();

-- VACUUM with FREEZE, without the indexes, and FULL; CLUSTER by another index.
VACUUM (FREEZE) seen;
SELECT * FROM agrees();
DELETE FROM seen WHERE id % 3 = 0;
VACUUM (INDEX_CLEANUP off) seen;
SELECT * FROM agrees();
INSERT INTO seen SELECT i, 'who 5', i, 1 FROM generate_series(1, 700) i;
SELECT * FROM agrees();
VACUUM (FULL) seen;
SELECT * FROM agrees();
CREATE INDEX seen_id ON seen(id);
CLUSTER seen USING seen_id;
SELECT * FROM agrees();
DELETE FROM seen;
SELECT * FROM agrees();
VACUUM seen;
SELECT * FROM agrees();
SELECT count(*), sum(dur), min(ts) FROM seen;
SELECT who, count(*) FROM seen GROUP BY who;
SELECT iforest_check('seen_if', true);
DROP TABLE seen, made, noted;
DROP FUNCTION agrees, note;
DROP PROCEDURE work_off;
-- More pages that are not all-visible than a session has room to remember, again and again; written in between.
CREATE TABLE many(ts integer, dur integer) WITH (autovacuum_enabled = off);
CREATE INDEX many_if ON many USING iforest (ts) INCLUDE (dur);
INSERT INTO many SELECT i, i % 10 FROM generate_series(1, 400000) i;
ANALYZE many;
SET work_mem = '64kB';
CREATE FUNCTION many_agree(OUT n bigint, OUT total bigint, OUT is_taken boolean, OUT is_same boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plain_n bigint;
	plain_total bigint;
BEGIN
	is_taken := false;
	FOR line IN EXPLAIN SELECT count(*), sum(dur) FROM many WHERE ts > 10 LOOP
		is_taken := is_taken OR line ~ 'IForestAggregate';
	END LOOP;
	EXECUTE 'SELECT count(*), sum(dur) FROM many WHERE ts > 10' INTO n, total;
	SET LOCAL iforest.enable = off;
	EXECUTE 'SELECT count(*), sum(dur) FROM many WHERE ts > 10' INTO plain_n, plain_total;
	SET LOCAL iforest.enable = on;
	is_same := (n, total) = (plain_n, plain_total);
END $$;
SELECT DISTINCT many_agree() FROM generate_series(1, 12);
DELETE FROM many WHERE ts % 1009 = 0;
SELECT * FROM many_agree();
SELECT * FROM many_agree();
UPDATE many SET dur = dur + 1 WHERE ts < 100000;
SELECT * FROM many_agree();
SELECT * FROM many_agree();
DROP TABLE many;
DROP FUNCTION many_agree;
RESET work_mem;

-- The first question after rows were loaded looks at their pages and leaves them as they are; a scan of the table writes to each that they
-- are committed, and with checksums logs it.
CREATE TABLE loaded(ts integer, v integer) WITH (autovacuum_enabled = off);
CREATE INDEX loaded_if ON loaded USING iforest (ts) INCLUDE (v) WITH (background_merge = off);
INSERT INTO loaded SELECT i, i % 10 FROM generate_series(1, 20000) i;
CREATE FUNCTION dirtied(question text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || question INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Dirtied Blocks}')::integer > 0;
END $$;
CHECKPOINT;
SELECT dirtied('SELECT count(*), sum(v), max(v) FROM loaded WHERE ts > 10');
SELECT count(*), sum(v), max(v) FROM loaded WHERE ts > 10;
SET iforest.enable = off;
SELECT dirtied('SELECT count(*), sum(v), max(v) FROM loaded WHERE ts > 10');
SELECT count(*), sum(v), max(v) FROM loaded WHERE ts > 10;
RESET iforest.enable;
DROP TABLE loaded;
DROP FUNCTION dirtied;
