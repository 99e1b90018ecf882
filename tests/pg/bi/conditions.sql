-- Conditions in every form that SQL has for them.

-- name: condition_range_type | tool: hand-written | rows: 20 | on: spans local_spans | expect: node
SELECT service, count(*), sum(dur) FROM :t WHERE ts::timestamptz <@ tstzrange('2024-03-10 00:00Z', '2024-11-03 06:00Z') GROUP BY 1 ORDER BY 1;

-- name: condition_overlaps | tool: hand-written | rows: 20 | expect: node
SELECT count(*), sum(dur) FROM spans WHERE (ts, ts) OVERLAPS (timestamptz '2024-03-10 00:00Z', timestamptz '2024-03-11 00:00Z');

-- name: condition_symmetric | tool: hand-written | rows: 20 | on: spans local_spans | expect: node
SELECT count(*), sum(dur) FROM :t WHERE ts BETWEEN SYMMETRIC '2024-11-03' AND '2024-03-10';

-- name: condition_not_between | tool: hand-written | rows: 20 | on: spans local_spans parted_spans | expect: node
SELECT count(*), sum(dur), max(ts) FROM :t WHERE ts NOT BETWEEN '2024-03-10' AND '2024-11-03';

-- name: condition_distinct_from | tool: hand-written | rows: 20, 21 | expect: node | large: plain
SELECT count(*), count(ts), sum(dur) FROM spans WHERE ts IS DISTINCT FROM '2024-03-10' AND status IS NOT DISTINCT FROM NULL AND service IS DISTINCT FROM 'api';

-- name: condition_not_in | tool: hand-written | rows: 20, 21 | expect: node
SELECT status, count(*) FROM spans WHERE service NOT IN ('api', 'cart') AND date_trunc('month', ts) NOT IN ('2024-03-01', '2024-11-01') GROUP BY 1 ORDER BY 1;

-- name: condition_any_times | tool: hand-written | rows: 20 | expect: node
SELECT count(*), sum(dur) FROM spans WHERE ts = ANY ('{2024-07-22 00:00Z,2024-03-10 06:00Z,2024-11-03 05:45Z,NULL}'::timestamptz[]);

-- name: condition_all_times | tool: hand-written | rows: 20 | expect: node
SELECT count(*), sum(dur) FROM spans WHERE ts > ALL ('{2024-07-22 00:00Z,2024-03-10 06:00Z}'::timestamptz[]) AND ts < ANY ('{2024-08-01 00:00Z,2024-09-01 00:00Z}'::timestamptz[]);

-- name: condition_truth | tool: hand-written | rows: 20 | expect: node
SELECT count(*), count(ts), sum(dur) FROM spans WHERE (ts >= '2024-11-03') IS NOT TRUE AND (service = 'api') IS NOT FALSE;

-- name: condition_equals_truth | tool: hand-written | rows: 20 | expect: node
SELECT count(*), sum(dur) FROM spans WHERE (ts >= '2024-11-03') = (status = 'ok');

-- name: condition_coalesce | tool: hand-written | rows: 20 | expect: node
SELECT count(*), count(ts), sum(dur) FROM spans WHERE coalesce(ts, '2024-06-01') >= '2024-05-01' AND greatest(ts, '2024-06-01') < '2024-10-01';

-- name: condition_case | tool: hand-written | rows: 20 | expect: node
SELECT service, count(*), sum(dur) FROM spans WHERE CASE service WHEN 'api' THEN ts >= '2024-11-03' WHEN 'cart' THEN ts < '2024-03-10' ELSE status = 'error' END GROUP BY 1 ORDER BY 1;

-- name: condition_text_of_time | tool: hand-written | rows: 20, N4 | on: spans local_spans | expect: node | large: plain
SELECT count(*), sum(dur) FROM :t WHERE ts::text LIKE '2024-03-10%';

-- name: condition_row | tool: hand-written | rows: 21 | expect: node
SELECT count(*), sum(dur) FROM spans WHERE (service, status) = ('api', 'ok') OR (service, status) IN (('cart', 'error'), ('auth', 'timeout'));

