/* sql/query_plan.h -- A query in a text, planned to see what becomes of it.
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

/* Plans the query of a text, as EXPLAIN does: one statement, which is no utility statement; parameters ($1) may stand in it,
 * of which the plan knows no values.
 * Errors    those of parsing, planning and missing privileges; of a text that is no such statement.
 * Cost      that of planning it. Nothing is run. */
void ifp_query_plan(const char *text, struct ifp_query_plan *result);

#endif
