#include "pg_ext/am/handler.h"

#include <math.h>

#include "access/amapi.h"
#include "access/amvalidate.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_class.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pg_ext/am/altered_type.h"
#include "pg_ext/am/build.h"
#include "pg_ext/am/index_scan.h"
#include "pg_ext/am/insert.h"
#include "pg_ext/am/plan_facts.h"
#include "pg_ext/am/vacuum.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/storage/meta.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/types/definition.h"

/* ---- cost ---- */

/* Search for a series in a run, and reading a pending page, in units of cpu_operator_cost, measured relative to a row of a
 * sequential scan. */
enum { OPERATORS_A_PROBE = 400, OPERATORS_A_PENDING_PAGE = 40 };

/* Approximate sizes in a manifest (core/run/manifest.h), to estimate the number of runs from its length. */
enum { MANIFEST_HEADER_BYTES = 48, RUN_BYTES = 92, VALUE_BYTES = 72 };

/* An index-only scan fetches every row anyway (am/index_scan.c), which the planner does not know. */
static const Cost index_only_penalty = 1e8;

/* Returns the correlation of the time column with the order of the table. The cost of fetching a range depends on it. */
static double time_correlation(struct PlannerInfo *root, const IndexOptInfo *index)
{
	AttrNumber attribute = (AttrNumber)index->indexkeys[index->nkeycolumns - 1];
	RangeTblEntry *table = planner_rt_fetch(index->rel->relid, root);
	double correlation = 0;
	AttStatsSlot slot;
	HeapTuple tuple;

	if (attribute == 0)
		return 0;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid), Int16GetDatum(attribute),
				BoolGetDatum(table->inh));
	if (!HeapTupleIsValid(tuple))
		return 0;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
		correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return correlation;
}

/* Returns the product of the numbers of distinct values of by columns. */
static double all_series(struct PlannerInfo *root, const IndexOptInfo *index)
{
	double n_series = 1;

	for (int i = 0; i < index->nkeycolumns - 1; i++) {
		VariableStatData variable;
		bool is_default;

		examine_variable(root, (Node *)((TargetEntry *)list_nth(index->indextlist, i))->expr, (int)index->rel->relid,
				 &variable);
		n_series *= get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
	}
	return n_series;
}

pg_noinline static struct ifp_plan_estimates make_estimates(struct PlannerInfo *root, const IndexOptInfo *index)
{
	uint64 number = ifp_plan_facts(index->indexoid)->number;
	struct ifp_plan_estimates estimates = { .are_known = true,
						.of_tuples = index->rel->tuples,
						.n_series = all_series(root, index),
						.correlation = time_correlation(root, index) };
	struct ifp_plan_facts *facts = ifp_plan_facts(index->indexoid);

	if (facts->number == number)
		facts->estimates = estimates;
	return estimates;
}

pg_attribute_hot static struct ifp_plan_estimates estimates_of(struct PlannerInfo *root, const IndexOptInfo *index)
{
	const struct ifp_plan_facts *facts = ifp_plan_facts(index->indexoid);

	if (facts->estimates.are_known && facts->estimates.of_tuples == index->rel->tuples)
		return facts->estimates;
	return make_estimates(root, index);
}

/* Estimates the number of series scanned: those that pass the conditions on by columns. */
pg_attribute_hot static double series_scanned(struct PlannerInfo *root, const IndexPath *path, double n_series)
{
	const IndexOptInfo *index = path->indexinfo;
	List *conditions = NIL;
	ListCell *cell;

	n_series = Min(n_series, Max(index->tuples, 1));
	foreach (cell, path->indexclauses) {
		IndexClause *clause = lfirst_node(IndexClause, cell);

		if (clause->indexcol < index->nkeycolumns - 1)
			conditions = lappend(conditions, clause->rinfo);
	}
	if (conditions != NIL)
		n_series *= clauselist_selectivity(root, conditions, (int)index->rel->relid, JOIN_INNER, NULL);
	return Max(n_series, 1);
}

