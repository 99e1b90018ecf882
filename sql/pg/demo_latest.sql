-- The latest spans of a track.
SELECT ts, dur, name FROM spans
WHERE track = :'track'
ORDER BY ts DESC, id DESC LIMIT 100;
