/* progress.h -- a bar on the terminal while an index is made. */
#ifndef IFOREST_SQLITE_PROGRESS_H
#define IFOREST_SQLITE_PROGRESS_H

#include "sqlite_ext/storage/engine.h"

struct iforest_progress {
	const char *what;        /* "reading", "writing" */
	sqlite3_int64 n_done, n_all;
	int n_percent;           /* last shown; -1: nothing yet */
	bool is_on;              /* standard error is a terminal, and the work is worth a bar */
};

/* Turns the bar on if standard error is a terminal and there are rows enough that one waits for them. */
void iforest_progress_start(struct iforest_progress *progress, sqlite3_int64 n_rows);

/* Is standard error a terminal? If not, nobody needs to count rows for a bar. */
bool iforest_progress_is_possible(void);

/* Begins a stage at 0 of n_all, counts one, or takes the bar off the screen. */
void iforest_progress_stage(struct iforest_progress *progress, const char *what, sqlite3_int64 n_all);
void iforest_progress_step(struct iforest_progress *progress);
void iforest_progress_end(struct iforest_progress *progress);

#endif
