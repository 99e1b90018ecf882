#include "sqlite_ext/follow/watch_internal.h"

#include "sqlite_ext/storage/tokens.h"

/* What follows the index's name in that of a trigger. */
static const char *const iforest_watch_suffixes[IFOREST_N_TRIGGERS] = { "before_insert", "insert", "update", "delete" };

/* Tables are named without a schema in triggers, and with it elsewhere. */
static void append_schema(const struct iforest_watch *watch, sqlite3_str *sql)
{
	if (watch->is_no_trigger)
		sqlite3_str_appendf(sql, "\"%w\".", watch->schema);
}

/* Logs an old row: its key follows, as columns of `row`: old, or s. */
static void append_insert(const struct iforest_watch *watch, sqlite3_str *sql)
{
	sqlite3_str_appendall(sql, "INSERT INTO ");
	append_schema(watch, sql);
	sqlite3_str_appendf(sql, "\"%w_log\"(id, was, time", watch->index);
	for (unsigned b = 0; b < watch->definition->n_by; b++)
		sqlite3_str_appendf(sql, ", by_%u", b);
	sqlite3_str_appendall(sql, ") ");
}

static void append_key(const struct iforest_watch *watch, sqlite3_str *sql, const char *row)
{
	sqlite3_str_appendf(sql, "%s.\"%w\", 1, %s.\"%w\"", row, watch->source->rowid_column, row, watch->definition->time);
	for (unsigned b = 0; b < watch->definition->n_by; b++)
		sqlite3_str_appendf(sql, ", %s.\"%w\"", row, watch->definition->by[b].source);
}

/* Logs the rows for which the condition that follows holds. */
static void append_rows(const struct iforest_watch *watch, sqlite3_str *sql)
{
	append_insert(watch, sql);
	sqlite3_str_appendall(sql, "SELECT ");
	append_key(watch, sql, "s");
	sqlite3_str_appendall(sql, " FROM ");
	append_schema(watch, sql);
	sqlite3_str_appendf(sql, "\"%w\" AS s WHERE ", watch->source->name);
}

/* What is said of the rows that REPLACE would delete. */
enum purpose { INSERT_EXISTS, INSERT_LOGS, UPDATE_LOGS };

/* Before and after the condition that tells such rows: OR EXISTS(...), or a statement that logs them. */
static void open_condition(const struct iforest_watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	if (purpose == INSERT_EXISTS)
		sqlite3_str_appendf(sql, " OR EXISTS(SELECT 1 FROM \"%w\" AS s WHERE ", watch->source->name);
	else
		append_rows(watch, sql);
}

static void close_condition(const struct iforest_watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	const char *rowid = watch->source->rowid_column;

	if (purpose == UPDATE_LOGS)
		sqlite3_str_appendf(sql, " AND s.\"%w\" IS NOT old.\"%w\"", rowid, rowid);
	sqlite3_str_appendall(sql, purpose == INSERT_EXISTS ? ")" : "; ");
}

/* Columns: the index, and the others as of UNIQUE_NAME on. Indexes that triggers cannot foresee have a column without a name:
 * then the text is none that stands in the schema, and a rebuild says why. */
#define UNIQUE_COLUMNS                                                                                                         \
	"WITH u(i, name, collation, has_default, is_last, seqno, default_text) AS ("                                           \
	"SELECT l.name, iif(l.partial, NULL, x.name), x.coll, t.\"notnull\" AND t.dflt_value IS NOT NULL,"                     \
	" x.seqno = (SELECT max(seqno) FROM pragma_index_xinfo(l.name, %Q) WHERE key), x.seqno, t.dflt_value "                 \
	"FROM pragma_index_list(%Q, %Q) AS l, pragma_index_xinfo(l.name, %Q) AS x "                                            \
	"LEFT JOIN pragma_table_xinfo(%Q, %Q) AS t ON t.cid = x.cid WHERE l.\"unique\" AND x.key) "

/* HAS_DEFAULT: REPLACE puts the default in the place of NULL. IS_LAST: of its index, or of those beside a column. */
enum { UNIQUE_NAME = 1, COLLATION, HAS_DEFAULT, IS_LAST, IS_ITSELF, DEFAULT_TEXT };

static int prepare_unique(const struct iforest_watch *watch, sqlite3_stmt **statement)
{
	const char *table = watch->source->name, *schema = watch->schema;

	return iforest_prepare(watch->error, watch->db, statement,
			       UNIQUE_COLUMNS "SELECT i, name, collation, has_default, is_last FROM u ORDER BY i, seqno",
			       schema, table, schema, schema, table, schema);
}

