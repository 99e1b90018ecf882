-- Errors: spans with status error, in percent of all, by service
-- chart: line | x: time | series: service | y: percent | unit: percent
SELECT date_bin('5 minutes', ts, 'epoch') AS time, service, 100.0 * count(*) FILTER (WHERE status = 'error') / count(*) AS percent
FROM spans
WHERE ts >= {{from}} AND ts < {{to}} [[AND service = {{service}}]]
GROUP BY 1, 2
ORDER BY 1, 2
