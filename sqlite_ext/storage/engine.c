#include "sqlite_ext/storage/engine.h"

#include <ctype.h>
#include <stdarg.h>

#include "core/base/bits.h"
#include "core/model/distinct.h"

static void *sqlite_reallocate(void *context, void *memory, size_t n_bytes)
{
	(void)context;
	return sqlite3_realloc64(memory, n_bytes);
}

static void sqlite_release(void *context, void *memory)
{
	(void)context;
	sqlite3_free(memory);
}

const struct iforest_alloc ifs_alloc = { .reallocate = sqlite_reallocate, .release = sqlite_release };

int ifs_error_set(struct ifs_error *error, int rc, const char *format, ...)
{
	va_list arguments;

	if (error->rc)
		return error->rc;
	error->rc = rc;
	va_start(arguments, format);
	error->message = rc == SQLITE_NOMEM ? NULL : sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	return rc;
}

int ifs_error_from_db(struct ifs_error *error, sqlite3 *db, int rc)
{
	return ifs_error_set(error, rc, "%s", sqlite3_errmsg(db));
}

void ifs_error_clear(struct ifs_error *error)
{
	sqlite3_free(error->message);
	*error = (struct ifs_error){ .rc = SQLITE_OK };
}

bool ifs_error_is_permanent(int rc)
{
	return (rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_CORRUPT;
}

static int corrupt(struct ifs_error *error, enum iforest_status status, const char *index, const struct iforest_fault *fault)
{
	const char *problem = status == IFOREST_FORMAT ? "format version" : "corrupt";
	const char *what = fault->what ? fault->what : iforest_status_text(status);

	if (fault->run_id)
		return ifs_error_set(
			error, SQLITE_CORRUPT_VTAB,
			"%s: %s: %s (run %lld, level %u, page %lld); run INSERT INTO \"%w\"(\"%w\") VALUES('rebuild')", index,
			problem, what, (sqlite3_int64)fault->run_id, fault->level, (sqlite3_int64)fault->number, index, index);
	return ifs_error_set(error, SQLITE_CORRUPT_VTAB, "%s: %s: %s; run INSERT INTO \"%w\"(\"%w\") VALUES('rebuild')", index,
			     problem, what, index, index);
}

int ifs_error_from_status(struct ifs_error *error, enum iforest_status status, const char *index,
			  const struct iforest_fault *fault, int io_rc)
{
	switch (status) {
	case IFOREST_OK:
		return SQLITE_OK;
	case IFOREST_NO_MEMORY:
		return ifs_error_set(error, SQLITE_NOMEM, "");
	case IFOREST_IO:
		return ifs_error_set(error, io_rc ? io_rc : SQLITE_IOERR, "%s: %s", index,
				     sqlite3_errstr(io_rc ? io_rc : SQLITE_IOERR));
	case IFOREST_CORRUPT:
	case IFOREST_FORMAT:
		return corrupt(error, status, index, fault);
	default:
		return ifs_error_set(error, SQLITE_ERROR, "%s: %s", index, iforest_status_text(status));
	}
}

int ifs_execute(struct ifs_error *error, sqlite3 *db, const char *format, ...)
{
	va_list arguments;
	char *sql, *message = NULL;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (!sql)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	rc = sqlite3_exec(db, sql, NULL, NULL, &message);
	if (rc)
		ifs_error_set(error, rc, "%s", message ? message : sqlite3_errstr(rc));
	sqlite3_free(message);
	sqlite3_free(sql);
	return rc;
}

int ifs_prepare(struct ifs_error *error, sqlite3 *db, sqlite3_stmt **statement, const char *format, ...)
{
	va_list arguments;
	char *sql;
	int rc;

	*statement = NULL;
	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (!sql)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
	if (rc)
		ifs_error_from_db(error, db, rc);
	sqlite3_free(sql);
	return rc;
}

int ifs_execute_text(struct ifs_error *error, sqlite3 *db, sqlite3_str *text)
{
	char *sql = sqlite3_str_finish(text);
	int rc = sql ? ifs_execute(error, db, "%s", sql) : ifs_error_set(error, SQLITE_NOMEM, "");

	sqlite3_free(sql);
	return rc;
}

int ifs_prepare_text(struct ifs_error *error, sqlite3 *db, sqlite3_stmt **statement, sqlite3_str *text)
{
	char *sql = sqlite3_str_finish(text);
	int rc;

	*statement = NULL;
	rc = sql ? ifs_prepare(error, db, statement, "%s", sql) : ifs_error_set(error, SQLITE_NOMEM, "");
	sqlite3_free(sql);
	return rc;
}

int ifs_step_to_end(sqlite3_stmt *statement)
{
	int rc = SQLITE_ROW;

	while (rc == SQLITE_ROW)
		rc = sqlite3_step(statement);
	return rc;
}

sqlite3_stmt *ifs_next_writer(sqlite3 *db, sqlite3_stmt *after)
{
	sqlite3_stmt *statement = sqlite3_next_stmt(db, after);

	while (statement && (sqlite3_stmt_readonly(statement) || !sqlite3_stmt_busy(statement)))
		statement = sqlite3_next_stmt(db, statement);
	return statement;
}

int ifs_value_to_integer(const char *name, const char *argument, sqlite3_value *value, int64_t *integer,
			 struct ifs_error *error)
{
	int type = sqlite3_value_type(value);

	if (type == SQLITE_INTEGER) {
		*integer = sqlite3_value_int64(value);
		return SQLITE_OK;
	}
	if (type == SQLITE_FLOAT && iforest_integral(sqlite3_value_double(value), integer))
		return SQLITE_OK;
	/* in quotes, since a text may look like an integer */
	return ifs_error_set(error, SQLITE_ERROR,
			     type == SQLITE_TEXT ? "%s: argument %s is not an integer: %Q"
						 : "%s: argument %s is not an integer: %s",
			     name, argument, type == SQLITE_BLOB ? "a blob" : (const char *)sqlite3_value_text(value));
}

bool ifs_distinct_key(sqlite3_value *value, int64_t *key)
{
	bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
	const void *bytes;
	size_t n_bytes;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		*key = sqlite3_value_int64(value);
		return true;
	case SQLITE_FLOAT:
		*key = iforest_distinct_key_of_number((union iforest_number){ .real = sqlite3_value_double(value) },
						      IFOREST_FLOAT64);
		return true;
	default:
		bytes = is_text ? (const void *)sqlite3_value_text(value) : sqlite3_value_blob(value);
		n_bytes = (size_t)sqlite3_value_bytes(value);
		if (!bytes && (is_text || n_bytes > 0))
			return false;
		*key = (is_text ? iforest_distinct_key_of_text : iforest_distinct_key_of_blob)(bytes ? bytes : "", n_bytes);
		return true;
	}
}

