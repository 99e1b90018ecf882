/* Reading of traces when memory is short: each allocation fails once, and large files go through little memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/harness.h"
#include "tests/support/limited.h"
#include "tests/trace/otlp_sample.h"
#include "tests/trace/recording.h"

/* ---- Allocations that fail: the program is linked so that all calls of malloc and its like come here ---- */

static unsigned long n_calls, fail_at; /* the first call is 1; 0: none fails */
static bool fails_after;	       /* and all that follow */
static long n_live;

void *__real_malloc(size_t n_bytes);
void *__real_realloc(void *block, size_t n_bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);
void *__wrap_realloc(void *block, size_t n_bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static bool fails(void)
{
	n_calls++;
	return fail_at && (n_calls == fail_at || (fails_after && n_calls > fail_at));
}

void *__wrap_malloc(size_t n_bytes)
{
	void *block = fails() ? NULL : __real_malloc(n_bytes);

	n_live += block != NULL;
	return block;
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
	void *block = __wrap_malloc(n * n_bytes);

	return block ? memset(block, 0, n * n_bytes) : NULL;
}

void *__wrap_realloc(void *block, size_t n_bytes)
{
	void *moved = fails() ? NULL : __real_realloc(block, n_bytes);

	n_live += moved && !block;
	return moved;
}

char *__wrap_strdup(const char *text)
{
	char *copy = __wrap_malloc(strlen(text) + 1);

	return copy ? strcpy(copy, text) : NULL;
}

void __wrap_free(void *block)
{
	n_live -= block != NULL;
	__real_free(block);
}

/* Reads the file with a failure at each allocation in turn. */
static void fail_each(const void *bytes, size_t n_bytes, bool after)
{
	const struct trace_options options = { .args = true, .complete = true, .piece_bytes = 64 };
	unsigned long at = 1;
	bool has_failed = true;
	char error[900];

	for (; has_failed; at++) {
		long n_live_before = n_live;
		int status;

		n_calls = 0;
		fails_after = after;
		fail_at = at;
		status = recording_status(bytes, n_bytes, &options, error);
		has_failed = n_calls >= at;
		fail_at = 0;
		assert_int_equal(status, has_failed ? TRACE_ERROR_MEMORY : TRACE_OK);
		if (has_failed)
			assert_non_null(strstr(error, "out of memory"));
		assert_int_equal(n_live, n_live_before);
	}
	assert_true(at > 10);
}

static void each_allocation_may_fail(void **state)
{
	static const char spall[] = "\x0D\xF0\xAD\x0B\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\0\0"
				    "\x1a\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0"
				    "\x09\2t\xff"
				    "\3\1\0\0\0\0\0\0\0\1\1ab"
				    "\4\2\0\0\0\0\0\0\0";

	static const char json[] = "[{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"a\\n\"},{\"ph\":\"E\",\"ts\":5,\"pid\":1,\"tid\":1},"
				   "{\"ph\":\"b\",\"ts\":1,\"id\":1,\"cat\":\"c\",\"name\":\"d\"},{\"ph\":\"e\",\"ts\":2,\"id\":1,\"cat\":\"c\"},"
				   "{\"ph\":\"X\",\"ts\":7,\"dur\":1,\"args\":{\"x\":NaN}},{\"ph\":\"C\",\"ts\":8,\"args\":{\"v\":1}},"
				   "{\"ph\":\"s\",\"ts\":2,\"pid\":1,\"tid\":1,\"id\":3},{\"ph\":\"f\",\"ts\":7,\"id\":3},"
				   "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"main\"}},{\"ph\":\"i\",\"ts\":3}]";

	(void)state;
	for (int after = 0; after < 2; after++) {
		fail_each(json, sizeof json - 1, after);
		for (unsigned seed = 1, n = 0; n < 2; seed++) {
			struct random dice = random_from(seed);
			struct otlp_sample sample;

			otlp_sample_make(&sample, &dice);
			if (sample.protobuf.n_bytes > 1500 && sample.protobuf.n_bytes < 3000) {
				fail_each(sample.json.bytes.data, sample.json.bytes.n_bytes, after);
				fail_each(sample.protobuf.data, sample.protobuf.n_bytes, after);
				n++;
			}
			otlp_sample_release(&sample);
		}
		fail_each(spall, sizeof spall - 1, after);
	}
}

/* ---- Large files, which are made while they are read ---- */

/* A text, another one n times, and a third. */
struct repeated {
	struct trace_text first, middle, last;
	uint64_t n, at; /* at: byte of the whole */
};

/* The rest of the text that byte `at` of the whole belongs to. */
static struct trace_text rest_at(const struct repeated *file)
{
	uint64_t n_first = file->first.n_bytes, n_middle = file->middle.n_bytes * file->n, at = file->at;
	struct trace_text text = file->first;

	if (at >= n_first + n_middle) {
		text = file->last;
		at -= n_first + n_middle;
	} else if (at >= n_first) {
		text = file->middle;
		at = (at - n_first) % text.n_bytes;
	}
	return (struct trace_text){ text.data + at, text.n_bytes - at };
}

static int read_repeated(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	struct repeated *file = context;
	uint64_t n_all = file->first.n_bytes + file->middle.n_bytes * file->n + file->last.n_bytes;

	for (*n_read = 0; *n_read < n_bytes && file->at < n_all;) {
		struct trace_text rest = rest_at(file);
		size_t n = rest.n_bytes < n_bytes - *n_read ? rest.n_bytes : n_bytes - *n_read;

		memcpy(data + *n_read, rest.data, n);
		*n_read += n;
		file->at += n;
	}
	return TRACE_OK;
}

static uint64_t n_spans;

static int count_span(void *context, const struct trace_span *span)
{
	(void)context;
	n_spans += span->dur_ns == 1;
	return TRACE_OK;
}

static int read_large(struct repeated *file, char error[900])
{
	const struct trace_options options = { .args = true };
	const struct trace_sink sink = { .on_span = count_span };
	struct trace *trace;
	int status = trace_open_source(read_repeated, file, "trace", &options, &sink, &trace);

	n_spans = 0;
	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		continue;
	snprintf(error, 900, "%s", trace_error(trace));
	trace_close(trace);
	return status;
}

enum { N_SPANS = 300000, MOST_MEMORY = 64 * 1024 * 1024 };

#define HEAD "{\"resourceSpans\":[{\"resource\":{},\"scopeSpans\":[{\"scope\":{},\"spans\":["

/* 120 MB in one object. */
static int read_many_spans(void)
{
	struct repeated file = { TRACE_LITERAL(HEAD "{}"), { 0 }, TRACE_LITERAL("]}]}]}"), N_SPANS, 0 };
	struct trace_json_writer span = { .needs_comma = true };
	const char text[250] = "";
	char error[900];

	trace_write_open(&span, '{');
	trace_write_key(&span, TRACE_LITERAL("startTimeUnixNano"));
	trace_write_uint64(&span, 1);
	trace_write_key(&span, TRACE_LITERAL("endTimeUnixNano"));
	trace_write_uint64(&span, 2);
	trace_write_key(&span, TRACE_LITERAL("x"));
	trace_write_base64(&span, (struct trace_text){ text, sizeof text });
	trace_write_close(&span, '}');
	file.middle = trace_written(&span);
	LIMITED_EXPECT(read_large(&file, error) == TRACE_OK);
	LIMITED_EXPECT(n_spans == N_SPANS);
	trace_write_release(&span);
	return 0;
}

static int read_many_lines(void)
{
	struct repeated file = { TRACE_LITERAL(HEAD "]}]}]}\n"), TRACE_LITERAL(HEAD "{\"startTimeUnixNano\":1,\"endTimeUnixNano\":2}]}]}]}\n"),
				 TRACE_LITERAL("\n"), N_SPANS, 0 };
	char error[900];

	LIMITED_EXPECT(read_large(&file, error) == TRACE_OK);
	LIMITED_EXPECT(n_spans == N_SPANS);
	return 0;
}

#define LONG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A string of 100 MB where nobody wants it, and one in a span, which is more than there is memory for. */
static int read_long_strings(void)
{
	struct repeated skipped = { TRACE_LITERAL("{\"resourceSpans\":[],\"x\":\""), TRACE_LITERAL(LONG), TRACE_LITERAL("\"}"), 1024 * 1024, 0 };
	struct repeated kept = { TRACE_LITERAL(HEAD "{\"x\":\""), TRACE_LITERAL(LONG), TRACE_LITERAL("\"}]}]}]}"), 1024 * 1024, 0 };
	struct repeated protobuf_skipped = { TRACE_LITERAL("\x0a\x87\x80\x80\x30\x0a\x00\x1a\x80\x80\x80\x30"),
					     TRACE_LITERAL(LONG), TRACE_LITERAL(""), 1024 * 1024, 0 };
	char error[900];

	LIMITED_EXPECT(read_large(&skipped, error) == TRACE_OK);
	LIMITED_EXPECT(read_large(&kept, error) == TRACE_ERROR_MEMORY && strstr(error, "out of memory"));
	LIMITED_EXPECT(read_large(&protobuf_skipped, error) == TRACE_OK);
	return 0;
}

static int read_many_in_protobuf(void)
{
	struct repeated file = { { 0 }, { 0 }, { 0 }, N_SPANS, 0 };
	struct trace_bytes span = { 0 }, one = { 0 }, head = { 0 }, body = { 0 };
	uint64_t n_scope_spans;
	char error[900], text[200] = "";

	protobuf_put_bytes(&span, 3, text, sizeof text);
	protobuf_put_fixed64(&span, 7, 1);
	protobuf_put_fixed64(&span, 8, 2);
	protobuf_put_message(&one, 2, &span);
	n_scope_spans = 2 + (uint64_t)N_SPANS * one.n_bytes;
	protobuf_put_bytes(&body, 1, "", 0);
	protobuf_put_varint(&body, 2 << 3 | 2);
	protobuf_put_varint(&body, n_scope_spans);
	protobuf_put_varint(&head, 1 << 3 | 2);
	protobuf_put_varint(&head, body.n_bytes + n_scope_spans);
	LIMITED_EXPECT(trace_bytes_append(&head, (struct trace_text){ body.data, body.n_bytes }, NULL) == TRACE_OK);
	protobuf_put_bytes(&head, 1, "", 0);
	file.first = (struct trace_text){ head.data, head.n_bytes };
	file.middle = (struct trace_text){ one.data, one.n_bytes };
	LIMITED_EXPECT(read_large(&file, error) == TRACE_OK);
	LIMITED_EXPECT(n_spans == N_SPANS);
	trace_bytes_release(&head);
	trace_bytes_release(&body);
	trace_bytes_release(&one);
	return 0;
}

static void large_files_need_little_memory(void **state)
{
	int (*const bodies[])(void) = { read_many_spans, read_many_lines, read_many_in_protobuf, read_long_strings };

	(void)state;
	if (!limited_or_says_why_not())
		skip();
	for (size_t i = 0; i < COUNT_OF(bodies); i++)
		assert_int_equal(limited_run(RLIMIT_AS, MOST_MEMORY, bodies[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_may_fail),
		cmocka_unit_test(large_files_need_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
