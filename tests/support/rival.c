#include "tests/support/rival.h"

#include "core/base/bits.h"
#include "tests/support/harness.h"

/* Lets the rival act on the stored index, while the other writer waits to publish its manifest. */
static void take_turn(struct rival *rival)
{
	struct sample_index *index = rival->index;
	struct iforest_manifest waiting = index->manifest;

	index->manifest = (struct iforest_manifest){ .alloc = NULL };
	index->store.pager = rival->inner;
	assert_ok(sample_reread(index));
	rival->n_acts++;
	rival->act(rival);
	iforest_manifest_release(&index->manifest);
	index->manifest = waiting;
	index->store.pager = &rival->pager;
}

static enum iforest_status rival_begin_publish(void *context, uint64_t manifest_id, const uint8_t **bytes, uint32_t *n_bytes)
{
	struct rival *rival = context;
	struct iforest_pager_memory *memory = &rival->index->memory;

	assert_false(rival->is_locked);
	if (rival->act)
		take_turn(rival);
	rival->is_locked = true;
	*bytes = memory->manifest && iforest_load64(memory->manifest + 16) != manifest_id ? memory->manifest : NULL;
	*n_bytes = memory->n_manifest_bytes;
	return IFOREST_OK;
}

static enum iforest_status rival_publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct rival *rival = context;

	assert_true(rival->is_locked);
	rival->is_locked = false;
	return rival->inner->publish(rival->inner->context, bytes, n_bytes);
}

static enum iforest_status rival_get(void *context, const struct iforest_place *place, uint64_t index,
				     struct iforest_page *page)
{
	struct rival *rival = context;

	return rival->inner->get(rival->inner->context, place, index, page);
}

static void rival_release(void *context, struct iforest_page *page)
{
	struct rival *rival = context;

	rival->inner->release(rival->inner->context, page);
}

static enum iforest_status rival_create_run(void *context, struct iforest_place *place)
{
	struct rival *rival = context;

	return rival->inner->create_run(rival->inner->context, place);
}

static enum iforest_status rival_write(void *context, const struct iforest_place *place, const struct iforest_page_write *pages,
				       uint32_t n_pages)
{
	struct rival *rival = context;

	return rival->inner->write(rival->inner->context, place, pages, n_pages);
}

static enum iforest_status rival_drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	struct rival *rival = context;

	return rival->inner->drop_run(rival->inner->context, place, n_pages);
}

static uint64_t rival_random(void *context)
{
	struct rival *rival = context;

	return rival->inner->random(rival->inner->context);
}

void rival_start(struct rival *rival, struct sample_index *index, void (*act)(struct rival *rival))
{
	*rival = (struct rival){
		.pager = { .context = rival, .page_bytes = index->store.pager->page_bytes,
			   .max_batch_pages = index->store.pager->max_batch_pages, .get = rival_get, .release = rival_release,
			   .create_run = rival_create_run, .write = rival_write, .drop_run = rival_drop_run,
			   .begin_publish = rival_begin_publish, .publish = rival_publish, .random = rival_random },
		.inner = index->store.pager,
		.index = index,
		.act = act,
	};
	index->store.pager = &rival->pager;
}

void rival_stop(struct rival *rival)
{
	assert_false(rival->is_locked);
	rival->index->store.pager = rival->inner;
}
