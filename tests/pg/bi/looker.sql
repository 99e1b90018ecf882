-- Looker, and Redash

-- name: looker_last_days | tool: Looker | rows: 5, 18, 23, N3, S7, S8 | expect: node
SELECT DATE(spans.ts ) AS "spans.ts_date", COALESCE(SUM(spans.dur ), 0) AS "spans.dur" FROM public.recent_spans AS spans
WHERE ((((spans.ts ) >= ((SELECT (DATE_TRUNC('day', CURRENT_TIMESTAMP) + (-6 || ' day')::INTERVAL))) AND (spans.ts ) <
	((SELECT ((DATE_TRUNC('day', CURRENT_TIMESTAMP) + (-6 || ' day')::INTERVAL) + (7 || ' day')::INTERVAL))))))
GROUP BY 1 ORDER BY 1 DESC LIMIT 500;

-- name: looker_labels | tool: Looker | rows: 5, 18, 21, N3 | expect: node
SELECT DATE(spans.ts ) AS "spans.ts_date", spans.service AS "spans.service", COUNT(*) AS "spans.count", COALESCE(SUM(spans.amount ), 0) AS "spans.amount"
FROM public.parted_spans AS spans
WHERE ((spans.ts ) >= ((SELECT TIMESTAMP '2024-11-02')) AND (spans.ts ) < ((SELECT (TIMESTAMP '2024-11-02' + (3 || ' day')::INTERVAL)))) AND (spans.status IN ('ok', 'error'))
GROUP BY 1,2 ORDER BY 1 DESC, 2 FETCH NEXT 500 ROWS ONLY;

-- name: looker_minute | tool: Looker | rows: N10, 3 | on: spans local_spans | expect: node
SELECT TO_CHAR(DATE_TRUNC('minute', ts ), 'YYYY-MM-DD HH24:MI') AS "spans.ts_minute", COUNT(*) AS "spans.count" FROM :t
WHERE ts >= TIMESTAMP '2024-03-10 00:00' AND ts < TIMESTAMP '2024-03-10 12:00' GROUP BY 1 ORDER BY 1 DESC LIMIT 500;

-- name: looker_month | tool: Looker | rows: N10, 3 | on: spans local_spans parted_spans | expect: node
SELECT TO_CHAR(DATE_TRUNC('month', ts ), 'YYYY-MM') AS "spans.ts_month", AVG(amount ) AS "spans.average_amount" FROM :t GROUP BY 1 ORDER BY 1 DESC LIMIT 500;

-- name: looker_hour_of_day | tool: Looker | rows: N10 | expect: node
SELECT CAST(EXTRACT(HOUR FROM spans.ts ) AS INT) AS "spans.ts_hour_of_day", COUNT(*) AS "spans.count" FROM spans GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500;

-- name: looker_day_of_week | tool: Looker | rows: N10 | expect: node
SELECT TO_CHAR(spans.ts , 'Day') AS "spans.ts_day_of_week", COUNT(*) AS "spans.count" FROM spans GROUP BY 1 ORDER BY 1 LIMIT 500;

-- name: looker_zone | tool: Looker | rows: 4, 5, N1 | on: local_spans | expect: node
SELECT DATE(ts ::timestamptz AT TIME ZONE 'America/Los_Angeles') AS "spans.ts_date", COUNT(*) AS "spans.count" FROM :t GROUP BY 1 ORDER BY 1 DESC LIMIT 500;

-- name: looker_filtered_count | tool: Looker | rows: 22, S9, N9 | expect: node
SELECT spans.service AS "spans.service", COUNT(CASE WHEN (spans.status = 'error') THEN 1 ELSE NULL END) AS "spans.errors",
	1.0 * COUNT(CASE WHEN (spans.status = 'error') THEN 1 ELSE NULL END) / NULLIF(COUNT(*), 0) AS "spans.error_rate"
FROM spans GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500;

-- name: looker_having | tool: Looker | rows: 14 | expect: node
SELECT spans.service AS "spans.service", COALESCE(SUM(spans.dur ), 0) AS "spans.dur" FROM spans GROUP BY 1
HAVING (COALESCE(SUM(spans.dur ), 0) > 100000000) ORDER BY 2 DESC LIMIT 500;

-- name: looker_derived_table | tool: Looker | rows: 13, S6 | expect: node
WITH per_day AS (SELECT DATE(ts) AS day, service, COUNT(*) AS n FROM spans GROUP BY 1, 2)
SELECT per_day.day AS "per_day.day", COALESCE(SUM(per_day.n ), 0) AS "per_day.n" FROM per_day WHERE per_day.service <> '' GROUP BY 1 ORDER BY 1 DESC LIMIT 500;

-- name: looker_symmetric_aggregate | tool: Looker | rows: N7 | expect: declined: distinct values of a value column are not kept
SELECT service AS "spans.service", COALESCE(SUM(DISTINCT dur), 0) AS "spans.dur" FROM spans GROUP BY 1 ORDER BY 1 LIMIT 500;

-- name: redash_dates | tool: Redash | rows: 3, S2 | on: spans local_spans parted_spans | expect: node
/* Username: someone, query_id: 12, Queue: queries */ SELECT date_trunc('hour', ts) AS t, service, count(*) FROM :t
WHERE ts >= '2024-03-09' AND ts < '2024-03-12 00:00' GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 1000;

-- name: redash_day | tool: Redash | rows: 5, 20, N4 | expect: node
SELECT ts::date AS day, count(*) AS n, sum(amount) AS amount FROM spans WHERE ts::date >= '2024-10-05' AND ts::date <= '2024-11-03' GROUP BY ts::date ORDER BY ts::date;
