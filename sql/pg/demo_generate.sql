-- Makes the table spans out of nothing: 5 million spans on 32 tracks, always the same ones, those of sql/sqlite/demo_generate.sql.
--
-- A track is a row of requests, each of four spans on three levels. How long a request takes is heavy-tailed: 10 us / u with u
-- uniform in (0, 1], so most take some 20 us, a few 100 ms. The random numbers are those of the linear congruential generator of C.

BEGIN;
CREATE TABLE spans(
	id    bigint GENERATED ALWAYS AS IDENTITY,
	ts    bigint NOT NULL,
	dur   bigint NOT NULL,
	track text NOT NULL,
	depth integer NOT NULL,
	name  text NOT NULL,
	args  json
);
WITH RECURSIVE
	request(track, number, random, ts, dur) AS (
		SELECT number, 1, number * 7919 + 1::bigint, number * 1009::bigint, 10000::bigint FROM generate_series(0, 31) AS number
		UNION ALL
		SELECT track, number + 1, (random * 1103515245 + 12345) & x'7fffffff'::bigint,
			ts + dur + random % 60000,
			100000000 / (1 + (random >> 8) % 10000) + (random >> 4) % 100
		FROM request
		WHERE number < 39063),
	part(depth, start, share, call) AS (
		VALUES (0, 0, 100, 'GET '), (1, 5, 50, 'parse '), (2, 12, 33, 'query '), (1, 60, 35, 'render '))
INSERT INTO spans(ts, dur, track, depth, name)
SELECT ts + dur * start / 100, dur * share / 100, 'worker ' || to_char(track, 'FM00'), depth,
	call || (ARRAY['/', '/cart', '/search'])[1 + (random >> 12) % 3]
FROM request, part
LIMIT 5000000;
COMMIT;
ALTER TABLE spans ADD PRIMARY KEY (id);
VACUUM ANALYZE spans;
