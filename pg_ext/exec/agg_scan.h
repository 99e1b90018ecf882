/* exec/agg_scan.h -- Executor node of Custom Scan (IForestAggregate), bucket by bucket over indexes and series. */
#ifndef IFP_EXEC_AGG_SCAN_H
#define IFP_EXEC_AGG_SCAN_H

#include "pg_ext/base/engine.h"

/* Registers the node, under the name by which its path finds it; once, when the library is loaded. */
void ifp_agg_scan_register(void);

#endif
