/* base/distributed_table.h -- Tables that Citus distributes over servers, read from its catalog. */
#ifndef IFP_BASE_DISTRIBUTED_TABLE_H
#define IFP_BASE_DISTRIBUTED_TABLE_H

#include "pg_ext/base/engine.h"

#include "access/attnum.h"

/* True if the database has Citus. Requires  a transaction. */
bool ifp_has_distributed_tables(void);

/* Returns the column by which a table is distributed, or InvalidAttrNumber if it is not. */
AttrNumber ifp_distribution_column(Oid table);

#endif
