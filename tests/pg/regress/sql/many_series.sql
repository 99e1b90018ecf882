-- Many series, each with few rows: they are swept over in one pass (core/query/sweep.h) where each is one group, and otherwise read
-- one by one; either way as the table answers.
CREATE TABLE many(id integer, name text, kind integer, ts timestamp, dur integer, real double precision);
INSERT INTO many SELECT i, CASE WHEN i % 501 > 0 THEN 'name ' || i * 7919 % 500 END, i % 3, CASE WHEN i % 97 > 0 THEN
	'2024-01-01'::timestamp + (i * 31 % 5000) * interval '1 minute' END, nullif(i % 100, 0), i / 8.0 FROM generate_series(1, 6000) i;
CREATE INDEX many_if ON many USING iforest (name, ts) INCLUDE (dur, real) WITH (background_merge = off, pending_pages = 4);
VACUUM ANALYZE many;

-- Does the index answer these, and as the table does? A count of all rows is asked beside, so that no answer is empty for a wrong reason.
CREATE FUNCTION many_agree(OUT n_groups bigint, OUT n_taken integer, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
	windows text[] := ARRAY['true', 'ts >= ''2024-01-02'' AND ts < ''2024-01-02 03:00''', 'ts < ''2024-01-01 06:00''', 'ts >= ''2024-01-04 05:00''',
		'ts >= ''2024-01-02'' AND ts < ''2024-01-02''', 'ts >= ''2024-01-02'' AND ts < ''2024-01-03'' AND name LIKE ''%7''',
		'ts IS NOT NULL AND name > ''name 3''', 'ts IS NULL', 'name = ANY (ARRAY(SELECT ''name '' || 3 * i FROM generate_series(1, 90) i))',
		'name = ANY (ARRAY(SELECT ''name '' || 99 * i FROM generate_series(1, 5) i)) AND ts < ''2024-01-03''',
		'dur BETWEEN 20 AND 40 AND ts >= ''2024-01-02'''];
	columns text[] := ARRAY['name, count(*), sum(dur), max(dur)', 'name, min(dur), avg(real), sum(real), count(real)', 'count(DISTINCT name), sum(dur)',
		'name, min(ts), max(ts), count(ts)', 'name, iforest_first(dur, ts, ctid), iforest_max_row(dur, ts, ctid)', 'name, (ts IS NULL), count(*)',
		'left(name, 6), sum(dur) FILTER (WHERE name LIKE ''%1''), count(*)', 'name, percentile_disc(0.5) WITHIN GROUP (ORDER BY dur)'];
	question text;
	line text;
	plain text;
	answer text;
BEGIN
	n_groups := 0;
	n_taken := 0;
	FOR c IN 1 .. cardinality(columns) LOOP
		FOR w IN 1 .. cardinality(windows) LOOP
			question := format('SELECT %s FROM many WHERE %s', columns[c], windows[w]);
			IF columns[c] !~ '^count' THEN
				question := question || ' GROUP BY 1' || CASE WHEN columns[c] ~ 'IS NULL' THEN ', 2' ELSE '' END;
			END IF;
			FOR line IN EXECUTE 'EXPLAIN ' || question LOOP
				n_taken := n_taken + (line ~ 'IForestAggregate')::integer;
			END LOOP;
			EXECUTE format('SELECT string_agg(q::text, %L ORDER BY q::text) FROM (%s) q', E'\n', question) INTO answer;
			SET LOCAL iforest.enable = off;
			EXECUTE format('SELECT string_agg(q::text, %L ORDER BY q::text), %s + count(*) FROM (%s) q', E'\n', n_groups, question) INTO plain, n_groups;
			SET LOCAL iforest.enable = on;
			IF plain IS DISTINCT FROM answer THEN
				different := concat_ws(E'\n', different, question);
			END IF;
		END LOOP;
	END LOOP;
END $$;
SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = off;
SELECT * FROM many_agree();

-- Pending rows, of new series too; then several runs; then rows that are gone, seen by an older snapshot and by none.
INSERT INTO many SELECT i, 'name ' || i % 700, 1, '2024-01-01'::timestamp + (i * 17 % 5000) * interval '1 minute', i % 50, -i FROM generate_series(1, 300) i;
SELECT * FROM many_agree();
INSERT INTO many SELECT i, 'name ' || i % 900, 2, '2024-01-02'::timestamp + (i % 700) * interval '1 minute', i % 50, i FROM generate_series(1, 2000) i;
SELECT * FROM many_agree();
DELETE FROM many WHERE id % 11 = 0 OR name = 'name 7';
UPDATE many SET dur = dur + 1000 WHERE id % 13 = 0;
SELECT * FROM many_agree();
VACUUM many;
SELECT * FROM many_agree();
SELECT iforest_check('many_if', true);
SELECT iforest_merge('many_if', true) IS NOT NULL AS is_merged;
SELECT * FROM many_agree();

-- A series without rows in the window is not looked into.
VACUUM ANALYZE many;
SELECT plan_line('SELECT name, count(*) FROM many WHERE ts >= ''2024-01-02'' AND ts < ''2024-01-02 00:10'' GROUP BY name', 'Series:') AS many_series,
	(SELECT count(DISTINCT name) FROM many WHERE ts >= '2024-01-02' AND ts < '2024-01-02 00:10') AS with_rows;
RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan;
-- Taken at default costs.
EXPLAIN (COSTS OFF) SELECT name, sum(dur) FROM many WHERE ts >= '2024-01-02' AND ts < '2024-01-03' GROUP BY name ORDER BY sum(dur) DESC LIMIT 10;
-- A plan that is kept is planned once: an answer is then worth it for one row.
PREPARE of_one(text, timestamp, timestamp) AS SELECT count(*), sum(dur) FROM many WHERE name = $1 AND ts >= $2 AND ts < $3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE of_one('name 8', '2024-01-02', '2024-01-02 00:20');
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF) EXECUTE of_one('name 8', '2024-01-02', '2024-01-02 00:20');
RESET plan_cache_mode;
DEALLOCATE of_one;
DROP TABLE many;
DROP FUNCTION many_agree();
