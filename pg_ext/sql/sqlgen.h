/* function_texts.h -- the SQL of an index's functions, as text.
 *
 * Names are quoted, tables and functions qualified; it is parsed once, when the function is created, and kept parsed.
 * Arguments are $1 to $6 and never named, so no column of a table can stand in their way.
 *
 *   $1 t0   $2 t1   $3 n   $4 step   $5 origin   $6 fill
 *
 * The rows of a window come from one grouped query with a gate (iforest_window_asks), which the planner can put to the index;
 * rows without a time are in no window, so for all times there is a second one; a third puts the groups beside all buckets,
 * where fill is asked for, and a fourth carries values into them, also from before the window. Gates are known when planning,
 * or else asked once: the arms that are not asked for are not run. What is long and asked for seldom is a function of its own:
 * a part. */
#ifndef IFOREST_PG_FUNCTION_TEXTS_H
#define IFOREST_PG_FUNCTION_TEXTS_H

#include "pg_ext/base/engine.h"

#include "access/tupdesc.h"
#include "nodes/pg_list.h"

#include "core/model/aggregate.h"

/* A column of the index. */
struct iforest_sqlgen_column {
	const char *name;        /* in the table, or of the expression */
	const char *expression;  /* over the table, quoted */
	Oid type;
};

/* An index as its functions have it. */
struct iforest_functions {
	const char *index_name;
	const char *extension;       /* schema of this extension's functions; quoted as are the following */
	const char *schema, *table;  /* schema of the index; the table, qualified */
	const char *predicate;       /* of a partial index, or NULL */
	const char *columns;         /* iforest_column_texts(), as text[] is written */
	bool is_parallel_safe;
	bool is_temporary;           /* no other process reads its table */
	bool is_partitioned;         /* a ctid does not say of which partition it is */
	int n_by, n_values;
	struct iforest_sqlgen_column by[INDEX_MAX_KEYS], time, values[IFOREST_MAX_VALUES];
	uint32 squares;              /* bit v: the index keeps those of value v */
	Oid time_type, step_type;    /* of arguments */
	int length;                  /* the value that is the duration or the end, or -1 */
	bool is_end;
	const char *unit;            /* of the duration: a literal, or NULL */
	bool is_overlap_read;        /* the index can be asked for overlaps */
	bool is_carried;             /* the extension has what fill => 'last' and 'linear' need */
	bool is_overlap_filled;      /* and what the overlap function does, to be filled */
};

/* How names of functions end. */
#define IFOREST_OVERLAP "_overlap"
#define IFOREST_WINDOW_FILL "_fill"
#define IFOREST_OVERLAP_FILL IFOREST_OVERLAP IFOREST_WINDOW_FILL

/* Of windows: the part that carries values on, which requires is_carried; and the query, with that part where its columns are
 * given. */
char *iforest_window_fill_query(const struct iforest_functions *functions);
char *iforest_window_query(const struct iforest_functions *functions, TupleDesc columns);

#endif
