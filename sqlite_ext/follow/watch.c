#include "sqlite_ext/follow/watch_internal.h"

#include "sqlite_ext/storage/tokens.h"

int iforest_watch_make_room(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	int failed, rc = SQLITE_OK;

	for (int t = 0; t < IFOREST_N_TRIGGERS && !rc; t++) {
		rc = iforest_prepare(
			error, db, &statement,
			"SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q' COLLATE NOCASE", schema,
			index, iforest_watch_suffixes[t]);
		if (!rc && sqlite3_step(statement) == SQLITE_ROW)
			rc = iforest_error_set(
				error, SQLITE_ERROR,
				"iforest: there is already a trigger named \"%s_%s\"; give the index another name", index,
				iforest_watch_suffixes[t]);
		failed = sqlite3_finalize(statement);
		if (!rc && failed)
			rc = iforest_error_from_db(error, db, failed);
	}
	return rc;
}

int iforest_watch_stop(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error)
{
	int rc = SQLITE_OK;

	for (int t = 0; t < IFOREST_N_TRIGGERS && !rc; t++)
		rc = iforest_execute(error, db, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", schema, index,
				     iforest_watch_suffixes[t]);
	return rc;
}

int iforest_watch_start(sqlite3 *db, const char *schema, const char *index, const struct iforest_source *source,
			const struct iforest_definition *definition, struct iforest_error *error)
{
	struct iforest_watch watch = {
		.db = db, .schema = schema, .index = index, .source = source, .definition = definition, .error = error
	};
	int rc = iforest_watch_stop(db, schema, index, error);

	for (int t = 0; t < IFOREST_N_TRIGGERS && !rc; t++) {
		char *sql;

		rc = iforest_watch_make_text(&watch, t, true, &sql);
		if (!rc)
			rc = iforest_execute(error, db, "%s", sql);
		sqlite3_free(sql);
	}
	return rc;
}

/* Moves past CREATE TRIGGER name AFTER INSERT; false where that is not what the text begins with. */
static bool pass_after_insert(const char **at)
{
	const char *token = NULL;
	int n = 0;

	for (int i = 0; i < 4; i++) /* CREATE TRIGGER name AFTER */
		if (!(token = iforest_token_next(at, &n)))
			return false;
	return iforest_token_is(token, n, "after") && (token = iforest_token_next(at, &n)) &&
	       iforest_token_is(token, n, "insert");
}

/* What an AFTER INSERT trigger says that ends the statement's triggers and yet keeps the row, or NULL. A step with OR IGNORE is
 * meant to meet constraints, which an INSERT OR FAIL outside turns into failures that keep the row. */
static const char *find_ending(const char *sql)
{
	static const struct {
		const char *said, *words[3];
		unsigned n_words;
	} endings[] = {
		{ "RAISE(IGNORE)", { "raise", "(", "ignore" }, 3 },
		{ "RAISE(FAIL)", { "raise", "(", "fail" }, 3 },
		{ "OR FAIL", { "or", "fail" }, 2 },
		{ "OR IGNORE", { "or", "ignore" }, 2 },
	};

	if (pass_after_insert(&sql))
		for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++)
			if (iforest_tokens_hold(sql, endings[e].words, endings[e].n_words))
				return endings[e].said;
	return NULL;
}

static bool is_temporary(const struct iforest_watch *watch)
{
	return sqlite3_stricmp(watch->schema, "temp") == 0;
}

enum { TRIGGER_NAME, TRIGGER_TEXT, TRIGGER_ROWID, IS_TEMPORARY };

/* The triggers on tables of that name that SQLite runs before ours: those made later, and all temporary ones, unless ours is
 * one. */
static int prepare_earlier(const struct iforest_watch *watch, sqlite3_stmt **statement)
{
	const char *schema = watch->schema, *table = watch->source->name;
	bool is_temp = is_temporary(watch);

	return iforest_prepare(watch->error, watch->db, statement,
			       "SELECT name, sql, rowid, %d FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND "
			       "tbl_name = %Q COLLATE NOCASE AND rowid > "
			       "(SELECT rowid FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q') UNION ALL "
			       "SELECT name, sql, rowid, 1 FROM sqlite_temp_schema WHERE type = 'trigger' AND "
			       "tbl_name = %Q COLLATE NOCASE AND NOT %d",
			       is_temp, schema, table, schema, watch->index, iforest_watch_suffixes[IFOREST_AFTER_INSERT],
			       table, is_temp);
}

