-- Joins with dimensions: tables or lists that say more of a by column

-- name: join_values | tool: hand-written | rows: N5 | on: spans local_spans parted_spans | expect: node
SELECT l.team, count(*), sum(s.dur) FROM :t s JOIN (VALUES ('api', 'front'), ('auth', 'front'), ('cart', 'back')) AS l(service, team) ON l.service = s.service GROUP BY 1 ORDER BY 1;

-- name: join_table | tool: Metabase | rows: 3, N5 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('month', "spans"."ts") AS "ts", "Owners"."team" AS "Owners__team", SUM("spans"."amount") AS "sum" FROM :t AS "spans"
LEFT JOIN "owners" AS "Owners" ON "spans"."service" = "Owners"."service" WHERE "spans"."ts" >= '2024-03-01' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: join_where_of_dimension | tool: Superset | rows: 5, N5 | expect: node
SELECT o.region AS region, COUNT(*) AS count, MAX(s.ts) AS latest FROM spans AS s JOIN owners AS o ON s.service = o.service WHERE o.team = 'front' AND s.status = 'ok' GROUP BY o.region ORDER BY count DESC, 1;

-- name: join_key_and_what_depends | tool: Django | rows: N5 | expect: node
SELECT "owners"."service", "owners"."team", COUNT("spans"."id") AS "n", AVG("spans"."dur") AS "mean" FROM "spans" INNER JOIN "owners" ON ("spans"."service" = "owners"."service")
GROUP BY "owners"."service", "owners"."team" ORDER BY 1;

-- name: join_star | tool: Looker | rows: N5 | on: spans local_spans parted_spans | expect: node
SELECT owners.team AS "owners.team", states.label AS "states.label", COUNT(*) AS "spans.count", COALESCE(SUM(spans.amount), 0) AS "spans.amount" FROM :t AS spans
LEFT JOIN owners ON spans.service = owners.service LEFT JOIN states ON spans.status = states.status GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 500;

-- name: join_snowflake | tool: Power BI | rows: N5 | expect: node
select r.continent, count(*) as "n", min(s.dur) as "least" from spans s inner join owners o on o.service = s.service inner join regions r on r.region = o.region group by r.continent order by 1;

-- name: join_many_to_many | tool: hand-written | rows: N5 | expect: node
SELECT g.tag, count(*), sum(s.amount), count(DISTINCT s.service) FROM spans s JOIN tags g ON g.service = s.service GROUP BY 1 ORDER BY 1;

-- name: join_conditions_on_both | tool: hand-written | rows: 22, N5 | on: spans parted_spans | expect: node
SELECT o.team, count(*) FILTER (WHERE o.region = 'eu' AND s.ts >= '2024-06-01') AS late, count(*) FILTER (WHERE s.dur > 900000 AND o.region <> s.status) AS slow FROM :t s
JOIN owners o ON o.service = s.service AND (o.region = 'eu' OR s.status = 'ok') GROUP BY 1 ORDER BY 1;

-- name: join_without_groups | tool: hand-written | rows: S3, N5 | expect: node
SELECT count(*), count(o.team), max(o.team), sum(o.weight), max(s.dur) FROM spans s LEFT JOIN owners o ON o.service = s.service AND s.status <> 'ok';

-- name: join_rollup | tool: hand-written | rows: 24, N5 | expect: node
SELECT o.team, s.status, count(*), GROUPING(o.team, s.status) FROM spans s JOIN owners o USING (service) GROUP BY ROLLUP (o.team, s.status) ORDER BY 4, 1, 2;

-- name: join_distinct | tool: hand-written | rows: 25, N5 | expect: node
SELECT DISTINCT o.team, s.status FROM spans s JOIN owners o ON o.service = s.service ORDER BY 1, 2;

-- name: join_having | tool: hand-written | rows: 14, N5 | expect: node
SELECT o.team FROM spans s LEFT JOIN owners o ON o.service = s.service WHERE coalesce(o.region, 'none') <> 'eu' GROUP BY o.team HAVING count(*) > 10 ORDER BY sum(s.dur) DESC;

-- name: join_in_subquery | tool: Metabase | rows: 21, N5 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('month', "ts") AS "ts", COUNT(*) AS "count" FROM :t AS "spans" WHERE "service" IN (SELECT "service" FROM "owners" WHERE "team" = 'front') GROUP BY 1 ORDER BY 1;

-- name: join_exists | tool: Hibernate | rows: N5 | expect: node
select count(s1_0.id), sum(s1_0.dur) from spans s1_0 where exists (select 1 from tags t1_0 where t1_0.service = s1_0.service and t1_0.tag = 'shop');

