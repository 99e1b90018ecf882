-- Of an overlap function's two halves one is not run: it costs nothing in the plan, and has nothing compiled for it.
SET client_min_messages = warning;
CREATE TABLE oc(track text, ts bigint NOT NULL, dur bigint);
INSERT INTO oc SELECT 't' || i % 16, i * 3, i % 100 FROM generate_series(0, 99999) i;
CREATE INDEX oc_if ON oc USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');
CREATE TABLE ocp(LIKE oc) PARTITION BY RANGE (ts);
SELECT format('CREATE TABLE ocp%s PARTITION OF ocp FOR VALUES FROM (%s) TO (%s)', i, i * 30000, i * 30000 + 30000) FROM generate_series(0, 9) i \gexec
INSERT INTO ocp SELECT * FROM oc;
CREATE INDEX ocp_if ON ocp USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');
VACUUM ANALYZE oc, ocp;
SELECT cardinality(iforest_create_functions('oc_if')), cardinality(iforest_create_functions('ocp_if'));

-- Settings are as they are by default (those of tests do not compile), but that compiling begins at less. Does a plan cost too little for it, was anything compiled, and which half answered?
SET jit = on; SET jit_above_cost = 2000;
CREATE FUNCTION pg_temp.plan(question text, OUT is_cheap boolean, OUT is_compiled boolean, OUT way text) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || question INTO plan;
	is_cheap := (plan->0->'Plan'->>'Total Cost')::float8 < current_setting('jit_above_cost')::float8;
	-- where the server cannot, as the cost says
	is_compiled := CASE WHEN pg_jit_available() THEN plan->0->'JIT' IS NOT NULL ELSE NOT is_cheap END;
	way := CASE WHEN plan::text ~ '"Relation Name": "oc[^}]*"Actual Loops": [1-9]' THEN 'table' ELSE 'index' END;
