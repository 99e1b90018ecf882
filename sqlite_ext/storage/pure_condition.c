#include "sqlite_ext/storage/pure_condition.h"

#include <ctype.h>
#include <string.h>

/* The text being rewritten. */
struct condition_writer {
	sqlite3_str *out;
	bool has_like;
	unsigned depth;	 /* of functions of dates in each other, where the text doubles */
	unsigned n_open; /* calls of such functions that are being written */
	struct ifs_error *error;
};

/* A passage of the text. */
struct passage {
	const char *at, *end;
};

struct token {
	const char *text;
	int n;
};

static bool next_token(struct passage *passage, struct token *token)
{
	const char *at = passage->at;

	token->text = at < passage->end ? ifs_token_next(&at, &token->n) : NULL;
	if (!token->text || token->text >= passage->end)
		return false;
	passage->at = at;
	return true;
}

static bool is(const struct token *token, const char *word)
{
	return ifs_token_is(token->text, token->n, word);
}

static bool is_text(const struct token *token)
{
	return *token->text == '\'';
}

static int refuse(const struct condition_writer *writer, const struct token *token, const char *why)
{
	return ifs_error_set(writer->error, SQLITE_ERROR, "iforest: where=...: %.*s %s", token->n, token->text, why);
}

static void copy(const struct condition_writer *writer, const char *from, const char *to)
{
	sqlite3_str_append(writer->out, from, (int)(to - from));
}

/* ---- LIKE ---- */

/* Appends a literal byte of a LIKE pattern. */
static void append_literal(sqlite3_str *out, char c)
{
	if (isalpha((unsigned char)c) && !((unsigned char)c & 0x80))
		sqlite3_str_appendf(out, "[%c%c]", tolower(c), toupper(c));
	else if (strchr("*?[", c))
		sqlite3_str_appendf(out, "[%c]", c);
	else
		sqlite3_str_appendchar(out, 1, c);
}

/* Appends the pattern of GLOB that matches what a pattern of LIKE, quotes included, does. False if it ends in its escape. */
static bool append_pattern(sqlite3_str *out, const struct token *pattern, char escape)
{
	const char *end = pattern->text + pattern->n - 1;
	bool is_escaped = false;

	sqlite3_str_appendchar(out, 1, '\'');
	for (const char *at = pattern->text + 1; at < end; at++) {
		if (!is_escaped && escape && *at == escape)
			is_escaped = true;
		else if (!is_escaped && *at == '%')
			sqlite3_str_appendchar(out, 1, '*');
		else if (!is_escaped && *at == '_')
			sqlite3_str_appendchar(out, 1, '?');
		else {
			append_literal(out, *at);
			is_escaped = false;
		}
	}
	sqlite3_str_appendchar(out, 1, '\'');
	return !is_escaped;
}

/* True if an expression that is a single text ends before the token. */
static bool ends_expression(const struct token *token)
{
	static const char *const words[] = { ")", ",", "and", "or", "then", "else", "end", "when" };

	for (size_t w = 0; w < sizeof words / sizeof *words; w++)
		if (is(token, words[w]))
			return true;
	return false;
}

/* Writes `LIKE 'pattern'`, perhaps with ESCAPE, as GLOB. */
static int write_like(struct condition_writer *writer, const struct token *like, struct passage *rest)
{
	struct token pattern, escape, after;
	struct passage ahead;
	char escape_byte = 0;

	writer->has_like = true;
	if (!next_token(rest, &pattern) || !is_text(&pattern))
		return refuse(writer, like, "takes a text in single quotes here, such as 'a%'");
	ahead = *rest;
	if (next_token(&ahead, &escape) && is(&escape, "escape")) {
		if (!next_token(&ahead, &escape) || !is_text(&escape) || escape.n != 3 || strchr("%_", escape.text[1]))
			return refuse(writer, like, "takes a single character as ESCAPE here, neither % nor _");
		escape_byte = escape.text[1];
		*rest = ahead;
	}
	ahead = *rest;
	if (next_token(&ahead, &after) && !ends_expression(&after))
		return refuse(writer, like, "takes a text alone here; put what follows it out of parentheses: (x LIKE 'a%')");
	sqlite3_str_appendall(writer->out, "GLOB ");
	if (!append_pattern(writer->out, &pattern, escape_byte))
		return refuse(writer, like, "has a pattern that ends in its ESCAPE");
	return SQLITE_OK;
}

/* ---- Functions of dates ---- */

/* From which argument to which they take times; all that follow are modifiers. */
static const struct date_function {
	const char *name;
	unsigned first, last;
} functions[] = {
	{ "date", 0, 0 },      { "time", 0, 0 },     { "datetime", 0, 0 }, { "julianday", 0, 0 },
	{ "unixepoch", 0, 0 }, { "strftime", 1, 1 }, { "timediff", 0, 1 },
};

static const struct date_function *find_function(const struct token *token)
{
	for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
		if (ifs_token_names(token->text, token->n, functions[f].name))
			return &functions[f];
	return NULL;
}

