/* tools/trace2sqlite.c -- Program that loads traces into an SQLite database: from the command line to the exit status.
 *
 * All files are loaded in one transaction: a load that fails, or is interrupted, leaves the database as it was, and no file if
 * there was none. The indexes are those of the extension, which is linked into the program.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/rows.h"
#include "tools/terminal.h"
#include "tools/time_sample.h"
#include "trace/trace.h"

enum exit_status { EXIT_LOADED = 0, EXIT_NOT_LOADED = 1, EXIT_USAGE = 2 };

enum { ROWS_A_PROGRESS_STEP = 256, SQL_BYTES = 3000, PREFIX_BYTES = 24, NAME_BYTES = 300, OPTION_TABLE = 256 };

struct loader {
	const char *database_path;
	char **paths;
	int n_paths;
	const char *tables[N_TABLES]; /* names as given on the command line */
	bool replace, args, index;
	uint64_t max_rows, max_bytes; /* 0: no limit */

	sqlite3 *database;
	sqlite3_stmt *inserts[N_TABLES];
	struct trace *trace;
	struct row_maker maker;
	struct progress progress;
	uint64_t n_rows[N_TABLES];
	struct time_sample times[N_TABLES]; /* of spans, counter samples and instants */
	double start_s;
	bool is_failed; /* in the database, which has the message */
	bool is_new;	/* there was no database */
	bool has_too_many_rows;
};

/* The entry point of the extension. */
int sqlite3_iforest_init(sqlite3 *database, char **message, const struct sqlite3_api_routines *api);

/* The message may quote a file or a name in it. */
static void complain(const char *message)
{
	fputs("trace2sqlite: ", stderr);
	terminal_print_lines(stderr, message);
	fputc('\n', stderr);
}

/* The same with the database's path before it. */
static void complain_of_database(const struct loader *loader, const char *message)
{
	fputs("trace2sqlite: ", stderr);
	terminal_print(stderr, loader->database_path);
	fputs(": ", stderr);
	terminal_print_lines(stderr, message);
	fputc('\n', stderr);
}

static bool interrupted(struct loader *loader)
{
	if (!interrupt_signal())
		return false;
	progress_end(&loader->progress);
	complain("interrupted");
	return true;
}

static bool database_failed(struct loader *loader)
{
	int rc = sqlite3_errcode(loader->database);

	if (interrupted(loader))
		return false;
	progress_end(&loader->progress);
	if (rc == SQLITE_NOTADB)
		complain_of_database(loader, "not a database; the database comes first, then the traces");
	else if (rc == SQLITE_CANTOPEN || rc == SQLITE_FULL || rc == SQLITE_IOERR)
		complain_of_database(loader, sqlite3_errmsg(loader->database));
	else
		complain(sqlite3_errmsg(loader->database));
	return false;
}

