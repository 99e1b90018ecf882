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

/* ---- Fields ---- */

/* The library takes one byte at a time, each by a call through a pointer. The usual varints are read here instead: those that
 * are whole, and so short that their values cannot be too large. */
enum { SHORT_TAG_BYTES = 4, SHORT_VALUE_BYTES = 9 };

/* Returns the value of the varint of two to eight bytes at the start of the word, whose first byte is the lowest. Requires that
 * it ends at the lowest bit of `ends`. */
static uint64_t gather(uint64_t word, uint64_t ends)
{
	word &= (ends ^ (ends - 1)) & UINT64_C(0x7F7F7F7F7F7F7F7F);
	word = (word & UINT64_C(0x007F007F007F007F)) | (word & UINT64_C(0x7F007F007F007F00)) >> 1;
	word = (word & UINT64_C(0x00003FFF00003FFF)) | (word & UINT64_C(0x3FFF00003FFF0000)) >> 2;
	return (word & UINT64_C(0x0FFFFFFF)) | (word & UINT64_C(0x0FFFFFFF00000000)) >> 4;
}

static uint64_t load_u64(const unsigned char *at)
{
	uint64_t word = 0;

	for (int i = 7; i >= 0; i--)
		word = word << 8 | at[i];
	return word;
}

/* Reads a varint of at most that many bytes. Returns the position behind it, or NULL if it is longer or not whole. */
static inline const unsigned char *pass_varint(const unsigned char *at, const unsigned char *end, int most_bytes,
					       uint64_t *value)
{
	if (at < end && *at < 0x80) {
		*value = *at;
		return at + 1;
	}
	if (end - at >= 8) {
		uint64_t word = load_u64(at), ends = ~word & UINT64_C(0x8080808080808080);
		int n_bytes = ends ? __builtin_ctzll(ends) / 8 + 1 : SHORT_VALUE_BYTES;

		if (ends && n_bytes <= most_bytes) {
			*value = gather(word, ends);
			return at + n_bytes;
		}
	}
	*value = 0;
	for (int i = 0; i < most_bytes && at + i < end; i++) {
		*value |= (uint64_t)(at[i] & 0x7F) << 7 * i;
		if (at[i] < 0x80)
			return at + i + 1;
	}
	return NULL;
}

/* Takes a field's head as trace_message_next_head() does, if all its numbers are short varints. */
static inline bool take_short_head(struct trace_message *message, struct trace_field *field, uint64_t *n_bytes)
{
	const unsigned char *at = (const unsigned char *)message->at, *end = (const unsigned char *)message->end;
	uint64_t tag, value;

	at = pass_varint(at, end, SHORT_TAG_BYTES, &tag);
	if (!at || tag < 8 || ((tag & 7) != TRACE_WIRE_VARINT && (tag & 7) != TRACE_WIRE_BYTES))
		return false;
	at = pass_varint(at, end, SHORT_VALUE_BYTES, &value);
	if (!at)
		return false;
	field->wire = (enum trace_wire)(tag & 7);
	field->number = (uint32_t)(tag >> 3);
	*n_bytes = field->wire == TRACE_WIRE_BYTES ? value : 0;
	field->value = field->wire == TRACE_WIRE_BYTES ? 0 : value;
	field->text = (struct trace_text){ NULL, 0 };
	message->at = (const char *)at;
	return true;
}

/* Takes the head of a field of bytes, or the whole of any other field. */
static int take_head_from(pb_istream_t *stream, struct trace_field *field, uint64_t *n_bytes)
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

/* Takes any head, short or not. */
static __attribute__((noinline)) int take_head(struct trace_message *message, struct trace_field *field, uint64_t *n_bytes)
{
	pb_istream_t stream = stream_of(message);
	int status = take_head_from(&stream, field, n_bytes);

	if (status == TRACE_ROW)
		message->at = message->end - stream.bytes_left;
	return status;
}

int trace_message_next_head(struct trace_message *message, struct trace_field *field, uint64_t *n_bytes)
{
	return take_short_head(message, field, n_bytes) ? TRACE_ROW : take_head(message, field, n_bytes);
}

int trace_message_next(struct trace_message *message, struct trace_field *field)
{
	const char *start = message->at;
	uint64_t n_bytes;
	int status;

	if (start == message->end)
		return TRACE_OK;
	status = take_short_head(message, field, &n_bytes) ? TRACE_ROW : take_head(message, field, &n_bytes);
	if (status != TRACE_ROW)
		return status;
	if (n_bytes > (size_t)(message->end - message->at)) {
		message->at = start;
		return TRACE_ERROR_FORMAT;
	}
	if (field->wire == TRACE_WIRE_BYTES)
		field->text = (struct trace_text){ message->at, (size_t)n_bytes };
	message->at += n_bytes;
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
	struct trace_message *packed = &repeated->packed;
	const unsigned char *behind = NULL;
	pb_istream_t stream;
	bool is_read = false;

	if (repeated->wire == TRACE_WIRE_VARINT)
		behind = pass_varint((const unsigned char *)packed->at, (const unsigned char *)packed->end, SHORT_VALUE_BYTES,
				     value);
	if (behind) {
		packed->at = (const char *)behind;
		return TRACE_ROW;
	}
	stream = stream_of(packed);
	if (repeated->wire == TRACE_WIRE_VARINT)
		is_read = pb_decode_varint(&stream, value);
	else if (repeated->wire == TRACE_WIRE_FIXED64)
		is_read = pb_decode_fixed64(&stream, value);
	else
		is_read = take_fixed32(&stream, value);
	if (!is_read)
		return TRACE_ERROR_FORMAT;
	packed->at = packed->end - stream.bytes_left;
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
