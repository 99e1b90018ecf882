#include "core/run/pager_memory.h"

#include <string.h>

#include "core/base/array.h"

struct iforest_memory_run {
	uint64_t run_id;
	bool is_free; /* dropped; another run may reuse the slot */
	uint8_t **pages;
	uint32_t *n_bytes;
	uint64_t n_pages;
	size_t n_reserved;
};

static struct iforest_memory_run *find_run(struct iforest_pager_memory *memory, const struct iforest_place *place)
{
	if (place->location >= memory->n_runs || memory->runs[place->location].run_id != place->run_id)
		return NULL;
	return &memory->runs[place->location];
}

static enum iforest_status memory_get(void *context, const struct iforest_place *place, uint64_t index,
				      struct iforest_page *page)
{
	struct iforest_pager_memory *memory = context;
	struct iforest_memory_run *run = find_run(memory, place);
	uint32_t n_bytes;
	uint8_t *copy;

	memory->n_gets++;
	if (!run || index >= run->n_pages || !run->pages[index])
		return IFOREST_CORRUPT;
	if (memory->lends_pages) {
		*page = (struct iforest_page){ .bytes = run->pages[index],
					       .n_bytes = run->n_bytes[index],
					       .is_checked = &memory->is_checked };
		return IFOREST_OK;
	}
	n_bytes = memory->fixed_pages ? memory->pager.page_bytes : run->n_bytes[index];
	copy = iforest_allocate(memory->alloc, n_bytes);
	if (!copy)
		return IFOREST_NO_MEMORY;
	memset(copy, 0, n_bytes);
	memcpy(copy, run->pages[index], run->n_bytes[index]);
	*page = (struct iforest_page){ .bytes = copy, .n_bytes = n_bytes };
	memory->n_pages_pinned++;
	return IFOREST_OK;
}

static void memory_release(void *context, struct iforest_page *page)
{
	struct iforest_pager_memory *memory = context;

	if (memory->lends_pages)
		return;
	iforest_release(memory->alloc, (uint8_t *)page->bytes);
	memory->n_pages_pinned--;
}

static enum iforest_status memory_create_run(void *context, struct iforest_place *place)
{
	struct iforest_pager_memory *memory = context;
	uint64_t location = 0;

	while (location < memory->n_runs && !memory->runs[location].is_free)
		location++;
	if (!iforest_array_reserve(memory->alloc, &memory->runs, sizeof *memory->runs, location + 1, &memory->n_reserved))
		return IFOREST_NO_MEMORY;
	memory->runs[location] = (struct iforest_memory_run){ .run_id = place->run_id };
	memory->n_runs += location == memory->n_runs;
	place->location = location;
	return IFOREST_OK;
}

static enum iforest_status reserve_pages(struct iforest_pager_memory *memory, struct iforest_memory_run *run, uint64_t n_pages)
{
	size_t n_reserved = run->n_reserved;

	/* both arrays have the same capacity */
	if (!iforest_array_reserve(memory->alloc, &run->pages, sizeof *run->pages, n_pages, &n_reserved) ||
	    !iforest_array_reserve(memory->alloc, &run->n_bytes, sizeof *run->n_bytes, n_pages, &run->n_reserved))
		return IFOREST_NO_MEMORY;
	return IFOREST_OK;
}

/* Copies all pages of a batch, or none. */
static enum iforest_status copy_batch(struct iforest_pager_memory *memory, const struct iforest_page_write *pages,
				      uint32_t n_pages, uint8_t **copies)
{
	for (uint32_t i = 0; i < n_pages; i++) {
		copies[i] = iforest_allocate(memory->alloc, pages[i].n_bytes);
		if (!copies[i]) {
			while (i-- > 0)
				iforest_release(memory->alloc, copies[i]);
			return IFOREST_NO_MEMORY;
		}
		memcpy(copies[i], pages[i].bytes, pages[i].n_bytes);
	}
	return IFOREST_OK;
}

