#include "pg_ext/planner/wish.h"

#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/dimension.h"
#include "pg_ext/planner/query_level.h"

/* ---- columns ---- */

static struct ifp_wished_column *column_of(struct ifp_wish *wish, AttrNumber number)
{
	struct ifp_wished_column *column;
	ListCell *cell;
	int at = 0;

	foreach (cell, wish->columns) {
		column = lfirst(cell);
		if (column->number == number)
			return column;
		at += column->number < number;
	}
	column = palloc0(sizeof *column);
	column->number = number;
	wish->columns = list_insert_nth(wish->columns, at, column);
	return column;
}

/* ---- expressions ---- */

struct use_reading {
	struct ifp_wish *wish;
	Index relid;
	const RelOptInfo *rel;
	unsigned use;
	bool has_bounds; /* comparisons add bounds to a column */
};

static bool read_uses(Node *node, void *context);

static void read_as(Node *node, const struct use_reading *reading, unsigned use)
{
	struct use_reading inner = *reading;

	inner.use = use;
	(void)read_uses(node, &inner);
}

static bool is_column(const Node *node, const struct use_reading *reading)
{
	return IsA(node, Var) && (Index)((const Var *)node)->varno == reading->relid && ((const Var *)node)->varlevelsup == 0 &&
	       ((const Var *)node)->varattno > 0;
}

static bool read_integer(const Node *node, int64 *integer)
{
	const Const *constant = (const Const *)node;

	if (!IsA(node, Const) || constant->constisnull)
		return false;
	switch (constant->consttype) {
	case INT2OID:
		*integer = DatumGetInt16(constant->constvalue);
		return true;
	case INT4OID:
		*integer = DatumGetInt32(constant->constvalue);
		return true;
	case INT8OID:
		*integer = DatumGetInt64(constant->constvalue);
		return true;
	default:
		return false;
	}
}

static void add_bound(const struct use_reading *reading, const Var *var, int64 last_below)
{
	struct ifp_wished_column *column = column_of(reading->wish, var->varattno);
	Const *bound = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(last_below), false, FLOAT8PASSBYVAL);

	column->bounds = list_append_unique(column->bounds, bound);
}

/* A comparison with a constant splits an integer column after the constant, or before it. */
static void read_bound(const struct use_reading *reading, Oid operator, List * arguments)
{
	Node *left = linitial(arguments), *right = lsecond(arguments);
	int64 bound;
	char *name;

	if (!is_column(left, reading)) {
		Node *other = left;

		operator= get_commutator(operator);
		left = right;
		right = other;
	}
	if (!OidIsValid(operator) || !is_column(left, reading) || !read_integer(right, &bound))
		return;
	name = get_opname(operator);
	if (strcmp(name, "<") == 0 || strcmp(name, ">=") == 0) {
		if (bound > PG_INT64_MIN)
			add_bound(reading, (Var *)left, bound - 1);
	} else {
		add_bound(reading, (Var *)left, bound);
	}
}

/* width_bucket(v, bounds) counts from the next bound on. */
static void read_bucket_bounds(const struct use_reading *reading, List *arguments)
{
	const Const *array = lsecond(arguments);
	Datum *items;
	bool *nulls;
	int n_items;

	if (!is_column(linitial(arguments), reading) || !IsA(array, Const) || array->constisnull)
		return;
	if (array->consttype == INT4ARRAYOID)
		deconstruct_array(DatumGetArrayTypeP(array->constvalue), INT4OID, sizeof(int32), true, TYPALIGN_INT, &items,
				  &nulls, &n_items);
	else if (array->consttype == INT8ARRAYOID)
		deconstruct_array(DatumGetArrayTypeP(array->constvalue), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
				  TYPALIGN_DOUBLE, &items, &nulls, &n_items);
	else
		return;
	for (int i = 0; i < n_items; i++) {
		int64 bound = nulls[i]				 ? PG_INT64_MIN
			      : array->consttype == INT4ARRAYOID ? DatumGetInt32(items[i])
								 : DatumGetInt64(items[i]);

		if (bound > PG_INT64_MIN)
			add_bound(reading, linitial(arguments), bound - 1);
	}
}

