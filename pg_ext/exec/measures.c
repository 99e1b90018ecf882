#include "pg_ext/exec/measures_internal.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "pg_ext/types/sketch_datum.h"
#include "pg_ext/types/values.h"

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

static void add_value(const struct iforest_value_aggregate *fold, uint64 n_rows, bool is_real,
		      struct iforest_measure_state *state)
{
	enum iforest_value_kind kind = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;

	state->has_null = state->has_null || fold->n < n_rows;
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
			add_value(&fold->values[measure->value], fold->n_rows,
				  iforest_value_is_real(definition, (unsigned)measure->value), state);
			break;
		case IFOREST_MEASURE_TIME:
			state->has_null = state->has_null || !has_time;
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
