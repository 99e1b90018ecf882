/* block_internal.h -- what block_forest.c and block_zoom.c share. Not for others. */
#ifndef IFOREST_BLOCK_INTERNAL_H
#define IFOREST_BLOCK_INTERNAL_H

#include <string.h>

#include "core/forest/block_forest.h"
#include "core/forest/slots.h"

/* state = state + entries [from, to), of which there may be none. */
static inline void iforest_block_fold_after(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	if (from < to)
		blocks->entries.fold(blocks->entries.context, from, to, state);
}

/* state = entries [from, to) + state, of a kind that absorbs. */
static inline void iforest_block_fold_before(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	const struct iforest_kind *kind = blocks->forest.kind;
	uint64_t left[IFOREST_ABSORBING_BYTES / sizeof(uint64_t)];

	if (from >= to)
		return;
	kind->identity(left);
	blocks->entries.fold(blocks->entries.context, from, to, left);
	kind->combine(left, left, state);
	memcpy(state, left, kind->state_bytes);
}

#endif
