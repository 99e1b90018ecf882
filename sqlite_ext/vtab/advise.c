#include "sqlite_ext/vtab/advise.h"

#include "sqlite_ext/query/plan.h"

#define NAME "iforest_advise"

enum { MOST_COLUMNS = 63 }; /* the last bit of colUsed stands for all others */

/* How the SELECT uses a column. */
struct seen_column {
	char *name, *type;
	bool is_used, is_grouped, is_equal, has_other;
	unsigned n_lower, n_upper; /* bounds: the most in one plan that SQLite tried */
	unsigned n_lower_now, n_upper_now;
	char *equal, *lower, *upper; /* what it is compared with, as SQL */
};

struct seen_table {
	struct seen_table *next;
	char *name;
	struct seen_column columns[MOST_COLUMNS];
	int n_columns;
	bool is_seen, is_ordered;
	unsigned n_constraints;
};

/* Words of the SELECT, found without SQLite's parser. */
struct seen_words {
	unsigned n_selects, n_ands;
	bool has_where, has_group, has_more;
};

struct advice {
	struct seen_table *tables;
	bool has_count, has_sum, has_min, has_max, has_avg;
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
			char *texts[] = { column->name, column->type, column->equal, column->lower, column->upper };

			for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
				sqlite3_free(texts[i]);
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

/* Returns the right side of a constraint as SQL: a constant, or a parameter of that name. is_next: the integer after it, NULL
 * if that is not known. */
static char *text_of(sqlite3_index_info *info, int constraint, const char *parameter, bool is_next, bool is_integer)
{
	sqlite3_value *value = NULL;

	if (sqlite3_vtab_rhs_value(info, constraint, &value) != SQLITE_OK || !value) {
		if (is_next)
			return is_integer ? sqlite3_mprintf(":%s + 1", parameter) : NULL;
		return sqlite3_mprintf(":%s", parameter);
	}
	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		if (is_next && (!is_integer || sqlite3_value_int64(value) == INT64_MAX))
			return NULL;
		return sqlite3_mprintf("%lld", sqlite3_value_int64(value) + is_next);
	case SQLITE_TEXT:
		return is_next ? NULL : sqlite3_mprintf("%Q", sqlite3_value_text(value));
	case SQLITE_FLOAT:
		return is_next ? NULL : sqlite3_mprintf("%!.17g", sqlite3_value_double(value));
	default:
		return NULL;
	}
}

static void keep(char **kept, char *text)
{
	sqlite3_free(*kept);
	*kept = text;
}

static void note_constraint(struct seen_column *column, sqlite3_index_info *info, int constraint)
{
	int op = info->aConstraint[constraint].op;
	bool is_integer = has_word(column->type, "INT");

	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
	case SQLITE_INDEX_CONSTRAINT_IS:
		column->is_equal = true;
		keep(&column->equal, text_of(info, constraint, "value", false, is_integer));
		break;
	case SQLITE_INDEX_CONSTRAINT_GE:
	case SQLITE_INDEX_CONSTRAINT_GT:
		column->n_lower_now++;
		keep(&column->lower, text_of(info, constraint, "t0", op == SQLITE_INDEX_CONSTRAINT_GT, is_integer));
		break;
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		column->n_upper_now++;
		keep(&column->upper, text_of(info, constraint, "t1", op == SQLITE_INDEX_CONSTRAINT_LE, is_integer));
		break;
	default:
		column->has_other = true;
	}
}

