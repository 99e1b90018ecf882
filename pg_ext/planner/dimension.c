#include "pg_ext/planner/dimension.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

static const char not_on_by_columns[] = "a joined table is not joined on by columns";
static const char other_join[] = "tables are joined below the aggregates";

/* ---- the join tree ---- */

struct taking_apart {
	PlannerInfo *root;
	Index fact;
	List *dimensions; /* struct ifp_joined */
	List *conditions; /* of WHERE and inner joins */
	const char *reason;
};

/* Returns the relations that an expression mentions, without the outer joins that may null them. */
static Relids relations_of(PlannerInfo *root, Node *expression)
{
	return bms_int_members(pull_varnos(root, expression), root->all_baserels);
}

static bool has_fact(Node *node, Index fact)
{
	ListCell *cell;

	if (IsA(node, RangeTblRef))
		return castNode(RangeTblRef, node)->rtindex == (int)fact;
	if (IsA(node, JoinExpr))
		return has_fact(castNode(JoinExpr, node)->larg, fact) || has_fact(castNode(JoinExpr, node)->rarg, fact);
	foreach (cell, castNode(FromExpr, node)->fromlist)
		if (has_fact(lfirst(cell), fact))
			return true;
	return false;
}

/* Adds a relation that is joined on conditions of its own. */
static void add_relation(struct taking_apart *apart, Index relid, JoinType kind, List *conditions)
{
	struct ifp_joined *joined;
	RelOptInfo *rel;
	const Path *path;
	ListCell *cell;

	/* an outer join without effect was removed */
	if (!bms_is_member((int)relid, apart->root->all_baserels))
		return;
	rel = find_base_rel(apart->root, (int)relid);
	path = rel->cheapest_total_path;
	joined = palloc0(sizeof *joined);
	*joined = (struct ifp_joined){ .rel = rel, .kind = kind, .columns = rel->reltarget->exprs, .conditions = conditions };
	apart->dimensions = lappend(apart->dimensions, joined);
	if (!path || path->param_info || !bms_is_empty(rel->lateral_relids) || path->pathtarget != rel->reltarget)
		apart->reason = other_join;
	foreach (cell, joined->columns)
		if (!IsA(lfirst(cell), Var))
			apart->reason = "an expression is evaluated elsewhere";
}

/* Takes apart an operand of an inner join. */
static void take_inner(struct taking_apart *apart, Node *node)
{
	ListCell *cell;

	if (IsA(node, RangeTblRef)) {
		add_relation(apart, (Index)castNode(RangeTblRef, node)->rtindex, JOIN_INNER, NIL);
	} else if (IsA(node, FromExpr)) {
		foreach (cell, castNode(FromExpr, node)->fromlist)
			take_inner(apart, lfirst(cell));
		apart->conditions = list_concat(apart->conditions, (List *)castNode(FromExpr, node)->quals);
	} else if (castNode(JoinExpr, node)->jointype == JOIN_INNER) {
		take_inner(apart, castNode(JoinExpr, node)->larg);
		take_inner(apart, castNode(JoinExpr, node)->rarg);
		apart->conditions = list_concat(apart->conditions, (List *)castNode(JoinExpr, node)->quals);
	} else {
		apart->reason = other_join;
	}
}

/* Takes the only relation of the nullable side of a join. */
static void take_other_side(struct taking_apart *apart, Node *node, JoinType kind, List *conditions)
{
	while (IsA(node, FromExpr) && list_length(castNode(FromExpr, node)->fromlist) == 1) {
		conditions = list_concat(conditions, (List *)castNode(FromExpr, node)->quals);
		node = linitial(castNode(FromExpr, node)->fromlist);
	}
	if (IsA(node, RangeTblRef))
		add_relation(apart, (Index)castNode(RangeTblRef, node)->rtindex, kind, conditions);
	else
		apart->reason = other_join;
}

static void take(struct taking_apart *apart, Node *node);

static void take_join(struct taking_apart *apart, JoinExpr *join)
{
	bool is_left = has_fact(join->larg, apart->fact);
	List *quals = list_copy((List *)join->quals);

	switch (join->jointype) {
	case JOIN_INNER:
		take(apart, is_left ? join->larg : join->rarg);
		take_inner(apart, is_left ? join->rarg : join->larg);
		apart->conditions = list_concat(apart->conditions, quals);
		break;
	case JOIN_LEFT:
	case JOIN_SEMI:
	case JOIN_ANTI:
		if (is_left) {
			take(apart, join->larg);
			take_other_side(apart, join->rarg, join->jointype, quals);
			break;
		}
		/* fall through */
	default:
		apart->reason = other_join;
	}
}

