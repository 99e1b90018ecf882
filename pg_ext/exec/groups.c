#include "pg_ext/exec/groups.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "pg_ext/planner/monotone.h"

/* Groups that differ only in the keys of pieces. */
struct group {
	struct group *next; /* the group that was created next */
	MinimalTuple keys;
	/* by piece; NULL if it has no rows. Without keys of pieces the states follow in memory */
	void *states[FLEXIBLE_ARRAY_MEMBER];
};

/* Keys of the query: those by which groups are looked up, or those of pieces. */
struct keys {
	int n;
	int *numbers; /* among the query's */
	ExprState **expressions;
	Oid *operators, *equal, *collations;
	FmgrInfo *hash, *equals;
	int16 *lengths;
	bool *by_value, *of_time;
};

/* A piece of the rows of each bucket. */
struct group_piece {
	bool is_known;
	int first; /* the piece with these keys that became known first */
	Datum *keys;
	bool *are_null;
};

struct ifp_groups {
	PlanState *node;
	ExprContext *econtext;
	MemoryContext context;
	Size state_bytes;
	struct keys found, pieced;
	TupleDesc descriptor; /* of the lookup keys, as are the following members */
	TupleTableSlot *probe, *stored, *latest;
	AttrNumber *columns;
	bool come_together; /* the buckets of a group come one after the other */
	bool are_apart;	    /* no key depends on both the piece and something else */
	bool are_of_time;   /* the lookup keys have no column but the time */
	void **note;	    /* where the group of the row is kept; NULL: nowhere */
	int n_pieces;	    /* 1 if no key depends only on the piece */
	struct group_piece *pieces;
	TupleHashTable table;		      /* of pointers to groups; NULL if come_together, and without keys */
	struct group *first, *last, *current; /* first and last in order of creation, which is also that of memory */
	int next_piece;			      /* next piece of `first` to be returned */
	char *free;			      /* the rest of a chunk of memory */
	Size n_free, n_in_chunk;	      /* groups for which there is room in that rest, and in the whole chunk */
};

static Oid time_type(const struct ifp_index_query *query)
{
	return getBaseType(exprType(list_nth(query->columns, ifp_time_attribute(query) - 1)));
}

/* True if infinite times keep the order of a monotone key. NaN, the greatest, does so only in a key that does not decrease. */
static bool keeps_infinities(const struct ifp_index_query *query, Node *key)
{
	switch (time_type(query)) {
	case INT2OID:
	case INT4OID:
	case INT8OID:
		return true;
	case FLOAT8OID:
		return IsA(key, Var);
	default:
		return !ifp_may_make_nan(key);
	}
}

/* True if the buckets of each group are consecutive. Buckets come series by series, and within a series in time order, rows
 * without a time last. So the keys must distinguish all series and otherwise be monotone in the time, infinite times included.
 * False if the index is read in passes, since each has all groups, if there are dimensions, or if buckets are split. */
static bool keys_come_together(const struct ifp_index_query *query, const struct keys *keys)
{
	AttrNumber time = ifp_time_attribute(query);
	List *breaks = NIL;
	Bitmapset *by = NULL;

	for (int i = 0; i < keys->n; i++) {
		Node *key = list_nth(query->groups, keys->numbers[i]);

		if (ifp_mentioned_value(query, key) != -1)
			return false;
		if (IsA(key, Var) && castNode(Var, key)->varattno != time && ifp_equal_is_identical(key))
			by = bms_add_member(by, castNode(Var, key)->varattno);
		else if (ifp_mentions(key, time) && (!ifp_is_monotone(key, time, &breaks) || !keeps_infinities(query, key)))
			return false;
	}
	return breaks == NIL && bms_num_members(by) == query->n_by && list_length(query->tables) == 1 && !query->drawn &&
	       query->dimensions == NIL && query->splits == NIL;
}

/* ---- beginning ---- */

static bool has_value(const struct ifp_index_query *query, Node *key)
{
	return ifp_mentioned_value(query, key) != -1;
}

/* True if each key depends only on the piece, or only on other columns. */
static bool are_keys_apart(const struct ifp_index_query *query, const List *numbers)
{
	ListCell *cell;

	foreach (cell, numbers) {
		Node *key = list_nth(query->groups, lfirst_int(cell));

		if (has_value(query, key) && (ifp_mentions_by(query, key) || ifp_mentions(key, ifp_time_attribute(query))))
			return false;
	}
	return true;
}

