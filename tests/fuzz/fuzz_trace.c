/* Files of any format as they are, plain or gzip, so that recorded traces can be the corpus: whatever their bytes are, reading
 * ends, an error names its byte, and pieces of another size give the same. The last byte of an input also says whether reading is
 * strict.
 */
#include <string.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/trace/recording.h"

enum { STRICT = 1, PIECE_BYTES = 11 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	bool is_strict = n_data > 0 && data[n_data - 1] & STRICT;
	struct recording recording;

	recording_check_pieces(&recording, data, n_data, is_strict, PIECE_BYTES, NULL);
	recording_release(&recording);
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
