#include "pg_ext/planner/combination.h"

#include "pg_ext/base/engine.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/base/known_functions.h"
#include "pg_ext/planner/query_below.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/state_aggregates.h"

/* ---- aggregates that are combined ---- */

static Node *call(Oid function, Oid type, List *arguments)
{
	return (Node *)makeFuncExpr(function, type, arguments, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

static Aggref *aggregate_of(const Aggref *source, Oid function, Oid type)
{
	Aggref *made = copyObjectImpl(source);

	made->aggfnoid = function;
	made->aggtype = type;
	return made;
}

/* Returns sum(x) / count(x) of avg(x), which is what it computes; NULL for any other aggregate. */
static Node *split_average(const Aggref *source)
{
	Node *count = (Node *)aggregate_of(source, F_COUNT_ANY, INT8OID);

	switch (source->aggfnoid) {
	case F_AVG_INT2:
	case F_AVG_INT4: {
		Oid sum = source->aggfnoid == F_AVG_INT2 ? F_SUM_INT2 : F_SUM_INT4;

		return call(F_NUMERIC_DIV, NUMERICOID,
			    list_make2(call(F_NUMERIC_INT8, NUMERICOID, list_make1(aggregate_of(source, sum, INT8OID))),
				       call(F_NUMERIC_INT8, NUMERICOID, list_make1(count))));
	}
	case F_AVG_INT8:
	case F_AVG_NUMERIC: {
		Oid sum = source->aggfnoid == F_AVG_INT8 ? F_SUM_INT8 : F_SUM_NUMERIC;

		return call(F_NUMERIC_DIV, NUMERICOID,
			    list_make2(aggregate_of(source, sum, NUMERICOID),
				       call(F_NUMERIC_INT8, NUMERICOID, list_make1(count))));
	}
	case F_AVG_FLOAT8:
		return call(F_FLOAT8DIV, FLOAT8OID,
			    list_make2(aggregate_of(source, F_SUM_FLOAT8, FLOAT8OID),
				       call(F_FLOAT8_INT8, FLOAT8OID, list_make1(count))));
	case F_AVG_INTERVAL:
		return call(F_INTERVAL_DIV, INTERVALOID,
			    list_make2(aggregate_of(source, F_SUM_INTERVAL, INTERVALOID),
				       call(F_FLOAT8_INT8, FLOAT8OID, list_make1(count))));
	default:
		return NULL;
	}
}

/* True if the aggregate of its own results, a partition each, is the aggregate of all. */
static bool combines_itself(Oid function)
{
	static const char *const names[] = { "min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor" };
	char *name;

	switch (function) {
	case F_SUM_NUMERIC:
	case F_SUM_FLOAT4:
	case F_SUM_FLOAT8:
	case F_SUM_INTERVAL:
	case F_SUM_MONEY:
		return true;
	default:
		break;
	}
	name = function < FirstNormalObjectId ? get_func_name(function) : NULL;
	for (size_t i = 0; name && i < lengthof(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return ifp_is_state_combiner(function);
}

static Node *aggregate_over(Oid function, Oid type, Oid collation, Var *column)
{
	Aggref *made = makeNode(Aggref);

	made->aggfnoid = function;
	made->aggtype = type;
	made->aggcollid = OidIsValid(collation) && type == column->vartype ? column->varcollid : InvalidOid;
	made->inputcollid = collation;
	made->aggargtypes = list_make1_oid(column->vartype);
	made->args = list_make1(makeTargetEntry((Expr *)column, 1, NULL, false));
	made->aggkind = AGGKIND_NORMAL;
	made->aggsplit = AGGSPLIT_SIMPLE;
	made->aggno = made->aggtransno = -1;
	made->location = -1;
	return (Node *)made;
}

/* Returns the aggregate of all partitions, of a column of their results; NULL if there is none. */
static Node *combine(const Aggref *source, Var *column)
{
	Oid collation = source->inputcollid;

	switch (source->aggfnoid) {
	case F_COUNT_:
	case F_COUNT_ANY: {
		CoalesceExpr *count = makeNode(CoalesceExpr);

		/* a sum of no counts is NULL */
		count->coalescetype = INT8OID;
		count->args = list_make2(
			call(F_INT8_NUMERIC, INT8OID, list_make1(aggregate_over(F_SUM_INT8, NUMERICOID, InvalidOid, column))),
			makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL));
		count->location = -1;
		return (Node *)count;
	}
	case F_SUM_INT2:
	case F_SUM_INT4:
		return call(F_INT8_NUMERIC, INT8OID, list_make1(aggregate_over(F_SUM_INT8, NUMERICOID, InvalidOid, column)));
	case F_SUM_INT8:
		return aggregate_over(F_SUM_NUMERIC, NUMERICOID, InvalidOid, column);
	default:
		break;
	}
	if (ifp_is_own_function(source->aggfnoid, "iforest_squares"))
		return aggregate_over(F_SUM_NUMERIC, NUMERICOID, InvalidOid, column);
	return combines_itself(source->aggfnoid) ? aggregate_over(source->aggfnoid, source->aggtype, collation, column) : NULL;
}

/* Returns the column of varno 1 in which partitions give an expression, which is added to those sent. */
static Var *column_of(struct ifp_combination *combination, Node *expression)
{
	int i = 0;
	ListCell *cell;

	foreach (cell, combination->sent) {
		if (equal(lfirst(cell), expression))
			break;
		i++;
	}
	if (i == list_length(combination->sent))
		combination->sent = lappend(combination->sent, expression);
	return makeVar(1, (AttrNumber)(list_length(combination->groups) + i + 1), exprType(expression), exprTypmod(expression),
		       exprCollation(expression), 0);
}

/* True without ORDER BY and DISTINCT, by which an aggregate needs all rows at once. */
static bool is_plain(const Aggref *source)
{
	return source->aggkind == AGGKIND_NORMAL && source->aggorder == NIL && source->aggdistinct == NIL;
}

/* Replaces the aggregates of an expression by those over the results of partitions. */
static Node *combine_all(Node *node, void *context)
{
	struct ifp_combination *combination = context;
	const Aggref *source = (const Aggref *)node;
	Node *sent, *combined;

	if (!node)
		return NULL;
	if (!IsA(node, Aggref))
		return expression_tree_mutator(node, combine_all, context);
	if (!is_plain(source) || source->aggvariadic) {
		combination->is_refused = true;
		return node;
	}
	sent = ifp_state_aggregate_join(source);
	combined = combine(source, column_of(combination, sent ? sent : copyObject(node)));
	combination->is_refused |= !combined;
	return combined ? combined : node;
}

static void add_aggregate(struct ifp_combination *combination, const Aggref *source)
{
	Node *split = is_plain(source) ? split_average(source) : NULL;

	if (!split)
		split = ifp_state_aggregate_split(source);
	combination->aggregates = lappend(combination->aggregates, unconstify(Aggref *, source));
	combination->combined =
		lappend(combination->combined, combine_all(split ? split : (Node *)unconstify(Aggref *, source), combination));
}

/* Adds to the groups the columns of outputs that functionally depend on them, such as those beside a primary key in GROUP BY.
 * Returns true if there is something else that is neither of the groups nor of an aggregate. */
static bool add_dependent(Node *node, void *context)
{
	struct ifp_combination *combination = context;

	if (!node || IsA(node, Aggref) || list_member(combination->groups, node))
		return false;
	if (IsA(node, Var)) {
		combination->groups = lappend(combination->groups, node);
		return false;
	}
	/* GROUPING() is evaluated by PostgreSQL's own aggregation alone */
	return IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc) || expression_tree_walker(node, add_dependent, context);
}

bool ifp_combination_read(PlannerInfo *root, List *outputs, struct ifp_combination *combination)
{
	List *found = NIL;
	ListCell *cell;

	combination->groups = get_sortgrouplist_exprs(root->parse->groupClause, root->processed_tlist);
	foreach (cell,
		 pull_var_clause((Node *)outputs, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS))
		if (IsA(lfirst(cell), Aggref))
			found = list_append_unique(found, lfirst(cell));
	if (found == NIL || expression_returns_set((Node *)combination->groups) || !ifp_may_move(combination->groups) ||
	    !ifp_may_move(found) || add_dependent((Node *)outputs, combination))
		return false;
	foreach (cell, found)
		add_aggregate(combination, lfirst_node(Aggref, cell));
	return !combination->is_refused;
}

/* Marks aggregates as not numbered yet: the planner numbers them by query. */
static bool forget_numbers(Node *node, void *context)
{
	if (!node)
		return false;
	if (IsA(node, Aggref)) {
		Aggref *aggregate = castNode(Aggref, node);

		aggregate->aggno = aggregate->aggtransno = -1;
		aggregate->aggtranstype = InvalidOid;
	}
	return expression_tree_walker(node, forget_numbers, context);
}

void ifp_forget_numbers(List *expressions)
{
	(void)forget_numbers((Node *)expressions, NULL);
}

void ifp_group(const PlannerInfo *root, Query *query)
{
	query->groupClause = ifp_numbered_clauses(root->parse->groupClause);
	query->hasAggs = true;
	ifp_forget_numbers(query->targetList);
}

/* ---- path ---- */

static void add_combination(PlannerInfo *root, RelOptInfo *output, List *having, const struct ifp_combination *combination,
			    Path *below)
{
	List *columns = list_concat_copy(combination->groups, combination->aggregates);

	add_path(output, &ifp_combine_path(root, output, output->reltarget, below, columns, having)->path);
}

/* True if a path is an answer from an index. PostgreSQL may plan min() and max() as first rows in the order of their values: one
 * of these from an index is enough. */
static bool is_answer(const Path *path)
{
	ListCell *cell;

	while (path && (IsA(path, ProjectionPath) || IsA(path, LimitPath)))
		path = IsA(path, LimitPath) ? ((const LimitPath *)path)->subpath : ((const ProjectionPath *)path)->subpath;
	if (path && IsA(path, MinMaxAggPath)) {
		foreach (cell, ((const MinMaxAggPath *)path)->mmaggregates)
			if (is_answer(lfirst_node(MinMaxAggInfo, cell)->path))
				return true;
		return false;
	}
	return path && IsA(path, CustomPath) && strncmp(((const CustomPath *)path)->methods->CustomName, "IForest", 7) == 0;
}

/* True if an index answers a subquery of the planned query. */
static bool has_answer(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++) {
		PlannerInfo *below = root->simple_rel_array[i] ? root->simple_rel_array[i]->subroot : NULL;

		if (below &&
		    (is_answer(fetch_upper_rel(below, UPPERREL_FINAL, NULL)->cheapest_total_path) || has_answer(below)))
			return true;
	}
	return false;
}

bool ifp_combination_offer(PlannerInfo *root, RelOptInfo *output, List *having, const struct ifp_combination *combination,
			   Query *rows, bool by_index)
{
	List *expressions = list_truncate(ifp_columns_of(rows), list_length(combination->groups));
	Query *query;
	Path *below;

	expressions = list_concat(expressions, copyObject(combination->combined));
	query = ifp_simple_query(ifp_subquery_entry(rows), ifp_entries_of(expressions, list_length(root->parse->groupClause)),
				 NULL);
	ifp_group(root, query);
	below = ifp_plan_below(root, query);
	if (by_index && !has_answer(below->parent->subroot))
		return false;
	add_combination(root, output, having, combination, below);
	return true;
}

/* Returns the target of GROUP BY's expressions, then others. */
static PathTarget *grouped_target(PlannerInfo *root, List *groups, List *others)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell *cell, *clause_cell;

	forboth(cell, groups, clause_cell, root->parse->groupClause)
		add_column_to_pathtarget(target, lfirst(cell), lfirst_node(SortGroupClause, clause_cell)->tleSortGroupRef);
	foreach (cell, others)
		add_column_to_pathtarget(target, lfirst(cell), 0);
	return set_pathtarget_cost_width(root, target);
}

