-- Aggregates as states that shards send: they combine to what the aggregates themselves give, in parts of any size, with the index and without.
CREATE TABLE spans(id integer, service text, ts timestamptz, dur bigint, small smallint, x double precision, n numeric);
INSERT INTO spans SELECT i, 'service ' || i % 5, CASE WHEN i % 29 > 0 THEN '2024-03-01 UTC'::timestamptz + i / 3 * interval '1 s' END,
	CASE WHEN i % 17 > 0 THEN hashint8(i) & 65535 END, i % 100, CASE i % 1000 WHEN 1 THEN 'NaN' WHEN 2 THEN '-infinity' ELSE (hashint8(i) & 255) / 7.0 END, (i % 77) / 10.0
	FROM generate_series(1, 20000) i;
CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (dur, small) WITH (variance = 'dur, small', sketch = 'dur', distinct = 'dur', background_merge = off);
VACUUM ANALYZE spans;

-- states of parts, combined by the function that a coordinator calls
CREATE VIEW part_states AS SELECT id % 7 AS part, iforest_min_state(iforest_row_state(dur, ts, ctid)) AS dur_min, iforest_max_state(iforest_row_state(dur, ts, ctid)) AS dur_max,
	iforest_first_state(iforest_row_state(dur, ts, ctid)) AS dur_first, iforest_last_state(iforest_row_state(dur, ts, ctid)) AS dur_last,
	iforest_min_state(iforest_row_state(x, ts)) AS x_min, iforest_max_state(iforest_row_state(x, ts)) AS x_max, iforest_last_state(iforest_row_state(x, ts)) AS x_last,
	iforest_sketch_states(iforest_sketch_state(dur)) AS sketch, iforest_distinct_states(iforest_distinct_state(dur)) AS different,
	iforest_squares(dur::numeric) AS squares, count(dur) AS n, sum(dur) AS total FROM spans GROUP BY 1;
SELECT iforest_state_time(iforest_min_state(dur_min), NULL::timestamptz) = (SELECT iforest_min_time(dur, ts, ctid) FROM spans) AS min_time,
	iforest_state_time(iforest_max_state(dur_max), NULL::timestamptz) = (SELECT iforest_max_time(dur, ts, ctid) FROM spans) AS max_time,
	iforest_state_value(iforest_first_state(dur_first), NULL::bigint) = (SELECT iforest_first(dur, ts, ctid) FROM spans) AS first,
	iforest_state_value(iforest_last_state(dur_last), NULL::bigint) = (SELECT iforest_last(dur, ts, ctid) FROM spans) AS last,
	iforest_state_value(iforest_min_state(x_min), NULL::float8) = (SELECT min(x) FROM spans) AS x_min,
	iforest_state_value(iforest_max_state(x_max), NULL::float8) = (SELECT max(x) FROM spans) AS x_max,
	iforest_state_value(iforest_last_state(x_last), NULL::float8) = (SELECT iforest_last(x, ts) FROM spans) AS x_last FROM part_states;
SELECT iforest_sketch_states(sketch) = (SELECT iforest_sketch(dur) FROM spans) AS sketch, iforest_distinct_states(different) = (SELECT iforest_distinct(dur) FROM spans) AS different,
	iforest_variance(sum(n)::bigint, sum(total), sum(squares), true, true)::text = (SELECT stddev(dur)::text FROM spans) AS stddev,
	iforest_variance(sum(n)::bigint, sum(total), sum(squares), false, false)::text = (SELECT var_pop(dur)::text FROM spans) AS var_pop FROM part_states;
SELECT iforest_state_row(iforest_min_state(dur_min)) = (SELECT iforest_min_row(dur, ts, ctid) FROM spans) AS min_row, iforest_state_row(iforest_max_state(dur_max)) = (SELECT iforest_max_row(dur, ts, ctid) FROM spans) AS max_row,
	iforest_state_row(iforest_first_state(dur_first)) = (SELECT iforest_first_row(dur, ts, ctid) FROM spans) AS first_row, iforest_state_row(iforest_last_state(dur_last)) = (SELECT iforest_last_row(dur, ts, ctid) FROM spans) AS last_row,
	iforest_state_row(iforest_max_state(x_max)) AS no_row, iforest_state_row(NULL) AS of_null FROM part_states;

