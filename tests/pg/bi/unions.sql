-- Several tables under one aggregate, by UNION ALL

-- name: union_of_tables | tool: hand-written | rows: N5 | expect: node
SELECT service, count(*), sum(dur), max(ts) FROM (SELECT service, status, ts, dur FROM spans UNION ALL SELECT service, status, ts, dur FROM odd_spans) AS both_tables GROUP BY 1 ORDER BY 1;

-- name: union_by_month | tool: Metabase | rows: 3, N5 | expect: node
SELECT DATE_TRUNC('month', "source"."ts") AS "ts", COUNT(*) AS "count", SUM("source"."amount") AS "sum" FROM (SELECT * FROM spans UNION ALL SELECT * FROM spans) AS "source"
WHERE "source"."ts" >= '2024-03-01' AND "source"."ts" < '2025-01-01' AND "source"."status" = 'ok' GROUP BY 1 ORDER BY 1;

-- name: union_of_other_names | tool: hand-written | rows: 13, 22, N5 | expect: node
SELECT name, count(*) FILTER (WHERE at < '2024-06-01') AS early, min(took) FROM (SELECT dur AS took, service AS name, ts AS at FROM spans UNION ALL SELECT dur, service, ts FROM odd_spans) AS u
WHERE took > 1000 GROUP BY 1 ORDER BY 1;

-- name: union_total | tool: hand-written | rows: S3, N5 | expect: node
SELECT count(*), avg(x), max(amount) FROM (SELECT ts, amount, x FROM odd_spans UNION ALL SELECT ts, amount, x FROM spans UNION ALL SELECT ts, amount, x FROM spans) AS u;

-- name: union_rollup | tool: hand-written | rows: 24, N5 | expect: node
SELECT service, status, count(*) FROM (SELECT service, status FROM spans UNION ALL SELECT service, status FROM odd_spans) AS u GROUP BY ROLLUP (1, 2) ORDER BY GROUPING(service, status), 1, 2;

-- name: union_with_conditions | tool: hand-written | rows: N5 | expect: declined: an arm of UNION ALL is no table, or has conditions of its own
SELECT service, count(*) FROM (SELECT service, ts FROM spans WHERE status = 'ok' UNION ALL SELECT service, ts FROM odd_spans) AS u GROUP BY 1 ORDER BY 1;

-- name: union_with_source | tool: hand-written | rows: N5 | expect: declined: column "source" is not in the index
SELECT source, count(*) FROM (SELECT 'spans' AS source, ts FROM spans UNION ALL SELECT 'odd', ts FROM odd_spans) AS u GROUP BY 1 ORDER BY 1;
