#include "sqlite_ext/vtab/stats.h"

#include "core/base/xxh64.h"
#include "core/query/scan.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/vtab/common.h"

/* The statistics of an index. */

struct index_stats {
	uint64_t n_rows;    /* live, those pending included */
	uint64_t n_removed; /* removed entries of the runs, which take room until a merge */
	uint64_t n_stored;  /* live entries of the runs */
	uint64_t n_runs, n_pending, n_series, n_pages;
	uint64_t n_bytes;  /* of pages, manifest and series; 0 unless requested */
	unsigned n_levels; /* of node pages, of the highest run */
	bool has_flush_time;
	int64_t flush_time; /* Unix time of the last build, or flush that found something */
};

/* Counts the rows that a query of everything would aggregate. It takes a scan, because the log may have old keys that no run
 * has. */
static enum iforest_status count_rows(struct ifs_index *index, struct ifs_snapshot *snapshot, uint64_t *n_rows)
{
	struct iforest_request request = { .filter = ifs_delta_filter(&snapshot->delta) };
	struct iforest_aggregate aggregate;
	struct iforest_scan scan;
	enum iforest_status status = iforest_scan_init(&scan, &index->store, &snapshot->manifest);

	if (status)
		return status;
	iforest_aggregate_clear(&aggregate, snapshot->manifest.fields.n_values, &snapshot->manifest.fields.accumulators);
	status = iforest_scan_join_memtable(&scan, &snapshot->delta.memtable);
	if (!status)
		status = iforest_scan_everything(&scan, &request, &aggregate);
	iforest_scan_release(&scan);
	*n_rows = aggregate.n_rows;
	return status;
}

static void add_run(const struct iforest_manifest *manifest, const struct iforest_run *run, struct index_stats *stats)
{
	stats->n_removed += iforest_node_dead(run->root);
	stats->n_stored += iforest_node_rows(run->root);
	stats->n_pages += iforest_run_pages(manifest, run);
	if (run->n_levels > stats->n_levels)
		stats->n_levels = run->n_levels;
}

/* Runs a query for one integer; *is_there is false if it returns no integer. */
static int read_integer(struct ifs_index *index, const char *sql, bool *is_there, int64_t *integer, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement, "%s", sql);

	if (rc)
		return rc;
	*is_there = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
	if (*is_there)
		*integer = sqlite3_column_int64(statement, 0);
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

static int read_tables(struct ifs_index *index, bool with_bytes, struct index_stats *stats, struct ifs_error *error)
{
	const char *schema = index->schema, *name = index->name;
	char *flushed = sqlite3_mprintf("SELECT value FROM \"%w\".\"%w_config\" WHERE name = 'flushed'", schema, name);
	char *bytes = sqlite3_mprintf("SELECT (SELECT sum(length(bytes)) FROM \"%w\".\"%w_page\") + "
				      "(SELECT ifnull(sum(length(key)), 0) FROM \"%w\".\"%w_series\")",
				      schema, name, schema, name);
	int rc = flushed && bytes ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
	bool has_bytes;
	int64_t n_bytes = 0;

	if (!rc)
		rc = read_integer(index, flushed, &stats->has_flush_time, &stats->flush_time, error);
	if (!rc && with_bytes)
		rc = read_integer(index, bytes, &has_bytes, &n_bytes, error);
	stats->n_bytes = (uint64_t)n_bytes;
	sqlite3_free(flushed);
	sqlite3_free(bytes);
	return rc;
}

/* Reads the state of the index as a query would.
 * Cost  opening the index (its series, and the pending rows), and two pages a level and run for each pending old key;
 *       with_bytes reads every page's length besides */
static int index_stats_read(struct ifs_index *index, bool with_bytes, struct index_stats *stats, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot = NULL;
	int rc = ifs_snapshot_open(index, &snapshot, error);

	*stats = (struct index_stats){ .n_rows = 0 };
	if (rc)
		return rc;
	for (uint32_t r = 0; r < snapshot->manifest.n_runs; r++)
		add_run(&snapshot->manifest, &snapshot->manifest.runs[r], stats);
	stats->n_runs = snapshot->manifest.n_runs;
	stats->n_pending = ifs_pending_rows_count(&snapshot->delta.pending);
	stats->n_series = snapshot->dictionary.n_series;
	rc = ifs_snapshot_error(index, snapshot, count_rows(index, snapshot, &stats->n_rows), error);
	if (!rc)
		rc = read_tables(index, with_bytes, stats, error);
	ifs_snapshot_release(snapshot);
	return rc;
}

/* ---- The virtual table ---- */

#define NAME "iforest_stats"

