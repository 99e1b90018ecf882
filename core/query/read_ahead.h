/* query/read_ahead.h -- Read-ahead of the pages that the ends of the next buckets will need.
 *
 * The ends of buckets are known long before the pages on the paths to them are needed. Read one by one, each page would wait
 * for the storage; requested together, many are read at once. So the paths to many ends are descended together, level by level:
 * all pages of a level are requested, then read, and these tell the pages of the next level.
 */
#ifndef IFOREST_QUERY_READ_AHEAD_H
#define IFOREST_QUERY_READ_AHEAD_H

#include "core/run/cursor.h"

/* Most keys of one call. */
#define IFOREST_MOST_CUTS_AHEAD 128u

/* Requests from the pager the pages on the paths from the top of the run to the leaf pages of the keys, and reads the node
 * pages among them. Keys outside the run are ignored. Nothing is pinned afterwards. Cannot fail: a later fold of these pages
 * reports any error.
 * Requires  pager->read_ahead; ascending keys; n <= IFOREST_MOST_CUTS_AHEAD.
 * Cost      a search of one node page per level and key. */
void iforest_read_ahead(struct iforest_store *store, const struct iforest_manifest *manifest, const struct iforest_run *run,
			const struct iforest_key *keys, unsigned n);

#endif
