/* planner/overlap_index.h -- Choice of the index that an overlap function reads, with permission checks and planner support.
 *
 * The overlap function of an index (sql/sqlgen_overlap.h) has two arms. It first calls iforest_overlap_index(), which returns
 * the index with these columns, or NULL if none may be read. With an index it reads iforest_overlap_spans(), otherwise it reads
 * the table by SQL.
 *
 * This bypasses the planner and the executor, so their checks are repeated here: privileges on the table's columns, row
 * security, and whether this snapshot may use the index.
 *
 * Planner support:
 * - A function in FROM returns all its rows, which are filtered afterwards. Conditions "by column = value" and "by column = ANY
 *   (array)" are also passed to iforest_overlap_spans() as arguments, so that it reads only matching series. They are still
 *   checked.
 * - Arms that will not run cost nothing: the arm that reads the table if there is an index, and the arm over all times if
 * parameters give a window. Otherwise the planner would count them as run, and use JIT or parallel workers for a query of less
 * than a millisecond. Whatever the estimate, execution decides which arm runs.
 */
#ifndef IFP_PLANNER_OVERLAP_INDEX_H
#define IFP_PLANNER_OVERLAP_INDEX_H

#include "pg_ext/base/engine.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/array.h"

/* Sets parameters so that names and operators resolve to those of pg_catalog and constants are written the same way in all
 * sessions. Returns the level; AtEOXact_GUC(true, level) restores them. */
int ifp_neutral_settings(void);

/* Returns the columns of an index as its functions name them, as text[]: by columns, time, INCLUDE, values, each a name in the
 * table or an expression; then their numbers. A name may since belong to another column, and a dump changes numbers.
 * Requires  ifp_neutral_settings(), if the index has expressions. */
ArrayType *ifp_index_column_texts(Relation heap, Relation index);

/* Returns the condition of a partial index, or NULL.
 * Requires  ifp_neutral_settings(), if there is one. */
char *ifp_index_predicate_text(Relation heap, Relation index);

/* Raises an error unless the current user may read all rows of the table, the columns in the index, and ctid. */
void ifp_require_readable(Relation heap, Relation index);

/* True if transactions as old as this one may read the index. ifp_index_is_usable() also requires that it is valid. */
bool ifp_index_is_old_enough(Relation index);
bool ifp_index_is_usable(Relation index);

/* The indexes that hold the entries of an index: itself, or those of all leaf partitions. */
struct ifp_overlap_parts {
	List *tables, *indexes; /* OIDs, in pairs; locked with AccessShareLock until the transaction ends */
	bool has_foreign;	/* there are also foreign partitions, which no index covers */
};

/* Finds the parts of an index, in the current memory context. Partitions are those that a query sees now, without any that is
 * being detached. Raises an error if a partition has no valid index that belongs to this one.
 * Requires  the index and its table are open and locked. */
struct ifp_overlap_parts ifp_overlap_parts(Relation heap, Relation index);

/* Supports the planning of a function or a subquery in FROM, once it has its paths. */
void ifp_overlap_index_consider(PlannerInfo *root, RelOptInfo *rel, Index number, RangeTblEntry *table);

#endif
