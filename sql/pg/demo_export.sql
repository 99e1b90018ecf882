-- For SQLite: prints its table spans (sql/sqlite/demo_table.sql) as a Chrome trace, so that what "make demo" records can be given to
-- trace2pg, or opened in a trace viewer. Its tracks are threads of one process, "clang".

.headers off
.mode list
SELECT '{"traceEvents": [';
SELECT iif(row_number() OVER (ORDER BY id) > 1, ',', '')
       || json_object('ph', 'X', 'pid', 'clang', 'tid', track, 'ts', ts_ns / 1000.0, 'dur', dur_ns / 1000.0, 'name', name,
                      'args', iif(json_valid(args), json(args), NULL))
FROM spans ORDER BY id;
SELECT ']}';
