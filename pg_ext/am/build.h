/* am/build.h -- CREATE INDEX: runs from the sorted rows of the table.
 *
 * Entries are sorted by key and written as one run, by several processes if PostgreSQL plans workers (build_sort.h). A single
 * process writes rows that arrive nearly in time order, as is common without by columns, directly: a small buffer orders them
 * into a run of their own, and only the others are sorted.
 *
 * Pages are logged together at the end, not one by one. No lock of storage/locks.h is taken: PostgreSQL's lock on the table
 * blocks writers, and nobody else uses the new index.
 */
#ifndef IFP_AM_BUILD_H
#define IFP_AM_BUILD_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

/* ambuild: fills an empty index. Raises an error if its definition is refused (types/definition.h). */
IndexBuildResult *ifp_build(Relation heap, Relation index, IndexInfo *info);

/* ambuildempty: writes the init fork of an unlogged index. */
void ifp_build_empty(Relation index);

/* ambuildphasename: names a phase for pg_stat_progress_create_index; NULL if it is unknown. */
char *ifp_build_phase_name(int64 phase);

#endif
