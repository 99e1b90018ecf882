#include "sqlite_ext/follow/triggers.h"

#include "sqlite_ext/follow/condition.h"
#include "sqlite_ext/follow/mark.h"
#include "sqlite_ext/storage/engine.h"

enum { BEFORE_INSERT, AFTER_INSERT, BEFORE_UPDATE, BEFORE_DELETE, N_TRIGGERS };

/* The parts of a trigger's text. */
struct trigger_target {
	sqlite3 *db;
	const char *schema, *index;
	const struct ifs_base_table *base_table;
	const struct ifs_definition *definition;
	struct ifs_error *error;
	bool is_no_trigger; /* the SQL is run as it is, not in a trigger */
	bool is_compared;   /* the SQL is not run: its condition need not be judged */
	bool has_unique;    /* the table has a UNIQUE index; most have none, and the queries about them are expensive */
};

/* Returns the text of a column, "" for NULL. Valid as long as that of sqlite3_column_text(). */
static inline const char *column_string(sqlite3_stmt *statement, int column)
{
	const char *string = (const char *)sqlite3_column_text(statement, column);

	return string ? string : "";
}

/* A trigger is named after the index, with one of these suffixes. */
static const char *const trigger_suffixes[N_TRIGGERS] = { "before_insert", "insert", "update", "delete" };

/* Tables are named without a schema in triggers, and with it elsewhere. */
static void append_schema(const struct trigger_target *target, sqlite3_str *sql)
{
	if (target->is_no_trigger)
		sqlite3_str_appendf(sql, "\"%w\".", target->schema);
}

/* Appends the start of a statement that logs an old row. Its key follows, as columns of `row`: old, or s. */
static void append_insert(const struct trigger_target *target, sqlite3_str *sql)
{
	sqlite3_str_appendall(sql, "INSERT INTO ");
	append_schema(target, sql);
	sqlite3_str_appendf(sql, "\"%w_log\"(id, was, time", target->index);
	for (unsigned b = 0; b < target->definition->n_by; b++)
		sqlite3_str_appendf(sql, ", by_%u", b);
	sqlite3_str_appendall(sql, ") ");
}

/* The runs do not contain a row that does not meet the condition. The condition refers to the columns of s, not of old. */
static void append_key(const struct trigger_target *target, sqlite3_str *sql, const char *row)
{
	const struct ifs_definition *definition = target->definition;
	const char *condition = target->is_compared ? definition->where : ifs_definition_condition(definition);

	sqlite3_str_appendf(sql, "%s.\"%w\", ", row, target->base_table->rowid_column);
	if (condition)
		sqlite3_str_appendf(sql, "iif(%s, 1, NULL), ", condition);
	else
		sqlite3_str_appendall(sql, "1, ");
	sqlite3_str_appendf(sql, "%s.\"%w\"", row, definition->time);
	for (unsigned b = 0; b < target->definition->n_by; b++)
		sqlite3_str_appendf(sql, ", %s.\"%w\"", row, target->definition->by[b].source);
}

/* Appends the start of a statement that logs the rows for which the condition that follows holds. */
static void append_rows(const struct trigger_target *target, sqlite3_str *sql)
{
	append_insert(target, sql);
	sqlite3_str_appendall(sql, "SELECT ");
	append_key(target, sql, "s");
	sqlite3_str_appendall(sql, " FROM ");
	append_schema(target, sql);
	sqlite3_str_appendf(sql, "\"%w\" AS s WHERE ", target->base_table->name);
}

/* Appends a statement that logs the row that is about to change. If there is a condition, it reads the row from the table,
 * which still has the old values. */
static void append_old_row(const struct trigger_target *target, sqlite3_str *sql)
{
	const char *rowid = target->base_table->rowid_column;

	if (target->definition->where) {
		append_rows(target, sql);
		sqlite3_str_appendf(sql, "s.\"%w\" = old.\"%w\"; ", rowid, rowid);
		return;
	}
	append_insert(target, sql);
	sqlite3_str_appendall(sql, "VALUES(");
	append_key(target, sql, "old");
	sqlite3_str_appendall(sql, "); ");
}

/* Appends a statement that notes a gap in the mark; a condition may follow. An INSERT of a rowid would do as well, but may
 * fail, for which SQLite would keep a statement journal for each row. */
static void append_mark(const struct trigger_target *target, sqlite3_str *sql)
{
	sqlite3_str_appendf(sql, "DELETE FROM \"%w_mark\" WHERE rowid = %d", target->index, IFS_MARK_FIRST);
}

