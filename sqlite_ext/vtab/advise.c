#include "sqlite_ext/vtab/advise.h"

#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/vtab/advised_query.h"

#define NAME "iforest_advise"

/* How the SELECT uses a column, for the index that is proposed where the SELECT is not understood in full. */
struct seen_column {
	char *name, *type;
	bool is_used, is_grouped, is_equal;
	unsigned n_ranges; /* conditions that are bounds: the most in one plan that SQLite tried */
};

struct seen_table {
	struct seen_table *next;
	char *name;
	struct seen_column columns[IFS_ADVISED_COLUMNS]; /* the last bit of colUsed stands for all others */
	int n_columns, key;				 /* the column that is the rowid, or -1 */
	bool is_seen;
};

struct advice {
	struct seen_table *tables;
	bool has_aggregate;
	unsigned n_scans; /* of tables, in SQLite's plan */
	char *content, *statement, *query, *reason;
};

static char *print(struct ifs_error *error, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (!text)
		ifs_error_set(error, SQLITE_NOMEM, "");
	return text;
}

/* True if the type's name contains the word, in any case. */
static bool has_word(const char *type, const char *word)
{
	for (; *type; type++)
		if (sqlite3_strnicmp(type, word, (int)strlen(word)) == 0)
			return true;
	return false;
}

/* Makes an error of the SELECT the reason; any other error is reported as one. */
static void set_reason(struct advice *advice, int rc, const char *message, struct ifs_error *error)
{
	if (ifs_error_is_permanent(rc))
		advice->reason = print(error, "%s", message);
	else
		ifs_error_set(error, rc, "%s", message);
}

/* ---- virtual tables that record how they are queried ---- */

struct seen_vtab {
	sqlite3_vtab base;
	struct seen_table *table;
};

static void release_tables(struct seen_table *table)
{
	while (table) {
		struct seen_table *next = table->next;

		for (int c = 0; c < table->n_columns; c++) {
			struct seen_column *column = &table->columns[c];
			sqlite3_free(column->name);
			sqlite3_free(column->type);
		}
		sqlite3_free(table->name);
		sqlite3_free(table);
		table = next;
	}
}

static int seen_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	const struct advice *advice = context;
	struct seen_vtab *vtab = sqlite3_malloc64(sizeof *vtab);
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;
	int rc;

	(void)n_arguments;
	(void)message;
	if (!vtab) {
		sqlite3_free(sqlite3_str_finish(sql));
		return SQLITE_NOMEM;
	}
	*vtab = (struct seen_vtab){ .table = advice->tables };
	while (sqlite3_stricmp(vtab->table->name, arguments[2]) != 0)
		vtab->table = vtab->table->next;
	sqlite3_str_appendall(sql, "CREATE TABLE x(");
	for (int c = 0; c < vtab->table->n_columns; c++)
		sqlite3_str_appendf(sql, "%s\"%w\" \"%w\"", c > 0 ? ", " : "", vtab->table->columns[c].name,
				    vtab->table->columns[c].type);
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	/* names and types are those of an existing table, so that only memory can be lacking */
	rc = text && sqlite3_declare_vtab(db, text) == SQLITE_OK ? SQLITE_OK : SQLITE_NOMEM;
	sqlite3_free(text);
	if (rc)
		sqlite3_free(vtab);
	else
		*base = &vtab->base;
	return rc;
}

static int seen_disconnect(sqlite3_vtab *base)
{
	sqlite3_free(base);
	return SQLITE_OK;
}

static int seen_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct seen_table *table = ((struct seen_vtab *)base)->table;
	unsigned n_ranges[IFS_ADVISED_COLUMNS] = { 0 };

	table->is_seen = true;
	for (int i = 0; i < info->nConstraint; i++) {
		int c = info->aConstraint[i].iColumn, op = info->aConstraint[i].op;

		if (op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET || c < 0 ||
		    c >= table->n_columns)
			continue;
		table->columns[c].is_equal |= op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
		n_ranges[c] += op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_GT ||
			       op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT;
	}
	for (int c = 0; c < table->n_columns; c++) {
		struct seen_column *column = &table->columns[c];

		column->is_used |= (info->colUsed >> c & 1) != 0;
		column->n_ranges = n_ranges[c] > column->n_ranges ? n_ranges[c] : column->n_ranges;
	}
	for (int i = 0; i < info->nOrderBy && sqlite3_vtab_distinct(info) > 0; i++)
		if (info->aOrderBy[i].iColumn >= 0 && info->aOrderBy[i].iColumn < table->n_columns)
			table->columns[info->aOrderBy[i].iColumn].is_grouped = true;
	info->estimatedCost = 1;
	return SQLITE_OK;
}

