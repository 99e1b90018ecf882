#include "sqlite_ext/follow/condition.h"

#include "sqlite_ext/storage/engine.h"

/* The condition being judged. */
struct judgement {
	sqlite3 *db; /* the user's */
	const char *schema, *table, *text;
	struct ifs_error *error;
	sqlite3_str *called; /* the names of the functions that it calls, quoted, with commas */
	unsigned n_called, n_selects;
};

/* Functions that a condition may call, with any number of arguments that SQLite takes: all of them are built in, deterministic,
 * and reach nothing but their arguments. Aggregates of the same name are refused by SQLite. */
static const char *const allowed[] = {
	"->",
	"->>",
	"abs",
	"acos",
	"acosh",
	"asin",
	"asinh",
	"atan",
	"atan2",
	"atanh",
	"ceil",
	"ceiling",
	"char",
	"coalesce",
	"concat",
	"concat_ws",
	"cos",
	"cosh",
	"date",
	"datetime",
	"degrees",
	"exp",
	"floor",
	"glob",
	"hex",
	"if",
	"ifnull",
	"iif",
	"instr",
	"json",
	"json_array_length",
	"json_extract",
	"json_type",
	"json_valid",
	"julianday",
	"length",
	"likelihood",
	"likely",
	"ln",
	"log",
	"log10",
	"log2",
	"lower",
	"ltrim",
	"max",
	"min",
	"mod",
	"nullif",
	"octet_length",
	"pi",
	"pow",
	"power",
	"quote",
	"radians",
	"replace",
	"round",
	"rtrim",
	"sign",
	"sin",
	"sinh",
	"sqrt",
	"strftime",
	"substr",
	"substring",
	"tan",
	"tanh",
	"time",
	"timediff",
	"trim",
	"trunc",
	"typeof",
	"unhex",
	"unicode",
	"unixepoch",
	"unlikely",
	"upper",
};

/* Of other functions of SQLite's own, why not. */
static const struct {
	const char *name, *why;
} refused[] = {
	{ "current_time", "is another value each time" },
	{ "current_date", "is another value each time" },
	{ "current_timestamp", "is another value each time" },
	{ "like", "is changed by PRAGMA case_sensitive_like; write x LIKE 'a%'" },
};

static int refuse(const struct judgement *judgement, const char *name, const char *why)
{
	return ifs_error_set(judgement->error, SQLITE_ERROR, "iforest: where=...: %s %s", name, why);
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sqlite3_stricmp(name, names[i]) == 0)
			return true;
	return false;
}

/* ---- What the authorizer of the connection apart sees ---- */

static int judge_function(struct judgement *judgement, const char *name)
{
	const char *why = "is not a function that a condition may call; make a column of it";

	if (is_one_of(name, allowed, sizeof allowed / sizeof *allowed)) {
		sqlite3_str_appendf(judgement->called, "%s%Q", judgement->n_called++ ? ", " : "", name);
		return SQLITE_OK;
	}
	for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
		if (sqlite3_stricmp(name, refused[r].name) == 0)
			why = refused[r].why;
	return refuse(judgement, name, why);
}

/* A column of the user's table that has the same name. */
static int judge_column(struct judgement *judgement, const char *column)
{
	static const char *const known[] = { "BINARY", "NOCASE", "RTRIM" };
	const char *collation = NULL;
	int rc = sqlite3_table_column_metadata(judgement->db, judgement->schema, judgement->table, column, NULL, &collation,
					       NULL, NULL, NULL);

	if (rc)
		return ifs_error_from_db(judgement->error, judgement->db, rc);
	return !collation || is_one_of(collation, known, sizeof known / sizeof *known)
		       ? SQLITE_OK
		       : refuse(judgement, column, "has a collation that is not SQLite's own");
}

