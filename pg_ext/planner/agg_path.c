#include "pg_ext/planner/agg_path.h"

#include <math.h>

#include "access/amapi.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "port/pg_bitutils.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "pg_ext/am/handler.h"
#include "pg_ext/am/scan_keys.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/bucket_finder.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/query_match.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/planner/value_passes.h"
#include "pg_ext/planner/value_steps.h"
#include "pg_ext/storage/heap_visibility.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/meta.h"
#include "pg_ext/storage/pending.h"

/* Number of pieces assumed where nothing is known of the times. */
static const double default_pieces = 1000;

/* Pieces whose width is averaged: days of local time and months differ in length. */
enum { MEASURED_PIECES = 8 };

/* ---- times ---- */

/* The window of the query, and the histogram of the time column. */
struct asked_times {
	int64 low, high;
	int64 *bounds; /* of the histogram: equally many rows lie between neighbours */
	int n_bounds;  /* below 2: nothing is known */
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

/* Narrows the window to the bounds of the key conditions. Returns false where these are not known while planning. */
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

static double share_of_rows(const struct ifp_query_level *level, const struct ifp_candidate *candidate, List *conditions)
{
	List *over_table = NIL;
	ListCell *cell;

	foreach (cell, conditions)
		over_table = lappend(over_table, ifp_over_columns(lfirst(cell), candidate->columns));
	return clauselist_selectivity(level->root, over_table, (int)level->rel->relid, JOIN_INNER, NULL);
}

/* Returns a time in the middle of the window, without the outer tenths of the histogram. */
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

/* ---- pieces: ranges of times in which the keys keep their values ---- */

/* The numbers of buckets and ranges into which a query cuts the times of a series. */
struct piece_counts {
	double buckets;
	double groups; /* may be fewer than the buckets */
	double ranges; /* in which the conditions on the time hold or not; 0: there are none to evaluate */
	double passed; /* fraction of the rows that lie in these ranges */
};

static bool has_parameter(Node *node, void *context)
{
	return node && (IsA(node, Param) || expression_tree_walker(node, has_parameter, context));
}

/* True if the keys can be evaluated while planning: they have no parameters, call no foreign functions (whose errors are not
 * caught), and the lookup of a time zone cannot fail. */
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
	TupleDesc descriptor = CreateTemplateTupleDesc(list_length(query->columns));
	ExprContext *econtext = CreateStandaloneExprContext();
	AttrNumber attribute = 1;
	ListCell *cell;

	foreach (cell, query->columns)
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

/* Narrows the times to those at which a condition holds that changes once (shifts of the clock aside). */
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

/* Narrows the times by those run conditions that can be evaluated while planning, and returns these conditions. */
static List *narrow_by_runs(const struct ifp_query_level *level, const struct ifp_index_query *query,
			    const struct ifp_definition *definition, struct asked_times *times)
{
	List *used = NIL;
	ListCell *cell;

	foreach (cell, query->runs) {
		Node *condition = estimate_expression_value(level->root, lfirst(cell));
		struct ifp_run_keys keys = { list_make1(condition), NIL };
		bool is_of_time = true;

		for (int i = 1; i <= query->n_by; i++)
			is_of_time = is_of_time && !ifp_mentions(condition, (AttrNumber)i);
		if (!is_of_time || !ifp_is_monotone_beside_null(condition, ifp_time_attribute(query), &keys.breaks) ||
		    !are_known(&keys))
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
	start = end = ifp_bucket_finder_end(finder, middle_of(times));
	while (n < MEASURED_PIECES && end < times->high) {
		end = ifp_bucket_finder_end(finder, end + 1);
		n++;
	}
	end_row(econtext);
	return n > 0 ? (double)((uint64)end - (uint64)start) / n : 0;
}

/* Returns the expected number of n equal pieces that are hit by at least one of n_rows random rows. */
static double n_hit(double n, double n_rows)
{
	return n > 1 ? n * -expm1(-n_rows / n) : Min(n, n_rows);
}

/* Returns the expected number of pieces of this width that have rows, by the histogram. */
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
		n = width > 0 ? count_repeated(times, width, tuples) * part : 1;
	}
	return Max(n, 1) + n_cuts;
}

