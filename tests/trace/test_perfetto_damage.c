/* Perfetto traces that are cut, packed, damaged or hostile, and allocations that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/support/random.h"
#include "tests/support/sanitizer.h"
#include "tests/trace/perfetto_sample.h"

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

/* ---- Whole, cut, in pieces, packed ---- */

static void write_varied(void)
{
	perfetto_describe_thread(THREAD, 5, 6, "main");
	perfetto_describe_process(PROCESS, 5, "app");
	perfetto_describe(OPERATION, PROCESS, NULL);
	perfetto_describe_counter(COUNTER, PROCESS, "memory", 10, true);
	perfetto_snapshot(1, 6, 1000, 3, 100, 0, false);
	perfetto_snapshot(7, 3, 500, 64, 500, 1, true);
	perfetto_clear_state(7);
	perfetto_intern(7, 2, 1, "interned");
	perfetto_write_at_clock(7, 10, 64, "a");
	perfetto_write_event(7, 100, SLICE_BEGIN, THREAD, "outer", "a");
	perfetto_write_with_flow(110, SLICE_BEGIN, 47, 8);
	perfetto_write_event(7, 120, SLICE_END, THREAD, NULL, NULL);
	perfetto_write_interned(7, 125, 1, 1);
	perfetto_write_event(7, 130, STATE, STATES, "on", NULL);
	perfetto_write_with_flow(140, SLICE_END, 48, 8);
	perfetto_write_count(7, 150, COUNTER, 3);
	perfetto_write_event(7, 160, INSTANT, OPERATION, "last", NULL);
}

static void pieces_of_any_size_give_the_same(void **state)
{
	char whole[sizeof perfetto_shown.text];

	(void)state;
	write_varied();
	perfetto_read_trace(true, 0);
	assert_string_equal(perfetto_shown.error, "");
	memcpy(whole, perfetto_shown.text, sizeof whole);
	for (size_t n = 1; n < 300; n += n < 40 ? 1 : 37) {
		perfetto_read_trace(true, n);
		assert_string_equal(perfetto_shown.text, whole);
	}
	protobuf_clear(&perfetto_bytes);
}

static void a_cut_file_gives_what_comes_before_the_cut(void **state)
{
	size_t n_bytes, n_before;

	(void)state;
	write_varied();
	n_before = perfetto_bytes.n_bytes;
	perfetto_write_event(7, 170, INSTANT, OPERATION, "cut", NULL);
	n_bytes = perfetto_bytes.n_bytes;
	for (size_t n = n_before + 1; n < n_bytes; n++) {
		char error[100];

		perfetto_bytes.n_bytes = n;
		perfetto_read_trace(false, 0);
		assert_int_equal(perfetto_shown.status, TRACE_OK);
		assert_non_null(strstr(perfetto_shown.text, "last"));
		assert_null(strstr(perfetto_shown.text, "cut"));
		assert_non_null(strstr(perfetto_shown.text, "mended 1: file that ends inside a packet\n"));
		perfetto_read_trace(true, 0);
		snprintf(error, sizeof error, "trace: byte %zu: the file ends inside a packet", n_before);
		assert_int_equal(perfetto_shown.status, TRACE_ERROR_FORMAT);
		assert_string_equal(perfetto_shown.error, error);
	}
	protobuf_clear(&perfetto_bytes);
}

static void packets_may_be_compressed(void **state)
{
	char whole[sizeof perfetto_shown.text];
	uint8_t packed[4000];
	uLongf n_packed = sizeof packed;

	(void)state;
	write_varied();
	perfetto_read_trace(true, 0);
	memcpy(whole, perfetto_shown.text, sizeof whole);
	assert_int_equal(compress(packed, &n_packed, perfetto_bytes.bytes, perfetto_bytes.n_bytes), Z_OK);
	protobuf_clear(&perfetto_bytes);
	perfetto_begin_packet(0, 0);
	protobuf_bytes(&perfetto_bytes, 50, packed, n_packed);
	perfetto_end_packet();
	perfetto_expect(whole);
	perfetto_begin_packet(0, 0);
	protobuf_bytes(&perfetto_bytes, 50, packed, n_packed - 5);
	perfetto_end_packet();
	perfetto_write_event(7, 5, INSTANT, 0, "behind", NULL);
	perfetto_read_trace(false, 0);
	assert_int_equal(perfetto_shown.status, TRACE_OK);
	assert_non_null(strstr(perfetto_shown.text, "behind"));
	assert_non_null(strstr(perfetto_shown.text, "left out 1: packet that is no valid protobuf message\n"));
	protobuf_clear(&perfetto_bytes);
}

/* ---- Damage ---- */

static void expect_error(int status, const char *error)
{
	perfetto_read_trace(false, 0);
	protobuf_clear(&perfetto_bytes);
	assert_string_equal(perfetto_shown.error, error);
	assert_int_equal(perfetto_shown.status, status);
}

