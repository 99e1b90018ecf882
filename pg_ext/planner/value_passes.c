#include "pg_ext/planner/value_passes.h"

#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/value_steps.h"

/* A set of steps whose rows count for a measure or a group. */
struct wanted {
	int histogram;
	uint64 steps;
};

static List *add_wanted(List *all, int histogram, uint64 steps)
{
	struct wanted *wanted = palloc(sizeof *wanted);

	*wanted = (struct wanted){ histogram, steps };
	return lappend(all, wanted);
}

static List *all_wanted(const struct ifp_index_query *query)
{
	List *all = NIL;
	ListCell *cell, *arm_cell;

	foreach (cell, query->pieces)
		all = add_wanted(all, query->histogram, ifp_piece_steps(lfirst(cell)));
	foreach (cell, query->aggregates) {
		enum ifp_agg_function function;
		List *arms;

		(void)ifp_aggregate_read(lfirst(cell), query, &function, &arms);
		foreach (arm_cell, arms) {
			const struct ifp_arm *arm = lfirst(arm_cell);

			if (arm->steps != IFP_ALL_STEPS)
				all = add_wanted(all, arm->histogram, arm->steps);
		}
	}
	return all;
}

/* True if each set has both steps or neither. */
static bool are_alike(const List *all, int histogram, int a, int b)
{
	ListCell *cell;

	foreach (cell, all) {
		const struct wanted *wanted = lfirst(cell);

		if (wanted->histogram == histogram && (wanted->steps >> a & 1) != (wanted->steps >> b & 1))
			return false;
	}
	return true;
}

static bool is_wanted(const List *all, int histogram, int step)
{
	ListCell *cell;

	foreach (cell, all) {
		const struct wanted *wanted = lfirst(cell);

		if (wanted->histogram == histogram && (wanted->steps >> step & 1))
			return true;
	}
	return false;
}

static List *add_pass(List *passes, int histogram, uint64 steps)
{
	struct ifp_value_pass *pass = palloc(sizeof *pass);

	*pass = (struct ifp_value_pass){ histogram, steps };
	return lappend(passes, pass);
}

/* Adds a pass for each stretch of equivalent steps, and one for NULL. */
static List *add_stretches(List *passes, const struct ifp_index_query *query, const List *all, int histogram)
{
	int null = query->accumulators.list[histogram].n_parameters + 1, first = 0;

	for (int step = 1; step <= null + 1; step++) {
		if (step < null && are_alike(all, histogram, first, step))
			continue;
		if (is_wanted(all, histogram, first))
			passes = add_pass(passes, histogram, (UINT64CONST(1) << step) - (UINT64CONST(1) << first));
		first = step;
	}
	return passes;
}

List *ifp_value_passes(const struct ifp_index_query *query)
{
	List *passes = NIL, *all;

	if (!query->drawn)
		return NIL;
	all = all_wanted(query);
	/* this pass creates the groups, too */
	if (query->pieces == NIL)
		passes = add_pass(passes, -1, IFP_ALL_STEPS);
	for (int a = 0; a < query->accumulators.n; a++)
		if (!ifp_value_steps_is_kept(&query->accumulators, (unsigned)a))
			passes = add_stretches(passes, query, all, a);
	return passes;
}
