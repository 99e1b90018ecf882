/* query/overlap.h -- Overlap of spans with buckets: number, time inside, longest; the set of open spans.
 *
 *   iforest_open_spans_add(&open, &span) ...                  those that start before 100
 *   iforest_open_spans_pass(&open, 100, 110, &stretch)        what is open at 100, in [100, 110)
 *   iforest_open_spans_add(&open, &span) ...                  those that start in [100, 110) and end after 110
 *   iforest_open_spans_pass(&open, 110, 120, &stretch) ...
 *
 * Two heaps of the same spans: by end, from which they are taken as they end, and by duration, which is cleared of those that
 * have ended when they come to its top, or when they are more than half of it.
 */
#ifndef IFOREST_QUERY_OVERLAP_H
#define IFOREST_QUERY_OVERLAP_H

#include "core/base/priority_queue.h"
#include "core/model/aggregate.h"
#include "core/query/longest.h"
#include "core/query/scan.h"

/* Ends at time + duration, in 128 bits. */
struct iforest_open_span {
	int64_t time, duration, ref;
};

/* A span, or room for one: then `next` is the number of the next such slot. */
struct iforest_open_slot {
	struct iforest_open_span span;
	bool has_ended;
	uint32_t next;
};

struct iforest_open_spans {
	const struct iforest_alloc *alloc;
	bool wants_longest;
	struct iforest_open_slot *slots; /* what the heaps have numbers of */
	uint32_t n_slots, n_reserved;
	uint32_t free;				   /* first slot to use again, UINT32_MAX: none */
	struct iforest_priority_queue by_end;	   /* the earliest end first; its n are the spans that are open */
	struct iforest_priority_queue by_duration; /* the longest first, also some that have ended */
};

/* What the open spans are to a stretch of time. */
struct iforest_stretch {
	uint64_t n;
	iforest_int128 inside; /* time units, added up over the n spans */
	/* value: its duration. Of several the earliest, then the lowest ref. Not set where not wanted */
	struct iforest_extreme longest;
};

/* None is open. Without wants_longest, the longest is not kept track of. alloc must outlive it; it must stay in place. */
void iforest_open_spans_init(struct iforest_open_spans *open, const struct iforest_alloc *alloc, bool wants_longest);
void iforest_open_spans_release(struct iforest_open_spans *open);

/* As after init, with the memory that it has. */
void iforest_open_spans_clear(struct iforest_open_spans *open, bool wants_longest);

/* Requires  the span starts before the next stretch passed and ends after its start; its duration is greater than 0.
 * Errors    IFOREST_NO_MEMORY.
 * Cost      log2 of the spans that are open. */
enum iforest_status iforest_open_spans_add(struct iforest_open_spans *open, const struct iforest_open_span *span);

/* The stretch [from, to); what has ended by `to` is open no more. An end of time that no span reaches is IFOREST_NEVER.
 * Requires  from <= to, and from is the `to` passed last, where spans are open.
 * Cost      log2 of the open spans for each that ends. */
void iforest_open_spans_pass(struct iforest_open_spans *open, iforest_int128 from, iforest_int128 to,
			     struct iforest_stretch *stretch);

#define IFOREST_NEVER ((iforest_int128)1 << 66)

/* ---- Bucket by bucket ---- */

/* The filter that collects spans while entries are folded, of the scan's own runs or of those that joined. */
struct iforest_overlap_filter {
	struct iforest_filter filter;
	struct iforest_overlap *overlap;
	const struct iforest_filter *inner; /* which entries count at all; NULL: all */
};

struct iforest_overlap {
	struct iforest_scan *scan;
	unsigned duration; /* value column */

	/* set by the caller, before a start */
	struct iforest_bucketing bucketing;  /* checked with iforest_bucketing_check() */
	const struct iforest_filter *filter; /* of the entries in the scan's own runs; NULL: all live ones count */
	bool wants_inside, wants_longest;    /* the time inside, the longest span; their number comes with any */
	bool longest_alone;		     /* wants_longest, and of their number whether it is 0. Not with wants_inside */

	struct iforest_overlap_filter own, joined;
	struct iforest_open_spans open;
	struct iforest_longest longest;
	bool is_longest; /* the series is answered by it */
	bool is_done;
	bool has_next; /* entries from next_start on have not been passed */
	int64_t next_start;
	bool has_bucket; /* last_bucket was looked at */
	int64_t last_bucket;

	/* what the filter looks for */
	bool is_searching; /* spans open at the window's start, nothing else */
	bool has_bound;	   /* collect spans that end after */
	int64_t bound;
	iforest_int128 beyond;			 /* of those collected, what lies after the bound */
	struct iforest_value_aggregate negative; /* n and max of the spans with a negative duration */
};

/* The scan must outlive the overlap and stay in place, as must the overlap; its bucketing and filters are the overlap's from
 * the next start on.
 * Errors  IFOREST_ARGUMENT: the index keeps no durations (node.h), or ends in their place. */
enum iforest_status iforest_overlap_init(struct iforest_overlap *overlap, struct iforest_scan *scan);
void iforest_overlap_release(struct iforest_overlap *overlap);

/* Turns to a series, and finds the spans that are open at the window's start.
 * Errors  as iforest_cursor_seek(), IFOREST_NO_MEMORY. */
enum iforest_status iforest_overlap_start(struct iforest_overlap *overlap, uint64_t series);

/* The same, from the end of a bucket on, as if iforest_overlap_next() had just given that one. */
enum iforest_status iforest_overlap_start_after(struct iforest_overlap *overlap, uint64_t series, int64_t bucket);

/* Holds no pages any more, nor does its scan; a series has to be started before it is used again. */
void iforest_overlap_unpin(struct iforest_overlap *overlap);

/* The next bucket, in ascending order, that a span overlaps; *found is false after the last. In the aggregate
 *
 *   n_rows                     spans that overlap the bucket; some, where the longest alone is wanted
 *   values[duration].n         the same, where either is wanted
 *   values[duration].sum       what of them lies inside, where that is wanted
 *   values[duration].max       the longest, where that is wanted: its duration, time and ref; of several the earliest, then the
 *                              lowest ref. Not set where all durations are NULL
 *
 * and the rest is empty, so that those of several series can be combined.
 * Errors  as iforest_overlap_start(), and IFOREST_RANGE where the number of a step bucket that a span overlaps exceeds
 *         int64. */
enum iforest_status iforest_overlap_next(struct iforest_overlap *overlap, int64_t *bucket, struct iforest_aggregate *aggregate,
					 bool *found);

#endif
