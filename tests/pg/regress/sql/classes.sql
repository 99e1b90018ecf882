-- Value columns of few values as group keys, conditions on two of them, and those that join one with another column by OR: the entries of a
-- bucket are folded apart by class.
CREATE TABLE calls (host text, at timestamp, took int, depth smallint, price numeric(6,2), load float8, day date);
INSERT INTO calls SELECT 'host ' || i % 3, CASE WHEN i % 401 > 0 THEN '2024-01-01'::timestamp + i * interval '37 s' END, nullif(i * 7919 % 10007, 5), nullif(i / 50 % 6, 2), i % 5 / 4.0,
	CASE i % 7 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN '-0' ELSE i % 7 - 3 END, '2024-01-01'::date + i % 4 FROM generate_series(1, 20000) AS i;
CREATE INDEX calls_if ON calls USING iforest (host, at) INCLUDE (took, depth, price, load, day) WITH (variance = 'took', products = 'took * depth', background_merge = off, pending_pages = 1);
VACUUM ANALYZE calls;

CREATE TABLE questions (number int GENERATED ALWAYS AS IDENTITY, question text);
INSERT INTO questions (question) VALUES
	('SELECT depth, count(*), count(took), sum(took), min(price), max(at), min(host), stddev(took), corr(took, depth) FROM calls GROUP BY 1'),
	('SELECT price, day, count(*), max(took) FROM calls GROUP BY 1, 2'),
	('SELECT date_trunc(''hour'', at), depth, host, count(*), sum(took) FILTER (WHERE depth > 3) FROM calls WHERE at < ''2024-01-04'' GROUP BY 1, 2, 3'),
	('SELECT depth, at IS NULL, count(*) FROM calls GROUP BY 1, 2'),
	('SELECT depth / 2 || host, count(*), count(DISTINCT host), max(depth) FROM calls WHERE took < 5000 GROUP BY 1'),
	('SELECT host, depth, count(*), GROUPING(host, depth) FROM calls GROUP BY CUBE (1, 2)'),
	('SELECT DISTINCT depth, price > 0.5 FROM calls WHERE host <> ''host 1'''),
	('SELECT depth, iforest_max_time(took, at, ctid), iforest_first_time(took, at, ctid) FROM calls GROUP BY 1'),
	('SELECT count(*) FILTER (WHERE took > 5000 AND depth = 3), sum(price) FILTER (WHERE took > 9000 OR load > 1), count(load), avg(CASE WHEN load >= 0 AND took IS NOT NULL THEN 1 ELSE 0.5 END) FROM calls'),
	('SELECT host, sum(CASE depth WHEN 1 THEN took WHEN 3 THEN -took ELSE 0 END), count(*) FILTER (WHERE depth IN (1, 4, NULL)), count(*) FILTER (WHERE NOT (depth = 1 OR took > 77)) FROM calls GROUP BY 1'),
	('SELECT host, count(*), sum(took) FROM calls WHERE took > 9000 OR host = ''host 1'' OR at < ''2024-01-02'' GROUP BY 1'),
	('SELECT count(*), sum(took) FROM calls WHERE (took > 9000 OR load IS NULL OR load < 0) AND depth <> 1'),
	('SELECT date_trunc(''day'', at), count(*) FROM calls WHERE took > depth * 1000 OR price::int = depth GROUP BY 1'),
	('SELECT CASE WHEN load > 1 THEN ''busy'' WHEN depth IS NULL THEN NULL WHEN took < 100 AND depth < 3 THEN ''quick'' ELSE host END, count(*), min(took) FROM calls GROUP BY 1'),
	('SELECT count(*) FILTER (WHERE took < 1000), count(*) FILTER (WHERE took BETWEEN 1000 AND 1999), count(*) FILTER (WHERE took BETWEEN 2000 AND 2999), count(*) FILTER (WHERE took >= 3000), count(*) FILTER (WHERE took IS NULL) FROM calls'),
	('SELECT count(*), max(took) FROM calls WHERE took + depth > 100 AND depth - 1 < took GROUP BY took > 500 HAVING count(*) > 3'),
	-- what is known only when the query runs decides beside values
	('SELECT count(*), sum(took) FROM calls WHERE took <= 391 OR took > 700 AND now() > ''2020-01-01'''),
	('SELECT host, count(*) FROM calls WHERE took IN (3, 9) OR took > 700 AND (SELECT max(depth) FROM calls) > 1 GROUP BY 1'),
	('SELECT took < 300, count(*) FROM calls WHERE took > 700 AND now() < ''2020-01-01'' OR took < 500 GROUP BY 1');

