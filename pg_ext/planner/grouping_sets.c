#include "pg_ext/planner/grouping_sets.h"

/* Returns the number of the key that has a reference in the target list. */
static int number_of(const PlannerInfo *root, int reference)
{
	int number = 0;
	ListCell *cell;

	foreach (cell, root->parse->groupClause) {
		if ((int)lfirst_node(SortGroupClause, cell)->tleSortGroupRef == reference)
			break;
		number++;
	}
	return number;
}

static List *numbers_of(const PlannerInfo *root, const List *references)
{
	List *numbers = NIL;
	ListCell *cell;

	foreach (cell, references)
		numbers = lappend_int(numbers, number_of(root, lfirst_int(cell)));
	return numbers;
}

/* Keys are found in the target by equality: constants are not looked up there, and of equal keys only one would be found. */
static const char *refuse_keys(const List *groups)
{
	ListCell *cell;

	foreach (cell, groups) {
		if (IsA(lfirst(cell), Const))
			return "a key of grouping sets is a constant";
		for (int i = 0; i < foreach_current_index(cell); i++)
			if (equal(list_nth(groups, i), lfirst(cell)))
				return "two keys of grouping sets are the same";
	}
	return NULL;
}

const char *ifp_grouping_sets_read(const PlannerInfo *root, const List *groups, List **sets)
{
	ListCell *cell;

	*sets = NIL;
	/* the planner has expanded ROLLUP and CUBE to lists of references */
	foreach (cell, root->parse->groupingSets)
		*sets = lappend(*sets, numbers_of(root, lfirst(cell)));
	return *sets == NIL ? NULL : refuse_keys(groups);
}

List *ifp_grouping_keys(const PlannerInfo *root, const GroupingFunc *grouping)
{
	return numbers_of(root, grouping->refs);
}
