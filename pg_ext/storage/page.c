#include "pg_ext/storage/page.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/smgr.h"

void ifp_page_init(Page page, enum ifp_page_type type, uint32 owner)
{
	PageInit(page, BLCKSZ, sizeof(struct ifp_special));
	*ifp_special(page) = (struct ifp_special){ .owner = owner,
						   .next = InvalidBlockNumber,
						   .last = InvalidBlockNumber,
						   .page_type = (uint8)type,
						   .page_id = IFP_PAGE_ID };
}

/* ---- sums ---- */

struct ifp_sum ifp_sum_begin(const struct ifp_special *special, BlockNumber block)
{
	uint64 sum = ifp_sum_mix(ifp_sum_mix(0, special->owner | (uint64)special->last << 32), block);

	return (struct ifp_sum){ .checksum = (uint32)sum };
}

static void make_room_for_sum(Page page)
{
	Assert(ifp_content_used(page) + sizeof(struct ifp_sum) <= ifp_content_room(page));
	ifp_special(page)->flags |= IFP_PAGE_SUMMED;
	((PageHeader)page)->pd_upper -= sizeof(struct ifp_sum);
}

void ifp_page_begin_sum(Page page, BlockNumber block)
{
	make_room_for_sum(page);
	*ifp_sum(page) = ifp_sum_begin(ifp_special(page), block);
}

static struct ifp_sum whole_sum(const uint8 *content, uint32 n_bytes, const struct ifp_special *special, BlockNumber block)
{
	struct ifp_sum sum = ifp_sum_begin(special, block);

	ifp_sum_up(&sum, content, (uint16)n_bytes);
	ifp_sum_close(&sum, special->next);
	return sum;
}

void ifp_page_sum(Page page, BlockNumber block)
{
	if (!(ifp_special(page)->flags & IFP_PAGE_SUMMED))
		make_room_for_sum(page);
	*ifp_sum(page) = whole_sum(ifp_content(page), ifp_content_used(page), ifp_special(page), block);
}

bool ifp_page_is_whole(const uint8 *content, uint32 n_bytes, const struct ifp_special *special, const struct ifp_sum *sum,
		       BlockNumber block)
{
	struct ifp_sum right = whole_sum(content, n_bytes, special, block);

	return !(special->flags & IFP_PAGE_SUMMED) || memcmp(&right, sum, sizeof right) == 0;
}

/* ---- pages ---- */

bool ifp_page_looks_like(Page page, enum ifp_page_type type)
{
	return PageGetSpecialSize(page) == MAXALIGN(sizeof(struct ifp_special)) && ifp_special(page)->page_type == type;
}

static uint32 sum_bytes(Page page)
{
	return ifp_special(page)->flags & IFP_PAGE_SUMMED ? sizeof(struct ifp_sum) : 0;
}

static bool is_ours(Page page)
{
	return !PageIsNew(page) && PageGetSpecialSize(page) == MAXALIGN(sizeof(struct ifp_special)) &&
	       ifp_special(page)->page_id == IFP_PAGE_ID && ((PageHeader)page)->pd_lower >= IFP_CONTENT &&
	       ((PageHeader)page)->pd_lower <= ((PageHeader)page)->pd_upper &&
	       ((PageHeader)page)->pd_upper == IFP_CONTENT + IFP_CONTENT_BYTES - sum_bytes(page);
}

_Noreturn void ifp_page_wrong(Relation index, BlockNumber block, const char *why)
{
	ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
		errmsg("index \"%s\" is corrupt: block %u is not what it should be", RelationGetRelationName(index), block),
		why ? errdetail_internal("%s", why) : 0, errhint("Please REINDEX it."));
	pg_unreachable();
}

bool ifp_page_is_in_file(Relation index, BlockNumber block)
{
	BlockNumber known = RelationGetSmgr(index)->smgr_cached_nblocks[MAIN_FORKNUM];

	return (known != InvalidBlockNumber && block < known) || block < RelationGetNumberOfBlocks(index);
}

