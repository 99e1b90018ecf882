/* tools/progress.h -- Progress bar, shown if standard error is a terminal. */
#ifndef IFOREST_PROGRESS_H
#define IFOREST_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *program; /* begins each line */
	bool is_on;
	uint64_t n_file_bytes; /* size of the file on disk; 0 if unknown */
	double start_s, shown_s;
};

double progress_now_s(void);

/* Begins; path is the file that will be read. */
void progress_start(struct progress *progress, const char *program, const char *path);

/* Shows that n_bytes of the file and n_rows rows have been read; at most some times a second. */
void progress_step(struct progress *progress, uint64_t n_bytes, uint64_t n_rows);

/* Shows what the database is doing now. */
__attribute__((format(printf, 2, 3))) void progress_stage(struct progress *progress, const char *format, ...);

/* Clears the bar from the screen. May be called twice. */
void progress_end(struct progress *progress);

#endif
