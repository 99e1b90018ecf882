#include "pg_ext/planner/aggregate_pieces.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "pg_ext/planner/aggregates.h"
#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/storage/lasting.h"
#include "pg_ext/storage/meta.h"
#include "pg_ext/am/handler.h"
#include "pg_ext/planner/aggregate_estimate.h"
#include "pg_ext/storage/heap_visibility.h"

/* Measured beside the time that PostgreSQL charges for a row of a sequential scan, in operators: an index opened (metapage,
 * manifest, extents), a page of a run for an edge, one read from end to end, a bucket, a page of pending entries, a row of the
 * heap looked at, a page of it that was found clean before, a row that a scan of another index fetches, a row whose group
 * a plain plan finds by expressions of the time, an entry read and put into a sketch. */
enum {
	OPENING = 4000,
	A_PAGE = 200,
	A_WHOLE_PAGE = 800,
	A_BUCKET = 160,
	A_PENDING_PAGE = 1000,
	A_HEAP_ROW = 1,
	A_REMEMBERED_PAGE = 40,
	A_FETCHED_ROW = 40,
	A_GROUPED_ROW = 50,
	A_SKETCHED_ROW = 1
};

/* What an entry takes in a run, about, and each of its values: 4 to 13 bytes were measured with one value. */
enum { ENTRY_BYTES = 5, VALUE_BYTES = 5 };

/* more than so many cost what it costs to ask how many there are */
enum { MANY_SERIES = 1000 };

/* leaf pages under a node page that an end of a bucket reads for a sketch, about */
enum { A_NODE_PAGE = 30 };

/* larger visibility maps are not counted for an estimate */
enum { MOST_MAP_PAGES = 64, BLOCKS_A_MAP_PAGE = 32672 };

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

/* ---- series ---- */

/* How many values these by columns can have, taken together. */
static double n_combinations(const struct iforest_query *query, const struct iforest_candidate *candidate,
			     const List *by_columns)
{
	double n = 1;
	ListCell *cell;

	foreach(cell, by_columns) {
		VariableStatData variable;
		bool is_default;

		examine_variable(query->root, list_nth(candidate->columns, lfirst_int(cell) - 1), (int)query->rel->relid,
				 &variable);
		n *= get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
	}
	return n;
}

/* The by columns that an expression mentions, or all of them where it is NULL. */
static List *by_columns_of(const struct iforest_question *question, Node *expression)
{
	List *columns = NIL;

	for (int i = 1; i <= question->n_by; i++)
		if (!expression || iforest_mentions(expression, (AttrNumber)i))
			columns = lappend_int(columns, i);
	return columns;
}

/* The most series that one of the indexes has in its runs; 0: there are no runs. */
static double n_known_series(const struct iforest_question *question)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest series", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	double n = 0;
	ListCell *cell;

	foreach(cell, question->tables) {
		Relation relation = index_open(lsecond_oid(lfirst(cell)), NoLock);
		struct iforest_index *index = palloc(sizeof *index);

		iforest_index_open(index, relation);
		iforest_index_refresh(index);
		for (uint32 r = 0; r < index->manifest.n_runs; r++) {
			struct iforest_node root;

			iforest_node_read(&root, &index->manifest.fields, index->manifest.runs[r].root);
			n = Max(n, (double)root.last.series + 1);
		}
		index_close(relation, NoLock);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return n;
}

/* Values of several columns may go together: where that matters, the indexes say how many do. */
static double n_series(const struct iforest_query *query, const struct iforest_candidate *candidate,
		       const struct iforest_question *question, double n_rows)
{
	double n = n_combinations(query, candidate, by_columns_of(question, NULL)), n_known = 0;

	if (question->n_by > 1 && n > MANY_SERIES)
		n_known = n_known_series(question);
	return Min(n_known > 0 ? Min(n, n_known) : n, n_rows);
}

/* ---- one index ---- */

struct terms {
	double window, others;       /* selectivities */
	double series, chosen;       /* and the part of the rows that these have */
	struct iforest_piece_counts pieces;
	double tuples;               /* of all tables */
	const struct iforest_definition *definition;
	uint32 sketches;             /* value columns of which sketches are needed: a bit each */
};

/* The part of the table that is not all-visible, now; statistics know only what VACUUM left. *remembered is the part of that
 * which the session has found to be clean all the same. */
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
		*remembered = Min(iforest_lasting_pages(table, most) / (rel->pages * unclean), 1);
	table_close(table, NoLock);
	return unclean;
}

/* Leaf pages read for sketches: all of them, or what is cut off of node pages, and those under nodes that have rows in blocks
 * that are not clean. */
static double pages_of_sketches(double n_pages, double n_edges, double n_unclean, bool is_lacking)
{
	return is_lacking ? n_pages : Min(n_pages, (n_edges + n_unclean) * A_NODE_PAGE);
}

/* Pages that an index reads from, about: what was merged leaves free ones behind, as many again after a load. */
static double n_used_pages(const IndexOptInfo *index, const struct iforest_definition *definition, double tuples,
			   double n_pending)
{
	double entry_bytes = ENTRY_BYTES + VALUE_BYTES * definition->n_values;

	return Min(index->pages, n_pending + tuples * entry_bytes / BLCKSZ + 1);
}

