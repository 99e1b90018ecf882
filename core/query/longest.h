/* query/longest.h -- Longest span that overlaps each bucket, found from the nodes' maxima alone.
 *
 * As nodes say how long the longest span under them is, when it starts, and when the last one ends, most buckets are
 * answered by nodes: a node all of whose spans start before the bucket's end is asked for its longest one, and what is below
 * it is looked at only if that one is longer than the best known and has ended before the bucket. What may reach into the
 * next bucket is carried along in a heap, the longest first: a node, or a block of a leaf page by its maximum, as long as it
 * will do, opened when its longest span has ended and it still comes first. So what is open is never
 * looked for twice, and spans that a longer one outlives are not looked at.
 */
#ifndef IFOREST_QUERY_LONGEST_H
#define IFOREST_QUERY_LONGEST_H

#include "core/base/priority_queue.h"
#include "core/query/scan.h"

/* What was passed and may be open. */
enum iforest_longest_kind { IFOREST_LONGEST_SPAN, IFOREST_LONGEST_BLOCK, IFOREST_LONGEST_NODE };

struct iforest_longest_item {
	enum iforest_longest_kind kind;
	struct iforest_extreme longest; /* the span, or the longest under it */
	int64_t latest_end;		/* of no span; INT64_MAX stands for any later one */
	uint64_t number;		/* of a node of its level, or of a block's leaf page */
	uint32_t run, next;		/* next: of the items that are free */
	unsigned level, block;
	bool is_ours; /* the longest is known to be a span of this series, with a time */
};

struct iforest_longest {
	struct iforest_scan *scan;
	struct iforest_cursor *behind; /* one a run, for nodes that were passed; the scan's cursors are those that go on */
	uint64_t *passed;	       /* one a run: leaf pages before that have been looked at as wholes */
	uint32_t n_runs;
	struct iforest_longest_item *items;
	uint32_t n_items, n_reserved, free;
	uint32_t n_to_clear; /* items in the heap from which on it is cleared of what has ended */
	struct iforest_priority_queue heap;
	struct iforest_bucketing bucketing;
	uint64_t series;
	int64_t bucket, n_buckets, start; /* the next one, and its start */
};

/* The scan must outlive it; both must stay in place. Needs nothing until the first start. */
void iforest_longest_init(struct iforest_longest *longest, struct iforest_scan *scan);
void iforest_longest_release(struct iforest_longest *longest);

/* Holds no pages any more; a series has to be started before it is used again. The scan's are the caller's to let go. */
void iforest_longest_unpin(struct iforest_longest *longest);

/* Turns to a series, from a bucket on, 0 for all. *takes is false where this is not the way to answer: the buckets are not a
 * number of them over a window, some are empty intervals, or so many come to a leaf page that they are sooner read entry by
 * entry.
 * Requires  all live entries count.
 * Cost      two pages a level and run.
 * Errors    as iforest_cursor_seek(), IFOREST_NO_MEMORY; so below. */
enum iforest_status iforest_longest_start(struct iforest_longest *longest, const struct iforest_bucketing *bucketing,
					  uint64_t series, int64_t bucket, bool *takes);

/* The next bucket that a span overlaps, in ascending order, and the longest: not set where no duration is known. *found:
 * false after the last. */
enum iforest_status iforest_longest_next(struct iforest_longest *longest, int64_t *bucket, struct iforest_extreme *row,
					 bool *found);

#endif
