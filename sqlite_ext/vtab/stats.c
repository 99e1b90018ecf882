#include "sqlite_ext/vtab/stats_slice.h"

#include "core/query/scan.h"

/* Counts the rows that an answer over all would fold. A log may tell of old keys that no run has, so they are looked up. */
static enum iforest_status count_rows(struct iforest_index *index, struct iforest_snapshot *snapshot, uint64_t *n_rows)
{
	struct iforest_wanted wanted = { .filter = snapshot->tail.n_removed > 0 ? &snapshot->tail.filter : NULL };
	struct iforest_aggregate aggregate;
	struct iforest_scan scan;
	enum iforest_status status = iforest_scan_init(&scan, &index->store, &snapshot->manifest);

	if (status)
		return status;
	iforest_aggregate_clear(&aggregate, snapshot->manifest.fields.n_values);
	status = iforest_scan_join(&scan, &snapshot->tail.store, &snapshot->tail.manifest);
	if (!status)
		status = iforest_scan_everything(&scan, &wanted, &aggregate);
	iforest_scan_release(&scan);
	*n_rows = aggregate.n_rows;
	return status;
}

static void add_run(const struct iforest_manifest *manifest, const struct iforest_run *run, struct ifs_index_stats *stats)
{
	stats->n_removed += iforest_node_dead(run->root);
	stats->n_stored += iforest_node_rows(run->root);
	stats->n_pages += iforest_run_pages(manifest, run);
	if (run->n_levels > stats->n_levels)
		stats->n_levels = run->n_levels;
}

/* Runs a query of one row and one integer; *is_there is false where that is none. */
static int read_integer(struct iforest_index *index, const char *sql, bool *is_there, int64_t *integer,
			struct iforest_error *error)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(error, index->db, &statement, "%s", sql);

	if (rc)
		return rc;
	*is_there = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
	if (*is_there)
		*integer = sqlite3_column_int64(statement, 0);
	rc = sqlite3_finalize(statement);
	return rc ? iforest_error_from_db(error, index->db, rc) : SQLITE_OK;
}

static int read_tables(struct iforest_index *index, bool with_bytes, struct ifs_index_stats *stats, struct iforest_error *error)
{
	const char *schema = index->schema, *name = index->name;
	char *flushed = sqlite3_mprintf("SELECT value FROM \"%w\".\"%w_config\" WHERE name = 'flushed'", schema, name);
	char *bytes = sqlite3_mprintf("SELECT (SELECT sum(length(bytes)) FROM \"%w\".\"%w_page\") + "
				      "(SELECT ifnull(sum(length(key)), 0) FROM \"%w\".\"%w_series\")",
				      schema, name, schema, name);
	int rc = flushed && bytes ? SQLITE_OK : iforest_error_set(error, SQLITE_NOMEM, "");
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

int iforest_stats_read(struct iforest_index *index, bool with_bytes, struct ifs_index_stats *stats, struct iforest_error *error)
{
	struct iforest_snapshot *snapshot = NULL;
	int rc = iforest_index_open(index, &snapshot, error);

	*stats = (struct ifs_index_stats){ .n_rows = 0 };
	if (rc)
		return rc;
	for (uint32_t r = 0; r < snapshot->manifest.n_runs; r++)
		add_run(&snapshot->manifest, &snapshot->manifest.runs[r], stats);
	stats->n_runs = snapshot->manifest.n_runs;
	stats->n_pending = iforest_pending_count(&snapshot->tail.pending);
	stats->n_series = snapshot->dictionary.n_series;
	rc = iforest_index_error(index, snapshot, count_rows(index, snapshot, &stats->n_rows), error);
	if (!rc)
		rc = read_tables(index, with_bytes, stats, error);
	iforest_snapshot_release(snapshot);
	return rc;
}
