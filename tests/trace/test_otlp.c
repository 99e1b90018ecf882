/* OTLP's traces in JSON and protobuf: small ones, random ones that both have to read alike, damaged and hostile ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/harness.h"
#include "tests/support/limited.h"
#include "tests/trace/otlp_sample.h"
#include "tests/trace/recording.h"

static const struct trace_options everything = { .args = true, .complete = true };
static const struct trace_options strictly = { .args = true, .complete = true, .strict = true };

static char *text_of(const void *bytes, size_t n_bytes, const struct trace_options *options)
{
	struct recording recording;
	char *text;

	recording_of_bytes(&recording, bytes, n_bytes, options);
	text = recording_text(&recording);
	if (recording.status != TRACE_OK)
		fail_msg("status %d: %s", recording.status, recording.error);
	recording_release(&recording);
	return text;
}

static void expect(const char *json, const char *shown)
{
	char *text = text_of(json, strlen(json), &everything);

	assert_string_equal(text, shown);
	free(text);
}

static void expect_error(const void *bytes, size_t n_bytes, const struct trace_options *options, int status, const char *error)
{
	char actual[900];

	assert_int_equal(recording_status(bytes, n_bytes, options, actual), status);
	assert_string_equal(actual, error);
}

/* A span in the resource "s" and the scope "l". */
#define SPAN(fields)                                                                                                  \
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"s\"}}]}," \
	"\"scopeSpans\":[{\"scope\":{\"name\":\"l\"},\"spans\":[{" fields "}]}]}]}"

static void a_span_has_all_its_fields(void **state)
{
	(void)state;
	expect(SPAN("\"traceId\":\"0AF7651916CD43DD8448EB211C80319C\",\"spanId\":\"b7ad6b7169203331\",\"parentSpanId\":\"00\","
		    "\"name\":\"n\",\"kind\":2,\"startTimeUnixNano\":\"1700000000000000001\",\"endTimeUnixNano\":1700000000000000003,"
		    "\"status\":{\"code\":2,\"message\":\"bad\"},\"traceState\":\"a=1\",\"flags\":257,\"droppedLinksCount\":4,"
		    "\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":\"-7\"}}]"),
	       "span 1 at 1700000000000000001 for 2 depth=0 track=s name=n cat=l id=b7ad6b7169203331 "
	       "trace=0af7651916cd43dd8448eb211c80319c args={\"kind\":\"server\",\"status\":\"error\",\"status_message\":\"bad\","
	       "\"attributes\":{\"k\":-7},\"resource\":{\"service.name\":\"s\"},\"trace_state\":\"a=1\",\"flags\":257,"
	       "\"dropped_links\":4}\n"
	       "track service s name=s\n");
}

static void attributes_become_an_object(void **state)
{
	(void)state;
	expect(SPAN("\"startTimeUnixNano\":5,\"endTimeUnixNano\":5,\"attributes\":["
		    "{\"key\":\"a\",\"value\":{\"stringValue\":\"\\u00e9\\n\"}},{\"key\":\"b\",\"value\":{\"boolValue\":true}},"
		    "{\"key\":\"c\",\"value\":{\"doubleValue\":1.50}},{\"key\":\"d\",\"value\":{\"doubleValue\":\"NaN\"}},"
		    "{\"key\":\"e\",\"value\":{\"arrayValue\":{\"values\":[{\"int_value\":1},{},{\"bytesValue\":\"AQ==\"}]}}},"
		    "{\"key\":\"f\",\"value\":{\"kvlistValue\":{\"values\":[{\"key\":\"g\",\"value\":{\"intValue\":\"007\"}}]}}},"
		    "{\"key\":\"h\"},{\"key\":\"i\",\"value\":{\"arrayValue\":{}}}]"),
	       "span 1 at 5 for 0 depth=0 track=s name= cat=l args={\"attributes\":{\"a\":\"\\u00e9\\n\",\"b\":true,\"c\":1.50,"
	       "\"d\":\"NaN\",\"e\":[1,null,\"AQ==\"],\"f\":{\"g\":\"007\"},\"h\":null,\"i\":[]},"
	       "\"resource\":{\"service.name\":\"s\"}}\ntrack service s name=s\n");
}

