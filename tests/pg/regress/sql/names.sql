-- Names that are hard to quote, of schemas, tables, columns and indexes: what writes SQL or parameters by itself writes them right, and
-- runs nothing that stands in a name. Each table is compared with one of plain names and the same rows.
CREATE TABLE victim(n integer);
CREATE TABLE hostile(id serial, name text);
INSERT INTO hostile(name) VALUES ('plain'), ('A b'), ('select'), ('x"y'), ('"'), (''''), ('x''; DROP TABLE victim; --'), ('x"; DROP TABLE victim; --'), ('x); DROP TABLE victim; --'), ('$$; DROP TABLE victim; --'), ('$1'), ('a\b'), ('\'),
	(E'a\nb'), (E'a\t;\rb'), ('a,b'), ('a=b'), ('{a}'), ('{"a",b}'), ('%s%n%I'), ('/*'), ('--'), ('a.b'), ('ä€😀'), ('NULL'), ('INCLUDE'), ('t0'), ('n'), ('step'), ('fill'), ('ts'), ('[1]'), ('E''x'), ('U&"0041'), ('new'), ('  '), (':x'), ('@'),
	('answer'), ('bucket'), ('count'), ('ctid_'), ('pg_catalog.int8');

-- each call once, and one of each function after names have changed
CREATE TABLE calls(id serial, call text, is_repeated boolean, expected text);
INSERT INTO calls(call, is_repeated) VALUES ('%s(0, 900, 3)', false), ('%s()', false), ('%s(5, 8, 3, fill => ''zero'')', false), ('%s(0, 900, step => 100, fill => ''last'')', false), ('%s(0, 900, 7, fill => ''linear'')', true),
	('%s_rows(500, 505)', true), ('%s_overlap(0, 900, 3)', false), ('%s_overlap(100, 108, 8, fill => ''zero'')', true), ('%s_overlap()', false);
CREATE FUNCTION answer(call text, schema text, index text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT array_agg(row(x.*)::text ORDER BY row(x.*)::text) FROM %s x', format(regexp_replace(call, '%s(\w*)\(', '%I.%I('), schema, index || substring(call from '%s(\w*)\('))) INTO answer;
	RETURN answer;
END $$;
-- Columns: by the name itself, the others named after it. Says how many calls gave what they should.
CREATE FUNCTION make(schema text, name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', schema);
	EXECUTE format('CREATE TABLE %I.%I(%I text, %I bigint, %I bigint, %I numeric(8, 2))', schema, name || '.', name, name || ' t', name || ' d', name || ' v');
	EXECUTE format('INSERT INTO %I.%I SELECT ''s'' || i %% 3, i, i %% 20, i FROM generate_series(0, 999) i', schema, name || '.');
	EXECUTE format('CREATE INDEX %I ON %I.%I USING iforest (%I, (%I + 0)) INCLUDE (%I, %I) WITH (duration = %L, variance = %L, sketch = %L) WHERE %4$I <> %11$L', name, schema, name || '.', name, name || ' t', name || ' d', name || ' v', name || ' d',
		quote_ident(name || ' d') || ', ' || quote_ident(name || ' v'), quote_ident(name || ' d'), name);
	PERFORM iforest_create_functions(format('%I.%I', schema, name)::regclass);
END $$;
CREATE FUNCTION try_name(name text, OUT equal bigint, OUT renamed bigint, OUT again bigint, OUT sums boolean, OUT checked boolean) LANGUAGE plpgsql AS $$
DECLARE
	index regclass;
	definition text;
BEGIN
	PERFORM make('S' || name, name);
	index := format('%I.%I', 'S' || name, name)::regclass;
	SELECT count(*) INTO equal FROM calls WHERE answer(call, 'S' || name, name) = expected;
	EXECUTE format('SELECT (SELECT array_agg(s ORDER BY s) FROM (SELECT row(%1$I, sum(%2$I), stddev(%2$I), max(%3$I)) s FROM %4$I.%5$I WHERE %1$I <> %6$L GROUP BY %1$I) x) = (SELECT array_agg(s ORDER BY s) FROM (SELECT row(plain, sum("plain d"), stddev("plain d"), max("plain v")) s FROM reference."plain." WHERE plain <> %6$L GROUP BY plain) x)',
		name, name || ' d', name || ' v', 'S' || name, name || '.', name) INTO sums;
	PERFORM iforest_check(index, true), iforest_merge(index, true);
	checked := true;
	-- columns that are renamed, to names of the same kind, are renamed in parameters
	EXECUTE format('ALTER TABLE %I.%I RENAME %I TO %I', 'S' || name, name || '.', name || ' d', name || '"''\=, d');
	EXECUTE format('REINDEX INDEX %s', index);
	PERFORM iforest_create_functions(index);
	SELECT count(*) INTO renamed FROM calls WHERE is_repeated AND answer(call, 'S' || name, name) = expected;
	-- as a dump has it
	definition := pg_get_indexdef(index);
	EXECUTE format('DROP INDEX %s', index);
	EXECUTE definition;
	PERFORM iforest_create_functions(format('%I.%I', 'S' || name, name)::regclass);
	SELECT count(*) INTO again FROM calls WHERE is_repeated AND answer(call, 'S' || name, name) = expected;
	EXECUTE format('DROP SCHEMA %I CASCADE', 'S' || name);
END $$;
SET client_min_messages = warning;
SELECT make('reference', 'plain');
UPDATE calls SET expected = answer(call, 'reference', 'plain');
SELECT count(*) FROM calls WHERE expected <> '';
SELECT name, tried.* FROM hostile, try_name(name) tried ORDER BY id;
SELECT count(*) AS still_there FROM victim;
DROP SCHEMA reference CASCADE;
DROP FUNCTION try_name, make, answer;
DROP TABLE victim, hostile, calls;
