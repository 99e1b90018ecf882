#include "pg_ext/storage/heap_visibility.h"

#include "access/heapam.h"
#include "access/visibilitymapdefs.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "core/base/bits.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/roots.h"
#include "pg_ext/types/values.h"

/* of the visibility map: two bits a heap block, the lower one says that all is visible */
enum { BLOCKS_A_BYTE = BITS_PER_BYTE / BITS_PER_HEAPBLOCK, BLOCKS_A_MAP_PAGE = (BLCKSZ - 24) * BLOCKS_A_BYTE };
StaticAssertDecl(MAXALIGN(SizeOfPageHeaderData) == 24, "pages of the visibility map");

/* A look at a page takes as long as judging this many entries one by one. */
enum { ROWS_A_LOOK = 48, FEW_LOOKS = 2 };

enum { MAP_WORDS = (BLOCKS_A_MAP_PAGE + 63) / 64 };

/* Bit i of word w: block 64 w + i is unclean. Bit w % 64 of in_words[w / 64]: word w is not 0; for ranges of blocks are wide
 * where a row came late. */
struct iforest_map_page {
	uint32 n_unclean;
	uint64 unclean[MAP_WORDS];
	uint64 in_words[(MAP_WORDS + 63) / 64];
};

struct iforest_looked_block {
	BlockNumber block;
	uint32 status;                                    /* the hash table's */
	struct iforest_roots roots;
};

#define SH_PREFIX looked
#define SH_ELEMENT_TYPE struct iforest_looked_block
#define SH_KEY_TYPE BlockNumber
#define SH_KEY block
#define SH_HASH_KEY(table, key) murmurhash32(key)
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

void iforest_visibility_begin(struct iforest_visibility *visibility, Relation heap, Snapshot snapshot, MemoryContext context)
{
	*visibility = (struct iforest_visibility){ .heap = heap, .snapshot = snapshot, .context = context };
	visibility->n_heap_blocks = RelationGetNumberOfBlocks(heap);
	if (!iforest_is_outlived(snapshot) && smgrexists(RelationGetSmgr(heap), VISIBILITYMAP_FORKNUM))
		visibility->n_map_blocks = RelationGetNumberOfBlocksInFork(heap, VISIBILITYMAP_FORKNUM);
	visibility->looked = looked_create(context, 16, NULL);
}

/* ---- the map ---- */

