#include "pg_ext/aggregate_plan.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "catalog/pg_statistic.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "pg_ext/aggregates.h"
#include "pg_ext/am.h"
#include "pg_ext/buckets.h"
#include "pg_ext/known_rows.h"
#include "pg_ext/meta.h"

/* Measured beside the time that PostgreSQL charges for a row of a sequential scan, in operators: an index opened (metapage,
 * manifest, extents), a page of a run for an edge, one read from end to end, a bucket, a page of pending entries, a row of the
 * heap looked at, one that a scan of another index fetches, an entry read and put into a sketch. */
enum {
	OPENING = 4000,
	A_PAGE = 200,
	A_WHOLE_PAGE = 800,
	A_BUCKET = 160,
	A_PENDING_PAGE = 1000,
	A_HEAP_ROW = 1,
	A_FETCHED_ROW = 40,
	A_SKETCHED_ROW = 1
};

/* leaf pages under a node page that an end of a bucket reads for a sketch, about */
enum { A_NODE_PAGE = 30 };

/* larger visibility maps are not counted for an estimate */
enum { MOST_MAP_PAGES = 64, BLOCKS_A_MAP_PAGE = 32672 };

/* where nothing is known of the times */
static const double default_buckets = 1000;

/* ---- conditions ---- */

/* Selectivity of the restrictions that the kept expressions need: on times alone, or on anything else. */
static double selectivity(const struct iforest_query *query, const struct iforest_candidate *candidate, bool of_time)
{
	Node *time = list_nth(candidate->columns, ((IndexOptInfo *)linitial(candidate->indexes))->nkeycolumns - 1);
	List *chosen = NIL;
	ListCell *cell;

	foreach(cell, candidate->restrictions) {
		List *vars = pull_var_clause((Node *)lfirst_node(RestrictInfo, cell)->clause, 0);
		bool is_of_time = vars != NIL && list_difference(vars, list_make1(time)) == NIL;

		if (is_of_time == of_time && vars != NIL)
			chosen = lappend(chosen, lfirst(cell));
	}
	return clauselist_selectivity(query->root, chosen, (int)query->rel->relid, JOIN_INNER, NULL);
}

static double n_series(const struct iforest_query *query, const struct iforest_candidate *candidate, int n_by, double n_rows)
{
	double n = 1;

	for (int i = 0; i < n_by; i++) {
		VariableStatData variable;
		bool is_default;

		examine_variable(query->root, list_nth(candidate->columns, i), (int)query->rel->relid, &variable);
		n *= get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
	}
	return Max(Min(n, n_rows), 1);
}

/* ---- buckets ---- */

/* The range of times by the histogram; false where there is none. */
static bool find_times(const struct iforest_query *query, Node *time, const struct iforest_definition *definition,
		       int64 *low, int64 *high)
{
	VariableStatData variable;
	AttStatsSlot slot;
	bool found = false;

	examine_variable(query->root, time, (int)query->rel->relid, &variable);
	if (HeapTupleIsValid(variable.statsTuple) &&
	    get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES)) {
		struct iforest_time_keys times = iforest_time_keys(definition);
		int first = 0, last = slot.nvalues - 1;

		/* some rows at infinity say nothing of the others */
		while (first < last && iforest_time_from_datum(definition, slot.values[first]) < times.lowest_finite)
			first++;
		while (first < last && iforest_time_from_datum(definition, slot.values[last]) > times.highest_finite)
			last--;
		*low = iforest_time_from_datum(definition, slot.values[first]);
		*high = iforest_time_from_datum(definition, slot.values[last]);
		found = *low < *high;
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(variable);
	return found;
}

static bool has_parameter(Node *node, void *context)
{
	return node && (IsA(node, Param) || expression_tree_walker(node, has_parameter, context));
}

