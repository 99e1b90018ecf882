#include "pg_ext/storage/index_cache.h"

#include "utils/memutils.h"

#include "pg_ext/base/engine.h"

/* Maximum bytes cached for an index, number of indexes, and in how many slots the id of one may be. */
enum { MOST_BYTES = 256 * 1024, N_SLOTS = 64, N_WAYS = 4 };

struct slot {
	uint64 index_id;
	uint64 used;			       /* the clock when it was last asked for */
	MemoryContext of_manifest, of_extents; /* NULL: none is cached */
	struct iforest_manifest manifest;
	struct ifp_extent *extents;
	uint32 n_extents;
};

static struct slot slots[N_SLOTS];
static uint64 cache_clock;

static void drop(MemoryContext *context)
{
	if (*context)
		MemoryContextDelete(*context);
	*context = NULL;
}

static struct slot *find(uint64 index_id)
{
	for (int i = 0; i < N_WAYS; i++) {
		struct slot *slot = &slots[(index_id + i) % N_SLOTS];

		if (slot->index_id == index_id) {
			slot->used = ++cache_clock;
			return slot;
		}
	}
	return NULL;
}

/* Returns the slot of an index; if it has none, the one of its slots that was not used for longest, emptied. */
static struct slot *take(uint64 index_id)
{
	struct slot *slot = find(index_id);

	if (slot)
		return slot;
	slot = &slots[index_id % N_SLOTS];
	for (int i = 1; i < N_WAYS; i++) {
		struct slot *other = &slots[(index_id + i) % N_SLOTS];

		if (other->used < slot->used)
			slot = other;
	}
	drop(&slot->of_manifest);
	drop(&slot->of_extents);
	slot->index_id = index_id;
	slot->used = ++cache_clock;
	return slot;
}

/* ---- manifests ---- */

bool ifp_index_cache_manifest(uint64 index_id, uint64 manifest_id, struct iforest_manifest *manifest)
{
	const struct slot *slot = find(index_id);

	return slot && slot->of_manifest && slot->manifest.id == manifest_id &&
	       !iforest_manifest_copy(manifest, &ifp_palloc_allocator, &slot->manifest);
}

void ifp_index_cache_keep_manifest(uint64 index_id, const struct iforest_manifest *manifest)
{
	struct slot *slot = take(index_id);
	MemoryContext context, before;

	drop(&slot->of_manifest);
	if (manifest->n_runs * sizeof *manifest->runs + manifest->n_host_bytes > MOST_BYTES)
		return;
	context = AllocSetContextCreate(CacheMemoryContext, "iforest manifest", ALLOCSET_SMALL_SIZES);
	before = MemoryContextSwitchTo(context);
	if (!iforest_manifest_copy(&slot->manifest, &ifp_palloc_allocator, manifest))
		slot->of_manifest = context;
	MemoryContextSwitchTo(before);
}

/* ---- extents ---- */

void ifp_index_cache_keep_extents(uint64 index_id, const struct ifp_extent *extents, uint32 n)
{
	struct slot *slot = take(index_id);
	MemoryContext context;

	drop(&slot->of_extents);
	if (n * sizeof *extents > MOST_BYTES)
		return;
	context = AllocSetContextCreate(CacheMemoryContext, "iforest extents", ALLOCSET_SMALL_SIZES);
	slot->extents = MemoryContextAlloc(context, (n + 1) * sizeof *extents);
	memcpy(slot->extents, extents, n * sizeof *extents);
	slot->n_extents = n;
	slot->of_extents = context;
}

const struct ifp_extent *ifp_index_cache_extents(uint64 index_id, uint32 *n)
{
	const struct slot *slot = find(index_id);

	*n = slot && slot->of_extents ? slot->n_extents : 0;
	return slot && slot->of_extents ? slot->extents : NULL;
}
