/* Damaged pages of a small index: whatever they say, everything core does to them ends, and ends cleanly. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/support/specimen.h"

static struct specimen specimen;

static void stop(void)
{
	specimen_stop(&specimen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	uint64_t page;
	unsigned run = 0;
	uint32_t *n_bytes;
	uint8_t *bytes;

	if (n_data < FUZZ_HEADER)
		return 0;
	if (!specimen.manifest_bytes) {
		specimen_start(&specimen);
		atexit(stop);
	}
	specimen_restore(&specimen);
	page = data[0] % (specimen.n_pages[0] + specimen.n_pages[1]);
	if (page >= specimen.n_pages[0]) {
		page -= specimen.n_pages[0];
		run = 1;
	}
	bytes = specimen_page(&specimen, run, page, &n_bytes);
	if (fuzz_replaces(data)) {
		size_t n_new = n_data - FUZZ_HEADER < *n_bytes ? n_data - FUZZ_HEADER : *n_bytes;

		memcpy(bytes, data + FUZZ_HEADER, n_new);
		*n_bytes = (uint32_t)n_new;
	} else {
		fuzz_damage(bytes, *n_bytes, data, n_data);
	}
	if (fuzz_seals(data))
		specimen_finish_page(bytes, *n_bytes);
	specimen_exercise(&specimen, fuzz_how(data));
	return 0;
}

const struct fuzz_target fuzz_target = { .n_inputs = 2500, .random_input = fuzz_random_damage };
