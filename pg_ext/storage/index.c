#include "pg_ext/storage/index.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "core/base/bits.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/index_cache.h"
#include "pg_ext/storage/locks.h"

/* ---- slots of the manifest ---- */

/* Returns the manifest's bytes in the active slot, palloc'd; NULL if the slot was overwritten meanwhile. */
static uint8 *slot_read(Relation relation, const struct ifp_meta *meta)
{
	uint8 *bytes = palloc(meta->n_slot_pages[meta->slot] * IFP_CONTENT_BYTES);
	uint32 n_bytes = 0;

	for (uint32 i = 0; n_bytes < meta->manifest_bytes && i < meta->n_slot_pages[meta->slot]; i++)
		n_bytes += ifp_page_copy(relation, meta->slots[meta->slot][i], IFP_PAGE_MANIFEST, bytes + n_bytes, NULL, NULL);
	if (n_bytes >= meta->manifest_bytes && n_bytes > 0)
		return bytes;
	pfree(bytes);
	return NULL;
}

/* Extends a slot to n pages. Requires  the publish lock, under which nobody else changes slots. */
static void grow_slot(struct ifp_index *index, uint32 slot, uint32 n_pages)
{
	Relation relation = index->relation;
	struct ifp_meta meta;

	ifp_meta_read(relation, &meta);
	while (meta.n_slot_pages[slot] < n_pages) {
		struct ifp_extent extent =
			ifp_extents_allocate(relation, IFP_OWNER_INDEX, 0, n_pages - meta.n_slot_pages[slot]);
		struct ifp_meta_edit edit;

		for (uint32 i = 0; i < extent.n_blocks; i++) {
			Buffer buffer = ReadBufferExtended(relation, MAIN_FORKNUM, extent.start + i, RBM_ZERO_AND_LOCK, NULL);
			GenericXLogState *state = GenericXLogStart(relation);

			ifp_page_init(GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE), IFP_PAGE_MANIFEST, 0);
			GenericXLogFinish(state);
			UnlockReleaseBuffer(buffer);
		}
		ifp_meta_begin(relation, &edit);
		for (uint32 i = 0; i < extent.n_blocks; i++)
			edit.meta->slots[slot][edit.meta->n_slot_pages[slot]++] = extent.start + i;
		meta = *edit.meta;
		ifp_meta_finish(&edit);
	}
}

static void write_slot(struct ifp_index *index, const BlockNumber *blocks, const uint8 *bytes, uint32 n_bytes)
{
	for (uint32 at = 0; at < n_bytes; at += IFP_CONTENT_BYTES) {
		uint32 n = Min(n_bytes - at, IFP_CONTENT_BYTES);
		Buffer buffer = ifp_page_lock(index->relation, blocks[at / IFP_CONTENT_BYTES], IFP_PAGE_MANIFEST,
					      BUFFER_LOCK_EXCLUSIVE);
		GenericXLogState *state = GenericXLogStart(index->relation);
		Page page = GenericXLogRegisterBuffer(state, buffer, 0);

		memcpy(ifp_content(page), bytes + at, n);
		ifp_content_set_used(page, n);
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buffer);
	}
}

static bool is_flushed(const struct ifp_index *index, uint32 clock)
{
	bool found = false;

	for (uint32 i = 0; i < index->n_flushed && !found; i++)
		found = index->flushed[i] == clock;
	return found;
}

