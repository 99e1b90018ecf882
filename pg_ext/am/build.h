/* am/build.h -- CREATE INDEX: runs from the sorted rows of the table.
 *
 * Entries are sorted by key and written as one run, by several processes where PostgreSQL plans for workers (build_sort.h).
 * One process alone writes rows that come nearly in time order, as those of an index without by columns often do, at once: they
 * are put in order by a small buffer and become a run of their own; only the others are sorted.
 *
 * Pages are not logged one by one but as a whole at the end. No lock of storage/locks.h is taken: PostgreSQL holds a lock on
 * the table that keeps writers away, and nobody else uses the new index.
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
