-- Fills the table counters: from the counter events of the files in temp.files (demo_load.sql), or, where there are none, with how many
-- spans are open at once: of the first levels of nesting, and of a large table of the first alone. Then indexes it.

CREATE TABLE counters(id INTEGER PRIMARY KEY, ts_ns INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL);

BEGIN;
INSERT INTO counters(ts_ns, name, value)
SELECT c.ts_ns, trim(format('%s %s %s', c.name, c.id, nullif(c.key, 'value'))), c.value
FROM files AS f, read_trace_counters(f.path) AS c
WHERE f.track IS NULL
ORDER BY c.ts_ns;

INSERT INTO counters(ts_ns, name, value)
WITH
  change(ts, step, depth) AS (
    SELECT ts_ns, 1, depth FROM spans WHERE dur_ns > 0 UNION ALL SELECT ts_ns + dur_ns, -1, depth FROM spans WHERE dur_ns > 0)
SELECT ts, 'open at level ' || (depth + 1), sum(step) OVER (PARTITION BY depth ORDER BY ts, step)
FROM change
WHERE NOT EXISTS (SELECT 1 FROM counters)
  AND depth < iif((SELECT count FROM spans_all) > 1000000, 1, 4);
COMMIT;

CREATE VIRTUAL TABLE counters_if USING iforest(content=counters, time=ts_ns, value=value, by=(name));
