#include "pg_ext/types/sketch_datum.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/types/values.h"

/* Raises the error for a status of core in the SQL function `name`; returns if it is IFOREST_OK. */
static void sketch_require(enum iforest_status status, const char *name)
{
	switch (status) {
	case IFOREST_OK:
		return;
	case IFOREST_FORMAT:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("%s: the sketch is of another version of iforest", name),
			errhint("Aggregate its numbers again."));
		break;
	case IFOREST_RANGE:
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("%s: more than 9223372036854775807 numbers", name));
		break;
	case IFOREST_ARGUMENT:
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("%s: min and max are not those of the sketch's numbers", name),
			errhint("Give min(v) and max(v) of the same rows."));
		break;
	default:
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: not a sketch, or a damaged one", name),
			strncmp(name, "iforest_distinct", strlen("iforest_distinct")) == 0
				? errhint("It takes what iforest_distinct() and iforest_distinct_merge() give.")
				: errhint("It takes what iforest_sketch() and iforest_sketch_merge() give."));
	}
}

/* Returns the name of the aggregate that creates sketches of a kind, or that merges them. */
static const char *name_of(enum iforest_digest_kind kind, bool is_merge)
{
	if (kind == IFOREST_DIGEST_DISTINCT)
		return is_merge ? "iforest_distinct_merge" : "iforest_distinct";
	return is_merge ? "iforest_sketch_merge" : "iforest_sketch";
}

bytea *ifp_sketch_to_bytea(const struct iforest_digest *sketch)
{
	uint8_t *bytes;
	size_t n_bytes;
	bytea *result;

	sketch_require(iforest_digest_write(sketch, &bytes, &n_bytes), name_of(sketch->kind, false));
	result = palloc(VARHDRSZ + n_bytes);
	SET_VARSIZE(result, VARHDRSZ + n_bytes);
	memcpy(VARDATA(result), bytes, n_bytes);
	pfree(bytes);
	return result;
}

bytea *ifp_sketch_sum(enum iforest_digest_kind kind, const bytea *one, const bytea *other)
{
	const bytea *const parts[] = { one, other };
	struct iforest_digest sketch;
	bytea *sum;

	iforest_digest_init(&sketch, kind, &ifp_palloc_allocator);
	for (size_t i = 0; i < lengthof(parts); i++)
		sketch_require(iforest_digest_merge(&sketch, (const uint8_t *)VARDATA(parts[i]), VARSIZE(parts[i]) - VARHDRSZ),
			       name_of(kind, false));
	sum = ifp_sketch_to_bytea(&sketch);
	iforest_digest_release(&sketch);
	return sum;
}

int64 ifp_sketch_distinct_count(const bytea *sketch)
{
	uint64_t n;

	sketch_require(iforest_distinct_count((const uint8_t *)VARDATA(sketch), VARSIZE(sketch) - VARHDRSZ, &n),
		       name_of(IFOREST_DIGEST_DISTINCT, false));
	return (int64)n;
}

union iforest_number ifp_sketch_number_at(const bytea *sketch, uint64 place, union iforest_number min, union iforest_number max,
					  enum iforest_value_type type)
{
	struct iforest_sketch_extremes extremes = { { type, min }, { type, max } };
	struct iforest_sketch_number answer;
	struct iforest_sketch_view view;

	sketch_require(iforest_sketch_open(&view, (const uint8_t *)VARDATA(sketch), VARSIZE(sketch) - VARHDRSZ),
		       "iforest_sketch");
	sketch_require(iforest_sketch_number_at(&view, place, &extremes, &answer), "iforest_sketch");
	return answer.value;
}

/* ---- SQL functions ----
 *
 * iforest_sketch(), iforest_distinct() and the functions that read sketches, over core/model/digest.h. The bytes are those of
 * SQLite's functions of the same names. NULL is the sketch of no numbers. */

