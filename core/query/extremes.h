/* query/extremes.h -- Minima and maxima of a key range by branch and bound over nodes. */
#ifndef IFOREST_QUERY_EXTREMES_H
#define IFOREST_QUERY_EXTREMES_H

#include "core/query/fold.h"

/* Adds the requested minima and maxima of the entries in [from, to), all of one series. A page is not opened if the extreme of
 * its node is no better than the best so far, or is known to lie in the range. aggregate->n_rows becomes greater than 0 if the
 * range has an entry that counts, but is not a count. *is_narrow: the range lies within one block. The cursor's position is
 * undefined afterwards: seek before other use.
 * Requires  request->extremes_alone.
 * Cost      one page per level at each end of the range. A cut leaf page is opened only if its extreme lies outside the range.
 * Errors    as iforest_cursor_seek(), and those of the filter. */
enum iforest_status iforest_extremes_of_range(struct iforest_fold *fold, const struct iforest_key *from,
					      const struct iforest_key *to, const struct iforest_request *request,
					      struct iforest_aggregate *aggregate, bool *is_narrow);

#endif
