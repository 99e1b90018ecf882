#include "trace/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define JSMN_STATIC
#define JSMN_PARENT_LINKS
#include <jsmn.h>

#include "trace/decimal_time.h"
#include "trace/utf8.h"

enum { FEWEST_TOKENS = 256, BLOCK_BYTES = 4096, UNIT_BYTES = 6, ESCAPE_PAIR_BYTES = 12 };

/* Decoded texts, which are not slices of the parsed text. */
struct trace_json_block {
	struct trace_json_block *next;
	size_t n_bytes, n_allocated;
	char data[];
};

/* After check_grammar(), a token's size is the number of the first token behind it and its content, and its parent is the
 * object or array around it. */
static jsmntok_t *tokens_of(const struct trace_json *json)
{
	return json->tokens;
}

const char *trace_json_mend_name(enum trace_json_mend mend)
{
	static const char *const names[TRACE_N_MENDS] = {
		[TRACE_MEND_EXTRA_COMMA] = "comma too many",
		[TRACE_MEND_MISSING_COMMA] = "comma missing",
		[TRACE_MEND_NO_NUMBER] = "NaN or Infinity for a number",
		[TRACE_MEND_CONTROL_BYTE] = "string with a control byte",
		[TRACE_MEND_UTF8] = "string that is not UTF-8",
	};

	return names[mend];
}

static int fail(struct trace_json *json, int status, size_t at, const char *problem)
{
	json->problem_at = at;
	snprintf(json->problem, sizeof json->problem, "%s", problem);
	return status;
}

static int refuse(struct trace_json *json, size_t at)
{
	return fail(json, TRACE_ERROR_FORMAT, at, "not valid JSON");
}

/* ---- Tokens ---- */

static int make_tokens(struct trace_json *json)
{
	size_t n_allocated = json->n_allocated ? 2 * json->n_allocated : FEWEST_TOKENS;
	jsmntok_t *tokens;

	if (n_allocated > TRACE_MAX_JSON_NODES)
		return fail(json, TRACE_ERROR_LIMIT, 0, "the event that starts here has more than 4 million values");
	tokens = realloc(json->tokens, n_allocated * sizeof *tokens);
	if (!tokens)
		return fail(json, TRACE_ERROR_MEMORY, 0, "out of memory");
	json->tokens = tokens;
	json->n_allocated = n_allocated;
	return TRACE_OK;
}

static int find_tokens(struct trace_json *json)
{
	jsmn_parser parser;
	int n_tokens = JSMN_ERROR_NOMEM, status = json->tokens ? TRACE_OK : make_tokens(json);

	jsmn_init(&parser);
	while (status == TRACE_OK) {
		n_tokens = jsmn_parse(&parser, json->text.data, json->text.n_bytes, json->tokens, (unsigned)json->n_allocated);
		if (n_tokens != JSMN_ERROR_NOMEM)
			break;
		status = make_tokens(json);
	}
	if (status < 0)
		return status;
	if (n_tokens < 0)
		return refuse(json, parser.pos);
	json->n_tokens = parser.toknext;
	return TRACE_OK;
}

/* ---- The grammar, which the library does not check ---- */

enum json_place { AT_BEGIN, AT_COMMA, AT_KEY, AT_COLON, AT_VALUE };

struct grammar {
	struct trace_json *json;
	bool is_strict;
	enum json_place place; /* what was read last */
	int container;	       /* the innermost object or array that is open, or -1 */
	bool is_in_object;
	int n_open;
	size_t at; /* position in the text */
};

static int mend(struct grammar *grammar, enum trace_json_mend what)
{
	char problem[100];

	if (grammar->is_strict) {
		snprintf(problem, sizeof problem, "not valid JSON: %s", trace_json_mend_name(what));
		return fail(grammar->json, TRACE_ERROR_FORMAT, grammar->at, problem);
	}
	grammar->json->mended[what]++;
	grammar->json->is_mended = true;
	return TRACE_OK;
}

static void enter(struct grammar *grammar, int container)
{
	grammar->container = container;
	grammar->is_in_object = container >= 0 && tokens_of(grammar->json)[container].type == JSMN_OBJECT;
}

