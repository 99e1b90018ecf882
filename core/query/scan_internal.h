/* scan_internal.h -- what scan.c (bucket by bucket) and scan_steps.c (by hand) share. Not for others. */
#ifndef IFOREST_SCAN_INTERNAL_H
#define IFOREST_SCAN_INTERNAL_H

#include "core/query/scan.h"

/* Can the run hold an entry in [from, to)? */
static inline bool iforest_scan_may_hold(const struct iforest_run *run, const struct iforest_key *from,
					 const struct iforest_key *to)
{
	struct iforest_key first = iforest_node_first(run->root), last = iforest_node_last(run->root);

	return iforest_key_compare(&last, from) >= 0 && iforest_key_compare(&first, to) < 0;
}

/* What a cursor is asked for: runs that were joined have a filter of their own. *joined is room for it. */
const struct iforest_wanted *iforest_scan_wanted(const struct iforest_scan *scan, const struct iforest_cursor *cursor,
						 const struct iforest_wanted *wanted, struct iforest_wanted *joined);

/* Passes the entries of the active cursors up to the key, and adds them to the aggregate. */
enum iforest_status iforest_scan_fold(struct iforest_scan *scan, const struct iforest_key *to,
				      const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate);

#endif
