/* Damaged traces of Chrome JSON: whatever their bytes are, reading ends, an error names its byte, pieces of another size give the
 * same, and what strict reading takes lenient reading takes as well.
 *
 *   byte 0    1: a bare array; 8: the rest of the input replaces the file
 *   byte 1    which file is made
 *   then      damage, 4 bytes each: what is done, offset u16 (modulo the length), a value
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/trace/recording.h"

enum { INPUT_BARE = 1, INPUT_REPLACE = 8, DAMAGE_BYTES = 4 };

static void append(struct trace_bytes *bytes, const char *data, size_t n_bytes)
{
	if (n_bytes > 0 && trace_bytes_append(bytes, (struct trace_text){ data, n_bytes }, NULL) < 0)
		abort();
}

static void append_text(struct trace_bytes *bytes, const char *text)
{
	append(bytes, text, strlen(text));
}

/* Events of every phase on few threads, with few ids. */
static void make_file(struct trace_bytes *file, const uint8_t *data)
{
	static const char phases[] = "XXXBBEEbbeenSTpFiIRstfCMNO";
	static const char *const extras[] = {
		"", ",\"args\":{\"name\":\"n\",\"v\":1.5,\"w\":\"2\"}", ",\"args\":{\"a\":[NaN,{\"b\":\"\\u00e9\\ud83d\"}]}", ",\"s\":\"g\"",
		",\"bp\":\"e\"", ",\"bind_id\":\"7\",\"flow_out\":true", ",\"bind_id\":\"7\",\"flow_in\":true", ",\"id2\":{\"local\":\"1\"}",
	};
	struct random dice = random_from(data[1]);
	char event[300];

	append_text(file, data[0] & INPUT_BARE ? "[" : "{\"other\":[{\"ph\":\"X\"}],\"traceEvents\":[");
	for (unsigned i = 0; i < 25; i++) {
		snprintf(event, sizeof event,
			 "%s{\"ph\":\"%c\",\"ts\":%u.%u,\"dur\":%u,\"pid\":%u,\"tid\":\"t%u\",\"name\":\"%c\",\"cat\":\"c\",\"id\":%u%s}", i ? "," : "",
			 phases[random_below(&dice, sizeof phases - 1)], (unsigned)random_below(&dice, 40), i, (unsigned)random_below(&dice, 9),
			 (unsigned)random_below(&dice, 2), (unsigned)random_below(&dice, 2), 'a' + (char)random_below(&dice, 3),
			 (unsigned)random_below(&dice, 2), extras[random_below(&dice, sizeof extras / sizeof *extras)]);
		append_text(file, event);
	}
	append_text(file, data[0] & INPUT_BARE ? "]" : "],\"end\":{\"a\":\"b\"}}");
}

static void damage_file(struct trace_bytes *file, const uint8_t *damage)
{
	static const char interesting[] = "{}[],:\"\\ntf0-.e\0\x01\xff ";
	size_t at, n;

	if (file->n_bytes == 0)
		return;
	at = (size_t)(damage[1] | damage[2] << 8) % file->n_bytes;
	n = damage[3] < file->n_bytes - at ? damage[3] : file->n_bytes - at;
	switch (damage[0] % 4) {
	case 0:
		file->data[at] = (char)damage[3];
		break;
	case 1:
		file->data[at] = interesting[damage[3] % (sizeof interesting - 1)];
		break;
	case 2:
		memmove(file->data + at, file->data + at + n, file->n_bytes - at - n);
		file->n_bytes -= n;
		break;
	case 3:
		file->n_bytes = at;
		break;
	}
}

/* What strict reading takes, it reads as other reading does. */
static void check(const struct trace_bytes *file)
{
	static const char *const formats[] = { "Chrome JSON", NULL };
	static const struct trace_options strictly = { .args = true, .complete = true, .strict = true };
	struct recording whole, strict;

	recording_check_pieces(&whole, file->data, file->n_bytes, false, 7, formats);
	recording_of_bytes(&strict, file->data, file->n_bytes, &strictly);
	if (strcmp(whole.format, formats[0]) == 0 && strict.status == TRACE_OK) {
		char *of_whole = recording_text(&whole), *of_strict = recording_text(&strict);

		if (strcmp(of_whole, of_strict) != 0) {
			fprintf(stderr, "strict reading gives\n%s\ninstead of\n%s\n", of_strict, of_whole);
			abort();
		}
		free(of_whole);
		free(of_strict);
	}
	recording_release(&whole);
	recording_release(&strict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	struct trace_bytes file = { 0 };

	if (n_data < FUZZ_HEADER)
		return 0;
	if (data[0] & INPUT_REPLACE) {
		append(&file, (const char *)data + FUZZ_HEADER, n_data - FUZZ_HEADER);
	} else {
		make_file(&file, data);
		for (size_t i = FUZZ_HEADER; i + DAMAGE_BYTES <= n_data; i += DAMAGE_BYTES)
			damage_file(&file, data + i);
	}
	check(&file);
	trace_bytes_release(&file);
	return 0;
}

static size_t random_input(struct random *dice, uint8_t *data)
{
	size_t n_damages = random_below(dice, 4), n = FUZZ_HEADER;

	data[0] = (uint8_t)random_below(dice, 2);
	data[1] = (uint8_t)random_next(dice);
	for (size_t i = 0; i < n_damages * DAMAGE_BYTES; i++)
		data[n++] = (uint8_t)random_next(dice);
	return n;
}

const struct fuzz_target fuzz_target = { .n_inputs = 15000, .random_input = random_input };
