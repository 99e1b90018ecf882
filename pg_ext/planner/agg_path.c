#include "pg_ext/planner/aggregate_pieces.h"

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

#include "pg_ext/planner/bucket_finder.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/am/scan_keys.h"
#include "pg_ext/base/safe_eval.h"

/* where nothing is known of the times */
static const double default_pieces = 1000;

/* by which a width is measured: days of local time and pieces of months differ */
enum { MEASURED_PIECES = 8 };

/* ---- times ---- */

/* The times that are asked about. */
struct asked_times {
	int64 low, high;
	int64 *bounds;       /* of the histogram: as many rows lie between any two of them */
	int n_bounds;        /* below 2: nothing is known */
};

/* The times of the histogram. */
static void find_times(const struct iforest_query *query, Node *time, const struct iforest_definition *definition,
		       struct asked_times *asked)
{
	VariableStatData variable;
	AttStatsSlot slot;

	examine_variable(query->root, time, (int)query->rel->relid, &variable);
	if (HeapTupleIsValid(variable.statsTuple) &&
	    get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES)) {
		struct iforest_time_keys times = iforest_time_keys(definition);

		asked->bounds = palloc((Size)slot.nvalues * sizeof *asked->bounds);
		for (int i = 0; i < slot.nvalues; i++) {
			int64 bound = iforest_time_from_datum(definition, slot.values[i]);

			/* some rows at infinity say nothing of the others */
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

/* Narrows them to the bounds of the conditions on the key, where these are known while planning. False where they are not. */
static bool narrow_times(const struct iforest_query *query, const struct iforest_question *question, Relation index,
			 struct asked_times *times)
{
	struct iforest_scan_keys asked;

	if (!iforest_known_times(query->root, index, question, &asked) || asked.n_ranges != 1)
		return false;
	times->low = Max(times->low, asked.ranges[0].low);
	times->high = Max(Min(times->high, asked.ranges[0].high), times->low);
	return true;
}

/* The conditions on the key that are on the time. */
static List *time_keys(const struct iforest_question *question)
{
	List *chosen = NIL;
	ListCell *cell;

	foreach(cell, question->keys) {
		struct iforest_key_condition key;

		iforest_key_condition_read(lfirst(cell), &key);
		if (key.column == iforest_time_attribute(question))
			chosen = lappend(chosen, lfirst(cell));
	}
	return chosen;
}

static double selectivity(const struct iforest_query *query, const struct iforest_candidate *candidate, List *conditions)
{
	List *over_table = NIL;
	ListCell *cell;

	foreach(cell, conditions)
		over_table = lappend(over_table, iforest_over_columns(lfirst(cell), candidate->columns));
	return clauselist_selectivity(query->root, over_table, (int)query->rel->relid, JOIN_INNER, NULL);
}

/* A time in the middle of those that most rows have. */
static int64 middle_of(const struct asked_times *times)
{
	int n_outside = times->n_bounds / 10;
	int64 low = Max(times->low, times->bounds[n_outside]);
	int64 high = Min(times->high, times->bounds[times->n_bounds - 1 - n_outside]);

	if (low > high) {
		low = times->low;
		high = times->high;
	}
	return low + (int64)(((uint64)high - (uint64)low) / 2);
}

/* ---- pieces ---- */

static bool has_parameter(Node *node, void *context)
{
	return node && (IsA(node, Param) || expression_tree_walker(node, has_parameter, context));
}

/* Can keys be evaluated while planning? Not with parameters, by functions of others, whose errors are not caught, or where
 * finding a time zone might raise one. */
static bool are_known(const struct iforest_run_keys *keys)
{
	ListCell *cell;

	foreach(cell, keys->breaks)
		if (lsecond(lfirst(cell)) && !IsA(lsecond(lfirst(cell)), Const))
			return false;
	return !has_parameter((Node *)keys->expressions, NULL) && !has_parameter((Node *)keys->breaks, NULL) &&
	       !iforest_calls_foreign_functions((Node *)keys->expressions) &&
	       !iforest_calls_foreign_functions((Node *)keys->breaks);
}

/* Expressions of the time are evaluated over a row that has nothing else. */
static ExprContext *begin_row(const struct iforest_question *question)
{
	TupleDesc descriptor = CreateTemplateTupleDesc(list_length(question->columns));
	ExprContext *econtext = CreateStandaloneExprContext();
	AttrNumber attribute = 1;
	ListCell *cell;

	foreach(cell, question->columns)
		TupleDescInitEntry(descriptor, attribute++, NULL, exprType(lfirst(cell)), exprTypmod(lfirst(cell)), 0);
	econtext->ecxt_scantuple = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(econtext->ecxt_scantuple);
	return econtext;
}

static void end_row(ExprContext *econtext)
{
	ExecDropSingleTupleTableSlot(econtext->ecxt_scantuple);
	FreeExprContext(econtext, true);
}

/* Does the condition hold at that time? */
static bool holds(const struct iforest_soft *condition, const struct iforest_question *question,
		  const struct iforest_definition *definition, ExprContext *econtext, int64 time)
{
	TupleTableSlot *row = econtext->ecxt_scantuple;
	AttrNumber attribute = iforest_time_attribute(question);
	bool is_null;
	Datum value;

	row->tts_values[attribute - 1] = iforest_time_to_datum(definition, time);
	row->tts_isnull[attribute - 1] = false;
	return iforest_soft_evaluate(condition, econtext, &value, &is_null, NULL) && !is_null && DatumGetBool(value);
}

/* Narrows the times to those at which a condition holds that changes once, but where clocks do. */
static void narrow_by_condition(const struct iforest_question *question, const struct iforest_definition *definition,
				Node *condition, struct asked_times *times)
{
	ExprContext *econtext = begin_row(question);
	struct iforest_soft soft = iforest_soft_begin((Expr *)condition);
	bool at_low = holds(&soft, question, definition, econtext, times->low);
	int64 low = times->low, high = times->high;

	if (holds(&soft, question, definition, econtext, high) != at_low) {
		while ((uint64)high - (uint64)low > 1) {
			int64 middle = low + (int64)(((uint64)high - (uint64)low) / 2);

			if (holds(&soft, question, definition, econtext, middle) == at_low)
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

/* Narrows the times by other conditions on them, where that can be done while planning. Returns those. */
static List *narrow_by_runs(const struct iforest_query *query, const struct iforest_question *question,
			    const struct iforest_definition *definition, struct asked_times *times)
{
	List *used = NIL;
	ListCell *cell;

	foreach(cell, question->runs) {
		Node *condition = estimate_expression_value(query->root, lfirst(cell));
		struct iforest_run_keys keys = { list_make1(condition), NIL };
		bool is_of_time = true;

		for (int i = 1; i <= question->n_by; i++)
			is_of_time = is_of_time && !iforest_mentions(condition, (AttrNumber)i);
		if (!is_of_time ||
		    !iforest_is_monotone_beside_null(condition, iforest_time_attribute(question), &keys.breaks) ||
		    !are_known(&keys))
			continue;
		narrow_by_condition(question, definition, condition, times);
		used = lappend(used, lfirst(cell));
	}
	return used;
}

/* How wide pieces are, by some in the middle; 0: there is none that ends before the times do. */
static double piece_width(const struct iforest_question *question, const struct iforest_run_keys *keys,
			  const struct iforest_definition *definition, const struct asked_times *times)
{
	ExprContext *econtext = begin_row(question);
	struct iforest_buckets *buckets =
		iforest_buckets_begin(keys, definition, iforest_time_attribute(question), econtext);
	int64 start, end, last;
	int n = 0;

	/* the last may end later than the times do */
	if (pg_sub_s64_overflow(times->high, times->low, &last) || pg_add_s64_overflow(times->high, last, &last))
		last = PG_INT64_MAX;
	iforest_buckets_start(buckets, last);
	start = end = iforest_buckets_end(buckets, middle_of(times));
	while (n < MEASURED_PIECES && end < times->high) {
		end = iforest_buckets_end(buckets, end + 1);
		n++;
	}
	end_row(econtext);
	return n > 0 ? (double)((uint64)end - (uint64)start) / n : 0;
}

/* How many of n pieces have one of the rows. */
static double n_hit(double n, double n_rows)
{
	return n > 1 ? n * -expm1(-n_rows / n) : Min(n, n_rows);
}

/* How many pieces of that width have rows, if these fall into any of them alike. */
static double count_repeated(const struct asked_times *times, double width, double tuples)
{
	double n_rows = tuples / (times->n_bounds - 1), n = 0;

	for (int i = 0; i + 1 < times->n_bounds; i++) {
		double from = (double)times->bounds[i], until = (double)times->bounds[i + 1];
		double length = Min(until, (double)times->high) - Max(from, (double)times->low);

		if (length > 0)
			n += n_hit(length / width, n_rows * length / (until - from));
	}
	return n;
}

/* Do comparisons change again and again, as those of the time of the day? */
static bool are_repeated(const struct iforest_run_keys *keys)
{
	ListCell *cell;

	foreach(cell, keys->breaks)
		if (iforest_break_kind(lfirst(cell)) == IFOREST_BREAK_VALUE)
			return true;
	return false;
}

/* Into how many pieces the keys cut the times, of which `part` counts. A comparison cuts them once, wherever that is. */
static double count(const struct iforest_question *question, const struct iforest_run_keys *keys,
		    const struct iforest_definition *definition, const struct asked_times *times, double tuples, double part)
{
	struct iforest_run_keys repeated = { .breaks = keys->breaks };
	double n = 1, n_cuts = 0, width;
	ListCell *cell;

	foreach(cell, keys->expressions) {
		if (exprType(lfirst(cell)) == BOOLOID && !are_repeated(keys))
			n_cuts++;
		else
			repeated.expressions = lappend(repeated.expressions, lfirst(cell));
	}
	if (repeated.expressions != NIL && (times->n_bounds == 0 || !are_known(&repeated))) {
		n = default_pieces;
	} else if (repeated.expressions != NIL) {
		width = piece_width(question, &repeated, definition, times);
		n = width > 0 ? count_repeated(times, width, tuples) * part : 1;
	}
	return Max(n, 1) + n_cuts;
}

void iforest_count_pieces(const struct iforest_query *query, const struct iforest_candidate *candidate,
			  const struct iforest_question *question, Relation index, double window, double tuples,
			  struct iforest_piece_counts *pieces)
{
	struct asked_times times = { .n_bounds = 0 };
	List *of_keys = time_keys(question), *used = NIL;
	double passed = selectivity(query, candidate, of_keys), used_part, part;
	AttrNumber time = iforest_time_attribute(question);
	struct iforest_definition definition;
	struct iforest_run_keys keys;
	ListCell *cell;

	iforest_definition_read(index, &definition);
	find_times(query, list_nth(candidate->columns, question->n_by), &definition, &times);
	if (times.n_bounds > 0 && narrow_times(query, question, index, &times))
		used = of_keys;
	iforest_question_range_keys(question, &keys);
	/* those that are asked late are asked of each bucket */
	foreach(cell, question->late)
		if (iforest_mentions(lfirst(cell), time))
			iforest_add_run_keys(lfirst(cell), time, &keys);
	pieces->ranges = pieces->passed = 0;
	if (keys.expressions != NIL) {
		pieces->passed = passed;
		pieces->ranges = count(question, &keys, &definition, &times, tuples, used ? 1 : passed);
	}
	if (times.n_bounds > 0)
		used = list_concat_copy(used, narrow_by_runs(query, question, &definition, &times));
	/* times need not be spread evenly, so the rows of a window say nothing of its buckets where its bounds are known */
	used_part = selectivity(query, candidate, used);
	iforest_question_bucket_keys(question, &keys);
	part = used_part > 0 ? Min(window / used_part, 1) : 1;
	pieces->buckets = pieces->groups = Min(count(question, &keys, &definition, &times, tuples, part), tuples);
	if (keys.breaks != NIL) {
		/* on either side of a break the keys may have the same values */
		keys.breaks = NIL;
		pieces->groups = Min(count(question, &keys, &definition, &times, tuples, part), pieces->groups);
	}
}
