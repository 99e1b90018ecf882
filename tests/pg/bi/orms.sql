-- Object mappers, and R

-- name: django_minute | tool: Django | rows: 4, 16, S8 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('minute', "t"."ts" AT TIME ZONE 'UTC') AS "minute", COUNT("t"."id") AS "n" FROM :t "t"
WHERE "t"."ts" >= '2024-03-10T00:00:00+00:00'::timestamptz AND "t"."ts" < '2024-03-10T12:00:00+00:00'::timestamptz GROUP BY 1 ORDER BY 1 ASC;

-- name: django_hour_havana | tool: Django | rows: 4, N1 | expect: node
SELECT DATE_TRUNC('hour', "t"."ts" AT TIME ZONE 'America/Havana') AS "hour", AVG("t"."dur") AS "dur" FROM spans "t" GROUP BY 1 ORDER BY 1 ASC;

-- name: django_date | tool: Django | rows: 4, 5, S8 | on: spans local_spans | expect: node
SELECT ("t"."ts" AT TIME ZONE 'America/New_York')::date AS "day", COUNT(*) AS "n", SUM("t"."x") AS "x" FROM :t "t" GROUP BY 1 ORDER BY 1;

-- name: django_date_filter | tool: Django | rows: 20, N4 | on: spans parted_spans | expect: node
SELECT "t"."service", COUNT(*) AS "n" FROM :t "t" WHERE ("t"."ts" AT TIME ZONE 'UTC')::date = '2024-11-03'::date GROUP BY 1 ORDER BY 2 DESC, 1;

-- name: django_date_filter_zone | tool: Django | rows: 20, N4, N1 | expect: node
SELECT COUNT(*) AS "__count" FROM spans "t" WHERE ("t"."ts" AT TIME ZONE 'America/New_York')::date IN ('2024-11-03'::date, '2024-03-10'::date);

-- name: django_hour_part | tool: Django | rows: N10, 4 | expect: node
SELECT EXTRACT(HOUR FROM "t"."ts" AT TIME ZONE 'Australia/Lord_Howe') AS "hour", COUNT(*) AS "n" FROM spans "t" GROUP BY 1 ORDER BY 1;

-- name: django_year_filter | tool: Django | rows: 20 | on: spans local_spans | expect: node
SELECT COUNT(*) AS "__count" FROM :t "t" WHERE "t"."ts" BETWEEN '2024-01-01 00:00:00' AND '2024-12-31 23:59:59.999999' AND EXTRACT(MONTH FROM "t"."ts") = 3;

-- name: django_aggregate_filter | tool: Django | rows: 22, S9 | on: spans parted_spans | expect: node
SELECT "t"."service", COUNT("t"."id") FILTER (WHERE "t"."status" = 'error') AS "errors", COUNT("t"."id") AS "n", SUM("t"."dur") FILTER (WHERE NOT ("t"."status" = 'ok' AND "t"."status" IS NOT NULL)) AS "dur"
FROM :t "t" GROUP BY "t"."service" ORDER BY 1;

-- name: django_count_subquery | tool: Django | rows: 13 | expect: node
SELECT COUNT(*) FROM (SELECT "t"."service" AS "col1", COUNT("t"."id") AS "n" FROM spans "t" GROUP BY "t"."service") subquery;

-- name: django_values_distinct | tool: Django | rows: 25 | on: spans parted_spans | expect: node
SELECT DISTINCT DATE_TRUNC('month', "t"."ts" AT TIME ZONE 'UTC') AS "datetimefield" FROM :t "t" WHERE "t"."ts" IS NOT NULL ORDER BY 1 ASC;

-- name: django_exists_label | tool: Django | rows: N5 | expect: declined: a subquery is evaluated for each row
SELECT COUNT(*) FROM spans "t" WHERE (SELECT U0."id" FROM spans U0 WHERE U0."service" = "t"."service" ORDER BY U0."id" LIMIT 1) < 3;

-- name: django_stddev | tool: Django | rows: N7 | expect: node
SELECT "t"."service", STDDEV_POP("t"."dur") AS "dur__stddev", VAR_SAMP("t"."amount") AS "v" FROM spans "t" GROUP BY 1 ORDER BY 1;

-- name: groupdate_hour | tool: groupdate | rows: 4, S8 | on: spans parted_spans | expect: node
SELECT COUNT(*) AS "count_all", DATE_TRUNC('hour', "ts"::timestamptz AT TIME ZONE 'Etc/UTC') AT TIME ZONE 'Etc/UTC' AS "date_trunc" FROM :t
WHERE ("ts" IS NOT NULL) GROUP BY DATE_TRUNC('hour', "ts"::timestamptz AT TIME ZONE 'Etc/UTC') AT TIME ZONE 'Etc/UTC';

