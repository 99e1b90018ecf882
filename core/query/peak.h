/* query/peak.h -- Peak of overlapping spans: the greatest number open at once in each bucket, and when it is first reached.
 *
 *   spans     |------------|
 *                  |---|        |-----------|
 *                    |--------|       .
 *   open      1    2 3  2  1  0 1     2     1
 *
 * A span is open in [start, end); one of zero, unfinished or unknown length is open only at its start. The peak of a bucket is
 * the greatest number of spans open at any of its times. It is reached at the start of the bucket or of a span in it, so one
 * pass over the spans in order of their starts suffices, with the ends of the open ones in a heap. In a bucket that is an empty
 * interval, all spans that overlap it are open at once.
 *
 * Nodes cannot answer this: the peak depends on how starts and ends interleave, which counts and latest ends do not tell. Nodes
 * are only used to find the spans that are open when the window begins.
 */
#ifndef IFOREST_QUERY_PEAK_H
#define IFOREST_QUERY_PEAK_H

#include "core/model/bucket.h"
#include "core/query/iterator.h"
#include "core/run/manifest.h"

/* n spans are open at `time`; n is 0 if none is open at any time. */
struct iforest_peak {
	uint64_t n;
	int64_t time;
};

/* A pass over spans in order of their starts: a min-heap of the last times of the open ones. Empty if all but alloc is zero. */
struct iforest_peak_pass {
	const struct iforest_alloc *alloc;
	int64_t *last_times;
	size_t n, n_reserved;
};

/* Return the last time at which a span is open, given its end or its duration; `time` if it has no length. Saturates. */
static inline int64_t iforest_span_last_before(int64_t time, bool has_end, int64_t end)
{
	return has_end && end > time ? end - 1 : time;
}

static inline int64_t iforest_span_last_time(int64_t time, bool has_duration, int64_t duration)
{
	if (!has_duration || duration <= 0)
		return time;
	return time > INT64_MAX - (duration - 1) ? INT64_MAX : time + (duration - 1);
}

/* ---- Spans in memory ---- */

struct iforest_peak_span {
	int64_t first_time, last_time;
};

/* Sorts the spans by first time, and finds their peak. `interrupt` may be NULL.
 * Errors  IFOREST_NO_MEMORY, those of the interrupt. */
enum iforest_status iforest_peak_of_spans(const struct iforest_alloc *alloc, const struct iforest_interrupt *interrupt,
					  struct iforest_peak_span *spans, size_t n, struct iforest_peak *peak);

/* ---- Buckets of an index ---- */

/* Stages of reading a series: first the spans that start before the window and reach into it, then those that start in it. */
enum iforest_peak_stage { IFOREST_PEAK_BEFORE, IFOREST_PEAK_WITHIN, IFOREST_PEAK_DONE };

struct iforest_peak_reader {
	struct iforest_iterator iterator;
	bool has_iterator;
	const struct iforest_node_schema *fields;
	const struct iforest_interrupt *interrupt;

	/* set by the caller, before a start */
	struct iforest_bucketing bucketing;  /* checked with iforest_bucketing_check() */
	const struct iforest_filter *filter; /* for the index's own runs; NULL: all live entries count */

	uint64_t series;
	enum iforest_peak_stage stage;
	struct iforest_peak_pass pass;
	struct iforest_peak_span ahead; /* the next span, if has_ahead */
	bool has_ahead;
	struct iforest_peak_span *gathered; /* of several series, sorted */
	size_t n_gathered, n_reserved, at;
};

/* Prepares a reader of an index. store and manifest must outlive it. iforest_peak_release() also accepts a reader that is all
 * zero.
 * Errors  IFOREST_ARGUMENT: the index keeps neither durations nor ends (node.h), or durations of another unit;
 *         IFOREST_NO_MEMORY.
 */
enum iforest_status iforest_peak_init(struct iforest_peak_reader *reader, struct iforest_store *store,
				      const struct iforest_manifest *manifest);
void iforest_peak_release(struct iforest_peak_reader *reader);

/* Adds the runs of another store, as iforest_iterator_join() does. */
enum iforest_status iforest_peak_join(struct iforest_peak_reader *reader, struct iforest_store *store,
				      const struct iforest_manifest *manifest);

/* Starts a group of series whose spans are counted together. The reader must not be moved afterwards.
 * Cost    one series: one page per level and run. The spans of several are collected and sorted first, with 16 bytes for each
 *         that overlaps the window.
 * Errors  as iforest_iterator_next(). */
enum iforest_status iforest_peak_start(struct iforest_peak_reader *reader, const uint32_t *series, uint32_t n_series);

/* Gives the peak of a bucket. Requires: ascending buckets from call to call after a start.
 * Cost    all buckets together read each entry of the window once, and descend to each span that is open at its start. Memory:
 *         8 bytes per open span.
 * Errors  as iforest_peak_start(). */
enum iforest_status iforest_peak_of_bucket(struct iforest_peak_reader *reader, int64_t bucket, struct iforest_peak *peak);

#endif