/* Writes a manifest to the inactive slot, activates it, and removes the chains in index->flushed from the metapage. */
static void slot_publish(struct ifp_index *index, const uint8 *bytes, uint32 n_bytes)
{
	uint32 n_pages = (n_bytes + IFP_CONTENT_BYTES - 1) / IFP_CONTENT_BYTES;
	struct ifp_meta_edit edit;
	struct ifp_meta meta;
	uint32 slot, n_left = 0;

	ifp_meta_read(index->relation, &meta);
	slot = 1 - meta.slot;
	if (n_pages > IFP_SLOT_PAGES)
		ifp_require(IFOREST_TOO_LARGE, index->relation, NULL);
	grow_slot(index, slot, n_pages);
	ifp_meta_read(index->relation, &meta);
	write_slot(index, meta.slots[slot], bytes, n_bytes);

	ifp_meta_begin(index->relation, &edit);
	edit.meta->slot = slot;
	edit.meta->manifest_bytes = n_bytes;
	edit.meta->manifest_id = iforest_load64(bytes + 16);
	for (uint32 i = 0; i < edit.meta->n_closed; i++)
		if (!is_flushed(index, edit.meta->closed[i].clock))
			edit.meta->closed[n_left++] = edit.meta->closed[i];
	edit.meta->n_closed = n_left;
	ifp_meta_finish(&edit);
}

/* ---- the pager ---- */

/* Bytes of a leaf page that are prefetched: its header and directory. */
enum { CACHE_LINE = 64, EXPECTED_BYTES = 1024 };

/* A run grows by a sixteenth of itself at a time. */
enum { FEWEST_RESERVED = 8, MOST_RESERVED = 4096 };

struct ifp_page_buffer {
	struct ifp_page_buffer *next;
	struct ifp_page_mark mark;
	uint32 n_bytes;
	bool is_kept;
	struct iforest_place place; /* of the run */
	uint64 number;		    /* of the page in it */
	uint8_t bytes[IFP_PAGE_BYTES];
};

/* Cache of pages that this backend has read, by block: the buffer that had them, and the LSN at which they were verified. A
 * page changes only with its LSN if the server itself verifies what it reads from a file. */
enum { KNOWN_PAGES = 16384 };
static struct known_page {
	uint64 index_id;
	XLogRecPtr lsn; /* of the verified bytes; 0: none */
	BlockNumber block;
	Buffer buffer;	  /* InvalidBuffer: not known */
	TimestampTz used; /* when the buffer's usage was last counted */
} known_pages[KNOWN_PAGES];

/* Finding a page in its last buffer does not count as use, so it would be evicted first. So a regular lookup is done this long
 * after the last one. */
enum { USED_MICROSECONDS = 100000 };

/* ---- the pager: blocks of pages ---- */

