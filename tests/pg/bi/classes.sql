-- Value columns of few values as group keys, conditions on two of them, and conditions that join one with another column by OR: entries are
-- read once, and folded apart by class.

-- name: key_of_depth | tool: Grafana | rows: N10 | expect: node
SELECT depth, count(*), sum(dur), max(amount), avg(x) FROM deep_spans GROUP BY depth ORDER BY depth;

-- name: key_of_code_by_day | tool: Grafana | rows: 3, N10, S2 | expect: node
SELECT date_trunc('day', ts) AS "time", code, count(*) FROM deep_spans WHERE ts BETWEEN '2024-03-01T00:00:00Z' AND '2024-04-12T00:00:00Z' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_of_code_class | tool: Superset | rows: 22, N10, S4 | expect: node
SELECT CASE WHEN code >= 500 THEN 'failed' WHEN code >= 400 THEN 'refused' ELSE 'done' END AS outcome, service AS service, COUNT(*) AS count FROM deep_spans
GROUP BY CASE WHEN code >= 500 THEN 'failed' WHEN code >= 400 THEN 'refused' ELSE 'done' END, service ORDER BY 3 DESC, 1, 2 LIMIT 1000;

-- name: key_of_hundreds | tool: hand-written | rows: N10 | expect: node
SELECT code / 100 AS hundreds, service, count(*) FILTER (WHERE dur > 900000) AS slow, count(DISTINCT service) FROM deep_spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_of_depth_and_code | tool: Tableau | rows: N10 | expect: node
SELECT "deep_spans"."depth" AS "depth", "deep_spans"."code" AS "code", SUM("deep_spans"."dur") AS "sum:dur", COUNT(1) AS "cnt" FROM "public"."deep_spans" "deep_spans" GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_of_depth_rolled_up | tool: hand-written | rows: N10 | expect: node
SELECT service, depth, count(*), GROUPING(service, depth) FROM deep_spans GROUP BY ROLLUP (service, depth) ORDER BY 1, 2, 4;

-- name: keys_of_values_alone | tool: Metabase | rows: 16, N10 | expect: node
SELECT DISTINCT code FROM deep_spans ORDER BY 1;

-- name: values_two_at_once | tool: hand-written | rows: 22, N9 | on: spans deep_spans | expect: node
SELECT service, count(*) FILTER (WHERE dur > 5000 AND amount > 100) AS both, sum(dur) FILTER (WHERE dur > 900000 OR x < 0) FROM :t GROUP BY 1 ORDER BY 1;

-- name: values_in_case | tool: Looker | rows: 22, 23 | expect: node
SELECT DATE(deep_spans.ts ) AS day, COUNT(CASE WHEN deep_spans.code = 500 AND deep_spans.dur > 250000 THEN 1 ELSE NULL END) AS slow_failures, AVG(CASE WHEN code IN (404, 500) OR depth IS NULL THEN amount END)
FROM deep_spans WHERE ts >= '2024-10-01' GROUP BY 1 ORDER BY 1;

-- name: values_many_filters | tool: Grafana | rows: 22, N9 | expect: node
SELECT service, count(*) FILTER (WHERE code = 200) AS "200", count(*) FILTER (WHERE code = 204) AS "204", count(*) FILTER (WHERE code = 404) AS "404", count(*) FILTER (WHERE code = 500) AS "500",
	count(*) FILTER (WHERE code >= 400) AS bad, count(*) FILTER (WHERE code IS NULL) AS none FROM deep_spans GROUP BY 1 ORDER BY 1;

-- name: values_or_value | tool: hand-written | rows: 21 | expect: node
SELECT service, count(*) FROM spans WHERE dur > 900000 OR amount < 0 GROUP BY 1 ORDER BY 1;

-- name: values_or_time | tool: hand-written | rows: 21 | expect: node
SELECT service, count(*) FROM spans WHERE dur > 900000 OR ts < '2024-03-10' GROUP BY 1 ORDER BY 1;

-- name: values_or_name | tool: Metabase | rows: 21, 22 | expect: node
SELECT DATE_TRUNC('month', "ts") AS "ts", count(*), avg("dur") FROM deep_spans WHERE (("code" <> 200) OR ("code" IS NULL) OR ("service" = 'cart')) GROUP BY 1 ORDER BY 1;

-- name: values_compared | tool: hand-written | rows: 21 | expect: node | large: plain
SELECT count(*) FROM spans WHERE dur > amount;

-- name: key_of_amounts | tool: hand-written | rows: N10 | expect: node | large: plain
SELECT round(amount / 1000) AS bin, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_of_bands | tool: hand-written | rows: N10 | expect: node | large: plain
SELECT dur / 100000 AS bin, count(*) FROM spans GROUP BY 1 ORDER BY 1;
