/* The reader of Perfetto traces against small traces that are written for the purpose, whole, cut and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/support/protobuf_writer.h"
#include "tests/support/random.h"
#include "tests/support/sanitizer.h"
#include "trace/trace.h"

/* ---- Allocations that fail ---- */

static long n_until_failure; /* allocations; 0 is never */
static long n_live;

#if !defined(UNDER_ADDRESS_SANITIZER) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1
#define EXPORTED __attribute__((visibility("default"))) /* so that libc calls them as well */

void *__libc_malloc(size_t n_bytes);
void *__libc_calloc(size_t n, size_t n_bytes);
void *__libc_realloc(void *block, size_t n_bytes);
void __libc_free(void *block);

static bool fails(void)
{
	return n_until_failure > 0 && --n_until_failure == 0;
}

EXPORTED void *malloc(size_t n_bytes)
{
	void *block = fails() ? NULL : __libc_malloc(n_bytes);

	n_live += block != NULL;
	return block;
}

EXPORTED void *calloc(size_t n, size_t n_bytes)
{
	void *block = fails() ? NULL : __libc_calloc(n, n_bytes);

	n_live += block != NULL;
	return block;
}

EXPORTED void *realloc(void *block, size_t n_bytes)
{
	void *larger = fails() ? NULL : __libc_realloc(block, n_bytes);

	n_live += larger && !block;
	return larger;
}

EXPORTED void free(void *block)
{
	n_live -= block != NULL;
	__libc_free(block);
}
#else
#define COUNTS_ALLOCATIONS 0
#endif

/* ---- Writing ---- */

enum { THREAD = 1, PROCESS = 2, OPERATION = 3, COUNTER = 4, STATES = 5 }; /* uuids */
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNT, STATE };		 /* types of events */

static struct protobuf trace_bytes;
static size_t packet, event;

static void begin_packet(uint64_t sequence, uint64_t timestamp)
{
	packet = protobuf_begin(&trace_bytes, 1);
	if (timestamp)
		protobuf_varint(&trace_bytes, 8, timestamp);
	if (sequence)
		protobuf_varint(&trace_bytes, 10, sequence);
}

static void end_packet(void)
{
	protobuf_end(&trace_bytes, packet);
}

static void clear_state(uint64_t sequence)
{
	begin_packet(sequence, 0);
	protobuf_varint(&trace_bytes, 13, 1);
	end_packet();
}

static void begin_event(uint64_t sequence, uint64_t timestamp, uint64_t type, uint64_t uuid)
{
	begin_packet(sequence, timestamp);
	event = protobuf_begin(&trace_bytes, 11);
	if (type)
		protobuf_varint(&trace_bytes, 9, type);
	if (uuid)
		protobuf_varint(&trace_bytes, 11, uuid);
}

static void end_event(void)
{
	protobuf_end(&trace_bytes, event);
	end_packet();
}

/* An event with a name and a category; either may be NULL. */
static void write_event(uint64_t sequence, uint64_t timestamp, uint64_t type, uint64_t uuid, const char *name,
			const char *category)
{
	begin_event(sequence, timestamp, type, uuid);
	if (name)
		protobuf_text(&trace_bytes, 23, name);
	if (category)
		protobuf_text(&trace_bytes, 22, category);
	end_event();
}

static size_t descriptor;

static void begin_descriptor(uint64_t uuid, uint64_t parent, const char *name)
{
	begin_packet(7, 0);
	descriptor = protobuf_begin(&trace_bytes, 60);
	protobuf_varint(&trace_bytes, 1, uuid);
	if (parent)
		protobuf_varint(&trace_bytes, 5, parent);
	if (name)
		protobuf_text(&trace_bytes, 2, name);
}

static void end_descriptor(void)
{
	protobuf_end(&trace_bytes, descriptor);
	end_packet();
}

static void describe_thread(uint64_t uuid, uint64_t pid, uint64_t tid, const char *name)
{
	size_t thread;

	begin_descriptor(uuid, 0, NULL);
	thread = protobuf_begin(&trace_bytes, 4);
	protobuf_varint(&trace_bytes, 1, pid);
	protobuf_varint(&trace_bytes, 2, tid);
	if (name)
		protobuf_text(&trace_bytes, 5, name);
	protobuf_end(&trace_bytes, thread);
	end_descriptor();
}

static void describe_process(uint64_t uuid, uint64_t pid, const char *name)
{
	size_t process;

	begin_descriptor(uuid, 0, NULL);
	process = protobuf_begin(&trace_bytes, 3);
	protobuf_varint(&trace_bytes, 1, pid);
	protobuf_text(&trace_bytes, 6, name);
	protobuf_end(&trace_bytes, process);
	end_descriptor();
}

static void describe(uint64_t uuid, uint64_t parent, const char *name)
{
	begin_descriptor(uuid, parent, name);
	end_descriptor();
}

static void describe_counter(uint64_t uuid, uint64_t parent, const char *name, uint64_t multiplier, bool is_incremental)
{
	size_t counter;

	begin_descriptor(uuid, parent, name);
	counter = protobuf_begin(&trace_bytes, 8);
	protobuf_varint(&trace_bytes, 3, 3);
	if (multiplier)
		protobuf_varint(&trace_bytes, 4, multiplier);
	if (is_incremental)
		protobuf_varint(&trace_bytes, 5, 1);
	protobuf_end(&trace_bytes, counter);
	end_descriptor();
}

static void write_count(uint64_t sequence, uint64_t timestamp, uint64_t uuid, int64_t value)
{
	begin_event(sequence, timestamp, COUNT, uuid);
	protobuf_varint(&trace_bytes, 30, (uint64_t)value);
	end_event();
}

static void intern(uint64_t sequence, uint32_t field, uint64_t iid, const char *text)
{
	size_t interned, entry;

	begin_packet(sequence, 0);
	interned = protobuf_begin(&trace_bytes, 12);
	entry = protobuf_begin(&trace_bytes, field);
	protobuf_varint(&trace_bytes, 1, iid);
	protobuf_text(&trace_bytes, 2, text);
	protobuf_end(&trace_bytes, entry);
	protobuf_end(&trace_bytes, interned);
	end_packet();
}

/* Two clocks at one moment; the second one may be incremental, in units of so many ns. */
static void snapshot(uint64_t sequence, uint64_t clock, uint64_t time, uint64_t other, uint64_t other_time, uint64_t unit_ns,
		     bool is_incremental)
{
	size_t message, reading;

	begin_packet(sequence, 0);
	message = protobuf_begin(&trace_bytes, 6);
	reading = protobuf_begin(&trace_bytes, 1);
	protobuf_varint(&trace_bytes, 1, clock);
	protobuf_varint(&trace_bytes, 2, time);
	protobuf_end(&trace_bytes, reading);
	reading = protobuf_begin(&trace_bytes, 1);
	protobuf_varint(&trace_bytes, 1, other);
	protobuf_varint(&trace_bytes, 2, other_time);
	if (is_incremental)
		protobuf_varint(&trace_bytes, 3, 1);
	if (unit_ns)
		protobuf_varint(&trace_bytes, 4, unit_ns);
	protobuf_end(&trace_bytes, reading);
	protobuf_end(&trace_bytes, message);
	end_packet();
}

