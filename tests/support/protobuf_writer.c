#include "tests/support/protobuf_writer.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

void protobuf_clear(struct protobuf *message)
{
	message->n_bytes = 0;
}

void protobuf_release(struct protobuf *message)
{
	free(message->bytes);
	*message = (struct protobuf){ 0 };
}

void protobuf_raw(struct protobuf *message, const void *bytes, size_t n_bytes)
{
	if (message->n_allocated - message->n_bytes < n_bytes) {
		message->n_allocated = 2 * (message->n_bytes + n_bytes);
		message->bytes = realloc(message->bytes, message->n_allocated);
		if (!message->bytes)
			abort();
	}
	if (n_bytes > 0)
		memcpy(message->bytes + message->n_bytes, bytes, n_bytes);
	message->n_bytes += n_bytes;
}

void protobuf_raw_varint(struct protobuf *message, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		protobuf_raw(message, &byte, 1);
		value >>= 7;
	} while (value);
}

static void head(struct protobuf *message, uint32_t number, unsigned wire)
{
	protobuf_raw_varint(message, (uint64_t)number << 3 | wire);
}

void protobuf_varint(struct protobuf *message, uint32_t number, uint64_t value)
{
	head(message, number, WIRE_VARINT);
	protobuf_raw_varint(message, value);
}

void protobuf_fixed64(struct protobuf *message, uint32_t number, uint64_t value)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	head(message, number, WIRE_FIXED64);
	protobuf_raw(message, bytes, sizeof bytes);
}

void protobuf_double(struct protobuf *message, uint32_t number, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	protobuf_fixed64(message, number, bits);
}

void protobuf_bytes(struct protobuf *message, uint32_t number, const void *bytes, size_t n_bytes)
{
	head(message, number, WIRE_BYTES);
	protobuf_raw_varint(message, n_bytes);
	protobuf_raw(message, bytes, n_bytes);
}

void protobuf_text(struct protobuf *message, uint32_t number, const char *text)
{
	protobuf_bytes(message, number, text, strlen(text));
}

size_t protobuf_begin(struct protobuf *message, uint32_t number)
{
	head(message, number, WIRE_BYTES);
	return message->n_bytes;
}

void protobuf_end(struct protobuf *message, size_t begin)
{
	size_t n_bytes = message->n_bytes - begin;
	struct protobuf tail = { 0 };

	protobuf_raw(&tail, message->bytes + begin, n_bytes);
	message->n_bytes = begin;
	protobuf_raw_varint(message, n_bytes);
	protobuf_raw(message, tail.bytes, tail.n_bytes);
	protobuf_release(&tail);
}
