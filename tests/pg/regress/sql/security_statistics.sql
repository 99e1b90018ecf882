-- Who may not read a row is not shown its values by planning: operators that tell what they are given see values of statistics only as far as without the index.
-- IFOREST_ROUNDS=100: all forms, and not a quarter.
\set VERBOSITY terse
\set share 12
\getenv share IFOREST_ROUNDS
SELECT set_config('look.share', :'share', false) IS NOT NULL AS is_set;
CREATE ROLE iforest_keeper;
CREATE ROLE iforest_eve;
CREATE ROLE iforest_pam;
GRANT CREATE ON SCHEMA public TO iforest_keeper, iforest_eve;

-- Each table has newer rows than ANALYZE has seen: then the statistics of its times are completed from the index.
SET ROLE iforest_keeper;
CREATE TABLE plain(owner text NOT NULL, ts bigint NOT NULL);
CREATE TABLE parts(owner text NOT NULL, ts bigint NOT NULL) PARTITION BY LIST (owner);
CREATE TABLE parts_bob PARTITION OF parts FOR VALUES IN ('bob');
CREATE TABLE parts_eve PARTITION OF parts FOR VALUES IN ('eve') PARTITION BY RANGE (ts);
CREATE TABLE parts_eve_1 PARTITION OF parts_eve FOR VALUES FROM (0) TO (600000);
CREATE TABLE parts_eve_2 PARTITION OF parts_eve FOR VALUES FROM (600000) TO (9000000);
CREATE TABLE parent(owner text NOT NULL, ts bigint NOT NULL);
CREATE TABLE child(extra text) INHERITS (parent);
CREATE TABLE grandchild() INHERITS (child);
CREATE TABLE locked_child() INHERITS (parent);
CREATE INDEX ON plain USING iforest (ts);
CREATE INDEX ON parts USING iforest (ts);
CREATE INDEX ON parent USING iforest (ts);
CREATE INDEX ON child USING iforest (ts);
CREATE INDEX ON grandchild USING iforest (ts);
CREATE INDEX ON locked_child USING iforest (ts);
CREATE FUNCTION add(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO plain SELECT 'bob', 1000 * i FROM generate_series(first, last) i;
	INSERT INTO parts SELECT CASE i % 2 WHEN 0 THEN 'bob' ELSE 'eve' END, 1000 * i FROM generate_series(first, last) i;
	INSERT INTO parent SELECT * FROM plain WHERE ts >= 1000 * first;
	INSERT INTO child SELECT * FROM plain WHERE ts >= 1000 * first;
	INSERT INTO grandchild SELECT * FROM plain WHERE ts >= 1000 * first;
	INSERT INTO locked_child SELECT * FROM plain WHERE ts >= 1000 * first;
$$;
SELECT add(1, 1000);
RESET ROLE;
ANALYZE plain, parts, parent, child, grandchild, locked_child;
SELECT add(1001, 1200);
SET ROLE iforest_keeper;
-- views: of their owner's rights, of the caller's, and barriers; over tables, over partitions, of arms
CREATE VIEW view_plain AS SELECT * FROM plain WHERE owner <> 'nobody';
CREATE VIEW barrier_plain WITH (security_barrier) AS SELECT * FROM plain WHERE owner = 'eve';
CREATE VIEW invoker_plain WITH (security_invoker) AS SELECT * FROM plain;
CREATE VIEW barrier_parts WITH (security_barrier) AS SELECT * FROM parts WHERE owner = 'nobody';
CREATE VIEW arms AS SELECT * FROM plain UNION ALL SELECT owner, ts FROM child;
CREATE VIEW invoker_arms WITH (security_invoker) AS SELECT * FROM plain UNION ALL SELECT * FROM parts;
CREATE VIEW view_of_barrier AS SELECT * FROM barrier_plain;
GRANT SELECT ON view_plain, barrier_plain, invoker_plain, barrier_parts, arms, invoker_arms, view_of_barrier TO iforest_eve, iforest_pam;
RESET ROLE;

-- An operator for each estimator, which counts the values that it is shown; also where the query is refused afterwards.
CREATE SEQUENCE leaks;
GRANT ALL ON SEQUENCE leaks TO PUBLIC;
SET ROLE iforest_eve;
CREATE FUNCTION leak(a bigint, b bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM nextval('public.leaks'); RETURN a < b; END $$;
CREATE OPERATOR <<< (PROCEDURE = leak, LEFTARG = bigint, RIGHTARG = bigint, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR >>> (PROCEDURE = leak, LEFTARG = bigint, RIGHTARG = bigint, RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR === (PROCEDURE = leak, LEFTARG = bigint, RIGHTARG = bigint, RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR <~> (PROCEDURE = leak, LEFTARG = bigint, RIGHTARG = bigint, RESTRICT = neqsel, JOIN = neqjoinsel);
RESET ROLE;
CREATE FUNCTION shown(query text, is_enabled boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	before bigint := nextval('leaks');
BEGIN
	PERFORM set_config('iforest.enable', is_enabled::text, false);
	BEGIN
		EXECUTE 'EXPLAIN ' || query;
	EXCEPTION WHEN insufficient_privilege THEN
	END;
	RETURN nextval('leaks') - before - 1;
END $$;
CREATE TABLE seen(setting text, role text, query text, with_index integer, without integer);
GRANT INSERT ON seen TO PUBLIC;
CREATE PROCEDURE look(setting text) LANGUAGE plpgsql AS $$
DECLARE
	role text;
	q text;
	with_index integer;
	without integer;
BEGIN
	FOREACH role IN ARRAY '{iforest_keeper,iforest_eve,iforest_pam}'::text[] LOOP
		FOR q IN SELECT format(form, relation, operator) FROM unnest('{plain,parts,parts_bob,parts_eve,parts_eve_1,parent,child,grandchild,ONLY child,locked_child,view_plain,barrier_plain,invoker_plain,barrier_parts,arms,invoker_arms,view_of_barrier}'::text[]) relation, unnest('{<<<,>>>,===,<~>}'::text[]) operator,
			unnest('{"SELECT * FROM %s WHERE ts %s 5","SELECT * FROM %s a JOIN plain b ON a.ts %2$s b.ts","SELECT * FROM (SELECT ts FROM %s OFFSET 0) q WHERE ts %s 5","SELECT count(*) FROM %s WHERE ts %s 7000 GROUP BY ts / 100000"}'::text[]) form WHERE (setting = 'policies above' AND form = 'SELECT * FROM %s WHERE ts %s 5') OR abs(hashtext(setting || relation || operator || form || role) % 100) < current_setting('look.share')::int LOOP
			PERFORM set_config('role', role, true);
			with_index := shown(q, true);
			without := shown(q, false);
			RESET ROLE;
			INSERT INTO seen VALUES (setting, role, q, with_index, without);
		END LOOP;
	END LOOP;
END $$;

-- all may read all; columns only; policies on all tables, only on the upper ones, only on children; parents that may be read, children that may not
GRANT SELECT ON plain, parts, parts_bob, parts_eve, parts_eve_1, parent, child, grandchild, locked_child TO iforest_eve, iforest_pam;
CALL look('all may read');
REVOKE SELECT ON plain, parts, parts_bob, parts_eve, parts_eve_1, parent, child, grandchild, locked_child FROM iforest_eve, iforest_pam;
GRANT SELECT (ts) ON plain, parts, parts_bob, parts_eve, parts_eve_1, parent, child, grandchild, locked_child TO iforest_pam;
GRANT SELECT (owner) ON plain, parts, parts_bob, parts_eve, parts_eve_1, parent, child, grandchild, locked_child TO iforest_eve;
CALL look('columns');
GRANT SELECT ON plain, parts, parent TO iforest_eve, iforest_pam;
CALL look('parents');
GRANT SELECT ON plain, parts, parts_bob, parts_eve, parts_eve_1, parent, child, grandchild, locked_child TO iforest_eve, iforest_pam;
CREATE POLICY p ON plain USING (ts < 0);
-- of a condition that leaves no partition out
CREATE POLICY p ON parts USING (abs(ts) < 0);
CREATE POLICY p ON parent USING (ts < 0);
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
CALL look('policies above');
ALTER TABLE parts_bob ENABLE ROW LEVEL SECURITY;
ALTER TABLE parts_eve ENABLE ROW LEVEL SECURITY;
ALTER TABLE parts_eve_1 ENABLE ROW LEVEL SECURITY;
ALTER TABLE child ENABLE ROW LEVEL SECURITY;
ALTER TABLE grandchild ENABLE ROW LEVEL SECURITY;
ALTER TABLE locked_child ENABLE ROW LEVEL SECURITY;
CALL look('policies');
ALTER TABLE plain FORCE ROW LEVEL SECURITY;
ALTER TABLE parts FORCE ROW LEVEL SECURITY;
ALTER TABLE parent FORCE ROW LEVEL SECURITY;
CALL look('forced');
ALTER TABLE plain DISABLE ROW LEVEL SECURITY;
ALTER TABLE parts DISABLE ROW LEVEL SECURITY;
ALTER TABLE parent DISABLE ROW LEVEL SECURITY;
CALL look('policies below');
SELECT setting, count(*) > 50 AS many, count(*) FILTER (WHERE with_index > 0) > 5 AS some_show_values, count(*) FILTER (WHERE with_index = 0) > 10 AS some_show_none FROM seen GROUP BY 1 ORDER BY setting COLLATE "C";
-- values are shown with the index that are not shown without
SELECT * FROM seen WHERE with_index > 0 AND without = 0 LIMIT 20;
-- and the index is asked for statistics at all
SELECT count(*) > 0 AS completed FROM seen WHERE with_index <> without;

DROP TABLE seen;
DROP SEQUENCE leaks;
DROP FUNCTION shown;
DROP PROCEDURE look;
RESET iforest.enable;
SET client_min_messages = warning;
DROP OWNED BY iforest_keeper, iforest_eve, iforest_pam CASCADE;
DROP ROLE iforest_keeper, iforest_eve, iforest_pam;
