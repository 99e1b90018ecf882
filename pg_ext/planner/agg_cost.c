#include "pg_ext/planner/agg_cost.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "core/query/sweep.h"
#include "pg_ext/am/handler.h"
#include "pg_ext/am/plan_facts.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/dimension.h"
#include "pg_ext/planner/piece_counts.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/planner/top_groups.h"
#include "pg_ext/planner/value_passes.h"
#include "pg_ext/planner/value_split.h"
#include "pg_ext/planner/value_steps.h"
#include "pg_ext/storage/heap_visibility.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"

/* Costs in units of cpu_operator_cost, measured relative to the time that PostgreSQL charges for a row of a sequential scan. */
enum {
	OPENING = 2400,	      /* opening an index */
	PLANNING = 600,	      /* the extra time of planning the answer */
	A_PAGE = 200,	      /* a page of a run, for the end of a bucket */
	A_WHOLE_PAGE = 800,   /* a page of a run, decoded from end to end */
	A_BUCKET = 25,	      /* of one series */
	A_BUCKET_END = 30,    /* finding where a bucket ends, once for all series, and a group for it; besides evaluations */
	A_SWEPT_PAGE = 100,   /* a leaf page that a sweep visits (core/query/sweep.h) */
	A_PASSED_SERIES = 2,  /* a series without a bucket on such a page */
	A_SWEPT_SERIES = 50,  /* a series with a bucket on it, which becomes a group */
	A_FOLDED_SERIES = 15, /* a series with a bucket on it, whose group is left out */
	A_SET = 16,	      /* a further group to which a bucket is added */
	A_JOINED_ROW = 20,    /* a row of a dimension, copied to memory */
	A_LOOK_FOR_PARTNERS = 20, /* a lookup of a series in a dimension */
	A_PENDING_PAGE = 1000,
	A_HEAP_ROW = 1,		/* a heap row whose visibility is checked */
	A_REMEMBERED_PAGE = 40, /* a heap page cached as clean */
	A_FETCHED_ROW = 40,	/* a row that a scan of another index fetches */
	A_GROUPED_ROW = 20,	/* a row that a plain plan groups by expressions of the time */
	A_SKETCHED_ROW = 1,	/* an entry that is added to a sketch */
	A_SORTED_ROW = 6,	/* a value that is collected and sorted */
	A_SPLIT_ROW = 1,	/* an entry that is folded with those of its class */
	A_CLASS_OF_BLOCK = 4	/* a class of the entries of a block */
};

/* Evaluations of the keys to find where a bucket ends, usually as wide as the one before, and its group. */
enum { EVALUATIONS_A_BUCKET = 3 };

/* Approximate bytes of an entry in a run, and of each of its values: 4 to 13 bytes were measured with one value. */
enum { ENTRY_BYTES = 5, VALUE_BYTES = 5 };

/* Bytes of a value kept for a percentile: in the group's growing list and in the bucket's. */
enum { A_NUMBER_BYTES = 24 };

/* Above this estimate of series the indexes are read to count them. */
enum { MANY_SERIES = 1000 };

/* Pages that the smallest query reads: one piece of one series in one run. */
enum { FEWEST_PAGES = 3 };

/* Leaf pages under a node page that the end of a bucket reads for a sketch, approximately. */
enum { A_NODE_PAGE = 30 };

/* Larger visibility maps are not counted for an estimate. Nor is the map counted if so few blocks are asked for that checking
 * each costs little. */
enum { MOST_MAP_PAGES = 64, BLOCKS_A_MAP_PAGE = 32672, FEW_BLOCKS = 8 };

/* ---- conditions ---- */

/* Returns the selectivity of the restrictions on the time only, or of all others. If there are no others, the planner knows it
 * already. */
