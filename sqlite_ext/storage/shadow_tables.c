#include "sqlite_ext/storage/shadow_tables.h"

#include "core/run/compact.h"

static const char *const table_suffixes[] = { "page", "series", "config", "log", "front", "sketch", "piece", "distinct" };

enum { LOG = 3, FRONT = 4, SKETCH = 5, PIECE = 6, DISTINCT = 7, N_TABLES = 8 };

/* An index without sync=log has no x_log and no x_front, without sketch=... no x_sketch, without counter=... no x_piece,
 * without distinct=... no x_distinct: a table of such a name is the user's. */
static bool has_table(const struct ifs_index *index, unsigned t)
{
	if (t == LOG || t == FRONT)
		return index->definition.sync == IFS_SYNC_LOG;
	if (t == SKETCH)
		return index->definition.n_sketches > 0;
	if (t == DISTINCT)
		return index->definition.n_distincts > 0;
	return t != PIECE || index->definition.n_counters > 0;
}

int ifs_index_find_mark(struct ifs_index *index, enum ifs_mark_form *form, struct ifs_error *error)
{
	struct ifs_error failure = { .rc = SQLITE_OK };
	sqlite3_stmt *statement;
	int rc = ifs_prepare(&failure, index->db, &statement, "SELECT value FROM \"%w\".\"%w_config\" WHERE name = 'mark'",
			     index->schema, index->name);

	*form = IFS_NO_MARK;
	if (!rc && sqlite3_step(statement) == SQLITE_ROW)
		*form = sqlite3_column_int(statement, 0) == IFS_UNIQUE_MARK ? IFS_UNIQUE_MARK : IFS_PLAIN_MARK;
	if (!rc && (rc = sqlite3_finalize(statement)))
		ifs_error_from_db(&failure, index->db, rc);
	if (rc && !ifs_error_is_permanent(rc))
		ifs_error_set(error, rc, "%s", failure.message ? failure.message : sqlite3_errstr(rc));
	ifs_error_clear(&failure);
	return error->rc;
}

int ifs_index_make_mark(struct ifs_index *index, enum ifs_mark_form form, struct ifs_error *error)
{
	return ifs_execute(error, index->db,
			   "CREATE TABLE \"%w\".\"%w_mark\"(mark%s); INSERT INTO \"%w\".\"%w_config\" VALUES('mark', %d)",
			   index->schema, index->name, form == IFS_UNIQUE_MARK ? " UNIQUE" : "", index->schema, index->name,
			   form);
}

/* Selects, of the tables that the index has, one that is not ordinary; x_mark, which may be the user's, last. */
static sqlite3_str *select_unusual(const struct ifs_index *index, bool is_described)
{
	sqlite3_str *sql = sqlite3_str_new(index->db);

	sqlite3_str_appendf(sql,
			    "SELECT name, name = '%q_mark' COLLATE NOCASE AS is_mark FROM \"%w\".sqlite_schema AS m "
			    "WHERE type IN ('table', 'view') AND name COLLATE NOCASE IN (",
			    index->name, index->schema);
	for (unsigned t = 0; t < N_TABLES; t++)
		if (t < LOG || (is_described && has_table(index, t)))
			sqlite3_str_appendf(sql, "'%q_%s', ", index->name, table_suffixes[t]);
	sqlite3_str_appendf(
		sql,
		"'%q_mark') AND (sql NOT LIKE 'CREATE TABLE %%' OR "
		"EXISTS(SELECT 1 FROM pragma_table_xinfo(m.name, %Q) AS c WHERE c.hidden)) ORDER BY is_mark LIMIT 1",
		index->name, index->schema);
	return sql;
}

int ifs_index_check_tables(struct ifs_index *index, bool is_described, struct ifs_error *error)
{
	enum ifs_mark_form mark = IFS_PLAIN_MARK;
	sqlite3_stmt *statement;
	int failed, rc = ifs_prepare_text(error, index->db, &statement, select_unusual(index, is_described));

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		if (sqlite3_column_int(statement, 1)) /* x_config is an ordinary table then */
			rc = ifs_index_find_mark(index, &mark, error);
		if (!rc && mark != IFS_NO_MARK)
			rc = ifs_error_set(error, SQLITE_ERROR,
					   "iforest: \"%s\" is not an ordinary table: the schema was edited",
					   sqlite3_column_text(statement, 0));
	}
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(error, index->db, failed) : rc;
}

/* Recreates the trigger, which does nothing, so that it comes last in the schema. */
static int make_order(struct ifs_index *index, const char *old_name, const char *name, struct ifs_error *error)
{
	return ifs_execute(error, index->db,
			   "DROP TRIGGER IF EXISTS \"%w\".\"%w_mark_order\"; CREATE TRIGGER \"%w\".\"%w_mark_order\" "
			   "AFTER INSERT ON \"%w_mark\" WHEN 0 BEGIN SELECT 1; END",
			   index->schema, old_name, index->schema, name, name);
}

int ifs_index_order_mark(struct ifs_index *index, struct ifs_error *error)
{
	return make_order(index, index->name, index->name, error);
}

