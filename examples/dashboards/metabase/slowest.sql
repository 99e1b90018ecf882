-- Slowest spans
-- chart: table | unit of dur: µs
SELECT ts AS time, service, name, status, dur
FROM spans
WHERE ts >= {{from}} AND ts < {{to}} [[AND service = {{service}}]]
ORDER BY dur DESC, ts
LIMIT 20
