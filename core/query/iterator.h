/* query/iterator.h -- Iterator over live entries in key order, forward or backward: of one run, and merged over all runs.
 *
 * A question gives a key range, a predicate, a filter and the direction. The iterator of a run skips, by their nodes, pages
 * that cannot have a matching entry. The merged iterator keeps the iterators of all runs in a heap, ordered by a lower bound of
 * what each gives next, and opens a run only when its bound comes first. Nodes may be given instead of entries: those of a
 * small time width (takes_nodes), or those that a caller's struct iforest_node_taker accepts.
 */
#ifndef IFOREST_QUERY_ITERATOR_H
#define IFOREST_QUERY_ITERATOR_H

#include "core/base/priority_queue.h"
#include "core/page/leaf_fold.h"
#include "core/page/value_predicate.h"
#include "core/run/cursor.h"

/* A caller that can use some nodes instead of their entries. */
struct iforest_node_taker {
	void *context;

	/* Decides whether node i of a level is given whole: *taken. The node is of one series and has times; all its live
	 * entries count, lie in the range of the question and before the end of the stretch (iforest_iterator_stretch()). A
	 * node that is taken is given before the next call. The cursor has pinned the node's page, and may read nodes above it.
	 */
	enum iforest_status (*take)(void *context, struct iforest_cursor *cursor, unsigned level, uint64_t i,
				    const uint8_t *node, bool *taken);
};

/* What to iterate over, and in which order. */
struct iforest_iterator_question {
	/* keys in [from, to). To go on after an entry: its key with the next ref */
	struct iforest_key from, to;
	bool descends; /* last entry first */
	struct iforest_value_predicate match;
	const struct iforest_filter *filter; /* NULL: all live entries count */
	/* give nodes whole whose times are at most node_width apart: of one series, without removed entries, all of which
	 * count. Forward and without a match */
	bool takes_nodes;
	uint64_t node_width;
	const struct iforest_node_taker *taker; /* NULL: none. Forward, without a match and takes_nodes */
	uint32_t values;			/* bit v, of the index's value columns: give value v where present */
};

struct iforest_run_iterator {
	const struct iforest_iterator_question *question;
	struct iforest_cursor cursor;
	bool is_started, is_at_end;
	/* the position: a leaf page that may have entries, and the block that is being given */
	uint64_t leaf_number;
	bool leaf_is_open;		/* the page has been entered */
	bool leaf_is_inside;		/* all of it lies in [from, to) */
	bool leaf_counts_whole;		/* all of its live entries count */
	unsigned next_block, end_block; /* blocks of the page that are left, end_block excluded */
	uint64_t left;			/* bits of the present block's entries not given yet */
	struct iforest_key last_given;
	bool has_given;
	struct iforest_key stretch_end;
	bool has_node; /* the next item is a node: */
	struct iforest_key node_first, node_last;
	int64_t node_end; /* its latest end, or its last time if the index keeps no ends */
	bool gave_node;	  /* the last item was a node; only the key of the entry was set, to the node's first */
};

/* Binds the iterator to a run. store, manifest and run must outlive it and stay in place. */
void iforest_run_iterator_init(struct iforest_run_iterator *iterator, struct iforest_store *store,
			       const struct iforest_manifest *manifest, const struct iforest_run *run);

/* Starts a question, without opening a page. The question must stay as it is until the next start. */
void iforest_run_iterator_start(struct iforest_run_iterator *iterator, const struct iforest_iterator_question *question);

/* True if the next entry must be sought by nodes, as no block is open. */
static inline bool iforest_run_iterator_looks(const struct iforest_run_iterator *iterator)
{
	return iterator->left == 0;
}

/* True if the run may have an entry to give, by its root. *bound is then at or before the first of them. */
bool iforest_run_iterator_may_begin(const struct iforest_run_iterator *iterator, struct iforest_key *bound);

/* Gives the next entry; *found is false after the last. Values that were not asked for are not present.
 * Cost    the first: a page a level. Each further: what lies between is passed by nodes. In all, each page is opened at most
 *         once, and none below a node that excludes the question.
 * Errors  as iforest_cursor_seek(), those of the filter. IFOREST_CORRUPT also for pages whose entries are out of order. */
enum iforest_status iforest_run_iterator_next(struct iforest_run_iterator *iterator, struct iforest_entry *entry, bool *found);

/* Unpins all pages. */
void iforest_run_iterator_release(struct iforest_run_iterator *iterator);

/* ---- Merged over all runs ---- */

/* A run, and the item that it gives next. */
struct iforest_iterator_head {
	struct iforest_run_iterator run;
	bool is_joined;
	bool is_found; /* entry is the next one; else it is at or after bound */
	struct iforest_key bound;
	struct iforest_entry entry;
};

struct iforest_iterator {
	struct iforest_store *store;
	struct iforest_iterator_head *heads; /* one per run */
	uint32_t n_heads;
	struct iforest_priority_queue heap;		   /* of heads that may have more, by what they give next */
	struct iforest_iterator_question question, joined; /* joined: without the filter */
	struct iforest_key stretch_end;
};

/* Prepares iterators of all runs. store and manifest must outlive the iterator, and the manifest must stay as it is.
 * Errors  IFOREST_NO_MEMORY; the iterator then needs no release. */
enum iforest_status iforest_iterator_init(struct iforest_iterator *iterator, struct iforest_store *store,
					  const struct iforest_manifest *manifest);
void iforest_iterator_release(struct iforest_iterator *iterator);

/* Adds the runs of another store, as iforest_scan_join() does; the filter is not asked about them. Only before the first start.
 * Errors  IFOREST_NO_MEMORY; the iterator is then as it was. */
enum iforest_status iforest_iterator_join(struct iforest_iterator *iterator, struct iforest_store *store,
					  const struct iforest_manifest *manifest);

/* Starts a question, which is copied; what its filter points to must stay. Opens no page. The iterator must stay in place from
 * here on. */
void iforest_iterator_start(struct iforest_iterator *iterator, const struct iforest_iterator_question *question);

/* Lets question->taker take nodes that end before the key and before anything of another run. After a start no node may be
 * taken until this is called. */
void iforest_iterator_stretch(struct iforest_iterator *iterator, const struct iforest_key *end);

/* Gives the next entry; *found is false after the last.
 * Cost    as iforest_run_iterator_next() for each run that may have something before that entry, and log(runs) comparisons.
 *         Runs whose entries all come later are not opened, and nothing is read ahead.
 * Errors  as iforest_run_iterator_next(); the iterator must then be started again. */
enum iforest_status iforest_iterator_next(struct iforest_iterator *iterator, struct iforest_entry *entry, bool *found);

/* Gives the keys of the next entries: of one, and of the rest of its block if none of another run comes between. *n_keys is 0
 * after the last. Costs and fails as iforest_iterator_next().
 * Requires  a question without takes_nodes and taker. */
enum iforest_status iforest_iterator_next_keys(struct iforest_iterator *iterator,
					       struct iforest_key keys[IFOREST_BLOCK_ENTRIES], unsigned *n_keys);

/* True if the last item was a node (takes_nodes, taker). *end becomes the latest end under it. */
bool iforest_iterator_gave_node(const struct iforest_iterator *iterator, int64_t *end);

/* Returns the number of pages opened since init, over all runs. */
uint64_t iforest_iterator_pages(const struct iforest_iterator *iterator);

#endif
