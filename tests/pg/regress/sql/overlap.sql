-- The overlap function of an index: when it is read from the index, who may, and what the other half answers then.
SET client_min_messages = warning;
CREATE TABLE so(id integer, track text, ts bigint, dur integer, note text);
INSERT INTO so SELECT i, 't' || i % 4, i * 10, i % 50, 'x' FROM generate_series(1, 2000) i;
INSERT INTO so VALUES (0, 't1', 0, 50000, 'long'), (-1, 't9', 500, NULL, 'point'), (-2, NULL, 15000, -7, 'unfinished');
CREATE INDEX so_if ON so USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');
SELECT cardinality(iforest_create_functions('so_if'));

-- "index" where the function reads the index, "table" where it does not; and the conditions that it is given
CREATE FUNCTION pg_temp.way(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	calls text := '';
	way text := 'index';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || question LOOP
		IF line ~ 'Aggregate' AND line !~ 'never executed' THEN
			way := 'table';
		ELSIF line ~ 'Call: iforest_overlap_spans' THEN
			calls := calls || regexp_replace(regexp_replace(line, '.*NULL::(bigint|date|timestamp with time zone)(.*)\)$', '\2'), '::\w+', '', 'g');
			calls := regexp_replace(calls, '\$\d+|\(InitPlan \d+\)\.col1', 'a parameter');
		END IF;
	END LOOP;
	RETURN way || calls;
END $$;
-- the same from the index and without it; how many rows
CREATE FUNCTION pg_temp.both(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answers text[] := '{}';
	answer text;
	n bigint;
BEGIN
	FOR i IN 1 .. 2 LOOP
		PERFORM set_config('iforest.enable', (ARRAY['on', 'off'])[i], true);
		EXECUTE format('SELECT count(*), string_agg(x::text, '' '' ORDER BY x::text) FROM (%s) x', question) INTO n, answer;
		answers := answers || answer;
	END LOOP;
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN n::text || CASE WHEN answers[1] IS NOT DISTINCT FROM answers[2] THEN ' same' ELSE E' different\n' || answers[1] || E'\n' || answers[2] END;
END $$;
CREATE FUNCTION pg_temp.refusal(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE 'SELECT string_agg(x::text, '''') FROM (' || question || ') x';
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN SQLERRM || coalesce(' / ' || nullif(hint, ''), '');
END $$;

SELECT pg_temp.way('SELECT * FROM so_if_overlap(1000, 9000, 7)'), pg_temp.both('SELECT * FROM so_if_overlap(1000, 9000, 7)');
SELECT track, count, clipped_dur, longest_dur, longest_dur_ts FROM so_if_overlap(1000, 9000) ORDER BY track;
SELECT pg_temp.both('SELECT * FROM so_if_overlap()'), pg_temp.both('SELECT * FROM so_if_overlap(t0 => 15000)'), pg_temp.both('SELECT * FROM so_if_overlap(-5, 7000, step => 900, origin => 11)'),
	pg_temp.both('SELECT * FROM so_if_overlap(500, 500)'), pg_temp.both('SELECT * FROM so_if_overlap(NULL, 500)'), pg_temp.both('SELECT * FROM so_if_overlap(500, 503, 9)');
-- conditions on by columns go to the index, others are checked
SELECT pg_temp.way(q), pg_temp.both(q) FROM unnest(ARRAY[
	'SELECT * FROM so_if_overlap(0, 9000, 3) WHERE track = ''t1''', 'SELECT * FROM so_if_overlap(0, 9000, 3) WHERE ''t1'' = track AND bucket > 0',
	'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE track IN (''t1'', ''t9'', ''none'')', 'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE track IS NULL',
	'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE track = ''none''', 'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE track = NULL::text OR count > 40',
	'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE bucket = 1', 'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE track COLLATE "C" = ''t2''',
	'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE track = (SELECT track FROM so WHERE id = 7)',
	'SELECT * FROM so_if_overlap(0, 90000, 3) WHERE track = to_hex((random() * 0)::integer)']) q;
-- filled: from the index as well, conditions on by columns narrow all of it; and which series there are is what the snapshot sees
SELECT pg_temp.way(q) ~ ', 1, ''t1''$' AS narrowed, pg_temp.both(q) FROM unnest(ARRAY['SELECT * FROM so_if_overlap(15000, 30000, 5, fill => ''zero'') WHERE track = ''t1''',
	'SELECT * FROM so_if_overlap(15000, 30000, step => 1000, origin => 7, fill => ''null'') WHERE track = ''t1''']) q;
SELECT pg_temp.both(q) FROM unnest(ARRAY['SELECT * FROM so_if_overlap(15000, 30000, 5, fill => ''zero'')', 'SELECT * FROM so_if_overlap(fill => ''null'')', 'SELECT * FROM so_if_overlap(t0 => 45000, fill => ''zero'')',
	'SELECT * FROM so_if_overlap(500, 503, 9, fill => ''zero'')', 'SELECT * FROM so_if_overlap(500, 500, 9, fill => ''zero'')', 'SELECT * FROM so_if_overlap(NULL, 500, fill => ''zero'')']) q;
SELECT track, bucket, count, clipped_dur, longest_dur FROM so_if_overlap(49000, 53000, 2, fill => 'zero') WHERE track IN ('t1', 't9') OR track IS NULL ORDER BY 1, 2;
SELECT pg_temp.refusal(format('SELECT * FROM so_if_overlap(%s)', a)) FROM unnest(ARRAY['0, 100, fill => ''last''', '0, 100, fill => ''linear''', '0, 100, fill => ''often''', '0, step => 10, fill => ''zero''', 'step => 10, fill => ''null''']) a;
-- with step and one bound, or none: the ends of the spans stand in
SELECT left(pg_temp.way(q), 5) AS way, pg_temp.both(q) FROM unnest(ARRAY['SELECT * FROM so_if_overlap(t0 => 15000, step => 700)', 'SELECT * FROM so_if_overlap(t1 => 5000, step => 700)', 'SELECT * FROM so_if_overlap(step => 7000, origin => -3)']) q;
SELECT count(*), min(bucket_start), max(bucket_end), sum(clipped_dur) = (SELECT sum(greatest(dur, 0)) FROM so WHERE track = 't1') AS same FROM so_if_overlap(step => 1000) WHERE track = 't1';
-- joined, of several windows at once, as a subquery's, of volatile arguments, and in generic plans
SELECT pg_temp.both('SELECT * FROM generate_series(0, 9000, 1000) w, so_if_overlap(w, w + 900, 3) o WHERE track = ''t3'''), pg_temp.both('SELECT o.*, s.id, s.note FROM so_if_overlap(400, 700) o JOIN so s ON s.ctid = o.longest_dur_ctid'),
	pg_temp.both('SELECT * FROM so_if_overlap((random() * 0)::bigint, 5000, 2)');
PREPARE o(bigint, bigint, text) AS SELECT bucket, count, clipped_dur FROM so_if_overlap($1, $2, 2) WHERE track = $3;
SET plan_cache_mode = force_generic_plan;
EXECUTE o(100, 900, 't2');
EXECUTE o(100, 5000, 't1');
DEALLOCATE o;
PREPARE o(bigint, bigint, text, text) AS SELECT bucket, count, clipped_dur FROM so_if_overlap($1, $2, 2, fill => $4) WHERE track = $3 ORDER BY 1;
EXECUTE o(49900, 50100, 't1', NULL);
EXECUTE o(49900, 50100, 't1', 'zero');
EXECUTE o(49900, 50100, 't1', 'none');
RESET plan_cache_mode;
DEALLOCATE o;
-- more than is kept in memory
SET work_mem = '64kB';
SELECT pg_temp.way('SELECT * FROM so_if_overlap(1000, 40000, 3000)'), pg_temp.both('SELECT * FROM so_if_overlap(1000, 40000, 3000)'), pg_temp.both('SELECT * FROM so_if_overlap(0, 19000, step => 13) WHERE track IN (''t1'', ''t2'')');
RESET work_mem;

-- ---- what a snapshot sees ----
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM so_if_overlap(0, 40000, 2) WHERE track = 't1' ORDER BY bucket;
FETCH c;
DELETE FROM so WHERE id = 0;
SELECT pg_temp.both('SELECT * FROM so_if_overlap(0, 40000, 2)');
SAVEPOINT a;
INSERT INTO so SELECT i, 't' || i % 9, i, i FROM generate_series(1, 500) i;
UPDATE so SET dur = dur + 1 WHERE id % 3 = 0;
UPDATE so SET note = 'y' WHERE id % 7 = 0;
SELECT pg_temp.both('SELECT * FROM so_if_overlap(0, 40000, 2)');
DECLARE d CURSOR FOR SELECT count(*), sum(clipped_dur) FROM so_if_overlap(0, 40000, 2);
ROLLBACK TO a;
SELECT pg_temp.both('SELECT * FROM so_if_overlap(0, 40000, 2)');
DECLARE d CURSOR FOR SELECT track, count, clipped_dur FROM so_if_overlap(0, 40000) WHERE track = 't2';
DELETE FROM so WHERE id % 4 = 2;
FETCH d;
FETCH c;
SELECT count(*) FROM so_if_overlap(0, 40000) WHERE track = 't2';
ROLLBACK;
SELECT pg_temp.both('SELECT * FROM so_if_overlap(0, 40000, 2)');

-- ---- who may ----
CREATE ROLE so_user;
GRANT USAGE ON SCHEMA public TO so_user;
SELECT $$SELECT * FROM iforest_overlap_spans('so_if'::regclass, 0::bigint, 5000::bigint, NULL::bigint, NULL::bigint, NULL::bigint) AS o(t text, a bigint, b bigint, c bigint, d bigint, e numeric, f integer, g tid, h bigint)$$ AS direct \gset
SET ROLE so_user;
SELECT pg_temp.refusal('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.refusal(:'direct');
RESET ROLE;
GRANT SELECT (track, ts, dur) ON so TO so_user;
SET ROLE so_user;
SELECT pg_temp.refusal('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.refusal(:'direct');
RESET ROLE;
GRANT SELECT (ctid) ON so TO so_user;
SET ROLE so_user;
SELECT pg_temp.both('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.refusal(:'direct');
RESET ROLE;
REVOKE SELECT (dur) ON so FROM so_user;
SET ROLE so_user;
SELECT pg_temp.refusal('SELECT track FROM so_if_overlap(0, 5000)'), pg_temp.refusal(:'direct');
RESET ROLE;
GRANT SELECT ON so TO so_user;
-- a view's function is asked as who asks
CREATE VIEW so_view AS SELECT * FROM so_if_overlap(0, 5000);
GRANT SELECT ON so_view TO so_user;
SET ROLE so_user;
SELECT count(*) FROM so_view;
RESET ROLE;
REVOKE SELECT ON so FROM so_user;
SET ROLE so_user;
SELECT pg_temp.refusal('SELECT * FROM so_view');
RESET ROLE;
DROP VIEW so_view;
-- under row security the table is read; an owner is let pass, unless by force
GRANT SELECT ON so TO so_user;
CREATE POLICY even ON so USING (track IN ('t0', 't2'));
ALTER TABLE so ENABLE ROW LEVEL SECURITY;
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)'), array_agg(track ORDER BY track) FROM so_if_overlap(0, 5000);
SET ROLE so_user;
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)'), array_agg(track ORDER BY track) FROM so_if_overlap(0, 5000);
SELECT pg_temp.refusal(:'direct');
SET row_security = off;
SELECT pg_temp.refusal('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.refusal(:'direct');
RESET row_security;
RESET ROLE;
ALTER TABLE so DISABLE ROW LEVEL SECURITY;
DROP POLICY even ON so;
-- of a function that is run as its owner
CREATE FUNCTION so_as_owner() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM so_if_overlap(0, 5000)';
REVOKE ALL ON so FROM so_user;
SET ROLE so_user;
SELECT so_as_owner(), pg_temp.refusal(:'direct');
RESET ROLE;
DROP FUNCTION so_as_owner;
-- a cursor shows what it did to who has opened it, whoever reads on: policies stay, and privileges are not asked again
GRANT SELECT ON so TO so_user;
CREATE POLICY even ON so USING (track IN ('t0', 't2'));
ALTER TABLE so ENABLE ROW LEVEL SECURITY;
BEGIN;
SET ROLE so_user;
DECLARE c CURSOR FOR SELECT track FROM so_if_overlap(0, 5000) ORDER BY track;
RESET ROLE;
FETCH ALL c;
DECLARE d CURSOR FOR SELECT count(*) FROM so_if_overlap(0, 5000);
SET ROLE so_user;
FETCH d;
ROLLBACK;
ALTER TABLE so DISABLE ROW LEVEL SECURITY;
DROP POLICY even ON so;
REVOKE ALL ON so FROM so_user;
CREATE FUNCTION so_cursor(c refcursor) RETURNS refcursor LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	OPEN c FOR SELECT count(*) FROM so_if_overlap(0, 5000);
	RETURN c;
END $$;
BEGIN;
SET ROLE so_user;
SELECT so_cursor('c');
FETCH c;
ROLLBACK;
DROP FUNCTION so_cursor;
REVOKE USAGE ON SCHEMA public FROM so_user;
DROP ROLE so_user;

-- ---- what an index goes through ----
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)') AS at_first;
REINDEX INDEX CONCURRENTLY so_if;
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.both('SELECT * FROM so_if_overlap(0, 5000)');
ALTER INDEX so_if RENAME TO so_other;
ALTER TABLE so RENAME TO so_table;
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)');
ALTER TABLE so_table RENAME TO so;
ALTER INDEX so_other RENAME TO so_if;
ALTER TABLE so RENAME dur TO lasted;
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.both('SELECT * FROM so_if_overlap(0, 5000)');
SELECT cardinality(iforest_create_functions('so_if'));
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)'), pg_temp.both('SELECT clipped_lasted FROM so_if_overlap(0, 5000)');
-- rows of children are not in it
CREATE TABLE so_child() INHERITS (so);
INSERT INTO so_child VALUES (5, 't77', 100, 10);
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)'), count(*) FROM so_if_overlap(0, 5000) WHERE track = 't77';
DROP TABLE so_child;
SELECT pg_temp.way('SELECT * FROM so_if_overlap(0, 5000)');
-- a unit of its own, an end in the place of a duration, and no duration any more
CREATE TABLE so_units(at timestamptz, dur bigint, fin timestamptz);
INSERT INTO so_units SELECT '2024-03-01'::timestamptz + i * interval '1 s', i % 9 * 1000, '2024-03-01'::timestamptz + i * interval '2 s' FROM generate_series(0, 999) i;
CREATE INDEX so_ms ON so_units USING iforest (at) INCLUDE (dur) WITH (duration = 'dur', duration_unit = 'ms');
CREATE INDEX so_fin ON so_units USING iforest (at) INCLUDE (fin) WITH ("end" = 'fin');
CREATE INDEX so_us ON so_units USING iforest (at) INCLUDE (dur) WITH (duration = 'dur');
SELECT cardinality(iforest_create_functions('so_ms')), cardinality(iforest_create_functions('so_fin')), cardinality(iforest_create_functions('so_us'));
SELECT pg_temp.way(format('SELECT * FROM %s_overlap(''2024-03-01 00:01'', ''2024-03-01 00:02'', 3)', i)), pg_temp.both(format('SELECT * FROM %s_overlap(''2024-03-01 00:01'', ''2024-03-01 00:02'', 3)', i))
	FROM unnest('{so_ms, so_fin, so_us}'::text[]) i;
