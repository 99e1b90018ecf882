-- What the index does not answer, and says so.

-- name: declined_percentile_of_intervals | tool: hand-written | rows: N7 | expect: declined: a percentile_cont is of intervals
SELECT date_trunc('hour', ts) AS t, percentile_cont(0.5) WITHIN GROUP (ORDER BY dur * interval '1 microsecond') FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_distinct_count | tool: hand-written | rows: N7 | expect: declined: distinct values of a value column are not kept
SELECT date_trunc('hour', ts) AS t, count(DISTINCT dur) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_variance | tool: hand-written | rows: N7 | expect: declined: variances of reals are not exact
SELECT service, round(variance(x)::numeric, 3), round(stddev(x)::numeric, 3) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_variance_not_kept | tool: hand-written | rows: N7 | expect: declined: the index does not keep the squares of a value column (variance)
SELECT service, count(*), stddev(dur) FROM recent_spans GROUP BY 1 ORDER BY 1;

-- name: declined_variance_of_expression | tool: hand-written | rows: 23, N7 | expect: declined: the argument of a variance is not a value column alone
SELECT service, stddev(dur / 1000.0) AS ms FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_text | tool: hand-written | rows: N7 | expect: declined: the index does not keep what string_agg() needs
SELECT status, string_agg(service, ',' ORDER BY service), count(*) FROM spans WHERE ts < '2024-01-10' GROUP BY 1 ORDER BY 1;

-- name: declined_second | tool: hand-written | rows: N7 | expect: declined: the index does not keep what array_agg() needs
SELECT service, (array_agg(dur ORDER BY ts))[2] AS second FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_mode | tool: hand-written | rows: N7 | expect: declined: the index does not keep what mode() needs
SELECT date_trunc('month', ts), mode() WITHIN GROUP (ORDER BY service) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_correlation | tool: hand-written | rows: N7 | expect: declined: the index does not keep the products of two columns (products)
SELECT round(corr(dur, x)::numeric, 6), regr_count(dur, x) FROM spans;

-- name: declined_inner_division | tool: hand-written | rows: 23, N9 | expect: declined: a sum or average is of something over which sums do not distribute exactly
SELECT service, sum(dur/1000) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_rounded_division | tool: hand-written | rows: 23, N9 | expect: declined: a sum or average is of something over which sums do not distribute exactly
SELECT service, avg(dur/60.0) AS minutes FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_wide_division | tool: Grafana | rows: 3, 23, N9 | on: spans local_spans parted_spans | expect: declined: a sum or average is of something over which sums do not distribute exactly
SELECT date_trunc('day', ts) AS "time", sum(dur / 1e6) AS seconds, avg(dur / 1e6) AS mean FROM :t WHERE ts >= '2024-03-01' GROUP BY 1 ORDER BY 1;

-- name: declined_rounded | tool: hand-written | rows: 23, N9 | expect: declined: a sum or average is of something over which sums do not distribute exactly
SELECT service, sum(round(amount)), sum(abs(dur)) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_product | tool: hand-written | rows: 23, N9 | expect: declined: the argument of an aggregate mixes columns
SELECT service, sum(dur * amount) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_two_values | tool: hand-written | rows: N9 | expect: declined: the argument of an aggregate mixes columns
SELECT service, max(dur + amount) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_key_of_other_column | tool: hand-written | rows: N10 | expect: declined: column "note" is not in the index
SELECT note, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_condition_of_other_column | tool: hand-written | rows: 21 | expect: declined: column "note" is not in the index
SELECT service, count(*) FROM spans WHERE note = 'note 3' AND ts >= '2024-03-10' GROUP BY 1 ORDER BY 1;

-- name: declined_aggregate_of_other_column | tool: hand-written | rows: N9 | expect: declined: column "note" is not in the index
SELECT service, max(id), count(note) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_key_of_real | tool: hand-written | rows: N10 | expect: declined: a group key has a value column
SELECT round(x / 1000) AS bin, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_real_compared | tool: hand-written | rows: 21 | expect: declined: a condition compares a value column with another column
SELECT count(*) FROM spans WHERE x > dur;

-- name: declined_real_or_value | tool: hand-written | rows: 21 | expect: declined: a value column and another column are joined by OR
SELECT service, count(*) FROM spans WHERE x * x > 900000 OR amount < 0 GROUP BY 1 ORDER BY 1;

-- name: declined_several_values | tool: hand-written | rows: 22 | expect: declined: a condition in an aggregate is on several value columns
SELECT service, count(*) FILTER (WHERE x > dur) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_percentile_of_class | tool: hand-written | rows: N10 | expect: declined: a group key has a value column
SELECT depth, percentile_cont(0.5) WITHIN GROUP (ORDER BY dur) FROM deep_spans GROUP BY 1 ORDER BY 1;

-- name: declined_sets_of_equal_keys | tool: hand-written | rows: N10 | expect: declined: two keys of grouping sets are the same
SELECT service AS a, service AS b, count(*) FROM spans GROUP BY GROUPING SETS (1, 2) ORDER BY 1, 2, 3;

-- name: declined_sample | tool: hand-written | rows: N10 | expect: plain
SELECT service, count(*) FROM spans TABLESAMPLE BERNOULLI (50) REPEATABLE (7) GROUP BY 1 ORDER BY 1;

-- name: declined_volatile | tool: hand-written | rows: 21 | expect: declined: a condition has a volatile function
SELECT service, count(*) FROM spans WHERE random() < 2 GROUP BY 1 ORDER BY 1;

-- name: declined_volatile_key | tool: hand-written | rows: N10 | expect: declined: a group key is volatile or a set
SELECT floor(random()) AS zero, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_clock_timestamp | tool: hand-written | rows: 17 | expect: declined: a condition has a volatile function
SELECT count(*) FROM spans WHERE ts < clock_timestamp();

-- name: declined_unfloored | tool: hand-written | rows: 1, N10 | expect: declined: equal values of a group key may be written differently
SELECT extract(epoch FROM date_trunc('hour', ts)) / 60 AS t, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: declined_whole_row | tool: hand-written | rows: N10 | expect: declined: a whole row or system column is asked for
SELECT max(s::text) FROM spans s WHERE s.ts > '2024-11-01';

-- name: declined_ctid | tool: hand-written | rows: N10 | expect: declined: a whole row or system column is asked for
SELECT count(*), max(ctid) FROM spans WHERE ts > '2024-11-01';

-- name: declined_tables_of_parts | tool: hand-written | rows: N10 | expect: declined: a whole row or system column is asked for
SELECT tableoid::regclass::text AS part, count(*) FROM parted_spans GROUP BY 1 ORDER BY 1;

-- name: declined_windows_alone | tool: hand-written | rows: 24 | expect: plain
SELECT id, sum(dur) OVER (PARTITION BY service ORDER BY ts, id) FROM spans WHERE ts < '2024-01-20' ORDER BY id;

-- name: declined_union_first | tool: hand-written | rows: N5 | expect: declined: an arm of UNION ALL lacks the index
SELECT service, count(*) FROM (SELECT service FROM spans UNION ALL SELECT service FROM local_spans) AS both_tables GROUP BY 1 ORDER BY 1;

-- name: declined_limit_inside | tool: hand-written | rows: 13 | expect: plain
SELECT count(*), sum(dur) FROM (SELECT dur FROM spans ORDER BY id LIMIT 100) AS q;
