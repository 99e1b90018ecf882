/* planner/query_level.h -- A query level that groups one table, which may lie in subqueries that hand on all of its rows.
 *
 * The planner keeps a subquery with ORDER BY, LIMIT or OFFSET and a CTE apart from the level above, and plans it first. Where
 * its limits are known to choose all rows (OFFSET 0, LIMIT NULL), it only computes columns and leaves out rows: aggregates do
 * not depend on the order of rows. Then the level above is as if it had been written over the table.
 *
 * The subquery's plan stays below the answer, which never runs it: it brings the table into the statement's range table, so
 * that privileges are checked and plans are made anew after changes.
 */
#ifndef IFP_PLANNER_QUERY_LEVEL_H
#define IFP_PLANNER_QUERY_LEVEL_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

#include "pg_ext/planner/verdict.h"

/* A grouped query level, in the planner's terms. Its expressions are over the outermost of the subqueries, if there are any. */
struct ifp_query_level {
	PlannerInfo *upper;	  /* of the level */
	PlannerInfo *root;	  /* of the query that has the table in its FROM */
	RelOptInfo *rel;	  /* the table */
	RelOptInfo *join;	  /* of the table and its dimensions; NULL: none */
	List *dimensions;	  /* struct ifp_joined (planner/dimension.h) */
	List *join_conditions;	  /* what else the join has to meet */
	List *layers;		  /* the subqueries between them, outermost first */
	Path *source;		  /* of the outermost subquery that is no CTE; NULL: none */
	List *groups, *operators; /* expressions; OidList of equality operators, InvalidOid where it cannot be hashed */
	List *sets;		  /* grouping sets (planner/grouping_sets.h) */
	List *outputs;		  /* expressions over groups, Aggrefs and GROUPING(): the target, and HAVING */
	Cost cost_without;	  /* of the cheapest plan without an index; below 0: there is none */
};

/* Moves level->root and level->rel from a subquery to the table whose rows it hands on, through any number of subqueries; not at
 * all if it does more. Returns NULL, or why it does not, if that is worth a notice. */
const char *ifp_query_level_enter(struct ifp_query_level *level);

/* Rewrites an expression of the level over the columns of the table. */
Node *ifp_query_level_expression(const struct ifp_query_level *level, Node *expression);

/* Returns the RestrictInfos of the table with those of the subqueries' rows, which come last. */
List *ifp_query_level_restrictions(const struct ifp_query_level *level, List *of_table);

/* Returns the cheapest path that is not disabled, or NULL. */
const Path *ifp_cheapest_path(const RelOptInfo *rel);

/* Parameters iforest.float_aggregates, .approximate_percentiles and .approximate_distinct; ifp_agg_path_register() registers
 * them. */
extern bool ifp_float_aggregates, ifp_approximate_percentiles, ifp_approximate_distinct;

#endif
