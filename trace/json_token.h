/* The token in which a piece of JSON text ends: is it a string, and how long is it already?
 *
 * YAJL keeps a token that a piece leaves unfinished and reads it anew with each further piece: a string of many
 * pieces would cost quadratic time, and memory even where nobody wants it. Its reader therefore follows the
 * unfinished token itself, to feed long wanted strings in growing pieces and to leave out long unwanted ones. */
#ifndef TRACE_JSON_TOKEN_H
#define TRACE_JSON_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: between two tokens. */
struct trace_json_token {
	uint64_t n_bytes; /* of the token so far */
	bool in_string;
	bool in_escape;	  /* in a string, inside of an escape sequence */
	int n_hex_digits; /* in an escape sequence: those that are to come */
};

/* Follows the text as long as no token ends in it, except by a separator.
 * Requires: outside of strings the text holds only white space, ',', ':' and (parts of) numbers and literals.
 * Returns: the position of the quote that closes the string, or n_bytes. O(n_bytes). */
size_t trace_json_token_follow(struct trace_json_token *token, const char *text, size_t n_bytes);

#endif
