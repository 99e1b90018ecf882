/* tests/support/examples.h -- Runner of the SQL in a Markdown file: the statements of its fenced blocks, each with the rows
 * that the file shows below it.
 *
 * Fails through cmocka, so it is for tests only.
 */
#ifndef TESTS_EXAMPLES_H
#define TESTS_EXAMPLES_H

#include <stdbool.h>

struct example {
	const char *path; /* where its first line is */
	int line;
	char sql[8000];   /* a newline after each line of it */
	char shown[8000]; /* the "-- " lines after it, without the "-- " */
	bool has_shown;
};

struct example_runner {
	bool (*is_complete)(const char *sql); /* true if the statement ends with its last line */
	void (*run)(void *context, const struct example *example);
	void *context;
};

/* Runs the statements of the blocks that begin with the line `fence`, in order, and returns how many there are. Blank lines are
 * skipped. If the page says "The examples go on from those of [page.md]", the examples of that page run before, and are not
 * counted. A statement that does not end in its block fails the test, and so does a missing file. */
int examples_run(const char *path, const char *fence, const struct example_runner *runner);

/* Returns the whole file, or NULL if there is none. The caller frees it. */
char *read_whole_file(const char *path);

/* Cuts off the line at *text, and moves *text to the next one. Returns NULL at the end. */
char *cut_line(char **text);

#endif