static int close_container(struct grammar *grammar, int n_tokens)
{
	jsmntok_t *closed;
	int status = TRACE_OK;

	if (grammar->n_open == 0 || grammar->place == AT_KEY || grammar->place == AT_COLON)
		return refuse(grammar->json, grammar->at);
	if (grammar->place == AT_COMMA)
		status = mend(grammar, TRACE_MEND_EXTRA_COMMA);
	closed = &tokens_of(grammar->json)[grammar->container];
	closed->size = n_tokens;
	grammar->n_open--;
	enter(grammar, closed->parent);
	grammar->place = AT_VALUE;
	return status;
}

static int take_comma(struct grammar *grammar)
{
	int status = TRACE_OK;

	if (grammar->n_open == 0 || grammar->place == AT_KEY || grammar->place == AT_COLON)
		return refuse(grammar->json, grammar->at);
	if (grammar->place != AT_VALUE)
		status = mend(grammar, TRACE_MEND_EXTRA_COMMA);
	grammar->place = AT_COMMA;
	return status;
}

/* Checks what stands between two tokens. */
static int check_gap(struct grammar *grammar, size_t end, int n_tokens)
{
	const char *text = grammar->json->text.data;
	int status = TRACE_OK;

	for (; status == TRACE_OK && grammar->at < end; grammar->at++) {
		char c = text[grammar->at];

		if (c == ',') {
			status = take_comma(grammar);
		} else if (c == ':') {
			if (grammar->place != AT_KEY)
				return refuse(grammar->json, grammar->at);
			grammar->place = AT_COLON;
		} else if (c == '}' || c == ']') {
			status = close_container(grammar, n_tokens);
		}
	}
	return status;
}

/* Takes the most common gaps: nothing, or a colon or comma where it belongs, with at most one space. False for any other. */
static inline bool passes_gap(struct grammar *grammar, size_t end)
{
	const char *gap = grammar->json->text.data + grammar->at;
	size_t n_bytes = end - grammar->at;

	if (n_bytes > 2 || n_bytes == 0 || (n_bytes == 2 && gap[1] != ' '))
		return n_bytes == 0;
	if (*gap == ':' && grammar->place == AT_KEY)
		grammar->place = AT_COLON;
	else if (*gap == ',' && grammar->place == AT_VALUE && grammar->n_open > 0)
		grammar->place = AT_COMMA;
	else
		return false;
	grammar->at = end;
	return true;
}

/* Returns the position after the digits that begin at i. */
static size_t behind_digits(struct trace_text text, size_t i)
{
	while (i < text.n_bytes && text.data[i] >= '0' && text.data[i] <= '9')
		i++;
	return i;
}

/* True for a decimal number without a zero before other digits. */
static bool is_json_number(struct trace_text text)
{
	size_t first = text.data[0] == '-', point = behind_digits(text, first), end = point;

	if (point == first || (text.data[first] == '0' && point > first + 1))
		return false;
	if (point + 1 < text.n_bytes && text.data[point] == '.')
		end = behind_digits(text, point + 1);
	return end == text.n_bytes || trace_is_decimal(text.data, text.n_bytes);
}

static bool is_word(struct trace_text text, const char *word)
{
	return text.n_bytes == strlen(word) && memcmp(text.data, word, text.n_bytes) == 0;
}

/* True for NaN, -nan, Infinity, +inf and the like. */
static bool is_no_number(struct trace_text text)
{
	static const char *const words[] = { "nan", "inf", "infinity" };

	if (text.data[0] == '-' || text.data[0] == '+') {
		text.data++;
		text.n_bytes--;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (text.n_bytes == strlen(words[i]) && strncasecmp(text.data, words[i], text.n_bytes) == 0)
			return true;
	}
	return false;
}

static int check_primitive(struct grammar *grammar, struct trace_text text)
{
	if (is_json_number(text) || is_word(text, "true") || is_word(text, "false") || is_word(text, "null"))
		return TRACE_OK;
	return is_no_number(text) ? mend(grammar, TRACE_MEND_NO_NUMBER) : refuse(grammar->json, grammar->at);
}

