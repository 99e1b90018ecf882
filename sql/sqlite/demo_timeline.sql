-- Draws a trace as a picture: all of it, and below that a busy fortieth of it. Prints SVG.
--
--   .load ./build/iforest
--   .parameter init
--   .parameter set @what "'My trace'"
--   .output timeline.svg
--   .read sql/sqlite/demo_timeline.sql

.headers off
.mode list
CREATE TEMP TABLE svg(line TEXT);
CREATE TEMP TABLE panel AS SELECT 70 AS top, 0.0 AS started, 0 AS ms;
CREATE TEMP TABLE colour(number INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TEMP TABLE palette(number INTEGER PRIMARY KEY, fill TEXT);
INSERT INTO palette VALUES
  (0, '#4e79a7'), (1, '#f28e2b'), (2, '#59a14f'), (3, '#e15759'), (4, '#76b7b2'), (5, '#b07aa1'),
  (6, '#edc948'), (7, '#9c755f'), (8, '#ff9da7'), (9, '#d37295'), (10, '#8cd17d'), (11, '#a0a8b4');

.parameter set @pixels 1120
.parameter set @left 150

-- All of it.
REPLACE INTO temp.sqlite_parameters(key, value)
  SELECT '@t0', min(ts_ns) FROM spans UNION ALL SELECT '@t1', max(max(ts_ns + dur_ns), min(ts_ns) + 40) FROM spans;
REPLACE INTO temp.sqlite_parameters(key, value)
  WITH busiest AS (SELECT bucket_start, bucket_end FROM spans_if(@t0, @t1, 40)
                   GROUP BY bucket ORDER BY bucket BETWEEN 8 AND 31 DESC, count(*) DESC, sum(count) DESC, bucket LIMIT 1)
  SELECT '@zero', @t0
  UNION ALL SELECT '@zoom0', coalesce((SELECT bucket_start FROM busiest), @t0)
  UNION ALL SELECT '@zoom1', coalesce((SELECT bucket_end FROM busiest), @t1);
REPLACE INTO temp.sqlite_parameters(key, value) VALUES ('@title', @what);
.parameter set @row 3
.parameter set @deep 3
.parameter set @height 520
.read sql/sqlite/demo_panel.sql

-- A fortieth of it: where most tracks and depths are busy, not too near to the ends if there is anything elsewhere.
REPLACE INTO temp.sqlite_parameters(key, value) VALUES ('@t0', @zoom0), ('@t1', @zoom1);
.parameter set @row 15
.parameter set @deep 8
.parameter set @height 450
.parameter set @title "'The framed fortieth'"
.read sql/sqlite/demo_panel.sql

SELECT format('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1290 %d" font-family="Helvetica, Arial, ''DejaVu Sans'', sans-serif">', top - 50)
FROM panel;
SELECT '<style>
.title {font-size: 17px; font-weight: bold; fill: #24292f}
.note {font-size: 13px; fill: #57606a; text-anchor: end}
.axis {font-size: 12px; fill: #57606a; text-anchor: middle}
.name {font-size: 11px; fill: #fff; paint-order: stroke; stroke: #24292f; stroke-opacity: .35; stroke-width: 2px}
.tick {stroke: #8c959f; stroke-opacity: .25}
.zoom {fill: #24292f; fill-opacity: .06; stroke: #24292f; stroke-opacity: .6}
text {font-size: 11px; fill: #24292f}
path {fill: none}
</style>
<rect width="100%" height="100%" fill="#fff"/>';
SELECT line FROM svg ORDER BY rowid;
SELECT '</svg>';
