/* Damaged traces of OTLP, in JSON and protobuf, and of Spall: whatever their bytes are, reading ends, an error names its byte,
 * and pieces of another size give the same.
 *
 *   byte 0    1: protobuf, else JSON; 2: Spall instead; 4: strict; 8: the rest of the input replaces the file
 *   byte 1    which file is made
 *   then      damage, 4 bytes each: what is done, offset u16 (modulo the length), a value
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/trace/otlp_sample.h"
#include "tests/trace/recording.h"

enum { INPUT_PROTOBUF = 1, INPUT_SPALL = 2, INPUT_STRICT = 4, INPUT_REPLACE = 8, DAMAGE_BYTES = 4 };

enum damage { DAMAGE_SET, DAMAGE_CUT, DAMAGE_REMOVE, DAMAGE_REPEAT, DAMAGE_LENGTH, N_DAMAGES };

static void append(struct trace_bytes *bytes, const void *data, size_t n_bytes)
{
	if (n_bytes > 0 && trace_bytes_append(bytes, (struct trace_text){ data, n_bytes }, NULL) < 0)
		abort();
}

static void put(struct trace_bytes *bytes, uint64_t value, int n_bytes)
{
	for (; n_bytes-- > 0; value >>= 8)
		append(bytes, &(char){ (char)value }, 1);
}

/* Buffers of two threads with begins and ends, or the same without buffers. */
static void make_spall(struct trace_bytes *file, struct random *dice)
{
	bool has_buffers = random_chance(dice, 50);

	put(file, 0x0BADF00D, 8);
	put(file, has_buffers ? 3 : 1, 8);
	put(file, random_chance(dice, 50) ? UINT64_C(0x3FF0000000000000) : UINT64_C(0x3FD5555555555555), 8);
	put(file, 0, 8);
	for (unsigned i = 0; i < 12; i++) {
		bool is_begin = random_chance(dice, 60);
		uint64_t time = has_buffers ? i * 10 : UINT64_C(0x4090000000000000) + ((uint64_t)i << 42);
		uint32_t tid = (uint32_t)random_below(dice, 2);

		if (has_buffers) {
			put(file, is_begin ? 14 : 9, 4);
			put(file, tid, 4);
			put(file, 1, 4);
			put(file, 0, 8);
		}
		put(file, is_begin ? 3 : 4, 1);
		if (!has_buffers && is_begin)
			put(file, 0, 1);
		if (!has_buffers) {
			put(file, 1, 4);
			put(file, tid, 4);
		}
		put(file, time, 8);
		if (is_begin)
			append(file,
			       "\x02\x01"
			       "abc",
			       5);
	}
}

static void make_file(struct trace_bytes *file, const uint8_t *data)
{
	struct random dice = random_from(data[1]);
	struct otlp_sample sample;

	if (data[0] & INPUT_SPALL) {
		make_spall(file, &dice);
		return;
	}
	otlp_sample_make(&sample, &dice);
	if (data[0] & INPUT_PROTOBUF)
		append(file, sample.protobuf.bytes, sample.protobuf.n_bytes);
	else
		append(file, sample.json.bytes.data, sample.json.bytes.n_bytes);
	otlp_sample_release(&sample);
}

static void remove_bytes(struct trace_bytes *file, size_t at, size_t n)
{
	n = n < file->n_bytes - at ? n : file->n_bytes - at;
	memmove(file->data + at, file->data + at + n, file->n_bytes - at - n);
	file->n_bytes -= n;
}

static void repeat_bytes(struct trace_bytes *file, size_t at, size_t n)
{
	n = n < file->n_bytes - at ? n : file->n_bytes - at;
	if (trace_bytes_reserve(file, n) < 0)
		abort();
	memmove(file->data + at + n, file->data + at, file->n_bytes - at);
	file->n_bytes += n;
}

/* A byte becomes a varint of several bytes: what stands behind a tag is often a length. */
static void lengthen(struct trace_bytes *file, size_t at, uint8_t value)
{
	size_t n = 1 + value % 9;

	repeat_bytes(file, at, n);
	for (size_t i = at; i < file->n_bytes && i < at + n; i++)
		file->data[i] |= (char)0x80;
}

static void damage_file(struct trace_bytes *file, const uint8_t *damage)
{
	size_t at;

	if (file->n_bytes == 0)
		return;
	at = (size_t)(damage[1] | damage[2] << 8) % file->n_bytes;
	switch (damage[0] % N_DAMAGES) {
	case DAMAGE_SET:
		file->data[at] = (char)damage[3];
		break;
	case DAMAGE_CUT:
		file->n_bytes = at;
		break;
	case DAMAGE_REMOVE:
		remove_bytes(file, at, damage[3]);
		break;
	case DAMAGE_REPEAT:
		repeat_bytes(file, at, damage[3]);
		break;
	case DAMAGE_LENGTH:
		lengthen(file, at, damage[3]);
		break;
	}
}

static void check(const struct trace_bytes *file, bool is_strict)
{
	static const char *const formats[] = { "OTLP JSON", "OTLP protobuf", "Spall", NULL };
	struct recording recording;

	recording_check_pieces(&recording, file->data, file->n_bytes, is_strict, 13, formats);
	recording_release(&recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	struct trace_bytes file = { 0 };

	if (n_data < FUZZ_HEADER)
		return 0;
	if (data[0] & INPUT_REPLACE) {
		append(&file, data + FUZZ_HEADER, n_data - FUZZ_HEADER);
	} else {
		make_file(&file, data);
		for (size_t i = FUZZ_HEADER; i + DAMAGE_BYTES <= n_data; i += DAMAGE_BYTES)
			damage_file(&file, data + i);
	}
	check(&file, data[0] & INPUT_STRICT);
	trace_bytes_release(&file);
	return 0;
}

static size_t random_input(struct random *dice, uint8_t *data)
{
	size_t n_damages = random_below(dice, 5), n = FUZZ_HEADER;

	data[0] = (uint8_t)random_below(dice, 8);
	data[1] = (uint8_t)random_next(dice);
	for (size_t i = 0; i < n_damages; i++, n += DAMAGE_BYTES) {
		data[n] = (uint8_t)random_next(dice);
		data[n + 1] = (uint8_t)random_next(dice);
		data[n + 2] = (uint8_t)(random_chance(dice, 50) ? 0 : random_next(dice));
		data[n + 3] = (uint8_t)random_next(dice);
	}
	return n;
}

const struct fuzz_target fuzz_target = { .n_inputs = 15000, .random_input = random_input };
