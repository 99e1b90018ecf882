/* function_window.h -- the columns and arms of the query of windows, for those that write it. Not for others. */
#ifndef IFOREST_PG_FUNCTION_WINDOW_H
#define IFOREST_PG_FUNCTION_WINDOW_H

#include "pg_ext/function_pieces.h"

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
	const struct iforest_column *value;
	const struct iforest_shown *shown;
};

/* What is done with buckets without rows, or values. */
enum iforest_window_fill { IFOREST_WINDOW_PLAIN, IFOREST_WINDOW_FILLED, IFOREST_WINDOW_CARRIED };

/* All of them, in the order of the answer: value by value, then variances; and then, to be carried, what is hidden. */
List *iforest_value_columns(const struct iforest_functions *functions, enum iforest_window_fill fill);

/* Names of the output, quoted, in their order. */
List *iforest_window_names(const struct iforest_functions *functions);

/* How many columns an arm has: c1 and so on. The by columns, six of the bucket, and those of the values. */
int iforest_n_columns(const struct iforest_functions *functions, enum iforest_window_fill fill);

/* c<from>, ... c<to>; and in parentheses, for an alias. */
void iforest_add_numbers(StringInfo text, int from, int to);
void iforest_add_columns(StringInfo text, int from, int to);

/* An aggregate of a value column, after a comma. */
void iforest_add_value(StringInfo text, const struct iforest_functions *functions, const struct iforest_value_column *column);

/* iforest_add_gate() and iforest_add_gates(), of $6. */
void iforest_add_window_gate(StringInfo text, const struct iforest_functions *functions, bool is_open,
			     enum iforest_window_fill fill);
void iforest_add_window_gates(StringInfo text, const struct iforest_functions *functions, enum iforest_window_fill fill);

/* Arms: the groups of all times or of a window; and every series with every bucket, of which nothing else is known (NULL, up
 * to so many columns). Between them the numbers of the first and the last bucket. */
void iforest_add_grouped(StringInfo text, const struct iforest_functions *functions, bool is_open,
			 enum iforest_window_fill fill);
void iforest_add_first_bucket(StringInfo text, const struct iforest_functions *functions);
void iforest_add_last_bucket(StringInfo text, const struct iforest_functions *functions);
void iforest_add_all_buckets(StringInfo text, const struct iforest_functions *functions, int n_columns);

/* All of the answer with fill => 'last' or 'linear', without names. Requires functions->is_carried. */
void iforest_add_carried(StringInfo text, const struct iforest_functions *functions);

#endif
