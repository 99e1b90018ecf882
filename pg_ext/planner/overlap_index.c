#include "pg_ext/planner/overlap_index.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/readfuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pg_ext/am/build.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/base/known_functions.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/planner/query_match.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/types/definition.h"

/* ---- parts ---- */

/* The catalogs under one snapshot. REINDEX CONCURRENTLY replaces an index by another, and the caches may show either state of
 * each. The index found is maintained while its table is locked, even if it has been replaced. */
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
				  "tables are read.",
				  RelationGetRelationName(index)));
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

/* Finds the partition's index that belongs to the index. Raises an error if there is no valid one. */
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

		ifp_test_point("index of a partition read");
		if (is_part_of(catalogs, candidate->indexrelid, RelationGetRelid(index)))
			*(candidate->indisvalid ? &found : &invalid) = candidate->indexrelid;
	}
	systable_endscan(scan);
	if (!OidIsValid(found))
		refuse(index, partition, invalid);
	return found;
}

static void add_partition(struct ifp_overlap_parts *parts, struct catalogs *catalogs, Relation index, Oid table)
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

struct ifp_overlap_parts ifp_overlap_parts(Relation heap, Relation index)
{
	struct ifp_overlap_parts parts = { .tables = NIL };
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
	foreach (cell, tables)
		add_partition(&parts, &catalogs, index, lfirst_oid(cell));
	table_close(catalogs.indexes, AccessShareLock);
	table_close(catalogs.inherits, AccessShareLock);
	UnregisterSnapshot(catalogs.snapshot);
	list_free(tables);
	return parts;
}

IFP_SQL_FUNCTION(iforest_overlap_index);
IFP_SQL_FUNCTION(iforest_overlap_index_support);

/* ---- columns as text ---- */

int ifp_neutral_settings(void)
{
	static const char *const settings[][2] = {
		{ "search_path", "pg_catalog, pg_temp" }, { "TimeZone", "UTC" },	 { "DateStyle", "ISO, MDY" },
		{ "IntervalStyle", "postgres" },	  { "extra_float_digits", "1" }, { "bytea_output", "hex" },
		{ "quote_all_identifiers", "off" }
	};
	int level = NewGUCNestLevel();

	for (size_t i = 0; i < lengthof(settings); i++)
		(void)set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
					false);
	return level;
}

/* Returns an expression list or the condition of the index as it was given; NULL if there is none. The relation cache would fold
 * constant calls, and so run code of the index's owner with the rights of whoever calls. */
static Node *as_given(Relation index, AttrNumber column)
{
	bool is_null;
	Datum nodes = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, column, &is_null);

	return is_null ? NULL : stringToNode(TextDatumGetCString(nodes));
}

