/* leaf_split.h -- the node over a leaf page as the two parts that a place within it makes: one is folded, and the node without it is
 * the other. Where windows side by side are wider than pages both are wanted, and half of the work is spared or more. */
#ifndef IFOREST_LEAF_SPLIT_H
#define IFOREST_LEAF_SPLIT_H

#include "core/leaf_fold.h"

/* before, after = what the live entries before the key, and from it on, sum up to; (block, entry) is where it belongs. *done is false,
 * and both are undefined, where a fold of the entries has to do it: what is wanted cannot be taken out of a node
 * (iforest_can_take_out()); extremes that are wanted stand on both sides; the page has more than one series, or NULL times; or entries
 * were removed between the reading of the node and that of the page.
 * Requires  the key lies within the page; wanted has no filter that is to be asked; the reader stands on the block, and stays there,
 *           unless entry is 0.
 * Cost      the entries of one side, that which does not have the extremes.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_split(const struct iforest_leaf *leaf, const uint8_t *node, struct iforest_block_reader *reader,
				       const struct iforest_key *key, unsigned block, unsigned entry,
				       const struct iforest_wanted *wanted, struct iforest_aggregate *before,
				       struct iforest_aggregate *after, bool *done);

#endif
