#include "trace/otlp_protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "trace/otlp.h"
#include "trace/protobuf.h"
#include "trace/utf8.h"

enum {
	LENGTH_BYTES = 4,    /* before each message of a file of several */
	MOST_HEAD_BYTES = 20 /* of a field: its number and its length, or the whole of a field without a length */
};

/* Messages that are open. The fields in ResourceSpans and ScopeSpans are taken one at a time. */
enum level { LEVEL_DATA, LEVEL_RESOURCE, LEVEL_SCOPE, N_LEVELS };

enum { FIELD_HEADER = 1, FIELD_CHILDREN = 2, FIELD_RESOURCE_SPANS = 1, FIELD_OLD_SCOPES = 1000 /* until 2022 */ };

struct otlp_reader {
	struct trace_otlp otlp;
	bool is_strict;
	bool is_begun, has_lengths; /* the file has several messages, each after its length */
	enum level level;
	uint64_t ends[N_LEVELS];   /* bytes of the file */
	bool has_header[N_LEVELS]; /* the resource or scope of the open message was taken */
	uint64_t n_to_skip;
	uint64_t n_taken;	 /* bytes of the file */
	struct trace_bytes name; /* a mended copy */
	uint64_t n_mended;
};

/* ---- Life ---- */

static void *begin(struct trace_assembly *assembly, const struct trace_options *options)
{
	struct otlp_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return NULL;
	reader->otlp.assembly = assembly;
	reader->otlp.wants = trace_assembly_wants(assembly);
	reader->is_strict = options->strict;
	return reader;
}

static void release(void *parser)
{
	struct otlp_reader *reader = parser;

	if (!reader)
		return;
	trace_otlp_release(&reader->otlp);
	trace_bytes_release(&reader->name);
	free(reader);
}

/* ---- Recognition ---- */

enum message {
	MESSAGE_DATA,
	MESSAGE_RESOURCE_SPANS,
	MESSAGE_RESOURCE,
	MESSAGE_SCOPE_SPANS,
	MESSAGE_SPAN,
	MESSAGE_PAIR,
	MESSAGE_ANY
};

static const struct {
	enum message message;
	uint32_t number;
	enum trace_wire wire;
	enum message inside; /* of a field of bytes */
} known_fields[] = {
	{ MESSAGE_DATA, 1, TRACE_WIRE_BYTES, MESSAGE_RESOURCE_SPANS },
	{ MESSAGE_RESOURCE_SPANS, 1, TRACE_WIRE_BYTES, MESSAGE_RESOURCE },
	{ MESSAGE_RESOURCE_SPANS, 2, TRACE_WIRE_BYTES, MESSAGE_SCOPE_SPANS },
	{ MESSAGE_RESOURCE_SPANS, 3, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_RESOURCE_SPANS, FIELD_OLD_SCOPES, TRACE_WIRE_BYTES, MESSAGE_SCOPE_SPANS },
	{ MESSAGE_RESOURCE, 1, TRACE_WIRE_BYTES, MESSAGE_PAIR },
	{ MESSAGE_RESOURCE, 2, TRACE_WIRE_VARINT, MESSAGE_ANY },
	{ MESSAGE_RESOURCE, 3, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SCOPE_SPANS, 1, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SCOPE_SPANS, 2, TRACE_WIRE_BYTES, MESSAGE_SPAN },
	{ MESSAGE_SCOPE_SPANS, 3, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 1, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 2, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 3, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 4, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 5, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 6, TRACE_WIRE_VARINT, MESSAGE_ANY },
	{ MESSAGE_SPAN, 7, TRACE_WIRE_FIXED64, MESSAGE_ANY },
	{ MESSAGE_SPAN, 8, TRACE_WIRE_FIXED64, MESSAGE_ANY },
	{ MESSAGE_SPAN, 9, TRACE_WIRE_BYTES, MESSAGE_PAIR },
	{ MESSAGE_SPAN, 10, TRACE_WIRE_VARINT, MESSAGE_ANY },
	{ MESSAGE_SPAN, 11, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 12, TRACE_WIRE_VARINT, MESSAGE_ANY },
	{ MESSAGE_SPAN, 13, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 14, TRACE_WIRE_VARINT, MESSAGE_ANY },
	{ MESSAGE_SPAN, 15, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_SPAN, 16, TRACE_WIRE_FIXED32, MESSAGE_ANY },
	{ MESSAGE_PAIR, 1, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_PAIR, 2, TRACE_WIRE_BYTES, MESSAGE_ANY },
	{ MESSAGE_PAIR, 3, TRACE_WIRE_VARINT, MESSAGE_ANY },
};

