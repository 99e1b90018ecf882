/* query/counter_scan.h -- Counter values per bucket, from samples and from node summaries kept in the sidecar store.
 *
 * The sidecar store (run/sidecar.h) has, under the name of a node of level 2 and up, a table with one row for each child of the
 * node, so that a reader of a node page finds the contribution of each of its nodes with one look-up. A node with one child has
 * no table. The row of a child is zeros if the child is of several series, has entries without a time, or has no live entries.
 * Bytes: FORMAT.md, "Counter pieces".
 */
#ifndef IFOREST_QUERY_COUNTER_SCAN_H
#define IFOREST_QUERY_COUNTER_SCAN_H

#include "core/model/counter.h"
#include "core/query/iterator.h"
#include "core/run/manifest.h"
#include "core/run/sidecar.h"

#define IFOREST_COUNTER_WRONG "what is kept of the page's counters is wrong" /* the `what` of a fault */

#define IFOREST_COUNTER_HEADER 16u
#define IFOREST_COUNTER_ROW 112u

/* A row of a table: the live entries under one node. */
struct iforest_counter_row {
	int64_t first_time, last_time; /* of entries with or without a value */
	struct iforest_counter_piece piece;
};

/* Computes the tables of a run that the sidecar store does not have, and stores them.
 * Requires  no removal of the run is in progress.
 * Cost      each leaf page under a node without a stored table is read once, and nothing under any other.
 * Errors    as iforest_cursor_seek(), those of the sidecar store; IFOREST_NO_MEMORY. */
enum iforest_status iforest_run_keep_counters(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar);

/* True if a table can have a row for the node that is not zeros. */
bool iforest_node_is_counted(const uint8_t *node);

/* Reads row i of a checked table, which belongs to the node. Returns false if the row contradicts the node.
 * Requires  iforest_node_is_counted(). */
bool iforest_counter_row_read(const uint8_t *table, unsigned i, const uint8_t *node, const struct iforest_node_schema *fields,
			      unsigned value, struct iforest_counter_row *row);

/* Returns the time until which a sample holds: its own duration or end; INT64_MAX, till the next sample, if it has none, an
 * unknown or an unfinished one. */
int64_t iforest_sample_until(const struct iforest_node_schema *fields, int64_t time, bool has_duration, int64_t duration);

/* ---- The scan, bucket by bucket ---- */

/* The table looked up last; sibling nodes have the same. */
struct iforest_counter_scan_table {
	struct iforest_sidecar_name name; /* level 0: none looked up yet */
	uint8_t *bytes;			  /* NULL: there is none */
};

struct iforest_counter_scan {
	struct iforest_iterator iterator;
	bool has_iterator;
	struct iforest_store *store;
	const struct iforest_node_schema *fields;
	const struct iforest_filter *filter;
	uint32_t request;	    /* bit v: count value column v */
	struct iforest_entry ahead; /* the first sample or node not counted yet, if has_ahead */
	bool has_ahead;
	bool has_begun; /* the series has an entry before the next bucket */
	struct iforest_key window_end;

	/* use of tables */
	const struct iforest_sidecar *sidecar; /* NULL: none is used */
	uint32_t asked;			       /* value columns whose tables are looked up: at least one, for the times */
	struct iforest_node_taker taker;
	struct iforest_counter_scan_table *tables; /* one per level and value column */
	bool ahead_is_node;
	uint64_t ahead_rows; /* of that node: live entries, and its rows of the columns of `asked` */
	struct iforest_counter_row ahead_node[IFOREST_MAX_VALUES];
	uint64_t n_entries, n_nodes; /* counted since the start, for tests */

	/* of the present bucket */
	double width;
	struct iforest_counter values[IFOREST_MAX_VALUES];
};

/* Prepares to count the value columns of `request` over the runs of an index and those of a joined one (pending data). The
 * filter, or NULL, is for the former alone. iforest_counter_scan_release() also accepts a scan that is all zero.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counter_scan_start(struct iforest_counter_scan *scan, uint32_t request,
					       const struct iforest_filter *filter, struct iforest_store *store,
					       const struct iforest_manifest *manifest, struct iforest_store *joined,
					       const struct iforest_manifest *joined_manifest);
void iforest_counter_scan_release(struct iforest_counter_scan *scan);

/* Uses the tables of a sidecar store for nodes of the index's own runs. kept: value columns that the store has; nothing happens
 * if these are not all that are requested. Call it after the start; scan and sidecar must stay in place.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counter_scan_use(struct iforest_counter_scan *scan, const struct iforest_sidecar *sidecar,
					     uint32_t kept);

/* Starts the samples of a series in [t0, t1), and finds the values that hold at its beginning.
 * Cost    O(log N) a run and value column.
 * Errors  as iforest_iterator_next(). */
enum iforest_status iforest_counter_scan_turn(struct iforest_counter_scan *scan, uint64_t series, int64_t t0, int64_t t1);

/* Counts the next bucket [start, end) of the window, start < end; its entries and their times are added to the aggregate.
 * *found is false if the series begins later.
 * Cost    with tables O(log N) a run; without, linear in the samples.
 * Errors  as iforest_iterator_next(), those of the sidecar store; IFOREST_CORRUPT also where a table does not agree with its
 *         node. */
enum iforest_status iforest_counter_scan_bucket(struct iforest_counter_scan *scan, int64_t start, int64_t end,
						struct iforest_aggregate *aggregate, bool *found);

#endif
