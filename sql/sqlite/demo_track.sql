-- What a trace viewer draws of one track: at each depth, for each of 1920 pixels, the longest span that starts there, by name.

-- plain SQL
WITH RECURSIVE
  bucket(number, t0, t1) AS (
    SELECT 0, @t0, @t0 + (@t1 - @t0) / 1920
    UNION ALL
    SELECT number + 1, t1, @t0 + (number + 2) * (@t1 - @t0) / 1920 FROM bucket WHERE number < 1919),
  level(depth) AS (
    SELECT 0 UNION ALL SELECT depth + 1 FROM level WHERE depth < (SELECT max(depth) FROM spans WHERE track = @track)),
  longest(depth, bucket, id) AS (
    SELECT depth, number, (SELECT id FROM spans AS s
                           WHERE track = @track AND s.depth = level.depth AND ts_ns >= t0 AND ts_ns < t1
                           ORDER BY dur_ns DESC, ts_ns, id LIMIT 1)
    FROM level CROSS JOIN bucket)
SELECT depth, bucket, dur_ns, name
FROM longest JOIN spans USING (id, depth)
ORDER BY depth, bucket;

-- iforest
SELECT i.depth, i.bucket, i.max_dur_ns, s.name
FROM spans_if(@t0, @t1, 1920) AS i JOIN spans AS s ON s.id = i.max_dur_ns_id
WHERE i.track = @track
ORDER BY i.depth, i.bucket;
