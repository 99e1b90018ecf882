-- The table that clients ask, two roles of which one has no index, and what each statement's plan is logged with.
CREATE EXTENSION iforest;
CREATE TABLE spans(id bigint PRIMARY KEY, service text NOT NULL, status text NOT NULL, ts timestamp NOT NULL, dur bigint);
INSERT INTO spans SELECT i, 'service ' || i % 5, CASE WHEN i % 11 = 0 THEN 'error' ELSE 'ok' END, timestamp '2024-03-01' + i * interval '10 s', nullif(i * 7919 % 1000003, 77) FROM generate_series(1, 200000) i;
CREATE INDEX spans_if ON spans USING iforest (service, status, ts) INCLUDE (dur) WITH (histogram = 'dur(899999)', sketch = 'dur');
CREATE INDEX spans_time_if ON spans USING iforest (ts) INCLUDE (dur) WITH (histogram = 'dur(899999)', sketch = 'dur');
VACUUM ANALYZE spans;
CREATE ROLE with_index LOGIN;
CREATE ROLE without_index LOGIN;
GRANT SELECT ON spans TO with_index, without_index;
ALTER ROLE without_index SET iforest.enable = off;
ALTER ROLE with_index SET session_preload_libraries = '$libdir/iforest', 'auto_explain';
ALTER ROLE without_index SET session_preload_libraries = '$libdir/iforest';
ALTER ROLE with_index SET auto_explain.log_min_duration = 0;
