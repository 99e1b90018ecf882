-- Counts by bounds that an index keeps (histogram): shares, Apdex, heatmaps; and bounds drawn from the query where it keeps none.

-- name: slow_share | tool: hand-written | rows: 22, N9 | on: spans parted_spans | expect: node
SELECT service, count(*) FILTER (WHERE dur > 900000) AS slow, count(*) AS n FROM :t GROUP BY 1 ORDER BY 1;

-- name: bands_slo | tool: Grafana | rows: 1, 22, 23, S1, S9 | on: spans parted_spans | expect: node
SELECT floor(extract(epoch from ts)/3600)*3600 AS "time", 100.0 * sum(CASE WHEN dur < 100000 THEN 1 ELSE 0 END) / count(*) AS "within"
FROM :t WHERE ts BETWEEN '2024-03-08T00:00:00Z' AND '2024-03-12T00:00:00Z' GROUP BY 1 ORDER BY 1;

-- name: bands_heatmap | tool: Grafana | rows: 3, 24, S2 | on: spans parted_spans | expect: node
SELECT date_trunc('day', ts) AS "time", width_bucket(dur, ARRAY[100000, 500000, 900001]::bigint[]) AS band, count(*) FROM :t
WHERE ts >= '2024-03-01' AND dur IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2;

-- name: bands_apdex | tool: Metabase | rows: 3, 22, 23, S9 | expect: node
SELECT DATE_TRUNC('month', "source"."ts") AS "ts", (COUNT(CASE WHEN "source"."dur" < 100000 THEN 1 END) + 0.5 * COUNT(CASE WHEN "source"."dur" >= 100000 AND "source"."dur" < 500000 THEN 1 END))
	/ NULLIF(COUNT("source"."dur"), 0) AS "apdex" FROM (SELECT ts, dur FROM spans) AS "source" GROUP BY 1 ORDER BY 1;

-- name: bands_case | tool: Superset | rows: 22, S4 | on: spans parted_spans | expect: node
SELECT CASE WHEN dur < 100000 THEN 'fast' WHEN dur > 900000 THEN 'slow' WHEN dur IS NULL THEN NULL ELSE 'fair' END AS band, service AS service, COUNT(*) AS count FROM :t
GROUP BY CASE WHEN dur < 100000 THEN 'fast' WHEN dur > 900000 THEN 'slow' WHEN dur IS NULL THEN NULL ELSE 'fair' END, service ORDER BY 3 DESC, 1, 2 LIMIT 1000;

-- name: bands_error_budget | tool: hand-written | rows: 22, 23, S9 | expect: node
SELECT status, avg((dur <= 499999)::int) AS share, count(*) FILTER (WHERE dur > 900000 AND ts >= '2024-10-01' AND service <> 'cart') AS late, bool_or(dur <= 99999) AS any_fast
FROM spans GROUP BY 1 ORDER BY 1;

-- name: bands_alone | tool: hand-written | rows: 18, 22, S3 | expect: node
SELECT count(*), count(ts), min(service), sum(1) FROM spans WHERE dur > 499999 AND ts >= '2024-03-10' AND status = 'ok';

-- name: bands_of_other_bounds | tool: hand-written | rows: 22, N9 | expect: node
SELECT service, count(*) FILTER (WHERE dur > 900001) AS slow FROM spans GROUP BY 1 ORDER BY 1;

-- name: bands_of_equal_width | tool: hand-written | rows: 22 | expect: node
SELECT width_bucket(dur, 0, 1000000, 10) AS band, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: bands_with_sums | tool: hand-written | rows: 22, N7 | expect: node
SELECT dur > 900000 AS slow, count(*), sum(amount) FROM spans GROUP BY 1 ORDER BY 1;

-- name: bands_of_numerics | tool: hand-written | rows: 22, N9 | expect: node
SELECT service, count(*) FILTER (WHERE amount > 10000) AS dear FROM spans GROUP BY 1 ORDER BY 1;

-- name: values_slow_and_sums | tool: Cube | rows: 22, N9 | on: spans parted_spans | expect: node
SELECT service "spans__service", count(CASE WHEN (dur > 750000) THEN id END) "spans__slow", sum(CASE WHEN (dur > 750000) THEN amount END) "spans__slow_amount", sum(dur) "spans__dur"
FROM :t AS "spans" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10000;

-- name: values_two_columns | tool: Metabase | rows: 3, 22, N9 | expect: node
SELECT DATE_TRUNC('month', "spans"."ts") AS "ts", SUM(CASE WHEN "spans"."dur" > 123456 THEN 1 ELSE 0.0 END) / COUNT(*) AS "slow", COUNT(*) FILTER (WHERE "spans"."amount" < 12.5) AS "cheap",
	MAX("spans"."amount") FILTER (WHERE "spans"."dur" <= 500) AS "dearest" FROM spans GROUP BY 1 ORDER BY 1;

-- name: values_of_reals | tool: hand-written | rows: 22, N9 | on: spans parted_spans | expect: node
SELECT status, count(*) FILTER (WHERE x > 3.5) AS high, count(*) FILTER (WHERE x = 0) AS zero, min(dur) FILTER (WHERE x IS NULL OR x <= -1) AS least FROM :t GROUP BY 1 ORDER BY 1;

