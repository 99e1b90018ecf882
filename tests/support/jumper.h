/* tests/support/jumper.h -- Allocator and pager whose callbacks longjmp out at a chosen call, as PostgreSQL's errors do.
 *
 * Afterwards jumper_drop() does what such a host does: all memory goes wholesale, pages held and locks are dropped.
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
	uint64_t n_calls, jump_at;          /* callbacks so far; the one that jumps, the first is 1; 0: none */
	bool jumps_after;                   /* the call has done its work by then; else it does nothing */
	struct jumper_block *blocks;        /* memory not given back */
	struct iforest_page pages[JUMPER_PAGES]; /* not released */
	unsigned n_pages;
	bool is_locked;                     /* by begin_publish */
};

/* Must stay in place; the inner ones must outlive it. */
void jumper_init(struct jumper *jumper, const struct iforest_alloc *alloc, const struct iforest_pager *inner);

/* A callback of the test's own that may jump too. */
void jumper_call(void *context);

void jumper_drop(struct jumper *jumper);

/* Does core hold anything? */
bool jumper_is_clean(const struct jumper *jumper);

#endif
