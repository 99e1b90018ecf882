/* tests/support/pager_fault.h -- Pager around another that breaks at a chosen call, as a full disk, a power cut or a torn
 * write would. */
#ifndef TESTS_PAGER_FAULT_H
#define TESTS_PAGER_FAULT_H

#include "core/run/pager.h"

enum pager_fault_mode {
	PAGER_FAULT_FAILS,   /* the call does nothing */
	/* the batch is written except for the second half of its last page; only the first half of a manifest is written */
	PAGER_FAULT_TEARS
};

struct pager_fault {
	struct iforest_pager pager;          /* give this one to a store */
	const struct iforest_pager *inner;
	enum pager_fault_mode mode;
	uint64_t n_writes, n_gets;           /* calls so far; a publish is a write */
	uint64_t fail_write_at, fail_get_at; /* the call that fails (the first is 1; 0: none) */
	/* while a page is lent, every other call fails; its bytes are overwritten when it is returned */
	bool is_lent;
	bool stays_down;                     /* after a failed call all others fail, too, as after a power cut */
	bool is_down;
};

/* The struct must stay in place; inner must outlive it. */
void pager_fault_init(struct pager_fault *fault, const struct iforest_pager *inner);

/* Makes it lend pages from now on, as PostgreSQL's pager does. */
void pager_fault_lend(struct pager_fault *fault);

#endif
