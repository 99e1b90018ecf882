-- Draws one panel of a timeline: the window [t0, t1), a row for each track and depth, a bucket for each pixel. Appends SVG to the
-- table svg. demo_timeline.sql says how it is called.
--
-- Two queries read the spans:
--   * what starts in each pixel: how many spans, how long they take, the latest and the longest of them;
--   * what reaches into the window from the left: spans of one track and depth never overlap (that is what depth means), so only
--     the latest span before the window can.

DROP TABLE IF EXISTS pixel, shown, row_of, piece;
SELECT extract(epoch FROM clock_timestamp()) AS started \gset

-- The longest is the earliest of the longest ones; arrays are compared from their first element on.
CREATE TEMP TABLE pixel AS
SELECT track, depth, x, count,
	busy - greatest(latest[3] - (:t0 + (x + 1) * (:t1 - :t0) / :pixels), 0) AS busy,       -- the latest may outlive the pixel
	(x + 1) * (:t1 - :t0) / :pixels - x * (:t1 - :t0) / :pixels AS width,
	latest[3] AS open_until, -longest[3] AS longest
FROM (SELECT track, depth, ((ts - :t0 + 1) * :pixels - 1) / (:t1 - :t0) AS x, count(*) AS count, sum(dur)::bigint AS busy,
	max(ARRAY[ts, id, ts + dur]) AS latest, max(ARRAY[dur, -ts, -id]) AS longest
      FROM spans WHERE ts >= :t0 AND ts < :t1
      GROUP BY 1, 2, 3) AS bucket;

INSERT INTO pixel
SELECT DISTINCT ON (track, depth) track, depth, -1, 0, 0, 1, ts + dur, id
FROM spans WHERE ts < :t0 AND ts + dur > :t0
ORDER BY track, depth, ts DESC, id DESC;

SELECT greatest(round(1000 * (extract(epoch FROM clock_timestamp()) - :started)), 1) AS ms \gset

-- The tracks, top down: as many of the fullest as fit into the height with so many rows each; and of each as many rows as there is room for.
CREATE TEMP TABLE shown AS
SELECT track, max(depth) + 1 AS rows
FROM pixel GROUP BY track
ORDER BY sum(greatest((least(open_until, :t1) - :t0) * :pixels / (:t1 - :t0) - greatest(x, 0), 1)) DESC, track
LIMIT greatest(:height / (:deep * :row + 2), 1);
CREATE TEMP TABLE row_of AS
WITH
	size AS (SELECT coalesce(max(n), 1) AS rows FROM generate_series(2, 100) AS n
		 WHERE (SELECT sum(least(s.rows, n) * :row + 2) FROM shown AS s) <= :height),
	tall AS (SELECT track, least(s.rows, size.rows) AS rows FROM shown AS s, size)
SELECT track, rows,
	greatest(:row, 11.0 / rows) AS row,
	sum(greatest(rows * :row, 11) + 2) OVER (ORDER BY track) - greatest(rows * :row, 11) AS y,
	row_number() OVER (ORDER BY track) AS number
FROM tall;

-- Names get their colours in the order of the time they fill.
INSERT INTO colour(name)
SELECT name FROM (SELECT s.name, sum(p.busy) AS busy FROM pixel AS p JOIN spans AS s ON s.id = p.longest GROUP BY s.name) AS filled
WHERE name NOT IN (SELECT name FROM colour)
ORDER BY busy DESC, name;

-- Pieces: pixels, lighter where less of them is busy, and what reaches out of them to the right. Then neighbours of the same look are
-- joined.
CREATE TEMP TABLE piece AS
WITH
	part AS (
		SELECT track, depth, x, 1::bigint AS w, CASE WHEN 4 * busy < width THEN 0.3 WHEN 3 * busy < 2 * width THEN 0.55
							WHEN 10 * busy < 9 * width THEN 0.8 ELSE 1 END AS shade, longest, false AS whole
		FROM pixel WHERE x >= 0
		UNION ALL
		SELECT track, depth, x + 1, to_x - x - 1, 1, longest, true
		FROM (SELECT *, ((least(open_until, :t1) - :t0) * :pixels + (:t1 - :t0) / 2) / (:t1 - :t0) AS to_x FROM pixel) AS reaching
		WHERE to_x > x + 1),
	look AS (
		SELECT p.*, c.number - 1 AS colour
		FROM part AS p JOIN spans AS s ON s.id = p.longest JOIN colour AS c USING (name)),
	marked AS (
		SELECT *, x IS DISTINCT FROM lag(x + w) OVER row OR shade <> lag(shade) OVER row OR colour <> lag(colour) OVER row
			OR whole OR lag(whole) OVER row AS is_new
		FROM look WINDOW row AS (PARTITION BY track, depth ORDER BY x, w)),
	numbered AS (SELECT *, count(*) FILTER (WHERE is_new) OVER (PARTITION BY track, depth ORDER BY x, w ROWS UNBOUNDED PRECEDING) AS island
		     FROM marked)
SELECT r.y + p.depth * r.row AS y, r.row, p.depth, min(p.x) AS x, max(p.x + p.w) - min(p.x) AS w, min(p.shade) AS shade, min(p.colour) AS colour,
	min(p.longest) FILTER (WHERE p.whole) AS span
