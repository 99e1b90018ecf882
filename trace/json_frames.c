#include "trace/json_frames.h"

#include <string.h>

static const char events_key[] = "\"traceEvents\"";
static const char system_key[] = "\"systemTraceEvents\"";

enum { MARK_BYTES = 3 };

const char *trace_frame_mend_name(enum trace_frame_mend mend)
{
	static const char *const names[TRACE_N_FRAME_MENDS] = {
		[TRACE_FRAME_EXTRA_COMMA] = "comma too many",
		[TRACE_FRAME_MISSING_COMMA] = "comma missing",
		[TRACE_FRAME_TEXT_BEHIND] = "text behind the end of the trace",
		[TRACE_FRAME_CUT_EVENT] = "file cut in an event",
		[TRACE_FRAME_NO_END] = "file without its end",
	};

	return names[mend];
}

static int fail(struct trace_json_frames *frames, int status, size_t at, const char *problem)
{
	frames->problem = problem;
	frames->problem_at = at;
	return status;
}

/* Continues to skip a value. */
static int skip(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken)
{
	switch (trace_json_skip(&frames->skip, data, n_bytes, n_taken)) {
	case TRACE_SKIP_TOO_DEEP:
		return fail(frames, TRACE_ERROR_LIMIT, *n_taken, "more than 1000 objects and arrays are nested here");
	case TRACE_SKIP_OVER:
		frames->place = frames->place_behind;
		break;
	case TRACE_SKIP_MORE:
		break;
	}
	return TRACE_OK;
}

static void begin_skipping(struct trace_json_frames *frames, enum trace_frame_place behind)
{
	frames->place = TRACE_FRAME_SKIPPING;
	frames->place_behind = behind;
	frames->skip = (struct trace_json_skip){ 0 };
}

/* Each of these functions takes what is at data, which has at least one byte, and sets *n_taken. */

static int start(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken)
{
	size_t n_mark = n_bytes < MARK_BYTES ? n_bytes : MARK_BYTES;

	/* some programs write a byte order mark before UTF-8 */
	if (memcmp(data, "\xEF\xBB\xBF", n_mark) == 0) {
		*n_taken = n_mark == MARK_BYTES ? MARK_BYTES : 0;
		return TRACE_OK;
	}
	if (*data != '{' && *data != '[')
		return fail(frames, TRACE_ERROR_NOT_TRACE, 0, "a trace is an object or an array");
	frames->is_bare = frames->has_array = *data == '[';
	frames->place = frames->is_bare ? TRACE_FRAME_IN_ARRAY : TRACE_FRAME_AT_KEY;
	*n_taken = 1;
	return TRACE_OK;
}

static int take_key(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken)
{
	const char *end;

	*n_taken = 1;
	if (*data == ',')
		return TRACE_OK;
	if (*data == '}') {
		frames->place = TRACE_FRAME_BEHIND;
		return TRACE_OK;
	}
	if (*data != '"')
		return fail(frames, TRACE_ERROR_FORMAT, 0, "not valid JSON");
	end = trace_json_string_end(data + 1, data + n_bytes);
	*n_taken = end ? (size_t)(end - data) : 0;
	if (!end)
		return TRACE_OK;
	frames->is_key_of_events = *n_taken == sizeof events_key - 1 && memcmp(data, events_key, *n_taken) == 0;
	if (frames->is_key_of_events && frames->has_array)
		return fail(frames, TRACE_ERROR_NOT_TRACE, 0, "\"traceEvents\" occurs twice");
	frames->n_system_traces += *n_taken == sizeof system_key - 1 && memcmp(data, system_key, *n_taken) == 0;
	frames->place = TRACE_FRAME_AT_COLON;
	return TRACE_OK;
}

static int take_colon(struct trace_json_frames *frames, const char *data, size_t *n_taken)
{
	if (*data != ':')
		return fail(frames, TRACE_ERROR_FORMAT, 0, "not valid JSON");
	frames->place = TRACE_FRAME_AT_VALUE;
	*n_taken = 1;
	return TRACE_OK;
}

static int take_value(struct trace_json_frames *frames, const char *data, size_t *n_taken)
{
	*n_taken = 0;
	if (frames->is_key_of_events && *data == '[') {
		frames->place = TRACE_FRAME_IN_ARRAY;
		frames->has_array = true;
		*n_taken = 1;
		return TRACE_OK;
	}
	if (frames->is_key_of_events)
		return fail(frames, TRACE_ERROR_NOT_TRACE, 0, "\"traceEvents\" is not an array");
	if (*data == ',' || *data == '}' || *data == ']' || *data == ':')
		return fail(frames, TRACE_ERROR_FORMAT, 0, "not valid JSON");
	begin_skipping(frames, TRACE_FRAME_AT_KEY);
	return TRACE_OK;
}

