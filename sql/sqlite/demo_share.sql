-- One track against all: its part of all spans, and of all time spent, in the window [@t0, @t1).

-- plain SQL
SELECT one.spans, one.busy, everything.spans, everything.busy, round(100.0 * one.busy / everything.busy, 6)
FROM (SELECT count(*) AS spans, sum(dur_ns) AS busy FROM spans WHERE ts_ns >= @t0 AND ts_ns < @t1
      AND track = @track) AS one,
     (SELECT count(*) AS spans, sum(dur_ns) AS busy FROM spans WHERE ts_ns >= @t0 AND ts_ns < @t1) AS everything;

-- iforest
SELECT one.count, one.sum_dur_ns, everything.count, everything.sum_dur_ns,
       round(100.0 * one.sum_dur_ns / everything.sum_dur_ns, 6)
FROM spans_by_track(@t0, @t1) AS one, spans_all(@t0, @t1) AS everything
WHERE one.track = @track;
