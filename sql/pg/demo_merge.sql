-- What is pending becomes runs, and runs are merged where that pays; then each index is read as a whole and compared with itself.
SELECT iforest_merge('spans_track_if');
SELECT iforest_merge('spans_time_if');
SELECT iforest_check('spans_track_if');
SELECT iforest_check('spans_time_if');
