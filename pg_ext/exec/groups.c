#include "pg_ext/exec/groups.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pg_ext/planner/monotone.h"

/* A group; its states follow in memory. */
struct group {
	struct group *next; /* the group that was found next */
	MinimalTuple keys;
};

struct ifp_groups {
	PlanState *node;
	ExprContext *econtext;
	MemoryContext context;
	Size state_bytes;
	int n_keys;
	ExprState **keys;
	TupleDesc descriptor;
	TupleTableSlot *probe, *stored, *latest;
	AttrNumber *columns;
	Oid *equal, *collations;
	FmgrInfo *hash, *equals;
	bool *of_time;
	bool come_together;	    /* the buckets of a group come one after the other */
	TupleHashTable table;	    /* of pointers to groups; NULL if come_together, and without keys */
	struct group *first, *last; /* in the order in which they were found, which is that of their memory */
	bool is_done;		    /* the one group without keys was returned */
	void *only;		    /* states of the one group without keys */
};

static bool has_infinities(const struct ifp_index_query *query)
{
	Oid type = getBaseType(exprType(list_nth(query->columns, ifp_time_attribute(query) - 1)));

	return type != INT2OID && type != INT4OID && type != INT8OID;
}

/* True if the buckets of a group come one after the other. Buckets come series by series, and within a series in the order of
 * time, rows without a time last. So the keys must tell all series apart and otherwise be monotone in the time, infinite times
 * included. */
static bool keys_come_together(const struct ifp_index_query *query)
{
	AttrNumber time = ifp_time_attribute(query);
	bool may_be_infinite = has_infinities(query);
	List *breaks = NIL;
	Bitmapset *by = NULL;
	ListCell *cell;

	foreach (cell, query->groups) {
		Node *key = lfirst(cell);

		if (ifp_mentioned_value(query, key) != -1)
			return false;
		if (IsA(key, Var) && castNode(Var, key)->varattno != time && ifp_equal_is_identical(key))
			by = bms_add_member(by, castNode(Var, key)->varattno);
		else if (ifp_mentions(key, time) &&
			 (!ifp_is_monotone(key, time, &breaks) || (may_be_infinite && ifp_may_make_nan(key))))
			return false;
	}
	return breaks == NIL && bms_num_members(by) == query->n_by && list_length(query->tables) == 1;
}

struct ifp_groups *ifp_groups_begin(const struct ifp_index_query *query, Size state_bytes, PlanState *node,
				    ExprContext *econtext)
{
	struct ifp_groups *groups = palloc0(sizeof *groups);
	Oid *operators;
	ListCell *cell;
	int n = list_length(query->groups), i = 0;

	*groups = (struct ifp_groups){ .node = node, .econtext = econtext, .state_bytes = state_bytes, .n_keys = n };
	if (n == 0)
		return groups;
	groups->keys = palloc(n * sizeof(ExprState *));
	groups->columns = palloc(n * sizeof *groups->columns);
	groups->collations = palloc(n * sizeof *groups->collations);
	groups->equals = palloc(n * sizeof *groups->equals);
	groups->of_time = palloc(n * sizeof *groups->of_time);
	groups->come_together = keys_come_together(query);
	operators = palloc(n * sizeof *operators);
	groups->descriptor = CreateTemplateTupleDesc(n);
	foreach (cell, query->groups) {
		Node *key = lfirst(cell);

		groups->keys[i] = ExecInitExpr((Expr *)key, NULL);
		groups->columns[i] = (AttrNumber)(i + 1);
		groups->collations[i] = exprCollation(key);
		groups->of_time[i] = ifp_mentions(key, ifp_time_attribute(query));
		operators[i] = list_nth_oid(query->operators, i);
		TupleDescInitEntry(groups->descriptor, (AttrNumber)(i + 1), NULL, exprType(key), exprTypmod(key), 0);
		i++;
	}
	execTuplesHashPrepare(n, operators, &groups->equal, &groups->hash);
	for (i = 0; i < n; i++)
		fmgr_info(groups->equal[i], &groups->equals[i]);
	groups->probe = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsVirtual);
	groups->stored = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsMinimalTuple);
	groups->latest = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsMinimalTuple);
	return groups;
}