IFP_SQL_FUNCTION(iforest_sketch_add_number);
IFP_SQL_FUNCTION(iforest_sketch_remove_number);
IFP_SQL_FUNCTION(iforest_sketch_add_sketch);
IFP_SQL_FUNCTION(iforest_sketch_remove_sketch);
IFP_SQL_FUNCTION(iforest_sketch_combine_states);
IFP_SQL_FUNCTION(iforest_sketch_serialize);
IFP_SQL_FUNCTION(iforest_sketch_deserialize);
IFP_SQL_FUNCTION(iforest_sketch_result);
IFP_SQL_FUNCTION(iforest_distinct_add_value);
IFP_SQL_FUNCTION(iforest_distinct_add_sketch);
IFP_SQL_FUNCTION(iforest_distinct_deserialize);
IFP_SQL_FUNCTION(iforest_sketch_state);
IFP_SQL_FUNCTION(iforest_sketch_union);
IFP_SQL_FUNCTION(iforest_distinct_state);
IFP_SQL_FUNCTION(iforest_distinct_union);
IFP_SQL_FUNCTION(iforest_distinct_values);
IFP_SQL_FUNCTION(iforest_sketch_numbers);
IFP_SQL_FUNCTION(iforest_sketch_quantile_real);
IFP_SQL_FUNCTION(iforest_sketch_quantile_integer);
IFP_SQL_FUNCTION(iforest_quantile_cont);
IFP_SQL_FUNCTION(iforest_rank);
IFP_SQL_FUNCTION(iforest_histogram);

/* ---- states of aggregates ---- */

/* Returns the group's sketch, created if necessary. Switches to the memory context of states; the caller switches back to
 * *before. */
static struct iforest_digest *enter(FunctionCallInfo fcinfo, enum iforest_digest_kind kind, MemoryContext *before)
{
	struct iforest_digest *sketch = PG_ARGISNULL(0) ? NULL : (struct iforest_digest *)PG_GETARG_POINTER(0);
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "an aggregate's function is called outside of it");
	*before = MemoryContextSwitchTo(context);
	if (!sketch) {
		sketch = palloc(sizeof *sketch);
		iforest_digest_init(sketch, kind, &ifp_palloc_allocator);
	}
	return sketch;
}

/* Returns the type of an argument, without its domains. */
static Oid argument_type(FunctionCallInfo fcinfo, int argument)
{
	Oid *type = fcinfo->flinfo->fn_extra;

	if (!type) {
		type = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof *type);
		*type = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, argument));
		fcinfo->flinfo->fn_extra = type;
	}
	return *type;
}

static struct iforest_sketch_number read_number(Datum datum, Oid type)
{
	struct iforest_sketch_number number = { .kind = IFOREST_INT64 };

	switch (type) {
	case INT2OID:
		number.value.integer = DatumGetInt16(datum);
		return number;
	case INT4OID:
		number.value.integer = DatumGetInt32(datum);
		return number;
	case INT8OID:
		number.value.integer = DatumGetInt64(datum);
		return number;
	case FLOAT4OID:
		number.value.real = DatumGetFloat4(datum);
		break;
	case FLOAT8OID:
		number.value.real = DatumGetFloat8(datum);
		break;
	case NUMERICOID:
		number.value.real = DatumGetFloat8(DirectFunctionCall1(numeric_float8, datum));
		break;
	default:
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("iforest_sketch: type %s is not one of numbers", format_type_be(type)),
			errhint("It takes integers, reals and numeric; of an interval extract(epoch FROM v) is a number."));
	}
	number.kind = IFOREST_FLOAT64;
	return number;
}

/* An inverse transition whose number is not in the sketch returns NULL, which makes PostgreSQL recompute the frame. */
static Datum state_result(FunctionCallInfo fcinfo, struct iforest_digest *sketch, enum iforest_status status, const char *name)
{
	if (status == IFOREST_NOT_FOUND)
		PG_RETURN_NULL();
	sketch_require(status, name);
	PG_RETURN_POINTER(sketch);
}

