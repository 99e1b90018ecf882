#include "sqlite_ext/source.h"

#include <ctype.h>

/* ---- what is refused ---- */

/* What of the source is being looked at. */
struct inspection {
	sqlite3 *db;
	const char *schema;
	const char *table;
	struct iforest_error *error;
};

static int refuse(struct inspection *inspection, const char *format, const char *detail)
{
	return iforest_error_set(inspection->error, SQLITE_ERROR, format, inspection->table, detail, inspection->table,
				 inspection->table);
}

/* The next token of SQL text, past comments and strings: its start, and its length in *n; NULL at the end. */
static const char *next_token(const char **at, int *n)
{
	const char *start;

	for (;;) {
		while (isspace((unsigned char)**at))
			++*at;
		if (strncmp(*at, "--", 2) == 0)
			*at += strcspn(*at, "\n");
		else if (strncmp(*at, "/*", 2) == 0)
			*at = strstr(*at + 2, "*/") ? strstr(*at + 2, "*/") + 2 : *at + strlen(*at);
		else
			break;
	}
	start = *at;
	if (!*start)
		return NULL;
	if (strchr("\"'`[", *start)) {
		const char *end = strchr(start + 1, *start == '[' ? ']' : *start);

		*at = end ? end + 1 : start + strlen(start);
	} else {
		while (isalnum((unsigned char)**at) || **at == '_')
			++*at;
		*at += *at == start;
	}
	*n = (int)(*at - start);
	return start;
}

/* Does the table's SQL say ON CONFLICT REPLACE anywhere? */
static bool says_conflict_replace(const char *sql)
{
	static const char *const words[] = { "on", "conflict", "replace" };
	unsigned n_matched = 0;
	const char *token;
	int n;

	while ((token = next_token(&sql, &n))) {
		if (n == (int)strlen(words[n_matched]) && sqlite3_strnicmp(token, words[n_matched], n) == 0)
			n_matched++;
		else
			n_matched = n == 2 && sqlite3_strnicmp(token, "on", 2) == 0;
		if (n_matched == 3)
			return true;
	}
	return false;
}

/* The object of that name: a plain table? */
static int inspect_kind(struct inspection *inspection, const char *content, char **name)
{
	sqlite3_stmt *statement;
	const char *sql, *type;
	int rc = iforest_prepare(inspection->error, inspection->db, &statement,
				 "SELECT type, name, sql FROM \"%w\".sqlite_schema WHERE type IN ('table', 'view') AND name = %Q COLLATE NOCASE",
				 inspection->schema, content);

	if (rc)
		return rc;
	if (sqlite3_step(statement) != SQLITE_ROW) {
		rc = iforest_error_set(inspection->error, SQLITE_ERROR,
				       "iforest: no table \"%s\" in schema \"%s\"; an index lives in the schema of its table",
				       content, inspection->schema);
		goto done;
	}
	type = (const char *)sqlite3_column_text(statement, 0);
	*name = sqlite3_mprintf("%s", sqlite3_column_text(statement, 1));
	sql = (const char *)sqlite3_column_text(statement, 2);
	inspection->table = *name;
	if (!*name || !type)
		rc = iforest_error_set(inspection->error, SQLITE_NOMEM, "");
	else if (strcmp(type, "view") == 0)
		rc = refuse(inspection, "iforest: \"%s\" is a view%s; index the table below it", "");
	else if (sql && sqlite3_strnicmp(sql, "CREATE VIRTUAL", 14) == 0)
		rc = refuse(inspection,
			    "iforest: \"%s\" is a virtual table%s; copy it: CREATE TABLE \"%w_rows\"(id INTEGER PRIMARY KEY, ...); "
			    "INSERT INTO \"%w_rows\" SELECT ...", "");
	else if (sql && says_conflict_replace(sql))
		rc = refuse(inspection,
			    "iforest: \"%s\" uses ON CONFLICT REPLACE%s, which deletes rows that triggers do not see; take the clause "
			    "out of its schema and write INSERT OR REPLACE INTO \"%w\" where it is meant", "");
done:
	sqlite3_finalize(statement);
	return rc;
}