/* Prepares the keys of pieces, or the others. */
static void begin_keys(const struct ifp_index_query *query, const List *numbers, bool are_apart, bool of_pieces,
		       struct keys *keys)
{
	Size n = (Size)list_length(numbers);
	ListCell *cell;

	if (n == 0)
		return;
	keys->numbers = palloc((n + 1) * sizeof *keys->numbers);
	keys->expressions = palloc((n + 1) * sizeof(ExprState *));
	keys->operators = palloc((n + 1) * sizeof *keys->operators);
	keys->collations = palloc((n + 1) * sizeof *keys->collations);
	keys->equals = palloc((n + 1) * sizeof *keys->equals);
	keys->lengths = palloc((n + 1) * sizeof *keys->lengths);
	keys->by_value = palloc((n + 1) * sizeof *keys->by_value);
	keys->of_time = palloc((n + 1) * sizeof *keys->of_time);
	foreach (cell, numbers) {
		int number = lfirst_int(cell), i = keys->n;
		Node *key = list_nth(query->groups, number);

		if ((are_apart && has_value(query, key)) != of_pieces)
			continue;
		keys->numbers[i] = number;
		keys->expressions[i] = ExecInitExpr((Expr *)key, NULL);
		keys->operators[i] = list_nth_oid(query->operators, number);
		keys->collations[i] = exprCollation(key);
		keys->of_time[i] = ifp_mentions(key, ifp_time_attribute(query));
		get_typlenbyval(exprType(key), &keys->lengths[i], &keys->by_value[i]);
		keys->n++;
	}
	execTuplesHashPrepare(keys->n, keys->operators, &keys->equal, &keys->hash);
	for (int i = 0; i < keys->n; i++)
		fmgr_info(keys->equal[i], &keys->equals[i]);
}

static void begin_pieces(struct ifp_groups *groups, int n)
{
	groups->n_pieces = n;
	groups->pieces = palloc0((Size)n * sizeof *groups->pieces);
	for (int i = 0; i < n; i++) {
		groups->pieces[i].keys = palloc((Size)(groups->pieced.n + 1) * sizeof(Datum));
		groups->pieces[i].are_null = palloc((Size)(groups->pieced.n + 1) * sizeof(bool));
	}
}

struct ifp_groups *ifp_groups_begin(const struct ifp_index_query *query, const List *numbers, Size state_bytes, PlanState *node,
				    ExprContext *econtext)
{
	struct ifp_groups *groups = palloc0(sizeof *groups);
	struct keys *found = &groups->found;

	*groups = (struct ifp_groups){
		.node = node, .econtext = econtext, .state_bytes = state_bytes, .are_apart = are_keys_apart(query, numbers)
	};
	begin_keys(query, numbers, groups->are_apart, true, &groups->pieced);
	begin_keys(query, numbers, groups->are_apart, false, found);
	begin_pieces(groups, groups->pieced.n > 0 ? list_length(query->pieces) : 1);
	if (found->n == 0)
		return groups;
	groups->columns = palloc((Size)found->n * sizeof *groups->columns);
	groups->come_together = keys_come_together(query, found);
	groups->are_of_time = true;
	groups->descriptor = CreateTemplateTupleDesc(found->n);
	for (int i = 0; i < found->n; i++) {
		Node *key = list_nth(query->groups, found->numbers[i]);

		groups->are_of_time = groups->are_of_time && !ifp_mentions_others(key, ifp_time_attribute(query));
		groups->columns[i] = (AttrNumber)(i + 1);
		TupleDescInitEntry(groups->descriptor, (AttrNumber)(i + 1), NULL, exprType(key), exprTypmod(key), 0);
	}
	groups->probe = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsVirtual);
	groups->stored = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsMinimalTuple);
	groups->latest = MakeSingleTupleTableSlot(groups->descriptor, &TTSOpsMinimalTuple);
	return groups;
}

enum { FEWEST_EXPECTED = 256, MOST_EXPECTED = 4096 };

/* The most bytes of groups that are allocated together; what a group's keys and its entry in the table take, approximately. */
enum { MOST_CHUNK_BYTES = 8192, KEYS_BYTES = 128 };

static long expected_groups(const struct ifp_groups *groups)
{
	return (long)Min(Max(groups->node->plan->plan_rows, FEWEST_EXPECTED), MOST_EXPECTED);
}

