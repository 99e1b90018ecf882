#include "pg_ext/planner/topk_path.h"

#include "pg_ext/base/engine.h"

#include "access/transam.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg_ext/am/index_scan.h"
#include "pg_ext/base/compat.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/planner/index_clauses.h"
#include "pg_ext/planner/index_fields.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/query_match.h"
#include "pg_ext/storage/index.h"

/* Limits on entries from a query's conditions on values and ends of spans. They only prune: all conditions are rechecked.
 */
struct topk_limits {
	bool has_nulls, has_values;
	List *expressions, *types; /* of bounds: enum ifp_scan_bound_type */
};

/* ---- conditions on the value ---- */

static void add_bound(struct topk_limits *limits, Node *expression, enum ifp_scan_bound_type type)
{
	limits->expressions = lappend(limits->expressions, expression);
	limits->types = lappend_int(limits->types, (int)type);
}

/* A comparison in the order of the value's type is false for NULL; one with a constant of the same type is a bound. */
static void read_comparison(PlannerInfo *root, OpExpr *clause, IndexOptInfo *index, int column, Oid type,
			    struct topk_limits *limits)
{
	Oid family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	bool is_left = list_length(clause->args) == 2 && match_index_to_operand(linitial(clause->args), column, index);
	Node *other;
	int strategy;

	if (!is_left && (list_length(clause->args) != 2 || !match_index_to_operand(lsecond(clause->args), column, index)))
		return;
	strategy = get_op_opfamily_strategy(clause->opno, family);
	other = is_left ? lsecond(clause->args) : linitial(clause->args);
	if (strategy == InvalidStrategy)
		return;
	limits->has_nulls = false;
	if (type == NUMERICOID || getBaseType(exprType(other)) != type || !is_pseudo_constant_for_index(root, other, index))
		return;
	if (strategy == BTEqualStrategyNumber || (strategy < BTEqualStrategyNumber) != is_left)
		add_bound(limits, other, IFP_BOUND_LOW);
	if (strategy == BTEqualStrategyNumber || (strategy < BTEqualStrategyNumber) == is_left)
		add_bound(limits, other, IFP_BOUND_HIGH);
}

/* Reads the conditions on a value column of the index, which has this base type. */
static struct topk_limits limits_of(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index, int column, Oid type)
{
	const Var *value = castNode(Var, list_nth_node(TargetEntry, index->indextlist, column)->expr);
	Oid table = planner_rt_fetch(rel->relid, root)->relid;
	struct topk_limits limits = { .has_nulls = !ifp_is_not_null(rel, table, value->varattno), .has_values = true };
	ListCell *cell;

	foreach (cell, rel->baserestrictinfo) {
		Expr *clause = lfirst_node(RestrictInfo, cell)->clause;

		if (IsA(clause, OpExpr))
			read_comparison(root, castNode(OpExpr, clause), index, column, type, &limits);
		else if (IsA(clause, NullTest) &&
			 match_index_to_operand((Node *)castNode(NullTest, clause)->arg, column, index))
			*(castNode(NullTest, clause)->nulltesttype == IS_NULL ? &limits.has_values : &limits.has_nulls) = false;
	}
	return limits;
}

/* ---- conditions on the end of the span ---- */

/* True if ends can be compared with times as numbers; local time and UTC cannot. */
static bool is_of_time(const IndexOptInfo *index, int column)
{
	Oid end = getBaseType(exprType((Node *)list_nth_node(TargetEntry, index->indextlist, column)->expr));

	return end == index->opcintype[index->nkeycolumns - 1] || (end != TIMESTAMPOID && end != TIMESTAMPTZOID);
}

/* True if the node is the end of the span: time + duration, or the column of ends. */
static bool is_end(Node *node, IndexOptInfo *index, const struct iforest_node_schema *fields)
{
	int time = index->nkeycolumns - 1, duration = index->nkeycolumns + fields->duration_value;
	OpExpr *sum = (OpExpr *)node;
	char *name;

	if (fields->end_rule == IFOREST_END_COLUMN)
		return match_index_to_operand(node, duration, index) && is_of_time(index, duration);
	if (fields->end_rule != IFOREST_END_DURATION || !IsA(node, OpExpr) || list_length(sum->args) != 2)
		return false;
	name = sum->opno < FirstNormalObjectId ? get_opname(sum->opno) : NULL;
	if (!name || strcmp(name, "+") != 0)
		return false;
	return (match_index_to_operand(linitial(sum->args), time, index) &&
		match_index_to_operand(lsecond(sum->args), duration, index)) ||
	       (match_index_to_operand(linitial(sum->args), duration, index) &&
		match_index_to_operand(lsecond(sum->args), time, index));
}

