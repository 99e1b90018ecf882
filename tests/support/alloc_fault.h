/* tests/support/alloc_fault.h -- Allocator over malloc that counts calls, poisons new memory, moves blocks on every resize, and
 * fails on request. */
#ifndef TESTS_ALLOC_FAULT_H
#define TESTS_ALLOC_FAULT_H

#include <stdbool.h>

#include "core/base/alloc.h"

struct alloc_fault {
	struct iforest_alloc alloc;
	unsigned long n_calls;        /* allocations and resizes so far */
	unsigned long fail_at;        /* the call that fails, the first is 1; 0: none */
	bool fail_after;              /* and so do all calls after it */
	size_t n_most_bytes;          /* larger blocks are refused; 0: any size */
	long n_live;                  /* blocks that were not freed; if it is not 0 at the end, memory leaks */
	size_t n_live_bytes, n_peak_bytes;
};

/* The struct must stay in place: alloc.context points to it. */
void alloc_fault_init(struct alloc_fault *fault);

#endif
