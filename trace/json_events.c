#include "trace/json_events.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "trace/json_escape.h"
#include "trace/json_token.h"

enum {
	LONG_STRING_BYTES = 64 * 1024, /* from here on a string gets special treatment */
	MAX_NUMBER_BYTES = 1024 * 1024,
	MARK_BYTES = 3
};

struct trace_json_events {
	struct trace_json_handler handler;
	struct trace_event_fields fields;
	yajl_handle yajl;
	jmp_buf out_of_memory; /* out of YAJL, which does not look whether it was given memory */

	/* Where we are. Depths count the open objects and arrays around a place. */
	unsigned depth;
	unsigned events_depth;	/* directly inside the array of events; 0 before it is found */
	bool in_events;		/* inside the array of events */
	bool in_event;		/* inside an object in it */
	bool at_events_key;	/* the value to come is that of the top-level key traceEvents */
	bool in_samples;	/* inside the object "args" of what may be a counter */
	bool at_sample_value;	/* the value to come is that of a sample */
	enum trace_field field; /* the value to come is that of this field of an event */

	/* The piece that is being parsed. */
	const char *piece;
	uint64_t piece_offset; /* of its first byte in the text */
	size_t last_token_end; /* in the piece; 0 if no token ended in it */
	struct trace_json_token token;
	struct trace_bytes mended; /* the piece as YAJL sees it, if that is not as it is */
	bool in_args;		   /* the bytes of the piece from args_start on belong to args */
	size_t args_start;

	int status;
	struct trace_json_problem problem;
};

static int fail(struct trace_json_events *parser, int status, uint64_t offset, const char *text)
{
	parser->status = status;
	parser->problem.offset = offset;
	snprintf(parser->problem.text, sizeof parser->problem.text, "%s", text);
	return status;
}

static int out_of_memory(struct trace_json_events *parser)
{
	return fail(parser, TRACE_ERROR_MEMORY, parser->piece_offset, "out of memory");
}

