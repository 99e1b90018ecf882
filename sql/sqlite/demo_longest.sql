-- For each of 1920 pixels the longest span that starts there, by name.

-- plain SQL
WITH RECURSIVE
  bucket(number, t0, t1) AS (
    SELECT 0, @t0, @t0 + (@t1 - @t0) / 1920
    UNION ALL
    SELECT number + 1, t1, @t0 + (number + 2) * (@t1 - @t0) / 1920 FROM bucket WHERE number < 1919),
  longest(bucket, id) AS (
    SELECT number, (SELECT id FROM spans WHERE ts_ns >= t0 AND ts_ns < t1 ORDER BY dur_ns DESC, ts_ns, id LIMIT 1)
    FROM bucket)
SELECT bucket, dur_ns, track, name
FROM longest JOIN spans USING (id)
ORDER BY bucket;

-- iforest
SELECT i.bucket, i.max_dur_ns, s.track, s.name
FROM spans_all(@t0, @t1, 1920) AS i JOIN spans AS s ON s.id = i.max_dur_ns_id
ORDER BY i.bucket;
