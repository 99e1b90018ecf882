-- What CREATE EXTENSION makes: every object has a description, and functions are what they say.
SELECT extversion, extrelocatable FROM pg_extension WHERE extname = 'iforest';
SELECT pg_describe_object(classid, objid, 0) AS without_a_description FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'iforest') AND deptype = 'e'
	AND coalesce(obj_description(objid, classid::regclass::name), '') = ''
	AND classid NOT IN ('pg_opfamily'::regclass, 'pg_type'::regclass)
ORDER BY pg_describe_object(classid, objid, 0) COLLATE "C";
SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'iforest';

SELECT oid::regprocedure AS function, provolatile AS volatility, proparallel AS parallel, proisstrict AS strict,
	coalesce(array_to_string(proacl, ',') !~ '(^|,)=X/', false) AS restricted
FROM pg_proc WHERE proname IN ('iforest_merge', 'iforest_check', 'iforest_stats', 'iforest_runs', 'iforest_page', 'iforest_entries')
ORDER BY oid::regprocedure::text COLLATE "C";
SELECT proname, proargnames[array_position(proargmodes, 'o') :] AS columns, proallargtypes[array_position(proargmodes, 'o') :]::regtype[] AS types
FROM pg_proc WHERE proname IN ('iforest_stats', 'iforest_runs', 'iforest_page', 'iforest_entries') AND 'o' = ANY (proargmodes) ORDER BY 1;

-- Nothing of it is left in the catalogs when it goes, and it comes back.
BEGIN;
DROP EXTENSION iforest;
SELECT count(*) FROM pg_proc WHERE prosrc ~ '^iforest' OR probin ~ 'iforest';
ROLLBACK;
CREATE SCHEMA elsewhere;
BEGIN;
DROP EXTENSION iforest;
CREATE EXTENSION iforest SCHEMA elsewhere;
CREATE TABLE t(ts integer);
INSERT INTO t VALUES (1), (2);
CREATE INDEX t_if ON t USING iforest (ts);
SELECT elsewhere.iforest_check('t_if', true);
SELECT entries FROM elsewhere.iforest_stats('t_if');
ROLLBACK;
DROP SCHEMA elsewhere;

-- It is trusted: who may make things in the database may make it. Everybody may use it.
CREATE ROLE iforest_user;
GRANT CREATE ON SCHEMA public TO iforest_user;
BEGIN;
DROP EXTENSION iforest;
SET ROLE iforest_user;
CREATE EXTENSION iforest;
ROLLBACK;
BEGIN;
DROP EXTENSION iforest;
GRANT CREATE ON DATABASE iforest_regress TO iforest_user;
SET ROLE iforest_user;
CREATE EXTENSION iforest;
SELECT count(*) AS made FROM pg_extension WHERE extname = 'iforest';
ROLLBACK;
SET ROLE iforest_user;
CREATE TABLE t(who text, ts integer);
CREATE INDEX t_if ON t USING iforest (who, ts);
INSERT INTO t SELECT 'a', i FROM generate_series(1, 100) i;
SELECT iforest_merge('t_if', true);
SELECT count(*) FROM t WHERE who = 'a' AND ts < 50;
DROP TABLE t;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM iforest_user;
DROP ROLE iforest_user;