-- name: groupdate_hour_zone | tool: groupdate | rows: 4, N1 | on: spans local_spans | expect: node
SELECT SUM("dur") AS "sum_dur", DATE_TRUNC('hour', "ts"::timestamptz AT TIME ZONE 'America/New_York') AT TIME ZONE 'America/New_York' AS "date_trunc" FROM :t
WHERE ("ts" IS NOT NULL) GROUP BY DATE_TRUNC('hour', "ts"::timestamptz AT TIME ZONE 'America/New_York') AT TIME ZONE 'America/New_York';

-- name: groupdate_day | tool: groupdate | rows: 4, 5, N1 | on: spans parted_spans | expect: node
SELECT COUNT(*) AS "count_all", (DATE_TRUNC('day', ("ts"::timestamptz AT TIME ZONE 'America/St_Johns') - INTERVAL '4 hour'))::date AS "day" FROM :t
WHERE "ts" >= '2024-03-01 00:00:00' AND "ts" < '2024-04-10 00:00:00' GROUP BY 2;

-- name: groupdate_n_seconds | tool: groupdate | rows: 7, S10 | on: spans local_spans parted_spans | expect: node
SELECT COUNT(*) AS "count_all", TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM "ts"::timestamptz) / 300) * 300) AS "to_timestamp" FROM :t
WHERE ("ts" IS NOT NULL) GROUP BY TO_TIMESTAMP(FLOOR(EXTRACT(EPOCH FROM "ts"::timestamptz) / 300) * 300);

-- name: groupdate_week | tool: groupdate | rows: 4, N10 | expect: node
SELECT COUNT(*) AS "count_all", (DATE_TRUNC('day', ("ts"::timestamptz AT TIME ZONE 'Etc/UTC') - INTERVAL '1 day'
	* ((13 - 6 + EXTRACT(DOW FROM ("ts"::timestamptz AT TIME ZONE 'Etc/UTC'))::integer) % 7)))::date AS "week" FROM spans WHERE ("ts" IS NOT NULL) GROUP BY 2;

-- name: groupdate_hour_of_day | tool: groupdate | rows: N10, 4 | expect: node
SELECT COUNT(*) AS "count_all", EXTRACT(HOUR FROM "ts"::timestamptz AT TIME ZONE 'America/New_York' - INTERVAL '0 second')::integer AS "hour" FROM spans
WHERE ("ts" IS NOT NULL) GROUP BY 2;

-- name: rails_group | tool: Rails | rows: 21, S4 | expect: node
SELECT COUNT(*) AS "count_all", "spans"."service" AS "spans_service" FROM "spans" WHERE "spans"."status" IN ('error', 'timeout') AND "spans"."service" IS NOT NULL
GROUP BY "spans"."service";

-- name: rails_pluck | tool: Rails | rows: S3 | expect: node | execute: '2024-03-10', '2024-11-03'
SELECT MIN("spans"."dur"), MAX("spans"."dur"), AVG("spans"."dur"), SUM("spans"."x") FROM "spans" WHERE "spans"."ts" BETWEEN $1 AND $2;

-- name: dbplyr_floor_date | tool: dbplyr | rows: 3, 13, S6 | on: spans local_spans parted_spans | expect: node
SELECT "m", COUNT(*) AS "n", SUM("dur") AS "dur", AVG("x") AS "x"
FROM (SELECT :t.*, DATE_TRUNC('minute', "ts") AS "m" FROM :t WHERE ("ts" >= '2024-11-03T00:00:00Z' AND "ts" < '2024-11-03T12:00:00Z')) AS "q01"
GROUP BY "m" ORDER BY "m";

-- name: dbplyr_if_else | tool: dbplyr | rows: 13, 22, S9 | expect: node
SELECT "service", SUM(CASE WHEN ("status" = 'error') THEN 1.0 WHEN NOT ("status" = 'error') THEN 0.0 END) AS "errors", COUNT(*) AS "n"
FROM (SELECT "spans".* FROM "spans" WHERE (NOT(("service" IS NULL)))) AS "q01" GROUP BY "service" HAVING (COUNT(*) > 5.0) ORDER BY "errors" DESC, 1;

