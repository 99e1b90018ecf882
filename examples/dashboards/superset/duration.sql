-- Duration: a virtual dataset with p50, p95 and p99 of each service in microseconds
-- chart: line | x: time | series: service | metric: MAX(p95) | unit: µs | scale: log
SELECT date_bin('5 minutes', ts, 'epoch') AS time, service,
	iforest_quantile(iforest_sketch(dur), 0.5) AS p50,
	iforest_quantile(iforest_sketch(dur), 0.95) AS p95,
	iforest_quantile(iforest_sketch(dur), 0.99) AS p99
FROM spans
WHERE true {% if from_dttm %} AND ts >= '{{ from_dttm }}'{% endif %}{% if to_dttm %} AND ts < '{{ to_dttm }}'{% endif %}
	{% if filter_values('service') %} AND service IN {{ filter_values('service')|where_in }}{% endif %}
GROUP BY 1, 2