static bool has_control_byte(struct trace_text text)
{
	unsigned found = 0;

	for (size_t i = 0; i < text.n_bytes; i++)
		found |= (unsigned char)text.data[i] < 0x20;
	return found;
}

static int check_string(struct grammar *grammar, struct trace_text text)
{
	int status = TRACE_OK;

	if (grammar->json->has_control_bytes && has_control_byte(text))
		status = mend(grammar, TRACE_MEND_CONTROL_BYTE);
	if (status == TRACE_OK && grammar->json->has_high_bytes && !trace_utf8_is_valid(text))
		status = mend(grammar, TRACE_MEND_UTF8);
	return status;
}

static int open_container(struct grammar *grammar, int token)
{
	if (grammar->n_open == TRACE_MAX_NESTING)
		return fail(grammar->json, TRACE_ERROR_LIMIT, grammar->at, "more than 1000 objects and arrays are nested here");
	grammar->n_open++;
	enter(grammar, token);
	grammar->place = AT_BEGIN;
	grammar->at++;
	return TRACE_OK;
}

static int check_text(struct grammar *grammar, const jsmntok_t *token)
{
	struct trace_text text = { grammar->json->text.data + token->start, (size_t)(token->end - token->start) };

	if (token->type != JSMN_STRING)
		return check_primitive(grammar, text);
	return grammar->json->has_control_bytes || grammar->json->has_high_bytes ? check_string(grammar, text) : TRACE_OK;
}

/* Checks whether a token may stand here, as a key or as a value. */
static inline int check_token(struct grammar *grammar, jsmntok_t *token, int i)
{
	bool is_key = grammar->is_in_object && grammar->place != AT_COLON;
	int status = TRACE_OK;

	if ((grammar->n_open == 0 && i > 0) || grammar->place == AT_KEY || (is_key && token->type != JSMN_STRING))
		return refuse(grammar->json, grammar->at);
	if (grammar->place == AT_VALUE)
		status = mend(grammar, TRACE_MEND_MISSING_COMMA);
	if (status < 0)
		return status;
	token->parent = grammar->container;
	if (token->type == JSMN_OBJECT || token->type == JSMN_ARRAY)
		return open_container(grammar, i);
	token->size = i + 1;
	status = check_text(grammar, token);
	grammar->place = is_key ? AT_KEY : AT_VALUE;
	grammar->at = (size_t)token->end + (token->type == JSMN_STRING);
	return status;
}

static int check_grammar(struct trace_json *json, bool is_strict)
{
	struct grammar grammar = { .json = json, .is_strict = is_strict, .container = -1 };
	jsmntok_t *tokens = json->tokens;
	int status = TRACE_OK, n_tokens = (int)json->n_tokens;

	for (int i = 0; status == TRACE_OK && i < n_tokens; i++) {
		size_t start = (size_t)tokens[i].start - (tokens[i].type == JSMN_STRING);

		if (!passes_gap(&grammar, start))
			status = check_gap(&grammar, start, i);
		if (status == TRACE_OK)
			status = check_token(&grammar, &tokens[i], i);
	}
	if (status == TRACE_OK)
		status = check_gap(&grammar, json->text.n_bytes, n_tokens);
	if (status == TRACE_OK && (n_tokens == 0 || grammar.n_open > 0))
		return refuse(json, json->text.n_bytes);
	return status;
}

/* ---- Parsing ---- */

