/* Files that name more than anybody needs, of every format: what is remembered of them is bounded, and what goes round in circles
 * ends. The files are made while they are read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/harness.h"
#include "tests/support/limited.h"
#include "tests/support/protobuf_writer.h"
#include "tests/trace/generated.h"

enum {
	MIB = 1024 * 1024,
	LIMITED_MIB = 48, /* of address space: the program, its sorters and the pieces of a file */
	N_MANY = 200000
};

static const struct trace_options everything = { .args = true, .complete = true };

/* ---- Parts of files ---- */

/* A text of a mebibyte that is another one for each i. */
static const char *long_text(uint64_t i)
{
	static char text[MIB + 1];

	memset(text, 'x', MIB);
	text[snprintf(text, 20, "%" PRIu64, i)] = '_';
	return text;
}


/* ---- What a reader remembers until the end ---- */

static size_t json_process(uint64_t i, uint64_t n_parts, char *data)
{
	(void)n_parts;
	return (size_t)sprintf(data, "%s{\"ph\":\"i\",\"ts\":1,\"pid\":\"%s\"}", i ? "," : "[", long_text(i));
}

static size_t json_name(uint64_t i, uint64_t n_parts, char *data)
{
	(void)n_parts;
	return (size_t)sprintf(data, "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"tid\":%" PRIu64 ",\"args\":{\"name\":\"%s\"}}", i ? "," : "[", i,
			       long_text(i));
}

static size_t otlp_service(uint64_t i, uint64_t n_parts, char *data)
{
	(void)n_parts;
	return (size_t)sprintf(data,
			       "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"%s\"}}]},"
			       "\"scopeSpans\":[{\"scope\":{},\"spans\":[{\"startTimeUnixNano\":1,\"endTimeUnixNano\":2}]}]}]}\n", long_text(i));
}

static void put(char **at, uint64_t value, int n_bytes)
{
	for (; n_bytes > 0; n_bytes--, value >>= 8)
		*(*at)++ = (char)value;
}

/* Some thousand threads of Spall's first version, each with a span. */
static size_t spall_threads(uint64_t i, uint64_t n_parts, char *data)
{
	char *at = data;

	(void)n_parts;
	if (i == 0) {
		put(&at, 0x0BADF00D, 8);
		put(&at, 0, 8);
		put(&at, 0x3FF0000000000000, 8);
		put(&at, 0, 8);
	}
	for (uint64_t thread = 10000 * i; thread < 10000 * (i + 1); thread++) {
		put(&at, 3, 1);
		put(&at, thread, 4);
		put(&at, thread, 4);
		put(&at, 0, 8);
		put(&at, 0, 1);
	}
	return (size_t)(at - data);
}

static void expect_limit(generated_part part, uint64_t n_parts, uint64_t least_byte, const char *problem)
{
	struct generated_reading reading = generated_read(part, n_parts, &everything);
	const char *byte = strstr(reading.error, "byte ");

	assert_int_equal(reading.status, TRACE_ERROR_LIMIT);
	if (!byte || strtoull(byte + 5, NULL, 10) < least_byte || !strstr(reading.error, problem))
		fail_msg("%s", reading.error);
}

/* Each track is kept, with its key and its name. */
static void tracks_are_bounded(void **state)
{
	const char *problem = "the tracks up to here take more than 256 MiB";

	(void)state;
	expect_limit(json_process, 300, 40 * MIB, problem);
	expect_limit(json_name, 300, 200 * MIB, problem);
	expect_limit(otlp_service, 300, 100 * MIB, problem);
	expect_limit(spall_threads, 300, 10 * MIB, problem);
}

/* ---- What is open, or waits, on a track ---- */

static size_t json_begin(uint64_t i, uint64_t n_parts, char *data)
{
	return (size_t)sprintf(data, "%s{\"ph\":\"B\",\"ts\":1,\"name\":\"%s\"}%s", i ? "," : "[", long_text(i), i + 1 < n_parts ? "" : "]");
}

static size_t json_arrow(uint64_t i, uint64_t n_parts, char *data)
{
	return (size_t)sprintf(data, "%s{\"ph\":\"f\",\"ts\":1,\"name\":\"%s\"}%s", i ? "," : "[", long_text(i), i + 1 < n_parts ? "" : "]");
}

static void what_is_open_or_waits_is_bounded(void **state)
{
	struct generated_reading reading = generated_read(json_begin, 260, &everything);

	(void)state;
	assert_int_equal(reading.status, TRACE_ERROR_LIMIT);
	assert_string_equal(reading.error, "trace: more than 256 MiB of spans are open at a time on a track");
	/* a name and a key that has it */
	reading = generated_read(json_arrow, 135, &everything);
	assert_int_equal(reading.status, TRACE_ERROR_LIMIT);
	assert_string_equal(reading.error, "trace: more than 256 MiB of flow points wait for the next span of their track");
}

