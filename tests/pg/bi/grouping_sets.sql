-- Totals and subtotals: GROUPING SETS, ROLLUP, CUBE, as pivots and matrices have them

-- name: sets_rollup | tool: hand-written | rows: 24 | on: spans local_spans parted_spans | expect: node
SELECT service, status, count(*) FROM :t GROUP BY ROLLUP (service, status) ORDER BY GROUPING(service, status), 1, 2;

-- name: sets_cube_of_months | tool: hand-written | rows: 3, 24 | on: spans parted_spans | expect: node
SELECT service, date_trunc('month', ts), count(*) FROM :t GROUP BY CUBE (1, 2) ORDER BY GROUPING(service, date_trunc('month', ts)), 1, 2;

-- name: sets_pivot | tool: Tableau | rows: 3, 24 | expect: node
SELECT GROUPING("t"."service") AS "gs", "t"."service" AS "service", DATE_TRUNC('MONTH', "t"."ts") AS "tmn:ts:ok", SUM("t"."dur") AS "sum:dur:ok", AVG("t"."amount") AS "avg:amount:ok"
FROM spans "t" WHERE "t"."ts" >= '2024-03-01' GROUP BY GROUPING SETS ((2, 3), (3)) ORDER BY 1, 2, 3;

-- name: sets_matrix | tool: Power BI | rows: 22, 24 | expect: node
select "service", "status", sum("dur") as "a0", count(*) filter (where "ts" >= '2024-06-01') as "a1", grouping("service") as "b0", grouping("status") as "b1"
from (select "service", "status", "dur", "ts" from spans) "rows" group by grouping sets (("service", "status"), ("service"), ("status"), ()) order by 5, 6, 1, 2;

-- name: sets_years_and_quarters | tool: hand-written | rows: 3, 24 | on: spans local_spans parted_spans | expect: node
SELECT coalesce(to_char(date_trunc('quarter', ts), 'YYYY"Q"Q'), 'all') AS quarter, date_trunc('month', ts) AS month, count(*), max(amount), min(ts), avg(x) FROM :t
GROUP BY ROLLUP (date_trunc('quarter', ts), date_trunc('month', ts)) ORDER BY GROUPING(date_trunc('quarter', ts), date_trunc('month', ts)), 1, 2;

-- name: sets_totals_of_totals | tool: hand-written | rows: 24 | expect: node
SELECT service, count(*), sum(amount) FROM spans GROUP BY GROUPING SETS ((service), (), ()) ORDER BY 1, 2;

-- name: sets_without_rows | tool: hand-written | rows: 24 | expect: node
SELECT service, status, count(*), sum(dur) FROM spans WHERE ts < '1999-01-01' GROUP BY CUBE (service, status) ORDER BY 1, 2;

-- name: sets_beside_a_key | tool: hand-written | rows: 3, 24 | on: spans parted_spans | expect: node
SELECT date_trunc('month', ts) AS month, service, status, count(*), bool_or(dur > 900000) AS any_slow FROM :t GROUP BY 1, CUBE (2, 3) HAVING GROUPING(service) = 0 OR count(*) > 20 ORDER BY 1, GROUPING(service, status), 2, 3;

-- name: sets_distinct | tool: hand-written | rows: 24 | expect: node
SELECT service, status, count(*) FROM spans GROUP BY DISTINCT ROLLUP (service), ROLLUP (service, status) ORDER BY GROUPING(service, status), 1, 2;

-- name: sets_of_bands | tool: hand-written | rows: 22, 24 | on: spans parted_spans | expect: node
SELECT service, dur > 900000 AS slow, count(*) FROM :t GROUP BY CUBE (1, 2) ORDER BY GROUPING(service, dur > 900000), 1, 2;

-- name: sets_of_drawn_bands | tool: hand-written | rows: 22, 24 | expect: node
SELECT status, CASE WHEN amount > 5000 THEN 'dear' ELSE 'cheap' END AS price, sum(dur), count(*) FILTER (WHERE service = 'api') FROM spans GROUP BY ROLLUP (1, 2)
ORDER BY GROUPING(status, CASE WHEN amount > 5000 THEN 'dear' ELSE 'cheap' END), 1, 2;

-- name: sets_distinct_labels | tool: hand-written | rows: 22, 24 | expect: node
SELECT service, upper(status) AS status, count(DISTINCT status), count(DISTINCT service), percentile_disc(0.5) WITHIN GROUP (ORDER BY dur) FROM spans WHERE ts >= '2024-10-01' AND ts < '2024-10-08'
GROUP BY CUBE (1, 2) ORDER BY GROUPING(service, upper(status)), 1, 2;

-- name: sets_share_of_total | tool: hand-written | rows: 23, 24 | expect: node
SELECT service, n, round(100.0 * n / max(n) FILTER (WHERE total = 1) OVER (), 2) AS share FROM (SELECT service, count(*) AS n, GROUPING(service) AS total FROM spans GROUP BY ROLLUP (service)) AS s
ORDER BY total, 1;

-- name: sets_over_computed | tool: Metabase | rows: 13, 24 | on: spans parted_spans | expect: node
SELECT "source"."state" AS "state", "source"."month" AS "month", COUNT(*) AS "count", SUM("source"."cents") AS "cents", GROUPING("source"."state", "source"."month") AS "level"
FROM (SELECT UPPER(status) AS "state", DATE_TRUNC('month', ts) AS "month", amount * 100 AS cents, service FROM :t) AS "source" WHERE "source"."service" <> 'cart' AND "source"."state" LIKE '%O%'
GROUP BY CUBE ("source"."state", "source"."month") ORDER BY 5, 1, 2;
