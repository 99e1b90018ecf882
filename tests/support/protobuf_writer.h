/* tests/support/protobuf_writer.h -- Writer of protobuf messages, field by field, without the library that reads them. */
#ifndef TESTS_PROTOBUF_WRITER_H
#define TESTS_PROTOBUF_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is an empty message. */
struct protobuf {
	uint8_t *bytes; /* owned */
	size_t n_bytes, n_allocated;
};

void protobuf_clear(struct protobuf *message);
void protobuf_release(struct protobuf *message);

void protobuf_raw(struct protobuf *message, const void *bytes, size_t n_bytes);
void protobuf_raw_varint(struct protobuf *message, uint64_t value);

void protobuf_varint(struct protobuf *message, uint32_t number, uint64_t value);
void protobuf_fixed32(struct protobuf *message, uint32_t number, uint32_t value);
void protobuf_fixed64(struct protobuf *message, uint32_t number, uint64_t value);
void protobuf_double(struct protobuf *message, uint32_t number, double value);
void protobuf_text(struct protobuf *message, uint32_t number, const char *text);
void protobuf_bytes(struct protobuf *message, uint32_t number, const void *bytes, size_t n_bytes);

/* Begins and ends a field that is a message: what is written between the two calls is in it. */
size_t protobuf_begin(struct protobuf *message, uint32_t number);
void protobuf_end(struct protobuf *message, size_t begin);

/* Writes a field that is a message, and releases that message. */
void protobuf_message(struct protobuf *message, uint32_t number, struct protobuf *inside);

#endif
