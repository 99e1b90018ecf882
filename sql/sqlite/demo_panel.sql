-- Draws one panel of a timeline: the window [@t0, @t1), a row for each track and depth, a bucket for each pixel. Appends SVG to the
-- table svg. demo_timeline.sql says how it is called.
--
-- Two queries of the index are all that is read of the spans:
--   * what starts in each pixel: how many spans, how long they take, the latest and the longest of them;
--   * what reaches into the window from the left: spans of one track and depth never overlap (that is what depth means), so only
--     the latest span before the window can.
-- Names are looked up by the id of the longest span.

UPDATE panel SET started = julianday('now');
DROP TABLE IF EXISTS temp.pixel;
DROP TABLE IF EXISTS temp.row_of;
DROP TABLE IF EXISTS temp.piece;

CREATE TEMP TABLE pixel AS
SELECT track, depth, bucket AS x, count,
       sum_dur_ns - max(last_ts + last_dur_ns - bucket_end, 0) AS busy,       -- the latest may outlive the pixel
       bucket_end - bucket_start AS width,
       last_ts + last_dur_ns AS open_until,
       max_dur_ns_id AS longest
FROM spans_if(@t0, @t1, @pixels);

INSERT INTO pixel
SELECT b.track, b.depth, -1, 0, 0, 1, b.last_ts + b.last_dur_ns, i.max_dur_ns_id
FROM spans_if AS b JOIN spans_if AS i
WHERE b.t1 = @t0 AND b.last_ts + b.last_dur_ns > @t0
  AND i.t0 = b.last_ts AND i.t1 = b.last_ts + 1 AND i.track = b.track AND i.depth = b.depth;

UPDATE panel SET ms = max(round((julianday('now') - started) * 86400000), 1);

-- The tracks, top down: as many of the fullest as fit into @height with @deep rows each; and of each as many rows as there is room for.
CREATE TEMP TABLE row_of AS
WITH RECURSIVE
  every(track, rows, area) AS (
    SELECT track, max(depth) + 1, sum(max((min(open_until, @t1) - @t0) * @pixels / (@t1 - @t0) - max(x, 0), 1))
    FROM pixel GROUP BY track),
  shown AS (SELECT track, rows FROM every ORDER BY area DESC, track LIMIT max(@height / (@deep * @row + 2), 1)),
  room(rows) AS (
    SELECT 1 UNION ALL SELECT rows + 1 FROM room
    WHERE rows < 100 AND (SELECT sum(min(s.rows, room.rows + 1) * @row + 2) FROM shown AS s) <= @height),
  size AS (SELECT max(rows) AS rows FROM room),
  tall AS (SELECT track, min(s.rows, size.rows) AS rows FROM shown AS s, size)
SELECT track, rows,
       max(@row, 11.0 / rows) AS row,
       sum(max(rows * @row, 11) + 2) OVER (ORDER BY track) - max(rows * @row, 11) AS y,
       row_number() OVER (ORDER BY track) AS number
FROM tall;

-- Names get their colours in the order of the time they fill.
INSERT OR IGNORE INTO colour(name)
SELECT name FROM (
  SELECT s.name, sum(p.busy) AS busy FROM pixel AS p JOIN spans AS s ON s.id = p.longest GROUP BY s.name)
ORDER BY busy DESC, name;

-- Pieces: pixels, lighter where less of them is busy, and what reaches out of them to the right. Then neighbours of the same look are
-- joined.
CREATE TEMP TABLE piece AS
WITH
  part(track, depth, x, w, shade, longest, whole) AS (
    SELECT track, depth, x, 1, CASE WHEN 4 * busy < width THEN 0.3 WHEN 3 * busy < 2 * width THEN 0.55
                                    WHEN 10 * busy < 9 * width THEN 0.8 ELSE 1 END, longest, 0
    FROM pixel WHERE x >= 0
    UNION ALL
    SELECT track, depth, x + 1, to_x - x - 1, 1, longest, 1
    FROM (SELECT *, ((min(open_until, @t1) - @t0) * @pixels + (@t1 - @t0) / 2) / (@t1 - @t0) AS to_x FROM pixel)
    WHERE to_x > x + 1),
  look AS (
    SELECT p.track, p.depth, p.x, p.w, p.shade, c.number AS colour, p.longest, p.whole
    FROM part AS p JOIN spans AS s ON s.id = p.longest JOIN colour AS c USING (name)),
  marked AS (
    SELECT *, x IS NOT lag(x + w) OVER row OR shade <> lag(shade) OVER row OR colour <> lag(colour) OVER row
              OR whole OR lag(whole) OVER row AS is_new
    FROM look WINDOW row AS (PARTITION BY track, depth ORDER BY x, w)),
  numbered AS (SELECT *, sum(is_new) OVER (PARTITION BY track, depth ORDER BY x, w ROWS UNBOUNDED PRECEDING) AS island FROM marked)
SELECT r.y + p.depth * r.row AS y, r.row, p.depth, min(p.x) AS x, max(p.x + p.w) - min(p.x) AS w, p.shade, p.colour,
       CASE WHEN p.whole THEN p.longest END AS span
