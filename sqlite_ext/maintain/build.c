#include "sqlite_ext/maintain/build.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/bits.h"
#include "core/run/sorter.h"
#include "sqlite_ext/follow/mark.h"
#include "sqlite_ext/follow/row_decoder.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/follow/triggers.h"
#include "sqlite_ext/maintain/column_types.h"
#include "sqlite_ext/storage/engine.h"
#include "sqlite_ext/storage/pager.h"
#include "sqlite_ext/storage/temp_store.h"

/* ---- Progress bar on the terminal ---- */

struct progress_bar {
	const char *what; /* "reading", "writing" */
	sqlite3_int64 n_done, n_all;
	int n_percent; /* last shown; -1: none yet */
	bool is_on;    /* standard error is a terminal, and there are enough rows for a bar */
};

enum { FEWEST_ROWS = 200000, WIDTH = 40 };

/* True if standard error is a terminal. Otherwise rows need not be counted. */
static bool progress_is_possible(void)
{
	return isatty(STDERR_FILENO);
}

/* Turns the bar on if standard error is a terminal and there are enough rows to wait for. */
static void progress_start(struct progress_bar *progress, sqlite3_int64 n_rows)
{
	*progress = (struct progress_bar){ .n_percent = -1, .is_on = n_rows >= FEWEST_ROWS && progress_is_possible() };
}

/* Begins a stage at 0 of n_all. */
static void progress_stage(struct progress_bar *progress, const char *what, sqlite3_int64 n_all)
{
	progress->what = what;
	progress->n_all = n_all;
	progress->n_done = 0;
	progress->n_percent = -1;
}

static void progress_step(struct progress_bar *progress)
{
	int n_percent;

	if (!progress->is_on)
		return;
	progress->n_done++;
	n_percent = (int)(100.0 * (double)progress->n_done / (double)progress->n_all);
	if (n_percent == progress->n_percent || n_percent > 100)
		return;
	progress->n_percent = n_percent;
	fprintf(stderr, "\riforest: %-8s [%-*.*s] %3d %%", progress->what, WIDTH, n_percent * WIDTH / 100,
		"########################################", n_percent);
	fflush(stderr);
}

static void progress_end(struct progress_bar *progress)
{
	if (progress->is_on && progress->n_percent >= 0)
		fprintf(stderr, "\r%*s\r", WIDTH + 30, "");
	progress->is_on = false;
}

/* ---- The build ---- */

/* Rows are sorted in as much memory as CACHES times SQLite's page cache (USUAL_PAGES if its size is unknown), and at most in
 * MOST_BYTES. */
enum { CACHES = 16, USUAL_PAGES = 500, PAGE_BYTES = 4096, MOST_BYTES = 64 << 20 };

struct build {
	struct ifs_index *index;
	const struct ifs_definition *definition;
	const struct ifs_base_table *base_table;
	struct ifs_error *error;
	struct ifs_times times;
	struct iforest_text_forms forms; /* of times that are texts */
	struct iforest_node_schema fields;
	struct iforest_manifest manifest;
	struct ifs_dictionary series; /* all series of the table; their ids follow the order of values */
	struct ifs_temp_store temp_store;
	struct iforest_run_sorter sort;
	struct iforest_run_writer *writer;
	struct ifs_row_decoder rows;
	struct progress_bar progress;
	sqlite3_int64 n_rows; /* for the progress bar */
	uint32_t first_series, next_series;
	uint64_t series_checksum;
	sqlite3_int64 last_rowid;
	bool is_dense; /* the table's rowids are dense: follow/mark.h */
};

/* Sets the build's error for a status that core returned. */
static int build_error(struct build *build, enum iforest_status status)
{
	const char *fault = build->temp_store.store.fault.what;

	if (status && (build->temp_store.rc || fault))
		return ifs_error_set(build->error, build->temp_store.rc ? build->temp_store.rc : SQLITE_IOERR,
				     "%s: the temporary file in which rows are sorted: %s; name a folder with room in the "
				     "environment variable SQLITE_TMPDIR, or sort in memory: PRAGMA temp_store = MEMORY",
				     build->index->name, fault ? fault : sqlite3_errstr(build->temp_store.rc));
	return ifs_snapshot_error(build->index, build->index->snapshot, status, build->error);
}

/* Calls add() for each row of a query. */
static int for_each_row(struct build *build, sqlite3_stmt *statement, int (*add)(struct build *build, sqlite3_stmt *statement))
{
	int rc = SQLITE_OK, step = SQLITE_ROW;

	while (!rc && !build->rows.has_real_in_integers && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		rc = add(build, statement);
		progress_step(&build->progress);
	}
	if (!rc && step != SQLITE_ROW && step != SQLITE_DONE)
		rc = ifs_error_from_db(build->error, build->index->db, step);
	sqlite3_finalize(statement);
	return rc;
}

