#include "trace/perfetto_args.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/json.h"
#include "trace/protobuf.h"
#include "trace/utf8.h"

enum { EVENT_DEBUG_ANNOTATIONS = 4, MAX_DEPTH = 100 };

/* Numbers of fields, as in Perfetto's protos/perfetto/trace/track_event/debug_annotation.proto. */
enum annotation_field {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NESTED = 8,
	ANNOTATION_LEGACY_JSON = 9,
	ANNOTATION_NAME = 10,
	ANNOTATION_DICT_ENTRY = 11,
	ANNOTATION_ARRAY_VALUE = 12,
	ANNOTATION_STRING_IID = 17
};

/* Fields of a message NestedValue, which older programs write for dictionaries and arrays. */
enum nested_field {
	NESTED_KEY = 2,
	NESTED_VALUE = 3,
	NESTED_ELEMENT = 4,
	NESTED_INT = 5,
	NESTED_DOUBLE = 6,
	NESTED_BOOL = 7,
	NESTED_STRING = 8,
	NESTED_TYPE = 1
};
enum nested_type { NESTED_SCALAR, NESTED_DICTIONARY, NESTED_ARRAY };

struct writer {
	const struct trace_perfetto_sequence *sequence;
	struct trace_bytes *json;
	struct trace_bytes mended;
	struct trace_json parsed; /* an argument that is JSON */
	uint64_t *n_mended;
};

/* The name and value of an annotation; of several values, the last counts. Entries and elements are read from the message. */
struct annotation {
	struct trace_text message, name;
	struct trace_field value; /* none if its number is 0 */
};

static int put(struct writer *writer, const char *text, size_t n_bytes)
{
	return trace_bytes_append(writer->json, (struct trace_text){ text, n_bytes }, NULL);
}

static int put_literal(struct writer *writer, const char *literal)
{
	return put(writer, literal, strlen(literal));
}

static int put_character(struct writer *writer, char character)
{
	char escape[8];

	if (character == '"' || character == '\\') {
		escape[0] = '\\';
		escape[1] = character;
		return put(writer, escape, 2);
	}
	if ((unsigned char)character < 0x20) {
		snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)character);
		return put_literal(writer, escape);
	}
	return put(writer, &character, 1);
}

static int put_text(struct writer *writer, struct trace_text text)
{
	int status = trace_utf8_mend(&writer->mended, &text, writer->n_mended);

	if (status == TRACE_OK)
		status = put_literal(writer, "\"");
	for (size_t i = 0; i < text.n_bytes && status == TRACE_OK; i++)
		status = put_character(writer, text.data[i]);
	return status < 0 ? status : put_literal(writer, "\"");
}

static int put_double(struct writer *writer, double value)
{
	char digits[40];
	char *comma;

	if (!isfinite(value))
		return put_literal(writer, "null");
	snprintf(digits, sizeof digits, "%.17g", value);
	comma = strchr(digits, ','); /* the decimal point of some locales */
	if (comma)
		*comma = '.';
	return put_literal(writer, digits);
}

static int read_annotation(const struct trace_perfetto_sequence *sequence, struct trace_text message,
			   struct annotation *annotation)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	*annotation = (struct annotation){ .message = message };
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == ANNOTATION_NAME && field.wire == TRACE_WIRE_BYTES)
			annotation->name = field.text;
		else if (field.number == ANNOTATION_NAME_IID && field.wire == TRACE_WIRE_VARINT)
			annotation->name = trace_perfetto_sequence_text(sequence, TRACE_INTERNED_ARGUMENT_NAME, field.value);
		else
			annotation->value = field;
	}
	return status;
}

static int put_value(struct writer *writer, const struct annotation *annotation, int depth);

/* Writes the entries of a dictionary, or the elements of an array. */
static int put_nested(struct writer *writer, struct trace_text message, uint32_t number, int depth)
{
	struct trace_repeated entries = trace_repeated_of(message, number, TRACE_WIRE_BYTES);
	struct trace_text entry;
	bool is_dictionary = number != ANNOTATION_ARRAY_VALUE, is_first = true;
	int status = put_literal(writer, is_dictionary ? "{" : "["), more = TRACE_ROW;

	while (status == TRACE_OK && (more = trace_repeated_next_text(&entries, &entry)) == TRACE_ROW) {
		struct annotation annotation;

		status = read_annotation(writer->sequence, entry, &annotation);
		if (status == TRACE_OK && !is_first)
			status = put_literal(writer, ",");
		if (status == TRACE_OK && is_dictionary)
			status = put_text(writer, annotation.name);
		if (status == TRACE_OK && is_dictionary)
			status = put_literal(writer, ":");
		if (status == TRACE_OK)
			status = put_value(writer, &annotation, depth);
		is_first = false;
	}
	if (status < 0 || more < 0)
		return status < 0 ? status : more;
	return put_literal(writer, is_dictionary ? "}" : "]");
}

static int put_int(struct writer *writer, int64_t value)
{
	char digits[32];

	snprintf(digits, sizeof digits, "%" PRId64, value);
	return put_literal(writer, digits);
}

/* Writes a text that is JSON as it is, and any other text as a string. */
static int put_json(struct writer *writer, struct trace_text text)
{
	int status = trace_json_parse(&writer->parsed, text, true);

	if (status == TRACE_ERROR_FORMAT || status == TRACE_ERROR_LIMIT)
		return put_text(writer, text);
	return status < 0 ? status : put(writer, text.data, text.n_bytes);
}

static int put_nested_value(struct writer *writer, struct trace_text message, int depth);

