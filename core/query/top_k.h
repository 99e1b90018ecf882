/* query/top_k.h -- First k entries by value or by time, over any number of series, by best-first search.
 *
 * A best-first descent over nodes (branch and bound: A. H. Land and A. G. Doig, "An automatic method of solving discrete
 * programming problems", 1960). A heap holds nodes of all runs, each with the best row that can stand under it, and entries.
 * What comes first is taken out: an entry is given, a node makes way for what is below it. The extremes of nodes carry their
 * row, so that ties are decided before any page is opened. Of runs whose removal_in_progress is set what scan.h says holds
 * here.
 */
#ifndef IFOREST_QUERY_TOP_K_H
#define IFOREST_QUERY_TOP_K_H

#include "core/base/priority_queue.h"
#include "core/page/leaf_fold.h"
#include "core/page/value_predicate.h"
#include "core/run/cursor.h"

enum iforest_top_k_order {
	/* by value, then by (time, ref) with a time before without: aggregate.h's minimum comes first */
	IFOREST_SMALLEST_FIRST,
	IFOREST_LARGEST_FIRST,	/* the same, the largest value first, then by (time, ref) ascending */
	IFOREST_EARLIEST_FIRST, /* by (time, ref), with a time before without */
	IFOREST_LATEST_FIRST	/* the reverse */
};

struct iforest_top_k_question {
	enum iforest_top_k_order order;
	unsigned value;		/* by which value; entries without it are not given. Not for orders by time */
	const uint32_t *series; /* those asked for, ascending; NULL: all */
	uint32_t n_series;
	/* of series 0 the keys asked for, [from, to); `to` may be the start of series 1. Likewise of others */
	struct iforest_key from, to;
	struct iforest_value_predicate match;
	const struct iforest_filter *filter; /* NULL: all live entries count */
	uint32_t values;		     /* bit v, of those the index has: value v is to be given where it is there */
	/* If set: only what comes after this row. To go on after an entry: its value, time and ref. By value, nodes that have
	 * nothing after it are not opened again; by time that is to be had by narrowing from and to as well. */
	struct iforest_extreme after;
};

/* A node, or an entry. */
struct iforest_top_k_item {
	struct iforest_extreme row; /* no entry of it comes before that */
	uint64_t number;	    /* of the node in its level, of the entry's leaf page */
	uint32_t run;
	uint16_t block;
	uint8_t entry;
	uint8_t level;	 /* of the node; 0: an entry */
	uint8_t n_taken; /* not 0: the last of so many entries that were taken from the block at once */
};

struct iforest_top_k {
	struct iforest_store *store;
	struct iforest_cursor *cursors; /* one a run, those of the store itself first */
	uint32_t n_cursors, n_own;
	struct iforest_top_k_question question;
	enum iforest_value_type kind; /* of the value */
	struct iforest_top_k_item *items;
	uint32_t n_items, n_reserved; /* used once or still */
	uint32_t *unused;	      /* numbers of those that can be used again, n_unused; room for n_reserved */
	uint32_t n_unused;
	struct iforest_priority_queue heap;
};

/* store and manifest must outlive it, and the manifest must stay as it is.
 * Errors  IFOREST_NO_MEMORY; then it holds nothing. */
enum iforest_status iforest_top_k_init(struct iforest_top_k *best, struct iforest_store *store,
				       const struct iforest_manifest *manifest);
void iforest_top_k_release(struct iforest_top_k *best);

/* Adds the runs of another store, as iforest_scan_join() does: the filter is not asked about them. Before the first start.
 * Errors  IFOREST_NO_MEMORY; then it is as it was. */
enum iforest_status iforest_top_k_join(struct iforest_top_k *best, struct iforest_store *store,
				       const struct iforest_manifest *manifest);

/* Turns to a question, which is copied; its series and its filter must stay. Opens no page. Must stay in place from here on.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_top_k_start(struct iforest_top_k *best, const struct iforest_top_k_question *question);

/* The next entry; *found is false after the last.
 * Cost    k entries of any series and window: O(k log N) pages by value, where every entry under a node may be asked for; and
 *         the pages at the edges of what is asked for, two a level, run and series. By time a node that holds several series
 *         tells nothing of its times: that is a path a series and run at most. Conditions, and a filter, that turn down the
 *         best rows of many nodes cost a path for each of these. Entries are taken from a block one, two, four and at last
 *         eight at a time, so that all of N entries open some N / 6 pages. An item of 64 bytes for each block that is open,
 *         eight at most.
 * Errors  as iforest_cursor_seek(), IFOREST_NO_MEMORY, those of the filter; then it is to be started again. */
enum iforest_status iforest_top_k_next(struct iforest_top_k *best, struct iforest_entry *entry, bool *found);

/* Pages opened since init, over all runs. */
uint64_t iforest_top_k_pages(const struct iforest_top_k *best);

#endif
