/* tests/support/specimen.h -- Small index whose stored bytes can be damaged and restored, and on which all operations of core
 * can be run.
 *
 * It is for the tests of hostile bytes and for the fuzzers. Aborts if core breaks a promise: a page is still held, memory
 * leaks, a bucket is outside the window, or damage is reported without its place.
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
	struct iforest_manifest manifest;          /* valid after specimen_read() has succeeded */
	/* copies of what was built, for specimen_restore() */
	struct specimen_page *pages[SPECIMEN_RUNS];
	uint64_t n_pages[SPECIMEN_RUNS];
	uint64_t run_ids[SPECIMEN_RUNS];
	uint8_t *manifest_bytes;
	uint32_t n_manifest_bytes;
};

/* Builds the index: runs of three levels, with some entries removed. The struct must stay in place. */
void specimen_start(struct specimen *specimen);
void specimen_stop(struct specimen *specimen);

/* Restores all stored bytes, also those of runs that were merged. */
void specimen_restore(struct specimen *specimen);

/* Returns the stored bytes of a page, to be damaged. */
uint8_t *specimen_page(struct specimen *specimen, unsigned run, uint64_t index, uint32_t **n_bytes);

/* Give a damaged page or manifest a correct checksum. */
void specimen_finish_page(uint8_t *bytes, uint32_t n_bytes);
void specimen_finish_manifest(uint8_t *bytes, uint32_t n_bytes);

/* Reads the stored manifest. */
enum iforest_status specimen_read(struct specimen *specimen);
void specimen_forget(struct specimen *specimen); /* releases what was read */

/* Runs the integrity check on what was read. */
enum iforest_status specimen_check(struct specimen *specimen);

/* Checks, queries, removes from and repairs whatever is stored; with SPECIMEN_MERGES, which takes most of the time, merges it,
 * too. Queries read pages as they are stored, with SPECIMEN_MAXIMA with their maxima, with SPECIMEN_LENDS lent. */
enum { SPECIMEN_MERGES = 1, SPECIMEN_MAXIMA = 2, SPECIMEN_LENDS = 4 };
void specimen_exercise(struct specimen *specimen, unsigned how);

/* Asks every kind of question of what was read (specimen_ask.c). */
void specimen_ask(struct specimen *specimen);

/* Checks after an operation on stored bytes what it holds and reports. Returns the status. */
enum iforest_status specimen_judge(struct specimen *specimen, enum iforest_status status);

/* Aborts if the promise was not kept. */
void specimen_promise(bool kept, const char *what);

#endif
