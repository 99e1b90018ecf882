#include "pg_ext/planner/verdict.h"

#include "catalog/index.h"
#include "catalog/partition.h"
#include "nodes/extensible.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

const char ifp_costs_more[] = "another plan is estimated to cost less";
const char ifp_costs_more_by_values[] =
	"another plan is estimated to cost less: the index would evaluate an expression for each value of a column";
const char ifp_costs_more_by_series[] =
	"another plan is estimated to cost less: the index would evaluate a condition for each series";

/* The reason for a table that got no other verdict. */
static const char asks_nothing[] = "nothing that the index keeps is asked for: no aggregate, no largest values, no first rows";

bool ifp_enable = true;
bool ifp_explain_decline = false, ifp_log_decline = false;

/* ---- the list ---- */

struct collected {
	struct ifp_verdict *verdict;
	const PlannerInfo *root;
	const CustomPath *path;
	List *indexes; /* of a table: the OIDs of its iforest indexes, and those of its partitions */
};

/* A level's name, and its own tables that have an iforest index. */
struct named_level {
	const PlannerInfo *root;
	char *name;
};

struct ifp_collection {
	List *verdicts; /* struct collected */
	List *levels;	/* struct named_level */
	List *tables;	/* struct collected, for tables that get no verdict */
	int n_subselects;
	bool is_begun; /* the query is being planned: what is planned meanwhile is of functions that planning evaluates */
};

struct ifp_collection *ifp_collection;

/* ---- tables and their indexes ---- */

static List *indexes_of(const RelOptInfo *rel)
{
	List *indexes = NIL;
	ListCell *cell;

	foreach (cell, rel ? rel->indexlist : NIL)
		if (ifp_is_iforest(lfirst(cell)))
			indexes = lappend_oid(indexes, lfirst_node(IndexOptInfo, cell)->indexoid);
	return indexes;
}

bool ifp_has_index(const PlannerInfo *root, const RelOptInfo *tables)
{
	int relid = -1;

	while (ifp_are_reasons_wanted() && (relid = bms_next_member(tables->relids, relid)) >= 0)
		if (indexes_of(root->simple_rel_array[relid]) != NIL)
			return true;
	return false;
}

Oid ifp_table_of(const PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION ? planner_rt_fetch(rel->relid, root)->relid
										 : InvalidOid;
}

/* Returns the index that users know: for a partition's index, the index of the table that the query names. */
static Oid index_of(const IndexOptInfo *index, Oid table)
{
	ListCell *cell;

	if (!get_rel_relispartition(index->indexoid))
		return index->indexoid;
	foreach (cell, get_partition_ancestors(index->indexoid))
		if (IndexGetRelation(lfirst_oid(cell), true) == table)
			return lfirst_oid(cell);
	return index->indexoid;
}

static struct collected *collect(const PlannerInfo *level, Oid table, const IndexOptInfo *index)
{
	struct collected *collected = palloc0(sizeof *collected);

	collected->root = level;
	collected->verdict = palloc0(sizeof *collected->verdict);
	collected->verdict->table = table;
	collected->verdict->index = index ? index_of(index, table) : InvalidOid;
	return collected;
}

/* ---- what the planner says ---- */

static struct ifp_verdict *add(struct collected *collected)
{
	ifp_collection->verdicts = lappend(ifp_collection->verdicts, collected);
	return collected->verdict;
}

static bool is_of_costs(const char *reason)
{
	return reason == ifp_costs_more || reason == ifp_costs_more_by_values || reason == ifp_costs_more_by_series;
}

/* True if a path was offered: it has its costs, and reports itself that it lost. */
static bool is_offered(const PlannerInfo *level, Oid table)
{
	ListCell *cell;

	foreach (cell, ifp_collection->verdicts) {
		const struct collected *other = lfirst(cell);

		if (other->root == level && other->verdict->table == table && other->path)
			return true;
	}
	return false;
}

static void report(int level, Oid index, const char *reason)
{
	if (OidIsValid(index))
		ereport(level, errmsg("index \"%s\" does not answer this query", get_rel_name(index)),
			errdetail("%s.", reason));
	else
		ereport(level, errmsg("no iforest index answers this query"), errdetail("%s.", reason));
}

