/* am/vacuum.h -- VACUUM: removal of the entries of dead rows. */
#ifndef IFP_AM_VACUUM_H
#define IFP_AM_VACUUM_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

IndexBulkDeleteResult *ifp_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
				       void *state);

IndexBulkDeleteResult *ifp_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif
