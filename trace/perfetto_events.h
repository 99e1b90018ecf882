/* trace/perfetto_events.h -- Track events of a Perfetto trace: spans, instants, counter samples, states and flows. */
#ifndef IFOREST_PERFETTO_EVENTS_H
#define IFOREST_PERFETTO_EVENTS_H

#include "trace/perfetto_clocks.h"
#include "trace/perfetto_sequence.h"
#include "trace/perfetto_tracks.h"

/* All zero but for the first four is ready. */
struct trace_perfetto_events {
	struct trace_assembly *assembly;
	struct trace_perfetto_tracks *tracks;
	struct trace_perfetto_clocks *clocks;
	uint64_t *n_mended; /* texts that are not UTF-8 */
	bool has_start;	    /* of the range of interest: events before it are left out */
	int64_t start_ns;
	struct trace_bytes name, categories, category, args, scope, id_scope, flow_key; /* of the event at hand */
};

void trace_perfetto_events_release(struct trace_perfetto_events *events);

/* Takes a message TrackEvent of a packet, which may have a time of its own, in the trace's clock.
 * TRACE_OK, TRACE_ERROR_FORMAT, TRACE_ERROR_MEMORY, TRACE_ERROR_LIMIT, or what the assembly answered. O(bytes) expected. */
/* The uuid of the track that an event names, or 0. O(bytes of the event). */
uint64_t trace_perfetto_events_track(const struct trace_perfetto_sequence *sequence, struct trace_text message);

int trace_perfetto_events_take(struct trace_perfetto_events *events, struct trace_perfetto_sequence *sequence,
			       struct trace_text message, bool has_time, int64_t ts_ns);

#endif