END $$;
CREATE FUNCTION pg_temp.answer(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || md5(string_agg(x::text, '' '' ORDER BY x::text)) FROM (' || question || ') x' INTO answer;
	RETURN answer;
END $$;

CREATE TABLE questions AS SELECT * FROM unnest(ARRAY['SELECT * FROM oc_if_overlap(100000, 100300, 4)', 'SELECT * FROM oc_if_overlap(100000, 100300, 4, fill => ''zero'')',
	'SELECT * FROM oc_if_overlap(100000, 100300, step => 10) WHERE track = ''t1''', 'SELECT * FROM oc_if_overlap()',
	'SELECT a.track, a.count, b.clipped_dur FROM oc_if_overlap(1000, 1300) a JOIN oc_if_overlap(1100, 1200) b USING (track)',
	'SELECT * FROM ocp_if_overlap(29000, 31000, 4)', 'SELECT * FROM ocp_if_overlap(29000, 31000, 4, fill => ''zero'')']) WITH ORDINALITY AS q(question, n);
CREATE TEMPORARY TABLE answers_by_index AS SELECT n, pg_temp.answer(question) AS answer FROM questions;
SELECT n, p.* FROM questions, pg_temp.plan(question) p ORDER BY n;
SET iforest.enable = off;
SELECT n, p.*, pg_temp.answer(question) = answer AS is_same FROM questions JOIN answers_by_index USING (n), pg_temp.plan(question) p ORDER BY n;
RESET iforest.enable;

-- a plan that is kept is right when the other half is to answer, whichever it was made for
SET plan_cache_mode = force_generic_plan;
PREPARE made_on(bigint, bigint, bigint) AS SELECT * FROM oc_if_overlap($1, $2, $3) ORDER BY 1, 2;
PREPARE made_off(bigint, bigint, bigint) AS SELECT * FROM oc_if_overlap($1, $2, $3) ORDER BY 1, 2;
CREATE TEMPORARY TABLE kept(made text, is_on text, track text, bucket bigint, bucket_start bigint, bucket_end bigint, count bigint, clipped_dur numeric, longest_dur bigint, longest_dur_ctid tid, longest_dur_ts bigint);
CREATE FUNCTION pg_temp.keep(made text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMPORARY TABLE one AS EXECUTE %I(100000, 100300, 4)', made);
	EXECUTE 'INSERT INTO kept SELECT $1, current_setting(''iforest.enable''), * FROM one' USING made;
	DROP TABLE one;
END $$;
SELECT p.* FROM pg_temp.plan('EXECUTE made_on(100000, 100300, 4)') p;
SELECT pg_temp.keep('made_on');
SET iforest.enable = off;
SELECT p.* FROM pg_temp.plan('EXECUTE made_on(100000, 100300, 4)') p;
SELECT p.* FROM pg_temp.plan('EXECUTE made_off(100000, 100300, 4)') p;
SELECT pg_temp.keep('made_on'), pg_temp.keep('made_off');
RESET iforest.enable;
SELECT p.* FROM pg_temp.plan('EXECUTE made_on(100000, 100300, 4)') p;
SELECT p.* FROM pg_temp.plan('EXECUTE made_off(100000, 100300, 4)') p;
SELECT pg_temp.keep('made_off');
SELECT made, is_on, count(*), md5(string_agg((track, bucket, bucket_start, bucket_end, count, clipped_dur, longest_dur, longest_dur_ctid, longest_dur_ts)::text, ' ' ORDER BY track, bucket)) =
	first_value(md5(string_agg((track, bucket, bucket_start, bucket_end, count, clipped_dur, longest_dur, longest_dur_ctid, longest_dur_ts)::text, ' ' ORDER BY track, bucket))) OVER () AS is_same
	FROM kept GROUP BY 1, 2 ORDER BY 1, 2;
-- and is made anew without the index
DROP TABLE kept;
ALTER TABLE oc RENAME dur TO lasted;
SELECT p.* FROM pg_temp.plan('EXECUTE made_on(100000, 100300, 4)') p;
SELECT p.* FROM pg_temp.plan('SELECT * FROM oc_if_overlap(100000, 100300, 4)') p;
ALTER TABLE oc RENAME lasted TO dur;
SELECT p.* FROM pg_temp.plan('EXECUTE made_on(100000, 100300, 4)') p;
DEALLOCATE ALL;

-- Of windows: what constants rule out is not planned; of all times nothing is thought where a window may come. Errors are those of other plans.
CREATE FUNCTION pg_temp.ask(question text, VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text := 'SELECT count(*) || '' '' || md5(string_agg(x::text, '' '' ORDER BY x::text)) FROM (' || question || ') x';
	answer text;
	line text;
	gates text := '';
BEGIN
	EXECUTE 'PREPARE ask(bigint, bigint, bigint, text) AS ' || rows;
	FOR line IN EXECUTE format('EXPLAIN EXECUTE ask(%s)', array_to_string(arguments, ', ')) LOOP
		gates := gates || CASE WHEN line ~ 'Result  \(cost=0.0\d..0.0' THEN ' nothing:'
			WHEN line ~ 'One-Time Filter: .*window_asks\(.*, false, false\)' THEN ' window' WHEN line ~ 'One-Time Filter: .*window_asks\(.*, true, false\)' THEN ' all'
			WHEN line ~ 'One-Time Filter: .*, true\)' THEN ' filled' WHEN line ~ 'One-Time Filter: .*, false\)' THEN ' plain' ELSE '' END;
	END LOOP;
	EXECUTE format('EXECUTE ask(%s)', array_to_string(arguments, ', ')) INTO answer;
	DEALLOCATE ask;
	FOR i IN 1 .. cardinality(arguments) LOOP
		rows := replace(rows, '$' || i, arguments[i]);
	END LOOP;
	EXECUTE rows INTO line;
	RETURN CASE WHEN answer IS NOT DISTINCT FROM line THEN 'same' ELSE 'different' END || ':' || gates;
EXCEPTION WHEN invalid_parameter_value THEN
	DEALLOCATE ask;
	RETURN SQLERRM || ':' || gates;
END $$;
SET max_parallel_workers_per_gather = 0;  -- arms stand in their order
\x on
SELECT question, pg_temp.ask(question, '1000', '9000', '7', '''zero''') AS "zero", pg_temp.ask(question, '(-9223372036854775808)', '9223372036854775807', '1', 'NULL') AS "open",
	pg_temp.ask(question, '1000', '9000', '0', '''none''') AS "no buckets", pg_temp.ask(question, '1000', '9000', '3', '''last''') AS "last", pg_temp.ask(question, '1000', '9000', '3', '''more''') AS "more"
FROM unnest(ARRAY['SELECT * FROM oc_if($1, $2, $3)', 'SELECT * FROM ocp_if($1, $2, $3)', 'SELECT * FROM oc_if($1, $2)', 'SELECT * FROM oc_if($1, $2, 5)', 'SELECT * FROM oc_if($1, $2, step => $3)', 'SELECT * FROM oc_if($1, $2, step => 1000)',
	'SELECT * FROM oc_if($1, 9000)', 'SELECT * FROM oc_if(n => $3)', 'SELECT * FROM oc_if(1000, $2, $3, fill => $4)', 'SELECT * FROM oc_if($1, $2, $3, fill => ''none'')', 'SELECT * FROM oc_if($1, $2, $3, fill => ''null'')',
	'SELECT * FROM oc_if($1, $2, $3, fill => ''last'')', 'SELECT * FROM oc_if($1, $2, $3, fill => ''more'')', 'SELECT * FROM oc_if_overlap($1, $2, $3, fill => $4)', 'SELECT * FROM oc_if_overlap($1, $2, $3, fill => ''null'')']) question;
\x off
RESET max_parallel_workers_per_gather;
RESET plan_cache_mode;

-- who does not see all rows has the table read, and that is what it costs
CREATE ROLE oc_reader;
GRANT SELECT ON oc TO oc_reader;
ALTER TABLE oc ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_of_it ON oc USING (true);
SET ROLE oc_reader;
SELECT p.* FROM pg_temp.plan('SELECT * FROM oc_if_overlap(100000, 100300, 4)') p;
RESET ROLE;
DROP TABLE oc, ocp, questions;
DROP ROLE oc_reader;
