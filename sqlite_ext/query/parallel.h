/* query/parallel.h -- Parallel bucket queries: threads answer several series before their rows are requested.
 *
 * PRAGMA threads says how many threads may help. Only the caller's thread may call SQLite, not even for memory: the others
 * take memory from libc. So they read only pages that are in the index's cache, and the delta, which is in memory; a series
 * of which a page is missing is answered up to that point, and from there on by the caller. While they work the caller is
 * one of them, and nobody changes the cache: so no locks are needed. They end before the next row is returned.
 *
 * Answers take memory, IFS_PARALLEL_BYTES at most, in which several series must fit. A query is answered without threads
 * until it has returned IFS_PARALLEL_AFTER buckets, and once a single series is left.
 */
#ifndef IFS_QUERY_PARALLEL_H
#define IFS_QUERY_PARALLEL_H

#include "core/query/overlap.h"
#include "sqlite_ext/follow/snapshot.h"

#define IFS_PARALLEL_BYTES (16u << 20)
#define IFS_PARALLEL_AFTER 1024u /* buckets that the caller has answered before threads are started: most frames are small */

/* What of a series has been answered. */
struct ifs_parallel_part {
	/* n_buckets, in the room of the thread that answered: int64 bucket, then an aggregate */
	const char *items;
	uint32_t n_buckets;
	bool is_begun, is_whole; /* a thread took it; all of it is there */
};

struct ifs_parallel_worker;

struct ifs_parallel {
	struct ifs_index *index;
	struct ifs_snapshot *snapshot;
	struct iforest_scan *scan;	 /* what is asked for, and answers where threads do not */
	struct iforest_overlap *overlap; /* over the scan, of spans that overlap; NULL: of rows */
	const struct ifs_series *const *members;
	uint32_t n_members;
	uint64_t n_alone;   /* buckets that the caller has answered without threads */
	bool was_begun;	    /* threads were tried */
	unsigned n_threads; /* 0: nothing is answered ahead */
	struct ifs_parallel_worker *workers;
	uint32_t n_opened;		 /* workers that have a scan */
	struct ifs_parallel_part *parts; /* of members [first, first + n_parts) */
	uint32_t first, n_parts, most_parts;
	char *items;			   /* most_items of each thread */
	uint32_t most_items, most_buckets; /* of one series */
	uint32_t part, at;		   /* the part being read, and its next bucket */
	bool is_reading;		   /* it is read from the part; otherwise from the scan */
};

/* Threads are started once they pay, if the connection allows any; all must outlive it, and snapshot and members stay as they
 * are. Without memory there are no threads. */
void ifs_parallel_open(struct ifs_parallel *parallel, struct ifs_index *index, struct ifs_snapshot *snapshot,
		       struct iforest_scan *scan, struct iforest_overlap *overlap, const struct ifs_series *const *members,
		       uint32_t n_members);
void ifs_parallel_close(struct ifs_parallel *parallel);

/* Turns to a member, whose buckets ifs_parallel_next() then gives. Members are turned to in ascending order. */
enum iforest_status ifs_parallel_start(struct ifs_parallel *parallel, uint32_t member);

/* As iforest_scan_next(), or iforest_overlap_next(). */
enum iforest_status ifs_parallel_next(struct ifs_parallel *parallel, int64_t *bucket, struct iforest_aggregate *aggregate,
				      bool *found);

#endif
