#include "sqlite_ext/watch.h"

#include "sqlite_ext/tokens.h"

enum { BEFORE_INSERT, AFTER_INSERT, BEFORE_UPDATE, BEFORE_DELETE, N_TRIGGERS };

static const char *const suffixes[N_TRIGGERS] = { "before_insert", "insert", "update", "delete" };

/* What the text of a trigger is made of. */
struct watch {
	sqlite3 *db;
	const char *schema, *index;
	const struct iforest_source *source;
	const struct iforest_definition *definition;
	struct iforest_error *error;
};

/* ---- text ---- */

/* Logs an old row: its key follows, as columns of `row`: old, or s. */
static void append_insert(const struct watch *watch, sqlite3_str *sql)
{
	sqlite3_str_appendf(sql, "INSERT INTO \"%w_log\"(nonce, id, was, time", watch->index);
	for (unsigned b = 0; b < watch->definition->n_by; b++)
		sqlite3_str_appendf(sql, ", by_%u", b);
	sqlite3_str_appendall(sql, ") ");
}

static void append_key(const struct watch *watch, sqlite3_str *sql, const char *row)
{
	sqlite3_str_appendf(sql, "random(), %s.\"%w\", 1, %s.\"%w\"", row, watch->source->rowid_column, row, watch->definition->time);
	for (unsigned b = 0; b < watch->definition->n_by; b++)
		sqlite3_str_appendf(sql, ", %s.\"%w\"", row, watch->definition->by[b].source);
}

/* Logs the rows for which the condition that follows holds. */
static void append_rows(const struct watch *watch, sqlite3_str *sql)
{
	append_insert(watch, sql);
	sqlite3_str_appendall(sql, "SELECT ");
	append_key(watch, sql, "s");
	sqlite3_str_appendf(sql, " FROM \"%w\" AS s WHERE ", watch->source->name);
}

/* What is said of the rows that REPLACE would delete. */
enum purpose { INSERT_EXISTS, INSERT_LOGS, UPDATE_LOGS };

/* Before and after the condition that tells such rows: OR EXISTS(...), or a statement that logs them. */
static void open_condition(const struct watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	if (purpose == INSERT_EXISTS)
		sqlite3_str_appendf(sql, " OR EXISTS(SELECT 1 FROM \"%w\" AS s WHERE ", watch->source->name);
	else
		append_rows(watch, sql);
}

static void close_condition(const struct watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	const char *rowid = watch->source->rowid_column;

	if (purpose == UPDATE_LOGS)
		sqlite3_str_appendf(sql, " AND s.\"%w\" IS NOT old.\"%w\"", rowid, rowid);
	sqlite3_str_appendall(sql, purpose == INSERT_EXISTS ? ")" : "; ");
}

static const char *text(sqlite3_stmt *statement, int column)
{
	const char *value = (const char *)sqlite3_column_text(statement, column);

	return value ? value : "";
}

/* Columns: the index, and the others as of UNIQUE_NAME on. Indexes that triggers cannot foresee have a column without a name: then
 * the text is none that stands in the schema, and a rebuild says why. */
#define UNIQUE_COLUMNS                                                                                                            \
	"WITH u(i, name, collation, has_default, is_last, seqno, default_text) AS ("                                              \
	"SELECT l.name, iif(l.partial, NULL, x.name), x.coll, t.\"notnull\" AND t.dflt_value IS NOT NULL,"                        \
	" x.seqno = (SELECT max(seqno) FROM pragma_index_xinfo(l.name, %Q) WHERE key), x.seqno, t.dflt_value "                    \
	"FROM pragma_index_list(%Q, %Q) AS l, pragma_index_xinfo(l.name, %Q) AS x "                                               \
	"LEFT JOIN pragma_table_xinfo(%Q, %Q) AS t ON t.cid = x.cid WHERE l.\"unique\" AND x.key) "

/* HAS_DEFAULT: REPLACE puts the default in the place of NULL. IS_LAST: of its index, or of those beside a column. */
enum { UNIQUE_NAME = 1, COLLATION, HAS_DEFAULT, IS_LAST, IS_ITSELF, DEFAULT_TEXT };

