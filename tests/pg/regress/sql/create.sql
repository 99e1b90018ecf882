-- What CREATE INDEX takes, and what it refuses with which words.

-- Every type of time: all rows are found, in order, from its lowest value to its highest.
CREATE TABLE time_type(type text, samples text[]);
INSERT INTO time_type VALUES
	('smallint', '{-32768, -1, 0, 1, 32767}'),
	('integer', '{-2147483648, -1, 0, 1, 2147483647}'),
	('bigint', '{-9223372036854775808, -4294967297, -1, 0, 1, 4294967297, 9223372036854775807}'),
	('date', '{-infinity, 4713-01-01 BC, 1970-01-01, 1999-12-31, 2000-01-01, 2024-02-29, 5874897-12-31, infinity}'),
	('timestamp', '{-infinity, 4713-01-01 00:00:00 BC, 1999-12-31 23:59:59.999999, 2000-01-01, 2024-02-29 12:00:00.000001, 294276-12-31 23:59:59.999999, infinity}'),
	('timestamptz', '{-infinity, 4713-01-02 00:00:00+00 BC, 1999-12-31 23:59:59.999999+00, 2000-01-01+00, 2024-02-29 12:00:00+01, 294276-12-31 23:59:59+00, infinity}'),
	('float8', '{-infinity, -1.7976931348623157e308, -1.5, -5e-324, -0, 0, 5e-324, 1, 1.5, 1.7976931348623157e308, infinity, NaN}');
