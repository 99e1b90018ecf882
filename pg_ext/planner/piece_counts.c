#include "pg_ext/planner/piece_counts.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg_ext/am/scan_keys.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/bucket_finder.h"
#include "pg_ext/planner/selectivity.h"

/* Number of pieces assumed if nothing is known about the times. */
static const double default_pieces = 1000;

/* Pieces whose width is averaged: days of local time and months differ in length. */
enum { MEASURED_PIECES = 8 };

/* ---- times ---- */

/* The window of the query, and the histogram of the time column. */
struct asked_times {
	int64 low, high;
	int64 *bounds; /* of the histogram: equally many rows between neighbours */
	int n_bounds;  /* less than 2: nothing is known */
};

/* Reads the histogram's bounds; infinite ones are left out. */
static void find_times(const struct ifp_query_level *level, Node *time, const struct ifp_definition *definition,
		       struct asked_times *asked)
{
	VariableStatData variable;
	AttStatsSlot slot;

	examine_variable(level->root, time, (int)level->rel->relid, &variable);
	if (HeapTupleIsValid(variable.statsTuple) &&
	    get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES)) {
		struct ifp_time_keys times = ifp_time_keys(definition);

		asked->bounds = palloc((Size)slot.nvalues * sizeof *asked->bounds);
		for (int i = 0; i < slot.nvalues; i++) {
			int64 bound = ifp_time_from_datum(definition, slot.values[i]);

			/* rows at infinity tell nothing about the others */
			if (bound >= times.lowest_finite && bound <= times.highest_finite)
				asked->bounds[asked->n_bounds++] = bound;
		}
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(variable);
	if (asked->n_bounds < 2 || asked->bounds[0] == asked->bounds[asked->n_bounds - 1]) {
		asked->n_bounds = 0;
		return;
	}
	asked->low = asked->bounds[0];
	asked->high = asked->bounds[asked->n_bounds - 1];
}

/* Narrows the window to the bounds of the key conditions. Returns false if these are not known at planning time. */
static bool narrow_times(const struct ifp_query_level *level, const struct ifp_index_query *query, Relation index,
			 struct asked_times *times)
{
	struct ifp_scan_keys asked;

	if (!ifp_selectivity_window_times(level->root, index, query, &asked) || asked.n_ranges != 1)
		return false;
	times->low = Max(times->low, asked.ranges[0].low);
	times->high = Max(Min(times->high, asked.ranges[0].high), times->low);
	return true;
}

/* The key conditions on the time column. */
static List *time_keys(const struct ifp_index_query *query)
{
	List *chosen = NIL;
	ListCell *cell;

	foreach (cell, query->keys) {
		struct ifp_key_condition key;

		ifp_key_condition_read(lfirst(cell), &key);
		if (key.column == ifp_time_attribute(query))
			chosen = lappend(chosen, lfirst(cell));
	}
	return chosen;
}

double ifp_share_of_rows(const struct ifp_query_level *level, const struct ifp_candidate *candidate, List *conditions)
{
	List *over_table = NIL;
	ListCell *cell;

	foreach (cell, conditions)
		over_table = lappend(over_table, ifp_over_columns(lfirst(cell), candidate->columns));
	return clauselist_selectivity(level->root, over_table, (int)level->rel->relid, JOIN_INNER, NULL);
}

/* Returns how far apart two times are. Keys of floating-point times are no measure: half of the positive ones lie below 2. */
static double length_between(const struct ifp_definition *definition, int64 from, int64 until)
{
	if (definition->time_type == IFP_TIME_FLOAT8)
		return ifp_double_from_key(until) - ifp_double_from_key(from);
	return (double)((uint64)until - (uint64)from);
}

/* Returns a time in the middle of the window, without the outer tenths of the histogram. */
static int64 middle_of(const struct ifp_definition *definition, const struct asked_times *times)
{
	int n_outside = times->n_bounds / 10;
	int64 low = Max(times->low, times->bounds[n_outside]);
	int64 high = Min(times->high, times->bounds[times->n_bounds - 1 - n_outside]);

	if (low > high) {
		low = times->low;
		high = times->high;
	}
	if (definition->time_type == IFP_TIME_FLOAT8)
		return ifp_key_from_double(ifp_double_from_key(low) / 2 + ifp_double_from_key(high) / 2);
	return low + (int64)(((uint64)high - (uint64)low) / 2);
}

/* ---- pieces: ranges of times in which the keys keep their values ---- */

static bool has_parameter(Node *node, void *context)
{
	return node && (IsA(node, Param) || expression_tree_walker(node, has_parameter, context));
}