static bool read_comparison(Node *node, const struct use_reading *reading)
{
	const OpExpr *call = (const OpExpr *)node;
	bool is_range = IsA(node, OpExpr) && list_length(call->args) == 2 && ifp_is_inequality(call->opno);

	if (!is_range && exprType(node) != BOOLOID)
		return expression_tree_walker(node, read_uses, unconstify(struct use_reading *, reading));
	if (is_range && reading->has_bounds)
		read_bound(reading, call->opno, call->args);
	read_as(IsA(node, OpExpr) ? (Node *)call->args : (Node *)((const ScalarArrayOpExpr *)node)->args, reading,
		is_range ? IFP_USE_RANGE : IFP_USE_CONDITION);
	return false;
}

static bool is_named(Oid function, const char *const *names, size_t n_names)
{
	const char *name = get_func_name(function);

	for (size_t i = 0; name && i < n_names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* count() of a column without NULLs counts rows. */
static bool is_count_of_rows(const Aggref *aggregate, const struct use_reading *reading)
{
	static const char *const count[] = { "count" };
	const Node *argument =
		list_length(aggregate->args) == 1 ? (const Node *)linitial_node(TargetEntry, aggregate->args)->expr : NULL;

	return argument && aggregate->aggdistinct == NIL && is_named(aggregate->aggfnoid, count, lengthof(count)) &&
	       is_column(argument, reading) &&
	       ifp_is_not_null(reading->rel, reading->wish->table, ((const Var *)argument)->varattno);
}

static void add_product(const Aggref *aggregate, const struct use_reading *reading)
{
	const Node *first = (const Node *)linitial_node(TargetEntry, aggregate->args)->expr;
	const Node *second = (const Node *)lsecond_node(TargetEntry, aggregate->args)->expr;

	first = strip_implicit_coercions(unconstify(Node *, first));
	second = strip_implicit_coercions(unconstify(Node *, second));
	if (is_column(first, reading) && is_column(second, reading))
		reading->wish->products =
			list_append_unique(reading->wish->products,
					   list_make2_int(((const Var *)first)->varattno, ((const Var *)second)->varattno));
}

static bool read_aggregate(const Aggref *aggregate, const struct use_reading *reading)
{
	static const char *const variances[] = { "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop" };
	static const char *const products[] = { "corr",		  "covar_pop", "covar_samp", "regr_slope",
						"regr_intercept", "regr_r2",   "regr_sxx",   "regr_syy",
						"regr_sxy",	  "regr_avgx", "regr_avgy",  "regr_count" };
	static const char *const sketches[] = { "iforest_sketch" };
	struct use_reading inner = *reading;

	inner.has_bounds = true;
	inner.use = IFP_USE_AGGREGATE;
	if (is_named(aggregate->aggfnoid, variances, lengthof(variances)))
		inner.use |= IFP_USE_VARIANCE;
	if (is_named(aggregate->aggfnoid, sketches, lengthof(sketches)))
		inner.use |= IFP_USE_SKETCH;
	if (list_length(aggregate->args) == 2 && is_named(aggregate->aggfnoid, products, lengthof(products)))
		add_product(aggregate, reading);
	if (!is_count_of_rows(aggregate, reading))
		(void)read_uses((Node *)aggregate->args, &inner);
	inner.use = IFP_USE_CONDITION;
	(void)read_uses((Node *)aggregate->aggfilter, &inner);
	return false;
}

static bool read_uses(Node *node, void *context)
{
	const struct use_reading *reading = context;

	if (!node)
		return false;
	switch (nodeTag(node)) {
	case T_Var:
		if (is_column(node, reading)) {
			struct ifp_wished_column *column = column_of(reading->wish, castNode(Var, node)->varattno);

			column->uses |= reading->use;
			column->n_ranges += !reading->has_bounds && (reading->use & IFP_USE_RANGE) != 0;
		}
		return false;
	case T_RestrictInfo:
		return read_uses((Node *)castNode(RestrictInfo, node)->clause, context);
	case T_Aggref:
		return read_aggregate(castNode(Aggref, node), reading);
	case T_OpExpr:
	case T_ScalarArrayOpExpr:
	case T_DistinctExpr:
		return read_comparison(node, reading);
	case T_NullTest:
		read_as((Node *)castNode(NullTest, node)->arg, reading, IFP_USE_RANGE);
		return false;
	case T_FuncExpr:
		if (castNode(FuncExpr, node)->funcid == F_WIDTH_BUCKET_ANYCOMPATIBLE_ANYCOMPATIBLEARRAY)
			read_bucket_bounds(reading, castNode(FuncExpr, node)->args);
		return expression_tree_walker(node, read_uses, context);
	case T_SubPlan:
	case T_AlternativeSubPlan:
		return false;
	default:
		return expression_tree_walker(node, read_uses, context);
	}
}

/* ---- levels ---- */

static List **collecting;

static struct ifp_wish *add_wish(void)
{
	struct ifp_wish *wish = palloc0(sizeof *wish);

	*collecting = lappend(*collecting, wish);
	return wish;
}

/* True for a table that can have an index: then *reading begins a wish. */
static bool begin(PlannerInfo *root, RelOptInfo *rel, struct use_reading *reading)
{
	const RangeTblEntry *table;
	char kind;

	if (!IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel))
		return false;
	table = planner_rt_fetch(rel->relid, root);
	kind = table->relkind;
	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE && kind != RELKIND_MATVIEW) ||
	    get_rel_namespace(table->relid) == PG_CATALOG_NAMESPACE)
		return false;
	*reading = (struct use_reading){ .wish = add_wish(), .relid = rel->relid, .rel = rel };
	reading->wish->table = table->relid;
	reading->wish->n_rows = Max(rel->tuples, 0);
	for (int i = 0; i < rel->nparts; i++)
		if (rel->part_rels[i])
			reading->wish->n_rows += Max(rel->part_rels[i]->tuples, 0);
	return true;
}