static double selectivity(const struct ifp_query_level *level, const struct ifp_candidate *candidate, bool of_time)
{
	bool is_whole = list_length(candidate->rels) == 1 && !level->join && level->layers == NIL;
	Node *time = list_nth(candidate->columns, ((IndexOptInfo *)linitial(candidate->indexes))->nkeycolumns - 1);
	List *chosen = NIL;
	ListCell *cell;

	foreach (cell, candidate->restrictions) {
		List *vars = pull_var_clause((Node *)lfirst_node(RestrictInfo, cell)->clause, PVC_RECURSE_PLACEHOLDERS);
		bool is_of_time = vars != NIL && list_difference(vars, list_make1(time)) == NIL;

		if (is_of_time == of_time && vars != NIL)
			chosen = lappend(chosen, lfirst(cell));
	}
	if (of_time && is_whole && list_length(chosen) == list_length(level->rel->baserestrictinfo))
		return level->rel->rows / Max(level->rel->tuples, 1);
	return clauselist_selectivity(level->root, chosen, (int)level->rel->relid, JOIN_INNER, NULL);
}

/* ---- series ---- */

static double n_distinct(const struct ifp_query_level *level, Node *column)
{
	VariableStatData variable;
	bool is_default;
	double n;

	/* a column of a dimension is of another relation */
	examine_variable(level->root, column, level->join ? 0 : (int)level->rel->relid, &variable);
	n = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	return n;
}

/* Returns the product of the numbers of distinct values of these by columns. */
static double n_combinations(const struct ifp_query_level *level, const struct ifp_candidate *candidate, const List *by_columns)
{
	double n = 1;
	ListCell *cell;

	foreach (cell, by_columns)
		n *= n_distinct(level, list_nth(candidate->columns, lfirst_int(cell) - 1));
	return n;
}

/* Returns the number of classes into which rows are split by the value columns whose second columns an expression mentions; by
 * all split columns if it is NULL. */
static double n_classes(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			const struct ifp_index_query *query, Node *expression)
{
	double n = 1;

	for (int i = 0; i < list_length(query->splits); i++) {
		struct ifp_value_split split;

		if (!ifp_value_split_read(query, i, &split) ||
		    (expression && !ifp_mentions(expression, ifp_value_split_column(query, i))))
			continue;
		n *= split.is_exact ? n_distinct(level, list_nth(candidate->columns, query->n_by + 1 + split.value)) + 1
				    : split.n_bounds + 2;
	}
	return n;
}

/* Returns the by columns and columns of dimensions that an expression mentions, without classes; all by columns if it is
 * NULL. */
static List *by_columns_of(const struct ifp_index_query *query, Node *expression)
{
	List *columns = NIL;

	for (int i = 1; i <= query->n_by; i++)
		if (!expression || ifp_mentions(expression, (AttrNumber)i))
			columns = lappend_int(columns, i);
	for (int i = list_length(query->columns) - query->n_joined + 1;
	     expression && i <= list_length(query->columns) - list_length(query->splits); i++)
		if (ifp_mentions(expression, (AttrNumber)i))
			columns = lappend_int(columns, i);
	return columns;
}

/* By columns may be correlated. If the product of their distinct values is large, the number of series is read from the
 * indexes. */
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

/* Returns the fraction of the rows that pass conditions on by columns. */
static double share_of_series(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			      const struct ifp_index_query *query)
{
	List *conditions = list_copy(query->series);
	ListCell *cell;

	foreach (cell, query->keys)
		if (!ifp_mentions(lfirst(cell), ifp_time_attribute(query)))
			conditions = lappend(conditions, lfirst(cell));
	return ifp_share_of_rows(level, candidate, conditions);
}

/* ---- opening ---- */

static bool is_parameter(Node *node, void *context)
{
	if (!node)
		return false;
	return (IsA(node, Param) && castNode(Param, node)->paramkind == PARAM_EXTERN) ||
	       expression_tree_walker(node, is_parameter, context);
}

/* Returns what an answer costs before it reads anything. A generic plan is made once and executed many times. */
static Cost cost_of_opening(const struct ifp_query_level *level)
{
	bool is_generic = !level->upper->glob->boundParams && is_parameter((Node *)level->upper->parse->jointree, NULL);

	return (is_generic ? OPENING : OPENING + PLANNING) * cpu_operator_cost;
}

/* Returns what it costs to find where a bucket ends. */
static Cost cost_of_bucket_end(const struct ifp_query_level *level, const struct ifp_index_query *query)
{
	QualCost keys;

	cost_qual_eval_node(&keys, (Node *)query->groups, level->root);
	return A_BUCKET_END * cpu_operator_cost + EVALUATIONS_A_BUCKET * keys.per_tuple;
}