/* ---- What is not remembered at all ---- */

static size_t json_counters(uint64_t i, uint64_t n_parts, char *data)
{
	return (size_t)sprintf(data, "%s{\"ph\":\"C\",\"ts\":1,\"name\":\"n%" PRIu64 "\",\"id\":\"i%" PRIu64 "\",\"args\":{\"k%" PRIu64 "\":1}}%s",
			       i ? "," : "[", i, i, i, i + 1 < n_parts ? "" : "]");
}

static size_t json_spans(uint64_t i, uint64_t n_parts, char *data)
{
	return (size_t)sprintf(data, "%s{\"ph\":\"X\",\"ts\":%" PRIu64 ",\"dur\":1,\"name\":\"n%" PRIu64 "\",\"cat\":\"c%" PRIu64 "\",\"args\":{\"a%" PRIu64 "\":1}}%s",
			       i ? "," : "[", i, i, i, i, i + 1 < n_parts ? "" : "]");
}

/* Starts without an end, and ends without a start. */
static size_t json_flows(uint64_t i, uint64_t n_parts, char *data)
{
	return (size_t)sprintf(data, "%s{\"ph\":\"X\",\"ts\":%" PRIu64 ",\"dur\":1},{\"ph\":\"%s\",\"ts\":%" PRIu64 ",\"bp\":\"e\",\"id\":\"%" PRIu64 "\"}%s",
			       i ? "," : "[", i, i % 2 ? "s" : "f", i, i, i + 1 < n_parts ? "" : "]");
}

/* Phases that nobody knows are lines of the report. */
static size_t json_phases(uint64_t i, uint64_t n_parts, char *data)
{
	return (size_t)sprintf(data, "%s{\"ph\":\"%c\",\"ts\":1}%s", i ? "," : "[", (char)(' ' + i % 95 == '"' || ' ' + i % 95 == '\\' ? 'z' : ' ' + i % 95),
			       i + 1 < n_parts ? "" : "]");
}

static int read_many(void)
{
	struct generated_reading reading = generated_read(json_counters, N_MANY, &everything);

	LIMITED_EXPECT(reading.status == TRACE_OK && reading.counts.n_samples == N_MANY);
	reading = generated_read(json_spans, N_MANY, &everything);
	LIMITED_EXPECT(reading.status == TRACE_OK && reading.counts.n_spans == N_MANY);
	reading = generated_read(json_flows, N_MANY, &everything);
	LIMITED_EXPECT(reading.status == TRACE_OK && reading.counts.n_spans == N_MANY && reading.n_left_out == N_MANY / 2);
	reading = generated_read(json_phases, N_MANY, &everything);
	LIMITED_EXPECT(reading.status == TRACE_OK);
	return 0;
}

static void names_of_counters_spans_and_flows_take_no_memory(void **state)
{
	(void)state;
	if (!limited_or_says_why_not())
		skip();
	assert_int_equal(limited_run(RLIMIT_AS, (uint64_t)LIMITED_MIB * MIB, read_many), 0);
}

/* ---- Long texts ---- */

static size_t json_long_event(uint64_t i, uint64_t n_parts, char *data)
{
	if (i == 0)
		return (size_t)sprintf(data, "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":\"");
	return i + 1 < n_parts ? (size_t)sprintf(data, "%s", long_text(i)) : (size_t)sprintf(data, "\"}]");
}

static size_t json_long_skipped(uint64_t i, uint64_t n_parts, char *data)
{
	if (i == 0)
		return (size_t)sprintf(data, "{\"metadata\":\"");
	if (i + 1 == n_parts)
		return (size_t)sprintf(data, "\",\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}");
	return (size_t)sprintf(data, "%s", long_text(i));
}

/* A buffer of 4 GB, in a file that ends soon, after events that are whole. */
static size_t spall_buffer(uint64_t i, uint64_t n_parts, char *data)
{
	char *at = data;

	(void)n_parts;
	if (i == 0) {
		put(&at, 0x0BADF00D, 8);
		put(&at, 3, 8);
		put(&at, 0x3FF0000000000000, 8);
		put(&at, 0, 8);
		put(&at, 0xFFFFFFFF, 4);
		put(&at, 1, 4);
		put(&at, 1, 4);
		put(&at, 0, 8);
	}
	for (int k = 0; k < 20000; k++) {
		put(&at, 3, 1);
		put(&at, 2 * (uint64_t)k + 1, 8);
		put(&at, 0, 2);
		put(&at, 4, 1);
		put(&at, 2 * (uint64_t)k + 2, 8);
	}
	return (size_t)(at - data);
}