-- name: dbplyr_quantile | tool: dbplyr | rows: N7 | expect: node | large: plain
SELECT "service", PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY "dur") AS "p90", COUNT(*) AS "n" FROM "spans" GROUP BY "service" ORDER BY 1;

-- name: dbplyr_sd | tool: dbplyr | rows: N7 | expect: node
SELECT "service", STDDEV_SAMP("dur") AS "sd", AVG("dur") AS "m" FROM "spans" GROUP BY "service" ORDER BY 1;

-- name: sqlalchemy_unit_parameter | tool: SQLAlchemy | rows: 3, 18, S7, N3 | expect: node | execute: 'hour', '2024-11-02', '2024-11-05'
SELECT date_trunc($1, spans.ts) AS hour, count(*) AS n FROM spans WHERE spans.ts >= $2 AND spans.ts < $3 GROUP BY hour ORDER BY hour;

-- name: sqlalchemy_unit_parameter_day | tool: SQLAlchemy | rows: 3, 18, N3 | expect: node | execute: 'day'
SELECT date_trunc($1, local_spans.ts) AS hour, local_spans.service, avg(amount) AS n FROM local_spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: sqlalchemy_any | tool: SQLAlchemy | rows: 18, 21, S5 | expect: node | execute: '{api,cart,NULL}', '2024-03-10 06:00Z'
SELECT spans.status, count(*) AS n, min(spans.amount) AS lo FROM spans WHERE spans.service = ANY($1::text[]) AND spans.ts > $2::timestamptz GROUP BY spans.status ORDER BY 1;

-- name: sqlalchemy_two_parameters | tool: SQLAlchemy | rows: 1, 18, S7 | expect: node | execute: 600, '2024-03-10 00:00Z', '2024-03-11 00:00Z'
SELECT floor(extract(epoch from spans.ts) / $1::integer) * $1::integer AS t, sum(dur) FROM spans WHERE ts >= $2 AND ts < $3 GROUP BY t ORDER BY t;

-- name: jdbc_time_or_all | tool: JDBC | rows: 18, 21, N10 | expect: node | execute: NULL, '2024-03-12 00:00Z', NULL
SELECT service, count(*) FROM spans WHERE ($1::timestamptz IS NULL OR ts >= $1::timestamptz) AND ts < $2::timestamptz AND ($3::text IS NULL OR status = $3::text)
GROUP BY service ORDER BY 1;

-- name: promscale_rate | tool: Promscale | rows: 9, 22, 23, S9 | on: spans parted_spans | expect: node
SELECT time_bucket('15m', ts) AS time, coalesce(count(*)::numeric / (EXTRACT(epoch FROM '15m'::interval)), 0) AS rate FROM :t
WHERE ts BETWEEN '2024-03-10T00:00:00Z' AND '2024-03-11T00:00:00Z' AND (status = 'ok' OR service is NULL) GROUP BY 1 ORDER BY 1;

-- name: promscale_error_rate | tool: Promscale | rows: 17, 22, S7, S9 | expect: node
SELECT service, count(*) filter (where status = 'error')::numeric / count(*) AS error_rate, count(*)/600 AS rate FROM recent_spans
WHERE ts > NOW() - INTERVAL '30m' * 10 GROUP BY 1 ORDER BY 2 DESC, 1;

-- name: promscale_service_graph | tool: Promscale | rows: N5 | expect: plain
SELECT p.service AS source, k.service AS target, count(*) FROM spans p JOIN spans k ON k.id = p.id + 1 GROUP BY 1, 2 ORDER BY 1, 2;

-- name: datasette_facet | tool: Datasette | rows: 13, 24, S4, S6 | expect: node
select service as value, count(*) as count from ( select * from spans where status = 'ok' ) as q where service is not null group by service order by count desc, value limit 31;

-- name: datasette_suggestion | tool: Datasette | rows: 13 | expect: plain
with limited as (select * from (select * from spans order by id) as q limit 1000) select service as value, count(*) as n from limited where service is not null group by value order by value limit 31;

-- name: datasette_count | tool: Datasette | rows: S3, 13 | on: spans local_spans parted_spans | expect: node
select count(*) from ( select * from :t where service = 'api' ) as q;

-- name: perfetto_pixels | tool: Perfetto UI | rows: 10, S10 | expect: node
select (ts_ns + 67108864/2) / 67108864 * 67108864 as tsq, min(dur), max(dur), count(x) from ns_spans
where ts_ns >= 1710050400000000000 - 3600000000000 and ts_ns <= 1710072000000000000 group by tsq order by tsq;
