-- A table without statistics: how many rows a window has is asked of the index. Of few a B-tree gives the answer sooner, of many not.
SET TimeZone = 'UTC';
SET max_parallel_workers_per_gather = 0;
CREATE TABLE unanalyzed(ts timestamptz NOT NULL, service text, took bigint) WITH (autovacuum_enabled = off);
CREATE INDEX unanalyzed_by_service ON unanalyzed USING iforest (service, ts) INCLUDE (took);
INSERT INTO unanalyzed SELECT timestamptz '2024-03-01' + i * interval '1 s', 'service ' || i % 3, i % 1000 FROM generate_series(0, 99999) i;

-- What answers, and whether the answer is the plain one.
CREATE FUNCTION answered(question text, OUT answered_by text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	line text;
BEGIN
	answered_by := 'a scan';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		answered_by := coalesce(substring(line FROM 'Custom Scan'), substring(line FROM 'Index: (.*)'), substring(line FROM 'unanalyzed_btree'), answered_by);
	END LOOP;
	EXECUTE format('SELECT a::text FROM (%s) a', question) INTO answer;
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE format('SELECT a::text FROM (%s) a', question) INTO plain;
	PERFORM set_config('iforest.enable', 'on', true);
	IF plain IS DISTINCT FROM answer THEN
		answer := 'DIFFERENT: ' || answer || ' ' || plain;
	END IF;
END $$;

\set few 'SELECT count(*), sum(took), max(took) FROM unanalyzed WHERE ts >= ''2024-03-01 05:00:00'' AND ts < ''2024-03-01 05:00:10'''
\set many 'SELECT count(*), sum(took), max(took) FROM unanalyzed WHERE ts >= ''2024-03-01 05:00:00'' AND ts < ''2024-03-01 20:00:00'''
\set latest 'SELECT count(*), sum(took), max(took) FROM unanalyzed WHERE ts >= ''2024-03-02 03:46:30'''
\set none 'SELECT count(*), sum(took), max(took) FROM unanalyzed WHERE ts >= ''2025-01-01'' AND ts < ''2025-01-02'''
\set listed 'SELECT count(*), sum(took), max(took) FROM unanalyzed WHERE ts IN (''2024-03-01 05:00:00'', ''2024-03-01 05:00:10'')'
-- by service alone nothing is known, and there is no B-tree: the sweep over all series is of few pages
SELECT * FROM answered(:'few');
CREATE INDEX unanalyzed_btree ON unanalyzed (ts) INCLUDE (took);
CREATE INDEX unanalyzed_by_time ON unanalyzed USING iforest (ts) INCLUDE (took);
VACUUM unanalyzed;
SELECT * FROM answered(:'few');
SELECT * FROM answered(:'many');
SELECT * FROM answered(:'none');
SELECT * FROM answered(:'listed');
-- a B-tree on the time alone, of which the planner would make a bitmap
DROP INDEX unanalyzed_btree;
CREATE INDEX unanalyzed_btree ON unanalyzed (ts);
SELECT * FROM answered(:'few');
SELECT * FROM answered(:'many');
DROP INDEX unanalyzed_btree;
CREATE INDEX unanalyzed_btree ON unanalyzed (ts) INCLUDE (took);
-- what is pending lies behind the runs
INSERT INTO unanalyzed SELECT timestamptz '2024-03-02 03:46:40' + i * interval '1 s', 'service ' || i % 3, i % 1000 FROM generate_series(0, 999) i;
SELECT * FROM answered(:'latest');
-- bounds that are not written down: of a stable function, which is known while planning, and of a parameter, which is not
SELECT answered_by FROM answered('SELECT count(*) FROM unanalyzed WHERE ts >= now() AND ts < now() + interval ''1 s''');
SET plan_cache_mode = force_generic_plan;
PREPARE window_of(timestamptz, timestamptz) AS SELECT count(*), sum(took), max(took) FROM unanalyzed WHERE ts >= $1 AND ts < $2;
EXPLAIN (COSTS OFF) EXECUTE window_of('2024-03-01 05:00:00', '2024-03-01 05:00:10');
EXECUTE window_of('2024-03-01 05:00:00', '2024-03-01 05:00:10');
-- with statistics the planner knows
ANALYZE unanalyzed;
SELECT * FROM answered(:'few');
SELECT * FROM answered(:'many');
DROP TABLE unanalyzed;
DROP FUNCTION answered;

-- Of how many groups the planner knows: those of the window's times, not of its part of the rows. Nine tenths of the rows lie in a tenth of
-- the times.
CREATE TABLE dense (ts bigint, track int, took int);
INSERT INTO dense SELECT CASE WHEN i % 10 = 0 THEN i * 10 ELSE 50000 + i / 2 END, i % 3, i % 1000 FROM generate_series(1, 20000) i;
CREATE INDEX dense_if ON dense USING iforest (track, ts) INCLUDE (took);
VACUUM ANALYZE dense;
CREATE FUNCTION groups_of(bucket text, bounds text, OUT estimated text, OUT groups bigint, OUT uses_index boolean) LANGUAGE plpgsql AS $$
DECLARE
	question text := format('SELECT track, %s AS bucket, sum(took) FROM dense WHERE %s GROUP BY 1, 2', bucket, bounds);
	plan jsonb;
	n float8;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || question INTO plan;
	EXECUTE 'SELECT count(*) FROM (' || question || ') groups' INTO groups;
	n := plan #>> '{0,Plan,Plan Rows}';
	estimated := CASE WHEN n > 1.5 * groups THEN 'too many' WHEN n < groups / 1.5 THEN 'too few' ELSE 'about right' END;
	uses_index := plan #>> '{0,Plan,Custom Plan Provider}' = 'IForestAggregate';
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SELECT * FROM groups_of('ts / 100', 'ts >= 50000 AND ts < 60000');
SELECT * FROM groups_of('ts / 100', 'ts >= 100000 AND ts < 200000');
SELECT * FROM groups_of('ts / 1000', 'ts < 200000');
SELECT * FROM groups_of('iforest_bucket(ts, 50000, 60000, 50)', 'ts >= 50000 AND ts < 60000');
SELECT * FROM groups_of('iforest_bucket(ts, 150000, 200000, 50)', 'ts >= 150000 AND ts < 200000');
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_indexscan;
DROP TABLE dense;
DROP FUNCTION groups_of;

-- Conditions on the time are asked once for each range in which they do not change: a comparison, an equality and an inequality make two or
-- three ranges, a second of the minute as many as there are rows, and those are read sooner by a scan.
SET TimeZone = 'UTC';
CREATE TABLE ranged(ts timestamptz NOT NULL, service text, took int);
INSERT INTO ranged SELECT timestamptz '2024-03-01' + i * interval '1 s', 'service ' || i % 3, i % 1000 FROM generate_series(0, 99999) i;
CREATE INDEX ranged_by_service ON ranged USING iforest (service, ts) INCLUDE (took);
VACUUM ANALYZE ranged;
CREATE FUNCTION answered(question text, OUT answered_by text, OUT is_the_same boolean) LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	answer text;
	line text;
BEGIN
	answered_by := 'a scan';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		answered_by := coalesce(substring(line FROM 'Index: (.*)'), answered_by);
	END LOOP;
	EXECUTE format('SELECT a::text FROM (%s) a', question) INTO answer;
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE format('SELECT a::text FROM (%s) a', question) INTO plain;
	PERFORM set_config('iforest.enable', 'on', true);
	is_the_same := answer = plain;
END $$;
SELECT * FROM answered($$SELECT count(*), sum(took) FROM ranged WHERE ts <> '2024-03-01 05:00'$$);
SELECT * FROM answered($$SELECT count(*), sum(took) FROM ranged WHERE ts = '2024-03-01 05:00' OR ts = '2024-03-01 20:00' OR ts::date = '2024-03-02'$$);
SELECT * FROM answered($$SELECT count(*), sum(took) FILTER (WHERE ts = '2024-03-01 20:00'), max(took) FILTER (WHERE ts >= '2024-03-01 20:00' AND ts < '2024-03-01 20:00:01') FROM ranged$$);
SELECT * FROM answered($$SELECT count(*), sum(took) FROM ranged WHERE extract(hour FROM ts) BETWEEN 8 AND 16$$);
SELECT * FROM answered($$SELECT count(*), sum(took) FROM ranged WHERE extract(second FROM ts) = 0$$);
SELECT * FROM answered($$SELECT count(*), sum(took) FROM ranged WHERE ts::text LIKE '%:00:00+00'$$);
SELECT * FROM answered($$SELECT count(*), sum(took) FROM ranged WHERE extract(second FROM ts) = 0 AND ts >= '2024-03-01 20:00' AND ts < '2024-03-01 20:05'$$);
-- a window that is known when the query runs only
SET plan_cache_mode = force_generic_plan;
PREPARE without(timestamptz) AS SELECT count(*), sum(took) FROM ranged WHERE ts <> $1;
EXPLAIN (COSTS OFF) EXECUTE without('2024-03-01 05:00');
EXECUTE without('2024-03-01 05:00');
RESET plan_cache_mode;
DEALLOCATE without;
-- Some times that lie far off make no buckets between.
ALTER TABLE ranged ALTER ts SET STATISTICS 1000;
INSERT INTO ranged VALUES ('1970-01-01', 'service 0', 0);
ANALYZE ranged;
SELECT * FROM answered($$SELECT count(*), max(n), min(h) FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM ranged GROUP BY 1) hours$$);
DROP TABLE ranged;