static bool fits(enum message type, struct trace_message message, unsigned *n_fields);

/* True if the field is one of that type of message. `inside` has the bytes of its content that the head of the file has. */
static bool field_fits(enum message type, const struct trace_field *field, struct trace_message inside, unsigned *n_fields)
{
	for (size_t i = 0; i < sizeof known_fields / sizeof *known_fields; i++) {
		if (known_fields[i].message == type && known_fields[i].number == field->number)
			return known_fields[i].wire == field->wire && fits(known_fields[i].inside, inside, n_fields);
	}
	return false;
}

/* True if all fields that the given bytes have are fields of that type of message. */
static bool fits(enum message type, struct trace_message message, unsigned *n_fields)
{
	struct trace_field field;
	uint64_t n_bytes;
	int status;

	if (type == MESSAGE_ANY)
		return true;
	while ((status = trace_message_next_head(&message, &field, &n_bytes)) == TRACE_ROW) {
		struct trace_message inside = message;

		if (n_bytes < (uint64_t)(message.end - message.at))
			inside.end = message.at + n_bytes;
		if (!field_fits(type, &field, inside, n_fields))
			return false;
		++*n_fields;
		message.at = field.wire == TRACE_WIRE_BYTES ? inside.end : message.at;
	}
	return status == TRACE_OK || message.end - message.at < MOST_HEAD_BYTES;
}

static uint32_t length_at(const char *bytes)
{
	const unsigned char *at = (const unsigned char *)bytes;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* True if the file begins with the length of a message. A message without a length begins with field 1. *at is where the first
 * message that is not empty begins. */
static bool begins_with_length(const char *head, size_t n_bytes, size_t *at)
{
	*at = 0;
	if (n_bytes == 0 || head[0] == '\n')
		return false;
	do {
		*at += LENGTH_BYTES;
	} while (*at < n_bytes && length_at(head + *at - LENGTH_BYTES) == 0 && *at + LENGTH_BYTES < n_bytes);
	return *at < n_bytes && head[*at] == '\n';
}

static bool recognise(const char *head, size_t n_bytes, bool is_all)
{
	size_t at;
	bool has_length = begins_with_length(head, n_bytes, &at);
	struct trace_text text = { head, n_bytes };
	unsigned n_fields = 0;

	(void)is_all;
	if (has_length) {
		text = (struct trace_text){ head + at, n_bytes - at };
		if (length_at(text.data - LENGTH_BYTES) < text.n_bytes)
			text.n_bytes = length_at(text.data - LENGTH_BYTES);
	}
	return fits(MESSAGE_DATA, trace_message_of(text), &n_fields) && n_fields > 1;
}

/* ---- Errors and texts ---- */

static int fail(struct otlp_reader *reader, int status, uint64_t offset, const char *problem)
{
	return trace_fail(reader->otlp.assembly, status, offset, "%s", problem);
}

static int refuse(struct otlp_reader *reader)
{
	return fail(reader, TRACE_ERROR_FORMAT, reader->otlp.offset, "the message that starts here is not valid protobuf");
}

static int out_of_memory(struct otlp_reader *reader)
{
	return fail(reader, TRACE_ERROR_MEMORY, reader->otlp.offset, "out of memory");
}

/* Replaces a name that is not UTF-8 by a repaired copy, which is valid until the next call. */
static int mend_name(struct otlp_reader *reader, struct trace_text *name)
{
	return trace_utf8_mend(&reader->name, name, &reader->n_mended) < 0 ? out_of_memory(reader) : TRACE_OK;
}

/* Returns how many texts were mended so far. */
static uint64_t count_mended(const struct otlp_reader *reader)
{
	return reader->n_mended + reader->otlp.args.n_mended + reader->otlp.attributes.n_mended +
	       reader->otlp.scope_args.n_mended;
}

static int check_mended(struct otlp_reader *reader)
{
	return reader->is_strict && count_mended(reader) > 0 ? fail(reader, TRACE_ERROR_FORMAT, reader->otlp.offset,
								    "a text in the message that starts here is not UTF-8")
							     : TRACE_OK;
}

static bool is_bytes(const struct trace_field *field, uint32_t number)
{
	return field->number == number && field->wire == TRACE_WIRE_BYTES;
}

/* ---- Attributes ---- */

static int write_value(struct otlp_reader *reader, struct trace_json_writer *writer, struct trace_text value, unsigned depth);

/* Splits a KeyValue. */
static int split_pair(struct otlp_reader *reader, struct trace_text pair, struct trace_text *key, struct trace_text *value)
{
	struct trace_message message = trace_message_of(pair);
	struct trace_field field;
	int status;

	*key = *value = (struct trace_text){ 0 };
	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_bytes(&field, 1))
			*key = field.text;
		else if (is_bytes(&field, 2))
			*value = field.text;
	}
	return status < 0 ? refuse(reader) : TRACE_OK;
}

