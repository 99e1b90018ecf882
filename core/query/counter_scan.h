/* query/counter_scan.h -- Counter values per bucket, from samples and from node summaries kept in the sidecar store.
 *
 * The sidecar store (run/sidecar.h) has, for each node of level 2 and up, a table with one row for each child of the node, so
 * that a reader of a node page finds the contributions of all its nodes with one look-up. A node with one child has no table.
 * The row of a child is all zero if the child is of several series, has entries without a time, or has no live entries.
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

/* A row of a table: a summary of the live entries under one node. */
struct iforest_counter_row {
	int64_t first_time, last_time; /* of entries with or without a value */
	struct iforest_counter_piece piece;
};

/* Computes and stores the tables of a run that are missing from the sidecar store.
 * Requires  no removal of the run is in progress.
 * Cost      reads each leaf page under a node without a stored table once, and nothing under other nodes.
 * Errors    as iforest_cursor_seek(), those of the sidecar store; IFOREST_NO_MEMORY. */
enum iforest_status iforest_run_keep_counters(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar);

/* True if the node can have a row in a table that is not all zero. */
bool iforest_node_is_counted(const uint8_t *node);

/* Reads row i of a checked table, the row of this node. Returns false if the row contradicts the node.
 * Requires  iforest_node_is_counted(). */
bool iforest_counter_row_read(const uint8_t *table, unsigned i, const uint8_t *node, const struct iforest_node_schema *fields,
			      unsigned value, struct iforest_counter_row *row);

/* Returns the time until which a sample holds by its own duration or end; INT64_MAX, which means until the next sample, if it
 * has none or is unfinished. */
int64_t iforest_sample_until(const struct iforest_node_schema *fields, int64_t time, bool has_duration, int64_t duration);

/* ---- The scan, bucket by bucket ---- */

/* The table looked up last; sibling nodes share it. */
struct iforest_counter_scan_table {
	struct iforest_sidecar_name name; /* level 0: none looked up yet */
	uint8_t *bytes;			  /* NULL: there is no table */
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
	const struct iforest_sidecar *sidecar; /* NULL: tables are not used */
	uint32_t asked; /* value columns whose tables are looked up: at least one, because rows have the times */
	struct iforest_node_taker taker;
	struct iforest_counter_scan_table *tables; /* one per level and value column */
	bool ahead_is_node;
	uint64_t ahead_rows; /* of that node: number of live entries, and its rows for the columns in `asked` */
	struct iforest_counter_row ahead_node[IFOREST_MAX_VALUES];
	uint64_t n_entries, n_nodes; /* counted since the start, for tests */

	/* of the present bucket */
	double width;
	struct iforest_counter values[IFOREST_MAX_VALUES];
};

/* Prepares to count the value columns in `request` over the runs of an index and of a joined store (pending data). The filter,
 * which may be NULL, applies to the index's runs only. iforest_counter_scan_release() also accepts a scan that is all zero.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counter_scan_start(struct iforest_counter_scan *scan, uint32_t request,
					       const struct iforest_filter *filter, struct iforest_store *store,
					       const struct iforest_manifest *manifest, struct iforest_store *joined,
					       const struct iforest_manifest *joined_manifest);
void iforest_counter_scan_release(struct iforest_counter_scan *scan);

/* Uses the tables of a sidecar store for nodes of the index's own runs. kept: value columns that the store has; does nothing
 * unless these include all requested ones. Call it after the start; scan and sidecar must not be moved afterwards.
 * Errors  IFOREST_NO_MEMORY. */
enum iforest_status iforest_counter_scan_use(struct iforest_counter_scan *scan, const struct iforest_sidecar *sidecar,
					     uint32_t kept);

/* Starts the samples of a series in [t0, t1), and finds the values that hold at t0.
 * Cost    O(log N) per run and value column.
 * Errors  as iforest_iterator_next(). */
enum iforest_status iforest_counter_scan_turn(struct iforest_counter_scan *scan, uint64_t series, int64_t t0, int64_t t1);

/* Counts the next bucket [start, end) of the window, start < end, and adds its entries and their times to the aggregate. *found
 * is false if the series begins later.
 * Cost    O(log N) per run with tables; linear in the samples without.
 * Errors  as iforest_iterator_next(), and those of the sidecar store; IFOREST_CORRUPT also if a table does not agree with its
 *         node. */
enum iforest_status iforest_counter_scan_bucket(struct iforest_counter_scan *scan, int64_t start, int64_t end,
						struct iforest_aggregate *aggregate, bool *found);

#endif
