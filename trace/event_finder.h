/* Which tokens of a JSON text make up events, and what each means in them: where are we, and is this an event at all? It is
 * told token by token, and knows neither the parser nor how the text is cut into pieces, except that arguments are kept as
 * they are written, piece by piece.
 *
 *     trace_finder_begin_piece, then for each token that ends in the piece trace_finder_key, _scalar, _begin_container or
 *     _end_container, then trace_finder_end_piece
 *
 * These answer TRACE_OK or a negative status, after which nothing more may be told. Unless that is TRACE_ERROR_MEMORY,
 * `problem` says where and what. */
#ifndef TRACE_EVENT_FINDER_H
#define TRACE_EVENT_FINDER_H

#include <stdbool.h>

#include "trace/event_fields.h"
#include "trace/json_events.h"

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

#endif