static void write_at_clock(uint64_t sequence, uint64_t timestamp, uint64_t clock, const char *name)
{
	begin_packet(sequence, timestamp);
	protobuf_varint(&trace_bytes, 58, clock);
	event = protobuf_begin(&trace_bytes, 11);
	protobuf_varint(&trace_bytes, 9, INSTANT);
	protobuf_varint(&trace_bytes, 11, THREAD);
	protobuf_text(&trace_bytes, 23, name);
	end_event();
}

/* ---- Reading ---- */

static struct {
	int status;
	char error[800];
	size_t n_bytes;
	char text[16000];
} shown;

static struct source {
	size_t at, n_bytes_at_once;
} source;

__attribute__((format(printf, 1, 2))) static void show(const char *format, ...)
{
	size_t n_left = sizeof shown.text - shown.n_bytes;
	va_list arguments;
	int n_bytes;

	va_start(arguments, format);
	n_bytes = vsnprintf(shown.text + shown.n_bytes, n_left, format, arguments);
	va_end(arguments);
	if (n_bytes > 0 && (size_t)n_bytes < n_left)
		shown.n_bytes += (size_t)n_bytes;
}

static void show_text(const char *before, struct trace_text text)
{
	if (text.data)
		show("%s%.*s", before, (int)text.n_bytes, text.data);
}

static int show_span(void *context, const struct trace_span *span)
{
	(void)context;
	show("span %" PRIu64 ": %" PRId64 " %" PRId64, span->number, span->ts_ns, span->dur_ns);
	show_text(" on ", span->track->key);
	show_text(" ", span->name);
	show_text(" cat ", span->category);
	show_text(" id ", span->id);
	show_text(" ", span->args);
	show("\n");
	return TRACE_OK;
}

static int show_sample(void *context, const struct trace_sample *sample)
{
	(void)context;
	show("sample %" PRId64 " %.15g", sample->ts_ns, sample->value);
	show_text(" ", sample->name);
	if (sample->track)
		show_text(" of ", sample->track->key);
	show_text(" in ", sample->unit);
	show("\n");
	return TRACE_OK;
}

static int show_instant(void *context, const struct trace_instant *instant)
{
	(void)context;
	show("instant %" PRIu64 ": %" PRId64, instant->number, instant->ts_ns);
	show_text(" on ", instant->track->key);
	show_text(" ", instant->name);
	show_text(" cat ", instant->category);
	show_text(" ", instant->args);
	show("\n");
	return TRACE_OK;
}

static int show_flow(void *context, const struct trace_flow *flow)
{
	(void)context;
	show("flow %s %" PRIu64 " -> %s %" PRIu64, flow->from.span ? "span" : "instant",
	     flow->from.span ? flow->from.span : flow->from.instant, flow->to.span ? "span" : "instant",
	     flow->to.span ? flow->to.span : flow->to.instant);
	show_text(" id ", flow->id);
	show("\n");
	return TRACE_OK;
}

static int show_track(void *context, const struct trace_track *track)
{
	(void)context;
	if (!track->is_used && !track->name.data)
		return TRACE_OK;
	show("%s", trace_track_kind_name(track->kind));
	show_text(" ", track->key);
	show_text(": ", track->name);
	if (track->parent)
		show_text(" in ", track->parent->key);
	show("\n");
	return TRACE_OK;
}

static int read_bytes(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	size_t n_left = trace_bytes.n_bytes - source.at;

	(void)context;
	n_bytes = n_bytes < source.n_bytes_at_once ? n_bytes : source.n_bytes_at_once;
	*n_read = n_bytes < n_left ? n_bytes : n_left;
	if (*n_read > 0)
		memcpy(data, trace_bytes.bytes + source.at, *n_read);
	source.at += *n_read;
	return TRACE_OK;
}

static void read_trace(bool is_strict, size_t piece_bytes)
{
	struct trace_sink sink = { NULL, show_span, show_sample, show_instant, show_flow, show_track };
	struct trace_options options = { .args = true, .strict = is_strict, .piece_bytes = piece_bytes };
	const struct trace_report_line *line;
	struct trace *trace;

	shown.n_bytes = 0;
	shown.text[0] = 0;
	source = (struct source){ 0, piece_bytes ? piece_bytes : SIZE_MAX };
	shown.status = trace_open_source(read_bytes, NULL, "trace", &options, &sink, &trace);
	while (shown.status >= 0 && (shown.status = trace_step(trace)) == TRACE_ROW)
		;
	for (size_t i = 0; trace && (line = trace_report(trace, i)); i++)
		show("%s %" PRIu64 ": %s\n", line->finding == TRACE_MENDED ? "mended" : "left out", line->n, line->what);
	snprintf(shown.error, sizeof shown.error, "%s", trace_error(trace));
	trace_close(trace);
}

/* Reads what was written, and forgets it. */
static void expect(const char *text)
{
	read_trace(false, 0);
	protobuf_clear(&trace_bytes);
	assert_string_equal(shown.error, "");
	assert_int_equal(shown.status, TRACE_OK);
	assert_string_equal(shown.text, text);
}

/* ---- What is read ---- */

static void slices_stand_on_threads_processes_and_operations(void **state)
{
	(void)state;
	describe_thread(THREAD, 5, 6, "main");
	describe_process(PROCESS, 5, "app");
	describe(OPERATION, PROCESS, "load");
	write_event(7, 100, SLICE_BEGIN, THREAD, "outer", "a");
	write_event(7, 110, SLICE_BEGIN, THREAD, "inner", NULL);
	write_event(7, 115, INSTANT, PROCESS, "now", "b");
	write_event(7, 120, SLICE_END, THREAD, NULL, NULL);
	write_event(8, 125, SLICE_BEGIN, OPERATION, "step", NULL);
	write_event(7, 130, SLICE_END, OPERATION, NULL, NULL);
	write_event(7, 140, SLICE_END, THREAD, NULL, NULL);
	write_event(7, 150, SLICE_END, THREAD, NULL, NULL);
	write_event(7, 160, SLICE_BEGIN, THREAD, "open", NULL);
	expect("instant 1: 115 on 5 now cat b\n"
	       "span 2: 110 10 on 5/6 inner\n"
	       "span 1: 100 40 on 5/6 outer cat a\n"
	       "span 4: 160 -1 on 5/6 open\n"
	       "span 3: 125 5 on uuid:3 step\n"
	       "process 5: app\n"
	       "thread 5/6: main in 5\n"
	       "async uuid:3: load in 5\n"
	       "left out 1: end without begin\n");
}

