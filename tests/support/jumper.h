/* tests/support/jumper.h -- Allocator and pager whose callbacks longjmp out at a chosen call, as PostgreSQL's errors do.
 *
 * Afterwards jumper_drop() does what such an engine does: it frees all memory at once, and releases all pages and locks.
 */
#ifndef TESTS_JUMPER_H
#define TESTS_JUMPER_H

#include <setjmp.h>
#include <stdbool.h>

#include "core/run/pager.h"

enum { JUMPER_PAGES = 256 };

struct jumper_block;

struct jumper {
	struct iforest_alloc alloc;         /* give these two to a store */
	struct iforest_pager pager;
	const struct iforest_alloc *inner_alloc;
	const struct iforest_pager *inner;
	jmp_buf target;                     /* set by the caller */
	uint64_t n_calls, jump_at;          /* callbacks so far; the one that jumps (the first is 1; 0: none) */
	bool jumps_after;                   /* the callback jumps after its work; otherwise before it */
	struct jumper_block *blocks;        /* memory that was not freed */
	struct iforest_page pages[JUMPER_PAGES]; /* not released */
	unsigned n_pages;
	bool is_locked;                     /* by begin_publish */
};

/* The struct must stay in place; the inner ones must outlive it. */
void jumper_init(struct jumper *jumper, const struct iforest_alloc *alloc, const struct iforest_pager *inner);

/* A callback of the test's own that may jump too. */
void jumper_call(void *context);

void jumper_drop(struct jumper *jumper);

/* True if core holds no memory, page or lock. */
bool jumper_is_clean(const struct jumper *jumper);

#endif
