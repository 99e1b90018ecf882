#include "trace/otlp_frames.h"

#include <ctype.h>

#include "trace/status.h"

enum { LEVEL_FILE, LEVEL_TOP, LEVEL_RESOURCES, LEVEL_RESOURCE, LEVEL_SCOPES, LEVEL_SCOPE, LEVEL_SPANS };

static const char not_valid[] = "not valid JSON";

static int fail(struct trace_otlp_frames *frames, int status, const char *problem)
{
	frames->problem = problem;
	frames->problem_at = 0;
	return status;
}

static int refuse(struct trace_otlp_frames *frames)
{
	return fail(frames, TRACE_ERROR_FORMAT, not_valid);
}

static int mend(struct trace_otlp_frames *frames, uint64_t *n_mended)
{
	if (frames->is_strict)
		return refuse(frames);
	++*n_mended;
	return TRACE_OK;
}

static bool is_in_object(const struct trace_otlp_frames *frames)
{
	return frames->level % 2 == 1;
}

bool trace_otlp_is_name(struct trace_text text, const char *name)
{
	size_t i = 0;

	for (; *name && i < text.n_bytes; name++, i++) {
		char c = text.data[i];

		if (c == '_' && ++i < text.n_bytes)
			c = (char)toupper((unsigned char)text.data[i]);
		if (c != *name)
			return false;
	}
	return !*name && i == text.n_bytes;
}

static enum trace_otlp_key key_of(unsigned level, struct trace_text key)
{
	static const struct {
		unsigned level;
		enum trace_otlp_key key;
		const char *name;
	} known[] = {
		{ LEVEL_TOP, TRACE_OTLP_KEY_CHILDREN, "resourceSpans" },
		{ LEVEL_TOP, TRACE_OTLP_KEY_CHILDREN, "batches" },
		{ LEVEL_RESOURCE, TRACE_OTLP_KEY_HEADER, "resource" },
		{ LEVEL_RESOURCE, TRACE_OTLP_KEY_CHILDREN, "scopeSpans" },
		{ LEVEL_RESOURCE, TRACE_OTLP_KEY_CHILDREN, "instrumentationLibrarySpans" },
		{ LEVEL_SCOPE, TRACE_OTLP_KEY_HEADER, "scope" },
		{ LEVEL_SCOPE, TRACE_OTLP_KEY_HEADER, "instrumentationLibrary" },
		{ LEVEL_SCOPE, TRACE_OTLP_KEY_CHILDREN, "spans" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (known[i].level == level && trace_otlp_is_name(key, known[i].name))
			return known[i].key;
	}
	return TRACE_OTLP_KEY_OTHER;
}

/* ---- Opening and closing ---- */

static void open_level(struct trace_otlp_frames *frames)
{
	frames->level++;
	frames->place = TRACE_OTLP_AT_FIRST;
	if (frames->level == LEVEL_TOP)
		frames->has_spans = false;
	if (is_in_object(frames))
		frames->has_header = false;
}

/* The object around an array has its header: an array is entered only after the header was returned. */
static void close_level(struct trace_otlp_frames *frames)
{
	frames->level--;
	frames->place = TRACE_OTLP_AT_COMMA;
	frames->has_header = is_in_object(frames);
	if (frames->level > LEVEL_FILE)
		return;
	frames->place = TRACE_OTLP_AT_FIRST;
	frames->n_objects++;
	frames->n_without_spans += !frames->has_spans;
}

/* Each of these functions takes what is at data, which has at least one byte, and sets *n_taken. */

static int take_end(struct trace_otlp_frames *frames, char bracket, size_t *n_taken)
{
	int status = TRACE_OK;

	if (frames->level == LEVEL_FILE || bracket != (is_in_object(frames) ? '}' : ']'))
		return refuse(frames);
	if (frames->place == TRACE_OTLP_AT_NEXT)
		status = mend(frames, &frames->n_extra_commas);
	close_level(frames);
	*n_taken = 1;
	return status;
}

/* Takes an object that is returned as a whole. */
static int take_frame(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
		      struct trace_text *text)
{
	unsigned depth;
	const char *end = trace_json_end(data, data + n_bytes, &depth);

