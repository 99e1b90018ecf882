/* sql/index_info.h -- SQL functions about one index: merge, check, statistics and pages; opening the index they name.
 *
 * Each function is documented where it is created (sql/pg/iforest--*.sql).
 */
#ifndef IFP_SQL_INDEX_INFO_H
#define IFP_SQL_INDEX_INFO_H

#include "pg_ext/base/engine.h"

#include "fmgr.h"

/* Opens an iforest index that is valid, and its table before it. Raises errors that say what it is otherwise; temporary
 * indexes of other sessions are refused. *heap may be NULL. The first one opens also those that are not valid, and partitioned
 * ones. */
Relation ifp_open_index(Oid oid, LOCKMODE lock_mode, Relation *heap);
/* Also a partitioned one, which holds nothing itself. */
Relation ifp_open_valid_or_partitioned_index(Oid oid, LOCKMODE lock_mode, Relation *heap);
void ifp_close_index(Relation index, Relation heap, LOCKMODE lock_mode);

#endif
