#include "sqlite_ext/storage/tokens.h"

#include <ctype.h>

bool iforest_is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

const char *iforest_token_next(const char **at, int *n)
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

		do { /* a quote doubled stands for itself */
			const char *end = strchr(*at + 1, close);

			*at = end ? end + 1 : start + strlen(start);
		} while (close != ']' && **at == close);
	} else {
		while (iforest_is_name_byte(**at))
			++*at;
		*at += *at == start;
	}
	*n = (int)(*at - start);
	return start;
}

bool iforest_token_is(const char *token, int n, const char *word)
{
	return n == (int)strlen(word) && sqlite3_strnicmp(token, word, n) == 0;
}

bool iforest_token_names(const char *token, int n, const char *name)
{
	char close = *token == '[' ? ']' : *token;
	const char *end = token + n - 1;

	if (!strchr("\"'`[", *token))
		return iforest_token_is(token, n, name);
	for (token++; token < end && *name && sqlite3_strnicmp(token, name, 1) == 0; token++, name++)
		token += *token == close && close != ']';
	return token == end && !*name;
}

bool iforest_tokens_hold(const char *sql, const char *const *words, unsigned n_words)
{
	unsigned n_matched = 0;
	const char *token;
	int n;

	while ((token = iforest_token_next(&sql, &n))) {
		if (iforest_token_is(token, n, words[n_matched]))
			n_matched++;
		else
			n_matched = iforest_token_is(token, n, words[0]);
		if (n_matched == n_words)
			return true;
	}
	return false;
}
