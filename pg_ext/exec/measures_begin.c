#include "pg_ext/exec/measures_internal.h"

#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The operator by which an extreme is found: better(a, b) means that a is nearer to it. */
static void find_better(Aggref *aggregate, FmgrInfo *better)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	Oid operator;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate->aggfnoid);
	operator = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	fmgr_info(get_opcode(operator), better);
}

static int add_measure(struct iforest_measures *measures, Aggref *aggregate, enum iforest_function function,
		       const struct iforest_arm *arm)
{
	bool is_constant = arm->kind == IFOREST_MEASURE_CONSTANT;
	List *written = list_make4(makeInteger(arm->kind), makeInteger(arm->value), arm->conditions, arm->wanted);
	struct measure *measure = &measures->measures[measures->n_measures];
	int i = 0;
	ListCell *cell;

	/* constants are gathered in the way of the aggregate */
	if (is_constant)
		written = lappend(lappend(written, aggregate), arm->expression);
	foreach(cell, measures->written) {
		if (equal(lfirst(cell), written))
			return i;
		i++;
	}
	measures->written = lappend(measures->written, written);
	*measure = (struct measure){ .kind = arm->kind, .conditions = ExecInitExprList(arm->conditions, NULL),
				     .wanted = arm->wanted, .value = arm->value, .function = function };
	if (is_constant) {
		measure->expression = ExecInitExpr((Expr *)arm->expression, NULL);
		measure->type = exprType(arm->expression);
		measure->collation = aggregate->inputcollid;
		get_typlenbyval(measure->type, &measure->type_length, &measure->type_by_value);
		if (function == IFOREST_FUNCTION_MIN || function == IFOREST_FUNCTION_MAX)
			find_better(aggregate, &measure->better);
	}
	return measures->n_measures++;
}

/* Of expressions both extremes are needed: what they would raise has to be raised. */
static void need(struct measure *measure, enum iforest_function function, bool is_plain)
{
	measure->has_squares = measure->has_squares || iforest_function_needs_squares(function);
	measure->has_min = measure->has_min || !is_plain || function == IFOREST_FUNCTION_MIN ||
			   measure->kind == IFOREST_MEASURE_MIN_ROW;
	measure->has_max = measure->has_max || !is_plain || function == IFOREST_FUNCTION_MAX ||
			   measure->kind == IFOREST_MEASURE_MAX_ROW;
}

static void begin_result(struct iforest_measures *measures, Aggref *aggregate, struct result *result)
{
	const struct iforest_question *question = measures->question;
	List *arms;
	ListCell *cell;

	(void)iforest_aggregate_read(aggregate, question, &result->function, &arms);
	result->type = aggregate->aggtype;
	result->argument_type = aggregate->args == NIL
					? InvalidOid
					: exprType((Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	result->collation = aggregate->inputcollid;
	result->arms = palloc0((list_length(arms) + 1) * sizeof *result->arms);
	if (result->function == IFOREST_FUNCTION_MIN || result->function == IFOREST_FUNCTION_MAX)
		find_better(aggregate, &result->better);
	foreach(cell, arms) {
		const struct iforest_arm *from = lfirst(cell);
		struct arm *arm = &result->arms[result->n_arms++];

		*arm = (struct arm){ .measure = add_measure(measures, aggregate, result->function, from),
				     .expression = from->expression,
				     .attribute = iforest_time_attribute(question) };
		arm->is_plain = from->expression && IsA(from->expression, Var);
		need(&measures->measures[arm->measure], result->function, arm->is_plain);
		if (from->kind == IFOREST_MEASURE_VALUE)
			arm->attribute = (AttrNumber)(question->n_by + 2 + from->value);
		if (from->kind == IFOREST_MEASURE_VALUE || from->kind == IFOREST_MEASURE_TIME)
			arm->state = ExecInitExpr((Expr *)from->expression, NULL);
	}
}

struct iforest_measures *iforest_measures_begin(const struct iforest_question *question,
						const struct iforest_definition *definition, ExprContext *econtext)
{
	struct iforest_measures *measures = palloc0(sizeof *measures);
	int most = 0;
	ListCell *cell;

	measures->question = question;
	measures->definition = definition;
	measures->econtext = econtext;
	foreach(cell, question->aggregates) {
		enum iforest_function function;
		List *arms;

		(void)iforest_aggregate_read(lfirst(cell), question, &function, &arms);
		most += list_length(arms);
	}
	measures->measures = palloc0((most + 1) * sizeof *measures->measures);
	measures->results = palloc0((list_length(question->aggregates) + 1) * sizeof *measures->results);
	foreach(cell, question->aggregates)
		begin_result(measures, lfirst(cell), &measures->results[measures->n_results++]);
	return measures;
}

void iforest_measures_set_table(struct iforest_measures *measures, Relation heap, Snapshot snapshot)
{
	measures->heap = heap;
	measures->snapshot = snapshot;
}

void iforest_measures_rescan(struct iforest_measures *measures, MemoryContext parameters)
{
	measures->parameters = parameters;
	for (int i = 0; i < measures->n_results; i++)
		for (int a = 0; a < measures->results[i].n_arms; a++)
			measures->results[i].arms[a].is_read = false;
}

static void want_value(const struct measure *measure, struct iforest_wanted *wanted)
{
	uint32 bit = 1u << measure->value;

	wanted->values |= bit;
	wanted->squares |= measure->has_squares ? bit : 0;
	wanted->no_mins &= measure->has_min ? ~bit : UINT32_MAX;
	wanted->no_maxs &= measure->has_max ? ~bit : UINT32_MAX;
}

struct iforest_wanted iforest_measures_wanted(const struct iforest_measures *measures)
{
	struct iforest_wanted wanted = { .no_mins = UINT32_MAX, .no_maxs = UINT32_MAX, .no_rows = UINT32_MAX };

	for (int i = 0; i < measures->n_measures; i++) {
		const struct measure *measure = &measures->measures[i];
		uint32 bit = 1u << measure->value;

		switch (measure->kind) {
		case IFOREST_MEASURE_ROWS:
		case IFOREST_MEASURE_CONSTANT:
		case IFOREST_MEASURE_SKETCH:
			break;
		case IFOREST_MEASURE_VALUE:
			want_value(measure, &wanted);
			break;
		case IFOREST_MEASURE_TIME:
			wanted.times = true;
			break;
		case IFOREST_MEASURE_MIN_ROW:
		case IFOREST_MEASURE_MAX_ROW:
			want_value(measure, &wanted);
			wanted.no_rows &= ~bit;
			break;
		case IFOREST_MEASURE_FIRST_ROW:
			wanted.firsts |= bit;
			break;
		case IFOREST_MEASURE_LAST_ROW:
			wanted.lasts |= bit;
			break;
		}
	}
	return wanted;
}

uint32 iforest_measures_sketches(const struct iforest_measures *measures)
{
	uint32 values = 0;

	for (int i = 0; i < measures->n_measures; i++)
		if (measures->measures[i].kind == IFOREST_MEASURE_SKETCH)
			values |= 1u << measures->measures[i].value;
	return values;
}

Size iforest_measures_bytes(const struct iforest_measures *measures)
{
	return (Size)Max(measures->n_measures, 1) * sizeof(struct iforest_measure_state);
}
