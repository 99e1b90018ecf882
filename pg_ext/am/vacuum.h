/* am/vacuum.h -- VACUUM: removal of the entries of dead rows.
 *
 * Both functions hold IFP_LOCK_MAINTENANCE. storage/locks.h has the argument why no entry of a dead row is missed.
 */
#ifndef IFP_AM_VACUUM_H
#define IFP_AM_VACUUM_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

/* ambulkdelete: flushes pending entries, calls the callback for every entry of every run, removes the dead ones, and increments
 * the removal epoch, which makes readers restart.
 * Cost      all leaf pages are read; those with dead entries, and the nodes above, are written. */
IndexBulkDeleteResult *ifp_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
				       void *state);

/* amvacuumcleanup: reclaims pages without an owner, merges, updates sketches, and counts. */
IndexBulkDeleteResult *ifp_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif
