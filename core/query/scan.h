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
 * A run whose removal_in_progress is set may have nodes that are not true to its leaves; a scan does not look at the mark. The
 * host decides: one whose removals other processes can see half done (PostgreSQL) answers for that by its filter, which takes
 * no node whole that has entries of dead rows; any other repairs such a run first or refuses it.
 *
 * Where extremes alone are wanted and buckets are dense, cursors are not placed at the ends of buckets, which would open the
 * leaf page that each end cuts: the next bucket is taken to be the adjacent one, and what of it has to be read is read
 * (iforest_extremes_of_range()). Where that finds no entry, or few, cursors are placed again.
 *
 * Buckets without live entries are left out. Entries whose time is NULL count where the window has no bounds and is one
 * bucket (IFOREST_WHOLE), and only there.
 */
#ifndef IFOREST_QUERY_SCAN_H
#define IFOREST_QUERY_SCAN_H

#include "core/model/bucket.h"
#include "core/query/fold.h"

struct iforest_scan {
	struct iforest_store *store;
	const struct iforest_manifest *manifest;
	struct iforest_bucketing bucketing; /* set by the caller, checked with iforest_bucketing_check() */
	struct iforest_request request;	    /* set by the caller; its filter is asked about the scan's own runs */
	/* set by the caller: of runs that joined; NULL: all their live entries count */
	const struct iforest_filter *joined_filter;
	struct iforest_fold *folds;   /* one a run */
	struct iforest_fold **active; /* those that have entries of the series in the window */
	uint32_t n_folds, n_active;
	struct iforest_key end; /* of the window, or of the series' timed entries */
	uint64_t series;
	struct iforest_key reached; /* all before it has been passed */
	bool is_placed;		    /* the cursors stand there; else they have to be sought */
	bool is_dense;		    /* the next bucket is expected to have entries, and many */
	bool is_done;
	bool has_bucket; /* last_bucket was given, or is passed over; it ends where the scan has come to */
	int64_t last_bucket;
};

/* store and manifest must outlive the scan, and the manifest must stay as it is.
 * Errors  IFOREST_NO_MEMORY; then the scan holds nothing. */
enum iforest_status iforest_scan_init(struct iforest_scan *scan, struct iforest_store *store,
				      const struct iforest_manifest *manifest);
void iforest_scan_release(struct iforest_scan *scan);

/* Adds the runs of another store, which holds the same series under the same ids and the same fields: what is not in the first
 * one yet. request.filter is asked about the scan's own runs alone, joined_filter about these. Before the first start; both
 * must outlive the scan.
 * Errors  IFOREST_NO_MEMORY; then the scan is as it was. */
enum iforest_status iforest_scan_join(struct iforest_scan *scan, struct iforest_store *store,
				      const struct iforest_manifest *manifest);

/* Turns to a series. Cost: one page a level and run. Errors: as iforest_cursor_seek(). */
enum iforest_status iforest_scan_start(struct iforest_scan *scan, uint64_t series);

/* The same, from the end of a bucket on, as if iforest_scan_next() had just given that one. */
enum iforest_status iforest_scan_start_after(struct iforest_scan *scan, uint64_t series, int64_t bucket);

/* Holds no pages any more; a series has to be started before the scan is used again. */
void iforest_scan_unpin(struct iforest_scan *scan);

/* The next bucket, in ascending order, that has a live entry; *found is false after the last.
 * aggregate has the manifest's n_values; parts not wanted are those of the empty aggregate, or unfinished where extremes
 * alone are wanted (leaf_fold.h).
 * Errors  as iforest_cursor_seek(), and IFOREST_RANGE where the number of a step bucket with a live entry exceeds int64. */
enum iforest_status iforest_scan_next(struct iforest_scan *scan, int64_t *bucket, struct iforest_aggregate *aggregate,
				      bool *found);

/* ---- the same by hand, for hosts that know better where buckets end ----
 * After iforest_scan_start(), with bucketing.mode IFOREST_WHOLE. Errors of all: as iforest_cursor_seek(). */

/* The earliest time, removed entries counted, among those of the window that have not been passed. So times rise from one
 * passing to the next: on pages whose entries are out of order it is IFOREST_CORRUPT. */
enum iforest_status iforest_scan_earliest(struct iforest_scan *scan, int64_t *time, bool *found);

/* Passes the entries up to that time inclusive, within the window, and adds them to the aggregate. */
enum iforest_status iforest_scan_through(struct iforest_scan *scan, int64_t time, const struct iforest_request *request,
					 struct iforest_aggregate *aggregate);

/* Passes what is left, and adds the entries without a time. Requires  a window without bounds. */
enum iforest_status iforest_scan_nulls(struct iforest_scan *scan, const struct iforest_request *request,
				       struct iforest_aggregate *aggregate);

/* The latest time of a series up to `until`, removed entries counted. A scan of the series has to be started again afterwards.
 * Cost  one or two pages a level and run. */
enum iforest_status iforest_scan_latest(struct iforest_scan *scan, uint64_t series, int64_t until, int64_t *time, bool *found);

/* Adds all entries of all series, whose times must not be wanted. Needs no start. */
enum iforest_status iforest_scan_everything(struct iforest_scan *scan, const struct iforest_request *request,
					    struct iforest_aggregate *aggregate);

/* Pages opened since init, over all runs; those of them that were leaf pages; and nodes used whole. */
uint64_t iforest_scan_pages(const struct iforest_scan *scan);
uint64_t iforest_scan_leaf_pages(const struct iforest_scan *scan);
uint64_t iforest_scan_nodes(const struct iforest_scan *scan);

/* ---- The nodes and leaf parts that cover a window ---- */

struct iforest_scan_cover_part {
	const struct iforest_run *run;
	bool is_joined;	   /* of a run that was joined to the scan */
	unsigned level;	   /* of a node that is used whole, 1 stands over a leaf page; 0: entries of one leaf page */
	uint64_t number;   /* of the node on its level; of the leaf page */
	bool time_is_null; /* entries without a time */
	struct iforest_aggregate aggregate; /* of what is wanted; n_rows is not 0. firsts and lasts are never set */
};

struct iforest_scan_cover {
	struct iforest_scan *scan;
	struct iforest_request request;
	uint32_t at;   /* among the scan's active cursors */
	bool in_nulls; /* the timed entries have been passed */
};

/* Requires  a scan that was started on a series, with bucketing.mode IFOREST_WHOLE. It must be started again for another
 *           use. */
void iforest_scan_cover_start(struct iforest_scan_cover *pieces, struct iforest_scan *scan);

/* The next piece that has a live entry that counts, run by run and in the order of their entries; *found is false after the
 * last. Of a run and series with node pages of fan-out B there are at most 2 + 2 (B - 1) a level, without a filter and apart
 * from entries without a time, which are covered by themselves. A filter adds those on the ways to the entries that do not
 * count.
 * Cost    all pieces together open the pages that the answer would; where times are wanted, a node with removed entries one
 *         more a level.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_scan_cover_next(struct iforest_scan_cover *pieces, struct iforest_scan_cover_part *piece,
					    bool *found);

#endif
