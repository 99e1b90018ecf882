/* storage/heap_visibility.h -- Heap blocks that a snapshot sees whole, and the visible rows of the others.
 *
 * A block is clean if all that the index may know of it is visible: its bit in the visibility map is set, or one look at the
 * page has shown that every root of a row is visible to the snapshot and none is dead. The map is copied a page at a time
 * (32 672 blocks) as ranges are asked for, and pages are looked at once: what a snapshot sees stays. What later questions may
 * believe as well is remembered (storage/heap_visibility.c).
 *
 * It must be asked after the index was copied (metapage, manifest), and what it said holds if no entry was removed from the
 * index since: the removal epoch in the metapage is as it was. For a TID is given to another row only after VACUUM has removed
 * its entries. The argument: an entry that was read stood in the index before the map was. Its row's insertion had cleared the
 * bit; where it is set again the row is visible to everybody, or was dead and has been removed, which raises the epoch.
 */
#ifndef IFP_STORAGE_HEAP_VISIBILITY_H
#define IFP_STORAGE_HEAP_VISIBILITY_H

#include "pg_ext/base/engine.h"

#include "storage/block.h"
#include "utils/snapshot.h"

struct looked_hash;
struct ifp_seen_block;
struct ifp_map_page;

struct ifp_heap_visibility {
	Relation heap;
	Snapshot snapshot;
	MemoryContext context;
	BlockNumber n_heap_blocks;   /* what lies beyond is not there, and so not visible */
	BlockNumber n_map_blocks;    /* of the visibility map's fork */
	struct ifp_map_page **pages; /* copies, NULL where not asked for yet; n_pages of them, grown as needed */
	uint32 n_pages;
	struct looked_hash *looked;    /* blocks that were looked at and are not clean: their visible roots */
	struct ifp_seen_block *recent; /* the one asked for last; NULL: none yet */
	/* blocks from one to before the other are clean: those asked for last, and what follows on */
	uint64 clean_from, clean_to;
	uint64 n_looks; /* heap pages looked at */
};

/* Starts afresh; memory is of the context, which the caller resets. */
void ifp_heap_visibility_begin(struct ifp_heap_visibility *visibility, Relation heap, Snapshot snapshot, MemoryContext context);

/* Are all blocks from lowest to highest clean? They are looked at where they are few beside the n_rows entries that the
 * answer is for; so false may also mean that it would not pay. */
bool ifp_heap_visibility_of_blocks(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest,
				   uint64 n_rows);

/* Of the blocks from lowest to highest, which it said are not all clean, the refs of roots that are not visible: not more than
 * `most`. Among them may be line pointers to which no entry leads; those of none at all are left out. False: there are more. */
bool ifp_heap_visibility_refs_gone(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest, int64 *refs,
				   unsigned most, unsigned *n_refs);

/* Is the row that the entry leads to visible? */
bool ifp_heap_visibility_of_row(struct ifp_heap_visibility *visibility, int64 ref);

/* Which of those asked, a bit for each of up to 64 entries? */
uint64 ifp_heap_visibility_of_rows(struct ifp_heap_visibility *visibility, const int64 *refs, uint64 asked);

/* The index leads to the root of a row's chain of heap-only updates: makes of it the ctid of the row that the snapshot sees.
 * Requires  the snapshot sees one. */
void ifp_heap_visible_ctid(Relation heap, Snapshot snapshot, ItemPointer tid);

/* How many pages of the table are remembered as clean; some may have been written since. Not more than `most` are left that are
 * not all-visible: where more are remembered VACUUM has been there, and all is forgotten. */
BlockNumber ifp_heap_visibility_cached_pages(Relation heap, BlockNumber most);

#endif