/* The use of a condition on the rows that REPLACE would delete: as a part of the trigger's WHEN, to log them, or to note
 * a gap in the mark. */
enum purpose { INSERT_EXISTS, INSERT_LOGS, UPDATE_LOGS, UPDATE_MARKS };

/* Append the text before and after such a condition: OR EXISTS(...), or a statement. */
static void open_condition(const struct trigger_target *target, sqlite3_str *sql, enum purpose purpose)
{
	const char *table = target->base_table->name;

	if (purpose == INSERT_EXISTS) {
		sqlite3_str_appendf(sql, " OR EXISTS(SELECT 1 FROM \"%w\" AS s WHERE ", table);
	} else if (purpose == UPDATE_MARKS) {
		append_mark(target, sql);
		sqlite3_str_appendf(sql, " AND EXISTS(SELECT 1 FROM \"%w\" AS s WHERE ", table);
	} else {
		append_rows(target, sql);
	}
}

static void close_condition(const struct trigger_target *target, sqlite3_str *sql, enum purpose purpose)
{
	static const char *const ends[] = {
		[INSERT_EXISTS] = ")", [INSERT_LOGS] = "; ", [UPDATE_LOGS] = "; ", [UPDATE_MARKS] = "); "
	};
	const char *rowid = target->base_table->rowid_column;

	if (purpose == UPDATE_LOGS || purpose == UPDATE_MARKS)
		sqlite3_str_appendf(sql, " AND s.\"%w\" IS NOT old.\"%w\"", rowid, rowid);
	sqlite3_str_appendall(sql, ends[purpose]);
}

/* Columns: the index, and the others as of UNIQUE_NAME on. An index whose conflicts triggers cannot foresee has a column
 * without a name: then the text is not the one in the schema, and a rebuild says why. */
#define UNIQUE_COLUMNS                                                                                         \
	"WITH u(i, name, collation, has_default, is_last, seqno, default_text) AS ("                           \
	"SELECT l.name, iif(l.partial, NULL, x.name), x.coll, t.\"notnull\" AND t.dflt_value IS NOT NULL,"     \
	" x.seqno = (SELECT max(seqno) FROM pragma_index_xinfo(l.name, %Q) WHERE key), x.seqno, t.dflt_value " \
	"FROM pragma_index_list(%Q, %Q) AS l, pragma_index_xinfo(l.name, %Q) AS x "                            \
	"LEFT JOIN pragma_table_xinfo(%Q, %Q) AS t ON t.cid = x.cid WHERE l.\"unique\" AND x.key) "

/* HAS_DEFAULT: REPLACE puts the default in the place of NULL. IS_LAST: the last column of its index, or of those beside a
 * column with a default. */
enum { UNIQUE_NAME = 1, COLLATION, HAS_DEFAULT, IS_LAST, IS_ITSELF, DEFAULT_TEXT };

static int prepare_unique(const struct trigger_target *target, sqlite3_stmt **statement)
{
	const char *table = target->base_table->name, *schema = target->schema;

	return ifs_prepare(target->error, target->db, statement,
			   UNIQUE_COLUMNS "SELECT i, name, collation, has_default, is_last FROM u ORDER BY i, seqno", schema,
			   table, schema, schema, table, schema);
}

/* For each column with a default, selects the columns of its index; IS_ITSELF marks that column. */
static int prepare_defaults(const struct trigger_target *target, sqlite3_stmt **statement)
{
	const char *table = target->base_table->name, *schema = target->schema;

	return ifs_prepare(target->error, target->db, statement,
			   UNIQUE_COLUMNS
			   "SELECT o.i, o.name, o.collation, o.has_default, o.is_last, o.seqno = d.seqno, o.default_text "
			   "FROM u AS d, u AS o WHERE d.has_default AND o.i = d.i ORDER BY d.i, d.seqno, o.seqno",
			   schema, table, schema, schema, table, schema);
}

static int finish(const struct trigger_target *target, sqlite3_stmt *statement)
{
	int rc = sqlite3_finalize(statement);

	return rc ? ifs_error_from_db(target->error, target->db, rc) : SQLITE_OK;
}

static int read_unique(struct trigger_target *target)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(target->error, target->db, &statement, "SELECT 1 FROM pragma_index_list(%Q, %Q) WHERE \"unique\"",
			     target->base_table->name, target->schema);

	target->has_unique = !rc && sqlite3_step(statement) == SQLITE_ROW;
	return rc ? rc : finish(target, statement);
}

