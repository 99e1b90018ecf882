/* run/pager_memory.h -- Reference pager that keeps runs in memory.
 *
 * By default it is as strict as engines are: it refuses a batch over max_batch_pages and a page over page_bytes, and every
 * get() returns a new copy that release() frees. With lends_pages, get() returns the pages themselves, which core wrote and
 * need no check; then a run must not be read while it is changed. With fixed_pages each page is read as page_bytes bytes,
 * padded with zeros, like PostgreSQL's 8 KB pages (page_bytes 8152, max_batch_pages 4).
 */
#ifndef IFOREST_RUN_PAGER_MEMORY_H
#define IFOREST_RUN_PAGER_MEMORY_H

#include "core/run/pager.h"

struct iforest_memory_run;

struct iforest_pager_memory {
	struct iforest_pager pager;
	const struct iforest_alloc *alloc;
	bool fixed_pages;
	bool lends_pages;		 /* set by the caller; not with fixed_pages */
	bool is_checked;		 /* is_checked of every page lent */
	struct iforest_memory_run *runs; /* by location */
	uint64_t n_runs;
	size_t n_reserved;
	uint8_t *manifest; /* as last published; NULL before */
	uint32_t n_manifest_bytes;
	uint64_t random_state;
	uint64_t n_gets, n_writes, n_pages_pinned; /* for tests: calls so far, pages not yet released */
};

/* Starts an empty store. Give &memory->pager to a struct iforest_store.
 * Requires  alloc outlives the pager. */
void iforest_pager_memory_init(struct iforest_pager_memory *memory, const struct iforest_alloc *alloc, uint32_t page_bytes,
			       uint32_t max_batch_pages, bool fixed_pages);
void iforest_pager_memory_release(struct iforest_pager_memory *memory);

/* Returns the stored bytes of a page, writable, so that tests can damage them; NULL if there is none. */
uint8_t *iforest_pager_memory_bytes(struct iforest_pager_memory *memory, uint64_t location, uint64_t index, uint32_t **n_bytes);

/* Returns the bytes of all pages of all runs. */
uint64_t iforest_pager_memory_total(const struct iforest_pager_memory *memory);

#endif
