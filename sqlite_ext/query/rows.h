/* rows_plan.h -- what a query asks of a table of rows: constraints to a plan in xBestIndex, and back in xFilter.
 *
 * Columns: id | by columns | the time column | value columns | end, where there is a duration | hidden t0, t1.
 *
 * Every condition narrows what is read and is checked again by SQLite, so that a bound may be taken too wide, never too narrow.
 * The exceptions are t0 and t1, which have no other meaning. Rows come in the order asked for where idxNum says so.
 *
 * idxNum: bit 0 t0, bit 1 t1 given; bits 4-6 the order (enum iforest_rows_order), bits 8-10 its value column, bit 12 set where
 * ties of a value are to be in order of time and id; bits 16-23 the value columns that are read;
 * what plan.h has from IFOREST_LOST_SHIFT on.
 *
 * idxStr: for each condition, in the order of argv, which begins with t0 and t1, "=N", "<N", "lN" (<=), ">N", "gN" (>=), "iN"
 * (IS), "nN" (IS NULL), "mN" (IN, all values at once), N the column's number (0 for rowid, too), and a space; then ":" and, for
 * EXPLAIN QUERY PLAN alone, what that means.
 */
#ifndef IFOREST_SQLITE_ROWS_PLAN_H
#define IFOREST_SQLITE_ROWS_PLAN_H

#include "sqlite_ext/storage/definition.h"

#define IFOREST_MAX_ROWS_CONDITIONS 30

enum iforest_rows_order {
	IFOREST_ROWS_IN_ANY_ORDER, IFOREST_ROWS_BY_TIME, IFOREST_ROWS_BY_TIME_DESCENDING, IFOREST_ROWS_BY_VALUE,
	IFOREST_ROWS_BY_VALUE_DESCENDING
};

struct iforest_rows_plan {
	const char *name;                     /* of the table that is asked, for messages */
	bool has_t0, has_t1;
	enum iforest_rows_order order;
	unsigned value;                       /* by which value */
	bool ties_in_order;
	uint32_t values;                      /* bit v: value v is read */
	unsigned n_conditions;
	struct { char op; int column; } conditions[IFOREST_MAX_ROWS_CONDITIONS];
};

/* Numbers of columns. */
enum { IFOREST_ROWS_ID = 0, IFOREST_ROWS_FIRST_BY = 1 };

static inline int iforest_rows_time(const struct iforest_definition *definition)
{
	return IFOREST_ROWS_FIRST_BY + (int)definition->n_by;
}

static inline int iforest_rows_first_value(const struct iforest_definition *definition)
{
	return iforest_rows_time(definition) + 1;
}

static inline bool iforest_rows_has_end(const struct iforest_definition *definition)
{
	return definition->duration_value != IFOREST_NO_VALUE;
}

/* Without a duration there is none, and the hidden columns come at once. */
static inline int iforest_rows_end(const struct iforest_definition *definition)
{
	return iforest_rows_has_end(definition) ? iforest_rows_first_value(definition) + (int)definition->n_values : -1;
}

static inline int iforest_rows_first_argument(const struct iforest_definition *definition)
{
	return iforest_rows_first_value(definition) + (int)definition->n_values + iforest_rows_has_end(definition);
}

/* What is known of the index without reading it. */
struct iforest_rows_size {
	double n_rows, n_series;
};

/* xBestIndex: fills in the info. Results as iforest_plan_make(). */
int iforest_rows_plan_make(const struct iforest_definition *definition, const char *name, const struct iforest_rows_size *size,
			   sqlite3_index_info *info, struct iforest_error *error);

/* xFilter: reads back what iforest_rows_plan_make() wrote. */
void iforest_rows_plan_read(struct iforest_rows_plan *plan, const char *name, int index_number, const char *index_text);

#endif
