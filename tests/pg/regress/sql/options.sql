-- Storage parameters.
CREATE TABLE tuned(who integer, ts timestamptz, dur bigint, fin timestamptz);
INSERT INTO tuned SELECT i % 4, to_timestamp(i), i, to_timestamp(i + 5) FROM generate_series(1, 100) i;
SELECT statement, refusal('CREATE INDEX ON tuned USING iforest (ts) INCLUDE (dur, fin) WITH (' || statement || ')') FROM (VALUES
	('duration = ''dur'''), ('duration = dur'), ('"end" = ''fin'''), ('duration = ''dur'', duration_unit = ''ns'''), ('duration = ''dur'', duration_unit = ''us'''),
	('duration = ''dur'', duration_unit = ''ms'''), ('duration = ''dur'', duration_unit = ''s'''), ('pending_pages = 1'), ('pending_pages = 4096'),
	('background_merge'), ('background_merge = off'), ('"end" = ''dur'''), ('duration = ''fin'''), ('duration = ''dur'', "end" = ''fin'''),
	('"end" = ''fin'', duration_unit = ''ms'''), ('duration_unit = ''ms'''), ('duration = ''dur'', duration_unit = ''h'''), ('pending_pages = 0'),
	('pending_pages = 4097'), ('pending_pages = many'), ('background_merge = perhaps'), ('variance = ''dur'''), ('variance = DUR'),
	('variance = '' dur,dur'''), ('variance = ''dur'', duration = ''dur'''), ('variance = '''''), ('variance = ''nope'''), ('variance = ''dur,'''), ('variance = ''dur fin'''),
	('variance = ''dur, fin'''), ('variance = ''ts'''), ('unknown = 1')) v(statement);

CREATE INDEX tuned_if ON tuned USING iforest (who, ts) INCLUDE (dur, fin) WITH (duration = 'dur', duration_unit = 'ms', pending_pages = 2, background_merge = off);
SELECT pg_get_indexdef('tuned_if'::regclass);
ALTER INDEX tuned_if SET (pending_pages = 3);
SELECT refusal('ALTER INDEX tuned_if SET (pending_pages = 0)');
-- what CREATE INDEX refuses, ALTER INDEX does; also as the first that a session says
SELECT statement, refusal('ALTER INDEX tuned_if SET (' || statement || ')') FROM (VALUES ('duration = ''nope'''), ('duration = ''fin'''), ('"end" = ''fin'''), ('variance = ''nope'''), ('variance = ''dur,'''),
	('variance = ''fin'''), ('variance = ''dur'''), ('sketch = ''nope'''), ('sketch = ''dur fin'''), ('sketch = ''fin'''), ('sketch = ''dur'', variance = ''dur, dur''')) v(statement);
SELECT statement, refusal(statement) FROM (VALUES ('ALTER INDEX tuned_if SET (fillfactor = 70)'), ('CREATE INDEX ON tuned USING iforest (ts) WITH (pending_pages = 3, fillfactor = 70)'),
	('CREATE INDEX ON tuned USING iforest (ts) WITH (durations = ''dur'')'), ('CREATE INDEX ON tuned USING iforest (ts) WITH (dur = ''dur'')'), ('ALTER INDEX tuned_if RESET (fillfactor)')) v(statement);
SELECT refusal('ALTER TABLE tuned_if SET (sketch = ''nope'')'), refusal('ALTER INDEX tuned_if RESET (duration)');
\c -
ALTER INDEX tuned_if SET (sketch = 'nope');
SELECT reloptions FROM pg_class WHERE relname = 'tuned_if';
-- a name that has become wrong by itself stands in the way of nothing but names
ALTER EVENT TRIGGER iforest_rename DISABLE;
ALTER TABLE tuned RENAME dur TO took;
SELECT statement, refusal('ALTER INDEX tuned_if ' || statement) FROM (VALUES ('SET (pending_pages = 5)'), ('RESET (pending_pages)'), ('RENAME TO tuned_too'), ('SET (sketch = ''took'')'),
	('SET (sketch = ''took'', duration = ''took'')')) v(statement);
ALTER TABLE tuned RENAME took TO dur;
ALTER EVENT TRIGGER iforest_rename ENABLE ALWAYS;
ALTER INDEX tuned_if RESET (duration_unit);
SELECT reloptions FROM pg_class WHERE relname = 'tuned_if';
REINDEX INDEX tuned_if;
SELECT iforest_check('tuned_if', true);

-- A chain of pending pages is made into a run when it is as long as pending_pages says; no longer chain is left behind.
INSERT INTO tuned SELECT i % 4, to_timestamp(i), i, NULL FROM generate_series(1, 5000) i;
SELECT entries + pending_entries AS rows, entries > 100 AS sealed FROM iforest_stats('tuned_if');
SELECT iforest_check('tuned_if', true);
ALTER INDEX tuned_if SET (pending_pages = 4096);
SELECT iforest_merge('tuned_if', true);
INSERT INTO tuned SELECT i % 4, to_timestamp(i), i, NULL FROM generate_series(1, 5000) i;
SELECT pending_entries FROM iforest_stats('tuned_if');
DROP TABLE tuned;

-- Names follow one rule in all parameters: as written, or else in lower case; in double quotes as written alone.
CREATE TABLE camel(ts bigint, "durationMs" bigint, "endedAt" bigint, plain bigint);
INSERT INTO camel SELECT i, i % 10, i + i % 10, i FROM generate_series(1, 100) i;
CREATE INDEX camel_if ON camel USING iforest (ts) INCLUDE ("durationMs", plain) WITH (duration = 'durationMs', variance = 'durationMs, PLAIN', histogram = 'durationMs(5)', products = 'durationMs*Plain, durationMs*TS', sketch = 'durationMs, Plain', distinct = 'durationMs');
CREATE INDEX camel_quoted_if ON camel USING iforest (ts) INCLUDE ("durationMs", plain) WITH (duration = '"durationMs"', variance = '"durationMs"', histogram = '"durationMs"(5)', products = '"durationMs"*"plain"', sketch = '"durationMs"', distinct = '"durationMs"');
CREATE INDEX camel_end_if ON camel USING iforest (ts) INCLUDE ("endedAt") WITH ("end" = '"endedAt"');
CREATE INDEX ON camel USING iforest (ts) INCLUDE ("durationMs") WITH (duration = 'DURATIONMS');
CREATE INDEX ON camel USING iforest (ts) INCLUDE (plain) WITH (duration = '"PLAIN"');
CREATE INDEX ON camel USING iforest (ts) INCLUDE (plain) WITH (variance = '"PLAIN"');
ALTER TABLE camel RENAME "durationMs" TO "Took";
ALTER TABLE camel RENAME plain TO "Plain";
SELECT relname, unnest(reloptions) AS parameter FROM pg_class WHERE relname IN ('camel_if', 'camel_quoted_if') ORDER BY 1, 2;
REINDEX TABLE camel;
SELECT iforest_check('camel_if', true), iforest_check('camel_quoted_if', true), iforest_check('camel_end_if', true);
DROP TABLE camel;
