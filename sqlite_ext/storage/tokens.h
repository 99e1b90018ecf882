/* tokens.h -- SQL text word by word: what the schema says of tables and triggers of others. */
#ifndef IFOREST_SQLITE_TOKENS_H
#define IFOREST_SQLITE_TOKENS_H

#include "sqlite_ext/storage/engine.h"

/* Does the byte belong to a name without quotes, or to a number? */
bool iforest_is_name_byte(char c);

/* The next token of SQL text at *at, past comments: its start, and its length in *n; NULL at the end. Names and strings keep
 * their quotes. */
const char *iforest_token_next(const char **at, int *n);

/* Is the token that word, whatever the case? */
bool iforest_token_is(const char *token, int n, const char *word);

/* Is it the name, in quotes or not, whatever the case? */
bool iforest_token_names(const char *token, int n, const char *name);

/* Do the words stand one after the other anywhere in the text? Requires  the first word is none of the others. */
bool iforest_tokens_hold(const char *sql, const char *const *words, unsigned n_words);

#endif