static int prepare_unique(const struct watch *watch, sqlite3_stmt **statement)
{
	const char *table = watch->source->name, *schema = watch->schema;

	return iforest_prepare(watch->error, watch->db, statement,
			       UNIQUE_COLUMNS "SELECT i, name, collation, has_default, is_last FROM u ORDER BY i, seqno", schema, table,
			       schema, schema, table, schema);
}

/* For each column that has a default, the columns of its index: with IS_ITSELF, that column. */
static int prepare_defaults(const struct watch *watch, sqlite3_stmt **statement)
{
	const char *table = watch->source->name, *schema = watch->schema;

	return iforest_prepare(watch->error, watch->db, statement,
			       UNIQUE_COLUMNS "SELECT o.i, o.name, o.collation, o.has_default, o.is_last, o.seqno = d.seqno, o.default_text "
			       "FROM u AS d, u AS o WHERE d.has_default AND o.i = d.i ORDER BY d.i, d.seqno, o.seqno", schema, table, schema,
			       schema, table, schema);
}

static int finish(const struct watch *watch, sqlite3_stmt *statement)
{
	int rc = sqlite3_finalize(statement);

	return rc ? iforest_error_from_db(watch->error, watch->db, rc) : SQLITE_OK;
}

/* The row s has the new value. */
static void append_same(sqlite3_str *sql, sqlite3_stmt *column)
{
	const char *name = text(column, UNIQUE_NAME);

	sqlite3_str_appendf(sql, "s.\"%w\" = new.\"%w\" COLLATE \"%w\"", name, name, text(column, COLLATION));
}

/* A decimal number or a string, and nothing else: its value is the same wherever it stands. */
static bool is_literal(const char *sql)
{
	const char *at = sql;
	size_t n_digits;
	int n;

	if (*at == '\'')
		return iforest_token_next(&at, &n) && !*at;
	at += *at == '-' || *at == '+';
	n_digits = strspn(at, "0123456789");
	at += n_digits;
	if (n_digits && *at == '.')
		at += 1 + strspn(at + 1, "0123456789");
	return n_digits && !*at;
}

/* What holds of a column where a default is put into one of its index. */
static void append_beside_default(sqlite3_str *sql, sqlite3_stmt *column)
{
	const char *name = text(column, UNIQUE_NAME), *default_text = text(column, DEFAULT_TEXT);

	if (!sqlite3_column_int(column, IS_ITSELF)) {
		if (sqlite3_column_int(column, HAS_DEFAULT))
			sqlite3_str_appendf(sql, "(new.\"%w\" IS NULL OR ", name);
		append_same(sql, column);
		if (sqlite3_column_int(column, HAS_DEFAULT))
			sqlite3_str_appendall(sql, ")");
		return;
	}
	sqlite3_str_appendf(sql, "new.\"%w\" IS NULL", name);
	if (is_literal(default_text))
		sqlite3_str_appendf(sql, " AND s.\"%w\" = (%s) COLLATE \"%w\"", name, default_text, text(column, COLLATION));
}

/* A condition for each index of the statement, or each column that has a default: that of all its rows. Finalizes it. */
static int append_each(const struct watch *watch, sqlite3_str *sql, enum purpose purpose, sqlite3_stmt *statement,
		       void (*append)(sqlite3_str *sql, sqlite3_stmt *column))
{
	bool is_first = true;

	while (sqlite3_step(statement) == SQLITE_ROW) {
		if (is_first)
			open_condition(watch, sql, purpose);
		else
			sqlite3_str_appendall(sql, " AND ");
		append(sql, statement);
		is_first = sqlite3_column_int(statement, IS_LAST);
		if (is_first)
			close_condition(watch, sql, purpose);
	}
	return finish(watch, statement);
}

/* The rows that have the new values in a UNIQUE index. */
static int append_equal(const struct watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	sqlite3_stmt *statement;
	int rc = prepare_unique(watch, &statement);

	return rc ? rc : append_each(watch, sql, purpose, statement, append_same);
}

/* Those that may have them once REPLACE has put a default into a column: what that will be is known of literals alone. */
static int append_defaults(const struct watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	sqlite3_stmt *statement;
	int rc = prepare_defaults(watch, &statement);

	return rc ? rc : append_each(watch, sql, purpose, statement, append_beside_default);
}

