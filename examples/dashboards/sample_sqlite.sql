-- sample_sqlite.sql: the spans of sample_postgres.sql, from 2026-01-01 00:00 to 06:00 UTC, with the tables that the dashboards ask.
--
--   sqlite3 spans.db -cmd '.load ./build/iforest' < examples/dashboards/sample_sqlite.sql
CREATE TABLE spans(id INTEGER PRIMARY KEY, service TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, ts INTEGER NOT NULL, dur INTEGER NOT NULL);   -- microseconds since 1970
INSERT INTO spans
WITH RECURSIVE
	number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i < 215999),
	slot AS (SELECT i, (i * i * 31 + i * 7 + 12345) % 99991 AS h FROM number),
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
	1767225600000000 + i * 100000 + h,
	base + base * (r % 1000) / 500 + base * 40 / (1001 - r % 1000)
FROM shaped ORDER BY i;

CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=(service, status), sketch=dur,
	histogram=(dur(1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000)));
CREATE VIRTUAL TABLE spans_by_service USING iforest_fold(spans_if, service);
CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_if);
CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if);
CREATE VIRTUAL TABLE spans_busy USING iforest_overlap(spans_if, service);
