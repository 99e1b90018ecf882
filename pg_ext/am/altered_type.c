#include "pg_ext/am/altered_type.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "pg_ext/am/build.h"
#include "pg_ext/types/definition.h"

struct column_type {
	Oid type, collation;
	int32 typmod;
};

/* Reads the new type, which is not yet visible to the command that alters it. Returns false if there is no such column. */
static bool read_type(Oid table, AttrNumber column, struct column_type *now)
{
	Relation attributes = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple tuple;
	bool found;

	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(column));
	scan = systable_beginscan(attributes, AttributeRelidNumIndexId, true, SnapshotSelf, 2, keys);
	tuple = systable_getnext(scan);
	found = HeapTupleIsValid(tuple);
	if (found) {
		Form_pg_attribute form = (Form_pg_attribute)GETSTRUCT(tuple);

		*now = (struct column_type){ form->atttypid, form->attcollation, form->atttypmod };
	}
	systable_endscan(scan);
	table_close(attributes, AccessShareLock);
	return found;
}

static bool can_hold(bool is_value, const struct column_type *now)
{
	if (!is_value)
		return ifp_is_by_type(now->type, now->typmod);
	return ifp_is_value_type(now->type, now->typmod) &&
	       (!ifp_is_key_type(now->type) || !OidIsValid(now->collation) || get_collation_isdeterministic(now->collation));
}

/* Checks one column of an index, unless its type is what it was. */
static void check_attribute(Relation index, int i, const struct column_type *now)
{
	Form_pg_attribute before = TupleDescAttr(RelationGetDescr(index), i);
	int time = IndexRelationGetNumberOfKeyAttributes(index) - 1;

	if ((before->atttypid == now->type && before->atttypmod == now->typmod && before->attcollation == now->collation) ||
	    i == time || can_hold(i > time, now))
		return;
	ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		errmsg("cannot alter type of column \"%s\" to %s because index \"%s\" cannot hold it", NameStr(before->attname),
		       format_type_with_typemod(now->type, now->typmod), RelationGetRelationName(index)),
		now->type == NUMERICOID
			? errhint("Alter it to numeric(p, s) with p at most %d, or drop the index first.", IFP_MOST_DIGITS)
			: errhint("Drop the index first."));
}

static void check_index(Relation index, AttrNumber column, const struct column_type *now)
{
	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
		if (index->rd_index->indkey.values[i] == column)
			check_attribute(index, i, now);
}

void ifp_altered_type_check(Oid table, AttrNumber column)
{
	Relation relation = RelationIdGetRelation(table);
	struct column_type now;
	ListCell *cell;

	if (!RelationIsValid(relation))
		return;
	foreach (cell, RelationGetIndexList(relation)) {
		Relation index = RelationIdGetRelation(lfirst_oid(cell));

		if (!RelationIsValid(index))
			continue;
		if (index->rd_indam && index->rd_indam->ambuild == ifp_build && read_type(table, column, &now))
			check_index(index, column, &now);
		RelationClose(index);
	}
	RelationClose(relation);
}
