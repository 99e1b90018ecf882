/* query/fold.h -- Fold of the entries from a position up to a key into an aggregate, by whole nodes. */
#ifndef IFOREST_QUERY_FOLD_H
#define IFOREST_QUERY_FOLD_H

#include "core/run/cursor.h"

/* Moves to the first entry at or after the key and adds everything passed over to the aggregate.
 * Requires  every entry passed over is of one series and the times of all or none are NULL, if request->times, firsts or
 *           lasts. */
enum iforest_status iforest_fold_until(struct iforest_cursor *cursor, const struct iforest_key *key,
					      const struct iforest_request *request, struct iforest_aggregate *aggregate);

/* One step of that fold: the next node that it uses whole, or what it takes of one leaf page; all of them add up to what it
 * gives. Where nothing counts the aggregate stays as it is. *level and *number say which node, or leaf page (level 0). *at_end:
 * the key was reached.
 * Requires  as above; not request->firsts or lasts. */
enum iforest_status iforest_fold_step(struct iforest_cursor *cursor, const struct iforest_key *key,
					      const struct iforest_request *request, struct iforest_aggregate *aggregate,
					      unsigned *level, uint64_t *number, bool *at_end);

/* Tells the pager which page holds the position that will be asked for next, somewhat after the present one, as far as node
 * pages that are pinned tell. */
void iforest_fold_prefetch(struct iforest_cursor *cursor, const struct iforest_key *key);

/* The same for folds of sums alone, each of which opens the leaf page that its key cuts: asked before each, of the position
 * after the next one. The pager is told the page of that; of the next one, whose page should have come by now, memory of the
 * block begins to be fetched. */
void iforest_fold_prefetch_cut(struct iforest_cursor *cursor, const struct iforest_key *key);

/* What of the entries under a node counts. */
static inline enum iforest_filter_class iforest_filter_class_of_node(const struct iforest_filter *filter, const uint8_t *node)
{
	return filter && iforest_node_rows(node) > 0 ? filter->of_node(filter->context, node) : IFOREST_COUNTS_ALL;
}

#endif