/* (state, number) */
static Datum change_by_number(FunctionCallInfo fcinfo, bool is_added)
{
	Oid type = argument_type(fcinfo, 1);
	struct iforest_sketch_number number = { .kind = IFOREST_INT64 };
	enum iforest_status status = IFOREST_OK;
	MemoryContext before;
	struct iforest_digest *sketch;

	if (!PG_ARGISNULL(1))
		number = read_number(PG_GETARG_DATUM(1), type);
	sketch = enter(fcinfo, IFOREST_DIGEST_QUANTILES, &before);
	if (!PG_ARGISNULL(1) && is_added)
		status = iforest_digest_add(sketch, number.value, number.kind);
	else if (!PG_ARGISNULL(1))
		status = iforest_digest_remove(sketch, number.value, number.kind);
	MemoryContextSwitchTo(before);
	return state_result(fcinfo, sketch, status, name_of(IFOREST_DIGEST_QUANTILES, false));
}

Datum iforest_sketch_add_number(PG_FUNCTION_ARGS)
{
	return change_by_number(fcinfo, true);
}

Datum iforest_sketch_remove_number(PG_FUNCTION_ARGS)
{
	return change_by_number(fcinfo, false);
}

static void require_deterministic(Oid type, Oid collation)
{
	if (type_is_collatable(type) && OidIsValid(collation) && !get_collation_isdeterministic(collation))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("iforest_distinct: values with a nondeterministic collation cannot be counted"),
			errhint("Give them another collation: v COLLATE \"C\"."));
}

/* (state, value) */
Datum iforest_distinct_add_value(PG_FUNCTION_ARGS)
{
	Oid type = argument_type(fcinfo, 1);
	union iforest_number key = { .integer = PG_ARGISNULL(1) ? 0 : ifp_distinct_key(type, PG_GETARG_DATUM(1)) };
	enum iforest_status status = IFOREST_OK;
	MemoryContext before;
	struct iforest_digest *sketch;

	require_deterministic(type, PG_GET_COLLATION());
	sketch = enter(fcinfo, IFOREST_DIGEST_DISTINCT, &before);
	if (!PG_ARGISNULL(1))
		status = iforest_digest_add(sketch, key, IFOREST_INT64);
	MemoryContextSwitchTo(before);
	return state_result(fcinfo, sketch, status, name_of(IFOREST_DIGEST_DISTINCT, false));
}