ALTER INDEX so_us RESET (duration);
REINDEX INDEX so_us;
SELECT pg_temp.way('SELECT * FROM so_us_overlap(''2024-03-01 00:01'', ''2024-03-01 00:02'', 3)'), pg_temp.both('SELECT * FROM so_us_overlap(''2024-03-01 00:01'', ''2024-03-01 00:02'', 3)');
-- what is clipped is in days and hours, whatever it is made of
ALTER INDEX so_us SET (duration = 'dur');
REINDEX INDEX so_us;
INSERT INTO so_units SELECT '2024-03-01', 100000000000 FROM generate_series(1, 3);
SELECT count, clipped_dur, longest_dur FROM so_us_overlap();
SELECT pg_temp.both('SELECT * FROM so_us_overlap()'), pg_temp.both('SELECT * FROM so_us_overlap(t0 => ''2024-03-01 01:00'')'), pg_temp.both('SELECT * FROM so_us_overlap(''2024-02-28'', ''2024-03-05'', step => ''6 hours'')');
-- infinite times and ends, in a window that is open and in one that is not
INSERT INTO so_units VALUES ('2024-03-01', 9223372036854775807);
SELECT pg_temp.both('SELECT * FROM so_us_overlap(''2024-02-28'', ''2024-03-05'', 7)');
SET iforest.enable = off;
SELECT pg_temp.refusal('SELECT * FROM so_us_overlap()') AS plain \gset
SET iforest.enable = on;
SELECT pg_temp.refusal('SELECT * FROM so_us_overlap()') = :'plain' AS same;
DELETE FROM so_units WHERE dur > 200000000000;
INSERT INTO so_units VALUES ('-infinity', 9223372036854775807), ('infinity', 5);
SELECT pg_temp.both('SELECT * FROM so_us_overlap(''2024-02-28'', ''2024-03-05'', 7)'), pg_temp.refusal('SELECT * FROM so_us_overlap(t0 => ''2024-02-28'')'), pg_temp.refusal('SELECT * FROM so_us_overlap(t1 => ''2024-02-28'')');
SELECT iforest_merge('so_us', true);
SELECT pg_temp.both('SELECT * FROM so_us_overlap(''2024-02-28'', ''2024-03-05'', 7)'), pg_temp.refusal('SELECT * FROM so_us_overlap(t0 => ''2024-02-28'')'), pg_temp.refusal('SELECT * FROM so_us_overlap(t1 => ''2024-02-28'')');
DROP TABLE so_units;
-- a by column of an enum type, and of a domain
CREATE TYPE so_kind AS ENUM ('one', 'two');
CREATE DOMAIN so_number AS integer;
CREATE TABLE so_kinds(kind so_kind, num so_number, day date, dur bigint);
INSERT INTO so_kinds SELECT (ARRAY['one', 'two'])[1 + i % 2]::so_kind, i % 3, '2024-03-01'::date + i, i % 30 FROM generate_series(1, 300) i;
CREATE INDEX so_kinds_if ON so_kinds USING iforest (kind, num, day) INCLUDE (dur) WITH (duration = 'dur');
SELECT cardinality(iforest_create_functions('so_kinds_if'));
SELECT pg_temp.way(q), pg_temp.both(q) FROM unnest(ARRAY['SELECT * FROM so_kinds_if_overlap(''2024-04-01'', ''2024-06-01'', 4) WHERE kind = ''two''',
	'SELECT * FROM so_kinds_if_overlap(''2024-04-01'', ''2024-06-01'', 4) WHERE num = 2', 'SELECT * FROM so_kinds_if_overlap(''2024-04-01'', ''2024-06-01'', 4) WHERE num IN (1, 2) AND kind IN (''one'')']) q;
