-- Grafana's PostgreSQL data source: macros expanded, constants in the text.

-- name: grafana_time_group | tool: Grafana | rows: 1, 24, S1 | on: spans local_spans parted_spans | expect: node
SELECT floor(extract(epoch from ts)/60)*60 AS "time", avg(dur) AS "dur"
FROM :t WHERE ts BETWEEN '2024-03-10T05:00:00Z' AND '2024-03-10T11:05:00Z' GROUP BY 1 ORDER BY 1;

-- name: grafana_time_group_metric | tool: Grafana | rows: 1, 21, 24, S1 | on: spans local_spans parted_spans | expect: node
SELECT floor(extract(epoch from ts)/300)*300 AS "time", service AS metric, sum(dur) AS "dur", count(*) AS "n", min(amount), max(amount)
FROM :t WHERE ts BETWEEN '2024-11-03T00:00:00Z' AND '2024-11-03T18:05:00.5Z' AND status = 'ok' GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_time_group_20ms | tool: Grafana | rows: 2 | on: spans local_spans | expect: node
SELECT floor(extract(epoch from ts)/0.02)*0.02 AS "time", count(*), avg(x)
FROM :t WHERE ts BETWEEN '2024-03-10T05:00:00Z' AND '2024-03-10T08:00:00.5Z' GROUP BY 1 ORDER BY 1;

-- name: grafana_time_group_half_second | tool: Grafana | rows: 2 | expect: node
SELECT floor(extract(epoch from ts)/0.5)*0.5 AS "time", count(*), avg(x)
FROM spans WHERE ts BETWEEN '2024-03-10T05:00:00Z' AND '2024-03-10T08:00:00.5Z' GROUP BY 1 ORDER BY 1;

-- name: grafana_time_group_12d | tool: Grafana | rows: 1 | on: spans parted_spans | expect: node
SELECT floor(extract(epoch from ts)/1036800)*1036800 AS "time", service AS "metric", avg(dur), max(x)
FROM :t WHERE ts BETWEEN '2024-01-01T00:00:00Z' AND '2024-12-31T23:59:59.999Z' GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_time_group_unbounded | tool: Grafana | rows: 1 | on: spans local_spans parted_spans | expect: node
SELECT floor(extract(epoch from ts)/86400)*86400 AS "time", count(*), count(dur), sum(x) FROM :t GROUP BY 1 ORDER BY 1;

-- name: grafana_timescaledb_bucket | tool: Grafana with the TimescaleDB switch | rows: 9, S10 | on: spans parted_spans | expect: node
SELECT time_bucket('300.000s',ts) AS "time", service AS metric, avg(dur)
FROM :t WHERE ts BETWEEN '2024-04-06T00:00:00Z' AND '2024-04-06T18:05:00Z' GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_docs_alias | tool: Grafana | rows: 24 | expect: node
SELECT floor(extract(epoch from ts)/3600)*3600 AS time, min(dur) AS lowest, max(dur) AS highest
FROM spans WHERE ts BETWEEN '2024-03-09T00:00:00Z' AND '2024-03-12T00:00:00Z' GROUP BY time ORDER BY time;

-- the alias is the name of a column, so that is what is grouped by
-- name: grafana_alias_is_a_column | tool: Grafana | rows: 24 | expect: node
SELECT date_trunc('hour', ts) AS ts, count(*) FROM spans
WHERE ts BETWEEN '2024-03-10T06:00:00Z' AND '2024-03-10T08:00:00Z' GROUP BY ts ORDER BY 1, 2;

