-- B-trees over the same columns.
CREATE INDEX spans_track_btree ON spans(track, ts) INCLUDE (dur);
CREATE INDEX spans_time_btree ON spans(ts) INCLUDE (dur);
