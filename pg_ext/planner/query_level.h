/* planner/query_level.h -- A query level that groups one table, which may be inside subqueries that pass on all of its rows.
 *
 * The planner plans a CTE, or a subquery with ORDER BY, LIMIT or OFFSET, separately and before the level above. If its limits
 * are known to select all rows (OFFSET 0, LIMIT NULL), it only computes columns and filters rows, since aggregates do not
 * depend on the order of rows. The level above is then treated as if it were written over the table.
 *
 * The subquery's plan stays below the answer but is never run. It keeps the table in the statement's range table, so that
 * privileges are checked and plans are invalidated by changes.
 */
#ifndef IFP_PLANNER_QUERY_LEVEL_H
#define IFP_PLANNER_QUERY_LEVEL_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

#include "pg_ext/planner/verdict.h"

/* A grouped query level in the planner's terms. Its expressions are over the outermost subquery, if there is one. */
struct ifp_query_level {
	PlannerInfo *upper;	  /* of the level */
	PlannerInfo *root;	  /* of the query that has the table in its FROM */
	RelOptInfo *rel;	  /* the table */
	RelOptInfo *join;	  /* of the table and its dimensions; NULL: none */
	List *dimensions;	  /* struct ifp_joined (planner/dimension.h) */
	List *join_conditions;	  /* remaining conditions of the join */
	List *layers;		  /* the subqueries between upper and root, outermost first */
	Path *source;		  /* path of the outermost subquery that is not a CTE; NULL: none */
	List *groups, *operators; /* expressions; OidList of equality operators, InvalidOid if not hashable */
	List *sets;		  /* grouping sets (planner/grouping_sets.h) */
	List *outputs;		  /* target and HAVING: expressions over groups, Aggrefs and GROUPING() */
	Cost cost_without;	  /* of the cheapest plan without an index; negative: there is none */
};

/* If level->rel is a subquery that only passes on rows of a table, moves level->root and level->rel down to that table, through
 * any number of subqueries. Otherwise changes nothing and returns the reason if that is worth a notice, else NULL. */
const char *ifp_query_level_enter(struct ifp_query_level *level);

/* Rewrites an expression of the level over the columns of the table. */
Node *ifp_query_level_expression(const struct ifp_query_level *level, Node *expression);

/* Returns the RestrictInfos of the table, followed by those of the subqueries' rows. */
List *ifp_query_level_restrictions(const struct ifp_query_level *level, List *of_table);

/* True if a query returns a row for each row of its FROM that its conditions and LIMIT leave, and locks none. */
bool ifp_returns_rows(const Query *query);

/* Returns the cheapest path that is not disabled, or NULL. */
const Path *ifp_cheapest_path(const RelOptInfo *rel);

/* Parameters iforest.float_aggregates, .approximate_percentiles and .approximate_distinct; ifp_agg_path_register() registers
 * them. */
extern bool ifp_float_aggregates, ifp_approximate_percentiles, ifp_approximate_distinct;

#endif
