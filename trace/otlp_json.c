#include "trace/otlp_json.h"

#include <stdlib.h>
#include <string.h>

#include "trace/decimal_time.h"
#include "trace/json.h"
#include "trace/otlp.h"
#include "trace/otlp_frames.h"

enum { MARK_BYTES = 3, MOST_FIELDS = 16 };

static const char byte_order_mark[] = "\xEF\xBB\xBF"; /* some programs write it before UTF-8 */

struct otlp_reader {
	struct trace_otlp otlp;
	bool is_strict;
	struct trace_otlp_frames frames;
	struct trace_json json;
	uint64_t n_taken; /* bytes of the file */
};

/* ---- Life ---- */

static void *begin(struct trace_assembly *assembly, const struct trace_options *options)
{
	struct otlp_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return NULL;
	reader->otlp.assembly = assembly;
	reader->otlp.wants = trace_assembly_wants(assembly);
	reader->is_strict = reader->frames.is_strict = options->strict;
	return reader;
}

static void release(void *parser)
{
	struct otlp_reader *reader = parser;

	if (!reader)
		return;
	trace_otlp_release(&reader->otlp);
	trace_json_release(&reader->json);
	free(reader);
}

/* The file is OTLP if an object at the top has a member resourceSpans within the bytes given. */
static bool recognise(const char *head, size_t n_bytes, bool is_all)
{
	struct trace_otlp_frames frames = { 0 };
	struct trace_text text;
	enum trace_otlp_frame frame;
	size_t n_taken;

	(void)is_all;
	if (n_bytes >= MARK_BYTES && memcmp(head, byte_order_mark, MARK_BYTES) == 0) {
		head += MARK_BYTES;
		n_bytes -= MARK_BYTES;
	}
	trace_otlp_frames_next(&frames, head, n_bytes, &n_taken, &frame, &text);
	return frames.has_spans || frames.n_objects > frames.n_without_spans;
}

static int out_of_memory(struct otlp_reader *reader)
{
	return trace_fail(reader->otlp.assembly, TRACE_ERROR_MEMORY, reader->otlp.offset, "out of memory");
}

static int refuse(struct otlp_reader *reader, size_t node, const char *problem)
{
	return trace_fail(reader->otlp.assembly, TRACE_ERROR_FORMAT,
			  reader->otlp.offset + trace_json_place(&reader->json, node), "%s", problem);
}

/* ---- Fields of an object ---- */

/* Finds the values of the named members of an object, in the order of the names; 0 for members that are missing or null, and
 * for all members if this is no object. Of several members with one name, the last counts. */
static int find_fields(struct otlp_reader *reader, size_t object, const char *const names[], int n_names, size_t nodes[])
{
	struct trace_json *json = &reader->json;
	struct trace_text key;

	memset(nodes, 0, (size_t)n_names * sizeof *nodes);
	if (trace_json_type_of(json, object) != TRACE_JSON_OBJECT)
		return TRACE_OK;
	for (size_t member = trace_json_first(json, object); member; member = trace_json_next(json, member)) {
		size_t value = trace_json_value(json, member);

		if (trace_json_text(json, member, &key) < 0)
			return out_of_memory(reader);
		if (trace_json_type_of(json, value) == TRACE_JSON_NULL)
			value = 0;
		for (int i = 0; i < n_names; i++) {
			if (trace_otlp_is_name(key, names[i]))
				nodes[i] = value;
		}
	}
	return TRACE_OK;
}

/* Sets the text of a field; without data if the field is missing. */
static int text_of(struct otlp_reader *reader, size_t node, struct trace_text *text)
{
	*text = (struct trace_text){ 0 };
	return node && trace_json_text(&reader->json, node, text) < 0 ? out_of_memory(reader) : TRACE_OK;
}

