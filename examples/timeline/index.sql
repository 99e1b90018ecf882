-- What the timeline asks: a lane is a track and a depth, in which spans never overlap.
CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts_ns, duration=dur_ns, by=(track, depth));
CREATE VIRTUAL TABLE spans_overlap USING iforest_overlap(spans_if);
