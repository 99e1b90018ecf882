-- Tables within subqueries that the planner keeps apart from the level above: with OFFSET, LIMIT or ORDER BY, and CTEs.

-- name: subquery_prisma_count | tool: Prisma | rows: 13 | expect: node | execute: '2024-03-10'
SELECT COUNT(*) FROM (SELECT "public"."spans"."id" FROM "public"."spans" WHERE "public"."spans"."ts" >= $1 OFFSET 0) AS "sub";

-- name: subquery_prisma_count_of_column | tool: Prisma | rows: 13, 16 | expect: node | execute: 'api'
SELECT COUNT(*), COUNT("status") FROM (SELECT "public"."spans"."id", "public"."spans"."status" FROM "public"."spans" WHERE ("public"."spans"."service" = $1 AND "public"."spans"."dur" > 100) OFFSET 0) AS "sub";

-- name: subquery_prisma_aggregate | tool: Prisma | rows: 13 | on: spans parted_spans | expect: node | execute: '2024-03-10'
SELECT COUNT(*), SUM("dur"), AVG("dur"), MIN("amount"), MAX("ts") FROM (SELECT "id", "dur", "amount", "ts" FROM :t WHERE "ts" >= $1 OFFSET 0) AS "sub";

-- name: subquery_skips_rows | tool: Prisma | rows: 13 | expect: declined: rows are chosen by LIMIT or OFFSET below the aggregates | execute: '2024-03-10', 3
SELECT COUNT(*) FROM (SELECT "id" FROM spans WHERE "ts" >= $1 ORDER BY "id" OFFSET $2) AS "sub";

-- name: subquery_ordered | tool: hand-written | rows: 13, 24 | on: spans local_spans parted_spans | expect: node
SELECT date_trunc('day', t) AS day, label, count(*), sum(ms) FROM (SELECT ts AS t, upper(service) AS label, dur * 2 AS ms FROM :t WHERE ts >= '2024-03-09' ORDER BY ts DESC, id) AS q WHERE label <> 'API' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: subquery_ordered_twice | tool: hand-written | rows: 13, 14 | expect: node
SELECT service, n FROM (SELECT service, count(*) AS n FROM (SELECT * FROM (SELECT * FROM spans ORDER BY ts LIMIT ALL) AS a WHERE dur > 0 OFFSET 0) AS b WHERE status = 'ok' GROUP BY 1 ORDER BY 1) AS c WHERE n > 10 ORDER BY 1;

-- name: subquery_labels | tool: hand-written | rows: 13, 25 | expect: node
SELECT DISTINCT service FROM (SELECT service, status FROM spans ORDER BY ts) AS q WHERE status = 'error' ORDER BY 1;

-- name: subquery_cte_twice | tool: hand-written | rows: 13 | expect: 2 nodes
WITH chosen AS (SELECT service, dur, ts FROM spans WHERE ts >= '2024-03-09')
SELECT a.service, a.total, round(100.0 * a.n / b.n, 2) AS percent FROM (SELECT service, sum(dur) AS total, count(*) AS n FROM chosen GROUP BY 1) AS a, (SELECT count(*) AS n FROM chosen) AS b ORDER BY 1;

-- name: subquery_cte_materialized | tool: hand-written | rows: 13 | expect: node
WITH base AS MATERIALIZED (SELECT date_trunc('hour', ts) AS hour, service, dur FROM spans WHERE service IN ('api', 'cart') ORDER BY ts) SELECT hour, count(*), avg(dur) FROM base WHERE hour < '2024-03-10' GROUP BY 1 ORDER BY 1;

-- name: subquery_subselect_inside | tool: hand-written | rows: 13, 18 | expect: node, declined: a subselect is evaluated below the aggregates, within a subquery
SELECT count(*), sum(dur) FROM (SELECT dur FROM spans WHERE ts >= (SELECT min(ts) + interval '60 days' FROM spans) OFFSET 0) AS q;

-- name: subquery_volatile | tool: hand-written | rows: 13 | expect: declined: a subquery has a volatile function
SELECT count(*) FROM (SELECT dur FROM spans ORDER BY random()) AS q;
