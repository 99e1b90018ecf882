#include "pg_ext/planner/query_below.h"

#include "pg_ext/base/engine.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"

#include "pg_ext/base/compat.h"

/* ---- queries ---- */

/* True for what means something else, or nothing, in another query level. */
static bool is_bound(Node *node, void *context)
{
	if (!node)
		return false;
	if (IsA(node, PlaceHolderVar) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, GroupingFunc) ||
	    (IsA(node, Param) && castNode(Param, node)->paramkind != PARAM_EXTERN))
		return true;
	return expression_tree_walker(node, is_bound, context);
}

bool ifp_may_move(List *expressions)
{
	return !is_bound((Node *)expressions, NULL) && !contain_volatile_functions((Node *)expressions);
}

List *ifp_entries_of(List *expressions, int n_numbered)
{
	List *entries = NIL;
	ListCell *cell;

	foreach (cell, expressions) {
		int number = list_length(entries) + 1;
		TargetEntry *entry = makeTargetEntry(lfirst(cell), (AttrNumber)number, psprintf("c%d", number), false);

		entry->ressortgroupref = number <= n_numbered ? (Index)number : 0;
		entries = lappend(entries, entry);
	}
	return entries;
}

List *ifp_numbered_clauses(const List *clauses)
{
	List *numbered = NIL;
	ListCell *cell;

	foreach (cell, clauses) {
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, cell));

		clause->tleSortGroupRef = (Index)(list_length(numbered) + 1);
		numbered = lappend(numbered, clause);
	}
	return numbered;
}

Query *ifp_simple_query(RangeTblEntry *table, List *entries, Node *condition)
{
	RangeTblRef *from = makeNode(RangeTblRef);
	Query *query = makeNode(Query);

	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(table);
	query->jointree = makeFromExpr(list_make1(from), condition);
	query->targetList = entries;
	return query;
}

RangeTblEntry *ifp_subquery_entry(Query *query)
{
	RangeTblEntry *table = makeNode(RangeTblEntry);
	List *names = NIL;
	ListCell *cell;

	foreach (cell, query->targetList)
		names = lappend(names, makeString(lfirst_node(TargetEntry, cell)->resname));
	table->rtekind = RTE_SUBQUERY;
	table->subquery = query;
	table->eref = makeAlias("parts", names);
	table->inFromCl = true;
	return table;
}

List *ifp_columns_of(const Query *query)
{
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, query->targetList)
		columns = lappend(columns, makeVarFromTargetEntry(1, lfirst(cell)));
	return columns;
}

/* ---- path ---- */

Path *ifp_plan_below(PlannerInfo *root, Query *query)
{
	RangeTblEntry *table = ifp_subquery_entry(query);
	RelOptInfo *rel;
	Path *path;

	root->parse->rtable = lappend(root->parse->rtable, table);
	expand_planner_arrays(root, 1);
	root->simple_rte_array[list_length(root->parse->rtable)] = table;
	rel = build_simple_rel(root, list_length(root->parse->rtable), NULL);
	rel->reltarget->exprs = NIL;
	for (int i = 0; i < list_length(query->targetList); i++)
		rel->reltarget->exprs =
			lappend(rel->reltarget->exprs, makeVarFromTargetEntry((int)rel->relid, list_nth(query->targetList, i)));
	rel->subroot = ifp_plan_subquery(root, copyObject(query));
	ifp_forget_privileges(rel->subroot);
	path = fetch_upper_rel(rel->subroot, UPPERREL_FINAL, NULL)->cheapest_total_path;
	rel->rows = path->rows;
	set_pathtarget_cost_width(root, rel->reltarget);
	return ifp_subquery_path(root, rel, path);
}

/* custom_private: the subquery's columns as expressions of this level, HAVING. */
static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target, List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);

	(void)rel;
	(void)clauses;
	ifp_forget_subplan_privileges(root);
	scan->scan.plan.targetlist = target;
	scan->scan.plan.qual = lsecond(path->custom_private);
	scan->custom_scan_tlist = ifp_entries_of(linitial(path->custom_private), 0);
	scan->flags = path->flags;
	scan->custom_plans = plans;
	scan->methods = GetCustomScanMethods("IForestCombine", false);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestCombine", .PlanCustomPath = plan_path };

CustomPath *ifp_combine_path(PlannerInfo *root, RelOptInfo *output, PathTarget *target, Path *below, List *columns,
			     List *having)
{
	CustomPath *path = makeNode(CustomPath);
	QualCost quals;

	cost_qual_eval(&quals, having, root);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output;
	path->path.pathtarget = target;
	path->path.rows = clamp_row_est(having ? below->rows / 3 : below->rows);
	path->path.startup_cost = below->startup_cost + target->cost.startup + quals.startup;
	path->path.total_cost = below->total_cost + target->cost.startup + quals.startup +
				below->rows * (target->cost.per_tuple + quals.per_tuple + cpu_tuple_cost);
	ifp_copy_disabled(&path->path, below);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(below);
	path->custom_private = list_make2(columns, having);
	path->methods = &path_methods;
	return path;
}
