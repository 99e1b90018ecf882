/* query/fold.h -- Fold of a run's entries, from the cursor's position up to a key, into an aggregate.
 *
 * A fold is a descent (descent.h) that adds the largest nodes before the key whole, up to the leaf page that the key cuts. The
 * next fold continues from there, so that a scan of buckets opens each page once. An excerpt of a leaf page (cursor.h) is folded
 * block by block. How a cut leaf page is folded depends on the request:
 *
 *   counts and one integer sum   the shorter side is summed, the other derived by subtraction (struct iforest_sums)
 *   also minima and maxima       the page is split once (iforest_leaf_split()), and the rest is kept for the next fold
 *   extremes alone               branch and bound, in extremes.h
 *   first and last rows, times   entry by entry, with one descent each to the first and last node that have them
 *   with a filter                filtered nodes if the filter has a cache (filtered_nodes.h), else entry by entry
 */
#ifndef IFOREST_QUERY_FOLD_H
#define IFOREST_QUERY_FOLD_H

#include <limits.h>

#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"

/* State of a page that the cursor has pinned; valid until the page is unpinned. */
struct iforest_fold_page {
	uint64_t opening;    /* of the pinned page (cursor.h); 0: none */
	unsigned reached;    /* node or block in which the last range of iforest_extremes_of_range() ended */
	unsigned after_node; /* `after` has the sums of its nodes from this one on; UINT_MAX: not known */
	struct iforest_sums after;
};

/* A cursor, and the state kept between folds. */
struct iforest_fold {
	struct iforest_cursor cursor;
	struct iforest_fold_page pages[IFOREST_MAX_LEVELS + 1];
	unsigned reached_entry; /* a guess: the entry of its block in which the last range of extremes ended */
	/* filter_class is the filter's class of leaf page classified_leaf (UINT64_MAX: none). asked_leaf is a leaf page of
	 * which one small part was folded without classifying it. All folds between two seeks use the same filter, or none */
	uint64_t classified_leaf, asked_leaf;
	enum iforest_filter_class filter_class;
	/* The rest of a leaf page from a position on: its sums, or its aggregate as requested by `request`; leaf_number is
	 * UINT64_MAX if there is none. */
	struct {
		uint64_t leaf_number;
		struct iforest_leaf_cut cut;
		struct iforest_request request;
		bool is_sums;
		struct iforest_sums sums;
		struct iforest_aggregate aggregate;
	} rest;
	/* The key that iforest_fold_key() gave last, and the position that it is the key of. leaf_number: UINT64_MAX if none */
	struct {
		uint64_t leaf_number;
		unsigned block, entry;
		struct iforest_key key;
	} at;
	/* The next three positions, as far as they are known from pinned node pages. */
	struct {
		struct iforest_key key;
		uint64_t leaf_number;
	} expected[3];		      /* UINT64_MAX: not known */
	uint64_t prefetched_siblings; /* the node page that was prefetched last */
	uint64_t n_nodes_folded;      /* since init, for tests and EXPLAIN */
};

/* Like the cursor functions of the same names (cursor.h). Between a seek and a release, only the functions of this header and
 * extremes.h may move the cursor. */
void iforest_fold_init(struct iforest_fold *fold, struct iforest_store *store, const struct iforest_manifest *manifest,
		       const struct iforest_run *run);
void iforest_fold_release(struct iforest_fold *fold);
enum iforest_status iforest_fold_seek(struct iforest_fold *fold, const struct iforest_key *key);
enum iforest_status iforest_fold_seek_before(struct iforest_fold *fold, const struct iforest_key *key,
					     const struct iforest_key *to);

/* iforest_fold_key() for a position whose key is not in fold->at. */
enum iforest_status iforest_fold_find_key(struct iforest_fold *fold, struct iforest_key *key, bool *at_end);

/* True if fold->at has the key of the cursor's position. */
static inline bool iforest_fold_has_key(const struct iforest_fold *fold)
{
	const struct iforest_cursor *cursor = &fold->cursor;

	return fold->at.leaf_number == cursor->leaf_number && fold->at.block == cursor->block &&
	       fold->at.entry == cursor->entry;
}

/* Like iforest_cursor_key(). */
static inline enum iforest_status iforest_fold_key(struct iforest_fold *fold, struct iforest_key *key, bool *at_end)
{
	if (!iforest_fold_has_key(fold))
		return iforest_fold_find_key(fold, key, at_end);
	*at_end = false;
	*key = fold->at.key;
	return IFOREST_OK;
}

/* True if iforest_fold_key() gave the key of the cursor's position, and it is at or after `key`: a fold up to there adds
 * nothing. In a scan of several runs, most have no entries in a narrow bucket. */
static inline bool iforest_fold_is_beyond(const struct iforest_fold *fold, const struct iforest_key *key)
{
	return iforest_fold_has_key(fold) && iforest_key_compare(&fold->at.key, key) >= 0;
}

/* Returns the state of the page pinned on a level, cleared if it is new. */
static inline struct iforest_fold_page *iforest_fold_page(struct iforest_fold *fold, unsigned level)
{
	struct iforest_fold_page *page = &fold->pages[level];

	if (page->opening != fold->cursor.path[level].opening)
		*page = (struct iforest_fold_page){ .opening = fold->cursor.path[level].opening, .after_node = UINT_MAX };
	return page;
}

/* Moves to the first entry at or after the key, and adds all entries passed to the aggregate.
 * Requires  with request->times, firsts or lasts: all entries passed are of one series, and either all or none have a time.
 * Errors    as iforest_cursor_seek(), and those of the filter. */
enum iforest_status iforest_fold_until(struct iforest_fold *fold, const struct iforest_key *key,
				       const struct iforest_request *request, struct iforest_aggregate *aggregate);

/* Adds the entries of the leaf page from the cursor's position up to (block, entry), and moves there. (number of blocks, 0) is
 * the end of the page.
 * Requires  the page is pinned; the filter has no filtered nodes; those of iforest_fold_until().
 * Errors    as iforest_fold_until(). */
enum iforest_status iforest_fold_in_leaf(struct iforest_fold *fold, unsigned block, unsigned entry,
					 const struct iforest_request *request, struct iforest_aggregate *aggregate);

/* Takes one step of iforest_fold_until(): the next whole node, or a part of one leaf page. All steps together add what the fold
 * would. The aggregate is unchanged if no entry counts. *level and *number identify the node, or the leaf page (level 0).
 * *at_end: the key was reached.
 * Requires  those of iforest_fold_until(); no request->firsts or lasts.
 * Errors    as iforest_fold_until(). */
enum iforest_status iforest_fold_step(struct iforest_fold *fold, const struct iforest_key *key,
				      const struct iforest_request *request, struct iforest_aggregate *aggregate,
				      unsigned *level, uint64_t *number, bool *at_end);

#endif