/* True if the keys can be evaluated at planning time: they have no parameters, call no foreign functions (whose errors are not
 * caught), and need no time zone lookup that may fail. */
static bool are_known(const struct ifp_run_keys *keys)
{
	ListCell *cell;

	foreach (cell, keys->breaks)
		if (lsecond(lfirst(cell)) && !IsA(lsecond(lfirst(cell)), Const))
			return false;
	return !has_parameter((Node *)keys->expressions, NULL) && !has_parameter((Node *)keys->breaks, NULL) &&
	       !ifp_calls_foreign_functions((Node *)keys->expressions) && !ifp_calls_foreign_functions((Node *)keys->breaks);
}

/* Expressions of the time are evaluated over a row whose other columns are NULL. */
static ExprContext *begin_row(const struct ifp_index_query *query)
{
	ExprContext *econtext = CreateStandaloneExprContext();

	econtext->ecxt_scantuple = ifp_index_query_row(query);
	return econtext;
}

static void end_row(ExprContext *econtext)
{
	ExecDropSingleTupleTableSlot(econtext->ecxt_scantuple);
	FreeExprContext(econtext, true);
}

/* True if the condition holds at the time; errors count as false. */
static bool holds(const struct ifp_safe_expression *condition, const struct ifp_index_query *query,
		  const struct ifp_definition *definition, ExprContext *econtext, int64 time)
{
	TupleTableSlot *row = econtext->ecxt_scantuple;
	AttrNumber attribute = ifp_time_attribute(query);
	bool is_null;
	Datum value;

	row->tts_values[attribute - 1] = ifp_time_to_datum(definition, time);
	row->tts_isnull[attribute - 1] = false;
	return ifp_safe_eval(condition, econtext, &value, &is_null, NULL) && !is_null && DatumGetBool(value);
}

/* Narrows the times to those that meet a condition that changes once (apart from shifts of the clock). */
static void narrow_by_condition(const struct ifp_index_query *query, const struct ifp_definition *definition, Node *condition,
				struct asked_times *times)
{
	ExprContext *econtext = begin_row(query);
	struct ifp_safe_expression expression = ifp_safe_eval_prepare((Expr *)condition);
	bool at_low = holds(&expression, query, definition, econtext, times->low);
	int64 low = times->low, high = times->high;

	if (holds(&expression, query, definition, econtext, high) != at_low) {
		while ((uint64)high - (uint64)low > 1) {
			int64 middle = low + (int64)(((uint64)high - (uint64)low) / 2);

			if (holds(&expression, query, definition, econtext, middle) == at_low)
				low = middle;
			else
				high = middle;
		}
		if (at_low)
			times->high = low;
		else
			times->low = high;
	}
	end_row(econtext);
}

/* Narrows the times by the run conditions that can be evaluated at planning time, and returns these conditions. */
static List *narrow_by_runs(const struct ifp_query_level *level, const struct ifp_index_query *query,
			    const struct ifp_definition *definition, struct asked_times *times)
{
	List *used = NIL;
	ListCell *cell;

	foreach (cell, query->runs) {
		Node *condition = estimate_expression_value(level->root, lfirst(cell));
		struct ifp_run_keys keys = { list_make1(condition), NIL };

		if (ifp_mentions_by(query, condition) ||
		    !ifp_is_monotone_beside_null(condition, ifp_time_attribute(query), &keys.breaks) || !are_known(&keys))
			continue;
		narrow_by_condition(query, definition, condition, times);
		used = lappend(used, lfirst(cell));
	}
	return used;
}

/* Returns the average width of some pieces in the middle; 0 if the first of them ends no earlier than the times. */
static double piece_width(const struct ifp_index_query *query, const struct ifp_run_keys *keys,
			  const struct ifp_definition *definition, const struct asked_times *times)
{
	ExprContext *econtext = begin_row(query);
	struct ifp_bucket_finder *finder = ifp_bucket_finder_begin(keys, definition, ifp_time_attribute(query), econtext);
	int64 start, end, last;
	int n = 0;

	/* the last piece may end later than the times */
	if (pg_sub_s64_overflow(times->high, times->low, &last) || pg_add_s64_overflow(times->high, last, &last))
		last = PG_INT64_MAX;
	ifp_bucket_finder_start(finder, last);
	start = end = ifp_bucket_finder_end(finder, middle_of(definition, times));
	while (n < MEASURED_PIECES && end < times->high) {
		end = ifp_bucket_finder_end(finder, end + 1);
		n++;
	}
	end_row(econtext);
	return n > 0 ? length_between(definition, start, end) / n : 0;
}