static void events_without_a_track_are_on_the_default_one(void **state)
{
	(void)state;
	write_event(7, 5, INSTANT, 0, "a", NULL);
	write_event(7, 6, INSTANT, 99, "b", NULL);
	expect("instant 1: 5 on uuid:0 a\n"
	       "instant 2: 6 on uuid:99 b\n"
	       "async uuid:0: Default Track\n"
	       "async uuid:99: b\n");
}

/* A track is named after its first event in time, and by a descriptor wherever that comes; parents may come late, too. */
static void names_and_parents_may_come_later(void **state)
{
	(void)state;
	write_event(7, 20, INSTANT, 10, "second", NULL);
	write_event(7, 10, INSTANT, 10, "first", NULL);
	write_event(7, 30, INSTANT, 11, "event", NULL);
	describe(11, PROCESS, "described");
	write_event(7, 40, INSTANT, 11, "event", NULL);
	describe_process(PROCESS, 5, "app");
	expect("instant 1: 20 on uuid:10 second\n"
	       "instant 2: 10 on uuid:10 first\n"
	       "instant 3: 30 on uuid:11 event\n"
	       "instant 4: 40 on uuid:11 event\n"
	       "async uuid:10: first\n"
	       "async uuid:11: described in 5\n"
	       "process 5: app\n");
}

static void numbers_of_threads_are_used_again(void **state)
{
	(void)state;
	describe_thread(20, 5, 6, "old");
	write_event(7, 1, INSTANT, 20, "a", NULL);
	describe_thread(21, 5, 6, "new");
	write_event(7, 2, INSTANT, 21, "b", NULL);
	write_event(7, 3, INSTANT, 20, "c", NULL);
	describe_process(22, 5, "one");
	describe_process(23, 5, "two");
	describe_thread(24, 5, 6, "newest");
	write_event(7, 4, INSTANT, 24, "d", NULL);
	expect("instant 1: 1 on 5/6 a\n"
	       "instant 2: 2 on 5/6#2 b\n"
	       "instant 3: 3 on 5/6 c\n"
	       "instant 4: 4 on 5/6#3 d\n"
	       "process 5: one\n"
	       "thread 5/6: old in 5\n"
	       "thread 5/6#2: new in 5\n"
	       "process 5#2: two\n"
	       "thread 5/6#3: newest in 5#2\n");
}

static void a_descriptor_may_not_change_its_mind(void **state)
{
	(void)state;
	describe(10, 0, "kept");
	describe(10, 0, "second name");
	describe(10, PROCESS, "conflict");
	write_event(7, 1, INSTANT, 10, "a", NULL);
	describe(12, 13, NULL);
	describe(13, 12, NULL);
	write_event(7, 2, INSTANT, 12, "in a circle", NULL);
	expect("instant 1: 1 on uuid:10 a\n"
	       "async uuid:10: kept\n"
	       "left out 1: conflicting track descriptor\n"
	       "left out 1: track whose parents form a circle or are too many\n");
}

/* ---- State of sequences ---- */

static void write_interned(uint64_t sequence, uint64_t timestamp, uint64_t name_iid, uint64_t category_iid)
{
	begin_packet(sequence, timestamp);
	protobuf_varint(&trace_bytes, 13, 2);
	event = protobuf_begin(&trace_bytes, 11);
	protobuf_varint(&trace_bytes, 9, INSTANT);
	protobuf_varint(&trace_bytes, 10, name_iid);
	protobuf_varint(&trace_bytes, 3, category_iid);
	protobuf_text(&trace_bytes, 22, "more");
	end_event();
}

static void interned_texts_last_until_the_state_is_cleared(void **state)
{
	(void)state;
	write_interned(7, 1, 1, 1);
	clear_state(7);
	intern(7, 2, 1, "first");
	intern(7, 2, 1, "ignored");
	intern(7, 1, 1, "category");
	write_interned(7, 2, 1, 1);
	write_interned(8, 3, 1, 1);
	begin_packet(7, 0);
	protobuf_varint(&trace_bytes, 42, 1);
	end_packet();
	write_interned(7, 4, 1, 1);
	clear_state(7);
	write_interned(7, 5, 1, 1);
	intern(7, 2, 1, "second");
	write_interned(7, 6, 1, 1);
	expect("instant 1: 2 on uuid:0 first cat category,more\n"
	       "instant 2: 5 on uuid:0  cat more\n"
	       "instant 3: 6 on uuid:0 second cat more\n"
	       "async uuid:0: Default Track\n"
	       "left out 3: packet needs incremental state that is not valid\n"
	       "left out 7: packet: other data\n");
}

static void write_defaults(uint64_t sequence, uint64_t clock, uint64_t uuid)
{
	size_t defaults, of_events;

	begin_packet(sequence, 0);
	defaults = protobuf_begin(&trace_bytes, 59);
	if (clock)
		protobuf_varint(&trace_bytes, 58, clock);
	if (uuid) {
		of_events = protobuf_begin(&trace_bytes, 11);
		protobuf_varint(&trace_bytes, 11, uuid);
		protobuf_end(&trace_bytes, of_events);
	}
	protobuf_end(&trace_bytes, defaults);
	end_packet();
}

static void defaults_are_replaced_whole(void **state)
{
	(void)state;
	describe_thread(THREAD, 5, 6, NULL);
	snapshot(1, 6, 1000, 3, 100, 0, false);
	clear_state(7);
	write_defaults(7, 3, THREAD);
	write_event(7, 110, INSTANT, 0, "a", NULL);
	write_defaults(7, 3, 0);
	write_event(7, 120, INSTANT, 0, "b", NULL);
	write_defaults(7, 0, THREAD);
	write_event(7, 130, INSTANT, 0, "c", NULL);
	expect("instant 1: 1010 on 5/6 a\n"
	       "instant 2: 1020 on uuid:0 b\n"
	       "instant 3: 130 on 5/6 c\n"
	       "thread 5/6 in 5\n"
	       "async uuid:0: Default Track\n"
	       "left out 4: packet: other data\n");
}

/* ---- Clocks ---- */

static void times_are_converted_by_the_latest_snapshot(void **state)
{
	(void)state;
	describe_thread(THREAD, 5, 6, NULL);
	write_at_clock(7, 90, 3, "before");
	snapshot(1, 6, 1000, 3, 100, 0, false);
	snapshot(1, 6, 3000, 3, 200, 0, false);
	write_at_clock(7, 50, 3, "a");
	write_at_clock(7, 199, 3, "b");
	write_at_clock(7, 200, 3, "c");
	write_at_clock(7, 77, 6, "d");
	write_at_clock(7, 1, 99, "nobody's clock");
	expect("instant 1: 950 on 5/6 a\n"
	       "instant 2: 1099 on 5/6 b\n"
	       "instant 3: 3000 on 5/6 c\n"
	       "instant 4: 77 on 5/6 d\n"
	       "instant 5: 990 on 5/6 before\n"
	       "thread 5/6 in 5\n"
	       "left out 1: timestamp in a clock that cannot be resolved\n");
}