/* The rows that REPLACE would delete: that with the new rowid, and those. */
static int append_conflicts(const struct watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	const char *rowid = watch->source->rowid_column;
	int rc;

	open_condition(watch, sql, purpose);
	sqlite3_str_appendf(sql, "s.\"%w\" = new.\"%w\"", rowid, rowid);
	close_condition(watch, sql, purpose);
	rc = append_equal(watch, sql, purpose);
	return rc ? rc : append_defaults(watch, sql, purpose);
}

static void append_change(sqlite3_str *sql, const char *column, const char *collation)
{
	sqlite3_str_appendf(sql, " OR old.\"%w\" IS NOT new.\"%w\"", column, column);
	if (collation)
		sqlite3_str_appendf(sql, " COLLATE \"%w\"", collation);
}

/* BEFORE UPDATE has generated columns right only where the trigger names what they are made of: with them, any update counts. */
static int read_generated(const struct watch *watch, bool *has_generated)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(watch->error, watch->db, &statement, "SELECT 1 FROM pragma_table_xinfo(%Q, %Q) WHERE hidden IN (2, 3)",
				 watch->source->name, watch->schema);

	*has_generated = !rc && sqlite3_step(statement) == SQLITE_ROW;
	return rc ? rc : finish(watch, statement);
}

/* WHEN a column of the index, or one that REPLACE looks at, changes. 1 and 1.0 are no different as keys, but as values. The
 * columns named here SQLite refuses to drop, and a rename of one shows. */
static int append_when(const struct watch *watch, sqlite3_str *sql)
{
	const struct iforest_definition *definition = watch->definition;
	sqlite3_stmt *statement;
	bool has_generated;
	int rc = read_generated(watch, &has_generated);

	if (rc)
		return rc;
	sqlite3_str_appendf(sql, "WHEN %sold.\"%w\" IS NOT new.\"%w\"", has_generated ? "1 OR " : "", watch->source->rowid_column,
			    watch->source->rowid_column);
	append_change(sql, definition->time, NULL);
	for (unsigned b = 0; b < definition->n_by; b++)
		append_change(sql, definition->by[b].source, NULL);
	for (unsigned v = 0; v < definition->n_values; v++) {
		append_change(sql, definition->values[v].source, NULL);
		sqlite3_str_appendf(sql, " OR typeof(old.\"%w\") <> typeof(new.\"%w\")", definition->values[v].source,
				    definition->values[v].source);
	}
	rc = prepare_unique(watch, &statement);
	while (!rc && sqlite3_step(statement) == SQLITE_ROW)
		append_change(sql, text(statement, UNIQUE_NAME), text(statement, COLLATION));
	sqlite3_str_appendall(sql, " ");
	return rc ? rc : finish(watch, statement);
}

static int append_update(const struct watch *watch, sqlite3_str *sql)
{
	const char *rowid = watch->source->rowid_column;
	int rc;

	sqlite3_str_appendf(sql, "BEFORE UPDATE ON \"%w\" ", watch->source->name);
	rc = append_when(watch, sql);
	sqlite3_str_appendall(sql, "BEGIN ");
	append_insert(watch, sql);
	sqlite3_str_appendall(sql, "VALUES(");
	append_key(watch, sql, "old");
	sqlite3_str_appendall(sql, "); ");
	if (!rc)
		rc = append_conflicts(watch, sql, UPDATE_LOGS);
	sqlite3_str_appendf(sql, "INSERT INTO \"%w_log\"(nonce, id) SELECT random(), new.\"%w\" WHERE new.\"%w\" IS NOT old.\"%w\"; ",
			    watch->index, rowid, rowid, rowid);
	return rc;
}

static int append_body(const struct watch *watch, sqlite3_str *sql, int trigger)
{
	const char *table = watch->source->name, *rowid = watch->source->rowid_column;
	int rc;

	switch (trigger) {
	case BEFORE_INSERT:
		sqlite3_str_appendf(sql, "BEFORE INSERT ON \"%w\" WHEN 0", table);
		rc = append_conflicts(watch, sql, INSERT_EXISTS);
		sqlite3_str_appendall(sql, " BEGIN ");
		return rc ? rc : append_conflicts(watch, sql, INSERT_LOGS);
	case AFTER_INSERT:
		sqlite3_str_appendf(sql, "AFTER INSERT ON \"%w\" BEGIN ", table);
		sqlite3_str_appendf(sql, "INSERT INTO \"%w_log\"(nonce, id) VALUES(random(), new.\"%w\"); ", watch->index, rowid);
		return SQLITE_OK;
	case BEFORE_UPDATE:
		return append_update(watch, sql);
	default:
		sqlite3_str_appendf(sql, "BEFORE DELETE ON \"%w\" BEGIN ", table);
		append_insert(watch, sql);
		sqlite3_str_appendall(sql, "VALUES(");
		append_key(watch, sql, "old");
		sqlite3_str_appendall(sql, "); ");
		return SQLITE_OK;
	}
}

