/* sql/line_aggregates.c -- SQL aggregates iforest_lttb_times() and iforest_lttb_values(): the points of a line to be drawn.
 *
 * They keep 24 bytes for each point, and select points at the end (core/model/lttb.h).
 */
#include "pg_ext/base/engine.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "core/model/lttb.h"
#include "pg_ext/sql/time_datum.h"

IFP_SQL_FUNCTION(iforest_lttb_add);
IFP_SQL_FUNCTION(iforest_lttb_time_array);
IFP_SQL_FUNCTION(iforest_lttb_value_array);

struct line_state {
	MemoryContext context;
	Oid type; /* of the times, and its base type */
	Oid base_type;
	int32 n_wanted;
	bool is_chosen; /* only the points to be drawn are left */
	struct iforest_line_point *points;
	size_t n, n_reserved;
};

static struct line_state *new_state(FunctionCallInfo fcinfo)
{
	MemoryContext context;
	struct line_state *state;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "an aggregate's function is called outside of it");
	if (PG_ARGISNULL(3) || PG_GETARG_INT32(3) < 2)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("n must be at least 2"));
	state = MemoryContextAllocZero(context, sizeof *state);
	state->context = context;
	state->type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	state->base_type = getBaseType(state->type);
	state->n_wanted = PG_GETARG_INT32(3);
	return state;
}

static void add_point(struct line_state *state, struct iforest_line_point point)
{
	if (state->n == state->n_reserved) {
		state->n_reserved = Max(64, 2 * state->n_reserved);
		state->points = state->points ? repalloc_huge(state->points, state->n_reserved * sizeof point)
					      : MemoryContextAllocHuge(state->context, state->n_reserved * sizeof point);
	}
	state->points[state->n++] = point;
}

/* Arguments: (state, time, value, n). */
Datum iforest_lttb_add(PG_FUNCTION_ARGS)
{
	struct line_state *state = PG_ARGISNULL(0) ? new_state(fcinfo) : (struct line_state *)PG_GETARG_POINTER(0);

	if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
		add_point(state, (struct iforest_line_point){ .time = ifp_time_of_datum(state->base_type, PG_GETARG_DATUM(1)),
							      .value = PG_GETARG_FLOAT8(2),
							      .row = state->n });
	PG_RETURN_POINTER(state);
}

/* Returns an array of the times or of the values of the chosen points. Both aggregates over the same arguments share the
 * state. */
static Datum array_of(FunctionCallInfo fcinfo, bool of_times)
{
	struct line_state *state = PG_ARGISNULL(0) ? NULL : (struct line_state *)PG_GETARG_POINTER(0);
	Oid type = state && of_times ? state->type : FLOAT8OID;
	Datum *datums;
	int16 length;
	bool by_value;
	char alignment;

	if (!state || state->n == 0)
		PG_RETURN_NULL();
	if (!state->is_chosen) {
		(void)iforest_line_sort(state->points, state->n, &ifp_interrupt); /* ends only by an error of the server */
		state->n = iforest_lttb(state->points, state->n, (size_t)state->n_wanted);
		state->is_chosen = true;
	}
	datums = palloc(state->n * sizeof *datums);
	for (size_t i = 0; i < state->n; i++)
		datums[i] = of_times ? ifp_datum_of_time(state->base_type, state->points[i].time)
				     : Float8GetDatum(state->points[i].value);
	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	return PointerGetDatum(construct_array(datums, (int)state->n, type, length, by_value, alignment));
}

Datum iforest_lttb_time_array(PG_FUNCTION_ARGS)
{
	return array_of(fcinfo, true);
}

Datum iforest_lttb_value_array(PG_FUNCTION_ARGS)
{
	return array_of(fcinfo, false);
}
