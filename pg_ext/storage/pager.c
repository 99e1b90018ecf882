#include "pg_ext/storage/index.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "core/base/bits.h"
#include "pg_ext/storage/locks.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/index_private.h"

/* What is fetched ahead of a leaf page: its header and directory. */
enum { CACHE_LINE = 64, EXPECTED_BYTES = 1024 };

/* A run grows by a sixteenth of itself at a time. */
enum { FEWEST_RESERVED = 8, MOST_RESERVED = 4096 };

struct iforest_page_buffer {
	struct iforest_page_buffer *next;
	struct iforest_page_mark mark;
	uint8_t bytes[IFOREST_PG_PAGE_BYTES];
};

/* What this backend knows of pages that it has read, by block: in which of the server's buffers they lay, and that their bytes
 * were found to be whole. These change with their LSN, and with that alone, where the server itself checks what it reads from a
 * file. */
enum { KNOWN_PAGES = 16384 };
static struct known_page {
	uint64 index_id;
	XLogRecPtr lsn;      /* of the bytes that were whole; 0: none were */
	BlockNumber block;
	Buffer buffer;       /* InvalidBuffer: not known */
	TimestampTz used;    /* when the server was told that it is in use */
} known_pages[KNOWN_PAGES];

/* What is found where it lay does not count as used, and would be dropped from the buffers first: so it is looked up all the
 * same where that was done as long ago. */
enum { USED_MICROSECONDS = 100000 };

/* ---- where a page is ---- */