/* True if the path's conditions are all that there are on the table, comparisons with values. */
pg_attribute_hot static bool has_all_conditions(const IndexPath *path)
{
	List *conditions = NIL;
	ListCell *cell;

	foreach (cell, path->indexclauses) {
		IndexClause *clause = lfirst_node(IndexClause, cell);

		if (list_length(clause->indexquals) != 1 || !IsA(clause->rinfo->clause, OpExpr))
			return false;
		conditions = list_append_unique_ptr(conditions, clause->rinfo);
	}
	return path->indexinfo->indpred == NIL && path->indexinfo->rel->reloptkind == RELOPT_BASEREL &&
	       list_length(conditions) == list_length(path->indexinfo->rel->baserestrictinfo) &&
	       list_difference_ptr(conditions, path->indexinfo->rel->baserestrictinfo) == NIL;
}

/* The same as genericcostestimate(), without a second look at the statistics where the planner has counted the rows. */
pg_attribute_hot static void generic_costs(struct PlannerInfo *root, IndexPath *path, double loop_count, GenericCosts *costs)
{
	const IndexOptInfo *index = path->indexinfo;
	double page_cost;
	List *conditions;

	if (loop_count > 1 || index->rel->tuples < 1 || !has_all_conditions(path)) {
		genericcostestimate(root, path, loop_count, costs);
		return;
	}
	conditions = get_quals_from_indexclauses(path->indexclauses);
	get_tablespace_page_costs(index->reltablespace, &page_cost, NULL);
	costs->numIndexTuples = Max(Min(index->rel->rows, index->tuples), 1);
	costs->indexSelectivity = Min(index->rel->rows / index->rel->tuples, 1);
	costs->numIndexPages =
		index->pages > 1 && index->tuples > 1 ? ceil(costs->numIndexTuples * index->pages / index->tuples) : 1;
	costs->indexStartupCost = index_other_operands_eval_cost(root, conditions);
	costs->indexTotalCost = costs->numIndexPages * page_cost + costs->indexStartupCost +
				costs->numIndexTuples * (cpu_index_tuple_cost + cpu_operator_cost * list_length(conditions));
}

pg_attribute_hot double ifp_estimate_runs(int n_values, uint32 manifest_bytes)
{
	double n_runs = ((double)manifest_bytes - MANIFEST_HEADER_BYTES) / (RUN_BYTES + VALUE_BYTES * n_values);

	return Max(n_runs, 1);
}

pg_attribute_hot void ifp_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
					Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages)
{
	GenericCosts costs = { 0 };
	struct ifp_plan_estimates estimates = estimates_of(root, path->indexinfo);
	const struct ifp_meta_sizes *sizes = ifp_plan_facts_sizes(path->indexinfo);
	int n_values = path->indexinfo->ncolumns - path->indexinfo->nkeycolumns;
	double n_runs = ifp_estimate_runs(n_values, sizes->manifest_bytes), n_pending = sizes->n_pending_pages, n_probes;

	generic_costs(root, path, loop_count, &costs);

	/* each series is searched for in each run, on pages that are soon cached */
	n_probes = series_scanned(root, path, estimates.n_series) * n_runs;
	*startup_cost = costs.indexStartupCost +
			(n_probes * OPERATORS_A_PROBE + n_pending * OPERATORS_A_PENDING_PAGE) * cpu_operator_cost;
	/* entries are unpacked and merged, and their rows fetched: slower than an index-only scan of a B-tree, not than a plain
	 * one */
	*total_cost = costs.indexTotalCost + costs.numIndexTuples * cpu_tuple_cost +
		      (n_probes * OPERATORS_A_PROBE + n_pending * OPERATORS_A_PENDING_PAGE) * cpu_operator_cost;
	if (path->path.pathtype == T_IndexOnlyScan)
		*total_cost += index_only_penalty;
	*selectivity = costs.indexSelectivity;
	*correlation = estimates.correlation;
	if (path->indexinfo->nkeycolumns > 1)
		*correlation *= 0.75;
	*pages = costs.numIndexPages;
}

/* ---- operator classes ---- */

/* Messages are those of btvalidate(), so that they are translated. */