/* Appends the condition that the row s has the new value. */
static void append_same(sqlite3_str *sql, sqlite3_stmt *column)
{
	const char *name = column_string(column, UNIQUE_NAME);

	sqlite3_str_appendf(sql, "s.\"%w\" = new.\"%w\" COLLATE \"%w\"", name, name, column_string(column, COLLATION));
}

/* True for a decimal number or a string and nothing else: its value is the same wherever it stands. */
static bool is_literal(const char *sql)
{
	const char *at = sql;
	size_t n_digits;
	int n;

	if (*at == '\'')
		return ifs_token_next(&at, &n) && n > 1 && at[-1] == '\'' && !*at;
	at += *at == '-' || *at == '+';
	n_digits = strspn(at, "0123456789");
	at += n_digits;
	if (n_digits && *at == '.')
		at += 1 + strspn(at + 1, "0123456789");
	return n_digits && !*at;
}

/* Appends the condition on a column of an index in which a default replaces NULL. */
static void append_beside_default(sqlite3_str *sql, sqlite3_stmt *column)
{
	const char *name = column_string(column, UNIQUE_NAME), *default_text = column_string(column, DEFAULT_TEXT);

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
				    column_string(column, COLLATION));
}

/* Appends a condition for each index of the statement, or each column with a default, over all its rows. Finalizes the
 * statement. */
static int append_each(const struct trigger_target *target, sqlite3_str *sql, enum purpose purpose, sqlite3_stmt *statement,
		       void (*append)(sqlite3_str *sql, sqlite3_stmt *column))
{
	bool is_first = true;

	while (sqlite3_step(statement) == SQLITE_ROW) {
		if (is_first)
			open_condition(target, sql, purpose);
		else
			sqlite3_str_appendall(sql, " AND ");
		append(sql, statement);
		is_first = sqlite3_column_int(statement, IS_LAST);
		if (is_first)
			close_condition(target, sql, purpose);
	}
	return finish(target, statement);
}

/* Appends a condition on the rows with the new values in a UNIQUE index. */
static int append_equal(const struct trigger_target *target, sqlite3_str *sql, enum purpose purpose)
{
	sqlite3_stmt *statement;
	int rc = prepare_unique(target, &statement);

	return rc ? rc : append_each(target, sql, purpose, statement, append_same);
}

/* Appends a condition on the rows that may have the new values once REPLACE has put a default into a column. Which value
 * that will be is known of literals alone. */
static int append_defaults(const struct trigger_target *target, sqlite3_str *sql, enum purpose purpose)
{
	sqlite3_stmt *statement;
	int rc = prepare_defaults(target, &statement);

	return rc ? rc : append_each(target, sql, purpose, statement, append_beside_default);
}

/* Appends the condition that the new rowid is not in the front. */
static void append_off_front(const struct trigger_target *target, sqlite3_str *sql)
{
	sqlite3_str_appendf(sql, "new.\"%w\" >> %d IS NOT (SELECT block FROM \"%w_front\")", target->base_table->rowid_column,
			    IFS_FRONT_SHIFT, target->index);
}

/* Appends both. */
static int append_replaced(const struct trigger_target *target, sqlite3_str *sql, enum purpose purpose)
{
	int rc;

	if (!target->has_unique)
		return SQLITE_OK;
	rc = append_equal(target, sql, purpose);
	return rc ? rc : append_defaults(target, sql, purpose);
}

/* Appends a condition on the rows that REPLACE would delete: the one with the new rowid, and those with the new values. */
static int append_conflicts(const struct trigger_target *target, sqlite3_str *sql, enum purpose purpose)
{
	const char *rowid = target->base_table->rowid_column;

	if (purpose == INSERT_EXISTS) { /* a rowid that SQLite is yet to choose reads as -1: nothing need be looked up */
		sqlite3_str_appendf(sql, " OR new.\"%w\" <> -1 AND ", rowid);
		append_off_front(target, sql);
		sqlite3_str_appendf(sql, " AND EXISTS(SELECT 1 FROM \"%w\" AS s WHERE ", target->base_table->name);
	} else {
		append_rows(target, sql);
	}
	sqlite3_str_appendf(sql, "s.\"%w\" = new.\"%w\"", rowid, rowid);
	close_condition(target, sql, purpose);
	return append_replaced(target, sql, purpose);
}

static void append_change(sqlite3_str *sql, const char *column, const char *collation)
{
	sqlite3_str_appendf(sql, " OR old.\"%w\" IS NOT new.\"%w\"", column, column);
	if (collation)
		sqlite3_str_appendf(sql, " COLLATE \"%w\"", collation);
}

