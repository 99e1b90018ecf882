-- The extension's functions are recognised by what they are: strangers of the same names, which are members of the extension, too, are treated as any function.
-- Of each member a stranger is made with other languages, results and arguments, and queries that call it give what they give without the index.
-- IFOREST_ROUNDS=100: all of them, and not each tenth.
\set VERBOSITY terse
SET client_min_messages = warning;
\set share 4
\getenv share IFOREST_ROUNDS
CREATE SCHEMA strange;
SET enable_seqscan = off;
-- a table for each type of times
CREATE TABLE s_int8(k text, ts bigint NOT NULL, v bigint NOT NULL);
CREATE TABLE s_timestamptz(k text, ts timestamptz NOT NULL, v bigint NOT NULL);
CREATE TABLE s_timestamp(k text, ts timestamp NOT NULL, v bigint NOT NULL);
CREATE TABLE s_date(k text, ts date NOT NULL, v bigint NOT NULL);
INSERT INTO s_int8 SELECT 'k' || i % 3, i, 4096 + i % 11 FROM generate_series(1, 400) i;
INSERT INTO s_timestamptz SELECT k, '2020-01-01'::timestamptz + ts * interval '1 hour', v FROM s_int8;
INSERT INTO s_timestamp SELECT k, '2020-01-01'::timestamp + ts * interval '1 hour', v FROM s_int8;
INSERT INTO s_date SELECT k, '2020-01-01'::date + ts::integer, v FROM s_int8;
CREATE INDEX ON s_int8 USING iforest(k, ts) INCLUDE (v) WITH (sketch = 'v', distinct = 'v', variance = 'v');
CREATE INDEX ON s_timestamptz USING iforest(k, ts) INCLUDE (v);
CREATE INDEX ON s_timestamp USING iforest(k, ts) INCLUDE (v);
CREATE INDEX ON s_date USING iforest(k, ts) INCLUDE (v);
VACUUM ANALYZE s_int8, s_timestamptz, s_timestamp, s_date;

-- What a question gives: its rows, or its error.
CREATE FUNCTION outcome(question text, is_enabled boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text[];
BEGIN
	PERFORM set_config('iforest.enable', is_enabled::text, true);
	EXECUTE format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question) INTO rows;
	RETURN coalesce(rows::text, '{}');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- ---- members ----
CREATE TABLE members AS SELECT p.oid, proname::text AS name, prokind = 'a' AS is_aggregate, prorettype AS result, n_types,
		(SELECT coalesce(array_agg(CASE WHEN format_type(type, NULL) IN ('anyelement', 'anycompatible', 'internal', '"any"') THEN 'int8' ELSE type::regtype::text END ORDER BY n), '{}') FROM unnest(proargtypes) WITH ORDINALITY u(type, n)) AS types
	FROM pg_depend d JOIN pg_proc p ON p.oid = objid, cardinality(proargtypes::oid[]) n_types WHERE d.classid = 'pg_proc'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'iforest') AND prokind IN ('a', 'f');
SELECT count(*) FILTER (WHERE is_aggregate) AS aggregates, count(*) FILTER (WHERE NOT is_aggregate) AS functions FROM members;
-- the table that has the member's times, and an argument of each type
CREATE FUNCTION table_of(types text[]) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN 'timestamp with time zone' = ANY (types) THEN 's_timestamptz' WHEN 'timestamp without time zone' = ANY (types) THEN 's_timestamp' WHEN 'date' = ANY (types) THEN 's_date' ELSE 's_int8' END $$;
CREATE FUNCTION arguments(types text[]) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN type = 'bigint' OR type = 'int8' THEN (ARRAY['v', CASE WHEN table_of(types) = 's_int8' THEN 'ts' ELSE '3::bigint' END, '400::bigint', '8::bigint', '100::bigint', '0::bigint'])[1 + n % 6]
			WHEN type ~ 'timestamp|date' THEN (ARRAY['ts', format('%L::%s', '2020-01-02', type), format('%L::%s', '2020-01-12', type)])[1 + n % 3]
			WHEN type = 'tid' THEN 'ctid' WHEN type = 'text' THEN 'k' WHEN type = 'bytea' THEN 'md5(k)::bytea' WHEN type = 'numeric' THEN 'v::numeric' WHEN type = 'boolean' THEN 'true' WHEN type = 'double precision' THEN '(v / 5000.0)::float8'
			WHEN type = 'integer' THEN '7' WHEN type = 'interval' THEN '''1 day''::interval' WHEN type = 'oid' OR type = 'regclass' THEN format('''s_int8''::regclass::%s', type) ELSE format('''{}''::%s', type) END, ', ' ORDER BY place)
	FROM (SELECT type, row_number() OVER (PARTITION BY CASE WHEN type IN ('int8', 'bigint') THEN 'bigint' WHEN type ~ 'timestamp|date' THEN 'time' ELSE type END ORDER BY place) - 1 + CASE WHEN table_of(types) = 's_int8' AND type IN ('int8', 'bigint') THEN 1 ELSE 0 END, place FROM unnest(types) WITH ORDINALITY u(type, place)) a(type, n, place)
