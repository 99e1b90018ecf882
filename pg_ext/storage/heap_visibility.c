#include "pg_ext/storage/heap_visibility.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/visibilitymapdefs.h"
#include "access/xlogdefs.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/block.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/smgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "core/base/bits.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/types/values.h"

/* ---- the cache ---- */

enum { ROW_WORDS = (MaxHeapTuplesPerPage + 64) / 64 };

/* Visibility of a heap page's rows to a snapshot, by root. */
struct page_rows {
	bool are_clean;		   /* all are visible, and no line pointer is dead */
	OffsetNumber last;	   /* line pointer of the page */
	uint64 visible[ROW_WORDS]; /* by offset number up to `last`; set only if not clean */
};

/* Facts of neighbouring pages are stored together, because appended pages are neighbours. */
enum { PAGES_A_GROUP = 8 };

/* Visible roots of a page that is not clean: n_words(last) of them; NULL if it is. */
struct page_roots {
	OffsetNumber last;
	uint64 *visible;
};

struct table_key {
	Oid relation, file; /* the file changes if the table is rewritten or truncated */
};

struct table_facts {
	struct table_key key;
	BlockNumber n_clean; /* pages */
};

struct group_key {
	struct table_key table;
	BlockNumber number;
};

struct group {
	struct group_key key;
	TransactionId newest;		/* inserter or deleter on any of the pages */
	XLogRecPtr lsns[PAGES_A_GROUP]; /* 0: nothing is known of the page */
	struct page_roots *roots;	/* PAGES_A_GROUP of them; NULL: no page is known not to be clean */
};

static MemoryContext known_context;
static HTAB *known_tables, *known_groups;

/* More pages than fit may be needed again and again, in the same order. Evicting the oldest would then evict each page before
 * it is reused. So the cache is not changed while at least every other lookup hits, which is evaluated after this many lookups
 * for each fact. */
enum { LOOKS_A_FACT = 4, LOOKS_A_FIND = 2 };

static struct {
	int work_mem; /* when the cache was last created */
	uint64 facts;
	bool is_full;
	uint64 looks, found; /* since the cache became full, or was last evaluated */
} use;

static unsigned n_words(OffsetNumber last)
{
	return last / 64 + 1;
}

static struct table_key key_of(Relation heap)
{
	return (struct table_key){ .relation = RelationGetRelid(heap), .file = heap->rd_rel->relfilenode };
}

