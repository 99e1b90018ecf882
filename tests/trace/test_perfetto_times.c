/* Times of Perfetto traces: a trace whose sequences have clocks of their own, and the same trace with absolute times (absolute_times.h),
 * give the same rows. Random traces of several threads, whose packets are committed in any order; and the real files of
 * IFOREST_TRACES (default ../shared/data/traces), without which that test is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"
#include "tests/trace/absolute_times.h"
#include "tests/trace/lines.h"
#include "tests/trace/perfetto_sample.h"

enum { MOST_THREADS = 8, MOST_EVENTS = 400, SERVICE = 1, OWN_CLOCK = 64, OTHER_CLOCK = 65, MOST_SPANS = 200000 };

/* ---- Reading ---- */

struct source {
	const uint8_t *bytes;
	size_t n_left;
};

static int read_bytes(void *context, char *buffer, size_t n_bytes, size_t *n_read)
{
	struct source *source = context;

	*n_read = n_bytes < source->n_left ? n_bytes : source->n_left;
	memcpy(buffer, source->bytes, *n_read);
	source->bytes += *n_read;
	source->n_left -= *n_read;
	return TRACE_OK;
}

static const char *key_of(const struct trace_track *track)
{
	static char keys[2][300];
	static int turn;
	char *key = keys[turn ^= 1];

	snprintf(key, sizeof keys[0], "%.*s", track ? (int)track->key.n_bytes : 0, track ? track->key.data : "");
	return key;
}

/* Rows are told apart by their contents: their numbers depend on the order in which packets are read. */
static int keep_span(void *lines, const struct trace_span *span)
{
	lines_add(lines, "span %" PRId64 " %" PRId64 " depth %" PRId64 " on %s: %.*s %.*s", span->ts_ns, span->dur_ns, span->depth,
		  key_of(span->track), (int)span->name.n_bytes, span->name.data, (int)span->args.n_bytes,
		  span->args.data ? span->args.data : "");
	return TRACE_OK;
}

static int keep_sample(void *lines, const struct trace_sample *sample)
{
	lines_add(lines, "sample %" PRId64 " %.17g on %s: %.*s", sample->ts_ns, sample->value, key_of(sample->track),
		  (int)sample->name.n_bytes, sample->name.data);
	return TRACE_OK;
}

static int keep_instant(void *lines, const struct trace_instant *instant)
{
	lines_add(lines, "instant %" PRId64 " on %s: %.*s", instant->ts_ns, key_of(instant->track), (int)instant->name.n_bytes,
		  instant->name.data);
	return TRACE_OK;
}

static int keep_flow(void *lines, const struct trace_flow *flow)
{
	lines_add(lines, "flow %" PRId64 " on %s to %" PRId64 " on %s", flow->from.ts_ns, key_of(flow->from.track), flow->to.ts_ns,
		  key_of(flow->to.track));
	return TRACE_OK;
}

static struct lines read_rows(const struct protobuf *bytes, bool with_flows, struct trace_counts *counts)
{
	struct trace_options options = { .args = true, .complete = true };
	struct source source = { bytes->bytes, bytes->n_bytes };
	struct lines lines = { 0 };
	struct trace_sink sink = { &lines, keep_span, keep_sample, keep_instant, with_flows ? keep_flow : NULL, NULL };
	const struct trace_report_line *line;
	struct trace *trace;
	int status = trace_open_source(read_bytes, &source, "trace", &options, &sink, &trace);

	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		;
	assert_string_equal(trace_error(trace), "");
	for (size_t i = 0; (line = trace_report(trace, i)); i++)
		lines_add(&lines, "%s %" PRIu64 ": %s", line->finding == TRACE_MENDED ? "mended" : "left out", line->n, line->what);
	*counts = *trace_counts(trace);
	trace_close(trace);
	return lines;
}

/* Both forms give the same rows. Arrows lead from what was read before; so they may differ if packets had to wait. */
static void compare_forms(const char *name, const struct protobuf *relative, const struct rewritten *absolute,
			  struct trace_counts *counts)
{
	bool with_flows = absolute->n_waited == 0;
	struct trace_counts absolute_counts;
	struct lines found = read_rows(relative, with_flows, counts);
	struct lines expected = read_rows(&absolute->trace, with_flows, &absolute_counts);

	lines_compare(name, &found, &expected, false);
}