/* The columns of the table as SQL text, for a remedy. */
static char *list_columns(struct inspection *inspection)
{
	sqlite3_stmt *statement;
	char *list = NULL;

	if (iforest_prepare(inspection->error, inspection->db, &statement,
			    "SELECT group_concat('\"' || replace(name, '\"', '\"\"') || '\"', ', ') FROM pragma_table_info(%Q, %Q)",
			    inspection->table, inspection->schema))
		return NULL;
	if (sqlite3_step(statement) == SQLITE_ROW)
		list = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return list;
}

static int refuse_rowids(struct inspection *inspection, const char *why)
{
	char *columns = list_columns(inspection);

	if (columns)
		iforest_error_set(inspection->error, SQLITE_ERROR,
				  "iforest: \"%s\" %s; copy it: CREATE TABLE \"%w_rows\"(iforest_id INTEGER PRIMARY KEY, %s); "
				  "INSERT INTO \"%w_rows\"(%s) SELECT %s FROM \"%w\"",
				  inspection->table, why, inspection->table, columns, inspection->table, columns, columns,
				  inspection->table);
	else
		iforest_error_set(inspection->error, SQLITE_NOMEM, "");
	sqlite3_free(columns);
	return inspection->error->rc;
}

/* The INTEGER PRIMARY KEY: one column of type INTEGER that has no index of its own. */
static int inspect_rowid(struct inspection *inspection, char **rowid_column)
{
	static const char sql[] =
		"SELECT (SELECT wr FROM pragma_table_list WHERE schema = %Q AND name = %Q),"
		" (SELECT name FROM pragma_table_info(%Q, %Q) WHERE pk > 0 AND upper(type) = 'INTEGER'),"
		" (SELECT count(*) FROM pragma_table_info(%Q, %Q) WHERE pk > 0),"
		" (SELECT count(*) FROM pragma_index_list(%Q, %Q) WHERE origin = 'pk')";
	const char *table = inspection->table, *schema = inspection->schema;
	sqlite3_stmt *statement;
	int rc = iforest_prepare(inspection->error, inspection->db, &statement, sql, schema, table, table, schema, table,
				 schema, table, schema);

	if (rc)
		return rc;
	if (sqlite3_step(statement) != SQLITE_ROW)
		rc = iforest_error_from_db(inspection->error, inspection->db, SQLITE_ERROR);
	else if (sqlite3_column_int(statement, 0))
		rc = refuse_rowids(inspection, "is WITHOUT ROWID, and the index leads back to rows by their rowid");
	else if (sqlite3_column_type(statement, 1) == SQLITE_NULL || sqlite3_column_int(statement, 2) != 1 ||
		 sqlite3_column_int(statement, 3) != 0)
		rc = refuse_rowids(inspection, "has no INTEGER PRIMARY KEY, so VACUUM may renumber its rows");
	else if (!(*rowid_column = sqlite3_mprintf("%s", sqlite3_column_text(statement, 1))))
		rc = iforest_error_set(inspection->error, SQLITE_NOMEM, "");
	sqlite3_finalize(statement);
	return rc;
}

static int inspect_unique_indexes(struct inspection *inspection)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(inspection->error, inspection->db, &statement,
				 "SELECT name, partial FROM pragma_index_list(%Q, %Q) AS l WHERE \"unique\" AND (partial OR EXISTS"
				 "(SELECT 1 FROM pragma_index_xinfo(l.name, %Q) WHERE cid = -2))",
				 inspection->table, inspection->schema, inspection->schema);

	if (rc)
		return rc;
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		rc = refuse(inspection, sqlite3_column_int(statement, 1) ?
			"iforest: \"%s\" has a partial UNIQUE index \"%s\", whose conflicts triggers cannot foresee; make it a UNIQUE "
			"index on columns without WHERE" :
			"iforest: \"%s\" has an expression in UNIQUE index \"%s\", whose conflicts triggers cannot foresee; make it a "
			"UNIQUE index on columns", name);
	} else if (rc == SQLITE_DONE) {
		rc = SQLITE_OK;
	} else {
		rc = iforest_error_from_db(inspection->error, inspection->db, rc);
	}
	sqlite3_finalize(statement);
	return rc;
}

