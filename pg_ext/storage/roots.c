#include "pg_ext/storage/roots.h"

#include "access/heapam.h"
#include "access/transam.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "pg_ext/storage/lasting.h"

/* How far ahead tuples are fetched into the caches. */
enum { TUPLES_AHEAD = 16 };

/* A page being looked at. What is seen there will hold for good if transactions are over that did it, of which `newest` is the
 * newest. */
struct look {
	Relation heap;
	Snapshot snapshot;
	Buffer buffer;
	bool is_lasting;
	TransactionId newest;
};

static inline void note_transaction(struct look *look, TransactionId xid)
{
	if (TransactionIdPrecedes(look->newest, xid))
		look->newest = xid;
}

/* Of a tuple that was committed before any transaction that the snapshot may not see, and not touched since, the
 * server's functions would say that it is visible. Most tuples are such. */
static inline bool is_long_visible(struct look *look, HeapTupleHeader tuple)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(tuple);

	if (!(tuple->t_infomask & HEAP_XMAX_INVALID) || !HeapTupleHeaderXminCommitted(tuple))
		return false;
	if (HeapTupleHeaderXminFrozen(tuple))
		return true;
	if (!TransactionIdPrecedes(xmin, look->snapshot->xmin))
		return false;
	note_transaction(look, xmin);
	return true;
}

/* Of one that begins no chain, and was deleted before any transaction that the snapshot may not see, or inserted by one that
 * came to nothing, they would say that it is not. */
static inline bool is_long_gone(struct look *look, HeapTupleHeader tuple)
{
	TransactionId xmax = HeapTupleHeaderGetRawXmax(tuple);

	if (HeapTupleHeaderIsHotUpdated(tuple))
		return false;
	if (HeapTupleHeaderXminInvalid(tuple))
		return true;
	if (!(tuple->t_infomask & HEAP_XMAX_COMMITTED) || (tuple->t_infomask & HEAP_XMAX_IS_MULTI) ||
	    HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask) || !TransactionIdPrecedes(xmax, look->snapshot->xmin))
		return false;
	note_transaction(look, xmax);
	return true;
}

/* Is the row with this root visible: the tuple itself, or one of its chain of heap-only updates? */
static bool is_visible(const struct look *look, ItemPointer tid, HeapTupleHeader header, ItemId item)
{
	HeapTupleData tuple = { .t_self = *tid, .t_tableOid = RelationGetRelid(look->heap) };
	bool visible;

	if (!header || HeapTupleHeaderIsHotUpdated(header))
		return heap_hot_search_buffer(tid, look->heap, look->buffer, look->snapshot, &tuple, NULL, true);
	tuple.t_data = header;
	tuple.t_len = ItemIdGetLength(item);
	visible = HeapTupleSatisfiesVisibility(&tuple, look->snapshot, look->buffer);
	HeapCheckForSerializableConflictOut(visible, look->heap, &tuple, look->buffer, look->snapshot);
	return visible;
}

static inline bool judge_root(struct look *look, Page page, ItemPointer tid, ItemId item)
{
	HeapTupleHeader tuple = ItemIdIsNormal(item) ? (HeapTupleHeader)PageGetItem(page, item) : NULL;

	if (ItemIdIsDead(item))
		return false;
	if (tuple && IsMVCCSnapshot(look->snapshot)) {
		if (is_long_visible(look, tuple))
			return true;
		if (is_long_gone(look, tuple))
			return false;
	}
	look->is_lasting = false;
	return is_visible(look, tid, tuple, item);
}

/* Tuples stand one before the other, which processors foresee less well than the other order. */
static inline void prefetch_tuple(Page page, OffsetNumber offset, OffsetNumber last)
{
	if (offset <= last)
		__builtin_prefetch((const char *)page + ItemIdGetOffset(PageGetItemId(page, offset)));
}

static void look_at_page(struct look *look, BlockNumber block, struct iforest_roots *roots)
{
	Page page = BufferGetPage(look->buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	*roots = (struct iforest_roots){ .are_clean = true, .last = last };
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++) {
		ItemId item = PageGetItemId(page, offset);
		ItemPointerData tid;

		prefetch_tuple(page, offset + TUPLES_AHEAD, last);
		if (!ItemIdIsUsed(item) ||
		    (ItemIdIsNormal(item) && HeapTupleHeaderIsHeapOnly((HeapTupleHeader)PageGetItem(page, item))))
			continue;
		ItemPointerSet(&tid, block, offset);
		if (judge_root(look, page, &tid, item))
			roots->visible[offset / 64] |= UINT64CONST(1) << (offset % 64);
		else
			roots->are_clean = false;
	}
}

void iforest_roots_see(Relation heap, Snapshot snapshot, BlockNumber block, struct iforest_roots *roots)
{
	struct look look = { .heap = heap, .snapshot = snapshot, .buffer = ReadBuffer(heap, block),
			     .newest = FrozenTransactionId };
	XLogRecPtr lsn;

	LockBuffer(look.buffer, BUFFER_LOCK_SHARE);
	iforest_test_for_old_snapshot(snapshot, heap, BufferGetPage(look.buffer));
	lsn = BufferGetLSNAtomic(look.buffer);
	if (!iforest_lasting_recall(heap, block, lsn, snapshot, roots)) {
		look.is_lasting = true;
		look_at_page(&look, block, roots);
		lsn = BufferGetLSNAtomic(look.buffer); /* hints may have been written */
	}
	UnlockReleaseBuffer(look.buffer);
	if (look.is_lasting)
		iforest_lasting_note(heap, block, lsn, look.newest, roots);
}
