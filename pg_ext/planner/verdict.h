/* planner/verdict.h -- What became of each iforest index at a query level: the plan has it, or why not.
 *
 * One mechanism with three outlets: a NOTICE (iforest.explain_decline), a line in the server's log (iforest.log_decline), and a
 * list for functions that plan a query to see what becomes of it. While a list is collected, nothing is said.
 *
 *   ifp_decline()   an index, or none in particular, is left out, for a reason
 *   ifp_offer()     a path with the index is added to others
 *   ifp_take()      the plan has that path
 */
#ifndef IFP_PLANNER_VERDICT_H
#define IFP_PLANNER_VERDICT_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

struct ifp_verdict {
	char *level;	    /* "query"; "CTE c", "subquery s", "arm 1", "subselect 1", from the outermost, with commas */
	Oid table, index;   /* InvalidOid: none in particular; of a partitioned table, the partitioned index */
	const char *node;   /* NULL: declined before there was a path */
	const char *reason; /* why it is not taken; NULL if it is */
	bool is_taken;
	bool has_cost, has_cost_without;
	Cost cost, cost_without; /* of the level */
};

/* Parameter iforest.enable. */
extern bool ifp_enable;

/* The reason of a path that loses. */
extern const char ifp_costs_more[];

/* True if the index is of this access method. */
bool ifp_is_iforest(const IndexOptInfo *index);

/* True if reasons are said or collected: then the planner looks for all of them. */
bool ifp_are_reasons_wanted(void);

/* True if one of the tables has an iforest index, and reasons are wanted. */
bool ifp_has_index(const PlannerInfo *root, const RelOptInfo *tables);

/* Returns the table that a relation of the level is; InvalidOid if it is none, or a join. */
Oid ifp_table_of(const PlannerInfo *root, const RelOptInfo *rel);

/* level: the query level that is not answered; table: InvalidOid for several; index: NULL for none in particular. */
void ifp_decline(PlannerInfo *level, Oid table, const IndexOptInfo *index, const char *reason);

/* cost_without: of the cheapest other path; below 0: there is none. Does nothing if no list is collected. */
void ifp_offer(PlannerInfo *level, Oid table, const IndexOptInfo *index, const CustomPath *path, Cost cost, Cost cost_without);

/* To be called when the path becomes a plan. */
void ifp_take(const CustomPath *path);

/* Plans a query as pg_plan_query() does, and collects its verdicts (list of struct ifp_verdict), in the order of planning.
 * Tables that have an iforest index of which nothing was said have a verdict of their own. */
PlannedStmt *ifp_plan_with_verdicts(Query *query, const char *text, List **verdicts);

/* Registers the parameters iforest.enable, .explain_decline and .log_decline, and a hook. Requires  called once, when the library
 * is loaded. */
void ifp_verdicts_register(void);

#endif
