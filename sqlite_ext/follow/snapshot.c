#include "sqlite_ext/follow/snapshot.h"

#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/follow/condition.h"
#include "sqlite_ext/follow/mark.h"
#include "sqlite_ext/follow/triggers.h"
#include "sqlite_ext/storage/pager.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* Cheap change detection, by SQLITE_FCNTL_DATA_VERSION: SQLite counts its own commits, and those of others that it finds.
 *
 * A data version is known only while the connection reads in a transaction of its own and writes nothing: its writes are
 * not counted before they are committed, and never if they are rolled back. So a state read at a known version is the
 * state at each time with the same version.
 * A deserialized database has no known version. */

/* True if both are known and nothing changed between them. */
static inline bool data_version_is_same(const struct ifs_data_version *a, const struct ifs_data_version *b)
{
	return a->is_known && b->is_known && a->version == b->version && a->temp_version == b->temp_version;
}

/* sqlite3_deserialize() replaces a database under cached statements, and restarts its version count. */
static bool may_be_replaced(sqlite3 *db, const char *schema)
{
	sqlite3_vfs *vfs = NULL;

	return sqlite3_file_control(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK || !vfs ||
	       strcmp(vfs->zName, "memdb") == 0;
}

static struct ifs_data_version data_version_now(sqlite3 *db, const char *schema)
{
	struct ifs_data_version now = { .is_known = false };

	/* there is no temporary file before there is something in it: its version stays 0 */
	if (sqlite3_txn_state(db, schema) == SQLITE_TXN_READ && sqlite3_txn_state(db, "temp") != SQLITE_TXN_WRITE &&
	    !may_be_replaced(db, schema) &&
	    sqlite3_file_control(db, schema, SQLITE_FCNTL_DATA_VERSION, &now.version) == SQLITE_OK) {
		now.is_known = true;
		(void)sqlite3_file_control(db, "temp", SQLITE_FCNTL_DATA_VERSION, &now.temp_version);
	}
	return now;
}

/* True if what is read now stays, except for what the connection itself has not committed. Not so for uncommitted rows of
 * others, which PRAGMA read_uncommitted shows in a shared cache, nor for a database that may be replaced. */
static bool data_version_is_stable(sqlite3 *db, const char *schema)
{
	sqlite3_stmt *statement; /* prepared each time, because it keeps its first answer */
	bool is_stable;

	if (may_be_replaced(db, schema))
		return false;
	if (sqlite3_txn_state(db, schema) == SQLITE_TXN_WRITE) /* of those that share a cache one writes at a time */
		return true;
	is_stable = sqlite3_prepare_v2(db, "PRAGMA read_uncommitted", -1, &statement, NULL) == SQLITE_OK &&
		    sqlite3_step(statement) == SQLITE_ROW && !sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return is_stable;
}

/* ---- Transactions and savepoints of the connection ---- */

/* Marks what was read deeper to be read again: it is not committed, or no longer there. */
static void forget_deeper(struct ifs_connection *connection, int depth)
{
	for (struct ifs_index *index = connection->indexes; index; index = index->next)
		if (index->snapshot && index->snapshot->depth > depth)
			index->snapshot->is_transient = true;
	connection->n_changes++;
}

/* Lets what was read deeper stay as long as what was read at that depth. */
static void lift(struct ifs_connection *connection, int depth)
{
	for (struct ifs_index *index = connection->indexes; index; index = index->next)
		if (index->snapshot && index->snapshot->depth > depth)
			index->snapshot->depth = depth;
}

static void leave(struct ifs_index *index)
{
	index->connection->n_joined -= index->is_joined;
	index->is_joined = false;
}

/* Handles in the connection's list take part in the events below. */
static void transaction_add(struct ifs_index *index)
{
	index->next = index->connection->indexes;
	index->connection->indexes = index;
}

static void transaction_remove(struct ifs_index *index)
{
	struct ifs_index **link = &index->connection->indexes;

	while (*link && *link != index)
		link = &(*link)->next;
	if (*link)
		*link = index->next;
	/* it was dropped, perhaps without an event; if that is rolled back SQLite connects all tables anew */
	leave(index);
}

/* Makes SQLite report transaction events to the connection. *depth is where it reads now, 0 if there will be no events. An
 * error if SQLite has rolled back instead.
 * Requires  a transaction that has begun to write, and no running statement that writes
 * Effects   changes() is 0 afterwards, unless events were reported already */
static int transaction_join(struct ifs_index *index, int *depth, struct ifs_error *error)
{
	const struct ifs_connection *connection = index->connection;
	struct ifs_error refused = { .rc = SQLITE_OK };
	int rc = SQLITE_OK;

	/* prepared each time: a statement that is kept would keep the table from being closed */
	if (connection->n_joined == 0)
		rc = ifs_execute(&refused, index->db, "DELETE FROM \"%w\".\"%w\" WHERE 0", index->schema, index->name);
	if (rc && sqlite3_get_autocommit(index->db)) /* as it does if a statement that writes is interrupted */
		ifs_error_set(error, rc, "%s", refused.message ? refused.message : sqlite3_errstr(rc));
	ifs_error_clear(&refused);
	*depth = connection->n_joined > 0 ? 1 + connection->n_savepoints : 0;
	return error->rc;
}

void ifs_transaction_begin(struct ifs_index *index)
{
	struct ifs_connection *connection = index->connection;

	if (index->is_joined)
		return;
	index->is_joined = true;
	if (connection->n_joined++ == 0)
		connection->n_savepoints = 0;
}

/* A table created in the transaction takes part in it; its first savepoint is the first event. */
void ifs_transaction_save(struct ifs_index *index, int savepoint)
{
	ifs_transaction_begin(index);
	index->connection->n_savepoints = savepoint + 1;
}

void ifs_transaction_release(struct ifs_index *index, int savepoint)
{
	index->connection->n_savepoints = savepoint;
	lift(index->connection, savepoint + 1);
}

void ifs_transaction_roll_back_to(struct ifs_index *index, int savepoint)
{
	index->connection->n_savepoints = savepoint + 1;
	forget_deeper(index->connection, savepoint + 1);
}

void ifs_transaction_commit(struct ifs_index *index)
{
	lift(index->connection, 0);
	leave(index);
}

void ifs_transaction_roll_back(struct ifs_index *index)
{
	forget_deeper(index->connection, 0);
	leave(index);
}

/* ---- Handle ---- */

void ifs_connection_release(struct ifs_connection *connection)
{
	if (--connection->n_refs == 0)
		sqlite3_free(connection);
}

int ifs_index_init(struct ifs_index *index, sqlite3 *db, struct ifs_connection *connection, const char *schema,
		   const char *name, struct ifs_error *error)
{
	*index = (struct ifs_index){ .db = db, .connection = connection };
	connection->n_refs++; /* SQLite may release the modules before their tables */
	index->schema = sqlite3_mprintf("%s", schema);
	index->name = sqlite3_mprintf("%s", name);
	ifs_pager_init(index);
	transaction_add(index);
	return index->schema && index->name ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
}

static void finalize_statements(struct ifs_index *index)
{
	sqlite3_finalize(index->get_page);
	sqlite3_finalize(index->put_page);
	sqlite3_finalize(index->read_schema_version);
	sqlite3_finalize(index->read_temp_version);
	sqlite3_finalize(index->read_state);
	sqlite3_finalize(index->read_rows);
	sqlite3_finalize(index->read_log);
	sqlite3_finalize(index->find_row);
	for (unsigned table = 0; table < IFS_N_SIDECARS; table++) {
		sqlite3_finalize(index->has_summary[table]);
		sqlite3_finalize(index->get_summary[table]);
		index->has_summary[table] = index->get_summary[table] = NULL;
	}
	index->get_page = index->put_page = index->read_state = index->read_rows = index->read_log = index->find_row = NULL;
	index->read_schema_version = index->read_temp_version = NULL;
}

void ifs_index_forget(struct ifs_index *index)
{
	finalize_statements(index);
	ifs_snapshot_release(index->snapshot);
	index->snapshot = NULL;
	index->is_attached = index->definition.where_is_judged = false;
	ifs_base_table_release(&index->base_table);
	if (index->cache.n_pinned == 0)
		ifs_page_cache_release(&index->cache);
	ifs_read_ahead_release(&index->ahead);
}

void ifs_index_release(struct ifs_index *index)
{
	if (index->connection) {
		transaction_remove(index);
		ifs_connection_release(index->connection);
	}
	ifs_index_forget(index);
	sqlite3_free(index->schema);
	sqlite3_free(index->name);
	ifs_definition_release(&index->definition);
	index->schema = index->name = NULL;
	index->connection = NULL;
}

int ifs_index_describe(struct ifs_index *index, const struct ifs_definition *definition, struct ifs_error *error)
{
	return ifs_definition_parse(&index->definition, (int)definition->n_texts, (const char *const *)definition->texts,
				    error);
}

/* ---- Snapshot ---- */

void ifs_snapshot_release(struct ifs_snapshot *snapshot)
{
	if (!snapshot || --snapshot->n_refs > 0)
		return;
	iforest_manifest_release(&snapshot->manifest);
	ifs_dictionary_release(&snapshot->dictionary);
	ifs_delta_release(&snapshot->delta);
	sqlite3_free(snapshot);
}

/* Reads the series that the manifest names into the snapshot. */
static int read_dictionary(struct ifs_index *index, struct ifs_snapshot *snapshot, struct ifs_error *error)
{
	struct ifs_host_bytes host = ifs_host_bytes_get(&snapshot->manifest);
	struct iforest_fault fault = { .what = "the table of series is wrong" };
	uint32_t n_seen = 0;
	uint64_t checksum = 0;
	sqlite3_stmt *statement;
	enum iforest_status status = IFOREST_OK;
	int rc;

	snapshot->dictionary.n_by = index->definition.n_by;
	snapshot->dictionary.end_of_stored = snapshot->dictionary.next_id = host.end_of_series;
	rc = ifs_prepare(error, index->db, &statement, "SELECT id, key FROM \"%w\".\"%w_series\" WHERE id >= %u AND id < %u",
			 index->schema, index->name, host.first_series, host.end_of_series);
	while (!rc && !status && sqlite3_step(statement) == SQLITE_ROW) {
		const void *key = sqlite3_column_blob(statement, 1);
		uint32_t id = (uint32_t)sqlite3_column_int64(statement, 0),
			 n_bytes = (uint32_t)sqlite3_column_bytes(statement, 1);

		status = ifs_dictionary_add(&snapshot->dictionary, id, key ? key : "", n_bytes);
		checksum += iforest_series_key_checksum(id, key ? key : "", n_bytes);
		n_seen++;
	}
	if (!rc && (rc = sqlite3_reset(statement)))
		ifs_error_from_db(error, index->db, rc);
	sqlite3_finalize(statement);
	if (!rc && !status &&
	    (host.end_of_series < host.first_series || n_seen != host.end_of_series - host.first_series ||
	     checksum != host.series_checksum))
		status = IFOREST_CORRUPT;
	if (!rc && status)
		rc = ifs_error_from_status(error, status, index->name, &fault, 0);
	if (!rc)
		ifs_dictionary_sort(&snapshot->dictionary);
	return rc;
}

/* Returns why a manifest that is sound in itself cannot be this index's; NULL if it can. */
static const char *find_mismatch(const struct ifs_index *index, const struct iforest_manifest *manifest)
{
	const struct ifs_definition *definition = &index->definition;
	struct ifs_host_bytes host;

	if (manifest->page_bytes > IFS_SQLITE_PAGE_BYTES)
		return "the manifest's page size is wrong";
	if (!ifs_host_bytes_are_there(manifest))
		return "the manifest's engine data are wrong";
	host = ifs_host_bytes_get(manifest);
	if (manifest->fields.n_values != ifs_n_fields(definition, (enum ifs_time_kind)host.time_kind) ||
	    manifest->fields.duration_value != ifs_duration_field(definition, (enum ifs_time_kind)host.time_kind) ||
	    manifest->fields.end_rule != ifs_end_rule(definition, (enum ifs_time_kind)host.time_kind) ||
	    !iforest_accumulators_equal(&manifest->fields.accumulators, &definition->accumulators))
		return "the manifest's value columns are not those of the index";
	for (uint32_t r = 0; r < manifest->n_runs; r++) {
		const struct iforest_run *run = &manifest->runs[r];

		if (iforest_node_first(run->root).series < host.first_series ||
		    iforest_node_last(run->root).series >= host.end_of_series)
			return "a run holds series that there are not";
		if (run->removal_in_progress) /* a removal is part of its transaction, so nobody can see one half done */
			return "a removal was cut off";
	}
	return NULL;
}

static bool is_same_type(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int was_made_anew(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_error_set(error, SQLITE_ERROR,
			     "%s: the index was made anew with other columns; drop the tables over it, and make them anew",
			     index->name);
}

/* Returns an error if the index is no longer the one to which the table was connected. SQLite reconnects tables when it reads
 * the schema, but not after this connection itself rebuilt the index. */
static int check_derived(struct ifs_index *index, struct ifs_error *error)
{
	const struct ifs_definition *known = &index->definition;
	struct ifs_definition today;
	int rc = ifs_index_read_definition(index, &today, error);
	bool is_same = !rc && today.n_texts == known->n_texts;

	for (unsigned t = 0; t < known->n_texts && is_same; t++)
		is_same = strcmp(today.texts[t], known->texts[t]) == 0;
	for (unsigned b = 0; b < known->n_by && is_same; b++)
		is_same = is_same_type(today.by_types[b], index->by_types[b]);
	ifs_definition_release(&today);
	return rc || is_same ? rc : was_made_anew(index, error);
}

/* Sets the kind of times of a snapshot. */
static int find_times(struct ifs_index *index, struct ifs_snapshot *snapshot, struct ifs_error *error)
{
	const struct ifs_host_bytes host = ifs_host_bytes_get(&snapshot->manifest);
	enum ifs_time_kind kind = (enum ifs_time_kind)host.time_kind;

	snapshot->times = ifs_times_of(&index->definition, kind);
	(void)iforest_text_form_decode(host.text_form, &snapshot->times.form);
	snapshot->manifest.fields.has_real_times = kind == IFS_TIMES_REAL;
	return index->is_derived && kind != index->time_kind ? was_made_anew(index, error) : SQLITE_OK;
}

static int read_snapshot(struct ifs_index *index, const uint8_t *bytes, uint32_t n_bytes, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot = sqlite3_malloc64(sizeof *snapshot);
	struct iforest_fault fault = { .what = NULL };
	enum iforest_status status;
	int rc = SQLITE_OK;

	if (!snapshot)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	*snapshot = (struct ifs_snapshot){ .n_refs = 1 };
	status = iforest_manifest_read(&snapshot->manifest, &ifs_alloc, bytes, n_bytes, &fault.what);
	if (!status)
		fault.what = find_mismatch(index, &snapshot->manifest);
	if (!status && fault.what)
		status = IFOREST_CORRUPT;
	if (status)
		rc = ifs_error_from_status(error, status, index->name, &fault, 0);
	if (!rc)
		rc = find_times(index, snapshot, error);
	if (!rc)
		rc = read_dictionary(index, snapshot, error);
	if (!rc)
		rc = ifs_error_from_status(error,
					   ifs_delta_init(&snapshot->delta, &index->store, &snapshot->manifest.fields,
							  ifs_host_bytes_get(&snapshot->manifest).last_rowid),
					   index->name, &fault, 0);
	if (rc) {
		ifs_snapshot_release(snapshot);
		return rc;
	}
	ifs_snapshot_release(index->snapshot);
	index->snapshot = snapshot;
	index->times = snapshot->times;
	index->data_version.is_known = false;
	return SQLITE_OK;
}

/* Makes index->snapshot the stored state; its delta is empty if it is a new one. States are the same if the ids of their
 * manifests are: an id is random, and new with each publish. */
static int refresh(struct ifs_index *index, struct ifs_error *error)
{
	const uint8_t *bytes;
	uint32_t n_bytes;
	uint64_t id;
	int rc = ifs_pager_find_manifest(index, &bytes, &n_bytes, &id, error);

	if (rc)
		return rc;
	if (!index->snapshot || id != index->snapshot->manifest.id) {
		if (index->is_derived)
			rc = check_derived(index, error);
		if (!rc)
			rc = read_snapshot(index, bytes, n_bytes, error);
	}
	sqlite3_reset(index->get_page);
	return rc;
}

static int hand_out(struct ifs_index *index, int rc, struct ifs_snapshot **snapshot)
{
	if (rc)
		return rc;
	index->snapshot->n_refs++;
	*snapshot = index->snapshot;
	return SQLITE_OK;
}

int ifs_snapshot_open_unguarded(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error)
{
	return hand_out(index, refresh(index, error), snapshot);
}

/* ---- the base table ---- */

static int detached(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_error_set(
		error, SQLITE_ERROR,
		"%s: detached from its table: the table, a column, a UNIQUE index, or the log, the front or a trigger of the "
		"index was made, dropped, renamed or replaced; run INSERT INTO \"%w\"(\"%w\") VALUES('rebuild'), or drop the "
		"index and make it anew",
		index->name, index->name, index->name);
}

/* Judges the condition. A refusal says that the index is detached, and why. */
static int judge_condition(struct ifs_index *index, struct ifs_error *error)
{
	char *why;
	int rc = ifs_condition_judge(index->db, index->schema, index->base_table.name, &index->definition, error);

	if (rc != SQLITE_ERROR)
		return rc;
	why = error->message;
	*error = (struct ifs_error){ .rc = SQLITE_OK };
	ifs_error_set(error, rc, "%s: detached from its table: %s; run DROP TABLE \"%w\", and create it with another condition",
		      index->name, why, index->name);
	sqlite3_free(why);
	return rc;
}

/* Reads the version of a schema. *read is a statement kept from call to call. */
static int read_version(struct ifs_index *index, const char *schema, sqlite3_stmt **read, int *version, struct ifs_error *error)
{
	int rc = *read ? SQLITE_OK : ifs_prepare(error, index->db, read, "PRAGMA \"%w\".schema_version", schema);

	if (rc)
		return rc;
	sqlite3_step(*read);
	*version = sqlite3_column_int(*read, 0);
	rc = sqlite3_reset(*read);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Drops the base table and the statements that name it. */
static void forget_base_table(struct ifs_index *index)
{
	sqlite3_finalize(index->read_state);
	sqlite3_finalize(index->read_rows);
	sqlite3_finalize(index->read_log);
	sqlite3_finalize(index->find_row);
	index->read_state = index->read_rows = index->read_log = index->find_row = NULL;
	ifs_base_table_release(&index->base_table);
	index->is_attached = false;
	index->definition.where_is_judged = false;
}

int ifs_index_find_base_table(struct ifs_index *index, struct ifs_error *error)
{
	struct ifs_definition *definition = &index->definition;
	bool has_mark;
	int version = 0, temp_version = 0,
	    rc = read_version(index, index->schema, &index->read_schema_version, &version, error);

	if (!rc && definition->sync == IFS_SYNC_LOG) /* a temporary trigger may hide rows */
		rc = read_version(index, "temp", &index->read_temp_version, &temp_version, error);
	if (rc || (index->is_attached && version == index->schema_version && temp_version == index->temp_version))
		return rc;
	forget_base_table(index);
	if (index->is_derived && (rc = check_derived(index, error)))
		return rc;
	if (definition->sync == IFS_SYNC_LOG)
		rc = ifs_triggers_find_table(index->db, index->schema, index->name, definition, &index->base_table, error);
	else if (definition->sync == IFS_SYNC_APPEND)
		rc = ifs_base_table_inspect(&index->base_table, index->db, index->schema, definition, error);
	/* after a rollback the same version may be reused, but SQLite then reconnects its virtual tables, which discards this
	 * state */
	index->schema_version = version;
	index->temp_version = temp_version;
	if (!rc)
		rc = ifs_mark_check(index, definition->sync == IFS_SYNC_MANUAL ? definition->content : index->base_table.name,
				    &has_mark, error);
	if (!rc && definition->sync != IFS_SYNC_MANUAL &&
	    (!index->base_table.name || (!has_mark && !index->base_table.is_keyed)))
		rc = detached(index, error);
	if (!rc && index->base_table.name)
		rc = judge_condition(index, error);
	index->is_attached = !rc;
	return rc;
}

/* ---- the delta ---- */

static int rows_are_gone(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_error_set(error, SQLITE_ERROR,
			     "%s: rows of \"%s\" were deleted, but sync=append takes rows that are only ever added; run "
			     "INSERT INTO \"%w\"(\"%w\") "
			     "VALUES('rebuild'), or make the index with sync=log",
			     index->name, index->base_table.name, index->name, index->name);
}

static void forget_snapshot(struct ifs_index *index)
{
	ifs_snapshot_release(index->snapshot);
	index->snapshot = NULL;
}

/* What is read while a row is being written may be half of a change: our triggers log before it is made. And with
 * sync=append only committed rows stay. */
bool ifs_index_is_changing(struct ifs_index *index)
{
	if (sqlite3_txn_state(index->db, index->schema) != SQLITE_TXN_WRITE)
		return false;
	return index->definition.sync == IFS_SYNC_APPEND || ifs_next_writer(index->db, NULL) != NULL;
}

/* Extends the delta, and notes whether its rows stay. */
static int read_delta(struct ifs_index *index, bool is_stable, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot = index->snapshot;
	bool is_transient = ifs_index_is_changing(index);
	int rc = ifs_delta_read(index, &snapshot->delta, &snapshot->dictionary, error);

	if (!rc && !is_transient)
		rc = ifs_delta_check_log(index, &snapshot->delta, error);
	snapshot->is_transient = !is_stable || is_transient;
	if (!rc && !snapshot->is_transient && sqlite3_txn_state(index->db, index->schema) == SQLITE_TXN_WRITE) {
		rc = transaction_join(index, &snapshot->depth, error);
		snapshot->is_transient = snapshot->depth == 0;
	}
	return rc;
}

/* Brings the delta of index->snapshot up to date, or that of a new snapshot if somebody still reads it, or it cannot be
 * extended. */
static int refresh_delta(struct ifs_index *index, bool is_stable, struct ifs_error *error)
{
	bool is_current, is_part;
	int rc = SQLITE_OK;

	if (index->snapshot->is_transient) {
		forget_snapshot(index);
		rc = refresh(index, error);
	}
	if (!rc)
		rc = ifs_delta_is_current(index, &index->snapshot->delta, &index->snapshot->dictionary, &is_current, &is_part,
					  error);
	if (rc || is_current)
		return rc;
	if (!is_part || index->snapshot->n_refs > 1) {
		forget_snapshot(index);
		rc = refresh(index, error);
		if (!rc)
			rc = ifs_delta_is_current(index, &index->snapshot->delta, &index->snapshot->dictionary, &is_current,
						  &is_part, error);
		if (!rc && !is_part)
			rc = rows_are_gone(index, error);
	}
	if (!rc && !is_current)
		rc = read_delta(index, is_stable, error);
	if (rc)
		forget_snapshot(index);
	return rc;
}

int ifs_snapshot_open(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error)
{
	struct ifs_data_version now = data_version_now(index->db, index->schema);
	bool is_stable;
	int rc;

	index->knows_cache_size = false;
	if (index->snapshot && data_version_is_same(&index->data_version, &now))
		return hand_out(index, SQLITE_OK, snapshot);
	index->data_version.is_known = false;
	is_stable = data_version_is_stable(index->db, index->schema);
	rc = ifs_index_find_base_table(index, error);
	if (!rc)
		rc = refresh(index, error);
	if (!rc)
		rc = refresh_delta(index, is_stable, error);
	if (!rc && now.is_known && is_stable)
		index->data_version = now;
	return hand_out(index, rc, snapshot);
}

/* ---- errors ---- */

static int was_replaced(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_error_set(error, SQLITE_ABORT, "%s: the index was changed or rolled back while it was being read; ask again",
			     index->name);
}

int ifs_snapshot_check(struct ifs_index *index, const struct ifs_snapshot *snapshot, struct ifs_error *error)
{
	const uint8_t *bytes;
	uint32_t n_bytes;
	uint64_t id;
	int rc = ifs_pager_find_manifest(index, &bytes, &n_bytes, &id, error);

	if (rc)
		return rc;
	if (id != snapshot->manifest.id)
		rc = was_replaced(index, error);
	sqlite3_reset(index->get_page);
	return rc;
}

int ifs_snapshot_check_since(struct ifs_index *index, const struct ifs_snapshot *snapshot, uint64_t *n_changes,
			     struct ifs_error *error)
{
	if (*n_changes == index->connection->n_changes || ifs_snapshot_check(index, snapshot, error))
		return error->rc;
	*n_changes = index->connection->n_changes;
	return SQLITE_OK;
}

int ifs_snapshot_error(struct ifs_index *index, const struct ifs_snapshot *snapshot, enum iforest_status status,
		       struct ifs_error *error)
{
	int rc;

	if (status == IFOREST_CORRUPT && snapshot && (rc = ifs_snapshot_check(index, snapshot, error)))
		return rc;
	return ifs_pager_error(index, status, error);
}
