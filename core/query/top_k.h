/* query/top_k.h -- First k entries by value or by time, over any number of series, by best-first search.
 *
 * A best-first descent over nodes (branch and bound: A. H. Land and A. G. Doig, "An automatic method of solving discrete
 * programming problems", 1960). A heap has entries, and nodes of all runs, each with the best row that it can contain. The
 * first item is removed repeatedly: an entry is returned, a node is replaced by its children. Nodes store their extremes with
 * time and ref, so that ties are decided before any page is opened. As in scan.h, the nodes of runs marked removal_in_progress
 * may be stale, and the caller must handle that.
 */
#ifndef IFOREST_QUERY_TOP_K_H
#define IFOREST_QUERY_TOP_K_H

#include "core/base/priority_queue.h"
#include "core/page/leaf_fold.h"
#include "core/page/value_predicate.h"
#include "core/run/cursor.h"

enum iforest_top_k_order {
	/* by value, then by (time, ref), rows with a time first; so the minimum of aggregate.h comes first */
	IFOREST_SMALLEST_FIRST,
	IFOREST_LARGEST_FIRST,	/* by value descending, then by (time, ref) ascending */
	IFOREST_EARLIEST_FIRST, /* by (time, ref), rows with a time first */
	IFOREST_LATEST_FIRST	/* by (time, ref) descending */
};

struct iforest_top_k_question {
	enum iforest_top_k_order order;
	unsigned value;		/* column of an order by value; entries without it are not returned */
	const uint32_t *series; /* ascending; NULL: all series */
	uint32_t n_series;
	/* keys in [from, to) of each series, given as keys of series 0; `to` may be the start of series 1 */
	struct iforest_key from, to;
	struct iforest_value_predicate match;
	const struct iforest_filter *filter; /* NULL: all live entries count */
	uint32_t values;		     /* bit v: return value v of the index where present */
	/* If set, only entries after this row are returned: to continue after an entry, set its value, time and ref. In an
	 * order by value, nodes with nothing after it are not opened again; in an order by time, narrow `from` and `to` as well
	 * to get that. */
	struct iforest_extreme after;
};

/* An item of the heap: a node, or an entry. */
struct iforest_top_k_item {
	struct iforest_extreme row; /* the entry, or a bound: no entry of the node comes before it */
	uint64_t number;	    /* of the node on its level, or of the entry's leaf page */
	uint32_t run;
	uint16_t block;
	uint8_t entry;
	uint8_t level;	 /* of the node; 0: an entry */
	uint8_t n_taken; /* not 0: the last of this many entries that were taken from the block at once */
};

struct iforest_top_k {
	struct iforest_store *store;
	struct iforest_cursor *cursors; /* one per run; the n_own of the own store come first */
	uint32_t n_cursors, n_own;
	struct iforest_top_k_question question;
	enum iforest_value_type type; /* of the value */
	struct iforest_top_k_item *items;
	uint32_t n_items, n_reserved; /* n_items have been used */
	uint32_t *unused;	      /* numbers of the n_unused free items; room for n_reserved */
	uint32_t n_unused;
	struct iforest_priority_queue heap;
};

/* Prepares a search of the manifest's runs. store and manifest must outlive it, and the manifest must not change.
 * Errors  IFOREST_NO_MEMORY; it then needs no release. */
enum iforest_status iforest_top_k_init(struct iforest_top_k *top_k, struct iforest_store *store,
				       const struct iforest_manifest *manifest);
void iforest_top_k_release(struct iforest_top_k *top_k);

/* Joins the runs of another store, as iforest_scan_join() does; the filter does not apply to them. Call it before the first
 * start.
 * Errors  IFOREST_NO_MEMORY; it is then as it was. */
enum iforest_status iforest_top_k_join(struct iforest_top_k *top_k, struct iforest_store *store,
				       const struct iforest_manifest *manifest);

/* Starts a question, which is copied, but not its series and its filter. Opens no page. The search must not be moved
 * afterwards.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_top_k_start(struct iforest_top_k *top_k, const struct iforest_top_k_question *question);

/* Gives the next entry; *found is false after the last.
 * Cost    k entries by value: O(k log N) pages if the question admits all entries under a node, plus the pages at its edges,
 *         two per level, run and series. By time: the times of a node of several series are unknown, which costs at most one
 *         path per series and run. A predicate or filter that excludes the best rows of many nodes costs a path for each.
 *         Entries are taken from a block one, two, four and finally eight at a time, so that reading all N entries opens about
 *         N / 6 pages. Memory: at most eight items of 64 bytes per open block.
 * Errors  as iforest_cursor_seek(), IFOREST_NO_MEMORY, those of the filter; it must then be started again. */
enum iforest_status iforest_top_k_next(struct iforest_top_k *top_k, struct iforest_entry *entry, bool *found);

/* Returns the number of pages opened since init, over all runs. */
uint64_t iforest_top_k_pages(const struct iforest_top_k *top_k);

#endif
