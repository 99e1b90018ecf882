/* open_spans.h -- the spans that are open at a time that moves on: how many reach into a stretch, what of them lies inside, and
 * the longest.
 *
 *   iforest_open_spans_add(&open, &span) ...                  those that start before 100
 *   iforest_open_spans_pass(&open, 100, 110, &stretch)        what is open at 100, in [100, 110)
 *   iforest_open_spans_add(&open, &span) ...                  those that start in [100, 110) and end after 110
 *   iforest_open_spans_pass(&open, 110, 120, &stretch) ...
 *
 * Two heaps of the same spans: by end, from which they are taken as they end, and by duration, which is cleared of those that
 * have ended when they come to its top, or when they are more than half of it.
 */
#ifndef IFOREST_OPEN_SPANS_H
#define IFOREST_OPEN_SPANS_H

#include "core/model/aggregate.h"
#include "core/base/priority_queue.h"

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
	struct iforest_open_slot *slots;  /* what the heaps have numbers of */
	uint32_t n_slots, n_reserved;
	uint32_t free;                    /* first slot to use again, UINT32_MAX: none */
	struct iforest_heap by_end;       /* the earliest end first; its n are the spans that are open */
	struct iforest_heap by_duration;  /* the longest first, also some that have ended */
};

/* What the open spans are to a stretch of time. */
struct iforest_stretch {
	uint64_t n;
	iforest_int128 inside;      /* time units, added up over the n spans */
	/* value: its duration. Of several the earliest, then the lowest ref. Not set where not wanted */
	struct iforest_row longest;
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

#endif