/* window: the fraction of the rows that all conditions on the time leave; tuples: rows of all tables. */
static void count_pieces(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			 const struct ifp_index_query *query, Relation index, double window, double tuples,
			 struct piece_counts *pieces)
{
	struct asked_times times = { .n_bounds = 0 };
	List *of_keys = time_keys(query), *used = NIL;
	double passed = share_of_rows(level, candidate, of_keys), used_part, part;
	AttrNumber time = ifp_time_attribute(query);
	struct ifp_definition definition;
	struct ifp_run_keys keys;
	ListCell *cell;

	ifp_definition_read(index, &definition);
	find_times(level, list_nth(candidate->columns, query->n_by), &definition, &times);
	if (times.n_bounds > 0 && narrow_times(level, query, index, &times))
		used = of_keys;
	ifp_index_query_range_keys(query, &keys);
	/* late conditions are evaluated for each bucket */
	foreach (cell, query->late)
		if (ifp_mentions(lfirst(cell), time))
			ifp_add_run_keys(lfirst(cell), time, &keys);
	pieces->ranges = pieces->passed = 0;
	if (keys.expressions != NIL) {
		pieces->passed = passed;
		pieces->ranges = count(query, &keys, &definition, &times, tuples, used ? 1 : passed);
	}
	if (times.n_bounds > 0)
		used = list_concat_copy(used, narrow_by_runs(level, query, &definition, &times));
	/* where the window's bounds are known, the histogram counts its buckets; its rows would not, for times may be uneven */
	used_part = share_of_rows(level, candidate, used);
	ifp_aggregate_bucket_keys(query, &keys);
	part = used_part > 0 ? Min(window / used_part, 1) : 1;
	pieces->buckets = pieces->groups = Min(count(query, &keys, &definition, &times, tuples, part), tuples);
	if (keys.breaks != NIL) {
		/* on either side of a break the keys may have the same values */
		keys.breaks = NIL;
		pieces->groups = Min(count(query, &keys, &definition, &times, tuples, part), pieces->groups);
	}
}

/* ---- cost ---- */

/* Rows and cost of answering a query. */
struct agg_cost {
	double n_rows;
	Cost startup, total;
	double n_groups_bytes;	/* memory that groups will need */
	double n_numbers_bytes; /* and values that are kept one by one */
	bool is_slower;		/* than a plain plan, which the planner overestimates for lack of statistics */
};

/* Costs in units of cpu_operator_cost, measured relative to the time that PostgreSQL charges for a row of a sequential scan. */
enum {
	OPENING = 4000,	    /* an index: metapage, manifest, extents */
	A_PAGE = 200,	    /* a page of a run, for the end of a bucket */
	A_WHOLE_PAGE = 800, /* a page of a run, decoded from end to end */
	A_BUCKET = 160,
	A_PENDING_PAGE = 1000,
	A_HEAP_ROW = 1,		/* a heap row whose visibility is checked */
	A_REMEMBERED_PAGE = 40, /* a heap page that the session has found clean before */
	A_FETCHED_ROW = 40,	/* a row that a scan of another index fetches */
	A_GROUPED_ROW = 50,	/* a row whose group a plain plan finds by expressions of the time */
	A_SKETCHED_ROW = 1,	/* an entry that is added to a sketch */
	A_SORTED_ROW = 6	/* a value that is collected and sorted */
};

/* Approximate bytes of an entry in a run, and of each of its values: 4 to 13 bytes were measured with one value. */
enum { ENTRY_BYTES = 5, VALUE_BYTES = 5 };

/* Bytes of a value that is kept for a percentile: of the group, while it grows, and of the bucket. */
enum { A_NUMBER_BYTES = 24 };

/* Above this estimate of series the indexes are read to count them. */
enum { MANY_SERIES = 1000 };

/* Leaf pages under a node page that the end of a bucket reads for a sketch, approximately. */
enum { A_NODE_PAGE = 30 };

