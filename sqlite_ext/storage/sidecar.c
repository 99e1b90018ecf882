#include "sqlite_ext/storage/sidecar.h"

#include "core/query/counter_scan.h"
#include "core/query/sketch_scan.h"
#include "sqlite_ext/storage/pager.h"

#define IS_NAME "run = ? AND value = ? AND level = ? AND number = ? AND dead = ?"

/* A sidecar table, and the functions of core that compute its summaries. */
struct table {
	const char *suffix, *get, *has; /* SQL takes schema and name */
	const char *wrong;
	enum iforest_status (*keep)(struct iforest_store *store, const struct iforest_manifest *manifest,
				    const struct iforest_run *run, unsigned value, const struct iforest_sidecar *sidecar);
};

#define TABLE(name)                                                                       \
	.suffix = name, .get = "SELECT bytes FROM \"%w\".\"%w_" name "\" WHERE " IS_NAME, \
	.has = "SELECT 1 FROM \"%w\".\"%w_" name "\" WHERE " IS_NAME

static const struct table tables[IFS_N_SIDECARS] = {
	[IFS_SIDECAR_SKETCHES] = { TABLE("sketch"), .wrong = IFOREST_SKETCH_WRONG, .keep = iforest_run_keep_sketches },
	[IFS_SIDECAR_COUNTERS] = { TABLE("piece"), .wrong = IFOREST_COUNTER_WRONG, .keep = iforest_run_keep_counters },
	[IFS_SIDECAR_DISTINCTS] = { TABLE("distinct"), .wrong = IFOREST_SKETCH_WRONG, .keep = iforest_run_keep_distincts },
};

uint32_t ifs_sidecar_values(const struct ifs_definition *definition, enum ifs_sidecar_table table)
{
	const struct {
		unsigned n;
		const uint8_t *values;
	} lists[IFS_N_SIDECARS] = {
		[IFS_SIDECAR_SKETCHES] = { definition->n_sketches, definition->sketch_values },
		[IFS_SIDECAR_COUNTERS] = { definition->n_counters, definition->counter_values },
		[IFS_SIDECAR_DISTINCTS] = { definition->n_distincts, definition->distinct_fields },
	};
	uint32_t values = 0;

	for (unsigned i = 0; i < lists[table].n; i++)
		values |= 1u << lists[table].values[i];
	return values;
}

/* ---- reading ---- */

static void bind_name(sqlite3_stmt *statement, const struct iforest_sidecar_name *name)
{
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)name->run_id);
	sqlite3_bind_int(statement, 2, (int)name->value);
	sqlite3_bind_int(statement, 3, (int)name->level);
	sqlite3_bind_int64(statement, 4, (sqlite3_int64)name->number);
	sqlite3_bind_int64(statement, 5, (sqlite3_int64)name->n_dead);
}

/* Looks a summary up. The statement is then positioned at the row, and must be reset. */
static enum iforest_status find(struct ifs_index *index, sqlite3_stmt **statement, const char *sql,
				const struct iforest_sidecar_name *name, bool *found)
{
	int rc = ifs_pager_prepare(index, statement, sql);

	if (rc)
		return ifs_pager_failed(index, rc);
	bind_name(*statement, name);
	rc = sqlite3_step(*statement);
	*found = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? IFOREST_OK : ifs_pager_failed(index, rc);
}

/* The stored value may be anything, even NULL. */
static enum iforest_status copy_bytes(sqlite3_stmt *statement, uint8_t **bytes, size_t *n_bytes)
{
	const void *stored = sqlite3_column_blob(statement, 0);

	*n_bytes = (size_t)sqlite3_column_bytes(statement, 0);
	*bytes = sqlite3_malloc64(*n_bytes + 1);
	if (!*bytes || (!stored && sqlite3_errcode(sqlite3_db_handle(statement)) == SQLITE_NOMEM)) {
		sqlite3_free(*bytes);
		return IFOREST_NO_MEMORY;
	}
	*n_bytes = stored ? *n_bytes : 0;
	memcpy(*bytes, stored ? stored : "", *n_bytes);
	return IFOREST_OK;
}

static enum iforest_status get_bytes(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
				     bool *found)
{
	const struct ifs_sidecar *sidecar = context;
	sqlite3_stmt **statement = &sidecar->index->get_summary[sidecar->table];
	enum iforest_status status = find(sidecar->index, statement, tables[sidecar->table].get, name, found);

	if (!status && *found)
		status = copy_bytes(*statement, bytes, n_bytes);
	sqlite3_reset(*statement);
	return status;
}

void ifs_sidecar_open(struct ifs_sidecar *sidecar, struct ifs_index *index, enum ifs_sidecar_table table)
{
	*sidecar = (struct ifs_sidecar){ .sidecar = { .context = sidecar, .get = get_bytes }, .index = index, .table = table };
}

/* ---- updating ---- */

static enum iforest_status has_bytes(void *context, const struct iforest_sidecar_name *name, bool *found)
{
	const struct ifs_sidecar *sidecar = context;
	sqlite3_stmt **statement = &sidecar->index->has_summary[sidecar->table];
	enum iforest_status status = find(sidecar->index, statement, tables[sidecar->table].has, name, found);

