-- What iforest_merge and VACUUM do, in numbers.
CREATE TABLE kept(id integer, who integer, ts integer, v integer);
CREATE INDEX kept_if ON kept USING iforest (who, ts) INCLUDE (v) WITH (background_merge = off, pending_pages = 1);
CREATE VIEW numbers AS SELECT runs, entries, removed, pending_entries, series FROM iforest_stats('kept_if');
CREATE VIEW alike AS
	SELECT count(*) AS questions, count(*) FILTER (WHERE index_scan = 'same' AND bitmap_scan = 'same') AS same
	FROM generate_series(0, 480, 40) first, answers(format('SELECT * FROM kept WHERE ts BETWEEN %s AND %s', first, first + 30)) a;

-- A merge keeps every row; complete leaves one run, and nothing pending.
INSERT INTO kept SELECT i, i % 5, i % 500, i FROM generate_series(1, 20000) i;
SELECT entries + pending_entries AS rows, runs >= 1 AS some_runs FROM iforest_stats('kept_if');
SELECT iforest_merge('kept_if') AS runs_left \gset
SELECT runs = :runs_left AS runs_left, entries, pending_entries FROM iforest_stats('kept_if');
SELECT iforest_merge('kept_if', true);
SELECT * FROM numbers;
SELECT iforest_merge('kept_if', complete => true);
SELECT * FROM numbers;
SELECT iforest_check('kept_if');
SELECT iforest_check('kept_if', true);
SELECT * FROM alike;

-- A vacuum takes out what was deleted: entries are those left, removed the room the others had. An epoch tells readers of it.
SELECT removal_epoch AS before FROM iforest_stats('kept_if') \gset
DELETE FROM kept WHERE id % 20 = 0;
SELECT * FROM numbers;
VACUUM kept;
SELECT entries AS rows, pending_entries FROM iforest_stats('kept_if');
SELECT removal_epoch > :before AS epoch_raised FROM iforest_stats('kept_if');
SELECT count(*) FROM kept;
SELECT * FROM alike;
SELECT iforest_check('kept_if', true);
SELECT removal_epoch AS before FROM iforest_stats('kept_if') \gset
VACUUM kept;
SELECT removal_epoch = :before AS epoch_stayed FROM iforest_stats('kept_if');

-- Freed TIDs are given to other rows.
INSERT INTO kept SELECT i, i % 5, i % 500, i FROM generate_series(20001, 21000) i;
SELECT entries + pending_entries AS rows FROM iforest_stats('kept_if');
SELECT * FROM alike;
SELECT iforest_check('kept_if', true);

-- Rows that are pending are removed, too; so is all of a series, and all there is.
DELETE FROM kept WHERE id > 20500;
VACUUM kept;
SELECT entries + pending_entries AS rows, (SELECT count(*) FROM kept) AS expected FROM iforest_stats('kept_if');
DELETE FROM kept WHERE who = 3;
VACUUM kept;
SELECT * FROM alike;
SELECT iforest_check('kept_if', true);
DELETE FROM kept;
VACUUM kept;
VACUUM kept;
SELECT entries AS rows, pending_entries, runs FROM iforest_stats('kept_if');
SELECT iforest_merge('kept_if', true);
SELECT iforest_check('kept_if', true);
INSERT INTO kept SELECT i, i % 5, i % 500, i FROM generate_series(1, 500) i;
SELECT * FROM alike;

