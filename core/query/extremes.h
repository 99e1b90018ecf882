/* query/extremes.h -- Minima and maxima of a key range by branch and bound over nodes. */
#ifndef IFOREST_QUERY_EXTREMES_H
#define IFOREST_QUERY_EXTREMES_H

#include "core/query/fold.h"

/* Adds what of the entries in [from, to), all of one series, may be an extreme that is wanted, and opens no page without need:
 * what by its node holds no better one is left closed, and so is what by its node has its best in the range. Where the range
 * has an entry that counts, n_rows is not 0 afterwards. *is_narrow: the range lies within a block. The cursor then has to be
 * placed by a seek.
 * Requires  request->extremes_alone.
 * Cost      one page a level at each end of the range, and the lowest ones only where the best of a page that is cut lies
 *           outside. */
enum iforest_status iforest_extremes_of_range(struct iforest_fold *fold, const struct iforest_key *from,
					      const struct iforest_key *to, const struct iforest_request *request,
					      struct iforest_aggregate *aggregate, bool *is_narrow);

#endif
