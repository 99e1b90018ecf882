/* query/buckets.h -- Bucket queries: the buckets of each group of series in turn, empty ones filled on request.
 *
 * For a series a bucket holds the aggregate of the rows in it, or of the spans that overlap it (iforest_overlap). A group
 * is one series (iforest), or all series that agree on the by columns kept (iforest_fold). The buckets of a group of one
 * come straight from a scan. Those of several series are first added up by merging lists of buckets two by two, so that S
 * series of w buckets cost S w log S, and memory for the buckets that exist. An iforest_counter reads the samples of one
 * series after the other, and has a row for each bucket from its first on.
 */
#ifndef IFS_QUERY_BUCKETS_H
#define IFS_QUERY_BUCKETS_H

#include "core/model/aggregate.h"
#include "core/page/node.h"
#include "core/query/counter_scan.h"
#include "core/query/overlap.h"
#include "core/query/scan.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/query/parallel.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/storage/dictionary.h"
#include "sqlite_ext/storage/engine.h"
#include "sqlite_ext/storage/sidecar.h"

struct ifs_bucket_list {
	char *items; /* each: int64 bucket, then an aggregate of the index's width */
	size_t n, n_reserved;
};

/* ---- Filling of empty buckets: with the last value before, or by linear interpolation ---- */

/* Over the series of one group, whose buckets pass in ascending order. */
struct ifs_fill {
	struct iforest_scan scan; /* its own: that of the buckets stands where it stands */
	bool has_scan;
	enum ifs_fill_mode mode;
	uint32_t request; /* bit v: of value column v */
	/* bit v: the row nearest to the buckets without v that pass now is known */
	uint32_t knows_before, knows_after;
	struct iforest_extreme before[IFOREST_MAX_VALUES], after[IFOREST_MAX_VALUES];

	/* of the bucket that passed last */
	uint32_t filled; /* bit v: it has no v, and this one: */
	/* IFS_FILL_LINEAR; IFS_FILL_LAST: before[v].value, of the index's kind */
	double lines[IFOREST_MAX_VALUES];
};

/* ---- Bucket queries ---- */

#define IFS_MAX_FILLED 10000000
/* buckets of a group of several series, which are kept in memory: a span may overlap any number */
#define IFS_MAX_OVERLAPPED 1000000

/* A sketch of the row: bytes are NULL where it has no numbers. */
struct ifs_bucket_query_sketch {
	bool is_made;
	uint8_t *bytes;
	size_t n_bytes;
};

struct ifs_bucket_query {
	const char *name; /* of the table that is asked, for messages */
	struct ifs_index *index;
	struct ifs_snapshot *snapshot;
	/* of the connection, when the snapshot was last seen to be the one stored */
	uint64_t n_changes;
	unsigned n_steps; /* since SQLite was last let look whether it was interrupted */
	unsigned n_kept;  /* by columns kept, and their numbers in the index */
	unsigned kept[IFS_MAX_BY];
	struct iforest_bucketing bucketing;
	struct iforest_scan scan;
	bool has_scan;
	struct ifs_parallel parallel;	/* series that threads have answered, and all others; not of counters */
	struct iforest_overlap overlap; /* over the scan */
	bool is_overlap, has_overlap;
	enum ifs_fill_mode fill_mode;
	struct ifs_fill fill; /* of fill = 'last' and 'linear' */
	bool is_counter;
	struct iforest_counter_scan counter_scan; /* is_counter */
	struct ifs_sidecar counter_sidecar;	  /* the same: what is kept of nodes */
	int64_t first_filled;			  /* the buckets to give for each group, with rows or without */
	uint64_t n_to_fill, n_filled;

	/* the series chosen, in groups; group g is members[group_starts[g]] up to the next start */
	const struct ifs_series **members;
	uint32_t n_members, n_groups, group;
	uint32_t *group_starts;
	bool group_is_open;
	struct ifs_bucket_list list; /* of a group of several series */
	size_t at;		     /* next of the list */

	/* the row */
	bool has_sketches; /* one was made, or tried */
	struct ifs_bucket_query_sketch sketches[IFOREST_MAX_VALUES];
	bool at_end;
	int64_t bucket;
	struct iforest_aggregate aggregate; /* n_rows is 0 for a filled bucket */
	bool has_pending, is_exhausted;	    /* a bucket was read ahead while filling; there are no more */
	int64_t pending_bucket;
	struct iforest_aggregate pending;
};

/* Without a question, and at its end: what release leaves, too. */
void ifs_bucket_query_init(struct ifs_bucket_query *query);

/* Starts a query on the state of the index. definition is that of the table that is asked, kept lists its by columns by their
 * numbers in the index. argv are the values that the plan names. Ends with ifs_bucket_query_release() also on error.
 * Requires  a query without a question. */
int ifs_bucket_query_start(struct ifs_bucket_query *query, struct ifs_index *index, const struct ifs_definition *definition,
			   const unsigned *kept, const struct ifs_plan *plan, sqlite3_value **argv, struct ifs_error *error);
void ifs_bucket_query_release(struct ifs_bucket_query *query);

/* Is the snapshot still what is stored? To be asked before it is read on, for those that scan by themselves. */
int ifs_bucket_query_check(struct ifs_bucket_query *query, struct ifs_error *error);

/* Moves to the next row (also needed for the first); query->at_end when there is none. */
int ifs_bucket_query_next(struct ifs_bucket_query *query, struct ifs_error *error);

/* The sketch of value column v over the row's rows, *bytes NULL where there are no values. It stays until the next row. Made
 * when it is first asked for (buckets.c), or an error if a command has changed the index since the row was made.
 * Cost  without rows that changed since the last flush O(log N) node pages, and in each run the entries of one node page at
 *       most. */
int ifs_bucket_query_sketch(struct ifs_bucket_query *query, unsigned v, const uint8_t **bytes, size_t *n_bytes,
			    struct ifs_error *error);

/* A number for the row that no other row of this or another question has, up to chance (64 bits): SQLite tells rows apart by it
 * where it joins the answers of several branches of an OR. */
sqlite3_int64 ifs_bucket_query_rowid(const struct ifs_bucket_query *query);

/* The series that stands for the group of the row: its kept by values are those of all; NULL without by columns. */
const struct ifs_series *ifs_bucket_query_series(const struct ifs_bucket_query *query);

#endif
