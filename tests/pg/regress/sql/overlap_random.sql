-- Random questions of the overlap functions, over rows that come and go: read from the index the same as by SQL over the table, and, of
-- integers, the same as by what overlapping means, row by row. A difference is shown with its question; another seed: SELECT setseed(...).
SET client_min_messages = warning;
SELECT setseed(0.75);
CREATE TABLE ov(track integer, kind varchar(5) COLLATE "C", ts bigint, dur bigint, at timestamptz, day date, small smallint, ts4 integer, note integer);
CREATE INDEX ov_by ON ov USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 2);
CREATE INDEX ov_all ON ov USING iforest (ts) INCLUDE (small, dur) WITH (duration = 'dur', pending_pages = 1);
CREATE INDEX ov_part ON ov USING iforest (track, (ts / 2)) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 2) WHERE track > 1;
CREATE INDEX ov_at ON ov USING iforest (kind, track, at) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 2);
CREATE INDEX ov_day ON ov USING iforest (day) INCLUDE (small) WITH (duration = 'small', pending_pages = 2);
CREATE INDEX ov_4 ON ov USING iforest (kind, ts4) INCLUDE (small, dur) WITH (duration = 'small', pending_pages = 2);
SELECT sum(cardinality(iforest_create_functions(i))) FROM unnest('{ov_by, ov_all, ov_part, ov_at, ov_day, ov_4}'::regclass[]) i;

-- Now and then times reach to the ends of bigint, ends go beyond, and a span is open over all.
CREATE FUNCTION ov_insert(reach bigint, wanted integer) RETURNS void LANGUAGE sql AS $$
	INSERT INTO ov SELECT CASE WHEN random() > 0.05 THEN (random() * 3)::integer END, (ARRAY['a', 'b', NULL])[1 + (random() * 2)::integer], ts, dur,
		'2024-03-01'::timestamptz + (ts % 100000) * interval '1 us', '2024-03-01'::date + (ts % 1000)::integer, (dur % 1000)::smallint, (ts % 100000)::integer, 0
	FROM (SELECT CASE WHEN random() < 0.03 THEN NULL WHEN random() < 0.01 THEN 9223372036854775807 WHEN random() < 0.01 THEN -9223372036854775808
			ELSE ((random() - 0.4) * reach)::bigint END AS ts,
		CASE WHEN random() < 0.1 THEN NULL WHEN random() < 0.05 THEN (random() * reach)::bigint WHEN random() < 0.01 THEN 9223372036854775807
			WHEN random() < 0.1 THEN -(random() * 50)::bigint WHEN random() < 0.1 THEN 0 ELSE (random() * 60)::bigint END AS dur
		FROM generate_series(1, wanted)) r $$;
