/* storage/heap_visibility.h -- Heap blocks that are entirely visible to a snapshot, and the visible rows of the others.
 *
 * A block is clean if every row of it that the index may have is visible: its bit in the visibility map is set, or a check of
 * the page has shown that every root is visible to the snapshot and none is dead. A root is the first tuple of a chain of
 * heap-only updates, or the line pointer that leads to it; the index identifies a row by its root. The map is copied on
 * demand, in parts of 512 blocks, and each heap page is checked once, since what a snapshot sees does not change.
 *
 * Order. Visibility must be checked after the index was copied (metapage, manifest, pending entries). The result is valid if no
 * entry was removed from the index since, that is, if the removal epoch in the metapage is unchanged. Proof: an entry that was
 * read was in the index before any part of the map was read. Inserting its row had cleared the block's bit. If the bit is set
 * again, the row is visible to everybody, or it was dead and has been removed, which increments the epoch. And a TID is reused
 * only after VACUUM has removed its entries.
 *
 * Cache. New rows are on pages whose bit is not set until the next VACUUM, and a dashboard of the latest rows would check all
 * these pages in every query. So a session caches results. A result is reusable if every inserter and deleter on the page has
 * finished: it is then valid for every snapshot that sees them as finished, until the page's LSN changes. (Hint bits change a
 * page without its LSN, but not the result.) Nothing is cached for tables that are not logged, since their pages change without
 * an LSN: unlogged tables, and with wal_level minimal, tables that this transaction created or truncated.
 */
#ifndef IFP_STORAGE_HEAP_VISIBILITY_H
#define IFP_STORAGE_HEAP_VISIBILITY_H

#include "pg_ext/base/engine.h"

#include "storage/block.h"
#include "utils/snapshot.h"

struct seen_hash;
struct ifp_seen_block;
struct ifp_map_page;

struct ifp_heap_visibility {
	Relation heap;
	Snapshot snapshot;
	MemoryContext context;
	/* blocks beyond are not visible; until it is read, an earlier size, which may be too small */
	BlockNumber n_heap_blocks;
	bool size_is_read;
	BlockNumber n_map_blocks;    /* of the visibility map's fork */
	struct ifp_map_page **pages; /* copies, NULL if not needed yet; n_pages of them */
	uint32 n_pages;
	struct seen_hash *seen;	       /* visible roots of checked blocks that are not clean; NULL: none yet */
	struct ifp_seen_block *recent; /* the one asked for last; NULL: none yet */
	/* blocks in [clean_from, clean_to) are clean: those of the last request, and adjacent ones */
	uint64 clean_from, clean_to;
	uint64 n_looks; /* heap pages checked */
};

/* Initializes it, with memory of the context, which the caller resets. */
void ifp_heap_visibility_begin(struct ifp_heap_visibility *visibility, Relation heap, Snapshot snapshot, MemoryContext context);

/* True if all blocks from lowest to highest are clean. Pages are checked only if they are few compared with the n_rows entries
 * that depend on the answer; so false may also mean that checking would cost too much. */
bool ifp_heap_visibility_of_blocks(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest,
				   uint64 n_rows);

/* Lists the refs of invisible roots in the blocks from lowest to highest, which are not all clean. The list may have line
 * pointers without an entry. Returns false if there are more than `most`. */
bool ifp_heap_visibility_refs_gone(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest, int64 *refs,
				   unsigned most, unsigned *n_refs);

/* True if the row of the entry is visible. */
bool ifp_heap_visibility_of_row(struct ifp_heap_visibility *visibility, int64 ref);

/* Returns the bits of `asked` whose rows are visible, for up to 64 entries. */
uint64 ifp_heap_visibility_of_rows(struct ifp_heap_visibility *visibility, const int64 *refs, uint64 asked);

/* Replaces the root of a row by the ctid of the version that the snapshot sees. Requires  the snapshot sees one. */
void ifp_heap_visible_ctid(Relation heap, Snapshot snapshot, ItemPointer tid);

/* Returns the number of pages of the table that are cached as clean; some may have changed since. `most` is the number of pages
 * that are not all-visible: if more are cached, VACUUM has run, and the cache is emptied. */
BlockNumber ifp_heap_visibility_cached_pages(Relation heap, BlockNumber most);

#endif