-- name: condition_row_order | tool: hand-written | rows: 20, 21 | expect: node
SELECT count(*), sum(dur) FROM spans WHERE (service, ts) > ('auth', '2024-03-10 06:00Z');

-- name: condition_alternating | tool: hand-written | rows: 20 | on: spans local_spans | expect: node
SELECT date_trunc('day', ts) AS day, count(*), sum(dur) FROM :t WHERE extract(minute FROM ts) < 30 AND ts >= '2024-03-09' AND ts < '2024-03-12' GROUP BY 1 ORDER BY 1;

-- name: condition_time_of_day | tool: hand-written | rows: 20, N10 | on: spans local_spans | expect: node
SELECT service, count(*), sum(dur) FROM :t WHERE ts::time BETWEEN '22:15' AND '23:45:30' GROUP BY 1 ORDER BY 1;

-- name: condition_zone_of_label | tool: hand-written | rows: 4, N1 | expect: node | large: plain
SELECT date_trunc('hour', ts AT TIME ZONE CASE WHEN service = 'api' THEN 'America/New_York' ELSE 'Asia/Kolkata' END) AS hour, count(*), sum(dur) FROM spans
WHERE ts >= '2024-11-03 00:00Z' AND ts < '2024-11-04 00:00Z' AND service IS NOT NULL GROUP BY 1 ORDER BY 1;

-- name: condition_never_true | tool: hand-written | rows: 21, S3 | expect: node | large: plain | execute: NULL
SELECT count(*), sum(dur) FROM spans WHERE service = $1 AND ts IS NOT NULL;

-- name: condition_without_columns | tool: hand-written | rows: 18, S3 | expect: node | large: plain | execute: 'day'
SELECT count(*), sum(dur), max(service) FROM spans WHERE $1 = 'week';

-- name: condition_without_columns_grouped | tool: hand-written | rows: 18 | expect: node | execute: 'week'
SELECT service, count(*) FROM spans WHERE $1 = 'week' GROUP BY 1 ORDER BY 1;

-- what fails for rows that are not asked for does not fail
-- name: condition_before_division | tool: hand-written | rows: 21 | on: spans parted_spans | expect: node
SELECT 100 / length(service) AS n, count(*) FROM :t WHERE service <> '' GROUP BY 1 ORDER BY 1;

-- name: condition_before_cast | tool: hand-written | rows: 20 | expect: node
SELECT 12 / (extract(month FROM ts)::int - 1) AS n, count(*), sum(dur) FROM spans WHERE ts >= '2024-03-01' GROUP BY 1 ORDER BY 1;

-- name: condition_having_only | tool: hand-written | rows: 14, 24 | on: spans parted_spans | expect: node
SELECT service FROM :t GROUP BY service HAVING max(dur) > 500000 AND min(ts) < '2024-02-01' ORDER BY sum(amount) DESC, 1;

-- name: condition_filters | tool: hand-written | rows: 22, S9 | on: spans local_spans parted_spans | expect: node | large: plain
SELECT service, count(*) FILTER (WHERE extract(hour FROM ts) < 12) AS am, sum(dur) FILTER (WHERE date_trunc('month', ts) = '2024-03-01') AS march, min(ts) FILTER (WHERE status = 'error') AS error,
	max(ts) FILTER (WHERE ts < '2024-11-03') AS late, count(ts) FILTER (WHERE ts IS NULL OR status IS NULL) AS nulls, avg(x) FILTER (WHERE false) AS nothing
FROM :t GROUP BY 1 ORDER BY 1;

-- name: condition_values_by_time | tool: hand-written | rows: 22, S9 | expect: node
SELECT date_trunc('month', ts) AS month, sum(CASE WHEN extract(dow FROM ts) IN (0, 6) THEN amount ELSE -amount END) AS amount,
	max(CASE WHEN service = 'api' THEN dur WHEN service = 'cart' THEN -dur END) AS dur, avg(CASE WHEN status = 'ok' THEN x END) AS x FROM spans GROUP BY 1 ORDER BY 1;

-- name: condition_simple_case | tool: hand-written | rows: 22, S9 | expect: node
SELECT service, sum(CASE status WHEN 'error' THEN dur END) AS errors, sum(dur) AS dur FROM spans GROUP BY 1 ORDER BY 1;
