#include "pg_ext/groups.h"

#include "nodes/nodeFuncs.h"

/* Beside the keys of a group; its states follow. */
struct group {
	struct group *next;          /* found first after this one */
	MinimalTuple keys;
};

struct iforest_groups {
	PlanState *node;
	ExprContext *econtext;
	MemoryContext context;
	Size state_bytes;
	int n_keys;
	ExprState **keys;
	TupleDesc descriptor;
	TupleTableSlot *probe, *stored;
	AttrNumber *columns;
	Oid *equal, *collations;
	FmgrInfo *hash;
	TupleHashTable table;        /* NULL without keys */
	struct group *first, *last;  /* in the order in which they were found, which is that of their memory */
	bool is_done;                /* the one group without keys was given */
	void *only;                  /* states of the one group without keys */
};

struct iforest_groups *iforest_groups_begin(const struct iforest_question *question, Size state_bytes, PlanState *node,
					    ExprContext *econtext)
{
	struct iforest_groups *groups = palloc0(sizeof *groups);
	Oid *operators;
	ListCell *cell;
	int n = list_length(question->groups), i = 0;

	*groups = (struct iforest_groups){ .node = node, .econtext = econtext, .state_bytes = state_bytes, .n_keys = n };
	if (n == 0)
		return groups;
	groups->keys = palloc(n * sizeof(ExprState *));
	groups->columns = palloc(n * sizeof *groups->columns);
	groups->collations = palloc(n * sizeof *groups->collations);
	operators = palloc(n * sizeof *operators);
	groups->descriptor = CreateTemplateTupleDesc(n);
	foreach(cell, question->groups) {
		Node *key = lfirst(cell);

		groups->keys[i] = ExecInitExpr((Expr *)key, NULL);
		groups->columns[i] = (AttrNumber)(i + 1);
		groups->collations[i] = exprCollation(key);
		operators[i] = list_nth_oid(question->operators, i);
		TupleDescInitEntry(groups->descriptor, (AttrNumber)(i + 1), NULL, exprType(key), exprTypmod(key), 0);
		i++;
	}
	execTuplesHashPrepare(n, operators, &groups->equal, &groups->hash);
	groups->probe = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsVirtual);
	groups->stored = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsMinimalTuple);
	return groups;
}

enum { FEWEST_EXPECTED = 256, MOST_EXPECTED = 4096 };

static long expected_groups(const struct iforest_groups *groups)
{
	return (long)Min(Max(groups->node->plan->plan_rows, FEWEST_EXPECTED), MOST_EXPECTED);
}

static Size group_bytes(const struct iforest_groups *groups)
{
	return sizeof(struct group) + groups->state_bytes;
}

void iforest_groups_reset(struct iforest_groups *groups, MemoryContext context)
{
	MemoryContext before = MemoryContextSwitchTo(context);

	groups->context = context;
	groups->first = groups->last = NULL;
	groups->is_done = false;
	groups->only = NULL;
	if (groups->n_keys > 0) {
		ExecClearTuple(groups->stored);
		groups->table = iforest_make_group_table(groups->node, groups->descriptor, groups->columns, groups->equal,
							 groups->hash, groups->collations, expected_groups(groups), group_bytes(groups), context,
							 groups->econtext->ecxt_per_tuple_memory);
	} else {
		groups->only = palloc0(groups->state_bytes);
	}
	MemoryContextSwitchTo(before);
}

void *iforest_groups_find(struct iforest_groups *groups)
{
	TupleHashEntry entry;
	struct group *group;
	bool is_new;

	if (groups->n_keys == 0)
		return groups->only;
	ExecClearTuple(groups->probe);
	for (int i = 0; i < groups->n_keys; i++)
		groups->probe->tts_values[i] = ExecEvalExprSwitchContext(groups->keys[i], groups->econtext,
									 &groups->probe->tts_isnull[i]);
	ExecStoreVirtualTuple(groups->probe);
	entry = LookupTupleHashEntry(groups->table, groups->probe, &is_new, NULL);
	group = iforest_group_bytes(groups->table, entry, is_new, group_bytes(groups));
	if (is_new) {
		group->keys = entry->firstTuple;
		*(groups->last ? &groups->last->next : &groups->first) = group;
		groups->last = group;
	}
	return group + 1;
}

void *iforest_groups_next(struct iforest_groups *groups, Datum *keys, bool *are_null)
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
