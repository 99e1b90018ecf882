-- Requests: a virtual dataset for charts of rate and errors
-- chart: line | x: time | series: service | metric: SUM(spans) | unit: spans in 5 minutes
SELECT date_bin('5 minutes', ts, 'epoch') AS time, service, status, count(*) AS spans, sum(dur) AS busy, max(dur) AS slowest
FROM spans
WHERE true {% if from_dttm %} AND ts >= '{{ from_dttm }}'{% endif %}{% if to_dttm %} AND ts < '{{ to_dttm }}'{% endif %}
	{% if filter_values('service') %} AND service IN {{ filter_values('service')|where_in }}{% endif %}
GROUP BY 1, 2, 3
