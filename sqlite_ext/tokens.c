#include "sqlite_ext/tokens.h"

#include <ctype.h>

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
		while (isalnum((unsigned char)**at) || **at == '_')
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
