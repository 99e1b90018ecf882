#include "sqlite_ext/maintain/export_tables.h"

static const char *const suffixes[] = { "rollup", "levels", "export" };

enum { ROLLUP, LEVELS, VIEW, N_TABLES };

static const char *const formats[] = {
	"count_%w", "sum_%w", "min_%w", "max_%w", "first_%w", "last_%w", "min_%w_id", "max_%w_id"
};

enum { COUNT_OF, SUM_OF, MIN_OF, MAX_OF, FIRST_OF, LAST_OF, N_FORMATS = sizeof formats / sizeof *formats };

/* ---- pieces of SQL ---- */

/* In place, as a name apart might be lacking memory where the text is not. */
static void append_value(sqlite3_str *text, const char *format, const char *value)
{
	sqlite3_str_appendall(text, "\"");
	sqlite3_str_appendf(text, format, value);
	sqlite3_str_appendall(text, "\"");
}

/* The columns of x_rollup after the first two, as in the index. */
static void append_columns(sqlite3_str *text, const struct iforest_definition *definition)
{
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(text, ", \"%w\"", definition->by[b].name);
	sqlite3_str_appendall(text, ", count, first_ts, last_ts");
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned f = 0; f < N_FORMATS; f++) {
			sqlite3_str_appendall(text, ", ");
			append_value(text, formats[f], definition->values[v].name);
		}
}

/* Runs the text, which is released. */
static int execute_text(struct iforest_index *index, sqlite3_str *text, struct iforest_error *error)
{
	char *sql = sqlite3_str_finish(text);
	int rc = sql ? iforest_execute(error, index->db, "%s", sql) : iforest_error_set(error, SQLITE_NOMEM, "");

	sqlite3_free(sql);
	return rc;
}

/* ---- making them ---- */

static const char *type_of(const uint8_t *kinds, unsigned v)
{
	return kinds[v] == IFOREST_FLOAT64 ? "REAL" : "INTEGER";
}

static int make_rollup(struct iforest_index *index, const struct iforest_definition *definition, const uint8_t *kinds,
		       struct iforest_error *error)
{
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text, "CREATE TABLE \"%w\".\"%w_rollup\"(bucket_level INTEGER, bucket_start INTEGER", index->schema,
			    index->name);
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(text, ", \"%w\" %s", definition->by[b].name,
				    definition->by_types[b] ? definition->by_types[b] : "");
	sqlite3_str_appendall(text, ", count INTEGER, first_ts INTEGER, last_ts INTEGER");
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned f = 0; f < N_FORMATS; f++) {
			bool is_number = f >= SUM_OF && f <= LAST_OF;

			sqlite3_str_appendall(text, ", ");
			append_value(text, formats[f], definition->values[v].name);
			sqlite3_str_appendf(text, " %s", is_number ? type_of(kinds, v) : "INTEGER");
		}
	sqlite3_str_appendall(text, ", PRIMARY KEY(bucket_level, bucket_start");
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(text, ", \"%w\"", definition->by[b].name);
	sqlite3_str_appendall(text, "))");
	return execute_text(index, text, error);
}

static int make_levels(struct iforest_index *index, struct iforest_error *error)
{
	return iforest_execute(error, index->db,
			       "CREATE TABLE \"%w\".\"%w_levels\"(bucket_level INTEGER PRIMARY KEY, bucket_width INTEGER,"
			       " interval_from INTEGER, interval_to INTEGER)", index->schema, index->name);
}

/* A level is chosen first, then its buckets: CROSS JOIN keeps that order. */
static int make_view(struct iforest_index *index, const struct iforest_definition *definition, const char *name,
		     struct iforest_error *error)
{
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text,
			    "CREATE VIEW \"%w\".\"%w_export\" AS SELECT interval_from, interval_to, bucket_width, bucket_start",
			    index->schema, name);
	append_columns(text, definition);
	for (unsigned v = 0; v < definition->n_values; v++) {
		sqlite3_str_appendall(text, ", CAST(");
		append_value(text, formats[SUM_OF], definition->values[v].name);
		sqlite3_str_appendall(text, " AS REAL) / ");
		append_value(text, formats[COUNT_OF], definition->values[v].name);
		sqlite3_str_appendall(text, " AS ");
		append_value(text, "avg_%w", definition->values[v].name);
	}
	sqlite3_str_appendf(text, " FROM \"%w_levels\" CROSS JOIN \"%w_rollup\" USING (bucket_level)", name, name);
	return execute_text(index, text, error);
}

