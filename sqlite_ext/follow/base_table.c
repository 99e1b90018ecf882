#include "sqlite_ext/follow/base_table.h"

#include "sqlite_ext/storage/engine.h"

/* ---- what is refused ---- */

/* The table being inspected. */
struct inspection {
	sqlite3 *db;
	const char *schema;
	const char *table;
	bool is_strict;
	struct ifs_error *error;
};

static int refuse(struct inspection *inspection, const char *format, const char *detail)
{
	return ifs_error_set(inspection->error, SQLITE_ERROR, format, inspection->table, detail, inspection->table,
			     inspection->table);
}

/* Refuses an object of that name that is not an ordinary table. */
static int inspect_object(struct inspection *inspection, const char *content, char **name)
{
	static const char *const conflict_replace[] = { "on", "conflict", "replace" };
	sqlite3_stmt *statement;
	const char *sql, *type;
	int step, failed,
		rc = ifs_prepare(inspection->error, inspection->db, &statement,
				 "SELECT type, name, sql FROM \"%w\".sqlite_schema "
				 "WHERE type IN ('table', 'view') AND name = %Q COLLATE NOCASE",
				 inspection->schema, content);

	if (rc)
		return rc;
	step = sqlite3_step(statement);
	if (step == SQLITE_DONE)
		rc = ifs_error_set(inspection->error, SQLITE_ERROR,
				   "iforest: no table \"%s\" in schema \"%s\"; an index lives in the schema of its table",
				   content, inspection->schema);
	if (step != SQLITE_ROW)
		goto done;
	type = (const char *)sqlite3_column_text(statement, 0);
	*name = sqlite3_mprintf("%s", sqlite3_column_text(statement, 1));
	sql = (const char *)sqlite3_column_text(statement, 2);
	inspection->table = *name;
	if (!*name || !type)
		rc = ifs_error_set(inspection->error, SQLITE_NOMEM, "");
	else if (strcmp(type, "view") == 0)
		rc = refuse(inspection, "iforest: \"%s\" is a view%s; index the table below it", "");
	else if (sql && sqlite3_strnicmp(sql, "CREATE VIRTUAL", 14) == 0)
		rc = refuse(
			inspection,
			"iforest: \"%s\" is a virtual table%s, whose changes no trigger sees; index a copy, and after changes copy "
			"it again (DELETE, then INSERT ... SELECT *): CREATE TABLE \"%w_rows\" AS SELECT * FROM \"%w\"",
			"");
	else if (sql && ifs_tokens_contain(sql, conflict_replace, 3))
		rc = refuse(inspection,
			    "iforest: \"%s\" uses ON CONFLICT REPLACE%s, which deletes rows that triggers do not see; take the "
			    "clause "
			    "out of its schema and write INSERT OR REPLACE INTO \"%w\" where it is meant",
			    "");
done:
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(inspection->error, inspection->db, failed) : rc;
}

/* Returns the column list of the table as SQL text, without the column named `but`, for an error message. */
static char *list_columns(struct inspection *inspection, const char *but)
{
	sqlite3_stmt *statement;
	char *list = NULL;
	int rc;

	if (ifs_prepare(inspection->error, inspection->db, &statement,
			"SELECT group_concat('\"' || replace(name, '\"', '\"\"') || '\"', ', ') FROM pragma_table_info(%Q, %Q) "
			"WHERE name <> %Q COLLATE NOCASE",
			inspection->table, inspection->schema, but))
		return NULL;
	if (sqlite3_step(statement) == SQLITE_ROW)
		list = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
	rc = sqlite3_finalize(statement);
	if (rc)
		ifs_error_from_db(inspection->error, inspection->db, rc);
	return list;
}

/* Returns the part of a CREATE TABLE text in parentheses, including them, and its length in *n. */
static const char *find_columns(const char *sql, int *n, bool *is_strict)
{
	const char *token, *first = NULL, *at = sql;
	int n_token, depth = 0;

	*is_strict = false;
	while ((token = ifs_token_next(&at, &n_token))) {
		if (ifs_token_is(token, n_token, "(") && depth++ == 0 && !first)
			first = token;
		if (ifs_token_is(token, n_token, ")") && --depth == 0)
			*n = (int)(token + 1 - first);
		*is_strict = *is_strict || (first && depth == 0 && ifs_token_is(token, n_token, "strict"));
	}
	return first;
}