SET extra_float_digits = 0; -- correlations
SET cpu_tuple_cost = 1; -- so that the index answers whatever it can
CALL compare_questions('%IForestAggregate%Split By%');
BEGIN;
INSERT INTO calls SELECT 'host 1', '2024-01-03'::timestamp + i * interval '1 s', i * 3 - 400, i % 4 - 1, 1, 1, '2024-02-02' FROM generate_series(1, 3000) AS i;
CALL compare_questions('%IForestAggregate%Split By%');
DELETE FROM calls WHERE took % 7 = 0;
UPDATE calls SET depth = 9, at = NULL WHERE took % 11 = 0;
CALL compare_questions('%IForestAggregate%Split By%');
ROLLBACK;
CALL compare_questions('%IForestAggregate%Split By%');
DELETE FROM calls WHERE took % 13 = 0;
CALL compare_questions('%IForestAggregate%Split By%');
VACUUM calls;
CALL compare_questions('%IForestAggregate%Split By%');
PREPARE beside_values(integer) AS SELECT count(*) FROM calls WHERE took <= 391 OR took > 700 AND $1 > 5;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE beside_values(6);
EXECUTE beside_values(6);
EXECUTE beside_values(4);
SELECT count(*) FILTER (WHERE took <= 391 OR took > 700), count(*) FILTER (WHERE took <= 391) FROM calls;
RESET plan_cache_mode;
DEALLOCATE beside_values;
RESET cpu_tuple_cost;

-- plans at default costs
EXPLAIN (COSTS OFF) SELECT depth, sum(took) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT host, count(*) FILTER (WHERE took > 5000 AND load > 1) FROM calls WHERE depth = 3 OR host = 'host 1' GROUP BY 1;

-- what classes do not answer
SET iforest.explain_decline = on;
EXPLAIN (COSTS OFF) SELECT load, count(*) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT depth, percentile_cont(0.5) WITHIN GROUP (ORDER BY took) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE load > took) FROM calls;
EXPLAIN (COSTS OFF) SELECT at + depth * interval '1 hour', count(*) FROM calls GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT took, count(*) FROM calls GROUP BY 1;
RESET iforest.explain_decline;

-- an error is that of rows that other conditions leave
SET cpu_tuple_cost = 1;
SELECT count(*) FROM calls WHERE 6 / depth > took AND host = 'host 1';
DELETE FROM calls WHERE depth = 0;
SELECT count(*) FROM calls WHERE 6 / depth > took AND host = 'host 1';
RESET cpu_tuple_cost;

-- classes with the same key are one group, also where the first rows have only the greater values
CREATE TABLE grown (host text, at integer, took int);
INSERT INTO grown SELECT 'host ' || i / 1000, i, CASE WHEN i < 1000 THEN 500 ELSE 0 END + i % 97 FROM generate_series(0, 1999) AS i;
CREATE INDEX grown_if ON grown USING iforest (host, at) INCLUDE (took) WITH (histogram = 'took(30, 50)');
VACUUM ANALYZE grown;
TRUNCATE questions;
INSERT INTO questions (question) VALUES
	('SELECT host, took > 30, count(*), sum(CASE WHEN took > 50 THEN took END) FROM grown GROUP BY 1, 2'),
	('SELECT host, took > 50, took > 30, count(*) FROM grown GROUP BY GROUPING SETS (1, 2, 3)');
SET cpu_tuple_cost = 1;
CALL compare_questions('%IForestAggregate%');
RESET cpu_tuple_cost;
DROP TABLE grown;
DROP TABLE calls, questions;
