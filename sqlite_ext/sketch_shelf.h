/* sketch_shelf.h -- where an index made with sketch=... keeps sketches of whole nodes (core/run_sketch.h):
 *
 *   x_sketch(run INTEGER, value INTEGER, level INTEGER, number INTEGER, dead INTEGER, bytes BLOB,
 *            PRIMARY KEY(run, value, level, number))
 *
 * Commands that write runs bring it up to date; a question reads it, and the entries of what it lacks.
 */
#ifndef IFOREST_SQLITE_SKETCH_SHELF_H
#define IFOREST_SQLITE_SKETCH_SHELF_H

#include "core/run_sketch.h"
#include "sqlite_ext/index.h"

/* A shelf for iforest_scan_sketch(). index must outlive it. */
struct iforest_sketch_shelf iforest_sketches_shelf(struct iforest_index *index);

/* Keeps what is not there yet of the runs of the stored manifest, and forgets runs that are gone. Does nothing without
 * sketch=...
 * Cost  a look at the top nodes of runs that did not change; every leaf page under nodes that did. */
int iforest_sketches_keep(struct iforest_index *index, struct iforest_error *error);

/* Is each sketch there that of its node? Cost: reads all leaf pages once for each level of nodes. */
int iforest_sketches_check(struct iforest_index *index, const struct iforest_snapshot *snapshot, struct iforest_error *error);

#endif
