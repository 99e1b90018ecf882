/* tests/trace/chrome_file.h -- A file of Chrome JSON that is written for the purpose, and what is read of it as text. */
#ifndef TESTS_CHROME_FILE_H
#define TESTS_CHROME_FILE_H

#include "trace/trace.h"

/* Of the tests, and the file in it. */
extern char folder[200], trace_path[240];

/* Set-up and tear-down of a group of tests. */
int make_folder(void **state);
int remove_folder(void **state);

void write_file(const void *data, size_t n_bytes);

/* What is asked for. */
struct choice {
	bool spans, counters, instants, flows, args, complete, strict;
	size_t piece_bytes;
};

extern const struct choice everything; /* but instants, flows and what `complete` has */

/* All events of a trace as text, one line each. */
struct reading {
	int status;
	char error[1000];
	struct trace_counts counts;
	size_t n_events, n_shown_bytes;
	int64_t closed_ns; /* of spans that have an end */
	char shown[8000], report[2000];
};

extern struct reading reading; /* the last one */

void read_path(const char *path, const struct choice *choice);

/* Fail unless the last reading is so. */
void expect_reading(int status, const char *shown);
void expect_report(const char *report);

/* Write the text, read everything of it, and fail unless that gives these events, or this error behind the path. */
void expect_events(const char *text, const char *shown);
void expect_error(const char *text, int status, const char *error);

#endif
