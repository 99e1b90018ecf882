/* sql/query_plan.h -- Plan of a query given as text, with verdicts on its indexes and wishes for new ones.
 */
#ifndef IFP_SQL_QUERY_PLAN_H
#define IFP_SQL_QUERY_PLAN_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

struct ifp_query_plan {
	List *verdicts; /* struct ifp_verdict (planner/verdict.h) */
	List *wishes;	/* struct ifp_wish (planner/wish.h) */
	Cost cost;	/* of the whole query */
};

/* Plans the query in a text, as EXPLAIN does. It must be one statement, not a utility statement; it may have parameters ($1)
 * without values.
 * Errors    those of parsing and planning, missing privileges, or a text that is not such a statement.
 * Cost      that of planning it. Nothing is run. */
void ifp_query_plan(const char *text, struct ifp_query_plan *result);

#endif
