/* query/buckets.h -- Bucket queries: the buckets of each group of series in turn, empty ones filled on request.
 *
 * The bucket of a series has the aggregate of the rows in it, or of the spans that overlap it (iforest_overlap). A group is one
 * series (iforest), or all series with the same values in the kept by columns (iforest_fold). A group of one series returns
 * the buckets of a scan directly. The buckets of several series are first added up by merging lists of buckets pairwise: S
 * series of w buckets cost S w log S, and memory for the non-empty buckets. iforest_counter reads the samples of one series
 * after the other, and returns a row for each bucket from the first sample on. The peak of overlapping spans is read
 * separately for each bucket (core/query/peak.h), because the peaks of several series cannot be added.
 */
#ifndef IFS_QUERY_BUCKETS_H
#define IFS_QUERY_BUCKETS_H

#include "core/model/aggregate.h"
#include "core/model/digest.h"
#include "core/page/node.h"
#include "core/query/counter_scan.h"
#include "core/query/fill.h"
#include "core/query/overlap.h"
#include "core/query/peak.h"
#include "core/query/scan.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/query/parallel.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/query/series_sweep.h"
#include "sqlite_ext/storage/dictionary.h"
#include "sqlite_ext/storage/engine.h"
#include "sqlite_ext/storage/sidecar.h"

struct ifs_bucket_list {
	char *items; /* each: int64 bucket, then an aggregate of the index's width */
	size_t n, n_reserved;
};

/* ---- Bucket queries ---- */

#define IFS_MAX_FILLED 10000000
/* limit of the buckets that iforest_overlap keeps in memory for a group of several series: a span may overlap any number */
#define IFS_MAX_OVERLAPPED 1000000

/* A sketch of the current row; bytes are NULL if there are no values. */
struct ifs_bucket_query_sketch {
	bool is_made;
	uint8_t *bytes;
	size_t n_bytes;
};

struct ifs_bucket_query {
	const char *name; /* of the queried table, for messages */
	struct ifs_index *index;
	struct ifs_snapshot *snapshot;
	/* the connection's count when the snapshot was last known to be the stored state */
	uint64_t n_changes;
	unsigned n_steps; /* since the last check for an interrupt */
	unsigned n_kept;  /* by columns of the queried table; kept: their numbers in the index */
	unsigned kept[IFS_MAX_BY];
	struct iforest_bucketing bucketing;
	struct iforest_scan scan;
	bool has_scan;
	struct ifs_parallel parallel;	/* answers series, with threads or without; not used for counters */
	struct ifs_series_sweep sweep;	/* answers those that it has instead */
	bool has_begun;			/* the sweep is open, if there is one */
	bool is_sweep_alone;		/* it has all, and each is a group */
	bool is_swept;			/* the series being read is answered by the sweep */
	uint32_t member;		/* that series, until it is answered; then UINT32_MAX */
	struct iforest_overlap overlap; /* over the scan */
	bool is_overlap, has_overlap;
	bool has_peak, peak_is_open; /* of is_overlap: the peak is requested; its reader is open for the group's series */
	struct iforest_peak_reader peak_reader;
	uint32_t *series; /* ids of the members, for the peak and for fill = 'last' and 'linear' */
	enum ifs_fill_mode fill_mode;
	struct iforest_fill fill; /* fill = 'last' and 'linear' */
	bool is_counter;
	struct iforest_counter_scan counter_scan; /* of is_counter */
	struct ifs_sidecar counter_sidecar;	  /* of is_counter: summaries of nodes */
	int64_t first_filled;			  /* first of the n_to_fill buckets to return for each group, empty or not */
	uint64_t n_to_fill, n_filled;

	/* the chosen series, in groups; group g is members[group_starts[g]] up to the next start */
	const struct ifs_series **members;
	uint32_t n_members, n_groups, group;
	uint32_t *group_starts;
	bool group_is_open;
	struct ifs_bucket_list list; /* of a group of several series */
	size_t at;		     /* the next of the list */

	/* the current row */
	bool has_sketches; /* a sketch was computed, or computing it failed */
	struct ifs_bucket_query_sketch sketches[IFOREST_N_DIGESTS][IFOREST_MAX_VALUES];
	int64_t bucket;
	struct iforest_peak peak;	    /* n is 0 for a filled bucket */
	struct iforest_aggregate aggregate; /* n_rows is 0 for a filled bucket */
	bool has_pending, is_exhausted;	    /* while filling: a bucket was read ahead; there are no more */
	int64_t pending_bucket;
	struct iforest_aggregate pending;
};

/* Starts a query on the current state of the index. definition is that of the queried table; kept maps its by columns to those
 * of the index. argv has the values that the plan names. Release the query also after an error.
 * Requires  an idle query: query->index is NULL */
int ifs_bucket_query_start(struct ifs_bucket_query *query, struct ifs_index *index, const struct ifs_definition *definition,
			   const unsigned *kept, const struct ifs_plan *plan, sqlite3_value **argv, struct ifs_error *error);
void ifs_bucket_query_release(struct ifs_bucket_query *query);

/* Returns an error if the stored state is no longer that of the snapshot. Callers that use the scan directly must call this
 * before they continue to read. */
int ifs_bucket_query_check(struct ifs_bucket_query *query, struct ifs_error *error);

/* Moves to the next row, or the first; sets *at_end if there is none. */
int ifs_bucket_query_next(struct ifs_bucket_query *query, bool *at_end, struct ifs_error *error);

/* Returns the sketch of core's value v over the rows of the bucket; *bytes is NULL if there are no values. It is computed by
 * the first call and valid until the next row. Returns an error if a command has changed the index since the row was read.
 * Cost  if no rows changed since the last flush: O(log N) node pages, and in each run at most the entries under one node
 *       page */
int ifs_bucket_query_sketch(struct ifs_bucket_query *query, enum iforest_digest_kind kind, unsigned v, const uint8_t **bytes,
			    size_t *n_bytes, struct ifs_error *error);

/* Returns a number that no other row of this or another query has, up to chance (64 bits). SQLite tells rows apart by it
 * when it joins the branches of an OR. */
sqlite3_int64 ifs_bucket_query_rowid(const struct ifs_bucket_query *query);

/* Returns a series of the row's group, all of which have the same kept by values; NULL without by columns. */
static inline const struct ifs_series *ifs_bucket_query_series(const struct ifs_bucket_query *query)
{
	return query->n_kept ? query->members[query->group_starts[query->group]] : NULL;
}

#endif
