-- The ten longest spans that begin in the window [@t0, @t1).

-- plain SQL
SELECT dur_ns, ts_ns, track, name FROM spans WHERE ts_ns >= @t0 AND ts_ns < @t1 ORDER BY dur_ns DESC, ts_ns, id LIMIT 10;

-- iforest
SELECT i.dur_ns, i.ts_ns, s.track, s.name
FROM (SELECT id, dur_ns, ts_ns FROM spans_rows WHERE ts_ns >= @t0 AND ts_ns < @t1 ORDER BY dur_ns DESC LIMIT 10) AS i JOIN spans AS s USING (id)
ORDER BY i.dur_ns DESC, i.ts_ns, i.id;
