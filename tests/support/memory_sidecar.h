/* tests/support/memory_sidecar.h -- Sidecar store (core/run/sidecar.h) in memory, which counts its calls.
 *
 * Fails through cmocka.
 */
#ifndef TESTS_MEMORY_SIDECAR_H
#define TESTS_MEMORY_SIDECAR_H

#include "core/base/alloc.h"
#include "core/run/sidecar.h"

enum { MEMORY_SIDECAR_MOST = 2000 };

struct memory_sidecar {
	struct iforest_sidecar base;
	const struct iforest_alloc *alloc;
	struct {
		struct iforest_sidecar_name name;
		uint8_t *bytes;
		size_t n_bytes;
	} kept[MEMORY_SIDECAR_MOST];
	unsigned n, n_asked, n_got, n_put; /* n_asked: calls of get; n_got: those that found something */
};

void memory_sidecar_start(struct memory_sidecar *sidecar, const struct iforest_alloc *alloc);
void memory_sidecar_clear(struct memory_sidecar *sidecar);
size_t memory_sidecar_bytes(const struct memory_sidecar *sidecar);

#endif
