#include "pg_ext/page.h"

void iforest_page_init(Page page, enum iforest_page_kind kind, uint32 owner)
{
	PageInit(page, BLCKSZ, sizeof(struct iforest_special));
	*iforest_special(page) = (struct iforest_special){ .owner = owner, .next = InvalidBlockNumber,
		.last = InvalidBlockNumber, .kind = (uint8)kind, .page_id = IFOREST_PAGE_ID };
}

static bool is_ours(Page page)
{
	return !PageIsNew(page) && PageGetSpecialSize(page) == MAXALIGN(sizeof(struct iforest_special)) &&
	       iforest_special(page)->page_id == IFOREST_PAGE_ID && ((PageHeader)page)->pd_lower >= IFOREST_CONTENT &&
	       ((PageHeader)page)->pd_lower <= ((PageHeader)page)->pd_upper &&
	       ((PageHeader)page)->pd_upper <= IFOREST_CONTENT + IFOREST_CONTENT_BYTES;
}

bool iforest_page_is(Page page, enum iforest_page_kind kind, uint32 owner)
{
	return is_ours(page) && iforest_special(page)->kind == kind && iforest_special(page)->owner == owner;
}

Buffer iforest_page_lock(Relation index, BlockNumber block, enum iforest_page_kind kind, int lock_mode)
{
	Buffer buffer = ReadBuffer(index, block);
	Page page = BufferGetPage(buffer);

	LockBuffer(buffer, lock_mode);
	if (!is_ours(page) || iforest_special(page)->kind != kind)
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
			errmsg("index \"%s\" is corrupt: block %u is not what it should be", RelationGetRelationName(index),
			       block),
			errhint("REINDEX INDEX makes it anew from the table."));
	return buffer;
}

uint32 iforest_page_copy(Relation index, BlockNumber block, enum iforest_page_kind kind, uint8 *to,
			 struct iforest_special *special)
{
	Buffer buffer = iforest_page_lock(index, block, kind, BUFFER_LOCK_SHARE);
	Page page = BufferGetPage(buffer);
	uint32 n_bytes = iforest_content_used(page);

	memcpy(to, iforest_content(page), n_bytes);
	if (special)
		*special = *iforest_special(page);
	UnlockReleaseBuffer(buffer);
	return n_bytes;
}
