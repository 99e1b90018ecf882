/* query/sweep.h -- Sweep over all series that have entries in a window: one aggregate per series, page after page.
 *
 *   scan.bucketing = ...; scan.request = ...;
 *   iforest_sweep_start(&sweep, &scan, false);
 *   while (!iforest_sweep_next(&sweep, &series, &found) && found)
 *           iforest_sweep_fold(&sweep, &request, &aggregate);
 *   iforest_sweep_release(&sweep);
 *
 * Starting a scan on each series would cost a descent per series, even for those without entries in the window. A sweep reads
 * the directories of the leaf pages in order instead: a series without entries in the window costs a look at its blocks, and
 * one with entries needs no descent. Only leaving a page takes a descent, so a series of many pages is skipped as quickly as by
 * a scan.
 *
 *   leaf pages of two runs   | a a b c | c d f f | f ...      a sweep visits a, b, c, d, e, f: at each step the lowest
 *                            | b b b e e e f | g ...          series at which a run, or the joined batch, stands
 */
#ifndef IFOREST_QUERY_SWEEP_H
#define IFOREST_QUERY_SWEEP_H

#include "core/query/scan.h"

/* The position in a run: the first entry in the window, of any series, that has not been passed. */
struct iforest_sweep_run {
	struct iforest_fold *fold;
	uint64_t series; /* UINT64_MAX: all has been passed */
};

struct iforest_sweep {
	struct iforest_scan *scan;
	struct iforest_window window;
	bool has_nulls;			/* entries without a time belong to the window */
	struct iforest_sweep_run *runs; /* scan->n_folds of them */
	uint64_t in_batch;		/* the series of the position in the joined batch */
	uint64_t series;		/* given last; UINT64_MAX: none, or it has been passed */
};

/* Starts over all series. The window is that of scan->bucketing, whose mode is IFOREST_WHOLE. has_nulls: entries without a time
 * count, too; the window then has no bounds. The scan must be prepared, runs and batches joined; it is not to be started, and
 * its cursors belong to the sweep until that is released.
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
