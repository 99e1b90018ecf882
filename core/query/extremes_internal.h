/* private */
#ifndef IFOREST_EXTREMES_INTERNAL_H
#define IFOREST_EXTREMES_INTERNAL_H

#include "core/query/extremes.h"
#include "core/query/cursor_remainder.h"
#include "core/query/fold.h"

/* Does the page of nodes that is held on a level, if one is, have all of [from, to)? */
bool iforest_cursor_holds(const struct iforest_cursor *cursor, unsigned level, const struct iforest_key *from,
			  const struct iforest_key *to);

/* iforest_cursor_extremes() of the leaf page that is held. */
enum iforest_status iforest_cursor_extremes_of_leaf(struct iforest_cursor *cursor, const struct iforest_key *from,
						    const struct iforest_key *to, const struct iforest_wanted *wanted,
						    struct iforest_aggregate *aggregate, bool *is_narrow);

/* Is it one greatest value that is wanted, of a range of times of one series, without a filter, and the column one of which
 * pages may have peaks? Then the other is iforest_cursor_extremes() in a fraction of its instructions. */
bool iforest_cursor_has_greatest(const struct iforest_cursor *cursor, const struct iforest_key *from,
				 const struct iforest_key *to, const struct iforest_wanted *wanted);
enum iforest_status iforest_cursor_greatest(struct iforest_cursor *cursor, const struct iforest_key *from,
					    const struct iforest_key *to, const struct iforest_wanted *wanted,
					    struct iforest_aggregate *aggregate, bool *is_narrow);

#endif