DROP TABLE so_kinds;
DROP DOMAIN so_number;
DROP TYPE so_kind;

-- ---- called otherwise ----
SELECT pg_temp.refusal(replace(:'direct', 'f integer', 'f bigint'));
-- nor may what the table holds pass for a domain that does not hold it
CREATE DOMAIN so_even AS text CHECK (VALUE IN ('t0', 't2'));
SELECT pg_temp.refusal(replace(:'direct', 't text', 't so_even'));
DROP DOMAIN so_even;
SELECT pg_temp.refusal(replace(:'direct', '0::bigint', '0'));
SELECT pg_temp.refusal(replace(:'direct', ', NULL::bigint)', ')'));
SELECT pg_temp.refusal(replace(:'direct', 't text, a', 'a'));
SELECT pg_temp.refusal('SELECT * FROM iforest_overlap_spans(''so''::regclass, 1, 2) AS o(a integer)');
SELECT pg_temp.refusal('SELECT iforest_overlap_spans(''so_if''::regclass, 1, 2)');
SELECT count(*) FROM iforest_overlap_spans(NULL, 1, 2) AS o(a integer);
SELECT pg_temp.refusal('SELECT * FROM so_if_overlap(1, 5, 2, 2)'), pg_temp.refusal('SELECT * FROM so_if_overlap(-5, 9000000000000000000, step => 1, origin => -9223372036854775808) WHERE track = ''t1''');
-- an index with the same columns, of which others are its key
CREATE TABLE so_keys(ts bigint, x bigint, dur bigint);
INSERT INTO so_keys SELECT i, i % 7, i % 5 FROM generate_series(1, 300) i;
CREATE INDEX so_two ON so_keys USING iforest (ts, x) INCLUDE (dur) WITH (duration = 'dur');
CREATE INDEX so_one ON so_keys USING iforest (ts) INCLUDE (x, dur) WITH (duration = 'x');
SELECT cardinality(iforest_create_functions('so_one')), cardinality(iforest_create_functions('so_two'));
SELECT pg_temp.way(q), pg_temp.both(q) FROM unnest('{SELECT * FROM so_one_overlap(0\, 100), SELECT * FROM so_two_overlap(0\, 100) WHERE ts < 9}'::text[]) q;
-- a name that has gone to another column, which has an index as well: the function keeps to its column
ALTER TABLE so_keys RENAME x TO old_x;
ALTER TABLE so_keys ADD x bigint;
UPDATE so_keys SET x = 1000;
CREATE INDEX so_new ON so_keys USING iforest (ts) INCLUDE (x, dur) WITH (duration = 'x');
ALTER INDEX so_one SET (duration = 'old_x');
SELECT pg_temp.way('SELECT * FROM so_one_overlap(0, 100)'), pg_temp.both('SELECT * FROM so_one_overlap(0, 100)'), longest_x FROM so_one_overlap(0, 100);
SELECT cardinality(iforest_create_functions('so_one'));
SELECT pg_temp.way('SELECT * FROM so_one_overlap(0, 100)'), longest_old_x FROM so_one_overlap(0, 100);
DROP TABLE so_keys;
-- whatever the settings are by which constants are written: of who makes the functions, and of who asks
CREATE TABLE so_set(ts bigint, dur integer, at timestamptz, share float8);
INSERT INTO so_set SELECT i, i % 5, timestamptz '2024-01-01 00:00+00' + i * interval '1 h', i FROM generate_series(-50, 300) i;
CREATE INDEX so_set_if ON so_set USING iforest (((share * 0.10000000000000002)::integer), ts) INCLUDE (dur) WITH (duration = 'dur')
	WHERE at >= timestamptz '2024-01-01 00:00+00' AND at AT TIME ZONE 'UTC' - interval '1 day 02:00:00' < timestamp '2026-05-04';
