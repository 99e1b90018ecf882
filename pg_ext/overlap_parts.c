#include "pg_ext/overlap_parts.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

static void refuse(Relation index, Relation partition, Oid invalid)
{
	ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		errmsg("partition \"%s\" has no valid index that belongs to \"%s\"", RelationGetRelationName(partition),
		       RelationGetRelationName(index)),
		OidIsValid(invalid)
			? errhint("REINDEX INDEX %s. With iforest.enable = off the tables are read.", get_rel_name(invalid))
			: errhint("CREATE INDEX there, and ALTER INDEX %s ATTACH PARTITION. With iforest.enable = off the "
				  "tables are read.", RelationGetRelationName(index)));
}

/* The valid index of the partition that is one of those; an *invalid one. */
static Oid find_member(Relation partition, const List *members, Oid *invalid)
{
	List *own = RelationGetIndexList(partition);
	Oid found = InvalidOid;
	ListCell *cell;

	foreach(cell, own) {
		Relation candidate;

		if (!list_member_oid(members, lfirst_oid(cell)))
			continue;
		candidate = index_open(lfirst_oid(cell), AccessShareLock);
		*(candidate->rd_index->indisvalid ? &found : invalid) = lfirst_oid(cell);
		index_close(candidate, NoLock);
	}
	list_free(own);
	return found;
}

/* REINDEX CONCURRENTLY may have put another index in the place of the one looked for: but once, since who does it again waits
 * for those that have a lock on the partition. */
static Oid find_index(Relation index, Relation partition, List **members)
{
	Oid invalid = InvalidOid, found = find_member(partition, *members, &invalid);

	if (!OidIsValid(found)) {
		AcceptInvalidationMessages();
		list_free(*members);
		*members = find_all_inheritors(RelationGetRelid(index), NoLock, NULL);
		invalid = InvalidOid;
		found = find_member(partition, *members, &invalid);
	}
	if (!OidIsValid(found))
		refuse(index, partition, invalid);
	return found;
}

static void add_partition(struct iforest_overlap_parts *parts, Relation index, Oid table, List **members)
{
	Relation partition = table_open(table, NoLock);

	if (partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE) {
		parts->has_foreign = true;
	} else if (partition->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) {
		parts->indexes = lappend_oid(parts->indexes, find_index(index, partition, members));
		parts->tables = lappend_oid(parts->tables, table);
	}
	table_close(partition, NoLock);
}

struct iforest_overlap_parts iforest_overlap_parts(Relation heap, Relation index)
{
	struct iforest_overlap_parts parts = { .tables = NIL };
	List *tables, *members;
	ListCell *cell;

	if (index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX) {
		parts.tables = list_make1_oid(RelationGetRelid(heap));
		parts.indexes = list_make1_oid(RelationGetRelid(index));
		return parts;
	}
	tables = find_all_inheritors(RelationGetRelid(heap), AccessShareLock, NULL);
	members = find_all_inheritors(RelationGetRelid(index), NoLock, NULL);
	foreach(cell, tables)
		add_partition(&parts, index, lfirst_oid(cell), &members);
	list_free(tables);
	list_free(members);
	return parts;
}
