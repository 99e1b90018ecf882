#include "tests/trace/otlp_sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ID_BYTES = 16 };

/* ---- Protobuf ---- */

static void append(struct trace_bytes *bytes, const void *data, size_t n_bytes)
{
	if (trace_bytes_append(bytes, (struct trace_text){ n_bytes > 0 ? data : "", n_bytes }, NULL) < 0)
		abort();
}

void protobuf_put_varint(struct trace_bytes *message, uint64_t value)
{
	unsigned char digits[10];
	size_t n = 0;

	for (; value > 0x7F; value >>= 7)
		digits[n++] = (unsigned char)(value | 0x80);
	digits[n++] = (unsigned char)value;
	append(message, digits, n);
}

void protobuf_put_number(struct trace_bytes *message, unsigned field, uint64_t value)
{
	protobuf_put_varint(message, field << 3);
	protobuf_put_varint(message, value);
}

static void put_fixed(struct trace_bytes *message, uint64_t value, int n_bytes)
{
	unsigned char bytes[8];

	for (int i = 0; i < n_bytes; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	append(message, bytes, (size_t)n_bytes);
}

void protobuf_put_fixed64(struct trace_bytes *message, unsigned field, uint64_t value)
{
	protobuf_put_varint(message, field << 3 | 1);
	put_fixed(message, value, 8);
}

void protobuf_put_fixed32(struct trace_bytes *message, unsigned field, uint32_t value)
{
	protobuf_put_varint(message, field << 3 | 5);
	put_fixed(message, value, 4);
}

void protobuf_put_bytes(struct trace_bytes *message, unsigned field, const void *bytes, size_t n_bytes)
{
	protobuf_put_varint(message, field << 3 | 2);
	protobuf_put_varint(message, n_bytes);
	append(message, bytes, n_bytes);
}

void protobuf_put_message(struct trace_bytes *message, unsigned field, struct trace_bytes *inside)
{
	protobuf_put_bytes(message, field, inside->data, inside->n_bytes);
	trace_bytes_release(inside);
	*inside = (struct trace_bytes){ 0 };
}

/* ---- Both at once: what is written goes to the JSON, and into the message ---- */

static void key(struct otlp_sample *sample, const char *name)
{
	trace_write_key(&sample->json, (struct trace_text){ name, strlen(name) });
}

static void put_text(struct otlp_sample *sample, struct trace_bytes *message, const char *name, unsigned field,
		     struct trace_text text)
{
	if (name)
		key(sample, name);
	trace_write_string(&sample->json, text);
	protobuf_put_bytes(message, field, text.data, text.n_bytes);
}

static struct trace_text some_text(struct random *dice)
{
	static const char *const texts[] = { "",      "GET /",	  "a\"b\\c\n",	"\x01\x1f\x7f", "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
					     "x = 1", "SELECT *", "a/b\\u0041", "service.name" };
	const char *text = texts[random_below(dice, sizeof texts / sizeof *texts)];

	return (struct trace_text){ text, strlen(text) };
}

/* A 64-bit integer: as text, as the specification has it, or as a number. */
static void write_uint64(struct otlp_sample *sample, struct random *dice, const char *name, uint64_t value)
{
	char digits[30];

	key(sample, name);
	snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
	if (random_chance(dice, 70))
		trace_write_string(&sample->json, (struct trace_text){ digits, strlen(digits) });
	else
		trace_write_uint64(&sample->json, value);
}

static void put_value(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, int depth);

static void put_pair(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, int depth)
{
	struct trace_bytes value = { 0 };

	trace_write_open(&sample->json, '{');
	put_text(sample, message, "key", 1, some_text(dice));
	key(sample, "value");
	put_value(sample, dice, &value, depth);
	protobuf_put_message(message, 2, &value);
	trace_write_close(&sample->json, '}');
}

/* The values of an ArrayValue, or the pairs of a KeyValueList or of attributes. */
static void put_list(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, unsigned field, bool is_array,
		     int depth)
{
	unsigned n = (unsigned)random_below(dice, 4);

	trace_write_open(&sample->json, '[');
	for (unsigned i = 0; i < n; i++) {
		struct trace_bytes inside = { 0 };

		if (is_array)
			put_value(sample, dice, &inside, depth + 1);
		else
			put_pair(sample, dice, &inside, depth + 1);
		protobuf_put_message(message, field, &inside);
	}
	trace_write_close(&sample->json, ']');
}

static void put_nested(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, bool is_array, int depth)
{
	struct trace_bytes list = { 0 };

	key(sample, is_array ? "arrayValue" : "kvlistValue");
	trace_write_open(&sample->json, '{');
	key(sample, "values");
	put_list(sample, dice, &list, 1, is_array, depth);
	trace_write_close(&sample->json, '}');
	protobuf_put_message(message, is_array ? 5 : 6, &list);
}

static void put_double(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	static const double values[] = { 0, 0.1, -1.5e300, 5e-324, 1e15, 123456789.125 };
	double value = random_chance(dice, 20) ? (random_chance(dice, 50) ? (double)NAN : (double)-INFINITY)
					       : values[random_below(dice, sizeof values / sizeof *values)];
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	key(sample, "doubleValue");
	trace_write_double(&sample->json, value);
	protobuf_put_fixed64(message, 4, bits);
}

static void put_value(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, int depth)
{
	int64_t number = random_between(dice, INT64_MIN, INT64_MAX) >> random_below(dice, 60);
	struct trace_text bytes;
	char digits[30];

	trace_write_open(&sample->json, '{');
	switch (random_below(dice, depth > 3 ? 5 : 8)) {
	case 0:
	case 1:
		put_text(sample, message, "stringValue", 1, some_text(dice));
		break;
	case 2:
		key(sample, "boolValue");
		trace_write_bool(&sample->json, number > 0);
		protobuf_put_number(message, 2, number > 0);
		break;
	case 3:
		key(sample, "intValue");
		snprintf(digits, sizeof digits, "%lld", (long long)number);
		trace_write_string(&sample->json, (struct trace_text){ digits, strlen(digits) });
		protobuf_put_number(message, 3, (uint64_t)number);
		break;
	case 4:
		put_double(sample, dice, message);
		break;
	case 5:
		put_nested(sample, dice, message, random_chance(dice, 50), depth);
		break;
	case 6:
		bytes = some_text(dice);
		key(sample, "bytesValue");
		trace_write_base64(&sample->json, bytes);
		protobuf_put_bytes(message, 7, bytes.data, bytes.n_bytes);
		break;
	}
	trace_write_close(&sample->json, '}');
}

static void put_attributes(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, unsigned field)
{
	key(sample, "attributes");
	put_list(sample, dice, message, field, false, 0);
}

static void put_id(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, const char *name, unsigned field,
		   size_t n_bytes, unsigned id)
{
	char bytes[MOST_ID_BYTES] = { 0 }, digits[2 * MOST_ID_BYTES + 1];

	bytes[0] = (char)(id * 37);
	bytes[n_bytes - 1] = (char)id;
	key(sample, name);
	for (size_t i = 0; i < n_bytes; i++)
		snprintf(digits + 2 * i, 3, random_chance(dice, 50) ? "%02x" : "%02X", (unsigned char)bytes[i]);
	if (random_chance(dice, 70))
		trace_write_string(&sample->json, (struct trace_text){ digits, 2 * n_bytes });
	else
		trace_write_base64(&sample->json, (struct trace_text){ bytes, n_bytes });
	protobuf_put_bytes(message, field, bytes, n_bytes);
}

/* ---- Spans ---- */

enum { N_IDS = 12 /* so few that links find their spans */ };

static void put_event(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	uint64_t time_ns = random_below(dice, 1000000);

	trace_write_open(&sample->json, '{');
	if (random_chance(dice, 80)) {
		write_uint64(sample, dice, "timeUnixNano", time_ns);
		protobuf_put_fixed64(message, 1, time_ns);
	}
	put_text(sample, message, "name", 2, some_text(dice));
	if (random_chance(dice, 50))
		put_attributes(sample, dice, message, 3);
	trace_write_close(&sample->json, '}');
}

static void put_link(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	trace_write_open(&sample->json, '{');
	put_id(sample, dice, message, "traceId", 1, 16, 1);
	put_id(sample, dice, message, "spanId", 2, 8, (unsigned)random_below(dice, N_IDS));
	trace_write_close(&sample->json, '}');
}

static void put_some(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message, const char *name,
		     unsigned field, void (*put)(struct otlp_sample *, struct random *, struct trace_bytes *))
{
	unsigned n = (unsigned)random_below(dice, 4);

	key(sample, name);
	trace_write_open(&sample->json, '[');
	for (unsigned i = 0; i < n; i++) {
		struct trace_bytes inside = { 0 };

		put(sample, dice, &inside);
		protobuf_put_message(message, field, &inside);
	}
	trace_write_close(&sample->json, ']');
}

static void put_words(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	static const char *const kinds[] = { "SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER",
					     "SPAN_KIND_CLIENT",      "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER" };
	struct trace_bytes status = { 0 };
	unsigned kind = (unsigned)random_below(dice, 6), code = (unsigned)random_below(dice, 3);

	key(sample, "kind");
	if (random_chance(dice, 50))
		trace_write_uint64(&sample->json, kind);
	else
		trace_write_string(&sample->json, (struct trace_text){ kinds[kind], strlen(kinds[kind]) });
	protobuf_put_number(message, 6, kind);
	key(sample, "status");
	trace_write_open(&sample->json, '{');
	key(sample, "code");
	trace_write_uint64(&sample->json, code);
	protobuf_put_number(&status, 3, code);
	put_text(sample, &status, "message", 2, some_text(dice));
	protobuf_put_message(message, 15, &status);
	trace_write_close(&sample->json, '}');
}

static void put_times(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	uint64_t start_ns = 1 + random_below(dice, 1000000), end_ns = start_ns + random_below(dice, 1000);

	if (random_chance(dice, 10))
		end_ns = random_below(dice, 3);
	if (random_chance(dice, 95)) {
		write_uint64(sample, dice, "startTimeUnixNano", start_ns);
		protobuf_put_fixed64(message, 7, start_ns);
	}
	if (random_chance(dice, 95)) {
		write_uint64(sample, dice, random_chance(dice, 90) ? "endTimeUnixNano" : "end_time_unix_nano", end_ns);
		protobuf_put_fixed64(message, 8, end_ns);
	}
}

static void put_span(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	trace_write_open(&sample->json, '{');
	put_id(sample, dice, message, "traceId", 1, 16, 1);
	put_id(sample, dice, message, "spanId", 2, 8, (unsigned)random_below(dice, N_IDS));
	if (random_chance(dice, 50))
		put_id(sample, dice, message, "parentSpanId", 4, 8, (unsigned)random_below(dice, N_IDS));
	put_text(sample, message, "name", 5, some_text(dice));
	if (random_chance(dice, 70))
		put_words(sample, dice, message);
	put_times(sample, dice, message);
	put_attributes(sample, dice, message, 9);
	put_some(sample, dice, message, "events", 11, put_event);
	put_some(sample, dice, message, "links", 13, put_link);
	if (random_chance(dice, 20)) {
		key(sample, "droppedAttributesCount");
		trace_write_uint64(&sample->json, 3);
		protobuf_put_number(message, 10, 3);
		key(sample, "flags");
		trace_write_uint64(&sample->json, 0x101);
		protobuf_put_fixed32(message, 16, 0x101);
	}
	trace_write_close(&sample->json, '}');
}

/* ---- Resources and scopes ---- */

static void put_scope(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	struct trace_bytes scope = { 0 };

	key(sample, "scope");
	trace_write_open(&sample->json, '{');
	put_text(sample, &scope, "name", 1, some_text(dice));
	put_text(sample, &scope, "version", 2, some_text(dice));
	put_attributes(sample, dice, &scope, 3);
	trace_write_close(&sample->json, '}');
	protobuf_put_message(message, 1, &scope);
}

static void put_scope_spans(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	bool has_scope = random_chance(dice, 80);

	trace_write_open(&sample->json, '{');
	if (has_scope && !sample->headers_are_behind)
		put_scope(sample, dice, message);
	put_some(sample, dice, message, "spans", 2, put_span);
	put_text(sample, message, "schemaUrl", 3, some_text(dice));
	if (has_scope && sample->headers_are_behind)
		put_scope(sample, dice, message);
	trace_write_close(&sample->json, '}');
}

static void put_resource(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	struct trace_bytes resource = { 0 }, pair = { 0 }, value = { 0 };

	key(sample, "resource");
	trace_write_open(&sample->json, '{');
	key(sample, "attributes");
	trace_write_open(&sample->json, '[');
	trace_write_open(&sample->json, '{');
	put_text(sample, &pair, "key", 1, TRACE_LITERAL("service.name"));
	key(sample, "value");
	trace_write_open(&sample->json, '{');
	put_text(sample, &value, "stringValue", 1, random_chance(dice, 50) ? TRACE_LITERAL("shop") : some_text(dice));
	trace_write_close(&sample->json, '}');
	protobuf_put_message(&pair, 2, &value);
	trace_write_close(&sample->json, '}');
	protobuf_put_message(&resource, 1, &pair);
	trace_write_close(&sample->json, ']');
	trace_write_close(&sample->json, '}');
	protobuf_put_message(message, 1, &resource);
}

static void put_resource_spans(struct otlp_sample *sample, struct random *dice, struct trace_bytes *message)
{
	bool has_resource = random_chance(dice, 80), is_old = random_chance(dice, 20);

	trace_write_open(&sample->json, '{');
	if (has_resource && !sample->headers_are_behind)
		put_resource(sample, dice, message);
	put_some(sample, dice, message, is_old ? "instrumentationLibrarySpans" : "scopeSpans", is_old ? 1000 : 2, put_scope_spans);
	put_text(sample, message, "schemaUrl", 3, some_text(dice));
	if (has_resource && sample->headers_are_behind)
		put_resource(sample, dice, message);
	trace_write_close(&sample->json, '}');
}

void otlp_sample_make(struct otlp_sample *sample, struct random *dice)
{
	unsigned n_lines = 1;

	*sample = (struct otlp_sample){ .headers_are_behind = random_chance(dice, 30), .has_lengths = random_chance(dice, 30) };
	if (sample->has_lengths)
		n_lines += (unsigned)random_below(dice, 3);
	for (unsigned i = 0; i < n_lines; i++) {
		struct trace_bytes message = { 0 };
		unsigned char length[4];

		trace_write_open(&sample->json, '{');
		put_some(sample, dice, &message, "resourceSpans", 1, put_resource_spans);
		trace_write_close(&sample->json, '}');
		append(&sample->json.bytes, "\n", 1);
		sample->json.needs_comma = false;
		for (int k = 0; k < 4; k++)
			length[k] = (unsigned char)(message.n_bytes >> (24 - 8 * k));
		if (sample->has_lengths)
			append(&sample->protobuf, length, sizeof length);
		append(&sample->protobuf, message.data, message.n_bytes);
		trace_bytes_release(&message);
	}
	if (sample->json.out_of_memory)
		abort();
}

void otlp_sample_release(struct otlp_sample *sample)
{
	trace_write_release(&sample->json);
	trace_bytes_release(&sample->protobuf);
	*sample = (struct otlp_sample){ 0 };
}
