-- Tableau

-- name: tableau_card | tool: Tableau | rows: 15, 16, S3 | on: spans local_spans parted_spans | expect: node
SELECT SUM("t"."dur") AS "sum:dur:ok" FROM :t "t" HAVING (COUNT(1) > 0);

-- name: tableau_card_empty | tool: Tableau | rows: 15, 16, S3 | expect: node | large: plain
SELECT COALESCE(SUM(n), 0) AS n_rows FROM (
	SELECT COUNT(1) AS n FROM spans "t" WHERE ("t"."ts" >= (DATE '2023-01-01')) AND ("t"."ts" < (DATE '2023-02-01')) HAVING (COUNT(1) > 0)) AS cards;

-- name: tableau_month | tool: Tableau | rows: 3, 5, S2 | on: spans local_spans parted_spans | expect: node
SELECT COUNT("t"."dur") AS "cnt:dur:ok", DATE_TRUNC( 'MONTH', CAST("t"."ts" AS TIMESTAMP) ) AS "tmn:ts:ok" FROM :t "t" GROUP BY 2;

-- name: tableau_minute | tool: Tableau | rows: 3, 19, S2, N3 | on: spans local_spans | expect: node
SELECT DATE_TRUNC( 'MINUTE', CAST("t"."ts" AS TIMESTAMP) ) AS "tmi:ts:ok", AVG("t"."dur") AS "avg:dur:ok", SUM(1) AS "sum:n:ok" FROM :t "t"
WHERE (("t"."ts" >= (TIMESTAMP '2024-11-03 00:00:00.000')) AND ("t"."ts" <= (TIMESTAMP '2024-11-03 06:00:00.000'))) GROUP BY 1;

-- name: tableau_hour_label | tool: Tableau | rows: 3, 19, 21, N3 | on: spans parted_spans | expect: node
SELECT "t"."service" AS "service", DATE_TRUNC( 'HOUR', CAST("t"."ts" AS TIMESTAMP) ) AS "thr:ts:ok", SUM("t"."amount") AS "sum:amount:ok" FROM :t "t"
WHERE (("t"."ts" >= (DATE '2024-03-09')) AND ("t"."ts" < (DATE '2024-03-12')) AND ("t"."service" IN ('api', 'auth'))) GROUP BY 1, 2;

-- name: tableau_week | tool: Tableau | rows: 5, 6 | on: spans local_spans | expect: node
SELECT CAST((DATE_TRUNC( 'day', CAST("t"."ts" AS DATE) ) + (-EXTRACT(DOW FROM "t"."ts") * INTERVAL '1 DAY')) AS DATE) AS "twk:ts:ok", SUM("t"."dur") AS "sum:dur:ok"
FROM :t "t" GROUP BY 1;

-- name: tableau_discrete_parts | tool: Tableau | rows: N10, 5 | on: spans local_spans parted_spans | expect: node
SELECT CAST(TRUNC(EXTRACT(YEAR FROM "t"."ts")) AS INTEGER) AS "yr:ts:ok", CAST(TRUNC(EXTRACT(QUARTER FROM "t"."ts")) AS INTEGER) AS "qr:ts:ok",
	CAST(TRUNC(EXTRACT(MONTH FROM "t"."ts")) AS INTEGER) AS "mn:ts:ok", COUNT(1) AS "cnt:ok"
FROM :t "t" GROUP BY 1, 2, 3;

-- name: tableau_hour_by_weekday | tool: Tableau | rows: N10 | on: spans local_spans | expect: node
SELECT CAST(TRUNC(EXTRACT(HOUR FROM "t"."ts")) AS INTEGER) AS "hr:ts:ok", (1 + CAST(EXTRACT(DOW FROM "t"."ts") AS INT)) AS "wd:ts:ok", SUM("t"."dur") AS "sum:dur:ok"
FROM :t "t" GROUP BY 1, 2;