static int write_pair(struct otlp_reader *reader, struct trace_json_writer *writer, struct trace_text pair, unsigned depth)
{
	struct trace_text key, value;
	int status = split_pair(reader, pair, &key, &value);

	if (status < 0)
		return status;
	trace_write_key(writer, key);
	return write_value(reader, writer, value, depth);
}

/* Writes an ArrayValue or a KeyValueList. */
static int write_list(struct otlp_reader *reader, struct trace_json_writer *writer, struct trace_text list, bool is_array,
		      unsigned depth)
{
	struct trace_message message = trace_message_of(list);
	struct trace_field field;
	int status;

	if (depth == TRACE_MAX_NESTING)
		return fail(reader, TRACE_ERROR_LIMIT, reader->otlp.offset,
			    "more than 1000 lists are nested in the message that starts here");
	trace_write_open(writer, is_array ? '[' : '{');
	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_bytes(&field, 1))
			status = is_array ? write_value(reader, writer, field.text, depth + 1)
					  : write_pair(reader, writer, field.text, depth + 1);
		if (status < 0)
			return status;
	}
	trace_write_close(writer, is_array ? ']' : '}');
	return status < 0 ? refuse(reader) : TRACE_OK;
}

enum value_field { VALUE_STRING = 1, VALUE_BOOL, VALUE_INT, VALUE_DOUBLE, VALUE_ARRAY, VALUE_LIST, VALUE_BYTES };

static int write_field(struct otlp_reader *reader, struct trace_json_writer *writer, const struct trace_field *field,
		       unsigned depth)
{
	switch (field->number) {
	case VALUE_STRING:
		trace_write_string(writer, field->text);
		break;
	case VALUE_BOOL:
		trace_write_bool(writer, field->value != 0);
		break;
	case VALUE_INT:
		trace_write_int64(writer, (int64_t)field->value);
		break;
	case VALUE_DOUBLE:
		trace_write_double(writer, trace_double_of(field->value));
		break;
	case VALUE_ARRAY:
	case VALUE_LIST:
		return write_list(reader, writer, field->text, field->number == VALUE_ARRAY, depth);
	case VALUE_BYTES:
		trace_write_base64(writer, field->text);
		break;
	default:
		trace_write_null(writer);
	}
	return TRACE_OK;
}

