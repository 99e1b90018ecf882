/* run/pager.h -- Storage interface that an engine provides: pages of runs, batches, and an atomically published manifest.
 *
 * Core sees runs of numbered pages and one manifest. pager_memory.c is the reference implementation.
 *
 * - A run's pages are written in index order 0, 1, 2 ...; later some are written again in place (removal).
 * - A batch of at most max_batch_pages pages becomes durable as one, or not at all.
 * - publish() is the only commit point: what no published manifest names does not exist. In SQLite a publish can be rolled
 *   back, in PostgreSQL it cannot: so core keeps nothing that it cannot read again from the manifest.
 * - If several writers work on different runs at once (PostgreSQL), begin_publish() makes them take turns: each edits the
 *   newest manifest.
 * - Bytes from get() stay as they are until release(), and are never used after it. A pager may keep them under (run_id,
 *   generation, index): core takes a new generation before it reads again what it has written.
 * - An error or a jump out of write() or publish() may leave pages that no manifest names; it is the pager's task to find them.
 * - Any callback may longjmp (PostgreSQL): core then holds nothing but memory of the passed allocator and pages that the
 *   pager drops by itself.
 */
#ifndef IFOREST_RUN_PAGER_H
#define IFOREST_RUN_PAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/base/status.h"

struct iforest_page_maxima;

/* Where a run lives. */
struct iforest_place {
	uint64_t run_id;     /* random, below 2^63, never reused; stands on every page of the run */
	uint64_t generation; /* random, below 2^63, renewed by every batch of removals: (run_id, generation) may key a cache */
	uint64_t location;   /* the pager's own: given by create_run() */
};

/* A page being read. */
struct iforest_page {
	const uint8_t *bytes;
	uint32_t n_bytes;
	bool *is_checked; /* NULL, or a flag kept with the cached page: set by core once it has checked the bytes */
	struct iforest_page_maxima *maxima; /* NULL, or room kept with the cached page, once checked (maxima.h) */
};

struct iforest_page_write {
	uint64_t index; /* in the run */
	const uint8_t *bytes;
	uint32_t n_bytes; /* <= page_bytes */
};

struct iforest_pager {
	void *context;
	uint32_t page_bytes;	  /* largest page, IFOREST_MIN_PAGE_BYTES..IFOREST_MAX_PAGE_BYTES */
	uint32_t max_batch_pages; /* >= 1 */

	/* Reads a page. IFOREST_CORRUPT: there is none; IFOREST_IO, IFOREST_NO_MEMORY. n_bytes may exceed what was written. */
	enum iforest_status (*get)(void *context, const struct iforest_place *place, uint64_t index, struct iforest_page *page);
	void (*release)(void *context, struct iforest_page *page);

	/* The same, but lends the storage's own bytes under its lock. They must be given back soon, and until then no other
	 * function of the pager is called, and nothing that may wait or jump. One page at a time. NULL: get() does not copy
	 * either. */
	enum iforest_status (*borrow)(void *context, const struct iforest_place *place, uint64_t index,
				      struct iforest_page *page);
	void (*give_back)(void *context, struct iforest_page *page);

	/* A hint that the page will probably be got soon, so that memory can be fetched ahead: its beginning, or its maxima if
	 * they will be asked first. Never fails. NULL: it would not pay. */
	void (*prefetch)(void *context, const struct iforest_place *place, uint64_t index, bool of_maxima);

	/* The bytes of a page that is in memory and was checked, which stay until another function is called; NULL: it is not.
	 * So what will be needed of it can be fetched ahead, once prefetch() has fetched its beginning. NULL: it would not
	 * pay. */
	const uint8_t *(*peek)(void *context, const struct iforest_place *place, uint64_t index, uint32_t *n_bytes);

	/* Makes room for a new run and fills in place->location. */
	enum iforest_status (*create_run)(void *context, struct iforest_place *place);

	/* Writes a batch, 1 <= n_pages <= max_batch_pages. */
	enum iforest_status (*write)(void *context, const struct iforest_place *place, const struct iforest_page_write *pages,
				     uint32_t n_pages);

	/* Gives back the first n_pages of a run that no published manifest names any more. */
	enum iforest_status (*drop_run)(void *context, const struct iforest_place *place, uint64_t n_pages);

	/* Locks the manifest against other publishers until publish(), and gives the newest one: *bytes is NULL if that is
	 * the one whose id is given. *bytes stays until publish(). An error before publish() leaves the lock for the host's
	 * transaction to end. NULL: the host has one writer. */
	enum iforest_status (*begin_publish)(void *context, uint64_t manifest_id, const uint8_t **bytes, uint32_t *n_bytes);

	/* Replaces the manifest. */
	enum iforest_status (*publish)(void *context, const uint8_t *bytes, uint32_t n_bytes);

	/* A number that nobody can guess or has seen before. */
	uint64_t (*random)(void *context);
};

/* What is wrong with which page: filled in with IFOREST_CORRUPT and IFOREST_FORMAT. */
struct iforest_fault {
	const char *what; /* static text, NULL: nothing was found */
	uint64_t run_id;
	unsigned level;
	uint64_t number;
};

/* The host's side of every call that touches pages. Must outlive what is opened with it. */
struct iforest_store {
	const struct iforest_pager *pager;
	const struct iforest_alloc *alloc;
	struct iforest_fault fault;
};

/* A random number below 2^63 for ids and generations. */
static inline uint64_t iforest_random63(const struct iforest_store *store)
{
	return store->pager->random(store->pager->context) >> 1;
}

#endif