static int compare_extents(const void *left, const void *right)
{
	const struct ifp_extent *a = left, *b = right;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

void ifp_index_forget_extents(struct ifp_index *index)
{
	if (index->extents)
		pfree(index->extents);
	index->extents = NULL;
	index->n_extents = 0;
}

static void load_extents(struct ifp_index *index)
{
	MemoryContext before = MemoryContextSwitchTo(index->context);

	ifp_index_forget_extents(index);
	ifp_test_point("extents wanted");
	index->extents = ifp_extents_read(index->relation, &index->n_extents);
	qsort(index->extents, index->n_extents, sizeof *index->extents, compare_extents);
	MemoryContextSwitchTo(before);
	ifp_index_cache_keep_extents(index->meta.index_id, index->extents, index->n_extents);
}

static BlockNumber find_block(const struct ifp_extent *extents, uint32 n, uint32 owner, uint32 page)
{
	uint32 low = 0, high = n;

	while (low < high) {
		uint32 middle = low + (high - low) / 2;
		const struct ifp_extent *extent = &extents[middle];

		if (extent->owner < owner || (extent->owner == owner && extent->first + extent->n_blocks <= page))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n || extents[low].owner != owner || extents[low].first > page)
		return InvalidBlockNumber;
	return extents[low].start + (page - extents[low].first);
}

BlockNumber ifp_index_run_block(struct ifp_index *index, const struct iforest_place *place, uint64 page)
{
	BlockNumber block = InvalidBlockNumber;

	if (place->location > UINT32_MAX || place->location < IFP_FIRST_CLOCK || page > UINT32_MAX)
		return InvalidBlockNumber;
	if (index->extents)
		block = find_block(index->extents, index->n_extents, (uint32)place->location, (uint32)page);
	if (block == InvalidBlockNumber) {
		load_extents(index);
		block = find_block(index->extents, index->n_extents, (uint32)place->location, (uint32)page);
	}
	return block;
}

/* Returns the block of a page of a run when the session last read the list of extents; InvalidBlockNumber if unknown. The
 * caller must check on the page that the run still owns it. */
static BlockNumber remembered_block(const struct ifp_index *index, const struct iforest_place *place, uint64 page)
{
	uint32 n;
	const struct ifp_extent *extents = ifp_index_cache_extents(index->meta.index_id, &n);

	if (!extents || index->trusts_nothing || place->location > UINT32_MAX || page > UINT32_MAX)
		return InvalidBlockNumber;
	return find_block(extents, n, (uint32)place->location, (uint32)page);
}

/* ---- the pager: reading ---- */

static bool may_remember(const struct ifp_index *index)
{
	return DataChecksumsEnabled() && RelationNeedsWAL(index->relation) && !index->is_build && !index->trusts_nothing;
}

static bool is_known(const struct ifp_index *index, BlockNumber block)
{
	const struct known_page *known = &known_pages[block % KNOWN_PAGES];

	return known->block == block && known->index_id == index->meta.index_id;
}

/* Returns the cache entry of a block, empty if nothing is known. */
static struct known_page *known_page(const struct ifp_index *index, BlockNumber block)
{
	struct known_page *known = &known_pages[block % KNOWN_PAGES];

	if (!is_known(index, block))
		*known = (struct known_page){ .index_id = index->meta.index_id, .block = block, .buffer = InvalidBuffer };
	return known;
}

bool ifp_index_has_verified(const struct ifp_index *index, BlockNumber block, XLogRecPtr lsn)
{
	return lsn != InvalidXLogRecPtr && is_known(index, block) && known_pages[block % KNOWN_PAGES].lsn == lsn &&
	       may_remember(index);
}

void ifp_index_note_verified(const struct ifp_index *index, BlockNumber block, XLogRecPtr lsn)
{
	if (may_remember(index))
		known_page(index, block)->lsn = lsn;
}

static Buffer pin(const struct ifp_index *index, BlockNumber block)
{
	struct known_page *known = known_page(index, block);
	TimestampTz now = GetCurrentStatementStartTimestamp();
	Buffer buffer = known->buffer;

	if (BufferIsValid(buffer) && now - known->used < USED_MICROSECONDS &&
	    ifp_read_recent_buffer(index->relation, block, buffer))
		return buffer;
	buffer = ReadBuffer(index->relation, block);
	known->buffer = BufferIsLocal(buffer) ? InvalidBuffer : buffer;
	known->used = now;
	return buffer;
}

static void stop_if_need_be(struct ifp_index *index)
{
	ifp_vacuum_delay_point();
	if (index->before_page)
		index->before_page(index);
}

/* Pins and locks a block if it has a page of the run; else returns InvalidBuffer. */
static Buffer lock_block(struct ifp_index *index, const struct iforest_place *place, BlockNumber block, bool is_brief)
{
	Buffer buffer;
	Page page;

	(void)is_brief;
	if (block == InvalidBlockNumber || !ifp_page_is_in_file(index->relation, block))
		return InvalidBuffer;
	buffer = pin(index, block);
	ifp_test_point(is_brief ? "page to be borrowed" : "page to be copied");
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	/* the owner cannot change while the page is locked */
	if (ifp_page_is(page, IFP_PAGE_RUN, (uint32)place->location) && ifp_content_used(page) >= IFOREST_PAGE_HEADER &&
	    iforest_load64(ifp_content(page) + 8) == place->run_id)
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* Pins and locks a page of a run. Returns InvalidBuffer if the page now has another owner. */
static Buffer lock_page(struct ifp_index *index, const struct iforest_place *place, uint64_t number, struct ifp_page_mark *mark)
{
	BlockNumber block = remembered_block(index, place, number);
	bool is_brief = mark == &index->borrowed_mark;
	Buffer buffer;
	Page page;

	stop_if_need_be(index);
	if (number == 0)
		ifp_test_point("first leaf page wanted");
	buffer = lock_block(index, place, block, is_brief);
	if (!BufferIsValid(buffer)) {
		block = ifp_index_run_block(index, place, number);
		buffer = lock_block(index, place, block, is_brief);
	}
	if (!BufferIsValid(buffer)) {
		ifp_index_met_foreign(index, (uint32)place->location, block);
		return InvalidBuffer;
	}
	page = BufferGetPage(buffer);
	*mark = (struct ifp_page_mark){ .block = block, .lsn = PageGetLSN(page) };
	mark->is_checked = ifp_index_has_verified(index, block, mark->lsn);
	return buffer;
}

static void remember(const struct ifp_index *index, const struct ifp_page_mark *mark)
{
	if (mark->is_checked)
		ifp_index_note_verified(index, mark->block, mark->lsn);
}

/* ---- the pager: kept node pages ----
 *
 * Small questions descend through the same few node pages. A run's id and generation name the bytes of its pages for good, so
 * that a kept page is as good as one read now, and the metapage tells in the end whether entries were removed meanwhile. */

enum { KEPT_NODES = 32 };

struct node_name {
	uint64 run_id, generation, number;
};

static struct kept_node {
	struct node_name name;	      /* of the page */
	struct ifp_page_buffer *page; /* NULL: none is kept here */
	uint64 reader;		      /* that last used it */
	struct node_name wanted;      /* the page that was read last in its place: kept if it is read again */
} kept_nodes[KEPT_NODES];

void ifp_index_use_kept_nodes(struct ifp_index *index)
{
	static uint64 n_readers;

	index->reader = ++n_readers;
}

static inline bool has_name(const struct node_name *name, const struct iforest_place *place, uint64 number)
{
	return name->number == number && name->run_id == place->run_id && name->generation == place->generation;
}

/* Returns the only place where a page may be kept. Node pages of a run, a fan-out apart, have places side by side. */
static inline struct kept_node *kept_node(const struct ifp_index *index, const struct iforest_place *place, uint64 number)
{
	return &kept_nodes[(place->run_id + number / index->manifest.fanout) % KEPT_NODES];
}

static struct ifp_page_buffer *find_kept(const struct ifp_index *index, const struct iforest_place *place, uint64 number)
{
	struct kept_node *node = kept_node(index, place, number);

	if (!node->page || !has_name(&node->name, place, number))
		return NULL;
	node->reader = index->reader;
	return node->page;
}

/* Keeps a copy of a node page if it was read before, unless that would replace a page that the reader may be using. */
static void keep_node(const struct ifp_index *index, const struct ifp_page_buffer *held)
{
	struct kept_node *node = kept_node(index, &held->place, held->number);
	struct node_name name = { held->place.run_id, held->place.generation, held->number };

	if (!held->mark.is_checked || held->bytes[IFOREST_PAGE_LEVEL_OFFSET] == 0 || !may_remember(index))
		return;
	if (!has_name(&node->wanted, &held->place, held->number)) {
		node->wanted = name;
		return;
	}
	if (node->reader == index->reader)
		return;
	if (!node->page)
		node->page = MemoryContextAlloc(CacheMemoryContext, sizeof *node->page);
	memcpy(node->page, held, offsetof(struct ifp_page_buffer, bytes) + held->n_bytes);
	node->page->is_kept = true;
	node->name = name;
}

/* ---- the pager: copies of pages ---- */

static enum iforest_status get(void *context, const struct iforest_place *place, uint64_t number, struct iforest_page *to)
{
	struct ifp_index *index = context;
	struct ifp_page_buffer *held = index->reader ? find_kept(index, place, number) : NULL;
	struct ifp_page_mark mark;
	Buffer buffer;

	if (held) {
		*to = (struct iforest_page){ .bytes = held->bytes,
					     .n_bytes = held->n_bytes,
					     .is_checked = &held->mark.is_checked };
		return IFOREST_OK;
	}
	held = index->idle_buffers;
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
	held->is_kept = false;
	held->place = *place;
	held->number = number;
	held->n_bytes = ifp_content_used(BufferGetPage(buffer));
	memcpy(held->bytes, ifp_content(BufferGetPage(buffer)), held->n_bytes);
	*to = (struct iforest_page){ .bytes = held->bytes, .n_bytes = held->n_bytes, .is_checked = &held->mark.is_checked };
	UnlockReleaseBuffer(buffer);
	return IFOREST_OK;
}

static void release(void *context, struct iforest_page *page)
{
	struct ifp_index *index = context;
	struct ifp_page_buffer *held = (struct ifp_page_buffer *)(page->bytes - offsetof(struct ifp_page_buffer, bytes));

	if (held->is_kept)
		return;
	remember(index, &held->mark);
	if (index->reader)
		keep_node(index, held);
	held->next = index->idle_buffers;
	index->idle_buffers = held;
}

static enum iforest_status pin_briefly(void *context, const struct iforest_place *place, uint64_t number,
				       struct iforest_page *to)
{
	struct ifp_index *index = context;
	Page page;

	Assert(!BufferIsValid(index->borrowed));
	index->borrowed = lock_page(index, place, number, &index->borrowed_mark);
	if (!BufferIsValid(index->borrowed))
		return IFOREST_CORRUPT;
	page = BufferGetPage(index->borrowed);
	*to = (struct iforest_page){ .bytes = ifp_content(page),
				     .n_bytes = ifp_content_used(page),
				     .is_checked = &index->borrowed_mark.is_checked };
	return IFOREST_OK;
}

static void unpin_brief(void *context, struct iforest_page *page)
{
	struct ifp_index *index = context;

	(void)page;
	remember(index, &index->borrowed_mark);
	UnlockReleaseBuffer(index->borrowed);
	index->borrowed = InvalidBuffer;
}

/* Pins nothing: if the buffer now has another page, the prefetch is useless. */
static void prefetch(void *context, const struct iforest_place *place, uint64_t number, bool of_maxima)
{
	struct ifp_index *index = context;
	BlockNumber block = remembered_block(index, place, number);
	Buffer buffer =
		block != InvalidBlockNumber && is_known(index, block) ? known_page(index, block)->buffer : InvalidBuffer;

	(void)of_maxima;
	if (!BufferIsValid(buffer))
		return;
	for (uint32 at = 0; at < EXPECTED_BYTES; at += CACHE_LINE)
		__builtin_prefetch(BufferGetPage(buffer) + at);
	__builtin_prefetch(BufferGetPage(buffer) + BLCKSZ - 1);
}

static uint64_t n_waits(void *context)
{
	(void)context;
	return (uint64_t)(pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read);
}

static void read_ahead(void *context, const struct iforest_place *place, const uint64_t *numbers, unsigned n)
{
	struct ifp_index *index = context;

	for (unsigned i = 0; i < n && effective_io_concurrency > 0; i++) {
		BlockNumber block = remembered_block(index, place, numbers[i]);

		if (block == InvalidBlockNumber)
			block = ifp_index_run_block(index, place, numbers[i]);
		if (block != InvalidBlockNumber && ifp_page_is_in_file(index->relation, block))
			PrefetchBuffer(index->relation, MAIN_FORKNUM, block);
	}
}

/* ---- the pager: writing ---- */

static enum iforest_status create_run(void *context, struct iforest_place *place)
{
	struct ifp_index *index = context;

	index->new_run = ifp_meta_tick(index->relation);
	index->n_new_pages = index->n_new_reserved = 0;
	place->location = index->new_run;
	return IFOREST_OK;
}

static void fill_page(Page page, uint32 owner, const struct iforest_page_write *write)
{
	ifp_page_init(page, IFP_PAGE_RUN, owner);
	ifp_special(page)->next = (uint32)write->index;
	memcpy(ifp_content(page), write->bytes, write->n_bytes);
	ifp_content_set_used(page, write->n_bytes);
}

/* Writes a page of a run that no manifest names yet: one record, or none in a build, which logs the whole file at its end. */
static void write_new(struct ifp_index *index, const struct iforest_page_write *write)
{
	Relation relation = index->relation;
	Buffer buffer;

	if (write->index == index->n_new_reserved) {
		uint32 n_wanted = Min(Max(index->n_new_pages / 16, FEWEST_RESERVED), MOST_RESERVED);

		index->new_extent = ifp_extents_allocate(relation, index->new_run, index->n_new_reserved, n_wanted);
		index->n_new_reserved = index->new_extent.first + index->new_extent.n_blocks;
	}
	buffer = ReadBufferExtended(relation, MAIN_FORKNUM,
				    index->new_extent.start + (uint32)write->index - index->new_extent.first, RBM_ZERO_AND_LOCK,
				    NULL);
	START_CRIT_SECTION();
	fill_page(BufferGetPage(buffer), index->new_run, write);
	MarkBufferDirty(buffer);
	if (!index->is_build && RelationNeedsWAL(relation))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
	index->n_new_pages = (uint32)write->index + 1;
}

/* Writes pages of a published run, as one record. */
static enum iforest_status rewrite(struct ifp_index *index, const struct iforest_place *place,
				   const struct iforest_page_write *writes, uint32 n_pages)
{
	BlockNumber blocks[IFP_BATCH_PAGES];
	Buffer buffers[IFP_BATCH_PAGES];
	GenericXLogState *state;

	for (uint32 i = 0; i < n_pages; i++) {
		blocks[i] = ifp_index_run_block(index, place, writes[i].index);
		if (blocks[i] == InvalidBlockNumber)
			return IFOREST_CORRUPT;
		for (uint32 other = 0; other < i; other++)
			if (blocks[other] == blocks[i])
				ifp_page_wrong(index->relation, IFP_EXTENTS_BLOCK, "Two extents of a run overlap.");
	}
	state = GenericXLogStart(index->relation);
	for (uint32 i = 0; i < n_pages; i++) {
		buffers[i] = ifp_page_lock(index->relation, blocks[i], IFP_PAGE_RUN, BUFFER_LOCK_EXCLUSIVE);
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
	struct ifp_index *index = context;

	stop_if_need_be(index);
	if (index->new_run == 0 || place->location != index->new_run)
		return rewrite(index, place, writes, n_pages);
	for (uint32 i = 0; i < n_pages; i++)
		write_new(index, &writes[i]);
	return IFOREST_OK;
}

static enum iforest_status drop_run(void *context, const struct iforest_place *place, uint64_t n_pages)
{
	struct ifp_index *index = context;

	(void)n_pages;
	if (place->location == index->new_run) {
		ifp_extents_trim(index->relation, index->new_run, 0);
		index->new_run = 0;
	} else {
		ifp_extents_free(index->relation, (uint32)place->location, false);
	}
	return IFOREST_OK;
}

/* ---- the pager: the manifest ---- */

static enum iforest_status begin_publish(void *context, uint64_t manifest_id, const uint8_t **bytes, uint32_t *n_bytes)
{
	struct ifp_index *index = context;
	struct ifp_meta meta;

	ifp_lock(index->relation, IFP_LOCK_PUBLISH, ExclusiveLock);
	ifp_meta_read(index->relation, &meta);
	*bytes = NULL;
	if (meta.manifest_id == manifest_id)
		return IFOREST_OK;
	index->newest_manifest = slot_read(index->relation, &meta);
	*bytes = index->newest_manifest;
	*n_bytes = meta.manifest_bytes;
	return *bytes ? IFOREST_OK : IFOREST_CORRUPT;
}

static enum iforest_status publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct ifp_index *index = context;

	if (index->new_run) {
		ifp_test_point("run written");
		ifp_extents_trim(index->relation, index->new_run, index->n_new_pages);
		index->new_run = 0;
	}
	slot_publish(index, bytes, n_bytes);
	ifp_unlock(index->relation, IFP_LOCK_PUBLISH, ExclusiveLock);
	for (uint32 i = 0; i < index->n_flushed; i++)
		ifp_extents_free(index->relation, index->flushed[i], true);
	index->n_flushed = 0;
	if (index->newest_manifest)
		pfree(index->newest_manifest);
	index->newest_manifest = NULL;
	return IFOREST_OK;
}

static uint64_t random_number(void *context)
{
	(void)context;
	return ifp_random();
}

static void pager_init(struct ifp_index *index)
{
	index->pager = (struct iforest_pager){ .context = index,
					       .page_bytes = IFP_PAGE_BYTES,
					       .max_batch_pages = IFP_BATCH_PAGES,
					       .get = get,
					       .release = release,
					       .pin_briefly = pin_briefly,
					       .unpin_brief = unpin_brief,
					       .prefetch = prefetch,
					       .n_waits = n_waits,
					       .read_ahead = read_ahead,
					       .create_run = create_run,
					       .write = write_pages,
					       .drop_run = drop_run,
					       .begin_publish = begin_publish,
					       .publish = publish,
					       .interrupt = ifp_interrupt,
					       .random = random_number };
	index->store = (struct iforest_store){ .pager = &index->pager, .alloc = &ifp_palloc_allocator };
}

void ifp_index_open(struct ifp_index *index, Relation relation)
{
	memset(&index->pager, 0, sizeof *index - offsetof(struct ifp_index, pager));
	index->manifest.alloc = NULL;
	index->manifest.n_runs = 0;
	index->relation = relation;
	index->context = CurrentMemoryContext;
	pager_init(index);
}

/* Returns the block of the page that core found faulty; InvalidBlockNumber if it belongs to no run that the index names. */
static BlockNumber faulty_block(struct ifp_index *index)
{
	const struct iforest_fault *fault = &index->store.fault;
	uint32 r = iforest_manifest_find(&index->manifest, fault->run_id);
	const struct iforest_run *run = r < index->manifest.n_runs ? &index->manifest.runs[r] : NULL;

	if (!fault->what || !run || fault->level > run->n_levels)
		return InvalidBlockNumber;
	return ifp_index_run_block(index, &run->place,
				   iforest_run_page_index(&index->manifest, run, fault->level, fault->number));
}

void ifp_index_require(struct ifp_index *index, enum iforest_status status)
{
	if (status)
		ifp_require_at(status, index->relation, &index->store.fault, faulty_block(index));
}

/* True if all runs fit the file: blocks are in the file before a manifest names their run. */
static bool are_possible(const struct ifp_index *index)
{
	bool are_right = true;

	for (uint32 r = 0; r < index->manifest.n_runs && are_right; r++) {
		const struct iforest_run *run = &index->manifest.runs[r];

		are_right = run->place.location > IFP_FIRST_CLOCK && run->place.location <= index->meta.clock &&
			    iforest_run_pages(&index->manifest, run) <= MaxBlockNumber &&
			    ifp_page_is_in_file(index->relation, (BlockNumber)iforest_run_pages(&index->manifest, run) - 1);
	}
	return are_right;
}

void ifp_index_refresh(struct ifp_index *index)
{
	uint64 tried_id = 0;
	const char *what = "the manifest is wrong";
	MemoryContext before = MemoryContextSwitchTo(index->context);

	for (bool is_first = true;; is_first = false) {
		enum iforest_status status = IFOREST_CORRUPT;
		uint8 *bytes;

		CHECK_FOR_INTERRUPTS();
		ifp_meta_read(index->relation, &index->meta);
		if (!is_first && index->meta.manifest_id == tried_id)
			ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
				errmsg("index \"%s\" is corrupt: %s", RelationGetRelationName(index->relation), what),
				errdetail("The manifest begins in block %u.", index->meta.slots[index->meta.slot][0]),
				errhint("Please REINDEX it."));
		tried_id = index->meta.manifest_id;
		iforest_manifest_release(&index->manifest);
		if (!index->trusts_nothing &&
		    ifp_index_cache_manifest(index->meta.index_id, index->meta.manifest_id, &index->manifest))
			break;
		bytes = slot_read(index->relation, &index->meta);
		if (bytes)
			status = iforest_manifest_read(&index->manifest, &ifp_palloc_allocator, bytes,
						       index->meta.manifest_bytes, &what);
		if (!status && !are_possible(index)) {
			what = "the manifest has an impossible run";
			status = IFOREST_CORRUPT;
		}
		if (!status && index->manifest.id == index->meta.manifest_id) {
			pfree(bytes);
			ifp_index_cache_keep_manifest(index->meta.index_id, &index->manifest);
			break;
		}
		if (status == IFOREST_FORMAT || status == IFOREST_NO_MEMORY)
			ifp_require(status, index->relation, &(struct iforest_fault){ .what = what });
	}
	MemoryContextSwitchTo(before);
}

static bool names(const struct ifp_index *index, uint32 owner)
{
	bool found = false;

	for (int c = 0; c < IFP_CHAINS && !found; c++)
		found = index->meta.open[c].clock == owner;
	for (uint32 c = 0; c < index->meta.n_closed && !found; c++)
		found = index->meta.closed[c].clock == owner;
	for (uint32 r = 0; r < index->manifest.n_runs && !found; r++)
		found = ifp_run_clock(&index->manifest.runs[r]) == owner;
	return found;
}

void ifp_index_met_foreign(struct ifp_index *index, uint32 owner, BlockNumber block)
{
	struct ifp_index *now = palloc(sizeof *now);

	ifp_index_open(now, index->relation);
	ifp_index_refresh(now);
	if (names(now, owner) && block == InvalidBlockNumber)
		ifp_page_wrong(index->relation, IFP_EXTENTS_BLOCK, "The list of extents lacks pages of a run.");
	if (names(now, owner))
		ifp_page_wrong(index->relation, block, "It does not belong to the run or chain that it is of.");
	iforest_manifest_release(&now->manifest);
	pfree(now);
	index->met_foreign_page = true;
}

/* ---- a new index ---- */

/* A pager that only records the manifest that is published to it. */
struct recorder {
	uint8 bytes[IFP_CONTENT_BYTES];
	uint32 n_bytes;
};

static enum iforest_status record(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	struct recorder *recorder = context;

	Assert(n_bytes <= sizeof recorder->bytes);
	memcpy(recorder->bytes, bytes, n_bytes);
	recorder->n_bytes = n_bytes;
	return IFOREST_OK;
}

void ifp_index_create(Relation relation, ForkNumber fork, const struct iforest_node_schema *fields)
{
	struct recorder *recorder = palloc(sizeof *recorder);
	struct iforest_pager pager = { .context = recorder,
				       .page_bytes = IFP_PAGE_BYTES,
				       .max_batch_pages = IFP_BATCH_PAGES,
				       .publish = record,
				       .random = random_number };
	struct iforest_store store = { .pager = &pager, .alloc = &ifp_palloc_allocator };
	struct iforest_manifest manifest;

	ifp_require(iforest_manifest_init(&manifest, &ifp_palloc_allocator, fields, IFP_PAGE_BYTES), relation, NULL);
	ifp_require(iforest_manifest_commit(&manifest, &store, NULL), relation, NULL);
	ifp_meta_create(relation, fork, recorder->bytes, recorder->n_bytes);
	iforest_manifest_release(&manifest);
	pfree(recorder);
}