/* Larger visibility maps are not counted for an estimate. */
enum { MOST_MAP_PAGES = 64, BLOCKS_A_MAP_PAGE = 32672 };

/* ---- conditions ---- */

/* Returns the selectivity of the restrictions on the time alone, or of all others. */
static double selectivity(const struct ifp_query_level *level, const struct ifp_candidate *candidate, bool of_time)
{
	Node *time = list_nth(candidate->columns, ((IndexOptInfo *)linitial(candidate->indexes))->nkeycolumns - 1);
	List *chosen = NIL;
	ListCell *cell;

	foreach (cell, candidate->restrictions) {
		List *vars = pull_var_clause((Node *)lfirst_node(RestrictInfo, cell)->clause, 0);
		bool is_of_time = vars != NIL && list_difference(vars, list_make1(time)) == NIL;

		if (is_of_time == of_time && vars != NIL)
			chosen = lappend(chosen, lfirst(cell));
	}
	return clauselist_selectivity(level->root, chosen, (int)level->rel->relid, JOIN_INNER, NULL);
}

/* ---- series ---- */

/* Returns the product of the numbers of distinct values of these by columns. */
static double n_combinations(const struct ifp_query_level *level, const struct ifp_candidate *candidate, const List *by_columns)
{
	double n = 1;
	ListCell *cell;

	foreach (cell, by_columns) {
		VariableStatData variable;
		bool is_default;

		examine_variable(level->root, list_nth(candidate->columns, lfirst_int(cell) - 1), (int)level->rel->relid,
				 &variable);
		n *= get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
	}
	return n;
}

/* Returns the by columns that an expression mentions; all of them if it is NULL. */
static List *by_columns_of(const struct ifp_index_query *query, Node *expression)
{
	List *columns = NIL;

	for (int i = 1; i <= query->n_by; i++)
		if (!expression || ifp_mentions(expression, (AttrNumber)i))
			columns = lappend_int(columns, i);
	return columns;
}

/* By columns may depend on one another. Where the product of their distinct values is large, the indexes say how many series
 * there are. */
static double n_series(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
		       const struct ifp_index_query *query, double n_rows)
{
	double n = n_combinations(level, candidate, by_columns_of(query, NULL)), n_known = 0;
	ListCell *cell;

	if (query->n_by > 1 && n > MANY_SERIES)
		foreach (cell, query->tables)
			n_known = Max(n_known, ifp_selectivity_series(lsecond_oid(lfirst(cell))));
	return Min(n_known > 0 ? Min(n, n_known) : n, n_rows);
}

/* ---- one index ---- */

struct terms {
	double window, others; /* selectivities */
	double series, chosen; /* and the fraction of the rows that these have */
	struct piece_counts pieces;
	double tuples; /* of all tables */
	const struct ifp_definition *definition;
	uint32 sketches[IFOREST_N_DIGESTS]; /* value columns of which sketches of the kind are needed: a bit each */
	uint32 numbers;			    /* value columns whose values are needed one by one: a bit each */
};

/* Returns the fraction of the table that is not all-visible now; statistics are as VACUUM left them. *remembered is the
 * fraction of that which the session has found clean. */
static double unclean_fraction(const RelOptInfo *rel, Oid oid, double *remembered)
{
	double unclean = 1 - rel->allvisfrac;
	BlockNumber n_visible, most = InvalidBlockNumber;
	Relation table;

	*remembered = 0;
	if (rel->pages == 0)
		return 0;
	table = table_open(oid, NoLock);
	if (rel->pages <= (BlockNumber)MOST_MAP_PAGES * BLOCKS_A_MAP_PAGE) {
		visibilitymap_count(table, &n_visible, NULL);
		most = rel->pages - Min(n_visible, rel->pages);
		unclean = (double)most / rel->pages;
	}
	if (unclean > 0)
		*remembered = Min(ifp_heap_visibility_cached_pages(table, most) / (rel->pages * unclean), 1);
	table_close(table, NoLock);
	return unclean;
}

/* Returns the leaf pages read for sketches: all of them, or those that buckets cut off from node pages and those under nodes
 * with rows in unclean blocks. */
