-- The window [@t0, @t1) cut into 1920 buckets, one a pixel of a wide screen.

-- plain SQL (in SQLite, three look-ups a bucket take half the time of GROUP BY, which sorts)
WITH RECURSIVE bucket(number, t0, t1) AS (
  SELECT 0, @t0, @t0 + (@t1 - @t0) / 1920
  UNION ALL
  SELECT number + 1, t1, @t0 + (number + 2) * (@t1 - @t0) / 1920 FROM bucket WHERE number < 1919)
SELECT number,
       (SELECT count(*) FROM spans WHERE ts_ns >= t0 AND ts_ns < t1) AS count,
       (SELECT sum(dur_ns) FROM spans WHERE ts_ns >= t0 AND ts_ns < t1),
       (SELECT max(dur_ns) FROM spans WHERE ts_ns >= t0 AND ts_ns < t1)
FROM bucket
WHERE count > 0
ORDER BY number;

-- iforest
SELECT bucket, count, sum_dur_ns, max_dur_ns
FROM spans_all(@t0, @t1, 1920)
ORDER BY bucket;