/* Clock 64 belongs to the sequence, counts µs, and says only how much later it is; two steps lead to the trace's clock. */
static void differences_add_up_whatever_packet_has_them(void **state)
{
	(void)state;
	describe_thread(THREAD, 5, 6, NULL);
	snapshot(7, 3, 500000, 64, 500, 1000, true);
	snapshot(8, 3, 500000, 64, 600, 1000, true);
	snapshot(1, 6, 2000000, 3, 500000, 0, false);
	write_at_clock(7, 10, 64, "a");
	write_at_clock(7, 10, 64, "b");
	write_at_clock(8, 1, 64, "c");
	begin_packet(7, 5);
	protobuf_varint(&trace_bytes, 58, 64);
	end_packet();
	write_at_clock(7, 0, 64, "d");
	write_at_clock(7, 10, 64, "e");
	expect("instant 1: 2010000 on 5/6 a\n"
	       "instant 2: 2020000 on 5/6 b\n"
	       "instant 3: 2001000 on 5/6 c\n"
	       "instant 4: 2035000 on 5/6 e\n"
	       "thread 5/6 in 5\n"
	       "left out 1: packet: other data\n"
	       "left out 1: track event without a time\n");
}

static void clocks_that_go_back_are_not_followed(void **state)
{
	(void)state;
	describe_thread(THREAD, 5, 6, NULL);
	snapshot(1, 6, 1000, 1, 100, 0, false);
	snapshot(1, 6, 2000, 1, 50, 0, false);
	write_at_clock(7, 120, 1, "a");
	snapshot(1, 6, 1500, 3, 50, 0, false);
	snapshot(1, 3, 9, 4, 5, 7, true);
	expect("left out 1: clock snapshot: the trace's clock goes back\n"
	       "left out 1: clock snapshot: a clock of no sequence is incremental\n"
	       "left out 1: timestamp in a clock that cannot be resolved\n");
}

static void the_primary_clock_is_the_traces(void **state)
{
	size_t message, reading;

	(void)state;
	describe_thread(THREAD, 5, 6, NULL);
	begin_packet(1, 0);
	message = protobuf_begin(&trace_bytes, 6);
	for (uint64_t clock = 3; clock <= 6; clock += 3) {
		reading = protobuf_begin(&trace_bytes, 1);
		protobuf_varint(&trace_bytes, 1, clock);
		protobuf_varint(&trace_bytes, 2, 100 * clock);
		protobuf_end(&trace_bytes, reading);
	}
	protobuf_varint(&trace_bytes, 2, 3);
	protobuf_end(&trace_bytes, message);
	end_packet();
	write_event(7, 5, INSTANT, THREAD, "monotonic", NULL);
	write_at_clock(7, 600, 6, "boottime");
	expect("instant 1: 5 on 5/6 monotonic\n"
	       "instant 2: 300 on 5/6 boottime\n"
	       "thread 5/6 in 5\n");
}

/* ---- Counters and states ---- */

static void counters_add_up_on_their_sequence(void **state)
{
	(void)state;
	describe_process(PROCESS, 5, "app");
	describe_counter(COUNTER, PROCESS, "memory", 10, true);
	describe_counter(50, 0, "load", 0, false);
	clear_state(7);
	write_count(7, 10, COUNTER, 5);
	write_count(7, 20, COUNTER, -2);
	write_count(8, 30, COUNTER, 1);
	clear_state(7);
	write_count(7, 40, COUNTER, 1);
	begin_event(7, 50, COUNT, 50);
	protobuf_double(&trace_bytes, 44, 0.25);
	end_event();
	begin_event(7, 60, COUNT, 50);
	protobuf_double(&trace_bytes, 44, (double)INFINITY);
	end_event();
	write_count(7, 70, PROCESS, 1);
	write_event(7, 80, COUNT, 50, NULL, NULL);
	expect("sample 10 50 memory of 5 in bytes\n"
	       "sample 20 30 memory of 5 in bytes\n"
	       "sample 30 10 memory of 5 in bytes\n"
	       "sample 40 10 memory of 5 in bytes\n"
	       "sample 50 0.25 load in bytes\n"
	       "process 5: app\n"
	       "left out 2: packet: other data\n"
	       "left out 1: counter value that is not finite\n"
	       "left out 1: counter event of a track that is no counter\n"
	       "left out 1: counter event without a value\n");
}

static void events_have_values_of_counters_with_them(void **state)
{
	struct protobuf packed = { 0 };

	(void)state;
	describe_counter(50, 0, "a", 0, false);
	describe_counter(51, 0, "b", 0, true);
	begin_event(7, 10, INSTANT, 0);
	protobuf_raw_varint(&packed, 50);
	protobuf_raw_varint(&packed, 51);
	protobuf_bytes(&trace_bytes, 31, packed.bytes, packed.n_bytes);
	protobuf_varint(&trace_bytes, 12, 3);
	protobuf_varint(&trace_bytes, 12, 4);
	protobuf_varint(&trace_bytes, 45, 50);
	protobuf_double(&trace_bytes, 46, 1.5);
	end_event();
	begin_event(7, 20, INSTANT, 0);
	protobuf_varint(&trace_bytes, 12, 3);
	end_event();
	protobuf_release(&packed);
	expect("sample 10 3 a in bytes\n"
	       "sample 10 4 b in bytes\n"
	       "sample 10 1.5 a in bytes\n"
	       "instant 1: 10 on uuid:0 \n"
	       "async uuid:0: Default Track\n"
	       "left out 1: extra counter value without a track\n");
}

static void a_state_lasts_until_the_next_one(void **state)
{
	(void)state;
	begin_descriptor(STATES, 0, "light");
	protobuf_bytes(&trace_bytes, 18, "", 0);
	end_descriptor();
	write_event(7, 30, STATE, STATES, "green", "c");
	write_event(7, 10, STATE, STATES, "red", NULL);
	write_event(7, 20, STATE, STATES, "red", NULL);
	write_event(7, 40, STATE, STATES, NULL, NULL);
	write_event(7, 45, STATE, STATES, NULL, NULL);
	write_event(7, 50, STATE, STATES, "red", NULL);
	expect("span 2: 10 20 on uuid:5 red\n"
	       "span 1: 30 10 on uuid:5 green cat c\n"
	       "span 6: 50 -1 on uuid:5 red\n"
	       "state uuid:5: light\n");
}

/* ---- Flows ---- */

static void write_with_flow(uint64_t timestamp, uint64_t type, uint32_t field, uint64_t id)
{
	begin_event(7, timestamp, type, THREAD);
	if (field < 47)
		protobuf_varint(&trace_bytes, field, id);
	else
		protobuf_fixed64(&trace_bytes, field, id);
	end_event();
}