/* For each column that has a default, the columns of its index: with IS_ITSELF, that column. */
static int prepare_defaults(const struct iforest_watch *watch, sqlite3_stmt **statement)
{
	const char *table = watch->source->name, *schema = watch->schema;

	return iforest_prepare(watch->error, watch->db, statement,
			       UNIQUE_COLUMNS
			       "SELECT o.i, o.name, o.collation, o.has_default, o.is_last, o.seqno = d.seqno, o.default_text "
			       "FROM u AS d, u AS o WHERE d.has_default AND o.i = d.i ORDER BY d.i, d.seqno, o.seqno",
			       schema, table, schema, schema, table, schema);
}

static int finish(const struct iforest_watch *watch, sqlite3_stmt *statement)
{
	int rc = sqlite3_finalize(statement);

	return rc ? iforest_error_from_db(watch->error, watch->db, rc) : SQLITE_OK;
}

/* The row s has the new value. */
static void append_same(sqlite3_str *sql, sqlite3_stmt *column)
{
	const char *name = iforest_column_string(column, UNIQUE_NAME);

	sqlite3_str_appendf(sql, "s.\"%w\" = new.\"%w\" COLLATE \"%w\"", name, name, iforest_column_string(column, COLLATION));
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
	const char *name = iforest_column_string(column, UNIQUE_NAME),
		   *default_text = iforest_column_string(column, DEFAULT_TEXT);

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
		sqlite3_str_appendf(sql, " AND s.\"%w\" = (%s) COLLATE \"%w\"", name, default_text,
				    iforest_column_string(column, COLLATION));
}

/* A condition for each index of the statement, or each column that has a default: that of all its rows. Finalizes it. */
static int append_each(const struct iforest_watch *watch, sqlite3_str *sql, enum purpose purpose, sqlite3_stmt *statement,
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
static int append_equal(const struct iforest_watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	sqlite3_stmt *statement;
	int rc = prepare_unique(watch, &statement);

	return rc ? rc : append_each(watch, sql, purpose, statement, append_same);
}

/* Those that may have them once REPLACE has put a default into a column: what that will be is known of literals alone. */
static int append_defaults(const struct iforest_watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	sqlite3_stmt *statement;
	int rc = prepare_defaults(watch, &statement);

	return rc ? rc : append_each(watch, sql, purpose, statement, append_beside_default);
}

/* The new rowid is none of the front. */
static void append_off_front(const struct iforest_watch *watch, sqlite3_str *sql)
{
	sqlite3_str_appendf(sql, "new.\"%w\" >> %d IS NOT (SELECT block FROM \"%w_front\")", watch->source->rowid_column,
			    IFOREST_FRONT_SHIFT, watch->index);
}

/* The rows that REPLACE would delete: that with the new rowid, and those. */
static int append_conflicts(const struct iforest_watch *watch, sqlite3_str *sql, enum purpose purpose)
{
	const char *rowid = watch->source->rowid_column;
	int rc;

	if (purpose == INSERT_EXISTS) { /* a rowid that SQLite is yet to choose reads as -1: nothing need be looked up */
		sqlite3_str_appendf(sql, " OR new.\"%w\" <> -1 AND ", rowid);
		append_off_front(watch, sql);
		sqlite3_str_appendf(sql, " AND EXISTS(SELECT 1 FROM \"%w\" AS s WHERE ", watch->source->name);
	} else {
		append_rows(watch, sql);
	}
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

static bool is_of_index(const struct iforest_definition *definition, const char *column)
{
	bool is_one = sqlite3_stricmp(definition->time, column) == 0;

	for (unsigned b = 0; b < definition->n_by && !is_one; b++)
		is_one = sqlite3_stricmp(definition->by[b].source, column) == 0;
	for (unsigned v = 0; v < definition->n_values && !is_one; v++)
		is_one = sqlite3_stricmp(definition->values[v].source, column) == 0;
	return is_one;
}

/* BEFORE UPDATE has generated columns right only where the trigger names what they are made of: with them in the index, any
 * update counts. UNIQUE indexes have none. */
static int read_generated(const struct iforest_watch *watch, bool *has_generated)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(watch->error, watch->db, &statement,
				 "SELECT name FROM pragma_table_xinfo(%Q, %Q) WHERE hidden IN (2, 3)", watch->source->name,
				 watch->schema);

	*has_generated = false;
	while (!rc && !*has_generated && sqlite3_step(statement) == SQLITE_ROW)
		*has_generated = is_of_index(watch->definition, iforest_column_string(statement, 0));
	return rc ? rc : finish(watch, statement);
}

/* WHEN a column of the index, or one that REPLACE looks at, changes. 1 and 1.0 are no different as keys, but as values, and as
 * text. The columns named here SQLite refuses to drop, and a rename of one shows. */
static int append_when(const struct iforest_watch *watch, sqlite3_str *sql)
{
	const struct iforest_definition *definition = watch->definition;
	sqlite3_stmt *statement;
	bool has_generated;
	int rc = read_generated(watch, &has_generated);

	if (rc)
		return rc;
	sqlite3_str_appendf(sql, "WHEN %sold.\"%w\" IS NOT new.\"%w\"", has_generated ? "1 OR " : "",
			    watch->source->rowid_column, watch->source->rowid_column);
	append_change(sql, definition->time, NULL);
	for (unsigned b = 0; b < definition->n_by; b++)
		append_change(sql, definition->by[b].source, NULL);
	for (unsigned v = 0; v < definition->n_values; v++) {
		append_change(sql, definition->values[v].source, NULL);
		sqlite3_str_appendf(sql, " OR CAST(old.\"%w\" AS TEXT) <> CAST(new.\"%w\" AS TEXT)",
				    definition->values[v].source, definition->values[v].source);
	}
	rc = prepare_unique(watch, &statement);
	while (!rc && sqlite3_step(statement) == SQLITE_ROW)
		append_change(sql, iforest_column_string(statement, UNIQUE_NAME), iforest_column_string(statement, COLLATION));
	sqlite3_str_appendall(sql, " ");
	return rc ? rc : finish(watch, statement);
}

static int append_update(const struct iforest_watch *watch, sqlite3_str *sql)
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
	sqlite3_str_appendf(sql, "INSERT INTO \"%w_log\"(id) SELECT new.\"%w\" WHERE new.\"%w\" IS NOT old.\"%w\"; ",
			    watch->index, rowid, rowid, rowid);
	return rc;
}