/* True if the passage is one token; *token becomes its first. */
static bool is_single(struct passage passage, struct token *token)
{
	struct token second;

	return next_token(&passage, token) && !next_token(&passage, &second);
}

static bool is_one_of(const struct token *token, const char *const *texts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (ifs_token_names(token->text, token->n, texts[i]))
			return true;
	return false;
}

enum { MOST_DEPTH = 6, MOST_OPEN = 20 };

static const char too_deep[] = "stands in too many functions of dates; make a column of some";

static int rewrite(struct condition_writer *writer, struct passage passage);

static int write_time(struct condition_writer *writer, const struct token *function, struct passage argument)
{
	static const char *const now[] = { "now", "subsec", "subsecond" };
	struct token token;
	int rc;

	if (is_single(argument, &token) && (is_text(&token) || isdigit((unsigned char)*token.text))) {
		if (is_one_of(&token, now, 3))
			return refuse(writer, function, "of 'now' is another value each time");
		copy(writer, argument.at, argument.end);
		return SQLITE_OK;
	}
	if (writer->depth == MOST_DEPTH)
		return refuse(writer, function, too_deep);
	writer->depth++;
	sqlite3_str_appendall(writer->out, "iif(lower(");
	rc = rewrite(writer, argument);
	sqlite3_str_appendall(writer->out, ") IN ('now', 'subsec', 'subsecond'), NULL, ");
	if (!rc)
		rc = rewrite(writer, argument);
	sqlite3_str_appendall(writer->out, ")");
	writer->depth--;
	return rc;
}

static int write_modifier(struct condition_writer *writer, const struct token *function, struct passage argument)
{
	static const char *const here[] = { "localtime", "utc" };
	struct token token;

	if (!is_single(argument, &token) || !is_text(&token))
		return refuse(writer, function, "takes modifiers in single quotes here");
	if (is_one_of(&token, here, 2))
		return refuse(writer, &token, "depends on where it is asked");
	copy(writer, argument.at, argument.end);
	return SQLITE_OK;
}

/* Finds the end of an argument: its comma, or the parenthesis that closes the call. False if there is neither. */
static bool find_argument(struct passage *rest, struct passage *argument, bool *is_last)
{
	struct token token;
	int depth = 0;

	argument->at = rest->at;
	while (next_token(rest, &token)) {
		argument->end = token.text;
		*is_last = depth == 0 && is(&token, ")");
		if (*is_last || (depth == 0 && is(&token, ",")))
			return true;
		depth += is(&token, "(") - is(&token, ")");
	}
	return false;
}

/* Writes a call, whose name and opening parenthesis are passed. */
static int write_call(struct condition_writer *writer, const struct date_function *function, const struct token *name,
		      struct passage *rest)
{
	struct passage argument;
	struct token first;
	unsigned n = 0;
	bool is_last = false;
	int rc = writer->n_open == MOST_OPEN ? refuse(writer, name, too_deep) : SQLITE_OK;

	writer->n_open++;
	sqlite3_str_appendf(writer->out, "%.*s(", name->n, name->text);
	for (; !rc && !is_last && find_argument(rest, &argument, &is_last); n++) {
		struct passage whole = argument;

		if (!next_token(&whole, &first))
			break;
		if (n < function->first)
			rc = rewrite(writer, argument);
		else if (n <= function->last)
			rc = write_time(writer, name, argument);
		else
			rc = write_modifier(writer, name, argument);
		sqlite3_str_appendall(writer->out, is_last ? ")" : ",");
	}
	writer->n_open--;
	return !rc && n <= function->last ? refuse(writer, name, "without a time is another value each time") : rc;
}

/* ---- The whole ---- */

static int rewrite(struct condition_writer *writer, struct passage passage)
{
	struct token token, next;
	int rc = SQLITE_OK;

	for (const char *from = passage.at; !rc && next_token(&passage, &token); from = passage.at) {
		struct passage ahead = passage;
		bool is_call = next_token(&ahead, &next) && is(&next, "(");
		const struct date_function *function = is_call && !is_text(&token) ? find_function(&token) : NULL;

		copy(writer, from, token.text);
		if (function) {
			passage = ahead;
			rc = write_call(writer, function, &token, &passage);
		} else if (!is_call && is(&token, "like")) {
			rc = write_like(writer, &token, &passage);
		} else {
			copy(writer, token.text, passage.at);
		}
	}
	return rc;
}

int ifs_pure_condition_write(const char *text, struct ifs_pure_condition *pure, struct ifs_error *error)
{
	struct condition_writer writer = { .out = sqlite3_str_new(NULL), .error = error };
	struct passage all = { text, text + strlen(text) };
	int rc = rewrite(&writer, all);

	pure->sql = sqlite3_str_finish(writer.out);
	pure->has_like = writer.has_like;
	return !rc && !pure->sql ? ifs_error_set(error, SQLITE_NOMEM, "") : rc;
}