/* Returns the expected number of n equal pieces that are hit by at least one of n_rows random rows. */
static double n_hit(double n, double n_rows)
{
	return n > 1 ? n * -expm1(-n_rows / n) : Min(n, n_rows);
}

/* Returns the expected number of pieces of this width that have rows, by the histogram. */
static double count_repeated(const struct ifp_definition *definition, const struct asked_times *times, double width,
			     double tuples)
{
	double n_rows = tuples / (times->n_bounds - 1), n = 0;

	for (int i = 0; i + 1 < times->n_bounds; i++) {
		int64 from = Max(times->bounds[i], times->low), until = Min(times->bounds[i + 1], times->high);

		if (from < until) {
			double length = length_between(definition, from, until);

			n += n_hit(length / width,
				   n_rows * length / length_between(definition, times->bounds[i], times->bounds[i + 1]));
		}
	}
	return n;
}

/* True if comparisons may change many times, as those of the time of day do. */
static bool are_repeated(const struct ifp_run_keys *keys)
{
	ListCell *cell;

	foreach (cell, keys->breaks)
		if (ifp_break_type(lfirst(cell)) == IFP_BREAK_VALUE)
			return true;
	return false;
}

/* Returns the number of pieces into which the keys cut the times, of which the fraction `part` counts. A comparison cuts them
 * once. */
static double count(const struct ifp_index_query *query, const struct ifp_run_keys *keys,
		    const struct ifp_definition *definition, const struct asked_times *times, double tuples, double part)
{
	struct ifp_run_keys repeated = { .breaks = keys->breaks };
	double n = 1, n_cuts = 0, width;
	ListCell *cell;

	foreach (cell, keys->expressions) {
		if (exprType(lfirst(cell)) == BOOLOID && !are_repeated(keys))
			n_cuts++;
		else
			repeated.expressions = lappend(repeated.expressions, lfirst(cell));
	}
	if (repeated.expressions != NIL && (times->n_bounds == 0 || !are_known(&repeated))) {
		n = default_pieces;
	} else if (repeated.expressions != NIL) {
		width = piece_width(query, &repeated, definition, times);
		n = width > 0 ? count_repeated(definition, times, width, tuples) * part : 1;
	}
	return Max(n, 1) + n_cuts;
}

void ifp_piece_counts_estimate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			       const struct ifp_index_query *query, Relation index, double window, double tuples,
			       struct ifp_piece_counts *pieces)
{
	struct asked_times times = { .n_bounds = 0 };
	List *of_keys, *used = NIL;
	double passed, used_part, part;
	AttrNumber time = ifp_time_attribute(query);
	struct ifp_definition definition;
	struct ifp_run_keys keys, of_buckets;
	ListCell *cell;

	ifp_index_query_range_keys(query, &keys);
	/* late conditions are evaluated for each bucket */
	foreach (cell, query->late)
		if (ifp_mentions(lfirst(cell), time))
			ifp_add_run_keys(lfirst(cell), time, &keys);
	ifp_aggregate_bucket_keys(query, &of_buckets);
	if (keys.expressions == NIL && of_buckets.expressions == NIL) {
		*pieces = (struct ifp_piece_counts){ .buckets = 1, .groups = 1 };
		return;
	}
	of_keys = time_keys(query);
	passed = ifp_share_of_rows(level, candidate, of_keys);
	ifp_definition_read(index, &definition);
	find_times(level, list_nth(candidate->columns, query->n_by), &definition, &times);
	if (times.n_bounds > 0 && narrow_times(level, query, index, &times))
		used = of_keys;
	pieces->ranges = pieces->passed = 0;
	if (keys.expressions != NIL) {
		pieces->passed = passed;
		pieces->ranges = count(query, &keys, &definition, &times, tuples, used ? 1 : passed);
	}
	if (times.n_bounds > 0)
		used = list_concat_copy(used, narrow_by_runs(level, query, &definition, &times));
	/* if the window's bounds are known, the histogram counts its buckets; its rows would not, because times may be
	 * uneven */
	used_part = ifp_share_of_rows(level, candidate, used);
	keys = of_buckets;
	part = used_part > 0 ? Min(window / used_part, 1) : 1;
	pieces->buckets = pieces->groups = Min(count(query, &keys, &definition, &times, tuples, part), tuples);
	if (keys.breaks != NIL) {
		/* the keys may have the same values on both sides of a break */
		keys.breaks = NIL;
		pieces->groups = Min(count(query, &keys, &definition, &times, tuples, part), pieces->groups);
	}
}