static Cost cost_of_index(Oid table, const RelOptInfo *rel, const IndexOptInfo *index, const struct terms *terms,
			  bool narrows_values)
{
	Relation relation = index_open(index->indexoid, NoLock);
	struct iforest_meta *meta = palloc(sizeof *meta);
	/* a partition has its share of the buckets of all series, and of the window what its own rows say */
	double tuples = Max(rel->tuples, 1), share = tuples / terms->tuples, n_buckets = Max(terms->pieces.buckets * share, 1);
	double window = Min(rel->rows / tuples / terms->others, 1), series = Max(Min(terms->series, tuples * window), 1);
	double n_runs, n_pending, n_used, n_pages, n_pieces, n_edges, unclean, remembered, n_whole, read_cost;
	uint32 kept = terms->sketches ? iforest_definition_sketches(relation, terms->definition) : 0;

	iforest_meta_read(relation, meta);
	n_runs = iforest_estimate_runs(relation, meta);
	n_pending = iforest_pending_pages(meta);
	n_used = n_used_pages(index, terms->definition, tuples, n_pending);
	index_close(relation, NoLock);
	pfree(meta);

	/* ranges that are left out are passed, too */
	n_pieces = Min(terms->series * n_buckets, tuples * window + 1) +
		   Min(terms->series * terms->pieces.ranges * share, tuples * terms->pieces.passed * terms->chosen);
	/* the ends of each are on leaf pages, each series of each run has a way down; no more than there are */
	n_edges = n_pieces + 2 * n_runs * series;
	n_pages = Min(n_edges, n_used * Max(window, terms->pieces.passed) + 3 * n_runs * series);
	if (narrows_values)
		n_pages = Max(n_pages, n_used * window / 2);
	read_cost = index->pages < (BlockNumber)effective_cache_size / 2 ? seq_page_cost / 4 : random_page_cost;
	unclean = rel->pages * window * unclean_fraction(rel, table, &remembered);
	remembered *= unclean;
	unclean -= remembered;
	n_whole = Min(n_used * window, unclean);
	if (terms->sketches) {
		n_whole = pages_of_sketches(n_used * window, n_edges, unclean, terms->sketches & ~kept);
		n_pages = Max(n_pages, n_whole);
	}
	return n_pages * (read_cost + A_PAGE * cpu_operator_cost) +
	       n_whole * (read_cost + A_WHOLE_PAGE * cpu_operator_cost) + n_pending * A_PENDING_PAGE * cpu_operator_cost +
	       (terms->sketches ? n_whole * tuples / Max(n_used, 1) * A_SKETCHED_ROW * cpu_operator_cost : 0) +
	       remembered * A_REMEMBERED_PAGE * cpu_operator_cost +
	       unclean * (seq_page_cost + A_HEAP_ROW * cpu_operator_cost * tuples / Max(rel->pages, 1)) +
	       n_pieces * A_BUCKET * cpu_operator_cost + OPENING * cpu_operator_cost;
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

/* Would a plain plan be cheaper if the planner knew more? It takes an expression of the time for as many groups as there are
 * times, and lets the plain plan pay for these; but whatever is paid for groups, the index pays, too.
 *
 * Or if it knew how few rows the window has? They are taken to lie side by side in the table, as for our own cost. */
static bool is_slower(const struct iforest_query *query, const struct iforest_candidate *candidate,
		      const struct iforest_question *question, const struct terms *terms,
		      const struct iforest_estimate *estimate)
{
	Node *time = list_nth(candidate->columns, question->n_by);
	const Path *plain = query->rel->cheapest_total_path;
	double n_rows, n_pages;

	if (question->groups != NIL &&
	    plain->total_cost + query->rel->rows * A_GROUPED_ROW * cpu_operator_cost < estimate->startup)
		return true;
	if (list_length(candidate->rels) != 1 || !is_by_time(plain, time) || has_statistics(query, time) ||
	    !iforest_known_rows(query->root, index_by_time(query, question, time), question, &n_rows))
		return false;
	n_pages = query->rel->pages * Min(n_rows / terms->tuples, 1) + 1;
	return plain->startup_cost + n_pages * random_page_cost + n_rows * A_FETCHED_ROW * cpu_operator_cost <
	       estimate->total;
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
	struct terms terms = { .definition = &definition };
	double tuples = 0, n_groups = 1, n_keys;
	ListCell *cell, *rel_cell, *index_cell, *table_cell;

	iforest_definition_read(index, &definition);
	foreach(rel_cell, candidate->rels)
		tuples += Max(((RelOptInfo *)lfirst(rel_cell))->tuples, 1);
	terms.window = selectivity(query, candidate, true);
	terms.others = selectivity(query, candidate, false);
	terms.chosen = question->values ? 1 : terms.others;
	terms.tuples = tuples;
	terms.series = question->n_by == 0 ? 1 : Max(n_series(query, candidate, question, tuples) * terms.chosen, 1);
	iforest_count_pieces(query, candidate, question, index, terms.window, tuples, &terms.pieces);
	index_close(index, NoLock);
	foreach(cell, question->aggregates)
		terms.sketches |= iforest_aggregate_sketches(lfirst(cell), question);
	estimate->total = 0;
	forthree(rel_cell, candidate->rels, index_cell, candidate->indexes, table_cell, question->tables)
		estimate->total += cost_of_index(linitial_oid(lfirst(table_cell)), lfirst(rel_cell), lfirst(index_cell), &terms,
						 question->values != NIL);
	if (question->groups != NIL) {
		n_keys = n_combinations(query, candidate, by_columns_of(question, (Node *)question->groups));
		n_groups = Min(terms.pieces.groups * Min(n_keys, terms.series), Max(tuples * terms.window * terms.others, 1));
	}
	estimate->n_rows = clamp_row_est(n_groups);
	estimate->n_groups_bytes = n_groups * (100.0 + 120.0 * list_length(question->aggregates) +
					2000.0 * pg_popcount32(terms.sketches));
	estimate->startup = estimate->total;
	estimate->total += n_groups * cpu_tuple_cost;
	estimate->is_slower = is_slower(query, candidate, question, &terms, estimate);
}
