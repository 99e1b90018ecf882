/* walk.h -- entries in key order over all runs of the index: of one series by (time, ref), forward or backward.
 *
 *   iforest_walk_init(&walk, &store, &manifest);
 *   iforest_walk_start(&walk, &question);
 *   while (!iforest_walk_next(&walk, &entry, &found) && found) ...
 *   iforest_walk_release(&walk);
 *
 * A window of a series is from = iforest_key_at(series, t0), to = iforest_key_at(series, t1) or iforest_key_nulls(series); a
 * range over several series gives them one after the other. Of runs whose removal_in_progress is set what scan.h says holds
 * here.
 */
#ifndef IFOREST_WALK_H
#define IFOREST_WALK_H

#include "core/base/priority_queue.h"
#include "core/query/iterator.h"

/* A run, and what it gives next. */
struct iforest_walk_head {
	struct iforest_run_walk run;
	bool is_joined;
	bool is_found;                       /* entry is the next one; else `bound` does not come after that */
	struct iforest_key bound;
	struct iforest_entry entry;
};

struct iforest_walk {
	struct iforest_store *store;
	struct iforest_walk_head *heads;     /* one a run */
	uint32_t n_heads;
	struct iforest_heap heap;            /* of those that may still have something, by what they give next */
	struct iforest_walk_question question, joined; /* joined: the same without the filter */
	struct iforest_key stretch_end;
};

/* store and manifest must outlive the walk, and the manifest must stay as it is.
 * Errors  IFOREST_NO_MEMORY; then the walk holds nothing. */
enum iforest_status iforest_walk_init(struct iforest_walk *walk, struct iforest_store *store,
				      const struct iforest_manifest *manifest);
void iforest_walk_release(struct iforest_walk *walk);

/* Adds the runs of another store, as iforest_scan_join() does: the filter is not asked about them. Before the first start.
 * Errors  IFOREST_NO_MEMORY; then the walk is as it was. */
enum iforest_status iforest_walk_join(struct iforest_walk *walk, struct iforest_store *store,
				      const struct iforest_manifest *manifest);

/* Turns to a question, which is copied; what its filter points to must stay. Opens no page. The walk must stay in place from
 * here on. */
void iforest_walk_start(struct iforest_walk *walk, const struct iforest_walk_question *question);

/* Nodes that end before the key may be taken whole (question->taker), where no other run has anything as early. None at the
 * start. */
void iforest_walk_stretch(struct iforest_walk *walk, const struct iforest_key *end);

/* The next entry; *found is false after the last.
 * Cost    as iforest_run_walk_next() for each run that may have something before that entry, and log(runs) comparisons. A run
 *         whose entries all come later is not opened, and nothing is read ahead.
 * Errors  as iforest_run_walk_next(); then the walk is to be started again. */
enum iforest_status iforest_walk_next(struct iforest_walk *walk, struct iforest_entry *entry, bool *found);

/* Was what was given last a node (takes_nodes, taker)? Then *end is the latest end under it. */
bool iforest_walk_gave_node(const struct iforest_walk *walk, int64_t *end);

/* Pages opened since init, over all runs. */
uint64_t iforest_walk_pages(const struct iforest_walk *walk);

#endif