static bool is_of_index(const struct ifs_definition *definition, const char *column)
{
	bool is_one = sqlite3_stricmp(definition->time, column) == 0;

	for (unsigned b = 0; b < definition->n_by && !is_one; b++)
		is_one = sqlite3_stricmp(definition->by[b].source, column) == 0;
	for (unsigned v = 0; v < definition->n_values && !is_one; v++)
		is_one = sqlite3_stricmp(definition->values[v].source, column) == 0;
	for (unsigned h = 0; h < definition->n_hashed && !is_one; h++)
		is_one = sqlite3_stricmp(definition->hashed[h], column) == 0;
	return is_one || ifs_condition_names(definition, column);
}

/* In BEFORE UPDATE generated columns are right only if the trigger names the columns they are computed from. If the index
 * has such columns, any update counts. UNIQUE indexes have none. */
static int read_generated(const struct trigger_target *target, bool *has_generated)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(target->error, target->db, &statement,
			     "SELECT name FROM pragma_table_xinfo(%Q, %Q) WHERE hidden IN (2, 3)", target->base_table->name,
			     target->schema);

	*has_generated = false;
	while (!rc && !*has_generated && sqlite3_step(statement) == SQLITE_ROW)
		*has_generated = is_of_index(target->definition, column_string(statement, 0));
	return rc ? rc : finish(target, statement);
}

/* Appends that a column of the condition changes, if only in its type, or in what its collation does not tell apart. */
static int append_condition_changes(const struct trigger_target *target, sqlite3_str *sql)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(target->error, target->db, &statement, "SELECT name FROM pragma_table_info(%Q, %Q)",
			     target->base_table->name, target->schema);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		const char *name = column_string(statement, 0);

		if (!ifs_condition_names(target->definition, name))
			continue;
		append_change(sql, name, NULL);
		sqlite3_str_appendf(sql, " OR CAST(old.\"%w\" AS TEXT) <> CAST(new.\"%w\" AS TEXT) COLLATE BINARY", name, name);
	}
	return rc ? rc : finish(target, statement);
}

/* Appends that a column of a UNIQUE index changes. */
static int append_unique_changes(const struct trigger_target *target, sqlite3_str *sql)
{
	sqlite3_stmt *statement;
	int rc = prepare_unique(target, &statement);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW)
		append_change(sql, column_string(statement, UNIQUE_NAME), column_string(statement, COLLATION));
	return rc ? rc : finish(target, statement);
}

/* Appends WHEN: a column of the index, of its condition, or of a UNIQUE index changes. 1 and 1.0 are the same key, but differ
 * as value and as text. SQLite refuses to drop the columns named here, and renaming one changes the text. */
static int append_when(const struct trigger_target *target, sqlite3_str *sql)
{
	const struct ifs_definition *definition = target->definition;
	bool has_generated;
	int rc = read_generated(target, &has_generated);

	if (rc)
		return rc;
	sqlite3_str_appendf(sql, "WHEN %sold.\"%w\" IS NOT new.\"%w\"", has_generated ? "1 OR " : "",
			    target->base_table->rowid_column, target->base_table->rowid_column);
	append_change(sql, definition->time, NULL);
	for (unsigned b = 0; b < definition->n_by; b++)
		append_change(sql, definition->by[b].source, NULL);
	for (unsigned v = 0; v < definition->n_values; v++) {
		append_change(sql, definition->values[v].source, NULL);
		sqlite3_str_appendf(sql, " OR CAST(old.\"%w\" AS TEXT) <> CAST(new.\"%w\" AS TEXT)",
				    definition->values[v].source, definition->values[v].source);
	}
	for (unsigned h = 0; h < definition->n_hashed; h++)
		append_change(sql, definition->hashed[h], "BINARY");
	if (definition->where)
		rc = append_condition_changes(target, sql);
	if (!rc && target->has_unique)
		rc = append_unique_changes(target, sql);
	sqlite3_str_appendall(sql, " ");
	return rc;
}

static int append_update(const struct trigger_target *target, sqlite3_str *sql)
{
	const char *rowid = target->base_table->rowid_column;
	int rc;

	sqlite3_str_appendf(sql, "BEFORE UPDATE ON \"%w\" ", target->base_table->name);
	rc = append_when(target, sql);
	sqlite3_str_appendall(sql, "BEGIN ");
	append_old_row(target, sql);
	if (!rc)
		rc = append_conflicts(target, sql, UPDATE_LOGS);
	sqlite3_str_appendf(sql, "INSERT INTO \"%w_log\"(id) SELECT new.\"%w\" WHERE new.\"%w\" IS NOT old.\"%w\"; ",
			    target->index, rowid, rowid, rowid);
	if (target->base_table->is_keyed)
		return rc;
	append_mark(target, sql);
	sqlite3_str_appendf(sql, " AND new.\"%w\" IS NOT old.\"%w\"; ", rowid, rowid);
	return rc ? rc : append_replaced(target, sql, UPDATE_MARKS);
}