/* Checks that every operator is one of the five comparisons, returns a boolean, and is used for searching only. */
static bool check_operators(CatCList *list, const char *family)
{
	bool result = true;

	for (int i = 0; i < list->n_members; i++) {
		Form_pg_amop form = (Form_pg_amop)GETSTRUCT(&list->members[i]->tuple);
		const char *operator= format_operator(form->amopopr);

		if (form->amopstrategy < 1 || form->amopstrategy > BTMaxStrategyNumber) {
			ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				errmsg("operator family \"%s\" of access method %s contains operator %s with invalid strategy number %d",
				       family, "iforest", operator, form->amopstrategy));
			result = false;
		}
		if (form->amoppurpose != AMOP_SEARCH || OidIsValid(form->amopsortfamily)) {
			ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				errmsg("operator family \"%s\" of access method %s contains invalid ORDER BY specification for operator %s",
				       family, "iforest", operator));
			result = false;
		}
		if (!check_amop_signature(form->amopopr, BOOLOID, form->amoplefttype, form->amoprighttype)) {
			ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				errmsg("operator family \"%s\" of access method %s contains operator %s with wrong signature",
				       family, "iforest", operator));
			result = false;
		}
	}
	return result;
}

/* Checks that every support function is a comparison of the class's type. */
static bool check_functions(CatCList *list, const char *family)
{
	bool result = true;

	for (int i = 0; i < list->n_members; i++) {
		Form_pg_amproc form = (Form_pg_amproc)GETSTRUCT(&list->members[i]->tuple);

		if (form->amprocnum != 1) {
			ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				errmsg("operator family \"%s\" of access method %s contains function %s with invalid support number %d",
				       family, "iforest", format_procedure(form->amproc), form->amprocnum));
			result = false;
		} else if (!check_amproc_signature(form->amproc, INT4OID, true, 2, 2, form->amproclefttype,
						   form->amprocrighttype)) {
			ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				errmsg("operator family \"%s\" of access method %s contains function %s with wrong signature",
				       family, "iforest", format_procedure(form->amproc)));
			result = false;
		}
	}
	return result;
}

/* Checks that the class's type has all comparisons. */
static bool check_is_complete(Oid family_oid, Oid type, const char *family)
{
	bool has_operators = true, has_function = OidIsValid(get_opfamily_proc(family_oid, type, type, 1));

	for (int16 strategy = 1; strategy <= BTMaxStrategyNumber; strategy++)
		has_operators = has_operators && OidIsValid(get_opfamily_member(family_oid, type, type, strategy));
	if (!has_operators)
		ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			errmsg("operator family \"%s\" of access method %s is missing operator(s) for types %s and %s", family,
			       "iforest", format_type_be(type), format_type_be(type)));
	if (!has_function)
		ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			errmsg("operator family \"%s\" of access method %s is missing support function for types %s and %s",
			       family, "iforest", format_type_be(type), format_type_be(type)));
	return has_operators && has_function;
}

static char *family_name(Oid family)
{
	HeapTuple tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	char *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	name = pstrdup(NameStr(((Form_pg_opfamily)GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);
	return name;
}

static bool validate(Oid opclass)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	CatCList *operators, *functions;
	char *family;
	Oid type;
	bool result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass)GETSTRUCT(tuple);
	type = form->opcintype;
	family = family_name(form->opcfamily);
	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(form->opcfamily));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(form->opcfamily));

	result = check_operators(operators, family);
	result = check_functions(functions, family) && result;
	result = check_is_complete(form->opcfamily, type, family) && result;

	ReleaseCatCacheList(operators);
	ReleaseCatCacheList(functions);
	ReleaseSysCache(tuple);
	return result;
}

/* ---- ALTER INDEX ... SET ---- */

static object_access_hook_type previous_hook;

/* Reads the new parameters, which are not yet visible to the command that sets them; NULL if there are none. */
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

		options = is_null ? NULL : ifp_options_parse(texts, false);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return options;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* True if no parameter that names columns has changed. One that became invalid otherwise is no reason to reject the change.
 */
