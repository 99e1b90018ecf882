#include "pg_ext/exec/top_conditions.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/am/index_scan.h"

/* ---- conditions on series and times ---- */

static bool collations_fit(Oid of_index, Oid of_clause)
{
	return !OidIsValid(of_index) || of_index == of_clause;
}

/* What a comparison of a column of the index says as a scan key; NIL where it is none. */
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

/* The conditions of the table that choose series and times, as IndexClauses. All are checked again by the index scan, or are
 * exact. */
List *iforest_top_index_clauses(PlannerInfo *root, IndexOptInfo *index)
{
	List *clauses = NIL;
	ListCell *cell;

	for (int column = 0; column < index->nkeycolumns; column++)
		foreach(cell, index->indrestrictinfo) {
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

/* ---- conditions on the value itself ---- */

static void add_bound(struct iforest_top_limits *limits, Node *expression, enum iforest_top_bound_kind kind)
{
	limits->expressions = lappend(limits->expressions, expression);
	limits->kinds = lappend_int(limits->kinds, (int)kind);
}

/* A comparison in the order of the value's type is false for NULL; one with a constant of the same type is a bound. */
static void read_comparison(PlannerInfo *root, OpExpr *clause, IndexOptInfo *index, int column, Oid type,
			    struct iforest_top_limits *limits)
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
		add_bound(limits, other, IFOREST_TOP_LOW);
	if (strategy == BTEqualStrategyNumber || (strategy < BTEqualStrategyNumber) == is_left)
		add_bound(limits, other, IFOREST_TOP_HIGH);
}

struct iforest_top_limits iforest_top_limits_of(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index, int column, Oid type)
{
	struct iforest_top_limits limits = { .has_nulls = true, .has_values = true };
	ListCell *cell;

	foreach(cell, rel->baserestrictinfo) {
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

/* Ends are compared by their numbers, which mean something else in local time than in UTC. */
static bool is_of_time(const IndexOptInfo *index, int column)
{
	Oid end = getBaseType(exprType((Node *)list_nth_node(TargetEntry, index->indextlist, column)->expr));

	return end == index->opcintype[index->nkeycolumns - 1] || (end != TIMESTAMPOID && end != TIMESTAMPTZOID);
}

/* Is it the end of the span: the time and the duration added up, or the column of ends? */
static bool is_end(Node *node, IndexOptInfo *index, const struct iforest_fields *fields)
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

/* The expression in the type of the time column; NULL where that is not for us to say. */
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

/* The time after which, or from which on, the condition says that spans end; NULL if it says nothing of the kind. */
static Node *read_reach(PlannerInfo *root, OpExpr *clause, IndexOptInfo *index, const struct iforest_fields *fields,
			enum iforest_top_bound_kind *kind)
{
	int time = index->nkeycolumns - 1;
	bool is_left = is_end(linitial(clause->args), index, fields);
	Node *other = is_left ? lsecond(clause->args) : linitial(clause->args);
	int strategy = get_op_opfamily_strategy(clause->opno, index->opfamily[time]);

	if ((!is_left && !is_end(lsecond(clause->args), index, fields)) || !is_pseudo_constant_for_index(root, other, index))
		return NULL;
	if (strategy == (is_left ? BTGreaterStrategyNumber : BTLessStrategyNumber))
		*kind = IFOREST_TOP_REACHES_BEYOND;
	else if (strategy == (is_left ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber))
		*kind = IFOREST_TOP_REACHES;
	else
		return NULL;
	return as_time(other, index->opcintype[time]);
}

/* May a condition be on the end of spans, whatever the index keeps of them? To know that costs nothing; what it keeps, reading
 * it. */
static bool may_have_reach(PlannerInfo *root, IndexOptInfo *index)
{
	ListCell *cell;

	foreach(cell, index->indrestrictinfo) {
		OpExpr *clause = (OpExpr *)lfirst_node(RestrictInfo, cell)->clause;
		enum iforest_top_bound_kind kind;

		for (int v = 0;
		     IsA(clause, OpExpr) && list_length(clause->args) == 2 && v < index->ncolumns - index->nkeycolumns; v++) {
			struct iforest_fields of_duration = { .duration_value = (uint8)v, .end_rule = IFOREST_END_DURATION };
			struct iforest_fields of_end = { .duration_value = (uint8)v, .end_rule = IFOREST_END_COLUMN };

			if (read_reach(root, clause, index, &of_duration, &kind) ||
			    read_reach(root, clause, index, &of_end, &kind))
				return true;
		}
	}
	return false;
}

/* As the index was built: options may be newer. */
static struct iforest_fields fields_of(const IndexOptInfo *index)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest fields", ALLOCSET_SMALL_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	Relation relation = index_open(index->indexoid, NoLock);
	struct iforest_index *opened = palloc(sizeof *opened);
	struct iforest_fields fields;

	iforest_index_open(opened, relation);
	iforest_index_refresh(opened);
	fields = opened->manifest.fields;
	index_close(relation, NoLock);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return fields;
}

/* Do the conditions hold for no row without a time? What the index keeps of ends, it keeps of rows with a time. */
static bool have_times(PlannerInfo *root, IndexOptInfo *index)
{
	Expr *time = list_nth_node(TargetEntry, index->indextlist, index->nkeycolumns - 1)->expr;
	Oid table = planner_rt_fetch(index->rel->relid, root)->relid;
	List *conditions = extract_actual_clauses(index->indrestrictinfo, false);
	NullTest *test = makeNode(NullTest);

	if (IsA(time, Var) && iforest_is_not_null(index->rel, table, ((Var *)time)->varattno))
		return true;
	test->arg = time;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return predicate_implied_by(list_make1(test), list_concat_copy(index->indpred, conditions), false);
}

Node *iforest_top_add_reach(PlannerInfo *root, IndexOptInfo *index, struct iforest_top_limits *limits)
{
	struct iforest_fields fields;
	Node *reach = NULL;
	ListCell *cell;

	if (!may_have_reach(root, index))
		return NULL;
	fields = fields_of(index);
	if (fields.end_rule == IFOREST_END_COLUMN && !have_times(root, index))
		return NULL;
	foreach(cell, fields.duration_value == IFOREST_NO_VALUE ? NIL : index->indrestrictinfo) {
		OpExpr *clause = (OpExpr *)lfirst_node(RestrictInfo, cell)->clause;
		enum iforest_top_bound_kind kind;
		Node *found = IsA(clause, OpExpr) && list_length(clause->args) == 2 ?
				      read_reach(root, clause, index, &fields, &kind) :
				      NULL;

		if (found)
			add_bound(limits, found, kind);
		reach = found ? found : reach;
	}
	return reach;
}
