/* query/scan.h -- Scan of one series over a window: one aggregate per bucket, over all runs of an index.
 *
 *   iforest_scan_init(&scan, &store, &manifest);
 *   scan.bucketing = ...; scan.request = ...;
 *   for (each series) {
 *           iforest_scan_start(&scan, series);
 *           while (!iforest_scan_next(&scan, &bucket, &aggregate, &found) && found) ...
 *   }
 *   iforest_scan_release(&scan);
 *
 * Buckets without live entries are left out. Entries whose time is NULL count only if the window has no bounds and is one
 * bucket (IFOREST_WHOLE).
 *
 * In a run marked removal_in_progress, node aggregates may be stale. The scan ignores the flag; the caller must handle it:
 * SQLite refuses such an index, because there a removal is part of a transaction. In PostgreSQL other processes can see a
 * half-finished removal; its filter never classifies a node that has entries of dead rows as ALL.
 *
 * If only extremes are requested and buckets are dense, the scan does not move its cursors to the end of each bucket, which
 * would open every leaf page that an end cuts. Instead iforest_extremes_of_range() answers the adjacent bucket and reads only
 * the pages it needs. If a bucket turns out to have no or few entries, the cursors are used again.
 */
#ifndef IFOREST_QUERY_SCAN_H
#define IFOREST_QUERY_SCAN_H

#include "core/model/bucket.h"
#include "core/query/fold.h"
#include "core/run/memtable.h"

struct iforest_scan {
	struct iforest_store *store;
	const struct iforest_manifest *manifest;
	struct iforest_bucketing bucketing; /* set by the caller, checked with iforest_bucketing_check() */
	struct iforest_request request;	    /* set by the caller; its filter is for the scan's own runs */
	/* set by the caller: the filter for joined runs; NULL if all their live entries count */
	const struct iforest_filter *joined_filter;
	struct iforest_fold *folds;   /* one per run */
	struct iforest_fold **active; /* folds that have entries of the series in the window */
	uint32_t n_folds, n_active;
	const struct iforest_batch *batch; /* joined entries; NULL: none */
	uint32_t batch_at;		   /* the first joined entry not passed yet */
	struct iforest_key end;		   /* of the window, or of the entries of the series that have a time */
	uint64_t series;
	struct iforest_key reached; /* everything before it has been passed */
	bool is_placed;		    /* the cursors are at `reached`; else they must seek */
	bool is_dense;		    /* the next bucket is expected to have many entries */
	bool is_done;
	bool has_bucket; /* last_bucket was returned or is empty, and ends at `reached` */
	int64_t last_bucket;
	struct {
		uint64_t n_waits;	    /* the pager's n_waits() when it was last checked */
		uint64_t width;		    /* of the narrowest bucket since then; UINT64_MAX: not known */
		unsigned n_passed, n_until; /* bucket ends since then, and until the next check */
		bool is_first;		    /* the next bucket is the series' first, which the window may cut */
	} ahead;
};

/* Prepares a scan of the manifest's runs. store and manifest must outlive it, and the manifest must stay as it is.
 * Errors  IFOREST_NO_MEMORY; the scan then needs no release. */
enum iforest_status iforest_scan_init(struct iforest_scan *scan, struct iforest_store *store,
				      const struct iforest_manifest *manifest);
void iforest_scan_release(struct iforest_scan *scan);

/* Joins the runs of another store, such as pending data. It must have the same series ids and the same fields. request.filter
 * applies to the scan's own runs only, joined_filter to these. Call it before the first start; both arguments must outlive the
 * scan.
 * Errors  IFOREST_NO_MEMORY; the scan is then as it was. */
enum iforest_status iforest_scan_join(struct iforest_scan *scan, struct iforest_store *store,
				      const struct iforest_manifest *manifest);

/* Joins a memtable: its runs as above, and its batch, which is sorted first. Neither may change while the scan is in use. A
 * scan has at most one batch. All entries of the batch count; covers (below) do not include them.
 * Errors  IFOREST_NO_MEMORY; the scan is then as it was. */
enum iforest_status iforest_scan_join_memtable(struct iforest_scan *scan, struct iforest_memtable *memtable);

/* Starts a series.
 * Cost    one page per level and run.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_scan_start(struct iforest_scan *scan, uint64_t series);

/* Starts a series after a bucket, as if iforest_scan_next() had just returned that bucket. */
enum iforest_status iforest_scan_start_after(struct iforest_scan *scan, uint64_t series, int64_t bucket);