FROM numbered AS p JOIN row_of AS r USING (track)
WHERE p.depth < r.rows
GROUP BY r.y, r.row, p.track, p.depth, p.island
ORDER BY 1, 4;

-- From here on it is all drawing.

INSERT INTO svg(line) SELECT format('<g transform="translate(%s %s)">', :left, :top);

INSERT INTO svg(line)
SELECT format('<text class="title" x="%s" y="-38">%s</text><text class="note" x="%s" y="-38">%s</text>', 10 - :left, pg_temp.escaped(:'title'), :pixels,
	format('%s spans as %s buckets in %s ms', to_char(sum(count), 'FM999,999,999,999'),
		to_char(count(*) FILTER (WHERE x >= 0), 'FM999,999,999'), :ms))
FROM pixel;

INSERT INTO svg(line)
SELECT format('<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/><text x="%s" y="%s">%s</text>',
	10 - :left, pg_temp.short(y - 1), :left - 10 + :pixels, pg_temp.short(rows * row + 2), CASE number % 2 WHEN 1 THEN '#f3f5f8' ELSE '#fafbfc' END,
	16 - :left, pg_temp.short(y + least(rows * row / 2 + 4, 15)),
	pg_temp.escaped(CASE WHEN length(track) > :left / 7 - 3 THEN left(track, :left / 7 - 4) || '…' ELSE track END))
FROM row_of ORDER BY number;

-- The axis counts from the beginning of the trace, in steps of 1, 2 or 5.
INSERT INTO svg(line)
WITH
	step AS (SELECT min(n * 10::bigint ^ power)::bigint AS ns FROM generate_series(0, 15) AS power, unnest('{1, 2, 5}'::integer[]) AS n
		 WHERE n * 10::bigint ^ (power + 1) > :t1 - :t0),
	tick AS (SELECT t FROM step, generate_series((:t0 - :zero + ns - 1) / ns * ns, :t1 - :zero, ns) AS t),
	unit(ns, name) AS (VALUES (1, 'ns'), (1000, 'µs'), (1000000, 'ms'), (1000000000, 's')),
	chosen AS (SELECT unit.ns, unit.name FROM unit, step WHERE unit.ns <= step.ns ORDER BY unit.ns DESC LIMIT 1)
SELECT format('<path class="tick" d="M%1$s -14V%2$s"/><text class="axis" x="%1$s" y="-18">%3$s %4$s</text>',
	pg_temp.short((t + :zero - :t0) * :pixels::float8 / (:t1 - :t0)), pg_temp.short((SELECT max(y + rows * row) FROM row_of)),
	t / chosen.ns, chosen.name)
FROM tick, chosen;

INSERT INTO svg(line)
SELECT format('<path stroke="%s" stroke-opacity="%s" stroke-width="%s" d="%s"/>', fill, shade,
	pg_temp.short(CASE WHEN row >= 8 THEN row - 1 ELSE row - 0.4 END),
	string_agg(format('M%s %sh%s', x, pg_temp.short(y + row / 2.0), w), '' ORDER BY y, x))
FROM piece JOIN palette ON palette.number = piece.colour % (SELECT count(*) FROM palette)
GROUP BY fill, shade, row;

-- Names, where they fit. Arguments are looked into only where they are an object with a "detail", of which the last part of a path is shown.
INSERT INTO svg(line)
SELECT format('<text class="name" x="%s" y="%s">%s</text>', x + 4, pg_temp.short(y + row / 2.0 + 3.5),
	pg_temp.escaped(CASE WHEN length(label) > room THEN left(label, room - 1) || '…' ELSE label END))
FROM (SELECT p.x, p.y, p.row, floor((p.w - 8) / 6.8)::integer AS room,
	s.name || coalesce(' ' || substring(CASE WHEN json_typeof(s.args) = 'object' THEN s.args ->> 'detail' END FROM '[^/]*$'), '') AS label
      FROM piece AS p JOIN spans AS s ON s.id = p.span
      WHERE p.row >= 11) AS named
WHERE room >= 4 AND label !~ '[\u0001-\u001f\u007f-\u00bf\ufffd]';

-- The window of the next panel, if it lies in this one.
INSERT INTO svg(line)
SELECT format('<rect class="zoom" x="%s" y="-12" width="%s" height="%s"/>', pg_temp.short(x0), pg_temp.short(x1 - x0), pg_temp.short(bottom + 12))
	|| format('<path class="zoom" d="M%s %sL0 %sM%s %sL%s %s"/>', pg_temp.short(x0), pg_temp.short(bottom), pg_temp.short(bottom + 20),
		pg_temp.short(x1), pg_temp.short(bottom), :pixels, pg_temp.short(bottom + 20))
FROM (SELECT (:zoom0 - :t0) * :pixels::float8 / (:t1 - :t0) AS x0, (:zoom1 - :t0) * :pixels::float8 / (:t1 - :t0) AS x1,
	max(y + rows * row) + 4 AS bottom FROM row_of) AS frame
WHERE :zoom0 > :t0 OR :zoom1 < :t1;

INSERT INTO svg(line) VALUES ('</g>');
SELECT round(:top + max(y + rows * row) + 80) AS top FROM row_of \gset