PathTarget *ifp_combination_target(PlannerInfo *root, const struct ifp_combination *combination)
{
	return grouped_target(root, combination->groups, combination->sent);
}

/* Replaces columns of parts by what the parts compute. */
static Node *replace_columns(Node *node, void *parts)
{
	if (!node)
		return NULL;
	if (IsA(node, Var))
		return copyObject(list_nth(parts, castNode(Var, node)->varattno - 1));
	return expression_tree_mutator(node, replace_columns, parts);
}

/* Returns a path that groups parts; the level's own aggregates keep their numbers. */
static Path *group_parts(PlannerInfo *root, RelOptInfo *output, const struct ifp_combination *combination, Path *parts)
{
	List *combined = (List *)replace_columns((Node *)combination->combined, parts->pathtarget->exprs);
	PathTarget *target = grouped_target(root, combination->groups, combined);
	PlannerInfo numbered = *root;
	AggClauseCosts costs = { .transitionSpace = 0 };
	double n_groups = 1;

	numbered.agginfos = numbered.aggtransinfos = NIL;
	preprocess_aggrefs(&numbered, (Node *)combined);
	get_agg_clause_costs(&numbered, AGGSPLIT_SIMPLE, &costs);
	if (combination->groups != NIL)
		n_groups = estimate_num_groups(root, combination->groups, parts->rows, NULL, NULL);
	return (Path *)create_agg_path(root, output, parts, target, combination->groups == NIL ? AGG_PLAIN : AGG_HASHED,
				       AGGSPLIT_SIMPLE, root->parse->groupClause, NIL, &costs, n_groups);
}

void ifp_combination_offer_parts(PlannerInfo *root, RelOptInfo *output, List *having, const struct ifp_combination *combination,
				 Path *parts)
{
	add_combination(root, output, having, combination, group_parts(root, output, combination, parts));
}
