/* storage/extents.h -- List of extents: which run or chain owns which blocks, and which are free.
 *
 * Every block from IFP_FIRST_FREE_BLOCK on is in exactly one extent of the list, except for blocks that a crash left at the end
 * of the file. An extent is a range of blocks with one owner: the clock number of a run or a chain, IFP_OWNER_INDEX, or nobody.
 * Page number i of a run is in the extent of its owner that holds index i.
 *
 * Bytes: FORMAT.md, "Extents".
 *
 * Extents of runs and chains that a publish no longer names are freed. Blocks of a run are reused when no snapshot is left that
 * might have read the previous manifest (`freed`), or at once if the index is not visible to others. Blocks of chains are
 * reused at once, because readers copy them first. An old snapshot or a long transaction would hold back all extents freed
 * meanwhile, until the list is full. So if more than 2048 extents wait, the oldest are reused. A reader that is too late
 * (standbys have no such horizon) sees the foreign owner on the page and restarts with the current manifest.
 *
 * Allocating, naming and freeing are separate records. A crash in between leaves extents whose owner is in no manifest;
 * ifp_extents_sweep() finds them.
 *
 * The list is verified whenever it is read. Before each change, its extents must not overlap and must cover all blocks.
 *
 * Locking: the first page of the list is locked exclusively for every change, other pages of the list only while the first is
 * locked, and the metapage (if at all) before it.
 */
#ifndef IFP_STORAGE_EXTENTS_H
#define IFP_STORAGE_EXTENTS_H

#include "pg_ext/storage/page.h"

#define IFP_OWNER_NONE 0u
#define IFP_OWNER_INDEX 1u

struct ifp_extent {
	uint32 start, n_blocks;
	uint32 owner;
	uint32 first; /* index of its first block among the owner's */
	uint64 freed; /* full transaction id at which it was freed; 0: in use, or free for anyone */
};

/* Allocates 1 to n_wanted blocks for `owner`; the first becomes number `first` of the owner's blocks. Extends the file if
 * nothing fits, by more than a few blocks before it locks the list. The blocks' contents are undefined. Returns their extent, which starts before them if they continue an extent
 * of the owner; for IFP_OWNER_INDEX, whose blocks have no numbers, just the new blocks. */
struct ifp_extent ifp_extents_allocate(Relation index, uint32 owner, uint32 first, uint32 n_wanted);

/* Extends the file up to block `end`. A newly allocated extent is within the file, but may not be later, since extension is not
 * logged: a restored server or a promoted standby has extents of which no page was ever written. Writing beyond the end of the
 * file would conflict with a backend that extends it. */
void ifp_extents_ensure_file(Relation index, BlockNumber end);

/* Frees the owner's blocks from number n_used on, which were never named. */
void ifp_extents_trim(Relation index, uint32 owner, uint32 n_used);

/* Frees all extents of an owner that no manifest names any more, for reuse at once or after the last possible reader is
 * gone. */
void ifp_extents_free(Relation index, uint32 owner, bool at_once);

/* Frees the extents of owners other than `owners` and IFP_OWNER_INDEX, and adds blocks at the end of the file that are in no
 * extent. Returns the number of blocks found.
 * Requires  nobody has extents that are not named yet (storage/locks.h). */
uint64 ifp_extents_sweep(Relation index, const uint32 *owners, uint32 n_owners);

/* True if two extents share a block. Sorts them by start. */
bool ifp_extents_overlap(struct ifp_extent *extents, uint32 n);

/* Returns a copy of the list in the current memory context, used slots only. */
struct ifp_extent *ifp_extents_read(Relation index, uint32 *n_extents);

#endif
