/* leaf_split.h -- the node over a leaf page as the two parts that a place within it makes: one is folded, and the node without
 * it is the other. Where windows side by side are wider than pages both are wanted, and half of the work is spared or more. */
#ifndef IFOREST_LEAF_SPLIT_H
#define IFOREST_LEAF_SPLIT_H

#include "core/page/leaf_fold.h"

/* Can it be done? The page must have the key's series alone, and times; first and last rows, times, and what makes a node
 * beside sums and extremes cannot be wanted. */
bool iforest_leaf_can_split(const uint8_t *node, const struct iforest_key *key, const struct iforest_wanted *wanted);

/* Where a key belongs in a leaf page; (blocks of the page, 0) is its end. first: the key of the entry there, without its
 * ref. */
struct iforest_leaf_cut {
	unsigned block, entry;
	struct iforest_key first;
};

/* into = into + the live entries before the key; after = those from it on.
 * Requires  iforest_leaf_can_split(); wanted has no filter that is to be asked.
 * Cost      log2(blocks), a block, and the entries of one side, that which does not have the extremes; of both where the
 *           extremes that are wanted stand on both, where what is wanted cannot be taken out of a node
 *           (iforest_can_take_out()), and where entries were removed between the reading of the node and that of the page.
 * Errors    IFOREST_CORRUPT; then all three are undefined. */
enum iforest_status iforest_leaf_split(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_key *key,
				       const struct iforest_wanted *wanted, struct iforest_aggregate *into,
				       struct iforest_aggregate *after, struct iforest_leaf_cut *cut);

#endif