FROM numbered AS p JOIN row_of AS r USING (track)
WHERE p.depth < r.rows
GROUP BY p.track, p.depth, p.island
ORDER BY 1, 4;

-- From here on it is all drawing.

INSERT INTO svg(line)
SELECT format('<g transform="translate(%d %d)">', @left, (SELECT top FROM panel));

INSERT INTO svg(line)
SELECT format('<text class="title" x="%d" y="-38">%s</text><text class="note" x="%d" y="-38">%s</text>', 10 - @left, @title, @pixels,
              (SELECT format('%,d spans as %,d buckets in %d ms', sum(count), sum(x >= 0), ms) FROM pixel, panel));

INSERT INTO svg(line)
SELECT format('<rect x="%d" y="%.1f" width="%d" height="%.1f" fill="%s"/><text x="%d" y="%.1f">%s</text>',
              10 - @left, y - 1, @left - 10 + @pixels, rows * row + 2, iif(number % 2, '#f3f5f8', '#fafbfc'),
              16 - @left, y + min(rows * row / 2 + 4, 15),
              replace(replace(replace(iif(length(track) > @left / 7 - 3, substr(track, 1, @left / 7 - 4) || '…', track),
                '&', '&amp;'), '<', '&lt;'), '>', '&gt;'))
FROM row_of ORDER BY number;

-- The axis counts from the beginning of the trace, in steps of 1, 2 or 5.
INSERT INTO svg(line)
WITH RECURSIVE
  power(ten) AS (SELECT 1 UNION ALL SELECT ten * 10 FROM power WHERE ten < 1000000000000000),
  step(ns) AS (SELECT min(ten * n) FROM power, (SELECT 1 AS n UNION SELECT 2 UNION SELECT 5) WHERE ten * n * 10 > @t1 - @t0),
  tick(t, ns) AS (
    SELECT ((@t0 - @zero + ns - 1) / ns) * ns, ns FROM step
    UNION ALL SELECT t + ns, ns FROM tick WHERE t + ns <= @t1 - @zero),
  unit(ns, name) AS (VALUES (1, 'ns'), (1000, 'µs'), (1000000, 'ms'), (1000000000, 's')),
  chosen AS (SELECT max(unit.ns) AS ns, name FROM unit, step WHERE unit.ns <= step.ns)
SELECT format('<path class="tick" d="M%.1f -14V%.1f"/><text class="axis" x="%.1f" y="-18">%d %s</text>',
              1.0 * (t + @zero - @t0) * @pixels / (@t1 - @t0), (SELECT max(y + rows * row) FROM row_of),
              1.0 * (t + @zero - @t0) * @pixels / (@t1 - @t0), t / chosen.ns, chosen.name)
FROM tick, chosen;

INSERT INTO svg(line)
SELECT format('<path stroke="%s" stroke-opacity="%g" stroke-width="%g" d="%s"/>', fill, shade, iif(row >= 8, row - 1, row - 0.4),
              group_concat(format('M%d %gh%d', x, y + row / 2.0, w), ''))
FROM piece JOIN palette ON palette.number = piece.colour % (SELECT count(*) FROM palette)
GROUP BY fill, shade, row;

-- Names, where they fit.
INSERT INTO svg(line)
SELECT format('<text class="name" x="%d" y="%g">%s</text>', x + 4, y + row / 2.0 + 3.5,
              replace(replace(replace(iif(length(label) > room, substr(label, 1, room - 1) || '…', label),
                '&', '&amp;'), '<', '&lt;'), '>', '&gt;'))
FROM (SELECT p.x, p.y, p.row, CAST((p.w - 8) / 6.8 AS INTEGER) AS room,
             s.name || coalesce(' ' || replace(detail, rtrim(detail, replace(detail, '/', '')), ''), '') AS label
      FROM piece AS p
      JOIN (SELECT id, name, CASE WHEN json_valid(args) THEN args ->> '$.detail' END AS detail FROM spans) AS s ON s.id = p.span
      WHERE p.row >= 11)
WHERE room >= 4 AND label NOT GLOB '*[' || char(1) || '-' || char(31) || char(0x7f) || '-' || char(0xbf) || char(0xfffd) || ']*';

-- The window of the next panel, if it lies in this one.
INSERT INTO svg(line)
SELECT format('<rect class="zoom" x="%.1f" y="-12" width="%.1f" height="%.1f"/>', x0, x1 - x0, bottom + 12)
       || format('<path class="zoom" d="M%.1f %.1fL0 %.1fM%.1f %.1fL%d %.1f"/>', x0, bottom, bottom + 20, x1, bottom, @pixels, bottom + 20)
FROM (SELECT 1.0 * (@zoom0 - @t0) * @pixels / (@t1 - @t0) AS x0, 1.0 * (@zoom1 - @t0) * @pixels / (@t1 - @t0) AS x1,
             (SELECT max(y + rows * row) + 4 FROM row_of) AS bottom)
WHERE @zoom0 > @t0 OR @zoom1 < @t1;

INSERT INTO svg(line) VALUES ('</g>');
UPDATE panel SET top = top + (SELECT max(y + rows * row) FROM row_of) + 80;
