#include "pg_ext/planner/index_clauses.h"

#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "pg_ext/planner/verdict.h"

/* ---- conditions ---- */

static bool collations_fit(Oid of_index, Oid of_clause)
{
	return !OidIsValid(of_index) || of_index == of_clause;
}

/* Returns a comparison of a column of the index as a scan key; NIL if it is none. */
static List *key_of_comparison(PlannerInfo *root, RestrictInfo *restriction, IndexOptInfo *index, int column)
{
	OpExpr *clause = castNode(OpExpr, restriction->clause);
	Oid commutator;

	if (list_length(clause->args) != 2 || !collations_fit(index->indexcollations[column], clause->inputcollid))
		return NIL;
	if (match_index_to_operand(linitial(clause->args), column, index) &&
	    is_pseudo_constant_for_index(root, lsecond(clause->args), index) &&
	    op_in_opfamily(clause->opno, index->opfamily[column]))
		return list_make1(restriction);
	if (!match_index_to_operand(lsecond(clause->args), column, index) ||
	    !is_pseudo_constant_for_index(root, linitial(clause->args), index))
		return NIL;
	commutator = get_commutator(clause->opno);
	if (!OidIsValid(commutator) || !op_in_opfamily(commutator, index->opfamily[column]))
		return NIL;
	return list_make1(commute_restrictinfo(restriction, commutator));
}

static List *key_of_array(PlannerInfo *root, RestrictInfo *restriction, IndexOptInfo *index, int column)
{
	ScalarArrayOpExpr *clause = castNode(ScalarArrayOpExpr, restriction->clause);

	if (clause->useOr && collations_fit(index->indexcollations[column], clause->inputcollid) &&
	    match_index_to_operand(linitial(clause->args), column, index) &&
	    is_pseudo_constant_for_index(root, lsecond(clause->args), index) &&
	    op_in_opfamily(clause->opno, index->opfamily[column]))
		return list_make1(restriction);
	return NIL;
}

List *ifp_index_clauses(PlannerInfo *root, IndexOptInfo *index)
{
	List *clauses = NIL;
	ListCell *cell;

	for (int column = 0; column < index->nkeycolumns; column++)
		foreach (cell, index->indrestrictinfo) {
			RestrictInfo *restriction = lfirst_node(RestrictInfo, cell);
			IndexClause *clause;
			List *keys = NIL;

			if (!restriction_is_securely_promotable(restriction, index->rel))
				continue;
			if (IsA(restriction->clause, OpExpr))
				keys = key_of_comparison(root, restriction, index, column);
			else if (IsA(restriction->clause, ScalarArrayOpExpr))
				keys = key_of_array(root, restriction, index, column);
			if (keys == NIL)
				continue;
			clause = makeNode(IndexClause);
			clause->rinfo = restriction;
			clause->indexquals = keys;
			clause->indexcol = (AttrNumber)column;
			clauses = lappend(clauses, clause);
		}
	return clauses;
}

bool ifp_has_constant_condition(const RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->baserestrictinfo)
		if (lfirst_node(RestrictInfo, cell)->pseudoconstant)
			return true;
	return false;
}

/* ---- the node above ---- */

CustomPath *ifp_path_above(IndexOptInfo *index, Path *below, const CustomPathMethods *methods)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = index->rel;
	path->path.pathtarget = index->rel->reltarget;
	path->path.parallel_safe = index->rel->consider_parallel;
	path->custom_paths = list_make1(below);
	path->methods = methods;
	return path;
}

CustomScan *ifp_plan_above(CustomPath *path, List *target, List *plans, const char *name)
{
	CustomScan *scan = makeNode(CustomScan);

	ifp_take(path);
	scan->scan.plan.targetlist = target;
	scan->custom_scan_tlist = copyObject(((const Plan *)linitial(plans))->targetlist);
	scan->custom_plans = plans;
	scan->custom_private = path->custom_private;
	scan->flags = path->flags;
	scan->methods = GetCustomScanMethods(name, false);
	return scan;
}
