/* trace/pairing.h -- Pairing of begins with ends on each track, in order of time or in that of the file.
 *
 *     trace_pairing_add(pairing, &operation);         each begin, end, state and point, in file order
 *     ...
 *     while ((status = trace_pairing_step(pairing)) == TRACE_ROW)
 *         continue;                                   on_span and on_point are called
 *
 * Nearly all tracks have their events in order of time. As long as a track does, its operations are performed when they are
 * added, and their results are logged, because an event out of order may follow. At the first such event, or if there are too
 * many open spans to keep in memory, the track continues in a sorter; only the log after the earliest such event is turned back
 * into operations.
 *
 * In the order of the file, for formats that have one buffer a thread, a clock that steps back does not pair other ends; what ends
 * before it begins is then a span that was never closed.
 *
 * Functions that return int return TRACE_OK or a negative status, and then the report has the problem.
 */
#ifndef IFOREST_PAIRING_H
#define IFOREST_PAIRING_H

#include "trace/record.h"
#include "trace/report.h"
#include "trace/sorter.h"

enum trace_pair_kind {
	TRACE_PAIR_BEGIN, /* of a span that its end closes */
	TRACE_PAIR_END, /* closes the innermost open span with its name, or without one, and its category, as far as it has them */
	TRACE_PAIR_STATE, /* ends the previous state, unless the name is the same; lasts until the next if it has a name */
	TRACE_PAIR_POINT  /* a point of a flow, bound to the span that the preceding end closed */
};

/* Operations of a track are performed in order of time, ties in order of addition; or all in order of addition. */
struct trace_pair_operation {
	enum trace_pair_kind kind;
	uint32_t track; /* its number */
	int64_t ts_ns;
	uint64_t number; /* of the span, of begins and states */
	const char *
		unmatched; /* of an end: the line of the report that counts it if it closes nothing; lives as long as pairing */

	/* Packed (record.h): name and category of an end; of a begin or a state also, then any data; of a point any data. */
	struct trace_text packed;
};

/* A closed span; dur_ns is TRACE_NEVER_CLOSED if it was never closed. */
struct trace_paired_span {
	uint64_t number;
	uint32_t track;
	int64_t ts_ns, dur_ns;
	struct trace_text packed; /* as it was added */
};

struct trace_pair_begun;
struct trace_pair_stack;

/* Empty if all zero except the first five members, which are borrowed. */
struct trace_pairing {
	struct trace_report *report;
	void *context;
	bool in_file_order;
	int (*on_span)(void *context, const struct trace_paired_span *span);
	int (*on_point)(void *context, struct trace_text packed, uint32_t track, uint64_t span); /* 0: nothing was closed */

	enum { TRACE_PAIRING_ADD, TRACE_PAIRING_REPLAY, TRACE_PAIRING_OPEN, TRACE_PAIRING_SORTED, TRACE_PAIRING_DONE } stage;
	struct trace_sorter *log, *sorter;
	struct trace_record key, data; /* of the record being built */
	uint64_t n_added;
	struct trace_pair_stack *stacks; /* owned, indexed by track number */
	size_t n_stacks, n_ended;
	struct trace_pair_begun **slots; /* owned: the newest begin of each name hash */
	size_t n_begun_bytes;		 /* memory for open spans */
	uint32_t track;			 /* the track being processed; 0 before the first */
	uint64_t closed;		 /* the span closed by the last end; 0 if none */
};

/* Creates the sorters, with memory_bytes each. */
int trace_pairing_begin(struct trace_pairing *pairing, size_t memory_bytes);
void trace_pairing_release(struct trace_pairing *pairing);

/* Adds an operation, whose texts are copied. Requires: a point comes next to its end, with the same time. O(1) expected. */
int trace_pairing_add(struct trace_pairing *pairing, const struct trace_pair_operation *operation);

/* After all are added: reports some of the spans. Returns TRACE_ROW if there is more, TRACE_OK when done, or a negative
 * status. */
int trace_pairing_step(struct trace_pairing *pairing);

#endif