static double pages_of_sketches(double n_pages, double n_edges, double n_unclean, bool is_lacking)
{
	return is_lacking ? n_pages : Min(n_pages, (n_edges + n_unclean) * A_NODE_PAGE);
}

/* Returns the approximate number of pages in use. Merges leave free pages behind, as many again after a load. */
static double n_used_pages(const IndexOptInfo *index, const struct ifp_definition *definition, double tuples, double n_pending)
{
	double entry_bytes = ENTRY_BYTES + VALUE_BYTES * definition->n_values;

	return Min(index->pages, n_pending + tuples * entry_bytes / BLCKSZ + 1);
}

/* within: the fraction of the rows whose values lie in the range that is read; below 0: no range of values is. */
static Cost cost_of_index(Oid table, const RelOptInfo *rel, const IndexOptInfo *index, const struct terms *terms, double within)
{
	Relation relation = index_open(index->indexoid, NoLock);
	struct ifp_meta_sizes sizes;
	/* a partition has its share of the buckets of all series, and of the window what its own rows say */
	double tuples = Max(rel->tuples, 1), share = tuples / terms->tuples, n_buckets = Max(terms->pieces.buckets * share, 1);
	double window = Min(rel->rows / tuples / terms->others, 1), series = Max(Min(terms->series, tuples * window), 1);
	double n_runs, n_pending, n_used, n_pages, n_pieces, n_edges, unclean, remembered, n_whole, n_narrowed = 0, read_cost;
	uint32 lacking = 0;
	bool needs_sketches = false;

	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++) {
		needs_sketches = needs_sketches || terms->sketches[kind];
		if (terms->sketches[kind])
			lacking |= terms->sketches[kind] &
				   ~ifp_definition_sketches(relation, terms->definition, (enum iforest_digest_kind)kind);
	}
	sizes = ifp_meta_sizes_for_estimates(index->indexoid);
	n_runs = ifp_estimate_runs(index->ncolumns - index->nkeycolumns, sizes.manifest_bytes);
	n_pending = sizes.n_pending_pages;
	n_used = n_used_pages(index, terms->definition, tuples, n_pending);
	index_close(relation, NoLock);

	/* ranges that are left out are passed over, which costs too */
	n_pieces = Min(terms->series * n_buckets, tuples * window + 1) +
		   Min(terms->series * terms->pieces.ranges * share, tuples * terms->pieces.passed * terms->chosen);
	/* each piece ends on a leaf page, and each series of each run needs a descent; at most the pages that there are */
	n_edges = n_pieces + 2 * n_runs * series;
	n_pages = Min(n_edges, n_used * Max(window, terms->pieces.passed) + 3 * n_runs * series);
	/* pages of which some values fit are opened: where nearly all or none fit these are few */
	if (within >= 0) {
		n_narrowed = Min(n_used * window / 2, tuples * window * Min(within, 1 - within));
		n_pieces = Min(n_pieces, tuples * window * within + series);
	}
	n_pages = Max(n_pages, n_narrowed);
	read_cost = index->pages < (BlockNumber)effective_cache_size / 2 ? seq_page_cost / 4 : random_page_cost;
	unclean = rel->pages * window * unclean_fraction(rel, table, &remembered);
	remembered *= unclean;
	unclean -= remembered;
	n_whole = Max(Min(n_used * window, unclean), n_narrowed);
	if (needs_sketches) {
		n_whole = pages_of_sketches(n_used * window, n_edges, unclean, lacking);
		n_pages = Max(n_pages, n_whole);
	}
	if (terms->numbers)
		n_pages = n_whole = Max(n_pages, n_used * window);
	return n_pages * (read_cost + A_PAGE * cpu_operator_cost) + n_whole * (read_cost + A_WHOLE_PAGE * cpu_operator_cost) +
	       n_pending * A_PENDING_PAGE * cpu_operator_cost +
	       (needs_sketches ? n_whole * tuples / Max(n_used, 1) * A_SKETCHED_ROW * cpu_operator_cost : 0) +
	       pg_popcount32(terms->numbers) * tuples * window * terms->chosen * A_SORTED_ROW * cpu_operator_cost +
	       remembered * A_REMEMBERED_PAGE * cpu_operator_cost +
	       unclean * (seq_page_cost + A_HEAP_ROW * cpu_operator_cost * tuples / Max(rel->pages, 1)) +
	       n_pieces * A_BUCKET * cpu_operator_cost + OPENING * cpu_operator_cost;
}

