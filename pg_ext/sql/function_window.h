/* function_window.h -- the columns and arms of the query of windows, for those that write it. Not for others. */
#ifndef IFOREST_PG_FUNCTION_WINDOW_H
#define IFOREST_PG_FUNCTION_WINDOW_H

#include "pg_ext/sql/function_pieces.h"

/* What is shown of value column v: the aggregate, and the name, into which its own is put. */
struct iforest_shown {
	const char *name, *aggregate;
	bool is_own;      /* of the extension, and of a row */
	bool is_ctid;     /* not of a partitioned table */
	bool is_summed;   /* only of numbers */
	bool is_variance; /* only where squares are kept */
	bool is_zero;     /* where filled with zeros */
	bool is_hidden;   /* gathered to be carried into other buckets, and not shown */
};

/* One of the columns of value v. */
struct iforest_value_column {
	const struct iforest_sqlgen_column *value;
	const struct iforest_shown *shown;
};

/* What is done with buckets without rows, or values. */
enum iforest_window_fill { IFOREST_WINDOW_PLAIN, IFOREST_WINDOW_FILLED, IFOREST_WINDOW_CARRIED };

/* c<from>, ... c<to>; and in parentheses, for an alias. */
void iforest_add_numbers(StringInfo text, int from, int to);
void iforest_add_columns(StringInfo text, int from, int to);

void iforest_add_all_buckets(StringInfo text, const struct iforest_functions *functions, int n_columns);

#endif
