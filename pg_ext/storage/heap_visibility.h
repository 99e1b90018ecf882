/* storage/heap_visibility.h -- Heap blocks that a snapshot sees whole, and the visible rows of the others.
 *
 * A block is clean if everything that the index may know of it is visible: its bit in the visibility map is set, or a check of
 * the page has shown that every root of a row is visible to the snapshot and none is dead. A root is the first tuple of a chain
 * of heap-only updates, or the line pointer that leads to it; the index knows a row by its root. The map is copied a page (32
 * 672 blocks) at a time on demand, and each heap page is checked once: what a snapshot sees does not change.
 *
 * Order. Visibility must be checked after the index was copied (metapage, manifest, pending entries). The result is valid if no
 * entry was removed from the index since, that is, if the removal epoch in the metapage is unchanged. The argument: an entry
 * that was read was in the index before the map was read. The insertion of its row had cleared the block's bit. If the bit is
 * set again, then the row is visible to everybody, or it was dead and has been removed, which increments the epoch. And a TID
 * is given to another row only after VACUUM has removed its entries.
 *
 * Cache. New rows are on pages whose bit is not set until the next VACUUM, and a dashboard of the latest rows checks all these
 * pages in each of its queries. So a session remembers results. A result is reusable if every inserter and deleter on the page
 * has finished: it then holds for every snapshot that sees them as finished, until the page's LSN changes. (Hints change a page
 * without its LSN, but they do not change the result.) Nothing is remembered of tables that are not logged, since their pages
 * change without an LSN: unlogged tables, and with wal_level minimal tables that this transaction made or emptied.
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
	/* blocks beyond are not visible; until it is read, a size that the session has known, which may be too small */
	BlockNumber n_heap_blocks;
	bool size_is_read;
	BlockNumber n_map_blocks;    /* of the visibility map's fork */
	struct ifp_map_page **pages; /* copies, NULL if not needed yet; n_pages of them */
	uint32 n_pages;
	struct seen_hash *seen;	       /* blocks that were looked at and are not clean: their visible roots; NULL: none yet */
	struct ifp_seen_block *recent; /* the one asked for last; NULL: none yet */
	/* blocks from one to before the other are clean: those asked for last, and what follows on */
	uint64 clean_from, clean_to;
	uint64 n_looks; /* heap pages looked at */
};

/* Starts with nothing known, in memory of the context, which the caller resets. */
void ifp_heap_visibility_begin(struct ifp_heap_visibility *visibility, Relation heap, Snapshot snapshot, MemoryContext context);

/* True if all blocks from lowest to highest are clean. Pages are checked only if there are few of them compared with the n_rows
 * entries that depend on the answer; so false may also mean that the check would not pay. */
bool ifp_heap_visibility_of_blocks(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest,
				   uint64 n_rows);

/* Lists the refs of invisible roots in the blocks from lowest to highest, which are not all clean. Some may be line pointers to
 * which no entry leads. Returns false if there are more than `most`. */
bool ifp_heap_visibility_refs_gone(struct ifp_heap_visibility *visibility, BlockNumber lowest, BlockNumber highest, int64 *refs,
				   unsigned most, unsigned *n_refs);

/* True if the row of the entry is visible. */
bool ifp_heap_visibility_of_row(struct ifp_heap_visibility *visibility, int64 ref);

/* Returns those bits of `asked` whose rows are visible, for up to 64 entries. */
uint64 ifp_heap_visibility_of_rows(struct ifp_heap_visibility *visibility, const int64 *refs, uint64 asked);

/* Replaces the root of a row by the ctid of the version that the snapshot sees. Requires  the snapshot sees one. */
void ifp_heap_visible_ctid(Relation heap, Snapshot snapshot, ItemPointer tid);

/* Returns the number of pages of the table that are remembered as clean; some may have changed since. `most` is the number of
 * pages that are not all-visible: if more are remembered, VACUUM has run, and the cache is emptied. */
BlockNumber ifp_heap_visibility_cached_pages(Relation heap, BlockNumber most);

#endif
