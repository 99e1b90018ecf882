/* sql/index_info.h -- SQL functions on one index: merge, check, statistics and pages; opening the index that they name.
 *
 * Each SQL function is documented where it is created (sql/pg/iforest--*.sql).
 */
#ifndef IFP_SQL_INDEX_INFO_H
#define IFP_SQL_INDEX_INFO_H

#include "pg_ext/base/engine.h"

#include "fmgr.h"

/* Opens an iforest index, also a partitioned or invalid one, and its table before it. Raises an error for any other relation
 * and for temporary indexes of other sessions. */
Relation ifp_open_index(Oid oid, LOCKMODE lock_mode, Relation *heap);

/* As ifp_open_index(), and raises an error if the index is not valid. */
Relation ifp_open_valid_or_partitioned_index(Oid oid, LOCKMODE lock_mode, Relation *heap);

/* Closes index and table, and releases locks of that mode; NoLock keeps them. */
void ifp_close_index(Relation index, Relation heap, LOCKMODE lock_mode);

#endif
