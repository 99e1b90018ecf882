#include "sqlite_ext/vtab/select_text.h"

#include <ctype.h>

#include <stdlib.h>

#include "core/base/array.h"

/* ---- tokens ---- */

static int length_of_quoted(const char *at)
{
	char close = *at == '[' ? ']' : *at;
	const char *end = at;

	do { /* a doubled quote stands for itself */
		const char *next = strchr(end + 1, close);

		end = next ? next + 1 : end + strlen(end);
	} while (close != ']' && *end == close);
	return (int)(end - at);
}

static int length_of_number(const char *at)
{
	const char *end = at;

	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		for (end += 2; isxdigit((unsigned char)*end);)
			end++;
		return (int)(end - at);
	}
	while (isdigit((unsigned char)*end) || *end == '.' || *end == '_')
		end++;
	if ((*end == 'e' || *end == 'E') &&
	    (isdigit((unsigned char)end[1]) || ((end[1] == '+' || end[1] == '-') && isdigit((unsigned char)end[2]))))
		for (end += 2; isdigit((unsigned char)*end);)
			end++;
	return (int)(end - at);
}

static int length_of_name(const char *at)
{
	int n = 0;

	while (ifs_is_name_byte(at[n]))
		n++;
	return n;
}

static int length_of_operator(const char *at)
{
	static const char *const long_ones[] = { "->>", "<=", ">=", "<>", "<<", ">>", "==", "!=", "||", "->" };

	for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
		if (strncmp(at, long_ones[i], strlen(long_ones[i])) == 0)
			return (int)strlen(long_ones[i]);
	return 1;
}

static void skip_blanks(const char **at)
{
	for (;;) {
		*at += strspn(*at, " \t\n\f\r");
		if (strncmp(*at, "--", 2) == 0)
			*at += strcspn(*at, "\n");
		else if (strncmp(*at, "/*", 2) == 0)
			*at = strstr(*at + 2, "*/") ? strstr(*at + 2, "*/") + 2 : *at + strlen(*at);
		else
			break;
	}
}

static struct ifs_token next_token(const char **at)
{
	struct ifs_token token = { .at = *at };

	if (**at == '\'') {
		token.kind = IFS_TOKEN_STRING;
		token.n = length_of_quoted(*at);
	} else if (strchr("\"`[", **at)) {
		token.kind = IFS_TOKEN_QUOTED;
		token.n = length_of_quoted(*at);
	} else if ((**at == 'x' || **at == 'X') && (*at)[1] == '\'') {
		token.kind = IFS_TOKEN_BLOB;
		token.n = 1 + length_of_quoted(*at + 1);
	} else if (isdigit((unsigned char)**at) || (**at == '.' && isdigit((unsigned char)(*at)[1]))) {
		token.kind = IFS_TOKEN_NUMBER;
		token.n = length_of_number(*at);
	} else if (strchr("?:@$#", **at)) {
		token.kind = IFS_TOKEN_PARAMETER;
		token.n = 1 + length_of_name(*at + 1);
	} else if (ifs_is_name_byte(**at)) {
		token.kind = IFS_TOKEN_NAME;
		token.n = length_of_name(*at);
	} else {
		token.kind = IFS_TOKEN_OPERATOR;
		token.n = length_of_operator(*at);
	}
	*at += token.n;
	return token;
}

/* Numbers anonymous parameters as SQLite does: one more than the greatest number before. A name that comes again is counted
 * again here, so beside names there must be no anonymous ones: *has_both. */
static void number_parameter(struct ifs_token *token, int *greatest, bool *has_named, bool *has_anonymous)
{
	if (token->kind != IFS_TOKEN_PARAMETER)
		return;
	if (*token->at != '?') {
		*has_named = true;
	} else if (token->n > 1) {
		int number = atoi(token->at + 1);

		*greatest = number > *greatest ? number : *greatest;
	} else {
		token->parameter = ++*greatest;
		*has_anonymous = true;
	}
}

static int read_tokens(struct ifs_select_text *select, const char *sql, bool *is_clear)
{
	bool has_named = false, has_anonymous = false;
	int depth = 0, greatest = 0;

	for (skip_blanks(&sql); *sql; skip_blanks(&sql)) {
		struct ifs_token token = next_token(&sql);

		if (!iforest_array_reserve(&ifs_alloc, &select->tokens, sizeof *select->tokens, (size_t)select->n_tokens + 1,
					   &select->n_reserved))
			return SQLITE_NOMEM;
		number_parameter(&token, &greatest, &has_named, &has_anonymous);
		depth -= *token.at == ')';
		token.depth = depth;
		depth += *token.at == '(';
		select->tokens[select->n_tokens++] = token;
	}
	while (select->n_tokens > 0 && *select->tokens[select->n_tokens - 1].at == ';')
		select->n_tokens--;
	*is_clear = !(has_named && has_anonymous);
	return SQLITE_OK;
}

