/* trace/report.h -- Report of a trace: counts of omissions and repairs by reason, and the error that stopped the reading.
 */
#ifndef IFOREST_REPORT_H
#define IFOREST_REPORT_H

#include <stdarg.h>

#include "trace/model.h"
#include "trace/sorter.h"

enum { TRACE_N_REPORT_LINES = 200, TRACE_N_NAMED_LINES = 20, TRACE_REPORT_BYTES = 101, TRACE_PROBLEM_BYTES = 400 };

/* What stopped it. */
struct trace_problem {
	bool has_offset;
	uint64_t offset; /* byte of the unpacked file */
	char text[TRACE_PROBLEM_BYTES];
};

/* All zero is empty. */
struct trace_report {
	struct trace_report_line lines[TRACE_N_REPORT_LINES];
	char texts[TRACE_N_REPORT_LINES][TRACE_REPORT_BYTES]; /* of the lines */
	size_t n_lines, n_named;
	struct trace_problem problem;
};

/* Returns line i, or NULL after the last. */
const struct trace_report_line *trace_report_line(const struct trace_report *report, size_t i);

/* Adds n to the line with that text, cut to TRACE_REPORT_BYTES. The line is created at its first use; when there are nearly
 * TRACE_N_REPORT_LINES, all further texts share one line. O(lines). */
void trace_report_count_text(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *text);

/* The same for `what` with a name of the file's, in which control characters become "?"; a name without data is left away.
 * There is a line for each of the first TRACE_N_NAMED_LINES names, and one for the others. */
void trace_report_count_named(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *what,
			      struct trace_text name);

/* The same for a text formatted as by printf. */
void trace_report_count(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *format,
			va_list arguments);

/* Records a problem at a byte of the file, with a text formatted as by printf. Returns the status. */
int trace_report_fail(struct trace_report *report, int status, uint64_t offset, const char *format, va_list arguments);

/* The same for a problem without a position in the file. */
int trace_report_fail_anywhere(struct trace_report *report, int status, const char *text);

/* Return the status, and record a problem if it is TRACE_ERROR_MEMORY; for a sorter, if it is any error. */
int trace_report_check(struct trace_report *report, int status);
int trace_report_check_sorter(struct trace_report *report, const struct trace_sorter *sorter, int status);

#endif
