/* index_private.h -- Not for others. */
#ifndef IFOREST_PG_INDEX_PRIVATE_H
#define IFOREST_PG_INDEX_PRIVATE_H

#include "pg_ext/storage/index.h"

/* pager.c: fills in index->pager and index->store. */
void iforest_pager_init(struct iforest_index *index);

/* slots.c: the manifest's bytes in the slot in force, palloc'd, or NULL if that was overwritten meanwhile; and their
 * replacement, with the chains in index->sealed. */
uint8 *iforest_slot_read(Relation relation, const struct iforest_meta *meta);

void iforest_slot_publish(struct iforest_index *index, const uint8 *bytes, uint32 n_bytes);

#endif