static int check_names(const struct iforest_index *index, const struct iforest_definition *definition,
		       struct iforest_error *error)
{
	static const char *const names[] = { "bucket_level", "bucket_width", "interval_from", "interval_to" };

	for (unsigned b = 0; b < definition->n_by; b++)
		for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
			if (sqlite3_stricmp(definition->by[b].name, names[i]) == 0)
				return iforest_error_set(error, SQLITE_ERROR,
							 "%s: by column \"%s\" has the name of a column of the export; give it "
							 "another one in the index: "
							 "by=(\"%w\" AS \"%w_\")",
							 index->name, definition->by[b].name, definition->by[b].source,
							 definition->by[b].name);
	return SQLITE_OK;
}

static int is_there(struct iforest_index *index, const char *name, const char *suffix, bool *found, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(error, index->db, &statement,
				 "SELECT 1 FROM \"%w\".sqlite_schema WHERE name = '%q_%q' COLLATE NOCASE", index->schema, name,
				 suffix);

	if (rc)
		return rc;
	*found = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? iforest_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Has x_rollup the type for a value column that its kind wants? A rebuild may have turned integers into reals, or back. */
static int has_type(struct iforest_index *index, const char *value, const char *type, bool *same, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(error, index->db, &statement,
				 "SELECT 1 FROM pragma_table_info('%q_rollup', %Q) WHERE name = 'sum_%q' AND type = %Q",
				 index->name, index->schema, value, type);

	if (rc)
		return rc;
	*same = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? iforest_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Gives the value column that type in x_rollup, which is emptied. A table cannot be dropped by a command. */
static int change_type(struct iforest_index *index, const char *value, const char *type, struct iforest_error *error)
{
	const char *schema = index->schema, *name = index->name;
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text, "DROP VIEW IF EXISTS \"%w\".\"%w_export\"; DELETE FROM \"%w\".\"%w_rollup\"", schema, name,
			    schema, name);
	for (unsigned f = SUM_OF; f <= LAST_OF; f++) {
		sqlite3_str_appendf(text, "; ALTER TABLE \"%w\".\"%w_rollup\" DROP COLUMN ", schema, name);
		append_value(text, formats[f], value);
		sqlite3_str_appendf(text, "; ALTER TABLE \"%w\".\"%w_rollup\" ADD COLUMN ", schema, name);
		append_value(text, formats[f], value);
		sqlite3_str_appendf(text, " %s", type);
	}
	return execute_text(index, text, error);
}

/* Makes x_rollup, or sees to it that its columns are of the types that they would be made with. */
static int see_to_rollup(struct iforest_index *index, const struct iforest_definition *definition, bool *found,
			 struct iforest_error *error)
{
	struct iforest_snapshot *snapshot = NULL;
	bool was_found = found[ROLLUP];
	int rc = iforest_index_open(index, &snapshot, error);
	const uint8_t *kinds = rc ? NULL : snapshot->manifest.fields.kinds;

	if (!rc && !was_found)
		rc = make_rollup(index, definition, kinds, error);
	for (unsigned v = 0; v < definition->n_values && was_found && !rc; v++) {
		const char *value = definition->values[v].name;
		bool same;

		rc = has_type(index, value, type_of(kinds, v), &same, error);
		if (rc || same)
			continue;
		rc = change_type(index, value, type_of(kinds, v), error);
		found[VIEW] = false;
	}
	iforest_snapshot_release(snapshot);
	return rc;
}

static int is_taken(struct iforest_index *index, const char *name, const char *suffix, struct iforest_error *error)
{
	return iforest_error_set(error, SQLITE_ERROR,
				 "%s: there is already something named \"%s_%s\", which the export is to be called; drop or "
				 "rename it, or give the index another name",
				 index->name, name, suffix);
}

int iforest_export_make_tables(struct iforest_index *index, const struct iforest_definition *definition, bool are_ours,
			       bool *is_complete, struct iforest_error *error)
{
	bool found[N_TABLES] = { false };
	int rc = check_names(index, definition, error);

	for (int t = 0; t < N_TABLES && !rc; t++) {
		rc = is_there(index, index->name, suffixes[t], &found[t], error);
		if (!rc && found[t] && !are_ours)
			rc = is_taken(index, index->name, suffixes[t], error);
	}
	if (!rc)
		rc = see_to_rollup(index, definition, found, error);
	*is_complete = found[ROLLUP] && found[LEVELS] && found[VIEW];
	if (!rc && !found[LEVELS])
		rc = make_levels(index, error);
	return rc || found[VIEW] ? rc : make_view(index, definition, index->name, error);
}

/* ---- filling them ---- */

int iforest_export_take_levels(struct iforest_index *index, int *n, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(error, index->db, &statement, "SELECT count(*) FROM \"%w\".\"%w_levels\"", index->schema,
				 index->name);

	if (rc)
		return rc;
	sqlite3_step(statement);
	*n = sqlite3_column_int(statement, 0);
	rc = sqlite3_finalize(statement);
	if (rc)
		return iforest_error_from_db(error, index->db, rc);
	return iforest_execute(error, index->db, "DELETE FROM \"%w\".\"%w_levels\"", index->schema, index->name);
}

int iforest_export_put_levels(struct iforest_index *index, int64_t width, int n, struct iforest_error *error)
{
	int rc = iforest_execute(error, index->db, "DELETE FROM \"%w\".\"%w_rollup\" WHERE bucket_level >= %d", index->schema,
				 index->name, n);

	/* any interval has one level: the finest goes on to all below, the widest to all above */
	for (int level = 0; level < n && !rc; level++)
		rc = iforest_execute(error, index->db, "INSERT INTO \"%w\".\"%w_levels\" VALUES(%d, %lld, %lld, %lld)",
				     index->schema, index->name, level, (sqlite3_int64)(width << level),
				     (sqlite3_int64)(level ? width << level : INT64_MIN),
				     (sqlite3_int64)(level + 1 < n ? width << (level + 1) : INT64_MAX));
	return rc;
}

int iforest_export_fill(struct iforest_index *index, const struct iforest_definition *definition, int level, int64_t width,
			int64_t start, const int64_t *end, struct iforest_error *error)
{
	const char *schema = index->schema, *name = index->name;
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text, "DELETE FROM \"%w\".\"%w_rollup\" WHERE bucket_level = %d AND bucket_start >= %lld", schema,
			    name, level, (sqlite3_int64)start);
	if (end)
		sqlite3_str_appendf(text, " AND bucket_start < %lld", (sqlite3_int64)*end);
	sqlite3_str_appendf(text, ";INSERT INTO \"%w\".\"%w_rollup\"(bucket_level, bucket_start", schema, name);
	append_columns(text, definition);
	sqlite3_str_appendf(text, ") SELECT %d, bucket_start", level);
	append_columns(text, definition);
	sqlite3_str_appendf(text, " FROM \"%w\".\"%w\" WHERE step = %lld AND t0 = %lld", schema, name, (sqlite3_int64)width,
			    (sqlite3_int64)start);
	if (end)
		sqlite3_str_appendf(text, " AND t1 = %lld", (sqlite3_int64)*end);
	sqlite3_str_appendall(text, " ORDER BY bucket_start");
	return execute_text(index, text, error);
}

