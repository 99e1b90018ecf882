-- What plain SQL needs to be fast: indexes that cover its queries, one over time, one over each track and depth.
CREATE INDEX spans_time ON spans(ts_ns, dur_ns);
CREATE INDEX spans_track ON spans(track, depth, ts_ns, dur_ns);
