/* query/rows.h -- Row queries: plans of iforest_rows, and the entries they ask for, one after the other in their order.
 *
 * Columns: id | by columns | the time column | value columns | end, where there is a duration | hidden t0, t1.
 *
 * Each condition narrows what is read and is checked again by SQLite, so that a bound may be too wide but never too narrow.
 * The exceptions are t0 and t1, which mean nothing else. Rows come in the requested order where idxNum says so.
 *
 * idxNum: bit 0 t0, bit 1 t1 given; bits 4-6 the order (enum ifs_rows_order), bits 8-10 its value column, bit 12 set if
 * ties of a value must be in order of time and id; bits 16-23 the value columns that are read; from IFS_LOST_SHIFT on as in
 * plan.h.
 *
 * idxStr: for each condition, in the order of argv, which begins with t0 and t1, "=N", "<N", "lN" (<=), ">N", "gN" (>=),
 * "iN" (IS), "nN" (IS NULL), "mN" (IN, all values at once), N the column's number (0 for rowid, too), and a space; then ":"
 * and, for EXPLAIN QUERY PLAN alone, its meaning.
 *
 * The series are chosen from the dictionary; of these the entries within a range of time, bounds of values and ends.
 * Without an order an iterator reads series after series. In an order they come from an iterator if there is one series and
 * the order is that of time, else from a best-first descent. Entries whose ordering column is NULL, for which nodes keep no
 * order, are a part of their own, before or after the others, as SQLite wants it.
 */
#ifndef IFS_QUERY_ROWS_H
#define IFS_QUERY_ROWS_H

#include "core/query/iterator.h"
#include "core/query/top_k.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/query/series_filter.h"
#include "sqlite_ext/storage/definition.h"

#define IFS_MAX_ROWS_CONDITIONS 30

enum ifs_rows_order {
	IFS_ROWS_IN_ANY_ORDER,
	IFS_ROWS_BY_TIME,
	IFS_ROWS_BY_TIME_DESCENDING,
	IFS_ROWS_BY_VALUE,
	IFS_ROWS_BY_VALUE_DESCENDING
};

struct ifs_rows_plan {
	const char *name; /* of the table that is asked, for messages */
	bool has_t0, has_t1;
	enum ifs_rows_order order;
	unsigned value; /* by which value */
	bool ties_in_order;
	uint32_t values; /* bit v: value v is read */
	unsigned n_conditions;
	struct {
		char op;
		int column;
	} conditions[IFS_MAX_ROWS_CONDITIONS];
};

/* Numbers of columns. */
enum { IFS_ROWS_ID = 0, IFS_ROWS_FIRST_BY = 1 };

static inline int ifs_rows_time(const struct ifs_definition *definition)
{
	return IFS_ROWS_FIRST_BY + (int)definition->n_by;
}

static inline int ifs_rows_first_value(const struct ifs_definition *definition)
{
	return ifs_rows_time(definition) + 1;
}

static inline bool ifs_rows_has_end(const struct ifs_definition *definition)
{
	return definition->duration_value != IFOREST_NO_VALUE;
}

/* Without a duration there is none, and the hidden columns come at once. */
static inline int ifs_rows_end(const struct ifs_definition *definition)
{
	return ifs_rows_has_end(definition) ? ifs_rows_first_value(definition) + (int)definition->n_values : -1;
}

static inline int ifs_rows_first_argument(const struct ifs_definition *definition)
{
	return ifs_rows_first_value(definition) + (int)definition->n_values + ifs_rows_has_end(definition);
}

/* What is known of the index without reading it. */
struct ifs_rows_size {
	double n_rows, n_series;
};

/* xBestIndex: fills in the info. Results as ifs_plan_make(). */
int ifs_rows_plan_make(const struct ifs_definition *definition, const char *name, const struct ifs_rows_size *size,
		       sqlite3_index_info *info, struct ifs_error *error);

/* xFilter: reads back what ifs_rows_plan_make() wrote. */
void ifs_rows_plan_read(struct ifs_rows_plan *plan, const char *name, int index_number, const char *index_text);

/* ---- Row queries ---- */

/* Entries that come one after the other in the same way. */
struct ifs_row_query_part {
	struct iforest_key from, to; /* of series 0: of each series likewise */
	bool lacks_value;	     /* those alone of which the value ordered by is NULL */
	bool is_ordered, descends;
	enum iforest_top_k_order order; /* if it is ordered */
};

struct ifs_row_query {
	struct ifs_index *index;
	struct ifs_snapshot *snapshot; /* of the last question; what follows up to has_best holds for that one */
	uint64_t n_changes;	       /* of the connection, when the snapshot was last seen to be the one stored */
	struct ifs_series_filter filter;
	struct iforest_iterator iterator;
	bool has_iterator;
	struct iforest_top_k top_k;
	bool has_top_k;

	struct ifs_rows_plan plan;
	struct iforest_value_predicate predicate;
	struct ifs_row_query_part parts[2];
	unsigned n_parts, part; /* the one being given; */
	bool part_is_open;
	uint32_t at_series; /* the next of the chosen, in a part without order */
	bool at_end;
	struct iforest_entry entry; /* the row */
};

/* Starts on a question. argv are the values that the plan names. Ends with ifs_row_query_release(), also on error; may be
 * started again before that. */
int ifs_row_query_start(struct ifs_row_query *rows, struct ifs_index *index, const struct ifs_rows_plan *plan,
			sqlite3_value **argv, struct ifs_error *error);
void ifs_row_query_release(struct ifs_row_query *rows);

/* Moves to the next row (also needed for the first); rows->at_end when there is none. */
int ifs_row_query_next(struct ifs_row_query *rows, struct ifs_error *error);

/* The series of the row. */
const struct ifs_series *ifs_row_query_series(const struct ifs_row_query *rows);

/* The end of the row's span, if its duration was read; false without a time. */
bool ifs_row_query_end_of(const struct ifs_row_query *rows, int64_t *end);

#endif
