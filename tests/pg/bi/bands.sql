-- Counts by bounds that an index keeps (histogram): shares, Apdex, heatmaps; and what they do not give.

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

-- name: bands_of_other_bounds | tool: hand-written | rows: 22, N9 | expect: declined: the histogram of a value column does not have the bounds of a condition (histogram)
SELECT service, count(*) FILTER (WHERE dur > 900001) AS slow FROM spans GROUP BY 1 ORDER BY 1;

-- name: bands_of_equal_width | tool: hand-written | rows: 22 | expect: declined: the histogram of a value column does not have the bounds of a group key (histogram)
SELECT width_bucket(dur, 0, 1000000, 10) AS band, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: bands_with_sums | tool: hand-written | rows: 22, N7 | expect: declined: an aggregate of a part of the values of a column is no count
SELECT dur > 900000 AS slow, count(*), sum(amount) FROM spans GROUP BY 1 ORDER BY 1;

-- name: bands_of_numerics | tool: hand-written | rows: 22, N9 | expect: declined: a condition in an aggregate is on a value column
SELECT service, count(*) FILTER (WHERE amount > 10000) AS dear FROM spans GROUP BY 1 ORDER BY 1;