/* Can keys be evaluated while planning? Not with parameters, or where finding a time zone might raise an error. */
static bool are_known(const struct iforest_run_keys *keys)
{
	ListCell *cell;

	foreach(cell, keys->breaks)
		if (lsecond(lfirst(cell)) && !IsA(lsecond(lfirst(cell)), Const))
			return false;
	return !has_parameter((Node *)keys->expressions, NULL) && !has_parameter((Node *)keys->breaks, NULL);
}

/* How many buckets there are from low to high: a bucket in the middle is looked for. */
static double count_buckets(const struct iforest_question *question, const struct iforest_run_keys *keys,
			    const struct iforest_definition *definition, int64 low, int64 high)
{
	TupleDesc descriptor = CreateTemplateTupleDesc(list_length(question->columns));
	ExprContext *econtext = CreateStandaloneExprContext();
	struct iforest_buckets *buckets;
	int64 middle = low + (int64)(((uint64)high - (uint64)low) / 2), end, next;
	AttrNumber attribute = 1;
	double n = 1;
	ListCell *cell;

	foreach(cell, question->columns)
		TupleDescInitEntry(descriptor, attribute++, NULL, exprType(lfirst(cell)), exprTypmod(lfirst(cell)), 0);
	econtext->ecxt_scantuple = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(econtext->ecxt_scantuple);
	buckets = iforest_buckets_begin(keys, definition, iforest_time_attribute(question), econtext);
	iforest_buckets_start(buckets, high);
	end = iforest_buckets_end(buckets, middle);
	if (end < high) {
		next = iforest_buckets_end(buckets, end + 1);
		n = ((double)high - (double)low) / ((double)next - (double)end);
	}
	ExecDropSingleTupleTableSlot(econtext->ecxt_scantuple);
	FreeExprContext(econtext, true);
	return Max(n, 1);
}

/* Narrows the times to the question's bounds. False where they are not known while planning, or are not all that is asked of
 * times. */
static bool narrow_times(const struct iforest_query *query, const struct iforest_question *question, Relation index, int64 *low,
			 int64 *high)
{
	struct iforest_scan_keys asked;

	if (question->runs != NIL || !iforest_known_times(query->root, index, question, &asked) || asked.n_ranges != 1)
		return false;
	*low = Max(*low, asked.ranges[0].low);
	*high = Max(Min(*high, asked.ranges[0].high), *low);
	return true;
}

/* Times need not be spread evenly, so the rows of a window say nothing of its buckets where its bounds are known. */
static double n_buckets(const struct iforest_query *query, const struct iforest_candidate *candidate,
			const struct iforest_question *question, Relation index, const struct iforest_definition *definition,
			double window)
{
	struct iforest_run_keys keys;
	int64 low, high;
	double n;

	iforest_question_bucket_keys(question, &keys);
	if (keys.expressions == NIL)
		return 1;
	if (!are_known(&keys) ||
	    !find_times(query, list_nth(candidate->columns, question->n_by), definition, &low, &high))
		return default_buckets;
	if (narrow_times(query, question, index, &low, &high))
		window = 1;
	n = count_buckets(question, &keys, definition, low, high) * window;
	return Max(n, 1);
}

/* ---- one index ---- */

struct terms {
	double window, others;       /* selectivities */
	double series, buckets;      /* buckets of a series */
	double tuples;               /* of all tables */
	const struct iforest_definition *definition;
	uint32 sketches;             /* value columns of which sketches are needed: a bit each */
};

/* The part of the table that is not all-visible, now; statistics know only what VACUUM left. */
static double unclean_fraction(const RelOptInfo *rel, Oid oid)
{
	BlockNumber n_visible;
	Relation table;

	if (rel->pages == 0)
		return 0;
	if (rel->pages > (BlockNumber)MOST_MAP_PAGES * BLOCKS_A_MAP_PAGE)
		return 1 - rel->allvisfrac;
	table = table_open(oid, NoLock);
	visibilitymap_count(table, &n_visible, NULL);
	table_close(table, NoLock);
	return 1 - Min((double)n_visible / rel->pages, 1);
}

