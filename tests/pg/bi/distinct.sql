-- Counts and sums of the distinct values of by columns and times.

-- name: distinct_metabase_count | tool: Metabase | rows: 3, N7 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('month', "source"."ts") AS "ts", count(distinct "source"."service") AS "count" FROM (SELECT :t."ts" AS "ts", :t."service" AS "service" FROM :t) AS "source" GROUP BY DATE_TRUNC('month', "source"."ts") ORDER BY 1 ASC;

-- name: distinct_superset_count | tool: Superset | rows: 3, N7 | on: spans local_spans | expect: node
SELECT DATE_TRUNC('day', ts) AS __timestamp, COUNT(DISTINCT service) AS "COUNT_DISTINCT(service)", COUNT(*) AS count, SUM(dur) AS "SUM(dur)" FROM :t WHERE ts >= '2024-03-09 00:00Z' AND ts < '2024-03-12 00:00Z' GROUP BY DATE_TRUNC('day', ts) ORDER BY __timestamp;

-- name: distinct_card | tool: Looker | rows: S3, N7 | on: spans parted_spans | expect: node
SELECT COUNT(DISTINCT service) AS services, COUNT(DISTINCT status) AS states, COUNT(DISTINCT service || '/' || status) AS pairs, MAX(dur) AS dur FROM :t;

-- name: distinct_of_group | tool: hand-written | rows: N7, 14 | expect: node
SELECT service, count(DISTINCT status) AS states, count(*) FROM spans WHERE ts >= '2024-03-10' GROUP BY 1 HAVING count(DISTINCT status) > 1 ORDER BY 1;

-- name: distinct_filtered | tool: hand-written | rows: 22, N7 | expect: node
SELECT count(DISTINCT service) FILTER (WHERE status = 'error') AS failing, count(DISTINCT CASE WHEN status = 'timeout' THEN service END) AS late, count(DISTINCT service) AS services FROM spans WHERE dur > 500000;

-- name: distinct_number_of_days | tool: hand-written | rows: 5, N7 | on: spans parted_spans | expect: node
SELECT status, count(DISTINCT ts::date) AS days, count(DISTINCT date_trunc('month', ts)) AS months FROM :t GROUP BY 1 ORDER BY 1;

-- name: distinct_days_by_service | tool: hand-written | rows: 4, N7 | expect: node
SELECT service, count(DISTINCT extract(dow FROM ts AT TIME ZONE 'America/New_York')) AS days FROM spans WHERE ts < '2024-03-10 12:00Z' GROUP BY 1 ORDER BY 1;

-- name: distinct_sums | tool: hand-written | rows: 23, N7 | expect: node
SELECT date_trunc('month', ts) AS month, sum(DISTINCT length(service)) AS lengths, avg(DISTINCT length(status)) AS mean, max(DISTINCT dur) AS dur FROM spans GROUP BY 1 ORDER BY 1;

-- name: distinct_of_other_column | tool: hand-written | rows: N7 | expect: declined: column "note" is not in the index
SELECT service, count(DISTINCT note) FROM spans GROUP BY 1 ORDER BY 1;

-- name: distinct_ordered | tool: hand-written | rows: N7 | expect: declined: an aggregate has DISTINCT or ORDER BY
SELECT max(service ORDER BY ts), count(*) FROM spans;

-- each row has an id of its own, as a unique index says: counts of different ids are counts of rows
-- name: distinct_ids | tool: Cube | rows: 3, 16 | on: spans local_spans | expect: node
SELECT "spans".service "spans__service", date_trunc('month', "spans".ts) "spans__ts_month", count(distinct "spans".id) "spans__count" FROM :t AS "spans" GROUP BY 1, 2 ORDER BY 1, 2;

-- name: distinct_ids_of_errors | tool: Looker | rows: 9, 16, 22 | expect: node
SELECT spans.service AS "spans.service", COUNT(DISTINCT CASE WHEN spans.status = 'error' THEN spans.id ELSE NULL END) AS "spans.errors", 1.0 * COUNT(DISTINCT CASE WHEN spans.dur > 900000 THEN spans.id END) / NULLIF(COUNT(DISTINCT spans.id), 0) AS "spans.share_slow" FROM spans AS spans GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500;

-- name: distinct_ids_of_joined | tool: Django | rows: 16 | expect: node
SELECT "owners"."team", COUNT(DISTINCT "spans"."id") FILTER (WHERE "spans"."ts" >= '2024-03-10') AS "n" FROM "spans" LEFT OUTER JOIN "owners" ON ("spans"."service" = "owners"."service") GROUP BY 1 ORDER BY 1;

-- a row with several tags is counted once
-- name: distinct_ids_of_several_partners | tool: Looker | rows: 16 | expect: declined: column "id" is not in the index
SELECT t.tag, COUNT(DISTINCT s.id), GROUPING(t.tag) FROM spans s JOIN tags t ON t.service = s.service GROUP BY ROLLUP (t.tag) ORDER BY 1, 3;

-- name: distinct_ids_not_unique | tool: hand-written | rows: 16 | expect: declined: column "id" is not in the index
SELECT service, count(DISTINCT id) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: distinct_rows_of_ids | tool: hand-written | rows: 16 | expect: declined: column "id" is not in the index
SELECT service, count(DISTINCT (id, dur)), count(DISTINCT CASE WHEN status = 'ok' THEN id ELSE -id END) FROM spans GROUP BY 1 ORDER BY 1;
