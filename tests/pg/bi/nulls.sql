-- Counts of what is NULL in a value column, whose values are in no histogram.

-- name: nulls_filter | tool: hand-written | rows: 22 | on: spans local_spans parted_spans | expect: node
SELECT service, count(*) FILTER (WHERE dur IS NULL) AS without, count(*) FILTER (WHERE dur IS NOT NULL AND status = 'ok') AS fine, count(*), sum(dur) FROM :t GROUP BY 1 ORDER BY 1;

-- name: nulls_cast | tool: Superset | rows: 3, 22 | expect: node
SELECT DATE_TRUNC('month', ts) AS __timestamp, SUM((amount IS NULL)::int) AS missing, AVG(CASE WHEN x IS NULL THEN 1.0 ELSE 0.0 END) AS share, COUNT(CASE WHEN x IS NULL THEN 1 END) AS n FROM spans GROUP BY DATE_TRUNC('month', ts) ORDER BY 1;

-- name: nulls_key | tool: Metabase | rows: 22, N10 | on: spans parted_spans | expect: node
SELECT amount IS NULL AS "empty", service, COUNT(*) AS "count" FROM :t WHERE ts >= '2024-03-01' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: nulls_condition | tool: hand-written | rows: 21 | expect: node
SELECT date_trunc('day', ts) AS day, count(*) FROM spans WHERE x IS NULL AND ts >= '2024-03-08' GROUP BY 1 ORDER BY 1;

-- name: nulls_with_sums | tool: hand-written | rows: 22 | expect: node
SELECT x IS NULL AS k, sum(dur) FROM spans GROUP BY 1 ORDER BY 1;

-- name: nulls_or_more | tool: hand-written | rows: 22 | expect: node
SELECT count(*) FILTER (WHERE amount IS NULL OR amount > 100) FROM spans;
