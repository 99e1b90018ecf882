/* query/sketch_scan.h -- Sketch of a key range, from entries and from node sketches in the sidecar store; or its values.
 *
 * Nodes have a fixed size and sketches do not, so a node has no sketch. Instead the sidecar store (run/sidecar.h) has
 * one for every node of level 2 and up that is of one series and has at least IFOREST_SKETCH_LEAST_ROWS live entries. The
 * sketch of a range is the sum of the sketches of the nodes inside it and of the entries at both ends: per run at most the leaf
 * pages of two node pages. If values can be removed from this kind of sketch (model/digest.h), an end may use the sketch of the
 * cut node minus the entries outside, whichever reads less: at most the leaf pages of one node page and two more, unless an end
 * lies in a node page where a series begins or ends, which has no sketch.
 */
#ifndef IFOREST_QUERY_SKETCH_SCAN_H
#define IFOREST_QUERY_SKETCH_SCAN_H

#include "core/model/digest.h"
#include "core/query/scan.h"
#include "core/run/sidecar.h"

#define IFOREST_SKETCH_LEAST_ROWS 4096u

#define IFOREST_SKETCH_WRONG "the sketch kept of the page is wrong" /* the `what` of a fault */

/* Adds the live values of a column in [from, to) to a digest, over all runs of the scan, as far as scan->request.filter counts
 * them. The scan keeps its position. Joined runs have no sketches in the sidecar store; with sidecar NULL, no run has.
 * Errors  as iforest_cursor_seek(); IFOREST_CORRUPT also if a stored sketch is damaged or its count differs from its node's;
 *         IFOREST_NO_MEMORY. */
enum iforest_status iforest_scan_sketch(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, const struct iforest_sidecar *sidecar, struct iforest_digest *sketch);

/* Receives a value of a scan. An error ends the scan. */
typedef enum iforest_status iforest_take_value(void *context, union iforest_number number);

/* Calls `take`, in no particular order, for each value of a column in [from, to) that iforest_scan_sketch() would count.
 * Cost    the leaf pages of the range are read.
 * Errors  as iforest_cursor_seek(), and those of `take`. */
enum iforest_status iforest_scan_values(struct iforest_scan *scan, const struct iforest_key *from, const struct iforest_key *to,
					unsigned value, iforest_take_value *take, void *context);

/* Compute and store the sketches of a run, of percentiles or of distinct values, that are missing from the sidecar store.
 * Requires  no removal of the run is in progress.
 * Cost      reads each leaf page under a node without a stored sketch once, and nothing under other nodes.
 * Errors    as iforest_scan_sketch(), and those of the sidecar store. */
enum iforest_status iforest_run_keep_sketches(struct iforest_store *store, const struct iforest_manifest *manifest,
					      const struct iforest_run *run, unsigned value,
					      const struct iforest_sidecar *sidecar);
enum iforest_status iforest_run_keep_distincts(struct iforest_store *store, const struct iforest_manifest *manifest,
					       const struct iforest_run *run, unsigned value,
					       const struct iforest_sidecar *sidecar);

#endif