/* Suggests SQL that replaces the table by an ordinary one of the same name; a copy would lack rows written later. */
static int refuse_without_rowid(struct inspection *inspection)
{
	const char *table = inspection->table, *definition;
	char *columns = list_columns(inspection, "");
	sqlite3_stmt *statement;
	bool is_strict;
	int n = 0, rc = columns ? ifs_prepare(inspection->error, inspection->db, &statement,
					      "SELECT sql FROM \"%w\".sqlite_schema WHERE type = 'table' AND name = %Q",
					      inspection->schema, table)
				: ifs_error_set(inspection->error, SQLITE_NOMEM, "");

	if (!rc && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0)) {
		definition = find_columns((const char *)sqlite3_column_text(statement, 0), &n, &is_strict);
		ifs_error_set(
			inspection->error, SQLITE_ERROR,
			"iforest: \"%s\" is WITHOUT ROWID, and the index leads back to rows by their rowid; make it an "
			"ordinary table: CREATE TABLE \"%w_new\"%.*s%s; INSERT INTO \"%w_new\"(%s) SELECT %s FROM \"%w\"; "
			"DROP TABLE \"%w\"; ALTER TABLE \"%w_new\" RENAME TO \"%w\"",
			table, table, n, definition ? definition : "", is_strict ? " STRICT" : "", table, columns, columns,
			table, table, table, table);
	}
	if (!rc && sqlite3_finalize(statement))
		ifs_error_from_db(inspection->error, inspection->db, sqlite3_errcode(inspection->db));
	sqlite3_free(columns);
	return inspection->error->rc;
}

/* An INTEGER PRIMARY KEY is a single column of that type without an index of its own. */
#define KEY                                                                                                          \
	"SELECT name FROM pragma_table_info(%Q, %Q) WHERE pk = 1 AND type = 'INTEGER' COLLATE NOCASE AND NOT EXISTS" \
	"(SELECT 1 FROM pragma_table_info(%Q, %Q) WHERE pk = 2) AND NOT EXISTS"                                      \
	"(SELECT 1 FROM pragma_index_list(%Q, %Q) WHERE origin = 'pk')"

/* The names of the rowid that are not names of columns. */
#define ROWID_NAME                                                                     \
	"SELECT column1 FROM (VALUES('rowid'), ('_rowid_'), ('oid')) WHERE NOT EXISTS" \
	"(SELECT 1 FROM pragma_table_xinfo(%Q, %Q) WHERE name = column1 COLLATE NOCASE)"

/* Refuses an index that covers all columns that .dump reads, if the table also has generated columns: .dump may read and so
 * renumber the rows in the order of such an index, which the mark does not detect (follow/mark.h). */
static int refuse_covered(sqlite3 *db, const char *schema, const char *table, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int failed, rc = ifs_prepare(error, db, &statement,
				     "SELECT name FROM pragma_index_list(%Q, %Q) AS l WHERE NOT partial AND EXISTS"
				     "(SELECT 1 FROM pragma_table_xinfo(%Q, %Q) WHERE hidden IN (2, 3)) AND NOT EXISTS"
				     "(SELECT 1 FROM pragma_table_xinfo(%Q, %Q) WHERE hidden = 0 AND cid NOT IN"
				     "(SELECT cid FROM pragma_index_xinfo(l.name, %Q)))",
				     table, schema, table, schema, table, schema, schema);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW)
		rc = ifs_error_set(
			error, SQLITE_ERROR,
			"iforest: \"%s\" has no INTEGER PRIMARY KEY, and all its columns but generated ones are in index "
			"\"%s\", in whose order .dump may copy rows, and number them anew; drop that index, or add a column "
			"that it does not have: ALTER TABLE \"%w\" ADD COLUMN \"%w_no_more\" INTEGER",
			table, sqlite3_column_text(statement, 0), table, table);
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(error, db, failed) : rc;
}

int ifs_base_table_find_rowid(struct ifs_base_table *base_table, sqlite3 *db, const char *schema, const char *table,
			      struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int column, rc = ifs_prepare(error, db, &statement,
				     "SELECT (" KEY "), (" ROWID_NAME "), "
				     "EXISTS(SELECT 1 FROM pragma_index_list(%Q, %Q) WHERE origin <> 'c')",
				     table, schema, table, schema, table, schema, table, schema, table, schema);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		base_table->is_keyed = sqlite3_column_type(statement, 0) != SQLITE_NULL;
		base_table->has_constraint = sqlite3_column_int(statement, 2);
		column = base_table->is_keyed ? 0 : 1;
		if (sqlite3_column_type(statement, column) != SQLITE_NULL &&
		    !(base_table->rowid_column = sqlite3_mprintf("%s", sqlite3_column_text(statement, column))))
			rc = ifs_error_set(error, SQLITE_NOMEM, "");
	}
	column = sqlite3_finalize(statement);
	if (!rc && column)
		rc = ifs_error_from_db(error, db, column);
	return rc || base_table->is_keyed ? rc : refuse_covered(db, schema, table, error);
}