/* ---- Random traces ---- */

/* A thread that writes to its own sequence. */
struct thread {
	uint64_t number;
	int64_t now_ns; /* boot time */
	int64_t own_ns; /* what the next difference is added to */
	uint64_t connected; /* the clock that its snapshots compare its own one with */
	uint64_t unit_ns;
	bool has_both; /* clocks: 3 and 6 */
	bool is_incremental, is_legacy, has_begun;
	int64_t legacy_us; /* monotonic */
	unsigned n_open, n_events;
};

static struct {
	struct thread threads[MOST_THREADS];
	unsigned n_threads;
	uint64_t trace_clock;
	int64_t suspended_ns; /* boot time minus monotonic time, which grows by an eighth of the time: each snapshot counts */
	uint64_t n_begins, n_instants, n_counts;
} made;

static int64_t monotonic_ns(int64_t boot_ns)
{
	return boot_ns - made.suspended_ns - (boot_ns - 1000000000) / 8;
}

static int64_t time_of(const struct thread *thread, uint64_t clock)
{
	return clock == 3 ? monotonic_ns(thread->now_ns) : thread->now_ns;
}

static void write_reading(uint64_t clock, int64_t time, uint64_t unit_ns, bool is_incremental)
{
	size_t reading = protobuf_begin(&perfetto_bytes, 1);

	protobuf_varint(&perfetto_bytes, 1, clock);
	protobuf_varint(&perfetto_bytes, 2, (uint64_t)time);
	if (is_incremental)
		protobuf_varint(&perfetto_bytes, 3, 1);
	if (unit_ns > 1)
		protobuf_varint(&perfetto_bytes, 4, unit_ns);
	protobuf_end(&perfetto_bytes, reading);
}

static void write_service_snapshot(int64_t boot_ns, bool has_primary)
{
	size_t snapshot;

	perfetto_begin_packet(SERVICE, 0);
	snapshot = protobuf_begin(&perfetto_bytes, 6);
	write_reading(6, boot_ns, 1, false);
	write_reading(3, monotonic_ns(boot_ns), 1, false);
	write_reading(1, boot_ns + 1000000000, 1, false);
	if (has_primary)
		protobuf_varint(&perfetto_bytes, 2, made.trace_clock);
	protobuf_end(&perfetto_bytes, snapshot);
	perfetto_end_packet();
}

static void write_own_snapshot(struct thread *thread)
{
	size_t snapshot;

	thread->own_ns = thread->now_ns / (int64_t)thread->unit_ns * (int64_t)thread->unit_ns;
	perfetto_begin_packet(thread->number, 0);
	snapshot = protobuf_begin(&perfetto_bytes, 6);
	write_reading(thread->connected, time_of(thread, thread->connected), 1, false);
	if (thread->has_both)
		write_reading(9 - thread->connected, time_of(thread, 9 - thread->connected), 1, false);
	write_reading(OWN_CLOCK, thread->own_ns / (int64_t)thread->unit_ns, thread->unit_ns, thread->is_incremental);
	write_reading(OTHER_CLOCK, thread->now_ns + 77, 1, false);
	protobuf_end(&perfetto_bytes, snapshot);
	perfetto_end_packet();
}

static void write_descriptors(const struct thread *thread)
{
	size_t descriptor, inside;

	perfetto_begin_packet(thread->number, 0);
	descriptor = protobuf_begin(&perfetto_bytes, 60);
	protobuf_varint(&perfetto_bytes, 1, 100 + thread->number);
	inside = protobuf_begin(&perfetto_bytes, 4);
	protobuf_varint(&perfetto_bytes, 1, 7);
	protobuf_varint(&perfetto_bytes, 2, 70 + thread->number);
	protobuf_end(&perfetto_bytes, inside);
	protobuf_end(&perfetto_bytes, descriptor);
	perfetto_end_packet();
	perfetto_begin_packet(thread->number, 0);
	descriptor = protobuf_begin(&perfetto_bytes, 60);
	protobuf_varint(&perfetto_bytes, 1, 200 + thread->number);
	protobuf_varint(&perfetto_bytes, 5, 100 + thread->number);
	protobuf_text(&perfetto_bytes, 2, "bytes");
	inside = protobuf_begin(&perfetto_bytes, 8);
	protobuf_varint(&perfetto_bytes, 5, 1);
	protobuf_end(&perfetto_bytes, inside);
	protobuf_end(&perfetto_bytes, descriptor);
	perfetto_end_packet();
}