/* Refuses everything that is not on the list. Of the two statements one also makes an index, in the schema's table. */
static int authorize(void *context, int action, const char *first, const char *second, const char *schema, const char *trigger)
{
	struct judgement *judgement = context;
	bool is_of_schema = first && strncmp(first, "sqlite_", 7) == 0;
	int rc;

	(void)schema;
	(void)trigger;
	switch (action) {
	case SQLITE_FUNCTION:
		rc = judge_function(judgement, second);
		break;
	case SQLITE_READ:
		rc = is_of_schema || !second || !*second ? SQLITE_OK : judge_column(judgement, second);
		break;
	case SQLITE_SELECT:
		rc = judgement->n_selects++ == 0 ? SQLITE_OK : refuse(judgement, "SELECT", "may not be part of a condition");
		break;
	case SQLITE_CREATE_INDEX:
	case SQLITE_REINDEX:
		rc = SQLITE_OK;
		break;
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
		rc = is_of_schema ? SQLITE_OK : SQLITE_ERROR;
		break;
	default:
		rc = SQLITE_ERROR;
	}
	return rc ? SQLITE_DENY : SQLITE_OK;
}

/* ---- The connection apart ---- */

/* The name of its table; by another name no statement of the index reads the user's. */
#define APART "iforest_condition"

/* Appends the table, whose columns have the names of the user's. */
static int write_table(const struct judgement *judgement, sqlite3_str *sql)
{
	sqlite3_stmt *statement;
	unsigned n = 0;
	int failed, rc = ifs_prepare(judgement->error, judgement->db, &statement, "SELECT name FROM pragma_table_xinfo(%Q, %Q)",
				     judgement->table, judgement->schema);

	sqlite3_str_appendall(sql, "CREATE TABLE " APART "(");
	while (!rc && sqlite3_step(statement) == SQLITE_ROW)
		sqlite3_str_appendf(sql, "%s\"%w\"", n++ ? ", " : "", sqlite3_column_text(statement, 0));
	sqlite3_str_appendall(sql, ")");
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(judgement->error, judgement->db, failed) : rc;
}

/* A column of the name "x" is not the text 'x', and nothing is there that no condition has. */
static void restrain(sqlite3 *apart)
{
	static const struct {
		int id, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 8 * IFS_MOST_CONDITION_BYTES },
		{ SQLITE_LIMIT_EXPR_DEPTH, 900 }, /* the statements of the index add some */
		{ SQLITE_LIMIT_VDBE_OP, 8 * IFS_MOST_CONDITION_BYTES },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 10 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 0 },
	};

	sqlite3_db_config(apart, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(apart, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
		sqlite3_limit(apart, limits[l].id, limits[l].most);
}

static int open_apart(const struct judgement *judgement, sqlite3 **apart)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	int rc = write_table(judgement, sql);

	if (!rc &&
	    (rc = sqlite3_open_v2(":memory:", apart, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL)))
		ifs_error_set(judgement->error, rc, "iforest: where=...: %s", sqlite3_errstr(rc));
	if (rc) {
		sqlite3_free(sqlite3_str_finish(sql));
		return rc;
	}
	rc = ifs_execute_text(judgement->error, *apart, sql);
	restrain(*apart);
	return rc;
}

/* ---- The judgement ---- */

/* Refuses in SQLite's words, unless the authorizer has. */
static int refuse_statement(const struct judgement *judgement, sqlite3 *apart)
{
	static const char no_function[] = "no such function: ", no_column[] = "no such column";
	const char *message = sqlite3_errmsg(apart);
	int rc = sqlite3_errcode(apart);

	if (judgement->error->rc)
		return judgement->error->rc;
	if (!ifs_error_is_permanent(rc) && rc != SQLITE_TOOBIG && rc != SQLITE_AUTH)
		return ifs_error_set(judgement->error, rc, "iforest: where=...: %s", message);
	if (strncmp(message, no_function, strlen(no_function)) == 0)
		return refuse(judgement, message + strlen(no_function),
			      "is not one of SQLite's own functions, and another connection may lack it");
	return ifs_error_set(judgement->error, SQLITE_ERROR, "iforest: where=%.300s: %s%s", judgement->text, message,
			     strncmp(message, no_column, strlen(no_column)) == 0
				     ? "; columns are written without their table, texts in single quotes"
				     : "");
}

