/* query/overlap.h -- Overlap of spans with buckets: number, time inside, longest; the set of open spans.
 *
 * A set of open spans advances through adjacent intervals of time; iforest_overlap fills it from a scan, bucket by bucket:
 *
 *   iforest_open_spans_add(&open, &span) ...                  those that start before 100
 *   iforest_open_spans_pass(&open, 100, 110, &stretch)        what is open at 100, in [100, 110)
 *   iforest_open_spans_add(&open, &span) ...                  those that start in [100, 110) and end after 110
 *   iforest_open_spans_pass(&open, 110, 120, &stretch) ...
 *
 * Spans are in two heaps: one by end, from which they are removed as they end, and one by duration, from which ended spans are
 * removed when they come first or make up more than half of it.
 */
#ifndef IFOREST_QUERY_OVERLAP_H
#define IFOREST_QUERY_OVERLAP_H

#include "core/base/priority_queue.h"
#include "core/model/aggregate.h"
#include "core/query/longest.h"
#include "core/query/scan.h"

/* A span. It ends at time + duration, computed in 128 bits with `duration` taken as unsigned. If times are reals, both are
 * mapped (model/real_time.h), and the longest span is chosen by real_duration. */
struct iforest_open_span {
	int64_t time, duration, ref;
	double real_duration;
};

/* A span, or a free slot: `next` is then the next free one. */
struct iforest_open_slot {
	struct iforest_open_span span;
	bool has_ended;
	uint32_t next;
};

struct iforest_open_spans {
	const struct iforest_alloc *alloc;
	bool wants_longest;
	bool has_real_times;		 /* model/real_time.h. Set by the caller, while the set is empty */
	struct iforest_open_slot *slots; /* the heaps have numbers of slots */
	uint32_t n_slots;
	size_t n_reserved;
	uint32_t free;				   /* first free slot, UINT32_MAX: none */
	struct iforest_priority_queue by_end;	   /* the earliest end first; n is the number of open spans */
	struct iforest_priority_queue by_duration; /* the longest first; may have ended ones */
};

/* The open spans in a stretch of time. */
struct iforest_stretch {
	uint64_t n;
	iforest_int128 inside; /* time units inside the stretch, summed over the n spans */
	double real_inside;    /* the same for real times, summed in order of ends; inside is 0 */
	/* its value is the duration. Ties go to the earliest, then to the lowest ref. Not set unless requested */
	struct iforest_extreme longest;
};

/* Starts an empty set. Without wants_longest, the longest is not tracked. alloc must outlive the set, which must not be
 * moved. */
void iforest_open_spans_init(struct iforest_open_spans *open, const struct iforest_alloc *alloc, bool wants_longest);
void iforest_open_spans_release(struct iforest_open_spans *open);

/* Empties the set, but keeps its memory. */
void iforest_open_spans_clear(struct iforest_open_spans *open, bool wants_longest);

/* Adds a span.
 * Requires  it starts before the next stretch passed and ends after that stretch's start; its duration is greater than 0.
 * Cost      log2(open spans).
 * Errors    IFOREST_NO_MEMORY. */
enum iforest_status iforest_open_spans_add(struct iforest_open_spans *open, const struct iforest_open_span *span);

/* Computes the stretch [from, to), and removes the spans that end by `to`. IFOREST_NEVER is a `to` that no span reaches.
 * Requires  from <= to; from is the `to` passed last if spans are open.
 * Cost      log2(open spans) for each span that ends. */
void iforest_open_spans_pass(struct iforest_open_spans *open, iforest_int128 from, iforest_int128 to,
			     struct iforest_stretch *stretch);

#define IFOREST_NEVER ((iforest_int128)1 << 66)

/* ---- Bucket by bucket ---- */

/* A filter that collects the spans of folded entries, of the scan's own runs or of joined ones. */
struct iforest_overlap_filter {
	struct iforest_filter filter;
	struct iforest_overlap *overlap;
	const struct iforest_filter *inner; /* the caller's filter; NULL: all live entries count */
};