static bool name_the_same(const struct ifp_options *a, const struct ifp_options *b)
{
	for (int k = 0; k < IFOREST_N_KINDS; k++)
		if (!is_same(ifp_option_string(a, kinds[k]), ifp_option_string(b, kinds[k])))
			return false;
	return is_same(ifp_option_string(a, duration), ifp_option_string(b, duration)) &&
	       is_same(ifp_option_string(a, end), ifp_option_string(b, end)) &&
	       is_same(ifp_option_string(a, sketch), ifp_option_string(b, sketch)) &&
	       is_same(ifp_option_string(a, distinct), ifp_option_string(b, distinct)) &&
	       (a ? a->duration_unit : IFP_UNIT_OF_TIME) == (b ? b->duration_unit : IFP_UNIT_OF_TIME);
}

static void check(Relation index)
{
	RelationData altered = *index;
	struct ifp_definition definition;
	struct iforest_node_schema fields;

	altered.rd_options = options_by_now(RelationGetRelid(index));
	if (name_the_same((const struct ifp_options *)index->rd_options, (const struct ifp_options *)altered.rd_options))
		return;
	ifp_definition_read(&altered, &definition);
	ifp_definition_check_columns(&altered, &definition, &fields);
}

static void see(ObjectAccessType access, Oid class, Oid object, int column, void *argument)
{
	Relation index;

	if (previous_hook)
		previous_hook(access, class, object, column, argument);
	if (access != OAT_POST_ALTER || class != RelationRelationId)
		return;
	if (column > 0)
		ifp_altered_type_check(object, (AttrNumber)column);
	if (column != 0 || get_rel_relkind(object) != RELKIND_INDEX)
		return;
	index = RelationIdGetRelation(object);
	if (!RelationIsValid(index))
		return;
	if (index->rd_indam && index->rd_indam->ambuild == ifp_build)
		check(index);
	RelationClose(index);
}

void ifp_reloptions_check_register(void)
{
	previous_hook = object_access_hook;
	object_access_hook = see;
}

/* ---- the handler ---- */

static void fill_routine(IndexAmRoutine *routine)
{
	routine->type = T_IndexAmRoutine;
	routine->amstrategies = 5; /* those of btree */
	routine->amsupport = 1;	   /* comparison: orders series for ordered scans */
	routine->amcanorder = true;
	routine->amcanbackward = true;
	routine->amcanmulticol = true;
	routine->amoptionalkey = true;
	routine->amsearcharray = true;
	routine->amsearchnulls = true;
	routine->amcaninclude = true;
	routine->amusemaintenanceworkmem = true;
	routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
	/* No unique indexes. No CLUSTER: series are in the order of their first rows. Predicate locks are on the whole index.
	 * No index-only scans: VACUUM does not wait for pins of readers, so an entry may be removed before the visibility map
	 * is read */
	routine->ambuild = ifp_build;
	routine->ambuildempty = ifp_build_empty;
	routine->ambuildphasename = ifp_build_phase_name;
	routine->aminsert = ifp_insert;
	routine->ambulkdelete = ifp_bulk_delete;
	routine->amvacuumcleanup = ifp_vacuum_cleanup;
	routine->amcostestimate = ifp_cost_estimate;
	routine->amoptions = ifp_options_parse;
	routine->amvalidate = validate;
	routine->ambeginscan = ifp_begin_scan;
	routine->amrescan = ifp_rescan;
	routine->amgettuple = ifp_get_tuple;
	routine->amgetbitmap = ifp_get_bitmap;
	routine->amendscan = ifp_end_scan;
	routine->ammarkpos = ifp_mark_position;
	routine->amrestrpos = ifp_restore_position;
	ifp_handler_complete(routine);
}

IFP_SQL_FUNCTION(iforest_handler);

Datum iforest_handler(PG_FUNCTION_ARGS)
{
	static IndexAmRoutine routine;

	(void)fcinfo;
	if (routine.type != T_IndexAmRoutine)
		fill_routine(&routine);
	PG_RETURN_POINTER(ifp_handler_result(&routine));
}