/* Clears the state, and says all that the packets after it need. */
static void write_state(struct thread *thread)
{
	size_t defaults, event_defaults, descriptor;

	perfetto_clear_state(thread->number);
	write_own_snapshot(thread);
	perfetto_begin_packet(thread->number, 0);
	defaults = protobuf_begin(&perfetto_bytes, 59);
	protobuf_varint(&perfetto_bytes, 58, OWN_CLOCK);
	event_defaults = protobuf_begin(&perfetto_bytes, 11);
	protobuf_varint(&perfetto_bytes, 11, 100 + thread->number);
	protobuf_end(&perfetto_bytes, event_defaults);
	protobuf_end(&perfetto_bytes, defaults);
	perfetto_end_packet();
	write_descriptors(thread);
	if (thread->is_legacy) {
		thread->legacy_us = monotonic_ns(thread->now_ns) / 1000;
		perfetto_begin_packet(thread->number, 0);
		descriptor = protobuf_begin(&perfetto_bytes, 44);
		protobuf_varint(&perfetto_bytes, 1, 7);
		protobuf_varint(&perfetto_bytes, 2, 70 + thread->number);
		protobuf_varint(&perfetto_bytes, 6, (uint64_t)thread->legacy_us);
		protobuf_end(&perfetto_bytes, descriptor);
		perfetto_end_packet();
	}
	thread->has_begun = true;
}

/* Writes a packet's time in one of the thread's ways, and begins the event. */
static void begin_event(struct random *dice, struct thread *thread, uint64_t type)
{
	int64_t us = monotonic_ns(thread->now_ns) / 1000;
	bool is_legacy = thread->is_legacy && us >= thread->legacy_us, is_other = !is_legacy && random_chance(dice, 20);
	int64_t units = (thread->now_ns - (thread->is_incremental ? thread->own_ns : 0)) / (int64_t)thread->unit_ns;

	if (is_legacy) {
		perfetto_begin_event(thread->number, 0, type, 0);
		protobuf_varint(&perfetto_bytes, 1, (uint64_t)(us - thread->legacy_us));
		thread->legacy_us = us;
		return;
	}
	perfetto_begin_packet(thread->number, 0);
	protobuf_varint(&perfetto_bytes, 8, is_other ? (uint64_t)(thread->now_ns + 77) : (uint64_t)units);
	if (is_other)
		protobuf_varint(&perfetto_bytes, 58, OTHER_CLOCK);
	else if (thread->is_incremental)
		thread->own_ns += units * (int64_t)thread->unit_ns;
	perfetto_event = protobuf_begin(&perfetto_bytes, 11);
	protobuf_varint(&perfetto_bytes, 9, type);
}

static void write_event(struct random *dice, struct thread *thread)
{
	uint64_t kind = random_below(dice, 5);
	char name[40];

	thread->now_ns += 3000 + (int64_t)random_below(dice, 20000);
	snprintf(name, sizeof name, "%" PRIu64 " of %" PRIu64, (uint64_t)thread->n_events++, thread->number);
	if (kind == 0 && thread->n_open > 0) {
		begin_event(dice, thread, SLICE_END);
		thread->n_open--;
	} else if (kind == 1) {
		begin_event(dice, thread, INSTANT);
		protobuf_text(&perfetto_bytes, 23, name);
		made.n_instants++;
	} else if (kind == 2) {
		begin_event(dice, thread, COUNT);
		protobuf_varint(&perfetto_bytes, 11, 200 + thread->number);
		protobuf_varint(&perfetto_bytes, 30, random_below(dice, 50));
		made.n_counts++;
	} else {
		begin_event(dice, thread, SLICE_BEGIN);
		protobuf_text(&perfetto_bytes, 23, name);
		if (random_chance(dice, 30))
			protobuf_fixed64(&perfetto_bytes, 47, random_below(dice, 20) + 1);
		thread->n_open++;
		made.n_begins++;
	}
	perfetto_end_event();
}

