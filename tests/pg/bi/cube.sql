-- Cube, and Lightdash

-- name: cube_day | tool: Cube | rows: 4, 16, 18, S7, S8 | expect: node | execute: '2024-03-01T00:00:00Z', '2024-03-31T23:59:59Z'
SELECT date_trunc('day', ("spans".ts::timestamptz AT TIME ZONE 'UTC')) "spans__ts_day", count("spans".id) "spans__count"
FROM public.spans AS "spans" WHERE ("spans".ts >= $1::timestamptz AND "spans".ts <= $2::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- name: cube_hour_new_york | tool: Cube | rows: 4, 18, S8, N1 | expect: node | execute: '2024-11-01T00:00:00Z', '2024-11-05T23:59:59.999Z'
SELECT date_trunc('hour', ("spans".ts::timestamptz AT TIME ZONE 'America/New_York')) "spans__ts_hour", "spans".service "spans__service", sum("spans".dur) "spans__dur"
FROM public.parted_spans AS "spans" WHERE ("spans".ts >= $1::timestamptz AND "spans".ts <= $2::timestamptz) GROUP BY 1, 2 ORDER BY 1 ASC, 2 LIMIT 10000;

-- name: cube_minute_lord_howe | tool: Cube | rows: 4, N1 | on: spans parted_spans | expect: node
SELECT date_trunc('minute', (ts::timestamptz AT TIME ZONE 'Australia/Lord_Howe')) "spans__ts_minute", count(id) "spans__count"
FROM :t AS "spans" WHERE ts >= '2024-04-06T00:00:00Z'::timestamptz AND ts <= '2024-04-07T23:59:59.999Z'::timestamptz GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- name: cube_week_local | tool: Cube | rows: 4, N1 | expect: node
SELECT date_trunc('week', ("spans".ts::timestamptz AT TIME ZONE 'America/St_Johns')) "spans__ts_week", avg("spans".x) "spans__x"
FROM public.local_spans AS "spans" GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- name: cube_custom_granularity | tool: Cube | rows: 8, S10 | on: spans parted_spans | expect: node
SELECT ('2024-01-01T00:00:00.000'::timestamp + INTERVAL '10 minute' * FLOOR(EXTRACT(EPOCH FROM ((ts::timestamptz AT TIME ZONE 'UTC') - '2024-01-01T00:00:00.000'::timestamp))
	/ EXTRACT(EPOCH FROM INTERVAL '10 minute'))) "spans__ts_ten_minutes", count(id) "spans__count"
FROM :t AS "spans" WHERE ts >= '2024-03-09T00:00:00Z'::timestamptz AND ts <= '2024-03-11T23:59:59.999Z'::timestamptz GROUP BY 1 ORDER BY 1 ASC LIMIT 10000;

-- name: cube_custom_granularity_zone | tool: Cube | rows: 8, N1 | on: spans | expect: node
SELECT ('2024-01-01T00:25:00.000'::timestamp + INTERVAL '1 hour 30 minute' * FLOOR(EXTRACT(EPOCH FROM ((ts AT TIME ZONE 'America/Havana') - '2024-01-01T00:25:00.000'::timestamp))
	/ EXTRACT(EPOCH FROM INTERVAL '1 hour 30 minute'))) "spans__ts_shifts", sum(dur) "spans__dur"
FROM :t AS "spans" WHERE ts >= '2024-11-01T00:00:00Z' AND ts <= '2024-11-05T00:00:00Z' GROUP BY 1 ORDER BY 1 ASC;

-- name: cube_custom_granularity_local | tool: Cube | rows: 8, S10 | expect: node
SELECT ('2024-01-01'::timestamp + INTERVAL '36 hour' * FLOOR(EXTRACT(EPOCH FROM (ts - '2024-01-01'::timestamp)) / EXTRACT(EPOCH FROM INTERVAL '36 hour'))) "spans__ts_shift",
	count(id) "spans__count", max(amount) "spans__amount" FROM local_spans GROUP BY 1 ORDER BY 1 ASC;

-- name: cube_sql_cube | tool: Cube | rows: 13, 4, S6 | expect: node
SELECT date_trunc('day', ("c".ts::timestamptz AT TIME ZONE 'UTC')) "c__ts_day", "c".service "c__service", count("c".id) "c__count" FROM (
	select id, ts, lower(service) as service from spans where service is not null) AS "c"
WHERE ("c".ts >= '2024-10-01T00:00:00.000Z'::timestamptz AND "c".ts <= '2024-11-30T23:59:59.999Z'::timestamptz) AND ("c".service = 'male') GROUP BY 1, 2 ORDER BY 1;

-- name: cube_rollup | tool: Cube | rows: 4 | expect: node | then: SELECT * FROM rollup ORDER BY 1, 2
CREATE TEMPORARY TABLE rollup AS SELECT "spans".service "spans__service", date_trunc('hour', ("spans".ts::timestamptz AT TIME ZONE 'UTC')) "spans__ts_hour",
	count("spans".id) "spans__count", sum("spans".dur) "spans__dur" FROM public.spans AS "spans" GROUP BY 1, 2;

-- name: cube_refresh_key | tool: Cube | rows: S3 | on: spans local_spans parted_spans | expect: node
select max(ts), count(*) from :t;

-- name: cube_refresh_key_alone | tool: Cube | rows: S3 | expect: node | large: plain
select max(ts) from spans;

-- name: cube_filtered_measure | tool: Cube | rows: 22, 16, S9, N9 | on: spans parted_spans | expect: node
SELECT service "spans__service", count(CASE WHEN (status = 'error') THEN id END) "spans__errors",
	count(CASE WHEN (status = 'error') THEN id END)::float / NULLIF(count(id), 0) "spans__error_rate" FROM :t AS "spans" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10000;

-- name: cube_in_list | tool: Cube | rows: 18, 21, S5 | expect: node | execute: '2024-03-01T00:00:00Z', '2024-03-31T23:59:59.999Z', 'api', 'cart'
SELECT "spans".status "spans__status", count("spans".id) "spans__count" FROM public.spans AS "spans"
WHERE ("spans".ts >= $1::timestamptz AND "spans".ts <= $2::timestamptz) AND ("spans".service IN ($3, $4)) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10000;

-- name: cube_count_distinct | tool: Cube | rows: N7 | expect: node
SELECT "spans".service "spans__service", count(distinct "spans".status) "spans__statuses" FROM public.spans AS "spans" GROUP BY 1 ORDER BY 1;

-- name: cube_rolling_window | tool: Cube | rows: N5, 24 | expect: node
SELECT q.day AS "spans__ts_day", count(s.id) AS "spans__count" FROM generate_series(timestamp '2024-03-08', '2024-03-12', '1 day') AS q(day)
LEFT JOIN local_spans AS s ON s.ts > q.day - interval '2 day' AND s.ts <= q.day GROUP BY 1 ORDER BY 1;

-- name: lightdash_day | tool: Lightdash | rows: 4, 5, S8, N1 | expect: node
SELECT DATE_TRUNC('DAY', ("spans".ts)::timestamptz AT TIME ZONE 'America/New_York') AS "spans_ts_day", SUM("spans".amount) AS "spans_amount" FROM "public"."spans" AS "spans"
GROUP BY 1 ORDER BY "spans_ts_day" DESC LIMIT 500;

-- name: lightdash_table_calculation | tool: Lightdash | rows: 13, S6 | expect: node
WITH metrics AS (SELECT DATE_TRUNC('MONTH', "spans".ts) AS "spans_ts_month", COUNT("spans".id) AS "spans_count" FROM "public"."spans" AS "spans" GROUP BY 1)
SELECT *, "spans_count" / SUM("spans_count") OVER () AS share FROM metrics ORDER BY "spans_ts_month" DESC LIMIT 500;
