/* sql/aggregate_states.c -- States of aggregates as values of ordinary types, which shards send and another server combines.
 *
 *   rows       one row as bytea: flags, and the fields of struct iforest_extreme little-endian. Of two rows
 *              core/model/aggregate.h decides; without ctids, rows of the same time are ordered by value
 *   squares    the sum of squares as numeric: with count and sum the state of a variance
 *
 * Sketches are their own states (types/sketch_datum.h). planner/state_aggregates.h puts aggregates into these terms.
 */
#include "pg_ext/base/engine.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "core/base/bits.h"
#include "core/model/aggregate.h"
#include "pg_ext/sql/time_datum.h"
#include "pg_ext/types/values.h"

IFP_SQL_FUNCTION(iforest_row_state);
IFP_SQL_FUNCTION(iforest_state_value);
IFP_SQL_FUNCTION(iforest_state_time);
IFP_SQL_FUNCTION(iforest_state_row);
IFP_SQL_FUNCTION(iforest_state_timed);
IFP_SQL_FUNCTION(iforest_squares_add);
IFP_SQL_FUNCTION(iforest_variance);

/* ---- rows ---- */

enum row_flag { ROW_IS_REAL = 1, ROW_HAS_TIME = 2, ROW_HAS_CTID = 4 };

enum { ROW_BYTES = 1 + 3 * 8 };

struct row_state {
	struct iforest_extreme row;
	enum iforest_value_type type;
	bool has_ctid;
};

static bytea *row_write(const struct row_state *state)
{
	bytea *bytes = palloc(VARHDRSZ + ROW_BYTES);
	uint8_t *at = (uint8_t *)VARDATA(bytes);

	SET_VARSIZE(bytes, VARHDRSZ + ROW_BYTES);
	*at++ = (uint8_t)((state->type == IFOREST_FLOAT64 ? ROW_IS_REAL : 0) | (state->row.time_is_null ? 0 : ROW_HAS_TIME) |
			  (state->has_ctid ? ROW_HAS_CTID : 0));
	iforest_store64(at, (uint64_t)state->row.value.integer);
	iforest_store64(at + 8, (uint64_t)state->row.time);
	iforest_store64(at + 16, (uint64_t)state->row.ref);
	return bytes;
}

static struct row_state row_read(const bytea *bytes)
{
	const uint8_t *at = (const uint8_t *)VARDATA_ANY(bytes);
	struct row_state state = { .row.is_set = true };
	int flags;

	if (VARSIZE_ANY_EXHDR(bytes) != ROW_BYTES)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("not the state of a row, or a damaged one"),
			errhint("It takes what iforest_row_state() gives."));
	flags = *at++;
	state.type = flags & ROW_IS_REAL ? IFOREST_FLOAT64 : IFOREST_INT64;
	state.row.time_is_null = !(flags & ROW_HAS_TIME);
	state.has_ctid = flags & ROW_HAS_CTID;
	state.row.value.integer = iforest_load_int64(at);
	state.row.time = iforest_load_int64(at + 8);
	state.row.ref = iforest_load_int64(at + 16);
	return state;
}

/* (value, time [, ctid]); NULL without a value */
Datum iforest_row_state(PG_FUNCTION_ARGS)
{
	Oid type = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, 0));
	Oid time_type = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, 1));
	struct row_state state = { .row.is_set = true, .type = IFOREST_INT64 };

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (type == FLOAT4OID || type == FLOAT8OID) {
		state.type = IFOREST_FLOAT64;
		state.row.value.real = type == FLOAT4OID ? PG_GETARG_FLOAT4(0) : PG_GETARG_FLOAT8(0);
	} else {
		state.row.value.integer = ifp_time_of_datum(type, PG_GETARG_DATUM(0));
	}
	state.row.time_is_null = PG_ARGISNULL(1);
	if (!state.row.time_is_null)
		state.row.time = ifp_time_of_datum(time_type, PG_GETARG_DATUM(1));
	state.has_ctid = PG_NARGS() > 2 && !PG_ARGISNULL(2);
	if (state.has_ctid)
		state.row.ref = ifp_ref_from_tid((ItemPointer)PG_GETARG_POINTER(2));
	PG_RETURN_BYTEA_P(row_write(&state));
}

/* Raises an error for types other than integers, dates and timestamps. */
static Datum datum_of_integer(Oid type, int64 integer)
{
	(void)ifp_time_of_datum(type, (Datum)0);
	return ifp_datum_of_time(type, integer);
}

