#include "pg_ext/sql/query_plan.h"

#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/analyze.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/verdict.h"
#include "pg_ext/planner/wish.h"

/* ---- planning ---- */

/* Errors point into the text, not into the statement that calls the function. */
static void point_into_text(void *text)
{
	int position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery(text);
}

static List *parse(const char *text)
{
	List *parsed = pg_parse_query(text);
	Oid *types = NULL;
	int n_types = 0;
	Query *query;

	if (list_length(parsed) != 1)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the text is not one statement"));
	query = parse_analyze_varparams(linitial_node(RawStmt, parsed), text, &types, &n_types, NULL);
	if (query->commandType == CMD_UTILITY)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the statement is no query"),
			errhint("EXPLAIN, PREPARE and the like are left out: the query itself is asked for."));
	return pg_rewrite_query(query);
}

static void plan_one(Query *query, const char *text, struct ifp_query_plan *result)
{
	List *verdicts;
	PlannedStmt *plan = ifp_plan_with_verdicts(query, text, &verdicts);

	ifp_check_privileges(plan);
	result->verdicts = list_concat(result->verdicts, verdicts);
	result->cost += plan->planTree->total_cost;
}

void ifp_query_plan(const char *text, struct ifp_query_plan *result)
{
	ErrorContextCallback context = { error_context_stack, point_into_text, unconstify(char *, text) };
	ListCell *cell;

	*result = (struct ifp_query_plan){ NIL, NIL, 0 };
	error_context_stack = &context;
	ifp_wishes_collect(&result->wishes);
	PG_TRY();
	{
		foreach (cell, parse(text))
			if (lfirst_node(Query, cell)->commandType != CMD_UTILITY)
				plan_one(lfirst_node(Query, cell), text, result);
	}
	PG_FINALLY();
	{
		ifp_wishes_collect(NULL);
	}
	PG_END_TRY();
	error_context_stack = context.previous;
}

/* ---- iforest_explain() ---- */

enum { COLUMNS = 8 };

IFP_SQL_FUNCTION(iforest_explain_query);

static void put_row(ReturnSetInfo *result, const struct ifp_verdict *verdict)
{
	Datum values[COLUMNS];
	bool nulls[COLUMNS] = { false };

	values[0] = CStringGetTextDatum(verdict->level);
	values[1] = ObjectIdGetDatum(verdict->table);
	nulls[1] = !OidIsValid(verdict->table);
	values[2] = ObjectIdGetDatum(verdict->index);
	nulls[2] = !OidIsValid(verdict->index);
	values[3] = BoolGetDatum(verdict->is_taken);
	nulls[4] = !verdict->node;
	values[4] = nulls[4] ? (Datum)0 : CStringGetTextDatum(verdict->node);
	nulls[5] = !verdict->reason;
	values[5] = nulls[5] ? (Datum)0 : CStringGetTextDatum(verdict->reason);
	values[6] = Float8GetDatum(verdict->cost);
	nulls[6] = !verdict->has_cost;
	values[7] = Float8GetDatum(verdict->cost_without);
	nulls[7] = !verdict->has_cost_without;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum iforest_explain_query(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;
	struct ifp_query_plan plan;
	ListCell *cell;

	ifp_query_plan(text_to_cstring(PG_GETARG_TEXT_PP(0)), &plan);
	InitMaterializedSRF(fcinfo, 0);
	foreach (cell, plan.verdicts)
		put_row(result, lfirst(cell));
	return (Datum)0;
}
