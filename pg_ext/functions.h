/* functions.h -- what the SQL functions share. Each function is documented where it is created (sql/pg/iforest--*.sql). */
#ifndef IFOREST_PG_FUNCTIONS_H
#define IFOREST_PG_FUNCTIONS_H

#include "pg_ext/host.h"

#include "fmgr.h"

/* Opens an iforest index that is valid, and its table before it. Raises errors that say what it is otherwise; temporary
 * indexes of other sessions are refused. *heap may be NULL. The first one opens also those that are not valid, and partitioned
 * ones. */
Relation iforest_open_iforest(Oid oid, LOCKMODE lock_mode, Relation *heap);
Relation iforest_open_named(Oid oid, LOCKMODE lock_mode, Relation *heap);
/* Also a partitioned one, which holds nothing itself. */
Relation iforest_open_named_or_partitioned(Oid oid, LOCKMODE lock_mode, Relation *heap);
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

extern PGDLLEXPORT Datum iforest_bucket_number(PG_FUNCTION_ARGS); /* bucket_functions.c */
extern PGDLLEXPORT Datum iforest_bucket_of_time(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_bucket_starts(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_bucket_ends(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_window_asks(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_overlap_asks(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_asks_support(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_window_last(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_line(PG_FUNCTION_ARGS);          /* line_function.c */
extern PGDLLEXPORT Datum iforest_span_ends(PG_FUNCTION_ARGS);     /* span_functions.c */
extern PGDLLEXPORT Datum iforest_span_earliest(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_min_add(PG_FUNCTION_ARGS);   /* row_aggregates.c */
extern PGDLLEXPORT Datum iforest_row_max_add(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_first_add(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_last_add(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_min_combine(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_max_combine(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_first_combine(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_last_combine(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_serialize(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_deserialize(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_ctid(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_time(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_row_value(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_add_number(PG_FUNCTION_ARGS); /* sketch_functions.c */
extern PGDLLEXPORT Datum iforest_sketch_remove_number(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_add_sketch(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_remove_sketch(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_combine_states(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_serialize(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_deserialize(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_result(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_numbers(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_quantile_real(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_sketch_quantile_integer(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_overlap_index(PG_FUNCTION_ARGS);      /* overlap_index.c */
extern PGDLLEXPORT Datum iforest_overlap_index_support(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum iforest_overlap_spans(PG_FUNCTION_ARGS);      /* overlap_function.c */
extern PGDLLEXPORT Datum iforest_create_index_functions(PG_FUNCTION_ARGS); /* create_functions.c */
extern PGDLLEXPORT Datum iforest_follow_rename(PG_FUNCTION_ARGS);      /* renamed.c */

#endif
