/* sql/sqlgen.h -- SQL text of an index's functions: names, fragments, and the query of a window with its fills.
 *
 * Names are quoted, tables and functions qualified. The text is parsed once, when the function is created, and stored parsed.
 * Arguments are $1 to $6, never named, so they cannot clash with a table's columns.
 *
 *   $1 t0   $2 t1   $3 n   $4 step   $5 origin   $6 fill
 *
 * The query of a window is a UNION ALL of arms, each with a gate, a condition on the arguments alone (iforest_window_asks).
 * Gates are known at planning time, or evaluated once, so only the arms that are needed run:
 *
 *   window     one grouped query, which the planner can answer from the index
 *   all times  another one without bounds, since rows without a time are in no window
 *   filled     the groups and all buckets of all series, for fill => 'null' and 'zero'
 *   carried    values carried into empty buckets, also from outside the window, for fill => 'last' and 'linear'
 *
 * An arm that is long and seldom needed is a separate function, called a part.
 */
#ifndef IFP_SQL_SQLGEN_H
#define IFP_SQL_SQLGEN_H

#include "pg_ext/base/engine.h"

#include "access/tupdesc.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

#include "core/model/aggregate.h"
#include "core/model/kind.h"

/* ---- the index ---- */

/* A column of the index. */
struct ifp_sqlgen_column {
	const char *name;	/* in the table, or in the index if it is an expression */
	const char *expression; /* over the table, quoted */
	Oid type;
};

/* An index as its functions need it. */
struct ifp_sqlgen_index {
	const char *index_name;
	const char *extension;	    /* schema of this extension's functions; quoted as are the following */
	const char *schema, *table; /* schema of the index; the table, qualified */
	const char *predicate;	    /* of a partial index, or NULL */
	const char *columns;	    /* ifp_index_column_texts(), in the text form of text[] */
	bool is_parallel_safe;
	bool is_temporary;   /* no other process reads its table */
	bool is_partitioned; /* a ctid does not identify the partition */
	int n_by, n_values;
	struct ifp_sqlgen_column by[INDEX_MAX_KEYS], time, values[IFOREST_MAX_VALUES];
	struct iforest_accumulators accumulators;
	Oid time_type, step_type; /* of arguments */
	int length;		  /* the value that is the duration or the end, or -1 */
	bool is_end;		  /* the length column is the end */
	const char *unit;	  /* of the duration: a literal, or NULL */
	bool is_overlap_read;	  /* overlaps can be read from the index */
	bool is_carried;	  /* the extension's version has functions for fill => 'last' and 'linear' */
	bool is_overlap_filled;	  /* the extension's version has functions for the fills of overlaps */
	bool has_peaks;		  /* the extension's version has functions for peaks */
	const char *distributed;  /* the quoted name of a distributed table, whose `table` is IFP_SHARD; NULL: it is not
				   * distributed */
	bool has_ends;		  /* the extension's version has functions for the rows of first and last values */
};

/* Suffixes of names of functions. */
#define IFP_OVERLAP "_overlap"
#define IFP_PEAK "_peak"
#define IFP_GAPS "_gaps"
#define IFP_COUNTER "_counter"
#define IFP_WINDOW_FILL "_fill"
#define IFP_OVERLAP_FILL IFP_OVERLAP IFP_WINDOW_FILL
#define IFP_PEAK_FILL IFP_PEAK IFP_WINDOW_FILL

/* ---- queries of windows ---- */

/* Returns the query of a window. `columns` are the part's, or NULL if the extension has no part. */
char *ifp_window_query(const struct ifp_sqlgen_index *index, TupleDesc columns);

/* Returns the query of the part with carried values. Requires  index->is_carried. */
char *ifp_window_fill_query(const struct ifp_sqlgen_index *index);

/* ---- names; from here on used only by sql/sqlgen*.c ---- */

/* Output columns and arguments of one function. */
struct ifp_names {
	const struct ifp_sqlgen_index *index;
	List *taken;
};

/* Reserve a name, or a NULL-terminated list of names. Raise an error if one is too long or taken. */
void ifp_take_name(struct ifp_names *names, const char *name);
void ifp_take_names(struct ifp_names *names, const char *const *list);

/* Reserves a name, with the prefix if it is taken. Returns it quoted. */
const char *ifp_take_column(struct ifp_names *names, const char *prefix, const char *name);

/* ---- fragments of text ---- */

/* Appends text as printf() does; @name in the format means this extension's function iforest_name. */
void ifp_print(StringInfo text, const struct ifp_sqlgen_index *index, const char *format, ...) pg_attribute_printf(3, 4);

/* Formats for ifp_print(): the arguments of a bucketing; the bucket number of a time; both bounds of a bucket, which is passed
 * twice; the last time before t1. */
#define IFP_BUCKETING "$1, $2, $3, $4, $5"
#define IFP_BUCKET_OF(time) "@bucket_of(" time ", " IFP_BUCKETING ")"
#define IFP_BOUNDS(bucket) "@bucket_start(" bucket ", " IFP_BUCKETING "), @bucket_end(" bucket ", " IFP_BUCKETING ")"
#define IFP_LAST "@window_last($2)"

/* Appends the gates of a window and of all times, joined by OR, with or without fill. */
void ifp_add_gates(StringInfo text, const struct ifp_sqlgen_index *index, const char *fill, bool is_filled);

/* Appends UNION ALL and a call of the part with this suffix and these columns, for $6 IN (fills). A part is inlined only if $6
 * is known to be one of these, so that other queries are not planned with it. Shards have no parts; there the part's query is
 * appended. */
void ifp_add_part(StringInfo text, const struct ifp_sqlgen_index *index, const char *suffix, const char *query,
		  const char *fills, TupleDesc columns);

/* Appends a word and the condition of a partial index; nothing for other indexes. */
void ifp_add_predicate(StringInfo text, const struct ifp_sqlgen_index *index, const char *word);

/* Appends GROUP BY the first n columns; nothing if n is 0. */
void ifp_add_group_by(StringInfo text, int n);

/* Returns c<from>, ... c<to>. */
char *ifp_numbers(int from, int to);

/* Appends a query of all series and all buckets, with the remaining of n_columns columns NULL. */
void ifp_add_all_buckets(StringInfo text, const struct ifp_sqlgen_index *index, int n_columns);

#endif