/* SQLite's rule for the affinity of a declared type (datatype3.html, section 3.1). */
static const char *affinity_of(const char *type)
{
	char lower[64];
	unsigned n = 0;

	for (; type && type[n] && n + 1 < sizeof lower; n++)
		lower[n] = (char)tolower((unsigned char)type[n]);
	lower[n] = 0;
	if (strstr(lower, "int"))
		return "INTEGER";
	if (strstr(lower, "char") || strstr(lower, "clob") || strstr(lower, "text"))
		return "TEXT";
	if (n == 0 || strstr(lower, "blob"))
		return "BLOB";
	return strstr(lower, "real") || strstr(lower, "floa") || strstr(lower, "doub") ? "REAL" : "NUMERIC";
}

/* Does the table have the column? collation and type may be NULL. */
static int inspect_column(struct inspection *inspection, const char *column, const char **type, const char **collation)
{
	int rc = sqlite3_table_column_metadata(inspection->db, inspection->schema, inspection->table, column, type, collation,
					       NULL, NULL, NULL);

	if (rc == SQLITE_NOMEM)
		return iforest_error_set(inspection->error, rc, "");
	return rc ? iforest_error_set(inspection->error, SQLITE_ERROR, "iforest: no column \"%s\" in \"%s\"", column,
				      inspection->table) : SQLITE_OK;
}

static int inspect_columns(struct inspection *inspection, struct iforest_definition *definition)
{
	int rc = inspect_column(inspection, definition->time, NULL, NULL);

	for (unsigned v = 0; v < definition->n_values && !rc; v++)
		rc = inspect_column(inspection, definition->values[v].source, NULL, NULL);
	for (unsigned b = 0; b < definition->n_by && !rc; b++) {
		const char *column = definition->by[b].source, *collation, *type;

		rc = inspect_column(inspection, column, &type, &collation);
		if (!rc && collation && sqlite3_stricmp(collation, "BINARY") != 0)
			rc = iforest_error_set(inspection->error, SQLITE_ERROR,
				"iforest: column \"%s\" has collation %s, and by columns compare as BINARY; add one that does: ALTER TABLE "
				"\"%w\" ADD COLUMN \"%w_binary\" TEXT AS (\"%w\"), and name that",
				column, collation, inspection->table, column, column);
		if (!rc)
			definition->by_types[b] = affinity_of(type);
	}
	return rc;
}

int iforest_source_inspect(struct iforest_source *source, sqlite3 *db, const char *schema,
			   struct iforest_definition *definition, struct iforest_error *error)
{
	struct inspection inspection = { .db = db, .schema = schema, .table = definition->content, .error = error };
	int rc;

	*source = (struct iforest_source){ .name = NULL };
	rc = inspect_kind(&inspection, definition->content, &source->name);
	if (!rc)
		rc = inspect_rowid(&inspection, &source->rowid_column);
	if (!rc)
		rc = inspect_unique_indexes(&inspection);
	if (!rc)
		rc = inspect_columns(&inspection, definition);
	if (rc)
		iforest_source_release(source);
	return rc;
}

void iforest_source_release(struct iforest_source *source)
{
	sqlite3_free(source->name);
	sqlite3_free(source->rowid_column);
	*source = (struct iforest_source){ .name = NULL };
}

/* ---- triggers ---- */

/* Before and after: a trigger of the user's that runs before our AFTER may look at the index, or end the row's triggers with
 * RAISE(IGNORE); and one that runs after our BEFORE may rebuild the index without the row. */
static const struct {
	const char *name, *time, *event;
} triggers[] = {
	{ "before_insert", "BEFORE", "INSERT" }, { "before_update", "BEFORE", "UPDATE" }, { "before_delete", "BEFORE", "DELETE" },
	{ "insert", "AFTER", "INSERT" },         { "update", "AFTER", "UPDATE" },         { "delete", "AFTER", "DELETE" },
};

enum { UPDATE = 4, N_TRIGGERS = 6 };

/* The text of a trigger as the schema keeps it; `schema` is put before the name where it is not NULL. The one after UPDATE names
 * the columns, always true: so SQLite refuses to drop them, and a rename of one shows in the text. */