$$;
-- a value of a type, made of a number; NULL of a type that a function cannot give
CREATE FUNCTION made(type text, number text) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN type IN ('bigint', 'integer', 'numeric', 'oid', 'double precision', 'int8') THEN format('((%s) %% 13 + 13)::%s', number, type) WHEN type = 'text' THEN format('(''t'' || (%s) %% 13)', number) WHEN type = 'bytea' THEN format('md5(((%s) %% 13)::text)::bytea', number)
	WHEN type = 'boolean' THEN format('(%s) %% 2 = 0', number) WHEN type = 'tid' THEN format('(''(0,'' || abs((%s) %% 13) + 1 || '')'')::tid', number) WHEN type ~ 'timestamp|date' THEN format('(''2020-01-01''::timestamp + (%s) %% 13 * interval ''1 day'')::%s', number, type) WHEN type ~ '\[\]$' THEN format('ARRAY[(%s) %% 13]::%s', number, type) END $$;

-- ---- strangers that are functions ----
CREATE TABLE strangers(id serial, command text, kind text, signature text, call text, source text, is_aggregate boolean);
CREATE TABLE results AS SELECT unnest('{bigint,text,bytea,boolean}'::text[]) AS result;
INSERT INTO strangers(command, kind, signature, call, source, is_aggregate)
SELECT format('CREATE FUNCTION strange.%I(%s) RETURNS %s LANGUAGE %s IMMUTABLE %s AS %L', name, array_to_string(types, ', '), result, language, CASE language WHEN 'sql' THEN 'SET work_mem = ''4MB''' END,
		format(CASE language WHEN 'sql' THEN 'SELECT %s' ELSE 'BEGIN RETURN %s; END' END, made(result, format('hashtext(%s)::bigint', coalesce((SELECT string_agg(format('coalesce($%s::text, '''')', i), ' || ' ORDER BY i) FROM generate_series(1, cardinality(types)) i), '''x'''))))),
	'FUNCTION', format('strange.%I(%s)', name, array_to_string(types, ', ')), format('strange.%I(%s)', name, arguments(types)), table_of(types), false
FROM (SELECT name, original, v.types, v.result, v.language FROM (SELECT name, oid AS original, types, coalesce(made(format_type(m.result, NULL), '1') IS NOT NULL, false) AS can, format_type(m.result, NULL) AS own FROM members m WHERE NOT is_aggregate) m,
	LATERAL (SELECT types, own, 'plpgsql' WHERE can UNION ALL SELECT types, own, 'sql' WHERE can UNION ALL SELECT types, r.result, 'plpgsql' FROM results r WHERE r.result <> own OR NOT can UNION ALL SELECT types || '{bigint}', 'bigint', 'plpgsql' UNION ALL SELECT types[1:cardinality(types) - 1], 'bigint', 'plpgsql'
		UNION ALL SELECT ARRAY(SELECT 'text' FROM unnest(types)), 'text', 'plpgsql') v(types, result, language)) every
WHERE hashtext(name || original || types::text || result || language) % 100 BETWEEN 1 - :share AND :share - 1;

-- functions of other languages whose text is a symbol of the library
INSERT INTO strangers(command, kind, signature, call, source, is_aggregate)
SELECT format('SET LOCAL check_function_bodies = off; CREATE FUNCTION strange.%I(%s) RETURNS %s LANGUAGE %s %s IMMUTABLE AS %L', name, array_to_string(m.types, ', '), format_type(m.result, NULL), language, CASE WHEN proisstrict THEN 'STRICT' ELSE '' END, prosrc),
	'FUNCTION', format('strange.%I(%s)', name, array_to_string(m.types, ', ')), format('strange.%I(%s)', name, arguments(m.types)), table_of(m.types), false
FROM members m JOIN pg_proc p USING (oid), unnest('{sql,plpgsql}'::text[]) language WHERE NOT is_aggregate AND m.result <> 'internal'::regtype AND made(format_type(m.result, NULL), '1') IS NOT NULL AND (name ~ 'bucket|window_asks' OR hashtext(name || language) % 100 BETWEEN 1 - :share AND :share - 1);

-- ---- strangers that are aggregates ----
INSERT INTO strangers(command, kind, signature, call, source, is_aggregate)
SELECT format('CREATE FUNCTION strange.next(%s) RETURNS %s LANGUAGE %s IMMUTABLE AS %L; CREATE AGGREGATE strange.%I(%s) (SFUNC = strange.next, STYPE = %2$s%7$s)', array_to_string(result || types, ', '), result, language,
		format(CASE language WHEN 'sql' THEN 'SELECT %s' ELSE 'BEGIN RETURN %s; END' END, made(result, (SELECT string_agg(format('hashtext(coalesce($%s::text, ''''))::bigint %% 1000', i), ' + ' ORDER BY i) FROM generate_series(2, cardinality(types) + 1) i))),
		name, array_to_string(types, ', '), CASE WHEN result = 'numeric' THEN ', INITCOND = ''0''' END),
	'AGGREGATE', format('strange.%I(%s)', name, array_to_string(types, ', ')), format('strange.%I(%s)', name, arguments(types)), table_of(types), true
FROM (SELECT name, v.types, v.result, v.language FROM members m, unnest('{bigint,text,bytea,tid,numeric}'::text[]) of(result), LATERAL (VALUES (m.types, of.result, 'plpgsql'), (m.types, of.result, 'sql'), (m.types || '{bigint}', of.result, 'sql')) v(types, result, language) WHERE m.is_aggregate) every
WHERE hashtext(name || types::text || result || language) % 100 BETWEEN 1 - 2 * :share AND 2 * :share - 1;
-- the extension's own functions, put together in another way
INSERT INTO strangers(command, kind, signature, call, source, is_aggregate)
SELECT format('CREATE AGGREGATE strange.%I(%s) (%s)', m.name, array_to_string(m.types, ', '), concat_ws(', ', 'SFUNC = ' || changed.step, 'STYPE = ' || aggtranstype::regtype, 'FINALFUNC = ' || nullif(changed.final, '-'), CASE WHEN aggfinalextra AND changed.final <> '-' THEN 'FINALFUNC_EXTRA' END, 'INITCOND = ' || quote_literal(changed.initial),
		'COMBINEFUNC = ' || nullif(aggcombinefn::text, '-'), 'SERIALFUNC = ' || nullif(aggserialfn::text, '-'), 'DESERIALFUNC = ' || nullif(aggdeserialfn::text, '-'), 'MINVFUNC = ' || nullif(aggminvtransfn::text, '-'), 'MSFUNC = ' || nullif(aggmtransfn::text, '-'), 'MFINALFUNC = ' || nullif(aggmfinalfn::text, '-'), 'MSTYPE = ' || nullif(aggmtranstype, 0)::regtype)),
	'AGGREGATE', format('strange.%I(%s)', m.name, array_to_string(m.types, ', ')), format('strange.%I(%s)', m.name, arguments(m.types)), 's_int8', true
FROM members m JOIN pg_aggregate a ON a.aggfnoid = m.oid, LATERAL (SELECT aggtransfn::text, aggfinalfn::text, CASE WHEN agginitval IS NULL AND aggtranstype <> 'internal'::regtype THEN '\x0102' ELSE agginitval || '1' END
	UNION ALL SELECT CASE WHEN aggtransfn::text ~ 'first' THEN replace(aggtransfn::text, 'first', 'last') ELSE regexp_replace(aggtransfn::text, 'last|max|min', 'first') END, aggfinalfn::text, agginitval WHERE aggtransfn::text ~ 'first|last|max|min'
	UNION ALL SELECT aggtransfn::text, '-', agginitval WHERE aggtranstype <> 'internal'::regtype AND aggfinalfn <> 0) changed(step, final, initial) WHERE changed.initial IS DISTINCT FROM a.agginitval OR changed.step <> aggtransfn::text OR changed.final <> aggfinalfn::text;
SELECT count(*) > 60 AS many, count(*) FILTER (WHERE is_aggregate) > 30 AS many_aggregates FROM strangers;

CREATE TABLE uses(is_aggregate boolean, question text);
INSERT INTO uses VALUES (true, 'SELECT %1$s AS x FROM %2$s'), (true, 'SELECT k, %1$s AS x, count(*) FROM %2$s GROUP BY k'), (true, 'SELECT %1$s FILTER (WHERE k <> ''k1'') AS x, sum(v) FROM %2$s'),
	(false, 'SELECT (%1$s)::text AS x, count(*), sum(v) FROM %2$s GROUP BY 1'), (false, 'SELECT count(*), max(v) FROM %2$s WHERE (%1$s)::text > ''15'''), (false, 'SELECT k, count(*) FILTER (WHERE (%1$s)::text > ''15''), max(v) FROM %2$s GROUP BY k'),
	(false, 'SELECT max((%1$s)::text), min((%1$s)::text), count(*) FROM %2$s');
CREATE TABLE found(stranger integer, problem text, question text);
CREATE PROCEDURE try(is_member boolean) LANGUAGE plpgsql AS $$
DECLARE
	s record;
	q text;
	with_index text;
	without text;
BEGIN
	FOR s IN TABLE strangers ORDER BY id LOOP
		BEGIN
			EXECUTE s.command;
			IF is_member THEN
				EXECUTE format('ALTER EXTENSION iforest ADD %s %s', s.kind, s.signature);
			END IF;
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO found VALUES (s.id, 'not made: ' || SQLSTATE || ' ' || SQLERRM, s.command);
			CONTINUE;
		END;
		FOR q IN SELECT format(question, s.call, s.source) FROM uses u WHERE u.is_aggregate = s.is_aggregate LOOP
			with_index := outcome(q, true);
			without := outcome(q, false);
			INSERT INTO found SELECT s.id, 'asked' || CASE WHEN without ~ '^\{' THEN ' and answered' ELSE ': ' || left(without, 60) END, NULL;
			IF with_index <> without THEN
				INSERT INTO found VALUES (s.id, 'different: ' || left(with_index, 60) || ' / ' || left(without, 60), q);
			END IF;
		END LOOP;
		IF is_member THEN
			EXECUTE format('ALTER EXTENSION iforest DROP %s %s', s.kind, s.signature);
		END IF;
		EXECUTE format('DROP %s %s', s.kind, s.signature);
		IF s.command ~ 'strange.next' THEN
			EXECUTE 'DROP FUNCTION strange.next';
		END IF;
	END LOOP;
END $$;
CALL try(true);
SELECT DISTINCT problem, left(question, 150) AS question FROM found WHERE problem !~ '^asked' LIMIT 20;
SELECT count(*) FILTER (WHERE problem ~ '^asked') > 200 AS many, count(*) FILTER (WHERE problem = 'asked and answered') * 2 > count(*) AS most_answered FROM found;

-- A function in SQL whose text is a symbol of the library, as the part of an aggregate that is otherwise the extension's.
SET check_function_bodies = off;
CREATE FUNCTION strange.squares_add(numeric, numeric) RETURNS numeric LANGUAGE sql STRICT IMMUTABLE PARALLEL SAFE AS 'iforest_squares_add';
RESET check_function_bodies;
CREATE AGGREGATE strange.iforest_squares(numeric) (SFUNC = strange.squares_add, STYPE = numeric, INITCOND = '0', COMBINEFUNC = numeric_add, PARALLEL = SAFE);
SELECT outcome('SELECT strange.iforest_squares(v) FROM s_int8', true) AS with_index, outcome('SELECT strange.iforest_squares(v) FROM s_int8', false) AS without, outcome('SELECT iforest_squares(v) FROM s_int8', true) AS own;
RESET iforest.enable;
DROP AGGREGATE strange.iforest_squares(numeric);
DROP FUNCTION strange.squares_add;

-- ---- what was seen in the wild ----
CREATE TABLE r(ts bigint NOT NULL, v bigint NOT NULL);
CREATE INDEX r_if ON r USING iforest(ts) INCLUDE (v);
INSERT INTO r SELECT i, 4096 FROM generate_series(1, 2000) i;
VACUUM ANALYZE r;
CREATE FUNCTION strange.f3(text, bigint, bigint, tid) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT ''$$;
CREATE AGGREGATE strange.iforest_last(v bigint, ts bigint, ctid tid) (SFUNC = strange.f3, STYPE = text);
ALTER EXTENSION iforest ADD AGGREGATE strange.iforest_last(bigint, bigint, tid);
SELECT strange.iforest_last(v, ts, ctid) FROM r;
ALTER EXTENSION iforest DROP AGGREGATE strange.iforest_last(bigint, bigint, tid);
-- The owner of a database, who has made the extension in it, changes none of its members, and adds strangers in vain.
CREATE ROLE iforest_dbo;
GRANT CREATE ON DATABASE iforest_regress TO iforest_dbo;
GRANT ALL ON SCHEMA public, strange TO iforest_dbo;
BEGIN;
DROP EXTENSION iforest CASCADE;
SET LOCAL ROLE iforest_dbo;
CREATE EXTENSION iforest;
CREATE TABLE public.of_dbo(ts bigint NOT NULL, v bigint NOT NULL);
INSERT INTO of_dbo SELECT i, 4096 FROM generate_series(1, 2000) i;
CREATE INDEX ON of_dbo USING iforest(ts) INCLUDE (v);
CREATE FUNCTION taken(statement text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 'taken'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
SELECT taken(statement), count(*) FROM pg_depend d JOIN pg_proc p ON p.oid = objid, LATERAL (VALUES ('ALTER ROUTINE %s SET work_mem = ''4MB'''), ('ALTER ROUTINE %s RENAME TO other'), ('ALTER ROUTINE %s SET SCHEMA strange'), ('ALTER ROUTINE %s OWNER TO iforest_dbo'), ('DROP ROUTINE %s')) c(form), format(form, p.oid::regprocedure) statement
	WHERE d.classid = 'pg_proc'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'iforest') GROUP BY 1;
SELECT taken('CREATE OR REPLACE AGGREGATE iforest_last(anyelement, anycompatible, tid) (SFUNC = iforest_row_first_add, STYPE = internal, FINALFUNC = iforest_row_value, FINALFUNC_EXTRA)'),
	taken('CREATE OR REPLACE FUNCTION iforest_bucket(ts bigint, t0 bigint, t1 bigint, n bigint) RETURNS bigint LANGUAGE sql AS ''SELECT 1'''), taken('CREATE AGGREGATE strange.mine(bigint, bigint, tid) (SFUNC = iforest_row_first_add, STYPE = internal)'),
	taken('CREATE FUNCTION strange.mine(bigint, bigint, bigint, bigint) RETURNS bigint AS ''$libdir/iforest'', ''iforest_bucket_number'' LANGUAGE c'), taken('SELECT iforest_row_value(NULL, 1, 2, NULL)') IN ('42883', '0A000' /* minor releases differ */) AS refused;
CREATE AGGREGATE public.iforest_last(v bigint, ts bigint, ctid tid) (SFUNC = strange.f3, STYPE = text);
ALTER EXTENSION iforest ADD AGGREGATE public.iforest_last(bigint, bigint, tid);
SELECT public.iforest_last(v, ts, ctid) FROM of_dbo;
ROLLBACK;
DROP OWNED BY iforest_dbo;
DROP ROLE iforest_dbo;
CREATE FUNCTION is_by_index(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found OR line ~ 'IForest';
	END LOOP;
	RETURN found;
END $$;
-- What computes as the own one does is answered from the index, under any name, and only as long as it does.
CREATE AGGREGATE strange.latest(anyelement, anycompatible, tid) (SFUNC = iforest_row_last_add, STYPE = internal, FINALFUNC = iforest_row_value, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_last_combine, SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize);
SELECT is_by_index('SELECT strange.latest(v, ts, ctid) FROM r');
CREATE OR REPLACE AGGREGATE strange.latest(anyelement, anycompatible, tid) (SFUNC = iforest_row_first_add, STYPE = internal, FINALFUNC = iforest_row_value, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_last_combine, SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize);
SELECT is_by_index('SELECT strange.latest(v, ts, ctid) FROM r');
ALTER FUNCTION iforest_row_ctid SET work_mem = '4MB';
SELECT is_by_index('SELECT iforest_last(v, ts, ctid), iforest_last_row(v, ts, ctid) FROM r');
ALTER FUNCTION iforest_row_ctid RESET ALL;
SELECT is_by_index('SELECT iforest_last(v, ts, ctid), iforest_last_row(v, ts, ctid) FROM r');
DROP AGGREGATE strange.latest(anyelement, anycompatible, tid);

-- Who may not call a function or an aggregate is not answered from the index either.
CREATE ROLE iforest_caller;
GRANT SELECT ON r TO iforest_caller;
BEGIN;
REVOKE EXECUTE ON FUNCTION pg_catalog.sum(bigint), iforest_last(anyelement, anycompatible, tid), iforest_bucket(bigint, bigint, bigint, bigint), pg_catalog.int8div FROM PUBLIC;
SET LOCAL ROLE iforest_caller;
SELECT question, outcome(question, true) AS with_index, outcome(question, false) AS without FROM unnest('{"SELECT sum(v) FROM r","SELECT count(*) FROM r","SELECT iforest_last(v, ts, ctid) FROM r","SELECT iforest_bucket(ts, 0, 2000, 2), count(*) FROM r GROUP BY 1","SELECT ts / 1000, count(*) FROM r GROUP BY 1","SELECT count(*) FILTER (WHERE ts / 1000 = 1) FROM r","SELECT count(*) FROM r WHERE ts / 1000 = 1"}'::text[]) question;
ROLLBACK;
DROP OWNED BY iforest_caller;
DROP ROLE iforest_caller;

-- What suits the types better than the extension's own function is not a part of an index's functions, though it is a member.
CREATE TABLE waylaid(ts integer, dur bigint);
CREATE INDEX waylaid_if ON waylaid USING iforest(ts) INCLUDE (dur) WITH (duration = 'dur');
CREATE FUNCTION iforest_bucket_of(integer, bigint, bigint, bigint, bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil is at work'; END $$;
ALTER EXTENSION iforest ADD FUNCTION iforest_bucket_of(integer, bigint, bigint, bigint, bigint, bigint);
SELECT iforest_create_functions('waylaid_if');
ALTER EXTENSION iforest DROP FUNCTION iforest_bucket_of(integer, bigint, bigint, bigint, bigint, bigint);
DROP FUNCTION iforest_bucket_of(integer, bigint, bigint, bigint, bigint, bigint);
SELECT cardinality(iforest_create_functions('waylaid_if'));
DROP TABLE waylaid;

-- ---- code inside functions of PostgreSQL ----
-- A cast runs inside to_jsonb(). Its errors are not caught, where nothing would undo what it did: the condition is evaluated for rows, not for ends of windows.
CREATE TYPE mood AS ENUM ('a', 'b', 'c');
CREATE FUNCTION mood_json(m mood) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM 1 / (CASE WHEN m = 'b' THEN 0 ELSE 1 END); RETURN '1'; END $$;
CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);
CREATE TABLE moods(m mood, ts bigint NOT NULL, v bigint NOT NULL);
INSERT INTO moods SELECT CASE WHEN i < 200 THEN 'b' ELSE 'c' END::mood, i, i % 7 FROM generate_series(1, 2000) i;
INSERT INTO moods SELECT 'b', i, 1 FROM generate_series(100000, 100100) i;
CREATE INDEX moods_if ON moods USING iforest(m, ts) INCLUDE (v);
VACUUM ANALYZE moods;
CREATE TABLE conditions(id serial, condition text);
INSERT INTO conditions(condition) VALUES ('m > ''a'''), ('m = ANY (''{b,c}'')'), ('date_trunc(''day'', to_timestamp(ts)) > ''1970-01-01'''), ('to_char(ts, ''999'') <> '''''), ('to_jsonb(m) = ''1'''), ('to_jsonb(ts) >= ''1'''), ('format(''%s'', ts) <> '''''), ('jsonb_populate_record(NULL::moods, jsonb_build_object(''ts'', ts)) IS NOT NULL');
CREATE FUNCTION filter_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text;
BEGIN
	PERFORM set_config('iforest.enable', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := coalesce(found, (regexp_match(line, '(\w+ Filter):'))[1]);
	END LOOP;
	RETURN found;
END $$;
SELECT condition, filter_of(query), outcome(query, true) = outcome(query, false) AS same FROM (SELECT id, condition, format('SELECT m, sum(v), count(*) FROM moods WHERE ts < 50000 AND CASE WHEN ts > 300 THEN %s ELSE ts > 0 END GROUP BY m', condition) AS query FROM conditions) q ORDER BY id;
DROP TABLE moods, conditions;
DROP TYPE mood CASCADE;
DROP FUNCTION filter_of;

DROP TABLE r, s_int8, s_timestamptz, s_timestamp, s_date, members, strangers, uses, found, results;
DROP SCHEMA strange CASCADE;
DROP PROCEDURE try;
DROP FUNCTION is_by_index, outcome, made, arguments, table_of;
