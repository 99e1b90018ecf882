/* storage/page_cache.h -- Cache of verified index pages in memory, with pins, keyed by run id, generation and page number.
 *
 * A key is never reused for other bytes: a run never gains entries, and a removal gives it a new generation. So cached pages
 * need no invalidation, neither after writes of other processes nor after ROLLBACK. A pinned page is never evicted.
 */
#ifndef IFS_STORAGE_PAGE_CACHE_H
#define IFS_STORAGE_PAGE_CACHE_H

#include "core/page/page.h"
#include "sqlite_ext/storage/engine.h"

struct ifs_frame;

struct ifs_page_cache {
	struct ifs_frame **buckets; /* n_buckets lists; there are at least twice as many as frames */
	unsigned n_buckets;	    /* a power of two, or 0 */
	unsigned n_frames, n_pinned;
	unsigned most_frames;  /* a limit greater than IFS_CACHE_FRAMES, set by the pager */
	uint64_t random_state; /* state of the generator that picks the page to evict */
};

/* 190 MiB of 4000-byte pages, and 32 MiB for their maxima: a frame of 16 tracks and 1920 pixels over 10^8 spans reads that */
#define IFS_CACHE_FRAMES 49152u

void ifs_page_cache_release(struct ifs_page_cache *cache);

/* True if the next ifs_page_cache_put() evicts a page. */
bool ifs_page_cache_is_full(const struct ifs_page_cache *cache);

/* Looks a page up and pins it. Returns false if it is not cached. */
bool ifs_page_cache_get(struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			struct iforest_page *page);

/* Looks a page up without pinning it, and changes nothing, so that several threads may call it at once. The page is valid until
 * the next put. Do not write through is_checked. (core/page/page_maxima.h ensures that only one thread computes maxima.) */
bool ifs_page_cache_peek(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			 struct iforest_page *page);

/* Adds a copy of a page that is not cached, and pins it. Returns false if memory runs out. */
bool ifs_page_cache_put(struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index, const void *bytes,
			uint32_t n_bytes, struct iforest_page *page);

/* Prefetches the beginning of a cached page, or its maxima, into the processor's caches. */
void ifs_page_cache_prefetch(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			     bool of_maxima);

/* Returns the bytes of a page that is cached and was checked, valid until the next put; otherwise NULL. */
const uint8_t *ifs_page_cache_peek_bytes(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
					 uint32_t *n_bytes);

/* Unpins a page pinned by get or put. */
void ifs_page_cache_unpin(struct ifs_page_cache *cache, struct iforest_page *page);

#endif
