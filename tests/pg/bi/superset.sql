-- Apache Superset: bounds are calls of TO_TIMESTAMP.

-- name: superset_minute | tool: Superset | rows: 3, 17, 21, 24, S7 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('minute', ts) AS __timestamp, service AS service, SUM(dur) AS "SUM(dur)" FROM :t
WHERE ts >= TO_TIMESTAMP('2024-03-10 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-03-10 12:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
	AND service IN ('api', 'cart') GROUP BY DATE_TRUNC('minute', ts), service ORDER BY "SUM(dur)" DESC, 1, 2 LIMIT 10000;

-- name: superset_axis_named_as_column | tool: Superset | rows: 3, 17 | expect: node
SELECT DATE_TRUNC('day', ts) AS ts, service AS service, AVG(amount) AS "AVG(amount)" FROM public.spans
WHERE ts >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2025-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', ts), service ORDER BY "AVG(amount)" DESC, 1, 2 LIMIT 10000;

-- name: superset_5_minutes | tool: Superset | rows: 6, 17, S10, N2 | on: spans local_spans parted_spans | expect: node
SELECT DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) AS __timestamp, COUNT(*) AS count FROM :t
WHERE ts >= TO_TIMESTAMP('2024-04-06 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-04-07 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) ORDER BY count DESC, 1 LIMIT 10000;

-- name: superset_30_minutes | tool: Superset | rows: 6, N2 | on: spans local_spans | expect: node | large: plain
SELECT DATE_TRUNC('hour', ts) + INTERVAL '30 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 30) AS __timestamp, service, SUM(x) AS "SUM(x)" FROM :t
GROUP BY DATE_TRUNC('hour', ts) + INTERVAL '30 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 30), service ORDER BY 1, 2;

-- name: superset_5_seconds | tool: Superset | rows: 6, N2 | expect: node
SELECT DATE_TRUNC('minute', ts) + INTERVAL '5 seconds' * FLOOR(EXTRACT(SECOND FROM ts) / 5) AS __timestamp, COUNT(*) AS count, MAX(dur) AS "MAX(dur)"
FROM spans WHERE ts >= TO_TIMESTAMP('2024-03-10 06:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-03-10 12:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('minute', ts) + INTERVAL '5 seconds' * FLOOR(EXTRACT(SECOND FROM ts) / 5) ORDER BY 1;

-- name: superset_week_month_year | tool: Superset | rows: 3 | on: local_spans parted_spans | expect: node
SELECT DATE_TRUNC('week', ts) AS __timestamp, DATE_TRUNC('year', ts) AS year, COUNT(*) AS count, SUM(amount) AS "SUM(amount)" FROM :t
GROUP BY DATE_TRUNC('week', ts), DATE_TRUNC('year', ts) ORDER BY 1, 2 LIMIT 50000;

-- name: superset_epoch_column | tool: Superset | rows: 12, 10 | expect: node
SELECT DATE_TRUNC('hour', (timestamp 'epoch' + (ts_ns / 1000000000) * interval '1 second')) AS __timestamp, COUNT(*) AS count FROM ns_spans
WHERE ts_ns >= 1710028800000000000 AND ts_ns < 1730764800000000000
GROUP BY DATE_TRUNC('hour', (timestamp 'epoch' + (ts_ns / 1000000000) * interval '1 second')) ORDER BY 1 LIMIT 10000;

-- name: superset_old_bounds | tool: Superset before 1.0 | rows: 3, S2 | on: spans local_spans | expect: node
SELECT DATE_TRUNC('month', ts) AT TIME ZONE 'UTC' AS __timestamp, SUM(dur) AS sum__dur FROM :t
WHERE ts >= '2024-01-01 00:00:00' AND ts <= '2024-12-01 00:00:00' GROUP BY DATE_TRUNC('month', ts) AT TIME ZONE 'UTC' ORDER BY sum__dur DESC LIMIT 5000;

-- name: superset_virtual_dataset | tool: Superset | rows: 13, 17, S6 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('hour', ts) AS __timestamp, kind AS kind, COUNT(*) AS count FROM (
	SELECT ts, upper(service) AS kind, status, dur FROM :t WHERE status IS NOT NULL) AS virtual_table
WHERE ts >= TO_TIMESTAMP('2024-11-02 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-11-05 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('hour', ts), kind ORDER BY count DESC, 1, 2 LIMIT 10000;

-- name: superset_big_number | tool: Superset | rows: 16, 17, S3 | on: spans local_spans parted_spans | expect: node
SELECT COUNT(*) AS count FROM :t
WHERE ts >= TO_TIMESTAMP('2024-10-05 12:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-10-06 12:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') LIMIT 50000;

-- name: superset_relative | tool: Superset | rows: 17, S7 | expect: node
SELECT DATE_TRUNC('hour', ts) AS __timestamp, COUNT(*) AS count FROM recent_spans
WHERE ts >= DATE_TRUNC('day', NOW()) - INTERVAL '1 week' AND ts < DATE_TRUNC('day', NOW()) GROUP BY DATE_TRUNC('hour', ts) ORDER BY 1 LIMIT 10000;

-- name: superset_having | tool: Superset | rows: 14, 15 | expect: node
SELECT service AS service, status AS status, SUM(amount) AS "SUM(amount)" FROM spans GROUP BY service, status
HAVING ((SUM(amount) > 100000 AND COUNT(*) > 50)) ORDER BY "SUM(amount)" DESC, 1, 2 LIMIT 1000;

-- name: superset_samples_filter | tool: Superset | rows: 21, S5 | expect: node
SELECT status AS status, MAX(amount) AS "MAX(amount)" FROM spans WHERE service ILIKE 'MA%' OR service = '' OR service IS NULL
GROUP BY status ORDER BY 2 DESC, 1 LIMIT 100;

-- name: superset_series_limit | tool: Superset | rows: N5, 24 | expect: 2 nodes
SELECT DATE_TRUNC('day', ts) AS __timestamp, service AS service, SUM(dur) AS "SUM(dur)" FROM public.spans
JOIN (SELECT service AS service__, SUM(dur) AS mme_inner__ FROM public.spans
	WHERE ts >= TO_TIMESTAMP('2024-03-09 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-03-12 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
	GROUP BY service ORDER BY mme_inner__ DESC LIMIT 3) AS anon_1 ON service = service__
WHERE ts >= TO_TIMESTAMP('2024-03-09 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-03-12 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', ts), service ORDER BY "SUM(dur)" DESC, 1, 2 LIMIT 10000;

-- name: superset_filter_box | tool: Superset | rows: 25, S4 | on: spans parted_spans | expect: node
SELECT service AS service FROM :t GROUP BY service ORDER BY service ASC LIMIT 1000;

-- name: superset_count_distinct | tool: Superset | rows: N7 | expect: node
SELECT DATE_TRUNC('day', ts) AS __timestamp, COUNT(DISTINCT service) AS "COUNT_DISTINCT(service)", SUM(dur) AS "SUM(dur)" FROM spans
GROUP BY DATE_TRUNC('day', ts) ORDER BY 1 LIMIT 10000;

-- name: superset_time_range_shift | tool: Superset | rows: 17 | expect: node
SELECT DATE_TRUNC('day', ts) AS __timestamp, SUM(dur) AS "SUM(dur)" FROM spans
WHERE ts >= TO_TIMESTAMP('2024-11-03 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') - INTERVAL '28 days'
	AND ts < TO_TIMESTAMP('2024-11-05 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') - INTERVAL '28 days'
GROUP BY DATE_TRUNC('day', ts) ORDER BY 1 LIMIT 10000;

-- name: superset_stddev | tool: Superset | rows: 3, 17, 24, S7 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('day', ts) AS __timestamp, service AS service, STDDEV(dur) AS "STDDEV(dur)", VARIANCE(amount) AS "VARIANCE(amount)" FROM :t
WHERE ts >= TO_TIMESTAMP('2024-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ts < TO_TIMESTAMP('2024-04-12 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', ts), service ORDER BY "STDDEV(dur)" DESC, 1, 2 LIMIT 10000;