-- name: grafana_legacy_where | tool: Grafana 9 | rows: 1, 21, S1, S5 | expect: node
SELECT floor(extract(epoch from ts)/900)*900 AS "time", service AS metric, avg(dur) AS "avg dur", count(x) AS "n x" FROM spans
WHERE ts BETWEEN '2024-10-05T00:00:00Z' AND '2024-10-06T12:00:00Z' AND service IN ('api','auth','cart') AND status <> 'ok' GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_legacy_increase | tool: Grafana 9 | rows: 24, N8 | expect: node
SELECT floor(extract(epoch from ts)/3600)*3600 AS "time",
	(CASE WHEN max(dur) >= lag(max(dur)) OVER (ORDER BY floor(extract(epoch from ts)/3600)*3600)
		THEN max(dur) - lag(max(dur)) OVER (ORDER BY floor(extract(epoch from ts)/3600)*3600)
		WHEN lag(max(dur)) OVER (ORDER BY floor(extract(epoch from ts)/3600)*3600) IS NULL THEN NULL ELSE max(dur) END) AS "dur"
FROM spans WHERE ts BETWEEN '2024-11-02T00:00:00Z' AND '2024-11-04T12:00:00Z' GROUP BY 1 ORDER BY 1;

-- name: grafana_legacy_rate | tool: Grafana 9 | rows: 24, N8 | on: spans local_spans | expect: node
SELECT floor(extract(epoch from ts)/1800)*1800 AS "time", service AS metric,
	(CASE WHEN sum(dur) >= lag(sum(dur)) OVER (PARTITION BY service ORDER BY floor(extract(epoch from ts)/1800)*1800)
		THEN sum(dur) - lag(sum(dur)) OVER (PARTITION BY service ORDER BY floor(extract(epoch from ts)/1800)*1800)
		WHEN lag(sum(dur)) OVER (PARTITION BY service ORDER BY floor(extract(epoch from ts)/1800)*1800) IS NULL THEN NULL ELSE sum(dur) END)
	/ extract(epoch from min(ts) - lag(min(ts)) OVER (PARTITION BY service ORDER BY floor(extract(epoch from ts)/1800)*1800)) AS "dur"
FROM :t WHERE ts BETWEEN '2024-03-09T00:00:00Z' AND '2024-03-11T12:00:00Z' GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_legacy_moving_average | tool: Grafana 9 | rows: 24, N8 | expect: node
SELECT floor(extract(epoch from ts)/600)*600 AS "time",
	avg(sum(dur)) OVER (ORDER BY floor(extract(epoch from ts)/600)*600 ROWS 5 PRECEDING) AS "dur"
FROM spans WHERE ts BETWEEN '2024-03-10T00:00:00Z' AND '2024-03-11T00:00:00Z' GROUP BY 1 ORDER BY 1;

-- name: grafana_legacy_percentile | tool: Grafana 9 | rows: 24, N7 | expect: node | large: plain
SELECT floor(extract(epoch from ts)/3600)*3600 AS "time", percentile_cont(0.95) WITHIN GROUP (ORDER BY dur) AS "p95"
FROM spans WHERE ts BETWEEN '2024-03-10T00:00:00Z' AND '2024-03-11T00:00:00Z' GROUP BY 1 ORDER BY 1;

-- name: grafana_builder_table | tool: Grafana | rows: 21, 24, S4 | on: spans parted_spans | expect: node
SELECT COUNT(id) AS "n", service, status FROM :t WHERE (service = 'api' OR status LIKE 'e%') GROUP BY service, status ORDER BY n DESC, 2, 3 LIMIT 50;

-- name: grafana_unix_epoch_nano_filter | tool: Grafana | rows: 10, 21 | expect: node
SELECT ts_ns/1000000000 AS "time", avg(dur) AS "dur" FROM ns_spans
WHERE ts_ns >= 1710050400000000000 AND ts_ns <= 1710072000000000000 GROUP BY 1 ORDER BY 1;

-- name: grafana_unix_epoch_group_expression | tool: Grafana | rows: 11 | expect: node
SELECT floor((ts_ns/1000000000)/60)*60 AS "time", service AS metric, count(*), sum(dur) FROM ns_spans
WHERE ts_ns >= 1710050400000000000 AND ts_ns <= 1710136800000000000 GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_unix_epoch_group_ns | tool: Grafana | rows: 11, N6 | expect: node
SELECT floor((ts_ns)/60000000000)*60000000000 AS "time", count(*), max(dur) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: grafana_unix_epoch_group_small | tool: Grafana | rows: 11, N6 | expect: node | large: plain
SELECT floor((ts_ns)/1000000)*1000000 AS "time", count(*), max(dur) FROM ns_spans WHERE ts_ns < 1000000000000 GROUP BY 1 ORDER BY 1;