static int seen_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct seen_table *table = ((struct seen_vtab *)base)->table;
	unsigned n_constraints = 0;

	table->is_seen = true;
	for (int c = 0; c < table->n_columns; c++) {
		table->columns[c].is_used |= (info->colUsed >> c & 1) != 0;
		table->columns[c].n_lower_now = table->columns[c].n_upper_now = 0;
	}
	for (int i = 0; i < info->nConstraint; i++) {
		int c = info->aConstraint[i].iColumn, op = info->aConstraint[i].op;

		if (op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET)
			continue;
		n_constraints++;
		if (c < 0 || c >= table->n_columns)
			continue;
		note_constraint(&table->columns[c], info, i);
		table->columns[c].has_other |=
			!info->aConstraint[i].usable || sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0;
	}
	for (int c = 0; c < table->n_columns; c++) {
		struct seen_column *column = &table->columns[c];

		column->n_lower = column->n_lower_now > column->n_lower ? column->n_lower_now : column->n_lower;
		column->n_upper = column->n_upper_now > column->n_upper ? column->n_upper_now : column->n_upper;
	}
	if (n_constraints > table->n_constraints)
		table->n_constraints = n_constraints;
	table->is_ordered |= info->nOrderBy > 0 && sqlite3_vtab_distinct(info) > 0;
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
	int rc = ifs_prepare(error, db, &statement,
			     "SELECT name, type FROM pragma_table_xinfo(%Q, %Q) WHERE hidden <> 1 LIMIT %d", table->name,
			     schema, MOST_COLUMNS);

	while (!rc && sqlite3_step(statement) == SQLITE_ROW) {
		struct seen_column *column = &table->columns[table->n_columns];

		column->name = print(error, "%s", sqlite3_column_text(statement, 0));
		column->type = print(error, "%s", sqlite3_column_text(statement, 1));
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
	struct advice *advice = context;

	(void)unused;
	(void)schema;
	(void)trigger;
	if (action != SQLITE_FUNCTION || !function)
		return SQLITE_OK;
	advice->has_count |= sqlite3_stricmp(function, "count") == 0;
	advice->has_sum |= sqlite3_stricmp(function, "sum") == 0 || sqlite3_stricmp(function, "total") == 0;
	advice->has_min |= sqlite3_stricmp(function, "min") == 0;
	advice->has_max |= sqlite3_stricmp(function, "max") == 0;
	advice->has_avg |= sqlite3_stricmp(function, "avg") == 0;
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

/* ---- words of the SELECT ---- */

static void read_words(const char *sql, struct seen_words *words)
{
	static const char *const more[] = { "DISTINCT", "HAVING", "FILTER", "CASE", "OVER", "UNION", "EXCEPT", "INTERSECT",
					    "WITH",	"JOIN",	  "OR",	    "NOT",  "IN",   "LIKE",  "GLOB",   "LIMIT" };
	const char *token;
	int n;

	*words = (struct seen_words){ .n_selects = 0 };
	while ((token = ifs_token_next(&sql, &n))) {
		words->n_selects += ifs_token_is(token, n, "SELECT");
		words->n_ands += ifs_token_is(token, n, "AND");
		words->has_where |= ifs_token_is(token, n, "WHERE");
		words->has_group |= ifs_token_is(token, n, "GROUP");
		for (size_t i = 0; i < sizeof more / sizeof *more; i++)
			words->has_more |= ifs_token_is(token, n, more[i]);
	}
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

static unsigned n_ranges(const struct seen_column *column)
{
	return column->n_lower + column->n_upper;
}

/* Returns the column with the most range conditions, or else the first one whose type names a time or date. */
static const struct seen_column *time_of(const struct seen_table *table)
{
	const struct seen_column *best = NULL;

	for (int c = 0; c < table->n_columns; c++) {
		const struct seen_column *column = &table->columns[c];

		if (n_ranges(column) > 0 && !column->is_grouped && (!best || n_ranges(column) > n_ranges(best)))
			best = column;
	}
	for (int c = 0; c < table->n_columns && !best; c++)
		if (has_word(table->columns[c].type, "TIME") || has_word(table->columns[c].type, "DATE"))
			best = &table->columns[c];
	return best;
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
		if (is_of_kind(&table->columns[c], time))
			sqlite3_str_appendf(sql, "%s\"%w\"", n++ > 0 ? ", " : before, table->columns[c].name);
	if (n > 0)
		sqlite3_str_appendall(sql, ")");
	return n;
}

static char *finish(sqlite3_str *text, struct ifs_error *error)
{
	char *result = sqlite3_str_finish(text);

	if (!result)
		ifs_error_set(error, SQLITE_NOMEM, "");
	return result;
}

static char *write_statement(sqlite3 *db, const char *schema, const struct seen_table *table, const struct seen_column *time,
			     struct ifs_error *error)
{
	sqlite3_str *sql = sqlite3_str_new(db);

	sqlite3_str_appendf(sql, "CREATE VIRTUAL TABLE \"%w\".\"%w_if\" USING iforest(content=\"%w\", time=\"%w\"", schema,
			    table->name, table->name, time->name);
	(void)write_names(sql, table, time, is_value, ", value=(");
	(void)write_names(sql, table, time, is_by, ", by=(");
	sqlite3_str_appendall(sql, ")");
	return finish(sql, error);
}

/* ---- the query over the index ---- */

/* Returns why the SELECT asks for more than was recorded, or NULL. */
static const char *find_more(const struct seen_table *table, const struct seen_column *time, const struct seen_words *words)
{
	if (words->n_selects != 1 || words->has_more)
		return "the query is left to you: the SELECT has more than conditions by AND, aggregates and GROUP BY";
	if (table->n_constraints != words->n_ands + words->has_where)
		return "the query is left to you: a condition is no comparison of a column";
	if (words->has_group && !table->is_ordered)
		return "the query is left to you: groups are no columns; buckets of the time are step or n";
	for (int c = 0; c < table->n_columns; c++) {
		const struct seen_column *column = &table->columns[c];

		if (column->has_other || (column != time && n_ranges(column) > 0) || (column == time && column->is_equal) ||
		    column->n_lower > 1 || column->n_upper > 1 || (column->n_lower && !column->lower) ||
		    (column->n_upper && !column->upper) || (column->is_equal && !column->equal))
			return "the query is left to you: a condition is neither a window of the time nor an equality of a by column";
		if (is_by(column, time) && !column->is_equal && !column->is_grouped)
			return "the query is left to you: series would have to be folded, by iforest_fold";
	}
	return NULL;
}

static char *write_query(sqlite3 *db, const char *schema, const struct seen_table *table, const struct seen_column *time,
			 const struct advice *advice, struct ifs_error *error)
{
	const struct {
		bool is_asked;
		const char *prefix;
	} kinds[] = {
		{ advice->has_sum, "sum" }, { advice->has_min, "min" }, { advice->has_max, "max" }, { advice->has_avg, "avg" }
	};
	sqlite3_str *sql = sqlite3_str_new(db);
	const char *separator = "WHERE";

	sqlite3_str_appendall(sql, "SELECT ");
	for (int c = 0; c < table->n_columns; c++)
		if (is_by(&table->columns[c], time))
			sqlite3_str_appendf(sql, "\"%w\", ", table->columns[c].name);
	sqlite3_str_appendall(sql, "count");
	for (int c = 0; c < table->n_columns; c++)
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds && is_value(&table->columns[c], time); k++)
			if (kinds[k].is_asked)
				sqlite3_str_appendf(sql, ", \"%s_%w\"", kinds[k].prefix, table->columns[c].name);
	sqlite3_str_appendf(sql, " FROM \"%w\".\"%w_if\"", schema, table->name);
	for (int c = 0; c < table->n_columns; c++)
		if (is_by(&table->columns[c], time) && table->columns[c].is_equal) {
			sqlite3_str_appendf(sql, " %s \"%w\" = %s", separator, table->columns[c].name, table->columns[c].equal);
			separator = "AND";
		}
	if (time->lower) {
		sqlite3_str_appendf(sql, " %s t0 = %s", separator, time->lower);
		separator = "AND";
	}
	if (time->upper)
		sqlite3_str_appendf(sql, " %s t1 = %s", separator, time->upper);
	return finish(sql, error);
}

/* ---- the trial ---- */

#define CREATE_TABLE "CREATE TABLE "

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
		return ifs_error_set(error, SQLITE_ERROR, "the schema's text of the table is no CREATE TABLE");
	sqlite3_set_authorizer(own, refuse_select, NULL);
	rc = ifs_prepare(error, own, &statement, CREATE_TABLE "\"%w\".%s", schema, sql + strlen(CREATE_TABLE));
	sqlite3_step(statement);
	if (!rc && (rc = sqlite3_finalize(statement)))
		ifs_error_from_db(error, own, rc);
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

static int propose(sqlite3 *db, const struct ifs_registration *registration, const char *schema, const char *sql,
		   const struct seen_table *table, struct advice *advice, struct ifs_error *error)
{
	const struct seen_column *time = time_of(table);
	struct seen_words words;
	const char *more;

	advice->content = print(error, "%s", table->name);
	if (!advice->has_count && !advice->has_sum && !advice->has_min && !advice->has_max && !advice->has_avg)
		advice->reason = print(error, "nothing is aggregated by count, sum, total, min, max or avg");
	else if (!time)
		advice->reason = print(error, "no column looks like a time: ask for a range of it");
	if (error->rc || advice->reason)
		return error->rc;
	read_words(sql, &words);
	more = find_more(table, time, &words);
	advice->statement = write_statement(db, schema, table, time, error);
	if (!error->rc && !more)
		advice->query = write_query(db, schema, table, time, advice, error);
	if (!error->rc && try_on_copy(db, registration, schema, advice, error) == SQLITE_OK) {
		if (advice->reason) {
			drop(&advice->statement);
			drop(&advice->query);
		} else if (more) {
			advice->reason = print(error, "%s", more);
		}
	}
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
