-- The indexes that the timeline needs, as trace2sqlite makes them: a lane is a track and a depth, in which spans never overlap.
CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=(track, depth));
CREATE VIRTUAL TABLE spans_overlap USING iforest_overlap(spans_if);
CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if);
