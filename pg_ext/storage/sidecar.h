/* storage/sidecar.h -- Sketches kept of whole nodes, on pages behind their run. */
#ifndef IFP_STORAGE_SIDECAR_H
#define IFP_STORAGE_SIDECAR_H

#include "core/query/sketch_scan.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/storage/index.h"

struct ifp_sketch_sidecar;

/* A shelf for one reading of an index, whose manifest must stay as it is. In the current memory context. */
struct ifp_sketch_sidecar *ifp_sidecar_open(struct ifp_index *index);

/* What iforest_scan_sketch() takes: only `get` is there. */
struct iforest_sidecar ifp_sidecar_for_reader(struct ifp_sketch_sidecar *shelf);

/* Keeps what is not there yet of the runs of the worklist (in a build: of all). Does nothing without sketch = '...'.
 * Requires  the maintenance lock, or a build.
 * Cost  a look at the top nodes of runs that did not change; every leaf page under nodes that did. */
void ifp_sidecar_keep(struct ifp_index *index);

/* Is each sketch that is kept the one of its node? Raises "corrupt" errors. Requires that no run is removed from meanwhile.
 * Cost  reads all leaf pages once for each level of nodes. */
void ifp_sidecar_check(struct ifp_index *index);

#endif