-- name: join_not_exists | tool: hand-written | rows: N5 | expect: node
SELECT s.status, count(*) FROM spans s WHERE NOT EXISTS (SELECT FROM owners o WHERE o.service = s.service) GROUP BY 1 ORDER BY 1;

-- name: join_prepared | tool: JDBC | rows: 18, N5 | expect: node | execute: '2024-03-01', 'front'
SELECT o.region, count(*), sum(s.dur) FROM spans s JOIN owners o ON s.service = o.service WHERE s.ts >= $1 AND o.team = $2 GROUP BY 1 ORDER BY 1;

-- name: join_top_labels | tool: hand-written | rows: N5 | expect: 2 nodes
WITH top AS MATERIALIZED (SELECT service FROM spans GROUP BY 1 ORDER BY sum(dur) DESC LIMIT 2)
SELECT date_trunc('month', s.ts) AS month, s.service, count(*) FROM spans s JOIN top ON top.service = s.service GROUP BY 1, 2 ORDER BY 1, 2;

-- name: join_lower | tool: hand-written | rows: 21, N5 | expect: node
SELECT o.team, count(*) FROM spans s JOIN owners o ON o.service = lower(s.service) GROUP BY 1 ORDER BY 1;

-- name: join_percentiles | tool: hand-written | rows: 22, N5 | expect: node
SELECT o.team, percentile_disc(0.9) WITHIN GROUP (ORDER BY s.dur) FROM spans s JOIN owners o USING (service) WHERE s.ts >= '2024-10-01' AND s.ts < '2024-10-08' GROUP BY 1 ORDER BY 1;

-- name: join_of_periods | tool: hand-written | rows: 18, N5 | expect: node
SELECT p.team, count(*), sum(s.dur) FROM spans s JOIN (VALUES ('api', 'old', '2024-01-01'::timestamptz, '2024-03-10'::timestamptz), ('api', 'new', '2024-03-10', '2025-01-01')) AS p(service, team, since, until)
ON p.service = s.service AND s.ts >= p.since AND s.ts < p.until GROUP BY 1 ORDER BY 1;

-- name: join_on_id | tool: hand-written | rows: N5 | expect: declined: column "id" is not in the index
SELECT count(*) FROM spans s WHERE EXISTS (SELECT 1 FROM local_spans l WHERE l.id = s.id AND l.note = 'note 1');

-- name: join_on_value | tool: hand-written | rows: N5 | expect: declined: a joined table is not joined on by columns
SELECT o.team, count(*) FROM spans s LEFT JOIN owners o ON o.weight = s.dur AND o.team = 'front' GROUP BY 1 ORDER BY 1;

-- name: join_cross | tool: hand-written | rows: N5 | on: spans parted_spans | expect: node
SELECT o.team, count(*) FROM :t s CROSS JOIN owners o WHERE s.status = 'timeout' GROUP BY 1 ORDER BY 1;

-- name: join_on_order | tool: hand-written | rows: N5 | expect: node
SELECT o.team, s.status, count(*), sum(s.dur), count(DISTINCT o.service) FROM spans s JOIN owners o ON o.service < s.service AND (o.region = 'eu' OR s.status <> 'ok') GROUP BY 1, 2 ORDER BY 1, 2;

-- name: join_left_without_condition | tool: hand-written | rows: N5 | expect: node | execute: 'front'
SELECT s.service, o.team, o.region, count(*), max(s.ts) FROM spans s LEFT JOIN owners o ON o.team = $1 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: join_exists_by_order | tool: hand-written | rows: N5 | expect: node
SELECT s.service, count(*) FROM spans s WHERE EXISTS (SELECT 1 FROM tags t WHERE t.service > s.service) AND NOT EXISTS (SELECT 1 FROM owners o WHERE o.service < s.service AND o.team = 'back') GROUP BY 1 ORDER BY 1;

-- name: join_nested | tool: Malloy | rows: 24, N5 | on: spans parted_spans | expect: node
WITH __stage0 AS ( SELECT group_set, base."service" as "service__0", CASE WHEN group_set=0 THEN COUNT(1) END as "n__0", CASE WHEN group_set IN (1,2) THEN base."status" END as "status__1",
CASE WHEN group_set=1 THEN COALESCE(SUM(base."dur"),0) END as "total__1", CASE WHEN group_set=2 THEN DATE_TRUNC('month', base."ts") END as "at__2", CASE WHEN group_set=2 THEN COUNT(1) END as "n__2"
FROM :t as base CROSS JOIN GENERATE_SERIES(0,2,1) as group_set GROUP BY 1,2,4,6 )
, __stage4 AS ( SELECT "service__0" as "service", (ARRAY_AGG("n__0") FILTER (WHERE group_set=0 AND "n__0" IS NOT NULL))[1] as "n",
COALESCE(TO_JSONB((ARRAY_AGG((SELECT TO_JSONB(__x) FROM (SELECT "status__1" as "status", "total__1" as "total") as __x) ORDER BY "status__1" ASC NULLS LAST) FILTER (WHERE group_set=1))),'[]'::JSONB) as "by_status",
COALESCE(TO_JSONB((ARRAY_AGG((SELECT TO_JSONB(__x) FROM (SELECT "at__2" as "at", "n__2"::DOUBLE PRECISION as "n") as __x) ORDER BY "at__2", "status__1") FILTER (WHERE group_set=2))),'[]'::JSONB) as "by_month"
FROM __stage0 GROUP BY 1 ORDER BY 1 ASC NULLS LAST LIMIT 5000 )
SELECT row_to_json(finalStage) as row FROM __stage4 AS finalStage;

-- name: join_nested_and_filtered | tool: Malloy | rows: 22, N5 | on: spans parted_spans | expect: node
SELECT group_set, base."service" as "service__0", CASE WHEN group_set=1 THEN COUNT(1) END as "n__1" FROM :t as base CROSS JOIN GENERATE_SERIES(0,1,1) as group_set
WHERE (group_set NOT IN (1) OR (group_set IN (1) AND (base."dur">=900000))) GROUP BY 1,2 ORDER BY 1,2;

-- name: join_on_bands | tool: hand-written | rows: N5 | expect: node
SELECT b.name, count(*), sum(s.dur) FROM spans s JOIN (VALUES ('fast', 0, 250000), ('slow', 250000, 900000), ('slower', 900000, NULL)) AS b(name, least, most) ON s.dur >= b.least AND (s.dur < b.most OR b.most IS NULL) GROUP BY 1 ORDER BY 1;

-- name: join_from_dimension | tool: hand-written | rows: N5 | on: spans local_spans parted_spans | expect: node
SELECT o.service, count(s.id), sum(s.dur) FROM owners o LEFT JOIN :t s ON s.service = o.service GROUP BY 1 ORDER BY 1;

-- name: join_product | tool: hand-written | rows: N5 | expect: declined: the argument of an aggregate mixes columns
SELECT o.team, sum(s.dur * o.weight) FROM spans s JOIN owners o USING (service) GROUP BY 1 ORDER BY 1;

-- name: join_that_may_fail | tool: hand-written | rows: N5 | expect: declined: a join condition might raise an error for other rows
SELECT o.team, count(*) FROM spans s LEFT JOIN owners o ON o.service = s.service AND length(s.service) / o.weight > 0 GROUP BY 1 ORDER BY 1;

-- name: join_lateral | tool: hand-written | rows: 18, N5 | on: spans parted_spans | expect: node
SELECT w.n, q.* FROM (VALUES (1, '2024-03-01'::timestamptz, 'front'), (2, '2024-06-01', 'back'), (3, '2024-03-01', 'nobody'), (4, '2024-10-01', 'front')) AS w(n, since, team)
CROSS JOIN LATERAL (SELECT count(*), max(o.region), sum(s.dur) FROM :t s JOIN owners o USING (service) WHERE s.ts >= w.since AND o.team = w.team) AS q ORDER BY w.n;

-- name: join_with_parameter_of_series | tool: hand-written | rows: 18, N5 | expect: node | execute: 'front', 'ok'
SELECT s.service, o.team, count(*) FROM spans s LEFT JOIN owners o ON o.service = s.service AND o.team = $1 AND s.status = $2 GROUP BY 1, 2 ORDER BY 1, 2;

-- name: join_left_is_null | tool: hand-written | rows: N5 | on: spans parted_spans | expect: node
SELECT s.service, count(*), max(s.dur) FROM :t s LEFT JOIN owners o ON o.service = s.service AND o.region = 'eu' WHERE o.service IS NULL GROUP BY 1 ORDER BY 1;

-- name: join_exists_with_own | tool: hand-written | rows: 21, N5 | expect: node
SELECT s.service, count(*) FROM spans s WHERE EXISTS (SELECT 1 FROM tags t WHERE t.service = s.service AND s.status = 'ok' AND s.ts >= '2024-03-10') GROUP BY 1 ORDER BY 1;

-- name: join_not_exists_with_own | tool: hand-written | rows: 21, N5 | expect: node
SELECT s.service, s.status, count(*) FROM spans s WHERE NOT EXISTS (SELECT 1 FROM tags t WHERE t.service = s.service AND s.status = 'ok') GROUP BY 1, 2 ORDER BY 1, 2;

-- name: join_in_pairs | tool: hand-written | rows: 21, N5 | expect: node
SELECT count(*), sum(s.amount) FROM spans s WHERE (s.service, s.status) IN (SELECT t.service, x.status FROM tags t, states x WHERE x.label = 'bad' OFFSET 0);

-- name: join_of_partners_and_months | tool: hand-written | rows: 3, 25, N5 | expect: node
SELECT date_trunc('month', s.ts) AS month, g.tag, count(*), count(DISTINCT g.tag), sum(DISTINCT o.weight), bool_and(o.region = 'eu') FROM spans s JOIN tags g ON g.service = s.service
LEFT JOIN owners o ON o.service = g.service GROUP BY GROUPING SETS ((1, 2), (2)) HAVING count(*) > 5 ORDER BY 2, 1, 3;

-- name: outer_teams | tool: Metabase | rows: N5 | on: spans parted_spans | expect: node
SELECT "o"."team" AS "team", COUNT("s"."id") AS "count", SUM("s"."amount") AS "sum", AVG("s"."dur") AS "avg" FROM "public"."owners" AS "o" LEFT JOIN :t AS "s" ON "s"."service" = "o"."service" AND "s"."ts" >= '2024-03-01' GROUP BY "o"."team" ORDER BY 1;

-- name: outer_count_of_rows | tool: hand-written | rows: N5 | expect: node
SELECT o.team, count(*), count(s), max(s.ts), count(*) FILTER (WHERE s.status = 'error') AS errors FROM owners o LEFT JOIN spans s ON s.service = o.service AND s.dur > 900000 GROUP BY 1 HAVING count(*) > 0 ORDER BY 1;

-- name: outer_axis_of_services | tool: Grafana | rows: N5, 18 | on: spans parted_spans | expect: node
SELECT t AS "time", o.service AS metric, count(s.*) AS value FROM generate_series('2024-03-09'::timestamptz, '2024-03-11', '6 hours') AS t CROSS JOIN owners AS o
LEFT JOIN :t AS s ON s.service = o.service AND s.ts >= t AND s.ts < t + interval '6 hours' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: outer_axis_of_months | tool: hand-written | rows: N5, 18 | on: spans local_spans | expect: node
SELECT to_char(axis.t, 'YYYY-MM') AS month, count(s.ts) AS n, coalesce(sum(s.dur), 0) AS dur, stddev(s.dur) FROM (SELECT generate_series(date '2023-11-01', '2024-12-01', '1 month') AS t) AS axis
LEFT JOIN :t AS s ON s.ts >= axis.t AND s.ts < axis.t + interval '1 month' AND s.status = 'ok' GROUP BY 1 ORDER BY 1;

-- name: outer_axis_inner | tool: hand-written | rows: 18, N5 | expect: node | execute: '2024-03-01'
SELECT t::date AS day, count(*), min(s.dur), max(s.amount) FROM generate_series($1::timestamptz, '2024-03-20', '1 day') AS t JOIN spans s ON s.ts >= t AND s.ts < t + '1 day'::interval AND s.service LIKE 'a%' GROUP BY 1 ORDER BY 1;

-- name: outer_axis_below | tool: hand-written | rows: N5, 18 | expect: node
WITH axis AS (SELECT generate_series(timestamptz '2024-11-02', '2024-11-04', '1 hour') AS t), filled AS (SELECT axis.t, count(s.id) AS n FROM axis LEFT JOIN spans s ON s.ts BETWEEN axis.t AND axis.t + '59:59.999999' GROUP BY axis.t)
SELECT t, n, avg(n) OVER (ORDER BY t ROWS 3 PRECEDING)::numeric(10, 2) AS smooth FROM filled ORDER BY 1;

-- name: outer_percentiles | tool: hand-written | rows: N5, 18 | expect: declined: tables are joined below the aggregates
SELECT t, percentile_disc(0.5) WITHIN GROUP (ORDER BY s.dur) FROM generate_series('2024-03-09'::timestamptz, '2024-03-11', '6 hours') AS t LEFT JOIN spans AS s ON s.ts >= t AND s.ts < t + interval '6 hours' GROUP BY 1 ORDER BY 1;

-- name: outer_row_counts | tool: hand-written | rows: 22, N5 | expect: declined: tables are joined below the aggregates
SELECT o.service, sum(CASE WHEN s.dur > 900000 THEN 0 ELSE 1 END) FROM owners o LEFT JOIN spans s ON s.service = o.service GROUP BY 1 ORDER BY 1;