void ifp_decline(PlannerInfo *level, Oid table, const IndexOptInfo *index, const char *reason)
{
	Oid oid;

	if (ifp_collection) {
		if (!is_of_costs(reason) || !is_offered(level, table))
			add(collect(level, table, index))->reason = reason;
		return;
	}
	if (!ifp_log_decline && !ifp_explain_decline)
		return;
	oid = index ? index_of(index, table) : InvalidOid;
	if (ifp_log_decline)
		report(LOG, oid, reason);
	if (ifp_explain_decline)
		report(NOTICE, oid, reason);
}

void ifp_offer(PlannerInfo *level, Oid table, const List *indexes, const CustomPath *path, Cost cost, Cost cost_without,
	       const char *beaten)
{
	struct collected *collected;
	struct ifp_verdict *verdict;
	ListCell *cell;

	if (!ifp_collection)
		return;
	collected = collect(level, table, linitial(indexes));
	collected->path = path;
	verdict = add(collected);
	foreach (cell, indexes)
		verdict->indexes = list_append_unique_oid(verdict->indexes, index_of(lfirst(cell), table));
	verdict->node = path->methods->CustomName;
	verdict->reason = beaten;
	verdict->has_cost = true;
	verdict->cost = cost;
	verdict->has_cost_without = cost_without >= 0;
	verdict->cost_without = cost_without;
}

void ifp_take(const CustomPath *path)
{
	struct ifp_verdict *taken = NULL;
	ListCell *cell;

	/* take the latest: the planner frees paths that lose, and their memory may be reused */
	foreach (cell, ifp_collection ? ifp_collection->verdicts : NIL)
		if (((const struct collected *)lfirst(cell))->path == path)
			taken = ((const struct collected *)lfirst(cell))->verdict;
	if (!taken)
		return;
	taken->is_taken = true;
	taken->reason = NULL;
}

/* ---- levels ---- */

static void name_levels(const PlannerInfo *root, char *name);

static bool is_named(const PlannerInfo *root)
{
	ListCell *cell;

	foreach (cell, ifp_collection->levels)
		if (((struct named_level *)lfirst(cell))->root == root)
			return true;
	return false;
}

/* above: NULL for the query itself. */
static void name_below(const PlannerInfo *root, const PlannerInfo *parent, const char *above, char *own)
{
	if (root && root->parent_root == parent && !is_named(root))
		name_levels(root, above ? psprintf("%s, %s", above, own) : own);
}

/* PostgreSQL calls the SELECT of an INSERT *SELECT*, and the arms of a UNION ALL *SELECT* 1 and so on. */
static char *subquery_name(const char *alias)
{
	static const char unnamed[] = "*SELECT*";
	size_t n = strlen(unnamed);

	if (strncmp(alias, unnamed, n) != 0)
		return psprintf("subquery %s", alias);
	return alias[n] == ' ' ? psprintf("arm %s", alias + n + 1) : pstrdup("SELECT");
}

static void name_subqueries(const PlannerInfo *root, const char *name)
{
	int n = 0;
	ListCell *cell;

	foreach (cell, root->parse->cteList) {
		int id = n < list_length(root->cte_plan_ids) ? list_nth_int(root->cte_plan_ids, n++) : 0;

		if (id > 0)
			name_below(list_nth(root->glob->subroots, id - 1), root, name,
				   psprintf("CTE %s", lfirst_node(CommonTableExpr, cell)->ctename));
	}
	for (int relid = 1; relid < root->simple_rel_array_size; relid++) {
		const RelOptInfo *rel = root->simple_rel_array[relid];
		const char *alias = rel && rel->subroot ? planner_rt_fetch(relid, root)->eref->aliasname : NULL;

		if (alias)
			name_below(rel->subroot, root, name, subquery_name(alias));
	}
	foreach (cell, root->glob->subroots)
		if (lfirst(cell) && ((PlannerInfo *)lfirst(cell))->parent_root == root && !is_named(lfirst(cell)))
			name_below(lfirst(cell), root, name, psprintf("subselect %d", ++ifp_collection->n_subselects));
}

