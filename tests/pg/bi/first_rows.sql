-- The last and first rows of each group: DISTINCT ON, row_number() and rank() up to a number; and their values alone, as the first element of an array.

-- name: first_rows_distinct_on | tool: hand-written | rows: 25 | on: spans local_spans | expect: node
SELECT DISTINCT ON (service) service, ts, dur FROM :t ORDER BY service, ts DESC NULLS LAST, id;

-- name: first_rows_distinct_on_partitions | tool: hand-written | rows: 25 | on: parted_spans | expect: 3 nodes | large: some
SELECT DISTINCT ON (service) id, service, ts, dur, note FROM :t WHERE ts >= '2024-10-30' ORDER BY service, ts DESC, id;

-- name: first_rows_last_point | tool: Grafana | rows: 25 | on: spans local_spans | expect: node
SELECT DISTINCT ON (service, status) * FROM (SELECT id, service, status, dur, amount, ts AS at FROM :t WHERE service IN ('api', 'auth') AND ts IS NOT NULL) AS q ORDER BY service, status, at DESC, id;

-- name: first_rows_first_point | tool: hand-written | rows: 19, 25 | expect: node
SELECT DISTINCT ON (upper(service)) upper(service) AS label, ts, note, x FROM spans WHERE status = 'error' AND ts >= '2024-03-10' ORDER BY upper(service), ts, id;

-- name: first_rows_of_other_columns | tool: hand-written | rows: 21, 25 | expect: node
SELECT DISTINCT ON (service) service, id, note FROM spans WHERE note <> 'note 3' AND dur % 2 = 0 ORDER BY service DESC, ts DESC, id DESC;

-- name: first_rows_count | tool: hand-written | rows: 13, 25 | expect: node
SELECT count(*), sum(dur), max(ts) FROM (SELECT DISTINCT ON (service) service, dur, ts FROM spans WHERE ts < '2024-11-03' ORDER BY service, ts DESC, id) AS q;

-- name: first_rows_slice_max | tool: dbplyr | rows: 24 | expect: node
SELECT "id", "service", "dur" FROM (SELECT *, RANK() OVER (PARTITION BY "service" ORDER BY "ts" DESC) AS "col01" FROM spans WHERE ("service" != 'cart')) "q01" WHERE ("col01" <= 3) ORDER BY "service", "id";

-- name: first_rows_numbered | tool: SQLAlchemy | rows: 24 | expect: node
SELECT anon_1.service, anon_1.ts, anon_1.dur FROM (SELECT spans.service AS service, spans.ts AS ts, spans.dur AS dur, row_number() OVER (PARTITION BY spans.service ORDER BY spans.ts DESC NULLS LAST, spans.id) AS rn FROM spans) AS anon_1 WHERE anon_1.rn = 1 ORDER BY 1;

-- name: first_rows_by_value | tool: dbplyr | rows: 24 | expect: node
SELECT "id", "service", "dur" FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "service" ORDER BY "dur" DESC NULLS LAST, "id") AS "col01" FROM spans) "q01" WHERE ("col01" <= 3) ORDER BY "service", "id";

-- name: first_rows_longest | tool: hand-written | rows: 21, 25 | on: spans local_spans | expect: node
SELECT DISTINCT ON (service) service, id, ts, dur, note FROM :t WHERE dur IS NOT NULL AND status <> 'error' ORDER BY service, dur DESC, ts, id;

-- name: first_rows_slice_min | tool: dbplyr | rows: 24 | on: spans local_spans | expect: node
SELECT "id", "service", "amount" FROM (SELECT *, RANK() OVER (PARTITION BY "service" ORDER BY "amount") AS "col01" FROM :t WHERE ("ts" >= '2024-10-01')) "q01" WHERE ("col01" <= 2) ORDER BY "service", "amount", "id";

-- name: first_rows_beside_count | tool: hand-written | rows: 24 | expect: plain
SELECT * FROM (SELECT id, service, row_number() OVER w AS n, count(*) OVER (PARTITION BY service) AS total FROM spans WINDOW w AS (PARTITION BY service ORDER BY ts DESC, id)) AS q WHERE n <= 2 ORDER BY service, n;

-- name: first_rows_of_days | tool: hand-written | rows: 25 | expect: declined: first rows are not of by columns' values and in the order of the time or a value
SELECT DISTINCT ON (ts::date) ts::date AS day, ts, dur FROM spans ORDER BY ts::date, ts DESC, id;

-- name: first_rows_lateral | tool: hand-written | rows: N5 | expect: plain
SELECT l.service, s.ts, s.dur FROM (VALUES ('api'), ('auth'), ('cart')) AS l(service), LATERAL (SELECT ts, dur FROM spans WHERE spans.service = l.service AND spans.status = 'ok' ORDER BY ts DESC NULLS LAST, id LIMIT 1) AS s ORDER BY 1;

-- name: first_element | tool: hand-written | rows: N9 | on: spans local_spans parted_spans | expect: node
SELECT service, (array_agg(dur ORDER BY ts))[1] AS first, (array_agg(amount ORDER BY ts DESC NULLS LAST))[1] AS last, count(*) FROM :t GROUP BY 1 ORDER BY 1;

-- name: first_element_candles | tool: hand-written | rows: 3, N9 | on: spans parted_spans | expect: node
SELECT date_trunc('month', ts) AS month, (array_agg(amount ORDER BY ts ASC))[1] AS open, max(amount) AS high, min(amount) AS low, (array_agg(amount ORDER BY ts DESC))[1] AS close
FROM :t WHERE service = 'cart' AND ts IS NOT NULL GROUP BY 1 ORDER BY 1;

-- name: first_element_not_null | tool: Metabase | rows: 22, N9 | expect: node
SELECT "source"."service" AS "service", (ARRAY_AGG("source"."x" ORDER BY "source"."ts" DESC NULLS LAST) FILTER (WHERE "source"."x" IS NOT NULL AND "source"."status" = 'ok'))[1] AS "last"
FROM (SELECT * FROM "public"."spans") AS "source" WHERE "source"."ts" >= '2024-03-01' GROUP BY "source"."service" ORDER BY 1;

-- name: first_element_compared | tool: hand-written | rows: 14, N9 | expect: node
SELECT service, status, (array_agg(dur ORDER BY ts DESC NULLS LAST))[1] - avg(dur) AS above FROM spans GROUP BY 1, 2 HAVING (array_agg(dur ORDER BY ts DESC NULLS LAST))[1] > avg(dur) ORDER BY 1, 2;

-- name: first_element_of_rows_of_values | tool: hand-written | rows: 21, N9 | expect: node
SELECT service, (array_agg(dur ORDER BY ts))[1] AS first FROM spans WHERE dur > 900000 GROUP BY 1 ORDER BY 1;

-- name: first_element_of_key | tool: hand-written | rows: N9 | expect: declined: the first element of array_agg() is not of a value column in the order of the time column
SELECT date_trunc('month', ts) AS month, (array_agg(status ORDER BY ts))[1] AS first FROM spans WHERE service = 'cart' GROUP BY 1 ORDER BY 1;

-- name: first_element_by_value | tool: hand-written | rows: N9 | expect: declined: the first element of array_agg() is not of a value column in the order of the time column
SELECT service, (array_agg(x ORDER BY dur DESC NULLS LAST, x))[1] AS x FROM spans GROUP BY 1 ORDER BY 1;
