/* planner/top_groups.h -- Groups that ORDER BY an aggregate with LIMIT leaves out.
 *
 *   SELECT name, sum(dur) FROM spans GROUP BY name ORDER BY sum(dur) DESC LIMIT 10
 *
 * A group is returned only if fewer than ten others have a greater sum. Where each group is one series, read at once, the executor
 * knows its sum as soon as it is read, and leaves out a group that ten before it exceed (exec/top_heap.h): its keys and its state
 * are not made, and it is not sorted. Groups that are equal to the tenth are kept, since further sort keys may decide among them.
 * The sort and the LIMIT above stay as they are.
 */
#ifndef IFP_PLANNER_TOP_GROUPS_H
#define IFP_PLANNER_TOP_GROUPS_H

#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/query_level.h"

enum ifp_top_quantity { IFP_TOP_ROWS, IFP_TOP_COUNT, IFP_TOP_SUM, IFP_TOP_MIN, IFP_TOP_MAX };

struct ifp_top_groups {
	int aggregate; /* index in query->aggregates of the first sort key */
	enum ifp_top_quantity quantity;
	int value; /* its value column, of integers; of COUNT any */
	bool is_descending, nulls_first;
	Node *limit, *offset; /* expressions of int8 without columns; offset NULL: none */
};

/* Sets query->top if the level's LIMIT leaves out groups that can be told. computed: as from ifp_query_match(). */
void ifp_top_groups_find(const struct ifp_query_level *level, const List *computed, struct ifp_index_query *query);

/* Reads query->top. Requires  it is not NIL. */
void ifp_top_groups_read(const struct ifp_index_query *query, struct ifp_top_groups *top);

/* Returns the number of groups, of n_groups, that are returned to the sort, if they come in any order. */
double ifp_top_groups_estimate(const struct ifp_index_query *query, double n_groups);

#endif
