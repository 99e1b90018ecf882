/* planner/index_fields.h -- Node schemas with which indexes were built, kept by a backend.
 *
 * Storage parameters may be newer than the index: what its nodes hold is written in the manifest, and stays as it is until the
 * index is built anew.
 */
#ifndef IFP_PLANNER_INDEX_FIELDS_H
#define IFP_PLANNER_INDEX_FIELDS_H

#include "pg_ext/base/engine.h"

#include "core/page/node.h"

/* Returns the schema of an index; valid until the next call.
 * Requires  a lock on the index.
 * Cost      reads the metapage; the manifest only the first time. */
const struct iforest_node_schema *ifp_index_fields(Oid index);

#endif