static HTAB *make_table(Size key_bytes, Size entry_bytes)
{
	HASHCTL control = { .keysize = key_bytes, .entrysize = entry_bytes, .hcxt = known_context };

	return hash_create("iforest pages seen", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void forget_all(void)
{
	known_tables = known_groups = NULL;
	if (known_context)
		MemoryContextReset(known_context);
	else
		known_context = AllocSetContextCreate(CacheMemoryContext, "iforest pages seen", 0, 8 * 1024, 64 * 1024);
	known_tables = make_table(sizeof(struct table_key), sizeof(struct table_facts));
	known_groups = make_table(sizeof(struct group_key), sizeof(struct group));
	memset(&use, 0, sizeof use);
	use.work_mem = work_mem;
}

/* True if a full cache is still useful. Starts a new evaluation if it is due. */
static bool is_of_use(void)
{
	bool is_judged = use.is_full, is_found = use.found * LOOKS_A_FIND >= use.looks;

	if (is_judged && use.looks < use.facts * LOOKS_A_FACT)
		return true;
	use.is_full = true;
	use.looks = use.found = 0;
	return !is_judged || is_found;
}

/* Makes room for another fact, by emptying the cache if that is no longer useful. Returns false if there is no room. */
static bool make_room(void)
{
	bool is_full = known_groups && MemoryContextMemAllocated(known_context, true) > (Size)work_mem * 1024;

	if (!known_groups || (is_full && (work_mem < use.work_mem || !is_of_use()))) {
		forget_all();
		is_full = false;
	}
	return !is_full;
}

static struct group *find_group(Relation heap, BlockNumber block)
{
	struct group_key key = { .table = key_of(heap), .number = block / PAGES_A_GROUP };

	return known_groups ? hash_search(known_groups, &key, HASH_FIND, NULL) : NULL;
}

static struct table_facts *find_table(Relation heap)
{
	struct table_key key = key_of(heap);

	return known_groups ? hash_search(known_tables, &key, HASH_FIND, NULL) : NULL;
}

/* Returns the facts of a page's group and of its table, created if necessary. */
static struct group *facts_of(Relation heap, BlockNumber block, struct table_facts **table)
{
	struct group_key key = { .table = key_of(heap), .number = block / PAGES_A_GROUP };
	struct group *group;
	bool found;

	*table = hash_search(known_tables, &key.table, HASH_ENTER, &found);
	if (!found)
		(*table)->n_clean = 0;
	group = hash_search(known_groups, &key, HASH_ENTER, &found);
	if (!found) {
		group->newest = FrozenTransactionId;
		memset(group->lsns, 0, sizeof group->lsns);
		group->roots = NULL;
	}
	return group;
}

/* Fills in the rows of a page at this LSN from the cache. Returns false if the cache has nothing valid for the snapshot. */
static bool recall_heap_page(Relation heap, BlockNumber block, XLogRecPtr lsn, Snapshot snapshot, struct page_rows *rows)
{
	const struct group *group = find_group(heap, block);
	const struct page_roots *roots = group && group->roots ? &group->roots[block % PAGES_A_GROUP] : NULL;

	if (lsn == InvalidXLogRecPtr || !RelationNeedsWAL(heap) || !IsMVCCSnapshot(snapshot))
		return false;
	use.looks++;
	if (!group || group->lsns[block % PAGES_A_GROUP] != lsn || !TransactionIdPrecedes(group->newest, snapshot->xmin))
		return false;
	use.found++;
	rows->are_clean = !roots || !roots->visible;
	if (rows->are_clean)
		return true;
	rows->last = roots->last;
	memcpy(rows->visible, roots->visible, n_words(roots->last) * sizeof *roots->visible);
	return true;
}

/* True if nothing needs to be allocated to cache n words of a page. */
static bool has_room(const struct group *group, unsigned i, unsigned n)
{
	return group && (n == 0 || (group->roots && group->roots[i].visible && n_words(group->roots[i].last) >= n));
}

static bool is_known_clean(const struct group *group, unsigned i)
{
	return group->lsns[i] != InvalidXLogRecPtr && !(group->roots && group->roots[i].visible);
}

static void forget(struct table_facts *table, struct group *group, unsigned i)
{
	table->n_clean -= is_known_clean(group, i);
	use.facts -= group->lsns[i] != InvalidXLogRecPtr;
	group->lsns[i] = InvalidXLogRecPtr;
}

/* Stores the n words of a page's visible roots; 0: it is clean. */
static void store_roots(struct group *group, unsigned i, unsigned n, const struct page_rows *rows)
{
	struct page_roots *roots;

	if (n > 0 && !group->roots)
		group->roots = MemoryContextAllocZero(known_context, PAGES_A_GROUP * sizeof *group->roots);
	if (!group->roots)
		return;
	roots = &group->roots[i];
	if (roots->visible && (n == 0 || n_words(roots->last) < n)) {
		pfree(roots->visible);
		roots->visible = NULL;
	}
	if (n == 0)
		return;
	if (!roots->visible)
		roots->visible = MemoryContextAlloc(known_context, n * sizeof *roots->visible);
	memcpy(roots->visible, rows->visible, n * sizeof *roots->visible);
	roots->last = rows->last;
}

/* Caches the rows of a page, whose last inserter or deleter is `newest`. If work_mem is used up, keeps the facts of other pages
 * instead as long as they are useful, then empties the whole cache. */
static void remember_heap_page(Relation heap, BlockNumber block, XLogRecPtr lsn, TransactionId newest,
			       const struct page_rows *rows)
{
	unsigned n = rows->are_clean ? 0 : n_words(rows->last), i = block % PAGES_A_GROUP;
	struct group *group = find_group(heap, block);
	struct table_facts *table;

	if (lsn == InvalidXLogRecPtr || !RelationNeedsWAL(heap))
		return;
	if (!has_room(group, i, n) && !make_room()) {
		if (group)
			forget(find_table(heap), group, i);
		return;
	}
	group = facts_of(heap, block, &table);
	forget(table, group, i);
	store_roots(group, i, n, rows);
	group->lsns[i] = lsn;
	if (TransactionIdPrecedes(group->newest, newest))
		group->newest = newest;
	use.facts++;
	table->n_clean += is_known_clean(group, i);
}

BlockNumber ifp_heap_visibility_cached_pages(Relation heap, BlockNumber most)
{
	struct table_facts *table = find_table(heap);

	if (table && table->n_clean > most) {
		forget_all();
		return 0;
	}
	return table ? table->n_clean : 0;
}

/* ---- rows of a page ---- */

/* Prefetch distance in tuples. */
enum { TUPLES_AHEAD = 16 };

/* A page that is being checked. The result can be cached if is_lasting: all inserters and deleters have finished, and `newest`
 * is the newest of them. */
struct look {
	Relation heap;
	Snapshot snapshot;
	Buffer buffer;
	bool is_lasting;
	TransactionId newest;
	TransactionId committed; /* an inserter that is known to have committed, or InvalidTransactionId */
};

static inline void note_transaction(struct look *look, TransactionId xid)
{
	if (TransactionIdPrecedes(look->newest, xid))
		look->newest = xid;
}

/* True if an inserter that is older than any transaction invisible to the snapshot has committed. The server's functions would
 * set a hint bit on each tuple; rows loaded together have the same inserter. */
static inline bool has_committed(struct look *look, TransactionId xmin)
{
	if (xmin != look->committed && TransactionIdDidCommit(xmin))
		look->committed = xmin;
	return xmin == look->committed;
}

/* True for a tuple committed before any transaction invisible to the snapshot, and not touched since. The server's functions
 * would find it visible. Most tuples are like that. */
static inline bool is_long_visible(struct look *look, HeapTupleHeader tuple)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(tuple);

	if ((tuple->t_infomask & (HEAP_XMAX_INVALID | HEAP_MOVED)) != HEAP_XMAX_INVALID || HeapTupleHeaderXminInvalid(tuple))
		return false;
	if (HeapTupleHeaderXminFrozen(tuple))
		return true;
	if (!TransactionIdPrecedes(xmin, look->snapshot->xmin) ||
	    (!HeapTupleHeaderXminCommitted(tuple) && !has_committed(look, xmin)))
		return false;
	note_transaction(look, xmin);
	return true;
}

/* True for a tuple that starts no chain and was deleted before any transaction invisible to the snapshot, or whose inserter
 * aborted. The server's functions would find it invisible. */
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

/* True if the row with this root is visible: the tuple itself, or one of its chain of heap-only updates. */
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

static inline bool is_root_visible(struct look *look, Page page, ItemPointer tid, ItemId item)
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

/* Tuples are stored in descending order, which processors predict less well than ascending order. */
static inline void prefetch_tuple(Page page, OffsetNumber offset, OffsetNumber last)
{
	if (offset <= last)
		__builtin_prefetch((const char *)page + ItemIdGetOffset(PageGetItemId(page, offset)));
}

static void read_page_rows(struct look *look, BlockNumber block, struct page_rows *rows)
{
	Page page = BufferGetPage(look->buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	*rows = (struct page_rows){ .are_clean = true, .last = last };
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++) {
		ItemId item = PageGetItemId(page, offset);
		ItemPointerData tid;

		prefetch_tuple(page, offset + TUPLES_AHEAD, last);
		if (!ItemIdIsUsed(item) ||
		    (ItemIdIsNormal(item) && HeapTupleHeaderIsHeapOnly((HeapTupleHeader)PageGetItem(page, item))))
			continue;
		ItemPointerSet(&tid, block, offset);
		if (is_root_visible(look, page, &tid, item))
			rows->visible[offset / 64] |= UINT64CONST(1) << (offset % 64);
		else
			rows->are_clean = false;
	}
}

/* Reads the rows of a page, from the cache if the page has not changed. */
static void see_heap_page(Relation heap, Snapshot snapshot, BlockNumber block, struct page_rows *rows)
{
	struct look look = {
		.heap = heap, .snapshot = snapshot, .buffer = ReadBuffer(heap, block), .newest = FrozenTransactionId
	};
	XLogRecPtr lsn;

	LockBuffer(look.buffer, BUFFER_LOCK_SHARE);
	ifp_test_for_old_snapshot(snapshot, heap, BufferGetPage(look.buffer));
	lsn = BufferGetLSNAtomic(look.buffer);
	if (!recall_heap_page(heap, block, lsn, snapshot, rows)) {
		look.is_lasting = true;
		read_page_rows(&look, block, rows);
		lsn = BufferGetLSNAtomic(look.buffer); /* hints may have been written */
	}
	UnlockReleaseBuffer(look.buffer);
	if (look.is_lasting)
		remember_heap_page(heap, block, lsn, look.newest, rows);
}

/* ---- blocks ---- */

/* The visibility map has two bits for each heap block; the lower one means all-visible. */
enum { BLOCKS_A_BYTE = BITS_PER_BYTE / BITS_PER_HEAPBLOCK, BLOCKS_A_MAP_PAGE = (BLCKSZ - 24) * BLOCKS_A_BYTE };
StaticAssertDecl(MAXALIGN(SizeOfPageHeaderData) == 24, "pages of the visibility map");

/* Checking a page takes as long as checking this many entries one by one. */
enum { ROWS_A_LOOK = 48, FEW_LOOKS = 2 };

/* The map is read in parts, since many queries need a few blocks: of 128 bytes, of more where pages are larger than 8 KiB. */
enum {
	PARTS_A_MAP_PAGE = 64,
	BLOCKS_A_PART = BLOCKS_A_BYTE * Max(128, BLCKSZ / PARTS_A_MAP_PAGE),
	MAP_WORDS = (BLOCKS_A_MAP_PAGE + 63) / 64
};
StaticAssertDecl((BLOCKS_A_MAP_PAGE - 1) / BLOCKS_A_PART < PARTS_A_MAP_PAGE, "parts of a map page");

/* Bit i of is_read: part i was read. Bit i of unclean[w]: block 64 w + i is unclean; set only if bit w % 64 of in_words[w / 64]
 * is, which also skips quickly over the wide ranges of nodes with late rows. */
struct ifp_map_page {
	uint64 is_read;
	uint64 in_words[(MAP_WORDS + 63) / 64];
	uint64 *unclean; /* MAP_WORDS of them; NULL: no unclean block was found */
};

struct ifp_seen_block {
	BlockNumber block;
	uint32 status; /* the hash table's */
	struct page_rows rows;
};

#define SH_PREFIX seen
#define SH_ELEMENT_TYPE struct ifp_seen_block
#define SH_KEY_TYPE BlockNumber
#define SH_KEY block
#define SH_HASH_KEY(table, key) murmurhash32(key)
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Returns the size of a table's fork that is cached in this session. Other sessions invalidate it when they truncate the fork,
 * but not when they extend it; for the visibility map they do both. */
static BlockNumber known_blocks(Relation heap, ForkNumber fork)
{
	SMgrRelation file = RelationGetSmgr(heap);
	BlockNumber n = file->smgr_cached_nblocks[fork];

	if (n != InvalidBlockNumber)
		return n;
	if (fork == MAIN_FORKNUM || smgrexists(file, fork))
		return RelationGetNumberOfBlocksInFork(heap, fork);
	RelationGetSmgr(heap)->smgr_cached_nblocks[fork] = 0;
	return 0;
}

void ifp_heap_visibility_begin(struct ifp_heap_visibility *visibility, Relation heap, Snapshot snapshot, MemoryContext context)
{
	*visibility = (struct ifp_heap_visibility){ .heap = heap, .snapshot = snapshot, .context = context };
	visibility->n_heap_blocks = known_blocks(heap, MAIN_FORKNUM);
	if (!ifp_is_outlived(snapshot))
		visibility->n_map_blocks = known_blocks(heap, VISIBILITYMAP_FORKNUM);
}

/* True if a block is not in the table. */
static bool is_beyond(struct ifp_heap_visibility *visibility, BlockNumber block)
{
	BlockNumber known = visibility->n_heap_blocks;

	if (block >= known && !visibility->size_is_read) {
		visibility->n_heap_blocks = RelationGetNumberOfBlocks(visibility->heap);
		visibility->size_is_read = true;
		/* the copy of the map's page lacks newer blocks */
		if (known / BLOCKS_A_MAP_PAGE < visibility->n_pages)
			visibility->pages[known / BLOCKS_A_MAP_PAGE] = NULL;
	}
	return block >= visibility->n_heap_blocks;
}

/* ---- the map ---- */

/* Returns bit i if the all-visible bit of block i of 32 is not set. */
static uint32 unclean_of(uint64 map)
{
	uint64 bits = ~map & UINT64CONST(0x5555555555555555);

	bits = (bits | bits >> 1) & UINT64CONST(0x3333333333333333);
	bits = (bits | bits >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
	bits = (bits | bits >> 8) & UINT64CONST(0x0000ffff0000ffff);
	return (uint32)(bits | bits >> 16);
}

/* True if a whole part of the map is clean, as most are in large tables. */
static inline bool is_part_clean(const uint8_t *map)
{
	const uint64 clean = UINT64CONST(0x5555555555555555);
	uint64 common = clean;

#pragma GCC unroll 16
	for (uint32 i = 0; i < BLOCKS_A_PART / BLOCKS_A_BYTE; i += 8)
		common &= iforest_load64(map + i);
	return common == clean;
}

static void set_unclean(const struct ifp_heap_visibility *visibility, struct ifp_map_page *page, uint32 w, uint64 unclean)
{
	if (!unclean)
		return;
	if (!page->unclean)
		page->unclean = MemoryContextAlloc(visibility->context, MAP_WORDS * sizeof *page->unclean);
	page->unclean[w] = unclean;
	page->in_words[w / 64] |= UINT64CONST(1) << (w % 64);
}

/* Copies a part of a map page, from a block to another. Without a map all are unclean. Returns true if all are clean. */
static bool copy_part(const struct ifp_heap_visibility *visibility, struct ifp_map_page *page, const uint8_t *map, uint32 from,
		      uint32 to)
{
	bool is_clean = true;

	for (; from < to; from += 64) {
		uint64 unclean = ~UINT64CONST(0);

		if (map) {
			unclean = unclean_of(iforest_load64(map + from / BLOCKS_A_BYTE));
			if (from + 32 < to)
				unclean |= (uint64)unclean_of(iforest_load64(map + (from + 32) / BLOCKS_A_BYTE)) << 32;
		}
		unclean &= iforest_low_bits(to - from);
		set_unclean(visibility, page, from / 64, unclean);
		is_clean &= unclean == 0;
	}
	return is_clean;
}

/* Copies parts of a map page that has n blocks, from `part` to the first one from `least` on that is not clean, or to `last`. */
static void copy_parts(const struct ifp_heap_visibility *visibility, struct ifp_map_page *page, const uint8_t *map, uint32 n,
		       uint32 part, uint32 least, uint32 last)
{
	uint32 n_whole = map ? n / BLOCKS_A_PART : 0;
	bool is_clean = true;

	for (; part <= last && (is_clean || part <= least); part++) {
		uint32 from = part * BLOCKS_A_PART;

		if (page->is_read >> part & 1)
			continue;
		page->is_read |= UINT64CONST(1) << part;
		is_clean = (part < n_whole && is_part_clean(map + from / BLOCKS_A_BYTE)) ||
			   copy_part(visibility, page, map, from, Min(n, from + BLOCKS_A_PART));
	}
}

/* Reads a map page from a part to `last`, or to the first part that is not clean. But who reads one part after another gets as
 * many as were read before, so that a page is locked a few times. */
static pg_noinline void read_parts(const struct ifp_heap_visibility *visibility, uint32 number, uint32 part, uint32 last)
{
	struct ifp_map_page *page = visibility->pages[number];
	uint32 n = Min(visibility->n_heap_blocks - number * BLOCKS_A_MAP_PAGE, BLOCKS_A_MAP_PAGE);
	uint32 least = part;

	if (part > 0 && page->is_read >> (part - 1) & 1)
		least += iforest_popcount(page->is_read) - 1;
	last = Min(Max(last, least), (n - 1) / BLOCKS_A_PART);
	if (number < visibility->n_map_blocks) {
		Buffer buffer = ReadBufferExtended(visibility->heap, VISIBILITYMAP_FORKNUM, number, RBM_ZERO_ON_ERROR, NULL);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		copy_parts(visibility, page, (const uint8_t *)PageGetContents(BufferGetPage(buffer)), n, part, least, last);
		UnlockReleaseBuffer(buffer);
	} else {
		copy_parts(visibility, page, NULL, n, part, least, last);
	}
	ifp_test_point("map read");
}

static pg_noinline void make_map_page(struct ifp_heap_visibility *visibility, uint32 number)
{
	if (number >= visibility->n_pages) {
		uint32 n = Max(number + 1, 2 * visibility->n_pages);
		struct ifp_map_page **pages = MemoryContextAllocZero(visibility->context, n * sizeof *pages);

		if (visibility->pages) {
			memcpy(pages, visibility->pages, visibility->n_pages * sizeof *pages);
			pfree(visibility->pages);
		}
		visibility->pages = pages;
		visibility->n_pages = n;
	}
	if (!visibility->pages[number])
		visibility->pages[number] = MemoryContextAllocZero(visibility->context, sizeof *visibility->pages[number]);
}

/* Returns the end of the blocks that were read, from a block of the page that was. */
static uint32 read_end(const struct ifp_map_page *page, uint32 bit)
{
	uint64 unread = ~page->is_read >> (bit / BLOCKS_A_PART);

	return unread ? (bit / BLOCKS_A_PART + iforest_trailing_zeros(unread)) * BLOCKS_A_PART : BLOCKS_A_MAP_PAGE;
}

/* Returns the map page of a block, of which that block was read. If it is not, reads up to the last block of the page that is
 * asked for, or less. */
static inline struct ifp_map_page *page_read(struct ifp_heap_visibility *visibility, BlockNumber block, BlockNumber last)
{
	uint32 number = block / BLOCKS_A_MAP_PAGE, part = block % BLOCKS_A_MAP_PAGE / BLOCKS_A_PART;

	if (number >= visibility->n_pages || !visibility->pages[number])
		make_map_page(visibility, number);
	if (!(visibility->pages[number]->is_read >> part & 1))
		read_parts(visibility, number, part,
			   Min(last - number * BLOCKS_A_MAP_PAGE, BLOCKS_A_MAP_PAGE - 1) / BLOCKS_A_PART);
	return visibility->pages[number];
}

static inline bool has_unclean(const struct ifp_map_page *page, uint32 w)
{
	return page->in_words[w / 64] >> (w % 64) & 1;
}

static void mark_clean(struct ifp_map_page *page, uint32 bit)
{
	uint32 w = bit / 64;

	page->unclean[w] &= ~(UINT64CONST(1) << (bit % 64));
	if (page->unclean[w] == 0)
		page->in_words[w / 64] &= ~(UINT64CONST(1) << (w % 64));
}

/* Returns the first block of a map page from `bit` on that is known to be unclean; BLOCKS_A_MAP_PAGE if there is none. */
static uint32 next_in_page(const struct ifp_map_page *page, uint32 bit)
{
	uint32 w = bit / 64;
	uint64 word = has_unclean(page, w) ? page->unclean[w] >> (bit % 64) : 0;

	if (word)
		return bit + iforest_trailing_zeros(word);
	for (w++; w < MAP_WORDS; w = (w / 64 + 1) * 64) {
		word = page->in_words[w / 64] >> (w % 64);
		if (word) {
			w += iforest_trailing_zeros(word);
			return 64 * w + iforest_trailing_zeros(page->unclean[w]);
		}
	}
	return BLOCKS_A_MAP_PAGE;
}

static bool is_clean(struct ifp_heap_visibility *visibility, BlockNumber block)
{
	const struct ifp_map_page *page = page_read(visibility, block, block);

	block %= BLOCKS_A_MAP_PAGE;
	return !has_unclean(page, block / 64) || !(page->unclean[block / 64] >> (block % 64) & 1);
}

/* ---- seen blocks ---- */

/* Returns a block that was checked and is not clean; NULL if there is none. */
static const struct ifp_seen_block *find_seen(struct ifp_heap_visibility *visibility, BlockNumber block)
{
	struct ifp_seen_block *found;

	if (visibility->recent && visibility->recent->block == block)
		return visibility->recent;
	found = visibility->seen ? seen_lookup(visibility->seen, block) : NULL;
	if (found)
		visibility->recent = found;
	return found;
}

/* Checks a block that has not been checked. Returns NULL if it is clean. */
static const struct ifp_seen_block *see_block(struct ifp_heap_visibility *visibility, BlockNumber block)
{
	struct ifp_seen_block *kept;
	struct page_rows rows;
	bool found;

	CHECK_FOR_INTERRUPTS();
	ifp_test_point("heap looked at");
	see_heap_page(visibility->heap, visibility->snapshot, block, &rows);
	visibility->n_looks++;
	if (rows.are_clean) {
		mark_clean(page_read(visibility, block, block), block % BLOCKS_A_MAP_PAGE);
		return NULL;
	}
	if (!visibility->seen)
		visibility->seen = seen_create(visibility->context, 16, NULL);
	kept = seen_insert(visibility->seen, block, &found);
	kept->rows = rows;
	visibility->recent = kept;
	return kept;
}

/* ---- answers ---- */

/* Returns the first unclean block from `block` to highest; highest + 1 if there is none. */
static uint64 next_unclean(struct ifp_heap_visibility *visibility, uint64 block, BlockNumber highest)
{
	while (block <= highest) {
		const struct ifp_map_page *page = page_read(visibility, (BlockNumber)block, highest);
		uint32 first = (uint32)(block % BLOCKS_A_MAP_PAGE), end = read_end(page, first);
		uint32 bit = page->unclean ? next_in_page(page, first) : end;

		block += Min(bit, end) - first;
		if (bit < end)
			return Min(block, (uint64)highest + 1);
	}
	return (uint64)highest + 1;
}

/* Returns the end of the clean blocks that follow a clean block, as far as its map page was read. */
static uint64 clean_end(struct ifp_heap_visibility *visibility, BlockNumber block)
{
	uint32 bit = block % BLOCKS_A_MAP_PAGE;
	BlockNumber end = block - bit + read_end(page_read(visibility, block, block), bit);

	return next_unclean(visibility, block, Min(end, visibility->n_heap_blocks) - 1);
}

bool ifp_heap_visibility_of_blocks(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest,
				   uint64 n_rows)
{
	uint64 most_looks = Max(n_rows / ROWS_A_LOOK, FEW_LOOKS), n_looks = 0;

	if (highest < lowest || (lowest >= visibility->clean_from && highest < visibility->clean_to))
		return true;
	if (is_beyond(visibility, highest))
		return false;
	/* first find out whether checks could help, so that none is wasted */
	for (uint64 block = next_unclean(visibility, lowest, highest); block <= highest;
	     block = next_unclean(visibility, block + 1, highest))
		if (++n_looks > most_looks || find_seen(visibility, (BlockNumber)block))
			return false;
	for (uint64 block = next_unclean(visibility, lowest, highest); block <= highest;
	     block = next_unclean(visibility, block + 1, highest))
		if (see_block(visibility, (BlockNumber)block))
			return false;
	visibility->clean_from = lowest;
	visibility->clean_to = clean_end(visibility, highest);
	return true;
}

/* Returns the visible rows of a block; NULL if all are visible. */
static const struct ifp_seen_block *visible_in(struct ifp_heap_visibility *visibility, BlockNumber block)
{
	static const struct ifp_seen_block nothing;
	const struct ifp_seen_block *seen;

	if (is_beyond(visibility, block))
		return &nothing;
	if (is_clean(visibility, block))
		return NULL;
	seen = find_seen(visibility, block);
	return seen ? seen : see_block(visibility, block);
}

static inline bool has(const struct ifp_seen_block *seen, uint32 offset)
{
	return !seen || (offset <= seen->rows.last && seen->rows.visible[offset / 64] >> (offset % 64) & 1);
}

bool ifp_heap_visibility_of_row(struct ifp_heap_visibility *visibility, int64 ref)
{
	return has(visible_in(visibility, (BlockNumber)(ref >> 16)), (uint32)(ref & 0xffff));
}

bool ifp_heap_visibility_refs_gone(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest, int64 *refs,
				   unsigned most, unsigned *n_refs)
{
	*n_refs = 0;
	if (is_beyond(visibility, highest))
		return false;
	for (uint64 block = next_unclean(visibility, lowest, highest); block <= highest;
	     block = next_unclean(visibility, block + 1, highest)) {
		const struct ifp_seen_block *seen = visible_in(visibility, (BlockNumber)block);

		for (uint32 w = 0; seen && w <= seen->rows.last / 64u; w++) {
			uint64 gone = ~seen->rows.visible[w] & iforest_low_bits(Min(seen->rows.last + 1 - 64 * w, 64));

			if (w == 0)
				gone &= ~UINT64CONST(1); /* offsets begin with 1 */
			for (; gone; gone &= gone - 1) {
				if (*n_refs == most)
					return false;
				refs[(*n_refs)++] = (int64)(block << 16 | (64 * w + iforest_trailing_zeros(gone)));
			}
		}
	}
	return true;
}

uint64 ifp_heap_visibility_of_rows(struct ifp_heap_visibility *visibility, const int64 *refs, uint64 asked)
{
	const struct ifp_seen_block *seen = NULL;
	BlockNumber last = 0;
	uint64 visible = asked;
	bool has_last = false;

	for (; asked; asked &= asked - 1) {
		unsigned i = iforest_trailing_zeros(asked);
		BlockNumber block = (BlockNumber)(refs[i] >> 16);

		/* neighbours are usually in the same block */
		if (!has_last || block != last) {
			seen = visible_in(visibility, block);
			last = block;
			has_last = true;
		}
		if (!has(seen, (uint32)(refs[i] & 0xffff)))
			visible &= ~(UINT64CONST(1) << i);
	}
	return visible;
}

void ifp_heap_visible_ctid(Relation heap, Snapshot snapshot, ItemPointer tid)
{
	ItemPointerData root = *tid;
	Buffer buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(tid));
	HeapTupleData tuple;
	bool found;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found = heap_hot_search_buffer(tid, heap, buffer, snapshot, &tuple, NULL, true);
	UnlockReleaseBuffer(buffer);
	if (!found)
		elog(ERROR, "row (%u,%u) of table \"%s\" is not visible", ItemPointerGetBlockNumber(&root),
		     ItemPointerGetOffsetNumber(&root), RelationGetRelationName(heap));
}
