#include "trace/report.h"

#include <stdio.h>
#include <string.h>

#include "trace/utf8.h"

const struct trace_report_line *trace_report_line(const struct trace_report *report, size_t i)
{
	return i < report->n_lines ? &report->lines[i] : NULL;
}

/* Finds the line; NULL if there is none. */
static struct trace_report_line *find_line(struct trace_report *report, enum trace_finding finding, const char *text)
{
	for (size_t i = 0; i < report->n_lines; i++) {
		struct trace_report_line *line = &report->lines[i];

		if (line->finding == finding && strncmp(line->what, text, TRACE_REPORT_BYTES - 1) == 0)
			return line;
	}
	return NULL;
}

/* Finds or adds the line; NULL if there is no room. */
static struct trace_report_line *make_line(struct trace_report *report, enum trace_finding finding, const char *text)
{
	struct trace_report_line *line = find_line(report, finding, text);
	char *copy;

	if (line)
		return line;
	if (report->n_lines == TRACE_N_REPORT_LINES)
		return NULL;
	copy = report->texts[report->n_lines];
	line = &report->lines[report->n_lines++];
	snprintf(copy, TRACE_REPORT_BYTES, "%s", text);
	*line = (struct trace_report_line){ finding, copy, 0 };
	return line;
}

void trace_report_count_text(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *text)
{
	/* the last two lines are for all reasons without a line of their own, one for each kind of finding */
	bool is_nearly_full = report->n_lines >= TRACE_N_REPORT_LINES - 2;
	struct trace_report_line *line = make_line(report, finding, is_nearly_full ? "other reasons" : text);

	if (line)
		line->n += n;
}

/* Appends as much of a name as fits, without characters that would do something on a terminal. */
static void append_name(char text[TRACE_REPORT_BYTES], struct trace_text name)
{
	size_t n = strlen(text);

	for (size_t i = 0, n_bytes; i < name.n_bytes; i += n_bytes) {
		const unsigned char *at = (const unsigned char *)name.data + i;
		bool is_shown;

		n_bytes = trace_utf8_bytes(at, name.n_bytes - i);
		is_shown = n_bytes > 0 && at[0] >= 0x20 && at[0] != 0x7f && !(at[0] == 0xc2 && at[1] < 0xa0);
		if (n + (is_shown ? n_bytes : 1) > TRACE_REPORT_BYTES - 4)
			break;
		n_bytes = n_bytes > 0 ? n_bytes : 1;
		memcpy(text + n, is_shown ? (const char *)at : "?", is_shown ? n_bytes : 1);
		n += is_shown ? n_bytes : 1;
	}
	text[n] = 0;
}

void trace_report_count_named(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *what,
			      struct trace_text name)
{
	char text[TRACE_REPORT_BYTES];

	if (!name.data) {
		trace_report_count_text(report, finding, n, what);
		return;
	}
	snprintf(text, sizeof text, "%.40s: ", what);
	append_name(text, name);
	if (!find_line(report, finding, text)) {
		if (report->n_named == TRACE_N_NAMED_LINES)
			snprintf(text, sizeof text, "%.40s, of other names", what);
		else
			report->n_named++;
	}
	trace_report_count_text(report, finding, n, text);
}

void trace_report_count(struct trace_report *report, enum trace_finding finding, uint64_t n, const char *format,
			va_list arguments)
{
	char text[TRACE_REPORT_BYTES];

	vsnprintf(text, sizeof text, format, arguments);
	trace_report_count_text(report, finding, n, text);
}

int trace_report_fail(struct trace_report *report, int status, uint64_t offset, const char *format, va_list arguments)
{
	struct trace_problem *problem = &report->problem;

	problem->has_offset = true;
	problem->offset = offset;
	vsnprintf(problem->text, sizeof problem->text, format, arguments);
	return status;
}

int trace_report_fail_anywhere(struct trace_report *report, int status, const char *text)
{
	report->problem.has_offset = false;
	snprintf(report->problem.text, sizeof report->problem.text, "%s", text);
	return status;
}

int trace_report_check(struct trace_report *report, int status)
{
	return status == TRACE_ERROR_MEMORY ? trace_report_fail_anywhere(report, status, "out of memory") : status;
}

int trace_report_check_sorter(struct trace_report *report, const struct trace_sorter *sorter, int status)
{
	if (status == TRACE_ERROR_TEMPORARY)
		return trace_report_fail_anywhere(report, status, trace_sorter_problem(sorter));
	if (status == TRACE_ERROR_LIMIT)
		return trace_report_fail_anywhere(report, status, "an event is too long to be sorted");
	return trace_report_check(report, status);
}
