#include "sqlite_ext/sketch_shelf.h"

#include "sqlite_ext/pager_sqlite.h"

#define IS_NAME "run = ? AND value = ? AND level = ? AND number = ? AND dead = ?"

/* A shelf that is being filled. */
struct keeper {
	struct iforest_index *index;
	sqlite3_stmt *put;
};

static void bind_name(sqlite3_stmt *statement, const struct iforest_sketch_name *name)
{
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)name->run_id);
	sqlite3_bind_int(statement, 2, (int)name->value);
	sqlite3_bind_int(statement, 3, (int)name->level);
	sqlite3_bind_int64(statement, 4, (sqlite3_int64)name->number);
	sqlite3_bind_int64(statement, 5, (sqlite3_int64)name->n_dead);
}

static enum iforest_status find(struct iforest_index *index, sqlite3_stmt **statement, const char *sql,
				const struct iforest_sketch_name *name, bool *found)
{
	int rc = iforest_pager_sqlite_prepare(index, statement, sql);

	if (rc)
		return iforest_pager_sqlite_failed(index, rc);
	bind_name(*statement, name);
	rc = sqlite3_step(*statement);
	*found = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? IFOREST_OK : iforest_pager_sqlite_failed(index, rc);
}

/* Stands at the bytes kept under a name; get_sketch is to be reset. */
static enum iforest_status get_bytes(struct iforest_index *index, const struct iforest_sketch_name *name, const uint8_t **bytes,
				     size_t *n_bytes, bool *found)
{
	static const char sql[] = "SELECT bytes FROM \"%w\".\"%w_sketch\" WHERE " IS_NAME;
	enum iforest_status status = find(index, &index->get_sketch, sql, name, found);

	if (status || !*found)
		return status;
	*bytes = sqlite3_column_blob(index->get_sketch, 0);
	*n_bytes = (size_t)sqlite3_column_bytes(index->get_sketch, 0);
	return *bytes || sqlite3_errcode(index->db) != SQLITE_NOMEM ? IFOREST_OK : IFOREST_NO_MEMORY;
}

static enum iforest_status take_sketch(void *context, const struct iforest_sketch_name *name, struct iforest_sketch *sketch,
					bool *found)
{
	struct iforest_index *index = context;
	const uint8_t *bytes;
	size_t n_bytes;
	enum iforest_status status = get_bytes(index, name, &bytes, &n_bytes, found);

	if (!status && *found)
		status = iforest_sketch_merge(sketch, bytes, n_bytes);
	sqlite3_reset(index->get_sketch);
	return status;
}

struct iforest_sketch_shelf iforest_sketches_shelf(struct iforest_index *index)
{
	return (struct iforest_sketch_shelf){ .context = index, .take = take_sketch };
}

/* ---- keeping ---- */

static enum iforest_status keeper_has(void *context, const struct iforest_sketch_name *name, bool *found)
{
	static const char sql[] = "SELECT 1 FROM \"%w\".\"%w_sketch\" WHERE " IS_NAME;
	struct iforest_index *index = ((struct keeper *)context)->index;
	enum iforest_status status = find(index, &index->has_sketch, sql, name, found);

	sqlite3_reset(index->has_sketch);
	return status;
}

static enum iforest_status keeper_take(void *context, const struct iforest_sketch_name *name, struct iforest_sketch *sketch,
					bool *found)
{
	return take_sketch(((struct keeper *)context)->index, name, sketch, found);
}

static enum iforest_status keeper_put(void *context, const struct iforest_sketch_name *name, const struct iforest_sketch *sketch)
{
	struct keeper *keeper = context;
	uint8_t *bytes;
	size_t n_bytes;
	enum iforest_status status = iforest_sketch_write(sketch, &bytes, &n_bytes);
	int rc;

	if (status)
		return status;
	bind_name(keeper->put, name);
	sqlite3_bind_blob64(keeper->put, 6, bytes, n_bytes, SQLITE_STATIC);
	sqlite3_step(keeper->put);
	rc = sqlite3_reset(keeper->put);
	sqlite3_bind_null(keeper->put, 6);
	sqlite3_free(bytes);
	return rc ? iforest_pager_sqlite_failed(keeper->index, rc) : IFOREST_OK;
}

static int forget_run(struct iforest_index *index, sqlite3_int64 run_id, struct iforest_error *error)
{
	return iforest_execute(error, index->db, "DELETE FROM \"%w\".\"%w_sketch\" WHERE run = %lld", index->schema, index->name,
			       run_id);
}

