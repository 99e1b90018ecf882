#include "sqlite_ext/follow/condition.h"

#include "sqlite_ext/storage/engine.h"

/* The condition being judged, token by token. */
struct judgement {
	sqlite3 *db;
	const char *schema, *table, *text;
	struct ifs_error *error;
};

static int refuse(const struct judgement *judgement, const char *token, int n, const char *why)
{
	return ifs_error_set(judgement->error, SQLITE_ERROR, "iforest: where=...: %.*s %s", n, token, why);
}

static int refuse_text(const struct judgement *judgement)
{
	return ifs_error_set(judgement->error, SQLITE_ERROR, "iforest: where=%s: %s", judgement->text,
			     sqlite3_errmsg(judgement->db));
}

/* Words whose meaning depends on the connection, or on the time. Of LIKE and functions of dates, storage/pure_condition.h has
 * left what does not. */
static const struct {
	const char *word, *why;
} refused[] = {
	{ "regexp", "is no function of SQLite's own" },
	{ "match", "is no function of SQLite's own" },
	{ "current_time", "is another value each time" },
	{ "current_date", "is another value each time" },
	{ "current_timestamp", "is another value each time" },
	{ "like", "is changed by PRAGMA case_sensitive_like; write x LIKE 'a%'" },
};

enum { N_WORDS = 5 }; /* of them those that are refused also where no parenthesis follows */

static bool is_column(const struct judgement *judgement, const char *token, int n, bool *has_own_collation)
{
	static const char *const known[] = { "BINARY", "NOCASE", "RTRIM" };
	const char *collation = NULL;
	char *name = ifs_token_name(token, n);
	bool is_one = name && sqlite3_table_column_metadata(judgement->db, judgement->schema, judgement->table, name, NULL,
							    &collation, NULL, NULL, NULL) == SQLITE_OK;

	*has_own_collation = is_one && collation;
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		*has_own_collation = *has_own_collation && sqlite3_stricmp(collation, known[k]) != 0;
	sqlite3_free(name);
	return is_one;
}

/* Refuses a function that somebody registered, perhaps in the place of one of SQLite's. */
static int judge_function(const struct judgement *judgement, const char *token, int n)
{
	sqlite3_stmt *statement;
	int failed, rc = ifs_prepare(judgement->error, judgement->db, &statement,
				     "SELECT 1 FROM pragma_function_list WHERE name = '%.*q' COLLATE NOCASE AND NOT builtin", n,
				     token);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW)
		rc = refuse(judgement, token, n, "is no function of SQLite's own, which another connection may lack");
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(judgement->error, judgement->db, failed) : rc;
}

static int judge_call(const struct judgement *judgement, const char *token, int n)
{
	for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
		if (ifs_token_is(token, n, refused[r].word))
			return refuse(judgement, token, n, refused[r].why);
	return judge_function(judgement, token, n);
}

static int judge_collation(const struct judgement *judgement, const char *token, int n)
{
	return ifs_token_names(token, n, "binary") || ifs_token_names(token, n, "nocase") || ifs_token_names(token, n, "rtrim")
		       ? SQLITE_OK
		       : refuse(judgement, token, n, "is no collation of SQLite's own");
}

/* A name: of a column or a function, or a word of SQL. */
static int judge_name(const struct judgement *judgement, const char *token, int n, bool is_call)
{
	bool is_quoted = strchr("\"'`[", *token), has_own_collation;

	for (size_t r = 0; r < N_WORDS && !is_quoted; r++)
		if (ifs_token_is(token, n, refused[r].word))
			return refuse(judgement, token, n, refused[r].why);
	if (is_call)
		return judge_call(judgement, token + is_quoted, n - 2 * is_quoted);
	if (ifs_token_is(token, n, "glob"))
		return judge_function(judgement, token, n);
	if (!is_column(judgement, token, n, &has_own_collation))
		return is_quoted ? refuse(judgement, token, n, "is no column; write texts in single quotes") : SQLITE_OK;
	return has_own_collation ? refuse(judgement, token, n, "has a collation that is not SQLite's own") : SQLITE_OK;
}

static int judge_token(const struct judgement *judgement, const char *token, int n, const char *rest, bool is_collation)
{
	int n_next;
	const char *next = ifs_token_next(&rest, &n_next);

	if (*token == '\'' || (!strchr("\"`[", *token) && !ifs_is_name_byte(*token)))
		return SQLITE_OK;
	if (is_collation)
		return judge_collation(judgement, token, n);
	return judge_name(judgement, token, n, next && ifs_token_is(next, n_next, "("));
}

/* Lets SQLite judge: as the condition of a partial index, and of a row that has another name, as the index asks. */
static int judge_whole(const struct judgement *judgement, const char *column)
{
	sqlite3_stmt *statement;
	struct ifs_error ignored = { .rc = SQLITE_OK };
	int rc = ifs_prepare(&ignored, judgement->db, &statement,
			     "CREATE INDEX \"%w\".\"iforest where\" ON \"%w\"(\"%w\") WHERE %s", judgement->schema,
			     judgement->table, column, judgement->text);

	sqlite3_finalize(statement);
	if (!rc) {
		rc = ifs_prepare(&ignored, judgement->db, &statement, "SELECT 1 FROM \"%w\".\"%w\" AS s WHERE %s",
				 judgement->schema, judgement->table, judgement->text);
		sqlite3_finalize(statement);
	}
	if (rc && !ifs_error_is_permanent(rc))
		ifs_error_set(judgement->error, rc, "%s", ignored.message ? ignored.message : sqlite3_errstr(rc));
	else if (rc)
		refuse_text(judgement);
	ifs_error_clear(&ignored);
	return judgement->error->rc;
}

/* Refuses LIKE in a connection where it is another. */
static int judge_like(const struct judgement *judgement)
{
	sqlite3_stmt *statement;
	bool is_default;
	int rc = ifs_prepare(judgement->error, judgement->db, &statement, "SELECT 'a' LIKE 'A'");

	if (rc)
		return rc;
	is_default = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0);
	rc = sqlite3_finalize(statement);
	if (rc)
		return ifs_error_from_db(judgement->error, judgement->db, rc);
	return is_default ? SQLITE_OK
			  : ifs_error_set(
				    judgement->error, SQLITE_ERROR,
				    "iforest: where=...: LIKE tells upper case from lower in this connection, and in an index "
				    "it does not; write GLOB, or set PRAGMA case_sensitive_like = 0");
}

int ifs_condition_check(sqlite3 *db, const char *schema, const char *table, const struct ifs_definition *definition,
			struct ifs_error *error)
{
	struct judgement judgement = { db, schema, table, definition->where, error };
	const char *at = definition->where, *token;
	bool is_collation = false;
	int n, rc = SQLITE_OK;

	while (at && !rc && (token = ifs_token_next(&at, &n))) {
		rc = judge_token(&judgement, token, n, at, is_collation);
		is_collation = ifs_token_is(token, n, "collate");
	}
	if (!rc && definition->where_has_like)
		rc = judge_like(&judgement);
	return rc || !definition->where ? rc : judge_whole(&judgement, definition->time);
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