/* The block is no key: an UPDATE of one may fail, for which SQLite would keep a journal of each statement that inserts, and
 * goes through a temporary table. Either is dearer than all the rest of this. */
static void append_after_insert(const struct iforest_watch *watch, sqlite3_str *sql)
{
	const char *rowid = watch->source->rowid_column;

	sqlite3_str_appendf(sql, "AFTER INSERT ON \"%w\" WHEN ", watch->source->name);
	append_off_front(watch, sql);
	sqlite3_str_appendf(sql, " BEGIN INSERT INTO \"%w_log\"(id) VALUES(new.\"%w\"); ", watch->index, rowid);
	sqlite3_str_appendf(sql, "UPDATE \"%w_front\" SET block = new.\"%w\" >> %d WHERE block < new.\"%w\" >> %d; ",
			    watch->index, rowid, IFOREST_FRONT_SHIFT, rowid, IFOREST_FRONT_SHIFT);
}

static int append_body(const struct iforest_watch *watch, sqlite3_str *sql, int trigger)
{
	const char *table = watch->source->name;
	int rc;

	switch (trigger) {
	case IFOREST_BEFORE_INSERT:
		sqlite3_str_appendf(sql, "BEFORE INSERT ON \"%w\" WHEN 0", table);
		rc = append_conflicts(watch, sql, INSERT_EXISTS);
		sqlite3_str_appendall(sql, " BEGIN ");
		return rc ? rc : append_conflicts(watch, sql, INSERT_LOGS);
	case IFOREST_AFTER_INSERT:
		append_after_insert(watch, sql);
		return SQLITE_OK;
	case IFOREST_BEFORE_UPDATE:
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

int iforest_watch_make_text(const struct iforest_watch *watch, int trigger, bool with_schema, char **made)
{
	sqlite3_str *sql = sqlite3_str_new(watch->db);
	int rc;

	sqlite3_str_appendall(sql, "CREATE TRIGGER ");
	if (with_schema)
		sqlite3_str_appendf(sql, "\"%w\".", watch->schema);
	sqlite3_str_appendf(sql, "\"%w_%s\" ", watch->index, iforest_watch_suffixes[trigger]);
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

int iforest_watch_log_minus_one(const struct iforest_watch *watch)
{
	sqlite3_str *sql = sqlite3_str_new(watch->db);
	char *text;
	int rc;

	append_rows(watch, sql);
	sqlite3_str_appendf(sql, "s.\"%w\" = -1", watch->source->rowid_column);
	text = sqlite3_str_finish(sql);
	rc = text ? iforest_execute(watch->error, watch->db, "%s", text) : iforest_error_set(watch->error, SQLITE_NOMEM, "");
	sqlite3_free(text);
	return rc;
}
