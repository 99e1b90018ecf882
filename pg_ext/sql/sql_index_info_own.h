/* sql_index_info_own.h -- Not for others. */
#ifndef IFOREST_PG_SQL_INDEX_INFO_OWN_H
#define IFOREST_PG_SQL_INDEX_INFO_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/sql/index_info.h"

Relation iforest_open_named(Oid oid, LOCKMODE lock_mode, Relation *heap);

/* Raises an error unless the user owns the index or is a member of pg_stat_scan_tables. */
void iforest_may_look(Relation index);

#endif
