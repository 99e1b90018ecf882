#include "pg_ext/planner/array_element.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg_ext/planner/affine.h"

static bool is_one(const Node *subscript)
{
	const Const *constant = (const Const *)subscript;

	return subscript && IsA(subscript, Const) && constant->consttype == INT4OID && !constant->constisnull &&
	       DatumGetInt32(constant->constvalue) == 1;
}

Aggref *ifp_output_aggregate(Node *node)
{
	const SubscriptingRef *element = (const SubscriptingRef *)node;
	Aggref *aggregate;

	if (IsA(node, Aggref))
		return castNode(Aggref, node);
	if (!IsA(node, SubscriptingRef) || !IsA(element->refexpr, Aggref) || element->refassgnexpr ||
	    element->reflowerindexpr != NIL || list_length(element->refupperindexpr) != 1 ||
	    !is_one(linitial(element->refupperindexpr)))
		return NULL;
	aggregate = castNode(Aggref, element->refexpr);
	if (aggregate->aggfnoid != F_ARRAY_AGG_ANYNONARRAY || aggregate->aggorder == NIL)
		return NULL;
	aggregate = copyObject(aggregate);
	aggregate->aggtype = element->refrestype;
	return aggregate;
}

bool ifp_is_array_element(const Aggref *aggregate)
{
	/* an element of an array of elements is no array itself */
	return aggregate->aggfnoid == F_ARRAY_AGG_ANYNONARRAY && !OidIsValid(get_element_type(aggregate->aggtype));
}

/* Takes "value IS NOT NULL" out of the conditions. Returns false if it is not among them. */
static bool take_not_null(const Node *value, List **conditions)
{
	bool is_found = false;
	ListCell *cell;

	foreach (cell, *conditions) {
		const NullTest *test = lfirst(cell);

		if (IsA(test, NullTest) && test->nulltesttype == IS_NOT_NULL && !test->argisrow && equal(test->arg, value)) {
			*conditions = foreach_delete_current(*conditions, cell);
			is_found = true;
		}
	}
	return is_found;
}

bool ifp_array_element_read(const Aggref *aggregate, AttrNumber time, struct ifp_array_element *element)
{
	SortGroupClause *order = linitial_node(SortGroupClause, aggregate->aggorder);
	Node *value = (Node *)linitial_node(TargetEntry, aggregate->args)->expr;
	Node *by = get_sortgroupclause_expr(order, aggregate->args);
	const TypeCacheEntry *type = lookup_type_cache(exprType(by), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	*element = (struct ifp_array_element){ .time = by,
					       .is_last = order->sortop == type->gt_opr,
					       .conditions = list_copy(make_ands_implicit(aggregate->aggfilter)) };
	element->is_of_values = take_not_null(value, &element->conditions);
	return list_length(aggregate->aggorder) == 1 && ifp_is_column(by, time) &&
	       (element->is_last || order->sortop == type->lt_opr);
}