-- name: tableau_minute_parts | tool: Tableau | rows: N10 | expect: node
SELECT CAST(TRUNC(EXTRACT(MINUTE FROM "t"."ts")) AS INTEGER) AS "mi:ts:ok", CAST(TRUNC(EXTRACT(SECOND FROM "t"."ts")) AS INTEGER) AS "sc:ts:ok", COUNT(1) AS "cnt:ok"
FROM spans "t" WHERE "t"."ts" >= TIMESTAMP '2024-11-03 00:00:00' AND "t"."ts" < TIMESTAMP '2024-11-03 12:00:00' GROUP BY 1, 2;

-- name: tableau_fiscal_year | tool: Tableau | rows: N10 | on: spans local_spans | expect: node
SELECT EXTRACT(YEAR FROM ("t"."ts" + 11 * INTERVAL '1 MONTH')) AS "yr:ts:ok", SUM("t"."dur") AS "sum:dur:ok" FROM :t "t" GROUP BY 1;

-- name: tableau_text_filter | tool: Tableau | rows: 21, S5 | expect: node
SELECT SUM("t"."dur") AS "sum:dur:ok", "t"."status" AS "status" FROM spans "t" WHERE (CAST("t"."service" AS TEXT) = 'female') GROUP BY 2;

-- name: tableau_contains | tool: Tableau | rows: 21, S5 | expect: node
SELECT "t"."service" AS "service", COUNT(1) AS "n" FROM spans "t"
WHERE (STRPOS(CAST(LOWER(CAST(CAST("t"."service" AS TEXT) AS TEXT)) AS TEXT),CAST('mal' AS TEXT)) > 0) GROUP BY 1 ORDER BY 1;

-- name: tableau_group | tool: Tableau | rows: 21, 22, S4 | on: spans parted_spans | expect: node
SELECT (CASE WHEN ("t"."service" IN ('api', 'auth')) THEN 'front' WHEN ("t"."service" = 'cart') THEN 'back' ELSE "t"."service" END) AS "service (group)",
	SUM("t"."amount") AS "sum:amount:ok" FROM :t "t" GROUP BY 1;

-- name: tableau_custom_sql | tool: Tableau | rows: 13, S6 | expect: node
SELECT "Custom SQL Query"."service" AS "service", DATE_TRUNC( 'DAY', CAST("Custom SQL Query"."ts" AS TIMESTAMP) ) AS "tdy:ts:ok", COUNT(1) AS "cnt:ok"
FROM ( select * from spans where status = 'ok' ) "Custom SQL Query" GROUP BY 1, 2;

-- name: tableau_cursor | tool: Tableau over ODBC | rows: 3 | expect: node | then: FETCH 100000 FROM "SQL_CUR1"
DECLARE "SQL_CUR1" CURSOR FOR SELECT "t"."service" AS "service", MAX("t"."x") AS "max:x:ok" FROM spans "t" GROUP BY 1 ORDER BY 1;

-- name: tableau_range_of_dates | tool: Tableau | rows: 25 | on: spans local_spans parted_spans | expect: node
SELECT MIN("t"."ts") AS "lower", MAX("t"."ts") AS "upper", COUNT(1) AS "n" FROM :t "t" HAVING (COUNT(1) > 0);

-- name: tableau_filter_domain | tool: Tableau | rows: 25 | expect: node
SELECT "t"."service" AS "service" FROM spans "t" GROUP BY 1 HAVING (COUNT(1) > 400) ORDER BY 1;

-- name: tableau_level_of_detail | tool: Tableau | rows: N5 | expect: 2 nodes
SELECT "t0"."service" AS "service", SUM("t"."dur") AS "sum:dur:ok", MAX("t0"."first") AS "first" FROM spans "t"
INNER JOIN (SELECT "s"."service" AS "service", MIN("s"."ts") AS "first" FROM spans "s" GROUP BY 1) "t0" ON ("t"."service" = "t0"."service") GROUP BY 1;

-- name: tableau_top_n | tool: Tableau | rows: N5, 24 | expect: 2 nodes
SELECT "t"."service" AS "service", SUM("t"."dur") AS "sum:dur:ok" FROM spans "t"
INNER JOIN (SELECT "t"."service" AS "service", SUM("t"."dur") AS "$__alias__0" FROM spans "t" GROUP BY 1 ORDER BY 2 DESC LIMIT 2) "t0" ON ("t"."service" = "t0"."service")
GROUP BY 1;
