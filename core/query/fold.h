/* query/fold.h -- Fold of the entries from a position up to a key into an aggregate, by whole nodes. */
#ifndef IFOREST_QUERY_FOLD_H
#define IFOREST_QUERY_FOLD_H

#include <limits.h>

#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"

/* What is known of a page that the cursor has pinned, for as long as it stays pinned. */
struct iforest_fold_page {
	uint64_t opening;    /* of that page (cursor.h); 0: none */
	unsigned reached;    /* the node, or block, where the last range of iforest_extremes_of_range() ended */
	unsigned after_node; /* `after` is the sum of its nodes from this one on; UINT_MAX: not known */
	struct iforest_sums after;
};

/* A cursor, and what folding from it has found out so far. */
struct iforest_fold {
	struct iforest_cursor cursor;
	struct iforest_fold_page pages[IFOREST_MAX_LEVELS + 1];
	unsigned reached_entry; /* of the block that was read last, a guess: where the last range of extremes ended */
	/* the filter's class of leaf page classified_leaf, UINT64_MAX for none yet; between two seeks a fold has one filter or
	 * none */
	uint64_t classified_leaf, asked_leaf; /* asked_leaf: one of which a small part was asked for, without that */
	enum iforest_filter_class filter_class;
	/* The part of a leaf page at and after a position, as far as `request` goes; leaf_number UINT64_MAX: of none. */
	struct {
		uint64_t leaf_number;
		struct iforest_leaf_cut cut;
		struct iforest_request request;
		struct iforest_aggregate aggregate;
	} rest;
	/* The next three positions, as far as pinned node pages tell. */
	struct {
		struct iforest_key key;
		uint64_t leaf_number;
	} expected[3];		      /* UINT64_MAX: not known */
	uint64_t prefetched_siblings; /* node page that the pager was told of last */
	uint64_t n_nodes_folded;      /* since init, for tests and EXPLAIN */
};

/* As those of the cursor (cursor.h). A fold's cursor is moved by these alone, or by steps between a release and a seek. */
void iforest_fold_init(struct iforest_fold *fold, struct iforest_store *store, const struct iforest_manifest *manifest,
		       const struct iforest_run *run);
void iforest_fold_release(struct iforest_fold *fold);
enum iforest_status iforest_fold_seek(struct iforest_fold *fold, const struct iforest_key *key);
enum iforest_status iforest_fold_key(struct iforest_fold *fold, struct iforest_key *key, bool *at_end);

/* What is known of the page that is pinned on a level. */
static inline struct iforest_fold_page *iforest_fold_page(struct iforest_fold *fold, unsigned level)
{
	struct iforest_fold_page *page = &fold->pages[level];

	if (page->opening != fold->cursor.path[level].opening)
		*page = (struct iforest_fold_page){ .opening = fold->cursor.path[level].opening, .after_node = UINT_MAX };
	return page;
}

/* Moves to the first entry at or after the key and adds everything passed over to the aggregate.
 * Requires  every entry passed over is of one series and the times of all or none are NULL, if request->times, firsts or
 *           lasts. */
enum iforest_status iforest_fold_until(struct iforest_fold *fold, const struct iforest_key *key,
				       const struct iforest_request *request, struct iforest_aggregate *aggregate);

/* One step of that fold: the next node that it uses whole, or what it takes of one leaf page; all of them add up to what it
 * gives. Where nothing counts the aggregate stays as it is. *level and *number say which node, or leaf page (level 0). *at_end:
 * the key was reached.
 * Requires  as above; not request->firsts or lasts. */
enum iforest_status iforest_fold_step(struct iforest_fold *fold, const struct iforest_key *key,
				      const struct iforest_request *request, struct iforest_aggregate *aggregate,
				      unsigned *level, uint64_t *number, bool *at_end);

/* Tells the pager which page holds the position that will be asked for next, somewhat after the present one, as far as node
 * pages that are pinned tell. */
void iforest_fold_prefetch(struct iforest_fold *fold, const struct iforest_key *key);

/* The same for folds of sums alone, each of which opens the leaf page that its key cuts: asked before each, of the position
 * after the next one. The pager is told the page of that; of the next one, whose page should have come by now, memory of the
 * block begins to be fetched. */
void iforest_fold_prefetch_cut(struct iforest_fold *fold, const struct iforest_key *key);

/* What of the entries under a node counts. */
static inline enum iforest_filter_class iforest_filter_class_of_node(const struct iforest_filter *filter, const uint8_t *node)
{
	return filter && iforest_node_rows(node) > 0 ? filter->of_node(filter->context, node) : IFOREST_COUNTS_ALL;
}

#endif