struct iforest_overlap {
	struct iforest_scan *scan;
	unsigned duration; /* value column */
	bool has_ends;	   /* it holds ends (IFOREST_END_COLUMN): without real_duration, spans can only be counted */

	/* set by the caller, before a start */
	/* with has_ends, if times are reals (model/real_time.h): the value column of the durations, which are reals, too */
	unsigned real_duration;		     /* IFOREST_NO_VALUE (the default): none */
	struct iforest_bucketing bucketing;  /* checked with iforest_bucketing_check() */
	const struct iforest_filter *filter; /* for the scan's own runs; NULL: all live entries count */
	/* compute the time inside, or the longest span; either also gives the number of spans. Not with ends alone */
	bool wants_inside, wants_longest;
	bool longest_alone; /* with wants_longest: the number of spans is only 0 or more. Not with wants_inside */

	struct iforest_overlap_filter own, joined;
	struct iforest_open_spans open;
	struct iforest_longest longest;
	bool is_longest; /* `longest` answers this series */
	bool is_done;
	bool has_next; /* entries from next_start on are not passed yet */
	int64_t next_start;
	bool has_bucket; /* last_bucket was computed */
	int64_t last_bucket;

	/* what the filter collects */
	bool is_searching; /* only spans that are open at the window's start */
	bool has_bound;	   /* collect spans that end after `bound` */
	int64_t bound;
	iforest_int128 beyond; /* time of the collected spans after the bound */
	double before;	       /* with real times: the time before it */
	/* n and max of the spans that are not folded: those of negative duration, and with real times the collected ones, whose
	 * time would otherwise be added, subtracted again and rounded twice */
	struct iforest_value_aggregate apart;
};

/* Prepares an overlap over a scan's runs. Neither may be moved, and the scan must outlive the overlap, which sets the scan's
 * bucketing and filters at each start.
 * Errors  IFOREST_ARGUMENT: the index keeps neither durations nor ends (node.h), or durations in another unit. */
enum iforest_status iforest_overlap_init(struct iforest_overlap *overlap, struct iforest_scan *scan);
void iforest_overlap_release(struct iforest_overlap *overlap);

/* Starts a series, and finds the spans that are open at the window's start.
 * Errors  as iforest_cursor_seek(), IFOREST_NO_MEMORY. */
enum iforest_status iforest_overlap_start(struct iforest_overlap *overlap, uint64_t series);

/* Starts a series after a bucket, as if iforest_overlap_next() had just returned that bucket. */
enum iforest_status iforest_overlap_start_after(struct iforest_overlap *overlap, uint64_t series, int64_t bucket);

/* Unpins all pages, the scan's too. Start a series before the next use. */
void iforest_overlap_unpin(struct iforest_overlap *overlap);

/* Gives the next bucket that a span overlaps, in ascending order; *found is false after the last. The aggregate has
 *
 *   n_rows                   spans that overlap the bucket; with longest_alone only 0 or greater than 0
 *   values[duration].n       the same number, if time inside or longest is requested
 *   values[duration].sum     time of these spans inside the bucket, if requested
 *   values[duration].max     the longest span, if requested: its duration, time and ref; ties go to the earliest, then to the
 *                            lowest ref. Not set if all durations are NULL
 *
 * and is empty otherwise, so that the aggregates of several series can be combined. With real_duration, the aggregate is that
 * column's, and real_sum has the time: a sum of positive reals, each a whole duration or the difference of an end or bound and
 * a start or bound, and each rounded once.
 * Errors  as iforest_overlap_start(), and IFOREST_RANGE if the number of a step bucket that a span overlaps exceeds int64.
 */
enum iforest_status iforest_overlap_next(struct iforest_overlap *overlap, int64_t *bucket, struct iforest_aggregate *aggregate,
					 bool *found);

#endif