/* ---- Tokens of SQL text ---- */

bool ifs_is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

const char *ifs_token_next(const char **at, int *n)
{
	const char *start;

	for (;;) {
		while (isspace((unsigned char)**at))
			++*at;
		if (strncmp(*at, "--", 2) == 0)
			*at += strcspn(*at, "\n");
		else if (strncmp(*at, "/*", 2) == 0)
			*at = strstr(*at + 2, "*/") ? strstr(*at + 2, "*/") + 2 : *at + strlen(*at);
		else
			break;
	}
	start = *at;
	if (!*start)
		return NULL;
	if (strchr("\"'`[", *start)) {
		char close = *start == '[' ? ']' : *start;

		do { /* a doubled quote stands for itself */
			const char *end = strchr(*at + 1, close);

			*at = end ? end + 1 : start + strlen(start);
		} while (close != ']' && **at == close);
	} else {
		while (ifs_is_name_byte(**at))
			++*at;
		*at += *at == start;
	}
	*n = (int)(*at - start);
	return start;
}

bool ifs_token_is(const char *token, int n, const char *word)
{
	return n == (int)strlen(word) && sqlite3_strnicmp(token, word, n) == 0;
}

bool ifs_token_names(const char *token, int n, const char *name)
{
	char close = *token == '[' ? ']' : *token;
	const char *end = token + n - 1;

	if (!strchr("\"'`[", *token))
		return ifs_token_is(token, n, name);
	for (token++; token < end && *name && sqlite3_strnicmp(token, name, 1) == 0; token++, name++)
		token += *token == close && close != ']';
	return token == end && !*name;
}

char *ifs_token_name(const char *token, int n)
{
	bool is_quoted = strchr("\"'`[", *token);
	char close = *token == '[' ? ']' : *token, *name = sqlite3_malloc64((sqlite3_uint64)n + 1), *out = name;
	const char *end = token + n - is_quoted;

	for (token += is_quoted; name && token < end; token++) {
		*out++ = *token;
		token += is_quoted && close != ']' && *token == close;
	}
	if (name)
		*out = 0;
	return name;
}

bool ifs_tokens_contain(const char *sql, const char *const *words, unsigned n_words)
{
	unsigned n_matched = 0;
	const char *token;
	int n;

	while ((token = ifs_token_next(&sql, &n))) {
		if (ifs_token_is(token, n, words[n_matched]))
			n_matched++;
		else
			n_matched = ifs_token_is(token, n, words[0]);
		if (n_matched == n_words)
			return true;
	}
	return false;
}