static bool parse_unsigned(struct trace_text text, uint64_t *number)
{
	uint64_t value = 0;

	for (size_t i = 0; i < text.n_bytes; i++) {
		unsigned digit = (unsigned)text.data[i] - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*number = value;
	return text.n_bytes > 0;
}

/* Reads a number, or its digits as a string; 0 if the field is missing. */
static int number_of(struct otlp_reader *reader, size_t node, uint64_t *number)
{
	struct trace_text text;
	int status = text_of(reader, node, &text);

	*number = 0;
	if (status < 0 || !node || parse_unsigned(text, number))
		return status;
	return refuse(reader, node, "this is to be an integer from 0 to 2^64 - 1");
}

static int id_of(struct otlp_reader *reader, size_t node, struct trace_otlp_id *id)
{
	struct trace_text text;
	int status = text_of(reader, node, &text);

	if (status < 0 || trace_otlp_id_of_text(id, text))
		return status;
	return refuse(reader, node, "an id is up to 32 bytes in hexadecimal digits, or in base64");
}

/* Turns a number, or its name in the specification, into a word. Any other text is taken as it is. */
static int word_of(struct otlp_reader *reader, size_t node, struct trace_text (*word)(uint64_t), const char *const names[],
		   struct trace_text *text)
{
	uint64_t number;
	int status = text_of(reader, node, text);

	if (status < 0 || !text->data)
		return status;
	if (parse_unsigned(*text, &number)) {
		*text = word(number);
		return TRACE_OK;
	}
	for (number = 0; names[number]; number++) {
		if (text->n_bytes == strlen(names[number]) && memcmp(text->data, names[number], text->n_bytes) == 0) {
			*text = word(number);
			return TRACE_OK;
		}
	}
	return TRACE_OK;
}

/* ---- Attributes ---- */

static int write_value(struct otlp_reader *reader, struct trace_json_writer *writer, size_t node);

static int write_as_it_is(struct otlp_reader *reader, struct trace_json_writer *writer, size_t node)
{
	struct trace_text text;

	if (trace_json_written(&reader->json, node, &text) < 0)
		return out_of_memory(reader);
	if (text.data)
		trace_write_json(writer, text);
	else
		trace_write_null(writer);
	return TRACE_OK;
}

static bool is_json_number(struct trace_text text)
{
	size_t first = text.n_bytes > 0 && text.data[0] == '-';
	bool has_leading_zero = text.n_bytes > first + 1 && text.data[first] == '0' && text.data[first + 1] >= '0' &&
				text.data[first + 1] <= '9';

	return !has_leading_zero && trace_is_decimal(text.data, text.n_bytes);
}

/* Writes a number, which may be a string: 64-bit integers always are. */
static int write_number(struct otlp_reader *reader, struct trace_json_writer *writer, size_t node)
{
	struct trace_text text;
	int status = text_of(reader, node, &text);

	if (status < 0 || !text.data || !is_json_number(text))
		return status < 0 ? status : write_as_it_is(reader, writer, node);
	trace_write_json(writer, text);
	return TRACE_OK;
}

static int write_array(struct otlp_reader *reader, struct trace_json_writer *writer, size_t node)
{
	static const char *const names[] = { "values" };
	size_t values;
	int status = find_fields(reader, node, names, 1, &values);

	trace_write_open(writer, '[');
	if (values && trace_json_type_of(&reader->json, values) == TRACE_JSON_ARRAY) {
		for (size_t value = trace_json_first(&reader->json, values); value && status == TRACE_OK;
		     value = trace_json_next(&reader->json, value))
			status = write_value(reader, writer, value);
	}
	trace_write_close(writer, ']');
	return status;
}

/* Writes an array of objects with key and value as one object. */
static int write_pairs(struct otlp_reader *reader, struct trace_json_writer *writer, size_t pairs)
{
	static const char *const names[] = { "key", "value" };
	size_t fields[2];
	struct trace_text key;
	int status = TRACE_OK;

	trace_write_open(writer, '{');
	if (pairs && trace_json_type_of(&reader->json, pairs) == TRACE_JSON_ARRAY) {
		for (size_t pair = trace_json_first(&reader->json, pairs); pair && status == TRACE_OK;
		     pair = trace_json_next(&reader->json, pair)) {
			status = find_fields(reader, pair, names, 2, fields);
			if (status == TRACE_OK)
				status = text_of(reader, fields[0], &key);
			if (status < 0)
				return status;
			trace_write_key(writer, key);
			status = write_value(reader, writer, fields[1]);
		}
	}
	trace_write_close(writer, '}');
	return status;
}

static int write_list(struct otlp_reader *reader, struct trace_json_writer *writer, size_t node)
{
	static const char *const names[] = { "values" };
	size_t pairs;
	int status = find_fields(reader, node, names, 1, &pairs);

	return status < 0 ? status : write_pairs(reader, writer, pairs);
}

enum value_field { VALUE_STRING, VALUE_BOOL, VALUE_INT, VALUE_DOUBLE, VALUE_ARRAY, VALUE_LIST, VALUE_BYTES, N_VALUE_FIELDS };

/* Writes an AnyValue. Node 0 means that there is none. */
static int write_value(struct otlp_reader *reader, struct trace_json_writer *writer, size_t node)
{
	static const char *const names[N_VALUE_FIELDS] = {
		[VALUE_STRING] = "stringValue", [VALUE_BOOL] = "boolValue",   [VALUE_INT] = "intValue",
		[VALUE_DOUBLE] = "doubleValue", [VALUE_ARRAY] = "arrayValue", [VALUE_LIST] = "kvlistValue",
		[VALUE_BYTES] = "bytesValue",
	};
	size_t fields[N_VALUE_FIELDS] = { 0 };
	int status = node ? find_fields(reader, node, names, N_VALUE_FIELDS, fields) : TRACE_OK;

	if (status < 0)
		return status;
	if (fields[VALUE_INT] || fields[VALUE_DOUBLE])
		return write_number(reader, writer, fields[VALUE_INT] ? fields[VALUE_INT] : fields[VALUE_DOUBLE]);
	if (fields[VALUE_ARRAY])
		return write_array(reader, writer, fields[VALUE_ARRAY]);
	if (fields[VALUE_LIST])
		return write_list(reader, writer, fields[VALUE_LIST]);
	for (int i = 0; i < N_VALUE_FIELDS; i++) {
		if (fields[i])
			return write_as_it_is(reader, writer, fields[i]);
	}
	trace_write_null(writer);
	return TRACE_OK;
}

/* Writes attributes as an object; *attributes is without data if there are none, or if they are not wanted. */
static int attributes_of(struct otlp_reader *reader, size_t node, struct trace_text *attributes)
{
	struct trace_json_writer *writer = &reader->otlp.attributes;
	int status;

	*attributes = (struct trace_text){ 0 };
	if (!reader->otlp.wants.args || !node || trace_json_type_of(&reader->json, node) != TRACE_JSON_ARRAY ||
	    !trace_json_first(&reader->json, node))
		return TRACE_OK;
	trace_write_clear(writer);
	status = write_pairs(reader, writer, node);
	*attributes = trace_written(writer);
	return writer->out_of_memory ? out_of_memory(reader) : status;
}

/* ---- Resources and scopes ---- */

/* Finds the value of the attribute service.name; of several, the last. */
static int service_of(struct otlp_reader *reader, size_t attributes, struct trace_text *service)
{
	static const char *const names[] = { "key", "value" }, *const value_names[] = { "stringValue" };
	struct trace_json *json = &reader->json;
	size_t fields[2], value;
	int status = TRACE_OK;

	*service = (struct trace_text){ 0 };
	if (!attributes || trace_json_type_of(json, attributes) != TRACE_JSON_ARRAY)
		return TRACE_OK;
	for (size_t pair = trace_json_first(json, attributes); pair && status == TRACE_OK; pair = trace_json_next(json, pair)) {
		struct trace_text key;

		status = find_fields(reader, pair, names, 2, fields);
		if (status == TRACE_OK)
			status = text_of(reader, fields[0], &key);
		if (status < 0 || key.n_bytes != strlen("service.name") || memcmp(key.data, "service.name", key.n_bytes) != 0)
			continue;
		status = fields[1] ? find_fields(reader, fields[1], value_names, 1, &value) : TRACE_OK;
		if (status == TRACE_OK && fields[1])
			status = text_of(reader, value, service);
	}
	return status;
}

/* Parses the object of a frame. A text without data stands for an object without fields. */
static int parse(struct otlp_reader *reader, struct trace_text text, const char *const names[], int n_names, size_t nodes[])
{
	int status;

	memset(nodes, 0, (size_t)n_names * sizeof *nodes);
	if (!text.data)
		return TRACE_OK;
	status = trace_json_parse(&reader->json, text, reader->is_strict);
	if (status < 0)
		return trace_fail(reader->otlp.assembly, status, reader->otlp.offset + reader->json.problem_at, "%s",
				  reader->json.problem);
	return find_fields(reader, 0, names, n_names, nodes);
}

static int take_resource(struct otlp_reader *reader, struct trace_text text)
{
	static const char *const names[] = { "attributes" };
	struct trace_text service, attributes;
	size_t node;
	int status = parse(reader, text, names, 1, &node);

	if (status == TRACE_OK)
		status = service_of(reader, node, &service);
	if (status == TRACE_OK)
		status = attributes_of(reader, node, &attributes);
	return status < 0 ? status : trace_otlp_begin_resource(&reader->otlp, service, attributes);
}

static int take_scope(struct otlp_reader *reader, struct trace_text text)
{
	static const char *const names[] = { "name", "version", "attributes" };
	struct trace_text name, version, attributes;
	size_t nodes[3];
	int status = parse(reader, text, names, 3, nodes);

	if (status == TRACE_OK)
		status = text_of(reader, nodes[0], &name);
	if (status == TRACE_OK)
		status = text_of(reader, nodes[1], &version);
	if (status == TRACE_OK)
		status = attributes_of(reader, nodes[2], &attributes);
	return status < 0 ? status : trace_otlp_begin_scope(&reader->otlp, name, version, attributes);
}

/* ---- Spans ---- */

enum span_field {
	SPAN_TRACE_ID,
	SPAN_ID,
	SPAN_PARENT_ID,
	SPAN_TRACE_STATE,
	SPAN_NAME,
	SPAN_KIND,
	SPAN_START,
	SPAN_END,
	SPAN_ATTRIBUTES,
	SPAN_DROPPED_ATTRIBUTES,
	SPAN_EVENTS,
	SPAN_DROPPED_EVENTS,
	SPAN_LINKS,
	SPAN_DROPPED_LINKS,
	SPAN_STATUS,
	SPAN_FLAGS,
	N_SPAN_FIELDS
};

static const char *const span_names[N_SPAN_FIELDS] = {
	[SPAN_TRACE_ID] = "traceId",
	[SPAN_ID] = "spanId",
	[SPAN_PARENT_ID] = "parentSpanId",
	[SPAN_TRACE_STATE] = "traceState",
	[SPAN_NAME] = "name",
	[SPAN_KIND] = "kind",
	[SPAN_START] = "startTimeUnixNano",
	[SPAN_END] = "endTimeUnixNano",
	[SPAN_ATTRIBUTES] = "attributes",
	[SPAN_DROPPED_ATTRIBUTES] = "droppedAttributesCount",
	[SPAN_EVENTS] = "events",
	[SPAN_DROPPED_EVENTS] = "droppedEventsCount",
	[SPAN_LINKS] = "links",
	[SPAN_DROPPED_LINKS] = "droppedLinksCount",
	[SPAN_STATUS] = "status",
	[SPAN_FLAGS] = "flags",
};

static int read_ids(struct otlp_reader *reader, const size_t nodes[], struct trace_otlp_span *span)
{
	int status = id_of(reader, nodes[SPAN_TRACE_ID], &span->trace_id);

	if (status == TRACE_OK)
		status = id_of(reader, nodes[SPAN_ID], &span->span_id);
	return status == TRACE_OK ? id_of(reader, nodes[SPAN_PARENT_ID], &span->parent_id) : status;
}

static int read_numbers(struct otlp_reader *reader, const size_t nodes[], struct trace_otlp_span *span)
{
	const struct {
		enum span_field field;
		uint64_t *number;
	} numbers[] = {
		{ SPAN_START, &span->start_ns },
		{ SPAN_END, &span->end_ns },
		{ SPAN_FLAGS, &span->flags },
		{ SPAN_DROPPED_ATTRIBUTES, &span->n_dropped_attributes },
		{ SPAN_DROPPED_EVENTS, &span->n_dropped_events },
		{ SPAN_DROPPED_LINKS, &span->n_dropped_links },
	};
	int status = TRACE_OK;

	span->has_start = nodes[SPAN_START];
	for (size_t i = 0; status == TRACE_OK && i < sizeof numbers / sizeof *numbers; i++)
		status = number_of(reader, nodes[numbers[i].field], numbers[i].number);
	return status;
}

static int read_status(struct otlp_reader *reader, size_t node, struct trace_otlp_span *span)
{
	static const char *const names[] = { "code", "message" };
	static const char *const codes[] = { "STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR", NULL };
	size_t nodes[2];
	int status;

	if (!node)
		return TRACE_OK;
	status = find_fields(reader, node, names, 2, nodes);
	if (status == TRACE_OK)
		status = word_of(reader, nodes[0], trace_otlp_status, codes, &span->status);
	return status == TRACE_OK ? text_of(reader, nodes[1], &span->status_message) : status;
}

static int read_texts(struct otlp_reader *reader, const size_t nodes[], struct trace_otlp_span *span)
{
	static const char *const kinds[] = { "SPAN_KIND_UNSPECIFIED",
					     "SPAN_KIND_INTERNAL",
					     "SPAN_KIND_SERVER",
					     "SPAN_KIND_CLIENT",
					     "SPAN_KIND_PRODUCER",
					     "SPAN_KIND_CONSUMER",
					     NULL };
	int status = text_of(reader, nodes[SPAN_NAME], &span->name);

	if (status == TRACE_OK)
		status = text_of(reader, nodes[SPAN_TRACE_STATE], &span->trace_state);
	if (status == TRACE_OK)
		status = word_of(reader, nodes[SPAN_KIND], trace_otlp_kind, kinds, &span->kind);
	if (status == TRACE_OK)
		status = read_status(reader, nodes[SPAN_STATUS], span);
	return status == TRACE_OK ? attributes_of(reader, nodes[SPAN_ATTRIBUTES], &span->attributes) : status;
}

static int add_event(struct otlp_reader *reader, size_t node)
{
	static const char *const names[] = { "timeUnixNano", "name", "attributes", "droppedAttributesCount" };
	struct trace_otlp_event event = { 0 };
	size_t nodes[4];
	int status = find_fields(reader, node, names, 4, nodes);

	if (status == TRACE_OK)
		status = number_of(reader, nodes[0], &event.time_ns);
	if (status == TRACE_OK)
		status = text_of(reader, nodes[1], &event.name);
	if (status == TRACE_OK)
		status = attributes_of(reader, nodes[2], &event.attributes);
	if (status == TRACE_OK)
		status = number_of(reader, nodes[3], &event.n_dropped_attributes);
	return status < 0 ? status : trace_otlp_add_event(&reader->otlp, &event);
}

static int add_link(struct otlp_reader *reader, size_t node)
{
	static const char *const names[] = { "traceId", "spanId" };
	struct trace_otlp_id trace_id, span_id;
	size_t nodes[2];
	int status = find_fields(reader, node, names, 2, nodes);

	if (status == TRACE_OK)
		status = id_of(reader, nodes[0], &trace_id);
	if (status == TRACE_OK)
		status = id_of(reader, nodes[1], &span_id);
	return status < 0 ? status : trace_otlp_add_link(&reader->otlp, &trace_id, &span_id);
}

/* Adds each object of an array, which may be missing. */
static int add_all(struct otlp_reader *reader, size_t array, int (*add)(struct otlp_reader *reader, size_t node))
{
	int status = TRACE_OK;

	if (!array || trace_json_type_of(&reader->json, array) != TRACE_JSON_ARRAY)
		return TRACE_OK;
	for (size_t node = trace_json_first(&reader->json, array); node && status == TRACE_OK;
	     node = trace_json_next(&reader->json, node))
		status = add(reader, node);
	return status;
}

static int take_span(struct otlp_reader *reader, struct trace_text text)
{
	struct trace_otlp_span span = { 0 };
	size_t nodes[N_SPAN_FIELDS];
	int status = parse(reader, text, span_names, N_SPAN_FIELDS, nodes);

	if (status == TRACE_OK)
		status = read_ids(reader, nodes, &span);
	if (status == TRACE_OK)
		status = read_numbers(reader, nodes, &span);
	if (status == TRACE_OK)
		status = read_texts(reader, nodes, &span);
	if (status == TRACE_OK)
		status = trace_otlp_add_span(&reader->otlp, &span);
	if (status == TRACE_OK)
		status = add_all(reader, nodes[SPAN_LINKS], add_link);
	return status == TRACE_OK ? add_all(reader, nodes[SPAN_EVENTS], add_event) : status;
}

/* ---- The file ---- */

static int take_frame(struct otlp_reader *reader, enum trace_otlp_frame frame, struct trace_text text)
{
	switch (frame) {
	case TRACE_OTLP_RESOURCE:
		return take_resource(reader, text);
	case TRACE_OTLP_SCOPE:
		return take_scope(reader, text);
	case TRACE_OTLP_SPAN:
		return take_span(reader, text);
	}
	return TRACE_OK;
}

static size_t mark_bytes(const struct otlp_reader *reader, const char *bytes, size_t n_bytes)
{
	bool has_mark = reader->n_taken == 0 && n_bytes >= MARK_BYTES && memcmp(bytes, byte_order_mark, MARK_BYTES) == 0;

	return has_mark ? MARK_BYTES : 0;
}

static int feed(void *parser, const char *bytes, size_t n_bytes, size_t *n_taken)
{
	struct otlp_reader *reader = parser;
	enum trace_otlp_frame frame;
	struct trace_text text = { 0 };
	size_t n, at = mark_bytes(reader, bytes, n_bytes);
	uint64_t offset = reader->n_taken; /* of the bytes, in the file */
	int status;

	do {
		status = trace_otlp_frames_next(&reader->frames, bytes + at, n_bytes - at, &n, &frame, &text);
		if (status < 0)
			return trace_fail(reader->otlp.assembly, status, offset + at + reader->frames.problem_at, "%s",
					  reader->frames.problem);
		at += n;
		reader->otlp.offset = text.data ? offset + (size_t)(text.data - bytes) : offset + at;
		if (status == TRACE_ROW && (status = take_frame(reader, frame, text)) == TRACE_OK)
			status = TRACE_ROW;
	} while (status == TRACE_ROW);
	*n_taken = at;
	reader->n_taken = offset + at;
	return status;
}

static int report(struct otlp_reader *reader)
{
	const struct {
		enum trace_finding finding;
		uint64_t n;
		const char *what;
	} findings[] = {
		{ TRACE_LEFT_OUT, reader->frames.n_without_spans, "object without resourceSpans" },
		{ TRACE_MENDED, reader->frames.n_extra_commas, trace_json_mend_name(TRACE_MEND_EXTRA_COMMA) },
		{ TRACE_MENDED, reader->frames.n_missing_commas, trace_json_mend_name(TRACE_MEND_MISSING_COMMA) },
	};
	int status = TRACE_OK;

	for (size_t i = 0; status == TRACE_OK && i < sizeof findings / sizeof *findings; i++) {
		if (findings[i].n > 0)
			status = trace_report_add(reader->otlp.assembly, findings[i].finding, findings[i].n, "%s",
						  findings[i].what);
	}
	for (int i = 0; status == TRACE_OK && i < TRACE_N_MENDS; i++) {
		if (reader->json.mended[i] > 0)
			status = trace_report_add(reader->otlp.assembly, TRACE_MENDED, reader->json.mended[i], "%s",
						  trace_json_mend_name(i));
	}
	return status;
}

static int end(void *parser, const char *bytes, size_t n_bytes)
{
	struct otlp_reader *reader = parser;
	int status = trace_otlp_frames_end(&reader->frames, n_bytes);

	(void)bytes;
	if (status < 0)
		return trace_fail(reader->otlp.assembly, status, reader->n_taken + reader->frames.problem_at, "%s",
				  reader->frames.problem);
	status = trace_otlp_finish(&reader->otlp);
	return status < 0 ? status : report(reader);
}

const struct trace_format trace_otlp_json = {
	.name = "OTLP JSON",
	.recognise = recognise,
	.begin = begin,
	.feed = feed,
	.end = end,
	.release = release,
};
