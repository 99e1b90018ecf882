/* storage/index_cache.h -- Session cache of manifests and lists of extents.
 *
 * Ids of indexes and manifests are random, so a cached manifest is valid as long as the metapage names it. A cached list of
 * extents may lack extents, or have some that were freed. But a page of a published run never moves, and a run's clock number
 * is never reused. So a caller that finds a block here must check the owner on the page, and read the list again if it is
 * another one.
 */
#ifndef IFP_STORAGE_INDEX_CACHE_H
#define IFP_STORAGE_INDEX_CACHE_H

#include "core/run/manifest.h"
#include "pg_ext/storage/extents.h"

/* Copies a cached manifest, with memory of the current context. Returns false if it is not cached. */
bool ifp_index_cache_manifest(uint64 index_id, uint64 manifest_id, struct iforest_manifest *manifest);

/* Cache copies of a manifest, and of a list of extents sorted by owner and then first, replacing older ones. Large ones are not
 * cached. */
void ifp_index_cache_keep_manifest(uint64 index_id, const struct iforest_manifest *manifest);
void ifp_index_cache_keep_extents(uint64 index_id, const struct ifp_extent *extents, uint32 n);

/* Returns the cached list, valid until anything else is cached; NULL if there is none. */
const struct ifp_extent *ifp_index_cache_extents(uint64 index_id, uint32 *n);

#endif
