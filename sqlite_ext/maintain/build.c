#include "sqlite_ext/maintain/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { FEWEST_ROWS = 200000, WIDTH = 40 };

bool iforest_progress_is_possible(void)
{
	return isatty(STDERR_FILENO);
}

void iforest_progress_start(struct iforest_progress *progress, sqlite3_int64 n_rows)
{
	*progress = (struct iforest_progress){ .n_percent = -1,
					       .is_on = n_rows >= FEWEST_ROWS && iforest_progress_is_possible() };
}

void iforest_progress_stage(struct iforest_progress *progress, const char *what, sqlite3_int64 n_all)
{
	progress->what = what;
	progress->n_all = n_all;
	progress->n_done = 0;
	progress->n_percent = -1;
}

void iforest_progress_step(struct iforest_progress *progress)
{
	int n_percent;

	if (!progress->is_on)
		return;
	progress->n_done++;
	n_percent = (int)(100.0 * (double)progress->n_done / (double)progress->n_all);
	if (n_percent == progress->n_percent || n_percent > 100)
		return;
	progress->n_percent = n_percent;
	fprintf(stderr, "\riforest: %-8s [%-*.*s] %3d %%", progress->what, WIDTH, n_percent * WIDTH / 100,
		"########################################", n_percent);
	fflush(stderr);
}

void iforest_progress_end(struct iforest_progress *progress)
{
	if (progress->is_on && progress->n_percent >= 0)
		fprintf(stderr, "\r%*s\r", WIDTH + 30, "");
	progress->is_on = false;
}
