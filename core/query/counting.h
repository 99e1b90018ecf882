/* counting.h -- the value columns of one series after the other as counters (counter.h), bucket by bucket.
 *
 * Samples are walked in order (walk.h). With a shelf (run_counter.h) a node is added by what is kept of it where it lies in a
 * bucket, all that is live under it counts, and no other run has an entry of the series between its first and its last: so a
 * bucket costs the leaf pages that its ends cut, and O(log N) nodes a run; where runs interleave their entries are read, down
 * to the leaf pages that do.
 */
#ifndef IFOREST_COUNTING_H
#define IFOREST_COUNTING_H

#include "core/query/counter_scan.h"
#include "core/query/walk.h"

/* A table that was looked for, kept for the nodes beside the one that was asked for. */
struct iforest_counting_table {
	struct iforest_shelf_name name;      /* level 0: none was looked for yet */
	uint8_t *bytes;                      /* NULL: there is none */
};

struct iforest_counting {
	struct iforest_walk walk;
	bool has_walk;
	struct iforest_store *store;
	const struct iforest_fields *fields;
	const struct iforest_filter *filter;
	uint32_t wanted;                     /* bit v: of value column v */
	struct iforest_entry ahead;          /* the first sample or node that no bucket has taken yet, if has_ahead */
	bool has_ahead;
	bool has_begun;                      /* the series has a row before the next bucket */
	struct iforest_key window_end;

	/* nodes by what is kept of them */
	const struct iforest_shelf *shelf;   /* NULL: nothing is */
	uint32_t asked;                      /* value columns of which it is asked for: at least one, for times */
	struct iforest_node_taker taker;
	struct iforest_counting_table *tables; /* one a level and value column */
	bool ahead_is_node;
	uint64_t ahead_rows;                 /* of it: live entries, and what those of `asked` add */
	struct iforest_counter_row ahead_node[IFOREST_MAX_VALUES];
	uint64_t n_entries, n_nodes;         /* taken since the start, for tests */

	/* of the bucket */
	uint64_t width;
	struct iforest_counter values[IFOREST_MAX_VALUES];
};

/* Counts the value columns of `wanted`, over the runs of an index and those of what is pending; the filter (NULL: none) is that
 * of the former. Ends with iforest_counting_release(), which does nothing where memory is all zero.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counting_start(struct iforest_counting *counting, uint32_t wanted,
					   const struct iforest_filter *filter, struct iforest_store *store,
					   const struct iforest_manifest *manifest,
					   struct iforest_store *joined, const struct iforest_manifest *joined_manifest);
void iforest_counting_release(struct iforest_counting *counting);

/* Has nodes of the index's runs taken from a shelf that keeps those of the value columns of `kept`; does nothing where these
 * are not all that are wanted. After the start; the counting and the shelf must stay in place.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counting_use(struct iforest_counting *counting, const struct iforest_shelf *shelf, uint32_t kept);

/* Turns to the samples of a series in [t0, t1), and finds the values that are carried in.
 * Cost    O(log N) a run and value column.
 * Errors  as iforest_walk_next(). */
enum iforest_status iforest_counting_turn(struct iforest_counting *counting, uint64_t series, int64_t t0, int64_t t1);

/* The next bucket [start, end) of the window, start < end, with its rows and their times in the aggregate. *found is false
 * where the series begins later.
 * Cost    as above; without a shelf linear in its samples.
 * Errors  as iforest_walk_next(), those of the shelf; IFOREST_CORRUPT also where what is kept is not that of its node. */
enum iforest_status iforest_counting_bucket(struct iforest_counting *counting, int64_t start, int64_t end,
					    struct iforest_aggregate *aggregate, bool *found);

#endif
