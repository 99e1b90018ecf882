/* query/longest.h -- Longest span that overlaps each bucket, by best-first search over the maxima of nodes and blocks.
 *
 * A node stores its longest span, with its start, and the latest end of all spans under it. Most buckets are answered from
 * nodes: if all spans of a node start before the bucket's end, its longest span is a candidate, and the page below is opened
 * only if that span is longer than the best so far but ended before the bucket.
 *
 * A heap, longest first, has all items that may reach into the next bucket: spans, blocks of leaf pages by their maxima, and
 * nodes. A node or block is opened only when it comes first and its longest span has ended. So no open span is searched for
 * twice, and a span that is outlived by a longer one is never read.
 */
#ifndef IFOREST_QUERY_LONGEST_H
#define IFOREST_QUERY_LONGEST_H

#include "core/base/priority_queue.h"
#include "core/query/scan.h"

/* Kinds of items in the heap, all of them passed and possibly still open. */
enum iforest_longest_kind { IFOREST_LONGEST_SPAN, IFOREST_LONGEST_BLOCK, IFOREST_LONGEST_NODE };

struct iforest_longest_item {
	enum iforest_longest_kind kind;
	struct iforest_extreme longest; /* the span, or the longest one in the block or node */
	int64_t latest_end;		/* none of its spans ends later; INT64_MAX also if unknown */
	uint64_t number;		/* of the node on its level, or of the block's leaf page */
	uint32_t run, next;		/* next: in the list of free items */
	unsigned level, block;
	bool is_ours; /* the longest is known to be of this series and have a time */
};

struct iforest_longest {
	struct iforest_scan *scan;
	/* one per run, for nodes that were passed; the scan's cursors are ahead of them: all leaf pages before those were taken
	 * whole */
	struct iforest_cursor *behind;
	uint32_t n_runs;
	struct iforest_longest_item *items;
	uint32_t n_items, free;
	size_t n_reserved;
	uint32_t n_to_clear; /* ended items are removed when the heap has this many */
	struct iforest_priority_queue heap;
	struct iforest_bucketing bucketing;
	uint64_t series;
	int64_t bucket, n_buckets, start; /* the next bucket, and its start */
};

/* Prepares a search over the scan's runs; allocates nothing before the first start. The scan must outlive it; neither may be
 * moved. */
void iforest_longest_init(struct iforest_longest *longest, struct iforest_scan *scan);
void iforest_longest_release(struct iforest_longest *longest);

/* Unpins its pages, but not the scan's. Start a series before the next use. */
void iforest_longest_unpin(struct iforest_longest *longest);

/* Starts a series, from a bucket on; 0 for all. *takes becomes false if the entries should be scanned instead: the buckets are
 * not IFOREST_COUNT of a window, some are empty intervals, or there are so many per leaf page that reading entries is faster.
 * Requires  all live entries count (no filter).
 * Cost      two pages per level and run.
 * Errors    as iforest_cursor_seek(), IFOREST_NO_MEMORY. */
enum iforest_status iforest_longest_start(struct iforest_longest *longest, const struct iforest_bucketing *bucketing,
					  uint64_t series, int64_t bucket, bool *takes);

/* Gives the next bucket that a span overlaps, in ascending order, and its longest span; row is not set if no duration is known.
 * *found is false after the last.
 * Errors  as iforest_longest_start(). */
enum iforest_status iforest_longest_next(struct iforest_longest *longest, int64_t *bucket, struct iforest_extreme *row,
					 bool *found);

#endif
