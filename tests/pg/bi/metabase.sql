-- Metabase: names qualified, expressions repeated, values as parameters.

-- name: metabase_minute | tool: Metabase | rows: 3, 18, 24, S2, S7 | expect: node | execute: '2024-03-10 06:00Z', '2024-03-10 09:00Z'
SELECT DATE_TRUNC('minute', "public"."spans"."ts") AS "ts", COUNT(*) AS "count" FROM "public"."spans"
WHERE ("public"."spans"."ts" >= $1) AND ("public"."spans"."ts" < $2)
GROUP BY DATE_TRUNC('minute', "public"."spans"."ts") ORDER BY DATE_TRUNC('minute', "public"."spans"."ts") ASC;

-- name: metabase_hour_label | tool: Metabase | rows: 3, 18, 21, 24, S2, S5 | expect: node
-- | execute: '2024-11-02 06:00Z', '2024-11-04 09:00Z', 'api', 'auth'
SELECT DATE_TRUNC('hour', "public"."spans"."ts") AS "ts", "public"."spans"."service" AS "service", SUM("public"."spans"."dur") AS "sum"
FROM "public"."spans"
WHERE (("public"."spans"."ts" >= $1) AND ("public"."spans"."ts" < $2)) AND (("public"."spans"."service" = $3) OR ("public"."spans"."service" = $4))
GROUP BY DATE_TRUNC('hour', "public"."spans"."ts"), "public"."spans"."service"
ORDER BY DATE_TRUNC('hour', "public"."spans"."ts") ASC, "public"."spans"."service" ASC;

-- name: metabase_day | tool: Metabase | rows: 5, S8, N10 | on: spans parted_spans | expect: node
SELECT CAST(CAST(ts AS DATE) AS timestamptz) AS "ts", COUNT(*) AS "count", AVG(amount) AS "avg" FROM :t
GROUP BY CAST(CAST(ts AS DATE) AS timestamptz) ORDER BY CAST(CAST(ts AS DATE) AS timestamptz) ASC;

-- name: metabase_day_old | tool: Metabase before 0.39 | rows: 5, S8 | on: spans local_spans | expect: node
SELECT CAST(ts AS date) AS "ts", COUNT(*) AS "count" FROM :t GROUP BY CAST(ts AS date) ORDER BY CAST(ts AS date) ASC;

-- name: metabase_week | tool: Metabase | rows: 3 | on: spans local_spans parted_spans | expect: node
SELECT (DATE_TRUNC('week', (ts + INTERVAL '1 day')) + INTERVAL '-1 day') AS "ts", SUM(x) AS "sum" FROM :t
GROUP BY (DATE_TRUNC('week', (ts + INTERVAL '1 day')) + INTERVAL '-1 day')
ORDER BY (DATE_TRUNC('week', (ts + INTERVAL '1 day')) + INTERVAL '-1 day') ASC;

-- name: metabase_month | tool: Metabase | rows: 3, S2 | on: spans local_spans parted_spans | expect: node
SELECT DATE_TRUNC('month', ts) AS "ts", COUNT(*) AS "count", MIN(dur) AS "min", MAX(dur) AS "max" FROM :t
GROUP BY DATE_TRUNC('month', ts) ORDER BY DATE_TRUNC('month', ts) ASC;

-- name: metabase_month_of_date | tool: Metabase | rows: 3, 5 | expect: node
SELECT CAST(DATE_TRUNC('month', CAST(ts AS date)) AS date) AS "ts", COUNT(*) AS "count" FROM spans
GROUP BY CAST(DATE_TRUNC('month', CAST(ts AS date)) AS date) ORDER BY CAST(DATE_TRUNC('month', CAST(ts AS date)) AS date) ASC;

-- name: metabase_quarter_year | tool: Metabase | rows: 3 | on: spans local_spans | expect: node
SELECT DATE_TRUNC('quarter', ts) AS "ts", DATE_TRUNC('year', ts) AS "ts_2", COUNT(*) AS "count" FROM :t
GROUP BY DATE_TRUNC('quarter', ts), DATE_TRUNC('year', ts) ORDER BY DATE_TRUNC('quarter', ts) ASC, DATE_TRUNC('year', ts) ASC;