/* Returns the expression in the type of the time column; NULL if the conversion is not simple. */
static Node *as_time(Node *expression, Oid time_type)
{
	Oid type = exprType(expression);

	if (type == time_type)
		return expression;
	if (time_type == INT8OID && (type == INT4OID || type == INT2OID))
		return (Node *)makeFuncExpr(type == INT4OID ? F_INT8_INT4 : F_INT8_INT2, INT8OID, list_make1(expression),
					    InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST);
	return NULL;
}

/* Returns the time of a condition that spans end after (or at) a time; NULL for another condition. */
static Node *read_reach(PlannerInfo *root, OpExpr *clause, IndexOptInfo *index, const struct iforest_node_schema *fields,
			enum ifp_scan_bound_type *type)
{
	int time = index->nkeycolumns - 1;
	bool is_left = is_end(linitial(clause->args), index, fields);
	Node *other = is_left ? lsecond(clause->args) : linitial(clause->args);
	int strategy;

	if ((!is_left && !is_end(lsecond(clause->args), index, fields)) || !is_pseudo_constant_for_index(root, other, index))
		return NULL;
	strategy = get_op_opfamily_strategy(clause->opno, index->opfamily[time]);
	if (strategy == (is_left ? BTGreaterStrategyNumber : BTLessStrategyNumber))
		*type = IFP_BOUND_REACHES_BEYOND;
	else if (strategy == (is_left ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber))
		*type = IFP_BOUND_REACHES;
	else
		return NULL;
	return as_time(other, index->opcintype[time]);
}

static bool is_date(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* True if the node may be the end of a span: a sum, or a value column of the index that may be compared with its times. */
pg_attribute_hot static bool may_be_end(const Node *node, const IndexOptInfo *index)
{
	const Var *var;

	while (IsA(node, RelabelType))
		node = (const Node *)((const RelabelType *)node)->arg;
	if (!IsA(node, Var))
		return IsA(node, OpExpr) || (index->indexprs != NIL && !IsA(node, Const) && !IsA(node, Param));
	var = (const Var *)node;
	for (int i = index->nkeycolumns; i < index->ncolumns; i++)
		if (index->indexkeys[i] == var->varattno)
			return var->vartype >= FirstGenbkiObjectId ||
			       is_date(var->vartype) == is_date(index->opcintype[index->nkeycolumns - 1]);
	return false;
}

/* True if a condition may be on the end of spans, whatever ends the index keeps. Checked first, because reading the index to
 * find out its ends is not free. */
pg_attribute_hot static bool may_have_reach(PlannerInfo *root, IndexOptInfo *index)
{
	ListCell *cell;

	foreach (cell, index->indrestrictinfo) {
		OpExpr *clause = (OpExpr *)lfirst_node(RestrictInfo, cell)->clause;
		enum ifp_scan_bound_type type;

		if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
		    (!may_be_end(linitial(clause->args), index) && !may_be_end(lsecond(clause->args), index)))
			continue;
		for (int v = 0; v < index->ncolumns - index->nkeycolumns; v++) {
			struct iforest_node_schema of_duration = { .duration_value = (uint8)v,
								   .end_rule = IFOREST_END_DURATION };
			struct iforest_node_schema of_end = { .duration_value = (uint8)v, .end_rule = IFOREST_END_COLUMN };

			if (read_reach(root, clause, index, &of_duration, &type) ||
			    read_reach(root, clause, index, &of_end, &type))
				return true;
		}
	}
	return false;
}

/* True if the conditions exclude rows without a time: the index keeps ends only of rows with a time. */
static bool have_times(PlannerInfo *root, IndexOptInfo *index)
{
	Expr *time = list_nth_node(TargetEntry, index->indextlist, index->nkeycolumns - 1)->expr;
	Oid table = planner_rt_fetch(index->rel->relid, root)->relid;
	List *conditions = extract_actual_clauses(index->indrestrictinfo, false);
	NullTest *test = makeNode(NullTest);

	if (IsA(time, Var) && ifp_is_not_null(index->rel, table, ((Var *)time)->varattno))
		return true;
	test->arg = time;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return predicate_implied_by(list_make1(test), list_concat_copy(index->indpred, conditions), false);
}

