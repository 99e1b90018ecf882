#include "trace/event_finder.h"

#include <stdio.h>
#include <string.h>

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
