/* sql/row_aggregates.c -- SQL aggregates for the row with an extreme, the first or the last value, where no index answers them.
 *
 * iforest_min_row() and others read all rows. They choose the row that core/model/aggregate.h defines. Without ctids, rows of
 * the same time are ordered by value.
 */
#include "pg_ext/base/engine.h"

#include "fmgr.h"

#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/typcache.h"

IFP_SQL_FUNCTION(iforest_row_serialize);
IFP_SQL_FUNCTION(iforest_row_deserialize);
IFP_SQL_FUNCTION(iforest_row_ctid);
IFP_SQL_FUNCTION(iforest_row_time);
IFP_SQL_FUNCTION(iforest_row_value);

enum choice { CHOOSE_MIN, CHOOSE_MAX, CHOOSE_FIRST, CHOOSE_LAST };

struct chosen_row {
	Oid value_type, time_type;
	Datum value, time;
	bool time_is_null, has_ctid;
	ItemPointerData ctid;
};

/* The types of values and times, looked up once for each call site. */
struct types {
	TypeCacheEntry *value, *time;
};

static TypeCacheEntry *ordered_type(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_CMP_PROC_FINFO);

	if (!OidIsValid(entry->cmp_proc))
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("type %s has no order", format_type_be(type)));
	return entry;
}

static struct types *types_of(FunctionCallInfo fcinfo, Oid value_type, Oid time_type)
{
	struct types *types = fcinfo->flinfo->fn_extra;

	if (!types) {
		types = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof *types);
		types->value = ordered_type(value_type);
		types->time = ordered_type(time_type);
		fcinfo->flinfo->fn_extra = types;
	}
	return types;
}

static MemoryContext aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "an aggregate's function is called outside of it");
	return context;
}

/* ---- comparison ---- */

static int compare(const TypeCacheEntry *type, Oid collation, Datum a, Datum b)
{
	return DatumGetInt32(FunctionCall2Coll((FmgrInfo *)&type->cmp_proc_finfo, collation, a, b));
}

/* Returns a number below 0 if a is earlier than b. Rows without a time are later than all others. */
static int compare_times(const struct types *types, Oid collation, const struct chosen_row *a, const struct chosen_row *b)
{
	if (a->time_is_null || b->time_is_null)
		return (int)a->time_is_null - (int)b->time_is_null;
	return compare(types->time, collation, a->time, b->time);
}

static int compare_ctids(const struct chosen_row *a, const struct chosen_row *b)
{
	return a->has_ctid && b->has_ctid ? ItemPointerCompare((ItemPointer)&a->ctid, (ItemPointer)&b->ctid) : 0;
}

static bool is_better(enum choice choice, const struct types *types, Oid collation, const struct chosen_row *a,
		      const struct chosen_row *b)
{
	int value = compare(types->value, collation, a->value, b->value);
	int time = compare_times(types, collation, a, b), ctid = compare_ctids(a, b);
	int order;

	if (choice == CHOOSE_MAX)
		value = -value;
	if (choice == CHOOSE_MIN || choice == CHOOSE_MAX) {
		order = value ? value : time;
		return (order ? order : ctid) < 0;
	}
	order = time ? time : ctid;
	if (!order)
		order = value;
	return choice == CHOOSE_FIRST ? order < 0 : order > 0;
}

/* ---- states ---- */

/* Copies a datum, detoasted. */
static Datum copy(const TypeCacheEntry *type, Datum datum)
{
	if (type->typlen == -1)
		return PointerGetDatum(PG_DETOAST_DATUM_COPY(datum));
	return datumCopy(datum, type->typbyval, type->typlen);
}

static void keep(const struct types *types, const struct chosen_row *from, struct chosen_row *state, bool had_row)
{
	if (had_row && !types->value->typbyval)
		pfree(DatumGetPointer(state->value));
	if (had_row && !types->time->typbyval && !state->time_is_null)
		pfree(DatumGetPointer(state->time));
	*state = *from;
	state->value = copy(types->value, from->value);
	if (!from->time_is_null)
		state->time = copy(types->time, from->time);
}

/* Returns the better of the state (NULL: no row yet) and a row. */
static struct chosen_row *choose(FunctionCallInfo fcinfo, enum choice choice, struct chosen_row *state,
				 const struct chosen_row *row)
{
	struct types *types = types_of(fcinfo, row->value_type, row->time_type);
	MemoryContext before;
	bool had_row = state != NULL;

	if (had_row && !is_better(choice, types, PG_GET_COLLATION(), row, state))
		return state;
	before = MemoryContextSwitchTo(aggregate_context(fcinfo));
	if (!had_row)
		state = palloc(sizeof *state);
	keep(types, row, state, had_row);
	MemoryContextSwitchTo(before);
	return state;
}

