#include "pg_ext/planner/top_groups.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/value_steps.h"

/* ---- the groups ---- */

/* True if the sort and the LIMIT are of the groups themselves. */
static bool limits_groups(const Query *parse)
{
	return parse->limitCount && parse->sortClause != NIL && !parse->havingQual && parse->distinctClause == NIL &&
	       !parse->hasWindowFuncs && !parse->hasTargetSRFs && parse->groupingSets == NIL && !parse->setOperations;
}

/* True if each series of the one index is a group of its own, without parts that are read apart. */
static bool is_series_group(const struct ifp_index_query *query)
{
	Bitmapset *by = NULL;
	ListCell *cell;

	if (list_length(query->tables) != 1 || query->n_by == 0 || list_length(query->groups) != query->n_by ||
	    query->sets != NIL || query->pieces != NIL || query->splits != NIL || query->dimensions != NIL || query->drawn ||
	    query->late != NIL)
		return false;
	foreach (cell, query->groups) {
		Node *key = lfirst(cell);

		if (!IsA(key, Var) || castNode(Var, key)->varattno > query->n_by)
			return false;
		by = bms_add_member(by, castNode(Var, key)->varattno);
	}
	return bms_num_members(by) == query->n_by;
}

/* True if an expression of LIMIT or OFFSET can be evaluated by the executor of the index. */
static bool is_simple(Node *bound)
{
	return !bound || (!contain_subplans(bound) && !contain_volatile_functions(bound) && exprType(bound) == INT8OID);
}

/* ---- the first sort key ---- */

static bool is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Returns the one arm of an aggregate, over all rows and a plain column if over any; NULL if it is not that simple. */
static const struct ifp_arm *plain_arm(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function)
{
	const struct ifp_arm *arm;
	List *arms;

	if (ifp_aggregate_arms(aggregate, query, function, &arms) || list_length(arms) != 1)
		return NULL;
	arm = linitial(arms);
	if (arm->conditions != NIL || arm->steps != IFP_ALL_STEPS || (arm->expression && !IsA(arm->expression, Var)))
		return NULL;
	return arm;
}

/* Tells which quantity of a series the aggregate is, and of which value column. */
static bool read_quantity(Aggref *aggregate, const struct ifp_index_query *query, struct ifp_top_groups *top)
{
	enum ifp_agg_function function;
	const struct ifp_arm *arm = plain_arm(aggregate, query, &function);

	if (!arm || (arm->type != IFP_MEASURE_ROWS && arm->type != IFP_MEASURE_VALUE))
		return false;
	top->value = arm->value;
	if (function == IFP_AGG_COUNT) {
		top->quantity = arm->type == IFP_MEASURE_ROWS ? IFP_TOP_ROWS : IFP_TOP_COUNT;
		return true;
	}
	top->quantity = function == IFP_AGG_SUM ? IFP_TOP_SUM : function == IFP_AGG_MIN ? IFP_TOP_MIN : IFP_TOP_MAX;
	return arm->type == IFP_MEASURE_VALUE && is_integer(exprType(arm->expression)) &&
	       (function == IFP_AGG_SUM || function == IFP_AGG_MIN || function == IFP_AGG_MAX);
}

/* Reads the first sort key. Returns false if it is no aggregate in the usual order of its type. */
static bool read_order(const struct ifp_query_level *level, const List *computed, const struct ifp_index_query *query,
		       struct ifp_top_groups *top)
{
	const SortGroupClause *clause = linitial_node(SortGroupClause, level->upper->parse->sortClause);
	Node *key = get_sortgroupclause_expr((SortGroupClause *)clause, level->upper->processed_tlist);
	Oid family;
	ListCell *cell;

	if (!ifp_ordering_operator(clause->sortop, &family, &top->is_descending) ||
	    family != lookup_type_cache(exprType(key), TYPECACHE_BTREE_OPFAMILY)->btree_opf)
		return false;
	top->nulls_first = clause->nulls_first;
	foreach (cell, query->aggregates) {
		top->aggregate = foreach_current_index(cell);
		if (equal(key, list_nth(computed, top->aggregate)))
			return read_quantity(lfirst_node(Aggref, cell), query, top);
	}
	return false;
}

/* ---- the plan ---- */

void ifp_top_groups_find(const struct ifp_query_level *level, const List *computed, struct ifp_index_query *query)
{
	const Query *parse = level->upper->parse;
	struct ifp_top_groups top = { .limit = parse->limitCount, .offset = parse->limitOffset };

	if (!limits_groups(parse) || !is_series_group(query) || !is_simple(top.limit) || !is_simple(top.offset) ||
	    !read_order(level, computed, query, &top))
		return;
	query->top = list_make3(list_make5_int(top.aggregate, (int)top.quantity, top.value, top.is_descending, top.nulls_first),
				top.limit, top.offset);
}

void ifp_top_groups_read(const struct ifp_index_query *query, struct ifp_top_groups *top)
{
	const List *numbers = linitial(query->top);

	*top = (struct ifp_top_groups){ .aggregate = linitial_int(numbers),
					.quantity = (enum ifp_top_quantity)lsecond_int(numbers),
					.value = lthird_int(numbers),
					.is_descending = lfourth_int(numbers),
					.nulls_first = list_nth_int(numbers, 4),
					.limit = lsecond(query->top),
					.offset = lthird(query->top) };
}

/* ---- cost ---- */

/* A LIMIT that is not known yet, as the planner assumes it. */
static const double unknown_share = 0.1;

static double number_of(const Node *bound, double unknown)
{
	const Const *number = (const Const *)bound;

	if (!bound)
		return 0;
	return IsA(bound, Const) && !number->constisnull ? (double)DatumGetInt64(number->constvalue) : unknown;
}

double ifp_top_groups_estimate(const struct ifp_index_query *query, double n_groups)
{
	struct ifp_top_groups top;
	double n_top;

	if (query->top == NIL)
		return n_groups;
	ifp_top_groups_read(query, &top);
	n_top = Max(number_of(top.limit, n_groups * unknown_share) + number_of(top.offset, 0), 1);
	/* of groups in any order the i-th is among the first n with a chance of n / i */
	return n_top >= n_groups ? n_groups : n_top * (1 + log(n_groups / n_top));
}