static void events_are_instants(void **state)
{
	(void)state;
	expect(SPAN("\"spanId\":\"0102\",\"startTimeUnixNano\":5,\"endTimeUnixNano\":9,\"events\":["
		    "{\"timeUnixNano\":\"6\",\"name\":\"e\",\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":1}}]},"
		    "{\"timeUnixNano\":7},{\"name\":\"when?\"}]"),
	       "span 1 at 5 for 4 depth=0 track=s name= cat=l id=0102 args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "instant 6 track=s name=e cat=l id=0102 args={\"attributes\":{\"k\":1}}\n"
	       "instant 7 track=s name= cat=l id=0102\n"
	       "left out: event without a time 1\ntrack service s name=s\n");
}

/* From the span that is named to the one that has the link: whether it stands before or behind, starts earlier or later. Of two
 * spans of one id the first one counts, several may link to one span, and one span to itself. */
static void links_are_flows(void **state)
{
	(void)state;
	expect(SPAN("\"traceId\":\"01\",\"spanId\":\"0a\",\"startTimeUnixNano\":5,\"endTimeUnixNano\":6,\"links\":["
		    "{\"traceId\":\"01\",\"spanId\":\"0b\"},{\"traceId\":\"02\",\"spanId\":\"0b\"},{}]},"
		    "{\"traceId\":\"01\",\"spanId\":\"0b\",\"startTimeUnixNano\":3,\"endTimeUnixNano\":4,\"links\":["
		    "{\"traceId\":\"01\",\"spanId\":\"0a\"},{\"traceId\":\"01\",\"spanId\":\"0b\"}]},"
		    "{\"traceId\":\"01\",\"spanId\":\"0b\",\"startTimeUnixNano\":2,\"endTimeUnixNano\":9,\"links\":["
		    "{\"traceId\":\"01\",\"spanId\":\"0a\"}]},{\"links\":[{\"traceId\":\"01\",\"spanId\":\"0a\"}]"),
	       "span 3 at 2 for 7 depth=0 track=s name= cat=l id=0b trace=01 args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "span 2 at 3 for 1 depth=1 track=s name= cat=l id=0b trace=01 args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "span 1 at 5 for 1 depth=1 track=s name= cat=l id=0a trace=01 args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "flow 1 at 5 to 3 at 2 id=0a\nflow 1 at 5 to 2 at 3 id=0a\n"
	       "flow 2 at 3 to 2 at 3 id=0b\nflow 2 at 3 to 1 at 5 id=0b\n"
	       "left out: span without a start 1\nleft out: link of a span without a start 1\nleft out: link without start 2\n"
	       "track service s name=s\n");
}

static void what_does_not_end_is_never_closed(void **state)
{
	(void)state;
	expect(SPAN("\"startTimeUnixNano\":5},{\"startTimeUnixNano\":5,\"endTimeUnixNano\":\"0\"},"
		    "{\"startTimeUnixNano\":5,\"endTimeUnixNano\":null},{\"startTimeUnixNano\":5,\"endTimeUnixNano\":4},"
		    "{\"endTimeUnixNano\":9"),
	       "span 1 at 5 for -1 depth=0 track=s name= cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "span 2 at 5 for -1 depth=1 track=s name= cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "span 3 at 5 for -1 depth=2 track=s name= cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "span 4 at 5 for -1 depth=3 track=s name= cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
	       "mended: span that ends before it starts 1\nleft out: span without a start 1\ntrack service s name=s\n");
}