/* Keys and values are separate lists. Surplus keys or values are left out. */
static int put_nested_dictionary(struct writer *writer, struct trace_text message, int depth)
{
	struct trace_repeated keys = trace_repeated_of(message, NESTED_KEY, TRACE_WIRE_BYTES);
	struct trace_repeated values = trace_repeated_of(message, NESTED_VALUE, TRACE_WIRE_BYTES);
	struct trace_text key, value;
	bool is_first = true;
	int status = put_literal(writer, "{");

	while (status == TRACE_OK && (status = trace_repeated_next_text(&keys, &key)) == TRACE_ROW &&
	       (status = trace_repeated_next_text(&values, &value)) == TRACE_ROW) {
		status = is_first ? TRACE_OK : put_literal(writer, ",");
		if (status == TRACE_OK)
			status = put_text(writer, key);
		if (status == TRACE_OK)
			status = put_literal(writer, ":");
		if (status == TRACE_OK)
			status = put_nested_value(writer, value, depth + 1);
		is_first = false;
	}
	return status < 0 ? status : put_literal(writer, "}");
}

static int put_nested_array(struct writer *writer, struct trace_text message, int depth)
{
	struct trace_repeated elements = trace_repeated_of(message, NESTED_ELEMENT, TRACE_WIRE_BYTES);
	struct trace_text element;
	bool is_first = true;
	int status = put_literal(writer, "[");

	while (status == TRACE_OK && (status = trace_repeated_next_text(&elements, &element)) == TRACE_ROW) {
		status = is_first ? TRACE_OK : put_literal(writer, ",");
		if (status == TRACE_OK)
			status = put_nested_value(writer, element, depth + 1);
		is_first = false;
	}
	return status < 0 ? status : put_literal(writer, "]");
}

static int put_scalar(struct writer *writer, const struct trace_field *value)
{
	switch ((enum nested_field)value->number) {
	case NESTED_INT:
		return put_int(writer, (int64_t)value->value);
	case NESTED_DOUBLE:
		return put_double(writer, trace_double_of(value->value));
	case NESTED_BOOL:
		return put_literal(writer, value->value ? "true" : "false");
	case NESTED_STRING:
		return put_text(writer, value->text);
	default:
		return put_literal(writer, "null");
	}
}

static int put_nested_value(struct writer *writer, struct trace_text message, int depth)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field, scalar = { 0 };
	uint64_t type = NESTED_SCALAR;
	int status;

	if (depth == MAX_DEPTH)
		return put_literal(writer, "null");
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == NESTED_TYPE)
			type = field.value;
		else
			scalar = field;
	}
	if (status < 0)
		return status;
	if (type == NESTED_DICTIONARY)
		return put_nested_dictionary(writer, message, depth);
	return type == NESTED_ARRAY ? put_nested_array(writer, message, depth) : put_scalar(writer, &scalar);
}

static int put_value(struct writer *writer, const struct annotation *annotation, int depth)
{
	const struct trace_field *value = &annotation->value;
	char digits[32];

	if (depth == MAX_DEPTH)
		return put_literal(writer, "null");
	switch ((enum annotation_field)value->number) {
	case ANNOTATION_BOOL:
		return put_literal(writer, value->value ? "true" : "false");
	case ANNOTATION_UINT:
		snprintf(digits, sizeof digits, "%" PRIu64, value->value);
		return put_literal(writer, digits);
	case ANNOTATION_INT:
		return put_int(writer, (int64_t)value->value);
	case ANNOTATION_DOUBLE:
		return put_double(writer, trace_double_of(value->value));
	case ANNOTATION_POINTER:
		snprintf(digits, sizeof digits, "\"0x%" PRIx64 "\"", value->value);
		return put_literal(writer, digits);
	case ANNOTATION_STRING:
		return put_text(writer, value->text);
	case ANNOTATION_LEGACY_JSON:
		return value->text.data ? put_json(writer, value->text) : put_literal(writer, "null");
	case ANNOTATION_NESTED:
		return value->text.data ? put_nested_value(writer, value->text, depth + 1) : put_literal(writer, "null");
	case ANNOTATION_STRING_IID:
		return put_text(writer,
				trace_perfetto_sequence_text(writer->sequence, TRACE_INTERNED_ARGUMENT_TEXT, value->value));
	case ANNOTATION_DICT_ENTRY:
	case ANNOTATION_ARRAY_VALUE:
		return put_nested(writer, annotation->message, value->number, depth + 1);
	default:
		return put_literal(writer, "null");
	}
}

int trace_perfetto_args(const struct trace_perfetto_sequence *sequence, struct trace_text event, struct trace_bytes *json,
			uint64_t *n_mended)
{
	struct trace_repeated annotations = trace_repeated_of(event, EVENT_DEBUG_ANNOTATIONS, TRACE_WIRE_BYTES);
	struct writer writer = { .sequence = sequence, .json = json, .n_mended = n_mended };
	struct trace_text first;
	int status;

	trace_bytes_clear(json);
	status = trace_repeated_next_text(&annotations, &first);
	if (status == TRACE_ROW)
		status = put_nested(&writer, event, EVENT_DEBUG_ANNOTATIONS, 0);
	trace_bytes_release(&writer.mended);
	trace_json_release(&writer.parsed);
	return status;
}

struct trace_text trace_perfetto_first_annotation(struct trace_text event)
{
	struct trace_repeated annotations = trace_repeated_of(event, EVENT_DEBUG_ANNOTATIONS, TRACE_WIRE_BYTES);
	struct trace_text message, text = { NULL, 0 };
	struct trace_message fields;
	struct trace_field field;

	if (trace_repeated_next_text(&annotations, &message) != TRACE_ROW)
		return text;
	fields = trace_message_of(message);
	while (trace_message_next(&fields, &field) == TRACE_ROW) {
		if (field.number == ANNOTATION_STRING && field.wire == TRACE_WIRE_BYTES)
			text = field.text;
	}
	return text;
}
