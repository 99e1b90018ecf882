#include "pg_ext/storage/meta.h"

#include "access/genam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "datatype/timestamp.h"

#include "core/base/bits.h"

enum { FIRST_SLOT_BLOCK = 1 };

StaticAssertDecl(sizeof(struct ifp_meta) + sizeof(struct ifp_sum) <= IFP_CONTENT_BYTES, "the metapage is a page");

static const uint32 MOST_CLOCK = UINT32_MAX - 16;

uint64 ifp_random(void)
{
	uint64 number;

	if (!pg_strong_random(&number, sizeof number))
		ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate a random number"));
	return number;
}

static Page new_page(Relation index, ForkNumber fork, BlockNumber block, Buffer *buffer)
{
	*buffer = ReadBufferExtended(index, fork, P_NEW, RBM_NORMAL, NULL);
	if (BufferGetBlockNumber(*buffer) != block)
		elog(ERROR, "index \"%s\" is not empty", RelationGetRelationName(index));
	LockBuffer(*buffer, BUFFER_LOCK_EXCLUSIVE);
	return BufferGetPage(*buffer);
}

void ifp_meta_create(Relation index, ForkNumber fork, const uint8 *manifest, uint32 n_manifest_bytes)
{
	static const enum ifp_page_type types[] = { IFP_PAGE_META, IFP_PAGE_MANIFEST, IFP_PAGE_MANIFEST, IFP_PAGE_EXTENTS };

	for (BlockNumber block = 0; block < lengthof(types); block++) {
		Buffer buffer;
		Page page = new_page(index, fork, block, &buffer);

		ifp_page_init(page, types[block], 0);
		if (block == IFP_META_BLOCK) {
			struct ifp_meta *meta = (struct ifp_meta *)ifp_content(page);

			*meta = (struct ifp_meta){ .magic = IFP_META_MAGIC,
						   .version = IFP_META_VERSION,
						   .index_id = ifp_random(),
						   .manifest_id = iforest_load64(manifest + 16),
						   .manifest_bytes = n_manifest_bytes,
						   .n_slot_pages = { 1, 1 },
						   .slots = { { FIRST_SLOT_BLOCK }, { FIRST_SLOT_BLOCK + 1 } },
						   .clock = IFP_FIRST_CLOCK,
						   .series_head = InvalidBlockNumber,
						   .series_tail = InvalidBlockNumber };
			ifp_content_set_used(page, sizeof *meta);
		} else if (block == FIRST_SLOT_BLOCK) {
			memcpy(ifp_content(page), manifest, n_manifest_bytes);
			ifp_content_set_used(page, n_manifest_bytes);
		}
		if (types[block] != IFP_PAGE_MANIFEST)
			ifp_page_sum(page, block);
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

static bool is_named(BlockNumber block, BlockNumber n_blocks)
{
	return block >= IFP_FIRST_FREE_BLOCK && block < n_blocks;
}

static bool is_chain(const struct ifp_meta *meta, const struct ifp_chain *chain, BlockNumber n_blocks)
{
	return chain->clock > IFP_FIRST_CLOCK && chain->clock <= meta->clock && is_named(chain->head, n_blocks) &&
	       is_named(chain->tail, n_blocks) && chain->n_pages >= 1 && chain->n_pages < n_blocks &&
	       (chain->n_pages == 1) == (chain->head == chain->tail);
}

static bool are_slots(const struct ifp_meta *meta, BlockNumber n_blocks)
{
	bool are_right = meta->slot <= 1;

	for (int s = 0; s < 2 && are_right; s++) {
		are_right = meta->n_slot_pages[s] >= 1 && meta->n_slot_pages[s] <= IFP_SLOT_PAGES &&
			    meta->slots[s][0] == FIRST_SLOT_BLOCK + (BlockNumber)s;
		for (uint32 i = 1; are_right && i < meta->n_slot_pages[s]; i++)
			are_right = is_named(meta->slots[s][i], n_blocks);
	}
	return are_right && meta->manifest_bytes <= meta->n_slot_pages[meta->slot] * IFP_CONTENT_BYTES;
}

/* Returns a description of the damage; NULL if there is none. */
static const char *find_fault(const struct ifp_meta *meta, BlockNumber n_blocks)
{
	bool has_series = meta->series_head != InvalidBlockNumber;

	if (!are_slots(meta, n_blocks))
		return "Block 0 has impossible slots of the manifest.";
	if (meta->worklist_below > meta->clock)
		return "Block 0 has an impossible clock.";
	if (has_series != (meta->series_tail != InvalidBlockNumber) ||
	    (has_series && (!is_named(meta->series_head, n_blocks) || !is_named(meta->series_tail, n_blocks))))
		return "Block 0 has impossible blocks of the dictionary.";
	for (int c = 0; c < IFP_CHAINS; c++)
		if (meta->open[c].clock ? !is_chain(meta, &meta->open[c], n_blocks) : meta->open[c].n_pages > 0)
			return "Block 0 has an impossible open chain.";
	if (meta->n_closed > IFP_MAX_CLOSED)
		return "Block 0 has an impossible number of closed chains.";
	for (uint32 c = 0; c < meta->n_closed; c++)
		if (!is_chain(meta, &meta->closed[c], n_blocks))
			return "Block 0 has an impossible closed chain.";
	return NULL;
}

/* Requires  the page is locked: blocks that it names were in the file before they were named. */
static void check_meta(Relation index, Page page)
{
	const struct ifp_meta *meta = (const struct ifp_meta *)ifp_content(page);
	const char *wrong = NULL;

	if (ifp_content_used(page) >= 2 * sizeof(uint32) && meta->magic == IFP_META_MAGIC && meta->version != IFP_META_VERSION)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" has format version %u, this iforest knows version %d",
			       RelationGetRelationName(index), meta->version, IFP_META_VERSION),
			errhint("REINDEX INDEX rebuilds it in the format of this version."));
	if (ifp_content_used(page) != sizeof *meta || meta->magic != IFP_META_MAGIC)
		wrong = "Block 0 has another length or magic.";
	else if (!ifp_page_is_whole(ifp_content(page), ifp_content_used(page), ifp_special(page), ifp_sum(page),
				    IFP_META_BLOCK))
		wrong = "Block 0 has a wrong checksum.";
	else
		wrong = find_fault(meta, RelationGetNumberOfBlocks(index));
	if (wrong)
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
			errmsg("index \"%s\" is corrupt: its metapage is wrong", RelationGetRelationName(index)),
			errdetail_internal("%s", wrong), errhint("Please REINDEX it."));
}

