/* query/read_ahead.h -- Read-ahead of the pages that the ends of the buckets to come will ask for.
 *
 * Cuts that follow one another need pages that are known long before they are wanted: the path to each. Read one by one, a
 * storage is waited for once a page; asked for together, it reads many of them at once. So a stretch of cuts is descended to
 * level by level: the pages of a level are asked for, then read, and show the pages of the next.
 */
#ifndef IFOREST_QUERY_READ_AHEAD_H
#define IFOREST_QUERY_READ_AHEAD_H

#include "core/run/cursor.h"

/* Cuts of one call, at most. */
#define IFOREST_MOST_CUTS_AHEAD 128u

/* Asks the pager for the pages from the top of the run to the leaf pages in which the keys belong, and reads the node pages
 * among them. The keys ascend; those outside the run are passed. Nothing is pinned afterwards. Cannot fail: who folds these pages
 * later meets what is wrong with them.
 * Requires  pager->read_ahead; n <= IFOREST_MOST_CUTS_AHEAD.
 * Cost      a search of one node page a level and key. */
void iforest_read_ahead(struct iforest_store *store, const struct iforest_manifest *manifest, const struct iforest_run *run,
			const struct iforest_key *keys, unsigned n);

#endif
