/* sql/sqlgen.h -- SQL text of an index's functions: names, pieces of text, and the query of a window with its fills.
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
 * a part.
 */
#ifndef IFP_SQL_SQLGEN_H
#define IFP_SQL_SQLGEN_H

#include "pg_ext/base/engine.h"

#include "access/tupdesc.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

#include "core/model/aggregate.h"

/* A column of the index. */
struct ifp_sqlgen_column {
	const char *name;	/* in the table, or of the expression */
	const char *expression; /* over the table, quoted */
	Oid type;
};

/* An index as its functions have it. */
struct ifp_sqlgen_index {
	const char *index_name;
	const char *extension;	    /* schema of this extension's functions; quoted as are the following */
	const char *schema, *table; /* schema of the index; the table, qualified */
	const char *predicate;	    /* of a partial index, or NULL */
	const char *columns;	    /* ifp_index_column_texts(), as text[] is written */
	bool is_parallel_safe;
	bool is_temporary;   /* no other process reads its table */
	bool is_partitioned; /* a ctid does not say of which partition it is */
	int n_by, n_values;
	struct ifp_sqlgen_column by[INDEX_MAX_KEYS], time, values[IFOREST_MAX_VALUES];
	uint32 squares;		  /* bit v: the index keeps those of value v */
	Oid time_type, step_type; /* of arguments */
	int length;		  /* the value that is the duration or the end, or -1 */
	bool is_end;
	const char *unit;	/* of the duration: a literal, or NULL */
	bool is_overlap_read;	/* the index can be asked for overlaps */
	bool is_carried;	/* the extension has what fill => 'last' and 'linear' need */
	bool is_overlap_filled; /* and what the overlap function does, to be filled */
};

/* How names of functions end. */
#define IFP_OVERLAP "_overlap"
#define IFP_WINDOW_FILL "_fill"
#define IFP_OVERLAP_FILL IFP_OVERLAP IFP_WINDOW_FILL

/* Of windows: the part that carries values on, which requires is_carried; and the query, with that part where its columns are
 * given. */
char *ifp_window_fill_query(const struct ifp_sqlgen_index *index);
char *ifp_window_query(const struct ifp_sqlgen_index *index, TupleDesc columns);

/* What the queries of an index's functions have in common: names of columns, and pieces of text. Not for
 * others. */

/* Output columns and arguments of one function. */
struct ifp_names {
	const struct ifp_sqlgen_index *index;
	List *taken;
};

/* Raise an error where a name is too long, or taken. The list ends with NULL. */
void ifp_take_name(struct ifp_names *names, const char *name);
void ifp_take_names(struct ifp_names *names, const char *const *list);

/* The name, with a prefix where it is taken; quoted. */
const char *ifp_take_column(struct ifp_names *names, const char *prefix, const char *name);

/* As it is: names are no formats. */
void ifp_add_text(StringInfo text, const char *piece);

/* A call of this extension's function up to its first argument. */
void ifp_add_call(StringInfo text, const struct ifp_sqlgen_index *index, const char *name);

/* The number of a time's bucket; both bounds of a bucket; the last time before t1. */
void ifp_add_bucket_of(StringInfo text, const struct ifp_sqlgen_index *index, const char *time);
void ifp_add_bounds(StringInfo text, const struct ifp_sqlgen_index *index, const char *bucket);
void ifp_add_last(StringInfo text, const struct ifp_sqlgen_index *index);

void ifp_add_gates(StringInfo text, const struct ifp_sqlgen_index *index, const char *fill, bool is_filled);

/* A part of the index's function, after UNION ALL: of that name's end, with these columns, where $6 is one of those. It is a
 * function of its own, so that all others need not be planned with it: it is put in the place of the call only where $6 is
 * known to be one. */
void ifp_add_part(StringInfo text, const struct ifp_sqlgen_index *index, const char *suffix, const char *fills,
		  TupleDesc columns);

/* The condition of a partial index, after a word. */
void ifp_add_predicate(StringInfo text, const struct ifp_sqlgen_index *index, const char *word);

/* The columns and arms of the query of windows, for those that write it. Not for others. */

/* What is shown of value column v: the aggregate, and the name, into which its own is put. */
struct ifp_shown {
	const char *name, *aggregate;
	bool is_own;	  /* of the extension, and of a row */
	bool is_ctid;	  /* not of a partitioned table */
	bool is_summed;	  /* only of numbers */
	bool is_variance; /* only where squares are kept */
	bool is_zero;	  /* where filled with zeros */
	bool is_hidden;	  /* gathered to be carried into other buckets, and not shown */
};

/* One of the columns of value v. */
struct ifp_value_column {
	const struct ifp_sqlgen_column *value;
	const struct ifp_shown *shown;
};

/* What is done with buckets without rows, or values. */
enum ifp_window_fill { IFP_WINDOW_PLAIN, IFP_WINDOW_FILLED, IFP_WINDOW_CARRIED };

/* c<from>, ... c<to>; and in parentheses, for an alias. */
void ifp_add_numbers(StringInfo text, int from, int to);
void ifp_add_columns(StringInfo text, int from, int to);

void ifp_add_all_buckets(StringInfo text, const struct ifp_sqlgen_index *index, int n_columns);

#endif
