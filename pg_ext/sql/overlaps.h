/* overlaps.h -- the spans of an index that overlap a window, or each of its buckets, as the snapshot sees them: core/query/overlap_slice.h
 * over runs and pending entries, read consistently (reader.h).
 *
 * In types that have infinite times a window that is open ends where the finite times do: a span that goes on beyond has no
 * end, and one that starts at infinity no length. What is to be said of those is the caller's part.
 */
#ifndef IFOREST_PG_OVERLAPS_H
#define IFOREST_PG_OVERLAPS_H

#include "pg_ext/exec/snapshot_reader.h"

#include "access/skey.h"
#include "storage/buffile.h"

#include "core/model/bucket.h"

/* A bucket of a series that a span overlaps. */
struct iforest_overlapped {
	uint32 series;              /* number in reader.keys.series */
	int64 bucket;
	uint64 n;
	iforest_int128 inside;
	struct iforest_row longest; /* not set: all durations are NULL */
	bool has_no_end;            /* a span ends after all finite times, and the bucket as well */
};

struct iforest_overlaps {
	Relation heap, index;
	Snapshot snapshot;
	struct iforest_bucketing bucketing; /* checked */
	ScanKey conditions;                 /* on by columns */
	int n_conditions;
	MemoryContext context;              /* of what follows, reset by each attempt */

	struct iforest_reader *reader;
	struct iforest_overlapped *rows;    /* what was found last; as much as work_mem holds */
	uint64 n_rows, n_reserved;
	BufFile *file;                      /* what was found before, if that is more */
	uint64 n_filed, n_given;
	bool has_infinite_time;             /* a span of the window starts at an infinite time */
	bool is_out_of_range;               /* the number of a bucket is */
	uint64 n_restarts;
};

/* Requires  an index of spans, whose durations are in the unit of its times. */
void iforest_overlaps_read(struct iforest_overlaps *overlaps);

/* Then, one after the other: series by series, buckets ascending. False: there are no more. */
bool iforest_overlaps_next(struct iforest_overlaps *overlaps, struct iforest_overlapped *row);

/* Before the context goes. */
void iforest_overlaps_release(struct iforest_overlaps *overlaps);

#endif
