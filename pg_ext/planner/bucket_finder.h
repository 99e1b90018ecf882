/* planner/bucket_finder.h -- Search for the times at which the query's expressions change, that is, the ends of its
 * buckets.
 *
 * A bucket is a longest range of times in which all run keys (planner/monotone.h) keep their values. It is found from a time in it:
 *
 *   known     the bucket was found before, for another series
 *   width     as far from the end of the one before as one was wide: two evaluations show that it is so
 *   gallop    steps outward from there that double until the keys differ, then halving
 *
 * The keys are never evaluated at times outside the range from the first to the last entry of a series, nor at those that are
 * no times of the column's type. A bucket that ends with the last entry of its series may go on in another one.
 */
#ifndef IFP_PLANNER_BUCKET_FINDER_H
#define IFP_PLANNER_BUCKET_FINDER_H

#include "pg_ext/planner/monotone.h"
#include "pg_ext/types/values.h"

#include "nodes/execnodes.h"

struct ifp_bucket_finder;

/* Prepares. Keys are evaluated in econtext, whose scan tuple is a row of the index's columns; its time, column `time`, is
 * overwritten. Lives in the current memory context. */
struct ifp_bucket_finder *ifp_bucket_finder_begin(const struct ifp_run_keys *keys, const struct ifp_definition *definition,
						  AttrNumber time, ExprContext *econtext);

/* Parameters or the session's time zone may have changed: forgets what it knows. */
void ifp_bucket_finder_rescan(struct ifp_bucket_finder *finder);

/* Times ascend from here on, in a series whose last time is that. */
void ifp_bucket_finder_start(struct ifp_bucket_finder *finder, int64 last);

/* The last time of the bucket that a time lies in. Requires  time <= last of start. A key that cannot be evaluated at a time
 * (its error is not raised) gives that time a bucket of its own. */
int64 ifp_bucket_finder_end(struct ifp_bucket_finder *finder, int64 time);

/* Are there no keys, and so one bucket? */
bool ifp_bucket_finder_has_one(const struct ifp_bucket_finder *finder);

/* How buckets were found, for EXPLAIN; counted since begin. */
struct ifp_bucket_finder_counts {
	uint64 n_known, n_by_width, n_galloped, n_evaluations;
};

struct ifp_bucket_finder_counts ifp_bucket_finder_counts(const struct ifp_bucket_finder *finder);

#endif
