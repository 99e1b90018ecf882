/* trace/perfetto_sequence.h -- State of a sequence of Perfetto packets: interned texts, defaults, and what differences add to.
 *
 * A sequence has the packets of one writer, identified by its number (trusted_packet_sequence_id). Its packets define things
 * once and then refer to them:
 *
 *     cleared      resets the state, and makes it valid
 *     lost         makes it invalid until the next clear
 *     interned     a number for a text; the first text of a number wins
 *     defaults     values for fields that an event lacks
 *
 * After Perfetto's src/trace_processor/importers/proto/packet_sequence_state_generation and track_event_sequence_state.
 */
#ifndef IFOREST_PERFETTO_SEQUENCE_H
#define IFOREST_PERFETTO_SEQUENCE_H

#include "trace/bytes.h"
#include "trace/u64_map.h"

/* What texts are interned for. */
enum trace_interned {
	TRACE_INTERNED_CATEGORY,
	TRACE_INTERNED_EVENT_NAME,
	TRACE_INTERNED_ARGUMENT_NAME,
	TRACE_INTERNED_ARGUMENT_TEXT,
	TRACE_N_INTERNED
};

struct trace_perfetto_sequence {
	struct trace_budget *budget;
	uint32_t number;
	bool is_valid;

	struct trace_u64_map interned[TRACE_N_INTERNED]; /* places in slices */
	struct trace_slice *slices;			 /* owned */
	size_t n_slices, n_slices_allocated;
	struct trace_bytes texts;
	size_t n_text_bytes_taken; /* of the budget */

	struct trace_text event_defaults; /* the message TrackEventDefaults, owned; data is NULL if there is none */
	uint64_t default_track;		  /* its uuid of a track; 0 if there is none */
	uint32_t coming_clock;		  /* the default clock for the next packet of the file; 0 if there is none */
	uint64_t n_waiting;		  /* packets that wait for a clock, and hold up those behind them */

	bool has_thread; /* outlives a clear */
	int32_t pid;
	int64_t tid;

	bool has_reference; /* what differences of time are added to */
	int64_t time_ns, thread_time_ns, instruction_count;
	struct trace_u64_map counters; /* bits of the doubles to which incremental counters have come, by uuid */
};

/* All zero but for budget and number is a new sequence. */
void trace_perfetto_sequence_release(struct trace_perfetto_sequence *sequence);

void trace_perfetto_sequence_clear(struct trace_perfetto_sequence *sequence);
void trace_perfetto_sequence_lose(struct trace_perfetto_sequence *sequence);

/* Of a packet that comes, but may have to wait: what is needed to know the clock of the next one. Same as below. */
int trace_perfetto_sequence_come(struct trace_perfetto_sequence *sequence, bool is_cleared, struct trace_text defaults);

/* Takes a message InternedData, and a message TracePacketDefaults, which replaces the one before whole.
 * TRACE_OK, TRACE_ERROR_FORMAT, TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT. O(bytes) expected. */
int trace_perfetto_sequence_intern(struct trace_perfetto_sequence *sequence, struct trace_text message);
int trace_perfetto_sequence_set_defaults(struct trace_perfetto_sequence *sequence, struct trace_text message);

/* Returns the text of a number, valid until the sequence changes; data is NULL if there is none. O(1) expected. */
struct trace_text trace_perfetto_sequence_text(const struct trace_perfetto_sequence *sequence, enum trace_interned kind,
					       uint64_t iid);

/* Takes a thread descriptor's process and thread, and the times that differences are added to (µs; 0 where absent). */
void trace_perfetto_sequence_set_thread(struct trace_perfetto_sequence *sequence, int32_t pid, int64_t tid);
void trace_perfetto_sequence_set_reference(struct trace_perfetto_sequence *sequence, int64_t time_us, int64_t thread_time_us,
					   int64_t instruction_count);

/* Adds a difference to what an incremental counter has come to, and answers the sum in *value. As trace_u64_map_put. */
int trace_perfetto_sequence_count(struct trace_perfetto_sequence *sequence, uint64_t uuid, double *value);

/* a * b and a + b, at most and at least what 64 bits hold. */
int64_t trace_saturating_product(int64_t a, int64_t b);
int64_t trace_saturating_sum(int64_t a, int64_t b);

#endif