/* (state, anything of the value's type) */
Datum iforest_state_value(PG_FUNCTION_ARGS)
{
	Oid type = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, 1));
	struct row_state state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = row_read(PG_GETARG_BYTEA_PP(0));
	if ((state.type == IFOREST_FLOAT64) != (type == FLOAT4OID || type == FLOAT8OID))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("the state of a row has no value of type %s", format_type_be(type)));
	if (type == FLOAT4OID)
		PG_RETURN_FLOAT4((float4)state.row.value.real);
	if (type == FLOAT8OID)
		PG_RETURN_FLOAT8(state.row.value.real);
	return datum_of_integer(type, state.row.value.integer);
}

/* (state, anything of the time's type) */
Datum iforest_state_time(PG_FUNCTION_ARGS)
{
	struct row_state state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = row_read(PG_GETARG_BYTEA_PP(0));
	if (state.row.time_is_null)
		PG_RETURN_NULL();
	return datum_of_integer(getBaseType(get_fn_expr_argtype(fcinfo->flinfo, 1)), state.row.time);
}

/* (state) */
Datum iforest_state_row(PG_FUNCTION_ARGS)
{
	struct row_state state = row_read(PG_GETARG_BYTEA_PP(0));
	ItemPointer tid;

	if (!state.has_ctid)
		PG_RETURN_NULL();
	tid = palloc(sizeof *tid);
	ifp_ref_to_tid(state.row.ref, tid);
	PG_RETURN_POINTER(tid);
}

/* (state): NULL in place of a row without a time, which is neither first nor last */
Datum iforest_state_timed(PG_FUNCTION_ARGS)
{
	if (row_read(PG_GETARG_BYTEA_PP(0)).row.time_is_null)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* Returns a negative number if row a is chosen before b. */
typedef int row_order(const struct row_state *a, const struct row_state *b);

static int compare_values(const struct row_state *a, const struct row_state *b)
{
	return iforest_number_compare(a->row.value, b->row.value, a->type);
}

static int compare_places(const struct row_state *a, const struct row_state *b)
{
	return iforest_extreme_compare(&a->row, &b->row);
}

static int order_min(const struct row_state *a, const struct row_state *b)
{
	int value = compare_values(a, b);

	return value ? value : compare_places(a, b);
}

static int order_max(const struct row_state *a, const struct row_state *b)
{
	int value = compare_values(b, a);

	return value ? value : compare_places(a, b);
}

static int order_first(const struct row_state *a, const struct row_state *b)
{
	int place = compare_places(a, b);

	return place ? place : compare_values(a, b);
}

static int order_last(const struct row_state *a, const struct row_state *b)
{
	if (a->row.time_is_null != b->row.time_is_null)
		return (int)a->row.time_is_null - (int)b->row.time_is_null;
	return order_first(b, a);
}

/* Returns the better of two states. */
static Datum choose(FunctionCallInfo fcinfo, row_order *order)
{
	struct row_state a = row_read(PG_GETARG_BYTEA_PP(0)), b = row_read(PG_GETARG_BYTEA_PP(1));

	if (a.type != b.type)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("the states of two rows have values of different types"));
	return order(&b, &a) < 0 ? PG_GETARG_DATUM(1) : PG_GETARG_DATUM(0);
}

#define CHOICE_FUNCTION(name, order)                  \
	IFP_SQL_FUNCTION(iforest_states_##name);      \
	Datum iforest_states_##name(PG_FUNCTION_ARGS) \
	{                                             \
		return choose(fcinfo, order);         \
	}

CHOICE_FUNCTION(min, order_min)
CHOICE_FUNCTION(max, order_max)
CHOICE_FUNCTION(first, order_first)
CHOICE_FUNCTION(last, order_last)

/* ---- variances ---- */

/* (sum of squares, number) */
Datum iforest_squares_add(PG_FUNCTION_ARGS)
{
	Datum square = DirectFunctionCall2(numeric_mul, PG_GETARG_DATUM(1), PG_GETARG_DATUM(1));

	return DirectFunctionCall2(numeric_add, PG_GETARG_DATUM(0), square);
}

static bool is_finite(Numeric number)
{
	return !numeric_is_nan(number) && !numeric_is_inf(number);
}

/* (count, sum, sum of squares, of a sample, deviation) */
Datum iforest_variance(PG_FUNCTION_ARGS)
{
	bool is_sample = PG_GETARG_BOOL(3);
	int64 n = PG_GETARG_INT64(0);

	if (n <= 0 || (is_sample && n == 1))
		PG_RETURN_NULL();
	if (!is_finite(PG_GETARG_NUMERIC(1)) || !is_finite(PG_GETARG_NUMERIC(2)))
		return DirectFunctionCall3(numeric_in, CStringGetDatum("NaN"), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	return ifp_numeric_variance((uint64)n, PG_GETARG_DATUM(1), PG_GETARG_DATUM(2), is_sample, PG_GETARG_BOOL(4));
}
