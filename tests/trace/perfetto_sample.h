/* tests/trace/perfetto_sample.h -- Small Perfetto traces, written packet by packet, and what is read of them as text.
 *
 *     perfetto_describe_thread(THREAD, 5, 6, "main");
 *     perfetto_write_event(7, 100, INSTANT, THREAD, "now", NULL);
 *     perfetto_expect("instant 1: 100 on 5/6 now\n"
 *                     "thread 5/6: main in 5\n");
 */
#ifndef TESTS_TRACE_PERFETTO_SAMPLE_H
#define TESTS_TRACE_PERFETTO_SAMPLE_H

#include "tests/support/protobuf_writer.h"
#include "trace/trace.h"

enum { THREAD = 1, PROCESS = 2, OPERATION = 3, COUNTER = 4, STATES = 5 }; /* uuids */
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNT, STATE };		 /* types of events */

/* ---- Writing: numbers of fields are Perfetto's; a time or sequence of 0 is left out ---- */

extern struct protobuf perfetto_bytes; /* the trace */
extern size_t perfetto_event;	       /* where the event at hand begins */

void perfetto_begin_packet(uint64_t sequence, uint64_t timestamp);
void perfetto_end_packet(void);
void perfetto_clear_state(uint64_t sequence);

/* An event; with a name and a category, which may be NULL; with a clock; with interned texts; with a flow. */
void perfetto_begin_event(uint64_t sequence, uint64_t timestamp, uint64_t type, uint64_t uuid);
void perfetto_end_event(void);
void perfetto_write_event(uint64_t sequence, uint64_t timestamp, uint64_t type, uint64_t uuid, const char *name,
			const char *category);
void perfetto_write_at_clock(uint64_t sequence, uint64_t timestamp, uint64_t clock, const char *name);
void perfetto_write_interned(uint64_t sequence, uint64_t timestamp, uint64_t name_iid, uint64_t category_iid);
void perfetto_write_with_flow(uint64_t timestamp, uint64_t type, uint32_t field, uint64_t id);
void perfetto_write_count(uint64_t sequence, uint64_t timestamp, uint64_t uuid, int64_t value);

/* Descriptors of tracks, by uuid. */
void perfetto_begin_descriptor(uint64_t uuid, uint64_t parent, const char *name);
void perfetto_end_descriptor(void);
void perfetto_describe(uint64_t uuid, uint64_t parent, const char *name);
void perfetto_describe_thread(uint64_t uuid, uint64_t pid, uint64_t tid, const char *name);
void perfetto_describe_process(uint64_t uuid, uint64_t pid, const char *name);
void perfetto_describe_counter(uint64_t uuid, uint64_t parent, const char *name, uint64_t multiplier, bool is_incremental);

/* A text for a number in a field of InternedData. */
void perfetto_intern(uint64_t sequence, uint32_t field, uint64_t iid, const char *text);

/* Two clocks at one moment; the second one may be incremental, in units of so many ns. */
void perfetto_snapshot(uint64_t sequence, uint64_t clock, uint64_t time, uint64_t other, uint64_t other_time, uint64_t unit_ns,
		     bool is_incremental);

/* ---- Reading ---- */

/* What was read: a line for all that the sink is given, then the report. */
extern struct perfetto_shown {
	int status;
	char error[800];
	size_t n_bytes;
	char text[16000];
} perfetto_shown;

/* The callbacks of a sink. */
int perfetto_show_span(void *context, const struct trace_span *span);
int perfetto_show_sample(void *context, const struct trace_sample *sample);
int perfetto_show_instant(void *context, const struct trace_instant *instant);
int perfetto_show_flow(void *context, const struct trace_flow *flow);
int perfetto_show_track(void *context, const struct trace_track *track);

/* Reads what was written, in pieces of so many bytes; 0 is the usual. */
void perfetto_read_trace(bool is_strict, size_t piece_bytes);

/* Reads what was written, which must give no error, but this text; and forgets it. */
void perfetto_expect(const char *text);

#endif
