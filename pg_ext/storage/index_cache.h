/* storage/index_cache.h -- Manifests and lists of extents that this session has read, for its next questions.
 *
 * Ids of indexes and of manifests are random, so a manifest is right for as long as the metapage names it. A list of extents is
 * not: it may lack extents, or have some that were freed. But a page of a run in force stays in its block, and a run's clock
 * number is never assigned again. So whoever finds a block here must see on the page whose it is, and read the list if it is
 * somebody else's.
 */
#ifndef IFP_STORAGE_INDEX_CACHE_H
#define IFP_STORAGE_INDEX_CACHE_H

#include "core/run/manifest.h"
#include "pg_ext/storage/extents.h"

/* Copies a kept manifest, with memory of the current context. Returns false if it is not kept. */
bool ifp_index_cache_manifest(uint64 index_id, uint64 manifest_id, struct iforest_manifest *manifest);

/* Keeps copies of a manifest, and of a list of extents sorted by owner and then first, in place of the older ones. Large ones
 * are not kept. */
void ifp_index_cache_keep_manifest(uint64 index_id, const struct iforest_manifest *manifest);
void ifp_index_cache_keep_extents(uint64 index_id, const struct ifp_extent *extents, uint32 n);

/* Returns the kept list, which is valid until anything else is kept; NULL if there is none. */
const struct ifp_extent *ifp_index_cache_extents(uint64 index_id, uint32 *n);
void ifp_index_cache_forget_extents(uint64 index_id);

#endif