	if (depth > TRACE_MAX_NESTING)
		return fail(frames, TRACE_ERROR_LIMIT,
			    "more than 1000 objects and arrays are nested in the object that starts here");
	if (!end)
		return TRACE_OK;
	*n_taken = (size_t)(end - data);
	*text = (struct trace_text){ data, *n_taken };
	frames->place = TRACE_OTLP_AT_COMMA;
	return TRACE_ROW;
}

static int skip(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken)
{
	switch (trace_json_skip(&frames->skip, data, n_bytes, n_taken)) {
	case TRACE_SKIP_TOO_DEEP:
		return fail(frames, TRACE_ERROR_LIMIT, "more than 1000 objects and arrays are nested here");
	case TRACE_SKIP_OVER:
		frames->place = TRACE_OTLP_AT_COMMA;
		break;
	case TRACE_SKIP_MORE:
		break;
	}
	return TRACE_OK;
}

static int begin_skipping(struct trace_otlp_frames *frames)
{
	frames->skip = (struct trace_json_skip){ 0 };
	frames->place = TRACE_OTLP_SKIPPING;
	return TRACE_OK;
}

/* ---- Keys, elements and values ---- */

static int take_key(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken)
{
	const char *end = trace_json_string_end(data + 1, data + n_bytes);

	if (!end)
		return TRACE_OK;
	*n_taken = (size_t)(end - data);
	frames->key = key_of(frames->level, (struct trace_text){ data + 1, *n_taken - 2 });
	frames->has_spans |= frames->level == LEVEL_TOP && frames->key == TRACE_OTLP_KEY_CHILDREN;
	frames->place = TRACE_OTLP_AT_COLON;
	return TRACE_OK;
}

static int take_element(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
			enum trace_otlp_frame *frame, struct trace_text *text)
{
	if (*data != '{')
		return fail(frames, TRACE_ERROR_FORMAT,
			    frames->level == LEVEL_FILE ? "not valid JSON: an object was to begin here"
							: "an element of OTLP's arrays is an object");
	if (frames->level == LEVEL_SPANS) {
		*frame = TRACE_OTLP_SPAN;
		return take_frame(frames, data, n_bytes, n_taken, text);
	}
	open_level(frames);
	*n_taken = 1;
	return TRACE_OK;
}

static int take_first(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
		      enum trace_otlp_frame *frame, struct trace_text *text)
{
	if (*data == '}' || *data == ']')
		return take_end(frames, *data, n_taken);
	if (*data == ',' && frames->level > LEVEL_FILE) {
		*n_taken = 1;
		return mend(frames, &frames->n_extra_commas);
	}
	if (!is_in_object(frames))
		return take_element(frames, data, n_bytes, n_taken, frame, text);
	return *data == '"' ? take_key(frames, data, n_bytes, n_taken) : refuse(frames);
}

static int take_comma(struct trace_otlp_frames *frames, char c, size_t *n_taken)
{
	if (c == '}' || c == ']')
		return take_end(frames, c, n_taken);
	frames->place = TRACE_OTLP_AT_NEXT;
	if (c != ',')
		return c == '"' || c == '{' ? mend(frames, &frames->n_missing_commas) : refuse(frames);
	*n_taken = 1;
	return TRACE_OK;
}

static int look_ahead(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, struct trace_text *text);

static enum trace_otlp_frame header_of(const struct trace_otlp_frames *frames)
{
	return frames->level == LEVEL_RESOURCE ? TRACE_OTLP_RESOURCE : TRACE_OTLP_SCOPE;
}

/* Enters an array of spans, or of objects that contain them, once the header of the object around it is known. */
static int take_children(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
			 enum trace_otlp_frame *frame, struct trace_text *text)
{
	if (*data == 'n' || frames->is_ahead)
		return begin_skipping(frames);
	if (*data != '[')
		return fail(frames, TRACE_ERROR_FORMAT, "resourceSpans, scopeSpans and spans are arrays");
	if (frames->level > LEVEL_TOP && !frames->has_header) {
		*frame = header_of(frames);
		return look_ahead(frames, data, n_bytes, text);
	}
	open_level(frames);
	*n_taken = 1;
	return TRACE_OK;
}

static int take_value(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
		      enum trace_otlp_frame *frame, struct trace_text *text)
{
	if (*data == ',' || *data == ':' || *data == '}' || *data == ']')
		return refuse(frames);
	if (frames->key == TRACE_OTLP_KEY_CHILDREN)
		return take_children(frames, data, n_bytes, n_taken, frame, text);
	if (frames->key == TRACE_OTLP_KEY_HEADER && !frames->has_header && *data == '{') {
		int status = take_frame(frames, data, n_bytes, n_taken, text);

		*frame = header_of(frames);
		frames->has_header = status == TRACE_ROW;
		return status;
	}
	return begin_skipping(frames);
}

static int take(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
		enum trace_otlp_frame *frame, struct trace_text *text)
{
	*n_taken = 0;
	switch (frames->place) {
	case TRACE_OTLP_AT_FIRST:
	case TRACE_OTLP_AT_NEXT:
		return take_first(frames, data, n_bytes, n_taken, frame, text);
	case TRACE_OTLP_AT_COLON:
		if (*data != ':')
			return refuse(frames);
		frames->place = TRACE_OTLP_AT_VALUE;
		*n_taken = 1;
		return TRACE_OK;
	case TRACE_OTLP_AT_VALUE:
		return take_value(frames, data, n_bytes, n_taken, frame, text);
	case TRACE_OTLP_SKIPPING:
		return skip(frames, data, n_bytes, n_taken);
	case TRACE_OTLP_AT_COMMA:
		return take_comma(frames, *data, n_taken);
	}
	return TRACE_OK;
}

/* Continues until there is a frame, more bytes are needed, or a level below the lowest is reached. */
static int advance(struct trace_otlp_frames *frames, unsigned lowest_level, const char *data, size_t n_bytes, size_t *n_taken,
		   enum trace_otlp_frame *frame, struct trace_text *text)
{
	size_t at = 0, n;
	int status = TRACE_OK;