/* Replaces NUL bytes by spaces, because the library takes NUL for the end of the text. */
static int hide_nul(struct trace_json *json, bool is_strict)
{
	const char *nul = json->has_control_bytes ? memchr(json->text.data, 0, json->text.n_bytes) : NULL;

	if (!nul)
		return TRACE_OK;
	if (is_strict)
		return refuse(json, (size_t)(nul - json->text.data));
	trace_bytes_clear(&json->copy);
	if (trace_bytes_append(&json->copy, json->text, NULL) < 0)
		return fail(json, TRACE_ERROR_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < json->text.n_bytes; i++)
		json->copy.data[i] = json->copy.data[i] ? json->copy.data[i] : ' ';
	json->text.data = json->copy.data;
	json->mended[TRACE_MEND_CONTROL_BYTE]++;
	return TRACE_OK;
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The highest bit of some byte is set if and only if there is a byte below `least`. Because of borrows, the bit may be set in
 * other bytes, too. */
static uint64_t bytes_below(uint64_t word, unsigned least)
{
	return (word - EACH_BYTE(least)) & ~word;
}

/* Finds out which special bytes occur at all. If none does, as in most texts, no string needs a closer look. */
static void look_at_bytes(struct trace_json *json)
{
	const char *data = json->text.data, *end = data + json->text.n_bytes;
	uint64_t high = 0, low = 0, backslash = 0, word;

	for (; end - data >= 8; data += 8) {
		memcpy(&word, data, 8);
		high |= word;
		low |= bytes_below(word, 0x20);
		backslash |= bytes_below(word ^ EACH_BYTE('\\'), 1);
	}
	word = EACH_BYTE(' ');
	memcpy(&word, data, (size_t)(end - data));
	high |= word;
	low |= bytes_below(word, 0x20);
	backslash |= bytes_below(word ^ EACH_BYTE('\\'), 1);
	json->has_high_bytes = high & EACH_BYTE(0x80);
	json->has_control_bytes = low & EACH_BYTE(0x80);
	json->has_escapes = backslash & EACH_BYTE(0x80);
}

static void release_decoded(struct trace_json *json)
{
	while (json->decoded) {
		struct trace_json_block *next = json->decoded->next;

		free(json->decoded);
		json->decoded = next;
	}
}

int trace_json_parse(struct trace_json *json, struct trace_text text, bool is_strict)
{
	int status;

	if (json->decoded && (json->decoded->next || json->decoded->n_allocated > BLOCK_BYTES))
		release_decoded(json);
	if (json->decoded)
		json->decoded->n_bytes = 0;
	json->text = text;
	json->is_mended = false;
	look_at_bytes(json);
	status = hide_nul(json, is_strict);
	if (status == TRACE_OK)
		status = find_tokens(json);
	return status < 0 ? status : check_grammar(json, is_strict);
}

void trace_json_release(struct trace_json *json)
{
	free(json->tokens);
	release_decoded(json);
	trace_bytes_release(&json->copy);
	*json = (struct trace_json){ 0 };
}

/* ---- Nodes ---- */

static struct trace_text slice(const struct trace_json *json, size_t node)
{
	const jsmntok_t *token = &tokens_of(json)[node];

	return (struct trace_text){ json->text.data + token->start, (size_t)(token->end - token->start) };
}

enum trace_json_type trace_json_type_of(const struct trace_json *json, size_t node)
{
	const jsmntok_t *token = &tokens_of(json)[node];
	const char *text = json->text.data + token->start;

	switch (token->type) {
	case JSMN_OBJECT:
		return TRACE_JSON_OBJECT;
	case JSMN_ARRAY:
		return TRACE_JSON_ARRAY;
	case JSMN_STRING:
		return TRACE_JSON_STRING;
	default:
		break;
	}
	if (*text == 't' || *text == 'f')
		return TRACE_JSON_WORD;
	if ((*text >= '0' && *text <= '9') || (*text == '-' && text[1] >= '0' && text[1] <= '9'))
		return TRACE_JSON_NUMBER;
	return TRACE_JSON_NULL;
}

size_t trace_json_place(const struct trace_json *json, size_t node)
{
	return (size_t)tokens_of(json)[node].start;
}

size_t trace_json_first(const struct trace_json *json, size_t node)
{
	return node + 1 < (size_t)tokens_of(json)[node].size ? node + 1 : 0;
}

size_t trace_json_value(const struct trace_json *json, size_t key)
{
	(void)json;
	return key + 1;
}

size_t trace_json_next(const struct trace_json *json, size_t node)
{
	const jsmntok_t *tokens = tokens_of(json);
	int parent = tokens[node].parent;
	size_t next = (size_t)tokens[parent >= 0 && tokens[parent].type == JSMN_OBJECT ? node + 1 : node].size;

	return next < json->n_tokens && tokens[next].parent == parent ? next : 0;
}

/* ---- Texts ---- */

/* Copies the text to memory that lasts until the next text is parsed. */
static int keep(struct trace_json *json, struct trace_text *text)
{
	struct trace_json_block *block = json->decoded;

	if (!block || block->n_allocated - block->n_bytes < text->n_bytes) {
		size_t n_allocated = text->n_bytes < BLOCK_BYTES ? BLOCK_BYTES : text->n_bytes;

		block = malloc(sizeof *block + n_allocated);
		if (!block)
			return TRACE_ERROR_MEMORY;
		*block = (struct trace_json_block){ .next = json->decoded, .n_allocated = n_allocated };
		json->decoded = block;
	}
	if (text->n_bytes > 0)
		memcpy(block->data + block->n_bytes, text->data, text->n_bytes);
	text->data = block->data + block->n_bytes;
	block->n_bytes += text->n_bytes;
	return TRACE_OK;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int trace_json_escape_unit(const char *text, size_t n_bytes)
{
	int unit = 0;

	if (n_bytes < UNIT_BYTES || text[0] != '\\' || text[1] != 'u')
		return -1;
	for (int i = 2; i < UNIT_BYTES; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

/* Returns the code point of the escape \uXXXX, or of the surrogate pair, at the start of the text. */
static unsigned unescape_unit(const char *text, size_t n_bytes, size_t *n_taken)
{
	int unit = trace_json_escape_unit(text, n_bytes), low;

	*n_taken = UNIT_BYTES;
	if (unit < 0xD800 || unit > 0xDFFF)
		return unit < 0 ? TRACE_REPLACEMENT_CHARACTER : (unsigned)unit;
	low = unit < 0xDC00 ? trace_json_escape_unit(text + UNIT_BYTES, n_bytes - UNIT_BYTES) : -1;
	if (low < 0xDC00 || low > 0xDFFF)
		return TRACE_REPLACEMENT_CHARACTER;
	*n_taken = ESCAPE_PAIR_BYTES;
	return 0x10000 + ((unsigned)unit - 0xD800) * 0x400 + ((unsigned)low - 0xDC00);
}

static unsigned unescape_letter(char letter)
{
	switch (letter) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return (unsigned char)letter;
	}
}

/* Requires valid escapes, which the library has checked. */
static int unescape(struct trace_bytes *out, struct trace_text text)
{
	int status = TRACE_OK;

	while (status == TRACE_OK && text.n_bytes > 0) {
		const char *escape = memchr(text.data, '\\', text.n_bytes);
		size_t n_plain = escape ? (size_t)(escape - text.data) : text.n_bytes, n_taken = 2;
		unsigned code_point;

		status = trace_utf8_append_mended(out, (struct trace_text){ text.data, n_plain });
		text.data += n_plain;
		text.n_bytes -= n_plain;
		if (status < 0 || text.n_bytes < 2)
			break;
		code_point =
			text.data[1] == 'u' ? unescape_unit(text.data, text.n_bytes, &n_taken) : unescape_letter(text.data[1]);
		status = trace_utf8_append(out, code_point);
		text.data += n_taken;
		text.n_bytes -= n_taken;
	}
	return status;
}

/* Not inlined, because few strings need it. */
__attribute__((noinline)) static int decode(struct trace_json *json, struct trace_text *text)
{
	bool has_escape = json->has_escapes && memchr(text->data, '\\', text->n_bytes);
	struct trace_bytes out = { 0 };
	int status;

	if (!has_escape && (!json->has_high_bytes || trace_utf8_is_valid(*text)))
		return TRACE_OK;
	status = unescape(&out, *text);
	if (status == TRACE_OK) {
		*text = (struct trace_text){ out.data, out.n_bytes };
		status = keep(json, text);
	}
	trace_bytes_release(&out);
	return status;
}

int trace_json_text(struct trace_json *json, size_t node, struct trace_text *text)
{
	*text = slice(json, node);
	switch (trace_json_type_of(json, node)) {
	case TRACE_JSON_STRING:
		return json->has_escapes || json->has_high_bytes ? decode(json, text) : TRACE_OK;
	case TRACE_JSON_NUMBER:
	case TRACE_JSON_WORD:
		return TRACE_OK;
	default:
		*text = (struct trace_text){ NULL, 0 };
		return TRACE_OK;
	}
}

int trace_json_next_member(struct trace_json *json, size_t object, size_t *value, struct trace_text *key)
{
	const jsmntok_t *tokens = tokens_of(json);
	size_t next = *value ? (size_t)tokens[*value].size : object + 1;

	if (next >= json->n_tokens || tokens[next].parent != (int)object)
		return TRACE_OK;
	*value = next + 1;
	*key = slice(json, next);
	if ((json->has_escapes || json->has_high_bytes) && decode(json, key) < 0)
		return TRACE_ERROR_MEMORY;
	return TRACE_ROW;
}

/* ---- JSON that every parser accepts ---- */

static int append(struct trace_bytes *out, const char *text)
{
	return trace_bytes_append(out, (struct trace_text){ text, strlen(text) }, NULL);
}

/* Appends a string in quotes, with control bytes as escapes. */
static int append_string(struct trace_bytes *out, struct trace_text text)
{
	int status = append(out, "\"");

	while (status == TRACE_OK && text.n_bytes > 0) {
		char escape[8];
		size_t n_plain = 0;

		while (n_plain < text.n_bytes && (unsigned char)text.data[n_plain] >= 0x20)
			n_plain++;
		status = trace_utf8_append_mended(out, (struct trace_text){ text.data, n_plain });
		text.data += n_plain;
		text.n_bytes -= n_plain;
		if (status == TRACE_OK && text.n_bytes > 0) {
			snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*text.data);
			status = append(out, escape);
			text.data++;
			text.n_bytes--;
		}
	}
	return status < 0 ? status : append(out, "\"");
}

static int append_node(const struct trace_json *json, size_t node, struct trace_bytes *out);

/* The recursion is no deeper than TRACE_MAX_NESTING. */
static int append_container(const struct trace_json *json, size_t node, struct trace_bytes *out)
{
	bool is_object = trace_json_type_of(json, node) == TRACE_JSON_OBJECT;
	int status = append(out, is_object ? "{" : "[");
	const char *comma = "";

	for (size_t i = trace_json_first(json, node); status == TRACE_OK && i; i = trace_json_next(json, i)) {
		status = append(out, comma);
		comma = ",";
		if (status == TRACE_OK && is_object) {
			status = append_string(out, slice(json, i));
			if (status == TRACE_OK)
				status = append(out, ":");
		}
		if (status == TRACE_OK)
			status = append_node(json, is_object ? trace_json_value(json, i) : i, out);
	}
	return status < 0 ? status : append(out, is_object ? "}" : "]");
}

static int append_node(const struct trace_json *json, size_t node, struct trace_bytes *out)
{
	switch (trace_json_type_of(json, node)) {
	case TRACE_JSON_OBJECT:
	case TRACE_JSON_ARRAY:
		return append_container(json, node, out);
	case TRACE_JSON_STRING:
		return append_string(out, slice(json, node));
	case TRACE_JSON_NULL:
		return append(out, "null");
	default:
		return trace_bytes_append(out, slice(json, node), NULL);
	}
}

int trace_json_written(struct trace_json *json, size_t node, struct trace_text *text)
{
	bool is_string = trace_json_type_of(json, node) == TRACE_JSON_STRING;
	struct trace_bytes out = { 0 };
	int status;

	*text = slice(json, node);
	if (!json->is_mended) {
		text->data -= is_string;
		text->n_bytes += 2 * is_string;
		return TRACE_OK;
	}
	status = append_node(json, node, &out);
	if (status == TRACE_OK) {
		*text = (struct trace_text){ out.data, out.n_bytes };
		status = keep(json, text);
	}
	trace_bytes_release(&out);
	return status;
}