/* Counts a comma that is missing before an element. */
static void begin_element(struct trace_json_frames *frames)
{
	if (frames->has_element && !frames->has_comma)
		frames->mended[TRACE_FRAME_MISSING_COMMA]++;
	frames->has_element = true;
	frames->has_comma = false;
}

static int take_event(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
		      struct trace_text *event)
{
	unsigned depth;
	const char *end = trace_json_end(data, data + n_bytes, &depth);

	*n_taken = 0;
	if (depth > TRACE_MAX_NESTING)
		return fail(frames, TRACE_ERROR_LIMIT, 0,
			    "more than 1000 objects and arrays are nested in the event that starts here");
	if (!end)
		return TRACE_OK;
	begin_element(frames);
	*n_taken = (size_t)(end - data);
	*event = (struct trace_text){ data, *n_taken };
	return TRACE_ROW;
}

static int take_element(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
			struct trace_text *event)
{
	*n_taken = 1;
	switch (*data) {
	case '{':
		return take_event(frames, data, n_bytes, n_taken, event);
	case ',':
		frames->mended[TRACE_FRAME_EXTRA_COMMA] += frames->has_comma || !frames->has_element;
		frames->has_comma = true;
		return TRACE_OK;
	case ']':
		frames->mended[TRACE_FRAME_EXTRA_COMMA] += frames->has_comma;
		frames->place = frames->is_bare ? TRACE_FRAME_BEHIND : TRACE_FRAME_AT_KEY;
		return TRACE_OK;
	case '}':
	case ':':
		return fail(frames, TRACE_ERROR_FORMAT, 0, "not valid JSON");
	default:
		begin_element(frames);
		frames->n_other_elements++;
		begin_skipping(frames, TRACE_FRAME_IN_ARRAY);
		*n_taken = 0;
		return TRACE_OK;
	}
}

static int take(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken, struct trace_text *event)
{
	switch (frames->place) {
	case TRACE_FRAME_AT_START:
		return start(frames, data, n_bytes, n_taken);
	case TRACE_FRAME_AT_KEY:
		return take_key(frames, data, n_bytes, n_taken);
	case TRACE_FRAME_AT_COLON:
		return take_colon(frames, data, n_taken);
	case TRACE_FRAME_AT_VALUE:
		return take_value(frames, data, n_taken);
	case TRACE_FRAME_SKIPPING:
		return skip(frames, data, n_bytes, n_taken);
	case TRACE_FRAME_IN_ARRAY:
		return take_element(frames, data, n_bytes, n_taken, event);
	case TRACE_FRAME_BEHIND:
		frames->mended[TRACE_FRAME_TEXT_BEHIND] = 1;
		*n_taken = n_bytes;
		return TRACE_OK;
	}
	return TRACE_OK;
}

int trace_frames_next(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
		      struct trace_text *event)
{
	size_t at = 0, n;
	int status = TRACE_OK;

	do {
		enum trace_frame_place place = frames->place;

		while (place != TRACE_FRAME_SKIPPING && at < n_bytes && trace_json_is_space(data[at]))
			at++;
		if (at == n_bytes)
			break;
		n = 0;
		status = take(frames, data + at, n_bytes - at, &n, event);
		if (status < 0)
			frames->problem_at += at;
		at += n;
		if (n == 0 && frames->place == place)
			break;
	} while (status == TRACE_OK);
	*n_taken = at;
	return status;
}

int trace_frames_end(struct trace_json_frames *frames, size_t n_bytes)
{
	if (!frames->has_array)
		return fail(frames, TRACE_ERROR_NOT_TRACE, n_bytes,
			    frames->place == TRACE_FRAME_AT_START ? "the file is empty"
			    : frames->place == TRACE_FRAME_BEHIND ? "there is no array \"traceEvents\" at the top level"
								  : "the file ends before an array \"traceEvents\" begins");
	if (frames->place == TRACE_FRAME_IN_ARRAY && n_bytes > 0)
		frames->mended[TRACE_FRAME_CUT_EVENT]++;
	if (frames->place != TRACE_FRAME_BEHIND)
		frames->mended[TRACE_FRAME_NO_END]++;
	return TRACE_OK;
}
