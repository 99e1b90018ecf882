#include "pg_ext/exec/measures_internal.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "pg_ext/types/sketch_datum.h"
#include "pg_ext/types/values.h"
#include "pg_ext/exec/variance.h"
#include "pg_ext/storage/heap_visibility.h"
#include "pg_ext/planner/affine.h"

/* ---- an expression at one value of its column ---- */

static Datum evaluate_at(const struct iforest_measures *measures, const struct arm *arm, Datum at, bool *is_null)
{
	TupleTableSlot *row = measures->econtext->ecxt_scantuple;

	row->tts_values[arm->attribute - 1] = at;
	row->tts_isnull[arm->attribute - 1] = false;
	return ExecEvalExpr(arm->state, measures->econtext, is_null);
}

/* Least and greatest of the column in the state, as datums. */
static void extremes(const struct iforest_measures *measures, const struct arm *arm,
		     const struct iforest_measure_state *state, Datum *least, Datum *greatest)
{
	const struct measure *measure = &measures->measures[arm->measure];
	const struct iforest_definition *definition = measures->definition;

	if (measure->kind == IFOREST_MEASURE_TIME) {
		*least = iforest_time_to_datum(definition, state->min.integer);
		*greatest = iforest_time_to_datum(definition, state->max.integer);
	} else {
		*least = iforest_value_to_datum(definition, (unsigned)measure->value, state->min);
		*greatest = iforest_value_to_datum(definition, (unsigned)measure->value, state->max);
	}
}

/* Evaluates an argument where its column is NULL, for what is constant in it may fail. */
static void try_null(const struct iforest_measures *measures, const struct arm *arm, const struct iforest_measure_state *state)
{
	bool is_null;

	if (!arm->state || arm->is_plain || !state->has_null)
		return;
	measures->econtext->ecxt_scantuple->tts_isnull[arm->attribute - 1] = true;
	(void)ExecEvalExpr(arm->state, measures->econtext, &is_null);
}

/* Evaluates an argument at both extremes as well, so that it fails where it would for a row. Returns whether it is NULL
 * there, as a parameter that is NULL makes it. */
static bool try_argument(const struct iforest_measures *measures, const struct arm *arm,
			 const struct iforest_measure_state *state)
{
	Datum least, greatest;
	bool is_null = false;

	try_null(measures, arm, state);
	if (arm->state && !arm->is_plain && state->n > 0) {
		extremes(measures, arm, state, &least, &greatest);
		(void)evaluate_at(measures, arm, least, &is_null);
		(void)evaluate_at(measures, arm, greatest, &is_null);
	}
	return is_null;
}

/* ---- sums ---- */

struct total {
	uint64 n;
	Datum number;      /* numeric, where has_number */
	double real;
	bool has_number;
};

static void add_number(Datum number, struct total *total)
{
	total->number = total->has_number ? DirectFunctionCall2(numeric_add, total->number, number) : number;
	total->has_number = true;
}

/* The finite values' sum with NaN and infinities put back; as an addition of the values would, it does not become infinite in
 * silence. */
static double real_sum(const struct iforest_measure_state *state)
{
	double sum = state->real_sum;

	if (state->n_nan || (state->n_plus_infinity && state->n_minus_infinity))
		return get_float8_nan();
	if (state->n_plus_infinity || state->n_minus_infinity)
		return state->n_plus_infinity ? get_float8_infinity() : -get_float8_infinity();
	if (isinf(sum))
		float_overflow_error();
	return sum;
}

static bool read_affine(const struct iforest_measures *measures, struct arm *arm)
{
	MemoryContext before = MemoryContextSwitchTo(measures->parameters);

	if (!arm->is_read)
		arm->has_affine = iforest_affine_read(arm->expression, arm->attribute, measures->econtext, &arm->affine);
	arm->is_read = true;
	MemoryContextSwitchTo(before);
	return arm->has_affine;
}

/* Digits after the point of a value column. */
static int16 value_scale(const struct iforest_measures *measures, int value)
{
	const struct iforest_definition *definition = measures->definition;

	return definition->value_types[value] == NUMERICOID ? definition->value_scales[value] : 0;
}


