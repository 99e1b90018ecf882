/* query/sketch_scan.h -- Sketch of a key range, from entries and from node sketches kept in the sidecar store; or the values
 * themselves.
 *
 * Nodes have a fixed size and sketches do not, so a node has no sketch. Instead the sidecar store (run/sidecar.h) has
 * one for every node of level 2 and up that is of one series and has at least IFOREST_SKETCH_LEAST_ROWS live entries. The
 * sketch of a range is the sum of those of the nodes inside it. At both ends it adds the entries inside: per run at most the
 * leaf pages of two node pages. Where a kind of sketch takes values out (model/digest.h), it may be the sketch of the node
 * minus the entries outside, whichever reads less: at most the leaf pages of one node page, and two more, unless an end lies in
 * a node page where a series begins or ends, which has no sketch.
 */
#ifndef IFOREST_QUERY_SKETCH_SCAN_H
#define IFOREST_QUERY_SKETCH_SCAN_H

#include "core/model/digest.h"
#include "core/query/scan.h"
#include "core/run/sidecar.h"

#define IFOREST_SKETCH_LEAST_ROWS 4096u

#define IFOREST_SKETCH_WRONG "the sketch kept of the page is wrong" /* the `what` of a fault */

/* Adds the live values of a column in [from, to) to a digest, over all runs of the scan, as scan->request.filter lets them
 * count. The scan keeps its position. Joined runs have no sketches in the sidecar store; with sidecar NULL, no run has.
 * Errors  as iforest_cursor_seek(); IFOREST_CORRUPT also where a stored sketch is damaged or counts other values than its
 *         node; IFOREST_NO_MEMORY. */
enum iforest_status iforest_scan_sketch(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, const struct iforest_sidecar *sidecar, struct iforest_digest *sketch);

/* Takes a value of a scan. An error ends the scan. */
typedef enum iforest_status iforest_take_value(void *context, union iforest_number number);

/* Calls `take` for each live value of a column in [from, to), in no particular order: those that iforest_scan_sketch() counts.
 * Cost    the leaf pages of the range are read.
 * Errors  as iforest_cursor_seek(), and those of `take`. */
enum iforest_status iforest_scan_values(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, iforest_take_value *take, void *context);

/* Compute the sketches of a run that the sidecar store does not have, of percentiles or of distinct values, and store them.
 * Requires  no removal of the run is in progress.
 * Cost      each leaf page under a node without a stored sketch is read once, and nothing under any other.
 * Errors    as iforest_scan_sketch(), those of the sidecar store. */
enum iforest_status iforest_run_keep_sketches(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar);
enum iforest_status iforest_run_keep_distincts(struct iforest_store *store, const struct iforest_manifest *manifest,
					       const struct iforest_run *run, unsigned value,
					       const struct iforest_sidecar *sidecar);

#endif