SET TimeZone = 'Asia/Tokyo';
SET DateStyle = 'SQL, DMY';
SET IntervalStyle = iso_8601;
SET extra_float_digits = -5;
SET quote_all_identifiers = on;
SELECT cardinality(iforest_create_functions('so_set_if'));
SELECT pg_temp.way('SELECT * FROM so_set_if_overlap(0, 100, 3)'), pg_temp.both('SELECT * FROM so_set_if_overlap(0, 100, 3)');
RESET TimeZone;
RESET DateStyle;
RESET IntervalStyle;
RESET extra_float_digits;
RESET quote_all_identifiers;
SELECT pg_temp.way('SELECT * FROM so_set_if_overlap(0, 100, 3)'), pg_temp.both('SELECT * FROM so_set_if_overlap(0, 100, 3)');
DROP TABLE so_set;
CREATE INDEX so_plain ON so USING iforest (ts) INCLUDE (id);
SELECT pg_temp.refusal('SELECT * FROM iforest_overlap_spans(''so_plain''::regclass, 1, 2) AS o(a integer)');
-- serializable: who writes into the table conflicts with who has asked (in the isolation suite); here it is asked at all
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM so_if_overlap(0, 5000);
SELECT relation::regclass, mode FROM pg_locks WHERE mode = 'SIReadLock' AND relation::regclass::text IN ('so', 'so_if') ORDER BY relation::regclass::text;
ROLLBACK;
DROP TABLE so;
SELECT count(*) FROM pg_proc WHERE proname LIKE 'so\_%';
