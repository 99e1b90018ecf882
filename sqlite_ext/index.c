#include "sqlite_ext/index.h"

#include "core/bits.h"
#include "sqlite_ext/pager_sqlite.h"
#include "sqlite_ext/source.h"

int iforest_index_init(struct iforest_index *index, sqlite3 *db, const char *schema, const char *name,
		       struct iforest_error *error)
{
	*index = (struct iforest_index){ .db = db };
	index->schema = sqlite3_mprintf("%s", schema);
	index->name = sqlite3_mprintf("%s", name);
	iforest_pager_sqlite_init(index);
	return index->schema && index->name ? SQLITE_OK : iforest_error_set(error, SQLITE_NOMEM, "");
}

static void finalize_statements(struct iforest_index *index)
{
	sqlite3_finalize(index->get_page);
	sqlite3_finalize(index->put_page);
	sqlite3_finalize(index->read_changed);
	sqlite3_finalize(index->read_schema_version);
	index->get_page = index->put_page = index->read_changed = index->read_schema_version = NULL;
}

void iforest_index_forget(struct iforest_index *index)
{
	finalize_statements(index);
	iforest_snapshot_release(index->snapshot);
	index->snapshot = NULL;
	index->is_attached = false;
	if (index->cache.n_held == 0)
		iforest_page_cache_release(&index->cache);
}

void iforest_index_release(struct iforest_index *index)
{
	iforest_index_forget(index);
	sqlite3_free(index->schema);
	sqlite3_free(index->name);
	sqlite3_free(index->columns);
	index->schema = index->name = index->columns = NULL;
}

int iforest_index_describe(struct iforest_index *index, const struct iforest_definition *definition,
			       struct iforest_error *error)
{
	index->n_by = definition->n_by;
	index->n_values = definition->n_values;
	index->duration_value = definition->duration_value;
	index->columns = iforest_source_columns(definition);
	return index->columns ? SQLITE_OK : iforest_error_set(error, SQLITE_NOMEM, "");
}

/* ---- tables ---- */

static const char *const table_suffixes[] = { "page", "series", "config", "changed" };

enum { N_TABLES = 4 };

static int put_config(struct iforest_index *index, const char *name, int number, const char *value,
		      struct iforest_error *error)
{
	return iforest_execute(error, index->db, "REPLACE INTO \"%w\".\"%w_config\" VALUES('%q %d', %Q)", index->schema,
			       index->name, name, number, value);
}

int iforest_index_make_tables(struct iforest_index *index, const struct iforest_definition *definition, bool may_exist,
			      struct iforest_error *error)
{
	const char *schema = index->schema, *name = index->name, *if_not = may_exist ? "IF NOT EXISTS " : "";
	int rc = iforest_execute(error, index->db,
				 "CREATE TABLE %s\"%w\".\"%w_page\"(id INTEGER PRIMARY KEY, bytes BLOB);"
				 "CREATE TABLE %s\"%w\".\"%w_series\"(id INTEGER PRIMARY KEY, key BLOB);"
				 "CREATE TABLE %s\"%w\".\"%w_config\"(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
				 "CREATE TABLE %s\"%w\".\"%w_changed\"(changed INTEGER);"
				 "DELETE FROM \"%w\".\"%w_config\";"
				 "INSERT INTO \"%w\".\"%w_config\" VALUES('format', %d)",
				 if_not, schema, name, if_not, schema, name, if_not, schema, name, if_not, schema, name, schema,
				 name, schema, name, IFOREST_SQLITE_FORMAT);

	for (unsigned t = 0; t < definition->n_texts && !rc; t++)
		rc = put_config(index, "argument", (int)t, definition->texts[t], error);
	for (unsigned b = 0; b < definition->n_by && !rc; b++)
		rc = put_config(index, "by type", (int)b, definition->by_types[b], error);
	return rc;
}

int iforest_index_drop_tables(struct iforest_index *index, struct iforest_error *error)
{
	int rc = SQLITE_OK;

	iforest_index_forget(index);
	for (unsigned t = 0; t < N_TABLES && !rc; t++)
		rc = iforest_execute(error, index->db, "DROP TABLE IF EXISTS \"%w\".\"%w_%s\"", index->schema, index->name,
				     table_suffixes[t]);
	return rc;
}

