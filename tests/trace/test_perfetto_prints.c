/* What is read of the kernel's events in Perfetto traces but for the scheduler's: prints of atrace, marks of drivers, and names of
 * threads and processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/trace/perfetto_sample.h"

/* ---- Writing ---- */

static size_t bundle, event;

static void begin_bundle(void)
{
	perfetto_begin_packet(0, 0);
	bundle = protobuf_begin(&perfetto_bytes, 1);
	protobuf_varint(&perfetto_bytes, 1, 3);
}

static void end_bundle(void)
{
	protobuf_end(&perfetto_bytes, bundle);
	perfetto_end_packet();
}

static size_t begin_kernel_event(uint64_t time, uint64_t tid, uint32_t number)
{
	event = protobuf_begin(&perfetto_bytes, 2);
	protobuf_varint(&perfetto_bytes, 1, time);
	protobuf_varint(&perfetto_bytes, 2, tid);
	return protobuf_begin(&perfetto_bytes, number);
}

static void end_kernel_event(size_t body)
{
	protobuf_end(&perfetto_bytes, body);
	protobuf_end(&perfetto_bytes, event);
}

static void print(uint64_t time, uint64_t tid, const char *text)
{
	size_t body = begin_kernel_event(time, tid, 3);

	protobuf_varint(&perfetto_bytes, 1, 1234);
	protobuf_text(&perfetto_bytes, 2, text);
	end_kernel_event(body);
}

static void switch_to(uint64_t time, uint64_t tid, const char *name)
{
	size_t body = begin_kernel_event(time, 0, 4);

	protobuf_varint(&perfetto_bytes, 6, tid);
	protobuf_text(&perfetto_bytes, 5, name);
	end_kernel_event(body);
}

static void write_process_tree(void)
{
	size_t tree, entry;

	perfetto_begin_packet(0, 0);
	tree = protobuf_begin(&perfetto_bytes, 2);
	entry = protobuf_begin(&perfetto_bytes, 1);
	protobuf_varint(&perfetto_bytes, 1, 5);
	protobuf_text(&perfetto_bytes, 3, "/bin/app");
	protobuf_text(&perfetto_bytes, 3, "--fast");
	protobuf_end(&perfetto_bytes, entry);
	entry = protobuf_begin(&perfetto_bytes, 2);
	protobuf_varint(&perfetto_bytes, 1, 6);
	protobuf_text(&perfetto_bytes, 2, "worker");
	protobuf_varint(&perfetto_bytes, 3, 5);
	protobuf_end(&perfetto_bytes, entry);
	protobuf_end(&perfetto_bytes, tree);
	perfetto_end_packet();
}

/* ---- Prints ---- */

/* An end may leave out the process, if that was told before. */
static void prints_are_of_the_thread_that_prints(void **state)
{
	(void)state;
	begin_bundle();
	print(20, 6, "E\n");
	print(10, 6, "B|5|load|all\n");
	print(12, 6, "B|5|\n");
	print(15, 6, "I|5|now\n");
	print(16, 6, "C|5|bytes|-7\n");
	print(17, 8, "C|5|bytes|9|group\n");
	print(30, 6, "E");
	print(40, 6, "E|5");
	print(50, 7, "E");
	end_bundle();
	perfetto_expect("instant 1: 15 on 5/6 now\n"
			"sample 16 -7 bytes of 5\n"
			"sample 17 9 bytes of 5\n"
			"span 2: 12 18 on 5/6 \n"
			"span 1: 10 30 on 5/6 load|all\n"
			"process 5\n"
			"thread 5/6 in 5\n"
			"left out 2: print E without B\n");
}

