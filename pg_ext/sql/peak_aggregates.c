/* sql/peak_aggregates.c -- SQL aggregates iforest_peak() and iforest_peak_time(): how many spans are open at once, and when
 * first.
 *
 * They keep 16 bytes for each span, and sort and sweep them at the end (core/query/peak.h).
 */
#include "pg_ext/base/engine.h"

#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "core/query/peak.h"
#include "pg_ext/sql/time_datum.h"

IFP_SQL_FUNCTION(iforest_peak_add);
IFP_SQL_FUNCTION(iforest_peak_count);
IFP_SQL_FUNCTION(iforest_peak_when);

struct peak_state {
	MemoryContext context;
	Oid type;
	struct iforest_peak_span *spans;
	size_t n, n_reserved;
	size_t n_swept; /* number of spans covered by `peak` */
	struct iforest_peak peak;
};

static struct peak_state *new_state(FunctionCallInfo fcinfo)
{
	MemoryContext context;
	struct peak_state *state;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "an aggregate's function is called outside of it");
	state = MemoryContextAllocZero(context, sizeof *state);
	state->context = context;
	state->type = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, 1));
	return state;
}

static void add_span(struct peak_state *state, struct iforest_peak_span span)
{
	if (state->n == state->n_reserved) {
		state->n_reserved = Max(64, 2 * state->n_reserved);
		state->spans = state->spans ? repalloc_huge(state->spans, state->n_reserved * sizeof span)
					    : MemoryContextAllocHuge(state->context, state->n_reserved * sizeof span);
	}
	state->spans[state->n++] = span;
}

/* Arguments: (state, time, end [, whether the end is later than the type can tell]). */
Datum iforest_peak_add(PG_FUNCTION_ARGS)
{
	struct peak_state *state = PG_ARGISNULL(0) ? new_state(fcinfo) : (struct peak_state *)PG_GETARG_POINTER(0);
	struct iforest_peak_span span;

	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);
	span.first_time = span.last_time = ifp_time_of_datum(state->type, PG_GETARG_DATUM(1));
	if (!PG_ARGISNULL(2) && ifp_time_of_datum(state->type, PG_GETARG_DATUM(2)) > span.first_time)
		span.last_time = ifp_time_of_datum(state->type, PG_GETARG_DATUM(2)) - 1;
	if (PG_NARGS() > 3 && !PG_ARGISNULL(3) && PG_GETARG_BOOL(3))
		span.last_time = PG_INT64_MAX;
	add_span(state, span);
	PG_RETURN_POINTER(state);
}

/* Returns the peak of the spans so far; both aggregates over the same arguments share the state. */
static const struct iforest_peak *peak_of(struct peak_state *state)
{
	MemoryContext before = MemoryContextSwitchTo(state->context);

	if (state->n_swept < state->n &&
	    iforest_peak_of_spans(&ifp_palloc_allocator, &ifp_interrupt, state->spans, state->n, &state->peak))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	state->n_swept = state->n;
	MemoryContextSwitchTo(before);
	return &state->peak;
}

Datum iforest_peak_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(PG_ARGISNULL(0) ? 0 : (int64)peak_of((struct peak_state *)PG_GETARG_POINTER(0))->n);
}

Datum iforest_peak_when(PG_FUNCTION_ARGS)
{
	struct peak_state *state = PG_ARGISNULL(0) ? NULL : (struct peak_state *)PG_GETARG_POINTER(0);

	if (!state || peak_of(state)->n == 0)
		PG_RETURN_NULL();
	return ifp_datum_of_time(state->type, state->peak.time);
}
