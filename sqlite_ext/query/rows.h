/* query/rows.h -- Row queries: plans of iforest_rows, and the requested entries in the requested order.
 *
 * Columns: id | by columns | the time column | value columns | end, if there is a duration | hidden t0, t1.
 *
 * Each condition narrows what is read, and SQLite checks it again: a bound may be too wide but never too narrow. The exceptions
 * are t0 and t1, which SQLite cannot check. Rows come in the requested order if idxNum says so.
 *
 * idxNum: bit 0: t0 is given; bit 1: t1 is given; bits 4-6: the order (enum ifs_rows_order); bits 8-10: its value column;
 * bit 12: ties of a value must be in order of time and id; bits 16-23: the value columns that are read; from
 * IFS_UNUSABLE_SHIFT on as in plan.h.
 *
 * idxStr: for each condition, in the order of argv, which begins with t0 and t1, "=N", "<N", "lN" (<=), ">N", "gN" (>=),
 * "iN" (IS), "nN" (IS NULL), "mN" (IN, all values at once), where N is the column's number (0 also for rowid), and a space;
 * then ":" and the meaning in words, which only EXPLAIN QUERY PLAN shows.
 *
 * A query chooses series from the dictionary, and then their entries within a range of times and bounds of values and ends.
 * Without an order an iterator reads series after series. An iterator also returns one series in order of time; any other
 * order comes from a best-first descent. Entries whose ordering column is NULL are not ordered by nodes. They are a separate
 * part, before or after the others, as SQLite orders NULL.
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
	const char *name; /* of the queried table, for messages */
	bool has_t0, has_t1;
	enum ifs_rows_order order;
	unsigned value; /* the value column of an order by value */
	bool ties_in_order;
	uint32_t values; /* bit v: value v is read */
	unsigned n_conditions;
	struct {
		char op;
		int column;
	} conditions[IFS_MAX_ROWS_CONDITIONS];
};

/* Numbers of the columns. */
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

/* Returns -1 if there is no duration; then the hidden columns follow the values. */
static inline int ifs_rows_end(const struct ifs_definition *definition)
{
	return ifs_rows_has_end(definition) ? ifs_rows_first_value(definition) + (int)definition->n_values : -1;
}

static inline int ifs_rows_first_argument(const struct ifs_definition *definition)
{
	return ifs_rows_first_value(definition) + (int)definition->n_values + ifs_rows_has_end(definition);
}

/* Estimated size of the index, known without reading it. */
struct ifs_rows_size {
	double n_rows, n_series;
};

/* xBestIndex: fills in the info. Arguments and result are as in ifs_plan_make(). */
int ifs_rows_plan_make(const struct ifs_definition *definition, uint32_t number_texts, const char *name,
		       const struct ifs_rows_size *size, sqlite3_index_info *info, struct ifs_error *error);

/* xFilter: decodes what ifs_rows_plan_make() wrote. */
void ifs_rows_plan_read(struct ifs_rows_plan *plan, const char *name, int index_number, const char *index_text);

/* ---- Row queries ---- */

/* A part of the answer that is read in one way. */
struct ifs_row_query_part {
	struct iforest_key from, to; /* keys of series 0, which apply to each chosen series */
	bool lacks_value;	     /* only entries whose ordering value is NULL */
	bool is_ordered, descends;
	enum iforest_top_k_order order; /* of is_ordered */
};

struct ifs_row_query {
	struct ifs_index *index;
	struct ifs_snapshot *snapshot; /* of the last query; the members up to has_top_k belong to it */
	uint64_t n_changes;	       /* the connection's count when the snapshot was last known to be the stored state */
	struct ifs_series_filter filter;
	struct iforest_iterator iterator;
	bool has_iterator;
	struct iforest_top_k top_k;
	bool has_top_k;

	struct ifs_rows_plan plan;
	struct iforest_value_predicate predicate;
	struct ifs_row_query_part parts[2];
	unsigned n_parts, part; /* the current one */
	bool part_is_open;
	uint32_t at_series;	    /* the next of the chosen series, in a part without order */
	struct iforest_entry entry; /* the current row */
};

/* Starts a query, also over a started one. argv has the values that the plan names. Release also after an error. */
int ifs_row_query_start(struct ifs_row_query *rows, struct ifs_index *index, const struct ifs_rows_plan *plan,
			sqlite3_value **argv, struct ifs_error *error);
void ifs_row_query_release(struct ifs_row_query *rows);

/* Moves to the next row, or the first; sets *at_end if there is none. */
int ifs_row_query_next(struct ifs_row_query *rows, bool *at_end, struct ifs_error *error);

/* Returns the series of the row. */
const struct ifs_series *ifs_row_query_series(const struct ifs_row_query *rows);

/* Sets the end of the row's span. Returns false if the row has no time.
 * Requires  the duration is read */
bool ifs_row_query_end_of(const struct ifs_row_query *rows, int64_t *end);

#endif
