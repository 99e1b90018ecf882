#include "pg_ext/base/engine.h"

#include "fmgr.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/event_trigger.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "pg_ext/types/definition_slice.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/am/build.h"

IFOREST_SQL_FUNCTION(iforest_follow_rename);

/* Storage parameters are kept as texts, and are written into dumps as such. An event trigger it is, since whoever renames a
 * column opens no index, which is what loads the library: a hook would not be there yet. */

/* ---- parameters ---- */

static const char *renamed(const char *name, const RenameStmt *rename)
{
	return strcmp(name, rename->subname) == 0 ? rename->newname : name;
}

static void add_name(List **parameters, const char *parameter, const char *name, const RenameStmt *rename)
{
	if (name && renamed(name, rename) != name)
		*parameters = lappend(*parameters, makeDefElem(pstrdup(parameter), (Node *)makeString(rename->newname), -1));
}

static void add_names(List **parameters, const char *parameter, const char *text, const RenameStmt *rename)
{
	StringInfoData by_now;
	List *names;
	ListCell *cell;
	bool is_other = false;

	if (!text || !SplitIdentifierString(pstrdup(text), ',', &names))
		return;
	initStringInfo(&by_now);
	foreach(cell, names) {
		const char *name = renamed(lfirst(cell), rename);

		is_other |= name != lfirst(cell);
		appendStringInfo(&by_now, "%s%s", by_now.len > 0 ? ", " : "", quote_identifier(name));
	}
	if (is_other)
		*parameters = lappend(*parameters, makeDefElem(pstrdup(parameter), (Node *)makeString(by_now.data), -1));
}

/* Those that have named the column, as they are to be; as DefElem. */
static List *parameters_by_now(Relation index, const RenameStmt *rename)
{
	const struct iforest_options *options = (const struct iforest_options *)index->rd_options;
	List *parameters = NIL;

	add_name(&parameters, "duration", iforest_option_string(options, duration), rename);
	add_name(&parameters, "end", iforest_option_string(options, end), rename);
	add_names(&parameters, "variance", iforest_option_string(options, variance), rename);
	add_names(&parameters, "sketch", iforest_option_string(options, sketch), rename);
	return parameters;
}

/* As ALTER INDEX would, which does not change those of a partitioned index. */
static void set_parameters(Oid index, List *parameters)
{
	Relation classes = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(index));
	int column = Anum_pg_class_reloptions;
	bool is_null;
	Datum texts = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &is_null);

	texts = transformRelOptions(is_null ? (Datum)0 : texts, parameters, NULL, NULL, false, false);
	is_null = false;
	tuple = heap_modify_tuple_by_cols(tuple, RelationGetDescr(classes), 1, &column, &texts, &is_null);
	CatalogTupleUpdate(classes, &tuple->t_self, tuple);
	table_close(classes, RowExclusiveLock);
}

/* ---- indexes ---- */

/* What others do to the index itself comes before or after; who reads it locks its table first, which is locked. */
static void follow_in_index(Oid oid, const RenameStmt *rename)
{
	Relation index = index_open(oid, AccessShareLock);
	List *parameters = NIL;

	if (index->rd_indam->ambuild == iforest_build) {
		LockRelation(index, ShareUpdateExclusiveLock);
		if (iforest_value_named(index, rename->newname) >= 0)
			parameters = parameters_by_now(index, rename);
	}
	if (parameters)
		set_parameters(oid, parameters);
	index_close(index, NoLock);
}

static void follow_in_table(Oid table, const RenameStmt *rename)
{
	Relation heap = relation_open(table, NoLock);
	List *indexes = RelationGetIndexList(heap);
	ListCell *cell;

	foreach(cell, indexes)
		follow_in_index(lfirst_oid(cell), rename);
	list_free(indexes);
	relation_close(heap, NoLock);
}

/* Tables that inherit the column have it under the same name, and were locked to rename it there. */
static void follow(const RenameStmt *rename)
{
	Oid table = RangeVarGetRelid(rename->relation, NoLock, true);
	ListCell *cell;

	if (!OidIsValid(table))
		return;
	foreach(cell, find_all_inheritors(table, NoLock, NULL))
		follow_in_table(lfirst_oid(cell), rename);
}

Datum iforest_follow_rename(PG_FUNCTION_ARGS)
{
	Node *command;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR, errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
			errmsg("iforest_follow_rename() is for an event trigger"));
	command = ((EventTriggerData *)fcinfo->context)->parsetree;
	if (IsA(command, RenameStmt) && castNode(RenameStmt, command)->renameType == OBJECT_COLUMN)
		follow(castNode(RenameStmt, command));
	PG_RETURN_NULL();
}