-- between two numbers, as percentile_cont() has it: of a sketch that is exact, and as the index answers it
SELECT q, iforest_quantile_cont(iforest_sketch(v), q, NULL, NULL) = percentile_cont(q) WITHIN GROUP (ORDER BY v) AS exact FROM generate_series(1, 40) v, unnest(ARRAY[0, 0.01, 0.5, 0.77, 1]::float8[]) q GROUP BY 1 ORDER BY 1;
SET iforest.approximate_percentiles = on;
SELECT percentile_cont(0.123) WITHIN GROUP (ORDER BY dur) = iforest_quantile_cont(iforest_sketch(dur), 0.123, min(dur), max(dur)) AS by_index, iforest_quantile_cont(iforest_sketch(dur), 1, min(dur), max(dur)) = max(dur) AS greatest FROM spans;
RESET iforest.approximate_percentiles;
SELECT iforest_quantile_cont(NULL, 0.5, 1, 2), iforest_quantile_cont(iforest_sketch_state(1), NULL, 1, 2);
SELECT iforest_quantile_cont(iforest_sketch_state(1), 2, 1, 1);
SELECT iforest_quantile_cont(iforest_sketch_state(1), 0.5, 5, 6);

-- neither first nor last is a row without a time; the least may be
SELECT iforest_first_state(iforest_row_state(dur, ts)) IS NULL AS first, iforest_last_state(iforest_row_state(dur, ts)) IS NULL AS last,
	iforest_state_value(iforest_min_state(iforest_row_state(dur, ts)), NULL::bigint) = min(dur) AS min, iforest_state_time(iforest_min_state(iforest_row_state(dur, ts)), NULL::timestamptz) FROM spans WHERE ts IS NULL;
SELECT iforest_min_state(iforest_row_state(dur, ts)), iforest_sketch_states(iforest_sketch_state(dur)), iforest_squares(dur), iforest_variance(0, 0, 0, false, false), iforest_variance(1, 5, 25, true, false),
	iforest_state_value(NULL, 1), iforest_state_time(NULL, 1) FROM spans WHERE dur < 0;

-- the sum of squares is answered from an index that keeps it, of integers as they are and of their numerics
CREATE FUNCTION is_by_index(question text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || question LOOP
		IF line LIKE '%IForestAggregate%' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
CREATE TABLE questions(question text);
INSERT INTO questions VALUES ('SELECT service, iforest_squares(dur), iforest_squares(small::numeric) FROM spans GROUP BY 1 ORDER BY 1'),
	('SELECT iforest_squares(dur) FILTER (WHERE service = ''service 1''), count(*) FROM spans WHERE ts >= ''2024-03-01 00:10 UTC'''),
	('SELECT iforest_squares(dur + 1) FROM spans');
SET enable_seqscan = off;
SELECT question, is_by_index(question) FROM questions;
SELECT service, iforest_squares(dur) = sum(dur::numeric * dur), iforest_squares(small::numeric) = sum(small::numeric * small) FROM spans GROUP BY 1 ORDER BY 1;
SELECT iforest_squares(dur) FILTER (WHERE service = 'service 1') = sum(dur::numeric * dur) FILTER (WHERE service = 'service 1') FROM spans WHERE ts >= '2024-03-01 00:10 UTC';
RESET enable_seqscan;

-- numerics that are no numbers
SELECT iforest_variance(2, 'NaN', 'NaN', true, true), iforest_variance(2, 'Infinity', 'Infinity', true, true), iforest_variance(3, 6, 14, true, false);

-- bytes that are no states, and types that have none
SELECT iforest_state_value('\x00', 1);
SELECT iforest_state_time(iforest_row_state(1, 2), 'a'::text);
SELECT iforest_state_value(iforest_row_state(1, 2), 1.5::float8);
SELECT iforest_states_min(iforest_row_state(1, 2), iforest_row_state(1.5::float8, 2));
SELECT iforest_row_state('a'::text, 1);
SELECT iforest_sketch_union(iforest_sketch_state(1), '\x00');
SELECT iforest_distinct_union(iforest_sketch_state(1), iforest_distinct_state(1));
DROP TABLE spans, questions CASCADE;
DROP FUNCTION is_by_index;
