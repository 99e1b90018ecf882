/* planner/combination.h -- Groups that are computed in parts, and combined by PostgreSQL's own aggregates.
 *
 *   SELECT avg(v) ... GROUP BY k          Custom Scan (IForestCombine)      the query's own expressions: k, avg(v)
 *                                           -> Subquery Scan
 *                                             -> Aggregate by k             sum(s) / sum(n)
 *                                               -> ...                      parts: k, sum(v) AS s, count(v) AS n
 *
 * The planner plans everything below the custom scan as an ordinary query, unless the parts have paths already. The parts are the
 * groups of foreign partitions (planner/partition_groups.h), or of the rows that each row of another relation joins
 * (planner/outer_rows.h). The plan competes by cost with PostgreSQL's own.
 *
 * Aggregates that can be combined: count, sum, avg, min, max, those over booleans and bits, and those that
 * planner/state_aggregates.h splits.
 */
#ifndef IFP_PLANNER_COMBINATION_H
#define IFP_PLANNER_COMBINATION_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* The query as its parts compute it and as it is combined, column by column. */
struct ifp_combination {
	List *groups;	  /* GROUP BY's expressions, then columns that depend on them; over the query's relations */
	List *aggregates; /* the query's Aggrefs */
	List *sent;	  /* what a part computes beside groups; over the query's relations */
	List *combined;	  /* an expression for each of aggregates, over columns of varno 1: groups, then sent */
	bool is_refused;  /* an aggregate cannot be combined */
};

/* Reads the groups of the query, and the aggregates of outputs. Returns false if it cannot be combined. */
bool ifp_combination_read(PlannerInfo *root, List *outputs, struct ifp_combination *combination);

/* Marks the aggregates of expressions as not numbered yet: the planner numbers them by query. */
void ifp_forget_numbers(List *expressions);

/* Makes a query group by the first columns of its target list, by the operators of this level's groups. Other columns that are
 * not aggregates must depend on these: they need no equality. */
void ifp_group(const PlannerInfo *root, Query *query);

/* Adds a path to the groups in `output` that combines the rows of a query: those of all parts, each with groups, then sent. With
 * `by_index`, only if an index answers a subquery of it. Returns false if no path is added. */
bool ifp_combination_offer(PlannerInfo *root, RelOptInfo *output, List *having, const struct ifp_combination *combination,
			   Query *rows, bool by_index);

/* The same of parts that are planned already, as paths of this level with this target: groups, then sent. Requires groups that can
 * be hashed, all of them in GROUP BY. */
PathTarget *ifp_combination_target(PlannerInfo *root, const struct ifp_combination *combination);
void ifp_combination_offer_parts(PlannerInfo *root, RelOptInfo *output, List *having, const struct ifp_combination *combination,
				 Path *parts);

#endif