/* The text of a trigger as the schema keeps it, or with the schema's name, as it is made. */
static int make_text(const struct watch *watch, int trigger, bool with_schema, char **made)
{
	sqlite3_str *sql = sqlite3_str_new(watch->db);
	int rc;

	sqlite3_str_appendall(sql, "CREATE TRIGGER ");
	if (with_schema)
		sqlite3_str_appendf(sql, "\"%w\".", watch->schema);
	sqlite3_str_appendf(sql, "\"%w_%s\" ", watch->index, suffixes[trigger]);
	rc = append_body(watch, sql, trigger);
	sqlite3_str_appendall(sql, "END");
	*made = sqlite3_str_finish(sql);
	if (!rc && !*made)
		rc = iforest_error_set(watch->error, SQLITE_NOMEM, "");
	if (rc) {
		sqlite3_free(*made);
		*made = NULL;
	}
	return rc;
}

/* ---- triggers in the schema ---- */

int iforest_watch_make_room(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	int rc = SQLITE_OK;

	for (int t = 0; t < N_TRIGGERS && !rc; t++) {
		rc = iforest_prepare(error, db, &statement, "SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q' COLLATE NOCASE",
				     schema, index, suffixes[t]);
		if (!rc && sqlite3_step(statement) == SQLITE_ROW)
			rc = iforest_error_set(error, SQLITE_ERROR, "iforest: there is already a trigger named \"%s_%s\"; give the index another name",
					       index, suffixes[t]);
		sqlite3_finalize(statement);
	}
	return rc;
}

int iforest_watch_stop(sqlite3 *db, const char *schema, const char *index, struct iforest_error *error)
{
	int rc = SQLITE_OK;

	for (int t = 0; t < N_TRIGGERS && !rc; t++)
		rc = iforest_execute(error, db, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", schema, index, suffixes[t]);
	return rc;
}

int iforest_watch_start(sqlite3 *db, const char *schema, const char *index, const struct iforest_source *source,
			const struct iforest_definition *definition, struct iforest_error *error)
{
	struct watch watch = { .db = db, .schema = schema, .index = index, .source = source, .definition = definition, .error = error };
	int rc = iforest_watch_stop(db, schema, index, error);

	for (int t = 0; t < N_TRIGGERS && !rc; t++) {
		char *sql;

		rc = make_text(&watch, t, true, &sql);
		if (!rc)
			rc = iforest_execute(error, db, "%s", sql);
		sqlite3_free(sql);
	}
	return rc;
}

static bool is_after_insert(const char **at)
{
	const char *token = NULL;
	int n = 0;

	for (int i = 0; i < 4; i++) /* CREATE TRIGGER name AFTER */
		if (!(token = iforest_token_next(at, &n)))
			return false;
	return iforest_token_is(token, n, "after") && (token = iforest_token_next(at, &n)) && iforest_token_is(token, n, "insert");
}

/* What an AFTER INSERT trigger says that ends the statement's triggers and yet keeps the row, or NULL. A step with OR IGNORE is meant
 * to meet constraints, which an INSERT OR FAIL outside turns into failures that keep the row. */
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

	if (is_after_insert(&sql))
		for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++)
			if (iforest_tokens_hold(sql, endings[e].words, endings[e].n_words))
				return endings[e].said;
	return NULL;
}

/* The triggers on the table that SQLite runs before ours: those made later, and all temporary ones. */
static int prepare_earlier(const struct watch *watch, sqlite3_stmt **statement)
{
	const char *schema = watch->schema, *table = watch->source->name;

	return iforest_prepare(watch->error, watch->db, statement,
			       "SELECT name, sql, 0 FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND tbl_name = %Q COLLATE NOCASE AND rowid > "
			       "(SELECT rowid FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q') UNION ALL "
			       "SELECT name, sql, 1 FROM sqlite_temp_schema WHERE type = 'trigger' AND tbl_name = %Q COLLATE NOCASE",
			       schema, table, schema, watch->index, suffixes[AFTER_INSERT], table);
}