int iforest_index_rename_tables(struct iforest_index *index, const char *new_name, struct iforest_error *error)
{
	char *name = sqlite3_mprintf("%s", new_name);
	int rc = name ? SQLITE_OK : iforest_error_set(error, SQLITE_NOMEM, "");

	iforest_index_forget(index);
	for (unsigned t = 0; t < N_TABLES && !rc; t++)
		rc = iforest_execute(error, index->db, "ALTER TABLE \"%w\".\"%w_%s\" RENAME TO \"%w_%s\"", index->schema,
				     index->name, table_suffixes[t], new_name, table_suffixes[t]);
	if (rc) {
		sqlite3_free(name);
		return rc;
	}
	sqlite3_free(index->name);
	index->name = name;
	return SQLITE_OK;
}

void iforest_index_read_by_types(struct iforest_index *index, struct iforest_definition *definition)
{
	static const char *const known[] = { "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB" };
	struct iforest_error error = { .rc = SQLITE_OK };
	sqlite3_stmt *statement;
	int rc = iforest_prepare(&error, index->db, &statement, "SELECT value FROM \"%w\".\"%w_config\" WHERE name = 'by type ' || ?",
				 index->schema, index->name);

	for (unsigned b = 0; b < definition->n_by && !rc; b++) {
		sqlite3_bind_int(statement, 1, (int)b);
		if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
			for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
				if (strcmp((const char *)sqlite3_column_text(statement, 0), known[k]) == 0)
					definition->by_types[b] = known[k];
		rc = sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	iforest_error_clear(&error);
}

int iforest_index_read_definition(struct iforest_index *index, struct iforest_definition *definition,
				  struct iforest_error *error)
{
	char *arguments[IFOREST_MAX_TEXTS] = { NULL };
	int n = 0, failed;
	sqlite3_stmt *statement;
	int rc = iforest_prepare(error, index->db, &statement,
				 "SELECT value FROM \"%w\".\"%w_config\" WHERE name GLOB 'argument [0-4]' ORDER BY name", index->schema,
				 index->name);

	*definition = (struct iforest_definition){ .content = NULL };
	while (!rc && n < IFOREST_MAX_TEXTS && sqlite3_step(statement) == SQLITE_ROW) {
		arguments[n] = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
		if (!arguments[n++])
			rc = iforest_error_set(error, SQLITE_NOMEM, "");
	}
	failed = sqlite3_finalize(statement);
	if (failed && !rc)
		rc = iforest_error_from_db(error, index->db, failed);
	if (!rc)
		rc = iforest_definition_parse(definition, n, (const char *const *)arguments, error);
	if (!rc)
		iforest_index_read_by_types(index, definition);
	while (n-- > 0)
		sqlite3_free(arguments[n]);
	return rc;
}

/* ---- state ---- */

void iforest_snapshot_release(struct iforest_snapshot *snapshot)
{
	if (!snapshot || --snapshot->n_refs > 0)
		return;
	iforest_manifest_release(&snapshot->manifest);
	iforest_dictionary_release(&snapshot->dictionary);
	sqlite3_free(snapshot);
}

/* Reads the series that the manifest names into the snapshot. */
static int read_dictionary(struct iforest_index *index, struct iforest_snapshot *snapshot, struct iforest_error *error)
{
	const struct iforest_manifest *manifest = &snapshot->manifest;
	struct iforest_fault fault = { .what = "the table of series is wrong" };
	uint32_t first, end, n_seen = 0;
	uint64_t checksum = 0;
	sqlite3_stmt *statement;
	enum iforest_status status = IFOREST_OK;
	int rc;

	first = iforest_load32(manifest->host_bytes);
	end = iforest_load32(manifest->host_bytes + 4);
	snapshot->dictionary.n_by = index->n_by;
	rc = iforest_prepare(error, index->db, &statement,
			     "SELECT id, key FROM \"%w\".\"%w_series\" WHERE id >= %u AND id < %u", index->schema, index->name, first,
			     end);
	while (!rc && !status && sqlite3_step(statement) == SQLITE_ROW) {
		const void *key = sqlite3_column_blob(statement, 1);
		uint32_t id = (uint32_t)sqlite3_column_int64(statement, 0), n_bytes = (uint32_t)sqlite3_column_bytes(statement, 1);

		status = iforest_dictionary_add(&snapshot->dictionary, id, key ? key : "", n_bytes);
		checksum += iforest_series_checksum(id, key ? key : "", n_bytes);
		n_seen++;
	}
	if (!rc && (rc = sqlite3_reset(statement)))
		iforest_error_from_db(error, index->db, rc);
	sqlite3_finalize(statement);
	if (!rc && !status && (end < first || n_seen != end - first || checksum != iforest_load64(manifest->host_bytes + 8)))
		status = IFOREST_CORRUPT;
	if (!rc && status)
		rc = iforest_error_from_status(error, status, index->name, &fault, 0);
	if (!rc)
		iforest_dictionary_sort(&snapshot->dictionary);
	return rc;
}

/* A manifest that is sound in itself, but none of this index; NULL if all is well. */
static const char *what_is_foreign(const struct iforest_index *index, const struct iforest_manifest *manifest)
{
	uint32_t first, end;

	if (manifest->page_bytes > IFOREST_SQLITE_PAGE_BYTES)
		return "the manifest's page size is wrong";
	if (manifest->fields.n_values != index->n_values || manifest->fields.duration_value != index->duration_value ||
	    manifest->fields.end_rule != IFOREST_END_DURATION)
		return "the manifest's value columns are not those of the index";
	if (manifest->n_host_bytes != IFOREST_SQLITE_HOST_BYTES)
		return "the manifest's engine data are wrong";
	first = iforest_load32(manifest->host_bytes);
	end = iforest_load32(manifest->host_bytes + 4);
	for (uint32_t r = 0; r < manifest->n_runs; r++) {
		const struct iforest_run *run = &manifest->runs[r];

		if (iforest_node_first(run->root).series < first || iforest_node_last(run->root).series >= end)
			return "a run holds series that there are not";
		if (run->removal_in_progress) /* it is part of its transaction, so nobody can see one half done */
			return "a removal was cut off";
	}
	return NULL;
}

static int read_snapshot(struct iforest_index *index, const uint8_t *bytes, uint32_t n_bytes, struct iforest_error *error)
{
	struct iforest_snapshot *snapshot = sqlite3_malloc64(sizeof *snapshot);
	struct iforest_fault fault = { .what = NULL };
	enum iforest_status status;
	int rc = SQLITE_OK;

	if (!snapshot)
		return iforest_error_set(error, SQLITE_NOMEM, "");
	*snapshot = (struct iforest_snapshot){ .n_refs = 1 };
	status = iforest_manifest_read(&snapshot->manifest, &iforest_sqlite_alloc, bytes, n_bytes, &fault.what);
	if (!status)
		fault.what = what_is_foreign(index, &snapshot->manifest);
	if (!status && fault.what)
		status = IFOREST_CORRUPT;
	if (status)
		rc = iforest_error_from_status(error, status, index->name, &fault, 0);
	if (!rc)
		rc = read_dictionary(index, snapshot, error);
	if (rc) {
		iforest_snapshot_release(snapshot);
		return rc;
	}
	iforest_snapshot_release(index->snapshot);
	index->snapshot = snapshot;
	return SQLITE_OK;
}

/* The manifest in memory is the one stored if their ids are equal: an id is random, and new with each publish. */
static bool is_current(const struct iforest_index *index, const uint8_t *bytes, uint32_t n_bytes)
{
	return index->snapshot && n_bytes >= 24 && iforest_load64(bytes + 16) == index->snapshot->manifest.id;
}

int iforest_index_open_unguarded(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error)
{
	struct iforest_fault missing = { .what = "the manifest is missing" };
	int rc = SQLITE_OK;

	if (!index->get_page)
		rc = iforest_prepare(error, index->db, &index->get_page, "SELECT bytes FROM \"%w\".\"%w_page\" WHERE id = ?",
				     index->schema, index->name);
	if (rc)
		return rc;
	sqlite3_bind_int64(index->get_page, 1, 0);
	rc = sqlite3_step(index->get_page);
	if (rc == SQLITE_ROW) {
		const uint8_t *bytes = sqlite3_column_blob(index->get_page, 0);
		uint32_t n_bytes = (uint32_t)sqlite3_column_bytes(index->get_page, 0);

		rc = SQLITE_OK;
		if (!bytes || sqlite3_column_type(index->get_page, 0) != SQLITE_BLOB)
			rc = iforest_error_from_status(error, IFOREST_CORRUPT, index->name, &missing, 0);
		else if (!is_current(index, bytes, n_bytes))
			rc = read_snapshot(index, bytes, n_bytes, error);
		sqlite3_reset(index->get_page);
	} else {
		int failed = sqlite3_reset(index->get_page);

		rc = failed ? iforest_error_from_db(error, index->db, failed) :
			      iforest_error_from_status(error, IFOREST_CORRUPT, index->name, &missing, 0);
	}
	if (rc)
		return rc;
	index->snapshot->n_refs++;
	*snapshot = index->snapshot;
	return SQLITE_OK;
}

static int detached(struct iforest_index *index, struct iforest_error *error)
{
	return iforest_error_set(error, SQLITE_ERROR,
				 "%s: detached from its table: the table, a column or a trigger of the index was dropped, renamed or "
				 "replaced; run INSERT INTO \"%w\"(\"%w\") VALUES('rebuild'), or drop the index and make it anew", index->name, index->name, index->name);
}

/* The triggers must be the ones that we would write today; looked at whenever the schema has changed. */
static int check_triggers(struct iforest_index *index, struct iforest_error *error)
{
	int schema_version, rc = SQLITE_OK;
	char *table = NULL;

	if (!index->read_schema_version)
		rc = iforest_prepare(error, index->db, &index->read_schema_version, "PRAGMA \"%w\".schema_version", index->schema);
	if (rc)
		return rc;
	rc = sqlite3_step(index->read_schema_version);
	schema_version = sqlite3_column_int(index->read_schema_version, 0);
	rc = sqlite3_reset(index->read_schema_version);
	if (rc)
		return iforest_error_from_db(error, index->db, rc);
	if (index->is_attached && schema_version == index->schema_version)
		return SQLITE_OK;
	rc = iforest_source_find(index->db, index->schema, index->name, index->columns, &table, error);
	/* a version that is rolled back is given again, but SQLite then connects its virtual tables anew, and nothing is remembered */
	index->is_attached = table != NULL;
	index->schema_version = schema_version;
	if (!rc && !table)
		rc = detached(index, error);
	sqlite3_free(table);
	return rc;
}

static int has_changed(struct iforest_index *index, struct iforest_error *error)
{
	char *table = NULL;
	int rc = iforest_source_find(index->db, index->schema, index->name, index->columns, &table, error);

	if (!rc)
		rc = iforest_error_set(error, SQLITE_ERROR,
				       "%s: the table \"%s\" has changed since the index was built; run INSERT INTO \"%w\"(\"%w\") "
				       "VALUES('rebuild')", index->name, table ? table : "", index->name, index->name);
	sqlite3_free(table);
	return rc;
}

static int check_unchanged(struct iforest_index *index, struct iforest_error *error)
{
	bool is_unchanged;
	int rc = SQLITE_OK;

	if (!index->read_changed)
		rc = iforest_prepare(error, index->db, &index->read_changed,
				     "SELECT count(*) = 1 AND total(changed) = 0 FROM \"%w\".\"%w_changed\"", index->schema, index->name);
	if (rc)
		return rc;
	is_unchanged = sqlite3_step(index->read_changed) == SQLITE_ROW && sqlite3_column_int(index->read_changed, 0);
	rc = sqlite3_reset(index->read_changed);
	if (rc)
		return iforest_error_from_db(error, index->db, rc);
	return is_unchanged ? SQLITE_OK : has_changed(index, error);
}

int iforest_index_open(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error)
{
	int rc = check_triggers(index, error);

	if (!rc)
		rc = check_unchanged(index, error);
	return rc ? rc : iforest_index_open_unguarded(index, snapshot, error);
}

/* Is the stored manifest another than the one being read? */
static bool was_replaced(struct iforest_index *index, const struct iforest_snapshot *snapshot)
{
	bool is_replaced = true;

	if (!index->get_page)
		return false;
	sqlite3_bind_int64(index->get_page, 1, 0);
	if (sqlite3_step(index->get_page) == SQLITE_ROW) {
		const uint8_t *bytes = sqlite3_column_blob(index->get_page, 0);

		is_replaced = bytes && sqlite3_column_bytes(index->get_page, 0) >= 24 &&
			      iforest_load64(bytes + 16) != snapshot->manifest.id;
	}
	sqlite3_reset(index->get_page);
	return is_replaced;
}

int iforest_index_error(struct iforest_index *index, const struct iforest_snapshot *snapshot, enum iforest_status status,
			struct iforest_error *error)
{
	int rc;

	if (status == IFOREST_CORRUPT && snapshot && was_replaced(index, snapshot))
		return iforest_error_set(error, SQLITE_ABORT, "%s: the index was rebuilt or rolled back while it was being read",
					 index->name);
	rc = iforest_error_from_status(error, status, index->name, &index->store.fault, index->io_rc);
	index->store.fault = (struct iforest_fault){ .what = NULL };
	index->io_rc = 0;
	return rc;
}