static void make_threads(struct random *dice)
{
	made.n_threads = 2 + (unsigned)random_below(dice, MOST_THREADS - 1);
	made.suspended_ns = (int64_t)random_below(dice, 2) * 500000;
	made.n_begins = made.n_instants = made.n_counts = 0;
	for (unsigned i = 0; i < made.n_threads; i++)
		made.threads[i] = (struct thread){
			.number = 2 + i,
			.now_ns = 1000000000 + (int64_t)random_below(dice, 5000000),
			.connected = random_chance(dice, 50) ? 6 : 3,
			.has_both = random_chance(dice, 40),
			.unit_ns = random_chance(dice, 50) ? 1000 : 1,
			.is_incremental = random_chance(dice, 75),
			.is_legacy = random_chance(dice, 20),
		};
}

/* Threads commit some packets each, in any order; what happened on one may be long past. The service's snapshots may come late,
 * unless it names the trace's clock. */
static void make_trace(struct random *dice)
{
	bool has_primary = random_chance(dice, 50);
	uint64_t n_events = 1 + random_below(dice, MOST_EVENTS), n_until_service = random_below(dice, n_events);

	make_threads(dice);
	made.trace_clock = has_primary && random_chance(dice, 50) ? 3 : 6;
	if (has_primary)
		write_service_snapshot(1000000000, true);
	for (uint64_t i = 0; i < n_events; i++) {
		struct thread *thread = &made.threads[random_below(dice, made.n_threads)];

		if (i == n_until_service)
			write_service_snapshot(1000000000 + (int64_t)random_below(dice, 1000), false);
		if (!thread->has_begun || random_chance(dice, 4))
			write_state(thread);
		for (uint64_t n = 1 + random_below(dice, 6); n > 0; n--)
			write_event(dice, thread);
	}
	write_service_snapshot(1000000000 + (int64_t)random_below(dice, 9000000), false);
}

static void threads_with_clocks_of_their_own_equal_absolute_times(void **state)
{
	uint64_t n_relative = 0, n_spans = 0;
	struct rewritten rewritten = { 0 };

	(void)state;
	for (unsigned i = 0; i < random_rounds(60); i++) {
		struct random dice = random_from(random_seed() + i);
		struct trace_counts counts;
		char name[40];

		protobuf_clear(&perfetto_bytes);
		make_trace(&dice);
		snprintf(name, sizeof name, "seed %" PRIu64, dice.seed);
		absolute_times(perfetto_bytes.bytes, perfetto_bytes.n_bytes, &rewritten);
		compare_forms(name, &perfetto_bytes, &rewritten, &counts);
		/* nothing is lost, and so both are not equal because both are empty */
		assert_int_equal(rewritten.n_unresolved, 0);
		assert_int_equal(counts.n_spans, made.n_begins);
		assert_int_equal(counts.n_instants, made.n_instants);
		assert_int_equal(counts.n_samples, made.n_counts);
		n_relative += rewritten.n_relative;
		n_spans += counts.n_spans;
	}
	print_message("%" PRIu64 " relative times, %" PRIu64 " spans\n", n_relative, n_spans);
	protobuf_release(&rewritten.trace);
}

/* ---- Real files ---- */

static void read_file(const char *path, struct protobuf *bytes)
{
	static uint8_t piece[1 << 16];
	FILE *file = fopen(path, "rb");
	size_t n;

	assert_non_null(file);
	protobuf_clear(bytes);
	while ((n = fread(piece, 1, sizeof piece, file)) > 0)
		protobuf_raw(bytes, piece, n);
	fclose(file);
}

static void real_files_equal_absolute_times(void **state)
{
	const char *traces = getenv("IFOREST_TRACES");
	struct protobuf bytes = { 0 };
	struct rewritten rewritten = { 0 };
	char folder[1000], path[1300];
	size_t n_files = 0, n_relative = 0, n_several = 0;
	struct dirent *entry;
	DIR *directory;

	(void)state;
	snprintf(folder, sizeof folder, "%s/formats/perfetto", traces ? traces : "../shared/data/traces");
	directory = opendir(folder);
	if (!directory)
		skip();
	while ((entry = readdir(directory))) {
		const char *end = strrchr(entry->d_name, '.');
		struct trace_counts counts;

		if (!end || (strcmp(end, ".pftrace") != 0 && strcmp(end, ".perfetto-trace") != 0))
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		read_file(path, &bytes);
		absolute_times(bytes.bytes, bytes.n_bytes, &rewritten);
		compare_forms(entry->d_name, &bytes, &rewritten, &counts);
		n_files++;
		n_relative += rewritten.n_relative;
		n_several += rewritten.n_sequences > 1 && rewritten.n_relative > 0;
	}
	closedir(directory);
	print_message("%zu files, %zu with several sequences; %zu relative times\n", n_files, n_several, n_relative);
	assert_true(n_files > 0);
	protobuf_release(&bytes);
	protobuf_release(&rewritten.trace);
}