/* Takes apart a subtree that contains the table. */
static void take(struct taking_apart *apart, Node *node)
{
	ListCell *cell;

	if (IsA(node, JoinExpr)) {
		take_join(apart, castNode(JoinExpr, node));
	} else if (IsA(node, FromExpr)) {
		foreach (cell, castNode(FromExpr, node)->fromlist) {
			if (has_fact(lfirst(cell), apart->fact))
				take(apart, lfirst(cell));
			else
				take_inner(apart, lfirst(cell));
		}
		apart->conditions = list_concat(apart->conditions, (List *)castNode(FromExpr, node)->quals);
	}
}

/* ---- conditions ---- */

/* True if the scan of one relation alone has evaluated a condition of WHERE or of an inner join. */
static bool is_of_scan(const struct taking_apart *apart, Relids relids)
{
	int relid;
	ListCell *cell;

	if (!bms_get_singleton_member(relids, &relid))
		return false;
	foreach (cell, apart->dimensions) {
		const struct ifp_joined *joined = lfirst(cell);

		if ((int)joined->rel->relid == relid)
			return joined->kind == JOIN_INNER;
	}
	return true;
}

/* The same for a condition of another kind of join. */
static bool is_of_other_scan(const struct ifp_joined *joined, Index fact, Relids relids)
{
	int relid;

	return bms_get_singleton_member(relids, &relid) &&
	       (relid == (int)joined->rel->relid || (joined->kind == JOIN_SEMI && relid == (int)fact));
}

static void leave_out_those_of_scans(struct taking_apart *apart)
{
	List *conditions = NIL;
	ListCell *cell, *condition;

	foreach (condition, apart->conditions)
		if (!is_of_scan(apart, relations_of(apart->root, lfirst(condition))))
			conditions = lappend(conditions, lfirst(condition));
	apart->conditions = conditions;
	foreach (cell, apart->dimensions) {
		struct ifp_joined *joined = lfirst(cell);
		List *own = NIL;

		foreach (condition, joined->conditions)
			if (!is_of_other_scan(joined, apart->fact, relations_of(apart->root, lfirst(condition))))
				own = lappend(own, lfirst(condition));
		joined->conditions = own;
	}
}

/* Adds conditions without columns that PostgreSQL has derived: $1 = 5, from a = $1 AND a = 5. They belong to the whole join, so no
 * scan has them, and the join tree has only those of the query itself. */
static void add_gates(struct taking_apart *apart, const RelOptInfo *fact)
{
	ListCell *cell;

	foreach (cell, fact->joininfo) {
		const RestrictInfo *condition = lfirst_node(RestrictInfo, cell);

		if (condition->pseudoconstant)
			apart->conditions = list_append_unique(apart->conditions, condition->clause);
	}
}

/* Returns a condition as a hashable equality of an expression over `known` relations with one over the dimension, in this
 * order; NULL if it is not one. */
static Node *as_equality(PlannerInfo *root, Node *condition, const struct ifp_joined *joined, Relids known)
{
	OpExpr *call = (OpExpr *)condition;
	Relids left, right, own = bms_make_singleton((int)joined->rel->relid);
	bool is_swapped;

	if (!IsA(condition, OpExpr) || list_length(call->args) != 2)
		return NULL;
	left = relations_of(root, linitial(call->args));
	right = relations_of(root, lsecond(call->args));
	is_swapped = bms_equal(left, own);
	if (is_swapped) {
		Relids other = left;

		left = right;
		right = other;
	}
	if (bms_is_empty(left) || !bms_is_subset(left, known) || !bms_equal(right, own) ||
	    !op_hashjoinable(call->opno, exprType(linitial(call->args))) || !OidIsValid(get_commutator(call->opno)))
		return NULL;
	call = copyObject(call);
	if (is_swapped)
		CommuteOpExpr(call);
	return (Node *)call;
}

/* Moves equalities with known relations from a list of conditions to those of the dimension. */
static List *take_equalities(PlannerInfo *root, struct ifp_joined *joined, List *conditions, Relids known)
{
	List *others = NIL;
	ListCell *cell;

	foreach (cell, conditions) {
		Node *equality = as_equality(root, lfirst(cell), joined, known);

		if (equality)
			joined->equalities = lappend(joined->equalities, equality);
		else
			others = lappend(others, lfirst(cell));
	}
	return others;
}

