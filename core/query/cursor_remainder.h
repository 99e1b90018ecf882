/* cursor_remainder.h -- Filtered nodes and leaf pages at a cursor. */
#ifndef IFOREST_CURSOR_REMAINDER_H
#define IFOREST_CURSOR_REMAINDER_H

#include "core/run/cursor.h"
#include "core/query/filtered_nodes.h"

/* Gives instead of a node, which is one of a page that is held, what is left of it without the entries that do not count; NULL
 * where that cannot be had. Pages below it are held afterwards that were not before. The bytes stay until the next call.
 * Requires  the filter keeps remainders. The same for the next.
 * Cost      the first time, all leaf pages below of which some entries do not count; then none. */
enum iforest_status iforest_cursor_remainder(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					     const struct iforest_filter *filter, const uint8_t **node);

/* That of node k of the page that is held on a level, if it is known. Cost: a search in memory. */
const uint8_t *iforest_cursor_known_remainder(struct iforest_cursor *cursor, unsigned level, unsigned k,
					      const struct iforest_filter *filter);

/* iforest_cursor_remainder() of the node of a leaf page, and of the page itself, which if some entries of it do not count is
 * held, without them. *known: that could be had, and the filter need not be asked; else *node is as it was. */
enum iforest_status iforest_cursor_leaf_remainder(struct iforest_cursor *cursor, uint64_t number,
						  const struct iforest_filter *filter, const uint8_t **node, bool *known);

#endif
