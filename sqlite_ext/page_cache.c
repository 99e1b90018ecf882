#include "sqlite_ext/page_cache.h"

#include <stddef.h>

struct iforest_frame {
	uint64_t run_id, generation, index;
	struct iforest_frame *next;             /* of its bucket */
	unsigned n_holds;
	bool is_checked;
	uint32_t n_bytes;
	uint8_t bytes[];
};

static struct iforest_frame **bucket_of(struct iforest_page_cache *cache, uint64_t run_id, uint64_t index)
{
	/* run ids are random already */
	return &cache->buckets[(run_id + index) % IFOREST_CACHE_BUCKETS];
}

static void hand_out(struct iforest_page_cache *cache, struct iforest_frame *frame, struct iforest_page *page)
{
	frame->n_holds++;
	cache->n_held++;
	*page = (struct iforest_page){ .bytes = frame->bytes, .n_bytes = frame->n_bytes, .is_checked = &frame->is_checked };
}

bool iforest_page_cache_get(struct iforest_page_cache *cache, const struct iforest_place *place, uint64_t index,
			    struct iforest_page *page)
{
	struct iforest_frame *frame = cache->buckets ? *bucket_of(cache, place->run_id, index) : NULL;

	while (frame && (frame->run_id != place->run_id || frame->generation != place->generation || frame->index != index))
		frame = frame->next;
	if (frame)
		hand_out(cache, frame, page);
	return frame != NULL;
}

/* Drops the first frame of the list that nobody holds. */
static bool drop_one(struct iforest_page_cache *cache, struct iforest_frame **link)
{
	struct iforest_frame *frame;

	while (*link && (*link)->n_holds > 0)
		link = &(*link)->next;
	frame = *link;
	if (!frame)
		return false;
	*link = frame->next;
	cache->n_frames--;
	sqlite3_free(frame);
	return true;
}

/* Any page: of frames that walk again and again through more pages than there is room for, the oldest or the least recently used
 * would always be the one that comes next. */
static void make_room(struct iforest_page_cache *cache)
{
	unsigned first;

	if (cache->n_frames < IFOREST_CACHE_FRAMES)
		return;
	cache->dice = cache->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	first = (unsigned)(cache->dice >> 33);
	for (unsigned b = 0; b < IFOREST_CACHE_BUCKETS && cache->n_frames >= IFOREST_CACHE_FRAMES; b++)
		drop_one(cache, &cache->buckets[(first + b) % IFOREST_CACHE_BUCKETS]);
}

bool iforest_page_cache_put(struct iforest_page_cache *cache, const struct iforest_place *place, uint64_t index,
			    const void *bytes, uint32_t n_bytes, struct iforest_page *page)
{
	struct iforest_frame *frame, **bucket;

	if (!cache->buckets) {
		size_t n_bucket_bytes = IFOREST_CACHE_BUCKETS * sizeof *cache->buckets;

		cache->buckets = sqlite3_malloc64(n_bucket_bytes);
		if (!cache->buckets)
			return false;
		memset(cache->buckets, 0, n_bucket_bytes);
	}
	make_room(cache);
	frame = sqlite3_malloc64(offsetof(struct iforest_frame, bytes) + n_bytes);
	if (!frame)
		return false;
	bucket = bucket_of(cache, place->run_id, index);
	*frame = (struct iforest_frame){ .run_id = place->run_id, .generation = place->generation, .index = index,
					 .next = *bucket, .n_bytes = n_bytes };
	memcpy(frame->bytes, bytes, n_bytes);
	*bucket = frame;
	cache->n_frames++;
	hand_out(cache, frame, page);
	return true;
}

void iforest_page_cache_let_go(struct iforest_page_cache *cache, struct iforest_page *page)
{
	struct iforest_frame *frame = (struct iforest_frame *)((uintptr_t)page->bytes - offsetof(struct iforest_frame, bytes));

	frame->n_holds--;
	cache->n_held--;
}

void iforest_page_cache_release(struct iforest_page_cache *cache)
{
	for (unsigned b = 0; cache->buckets && b < IFOREST_CACHE_BUCKETS; b++)
		while (drop_one(cache, &cache->buckets[b]))
			;
	sqlite3_free(cache->buckets);
	*cache = (struct iforest_page_cache){ .buckets = NULL };
}