/* Leaf pages read for sketches: all of them, or what is cut off of node pages, and those under nodes that have rows in blocks
 * that are not clean. */
static double pages_of_sketches(double n_pages, double n_edges, double n_unclean, bool is_lacking)
{
	return is_lacking ? n_pages : Min(n_pages, (n_edges + n_unclean) * A_NODE_PAGE);
}

static Cost cost_of_index(Oid table, const RelOptInfo *rel, const IndexOptInfo *index, const struct terms *terms,
			  bool narrows_values)
{
	Relation relation = index_open(index->indexoid, NoLock);
	struct iforest_meta *meta = palloc(sizeof *meta);
	/* a partition has its share of the buckets of all series, and of the window what its own rows say */
	double tuples = Max(rel->tuples, 1), share = tuples / terms->tuples, n_buckets = Max(terms->buckets * share, 1);
	double window = Min(rel->rows / tuples / terms->others, 1), series = Max(Min(terms->series, tuples * window), 1);
	double n_runs, n_pending, n_pages, n_edges, unclean, n_whole, read_cost;
	uint32 kept = terms->sketches ? iforest_definition_sketches(relation, terms->definition) : 0;

	iforest_meta_read(relation, meta);
	n_runs = iforest_estimate_runs(relation, meta);
	n_pending = iforest_pending_pages(meta);
	index_close(relation, NoLock);
	pfree(meta);

	/* each bucket's ends are on leaf pages, each series of each run has a way down; no more than there are */
	n_edges = Min(terms->series * n_buckets, tuples * window + 1) + 2 * n_runs * series;
	n_pages = Min(n_edges, index->pages * window + 3 * n_runs * series);
	if (narrows_values)
		n_pages = Max(n_pages, index->pages * window / 2);
	read_cost = index->pages < (BlockNumber)effective_cache_size / 2 ? seq_page_cost / 4 : random_page_cost;
	unclean = rel->pages * window * unclean_fraction(rel, table);
	n_whole = Min(index->pages * window, unclean);
	if (terms->sketches) {
		n_whole = pages_of_sketches(index->pages * window, n_edges, unclean, terms->sketches & ~kept);
		n_pages = Max(n_pages, n_whole);
	}
	return n_pages * (read_cost + A_PAGE * cpu_operator_cost) +
	       n_whole * (read_cost + A_WHOLE_PAGE * cpu_operator_cost) + n_pending * A_PENDING_PAGE * cpu_operator_cost +
	       (terms->sketches ? n_whole * tuples / Max(index->pages, 1) * A_SKETCHED_ROW * cpu_operator_cost : 0) +
	       unclean * (seq_page_cost + A_HEAP_ROW * cpu_operator_cost * tuples / Max(rel->pages, 1)) +
	       Min(terms->series * n_buckets, tuples * window + 1) * A_BUCKET * cpu_operator_cost +
	       OPENING * cpu_operator_cost;
}

/* ---- without statistics ---- */

static bool has_statistics(const struct iforest_query *query, Node *time)
{
	VariableStatData variable;
	bool has;

	examine_variable(query->root, time, (int)query->rel->relid, &variable);
	has = HeapTupleIsValid(variable.statsTuple);
	ReleaseVariableStats(variable);
	return has;
}

static const TargetEntry *key_of(const IndexOptInfo *index, int column)
{
	return list_nth_node(TargetEntry, index->indextlist, column);
}

/* Does the path look for times by an index of another kind? Then its cost goes with the rows of the window. */
static bool is_by_time(const Path *path, const Node *time)
{
	const IndexPath *by_index = NULL;
	ListCell *cell;

	if (IsA(path, BitmapHeapPath))
		path = ((const BitmapHeapPath *)path)->bitmapqual;
	if (IsA(path, IndexPath))
		by_index = (const IndexPath *)path;
	if (!by_index || iforest_is_usable(by_index->indexinfo))
		return false;
	foreach(cell, by_index->indexclauses)
		if (equal(key_of(by_index->indexinfo, lfirst_node(IndexClause, cell)->indexcol)->expr, time))
			return true;
	return false;
}