/* a * sum + b * n. */
static void add_affine(const struct iforest_measures *measures, struct arm *arm,
		       const struct iforest_measure_state *state, struct total *total)
{
	const struct measure *measure = &measures->measures[arm->measure];
	const struct iforest_definition *definition = measures->definition;
	bool is_real = iforest_value_is_real(definition, (unsigned)measure->value);
	int16 scale = value_scale(measures, measure->value);
	Datum sum = (Datum)0;

	(void)try_argument(measures, arm, state);
	if (state->n == 0 || !read_affine(measures, arm))
		return;
	total->n += state->n;
	if (!is_real)
		sum = iforest_numeric_from_int128(state->sum, scale);
	if (arm->affine.is_real) {
		double real = is_real ? real_sum(state) : DatumGetFloat8(DirectFunctionCall1(numeric_float8, sum));

		if (!arm->is_plain) {
			double sum_of_values = real;

			real = ldexp(real * arm->affine.real_a, arm->affine.real_exponent);
			if (isinf(real) && !isinf(sum_of_values))
				float_overflow_error();
		}
		total->real += real;
		return;
	}
	if (!arm->is_plain)
		sum = DirectFunctionCall2(numeric_add, DirectFunctionCall2(numeric_mul, arm->affine.a, sum),
					  DirectFunctionCall2(numeric_mul, arm->affine.b,
							      NumericGetDatum(int64_to_numeric((int64)state->n))));
	add_number(sum, total);
}

static void add_constants(const struct measure *measure, const struct iforest_measure_state *state, struct total *total)
{
	Datum sum;

	if (state->n == 0)
		return;
	total->n += state->n;
	if (measure->type == FLOAT4OID || measure->type == FLOAT8OID) {
		total->real += real_sum(state);
		return;
	}
	sum = measure->type == NUMERICOID ? state->datum : iforest_numeric_from_int128(state->sum, 0);
	add_number(sum, total);
}

static Datum sum_result(const struct result *result, const struct total *total)
{
	bool is_average = result->function == IFOREST_FUNCTION_AVG;

	switch (result->type) {
	case INT8OID:
		return DirectFunctionCall1(numeric_int8, total->number);
	case FLOAT4OID:
		if (isinf((float4)total->real) && !isinf(total->real))
			float_overflow_error();
		return Float4GetDatum((float4)total->real);
	case FLOAT8OID:
		return Float8GetDatum(is_average ? total->real / (double)total->n : total->real);
	default:
		return is_average ? DirectFunctionCall2(numeric_div, total->number,
							NumericGetDatum(int64_to_numeric((int64)total->n)))
				  : total->number;
	}
}

static Datum sum_or_average(const struct iforest_measures *measures, const struct result *result,
			    const struct iforest_measure_state *states, bool *is_null)
{
	struct total total = { .n = 0 };

	for (int a = 0; a < result->n_arms; a++) {
		struct arm *arm = &result->arms[a];
		const struct measure *measure = &measures->measures[arm->measure];

		if (measure->kind == IFOREST_MEASURE_VALUE)
			add_affine(measures, arm, &states[arm->measure], &total);
		else
			add_constants(measure, &states[arm->measure], &total);
	}
	*is_null = total.n == 0;
	return *is_null ? (Datum)0 : sum_result(result, &total);
}

static Datum variance(const struct iforest_measures *measures, const struct result *result,
		      const struct iforest_measure_state *states, bool *is_null)
{
	Datum sum = NumericGetDatum(int64_to_numeric(0)), squares = sum;
	uint64 n = 0;

	for (int a = 0; a < result->n_arms; a++) {
		const struct arm *arm = &result->arms[a];
		const struct iforest_measure_state *state = &states[arm->measure];
		int16 scale = value_scale(measures, measures->measures[arm->measure].value);

		(void)try_argument(measures, arm, state);
		if (state->n == 0)
			continue;
		n += state->n;
		sum = DirectFunctionCall2(numeric_add, sum, iforest_numeric_from_int128(state->sum, scale));
		squares = DirectFunctionCall2(numeric_add, squares, iforest_numeric_from_squares(&state->squares, scale));
	}
	return iforest_variance(result->function, n, sum, squares, is_null);
}

/* ---- extremes ---- */

static void offer(const struct result *result, Datum datum, Datum *best, bool *is_null)
{
	bool better;

	if (*is_null)
		better = true;
	else if (result->function == IFOREST_FUNCTION_AND || result->function == IFOREST_FUNCTION_OR)
		better = DatumGetBool(datum) == (result->function == IFOREST_FUNCTION_OR);
	else
		better = DatumGetBool(FunctionCall2Coll((FmgrInfo *)&result->better, result->collation, datum, *best));
	if (better)
		*best = datum;
	*is_null = false;
}