/* Resources and scopes may be missing, be empty, be named otherwise, or stand behind what is in them. */
static void names_and_order_of_members_are_free(void **state)
{
	(void)state;
	expect("{\"a\":[{\"resourceSpans\":[1]}],\"batches\":[{\"schema_url\":\"x\",\"scope_spans\":[{\"spans\":[{\"name\":\"a\","
	       "\"start_time_unix_nano\":1,\"end_time_unix_nano\":2}],\"scope\":{\"name\":\"behind\"}}],"
	       "\"resource\":{\"attributes\":[{\"value\":{\"string_value\":\"last\"},\"key\":\"service.name\"}]}},"
	       "{\"instrumentationLibrarySpans\":[{\"instrumentationLibrary\":{\"name\":\"old\"},"
	       "\"spans\":[{\"name\":\"b\",\"startTimeUnixNano\":3,\"endTimeUnixNano\":4}]},{\"spans\":null}]},{}]}\n\n"
	       "{\"logs\":[]} {\"resource_spans\":[]}",
	       "span 1 at 1 for 1 depth=0 track=last name=a cat=behind args={\"resource\":{\"service.name\":\"last\"}}\n"
	       "span 2 at 3 for 1 depth=0 track= name=b cat=old\n"
	       "left out: object without resourceSpans 1\ntrack service last name=last\ntrack service \n");
}

static void ids_are_hexadecimal_or_base64(void **state)
{
	static const struct {
		const char *text, *id;
	} ids[] = {
		{ "b7ad6b7169203331", "b7ad6b7169203331" }, { "B7AD6B71", "b7ad6b71" }, { "t61rcWkgMzE=", "b7ad6b7169203331" },
		{ "sid1", "b22775" }, { "AQ==", "01" },	{ "//+/", "ffffbf" },
	};
	static const char *const none[] = { "", "0000000000000000", "AAAAAAAAAAA=" };
	static const char *const wrong[] = { "abc", "!!!!", "A===", "AQ=Q",
					     "000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f00" };
	char json[600], shown[300];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		snprintf(json, sizeof json, SPAN("\"startTimeUnixNano\":1,\"spanId\":\"%s\""), ids[i].text);
		snprintf(shown, sizeof shown,
			 "span 1 at 1 for -1 depth=0 track=s name= cat=l id=%s args={\"resource\":{\"service.name\":\"s\"}}\n"
			 "track service s name=s\n",
			 ids[i].id);
		expect(json, shown);
	}
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		snprintf(json, sizeof json, SPAN("\"startTimeUnixNano\":1,\"spanId\":\"%s\""), none[i]);
		expect(json, "span 1 at 1 for -1 depth=0 track=s name= cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
			     "track service s name=s\n");
	}
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		snprintf(json, sizeof json, SPAN("\"spanId\":\"%s\""), wrong[i]);
		expect_error(json, strlen(json), &everything, TRACE_ERROR_FORMAT,
			     "trace: byte 154: an id is up to 32 bytes in hexadecimal digits, or in base64");
	}
}

static void text_is_mended_unless_strict(void **state)
{
	static const char json[] = SPAN("\"name\":\"a\xff\",\"startTimeUnixNano\":1,,\"x\":NaN},\n,{\"startTimeUnixNano\":2} {"
					"\"startTimeUnixNano\":3");
	struct trace_bytes file = { 0 }, resource_spans = { 0 }, scope_spans = { 0 }, span = { 0 };
	char *text;

	(void)state;
	expect(json, "span 1 at 1 for -1 depth=0 track=s name=a\xEF\xBF\xBD cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
		     "span 2 at 2 for -1 depth=1 track=s name= cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
		     "span 3 at 3 for -1 depth=2 track=s name= cat=l args={\"resource\":{\"service.name\":\"s\"}}\n"
		     "mended: comma too many 2\nmended: comma missing 1\n"
		     "mended: NaN or Infinity for a number 1\nmended: string that is not UTF-8 1\ntrack service s name=s\n");
	expect_error(json, strlen(json), &strictly, TRACE_ERROR_FORMAT,
		     "trace: byte 151: not valid JSON: string that is not UTF-8");

	protobuf_put_bytes(&span, 5, "a\xff", 2);
	protobuf_put_fixed64(&span, 7, 1);
	protobuf_put_message(&scope_spans, 2, &span);
	protobuf_put_message(&resource_spans, 2, &scope_spans);
	protobuf_put_message(&file, 1, &resource_spans);
	text = text_of(file.data, file.n_bytes, &everything);
	assert_string_equal(text, "span 1 at 1 for -1 depth=0 track= name=a\xEF\xBF\xBD\n"
				  "mended: string that is not UTF-8 1\ntrack service \n");
	expect_error(file.data, file.n_bytes, &strictly, TRACE_ERROR_FORMAT,
		     "trace: byte 4: a text in the message that starts here is not UTF-8");
	free(text);
	trace_bytes_release(&file);
}

