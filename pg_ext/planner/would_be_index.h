/* planner/would_be_index.h -- An index of an empty copy of a table, which the planner takes for one of the table itself.
 *
 * The copy has the same columns under the same numbers. All that is known of an index is then known of this one, and checked by
 * the code that checks any index; only its size is estimated. What is planned with it must not be run.
 */
#ifndef IFP_PLANNER_WOULD_BE_INDEX_H
#define IFP_PLANNER_WOULD_BE_INDEX_H

#include "pg_ext/base/engine.h"

struct ifp_would_be_index {
	Oid table;	       /* which is to have the index, or whose partitions are */
	Oid copy;	       /* which has it */
	int n_values, n_reals; /* of its value columns, those of a real type */
};

/* Returns the bytes that such an index of so many rows takes, about: differences of times and values may pack into fewer. */
double ifp_would_be_bytes(double n_rows, int n_values, int n_reals);

/* From now on tables have these indexes (list of struct ifp_would_be_index); NIL: they have none. The list belongs to the
 * caller, who resets it, also after an error. */
void ifp_would_be_indexes_set(List *indexes);

/* Registers a hook. Requires  called once, when the library is loaded. */
void ifp_would_be_indexes_register(void);

#endif