Buffer ifp_page_read(Relation index, BlockNumber block)
{
	if (!ifp_page_is_in_file(index, block))
		ifp_page_wrong(index, block, "It is beyond the end of the file.");
	return ReadBuffer(index, block);
}

pg_attribute_hot bool ifp_page_is(Page page, enum ifp_page_type type, uint32 owner)
{
	return is_ours(page) && ifp_special(page)->page_type == type && ifp_special(page)->owner == owner;
}

Buffer ifp_page_lock(Relation index, BlockNumber block, enum ifp_page_type type, int lock_mode)
{
	Buffer buffer = ifp_page_read(index, block);
	Page page = BufferGetPage(buffer);

	LockBuffer(buffer, lock_mode);
	if (!is_ours(page) || ifp_special(page)->page_type != type)
		ifp_page_wrong(index, block, NULL);
	return buffer;
}

uint32 ifp_page_copy(Relation index, BlockNumber block, enum ifp_page_type type, uint8 *to, struct ifp_special *special,
		     struct ifp_sum *sum)
{
	Buffer buffer = ifp_page_lock(index, block, type, BUFFER_LOCK_SHARE);
	Page page = BufferGetPage(buffer);
	uint32 n_bytes = ifp_content_used(page);

	memcpy(to, ifp_content(page), n_bytes);
	if (special)
		*special = *ifp_special(page);
	if (sum)
		*sum = *ifp_sum(page);
	UnlockReleaseBuffer(buffer);
	return n_bytes;
}

/* Bytes of a page that change. */
struct fragment {
	uint16 at, n_bytes;
	const void *bytes;
};

/* Changes a page, and writes the record that generic_redo() reads (access/transam/generic_xlog.c). GenericXLogFinish() compares
 * two images of the page for the same record, which takes five times as long. */
static void change(Relation index, Buffer buffer, const struct fragment *fragments, int n)
{
	Page page = BufferGetPage(buffer);
	uint8 delta[32 + IFP_MOST_APPENDED];
	uint8 *out = delta;

	for (int i = 0; i < n; i++) {
		memcpy(out, &fragments[i].at, sizeof fragments[i].at);
		memcpy(out + 2, &fragments[i].n_bytes, sizeof fragments[i].n_bytes);
		memcpy(out + 4, fragments[i].bytes, fragments[i].n_bytes);
		out += 4 + fragments[i].n_bytes;
	}
	START_CRIT_SECTION();
	for (int i = 0; i < n; i++)
		memcpy((uint8 *)page + fragments[i].at, fragments[i].bytes, fragments[i].n_bytes);
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

static struct fragment end_of_content(const uint16 *end)
{
	return (struct fragment){ offsetof(PageHeaderData, pd_lower), sizeof *end, end };
}

void ifp_page_append(Relation index, Buffer buffer, const uint8 *bytes, uint16 n_bytes, const struct ifp_sum *sum)
{
	Page page = BufferGetPage(buffer);
	uint16 at = ((PageHeader)page)->pd_lower, end = at + n_bytes;
	struct fragment fragments[3] = { end_of_content(&end), { at, n_bytes, bytes } };

	Assert(n_bytes <= IFP_MOST_APPENDED && end <= ((PageHeader)page)->pd_upper);
	if (sum)
		fragments[2] =
			(struct fragment){ (uint16)((char *)ifp_sum(page) - page), offsetof(struct ifp_sum, has_next), sum };
	change(index, buffer, fragments, sum ? 3 : 2);
}

void ifp_page_write(Relation index, Buffer buffer, uint32 at, const uint8 *bytes, uint16 n_bytes)
{
	Page page = BufferGetPage(buffer);
	uint16 end = ((PageHeader)page)->pd_upper;
	struct fragment fragments[2] = { { (uint16)(IFP_CONTENT + at), n_bytes, bytes }, end_of_content(&end) };

	Assert(n_bytes <= IFP_MOST_APPENDED && at + n_bytes <= ifp_content_room(page));
	change(index, buffer, fragments, ((PageHeader)page)->pd_lower == end ? 1 : 2);
}