static Datum state_result(FunctionCallInfo fcinfo, struct chosen_row *state)
{
	if (!state)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/* Arguments: (state, value, time [, ctid]). */
static Datum add(FunctionCallInfo fcinfo, enum choice choice)
{
	struct chosen_row *state = PG_ARGISNULL(0) ? NULL : (struct chosen_row *)PG_GETARG_POINTER(0);
	struct chosen_row row = { .value_type = get_fn_expr_argtype(fcinfo->flinfo, 1),
				  .time_type = get_fn_expr_argtype(fcinfo->flinfo, 2),
				  .time_is_null = PG_ARGISNULL(2),
				  .has_ctid = PG_NARGS() > 3 && !PG_ARGISNULL(3) };
	bool needs_time = choice == CHOOSE_FIRST || choice == CHOOSE_LAST;

	(void)aggregate_context(fcinfo);
	if (PG_ARGISNULL(1) || (needs_time && row.time_is_null))
		return state_result(fcinfo, state);
	row.value = PG_GETARG_DATUM(1);
	row.time = row.time_is_null ? (Datum)0 : PG_GETARG_DATUM(2);
	if (row.has_ctid)
		ItemPointerCopy((ItemPointer)PG_GETARG_POINTER(3), &row.ctid);
	return state_result(fcinfo, choose(fcinfo, choice, state, &row));
}

static Datum combine(FunctionCallInfo fcinfo, enum choice choice)
{
	struct chosen_row *state = PG_ARGISNULL(0) ? NULL : (struct chosen_row *)PG_GETARG_POINTER(0);

	(void)aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return state_result(fcinfo, state);
	return state_result(fcinfo, choose(fcinfo, choice, state, (struct chosen_row *)PG_GETARG_POINTER(1)));
}

/* Transition and combination of one choice. */
#define CHOICE_FUNCTIONS(name, choice)                       \
	IFP_SQL_FUNCTION(iforest_row_##name##_add);          \
	IFP_SQL_FUNCTION(iforest_row_##name##_combine);      \
	Datum iforest_row_##name##_add(PG_FUNCTION_ARGS)     \
	{                                                    \
		return add(fcinfo, choice);                  \
	}                                                    \
	Datum iforest_row_##name##_combine(PG_FUNCTION_ARGS) \
	{                                                    \
		return combine(fcinfo, choice);              \
	}

CHOICE_FUNCTIONS(min, CHOOSE_MIN)
CHOICE_FUNCTIONS(max, CHOOSE_MAX)
CHOICE_FUNCTIONS(first, CHOOSE_FIRST)
CHOICE_FUNCTIONS(last, CHOOSE_LAST)

/* ---- states of parallel workers ---- */

static Size bytes_of(const struct chosen_row *row, const TypeCacheEntry *value, const TypeCacheEntry *time)
{
	return sizeof *row + datumEstimateSpace(row->value, false, value->typbyval, value->typlen) +
	       datumEstimateSpace(row->time, row->time_is_null, time->typbyval, time->typlen);
}

Datum iforest_row_serialize(PG_FUNCTION_ARGS)
{
	const struct chosen_row *row = (const struct chosen_row *)PG_GETARG_POINTER(0);
	TypeCacheEntry *value = lookup_type_cache(row->value_type, 0), *time = lookup_type_cache(row->time_type, 0);
	bytea *bytes;
	char *at;

	(void)aggregate_context(fcinfo);
	bytes = palloc0(VARHDRSZ + bytes_of(row, value, time));
	SET_VARSIZE(bytes, VARHDRSZ + bytes_of(row, value, time));
	memcpy(VARDATA(bytes), row, sizeof *row);
	at = VARDATA(bytes) + sizeof *row;
	datumSerialize(row->value, false, value->typbyval, value->typlen, &at);
	datumSerialize(row->time, row->time_is_null, time->typbyval, time->typlen, &at);
	PG_RETURN_BYTEA_P(bytes);
}

Datum iforest_row_deserialize(PG_FUNCTION_ARGS)
{
	struct chosen_row *row = palloc(sizeof *row);
	bytea *bytes = PG_GETARG_BYTEA_PP(0);
	char *at = VARDATA_ANY(bytes) + sizeof *row;
	bool is_null;

	(void)aggregate_context(fcinfo);
	memcpy(row, VARDATA_ANY(bytes), sizeof *row);
	row->value = datumRestore(&at, &is_null);
	row->time = datumRestore(&at, &is_null);
	PG_RETURN_POINTER(row);
}

/* ---- results ---- */

Datum iforest_row_ctid(PG_FUNCTION_ARGS)
{
	struct chosen_row *row = PG_ARGISNULL(0) ? NULL : (struct chosen_row *)PG_GETARG_POINTER(0);
	ItemPointer ctid;

	if (!row || !row->has_ctid)
		PG_RETURN_NULL();
	ctid = palloc(sizeof *ctid);
	ItemPointerCopy(&row->ctid, ctid);
	PG_RETURN_POINTER(ctid);
}

Datum iforest_row_time(PG_FUNCTION_ARGS)
{
	struct chosen_row *row = PG_ARGISNULL(0) ? NULL : (struct chosen_row *)PG_GETARG_POINTER(0);

	if (!row || row->time_is_null)
		PG_RETURN_NULL();
	return row->time;
}

Datum iforest_row_value(PG_FUNCTION_ARGS)
{
	struct chosen_row *row = PG_ARGISNULL(0) ? NULL : (struct chosen_row *)PG_GETARG_POINTER(0);

	if (!row)
		PG_RETURN_NULL();
	return row->value;
}
