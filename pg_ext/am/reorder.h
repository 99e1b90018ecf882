/* reorder.h -- puts entries in order that come nearly so: spans are written when they end, and so a little out of the order in
 * which they began. The last IFOREST_REORDERED are held back, sorted; where one comes that is later than so many others, it
 * comes too late. */
#ifndef IFOREST_PG_REORDER_H
#define IFOREST_PG_REORDER_H

#include "pg_ext/base/engine.h"

#include "core/page/leaf.h"

#define IFOREST_REORDERED 1024 /* a power of two */

struct iforest_reorder {
	struct iforest_entry entries[IFOREST_REORDERED + 1];
	struct iforest_entry *free;                        /* the one that is not held */
	struct iforest_entry *order[IFOREST_REORDERED];    /* a ring, in key order */
	uint32 first, n;
};

void iforest_reorder_start(struct iforest_reorder *reorder);

/* Takes an entry. Returns the first of those held if there were IFOREST_REORDERED of them, which holds until the next call,
 * else NULL. Cost: as many steps as entries are held that come after it. */
const struct iforest_entry *iforest_reorder_add(struct iforest_reorder *reorder, const struct iforest_entry *entry);

/* At the end: gives the first of those held, NULL if there is none. */
const struct iforest_entry *iforest_reorder_rest(struct iforest_reorder *reorder);

#endif
