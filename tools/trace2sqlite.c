/* tools/trace2sqlite.c -- Program that loads traces into an SQLite database: from the command line to the exit status.
 *
 * All files are loaded in one transaction: a load that fails, or is interrupted, leaves the database as it was. The indexes are
 * those of the extension, which is linked into the program.
 */
#include <getopt.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/progress.h"
#include "tools/rows.h"
#include "trace/trace.h"

enum exit_status { EXIT_LOADED = 0, EXIT_NOT_LOADED = 1, EXIT_USAGE = 2 };

enum { ROWS_A_PROGRESS_STEP = 256, SQL_BYTES = 3000, PREFIX_BYTES = 24, OPTION_TABLE = 256 };

struct loader {
	const char *database_path;
	char **paths;
	int n_paths;
	const char *tables[N_TABLES]; /* names as they are given */
	bool replace, args, index;

	sqlite3 *database;
	sqlite3_stmt *inserts[N_TABLES];
	struct trace *trace;
	struct row_maker maker;
	struct progress progress;
	uint64_t n_rows[N_TABLES];
	int64_t first_ns, last_ns; /* of spans */
	bool is_failed;		   /* the database has the problem */
};

/* The entry point of the extension. */
int sqlite3_iforest_init(sqlite3 *database, char **message, const struct sqlite3_api_routines *api);

static void complain(const char *what, const char *problem)
{
	fprintf(stderr, "trace2sqlite: %s%s\n", what, problem);
}

static bool database_failed(struct loader *loader)
{
	progress_end(&loader->progress);
	complain("", sqlite3_errmsg(loader->database));
	return false;
}

/* Runs SQL that is made as by sqlite3_mprintf; takes it over. */
static bool run(struct loader *loader, char *sql)
{
	int rc = sql ? sqlite3_exec(loader->database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc == SQLITE_OK || database_failed(loader);
}

/* ---- Tables ---- */

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

static bool make_table(struct loader *loader, int table)
{
	const struct loaded_definition *definition = &loaded_definitions[table];
	char list[SQL_BYTES], *sql;
	int rc;

	if (loader->replace && !run(loader, sqlite3_mprintf("DROP TABLE IF EXISTS \"%w_if\"; DROP TABLE IF EXISTS \"%w\"",
							    loader->tables[table], loader->tables[table])))
		return false;
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
	for (int i = 0; i < N_TABLES; i++) {
		if (!make_table(loader, i))
			return false;
	}
	return true;
}

static bool make_indexes(struct loader *loader)
{
	progress_stage(&loader->progress, "indexing");
	return run(loader,
		   sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w_if\" USING iforest(content=\"%w\", time=ts, duration=dur, "
				   "by=(track, depth))",
				   loader->tables[TABLE_SPANS], loader->tables[TABLE_SPANS])) &&
	       run(loader, sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w_if\" USING iforest(content=\"%w\", time=ts, value=value, "
					   "by=(pid, name, counter_id, key))",
					   loader->tables[TABLE_COUNTERS], loader->tables[TABLE_COUNTERS]));
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

static void widen_range(struct loader *loader, int64_t ts_ns)
{
	if (loader->n_rows[TABLE_SPANS] == 0 || ts_ns < loader->first_ns)
		loader->first_ns = ts_ns;
	if (loader->n_rows[TABLE_SPANS] == 0 || ts_ns > loader->last_ns)
		loader->last_ns = ts_ns;
}

/* For a sink: a negative status stops the reading. */
static int insert_row(struct loader *loader, const struct loaded_row *row)
{
	const struct loaded_definition *definition;
	sqlite3_stmt *insert;
	int rc = SQLITE_OK;

	if (!row)
		return TRACE_ERROR_MEMORY;
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
	if (row->table == TABLE_SPANS)
		widen_range(loader, row->values[1].integer);
	if (loader->n_rows[row->table]++ % ROWS_A_PROGRESS_STEP == 0)
		progress_step(&loader->progress, trace_position(loader->trace), loader->n_rows[TABLE_SPANS]);
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
	const struct trace_options options = { .args = loader->args, .complete = true };
	const struct trace_report_line *line;
	int status = trace_open(path, &options, &sink, &loader->trace);

	progress_start(&loader->progress, "trace2sqlite", path);
	while (status >= 0 && (status = trace_step(loader->trace)) == TRACE_ROW)
		progress_step(&loader->progress, trace_position(loader->trace), loader->n_rows[TABLE_SPANS]);
	for (size_t i = 0; status == TRACE_OK && (line = trace_report(loader->trace, i)); i++)
		status = insert_row(loader, row_of_report_line(&loader->maker, line));
	progress_end(&loader->progress);
	if (status == TRACE_OK)
		return true;
	if (loader->is_failed)
		return database_failed(loader);
	complain("", trace_error(loader->trace));
	return false;
}