static bool is_value(const struct trace_field *field)
{
	static const enum trace_wire wires[] = {
		[VALUE_STRING] = TRACE_WIRE_BYTES,   [VALUE_BOOL] = TRACE_WIRE_VARINT, [VALUE_INT] = TRACE_WIRE_VARINT,
		[VALUE_DOUBLE] = TRACE_WIRE_FIXED64, [VALUE_ARRAY] = TRACE_WIRE_BYTES, [VALUE_LIST] = TRACE_WIRE_BYTES,
		[VALUE_BYTES] = TRACE_WIRE_BYTES,
	};

	return field->number >= VALUE_STRING && field->number <= VALUE_BYTES && field->wire == wires[field->number];
}

/* Writes an AnyValue; of several values, the last counts. */
static int write_value(struct otlp_reader *reader, struct trace_json_writer *writer, struct trace_text value, unsigned depth)
{
	struct trace_message message = trace_message_of(value);
	struct trace_field field, last = { 0 };
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_value(&field))
			last = field;
	}
	return status < 0 ? refuse(reader) : write_field(reader, writer, &last, depth);
}

/* Writes all fields of a message with this number, its attributes, as an object; *attributes is without data if there are none,
 * or if they are not wanted. */
static int attributes_of(struct otlp_reader *reader, struct trace_text text, uint32_t number, struct trace_text *attributes)
{
	struct trace_json_writer *writer = &reader->otlp.attributes;
	struct trace_message message = trace_message_of(text);
	struct trace_field field;
	bool has_any = false;
	int status;

	*attributes = (struct trace_text){ 0 };
	if (!reader->otlp.wants.args)
		return TRACE_OK;
	trace_write_clear(writer);
	trace_write_open(writer, '{');
	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (!is_bytes(&field, number))
			continue;
		has_any = true;
		status = write_pair(reader, writer, field.text, 0);
		if (status < 0)
			return status;
	}
	trace_write_close(writer, '}');
	if (has_any)
		*attributes = trace_written(writer);
	if (status < 0)
		return refuse(reader);
	return writer->out_of_memory ? out_of_memory(reader) : TRACE_OK;
}

/* ---- Resources and scopes ---- */

static int string_of(struct otlp_reader *reader, struct trace_text value, struct trace_text *string)
{
	struct trace_message message = trace_message_of(value);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_bytes(&field, VALUE_STRING))
			*string = field.text;
	}
	return status < 0 ? refuse(reader) : TRACE_OK;
}

/* Finds the value of the attribute service.name; of several, the last. */
static int service_of(struct otlp_reader *reader, struct trace_text resource, struct trace_text *service)
{
	struct trace_message message = trace_message_of(resource);
	struct trace_field field;
	int status;

	*service = (struct trace_text){ 0 };
	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		struct trace_text key, value;

		if (!is_bytes(&field, 1))
			continue;
		status = split_pair(reader, field.text, &key, &value);
		if (status == TRACE_OK && key.n_bytes == strlen("service.name") &&
		    memcmp(key.data, "service.name", key.n_bytes) == 0)
			status = string_of(reader, value, service);
		if (status < 0)
			return status;
	}
	return status < 0 ? refuse(reader) : TRACE_OK;
}

/* Takes a resource. A text without data stands for one that is missing. */
static int take_resource(struct otlp_reader *reader, struct trace_text resource)
{
	struct trace_text service, attributes;
	int status = service_of(reader, resource, &service);

	if (status == TRACE_OK)
		status = mend_name(reader, &service);
	if (status == TRACE_OK)
		status = attributes_of(reader, resource, 1, &attributes);
	if (status == TRACE_OK)
		status = trace_otlp_begin_resource(&reader->otlp, service, attributes);
	return status == TRACE_OK ? check_mended(reader) : status;
}

