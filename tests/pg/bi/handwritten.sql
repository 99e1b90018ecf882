-- As people write it.

-- name: epoch_divided | tool: hand-written | rows: 10, S10 | expect: node | large: plain
SELECT ts_ns / 60000000000 * 60000000000 AS t, service, count(*), sum(dur) FROM ns_spans GROUP BY 1, 2 ORDER BY 1, 2;

-- truncation is towards zero: the bucket around 0 is twice as wide
-- name: epoch_divided_around_zero | tool: hand-written | rows: 10, N6 | expect: node
SELECT ts_ns / 900000000000 AS t, count(*), min(ts_ns), max(ts_ns) FROM ns_spans WHERE ts_ns BETWEEN -5400000000000 AND 5400000000000 GROUP BY 1 ORDER BY 1;

-- name: epoch_less_remainder | tool: hand-written | rows: 10, S10 | expect: node
SELECT ts_ns - ts_ns % 900000000000 AS t, count(*), max(dur) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: epoch_since_start | tool: hand-written | rows: 10 | expect: node
SELECT (ts_ns - 1710028800000000000) / 3600000000000 AS hour, count(*), avg(dur) FROM ns_spans
WHERE ts_ns >= 1710028800000000000 AND ts_ns < 1710028800000000000 + 86400000000000 GROUP BY 1 ORDER BY 1;

-- name: epoch_half_shifted | tool: hand-written | rows: 10 | expect: node
SELECT (ts_ns + 300000000000) / 600000000000 * 600000000000 AS t, count(*) FROM ns_spans WHERE ts_ns > 1710000000000000000 GROUP BY 1 ORDER BY 1;

-- name: epoch_width_bucket | tool: hand-written | rows: 10, S10 | expect: node
SELECT width_bucket(ts_ns::numeric, 1710028800000000000, 1710115200000000000, 24) AS bucket, count(*), sum(x) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: epoch_width_bucket_array | tool: hand-written | rows: 10 | expect: node | large: plain
SELECT width_bucket(ts, ARRAY['2024-03-01', '2024-04-01', '2024-04-06 15:30', '2024-11-03 01:30']::timestamptz[]) AS bucket, count(*), sum(x) FROM spans
WHERE ts IS NOT NULL GROUP BY 1 ORDER BY 1;

-- name: epoch_parameters | tool: hand-written | rows: 10, 18, S7 | expect: node | execute: 60000000000, 1710028800000000000, 1710115200000000000
SELECT ts_ns / $1 * $1 AS t, count(*) FROM ns_spans WHERE ts_ns >= $2 AND ts_ns < $3 GROUP BY 1 ORDER BY 1;

-- name: epoch_numeric_seconds | tool: hand-written | rows: 12, N6 | expect: node
SELECT date_trunc('minute', to_timestamp(ts_ns/1e9)) AS minute, count(*), sum(dur) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: epoch_numeric_seconds_range | tool: hand-written | rows: 12, 20, N6 | expect: node
SELECT count(*), max(ts_ns) FROM ns_spans WHERE to_timestamp(ts_ns/1e9) >= '2024-03-10 06:00Z' AND to_timestamp(ts_ns/1e9) < '2024-03-11 06:00Z';

-- name: epoch_double_seconds | tool: hand-written | rows: 12, N6 | expect: node
SELECT floor(ts_ns / 1e9::float8 / 60) * 60 AS t, count(*) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: epoch_numeric_floor | tool: hand-written | rows: 11, N6 | expect: node
SELECT floor(ts_ns / 1e9) AS second, count(*) FROM ns_spans WHERE ts_ns > 1710050400000000000 AND ts_ns < 1710072000000000000 GROUP BY 1 ORDER BY 1;

-- name: epoch_rounded | tool: hand-written | rows: 10 | expect: node
SELECT round(ts_ns / 1e9, -2) AS t, count(*) FROM ns_spans WHERE ts_ns > 1710050400000000000 GROUP BY 1 ORDER BY 1;