/* (state, bytes) */
static Datum change_by_sketch(FunctionCallInfo fcinfo, enum iforest_digest_kind kind, bool is_added)
{
	bytea *bytes = PG_ARGISNULL(1) ? NULL : PG_GETARG_BYTEA_PP(1);
	enum iforest_status status = IFOREST_OK;
	MemoryContext before;
	struct iforest_digest *sketch = enter(fcinfo, kind, &before);

	if (bytes && is_added)
		status = iforest_digest_merge(sketch, (const uint8_t *)VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	else if (bytes)
		status = iforest_digest_subtract(sketch, (const uint8_t *)VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	MemoryContextSwitchTo(before);
	return state_result(fcinfo, sketch, status, name_of(kind, true));
}

Datum iforest_sketch_add_sketch(PG_FUNCTION_ARGS)
{
	return change_by_sketch(fcinfo, IFOREST_DIGEST_QUANTILES, true);
}

Datum iforest_sketch_remove_sketch(PG_FUNCTION_ARGS)
{
	return change_by_sketch(fcinfo, IFOREST_DIGEST_QUANTILES, false);
}

Datum iforest_distinct_add_sketch(PG_FUNCTION_ARGS)
{
	return change_by_sketch(fcinfo, IFOREST_DIGEST_DISTINCT, true);
}

/* ---- states as bytes ---- */

Datum iforest_sketch_combine_states(PG_FUNCTION_ARGS)
{
	const struct iforest_digest *other = PG_ARGISNULL(1) ? NULL : (struct iforest_digest *)PG_GETARG_POINTER(1);
	bytea *bytes = other ? ifp_sketch_to_bytea(other) : NULL;
	enum iforest_status status = IFOREST_OK;
	MemoryContext before;
	struct iforest_digest *sketch;

	if (!other && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	sketch = enter(fcinfo, other ? other->kind : IFOREST_DIGEST_QUANTILES, &before);
	if (bytes)
		status = iforest_digest_merge(sketch, (const uint8_t *)VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
	MemoryContextSwitchTo(before);
	return state_result(fcinfo, sketch, status, name_of(sketch->kind, false));
}

Datum iforest_sketch_serialize(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(ifp_sketch_to_bytea((struct iforest_digest *)PG_GETARG_POINTER(0)));
}

static Datum deserialize(FunctionCallInfo fcinfo, enum iforest_digest_kind kind)
{
	bytea *bytes = PG_GETARG_BYTEA_PP(0);
	struct iforest_digest *sketch = palloc(sizeof *sketch);

	iforest_digest_init(sketch, kind, &ifp_palloc_allocator);
	sketch_require(iforest_digest_merge(sketch, (const uint8_t *)VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)),
		       name_of(kind, false));
	PG_RETURN_POINTER(sketch);
}

Datum iforest_sketch_deserialize(PG_FUNCTION_ARGS)
{
	return deserialize(fcinfo, IFOREST_DIGEST_QUANTILES);
}

Datum iforest_distinct_deserialize(PG_FUNCTION_ARGS)
{
	return deserialize(fcinfo, IFOREST_DIGEST_DISTINCT);
}

Datum iforest_sketch_result(PG_FUNCTION_ARGS)
{
	struct iforest_digest *sketch = PG_ARGISNULL(0) ? NULL : (struct iforest_digest *)PG_GETARG_POINTER(0);

	if (!sketch || iforest_digest_is_empty(sketch))
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(ifp_sketch_to_bytea(sketch));
}

/* ---- sketches as states, which shards send ---- */

static Datum sketch_of_one(enum iforest_digest_kind kind, const struct iforest_sketch_number *number)
{
	struct iforest_digest sketch;
	bytea *bytes;

	iforest_digest_init(&sketch, kind, &ifp_palloc_allocator);
	sketch_require(iforest_digest_add(&sketch, number->value, number->kind), name_of(kind, false));
	bytes = ifp_sketch_to_bytea(&sketch);
	iforest_digest_release(&sketch);
	PG_RETURN_BYTEA_P(bytes);
}

/* (number) */
Datum iforest_sketch_state(PG_FUNCTION_ARGS)
{
	struct iforest_sketch_number number = read_number(PG_GETARG_DATUM(0), argument_type(fcinfo, 0));

	return sketch_of_one(IFOREST_DIGEST_QUANTILES, &number);
}

/* (value) */
Datum iforest_distinct_state(PG_FUNCTION_ARGS)
{
	Oid type = argument_type(fcinfo, 0);
	struct iforest_sketch_number key = { .kind = IFOREST_INT64 };

	require_deterministic(type, PG_GET_COLLATION());
	key.value.integer = ifp_distinct_key(type, PG_GETARG_DATUM(0));
	return sketch_of_one(IFOREST_DIGEST_DISTINCT, &key);
}

/* (bytes, bytes) */
static Datum sketch_union(FunctionCallInfo fcinfo, enum iforest_digest_kind kind)
{
	PG_RETURN_BYTEA_P(ifp_sketch_sum(kind, PG_GETARG_BYTEA_P(0), PG_GETARG_BYTEA_P(1)));
}

Datum iforest_sketch_union(PG_FUNCTION_ARGS)
{
	return sketch_union(fcinfo, IFOREST_DIGEST_QUANTILES);
}

Datum iforest_distinct_union(PG_FUNCTION_ARGS)
{
	return sketch_union(fcinfo, IFOREST_DIGEST_DISTINCT);
}

/* ---- functions of one sketch ---- */

/* Opens the sketch of the first argument; NULL is an empty sketch. */
static struct iforest_sketch_view open_sketch(FunctionCallInfo fcinfo, const char *name)
{
	struct iforest_sketch_view view = { .n = 0 };
	bytea *bytes;

	if (PG_ARGISNULL(0))
		return view;
	bytes = PG_GETARG_BYTEA_PP(0);
	sketch_require(iforest_sketch_open(&view, (const uint8_t *)VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)), name);
	return view;
}

Datum iforest_sketch_numbers(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64)open_sketch(fcinfo, "iforest_sketch_count").n);
}

