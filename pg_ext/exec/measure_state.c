#include "pg_ext/exec/measure_state.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "pg_ext/types/sketch_datum.h"

static enum iforest_value_type type_of(bool is_real)
{
	return is_real ? IFOREST_FLOAT64 : IFOREST_INT64;
}

void ifp_measure_state_add_value(struct ifp_measure_state *state, const struct iforest_value_aggregate *fold, uint64 n_rows,
				 bool is_real)
{
	enum iforest_value_type type = type_of(is_real);

	state->has_null = state->has_null || fold->n < n_rows;
	if (fold->n == 0)
		return;
	if (state->n == 0 || iforest_number_compare(fold->min.value, state->min, type) < 0)
		state->min = fold->min.value;
	if (state->n == 0 || iforest_number_compare(fold->max.value, state->max, type) > 0)
		state->max = fold->max.value;
	state->n += fold->n;
	state->sum = iforest_add_wrapping(state->sum, fold->sum);
	state->real_sum += fold->real_sum;
	state->n_nan += fold->n_nan;
	state->n_plus_infinity += fold->n_plus_infinity;
	state->n_minus_infinity += fold->n_minus_infinity;
}

void ifp_measure_state_add_times(struct ifp_measure_state *state, uint64 n, int64 first, int64 last)
{
	if (state->n == 0 || first < state->min.integer)
		state->min.integer = first;
	if (state->n == 0 || last > state->max.integer)
		state->max.integer = last;
	state->n += n;
}

void ifp_measure_state_add_real(struct ifp_measure_state *state, double real, uint64 n)
{
	if (isnan(real))
		state->n_nan += n;
	else if (isinf(real))
		*(real > 0 ? &state->n_plus_infinity : &state->n_minus_infinity) += n;
	else
		state->real_sum += real * (double)n;
}

void ifp_measure_state_keep_datum(struct ifp_measure_state *state, Datum datum, bool type_by_value, int16 type_length,
				  MemoryContext context)
{
	MemoryContext before = MemoryContextSwitchTo(context);

	if (state->has_datum && !type_by_value)
		pfree(DatumGetPointer(state->datum));
	state->datum = datumCopy(datum, type_by_value, type_length);
	state->has_datum = true;
	MemoryContextSwitchTo(before);
}

void ifp_measure_state_add_to_sum(struct ifp_measure_state *state, Datum datum, Oid type, uint64 n, MemoryContext context)
{
	switch (type) {
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
		ifp_measure_state_add_real(state, DatumGetFloat4(datum), n);
		break;
	case FLOAT8OID:
		ifp_measure_state_add_real(state, DatumGetFloat8(datum), n);
		break;
	default:
		datum = DirectFunctionCall2(numeric_mul, datum, NumericGetDatum(int64_to_numeric((int64)n)));
		if (state->has_datum)
			datum = DirectFunctionCall2(numeric_add, state->datum, datum);
		ifp_measure_state_keep_datum(state, datum, false, -1, context);
	}
}

void ifp_measure_state_add_timeless(struct ifp_measure_state *state, const struct iforest_value_aggregate *fold, bool is_real)
{
	if (fold->n > 0 && (state->n == 0 || iforest_number_compare(fold->min.value, state->min, type_of(is_real)) < 0))
		state->min = fold->min.value;
	state->n += fold->n;
}

/* Rows of different partitions may have the same time and ctid: the smallest value is then the first, the greatest the last. */
static void add_end(const struct iforest_extreme *from, enum iforest_value_type type, bool is_last, struct iforest_extreme *row)
{
	int order;

	if (!from->is_set)
		return;
	order = row->is_set ? iforest_extreme_compare(from, row) : 0;
	if (row->is_set && order == 0)
		order = iforest_number_compare(from->value, row->value, type);
	if (!row->is_set || (is_last ? order > 0 : order < 0))
		*row = *from;
}

void ifp_measure_state_add_row(struct ifp_measure_state *state, enum ifp_measure_type type,
			       const struct iforest_value_aggregate *fold, bool is_real)
{
	if (type == IFP_MEASURE_MIN_ROW)
		iforest_extreme_min(&state->row, &fold->min, type_of(is_real));
	else if (type == IFP_MEASURE_MAX_ROW)
		iforest_extreme_max(&state->row, &fold->max, type_of(is_real));
	else if (type == IFP_MEASURE_FIRST_ROW)
		add_end(&fold->first, type_of(is_real), false, &state->row);
	else
		add_end(&fold->last, type_of(is_real), true, &state->row);
}

bool ifp_measure_state_element(const struct ifp_measure_state *row, const struct ifp_measure_state *times,
			       enum ifp_measure_type type, bool nulls_first, union iforest_number *value)
{
	bool has_timeless = times ? times->has_null : row->n > 0, has_times = times ? times->n > 0 : row->row.is_set;

	if (has_timeless && (nulls_first || !has_times)) {
		*value = row->min;
		return row->n > 0;
	}
	*value = row->row.value;
	return row->row.is_set && (!times || row->row.time == (type == IFP_MEASURE_LAST_ROW ? times->max : times->min).integer);
}

void ifp_measure_state_add_sketch(struct ifp_measure_state *state, enum iforest_digest_kind kind, const bytea *sketch,
				  MemoryContext context)
{
	MemoryContext before = MemoryContextSwitchTo(context);
	bytea *kept = state->has_datum ? (bytea *)DatumGetPointer(state->datum) : NULL;

	if (sketch && kept) {
		state->datum = PointerGetDatum(ifp_sketch_sum(kind, kept, sketch));
		pfree(kept);
	} else if (sketch) {
		state->datum = datumCopy(PointerGetDatum(sketch), false, -1);
		state->has_datum = true;
	}
	MemoryContextSwitchTo(before);
}

void ifp_measure_state_add_numbers(struct ifp_measure_state *state, const struct ifp_numbers *numbers, MemoryContext context)
{
	if (numbers->n == 0)
		return;
	if (!state->has_datum)
		state->datum = PointerGetDatum(MemoryContextAllocZero(context, sizeof(struct ifp_numbers)));
	state->has_datum = true;
	ifp_numbers_append((struct ifp_numbers *)DatumGetPointer(state->datum), numbers, context);
}

double ifp_measure_state_real_sum(const struct ifp_measure_state *state)
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
