-- sample_postgres.sql: six hours of spans of four services up to now, made up, with the index that the dashboards ask.
--
--   createdb spans && psql -d spans -f examples/dashboards/sample_postgres.sql
--   psql -v until="'2026-01-01 06:00Z'" ...            the same up to another time, which must be given for answers that can be compared
--
-- A deployment of search halves its durations after two hours; from 3:40 to 4:10 payments are slow and fail, and checkout with them.
\if :{?until}
\else
\set until now()
\endif

CREATE EXTENSION IF NOT EXISTS iforest;
CREATE TABLE spans (id bigint PRIMARY KEY, service text NOT NULL, name text NOT NULL, status text NOT NULL, ts timestamptz NOT NULL, dur bigint NOT NULL); -- dur in microseconds
INSERT INTO spans
WITH
	slot AS (SELECT i, (i * i * 31 + i * 7 + 12345) % 99991 AS h FROM generate_series(0::bigint, 215999) AS i),
	kept AS (SELECT *, (h * 7919 + i) % 10007 % 10 AS s, (h * 104729 + i * 3) % 100003 AS r, i BETWEEN 132000 AND 150000 AS bad
		FROM slot WHERE h % 1000 < 300 + i * (216000 - i) / 19440000),
	named AS (SELECT *, CASE WHEN s < 4 THEN 'gateway' WHEN s < 7 THEN 'search' WHEN s < 9 THEN 'checkout' ELSE 'payments' END AS service FROM kept),
	shaped AS (SELECT *,
		CASE service WHEN 'gateway' THEN 2000 WHEN 'search' THEN CASE WHEN i < 72000 THEN 6000 ELSE 3000 END
			WHEN 'checkout' THEN CASE WHEN bad THEN 24000 ELSE 12000 END ELSE CASE WHEN bad THEN 180000 ELSE 30000 END END AS base,
		CASE WHEN bad AND service = 'payments' THEN 30 WHEN bad AND service = 'checkout' THEN 8 ELSE 1 END AS failing
		FROM named)
SELECT i + 1, service,
	CASE service WHEN 'gateway' THEN CASE WHEN h % 3 = 0 THEN 'GET /cart' ELSE 'GET /' END WHEN 'search' THEN CASE WHEN h % 4 = 0 THEN 'suggest' ELSE 'query' END
		WHEN 'checkout' THEN 'POST /order' ELSE CASE WHEN h % 20 = 0 THEN 'refund' ELSE 'charge' END END,
	CASE WHEN r / 1000 < failing THEN 'error' ELSE 'ok' END,
	:until::timestamptz - interval '6 hours' + i * interval '100 ms' + h * interval '1 us',
	base + base * (r % 1000) / 500 + base * 40 / (1001 - r % 1000)
FROM shaped ORDER BY i;

CREATE INDEX spans_if ON spans USING iforest (service, status, ts) INCLUDE (dur)
	WITH (duration = 'dur', sketch = 'dur', histogram = 'dur(1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000)');
SELECT iforest_create_functions('spans_if') \g /dev/null
VACUUM ANALYZE spans;