/* The index to ask how many rows there are at some times: one that has the time alone, if there is one. */
static Oid index_by_time(const struct iforest_query *query, const struct iforest_question *question, const Node *time)
{
	ListCell *cell;

	foreach(cell, query->rel->indexlist) {
		const IndexOptInfo *index = lfirst(cell);

		if (iforest_is_usable(index) && index->indpred == NIL && index->nkeycolumns == 1 &&
		    equal(key_of(index, 0)->expr, time))
			return index->indexoid;
	}
	return lsecond_oid(linitial(question->tables));
}

/* Would a plain plan be cheaper if the planner knew how few rows the window has? They are taken to lie side by side in the
 * table, as for our own cost. */
static bool is_slower(const struct iforest_query *query, const struct iforest_candidate *candidate,
		      const struct iforest_question *question, const struct terms *terms, Cost cost)
{
	Node *time = list_nth(candidate->columns, question->n_by);
	const Path *plain = query->rel->cheapest_total_path;
	double n_rows, n_pages;

	if (list_length(candidate->rels) != 1 || !is_by_time(plain, time) || has_statistics(query, time) ||
	    !iforest_known_rows(query->root, index_by_time(query, question, time), question, &n_rows))
		return false;
	n_pages = query->rel->pages * Min(n_rows / terms->tuples, 1) + 1;
	return plain->startup_cost + n_pages * random_page_cost + n_rows * A_FETCHED_ROW * cpu_operator_cost < cost;
}

Cost iforest_aggregate_least_cost(void)
{
	return OPENING * cpu_operator_cost;
}

void iforest_aggregate_estimate(const struct iforest_query *query, const struct iforest_candidate *candidate,
				const struct iforest_question *question, struct iforest_estimate *estimate)
{
	Relation index = index_open(lsecond_oid(linitial(question->tables)), NoLock);
	struct iforest_definition definition;
	struct terms terms = { .sketches = 0 };
	double tuples = 0, n_groups = 1, n;
	ListCell *cell, *rel_cell, *index_cell, *table_cell;
	bool by_series = false;

	iforest_definition_read(index, &definition);
	foreach(rel_cell, candidate->rels)
		tuples += Max(((RelOptInfo *)lfirst(rel_cell))->tuples, 1);
	terms.window = selectivity(query, candidate, true);
	terms.others = selectivity(query, candidate, false);
	terms.tuples = tuples;
	n = question->n_by == 0 ? 1 :
				  n_series(query, candidate, question->n_by, tuples) * (question->values ? 1 : terms.others);
	terms.series = Max(n, 1);
	n = n_buckets(query, candidate, question, index, &definition, terms.window);
	index_close(index, NoLock);
	terms.buckets = Min(n, tuples);
	terms.definition = &definition;
	foreach(cell, question->aggregates)
		terms.sketches |= iforest_aggregate_sketches(lfirst(cell), question);
	estimate->total = 0;
	forthree(rel_cell, candidate->rels, index_cell, candidate->indexes, table_cell, question->tables)
		estimate->total += cost_of_index(linitial_oid(lfirst(table_cell)), lfirst(rel_cell), lfirst(index_cell), &terms,
						 question->values != NIL);
	for (int i = 1; i <= question->n_by; i++)
		by_series = by_series || iforest_mentions((Node *)question->groups, (AttrNumber)i);
	if (question->groups != NIL)
		n_groups = Min(terms.buckets * (by_series ? terms.series : 1), Max(tuples * terms.window * terms.others, 1));
	estimate->n_rows = clamp_row_est(n_groups);
	estimate->n_groups_bytes = n_groups * (100.0 + 120.0 * list_length(question->aggregates) +
					2000.0 * pg_popcount32(terms.sketches));
	estimate->startup = estimate->total;
	estimate->total += n_groups * cpu_tuple_cost;
	estimate->is_slower = is_slower(query, candidate, question, &terms, estimate->total);
}
