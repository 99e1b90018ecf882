-- Draws the table spans (with depth: demo_depth.sql) as a picture: all of it, and below that a busy fortieth of it. Prints SVG.
--
--   psql -X -q -v what='My trace' -f sql/pg/demo_timeline.sql >timeline.svg
--
-- It is the picture of sql/sqlite/demo_timeline.sql. There its numbers come from the index, here from the rows.

\set QUIET on
\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE TEMP TABLE svg(number serial, line text);
CREATE TEMP TABLE colour(number integer GENERATED ALWAYS AS IDENTITY, name text UNIQUE);
CREATE TEMP TABLE palette(number integer, fill text);
INSERT INTO palette VALUES
	(0, '#4e79a7'), (1, '#f28e2b'), (2, '#59a14f'), (3, '#e15759'), (4, '#76b7b2'), (5, '#b07aa1'),
	(6, '#edc948'), (7, '#9c755f'), (8, '#ff9da7'), (9, '#d37295'), (10, '#8cd17d'), (11, '#a0a8b4');
CREATE FUNCTION pg_temp.escaped(words text) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$SELECT replace(replace(replace(words, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')$$;
-- a number as SVG likes it
CREATE FUNCTION pg_temp.short(number double precision) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$SELECT trim_scale(round(number::numeric, 2))::text$$;

\set pixels 1120
\set left 150
\set top 70

-- All of it; the fortieth is where most tracks and depths are busy, not too near to the ends.
SELECT min(ts) AS t0, greatest(max(ts + dur), min(ts) + 40) AS t1, min(ts) AS zero FROM spans \gset
SELECT coalesce(max(:t0 + bucket * (:t1 - :t0) / 40), :t0) AS zoom0, coalesce(max(:t0 + (bucket + 1) * (:t1 - :t0) / 40), :t1) AS zoom1
FROM (SELECT bucket
      FROM (SELECT ((ts - :t0 + 1) * 40 - 1) / (:t1 - :t0) AS bucket, count(*) AS spans FROM spans GROUP BY 1, track, depth) AS each
      WHERE bucket BETWEEN 8 AND 31
      GROUP BY bucket ORDER BY count(*) DESC, sum(spans) DESC, bucket LIMIT 1) AS busiest \gset

\set title :what
\set row 3
\set deep 3
\set height 520
\ir demo_panel.sql

\set t0 :zoom0
\set t1 :zoom1
\set title 'The framed fortieth'
\set row 15
\set deep 8
\set height 450
\ir demo_panel.sql

SELECT format('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1290 %s" font-family="Helvetica, Arial, ''DejaVu Sans'', sans-serif">', :top - 50);
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
SELECT line FROM svg ORDER BY number;
SELECT '</svg>';
