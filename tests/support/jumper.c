#include "tests/support/jumper.h"

#include <stdlib.h>
#include <string.h>

/* The head of each allocated block, which links all of them in a list. Its 32 bytes preserve the alignment. */
struct jumper_block {
	struct jumper_block *next, *previous;
	size_t n_bytes, unused;
};

static void promise(bool kept)
{
	if (!kept)
		abort();
}

/* Called at both ends of each callback, of which jumps_after chooses one. */
static void may_jump(struct jumper *jumper, bool after)
{
	if (after == jumper->jumps_after && ++jumper->n_calls == jumper->jump_at)
		longjmp(jumper->target, 1);
}

void jumper_call(void *context)
{
	may_jump(context, false);
	may_jump(context, true);
}

/* ---- memory ---- */

static void unlink_block(struct jumper *jumper, struct jumper_block *block)
{
	if (block->previous)
		block->previous->next = block->next;
	else
		jumper->blocks = block->next;
	if (block->next)
		block->next->previous = block->previous;
	jumper->inner_alloc->release(jumper->inner_alloc->context, block);
}

static void *jumper_reallocate(void *context, void *memory, size_t n_bytes)
{
	struct jumper *jumper = context;
	struct jumper_block *block, *old = memory ? (struct jumper_block *)memory - 1 : NULL;

	may_jump(jumper, false);
	block = iforest_allocate(jumper->inner_alloc, sizeof *block + n_bytes);
	if (!block)
		return NULL;
	*block = (struct jumper_block){ .next = jumper->blocks, .n_bytes = n_bytes };
	if (block->next)
		block->next->previous = block;
	jumper->blocks = block;
	if (old) {
		memcpy(block + 1, memory, old->n_bytes < n_bytes ? old->n_bytes : n_bytes);
		unlink_block(jumper, old);
	}
	may_jump(jumper, true);
	return block + 1;
}

static void jumper_release(void *context, void *memory)
{
	struct jumper *jumper = context;

	may_jump(jumper, false);
	if (memory)
		unlink_block(jumper, (struct jumper_block *)memory - 1);
	may_jump(jumper, true);
}

/* ---- pages ---- */

static enum iforest_status jumper_get(void *context, const struct iforest_place *place, uint64_t index,
				      struct iforest_page *page)
{
	struct jumper *jumper = context;
	enum iforest_status status;

	may_jump(jumper, false);
	status = jumper->inner->get(jumper->inner->context, place, index, page);
	promise(jumper->n_pages < JUMPER_PAGES);
	if (!status)
		jumper->pages[jumper->n_pages++] = *page;
	may_jump(jumper, true);
	return status;
}

static void jumper_release_page(void *context, struct iforest_page *page)
{
	struct jumper *jumper = context;
	unsigned i = 0;

	may_jump(jumper, false);
	while (i < jumper->n_pages && jumper->pages[i].bytes != page->bytes)
		i++;
	promise(i < jumper->n_pages);
	jumper->inner->release(jumper->inner->context, page);
	jumper->pages[i] = jumper->pages[--jumper->n_pages];
	may_jump(jumper, true);
}

static enum iforest_status jumper_create_run(void *context, struct iforest_place *place)
{
	struct jumper *jumper = context;
	enum iforest_status status;

	may_jump(jumper, false);
	status = jumper->inner->create_run(jumper->inner->context, place);
	may_jump(jumper, true);
	return status;
}

static enum iforest_status jumper_write(void *context, const struct iforest_place *place,
					const struct iforest_page_write *pages, uint32_t n_pages)
{
	struct jumper *jumper = context;
	enum iforest_status status;

	may_jump(jumper, false);
	status = jumper->inner->write(jumper->inner->context, place, pages, n_pages);
	may_jump(jumper, true);
	return status;
}

static enum iforest_status jumper_drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	struct jumper *jumper = context;
	enum iforest_status status;

	may_jump(jumper, false);
	status = jumper->inner->drop_run(jumper->inner->context, place, n_pages);
	may_jump(jumper, true);
	return status;
}

static enum iforest_status jumper_begin_publish(void *context, uint64_t manifest_id, const uint8_t **bytes, uint32_t *n_bytes)
{
	struct jumper *jumper = context;

	(void)manifest_id;
	(void)n_bytes;
	may_jump(jumper, false);
	promise(!jumper->is_locked);
	jumper->is_locked = true;
	*bytes = NULL;
	may_jump(jumper, true);
	return IFOREST_OK;
}

static enum iforest_status jumper_publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct jumper *jumper = context;
	enum iforest_status status;

	may_jump(jumper, false);
	promise(jumper->is_locked);
	status = jumper->inner->publish(jumper->inner->context, bytes, n_bytes);
	jumper->is_locked = false;
	may_jump(jumper, true);
	return status;
}

static uint64_t jumper_random(void *context)
{
	struct jumper *jumper = context;
	uint64_t x;

	may_jump(jumper, false);
	x = jumper->inner->random(jumper->inner->context);
	may_jump(jumper, true);
	return x;
}

void jumper_init(struct jumper *jumper, const struct iforest_alloc *alloc, const struct iforest_pager *inner)
{
	memset(jumper, 0, sizeof *jumper);
	jumper->alloc = (struct iforest_alloc){ .reallocate = jumper_reallocate, .release = jumper_release, .context = jumper };
	jumper->pager = (struct iforest_pager){ .context = jumper, .page_bytes = inner->page_bytes,
		.max_batch_pages = inner->max_batch_pages, .get = jumper_get, .release = jumper_release_page,
		.create_run = jumper_create_run, .write = jumper_write, .drop_run = jumper_drop_run,
		.begin_publish = jumper_begin_publish, .publish = jumper_publish, .random = jumper_random };
	jumper->inner_alloc = alloc;
	jumper->inner = inner;
}

void jumper_drop(struct jumper *jumper)
{
	while (jumper->blocks)
		unlink_block(jumper, jumper->blocks);
	while (jumper->n_pages > 0)
		jumper->inner->release(jumper->inner->context, &jumper->pages[--jumper->n_pages]);
	jumper->is_locked = false;
}

bool jumper_is_clean(const struct jumper *jumper)
{
	return !jumper->blocks && jumper->n_pages == 0 && !jumper->is_locked;
}
