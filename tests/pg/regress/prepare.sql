-- What the files of this suite share; run once before them.

-- Plans are made dear to have others chosen; compiling each of these would take longer than all else.
SELECT format('ALTER DATABASE %I SET jit = off', current_database()) \gexec

-- Every plan for a question must give the same rows. The question is asked with sequential scans alone, with index scans alone and with
-- bitmap scans alone; says of the two latter "same", "different", or "not offered" where the planner had no iforest index to use.
-- Rows are compared in their order where the question orders them (sorting is discouraged then), else as a bag.
CREATE FUNCTION answers(question text, OUT row_count bigint, OUT index_scan text, OUT bitmap_scan text)
LANGUAGE plpgsql SET enable_seqscan FROM CURRENT SET enable_indexscan FROM CURRENT SET enable_bitmapscan FROM CURRENT
SET enable_sort FROM CURRENT AS $$
DECLARE
	ordered boolean := question ~* 'ORDER BY';
	gather text := format('SELECT array_agg(answer::text%s) FROM (%s) answer',
		CASE WHEN ordered THEN '' ELSE ' ORDER BY answer::text' END, question);
	expected text[];
	actual text[];
	plan text;
	line text;
	verdict text;
BEGIN
	PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE gather INTO expected;
	row_count := coalesce(cardinality(expected), 0);
	PERFORM set_config('enable_seqscan', 'off', true);
	FOR kind IN 1 .. 2 LOOP
		PERFORM set_config('enable_indexscan', CASE kind WHEN 1 THEN 'on' ELSE 'off' END, true),
			set_config('enable_bitmapscan', CASE kind WHEN 1 THEN 'off' ELSE 'on' END, true),
			set_config('enable_sort', CASE WHEN ordered AND kind = 1 THEN 'off' ELSE 'on' END, true);
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
			plan := plan || line || E'\n';
		END LOOP;
		EXECUTE gather INTO actual;
		verdict := CASE
			WHEN plan !~ (CASE kind WHEN 1 THEN 'Index Scan (Backward )?using \S*_if' ELSE 'Bitmap Index Scan on \S*_if' END) THEN 'not offered'
			WHEN actual IS DISTINCT FROM expected THEN 'different'
			WHEN kind = 1 AND plan ~ '(^|-> +)(Incremental )?Sort\n' THEN 'same, sorted'
			ELSE 'same' END;
		IF kind = 1 THEN index_scan := verdict; ELSE bitmap_scan := verdict; END IF;
	END LOOP;
END $$;

-- The first line of EXPLAIN ANALYZE that matches a pattern; NULL if there is none.
CREATE FUNCTION plan_line(question text, pattern text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || question LOOP
		IF line ~ pattern THEN
			RETURN trim(line);
		END IF;
	END LOOP;
	RETURN NULL;
END $$;

-- Runs a statement and takes it back: "accepted", or why it was refused.
CREATE FUNCTION refusal(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	details text;
	advice text;
BEGIN
	BEGIN
		EXECUTE statement;
		RAISE EXCEPTION USING ERRCODE = 'T0000';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL,
			advice = PG_EXCEPTION_HINT;
	END;
	IF code = 'T0000' THEN
		RETURN 'accepted';
	END IF;
	RETURN code || ': ' || message || coalesce(E'\nDETAIL: ' || nullif(details, ''), '') ||
		coalesce(E'\nHINT: ' || nullif(advice, ''), '');
END $$;

-- Rows of an index as its own pages have them; the table's rows where the index holds each row of it once.
CREATE FUNCTION indexed(index regclass) RETURNS bigint LANGUAGE sql AS
	'SELECT entries + pending_entries FROM iforest_stats($1)';

-- Asks each question of a table `questions` with the index and without. Tells which are not answered by such a plan, and which differently.
CREATE PROCEDURE compare_questions(plan_of_index text) LANGUAGE plpgsql AS $$
DECLARE
	q record;
	plan json;
	n int;
	n_rows int := 0;
BEGIN
	FOR q IN SELECT * FROM questions ORDER BY number LOOP
		EXECUTE 'EXPLAIN (FORMAT json) ' || q.question INTO plan;
		IF plan::text NOT LIKE plan_of_index THEN
			RAISE NOTICE 'not answered: %', q.question;
		END IF;
		EXECUTE 'CREATE TEMPORARY TABLE answered AS SELECT t::text FROM (' || q.question || ') AS t';
		SET LOCAL iforest.enable = off;
		EXECUTE 'SELECT count(*) FROM ((TABLE answered EXCEPT ALL SELECT t::text FROM (' || q.question || ') AS t) UNION ALL (SELECT t::text FROM (' ||
			q.question || ') AS t EXCEPT ALL TABLE answered)) AS d' INTO n;
		IF n > 0 THEN
			RAISE NOTICE '% rows differ: %', n, q.question;
		END IF;
		n_rows := n_rows + (SELECT count(*) FROM answered);
		DROP TABLE answered;
		SET LOCAL iforest.enable = on;
	END LOOP;
	RAISE NOTICE '% rows of % questions compared', n_rows, (SELECT count(*) FROM questions);
END $$;