/* ---- without statistics ---- */

static bool has_statistics(const struct ifp_query_level *level, Node *time)
{
	VariableStatData variable;
	bool has;

	examine_variable(level->root, time, (int)level->rel->relid, &variable);
	has = HeapTupleIsValid(variable.statsTuple);
	ReleaseVariableStats(variable);
	return has;
}

static const TargetEntry *key_of(const IndexOptInfo *index, int column)
{
	return list_nth_node(TargetEntry, index->indextlist, column);
}

/* True if the path finds times by an index of another access method: its cost then grows with the rows of the window. */
static bool is_by_time(const Path *path, const Node *time)
{
	const IndexPath *by_index = NULL;
	ListCell *cell;

	if (IsA(path, BitmapHeapPath))
		path = ((const BitmapHeapPath *)path)->bitmapqual;
	if (IsA(path, IndexPath))
		by_index = (const IndexPath *)path;
	if (!by_index || ifp_is_usable(by_index->indexinfo))
		return false;
	foreach (cell, by_index->indexclauses)
		if (equal(key_of(by_index->indexinfo, lfirst_node(IndexClause, cell)->indexcol)->expr, time))
			return true;
	return false;
}

/* Returns the index that counts the rows of a window best: one on the time alone if there is one. */
static Oid index_by_time(const struct ifp_query_level *level, const struct ifp_index_query *query, const Node *time)
{
	ListCell *cell;

	foreach (cell, level->rel->indexlist) {
		const IndexOptInfo *index = lfirst(cell);

		if (ifp_is_usable(index) && index->indpred == NIL && index->nkeycolumns == 1 &&
		    equal(key_of(index, 0)->expr, time))
			return index->indexoid;
	}
	return lsecond_oid(linitial(query->tables));
}

/* True if a plain plan would be cheaper than the index if the planner had better estimates, in either of two cases.
 *
 * The planner expects as many groups as there are times from an expression of the time, and charges the plain plan for them.
 * The index would pay the same for its groups, so they are left out of the comparison.
 *
 * Without statistics on the time it does not know how few rows the window has. They are assumed to be neighbours in the table,
 * as for the index's own cost. */
static bool is_slower(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
		      const struct ifp_index_query *query, const struct terms *terms, const struct agg_cost *estimate)
{
	Node *time = list_nth(candidate->columns, query->n_by);
	const Path *plain = level->rel->cheapest_total_path;
	double n_rows, n_pages;

	if (ifp_is_disabled(plain))
		return false;
	if (query->groups != NIL &&
	    plain->total_cost + level->rel->rows * A_GROUPED_ROW * cpu_operator_cost < estimate->startup)
		return true;
	if (list_length(candidate->rels) != 1 || !is_by_time(plain, time) || has_statistics(level, time) ||
	    !ifp_selectivity_window_rows(level->root, index_by_time(level, query, time), query, &n_rows))
		return false;
	n_pages = level->rel->pages * Min(n_rows / terms->tuples, 1) + 1;
	return plain->startup_cost + n_pages * random_page_cost + n_rows * A_FETCHED_ROW * cpu_operator_cost < estimate->total;
}

/* Returns the memory for the distinct values of an aggregate, and a bit for each of them in each group. */
static double bytes_of_distinct(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
				const struct ifp_index_query *query, Aggref *aggregate, const struct terms *terms,
				double n_groups)
{
	Node *argument = (Node *)aggregate->args;
	double n = Min(n_combinations(level, candidate, by_columns_of(query, argument)), terms->series);

	if (ifp_mentions(argument, ifp_time_attribute(query)))
		n *= terms->pieces.buckets;
	n = Min(n, terms->tuples);
	return n * 150 + n_groups * n / 8;
}

