#include "trace/json_token.h"

static void follow_escape(struct trace_json_token *token, char c)
{
	if (token->n_hex_digits > 0)
		token->n_hex_digits--;
	else if (c == 'u')
		token->n_hex_digits = 4;
	token->in_escape = token->n_hex_digits > 0;
}

static bool is_separator(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':';
}

size_t trace_json_token_follow(struct trace_json_token *token, const char *text, size_t n_bytes)
{
	size_t i;

	for (i = 0; i < n_bytes; i++) {
		char c = text[i];

		token->n_bytes++;
		if (token->in_escape) {
			follow_escape(token, c);
		} else if (token->in_string) {
			if (c == '"')
				break;
			token->in_escape = c == '\\';
		} else if (c == '"') {
			token->in_string = true;
		} else if (is_separator(c)) {
			token->n_bytes = 0;
		}
	}
	return i;
}
