#include "tests/trace/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1500, MOST_SHOWN = 20 };

void lines_add(struct lines *lines, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	if (lines->n == lines->n_allocated) {
		lines->n_allocated = lines->n_allocated ? 2 * lines->n_allocated : 1024;
		lines->lines = realloc(lines->lines, lines->n_allocated * sizeof *lines->lines);
		assert_non_null(lines->lines);
	}
	lines->lines[lines->n] = strdup(line);
	assert_non_null(lines->lines[lines->n]);
	lines->n++;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void lines_sort(struct lines *lines)
{
	if (lines->n > 0)
		qsort(lines->lines, lines->n, sizeof *lines->lines, by_text);
}

bool lines_have(const struct lines *sorted, const char *line)
{
	return sorted->n > 0 && bsearch(&line, sorted->lines, sorted->n, sizeof *sorted->lines, by_text);
}

void lines_release(struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->lines[i]);
	free(lines->lines);
	*lines = (struct lines){ 0 };
}

void lines_compare(const char *name, struct lines *found, struct lines *expected, bool part)
{
	size_t i = 0, j = 0, n_wrong = 0, n_missing = 0;

	lines_sort(found);
	lines_sort(expected);
	while (i < found->n || j < expected->n) {
		int order = i == found->n      ? 1
			    : j == expected->n ? -1
					       : strcmp(found->lines[i], expected->lines[j]);

		if (order < 0 && n_wrong++ < MOST_SHOWN)
			print_error("%s: not expected: %s\n", name, found->lines[i]);
		if (order > 0 && n_missing++ < MOST_SHOWN && !part)
			print_error("%s: not found:    %s\n", name, expected->lines[j]);
		i += order <= 0;
		j += order >= 0;
	}
	lines_release(found);
	lines_release(expected);
	assert_int_equal(n_wrong, 0);
	if (!part)
		assert_int_equal(n_missing, 0);
}