static int refuse_trigger(const struct watch *watch, const char *trigger, const char *said, bool is_temporary)
{
	const char *index = watch->index;

	return iforest_error_set(watch->error, SQLITE_ERROR,
				 "%s: %strigger \"%s\" on \"%s\" says %s after a row was inserted, which may hide it from the index: the trigger "
				 "runs before that of the index; %srun INSERT INTO \"%w\"(\"%w\") VALUES('rebuild')%s", index,
				 is_temporary ? "temporary " : "", trigger, watch->source->name, said,
				 is_temporary ? "drop it, or make it a BEFORE trigger, then " : "", index, index,
				 is_temporary ? "" : ", after which that of the index runs first");
}

static int refuse_hiding(const struct watch *watch)
{
	sqlite3_stmt *statement;
	int failed, rc = prepare_earlier(watch, &statement);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		const char *said = find_ending(text(statement, 1));

		if (said)
			rc = refuse_trigger(watch, text(statement, 0), said, sqlite3_column_int(statement, 2));
	}
	failed = sqlite3_finalize(statement);
	return !rc && failed ? iforest_error_from_db(watch->error, watch->db, failed) : rc;
}

/* Where the first trigger stands, and the INTEGER PRIMARY KEY of that table; no name if there is none. */
static int find_table(const struct watch *watch, struct iforest_source *source)
{
	sqlite3_stmt *statement;
	int failed, rc = iforest_prepare(watch->error, watch->db, &statement,
		"SELECT tbl_name, (SELECT name FROM pragma_table_info(tbl_name, %Q) WHERE pk > 0) "
		"FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q'", watch->schema, watch->schema, watch->index, suffixes[0]);

	if (!rc && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 1) == SQLITE_TEXT) {
		source->name = sqlite3_mprintf("%s", text(statement, 0));
		source->rowid_column = sqlite3_mprintf("%s", text(statement, 1));
		if (!source->name || !source->rowid_column)
			rc = iforest_error_set(watch->error, SQLITE_NOMEM, "");
	}
	failed = sqlite3_finalize(statement);
	return !rc && failed ? iforest_error_from_db(watch->error, watch->db, failed) : rc;
}

/* Is the trigger there, on that table, with the text that we would write? */
static int is_right(const struct watch *watch, int trigger, bool *right)
{
	sqlite3_stmt *statement;
	char *expected;
	int failed, rc = make_text(watch, trigger, false, &expected);

	*right = false;
	if (!rc)
		rc = iforest_prepare(watch->error, watch->db, &statement,
				     "SELECT sql FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q' AND tbl_name = %Q",
				     watch->schema, watch->index, suffixes[trigger], watch->source->name);
	if (!rc) {
		if (sqlite3_step(statement) == SQLITE_ROW)
			*right = strcmp(text(statement, 0), expected) == 0;
		failed = sqlite3_finalize(statement);
		if (failed)
			rc = iforest_error_from_db(watch->error, watch->db, failed);
	}
	sqlite3_free(expected);
	return rc;
}

int iforest_watch_find(sqlite3 *db, const char *schema, const char *index, const struct iforest_definition *definition,
		       struct iforest_source *source, struct iforest_error *error)
{
	struct watch watch = { .db = db, .schema = schema, .index = index, .source = source, .definition = definition, .error = error };
	bool right = true;
	int rc;

	*source = (struct iforest_source){ .name = NULL };
	rc = find_table(&watch, source);
	for (int t = 0; t < N_TRIGGERS && !rc && right && source->name; t++)
		rc = is_right(&watch, t, &right);
	if (!rc && right && source->name)
		rc = refuse_hiding(&watch);
	if (rc || !right)
		iforest_source_release(source);
	return rc;
}

int iforest_watch_table(sqlite3 *db, const char *schema, const char *index, char **table, struct iforest_error *error)
{
	struct watch watch = { .db = db, .schema = schema, .index = index, .error = error };
	struct iforest_source source = { .name = NULL };
	int rc = find_table(&watch, &source);

	*table = source.name;
	source.name = NULL;
	iforest_source_release(&source);
	return rc;
}
