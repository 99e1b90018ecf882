#include "pg_ext/measures_internal.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

#include "pg_ext/sketch.h"
#include "pg_ext/values.h"

/* ---- beginning ---- */

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

static List *expression_states(List *expressions)
{
	List *states = NIL;
	ListCell *cell;

	foreach(cell, expressions)
		states = lappend(states, ExecInitExpr(lfirst(cell), NULL));
	return states;
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
	*measure = (struct measure){ .kind = arm->kind, .conditions = expression_states(arm->conditions),
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

/* ---- gathering ---- */

static bool holds(ExprState *condition, ExprContext *econtext)
{
	bool is_null;
	Datum datum = ExecEvalExprSwitchContext(condition, econtext, &is_null);

	return !is_null && DatumGetBool(datum);
}

static bool is_asked(const struct measure *measure, ExprContext *econtext)
{
	ListCell *condition, *wanted;

	forboth(condition, measure->conditions, wanted, measure->wanted)
		if (holds(lfirst(condition), econtext) != lfirst_int(wanted))
			return false;
	return true;
}

static void add_value(const struct iforest_value_aggregate *fold, bool is_real, struct iforest_measure_state *state)
{
	enum iforest_value_kind kind = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;

	if (fold->n == 0)
		return;
	if (state->n == 0 || iforest_number_compare(fold->min.value, state->min, kind) < 0)
		state->min = fold->min.value;
	if (state->n == 0 || iforest_number_compare(fold->max.value, state->max, kind) > 0)
		state->max = fold->max.value;
	state->n += fold->n;
	state->sum = iforest_add_wrapping(state->sum, fold->sum);
	iforest_squares_combine(&state->squares, &fold->squares);
	state->real_sum += fold->real_sum;
	state->n_nan += fold->n_nan;
	state->n_plus_infinity += fold->n_plus_infinity;
	state->n_minus_infinity += fold->n_minus_infinity;
}

static void add_real(double real, uint64 n, struct iforest_measure_state *state)
{
	if (isnan(real))
		state->n_nan += n;
	else if (isinf(real))
		*(real > 0 ? &state->n_plus_infinity : &state->n_minus_infinity) += n;
	else
		state->real_sum += real * (double)n;
}

static void keep_datum(const struct measure *measure, Datum datum, struct iforest_measure_state *state,
		       MemoryContext context)
{
	MemoryContext before = MemoryContextSwitchTo(context);

	if (state->has_datum && !measure->type_by_value)
		pfree(DatumGetPointer(state->datum));
	state->datum = datumCopy(datum, measure->type_by_value, measure->type_length);
	state->has_datum = true;
	MemoryContextSwitchTo(before);
}

static void add_to_sum(const struct measure *measure, Datum datum, uint64 n, struct iforest_measure_state *state,
		       MemoryContext context)
{
	switch (measure->type) {
	case INT2OID:
		state->sum += (iforest_int128)DatumGetInt16(datum) * n;
		break;
	case INT4OID:
		state->sum += (iforest_int128)DatumGetInt32(datum) * n;
		break;
	case INT8OID:
		state->sum += (iforest_int128)DatumGetInt64(datum) * n;
		break;
	case FLOAT4OID:
		add_real(DatumGetFloat4(datum), n, state);
		break;
	case FLOAT8OID:
		add_real(DatumGetFloat8(datum), n, state);
		break;
	default:
		datum = DirectFunctionCall2(numeric_mul, datum, NumericGetDatum(int64_to_numeric((int64)n)));
		if (state->has_datum)
			datum = DirectFunctionCall2(numeric_add, state->datum, datum);
		keep_datum(measure, datum, state, context);
	}
}

static void add_constant(const struct measure *measure, uint64 n, ExprContext *econtext, struct iforest_measure_state *state,
			 MemoryContext context)
{
	bool is_null;
	Datum datum = ExecEvalExprSwitchContext(measure->expression, econtext, &is_null);
	MemoryContext before;

	if (is_null)
		return;
	state->n += n;
	before = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	switch (measure->function) {
	case IFOREST_FUNCTION_COUNT:
	case IFOREST_FUNCTION_SKETCH:
	case IFOREST_FUNCTION_MIN_ROW:
	case IFOREST_FUNCTION_MAX_ROW:
	case IFOREST_FUNCTION_MIN_TIME:
	case IFOREST_FUNCTION_MAX_TIME:
	case IFOREST_FUNCTION_FIRST:
	case IFOREST_FUNCTION_LAST:
	case IFOREST_FUNCTION_FIRST_TIME:
	case IFOREST_FUNCTION_LAST_TIME:
	case IFOREST_FUNCTION_LAST_ROW:
	case IFOREST_FUNCTION_VAR_SAMP:
	case IFOREST_FUNCTION_VAR_POP:
	case IFOREST_FUNCTION_STDDEV_SAMP:
	case IFOREST_FUNCTION_STDDEV_POP:
		break;
	case IFOREST_FUNCTION_SUM:
	case IFOREST_FUNCTION_AVG:
		add_to_sum(measure, datum, n, state, context);
		break;
	case IFOREST_FUNCTION_MIN:
	case IFOREST_FUNCTION_MAX:
		if (!state->has_datum || DatumGetBool(FunctionCall2Coll((FmgrInfo *)&measure->better, measure->collation, datum,
									state->datum)))
			keep_datum(measure, datum, state, context);
		break;
	case IFOREST_FUNCTION_AND:
	case IFOREST_FUNCTION_OR:
		if (!state->has_datum || DatumGetBool(datum) == (measure->function == IFOREST_FUNCTION_OR))
			keep_datum(measure, datum, state, context);
		break;
	}
	MemoryContextSwitchTo(before);
}

/* Only rows of several partitions have the same time and ctid: of these the smallest value is the first, and the greatest the
 * last. */
static void add_end(const struct iforest_row *from, enum iforest_value_kind kind, bool is_last, struct iforest_row *row)
{
	int order;

	if (!from->is_set)
		return;
	order = row->is_set ? iforest_row_compare(from, row) : 0;
	if (row->is_set && order == 0)
		order = iforest_number_compare(from->value, row->value, kind);
	if (!row->is_set || (is_last ? order > 0 : order < 0))
		*row = *from;
}

static void add_row(const struct measure *measure, const struct iforest_value_aggregate *fold, bool is_real,
		    struct iforest_row *row)
{
	enum iforest_value_kind kind = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;

	if (measure->kind == IFOREST_MEASURE_MIN_ROW)
		iforest_row_min(row, &fold->min, kind);
	else if (measure->kind == IFOREST_MEASURE_MAX_ROW)
		iforest_row_max(row, &fold->max, kind);
	else if (measure->kind == IFOREST_MEASURE_FIRST_ROW)
		add_end(&fold->first, kind, false, row);
	else
		add_end(&fold->last, kind, true, row);
}

static void add_sketch(const bytea *sketch, struct iforest_measure_state *state, MemoryContext context)
{
	MemoryContext before = MemoryContextSwitchTo(context);
	bytea *kept = state->has_datum ? (bytea *)DatumGetPointer(state->datum) : NULL;

	if (sketch && kept) {
		state->datum = PointerGetDatum(iforest_sketch_sum(kept, sketch));
		pfree(kept);
	} else if (sketch) {
		state->datum = datumCopy(PointerGetDatum(sketch), false, -1);
		state->has_datum = true;
	}
	MemoryContextSwitchTo(before);
}

void iforest_measures_add(const struct iforest_measures *measures, struct iforest_measure_state *states,
			  const struct iforest_aggregate *fold, bytea *const *sketches, bool has_time, MemoryContext context)
{
	const struct iforest_definition *definition = measures->definition;

	for (int i = 0; i < measures->n_measures; i++) {
		const struct measure *measure = &measures->measures[i];
		struct iforest_measure_state *state = &states[i];

		if (!is_asked(measure, measures->econtext))
			continue;
		switch (measure->kind) {
		case IFOREST_MEASURE_ROWS:
			state->n += fold->n_rows;
			break;
		case IFOREST_MEASURE_VALUE:
			add_value(&fold->values[measure->value], iforest_value_is_real(definition, (unsigned)measure->value),
				  state);
			break;
		case IFOREST_MEASURE_TIME:
			if (!has_time)
				break;
			if (state->n == 0 || fold->first_time < state->min.integer)
				state->min.integer = fold->first_time;
			if (state->n == 0 || fold->last_time > state->max.integer)
				state->max.integer = fold->last_time;
			state->n += fold->n_rows;
			break;
		case IFOREST_MEASURE_CONSTANT:
			add_constant(measure, fold->n_rows, measures->econtext, state, context);
			break;
		case IFOREST_MEASURE_MIN_ROW:
		case IFOREST_MEASURE_MAX_ROW:
		case IFOREST_MEASURE_FIRST_ROW:
		case IFOREST_MEASURE_LAST_ROW:
			add_row(measure, &fold->values[measure->value],
				iforest_value_is_real(definition, (unsigned)measure->value), &state->row);
			break;
		case IFOREST_MEASURE_SKETCH:
			add_sketch(sketches[measure->value], state, context);
			break;
		}
	}
}