static void read_groups(const struct ifp_query_level *level, const struct use_reading *reading)
{
	struct use_reading inner = *reading;
	ListCell *cell;

	inner.has_bounds = true;
	foreach (cell, level->groups) {
		Node *group = ifp_query_level_expression(level, lfirst(cell));

		inner.use = is_column(group, reading) ? IFP_USE_GROUP : IFP_USE_GROUP_WITHIN;
		(void)read_uses(group, &inner);
	}
}

static bool collect_aggregates(Node *node, void *aggregates)
{
	if (!node)
		return false;
	if (IsA(node, Aggref)) {
		*(List **)aggregates = lappend(*(List **)aggregates, node);
		return false;
	}
	return expression_tree_walker(node, collect_aggregates, aggregates);
}

/* Reads the uses of the table's columns at the level. */
static void wish_for_table(const struct ifp_query_level *level)
{
	List *aggregates = NIL;
	struct use_reading reading;
	ListCell *cell;

	if (!begin(level->root, level->rel, &reading))
		return;
	read_groups(level, &reading);
	(void)collect_aggregates((Node *)level->outputs, &aggregates);
	foreach (cell, aggregates)
		(void)read_uses(ifp_query_level_expression(level, lfirst(cell)), &reading);
	foreach (cell, ifp_query_level_restrictions(level, level->rel->baserestrictinfo))
		read_as(lfirst(cell), &reading, IFP_USE_CONDITION);
	/* dimensions are joined on by columns */
	foreach (cell, level->dimensions)
		read_as((Node *)((const struct ifp_joined *)lfirst(cell))->equalities, &reading, IFP_USE_GROUP);
	foreach (cell, level->join_conditions)
		read_as(lfirst(cell), &reading, IFP_USE_CONDITION);
}

/* The largest table of a join, to which the others are dimensions. */
static void wish_for_join(const struct ifp_query_level *level)
{
	RelOptInfo *fact = NULL;
	struct ifp_query_level joined = *level;
	int relid = -1;

	while ((relid = bms_next_member(level->rel->relids, relid)) >= 0) {
		RelOptInfo *rel = bms_is_member(relid, level->root->all_baserels) ? find_base_rel(level->root, relid) : NULL;

		if (rel && rel->rtekind == RTE_RELATION && (!fact || rel->tuples > fact->tuples))
			fact = rel;
	}
	if (fact && !ifp_dimensions_enter(&joined, fact))
		wish_for_table(&joined);
	else
		add_wish()->reason = "tables are joined below the aggregates";
}

static List *over_arm(const struct ifp_query_level *level, List *expressions, AppendRelInfo *arm)
{
	Node *over_union = ifp_query_level_expression(level, (Node *)expressions);

	return (List *)adjust_appendrel_attrs(level->root, over_union, 1, &arm);
}

/* The tables under a UNION ALL: each gets the wish of the level over them. */
static void wish_for_union(const struct ifp_query_level *level)
{
	ListCell *cell;

	foreach (cell, level->root->append_rel_list) {
		AppendRelInfo *info = lfirst_node(AppendRelInfo, cell);
		RelOptInfo *arm = level->root->simple_rel_array[info->child_relid];
		struct ifp_query_level of_arm = *level;
		int n_before = list_length(*collecting);

		if (info->parent_relid != level->rel->relid || !arm)
			continue;
		of_arm.rel = arm;
		of_arm.groups = over_arm(level, level->groups, info);
		of_arm.outputs = over_arm(level, level->outputs, info);
		wish_for_table(&of_arm);
		if (list_length(*collecting) > n_before)
			((struct ifp_wish *)llast(*collecting))->together = level->rel;
	}
}