/* all that can fail precedes the first replaced page, so that the batch is written whole or not at all */
static enum iforest_status memory_write(void *context, const struct iforest_place *place,
					const struct iforest_page_write *pages, uint32_t n_pages)
{
	struct iforest_pager_memory *memory = context;
	struct iforest_memory_run *run = find_run(memory, place);
	uint64_t n_before, n_after;
	uint8_t **copies;
	enum iforest_status status;

	memory->n_writes++;
	status = iforest_interrupt_check(&memory->pager.interrupt);
	if (status)
		return status;
	if (!run || n_pages == 0 || n_pages > memory->pager.max_batch_pages)
		return IFOREST_ARGUMENT;
	n_before = n_after = run->n_pages;
	for (uint32_t i = 0; i < n_pages; i++) {
		if (pages[i].n_bytes > memory->pager.page_bytes || pages[i].index > n_after)
			return IFOREST_ARGUMENT;
		n_after += pages[i].index == n_after;
	}
	status = reserve_pages(memory, run, n_after);
	if (status)
		return status;
	copies = iforest_allocate(memory->alloc, n_pages * sizeof *copies);
	if (!copies)
		return IFOREST_NO_MEMORY;
	status = copy_batch(memory, pages, n_pages, copies);
	for (uint64_t i = n_before; i < n_after && !status; i++)
		run->pages[i] = NULL;
	for (uint32_t i = 0; i < n_pages && !status; i++) {
		iforest_release(memory->alloc, run->pages[pages[i].index]);
		run->pages[pages[i].index] = copies[i];
		run->n_bytes[pages[i].index] = pages[i].n_bytes;
		run->n_pages = n_after;
	}
	iforest_release(memory->alloc, copies);
	return status;
}

static void free_pages(struct iforest_pager_memory *memory, struct iforest_memory_run *run)
{
	for (uint64_t i = 0; i < run->n_pages; i++)
		iforest_release(memory->alloc, run->pages[i]);
	iforest_release(memory->alloc, run->pages);
	iforest_release(memory->alloc, run->n_bytes);
	*run = (struct iforest_memory_run){ .run_id = run->run_id };
}

static enum iforest_status memory_drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	struct iforest_pager_memory *memory = context;
	struct iforest_memory_run *run = find_run(memory, place);

	if (!run || run->n_pages != n_pages)
		return IFOREST_ARGUMENT;
	free_pages(memory, run);
	run->is_free = true;
	return IFOREST_OK;
}

static enum iforest_status memory_publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct iforest_pager_memory *memory = context;
	uint8_t *copy = iforest_allocate(memory->alloc, n_bytes);

	memory->n_writes++;
	if (!copy)
		return IFOREST_NO_MEMORY;
	memcpy(copy, bytes, n_bytes);
	iforest_release(memory->alloc, memory->manifest);
	memory->manifest = copy;
	memory->n_manifest_bytes = n_bytes;
	return IFOREST_OK;
}

/* splitmix64 (Sebastiano Vigna, public domain): repeatable, for tests. */
static uint64_t memory_random(void *context)
{
	struct iforest_pager_memory *memory = context;
	uint64_t x = memory->random_state += 0x9E3779B97F4A7C15u;

	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return x ^ (x >> 31);
}

void iforest_pager_memory_init(struct iforest_pager_memory *memory, const struct iforest_alloc *alloc, uint32_t page_bytes,
			       uint32_t max_batch_pages, bool fixed_pages)
{
	*memory = (struct iforest_pager_memory){
		.pager = { .context = memory,
			   .page_bytes = page_bytes,
			   .max_batch_pages = max_batch_pages,
			   .get = memory_get,
			   .release = memory_release,
			   .create_run = memory_create_run,
			   .write = memory_write,
			   .drop_run = memory_drop_run,
			   .publish = memory_publish,
			   .random = memory_random },
		.alloc = alloc,
		.fixed_pages = fixed_pages,
		.is_checked = true,
	};
}

void iforest_pager_memory_release(struct iforest_pager_memory *memory)
{
	for (uint64_t i = 0; i < memory->n_runs; i++)
		free_pages(memory, &memory->runs[i]);
	iforest_release(memory->alloc, memory->runs);
	iforest_release(memory->alloc, memory->manifest);
	memory->runs = NULL;
	memory->manifest = NULL;
	memory->n_runs = memory->n_reserved = 0;
}

uint8_t *iforest_pager_memory_bytes(struct iforest_pager_memory *memory, uint64_t location, uint64_t index, uint32_t **n_bytes)
{
	struct iforest_memory_run *run = location < memory->n_runs ? &memory->runs[location] : NULL;

	if (!run || index >= run->n_pages)
		return NULL;
	if (n_bytes)
		*n_bytes = &run->n_bytes[index];
	return run->pages[index];
}

uint64_t iforest_pager_memory_total(const struct iforest_pager_memory *memory)
{
	uint64_t total = 0;

	for (uint64_t r = 0; r < memory->n_runs; r++)
		for (uint64_t i = 0; i < memory->runs[r].n_pages; i++)
			total += memory->runs[r].n_bytes[i];
	return total;
}
