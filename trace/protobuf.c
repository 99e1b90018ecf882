#include "trace/protobuf.h"

#include <pb_decode.h>
#include <string.h>

struct trace_message trace_message_of(struct trace_text bytes)
{
	return bytes.data ? (struct trace_message){ bytes.data, bytes.data + bytes.n_bytes } : (struct trace_message){ "", "" };
}

static pb_istream_t stream_of(const struct trace_message *message)
{
	return pb_istream_from_buffer((const pb_byte_t *)message->at, (size_t)(message->end - message->at));
}

static bool take_fixed32(pb_istream_t *stream, uint64_t *value)
{
	uint32_t bits;

	if (!pb_decode_fixed32(stream, &bits))
		return false;
	*value = bits;
	return true;
}

/* Takes the head of a field of bytes, or another field whole. */
static int take_head(pb_istream_t *stream, struct trace_field *field, uint64_t *n_bytes)
{
	pb_wire_type_t wire;
	bool is_end = false, is_read = false;

	*n_bytes = 0;
	field->text = (struct trace_text){ NULL, 0 };
	field->value = 0;
	if (stream->bytes_left == 0)
		return TRACE_OK;
	if (!pb_decode_tag(stream, &wire, &field->number, &is_end) || field->number == 0)
		return TRACE_ERROR_FORMAT;
	field->wire = (enum trace_wire)wire;
	switch (wire) {
	case PB_WT_VARINT:
		is_read = pb_decode_varint(stream, &field->value);
		break;
	case PB_WT_64BIT:
		is_read = pb_decode_fixed64(stream, &field->value);
		break;
	case PB_WT_STRING:
		is_read = pb_decode_varint(stream, n_bytes);
		break;
	case PB_WT_32BIT:
		is_read = take_fixed32(stream, &field->value);
		break;
	default:
		break;
	}
	return is_read ? TRACE_ROW : TRACE_ERROR_FORMAT;
}

int trace_message_next_head(struct trace_message *message, struct trace_field *field, uint64_t *n_bytes)
{
	pb_istream_t stream = stream_of(message);
	int status = take_head(&stream, field, n_bytes);

	if (status == TRACE_ROW)
		message->at = message->end - stream.bytes_left;
	return status;
}

int trace_message_next(struct trace_message *message, struct trace_field *field)
{
	pb_istream_t stream = stream_of(message);
	uint64_t n_bytes;
	int status = take_head(&stream, field, &n_bytes);

	if (status != TRACE_ROW)
		return status;
	if (n_bytes > stream.bytes_left)
		return TRACE_ERROR_FORMAT;
	message->at = message->end - stream.bytes_left;
	if (field->wire == TRACE_WIRE_BYTES) {
		field->text = (struct trace_text){ message->at, (size_t)n_bytes };
		message->at += n_bytes;
	}
	return TRACE_ROW;
}

/* ---- Repeated fields ---- */

struct trace_repeated trace_repeated_of(struct trace_text message, uint32_t number, enum trace_wire wire)
{
	struct trace_text none = { NULL, 0 };

	return (struct trace_repeated){ trace_message_of(message), trace_message_of(none), number, wire };
}

static int next_packed(struct trace_repeated *repeated, uint64_t *value)
{
	pb_istream_t stream = stream_of(&repeated->packed);
	bool is_read = false;

	if (repeated->wire == TRACE_WIRE_VARINT)
		is_read = pb_decode_varint(&stream, value);
	else if (repeated->wire == TRACE_WIRE_FIXED64)
		is_read = pb_decode_fixed64(&stream, value);
	else
		is_read = take_fixed32(&stream, value);
	if (!is_read)
		return TRACE_ERROR_FORMAT;
	repeated->packed.at = repeated->packed.end - stream.bytes_left;
	return TRACE_ROW;
}

int trace_repeated_next(struct trace_repeated *repeated, uint64_t *value)
{
	struct trace_field field;
	int status;

	while (repeated->packed.at == repeated->packed.end) {
		status = trace_message_next(&repeated->message, &field);
		if (status != TRACE_ROW)
			return status;
		if (field.number != repeated->number)
			continue;
		if (field.wire == repeated->wire) {
			*value = field.value;
			return TRACE_ROW;
		}
		if (field.wire == TRACE_WIRE_BYTES)
			repeated->packed = trace_message_of(field.text);
	}
	return next_packed(repeated, value);
}

int trace_repeated_next_text(struct trace_repeated *repeated, struct trace_text *text)
{
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&repeated->message, &field)) == TRACE_ROW) {
		if (field.number == repeated->number && field.wire == TRACE_WIRE_BYTES) {
			*text = field.text;
			return TRACE_ROW;
		}
	}
	return status;
}

double trace_double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}