static int compare_extents(const void *left, const void *right)
{
	const struct iforest_extent *a = left, *b = right;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

void iforest_extents_forget(struct iforest_index *index)
{
	if (index->extents)
		pfree(index->extents);
	index->extents = NULL;
	index->n_extents = 0;
}

static void load_extents(struct iforest_index *index)
{
	MemoryContext before = MemoryContextSwitchTo(index->context);

	iforest_extents_forget(index);
	iforest_pause("extents wanted");
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

static bool is_known(const struct iforest_index *index, BlockNumber block)
{
	const struct known_page *known = &known_pages[block % KNOWN_PAGES];

	return known->block == block && known->index_id == index->meta.index_id;
}

/* The place for what is known of a block, which may be nothing. */
static struct known_page *known_page(const struct iforest_index *index, BlockNumber block)
{
	struct known_page *known = &known_pages[block % KNOWN_PAGES];

	if (!is_known(index, block))
		*known = (struct known_page){ .index_id = index->meta.index_id, .block = block, .buffer = InvalidBuffer };
	return known;
}

static Buffer pin(const struct iforest_index *index, BlockNumber block)
{
	struct known_page *known = known_page(index, block);
	TimestampTz now = GetCurrentStatementStartTimestamp();
	Buffer buffer = known->buffer;

	if (BufferIsValid(buffer) && now - known->used < USED_MICROSECONDS &&
	    iforest_read_recent_buffer(index->relation, block, buffer))
		return buffer;
	buffer = ReadBuffer(index->relation, block);
	known->buffer = BufferIsLocal(buffer) ? InvalidBuffer : buffer;
	known->used = now;
	return buffer;
}

static void stop_if_need_be(struct iforest_index *index)
{
	iforest_vacuum_delay_point();
	if (index->before_page)
		index->before_page(index);
}

/* A file grows, and is asked for its size only where it seems too short. */
static bool is_in_file(struct iforest_index *index, BlockNumber block)
{
	if (block >= index->n_blocks)
		index->n_blocks = RelationGetNumberOfBlocks(index->relation);
	return block < index->n_blocks;
}

/* Pins and locks a page of a run. InvalidBuffer: it is somebody else's by now. */
static Buffer lock_page(struct iforest_index *index, const struct iforest_place *place, uint64_t number,
			struct iforest_page_mark *mark)
{
	BlockNumber block = iforest_run_block(index, place, number);
	Buffer buffer;
	Page page;

	stop_if_need_be(index);
	if (number == 0)
		iforest_pause("first leaf page wanted");
	if (block == InvalidBlockNumber || !is_in_file(index, block)) {
		iforest_index_met_foreign(index, (uint32)place->location, block);
		return InvalidBuffer;
	}
	buffer = pin(index, block);
	iforest_pause(mark == &index->borrowed_mark ? "page to be borrowed" : "page to be copied");
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	/* whose page it is can be told from now on, for as long as it is locked */
	if (!iforest_page_is(page, IFOREST_KIND_RUN, (uint32)place->location) ||
	    iforest_content_used(page) < IFOREST_PAGE_HEADER || iforest_load64(iforest_content(page) + 8) != place->run_id) {
		UnlockReleaseBuffer(buffer);
		iforest_index_met_foreign(index, (uint32)place->location, block);
		return InvalidBuffer;
	}
	*mark = (struct iforest_page_mark){ .block = block, .lsn = may_remember(index) ? PageGetLSN(page) : InvalidXLogRecPtr };
	mark->is_checked = mark->lsn && is_known(index, block) && known_page(index, block)->lsn == mark->lsn;
	return buffer;
}

static void remember(const struct iforest_index *index, const struct iforest_page_mark *mark)
{
	if (mark->is_checked && mark->lsn)
		known_page(index, mark->block)->lsn = mark->lsn;
}

static enum iforest_status get(void *context, const struct iforest_place *place, uint64_t number, struct iforest_page *to)
{
	struct iforest_index *index = context;
	struct iforest_page_buffer *held = index->idle_buffers;
	struct iforest_page_mark mark;
	Buffer buffer;

	if (!held)
		held = MemoryContextAlloc(index->context, sizeof *held);
	else
		index->idle_buffers = held->next;
	buffer = lock_page(index, place, number, &mark);
	if (!BufferIsValid(buffer)) {
		held->next = index->idle_buffers;
		index->idle_buffers = held;
		return IFOREST_CORRUPT;
	}
	held->mark = mark;
	*to = (struct iforest_page){ .bytes = held->bytes, .n_bytes = iforest_content_used(BufferGetPage(buffer)),
				     .is_checked = &held->mark.is_checked };
	memcpy(held->bytes, iforest_content(BufferGetPage(buffer)), to->n_bytes);
	UnlockReleaseBuffer(buffer);
	return IFOREST_OK;
}

static void release(void *context, struct iforest_page *page)
{
	struct iforest_index *index = context;
	struct iforest_page_buffer *held = (struct iforest_page_buffer *)(page->bytes -
									  offsetof(struct iforest_page_buffer, bytes));

	remember(index, &held->mark);
	held->next = index->idle_buffers;
	index->idle_buffers = held;
}

static enum iforest_status borrow(void *context, const struct iforest_place *place, uint64_t number, struct iforest_page *to)
{
	struct iforest_index *index = context;
	Page page;

	Assert(!BufferIsValid(index->borrowed));
	index->borrowed = lock_page(index, place, number, &index->borrowed_mark);
	if (!BufferIsValid(index->borrowed))
		return IFOREST_CORRUPT;
	page = BufferGetPage(index->borrowed);
	*to = (struct iforest_page){ .bytes = iforest_content(page), .n_bytes = iforest_content_used(page),
				     .is_checked = &index->borrowed_mark.is_checked };
	return IFOREST_OK;
}

static void give_back(void *context, struct iforest_page *page)
{
	struct iforest_index *index = context;

	(void)page;
	remember(index, &index->borrowed_mark);
	UnlockReleaseBuffer(index->borrowed);
	index->borrowed = InvalidBuffer;
}

/* Nothing is pinned: where other bytes stand in the buffer by now, they are fetched in vain. */
static void expect(void *context, const struct iforest_place *place, uint64_t number, bool of_peaks)
{
	struct iforest_index *index = context;
	BlockNumber block = find_block(index, (uint32)place->location, (uint32)number);
	Buffer buffer =
		block != InvalidBlockNumber && is_known(index, block) ? known_page(index, block)->buffer : InvalidBuffer;

	(void)of_peaks;
	if (!BufferIsValid(buffer))
		return;
	for (uint32 at = 0; at < EXPECTED_BYTES; at += CACHE_LINE)
		__builtin_prefetch(BufferGetPage(buffer) + at);
	__builtin_prefetch(BufferGetPage(buffer) + BLCKSZ - 1);
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
		for (uint32 other = 0; other < i; other++)
			if (blocks[other] == blocks[i])
				iforest_page_wrong(index->relation, IFOREST_SPACE_BLOCK, "Two extents of a run overlap.");
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

	stop_if_need_be(index);
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
		iforest_pause("run written");
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
					       .borrow = borrow,
					       .give_back = give_back,
					       .expect = expect,
					       .create_run = create_run,
					       .write = write_pages,
					       .drop_run = drop_run,
					       .begin_publish = begin_publish,
					       .publish = publish,
					       .random = random_number };
	index->store = (struct iforest_store){ .pager = &index->pager, .alloc = &iforest_pg_alloc };
}