/* A range of values in WHERE leaves any part of each page. */
static double share_of_values(const struct ifp_index_query *query)
{
	return query->values != NIL ? 0.5 : -1;
}

static double share_of_pass(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			    const struct ifp_index_query *query, const struct ifp_value_pass *pass)
{
	if (pass->histogram < 0)
		return share_of_values(query);
	return share_of_rows(level, candidate, list_make1(ifp_value_steps_condition(query, pass->histogram, pass->steps)));
}

static void aggregate_estimate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			       const struct ifp_index_query *query, struct agg_cost *estimate)
{
	Relation index = index_open(lsecond_oid(linitial(query->tables)), NoLock);
	struct ifp_definition definition;
	struct terms terms = { .definition = &definition };
	double tuples = 0, n_groups = 1, n_keys;
	List *passes = ifp_value_passes(query);
	ListCell *cell, *rel_cell, *index_cell, *table_cell;

	ifp_definition_read(index, &definition);
	foreach (rel_cell, candidate->rels)
		tuples += Max(((RelOptInfo *)lfirst(rel_cell))->tuples, 1);
	terms.window = selectivity(level, candidate, true);
	terms.others = selectivity(level, candidate, false);
	terms.chosen = query->values || query->by_steps ? 1 : terms.others;
	terms.tuples = tuples;
	terms.series = query->n_by == 0 ? 1 : Max(n_series(level, candidate, query, tuples) * terms.chosen, 1);
	count_pieces(level, candidate, query, index, terms.window, tuples, &terms.pieces);
	index_close(index, NoLock);
	terms.sketches[IFOREST_DIGEST_QUANTILES] = ifp_aggregates_need(query, IFP_MEASURE_SKETCH);
	terms.sketches[IFOREST_DIGEST_DISTINCT] = ifp_aggregates_need(query, IFP_MEASURE_DISTINCT);
	terms.numbers = ifp_aggregates_need(query, IFP_MEASURE_NUMBERS);
	estimate->total = 0;
	forthree(rel_cell, candidate->rels, index_cell, candidate->indexes, table_cell, query->tables)
	{
		Oid table = linitial_oid(lfirst(table_cell));

		ListCell *pass;

		foreach (pass, passes)
			estimate->total += cost_of_index(table, lfirst(rel_cell), lfirst(index_cell), &terms,
							 share_of_pass(level, candidate, query, lfirst(pass)));
		if (passes == NIL)
			estimate->total +=
				cost_of_index(table, lfirst(rel_cell), lfirst(index_cell), &terms, share_of_values(query));
	}
	if (query->groups != NIL) {
		n_keys = n_combinations(level, candidate, by_columns_of(query, (Node *)query->groups));
		n_groups = Min(terms.pieces.groups * Min(n_keys, terms.series) * Max(list_length(query->pieces), 1),
			       Max(tuples * terms.window * terms.others, 1));
	}
	estimate->n_rows = clamp_row_est(n_groups);
	estimate->n_groups_bytes = n_groups * (100.0 + 120.0 * list_length(query->aggregates) +
					       2000.0 * pg_popcount32(terms.sketches[IFOREST_DIGEST_QUANTILES]) +
					       3000.0 * pg_popcount32(terms.sketches[IFOREST_DIGEST_DISTINCT]));
	estimate->n_numbers_bytes = pg_popcount32(terms.numbers) * tuples * terms.window * terms.others * A_NUMBER_BYTES;
	foreach (cell, query->aggregates)
		if (ifp_aggregate_is_distinct(lfirst(cell), query))
			estimate->n_groups_bytes += bytes_of_distinct(level, candidate, query, lfirst(cell), &terms, n_groups);
	estimate->startup = estimate->total;
	estimate->total += n_groups * cpu_tuple_cost;
	estimate->is_slower = is_slower(level, candidate, query, &terms, estimate);
}

/* ---- path to plan ---- */

