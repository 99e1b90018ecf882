/* What the tests of trace2pg share: a folder for files, the program as a child process, and a connection beside it.
 *
 * Needs a server, by the PG* environment: tests/pg/cluster.sh run build/tests/tools/test_trace2pg */
#ifndef TESTS_TOOLS_HARNESS_H
#define TESTS_TOOLS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/types.h>

/* A run of trace2pg. */
struct child {
	pid_t pid;
	int output, errors; /* files behind the child's standard output and standard error */
	int status;	    /* of its exit; -1: killed */
	long peak_kib;	    /* of its memory */
	char out[8000], err[8000];
};

extern PGconn *pg; /* a session of the test's own */

/* cmocka's group setup and teardown: connects, makes the folder, and removes it. */
int harness_start(void **state);
int harness_stop(void **state);

/* The path of a file in the folder, good until the next but three such calls. */
const char *file_path(const char *name);
const char *write_file(const char *name, const void *data, size_t n_bytes);
const char *write_text(const char *name, const char *text);

/* Runs SQL of the test's own; the text is made as by printf. */
__attribute__((format(printf, 1, 2))) void run(const char *format, ...);
__attribute__((format(printf, 1, 2))) long long number_of(const char *format, ...);

/* Both queries have the same rows (columns and text of values), and some rows at that. */
void same_rows(const char *query, const char *expected);

/* Starts the program with arguments up to NULL, waits for it, or both. Waiting reads what it has printed. */
void start_child(struct child *child, const char *const arguments[]);
void wait_child(struct child *child);

/* Runs it and checks the exit status. The arguments are those of one run. */
#define LOAD(child, expected, ...) run_child(child, expected, (const char *const[]){ __VA_ARGS__, NULL })
void run_child(struct child *child, int expected_status, const char *const arguments[]);

/* Standard error (or output) has the text. */
void assert_says(const char *printed, const char *text);

#endif