static TupleHashTable make_table(const struct ifp_groups *groups)
{
	const struct keys *keys = &groups->found;

	return ifp_make_group_table(groups->node, groups->descriptor, groups->columns, keys->equal, keys->hash,
				    keys->collations, expected_groups(groups), sizeof(struct group *), groups->context,
				    groups->econtext->ecxt_per_tuple_memory);
}

static Size bytes_of_group(const struct ifp_groups *groups)
{
	Size n_states = groups->pieced.n == 0 ? groups->state_bytes : 0;

	return MAXALIGN(offsetof(struct group, states) + (Size)groups->n_pieces * sizeof(void *) + n_states);
}

/* Returns a memory context for groups, within the given one. Its first block has room for the expected groups: malloc() keeps
 * that for the next query. Blocks that double add up to more than it keeps, and each query would ask the kernel for them. */
static MemoryContext make_context(const struct ifp_groups *groups, MemoryContext within)
{
	Size n_bytes = (Size)expected_groups(groups) * (bytes_of_group(groups) + KEYS_BYTES);

	if (expected_groups(groups) == FEWEST_EXPECTED)
		return within;
	return AllocSetContextCreate(within, "iforest groups", 0, Min(n_bytes, ALLOCSET_DEFAULT_MAXSIZE),
				     ALLOCSET_DEFAULT_MAXSIZE);
}

/* Returns zeros for a group in the current memory context, from chunks of twice as many each time: a chunk of its own would be
 * rounded up to a power of two. */
static struct group *allocate_group(struct ifp_groups *groups)
{
	Size n_bytes = bytes_of_group(groups);
	char *group;

	if (groups->n_free == 0) {
		groups->n_free = groups->n_in_chunk = Max(Min(2 * groups->n_in_chunk, MOST_CHUNK_BYTES / n_bytes), 1);
		groups->free = palloc0(groups->n_free * n_bytes);
	}
	group = groups->free;
	groups->free += n_bytes;
	groups->n_free--;
	return (struct group *)group;
}

static struct group *add_group(struct ifp_groups *groups)
{
	MemoryContext before = MemoryContextSwitchTo(groups->context);
	struct group *group = allocate_group(groups);

	if (groups->found.n > 0)
		group->keys = ExecCopySlotMinimalTuple(groups->probe);
	if (groups->pieced.n == 0)
		group->states[0] = &group->states[1];
	*(groups->last ? &groups->last->next : &groups->first) = group;
	groups->last = group;
	MemoryContextSwitchTo(before);
	return group;
}

void ifp_groups_reset(struct ifp_groups *groups, MemoryContext context)
{
	groups->context = context;
	groups->first = groups->last = groups->current = NULL;
	groups->next_piece = 0;
	groups->table = NULL;
	groups->n_free = groups->n_in_chunk = 0;
	for (int i = 0; i < groups->n_pieces; i++)
		groups->pieces[i].is_known = false;
	if (groups->found.n == 0) {
		add_group(groups);
		return;
	}
	ExecClearTuple(groups->stored);
	ExecClearTuple(groups->latest);
	groups->context = make_context(groups, context);
	groups->table = groups->come_together ? NULL : make_table(groups);
}

/* ---- finding ---- */

static Datum evaluate(const struct ifp_groups *groups, const struct keys *keys, int i, bool *is_null)
{
	return ExecEvalExprSwitchContext(keys->expressions[i], groups->econtext, is_null);
}

static bool is_same(const struct keys *keys, int i, Datum a, bool a_is_null, Datum b, bool b_is_null)
{
	return a_is_null || b_is_null ? a_is_null == b_is_null
				      : DatumGetBool(FunctionCall2Coll(&keys->equals[i], keys->collations[i], a, b));
}

/* Returns the table's entry for a slot's group. */
static struct group **place_of(struct ifp_groups *groups, TupleTableSlot *slot)
{
	bool is_new;
	TupleHashEntry entry = LookupTupleHashEntry(groups->table, slot, &is_new, NULL);

	return ifp_group_bytes(groups->table, entry, is_new, sizeof(struct group *));
}

