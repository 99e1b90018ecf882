/* sql/sqlgen_shards.h -- Bodies of an index's functions over a distributed table: each shard is asked, and its rows are handed
 * on.
 *
 * A group lies in one shard alone if the column of the shards is among the by columns, so nothing is left to be merged. The
 * command for a shard has the arguments as literals. It runs in a session of its own, which does not see what the caller has
 * not committed.
 */
#ifndef IFP_SQL_SQLGEN_SHARDS_H
#define IFP_SQL_SQLGEN_SHARDS_H

#include "pg_ext/base/engine.h"

#include "access/tupdesc.h"

/* Stands for the shard in a query; no name has it. */
#define IFP_SHARD "\001"

/* Returns the query with a table in place of the shard. */
char *ifp_of_table(const char *query, const char *table);

/* Returns the body in PL/pgSQL. `table` is quoted and qualified; the arguments $1 ... of the query have these types. */
char *ifp_shards_body(const char *table, const char *query, const Oid *types, TupleDesc columns);

#endif
