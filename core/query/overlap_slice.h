/* overlap.h -- the spans of one series that overlap a window, or each of its buckets: how many, how much of them lies inside,
 * and the longest.
 *
 *   a span that starts at `ts` and has the duration `dur` overlaps [a, b) if ts < b and (ts + dur > a, or dur is NULL, 0 or
 *   negative and ts >= a): spans without a length are points. Its part inside is what [ts, ts + dur) and [a, b) share, 0 for a
 *   point.
 *
 * ts + dur is not cut at INT64_MAX. A window whose end is open has no end, nor has a step bucket that ends beyond INT64_MAX:
 * all that lies after its start is inside. The window cuts the first and the last step bucket. So the parts of adjacent buckets
 * add up to that of the window. A bucket that is an empty interval [a, a) is overlapped by what the formula says: spans that
 * start before a and end after it. A span whose time is NULL overlaps nothing.
 *
 *   iforest_scan_init(&scan, ...); iforest_scan_join(&scan, ...);
 *   iforest_overlap_init(&overlap, &scan);
 *   overlap.bucketing = ...; overlap.filter = ...; overlap.wants_inside = ...; overlap.wants_longest = ...;
 *   for (each series) {
 *           iforest_overlap_start(&overlap, series);
 *           while (!iforest_overlap_next(&overlap, &bucket, &aggregate, &found) && found) ...
 *   }
 *   iforest_overlap_release(&overlap); iforest_scan_release(&scan);
 *
 * How: the k spans that are open at the window's start are found by a fold that descends only into nodes whose latest end lies
 * after it, O(log N + k log(N / k)). Then each bucket is a fold as any other, but that it descends into nodes in which a span
 * outlives the bucket (or has a negative duration, which a sum must not have in it, where the time inside is asked for). Those
 * spans are carried along as open ones (open_spans.h); all others are counted and added up by nodes. So a span that covers
 * everything is looked for once, and a bucket into which open spans reach and in which none starts reads no page.
 * Where the longest spans alone are wanted of dense buckets, they are found from above (overlap_longest.h).
 */
#ifndef IFOREST_OVERLAP_H
#define IFOREST_OVERLAP_H

#include "core/query/overlap.h"
#include "core/query/longest.h"
#include "core/query/scan.h"

/* The filter that collects spans while entries are folded, of the scan's own runs or of those that joined. */
struct iforest_overlap_filter {
	struct iforest_filter filter;
	struct iforest_overlap *overlap;
	const struct iforest_filter *inner;  /* which entries count at all; NULL: all */
};

struct iforest_overlap {
	struct iforest_scan *scan;
	unsigned duration;                   /* value column */

	/* set by the caller, before a start */
	struct iforest_bucketing bucketing;  /* checked with iforest_bucketing_check() */
	const struct iforest_filter *filter; /* of the entries in the scan's own runs; NULL: all live ones count */
	bool wants_inside, wants_longest;    /* the time inside, the longest span; their number comes with any */
	bool longest_alone;                  /* wants_longest, and of their number whether it is 0. Not with wants_inside */

	struct iforest_overlap_filter own, joined;
	struct iforest_open_spans open;
	struct iforest_longest longest;
	bool is_longest;                     /* the series is answered by it */
	bool is_done;
	bool has_next;                       /* entries from next_start on have not been passed */
	int64_t next_start;
	bool has_bucket;                     /* last_bucket was looked at */
	int64_t last_bucket;

	/* what the filter looks for */
	bool is_searching;                   /* spans open at the window's start, nothing else */
	bool has_bound;                      /* collect spans that end after */
	int64_t bound;
	iforest_int128 beyond;               /* of those collected, what lies after the bound */
	struct iforest_value_aggregate negative; /* n and max of the spans with a negative duration */
};

/* The scan must outlive the overlap and stay in place, as must the overlap; its bucketing and filters are the overlap's from
 * the next start on.
 * Errors  IFOREST_ARGUMENT: the index keeps no durations (fields.h), or ends in their place. */
enum iforest_status iforest_overlap_init(struct iforest_overlap *overlap, struct iforest_scan *scan);
void iforest_overlap_release(struct iforest_overlap *overlap);

/* Turns to a series, and finds the spans that are open at the window's start.
 * Errors  as iforest_cursor_seek(), IFOREST_NO_MEMORY. */
enum iforest_status iforest_overlap_start(struct iforest_overlap *overlap, uint64_t series);

/* The same, from the end of a bucket on, as if iforest_overlap_next() had just given that one. */
enum iforest_status iforest_overlap_start_after(struct iforest_overlap *overlap, uint64_t series, int64_t bucket);

/* Holds no pages any more, nor does its scan; a series has to be started before it is used again. */
void iforest_overlap_let_go(struct iforest_overlap *overlap);

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