-- name: metabase_hour_of_day | tool: Metabase | rows: 20, N10 | on: spans local_spans parted_spans | expect: node
SELECT CAST(extract(hour from ts) AS integer) AS "ts", COUNT(*) AS "count", SUM(dur) AS "sum" FROM :t
GROUP BY CAST(extract(hour from ts) AS integer) ORDER BY CAST(extract(hour from ts) AS integer) ASC;

-- name: metabase_day_of_week | tool: Metabase | rows: N10 | on: spans local_spans | expect: node
SELECT CAST(extract(dow from ts) AS integer) + 1 AS "ts", COUNT(*) AS "count" FROM :t
GROUP BY CAST(extract(dow from ts) AS integer) + 1 ORDER BY CAST(extract(dow from ts) AS integer) + 1 ASC;

-- name: metabase_convert_timezone | tool: Metabase | rows: 4, N1 | expect: node
SELECT DATE_TRUNC('hour', timezone('Australia/Lord_Howe', ts)) AS "ts", COUNT(*) AS "count" FROM spans
WHERE ts >= timestamp with time zone '2024-04-05 00:00:00.000Z' AND ts < timestamp with time zone '2024-10-07 00:00:00.000Z'
GROUP BY DATE_TRUNC('hour', timezone('Australia/Lord_Howe', ts)) ORDER BY DATE_TRUNC('hour', timezone('Australia/Lord_Howe', ts)) ASC;

-- name: metabase_convert_two_timezones | tool: Metabase | rows: 4, N1 | expect: node
SELECT DATE_TRUNC('hour', timezone('America/Havana', timezone('UTC', ts))) AS "ts", COUNT(*) AS "count" FROM local_spans
GROUP BY DATE_TRUNC('hour', timezone('America/Havana', timezone('UTC', ts))) ORDER BY 1 ASC;

-- name: metabase_timestamp_cast | tool: Metabase | rows: 3, 5 | expect: node
SELECT DATE_TRUNC('minute', CAST(ts AS timestamp)) AS "ts", COUNT(*) AS "count" FROM spans
WHERE ts >= '2024-11-03 00:00' AND ts < '2024-11-03 12:00'
GROUP BY DATE_TRUNC('minute', CAST(ts AS timestamp)) ORDER BY DATE_TRUNC('minute', CAST(ts AS timestamp)) ASC;

-- name: metabase_top_labels | tool: Metabase | rows: 24, S4 | on: spans parted_spans | expect: node
SELECT "service" AS "service", COUNT(*) AS "count" FROM :t GROUP BY "service" ORDER BY "count" DESC, "service" ASC LIMIT 3;

-- name: metabase_is_not | tool: Metabase | rows: 21, N10 | expect: node
SELECT "status" AS "status", COUNT(*) AS "count", SUM("amount") AS "sum" FROM spans
WHERE (("service" <> 'api') OR ("service" IS NULL)) AND ("status" IS NOT NULL) AND ("status" <> '' OR "status" IS NULL)
GROUP BY "status" ORDER BY "status" ASC;

-- name: metabase_not_that_day | tool: Metabase | rows: 20, N10 | on: spans local_spans | expect: node
SELECT COUNT(*) AS "count" FROM :t WHERE (ts < '2024-03-10') OR (ts >= '2024-03-11');

-- name: metabase_field_filter | tool: Metabase | rows: 20, N4 | on: spans local_spans parted_spans | expect: node
SELECT service, count(*) FROM :t WHERE CAST(ts AS date) BETWEEN DATE '2024-03-10' AND DATE '2024-04-06' GROUP BY service ORDER BY 2 DESC, 1;

-- name: metabase_filter_with_offset | tool: Metabase | rows: 20, N4 | expect: node
SELECT COUNT(*) AS "count" FROM spans
WHERE (ts + INTERVAL '7 day') >= DATE_TRUNC('day', TIMESTAMPTZ '2024-11-10') AND (ts + INTERVAL '7 day') < DATE_TRUNC('day', TIMESTAMPTZ '2024-11-11');

