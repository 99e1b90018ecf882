/* leaf_fold.h -- the aggregate of entries on leaf pages. The only place where entries become aggregates: builder, reader,
 * removal and check all call it, so a node is by definition what this says of its page. */
#ifndef IFOREST_LEAF_FOLD_H
#define IFOREST_LEAF_FOLD_H

#include "core/leaf.h"
#include "core/node.h"

/* What a fold is asked for; the rest of the aggregate is left alone. n_rows and n_dead are always counted. */
struct iforest_wanted {
	uint32_t values;  /* bit v: n, sum, min and max of value column v */
	uint32_t no_rows; /* bit v: of its min and max the value alone, so that times and refs need not be unpacked */
	uint32_t firsts;  /* bit v: its first row */
	uint32_t lasts;   /* bit v: its last row */
	bool times;       /* first and last time */
	bool node_fields; /* latest end and heap blocks, where the index keeps them */
};

/* aggregate = aggregate + live entries [from, to) of the block. Unpacks the columns it needs, no others.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_fold(struct iforest_block_reader *reader, unsigned from, unsigned to,
				       const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate);

/* The node of a leaf page: its key range and the aggregate of its live entries.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_node(const struct iforest_leaf *leaf, struct iforest_node *node);

#endif
