/* run/pager.h -- Storage interface that an engine provides: pages of runs, batches, and an atomically published manifest.
 *
 * Core sees runs of numbered pages and one manifest. pager_memory.c is the reference implementation.
 *
 * - A run's pages are written in index order 0, 1, 2 ...; removal later rewrites some in place.
 * - A batch of at most max_batch_pages pages becomes durable atomically, or not at all.
 * - publish() is the only commit point: a run that no published manifest names does not exist. A publish can be rolled back in
 *   SQLite, but not in PostgreSQL; so core keeps no state that it cannot read again from the manifest.
 * - If several writers work on different runs concurrently (PostgreSQL), begin_publish() serializes them: each edits the
 *   newest manifest.
 * - Bytes from get() do not change until release(), and are not used after it. A pager may cache them under (run_id,
 *   generation, index): core draws a new generation before it reads pages that it has rewritten.
 * - An error or a longjmp out of write() or publish() may leave pages that no manifest names; the pager must free them.
 * - Any callback may longjmp (PostgreSQL): core then holds only memory of the passed allocator and pages that the pager
 *   releases by itself.
 */
#ifndef IFOREST_RUN_PAGER_H
#define IFOREST_RUN_PAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/base/interrupt.h"
#include "core/base/status.h"

struct iforest_page_maxima;

/* Identity and location of a run. */
struct iforest_place {
	uint64_t run_id;     /* random, below 2^63, never reused; in the header of every page of the run */
	uint64_t generation; /* random, below 2^63, renewed by every batch of removals: (run_id, generation) may key a cache */
	uint64_t location;   /* set by create_run(), used only by the pager */
};

/* A page being read. */
struct iforest_page {
	const uint8_t *bytes;
	uint32_t n_bytes;
	bool *is_checked; /* NULL, or a flag of the cached page: core sets it when it has checked the bytes */
	struct iforest_page_maxima
		*maxima; /* NULL, or room for maxima beside the cached page, used once it is checked (page_maxima.h) */
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

	/* Reads a page. Errors: IFOREST_CORRUPT (no such page), IFOREST_IO, IFOREST_NO_MEMORY. n_bytes may exceed those
	 * written. */
	enum iforest_status (*get)(void *context, const struct iforest_place *place, uint64_t index, struct iforest_page *page);
	void (*release)(void *context, struct iforest_page *page);

	/* Optional; NULL if get() does not copy either. Like get(), but gives the storage's own bytes under its lock. Core
	 * unpins soon; until then it calls no other function of the pager, and nothing that may block or longjmp. One page at a
	 * time. */
	enum iforest_status (*pin_briefly)(void *context, const struct iforest_place *place, uint64_t index,
					   struct iforest_page *page);
	void (*unpin_brief)(void *context, struct iforest_page *page);

	/* Optional. A hint that the page will probably be read soon: prefetches the start of its memory, or its maxima if those
	 * will be read first. Never fails. */
	void (*prefetch)(void *context, const struct iforest_place *place, uint64_t index, bool of_maxima);

	/* Optional. Returns the bytes of a page that is in memory and checked, or NULL; valid until the next call of any
	 * function. Lets core prefetch more of a page once prefetch() has fetched its start. */
	const uint8_t *(*peek)(void *context, const struct iforest_place *place, uint64_t index, uint32_t *n_bytes);

	/* Optional, both or neither. n_waits() returns the number of pages that get() and pin_briefly() have read from storage
	 * that may block. While it grows, core tells read_ahead() which pages, ascending, it will need next: read_ahead()
	 * should start to read them without waiting. Never fails. */
	uint64_t (*n_waits)(void *context);
	void (*read_ahead)(void *context, const struct iforest_place *place, const uint64_t *indexes, unsigned n);

	/* Allocates storage for a new run and sets place->location. */
	enum iforest_status (*create_run)(void *context, struct iforest_place *place);

	/* Writes a batch, 1 <= n_pages <= max_batch_pages. */
	enum iforest_status (*write)(void *context, const struct iforest_place *place, const struct iforest_page_write *pages,
				     uint32_t n_pages);

	/* Frees the first n_pages of a run that no published manifest names. */
	enum iforest_status (*drop_run)(void *context, const struct iforest_place *place, uint64_t n_pages);

	/* Optional; NULL if there is only one writer. Locks the manifest against other publishers until publish(), and gives
	 * the newest one; *bytes is NULL if that has the given id. *bytes is valid until publish(). After an error before
	 * publish(), the end of the host's transaction releases the lock. */
	enum iforest_status (*begin_publish)(void *context, uint64_t manifest_id, const uint8_t **bytes, uint32_t *n_bytes);

	/* Replaces the manifest. Returning success is the commit. */
	enum iforest_status (*publish)(void *context, const uint8_t *bytes, uint32_t n_bytes);

	/* Optional: interrupts work in memory. An engine interrupts other work in get(), pin_briefly() and write(). */
	struct iforest_interrupt interrupt;

	/* Returns an unpredictable and unique random number. */
	uint64_t (*random)(void *context);
};

/* Which page is wrong and how; filled in with IFOREST_CORRUPT and IFOREST_FORMAT. */
struct iforest_fault {
	const char *what; /* static text, NULL: nothing was found */
	uint64_t run_id;
	unsigned level;
	uint64_t number;
};

/* Pager and allocator for every call that accesses pages. Must outlive all objects opened with it. */
struct iforest_store {
	const struct iforest_pager *pager;
	const struct iforest_alloc *alloc;
	struct iforest_fault fault;
};

/* Returns a random number below 2^63, for ids and generations. */
static inline uint64_t iforest_random63(const struct iforest_store *store)
{
	return store->pager->random(store->pager->context) >> 1;
}

#endif
