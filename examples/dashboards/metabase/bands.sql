-- Durations in bands: how many spans took how long
-- chart: area | x: time | y: up to 5 ms, up to 20 ms, up to 100 ms, up to 500 ms, longer
SELECT date_bin('5 minutes', ts, 'epoch') AS time,
	count(*) FILTER (WHERE dur <= 5000) AS "up to 5 ms",
	count(*) FILTER (WHERE dur > 5000 AND dur <= 20000) AS "up to 20 ms",
	count(*) FILTER (WHERE dur > 20000 AND dur <= 100000) AS "up to 100 ms",
	count(*) FILTER (WHERE dur > 100000 AND dur <= 500000) AS "up to 500 ms",
	count(*) FILTER (WHERE dur > 500000) AS "longer"
FROM spans
WHERE ts >= {{from}} AND ts < {{to}} [[AND service = {{service}}]]
GROUP BY 1
ORDER BY 1
