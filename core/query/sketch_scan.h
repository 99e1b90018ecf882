/* query/sketch_scan.h -- Quantile sketch of a key range, from entries and from node sketches kept in the sidecar store.
 *
 * Nodes have a fixed size and sketches have not, so a sketch stands on no page of a run. The host keeps, on a sidecar store (sidecar.h),
 * one for every node of level 2 and up that is of one series and has IFOREST_SKETCH_LEAST_ROWS live entries. A range is
 * then those of the nodes that lie in it whole, and at both ends either the entries inside, or the sketch of the node
 * without the entries outside, whichever is less to read: the leaf pages of one node page at most in each run, and two more.
 */
#ifndef IFOREST_QUERY_SKETCH_SCAN_H
#define IFOREST_QUERY_SKETCH_SCAN_H

#include "core/model/sketch.h"
#include "core/query/scan.h"
#include "core/run/sidecar.h"

#define IFOREST_SKETCH_LEAST_ROWS 4096u

#define IFOREST_SKETCH_WRONG "the sketch kept of the page is wrong" /* a fault's `what` */

/* Adds the live values of a column in [from, to) to the sketch, over all runs of the scan, as scan->request.filter has it. The
 * scan stays where it stands. Only the scan's own runs have sketches on the sidecar store; NULL: none have.
 * Errors  as iforest_cursor_seek(); IFOREST_CORRUPT also where a kept sketch is damaged or counts other values than its node;
 *         IFOREST_NO_MEMORY. */
enum iforest_status iforest_scan_sketch(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, const struct iforest_sidecar *sidecar, struct iforest_sketch *sketch);

/* Puts on the sidecar store what it lacks of a run.
 * Requires  no removal of the run is in progress.
 * Cost    nothing is read under a node whose sketch is there; each leaf page under any other once. */
enum iforest_status iforest_run_keep_sketches(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar);

#endif