-- What nobody merges by hand, a worker does: runs do not pile up.
CREATE TABLE left_alone(who integer, ts integer);
CREATE INDEX left_alone_if ON left_alone USING iforest (who, ts) WITH (pending_pages = 1);
INSERT INTO left_alone SELECT i % 5, i FROM generate_series(1, 100000) i;
CREATE PROCEDURE wait_for_few_runs(index regclass, most integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 600 LOOP
		COMMIT;
		EXIT WHEN (SELECT runs <= most FROM iforest_stats(index));
		PERFORM pg_sleep(0.1);
	END LOOP;
END $$;
CALL wait_for_few_runs('left_alone_if', 40);
SELECT runs <= 40 AS few_runs, entries + pending_entries AS rows FROM iforest_stats('left_alone_if');
SELECT iforest_check('left_alone_if', true);
DROP TABLE left_alone;
DROP PROCEDURE wait_for_few_runs;

-- Pages are used again: the sixth round needs no more than twice the second's.
CREATE TABLE sizes(round integer, pages bigint);
CREATE PROCEDURE rounds(first integer, last integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR round IN first .. last LOOP
		INSERT INTO kept SELECT i, i % 5, i % 500, i FROM generate_series(1, 20000) i;
		PERFORM iforest_merge('kept_if', true);
		INSERT INTO sizes SELECT round, total_pages FROM iforest_stats('kept_if');
	END LOOP;
END $$;
TRUNCATE kept;
CALL rounds(1, 1);
DELETE FROM kept;
VACUUM kept;
CALL rounds(2, 2);
DELETE FROM kept;
VACUUM kept;
CALL rounds(3, 3);
DELETE FROM kept;
VACUUM kept;
CALL rounds(4, 4);
DELETE FROM kept;
VACUUM kept;
CALL rounds(5, 5);
DELETE FROM kept;
VACUUM kept;
CALL rounds(6, 6);
SELECT max(pages) FILTER (WHERE round = 6) <= 2 * max(pages) FILTER (WHERE round = 2) AS used_again FROM sizes;
SELECT iforest_check('kept_if', true);

-- A long transaction that inserts holds back what is merged meanwhile, but not all: else the list of what waits would be full at last.
CREATE TABLE held(ts integer);
CREATE INDEX held_if ON held USING iforest (ts) WITH (background_merge = off);
DO $$ BEGIN
	FOR i IN 1 .. 2500 LOOP
		INSERT INTO held VALUES (i);
		PERFORM iforest_merge('held_if');
	END LOOP;
END $$;
SELECT total_pages < 4500 AS few_pages, entries + pending_entries AS rows FROM iforest_stats('held_if');
SELECT iforest_check('held_if', true);
DROP TABLE held;

-- Vacuum in its other ways.
DELETE FROM kept WHERE id % 2 = 0;
VACUUM (INDEX_CLEANUP off) kept;
SELECT * FROM alike;
VACUUM (INDEX_CLEANUP on, PARALLEL 0) kept;
SELECT entries + pending_entries AS rows, (SELECT count(*) FROM kept) AS expected FROM iforest_stats('kept_if');
CREATE INDEX kept_second_if ON kept USING iforest (ts);
SET min_parallel_index_scan_size = 0;
DELETE FROM kept WHERE id % 3 = 0;
VACUUM (PARALLEL 2) kept;
RESET min_parallel_index_scan_size;
SELECT entries + pending_entries AS rows, (SELECT count(*) FROM kept) AS expected FROM iforest_stats('kept_if');
SELECT entries + pending_entries AS rows, (SELECT count(*) FROM kept) AS expected FROM iforest_stats('kept_second_if');
SELECT iforest_check('kept_if', true);
SELECT iforest_check('kept_second_if', true);
VACUUM (FREEZE, ANALYZE) kept;
SELECT reltuples FROM pg_class WHERE relname IN ('kept', 'kept_if', 'kept_second_if');
ANALYZE kept;

-- A run that lost more than a quarter of its rows is written anew; the oldest half of the time goes without a trace.
TRUNCATE kept;
INSERT INTO kept SELECT i, i % 5, i, i FROM generate_series(1, 50000) i;
SELECT iforest_merge('kept_if', true);
DELETE FROM kept WHERE ts <= 25000;
VACUUM kept;
SELECT entries AS rows, removed * 3 <= entries AS few_removed FROM iforest_stats('kept_if');
SELECT iforest_check('kept_if', true);

-- In a transaction that is taken back, a merge stays: it changes no answer.
BEGIN;
INSERT INTO kept SELECT i, i % 5, i, i FROM generate_series(50001, 50500) i;
SELECT iforest_merge('kept_if', true);
ROLLBACK;
SELECT count(*) FROM kept WHERE ts > 50000;
SELECT iforest_check('kept_if', true);
DROP TABLE kept, sizes CASCADE;
DROP PROCEDURE rounds;