/* ---- clauses ---- */

bool ifs_select_text_is(const struct ifs_select_text *select, int token, const char *word)
{
	const struct ifs_token *found = token < select->n_tokens ? &select->tokens[token] : NULL;

	return found && (found->kind == IFS_TOKEN_NAME || found->kind == IFS_TOKEN_OPERATOR) &&
	       ifs_token_is(found->at, found->n, word);
}

/* Returns the clause that begins at the token and how many words begin it; IFS_N_CLAUSES if none does. */
static enum ifs_clause clause_at(const struct ifs_select_text *select, int token, int *n_words)
{
	static const struct {
		const char *words[2];
		enum ifs_clause clause;
	} begins[] = { { { "FROM", NULL }, IFS_CLAUSE_FROM },	{ { "WHERE", NULL }, IFS_CLAUSE_WHERE },
		       { { "GROUP", "BY" }, IFS_CLAUSE_GROUP }, { { "HAVING", NULL }, IFS_CLAUSE_HAVING },
		       { { "ORDER", "BY" }, IFS_CLAUSE_ORDER }, { { "LIMIT", NULL }, IFS_CLAUSE_LIMIT } };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		*n_words = begins[i].words[1] ? 2 : 1;
		if (select->tokens[token].depth == 0 && ifs_select_text_is(select, token, begins[i].words[0]) &&
		    (!begins[i].words[1] || ifs_select_text_is(select, token + 1, begins[i].words[1])))
			return begins[i].clause;
	}
	return IFS_N_CLAUSES;
}

static bool divide(struct ifs_select_text *select)
{
	enum ifs_clause clause = IFS_CLAUSE_RESULTS;
	int token = 1, n_words;

	if (!ifs_select_text_is(select, 0, "SELECT"))
		return false;
	select->is_distinct = ifs_select_text_is(select, 1, "DISTINCT");
	token += select->is_distinct || ifs_select_text_is(select, 1, "ALL");
	select->clauses[clause] = (struct ifs_token_range){ token, token };
	for (; token < select->n_tokens; token++) {
		enum ifs_clause next = clause_at(select, token, &n_words);

		if (next == IFS_N_CLAUSES) {
			select->clauses[clause].to = token + 1;
			continue;
		}
		if (next <= clause)
			return false;
		clause = next;
		select->clauses[clause] = (struct ifs_token_range){ token + n_words, token + n_words };
		token += n_words - 1;
	}
	return true;
}

int ifs_select_text_read(struct ifs_select_text *select, const char *sql, bool *is_divided)
{
	bool is_clear;
	int rc = read_tokens(select, sql, &is_clear);

	*is_divided = !rc && is_clear && divide(select);
	return rc;
}

void ifs_select_text_release(struct ifs_select_text *select)
{
	sqlite3_free(select->tokens);
	*select = (struct ifs_select_text){ .tokens = NULL };
}

bool ifs_select_text_part(const struct ifs_select_text *select, struct ifs_token_range *range, const char *separator,
			  struct ifs_token_range *part)
{
	int cases = 0, betweens = 0;

	if (range->from >= range->to)
		return false;
	*part = (struct ifs_token_range){ range->from, range->to };
	for (int t = range->from; t < range->to; t++) {
		if (select->tokens[t].depth != select->tokens[range->from].depth)
			continue;
		cases += ifs_select_text_is(select, t, "CASE") - ifs_select_text_is(select, t, "END");
		betweens += ifs_select_text_is(select, t, "BETWEEN");
		if (cases > 0 || !ifs_select_text_is(select, t, separator))
			continue;
		if (betweens > 0 && sqlite3_stricmp(separator, "AND") == 0) {
			betweens--;
			continue;
		}
		part->to = t;
		range->from = t + 1;
		return true;
	}
	range->from = range->to;
	return true;
}

bool ifs_select_text_has(const struct ifs_select_text *select, struct ifs_token_range range, const char *word)
{
	for (int t = range.from; t < range.to; t++)
		if (select->tokens[t].depth == select->tokens[range.from].depth && ifs_select_text_is(select, t, word))
			return true;
	return false;
}
