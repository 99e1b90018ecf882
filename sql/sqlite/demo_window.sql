-- One window [@t0, @t1) over everything: how many spans start in it, how long they take together, the longest.

-- plain SQL
SELECT count(*), sum(dur_ns), max(dur_ns)
FROM spans
WHERE ts_ns >= @t0 AND ts_ns < @t1;

-- iforest
SELECT count, sum_dur_ns, max_dur_ns
FROM spans_all(@t0, @t1);
