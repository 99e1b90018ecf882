/* storage/page_cache.h -- Cache of verified index pages in memory, with pins, keyed by run id, generation and page number.
 *
 * These keys are never reused for other bytes: a run never gains entries, and a removal gives it a new generation. So a
 * cached page needs no invalidation, neither for writes of other processes nor for ROLLBACK. A pinned page is never
 * evicted.
 */
#ifndef IFS_STORAGE_PAGE_CACHE_H
#define IFS_STORAGE_PAGE_CACHE_H

#include "core/page/page.h"
#include "sqlite_ext/storage/engine.h"

struct ifs_frame;

struct ifs_page_cache {
	struct ifs_frame **buckets; /* n_buckets lists, twice as many as there are frames or more */
	unsigned n_buckets;	    /* a power of two, or 0 */
	unsigned n_frames, n_pinned;
	unsigned most_frames;  /* as the host allows; fewer than IFS_CACHE_FRAMES mean these */
	uint64_t random_state; /* says which page goes */
};

/* 190 MiB of 4000-byte pages, and 32 for their peaks: what a frame of 16 tracks and 1920 pixels touches of 10^8 spans */
#define IFS_CACHE_FRAMES 49152u

void ifs_page_cache_release(struct ifs_page_cache *cache);

/* Will the next put throw out a page? */
bool ifs_page_cache_is_full(const struct ifs_page_cache *cache);

/* Gives a page that is there and holds it; false if it is not there. */
bool ifs_page_cache_get(struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			struct iforest_page *page);

/* Gives a page that is there without holding it, and changes nothing: several threads may do so at once. It stays until the
 * next put(). Nobody may write through is_checked; peaks see to it themselves that one thread makes them. */
bool ifs_page_cache_peek(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			 struct iforest_page *page);

/* Puts in a copy of a page that is not there, and holds it. Returns false without memory. */
bool ifs_page_cache_put(struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index, const void *bytes,
			uint32_t n_bytes, struct iforest_page *page);

/* Fetches the beginning of a page, or its peaks, into the processor's caches, if it is there. */
void ifs_page_cache_prefetch(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			     bool of_maxima);

/* The bytes of a page that is there and was checked, until the next put(); else NULL. */
const uint8_t *ifs_page_cache_peek_bytes(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
					 uint32_t *n_bytes);

/* Lets go of a page given by get or put. */
void ifs_page_cache_unpin(struct ifs_page_cache *cache, struct iforest_page *page);

#endif
