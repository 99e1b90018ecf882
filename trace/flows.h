/* trace/flows.h -- Flows of a trace: points bound to spans or instants, and linked by arrows in order of time.
 *
 * A point is bound to an event by number, or to a span of its track by time. For the latter, the spans of a track and its
 * points must come in order of time:
 *
 *     trace_flows_bind_next(flows, packed)                waits for the next span
 *     trace_flows_pass_span(flows, span)                  binds the waiting points; later points may lie in it
 *     trace_flows_bind_enclosing(flows, packed, track)    binds to a span passed before
 *     trace_flows_end_track(flows, track)
 *
 * Bound points wait in a sorter until trace_flows_sort(). Functions that return int return TRACE_OK or a negative status, and
 * then the report has the problem.
 */
#ifndef IFOREST_FLOWS_H
#define IFOREST_FLOWS_H

#include "trace/record.h"
#include "trace/report.h"
#include "trace/sorter.h"
#include "trace/tracks.h"

/* The points of a flow have the same key. Each is linked to the previous one in order of time, ties in order of addition. */
enum trace_flow_role {
	TRACE_FLOW_SOURCE, /* begins a flow before all other points of its key, whatever its time; the first source counts */
	TRACE_FLOW_START,  /* begins a flow, even if one with this key is open */
	TRACE_FLOW_OPEN,   /* begins a flow; left out if one with this key is open */
	TRACE_FLOW_STEP,   /* is linked, and the flow continues; left out if none is open */
	TRACE_FLOW_JOIN,   /* is linked if a flow is open, else begins one */
	TRACE_FLOW_ARRIVE, /* is linked, but the flow does not move, so several may arrive; left out if none is open */
	TRACE_FLOW_END	   /* is linked, and ends the flow; left out if none is open */
};

/* What a point is bound to. Points bound to nothing are left out. */
enum trace_flow_binding {
	TRACE_BIND_EVENT,     /* the span or instant of the event that was added last: a span, an instant, a begin or an end */
	TRACE_BIND_ENCLOSING, /* of the spans of the track with start <= ts <= end the one that starts last, then the shortest */
	TRACE_BIND_NEXT	      /* the first span of the track that starts at or after ts; of several the longest */
};

struct trace_flow_point {
	enum trace_flow_role role;
	enum trace_flow_binding binding;
	const struct trace_track *track; /* unless bound to the event */
	int64_t ts_ns;			 /* orders the points of a flow */
	struct trace_text key;		 /* identifies the flow; internal */
	struct trace_text name, category, id;
	const char *what; /* such as "flow s", for the report; a literal */
};

/* The event of a point: one of the numbers is not 0. */
struct trace_bound {
	uint64_t span, instant;
	uint32_t track;
};

/* A span that points may lie in. */
struct trace_flow_candidate {
	uint64_t span;
	int64_t ts_ns, dur_ns;
};

/* All zero but for the first four, which are borrowed, is empty. */
struct trace_flows {
	const struct trace_tracks *tracks;
	const struct trace_sink *sink; /* has on_flow */
	struct trace_counts *counts;   /* n_flows is incremented */
	struct trace_report *report;

	struct trace_sorter *sorter;
	struct trace_record key, data; /* of the record that is being made */
	struct trace_flow_candidate *candidates;
	size_t n_candidates, n_candidates_allocated;
	struct trace_bytes waiting; /* packed points that wait for the next span */
	struct trace_bytes last_key;
	bool has_begun; /* a flow of this key, in `from` */
	struct trace_flow_end from;
};

/* Creates the sorter, with that much memory. */
int trace_flows_begin(struct trace_flows *flows, size_t memory_bytes);
void trace_flows_release(struct trace_flows *flows);

/* Packs a point; `order` breaks ties between points of the same time, the lower first. */
void trace_flow_point_put(struct trace_record *record, const struct trace_flow_point *point, uint64_t order);
struct trace_flow_point trace_flow_point_take(struct trace_unpacking *unpacking, uint64_t *order);

/* Adds a bound point; one bound to nothing is left out. */
int trace_flows_add(struct trace_flows *flows, const struct trace_flow_point *point, uint64_t order, struct trace_bound bound);

/* Points and spans of a track in the order of time, as above. `packed` is copied; TRACE_ERROR_LIMIT if more than
 * TRACE_MAX_KEPT_BYTES wait. */
int trace_flows_bind_next(struct trace_flows *flows, struct trace_text packed);
int trace_flows_pass_span(struct trace_flows *flows, const struct trace_span *span);
int trace_flows_bind_enclosing(struct trace_flows *flows, struct trace_unpacking *packed, uint32_t track);
int trace_flows_end_track(struct trace_flows *flows, uint32_t track);

/* After all points are added: sort them; then each call takes the next one, and reports the arrow to it, if any.
 * trace_flows_next() returns TRACE_ROW, or TRACE_OK after the last. */
int trace_flows_sort(struct trace_flows *flows);
int trace_flows_next(struct trace_flows *flows);

#endif