-- Rows are deleted, moved in time, moved without a change to what is indexed, and taken back.
CREATE FUNCTION ov_change(reach bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM ov WHERE random() < 0.1;
	PERFORM ov_insert(reach, (random() * 400)::integer);
	UPDATE ov SET dur = dur + 3 WHERE random() < 0.02 AND dur < 1000;
	UPDATE ov SET note = note + 1 WHERE random() < 0.05;
	BEGIN
		PERFORM ov_insert(reach, 100);
		DELETE FROM ov WHERE random() < 0.3;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
END $$;
CREATE FUNCTION ov_number(reach bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT ((random() - 0.5) * reach)::bigint $$;

-- What overlapping means (for bigints; NULL is no bound).
CREATE FUNCTION ov_meaning(rows text, t0 bigint, t1 bigint, n bigint, step bigint, origin bigint)
	RETURNS TABLE(track integer, bucket bigint, count bigint, clipped numeric, longest bigint, longest_ts bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH b(bucket, a, z) AS (
			SELECT 0::bigint, coalesce($1, '-infinity'::numeric), coalesce($2, 'infinity'::numeric) WHERE coalesce($3, 1) = 1 AND $4 IS NULL
			UNION ALL SELECT i, $1 + div(i * ($2::numeric - $1), $3), $1 + div((i + 1) * ($2::numeric - $1), $3) FROM generate_series(0, $3 - 1) i WHERE $3 > 1
			UNION ALL SELECT i::bigint, greatest($1, $5 + i * $4), least($2, $5 + (i + 1) * $4)
				FROM generate_series(floor(($1::numeric - $5) / $4), floor(($2::numeric - 1 - $5) / $4)) i WHERE $4 IS NOT NULL),
		o AS (SELECT r.track, r.ts, r.dur, b.bucket, least(r.ts::numeric + greatest(r.dur, 0), z) - greatest(r.ts::numeric, a) AS inside
			FROM (%s) r, b WHERE coalesce($1 < $2, true) AND r.ts < b.z AND (r.ts::numeric + r.dur > b.a OR (coalesce(r.dur, 0) <= 0 AND r.ts >= b.a)))
		SELECT o.track, o.bucket, count(*), sum(inside), max(dur), (array_agg(ts ORDER BY ts) FILTER (WHERE dur = (SELECT max(p.dur) FROM o p
			WHERE p.track IS NOT DISTINCT FROM o.track AND p.bucket = o.bucket)))[1]
		FROM o GROUP BY 1, 2$q$, rows) USING t0, t1, n, step, coalesce(origin, 0);
END $$;

-- What the peak is: how many of the spans that overlap a bucket are open where one of them begins, or the bucket does.
CREATE FUNCTION ov_peak(rows text, t0 bigint, t1 bigint, n bigint, step bigint, origin bigint)
	RETURNS TABLE(track integer, bucket bigint, peak bigint, peak_ts bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH b(bucket, a, z) AS (
			SELECT 0::bigint, coalesce($1, '-infinity'::numeric), coalesce($2, 'infinity'::numeric) WHERE coalesce($3, 1) = 1 AND $4 IS NULL
			UNION ALL SELECT i, $1 + div(i * ($2::numeric - $1), $3), $1 + div((i + 1) * ($2::numeric - $1), $3) FROM generate_series(0, $3 - 1) i WHERE $3 > 1
			UNION ALL SELECT i::bigint, greatest($1, $5 + i * $4), least($2, $5 + (i + 1) * $4)
				FROM generate_series(floor(($1::numeric - $5) / $4), floor(($2::numeric - 1 - $5) / $4)) i WHERE $4 IS NOT NULL),
		o AS (SELECT r.track, r.ts, r.ts::numeric + greatest(r.dur, 0) AS e, b.bucket, greatest(r.ts::numeric, a) AS at
			FROM (%s) r, b WHERE coalesce($1 < $2, true) AND r.ts < b.z AND (r.ts::numeric + r.dur > b.a OR (coalesce(r.dur, 0) <= 0 AND r.ts >= b.a))),
		c AS (SELECT DISTINCT o.track, o.bucket, at FROM o),
		n AS (SELECT c.track, c.bucket, c.at, count(*) AS n FROM c JOIN o ON o.bucket = c.bucket AND o.track IS NOT DISTINCT FROM c.track
			AND (o.ts = c.at OR o.ts < c.at AND o.e > c.at) GROUP BY 1, 2, 3)
		SELECT DISTINCT ON (n.track, n.bucket) n.track, n.bucket, n.n, n.at::bigint FROM n ORDER BY n.track, n.bucket, n.n DESC, n.at$q$, rows)
		USING t0, t1, n, step, coalesce(origin, 0);
END $$;
-- A question, and where there is one what must come out of it; and of the same, where it has no fill, the peaks.
CREATE FUNCTION ov_question(reach bigint, OUT question text, OUT meaning text, OUT peaks text, OUT peak_meaning text, OUT gaps text) LANGUAGE plpgsql AS $$
DECLARE
	t0 bigint := ov_number(reach);
	t1 bigint := ov_number(reach);
	n bigint := CASE WHEN random() < 0.4 THEN 1 + (random() * random() * 60)::bigint END;
	step bigint := CASE WHEN n IS NULL AND random() < 0.5 THEN 1 + reach / 30 + (random() * reach / 20)::bigint END;
	origin bigint := CASE WHEN step IS NOT NULL AND random() < 0.5 THEN ov_number(reach) END;
	fill text := CASE WHEN step IS NULL AND random() < 0.3 THEN (ARRAY['zero', 'null'])[1 + floor(random() * 2)] END;
	which text := (ARRAY['ov_by', 'ov_all', 'ov_part', 'ov_at', 'ov_day', 'ov_4', 'ov_by', 'ov_all'])[1 + floor(random() * 8)];
	condition text := CASE WHEN which = 'ov_all' OR which = 'ov_day' OR random() < 0.6 THEN '' WHEN which IN ('ov_at', 'ov_4') THEN
		(ARRAY[' WHERE kind = ''a''', ' WHERE kind IN (''b'', ''zz'')', ' WHERE kind IS NULL'])[1 + floor(random() * 3)]
		ELSE (ARRAY[' WHERE track = 2', ' WHERE track = ANY (''{1,3,77}'')', ' WHERE 2 < track', ' WHERE track IS NULL'])[1 + floor(random() * 4)] END;
BEGIN
	IF random() < 0.3 THEN
		t1 := t0 + (random() * 30)::bigint;
	END IF;
	IF which = 'ov_at' THEN
		t0 := t0 % 100000;
		t1 := t1 % 100000;
		question := format('%s_overlap(%s, %s%s%s%s)', which, quote_nullable('2024-03-01'::timestamptz + t0 * interval '1 us'),
			quote_nullable('2024-03-01'::timestamptz + t1 * interval '1 us'), ', n => ' || n, ', step => ''' || (1 + step % 100000) || ' us''', ', fill => ' || quote_literal(fill));
	ELSIF which = 'ov_day' THEN
		question := format('%s_overlap(%L, %L%s%s%s)', which, '2024-03-01'::date + (t0 % 1000)::integer, '2024-03-01'::date + (t1 % 1000)::integer,
			', n => ' || n, ', step => ' || (1 + step % 1000), ', fill => ' || quote_literal(fill));
	ELSE
		IF which = 'ov_4' THEN
			t0 := t0 % 200000;
			t1 := t1 % 200000;
			step := 1 + step % 5000;
			origin := origin % 1000;
		END IF;
		IF random() < 0.2 AND n IS NULL AND step IS NULL THEN
			IF random() < 0.5 THEN t0 := NULL; ELSE t1 := NULL; END IF;
		END IF;
		question := format('%s_overlap(%s)', which, concat_ws(', ', 't0 => ' || t0, 't1 => ' || t1, 'n => ' || n, 'step => ' || step, 'origin => ' || origin, 'fill => ' || quote_literal(fill)));
		IF which <> 'ov_4' AND condition = '' AND fill IS NULL THEN
			meaning := format('SELECT * FROM ov_meaning(%L, %L, %L, %L, %L, %L)', CASE which WHEN 'ov_by' THEN 'SELECT track, ts, dur FROM ov'
				WHEN 'ov_all' THEN 'SELECT NULL::integer AS track, ts, dur FROM ov'
				ELSE 'SELECT track, ts / 2 AS ts, dur FROM ov WHERE track > 1' END, t0, t1, n, step, origin);
		END IF;
	END IF;
	IF fill IS NULL THEN
		peaks := format('SELECT %s, bucket, %speak, peak_ts FROM %s%s', CASE WHEN which IN ('ov_all', 'ov_day') THEN 'NULL' WHEN which IN ('ov_by', 'ov_part') THEN 'track' ELSE 'kind' END,
			CASE WHEN meaning IS NULL THEN 'bucket_start, bucket_end, ' ELSE '' END, replace(question, '_overlap', '_peak'), condition);
		peak_meaning := replace(meaning, 'ov_meaning', 'ov_peak');
	END IF;
	gaps := format('SELECT %s, gap_start, gap_end FROM %s_gaps(%s)%s', CASE WHEN which IN ('ov_all', 'ov_day') THEN 'NULL' WHEN which IN ('ov_by', 'ov_part') THEN 'track' ELSE 'kind' END, which,
		CASE which WHEN 'ov_at' THEN format('%L, %L, %L', '2024-03-01'::timestamptz + t0 * interval '1 us', '2024-03-01'::timestamptz + t1 * interval '1 us', (ARRAY['5 us', '1 ms'])[1 + (random() * 2)::integer])
		WHEN 'ov_day' THEN format('%L, %L, %L', '2024-03-01'::date + (t0 % 1000)::integer, '2024-03-01'::date + (t1 % 1000)::integer, (ARRAY[1, 4])[1 + (random() * 2)::integer])
		ELSE concat_ws(', ', 't0 => ' || t0, 't1 => ' || t1, 'longer_than => ' || (ARRAY[-1, 2, 40, reach / 30])[1 + (random() * 5)::integer]) END, condition);
	-- which of several rows at one place in time it is may differ after an update in place: but it is one of these
	question := format('SELECT %s, bucket, %scount, clipped, longest, longest_ts%s FROM (SELECT %s * FROM %s%s) AS o(%s bucket, bucket_start, bucket_end, count, clipped, longest, longest_row, longest_ts)',
		CASE WHEN which IN ('ov_all', 'ov_day') THEN 'NULL' WHEN which IN ('ov_by', 'ov_part') THEN 'track' ELSE 'kind' END,
		CASE WHEN meaning IS NULL THEN 'bucket_start, bucket_end, ' ELSE '' END,
		CASE WHEN meaning IS NULL THEN format(', longest IS NULL = (longest_row IS NULL) AND longest IS NOT DISTINCT FROM (SELECT %s FROM ov WHERE ctid = longest_row)',
			CASE WHEN which IN ('ov_day', 'ov_4') THEN 'small' ELSE 'dur' END) ELSE '' END, '', question, condition,
		CASE which WHEN 'ov_all' THEN '' WHEN 'ov_day' THEN '' WHEN 'ov_at' THEN 'kind, track, ' WHEN 'ov_4' THEN 'kind, ' ELSE 'track, ' END);
END $$;
CREATE FUNCTION ov_answer(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT string_agg(x::text, chr(10) ORDER BY x::text) FROM (%s) x', question) INTO answer;
	RETURN answer;
EXCEPTION WHEN numeric_value_out_of_range OR datetime_field_overflow THEN
	RETURN SQLERRM;
END $$;
-- Half of the questions are asked in the transaction that has changed the rows.
CREATE PROCEDURE ov_ask(rounds integer, INOUT answers integer DEFAULT 0, INOUT meanings integer DEFAULT 0, INOUT from_index integer DEFAULT 0, INOUT different text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
	asked record;
	line text;
	answer text;
	reach bigint;
BEGIN
	FOR round IN 0 .. rounds - 1 LOOP
		IF round % 10 = 0 THEN
			reach := (ARRAY[300, 100000, 9000000000000000000])[1 + round / 20 % 3];
			PERFORM ov_change(reach);
		ELSIF round % 10 = 5 THEN
			COMMIT;
		END IF;
		asked := ov_question(reach);
		SET LOCAL iforest.enable = on;
		answer := ov_answer(asked.question);
		answers := answers + (answer IS NOT NULL)::integer;
		IF round % 4 = 0 AND answer !~ 'range' THEN
			FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || asked.question LOOP
				from_index := from_index + (line ~ 'Function Scan on iforest_overlap_spans .*rows=[1-9]')::integer;
			END LOOP;
		END IF;
		SET LOCAL iforest.enable = off;
		IF answer IS DISTINCT FROM ov_answer(asked.question) THEN
			different := different || 'by SQL: ' || asked.question || E';\n' || coalesce(answer, 'none') || E'\n--\n' || coalesce(ov_answer(asked.question), 'none') || E'\n';
		END IF;
		IF asked.peaks IS NOT NULL THEN
			SET LOCAL iforest.enable = on;
			answer := ov_answer(asked.peaks);
			SET LOCAL iforest.enable = off;
			IF answer IS DISTINCT FROM ov_answer(asked.peaks) OR round % 3 = 0 AND asked.peak_meaning IS NOT NULL AND answer IS DISTINCT FROM ov_answer(asked.peak_meaning) AND answer !~ 'range' THEN
				different := different || 'peaks: ' || asked.peaks || E';\n' || coalesce(answer, 'none') || E'\n--\n' || coalesce(ov_answer(asked.peaks), 'none') || E'\n--\n' || coalesce(ov_answer(asked.peak_meaning), 'none') || E'\n';
			END IF;
		END IF;
		SET LOCAL iforest.enable = on;
		answer := ov_answer(asked.gaps);
		SET LOCAL iforest.enable = off;
		IF answer IS DISTINCT FROM ov_answer(asked.gaps) THEN
			different := different || 'gaps: ' || asked.gaps || E';\n' || coalesce(answer, 'none') || E'\n--\n' || coalesce(ov_answer(asked.gaps), 'none') || E'\n';
		END IF;
		SET LOCAL iforest.enable = on;
		answer := ov_answer(asked.question);
		SET LOCAL iforest.enable = off;
		IF asked.meaning IS NOT NULL THEN
			meanings := meanings + 1;
			IF answer IS DISTINCT FROM ov_answer(asked.meaning) AND answer !~ 'range' THEN
				different := different || 'by meaning: ' || asked.question || E';\n' || coalesce(answer, 'none') || E'\n--\n' || coalesce(ov_answer(asked.meaning), 'none') || E'\n';
			END IF;
		END IF;
	END LOOP;
	answers := (answers > rounds / 2)::integer;
	meanings := (meanings > rounds / 5)::integer;
	from_index := (from_index > rounds / 10)::integer;
END $$;
CALL ov_ask(100);
SELECT count(*) > 500 AS rows FROM ov;
-- vacuumed, sealed and merged
VACUUM ov;
SELECT count(iforest_merge(i, true)) FROM unnest('{ov_by, ov_all, ov_part, ov_at, ov_day, ov_4}'::regclass[]) i;
CALL ov_ask(40);
VACUUM ov;
CALL ov_ask(20);
DROP TABLE ov;
DROP PROCEDURE ov_ask;
DROP FUNCTION ov_answer, ov_question, ov_meaning, ov_peak, ov_number, ov_change, ov_insert;
