#include "pg_ext/base/engine.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "pg_ext/am/altered.h"
#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "pg_ext/types/definition_slice.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/am/build.h"

static object_access_hook_type previous_hook;

/* The parameters as they are by now, which the command that changes them does not see yet; NULL: none. */
static bytea *options_by_now(Oid index)
{
	Relation classes = table_open(RelationRelationId, AccessShareLock);
	bytea *options = NULL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(index));
	scan = systable_beginscan(classes, ClassOidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple)) {
		bool is_null;
		Datum texts = heap_getattr(tuple, Anum_pg_class_reloptions, RelationGetDescr(classes), &is_null);

		options = is_null ? NULL : iforest_options_parse(texts, false);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return options;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Is nothing changed that has to do with columns? What has become wrong by itself is no reason to refuse something else. */
static bool name_the_same(const struct iforest_options *a, const struct iforest_options *b)
{
	return is_same(iforest_option_string(a, duration), iforest_option_string(b, duration)) &&
	       is_same(iforest_option_string(a, end), iforest_option_string(b, end)) &&
	       is_same(iforest_option_string(a, variance), iforest_option_string(b, variance)) &&
	       is_same(iforest_option_string(a, sketch), iforest_option_string(b, sketch)) &&
	       (a ? a->duration_unit : IFOREST_UNIT_OF_TIME) == (b ? b->duration_unit : IFOREST_UNIT_OF_TIME);
}

static void check(Relation index)
{
	RelationData altered = *index;
	struct iforest_definition definition;
	struct iforest_fields fields;

	altered.rd_options = options_by_now(RelationGetRelid(index));
	if (name_the_same((const struct iforest_options *)index->rd_options,
			  (const struct iforest_options *)altered.rd_options))
		return;
	iforest_definition_read(&altered, &definition);
	iforest_definition_check_columns(&altered, &definition, &fields);
}

static void see(ObjectAccessType access, Oid class, Oid object, int column, void *argument)
{
	Relation index;

	if (previous_hook)
		previous_hook(access, class, object, column, argument);
	if (access != OAT_POST_ALTER || class != RelationRelationId || column != 0 || get_rel_relkind(object) != RELKIND_INDEX)
		return;
	index = RelationIdGetRelation(object);
	if (!RelationIsValid(index))
		return;
	if (index->rd_indam && index->rd_indam->ambuild == iforest_build)
		check(index);
	RelationClose(index);
}

void iforest_altered_register(void)
{
	previous_hook = object_access_hook;
	object_access_hook = see;
}
