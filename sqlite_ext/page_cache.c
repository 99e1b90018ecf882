#include "sqlite_ext/page_cache.h"

#include <stddef.h>

struct iforest_frame {
	uint64_t run_id, generation, index;
	struct iforest_frame *next;             /* of its bucket */
	struct iforest_frame *newer, *older;    /* in order of arrival */
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

static void drop(struct iforest_page_cache *cache, struct iforest_frame *frame)
{
	struct iforest_frame **link = bucket_of(cache, frame->run_id, frame->index);

	while (*link != frame)
		link = &(*link)->next;
	*link = frame->next;
	*(frame->newer ? &frame->newer->older : &cache->newest) = frame->older;
	*(frame->older ? &frame->older->newer : &cache->oldest) = frame->newer;
	cache->n_frames--;
	sqlite3_free(frame);
}

/* First in, first out: a zoom walks through the leaf pages once, and high nodes come back in at the cost of one read. */
static void make_room(struct iforest_page_cache *cache)
{
	struct iforest_frame *frame = cache->oldest;

	while (frame && cache->n_frames >= IFOREST_CACHE_FRAMES) {
		struct iforest_frame *newer = frame->newer;

		if (frame->n_holds == 0)
			drop(cache, frame);
		frame = newer;
	}
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
					 .next = *bucket, .older = cache->newest, .n_bytes = n_bytes };
	memcpy(frame->bytes, bytes, n_bytes);
	*bucket = frame;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = frame;
	cache->newest = frame;
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
	while (cache->oldest)
		drop(cache, cache->oldest);
	sqlite3_free(cache->buckets);
	*cache = (struct iforest_page_cache){ .buckets = NULL };
}
