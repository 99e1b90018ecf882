-- ORDER BY an aggregate with LIMIT: groups that are not returned are left out as soon as their series is read (planner/top_groups.h).
CREATE TABLE ranked(id integer, name text, ts timestamp, dur integer, big bigint, real double precision);
INSERT INTO ranked SELECT i, CASE WHEN i % 501 > 0 THEN 'name ' || i * 7919 % 500 END, CASE WHEN i % 97 > 0 THEN
	'2024-01-01'::timestamp + (i * 31 % 5000) * interval '1 minute' END, CASE WHEN i * 7919 % 500 % 50 > 0 THEN nullif(i % 100, 0) END,
	(i % 7 - 3) * 3000000000000000000, i / 8.0 FROM generate_series(1, 6000) i;
CREATE INDEX ranked_if ON ranked USING iforest (name, ts) INCLUDE (dur, big, real) WITH (background_merge = off, pending_pages = 4);
VACUUM ANALYZE ranked;

CREATE FUNCTION ranked_left_out(question text) RETURNS bigint LANGUAGE sql AS $$ SELECT substring(plan_line($1, 'Groups Left Out:') FROM '\d+')::bigint $$;
-- Are the rows those of the plain plan, in its order? Where all sort keys are equal, any order is right: rows are compared by these alone
-- with WITH TIES, and else the name decides.
CREATE FUNCTION ranked_agree(OUT n_rows bigint, OUT n_questions integer, OUT n_bounded integer, OUT has_left_out boolean, OUT different text)
LANGUAGE plpgsql AS $$
DECLARE
	windows text[] := ARRAY['true', 'ts >= ''2024-01-02'' AND ts < ''2024-01-02 03:00''', 'ts >= ''2024-01-02'' AND ts < ''2024-01-03'' AND name LIKE ''%7''',
		'ts IS NOT NULL AND name > ''name 3''', 'ts >= ''2024-01-02'' AND ts < ''2024-01-02''', 'dur BETWEEN 20 AND 40 AND ts >= ''2024-01-02'''];
	orders text[] := ARRAY['sum(dur) DESC', 'sum(dur)', 'sum(dur) DESC NULLS LAST', 'sum(dur) NULLS FIRST', 'count(*) DESC', 'count(*)',
		'count(dur) DESC', 'max(dur) DESC', 'min(dur)', 'min(dur) DESC NULLS LAST', 'sum(big) DESC', 'sum(big)', 'max(big)', 'min(big) DESC',
		'avg(dur) DESC', 'sum(real) DESC'];
	limits text[] := ARRAY['LIMIT 1', 'LIMIT 10', 'LIMIT 10 OFFSET 5', 'LIMIT 0', 'LIMIT NULL', 'LIMIT 1000', 'OFFSET 3', 'FETCH FIRST 7 ROWS WITH TIES'];
	question text;
	answer text;
	plain text;
	n bigint;
	left_out bigint;
BEGIN
	n_rows := 0;
	n_questions := 0;
	n_bounded := 0;
	has_left_out := false;
	FOR o IN 1 .. cardinality(orders) LOOP
		FOR w IN 1 .. cardinality(windows) LOOP
			FOR l IN 1 .. cardinality(limits) LOOP
				question := format('SELECT name, count(*), sum(dur), max(dur), min(dur), sum(big), %s FROM ranked WHERE %s GROUP BY name ORDER BY %s%s %s',
					regexp_replace(orders[o], '( DESC)?( NULLS .*)?$', ''), windows[w], orders[o],
					CASE WHEN limits[l] ~ 'TIES' THEN '' ELSE ', name' END, limits[l]);
				left_out := ranked_left_out(question);
				n_bounded := n_bounded + (left_out IS NOT NULL)::integer;
				has_left_out := has_left_out OR coalesce(left_out > 0, false);
				question := format('SELECT string_agg(q::text, %L%s), count(*) FROM (%s) q', E'\n',
					CASE WHEN limits[l] ~ 'TIES' THEN ' ORDER BY q::text' ELSE '' END, question);
				EXECUTE question INTO answer;
				SET LOCAL iforest.enable = off;
				EXECUTE question INTO plain, n;
				SET LOCAL iforest.enable = on;
				n_questions := n_questions + 1;
				n_rows := n_rows + n;
				IF plain IS DISTINCT FROM answer THEN
					different := concat_ws(E'\n', different, question);
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = off;
SELECT * FROM ranked_agree();
-- Pending rows, of new series too; several runs; rows that are gone.
INSERT INTO ranked SELECT i, 'name ' || i % 700, '2024-01-01'::timestamp + (i * 17 % 5000) * interval '1 minute', i % 50, -i, -i FROM generate_series(1, 300) i;
SELECT * FROM ranked_agree();
INSERT INTO ranked SELECT i, 'name ' || i % 900, '2024-01-02'::timestamp + (i % 700) * interval '1 minute', i % 50, i, i FROM generate_series(1, 2000) i;
DELETE FROM ranked WHERE id % 11 = 0 OR name = 'name 7';
UPDATE ranked SET dur = dur + 1000 WHERE id % 13 = 0;
SELECT * FROM ranked_agree();
VACUUM ANALYZE ranked;
SELECT * FROM ranked_agree();

