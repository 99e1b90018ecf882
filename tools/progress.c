#include "tools/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 40 };

static const double BETWEEN_SHOWS_S = 0.2;

double progress_now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_start(struct progress *progress, const char *program, const char *path)
{
	struct stat file;

	*progress = (struct progress){ .program = program, .is_on = isatty(STDERR_FILENO), .start_s = progress_now_s() };
	if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
		progress->n_file_bytes = (uint64_t)file.st_size;
}

void progress_step(struct progress *progress, uint64_t n_bytes, uint64_t n_rows)
{
	double now_s, share;

	if (!progress->is_on)
		return;
	now_s = progress_now_s();
	if (now_s - progress->shown_s < BETWEEN_SHOWS_S)
		return;
	progress->shown_s = now_s;
	if (progress->n_file_bytes == 0) {
		fprintf(stderr, "\r%s: %llu rows", progress->program, (unsigned long long)n_rows);
	} else {
		share = (double)n_bytes / (double)progress->n_file_bytes;
		share = share > 1 ? 1 : share;
		fprintf(stderr, "\r%s: [%-*.*s] %3.0f %%  %llu rows  %.1f MB/s\033[K", progress->program, BAR_WIDTH,
			(int)(share * BAR_WIDTH), "########################################", 100 * share,
			(unsigned long long)n_rows, (double)n_bytes / 1e6 / (now_s - progress->start_s));
	}
	fflush(stderr);
}

void progress_stage(struct progress *progress, const char *format, ...)
{
	va_list arguments;

	if (!progress->is_on)
		return;
	progress_end(progress);
	fprintf(stderr, "%s: ", progress->program);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, " ...");
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->is_on)
		fprintf(stderr, "\r\033[K");
}
