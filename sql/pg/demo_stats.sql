-- What iforest_stats says of the indexes of demo_index.sql.
SELECT format('%s: %s entries in %s runs, %s pending; %s pages, %s of them free', name, entries, runs, pending_entries, total_pages, free_pages)
FROM unnest('{spans_track_if, spans_time_if}'::regclass[]) AS name, iforest_stats(name);