static void print_summary(const struct loader *loader, const char *path)
{
	const struct trace_counts *counts = trace_counts(loader->trace);
	const struct trace_report_line *line;

	printf("%s (%s): %" PRIu64 " spans, %" PRIu64 " counter samples, %" PRIu64 " instants, %" PRIu64 " flows, %" PRIu64
	       " tracks\n",
	       path, trace_format_name(loader->trace), counts->n_spans, counts->n_samples, counts->n_instants, counts->n_flows,
	       counts->n_tracks);
	for (size_t i = 0; (line = trace_report(loader->trace, i)); i++)
		printf("  %s: %" PRIu64 " %s\n", line->finding == TRACE_MENDED ? "mended" : "left out", line->n, line->what);
}

/* Of several files each has its number before the keys of its tracks, and its rows come behind those of the files before. */
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
	return true;
}

static void print_questions(const struct loader *loader)
{
	const char *spans = loader->tables[TABLE_SPANS];
	int64_t width = loader->last_ns / 4 - loader->first_ns / 4;

	printf("\nAsk next, in the shell: sqlite3 %s\n", loader->database_path);
	if (!loader->index) {
		printf("  SELECT track, count(*), sum(dur), max(dur) FROM \"%s\" WHERE dur >= 0 GROUP BY track;\n", spans);
		return;
	}
	printf("  .load ./build/iforest\n");
	printf("  SELECT track, depth, count, sum_dur, max_dur FROM \"%s_if\"(%" PRId64 ", %" PRId64 ");\n", spans,
	       loader->first_ns + width, loader->last_ns - width + 1);
	printf("  SELECT s.* FROM \"%s_if\" i JOIN \"%s\" s ON s.id = i.max_dur_id ORDER BY i.max_dur DESC LIMIT 5;\n", spans,
	       spans);
}

static enum exit_status load(struct loader *loader)
{
	bool succeeded;

	sqlite3_auto_extension((void (*)(void))sqlite3_iforest_init);
	if (sqlite3_open(loader->database_path, &loader->database) != SQLITE_OK) {
		database_failed(loader);
		succeeded = false;
	} else {
		succeeded = load_all(loader);
	}
	for (int i = 0; i < N_TABLES; i++)
		sqlite3_finalize(loader->inserts[i]);
	sqlite3_close(loader->database);
	row_maker_release(&loader->maker);
	if (!succeeded) {
		complain("nothing was loaded", "");
		return EXIT_NOT_LOADED;
	}
	if (loader->n_rows[TABLE_SPANS] > 0)
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
	{ "no-args", no_argument, NULL, 'a' },
	{ "no-index", no_argument, NULL, 'i' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"trace2sqlite loads traces (plain or gzip) into an SQLite database and indexes them with iforest.\n"
	"\n"
	"usage: trace2sqlite [options] FILE.db TRACE...\n"
	"\n"
	"      --spans TABLE       the table of spans (spans), and of the index TABLE_if\n"
	"      --counters TABLE    the table of counter samples (counters), and of the index TABLE_if\n"
	"      --instants TABLE, --flows TABLE, --tracks TABLE, --left-out TABLE    the other tables\n"
	"      --replace           drop the tables if they exist\n"
	"      --no-args           leave the arguments of spans and instants out\n"
	"      --no-index          make no iforest indexes\n"
	"  -h, --help              this\n"
	"\n"
	"Exit status: 0 loaded, 1 nothing was loaded, 2 wrong usage. docs/trace2sqlite.md has the columns and the rest.\n";

int main(int argc, char **argv)
{
	struct loader loader = { .args = true, .index = true };
	int option;

	for (int i = 0; i < N_TABLES; i++)
		loader.tables[i] = loaded_definitions[i].name;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (option == 'r')
			loader.replace = true;
		else if (option == 'a')
			loader.args = false;
		else if (option == 'i')
			loader.index = false;
		else if (option == 'h')
			return fputs(help, stdout) < 0;
		else if (option >= OPTION_TABLE)
			loader.tables[option - OPTION_TABLE] = optarg;
		else
			return EXIT_USAGE; /* getopt has said why */
	}
	if (argc - optind < 2) {
		complain("give a database and the files to load; trace2sqlite --help shows the usage", "");
		return EXIT_USAGE;
	}
	loader.database_path = argv[optind];
	loader.paths = argv + optind + 1;
	loader.n_paths = argc - optind - 1;
	return load(&loader);
}