/* The schema whose table a trigger names, or NULL; *n is the length of the token. */
static const char *find_schema(const char *sql, int *n)
{
	const char *name, *dot;
	int n_dot;

	if (!pass_after_insert(&sql) || !iforest_token_next(&sql, n) || !(name = iforest_token_next(&sql, n))) /* ON name */
		return NULL;
	dot = iforest_token_next(&sql, &n_dot);
	return dot && iforest_token_is(dot, n_dot, ".") ? name : NULL;
}

/* Is it our table that a temporary trigger names? Without a schema that is the temporary table, if it was there before the
 * trigger, or that of the first database that has one. */
static int is_on_ours(const struct iforest_watch *watch, sqlite3_stmt *trigger, bool *ours)
{
	const char *table = watch->source->name, *schema;
	sqlite3_stmt *statement;
	int n, rc;

	schema = find_schema(iforest_column_string(trigger, TRIGGER_TEXT), &n);
	*ours = schema && iforest_token_names(schema, n, watch->schema);
	if (schema)
		return SQLITE_OK;
	rc = iforest_prepare(
		watch->error, watch->db, &statement,
		"SELECT 1 WHERE %Q = iif(EXISTS(SELECT 1 FROM sqlite_temp_schema WHERE type = 'table' AND "
		"name = %Q COLLATE NOCASE AND rowid < %lld), 'temp', (SELECT d.name FROM pragma_database_list AS d "
		"JOIN pragma_table_list(%Q) AS t ON t.schema = d.name WHERE d.seq <> 1 ORDER BY d.seq LIMIT 1))",
		watch->schema, table, sqlite3_column_int64(trigger, TRIGGER_ROWID), table);
	if (rc)
		return rc;
	*ours = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? iforest_error_from_db(watch->error, watch->db, rc) : SQLITE_OK;
}

static int refuse_trigger(const struct iforest_watch *watch, const char *trigger, const char *said, bool is_always_first)
{
	const char *index = watch->index;

	return iforest_error_set(watch->error, SQLITE_ERROR,
				 "%s: %strigger \"%s\" on \"%s\" says %s after a row was inserted, which may hide it from the "
				 "index: the trigger "
				 "runs before that of the index; %srun INSERT INTO \"%w\"(\"%w\") VALUES('rebuild')%s",
				 index, is_always_first ? "temporary " : "", trigger, watch->source->name, said,
				 is_always_first ? "drop it, or make it a BEFORE trigger, then " : "", index, index,
				 is_always_first ? "" : ", after which that of the index runs first");
}

static int refuse_hiding(const struct iforest_watch *watch)
{
	sqlite3_stmt *statement;
	int failed, rc = prepare_earlier(watch, &statement);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		const char *said = find_ending(iforest_column_string(statement, TRIGGER_TEXT));
		bool is_temp = sqlite3_column_int(statement, IS_TEMPORARY), ours = said;

		if (said && is_temp)
			rc = is_on_ours(watch, statement, &ours);
		if (!rc && ours)
			rc = refuse_trigger(watch, iforest_column_string(statement, TRIGGER_NAME), said,
					    is_temp && !is_temporary(watch));
	}
	failed = sqlite3_finalize(statement);
	return !rc && failed ? iforest_error_from_db(watch->error, watch->db, failed) : rc;
}

/* Where the first trigger stands, and the INTEGER PRIMARY KEY of that table; no name if there is none. */
static int find_table(const struct iforest_watch *watch, struct iforest_source *source)
{
	sqlite3_stmt *statement;
	int failed, rc = iforest_prepare(watch->error, watch->db, &statement,
					 "SELECT tbl_name, (SELECT name FROM pragma_table_info(tbl_name, %Q) WHERE pk > 0) "
					 "FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q'",
					 watch->schema, watch->schema, watch->index, iforest_watch_suffixes[0]);

	if (!rc && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 1) == SQLITE_TEXT) {
		source->name = sqlite3_mprintf("%s", iforest_column_string(statement, 0));
		source->rowid_column = sqlite3_mprintf("%s", iforest_column_string(statement, 1));
		if (!source->name || !source->rowid_column)
			rc = iforest_error_set(watch->error, SQLITE_NOMEM, "");
	}
	failed = sqlite3_finalize(statement);
	return !rc && failed ? iforest_error_from_db(watch->error, watch->db, failed) : rc;
}

