-- A tour of iforest in PostgreSQL. In a database with nothing to lose, from the project's root:   psql -X -q -f sql/pg/tour.sql
-- Or in a server that is made for it and gone afterwards:   make pg && tests/pg/cluster.sh run psql -X -q -f sql/pg/tour.sql
\set ON_ERROR_STOP on
\set QUIET on
\pset pager off
\pset footer off
\pset format unaligned
\pset fieldsep ' | '
\pset null NULL
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS iforest;
CREATE SCHEMA iforest_tour;
SET search_path = iforest_tour, public;

-- A trace: spans with a start and a duration. 100 000 of them on 20 tracks.
CREATE TABLE spans(id bigint GENERATED ALWAYS AS IDENTITY, track text, ts bigint, dur bigint, name text);
INSERT INTO spans(track, ts, dur, name)
	SELECT 'track ' || i % 20, i * 10, i * i % 997, 'span ' || i FROM generate_series(0::bigint, 99999) i;

\echo
\echo 1. By columns first, the time column last; values are INCLUDEd, and one of them may be the duration.
CREATE INDEX spans_if ON spans USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');
CREATE INDEX spans_btree ON spans(track, ts) INCLUDE (dur);
VACUUM ANALYZE spans;
SELECT entries, series, runs, bytes_per_entry < 10 AS few_bytes FROM iforest_stats('spans_if');

\echo
\echo 2. It holds what a B-tree over the same columns holds, in a fifth of the space or less.
SELECT pg_relation_size('spans_btree') > 5 * pg_relation_size('spans_if') AS is_small;
DROP INDEX spans_btree;

\echo
\echo 3. A track in a window: an index scan.
EXPLAIN (COSTS OFF) SELECT ts, dur, name FROM spans WHERE track = 'track 7' AND ts BETWEEN 500000 AND 500800;
SELECT ts, dur, name FROM spans WHERE track = 'track 7' AND ts BETWEEN 500000 AND 500800;

\echo
\echo 4. The latest spans of a track: the same, read backward. Nothing is sorted.
EXPLAIN (COSTS OFF) SELECT ts, name FROM spans WHERE track = 'track 7' ORDER BY ts DESC LIMIT 3;
SELECT ts, name FROM spans WHERE track = 'track 7' ORDER BY ts DESC LIMIT 3;

\echo
\echo 5. What several tracks did last before a moment: a look into the index for each.
SELECT track, last.* FROM unnest('{track 1, track 5, track 9}'::text[]) track,
	LATERAL (SELECT ts, name FROM spans WHERE spans.track = track.track AND ts < 700000 ORDER BY ts DESC LIMIT 1) last;

\echo
\echo 6. The ends of a track.
SELECT min(ts), max(ts) FROM spans WHERE track = 'track 7';

\echo
\echo 7. Aggregates are answered from the sums that the index holds (see EXPLAIN).
SELECT count(*), sum(dur), max(dur) FROM spans WHERE track IN ('track 7', 'track 8') AND ts BETWEEN 500000 AND 600000;

\echo
\echo 8. It follows its table. New rows are pending at first; they are found like all others.
INSERT INTO spans(track, ts, dur, name) VALUES ('track 7', 1000000, 5, 'late'), ('track 20', 1000001, 6, 'of a new track'), (NULL, NULL, NULL, 'of no track');
SELECT ts, name FROM spans WHERE track = 'track 7' ORDER BY ts DESC LIMIT 1;
SELECT entries, pending_entries, series FROM iforest_stats('spans_if');

\echo
\echo 9. VACUUM makes runs of them and takes out what was deleted. So do sessions and a background worker, when there is enough pending.
DELETE FROM spans WHERE ts < 100000;
VACUUM spans;
SELECT entries, pending_entries FROM iforest_stats('spans_if');

\echo
\echo 10. One run is the fastest to read.
SELECT iforest_merge('spans_if', true) AS runs;

\echo
\echo 11. Whoever doubts it can have every page read, every sum recomputed, and the table compared. Silence means that all is well.
SELECT iforest_check('spans_if', true) AS silence;

\echo
\echo 12. And look inside: the first entries of the first leaf, with their rows.
SELECT e.series, e.ts_key, e.value_keys, s.track, s.ts, s.dur
FROM (SELECT min(block) AS block FROM iforest_stats('spans_if') i, generate_series(0, i.total_pages - 1) block, iforest_page('spans_if', block) p
      WHERE p.kind = 'run' AND p.level = 0 AND p.number = 0) first, iforest_entries('spans_if', first.block) e JOIN spans s ON s.ctid = e.tid
ORDER BY e.series, e.ts_key LIMIT 3;

\echo
\echo 13. It goes with DROP INDEX, or with its table.
DROP SCHEMA iforest_tour CASCADE;
SELECT count(*) AS left_behind FROM pg_class WHERE relname = 'spans_if';