/* The block is not a key. An UPDATE of a key may fail, so SQLite would need a statement journal for each insert, and a
 * temporary table. Either costs more than the rest of the trigger. */
static void append_after_insert(const struct trigger_target *target, sqlite3_str *sql)
{
	const char *rowid = target->base_table->rowid_column;

	sqlite3_str_appendf(sql, "AFTER INSERT ON \"%w\" WHEN ", target->base_table->name);
	if (!target->base_table->is_keyed) /* -1 was taken for a rowid to be chosen */
		sqlite3_str_appendf(sql, "new.\"%w\" < 1 OR ", rowid);
	append_off_front(target, sql);
	sqlite3_str_appendf(sql, " BEGIN INSERT INTO \"%w_log\"(id) VALUES(new.\"%w\"); ", target->index, rowid);
	sqlite3_str_appendf(sql, "UPDATE \"%w_front\" SET block = new.\"%w\" >> %d WHERE block < new.\"%w\" >> %d; ",
			    target->index, rowid, IFS_FRONT_SHIFT, rowid, IFS_FRONT_SHIFT);
	if (target->base_table->is_keyed)
		return;
	append_mark(target, sql);
	sqlite3_str_appendf(sql, " AND new.\"%w\" < 1; ", rowid);
}

/* With a mark, a rowid that is given and a row that REPLACE might delete are taken for a gap. */
static int append_before_insert(const struct trigger_target *target, sqlite3_str *sql)
{
	bool is_keyed = target->base_table->is_keyed;
	int rc;

	sqlite3_str_appendf(sql, "BEFORE INSERT ON \"%w\" WHEN 0", target->base_table->name);
	if (is_keyed) {
		rc = append_conflicts(target, sql, INSERT_EXISTS);
	} else {
		sqlite3_str_appendf(sql, " OR new.\"%w\" <> -1", target->base_table->rowid_column);
		rc = append_replaced(target, sql, INSERT_EXISTS);
	}
	sqlite3_str_appendall(sql, " BEGIN ");
	if (!rc)
		rc = append_conflicts(target, sql, INSERT_LOGS);
	if (!is_keyed) {
		append_mark(target, sql);
		sqlite3_str_appendall(sql, "; ");
	}
	return rc;
}

static void append_delete(const struct trigger_target *target, sqlite3_str *sql)
{
	const char *table = target->base_table->name, *rowid = target->base_table->rowid_column;

	sqlite3_str_appendf(sql, "BEFORE DELETE ON \"%w\" BEGIN ", table);
	append_old_row(target, sql);
	if (target->base_table->is_keyed)
		return;
	append_mark(target, sql);
	sqlite3_str_appendf(sql, " AND EXISTS(SELECT 1 FROM \"%w\" AS s WHERE s.\"%w\" > old.\"%w\"); ", table, rowid, rowid);
}

static int append_body(const struct trigger_target *target, sqlite3_str *sql, int trigger)
{
	switch (trigger) {
	case BEFORE_INSERT:
		return append_before_insert(target, sql);
	case AFTER_INSERT:
		append_after_insert(target, sql);
		return SQLITE_OK;
	case BEFORE_UPDATE:
		return append_update(target, sql);
	default:
		append_delete(target, sql);
		return SQLITE_OK;
	}
}

/* Makes the text of a trigger, as the schema keeps it, or with the schema's name, as it is created. *made is from
 * sqlite3_mprintf(). */
static int make_trigger_text(const struct trigger_target *target, int trigger, bool with_schema, char **made)
{
	sqlite3_str *sql = sqlite3_str_new(target->db);
	int rc;

	sqlite3_str_appendall(sql, "CREATE TRIGGER ");
	if (with_schema)
		sqlite3_str_appendf(sql, "\"%w\".", target->schema);
	sqlite3_str_appendf(sql, "\"%w_%s\" ", target->index, trigger_suffixes[trigger]);
	rc = append_body(target, sql, trigger);
	sqlite3_str_appendall(sql, "END");
	*made = sqlite3_str_finish(sql);
	if (!rc && !*made)
		rc = ifs_error_set(target->error, SQLITE_NOMEM, "");
	if (rc) {
		sqlite3_free(*made);
		*made = NULL;
	}
	return rc;
}

