/* query/counter_scan.h -- Counter values per bucket, from samples and from node summaries kept in the sidecar store.
 *
 * What is kept under the name of a node of level 2 and up is a table with a row for each of its children, so that a question
 * finds beside a page of nodes what all of them add. It is there where the node has more than one child. A child of several
 * series, or with entries without a time, or without live entries, has a row of zeros.
 *
 *   byte  0  u32  magic 0x62634649, "IFcb"
 *         4  u32  checksum: low half of XXH64, seed 0, over bytes [8, end)
 *         8  u32  version: 1
 *        12  u32  n: number of rows
 *        16  ...  n rows of 112 bytes, of the live entries under child i:
 *                 byte  0  2 x i64  first and last time
 *                      16  u64      samples: entries that have a value. Without any, the rest is 0
 *                      24  2 x i64  time and value of the first sample (the bits of a double in a column of reals)
 *                      40  3 x i64  time and value of the last sample, and to when it holds (INT64_MAX: till the next one)
 *                      64  u64      samples less than the one before
 *                      72  u64      width of the time between first and last sample in which there is a value
 *                      80  i128     integral of the value over that time; of reals f64 and 8 bytes 0
 *                      96  i128     increase from the first sample to the last; the same
 */
#ifndef IFOREST_QUERY_COUNTER_SCAN_H
#define IFOREST_QUERY_COUNTER_SCAN_H

#include "core/model/counter.h"
#include "core/query/iterator.h"
#include "core/run/manifest.h"
#include "core/run/sidecar.h"

#define IFOREST_COUNTER_WRONG "what is kept of the page's counters is wrong" /* a fault's `what` */

#define IFOREST_COUNTER_HEADER 16u
#define IFOREST_COUNTER_ROW 112u

/* Of the live entries under a node. */
struct iforest_counter_row {
	int64_t first_time, last_time; /* of entries, with a value or without */
	struct iforest_counter_piece piece;
};

/* Puts on the sidecar store what it lacks of a run.
 * Requires  no removal of the run is in progress.
 * Cost      nothing is read under a node of which the table is there; each leaf page under any other once.
 * Errors    as iforest_cursor_seek(), those of the sidecar store; IFOREST_NO_MEMORY. */
enum iforest_status iforest_run_keep_counters(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar);

/* Can there be a row of the node? */
bool iforest_node_is_counted(const uint8_t *node);

/* Are these bytes a table of n rows? */
bool iforest_counter_table_check(const uint8_t *bytes, size_t n_bytes, unsigned n);

/* Row i of a table that has been checked, which is that of the node. False: it is not what such a node can have.
 * Requires  iforest_node_is_counted(). */
bool iforest_counter_row_read(const uint8_t *table, unsigned i, const uint8_t *node, const struct iforest_node_schema *fields,
			      unsigned value, struct iforest_counter_row *row);

/* To when a sample holds by its own duration, or end; one without any, of an unknown one or unfinished, till the next. */
int64_t iforest_sample_until(const struct iforest_node_schema *fields, int64_t time, bool has_duration, int64_t duration);

/* ---- The scan, bucket by bucket ---- */

/* A table that was looked for, kept for the nodes beside the one that was asked for. */
struct iforest_counter_scan_table {
	struct iforest_sidecar_name name; /* level 0: none was looked for yet */
	uint8_t *bytes;			  /* NULL: there is none */
};

struct iforest_counter_scan {
	struct iforest_iterator walk;
	bool has_walk;
	struct iforest_store *store;
	const struct iforest_node_schema *fields;
	const struct iforest_filter *filter;
	uint32_t request;	    /* bit v: of value column v */
	struct iforest_entry ahead; /* the first sample or node that no bucket has taken yet, if has_ahead */
	bool has_ahead;
	bool has_begun; /* the series has a row before the next bucket */
	struct iforest_key window_end;

	/* nodes by what is kept of them */
	const struct iforest_sidecar *sidecar; /* NULL: nothing is */
	uint32_t asked;			       /* value columns of which it is asked for: at least one, for times */
	struct iforest_node_taker taker;
	struct iforest_counter_scan_table *tables; /* one a level and value column */
	bool ahead_is_node;
	uint64_t ahead_rows; /* of it: live entries, and what those of `asked` add */
	struct iforest_counter_row ahead_node[IFOREST_MAX_VALUES];
	uint64_t n_entries, n_nodes; /* taken since the start, for tests */

	/* of the bucket */
	uint64_t width;
	struct iforest_counter values[IFOREST_MAX_VALUES];
};

/* Counts the value columns of `request`, over the runs of an index and those of what is pending; the filter (NULL: none) is that
 * of the former. Ends with iforest_counter_scan_release(), which does nothing where memory is all zero.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counter_scan_start(struct iforest_counter_scan *counting, uint32_t request,
					       const struct iforest_filter *filter, struct iforest_store *store,
					       const struct iforest_manifest *manifest, struct iforest_store *joined,
					       const struct iforest_manifest *joined_manifest);
void iforest_counter_scan_release(struct iforest_counter_scan *counting);

/* Has nodes of the index's runs taken from a sidecar store that keeps those of the value columns of `kept`; does nothing where these
 * are not all that are wanted. After the start; the counting and the sidecar store must stay in place.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counter_scan_use(struct iforest_counter_scan *counting, const struct iforest_sidecar *sidecar,
					     uint32_t kept);

/* Turns to the samples of a series in [t0, t1), and finds the values that are carried in.
 * Cost    O(log N) a run and value column.
 * Errors  as iforest_iterator_next(). */
enum iforest_status iforest_counter_scan_turn(struct iforest_counter_scan *counting, uint64_t series, int64_t t0, int64_t t1);

/* The next bucket [start, end) of the window, start < end, with its rows and their times in the aggregate. *found is false
 * where the series begins later.
 * Cost    as above; without a sidecar store linear in its samples.
 * Errors  as iforest_iterator_next(), those of the sidecar store; IFOREST_CORRUPT also where what is kept is not that of its node. */
enum iforest_status iforest_counter_scan_bucket(struct iforest_counter_scan *counting, int64_t start, int64_t end,
						struct iforest_aggregate *aggregate, bool *found);

#endif