/* Prepares a statement with the condition, or what is between its parentheses. */
static int judge_statement(struct judgement *judgement, sqlite3 *apart, const char *begin, const char *condition, int n)
{
	sqlite3_stmt *statement = NULL;
	const char *rest = "";
	char *sql = sqlite3_mprintf("%s%.*s", begin, n, condition);
	int rc;

	if (!sql)
		return ifs_error_set(judgement->error, SQLITE_NOMEM, "");
	judgement->n_selects = 0;
	rc = sqlite3_prepare_v2(apart, sql, -1, &statement, &rest);
	if (rc || judgement->error->rc)
		rc = refuse_statement(judgement, apart);
	else if (*rest || !statement)
		rc = refuse(judgement, "the text", "ends before its end; write one expression");
	else if (sqlite3_bind_parameter_count(statement) > 0)
		rc = refuse(judgement, "a parameter", "has no value here");
	sqlite3_finalize(statement);
	sqlite3_free(sql);
	return rc;
}

/* Refuses a function that the user's connection has in the place of one of SQLite's. */
static int judge_called(struct judgement *judgement)
{
	char *called = sqlite3_str_finish(judgement->called);
	sqlite3_stmt *statement;
	int failed, rc = SQLITE_OK;

	judgement->called = NULL;
	if (!called)
		return judgement->n_called ? ifs_error_set(judgement->error, SQLITE_NOMEM, "") : SQLITE_OK;
	rc = ifs_prepare(judgement->error, judgement->db, &statement,
			 "SELECT name FROM pragma_function_list WHERE NOT builtin AND name COLLATE NOCASE IN (%s)", called);
	sqlite3_free(called);
	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW)
		rc = refuse(judgement, (const char *)sqlite3_column_text(statement, 0),
			    "is the program's function in this connection, not SQLite's own");
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(judgement->error, judgement->db, failed) : rc;
}

/* The text is in parentheses. What is between them must be an expression by itself, too: a parenthesis that it closes is one
 * that it has opened. Nothing can follow the condition of an index, as ORDER BY can that of a SELECT; and a name with a dot
 * would have to be that of both tables. */
static int judge_text(struct judgement *judgement, sqlite3 *apart)
{
	const char *text = judgement->text;
	int n = (int)strlen(text);
	int rc = judge_statement(judgement, apart, "CREATE INDEX iforest_index ON " APART "(1) WHERE ", text, n);

	return rc ? rc : judge_statement(judgement, apart, "SELECT 1 FROM " APART " AS s WHERE ", text + 1, n - 2);
}

int ifs_condition_judge(sqlite3 *db, const char *schema, const char *table, struct ifs_definition *definition,
			struct ifs_error *error)
{
	struct judgement judgement = { .db = db, .schema = schema, .table = table, .text = definition->where, .error = error };
	sqlite3 *apart = NULL;
	int rc;

	definition->where_is_judged = false;
	if (!definition->where)
		return SQLITE_OK;
	judgement.called = sqlite3_str_new(NULL);
	rc = open_apart(&judgement, &apart);
	if (!rc) {
		sqlite3_set_authorizer(apart, authorize, &judgement);
		rc = judge_text(&judgement, apart);
	}
	sqlite3_close(apart);
	if (!rc)
		rc = judge_called(&judgement);
	sqlite3_free(sqlite3_str_finish(judgement.called));
	definition->where_is_judged = !rc;
	return rc;
}

int ifs_condition_check_like(sqlite3 *db, const struct ifs_definition *definition, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	bool is_default;
	int rc = definition->where_has_like ? ifs_prepare(error, db, &statement, "SELECT 'a' LIKE 'A'") : SQLITE_OK;

	if (rc || !definition->where_has_like)
		return rc;
	is_default = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0);
	rc = sqlite3_finalize(statement);
	if (rc)
		return ifs_error_from_db(error, db, rc);
	return is_default ? SQLITE_OK
			  : ifs_error_set(
				    error, SQLITE_ERROR,
				    "iforest: where=...: LIKE tells upper case from lower in this connection, and in an index "
				    "it does not; write GLOB, or set PRAGMA case_sensitive_like = 0");
}

bool ifs_condition_names(const struct ifs_definition *definition, const char *column)
{
	const char *at = definition->where, *token;
	int n;

	while (at && (token = ifs_token_next(&at, &n)))
		if (*token != '\'' && ifs_token_names(token, n, column))
			return true;
	return false;
}
