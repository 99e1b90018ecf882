#include "pg_ext/planner/overlap_parts.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg_ext/base/test_points.h"

/* Seen as of one moment: REINDEX CONCURRENTLY puts another index in the place of one, and what the caches know of either may be
 * of before or after it. The one found is kept up to date for as long as its table is locked, also where it has been
 * replaced. */
struct catalogs {
	Snapshot snapshot;
	Relation inherits, indexes;
};

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

static Oid parent_of(Relation inherits, Oid child, Snapshot snapshot)
{
	Oid parent = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(child));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		parent = ((Form_pg_inherits)GETSTRUCT(tuple))->inhparent;
	systable_endscan(scan);
	return parent;
}

static bool is_part_of(struct catalogs *catalogs, Oid part, Oid index)
{
	while (OidIsValid(part) && part != index)
		part = parent_of(catalogs->inherits, part, catalogs->snapshot);
	return OidIsValid(part);
}

/* The index of the partition that is a part of that one. */
static Oid find_part(struct catalogs *catalogs, Relation index, Relation partition)
{
	Oid found = InvalidOid, invalid = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
		    ObjectIdGetDatum(RelationGetRelid(partition)));
	scan = systable_beginscan(catalogs->indexes, IndexIndrelidIndexId, true, catalogs->snapshot, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
		Form_pg_index candidate = (Form_pg_index)GETSTRUCT(tuple);

		iforest_pause("index of a partition read");
		if (is_part_of(catalogs, candidate->indexrelid, RelationGetRelid(index)))
			*(candidate->indisvalid ? &found : &invalid) = candidate->indexrelid;
	}
	systable_endscan(scan);
	if (!OidIsValid(found))
		refuse(index, partition, invalid);
	return found;
}

static void add_partition(struct iforest_overlap_parts *parts, struct catalogs *catalogs, Relation index, Oid table)
{
	Relation partition = table_open(table, NoLock);

	if (partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE) {
		parts->has_foreign = true;
	} else if (partition->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) {
		parts->indexes = lappend_oid(parts->indexes, find_part(catalogs, index, partition));
		parts->tables = lappend_oid(parts->tables, table);
	}
	table_close(partition, NoLock);
}

struct iforest_overlap_parts iforest_overlap_parts(Relation heap, Relation index)
{
	struct iforest_overlap_parts parts = { .tables = NIL };
	struct catalogs catalogs;
	List *tables;
	ListCell *cell;

	if (index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX) {
		parts.tables = list_make1_oid(RelationGetRelid(heap));
		parts.indexes = list_make1_oid(RelationGetRelid(index));
		return parts;
	}
	tables = find_all_inheritors(RelationGetRelid(heap), AccessShareLock, NULL);
	catalogs = (struct catalogs){ .snapshot = RegisterSnapshot(GetCatalogSnapshot(InheritsRelationId)),
				      .inherits = table_open(InheritsRelationId, AccessShareLock),
				      .indexes = table_open(IndexRelationId, AccessShareLock) };
	foreach(cell, tables)
		add_partition(&parts, &catalogs, index, lfirst_oid(cell));
	table_close(catalogs.indexes, AccessShareLock);
	table_close(catalogs.inherits, AccessShareLock);
	UnregisterSnapshot(catalogs.snapshot);
	list_free(tables);
	return parts;
}
