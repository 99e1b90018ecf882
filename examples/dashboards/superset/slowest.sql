-- Slowest spans: a virtual dataset of the 100 longest
-- chart: table | unit of dur: µs
SELECT ts AS time, service, name, status, dur
FROM spans
WHERE true {% if from_dttm %} AND ts >= '{{ from_dttm }}'{% endif %}{% if to_dttm %} AND ts < '{{ to_dttm }}'{% endif %}
	{% if filter_values('service') %} AND service IN {{ filter_values('service')|where_in }}{% endif %}
ORDER BY dur DESC, ts
LIMIT 100
