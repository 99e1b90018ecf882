/* exec/percentile.h -- percentile_disc and percentile_cont, given access to the n-th number in order.
 *
 * Fractions, places, interpolation, NULL results and errors are those of PostgreSQL's functions, evaluated in the same order.
 */
#ifndef IFP_EXEC_PERCENTILE_H
#define IFP_EXEC_PERCENTILE_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"

#include "core/model/aggregate.h"

/* ---- numbers ---- */

/* A growing list of numbers of a value column. All zeros if empty. */
struct ifp_numbers {
	union iforest_number *list;
	Size n, n_reserved;
	bool is_sorted;
};

/* Adds a number; adds all numbers of another list. The list is allocated in the context. */
void ifp_numbers_add(struct ifp_numbers *numbers, union iforest_number number, MemoryContext context);
void ifp_numbers_append(struct ifp_numbers *numbers, const struct ifp_numbers *others, MemoryContext context);

/* Sorts the numbers, NaN last. Cost: n log n the first time. Can be interrupted. */
void ifp_numbers_sort(struct ifp_numbers *numbers, enum iforest_value_type type);

/* ---- percentiles ---- */

struct ifp_percentile;

/* Prepares an aggregate that planner/aggregate_arms.h has recognized as a percentile, in the current memory context. */
struct ifp_percentile *ifp_percentile_begin(Aggref *aggregate);

/* True if WITHIN GROUP sorts a before b. */
bool ifp_percentile_is_before(struct ifp_percentile *percentile, Datum a, Datum b);

/* Returns the argument at a place 1 .. n in the order of WITHIN GROUP, not counting NULLs. */
typedef Datum ifp_argument_at(void *context, uint64 place);

/* Returns the result for a group with n non-NULL arguments, in the current memory context. The fraction is evaluated in
 * econtext. */
Datum ifp_percentile_result(struct ifp_percentile *percentile, ExprContext *econtext, uint64 n, ifp_argument_at *argument_at,
			    void *context, bool *is_null);

#endif