-- name: values_case_key | tool: Tableau | rows: 22, N10 | on: spans local_spans parted_spans | expect: node
SELECT (CASE WHEN ("t"."dur" >= 600000) THEN 'slow' WHEN ("t"."dur" < 200000) THEN 'fast' WHEN ("t"."dur" IS NULL) THEN 'open' ELSE 'fair' END) AS "speed", SUM("t"."amount") AS "sum:amount:ok",
	AVG("t"."dur") AS "avg:dur:ok", MIN("t"."ts") AS "min:ts:ok", COUNT(DISTINCT "t"."service") AS "ctd:service:ok" FROM :t "t" GROUP BY 1 ORDER BY 1;

-- name: values_key_of_numerics | tool: Superset | rows: 3, 22, N10 | expect: node
SELECT DATE_TRUNC('month', ts) AS __timestamp, CASE WHEN amount > 100 THEN 'dear' ELSE 'cheap' END AS price, SUM(dur) AS "SUM(dur)", COUNT(*) AS count FROM spans WHERE ts >= '2024-02-01'
GROUP BY DATE_TRUNC('month', ts), CASE WHEN amount > 100 THEN 'dear' ELSE 'cheap' END ORDER BY 1, 2 LIMIT 10000;

-- name: values_in_list | tool: Metabase | rows: 21, S3 | on: spans parted_spans | expect: node
SELECT "spans"."service" AS "service", COUNT(*) AS "count", SUM("spans"."amount") AS "sum" FROM :t AS "spans" WHERE "spans"."dur" IN (1000, 2000, 5000, 900001) OR "spans"."dur" > 950000
GROUP BY "spans"."service" ORDER BY "spans"."service" ASC;

-- name: values_not_equal | tool: Metabase | rows: 21, S3 | expect: node
SELECT count(*) AS "count", sum("spans"."dur") AS "sum", max("spans"."ts") AS "max" FROM spans AS "spans" WHERE ("spans"."amount" <> 10.5 OR "spans"."amount" IS NULL) AND "spans"."status" = 'ok';

-- name: values_outside | tool: Looker | rows: 21, S3 | on: spans local_spans | expect: node
SELECT status AS "spans.status", COALESCE(SUM(dur), 0) AS "spans.dur", COUNT(*) AS "spans.count" FROM :t AS spans WHERE ((dur < 1000 OR dur >= 900000))
AND dur NOT BETWEEN 950000 AND 960000 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500;

-- name: values_share_in_time | tool: Grafana | rows: 1, 22, 23 | on: spans parted_spans | expect: node
SELECT floor(extract(epoch from ts)/86400)*86400 AS "time", 1 - avg((dur > 654321)::int) AS "within", bool_or(dur > 999000) AS "any", sum(dur * (dur > 654321)::int) AS "slow"
FROM :t WHERE ts BETWEEN '2024-03-01T00:00:00Z' AND '2024-04-01T00:00:00Z' GROUP BY 1 ORDER BY 1;

-- name: values_case_of_value | tool: hand-written | rows: 22, N9 | expect: node
SELECT service, sum(CASE WHEN dur > 1000 THEN 1 ELSE 0 END), min(CASE WHEN dur > 3000 THEN dur ELSE -dur END) FROM spans GROUP BY 1 ORDER BY 1;

-- name: values_coalesce | tool: Superset | rows: 3, 23, N9 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('month', ts) AS __timestamp, AVG(COALESCE(dur, 0)) AS "AVG(dur)", SUM(COALESCE(amount, 0)) AS "SUM(amount)", MAX(dur) AS "MAX(dur)" FROM :t GROUP BY DATE_TRUNC('month', ts) ORDER BY 1;

-- name: values_divided | tool: Metabase | rows: 3, 23, N9 | on: spans parted_spans | expect: node
SELECT DATE_TRUNC('month', "ts") AS "ts", AVG("dur" / 1000.0) AS "avg", SUM("dur" / 1000.0) AS "sum", MAX("dur") / 1000.0 AS "max", SUM("amount" / 100) AS "hundreds" FROM :t GROUP BY DATE_TRUNC('month', "ts") ORDER BY 1;

-- name: values_divided_and_chosen | tool: hand-written | rows: 22, 23, N9 | expect: node
SELECT service, avg(dur / 1000.0) FILTER (WHERE dur > 250000) AS slow, sum(CASE WHEN status = 'ok' THEN dur / 1000.0 END) AS ok, avg(amount / 8) FROM spans GROUP BY 1 ORDER BY 1;

-- name: values_multiplied_and_divided | tool: Malloy | rows: 3, 23, N9 | on: spans parted_spans | expect: node
WITH __stage0 AS ( SELECT DATE_TRUNC('month', base."ts") as "month", AVG(base."dur"*1.0/1000.0) as "mean", COALESCE(SUM(base."dur"*1.0/1000.0),0) as "total", max(base."dur"*1.0/1000) as "most" FROM :t as base GROUP BY 1 ORDER BY 1 ASC NULLS LAST ) SELECT row_to_json(finalStage) as row FROM __stage0 AS finalStage;

-- name: values_that_cannot_be | tool: hand-written | rows: 21, S3 | expect: node
SELECT count(*), sum(amount), count(*) FILTER (WHERE dur > 5) FROM spans WHERE dur <> 1000 AND dur IN (1000, 1000);