/* ---- one index ---- */

struct terms {
	double window, others;	      /* selectivities */
	double known, series, chosen; /* all series, the selected ones, and the latter's fraction of the rows */
	bool is_joined;		      /* with dimensions */
	struct ifp_piece_counts pieces;
	double tuples; /* of all tables */
	const struct ifp_definition *definition;
	uint32 sketches[IFOREST_N_DIGESTS]; /* bit mask of value columns whose sketches of the kind are needed */
	uint32 numbers;			    /* bit mask of value columns whose single values are needed */
	double classes;			    /* number of classes of a bucket's rows; 0: not split */
	Cost bucket_end;		    /* of finding where a bucket ends */
	double left_out;		    /* the fraction of the groups that LIMIT leaves out */
};

/* Returns the fraction of the table that is not all-visible now. Statistics are as of the last VACUUM; they suffice for few
 * blocks if all were clean. *remembered is the fraction of the former that the session has cached as clean. */
static double unclean_fraction(const RelOptInfo *rel, Oid oid, double n_asked, double *remembered)
{
	double unclean = 1 - rel->allvisfrac;
	BlockNumber n_visible, most = InvalidBlockNumber;
	Relation table;

	*remembered = 0;
	if (rel->pages == 0)
		return 0;
	if (n_asked <= FEW_BLOCKS && unclean <= 0)
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

/* Returns the number of leaf pages read for sketches: all, or those at the ends of buckets and those under nodes with rows in
 * unclean blocks. */
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

/* Returns the cost of finding a bucket's rows in many series by one sweep over the pages. Returns `apart` if no sweep is done
 * (exec/agg_scan.c decides by the same rule), or if that is cheaper because series have many pages. */
static Cost cost_of_sweep(const struct terms *terms, double n_used, double n_series, double n_pieces, Cost read_cost,
			  Cost apart)
{
	bool is_one = terms->pieces.buckets <= 1 && terms->pieces.ranges == 0;

	if (!is_one || terms->classes > 0 || terms->numbers || terms->sketches[IFOREST_DIGEST_QUANTILES] ||
	    terms->sketches[IFOREST_DIGEST_DISTINCT] || n_series < IFOREST_FEWEST_SWEPT_SERIES ||
	    n_series < terms->known / IFOREST_MOST_PASSED_SERIES)
		return apart;
	return Min(apart, n_used * (read_cost + A_SWEPT_PAGE * cpu_operator_cost) +
				  (terms->known * A_PASSED_SERIES + n_pieces * (1 - terms->left_out) * A_SWEPT_SERIES +
				   n_pieces * terms->left_out * A_FOLDED_SERIES) *
					  cpu_operator_cost);
}

/* Returns the cost of splitting rows into classes. A block has at most as many as entries. */
static Cost cost_of_split(const struct terms *terms, double n_rows)
{
	if (terms->classes == 0)
		return 0;
	return (n_rows * A_SPLIT_ROW + n_rows * Min(terms->classes / IFOREST_BLOCK_ENTRIES, 1) * A_CLASS_OF_BLOCK) *
	       cpu_operator_cost;
}

/* within: the fraction of the rows whose values are in the range that is read; negative: there is no range of values. */
static Cost cost_of_index(Oid table, const RelOptInfo *rel, const IndexOptInfo *index, const struct terms *terms, double within)
{
	Relation relation = index_open(index->indexoid, NoLock);
	const struct ifp_meta_sizes *sizes;
	/* a partition has its share of the buckets of all series; its share of the window follows from its own rows */
	double tuples = Max(rel->tuples, 1), share = tuples / terms->tuples, n_buckets = Max(terms->pieces.buckets * share, 1);
	double window = Min(rel->rows / tuples / terms->others, 1), series = Max(Min(terms->series, tuples * window), 1);
	/* blocks with rows of the window, and of the series that are read */
	double n_blocks = Min(rel->pages, tuples * terms->chosen) * window;
	double n_runs, n_pending, n_used, n_pages, n_pieces, n_edges, unclean, remembered, n_whole, n_narrowed = 0, read_cost;
	Cost pieces;
	uint32 lacking = 0;
	bool needs_sketches = false;

	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++) {
		needs_sketches = needs_sketches || terms->sketches[kind];
		if (terms->sketches[kind])
			lacking |= terms->sketches[kind] &
				   ~ifp_definition_sketches(relation, terms->definition, (enum iforest_digest_kind)kind);
	}
	sizes = ifp_plan_facts_sizes(index);
	n_runs = ifp_estimate_runs(index->ncolumns - index->nkeycolumns, sizes->manifest_bytes);
	n_pending = sizes->n_pending_pages;
	n_used = n_used_pages(index, terms->definition, tuples, n_pending);
	index_close(relation, NoLock);

	/* ranges that are excluded are skipped, which costs too */
	n_pieces = Min(terms->series * n_buckets * Max(terms->classes, 1), tuples * window + 1) +
		   Min(terms->series * terms->pieces.ranges * share, tuples * terms->pieces.passed * terms->chosen);
	/* each piece ends on a leaf page, and each series of each run needs a descent; at most the pages that there are */
	n_edges = n_pieces + 2 * n_runs * series;
	n_pages = Min(n_edges, n_used * Max(window, terms->pieces.passed) + 3 * n_runs * series);
	/* pages with both fitting and other values are opened: few if nearly all or none fit */
	if (within >= 0) {
		n_narrowed = Min(n_used * window / 2, tuples * window * Min(within, 1 - within));
		n_pieces = Min(n_pieces, tuples * window * within + series);
	}
	n_pages = Max(n_pages, n_narrowed);
	read_cost = index->pages < (BlockNumber)effective_cache_size / 2 ? seq_page_cost / 4 : random_page_cost;
	unclean = n_blocks * unclean_fraction(rel, table, n_blocks, &remembered);
	remembered *= unclean;
	unclean -= remembered;
	n_whole = Max(Min(n_used * window, unclean), n_narrowed);
	if (needs_sketches) {
		n_whole = pages_of_sketches(n_used * window, n_edges, unclean, lacking);
		n_pages = Max(n_pages, n_whole);
	}
	if (terms->numbers || terms->classes > 0)
		n_pages = n_whole = Max(n_pages, n_used * window);
	pieces = n_pages * (read_cost + A_PAGE * cpu_operator_cost) + n_pieces * A_BUCKET * cpu_operator_cost +
		 Min(n_buckets, n_pieces) * terms->bucket_end;
	pieces = cost_of_sweep(terms, n_used, terms->is_joined ? 0 : terms->series * share, n_pieces, read_cost, pieces);
	return pieces + n_whole * (read_cost + A_WHOLE_PAGE * cpu_operator_cost) +
	       n_pending * A_PENDING_PAGE * cpu_operator_cost +
	       (needs_sketches ? n_whole * tuples / Max(n_used, 1) * A_SKETCHED_ROW * cpu_operator_cost : 0) +
	       cost_of_split(terms, tuples * window * terms->chosen) +
	       pg_popcount32(terms->numbers) * tuples * window * terms->chosen * A_SORTED_ROW * cpu_operator_cost +
	       remembered * A_REMEMBERED_PAGE * cpu_operator_cost +
	       unclean * (seq_page_cost + A_HEAP_ROW * cpu_operator_cost * tuples / Max(rel->pages, 1));
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

/* True if, with better estimates, a plain plan would be cheaper than the index. There are two cases.
 *
 * The planner expects as many groups as there are times from an expression of the time, and charges the plain plan for them.
 * The index would pay the same for its groups, so they are left out of the comparison.
 *
 * Without statistics on the time, the planner does not know how few rows the window has. They are assumed to be adjacent in the
 * table, as for the index's own cost. */
static bool is_slower(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
		      const struct ifp_index_query *query, const struct terms *terms, const struct ifp_agg_cost *estimate)
{
	Node *time = list_nth(candidate->columns, query->n_by);
	const Path *plain = (level->join ? level->join : level->rel)->cheapest_total_path;
	double n_rows, n_pages;
	Cost startup;

	if (ifp_is_disabled(plain))
		return false;
	if (query->groups != NIL &&
	    plain->total_cost + level->rel->rows * A_GROUPED_ROW * cpu_operator_cost < estimate->startup)
		return true;
	if (level->join || list_length(candidate->rels) != 1 || !is_by_time(plain, time) || has_statistics(level, time) ||
	    !ifp_selectivity_window_rows(level->root, index_by_time(level, query, time), query, &n_rows))
		return false;
	n_pages = level->rel->pages * Min(n_rows / terms->tuples, 1) + 1;
	/* a bitmap of the rows that the planner assumes, in place of the few that there are */
	startup = IsA(plain, BitmapHeapPath) ? 0 : plain->startup_cost;
	return startup + n_pages * random_page_cost + n_rows * A_FETCHED_ROW * cpu_operator_cost < estimate->total;
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

/* Returns the fraction of rows within the range of values in WHERE, which may leave any part of each page. */
static double share_of_values(const struct ifp_index_query *query)
{
	return query->values != NIL ? 0.5 : -1;
}

static double share_of_pass(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			    const struct ifp_index_query *query, const struct ifp_value_pass *pass)
{
	if (pass->histogram < 0)
		return share_of_values(query);
	return ifp_share_of_rows(level, candidate, list_make1(ifp_value_steps_condition(query, pass->histogram, pass->steps)));
}

/* Returns the average number of matches of a row in the dimensions. */
static double partners_of_row(const struct ifp_query_level *level)
{
	return level->join ? level->join->rows / Max(level->rel->rows, 1) : 1;
}

/* Returns the number of groups that a list of keys makes. */
static double n_groups_of(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			  const struct ifp_index_query *query, const struct terms *terms, Node *keys)
{
	double n_keys = n_combinations(level, candidate, by_columns_of(query, keys));
	double n_times = ifp_mentions(keys, ifp_time_attribute(query)) ? terms->pieces.groups : 1;
	double n_pieces = ifp_mentioned_value(query, keys) != -1 ? Max(list_length(query->pieces), 1) : 1;
	double n_partners = Max(partners_of_row(level), 1);

	n_pieces *= n_classes(level, candidate, query, keys);
	return Min(n_times * Min(n_keys, terms->series * n_partners) * n_pieces,
		   Max(terms->tuples * terms->window * terms->others * n_partners, 1));
}

/* Returns the number of groups of all grouping sets. */
static double n_groups_of_sets(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			       const struct ifp_index_query *query, const struct terms *terms)
{
	double n = 0;
	ListCell *cell, *number;

	foreach (cell, query->sets) {
		List *keys = NIL;

		foreach (number, lfirst(cell))
			keys = lappend(keys, list_nth(query->groups, lfirst_int(number)));
		n += n_groups_of(level, candidate, query, terms, (Node *)keys);
	}
	return n;
}

/* Memory overhead of a row of a dimension. */
enum { JOINED_ROW_BYTES = 64 };

/* Adds the cost of the dimensions: their rows are read once, each series looks up its matches, and is read once for each. Without
 * an equality, a lookup looks at all rows. */
static void add_dimensions(const struct ifp_query_level *level, double n_series, struct ifp_agg_cost *estimate)
{
	ListCell *cell;

	estimate->total *= Max(partners_of_row(level), 1);
	foreach (cell, level->dimensions) {
		const struct ifp_joined *joined = lfirst(cell);
		const Path *path = joined->rel->cheapest_total_path;
		double n_looks = n_series * (joined->equalities == NIL ? Max(path->rows, 1) : 1);

		estimate->total +=
			path->total_cost + (path->rows * A_JOINED_ROW + n_looks * A_LOOK_FOR_PARTNERS) * cpu_operator_cost;
		estimate->n_joined_bytes += path->rows * (path->pathtarget->width + JOINED_ROW_BYTES);
	}
}

void ifp_agg_cost_estimate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			   const struct ifp_index_query *query, struct ifp_agg_cost *estimate)
{
	Relation index = index_open(lsecond_oid(linitial(query->tables)), NoLock);
	struct ifp_definition definition;
	struct terms terms = { .definition = &definition };
	double tuples = 0, n_groups = 1, n_buckets;
	int n_more_sets = Max(list_length(query->sets) - 1, 0);
	List *passes = ifp_value_passes(query);
	Cost opening = cost_of_opening(level);
	ListCell *cell, *rel_cell, *index_cell, *table_cell;

	ifp_definition_read(index, &definition);
	foreach (rel_cell, candidate->rels)
		tuples += Max(((RelOptInfo *)lfirst(rel_cell))->tuples, 1);
	terms.window = selectivity(level, candidate, true);
	terms.others = selectivity(level, candidate, false);
	terms.chosen = query->splits			  ? share_of_series(level, candidate, query)
		       : query->values || query->by_steps ? 1
							  : terms.others;
	terms.chosen *= Min(partners_of_row(level), 1);
	terms.tuples = tuples;
	terms.known = query->n_by == 0 ? 1 : n_series(level, candidate, query, tuples);
	terms.series = Max(terms.known * (query->n_by == 0 ? 1 : terms.chosen), 1);
	terms.is_joined = level->join;
	ifp_piece_counts_estimate(level, candidate, query, index, terms.window, tuples, &terms.pieces);
	index_close(index, NoLock);
	terms.sketches[IFOREST_DIGEST_QUANTILES] = ifp_aggregates_need(query, IFP_MEASURE_SKETCH);
	terms.sketches[IFOREST_DIGEST_DISTINCT] = ifp_aggregates_need(query, IFP_MEASURE_DISTINCT);
	terms.numbers = ifp_aggregates_need(query, IFP_MEASURE_NUMBERS);
	terms.bucket_end = cost_of_bucket_end(level, query);
	terms.classes = query->splits ? n_classes(level, candidate, query, NULL) : 0;
	if (query->sets != NIL)
		n_groups = n_groups_of_sets(level, candidate, query, &terms);
	else if (query->groups != NIL)
		n_groups = n_groups_of(level, candidate, query, &terms, (Node *)query->groups);
	estimate->n_rows = clamp_row_est(n_groups);
	estimate->n_returned = clamp_row_est(ifp_top_groups_estimate(query, n_groups));
	terms.left_out = 1 - estimate->n_returned / estimate->n_rows;
	estimate->total = 0;
	forthree(rel_cell, candidate->rels, index_cell, candidate->indexes, table_cell, query->tables)
	{
		Oid table = linitial_oid(lfirst(table_cell));

		ListCell *pass;

		foreach (pass, passes)
			estimate->total += opening + cost_of_index(table, lfirst(rel_cell), lfirst(index_cell), &terms,
								   share_of_pass(level, candidate, query, lfirst(pass)));
		if (passes == NIL)
			estimate->total += opening + cost_of_index(table, lfirst(rel_cell), lfirst(index_cell), &terms,
								   share_of_values(query));
	}
	estimate->n_joined_bytes = 0;
	if (level->join)
		add_dimensions(level, terms.known, estimate);
	n_buckets = Min(terms.series * terms.pieces.buckets, tuples * terms.window + 1) * Max(list_length(query->pieces), 1);
	estimate->total += n_more_sets * n_buckets * A_SET * cpu_operator_cost;
	estimate->n_groups_bytes = n_groups * (100.0 + 120.0 * list_length(query->aggregates) +
					       2000.0 * pg_popcount32(terms.sketches[IFOREST_DIGEST_QUANTILES]) +
					       3000.0 * pg_popcount32(terms.sketches[IFOREST_DIGEST_DISTINCT]));
	estimate->n_numbers_bytes =
		pg_popcount32(terms.numbers) * tuples * terms.window * terms.others * A_NUMBER_BYTES * (n_more_sets + 1);
	foreach (cell, query->aggregates)
		if (ifp_aggregate_is_distinct(lfirst(cell), query))
			estimate->n_groups_bytes += bytes_of_distinct(level, candidate, query, lfirst(cell), &terms, n_groups);
	estimate->startup = estimate->total;
	estimate->total += estimate->n_returned * cpu_tuple_cost;
	estimate->is_slower = is_slower(level, candidate, query, &terms, estimate);
}

pg_attribute_hot Cost ifp_agg_cost_least(const struct ifp_query_level *level)
{
	return cost_of_opening(level) + (FEWEST_PAGES * A_PAGE + A_BUCKET) * cpu_operator_cost +
	       FEWEST_PAGES * Min(seq_page_cost / 4, random_page_cost);
}
