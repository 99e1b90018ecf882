/* Damaged manifests of a small index: refused, or used as far as they lead, and nothing breaks. */
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/specimen.h"

static struct specimen specimen;

static void stop(void)
{
	specimen_stop(&specimen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	uint32_t n_bytes;
	uint8_t *bytes;

	if (n_data < FUZZ_HEADER)
		return 0;
	if (!specimen.manifest_bytes) {
		specimen_start(&specimen);
		atexit(stop);
	}
	specimen_restore(&specimen);
	n_bytes = fuzz_replaces(data) ? (uint32_t)(n_data - FUZZ_HEADER) : specimen.n_manifest_bytes;
	bytes = malloc(n_bytes + 1);
	if (!bytes)
		abort();
	if (fuzz_replaces(data)) {
		memcpy(bytes, data + FUZZ_HEADER, n_bytes);
	} else {
		memcpy(bytes, specimen.manifest_bytes, n_bytes);
		fuzz_damage(bytes, n_bytes, data, n_data);
	}
	if (fuzz_seals(data))
		specimen_finish_manifest(bytes, n_bytes);
	if (n_bytes > 0 && !specimen.memory.pager.publish(&specimen.memory, bytes, n_bytes))
		specimen_exercise(&specimen, fuzz_how(data));
	free(bytes);
	return 0;
}

const struct fuzz_target fuzz_target = { .n_inputs = 2500, .random_input = fuzz_random_damage };
