-- sql/sqlite/nsys.sql: indexes over the tables of a Nsight Systems export, which stay as they are. docs/nsys.md has queries over them.
--
--   nsys export --type sqlite --output report.sqlite report.nsys-rep
--   sqlite3 report.sqlite '.load ./build/iforest' '.read sql/sqlite/nsys.sql'
--
-- It may be run again: what is there stays.
BEGIN;

-- Earlier versions of this script had indexes of these names that did not count launches of CUDA graphs.
CREATE TEMP TABLE IF NOT EXISTS nsys_earlier(n CONSTRAINT "first remove what an earlier version of nsys.sql created: DROP TABLE kernels_overlap; DROP TABLE kernels_gaps; DROP TABLE gpus_overlap; DROP TABLE gpus_gaps; DROP TABLE gpus;" CHECK (n = 0));
INSERT INTO nsys_earlier SELECT count(*) FROM sqlite_schema WHERE name = 'gpus' AND sql LIKE '%CUPTI_ACTIVITY_KIND_KERNEL%';

-- An export has the tables for which there was data. Those that it lacks are created, without rows.
CREATE TABLE IF NOT EXISTS StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, "end" INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS NVTX_EVENTS(start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER);
CREATE TABLE IF NOT EXISTS OSRT_API(start INTEGER NOT NULL, "end" INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL);

-- What a GPU works on: kernels, and launches of CUDA graphs. Unless nsys profiles with --cuda-graph-trace=node, a launch is one row, and its
-- kernels have none. This is the one table with copies, of four numbers a row. A launch without times has 0 for both.
CREATE TABLE IF NOT EXISTS gpu_work(id INTEGER PRIMARY KEY, start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER);
INSERT INTO gpu_work(start, "end", deviceId, streamId)
  SELECT start, "end", deviceId, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE NOT EXISTS (SELECT 1 FROM gpu_work) UNION ALL
  SELECT start, "end", deviceId, streamId FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE "end" > 0 AND NOT EXISTS (SELECT 1 FROM gpu_work);

-- How busy a stream and a GPU are
CREATE VIRTUAL TABLE IF NOT EXISTS streams USING iforest(content=gpu_work, time=start, end="end", by=(deviceId, streamId));
CREATE VIRTUAL TABLE IF NOT EXISTS streams_overlap USING iforest_overlap(streams);
CREATE VIRTUAL TABLE IF NOT EXISTS streams_gaps USING iforest_gaps(streams);
CREATE VIRTUAL TABLE IF NOT EXISTS gpus USING iforest(content=gpu_work, time=start, end="end", by=(deviceId));
CREATE VIRTUAL TABLE IF NOT EXISTS gpus_overlap USING iforest_overlap(gpus);
CREATE VIRTUAL TABLE IF NOT EXISTS gpus_gaps USING iforest_gaps(gpus);

-- Kernels of a stream, and by name; launches of a graph
CREATE VIRTUAL TABLE IF NOT EXISTS kernels USING iforest(content=CUPTI_ACTIVITY_KIND_KERNEL, time=start, end="end", by=(deviceId, streamId));
CREATE VIRTUAL TABLE IF NOT EXISTS kernels_rows USING iforest_rows(kernels);
CREATE VIRTUAL TABLE IF NOT EXISTS kernel_names USING iforest(content=CUPTI_ACTIVITY_KIND_KERNEL, time=start, end="end", by=(shortName));
CREATE VIRTUAL TABLE IF NOT EXISTS graphs USING iforest(content=CUPTI_ACTIVITY_KIND_GRAPH_TRACE, time=start, end="end", by=(deviceId, graphId));

-- Copies and fills of memory
CREATE VIRTUAL TABLE IF NOT EXISTS copies USING iforest(content=CUPTI_ACTIVITY_KIND_MEMCPY, time=start, end="end", value=bytes, by=(deviceId, streamId, copyKind));
CREATE VIRTUAL TABLE IF NOT EXISTS copies_rows USING iforest_rows(copies);
CREATE VIRTUAL TABLE IF NOT EXISTS copies_overlap USING iforest_overlap(copies);
CREATE VIRTUAL TABLE IF NOT EXISTS fills USING iforest(content=CUPTI_ACTIVITY_KIND_MEMSET, time=start, end="end", value=bytes, by=(deviceId, streamId));

-- CUDA calls, NVTX ranges and marks, calls of the operating system
CREATE VIRTUAL TABLE IF NOT EXISTS calls USING iforest(content=CUPTI_ACTIVITY_KIND_RUNTIME, time=start, end="end", by=(globalTid, nameId));
CREATE VIRTUAL TABLE IF NOT EXISTS ranges USING iforest(content=NVTX_EVENTS, time=start, end="end", by=(globalTid, eventType));
CREATE VIRTUAL TABLE IF NOT EXISTS ranges_rows USING iforest_rows(ranges);
CREATE VIRTUAL TABLE IF NOT EXISTS os_calls USING iforest(content=OSRT_API, time=start, end="end", by=(globalTid, nameId));

-- Rows with their names; give them a window by t0 and t1, or order them by dur
CREATE VIEW IF NOT EXISTS named_kernels AS
  SELECT r.id, r.deviceId, r.streamId, r.start, r.dur, s.value AS name
    FROM kernels_rows AS r CROSS JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k ON k.rowid = r.id JOIN StringIds AS s ON s.id = k.shortName;
CREATE VIEW IF NOT EXISTS named_ranges AS
  SELECT r.id, r.globalTid >> 24 & 0xffffff AS pid, r.globalTid & 0xffffff AS tid, r.eventType, r.start, r.dur, coalesce(n.text, s.value) AS name
    FROM ranges_rows AS r CROSS JOIN NVTX_EVENTS AS n ON n.rowid = r.id LEFT JOIN StringIds AS s ON s.id = n.textId
   WHERE r.eventType IN (59, 60, 70, 71);

COMMIT;
