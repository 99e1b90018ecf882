-- The ten most frequent shapes, each with every kind of bound (bounds.sql).

-- name: shape_epoch_buckets | tool: Grafana | rows: 1, 24, S1 | on: spans local_spans | expect: node | large: some
SELECT floor(extract(epoch from ts)/300)*300 AS "time", service AS metric, count(*), avg(dur), sum(amount), min(x), max(dur)
FROM :t WHERE :range GROUP BY 1, 2 ORDER BY 1, 2;

-- name: shape_truncated_time | tool: Metabase, Superset, hand-written | rows: 3, 24, S2 | on: spans local_spans | expect: node
SELECT date_trunc('hour', ts) AS ts, service, count(*) AS count, sum(dur) AS sum, avg(amount) AS avg
FROM :t WHERE :range GROUP BY date_trunc('hour', ts), service ORDER BY date_trunc('hour', ts) ASC, service ASC;

-- name: shape_card | tool: all | rows: 16, S3 | on: spans local_spans | expect: node
SELECT count(*), sum(dur), avg(amount), min(x), max(x), max(ts) FROM :t WHERE :range LIMIT 50000;

-- name: shape_labels | tool: all | rows: 24, S4 | on: spans local_spans | expect: node
SELECT service, count(*) AS n, sum(amount) FROM :t WHERE :range GROUP BY service ORDER BY n DESC, service LIMIT 5;

-- name: shape_chosen_labels | tool: all | rows: 21, S5 | on: spans local_spans | expect: node | large: some
SELECT date_trunc('minute', ts) AS minute, count(*), max(dur) FROM :t
WHERE :range AND service IN ('api', 'auth') AND (status = 'error' OR status = 'timeout') GROUP BY 1 ORDER BY 1;

-- name: shape_wrapped | tool: Power BI | rows: 13, 14, S6 | on: spans local_spans | expect: node
SELECT "_"."service" AS "c1", "_"."a0" AS "a0" FROM (
	SELECT "rows"."service" AS "service", sum("rows"."dur") AS "a0"
	FROM (SELECT "service", "dur" FROM :t "$Table" WHERE :range) "rows" GROUP BY "service") "_"
WHERE NOT "_"."a0" IS NULL ORDER BY "_"."a0" DESC, "_"."service" LIMIT 1001;

-- name: shape_any_bounds | tool: Superset | rows: 3, 17, 18, 19, S7 | on: spans local_spans | expect: node
SELECT DATE_TRUNC('day', ts) AS __timestamp, status AS status, SUM(dur) AS "SUM(dur)", COUNT(*) AS count
FROM :t WHERE :range GROUP BY DATE_TRUNC('day', ts), status ORDER BY "SUM(dur)" DESC, 1, 2 LIMIT 10000;

-- name: shape_zoned | tool: Cube, Django, groupdate, Lightdash | rows: 4, S8, N1 | on: spans local_spans | expect: node
SELECT date_trunc('hour', ts AT TIME ZONE 'America/New_York') AS hour, count(*), sum(dur) FROM :t WHERE :range GROUP BY 1 ORDER BY 1;

-- name: shape_days | tool: Metabase, Looker, Django | rows: 5, S8 | on: spans local_spans | expect: node
SELECT ts::date AS day, service, count(*), sum(x) FROM :t WHERE :range GROUP BY 1, 2 ORDER BY 1, 2;

-- name: shape_ratios | tool: Promscale, Metabase, Cube | rows: 22, 23, S9 | on: spans local_spans | expect: node
SELECT date_trunc('hour', ts) AS hour, count(*) FILTER (WHERE status = 'error')::numeric / count(*) AS errors,
	CAST(SUM(CASE WHEN status = 'ok' THEN 1 ELSE 0.0 END) AS DOUBLE PRECISION) / NULLIF(CAST(COUNT(*) AS DOUBLE PRECISION), 0.0) AS share,
	COUNT(CASE WHEN service = 'api' THEN id END) AS n_api
FROM :t WHERE :range GROUP BY 1 ORDER BY 1;

-- name: shape_n_minutes | tool: hand-written, TimescaleDB | rows: 9, S10 | on: spans local_spans | expect: node
SELECT date_bin('15 minutes', ts, '2024-01-01 00:05') AS bin, count(*), min(amount), max(amount) FROM :t WHERE :range GROUP BY 1 ORDER BY 1;

-- name: shape_grain | tool: Superset | rows: 6, S10, N2 | on: spans local_spans | expect: node | large: some
SELECT DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) AS __timestamp, COUNT(*) AS count, SUM(dur) AS "SUM(dur)"
FROM :t WHERE :range GROUP BY DATE_TRUNC('hour', ts) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM ts) / 5) ORDER BY 1 LIMIT 50000;
