/* tests/support/examples.h -- SQL in a Markdown file: the statements of its fenced blocks, each with what the file shows
 * below it.
 *
 * Fails through cmocka, so it is for tests only.
 */
#ifndef TESTS_EXAMPLES_H
#define TESTS_EXAMPLES_H

#include <stdbool.h>

struct example {
	const char *path; /* its first line's place */
	int line;
	char sql[8000];   /* a newline after each line of it */
	char shown[8000]; /* the "-- " lines after it, without those signs */
	bool has_shown;
};

struct example_runner {
	bool (*is_complete)(const char *sql); /* is the statement whole with its last line? */
	void (*run)(void *context, const struct example *example);
	void *context;
};

/* Runs the statements of the blocks that begin with the line `fence`, in order; gives how many. Blank lines are skipped. Of a page
 * that says "The examples go on from those of [page.md]", those run before, and are not counted. A
 * statement that its block cuts off fails the test, and so does a file that is missing. */
int examples_run(const char *path, const char *fence, const struct example_runner *runner);

/* The whole file, or NULL if there is none. To be freed. */
char *read_whole_file(const char *path);

/* Cuts the line at *text off and moves on. NULL at the end. */
char *cut_line(char **text);

#endif
