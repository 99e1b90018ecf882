/* storage/locks.h -- Heavyweight locks of an index: their order, and why VACUUM misses no entry.
 *
 * Locks have numbers, and may be waited for only in this order. They are released at the end of the transaction, and by an
 * error. (PostgreSQL sees them as tuple locks: only one page lock can be held at a time, without deadlock detection.)
 *
 *   MAINTENANCE   VACUUM, and merges of the runs on the worklist. The holder writes the age of its worklist to the metapage
 *                 (`worklist_below`); nobody else removes from, merges or rewrites a run with a lower clock number
 *   NEWER         merges of younger runs, while another backend holds MAINTENANCE
 *   clock number  flush of the closed chain of that number
 *   WRITING       shared by backends whose new run is not in a manifest yet; exclusive for the search for blocks without an
 *                 owner
 *   PUBLISH       reading, changing and replacing the manifest; held for a few page writes
 *
 * Appending an entry takes none of them. Content locks of buffers are acquired after them, in the order metapage, pages of a
 * chain or the list of extents. Readers hold only one content lock at a time.
 *
 * Why VACUUM misses no entry of its dead rows: such an entry was inserted before the row became dead, so it was in a chain or a
 * run when VACUUM reached the index. VACUUM closes all chains, flushes the closed chains or waits for backends that do, and
 * only then sets worklist_below and copies the manifest. So the entry is in one of VACUUM's runs, which nobody else may merge.
 * Later entries go to chains opened after that, which may be flushed, and merged under NEWER, while VACUUM runs.
 */
#ifndef IFP_STORAGE_LOCKS_H
#define IFP_STORAGE_LOCKS_H

#include "pg_ext/base/engine.h"

#include "storage/itemptr.h"
#include "storage/lmgr.h"

enum { IFP_LOCK_MAINTENANCE = 0, IFP_LOCK_PUBLISH = 1, IFP_LOCK_NEWER = 2, IFP_LOCK_WRITING = 3 };

/* Waits for a lock. */
static inline void ifp_lock(Relation index, uint32 number, LOCKMODE mode)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, number, 1);
	LockTuple(index, &tid, mode);
}

/* Takes a lock; returns false instead of waiting. */
static inline bool ifp_try_lock(Relation index, uint32 number, LOCKMODE mode)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, number, 1);
	return ifp_conditional_lock_tuple(index, &tid, mode);
}

static inline void ifp_unlock(Relation index, uint32 number, LOCKMODE mode)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, number, 1);
	UnlockTuple(index, &tid, mode);
}

#endif
