/* storage/extents.h -- List of extents: which run or chain owns which blocks, and which are free.
 *
 * Every block from IFP_FIRST_FREE_BLOCK on stands in exactly one extent of the list, but for those that a crash left
 * behind at the end of the file. An extent is a stretch of blocks with one owner: the clock number of a run or a chain,
 * IFP_OWNER_INDEX, or nobody. A run's page number i lies in the extent of its owner that holds index i.
 *
 *   content of a page of the list: struct ifp_extent [n], a slot with n_blocks 0 is unused; `next` of the special
 *   space leads on
 *
 * What a publish no longer names is freed. Blocks of runs are given out again once no snapshot is left that might have read
 * the manifest before (`freed`); at once where the index is not visible to others; and so are those of chains, which readers
 * copy before all else. An old snapshot, or one long transaction that inserts, would so keep all that is merged meanwhile,
 * until the list is full: of more than 2048 extents that wait, those that have waited longest are given out. Readers that are
 * later yet (standbys know no such horizon) see the foreign owner on the page and begin again with the manifest of then.
 *
 * Allocating, naming and freeing are separate records. A crash in between leaves extents whose owner is in no manifest;
 * ifp_extents_sweep() finds them.
 *
 * A list is checked whenever it is read, and whenever it is changed that its extents share no block and leave none out.
 *
 * Locking: the first page of the list is locked exclusively for every change, other pages of the list only while that is
 * held, the metapage (if at all) before it.
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
	uint64 freed; /* full transaction id at which it was freed, 0: it is in use, or free for anyone */
};

/* Gives `owner` at least one and at most n_wanted blocks, of which the first becomes number `first` of the owner's. The file
 * is extended if nothing fits. Blocks may hold anything. Returns the extent they are in, which begins before them if they
 * continue one that the owner has; for IFP_OWNER_INDEX, whose blocks have no numbers, just them. */
struct ifp_extent ifp_extents_allocate(Relation index, uint32 owner, uint32 first, uint32 n_wanted);

/* Sees to it that the blocks of an extent before `end` are in the file. One that was just taken is; later they need not be, for
 * extending is not logged: a server that was restored, or a standby that was promoted, knows extents of which no page was
 * ever written. To write beyond the end of the file would be in the way of whoever extends it. */
void ifp_extents_ensure_file(Relation index, BlockNumber end);

/* Takes from the owner the blocks from number n_used on: they were never named. */
void ifp_extents_trim(Relation index, uint32 owner, uint32 n_used);

/* Frees all extents of an owner that no manifest names any more, to be given out again at once or when its last possible
 * reader is gone. */
void ifp_extents_free(Relation index, uint32 owner, bool at_once);

/* Frees the extents of owners that are neither in the list nor IFP_OWNER_INDEX, and adopts blocks at the end of the file
 * that are in none. Requires that nobody has extents that are not named yet (storage/locks.h). Returns the number of blocks found. */
uint64 ifp_extents_sweep(Relation index, const uint32 *owners, uint32 n_owners);

/* Do some share a block? Sorts them. */
bool ifp_extents_overlap(struct ifp_extent *extents, uint32 n);

/* A copy of the list in the current memory context, used slots only. */
struct ifp_extent *ifp_extents_read(Relation index, uint32 *n_extents);

#endif