-- How it is shown.
EXPLAIN (COSTS OFF) SELECT name, sum(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT name, count(*), sum(dur) / 1000.0 AS us FROM ranked WHERE ts >= '2024-01-02' GROUP BY name ORDER BY count(*), name LIMIT 3 OFFSET 2;
-- All groups are returned where more is asked for than the first rows of the groups themselves, and where groups are not single series.
SELECT question, ranked_left_out(question) FROM (VALUES
	('SELECT name, sum(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT * FROM (SELECT name, sum(dur) AS s FROM ranked GROUP BY name ORDER BY s DESC LIMIT 10) q ORDER BY name'),
	('SELECT name, sum(dur) FROM ranked GROUP BY name HAVING count(*) > 3 ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT DISTINCT sum(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name, sum(dur), rank() OVER (ORDER BY count(*)) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name, sum(dur), generate_series(1, 2) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name, sum(dur) / 1000.0, 100 / (count(*) + 1) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name, stddev(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name, sum(dur) FROM ranked GROUP BY name ORDER BY name, sum(dur) DESC LIMIT 10'),
	('SELECT left(name, 6), sum(dur) FROM ranked GROUP BY 1 ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name, sum(dur) FROM ranked GROUP BY GROUPING SETS (name, ()) ORDER BY sum(dur) DESC LIMIT 10'),
	('SELECT name, sum(dur) FILTER (WHERE dur > 5) FROM ranked GROUP BY name ORDER BY 2 DESC LIMIT 10'),
	('SELECT name, sum(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT (SELECT 10)'),
	('SELECT name, sum(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC LIMIT 20000')) q(question);
-- Limits that are known when it is executed, and again and again.
PREPARE of_limit(bigint, bigint) AS SELECT name, sum(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC NULLS LAST, name LIMIT $1 OFFSET $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE of_limit(2, 0);
EXECUTE of_limit(2, 1);
SELECT ranked_left_out('EXECUTE of_limit(2, 1)') > 300 AS has_left_out, ranked_left_out('EXECUTE of_limit(NULL, 800)') AS without_limit;
EXECUTE of_limit(-1, 0);
EXECUTE of_limit(1, -1);
RESET plan_cache_mode;
DEALLOCATE of_limit;
SELECT n, array_agg(s) FROM generate_series(0, 3) n, LATERAL (SELECT sum(dur) AS s FROM ranked GROUP BY name ORDER BY s DESC NULLS LAST LIMIT n) q GROUP BY n ORDER BY n;
BEGIN;
DECLARE backwards SCROLL CURSOR FOR SELECT name, sum(dur) FROM ranked GROUP BY name ORDER BY sum(dur) DESC NULLS LAST, name LIMIT 3;
FETCH ALL FROM backwards;
FETCH BACKWARD ALL FROM backwards;
COMMIT;
RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan;
DROP TABLE ranked;
DROP FUNCTION ranked_agree(), ranked_left_out(text);