/* Prepares SELECT ... FROM "main"."spans" AS s, with the columns that append() writes. */
static int prepare(struct build *build, sqlite3_stmt **statement, void (*append)(const struct build *build, sqlite3_str *sql))
{
	sqlite3_str *sql = sqlite3_str_new(build->index->db);

	sqlite3_str_appendall(sql, "SELECT ");
	append(build, sql);
	sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS s", build->index->schema, build->base_table->name);
	ifs_definition_append_where(build->definition, "WHERE", sql);
	return ifs_prepare_text(build->error, build->index->db, statement, sql);
}

/* ---- series ---- */

/* Adds a series if it is new. Ids are assigned later: write_series(). */
static int note_series(void *context, const struct iforest_series_key *key, uint32_t *id)
{
	struct build *build = context;
	const struct ifs_series *series;
	enum iforest_status status = ifs_dictionary_find(&build->series, key->bytes, key->n_bytes, &series);

	*id = 0;
	if (!status && !series)
		status = ifs_dictionary_add(&build->series, 0, key->bytes, key->n_bytes);
	return build_error(build, status);
}

static int find_series(void *context, const struct iforest_series_key *key, uint32_t *id)
{
	struct build *build = context;
	const struct ifs_series *series;
	enum iforest_status status = ifs_dictionary_find(&build->series, key->bytes, key->n_bytes, &series);

	if (status)
		return build_error(build, status);
	if (!series)
		return ifs_error_set(build->error, SQLITE_ERROR,
				     "%s: \"%s\" gives other values when it is read again: its indexes are damaged "
				     "(PRAGMA integrity_check; REINDEX), or a by column is generated at random",
				     build->index->name, build->base_table->name);
	*id = series->id;
	return SQLITE_OK;
}

static void append_by(const struct build *build, sqlite3_str *sql)
{
	for (unsigned b = 0; b < build->definition->n_by; b++)
		sqlite3_str_appendf(sql, "%ss.\"%w\"", b > 0 ? ", " : "", build->definition->by[b].source);
}

static int note_series_of_row(struct build *build, sqlite3_stmt *statement)
{
	sqlite3_value *by[IFS_MAX_BY];
	uint64_t series;

	ifs_statement_columns(statement, 0, build->definition->n_by, by);
	return ifs_row_decode_series(&build->rows, by, &series);
}

/* Collects all series of the table. Without by columns there is one series, even if the table is empty. */
static int collect_series(struct build *build)
{
	sqlite3_stmt *statement;
	uint64_t series;
	int rc;

	build->rows.series_of = note_series;
	if (build->definition->n_by == 0)
		return ifs_row_decode_series(&build->rows, NULL, &series);
	progress_stage(&build->progress, "series", build->n_rows);
	rc = prepare(build, &statement, append_by);
	return rc ? rc : for_each_row(build, statement, note_series_of_row);
}

/* Assigns ids in the order of values, because queries read series in that order. */
static int write_series(struct build *build)
{
	struct ifs_dictionary *dictionary = &build->series;
	sqlite3_stmt *put = NULL;
	int rc = SQLITE_OK;

	ifs_dictionary_sort(dictionary);
	if (dictionary->n_series > UINT32_MAX - build->first_series)
		return build_error(build, IFOREST_TOO_LARGE);
	for (uint32_t s = 0; s < dictionary->n_series && !rc; s++) {
		struct ifs_series *series = dictionary->series[s];

		series->id = build->next_series++;
		rc = ifs_index_put_series(build->index, &put, series->id, series->key, series->n_bytes, build->error);
		build->series_checksum += iforest_series_key_checksum(series->id, series->key, series->n_bytes);
	}
	sqlite3_finalize(put);
	ifs_row_decoder_forget_series(&build->rows);
	build->rows.series_of = find_series;
	return rc;
}

/* ---- rows ---- */

static void append_columns(const struct build *build, sqlite3_str *sql)
{
	ifs_row_decoder_append_columns(build->definition, build->base_table, "s", sql);
}

static int add_row(struct build *build, sqlite3_stmt *statement)
{
	struct iforest_entry entry;
	int rc = ifs_row_decode_statement(&build->rows, statement, &entry);

	if (rc || build->rows.has_real_in_integers)
		return rc;
	if (entry.key.ref > build->last_rowid)
		build->last_rowid = entry.key.ref;
	return build_error(build, iforest_run_sorter_add(&build->sort, &entry));
}

/* With where=, the rows after the last one that meets the condition have been read, too. */
static int find_last_rowid(struct build *build)
{
	const char *rowid = build->base_table->rowid_column;
	sqlite3_stmt *statement;
	int rc = ifs_prepare(build->error, build->index->db, &statement, "SELECT max(\"%w\") FROM \"%w\".\"%w\"", rowid,
			     build->index->schema, build->base_table->name);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
		build->last_rowid = sqlite3_column_int64(statement, 0);
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(build->error, build->index->db, rc) : SQLITE_OK;
}

static int add_rows(struct build *build)
{
	sqlite3_stmt *statement;
	int rc = prepare(build, &statement, append_columns);

	if (rc)
		return rc;
	progress_stage(&build->progress, "reading", build->n_rows);
	rc = for_each_row(build, statement, add_row);
	if (rc || build->rows.has_real_in_integers)
		return rc;
	return build_error(build, iforest_run_sorter_finish(&build->sort, build->writer));
}

/* ---- the whole ---- */

static size_t sort_bytes(const struct build *build)
{
	uint64_t n_pages = ifs_pager_cache_size(build->index);
	uint64_t n_bytes = (n_pages > 0 ? n_pages : USUAL_PAGES) * PAGE_BYTES * CACHES;

	return n_bytes < MOST_BYTES ? (size_t)n_bytes : MOST_BYTES;
}

static int sort_and_build(struct build *build, struct iforest_run *run)
{
	int rc = build_error(build, iforest_run_writer_start(build->writer, &build->index->store, &build->manifest));

	if (rc)
		return rc;
	iforest_run_sorter_start(&build->sort, &build->temp_store.store, &build->manifest, sort_bytes(build));
	rc = add_rows(build);
	if (rc || build->rows.has_real_in_integers)
		iforest_run_writer_abandon(build->writer);
	else
		rc = build_error(build, iforest_run_writer_finish(build->writer, run));
	iforest_run_sorter_release(&build->sort);
	return rc;
}

static void show_read_page(void *progress, uint64_t n_read, uint64_t n_pages)
{
	if (n_read == 0)
		progress_stage(progress, "writing", (sqlite3_int64)n_pages);
	progress_step(progress);
}

static int write_run(struct build *build, struct iforest_run *run)
{
	int rc = build_error(build, iforest_manifest_init(&build->manifest, &ifs_alloc, &build->fields, IFS_SQLITE_PAGE_BYTES));

	if (rc)
		return rc;
	ifs_temp_store_init(&build->temp_store, build->index->db, show_read_page, &build->progress);
	rc = sort_and_build(build, run);
	ifs_temp_store_release(&build->temp_store);
	return rc;
}

/* Deletes the series that this build wrote. */
static int forget_series(struct build *build, struct ifs_error *error)
{
	build->next_series = build->first_series;
	return ifs_execute(error, build->index->db, "DELETE FROM \"%w\".\"%w_series\" WHERE id >= %u", build->index->schema,
			   build->index->name, build->first_series);
}

static int publish(struct build *build, const struct iforest_run *run)
{
	struct iforest_manifest *manifest = &build->manifest;
	struct iforest_edit edit = { .added = run->n_leaves ? run : NULL };
	const struct iforest_text_form form = iforest_text_forms_common(&build->forms);

	if (ifs_host_bytes_set(manifest,
			       &(struct ifs_host_bytes){ build->first_series, build->next_series, build->series_checksum,
							 build->last_rowid, build->times.kind, iforest_text_form_code(&form) }))
		return ifs_error_set(build->error, SQLITE_NOMEM, "");
	return build_error(build, iforest_manifest_commit(manifest, &build->index->store, &edit));
}

/* Removes what a failed build wrote, because the transaction may go on: the previous manifest is still valid. */
static void take_back(struct build *build, const struct iforest_run *run)
{
	struct ifs_error ignored = { .rc = SQLITE_OK };

	if (run->n_leaves)
		(void)build->index->pager.drop_run(build->index, &run->place, iforest_run_pages(&build->manifest, run));
	if (build->next_series > build->first_series)
		forget_series(build, &ignored);
	ifs_error_clear(&ignored);
}

