#include "pg_ext/storage/page.h"

#include "access/xloginsert.h"
#include "miscadmin.h"

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

_Noreturn void iforest_page_wrong(Relation index, BlockNumber block, const char *why)
{
	ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
		errmsg("index \"%s\" is corrupt: block %u is not what it should be", RelationGetRelationName(index), block),
		why ? errdetail_internal("%s", why) : 0, errhint("REINDEX INDEX makes it anew from the table."));
	pg_unreachable();
}

Buffer iforest_page_read(Relation index, BlockNumber block)
{
	if (block >= RelationGetNumberOfBlocks(index))
		iforest_page_wrong(index, block, "It is beyond the end of the file.");
	return ReadBuffer(index, block);
}

bool iforest_page_is(Page page, enum iforest_page_kind kind, uint32 owner)
{
	return is_ours(page) && iforest_special(page)->kind == kind && iforest_special(page)->owner == owner;
}

Buffer iforest_page_lock(Relation index, BlockNumber block, enum iforest_page_kind kind, int lock_mode)
{
	Buffer buffer = iforest_page_read(index, block);
	Page page = BufferGetPage(buffer);

	LockBuffer(buffer, lock_mode);
	if (!is_ours(page) || iforest_special(page)->kind != kind)
		iforest_page_wrong(index, block, NULL);
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

/* One fragment of a generic record: bytes [offset, offset + n) of the page. */
static uint8 *write_fragment(uint8 *out, uint16 offset, const void *bytes, uint16 n)
{
	memcpy(out, &offset, sizeof offset);
	memcpy(out + sizeof offset, &n, sizeof n);
	memcpy(out + sizeof offset + sizeof n, bytes, n);
	return out + sizeof offset + sizeof n + n;
}

/* The record is as generic_redo() reads it (access/transam/generic_xlog.c). GenericXLogFinish() would compare both images of
 * the page for the same: five times the time. */
void iforest_page_append(Relation index, Buffer buffer, const uint8 *bytes, uint16 n_bytes, const struct iforest_sum *sum)
{
	Page page = BufferGetPage(buffer);
	uint16 at = ((PageHeader)page)->pd_lower, end = at + n_bytes;
	uint8 delta[32 + IFOREST_MOST_APPENDED];
	uint8 *out = delta;

	Assert(n_bytes <= IFOREST_MOST_APPENDED && end <= ((PageHeader)page)->pd_upper);
	out = write_fragment(out, offsetof(PageHeaderData, pd_lower), &end, sizeof end);
	out = write_fragment(out, at, bytes, n_bytes);
	if (sum)
		out = write_fragment(out, (uint16)((char *)iforest_sum(page) - page), sum, offsetof(struct iforest_sum, zero));
	START_CRIT_SECTION();
	memcpy((uint8 *)page + at, bytes, n_bytes);
	((PageHeader)page)->pd_lower = end;
	if (sum)
		*iforest_sum(page) = *sum;
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index)) {
		XLogRecPtr lsn;

		XLogBeginInsert();
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, (char *)delta, (int)(out - delta));
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
}
