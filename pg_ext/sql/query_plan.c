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

static List *verdicts_of(const char *text)
{
	List *parsed = pg_parse_query(text), *verdicts = NIL;
	Oid *types = NULL;
	int n_types = 0;
	ListCell *cell;
	Query *query;

	if (list_length(parsed) != 1)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the text is not one statement"));
	query = parse_analyze_varparams(linitial_node(RawStmt, parsed), text, &types, &n_types, NULL);
	if (query->commandType == CMD_UTILITY)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the statement is no query"),
			errhint("EXPLAIN, PREPARE and the like are left out: the query itself is asked for."));
	foreach (cell, pg_rewrite_query(query)) {
		List *of_one;
		PlannedStmt *plan;

		if (lfirst_node(Query, cell)->commandType == CMD_UTILITY)
			continue;
		plan = ifp_plan_with_verdicts(lfirst_node(Query, cell), text, &of_one);
		ifp_check_privileges(plan);
		verdicts = list_concat(verdicts, of_one);
	}
	return verdicts;
}

List *ifp_query_verdicts(const char *text)
{
	ErrorContextCallback context = { error_context_stack, point_into_text, unconstify(char *, text) };
	List *verdicts;

	error_context_stack = &context;
	verdicts = verdicts_of(text);
	error_context_stack = context.previous;
	return verdicts;
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
	List *verdicts = ifp_query_verdicts(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	ListCell *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach (cell, verdicts)
		put_row(result, lfirst(cell));
	return (Datum)0;
}
