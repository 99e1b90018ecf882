/* planner/value_split.h -- Value columns by which the rows of a bucket are split into classes, so that they act as by columns.
 *
 * If neither histograms nor passes answer a query, the entries of each bucket are read once and folded separately for each
 * class. A column is split by its values, or by steps between bounds that are drawn from its conditions:
 *
 *   GROUP BY depth                                   by the values of depth
 *   count(*) FILTER (WHERE took > 500 OR size > 9)   by took up to 500, above, NULL, and by size up to 9, above, NULL
 *   WHERE took > 500 OR host = 'a'                   by took up to 500, above, NULL
 *
 * A split column has a second column in the query's row, among those of dimensions, which act as by columns. It holds the
 * value, or any value of the step. Group keys and conditions use the second column and are constant on a class; sums use the
 * value column.
 */
#ifndef IFP_PLANNER_VALUE_SPLIT_H
#define IFP_PLANNER_VALUE_SPLIT_H

#include "pg_ext/planner/index_query.h"

#include "core/model/kind.h"

struct ifp_value_split {
	int value; /* the value column */
	bool is_exact;
	int n_bounds; /* bounds of the steps, ascending; reals as ifp_key_from_double() */
	int64 bounds[IFOREST_MAX_BOUNDS];
};

/* Splits the query by the value columns of its group keys, of conditions in aggregates, and of query->by_steps, which become
 * late conditions. Returns false if that is not possible; the contents of query are then undefined.
 * Requires  groups and aggregates have been added, with query->is_splitting. */
bool ifp_value_split(struct ifp_index_query *query);

/* Reads element i of query->splits. Returns false if that value column is not split. */
bool ifp_value_split_read(const struct ifp_index_query *query, int i, struct ifp_value_split *split);

/* Returns the second column of value column i. */
static inline AttrNumber ifp_value_split_column(const struct ifp_index_query *query, int i)
{
	return (AttrNumber)(list_length(query->columns) - list_length(query->splits) + 1 + i);
}

#endif