static int take_scope(struct otlp_reader *reader, struct trace_text scope)
{
	struct trace_message message = trace_message_of(scope);
	struct trace_text name = { 0 }, version = { 0 }, attributes;
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_bytes(&field, 1))
			name = field.text;
		else if (is_bytes(&field, 2))
			version = field.text;
	}
	if (status < 0)
		return refuse(reader);
	status = mend_name(reader, &name);
	if (status == TRACE_OK)
		status = attributes_of(reader, scope, 3, &attributes);
	if (status == TRACE_OK)
		status = trace_otlp_begin_scope(&reader->otlp, name, version, attributes);
	return status == TRACE_OK ? check_mended(reader) : status;
}

/* ---- Spans ---- */

enum span_field {
	SPAN_TRACE_ID = 1,
	SPAN_ID,
	SPAN_TRACE_STATE,
	SPAN_PARENT_ID,
	SPAN_NAME,
	SPAN_KIND,
	SPAN_START,
	SPAN_END,
	SPAN_ATTRIBUTES,
	SPAN_DROPPED_ATTRIBUTES,
	SPAN_EVENT,
	SPAN_DROPPED_EVENTS,
	SPAN_LINK,
	SPAN_DROPPED_LINKS,
	SPAN_STATUS,
	SPAN_FLAGS
};

static int id_of(struct otlp_reader *reader, struct trace_text bytes, struct trace_otlp_id *id)
{
	if (trace_otlp_id_of_bytes(id, bytes))
		return TRACE_OK;
	return fail(reader, TRACE_ERROR_FORMAT, reader->otlp.offset,
		    "an id in the span that starts here has more than 32 bytes");
}

static int read_status(struct otlp_reader *reader, struct trace_text text, struct trace_otlp_span *span)
{
	struct trace_message message = trace_message_of(text);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_bytes(&field, 2))
			span->status_message = field.text;
		else if (field.number == 3 && field.wire == TRACE_WIRE_VARINT)
			span->status = trace_otlp_status(field.value);
	}
	return status < 0 ? refuse(reader) : TRACE_OK;
}

static int read_bytes(struct otlp_reader *reader, const struct trace_field *field, struct trace_otlp_span *span)
{
	switch (field->number) {
	case SPAN_TRACE_ID:
		return id_of(reader, field->text, &span->trace_id);
	case SPAN_ID:
		return id_of(reader, field->text, &span->span_id);
	case SPAN_PARENT_ID:
		return id_of(reader, field->text, &span->parent_id);
	case SPAN_TRACE_STATE:
		span->trace_state = field->text;
		break;
	case SPAN_NAME:
		span->name = field->text;
		break;
	case SPAN_STATUS:
		return read_status(reader, field->text, span);
	}
	return TRACE_OK;
}

static void read_number(const struct trace_field *field, struct trace_otlp_span *span)
{
	bool is_varint = field->wire == TRACE_WIRE_VARINT, is_fixed64 = field->wire == TRACE_WIRE_FIXED64;

	if (field->number == SPAN_KIND && is_varint) {
		span->kind = trace_otlp_kind(field->value);
	} else if (field->number == SPAN_START && is_fixed64) {
		span->has_start = true;
		span->start_ns = field->value;
	} else if (field->number == SPAN_END && is_fixed64) {
		span->end_ns = field->value;
	} else if (field->number == SPAN_DROPPED_ATTRIBUTES && is_varint) {
		span->n_dropped_attributes = field->value;
	} else if (field->number == SPAN_DROPPED_EVENTS && is_varint) {
		span->n_dropped_events = field->value;
	} else if (field->number == SPAN_DROPPED_LINKS && is_varint) {
		span->n_dropped_links = field->value;
	} else if (field->number == SPAN_FLAGS && field->wire == TRACE_WIRE_FIXED32) {
		span->flags = field->value;
	}
}

