-- ALTER TABLE ... TYPE between any two types, of a value, a by column and the time: it is refused, or inserts and queries go on and agree with
-- the table
SET TimeZone = 'UTC'; -- where timestamp and timestamptz are not rewritten
CREATE DOMAIN price AS numeric(10,2);
CREATE DOMAIN wide AS numeric;
CREATE DOMAIN count_of AS integer;
CREATE DOMAIN label AS varchar(10);
CREATE COLLATION unaccented (provider = icu, locale = 'und-u-ks-level1', deterministic = false);

CREATE TEMP TABLE kinds(type text, literals text[]);
INSERT INTO kinds VALUES
	('smallint', '{1,7,-3}'), ('integer', '{1,7,-3}'), ('bigint', '{1,7,-3}'), ('oid', '{1,7,3}'), ('real', '{1,7.5,-3}'),
	('double precision', '{1,7.5,-3}'), ('numeric(10,2)', '{1,7.25,-3}'), ('numeric(18,2)', '{1,7.25,-3}'),
	('numeric(20,2)', '{1,123456789012345678.25,-3}'), ('numeric(10,4)', '{1,7.25,-3}'),
	('numeric', '{1,12345678901234567890.123456789,-3}'), ('price', '{1,7.25,-3}'),
	('wide', '{1,12345678901234567890.123456789,-3}'), ('count_of', '{1,7,-3}'), ('date', '{2024-01-01,2024-02-29}'),
	('timestamp', '{2024-01-01,2024-02-29 10:00}'), ('timestamp(0)', '{2024-01-01,2024-02-29 10:00}'),
	('timestamptz', '{2024-01-01,2024-02-29 10:00}'), ('interval', '{1 day,2 days}'), ('text', '{1,x,é}'), ('varchar', '{1,x,é}'),
	('varchar(5)', '{1,x,é}'), ('varchar(10)', '{1,x,é}'), ('char(5)', '{1,x,é}'), ('char(10)', '{1,x,é}'), ('bpchar', '{1,"x ",x}'),
	('name', '{1,x,é}'), ('label', '{1,x,é}'), ('text COLLATE "POSIX"', '{1,x,é}'), ('text COLLATE unaccented', '{e,é,E}'),
	('bytea', '{1,x,\\xff}'), ('boolean', '{true,false}'), ('uuid', '{10000000-0000-0000-0000-000000000000}'), ('inet', '{10.0.0.1}'),
	('cidr', '{10.0.0.0/8}'), ('bit(3)', '{101}'), ('varbit', '{101}'), ('money', '{1}');

CREATE FUNCTION try(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN '';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;

-- what the index and the table say of the column v
CREATE FUNCTION differs(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	indexed text;
BEGIN
	SET LOCAL iforest.enable = off;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', question) INTO plain;
	SET LOCAL iforest.enable = on;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = on;
	EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', question) INTO indexed;
	RETURN CASE WHEN plain IS DISTINCT FROM indexed THEN format('%s: %s, expected %s', question, indexed, plain) END;
END $$;

CREATE FUNCTION after(old kinds, new kinds, role text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	literal text;
	error text;
	questions text[];
BEGIN
	FOREACH literal IN ARRAY new.literals LOOP
		error := try(format('INSERT INTO t SELECT %L, 5, 1', literal));
		IF error <> '' THEN
			RETURN format('insert of %s: %s', literal, error);
		END IF;
	END LOOP;
	questions := ARRAY['SELECT count(*), count(v) FROM t', 'SELECT v::text, count(*) FROM t GROUP BY v',
		'SELECT min(v)::text, max(v)::text FROM t', 'SELECT sum(v)::text FROM t', 'SELECT count(DISTINCT v) FROM t',
		format('SELECT count(*) FROM t WHERE v = %L', new.literals[1])];
	IF role <> 'by' AND new.type LIKE '%unaccented' THEN
		questions := questions[3:3] || questions[6:]; -- which of equal texts is shown is open
	END IF;
	FOR i IN 1 .. cardinality(questions) LOOP
		error := try(questions[i]); -- not all types have sums, say
		IF error = '' THEN
			error := coalesce(differs(questions[i]), '');
			IF error <> '' THEN
				RETURN error;
			END IF;
		END IF;
	END LOOP;
	RETURN try('SELECT iforest_check(''i'', true)');
END $$;

-- makes the table and its index; says whether there can be one
CREATE FUNCTION make(old kinds, role text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	definitions CONSTANT jsonb := '{"value": "(ts) INCLUDE (v)", "counted": "(ts) INCLUDE (v) WITH (distinct = ''v'')", "by": "(v, ts)",
		"time": "(k, v)"}';
	literal text;
BEGIN
	DROP TABLE IF EXISTS t;
	EXECUTE format('CREATE TABLE t(v %s, ts integer, k integer)', old.type);
	FOREACH literal IN ARRAY old.literals LOOP
		EXECUTE format('INSERT INTO t SELECT %L, 1, 1 FROM generate_series(1, 3)', literal);
	END LOOP;
	RETURN try('CREATE INDEX i ON t USING iforest ' || (definitions ->> role)) = '';
END $$;

DO $$
DECLARE
	old kinds;
	new kinds;
	role text;
	n_kept bigint := 0;
	n_refused bigint := 0;
	error text;
BEGIN
	SET LOCAL client_min_messages = warning;
	FOR old IN SELECT * FROM kinds LOOP
		FOREACH role IN ARRAY '{value,counted,by,time}'::text[] LOOP
			CONTINUE WHEN NOT make(old, role);
			FOR new IN SELECT * FROM kinds LOOP
				IF try(format('ALTER TABLE t ALTER v TYPE %s', new.type)) <> '' THEN
					n_refused := n_refused + 1;
					CONTINUE;
				END IF;
				n_kept := n_kept + 1;
				error := after(old, new, role);
				IF error <> '' THEN
					RAISE WARNING '% to %, %: %', old.type, new.type, role, error;
				END IF;
				PERFORM make(old, role);
			END LOOP;
		END LOOP;
	END LOOP;
	RAISE LOG 'altered types: % kept, % refused', n_kept, n_refused;
	IF n_kept < 100 OR n_refused < 100 THEN
		RAISE WARNING '% kept, % refused', n_kept, n_refused;
	END IF;
END $$;

-- what is said
DROP TABLE IF EXISTS t;
CREATE TABLE t(ts integer, v numeric(10,2), c char(5), k text);
CREATE INDEX i ON t USING iforest (c, ts) INCLUDE (v, k) WITH (distinct = 'k');
ALTER TABLE t ALTER v TYPE numeric;
ALTER TABLE t ALTER v TYPE numeric(19,2);
ALTER TABLE t ALTER c TYPE bpchar;
ALTER TABLE t ALTER k TYPE text COLLATE unaccented;
ALTER TABLE t ALTER v TYPE numeric(18,2), ALTER c TYPE char(7);
ALTER TABLE t RENAME v TO w;
ALTER TABLE t ALTER w SET STATISTICS 10, ALTER w SET DEFAULT 1, ALTER w SET NOT NULL;
INSERT INTO t VALUES (1, 'NaN', 'a', 'x');
INSERT INTO t VALUES (1, 9999999999999999.99, 'a', 'x');
SELECT iforest_check('i', true);
DROP FUNCTION after, make;
DROP TABLE t, kinds;
DROP FUNCTION try, differs;
DROP DOMAIN price, wide, count_of, label;
DROP COLLATION unaccented;