static void flows_link_the_spans_that_have_their_ids(void **state)
{
	(void)state;
	describe_thread(THREAD, 5, 6, NULL);
	write_with_flow(30, SLICE_BEGIN, 47, UINT64_MAX);
	write_with_flow(10, INSTANT, 47, UINT64_MAX);
	write_with_flow(40, SLICE_END, 47, 2);
	write_with_flow(50, INSTANT, 48, UINT64_MAX);
	write_with_flow(60, INSTANT, 36, UINT64_MAX);
	write_with_flow(70, INSTANT, 42, 2);
	write_with_flow(80, INSTANT, 48, 3);
	expect("instant 1: 10 on 5/6 \n"
	       "instant 2: 50 on 5/6 \n"
	       "instant 3: 60 on 5/6 \n"
	       "instant 4: 70 on 5/6 \n"
	       "instant 5: 80 on 5/6 \n"
	       "span 1: 30 10 on 5/6 \n"
	       "flow span 1 -> instant 4 id 2\n"
	       "flow instant 1 -> span 1 id 18446744073709551615\n"
	       "flow span 1 -> instant 2 id 18446744073709551615\n"
	       "thread 5/6 in 5\n"
	       "left out 1: terminating flow id without start\n");
}

/* ---- Legacy events ---- */

static size_t legacy;

static void begin_legacy(uint64_t timestamp, char phase, const char *name, const char *category)
{
	begin_event(7, timestamp, 0, 0);
	protobuf_text(&trace_bytes, 23, name);
	protobuf_text(&trace_bytes, 22, category);
	legacy = protobuf_begin(&trace_bytes, 6);
	protobuf_varint(&trace_bytes, 2, (uint64_t)phase);
}

static void end_legacy(void)
{
	protobuf_end(&trace_bytes, legacy);
	end_event();
}

/* With one more field. */
static void write_legacy(uint64_t timestamp, char phase, const char *name, uint32_t field, uint64_t value)
{
	begin_legacy(timestamp, phase, name, "c");
	if (field)
		protobuf_varint(&trace_bytes, field, value);
	end_legacy();
}

/* The thread of sequence 7, and the times that its differences are added to. */
static void write_thread(uint64_t pid, uint64_t tid, uint64_t time_us, uint64_t thread_time_us)
{
	size_t thread;

	begin_packet(7, 0);
	thread = protobuf_begin(&trace_bytes, 44);
	protobuf_varint(&trace_bytes, 1, pid);
	protobuf_varint(&trace_bytes, 2, tid);
	protobuf_varint(&trace_bytes, 6, time_us);
	protobuf_varint(&trace_bytes, 7, thread_time_us);
	protobuf_end(&trace_bytes, thread);
	end_packet();
}

static void legacy_phases_are_those_of_chrome(void **state)
{
	(void)state;
	write_thread(5, 6, 0, 0);
	clear_state(7);
	write_thread(5, 6, 0, 0);
	write_legacy(10, 'B', "b", 0, 0);
	write_legacy(15, 'E', "b", 0, 0);
	write_legacy(20, 'X', "x", 3, 2);
	write_legacy(21, 'X', "y", 3, (uint64_t)-1);
	write_legacy(30, 'I', "global", 14, 1);
	write_legacy(31, 'I', "process", 14, 2);
	write_legacy(32, 'I', "thread", 14, 3);
	write_legacy(33, 'R', "mark", 0, 0);
	write_legacy(40, 'C', "counter", 0, 0);
	write_legacy(41, 'B', "elsewhere", 19, 8);
	write_legacy(42, 'b', "no id", 0, 0);
	expect("span 2: 20 2000 on 5/6 x cat c\n"
	       "instant 1: 30 on global global cat c\n"
	       "instant 2: 31 on 5 process cat c\n"
	       "instant 3: 32 on 5/6 thread cat c\n"
	       "instant 4: 33 on 5/6 mark cat c\n"
	       "span 1: 10 5 on 5/6 b cat c\n"
	       "span 3: 41 -1 on 5/8 elsewhere cat c\n"
	       "process 5\n"
	       "thread 5/6 in 5\n"
	       "global global\n"
	       "thread 5/8 in 5\n"
	       "left out 1: thread descriptor while the state is not valid\n"
	       "left out 1: packet: other data\n"
	       "left out 1: legacy phase X with a negative duration\n"
	       "left out 1: legacy phase C\n"
	       "left out 1: legacy asynchronous event without id\n");
}

static void legacy_operations_stack_by_their_ids(void **state)
{
	(void)state;
	clear_state(7);
	write_thread(5, 6, 0, 0);
	write_legacy(10, 'b', "n", 6, 1);
	write_legacy(11, 'b', "n", 10, 1);
	write_legacy(12, 'n', "now", 6, 1);
	write_legacy(20, 'e', "n", 11, 1);
	write_legacy(30, 'S', "s", 6, 1);
	write_legacy(31, 'T', "s", 6, 1);
	write_legacy(40, 'F', "s", 6, 1);
	begin_legacy(50, 'b', "scoped", "c");
	protobuf_varint(&trace_bytes, 6, 1);
	protobuf_text(&trace_bytes, 7, "q");
	end_legacy();
	expect("instant 1: 12 on async:global:c:1 now cat c\n"
	       "instant 2: 31 on async:global:s:1 s cat c\n"
	       "span 1: 10 10 on async:global:c:1 n cat c id 1\n"
	       "span 2: 11 -1 on async:pid 5:c:1 n cat c id 1\n"
	       "span 3: 30 10 on async:global:s:1 s cat c id 1\n"
	       "span 4: 50 -1 on async:global:c:q:1 scoped cat c id 1\n"
	       "async async:global:c:1: n\n"
	       "async async:pid 5:c:1: n in 5\n"
	       "async async:global:s:1: s\n"
	       "async async:global:c:q:1: scoped\n"
	       "left out 1: packet: other data\n");
}

/* Times of MONOTONIC in µs: whole, or as differences to what the thread descriptor says. */
static void legacy_times_may_be_differences(void **state)
{
	(void)state;
	snapshot(1, 6, 2000000, 3, 1000000, 0, false);
	for (int i = 0; i < 2; i++) {
		begin_event(7, 0, 0, 0);
		protobuf_varint(&trace_bytes, 1, 5);
		protobuf_varint(&trace_bytes, 2, 3);
		legacy = protobuf_begin(&trace_bytes, 6);
		protobuf_varint(&trace_bytes, 2, 'I');
		end_legacy();
		if (i == 0) {
			clear_state(7);
			write_thread(5, 6, 1000, 70);
		}
	}
	begin_event(7, 0, 0, 0);
	protobuf_varint(&trace_bytes, 16, 1001);
	protobuf_varint(&trace_bytes, 17, 80);
	legacy = protobuf_begin(&trace_bytes, 6);
	protobuf_varint(&trace_bytes, 2, 'I');
	end_legacy();
	expect("sample 2005000 73000 thread_time of 5/6 in ns\n"
	       "instant 1: 2005000 on 5/6 \n"
	       "sample 2001000 80000 thread_time of 5/6 in ns\n"
	       "instant 2: 2001000 on 5/6 \n"
	       "thread 5/6 in 5\n"
	       "left out 1: difference of time without a thread descriptor\n"
	       "left out 1: packet: other data\n");
}