CREATE FUNCTION try_time(type text, samples text[], OUT row_count bigint, OUT ordered text, OUT equal bigint, OUT below bigint, OUT checked boolean)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE timed(id serial, ts %s)', type);
	EXECUTE format('INSERT INTO timed(ts) SELECT sample::%s FROM unnest($1) sample, generate_series(1, 40)', type) USING samples;
	EXECUTE 'CREATE INDEX timed_if ON timed USING iforest (ts)';
	EXECUTE format('INSERT INTO timed(ts) SELECT sample::%s FROM unnest($1) sample', type) USING samples;
	INSERT INTO timed(ts) VALUES (NULL);
	SELECT a.row_count, a.index_scan INTO row_count, ordered FROM answers(CASE type WHEN 'float8' THEN
		'SELECT ts + 0 FROM timed ORDER BY ts' ELSE 'SELECT ts FROM timed ORDER BY ts' END) a; -- 0 and -0 come as they like
	EXECUTE format('SELECT count(*) FILTER (WHERE index_scan = ''same'' AND bitmap_scan = ''same'') FROM unnest($1) sample,
		answers(format(''SELECT id FROM timed WHERE ts = %%L::%s'', sample))', type) USING samples INTO equal;
	EXECUTE format('SELECT count(*) FILTER (WHERE index_scan = ''same'' AND bitmap_scan = ''same'') FROM unnest($1) sample,
		answers(format(''SELECT id FROM timed WHERE ts < %%L::%s'', sample))', type) USING samples INTO below;
	PERFORM iforest_check('timed_if', true);
	checked := true;
	DROP TABLE timed;
END $$;
SELECT type, cardinality(samples) AS samples, tried.* FROM time_type, try_time(type, samples) tried ORDER BY type COLLATE "C";

-- Times of one kind and another compare without a cast.
CREATE FUNCTION try_pair(stored text, asked text, literal text, OUT row_count bigint, OUT index_scan text, OUT bitmap_scan text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE timed AS SELECT i AS id, %s AS ts FROM generate_series(-300, 300) i', CASE stored
		WHEN 'date' THEN '''2024-03-10''::date + i'
		WHEN 'timestamp' THEN '''2024-03-10''::timestamp + i * interval ''2 hours'''
		WHEN 'timestamptz' THEN '''2024-03-10 00:00+00''::timestamptz + i * interval ''2 hours'''
		ELSE format('i::%s', stored) END);
	EXECUTE 'CREATE INDEX timed_if ON timed USING iforest (ts)';
	SELECT sum(a.row_count), string_agg(DISTINCT a.index_scan, ','), string_agg(DISTINCT a.bitmap_scan, ',')
		INTO row_count, index_scan, bitmap_scan
		FROM unnest('{<,<=,=,>=,>}'::text[]) op, answers(format('SELECT id FROM timed WHERE ts %s %L::%s', op, literal, asked)) a;
	DROP TABLE timed;
END $$;
SET timezone = 'America/New_York';
SELECT stored, asked, tried.* FROM (VALUES
	('smallint', 'integer', '17'), ('smallint', 'bigint', '17'), ('smallint', 'integer', '40000'), ('smallint', 'bigint', '-9223372036854775808'),
	('integer', 'smallint', '17'), ('integer', 'bigint', '17'), ('integer', 'bigint', '4294967296'),
	('bigint', 'smallint', '17'), ('bigint', 'integer', '17'),
	('date', 'timestamp', '2024-03-10 12:00'), ('date', 'timestamptz', '2024-03-10 00:00'), ('date', 'timestamp', 'infinity'),
	('timestamp', 'date', '2024-03-10'), ('timestamp', 'timestamptz', '2024-03-10 04:00'),
	('timestamptz', 'date', '2024-03-10'), ('timestamptz', 'timestamp', '2024-03-10 04:00'), ('timestamptz', 'timestamp', '-infinity'))
	pair(stored, asked, literal), try_pair(stored, asked, literal) tried;
RESET timezone;

-- Every type of series.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'fair' BEFORE 'happy';
CREATE TABLE series_type(type text, samples text[]);
INSERT INTO series_type VALUES
	('boolean', '{f, t}'), ('"char"', '{a, b, Z}'), ('smallint', '{-32768, 0, 32767}'), ('integer', '{-2147483648, 0, 2147483647}'),
	('bigint', '{-9223372036854775808, 0, 9223372036854775807}'), ('oid', '{0, 1, 4294967295}'), ('text', '{"", a, ab, B, "ä", "a b"}'),
	('varchar', '{"", a, ab}'), ('varchar(3)', '{"", a, ab}'), ('char(4)', '{"", a, "a ", ab}'), ('name', '{"", a, ab}'),
	('bytea', '{"", "\\x00", "\\x0001", "\\xff"}'), ('uuid', '{00000000-0000-0000-0000-000000000000, ffffffff-ffff-ffff-ffff-ffffffffffff}'),
	('date', '{-infinity, 2024-02-29, infinity}'), ('time', '{00:00, 12:34:56.789, 24:00}'), ('timestamp', '{-infinity, 2024-02-29, infinity}'),
	('timestamptz', '{-infinity, 2024-02-29+00, infinity}'), ('inet', '{10.0.0.1, 10.0.0.0/8, ::1}'),
	('macaddr', '{00:00:00:00:00:00, ff:ff:ff:ff:ff:ff}'), ('mood', '{sad, ok, fair, happy}');
CREATE FUNCTION try_series(type text, samples text[], OUT row_count bigint, OUT ordered text, OUT equal bigint, OUT above bigint, OUT listed text,
	OUT series bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE served(id serial, who %s, ts integer)', type);
	EXECUTE format('INSERT INTO served(who, ts) SELECT sample::%s, i FROM unnest($1) sample, generate_series(1, 40) i', type) USING samples;
	EXECUTE 'CREATE INDEX served_if ON served USING iforest (who, ts)';
	EXECUTE format('INSERT INTO served(who, ts) SELECT sample::%s, i FROM unnest($1) sample, generate_series(41, 50) i', type) USING samples;
	INSERT INTO served(ts) VALUES (1), (NULL);
	SELECT a.row_count, a.index_scan INTO row_count, ordered FROM answers('SELECT who, ts FROM served ORDER BY who, ts') a;
	EXECUTE format('SELECT count(*) FILTER (WHERE index_scan = ''same'' AND bitmap_scan = ''same'') FROM unnest($1) sample,
		answers(format(''SELECT id FROM served WHERE who = ANY (ARRAY[%%L]::%s[]) AND ts BETWEEN 40 AND 42'', sample))', type) USING samples INTO equal;
	EXECUTE format('SELECT count(*) FILTER (WHERE index_scan = ''same'' AND bitmap_scan = ''same'') FROM unnest($1) sample,
		answers(format(''SELECT id FROM served WHERE who > %%L::%s AND ts BETWEEN 40 AND 42'', sample))', type) USING samples INTO above;
	EXECUTE format('SELECT a.index_scan || '', '' || a.bitmap_scan FROM answers(format(''SELECT id FROM served WHERE who = ANY (%%L::%s[]) AND ts < 5'',
		$1)) a', type) USING samples INTO listed;
	SELECT s.series INTO series FROM iforest_stats('served_if') s;
	DROP TABLE served;
END $$;
SELECT type, cardinality(samples) AS samples, tried.* FROM series_type, try_series(type, samples) tried ORDER BY type COLLATE "C";

-- A collation decides the order, bytes the equality.
CREATE TABLE words(word text COLLATE "und-x-icu", ts integer);
INSERT INTO words SELECT w, i FROM unnest('{a, B, b, A, ä, z, Z, aa}'::text[]) w, generate_series(1, 3) i;
CREATE INDEX words_if ON words USING iforest (word, ts);
SELECT question, a.* FROM (VALUES ('SELECT word, ts FROM words ORDER BY word, ts'), ('SELECT word, ts FROM words ORDER BY word DESC, ts DESC'),
	('SELECT * FROM words WHERE word = ''b'''), ('SELECT * FROM words WHERE word > ''b'''), ('SELECT * FROM words WHERE word > ''b'' COLLATE "C"'))
	v(question), answers(question) a;
DROP TABLE words;

-- Every type of value, none and eight of them.
CREATE TABLE valued(ts timestamptz, a smallint, b integer, c bigint, d float4, e float8, f numeric(18, 0), g numeric(10, 4), h numeric(3, 2), i integer);
INSERT INTO valued SELECT to_timestamp(n), n, n, n, n / 4.0, n / 4.0, n, n / 8.0, n % 10, n FROM generate_series(1, 100) n;
INSERT INTO valued(ts) VALUES (now());
INSERT INTO valued(ts, d, e) VALUES (now(), 'NaN', '-infinity');
CREATE INDEX ON valued USING iforest (ts);
CREATE INDEX valued_if ON valued USING iforest (ts) INCLUDE (a, b, c, d, e, f, g, h);
SELECT value_columns, entries + pending_entries AS rows FROM iforest_stats('valued_if');
SELECT iforest_check('valued_if', true);
SELECT refusal('INSERT INTO valued(ts, g) VALUES (now(), ''NaN'')');

-- Trailing blanks of bpchar are no difference, whether a length pads them or not.
CREATE TABLE padded(id serial, who char(4), loose bpchar, ts integer);
INSERT INTO padded(who, loose, ts) SELECT w, l, i FROM unnest('{"a", "a ", "b", "a\tb"}'::text[]) w, unnest('{"a", "a ", "a  ", "b"}'::bpchar[]) l,
	generate_series(1, 3) i;
CREATE INDEX padded_who_if ON padded USING iforest (who, ts);
SELECT question, a.* FROM (VALUES ('SELECT * FROM padded WHERE who = ''a'''), ('SELECT * FROM padded WHERE who = ''a   ''::bpchar AND ts = 2'),
	('SELECT * FROM padded WHERE who > ''a'''), ('SELECT who, ts FROM padded ORDER BY who, ts')) v(question), answers(question) a;
DROP INDEX padded_who_if;
CREATE INDEX padded_loose_if ON padded USING iforest (loose, ts);
DROP TABLE padded;

-- A key of a series may be long, but not longer than a page of series can hold.
CREATE TABLE long(who text, ts integer);
CREATE INDEX long_if ON long USING iforest (who, ts);
INSERT INTO long VALUES (repeat('x', 900), 1), (repeat('x', 899) || 'y', 2);
SELECT question, a.* FROM (VALUES ('SELECT ts FROM long WHERE who = repeat(''x'', 900)'), ('SELECT ts FROM long ORDER BY who, ts')) v(question), answers(question) a;
SELECT refusal('INSERT INTO long VALUES (repeat(''0123456789'', 10000), 3)');
SELECT count(*) FROM long WHERE ts > 0;
DROP TABLE long;

-- Of many series the pages lie one after the other, and are one stretch of the file: the list of these stays short.
CREATE TABLE many(who text, ts integer);
INSERT INTO many SELECT lpad(i::text, 900, 'x'), i FROM generate_series(1, 4000) i;
CREATE INDEX many_if ON many USING iforest (who, ts);
SELECT count(*) FILTER (WHERE kind = 'series') > 400 AS many, count(*) FILTER (WHERE kind = 'space') AS short
	FROM iforest_stats('many_if') s, generate_series(0, s.total_pages - 1) block, iforest_page('many_if', block) p;
INSERT INTO many SELECT lpad(i::text, 900, 'y'), i FROM generate_series(1, 200) i;
SELECT iforest_check('many_if', true);
SELECT a.* FROM answers($$SELECT ts FROM many WHERE who IN (lpad('7', 900, 'x'), lpad('7', 900, 'y'))$$) a;
DROP TABLE many;

-- Refusals.
CREATE TABLE refused(ts timestamptz, n integer, f float8, t text, i interval, num numeric, wide numeric(20, 0), j jsonb, dom integer,
	soft text, dur bigint, fin timestamptz, arr integer[], x text, y point);
CREATE COLLATION soft (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
ALTER TABLE refused ALTER soft TYPE text COLLATE soft;
CREATE VIEW refused_view AS SELECT * FROM refused;
CREATE MATERIALIZED VIEW taken_view AS SELECT * FROM refused;
SELECT statement, refusal(statement) FROM (VALUES
	('CREATE INDEX ON refused USING iforest (t)'),
	('CREATE INDEX ON refused USING iforest (i)'),
	('CREATE INDEX ON refused USING iforest (num)'),
	('CREATE INDEX ON refused USING iforest (ts, t)'),
	('CREATE INDEX ON refused USING iforest (f, ts)'),
	('CREATE INDEX ON refused USING iforest (num, ts)'),
	('CREATE INDEX ON refused USING iforest (j, ts)'),
	('CREATE INDEX ON refused USING iforest (y, ts)'),
	('CREATE INDEX ON refused USING iforest (soft, ts)'),
	('CREATE INDEX ON refused USING iforest (soft COLLATE "C", ts)'),
	('CREATE INDEX ON refused USING iforest (ts DESC)'),
	('CREATE INDEX ON refused USING iforest (ts NULLS FIRST)'),
	('CREATE INDEX ON refused USING iforest (t DESC, ts)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (t)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (i)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (num)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (wide)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (arr)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (n, n, n, n, n, n, n, n, n)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (n, n, n, n, n, n, n, n)'),
	('CREATE UNIQUE INDEX ON refused USING iforest (ts)'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (dur) WITH (duration = ''nope'')'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (dur) WITH (duration = ''n'')'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (f) WITH (duration = ''f'')'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (dur, n) WITH (duration = ''dur'', "end" = ''n'')'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (n) WITH ("end" = ''nope'')'),
	('CREATE INDEX ON refused USING iforest (n) INCLUDE (dur) WITH (duration = ''dur'', duration_unit = ''ms'')'),
	('CREATE INDEX ON refused USING iforest (ts) INCLUDE (dur) WITH (duration = ''dur'', duration_unit = ''weeks'')'),
	('CREATE INDEX ON refused USING iforest (ts) WITH (duration_unit = ''ms'')'),
	('CREATE INDEX ON refused USING iforest (ts) WITH (pending_pages = 0)'),
	('CREATE INDEX ON refused USING iforest (ts) WITH (pending_pages = 4097)'),
	('CREATE INDEX ON refused USING iforest (ts) WITH (background_merge = perhaps)'),
	('CREATE INDEX ON refused USING iforest (ts) WITH (fillfactor = 70)'),
	('CREATE INDEX ON refused_view USING iforest (ts)'),
	('CREATE INDEX ON taken_view USING iforest (ts)'),
	('CREATE INDEX ON pg_class USING iforest (relpages)')) v(statement);

-- Tables of another access method than heap.
CREATE ACCESS METHOD not_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE apart(ts integer) USING not_heap;
SELECT refusal('CREATE INDEX ON apart USING iforest (ts)');
DROP TABLE apart;
DROP ACCESS METHOD not_heap;

-- An exclusion constraint works over it.
CREATE TABLE excluded(n integer, EXCLUDE USING iforest (n WITH =));
INSERT INTO excluded SELECT generate_series(1, 500);
SELECT refusal('INSERT INTO excluded VALUES (77)');
SELECT refusal('INSERT INTO excluded VALUES (501), (501)');
DELETE FROM excluded WHERE n = 77;
INSERT INTO excluded VALUES (77), (NULL), (NULL);
INSERT INTO excluded VALUES (77) ON CONFLICT DO NOTHING;
SELECT count(*), count(DISTINCT n) FROM excluded;
DROP TABLE excluded;
DROP TABLE time_type, series_type, valued, refused CASCADE;
DROP COLLATION soft;
DROP TYPE mood;
DROP FUNCTION try_time, try_pair, try_series;

-- Rows that come a little late are put in order; what comes later than a thousand others is sorted into a run of its own. Rows
-- without a time make nothing late.
CREATE TABLE late(id integer, at integer, v integer);
INSERT INTO late SELECT i, CASE WHEN i <> 7 THEN i + i * 7919 % 900 END, i FROM generate_series(1, 30000) i;
CREATE INDEX late_if ON late USING iforest (at) INCLUDE (v);
SELECT entries FROM iforest_runs('late_if') ORDER BY entries;
SELECT iforest_check('late_if', true);
INSERT INTO late VALUES (0, 5, 5), (-1, 29000, 29000);
REINDEX INDEX late_if;
SELECT entries FROM iforest_runs('late_if') ORDER BY entries;
SELECT iforest_check('late_if', true);
TRUNCATE late;
INSERT INTO late SELECT i, -i, i FROM generate_series(1, 5000) i;
REINDEX INDEX late_if;
SELECT entries FROM iforest_runs('late_if') ORDER BY entries;
SELECT iforest_check('late_if', true);
DROP TABLE late;

-- Nearly as many series as rows are noticed, with what was probably meant: a value among the keys, or a by column too many.
CREATE TABLE habit(id integer, "a service" text, ts timestamptz, at bigint, dur bigint, cost integer);
INSERT INTO habit SELECT i, 's' || i % 3, to_timestamp(i), i, i, i % 7 FROM generate_series(1, 10001) i;
CREATE INDEX habit_1 ON habit USING iforest (ts, dur);
CREATE INDEX habit_2 ON habit USING iforest ("a service", at, dur) INCLUDE (cost);
CREATE INDEX habit_3 ON habit USING iforest (id, ts) INCLUDE (dur);
CREATE INDEX habit_4 ON habit USING iforest (ts, (dur + 1));
REINDEX INDEX habit_1;
-- and no others: four rows for a series, few rows, a sensible by column, no by column
CREATE INDEX habit_5 ON habit USING iforest ((id / 5), ts) INCLUDE (dur);
CREATE INDEX habit_6 ON habit USING iforest ("a service", ts) INCLUDE (dur);
CREATE INDEX habit_7 ON habit USING iforest (ts) INCLUDE (dur);
DELETE FROM habit WHERE id = 1;
CREATE INDEX habit_8 ON habit USING iforest (ts, dur);
DROP TABLE habit;