/* Returns the table's columns in the index and in its condition, and ctid, as the planner numbers them. */
static Bitmapset *columns_read(Relation index)
{
	Bitmapset *columns = bms_make_singleton(SelfItemPointerAttributeNumber - FirstLowInvalidHeapAttributeNumber);

	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
		if (index->rd_index->indkey.values[i] != 0)
			columns =
				bms_add_member(columns, index->rd_index->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos(as_given(index, Anum_pg_index_indexprs), 1, &columns);
	pull_varattnos(as_given(index, Anum_pg_index_indpred), 1, &columns);
	return columns;
}

/* Returns the numbers of the index's columns in the table, and of all columns in its expressions and condition. */
static char *column_numbers(Relation index)
{
	Bitmapset *read = columns_read(index);
	StringInfoData text;
	int column = -1;

	initStringInfo(&text);
	for (int i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
		appendStringInfo(&text, "%d ", index->rd_index->indkey.values[i]);
	while ((column = bms_next_member(read, column)) >= 0)
		appendStringInfo(&text, " %d", column + FirstLowInvalidHeapAttributeNumber);
	return text.data;
}

ArrayType *ifp_index_column_texts(Relation heap, Relation index)
{
	int n = IndexRelationGetNumberOfAttributes(index), n_keys = IndexRelationGetNumberOfKeyAttributes(index);
	Datum *texts = palloc((n + 2) * sizeof *texts);

	for (int i = 0; i < n; i++) {
		AttrNumber attribute = index->rd_index->indkey.values[i];

		texts[i + (i >= n_keys)] =
			CStringGetTextDatum(attribute ? quote_identifier(get_attname(RelationGetRelid(heap), attribute, false))
						      : ifp_column_expression(RelationGetRelid(index), i + 1));
	}
	/* INCLUDE is a separator: a column of this name would be quoted */
	texts[n_keys] = CStringGetTextDatum("INCLUDE");
	texts[n + 1] = CStringGetTextDatum(column_numbers(index));
	return construct_array(texts, n + 2, TEXTOID, -1, false, TYPALIGN_INT);
}

char *ifp_index_predicate_text(Relation heap, Relation index)
{
	bool is_null;
	Datum predicate = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, Anum_pg_index_indpred, &is_null);

	return is_null ? NULL
		       : TextDatumGetCString(OidFunctionCall2(F_PG_GET_EXPR_PG_NODE_TREE_OID, predicate,
							      ObjectIdGetDatum(RelationGetRelid(heap))));
}

/* ---- permissions ---- */

static bool may_select(Relation heap, Relation index)
{
	Oid table = RelationGetRelid(heap), user = GetUserId();
	Bitmapset *columns;
	int column = -1;

	if (pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK)
		return true;
	columns = columns_read(index);
	while ((column = bms_next_member(columns, column)) >= 0) {
		AttrNumber attribute = (AttrNumber)(column + FirstLowInvalidHeapAttributeNumber);

		if (attribute == InvalidAttrNumber
			    ? pg_attribute_aclcheck_all(table, user, ACL_SELECT, ACLMASK_ALL) != ACLCHECK_OK
			    : pg_attribute_aclcheck(table, attribute, user, ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

static bool has_row_security(Relation heap)
{
	return check_enable_rls(RelationGetRelid(heap), InvalidOid, true) == RLS_ENABLED;
}

void ifp_require_readable(Relation heap, Relation index)
{
	if (!may_select(heap, index))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(heap));
	if (has_row_security(heap))
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			errmsg("row security of table \"%s\" applies to this user, and an index knows nothing of it",
			       RelationGetRelationName(heap)),
			errhint("Call the function of the index that iforest_create_functions() makes; it reads the table "
				"then."));
}

bool ifp_index_is_old_enough(Relation index)
{
	return !index->rd_index->indcheckxmin ||
	       TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin);
}

bool ifp_index_is_usable(Relation index)
{
	return index->rd_index->indisvalid && ifp_index_is_old_enough(index);
}

/* ---- choice of the index ---- */

static bool is_partitioned(Relation relation)
{
	return relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || relation->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
}

/* True if an index of this table holds exactly the rows that a query of it sees. */
static bool has_own_rows(Relation heap)
{
	if (RELATION_IS_OTHER_TEMP(heap) || has_row_security(heap))
		return false;
	return is_partitioned(heap) ||
	       ((heap->rd_rel->relkind == RELKIND_RELATION || heap->rd_rel->relkind == RELKIND_MATVIEW) &&
		(!heap->rd_rel->relhassubclass || find_inheritance_children(RelationGetRelid(heap), NoLock) == NIL));
}

/* True if this value of the index is the duration; for -1, if it has none. Its validity was checked when it was found; REINDEX
 * CONCURRENTLY may have changed that since. */
static bool is_of_durations(Oid oid, int value)
{
	Relation relation = index_open(oid, AccessShareLock);
	bool is_usable = ifp_index_is_old_enough(relation);

	if (is_usable) {
		struct ifp_index *index = palloc(sizeof *index);

		ifp_index_open(index, relation);
		ifp_index_refresh(index);
		is_usable = value < 0 ? index->manifest.fields.duration_value == IFOREST_NO_VALUE
				      : index->manifest.fields.duration_value == value &&
						index->manifest.fields.end_rule == IFOREST_END_DURATION;
	}
	index_close(relation, NoLock);
	return is_usable;
}

/* True if each part of the index can be read. Parameters may differ between the parts. */
static bool are_of_durations(Relation heap, Relation index, int value)
{
	struct ifp_overlap_parts parts = ifp_overlap_parts(heap, index);
	MemoryContext of_part = AllocSetContextCreate(CurrentMemoryContext, "iforest part", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(of_part);
	bool are = !parts.has_foreign;
	ListCell *cell;

	foreach (cell, parts.indexes) {
		CHECK_FOR_INTERRUPTS();
		are = are && is_of_durations(lfirst_oid(cell), value);
		MemoryContextReset(of_part);
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(of_part);
	return are;
}

static bool has_foreign_partitions(Relation heap)
{
	List *tables = find_all_inheritors(RelationGetRelid(heap), AccessShareLock, NULL);
	bool has = false;
	ListCell *cell;

	foreach (cell, tables)
		has = has || get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE;
	list_free(tables);
	return has;
}

static bool knows_by_values(Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index) - 1; i++)
		if (!ifp_is_by_type(TupleDescAttr(RelationGetDescr(index), i)->atttypid,
				    TupleDescAttr(RelationGetDescr(index), i)->atttypmod))
			return false;
	return true;
}

/* The arguments of a call of iforest_overlap_index(). */
struct request {
	ArrayType *columns;
	const char *predicate;
	int duration;
	bool is_estimate; /* the indexes of partitions are assumed to be in order */
};

static bool is_wanted(Relation heap, Relation index, const struct request *request)
{
	const char *predicate = request->predicate;
	bool has_expressions = predicate || !heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL);
	char *own_predicate;
	bool is_same;
	int level = 0;

	/* another user than the one who opened a cursor and was checked may read it: then the table is read */
	if (index->rd_indam->ambuild != ifp_build || !may_select(heap, index) || !knows_by_values(index) ||
	    (!is_partitioned(index) && !ifp_index_is_usable(index)))
		return false;
	if (has_expressions)
		level = ifp_neutral_settings();
	own_predicate = ifp_index_predicate_text(heap, index);
	is_same = (predicate != NULL) == (own_predicate != NULL) && (!predicate || strcmp(predicate, own_predicate) == 0) &&
		  datumIsEqual(PointerGetDatum(ifp_index_column_texts(heap, index)), PointerGetDatum(request->columns), false,
			       -1);
	if (has_expressions)
		AtEOXact_GUC(true, level);
	if (is_same && request->is_estimate && is_partitioned(index))
		return !has_foreign_partitions(heap);
	return is_same && are_of_durations(heap, index, request->duration);
}

/* Keeps the lock on the index found, so that nobody drops it while the statement uses it. */
static Oid find_index(Relation heap, const struct request *request)
{
	List *oids = RelationGetIndexList(heap);
	Oid found = InvalidOid;
	ListCell *cell;

	foreach (cell, oids) {
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		if (is_wanted(heap, index, request))
			found = RelationGetRelid(index);
		index_close(index, OidIsValid(found) ? NoLock : AccessShareLock);
		if (OidIsValid(found))
			break;
	}
	list_free(oids);
	return found;
}

static Oid find_index_of(Oid table, const struct request *request)
{
	Relation heap = ifp_enable ? try_table_open(table, AccessShareLock) : NULL;
	Oid found = InvalidOid;

	if (!heap)
		return InvalidOid;
	if (has_own_rows(heap))
		found = find_index(heap, request);
	table_close(heap, NoLock);
	return found;
}

/* Arguments: table, columns, condition, duration. Returns the index with these columns and condition whose durations are the
 * given value; NULL if none may be read. */
Datum iforest_overlap_index(PG_FUNCTION_ARGS)
{
	struct request request = { .columns = NULL };
	Oid found;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	request.columns = PG_GETARG_ARRAYTYPE_P(1);
	request.predicate = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));
	request.duration = PG_GETARG_INT32(3);
	found = find_index_of(PG_GETARG_OID(0), &request);
	if (!OidIsValid(found))
		PG_RETURN_NULL();
	PG_RETURN_OID(found);
}

