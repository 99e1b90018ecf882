/* Files of any format as they are, plain or gzip, so that recorded traces can be the corpus: whatever their bytes are, reading
 * ends, an error names its byte, and pieces of another size give the same. The last byte of an input also says whether reading is
 * strict.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/trace/recording.h"

enum { STRICT = 1, PIECE_BYTES = 11 };

static char *read_file(const uint8_t *data, size_t n_data, bool is_strict, size_t piece_bytes, struct recording *recording)
{
	struct trace_options options = { .args = true, .complete = true, .strict = is_strict, .piece_bytes = piece_bytes };

	recording_of_bytes(recording, data, n_data, &options);
	return recording_text(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	bool is_strict = n_data > 0 && data[n_data - 1] & STRICT;
	struct recording whole, pieces;
	char *of_whole = read_file(data, n_data, is_strict, 0, &whole),
	     *of_pieces = read_file(data, n_data, is_strict, PIECE_BYTES, &pieces);

	if (whole.status != pieces.status || strcmp(whole.error, pieces.error) != 0 || strcmp(of_whole, of_pieces) != 0) {
		fprintf(stderr, "pieces of %d bytes give status %d, %s\n%s\ninstead of %d, %s\n%s\n", PIECE_BYTES, pieces.status,
			pieces.error, of_pieces, whole.status, whole.error, of_whole);
		abort();
	}
	if (whole.status < 0 && whole.status != TRACE_ERROR_NOT_TRACE && !strstr(whole.error, "byte")) {
		fprintf(stderr, "an error without its byte: %s\n", whole.error);
		abort();
	}
	free(of_whole);
	free(of_pieces);
	recording_release(&whole);
	recording_release(&pieces);
	return 0;
}

/* The beginning of a file, and what does not follow on it. */
static size_t random_input(struct random *dice, uint8_t *data)
{
	static const struct {
		const char *bytes;
		size_t n_bytes;
	} heads[] = {
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":2},", 27 },
		{ "{\"resourceSpans\":[{", 19 },
		{ "\x0a\x04\x50\x01\x68\x01", 6 },
		{ "\x0a\x10\x12\x0e\x12\x0c\x2a\x01"
		  "a",
		  9 },
		{ "\x0d\xf0\xad\x0b\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0", 32 },
		{ "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10 },
	};
	size_t i = random_below(dice, sizeof heads / sizeof *heads), n = heads[i].n_bytes - random_below(dice, 2),
	       n_more = random_below(dice, FUZZ_MOST_RANDOM - n);

	memcpy(data, heads[i].bytes, n);
	for (size_t k = 0; k < n_more; k++)
		data[n++] = (uint8_t)(random_chance(dice, 70) ? random_below(dice, 32) : random_next(dice));
	return n;
}

const struct fuzz_target fuzz_target = { .n_inputs = 15000, .random_input = random_input };
