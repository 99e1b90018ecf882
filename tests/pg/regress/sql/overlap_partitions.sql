-- The overlap function of a partitioned index: what it answers, from which indexes, who may ask, and what partitions go through.
SET client_min_messages = warning;
SELECT setseed(0.25);

-- "index" where indexes are read, "table" where the tables are, or nothing is found
CREATE FUNCTION op_way(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	way text := 'table';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || question LOOP
		IF line ~ 'Function Scan on iforest_overlap_spans .*rows=[1-9]' THEN
			way := 'index';
		END IF;
	END LOOP;
	RETURN way;
END $$;
CREATE FUNCTION op_answer(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT string_agg(x::text, chr(10) ORDER BY x::text) FROM (%s) x', question) INTO answer;
	RETURN answer;
END $$;
CREATE FUNCTION op_refusal(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	RETURN 'none' || left(op_answer(question), 0);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN SQLERRM || coalesce(' / ' || nullif(hint, ''), '');
END $$;

-- ---- at random: by range, with a default and an empty partition; by list, by hash, and by one within the other ----
CREATE TABLE op_range(track text, ts bigint, dur bigint) PARTITION BY RANGE (ts);
CREATE TABLE op_range1 PARTITION OF op_range FOR VALUES FROM (-1000) TO (0);
CREATE TABLE op_range2 PARTITION OF op_range FOR VALUES FROM (0) TO (1000);
CREATE TABLE op_range3 PARTITION OF op_range FOR VALUES FROM (9000) TO (9999);
CREATE TABLE op_range4 PARTITION OF op_range DEFAULT;
CREATE TABLE op_list(track text, ts bigint, dur bigint) PARTITION BY LIST (track);
CREATE TABLE op_list1 PARTITION OF op_list FOR VALUES IN ('a', 'b');
CREATE TABLE op_list2 PARTITION OF op_list FOR VALUES IN (NULL);
CREATE TABLE op_list3 PARTITION OF op_list DEFAULT;
CREATE TABLE op_hash(track text, ts bigint, dur bigint) PARTITION BY HASH (dur);
CREATE TABLE op_hash1 PARTITION OF op_hash FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE op_hash2 PARTITION OF op_hash FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE op_hash3 PARTITION OF op_hash FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE TABLE op_both(track text, ts bigint, dur bigint) PARTITION BY LIST (track);
CREATE TABLE op_both1 PARTITION OF op_both FOR VALUES IN ('a', 'b') PARTITION BY RANGE (ts);
CREATE TABLE op_both11 PARTITION OF op_both1 FOR VALUES FROM (MINVALUE) TO (100);
-- columns in another order, one of them dropped
CREATE TABLE op_both12(dur bigint, gone integer, ts bigint, track text);
ALTER TABLE op_both12 DROP COLUMN gone;
ALTER TABLE op_both1 ATTACH PARTITION op_both12 FOR VALUES FROM (100) TO (MAXVALUE);
CREATE TABLE op_both13 PARTITION OF op_both1 DEFAULT;
CREATE TABLE op_both2 PARTITION OF op_both DEFAULT PARTITION BY HASH (ts);
CREATE TABLE op_both21 PARTITION OF op_both2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE op_both22 PARTITION OF op_both2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX op_range_if ON op_range USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 2);
CREATE INDEX op_list_if ON op_list USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 2);
CREATE INDEX op_hash_if ON op_hash USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 2);
CREATE INDEX op_both_if ON op_both USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 2);
SELECT sum(cardinality(iforest_create_functions(i))) FROM unnest('{op_range_if, op_list_if, op_hash_if, op_both_if}'::regclass[]) i;

