/* sketch_shelf.h -- the sketches that an index with sketch = '...' keeps of whole nodes: core/query/sketch_scan.h asks for them, and
 * sketch_pages.h has them. */
#ifndef IFP_STORAGE_SIDECAR_H
#define IFP_STORAGE_SIDECAR_H

#include "core/query/sketch_scan.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/storage/index.h"

struct iforest_sketches;

/* A shelf for one reading of an index, whose manifest must stay as it is. In the current memory context. */
struct iforest_sketches *iforest_shelf_begin(struct iforest_index *index);

/* What iforest_scan_sketch() takes: only `get` is there. */
struct iforest_shelf iforest_shelf_of_reader(struct iforest_sketches *shelf);

/* Keeps what is not there yet of the runs of the worklist (in a build: of all). Does nothing without sketch = '...'.
 * Requires  the maintenance lock, or a build.
 * Cost  a look at the top nodes of runs that did not change; every leaf page under nodes that did. */
void iforest_shelf_keep(struct iforest_index *index);

/* Is each sketch that is kept the one of its node? Raises "corrupt" errors. Requires that no run is removed from meanwhile.
 * Cost  reads all leaf pages once for each level of nodes. */
void iforest_shelf_check(struct iforest_index *index);

#endif