/* Runs SQL from sqlite3_mprintf(), and frees it. */
static bool run(struct loader *loader, char *sql)
{
	int rc = sql ? sqlite3_exec(loader->database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc == SQLITE_OK || database_failed(loader);
}

/* ---- Tables ---- */

/* Each format has the name of its table twice. `suffix` is what the name of a virtual table adds to that of its table. */
static const struct {
	enum loaded_table table;
	const char *suffix, *format;
} indexes[] = {
	{ TABLE_SPANS, "_if",
	  "CREATE VIRTUAL TABLE \"%w_if\" USING iforest(content=\"%w\", time=ts, duration=dur, by=(track, depth))" },
	{ TABLE_SPANS, "_rows", "CREATE VIRTUAL TABLE \"%w_rows\" USING iforest_rows(\"%w_if\")" },
	{ TABLE_SPANS, "_overlap", "CREATE VIRTUAL TABLE \"%w_overlap\" USING iforest_overlap(\"%w_if\")" },
	{ TABLE_COUNTERS, "_if",
	  "CREATE VIRTUAL TABLE \"%w_if\" USING iforest(content=\"%w\", time=ts, value=value, "
	  "by=(track, name, counter_id, key))" },
	{ TABLE_INSTANTS, "_if",
	  "CREATE VIRTUAL TABLE \"%w_if\" USING iforest(content=\"%w\", time=ts, value=id, by=(track))" },
	{ TABLE_FLOWS, "_if",
	  "CREATE VIRTUAL TABLE \"%w_if\" USING iforest(content=\"%w\", time=from_ts, value=id, by=(from_track))" },
	{ TABLE_FLOWS, "_to_if",
	  "CREATE VIRTUAL TABLE \"%w_to_if\" USING iforest(content=\"%w\", time=to_ts, value=id, by=(to_track))" },
	{ TABLE_FLOWS, NULL, "CREATE INDEX \"%w_from_span\" ON \"%w\"(from_span)" },
	{ TABLE_FLOWS, NULL, "CREATE INDEX \"%w_to_span\" ON \"%w\"(to_span)" },
};

enum { N_INDEXES = sizeof indexes / sizeof *indexes };

static const char *column_definitions(const struct loaded_definition *definition, char list[SQL_BYTES])
{
	static const char *const types[] = { "INTEGER", "REAL", "TEXT", "TEXT" };
	size_t n = 0;

	for (int i = 0; i < definition->n_columns; i++)
		n += (size_t)snprintf(list + n, SQL_BYTES - n, "%s%s %s%s", i ? ", " : "", definition->columns[i].name,
				      types[definition->columns[i].type],
				      i == 0				   ? " PRIMARY KEY"
				      : definition->columns[i].is_required ? " NOT NULL"
									   : "");
	return list;
}

/* Drops each index before its table. */
static bool drop_tables(struct loader *loader)
{
	for (int i = N_INDEXES - 1; i >= 0; i--) {
		if (indexes[i].suffix && !run(loader, sqlite3_mprintf("DROP TABLE IF EXISTS \"%w%s\"",
								      loader->tables[indexes[i].table], indexes[i].suffix)))
			return false;
	}
	for (int i = 0; i < N_TABLES; i++) {
		if (!run(loader, sqlite3_mprintf("DROP TABLE IF EXISTS \"%w\"", loader->tables[i])))
			return false;
	}
	return true;
}

static bool make_table(struct loader *loader, int table)
{
	const struct loaded_definition *definition = &loaded_definitions[table];
	char list[SQL_BYTES], *sql;
	int rc;

	if (!run(loader,
		 sqlite3_mprintf("CREATE TABLE \"%w\"(%s)", loader->tables[table], column_definitions(definition, list))))
		return false;
	list[0] = 0;
	for (int i = 1; i < definition->n_columns; i++)
		strcat(list, ", ?");
	sql = sqlite3_mprintf("INSERT INTO \"%w\" VALUES(?%s)", loader->tables[table], list);
	rc = sql ? sqlite3_prepare_v3(loader->database, sql, -1, SQLITE_PREPARE_PERSISTENT, &loader->inserts[table], NULL)
		 : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc == SQLITE_OK || database_failed(loader);
}

static bool make_tables(struct loader *loader)
{
	if (loader->replace && !drop_tables(loader))
		return false;
	for (int i = 0; i < N_TABLES; i++) {
		if (!make_table(loader, i))
			return false;
	}
	return true;
}

static bool make_indexes(struct loader *loader)
{
	progress_stage(&loader->progress, "indexing");
	for (int i = 0; i < N_INDEXES; i++) {
		const char *table = loader->tables[indexes[i].table];

		if (!run(loader, sqlite3_mprintf(indexes[i].format, table, table)))
			return false;
	}
	return true;
}

/* ---- Rows ---- */

static int bind_value(sqlite3_stmt *insert, int i, enum loaded_type type, const struct loaded_value *value)
{
	if (value->is_null)
		return sqlite3_bind_null(insert, i);
	switch (type) {
	case LOADED_INTEGER:
		return sqlite3_bind_int64(insert, i, value->integer);
	case LOADED_REAL:
		return sqlite3_bind_double(insert, i, value->real);
	default:
		return sqlite3_bind_text64(insert, i, value->text.data, value->text.n_bytes, SQLITE_STATIC, SQLITE_UTF8);
	}
}

static uint64_t n_all_rows(const struct loader *loader)
{
	uint64_t n_rows = 0;

	for (int i = 0; i < N_TABLES; i++)
		n_rows += loader->n_rows[i];
	return n_rows;
}

static void show_progress(struct loader *loader)
{
	progress_step(&loader->progress, trace_position(loader->trace), n_all_rows(loader));
}

/* Returns a status for the sink, where a negative one stops the reading. */
static int insert_row(struct loader *loader, const struct loaded_row *row)
{
	const struct loaded_definition *definition;
	sqlite3_stmt *insert;
	int rc = SQLITE_OK;

	if (!row)
		return TRACE_ERROR_MEMORY;
	loader->has_too_many_rows = loader->max_rows > 0 && n_all_rows(loader) == loader->max_rows;
	if (loader->has_too_many_rows || interrupt_signal())
		return TRACE_ERROR_READ;
	definition = &loaded_definitions[row->table];
	insert = loader->inserts[row->table];
	for (int i = 0; rc == SQLITE_OK && i < definition->n_columns; i++)
		rc = bind_value(insert, i + 1, definition->columns[i].type, &row->values[i]);
	if (rc == SQLITE_OK)
		sqlite3_step(insert);
	if (rc != SQLITE_OK || sqlite3_reset(insert) != SQLITE_OK) {
		loader->is_failed = true;
		return TRACE_ERROR_READ;
	}
	if (row->table == TABLE_SPANS || row->table == TABLE_COUNTERS || row->table == TABLE_INSTANTS)
		time_sample_add(&loader->times[row->table], row->values[1].integer);
	if (loader->n_rows[row->table]++ % ROWS_A_PROGRESS_STEP == 0)
		show_progress(loader);
	return TRACE_OK;
}

static int on_span(void *context, const struct trace_span *span)
{
	struct loader *loader = context;

	return insert_row(loader, row_of_span(&loader->maker, span));
}

static int on_sample(void *context, const struct trace_sample *sample)
{
	struct loader *loader = context;

	return insert_row(loader, row_of_sample(&loader->maker, sample));
}

static int on_instant(void *context, const struct trace_instant *instant)
{
	struct loader *loader = context;

	return insert_row(loader, row_of_instant(&loader->maker, instant));
}

static int on_flow(void *context, const struct trace_flow *flow)
{
	struct loader *loader = context;

	return insert_row(loader, row_of_flow(&loader->maker, flow));
}

static int on_track(void *context, const struct trace_track *track)
{
	struct loader *loader = context;

	return insert_row(loader, row_of_track(&loader->maker, track));
}

static bool read_file(struct loader *loader, const char *path)
{
	const struct trace_sink sink = { loader, on_span, on_sample, on_instant, on_flow, on_track };
	const struct trace_options options = {
		.args = loader->args, .complete = true, .needs_rows = true, .max_bytes = loader->max_bytes
	};
	const struct trace_report_line *line;
	int status = trace_open(path, &options, &sink, &loader->trace);

	progress_start(&loader->progress, "trace2sqlite", path);
	while (status >= 0 && !interrupt_signal() && (status = trace_step(loader->trace)) == TRACE_ROW)
		show_progress(loader);
	for (size_t i = 0; status == TRACE_OK && (line = trace_report(loader->trace, i)); i++)
		status = insert_row(loader, row_of_report_line(&loader->maker, line));
	progress_end(&loader->progress);
	if (interrupted(loader))
		return false;
	if (status == TRACE_OK)
		return true;
	if (loader->is_failed)
		return database_failed(loader);
	if (loader->has_too_many_rows)
		fprintf(stderr, "trace2sqlite: more than %" PRIu64 " rows, which --max-rows allows\n", loader->max_rows);
	else
		complain(trace_error(loader->trace));
	return false;
}

static void print_report_line(const struct trace_report_line *line)
{
	printf("  %s: %" PRIu64 " ", line->finding == TRACE_MENDED ? "mended" : "left out", line->n);
	terminal_print(stdout, line->what);
	putchar('\n');
}

static void print_summary(const struct loader *loader, const char *path)
{
	const struct trace_counts *counts = trace_counts(loader->trace);
	const uint64_t n_rows[] = { [TABLE_SPANS] = counts->n_spans,
				    [TABLE_COUNTERS] = counts->n_samples,
				    [TABLE_INSTANTS] = counts->n_instants,
				    [TABLE_FLOWS] = counts->n_flows,
				    [TABLE_TRACKS] = counts->n_tracks };
	const struct trace_share share = trace_left_out(loader->trace);
	const struct trace_report_line *line;

	rows_print_share(stdout, path, &share);
	terminal_print(stdout, path);
	printf(" (%s): ", trace_format_name(loader->trace));
	for (int i = 0; i < TABLE_LEFT_OUT; i++) {
		fputs(i ? ", " : "", stdout);
		rows_print_count(stdout, (enum loaded_table)i, n_rows[i]);
	}
	printf(" (%.1f s)\n", progress_now_s() - loader->start_s);
	for (size_t i = 0; (line = trace_report(loader->trace, i)); i++)
		print_report_line(line);
}

/* If there are several files, the keys of a file's tracks begin with its number. Its rows are numbered after those of the files
 * before it. */
static bool load_file(struct loader *loader, int i)
{
	char prefix[PREFIX_BYTES];
	bool succeeded;

	snprintf(prefix, sizeof prefix, "%d:", i + 1);
	for (int table = 0; table < N_TABLES; table++)
		loader->maker.base.n_rows[table] = (int64_t)loader->n_rows[table];
	memset(loader->maker.n_rows, 0, sizeof loader->maker.n_rows);
	loader->maker.base.prefix = loader->n_paths > 1 ? prefix : NULL;
	succeeded = read_file(loader, loader->paths[i]);
	if (succeeded)
		print_summary(loader, loader->paths[i]);
	trace_close(loader->trace);
	loader->trace = NULL;
	return succeeded;
}

/* ---- The load ---- */

static bool load_all(struct loader *loader)
{
	if (!run(loader, sqlite3_mprintf("BEGIN IMMEDIATE")) || !make_tables(loader))
		return false;
	for (int i = 0; i < loader->n_paths; i++) {
		if (!load_file(loader, i))
			return false;
	}
	if (loader->index && !make_indexes(loader))
		return false;
	progress_stage(&loader->progress, "committing");
	if (!run(loader, sqlite3_mprintf("COMMIT")))
		return false;
	progress_end(&loader->progress);
	if (loader->index)
		printf("indexed with iforest\n");
	return true;
}

/* A table that the suggested statements ask, and a window that holds about half of its rows. */
struct suggestion {
	char *name; /* as it stands between quotes; NULL if there are no rows */
	int64_t a, b;
};

static void print_indexed_spans(const struct suggestion *spans)
{
	printf("  SELECT sum(count), sum(sum_dur), max(max_dur) FROM \"%s_if\"(%" PRId64 ", %" PRId64 ");\n", spans->name,
	       spans->a, spans->b);
	printf("  SELECT track, depth, count, sum_dur, max_dur FROM \"%s_if\"(%" PRId64 ", %" PRId64
	       ") ORDER BY sum_dur DESC;\n",
	       spans->name, spans->a, spans->b);
	printf("  SELECT bucket_start, depth, count, max_dur FROM \"%s_if\"(%" PRId64 ", %" PRId64
	       ", 40) WHERE track = (SELECT track FROM \"%s_if\"(%" PRId64 ", %" PRId64 ") ORDER BY count DESC LIMIT 1);\n",
	       spans->name, spans->a, spans->b, spans->name, spans->a, spans->b);
	printf("  SELECT s.* FROM (SELECT id FROM \"%s_rows\" WHERE ts >= %" PRId64 " AND ts < %" PRId64
	       " ORDER BY dur DESC LIMIT 5) JOIN \"%s\" s USING(id);\n",
	       spans->name, spans->a, spans->b, spans->name);
}

static void print_indexed(const struct suggestion asked[N_TABLES])
{
	const struct suggestion *counters = &asked[TABLE_COUNTERS], *instants = &asked[TABLE_INSTANTS];

	if (asked[TABLE_SPANS].name)
		print_indexed_spans(&asked[TABLE_SPANS]);
	if (counters->name)
		printf("  SELECT name, key, count, min_value, avg_value, max_value FROM \"%s_if\"(%" PRId64 ", %" PRId64 ");\n",
		       counters->name, counters->a, counters->b);
	if (instants->name)
		printf("  SELECT track, count FROM \"%s_if\"(%" PRId64 ", %" PRId64 ") ORDER BY count DESC;\n", instants->name,
		       instants->a, instants->b);
}

static void print_plain(const struct suggestion asked[N_TABLES])
{
	const struct suggestion *spans = &asked[TABLE_SPANS], *counters = &asked[TABLE_COUNTERS],
				*instants = &asked[TABLE_INSTANTS];

	if (spans->name)
		printf("  SELECT track, count(*), sum(dur), max(dur) FROM \"%s\" WHERE ts >= %" PRId64 " AND ts < %" PRId64
		       " GROUP BY track ORDER BY 3 DESC;\n",
		       spans->name, spans->a, spans->b);
	if (counters->name)
		printf("  SELECT name, key, count(*), min(value), avg(value), max(value) FROM \"%s\" WHERE ts >= %" PRId64
		       " AND ts < %" PRId64 " GROUP BY name, key;\n",
		       counters->name, counters->a, counters->b);
	if (instants->name)
		printf("  SELECT track, count(*) FROM \"%s\" WHERE ts >= %" PRId64 " AND ts < %" PRId64
		       " GROUP BY track ORDER BY 2 DESC;\n",
		       instants->name, instants->a, instants->b);
}

static void print_questions(struct loader *loader)
{
	static const enum loaded_table tables[] = { TABLE_SPANS, TABLE_COUNTERS, TABLE_INSTANTS };
	struct suggestion asked[N_TABLES] = { { 0 } };
	bool has_any = false;

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		enum loaded_table table = tables[i];

		if (loader->n_rows[table] == 0)
			continue;
		has_any = true;
		asked[table].name = sqlite3_mprintf("%w", loader->tables[table]);
		time_sample_window(&loader->times[table], &asked[table].a, &asked[table].b);
	}
	if (!has_any)
		return;
	printf("\nAsk next, in the shell: sqlite3 ");
	terminal_print_path(stdout, loader->database_path);
	putchar('\n');
	if (loader->index) {
		printf("  .load ./build/iforest\n");
		print_indexed(asked);
	} else {
		print_plain(asked);
	}
	for (int i = 0; i < N_TABLES; i++)
		sqlite3_free(asked[i].name);
}