/* Creates x_front, and x_log, whose columns have no types, so that every old value is kept as it is (follow/triggers.h). */
static int make_log(struct ifs_index *index, unsigned n_by, const char *if_not, struct ifs_error *error)
{
	sqlite3_str *sql = sqlite3_str_new(index->db);

	sqlite3_str_appendf(sql, "CREATE TABLE %s\"%w\".\"%w_front\"(block INTEGER);", if_not, index->schema, index->name);
	sqlite3_str_appendf(sql, "CREATE TABLE %s\"%w\".\"%w_log\"(seq INTEGER PRIMARY KEY, id INTEGER, was INTEGER, time",
			    if_not, index->schema, index->name);
	for (unsigned b = 0; b < n_by; b++)
		sqlite3_str_appendf(sql, ", by_%u", b);
	sqlite3_str_appendall(sql, ")");
	return ifs_execute_text(error, index->db, sql);
}

/* Creates a sidecar table (sidecar.h). */
static int make_sidecar(struct ifs_index *index, const char *suffix, const char *if_not, struct ifs_error *error)
{
	return ifs_execute(error, index->db,
			   "CREATE TABLE %s\"%w\".\"%w_%s\"(run INTEGER, value INTEGER, level INTEGER, number INTEGER, "
			   "dead INTEGER, bytes BLOB, PRIMARY KEY(run, value, level, number))",
			   if_not, index->schema, index->name, suffix);
}

static int put_config(struct ifs_index *index, const char *name, int number, const char *value, struct ifs_error *error)
{
	return ifs_execute(error, index->db, "REPLACE INTO \"%w\".\"%w_config\" VALUES('%q %d', %Q)", index->schema,
			   index->name, name, number, value);
}

int ifs_index_make_tables(struct ifs_index *index, const struct ifs_definition *definition, bool may_exist,
			  struct ifs_error *error)
{
	const char *schema = index->schema, *name = index->name, *if_not = may_exist ? "IF NOT EXISTS " : "";
	int rc = ifs_execute(
		error, index->db,
		"CREATE TABLE %s\"%w\".\"%w_page\"(id INTEGER PRIMARY KEY, bytes BLOB);"
		"CREATE TABLE %s\"%w\".\"%w_series\"(id INTEGER PRIMARY KEY, key BLOB);"
		"CREATE TABLE %s\"%w\".\"%w_config\"(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
		"DELETE FROM \"%w\".\"%w_config\" WHERE name NOT GLOB 'export *' AND name NOT IN ('automerge', 'flushed', 'mark', 'time type');"
		"INSERT INTO \"%w\".\"%w_config\" VALUES('format', %d)",
		if_not, schema, name, if_not, schema, name, if_not, schema, name, schema, name, schema, name,
		IFS_SQLITE_FORMAT);

	if (!rc && definition->sync == IFS_SYNC_LOG)
		rc = make_log(index, definition->n_by, if_not, error);
	if (!rc && definition->n_sketches > 0)
		rc = make_sidecar(index, table_suffixes[SKETCH], if_not, error);
	if (!rc && definition->n_counters > 0)
		rc = make_sidecar(index, table_suffixes[PIECE], if_not, error);
	if (!rc && definition->n_distincts > 0)
		rc = make_sidecar(index, table_suffixes[DISTINCT], if_not, error);
	for (unsigned t = 0; t < definition->n_texts && !rc; t++)
		rc = put_config(index, "argument", (int)t, definition->texts[t], error);
	for (unsigned b = 0; b < definition->n_by && !rc; b++)
		rc = put_config(index, "by type", (int)b, definition->by_types[b], error);
	return rc;
}

int ifs_index_note_flush(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_execute(error, index->db, "REPLACE INTO \"%w\".\"%w_config\" VALUES('flushed', unixepoch())", index->schema,
			   index->name);
}

int ifs_index_note_time_kind(struct ifs_index *index, enum ifs_time_kind kind, struct ifs_error *error)
{
	if (kind == IFS_TIMES_INTEGER)
		return ifs_execute(error, index->db, "DELETE FROM \"%w\".\"%w_config\" WHERE name = 'time type'", index->schema,
				   index->name);
	return ifs_execute(error, index->db, "REPLACE INTO \"%w\".\"%w_config\" VALUES('time type', %Q)", index->schema,
			   index->name, ifs_time_types[kind]);
}

int ifs_index_drop_tables(struct ifs_index *index, struct ifs_error *error)
{
	enum ifs_mark_form form;
	int rc = ifs_index_find_mark(index, &form, error);

	if (!rc && form)
		rc = ifs_execute(error, index->db, "DROP TABLE IF EXISTS \"%w\".\"%w_mark\"", index->schema, index->name);
	for (unsigned t = 0; t < N_TABLES && !rc; t++)
		if (has_table(index, t))
			rc = ifs_execute(error, index->db, "DROP TABLE IF EXISTS \"%w\".\"%w_%s\"", index->schema, index->name,
					 table_suffixes[t]);
	return rc;
}