static void an_operation_that_is_begun_again_goes_on(void **state)
{
	(void)state;
	begin_bundle();
	print(10, 6, "S|5|wait|0\n");
	print(20, 6, "S|5|wait|0\n");
	print(25, 6, "S|5|wait|-1\n");
	print(30, 6, "F|5|wait|0\n");
	print(40, 6, "F|5|wait|0\n");
	print(50, 6, "S|5|wait|0\n");
	end_bundle();
	perfetto_expect("span 1: 10 20 on async:atrace 5:wait:0 wait\n"
			"span 6: 50 -1 on async:atrace 5:wait:0 wait\n"
			"span 3: 25 -1 on async:atrace 5:wait:-1 wait\n"
			"async async:atrace 5:wait:0: wait in 5\n"
			"async async:atrace 5:wait:-1: wait in 5\n");
}

static void operations_nest_on_tracks_that_are_named(void **state)
{
	(void)state;
	begin_bundle();
	print(10, 6, "G|5|net|get|1\n");
	print(20, 6, "G|5|net|parse|1\n");
	print(25, 6, "G|5|net|other|2\n");
	print(30, 6, "H|5|net|parse|1\n");
	print(40, 6, "H|5|net|1\n");
	print(50, 6, "H|5|net|1\n");
	print(60, 6, "N|5|net|lost\n");
	end_bundle();
	perfetto_expect("instant 1: 60 on async:atrace instants 5:net lost\n"
			"span 2: 20 10 on async:atrace track 5:net:1 parse\n"
			"span 1: 10 30 on async:atrace track 5:net:1 get\n"
			"span 3: 25 -1 on async:atrace track 5:net:2 other\n"
			"async async:atrace track 5:net:1: net in 5\n"
			"async async:atrace track 5:net:2: net in 5\n"
			"async async:atrace instants 5:net: net in 5\n"
			"left out 1: print H without G\n");
}

static void what_atrace_does_not_write_is_left_out(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     "hello",
					     "trace_event_clock_sync: parent_ts=1.5",
					     "B",
					     "B|",
					     "B|x|name",
					     "B|-1|name",
					     "B|4294967296|name",
					     "BB|5|name",
					     "Every end",
					     "I|5|",
					     "C|5|bytes",
					     "C|5|bytes|",
					     "C|5|bytes|-",
					     "C|5|bytes|1.5",
					     "C|5|bytes|9223372036854775808",
					     "C|5||1",
					     "S|5|wait|",
					     "G|5||name|1",
					     "G|5|net||1",
					     "G|5|net|name",
					     "H|5|net|",
					     "N|5|net|" };
	char expected[200];

	(void)state;
	begin_bundle();
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		print(10, 6, texts[i]);
	print(20, 6, "C|5|least|-9223372036854775808");
	end_bundle();
	snprintf(expected, sizeof expected,
		 "sample 20 -9.22337203685478e+18 least of 5\nprocess 5\nleft out %zu: print that is not as atrace writes them\n",
		 sizeof texts / sizeof *texts);
	perfetto_expect(expected);
}

/* Prints and track events of a thread are on one track, unless the thread's descriptor says otherwise. */
static void prints_and_track_events_share_a_thread(void **state)
{
	(void)state;
	perfetto_describe_thread(THREAD, 5, 6, "main");
	perfetto_write_event(7, 10, SLICE_BEGIN, THREAD, "outer", NULL);
	perfetto_write_event(7, 40, SLICE_END, THREAD, NULL, NULL);
	begin_bundle();
	print(20, 6, "B|5|inner \xff\n");
	print(30, 6, "E|5\n");
	end_bundle();
	perfetto_expect("span 2: 20 10 on 5/6 inner \xef\xbf\xbd\n"
			"span 1: 10 30 on 5/6 outer\n"
			"thread 5/6: main in 5\n"
			"mended 1: string that is not UTF-8\n");
}

/* ---- Marks of drivers ---- */

static void mark(uint64_t time, uint32_t number, const uint64_t values[6], const char *name, uint32_t name_field)
{
	size_t body = begin_kernel_event(time, 6, number);

	for (uint32_t i = 0; i < 6; i++) {
		if (values[i])
			protobuf_varint(&perfetto_bytes, i + 1, values[i]);
	}
	if (name)
		protobuf_text(&perfetto_bytes, name_field, name);
	end_kernel_event(body);
}