/* Checks a metapage unless this backend has verified this version: a page changes only with its LSN if the server itself
 * verifies what it reads from a file. Each query reads the metapage twice. */
static void check_once(Relation index, Page page)
{
	static struct {
		Oid index, file;
		XLogRecPtr lsn;
	} known[32];
	unsigned i = RelationGetRelid(index) % lengthof(known);
	XLogRecPtr lsn = DataChecksumsEnabled() && RelationNeedsWAL(index) ? PageGetLSN(page) : InvalidXLogRecPtr;

	if (lsn != InvalidXLogRecPtr && known[i].lsn == lsn && known[i].index == RelationGetRelid(index) &&
	    known[i].file == index->rd_rel->relfilenode)
		return;
	check_meta(index, page);
	known[i].index = RelationGetRelid(index);
	known[i].file = index->rd_rel->relfilenode;
	known[i].lsn = lsn;
}

Buffer ifp_meta_lock(Relation index, int lock_mode)
{
	Buffer buffer = ifp_page_lock(index, IFP_META_BLOCK, IFP_PAGE_META, lock_mode);

	check_once(index, BufferGetPage(buffer));
	return buffer;
}

pg_attribute_hot uint32 ifp_pending_pages(const struct ifp_meta *meta)
{
	uint32 n = 0;

	for (unsigned c = 0; c < IFP_CHAINS; c++)
		n += meta->open[c].n_pages;
	for (uint32 c = 0; c < meta->n_closed; c++)
		n += meta->closed[c].n_pages;
	return n;
}

/* Pins the metapage, without a search for its buffer if that was found less than a second ago. */
pg_attribute_hot static Buffer pin_again(Relation index)
{
	static struct {
		Oid index;
		Buffer buffer;
		TimestampTz found;
	} last[32];
	unsigned i = RelationGetRelid(index) % lengthof(last);
	TimestampTz now = GetCurrentStatementStartTimestamp();
	Buffer buffer;

	if (last[i].index == RelationGetRelid(index) && now - last[i].found < USECS_PER_SEC &&
	    ifp_read_recent_buffer(index, IFP_META_BLOCK, last[i].buffer))
		return last[i].buffer;
	buffer = ifp_page_read(index, IFP_META_BLOCK);
	last[i].index = BufferIsLocal(buffer) ? InvalidOid : RelationGetRelid(index);
	last[i].buffer = buffer;
	last[i].found = now;
	return buffer;
}

