/* greatest_internal.h -- what cursor_greatest.c (node pages) and greatest_leaf.c (a leaf page) share. Not for others. */
#ifndef IFOREST_GREATEST_INTERNAL_H
#define IFOREST_GREATEST_INTERNAL_H

#include "core/query/extremes_internal.h"
#include "core/page/page_maxima.h"

/* Nodes of a page that a bound cuts, and leaf pages. There are two, except on forged pages. */
enum { IFOREST_MOST_CUT = 2 };

/* A node whose greatest value lies outside the range, or may. */
struct iforest_greatest_cut {
	uint64_t number;
	struct iforest_row greatest;
};

/* What is looked for: the greatest value v in [from, to), times of one series. */
struct iforest_greatest_search {
	struct iforest_cursor *cursor;
	const struct iforest_key *from, *to;
	const struct iforest_wanted *wanted;
	struct iforest_aggregate *aggregate;
	struct iforest_row *best;      /* so far, in the aggregate */
	unsigned v;
	struct iforest_greatest_cut leaves[IFOREST_MOST_CUT]; /* left to the end, when most is known */
	unsigned n_leaves;
	bool is_narrow;
};

static inline bool iforest_greatest_has_time(const struct iforest_greatest_search *search, int64_t time)
{
	return time >= search->from->time && time < search->to->time;
}

/* Looks for it in a leaf page. */
enum iforest_status iforest_greatest_of_leaf(struct iforest_greatest_search *search, uint64_t number);

/* The same of the leaf page that is held, by the peaks that it has. */
enum iforest_status iforest_greatest_of_peaks(struct iforest_greatest_search *search, const struct iforest_page_peaks *peaks);

#endif