/* Returns the indexes of a table and of its partitions. */
static List *all_indexes(const RelOptInfo *rel)
{
	List *indexes = indexes_of(rel);

	for (int i = 0; i < rel->nparts; i++)
		if (rel->part_rels[i])
			indexes = list_concat(indexes, all_indexes(rel->part_rels[i]));
	return indexes;
}

static void note_table(const PlannerInfo *root, const RelOptInfo *rel)
{
	List *indexes = rel && OidIsValid(ifp_table_of(root, rel)) ? all_indexes(rel) : NIL;
	struct collected *table;

	if (indexes == NIL)
		return;
	table = collect(root, ifp_table_of(root, rel), NULL);
	table->indexes = indexes;
	ifp_collection->tables = lappend(ifp_collection->tables, table);
}

/* name: NULL for the query itself. */
static void name_levels(const PlannerInfo *root, char *name)
{
	struct named_level *level = palloc(sizeof *level);

	*level = (struct named_level){ root, name ? name : "query" };
	ifp_collection->levels = lappend(ifp_collection->levels, level);
	for (int relid = 1; relid < root->simple_rel_array_size; relid++)
		note_table(root, root->simple_rel_array[relid]);
	name_subqueries(root, name);
}

/* A level that the planner creates for min() and max() is part of the one above. */
static char *name_of(const PlannerInfo *root)
{
	ListCell *cell;

	for (; root; root = root->parent_root)
		foreach (cell, ifp_collection->levels)
			if (((struct named_level *)lfirst(cell))->root == root)
				return ((struct named_level *)lfirst(cell))->name;
	return "query";
}

void ifp_verdicts_end_level(const PlannerInfo *root)
{
	if (!root->parent_root)
		name_levels(root, NULL);
}

/* ---- a plan ---- */

/* An ordinary scan of one of these indexes. */
struct scan {
	const List *indexes;
	Oid index;
	const char *node;
};

static bool find_scan(const Plan *plan, struct scan *scan);

static bool find_scan_in(const List *plans, struct scan *scan)
{
	ListCell *cell;

	foreach (cell, plans)
		if (find_scan(lfirst(cell), scan))
			return true;
	return false;
}

static bool find_scan(const Plan *plan, struct scan *scan)
{
	Oid index = InvalidOid;

	if (!plan)
		return false;
	if (IsA(plan, IndexScan))
		index = ((const IndexScan *)plan)->indexid;
	else if (IsA(plan, BitmapIndexScan))
		index = ((const BitmapIndexScan *)plan)->indexid;
	if (list_member_oid(scan->indexes, index)) {
		scan->index = index;
		scan->node = IsA(plan, IndexScan) ? "Index Scan" : "Bitmap Index Scan";
		return true;
	}
	switch (nodeTag(plan)) {
	case T_Append:
		return find_scan_in(((const Append *)plan)->appendplans, scan);
	case T_MergeAppend:
		return find_scan_in(((const MergeAppend *)plan)->mergeplans, scan);
	case T_BitmapAnd:
		return find_scan_in(((const BitmapAnd *)plan)->bitmapplans, scan);
	case T_BitmapOr:
		return find_scan_in(((const BitmapOr *)plan)->bitmapplans, scan);
	case T_SubqueryScan:
		return find_scan(((const SubqueryScan *)plan)->subplan, scan);
	default:
		return find_scan(plan->lefttree, scan) || find_scan(plan->righttree, scan);
	}
}

static bool is_above(const PlannerInfo *root, const PlannerInfo *below)
{
	while (below && below != root)
		below = below->parent_root;
	return below != NULL;
}

/* An answer through subqueries is reported for the level above them; one of min() or max() may belong to a level that the
 * planner created. */
static bool is_spoken_of(const struct collected *table)
{
	ListCell *cell;

	foreach (cell, ifp_collection->verdicts) {
		const struct collected *other = lfirst(cell);
		bool is_same = !OidIsValid(other->verdict->table) || other->verdict->table == table->verdict->table;

		if (is_same &&
		    (is_above(other->root, table->root) || (!is_named(other->root) && other->root->parent_root == table->root)))
			return true;
	}
	return false;
}