/* ---- order ---- */

/* Joins the dimension to the known relations; with `by_equality`, only by equalities. Returns false if that is not possible yet. */
static bool join_next(struct taking_apart *apart, struct ifp_joined *joined, Relids known, bool by_equality)
{
	Relids all = bms_add_member(bms_copy(known), (int)joined->rel->relid);
	ListCell *cell;

	if (joined->kind == JOIN_INNER) {
		apart->conditions = take_equalities(apart->root, joined, apart->conditions, known);
		return joined->equalities != NIL || !by_equality;
	}
	foreach (cell, joined->conditions)
		if (!bms_is_subset(relations_of(apart->root, lfirst(cell)), all))
			return false;
	joined->conditions = take_equalities(apart->root, joined, joined->conditions, known);
	return joined->equalities != NIL || !by_equality;
}

/* Orders the dimensions so that each is joined to the table or earlier ones, by equalities if there are some. */
static List *in_order(struct taking_apart *apart)
{
	Relids known = bms_make_singleton((int)apart->fact);
	List *left = list_copy(apart->dimensions), *ordered = NIL;
	bool by_equality = true, has_moved = true;
	ListCell *cell;

	while (left != NIL && (has_moved || by_equality)) {
		by_equality = has_moved;
		has_moved = false;
		foreach (cell, left) {
			struct ifp_joined *joined = lfirst(cell);

			if (!join_next(apart, joined, known, by_equality))
				continue;
			known = bms_add_member(known, (int)joined->rel->relid);
			ordered = lappend(ordered, joined);
			left = foreach_delete_current(left, cell);
			has_moved = true;
			if (!by_equality)
				break;
		}
	}
	if (left != NIL)
		apart->reason = not_on_by_columns;
	return ordered;
}

const char *ifp_dimensions_enter(struct ifp_query_level *level, RelOptInfo *fact)
{
	struct taking_apart apart = { .root = level->root, .fact = fact->relid };

	if (level->root->qual_security_level > 0)
		return "a condition might tell what row security or a security barrier hides";
	if (!bms_is_empty(fact->lateral_relids))
		return other_join;
	take(&apart, (Node *)level->root->parse->jointree);
	if (!apart.reason) {
		leave_out_those_of_scans(&apart);
		add_gates(&apart, fact);
		apart.dimensions = in_order(&apart);
	}
	if (apart.reason)
		return apart.reason;
	level->join = level->rel;
	level->rel = fact;
	level->dimensions = apart.dimensions;
	level->join_conditions = apart.conditions;
	return NULL;
}

/* ---- columns and paths ---- */

List *ifp_dimensions_columns(const struct ifp_query_level *level)
{
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, level->dimensions)
		columns = list_concat(columns, ((const struct ifp_joined *)lfirst(cell))->columns);
	return columns;
}

List *ifp_dimensions_row_columns(const struct ifp_query_level *level)
{
	List *columns = NIL;
	ListCell *cell, *column;

	foreach (cell, level->dimensions) {
		const struct ifp_joined *joined = lfirst(cell);

		foreach (column, joined->columns)
			columns = lappend(columns,
					  makeVar(foreach_current_index(cell) + 2,
						  (AttrNumber)(foreach_current_index(column) + 1), exprType(lfirst(column)),
						  exprTypmod(lfirst(column)), exprCollation(lfirst(column)), 0));
	}
	return columns;
}

List *ifp_dimensions_paths(const struct ifp_query_level *level)
{
	List *paths = NIL;
	ListCell *cell;

	foreach (cell, level->dimensions)
		paths = lappend(paths, ((const struct ifp_joined *)lfirst(cell))->rel->cheapest_total_path);
	return paths;
}

/* ---- partners ---- */

bool ifp_dimensions_are_unique(const struct ifp_query_level *level)
{
	ListCell *cell, *equality;

	foreach (cell, level->dimensions) {
		const struct ifp_joined *joined = lfirst(cell);
		List *columns = NIL, *operators = NIL;

		if (joined->kind == JOIN_SEMI || joined->kind == JOIN_ANTI)
			continue;
		foreach (equality, joined->equalities) {
			OpExpr *call = lfirst_node(OpExpr, equality);

			columns = lappend(columns, lsecond(call->args));
			operators = lappend_oid(operators, call->opno);
		}
		if (!relation_has_unique_index_for(level->root, joined->rel, NIL, columns, operators))
			return false;
	}
	return true;
}

