/* exec/distinct_values.h -- Distinct values of an aggregate's argument, numbered, for sets of them.
 *
 * count(DISTINCT x) of by columns and times evaluates x once for each bucket. All groups share one dictionary of the values that
 * occurred, and the state of a group is a set of their numbers (a Bitmapset). Sets of several arms are united at last.
 */
#ifndef IFP_EXEC_DISTINCT_VALUES_H
#define IFP_EXEC_DISTINCT_VALUES_H

#include "pg_ext/base/engine.h"

#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

struct ifp_distinct_values;

/* Prepares a dictionary for an aggregate that has DISTINCT, in the current memory context. Comparisons use econtext's short-lived
 * memory.
 * Requires  one argument, whose type can be hashed. */
struct ifp_distinct_values *ifp_distinct_values_begin(const Aggref *aggregate, ExprContext *econtext);

/* Forgets all values; new ones are kept in the context. */
void ifp_distinct_values_reset(struct ifp_distinct_values *values, MemoryContext context);

/* Adds a value, which is not NULL, to a set, and returns the set; 0 is the empty one. Sets live in the context of the dictionary. */
Datum ifp_distinct_values_add(struct ifp_distinct_values *values, Datum set, Datum value);

/* Returns the numbers in a set. */
static inline Bitmapset *ifp_distinct_values_set(Datum set)
{
	return (Bitmapset *)DatumGetPointer(set);
}

/* Returns the value that has the number. */
Datum ifp_distinct_values_datum(const struct ifp_distinct_values *values, int number);

#endif
