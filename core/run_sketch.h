/* run_sketch.h -- the sketch (sketch.h) of a value column over a range of keys, from entries and from sketches that the host
 * keeps.
 *
 * Nodes have a fixed size and sketches have not, so a sketch stands on no page of a run. The host keeps, on a shelf of its
 * own, one for every node of level 2 and up that is of one series and has IFOREST_SKETCH_LEAST_ROWS live entries. A range is
 * then those of the nodes that lie in it whole, and at both ends either the entries inside, or the sketch of the node
 * without the entries outside, whichever is less to read: the leaf pages of one node page at most in each run, and two more.
 *
 * A kept sketch is named by run, level, number, value column, and the count of removed entries under the node. A run never
 * gains entries, and one that was removed stays removed, so equal names are equal live entries: what a removal has made old
 * is not found any more, and its entries are read until iforest_run_keep_sketches() has come by. So a shelf may lack
 * anything; it must not outlive a rollback of the runs.
 */
#ifndef IFOREST_RUN_SKETCH_H
#define IFOREST_RUN_SKETCH_H

#include "core/scan.h"
#include "core/sketch.h"

#define IFOREST_SKETCH_LEAST_ROWS 4096u

struct iforest_sketch_name {
	uint64_t run_id;
	unsigned level;          /* of the node, 2 and up */
	uint64_t number;         /* of the node in its level */
	unsigned value;
	uint64_t n_dead;         /* removed entries under it */
};

/* What a host keeps. iforest_scan_sketch() calls `take` alone. */
struct iforest_sketch_shelf {
	void *context;

	/* Is there one of that name? */
	enum iforest_status (*has)(void *context, const struct iforest_sketch_name *name, bool *found);

	/* Adds the one of that name to the sketch, if there is one. Errors: also those of iforest_sketch_merge(). */
	enum iforest_status (*take)(void *context, const struct iforest_sketch_name *name, struct iforest_sketch *sketch,
				    bool *found);

	/* Keeps a sketch, in the place of one whose name differs in n_dead alone. */
	enum iforest_status (*put)(void *context, const struct iforest_sketch_name *name, const struct iforest_sketch *sketch);
};

/* Adds the live values of a column in [from, to) to the sketch, over all runs of the scan, as scan->wanted.filter has it. The
 * scan stays where it stands. Only the scan's own runs have sketches on the shelf; NULL: none have.
 * Errors  as iforest_cursor_seek(); IFOREST_CORRUPT also where a kept sketch is damaged or counts other values than its node;
 *         IFOREST_NO_MEMORY. */
enum iforest_status iforest_scan_sketch(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, const struct iforest_sketch_shelf *shelf, struct iforest_sketch *sketch);

/* Puts on the shelf what it lacks of a run.
 * Requires  no removal of the run is in progress.
 * Cost    nothing is read under a node whose sketch is there; each leaf page under any other once. */
enum iforest_status iforest_run_keep_sketches(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sketch_shelf *shelf);

#endif
