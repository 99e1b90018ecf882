#include "sqlite_ext/storage/page_cache.h"

#include <stddef.h>

#include "core/page/page_maxima.h"

struct ifs_frame {
	uint64_t run_id, generation, index;
	struct ifs_frame *next; /* of its bucket */
	unsigned n_pins;
	bool is_checked;
	uint32_t n_bytes;
	struct iforest_page_maxima maxima;
	uint8_t bytes[];
};

static struct ifs_frame **bucket_of(const struct ifs_page_cache *cache, uint64_t run_id, uint64_t index)
{
	/* run ids are random already */
	return &cache->buckets[(run_id + index) & (cache->n_buckets - 1)];
}

static struct ifs_frame *find(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index)
{
	struct ifs_frame *frame = cache->buckets ? *bucket_of(cache, place->run_id, index) : NULL;

	while (frame && (frame->run_id != place->run_id || frame->generation != place->generation || frame->index != index))
		frame = frame->next;
	return frame;
}

static struct iforest_page page_of(struct ifs_frame *frame)
{
	return (struct iforest_page){
		.bytes = frame->bytes, .n_bytes = frame->n_bytes, .is_checked = &frame->is_checked, .maxima = &frame->maxima
	};
}

static void hand_out(struct ifs_page_cache *cache, struct ifs_frame *frame, struct iforest_page *page)
{
	frame->n_pins++;
	cache->n_pinned++;
	*page = page_of(frame);
}

bool ifs_page_cache_get(struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			struct iforest_page *page)
{
	struct ifs_frame *frame = find(cache, place, index);

	if (frame)
		hand_out(cache, frame, page);
	return frame != NULL;
}

bool ifs_page_cache_peek(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			 struct iforest_page *page)
{
	struct ifs_frame *frame = find(cache, place, index);

	if (frame)
		*page = page_of(frame);
	return frame != NULL;
}

/* Maxima and header; or, of a leaf page, header and directory. */
enum { MAXIMA_BYTES = 768, PREFETCHED_BYTES = 384, LINE_BYTES = 64 };

void ifs_page_cache_prefetch(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
			     bool of_maxima)
{
	const char *frame = cache->buckets ? (const char *)*bucket_of(cache, place->run_id, index) : NULL;
	size_t from = of_maxima ? 0 : offsetof(struct ifs_frame, bytes), n_bytes = of_maxima ? MAXIMA_BYTES : PREFETCHED_BYTES;

	if (!frame)
		return;
	/* nearly always the first of the bucket is the one, and comparing its key would wait for it */
	__builtin_prefetch(frame);
	for (size_t at = from; at < from + n_bytes; at += LINE_BYTES)
		__builtin_prefetch(frame + at);
}

const uint8_t *ifs_page_cache_peek_bytes(const struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index,
					 uint32_t *n_bytes)
{
	const struct ifs_frame *frame = find(cache, place, index);

	if (!frame || !frame->is_checked)
		return NULL;
	*n_bytes = frame->n_bytes;
	return frame->bytes;
}

bool ifs_page_cache_is_full(const struct ifs_page_cache *cache)
{
	return cache->n_frames >= IFS_CACHE_FRAMES && cache->n_frames >= cache->most_frames;
}

/* Evicts the first frame of the list that is not pinned. */
static bool drop_one(struct ifs_page_cache *cache, struct ifs_frame **link)
{
	struct ifs_frame *frame;

	while (*link && (*link)->n_pins > 0)
		link = &(*link)->next;
	frame = *link;
	if (!frame)
		return false;
	*link = frame->next;
	cache->n_frames--;
	sqlite3_free(frame);
	return true;
}

/* Evicts a random page. Frames that pass again and again over more pages than fit would always need next the page that is
 * the oldest, or the least recently used. */
static void make_room(struct ifs_page_cache *cache)
{
	unsigned first;

	if (!ifs_page_cache_is_full(cache))
		return;
	cache->random_state = cache->random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	first = (unsigned)(cache->random_state >> 33);
	for (unsigned b = 0; b < cache->n_buckets && ifs_page_cache_is_full(cache); b++)
		drop_one(cache, &cache->buckets[(first + b) & (cache->n_buckets - 1)]);
}

enum { LEAST_BUCKETS = 256 };

/* Doubles the buckets, and distributes the frames over them. */
static bool grow(struct ifs_page_cache *cache)
{
	unsigned n_before = cache->n_buckets, n_buckets = n_before ? 2 * n_before : LEAST_BUCKETS;
	struct ifs_frame **before = cache->buckets, **buckets = sqlite3_malloc64(n_buckets * sizeof(struct ifs_frame *));

	if (!buckets)
		return false;
	memset(buckets, 0, n_buckets * sizeof(struct ifs_frame *));
	cache->buckets = buckets;
	cache->n_buckets = n_buckets;
	for (unsigned b = 0; b < n_before; b++)
		while (before[b]) {
			struct ifs_frame *frame = before[b], **bucket = bucket_of(cache, frame->run_id, frame->index);

			before[b] = frame->next;
			frame->next = *bucket;
			*bucket = frame;
		}
	sqlite3_free(before);
	return true;
}

bool ifs_page_cache_put(struct ifs_page_cache *cache, const struct iforest_place *place, uint64_t index, const void *bytes,
			uint32_t n_bytes, struct iforest_page *page)
{
	struct ifs_frame *frame, **bucket;

	if (cache->n_frames >= cache->n_buckets / 2 && !grow(cache))
		return false;
	make_room(cache);
	frame = sqlite3_malloc64(offsetof(struct ifs_frame, bytes) + n_bytes);
	if (!frame)
		return false;
	bucket = bucket_of(cache, place->run_id, index);
	*frame = (struct ifs_frame){
		.run_id = place->run_id, .generation = place->generation, .index = index, .next = *bucket, .n_bytes = n_bytes
	};
	memcpy(frame->bytes, bytes, n_bytes);
	*bucket = frame;
	cache->n_frames++;
	hand_out(cache, frame, page);
	return true;
}

void ifs_page_cache_unpin(struct ifs_page_cache *cache, struct iforest_page *page)
{
	struct ifs_frame *frame = (struct ifs_frame *)((uintptr_t)page->bytes - offsetof(struct ifs_frame, bytes));

	frame->n_pins--;
	cache->n_pinned--;
}

void ifs_page_cache_release(struct ifs_page_cache *cache)
{
	for (unsigned b = 0; b < cache->n_buckets; b++)
		while (drop_one(cache, &cache->buckets[b]))
			;
	sqlite3_free(cache->buckets);
	*cache = (struct ifs_page_cache){ .buckets = NULL };
}
