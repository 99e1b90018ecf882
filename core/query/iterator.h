/* query/iterator.h -- Iterator over live entries in key order, forward or backward: of one run, and merged over all runs.
 *
 * A question gives a key range, a predicate, a filter and the direction. The iterator of a run uses nodes to skip pages that
 * cannot have a matching entry. The merged iterator keeps the iterators of all runs in a heap, ordered by a lower bound of the
 * next key of each, and opens a run only when its bound comes first. It can return nodes in place of entries: those of a small
 * time width (takes_nodes), or those that the caller's struct iforest_node_taker accepts.
 */
#ifndef IFOREST_QUERY_ITERATOR_H
#define IFOREST_QUERY_ITERATOR_H

#include "core/base/priority_queue.h"
#include "core/page/leaf_fold.h"
#include "core/page/value_predicate.h"
#include "core/run/cursor.h"

/* Callback for a caller that can use some nodes instead of their entries. */
struct iforest_node_taker {
	void *context;

	/* Sets *taken if node i of a level is to be returned whole. The node is of one series and has times; all its live
	 * entries count, lie in the range of the question and before the end of the stretch (iforest_iterator_stretch()). A
	 * node that is taken is returned before the next call. The node's page is pinned. May read nodes above it.
	 */
	enum iforest_status (*take)(void *context, struct iforest_cursor *cursor, unsigned level, uint64_t i,
				    const uint8_t *node, bool *taken);
};

/* What to iterate over, and in which order. */
struct iforest_iterator_question {
	/* keys in [from, to). To continue after an entry, set `from` to its key with ref + 1 */
	struct iforest_key from, to;
	bool descends; /* last entry first */
	struct iforest_value_predicate match;
	const struct iforest_filter *filter; /* NULL: all live entries count */
	/* return nodes whole whose times are at most node_width apart, if they are of one series, have no removed entries, and
	 * all entries count. Requires a forward scan without a match */
	bool takes_nodes;
	uint64_t node_width;
	const struct iforest_node_taker *taker; /* NULL: none. Requires forward, no match, no takes_nodes */
	uint32_t values;			/* bit v: return value v of the index where present */
};

struct iforest_run_iterator {
	const struct iforest_iterator_question *question;
	struct iforest_cursor cursor;
	bool is_started, is_at_end;
	/* the position: a leaf page that may have entries, and the block being returned */
	uint64_t leaf_number;
	bool leaf_is_open;		/* the page has been entered */
	bool leaf_is_inside;		/* all of it lies in [from, to) */
	bool leaf_counts_whole;		/* all of its live entries count */
	unsigned next_block, end_block; /* remaining blocks of the page, end_block excluded */
	uint64_t left;			/* bits of the current block's entries not returned yet */
	struct iforest_key last_given;
	bool has_given;
	struct iforest_key stretch_end;
	bool has_node; /* the next item is a node: */
	struct iforest_key node_first, node_last;
	int64_t node_end; /* the node's latest end, or last time if the index keeps no ends */
	bool gave_node;	  /* the last item was a node; only the key of the entry was set, to the node's first */
};

/* Binds the iterator to a run. store, manifest and run must outlive it and stay in place. */
void iforest_run_iterator_init(struct iforest_run_iterator *iterator, struct iforest_store *store,
			       const struct iforest_manifest *manifest, const struct iforest_run *run);

/* Starts a question, without opening a page. The question must not change until the next start. */
void iforest_run_iterator_start(struct iforest_run_iterator *iterator, const struct iforest_iterator_question *question);

/* True if no block is open, so that the next entry must be searched for by nodes. */
static inline bool iforest_run_iterator_looks(const struct iforest_run_iterator *iterator)
{
	return iterator->left == 0;
}

/* True if the run may have a matching entry, by its root. *bound is then at or before the first one. */
bool iforest_run_iterator_may_begin(const struct iforest_run_iterator *iterator, struct iforest_key *bound);

/* Gives the next entry; *found is false after the last. Values that were not requested are not present.
 * Cost    the first entry: one page per level. After that, nodes are used to skip pages without matching entries. Each page is
 *         opened at most once, and none below a node that excludes the question.
 * Errors  as iforest_cursor_seek(), and those of the filter. IFOREST_CORRUPT also for pages whose entries are out of order. */
enum iforest_status iforest_run_iterator_next(struct iforest_run_iterator *iterator, struct iforest_entry *entry, bool *found);

/* Unpins all pages. */
void iforest_run_iterator_release(struct iforest_run_iterator *iterator);

/* ---- Merged over all runs ---- */

/* A run, and its next item. */
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
	struct iforest_priority_queue heap;		   /* of heads that may have more, by their next key */
	struct iforest_iterator_question question, joined; /* joined: without the filter */
	struct iforest_key stretch_end;
};

/* Prepares iterators of all runs. store and manifest must outlive the iterator, and the manifest must not change.
 * Errors  IFOREST_NO_MEMORY; the iterator then needs no release. */
enum iforest_status iforest_iterator_init(struct iforest_iterator *iterator, struct iforest_store *store,
					  const struct iforest_manifest *manifest);
void iforest_iterator_release(struct iforest_iterator *iterator);

/* Adds the runs of another store, as iforest_scan_join() does; the filter does not apply to them. Call it before the first
 * start.
 * Errors  IFOREST_NO_MEMORY; the iterator is then as it was. */
enum iforest_status iforest_iterator_join(struct iforest_iterator *iterator, struct iforest_store *store,
					  const struct iforest_manifest *manifest);

/* Starts a question, which is copied, but not its filter. Opens no page. The iterator must not be moved afterwards. */
void iforest_iterator_start(struct iforest_iterator *iterator, const struct iforest_iterator_question *question);

/* Lets question->taker take nodes that end before the key and before the next entry of any other run. After a start, no node is
 * offered until this is called. */
void iforest_iterator_stretch(struct iforest_iterator *iterator, const struct iforest_key *end);

/* Gives the next entry; *found is false after the last.
 * Cost    as iforest_run_iterator_next() for each run that may have an earlier entry, and log(runs) comparisons. Runs whose
 *         entries all come later are not opened, and nothing is read ahead.
 * Errors  as iforest_run_iterator_next(); the iterator must then be started again. */
enum iforest_status iforest_iterator_next(struct iforest_iterator *iterator, struct iforest_entry *entry, bool *found);

/* Gives the keys of the next entries: the next one, and the rest of its block if no entry of another run comes between. *n_keys
 * is 0 after the last. Cost and errors as iforest_iterator_next().
 * Requires  a question without takes_nodes or taker. */
enum iforest_status iforest_iterator_next_keys(struct iforest_iterator *iterator,
					       struct iforest_key keys[IFOREST_BLOCK_ENTRIES], unsigned *n_keys);

/* True if the last item was a node (takes_nodes, taker). *end becomes its latest end. */
bool iforest_iterator_gave_node(const struct iforest_iterator *iterator, int64_t *end);

/* Returns the number of pages opened since init, over all runs. */
uint64_t iforest_iterator_pages(const struct iforest_iterator *iterator);

#endif
