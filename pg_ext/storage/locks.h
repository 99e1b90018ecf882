/* storage/locks.h -- Heavyweight locks of an index: their order, and why VACUUM misses no entry.
 *
 * Heavyweight locks of the index, told apart by numbers, in the order in which they may be waited for. They end with the
 * transaction, and with an error. (They are locks of tuples to PostgreSQL: several page locks at once it does not allow, nor
 * does it look for deadlocks among them.)
 *
 *   MAINTENANCE   VACUUM and merges of the listed runs. The holder has said in the metapage how old its worklist is
 *                 (`worklist_below`); nobody else removes, merges or rewrites a run with a lower clock number.
 *   NEWER         merges of runs that are younger than that, while MAINTENANCE is held by somebody else
 *   clock number  sealing: making the closed chain of that number into a run
 *   WRITING       shared by sealers while their run is named nowhere; exclusive for whoever looks for blocks that nobody
 *                 names
 *   PUBLISH       reading, changing and replacing the manifest; held for a few page writes
 *
 * Appending an entry takes none of them. Below them are content locks of buffers, in the order metapage, pages of a chain or
 * the list of extents; readers hold one at a time and nothing else.
 *
 * Why a vacuum misses no entry of its dead rows: such an entry was inserted before the row became dead, so it stood in a
 * chain or a run when the vacuum came here. The vacuum closes all chains, makes all closed chains into runs or waits for
 * whoever is at it, and only then sets worklist_below and copies the manifest: the entry is in one of its runs, which nobody
 * else may merge. What is appended later goes into chains opened after that, which may be sealed, and merged under NEWER,
 * while the vacuum is at work.
 */
#ifndef IFP_STORAGE_LOCKS_H
#define IFP_STORAGE_LOCKS_H

#include "pg_ext/base/engine.h"

#include "storage/itemptr.h"
#include "storage/lmgr.h"

enum { IFP_LOCK_MAINTENANCE = 0, IFP_LOCK_PUBLISH = 1, IFP_LOCK_NEWER = 2, IFP_LOCK_WRITING = 3 };

static inline void ifp_lock(Relation index, uint32 number, LOCKMODE mode)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, number, 1);
	LockTuple(index, &tid, mode);
}

/* False if it would have to be waited for. */
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
