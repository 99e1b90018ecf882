-- The aggregates of the duration for every series, that is for every track and depth ...
CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts_ns, duration=dur_ns, by=(track, depth));

-- ... for every track with its depths folded together (this stores nothing) ...
CREATE VIRTUAL TABLE spans_by_track USING iforest_fold(spans_if, track);

-- ... and for everything, in a small index of its own.
CREATE VIRTUAL TABLE spans_all USING iforest(content=spans, time=ts_ns, duration=dur_ns);

-- The spans themselves, found by that index.
CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if);
