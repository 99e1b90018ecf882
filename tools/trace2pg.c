/* tools/trace2pg.c -- Program that loads a trace into PostgreSQL: from the command line to the exit status. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/connection.h"
#include "tools/interrupt.h"
#include "tools/load.h"
#include "tools/options.h"
#include "tools/tables.h"
#include "tools/terminal.h"

enum exit_status { EXIT_LOADED = 0, EXIT_NOT_LOADED = 1, EXIT_USAGE = 2, EXIT_NOT_INDEXED = 3 };

/* The problem may quote a file or a name in it. */
static void complain(const char *what, const char *problem)
{
	fprintf(stderr, "trace2pg: %s", what);
	terminal_print_lines(stderr, problem);
	fputc('\n', stderr);
}

static void print_counts(FILE *file, const uint64_t n_rows[N_TABLES], char *const names[N_TABLES])
{
	for (int i = 0; i < TABLE_LEFT_OUT; i++) {
		fputs(i ? ", " : "", file);
		rows_print_count(file, (enum loaded_table)i, n_rows[i]);
		fprintf(file, " in %s", names[i]);
	}
}

static void explain_failure(const struct load *load, enum load_status status)
{
	switch (status) {
	case LOAD_OK:
		break;
	case LOAD_INTERRUPTED:
		complain("", "interrupted");
		break;
	case LOAD_BAD_TRACE:
		complain("", trace_error(load->trace));
		break;
	case LOAD_SERVER:
		complain(connection_is_alive(load->connection) ? "" : "the connection is lost: ", load->connection->problem);
		break;
	case LOAD_OTHER_ROWS:
		fputs("trace2pg: ", stderr);
		terminal_print(stderr, load->options->path);
		fputs(" does not begin with the rows in the tables; nothing was added\n", stderr);
		break;
	case LOAD_TOO_MANY_ROWS:
		fprintf(stderr, "trace2pg: more than %" PRIu64 " rows, which --max-rows allows\n", load->options->max_rows);
		break;
	case LOAD_MEMORY:
		complain("", "out of memory");
		break;
	}
}

static const char *advice(const struct load *load, enum load_status status)
{
	if (status == LOAD_SERVER && !load->has_tables && tables_exist_already(load->connection))
		return "--replace drops such tables, --resume goes on with them, --spans and --counters choose others";
	if (status == LOAD_OTHER_ROWS)
		return "--replace begins anew, as a file that has grown needs; --no-args must be as it was, and nobody else may have "
		       "changed the rows";
	if (status == LOAD_BAD_TRACE)
		return "once the file is mended, go on with --resume";
	return "to go on, run the same command with --resume (instead of --replace)";
}

/* Prints what went wrong, what is committed, and what to do next. */
static void report_failure(const struct load *load, enum load_status status)
{
	uint64_t n_read[N_TABLES];

	for (int i = 0; i < N_TABLES; i++)
		n_read[i] = load->sums[i].n_rows;
	explain_failure(load, status);
	fprintf(stderr, "trace2pg: committed: ");
	if (load->has_tables)
		print_counts(stderr, load->n_committed, load->options->tables);
	else
		fprintf(stderr, "nothing");
	if (load->is_commit_uncertain) {
		fprintf(stderr, "; or, as the last COMMIT had no answer, ");
		print_counts(stderr, n_read, load->options->tables);
	}
	fprintf(stderr, "\n");
	if (load->has_tables || load->is_commit_uncertain || tables_exist_already(load->connection))
		complain("", advice(load, status));
}

static void print_replaced(uint64_t n, const char *what)
{
	if (n > 0)
		printf("  %" PRIu64 " %s\n", n, what);
}

static void print_summary(const struct load *load)
{
	const struct storable_counts *replaced = &load->encoder.replaced;
	const struct trace_share share = trace_left_out(load->trace);
	const struct trace_report_line *line;

	rows_print_share(stdout, load->options->path, &share);
	terminal_print(stdout, load->options->path);
	printf(" (%s): ", trace_format_name(load->trace));
	print_counts(stdout, load->n_committed, load->options->tables);
	printf(" (%.1f s)\n", progress_now_s() - load->progress.start_s);
	for (size_t i = 0; (line = trace_report(load->trace, i)); i++) {
		printf("  %s: %" PRIu64 " ", line->finding == TRACE_MENDED ? "mended" : "left out", line->n);
		terminal_print(stdout, line->what);
		putchar('\n');
	}
	print_replaced(replaced->n_nul, "NUL characters became U+FFFD");
	print_replaced(replaced->n_malformed, "bytes (or escapes in args) that are no Unicode characters became U+FFFD");
}