enum column {
	ROWS,
	REMOVED,
	RUNS,
	PENDING,
	SERIES,
	PAGES,
	BYTES,
	BYTES_PER_ROW,
	LEVELS,
	LAST_FLUSH,
	SYNC,
	NOTICE,
	INDEX_NAME,
	SCHEMA_NAME
};

/* idxNum: the arguments that are given, and whether bytes are requested. */
enum { HAS_INDEX = 1, HAS_SCHEMA = 2, WITH_BYTES = 4 };

struct stats_cursor {
	struct ifs_function_cursor base;
	struct index_stats stats;
	char *index, *schema;
	enum ifs_sync sync;
};

static int stats_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			 char **message)
{
	(void)n_arguments;
	(void)arguments;
	(void)message;
	return ifs_function_connect(
		db, context,
		"CREATE TABLE x(rows INTEGER, removed INTEGER, runs INTEGER, pending INTEGER, series INTEGER,"
		" pages INTEGER, bytes INTEGER, bytes_per_row REAL, levels INTEGER, last_flush INTEGER,"
		" sync TEXT, notice TEXT, index_name TEXT HIDDEN, schema_name TEXT HIDDEN)",
		SQLITE_VTAB_INNOCUOUS, base);
}

static int stats_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int rc = ifs_function_arguments(info, INDEX_NAME);

	(void)base;
	if (rc)
		return rc;
	if (info->colUsed & ((sqlite3_uint64)1 << BYTES | (sqlite3_uint64)1 << BYTES_PER_ROW))
		info->idxNum |= WITH_BYTES;
	info->estimatedRows = 1;
	/* a plan without the name may be for a branch of an OR: see ifs_plan_set_cost() */
	info->estimatedCost = !(info->idxNum & HAS_INDEX) ? IFS_COST_OF_UNUSABLE : info->idxNum & WITH_BYTES ? 10000 : 100;
	return SQLITE_OK;
}

static int stats_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	(void)base;
	return ifs_function_open(sizeof(struct stats_cursor), out);
}

static void reset_cursor(struct stats_cursor *cursor)
{
	sqlite3_free(cursor->index);
	sqlite3_free(cursor->schema);
	cursor->index = cursor->schema = NULL;
	cursor->base.at_end = true;
}

static int stats_close(sqlite3_vtab_cursor *base)
{
	reset_cursor((struct stats_cursor *)base);
	sqlite3_free(base);
	return SQLITE_OK;
}

/* Returns the first schema that has a virtual table of that name. If none has, returns main, and the error then says that main
 * has no such index. */
static char *find_schema(sqlite3 *db, const char *index, struct ifs_error *error)
{
	char *found = NULL;
	sqlite3_stmt *statement;
	int rc;

	if (ifs_prepare(error, db, &statement, "PRAGMA database_list"))
		return NULL;
	while (!found && !error->rc && sqlite3_step(statement) == SQLITE_ROW) {
		const char *schema = (const char *)sqlite3_column_text(statement, 1);
		char *spelling = schema ? ifs_table_spelling(db, schema, index, error) : NULL;

		if (!schema || (spelling && !(found = sqlite3_mprintf("%s", schema))))
			ifs_error_set(error, SQLITE_NOMEM, "");
		sqlite3_free(spelling);
	}
	rc = sqlite3_finalize(statement);
	if (rc)
		ifs_error_from_db(error, db, rc);
	if (!error->rc && !found && !(found = sqlite3_mprintf("main")))
		ifs_error_set(error, SQLITE_NOMEM, "");
	return found;
}

/* Opens the index, reads it and closes it. */
static void read_stats(struct stats_cursor *cursor, const struct ifs_function_table *vtab, bool with_bytes,
		       struct ifs_error *error)
{
	char *quoted = sqlite3_mprintf("\"%w\"", cursor->index);
	const char *arguments[] = { NAME, cursor->schema, NAME, quoted };
	struct ifs_table *table = NULL;

	if (!quoted)
		ifs_error_set(error, SQLITE_NOMEM, "");
	else
		table = ifs_table_new(&ifs_stats_module, 4, arguments, error);
	if (!error->rc)
		ifs_table_open_index(table, vtab->db, vtab->registration->connection, NAME, 4, error);
	if (!error->rc)
		index_stats_read(&table->index, with_bytes, &cursor->stats, error);
	if (!error->rc)
		cursor->sync = table->definition.sync;
	ifs_table_release(table);
	sqlite3_free(quoted);
}

