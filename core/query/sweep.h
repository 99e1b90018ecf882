/* query/sweep.h -- Sweep over all series that have entries in a window: one aggregate per series, in page order.
 *
 *   scan.bucketing = ...; scan.request = ...;
 *   iforest_sweep_start(&sweep, &scan, 0, UINT32_MAX, false);
 *   while (!iforest_sweep_next(&sweep, &series, &found) && found)
 *           iforest_sweep_fold(&sweep, &request, &aggregate);
 *   iforest_sweep_release(&sweep);
 *
 * Starting a scan on each series would cost a descent per series, even for those without entries in the window. A sweep reads
 * the directories of the leaf pages in order instead: a series without entries in the window costs a look at its blocks, or a
 * search where they are many, and one with entries needs no descent. Only leaving a page takes a descent, so a series of many
 * pages is skipped as fast as by a scan.
 *
 *   leaf pages of two runs   | a a b c | c d f f | f ...      a sweep visits a, b, c, d, e, f: at each step the lowest
 *                            | b b b e e e f | g ...          series at the position of a run or of the joined batch
 */
#ifndef IFOREST_QUERY_SWEEP_H
#define IFOREST_QUERY_SWEEP_H

#include "core/query/scan.h"

/* The position in a run: the first entry in the window, of any series, that has not been passed. */
struct iforest_sweep_run {
	struct iforest_fold *fold;
	uint64_t series; /* UINT64_MAX: at the end */
	unsigned
		end; /* entry of the position's block where the window ends; the number of its entries if later, or not known */
	bool is_short; /* the series has no entries in the window after `end` */
};

struct iforest_sweep {
	struct iforest_scan *scan;
	struct iforest_window window;
	uint64_t last;			/* series to return */
	bool has_nulls;			/* entries without a time are part of the window */
	struct iforest_sweep_run *runs; /* scan->n_folds of them */
	uint64_t in_batch;		/* the series of the position in the joined batch */
	uint64_t series;		/* returned last; UINT64_MAX: none, or it has been passed */
};

/* A sweep pays from this many series on, if it returns at least one in so many of all. Otherwise descents are cheaper. */
enum { IFOREST_FEWEST_SWEPT_SERIES = 64, IFOREST_MOST_PASSED_SERIES = 8 };

/* Starts a sweep over the series from first to last. The window is that of scan->bucketing, whose mode is IFOREST_WHOLE.
 * has_nulls: entries without a time count, too; the window then has no bounds. Runs and batches must have been joined to the
 * scan, which must not be started; the sweep owns its cursors until it is released.
 * Errors  IFOREST_NO_MEMORY, after which no release is needed; as iforest_cursor_seek(). */
enum iforest_status iforest_sweep_start(struct iforest_sweep *sweep, struct iforest_scan *scan, uint64_t first, uint64_t last,
					bool has_nulls);
void iforest_sweep_release(struct iforest_sweep *sweep);

/* Gives the next series, in ascending order, that has an entry in the window, removed ones included; *found is false after the
 * last.
 * Cost    a look at each series in between; their leaf pages, and the node pages above, are read once.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_sweep_next(struct iforest_sweep *sweep, uint64_t *series, bool *found);

/* Adds the window's entries of the series returned last to the aggregate. Call it at most once per series; a series not folded
 * is skipped.
 * Requires  with has_nulls, a request without times, firsts and lasts. The filter has no filtered nodes.
 * Errors    as iforest_fold_until(). */
enum iforest_status iforest_sweep_fold(struct iforest_sweep *sweep, const struct iforest_request *request,
				       struct iforest_aggregate *aggregate);

#endif