-- name: metabase_previous_month | tool: Metabase | rows: 17, S7 | expect: node
SELECT DATE_TRUNC('day', ts) AS "ts", COUNT(*) AS "count" FROM recent_spans
WHERE ts >= DATE_TRUNC('month', NOW() + INTERVAL '-1 month') AND ts < DATE_TRUNC('month', NOW())
GROUP BY DATE_TRUNC('day', ts) ORDER BY DATE_TRUNC('day', ts) ASC;

-- name: metabase_past_30_days | tool: Metabase | rows: 17, 5, S7 | expect: node
SELECT CAST(ts AS date) AS "ts", SUM(dur) AS "sum" FROM recent_spans
WHERE ts >= CAST(CAST((NOW() + INTERVAL '-30 day') AS date) AS timestamptz) AND ts < CAST(CAST(NOW() AS date) AS timestamptz)
GROUP BY CAST(ts AS date) ORDER BY CAST(ts AS date) ASC;

-- name: metabase_share | tool: Metabase | rows: 22, N9, S9 | on: spans parted_spans | expect: node
SELECT service, CAST(SUM(CASE WHEN status = 'error' THEN 1 ELSE 0.0 END) AS DOUBLE PRECISION) / NULLIF(CAST(COUNT(*) AS DOUBLE PRECISION), 0.0) AS "share"
FROM :t GROUP BY service ORDER BY service ASC;

-- name: metabase_sum_if | tool: Metabase | rows: 22, N9 | expect: node
SELECT DATE_TRUNC('month', ts) AS "ts", SUM(CASE WHEN status = 'error' THEN dur ELSE 0.0 END) AS "sum", SUM(CASE WHEN status = 'ok' THEN dur END) AS "sum_2"
FROM spans GROUP BY DATE_TRUNC('month', ts) ORDER BY DATE_TRUNC('month', ts) ASC;

-- name: metabase_nested_question | tool: Metabase | rows: 13, S6 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('hour', "source"."ts") AS "ts", AVG("source"."dur") AS "avg" FROM (
	SELECT ts AS "ts", service AS "service", status AS "status", dur AS "dur", note AS "note" FROM :t WHERE service = 'api') AS "source"
WHERE "source"."status" = 'ok' GROUP BY DATE_TRUNC('hour', "source"."ts") ORDER BY DATE_TRUNC('hour', "source"."ts") ASC LIMIT 1048575;

-- name: metabase_nested_computed | tool: Metabase | rows: 13, S6 | expect: node
SELECT "__mb_source"."ts_hour" AS "ts_hour", COUNT(*) AS "count" FROM (
	SELECT DATE_TRUNC('hour', "source"."ts") AS "ts_hour", "source"."service" FROM (SELECT ts, service FROM spans) AS "source") AS "__mb_source"
WHERE "__mb_source"."ts_hour" >= '2024-03-10' GROUP BY "__mb_source"."ts_hour" ORDER BY 1;

-- name: metabase_nested_sorted | tool: Metabase | rows: 13, S6 | expect: node
SELECT "source"."service", "source"."count" FROM (
	SELECT service AS "service", COUNT(*) AS "count" FROM spans GROUP BY service ORDER BY service ASC) AS "source"
WHERE "source"."count" > 300 ORDER BY "source"."count" DESC, 1 LIMIT 2000;

-- name: metabase_nested_limit | tool: Metabase | rows: 13 | expect: plain
SELECT COUNT(*) AS "count" FROM (SELECT ts, service FROM spans ORDER BY id LIMIT 2000) AS "source";

-- name: metabase_count_of_counts | tool: Metabase | rows: 13, S6 | expect: node | large: plain
SELECT max("source"."count") AS "max", avg("source"."count") AS "avg" FROM (
	SELECT DATE_TRUNC('minute', ts) AS "ts", COUNT(*) AS "count" FROM spans GROUP BY DATE_TRUNC('minute', ts)) AS "source";

