/* query/iterator.h -- Iterator over live entries in key order, forward or backward: of one run, and merged over all runs. */
#ifndef IFOREST_QUERY_ITERATOR_H
#define IFOREST_QUERY_ITERATOR_H

#include "core/base/priority_queue.h"
#include "core/page/leaf_fold.h"
#include "core/page/value_predicate.h"
#include "core/run/cursor.h"

/* Who knows enough of some nodes to do without their entries. */
struct iforest_node_taker {
	void *context;

	/* Is the node given whole? It is number i of the level, of one series and with times; all that is live under it counts,
	 * lies in the range of the question and before the end of the stretch (iforest_run_iterator_stretch()). What is taken is
	 * given before anything else is asked. The cursor holds the page of the node, and may look at nodes above it. */
	enum iforest_status (*take)(void *context, struct iforest_cursor *cursor, unsigned level, uint64_t i,
				    const uint8_t *node, bool *taken);
};

/* Which entries, in which order, and what of them. */
struct iforest_iterator_question {
	/* those whose keys lie in [from, to): to go on after an entry, its key with the next ref */
	struct iforest_key from, to;
	bool descends; /* the last of them first */
	struct iforest_value_predicate match;
	const struct iforest_filter *filter; /* NULL: all live entries count */
	/* forward and without a match: a node of one series, nothing of which is removed and all of which */
	bool takes_nodes;
	uint64_t node_width;			/* counts, is given whole, if its times are at most so far apart */
	const struct iforest_node_taker *taker; /* NULL: none; forward, without a match and takes_nodes */
	uint32_t values;			/* bit v, of those the index has: value v is to be given where it is there */
};

struct iforest_run_iterator {
	const struct iforest_iterator_question *question;
	struct iforest_cursor cursor;
	bool is_started, is_at_end;
	/* where the walk stands: a leaf page under which entries may be, and the block of it that is being given */
	uint64_t leaf_number;
	bool leaf_is_open;	/* the page has been entered */
	bool leaf_is_inside;	/* of [from, to) as a whole */
	bool leaf_is_judged;	/* the filter lets all of its entries count */
	unsigned n_blocks_left; /* of the page, beside the one being given */
	uint64_t left;		/* of that one: entries not given yet */
	struct iforest_key last_given;
	bool has_given;
	struct iforest_key stretch_end;
	bool has_node; /* one is to be given whole: */
	struct iforest_key node_first, node_last;
	int64_t node_end; /* the latest end under it, or the latest time where the index keeps no ends */
	bool gave_node;	  /* what was given last is one: the entry has no more than the node's first key */
};

/* store, manifest and run must outlive the walk and stay in place. */
void iforest_run_iterator_init(struct iforest_run_iterator *walk, struct iforest_store *store,
			       const struct iforest_manifest *manifest, const struct iforest_run *run);

/* Starts at the beginning, without opening a page. The question must stay as it is until the next start. */
void iforest_run_iterator_start(struct iforest_run_iterator *walk, const struct iforest_iterator_question *question);

/* Will the next entry be looked for by nodes, and not in a block that is open? */
static inline bool iforest_run_iterator_looks(const struct iforest_run_iterator *walk)
{
	return walk->left == 0;
}

/* Nodes that end before the key may be taken (question->taker). None at the start. */
void iforest_run_iterator_stretch(struct iforest_run_iterator *walk, const struct iforest_key *end);

/* May the run have such an entry, as its root tells? If so *bound does not come after the first of them. */
bool iforest_run_iterator_may_begin(const struct iforest_run_iterator *walk, struct iforest_key *bound);

/* The next entry; *found is false after the last. Values that were not asked for are not present.
 * Cost    The first: a page a level. Each more: what lies between it and the one before is passed by nodes; all in all a page
 *         is opened once, and none below a node that has nothing of what is asked for. So an entry whose nodes alone on its
 *         level can have such a one is found in a page a level, wherever it stands.
 * Errors  as iforest_cursor_seek(), those of the filter. Pages whose entries are out of order are IFOREST_CORRUPT. */
enum iforest_status iforest_run_iterator_next(struct iforest_run_iterator *walk, struct iforest_entry *entry, bool *found);

/* Releases the pages it holds. */
void iforest_run_iterator_release(struct iforest_run_iterator *walk);

/* ---- Merged over all runs ---- */

/* A run, and what it gives next. */
struct iforest_iterator_head {
	struct iforest_run_iterator run;
	bool is_joined;
	bool is_found; /* entry is the next one; else `bound` does not come after that */
	struct iforest_key bound;
	struct iforest_entry entry;
};

struct iforest_iterator {
	struct iforest_store *store;
	struct iforest_iterator_head *heads; /* one a run */
	uint32_t n_heads;
	struct iforest_priority_queue heap;		   /* of those that may still have something, by what they give next */
	struct iforest_iterator_question question, joined; /* joined: the same without the filter */
	struct iforest_key stretch_end;
};

/* store and manifest must outlive the walk, and the manifest must stay as it is.
 * Errors  IFOREST_NO_MEMORY; then the walk holds nothing. */
enum iforest_status iforest_iterator_init(struct iforest_iterator *walk, struct iforest_store *store,
					  const struct iforest_manifest *manifest);
void iforest_iterator_release(struct iforest_iterator *walk);

/* Adds the runs of another store, as iforest_scan_join() does: the filter is not asked about them. Before the first start.
 * Errors  IFOREST_NO_MEMORY; then the walk is as it was. */
enum iforest_status iforest_iterator_join(struct iforest_iterator *walk, struct iforest_store *store,
					  const struct iforest_manifest *manifest);

/* Turns to a question, which is copied; what its filter points to must stay. Opens no page. The walk must stay in place from
 * here on. */
void iforest_iterator_start(struct iforest_iterator *walk, const struct iforest_iterator_question *question);

/* Nodes that end before the key may be taken whole (question->taker), where no other run has anything as early. None at the
 * start. */
void iforest_iterator_stretch(struct iforest_iterator *walk, const struct iforest_key *end);

/* The next entry; *found is false after the last.
 * Cost    as iforest_run_iterator_next() for each run that may have something before that entry, and log(runs) comparisons. A run
 *         whose entries all come later is not opened, and nothing is read ahead.
 * Errors  as iforest_run_iterator_next(); then the walk is to be started again. */
enum iforest_status iforest_iterator_next(struct iforest_iterator *walk, struct iforest_entry *entry, bool *found);

/* Was what was given last a node (takes_nodes, taker)? Then *end is the latest end under it. */
bool iforest_iterator_gave_node(const struct iforest_iterator *walk, int64_t *end);

/* Pages opened since init, over all runs. */
uint64_t iforest_iterator_pages(const struct iforest_iterator *walk);

#endif
