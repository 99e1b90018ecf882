-- Fills the table spans (demo_table.sql) out of nothing: 5 million spans on 32 tracks, always the same ones, or as many as :spans says.
--
-- A track is a row of requests, each of four spans on three levels. How long a request takes is heavy-tailed: 10 us / u with u
-- uniform in (0, 1], so most take some 20 us, a few 100 ms. The random numbers are those of the linear congruential generator of C.

BEGIN;
WITH RECURSIVE
  track(number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM track WHERE number < 31),
  request(track, number, random, ts, dur) AS (
    SELECT number, 1, number * 7919 + 1, number * 1009, 10000 FROM track
    UNION ALL
    SELECT track, number + 1, (random * 1103515245 + 12345) & 0x7fffffff,
           ts + dur + random % 60000,
           100000000 / (1 + (random >> 8) % 10000) + (random >> 4) % 100
    FROM request
    WHERE number <= coalesce(:spans, 5000000) / 128),
  part(depth, start, share, call) AS (
    VALUES (0, 0, 100, 'GET '), (1, 5, 50, 'parse '), (2, 12, 33, 'query '), (1, 60, 35, 'render ')),
  page(number, endpoint) AS (VALUES (0, '/'), (1, '/cart'), (2, '/search'))
INSERT INTO spans(ts_ns, dur_ns, track, depth, name)
SELECT ts + dur * start / 100, dur * share / 100, format('worker %02d', request.track), depth, call || endpoint
FROM request CROSS JOIN part JOIN page ON page.number = (random >> 12) % 3
LIMIT coalesce(:spans, 5000000);
COMMIT;