static const sqlite3_module seen_module = {
	.xCreate = seen_connect,
	.xConnect = seen_connect,
	.xBestIndex = seen_best_index,
	.xDisconnect = seen_disconnect,
	.xDestroy = seen_disconnect,
};

/* ---- the database in which SQLite parses the SELECT ---- */

static int read_columns(sqlite3 *db, const char *schema, struct seen_table *table, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(
		error, db, &statement,
		"SELECT name, iif(type = 'ANY' COLLATE NOCASE AND (SELECT strict FROM pragma_table_list WHERE schema = %Q AND"
		" name = %Q), '', type), pk AND type = 'INTEGER' COLLATE NOCASE AND sum(pk) OVER () = 1"
		" FROM pragma_table_xinfo(%Q, %Q) WHERE hidden <> 1 LIMIT %d",
		schema, table->name, table->name, schema, IFS_ADVISED_COLUMNS);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		struct seen_column *column = &table->columns[table->n_columns];

		column->name = print(error, "%s", sqlite3_column_text(statement, 0));
		column->type = print(error, "%s", sqlite3_column_text(statement, 1));
		if (sqlite3_column_int(statement, 2))
			table->key = table->n_columns;
		table->n_columns++;
		rc = error->rc;
	}
	sqlite3_finalize(statement);
	return rc;
}

static int add_table(sqlite3 *db, sqlite3 *own, const char *schema, const char *name, struct advice *advice,
		     struct ifs_error *error)
{
	struct seen_table *table = sqlite3_malloc64(sizeof *table);

	if (!table)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	memset(table, 0, sizeof *table);
	table->key = -1;
	table->next = advice->tables;
	advice->tables = table;
	table->name = print(error, "%s", name);
	if (error->rc || read_columns(db, schema, table, error))
		return error->rc;
	return ifs_execute(error, own, "CREATE VIRTUAL TABLE \"%w\" USING seen", name);
}

static int add_tables(sqlite3 *db, sqlite3 *own, const char *schema, struct advice *advice, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(
		error, db, &statement,
		"SELECT name FROM \"%w\".sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%%' ESCAPE '\\'"
		" AND sql NOT LIKE 'CREATE VIRTUAL%%'",
		schema);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW)
		rc = add_table(db, own, schema, (const char *)sqlite3_column_text(statement, 0), advice, error);
	sqlite3_finalize(statement);
	return rc;
}

static int note_function(void *context, int action, const char *unused, const char *function, const char *schema,
			 const char *trigger)
{
	static const char *const aggregates[] = { "count", "sum", "total", "min", "max", "avg" };
	struct advice *advice = context;

	(void)unused;
	(void)schema;
	(void)trigger;
	if (action != SQLITE_FUNCTION || !function)
		return SQLITE_OK;
	for (size_t i = 0; i < sizeof aggregates / sizeof *aggregates; i++)
		advice->has_aggregate |= sqlite3_stricmp(function, aggregates[i]) == 0;
	return SQLITE_OK;
}

static int count_scans(sqlite3 *own, const char *sql, struct advice *advice, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, own, &statement, "EXPLAIN QUERY PLAN %s", sql);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(statement, 3);

		advice->n_scans += detail && strstr(detail, "VIRTUAL TABLE") != NULL;
	}
	sqlite3_finalize(statement);
	return rc;
}

