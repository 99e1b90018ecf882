/* What is read of Perfetto traces, by small ones that are written for the purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/trace/perfetto_sample.h"

/* ---- What is read ---- */

static void slices_stand_on_threads_processes_and_operations(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, "main");
	perfetto_describe_process(PROCESS, 5, "app");
	perfetto_describe(OPERATION, PROCESS, "load");
	perfetto_write_event(7, 100, SLICE_BEGIN, THREAD, "outer", "a");
	perfetto_write_event(7, 110, SLICE_BEGIN, THREAD, "inner", NULL);
	perfetto_write_event(7, 115, INSTANT, PROCESS, "now", "b");
	perfetto_write_event(7, 120, SLICE_END, THREAD, NULL, NULL);
	perfetto_write_event(8, 125, SLICE_BEGIN, OPERATION, "step", NULL);
	perfetto_write_event(7, 130, SLICE_END, OPERATION, NULL, NULL);
	perfetto_write_event(7, 140, SLICE_END, THREAD, NULL, NULL);
	perfetto_write_event(7, 150, SLICE_END, THREAD, NULL, NULL);
	perfetto_write_event(7, 160, SLICE_BEGIN, THREAD, "open", NULL);
	perfetto_expect("instant 1: 115 on 5 now cat b\n"
	       "span 2: 110 10 on 5/6 inner\n"
	       "span 3: 125 5 on uuid:3 step\n"
	       "span 1: 100 40 on 5/6 outer cat a\n"
	       "span 4: 160 -1 on 5/6 open\n"
	       "process 5: app\n"
	       "thread 5/6: main in 5\n"
	       "async uuid:3: load in 5\n"
	       "left out 1: end without begin\n");
}

static void events_without_a_track_are_on_the_default_one(void **state)
{
	(void)state;
	perfetto_write_event(7, 5, INSTANT, 0, "a", NULL);
	perfetto_write_event(7, 6, INSTANT, 99, "b", NULL);
	perfetto_expect("instant 1: 5 on uuid:0 a\n"
	       "instant 2: 6 on uuid:99 b\n"
	       "async uuid:0: Default Track\n"
	       "async uuid:99: b\n");
}

/* A track is named after its first event in time, and by a descriptor wherever that comes; parents may come late, too. */
static void names_and_parents_may_come_later(void **state)
{
	(void)state;
	perfetto_write_event(7, 20, INSTANT, 10, "second", NULL);
	perfetto_write_event(7, 10, INSTANT, 10, "first", NULL);
	perfetto_write_event(7, 30, INSTANT, 11, "event", NULL);
	perfetto_describe(11, PROCESS, "described");
	perfetto_write_event(7, 40, INSTANT, 11, "event", NULL);
	perfetto_describe_process(PROCESS, 5, "app");
	perfetto_expect("instant 1: 20 on uuid:10 second\n"
	       "instant 2: 10 on uuid:10 first\n"
	       "instant 3: 30 on uuid:11 event\n"
	       "instant 4: 40 on uuid:11 event\n"
	       "process 5: app\n"
	       "async uuid:10: first\n"
	       "async uuid:11: described in 5\n");
}

/* It waits for the descriptor. */
static void an_event_may_come_before_its_thread(void **state)
{
	(void)state;
	perfetto_write_event(7, 10, SLICE_BEGIN, THREAD, "early", NULL);
	perfetto_write_event(7, 11, INSTANT, PROCESS, "now", NULL);
	perfetto_describe_thread(THREAD, 5, 6, "main");
	perfetto_describe_process(PROCESS, 5, "app");
	perfetto_write_event(7, 20, SLICE_END, THREAD, NULL, NULL);
	perfetto_expect("instant 1: 11 on 5 now\n"
	       "span 1: 10 10 on 5/6 early\n"
	       "process 5: app\n"
	       "thread 5/6: main in 5\n");
}

/* As Rust's tracing-perfetto writes: the track, its thread and its counter stand behind the first events. */
static void events_wait_for_the_descriptor_of_their_track(void **state)
{
	(void)state;
	perfetto_clear_state(7);
	perfetto_write_event(7, 10, SLICE_BEGIN, THREAD, "work", NULL);
	perfetto_write_count(7, 11, COUNTER, 3);
	perfetto_begin_packet(7, 0);
	perfetto_end_packet();
	perfetto_write_event(7, 20, SLICE_END, THREAD, NULL, NULL);
	perfetto_describe_thread(THREAD, 5, 6, "main");
	perfetto_write_event(7, 30, INSTANT, THREAD, "later", NULL);
	perfetto_describe_counter(COUNTER, THREAD, "bytes", 1, false);
	perfetto_write_count(7, 40, COUNTER, 4);
	perfetto_read_trace(false, 0);
	protobuf_clear(&perfetto_bytes);
	assert_non_null(strstr(perfetto_shown.text, "instant 1: 30 on 5/6 later\n"));
	assert_non_null(strstr(perfetto_shown.text, "span 1: 10 10 on 5/6 work\n"));
	assert_non_null(strstr(perfetto_shown.text, "11 3 bytes"));
	assert_non_null(strstr(perfetto_shown.text, "40 4 bytes"));
	assert_null(strstr(perfetto_shown.text, "uuid:"));
}

