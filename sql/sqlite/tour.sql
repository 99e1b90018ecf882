-- A tour of iforest in SQLite. From the project's root, once built:   sqlite3 :memory: < sql/sqlite/tour.sql
.load ./build/iforest
.mode list
.separator " | "
.headers on
.nullvalue NULL

-- A trace: spans with a start and a duration. The index refers to rows by their id, so the table needs an INTEGER PRIMARY KEY.
CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, name TEXT);
INSERT INTO spans(track, ts, dur, name) VALUES
  ('cpu',  0, 50, 'main'), ('cpu', 10, 5, 'parse'), ('cpu', 20, 12, 'plan'), ('cpu', 70, 20, 'emit'),
  ('gpu', 15, 30, 'draw'), ('gpu', 60, 30, 'draw'), ('gpu', 95,  1, 'flip');

.print
.print 1. The index reads the table once. Rows are split into series by track; the duration is aggregated.
CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=(track));
SELECT track, count, sum_dur, min_dur, max_dur, round(avg_dur, 2) AS avg_dur, first_ts, last_ts FROM spans_if;

.print
.print 2. A window [t0, t1): the spans that start in it. However many those are, it takes a few page reads.
SELECT track, count, sum_dur, max_dur FROM spans_if(10, 70);

.print
.print 3. Bounds may be left out, and may be given by name.
SELECT track, count, sum_dur FROM spans_if WHERE t0 = 60 AND track = 'gpu';

.print
.print 4. The window cut into n buckets: one row for each that holds spans. Ask for as many as your screen has pixels.
SELECT track, bucket, bucket_start, bucket_end, count, max_dur FROM spans_if(0, 100, 4) ORDER BY track, bucket;

.print
.print 5. The longest span comes with its id, so its row is one look-up away.
SELECT i.track, i.bucket, i.max_dur, s.id, s.name
FROM spans_if(0, 100, 4) AS i JOIN spans AS s ON s.id = i.max_dur_id
ORDER BY i.track, i.bucket;

.print
.print 6. Buckets of a fixed width: those of floor((ts - origin) / step). The first and last hold only what is in the window.
SELECT bucket, bucket_start, bucket_end, count FROM spans_if(5, 100) WHERE step = 30 AND track = 'cpu' ORDER BY bucket;

.print
.print "7. Charts want the empty buckets too: fill = 'zero', or 'null'."
SELECT bucket_start, count, sum_dur, max_dur FROM spans_if(0, 100)
WHERE step = 25 AND fill = 'zero' AND track = 'gpu' ORDER BY bucket;

.print
.print 8. A fold is the same index with fewer by columns. It stores nothing.
CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_if);
SELECT count, sum_dur, max_dur, max_dur_id, max_dur_ts FROM spans_all(10, 70);

.print
.print 9. What comes out are rows like any others: join them, filter them, compute with them.
SELECT track, sum_dur, 100 * sum_dur / sum(sum_dur) OVER () AS percent FROM spans_if(10, 70);

.print
.print 10. When the table changes, so do the answers, at once. What changed is pending until it is flushed into the index.
INSERT INTO spans(track, ts, dur, name) VALUES ('cpu', 50, 100, 'link');
SELECT track, count, max_dur FROM spans_if;
SELECT count(*) AS pending FROM spans_if_log;
INSERT INTO spans_if(spans_if) VALUES ('flush');
SELECT count(*) AS pending FROM spans_if_log;

.print
.print 11. Whoever doubts it can have every page read and every aggregate recomputed. Silence means that all is well.
INSERT INTO spans_if(spans_if) VALUES ('integrity-check');

.print
.print 12. It lives in ordinary tables of this database, and goes with DROP TABLE.
SELECT name FROM sqlite_schema WHERE name LIKE 'spans%' AND type IN ('table', 'trigger') ORDER BY name;
DROP TABLE spans_all;
DROP TABLE spans_if;
SELECT count(*) AS left_behind FROM sqlite_schema WHERE name LIKE 'spans_%';