/* Prepares the SELECT over the recording tables. An error of the SELECT becomes the reason. */
static int read_select(sqlite3 *db, const char *schema, const char *sql, struct advice *advice, struct ifs_error *error)
{
	sqlite3 *own = NULL;
	sqlite3_stmt *statement = NULL;
	const char *rest = "";
	int rc = sqlite3_open(":memory:", &own);

	if (!rc)
		rc = sqlite3_create_module_v2(own, "seen", &seen_module, advice, NULL);
	if (rc)
		ifs_error_set(error, rc, "");
	if (!rc)
		rc = add_tables(db, own, schema, advice, error);
	if (!rc) {
		sqlite3_set_authorizer(own, note_function, advice);
		if (sqlite3_prepare_v2(own, sql, -1, &statement, &rest) != SQLITE_OK)
			set_reason(advice, sqlite3_errcode(own), sqlite3_errmsg(own), error);
		else if (!statement || !sqlite3_stmt_readonly(statement) || sqlite3_stmt_isexplain(statement) ||
			 rest[strspn(rest, " \t\n")])
			advice->reason = print(error, "it is not one SELECT");
		else
			(void)count_scans(own, sql, advice, error);
		rc = error->rc;
	}
	sqlite3_finalize(statement);
	sqlite3_close(own);
	return rc;
}

/* ---- the proposal ---- */

/* True if a column of this declared type holds numbers: its affinity is neither TEXT nor BLOB nor none. */
static bool is_number(const char *type)
{
	if (has_word(type, "INT"))
		return true;
	if (has_word(type, "CHAR") || has_word(type, "CLOB") || has_word(type, "TEXT") || has_word(type, "BLOB") || !type[0])
		return false;
	return true;
}

static bool is_time_type(const char *type)
{
	return has_word(type, "TIME") || has_word(type, "DATE");
}

/* Returns the column with the most bounds, rather one of numbers or declared as a time than of texts; or else the first one that
 * is declared as a time. -1 if there is none. */
static int time_of(const struct seen_table *table)
{
	unsigned best = 0;
	int time = -1;

	for (int c = 0; c < table->n_columns; c++) {
		const struct seen_column *column = &table->columns[c];
		unsigned rank = column->n_ranges == 0 || column->is_grouped ? 0 : column->n_ranges;

		if (rank > 0 && (is_number(column->type) || is_time_type(column->type)))
			rank += 1000;
		if (rank > best) {
			best = rank;
			time = c;
		}
	}
	for (int c = 0; c < table->n_columns && time < 0; c++)
		if (is_time_type(table->columns[c].type))
			time = c;
	return time;
}

static bool is_by(const struct seen_column *column, const struct seen_column *time)
{
	return column != time && column->is_used && (column->is_equal || column->is_grouped || !is_number(column->type));
}

static bool is_value(const struct seen_column *column, const struct seen_column *time)
{
	return column != time && column->is_used && !is_by(column, time);
}

/* Writes the names of the columns of a kind. Returns how many. */
static int write_names(sqlite3_str *sql, const struct seen_table *table, const struct seen_column *time,
		       bool (*is_of_kind)(const struct seen_column *, const struct seen_column *), const char *before)
{
	int n = 0;

	for (int c = 0; c < table->n_columns; c++)
		if (c != table->key && is_of_kind(&table->columns[c], time))
			sqlite3_str_appendf(sql, "%s\"%w\"", n++ > 0 ? ", " : before, table->columns[c].name);
	if (n > 0)
		sqlite3_str_appendall(sql, ")");
	return n;
}

/* Returns the options of an index that has what the SELECT uses. */
static char *write_arguments(sqlite3 *db, const struct seen_table *table, int time, struct ifs_error *error)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	char *arguments;

	(void)write_names(sql, table, &table->columns[time], is_value, ", value=(");
	(void)write_names(sql, table, &table->columns[time], is_by, ", by=(");
	if (sqlite3_str_errcode(sql))
		ifs_error_set(error, SQLITE_NOMEM, "");
	arguments = sqlite3_str_finish(sql); /* NULL also if it is empty */
	return arguments ? arguments : print(error, "%s", "");
}

