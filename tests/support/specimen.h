/* tests/support/specimen.h -- Small index whose stored bytes can be damaged and put back, and everything core does done to
 * it.
 *
 * For the tests of hostile bytes and for the fuzzers. Aborts where core breaks a promise: a page still held, memory leaked,
 * a bucket outside the window, "corrupt" without saying where.
 */
#ifndef TESTS_SPECIMEN_H
#define TESTS_SPECIMEN_H

#include "core/run/manifest.h"
#include "core/run/pager_memory.h"
#include "tests/support/alloc_fault.h"

enum { SPECIMEN_RUNS = 2, SPECIMEN_PAGE_BYTES = 1024, SPECIMEN_SERIES = 3 };

struct specimen_page {
	uint8_t *bytes;
	uint32_t n_bytes;
};

struct specimen {
	struct alloc_fault alloc;
	struct iforest_pager_memory memory;
	struct iforest_store store;
	struct iforest_manifest manifest;          /* valid once specimen_read() succeeded */
	/* as built: copies to put back */
	struct specimen_page *pages[SPECIMEN_RUNS];
	uint64_t n_pages[SPECIMEN_RUNS];
	uint64_t run_ids[SPECIMEN_RUNS];
	uint8_t *manifest_bytes;
	uint32_t n_manifest_bytes;
};

/* Builds it: runs of three levels with some entries removed. Must stay in place. */
void specimen_start(struct specimen *specimen);
void specimen_stop(struct specimen *specimen);

/* Puts all stored bytes back, also those of runs merged away. */
void specimen_restore(struct specimen *specimen);

/* The stored bytes of a page, to be damaged. */
uint8_t *specimen_page(struct specimen *specimen, unsigned run, uint64_t index, uint32_t **n_bytes);

/* Gives a damaged page, or manifest, a right checksum. */
void specimen_finish_page(uint8_t *bytes, uint32_t n_bytes);
void specimen_finish_manifest(uint8_t *bytes, uint32_t n_bytes);

/* Reads the stored manifest. */
enum iforest_status specimen_read(struct specimen *specimen);
void specimen_forget(struct specimen *specimen); /* what was read */

/* The integrity check, on what was read. */
enum iforest_status specimen_check(struct specimen *specimen);

/* Checks, asks, removes from, repairs and, with SPECIMEN_MERGES (which takes most of the time), merges whatever is stored.
 * Pages are asked about as they are given, or kept with their maxima, or lent. */
enum { SPECIMEN_MERGES = 1, SPECIMEN_MAXIMA = 2, SPECIMEN_LENDS = 4 };
void specimen_exercise(struct specimen *specimen, unsigned how);

/* Every kind of question, of what was read (specimen_ask.c). */
void specimen_ask(struct specimen *specimen);

/* After each operation on stored bytes: what it holds and says. Returns the status. */
enum iforest_status specimen_judge(struct specimen *specimen, enum iforest_status status);

/* Aborts unless it was kept. */
void specimen_promise(bool kept, const char *what);

#endif
