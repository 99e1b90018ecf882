-- What a session keeps of the dictionary of series: nothing but the keys that it asked for until there have been eight, then all of them. By
-- either way a series is found as the table has it, whoever added it.
CREATE TABLE wide(id serial, part integer, name text, ts bigint, dur integer);
INSERT INTO wide(part, name, ts, dur) SELECT i % 3, 'a name of some length that fills the pages of the dictionary: ' || i * 7919 % 3000, i, i % 1000
	FROM generate_series(1, 9000) i;
CREATE INDEX wide_if ON wide USING iforest (name, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 4);
CREATE INDEX wide_two ON wide USING iforest (part, name, ts) INCLUDE (dur) WITH (background_merge = off, pending_pages = 4);
VACUUM ANALYZE wide;

-- Of names by number: how many rows the index has, and whether each answer is that of the table.
CREATE FUNCTION ask(VARIADIC numbers integer[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name text;
	question text;
	plain text;
	answer text;
	n_rows integer := 0;
	n_right integer := 0;
BEGIN
	FOR i IN 1 .. cardinality(numbers) LOOP
		name := 'a name of some length that fills the pages of the dictionary: ' || numbers[i];
		question := format('SELECT name, count(*), sum(dur), max(ts) FROM wide WHERE name = %L AND ts > 5 GROUP BY name', name);
		IF plan_line(question, 'IForestAggregate') IS NULL THEN
			RETURN 'not by the index';
		END IF;
		EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) q', question) INTO answer;
		PERFORM set_config('iforest.enable', 'off', true);
		EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) q', question) INTO plain;
		PERFORM set_config('iforest.enable', 'on', true);
		n_right := n_right + (answer IS NOT DISTINCT FROM plain)::integer;
		n_rows := n_rows + (answer IS NOT NULL)::integer;
	END LOOP;
	RETURN format('%s of %s found, %s right', n_rows, cardinality(numbers), n_right);
END $$;
CREATE FUNCTION kept() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN used_bytes < 8192 THEN 'what was asked' ELSE 'all' END, ', ')
	FROM pg_backend_memory_contexts WHERE name = 'iforest series' $$;
SELECT format('ALTER DATABASE %I SET enable_indexscan = off', current_database()) \gexec
SELECT format('ALTER DATABASE %I SET enable_bitmapscan = off', current_database()) \gexec
SELECT format('ALTER DATABASE %I SET enable_seqscan = off', current_database()) \gexec

-- The same names again and again, and one that is not there.
\c -
SELECT ask(0, 1, 2999, 1, 1, 1, 0, 0, 2999), kept();
SELECT ask(3000), kept();
-- More than eight.
SELECT ask(7, 8, 9, 9, 10, 3001), kept();
SELECT ask(11, 7, 0, 3001, 2500), kept();

-- Names in a list; all of them; two columns.
\c -
SELECT ask(5);
SELECT plan_line('SELECT name, sum(dur) FROM wide WHERE name IN (''a name of some length that fills the pages of the dictionary: 5'', ''none'') GROUP BY name', ' Series:');
SELECT kept();
SELECT count(*), md5(string_agg(q::text, ' ' ORDER BY name)) = (SELECT md5(string_agg(p::text, ' ' ORDER BY name)) FROM (SELECT name, sum(dur) FROM
	(TABLE wide OFFSET 0) w GROUP BY name) p) AS right FROM (SELECT name, sum(dur) FROM wide GROUP BY name) q;
SELECT kept();
SELECT ask(5, 6, 3000);
\c -
SELECT sum(dur), count(*) FROM wide WHERE part = 1 AND name = 'a name of some length that fills the pages of the dictionary: 1919';
SELECT kept();

-- A session adds rows of series that are there, and of new ones.
\c -
INSERT INTO wide(part, name, ts, dur) VALUES (1, 'a name of some length that fills the pages of the dictionary: 17', 20000, 5);
SELECT kept();
SELECT ask(17, 18, 3500), kept();
INSERT INTO wide(part, name, ts, dur) VALUES (1, 'a name of some length that fills the pages of the dictionary: 3500', 20000, 5);
SELECT ask(17, 3500, 3501), kept();
INSERT INTO wide(part, name, ts, dur) SELECT 1, 'a name of some length that fills the pages of the dictionary: ' || 4000 + i, 20000, i FROM generate_series(0, 400) i;
SELECT ask(4000, 4400, 4401, 3500, 17);
\c -
SELECT ask(4000, 4400, 4401, 3500, 17), kept();

-- A series whose rows were rolled back stays, and has no rows.
BEGIN;
INSERT INTO wide(part, name, ts, dur) VALUES (1, 'a name of some length that fills the pages of the dictionary: 5000', 20000, 5);
ROLLBACK;
SELECT ask(5000, 4400);
SELECT iforest_check('wide_if', true), iforest_check('wide_two', true);

SELECT format('ALTER DATABASE %I RESET enable_indexscan', current_database()) \gexec
SELECT format('ALTER DATABASE %I RESET enable_bitmapscan', current_database()) \gexec
SELECT format('ALTER DATABASE %I RESET enable_seqscan', current_database()) \gexec
DROP TABLE wide;
DROP FUNCTION ask, kept;
