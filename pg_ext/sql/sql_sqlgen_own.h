/* sql_sqlgen_own.h -- Not for others. */
#ifndef IFOREST_PG_SQL_SQLGEN_OWN_H
#define IFOREST_PG_SQL_SQLGEN_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/sql/sqlgen.h"
#include "pg_ext/sql/function_pieces.h"
#include "pg_ext/sql/function_window.h"

/* Is that asked: without bounds or with them, filled or not? And the same, whichever bounds there are. */
void iforest_add_gate(StringInfo text, const struct iforest_functions *functions, const char *fill, bool is_open,
		      bool is_filled);

/* All of them, in the order of the answer: value by value, then variances; and then, to be carried, what is hidden. */
List *iforest_value_columns(const struct iforest_functions *functions, enum iforest_window_fill fill);

/* Names of the output, quoted, in their order. */
List *iforest_window_names(const struct iforest_functions *functions);

/* How many columns an arm has: c1 and so on. The by columns, six of the bucket, and those of the values. */
int iforest_n_columns(const struct iforest_functions *functions, enum iforest_window_fill fill);

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

/* All of the answer with fill => 'last' or 'linear', without names. Requires functions->is_carried. */
void iforest_add_carried(StringInfo text, const struct iforest_functions *functions);

#endif
