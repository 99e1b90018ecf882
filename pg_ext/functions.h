/* functions.h -- what the SQL functions share. Each function is documented where it is created (sql/pg/iforest--1.0.sql). */
#ifndef IFOREST_PG_FUNCTIONS_H
#define IFOREST_PG_FUNCTIONS_H

#include "pg_ext/host.h"

#include "fmgr.h"

/* Opens an iforest index that is valid, and its table before it. Raises errors that say what it is otherwise; temporary
 * indexes of other sessions are refused. *heap may be NULL. */
Relation iforest_open_named(Oid oid, LOCKMODE lock_mode, Relation *heap);
void iforest_close_named(Relation index, Relation heap, LOCKMODE lock_mode);

/* Raises an error unless the user owns the index or is a member of pg_stat_scan_tables. */
void iforest_may_look(Relation index);

extern PGDLLEXPORT Datum iforest_handler(PG_FUNCTION_ARGS);       /* handler.c */
extern PGDLLEXPORT Datum iforest_merge_index(PG_FUNCTION_ARGS);   /* functions.c */
extern PGDLLEXPORT Datum iforest_check_index(PG_FUNCTION_ARGS);   /* check.c */
extern PGDLLEXPORT Datum iforest_stats_index(PG_FUNCTION_ARGS);   /* stats.c */
extern PGDLLEXPORT Datum iforest_runs_index(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_page_info(PG_FUNCTION_ARGS);     /* inspect.c */
extern PGDLLEXPORT Datum iforest_page_entries(PG_FUNCTION_ARGS);

#endif
