#include "pg_ext/index.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "core/bits.h"
#include "pg_ext/locks.h"
#include "pg_ext/pause.h"

/* A run grows by a sixteenth of itself at a time. */
enum { FEWEST_RESERVED = 8, MOST_RESERVED = 4096 };

struct iforest_page_buffer {
	struct iforest_page_buffer *next;
	BlockNumber block;
	XLogRecPtr lsn;      /* 0: what the page holds does not show in it */
	bool is_checked;
	uint8 bytes[IFOREST_PG_PAGE_BYTES];
};

/* Pages that this backend has found to be whole, by block. They change with their LSN, and with that alone, where the server itself
 * checks what it reads from a file. */
enum { REMEMBERED_PAGES = 16384 };
static struct checked_page {
	uint64 index_id;
	XLogRecPtr lsn;
	BlockNumber block;
} checked_pages[REMEMBERED_PAGES];

/* ---- where a page is ---- */

static int compare_extents(const void *left, const void *right)
{
	const struct iforest_extent *a = left, *b = right;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void load_extents(struct iforest_index *index)
{
	MemoryContext before = MemoryContextSwitchTo(index->context);

	if (index->extents)
		pfree(index->extents);
	index->extents = NULL;
	index->extents = iforest_space_read(index->relation, &index->n_extents);
	qsort(index->extents, index->n_extents, sizeof *index->extents, compare_extents);
	MemoryContextSwitchTo(before);
}

static BlockNumber find_block(const struct iforest_index *index, uint32 owner, uint32 page)
{
	uint32 low = 0, high = index->n_extents;

	while (low < high) {
		uint32 middle = low + (high - low) / 2;
		const struct iforest_extent *extent = &index->extents[middle];

		if (extent->owner < owner || (extent->owner == owner && extent->first + extent->n_blocks <= page))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->n_extents || index->extents[low].owner != owner || index->extents[low].first > page)
		return InvalidBlockNumber;
	return index->extents[low].start + (page - index->extents[low].first);
}

BlockNumber iforest_run_block(struct iforest_index *index, const struct iforest_place *place, uint64 page)
{
	BlockNumber block = InvalidBlockNumber;

	if (place->location > UINT32_MAX || place->location < IFOREST_FIRST_CLOCK || page > UINT32_MAX)
		return InvalidBlockNumber;
	if (index->extents)
		block = find_block(index, (uint32)place->location, (uint32)page);
	if (block == InvalidBlockNumber) {
		load_extents(index);
		block = find_block(index, (uint32)place->location, (uint32)page);
	}
	return block;
}

/* ---- reading ---- */

static bool may_remember(const struct iforest_index *index)
{
	return DataChecksumsEnabled() && RelationNeedsWAL(index->relation) && !index->is_build && !index->trusts_nothing;
}

static bool was_checked(const struct iforest_index *index, const struct iforest_page_buffer *held)
{
	const struct checked_page *checked = &checked_pages[held->block % REMEMBERED_PAGES];

	return held->lsn && checked->lsn == held->lsn && checked->block == held->block &&
	       checked->index_id == index->meta.index_id;
}

static void remember_checked(const struct iforest_index *index, const struct iforest_page_buffer *held)
{
	checked_pages[held->block % REMEMBERED_PAGES] =
		(struct checked_page){ .index_id = index->meta.index_id, .lsn = held->lsn, .block = held->block };
}

static enum iforest_status get(void *context, const struct iforest_place *place, uint64_t number, struct iforest_page *to)
{
	struct iforest_index *index = context;
	struct iforest_page_buffer *held = index->idle_buffers;
	BlockNumber block = iforest_run_block(index, place, number);
	Buffer buffer;
	Page page;

	iforest_vacuum_delay_point();
	if (number == 0)
		iforest_pause("first leaf page wanted");
	if (block == InvalidBlockNumber) {
		index->met_foreign_page = true;
		return IFOREST_CORRUPT;
	}
	if (held)
		index->idle_buffers = held->next;
	else
		held = MemoryContextAlloc(index->context, sizeof *held);
	buffer = ReadBuffer(index->relation, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	to->bytes = NULL;
	if (iforest_page_is(page, IFOREST_KIND_RUN, (uint32)place->location) &&
	    iforest_content_used(page) >= IFOREST_PAGE_HEADER) {
		to->n_bytes = iforest_content_used(page);
		memcpy(held->bytes, iforest_content(page), to->n_bytes);
		held->block = block;
		held->lsn = may_remember(index) ? PageGetLSN(page) : InvalidXLogRecPtr;
		if (iforest_load64(held->bytes + 8) == place->run_id)
			to->bytes = held->bytes;
	}
	UnlockReleaseBuffer(buffer);
	if (to->bytes) {
		held->is_checked = was_checked(index, held);
		to->is_checked = &held->is_checked;
		return IFOREST_OK;
	}
	held->next = index->idle_buffers;
	index->idle_buffers = held;
	index->met_foreign_page = true;
	return IFOREST_CORRUPT;
}

static void release(void *context, struct iforest_page *page)
{
	struct iforest_index *index = context;
	struct iforest_page_buffer *held = (struct iforest_page_buffer *)(page->bytes -
									  offsetof(struct iforest_page_buffer, bytes));

	if (held->is_checked && held->lsn)
		remember_checked(index, held);
	held->next = index->idle_buffers;
	index->idle_buffers = held;
}

/* ---- writing ---- */

static enum iforest_status create_run(void *context, struct iforest_place *place)
{
	struct iforest_index *index = context;

	index->new_run = iforest_meta_tick(index->relation);
	index->n_new_pages = index->n_new_reserved = 0;
	place->location = index->new_run;
	return IFOREST_OK;
}

static void fill_page(Page page, uint32 owner, const struct iforest_page_write *write)
{
	iforest_page_init(page, IFOREST_KIND_RUN, owner);
	iforest_special(page)->next = (uint32)write->index;
	memcpy(iforest_content(page), write->bytes, write->n_bytes);
	iforest_content_set_used(page, write->n_bytes);
}

/* A page that no manifest names yet: one record for it, and none in a build, which logs the whole file at its end. */
static void write_new(struct iforest_index *index, const struct iforest_page_write *write)
{
	Relation relation = index->relation;
	Buffer buffer;

	if (write->index == index->n_new_reserved) {
		uint32 n_wanted = Min(Max(index->n_new_pages / 16, FEWEST_RESERVED), MOST_RESERVED);

		index->new_extent = iforest_space_take(relation, index->new_run, index->n_new_reserved, n_wanted);
		index->n_new_reserved = index->new_extent.first + index->new_extent.n_blocks;
	}
	buffer = ReadBufferExtended(relation, MAIN_FORKNUM,
				    index->new_extent.start + (uint32)write->index - index->new_extent.first,
				    RBM_ZERO_AND_LOCK, NULL);
	START_CRIT_SECTION();
	fill_page(BufferGetPage(buffer), index->new_run, write);
	MarkBufferDirty(buffer);
	if (!index->is_build && RelationNeedsWAL(relation))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
	index->n_new_pages = (uint32)write->index + 1;
}

/* Pages of a run that is in force, as one record. */
static enum iforest_status rewrite(struct iforest_index *index, const struct iforest_place *place,
				   const struct iforest_page_write *writes, uint32 n_pages)
{
	BlockNumber blocks[IFOREST_PG_BATCH_PAGES];
	Buffer buffers[IFOREST_PG_BATCH_PAGES];
	GenericXLogState *state;

	for (uint32 i = 0; i < n_pages; i++) {
		blocks[i] = iforest_run_block(index, place, writes[i].index);
		if (blocks[i] == InvalidBlockNumber)
			return IFOREST_CORRUPT;
	}
	state = GenericXLogStart(index->relation);
	for (uint32 i = 0; i < n_pages; i++) {
		buffers[i] = iforest_page_lock(index->relation, blocks[i], IFOREST_KIND_RUN, BUFFER_LOCK_EXCLUSIVE);
		fill_page(GenericXLogRegisterBuffer(state, buffers[i], 0), (uint32)place->location, &writes[i]);
	}
	GenericXLogFinish(state);
	for (uint32 i = 0; i < n_pages; i++)
		UnlockReleaseBuffer(buffers[i]);
	return IFOREST_OK;
}

static enum iforest_status write_pages(void *context, const struct iforest_place *place,
				       const struct iforest_page_write *writes, uint32_t n_pages)
{
	struct iforest_index *index = context;

	iforest_vacuum_delay_point();
	if (index->new_run == 0 || place->location != index->new_run)
		return rewrite(index, place, writes, n_pages);
	for (uint32 i = 0; i < n_pages; i++)
		write_new(index, &writes[i]);
	return IFOREST_OK;
}

static enum iforest_status drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	struct iforest_index *index = context;

	(void)n_pages;
	if (place->location == index->new_run) {
		iforest_space_trim(index->relation, index->new_run, 0);
		index->new_run = 0;
	} else {
		iforest_space_free(index->relation, (uint32)place->location, false);
	}
	return IFOREST_OK;
}

/* ---- the manifest ---- */

static enum iforest_status begin_publish(void *context, uint64_t manifest_id, const uint8_t **bytes, uint32_t *n_bytes)
{
	struct iforest_index *index = context;
	struct iforest_meta meta;

	iforest_lock(index->relation, IFOREST_LOCK_PUBLISH, ExclusiveLock);
	iforest_meta_read(index->relation, &meta);
	*bytes = NULL;
	if (meta.manifest_id == manifest_id)
		return IFOREST_OK;
	index->newest_manifest = iforest_slot_read(index->relation, &meta);
	*bytes = index->newest_manifest;
	*n_bytes = meta.manifest_bytes;
	return *bytes ? IFOREST_OK : IFOREST_CORRUPT;
}

static enum iforest_status publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct iforest_index *index = context;

	if (index->new_run) {
		iforest_space_trim(index->relation, index->new_run, index->n_new_pages);
		index->new_run = 0;
	}
	iforest_slot_publish(index, bytes, n_bytes);
	iforest_unlock(index->relation, IFOREST_LOCK_PUBLISH, ExclusiveLock);
	for (uint32 i = 0; i < index->n_sealed; i++)
		iforest_space_free(index->relation, index->sealed[i], true);
	index->n_sealed = 0;
	if (index->newest_manifest)
		pfree(index->newest_manifest);
	index->newest_manifest = NULL;
	return IFOREST_OK;
}

static uint64_t random_number(void *context)
{
	(void)context;
	return iforest_pg_random();
}

void iforest_pager_init(struct iforest_index *index)
{
	index->pager = (struct iforest_pager){ .context = index,
					       .page_bytes = IFOREST_PG_PAGE_BYTES,
					       .max_batch_pages = IFOREST_PG_BATCH_PAGES,
					       .get = get,
					       .release = release,
					       .create_run = create_run,
					       .write = write_pages,
					       .drop_run = drop_run,
					       .begin_publish = begin_publish,
					       .publish = publish,
					       .random = random_number };
	index->store = (struct iforest_store){ .pager = &index->pager, .alloc = &iforest_pg_alloc };
}