/* Adds the bounds on the end of the span, if the index was built with a duration or an end. Returns the time of the last one,
 * or NULL if there is none. */
static Node *add_reach(PlannerInfo *root, IndexOptInfo *index, struct topk_limits *limits)
{
	struct iforest_node_schema fields;
	Node *reach = NULL;
	ListCell *cell;

	if (!may_have_reach(root, index))
		return NULL;
	fields = *ifp_index_fields(index->indexoid);
	if (fields.end_rule == IFOREST_END_COLUMN && !have_times(root, index))
		return NULL;
	foreach (cell, fields.duration_value == IFOREST_NO_VALUE ? NIL : index->indrestrictinfo) {
		OpExpr *clause = (OpExpr *)lfirst_node(RestrictInfo, cell)->clause;
		enum ifp_scan_bound_type type;
		Node *found = IsA(clause, OpExpr) && list_length(clause->args) == 2
				      ? read_reach(root, clause, index, &fields, &type)
				      : NULL;

		if (found)
			add_bound(limits, found, type);
		reach = found ? found : reach;
	}
	return reach;
}
/* ---- the path ---- */

/* Measured costs in units of cpu_operator_cost: of finding the next entry, without fetching its row, and of an entry of the leaf
 * pages that a search by value looks at before it finds the first. */
enum { OPERATORS_AN_ENTRY = 200, OPERATORS_A_VALUE = 2, VALUES_OF_A_SEARCH = 2000 };

Cost ifp_topk_search_cost(double n_entries)
{
	return Min(n_entries, VALUES_OF_A_SEARCH) * OPERATORS_A_VALUE * cpu_operator_cost;
}

/* Estimates the entries that pass conditions on series and times, without the few spans that start before the reach. */
static double entries_reached(PlannerInfo *root, const IndexPath *below, Node *reach)
{
	const IndexOptInfo *index = below->indexinfo;
	int time = index->nkeycolumns - 1;
	Oid type = index->opcintype[time], operator= get_opfamily_member(index->opfamily[time], type, type,
									 BTGreaterEqualStrategyNumber);
	Expr *time_column = list_nth_node(TargetEntry, index->indextlist, time)->expr;
	List *clauses = NIL;
	ListCell *cell;

	foreach (cell, below->indexclauses)
		clauses = lappend(clauses, lfirst_node(IndexClause, cell)->rinfo);
	if (OidIsValid(operator))
		clauses = lappend(clauses,
				  make_opclause(operator, BOOLOID, false, time_column, (Expr *)reach, InvalidOid, InvalidOid));
	return clamp_row_est(clauselist_selectivity(root, clauses, (int)index->rel->relid, JOIN_INNER, NULL) * index->tuples);
}

/* In the order of a value, each entry costs a row fetch from anywhere in the table, and LIMIT pays only for the rows it takes.
 * In time order rows are adjacent, as for the scan below. */
static void estimate(PlannerInfo *root, CustomPath *path, const IndexPath *below, const RelOptInfo *rel, Node *reach,
		     bool by_value)
{
	double n_below = clamp_row_est(below->indexselectivity * below->indexinfo->tuples);
	double n_entries = reach ? Min(entries_reached(root, below, reach), n_below) : n_below;
	Cost an_entry = random_page_cost + cpu_tuple_cost + rel->baserestrictcost.per_tuple;

	if (!by_value)
		an_entry = (below->path.total_cost - below->path.startup_cost) / n_below;
	path->path.rows = below->path.rows;
	path->path.startup_cost = below->path.startup_cost + rel->baserestrictcost.startup + random_page_cost +
				  (by_value ? ifp_topk_search_cost(n_entries) : 0);
	path->path.total_cost = path->path.startup_cost + n_entries * (an_entry + OPERATORS_AN_ENTRY * cpu_operator_cost) +
				below->path.rows * path->path.pathtarget->cost.per_tuple;
	ifp_copy_disabled(&path->path, &below->path);
}