/* True if a call of iforest_overlap_index() will probably find an index; false if arguments are not constants. For the planner:
 * checking the index of each partition would take longer than planning.
 * Cost      O(indexes of the table + partitions). */
static bool overlap_index_is_likely(const FuncExpr *call)
{
	struct request request = { .is_estimate = true };
	Const *arguments[4];
	ListCell *cell;
	int n = 0;

	foreach (cell, call->args) {
		if (n == lengthof(arguments) || !IsA(lfirst(cell), Const))
			return false;
		arguments[n++] = lfirst(cell);
	}
	if (n < (int)lengthof(arguments) || arguments[0]->constisnull || arguments[1]->constisnull || arguments[3]->constisnull)
		return false;
	request.columns = DatumGetArrayTypeP(arguments[1]->constvalue);
	request.predicate = arguments[2]->constisnull ? NULL : TextDatumGetCString(arguments[2]->constvalue);
	request.duration = DatumGetInt32(arguments[3]->constvalue);
	return OidIsValid(find_index_of(DatumGetObjectId(arguments[0]->constvalue), &request));
}

/* Simplifies iforest_overlap_index() to NULL if row security applies: such a plan reads the table. A cursor that is then read
 * by a user without restrictions shows no more rows. */
Datum iforest_overlap_index_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *)PG_GETARG_POINTER(0), *table;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	table = linitial(castNode(SupportRequestSimplify, request)->fcall->args);
	if (!IsA(table, Const) || castNode(Const, table)->constisnull ||
	    check_enable_rls(DatumGetObjectId(castNode(Const, table)->constvalue), InvalidOid, true) != RLS_ENABLED)
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(makeNullConst(OIDOID, -1, InvalidOid));
}

