-- What :range stands for, one after the other.

-- name: literals
ts >= '2024-03-09 10:00:00' AND ts < '2024-11-04 12:34:56.789';

-- name: between
ts BETWEEN '2024-03-10T05:00:00Z' AND '2024-03-11T05:05:00.5Z';

-- name: calls
ts >= TO_TIMESTAMP('2024-04-06 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND
	ts < TO_TIMESTAMP('2024-04-07 12:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US');

-- name: now
ts >= DATE_TRUNC('hour', NOW()) - INTERVAL '20 years' AND ts < NOW() - INTERVAL '1 day';

-- name: parameters | execute: '2024-10-05 03:00', '2024-10-06 18:00:00.000001'
ts >= $1 AND ts < $2;

-- name: subselects
ts >= (SELECT DATE_TRUNC('day', TIMESTAMPTZ '2024-11-02 12:00')) AND
	ts < (SELECT DATE_TRUNC('day', TIMESTAMPTZ '2024-11-02 12:00') + (2 || ' day')::INTERVAL);

-- name: other types
ts >= DATE '2024-10-05' AND ts < TIMESTAMP '2024-10-07 12:00:00';

-- name: outer columns | within: SELECT * FROM (VALUES (TIMESTAMPTZ '2024-03-09 12:00Z', TIMESTAMPTZ '2024-03-10 12:00Z'),
-- ('2024-11-03 00:00Z', '2024-11-03 12:00Z'), ('2024-11-03 03:00Z', NULL)) AS w(lo, hi) CROSS JOIN LATERAL (:query) AS q
ts >= w.lo AND ts < w.hi;