CREATE PROCEDURE op_change(which text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I(track, ts, dur) SELECT (ARRAY[''a'', ''b'', ''c'', NULL])[1 + floor(random() * 4)], CASE WHEN random() > 0.03 THEN ((random() - 0.4) * 2500)::bigint END,
		CASE WHEN random() < 0.1 THEN NULL WHEN random() < 0.1 THEN -5 WHEN random() < 0.03 THEN (random() * 3000)::bigint ELSE (random() * 40)::bigint END FROM generate_series(1, 150)', which);
	EXECUTE format('DELETE FROM %I WHERE random() < 0.2', which);
	-- to other partitions, too
	EXECUTE format('UPDATE %I SET ts = ts + 500, dur = dur + 1, track = translate(track, ''ab'', ''bc'') WHERE random() < 0.05', which);
	IF which = 'op_range' AND random() < 0.5 THEN
		ALTER TABLE op_range DETACH PARTITION op_range2;
		DELETE FROM op_range2 WHERE random() < 0.5;
		DELETE FROM op_range WHERE ts >= 0 AND ts < 1000;
		ALTER TABLE op_range ATTACH PARTITION op_range2 FOR VALUES FROM (0) TO (1000);
	END IF;
END $$;
-- what overlapping means, row by row; NULL is no bound
CREATE FUNCTION op_meaning(rows text, t0 bigint, t1 bigint, n bigint, step bigint, fill text)
	RETURNS TABLE(track text, bucket bigint, count bigint, clipped numeric, longest bigint, longest_ts bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH r AS (%s), b(bucket, a, z) AS (
			SELECT 0::bigint, coalesce($1, '-infinity'::numeric), coalesce($2, 'infinity'::numeric) WHERE $3 IS NULL AND $4 IS NULL
			UNION ALL SELECT i, $1 + div(i * ($2::numeric - $1), $3), $1 + div((i + 1) * ($2::numeric - $1), $3) FROM generate_series(0, $3 - 1) i
			UNION ALL SELECT i, greatest(coalesce($1, '-infinity'::numeric), i * $4), least(coalesce($2, 'infinity'::numeric), (i + 1) * $4)
				FROM generate_series(floor(coalesce($1, -9000)::numeric / $4)::bigint, floor((coalesce($2, 9000)::numeric - 1) / $4)::bigint) i WHERE $4 IS NOT NULL),
		o AS (SELECT r.track, r.ts, r.dur, b.bucket, least(r.ts::numeric + greatest(r.dur, 0), z) - greatest(r.ts::numeric, a) AS inside
			FROM r, b WHERE coalesce($1 < $2, true) AND r.ts < b.z AND (r.ts::numeric + r.dur > b.a OR (coalesce(r.dur, 0) <= 0 AND r.ts >= b.a)))
		SELECT o.track, o.bucket, count(*), sum(inside), max(dur), CASE WHEN max(dur) IS NOT NULL THEN (array_agg(ts ORDER BY dur DESC NULLS LAST, ts))[1] END
		FROM o GROUP BY 1, 2
		UNION ALL SELECT s.track, b.bucket, 0, CASE $5 WHEN 'zero' THEN 0 END, NULL, NULL FROM (SELECT DISTINCT r.track FROM r) s, b
		WHERE $5 IS NOT NULL AND $1 < $2 AND NOT EXISTS (SELECT FROM o WHERE o.track IS NOT DISTINCT FROM s.track AND o.bucket = b.bucket)$q$, rows)
		USING t0, t1, n, step, fill;
END $$;
CREATE PROCEDURE op_ask(rounds integer, INOUT asked integer DEFAULT 0, INOUT from_index integer DEFAULT 0, INOUT different text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
	which text;
	t0 bigint;
	t1 bigint;
	n bigint;
	step bigint;
	fill text;
	condition text;
	shown text;
	question text;
	meaning text;
	answer text;
BEGIN
	FOR round IN 0 .. rounds - 1 LOOP
		which := (ARRAY['op_range', 'op_list', 'op_hash', 'op_both'])[1 + round % 4];
		IF round / 4 % 5 = 0 THEN
			CALL op_change(which);
		ELSIF round / 4 % 5 = 3 THEN
			COMMIT;
		END IF;
		t0 := ((random() - 0.5) * 2500)::bigint;
		t1 := t0 + (random() * random() * 2500)::bigint - 20;
		n := CASE WHEN random() < 0.4 THEN 1 + (random() * 30)::bigint END;
		step := CASE WHEN n IS NULL AND random() < 0.6 THEN 1 + (random() * 500)::bigint END;
		fill := CASE WHEN random() < 0.3 THEN (ARRAY['null', 'zero'])[1 + floor(random() * 2)] END;
		IF n IS NULL AND fill IS NULL AND random() < 0.4 THEN
			IF random() < 0.6 THEN t0 := NULL; END IF;
			IF random() < 0.5 THEN t1 := NULL; END IF;
		END IF;
		condition := CASE WHEN which = 'op_hash' OR random() < 0.6 THEN '' ELSE
			(ARRAY[' WHERE track = ''a''', ' WHERE track IN (''b'', ''c'')', ' WHERE track IS NULL', ' WHERE track > ''a'''])[1 + floor(random() * 4)] END;
		shown := CASE which WHEN 'op_hash' THEN 'NULL::text' ELSE 'track' END || ' AS track, bucket, count, clipped_dur, longest_dur, longest_dur_ts';
		question := format('SELECT %s FROM %s_if_overlap(%s)%s', shown, which,
			concat_ws(', ', 't0 => ' || t0, 't1 => ' || t1, 'n => ' || n, 'step => ' || step, 'fill => ' || quote_literal(fill)), condition);
		meaning := format('SELECT * FROM op_meaning(%L, %L, %L, %L, %L, %L)', format('SELECT %s, ts, dur FROM %s', CASE which WHEN 'op_hash' THEN 'NULL::text AS track' ELSE 'track' END,
			which || condition), t0, t1, n, step, fill);
		SET LOCAL iforest.enable = on;
		answer := op_answer(question);
		asked := asked + (answer IS NOT NULL)::integer;
		from_index := from_index + (round % 3 = 0 AND op_way(question) = 'index')::integer;
		SET LOCAL iforest.enable = off;
		IF answer IS DISTINCT FROM op_answer(question) THEN
			different := different || 'by SQL: ' || question || E';\n' || coalesce(answer, 'none') || E'\n--\n' || coalesce(op_answer(question), 'none') || E'\n';
		ELSIF answer IS DISTINCT FROM op_answer(meaning) THEN
			different := different || 'by meaning: ' || question || E';\n' || coalesce(answer, 'none') || E'\n--\n' || coalesce(op_answer(meaning), 'none') || E'\n';
		END IF;
	END LOOP;
	asked := (asked > rounds / 2)::integer;
	from_index := (from_index > rounds / 6)::integer;
END $$;
CALL op_ask(100);
VACUUM op_range, op_list, op_hash, op_both;
CALL op_ask(100);
SELECT count(*) > 0 AS rows, count(*) FILTER (WHERE tableoid = 'op_range3'::regclass) AS in_the_empty_one FROM op_range;
DROP TABLE op_list, op_hash, op_both;
DROP PROCEDURE op_ask, op_change;
DROP FUNCTION op_meaning;

-- ---- which columns, what is read, and what reaches over the end of a partition ----
TRUNCATE op_range;
INSERT INTO op_range VALUES ('a', -500, 2000), ('a', -10, 30), ('a', 5, 10), ('b', 900, 99), ('b', 999, 2);
SELECT proname, string_agg(name, ', ' ORDER BY n) FROM pg_proc, unnest(proargnames) WITH ORDINALITY a(name, n) WHERE proname ~ '^op_range_if_overlap' GROUP BY 1 ORDER BY 1;
SELECT track, bucket, count, clipped_dur, longest_dur, longest_dur_ts FROM op_range_if_overlap(0, 1200, 4) ORDER BY 1, 2;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200, 4)'), op_way('SELECT * FROM op_range_if_overlap(0, 1200, 4, fill => ''zero'') WHERE track = ''b''');
PREPARE op(bigint, bigint, text) AS SELECT bucket, count FROM op_range_if_overlap($1, $2, 2, fill => $3) WHERE track = 'b' ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE op(0, 1200, NULL);
EXECUTE op(0, 600, 'zero');
RESET plan_cache_mode;
DEALLOCATE op;
SELECT w, o.bucket, count FROM generate_series(0, 900, 450) w, op_range_if_overlap(w, w + 600, 2) o WHERE track = 'b' ORDER BY 1, 2;

-- ---- who may: as PostgreSQL asks of a query of the table, not of its partitions ----
CREATE ROLE op_user;
GRANT USAGE ON SCHEMA public TO op_user;
SELECT $$SELECT * FROM iforest_overlap_spans('%s'::regclass, 0::bigint, 5000::bigint, NULL::bigint, NULL::bigint, NULL::bigint) AS o(t text, a bigint, b bigint, c bigint, d bigint, e numeric, f bigint, g tid, h bigint)$$ AS direct \gset
GRANT SELECT ON op_range1, op_range2, op_range3, op_range4 TO op_user;
SET ROLE op_user;
SELECT op_refusal('SELECT * FROM op_range_if_overlap(0, 1200)'), op_refusal(format(:'direct', 'op_range_if')), op_refusal(format(:'direct', 'op_range2_track_ts_dur_idx'));
RESET ROLE;
REVOKE SELECT ON op_range1, op_range2, op_range3, op_range4 FROM op_user;
GRANT SELECT (track, ts, dur, ctid) ON op_range TO op_user;
SET ROLE op_user;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)'), sum(count) FROM op_range_if_overlap(0, 1200);
SELECT op_refusal(format(:'direct', 'op_range_if')), op_refusal(format(:'direct', 'op_range2_track_ts_dur_idx'));
RESET ROLE;
REVOKE SELECT (dur) ON op_range FROM op_user;
SET ROLE op_user;
SELECT op_refusal('SELECT track FROM op_range_if_overlap(0, 1200)'), op_refusal(format(:'direct', 'op_range_if'));
RESET ROLE;
GRANT SELECT ON op_range TO op_user;
-- policies of a partition are for who asks it; those of the table are obeyed
CREATE POLICY none ON op_range2 USING (false);
ALTER TABLE op_range2 ENABLE ROW LEVEL SECURITY;
SET ROLE op_user;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)'), sum(count) FROM op_range_if_overlap(0, 1200);
SELECT op_refusal(format(:'direct', 'op_range2_track_ts_dur_idx'));
RESET ROLE;
ALTER TABLE op_range2 DISABLE ROW LEVEL SECURITY;
CREATE POLICY only_b ON op_range USING (track = 'b');
ALTER TABLE op_range ENABLE ROW LEVEL SECURITY;
SET ROLE op_user;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)'), sum(count) FROM op_range_if_overlap(0, 1200);
SELECT track, bucket, count FROM op_range_if_overlap(0, 1200, 2, fill => 'zero') ORDER BY 1, 2;
SELECT op_refusal(format(:'direct', 'op_range_if'));
RESET ROLE;
ALTER TABLE op_range DISABLE ROW LEVEL SECURITY;
-- a cursor goes on as who has opened it
BEGIN;
SET ROLE op_user;
DECLARE c CURSOR FOR SELECT track, count FROM op_range_if_overlap(0, 1200) ORDER BY 1;
FETCH c;
RESET ROLE;
INSERT INTO op_range VALUES ('b', 1, 1), ('b', 2000, 1);
REVOKE SELECT ON op_range FROM op_user;
FETCH c;
ROLLBACK;
REVOKE ALL ON op_range FROM op_user;
REVOKE USAGE ON SCHEMA public FROM op_user;
DROP ROLE op_user;

-- ---- what partitions go through ----
ALTER TABLE op_range DETACH PARTITION op_range2;
SELECT track, count FROM op_range_if_overlap(0, 1200) ORDER BY 1;
CREATE TABLE op_range22(dur bigint, track text, ts bigint);
INSERT INTO op_range22 VALUES (7, 'new', 1), (7, 'new', 2);
ALTER TABLE op_range ATTACH PARTITION op_range22 FOR VALUES FROM (0) TO (1000);
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)'), track, count FROM op_range_if_overlap(0, 1200) ORDER BY track;
DROP TABLE op_range22;
ALTER TABLE op_range ATTACH PARTITION op_range2 FOR VALUES FROM (0) TO (1000);
REINDEX INDEX CONCURRENTLY op_range2_track_ts_dur_idx;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)'), track, count FROM op_range_if_overlap(0, 1200) ORDER BY track;
-- an index of a partition that has another duration, or none, cannot be read so; the table can
ALTER INDEX op_range2_track_ts_dur_idx RESET (duration);
REINDEX INDEX op_range2_track_ts_dur_idx;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)'), track, count FROM op_range_if_overlap(0, 1200) ORDER BY track;
SELECT op_refusal(format(:'direct', 'op_range_if'));
ALTER INDEX op_range2_track_ts_dur_idx SET (duration = 'dur');
REINDEX INDEX op_range2_track_ts_dur_idx;
-- one that is not valid, and none
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'op_range2_track_ts_dur_idx'::regclass;
SELECT op_refusal('SELECT * FROM op_range_if_overlap(0, 1200)'), op_refusal(format(:'direct', 'op_range_if'));
BEGIN;
SET LOCAL iforest.enable = off;
SELECT track, count FROM op_range_if_overlap(0, 1200) ORDER BY track;
COMMIT;
REINDEX INDEX op_range2_track_ts_dur_idx;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)');
CREATE INDEX op_other ON ONLY op_range USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur');
SELECT op_refusal('SELECT iforest_create_functions(''op_other'')');
SELECT op_refusal(replace(format(:'direct', 'op_other'), 't text, ', ''));
DROP INDEX op_other;
-- a column that has another name, and back
ALTER TABLE op_range RENAME dur TO lasted;
SELECT op_way('SELECT * FROM op_range_if_overlap(0, 1200)'), track, count FROM op_range_if_overlap(0, 1200) ORDER BY track;
ALTER TABLE op_range RENAME lasted TO dur;
-- of an expression, and of some of the rows
CREATE INDEX op_part ON op_range USING iforest ((ts / 2)) INCLUDE (dur) WITH (duration = 'dur') WHERE track > 'a';
SELECT cardinality(iforest_create_functions('op_part'));
SELECT op_way('SELECT * FROM op_part_overlap(0, 1200)'), count, clipped_dur, longest_dur, longest_dur_ts FROM op_part_overlap(0, 1200);
-- more than is kept in memory
INSERT INTO op_range SELECT 'm' || i % 3, i, 700 FROM generate_series(-1000, 999) i;
SET work_mem = '64kB';
SELECT op_answer('SELECT * FROM op_range_if_overlap(-500, 1500, 1500)') = off.answer AS same, length(off.answer) > 100000 AS much
	FROM (SELECT set_config('iforest.enable', 'off', true), op_answer('SELECT * FROM op_range_if_overlap(-500, 1500, 1500)') AS answer, set_config('iforest.enable', 'on', true)) off;
RESET work_mem;
-- cut off in the middle, and asked again
\set VERBOSITY terse
SET statement_timeout = '20ms';
SELECT op_refusal('SELECT count(*) FROM generate_series(1, 100000) w, op_range_if_overlap(w - 500, 1500, 1500)');
RESET statement_timeout;
\set VERBOSITY default
SELECT track, count FROM op_range_if_overlap(0, 1200) WHERE track IN ('a', 'b') ORDER BY 1;
-- without partitions, and of dates and timestamps
CREATE TABLE op_none(at timestamptz, day date, dur bigint) PARTITION BY RANGE (at);
CREATE INDEX op_none_if ON op_none USING iforest (at) INCLUDE (dur) WITH (duration = 'dur');
CREATE INDEX op_none_day ON op_none USING iforest (day) INCLUDE (dur) WITH (duration = 'dur');
SELECT cardinality(iforest_create_functions('op_none_if')), cardinality(iforest_create_functions('op_none_day'));
SELECT count(*) FROM op_none_if_overlap();
SELECT count, clipped_dur, longest_dur FROM op_none_if_overlap(fill => 'zero');
CREATE TABLE op_none1 PARTITION OF op_none FOR VALUES FROM ('2024-03-01') TO ('2024-03-02');
CREATE TABLE op_none2 PARTITION OF op_none FOR VALUES FROM ('2024-03-02') TO ('2024-03-03');
INSERT INTO op_none SELECT '2024-03-01'::timestamptz + i * interval '1 hour', '2024-03-01'::date + i, 7200000000 FROM generate_series(0, 47) i;
SELECT bucket_start AT TIME ZONE 'UTC' AS start, count, clipped_dur, longest_dur, longest_dur_ts AT TIME ZONE 'UTC' AS at FROM op_none_if_overlap('2024-03-01 16:00 UTC', '2024-03-02 04:00 UTC', step => '6 hours');
SELECT bucket, count, clipped_dur FROM op_none_day_overlap('2024-03-10', '2024-05-10', 3, fill => 'null');
SELECT clipped_dur = sum AS same FROM op_none_day_overlap('2024-03-10', '2024-05-10'), (SELECT sum(date '2024-05-10' - greatest(day, '2024-03-10')) FROM op_none WHERE day < '2024-05-10') s;
SELECT op_way('SELECT * FROM op_none_if_overlap()'), clipped_dur FROM op_none_if_overlap();
SET iforest.enable = off;
SELECT clipped_dur FROM op_none_if_overlap();
RESET iforest.enable;
DROP TABLE op_none;
DROP TABLE op_range, op_range2;
SELECT count(*) FROM pg_proc WHERE proname LIKE 'op\_%\_if%';
-- A partition whose spans have all ended when the window begins is left after a look at the roots of its runs: no more is read of it than of an
-- empty one. Bounds are tried around its latest end, 10003, and around that of a point.
CREATE TABLE op_past(track integer, ts bigint, dur bigint) PARTITION BY RANGE (ts);
CREATE INDEX op_past_if ON op_past USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur', background_merge = off);
CREATE TABLE op_past_full PARTITION OF op_past FOR VALUES FROM (0) TO (10000);
CREATE TABLE op_past_none PARTITION OF op_past FOR VALUES FROM (10000) TO (20000);
CREATE TABLE op_past_last PARTITION OF op_past FOR VALUES FROM (20000) TO (30000);
INSERT INTO op_past SELECT i % 30, i, CASE WHEN i = 9998 THEN 5 WHEN i % 7 > 0 THEN i % 3 - 1 END FROM generate_series(0, 9999) i;
INSERT INTO op_past SELECT i % 30, i, 10 FROM generate_series(20000, 20999) i;
VACUUM op_past;
SELECT cardinality(iforest_create_functions('op_past_if'));
CREATE FUNCTION op_reads(OUT of_full bigint, OUT of_none bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_stat_clear_snapshot();
	SELECT sum(idx_blks_hit + idx_blks_read) FILTER (WHERE relname = 'op_past_full'), sum(idx_blks_hit + idx_blks_read) FILTER (WHERE relname = 'op_past_none')
	INTO of_full, of_none FROM pg_statio_all_indexes;
	PERFORM pg_stat_force_next_flush();
END $$;
CREATE FUNCTION op_same(question text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	by_index text := op_answer(question);
	by_table text;
BEGIN
	PERFORM set_config('iforest.enable', 'off', true);
	by_table := op_answer(question);
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN by_index IS NOT DISTINCT FROM by_table;
END $$;
SET plan_cache_mode = force_generic_plan;
PREPARE past(bigint) AS SELECT count(*), sum(count) FROM op_past_if_overlap($1, 20100);
EXECUTE past(10004);
SELECT pg_stat_force_next_flush();
SELECT of_full AS full_before, of_none AS none_before FROM op_reads() \gset
EXECUTE past(10004);
SELECT pg_stat_force_next_flush();
SELECT of_full - :full_before = of_none - :none_before AS no_more_than_of_none FROM op_reads();
EXECUTE past(10003);
EXECUTE past(10002);
SELECT pg_stat_force_next_flush();
SELECT of_full - :full_before > of_none - :none_before AS more FROM op_reads();
DEALLOCATE past;
RESET plan_cache_mode;
SELECT count(*), bool_and(op_same(format('SELECT * FROM op_past_if_overlap(%s, 20010, 3)', t0))) AS same FROM generate_series(9990, 10004) t0;
DELETE FROM op_past WHERE ts BETWEEN 9990 AND 9998;
SELECT count(*), bool_and(op_same(format('SELECT * FROM op_past_if_overlap(%s, 20010, 3)', t0))) AS same FROM generate_series(9997, 10001) t0;
VACUUM op_past;
SELECT count(*), bool_and(op_same(format('SELECT * FROM op_past_if_overlap(%s, 20010, 3)', t0))) AS same FROM generate_series(9997, 10001) t0;
-- what is pending is looked at
INSERT INTO op_past VALUES (1, 500, 19520);
SELECT count(*), bool_and(op_same(format('SELECT * FROM op_past_if_overlap(%s, 20021)', t0))) AS same FROM generate_series(20018, 20020) t0;
SELECT track, count, longest_dur FROM op_past_if_overlap(20019, 20020) WHERE track = 1;
DROP TABLE op_past;
DROP FUNCTION op_reads, op_same;
DROP FUNCTION op_way, op_answer, op_refusal;