-- Values of several by columns that go together make fewer series than their numbers multiplied; and of how many groups a part of them makes.
CREATE TABLE linked(ts bigint NOT NULL, service text, host int, pod int, took int);
INSERT INTO linked SELECT i, 'service ' || i % 20, i % 200, i % 400, i % 1000 FROM generate_series(1, 100000) i;
CREATE INDEX linked_if ON linked USING iforest (service, host, pod, ts) INCLUDE (took);
VACUUM ANALYZE linked;
CREATE FUNCTION estimated(question text, groups float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	n float8;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || question INTO plan;
	n := plan #>> '{0,Plan,Plan Rows}';
	RETURN coalesce(plan #>> '{0,Plan,Index}', 'another plan') || ', ' || CASE WHEN n > 1.5 * groups THEN 'too many' WHEN n < groups / 1.5 THEN 'too few' ELSE 'about right' END;
END $$;
SELECT * FROM answered('SELECT count(*), sum(took) FROM linked WHERE ts >= 2000 AND ts < 98000');
SELECT estimated('SELECT service, sum(took) FROM linked GROUP BY service', 20);
SELECT estimated('SELECT service, ts / 50000, sum(took) FROM linked GROUP BY service, ts / 50000', 60);
SELECT estimated('SELECT service, host, pod, sum(took) FROM linked GROUP BY service, host, pod', 400);
DROP TABLE linked;
DROP FUNCTION answered, estimated;
