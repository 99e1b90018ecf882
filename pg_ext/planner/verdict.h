/* planner/verdict.h -- Verdict on each iforest index at a query level: the plan uses it, or the reason why not.
 *
 * Verdicts go to three places: a NOTICE (iforest.explain_decline), a line in the server's log (iforest.log_decline), and a list
 * for functions that plan a query to report on it. While a list is collected, nothing is reported otherwise.
 *
 *   ifp_decline()   an index, or no particular one, is not used, for a reason
 *   ifp_offer()     a path with the index was added
 *   ifp_take()      the plan uses that path
 */
#ifndef IFP_PLANNER_VERDICT_H
#define IFP_PLANNER_VERDICT_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "pg_ext/am/handler.h"

struct ifp_verdict {
	char *level;	    /* "query"; "CTE c", "subquery s", "arm 1", "subselect 1", from the outermost, with commas */
	Oid table, index;   /* InvalidOid: no particular one; for a partitioned table, the partitioned index */
	List *indexes;	    /* of an offered path: all of its indexes, the first of which is `index` (OIDs) */
	const char *node;   /* NULL: declined before there was a path */
	const char *reason; /* why it is not used; NULL if it is */
	bool is_taken;
	bool has_cost, has_cost_without;
	Cost cost, cost_without; /* of the level */
};

/* Parameter iforest.enable. */
extern bool ifp_enable;

/* The reasons given for a path that another one beats. The latter two say what makes it dear: an expression is evaluated for each
 * value of a value column, or a condition for each series. */
extern const char ifp_costs_more[], ifp_costs_more_by_values[], ifp_costs_more_by_series[];

/* Parameters iforest.explain_decline and iforest.log_decline. */
extern bool ifp_explain_decline, ifp_log_decline;

/* The verdicts that are collected; NULL unless a query is planned to report on it. Only then are wishes collected
 * (planner/wish.h) and would-be indexes seen (planner/would_be_index.h). */
extern struct ifp_collection *ifp_collection;

/* True if the index is of this access method. */
static inline bool ifp_is_iforest(const IndexOptInfo *index)
{
	return (void *)index->amcostestimate == (void *)ifp_cost_estimate && !index->hypothetical;
}

/* True if reasons are reported or collected; the planner then finds all of them. */
static inline bool ifp_are_reasons_wanted(void)
{
	return ifp_explain_decline || ifp_log_decline || ifp_collection;
}

/* True if one of the tables has an iforest index, and reasons are wanted. */
bool ifp_has_index(const PlannerInfo *root, const RelOptInfo *tables);

/* Returns the table of a relation of the level; InvalidOid if it is not a table, e.g. a join. */
Oid ifp_table_of(const PlannerInfo *root, const RelOptInfo *rel);

/* level: the query level that is not answered; table: InvalidOid for several; index: NULL for no particular one. */
void ifp_decline(PlannerInfo *level, Oid table, const IndexOptInfo *index, const char *reason);

/* indexes: of the path, one for each partition or arm of a UNION ALL (IndexOptInfo); cost_without: cost of the cheapest other path; negative: there is none. beaten: the reason if another path is taken, one of the
 * three above. Does nothing if no list is collected. */
void ifp_offer(PlannerInfo *level, Oid table, const List *indexes, const CustomPath *path, Cost cost, Cost cost_without,
	       const char *beaten);

/* Must be called when the path becomes a plan. */
void ifp_take(const CustomPath *path);

/* Plans a query as pg_plan_query() does, and collects its verdicts (list of struct ifp_verdict) in the order of planning. A
 * table with an iforest index that got no verdict gets a general one. */
PlannedStmt *ifp_plan_with_verdicts(Query *query, const char *text, List **verdicts);

/* Must be called when the planning of a level ends.
 * Requires  verdicts are collected. */
void ifp_verdicts_end_level(const PlannerInfo *root);

/* Registers the parameters iforest.enable, .explain_decline and .log_decline. Requires  called once, when the library is
 * loaded. */
void ifp_verdicts_register(void);

#endif
