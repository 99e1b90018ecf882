/* counting.h -- the value columns of one series after the other as counters, bucket by bucket (iforest_counter). */
#ifndef IFOREST_SQLITE_COUNTING_H
#define IFOREST_SQLITE_COUNTING_H

#include "core/counter.h"
#include "core/walk.h"
#include "sqlite_ext/definition.h"

struct iforest_counting {
	struct iforest_walk walk;
	bool has_walk;
	const struct iforest_fields *fields;
	const struct iforest_filter *filter;
	uint32_t wanted;                     /* bit v: of value column v */
	struct iforest_entry ahead;          /* the first sample that no bucket has taken yet, if has_ahead */
	bool has_ahead;
	bool has_begun;                      /* the series has a row before the next bucket */

	/* of the bucket */
	uint64_t width;
	struct iforest_counter values[IFOREST_MAX_VALUES];
};

/* Counts the value columns of `wanted`, over the runs of an index and those of what is pending; the filter (NULL: none) is that of the
 * former. Ends with iforest_counting_release(), which does nothing where memory is all zero.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counting_start(struct iforest_counting *counting, uint32_t wanted, const struct iforest_filter *filter,
					   struct iforest_store *store, const struct iforest_manifest *manifest,
					   struct iforest_store *joined, const struct iforest_manifest *joined_manifest);
void iforest_counting_release(struct iforest_counting *counting);

/* Turns to the samples of a series in [t0, t1), and finds the values that are carried in.
 * Cost    O(log N) a run and value column.
 * Errors  as iforest_walk_next(). */
enum iforest_status iforest_counting_turn(struct iforest_counting *counting, uint64_t series, int64_t t0, int64_t t1);

/* The next bucket [start, end) of the window, start < end, with its rows and their times in the aggregate. *found is false where the
 * series begins later.
 * Cost    linear in its samples.
 * Errors  as iforest_walk_next(). */
enum iforest_status iforest_counting_bucket(struct iforest_counting *counting, int64_t start, int64_t end,
					    struct iforest_aggregate *aggregate, bool *found);

/* xColumn of a column of value v. Returns SQLITE_ERROR for an increase beyond 64 bits, with the result set to say so. */
int iforest_counting_column(sqlite3_context *context, const struct iforest_counting *counting, unsigned v,
			    enum iforest_counter_column column);

#endif