-- name: epoch_to_text | tool: hand-written | rows: 12, N10 | expect: node
SELECT to_char(to_timestamp(ts_ns / 1000000000) AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD HH24') AS hour, count(*) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: epoch_interval | tool: hand-written | rows: 12 | expect: node
SELECT date_bin('1 hour', timestamptz 'epoch' + ts_ns / 1000 * interval '1 microsecond', '2000-01-01') AS hour, count(*) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: trunc_minute | tool: hand-written | rows: 3, S2 | on: spans local_spans parted_spans | expect: node | large: some
SELECT date_trunc('minute', ts) AS t, service, count(*), avg(dur), max(dur) FROM :t WHERE ts >= '2024-03-10 05:00' AND ts < '2024-03-10 12:00' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: trunc_all_units | tool: hand-written | rows: 3 | on: spans local_spans | expect: node
SELECT date_trunc('millennium', ts), date_trunc('century', ts), date_trunc('decade', ts), date_trunc('year', ts), date_trunc('quarter', ts), date_trunc('month', ts),
	date_trunc('week', ts), date_trunc('day', ts) AS d, count(*) FROM :t GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 8;

-- name: trunc_fine_units | tool: hand-written | rows: 3 | on: spans local_spans | expect: node
SELECT date_trunc('second', ts) AS s, date_trunc('milliseconds', ts) AS ms, count(*) FROM :t WHERE ts BETWEEN '2024-11-03 00:00' AND '2024-11-03 04:00' GROUP BY 1, 2 ORDER BY 2;

-- name: trunc_in_zone | tool: hand-written | rows: 3, 4, N1 | on: spans parted_spans | expect: node
SELECT date_trunc('day', ts, 'Australia/Lord_Howe') AS day, count(*), sum(x) FROM :t GROUP BY 1 ORDER BY 1;

-- name: trunc_zone_and_back | tool: hand-written | rows: 4, N1 | on: spans parted_spans | expect: node
SELECT date_trunc('day', ts AT TIME ZONE 'America/Havana') AT TIME ZONE 'America/Havana' AS day, count(*), sum(dur) FROM :t GROUP BY 1 ORDER BY 1;

-- name: zone_of_offset | tool: hand-written | rows: 4 | on: spans local_spans | expect: node
SELECT date_trunc('hour', ts AT TIME ZONE INTERVAL '-03:30') AS hour, count(*) FROM :t GROUP BY 1 ORDER BY 1;

-- name: zone_of_abbreviation | tool: hand-written | rows: 4 | expect: node
SELECT date_trunc('day', ts AT TIME ZONE 'EST') AS day, date_trunc('day', ts AT TIME ZONE 'EST5EDT') AS day2, count(*) FROM spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: zone_unbinned | tool: hand-written | rows: 4, N1 | expect: node
SELECT ts AT TIME ZONE 'America/New_York' AS t, count(*) FROM spans WHERE ts >= '2024-11-03 04:00Z' AND ts < '2024-11-03 08:00Z' GROUP BY 1 ORDER BY 1;

-- name: bin_5_minutes | tool: hand-written | rows: 9, S10 | on: spans local_spans parted_spans | expect: node
SELECT date_bin('5 minutes', ts, '2024-01-01') AS t, count(*), sum(dur), min(amount), max(x) FROM :t WHERE ts >= '2024-10-05' AND ts < '2024-10-07' GROUP BY 1 ORDER BY 1;

-- name: bin_late_origin | tool: hand-written | rows: 9 | on: spans local_spans | expect: node
SELECT date_bin('6 hours', ts, '2024-06-15 01:23:45.678901') AS t, service, count(*) FROM :t GROUP BY 1, 2 ORDER BY 1, 2;

-- name: days_and_labels | tool: hand-written | rows: 5, N10 | on: spans local_spans parted_spans | expect: node
SELECT ts::date AS day, service, status, count(*), sum(amount) FROM :t GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: text_days | tool: hand-written | rows: N10, N4, 20 | on: spans local_spans | expect: node
SELECT to_char(ts, 'YYYY-MM-DD') AS day, count(*) FROM :t WHERE to_char(ts, 'YYYY-MM') = '2024-03' GROUP BY 1 ORDER BY 1;

-- name: text_quarter_hours | tool: hand-written | rows: N10 | on: spans local_spans | expect: node
SELECT to_char(date_bin('15 minutes', ts, '2024-01-01'), 'Dy HH24:MI') AS slot, count(*) FROM :t GROUP BY 1 ORDER BY 1;

-- name: text_with_zone | tool: hand-written | rows: N10, N1 | expect: node
SELECT to_char(date_trunc('hour', ts), 'HH24 TZ OF') AS hour, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: cast_to_text | tool: hand-written | rows: N10 | expect: node
SELECT date_trunc('day', ts)::text AS day, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: weekend | tool: hand-written | rows: N10, 22 | on: spans local_spans | expect: node
SELECT CASE WHEN extract(isodow FROM ts) >= 6 THEN 'weekend' ELSE 'week' END AS kind, count(*), sum(dur) FROM :t WHERE ts IS NOT NULL GROUP BY 1 ORDER BY 1;

-- name: office_hours | tool: hand-written | rows: N10, 20 | on: spans local_spans | expect: node | large: plain
SELECT service, count(*), sum(dur) FROM :t WHERE extract(hour FROM ts) BETWEEN 9 AND 16 AND extract(dow FROM ts) NOT IN (0, 6) GROUP BY 1 ORDER BY 1;

-- name: two_ranges | tool: hand-written | rows: N10 | on: spans local_spans parted_spans | expect: node
SELECT service, count(*), sum(amount) FROM :t WHERE ts >= '2024-03-10' AND ts < '2024-03-10 06:00' OR ts >= '2024-11-03' AND ts < '2024-11-03 06:00' GROUP BY 1 ORDER BY 1;

-- name: ranges_by_label | tool: hand-written | rows: N10, 21 | expect: node
SELECT count(*), sum(amount) FROM spans WHERE (service = 'api' AND ts < '2024-03-10') OR (service = 'cart' AND ts >= '2024-11-03');

-- name: times_listed | tool: hand-written | rows: 21 | expect: node
SELECT count(*), sum(dur) FROM spans WHERE date_trunc('day', ts) IN ('2024-03-10', '2024-11-03', '2024-12-24');

-- name: null_times | tool: hand-written | rows: 21 | on: spans local_spans | expect: node
SELECT service, count(*), count(ts), max(dur), max(ts) FROM :t WHERE ts IS NULL GROUP BY 1 ORDER BY 1;

-- name: null_or_late | tool: hand-written | rows: 21 | expect: node
SELECT date_trunc('month', ts), count(*) FROM spans WHERE ts IS NULL OR ts >= '2024-11-03 05:30Z' GROUP BY 1 ORDER BY 1;

-- name: never | tool: hand-written | rows: 18 | on: spans parted_spans | expect: node
SELECT count(*), sum(dur), max(ts), avg(x) FROM :t WHERE ts >= (SELECT NULL::timestamptz);

-- name: period_compared | tool: hand-written | rows: 22, S9 | on: spans parted_spans | expect: node
SELECT service, count(*) FILTER (WHERE ts >= '2024-11-03') AS this, count(*) FILTER (WHERE ts >= '2024-10-05' AND ts < '2024-11-03') AS last,
	sum(CASE WHEN ts >= '2024-11-03' THEN dur ELSE 0 END) AS dur FROM :t WHERE ts >= '2024-10-05' GROUP BY 1 ORDER BY 1;

-- name: all_aggregates | tool: hand-written | rows: 16, 23, S3 | on: spans local_spans parted_spans | expect: node
SELECT count(*), count(1), count(id), count(service), count(ts), count(dur), sum(dur), avg(dur), min(dur), max(dur), sum(amount), avg(amount), min(amount), max(amount),
	sum(x), avg(x), min(x), max(x), min(ts), max(ts), min(service), max(status) FROM :t;

-- name: all_aggregates_of_nothing | tool: hand-written | rows: 16, S3 | on: spans local_spans parted_spans | expect: node | large: some
SELECT count(*), count(dur), sum(dur), avg(dur), min(dur), sum(amount), avg(amount), max(x), avg(x), min(ts), max(service) FROM :t WHERE ts < '1999-01-01';

-- name: scaled_sums | tool: hand-written | rows: 23, N9 | on: spans local_spans parted_spans | expect: node
SELECT service, sum(dur * 0.001) AS ms, avg(dur * 1.0) AS mean, sum(x * 0.5) AS half, sum(x / 4) AS quarter FROM :t GROUP BY 1 ORDER BY 1;

-- name: shifted_sums | tool: hand-written | rows: 23, N9 | on: spans local_spans parted_spans | expect: node
SELECT service, sum(dur * 2 + 1) AS twice, sum(dur - 100) AS less, avg(100 - amount) AS left_over, sum(amount * 1.50) AS more FROM :t GROUP BY 1 ORDER BY 1;

-- name: negative_sums | tool: hand-written | rows: 23, N9 | on: spans local_spans parted_spans | expect: node
SELECT service, sum(-dur) AS dur, sum(-amount) AS amount, sum(-x) AS x, max(-dur) FROM :t GROUP BY 1 ORDER BY 1;

-- name: cast_sums | tool: hand-written | rows: 23, N9 | on: spans parted_spans | expect: node
SELECT service, sum(dur::numeric), avg(dur::numeric), sum(dur::float8), avg(dur::float8), sum(amount::numeric) FROM :t GROUP BY 1 ORDER BY 1;

-- name: extremes_of_reals | tool: hand-written | rows: 23, N9 | expect: node
SELECT service, max(dur::float8), min(dur::float8) FROM spans GROUP BY 1 ORDER BY 1;

-- name: extremes_of_numerics | tool: hand-written | rows: 23, N9 | expect: node
SELECT service, min(dur::numeric), max(amount::numeric) FROM spans GROUP BY 1 ORDER BY 1;

-- name: outer_arithmetic | tool: hand-written | rows: 23, 24 | on: spans parted_spans | expect: node
SELECT service, round(avg(dur) / 1000.0, 2) AS ms, (sum(dur) / count(*))::int AS mean, coalesce(sum(amount), 0) AS amount, max(dur) - min(dur) AS spread,
	round((100.0 * count(amount) / nullif(count(*), 0))::numeric, 1) AS percent FROM :t GROUP BY 1 ORDER BY 5 DESC, 1;

-- name: extremes_of_functions | tool: hand-written | rows: N9 | expect: node
SELECT service, max(dur / 1000) AS ms, min(round(amount)), max(-dur), min(amount + 1), max(ts + interval '1 hour'), min(upper(status)) FROM spans GROUP BY 1 ORDER BY 1;

-- name: extremes_of_real_functions | tool: hand-written | rows: N9
-- | expect: declined: the extreme of a function of a real is not that of the column, where NaN is the greatest
SELECT service, max(-x), min(x + 1) FROM spans GROUP BY 1 ORDER BY 1;

-- name: flags | tool: hand-written | rows: 22 | expect: node
SELECT service, bool_and(status = 'ok'), bool_or(status = 'timeout'), every(status IS NOT NULL) FROM spans GROUP BY 1 ORDER BY 1;

-- name: value_range | tool: hand-written | rows: 21 | on: spans parted_spans | expect: node
SELECT service, count(*), sum(dur), max(amount) FROM :t WHERE dur BETWEEN 1000 AND 500000 AND ts >= '2024-03-10' GROUP BY 1 ORDER BY 1;

-- name: value_ranges | tool: hand-written | rows: 21 | expect: node
SELECT date_trunc('day', ts), count(*), avg(x) FROM spans WHERE amount > 0 AND x <= 1000.5 AND dur IS NOT NULL GROUP BY 1 ORDER BY 1;

-- name: value_missing | tool: hand-written | rows: 21 | expect: node
SELECT service, count(*), sum(amount) FROM spans WHERE dur IS NULL GROUP BY 1 ORDER BY 1;

-- name: key_functions | tool: hand-written | rows: 21 | expect: node
SELECT coalesce(nullif(service, ''), 'none') AS service, upper(left(status, 1)) || '.' AS s, length(service) > 3 AS long, count(*) FROM spans GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: key_of_label_and_time | tool: hand-written | rows: 21, 3 | expect: node
SELECT service || ' ' || to_char(date_trunc('month', ts), 'MM') AS key, count(*), sum(dur) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_of_conditions | tool: hand-written | rows: 22 | on: spans local_spans | expect: node
SELECT CASE WHEN ts < '2024-04-01' THEN 'before' WHEN ts < '2024-10-01' THEN 'summer' ELSE 'after' END AS season, ts >= '2024-06-01' AS late, count(*) FROM :t GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_of_age | tool: hand-written | rows: 17 | expect: node
SELECT floor(extract(epoch FROM now() - ts) / 86400) AS days_ago, count(*), sum(dur) FROM recent_spans WHERE ts > now() - interval '10 days' GROUP BY 1 ORDER BY 1;

-- name: raw_time | tool: hand-written | rows: 24 | on: spans local_spans parted_spans | expect: node
SELECT ts, count(*), sum(dur) FROM :t WHERE ts >= '2024-03-10' AND ts < '2024-03-10 03:00' GROUP BY ts ORDER BY ts;

-- name: distinct_pairs | tool: hand-written | rows: 25 | on: spans parted_spans | expect: node
SELECT DISTINCT service, status FROM :t ORDER BY 1, 2;

-- name: distinct_days | tool: hand-written | rows: 25, 5 | on: spans local_spans | expect: node
SELECT DISTINCT ts::date FROM :t WHERE service = 'cart' ORDER BY 1 DESC;

-- name: distinct_of_groups | tool: hand-written | rows: 25 | expect: node
SELECT DISTINCT count(*) > 400 AS many FROM spans GROUP BY service ORDER BY 1;

-- name: descending | tool: hand-written | rows: 24 | on: spans parted_spans | expect: node | large: plain
SELECT date_trunc('hour', ts) AS t, service, count(*) FROM :t GROUP BY 1, 2 ORDER BY 1 DESC NULLS LAST, 2 NULLS FIRST LIMIT 50 OFFSET 7;

-- name: no_key_shown | tool: hand-written | rows: 24 | expect: node
SELECT count(*), sum(dur) FROM spans GROUP BY date_trunc('day', ts) ORDER BY sum(dur) DESC NULLS LAST LIMIT 10;

-- name: first_days | tool: hand-written | rows: 24 | expect: node
SELECT date_trunc('day', ts) AS day, count(*) FROM spans WHERE ts IS NOT NULL GROUP BY 1 HAVING count(*) > 20 ORDER BY 1 LIMIT 4;

-- name: gaps_filled | tool: hand-written | rows: N5, 13 | on: spans local_spans | expect: node
SELECT axis.t, coalesce(q.n, 0) AS n FROM generate_series(timestamp '2024-03-09', '2024-03-12', '1 hour') AS axis(t)
LEFT JOIN (SELECT date_trunc('hour', ts) AS t, count(*) AS n FROM :t GROUP BY 1) AS q ON q.t = axis.t ORDER BY axis.t;

-- name: axis_lateral | tool: hand-written | rows: N5, 18 | on: spans local_spans parted_spans | expect: node
SELECT axis.t, q.n, q.dur FROM generate_series(timestamptz '2024-11-02 00:00Z', '2024-11-04 00:00Z', '90 minutes') AS axis(t)
CROSS JOIN LATERAL (SELECT count(*) AS n, sum(dur) AS dur FROM :t WHERE ts >= axis.t AND ts < axis.t + interval '90 minutes') AS q ORDER BY axis.t;

-- name: axis_scalar | tool: hand-written | rows: N5, 18 | expect: node
SELECT axis.t, (SELECT max(dur) + count(*) FROM spans WHERE service = axis.service AND ts >= axis.t AND ts < axis.t + interval '1 day') AS n
FROM (SELECT t, service FROM generate_series(timestamptz '2024-03-08 00:00Z', '2024-03-12 00:00Z', '1 day') AS t, unnest(ARRAY['api', 'cart', NULL]) AS service) AS axis
ORDER BY axis.t, axis.service;

-- name: axis_join | tool: hand-written | rows: N5 | expect: node
SELECT axis.t, count(s.id) FROM generate_series(timestamptz '2024-03-09', '2024-03-12', '1 hour') AS axis(t)
LEFT JOIN spans AS s ON s.ts >= axis.t AND s.ts < axis.t + interval '1 hour' GROUP BY axis.t ORDER BY axis.t;

-- name: cards_in_one | tool: hand-written | rows: S3, 18 | expect: 3 nodes
SELECT (SELECT count(*) FROM spans WHERE status = 'error') AS errors, (SELECT count(*) FROM spans) AS n, (SELECT sum(dur) FROM parted_spans WHERE service = 'api') AS dur;

-- name: union_of_cards | tool: hand-written | rows: S3 | expect: 2 nodes
SELECT 'errors' AS what, count(*) AS n FROM spans WHERE status = 'error' UNION ALL SELECT 'all', count(*) FROM local_spans ORDER BY 1;

-- name: chosen_by_subselect | tool: hand-written | rows: 18, 21 | expect: 2 nodes
SELECT service, count(*) FROM spans WHERE service = ANY (ARRAY(SELECT service FROM spans GROUP BY service HAVING count(*) > 450)) GROUP BY 1 ORDER BY 1;

-- name: since_the_last | tool: hand-written | rows: 18, N3 | expect: 2 nodes | large: some
SELECT date_trunc('hour', ts) AS t, count(*), max(dur) FROM spans WHERE ts > (SELECT max(ts) - interval '30 days' FROM spans WHERE service = 'api') GROUP BY 1 ORDER BY 1;

-- name: max_of_counts | tool: hand-written | rows: 13, 24 | on: spans parted_spans | expect: node
SELECT max(n), avg(n), percentile_cont(0.95) WITHIN GROUP (ORDER BY n) FROM (SELECT date_trunc('hour', ts) AS t, count(*) AS n FROM :t GROUP BY 1) AS hours;

-- name: share_of_all | tool: hand-written | rows: 24, 13 | expect: node
SELECT service, count(*), count(*) * 100.0 / sum(count(*)) OVER () AS percent, rank() OVER (ORDER BY sum(dur) DESC) FROM spans GROUP BY service ORDER BY 1;

-- name: cte_used_once | tool: hand-written | rows: 13, S6 | expect: node
WITH chosen AS (SELECT * FROM spans WHERE service IN ('api', 'auth')), hours AS (SELECT date_trunc('hour', ts) AS t, status, dur FROM chosen)
SELECT t, status, count(*), sum(dur) FROM hours GROUP BY 1, 2 ORDER BY 1, 2;

-- name: cte_used_twice | tool: hand-written | rows: 13 | expect: 2 nodes
WITH chosen AS (SELECT ts, dur FROM spans WHERE service = 'api') SELECT (SELECT count(*) FROM chosen) AS n, (SELECT sum(dur) FROM chosen) AS dur;

-- name: cte_of_groups_used_twice | tool: hand-written | rows: 13, N5 | expect: node
WITH days AS (SELECT ts::date AS day, sum(dur) AS dur FROM spans GROUP BY 1)
SELECT a.day, a.dur, b.dur AS before FROM days a LEFT JOIN days b ON b.day = a.day - 1 ORDER BY 1;

-- name: clock_of_now | tool: hand-written | rows: 17 | expect: node
SELECT count(*), sum(dur), max(ts) FROM recent_spans WHERE ts > CURRENT_DATE - 3 AND ts <= LOCALTIMESTAMP;

-- name: clock_of_day | tool: hand-written | rows: 17, 20, N4 | expect: node
SELECT date_trunc('hour', ts) AS t, count(*) FROM recent_spans WHERE ts::date = CURRENT_DATE - 1 GROUP BY 1 ORDER BY 1;

-- name: times_compared_with_utc | tool: hand-written | rows: 19, N3 | expect: node
SELECT count(*), sum(dur) FROM local_spans WHERE ts >= timestamptz '2024-03-10 06:00Z' AND ts < timestamptz '2024-11-03 06:00Z';

-- name: bounds_of_other_numbers | tool: hand-written | rows: 19 | expect: node
SELECT count(*), sum(dur) FROM ns_spans WHERE ts_ns > 7::smallint AND ts_ns < 2000000000000::bigint AND ts_ns / 1000000000 < 1000::integer;

-- name: bound_of_numeric | tool: hand-written | rows: 19, 20 | expect: node
SELECT count(*), sum(dur) FROM ns_spans WHERE ts_ns >= 1.71e18 AND ts_ns < 1.7301e18::float8;

-- name: bounds_both_ways | tool: hand-written | rows: 20 | on: spans local_spans | expect: node
SELECT count(*), max(amount) FROM :t WHERE '2024-03-10' <= ts AND NOT (ts >= '2024-03-12') AND ts <> '2024-03-10 12:00' AND ts IS NOT NULL;

-- name: truncated_bound | tool: hand-written | rows: 20, N4 | on: spans local_spans parted_spans | expect: node
SELECT service, count(*) FROM :t WHERE date_trunc('hour', ts) < timestamp '2024-03-10 07:00' AND date_trunc('day', ts) >= '2024-03-09' GROUP BY 1 ORDER BY 1;

-- name: epoch_bound | tool: hand-written | rows: 20, N4 | on: spans local_spans | expect: node
SELECT count(*), sum(x) FROM :t WHERE extract(epoch FROM ts) >= 1730600000 AND extract(epoch FROM ts) < 1730650000.5;

-- name: age_bound | tool: hand-written | rows: 20, 17 | expect: node
SELECT count(*), sum(x) FROM recent_spans WHERE now() - ts < interval '36 hours' AND ts < now();

-- name: months_added | tool: hand-written | rows: N10 | expect: node
SELECT date_trunc('year', ts + interval '1 month') AS year, count(*) FROM local_spans GROUP BY 1 ORDER BY 1;

-- name: remainder | tool: hand-written | rows: N10 | expect: node | large: plain
SELECT ts_ns % 7 AS shard, count(*) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: percentiles_beside_counts | tool: hand-written | rows: N7 | on: spans parted_spans | expect: node | large: plain
SELECT date_trunc('hour', ts) AS t, count(*), avg(dur), percentile_cont(0.5) WITHIN GROUP (ORDER BY dur), percentile_disc(0.99) WITHIN GROUP (ORDER BY dur)
FROM :t GROUP BY 1 ORDER BY 1;

-- name: percentiles_of_an_array | tool: hand-written | rows: N7 | on: spans local_spans | expect: node | large: plain
SELECT service, count(*) FILTER (WHERE status = 'ok'), percentile_cont(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY dur / 1000.0) AS ms, percentile_disc(ARRAY[0, 1]) WITHIN GROUP (ORDER BY amount DESC) AS ends
FROM :t WHERE ts BETWEEN '2024-03-10T00:00:00Z' AND '2024-03-10T12:00:00Z' GROUP BY 1 ORDER BY 1;

-- name: median_of_errors | tool: hand-written | rows: N7 | expect: node | large: plain
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY dur) FILTER (WHERE status LIKE 'e%') AS median FROM spans WHERE ts >= '2024-03-10T00:00:00Z';