/* Returns a name for the index that nothing in the schema has: spans_if, spans_if2, ... */
static char *name_index(sqlite3 *db, const struct ifs_advised_table *table, struct ifs_error *error)
{
	char *name = print(error, "%s_if", table->name);

	for (int number = 2; !error->rc; number++) {
		sqlite3_stmt *statement;
		bool is_taken;

		if (ifs_prepare(
			    error, db, &statement,
			    "SELECT 1 FROM \"%w\".sqlite_schema WHERE name = %Q COLLATE NOCASE OR substr(name, 1, %d) = '%q_' COLLATE NOCASE",
			    table->schema, name, (int)strlen(name) + 1, name))
			break;
		is_taken = sqlite3_step(statement) == SQLITE_ROW;
		sqlite3_finalize(statement);
		if (!is_taken)
			break;
		sqlite3_free(name);
		name = print(error, "%s_if%d", table->name, number);
	}
	return name;
}

/* ---- the trial ---- */

#define CREATE_TABLE "CREATE TABLE "
#define IS_NO_TABLE "the schema's text of the table is no CREATE TABLE with columns"

/* The text of the schema may be a stranger's. CREATE TABLE ... AS would run a query. */
static int refuse_select(void *context, int action, const char *first, const char *second, const char *schema,
			 const char *trigger)
{
	(void)context;
	(void)first;
	(void)second;
	(void)schema;
	(void)trigger;
	return action == SQLITE_SELECT ? SQLITE_DENY : SQLITE_OK;
}

/* Creates an empty table by a text of the schema. What follows its first statement is not run. */
static int copy_table(sqlite3 *own, const char *schema, const char *sql, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc;

	if (!sql || sqlite3_strnicmp(sql, CREATE_TABLE, (int)strlen(CREATE_TABLE)) != 0)
		return ifs_error_set(error, SQLITE_ERROR, IS_NO_TABLE);
	sqlite3_set_authorizer(own, refuse_select, NULL);
	rc = ifs_prepare(error, own, &statement, CREATE_TABLE "\"%w\".%s", schema, sql + strlen(CREATE_TABLE));
	sqlite3_step(statement);
	if (!rc && (rc = sqlite3_finalize(statement)))
		ifs_error_from_db(error, own, rc);
	if (rc == SQLITE_AUTH) {
		ifs_error_clear(error);
		rc = ifs_error_set(error, SQLITE_ERROR, IS_NO_TABLE);
	}
	sqlite3_set_authorizer(own, NULL, NULL);
	return rc;
}

/* Creates the index on an empty copy of the table, and prepares the query. A failure becomes the reason. */
static int try_on_copy(sqlite3 *db, const struct ifs_registration *registration, const char *schema, struct advice *advice,
		       struct ifs_error *error)
{
	struct ifs_error failed = { .rc = SQLITE_OK };
	sqlite3 *own = NULL;
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_open(":memory:", &own);

	if (!rc)
		rc = registration->register_all(own);
	if (rc)
		ifs_error_set(error, rc, "");
	if (!rc)
		(void)sqlite3_db_config(own, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (!rc && sqlite3_stricmp(schema, "main") != 0)
		rc = ifs_execute(error, own, "ATTACH ':memory:' AS \"%w\"", schema);
	if (!rc)
		rc = ifs_prepare(error, db, &statement,
				 "SELECT sql FROM \"%w\".sqlite_schema WHERE type = 'table' AND name = %Q", schema,
				 advice->content);
	if (!rc && sqlite3_step(statement) == SQLITE_ROW &&
	    (copy_table(own, schema, (const char *)sqlite3_column_text(statement, 0), &failed) ||
	     ifs_execute(&failed, own, "%s", advice->statement)))
		set_reason(advice, failed.rc, failed.message, error);
	sqlite3_finalize(statement);
	statement = NULL;
	if (!rc && !error->rc && !advice->reason && advice->query && ifs_prepare(&failed, own, &statement, "%s", advice->query))
		set_reason(advice, failed.rc, failed.message, error);
	sqlite3_finalize(statement);
	ifs_error_clear(&failed);
	sqlite3_close(own);
	return rc ? rc : error->rc;
}

static void drop(char **text)
{
	sqlite3_free(*text);
	*text = NULL;
}

/* Says why the index that was proposed would be refused for what its columns hold. */
static void look_at_values(sqlite3 *db, const struct seen_table *seen, const struct ifs_advised_table *table,
			   struct advice *advice, struct ifs_error *error)
{
	for (int c = 0; c < table->n_columns && !advice->reason && !error->rc; c++) {
		struct ifs_column_classes classes;
		bool has_texts, has_others, are_times = true;

		if (c != table->time && !is_value(&seen->columns[c], &seen->columns[table->time]))
			continue;
		if (ifs_column_classes_read(db, table, c, &classes, error))
			return;
		if (c == table->time && classes.n_texts && ifs_texts_are_times(db, table, &are_times, error))
			return;
		has_texts = classes.n_texts && (c != table->time || classes.n_integers || classes.n_reals || !are_times);
		has_others = classes.n_blobs || classes.n_infinities ||
			     (classes.n_large && (c != table->time ? classes.n_reals : classes.n_fractions));
		if (has_texts || has_others)
			advice->reason = print(error, "column \"%s\" has %s, which an index does not take", table->columns[c],
					       !are_times  ? "texts that are no times"
					       : has_texts ? "texts"
							   : "blobs, infinities, or large integers next to reals");
	}
}

static struct ifs_advised_table describe(const struct seen_table *seen, const char *schema)
{
	struct ifs_advised_table table = {
		.schema = schema, .name = seen->name, .n_columns = seen->n_columns, .key = seen->key, .time = time_of(seen)
	};