/* What is monotone has its extremes at those of its column, whichever way it goes. */
static Datum extreme(const struct iforest_measures *measures, const struct result *result,
		     const struct iforest_measure_state *states, bool *is_null)
{
	Datum best = (Datum)0;

	*is_null = true;
	for (int a = 0; a < result->n_arms; a++) {
		const struct arm *arm = &result->arms[a];
		const struct iforest_measure_state *state = &states[arm->measure];
		Datum ends[2];
		/* of a column as it is, only that end was gathered */
		int first = arm->is_plain && result->function == IFOREST_FUNCTION_MAX;
		int last = arm->is_plain ? first : 1;
		bool none;

		if (measures->measures[arm->measure].kind == IFOREST_MEASURE_CONSTANT) {
			if (state->has_datum)
				offer(result, state->datum, &best, is_null);
			continue;
		}
		try_null(measures, arm, state);
		if (state->n == 0)
			continue;
		extremes(measures, arm, state, &ends[0], &ends[1]);
		for (int end = first; end <= last; end++) {
			Datum datum = evaluate_at(measures, arm, ends[end], &none);

			if (!none)
				offer(result, datum, &best, is_null);
		}
	}
	return best;
}

static Datum count(const struct iforest_measures *measures, const struct result *result,
		   const struct iforest_measure_state *states)
{
	uint64 n = 0;

	for (int a = 0; a < result->n_arms; a++) {
		const struct arm *arm = &result->arms[a];
		const struct iforest_measure_state *state = &states[arm->measure];

		n += try_argument(measures, arm, state) ? 0 : state->n;
	}
	return Int64GetDatum((int64)n);
}

/* ---- rows ---- */

static Datum row_result(const struct iforest_measures *measures, const struct result *result,
			const struct iforest_measure_state *states, bool *is_null)
{
	const struct measure *measure = &measures->measures[result->arms[0].measure];
	const struct iforest_row *row = &states[result->arms[0].measure].row;
	ItemPointer tid;

	*is_null = !row->is_set;
	if (!row->is_set)
		return (Datum)0;
	switch (result->function) {
	case IFOREST_FUNCTION_MIN_ROW:
	case IFOREST_FUNCTION_MAX_ROW:
	case IFOREST_FUNCTION_LAST_ROW:
		tid = palloc(sizeof *tid);
		iforest_ref_to_tid(row->ref, tid);
		iforest_visible_ctid(measures->heap, measures->snapshot, tid);
		return PointerGetDatum(tid);
	case IFOREST_FUNCTION_MIN_TIME:
	case IFOREST_FUNCTION_MAX_TIME:
	case IFOREST_FUNCTION_FIRST_TIME:
	case IFOREST_FUNCTION_LAST_TIME:
		*is_null = row->time_is_null;
		return row->time_is_null ? (Datum)0 : iforest_time_to_datum(measures->definition, row->time);
	default:
		return iforest_value_to_datum(measures->definition, (unsigned)measure->value, row->value);
	}
}

/* Of several arms, which have no row in common, the sum. */
static Datum sketch_result(const struct result *result, const struct iforest_measure_state *states, bool *is_null)
{
	bytea *sum = NULL;

	for (int a = 0; a < result->n_arms; a++) {
		const struct iforest_measure_state *state = &states[result->arms[a].measure];
		bytea *sketch = state->has_datum ? (bytea *)DatumGetPointer(state->datum) : NULL;

		sum = sum && sketch ? iforest_sketch_sum(sum, sketch) : sketch ? sketch : sum;
	}
	*is_null = !sum;
	return PointerGetDatum(sum);
}

Datum iforest_measures_result(const struct iforest_measures *measures, int i, const struct iforest_measure_state *states,
			      bool *is_null)
{
	const struct result *result = &measures->results[i];

	switch (result->function) {
	case IFOREST_FUNCTION_COUNT:
		*is_null = false;
		return count(measures, result, states);
	case IFOREST_FUNCTION_SUM:
	case IFOREST_FUNCTION_AVG:
		return sum_or_average(measures, result, states, is_null);
	case IFOREST_FUNCTION_VAR_SAMP:
	case IFOREST_FUNCTION_VAR_POP:
	case IFOREST_FUNCTION_STDDEV_SAMP:
	case IFOREST_FUNCTION_STDDEV_POP:
		return variance(measures, result, states, is_null);
	case IFOREST_FUNCTION_MIN_ROW:
	case IFOREST_FUNCTION_MAX_ROW:
	case IFOREST_FUNCTION_MIN_TIME:
	case IFOREST_FUNCTION_MAX_TIME:
	case IFOREST_FUNCTION_FIRST:
	case IFOREST_FUNCTION_LAST:
	case IFOREST_FUNCTION_FIRST_TIME:
	case IFOREST_FUNCTION_LAST_TIME:
	case IFOREST_FUNCTION_LAST_ROW:
		return row_result(measures, result, states, is_null);
	case IFOREST_FUNCTION_SKETCH:
		return sketch_result(result, states, is_null);
	default:
		return extreme(measures, result, states, is_null);
	}
}
