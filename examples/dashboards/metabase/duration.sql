-- Duration: p50, p95 and p99 in microseconds
-- chart: line | x: time | y: p50, p95, p99 | unit: µs | scale: log
SELECT date_bin('5 minutes', ts, 'epoch') AS time,
	iforest_quantile(iforest_sketch(dur), 0.5) AS p50,
	iforest_quantile(iforest_sketch(dur), 0.95) AS p95,
	iforest_quantile(iforest_sketch(dur), 0.99) AS p99
FROM spans
WHERE ts >= {{from}} AND ts < {{to}} [[AND service = {{service}}]]
GROUP BY 1
ORDER BY 1