static void metadata_names_threads_and_processes(void **state)
{
	static const char *const names[] = { "thread_name", "process_name", "other" };
	size_t annotation;

	(void)state;
	clear_state(7);
	write_thread(5, 6, 0, 0);
	for (int i = 0; i < 3; i++) {
		begin_legacy(1, 'M', names[i], "c");
		protobuf_end(&trace_bytes, legacy);
		annotation = protobuf_begin(&trace_bytes, 4);
		protobuf_text(&trace_bytes, 6, i ? "the process" : "the thread");
		protobuf_end(&trace_bytes, annotation);
		end_event();
	}
	expect("process 5: the process\n"
	       "thread 5/6: the thread in 5\n"
	       "left out 1: packet: other data\n"
	       "left out 1: legacy phase M\n");
}

/* s, t and f are bound to the span around them; out, in and both, to their own. */
static void legacy_flows_begin_once_and_arrive_often(void **state)
{
	(void)state;
	clear_state(7);
	write_thread(5, 6, 0, 0);
	for (uint64_t i = 0; i < 6; i++) {
		static const char phases[] = "sstff";

		write_legacy(100 * i + 100, 'X', "x", 3, 0);
		write_legacy(100 * i + 150, 'B', "b", 0, 0);
		if (i < 5) {
			begin_legacy(100 * i + 160, phases[i], "flow", "c");
			protobuf_varint(&trace_bytes, 6, 9);
			protobuf_varint(&trace_bytes, 12, 1);
			end_legacy();
		}
		write_legacy(100 * i + 170, 'E', "b", 0, 0);
	}
	for (uint64_t i = 0; i < 5; i++) {
		static const uint64_t directions[] = { 1, 2, 2, 3, 1 };

		begin_legacy(1000 + i, 'I', "bound", "c");
		protobuf_varint(&trace_bytes, 8, 9);
		protobuf_varint(&trace_bytes, 13, directions[i]);
		end_legacy();
	}
	read_trace(false, 0);
	protobuf_clear(&trace_bytes);
	assert_int_equal(shown.status, TRACE_OK);
	assert_non_null(strstr(shown.text, "flow instant 2 -> instant 4 id 9\n"
					   "flow instant 4 -> instant 5 id 9\n"
					   "flow span 2 -> span 6 id 9\n"
					   "flow span 6 -> span 8 id 9\n"
					   "flow span 6 -> span 10 id 9\n"));
	assert_non_null(strstr(shown.text, "left out 1: flow in without start\n"
					   "left out 1: flow out of a flow that has begun\n"
					   "left out 1: legacy flow s of a flow that has begun\n"));
}

/* ---- Arguments ---- */

static void arguments_are_json(void **state)
{
	size_t annotation, entry;

	(void)state;
	clear_state(7);
	intern(7, 3, 1, "interned");
	intern(7, 29, 2, "text \"q\"");
	begin_event(7, 1, INSTANT, 0);
	annotation = protobuf_begin(&trace_bytes, 4);
	protobuf_varint(&trace_bytes, 1, 1);
	protobuf_varint(&trace_bytes, 17, 2);
	protobuf_end(&trace_bytes, annotation);
	annotation = protobuf_begin(&trace_bytes, 4);
	protobuf_text(&trace_bytes, 10, "list");
	for (int i = 0; i < 5; i++) {
		static const uint32_t fields[] = { 2, 3, 4, 7 };

		entry = protobuf_begin(&trace_bytes, 12);
		if (i < 4)
			protobuf_varint(&trace_bytes, fields[i], UINT64_MAX);
		else
			protobuf_double(&trace_bytes, 5, 0.5);
		protobuf_end(&trace_bytes, entry);
	}
	protobuf_end(&trace_bytes, annotation);
	annotation = protobuf_begin(&trace_bytes, 4);
	protobuf_text(&trace_bytes, 10, "\xff\n");
	entry = protobuf_begin(&trace_bytes, 11);
	protobuf_text(&trace_bytes, 10, "key");
	protobuf_end(&trace_bytes, entry);
	protobuf_end(&trace_bytes, annotation);
	end_event();
	expect("instant 1: 1 on uuid:0  {\"interned\":\"text \\\"q\\\"\",\"list\":[true,18446744073709551615,-1,"
	       "\"0xffffffffffffffff\",0.5],\"\xef\xbf\xbd\\u000a\":{\"key\":null}}\n"
	       "async uuid:0: Default Track\n"
	       "left out 3: packet: other data\n");
}

/* ---- Scheduling ---- */

static void write_switch(uint64_t time, uint64_t prev_pid, uint64_t prev_state, const char *next, uint64_t next_pid)
{
	size_t switched, whole = protobuf_begin(&trace_bytes, 2);

	protobuf_varint(&trace_bytes, 1, time);
	switched = protobuf_begin(&trace_bytes, 4);
	protobuf_varint(&trace_bytes, 2, prev_pid);
	protobuf_varint(&trace_bytes, 4, prev_state);
	protobuf_text(&trace_bytes, 5, next);
	protobuf_varint(&trace_bytes, 6, next_pid);
	protobuf_varint(&trace_bytes, 7, 120);
	protobuf_end(&trace_bytes, switched);
	protobuf_end(&trace_bytes, whole);
}

static void a_run_on_a_cpu_is_a_span(void **state)
{
	size_t bundle, other;

	(void)state;
	begin_packet(1, 0);
	bundle = protobuf_begin(&trace_bytes, 1);
	protobuf_varint(&trace_bytes, 1, 3);
	write_switch(100, 0, 0, "a", 10);
	write_switch(150, 10, 1, "b", 11);
	write_switch(140, 11, 1, "early", 12);
	write_switch(160, 99, 2, "c", 12);
	other = protobuf_begin(&trace_bytes, 2);
	protobuf_varint(&trace_bytes, 1, 170);
	protobuf_end(&trace_bytes, other);
	protobuf_end(&trace_bytes, bundle);
	end_packet();
	expect("span 1: 100 50 on cpu:3 a id 10 {\"tid\":10,\"prio\":120,\"end_state\":1}\n"
	       "span 2: 150 -1 on cpu:3 b id 11 {\"tid\":11,\"prio\":120}\n"
	       "span 3: 160 -1 on cpu:3 c id 12 {\"tid\":12,\"prio\":120}\n"
	       "cpu cpu:3\n"
	       "left out 1: sched_switch earlier than the one before it\n"
	       "left out 1: ftrace event: not sched_switch\n");
}

