-- Whose code runs as whom: expressions, conditions and defaults of a table are its owner's code, and run with no other rights, whoever calls which function of
-- the extension; nor does a caller put code of his own in the place of what the owner's code calls.
\set VERBOSITY terse
CREATE ROLE iforest_hostile;
CREATE ROLE iforest_monitor IN ROLE pg_stat_scan_tables;
CREATE ROLE iforest_member IN ROLE iforest_hostile;
CREATE ROLE iforest_stranger;
CREATE ROLE iforest_super SUPERUSER;
GRANT CREATE ON SCHEMA public TO iforest_hostile;
GRANT CREATE ON DATABASE iforest_regress TO iforest_monitor, iforest_member, iforest_stranger;

-- ---- a hostile owner ----
-- The owner's code tells, by an error, that it has other rights than the owner's; and, by a sequence, that it runs at all.
SET ROLE iforest_hostile;
CREATE SEQUENCE hostile_runs;
CREATE FUNCTION evil(v bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
	IF current_user <> 'iforest_hostile' THEN RAISE EXCEPTION 'code of the owner runs as %', current_user USING ERRCODE = 'TRAP1'; END IF;
	PERFORM nextval('public.hostile_runs');
	-- back to the rights of the session
	IF current_setting('hostile.tries', true) = 'on' THEN
		BEGIN
			PERFORM set_config('role', 'none', true);
			RAISE EXCEPTION 'code of the owner becomes %', current_user USING ERRCODE = 'TRAP1';
		EXCEPTION WHEN insufficient_privilege THEN
		END;
	END IF;
	RETURN v;
END $$;
CREATE FUNCTION e2(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.evil(v); END $$;
CREATE FUNCTION e2(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM public.evil(1); RETURN v; END $$;
CREATE FUNCTION s2(v bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT public.e2(v)';
-- what it calls is on the search path: of pg_catalog, or not
CREATE FUNCTION norm(v text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.lower(v)';
CREATE FUNCTION keep(v text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN length(norm(v)) > 0; END $$;
CREATE FUNCTION keep_built_in(v text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN length(lower(v) || 'x') > 0 AND v <> 'y'; END $$;
CREATE DOMAIN checked AS bigint CHECK (public.e2(VALUE) IS NOT NULL);
CREATE FUNCTION compare(a text, b text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM public.evil(1); RETURN bttextcmp(a, b); END $$;
-- made for the owner by a superuser
RESET ROLE;
CREATE OPERATOR CLASS hostile_ops FOR TYPE text USING iforest AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 compare(text, text);
SET ROLE iforest_hostile;
CREATE TABLE places(place text, columns text DEFAULT 'v bigint', keys text DEFAULT 'name, ts', condition text DEFAULT '', extra text DEFAULT '');
INSERT INTO places(place, condition) VALUES ('constant call in the condition', 'WHERE public.e2(1) > 0'), ('constant call of SQL in the condition', 'WHERE public.s2(1) > 0'), ('call in the condition', 'WHERE public.e2(v) > 0'),
	('call by a path', 'WHERE keep(name)'), ('built-in call by a path', 'WHERE keep_built_in(name)');
INSERT INTO places(place, keys) VALUES ('constant call in the time', '(ts + public.e2(1))'), ('call in the time', '(public.e2(ts))'), ('call in a by column', '(public.e2(name)), ts'), ('operator class', 'name hostile_ops, ts'), ('constant call in a by column', '(name || public.e2(''x''::text)), ts');
INSERT INTO places(place, columns) VALUES ('default', 'v bigint DEFAULT public.e2(1)'), ('generated column', 'v bigint GENERATED ALWAYS AS (public.e2(ts)) STORED'), ('domain', 'v checked'), ('check', 'v bigint CHECK (public.e2(v) IS NOT NULL AND public.e2(1) > 0)');
INSERT INTO places(place, extra) VALUES ('policy', 'ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY; ALTER TABLE %1$s FORCE ROW LEVEL SECURITY; CREATE POLICY p ON %1$s USING (public.e2(1) > 0)'),
	('trigger', 'CREATE FUNCTION %1$s_evil() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN PERFORM public.evil(1); RETURN NEW; END''; CREATE TRIGGER t BEFORE INSERT OR UPDATE ON %1$s FOR EACH ROW EXECUTE FUNCTION %1$s_evil()');
ALTER TABLE places ADD id serial;
DO $$
DECLARE
	p record;
	name text;
BEGIN
	FOR p IN TABLE places ORDER BY id LOOP
		name := 'place_' || p.id;
		EXECUTE format('CREATE TABLE %I(ts bigint NOT NULL, name text, %s)', name, p.columns);
		-- of an empty table, as what is called by a path is not found while an index is built, from 17 on
		EXECUTE format('CREATE INDEX %I ON %I USING iforest(%s) INCLUDE (v) %s', name || '_if', name, p.keys, p.condition);
		EXECUTE format('INSERT INTO %I(ts, name%s) SELECT i, ''n'' || i %% 3%s FROM generate_series(1, 50) i', name, CASE WHEN p.columns !~ 'GENERATED|DEFAULT' THEN ', v' END, CASE WHEN p.columns !~ 'GENERATED|DEFAULT' THEN ', i' END);
		EXECUTE format(p.extra, name);
	END LOOP;
END $$;
RESET ROLE;

-- ---- a hostile caller ----
-- Functions and operators as the owner's code names them, first on the path.
CREATE PROCEDURE lie_in_wait(role text) LANGUAGE plpgsql AS $$
DECLARE
	item text;
BEGIN
	PERFORM set_config('role', role, true);
	EXECUTE format('CREATE SCHEMA %I', role);
	FOREACH item IN ARRAY '{norm(text):text,lower(text):text,length(text):integer,evil(bigint):bigint,e2(bigint):bigint,currval(text):bigint}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION %I.%s RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION ''''code of the caller runs as %%'''', current_user USING ERRCODE = ''''TRAP2''''; END''', role, split_part(item, ':', 1), split_part(item, ':', 2));
	END LOOP;
	EXECUTE format('CREATE FUNCTION %I.operate(text, text) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION ''''code of the caller runs as %%'''', current_user USING ERRCODE = ''''TRAP2''''; END''', role);
	EXECUTE format('CREATE OPERATOR %1$I.|| (FUNCTION = %1$I.operate, LEFTARG = text, RIGHTARG = text); CREATE OPERATOR %1$I.<> (FUNCTION = %1$I.operate, LEFTARG = text, RIGHTARG = text)', role);
	RESET ROLE;
	EXECUTE format('GRANT USAGE ON SCHEMA %I TO PUBLIC', role);
END $$;
CALL lie_in_wait('iforest_monitor');
CALL lie_in_wait('iforest_member');
CALL lie_in_wait('iforest_stranger');
CALL lie_in_wait('iforest_super');

-- ---- each function of the extension that is given an index or a table ----
CREATE TABLE calls(id serial, function text, call text);
INSERT INTO calls(function, call) SELECT p.oid::regprocedure, format('SELECT * FROM %s(%s)%s', p.oid::regproc, string_agg(CASE type WHEN 'boolean' THEN 'true' WHEN 'bigint' THEN '1' WHEN 'integer' THEN '0' WHEN 'text[]' THEN '''{name,ts,INCLUDE,v}'''
		WHEN 'text' THEN 'NULL' WHEN '"any"' THEN '0::bigint, 100::bigint, 1::bigint, NULL::bigint, NULL::bigint' ELSE '%1$L::regclass' END, ', ' ORDER BY n), CASE WHEN p.proname = 'iforest_overlap_spans' THEN ' AS (name text, bucket bigint, a bigint, b bigint, n bigint, inside numeric, longest bigint, longest_row tid, longest_ts bigint)' END)
	FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid, unnest(p.proargtypes) WITH ORDINALITY of(oid, n), format_type(of.oid, NULL) type
	WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'iforest') AND p.proargtypes[0] IN ('regclass'::regtype, 'oid'::regtype) GROUP BY p.oid, p.proname;
INSERT INTO calls(function, call) SELECT function, replace(call, 'true', 'false') FROM calls WHERE call LIKE '%true%';
SELECT function, count(*) FROM calls GROUP BY 1 ORDER BY function COLLATE "C";
CREATE TABLE outcomes(caller text, place text, relation text, function text, code text, message text, ran boolean, restored boolean);
-- Each function x each place x index and table, as a user with a path of his own. Before each call the server forgets what it has folded of the index.
CREATE PROCEDURE call_all(caller text) LANGUAGE plpgsql AS $$
DECLARE
	c record;
	before bigint;
	code text;
	message text;
	who text;
	path text;
BEGIN
	FOR c IN SELECT p.place, r.relation, f.function, format(f.call, r.relation) AS call FROM places p, calls f, format('public.place_%s', p.id) name, unnest(ARRAY[name || '_if', name]) r(relation) ORDER BY p.id, f.id LOOP
		UPDATE pg_index SET indisvalid = indisvalid WHERE c.relation::regclass IN (indexrelid, indrelid);
		before := (SELECT last_value FROM hostile_runs);
		code := 'ok';
		message := NULL;
		PERFORM set_config('search_path', format('%I, pg_catalog, public', caller), true);
		PERFORM set_config('role', caller, true);
		PERFORM set_config('hostile.tries', 'on', true);
		BEGIN
			EXECUTE c.call;
		EXCEPTION WHEN OTHERS THEN
			code := SQLSTATE;
			message := SQLERRM;
		END;
		PERFORM set_config('hostile.tries', 'off', true);
		who := current_user;
		path := current_setting('search_path');
		RESET ROLE;
		SET LOCAL search_path = public;
		INSERT INTO outcomes VALUES (caller, c.place, c.relation, c.function, code, message, (SELECT last_value FROM hostile_runs) > before, who = caller AND path = format('%I, pg_catalog, public', caller));
	END LOOP;
END $$;
BEGIN; CALL call_all('iforest_super'); COMMIT;
BEGIN; CALL call_all('iforest_monitor'); COMMIT;
BEGIN; CALL call_all('iforest_member'); COMMIT;
BEGIN; CALL call_all('iforest_stranger'); COMMIT;
SELECT caller, count(*) AS calls, count(*) FILTER (WHERE code = 'ok') AS answered, count(*) FILTER (WHERE ran) AS owners_code_ran FROM outcomes GROUP BY 1 ORDER BY 1;
SELECT * FROM outcomes WHERE code ~ 'TRAP' OR NOT restored;
-- a path that lacks what the owner's code calls is an error, and no door
SELECT DISTINCT place, code, message FROM outcomes WHERE function LIKE 'iforest_check%' AND code <> 'ok' AND relation ~ '_if$' AND caller <> 'iforest_stranger';

SELECT DISTINCT caller, function, code, regexp_replace(message, '\d+', 'N') FROM outcomes WHERE function ~ 'merge|create_functions' AND code <> 'ok' AND relation ~ '_if$' AND caller = 'iforest_super';

-- ---- commands ----
SET SESSION AUTHORIZATION iforest_super;
\set ECHO none
SELECT format(command, 'public.place_' || id, 'public.place_' || id || '_if') FROM places, unnest('{VACUUM %1$s,ANALYZE %1$s,ALTER INDEX %2$s SET (pending_pages = 30),REINDEX INDEX %2$s,REINDEX INDEX CONCURRENTLY %2$s,ALTER TABLE %1$s RENAME v TO w}'::text[]) WITH ORDINALITY c(command, n) WHERE place <> 'call by a path' ORDER BY id, n \gexec
\set ECHO all
RESET SESSION AUTHORIZATION;

-- ---- functions of an index belong to the owner of the index, whoever makes them ----
SELECT proowner::regrole, count(*) > 20 AS many FROM pg_proc WHERE obj_description(oid, 'pg_proc') LIKE 'iforest index place_%' GROUP BY 1;

-- ---- what was seen in the wild ----
CREATE ROLE iforest_att;
CREATE ROLE iforest_mon IN ROLE pg_stat_scan_tables;
GRANT CREATE ON SCHEMA public TO iforest_att;
SET ROLE iforest_att;
CREATE FUNCTION att_evil(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF current_user <> 'iforest_att' THEN EXECUTE 'ALTER ROLE iforest_att SUPERUSER'; END IF; RETURN 1; END $$;
CREATE FUNCTION att_e2(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.att_evil($1); END $$;
CREATE TABLE att_x(ts bigint NOT NULL, v int);
CREATE INDEX att_x_if ON att_x USING iforest(ts) INCLUDE (v) WHERE att_e2(1) > 0;
RESET ROLE;
UPDATE pg_index SET indisvalid = indisvalid WHERE indexrelid = 'att_x_if'::regclass;
SELECT iforest_check('att_x_if', true);
UPDATE pg_index SET indisvalid = indisvalid WHERE indexrelid = 'att_x_if'::regclass;
SELECT cardinality(iforest_create_functions('att_x_if'));
CREATE TABLE log(ts bigint NOT NULL, v int, name text);
CREATE FUNCTION log_norm(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT lower($1)$$;
CREATE FUNCTION log_keep(n text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN length(log_norm(n)) > 0; END $$;
CREATE INDEX log_if ON log USING iforest(ts) INCLUDE (v) WHERE log_keep(name);
INSERT INTO log VALUES (1, 1, 'x');
CREATE SCHEMA iforest_mon AUTHORIZATION iforest_mon;
SET ROLE iforest_mon;
CREATE FUNCTION iforest_mon.log_norm(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'ALTER ROLE iforest_mon SUPERUSER'; RETURN 'x'; END $$;
SET search_path = iforest_mon, public;
SELECT iforest_check('log_if', true);
RESET search_path;
RESET ROLE;
SELECT rolname, rolsuper FROM pg_roles WHERE rolname IN ('iforest_att', 'iforest_mon') ORDER BY 1;

DROP TABLE log CASCADE;
DROP FUNCTION log_keep, log_norm;
DROP TABLE calls, outcomes;
DROP OPERATOR FAMILY hostile_ops USING iforest CASCADE;
DROP PROCEDURE call_all, lie_in_wait;
SET client_min_messages = warning;
DROP OWNED BY iforest_hostile, iforest_monitor, iforest_member, iforest_stranger, iforest_super, iforest_att, iforest_mon CASCADE;
DROP ROLE iforest_hostile, iforest_monitor, iforest_member, iforest_stranger, iforest_super, iforest_att, iforest_mon;
