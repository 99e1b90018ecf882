-- Who may not read a row learns nothing of it by an index: row security, security barriers, privileges of columns, leaky functions.
-- Nobody's names, operators or functions are taken for those of the extension or of PostgreSQL.
\set VERBOSITY terse
CREATE ROLE iforest_owner;
CREATE ROLE iforest_reader;
CREATE ROLE iforest_evil;
GRANT CREATE ON SCHEMA public TO iforest_owner, iforest_evil;
GRANT CREATE ON DATABASE iforest_regress TO iforest_owner, iforest_evil;

-- What a question gives: its rows, or its error.
CREATE FUNCTION outcome(question text, is_enabled boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text[];
BEGIN
	PERFORM set_config('iforest.enable', is_enabled::text, true);
	EXECUTE format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question) INTO rows;
	RETURN coalesce(cardinality(rows), 0) || ' rows ' || md5(coalesce(rows::text, ''));
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- The same with the index and without; and whether a node of the extension answers. Of its rows only how many there are.
CREATE FUNCTION same(question text, OUT answer text, OUT by_index boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	answer := outcome(question, true);
	IF answer <> outcome(question, false) THEN
		answer := 'DIFFERENT: ' || answer || ' / ' || outcome(question, false);
	ELSE
		answer := regexp_replace(answer, ' rows .*', ' rows');
	END IF;
	by_index := false;
	PERFORM set_config('iforest.enable', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || question LOOP
		by_index := by_index OR line ~ 'IForest';
	END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
END $$;

SET ROLE iforest_owner;
CREATE TABLE kept(tenant text, ts bigint, dur bigint, cost integer, note text);
INSERT INTO kept SELECT 't' || i % 4, i, CASE i % 4 WHEN 1 THEN i % 50 ELSE 1000 + i % 50 END, CASE i % 4 WHEN 1 THEN i % 7 ELSE 1000 + i % 7 END, 'n' FROM generate_series(1, 40000) i;
CREATE INDEX kept_if ON kept USING iforest (tenant, ts) INCLUDE (dur, cost) WITH (duration = 'dur', sketch = 'dur', variance = 'dur');
CREATE INDEX kept_time_if ON kept USING iforest (ts) INCLUDE (dur, cost) WITH (duration = 'dur', sketch = 'dur');
SELECT cardinality(iforest_create_functions('kept_if')), cardinality(iforest_create_functions('kept_time_if'));
CREATE FUNCTION is_mine(tenant text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN tenant = current_setting('app.tenant'); END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM kept WHERE tenant = 't1';
GRANT SELECT ON barrier TO iforest_reader;
RESET ROLE;
VACUUM ANALYZE kept;

CREATE TABLE asked(id serial, question text);
GRANT SELECT ON asked TO PUBLIC;
INSERT INTO asked(question) VALUES
	('SELECT count(*), sum(dur), max(cost), min(ts), stddev(dur) FROM kept'), ('SELECT tenant, count(*), sum(dur) FROM kept GROUP BY 1'),
	('SELECT ts / 1000, count(*), max(dur) FROM kept WHERE ts < 20000 GROUP BY 1'), ('SELECT tenant, iforest_bucket(ts, 0, 40000, 8), avg(cost) FROM kept GROUP BY 1, 2'),
	('SELECT iforest_quantile(iforest_sketch(dur), 0.9) FROM kept'), ('SELECT iforest_max_row(dur, ts, ctid), iforest_first(cost, ts, ctid) FROM kept'),
	('SELECT ts, dur FROM kept ORDER BY dur DESC LIMIT 5'), ('SELECT ts, dur FROM kept ORDER BY dur LIMIT 5'), ('SELECT ts FROM kept WHERE tenant = ''t2'' ORDER BY cost DESC LIMIT 3'),
	('SELECT ts, dur FROM kept WHERE ts < 20000 AND ts + dur > 19990'), ('SELECT * FROM kept_if()'), ('SELECT * FROM kept_if(0, 40000, 8, fill => ''zero'')'),
	('SELECT * FROM kept_if(0, 40000, 8, fill => ''last'')'), ('SELECT * FROM kept_time_if(0, 40000, 8)'), ('SELECT * FROM kept_if_rows(20000, 20010)'), ('SELECT * FROM kept_time_if_rows(20000, 20010)'),
	('SELECT * FROM kept_if_overlap(10000, 20000, 4)'), ('SELECT * FROM kept_time_if_overlap(10000, 20000, 4)'), ('SELECT * FROM kept_if_overlap(10000, 20000, 4) WHERE tenant = ''t2'''),
	('SELECT count(*) FROM kept WHERE tenant IN (''t1'', ''t2'')'), ('SELECT (SELECT sum(dur) FROM kept k WHERE k.ts < w * 100) FROM generate_series(1, 3) w'),
	('SELECT max(dur) FROM kept WHERE dur > 1000');

-- ---- no privilege at all ----
SET ROLE iforest_reader;
SELECT DISTINCT (same(question)).answer FROM asked;
SELECT call, refusal('SELECT ' || call) FROM unnest('{iforest_stats(''kept_if''), iforest_runs(''kept_if''), iforest_check(''kept_if''), "iforest_check(''kept_if'', true)", iforest_merge(''kept_if''), "iforest_page(''kept_if'', 0)", "iforest_entries(''kept_if'', 1)", iforest_create_functions(''kept_if'')}'::text[]) call;
-- what the functions of an index are made of tells nothing by itself
CREATE TEMP TABLE by_hand AS SELECT c.oid AS index, format('SELECT count(*) FROM iforest_overlap_spans(%s, 0::bigint, 100::bigint, 1::bigint, NULL::bigint, NULL::bigint) AS (%s bucket bigint, a bigint, b bigint, n bigint, inside numeric, longest bigint, longest_row tid, longest_ts bigint)',
	c.oid, CASE c.relname WHEN 'kept_if' THEN 'tenant text,' END) AS question FROM pg_class c WHERE relname IN ('kept_if', 'kept_time_if');
SELECT refusal(question) FROM by_hand;
SELECT iforest_overlap_index('kept', '{ts,INCLUDE,dur,cost}', NULL, 0);

-- ---- a view as a barrier ----
SELECT question, (same(question)).answer FROM (SELECT id, replace(question, 'FROM kept', 'FROM barrier') AS question FROM asked WHERE question !~ 'kept_|ctid') q ORDER BY id;
-- functions of the reader's own, as cheap as can be: they tell, by a NOTICE, each hidden row that they are shown
CREATE FUNCTION pg_temp.peek(v bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$ BEGIN IF v >= 1000 THEN RAISE NOTICE 'seen: %', v; END IF; RETURN true; END $$;
CREATE FUNCTION pg_temp.peek_tenant(v text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$ BEGIN IF v <> 't1' THEN RAISE NOTICE 'seen: %', v; END IF; RETURN true; END $$;
CREATE FUNCTION pg_temp.peek_time(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$ BEGIN IF v % 4 <> 1 THEN RAISE NOTICE 'seen: %', v; END IF; RETURN v; END $$;
CREATE FUNCTION pg_temp.quiet(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$ BEGIN RETURN 1 / (v - 2); END $$;
CREATE FUNCTION pg_temp.peek_bucket(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS $$ BEGIN IF v >= 100 THEN RAISE NOTICE 'seen: bucket %', v; END IF; RETURN v; END $$;
SELECT pg_temp.peek(1000), pg_temp.peek_tenant('t2'), pg_temp.peek_time(2), pg_temp.peek_bucket(100);
CREATE TEMP TABLE leaks(id serial, question text);
INSERT INTO leaks(question) VALUES ('SELECT count(*) FROM kept WHERE pg_temp.peek(dur)'), ('SELECT count(*) FROM kept WHERE pg_temp.peek_tenant(tenant)'),
	('SELECT tenant, pg_temp.peek_tenant(tenant), count(*) FROM kept GROUP BY 1, 2'), ('SELECT pg_temp.peek(max(dur)), pg_temp.peek_tenant(tenant) FROM kept GROUP BY tenant'),
	('SELECT tenant FROM kept GROUP BY tenant HAVING pg_temp.peek(sum(cost) / count(*))'), ('SELECT count(*) FROM kept WHERE pg_temp.peek_time(ts) < 100'), ('SELECT count(*) FROM kept WHERE pg_temp.quiet(ts) = 0'),
	('SELECT pg_temp.peek_time(ts) / 1000, count(*) FROM kept GROUP BY 1'), ('SELECT count(*) FILTER (WHERE pg_temp.peek_tenant(tenant)) FROM kept'), ('SELECT sum(pg_temp.peek_time(ts)) FROM kept'),
	('SELECT ts, dur FROM kept WHERE pg_temp.peek(dur) ORDER BY dur DESC LIMIT 3'), ('SELECT ts, dur FROM kept WHERE pg_temp.peek_tenant(tenant) AND ts < 20000 AND ts + dur > 19990'),
	('SELECT count(*) FROM kept WHERE tenant::integer > 0'), ('SELECT count(*) FROM kept WHERE 1 / (dur - 1000) < 5 AND ts < 20000'), ('SELECT count(*) FROM kept WHERE 1 / (ts - 2) < 5'), ('SELECT 1 / (ts - 2), count(*) FROM kept GROUP BY 1');
SELECT question, (same(question)).answer FROM (SELECT id, replace(question, 'FROM kept', 'FROM barrier') AS question FROM leaks) q ORDER BY id;
SELECT count(*) FILTER (WHERE (same(replace(question, 'FROM kept', 'FROM barrier'))).by_index) > 5 AS most_by_index FROM asked WHERE question !~ 'kept_|ctid';
SELECT count(*) FILTER (WHERE (same(replace(question, 'FROM kept', 'FROM barrier'))).by_index) > 3 AS some_by_index FROM leaks;
-- conditions between the barrier and a level that only hands rows on
SELECT (same('SELECT count(*) FROM (SELECT * FROM barrier OFFSET 0) q WHERE pg_temp.peek_tenant(tenant) AND ts < 5000')).*;
SELECT (same('SELECT count(*) FROM (SELECT * FROM barrier WHERE pg_temp.peek_tenant(tenant) OFFSET 0) q WHERE ts < 5000')).*;
SELECT (same('SELECT count(*) FROM (SELECT * FROM barrier WHERE ts > 100 OFFSET 0) q WHERE ts < 5000')).*;
RESET ROLE;

-- ---- row security ----
SET ROLE iforest_owner;
GRANT SELECT ON kept TO iforest_reader;
ALTER TABLE kept ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON kept USING (tenant = current_setting('app.tenant'));
RESET ROLE;
SET app.tenant = 't1';
SET ROLE iforest_reader;
SELECT question, (same(question)).answer FROM asked ORDER BY id;
SELECT question, (same(question)).answer FROM leaks ORDER BY id;
SELECT count(*) FILTER (WHERE (same(question)).by_index) > 10 AS most_by_index FROM asked;
SELECT count(*) FILTER (WHERE (same(question)).by_index) > 3 AS some_by_index FROM leaks;
SELECT (SELECT count(*) FROM kept) AS mine, (SELECT sum(count) FROM kept_if()) AS in_function, (SELECT sum(count) FROM kept_if_overlap()) AS overlapping, (SELECT max(dur) FROM kept) < 1000 AS no_other;
-- by hand, past the policy
SELECT refusal(question) FROM by_hand;
SELECT iforest_overlap_index('kept', '{ts,INCLUDE,dur,cost}', NULL, 0);
RESET ROLE;
-- a policy that is a function; the owner, who is excepted, and who is not with FORCE; a superuser
ALTER POLICY of_tenant ON kept USING (is_mine(tenant));
SET ROLE iforest_reader;
SELECT DISTINCT (same(question)).answer ~ '^DIFFERENT' AS differs FROM (TABLE asked UNION ALL TABLE leaks) q;
SELECT (SELECT count(*) FROM kept) AS mine, (SELECT sum(count) FROM kept_if()) AS in_function, (SELECT sum(count) FROM kept_if_overlap()) AS overlapping;
SET ROLE iforest_owner;
SELECT DISTINCT (same(question)).answer ~ '^DIFFERENT' AS differs FROM asked;
SELECT (SELECT count(*) FROM kept) AS mine, (SELECT sum(count) FROM kept_if()) AS in_function, (SELECT sum(count) FROM kept_if_overlap()) AS overlapping;
ALTER TABLE kept FORCE ROW LEVEL SECURITY;
SELECT DISTINCT (same(question)).answer ~ '^DIFFERENT' AS differs FROM asked;
SELECT (SELECT count(*) FROM kept) AS mine, (SELECT sum(count) FROM kept_if()) AS in_function, (SELECT sum(count) FROM kept_if_overlap()) AS overlapping;
RESET ROLE;
SELECT (SELECT count(*) FROM kept) AS mine, (SELECT sum(count) FROM kept_if()) AS in_function, (SELECT sum(count) FROM kept_if_overlap()) AS overlapping;
-- a plan that is kept follows the user, and what the policy reads
SET plan_cache_mode = force_generic_plan;
PREPARE mine AS SELECT count(*), max(dur) FROM kept;
PREPARE overlapping AS SELECT sum(count) FROM kept_time_if_overlap(0, 1000);
EXECUTE mine;
EXECUTE overlapping;
SET ROLE iforest_reader;
EXECUTE mine;
EXECUTE overlapping;
SET app.tenant = 't2';
EXECUTE mine;
EXECUTE overlapping;
RESET ROLE;
EXECUTE mine;
DEALLOCATE ALL;
RESET plan_cache_mode;
-- a function that runs as its owner shows the rows of its owner, and no others, to whoever calls it
CREATE FUNCTION as_owner(OUT n bigint, OUT overlapping numeric) LANGUAGE sql SECURITY DEFINER AS 'SELECT (SELECT count(*) FROM kept), (SELECT sum(count) FROM kept_if_overlap())';
SET ROLE iforest_reader;
SELECT * FROM as_owner();
RESET ROLE;
DROP FUNCTION as_owner;
ALTER TABLE kept DISABLE ROW LEVEL SECURITY;
-- policies on the time and on a value; what is hidden lies in buckets of its own, which leaky group keys and conditions would be asked about
SET ROLE iforest_owner;
CREATE TABLE apart(tenant text, ts bigint, dur bigint);
INSERT INTO apart SELECT 't' || i / 100000, i, CASE WHEN i < 100000 THEN i % 50 ELSE 1000 END FROM generate_series(1, 200000, 10) i;
CREATE INDEX apart_if ON apart USING iforest (tenant, ts) INCLUDE (dur);
CREATE INDEX apart_time_if ON apart USING iforest (ts) INCLUDE (dur);
GRANT SELECT ON apart TO iforest_reader;
ALTER TABLE apart ENABLE ROW LEVEL SECURITY;
RESET ROLE;
VACUUM ANALYZE apart;
CREATE TABLE asked_apart(question text);
GRANT SELECT ON asked_apart TO PUBLIC;
INSERT INTO asked_apart VALUES ('SELECT ts / 1000, count(*) FROM apart GROUP BY 1'), ('SELECT pg_temp.peek_bucket(ts / 1000), count(*) FROM apart GROUP BY 1'),
	('SELECT ts / 1000, count(*) FROM apart WHERE pg_temp.peek_bucket(ts / 1000) >= 0 GROUP BY 1'), ('SELECT ts / 1000, count(*) FILTER (WHERE pg_temp.peek_bucket(ts / 1000) >= 0) FROM apart GROUP BY 1'),
	('SELECT ts / 1000, max(pg_temp.peek_bucket(ts / 1000)) FROM apart GROUP BY 1'), ('SELECT ts / 1000, pg_temp.peek(max(dur)) FROM apart GROUP BY 1'), ('SELECT max(pg_temp.peek_bucket(dur)) FROM apart'),
	('SELECT ts, dur FROM apart ORDER BY dur DESC, pg_temp.peek_bucket(ts / 1000) LIMIT 2'), ('SELECT 1000 / (150 - ts / 1000), count(*) FROM apart GROUP BY 1');
CREATE POLICY apart ON apart USING (tenant = 't0');
SET ROLE iforest_reader;
SELECT 'by tenant' AS policy, question, (same(question)).answer FROM asked_apart;
RESET ROLE;
ALTER POLICY apart ON apart USING (ts < 100000);
SET ROLE iforest_reader;
SELECT 'by time' AS policy, question, (same(question)).answer FROM asked_apart;
RESET ROLE;
ALTER POLICY apart ON apart USING (dur < 100);
SET ROLE iforest_reader;
SELECT 'by value' AS policy, question, (same(question)).answer FROM asked_apart;
SELECT count(*) FILTER (WHERE (same(question)).by_index) > 3 AS some_by_index FROM asked_apart;
RESET ROLE;
DROP TABLE asked_apart, apart;
-- of partitions the policy of the table that is asked holds
SET ROLE iforest_owner;
CREATE TABLE split(tenant text, ts bigint, dur bigint) PARTITION BY RANGE (ts);
CREATE TABLE split_1 PARTITION OF split FOR VALUES FROM (0) TO (10000);
CREATE TABLE split_2 PARTITION OF split FOR VALUES FROM (10000) TO (20000);
INSERT INTO split SELECT 't' || i % 2, i, i % 50 FROM generate_series(0, 19999) i;
CREATE INDEX split_if ON split USING iforest (tenant, ts) INCLUDE (dur) WITH (duration = 'dur');
SELECT cardinality(iforest_create_functions('split_if'));
GRANT SELECT ON split TO iforest_reader;
ALTER TABLE split ENABLE ROW LEVEL SECURITY;
ALTER TABLE split_1 ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON split USING (tenant = 't1');
RESET ROLE;
VACUUM ANALYZE split;
SET ROLE iforest_reader;
SELECT question, (same(question)).answer FROM unnest('{"SELECT count(*), max(dur) FROM split","SELECT tenant, ts / 1000, count(*) FROM split GROUP BY 1, 2","SELECT * FROM split_if(0, 20000, 5)","SELECT * FROM split_if_overlap(0, 20000, 5)","SELECT ts, dur FROM split ORDER BY dur DESC LIMIT 3","SELECT count(*) FROM split_1"}'::text[]) question;
SELECT (SELECT count(*) FROM split) AS mine, (SELECT sum(count) FROM split_if()) AS in_function, (SELECT sum(count) FROM split_if_overlap()) AS overlapping;
RESET ROLE;
DROP TABLE split CASCADE;

-- ---- privileges of columns ----
REVOKE SELECT ON kept FROM iforest_reader;
GRANT SELECT (tenant, ts, dur) ON kept TO iforest_reader;
SET ROLE iforest_reader;
SELECT question, (same(question)).answer FROM asked ORDER BY id;
SELECT (same('SELECT sum(dur), count(*) FROM kept')).*;
SELECT question, (same(question)).answer FROM unnest('{SELECT sum(dur) FROM kept, SELECT count(*) FROM kept, SELECT sum(cost) FROM kept, SELECT count(cost) FROM kept, SELECT ts FROM kept ORDER BY cost LIMIT 1, SELECT sum(dur) FROM kept WHERE cost > 5, SELECT count(note) FROM kept, SELECT sum(dur) FILTER (WHERE cost = 1) FROM kept}'::text[]) question;
SELECT refusal(question) FROM by_hand;
RESET ROLE;

-- ---- inspecting what others own ----
-- code of the index's owner runs with the owner's rights, whoever has the index checked
GRANT pg_stat_scan_tables TO iforest_reader;
SET ROLE iforest_owner;
CREATE FUNCTION who(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF current_user <> 'iforest_owner' THEN RAISE EXCEPTION 'runs as %', current_user; END IF; RETURN v; END $$;
CREATE TABLE trap(ts bigint, dur bigint);
INSERT INTO trap SELECT i, i FROM generate_series(1, 100) i;
CREATE INDEX trap_if ON trap USING iforest ((public.who(ts))) INCLUDE (dur) WITH (duration = 'dur') WHERE public.who(dur) > 0;
SET ROLE iforest_reader;
SELECT iforest_check('trap_if', true);
SELECT iforest_merge('trap_if');
RESET ROLE;
SELECT iforest_check('trap_if', true), iforest_merge('trap_if', true), entries FROM iforest_stats('trap_if');
VACUUM trap;
REINDEX INDEX trap_if;
DROP TABLE trap;
DROP FUNCTION who;
REVOKE pg_stat_scan_tables FROM iforest_reader;

-- ---- what the extension is made of ----
SELECT count(*) AS not_c_or_somebody_elses_rights FROM pg_depend JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'iforest') AND (prosecdef OR (prokind <> 'a' AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')));
SELECT proname, prosqlbody IS NOT NULL AS parsed, prosecdef AS somebody_elses_rights FROM pg_proc WHERE proname LIKE 'kept%' ORDER BY 1;

-- ---- functions and operators that lie in wait ----
-- On the search path before pg_catalog, with the names and types that are used: each raises an error.
SET ROLE iforest_evil;
CREATE SCHEMA evil;
CREATE PROCEDURE evil.make(schema text) LANGUAGE plpgsql AS $$
DECLARE
	item record;
BEGIN
	FOR item IN SELECT oprname, oprleft::regtype::text AS l, oprright::regtype::text AS r FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b'
		AND oprname IN ('=', '<', '<=', '>', '>=', '<>', '+', '-', '*', '/', '||') AND oprleft::regtype::text = ANY ('{bigint,integer,smallint,text,name,oid,numeric,date,timestamp with time zone,timestamp without time zone,interval,double precision,real,boolean,anyenum}')
		AND oprright::regtype::text = ANY ('{bigint,integer,smallint,text,name,oid,numeric,date,timestamp with time zone,timestamp without time zone,interval,double precision,real,boolean,anyenum}') LOOP
		EXECUTE format('CREATE FUNCTION %I.%I(%s, %s) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION ''''evil is at work: %s''''; END''', schema, 'trap_' || md5(item.oprname || item.l || item.r), item.l, item.r, item.oprname);
		EXECUTE format('CREATE OPERATOR %I.%s (FUNCTION = %1$I.%3$I, LEFTARG = %4$s, RIGHTARG = %5$s)', schema, item.oprname, 'trap_' || md5(item.oprname || item.l || item.r), item.l, item.r);
	END LOOP;
	FOR item IN SELECT DISTINCT ON (proname, pg_get_function_identity_arguments(oid)) proname, pg_get_function_identity_arguments(oid) AS arguments FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a') AND provariadic = 0
		AND proname IN ('starts_with', 'obj_description', 'length', 'count', 'sum', 'min', 'max', 'avg', 'var_samp', 'stddev_samp', 'generate_series', 'coalesce', 'btint4cmp', 'btint8cmp', 'btint24cmp', 'bttextcmp', 'date_cmp', 'timestamp_cmp', 'int8', 'numeric', 'lag', 'row_number')
		AND pg_get_function_identity_arguments(oid) !~ 'internal|ORDER|"any"|^any' AND pg_get_function_identity_arguments(oid) <> '' LOOP
		EXECUTE format('CREATE FUNCTION %I.%I(%s) RETURNS bigint LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION ''''evil is at work: %2$s''''; END''', schema, item.proname, item.arguments);
	END LOOP;
	EXECUTE format('CREATE TABLE %I.pg_proc(oid oid, proname name); CREATE TABLE %1$I.pg_depend(objid oid); CREATE TABLE %1$I.pg_class(oid oid); CREATE DOMAIN %1$I.int8 AS text; CREATE DOMAIN %1$I.text AS integer; CREATE DOMAIN %1$I.regclass AS integer', schema);
END $$;
CALL evil.make('evil');
GRANT USAGE ON SCHEMA evil TO PUBLIC;
SELECT count(*) > 100 AS many FROM pg_proc WHERE pronamespace = 'evil'::regnamespace;
RESET ROLE;
SET search_path = evil, pg_catalog, public;
SELECT 1 = 1;
SELECT count(1::pg_catalog.int8);
SELECT iforest_create_functions('public.kept_if'::pg_catalog.regclass);
SELECT bucket, count, sum_dur, max_dur FROM public.kept_time_if(0, 40000, 2);
SELECT bucket, count, sum_dur, max_dur FROM public.kept_time_if(0, 40000, 2, fill => 'last');
SELECT bucket, count, sum_dur, max_dur FROM public.kept_time_if(0, 40000, 2, fill => 'zero');
SELECT bucket, count, clipped_dur FROM public.kept_time_if_overlap(0, 40000, 2);
SELECT bucket, count, clipped_dur FROM public.kept_time_if_overlap(0, 40000, 2, fill => 'zero');
SELECT ts, dur FROM public.kept_time_if_rows(39990, 39992) ORDER BY ts LIMIT 2;
SELECT iforest_check('public.kept_if'::pg_catalog.regclass, true);
SELECT iforest_merge('public.kept_if'::pg_catalog.regclass, true);
ALTER TABLE public.kept RENAME dur TO lasting;
REINDEX INDEX public.kept_if;
VACUUM ANALYZE public.kept;
SELECT reloptions FROM pg_catalog.pg_class WHERE relname OPERATOR(pg_catalog.=) 'kept_if';
ALTER TABLE public.kept RENAME lasting TO dur;
CREATE INDEX kept_3_if ON public.kept USING iforest (tenant, ts) INCLUDE (dur) WITH (duration = 'dur', variance = 'dur', sketch = 'dur') WHERE ts OPERATOR(pg_catalog.>) 5 AND (tenant OPERATOR(pg_catalog.||) 'x') OPERATOR(pg_catalog.<>) 'tx';
SELECT iforest_create_functions('public.kept_3_if'::pg_catalog.regclass);
SELECT tenant, count FROM public.kept_3_if(0, 40000) ORDER BY tenant USING OPERATOR(pg_catalog.<);
DROP INDEX public.kept_3_if;
RESET search_path;

-- In the extension's schema, where others may create: what suits the types better than the extension's own function is refused.
SET ROLE iforest_evil;
CREATE FUNCTION public.evil_first(integer, integer, bigint, tid) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil is at work'; END $$;
CREATE AGGREGATE public.iforest_first(integer, bigint, tid) (SFUNC = public.evil_first, STYPE = integer);
CREATE FUNCTION public.iforest_overlap_spans(oid, bigint, bigint, bigint, bigint, bigint) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil is at work'; END $$;
CREATE FUNCTION public.iforest_bucket_of(integer, bigint, bigint, bigint, bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil is at work'; END $$;
SET ROLE iforest_owner;
CREATE TABLE waylaid(ts integer, dur bigint, cost integer);
CREATE INDEX waylaid_if ON waylaid USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur');
\set VERBOSITY default
SELECT refusal('SELECT iforest_create_functions(''kept_if'')');
SELECT refusal('SELECT iforest_create_functions(''waylaid_if'')');
\set VERBOSITY terse
RESET ROLE;
DROP AGGREGATE public.iforest_first(integer, bigint, tid);
DROP FUNCTION public.evil_first;
SELECT refusal('SELECT iforest_create_functions(''kept_if'')');
DROP FUNCTION public.iforest_overlap_spans(oid, bigint, bigint, bigint, bigint, bigint);
DROP FUNCTION public.iforest_bucket_of(integer, bigint, bigint, bigint, bigint, bigint);
SET ROLE iforest_owner;
SELECT cardinality(iforest_create_functions('kept_if')), cardinality(iforest_create_functions('waylaid_if'));
INSERT INTO waylaid SELECT i, i FROM generate_series(1, 10) i;
SELECT bucket, count FROM waylaid_if(0, 10, 2);
SELECT bucket, count FROM waylaid_if_overlap(0, 10, 2);
DROP TABLE waylaid;
RESET ROLE;

-- A function of the same name as one to be made is neither replaced nor called.
SET ROLE iforest_evil;
CREATE FUNCTION public.trap_if_fill(t0 bigint, t1 bigint, n bigint, step bigint, origin bigint, fill text) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil is at work'; END $$;
COMMENT ON FUNCTION public.trap_if_fill IS 'iforest index trap_if: the part with fill => ''last'' and ''linear''';
SET ROLE iforest_owner;
CREATE TABLE trap(ts bigint, v bigint);
CREATE INDEX trap_if ON trap USING iforest (ts) INCLUDE (v);
SELECT iforest_create_functions('trap_if');
RESET ROLE;
SELECT iforest_create_functions('trap_if');
DROP TABLE trap;
DROP FUNCTION public.trap_if_fill;

-- CREATE EXTENSION, which runs with a superuser's rights, in a schema where others were first.
SET ROLE iforest_evil;
CREATE SCHEMA nest;
CALL evil.make('nest');
RESET ROLE;
SET client_min_messages = warning;
BEGIN;
DROP EXTENSION iforest CASCADE;
SET ROLE iforest_evil;
CREATE EXTENSION iforest SCHEMA nest;
RESET ROLE;
SELECT count(*) AS classes, count(*) FILTER (WHERE NOT EXISTS (SELECT FROM pg_amop WHERE amopfamily = opcfamily AND (SELECT oprnamespace FROM pg_operator o WHERE o.oid = amopopr) <> 'pg_catalog'::regnamespace)
	AND NOT EXISTS (SELECT FROM pg_amproc WHERE amprocfamily = opcfamily AND (SELECT pronamespace FROM pg_proc p WHERE p.oid = amproc) <> 'pg_catalog'::regnamespace)
	AND (SELECT typnamespace FROM pg_type t WHERE t.oid = opcintype) = 'pg_catalog'::regnamespace) AS of_postgresql
FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'iforest');
SELECT count(*) AS with_a_type_of_somebody_elses FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid, unnest(p.proargtypes || p.prorettype) of(type) JOIN pg_type t ON t.oid = of.type
WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'iforest') AND t.typnamespace <> 'pg_catalog'::regnamespace;
ROLLBACK;
SELECT refusal(format('DROP EXTENSION iforest CASCADE; CREATE %s; SET LOCAL ROLE iforest_evil; CREATE EXTENSION iforest SCHEMA nest', there)) FROM unnest(ARRAY[
	'FUNCTION nest.iforest_bucket(bigint, bigint, bigint, bigint) RETURNS bigint LANGUAGE sql AS ''SELECT 1''', 'FUNCTION nest.iforest_follow_rename() RETURNS event_trigger LANGUAGE plpgsql AS ''BEGIN END''',
	'AGGREGATE nest.iforest_sketch_merge(bytea) (SFUNC = byteacat, STYPE = bytea)']) there;
DROP SCHEMA nest, evil CASCADE;
RESET client_min_messages;

DROP TABLE asked;
DROP TABLE kept CASCADE;
DROP FUNCTION same, outcome, is_mine;
DROP OWNED BY iforest_owner, iforest_reader, iforest_evil;
DROP ROLE iforest_owner, iforest_reader, iforest_evil;
