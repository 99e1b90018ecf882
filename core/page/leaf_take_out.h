/* leaf_take_out.h -- the aggregate of a leaf page as its node without the few entries that do not count. */
#ifndef IFOREST_LEAF_TAKE_OUT_H
#define IFOREST_LEAF_TAKE_OUT_H

#include "core/page/leaf_fold.h"

/* Can entries be taken out of a node, as far as what is wanted of it goes? Counts and sums of integers can. */
bool iforest_can_take_out(const struct iforest_wanted *wanted, const struct iforest_fields *fields);

/* aggregate = aggregate + the node over a leaf page, without those of its live entries that do not count. *done is false, and
 * the aggregate as it was, where a fold of the entries has to do it: first or last rows, times, squares or sums of reals are
 * wanted; an extreme of the node does not count; many entries of a block do not; or entries were removed between the reading of
 * the node and that of the page.
 * Requires  wanted->filter.
 * Errors    IFOREST_CORRUPT, and those of the filter. */
enum iforest_status iforest_leaf_fold_most(const struct iforest_leaf *leaf, const uint8_t *node,
					   struct iforest_block_reader *reader, const struct iforest_wanted *wanted,
					   struct iforest_aggregate *aggregate, bool *done);

#endif