/* Logs the row with rowid -1, if there is one. */
static int log_minus_one(const struct trigger_target *target)
{
	sqlite3_str *sql = sqlite3_str_new(target->db);

	append_rows(target, sql);
	sqlite3_str_appendf(sql, "s.\"%w\" = -1", target->base_table->rowid_column);
	return ifs_execute_text(target->error, target->db, sql);
}

/* ---- Triggers in the schema ---- */

int ifs_triggers_check_names(sqlite3 *db, const char *schema, const char *index, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int failed, rc = SQLITE_OK;

	for (int t = 0; t < N_TRIGGERS && !rc; t++) {
		rc = ifs_prepare(error, db, &statement,
				 "SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q' COLLATE NOCASE",
				 schema, index, trigger_suffixes[t]);
		if (!rc && sqlite3_step(statement) == SQLITE_ROW)
			rc = ifs_error_set(
				error, SQLITE_ERROR,
				"iforest: there is already a trigger named \"%s_%s\"; give the index another name, or "
				"drop that trigger if nobody needs it",
				index, trigger_suffixes[t]);
		failed = sqlite3_finalize(statement);
		if (!rc && failed)
			rc = ifs_error_from_db(error, db, failed);
	}
	return rc;
}

int ifs_triggers_drop(sqlite3 *db, const char *schema, const char *index, struct ifs_error *error)
{
	int rc = SQLITE_OK;

	for (int t = 0; t < N_TRIGGERS && !rc; t++)
		rc = ifs_execute(error, db, "DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"", schema, index, trigger_suffixes[t]);
	return rc;
}

int ifs_triggers_create(sqlite3 *db, const char *schema, const char *index, const struct ifs_base_table *base_table,
			const struct ifs_definition *definition, struct ifs_error *error)
{
	struct trigger_target target = {
		.db = db, .schema = schema, .index = index, .base_table = base_table, .definition = definition, .error = error
	};
	int rc = ifs_triggers_drop(db, schema, index, error);

	if (!rc)
		rc = read_unique(&target);
	for (int t = 0; t < N_TRIGGERS && !rc; t++) {
		char *sql;

		rc = make_trigger_text(&target, t, true, &sql);
		if (!rc)
			rc = ifs_execute(error, db, "%s", sql);
		sqlite3_free(sql);
	}
	return rc;
}

/* Moves past CREATE TRIGGER name AFTER INSERT; false if the text begins otherwise. */
static bool pass_after_insert(const char **at)
{
	const char *token = NULL;
	int n = 0;

	for (int i = 0; i < 4; i++) /* CREATE TRIGGER name AFTER */
		if (!(token = ifs_token_next(at, &n)))
			return false;
	return ifs_token_is(token, n, "after") && (token = ifs_token_next(at, &n)) && ifs_token_is(token, n, "insert");
}

/* Returns the words in an AFTER INSERT trigger that can end the statement's triggers and yet keep the row, or NULL. OR
 * IGNORE is meant for constraints, but an outer INSERT OR FAIL turns it into failures that keep the row. */
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
			if (ifs_tokens_contain(sql, endings[e].words, endings[e].n_words))
				return endings[e].said;
	return NULL;
}

static bool is_temporary(const struct trigger_target *target)
{
	return sqlite3_stricmp(target->schema, "temp") == 0;
}

enum { TRIGGER_NAME, TRIGGER_TEXT, TRIGGER_ROWID, IS_TEMPORARY };

/* Selects the triggers on tables of that name that SQLite runs before ours: those created later, and all temporary ones,
 * unless ours is temporary. */
static int prepare_earlier(const struct trigger_target *target, sqlite3_stmt **statement)
{
	const char *schema = target->schema, *table = target->base_table->name;
	bool is_temp = is_temporary(target);

	return ifs_prepare(target->error, target->db, statement,
			   "SELECT name, sql, rowid, %d FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND "
			   "tbl_name = %Q COLLATE NOCASE AND rowid > "
			   "(SELECT rowid FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q') UNION ALL "
			   "SELECT name, sql, rowid, 1 FROM sqlite_temp_schema WHERE type = 'trigger' AND "
			   "tbl_name = %Q COLLATE NOCASE AND NOT %d",
			   is_temp, schema, table, schema, target->index, trigger_suffixes[AFTER_INSERT], table, is_temp);
}

/* Returns the schema that a trigger names before its table, or NULL; *n is the length of the token. */
static const char *find_schema(const char *sql, int *n)
{
	const char *name, *dot;
	int n_dot;

	if (!pass_after_insert(&sql) || !ifs_token_next(&sql, n) || !(name = ifs_token_next(&sql, n))) /* ON name */
		return NULL;
	dot = ifs_token_next(&sql, &n_dot);
	return dot && ifs_token_is(dot, n_dot, ".") ? name : NULL;
}

