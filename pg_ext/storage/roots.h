/* roots.h -- the rows of a heap page, as a snapshot sees them.
 *
 * The index knows of a row by its root: the first tuple of a chain of heap-only updates, or the line pointer that leads to it.
 */
#ifndef IFOREST_PG_ROOTS_H
#define IFOREST_PG_ROOTS_H

#include "pg_ext/base/engine.h"

#include "access/htup_details.h"
#include "storage/block.h"
#include "utils/snapshot.h"

enum { IFOREST_ROOT_WORDS = (MaxHeapTuplesPerPage + 64) / 64 };

struct iforest_roots {
	bool are_clean;                      /* all are visible, and no line pointer is dead */
	OffsetNumber last;                   /* line pointer of the page */
	uint64 visible[IFOREST_ROOT_WORDS];  /* by offset number; told up to the last, and where they are not clean */
};

/* Looks at a page; or remembers what was seen there, if it is as it was (lasting.h). */
void iforest_roots_see(Relation heap, Snapshot snapshot, BlockNumber block, struct iforest_roots *roots);

#endif
