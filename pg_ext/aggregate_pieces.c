#include "pg_ext/aggregate_pieces.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg_ext/buckets.h"
#include "pg_ext/known_rows.h"
#include "pg_ext/scan_keys.h"
#include "pg_ext/soft.h"

/* where nothing is known of the times */
static const double default_pieces = 1000;

/* ---- times ---- */

/* The times that are asked about. */
struct asked_times {
	bool are_narrowed;   /* to the bounds that the conditions on the key have */
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

/* Narrows them to the bounds of the conditions on the key, where these are known while planning. */
static void narrow_times(const struct iforest_query *query, const struct iforest_question *question, Relation index,
			 struct asked_times *times)
{
	struct iforest_scan_keys asked;

	if (!iforest_known_times(query->root, index, question, &asked) || asked.n_ranges != 1)
		return;
	times->low = Max(times->low, asked.ranges[0].low);
	times->high = Max(Min(times->high, asked.ranges[0].high), times->low);
	times->are_narrowed = true;
}

/* Selectivity of those conditions. */
static double selectivity_of_keys(const struct iforest_query *query, const struct iforest_candidate *candidate,
				  const struct iforest_question *question)
{
	List *chosen = NIL;
	ListCell *cell;

	foreach(cell, question->keys) {
		struct iforest_key_condition key;

		iforest_key_condition_read(lfirst(cell), &key);
		if (key.column == iforest_time_attribute(question))
			chosen = lappend(chosen, iforest_over_columns(lfirst(cell), candidate->columns));
	}
	return clauselist_selectivity(query->root, chosen, (int)query->rel->relid, JOIN_INNER, NULL);
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
	       !iforest_calls_foreign_functions((Node *)keys->expressions);
}

/* How wide a piece is, by one in the middle; 0: there is none that ends before the times do. */
static double piece_width(const struct iforest_question *question, const struct iforest_run_keys *keys,
			  const struct iforest_definition *definition, const struct asked_times *times)
{
	TupleDesc descriptor = CreateTemplateTupleDesc(list_length(question->columns));
	ExprContext *econtext = CreateStandaloneExprContext();
	struct iforest_buckets *buckets;
	AttrNumber attribute = 1;
	double width = 0;
	int64 end, last;
	ListCell *cell;

	foreach(cell, question->columns)
		TupleDescInitEntry(descriptor, attribute++, NULL, exprType(lfirst(cell)), exprTypmod(lfirst(cell)), 0);
	econtext->ecxt_scantuple = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(econtext->ecxt_scantuple);
	buckets = iforest_buckets_begin(keys, definition, iforest_time_attribute(question), econtext);
	/* the one after it may end later than the times do */
	if (pg_sub_s64_overflow(times->high, times->low, &last) || pg_add_s64_overflow(times->high, last, &last))
		last = PG_INT64_MAX;
	iforest_buckets_start(buckets, last);
	end = iforest_buckets_end(buckets, middle_of(times));
	if (end < times->high)
		width = (double)iforest_buckets_end(buckets, end + 1) - (double)end;
	ExecDropSingleTupleTableSlot(econtext->ecxt_scantuple);
	FreeExprContext(econtext, true);
	return width;
}

/* How many pieces of that width have rows: where these are few for the time, no more than there are rows. */
static double count_repeated(const struct asked_times *times, double width, double tuples)
{
	double n_rows = tuples / (times->n_bounds - 1), n = 0;

	for (int i = 0; i + 1 < times->n_bounds; i++) {
		double from = (double)times->bounds[i], until = (double)times->bounds[i + 1];
		double length = Min(until, (double)times->high) - Max(from, (double)times->low);

		if (length > 0)
			n += Min(length / width, n_rows * length / (until - from));
	}
	return n;
}

/* Into how many pieces the keys cut the times, of which `part` counts. A comparison cuts them once, wherever that is. */
static double count(const struct iforest_question *question, const struct iforest_run_keys *keys,
		    const struct iforest_definition *definition, const struct asked_times *times, double tuples, double part)
{
	struct iforest_run_keys repeated = { .breaks = keys->breaks };
	double n = 1, n_cuts = 0, width;
	ListCell *cell;

	foreach(cell, keys->expressions) {
		if (exprType(lfirst(cell)) == BOOLOID)
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
			  struct iforest_pieces *pieces)
{
	struct asked_times times = { .are_narrowed = false };
	double passed = selectivity_of_keys(query, candidate, question), part = window;
	AttrNumber time = iforest_time_attribute(question);
	struct iforest_definition definition;
	struct iforest_run_keys keys;
	ListCell *cell;

	iforest_definition_read(index, &definition);
	find_times(query, list_nth(candidate->columns, question->n_by), &definition, &times);
	if (times.n_bounds > 0)
		narrow_times(query, question, index, &times);
	/* times need not be spread evenly, so the rows of a window say nothing of its buckets where its bounds are known */
	if (times.are_narrowed)
		part = question->runs == NIL || passed == 0 ? 1 : Min(window / passed, 1);
	iforest_question_bucket_keys(question, &keys);
	pieces->buckets = Min(count(question, &keys, &definition, &times, tuples, part), tuples);
	iforest_question_range_keys(question, &keys);
	/* those that are asked late are asked of each bucket */
	foreach(cell, question->late)
		if (iforest_mentions(lfirst(cell), time))
			iforest_add_run_keys(lfirst(cell), time, &keys);
	pieces->ranges = pieces->passed = 0;
	if (keys.expressions == NIL)
		return;
	pieces->passed = passed;
	pieces->ranges = count(question, &keys, &definition, &times, tuples, times.are_narrowed ? 1 : passed);
}
