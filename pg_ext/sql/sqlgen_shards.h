/* sql/sqlgen_shards.h -- Bodies of an index's functions on a distributed table, which return the rows of each shard.
 *
 * If the distribution column is among the by columns, each group is in one shard, so nothing needs to be merged. The command
 * for a shard has the arguments as literals. It runs in its own session, which does not see the caller's uncommitted changes.
 */
#ifndef IFP_SQL_SQLGEN_SHARDS_H
#define IFP_SQL_SQLGEN_SHARDS_H

#include "pg_ext/base/engine.h"

#include "access/tupdesc.h"

/* Placeholder for the shard in a query. An index with this character in a name or expression has no such functions. */
#define IFP_SHARD "\001"

/* Returns the query with the placeholder replaced by a table. */
char *ifp_of_table(const char *query, const char *table);

/* Returns the PL/pgSQL body. `table` is quoted and qualified; `types` are those of the query's arguments $1 ... */
char *ifp_shards_body(const char *table, const char *query, const Oid *types, TupleDesc columns);

#endif
