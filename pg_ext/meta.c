#include "pg_ext/meta.h"

#include "core/bits.h"

enum { FIRST_SLOT_BLOCK = 1 };

static const uint32 MOST_CLOCK = UINT32_MAX - 16;

uint64 iforest_pg_random(void)
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

void iforest_meta_create(Relation index, ForkNumber fork, const uint8 *manifest, uint32 n_manifest_bytes)
{
	static const enum iforest_page_kind kinds[] = { IFOREST_KIND_META, IFOREST_KIND_MANIFEST, IFOREST_KIND_MANIFEST,
							IFOREST_KIND_SPACE };

	for (BlockNumber block = 0; block < lengthof(kinds); block++) {
		Buffer buffer;
		Page page = new_page(index, fork, block, &buffer);

		iforest_page_init(page, kinds[block], 0);
		if (block == IFOREST_META_BLOCK) {
			struct iforest_meta *meta = (struct iforest_meta *)iforest_content(page);

			*meta = (struct iforest_meta){ .magic = IFOREST_META_MAGIC,
						       .version = IFOREST_META_VERSION,
						       .index_id = iforest_pg_random(),
						       .manifest_id = iforest_load64(manifest + 16),
						       .manifest_bytes = n_manifest_bytes,
						       .n_slot_pages = { 1, 1 },
						       .slots = { { FIRST_SLOT_BLOCK }, { FIRST_SLOT_BLOCK + 1 } },
						       .clock = IFOREST_FIRST_CLOCK,
						       .series_head = InvalidBlockNumber,
						       .series_tail = InvalidBlockNumber };
			iforest_content_set_used(page, sizeof *meta);
		} else if (block == FIRST_SLOT_BLOCK) {
			memcpy(iforest_content(page), manifest, n_manifest_bytes);
			iforest_content_set_used(page, n_manifest_bytes);
		}
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

static void check_meta(Relation index, Page page)
{
	const struct iforest_meta *meta = (const struct iforest_meta *)iforest_content(page);

	if (iforest_content_used(page) >= 2 * sizeof(uint32) && meta->magic == IFOREST_META_MAGIC &&
	    meta->version != IFOREST_META_VERSION)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" has format version %u, this iforest knows version %d",
			       RelationGetRelationName(index), meta->version, IFOREST_META_VERSION),
			errhint("REINDEX INDEX makes it anew in the format of this version."));
	if (iforest_content_used(page) != sizeof *meta || meta->magic != IFOREST_META_MAGIC || meta->slot > 1 ||
	    meta->n_closed > IFOREST_MAX_CLOSED || meta->n_slot_pages[0] > IFOREST_SLOT_PAGES ||
	    meta->n_slot_pages[1] > IFOREST_SLOT_PAGES ||
	    meta->manifest_bytes > meta->n_slot_pages[meta->slot] * IFOREST_CONTENT_BYTES)
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
			errmsg("index \"%s\" is corrupt: its metapage is wrong", RelationGetRelationName(index)),
			errhint("REINDEX INDEX makes it anew from the table."));
}

void iforest_meta_read(Relation index, struct iforest_meta *meta)
{
	Buffer buffer = iforest_page_lock(index, IFOREST_META_BLOCK, IFOREST_KIND_META, BUFFER_LOCK_SHARE);
	Page page = BufferGetPage(buffer);

	check_meta(index, page);
	memcpy(meta, iforest_content(page), sizeof *meta);
	UnlockReleaseBuffer(buffer);
}

void iforest_meta_test_for_old_snapshot(Relation index, Snapshot snapshot)
{
	Buffer buffer = iforest_page_lock(index, IFOREST_META_BLOCK, IFOREST_KIND_META, BUFFER_LOCK_SHARE);

	iforest_test_for_old_snapshot(snapshot, index, BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
}

void iforest_meta_begin(Relation index, struct iforest_meta_edit *edit)
{
	edit->buffer = iforest_page_lock(index, IFOREST_META_BLOCK, IFOREST_KIND_META, BUFFER_LOCK_EXCLUSIVE);
	check_meta(index, BufferGetPage(edit->buffer));
	edit->state = GenericXLogStart(index);
	edit->meta = (struct iforest_meta *)iforest_content(GenericXLogRegisterBuffer(edit->state, edit->buffer, 0));
}

void iforest_meta_finish(struct iforest_meta_edit *edit)
{
	GenericXLogFinish(edit->state);
	UnlockReleaseBuffer(edit->buffer);
}

void iforest_meta_cancel(struct iforest_meta_edit *edit)
{
	GenericXLogAbort(edit->state);
	UnlockReleaseBuffer(edit->buffer);
}

uint32 iforest_meta_tick(Relation index)
{
	struct iforest_meta_edit edit;
	uint32 clock;

	iforest_meta_begin(index, &edit);
	if (edit.meta->clock >= MOST_CLOCK)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("index \"%s\" has had more runs than it can number", RelationGetRelationName(index)),
			errhint("REINDEX INDEX begins again."));
	clock = ++edit.meta->clock;
	iforest_meta_finish(&edit);
	return clock;
}

void iforest_set_worklist(Relation index)
{
	uint32 clock = iforest_meta_tick(index);
	struct iforest_meta_edit edit;

	iforest_meta_begin(index, &edit);
	edit.meta->worklist_below = Max(edit.meta->worklist_below, clock);
	iforest_meta_finish(&edit);
}
