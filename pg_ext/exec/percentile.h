/* exec/percentile.h -- percentile_disc and percentile_cont over numbers of which the one at each place in order is known.
 *
 * Fractions, places, interpolation, results that are NULL and errors are those of PostgreSQL's functions, in its order.
 */
#ifndef IFP_EXEC_PERCENTILE_H
#define IFP_EXEC_PERCENTILE_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"

#include "core/model/aggregate.h"

/* ---- numbers ---- */

/* Numbers of a value column, in order once they have been sorted. All zeros if there are none. */
struct ifp_numbers {
	union iforest_number *list;
	Size n, n_reserved;
	bool is_sorted;
};

/* Adds a number; adds those of another list. They are kept in the context. */
void ifp_numbers_add(struct ifp_numbers *numbers, union iforest_number number, MemoryContext context);
void ifp_numbers_append(struct ifp_numbers *numbers, const struct ifp_numbers *others, MemoryContext context);

/* Sorts the numbers, NaN last. Cost: n log n the first time. Can be interrupted. */
void ifp_numbers_sort(struct ifp_numbers *numbers, enum iforest_value_type type);

/* ---- percentiles ---- */

struct ifp_percentile;

/* Reads an aggregate that planner/aggregate_arms.h has taken for a percentile, in the current memory context. */
struct ifp_percentile *ifp_percentile_begin(Aggref *aggregate);

/* True if WITHIN GROUP puts a before b. */
bool ifp_percentile_is_before(struct ifp_percentile *percentile, Datum a, Datum b);

/* Returns the argument at a place of those 1 .. n that are not NULL, in the order of WITHIN GROUP. */
typedef Datum ifp_argument_at(void *context, uint64 place);

/* Returns the result for a group with n arguments that are not NULL, in the current memory context. The fraction is evaluated in
 * econtext. */
Datum ifp_percentile_result(struct ifp_percentile *percentile, ExprContext *econtext, uint64 n, ifp_argument_at *argument_at,
			    void *context, bool *is_null);

#endif
