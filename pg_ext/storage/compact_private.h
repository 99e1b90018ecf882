/* compact_private.h -- Not for others. */
#ifndef IFOREST_PG_COMPACT_PRIVATE_H
#define IFOREST_PG_COMPACT_PRIVATE_H

#include "pg_ext/storage/index.h"

/* Makes closed chains into runs: those whose lock is free, or all of them (`wait`) up to and including those closed before
 * the call. Sorts in memory, a chain at a time. Returns the number of chains sealed. */
uint32 iforest_flush_chains(struct iforest_index *index, bool wait);

#endif