static int stats_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv)
{
	struct stats_cursor *cursor = (struct stats_cursor *)base;
	const struct ifs_function_table *table = (const struct ifs_function_table *)base->pVtab;
	struct ifs_error error = { .rc = SQLITE_OK };

	(void)index_text;
	reset_cursor(cursor);
	if (!(index_number & HAS_INDEX)) {
		ifs_error_set(&error, SQLITE_ERROR, NAME ": name an index: " NAME "('spans_if')");
		return ifs_function_report(base->pVtab, &error);
	}
	for (int a = 0; a < n_argv; a++)
		if (sqlite3_value_type(argv[a]) == SQLITE_NULL)
			return SQLITE_OK;
	cursor->index = sqlite3_mprintf("%s", sqlite3_value_text(argv[0]));
	if (!cursor->index)
		ifs_error_set(&error, SQLITE_NOMEM, "");
	else if (!(index_number & HAS_SCHEMA))
		cursor->schema = find_schema(table->db, cursor->index, &error);
	else if (!(cursor->schema = sqlite3_mprintf("%s", sqlite3_value_text(argv[1]))))
		ifs_error_set(&error, SQLITE_NOMEM, "");
	else if (sqlite3_db_readonly(table->db, cursor->schema) < 0)
		ifs_error_set(&error, SQLITE_ERROR, NAME ": no schema \"%s\"", cursor->schema);
	if (!error.rc)
		read_stats(cursor, table, index_number & WITH_BYTES, &error);
	cursor->base.at_end = error.rc != SQLITE_OK;
	return ifs_function_report(base->pVtab, &error);
}

static int stats_next(sqlite3_vtab_cursor *base)
{
	((struct ifs_function_cursor *)base)->at_end = true;
	return SQLITE_OK;
}

static void report_series(sqlite3_context *context, const struct index_stats *stats)
{
	char *notice = sqlite3_mprintf(
		"%llu series for %llu rows make it large and slow: leave out by columns that differ from row to "
		"row",
		(unsigned long long)stats->n_series, (unsigned long long)stats->n_rows);

	if (notice)
		sqlite3_result_text(context, notice, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(context);
}

static int stats_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct stats_cursor *cursor = (const struct stats_cursor *)base;
	const struct index_stats *stats = &cursor->stats;
	const uint64_t numbers[] = { stats->n_rows,   stats->n_removed, stats->n_runs, stats->n_pending,
				     stats->n_series, stats->n_pages,	stats->n_bytes };

	switch ((enum column)column) {
	case BYTES_PER_ROW:
		if (stats->n_stored > 0)
			sqlite3_result_double(context, (double)stats->n_bytes / (double)stats->n_stored);
		break;
	case LEVELS:
		sqlite3_result_int64(context, stats->n_levels);
		break;
	case LAST_FLUSH:
		if (stats->has_flush_time)
			sqlite3_result_int64(context, stats->flush_time);
		break;
	case SYNC:
		sqlite3_result_text(context, ifs_sync_names[cursor->sync], -1, SQLITE_STATIC);
		break;
	case NOTICE:
		if (iforest_are_series_too_many(stats->n_series, stats->n_rows))
			report_series(context, stats);
		break;
	case INDEX_NAME:
		sqlite3_result_text(context, cursor->index, -1, SQLITE_TRANSIENT);
		break;
	case SCHEMA_NAME:
		sqlite3_result_text(context, cursor->schema, -1, SQLITE_TRANSIENT);
		break;
	default:
		sqlite3_result_int64(context, (sqlite3_int64)numbers[column]);
	}
	return SQLITE_OK;
}

/* No other index has the same rowid, up to chance: see ifs_bucket_query_rowid(). */
static int stats_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	const struct stats_cursor *cursor = (const struct stats_cursor *)base;
	uint64_t parts[] = {
		iforest_xxh64((const uint8_t *)cursor->index, strlen(cursor->index)),
		iforest_xxh64((const uint8_t *)cursor->schema, strlen(cursor->schema)),
	};

	*rowid = (sqlite3_int64)iforest_xxh64((const uint8_t *)parts, sizeof parts);
	return SQLITE_OK;
}

/* Without xCreate the table exists under its own name, and CREATE VIRTUAL TABLE is refused. */
static const sqlite3_module module = {
	.xConnect = stats_connect,
	.xBestIndex = stats_best_index,
	.xDisconnect = ifs_function_disconnect,
	.xOpen = stats_open,
	.xClose = stats_close,
	.xFilter = stats_filter,
	.xNext = stats_next,
	.xEof = ifs_function_eof,
	.xColumn = stats_column,
	.xRowid = stats_rowid,
};

const struct ifs_module ifs_stats_module = { .name = "iforest_stats", .methods = &module };