/* Unpins all pages. Start a series before the next use. */
void iforest_scan_unpin(struct iforest_scan *scan);

/* Gives the next bucket that has a live entry, in ascending order; *found is false after the last. `aggregate` has the
 * manifest's n_values; parts that are not requested are empty, or undefined with request.extremes_alone (leaf_fold.h).
 * Errors  as iforest_cursor_seek(), and IFOREST_RANGE if the number of a step bucket with a live entry exceeds int64. */
enum iforest_status iforest_scan_next(struct iforest_scan *scan, int64_t *bucket, struct iforest_aggregate *aggregate,
				      bool *found);

/* ---- Stretch by stretch, for engines that find the ends of buckets themselves ----
 * Call these after iforest_scan_start(), with bucketing.mode IFOREST_WHOLE. Errors: as iforest_cursor_seek(). */

/* Gives the earliest time among the entries of the window not passed yet, removed ones included. Times never decrease from call
 * to call: pages whose entries are out of order are IFOREST_CORRUPT. */
enum iforest_status iforest_scan_earliest(struct iforest_scan *scan, int64_t *time, bool *found);

/* Passes the entries of the window up to and including a time, and adds them to the aggregate. */
enum iforest_status iforest_scan_through(struct iforest_scan *scan, int64_t time, const struct iforest_request *request,
					 struct iforest_aggregate *aggregate);

/* Passes the remaining entries, and adds those without a time.
 * Requires  a window without bounds. */
enum iforest_status iforest_scan_nulls(struct iforest_scan *scan, const struct iforest_request *request,
				       struct iforest_aggregate *aggregate);

/* Gives the latest time of a series up to `until`, removed entries included. Start a series before the next use.
 * Cost  one or two pages per level and run. */
enum iforest_status iforest_scan_latest(struct iforest_scan *scan, uint64_t series, int64_t until, int64_t *time, bool *found);

/* Adds all entries of all series. Does not need a start.
 * Requires  times are not requested. */
enum iforest_status iforest_scan_everything(struct iforest_scan *scan, const struct iforest_request *request,
					    struct iforest_aggregate *aggregate);

/* Returns the request for one of the scan's folds, for callers that move the fold themselves (sweep.h). For a joined run it is
 * a copy with joined_filter, written to *joined. */
const struct iforest_request *iforest_scan_request_of(const struct iforest_scan *scan, const struct iforest_fold *fold,
						      const struct iforest_request *request, struct iforest_request *joined);

/* Return the number of pages opened, of leaf pages opened, and of nodes used whole, over all runs since init. */
uint64_t iforest_scan_pages(const struct iforest_scan *scan);
uint64_t iforest_scan_leaf_pages(const struct iforest_scan *scan);
uint64_t iforest_scan_nodes(const struct iforest_scan *scan);

/* ---- The nodes and leaf parts that cover a window ---- */

struct iforest_scan_cover_part {
	const struct iforest_run *run;
	bool is_joined;			    /* the run was joined to the scan */
	unsigned level;			    /* of the node, 1 above a leaf page; 0: entries of one leaf page */
	uint64_t number;		    /* of the node on its level, or of the leaf page */
	bool time_is_null;		    /* entries without a time */
	struct iforest_aggregate aggregate; /* as requested; n_rows is not 0; firsts and lasts are not set */
};

struct iforest_scan_cover {
	struct iforest_scan *scan;
	struct iforest_request request;
	uint32_t at;   /* index of the scan's active fold */
	bool in_nulls; /* the entries with a time have been passed */
};

/* Starts a cover of the series that the scan was started on. Start the scan again before any other use.
 * Requires  bucketing.mode IFOREST_WHOLE. */
void iforest_scan_cover_start(struct iforest_scan_cover *cover, struct iforest_scan *scan);

/* Gives the next part with a live entry that counts, run by run and in the order of their entries; *found is false after the
 * last. In a run with fan-out B and without a filter, a series has at most 2 + 2 (B - 1) parts per level; its entries without a
 * time have as many again. A filter adds the nodes on the paths to excluded entries.
 * Cost    all parts together open the pages that the scan would; if times are requested, also one page per level for each node
 *         with removed entries.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_scan_cover_next(struct iforest_scan_cover *cover, struct iforest_scan_cover_part *part,
					    bool *found);

#endif
