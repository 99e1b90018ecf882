/* Fields of protobuf messages against nanopb alone, for random bytes: numbers of all lengths, cut and overlong ones, all wires. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pb_decode.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"
#include "trace/protobuf.h"

enum { MOST_BYTES = 64, LONGEST_VARINT_BYTES = 10 };

/* One field as the library alone takes it; false if it is none. */
static bool take_by_library(pb_istream_t *stream, const char *end, struct trace_field *field)
{
	pb_wire_type_t wire;
	bool is_end = false;
	uint32_t bits;
	uint64_t n_bytes;

	*field = (struct trace_field){ 0 };
	if (!pb_decode_tag(stream, &wire, &field->number, &is_end) || field->number == 0)
		return false;
	field->wire = (enum trace_wire)wire;
	switch (wire) {
	case PB_WT_VARINT:
		return pb_decode_varint(stream, &field->value);
	case PB_WT_64BIT:
		return pb_decode_fixed64(stream, &field->value);
	case PB_WT_32BIT:
		if (!pb_decode_fixed32(stream, &bits))
			return false;
		field->value = bits;
		return true;
	case PB_WT_STRING:
		if (!pb_decode_varint(stream, &n_bytes) || n_bytes > stream->bytes_left)
			return false;
		field->text = (struct trace_text){ end - stream->bytes_left, (size_t)n_bytes };
		return pb_read(stream, NULL, (size_t)n_bytes);
	default:
		return false;
	}
}

static void compare(const char *data, size_t n_bytes)
{
	struct trace_message message = trace_message_of((struct trace_text){ data, n_bytes });
	pb_istream_t stream = pb_istream_from_buffer((const pb_byte_t *)data, n_bytes);
	const char *end = data + n_bytes;
	struct trace_field field, expected;
	int status;

	while (stream.bytes_left > 0) {
		const char *start = message.at;

		status = trace_message_next(&message, &field);
		if (!take_by_library(&stream, end, &expected)) {
			assert_int_equal(status, TRACE_ERROR_FORMAT);
			assert_ptr_equal(message.at, start);
			return;
		}
		assert_int_equal(status, TRACE_ROW);
		assert_int_equal(field.number, expected.number);
		assert_int_equal(field.wire, expected.wire);
		assert_int_equal(field.value, expected.value);
		assert_ptr_equal(field.text.data, expected.text.data);
		assert_int_equal(field.text.n_bytes, expected.text.n_bytes);
		assert_ptr_equal(message.at, end - stream.bytes_left);
	}
	assert_int_equal(trace_message_next(&message, &field), TRACE_OK);
}

/* A varint of so many bytes, with any bits: with zeros above too, and too great ones of ten bytes. */
static size_t put_varint(struct random *dice, char *at, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++) {
		uint64_t bits = random_chance(dice, 20) ? 0 : random_below(dice, 0x80);

		at[i] = (char)(bits | (i + 1 < n_bytes ? 0x80 : 0));
	}
	return n_bytes;
}

static size_t make_field(struct random *dice, char *at)
{
	static const unsigned wires[] = { 0, 0, 0, 2, 2, 1, 5, 3, 4, 6, 7 };
	unsigned wire = wires[random_below(dice, random_chance(dice, 90) ? 7 : 11)];
	size_t n = put_varint(dice, at, random_chance(dice, 80) ? 1 : 1 + random_below(dice, 6));

	*at = (char)((*at & ~7) | (char)wire);
	if (wire == 0)
		return n + put_varint(dice, at + n, 1 + random_below(dice, LONGEST_VARINT_BYTES + 1));
	if (wire == 2) {
		size_t n_text = random_below(dice, 12);

		at[n++] = (char)n_text;
		memset(at + n, 'x', n_text);
		return n + n_text;
	}
	memset(at + n, (int)random_below(dice, 256), 8);
	return n + (wire == 5 ? 4 : 8);
}

static void fields_are_those_of_the_library(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(20000); round++) {
		struct random dice = random_from(random_seed() + round);
		char made[4 * MOST_BYTES];
		size_t n_bytes = 0;

		while (n_bytes < MOST_BYTES)
			n_bytes += make_field(&dice, made + n_bytes);
		/* cut anywhere, in memory of just that length */
		for (size_t n = 0; n <= n_bytes; n++) {
			char *data = malloc(n + 1);

			assert_non_null(data);
			memcpy(data + 1, made, n);
			compare(data + 1, n);
			free(data);
		}
	}
}

static void packed_values_are_those_of_the_library(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(20000); round++) {
		struct random dice = random_from(random_seed() + round);
		char message[2 + MOST_BYTES] = { 3 << 3 | 2 };
		size_t n_bytes = 0;
		struct trace_repeated repeated;
		pb_istream_t stream;
		uint64_t value, expected;

		while (n_bytes + LONGEST_VARINT_BYTES + 1 < MOST_BYTES)
			n_bytes += put_varint(&dice, message + 2 + n_bytes, 1 + random_below(&dice, LONGEST_VARINT_BYTES + 1));
		message[1] = (char)n_bytes;
		stream = pb_istream_from_buffer((const pb_byte_t *)message + 2, n_bytes);
		repeated = trace_repeated_of((struct trace_text){ message, 2 + n_bytes }, 3, TRACE_WIRE_VARINT);
		while (stream.bytes_left > 0) {
			int status = trace_repeated_next(&repeated, &value);

			if (!pb_decode_varint(&stream, &expected)) {
				assert_int_equal(status, TRACE_ERROR_FORMAT);
				break;
			}
			assert_int_equal(status, TRACE_ROW);
			assert_int_equal(value, expected);
		}
		if (stream.bytes_left == 0)
			assert_int_not_equal(trace_repeated_next(&repeated, &value), TRACE_ROW);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_those_of_the_library),
		cmocka_unit_test(packed_values_are_those_of_the_library),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