static void marks_of_drivers_say_the_same(void **state)
{
	(void)state;
	begin_bundle();
	mark(10, 80, (uint64_t[6]){ 5, 0, 1 }, "flip", 2);
	mark(20, 80, (uint64_t[6]){ 5 }, NULL, 0);
	mark(30, 349, (uint64_t[6]){ 5, 0, 0, 0, 'C', 12 }, "frames", 4);
	mark(40, 333, (uint64_t[6]){ 5, 0, 'I' }, "now", 2);
	/* the display's marks are of other processes than their thread, but for counters */
	mark(50, 348, (uint64_t[6]){ 9, 0, 0, 0, 'B' }, "scan", 4);
	mark(60, 348, (uint64_t[6]){ 9, 0, 0, 0, 'C', 3 }, "clock", 4);
	mark(70, 348, (uint64_t[6]){ 9, 0, 0, 0, 'E' }, NULL, 0);
	mark(80, 349, (uint64_t[6]){ 5, 0, 0, 0, '?' }, "frames", 4);
	mark(90, 349, (uint64_t[6]){ 5 }, "frames", 4);
	end_bundle();
	perfetto_expect("sample 30 12 frames of 5\n"
			"instant 1: 40 on 5/6 now\n"
			"sample 60 3 clock of 9\n"
			"span 1: 10 10 on 5/6 flip\n"
			"span 2: 50 20 on 5/6 scan\n"
			"process 5\n"
			"thread 5/6 in 5\n"
			"process 9\n"
			"left out 2: mark of a driver of an unknown phase\n");
}

/* ---- Names ---- */

static void the_kernel_and_the_list_of_processes_name_what_has_no_name(void **state)
{
	(void)state;
	begin_bundle();
	switch_to(5, 6, "other");
	switch_to(6, 7, "second");
	print(10, 6, "I|5|now\n");
	print(11, 7, "I|5|now\n");
	end_bundle();
	write_process_tree();
	perfetto_expect("span 1: 5 -1 on cpu:3 other id 6 {\"tid\":6,\"prio\":0}\n"
			"instant 1: 10 on 5/6 now\n"
			"instant 2: 11 on 5/7 now\n"
			"span 2: 6 -1 on cpu:3 second id 7 {\"tid\":7,\"prio\":0}\n"
			"cpu cpu:3\n"
			"process 5: /bin/app\n"
			"thread 5/6: worker in 5\n"
			"thread 5/7: second in 5\n");
	write_process_tree();
	perfetto_describe_thread(THREAD, 5, 6, "main");
	begin_bundle();
	print(10, 6, "I|0|now\n");
	print(11, 99, "I|0|now\n");
	end_bundle();
	perfetto_expect("instant 1: 10 on 5/6 now\n"
			"instant 2: 11 on 0/99 now\n"
			"process 5: /bin/app\n"
			"thread 5/6: main in 5\n"
			"thread 0/99 in 0\n");
}

static void a_process_tree_alone_makes_no_track(void **state)
{
	(void)state;
	perfetto_clear_state(7);
	write_process_tree();
	write_process_tree();
	perfetto_expect("left out 1: packet: other data\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_are_of_the_thread_that_prints),
		cmocka_unit_test(an_operation_that_is_begun_again_goes_on),
		cmocka_unit_test(operations_nest_on_tracks_that_are_named),
		cmocka_unit_test(what_atrace_does_not_write_is_left_out),
		cmocka_unit_test(prints_and_track_events_share_a_thread),
		cmocka_unit_test(marks_of_drivers_say_the_same),
		cmocka_unit_test(the_kernel_and_the_list_of_processes_name_what_has_no_name),
		cmocka_unit_test(a_process_tree_alone_makes_no_track),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