/* The first one says who comes, but not since when that is known. */
static void compact_switches_are_lists(void **state)
{
	static const uint64_t lists[][5] = { { 1, 100, 10, 10 }, { 2, 0, 1, 2 }, { 3, 10, 11, 12 }, { 4, 120, 120, 120 }, { 6, 0, 1, 9 } };
	size_t bundle, compact;

	(void)state;
	begin_packet(1, 0);
	bundle = protobuf_begin(&trace_bytes, 1);
	protobuf_varint(&trace_bytes, 1, 0);
	compact = protobuf_begin(&trace_bytes, 4);
	protobuf_text(&trace_bytes, 5, "a");
	protobuf_text(&trace_bytes, 5, "b");
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct protobuf packed = { 0 };

		for (int j = 1; j < 4; j++)
			protobuf_raw_varint(&packed, lists[i][j]);
		protobuf_bytes(&trace_bytes, (uint32_t)lists[i][0], packed.bytes, packed.n_bytes);
		protobuf_release(&packed);
	}
	protobuf_varint(&trace_bytes, 7, 5);
	protobuf_end(&trace_bytes, compact);
	protobuf_end(&trace_bytes, bundle);
	end_packet();
	expect("span 1: 110 10 on cpu:0 b id 11 {\"tid\":11,\"prio\":120,\"end_state\":2}\n"
	       "span 2: 120 -1 on cpu:0  id 12 {\"tid\":12,\"prio\":120}\n"
	       "cpu cpu:0\n"
	       "left out 1: ftrace event: not sched_switch\n");
}

/* ---- Whole, cut, in pieces, packed ---- */

static void write_varied(void)
{
	describe_thread(THREAD, 5, 6, "main");
	describe_process(PROCESS, 5, "app");
	describe(OPERATION, PROCESS, NULL);
	describe_counter(COUNTER, PROCESS, "memory", 10, true);
	snapshot(1, 6, 1000, 3, 100, 0, false);
	snapshot(7, 3, 500, 64, 500, 1, true);
	clear_state(7);
	intern(7, 2, 1, "interned");
	write_at_clock(7, 10, 64, "a");
	write_event(7, 100, SLICE_BEGIN, THREAD, "outer", "a");
	write_with_flow(110, SLICE_BEGIN, 47, 8);
	write_event(7, 120, SLICE_END, THREAD, NULL, NULL);
	write_interned(7, 125, 1, 1);
	write_event(7, 130, STATE, STATES, "on", NULL);
	write_with_flow(140, SLICE_END, 48, 8);
	write_count(7, 150, COUNTER, 3);
	write_event(7, 160, INSTANT, OPERATION, "last", NULL);
}

static void pieces_of_any_size_give_the_same(void **state)
{
	char whole[sizeof shown.text];

	(void)state;
	write_varied();
	read_trace(true, 0);
	assert_string_equal(shown.error, "");
	memcpy(whole, shown.text, sizeof whole);
	for (size_t n = 1; n < 300; n += n < 40 ? 1 : 37) {
		read_trace(true, n);
		assert_string_equal(shown.text, whole);
	}
	protobuf_clear(&trace_bytes);
}

static void a_cut_file_gives_what_comes_before_the_cut(void **state)
{
	size_t n_bytes, n_before;

	(void)state;
	write_varied();
	n_before = trace_bytes.n_bytes;
	write_event(7, 170, INSTANT, OPERATION, "cut", NULL);
	n_bytes = trace_bytes.n_bytes;
	for (size_t n = n_before + 1; n < n_bytes; n++) {
		char error[100];

		trace_bytes.n_bytes = n;
		read_trace(false, 0);
		assert_int_equal(shown.status, TRACE_OK);
		assert_non_null(strstr(shown.text, "last"));
		assert_null(strstr(shown.text, "cut"));
		assert_non_null(strstr(shown.text, "mended 1: file that ends inside a packet\n"));
		read_trace(true, 0);
		snprintf(error, sizeof error, "trace: byte %zu: the file ends inside a packet", n_before);
		assert_int_equal(shown.status, TRACE_ERROR_FORMAT);
		assert_string_equal(shown.error, error);
	}
	protobuf_clear(&trace_bytes);
}

static void packets_may_be_compressed(void **state)
{
	char whole[sizeof shown.text];
	uint8_t packed[4000];
	uLongf n_packed = sizeof packed;

	(void)state;
	write_varied();
	read_trace(true, 0);
	memcpy(whole, shown.text, sizeof whole);
	assert_int_equal(compress(packed, &n_packed, trace_bytes.bytes, trace_bytes.n_bytes), Z_OK);
	protobuf_clear(&trace_bytes);
	begin_packet(0, 0);
	protobuf_bytes(&trace_bytes, 50, packed, n_packed);
	end_packet();
	expect(whole);
	begin_packet(0, 0);
	protobuf_bytes(&trace_bytes, 50, packed, n_packed - 5);
	end_packet();
	write_event(7, 5, INSTANT, 0, "behind", NULL);
	read_trace(false, 0);
	assert_int_equal(shown.status, TRACE_OK);
	assert_non_null(strstr(shown.text, "behind"));
	assert_non_null(strstr(shown.text, "left out 1: packet that is no valid protobuf message\n"));
	protobuf_clear(&trace_bytes);
}

/* ---- Damage ---- */

static void expect_error(int status, const char *error)
{
	read_trace(false, 0);
	protobuf_clear(&trace_bytes);
	assert_string_equal(shown.error, error);
	assert_int_equal(shown.status, status);
}

static void what_is_no_packet_is_an_error_or_left_out(void **state)
{
	(void)state;
	write_event(7, 5, INSTANT, 0, "a", NULL);
	for (int i = 0; i < 40; i++)
		protobuf_raw(&trace_bytes, "\x0b", 1); /* the begin of a group */
	expect_error(TRACE_ERROR_FORMAT, "trace: byte 14: no packet begins here");

	/* a packet of 2^63 bytes, and a field of 2^63 bytes in a packet */
	write_event(7, 5, INSTANT, 0, "a", NULL);
	protobuf_raw(&trace_bytes, "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01more", 15);
	expect("instant 1: 5 on uuid:0 a\n"
	       "async uuid:0: Default Track\n"
	       "left out 1: packet of more than 64 MiB\n"
	       "mended 1: file that ends inside a packet\n");
	begin_packet(7, 5);
	protobuf_raw(&trace_bytes, "\x5a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01more", 15);
	end_packet();
	protobuf_varint(&trace_bytes, 5, 1);
	begin_packet(7, 5);
	protobuf_varint(&trace_bytes, 11, 7); /* not the type that a track event has */
	end_packet();
	write_event(7, 5, INSTANT, 0, "a", NULL);
	expect("instant 1: 5 on uuid:0 a\n"
	       "async uuid:0: Default Track\n"
	       "left out 1: packet that is no valid protobuf message\n"
	       "left out 1: field of the file that is no packet\n"
	       "left out 1: packet: other data\n");
}