/* Goes from run to run, not from row to row. */
static int forget_old_runs(struct iforest_index *index, const struct iforest_manifest *manifest, struct iforest_error *error)
{
	sqlite3_int64 run_id = INT64_MIN;
	sqlite3_stmt *statement;
	bool found = true;
	int failed, rc = iforest_prepare(error, index->db, &statement, "SELECT min(run) FROM \"%w\".\"%w_sketch\" WHERE run > ?",
					 index->schema, index->name);

	while (!rc && found) {
		sqlite3_bind_int64(statement, 1, run_id);
		found = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
		run_id = found ? sqlite3_column_int64(statement, 0) : run_id;
		failed = sqlite3_reset(statement);
		if (failed)
			rc = iforest_error_from_db(error, index->db, failed);
		else if (found && iforest_manifest_find(manifest, (uint64_t)run_id) == manifest->n_runs)
			rc = forget_run(index, run_id, error);
	}
	sqlite3_finalize(statement);
	return rc;
}

/* Has every run, and every column, gone through. */
static enum iforest_status go_through(struct iforest_index *index, const struct iforest_manifest *manifest,
				      const struct iforest_sketch_shelf *shelf)
{
	const struct iforest_definition *definition = &index->definition;
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < manifest->n_runs; r++)
		for (unsigned s = 0; s < definition->n_sketches && !status && !manifest->runs[r].removal_in_progress; s++)
			status = iforest_run_keep_sketches(&index->store, manifest, &manifest->runs[r],
							   definition->sketch_values[s], shelf);
	return status;
}

int iforest_sketches_keep(struct iforest_index *index, struct iforest_error *error)
{
	struct keeper keeper = { .index = index };
	struct iforest_sketch_shelf shelf = { .context = &keeper, .has = keeper_has, .take = keeper_take, .put = keeper_put };
	struct iforest_manifest manifest;
	int rc;

	if (index->definition.n_sketches == 0)
		return SQLITE_OK;
	rc = iforest_index_read_manifest(index, &manifest, error);
	if (rc)
		return rc;
	rc = forget_old_runs(index, &manifest, error);
	if (!rc)
		rc = iforest_prepare(error, index->db, &keeper.put,
				     "REPLACE INTO \"%w\".\"%w_sketch\"(run, value, level, number, dead, bytes) "
				     "VALUES(?, ?, ?, ?, ?, ?)",
				     index->schema, index->name);
	if (!rc)
		rc = iforest_index_error(index, NULL, go_through(index, &manifest, &shelf), error);
	sqlite3_finalize(keeper.put);
	iforest_manifest_release(&manifest);
	return rc;
}

/* ---- checking: every sketch is made anew from the entries, and compared instead of kept ---- */

static enum iforest_status has_none(void *context, const struct iforest_sketch_name *name, bool *found)
{
	(void)context;
	(void)name;
	*found = false;
	return IFOREST_OK;
}

static enum iforest_status take_none(void *context, const struct iforest_sketch_name *name, struct iforest_sketch *sketch,
					bool *found)
{
	(void)sketch;
	return has_none(context, name, found);
}

static enum iforest_status compare_bytes(struct iforest_index *index, const struct iforest_sketch_name *name, const uint8_t *bytes,
					 size_t n_bytes)
{
	const uint8_t *kept;
	size_t n_kept;
	bool found;
	enum iforest_status status = get_bytes(index, name, &kept, &n_kept, &found);

	if (!status && found && (n_kept != n_bytes || memcmp(kept, bytes, n_bytes) != 0)) {
		index->store.fault = (struct iforest_fault){ .what = "the sketch kept of the page is wrong", .run_id = name->run_id,
							     .level = name->level - 1, .number = name->number };
		status = IFOREST_CORRUPT;
	}
	sqlite3_reset(index->get_sketch);
	return status;
}

static enum iforest_status compare_sketch(void *context, const struct iforest_sketch_name *name, const struct iforest_sketch *sketch)
{
	uint8_t *bytes;
	size_t n_bytes;
	enum iforest_status status = iforest_sketch_write(sketch, &bytes, &n_bytes);

	if (status)
		return status;
	status = compare_bytes(context, name, bytes, n_bytes);
	sqlite3_free(bytes);
	return status;
}

int iforest_sketches_check(struct iforest_index *index, const struct iforest_snapshot *snapshot, struct iforest_error *error)
{
	struct iforest_sketch_shelf shelf = { .context = index, .has = has_none, .take = take_none, .put = compare_sketch };

	return iforest_index_error(index, snapshot, go_through(index, &snapshot->manifest, &shelf), error);
}