/* Is the trigger there, on that table, with the text that we would write? */
static int is_right(const struct iforest_watch *watch, int trigger, bool *right)
{
	sqlite3_stmt *statement;
	char *expected;
	int failed, rc = iforest_watch_make_text(watch, trigger, false, &expected);

	*right = false;
	if (!rc)
		rc = iforest_prepare(
			watch->error, watch->db, &statement,
			"SELECT sql FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q' AND tbl_name = %Q",
			watch->schema, watch->index, iforest_watch_suffixes[trigger], watch->source->name);
	if (!rc) {
		if (sqlite3_step(statement) == SQLITE_ROW)
			*right = strcmp(iforest_column_string(statement, 0), expected) == 0;
		failed = sqlite3_finalize(statement);
		if (failed)
			rc = iforest_error_from_db(watch->error, watch->db, failed);
	}
	sqlite3_free(expected);
	return rc;
}

/* The log, and the front. */
static int find_tables(const struct iforest_watch *watch, bool *found)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(watch->error, watch->db, &statement,
				 "SELECT 1 FROM \"%w\".sqlite_schema AS l, \"%w\".sqlite_schema AS f "
				 "WHERE l.type = 'table' AND l.name = '%q_log' AND f.type = 'table' AND f.name = '%q_front'",
				 watch->schema, watch->schema, watch->index, watch->index);

	if (rc)
		return rc;
	*found = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? iforest_error_from_db(watch->error, watch->db, rc) : SQLITE_OK;
}

int iforest_watch_find(sqlite3 *db, const char *schema, const char *index, const struct iforest_definition *definition,
		       struct iforest_source *source, struct iforest_error *error)
{
	struct iforest_watch watch = {
		.db = db, .schema = schema, .index = index, .source = source, .definition = definition, .error = error
	};
	bool right = true;
	int rc;

	*source = (struct iforest_source){ .name = NULL };
	rc = find_table(&watch, source);
	if (!rc)
		rc = find_tables(&watch, &right);
	for (int t = 0; t < IFOREST_N_TRIGGERS && !rc && right && source->name; t++)
		rc = is_right(&watch, t, &right);
	if (!rc && right && source->name)
		rc = refuse_hiding(&watch);
	if (rc || !right)
		iforest_source_release(source);
	return rc;
}

int iforest_watch_table(sqlite3 *db, const char *schema, const char *index, char **table, struct iforest_error *error)
{
	struct iforest_watch watch = { .db = db, .schema = schema, .index = index, .error = error };
	struct iforest_source source = { .name = NULL };
	int rc = find_table(&watch, &source);

	*table = NULL;
	if (!rc) {
		*table = source.name;
		source.name = NULL;
	}
	iforest_source_release(&source);
	return rc;
}

static sqlite3_int64 block_after(sqlite3_int64 rowid)
{
	return rowid / IFOREST_FRONT_ROWS - (rowid % IFOREST_FRONT_ROWS < 0) + 1;
}

int iforest_watch_raise_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			      struct iforest_error *error)
{
	sqlite3_int64 block = block_after(last_rowid);

	return iforest_execute(error, db, "UPDATE \"%w\".\"%w_front\" SET block = %lld WHERE block < %lld", schema, index,
			       block, block);
}

int iforest_watch_lower_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			      struct iforest_error *error)
{
	sqlite3_int64 block = block_after(last_rowid);

	return iforest_execute(error, db, "UPDATE \"%w\".\"%w_front\" SET block = %lld WHERE block > %lld", schema, index,
			       block, block);
}

int iforest_watch_make_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			     struct iforest_error *error)
{
	return iforest_execute(error, db,
			       "DELETE FROM \"%w\".\"%w_front\"; INSERT INTO \"%w\".\"%w_front\" VALUES(%lld)", schema,
			       index, schema, index, block_after(last_rowid));
}

int iforest_watch_prepare_empty(sqlite3 *db, const char *schema, const char *index, const struct iforest_source *source,
				const struct iforest_definition *definition, sqlite3_stmt **statement,
				struct iforest_error *error)
{
	struct iforest_watch watch = { .db = db, .schema = schema, .index = index, .source = source, .definition = definition,
				       .error = error, .is_no_trigger = true };
	int rc = iforest_watch_log_minus_one(&watch);

	if (rc)
		return rc;
	if (sqlite3_changes(db) == 0)
		return iforest_prepare(error, db, statement, "DELETE FROM \"%w\".\"%w_log\"", schema, index);
	return iforest_prepare(error, db, statement, "DELETE FROM \"%w\".\"%w_log\" WHERE seq <> %lld", schema, index,
			       sqlite3_last_insert_rowid(db));
}
