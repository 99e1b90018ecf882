/* planner/index_fields.h -- Node schemas with which indexes were built, cached in the backend.
 *
 * Storage parameters may have changed since the index was built. The manifest records the node schema, which stays the same
 * until the index is rebuilt.
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
