-- Rows of a table whose visibility map has two pages: some are gone at the ends of the parts that it is read in, of its pages, and of the table.
SET max_parallel_workers_per_gather = 0;
-- block i has the row of time i, alone
CREATE TABLE wide (who int, ts int, dur int, filler text) WITH (fillfactor = 10, autovacuum_enabled = off);
ALTER TABLE wide ALTER filler SET STORAGE PLAIN;
INSERT INTO wide SELECT i * 48271::bigint % 997, i, i * 7919::bigint % 1000, repeat('x', 500) FROM generate_series(0, 33500) AS i;
CREATE INDEX wide_ts ON wide USING iforest (ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 1);
CREATE INDEX wide_who ON wide USING iforest (who, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 1);
VACUUM ANALYZE wide;
SELECT count(*) AS elsewhere FROM wide WHERE ctid <> ('(' || ts || ',1)')::tid;

-- The ends of parts (512 blocks), of the first page (32 672 blocks) and of the table, and windows around them.
CREATE TABLE ends AS SELECT unnest('{0,512,1024,15872,31744,32256,32672,33184,33500}'::int[]) AS block;
CREATE TABLE windows AS SELECT lo, lo + width AS hi FROM ends, unnest('{-2,-1,0,1}'::int[]) AS d, unnest('{1,2,3,600,1100,30000}'::int[]) AS width, LATERAL (SELECT block + d AS lo) AS l;
CREATE FUNCTION figures_of(of regclass) RETURNS TABLE (kind text, a int, b int, n bigint, total bigint, lowest int, highest int) LANGUAGE plpgsql AS $$
DECLARE figures text := format('count(*), sum(dur), min(dur), max(dur) FROM %s', of);
BEGIN
	RETURN QUERY EXECUTE 'SELECT ''window'', lo, hi, f.* FROM windows, LATERAL (SELECT ' || figures || ' WHERE ts >= lo AND ts < hi) AS f';
	RETURN QUERY EXECUTE 'SELECT ''name'', w, lo, f.* FROM generate_series(0, 996, 7) AS w, unnest(''{0,16000,24000}''::int[]) AS lo, LATERAL (SELECT ' || figures || ' WHERE who = w AND ts >= lo AND ts < lo + 9501) AS f';
	RETURN QUERY EXECUTE 'SELECT ''of all time'', w, 0, f.* FROM generate_series(0, 996, 7) AS w, LATERAL (SELECT ' || figures || ' WHERE who = w) AS f';
	RETURN QUERY EXECUTE 'SELECT ''each'', who, 0, ' || figures || ' GROUP BY who';
	RETURN QUERY EXECUTE 'SELECT ''bucket'', ts / 511, 0, ' || figures || ' GROUP BY ts / 511';
	RETURN QUERY EXECUTE 'SELECT ''all'', 0, 0, ' || figures;
END $$;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(dur), min(dur), max(dur) FROM wide WHERE who = 7 AND ts >= 0 AND ts < 9501;

-- How many answers differ from those about a copy, which is made without the index.
CREATE PROCEDURE compare() LANGUAGE plpgsql AS $$
DECLARE n_rows int; n_answers int; n int;
BEGIN
	SET LOCAL iforest.enable = off;
	CREATE TEMPORARY TABLE copy AS SELECT who, ts, dur FROM wide;
	CREATE INDEX ON copy (ts);
	CREATE INDEX ON copy (who, ts);
	SET LOCAL enable_bitmapscan = on;
	CREATE TEMPORARY TABLE expected AS SELECT * FROM figures_of('copy');
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL iforest.enable = on;
	CREATE TEMPORARY TABLE found AS SELECT * FROM figures_of('wide');
	SELECT count(*) INTO n_rows FROM copy;
	SELECT count(*) INTO n_answers FROM found;
	SELECT count(*) INTO n FROM ((TABLE found EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE found)) AS d;
	RAISE NOTICE '% rows, % answers, % differ', n_rows, n_answers, n;
	DROP TABLE copy, expected, found;
END $$;
CALL compare();
-- the first block of each part, and the last of the table
BEGIN;
DELETE FROM wide WHERE ts IN (SELECT block FROM ends);
CALL compare();
ROLLBACK;
-- the rows are there, the bits of their blocks are not set
CALL compare();
-- the last block of each part, and others at the end of the table
DELETE FROM wide WHERE ts IN (SELECT block - 1 FROM ends) OR ts > 33490 AND ts % 3 = 0;
CALL compare();
-- blocks beyond the map, as of an inserter that has not committed
BEGIN;
INSERT INTO wide SELECT i % 997, i, i, repeat('x', 500) FROM generate_series(33501, 34300) AS i;
CALL compare();
ROLLBACK;
CALL compare();
-- rows moved from here and there
UPDATE wide SET dur = dur + 1 WHERE ts % 1500 = 7 OR ts BETWEEN 32250 AND 32260;
INSERT INTO wide SELECT i % 997, i, i, 'later' FROM generate_series(34301, 34330) AS i;
CALL compare();
VACUUM wide;
CALL compare();
-- few bits are set
DELETE FROM wide WHERE ts % 10 = 4;
CALL compare();
DROP TABLE wide, windows, ends;
DROP PROCEDURE compare;
DROP FUNCTION figures_of;
