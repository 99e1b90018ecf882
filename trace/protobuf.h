/* trace/protobuf.h -- Iterator over the fields of a protobuf message in memory.
 *
 *     struct trace_message message = trace_message_of(bytes);
 *     struct trace_field field;
 *     while ((status = trace_message_next(&message, &field)) == TRACE_ROW)
 *         if (field.number == 11 && field.wire == TRACE_WIRE_BYTES)
 *             ...
 *
 * Copies and allocates nothing. The bytes may be invalid: reads stay within them. Only protobuf.c depends on nanopb.
 */
#ifndef IFOREST_PROTOBUF_H
#define IFOREST_PROTOBUF_H

#include <stdbool.h>

#include "trace/bytes.h"

/* Wire type of a field. Groups, which are obsolete, are not supported. */
enum trace_wire { TRACE_WIRE_VARINT = 0, TRACE_WIRE_FIXED64 = 1, TRACE_WIRE_BYTES = 2, TRACE_WIRE_FIXED32 = 5 };

struct trace_message {
	const char *at, *end; /* the unread part */
};

struct trace_field {
	uint32_t number;
	enum trace_wire wire;
	uint64_t value;		/* unless it is of bytes */
	struct trace_text text; /* if it is; data is never NULL then */
};

struct trace_message trace_message_of(struct trace_text bytes);

/* Takes the next field. TRACE_ROW; TRACE_OK behind the last one; TRACE_ERROR_FORMAT if the bytes are no field, which `at` then
 * points to. O(bytes of the field's head). */
int trace_message_next(struct trace_message *message, struct trace_field *field);

/* Takes the head of a field of bytes: its number and its length, of which the message need not have all; at is then behind
 * the head. As above, except that other fields are taken whole, with *n_bytes = 0. */
int trace_message_next_head(struct trace_message *message, struct trace_field *field, uint64_t *n_bytes);

/* All values of one repeated field of a message: written one by one, or packed. */
struct trace_repeated {
	struct trace_message message, packed;
	uint32_t number;
	enum trace_wire wire; /* of a value */
};

struct trace_repeated trace_repeated_of(struct trace_text message, uint32_t number, enum trace_wire wire);

/* Takes the next value, or the next text of a field of bytes. As trace_message_next. */
int trace_repeated_next(struct trace_repeated *repeated, uint64_t *value);
int trace_repeated_next_text(struct trace_repeated *repeated, struct trace_text *text);

/* A value as the double that its bits are. */
double trace_double_of(uint64_t bits);

#endif
