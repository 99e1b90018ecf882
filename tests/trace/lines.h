/* tests/trace/lines.h -- Lists of text lines, compared as multisets: what was read against what was expected. */
#ifndef TESTS_TRACE_LINES_H
#define TESTS_TRACE_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty list. */
struct lines {
	char **lines; /* owned */
	size_t n, n_allocated;
};

__attribute__((format(printf, 2, 3))) void lines_add(struct lines *lines, const char *format, ...);
void lines_sort(struct lines *lines);
bool lines_have(const struct lines *sorted, const char *line);
void lines_release(struct lines *lines);

/* Fails unless both have the same lines; or, if `part`, unless all found lines are expected. Sorts and releases both. */
void lines_compare(const char *name, struct lines *found, struct lines *expected, bool part);

#endif