int ifs_index_rename_tables(struct ifs_index *index, const char *new_name, struct ifs_error *error)
{
	char *name = sqlite3_mprintf("%s", new_name);
	enum ifs_mark_form form = IFS_NO_MARK;
	int rc = name ? ifs_index_find_mark(index, &form, error) : ifs_error_set(error, SQLITE_NOMEM, "");

	if (!rc && form)
		rc = ifs_execute(error, index->db, "ALTER TABLE \"%w\".\"%w_mark\" RENAME TO \"%w_mark\"", index->schema,
				 index->name, new_name);
	if (!rc && form)
		rc = make_order(index, index->name, new_name, error);
	for (unsigned t = 0; t < N_TABLES && !rc; t++)
		if (has_table(index, t))
			rc = ifs_execute(error, index->db, "ALTER TABLE \"%w\".\"%w_%s\" RENAME TO \"%w_%s\"", index->schema,
					 index->name, table_suffixes[t], new_name, table_suffixes[t]);
	if (rc) {
		sqlite3_free(name);
		return rc;
	}
	sqlite3_free(index->name);
	index->name = name;
	return SQLITE_OK;
}

static int read_time_kind(struct ifs_index *index, struct ifs_definition *definition, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement, "SELECT value FROM \"%w\".\"%w_config\" WHERE name = 'time type'",
			     index->schema, index->name);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
		for (int k = 0; k < IFS_N_TIME_KINDS; k++)
			if (strcmp((const char *)sqlite3_column_text(statement, 0), ifs_time_types[k]) == 0)
				definition->time_kind = (enum ifs_time_kind)k;
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

int ifs_index_read_types(struct ifs_index *index, struct ifs_definition *definition, struct ifs_error *error)
{
	static const char *const known[] = { "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB" };
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement,
			     "SELECT value FROM \"%w\".\"%w_config\" WHERE name = 'by type ' || ?", index->schema, index->name);

	for (unsigned b = 0; b < definition->n_by && !rc; b++) {
		sqlite3_bind_int(statement, 1, (int)b);
		if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
			for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
				if (strcmp((const char *)sqlite3_column_text(statement, 0), known[k]) == 0)
					definition->by_types[b] = known[k];
		rc = sqlite3_reset(statement);
		if (rc)
			ifs_error_from_db(error, index->db, rc);
	}
	sqlite3_finalize(statement);
	if (!rc)
		rc = read_time_kind(index, definition, error);
	if (ifs_error_is_permanent(rc))
		ifs_error_clear(error);
	return error->rc;
}

int ifs_index_read_definition(struct ifs_index *index, struct ifs_definition *definition, struct ifs_error *error)
{
	char *arguments[IFS_MAX_TEXTS] = { NULL };
	int n = 0, failed;
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement,
			     "SELECT value FROM \"%w\".\"%w_config\" WHERE name GLOB 'argument [0-9]*' "
			     "ORDER BY name GLOB 'argument [0-9][0-9]', name",
			     index->schema, index->name);

	*definition = (struct ifs_definition){ .content = NULL };
	while (!rc && n < IFS_MAX_TEXTS && sqlite3_step(statement) == SQLITE_ROW) {
		arguments[n] = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
		if (!arguments[n++])
			rc = ifs_error_set(error, SQLITE_NOMEM, "");
	}
	failed = sqlite3_finalize(statement);
	if (failed && !rc)
		rc = ifs_error_from_db(error, index->db, failed);
	if (!rc)
		rc = ifs_definition_parse(definition, n, (const char *const *)arguments, error);
	if (!rc)
		rc = ifs_index_read_types(index, definition, error);
	while (n-- > 0)
		sqlite3_free(arguments[n]);
	return rc;
}

int ifs_index_get_automerge(struct ifs_index *index, uint32_t *fan_in, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement,
			     "SELECT value FROM \"%w\".\"%w_config\" WHERE name = 'automerge'"
			     " AND value BETWEEN %d AND %d",
			     index->schema, index->name, IFS_LEAST_AUTOMERGE, IFS_MOST_AUTOMERGE);

	*fan_in = IFOREST_USUAL_FAN_IN;
	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW)
		*fan_in = (uint32_t)sqlite3_column_int(statement, 0);
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

int ifs_index_set_automerge(struct ifs_index *index, uint32_t fan_in, struct ifs_error *error)
{
	return ifs_execute(error, index->db, "REPLACE INTO \"%w\".\"%w_config\" VALUES('automerge', %u)", index->schema,
			   index->name, fan_in);
}

int ifs_index_put_series(struct ifs_index *index, sqlite3_stmt **put, uint32_t id, const uint8_t *key, uint32_t n_bytes,
			 struct ifs_error *error)
{
	int rc = *put ? SQLITE_OK
		      : ifs_prepare(error, index->db, put, "REPLACE INTO \"%w\".\"%w_series\"(id, key) VALUES(?, ?)",
				    index->schema, index->name);

	if (rc)
		return rc;
	sqlite3_bind_int64(*put, 1, id);
	sqlite3_bind_blob(*put, 2, key ? key : (const void *)"", (int)n_bytes, SQLITE_STATIC);
	sqlite3_step(*put);
	rc = sqlite3_reset(*put);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}