/* Opens the database if there is one, or creates it. */
static int open_or_create(struct loader *loader)
{
	int rc = sqlite3_open_v2(loader->database_path, &loader->database, SQLITE_OPEN_READWRITE, NULL);

	if (rc != SQLITE_CANTOPEN)
		return rc;
	sqlite3_close(loader->database);
	rc = sqlite3_open_v2(loader->database_path, &loader->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	loader->is_new = rc == SQLITE_OK;
	return rc;
}

/* A database in memory, or one without a name, would be gone when the program ends. */
static bool open_database(struct loader *loader)
{
	const char *file;

	if (open_or_create(loader) != SQLITE_OK)
		return database_failed(loader);
	file = sqlite3_db_filename(loader->database, "main");
	if (file && *file)
		return true;
	fputs("trace2sqlite: the database is to be a file, and \"", stderr);
	terminal_print(stderr, loader->database_path);
	fputs("\" names none\n", stderr);
	loader->is_new = false;
	return false;
}

/* Removes the file that a failed load has created. With the lock held, and the file empty after the rollback, it is nobody
 * else's. */
static void remove_new_database(struct loader *loader)
{
	struct stat status;
	const char *file;

	if (!loader->is_new || sqlite3_exec(loader->database, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK)
		return;
	file = sqlite3_db_filename(loader->database, "main");
	if (file && stat(file, &status) == 0 && status.st_size == 0)
		remove(file);
	sqlite3_exec(loader->database, "ROLLBACK", NULL, NULL, NULL);
}

static void interrupt_database(void *database)
{
	sqlite3_interrupt(database);
}

static bool open_and_load(struct loader *loader)
{
	struct interrupt_action action = { .cancel = interrupt_database };
	bool succeeded;

	if (!open_database(loader))
		return false;
	action.context = loader->database;
	interrupt_cancels(&action);
	succeeded = load_all(loader);
	interrupt_cancels(NULL);
	return succeeded;
}

static int load(struct loader *loader)
{
	bool succeeded;

	interrupt_watch();
	sqlite3_auto_extension((void (*)(void))sqlite3_iforest_init);
	succeeded = open_and_load(loader);
	for (int i = 0; i < N_TABLES; i++)
		sqlite3_finalize(loader->inserts[i]);
	if (!succeeded) {
		sqlite3_exec(loader->database, "ROLLBACK", NULL, NULL, NULL);
		remove_new_database(loader);
	}
	sqlite3_close(loader->database);
	row_maker_release(&loader->maker);
	if (!succeeded) {
		complain("nothing was loaded");
		return interrupt_signal() ? EXIT_SIGNAL + interrupt_signal() : EXIT_NOT_LOADED;
	}
	print_questions(loader);
	return EXIT_LOADED;
}

/* ---- The command line ---- */

static const struct option long_options[] = {
	{ "spans", required_argument, NULL, OPTION_TABLE + TABLE_SPANS },
	{ "counters", required_argument, NULL, OPTION_TABLE + TABLE_COUNTERS },
	{ "instants", required_argument, NULL, OPTION_TABLE + TABLE_INSTANTS },
	{ "flows", required_argument, NULL, OPTION_TABLE + TABLE_FLOWS },
	{ "tracks", required_argument, NULL, OPTION_TABLE + TABLE_TRACKS },
	{ "left-out", required_argument, NULL, OPTION_TABLE + TABLE_LEFT_OUT },
	{ "replace", no_argument, NULL, 'r' },
	{ "max-rows", required_argument, NULL, 'R' },
	{ "max-bytes", required_argument, NULL, 'B' },
	{ "no-args", no_argument, NULL, 'a' },
	{ "no-index", no_argument, NULL, 'i' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"trace2sqlite loads traces (plain or gzip) into an SQLite database and indexes them with iforest.\n"
	"\n"
	"usage: trace2sqlite [options] FILE.db TRACE...        (TRACE may be -, standard input)\n"
	"\n"
	"      --spans TABLE       the table of spans (spans), and of the index TABLE_if\n"
	"      --counters TABLE    the table of counter samples (counters), and of the index TABLE_if\n"
	"      --instants TABLE, --flows TABLE, --tracks TABLE, --left-out TABLE    the other tables\n"
	"      --replace           drop the tables if they exist\n"
	"      --no-args           leave the arguments of spans and instants out\n"
	"      --no-index          make no indexes\n"
	"      --max-rows ROWS     load nothing if there are more rows, of all tables together\n"
	"      --max-bytes BYTES   load nothing if a trace has more bytes, unpacked\n"
	"  -h, --help              this\n"
	"      --version           the version\n"
	"\n"
	"Exit status: 0 loaded, 1 nothing was loaded, 2 wrong usage, 129, 130, 143 interrupted. docs/trace2sqlite.md has the columns and the rest.\n";

/* True if all tables have different names, virtual tables included. */
static bool names_differ(const struct loader *loader)
{
	char names[N_TABLES + N_INDEXES][NAME_BYTES];
	int n = 0;

	for (int i = 0; i < N_TABLES; i++)
		snprintf(names[n++], NAME_BYTES, "%s", loader->tables[i]);
	for (int i = 0; i < N_INDEXES; i++)
		if (indexes[i].suffix)
			snprintf(names[n++], NAME_BYTES, "%s%s", loader->tables[indexes[i].table], indexes[i].suffix);
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < i; j++) {
			if (strcasecmp(names[i], names[j]) == 0) {
				fputs("trace2sqlite: what is loaded needs a table each, not two in \"", stderr);
				terminal_print(stderr, names[i]);
				fputs("\"\n", stderr);
				return false;
			}
		}
	}
	return true;
}

/* Reads a positive number, the argument of an option. */
static bool take_limit(const char *option, const char *text, uint64_t *limit)
{
	char *end;

	errno = 0;
	*limit = strtoull(text, &end, 10);
	if (*text >= '1' && *text <= '9' && !*end && errno == 0)
		return true;
	fprintf(stderr, "trace2sqlite: %s needs a number from 1 on, and '", option);
	terminal_print(stderr, text);
	fputs("' is none\n", stderr);
	return false;
}

int main(int argc, char **argv)
{
	struct loader loader = { .args = true, .index = true, .start_s = progress_now_s() };
	const char *hidden = terminal_hidden_option(argc, argv);
	int option;

	if (hidden) {
		fputs("trace2sqlite: no option is called ", stderr);
		terminal_print(stderr, hidden);
		fputs("; trace2sqlite --help shows the usage\n", stderr);
		return EXIT_USAGE;
	}
	for (int i = 0; i < N_TABLES; i++)
		loader.tables[i] = loaded_definitions[i].name;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (option == 'r')
			loader.replace = true;
		else if (option == 'a')
			loader.args = false;
		else if (option == 'i')
			loader.index = false;
		else if (option == 'R' && take_limit("--max-rows", optarg, &loader.max_rows))
			continue;
		else if (option == 'B' && take_limit("--max-bytes", optarg, &loader.max_bytes))
			continue;
		else if (option == 'h')
			return fputs(help, stdout) < 0;
		else if (option == 'V')
			return puts("trace2sqlite " IFOREST_VERSION) < 0;
		else if (option >= OPTION_TABLE)
			loader.tables[option - OPTION_TABLE] = optarg;
		else
			return EXIT_USAGE; /* getopt has reported it */
	}
	if (argc - optind < 2) {
		complain("give a database and the files to load; trace2sqlite --help shows the usage");
		return EXIT_USAGE;
	}
	loader.database_path = argv[optind];
	loader.paths = argv + optind + 1;
	loader.n_paths = argc - optind - 1;
	for (int i = 0; i < loader.n_paths; i++)
		if (strcmp(loader.paths[i], "-") == 0)
			loader.paths[i] = "/dev/stdin";
	return names_differ(&loader) ? load(&loader) : EXIT_USAGE;
}
