-- sql/sqlite/nsys.sql: indexes over the tables of a Nsight Systems export, of which nothing is copied. docs/nsys.md says what to ask of them.
--
--   nsys export --type sqlite --output report.sqlite report.nsys-rep
--   sqlite3 report.sqlite '.load ./build/iforest' '.read sql/sqlite/nsys.sql'
BEGIN;

-- An export has the tables for which there was data. Those it lacks are made, without rows.
CREATE TABLE IF NOT EXISTS StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, "end" INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS NVTX_EVENTS(start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER);
CREATE TABLE IF NOT EXISTS OSRT_API(start INTEGER NOT NULL, "end" INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL);

-- Kernels of a stream, of a GPU, and by name
CREATE VIRTUAL TABLE kernels USING iforest(content=CUPTI_ACTIVITY_KIND_KERNEL, time=start, end="end", by=(deviceId, streamId));
CREATE VIRTUAL TABLE kernels_rows USING iforest_rows(kernels);
CREATE VIRTUAL TABLE kernels_overlap USING iforest_overlap(kernels);
CREATE VIRTUAL TABLE kernels_gaps USING iforest_gaps(kernels);
CREATE VIRTUAL TABLE gpus USING iforest(content=CUPTI_ACTIVITY_KIND_KERNEL, time=start, end="end", by=(deviceId));
CREATE VIRTUAL TABLE gpus_overlap USING iforest_overlap(gpus);
CREATE VIRTUAL TABLE gpus_gaps USING iforest_gaps(gpus);
CREATE VIRTUAL TABLE kernel_names USING iforest(content=CUPTI_ACTIVITY_KIND_KERNEL, time=start, end="end", by=(shortName));

-- Copies and fills of memory
CREATE VIRTUAL TABLE copies USING iforest(content=CUPTI_ACTIVITY_KIND_MEMCPY, time=start, end="end", value=bytes, by=(deviceId, streamId, copyKind));
CREATE VIRTUAL TABLE copies_rows USING iforest_rows(copies);
CREATE VIRTUAL TABLE copies_overlap USING iforest_overlap(copies);
CREATE VIRTUAL TABLE fills USING iforest(content=CUPTI_ACTIVITY_KIND_MEMSET, time=start, end="end", value=bytes, by=(deviceId, streamId));

-- CUDA calls, NVTX ranges and marks, calls of the operating system
CREATE VIRTUAL TABLE calls USING iforest(content=CUPTI_ACTIVITY_KIND_RUNTIME, time=start, end="end", by=(globalTid, nameId));
CREATE VIRTUAL TABLE ranges USING iforest(content=NVTX_EVENTS, time=start, end="end", by=(globalTid, eventType));
CREATE VIRTUAL TABLE ranges_rows USING iforest_rows(ranges);
CREATE VIRTUAL TABLE os_calls USING iforest(content=OSRT_API, time=start, end="end", by=(globalTid, nameId));

-- Rows with their names; give them a window by t0 and t1, or order them by dur
CREATE VIEW named_kernels AS
  SELECT r.id, r.deviceId, r.streamId, r.start, r.dur, s.value AS name
    FROM kernels_rows AS r CROSS JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k ON k.rowid = r.id JOIN StringIds AS s ON s.id = k.shortName;
CREATE VIEW named_ranges AS
  SELECT r.id, r.globalTid >> 24 & 0xffffff AS pid, r.globalTid & 0xffffff AS tid, r.eventType, r.start, r.dur, coalesce(n.text, s.value) AS name
    FROM ranges_rows AS r CROSS JOIN NVTX_EVENTS AS n ON n.rowid = r.id LEFT JOIN StringIds AS s ON s.id = n.textId
   WHERE r.eventType IN (59, 60, 70, 71);

COMMIT;