static int read_span(struct otlp_reader *reader, struct trace_text text, struct trace_otlp_span *span)
{
	struct trace_message message = trace_message_of(text);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		status = TRACE_OK;
		if (field.wire == TRACE_WIRE_BYTES)
			status = read_bytes(reader, &field, span);
		else
			read_number(&field, span);
		if (status < 0)
			return status;
	}
	if (status < 0)
		return refuse(reader);
	status = attributes_of(reader, text, SPAN_ATTRIBUTES, &span->attributes);
	return status == TRACE_OK ? mend_name(reader, &span->name) : status;
}

static int add_event(struct otlp_reader *reader, struct trace_text text)
{
	struct trace_message message = trace_message_of(text);
	struct trace_otlp_event event = { 0 };
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (field.number == 1 && field.wire == TRACE_WIRE_FIXED64)
			event.time_ns = field.value;
		else if (is_bytes(&field, 2))
			event.name = field.text;
		else if (field.number == 4 && field.wire == TRACE_WIRE_VARINT)
			event.n_dropped_attributes = field.value;
	}
	if (status < 0)
		return refuse(reader);
	status = attributes_of(reader, text, 3, &event.attributes);
	if (status == TRACE_OK)
		status = mend_name(reader, &event.name);
	return status == TRACE_OK ? trace_otlp_add_event(&reader->otlp, &event) : status;
}

static int add_link(struct otlp_reader *reader, struct trace_text text)
{
	struct trace_message message = trace_message_of(text);
	struct trace_otlp_id trace_id = { .n_digits = 0 }, span_id = { .n_digits = 0 };
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_bytes(&field, 1))
			status = id_of(reader, field.text, &trace_id);
		else if (is_bytes(&field, 2))
			status = id_of(reader, field.text, &span_id);
		if (status < 0)
			return status;
	}
	return status < 0 ? refuse(reader) : trace_otlp_add_link(&reader->otlp, &trace_id, &span_id);
}

/* Calls add() for each field of the span with this number. */
static int add_all(struct otlp_reader *reader, struct trace_text span, uint32_t number,
		   int (*add)(struct otlp_reader *reader, struct trace_text text))
{
	struct trace_repeated repeated = trace_repeated_of(span, number, TRACE_WIRE_BYTES);
	struct trace_text text;
	int status;

	while ((status = trace_repeated_next_text(&repeated, &text)) == TRACE_ROW) {
		status = add(reader, text);
		if (status < 0)
			return status;
	}
	return status;
}

static int take_span(struct otlp_reader *reader, struct trace_text text)
{
	struct trace_otlp_span span = { 0 };
	int status = read_span(reader, text, &span);

	if (status == TRACE_OK)
		status = trace_otlp_add_span(&reader->otlp, &span);
	if (status == TRACE_OK)
		status = add_all(reader, text, SPAN_LINK, add_link);
	if (status == TRACE_OK)
		status = add_all(reader, text, SPAN_EVENT, add_event);
	return status == TRACE_OK ? check_mended(reader) : status;
}

/* ---- The file ---- */

/* The bytes that were passed to feed(): how many were taken, and where in the file they begin. */
struct otlp_piece {
	const char *bytes;
	size_t n_bytes, at;
	uint64_t offset;
};

static uint64_t position(const struct otlp_piece *piece)
{
	return piece->offset + piece->at;
}

/* Returns the rest of the open message, as far as the piece has it. */
static struct trace_message rest_of_message(const struct otlp_reader *reader, const struct otlp_piece *piece)
{
	uint64_t n_rest = reader->ends[reader->level] - position(piece);
	size_t n_here = piece->n_bytes - piece->at;

	return trace_message_of((struct trace_text){ piece->bytes + piece->at, n_rest < n_here ? (size_t)n_rest : n_here });
}

static bool is_all_here(const struct otlp_reader *reader, const struct otlp_piece *piece)
{
	return reader->ends[reader->level] - piece->offset <= piece->n_bytes;
}

