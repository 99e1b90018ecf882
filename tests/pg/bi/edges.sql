-- Times at the ends of their type, and where buckets are none of one length.

-- name: edge_infinite_epochs | tool: hand-written | rows: 1 | expect: node | large: plain
SELECT floor(extract(epoch FROM ts) / 86400) * 86400 AS t, count(*), sum(dur) FROM odd_spans GROUP BY 1 ORDER BY 1;

-- name: edge_infinite_days | tool: hand-written | rows: 3, 5 | expect: node | large: plain
SELECT date_trunc('day', ts) AS day, ts::date AS date, count(*) FROM odd_spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: edge_infinite_years | tool: hand-written | rows: 3 | expect: node | large: plain
SELECT date_trunc('year', ts) AS y, date_trunc('century', ts AT TIME ZONE 'America/New_York') AS c, count(*) FROM odd_spans
WHERE ts = 'infinity' OR ts > '4000-01-01 BC' AND ts < '290000-01-01' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: edge_infinite_parts | tool: hand-written | rows: N10 | expect: node | large: plain
SELECT extract(hour FROM ts) AS h, extract(year FROM ts) AS y, count(*) FROM odd_spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: edge_infinite_texts | tool: hand-written | rows: N10 | expect: node | large: plain
SELECT to_char(ts, 'YYYY-MM-DD BC') AS day, count(*) FROM odd_spans GROUP BY 1 ORDER BY 1;

-- name: edge_infinite_bounds | tool: hand-written | rows: 18 | expect: node | execute: '-infinity', 'infinity'
SELECT count(*), min(ts), max(ts), sum(dur) FROM odd_spans WHERE ts > $1 AND ts < $2;

-- name: edge_infinite_ends | tool: hand-written | rows: 21 | on: odd_spans spans | expect: node
SELECT count(*), sum(dur) FROM :t WHERE ts <= 'infinity' AND ts >= '-infinity';

-- name: edge_old_zone | tool: hand-written | rows: 4, N1 | expect: node | large: plain
SELECT date_trunc('minute', ts AT TIME ZONE 'America/New_York') AS t, count(*) FROM odd_spans WHERE ts BETWEEN '1883-01-01' AND '1970-01-02' GROUP BY 1 ORDER BY 1;

-- name: edge_before_1970 | tool: hand-written | rows: 1 | expect: node | large: plain
SELECT floor(extract(epoch FROM ts) / 7) * 7 AS t, count(*) FROM odd_spans WHERE ts BETWEEN '1969-12-31 00:00Z' AND '1970-01-01 12:00Z' GROUP BY 1 ORDER BY 1;

-- name: edge_empty_range | tool: hand-written | rows: S3 | on: spans local_spans | expect: node
SELECT count(*), sum(dur), min(ts) FROM :t WHERE ts >= '2024-11-03' AND ts < '2024-03-10';

-- name: edge_one_microsecond | tool: Grafana | rows: S3, 1 | on: spans local_spans | expect: node
SELECT count(*), max(ts) FROM :t WHERE ts BETWEEN '2024-03-10T06:59:59.999999Z' AND '2024-03-10T07:00:00Z';

-- name: edge_fall_back_hour | tool: hand-written | rows: 3, N1 | on: spans parted_spans | expect: node
SELECT date_trunc('hour', ts) AS t, to_char(date_trunc('hour', ts), 'HH24:MI TZH:TZM') AS label, count(*) FROM :t WHERE ts >= '2024-11-03 04:00Z' AND ts < '2024-11-03 08:00Z'
GROUP BY 1, 2 ORDER BY 1;

-- name: edge_half_hour_change | tool: hand-written | rows: 4, N1 | expect: node
SELECT date_trunc('minute', ts AT TIME ZONE 'Australia/Lord_Howe') AS t, count(*), sum(dur) FROM spans WHERE ts >= '2024-04-06 14:00Z' AND ts < '2024-04-06 17:00Z' GROUP BY 1 ORDER BY 1;

-- name: edge_skipped_hour | tool: hand-written | rows: 4, N1 | expect: node
SELECT date_trunc('hour', ts AT TIME ZONE 'America/New_York') AS t, count(*), min(ts), max(ts) FROM local_spans WHERE ts >= '2024-03-10 00:00' AND ts < '2024-03-10 06:00' GROUP BY 1 ORDER BY 1;

-- name: edge_days_without_midnight | tool: hand-written | rows: 3, 4 | expect: node
SELECT date_trunc('day', ts, 'America/Havana') AS day, count(*) FROM spans WHERE ts >= '2024-03-09' AND ts < '2024-11-05' GROUP BY 1 ORDER BY 1;

-- name: edge_day_steps | tool: hand-written | rows: 5 | expect: node
SELECT date_trunc('day', ts + interval '1 day') AS day, date_trunc('day', ts - interval '36 hours') AS other, count(*) FROM spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: edge_local_interval | tool: hand-written | rows: 8 | expect: node
SELECT floor(extract(epoch FROM ts - timestamptz '2024-03-09 00:00') / 3600) AS hour, count(*) FROM spans WHERE ts BETWEEN '2024-03-09' AND '2024-03-12' GROUP BY 1 ORDER BY 1;