/* All rows are loaded, so that a failure from here on is not a failure to load. */
static bool index_tables(struct load *load)
{
	char *const *names = load->options->tables;
	enum tables_indexed indexed;

	progress_stage(&load->progress, "indexing");
	indexed = tables_index(load->connection, names);
	progress_end(&load->progress);
	switch (indexed) {
	case TABLES_INDEXED:
		printf("indexed with iforest\n");
		return true;
	case TABLES_INDEXED_BEFORE:
		printf("iforest indexes are there already, and none was added\n");
		return true;
	case TABLES_NO_EXTENSION:
		complain("", load->connection->problem);
		complain("", "the extension iforest is not installed on this server, so the tables have no iforest index.\n"
			     "Build it on the server's machine with `make pg`, install it with `make install-pg`, and run");
		tables_print_indexes(stderr, names);
		return true;
	case TABLES_INDEX_FAILED:
		break;
	}
	complain("all rows are committed, but not indexed: ", load->connection->problem);
	complain("", "run the same command with --resume, or these statements:");
	tables_print_indexes(stderr, names);
	return false;
}

static bool vacuum_tables(struct load *load)
{
	for (int i = 0; i < N_TABLES; i++) {
		progress_stage(&load->progress, "VACUUM (ANALYZE) %s", load->options->tables[i]);
		if (!tables_vacuum(load->connection, load->options->tables[i])) {
			progress_end(&load->progress);
			complain("all rows are committed, but VACUUM (ANALYZE) failed: ", load->connection->problem);
			return false;
		}
	}
	progress_end(&load->progress);
	return true;
}

/* If a signal came, the exit status names it as the reason. */
static enum exit_status exit_of_failure(enum exit_status status)
{
	if (interrupt_signal())
		return EXIT_SIGNAL + interrupt_signal();
	return status;
}

static enum exit_status finish(struct load *load)
{
	bool is_ready;

	print_summary(load);
	is_ready = !load->options->index || index_tables(load);
	fflush(stdout);
	/* after a failure to index, the transaction is still open, and VACUUM could not run */
	is_ready = is_ready && vacuum_tables(load);
	if (is_ready && load_n_rows(load) > 0) {
		printf("\nAsk next:\n");
		tables_print_questions(stdout, load->options->tables, load->n_committed, &load->times);
	}
	return is_ready ? EXIT_LOADED : exit_of_failure(EXIT_NOT_INDEXED);
}

/* Reads how many rows are committed, and their sums. Sets has_tables if there are tables to continue with. */
static bool find_committed(struct load *load, char *sums[N_TABLES])
{
	int n_tables;

	if (!tables_count(load->connection, load->options->tables, &n_tables))
		return false;
	for (int i = 0; n_tables > 0 && i < N_TABLES; i++) {
		if (!tables_sums(load->connection, i, load->options->tables[i], &sums[i]))
			return false;
		load->n_committed[i] = strtoull(sums[i], NULL, 10);
	}
	load->has_tables = n_tables > 0;
	return true;
}

static enum exit_status load_file(struct load *load)
{
	char *sums[N_TABLES] = { NULL };
	enum load_status status;

	if (load->options->resume && !find_committed(load, sums)) {
		complain("cannot find out what is committed: ", load->connection->problem);
		status = LOAD_SERVER;
	} else {
		status = load_run(load, sums);
		if (status != LOAD_OK)
			report_failure(load, status);
	}
	for (int i = 0; i < N_TABLES; i++)
		free(sums[i]);
	return status == LOAD_OK ? finish(load) : exit_of_failure(EXIT_NOT_LOADED);
}

static enum exit_status run(struct load *load)
{
	enum load_status status = load_open(load);

	if (status == LOAD_OK && connection_open(load->connection, load->options->conninfo))
		return load_file(load);
	if (interrupt_signal())
		explain_failure(load, LOAD_INTERRUPTED);
	else if (status != LOAD_OK)
		explain_failure(load, status);
	else
		complain("", load->connection->problem);
	return exit_of_failure(EXIT_NOT_LOADED);
}

int main(int argc, char **argv)
{
	struct options options;
	struct connection connection = { 0 };
	struct load load = { .connection = &connection, .options = &options };
	enum options_answer answer = options_parse(&options, argc, argv);
	int status = answer == OPTIONS_HELP ? EXIT_LOADED : EXIT_USAGE;

	if (answer == OPTIONS_RUN) {
		interrupt_watch();
		status = run(&load);
		connection_close(&connection);
	}
	load_release(&load);
	options_release(&options);
	return status;
}