	while (status == TRACE_OK && frames->level >= lowest_level) {
		enum trace_otlp_place place = frames->place;

		while (place != TRACE_OTLP_SKIPPING && at < n_bytes && trace_json_is_space(data[at]))
			at++;
		if (at == n_bytes)
			break;
		status = take(frames, data + at, n_bytes - at, &n, frame, text);
		if (status < 0)
			frames->problem_at += at;
		at += n;
		if (n == 0 && frames->place == place)
			break;
	}
	*n_taken = at;
	return status;
}

/* Finds the header if it follows this value. To know that there is none, the data must reach to the end of the object. */
static int look_ahead(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, struct trace_text *text)
{
	struct trace_otlp_frames ahead = *frames;
	enum trace_otlp_frame frame;
	size_t n_taken;
	int status;

	ahead.is_ahead = true;
	status = advance(&ahead, frames->level, data, n_bytes, &n_taken, &frame, text);
	if (status < 0) {
		frames->problem = ahead.problem;
		frames->problem_at = ahead.problem_at;
		return status;
	}
	if (status == TRACE_OK && ahead.level >= frames->level)
		return TRACE_OK;
	if (status == TRACE_OK)
		*text = (struct trace_text){ 0 };
	frames->has_header = true;
	return TRACE_ROW;
}

int trace_otlp_frames_next(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
			   enum trace_otlp_frame *frame, struct trace_text *text)
{
	return advance(frames, LEVEL_FILE, data, n_bytes, n_taken, frame, text);
}

int trace_otlp_frames_end(struct trace_otlp_frames *frames, size_t n_bytes)
{
	if (frames->level == LEVEL_FILE)
		return TRACE_OK;
	fail(frames, TRACE_ERROR_FORMAT, "the file ends inside an object");
	frames->problem_at = n_bytes;
	return TRACE_ERROR_FORMAT;
}