Datum iforest_distinct_values(PG_FUNCTION_ARGS)
{
	uint64_t n = 0;
	bytea *bytes;

	if (!PG_ARGISNULL(0)) {
		bytes = PG_GETARG_BYTEA_PP(0);
		sketch_require(iforest_distinct_count((const uint8_t *)VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), &n),
			       "iforest_distinct_count");
	}
	PG_RETURN_INT64((int64)n);
}

/* The arguments of a quantile. */
struct quantile {
	struct iforest_sketch_view view;
	struct iforest_sketch_extremes extremes;
	bool are_known; /* the extremes */
	double q;
};

/* Arguments: (sketch, q [, min, max]), the last two of that type. Returns false if the result is NULL. */
static bool read_quantile(FunctionCallInfo fcinfo, Oid type, const char *name, struct quantile *quantile)
{
	if (PG_ARGISNULL(1))
		return false;
	quantile->view = open_sketch(fcinfo, name);
	quantile->q = PG_GETARG_FLOAT8(1);
	if (!(quantile->q >= 0 && quantile->q <= 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("%s: the second argument is not a number from 0 to 1", name),
			errhint("The 99th percentile is 0.99."));
	quantile->are_known = PG_NARGS() > 2 && !PG_ARGISNULL(2) && !PG_ARGISNULL(3);
	if (quantile->are_known)
		quantile->extremes = (struct iforest_sketch_extremes){ read_number(PG_GETARG_DATUM(2), type),
								       read_number(PG_GETARG_DATUM(3), type) };
	return quantile->view.n > 0;
}

static bool find_quantile(FunctionCallInfo fcinfo, Oid type, struct iforest_sketch_number *answer)
{
	static const char name[] = "iforest_quantile";
	struct quantile quantile;

	if (!read_quantile(fcinfo, type, name, &quantile))
		return false;
	sketch_require(iforest_sketch_quantile(&quantile.view, quantile.q, quantile.are_known ? &quantile.extremes : NULL,
					       answer),
		       name);
	return true;
}

static double real_of(const struct iforest_sketch_number *number)
{
	return number->kind == IFOREST_INT64 ? (double)number->value.integer : number->value.real;
}

Datum iforest_sketch_quantile_real(PG_FUNCTION_ARGS)
{
	struct iforest_sketch_number answer;

	if (!find_quantile(fcinfo, FLOAT8OID, &answer))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(real_of(&answer));
}

Datum iforest_sketch_quantile_integer(PG_FUNCTION_ARGS)
{
	struct iforest_sketch_number answer;

	if (!find_quantile(fcinfo, INT8OID, &answer))
		PG_RETURN_NULL();
	if (answer.kind != IFOREST_INT64)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("iforest_quantile: min and max are integers, and the sketch's numbers are not"),
			errhint("Give min and max as double precision."));
	PG_RETURN_INT64(answer.value.integer);
}

static double real_at(const struct quantile *quantile, double place, const char *name)
{
	struct iforest_sketch_number number;

	sketch_require(iforest_sketch_number_at(&quantile->view, 1 + (uint64_t)place,
						quantile->are_known ? &quantile->extremes : NULL, &number),
		       name);
	return real_of(&number);
}

/* Interpolates between two numbers as percentile_cont() does. */
Datum iforest_quantile_cont(PG_FUNCTION_ARGS)
{
	static const char name[] = "iforest_quantile_cont";
	struct quantile quantile;
	double place, lower;

	if (!read_quantile(fcinfo, FLOAT8OID, name, &quantile))
		PG_RETURN_NULL();
	place = quantile.q * (double)(quantile.view.n - 1);
	lower = real_at(&quantile, floor(place), name);
	if (ceil(place) != floor(place))
		lower += (place - floor(place)) * (real_at(&quantile, ceil(place), name) - lower);
	PG_RETURN_FLOAT8(lower);
}