/* What waits takes 16 MiB at most. An event that was taken then is on a track of its own, below its thread. */
static void a_descriptor_may_come_too_late(void **state)
{
	enum { NAME_BYTES = 1000000, N_EVENTS = 20 };
	char *name = malloc(NAME_BYTES + 1);

	(void)state;
	assert_non_null(name);
	memset(name, 'x', NAME_BYTES);
	name[NAME_BYTES] = 0;
	perfetto_write_event(7, 10, SLICE_BEGIN, THREAD, "early", NULL);
	for (int i = 0; i < N_EVENTS; i++)
		perfetto_write_event(7, 5, 0, THREAD, name, NULL); /* left out: it has no type */
	free(name);
	perfetto_describe_thread(THREAD, 5, 6, "main");
	perfetto_write_event(7, 20, SLICE_END, THREAD, NULL, NULL);
	perfetto_expect("span 1: 10 10 on uuid:1 early\n"
	       "async uuid:1: early in 5/6\n"
	       "thread 5/6: main in 5\n"
	       "left out 20: track event without type or phase\n");
}

static void numbers_of_threads_are_used_again(void **state)
{
	(void)state;
	perfetto_describe_thread(20, 5, 6, "old");
	perfetto_write_event(7, 1, INSTANT, 20, "a", NULL);
	perfetto_describe_thread(21, 5, 6, "new");
	perfetto_write_event(7, 2, INSTANT, 21, "b", NULL);
	perfetto_write_event(7, 3, INSTANT, 20, "c", NULL);
	perfetto_describe_process(22, 5, "one");
	perfetto_describe_process(23, 5, "two");
	perfetto_describe_thread(24, 5, 6, "newest");
	perfetto_write_event(7, 4, INSTANT, 24, "d", NULL);
	perfetto_expect("instant 1: 1 on 5/6 a\n"
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
	perfetto_describe(10, 0, "kept");
	perfetto_describe(10, 0, "second name");
	perfetto_describe(10, PROCESS, "conflict");
	perfetto_write_event(7, 1, INSTANT, 10, "a", NULL);
	perfetto_describe(12, 13, NULL);
	perfetto_describe(13, 12, NULL);
	perfetto_write_event(7, 2, INSTANT, 12, "in a circle", NULL);
	perfetto_expect("instant 1: 1 on uuid:10 a\n"
	       "async uuid:10: kept\n"
	       "left out 1: conflicting track descriptor\n"
	       "left out 1: track whose parents form a circle or are too many\n");
}

/* ---- State of sequences ---- */

static void interned_texts_last_until_the_state_is_cleared(void **state)
{
	(void)state;
	perfetto_write_interned(7, 1, 1, 1);
	perfetto_clear_state(7);
	perfetto_intern(7, 2, 1, "first");
	perfetto_intern(7, 2, 1, "ignored");
	perfetto_intern(7, 1, 1, "category");
	perfetto_write_interned(7, 2, 1, 1);
	perfetto_write_interned(8, 3, 1, 1);
	perfetto_begin_packet(7, 0);
	protobuf_varint(&perfetto_bytes, 42, 1);
	perfetto_end_packet();
	perfetto_write_interned(7, 4, 1, 1);
	perfetto_clear_state(7);
	perfetto_write_interned(7, 5, 1, 1);
	perfetto_intern(7, 2, 1, "second");
	perfetto_write_interned(7, 6, 1, 1);
	perfetto_expect("instant 1: 2 on uuid:0 first cat category,more\n"
	       "instant 2: 5 on uuid:0  cat more\n"
	       "instant 3: 6 on uuid:0 second cat more\n"
	       "async uuid:0: Default Track\n"
	       "left out 3: packet needs incremental state that is not valid\n"
	       "left out 7: packet: other data\n");
}

static void write_defaults(uint64_t sequence, uint64_t clock, uint64_t uuid)
{
	size_t defaults, of_events;

	perfetto_begin_packet(sequence, 0);
	defaults = protobuf_begin(&perfetto_bytes, 59);
	if (clock)
		protobuf_varint(&perfetto_bytes, 58, clock);
	if (uuid) {
		of_events = protobuf_begin(&perfetto_bytes, 11);
		protobuf_varint(&perfetto_bytes, 11, uuid);
		protobuf_end(&perfetto_bytes, of_events);
	}
	protobuf_end(&perfetto_bytes, defaults);
	perfetto_end_packet();
}

static void defaults_are_replaced_whole(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_snapshot(1, 6, 1000, 3, 100, 0, false);
	perfetto_clear_state(7);
	write_defaults(7, 3, THREAD);
	perfetto_write_event(7, 110, INSTANT, 0, "a", NULL);
	write_defaults(7, 3, 0);
	perfetto_write_event(7, 120, INSTANT, 0, "b", NULL);
	write_defaults(7, 0, THREAD);
	perfetto_write_event(7, 130, INSTANT, 0, "c", NULL);
	perfetto_expect("instant 1: 1010 on 5/6 a\n"
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
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_write_at_clock(7, 90, 3, "before");
	perfetto_snapshot(1, 6, 1000, 3, 100, 0, false);
	perfetto_snapshot(1, 6, 3000, 3, 200, 0, false);
	perfetto_write_at_clock(7, 50, 3, "a");
	perfetto_write_at_clock(7, 199, 3, "b");
	perfetto_write_at_clock(7, 200, 3, "c");
	perfetto_write_at_clock(7, 77, 6, "d");
	perfetto_write_at_clock(7, 1, 99, "nobody's clock");
	perfetto_expect("instant 1: 990 on 5/6 before\n"
	       "instant 2: 950 on 5/6 a\n"
	       "instant 3: 1099 on 5/6 b\n"
	       "instant 4: 3000 on 5/6 c\n"
	       "instant 5: 77 on 5/6 d\n"
	       "thread 5/6 in 5\n"
	       "left out 1: timestamp in a clock that cannot be resolved\n");
}

/* Clock 64 belongs to the sequence, counts µs, and says only how much later it is; two steps lead to the trace's clock. */
static void differences_add_up_whatever_packet_has_them(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_snapshot(7, 3, 500000, 64, 500, 1000, true);
	perfetto_snapshot(8, 3, 500000, 64, 600, 1000, true);
	perfetto_snapshot(1, 6, 2000000, 3, 500000, 0, false);
	perfetto_write_at_clock(7, 10, 64, "a");
	perfetto_write_at_clock(7, 10, 64, "b");
	perfetto_write_at_clock(8, 1, 64, "c");
	perfetto_begin_packet(7, 5);
	protobuf_varint(&perfetto_bytes, 58, 64);
	perfetto_end_packet();
	perfetto_write_at_clock(7, 0, 64, "d");
	perfetto_write_at_clock(7, 10, 64, "e");
	perfetto_expect("instant 1: 2010000 on 5/6 a\n"
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
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_snapshot(1, 6, 1000, 1, 100, 0, false);
	perfetto_snapshot(1, 6, 2000, 1, 50, 0, false);
	perfetto_write_at_clock(7, 120, 1, "a");
	perfetto_snapshot(1, 6, 1500, 1, 200, 0, false);
	perfetto_snapshot(1, 3, 9, 4, 5, 7, true);
	perfetto_expect("left out 1: clock snapshot: the trace's clock goes back\n"
	       "left out 1: clock snapshot: a clock of no sequence is incremental\n"
	       "left out 1: timestamp in a clock that cannot be resolved\n");
}

static void the_primary_clock_is_the_traces(void **state)
{
	size_t message, reading;

	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_begin_packet(1, 0);
	message = protobuf_begin(&perfetto_bytes, 6);
	for (uint64_t clock = 3; clock <= 6; clock += 3) {
		reading = protobuf_begin(&perfetto_bytes, 1);
		protobuf_varint(&perfetto_bytes, 1, clock);
		protobuf_varint(&perfetto_bytes, 2, 100 * clock);
		protobuf_end(&perfetto_bytes, reading);
	}
	protobuf_varint(&perfetto_bytes, 2, 3);
	protobuf_end(&perfetto_bytes, message);
	perfetto_end_packet();
	perfetto_write_event(7, 5, INSTANT, THREAD, "monotonic", NULL);
	perfetto_write_at_clock(7, 600, 6, "boottime");
	perfetto_expect("instant 1: 5 on 5/6 monotonic\n"
	       "instant 2: 300 on 5/6 boottime\n"
	       "thread 5/6 in 5\n");
}

/* ---- Counters and states ---- */

static void counters_add_up_on_their_sequence(void **state)
{
	(void)state;
	perfetto_describe_process(PROCESS, 5, "app");
	perfetto_describe_counter(COUNTER, PROCESS, "memory", 10, true);
	perfetto_describe_counter(50, 0, "load", 0, false);
	perfetto_clear_state(7);
	perfetto_write_count(7, 10, COUNTER, 5);
	perfetto_write_count(7, 20, COUNTER, -2);
	perfetto_write_count(8, 30, COUNTER, 1);
	perfetto_clear_state(7);
	perfetto_write_count(7, 40, COUNTER, 1);
	perfetto_begin_event(7, 50, COUNT, 50);
	protobuf_double(&perfetto_bytes, 44, 0.25);
	perfetto_end_event();
	perfetto_begin_event(7, 60, COUNT, 50);
	protobuf_double(&perfetto_bytes, 44, (double)INFINITY);
	perfetto_end_event();
	perfetto_write_count(7, 70, PROCESS, 1);
	perfetto_write_event(7, 80, COUNT, 50, NULL, NULL);
	perfetto_expect("sample 10 50 memory of 5 in bytes\n"
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
	perfetto_describe_counter(50, 0, "a", 0, false);
	perfetto_describe_counter(51, 0, "b", 0, true);
	perfetto_begin_event(7, 10, INSTANT, 0);
	protobuf_raw_varint(&packed, 50);
	protobuf_raw_varint(&packed, 51);
	protobuf_bytes(&perfetto_bytes, 31, packed.bytes, packed.n_bytes);
	protobuf_varint(&perfetto_bytes, 12, 3);
	protobuf_varint(&perfetto_bytes, 12, 4);
	protobuf_varint(&perfetto_bytes, 45, 50);
	protobuf_double(&perfetto_bytes, 46, 1.5);
	perfetto_end_event();
	perfetto_begin_event(7, 20, INSTANT, 0);
	protobuf_varint(&perfetto_bytes, 12, 3);
	perfetto_end_event();
	protobuf_release(&packed);
	perfetto_expect("sample 10 3 a in bytes\n"
	       "sample 10 4 b in bytes\n"
	       "sample 10 1.5 a in bytes\n"
	       "instant 1: 10 on uuid:0 \n"
	       "async uuid:0: Default Track\n"
	       "left out 1: extra counter value without a track\n");
}

static void counters_of_a_known_type_have_its_name_and_unit(void **state)
{
	size_t counter;

	(void)state;
	for (uint64_t type = 1; type <= 3; type++) {
		perfetto_begin_descriptor(50 + type, 0, NULL);
		counter = protobuf_begin(&perfetto_bytes, 8);
		protobuf_varint(&perfetto_bytes, 1, type);
		protobuf_end(&perfetto_bytes, counter);
		perfetto_end_descriptor();
		perfetto_write_count(7, type, 50 + type, 1);
	}
	perfetto_expect("sample 1 1 thread_time in ns\n"
	       "sample 2 1 thread_instruction_count in count\n"
	       "sample 3 1 \n");
}

static void a_state_lasts_until_the_next_one(void **state)
{
	(void)state;
	perfetto_begin_descriptor(STATES, 0, "light");
	protobuf_bytes(&perfetto_bytes, 18, "", 0);
	perfetto_end_descriptor();
	perfetto_write_event(7, 30, STATE, STATES, "green", "c");
	perfetto_write_event(7, 10, STATE, STATES, "red", NULL);
	perfetto_write_event(7, 20, STATE, STATES, "red", NULL);
	perfetto_write_event(7, 40, STATE, STATES, NULL, NULL);
	perfetto_write_event(7, 45, STATE, STATES, NULL, NULL);
	perfetto_write_event(7, 50, STATE, STATES, "red", NULL);
	perfetto_expect("span 2: 10 20 on uuid:5 red\n"
	       "span 1: 30 10 on uuid:5 green cat c\n"
	       "span 6: 50 -1 on uuid:5 red\n"
	       "state uuid:5: light\n");
}

/* A track that nobody has described may become one of states. */
static void a_state_needs_a_track_of_states(void **state)
{
	(void)state;
	perfetto_describe(OPERATION, 0, "load");
	perfetto_write_event(7, 10, STATE, OPERATION, "red", NULL);
	perfetto_write_event(7, 20, STATE, 99, "green", NULL);
	perfetto_expect("span 1: 20 -1 on uuid:99 green\n"
	       "async uuid:3: load\n"
	       "state uuid:99: green\n"
	       "left out 1: state event of a track that is none of states\n");
}

/* ---- Order of tracks, and the range of interest ---- */

static void rank(uint64_t uuid, uint64_t parent, int64_t rank)
{
	perfetto_begin_descriptor(uuid, parent, NULL);
	protobuf_varint(&perfetto_bytes, 12, (uint64_t)rank);
	perfetto_end_descriptor();
}

static void order(uint64_t uuid, uint32_t field, uint64_t how)
{
	perfetto_begin_descriptor(uuid, 0, "parent");
	protobuf_varint(&perfetto_bytes, field, how);
	perfetto_end_descriptor();
}

static void a_rank_counts_where_the_parent_sorts_by_ranks(void **state)
{
	(void)state;
	order(20, 11, 3);
	order(30, 11, 2);
	rank(21, 20, -7);
	rank(31, 30, -8);
	perfetto_write_event(7, 10, INSTANT, 21, "a", NULL);
	perfetto_write_event(7, 10, INSTANT, 31, "b", NULL);
	perfetto_write_event(7, 10, INSTANT, 20, "c", NULL);
	perfetto_expect("instant 1: 10 on uuid:21 a\n"
	       "instant 2: 10 on uuid:31 b\n"
	       "instant 3: 10 on uuid:20 c\n"
	       "async uuid:20: parent\n"
	       "async uuid:21: a in uuid:20 sorted -7\n"
	       "async uuid:30: parent\n"
	       "async uuid:31: b in uuid:30\n");
}

static void rank_thread_and_process(void)
{
	size_t subject;

	perfetto_begin_descriptor(PROCESS, 0, NULL);
	subject = protobuf_begin(&perfetto_bytes, 3);
	protobuf_varint(&perfetto_bytes, 1, 5);
	protobuf_text(&perfetto_bytes, 6, "app");
	protobuf_end(&perfetto_bytes, subject);
	protobuf_varint(&perfetto_bytes, 12, 3);
	perfetto_end_descriptor();
	perfetto_begin_descriptor(THREAD, 0, NULL);
	subject = protobuf_begin(&perfetto_bytes, 4);
	protobuf_varint(&perfetto_bytes, 1, 5);
	protobuf_varint(&perfetto_bytes, 2, 6);
	protobuf_text(&perfetto_bytes, 5, "main");
	protobuf_end(&perfetto_bytes, subject);
	protobuf_varint(&perfetto_bytes, 12, 4);
	perfetto_end_descriptor();
}

static void ranks_of_threads_and_processes_count_if_the_root_says_so(void **state)
{
	(void)state;
	rank_thread_and_process();
	perfetto_expect("process 5: app\nthread 5/6: main in 5\n");
	rank_thread_and_process();
	order(0, 19, 1);
	perfetto_expect("process 5: app sorted 3\nthread 5/6: main in 5\n");
	order(0, 20, 1);
	rank_thread_and_process();
	perfetto_expect("process 5: app\nthread 5/6: main in 5 sorted 4\n");
	/* an event before the descriptor stands on a track below the thread */
	order(0, 20, 1);
	perfetto_write_event(7, 10, INSTANT, THREAD, "now", NULL);
	rank_thread_and_process();
	perfetto_expect("instant 1: 10 on 5/6 now\n"
	       "process 5: app\n"
	       "thread 5/6: main in 5 sorted 4\n");
}

static void events_before_the_range_of_interest_are_left_out(void **state)
{
	size_t range;

	(void)state;
	perfetto_write_event(7, 1000, INSTANT, THREAD, "before the packet", NULL);
	perfetto_begin_packet(7, 0);
	range = protobuf_begin(&perfetto_bytes, 90);
	protobuf_varint(&perfetto_bytes, 1, 2);
	protobuf_end(&perfetto_bytes, range);
	perfetto_end_packet();
	perfetto_write_event(7, 1999, INSTANT, THREAD, "early", NULL);
	perfetto_write_event(7, 2000, INSTANT, THREAD, "now", NULL);
	perfetto_expect("instant 1: 1000 on uuid:1 before the packet\n"
	       "instant 2: 2000 on uuid:1 now\n"
	       "async uuid:1: before the packet\n"
	       "left out 1: track event before the range of interest\n");
}

/* ---- Flows ---- */

static void flows_link_the_spans_that_have_their_ids(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, NULL);
	perfetto_write_with_flow(30, SLICE_BEGIN, 47, UINT64_MAX);
	perfetto_write_with_flow(10, INSTANT, 47, UINT64_MAX);
	perfetto_write_with_flow(40, SLICE_END, 47, 2);
	perfetto_write_with_flow(50, INSTANT, 48, UINT64_MAX);
	perfetto_write_with_flow(60, INSTANT, 36, UINT64_MAX);
	perfetto_write_with_flow(70, INSTANT, 42, 2);
	perfetto_write_with_flow(80, INSTANT, 48, 3);
	perfetto_expect("instant 1: 10 on 5/6 \n"
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
	perfetto_begin_event(7, timestamp, 0, 0);
	protobuf_text(&perfetto_bytes, 23, name);
	protobuf_text(&perfetto_bytes, 22, category);
	legacy = protobuf_begin(&perfetto_bytes, 6);
	protobuf_varint(&perfetto_bytes, 2, (uint64_t)phase);
}

static void end_legacy(void)
{
	protobuf_end(&perfetto_bytes, legacy);
	perfetto_end_event();
}

/* With one more field. */
static void write_legacy(uint64_t timestamp, char phase, const char *name, uint32_t field, uint64_t value)
{
	begin_legacy(timestamp, phase, name, "c");
	if (field)
		protobuf_varint(&perfetto_bytes, field, value);
	end_legacy();
}

/* The thread of sequence 7, and the times that its differences are added to. */
static void write_thread(uint64_t pid, uint64_t tid, uint64_t time_us, uint64_t thread_time_us)
{
	size_t thread;

	perfetto_begin_packet(7, 0);
	thread = protobuf_begin(&perfetto_bytes, 44);
	protobuf_varint(&perfetto_bytes, 1, pid);
	protobuf_varint(&perfetto_bytes, 2, tid);
	protobuf_varint(&perfetto_bytes, 6, time_us);
	protobuf_varint(&perfetto_bytes, 7, thread_time_us);
	protobuf_end(&perfetto_bytes, thread);
	perfetto_end_packet();
}

static void legacy_phases_are_those_of_chrome(void **state)
{
	(void)state;
	write_thread(5, 6, 0, 0);
	perfetto_clear_state(7);
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
	perfetto_expect("span 2: 20 2000 on 5/6 x cat c\n"
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
	perfetto_clear_state(7);
	write_thread(5, 6, 0, 0);
	write_legacy(10, 'b', "n", 6, 1);
	write_legacy(11, 'b', "n", 10, 1);
	write_legacy(12, 'n', "now", 6, 1);
	write_legacy(20, 'e', "n", 11, 1);
	write_legacy(30, 'S', "s", 6, 1);
	write_legacy(31, 'T', "s", 6, 1);
	write_legacy(40, 'F', "s", 6, 1);
	begin_legacy(50, 'b', "scoped", "c");
	protobuf_varint(&perfetto_bytes, 6, 1);
	protobuf_text(&perfetto_bytes, 7, "q");
	end_legacy();
	perfetto_expect("instant 1: 12 on async:global:c:1 now cat c\n"
	       "instant 2: 31 on async:global:s:1 s cat c\n"
	       "span 1: 10 10 on async:global:c:1 n cat c id 1\n"
	       "span 3: 30 10 on async:global:s:1 s cat c id 1\n"
	       "span 2: 11 -1 on async:pid 5:c:1 n cat c id 1\n"
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
	perfetto_snapshot(1, 6, 2000000, 3, 1000000, 0, false);
	for (int i = 0; i < 2; i++) {
		perfetto_begin_event(7, 0, 0, 0);
		protobuf_varint(&perfetto_bytes, 1, 5);
		protobuf_varint(&perfetto_bytes, 2, 3);
		legacy = protobuf_begin(&perfetto_bytes, 6);
		protobuf_varint(&perfetto_bytes, 2, 'I');
		end_legacy();
		if (i == 0) {
			perfetto_clear_state(7);
			write_thread(5, 6, 1000, 70);
		}
	}
	perfetto_begin_event(7, 0, 0, 0);
	protobuf_varint(&perfetto_bytes, 16, 1001);
	protobuf_varint(&perfetto_bytes, 17, 80);
	legacy = protobuf_begin(&perfetto_bytes, 6);
	protobuf_varint(&perfetto_bytes, 2, 'I');
	end_legacy();
	perfetto_expect("sample 2005000 73000 thread_time of 5/6\n"
	       "instant 1: 2005000 on 5/6 \n"
	       "sample 2001000 80000 thread_time of 5/6\n"
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
	perfetto_clear_state(7);
	write_thread(5, 6, 0, 0);
	for (int i = 0; i < 3; i++) {
		begin_legacy(1, 'M', names[i], "c");
		protobuf_end(&perfetto_bytes, legacy);
		annotation = protobuf_begin(&perfetto_bytes, 4);
		protobuf_text(&perfetto_bytes, 6, i ? "the process" : "the thread");
		protobuf_end(&perfetto_bytes, annotation);
		perfetto_end_event();
	}
	perfetto_expect("process 5: the process\n"
	       "thread 5/6: the thread in 5\n"
	       "left out 1: packet: other data\n"
	       "left out 1: legacy phase M\n");
}

/* s, t and f are bound to the span around them; out, in and both, to their own. */
static void legacy_flows_begin_once_and_arrive_often(void **state)
{
	(void)state;
	perfetto_clear_state(7);
	write_thread(5, 6, 0, 0);
	for (uint64_t i = 0; i < 6; i++) {
		static const char phases[] = "sstff";

		write_legacy(100 * i + 100, 'X', "x", 3, 0);
		write_legacy(100 * i + 150, 'B', "b", 0, 0);
		if (i < 5) {
			begin_legacy(100 * i + 160, phases[i], "flow", "c");
			protobuf_varint(&perfetto_bytes, 6, 9);
			protobuf_varint(&perfetto_bytes, 12, 1);
			end_legacy();
		}
		write_legacy(100 * i + 170, 'E', "b", 0, 0);
	}
	for (uint64_t i = 0; i < 5; i++) {
		static const uint64_t directions[] = { 1, 2, 2, 3, 1 };

		begin_legacy(1000 + i, 'I', "bound", "c");
		protobuf_varint(&perfetto_bytes, 8, 9);
		protobuf_varint(&perfetto_bytes, 13, directions[i]);
		end_legacy();
	}
	perfetto_read_trace(false, 0);
	protobuf_clear(&perfetto_bytes);
	assert_int_equal(perfetto_shown.status, TRACE_OK);
	assert_non_null(strstr(perfetto_shown.text, "flow instant 2 -> instant 4 id 9\n"
					   "flow instant 4 -> instant 5 id 9\n"
					   "flow span 2 -> span 6 id 9\n"
					   "flow span 6 -> span 8 id 9\n"
					   "flow span 6 -> span 10 id 9\n"));
	assert_non_null(strstr(perfetto_shown.text, "left out 1: flow in without start\n"
					   "left out 1: flow out of a flow that has begun\n"
					   "left out 1: legacy flow s of a flow that has begun\n"));
}

/* ---- Arguments ---- */

static void arguments_are_json(void **state)
{
	size_t annotation, entry;

	(void)state;
	perfetto_clear_state(7);
	perfetto_intern(7, 3, 1, "interned");
	perfetto_intern(7, 29, 2, "text \"q\"");
	perfetto_begin_event(7, 1, INSTANT, 0);
	annotation = protobuf_begin(&perfetto_bytes, 4);
	protobuf_varint(&perfetto_bytes, 1, 1);
	protobuf_varint(&perfetto_bytes, 17, 2);
	protobuf_end(&perfetto_bytes, annotation);
	annotation = protobuf_begin(&perfetto_bytes, 4);
	protobuf_text(&perfetto_bytes, 10, "list");
	for (int i = 0; i < 5; i++) {
		static const uint32_t fields[] = { 2, 3, 4, 7 };

		entry = protobuf_begin(&perfetto_bytes, 12);
		if (i < 4)
			protobuf_varint(&perfetto_bytes, fields[i], UINT64_MAX);
		else
			protobuf_double(&perfetto_bytes, 5, 0.5);
		protobuf_end(&perfetto_bytes, entry);
	}
	protobuf_end(&perfetto_bytes, annotation);
	annotation = protobuf_begin(&perfetto_bytes, 4);
	protobuf_text(&perfetto_bytes, 10, "\xff\n");
	entry = protobuf_begin(&perfetto_bytes, 11);
	protobuf_text(&perfetto_bytes, 10, "key");
	protobuf_end(&perfetto_bytes, entry);
	protobuf_end(&perfetto_bytes, annotation);
	perfetto_end_event();
	perfetto_expect("instant 1: 1 on uuid:0  {\"interned\":\"text \\\"q\\\"\",\"list\":[true,18446744073709551615,-1,"
	       "\"0xffffffffffffffff\",0.5],\"\xef\xbf\xbd\\u000a\":{\"key\":null}}\n"
	       "async uuid:0: Default Track\n"
	       "left out 3: packet: other data\n"
	       "mended 1: string that is not UTF-8\n");
}

/* Names, categories, names of tracks and arguments: each byte that belongs to no character is U+FFFD. */
static void begin_nested(size_t *begin, uint32_t field, uint64_t type)
{
	*begin = protobuf_begin(&perfetto_bytes, field);
	protobuf_varint(&perfetto_bytes, 1, type);
}

/* A dictionary with more keys than values: an integer, an array, a boolean. */
static void write_nested_value(void)
{
	size_t dictionary, array, value;

	begin_nested(&dictionary, 8, 1);
	protobuf_text(&perfetto_bytes, 2, "a");
	protobuf_text(&perfetto_bytes, 2, "b");
	protobuf_text(&perfetto_bytes, 2, "c");
	protobuf_text(&perfetto_bytes, 2, "d");
	begin_nested(&value, 3, 0);
	protobuf_varint(&perfetto_bytes, 5, UINT64_MAX);
	protobuf_end(&perfetto_bytes, value);
	begin_nested(&array, 3, 2);
	begin_nested(&value, 4, 0);
	protobuf_double(&perfetto_bytes, 6, 0.5);
	protobuf_end(&perfetto_bytes, value);
	begin_nested(&value, 4, 0);
	protobuf_text(&perfetto_bytes, 8, "t");
	protobuf_end(&perfetto_bytes, value);
	begin_nested(&value, 4, 2);
	protobuf_end(&perfetto_bytes, value);
	protobuf_end(&perfetto_bytes, array);
	begin_nested(&value, 3, 0);
	protobuf_varint(&perfetto_bytes, 7, 1);
	protobuf_end(&perfetto_bytes, value);
	protobuf_end(&perfetto_bytes, dictionary);
}

static void arguments_of_older_programs_are_json_too(void **state)
{
	static const char *const texts[] = { "{\"a\": [1]}", "7", "{\"a\": [1,]}", "" };
	size_t annotation;

	(void)state;
	perfetto_begin_event(7, 1, INSTANT, 0);
	annotation = protobuf_begin(&perfetto_bytes, 4);
	protobuf_text(&perfetto_bytes, 10, "nested");
	write_nested_value();
	protobuf_end(&perfetto_bytes, annotation);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		annotation = protobuf_begin(&perfetto_bytes, 4);
		protobuf_text(&perfetto_bytes, 10, "json");
		protobuf_text(&perfetto_bytes, 9, texts[i]);
		protobuf_end(&perfetto_bytes, annotation);
	}
	perfetto_end_event();
	perfetto_expect("instant 1: 1 on uuid:0  {\"nested\":{\"a\":-1,\"b\":[0.5,\"t\",[]],\"c\":true},"
	       "\"json\":{\"a\": [1]},\"json\":7,\"json\":\"{\\\"a\\\": [1,]}\",\"json\":\"\"}\n"
	       "async uuid:0: Default Track\n");
}

static void text_that_is_not_utf8_is_mended(void **state)
{
	size_t annotation;

	(void)state;
	perfetto_describe(OPERATION, 0, "o\xff");
	perfetto_clear_state(7);
	perfetto_intern(7, 2, 1, "i\xc3");
	perfetto_begin_event(7, 1, INSTANT, OPERATION);
	protobuf_varint(&perfetto_bytes, 10, 1);
	protobuf_text(&perfetto_bytes, 22, "c\x80");
	annotation = protobuf_begin(&perfetto_bytes, 4);
	protobuf_text(&perfetto_bytes, 10, "a\xff");
	protobuf_end(&perfetto_bytes, annotation);
	perfetto_end_event();
	perfetto_read_trace(true, 0);
	assert_int_equal(perfetto_shown.status, TRACE_ERROR_FORMAT);
	assert_non_null(strstr(perfetto_shown.error, ": a text in the packet is not UTF-8"));
	perfetto_expect("instant 1: 1 on uuid:3 i\xef\xbf\xbd cat c\xef\xbf\xbd {\"a\xef\xbf\xbd\":null}\n"
	       "async uuid:3: o\xef\xbf\xbd\n"
	       "mended 4: string that is not UTF-8\n"
	       "left out 2: packet: other data\n");
}

/* ---- Scheduling ---- */

static void write_switch(uint64_t time, uint64_t prev_pid, uint64_t prev_state, const char *next, uint64_t next_pid)
{
	size_t switched, whole = protobuf_begin(&perfetto_bytes, 2);

	protobuf_varint(&perfetto_bytes, 1, time);
	switched = protobuf_begin(&perfetto_bytes, 4);
	protobuf_varint(&perfetto_bytes, 2, prev_pid);
	protobuf_varint(&perfetto_bytes, 4, prev_state);
	protobuf_text(&perfetto_bytes, 5, next);
	protobuf_varint(&perfetto_bytes, 6, next_pid);
	protobuf_varint(&perfetto_bytes, 7, 120);
	protobuf_end(&perfetto_bytes, switched);
	protobuf_end(&perfetto_bytes, whole);
}

static void a_run_on_a_cpu_is_a_span(void **state)
{
	size_t bundle, other;

	(void)state;
	perfetto_begin_packet(1, 0);
	bundle = protobuf_begin(&perfetto_bytes, 1);
	protobuf_varint(&perfetto_bytes, 1, 3);
	write_switch(100, 0, 0, "a", 10);
	write_switch(150, 10, 1, "b", 11);
	write_switch(140, 11, 1, "early", 12);
	write_switch(160, 99, 2, "c", 12);
	other = protobuf_begin(&perfetto_bytes, 2);
	protobuf_varint(&perfetto_bytes, 1, 170);
	protobuf_end(&perfetto_bytes, other);
	protobuf_end(&perfetto_bytes, bundle);
	perfetto_end_packet();
	perfetto_expect("span 1: 100 50 on cpu:3 a id 10 {\"tid\":10,\"prio\":120,\"end_state\":1}\n"
	       "span 2: 150 -1 on cpu:3 b id 11 {\"tid\":11,\"prio\":120}\n"
	       "span 3: 160 -1 on cpu:3 c id 12 {\"tid\":12,\"prio\":120}\n"
	       "cpu cpu:3\n"
	       "left out 1: sched_switch earlier than the one before it\n"
	       "left out 1: ftrace event: other\n");
}

/* The first one says who comes, but not since when that is known. */
static void compact_switches_are_lists(void **state)
{
	static const uint64_t lists[][5] = { { 1, 100, 10, 10 }, { 2, 0, 1, 2 }, { 3, 10, 11, 12 }, { 4, 120, 120, 120 }, { 6, 0, 1, 9 } };
	size_t bundle, compact;

	(void)state;
	perfetto_begin_packet(1, 0);
	bundle = protobuf_begin(&perfetto_bytes, 1);
	protobuf_varint(&perfetto_bytes, 1, 0);
	compact = protobuf_begin(&perfetto_bytes, 4);
	protobuf_text(&perfetto_bytes, 5, "a");
	protobuf_text(&perfetto_bytes, 5, "b");
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct protobuf packed = { 0 };

		for (int j = 1; j < 4; j++)
			protobuf_raw_varint(&packed, lists[i][j]);
		protobuf_bytes(&perfetto_bytes, (uint32_t)lists[i][0], packed.bytes, packed.n_bytes);
		protobuf_release(&packed);
	}
	protobuf_varint(&perfetto_bytes, 7, 5);
	protobuf_end(&perfetto_bytes, compact);
	protobuf_end(&perfetto_bytes, bundle);
	perfetto_end_packet();
	perfetto_expect("span 1: 100 10 on cpu:0 a id 10 {\"tid\":10,\"prio\":120,\"end_state\":1}\n"
	       "span 2: 110 10 on cpu:0 b id 11 {\"tid\":11,\"prio\":120,\"end_state\":2}\n"
	       "span 3: 120 -1 on cpu:0  id 12 {\"tid\":12,\"prio\":120}\n"
	       "cpu cpu:0\n"
	       "left out 1: ftrace event: other\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_stand_on_threads_processes_and_operations),
		cmocka_unit_test(events_without_a_track_are_on_the_default_one),
		cmocka_unit_test(names_and_parents_may_come_later),
		cmocka_unit_test(an_event_may_come_before_its_thread),
		cmocka_unit_test(events_wait_for_the_descriptor_of_their_track),
		cmocka_unit_test(a_descriptor_may_come_too_late),
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
		cmocka_unit_test(counters_of_a_known_type_have_its_name_and_unit),
		cmocka_unit_test(a_state_lasts_until_the_next_one),
		cmocka_unit_test(a_state_needs_a_track_of_states),
		cmocka_unit_test(a_rank_counts_where_the_parent_sorts_by_ranks),
		cmocka_unit_test(ranks_of_threads_and_processes_count_if_the_root_says_so),
		cmocka_unit_test(events_before_the_range_of_interest_are_left_out),
		cmocka_unit_test(flows_link_the_spans_that_have_their_ids),
		cmocka_unit_test(legacy_phases_are_those_of_chrome),
		cmocka_unit_test(legacy_operations_stack_by_their_ids),
		cmocka_unit_test(legacy_times_may_be_differences),
		cmocka_unit_test(metadata_names_threads_and_processes),
		cmocka_unit_test(legacy_flows_begin_once_and_arrive_often),
		cmocka_unit_test(arguments_are_json),
		cmocka_unit_test(arguments_of_older_programs_are_json_too),
		cmocka_unit_test(text_that_is_not_utf8_is_mended),
		cmocka_unit_test(a_run_on_a_cpu_is_a_span),
		cmocka_unit_test(compact_switches_are_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
