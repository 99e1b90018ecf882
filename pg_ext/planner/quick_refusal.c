#include "pg_ext/planner/quick_refusal.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/dimension.h"
#include "pg_ext/planner/value_steps.h"

/* ---- columns ---- */

pg_attribute_hot bool ifp_is_never_null(const struct ifp_query_level *level, Var *var)
{
	Oid table = planner_rt_fetch(level->rel->relid, level->root)->relid;

	return (Index)var->varno == level->rel->relid && var->varattno > 0 && var->varlevelsup == 0 &&
	       ifp_is_not_null(level->rel, table, var->varattno);
}

/* True if a unique index proves that no two rows have the same value of a column. */
static bool has_unique_index(const RelOptInfo *rel, const Var *column, Oid equality)
{
	ListCell *cell;

	foreach (cell, rel->indexlist) {
		const IndexOptInfo *index = lfirst(cell);

		if (index->unique && index->immediate && index->nkeycolumns == 1 && index->indexkeys[0] == column->varattno &&
		    index->indpred == NIL && index->indexcollations[0] == column->varcollid &&
		    op_in_opfamily(equality, index->opfamily[0]))
			return true;
	}
	return false;
}

/* True if an expression, or a CASE at any depth, gives one column or NULL to each row, and nothing else. */
static bool gives_only(Node *node, Var **column)
{
	CaseExpr *choice = (CaseExpr *)node;
	ListCell *cell;

	if (!node || (IsA(node, Const) && castNode(Const, node)->constisnull))
		return true;
	if (IsA(node, Var)) {
		bool is_same = !*column || equal(node, *column);

		*column = (Var *)node;
		return is_same;
	}
	if (!IsA(node, CaseExpr))
		return false;
	foreach (cell, choice->args)
		if (!gives_only((Node *)lfirst_node(CaseWhen, cell)->result, column))
			return false;
	return gives_only((Node *)choice->defresult, column);
}

bool ifp_differs_by_row(const struct ifp_query_level *level, Node *expression, Oid equality)
{
	Var *column = NULL;

	return gives_only(expression, &column) && column && ifp_is_never_null(level, column) &&
	       has_unique_index(level->rel, column, equality) && ifp_dimensions_are_unique(level);
}

/* Returns the column of a list cell; NULL if it is an expression. */
pg_attribute_hot static const Var *column_of(const ListCell *cell)
{
	const Node *node = lfirst(cell);

	if (IsA(node, TargetEntry))
		node = (const Node *)((const TargetEntry *)node)->expr;
	return IsA(node, Var) ? (const Var *)node : NULL;
}

pg_attribute_hot static bool all_are_vars(const List *columns)
{
	ListCell *cell;

	foreach (cell, columns)
		if (!column_of(cell))
			return false;
	return true;
}

pg_attribute_hot static bool has_column(const List *columns, const Var *var)
{
	ListCell *cell;

	foreach (cell, columns) {
		const Var *column = column_of(cell);

		if (column->varattno == var->varattno && column->varno == var->varno && var->varlevelsup == 0)
			return true;
	}
	return false;
}

/* ---- columns that an index lacks ---- */

struct looking {
	const List *columns;
	Var *lacking;
};

pg_attribute_hot static bool is_lacking(Node *node, void *context)
{
	struct looking *looking = context;

	if (!node)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, is_lacking, context);
	if (has_column(looking->columns, castNode(Var, node)))
		return false;
	looking->lacking = castNode(Var, node);
	return true;
}

pg_attribute_hot Var *ifp_find_lacking(const struct ifp_query_level *level, const List *restrictions, const List *columns)
{
	struct looking looking = { .columns = columns };
	ListCell *cell;

	/* the outer level may not need what subqueries compute */
	if (level->layers != NIL || !all_are_vars(columns))
		return NULL;
	foreach (cell, restrictions)
		if (is_lacking((Node *)lfirst_node(RestrictInfo, cell)->clause, &looking))
			return looking.lacking;
	/* a count does not need columns that are never NULL */
	foreach (cell, level->rel->reltarget->exprs) {
		Var *var = lfirst(cell);

		if (IsA(var, Var) && var->varattno > 0 && !has_column(columns, var) && !ifp_is_never_null(level, var))
			return var;
	}
	return NULL;
}