enum { FEWEST_EXPECTED = 256, MOST_EXPECTED = 4096 };

static long expected_groups(const struct ifp_groups *groups)
{
	return (long)Min(Max(groups->node->plan->plan_rows, FEWEST_EXPECTED), MOST_EXPECTED);
}

static TupleHashTable make_table(const struct ifp_groups *groups)
{
	return ifp_make_group_table(groups->node, groups->descriptor, groups->columns, groups->equal, groups->hash,
				    groups->collations, expected_groups(groups), sizeof(struct group *), groups->context,
				    groups->econtext->ecxt_per_tuple_memory);
}

void ifp_groups_reset(struct ifp_groups *groups, MemoryContext context)
{
	groups->context = context;
	groups->first = groups->last = NULL;
	groups->is_done = false;
	groups->only = NULL;
	groups->table = NULL;
	if (groups->n_keys > 0) {
		ExecClearTuple(groups->stored);
		ExecClearTuple(groups->latest);
		groups->table = groups->come_together ? NULL : make_table(groups);
	} else {
		groups->only = MemoryContextAllocZero(context, groups->state_bytes);
	}
}

/* ---- finding ---- */

static struct group *add_group(struct ifp_groups *groups)
{
	MemoryContext before = MemoryContextSwitchTo(groups->context);
	struct group *group = palloc0(sizeof *group + groups->state_bytes);

	group->keys = ExecCopySlotMinimalTuple(groups->probe);
	*(groups->last ? &groups->last->next : &groups->first) = group;
	groups->last = group;
	MemoryContextSwitchTo(before);
	return group;
}

/* Returns the place of a slot's group in the table. */
static struct group **place_of(struct ifp_groups *groups, TupleTableSlot *slot)
{
	bool is_new;
	TupleHashEntry entry = LookupTupleHashEntry(groups->table, slot, &is_new, NULL);

	return ifp_group_bytes(groups->table, entry, is_new, sizeof(struct group *));
}

/* True if the probe is of the group that was found last. Compares keys of the time first, which differ most often. */
static bool is_latest(const struct ifp_groups *groups)
{
	const TupleTableSlot *probe = groups->probe, *latest = groups->latest;

	if (!groups->last)
		return false;
	slot_getallattrs(groups->latest);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < groups->n_keys; i++) {
			if (groups->of_time[i] != (pass == 0))
				continue;
			if (probe->tts_isnull[i] != latest->tts_isnull[i] ||
			    (!probe->tts_isnull[i] &&
			     !DatumGetBool(FunctionCall2Coll(&groups->equals[i], groups->collations[i], probe->tts_values[i],
							     latest->tts_values[i]))))
				return false;
		}
	return true;
}

void *ifp_groups_find(struct ifp_groups *groups)
{
	struct group *group = groups->last, **place;

	if (groups->n_keys == 0)
		return groups->only;
	ExecClearTuple(groups->probe);
	for (int i = 0; i < groups->n_keys; i++)
		groups->probe->tts_values[i] =
			ExecEvalExprSwitchContext(groups->keys[i], groups->econtext, &groups->probe->tts_isnull[i]);
	ExecStoreVirtualTuple(groups->probe);
	if (groups->table) {
		place = place_of(groups, groups->probe);
		if (!*place)
			*place = add_group(groups);
		group = *place;
	} else if (!is_latest(groups)) {
		group = add_group(groups);
		ExecStoreMinimalTuple(group->keys, groups->latest, false);
	}
	return group + 1;
}

void *ifp_groups_next(struct ifp_groups *groups, Datum *keys, bool *are_null)
{
	struct group *group = groups->first;

	if (groups->n_keys == 0) {
		void *only = groups->is_done ? NULL : groups->only;

		groups->is_done = true;
		return only;
	}
	if (!group)
		return NULL;
	groups->first = group->next;
	ExecStoreMinimalTuple(group->keys, groups->stored, false);
	slot_getallattrs(groups->stored);
	memcpy(keys, groups->stored->tts_values, (Size)groups->n_keys * sizeof *keys);
	memcpy(are_null, groups->stored->tts_isnull, (Size)groups->n_keys * sizeof *are_null);
	return group + 1;
}
