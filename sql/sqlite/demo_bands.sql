-- Draws counters as a picture: of each pixel the least, the greatest and the mean value. Prints SVG.
--
--   .load ./build/iforest
--   .parameter init
--   .parameter set @what "'My trace'"
--   .output counters.svg
--   .read sql/sqlite/demo_bands.sql
--
-- One question is all that is read of the samples, whatever their number: 1120 buckets of each counter. A pixel without samples keeps the
-- value that the last one had.

.headers off
.mode list
.parameter set @pixels 1120
.parameter set @left 150
.parameter set @row 100
REPLACE INTO temp.sqlite_parameters(key, value)
  SELECT '@t0', min(first_ts) FROM counters_if UNION ALL SELECT '@t1', max(last_ts) + 1 FROM counters_if;

CREATE TEMP TABLE clock AS SELECT julianday('now') AS started;
CREATE TEMP TABLE pixel AS
SELECT name, bucket AS x, count, min_value AS low, max_value AS high, avg_value AS mean, last_value AS latest
FROM counters_if(@t0, @t1, @pixels);
CREATE TEMP TABLE took AS SELECT max(round((julianday('now') - started) * 86400000), 1) AS ms FROM clock;

-- The four counters with the most pixels, each from 0 (or below) to its greatest value.
CREATE TEMP TABLE band AS
SELECT name, min(min(low), 0.0) AS low, max(high) AS high, row_number() OVER (ORDER BY name) - 1 AS number
FROM (SELECT *, dense_rank() OVER (ORDER BY pixels DESC, name) AS place FROM (SELECT *, count(*) OVER (PARTITION BY name) AS pixels FROM pixel))
WHERE place <= 4
GROUP BY name;

CREATE TEMP TABLE point AS
SELECT number, x, @row * number + (@row - 24) * (b.high - p.low) / max(b.high - b.low, 1e-9) AS bottom,
       @row * number + (@row - 24) * (b.high - p.high) / max(b.high - b.low, 1e-9) AS top,
       @row * number + (@row - 24) * (b.high - p.mean) / max(b.high - b.low, 1e-9) AS mean,
       @row * number + (@row - 24) * (b.high - p.latest) / max(b.high - b.low, 1e-9) AS latest,
       lead(x, 1, @pixels) OVER (PARTITION BY name ORDER BY x) AS next_x
FROM pixel AS p JOIN band AS b USING (name);

SELECT format('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1290 %d" font-family="Helvetica, Arial, ''DejaVu Sans'', sans-serif">
<style>
.title {font-size: 17px; font-weight: bold; fill: #24292f}
.note {font-size: 13px; fill: #57606a; text-anchor: end}
.limit {font-size: 11px; fill: #57606a; text-anchor: end}
text {font-size: 12px; fill: #24292f}
path {fill: none}
.band {stroke: #4e79a7; stroke-opacity: .4}
.held {stroke: #4e79a7; stroke-opacity: .6}
.mean {stroke: #1b3a5c; stroke-width: 1.2}
.zero {stroke: #8c959f; stroke-opacity: .4}
</style>
<rect width="100%%" height="100%%" fill="#fff"/>
<text class="title" x="10" y="32">%s</text><text class="note" x="%d" y="32">%s</text>',
  60 + @row * (SELECT count(*) FROM band), @what, @left + @pixels,
  (SELECT format('%,d samples as %,d buckets in %d ms: least, greatest and mean of each', sum(count), count(*), ms) FROM pixel, took));
SELECT format('<g transform="translate(%d 56)">', @left);
SELECT format('<path class="zero" d="M0 %gh%d"/><text x="%d" y="%g">%s</text><text class="limit" x="-8" y="%g">%s</text><text class="limit" x="-8" y="%g">%s</text>',
              @row * number + @row - 24.0, @pixels, 10 - @left, @row * number + 40.0,
              replace(replace(replace(iif(length(name) > 20, substr(name, 1, 19) || '…', name), '&', '&amp;'), '<', '&lt;'), '>', '&gt;'),
              @row * number + 4.0, format('%.6g', high), @row * number + @row - 20.0, format('%.6g', low))
FROM band;
SELECT format('<path class="band" d="%s"/>', group_concat(format('M%g %.1fV%.1f', x + 0.5, bottom + 0.5, top - 0.5), '')) FROM point GROUP BY number;
SELECT format('<path class="held" d="%s"/>', group_concat(format('M%d %.1fH%d', x + 1, latest, next_x), '')) FROM point WHERE next_x > x + 1 GROUP BY number;
SELECT format('<path class="mean" d="%s"/>', group_concat(format('M%d %.1fh1', x, mean), '')) FROM point GROUP BY number;
SELECT '</g></svg>';
