/* trace/report.h -- Report of a trace: what was left out or mended, counted by reason, and what stopped the reading.
 */
#ifndef IFOREST_REPORT_H
#define IFOREST_REPORT_H

#include <stdarg.h>

#include "trace/model.h"
#include "trace/sorter.h"

enum { TRACE_N_REPORT_LINES = 200, TRACE_REPORT_BYTES = 101, TRACE_PROBLEM_BYTES = 400 };

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
	size_t n_lines;
	struct trace_problem problem;
};

/* Line i, or NULL behind the last one. */
const struct trace_report_line *trace_report_line(const struct trace_report *report, size_t i);

/* Adds n to the line of that text, cut to TRACE_REPORT_BYTES. The line is made at its first use; when there are nearly
 * TRACE_N_REPORT_LINES, all other texts go into one. O(lines). */
void trace_report_count_text(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *text);

/* The same for a text that is made as by printf. */
void trace_report_count(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *format,
			va_list arguments);

/* Notes a problem at a byte of the file, and answers the status. The text is made as by printf. */
int trace_report_fail(struct trace_report *report, int status, uint64_t offset, const char *format, va_list arguments);

/* The same for a problem that has no place in the file. */
int trace_report_fail_anywhere(struct trace_report *report, int status, const char *text);

/* Answers the status, and notes the problem where it is TRACE_ERROR_MEMORY; of a sorter, where it is any error. */
int trace_report_check(struct trace_report *report, int status);
int trace_report_check_sorter(struct trace_report *report, const struct trace_sorter *sorter, int status);

#endif