-- name: grafana_stat_panel | tool: Grafana | rows: 23, S3 | on: spans local_spans parted_spans | expect: node
SELECT now() AS time, count(*)::float8 / 3600 AS rate, avg(dur) / 1000.0 AS "avg ms", max(dur)::int AS longest
FROM :t WHERE ts BETWEEN '2024-11-03T00:00:00Z' AND '2024-11-04T18:05:00Z';

-- name: grafana_stddev | tool: Grafana | rows: 1, 21, 23, S1 | on: spans local_spans parted_spans | expect: node
SELECT floor(extract(epoch from ts)/3600)*3600 AS "time", service AS metric, avg(dur) AS "mean", avg(dur) + 3 * stddev(dur) AS "upper", avg(dur) - 3 * stddev(dur) AS "lower"
FROM :t WHERE ts BETWEEN '2024-03-09T00:00:00Z' AND '2024-03-12T00:00:00Z' AND status = 'ok' GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_stddev_ns | tool: Grafana | rows: 10 | expect: node
SELECT ts_ns/60000000000*60000000000 AS "time", stddev(amount), stddev_pop(dur) FROM ns_spans
WHERE ts_ns >= 1710046800000000000 AND ts_ns <= 1710068700000000000 GROUP BY 1 ORDER BY 1;

-- name: grafana_variable | tool: Grafana | rows: 25 | on: spans parted_spans | expect: node
SELECT DISTINCT service FROM :t ORDER BY 1;

-- name: grafana_variable_pair | tool: Grafana | rows: 25 | expect: node
SELECT DISTINCT service AS __text, lower(service) AS __value FROM spans WHERE ts BETWEEN '2024-11-03T00:00:00Z' AND '2024-11-03T01:00:00Z';

-- name: grafana_variable_chained | tool: Grafana | rows: 21, 25 | expect: node
SELECT DISTINCT status FROM spans WHERE service ~ '^(api|auth)$' AND status IS NOT NULL ORDER BY status;

-- name: grafana_many_labels | tool: Grafana | rows: 21, S5 | expect: node
SELECT floor(extract(epoch from ts)/7200)*7200 AS "time", service AS metric, sum(x) AS "x" FROM spans
WHERE ts BETWEEN '2024-03-09T00:00:00Z' AND '2024-03-12T00:00:00Z'
	AND service IN ('api','auth','cart','female','Male','','web','db','cache','queue','mail','search','login','img','cdn','dns','no''t')
GROUP BY 1,2 ORDER BY 1,2;

-- name: grafana_alert | tool: Grafana | rows: 17, S7 | expect: node
SELECT floor(extract(epoch from ts)/60)*60 AS "time", avg(dur) AS "dur" FROM recent_spans
WHERE ts >= NOW() - INTERVAL '6 hours' AND ts < NOW() GROUP BY 1 ORDER BY 1;

-- name: grafana_time_as_text | tool: Grafana | rows: 1, 5 | expect: node
SELECT to_timestamp(floor(extract(epoch from ts)/3600)*3600) AT TIME ZONE 'UTC' AS "time", count(*) FROM spans
WHERE ts BETWEEN '2024-11-02T00:00:00Z' AND '2024-11-05T00:00:00Z' GROUP BY 1 ORDER BY 1;

-- name: grafana_sqlite_buckets | tool: Grafana SQLite, the same in PostgreSQL | rows: 10 | expect: node
SELECT cast((ts_ns / 500000000) as bigint) * 500000000 AS window_start, avg(dur), max(dur), min(dur) FROM ns_spans
WHERE ts_ns >= 1710050400000 / 1000 * 1000000000 AND ts_ns < 1710072000000 / 1000 * 1000000000 GROUP BY 1 ORDER BY 1;
