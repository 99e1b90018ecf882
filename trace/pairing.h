/* trace/pairing.h -- Pairing of begins with ends on each track, in the order of time whatever the order of the file.
 *
 *     trace_pairing_add(pairing, &operation);         each begin, end, state and point, as the file has them
 *     ...
 *     while ((status = trace_pairing_step(pairing)) == TRACE_ROW)
 *         continue;                                   on_span and on_point are called
 *
 * Nearly all tracks have their events in the order of time. While a track does, its operations are done as they are added, and
 * what they give is logged, for a later event may be earlier. With the first that is, or with more open spans than shall be kept
 * in memory, the track goes on in a sorter; of the log only what lies behind the earliest such event is taken apart again.
 *
 * Functions that answer int answer TRACE_OK or a negative status, and then the report has the problem.
 */
#ifndef IFOREST_PAIRING_H
#define IFOREST_PAIRING_H

#include "trace/record.h"
#include "trace/report.h"
#include "trace/sorter.h"

enum trace_pair_kind {
	TRACE_PAIR_BEGIN, /* of a span that its end closes */
	TRACE_PAIR_END,	  /* closes the innermost open span that has its name and category, as far as it has them */
	TRACE_PAIR_STATE, /* closes the state before, unless its name is the same; lasts until the next, if it has a name */
	TRACE_PAIR_POINT  /* a point of a flow that is bound to what the end before it has closed */
};

/* Operations of a track are done in the order of time, and of adding among equal times. */
struct trace_pair_operation {
	enum trace_pair_kind kind;
	uint32_t track; /* its number */
	int64_t ts_ns;
	uint64_t number; /* of the span, of begins and states */
	const char *
		unmatched; /* of an end: the line of the report that counts it if it closes nothing; lives as long as pairing */

	/* Packed (record.h): an end's name and category; a begin's and a state's too, and then anything; a point's anything. */
	struct trace_text packed;
};

/* A span that was closed, or with TRACE_NEVER_CLOSED was not. */
struct trace_paired_span {
	uint64_t number;
	uint32_t track;
	int64_t ts_ns, dur_ns;
	struct trace_text packed; /* as it was added */
};

struct trace_pair_begun;
struct trace_pair_stack;

/* All zero but for the first four, which are borrowed, is empty. */
struct trace_pairing {
	struct trace_report *report;
	void *context;
	int (*on_span)(void *context, const struct trace_paired_span *span);
	int (*on_point)(void *context, struct trace_text packed, uint32_t track, uint64_t span); /* 0: nothing was closed */

	enum { TRACE_PAIRING_ADD, TRACE_PAIRING_REPLAY, TRACE_PAIRING_OPEN, TRACE_PAIRING_SORTED, TRACE_PAIRING_DONE } stage;
	struct trace_sorter *log, *sorter;
	struct trace_record key, data; /* of the record that is being made */
	uint64_t n_added;
	struct trace_pair_stack *stacks; /* owned, by the numbers of tracks */
	size_t n_stacks, n_ended;
	struct trace_pair_begun **slots; /* owned: the newest of each hash of names */
	size_t n_begun_bytes;		 /* of memory for what is open */
	uint32_t track;			 /* whose sorted operations are at hand; 0 before the first */
	uint64_t closed;		 /* the span that the last end has closed; 0 if none */
};

/* Makes the sorters, of that much memory each. */
int trace_pairing_begin(struct trace_pairing *pairing, size_t memory_bytes);
void trace_pairing_release(struct trace_pairing *pairing);

/* Adds an operation, whose texts are copied. Requires: a point comes next to its end, with the same time. O(1) expected. */
int trace_pairing_add(struct trace_pairing *pairing, const struct trace_pair_operation *operation);

/* When all are added: hands out a part. TRACE_ROW if there is more, TRACE_OK when all is done, or a negative status. */
int trace_pairing_step(struct trace_pairing *pairing);

#endif