static void what_is_no_packet_is_an_error_or_left_out(void **state)
{
	(void)state;
	perfetto_write_event(7, 5, INSTANT, 0, "a", NULL);
	for (int i = 0; i < 40; i++)
		protobuf_raw(&perfetto_bytes, "\x0b", 1); /* the begin of a group */
	expect_error(TRACE_ERROR_FORMAT, "trace: byte 14: no packet begins here");

	/* a packet of 2^63 bytes, and a field of 2^63 bytes in a packet */
	perfetto_write_event(7, 5, INSTANT, 0, "a", NULL);
	protobuf_raw(&perfetto_bytes, "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01more", 15);
	perfetto_expect("instant 1: 5 on uuid:0 a\n"
	       "async uuid:0: Default Track\n"
	       "left out 1: packet of more than 64 MiB\n"
	       "mended 1: file that ends inside a packet\n");
	perfetto_write_event(7, 5, INSTANT, 0, "a", NULL); /* a file that begins with the next packet is no trace */
	perfetto_begin_packet(7, 5);
	protobuf_raw(&perfetto_bytes, "\x5a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01more", 15);
	perfetto_end_packet();
	protobuf_varint(&perfetto_bytes, 5, 1);
	perfetto_begin_packet(7, 5);
	protobuf_varint(&perfetto_bytes, 11, 7); /* not the type that a track event has */
	perfetto_end_packet();
	perfetto_expect("instant 1: 5 on uuid:0 a\n"
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
	while (*n_read < n_bytes && gigabytes.at < behind + perfetto_bytes.n_bytes) {
		uint64_t at = gigabytes.at;
		size_t n = n_bytes - *n_read;

		if (at >= n_head && at < behind) {
			n = n < behind - at ? n : (size_t)(behind - at);
			memset(data + *n_read, 0, n);
		} else {
			n = 1;
			data[*n_read] = (char)(at < n_head ? gigabytes.head.bytes[at] : perfetto_bytes.bytes[at - behind]);
		}
		*n_read += n;
		gigabytes.at += n;
	}
	return TRACE_OK;
}

static void a_packet_of_gigabytes_is_passed_over(void **state)
{
	struct trace_sink sink = { NULL, perfetto_show_span, perfetto_show_sample, perfetto_show_instant, perfetto_show_flow, perfetto_show_track };
	struct trace_options options = { 0 };
	struct trace *trace;
	int status;

	(void)state;
	perfetto_write_event(7, 5, INSTANT, 0, "first", NULL);
	protobuf_raw(&gigabytes.head, perfetto_bytes.bytes, perfetto_bytes.n_bytes);
	protobuf_clear(&perfetto_bytes);
	gigabytes.n_zeros = 1 << 30;
	protobuf_raw(&gigabytes.head, "\x0a", 1);
	protobuf_raw_varint(&gigabytes.head, gigabytes.n_zeros);
	perfetto_write_event(7, 6, INSTANT, 0, "second", NULL);
	perfetto_shown.n_bytes = 0;
	status = trace_open_source(read_gigabytes, NULL, "trace", &options, &sink, &trace);
	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		;
	assert_string_equal(trace_error(trace), "");
	assert_string_equal(perfetto_shown.text, "instant 1: 5 on uuid:0 first\n"
					"instant 2: 6 on uuid:0 second\n"
					"async uuid:0: Default Track\n");
	assert_string_equal(trace_report(trace, 0)->what, "packet of more than 64 MiB");
	trace_close(trace);
	protobuf_release(&gigabytes.head);
	protobuf_clear(&perfetto_bytes);
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
	perfetto_clear_state(7);
	for (uint64_t i = 1; i < 200; i++)
		perfetto_intern(7, 2, i, text);
	free(text);
	perfetto_read_trace(false, 0);
	assert_int_equal(perfetto_shown.status, TRACE_ERROR_LIMIT);
	assert_true(strtoul(perfetto_shown.error + strlen("trace: byte "), NULL, 10) > 100 << 20);
	snprintf(error, sizeof error, "%s", strchr(strchr(perfetto_shown.error, ':') + 1, ':'));
	assert_string_equal(error, ": descriptors, interned texts and clocks take more than 128 MiB");
	protobuf_release(&perfetto_bytes);
}

static void no_damaged_byte_crashes(void **state)
{
	unsigned n_rounds = random_rounds(3000);

	(void)state;
	write_varied();
	for (unsigned i = 0; i < n_rounds; i++) {
		struct random dice = random_from(random_seed() + i);
		size_t at = (size_t)random_below(&dice, perfetto_bytes.n_bytes);
		uint8_t before = perfetto_bytes.bytes[at];

		perfetto_bytes.bytes[at] = (uint8_t)random_below(&dice, 256);
		perfetto_read_trace(random_chance(&dice, 20), (size_t)random_below(&dice, 100));
		perfetto_bytes.bytes[at] = before;
	}
	protobuf_clear(&perfetto_bytes);
}

static void every_allocation_may_fail(void **state)
{
	char whole[sizeof perfetto_shown.text];
	long n_before, n_failed = 0;

	(void)state;
	if (!COUNTS_ALLOCATIONS)
		skip();
	write_varied();
	perfetto_read_trace(false, 0);
	memcpy(whole, perfetto_shown.text, sizeof whole);
	for (long n = 1;; n++) {
		n_before = n_live;
		n_until_failure = n;
		perfetto_read_trace(false, 0);
		if (n_until_failure > 0)
			break;
		assert_int_equal(n_live, n_before);
		if (perfetto_shown.status == TRACE_OK) {
			assert_string_equal(perfetto_shown.text, whole);
			continue;
		}
		assert_int_equal(perfetto_shown.status, TRACE_ERROR_MEMORY);
		assert_non_null(strstr(perfetto_shown.error, "out of memory"));
		n_failed++;
	}
	n_until_failure = 0;
	assert_true(n_failed > 50);
	protobuf_release(&perfetto_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