/* ---- Examples ---- */

static void snapshots_of_other_sequences_may_go_back(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_snapshot(7, 6, 3000000, 64, 3000, 1000, true);
	perfetto_write_at_clock(7, 10, 64, "late");
	perfetto_snapshot(8, 6, 1000000, 64, 1000, 1000, true);
	perfetto_write_at_clock(8, 10, 64, "early");
	perfetto_write_at_clock(7, 10, 64, "later");
	perfetto_expect("instant 1: 3010000 on 5/6 late\n"
			"instant 2: 1010000 on 5/6 early\n"
			"instant 3: 3020000 on 5/6 later\n"
			"thread 5/6 in 5\n");
}

/* Differences are added up in the order of the file, even if only a later snapshot tells what the clock is worth. */
static void differences_before_the_services_snapshot_are_not_lost(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_snapshot(7, 3, 500000, 64, 500, 1000, true);
	perfetto_write_at_clock(7, 10, 64, "a");
	perfetto_write_at_clock(7, 10, 64, "b");
	perfetto_snapshot(SERVICE, 6, 2000000, 3, 500000, 0, false);
	perfetto_write_at_clock(7, 10, 64, "c");
	perfetto_expect("instant 1: 2010000 on 5/6 a\n"
			"instant 2: 2020000 on 5/6 b\n"
			"instant 3: 2030000 on 5/6 c\n"
			"thread 5/6 in 5\n");
}

/* What a difference before all snapshots of its clock was added to, nobody knows. */
static void differences_before_their_own_snapshot_are_left_out(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_write_at_clock(7, 10, 64, "a");
	perfetto_snapshot(7, 6, 3000000, 64, 3000, 1000, true);
	perfetto_write_at_clock(7, 10, 64, "b");
	perfetto_expect("instant 1: 3010000 on 5/6 b\n"
			"thread 5/6 in 5\n"
			"left out 1: timestamp in a clock that cannot be resolved\n");
}

/* The kernel's events are in boot time, which only a snapshot connects with another clock of the trace. */
static void kernel_events_wait_for_their_clock(void **state)
{
	size_t snapshot, bundle, event, print;

	(void)state;
	perfetto_begin_packet(SERVICE, 0);
	snapshot = protobuf_begin(&perfetto_bytes, 6);
	protobuf_varint(&perfetto_bytes, 2, 3);
	protobuf_end(&perfetto_bytes, snapshot);
	perfetto_end_packet();
	perfetto_begin_packet(0, 0);
	bundle = protobuf_begin(&perfetto_bytes, 1);
	protobuf_varint(&perfetto_bytes, 1, 3);
	event = protobuf_begin(&perfetto_bytes, 2);
	protobuf_varint(&perfetto_bytes, 1, 1000);
	protobuf_varint(&perfetto_bytes, 2, 9);
	print = protobuf_begin(&perfetto_bytes, 3);
	protobuf_text(&perfetto_bytes, 2, "I|9|now\n");
	protobuf_end(&perfetto_bytes, print);
	protobuf_end(&perfetto_bytes, event);
	protobuf_end(&perfetto_bytes, bundle);
	perfetto_end_packet();
	perfetto_snapshot(SERVICE, 6, 2000, 3, 500, 0, false);
	perfetto_read_trace(false, 0);
	protobuf_clear(&perfetto_bytes);
	assert_non_null(strstr(perfetto_shown.text, "instant 1: -500 on"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_of_other_sequences_may_go_back),
		cmocka_unit_test(differences_before_the_services_snapshot_are_not_lost),
		cmocka_unit_test(differences_before_their_own_snapshot_are_left_out),
		cmocka_unit_test(kernel_events_wait_for_their_clock),
		cmocka_unit_test(threads_with_clocks_of_their_own_equal_absolute_times),
		cmocka_unit_test(real_files_equal_absolute_times),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
