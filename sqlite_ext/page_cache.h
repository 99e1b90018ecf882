/* page_cache.h -- checked pages in memory, keyed by what can never change: run id, generation and index.
 *
 * A run never gains entries, and a removal gives it a new generation, so a cached page needs no invalidation:
 * not by other processes, not by ROLLBACK. Pages that are held are never thrown out.
 */
#ifndef IFOREST_SQLITE_PAGE_CACHE_H
#define IFOREST_SQLITE_PAGE_CACHE_H

#include "core/page.h"
#include "sqlite_ext/host.h"

struct iforest_frame;

struct iforest_page_cache {
	struct iforest_frame **buckets;   /* IFOREST_CACHE_BUCKETS lists */
	unsigned n_frames, n_held;
	uint64_t dice;                    /* says which page goes */
};

#define IFOREST_CACHE_BUCKETS 16384u
#define IFOREST_CACHE_FRAMES 49152u   /* 190 MiB of 4000-byte pages: what a frame of 16 tracks and 1920 pixels touches */

void iforest_page_cache_release(struct iforest_page_cache *cache);

/* Gives a page that is there and holds it; false if it is not there. */
bool iforest_page_cache_get(struct iforest_page_cache *cache, const struct iforest_place *place, uint64_t index,
			    struct iforest_page *page);

/* Puts in a copy of a page that is not there, and holds it. Returns false without memory. */
bool iforest_page_cache_put(struct iforest_page_cache *cache, const struct iforest_place *place, uint64_t index,
			    const void *bytes, uint32_t n_bytes, struct iforest_page *page);

/* Lets go of a page given by get or put. */
void iforest_page_cache_let_go(struct iforest_page_cache *cache, struct iforest_page *page);

#endif