	for (int c = 0; c < seen->n_columns; c++) {
		table.columns[c] = seen->columns[c].name;
		table.types[c] = seen->columns[c].type;
	}
	return table;
}

/* Proposes an index called `index`: that of the query, or one that has what the SELECT uses. */
static void propose_index(sqlite3 *db, const struct seen_table *seen, const struct ifs_advised_table *table, const char *index,
			  const char *sql, struct advice *advice, struct ifs_advised_query *query, struct ifs_error *error)
{
	char *arguments;

	if (ifs_advised_query_make(db, table, index, sql, query, error))
		return;
	arguments = query->query ? print(error, "%s", query->arguments) : write_arguments(db, seen, table->time, error);
	if (!error->rc)
		advice->statement =
			print(error, "CREATE VIRTUAL TABLE \"%w\".\"%w\" USING iforest(content=\"%w\", time=\"%w\"%s)",
			      table->schema, index, table->name, table->columns[table->time], arguments);
	sqlite3_free(arguments);
	if (error->rc)
		return;
	if (query->query)
		advice->query = print(error, "%s", query->query);
	else
		look_at_values(db, seen, table, advice, error);
}

static int propose(sqlite3 *db, const struct ifs_registration *registration, const char *schema, const char *sql,
		   const struct seen_table *seen, struct advice *advice, struct ifs_error *error)
{
	struct ifs_advised_table table = describe(seen, schema);
	struct ifs_advised_query query = { .query = NULL };
	char *index;

	advice->content = print(error, "%s", table.name);
	if (!advice->has_aggregate)
		advice->reason = print(error, "nothing is aggregated by count, sum, total, min, max or avg");
	else if (table.time < 0)
		advice->reason = print(error, "no column looks like a time: ask for a range of it");
	if (error->rc || advice->reason)
		return error->rc;
	index = name_index(db, &table, error);
	if (!error->rc)
		propose_index(db, seen, &table, index, sql, advice, &query, error);
	if (!error->rc && !advice->reason)
		(void)try_on_copy(db, registration, schema, advice, error);
	if (advice->reason) {
		drop(&advice->statement);
		drop(&advice->query);
	} else if (!error->rc && query.reason) {
		advice->reason = print(error, "%s", query.reason);
	}
	ifs_advised_query_release(&query);
	sqlite3_free(index);
	return error->rc;
}

static int advise(sqlite3 *db, const struct ifs_registration *registration, const char *schema, const char *sql,
		  struct advice *advice, struct ifs_error *error)
{
	const struct seen_table *found;