/* ---- support: conditions as arguments ---- */

/* Returns the function's column if the node is one, possibly relabelled as a binary-compatible type; else NULL. */
static const Var *column_of(Node *node, Index rel)
{
	while (IsA(node, RelabelType))
		node = (Node *)castNode(RelabelType, node)->arg;
	return IsA(node, Var) && castNode(Var, node)->varno == (int)rel && castNode(Var, node)->varlevelsup == 0 &&
			       castNode(Var, node)->varattno > 0
		       ? castNode(Var, node)
		       : NULL;
}

/* True if the operator is the equality of the column's type in B-tree order and of a deterministic collation. */
static bool is_equality(Oid operator, Oid collation, const Var *column)
{
	TypeCacheEntry *type = lookup_type_cache(getBaseType(column->vartype), TYPECACHE_BTREE_OPFAMILY);

	return OidIsValid(type->btree_opf) && get_op_opfamily_strategy(operator, type->btree_opf) == BTEqualStrategyNumber &&
	       (!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

/* True if the node's value is known when the function is called. */
static bool is_known(Node *node)
{
	return !contain_var_clause(node) && !contain_volatile_functions(node) && !contain_subplans(node);
}

static void add_condition(FuncExpr *call, const Var *column, Node *comparand)
{
	call->args = lappend(call->args,
			     makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(column->varattno), false, true));
	call->args = lappend(call->args, copyObject(comparand));
}

static void read_equal(FuncExpr *call, const OpExpr *condition, Index rel)
{
	Node *left = linitial(condition->args), *right = list_length(condition->args) == 2 ? lsecond(condition->args) : NULL;
	const Var *column = column_of(left, rel);
	Oid operator= condition->opno;

	if (right && !column) {
		column = column_of(right, rel);
		operator= get_commutator(operator);
		right = left;
	}
	if (right && column && OidIsValid(operator) && is_known(right) && is_equality(operator, condition->inputcollid, column))
		add_condition(call, column, right);
}

static void read_any(FuncExpr *call, const ScalarArrayOpExpr *condition, Index rel)
{
	const Var *column = column_of(linitial(condition->args), rel);

	if (condition->useOr && column && is_known(lsecond(condition->args)) &&
	    is_equality(condition->opno, condition->inputcollid, column))
		add_condition(call, column, lsecond(condition->args));
}

static void narrow(RelOptInfo *rel, Index number, RangeTblEntry *table)
{
	Node *call;
	ListCell *cell;

	if (list_length(table->functions) != 1 || table->funcordinality)
		return;
	call = linitial_node(RangeTblFunction, table->functions)->funcexpr;
	if (!call || !IsA(call, FuncExpr) || !ifp_is_own_function(castNode(FuncExpr, call)->funcid, "iforest_overlap_spans"))
		return;
	foreach (cell, rel->baserestrictinfo) {
		Node *condition = (Node *)lfirst_node(RestrictInfo, cell)->clause;

		if (list_length(castNode(FuncExpr, call)->args) > FUNC_MAX_ARGS - 2)
			break;
		if (IsA(condition, OpExpr))
			read_equal(castNode(FuncExpr, call), (OpExpr *)condition, number);
		else if (IsA(condition, ScalarArrayOpExpr))
			read_any(castNode(FuncExpr, call), (ScalarArrayOpExpr *)condition, number);
	}
}

/* ---- support: arms that will not run ---- */

/* Returns the plan that computes the parameter, if it is a column of a subquery that is run once; else NULL. */
static Plan *init_plan_of(PlannerInfo *root, const Param *param)
{
	ListCell *cell;

	if (param->paramkind != PARAM_EXEC)
		return NULL;
	foreach (cell, root->init_plans) {
		SubPlan *candidate = lfirst_node(SubPlan, cell);

		if (list_member_int(candidate->setParam, param->paramid))
			return list_nth(root->glob->subplans, candidate->plan_id - 1);
	}
	return NULL;
}

/* Returns the call of iforest_overlap_index() if the condition is (SELECT i FROM i) IS NULL and i its result; else NULL. */
static const FuncExpr *index_wanted(PlannerInfo *root, Node *condition)
{
	Plan *plan;
	Node *call;

	if (!IsA(condition, NullTest) || castNode(NullTest, condition)->nulltesttype != IS_NULL ||
	    !IsA(castNode(NullTest, condition)->arg, Param))
		return NULL;
	plan = init_plan_of(root, (Param *)castNode(NullTest, condition)->arg);
	if (!plan || !IsA(plan, CteScan))
		return NULL;
	plan = list_nth(root->glob->subplans, castNode(CteScan, plan)->ctePlanId - 1);
	if (!IsA(plan, Result) || list_length(plan->targetlist) != 1)
		return NULL;
	call = (Node *)linitial_node(TargetEntry, plan->targetlist)->expr;
	return IsA(call, FuncExpr) && ifp_is_own_function(castNode(FuncExpr, call)->funcid, "iforest_overlap_index")
		       ? castNode(FuncExpr, call)
		       : NULL;
}

/* True if the condition is the gate of all times and the window is not known yet: a window given by parameters probably is one.
 */
static bool is_gate_of_all_times(Node *condition)
{
	enum { T0, T1, IS_OPEN = 6, N_ARGUMENTS = 8 };
	List *arguments = IsA(condition, FuncExpr) ? castNode(FuncExpr, condition)->args : NIL;
	Node *is_open;

	if (list_length(arguments) != N_ARGUMENTS ||
	    (IsA(list_nth(arguments, T0), Const) && IsA(list_nth(arguments, T1), Const)))
		return false;
	is_open = list_nth(arguments, IS_OPEN);
	return IsA(is_open, Const) && !castNode(Const, is_open)->constisnull &&
	       DatumGetBool(castNode(Const, is_open)->constvalue) &&
	       ifp_is_own_function(castNode(FuncExpr, condition)->funcid, "iforest_window_asks");
}

static bool is_left_out(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->baserestrictinfo) {
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		const FuncExpr *call = condition->pseudoconstant ? index_wanted(root, (Node *)condition->clause) : NULL;

		if ((call && overlap_index_is_likely(call)) ||
		    (condition->pseudoconstant && is_gate_of_all_times((Node *)condition->clause)))
			return true;
	}
	return false;
}

/* Makes the cheapest path almost free, because the planner ignores one-time filters in its cost. */
static void cost_nothing(PlannerInfo *root, RelOptInfo *rel)
{
	Path *cheapest = NULL;
	ListCell *cell;

	if (IS_DUMMY_REL(rel) || rel->pathlist == NIL || !is_left_out(root, rel))
		return;
	foreach (cell, rel->pathlist) {
		Path *path = lfirst(cell);

		if (!path->param_info && (!cheapest || path->total_cost < cheapest->total_cost))
			cheapest = path;
	}
	if (!cheapest)
		return;
	cheapest->startup_cost = 0;
	cheapest->total_cost = cpu_tuple_cost;
	cheapest->rows = 1;
	rel->rows = 1;
	rel->pathlist = list_make1(cheapest);
	rel->partial_pathlist = NIL;
}

/* ---- entry ---- */

void ifp_overlap_index_consider(PlannerInfo *root, RelOptInfo *rel, Index number, RangeTblEntry *table)
{
	if (table->rtekind == RTE_FUNCTION)
		narrow(rel, number, table);
	else if (table->rtekind == RTE_SUBQUERY)
		cost_nothing(root, rel);
}
