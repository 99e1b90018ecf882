#include "trace/json_events.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "trace/event_finder.h"
#include "trace/json_escape.h"
#include "trace/json_token.h"

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

	fail(parser, TRACE_ERROR_JSON, token_offset(parser), "not valid JSON");
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
