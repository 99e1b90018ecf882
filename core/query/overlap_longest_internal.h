/* overlap_longest_internal.h -- what overlap_longest.c (bucket by bucket), longest_leaf.c (in a leaf page) and
 * longest_behind.c (what was passed) share. Not for others. */
#ifndef IFOREST_OVERLAP_LONGEST_INTERNAL_H
#define IFOREST_OVERLAP_LONGEST_INTERNAL_H

#include "core/run/cursor_internal.h"
#include "core/page/page_maxima.h"
#include "core/query/longest.h"

/* A bucket [from, to), and the best so far. */
struct iforest_longest_search {
	struct iforest_longest *longest;
	struct iforest_cursor *cursor;
	uint32_t run;
	unsigned duration;           /* value column */
	int64_t from, to;
	struct iforest_row best;
	bool found;                  /* a span overlaps it */
};

/* Does a span end after the time? */
static inline bool iforest_longest_outlives(int64_t time, int64_t duration, int64_t bound)
{
	return duration > 0 && (time >= bound || (uint64_t)duration > (uint64_t)bound - (uint64_t)time);
}

/* Does a span that starts before the bucket's end overlap the bucket? */
static inline bool iforest_longest_overlaps(const struct iforest_longest_search *search, int64_t time, int64_t duration)
{
	return time >= search->from || iforest_longest_outlives(time, duration, search->from);
}

/* Takes a span that overlaps the bucket for the best, if it is. */
static inline void iforest_longest_offer(struct iforest_longest_search *search, const struct iforest_row *row)
{
	search->found = true;
	if (!search->best.is_set || iforest_row_is_greater(row, &search->best))
		search->best = *row;
}

/* Has the node entries of the series; has it no others, nor NULL times? */
static inline bool iforest_longest_has_series(const uint8_t *node, uint64_t series)
{
	return iforest_node_first(node).series <= series && iforest_node_last(node).series >= series;
}

static inline bool iforest_longest_is_pure(const uint8_t *node, uint64_t series)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	return first.series == series && last.series == series && !last.time_is_null;
}

static inline struct iforest_row iforest_longest_of_node(const struct iforest_longest_search *search, const uint8_t *node)
{
	return iforest_node_extreme(node, &search->cursor->manifest->fields, search->duration, 1);
}

/* ---- in the leaf page that the cursor holds ---- */

/* Its peaks, NULL where it has none. */
const struct iforest_page_peaks *iforest_longest_peaks(struct iforest_cursor *cursor);

/* Unpacks a block's times and durations; *which are its live entries. */
enum iforest_status iforest_longest_read_block(struct iforest_longest_search *search, unsigned b, uint64_t *which);

/* Entry i of that block, with its ref. */
enum iforest_status iforest_longest_row(struct iforest_longest_search *search, unsigned i, struct iforest_row *row);

/* Looks in a leaf page for spans that start before the bucket's end and overlap it. */
enum iforest_status iforest_longest_search_leaf(struct iforest_longest_search *search, uint64_t number);

/* ---- what was passed ---- */

/* Keeps a node all of whose spans start before that time, if one may be open then. */
enum iforest_status iforest_longest_keep(struct iforest_longest_search *search, unsigned level, uint64_t number,
					 const uint8_t *node, int64_t time);

/* Offers the longest of the spans that were kept and are open where the bucket begins. The search's run and cursor are
 * others afterwards. */
enum iforest_status iforest_longest_look_back(struct iforest_longest_search *search);

/* Keeps nothing any more. */
void iforest_longest_forget(struct iforest_longest *longest);

#endif