/* Sets *ours if a temporary trigger is on our table. Without a schema it is on the temporary table, if that was there
 * before the trigger, or on that of the first database that has one. */
static int is_on_ours(const struct trigger_target *target, sqlite3_stmt *trigger, bool *ours)
{
	const char *table = target->base_table->name, *schema;
	sqlite3_stmt *statement;
	int n, rc;

	schema = find_schema(column_string(trigger, TRIGGER_TEXT), &n);
	*ours = schema && ifs_token_names(schema, n, target->schema);
	if (schema)
		return SQLITE_OK;
	rc = ifs_prepare(target->error, target->db, &statement,
			 "SELECT 1 WHERE %Q = iif(EXISTS(SELECT 1 FROM sqlite_temp_schema WHERE type = 'table' AND "
			 "name = %Q COLLATE NOCASE AND rowid < %lld), 'temp', (SELECT d.name FROM pragma_database_list AS d "
			 "JOIN pragma_table_list(%Q) AS t ON t.schema = d.name WHERE d.seq <> 1 ORDER BY d.seq LIMIT 1))",
			 target->schema, table, sqlite3_column_int64(trigger, TRIGGER_ROWID), table);
	if (rc)
		return rc;
	*ours = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(target->error, target->db, rc) : SQLITE_OK;
}

static int refuse_trigger(const struct trigger_target *target, const char *trigger, const char *said, bool is_always_first)
{
	const char *index = target->index;

	return ifs_error_set(target->error, SQLITE_ERROR,
			     "%s: %strigger \"%s\" on \"%s\" says %s after a row was inserted, which may hide it from the "
			     "index: the trigger "
			     "runs before that of the index; %srun INSERT INTO \"%w\"(\"%w\") VALUES('rebuild')%s",
			     index, is_always_first ? "temporary " : "", trigger, target->base_table->name, said,
			     is_always_first ? "drop it, or make it a BEFORE trigger, then " : "", index, index,
			     is_always_first ? "" : ", after which that of the index runs first");
}

static int refuse_hiding(const struct trigger_target *target)
{
	sqlite3_stmt *statement;
	int failed, rc = prepare_earlier(target, &statement);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		const char *said = find_ending(column_string(statement, TRIGGER_TEXT));
		bool is_temp = sqlite3_column_int(statement, IS_TEMPORARY), ours = said;

		if (said && is_temp)
			rc = is_on_ours(target, statement, &ours);
		if (!rc && ours)
			rc = refuse_trigger(target, column_string(statement, TRIGGER_NAME), said,
					    is_temp && !is_temporary(target));
	}
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(target->error, target->db, failed) : rc;
}

/* Finds the table of the first trigger; no name if there is no trigger, or no name for the rowid. */
static int find_table(const struct trigger_target *target, struct ifs_base_table *base_table)
{
	sqlite3_stmt *statement;
	int failed, rc = ifs_prepare(target->error, target->db, &statement,
				     "SELECT tbl_name FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q'",
				     target->schema, target->index, trigger_suffixes[0]);

	if (!rc && sqlite3_step(statement) == SQLITE_ROW &&
	    !(base_table->name = sqlite3_mprintf("%s", column_string(statement, 0))))
		rc = ifs_error_set(target->error, SQLITE_NOMEM, "");
	failed = sqlite3_finalize(statement);
	if (!rc && failed)
		rc = ifs_error_from_db(target->error, target->db, failed);
	/* in an edited schema the name may be that of a view, or of nothing */
	if (!rc && base_table->name &&
	    sqlite3_table_column_metadata(target->db, target->schema, base_table->name, NULL, NULL, NULL, NULL, NULL, NULL))
		ifs_base_table_release(base_table);
	if (!rc && base_table->name)
		rc = ifs_base_table_find_rowid(base_table, target->db, target->schema, base_table->name, target->error);
	if (!base_table->rowid_column)
		ifs_base_table_release(base_table);
	return rc;
}

