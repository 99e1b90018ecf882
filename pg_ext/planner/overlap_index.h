/* overlap_index.h -- which index the overlap function of an index reads, and who may read it.
 *
 * What is read past the planner and the executor is checked as they would: privileges on the table's columns, row security,
 * whether the index may be used by this snapshot. The function of an index asks iforest_overlap_index() first, which index has
 * these columns; it is NULL where none may be read, and then the function's other half reads the table, by SQL.
 */
#ifndef IFOREST_PG_OVERLAP_INDEX_H
#define IFOREST_PG_OVERLAP_INDEX_H

#include "pg_ext/base/engine.h"

#include "nodes/primnodes.h"
#include "utils/array.h"

/* The columns of an index as its functions name them: by columns, time, INCLUDE, values, as text[] of names of the table, or
 * expressions; and then their numbers, for a name may have gone from one column to another since, and a number by a dump.
 * And the condition of a partial index, or NULL. With settings as these are made with (iforest_neutral_settings). */
ArrayType *iforest_column_texts(Relation heap, Relation index);
char *iforest_predicate_text(Relation heap, Relation index);

/* Names and operators mean what they mean in pg_catalog, and constants are written alike in all sessions; until
 * AtEOXact_GUC(true, level). Returns the level. */
int iforest_neutral_settings(void);

/* Raises an error if the current user may not see all rows and columns of the table that the index has; or its ctid. */
void iforest_require_readable(Relation heap, Relation index);

/* May transactions as old as this one read the index; and is it valid, too? */
bool iforest_index_is_old_enough(Relation index);
bool iforest_index_is_usable(Relation index);

#endif