/* ---- with the index ---- */

int iforest_export_drop_tables(struct iforest_index *index, struct iforest_error *error)
{
	const char *schema = index->schema, *name = index->name;

	return iforest_execute(error, index->db,
			       "DROP VIEW IF EXISTS \"%w\".\"%w_export\";DROP TABLE IF EXISTS \"%w\".\"%w_rollup\";"
			       "DROP TABLE IF EXISTS \"%w\".\"%w_levels\"", schema, name, schema, name, schema, name);
}

int iforest_export_rename_tables(struct iforest_index *index, const struct iforest_definition *definition, const char *new_name,
				 struct iforest_error *error)
{
	bool found[N_TABLES] = { false }, is_new_there;
	int rc = SQLITE_OK;

	for (int t = 0; t < N_TABLES && !rc; t++) {
		rc = is_there(index, index->name, suffixes[t], &found[t], error);
		if (!rc && found[t])
			rc = is_there(index, new_name, suffixes[t], &is_new_there, error);
		if (!rc && found[t] && is_new_there)
			rc = is_taken(index, new_name, suffixes[t], error);
	}
	if (!rc && found[VIEW])
		rc = iforest_execute(error, index->db, "DROP VIEW \"%w\".\"%w_export\"", index->schema, index->name);
	for (int t = 0; t < VIEW && !rc; t++)
		if (found[t])
			rc = iforest_execute(error, index->db, "ALTER TABLE \"%w\".\"%w_%w\" RENAME TO \"%w_%w\"",
					     index->schema, index->name, suffixes[t], new_name, suffixes[t]);
	return rc || !found[VIEW] ? rc : make_view(index, definition, new_name, error);
}
