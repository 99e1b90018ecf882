#include "pg_ext/exec/set_groups.h"

struct ifp_set_groups {
	const struct ifp_index_query *query;
	int n, next; /* next: the set whose groups are returned */
	struct ifp_groups **groups;
	List **numbers; /* of the keys that each set has */
};

static List *all_numbers(const struct ifp_index_query *query)
{
	List *numbers = NIL;

	for (int i = 0; i < list_length(query->groups); i++)
		numbers = lappend_int(numbers, i);
	return numbers;
}

struct ifp_set_groups *ifp_set_groups_begin(const struct ifp_index_query *query, Size state_bytes, PlanState *node,
					    ExprContext *econtext)
{
	struct ifp_set_groups *sets = palloc(sizeof *sets);
	int n = Max(list_length(query->sets), 1);

	*sets = (struct ifp_set_groups){ .query = query, .n = n };
	sets->groups = palloc((Size)n * sizeof *sets->groups);
	sets->numbers = palloc((Size)n * sizeof *sets->numbers);
	for (int i = 0; i < n; i++) {
		sets->numbers[i] = query->sets != NIL ? list_nth(query->sets, i) : all_numbers(query);
		sets->groups[i] = ifp_groups_begin(query, sets->numbers[i], state_bytes, node, econtext);
	}
	return sets;
}

void ifp_set_groups_reset(struct ifp_set_groups *sets, MemoryContext context)
{
	sets->next = 0;
	for (int i = 0; i < sets->n; i++)
		ifp_groups_reset(sets->groups[i], context);
}

void ifp_set_groups_move(struct ifp_set_groups *sets, void **note)
{
	for (int i = 0; i < sets->n; i++)
		ifp_groups_move(sets->groups[i], sets->n == 1 ? note : NULL);
}

int ifp_set_groups_n(const struct ifp_set_groups *sets)
{
	return sets->n;
}

void *ifp_set_groups_find(struct ifp_set_groups *sets, int i, int piece)
{
	return ifp_groups_find(sets->groups[i], piece);
}

/* Returns GROUPING() for the groups of a set: a bit for each key not in the set. */
static int32 grouping_of(const List *numbers, const List *asked)
{
	int32 bits = 0;
	ListCell *cell;

	foreach (cell, asked)
		bits = (bits << 1) | !list_member_int(numbers, lfirst_int(cell));
	return bits;
}

void *ifp_set_groups_next(struct ifp_set_groups *sets, Datum *keys, bool *are_null, int groupings)
{
	void *states = NULL;
	ListCell *cell;

	for (int i = 0; i < list_length(sets->query->groups); i++) {
		keys[i] = (Datum)0;
		are_null[i] = true;
	}
	while (sets->next < sets->n && !(states = ifp_groups_next(sets->groups[sets->next], keys, are_null)))
		sets->next++;
	foreach (cell, states ? sets->query->groupings : NIL) {
		keys[groupings] = Int32GetDatum(grouping_of(sets->numbers[sets->next], lfirst(cell)));
		are_null[groupings++] = false;
	}
	return states;
}
