-- What administrators and the tools that they run see: statistics of use, settings of roles.

-- Each way in which an index is read counts in idx_scan, once for each time that it is begun.
CREATE TABLE used(id integer PRIMARY KEY, track text, ts bigint, dur bigint);
INSERT INTO used SELECT i, 't' || i % 4, i * 10, i % 100 FROM generate_series(1, 20000) i;
CREATE INDEX used_if ON used USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur', sketch = 'dur');
CREATE TABLE used_parts(track text, ts bigint, dur bigint) PARTITION BY RANGE (ts);
CREATE TABLE used_parts_1 PARTITION OF used_parts FOR VALUES FROM (0) TO (100000);
CREATE TABLE used_parts_2 PARTITION OF used_parts FOR VALUES FROM (100000) TO (1000000);
INSERT INTO used_parts SELECT track, ts, dur FROM used;
CREATE INDEX used_parts_if ON used_parts USING iforest (ts) INCLUDE (dur);
SELECT iforest_create_functions('used_if');
VACUUM ANALYZE used, used_parts;
CREATE TABLE counted(question text, index name, scans bigint);
CREATE TABLE questions(id serial, question text);
INSERT INTO questions(question) VALUES ('SELECT sum(dur) FROM used'), ('SELECT track, ts / 1000, count(*) FROM used GROUP BY 1, 2'),
	('SELECT iforest_quantile(iforest_sketch(dur), 0.5) FROM used'),
	('SELECT w.i, (SELECT sum(dur) FROM used WHERE ts < w.i * 1000) FROM generate_series(1, 5) w(i)'), ('SELECT sum(dur) FROM used WHERE track = NULL'),
	('SELECT ts, dur FROM used WHERE track = ''t1'' ORDER BY dur DESC LIMIT 3'), ('SELECT ts, dur FROM used WHERE track = ''t1'' AND ts < 5000 AND ts + dur > 4900'),
	('SELECT * FROM used_if(0, 200000, 10)'), ('SELECT * FROM used_if_overlap(0, 200000, 10)'), ('SELECT * FROM used WHERE track = ''t1'' AND ts = 50'),
	('SELECT sum(dur) FROM used_parts'), ('EXPLAIN SELECT sum(dur) FROM used');
-- statistics are given out when a statement from the client has ended, so each of these is one
\set gather 'SELECT %L, indexrelname, %s idx_scan FROM pg_stat_user_indexes WHERE relname LIKE $$used%%$$ AND indexrelname <> $$used_pkey$$'
\set ECHO none
\o /dev/null
SELECT command FROM questions, LATERAL (VALUES (1, 'SELECT pg_stat_force_next_flush()'), (2, format('INSERT INTO counted ' || :'gather', question, '-')), (3, question),
	(4, 'SELECT pg_stat_force_next_flush()'), (5, format('INSERT INTO counted ' || :'gather', question, '+'))) step(n, command) ORDER BY id, n
\gexec
\o
\set ECHO all
SELECT question, string_agg(index || ' ' || n, ', ' ORDER BY index) AS scans
FROM (SELECT id, question, index, sum(scans) AS n FROM questions NATURAL JOIN counted GROUP BY id, question, index) counts GROUP BY id, question ORDER BY id;
DROP TABLE questions, counted, used, used_parts;

-- A role may set these settings for itself once its session has loaded the library, or an administrator has granted that.
CREATE ROLE iforest_me LOGIN;
\c - iforest_me
ALTER ROLE iforest_me SET iforest.enable = off;
SELECT iforest_bucket(15, 0, 100, 10);
ALTER ROLE iforest_me SET iforest.enable = off;
\c - iforest_me
SELECT iforest_bucket(15, 0, 100, 10);
SHOW iforest.enable;
\c - postgres
GRANT SET ON PARAMETER iforest.float_aggregates TO iforest_me;
\c - iforest_me
ALTER ROLE iforest_me SET iforest.float_aggregates = off;
\c - iforest_me
SELECT iforest_bucket(15, 0, 100, 10);
SHOW iforest.float_aggregates;
\c - postgres
REVOKE SET ON PARAMETER iforest.float_aggregates FROM iforest_me;
DROP ROLE iforest_me;
