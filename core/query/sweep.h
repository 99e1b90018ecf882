/* query/sweep.h -- Sweep over the series that have entries in a window: one aggregate for each, page after page.
 *
 *   scan.bucketing = ...; scan.request = ...;
 *   iforest_sweep_start(&sweep, &scan, false);
 *   while (!iforest_sweep_next(&sweep, &series, &found) && found)
 *           iforest_sweep_fold(&sweep, &request, &aggregate);
 *   iforest_sweep_release(&sweep);
 *
 * A scan that is started on each series descends for each, be there entries in the window or not. A sweep reads the directories of
 * leaf pages in their order instead: a series without entries in the window costs a look at its blocks, and one with some no
 * descent. It leaves a page by a descent, so a series of many pages is passed as a scan passes it.
 *
 *   leaf pages of two runs   | a a b c | c d f f | f ...      a sweep visits a, b, c, d, e, f: at each step the lowest
 *                            | b b b e e e f | g ...          series at which a run, or the joined batch, stands
 */
#ifndef IFOREST_QUERY_SWEEP_H
#define IFOREST_QUERY_SWEEP_H

#include "core/query/scan.h"

/* Where a run stands: at the first entry of the window, of a series, that has not been passed. */
struct iforest_sweep_run {
	struct iforest_fold *fold;
	uint64_t series; /* UINT64_MAX: all has been passed */
};

struct iforest_sweep {
	struct iforest_scan *scan;
	struct iforest_window window;
	bool has_nulls;			/* entries without a time belong to the window */
	struct iforest_sweep_run *runs; /* scan->n_folds of them */
	uint64_t in_batch;		/* the series at which the joined batch stands */
	uint64_t series;		/* given last; UINT64_MAX: none, or it has been passed */
};

/* Starts over all series. The window is that of scan->bucketing, whose mode is IFOREST_WHOLE. has_nulls: entries without a time
 * count, too; the window then has no bounds. The scan must be prepared, runs and batches joined; it is not to be started, and its
 * cursors belong to the sweep until that is released.
 * Errors  IFOREST_NO_MEMORY: no release is needed then. As iforest_cursor_seek(). */
enum iforest_status iforest_sweep_start(struct iforest_sweep *sweep, struct iforest_scan *scan, bool has_nulls);
void iforest_sweep_release(struct iforest_sweep *sweep);

/* Gives the next series, in ascending order, that has an entry in the window, removed ones included; *found is false after the
 * last.
 * Cost    a look at each block in between; pages that these are on are read once, and so are node pages above them.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_sweep_next(struct iforest_sweep *sweep, uint64_t *series, bool *found);

/* Adds the window's entries of the series given last to the aggregate. At most once for each; one that is not folded is passed.
 * Requires  with has_nulls the request has no times, firsts or lasts. The filter has no filtered nodes.
 * Errors    as iforest_fold_until(). */
enum iforest_status iforest_sweep_fold(struct iforest_sweep *sweep, const struct iforest_request *request,
				       struct iforest_aggregate *aggregate);

#endif