static bool collect_parameters(Node *node, void *parameters)
{
	if (!node || IsA(node, Integer) || IsA(node, OidList))
		return false;
	if (IsA(node, Param)) {
		*(List **)parameters = list_append_unique(*(List **)parameters, node);
		return false;
	}
	return expression_tree_walker(node, collect_parameters, parameters);
}

/* custom_private of the path: the query, the scan tuple's expressions, HAVING. */
static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target, List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List *parameters = NIL;
	AttrNumber number = 1;
	ListCell *cell;

	(void)root;
	(void)rel;
	(void)clauses;
	ifp_take(path);
	foreach (cell, lsecond(path->custom_private))
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist, makeTargetEntry(lfirst(cell), number++, NULL, false));
	(void)collect_parameters(linitial(path->custom_private), &parameters);
	scan->scan.plan.targetlist = target;
	scan->scan.plan.qual = lthird(path->custom_private);
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_exprs = parameters;
	scan->custom_plans = plans;
	scan->custom_private = linitial(path->custom_private);
	scan->methods = GetCustomScanMethods("IForestAggregate", false);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestAggregate", .PlanCustomPath = plan_path };

/* ---- query level ---- */

/* Adds the expressions of GROUP BY or DISTINCT, and their operators. */
static void read_groups(struct ifp_query_level *level, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses) {
		SortGroupClause *clause = lfirst_node(SortGroupClause, cell);

		level->groups = lappend(level->groups, get_sortgroupclause_expr(clause, level->upper->processed_tlist));
		level->operators = lappend_oid(level->operators, clause->hashable ? clause->eqop : InvalidOid);
	}
}

/* Reads the query level at this stage of planning. Returns false if no index can answer its form. */
static bool read_query(UpperRelationKind stage, const GroupPathExtraData *extra, PathTarget *target,
		       struct ifp_query_level *level)
{
	const Query *parse = level->upper->parse;

	if (stage == UPPERREL_GROUP_AGG) {
		if (parse->groupingSets)
			return false;
		read_groups(level, parse->groupClause);
		level->outputs = list_concat(list_copy(target->exprs), (List *)extra->havingQual);
		return true;
	}
	if (parse->groupClause || parse->hasAggs || parse->hasWindowFuncs || parse->hasTargetSRFs || parse->hasDistinctOn ||
	    parse->setOperations || parse->groupingSets)
		return false;
	read_groups(level, parse->distinctClause);
	level->outputs = list_copy(target->exprs);
	return true;
}

/* ---- paths ---- */

/* Groups are all in memory; a plain plan may use disk. */
static const double most_group_bytes = 256.0 * 1024 * 1024;

/* Returns NULL, or why the path is not offered. */
static const char *add_candidate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
				 const struct ifp_index_query *query, List *aggregates, List *having, PathTarget *target,
				 RelOptInfo *output_rel)
{
	CustomPath *path = makeNode(CustomPath);
	struct agg_cost estimate;
	QualCost quals;

	aggregate_estimate(level, candidate, query, &estimate);
	if (estimate.n_groups_bytes > Max(most_group_bytes, (double)get_hash_memory_limit()))
		return "there would be too many groups for memory";
	if (estimate.n_numbers_bytes > Max(most_group_bytes, (double)get_hash_memory_limit()))
		return "exact percentiles are of too many values for memory";
	if (estimate.is_slower)
		return NULL;
	cost_qual_eval(&quals, having, level->upper);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output_rel;
	path->path.pathtarget = target;
	path->path.parallel_safe = output_rel->consider_parallel && level->rel->consider_parallel &&
				   (!level->source || level->source->parallel_safe);
	path->path.rows = clamp_row_est(having ? estimate.n_rows / 3 : estimate.n_rows);
	path->path.startup_cost = estimate.startup + target->cost.startup + quals.startup;
	path->path.total_cost = estimate.total + target->cost.startup + quals.startup +
				estimate.n_rows * (target->cost.per_tuple + quals.per_tuple);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = level->source ? list_make1(level->source) : NIL;
	path->custom_private =
		list_make3(ifp_index_query_write(query), list_concat(list_copy(level->groups), aggregates), having);
	path->methods = &path_methods;
	ifp_offer(level->upper, ifp_table_of(level->root, level->rel), linitial(candidate->indexes), path,
		  path->path.total_cost, level->cost_without);
	add_path(output_rel, &path->path);
	return NULL;
}