static void breaches_are_errors_with_their_byte(void **state)
{
	static const struct {
		const char *json, *error;
		int status;
	} cases[] = {
		{ "{\"resourceSpans\":{}}", "trace: byte 17: resourceSpans, scopeSpans and spans are arrays", TRACE_ERROR_FORMAT },
		{ "{\"resourceSpans\":[[]]}", "trace: byte 18: an element of OTLP's arrays is an object", TRACE_ERROR_FORMAT },
		{ "{\"resourceSpans\":[]}\nthis", "trace: byte 21: not valid JSON: an object was to begin here", TRACE_ERROR_FORMAT },
		{ "{\"resourceSpans\":[]", "trace: byte 19: the file ends inside an object", TRACE_ERROR_FORMAT },
		{ "{\"resourceSpans\":[}", "trace: byte 18: not valid JSON", TRACE_ERROR_FORMAT },
		{ "{\"resourceSpans\" []}", "trace: byte 17: not valid JSON", TRACE_ERROR_FORMAT },
		{ "{\"resourceSpans\":[],\"a\":]}", "trace: byte 24: not valid JSON", TRACE_ERROR_FORMAT },
		{ SPAN("\"a\":01"), "trace: byte 148: not valid JSON", TRACE_ERROR_FORMAT },
		{ SPAN("\"startTimeUnixNano\":1.5"), "trace: byte 164: this is to be an integer from 0 to 2^64 - 1", TRACE_ERROR_FORMAT },
		{ SPAN("\"startTimeUnixNano\":\"18446744073709551616\""),
		  "trace: byte 165: this is to be an integer from 0 to 2^64 - 1", TRACE_ERROR_FORMAT },
		{ SPAN("\"startTimeUnixNano\":\"9223372036854775808\""), "trace: byte 143: a time does not fit into 64-bit nanoseconds",
		  TRACE_ERROR_RANGE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect_error(cases[i].json, strlen(cases[i].json), &everything, cases[i].status, cases[i].error);
}

/* ---- Both encodings ---- */

static void both_encodings_are_read_alike(void **state)
{
	unsigned n_rounds = random_rounds(300);
	size_t n_spans = 0, n_flows = 0, n_instants = 0;

	(void)state;
	for (unsigned round = 0; round < n_rounds; round++) {
		struct random dice = random_from(random_seed() + round);
		struct trace_options options = everything;
		struct otlp_sample sample;
		struct recording recording;
		char *of_json, *of_protobuf;

		otlp_sample_make(&sample, &dice);
		options.piece_bytes = random_chance(&dice, 50) ? 1 + random_below(&dice, 100) : 0;
		options.strict = random_chance(&dice, 50);
		recording_of_bytes(&recording, sample.protobuf.data, sample.protobuf.n_bytes, &options);
		/* no field at all: of any format */
		if (recording.status == TRACE_ERROR_NOT_TRACE && sample.protobuf.n_bytes < 40) {
			recording_release(&recording);
			otlp_sample_release(&sample);
			continue;
		}
		if (recording.status != TRACE_OK)
			fail_msg("seed %llu: %s", (unsigned long long)random_seed() + round, recording.error);
		n_spans += recording.counts.n_spans;
		n_flows += recording.counts.n_flows;
		n_instants += recording.counts.n_instants;
		recording_release(&recording);
		of_protobuf = text_of(sample.protobuf.data, sample.protobuf.n_bytes, &options);
		of_json = text_of(sample.json.bytes.data, sample.json.bytes.n_bytes, &options);
		assert_string_equal(of_json, of_protobuf);
		free(of_json);
		free(of_protobuf);
		otlp_sample_release(&sample);
	}
	assert_true(n_spans >= n_rounds && n_flows >= n_rounds / 10 && n_instants >= n_rounds / 2);
}

/* A sample with something in it. */
static void make_rich_sample(struct otlp_sample *sample, bool has_lengths)
{
	for (unsigned seed = 1;; seed++) {
		struct random dice = random_from(seed);

		otlp_sample_make(sample, &dice);
		if (sample->protobuf.n_bytes > 1000 && sample->protobuf.n_bytes < 3000 && sample->has_lengths == has_lengths)
			return;
		otlp_sample_release(sample);
	}
}

static void expect_cut(const char *data, size_t n_bytes, size_t n_whole)
{
	char error[900], expected[100];

	for (size_t n = 40; n < n_bytes; n++) {
		int status = recording_status(data, n, &everything, error);

		if (n >= n_whole)
			assert_int_equal(status, TRACE_OK);
		if (status == TRACE_OK)
			continue;
		snprintf(expected, sizeof expected, "trace: byte %zu: the file ends inside ", n);
		assert_int_equal(status, TRACE_ERROR_FORMAT);
		assert_memory_equal(error, expected, strlen(expected));
	}
}

/* A file of several messages may end between them. */
static void a_cut_file_is_an_error_at_its_end(void **state)
{
	(void)state;
	for (int has_lengths = 0; has_lengths < 2; has_lengths++) {
		struct otlp_sample sample;

		make_rich_sample(&sample, has_lengths);
		expect_cut(sample.json.bytes.data, sample.json.bytes.n_bytes, sample.json.bytes.n_bytes - 1);
		expect_cut(sample.protobuf.data, sample.protobuf.n_bytes, sample.protobuf.n_bytes);
		otlp_sample_release(&sample);
	}
}

/* What came before an error is handed out before it. */
static void spans_before_an_error_are_handed_out(void **state)
{
	static const char json[] = SPAN("\"startTimeUnixNano\":1") "\nno JSON\n" SPAN("\"startTimeUnixNano\":2");
	static const struct trace_options as_they_come = { .args = true };
	struct recording recording;

	(void)state;
	recording_of_bytes(&recording, json, strlen(json), &as_they_come);
	assert_int_equal(recording.status, TRACE_ERROR_FORMAT);
	assert_int_equal(recording.n_spans, 1);
	assert_int_equal(recording.spans[0].ts_ns, 1);
	assert_int_equal(recording.spans[0].depth, TRACE_UNKNOWN_DEPTH);
	recording_release(&recording);
}

/* ---- Hostile files ---- */

static void put_nested_value(struct trace_bytes *value, unsigned depth)
{
	protobuf_put_bytes(value, 1, "x", 1);
	for (unsigned i = 0; i < depth; i++) {
		struct trace_bytes list = { 0 }, outer = { 0 };

		protobuf_put_message(&list, 1, value);
		protobuf_put_message(&outer, 5, &list);
		*value = outer;
	}
}

/* A file with this attribute in its only span. */
static void put_file(struct trace_bytes *file, struct trace_bytes *value)
{
	struct trace_bytes pair = { 0 }, span = { 0 }, scope_spans = { 0 }, resource_spans = { 0 };

	protobuf_put_bytes(&pair, 1, "k", 1);
	protobuf_put_message(&pair, 2, value);
	protobuf_put_fixed64(&span, 7, 1);
	protobuf_put_message(&span, 9, &pair);
	protobuf_put_message(&scope_spans, 2, &span);
	protobuf_put_message(&resource_spans, 2, &scope_spans);
	protobuf_put_message(file, 1, &resource_spans);
}

static void deep_nesting_is_refused(void **state)
{
	static const struct {
		unsigned depth;
		int status;
	} cases[] = { { 900, TRACE_OK }, { 1100, TRACE_ERROR_LIMIT }, { 20000, TRACE_ERROR_LIMIT } };
	char error[900];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct trace_bytes file = { 0 }, value = { 0 };

		put_nested_value(&value, cases[i].depth);
		put_file(&file, &value);
		assert_int_equal(recording_status(file.data, file.n_bytes, &everything, error), cases[i].status);
		if (cases[i].status < 0)
			assert_non_null(strstr(error, "more than 1000 lists are nested in the message that starts here"));
		trace_bytes_release(&file);
	}
	for (int place = 0; place < 2; place++) {
		struct trace_bytes file = { 0 };
		struct trace_text begin = place == 0 ? TRACE_LITERAL("{\"resourceSpans\":[{\"scopeSpans\":[{\"scope\":{},\"spans\":[{\"x\":")
						     : TRACE_LITERAL("{\"resourceSpans\":[],\"x\":");

		assert_int_equal(trace_bytes_append(&file, begin, NULL), TRACE_OK);
		for (int i = 0; i < 200000; i++)
			assert_int_equal(trace_bytes_append(&file, i % 2 ? TRACE_LITERAL("[") : TRACE_LITERAL("{\"a\":"), NULL), TRACE_OK);
		assert_int_equal(recording_status(file.data, file.n_bytes, &everything, error), TRACE_ERROR_LIMIT);
		assert_non_null(strstr(error, ": byte "));
		assert_non_null(strstr(error, "more than 1000 objects and arrays are nested"));
		trace_bytes_release(&file);
	}
}

static void lengths_beyond_the_file_are_refused(void **state)
{
	static const struct {
		const char *bytes, *error;
		size_t n_bytes;
		int status;
	} cases[] = {
		/* ResourceSpans of 2^62 bytes, and one of 2^63; a resource in them of 2^40 */
		{ "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x40\x0a\x00\x12\x00", "trace: byte 14: the file ends inside a message", 14,
		  TRACE_ERROR_FORMAT },
		{ "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x0a\x00\x12\x00",
		  "trace: byte 0: the field that starts here is longer than its message", 15, TRACE_ERROR_FORMAT },
		{ "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x40\x1a\x00\x0a\x80\x80\x80\x80\x80\x20\x0a\x01",
		  "trace: byte 12: the field that starts here is longer than 256 MiB", 21, TRACE_ERROR_LIMIT },
		/* scope spans whose resource may come behind 2^40 bytes */
		{ "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x40\x12\x02\x1a\x00",
		  "trace: byte 10: the message around this field is longer than 256 MiB, and its resource or scope is not known", 14,
		  TRACE_ERROR_LIMIT },
		/* a span longer than its ScopeSpans */
		{ "\x0a\x08\x12\x06\x0a\x00\x12\x7f\x09\x01", "trace: byte 6: the field that starts here is longer than its message",
		  10, TRACE_ERROR_FORMAT },
		/* an overlong varint, a group, and field 0 inside of a span */
		{ "\x0a\x10\x12\x0e\x0a\x00\x12\x0a\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff", "trace: byte 6: the message that starts here is not valid protobuf", 18, TRACE_ERROR_FORMAT },
		{ "\x0a\x08\x12\x06\x0a\x00\x12\x02\x0b\x0c", "trace: byte 6: the message that starts here is not valid protobuf", 10,
		  TRACE_ERROR_FORMAT },
		{ "\x0a\x08\x12\x06\x0a\x00\x12\x02\x00\x00", "trace: byte 6: the message that starts here is not valid protobuf", 10, TRACE_ERROR_FORMAT },
	};
	char error[900];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(recording_status(cases[i].bytes, cases[i].n_bytes, &everything, error), cases[i].status);
		assert_string_equal(error, cases[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_has_all_its_fields),
		cmocka_unit_test(attributes_become_an_object),
		cmocka_unit_test(events_are_instants),
		cmocka_unit_test(links_are_flows),
		cmocka_unit_test(what_does_not_end_is_never_closed),
		cmocka_unit_test(names_and_order_of_members_are_free),
		cmocka_unit_test(ids_are_hexadecimal_or_base64),
		cmocka_unit_test(text_is_mended_unless_strict),
		cmocka_unit_test(breaches_are_errors_with_their_byte),
		cmocka_unit_test(both_encodings_are_read_alike),
		cmocka_unit_test(a_cut_file_is_an_error_at_its_end),
		cmocka_unit_test(spans_before_an_error_are_handed_out),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(lengths_beyond_the_file_are_refused),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