static char *trigger_sql(const char *schema, const char *index, unsigned t, const char *table, const char *columns)
{
	char *prefix = schema ? sqlite3_mprintf("\"%w\".", schema) : sqlite3_mprintf("");
	char *sql = NULL;

	if (prefix)
		sql = sqlite3_mprintf("CREATE TRIGGER %s\"%w_%s\" %s %s ON \"%w\" %s%s%sBEGIN "
				      "UPDATE \"%w_changed\" SET changed = 1 WHERE changed = 0; END",
				      prefix, index, triggers[t].name, triggers[t].time, triggers[t].event, table,
				      t == UPDATE ? "WHEN coalesce(1, " : "", t == UPDATE ? columns : "",
				      t == UPDATE ? ") " : "", index);
	sqlite3_free(prefix);
	return sql;
}

char *iforest_source_columns(const struct iforest_definition *definition)
{
	sqlite3_str *list = sqlite3_str_new(NULL);

	sqlite3_str_appendf(list, "new.\"%w\"", definition->time);
	for (unsigned v = 0; v < definition->n_values; v++)
		sqlite3_str_appendf(list, ", new.\"%w\"", definition->values[v].source);
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(list, ", new.\"%w\"", definition->by[b].source);
	return sqlite3_str_finish(list);
}

int iforest_source_make_room(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	int rc = SQLITE_OK;

	for (unsigned t = 0; t < N_TRIGGERS && !rc; t++) {
		rc = iforest_prepare(error, db, &statement, "SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q' COLLATE NOCASE",
				     schema, index, triggers[t].name);
		if (!rc && sqlite3_step(statement) == SQLITE_ROW)
			rc = iforest_error_set(error, SQLITE_ERROR, "iforest: there is already a trigger named \"%s_%s\"; give the index another name",
					       index, triggers[t].name);
		sqlite3_finalize(statement);
	}
	return rc;
}

int iforest_source_unwatch(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error)
{
	int rc = SQLITE_OK;

	for (unsigned t = 0; t < N_TRIGGERS && !rc; t++)
		rc = iforest_execute(error, db, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", schema, index, triggers[t].name);
	return rc;
}

int iforest_source_watch(sqlite3 *db, const char *schema, const char *index, const char *table, const char *columns,
			 struct iforest_error *error)
{
	int rc = iforest_source_unwatch(db, schema, index, error);

	for (unsigned t = 0; t < N_TRIGGERS && !rc; t++) {
		char *sql = trigger_sql(schema, index, t, table, columns);

		rc = sql ? iforest_execute(error, db, "%s", sql) : iforest_error_set(error, SQLITE_NOMEM, "");
		sqlite3_free(sql);
	}
	return rc;
}

int iforest_source_find(sqlite3 *db, const char *schema, const char *index, const char *columns, char **table,
			struct iforest_error *error)
{
	sqlite3_stmt *statement;
	char *found = NULL;
	unsigned n_right = 0;
	int rc = iforest_prepare(error, db, &statement,
				 "SELECT tbl_name, sql FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = ?", schema);

	*table = NULL;
	for (unsigned t = 0; t < N_TRIGGERS && !rc; t++) {
		char *name = sqlite3_mprintf("%s_%s", index, triggers[t].name), *expected = NULL;
		bool has_memory = name != NULL;

		sqlite3_bind_text(statement, 1, name, -1, SQLITE_TRANSIENT);
		if (name && sqlite3_step(statement) == SQLITE_ROW) {
			const char *stands_on = (const char *)sqlite3_column_text(statement, 0);
			const char *sql = (const char *)sqlite3_column_text(statement, 1);

			if (!found && stands_on)
				found = sqlite3_mprintf("%s", stands_on);
			if (found)
				expected = trigger_sql(NULL, index, t, found, columns);
			has_memory = stands_on && sql && expected;
			n_right += has_memory && strcmp(sql, expected) == 0;
		}
		rc = sqlite3_reset(statement);
		if (rc)
			iforest_error_from_db(error, db, rc);
		else if (!has_memory)
			rc = iforest_error_set(error, SQLITE_NOMEM, "");
		sqlite3_free(expected);
		sqlite3_free(name);
	}
	sqlite3_finalize(statement);
	if (!rc && n_right == N_TRIGGERS)
		*table = found;
	else
		sqlite3_free(found);
	return rc;
}
