-- Rate: spans a minute, by service
-- chart: line | x: time | series: service | y: spans
SELECT date_trunc('minute', ts) AS time, service, count(*) AS spans
FROM spans
WHERE ts >= {{from}} AND ts < {{to}} [[AND service = {{service}}]]
GROUP BY 1, 2
ORDER BY 1, 2