	if (read_select(db, schema, sql, advice, error) || advice->reason)
		return error->rc;
	if (advice->n_scans != 1) {
		advice->reason = print(error, "it does not read one table once: tables are read %u times", advice->n_scans);
		return error->rc;
	}
	for (found = advice->tables; found && !found->is_seen;)
		found = found->next;
	return found ? propose(db, registration, schema, sql, found, advice, error) : SQLITE_OK;
}

/* ---- The virtual table ---- */

enum column { CONTENT, STATEMENT, QUERY, REASON, SQL, SCHEMA_NAME };

/* idxNum: the arguments that are given. */
enum { HAS_SQL = 1, HAS_SCHEMA = 2 };

struct advise_cursor {
	struct ifs_function_cursor base;
	struct advice advice;
	char *sql, *schema;
};

static int advise_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			  char **message)
{
	(void)n_arguments;
	(void)arguments;
	(void)message;
	/* DIRECTONLY: a view of a hostile database must not open further databases */
	return ifs_function_connect(db, context,
				    "CREATE TABLE x(content TEXT, statement TEXT, query TEXT, reason TEXT, sql TEXT HIDDEN,"
				    " schema_name TEXT HIDDEN)",
				    SQLITE_VTAB_DIRECTONLY, base);
}

static int advise_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int rc = ifs_function_arguments(info, SQL);

	(void)base;
	info->estimatedRows = 1;
	info->estimatedCost = info->idxNum & HAS_SQL ? 10000 : IFS_COST_OF_UNUSABLE;
	return rc;
}

static int advise_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	(void)base;
	return ifs_function_open(sizeof(struct advise_cursor), out);
}

static void reset_cursor(struct advise_cursor *cursor)
{
	release_tables(cursor->advice.tables);
	sqlite3_free(cursor->advice.content);
	sqlite3_free(cursor->advice.statement);
	sqlite3_free(cursor->advice.query);
	sqlite3_free(cursor->advice.reason);
	cursor->advice = (struct advice){ .tables = NULL };
	drop(&cursor->sql);
	drop(&cursor->schema);
	cursor->base.at_end = true;
}

static int advise_close(sqlite3_vtab_cursor *base)
{
	reset_cursor((struct advise_cursor *)base);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int advise_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv)
{
	struct advise_cursor *cursor = (struct advise_cursor *)base;
	const struct ifs_function_table *table = (const struct ifs_function_table *)base->pVtab;
	struct ifs_error error = { .rc = SQLITE_OK };

	(void)index_text;
	reset_cursor(cursor);
	for (int a = 0; a < n_argv; a++)
		if (sqlite3_value_type(argv[a]) == SQLITE_NULL)
			return SQLITE_OK;
	if (!(index_number & HAS_SQL))
		ifs_error_set(&error, SQLITE_ERROR, NAME ": give a query: " NAME "('SELECT ...')");
	if (!error.rc)
		cursor->sql = print(&error, "%s", sqlite3_value_text(argv[0]));
	if (!error.rc)
		cursor->schema =
			print(&error, "%s", index_number & HAS_SCHEMA ? (const char *)sqlite3_value_text(argv[1]) : "main");
	if (!error.rc && sqlite3_db_readonly(table->db, cursor->schema) < 0)
		ifs_error_set(&error, SQLITE_ERROR, NAME ": no schema \"%s\"", cursor->schema);
	if (!error.rc)
		(void)advise(table->db, table->registration, cursor->schema, cursor->sql, &cursor->advice, &error);
	cursor->base.at_end = error.rc != SQLITE_OK;
	return ifs_function_report(base->pVtab, &error);
}

static int advise_next(sqlite3_vtab_cursor *base)
{
	((struct ifs_function_cursor *)base)->at_end = true;
	return SQLITE_OK;
}

static int advise_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct advise_cursor *cursor = (const struct advise_cursor *)base;
	const char *const texts[] = {
		cursor->advice.content, cursor->advice.statement, cursor->advice.query, cursor->advice.reason, cursor->sql,
		cursor->schema
	};

	sqlite3_result_text(context, texts[column], -1, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static int advise_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	(void)base;
	*rowid = 1;
	return SQLITE_OK;
}

/* Without xCreate the table exists under its own name, and CREATE VIRTUAL TABLE is refused. */
static const sqlite3_module module = {
	.xConnect = advise_connect,
	.xBestIndex = advise_best_index,
	.xDisconnect = ifs_function_disconnect,
	.xOpen = advise_open,
	.xClose = advise_close,
	.xFilter = advise_filter,
	.xNext = advise_next,
	.xEof = ifs_function_eof,
	.xColumn = advise_column,
	.xRowid = advise_rowid,
};

const struct ifs_module ifs_advise_module = { .name = NAME, .methods = &module };
