#include "trace/json_events.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/* ---- Escape sequences ---- */

enum { UNIT_BYTES = 6, PAIR_BYTES = 12 };

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

static bool is_high_half(int unit)
{
	return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_half(int unit)
{
	return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Does the text end before it is known whether it begins with \uXXXX? */
static bool may_become_unit(const char *text, size_t n_bytes)
{
	return n_bytes < UNIT_BYTES && (n_bytes < 1 || text[0] == '\\') && (n_bytes < 2 || text[1] == 'u');
}

size_t trace_json_escape_bytes(const char *text, size_t n_bytes, bool *is_half)
{
	int unit = trace_json_escape_unit(text, n_bytes);

	*is_half = false;
	if (may_become_unit(text, n_bytes))
		return 0;
	if (unit < 0)
		return 2;
	if (is_high_half(unit)) {
		if (is_low_half(trace_json_escape_unit(text + UNIT_BYTES, n_bytes - UNIT_BYTES)))
			return PAIR_BYTES;
		if (may_become_unit(text + UNIT_BYTES, n_bytes - UNIT_BYTES))
			return 0;
	}
	*is_half = is_high_half(unit) || is_low_half(unit);
	return UNIT_BYTES;
}

int trace_json_mend(struct trace_text text, struct trace_bytes *copy, struct trace_text *mended)
{
	const char *at = text.data, *end = text.data + text.n_bytes;
	bool is_half;

	*mended = text;
	while ((at = memchr(at, '\\', (size_t)(end - at)))) {
		size_t position = (size_t)(at - text.data), n_bytes = trace_json_escape_bytes(at, (size_t)(end - at), &is_half);

		if (n_bytes == 0) {
			mended->n_bytes = position;
			break;
		}
		if (is_half && mended->data == text.data) {
			trace_bytes_clear(copy);
			if (trace_bytes_append(copy, text, NULL) < 0)
				return TRACE_ERROR_MEMORY;
			mended->data = copy->data;
		}
		if (is_half)
			memcpy(copy->data + position, "\\ufffd", UNIT_BYTES);
		at += n_bytes;
	}
	return TRACE_OK;
}

/* ---- Tokens to events ---- */

/* Which tokens of a JSON text make up events, and what each means in them: where are we, and is this an event at all? It is
 * told token by token, and knows neither the parser nor how the text is cut into pieces, except that arguments are kept as
 * they are written, piece by piece.
 *
 *     trace_finder_begin_piece, then for each token that ends in the piece trace_finder_key, _scalar, _begin_container or
 *     _end_container, then trace_finder_end_piece
 *
 * These answer TRACE_OK or a negative status, after which nothing more may be told. Unless that is TRACE_ERROR_MEMORY,
 * `problem` says where and what. */

/* Where a token ends. */
struct trace_token_end {
	uint64_t offset; /* of its last byte in the text */
	const char *end; /* behind it in the piece, as the file has it */
};

/* To be read by others, but for `problem` not to be changed. */
struct trace_event_finder {
	struct trace_json_handler handler;
	struct trace_event_fields fields;

	/* Depths count the open objects and arrays around a place. */
	unsigned depth;
	unsigned events_depth;	/* directly inside the array of events; 0 before it is found */
	bool in_events;		/* inside the array of events */
	bool in_event;		/* inside an object in it */
	bool at_events_key;	/* the value to come is that of the top-level key traceEvents */
	bool in_samples;	/* inside the object "args" of what may be a counter */
	bool at_sample_value;	/* the value to come is that of a sample */
	enum trace_field field; /* the value to come is that of this field of an event */
	bool in_args;		/* the text from args_from on belongs to the arguments that are kept */
	const char *args_from;

	struct trace_json_problem problem;
};

/* TRACE_OK or TRACE_ERROR_MEMORY; release in any case. */
int trace_finder_init(struct trace_event_finder *finder, const struct trace_json_handler *handler);
void trace_finder_release(struct trace_event_finder *finder);

/* Notes a problem, and answers the status. */
int trace_finder_fail(struct trace_event_finder *finder, int status, uint64_t offset, const char *text);

void trace_finder_begin_piece(struct trace_event_finder *finder, const char *text);
int trace_finder_end_piece(struct trace_event_finder *finder, const char *end);

/* The key of a member. */
int trace_finder_key(struct trace_event_finder *finder, struct trace_token_end at, struct trace_text key);

/* A number, string or literal; without data it is null. */
int trace_finder_scalar(struct trace_event_finder *finder, struct trace_token_end at, struct trace_text value);

int trace_finder_begin_container(struct trace_event_finder *finder, struct trace_token_end at, bool is_object);
int trace_finder_end_container(struct trace_event_finder *finder, struct trace_token_end at);

/* Must the text of the token to come, or of the one that the last piece leaves unfinished, be kept? */
bool trace_finder_wants_token(const struct trace_event_finder *finder);

/* The token in which a piece of JSON text ends: is it a string, and how long is it already?
 *
 * YAJL keeps a token that a piece leaves unfinished and reads it anew with each further piece: a string of many
 * pieces would cost quadratic time, and memory even where nobody wants it. Its reader therefore follows the
 * unfinished token itself, to feed long wanted strings in growing pieces and to leave out long unwanted ones. */

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

/* ---- Events among the tokens of a text ---- */

int trace_finder_init(struct trace_event_finder *finder, const struct trace_json_handler *handler)
{
	*finder = (struct trace_event_finder){ .handler = *handler };
	return trace_fields_init(&finder->fields);
}

void trace_finder_release(struct trace_event_finder *finder)
{
	trace_fields_release(&finder->fields);
}

int trace_finder_fail(struct trace_event_finder *finder, int status, uint64_t offset, const char *text)
{
	finder->problem.offset = offset;
	snprintf(finder->problem.text, sizeof finder->problem.text, "%s", text);
	return status;
}

static int check_kept_bytes(struct trace_event_finder *finder, size_t n_more)
{
	if (trace_fields_kept_bytes(&finder->fields) + n_more <= TRACE_MAX_KEPT_BYTES)
		return TRACE_OK;
	return trace_finder_fail(finder, TRACE_ERROR_LIMIT, finder->fields.offset,
				 "the event that starts here is longer than 256 MiB");
}

static int keep_args(struct trace_event_finder *finder, const char *end)
{
	struct trace_text part = { finder->args_from, (size_t)(end - finder->args_from) };
	int status = check_kept_bytes(finder, part.n_bytes);

	return status < 0 ? status : trace_bytes_append(&finder->fields.args, part, NULL);
}

void trace_finder_begin_piece(struct trace_event_finder *finder, const char *text)
{
	finder->args_from = text;
}

int trace_finder_end_piece(struct trace_event_finder *finder, const char *end)
{
	return finder->in_args ? keep_args(finder, end) : TRACE_OK;
}

/* Directly inside an event? */
static bool in_member(const struct trace_event_finder *finder)
{
	return finder->in_event && finder->depth == finder->events_depth + 1;
}

/* Directly inside an object or array that is the value of a member of an event? */
static bool in_value(const struct trace_event_finder *finder)
{
	return finder->in_event && finder->depth == finder->events_depth + 2;
}

/* The value of a field of the event is complete. */
static int end_field(struct trace_event_finder *finder, const char *end, struct trace_text value)
{
	enum trace_field field = finder->field;
	int status;

	finder->field = TRACE_FIELD_OTHER;
	if (finder->in_args) {
		finder->in_args = false;
		return keep_args(finder, end);
	}
	status = check_kept_bytes(finder, value.n_bytes);
	return status < 0 ? status : trace_fields_set(&finder->fields, field, value);
}

static int end_event(struct trace_event_finder *finder)
{
	const char *problem = "out of memory";
	int status;

	finder->in_event = false;
	status = finder->handler.on_event(finder->handler.context, &finder->fields, &problem);
	return status < 0 ? trace_finder_fail(finder, status, finder->fields.offset, problem) : TRACE_OK;
}

int trace_finder_scalar(struct trace_event_finder *finder, struct trace_token_end at, struct trace_text value)
{
	if (in_member(finder))
		return end_field(finder, at.end, value);
	if (in_value(finder) && finder->at_sample_value) {
		finder->at_sample_value = false;
		return trace_fields_sample_value(&finder->fields, value);
	}
	if (finder->depth == 0)
		return trace_finder_fail(finder, TRACE_ERROR_NOT_TRACE, at.offset, "a trace is an object or an array");
	if (finder->at_events_key)
		return trace_finder_fail(finder, TRACE_ERROR_NOT_TRACE, at.offset, "\"traceEvents\" is not an array");
	return TRACE_OK;
}

static int event_key(struct trace_event_finder *finder, const char *end, struct trace_text key)
{
	char phase = finder->fields.phase;

	finder->field = trace_field_of_key(key);
	if (finder->field == TRACE_FIELD_ARGS) {
		/* The phase may come behind the arguments: then it is not known yet. */
		finder->in_args = finder->handler.keep_args && (phase == 0 || phase == 'X' || phase == 'B');
		finder->args_from = end;
		trace_fields_begin_args(&finder->fields);
	}
	return TRACE_OK;
}

static int sample_key(struct trace_event_finder *finder, struct trace_text key)
{
	int status = check_kept_bytes(finder, key.n_bytes);

	finder->at_sample_value = true;
	return status < 0 ? status : trace_fields_sample_key(&finder->fields, key);
}

int trace_finder_key(struct trace_event_finder *finder, struct trace_token_end at, struct trace_text key)
{
	if (in_member(finder))
		return event_key(finder, at.end, key);
	if (in_value(finder) && finder->in_samples)
		return sample_key(finder, key);
	if (!finder->in_event && finder->depth == 1) {
		finder->at_events_key = key.n_bytes == 11 && memcmp(key.data, "traceEvents", 11) == 0;
		if (finder->at_events_key && finder->events_depth)
			return trace_finder_fail(finder, TRACE_ERROR_NOT_TRACE, at.offset, "\"traceEvents\" occurs twice");
	}
	return TRACE_OK;
}

/* Decides what an object or array is that begins at the present depth. */
static int classify(struct trace_event_finder *finder, uint64_t offset, bool is_object)
{
	if (finder->in_event) {
		char phase = finder->fields.phase;

		if (in_member(finder) && finder->field == TRACE_FIELD_ARGS)
			finder->in_samples = is_object && finder->handler.keep_samples && (phase == 0 || phase == 'C');
		if (in_value(finder))
			finder->at_sample_value = false;
	} else if (finder->in_events) {
		if (is_object && finder->depth == finder->events_depth) {
			finder->in_event = true;
			trace_fields_begin(&finder->fields, offset);
		}
	} else if (finder->at_events_key || (finder->depth == 0 && !is_object)) {
		if (is_object)
			return trace_finder_fail(finder, TRACE_ERROR_NOT_TRACE, offset, "\"traceEvents\" is not an array");
		finder->at_events_key = false;
		finder->in_events = true;
		finder->events_depth = finder->depth + 1;
	}
	return TRACE_OK;
}

int trace_finder_begin_container(struct trace_event_finder *finder, struct trace_token_end at, bool is_object)
{
	int status = classify(finder, at.offset, is_object);

	if (status < 0)
		return status;
	if (finder->depth == TRACE_MAX_NESTING)
		return trace_finder_fail(finder, TRACE_ERROR_LIMIT, at.offset,
					 "more than 1000 objects and arrays are nested here");
	finder->depth++;
	return TRACE_OK;
}

int trace_finder_end_container(struct trace_event_finder *finder, struct trace_token_end at)
{
	finder->depth--;
	if (finder->in_events && finder->depth < finder->events_depth)
		finder->in_events = false;
	if (!finder->in_event)
		return TRACE_OK;
	if (in_member(finder)) {
		finder->in_samples = false;
		return end_field(finder, at.end, (struct trace_text){ NULL, 0 });
	}
	return finder->depth > finder->events_depth ? TRACE_OK : end_event(finder);
}

bool trace_finder_wants_token(const struct trace_event_finder *finder)
{
	if (in_member(finder))
		return finder->in_args || (finder->field != TRACE_FIELD_OTHER && finder->field != TRACE_FIELD_ARGS);
	return finder->in_args || (in_value(finder) && finder->in_samples);
}

/* ---- The parser over YAJL ---- */

enum {
	LONG_STRING_BYTES = 64 * 1024, /* from here on a string gets special treatment */
	MAX_NUMBER_BYTES = 1024 * 1024,
	MARK_BYTES = 3
};

struct trace_json_events {
	struct trace_event_finder finder;
	yajl_handle yajl;
	jmp_buf out_of_memory; /* out of YAJL, which does not look whether it was given memory */
	int status;

	/* The piece that is being parsed. */
	const char *piece;
	uint64_t piece_offset; /* of its first byte in the text */
	size_t last_token_end; /* in the piece; 0 if no token ended in it */
	struct trace_json_token token;
	struct trace_bytes mended; /* the piece as YAJL sees it, if that is not as it is */
};

static int fail(struct trace_json_events *parser, int status, uint64_t offset, const char *text)
{
	parser->status = status;
	return trace_finder_fail(&parser->finder, status, offset, text);
}

static int out_of_memory(struct trace_json_events *parser)
{
	return fail(parser, TRACE_ERROR_MEMORY, parser->piece_offset, "out of memory");
}

/* What the finder answered; for callbacks of YAJL: 1 goes on, 0 stops. */
static int go_on(struct trace_json_events *parser, int status)
{
	parser->status = status;
	if (status == TRACE_ERROR_MEMORY)
		out_of_memory(parser);
	return status == TRACE_OK;
}

/* The last byte of the token that YAJL has taken from the piece. */
static uint64_t token_offset(const struct trace_json_events *parser)
{
	size_t n_consumed = yajl_get_bytes_consumed(parser->yajl);

	return parser->piece_offset + n_consumed - (n_consumed > 0);
}

static struct trace_token_end token_ended(struct trace_json_events *parser)
{
	parser->last_token_end = yajl_get_bytes_consumed(parser->yajl);
	return (struct trace_token_end){ token_offset(parser), parser->piece + parser->last_token_end };
}

static int on_scalar(struct trace_json_events *parser, const char *text, size_t n_bytes)
{
	return go_on(parser, trace_finder_scalar(&parser->finder, token_ended(parser), (struct trace_text){ text, n_bytes }));
}

static int on_null(void *parser)
{
	return on_scalar(parser, NULL, 0);
}

static int on_boolean(void *parser, int value)
{
	return value ? on_scalar(parser, "true", 4) : on_scalar(parser, "false", 5);
}

static int on_number(void *parser, const char *text, size_t n_bytes)
{
	return on_scalar(parser, text, n_bytes);
}

static int on_string(void *parser, const unsigned char *text, size_t n_bytes)
{
	return on_scalar(parser, n_bytes ? (const char *)text : "", n_bytes);
}

static int on_key(void *context, const unsigned char *text, size_t n_bytes)
{
	struct trace_json_events *parser = context;
	struct trace_text key = { n_bytes ? (const char *)text : "", n_bytes };

	return go_on(parser, trace_finder_key(&parser->finder, token_ended(parser), key));
}

static int on_begin(struct trace_json_events *parser, bool is_object)
{
	return go_on(parser, trace_finder_begin_container(&parser->finder, token_ended(parser), is_object));
}

static int on_begin_object(void *parser)
{
	return on_begin(parser, true);
}

static int on_begin_array(void *parser)
{
	return on_begin(parser, false);
}

static int on_end(void *context)
{
	struct trace_json_events *parser = context;

	return go_on(parser, trace_finder_end_container(&parser->finder, token_ended(parser)));
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_begin_object,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end,
	.yajl_start_array = on_begin_array,
	.yajl_end_array = on_end,
};

static void *must_have(struct trace_json_events *parser, void *memory)
{
	if (!memory)
		longjmp(parser->out_of_memory, 1);
	return memory;
}

static void *allocate(void *parser, size_t n_bytes)
{
	return must_have(parser, malloc(n_bytes));
}

static void *reallocate(void *parser, void *memory, size_t n_bytes)
{
	return must_have(parser, realloc(memory, n_bytes));
}

static void release(void *parser, void *memory)
{
	(void)parser;
	free(memory);
}

/* What YAJL has allocated when it fails to get more in here, some hundred bytes, is lost. */
static yajl_handle new_yajl(struct trace_json_events *parser)
{
	yajl_alloc_funcs functions = { allocate, reallocate, release, parser };

	if (setjmp(parser->out_of_memory))
		return NULL;
	return yajl_alloc(&callbacks, &functions, parser);
}

struct trace_json_events *trace_json_events_new(const struct trace_json_handler *handler)
{
	struct trace_json_events *parser = calloc(1, sizeof *parser);

	if (!parser)
		return NULL;
	if (trace_finder_init(&parser->finder, handler) == TRACE_OK)
		parser->yajl = new_yajl(parser);
	if (!parser->yajl) {
		trace_json_events_free(parser);
		return NULL;
	}
	/* Real traces hold names that are not UTF-8. */
	yajl_config(parser->yajl, yajl_dont_validate_strings, 1);
	return parser;
}

void trace_json_events_free(struct trace_json_events *parser)
{
	if (!parser)
		return;
	if (parser->yajl)
		yajl_free(parser->yajl);
	trace_finder_release(&parser->finder);
	trace_bytes_release(&parser->mended);
	free(parser);
}

static int json_error(struct trace_json_events *parser)
{
	unsigned char *text = yajl_get_error(parser->yajl, 0, NULL, 0);
	struct trace_json_problem *problem = &parser->finder.problem;

	fail(parser, TRACE_ERROR_FORMAT, token_offset(parser), "not valid JSON");
	if (text) {
		snprintf(problem->text, sizeof problem->text, "not valid JSON: %s", (const char *)text);
		problem->text[strcspn(problem->text, "\n")] = 0;
		yajl_free_error(parser->yajl, text);
	}
	return parser->status;
}

static int follow_token(struct trace_json_events *parser, const char *text, size_t n_bytes)
{
	if (parser->last_token_end > 0)
		parser->token = (struct trace_json_token){ 0 };
	trace_json_token_follow(&parser->token, text + parser->last_token_end, n_bytes - parser->last_token_end);
	if (!parser->token.in_string && parser->token.n_bytes > MAX_NUMBER_BYTES)
		return fail(parser, TRACE_ERROR_LIMIT, parser->piece_offset, "a number is longer than 1 MiB");
	if (parser->token.in_string && parser->token.n_bytes > TRACE_MAX_KEPT_BYTES &&
	    trace_finder_wants_token(&parser->finder))
		return fail(parser, TRACE_ERROR_LIMIT, parser->piece_offset,
			    "a string that must be kept is longer than 256 MiB");
	return TRACE_OK;
}

/* YAJL sees what is shown; text is the same as the file has it. */
static int parse(struct trace_json_events *parser, const char *text, struct trace_text shown)
{
	yajl_status status;

	if (shown.n_bytes == 0)
		return TRACE_OK;
	if (setjmp(parser->out_of_memory))
		return out_of_memory(parser);
	parser->piece = text;
	parser->last_token_end = 0;
	trace_finder_begin_piece(&parser->finder, text);
	status = yajl_parse(parser->yajl, (const unsigned char *)shown.data, shown.n_bytes);
	if (status == yajl_status_error)
		return json_error(parser);
	if (status != yajl_status_ok)
		return parser->status;
	if (!go_on(parser, trace_finder_end_piece(&parser->finder, text + shown.n_bytes)))
		return parser->status;
	if (follow_token(parser, text, shown.n_bytes) < 0)
		return parser->status;
	parser->piece_offset += shown.n_bytes;
	return TRACE_OK;
}

/* Inside a long string that nobody wants: shows YAJL nothing of the text before the closing quote. How much that is. */
static size_t skip_string(struct trace_json_events *parser, const char *text, size_t n_bytes)
{
	size_t n_skipped = 0;

	if (parser->token.in_string && parser->token.n_bytes >= LONG_STRING_BYTES && !trace_finder_wants_token(&parser->finder))
		n_skipped = trace_json_token_follow(&parser->token, text, n_bytes);
	parser->piece_offset += n_skipped;
	return n_skipped;
}

/* Some programs write a byte order mark before UTF-8. How much of the text is that, or its beginning. */
static size_t mark_bytes(const struct trace_json_events *parser, const char *text, size_t n_bytes)
{
	size_t n_compared = n_bytes < MARK_BYTES ? n_bytes : MARK_BYTES;

	return parser->piece_offset == 0 && memcmp(text, "\xEF\xBB\xBF", n_compared) == 0 ? n_compared : 0;
}

int trace_json_events_feed(struct trace_json_events *parser, const char *text, size_t n_bytes, size_t *n_taken)
{
	size_t n_mark = mark_bytes(parser, text, n_bytes), n_skipped;
	struct trace_text rest, shown;

	*n_taken = 0;
	if (n_mark > 0 && n_mark < MARK_BYTES)
		return TRACE_OK;
	parser->piece_offset += n_mark;
	n_skipped = n_mark + skip_string(parser, text + n_mark, n_bytes - n_mark);
	rest = (struct trace_text){ text + n_skipped, n_bytes - n_skipped };
	*n_taken = n_bytes;
	if (trace_json_mend(rest, &parser->mended, &shown) < 0)
		return out_of_memory(parser);
	if (parse(parser, rest.data, shown) < 0)
		return parser->status;
	/* What looks like an escape sequence outside of a string is none, and wrong. */
	if (shown.n_bytes < rest.n_bytes && !parser->token.in_string)
		return parse(parser, rest.data + shown.n_bytes,
			     (struct trace_text){ rest.data + shown.n_bytes, rest.n_bytes - shown.n_bytes });
	*n_taken = n_skipped + shown.n_bytes;
	return TRACE_OK;
}

size_t trace_json_events_piece_bytes(const struct trace_json_events *parser)
{
	bool is_long = parser->token.in_string && parser->token.n_bytes >= LONG_STRING_BYTES;

	return is_long && trace_finder_wants_token(&parser->finder) ? (size_t)parser->token.n_bytes : 0;
}

int trace_json_events_end(struct trace_json_events *parser, bool *truncated)
{
	*truncated = parser->finder.in_events;
	if (parser->finder.events_depth)
		return TRACE_OK;
	return fail(parser, TRACE_ERROR_NOT_TRACE, parser->piece_offset,
		    parser->piece_offset == 0  ? "the file is empty"
		    : parser->finder.depth > 0 ? "the file ends before an array \"traceEvents\" begins"
					       : "there is no array \"traceEvents\" at the top level");
}

const struct trace_json_problem *trace_json_events_problem(const struct trace_json_events *parser)
{
	return &parser->finder.problem;
}