/* True if the probe belongs to the last group. Compares keys of the time first, which differ most often. */
static bool is_latest(const struct ifp_groups *groups)
{
	const TupleTableSlot *probe = groups->probe, *latest = groups->latest;
	const struct keys *keys = &groups->found;

	if (!groups->last)
		return false;
	slot_getallattrs(groups->latest);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < keys->n; i++)
			if (keys->of_time[i] == (pass == 0) && !is_same(keys, i, probe->tts_values[i], probe->tts_isnull[i],
									latest->tts_values[i], latest->tts_isnull[i]))
				return false;
	return true;
}

/* Finds the group of the row, for any piece. */
static struct group *find_group(struct ifp_groups *groups)
{
	const struct keys *keys = &groups->found;
	struct group **place;

	if (keys->n == 0)
		return groups->last;
	ExecClearTuple(groups->probe);
	for (int i = 0; i < keys->n; i++)
		groups->probe->tts_values[i] = evaluate(groups, keys, i, &groups->probe->tts_isnull[i]);
	ExecStoreVirtualTuple(groups->probe);
	if (groups->table) {
		place = place_of(groups, groups->probe);
		if (!*place)
			*place = add_group(groups);
		return *place;
	}
	if (!is_latest(groups))
		ExecStoreMinimalTuple(add_group(groups)->keys, groups->latest, false);
	return groups->last;
}

static bool have_same_keys(const struct keys *keys, const struct group_piece *a, const struct group_piece *b)
{
	for (int i = 0; i < keys->n; i++)
		if (!is_same(keys, i, a->keys[i], a->are_null[i], b->keys[i], b->are_null[i]))
			return false;
	return true;
}

/* Evaluates the keys of a piece once it has a row; before that they must not raise an error. */
static void learn_piece(struct ifp_groups *groups, struct group_piece *piece)
{
	const struct keys *keys = &groups->pieced;
	MemoryContext before;

	for (int i = 0; i < keys->n; i++) {
		Datum key = evaluate(groups, keys, i, &piece->are_null[i]);

		before = MemoryContextSwitchTo(groups->context);
		piece->keys[i] = piece->are_null[i] ? (Datum)0 : datumCopy(key, keys->by_value[i], keys->lengths[i]);
		MemoryContextSwitchTo(before);
	}
	piece->first = (int)(piece - groups->pieces);
	for (int i = 0; i < groups->n_pieces; i++)
		if (groups->pieces[i].is_known && have_same_keys(keys, &groups->pieces[i], piece)) {
			piece->first = groups->pieces[i].first;
			break;
		}
	piece->is_known = true;
}

void ifp_groups_move(struct ifp_groups *groups, void **note)
{
	groups->note = groups->are_of_time ? note : NULL;
	groups->current = groups->note ? *groups->note : NULL;
}

void *ifp_groups_find(struct ifp_groups *groups, int piece)
{
	struct group_piece *known = &groups->pieces[groups->pieced.n == 0 ? 0 : piece];
	void **states;

	if (!groups->current || !groups->are_apart) {
		groups->current = find_group(groups);
		if (groups->note)
			*groups->note = groups->current;
	}
	if (!known->is_known)
		learn_piece(groups, known);
	states = &groups->current->states[known->first];
	if (!*states)
		*states = MemoryContextAllocZero(groups->context, groups->state_bytes);
	return *states;
}

/* ---- reading ---- */

static void write_keys(const struct ifp_groups *groups, const struct group_piece *piece, Datum *keys, bool *are_null)
{
	for (int i = 0; i < groups->found.n; i++) {
		keys[groups->found.numbers[i]] = groups->stored->tts_values[i];
		are_null[groups->found.numbers[i]] = groups->stored->tts_isnull[i];
	}
	for (int i = 0; i < groups->pieced.n; i++) {
		keys[groups->pieced.numbers[i]] = piece->keys[i];
		are_null[groups->pieced.numbers[i]] = piece->are_null[i];
	}
}

void *ifp_groups_next(struct ifp_groups *groups, Datum *keys, bool *are_null)
{
	for (; groups->first; groups->first = groups->first->next, groups->next_piece = 0) {
		const struct group *group = groups->first;

		if (groups->next_piece == 0 && groups->found.n > 0) {
			ExecStoreMinimalTuple(group->keys, groups->stored, false);
			slot_getallattrs(groups->stored);
		}
		while (groups->next_piece < groups->n_pieces) {
			int piece = groups->next_piece++;

			if (!group->states[piece])
				continue;
			write_keys(groups, &groups->pieces[piece], keys, are_null);
			return group->states[piece];
		}
	}
	return NULL;
}
