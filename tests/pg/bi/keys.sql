-- Keys in every form that people find.

-- name: key_to_char_formats | tool: hand-written | rows: N10 | on: spans local_spans | expect: node
SELECT to_char(ts, 'IYYY-IW') AS week, to_char(ts, 'Q CC Mon RM') AS quarter, to_char(ts, 'DDD J') AS day, count(*), sum(dur) FROM :t GROUP BY 1, 2, 3 ORDER BY 3, 1, 2;

-- name: key_to_char_hours | tool: hand-written | rows: N10 | on: spans local_spans | expect: node
SELECT to_char(ts, 'HH12 AM') AS hour, to_char(ts, 'FMDay "at" HH24') AS day, count(*) FROM :t GROUP BY 1, 2 ORDER BY 2, 1;

-- name: key_to_char_zone | tool: hand-written | rows: N10, N1 | expect: node
SELECT to_char(ts, 'YYYY-MM TZ') AS month, to_char(ts, 'YYYY OF') AS year, to_char(ts, 'TZH:TZM') AS zone, count(*), sum(dur) FROM spans GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: key_to_char_seconds | tool: hand-written | rows: N10 | expect: node
SELECT to_char(ts, 'SSSS') AS second, to_char(ts, 'HH24:MI:SS.MS') AS ms, count(*) FROM spans WHERE ts >= '2024-03-10 06:00Z' AND ts < '2024-03-10 08:00Z' GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_fields | tool: hand-written | rows: N10 | on: spans local_spans | expect: node
SELECT extract(isoyear FROM ts) AS y, extract(week FROM ts) AS w, extract(isodow FROM ts) AS d, extract(doy FROM ts) AS doy, extract(decade FROM ts) AS decade, count(*) FROM :t
GROUP BY 1, 2, 3, 4, 5 ORDER BY 4, 1;

-- name: key_julian | tool: hand-written | rows: N10 | expect: node
SELECT floor(extract(julian FROM ts)) AS day, count(*) FROM local_spans GROUP BY 1 ORDER BY 1;

-- name: key_offset | tool: hand-written | rows: N10, N1 | expect: node | large: plain
SELECT extract(timezone FROM ts) AS zone, extract(timezone_hour FROM ts) AS hour, count(*), min(ts) FROM spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_fractions | tool: hand-written | rows: N10, 2 | expect: node | large: plain
SELECT floor(extract(second FROM ts)) AS s, floor(extract(milliseconds FROM ts) / 1000) AS ms, count(*) FROM spans GROUP BY 1, 2 ORDER BY 1;

-- name: key_date_part | tool: hand-written | rows: N10, 1 | on: spans local_spans | expect: node
SELECT floor(date_part('epoch', ts) / 3600) * 3600 AS t, date_part('hour', ts) AS hour, count(*), sum(x) FROM :t GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_dates_reckoned | tool: hand-written | rows: 5 | on: spans local_spans | expect: node
SELECT ts::date + 1 AS next, ts::date - date '2024-01-01' AS days, (ts::date - date '2024-01-01') / 7 AS weeks, count(*) FROM :t GROUP BY 1, 2, 3 ORDER BY 1;

-- name: key_time_of_day | tool: hand-written | rows: N10 | expect: node
SELECT date_trunc('hour', ts)::time AS hour, count(*), sum(dur) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_hour_start | tool: hand-written | rows: N10 | expect: node
SELECT date_trunc('hour', ts) + interval '30 minutes' AS middle, date_trunc('month', ts) + interval '1 month' - interval '1 day' AS last, count(*) FROM spans GROUP BY 1, 2 ORDER BY 1;

-- name: key_since_day_start | tool: hand-written | rows: N10 | expect: node
SELECT floor(extract(epoch FROM ts - date_trunc('day', ts)) / 1800) AS half_hour, count(*), sum(dur) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_make_date | tool: hand-written | rows: N10 | on: spans local_spans | expect: node
SELECT make_date(extract(year FROM ts)::int, extract(month FROM ts)::int, 1) AS month, count(*) FROM :t GROUP BY 1 ORDER BY 1;

