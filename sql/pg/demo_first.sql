-- What a window [t0, t1) begins with.
SELECT ts, dur, track, name FROM spans
WHERE ts >= :t0 AND ts < :t1
ORDER BY ts, id LIMIT 100;