/* Removes what only the previous manifest named, and starts the log. */
static int clean_up(struct build *build, const struct iforest_run *run)
{
	struct ifs_index *index = build->index;
	sqlite3_int64 first_page = (sqlite3_int64)(run->place.location << 32);
	const char *schema = index->schema, *name = index->name;
	struct ifs_error ignored = { .rc = SQLITE_OK };
	sqlite3_stmt *statement = NULL;
	int rc = ifs_execute(build->error, index->db,
			     "DELETE FROM \"%w\".\"%w_page\" WHERE id <> 0 AND id NOT BETWEEN %lld AND %lld;"
			     "DELETE FROM \"%w\".\"%w_series\" WHERE id < %u OR id >= %u",
			     schema, name, first_page, run->n_leaves ? first_page + UINT32_MAX : first_page - 1, schema, name,
			     build->first_series, build->next_series);

	if (!rc)
		rc = ifs_mark_renew(index, build->is_dense, build->error);
	if (build->definition->sync != IFS_SYNC_LOG)
		return rc;
	if (!rc)
		rc = ifs_triggers_create(index->db, schema, name, build->base_table, build->definition, build->error);
	if (!rc)
		rc = ifs_triggers_make_front(index->db, schema, name, build->last_rowid, build->error);
	if (!rc)
		rc = ifs_triggers_prepare_log_reset(index->db, schema, name, build->base_table, build->definition, &statement,
						    build->error);
	if (!rc && ifs_step_to_end(statement) != SQLITE_DONE)
		rc = ifs_error_from_db(build->error, index->db, sqlite3_errcode(index->db));
	sqlite3_finalize(statement);
	/* within a transaction SQLite undoes nothing; without triggers, queries do not trust the log that is still full */
	if (rc)
		(void)ifs_triggers_drop(index->db, schema, name, &ignored);
	ifs_error_clear(&ignored);
	return rc;
}

static int start(struct build *build)
{
	struct ifs_index *index = build->index;
	sqlite3_stmt *statement;
	sqlite3_int64 last_series = -1;
	int rc = ifs_prepare(build->error, index->db, &statement,
			     "SELECT (SELECT max(id) FROM \"%w\".\"%w_series\"), %s(SELECT count(*) FROM \"%w\".\"%w\")",
			     index->schema, index->name, progress_is_possible() ? "" : "0 AND ", index->schema,
			     build->base_table->name);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		build->n_rows = sqlite3_column_int64(statement, 1);
		if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
			last_series = sqlite3_column_int64(statement, 0);
	}
	rc = sqlite3_finalize(statement);
	if (rc)
		return ifs_error_from_db(build->error, index->db, rc);
	/* ids of series are not reused, unless someone edited the database and no greater ids are left */
	build->first_series = last_series >= 0 && last_series < INT32_MAX ? (uint32_t)last_series + 1 : 0;
	if (last_series >= INT32_MAX || last_series < -1)
		rc = forget_series(build, build->error);
	build->next_series = build->first_series;
	progress_start(&build->progress, build->n_rows);
	return rc;
}

int ifs_build(struct ifs_index *index, const struct ifs_definition *definition, const struct ifs_base_table *base_table,
	      bool is_new, struct ifs_error *error)
{
	struct build build = {
		.index = index, .definition = definition, .base_table = base_table, .error = error, .last_rowid = INT64_MIN
	};
	struct iforest_run run = { .n_leaves = 0 };
	int rc;

	build.rows = (struct ifs_row_decoder){ .db = index->db,
					       .schema = index->schema,
					       .definition = definition,
					       .base_table = base_table,
					       .fields = &build.fields,
					       .times = &build.times,
					       .forms = &build.forms,
					       .error = error,
					       .may_widen = true,
					       .context = &build,
					       .key.alloc = &ifs_alloc,
					       .previous_key.alloc = &ifs_alloc };
	build.series.n_by = definition->n_by;
	build.writer = sqlite3_malloc64(sizeof *build.writer);
	rc = build.writer ? start(&build) : ifs_error_set(error, SQLITE_NOMEM, "");
	if (!rc)
		rc = collect_series(&build);
	if (!rc)
		rc = write_series(&build);
	if (!rc)
		rc = ifs_column_types_choose(index, definition, base_table, &build.times, &build.fields, error);
	if (!rc)
		rc = write_run(&build, &run);
	if (!rc && build.rows.has_real_in_integers) {
		build.rows.has_real_in_integers = build.rows.may_widen = false;
		iforest_manifest_release(&build.manifest);
		rc = ifs_column_types_widen(index, definition, base_table, &build.times, &build.fields, error);
		if (!rc)
			rc = write_run(&build, &run);
	}
	if (!rc && is_new)
		rc = ifs_column_types_check_new(index, definition, base_table, build.times.kind, error);
	if (!rc && definition->where)
		rc = find_last_rowid(&build);
	if (!rc)
		rc = ifs_index_note_flush(index, error);
	if (!rc)
		rc = ifs_mark_prepare(index, base_table, &build.is_dense, error);
	if (!rc)
		rc = ifs_index_note_time_kind(index, build.times.kind, error);
	if (!rc)
		rc = publish(&build, &run);
	if (rc)
		take_back(&build, &run);
	else
		rc = clean_up(&build, &run);
	progress_end(&build.progress);
	iforest_manifest_release(&build.manifest);
	ifs_dictionary_release(&build.series);
	ifs_row_decoder_release(&build.rows);
	sqlite3_free(build.writer);
	return rc;
}