/* Gives a head, then so many zero bytes, then a packet. */
static struct {
	uint64_t n_zeros, at;
	struct protobuf head;
} gigabytes;

static int read_gigabytes(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	uint64_t n_head = gigabytes.head.n_bytes, behind = n_head + gigabytes.n_zeros;

	(void)context;
	*n_read = 0;
	while (*n_read < n_bytes && gigabytes.at < behind + trace_bytes.n_bytes) {
		uint64_t at = gigabytes.at;
		size_t n = n_bytes - *n_read;

		if (at >= n_head && at < behind) {
			n = n < behind - at ? n : (size_t)(behind - at);
			memset(data + *n_read, 0, n);
		} else {
			n = 1;
			data[*n_read] = (char)(at < n_head ? gigabytes.head.bytes[at] : trace_bytes.bytes[at - behind]);
		}
		*n_read += n;
		gigabytes.at += n;
	}
	return TRACE_OK;
}

static void a_packet_of_gigabytes_is_passed_over(void **state)
{
	struct trace_sink sink = { NULL, show_span, show_sample, show_instant, show_flow, show_track };
	struct trace_options options = { 0 };
	struct trace *trace;
	int status;

	(void)state;
	write_event(7, 5, INSTANT, 0, "first", NULL);
	protobuf_raw(&gigabytes.head, trace_bytes.bytes, trace_bytes.n_bytes);
	protobuf_clear(&trace_bytes);
	gigabytes.n_zeros = 1 << 30;
	protobuf_raw(&gigabytes.head, "\x0a", 1);
	protobuf_raw_varint(&gigabytes.head, gigabytes.n_zeros);
	write_event(7, 6, INSTANT, 0, "second", NULL);
	shown.n_bytes = 0;
	status = trace_open_source(read_gigabytes, NULL, "trace", &options, &sink, &trace);
	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		;
	assert_string_equal(trace_error(trace), "");
	assert_string_equal(shown.text, "instant 1: 5 on uuid:0 first\n"
					"instant 2: 6 on uuid:0 second\n"
					"async uuid:0: Default Track\n");
	assert_string_equal(trace_report(trace, 0)->what, "packet of more than 64 MiB");
	trace_close(trace);
	protobuf_release(&gigabytes.head);
	protobuf_clear(&trace_bytes);
}

/* Interned texts without end: an error that names the byte, and not all memory. */
static void what_is_remembered_is_bounded(void **state)
{
	char *text = malloc(1 << 20);
	char error[200];

	(void)state;
	assert_non_null(text);
	memset(text, 'a', (1 << 20) - 1);
	text[(1 << 20) - 1] = 0;
	clear_state(7);
	for (uint64_t i = 1; i < 200; i++)
		intern(7, 2, i, text);
	free(text);
	read_trace(false, 0);
	assert_int_equal(shown.status, TRACE_ERROR_LIMIT);
	assert_true(strtoul(shown.error + strlen("trace: byte "), NULL, 10) > 100 << 20);
	snprintf(error, sizeof error, "%s", strchr(strchr(shown.error, ':') + 1, ':'));
	assert_string_equal(error, ": descriptors, interned texts and clocks take more than 128 MiB");
	protobuf_release(&trace_bytes);
}

static void no_damaged_byte_crashes(void **state)
{
	unsigned n_rounds = random_rounds(3000);

	(void)state;
	write_varied();
	for (unsigned i = 0; i < n_rounds; i++) {
		struct random dice = random_from(random_seed() + i);
		size_t at = (size_t)random_below(&dice, trace_bytes.n_bytes);
		uint8_t before = trace_bytes.bytes[at];

		trace_bytes.bytes[at] = (uint8_t)random_below(&dice, 256);
		read_trace(random_chance(&dice, 20), (size_t)random_below(&dice, 100));
		trace_bytes.bytes[at] = before;
	}
	protobuf_clear(&trace_bytes);
}

static void every_allocation_may_fail(void **state)
{
	char whole[sizeof shown.text];
	long n_before, n_failed = 0;

	(void)state;
	if (!COUNTS_ALLOCATIONS)
		skip();
	write_varied();
	read_trace(false, 0);
	memcpy(whole, shown.text, sizeof whole);
	for (long n = 1;; n++) {
		n_before = n_live;
		n_until_failure = n;
		read_trace(false, 0);
		if (n_until_failure > 0)
			break;
		assert_int_equal(n_live, n_before);
		if (shown.status == TRACE_OK) {
			assert_string_equal(shown.text, whole);
			continue;
		}
		assert_int_equal(shown.status, TRACE_ERROR_MEMORY);
		assert_non_null(strstr(shown.error, "out of memory"));
		n_failed++;
	}
	n_until_failure = 0;
	assert_true(n_failed > 50);
	protobuf_release(&trace_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_stand_on_threads_processes_and_operations),
		cmocka_unit_test(events_without_a_track_are_on_the_default_one),
		cmocka_unit_test(names_and_parents_may_come_later),
		cmocka_unit_test(numbers_of_threads_are_used_again),
		cmocka_unit_test(a_descriptor_may_not_change_its_mind),
		cmocka_unit_test(interned_texts_last_until_the_state_is_cleared),
		cmocka_unit_test(defaults_are_replaced_whole),
		cmocka_unit_test(times_are_converted_by_the_latest_snapshot),
		cmocka_unit_test(differences_add_up_whatever_packet_has_them),
		cmocka_unit_test(clocks_that_go_back_are_not_followed),
		cmocka_unit_test(the_primary_clock_is_the_traces),
		cmocka_unit_test(counters_add_up_on_their_sequence),
		cmocka_unit_test(events_have_values_of_counters_with_them),
		cmocka_unit_test(a_state_lasts_until_the_next_one),
		cmocka_unit_test(flows_link_the_spans_that_have_their_ids),
		cmocka_unit_test(legacy_phases_are_those_of_chrome),
		cmocka_unit_test(legacy_operations_stack_by_their_ids),
		cmocka_unit_test(legacy_times_may_be_differences),
		cmocka_unit_test(metadata_names_threads_and_processes),
		cmocka_unit_test(legacy_flows_begin_once_and_arrive_often),
		cmocka_unit_test(arguments_are_json),
		cmocka_unit_test(a_run_on_a_cpu_is_a_span),
		cmocka_unit_test(compact_switches_are_lists),
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(a_cut_file_gives_what_comes_before_the_cut),
		cmocka_unit_test(packets_may_be_compressed),
		cmocka_unit_test(what_is_no_packet_is_an_error_or_left_out),
		cmocka_unit_test(a_packet_of_gigabytes_is_passed_over),
		cmocka_unit_test(what_is_remembered_is_bounded),
		cmocka_unit_test(no_damaged_byte_crashes),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