static bool is_union(const struct ifp_query_level *level)
{
	return level->rel->reloptkind == RELOPT_BASEREL && level->rel->rtekind == RTE_SUBQUERY &&
	       planner_rt_fetch(level->rel->relid, level->root)->inh;
}

static void wish_for_groups(struct ifp_query_level *level)
{
	(void)ifp_query_level_enter(level);
	if (IS_JOIN_REL(level->rel))
		wish_for_join(level);
	else if (is_union(level))
		wish_for_union(level);
	else
		wish_for_table(level);
}

/* The first rows of groups: DISTINCT ON, or a window function with an upper limit. */
static void wish_for_first_rows(PlannerInfo *root, RelOptInfo *rel, List *groups, List *orders)
{
	struct use_reading reading;
	ListCell *cell;

	if (groups == NIL || orders == NIL || IS_JOIN_REL(rel) || !begin(root, rel, &reading))
		return;
	foreach (cell, groups)
		read_as(lfirst(cell), &reading, IFP_USE_GROUP);
	read_as(linitial(orders), &reading, IFP_USE_ORDER_OF_GROUP);
	foreach (cell, rel->baserestrictinfo)
		read_as(lfirst(cell), &reading, IFP_USE_CONDITION);
}

static void wish_for_distinct(PlannerInfo *root, RelOptInfo *rel, struct ifp_query_level *level)
{
	const Query *parse = root->parse;
	List *groups = get_sortgrouplist_exprs(parse->distinctClause, root->processed_tlist), *orders;

	if (parse->groupClause || parse->hasAggs || parse->hasWindowFuncs || parse->setOperations || parse->groupingSets)
		return;
	if (!parse->hasDistinctOn) {
		level->groups = groups;
		wish_for_groups(level);
		return;
	}
	orders = get_sortgrouplist_exprs(parse->sortClause, root->processed_tlist);
	wish_for_first_rows(root, rel, groups, list_difference(orders, groups));
}

static void wish_for_window(PlannerInfo *root, RelOptInfo *rel)
{
	const Query *parse = root->parse;
	const WindowClause *window = linitial(parse->windowClause);

	if (list_length(parse->windowClause) != 1 || parse->groupClause || parse->hasAggs || parse->groupingSets)
		return;
	wish_for_first_rows(root, rel, get_sortgrouplist_exprs(window->partitionClause, root->processed_tlist),
			    get_sortgrouplist_exprs(window->orderClause, root->processed_tlist));
}

/* ORDER BY and LIMIT over a table's rows. */
static void wish_for_order(PlannerInfo *root, RelOptInfo *rel)
{
	const Query *parse = root->parse;
	struct use_reading reading;
	ListCell *cell;
	Node *order;

	if (parse->sortClause == NIL || !parse->limitCount || parse->groupClause || parse->hasAggs || parse->hasWindowFuncs ||
	    parse->distinctClause || parse->setOperations || IS_JOIN_REL(rel))
		return;
	order = get_sortgroupclause_expr(linitial(parse->sortClause), root->processed_tlist);
	if (!begin(root, rel, &reading))
		return;
	read_as(order, &reading, IFP_USE_ORDER);
	foreach (cell, rel->baserestrictinfo)
		read_as(lfirst(cell), &reading, IFP_USE_CONDITION);
}

void ifp_wishes_consider(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
			 GroupPathExtraData *extra)
{
	struct ifp_query_level level = { .upper = root, .root = root, .rel = input };

	if (!collecting)
		return;
	if (stage == UPPERREL_GROUP_AGG) {
		level.groups = get_sortgrouplist_exprs(root->parse->groupClause, root->processed_tlist);
		level.outputs = list_concat(list_copy(output->reltarget->exprs), (List *)extra->havingQual);
		wish_for_groups(&level);
	} else if (stage == UPPERREL_DISTINCT) {
		wish_for_distinct(root, input, &level);
	} else if (stage == UPPERREL_WINDOW) {
		wish_for_window(root, input);
	} else if (stage == UPPERREL_ORDERED) {
		wish_for_order(root, input);
	}
}

void ifp_wishes_collect(List **wishes)
{
	collecting = wishes;
}