/* Returns the order as EXPLAIN shows it. */
static char *order_text(PlannerInfo *root, const IndexOptInfo *index, const struct ifp_value_order *order)
{
	const Var *value =
		castNode(Var, list_nth_node(TargetEntry, index->indextlist, index->nkeycolumns + order->value)->expr);
	const char *column = get_attname(planner_rt_fetch(index->rel->relid, root)->relid, value->varattno, false);

	return psprintf("%s%s%s", quote_identifier(column), order->descends ? " DESC" : "",
			order->nulls_first == order->descends ? ""
			: order->descends		      ? " NULLS LAST"
							      : " NULLS FIRST");
}

static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target, List *clauses, List *plans)
{
	bool by_value = linitial_int(lsecond(path->custom_private)) >= 0;
	CustomScan *scan = ifp_plan_above(path, target, plans, by_value ? "IForestTopK" : "IForestReach");

	(void)root;
	(void)rel;
	(void)clauses; /* the index scan has them */
	scan->custom_exprs = linitial(path->custom_private);
	scan->custom_private = list_copy_tail(path->custom_private, 1);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestTopK", .PlanCustomPath = plan_path };

/* Returns the cost of the rows that the level's LIMIT takes, if the path has this order or must be sorted first. */
static Cost cost_of_first(PlannerInfo *root, const Path *path, bool is_ordered)
{
	Path sorted = *path;

	if (!is_ordered && root->query_pathkeys)
		ifp_cost_sort(&sorted, root, root->query_pathkeys, path, root->limit_tuples);
	if (root->limit_tuples <= 0 || root->limit_tuples >= path->rows)
		return sorted.total_cost;
	return sorted.startup_cost + (sorted.total_cost - sorted.startup_cost) * root->limit_tuples / path->rows;
}

static void offer(PlannerInfo *root, RelOptInfo *rel, const CustomPath *path, const IndexOptInfo *index)
{
	const Path *plain = ifp_cheapest_path(rel);
	bool is_by_value = path->path.pathkeys != NIL;

	ifp_offer(root, ifp_table_of(root, rel), list_make1(unconstify(IndexOptInfo *, index)), path,
		  cost_of_first(root, &path->path, true), plain ? cost_of_first(root, plain, !is_by_value) : -1,
		  ifp_costs_more);
}

/* Returns a path over an index path created for it, without costs. order: NULL for that of the time. */
static CustomPath *make_path(PlannerInfo *root, IndexOptInfo *index, const struct ifp_value_order *order, bool by_series,
			     const struct topk_limits *limits)
{
	IndexPath *below = create_index_path(root, index, ifp_index_clauses(root, index), NIL, NIL, NIL, ForwardScanDirection,
					     false, NULL, 1.0, false);
	CustomPath *path = ifp_path_above(index, &below->path, &path_methods);
	List *numbers = list_make5_int(order ? order->value : -1, order && order->descends, order && order->nulls_first,
				       limits->has_nulls, limits->has_values);

	/* expressions are kept apart: the planner processes custom_exprs of a plan */
	path->custom_private = list_make4(limits->expressions, lappend_int(numbers, by_series), limits->types,
					  makeString(order ? order_text(root, index, order) : pstrdup("")));
	return path;
}

/* Adds a path. order: NULL for that of the time. */
static void add_scan(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index, const struct ifp_value_order *order,
		     const struct topk_limits *limits, Node *reach)
{
	CustomPath *path = make_path(root, index, order, false, limits);

	if (order)
		path->path.pathkeys = list_make1(linitial(root->query_pathkeys));
	estimate(root, path, linitial_node(IndexPath, path->custom_paths), rel, reach, order != NULL);
	offer(root, rel, path, index);
	add_path(rel, &path->path);
}

/* Reads the conditions on a value column of an index. */
static struct topk_limits limits_of_value(PlannerInfo *root, IndexOptInfo *index, int v)
{
	int column = index->nkeycolumns + v;
	const Node *value = (const Node *)list_nth_node(TargetEntry, index->indextlist, column)->expr;

	return limits_of(root, index->rel, index, column, getBaseType(exprType(value)));
}

CustomPath *ifp_topk_path_of_series(PlannerInfo *root, IndexOptInfo *index, const struct ifp_value_order *order)
{
	struct topk_limits limits = limits_of_value(root, index, order->value);
	CustomPath *path = make_path(root, index, order, true, &limits);

	estimate(root, path, linitial_node(IndexPath, path->custom_paths), index->rel, NULL, true);
	return path;
}

/* ---- entry ---- */

struct standing_in {
	Node *column;
	bool has_others;
};

/* Replaces the column by Var 1, as in expressions over an index. */
static Node *stand_in(Node *node, void *context)
{
	struct standing_in *standing_in = context;

	if (!node)
		return NULL;
	if (equal(node, standing_in->column))
		return (Node *)makeVar(1, 1, exprType(node), exprTypmod(node), exprCollation(node), 0);
	standing_in->has_others = standing_in->has_others || IsA(node, Var) || IsA(node, PlaceHolderVar);
	return expression_tree_mutator(node, stand_in, context);
}

/* True if the expression has the order of the column. */
static bool has_order_of(Expr *expression, Expr *column)
{
	struct standing_in standing_in = { .column = (Node *)column };
	Node *over_column = stand_in((Node *)expression, &standing_in);

	return !standing_in.has_others && ifp_is_rising(over_column, 1);
}

/* True if the query is ordered by this value column of the index, or by an expression that has the same order, in the order of
 * its type. */
static bool is_ordered_by(const PathKey *key, const RelOptInfo *rel, const TargetEntry *value)
{
	TypeCacheEntry *type;
	ListCell *cell;

	if (!IsA(value->expr, Var) || key->pk_eclass->ec_has_volatile)
		return false;
	type = lookup_type_cache(getBaseType(exprType((Node *)value->expr)), TYPECACHE_BTREE_OPFAMILY);
	if (key->pk_opfamily == type->btree_opf && find_ec_member_matching_expr(key->pk_eclass, value->expr, rel->relids))
		return true;
	foreach (cell, key->pk_eclass->ec_members) {
		const EquivalenceMember *member = lfirst(cell);

		if (!IsA(member->em_expr, Var) && bms_equal(member->em_relids, rel->relids) &&
		    key->pk_opfamily ==
			    lookup_type_cache(exprType((Node *)member->em_expr), TYPECACHE_BTREE_OPFAMILY)->btree_opf &&
		    has_order_of(member->em_expr, value->expr))
			return true;
	}
	return false;
}

/* True if the first rows in an order may be all that is read. */
pg_attribute_hot static bool may_stop(const PlannerInfo *root)
{
	const Query *parse = root->parse;
	bool reads_all = parse->hasAggs || parse->groupClause || parse->groupingSets || parse->distinctClause;

	return root->query_pathkeys && (!reads_all || parse->limitCount);
}

pg_noinline static void consider_index(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	struct topk_limits by_time = { .has_values = true };
	Node *reach = add_reach(root, index, &by_time);

	if (reach)
		add_scan(root, rel, index, NULL, &by_time, reach);
	for (int v = 0; may_stop(root) && v < index->ncolumns - index->nkeycolumns; v++) {
		const TargetEntry *value = list_nth_node(TargetEntry, index->indextlist, index->nkeycolumns + v);
		const PathKey *key = linitial_node(PathKey, root->query_pathkeys);
		struct ifp_value_order order = { .value = v };
		struct topk_limits limits;

		if (ifp_is_key_type(exprType((Node *)value->expr)) || !is_ordered_by(key, rel, value))
			continue;
		order.descends = ifp_descends(key);
		order.nulls_first = key->pk_nulls_first;
		limits = limits_of_value(root, index, v);
		limits.expressions = list_concat(limits.expressions, by_time.expressions);
		limits.types = list_concat(limits.types, by_time.types);
		add_scan(root, rel, index, &order, &limits, reach);
		break;
	}
}

/* True if a scan of the relation can have these paths. */
static bool may_have_path(RelOptInfo *rel, const RangeTblEntry *table)
{
	/* a rel with lateral references needs a parameterized path */
	return !table->inh && !table->tablesample && !IS_DUMMY_REL(rel) && bms_is_empty(rel->lateral_relids) &&
	       (rel->reloptkind == RELOPT_BASEREL || rel->reloptkind == RELOPT_OTHER_MEMBER_REL) &&
	       !ifp_has_constant_condition(rel);
}

pg_attribute_hot void ifp_topk_path_consider(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *table)
{
	ListCell *cell;

	foreach (cell, rel->indexlist) {
		IndexOptInfo *index = lfirst(cell);

		if (ifp_is_usable(index) && (may_stop(root) || may_have_reach(root, index)) && may_have_path(rel, table))
			consider_index(root, rel, index);
	}
}
