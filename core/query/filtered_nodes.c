#include "core/query/filtered_nodes.h"

#include <string.h>

void iforest_remainders_init(struct iforest_remainders *remainders, const struct iforest_alloc *alloc)
{
	*remainders = (struct iforest_remainders){ .alloc = alloc, .most_bytes = IFOREST_REMAINDER_BYTES };
}

static void forget(struct iforest_remainders *remainders)
{
	for (size_t b = 0; b < remainders->n_buckets; b++) {
		struct iforest_remainder **link = &remainders->buckets[b];

		while (*link) {
			struct iforest_remainder *page = *link;

			if (page->n_holds > 0) {
				link = &page->next;
				continue;
			}
			*link = page->next;
			remainders->n_pages--;
			remainders->n_bytes -= page->n_bytes;
			iforest_release(remainders->alloc, page);
		}
	}
	remainders->last = NULL;
}

void iforest_remainders_release(struct iforest_remainders *remainders)
{
	forget(remainders);
	iforest_release(remainders->alloc, remainders->buckets);
	remainders->buckets = NULL;
	remainders->n_buckets = 0;
}

static struct iforest_remainder **bucket_of(const struct iforest_remainders *remainders, uint64_t run_id, unsigned level,
						 uint64_t number)
{
	/* run ids are random already */
	return &remainders->buckets[(run_id + number + level * UINT64_C(0x9e3779b1)) & (remainders->n_buckets - 1)];
}

static bool is_of(const struct iforest_remainder *page, const struct iforest_place *place, unsigned level, uint64_t number)
{
	return page->number == number && page->level == level && page->run_id == place->run_id &&
	       page->generation == place->generation;
}

struct iforest_remainder *iforest_remainders_find(struct iforest_remainders *remainders, const struct iforest_place *place,
						       unsigned level, uint64_t number)
{
	struct iforest_remainder *page = remainders->last;

	if (page && is_of(page, place, level, number))
		return page;
	page = remainders->n_buckets > 0 ? *bucket_of(remainders, place->run_id, level, number) : NULL;
	while (page && !is_of(page, place, level, number))
		page = page->next;
	if (page && !remainders->is_fixed)
		remainders->last = page;
	return page;
}

enum { LEAST_BUCKETS = 64 };

/* Twice as many buckets as before, and all pages in them. */
static bool grow(struct iforest_remainders *remainders)
{
	size_t n_before = remainders->n_buckets, n_buckets = n_before ? 2 * n_before : LEAST_BUCKETS;
	struct iforest_remainder **before = remainders->buckets,
				      **buckets = iforest_allocate(remainders->alloc, n_buckets * sizeof(void *));

	if (!buckets)
		return false;
	for (size_t b = 0; b < n_buckets; b++)
		buckets[b] = NULL;
	remainders->buckets = buckets;
	remainders->n_buckets = n_buckets;
	for (size_t b = 0; b < n_before; b++)
		while (before[b]) {
			struct iforest_remainder *page = before[b],
						      **bucket = bucket_of(remainders, page->run_id, page->level, page->number);

			before[b] = page->next;
			page->next = *bucket;
			*bucket = page;
		}
	iforest_release(remainders->alloc, before);
	return true;
}

struct iforest_remainder *iforest_remainders_make(struct iforest_remainders *remainders, const struct iforest_place *place,
						  unsigned level, uint64_t number, unsigned n_items,
						  const struct iforest_fields *fields)
{
	size_t n_head = sizeof(struct iforest_remainder) + (level > 0 ? n_items * sizeof(uint64_t) : 0);
	size_t n_bytes = n_head + n_items * (level > 0 ? fields->node_bytes : sizeof(struct iforest_block_gone));
	struct iforest_remainder *page, **bucket;

	if (remainders->n_bytes + n_bytes > remainders->most_bytes)
		forget(remainders);
	if (remainders->n_pages >= remainders->n_buckets && !grow(remainders))
		return NULL;
	page = iforest_allocate(remainders->alloc, n_bytes);
	if (!page)
		return NULL;
	bucket = bucket_of(remainders, place->run_id, level, number);
	*page = (struct iforest_remainder){ .next = *bucket, .run_id = place->run_id, .generation = place->generation,
					    .number = number, .level = level, .n_items = n_items, .n_bytes = n_bytes,
					    .version = remainders->version, .n_keys = IFOREST_NOT_KNOWN,
					    .blocks = level > 0 ? NULL : (struct iforest_block_gone *)(void *)(page + 1),
					    .nodes = level > 0 ? (uint8_t *)page + n_head : NULL };
	for (unsigned k = 0; k < n_items && level > 0; k++)
		page->n_gone[k] = IFOREST_NOT_KNOWN;
	*bucket = page;
	remainders->last = page;
	remainders->n_pages++;
	remainders->n_bytes += n_bytes;
	return page;
}
