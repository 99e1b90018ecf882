/* planner/bucket_finder.h -- Search for the ends of buckets: the times at which a query's expressions change.
 *
 * A bucket is a maximal range of times in which all run keys (planner/monotone.h) keep their values. Given its first time, the
 * end is found in one of three ways:
 *
 *   known     the bucket was found before, for another series, and the keys have no column but the time
 *   width     it is as wide as an earlier bucket, which two evaluations prove
 *   gallop    from that guess outward, doubling steps until the keys differ, then binary search
 *
 * The keys are never evaluated before the first or after the last entry of a series, nor at numbers that are not times of the
 * column's type. A bucket that ends with the last entry of its series may continue in another series.
 */
#ifndef IFP_PLANNER_BUCKET_FINDER_H
#define IFP_PLANNER_BUCKET_FINDER_H

#include "pg_ext/planner/monotone.h"
#include "pg_ext/types/values.h"

#include "nodes/execnodes.h"

struct ifp_bucket_finder;

/* Allocates a finder in the current memory context. Keys are evaluated in econtext, whose scan tuple is a row of the index's
 * columns; its column `time` is overwritten. */
struct ifp_bucket_finder *ifp_bucket_finder_begin(const struct ifp_run_keys *keys, const struct ifp_definition *definition,
						  AttrNumber time, ExprContext *econtext);

/* Forgets all buckets. Call it when parameters or the session's time zone may have changed. */
void ifp_bucket_finder_rescan(struct ifp_bucket_finder *finder);

/* Starts a series whose last time is `last`, with its other columns in the row. The times passed to ifp_bucket_finder_end()
 * must ascend from here on. */
void ifp_bucket_finder_start(struct ifp_bucket_finder *finder, int64 last);

/* Returns the last time of the bucket that contains `time`. If a key raises an error there, it is caught, and the time is a
 * bucket of its own.
 * Requires  time <= the last of ifp_bucket_finder_start().
 * Cost      no, two or O(log width) evaluations of the keys. */
int64 ifp_bucket_finder_end(struct ifp_bucket_finder *finder, int64 time);

/* Returns a place for a note of the caller on the bucket whose end ifp_bucket_finder_end() returned last, for this time: NULL
 * at first, then what the caller wrote for this or another series. Returns NULL if the finder does not remember the bucket. The
 * place is valid until the next call for an end; notes, until the finder forgets them or their buckets. */
void **ifp_bucket_finder_note(struct ifp_bucket_finder *finder, int64 time);

/* Sets all notes to NULL. */
void ifp_bucket_finder_forget_notes(struct ifp_bucket_finder *finder);

/* True if there are no keys, hence only one bucket. */
bool ifp_bucket_finder_has_one(const struct ifp_bucket_finder *finder);

/* Numbers of buckets by the way they were found, since begin; for EXPLAIN. */
struct ifp_bucket_finder_counts {
	uint64 n_known, n_by_width, n_galloped, n_evaluations;
};

struct ifp_bucket_finder_counts ifp_bucket_finder_counts(const struct ifp_bucket_finder *finder);

#endif
