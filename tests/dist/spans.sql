CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, weight REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO spans SELECT i, 'track ' || (i % 7), 1732367000000000000 + i * 1000003, (i * 7919) % 100003, i / 8.0 FROM n;
CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, value=(dur, weight), by=(track), variance=(dur), sketch=(dur));
UPDATE spans SET dur = dur + 1 WHERE id % 11 = 0;