	sqlite3_reset(*statement);
	return status;
}

static enum iforest_status put_bytes(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes,
				     size_t n_bytes)
{
	const struct ifs_sidecar *sidecar = context;
	int rc;

	bind_name(sidecar->put, name);
	sqlite3_bind_blob64(sidecar->put, 6, bytes, n_bytes, SQLITE_STATIC);
	sqlite3_step(sidecar->put);
	rc = sqlite3_reset(sidecar->put);
	sqlite3_bind_null(sidecar->put, 6);
	return rc ? ifs_pager_failed(sidecar->index, rc) : IFOREST_OK;
}

static int forget_run(const struct ifs_sidecar *sidecar, sqlite3_int64 run_id, struct ifs_error *error)
{
	const struct ifs_index *index = sidecar->index;

	return ifs_execute(error, index->db, "DELETE FROM \"%w\".\"%w_%s\" WHERE run = %lld", index->schema, index->name,
			   tables[sidecar->table].suffix, run_id);
}

/* Steps from run to run, not from row to row. */
static int forget_old_runs(const struct ifs_sidecar *sidecar, const struct iforest_manifest *manifest, struct ifs_error *error)
{
	const struct ifs_index *index = sidecar->index;
	sqlite3_int64 run_id = INT64_MIN;
	sqlite3_stmt *statement;
	bool found = true;
	int failed, rc = ifs_prepare(error, index->db, &statement, "SELECT min(run) FROM \"%w\".\"%w_%s\" WHERE run > ?",
				     index->schema, index->name, tables[sidecar->table].suffix);

	while (!rc && found) {
		sqlite3_bind_int64(statement, 1, run_id);
		found = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
		run_id = found ? sqlite3_column_int64(statement, 0) : run_id;
		failed = sqlite3_reset(statement);
		if (failed)
			rc = ifs_error_from_db(error, index->db, failed);
		else if (found && iforest_manifest_find(manifest, (uint64_t)run_id) == manifest->n_runs)
			rc = forget_run(sidecar, run_id, error);
	}
	sqlite3_finalize(statement);
	return rc;
}

/* Calls the function of the table for every run and value column. */
static enum iforest_status go_through(struct ifs_index *index, const struct iforest_manifest *manifest,
				      enum ifs_sidecar_table table, const struct iforest_sidecar *sidecar)
{
	uint32_t values = ifs_sidecar_values(&index->definition, table);
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < manifest->n_runs; r++)
		for (unsigned v = 0; values >> v && !status && !manifest->runs[r].removal_in_progress; v++)
			if (values >> v & 1)
				status = tables[table].keep(&index->store, manifest, &manifest->runs[r], v, sidecar);
	return status;
}

static int update_table(struct ifs_index *index, const struct iforest_manifest *manifest, enum ifs_sidecar_table table,
			struct ifs_error *error)
{
	struct ifs_sidecar sidecar;
	int rc;

	ifs_sidecar_open(&sidecar, index, table);
	sidecar.sidecar.has = has_bytes;
	sidecar.sidecar.put = put_bytes;
	rc = forget_old_runs(&sidecar, manifest, error);
	if (!rc)
		rc = ifs_prepare(error, index->db, &sidecar.put,
				 "REPLACE INTO \"%w\".\"%w_%s\"(run, value, level, number, dead, bytes) "
				 "VALUES(?, ?, ?, ?, ?, ?)",
				 index->schema, index->name, tables[table].suffix);
	if (!rc)
		rc = ifs_pager_error(index, go_through(index, manifest, table, &sidecar.sidecar), error);
	sqlite3_finalize(sidecar.put);
	return rc;
}

int ifs_sidecars_update(struct ifs_index *index, struct ifs_error *error)
{
	int rc = SQLITE_OK;

	for (unsigned table = 0; table < IFS_N_SIDECARS && !rc; table++) {
		struct iforest_manifest manifest;

		if (!ifs_sidecar_values(&index->definition, (enum ifs_sidecar_table)table))
			continue;
		rc = ifs_pager_read_manifest(index, &manifest, error);
		if (rc)
			return rc;
		rc = update_table(index, &manifest, (enum ifs_sidecar_table)table, error);
		iforest_manifest_release(&manifest);
	}
	return rc;
}

/* ---- checking ---- */

enum iforest_status ifs_sidecars_check(struct ifs_index *index, const struct iforest_manifest *manifest)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned table = 0; table < IFS_N_SIDECARS && !status; table++) {
		struct ifs_sidecar kept;
		struct iforest_sidecar_comparison comparison = { .kept = &kept.sidecar,
								 .store = &index->store,
								 .what = tables[table].wrong };
		struct iforest_sidecar comparing = iforest_sidecar_comparing(&comparison);

		ifs_sidecar_open(&kept, index, (enum ifs_sidecar_table)table);
		status = go_through(index, manifest, (enum ifs_sidecar_table)table, &comparing);
	}
	return status;
}