/* ---- group keys ---- */

static bool is_of_dimension(const struct ifp_query_level *level, const Var *column)
{
	ListCell *cell;

	foreach (cell, level->dimensions)
		if ((Index)column->varno == ((const struct ifp_joined *)lfirst(cell))->rel->relid)
			return true;
	return false;
}

static bool add_dependent(Node *node, void *context)
{
	struct ifp_query_level *level = context;

	if (!node || IsA(node, Aggref) || list_member(level->groups, node))
		return false;
	if (IsA(node, Var)) {
		const TypeCacheEntry *type = lookup_type_cache(exprType(node), TYPECACHE_EQ_OPR | TYPECACHE_HASH_PROC);

		if (!is_of_dimension(level, castNode(Var, node)))
			return false;
		level->groups = lappend(level->groups, node);
		level->operators = lappend_oid(level->operators, OidIsValid(type->hash_proc) ? type->eq_opr : InvalidOid);
		return false;
	}
	return expression_tree_walker(node, add_dependent, context);
}

void ifp_dimensions_add_dependent_groups(struct ifp_query_level *level)
{
	if (level->dimensions != NIL && level->groups != NIL && level->sets == NIL)
		(void)add_dependent((Node *)level->outputs, level);
}

/* ---- dimensions of an index query ---- */

static List *names_of(const struct ifp_query_level *level, const struct ifp_joined *joined)
{
	RangeTblEntry *table = planner_rt_fetch(joined->rel->relid, level->root);
	List *names = NIL;
	ListCell *cell;

	foreach (cell, joined->columns) {
		AttrNumber number = lfirst_node(Var, cell)->varattno;

		names = lappend(names, makeString(number > 0 ? get_rte_attribute_name(table, number) : pstrdup("*")));
	}
	return names;
}

static const char *over_rows(List *expressions, struct ifp_index_query *query, ifp_rewrite over_row, void *context,
			     List **result)
{
	const char *reason = NULL;
	ListCell *cell;

	foreach (cell, expressions) {
		Node *expression = over_row(lfirst(cell), context, &reason);

		if (reason)
			return reason;
		/* they are evaluated for each pair of a series and a row, whether the series has visible rows or not */
		if (contain_volatile_functions(expression))
			return "a condition has a volatile function";
		if (ifp_mentions(expression, ifp_time_attribute(query)) || ifp_mentioned_value(query, expression) != -1)
			return not_on_by_columns;
		if (ifp_may_fail(expression))
			return "a join condition might raise an error for other rows";
		*result = lappend(*result, expression);
	}
	return NULL;
}

const char *ifp_dimensions_add(const struct ifp_query_level *level, struct ifp_index_query *query, ifp_rewrite over_row,
			       void *context)
{
	AttrNumber first = (AttrNumber)(query->n_by + 2 + ifp_n_values(query));
	ListCell *cell;

	foreach (cell, level->dimensions) {
		const struct ifp_joined *joined = lfirst(cell);
		const RangeTblEntry *table = planner_rt_fetch(joined->rel->relid, level->root);
		List *equalities = NIL, *conditions = NIL;
		const char *reason = over_rows(joined->equalities, query, over_row, context, &equalities);

		if (!reason)
			reason = over_rows(joined->conditions, query, over_row, context, &conditions);
		if (reason)
			return reason;
		query->dimensions =
			lappend(query->dimensions, list_make5(list_make2(makeInteger((int)joined->kind), makeInteger(first)),
							      makeString(table->eref->aliasname), names_of(level, joined),
							      equalities, conditions));
		first = (AttrNumber)(first + list_length(joined->columns));
	}
	return NULL;
}

void ifp_dimension_read(List *list, struct ifp_dimension *dimension)
{
	List *numbers = linitial(list);

	*dimension = (struct ifp_dimension){ .kind = (JoinType)intVal(linitial(numbers)),
					     .first = (AttrNumber)intVal(lsecond(numbers)),
					     .name = strVal(lsecond(list)),
					     .column_names = lthird(list),
					     .equalities = lfourth(list),
					     .conditions = list_nth(list, 4) };
}