#define NO_ROWID_NAME \
	"iforest: \"%s\" has columns named rowid, _rowid_ and oid%s, which leaves no name for the number of a row; "

/* Offers to rename a column, or, where SQLite refuses that of a name of the rowid, a table in which it has another name. */
static int refuse_without_rowid_name(struct inspection *inspection)
{
	const char *table = inspection->table;
	char *columns = list_columns(inspection, "oid");
	char *sql = sqlite3_mprintf("ALTER TABLE \"%w\".\"%w\" RENAME COLUMN oid TO oid_", inspection->schema, table);
	sqlite3_stmt *statement = NULL;
	bool can_rename = sql && sqlite3_prepare_v2(inspection->db, sql, -1, &statement, NULL) == SQLITE_OK;

	sqlite3_finalize(statement);
	if (!columns || !sql)
		ifs_error_set(inspection->error, SQLITE_NOMEM, "");
	else if (can_rename)
		refuse(inspection, NO_ROWID_NAME "rename one: ALTER TABLE \"%w\" RENAME COLUMN oid TO oid_", "");
	else
		ifs_error_set(inspection->error, SQLITE_ERROR,
			      NO_ROWID_NAME "make it anew with another name for one (and with the constraints that it has): "
					    "CREATE TABLE \"%w_new\" AS SELECT %s, oid AS oid_ FROM \"%w\"; DROP TABLE \"%w\"; "
					    "ALTER TABLE \"%w_new\" RENAME TO \"%w\"",
			      table, "", table, columns, table, table, table, table);
	sqlite3_free(columns);
	sqlite3_free(sql);
	return inspection->error->rc;
}

static int inspect_rowid(struct inspection *inspection, struct ifs_base_table *base_table)
{
	sqlite3_stmt *statement;
	int step, rc = ifs_prepare(inspection->error, inspection->db, &statement,
				   "SELECT wr, strict FROM pragma_table_list WHERE schema = %Q AND name = %Q AND "
				   "type IN ('table', 'shadow')",
				   inspection->schema, inspection->table);

	if (rc)
		return rc;
	step = sqlite3_step(statement);
	if (step == SQLITE_DONE) /* what the text of an edited schema says, SQLite has read otherwise */
		rc = refuse(inspection, "iforest: \"%s\" is not an ordinary table%s: the schema was edited", "");
	else if (step != SQLITE_ROW)
		rc = ifs_error_from_db(inspection->error, inspection->db, step);
	else if (sqlite3_column_int(statement, 0))
		rc = refuse_without_rowid(inspection);
	inspection->is_strict = !rc && sqlite3_column_int(statement, 1);
	sqlite3_finalize(statement);
	if (!rc)
		rc = ifs_base_table_find_rowid(base_table, inspection->db, inspection->schema, inspection->table,
					       inspection->error);
	if (!rc && !base_table->rowid_column)
		rc = refuse_without_rowid_name(inspection);
	return rc;
}

static int inspect_unique_indexes(struct inspection *inspection)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(inspection->error, inspection->db, &statement,
			     "SELECT name, partial FROM pragma_index_list(%Q, %Q) AS l WHERE \"unique\" AND (partial OR EXISTS"
			     "(SELECT 1 FROM pragma_index_xinfo(l.name, %Q) AS x WHERE cid = -2 OR EXISTS"
			     "(SELECT 1 FROM pragma_table_xinfo(%Q, %Q) AS t WHERE t.cid = x.cid AND t.hidden IN (2, 3))))",
			     inspection->table, inspection->schema, inspection->schema, inspection->table, inspection->schema);

	if (rc)
		return rc;
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		rc = refuse(inspection,
			    sqlite3_column_int(statement, 1)
				    ? "iforest: \"%s\" has a partial UNIQUE index \"%s\", whose conflicts triggers cannot "
				      "foresee; make it a UNIQUE "
				      "index on columns without WHERE"
				    : "iforest: \"%s\" has an expression or a generated column in UNIQUE index \"%s\", whose "
				      "conflicts triggers cannot foresee; make it a "
				      "UNIQUE index on ordinary columns",
			    name);
	} else if (rc == SQLITE_DONE) {
		rc = SQLITE_OK;
	} else {
		rc = ifs_error_from_db(inspection->error, inspection->db, rc);
	}
	sqlite3_finalize(statement);
	return rc;
}

