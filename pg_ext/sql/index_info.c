#include "pg_ext/sql/index_info.h"

#include "access/amapi.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "pg_ext/storage/compact.h"
#include "pg_ext/storage/sidecar.h"
#include "pg_ext/am/build.h"
#include "pg_ext/sql/sql_index_info_own.h"

static Relation open_index(Oid oid, LOCKMODE lock_mode, bool or_partitioned, Relation *heap)
{
	Oid heap_oid = IndexGetRelation(oid, true);
	Relation table = OidIsValid(heap_oid) ? try_table_open(heap_oid, lock_mode) : NULL;
	Relation index = try_relation_open(oid, lock_mode);
	bool is_partitioned, is_index;

	if (!index)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no relation with OID %u", oid));
	is_partitioned = index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
	is_index = index->rd_rel->relkind == RELKIND_INDEX || (is_partitioned && or_partitioned);
	if (!is_index || !table || index->rd_indam->ambuild != iforest_build)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
			errmsg("\"%s\" is not an iforest index", RelationGetRelationName(index)),
			is_partitioned && !or_partitioned
				? errhint("A partitioned index holds nothing itself; name the index of a partition.") : 0);
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("\"%s\" is a temporary index of another session", RelationGetRelationName(index)));
	if (heap)
		*heap = table;
	return index;
}

static Relation open_valid(Oid oid, LOCKMODE lock_mode, bool or_partitioned, Relation *heap)
{
	Relation index = open_index(oid, lock_mode, or_partitioned, heap);

	if (!index->rd_index->indisvalid)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
			index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX ?
				errhint("A partition lacks the index: CREATE INDEX there, and ALTER INDEX ... ATTACH "
					"PARTITION.") :
				errhint("REINDEX INDEX or DROP INDEX: a concurrent build of it was cut off."));
	return index;
}

Relation iforest_open_iforest(Oid oid, LOCKMODE lock_mode, Relation *heap)
{
	return open_index(oid, lock_mode, true, heap);
}

Relation iforest_open_named(Oid oid, LOCKMODE lock_mode, Relation *heap)
{
	return open_valid(oid, lock_mode, false, heap);
}

Relation iforest_open_named_or_partitioned(Oid oid, LOCKMODE lock_mode, Relation *heap)
{
	return open_valid(oid, lock_mode, true, heap);
}

void iforest_close_named(Relation index, Relation heap, LOCKMODE lock_mode)
{
	relation_close(index, lock_mode);
	table_close(heap, lock_mode);
}

void iforest_may_look(Relation index)
{
	if (!iforest_owns_class(RelationGetRelid(index)) && !has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
}

IFOREST_SQL_FUNCTION(iforest_merge_index);

Datum iforest_merge_index(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	bool complete = PG_GETARG_BOOL(1);
	struct iforest_index *index = palloc(sizeof *index);
	Relation relation, heap;
	uint32 n_runs;

	if (RecoveryInProgress())
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("recovery is in progress"),
			errhint("Merge on the primary; the standby follows."));
	relation = iforest_open_named(oid, RowExclusiveLock, &heap);
	if (!iforest_owns_class(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(relation));
	iforest_index_open(index, relation);
	(void)iforest_maintenance_begin(index, true);
	/* first what earlier attempts left, and then what this one does */
	iforest_reclaim(index);
	iforest_merge_all(index, complete);
	iforest_reclaim(index);
	iforest_shelf_keep(index);
	n_runs = index->manifest.n_runs;
	iforest_maintenance_end(index);
	iforest_close_named(relation, heap, RowExclusiveLock);
	PG_RETURN_INT32((int32)n_runs);
}
