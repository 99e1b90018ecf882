/* aggregate_node.h -- Custom Scan (IForestAggregate). */
#ifndef IFOREST_PG_AGGREGATE_NODE_H
#define IFOREST_PG_AGGREGATE_NODE_H

#include "pg_ext/base/engine.h"

/* Registers the node, under the name by which its path finds it; once, when the library is loaded. */
void iforest_aggregate_node_register(void);

#endif