/* For callbacks of YAJL: 1 goes on, 0 stops. */
static int go_on(struct trace_json_events *parser, int status)
{
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

static int refuse(struct trace_json_events *parser, int status, const char *text)
{
	fail(parser, status, token_offset(parser), text);
	return 0;
}

static struct trace_json_events *token_ended(void *context)
{
	struct trace_json_events *parser = context;

	parser->last_token_end = yajl_get_bytes_consumed(parser->yajl);
	return parser;
}

static int check_kept_bytes(struct trace_json_events *parser, size_t n_more)
{
	if (trace_fields_kept_bytes(&parser->fields) + n_more <= TRACE_MAX_KEPT_BYTES)
		return TRACE_OK;
	return fail(parser, TRACE_ERROR_LIMIT, parser->fields.offset, "the event that starts here is longer than 256 MiB");
}

static int keep_args_of_piece(struct trace_json_events *parser, size_t end)
{
	struct trace_text part = { parser->piece + parser->args_start, end - parser->args_start };

	parser->args_start = 0;
	if (check_kept_bytes(parser, part.n_bytes) < 0)
		return parser->status;
	return trace_bytes_append(&parser->fields.args, part, NULL);
}

/* The value of a field of the event is complete. */
static int end_field(struct trace_json_events *parser, struct trace_text value)
{
	enum trace_field field = parser->field;

	parser->field = TRACE_FIELD_OTHER;
	if (parser->in_args) {
		parser->in_args = false;
		return keep_args_of_piece(parser, parser->last_token_end);
	}
	if (check_kept_bytes(parser, value.n_bytes) < 0)
		return parser->status;
	return trace_fields_set(&parser->fields, field, value);
}

static int end_event(struct trace_json_events *parser)
{
	const char *problem = "out of memory";
	int status;

	parser->in_event = false;
	status = parser->handler.on_event(parser->handler.context, &parser->fields, &problem);
	return status < 0 ? fail(parser, status, parser->fields.offset, problem) : TRACE_OK;
}

static int on_scalar(struct trace_json_events *parser, struct trace_text value)
{
	if (parser->in_event) {
		if (parser->depth == parser->events_depth + 1)
			return go_on(parser, end_field(parser, value));
		if (parser->at_sample_value && parser->depth == parser->events_depth + 2) {
			parser->at_sample_value = false;
			return go_on(parser, trace_fields_sample_value(&parser->fields, value));
		}
		return 1;
	}
	if (parser->depth == 0)
		return refuse(parser, TRACE_ERROR_NOT_TRACE, "a trace is an object or an array");
	if (parser->at_events_key)
		return refuse(parser, TRACE_ERROR_NOT_TRACE, "\"traceEvents\" is not an array");
	return 1;
}

static int on_null(void *context)
{
	return on_scalar(token_ended(context), (struct trace_text){ NULL, 0 });
}

static int on_boolean(void *context, int value)
{
	return on_scalar(token_ended(context), value ? (struct trace_text){ "true", 4 } : (struct trace_text){ "false", 5 });
}

static int on_number(void *context, const char *text, size_t n_bytes)
{
	return on_scalar(token_ended(context), (struct trace_text){ text, n_bytes });
}

static int on_string(void *context, const unsigned char *text, size_t n_bytes)
{
	return on_scalar(token_ended(context), (struct trace_text){ n_bytes ? (const char *)text : "", n_bytes });
}

static int on_event_key(struct trace_json_events *parser, struct trace_text key)
{
	char phase = parser->fields.phase;

	parser->field = trace_field_of_key(key);
	if (parser->field == TRACE_FIELD_ARGS) {
		/* The phase may come behind the arguments: then it is not known yet. */
		parser->in_args = parser->handler.keep_args && (phase == 0 || phase == 'X' || phase == 'B');
		parser->args_start = parser->last_token_end;
		trace_fields_begin_args(&parser->fields);
	}
	return 1;
}

static int on_sample_key(struct trace_json_events *parser, struct trace_text key)
{
	parser->at_sample_value = true;
	if (check_kept_bytes(parser, key.n_bytes) < 0)
		return 0;
	return go_on(parser, trace_fields_sample_key(&parser->fields, key));
}

static int on_key(void *context, const unsigned char *text, size_t n_bytes)
{
	struct trace_json_events *parser = token_ended(context);
	struct trace_text key = { n_bytes ? (const char *)text : "", n_bytes };

	if (parser->in_event) {
		if (parser->depth == parser->events_depth + 1)
			return on_event_key(parser, key);
		if (parser->in_samples && parser->depth == parser->events_depth + 2)
			return on_sample_key(parser, key);
	} else if (parser->depth == 1) {
		parser->at_events_key = key.n_bytes == 11 && memcmp(key.data, "traceEvents", 11) == 0;
		if (parser->at_events_key && parser->events_depth)
			return refuse(parser, TRACE_ERROR_NOT_TRACE, "\"traceEvents\" occurs twice");
	}
	return 1;
}

/* Decides what an object or array is that begins at the present depth. */
static int classify(struct trace_json_events *parser, bool is_object)
{
	if (parser->in_event) {
		char phase = parser->fields.phase;

		if (parser->depth == parser->events_depth + 1 && parser->field == TRACE_FIELD_ARGS)
			parser->in_samples = is_object && parser->handler.keep_samples && (phase == 0 || phase == 'C');
		if (parser->depth == parser->events_depth + 2)
			parser->at_sample_value = false;
	} else if (parser->in_events) {
		if (is_object && parser->depth == parser->events_depth) {
			parser->in_event = true;
			trace_fields_begin(&parser->fields, token_offset(parser));
		}
	} else if (parser->at_events_key || (parser->depth == 0 && !is_object)) {
		if (is_object)
			return refuse(parser, TRACE_ERROR_NOT_TRACE, "\"traceEvents\" is not an array");
		parser->at_events_key = false;
		parser->in_events = true;
		parser->events_depth = parser->depth + 1;
	}
	return 1;
}

static int begin_container(struct trace_json_events *parser, bool is_object)
{
	if (!classify(parser, is_object))
		return 0;
	if (parser->depth == TRACE_MAX_NESTING)
		return refuse(parser, TRACE_ERROR_LIMIT, "more than 1000 objects and arrays are nested here");
	parser->depth++;
	return 1;
}

static int on_begin_object(void *context)
{
	return begin_container(token_ended(context), true);
}

static int on_begin_array(void *context)
{
	return begin_container(token_ended(context), false);
}

static int on_end(void *context)
{
	struct trace_json_events *parser = token_ended(context);

	parser->depth--;
	if (!parser->in_events)
		return 1;
	if (parser->depth < parser->events_depth) {
		parser->in_events = false;
		return 1;
	}
	if (!parser->in_event)
		return 1;
	if (parser->depth == parser->events_depth + 1) {
		parser->in_samples = false;
		return go_on(parser, end_field(parser, (struct trace_text){ NULL, 0 }));
	}
	return parser->depth > parser->events_depth || go_on(parser, end_event(parser));
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
	parser->handler = *handler;
	if (trace_fields_init(&parser->fields) == TRACE_OK)
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
	trace_fields_release(&parser->fields);
	trace_bytes_release(&parser->mended);
	free(parser);
}

static int json_error(struct trace_json_events *parser)
{
	unsigned char *text = yajl_get_error(parser->yajl, 0, NULL, 0);
	size_t n_bytes = sizeof parser->problem.text;

	fail(parser, TRACE_ERROR_JSON, token_offset(parser), "not valid JSON");
	if (text) {
		snprintf(parser->problem.text, n_bytes, "not valid JSON: %s", (const char *)text);
		parser->problem.text[strcspn(parser->problem.text, "\n")] = 0;
		yajl_free_error(parser->yajl, text);
	}
	return parser->status;
}

/* Must the text of the token that is unfinished at the end of the last piece be kept? */
static bool wants_token(const struct trace_json_events *parser)
{
	if (!parser->in_event)
		return false;
	if (parser->depth == parser->events_depth + 1)
		return parser->in_args || (parser->field != TRACE_FIELD_OTHER && parser->field != TRACE_FIELD_ARGS);
	return parser->in_args || (parser->in_samples && parser->depth == parser->events_depth + 2);
}

static int follow_token(struct trace_json_events *parser, const char *text, size_t n_bytes)
{
	if (parser->last_token_end > 0)
		parser->token = (struct trace_json_token){ 0 };
	trace_json_token_follow(&parser->token, text + parser->last_token_end, n_bytes - parser->last_token_end);
	if (!parser->token.in_string && parser->token.n_bytes > MAX_NUMBER_BYTES)
		return fail(parser, TRACE_ERROR_LIMIT, parser->piece_offset, "a number is longer than 1 MiB");
	if (parser->token.in_string && parser->token.n_bytes > TRACE_MAX_KEPT_BYTES && wants_token(parser))
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
	status = yajl_parse(parser->yajl, (const unsigned char *)shown.data, shown.n_bytes);
	if (status == yajl_status_error)
		return json_error(parser);
	if (status != yajl_status_ok)
		return parser->status;
	if (parser->in_args && go_on(parser, keep_args_of_piece(parser, shown.n_bytes)) == 0)
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

	if (parser->token.in_string && parser->token.n_bytes >= LONG_STRING_BYTES && !wants_token(parser))
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

	return is_long && wants_token(parser) ? (size_t)parser->token.n_bytes : 0;
}

int trace_json_events_end(struct trace_json_events *parser, bool *truncated)
{
	*truncated = parser->in_events;
	if (parser->events_depth)
		return TRACE_OK;
	return fail(parser, TRACE_ERROR_NOT_TRACE, parser->piece_offset,
		    parser->piece_offset == 0 ? "the file is empty"
		    : parser->depth > 0	      ? "the file ends before an array \"traceEvents\" begins"
					      : "there is no array \"traceEvents\" at the top level");
}

const struct trace_json_problem *trace_json_events_problem(const struct trace_json_events *parser)
{
	return &parser->problem;
}