/* Bit i: the all-visible bit of block i of 32 is not set. */
static uint32 unclean_of(uint64 map)
{
	uint64 bits = ~map & UINT64CONST(0x5555555555555555);

	bits = (bits | bits >> 1) & UINT64CONST(0x3333333333333333);
	bits = (bits | bits >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
	bits = (bits | bits >> 8) & UINT64CONST(0x0000ffff0000ffff);
	return (uint32)(bits | bits >> 16);
}

/* Of large tables most pages of the map say so. */
static bool is_all_clean(const uint8_t *map)
{
	const uint64 clean = UINT64CONST(0x5555555555555555);
	uint64 common = clean;

	for (uint32 i = 0; i < BLOCKS_A_MAP_PAGE / 32; i++)
		common &= iforest_load64(map + 8 * i);
	return common == clean;
}

/* Fills in the unclean blocks of a page, all 0 before; where none is there is nothing to fill in, and it returns false. */
static bool read_map(const struct iforest_visibility *visibility, uint32 number, uint64 *unclean)
{
	Buffer buffer = ReadBufferExtended(visibility->heap, VISIBILITYMAP_FORKNUM, number, RBM_ZERO_ON_ERROR, NULL);
	const uint8_t *map = (const uint8_t *)PageGetContents(BufferGetPage(buffer));
	bool has_unclean;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	has_unclean = !is_all_clean(map);
	for (uint32 i = 0; has_unclean && i < BLOCKS_A_MAP_PAGE / 32; i++)
		unclean[i / 2] |= (uint64)unclean_of(iforest_load64(map + 8 * i)) << (i % 2 * 32);
	UnlockReleaseBuffer(buffer);
	return has_unclean;
}

static void copy_map_page(const struct iforest_visibility *visibility, uint32 number, struct iforest_map_page *page)
{
	*page = (struct iforest_map_page){ .n_unclean = 0 };
	if (number >= visibility->n_map_blocks)
		for (uint32 w = 0; w < MAP_WORDS; w++)
			page->unclean[w] = iforest_low_bits(BLOCKS_A_MAP_PAGE - 64 * w);
	else if (!read_map(visibility, number, page->unclean))
		return;
	for (uint32 w = 0; w < MAP_WORDS; w++) {
		page->n_unclean += iforest_popcount(page->unclean[w]);
		page->in_words[w / 64] |= (uint64)(page->unclean[w] != 0) << (w % 64);
	}
}

static void mark_clean(struct iforest_map_page *page, uint32 bit)
{
	uint32 w = bit / 64;

	page->unclean[w] &= ~(UINT64CONST(1) << (bit % 64));
	page->n_unclean--;
	if (page->unclean[w] == 0)
		page->in_words[w / 64] &= ~(UINT64CONST(1) << (w % 64));
}

/* The first unclean block of a page of the map from `bit` on; BLOCKS_A_MAP_PAGE if there is none. */
static uint32 next_in_page(const struct iforest_map_page *page, uint32 bit)
{
	uint64 word = page->unclean[bit / 64] >> (bit % 64);

	if (word)
		return bit + iforest_trailing_zeros(word);
	for (uint32 w = bit / 64 + 1; w < MAP_WORDS; w = (w / 64 + 1) * 64) {
		word = page->in_words[w / 64] >> (w % 64);
		if (word) {
			w += iforest_trailing_zeros(word);
			return 64 * w + iforest_trailing_zeros(page->unclean[w]);
		}
	}
	return BLOCKS_A_MAP_PAGE;
}

static struct iforest_map_page *map_page(struct iforest_visibility *visibility, uint32 number)
{
	if (number >= visibility->n_pages) {
		uint32 n = Max(number + 1, 2 * visibility->n_pages);
		struct iforest_map_page **pages = MemoryContextAllocZero(visibility->context, n * sizeof *pages);

		if (visibility->pages) {
			memcpy(pages, visibility->pages, visibility->n_pages * sizeof *pages);
			pfree(visibility->pages);
		}
		visibility->pages = pages;
		visibility->n_pages = n;
	}
	if (!visibility->pages[number]) {
		struct iforest_map_page *page = MemoryContextAlloc(visibility->context, sizeof *page);

		copy_map_page(visibility, number, page);
		visibility->pages[number] = page;
		iforest_pause("map read");
	}
	return visibility->pages[number];
}

static bool is_clean(struct iforest_visibility *visibility, BlockNumber block)
{
	const struct iforest_map_page *page = map_page(visibility, block / BLOCKS_A_MAP_PAGE);

	block %= BLOCKS_A_MAP_PAGE;
	return page->n_unclean == 0 || !(page->unclean[block / 64] >> (block % 64) & 1);
}

/* ---- looking at a heap page ---- */

/* What was seen in a block that was looked at and is not clean; NULL where it was not. */
static const struct iforest_looked_block *find_looked(struct iforest_visibility *visibility, BlockNumber block)
{
	struct iforest_looked_block *found;

	if (visibility->recent && visibility->recent->block == block)
		return visibility->recent;
	found = looked_lookup(visibility->looked, block);
	if (found)
		visibility->recent = found;
	return found;
}

/* Looks at a block that has not been looked at. */
static const struct iforest_looked_block *look(struct iforest_visibility *visibility, BlockNumber block)
{
	struct iforest_looked_block *kept;
	struct iforest_roots roots;
	bool found;

	CHECK_FOR_INTERRUPTS();
	iforest_pause("heap looked at");
	iforest_roots_see(visibility->heap, visibility->snapshot, block, &roots);
	visibility->n_looks++;
	if (roots.are_clean) {
		mark_clean(map_page(visibility, block / BLOCKS_A_MAP_PAGE), block % BLOCKS_A_MAP_PAGE);
		return NULL;
	}
	kept = looked_insert(visibility->looked, block, &found);
	kept->roots = roots;
	visibility->recent = kept;
	return kept;
}

/* ---- the questions ---- */

/* The first unclean block from `block` to highest; highest + 1 if there is none. */
static uint64 next_unclean(struct iforest_visibility *visibility, uint64 block, BlockNumber highest)
{
	while (block <= highest) {
		uint32 first = (uint32)(block % BLOCKS_A_MAP_PAGE);
		const struct iforest_map_page *page = map_page(visibility, (uint32)(block / BLOCKS_A_MAP_PAGE));
		uint32 bit = page->n_unclean ? next_in_page(page, first) : BLOCKS_A_MAP_PAGE;

		block += bit - first;
		if (bit < BLOCKS_A_MAP_PAGE)
			return Min(block, (uint64)highest + 1);
	}
	return (uint64)highest + 1;
}

/* Of a clean block, where the clean ones that follow on end, as far as the page of the map that it is in tells. */
static uint64 clean_end(struct iforest_visibility *visibility, BlockNumber block)
{
	BlockNumber last =
		Min(block / BLOCKS_A_MAP_PAGE * BLOCKS_A_MAP_PAGE + BLOCKS_A_MAP_PAGE, visibility->n_heap_blocks) - 1;

	return next_unclean(visibility, block, last);
}

bool iforest_visibility_of_blocks(struct iforest_visibility *visibility, BlockNumber lowest, BlockNumber highest,
				  uint64 n_rows)
{
	uint64 most_looks = Max(n_rows / ROWS_A_LOOK, FEW_LOOKS), n_looks = 0;

	if (highest < lowest || (lowest >= visibility->clean_from && highest < visibility->clean_to))
		return true;
	if (highest >= visibility->n_heap_blocks)
		return false;
	/* first whether looking could help, so that none is looked at in vain */
	for (uint64 block = next_unclean(visibility, lowest, highest); block <= highest;
	     block = next_unclean(visibility, block + 1, highest))
		if (++n_looks > most_looks || find_looked(visibility, (BlockNumber)block))
			return false;
	for (uint64 block = next_unclean(visibility, lowest, highest); block <= highest;
	     block = next_unclean(visibility, block + 1, highest))
		if (look(visibility, (BlockNumber)block))
			return false;
	visibility->clean_from = lowest;
	visibility->clean_to = clean_end(visibility, highest);
	return true;
}

/* What is visible in a block; NULL: all that the index has of it. */
static const struct iforest_looked_block *visible_in(struct iforest_visibility *visibility, BlockNumber block)
{
	static const struct iforest_looked_block nothing;
	const struct iforest_looked_block *looked;

	if (block >= visibility->n_heap_blocks)
		return &nothing;
	if (is_clean(visibility, block))
		return NULL;
	looked = find_looked(visibility, block);
	return looked ? looked : look(visibility, block);
}

static inline bool has(const struct iforest_looked_block *looked, uint32 offset)
{
	return !looked || (offset <= looked->roots.last && looked->roots.visible[offset / 64] >> (offset % 64) & 1);
}

bool iforest_visibility_of_row(struct iforest_visibility *visibility, int64 ref)
{
	return has(visible_in(visibility, (BlockNumber)(ref >> 16)), (uint32)(ref & 0xffff));
}

bool iforest_visibility_refs_gone(struct iforest_visibility *visibility, BlockNumber lowest, BlockNumber highest, int64 *refs,
				  unsigned most, unsigned *n_refs)
{
	*n_refs = 0;
	if (highest >= visibility->n_heap_blocks)
		return false;
	for (uint64 block = next_unclean(visibility, lowest, highest); block <= highest;
	     block = next_unclean(visibility, block + 1, highest)) {
		const struct iforest_looked_block *looked = visible_in(visibility, (BlockNumber)block);

		for (uint32 w = 0; looked && w <= looked->roots.last / 64u; w++) {
			uint64 gone = ~looked->roots.visible[w] & iforest_low_bits(Min(looked->roots.last + 1 - 64 * w, 64));

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

uint64 iforest_visibility_of_rows(struct iforest_visibility *visibility, const int64 *refs, uint64 asked)
{
	const struct iforest_looked_block *looked = NULL;
	BlockNumber last = 0;
	uint64 visible = asked;
	bool has_last = false;

	for (; asked; asked &= asked - 1) {
		unsigned i = iforest_trailing_zeros(asked);
		BlockNumber block = (BlockNumber)(refs[i] >> 16);

		/* neighbours are of one block, as a rule */
		if (!has_last || block != last) {
			looked = visible_in(visibility, block);
			last = block;
			has_last = true;
		}
		if (!has(looked, (uint32)(refs[i] & 0xffff)))
			visible &= ~(UINT64CONST(1) << i);
	}
	return visible;
}

void iforest_visible_ctid(Relation heap, Snapshot snapshot, ItemPointer tid)
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
