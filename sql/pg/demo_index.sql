-- iforest's indexes, those that trace2pg makes: a series for each track, and everything in one.
CREATE INDEX spans_track_if ON spans USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');
CREATE INDEX spans_time_if ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur');
