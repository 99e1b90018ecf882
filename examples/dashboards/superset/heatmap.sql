-- Latency heatmap: a virtual dataset of counts in bands of duration, each named by its upper bound in microseconds
-- chart: heatmap | x: time | series: up_to | metric: SUM(spans)
SELECT date_bin('5 minutes', ts, 'epoch') AS time,
	(ARRAY[1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000, 2147483647])
		[1 + width_bucket(dur, ARRAY[1001, 2001, 5001, 10001, 20001, 50001, 100001, 200001, 500001, 1000001]::bigint[])] AS up_to,
	count(*) AS spans
FROM spans
WHERE true {% if from_dttm %} AND ts >= '{{ from_dttm }}'{% endif %}{% if to_dttm %} AND ts < '{{ to_dttm }}'{% endif %}
	{% if filter_values('service') %} AND service IN {{ filter_values('service')|where_in }}{% endif %}
GROUP BY 1, 2