/* Checks whether the piece has all of a field: TRACE_ROW if it has, TRACE_OK if more bytes are needed. */
static int check_whole(struct otlp_reader *reader, const struct otlp_piece *piece, const struct trace_message *behind_head,
		       uint64_t n_bytes)
{
	if (n_bytes > TRACE_MAX_KEPT_BYTES)
		return fail(reader, TRACE_ERROR_LIMIT, position(piece), "the field that starts here is longer than 256 MiB");
	return n_bytes <= (uint64_t)(piece->bytes + piece->n_bytes - behind_head->at) ? TRACE_ROW : TRACE_OK;
}

static int take_header(struct otlp_reader *reader, struct trace_text text)
{
	reader->has_header[reader->level] = true;
	return reader->level == LEVEL_RESOURCE ? take_resource(reader, text) : take_scope(reader, text);
}

/* Looks for a header behind the other fields of the message. TRACE_ROW if it was taken, or if there is none. */
static int look_ahead(struct otlp_reader *reader, const struct otlp_piece *piece)
{
	struct trace_message message = rest_of_message(reader, piece);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		if (is_bytes(&field, FIELD_HEADER)) {
			status = take_header(reader, field.text);
			return status < 0 ? status : TRACE_ROW;
		}
	}
	if (!is_all_here(reader, piece))
		return reader->ends[reader->level] - position(piece) > TRACE_MAX_KEPT_BYTES
			       ? fail(reader, TRACE_ERROR_LIMIT, position(piece),
				      "the message around this is longer than 256 MiB, and its resource or scope is not known")
			       : TRACE_OK;
	if (status < 0)
		return refuse(reader);
	status = take_header(reader, (struct trace_text){ 0 });
	return status < 0 ? status : TRACE_ROW;
}

/* Each of these functions takes or enters a field whose head was read: TRACE_ROW, or TRACE_OK if more bytes are needed. */

static int enter(struct otlp_reader *reader, struct otlp_piece *piece, const struct trace_message *behind_head,
		 uint64_t n_bytes)
{
	int status = TRACE_ROW;

	if (reader->level > LEVEL_DATA && !reader->has_header[reader->level])
		status = look_ahead(reader, piece);
	if (status != TRACE_ROW)
		return status;
	piece->at = (size_t)(behind_head->at - piece->bytes);
	reader->level++;
	reader->ends[reader->level] = position(piece) + n_bytes;
	reader->has_header[reader->level] = false;
	return TRACE_ROW;
}

static int take_whole(struct otlp_reader *reader, struct otlp_piece *piece, const struct trace_message *behind_head,
		      uint64_t n_bytes, bool is_span)
{
	struct trace_text text = { behind_head->at, (size_t)n_bytes };
	int status = check_whole(reader, piece, behind_head, n_bytes);

	if (status == TRACE_ROW && is_span && !reader->has_header[LEVEL_SCOPE])
		status = look_ahead(reader, piece);
	if (status != TRACE_ROW)
		return status;
	status = is_span ? take_span(reader, text) : take_header(reader, text);
	piece->at = (size_t)(behind_head->at - piece->bytes) + (size_t)n_bytes;
	return status < 0 ? status : TRACE_ROW;
}

static bool leads_to_spans(enum level level, uint32_t number)
{
	if (level == LEVEL_DATA)
		return number == FIELD_RESOURCE_SPANS;
	return level == LEVEL_RESOURCE && (number == FIELD_CHILDREN || number == FIELD_OLD_SCOPES);
}

