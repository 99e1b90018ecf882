/* sql/sqlgen_counter.h -- SQL text of an index's function that treats values as counters.
 *
 * A counter keeps its value from one sample to the next. The function returns a row for each series and bucket, from the
 * series' first row on: the value carried in, the mean over time, the increase, the rate, the resets (defined in
 * core/model/counter.h). It is plain SQL over the table, with an arm for each value: a window function gives each sample its
 * neighbours, and generate_series() the buckets it spans. The value carried in, the rows of a bucket and the start of a series
 * are aggregates that the index answers; the samples of the window are read.
 */
#ifndef IFP_SQL_SQLGEN_COUNTER_H
#define IFP_SQL_SQLGEN_COUNTER_H

#include "pg_ext/sql/sqlgen.h"

/* True if the index has such a function: it has numeric values, and the extension's version has rows of last values. */
bool ifp_has_counters(const struct ifp_sqlgen_index *index);

/* Returns the query, with arguments $1 t0, $2 t1, $3 n, $4 step, $5 origin.
 * Requires  ifp_has_counters(). */
char *ifp_counter_query(const struct ifp_sqlgen_index *index);

#endif