/* Returns true and fills in the verdict if the plan has an ordinary scan of one of the indexes. */
static bool note_scan(const PlannedStmt *plan, const List *indexes, struct ifp_verdict *verdict)
{
	struct scan scan = { .indexes = indexes };

	if (!find_scan(plan->planTree, &scan) && !find_scan_in(plan->subplans, &scan))
		return false;
	verdict->index = scan.index;
	verdict->indexes = list_make1_oid(scan.index);
	verdict->node = scan.node;
	verdict->is_taken = true;
	verdict->has_cost = verdict->has_cost_without = false;
	verdict->reason = NULL;
	return true;
}

/* Adds tables without a verdict, and ordinary scans of indexes whose aggregate paths cost more. */
static void add_scans(const PlannedStmt *plan)
{
	List *added = NIL;
	ListCell *cell;

	foreach (cell, ifp_collection->verdicts) {
		struct ifp_verdict *verdict = ((struct collected *)lfirst(cell))->verdict;

		if (is_of_costs(verdict->reason) && OidIsValid(verdict->index))
			(void)note_scan(plan, list_make1_oid(verdict->index), verdict);
	}
	foreach (cell, ifp_collection->tables) {
		struct collected *table = lfirst(cell);

		if (is_spoken_of(table))
			continue;
		if (!note_scan(plan, table->indexes, table->verdict))
			table->verdict->reason = ifp_enable ? asks_nothing : "iforest.enable is off";
		added = lappend(added, table);
	}
	ifp_collection->verdicts = list_concat(ifp_collection->verdicts, added);
}

PlannedStmt *ifp_plan_with_verdicts(Query *query, const char *text, List **verdicts)
{
	struct ifp_collection own = { .verdicts = NIL }, *before = ifp_collection;
	PlannedStmt *plan = NULL;
	ListCell *cell;

	*verdicts = NIL;
	ifp_collection = &own;
	PG_TRY();
	{
		plan = pg_plan_query(query, text, CURSOR_OPT_PARALLEL_OK, NULL);
		add_scans(plan);
		foreach (cell, own.verdicts) {
			struct collected *collected = lfirst(cell);

			collected->verdict->level = name_of(collected->root);
			*verdicts = lappend(*verdicts, collected->verdict);
		}
	}
	PG_FINALLY();
	{
		ifp_collection = before;
	}
	PG_END_TRY();
	return plan;
}

static planner_hook_type previous_planner;

static PlannedStmt *plan(Query *query, const char *text, int options, ParamListInfo parameters)
{
	return previous_planner ? previous_planner(query, text, options, parameters)
				: standard_planner(query, text, options, parameters);
}

/* Plans the query of a function, which is not what is reported on, and whose memory does not last. */
pg_noinline static PlannedStmt *plan_apart(Query *query, const char *text, int options, ParamListInfo parameters)
{
	struct ifp_collection *collection = ifp_collection;
	PlannedStmt *result = NULL;

	ifp_collection = NULL;
	PG_TRY();
	{
		result = plan(query, text, options, parameters);
	}
	PG_FINALLY();
	{
		ifp_collection = collection;
	}
	PG_END_TRY();
	return result;
}

static PlannedStmt *plan_or_report(Query *query, const char *text, int options, ParamListInfo parameters)
{
	if (ifp_collection && ifp_collection->is_begun)
		return plan_apart(query, text, options, parameters);
	if (ifp_collection)
		ifp_collection->is_begun = true;
	return plan(query, text, options, parameters);
}

void ifp_verdicts_register(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_or_report;

	DefineCustomBoolVariable("iforest.enable",
				 "Lets iforest indexes answer aggregate queries, and find the largest values first.", NULL,
				 &ifp_enable, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.explain_decline", "Says why an index does not answer a query, as a NOTICE.", NULL,
				 &ifp_explain_decline, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.log_decline", "Logs why an index does not answer a query, with the query.", NULL,
				 &ifp_log_decline, false, PGC_SUSET, 0, NULL, NULL, NULL);
}
