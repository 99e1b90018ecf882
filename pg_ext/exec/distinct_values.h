/* exec/distinct_values.h -- Dictionary of the distinct values of an aggregate's argument, and sets of their numbers.
 *
 * count(DISTINCT x) over by columns and times evaluates x once for each bucket. All groups share one dictionary of the values
 * that occurred. The state of a group is a set of their numbers (a Bitmapset). The result unites the sets of several arms.
 */
#ifndef IFP_EXEC_DISTINCT_VALUES_H
#define IFP_EXEC_DISTINCT_VALUES_H

#include "pg_ext/base/engine.h"

#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

struct ifp_distinct_values;

/* Allocates a dictionary for an aggregate that has DISTINCT, in the current memory context. Comparisons use econtext's
 * per-tuple memory.
 * Requires  one argument, whose type can be hashed. */
struct ifp_distinct_values *ifp_distinct_values_begin(const Aggref *aggregate, ExprContext *econtext);

/* Forgets all values; new ones are allocated in the context. */
void ifp_distinct_values_reset(struct ifp_distinct_values *values, MemoryContext context);

/* Adds a non-NULL value to a set, and returns the set; 0 is the empty set. Sets are allocated in the dictionary's context. */
Datum ifp_distinct_values_add(struct ifp_distinct_values *values, Datum set, Datum value);

/* Returns the numbers in a set. */
static inline Bitmapset *ifp_distinct_values_set(Datum set)
{
	return (Bitmapset *)DatumGetPointer(set);
}

/* Returns the value with that number. */
Datum ifp_distinct_values_datum(const struct ifp_distinct_values *values, int number);

#endif