-- name: key_concatenated | tool: hand-written | rows: N10 | on: spans local_spans | expect: node
SELECT concat(extract(year FROM ts), '-Q', extract(quarter FROM ts)) AS quarter, format('%s/%s', service, status) AS what, count(*) FROM :t GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_coalesced | tool: hand-written | rows: 3 | on: spans local_spans | expect: node
SELECT coalesce(date_trunc('month', ts), '1999-01-01') AS month, ts IS NULL AS missing, count(*), sum(dur) FROM :t GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_greatest | tool: hand-written | rows: 3 | expect: node
SELECT greatest(date_trunc('day', ts), '2024-03-10') AS day, least(ts::date, '2024-11-03') AS other, count(*) FROM spans GROUP BY 1, 2 ORDER BY 1, 2;

-- name: key_array | tool: hand-written | rows: N10 | expect: declined: equal values of a group key may be written differently
SELECT ARRAY[service, status] AS key, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_row | tool: hand-written | rows: N10 | expect: declined: a group key cannot be hashed
SELECT (service, status) AS key, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_json | tool: hand-written | rows: N10 | expect: declined: equal values of a group key may be written differently
SELECT jsonb_build_object('service', service, 'day', ts::date) AS key, count(*) FROM spans WHERE ts < '2024-02-01' GROUP BY 1 ORDER BY 1;

-- name: key_range | tool: hand-written | rows: N10 | expect: declined: equal values of a group key may be written differently
SELECT tstzrange(date_trunc('month', ts), date_trunc('month', ts) + interval '1 month') AS month, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_interval | tool: hand-written | rows: N10 | expect: declined: equal values of a group key may be written differently
SELECT date_trunc('hour', ts) - date_trunc('day', ts) AS hour, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_origin_of_now | tool: hand-written | rows: 9, 17 | expect: node
SELECT date_bin('1 hour', ts, now()) AS hour, count(*) FROM recent_spans WHERE ts > now() - interval '2 days' GROUP BY 1 ORDER BY 1;

-- name: key_bin_parameter | tool: hand-written | rows: 9, 18 | expect: node | execute: '7 minutes 3 seconds', '2024-03-10', '-03:30'
SELECT date_bin($1::interval, ts + $3::interval, $2::timestamptz) AS bin, count(*) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_zone_parameter | tool: hand-written | rows: 4, 18, N1 | expect: node | execute: 'America/St_Johns', 'hour'
SELECT date_trunc($2, ts AT TIME ZONE $1) AS hour, count(*), sum(dur) FROM spans GROUP BY 1 ORDER BY 1;

-- name: key_months_parameter | tool: hand-written | rows: 18 | expect: node | execute: '1 month'
SELECT date_trunc('month', ts - $1::interval) AS month, count(*), sum(dur) FROM local_spans GROUP BY 1 ORDER BY 1;

-- name: key_scaled_down | tool: hand-written | rows: 10 | expect: node
SELECT (ts_ns * -1) / 3600000000000 AS t, -(ts_ns / 3600000000000) AS u, count(*) FROM ns_spans WHERE ts_ns < 1000000000000000000 OR ts_ns > 1730000000000000000 GROUP BY 1, 2 ORDER BY 1;

-- name: key_rounded_up | tool: hand-written | rows: 10 | expect: node | large: plain
SELECT ceil(ts_ns / 3.6e12) AS c, round(ts_ns / 3.6e12) AS r, trunc(ts_ns / 3.6e12, 1) AS t, count(*) FROM ns_spans GROUP BY 1, 2, 3 ORDER BY 3, 1, 2;

-- name: key_bits | tool: hand-written | rows: 10 | expect: node | large: plain
SELECT ts_ns >> 40 AS t, count(*), sum(dur) FROM ns_spans GROUP BY 1 ORDER BY 1;

-- name: key_sign | tool: hand-written | rows: 10 | expect: node | large: plain
SELECT sign(ts_ns) AS sign, abs(ts_ns) / 600000000000 AS distance, count(*) FROM ns_spans WHERE ts_ns < 3600000000000 GROUP BY 1, 2 ORDER BY 1, 2;