Datum iforest_rank(PG_FUNCTION_ARGS)
{
	struct iforest_sketch_view view = open_sketch(fcinfo, "iforest_rank");

	if (PG_ARGISNULL(1) || view.n == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8((double)iforest_sketch_count_through(&view, PG_GETARG_FLOAT8(1)) / (double)view.n);
}

/* ---- histograms, a row for each bin ---- */

struct histogram {
	struct iforest_sketch_view view;
	bool has_bounds;
	float8 *bounds;
	int n_bounds;
	uint64 *counts; /* of the n_bounds + 1 bins */
	int bin;	/* the next to be returned */
	struct iforest_sketch_place place;
};

static void read_bounds(ArrayType *array, struct histogram *histogram)
{
	if (ARR_NDIM(array) > 1 || array_contains_nulls(array))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("iforest_histogram: the bounds are an array of more than one dimension, or with NULL"));
	histogram->has_bounds = true;
	histogram->bounds = (float8 *)ARR_DATA_PTR(array);
	histogram->n_bounds = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (!iforest_sketch_are_bounds(histogram->bounds, (size_t)histogram->n_bounds))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("iforest_histogram: the bounds do not ascend"));
	histogram->counts = palloc(((Size)histogram->n_bounds + 1) * sizeof *histogram->counts);
	iforest_sketch_histogram(&histogram->view, histogram->bounds, (size_t)histogram->n_bounds, histogram->counts);
}

/* Reads the arguments (sketch [, bounds]), in the current memory context. Returns NULL if there are no rows. */
static struct histogram *begin_histogram(FunctionCallInfo fcinfo)
{
	struct histogram *histogram = palloc0(sizeof *histogram);
	bytea *bytes;

	if (PG_NARGS() > 1 && PG_ARGISNULL(1))
		return NULL;
	if (!PG_ARGISNULL(0)) {
		/* the view is of these bytes */
		bytes = PG_GETARG_BYTEA_P_COPY(0);
		sketch_require(iforest_sketch_open(&histogram->view, (const uint8_t *)VARDATA(bytes),
						   VARSIZE(bytes) - VARHDRSZ),
			       "iforest_histogram");
	}
	if (PG_NARGS() > 1)
		read_bounds(PG_GETARG_ARRAYTYPE_P_COPY(1), histogram);
	return histogram;
}

static bool next_bin(struct histogram *histogram, struct iforest_sketch_bin *bin)
{
	int i = histogram->bin++;

	if (!histogram->has_bounds)
		return iforest_sketch_next_bin(&histogram->view, &histogram->place, bin);
	if (i > histogram->n_bounds)
		return false;
	*bin = (struct iforest_sketch_bin){ .lower = i == 0 ? -get_float8_infinity() : histogram->bounds[i - 1],
					    .upper = i == histogram->n_bounds ? get_float8_infinity() : histogram->bounds[i],
					    .n = histogram->counts[i] };
	return true;
}

Datum iforest_histogram(PG_FUNCTION_ARGS)
{
	FuncCallContext *calls;
	struct iforest_sketch_bin bin;

	if (SRF_IS_FIRSTCALL()) {
		MemoryContext before;
		TupleDesc row;

		calls = SRF_FIRSTCALL_INIT();
		before = MemoryContextSwitchTo(calls->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "iforest_histogram() returns rows");
		calls->tuple_desc = BlessTupleDesc(row);
		calls->user_fctx = begin_histogram(fcinfo);
		MemoryContextSwitchTo(before);
	}
	calls = SRF_PERCALL_SETUP();
	if (calls->user_fctx && next_bin(calls->user_fctx, &bin)) {
		Datum values[] = { Float8GetDatum(bin.lower), Float8GetDatum(bin.upper), Int64GetDatum((int64)bin.n) };
		bool are_null[lengthof(values)] = { false };

		SRF_RETURN_NEXT(calls, HeapTupleGetDatum(heap_form_tuple(calls->tuple_desc, values, are_null)));
	}
	SRF_RETURN_DONE(calls);
}