static bool has_word(const char *type, const char *pattern)
{
	return sqlite3_strlike(pattern, type, 0) == 0;
}

/* SQLite's rule (datatype3.html, section 3.1); ANY has none in a STRICT table (stricttables.html). */
const char *ifs_affinity_of(const char *type, bool is_strict)
{
	if (!type || !*type || (is_strict && sqlite3_stricmp(type, "ANY") == 0))
		return "BLOB";
	if (has_word(type, "%int%"))
		return "INTEGER";
	if (has_word(type, "%char%") || has_word(type, "%clob%") || has_word(type, "%text%"))
		return "TEXT";
	if (has_word(type, "%blob%"))
		return "BLOB";
	return has_word(type, "%real%") || has_word(type, "%floa%") || has_word(type, "%doub%") ? "REAL" : "NUMERIC";
}

/* Refuses a column that the table does not have. collation and type may be NULL. */
static int inspect_column(struct inspection *inspection, const char *column, const char **type, const char **collation)
{
	int rc = sqlite3_table_column_metadata(inspection->db, inspection->schema, inspection->table, column, type, collation,
					       NULL, NULL, NULL);

	if (rc == SQLITE_NOMEM)
		return ifs_error_set(inspection->error, rc, "");
	return rc ? ifs_error_set(inspection->error, SQLITE_ERROR, "iforest: no column \"%s\" in \"%s\"", column,
				  inspection->table)
		  : SQLITE_OK;
}

/* Offers a column whose values differ where the collation tells them apart. */
static int refuse_collation(struct inspection *inspection, const char *column, const char *collation)
{
	bool is_nocase = sqlite3_stricmp(collation, "NOCASE") == 0, is_rtrim = sqlite3_stricmp(collation, "RTRIM") == 0;
	const char *function = is_nocase ? "lower" : is_rtrim ? "rtrim" : "";

	return ifs_error_set(inspection->error, SQLITE_ERROR,
			     "iforest: column \"%s\" has collation %s, and by columns compare as BINARY; add one in which %s: "
			     "ALTER TABLE \"%w\" ADD COLUMN \"%w_key\" TEXT AS (%s(\"%w\")), and name that: "
			     "by=(\"%w_key\" AS \"%w\")",
			     column, collation, *function ? "equal texts are the same" : "each text is a series of its own",
			     inspection->table, column, function, column, column, column);
}

static int inspect_columns(struct inspection *inspection, struct ifs_definition *definition)
{
	int rc = inspect_column(inspection, definition->time, NULL, NULL);

	for (unsigned v = 0; v < definition->n_values && !rc; v++)
		rc = inspect_column(inspection, definition->values[v].source, NULL, NULL);
	for (unsigned h = 0; h < definition->n_hashed && !rc; h++)
		rc = inspect_column(inspection, definition->hashed[h], NULL, NULL);
	for (unsigned b = 0; b < definition->n_by && !rc; b++) {
		const char *column = definition->by[b].source, *collation, *type;

		rc = inspect_column(inspection, column, &type, &collation);
		if (!rc && collation && sqlite3_stricmp(collation, "BINARY") != 0)
			rc = refuse_collation(inspection, column, collation);
		if (!rc)
			definition->by_types[b] = ifs_affinity_of(type, inspection->is_strict);
	}
	return rc;
}

int ifs_base_table_inspect(struct ifs_base_table *base_table, sqlite3 *db, const char *schema,
			   struct ifs_definition *definition, struct ifs_error *error)
{
	struct inspection inspection = { .db = db, .schema = schema, .table = definition->content, .error = error };
	int rc;

	*base_table = (struct ifs_base_table){ .name = NULL };
	rc = inspect_object(&inspection, definition->content, &base_table->name);
	if (!rc)
		rc = inspect_rowid(&inspection, base_table);
	if (!rc)
		rc = inspect_unique_indexes(&inspection);
	if (!rc)
		rc = inspect_columns(&inspection, definition);
	if (rc)
		ifs_base_table_release(base_table);
	return rc;
}
