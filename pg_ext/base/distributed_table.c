#include "pg_ext/base/distributed_table.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "nodes/primnodes.h"
#include "nodes/readfuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* Columns of the catalog table. */
enum { CATALOG_TABLE = 1, CATALOG_KEY = 3 };

static const char catalog_name[] = "pg_dist_partition", index_name[] = "pg_dist_partition_logical_relid_index";

static Oid catalog_oid(void)
{
	return get_relname_relid(catalog_name, PG_CATALOG_NAMESPACE);
}

pg_attribute_hot bool ifp_has_distributed_tables(void)
{
	return OidIsValid(catalog_oid());
}

/* Returns the column in a catalog entry, where it is a serialized Var. */
static AttrNumber read_column(Relation catalog, HeapTuple tuple)
{
	bool is_null;
	Datum key = heap_getattr(tuple, CATALOG_KEY, RelationGetDescr(catalog), &is_null);
	Node *column = is_null ? NULL : stringToNode(TextDatumGetCString(key));

	return column && IsA(column, Var) ? castNode(Var, column)->varattno : InvalidAttrNumber;
}

AttrNumber ifp_distribution_column(Oid table)
{
	Oid index = get_relname_relid(index_name, PG_CATALOG_NAMESPACE);
	AttrNumber column = InvalidAttrNumber;
	Relation catalog;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	if (!ifp_has_distributed_tables())
		return InvalidAttrNumber;
	catalog = table_open(catalog_oid(), AccessShareLock);
	ScanKeyInit(&key, CATALOG_TABLE, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(catalog, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		column = read_column(catalog, tuple);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return column;
}