/* The same as ifp_meta_lock() in share mode. */
static Buffer lock_again(Relation index)
{
	Buffer buffer = pin_again(index);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!ifp_page_is(BufferGetPage(buffer), IFP_PAGE_META, 0))
		ifp_page_wrong(index, IFP_META_BLOCK, NULL);
	check_once(index, BufferGetPage(buffer));
	return buffer;
}

void ifp_meta_read(Relation index, struct ifp_meta *meta)
{
	Buffer buffer = lock_again(index);
	const struct ifp_meta *now = (const struct ifp_meta *)ifp_content(BufferGetPage(buffer));

	memcpy(meta, ifp_content(BufferGetPage(buffer)),
	       offsetof(struct ifp_meta, closed) + now->n_closed * sizeof *now->closed);
	UnlockReleaseBuffer(buffer);
}

bool ifp_meta_has_removed(Relation index, const struct ifp_meta *before)
{
	Buffer buffer = lock_again(index);
	const struct ifp_meta *now = (const struct ifp_meta *)ifp_content(BufferGetPage(buffer));
	bool has_removed = now->index_id != before->index_id || now->removal_epoch != before->removal_epoch;

	UnlockReleaseBuffer(buffer);
	return has_removed;
}

pg_attribute_hot void ifp_meta_read_sizes(Relation index, struct ifp_meta_sizes *sizes)
{
	Buffer buffer = pin_again(index);
	Page page = BufferGetPage(buffer);
	const struct ifp_meta *meta = (const struct ifp_meta *)ifp_content(page);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!ifp_page_is(page, IFP_PAGE_META, 0))
		ifp_page_wrong(index, IFP_META_BLOCK, NULL);
	if (ifp_content_used(page) != sizeof *meta || meta->magic != IFP_META_MAGIC || meta->version != IFP_META_VERSION ||
	    meta->n_closed > IFP_MAX_CLOSED)
		check_meta(index, page);
	*sizes = (struct ifp_meta_sizes){ .index_id = meta->index_id,
					  .manifest_id = meta->manifest_id,
					  .manifest_bytes = meta->manifest_bytes,
					  .n_pending_pages = ifp_pending_pages(meta) };
	UnlockReleaseBuffer(buffer);
}

void ifp_meta_test_for_old_snapshot(Relation index, Snapshot snapshot)
{
	Buffer buffer;

	if (!ifp_snapshots_grow_old())
		return;
	buffer = ifp_page_lock(index, IFP_META_BLOCK, IFP_PAGE_META, BUFFER_LOCK_SHARE);
	ifp_test_for_old_snapshot(snapshot, index, BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
}

uint64 ifp_meta_n_changes;

void ifp_meta_begin(Relation index, struct ifp_meta_edit *edit)
{
	edit->buffer = ifp_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	edit->state = GenericXLogStart(index);
	edit->page = GenericXLogRegisterBuffer(edit->state, edit->buffer, 0);
	edit->meta = (struct ifp_meta *)ifp_content(edit->page);
}

void ifp_meta_finish(struct ifp_meta_edit *edit)
{
	ifp_page_sum(edit->page, IFP_META_BLOCK);
	GenericXLogFinish(edit->state);
	UnlockReleaseBuffer(edit->buffer);
	ifp_meta_n_changes++;
}

void ifp_meta_cancel(struct ifp_meta_edit *edit)
{
	GenericXLogAbort(edit->state);
	UnlockReleaseBuffer(edit->buffer);
}

uint32 ifp_meta_tick(Relation index)
{
	struct ifp_meta_edit edit;
	uint32 clock;

	ifp_meta_begin(index, &edit);
	if (edit.meta->clock >= MOST_CLOCK)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("index \"%s\" has had more runs than it can number", RelationGetRelationName(index)),
			errhint("Please REINDEX it."));
	clock = ++edit.meta->clock;
	ifp_meta_finish(&edit);
	return clock;
}

void ifp_set_worklist(Relation index)
{
	uint32 clock = ifp_meta_tick(index);
	struct ifp_meta_edit edit;

	ifp_meta_begin(index, &edit);
	edit.meta->worklist_below = Max(edit.meta->worklist_below, clock);
	ifp_meta_finish(&edit);
}
