/* planner/overlap_index.h -- Choice of the index that an overlap function reads, its permission checks, and planner
 * support.
 *
 * What is read past the planner and the executor is checked as they would: privileges on the table's columns, row security,
 * whether the index may be used by this snapshot. The function of an index asks iforest_overlap_index() first, which index has
 * these columns; it is NULL where none may be read, and then the function's other half reads the table, by SQL.
 */
#ifndef IFP_PLANNER_OVERLAP_INDEX_H
#define IFP_PLANNER_OVERLAP_INDEX_H

#include "pg_ext/base/engine.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/array.h"

/* The columns of an index as its functions name them: by columns, time, INCLUDE, values, as text[] of names of the table, or
 * expressions; and then their numbers, for a name may have gone from one column to another since, and a number by a dump.
 * And the condition of a partial index, or NULL. With settings as these are made with (ifp_neutral_settings). */
ArrayType *ifp_index_column_texts(Relation heap, Relation index);
char *ifp_index_predicate_text(Relation heap, Relation index);

/* Names and operators mean what they mean in pg_catalog, and constants are written alike in all sessions; until
 * AtEOXact_GUC(true, level). Returns the level. */
int ifp_neutral_settings(void);

/* Raises an error if the current user may not see all rows and columns of the table that the index has; or its ctid. */
void ifp_require_readable(Relation heap, Relation index);

/* May transactions as old as this one read the index; and is it valid, too? */
bool ifp_index_is_old_enough(Relation index);
bool ifp_index_is_usable(Relation index);

/* Of which indexes an index is made up: itself; of a partitioned one those of all leaf partitions. */

struct ifp_overlap_parts {
	List *tables, *indexes; /* OIDs, in pairs; locked with AccessShareLock, until the transaction ends */
	bool has_foreign;	/* and there are partitions elsewhere, of which an index knows nothing */
};

/* Requires  the index and its table to be open and locked. Partitions are those that a query sees now: one that is being
 *           detached is none any more.
 * Raises an error where a partition has no valid index that belongs to this one. The lists are in the current memory context.
 */
struct ifp_overlap_parts ifp_overlap_parts(Relation heap, Relation index);

/* What the planner is told of the functions of an index, which have arms of which one is run.
 *
 * Which series iforest_overlap_spans() is to read: a function in FROM gives all its rows, and they are filtered then. So a
 * condition that a by column is equal to something, or to one of an array, is made arguments of the call as well. It is checked
 * all the same.
 *
 * That the half of an overlap function that reads the table costs nothing while there is an index to read; and the arm that
 * asks of all times nothing where a window is given by parameters. The planner would count them as if they were run, and so
 * compile by JIT, or share between workers, what takes less than a millisecond. When the query begins it is asked which arm
 * answers, whatever was thought of it.
 */

/* Makes the planner do so. Once, when the library is loaded. */
void ifp_overlap_support_register(void);

#endif