/* Sets *right if the trigger is there, on that table, with the text that would be written now. */
static int is_right(const struct trigger_target *target, int trigger, bool *right)
{
	sqlite3_stmt *statement;
	char *expected;
	int failed, rc = make_trigger_text(target, trigger, false, &expected);

	*right = false;
	if (!rc)
		rc = ifs_prepare(
			target->error, target->db, &statement,
			"SELECT sql FROM \"%w\".sqlite_schema WHERE type = 'trigger' AND name = '%q_%q' AND tbl_name = %Q",
			target->schema, target->index, trigger_suffixes[trigger], target->base_table->name);
	if (!rc) {
		if (sqlite3_step(statement) == SQLITE_ROW)
			*right = strcmp(column_string(statement, 0), expected) == 0;
		failed = sqlite3_finalize(statement);
		if (failed)
			rc = ifs_error_from_db(target->error, target->db, failed);
	}
	sqlite3_free(expected);
	return rc;
}

/* Sets *found if x_log and x_front are there. */
static int find_tables(const struct trigger_target *target, bool *found)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(target->error, target->db, &statement,
			     "SELECT 1 FROM \"%w\".sqlite_schema AS l, \"%w\".sqlite_schema AS f "
			     "WHERE l.type = 'table' AND l.name = '%q_log' AND f.type = 'table' AND f.name = '%q_front'",
			     target->schema, target->schema, target->index, target->index);

	if (rc)
		return rc;
	*found = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(target->error, target->db, rc) : SQLITE_OK;
}

int ifs_triggers_find_table(sqlite3 *db, const char *schema, const char *index, const struct ifs_definition *definition,
			    struct ifs_base_table *base_table, struct ifs_error *error)
{
	struct trigger_target target = { .db = db,
					 .schema = schema,
					 .index = index,
					 .base_table = base_table,
					 .definition = definition,
					 .error = error,
					 .is_compared = true };
	bool right = true;
	int rc;

	*base_table = (struct ifs_base_table){ .name = NULL };
	rc = find_table(&target, base_table);
	if (!rc)
		rc = find_tables(&target, &right);
	if (!rc && right && base_table->name)
		rc = read_unique(&target);
	for (int t = 0; t < N_TRIGGERS && !rc && right && base_table->name; t++)
		rc = is_right(&target, t, &right);
	if (!rc && right && base_table->name)
		rc = refuse_hiding(&target);
	if (rc || !right)
		ifs_base_table_release(base_table);
	return rc;
}

int ifs_triggers_table(sqlite3 *db, const char *schema, const char *index, char **table, struct ifs_error *error)
{
	struct trigger_target target = { .db = db, .schema = schema, .index = index, .error = error };
	struct ifs_base_table base_table = { .name = NULL };
	int rc = find_table(&target, &base_table);

	*table = NULL;
	if (!rc) {
		*table = base_table.name;
		base_table.name = NULL;
	}
	ifs_base_table_release(&base_table);
	return rc;
}

static sqlite3_int64 block_after(sqlite3_int64 rowid)
{
	return rowid / IFS_FRONT_ROWS - (rowid % IFS_FRONT_ROWS < 0) + 1;
}

int ifs_triggers_raise_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			     struct ifs_error *error)
{
	sqlite3_int64 block = block_after(last_rowid);

	return ifs_execute(error, db, "UPDATE \"%w\".\"%w_front\" SET block = %lld WHERE block < %lld", schema, index, block,
			   block);
}

int ifs_triggers_lower_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			     struct ifs_error *error)
{
	sqlite3_int64 block = block_after(last_rowid);

	return ifs_execute(error, db, "UPDATE \"%w\".\"%w_front\" SET block = %lld WHERE block > %lld", schema, index, block,
			   block);
}

int ifs_triggers_make_front(sqlite3 *db, const char *schema, const char *index, sqlite3_int64 last_rowid,
			    struct ifs_error *error)
{
	return ifs_execute(error, db, "DELETE FROM \"%w\".\"%w_front\"; INSERT INTO \"%w\".\"%w_front\" VALUES(%lld)", schema,
			   index, schema, index, block_after(last_rowid));
}

int ifs_triggers_prepare_log_reset(sqlite3 *db, const char *schema, const char *index, const struct ifs_base_table *base_table,
				   const struct ifs_definition *definition, sqlite3_stmt **statement, struct ifs_error *error)
{
	struct trigger_target target = { .db = db,
					 .schema = schema,
					 .index = index,
					 .base_table = base_table,
					 .definition = definition,
					 .error = error,
					 .is_no_trigger = true };
	int rc = log_minus_one(&target);

	if (rc)
		return rc;
	if (sqlite3_changes(db) == 0)
		return ifs_prepare(error, db, statement, "DELETE FROM \"%w\".\"%w_log\"", schema, index);
	return ifs_prepare(error, db, statement, "DELETE FROM \"%w\".\"%w_log\" WHERE seq <> %lld", schema, index,
			   sqlite3_last_insert_rowid(db));
}
