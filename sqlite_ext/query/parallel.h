/* query/parallel.h -- Parallel bucket queries: threads answer several series before their rows are requested.
 *
 * PRAGMA threads sets how many threads may help. Only the caller's thread may call SQLite; the others use libc's allocator.
 * So they read only cached pages of the index, and the delta, which is in memory. If a page of a series is not cached, the
 * thread answers the series up to that page, and the caller continues from there. While the threads work the caller is one of
 * them, and nobody changes the cache, so no locks are needed. They end before the next row is returned.
 *
 * Answers take at most IFS_PARALLEL_BYTES of memory, which must have room for several series. A query runs without threads
 * until it has returned IFS_PARALLEL_AFTER buckets, and when a single series is left.
 */
#ifndef IFS_QUERY_PARALLEL_H
#define IFS_QUERY_PARALLEL_H

#include "core/query/overlap.h"
#include "sqlite_ext/follow/snapshot.h"

#define IFS_PARALLEL_BYTES (16u << 20)
#define IFS_PARALLEL_AFTER 1024u /* buckets answered without threads first: most frames are small */

/* The part of a series that threads have answered. */
struct ifs_parallel_part {
	/* n_buckets, in the memory of the thread that answered: int64 bucket, then an aggregate */
	const char *items;
	uint32_t n_buckets;
	bool is_begun, is_whole; /* a thread began it; it is complete */
};

struct ifs_parallel_worker;

struct ifs_parallel {
	struct ifs_index *index;
	struct ifs_snapshot *snapshot;
	struct iforest_scan *scan;	 /* the request; answers series when threads do not */
	struct iforest_overlap *overlap; /* over the scan, for iforest_overlap; otherwise NULL */
	const struct ifs_series *const *members;
	uint32_t n_members;
	uint32_t first_id;  /* series with lower ids are answered otherwise */
	uint64_t n_alone;   /* buckets answered without threads */
	bool was_begun;	    /* an attempt was made to start threads */
	unsigned n_threads; /* 0: no threads are used */
	struct ifs_parallel_worker *workers;
	uint32_t n_opened;		 /* workers with a scan */
	struct ifs_parallel_part *parts; /* of members [first, first + n_parts) */
	uint32_t first, n_parts, most_parts;
	char *items;			   /* room for most_items of each thread */
	uint32_t most_items, most_buckets; /* of one series */
	uint32_t part, at;		   /* the part being read, and its next bucket */
	bool is_reading;		   /* the member is read from the part; otherwise from the scan */
};

/* Initializes the query of the members. Threads are started later, when they pay off, if the connection allows any. All
 * arguments must outlive it, and snapshot and members must not change. If memory runs out there are no threads. */
void ifs_parallel_open(struct ifs_parallel *parallel, struct ifs_index *index, struct ifs_snapshot *snapshot,
		       struct iforest_scan *scan, struct iforest_overlap *overlap, const struct ifs_series *const *members,
		       uint32_t n_members);
void ifs_parallel_close(struct ifs_parallel *parallel);

/* Selects the member whose buckets ifs_parallel_next() returns. Requires ascending members. */
enum iforest_status ifs_parallel_start(struct ifs_parallel *parallel, uint32_t member);

/* Returns the next bucket, as iforest_scan_next() or iforest_overlap_next() does. */
enum iforest_status ifs_parallel_next(struct ifs_parallel *parallel, int64_t *bucket, struct iforest_aggregate *aggregate,
				      bool *found);

#endif