-- name: metabase_pivot | tool: Metabase | rows: S4 | expect: node
SELECT service AS "service", status AS "status", ABS(0) AS "pivot-grouping", COUNT(*) AS "count" FROM spans
GROUP BY service, status, ABS(0) ORDER BY service ASC, status ASC, ABS(0) ASC;

-- name: metabase_binned_value | tool: Metabase | rows: N10 | expect: declined: a group key has a value column
SELECT ((FLOOR(((x - 0.75) / 0.75)) * 0.75) + 0.75) AS "x", COUNT(*) AS "count" FROM spans
GROUP BY ((FLOOR(((x - 0.75) / 0.75)) * 0.75) + 0.75) ORDER BY 1 ASC;

-- name: metabase_median | tool: Metabase | rows: N7 | expect: node | large: plain
SELECT service, PERCENTILE_CONT(0.5) within group (order by dur) AS "median" FROM spans GROUP BY service ORDER BY service ASC;

-- name: metabase_distinct | tool: Metabase | rows: N7 | expect: node
SELECT DATE_TRUNC('month', ts) AS "ts", count(distinct service) AS "count" FROM spans GROUP BY DATE_TRUNC('month', ts) ORDER BY 1;

-- name: metabase_unix_ns | tool: Metabase | rows: 12, 10 | expect: node
SELECT DATE_TRUNC('minute', to_timestamp((ts_ns / 1000000000))) AS "ts", COUNT(*) AS "count" FROM ns_spans
WHERE to_timestamp((ts_ns / 1000000000)) >= timestamp with time zone '2024-03-09 00:00:00.000Z'
	AND to_timestamp((ts_ns / 1000000000)) < timestamp with time zone '2024-03-11 00:00:00.000Z'
GROUP BY DATE_TRUNC('minute', to_timestamp((ts_ns / 1000000000))) ORDER BY DATE_TRUNC('minute', to_timestamp((ts_ns / 1000000000))) ASC;

-- name: metabase_unix_ns_days | tool: Metabase | rows: 5, 12 | expect: node
SELECT CAST(CAST(to_timestamp((ts_ns / 1000000000)) AS DATE) AS timestamptz) AS "ts", COUNT(*) AS "count" FROM ns_spans
GROUP BY CAST(CAST(to_timestamp((ts_ns / 1000000000)) AS DATE) AS timestamptz) ORDER BY 1;

-- name: metabase_cumulative | tool: Metabase | rows: 24 | expect: node
SELECT DATE_TRUNC('week', ts) AS "ts", SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('week', ts) ASC ROWS UNBOUNDED PRECEDING) AS "count",
	SUM(SUM(amount)) OVER (ORDER BY DATE_TRUNC('week', ts) ASC ROWS UNBOUNDED PRECEDING) AS "sum"
FROM spans GROUP BY DATE_TRUNC('week', ts) ORDER BY DATE_TRUNC('week', ts) ASC;

-- name: metabase_offset | tool: Metabase | rows: 24 | expect: node
SELECT DATE_TRUNC('month', ts) AS "ts", LAG(SUM(dur), 1) OVER (ORDER BY DATE_TRUNC('month', ts) ASC) AS "previous", SUM(dur) AS "sum"
FROM parted_spans GROUP BY DATE_TRUNC('month', ts) ORDER BY DATE_TRUNC('month', ts) ASC;

-- name: metabase_text_filter | tool: Metabase | rows: 21, S5 | expect: node
SELECT COUNT(*) AS "count" FROM spans WHERE (LOWER("service") LIKE '%a%') AND ("service" NOT LIKE 'c%' OR "service" IS NULL);

-- name: metabase_standard_deviation | tool: Metabase | rows: 3, 24 | on: spans local_spans parted_spans | expect: node
SELECT DATE_TRUNC('month', ts) AS "ts", STDDEV_POP(dur) AS "stddev", VAR_POP(amount) AS "var", AVG(dur) AS "avg" FROM :t
GROUP BY DATE_TRUNC('month', ts) ORDER BY DATE_TRUNC('month', ts) ASC;