static int read_long(void)
{
	struct generated_reading reading = generated_read(json_long_skipped, 300, &everything);

	LIMITED_EXPECT(reading.status == TRACE_OK && reading.counts.n_spans == 1);
	reading = generated_read(spall_buffer, 3, &everything);
	LIMITED_EXPECT(reading.status == TRACE_OK && reading.counts.n_spans == 3 * 20000);
	return 0;
}

static void long_texts_are_skipped_or_refused(void **state)
{
	struct generated_reading reading = generated_read(json_long_event, 300, &everything);

	(void)state;
	assert_int_equal(reading.status, TRACE_ERROR_LIMIT);
	assert_string_equal(reading.error, "trace: byte 27: the event that starts here is longer than 256 MiB");
	if (!limited_or_says_why_not())
		skip();
	assert_int_equal(limited_run(RLIMIT_AS, (uint64_t)LIMITED_MIB * MIB, read_long), 0);
}

/* ---- Circles ---- */

/* Two spans between which one flow goes to and fro. */
static size_t json_circle(uint64_t i, uint64_t n_parts, char *data)
{
	if (i == 0)
		return (size_t)sprintf(data, "[{\"ph\":\"X\",\"ts\":0,\"dur\":9,\"tid\":0},{\"ph\":\"X\",\"ts\":0,\"dur\":9,\"tid\":1},"
					     "{\"ph\":\"s\",\"ts\":1,\"tid\":0,\"id\":1}");
	return (size_t)sprintf(data, ",{\"ph\":\"%s\",\"ts\":1,\"tid\":%" PRIu64 ",\"id\":1}%s", i % 3 ? "t" : "s", i % 2, i + 1 < n_parts ? "" : "]");
}

/* Spans that link each other, and themselves. */
static size_t otlp_circle(uint64_t i, uint64_t n_parts, char *data)
{
	(void)n_parts;
	return (size_t)sprintf(data,
			       "{\"resourceSpans\":[{\"resource\":{},\"scopeSpans\":[{\"scope\":{},\"spans\":[{\"traceId\":\"01\",\"spanId\":\"%02x\",\"parentSpanId\":\"%02x\","
			       "\"startTimeUnixNano\":1,\"endTimeUnixNano\":2,\"links\":[{\"traceId\":\"01\",\"spanId\":\"%02x\"},{\"traceId\":\"01\",\"spanId\":\"%02x\"}]}]}]}]}\n",
			       (unsigned)(i % 100), (unsigned)((i + 1) % 100), (unsigned)(i % 100), (unsigned)((i + 1) % 100));
}

/* Two instants of Perfetto that both belong to flows 1 and 2, again and again. */
static size_t perfetto_circle(uint64_t i, uint64_t n_parts, char *data)
{
	struct protobuf file = { 0 };
	size_t packet = protobuf_begin(&file, 1), event, n_bytes;

	(void)n_parts;
	protobuf_varint(&file, 8, i + 1);
	protobuf_varint(&file, 10, 1);
	protobuf_varint(&file, 13, i == 0);
	event = protobuf_begin(&file, 11);
	protobuf_varint(&file, 9, 3);
	protobuf_varint(&file, 11, i % 2);
	protobuf_fixed64(&file, 47, 1 + i % 2);
	protobuf_fixed64(&file, 47, 2 - i % 2);
	protobuf_end(&file, event);
	protobuf_end(&file, packet);
	n_bytes = file.n_bytes;
	memcpy(data, file.bytes, n_bytes);
	protobuf_release(&file);
	return n_bytes;
}

static void circles_of_flows_and_parents_end(void **state)
{
	enum { N = 20001 };
	struct generated_reading reading = generated_read(json_circle, N, &everything);

	(void)state;
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.counts.n_flows, (N - 1) - (N - 1) / 3); /* a start is linked to nothing */
	reading = generated_read(otlp_circle, N, &everything);
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.counts.n_spans, N);
	assert_true(reading.counts.n_flows > N);
	reading = generated_read(perfetto_circle, N, &everything);
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.counts.n_instants, N);
	assert_int_equal(reading.counts.n_flows, 2 * (N - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tracks_are_bounded),
		cmocka_unit_test(what_is_open_or_waits_is_bounded),
		cmocka_unit_test(names_of_counters_spans_and_flows_take_no_memory),
		cmocka_unit_test(long_texts_are_skipped_or_refused),
		cmocka_unit_test(circles_of_flows_and_parents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