static void decline(const struct ifp_query_level *level, const struct ifp_candidate *candidate, const char *reason)
{
	ifp_decline(level->upper, ifp_table_of(level->root, level->rel), candidate ? linitial(candidate->indexes) : NULL,
		    reason);
}

/* True if a path is cheaper than any answer from an index can be: then planning need not take longer. */
static bool has_cheap_path(const RelOptInfo *rel)
{
	const Path *cheapest = ifp_cheapest_path(rel);

	return cheapest && cheapest->total_cost < OPENING * cpu_operator_cost;
}

static bool is_answer(const Path *path)
{
	return path && IsA(path, CustomPath) && ((const CustomPath *)path)->methods == &path_methods;
}

static void consider(UpperRelationKind stage, RelOptInfo *output_rel, GroupPathExtraData *extra, PathTarget *target,
		     struct ifp_query_level *level)
{
	bool is_cheap = !ifp_are_reasons_wanted() && has_cheap_path(output_rel);
	const char *reason = is_cheap ? NULL : ifp_query_level_enter(level);
	List *candidates = is_cheap ? NIL : ifp_candidates(level, &reason);
	List *having = stage == UPPERREL_GROUP_AGG ? (List *)extra->havingQual : NIL;
	const struct ifp_candidate *answering = NULL;
	const Path *plain;
	ListCell *cell;

	if (candidates == NIL && reason)
		decline(level, NULL, reason);
	if (candidates == NIL)
		return;
	if (!read_query(stage, extra, target, level)) {
		/* first rows of groups are for planner/skip_path.h */
		if (!level->upper->parse->hasDistinctOn)
			decline(level, linitial(candidates),
				"the query has grouping sets, or DISTINCT over more than rows of the table");
		return;
	}
	plain = ifp_cheapest_path(output_rel);
	level->cost_without = plain ? plain->total_cost : -1;
	foreach (cell, candidates) {
		const struct ifp_candidate *candidate = lfirst(cell);
		struct ifp_index_query query;
		List *aggregates;

		reason = ifp_query_match(level, candidate, &query, &aggregates);
		if (!reason)
			reason = add_candidate(level, candidate, &query, aggregates, having, target, output_rel);
		if (reason)
			decline(level, candidate, reason);
		else
			answering = candidate;
	}
	if (answering && ifp_are_reasons_wanted() && !is_answer(ifp_cheapest_path(output_rel)))
		decline(level, answering, ifp_costs_more);
}

/* ---- hook ---- */

static create_upper_paths_hook_type previous_hook;

static void consider_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel,
				 void *extra)
{
	struct ifp_query_level level = { .upper = root, .root = root, .rel = input_rel };

	if (previous_hook)
		previous_hook(root, stage, input_rel, output_rel, extra);
	if (!ifp_enable)
		return;
	if (stage == UPPERREL_GROUP_AGG)
		consider(stage, output_rel, extra, output_rel->reltarget, &level);
	else if (stage == UPPERREL_DISTINCT)
		consider(stage, output_rel, NULL, root->upper_targets[UPPERREL_DISTINCT], &level);
}

void ifp_agg_path_register(void)
{
	DefineCustomBoolVariable("iforest.float_aggregates",
				 "Lets them answer sums, averages and extremes of real and double precision.",
				 "Such sums may differ from those of another plan in their last digits.", &ifp_float_aggregates,
				 true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.approximate_percentiles",
				 "Lets them answer percentile_cont and percentile_disc from sketches.",
				 "The value of the column is at most 1/128 off.", &ifp_approximate_percentiles, false,
				 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.approximate_distinct", "Lets them answer count(DISTINCT x) from sketches.",
				 "It is exact up to 768 values; from there on the standard error is 1.6 %.",
				 &ifp_approximate_distinct, false, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	MarkGUCPrefixReserved("iforest");
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = consider_upper_paths;
}
