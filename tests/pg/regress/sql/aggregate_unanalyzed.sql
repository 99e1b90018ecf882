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
-- by service alone nothing is known, and there is no B-tree
SELECT * FROM answered(:'few');
CREATE INDEX unanalyzed_btree ON unanalyzed (ts) INCLUDE (took);
CREATE INDEX unanalyzed_by_time ON unanalyzed USING iforest (ts) INCLUDE (took);
VACUUM unanalyzed;
SELECT * FROM answered(:'few');
SELECT * FROM answered(:'many');
SELECT * FROM answered(:'none');
SELECT * FROM answered(:'listed');
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