/* ---- expressions over value columns ---- */

/* The value columns in an expression. */
struct value_columns {
	const List *columns;
	const IndexOptInfo *index;
	AttrNumber attribute; /* the last one found */
	bool has_others;      /* other columns, too */
};

static bool find_values(Node *node, void *context)
{
	struct value_columns *found = context;
	const Var *var = (const Var *)node;

	if (!node)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, find_values, context);
	for (int i = found->index->nkeycolumns; i < found->index->ncolumns; i++) {
		const Var *column = column_of(list_nth_cell(found->columns, i));

		if (column->varattno == var->varattno && column->varno == var->varno && var->varlevelsup == 0) {
			found->has_others = found->has_others || (found->attribute && found->attribute != var->varattno);
			found->attribute = var->varattno;
			return false;
		}
	}
	found->has_others = true;
	return false;
}

static struct value_columns values_in(const List *columns, const IndexOptInfo *index, Node *node)
{
	struct value_columns found = { .columns = columns, .index = index };

	(void)find_values(node, &found);
	return found;
}

static bool has_drawable(Node *node, void *context)
{
	return node && (ifp_value_steps_may_draw(node) || expression_tree_walker(node, has_drawable, context));
}

/* True if values may be told apart where the expression changes: by comparisons in it, or because it is a division of
 * numerics. */
static bool may_be_told_apart(Node *expression)
{
	if (IsA(expression, OpExpr) && castNode(OpExpr, expression)->opfuncid == F_NUMERIC_DIV)
		return true;
	return has_drawable(expression, NULL);
}

/* True for sums and averages over which no index's sums distribute, and for those, and counts, of different values of a value
 * column. */
static bool is_too_much(const struct ifp_query_level *level, const List *columns, const IndexOptInfo *index, Aggref *aggregate)
{
	Node *argument;
	struct value_columns found;

	if (list_length(aggregate->args) != 1 || aggregate->aggfilter || aggregate->aggdirectargs != NIL)
		return false;
	argument = (Node *)linitial_node(TargetEntry, aggregate->args)->expr;
	found = values_in(columns, index, argument);
	if (found.attribute == 0 || found.has_others)
		return false;
	if (aggregate->aggdistinct != NIL)
		return IsA(argument, Var) && !ifp_approximate_distinct && ifp_aggregate_adds_up(aggregate) &&
		       !ifp_differs_by_row(level, argument, linitial_node(SortGroupClause, aggregate->aggdistinct)->eqop);
	return !IsA(argument, Var) && ifp_aggregate_is_sum(aggregate) && !ifp_is_affine(argument, found.attribute) &&
	       !may_be_told_apart(argument);
}

/* Rows that each value of a column must have for classes to be worthwhile. */
enum { FEWEST_ROWS_OF_CLASS = 250 };

/* True if a column of a group key has so many different values that a plain plan costs less than splitting rows by them. */
static bool has_many_values(const struct ifp_query_level *level, Node *key)
{
	ListCell *cell;

	if (ifp_is_disabled((level->join ? level->join : level->rel)->cheapest_total_path))
		return false;
	foreach (cell, pull_var_clause(key, PVC_RECURSE_PLACEHOLDERS)) {
		VariableStatData variable;
		bool is_default;
		double n;

		examine_variable(level->root, lfirst(cell), 0, &variable);
		n = get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
		if (n * FEWEST_ROWS_OF_CLASS > level->rel->tuples)
			return true;
	}
	return false;
}

pg_attribute_hot bool ifp_asks_too_much(const struct ifp_query_level *level, const List *columns, const IndexOptInfo *index,
					const List *aggregates)
{
	ListCell *cell;

	if (level->layers != NIL || !all_are_vars(columns))
		return false;
	foreach (cell, aggregates)
		if (is_too_much(level, columns, index, lfirst_node(Aggref, cell)))
			return true;
	foreach (cell, level->groups)
		if (values_in(columns, index, lfirst(cell)).attribute && !may_be_told_apart(lfirst(cell)) &&
		    has_many_values(level, lfirst(cell)))
			return true;
	return false;
}