static int take_field(struct otlp_reader *reader, struct otlp_piece *piece)
{
	struct trace_message message = rest_of_message(reader, piece);
	struct trace_field field;
	uint64_t n_bytes, n_behind;
	int status = trace_message_next_head(&message, &field, &n_bytes);

	reader->otlp.offset = position(piece);
	if (status < 0 && !is_all_here(reader, piece) && piece->n_bytes - piece->at < MOST_HEAD_BYTES)
		return TRACE_OK;
	if (status != TRACE_ROW)
		return status < 0 ? refuse(reader) : TRACE_OK;
	n_behind = reader->ends[reader->level] - (piece->offset + (size_t)(message.at - piece->bytes));
	if (n_bytes > n_behind)
		return fail(reader, TRACE_ERROR_FORMAT, position(piece),
			    "the field that starts here is longer than its message");
	if (field.wire == TRACE_WIRE_BYTES && leads_to_spans(reader->level, field.number))
		return enter(reader, piece, &message, n_bytes);
	if (reader->level == LEVEL_SCOPE && is_bytes(&field, FIELD_CHILDREN))
		return take_whole(reader, piece, &message, n_bytes, true);
	if (reader->level > LEVEL_DATA && is_bytes(&field, FIELD_HEADER) && !reader->has_header[reader->level])
		return take_whole(reader, piece, &message, n_bytes, false);
	piece->at = (size_t)(message.at - piece->bytes);
	reader->n_to_skip = n_bytes;
	return TRACE_ROW;
}

/* Takes the length before a message. */
static int take_length(struct otlp_reader *reader, struct otlp_piece *piece)
{
	if (piece->n_bytes - piece->at < LENGTH_BYTES)
		return TRACE_OK;
	reader->ends[LEVEL_DATA] = position(piece) + LENGTH_BYTES + length_at(piece->bytes + piece->at);
	piece->at += LENGTH_BYTES;
	return TRACE_ROW;
}

static void skip(struct otlp_reader *reader, struct otlp_piece *piece)
{
	size_t n_here = piece->n_bytes - piece->at;
	size_t n = reader->n_to_skip < n_here ? (size_t)reader->n_to_skip : n_here;

	piece->at += n;
	reader->n_to_skip -= n;
}

/* Tells which of the two forms that recognise() accepts the file has. */
static void look_at_start(struct otlp_reader *reader, const struct otlp_piece *piece)
{
	reader->is_begun = true;
	reader->has_lengths = piece->bytes[0] != '\n';
	reader->ends[LEVEL_DATA] = reader->has_lengths ? 0 : INT64_MAX;
}

static int feed(void *parser, const char *bytes, size_t n_bytes, size_t *n_taken)
{
	struct otlp_reader *reader = parser;
	struct otlp_piece piece = { bytes, n_bytes, 0, reader->n_taken };
	int status = TRACE_ROW;

	if (!reader->is_begun)
		look_at_start(reader, &piece);
	while (status == TRACE_ROW) {
		skip(reader, &piece);
		if (piece.at == n_bytes)
			break;
		if (position(&piece) < reader->ends[reader->level])
			status = take_field(reader, &piece);
		else if (reader->level > LEVEL_DATA)
			reader->level--;
		else
			status = take_length(reader, &piece);
	}
	*n_taken = piece.at;
	reader->n_taken = position(&piece);
	return status < 0 ? status : TRACE_OK;
}

static int end(void *parser, const char *bytes, size_t n_bytes)
{
	struct otlp_reader *reader = parser;
	uint64_t at = reader->n_taken;
	bool is_whole = n_bytes == 0 && reader->n_to_skip == 0;
	int status;

	(void)bytes;
	for (int level = reader->has_lengths ? LEVEL_DATA : LEVEL_RESOURCE; level <= (int)reader->level; level++)
		is_whole = is_whole && at == reader->ends[level];
	if (!is_whole)
		return fail(reader, TRACE_ERROR_FORMAT, at + n_bytes, "the file ends inside a message");
	status = trace_otlp_finish(&reader->otlp);
	if (status < 0)
		return status;
	return count_mended(reader) > 0
		       ? trace_report_add(reader->otlp.assembly, TRACE_MENDED, count_mended(reader), "string that is not UTF-8")
		       : TRACE_OK;
}

const struct trace_format trace_otlp_protobuf = {
	.name = "OTLP protobuf",
	.recognise = recognise,
	.begin = begin,
	.feed = feed,
	.end = end,
	.release = release,
};
