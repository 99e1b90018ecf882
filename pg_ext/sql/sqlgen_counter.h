/* sql/sqlgen_counter.h -- SQL text of an index's function that reads values as counters.
 *
 * A counter keeps its value from one sample to the next. The function has a row for each series and bucket, from the series'
 * first row on: with the value that is carried in, the mean over time, the increase, the rate, the resets
 * (core/model/counter.h says what these are). It is plain SQL over the table: an arm for each value, in which a window function
 * gives each sample its neighbours and generate_series() the buckets in which it holds. What is carried in, how many rows a
 * bucket has and where a series begins are aggregates that the index answers; the samples of the window are read.
 */
#ifndef IFP_SQL_SQLGEN_COUNTER_H
#define IFP_SQL_SQLGEN_COUNTER_H

#include "pg_ext/sql/sqlgen.h"

/* True if the index has such a function: there are numbers, and the extension knows the row of a last value. */
bool ifp_has_counters(const struct ifp_sqlgen_index *index);

/* Returns the query, of $1 t0, $2 t1, $3 n, $4 step, $5 origin.
 * Requires  ifp_has_counters(). */
char *ifp_counter_query(const struct ifp_sqlgen_index *index);

#endif
