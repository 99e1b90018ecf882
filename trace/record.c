#include "trace/record.h"

#include <string.h>

/* Small numbers are stored in groups of seven bits, the lowest first. All bytes but the last have their highest bit set. */
enum { SMALL_BITS = 7, SMALL_GOES_ON = 0x80 };

void trace_record_clear(struct trace_record *record)
{
	trace_bytes_clear(&record->bytes);
	record->out_of_memory = false;
}

void trace_record_release(struct trace_record *record)
{
	trace_bytes_release(&record->bytes);
}

char *trace_record_grow(struct trace_record *record, size_t n_bytes)
{
	struct trace_bytes *bytes = &record->bytes;

	if (record->out_of_memory || trace_bytes_reserve(bytes, n_bytes) < 0) {
		record->out_of_memory = true;
		return NULL;
	}
	bytes->n_bytes += n_bytes;
	return bytes->data + bytes->n_bytes - n_bytes;
}

void trace_put_not_so_small(struct trace_record *record, uint64_t value)
{
	for (; value >= SMALL_GOES_ON; value >>= SMALL_BITS)
		trace_put_u8(record, (uint8_t)(value | SMALL_GOES_ON));
	trace_put_u8(record, (uint8_t)value);
}

void trace_put_bytes(struct trace_record *record, struct trace_text bytes)
{
	char *at = bytes.n_bytes > 0 ? trace_record_extend(record, bytes.n_bytes) : NULL;

	if (at)
		memcpy(at, bytes.data, bytes.n_bytes);
}

void trace_put_some_text(struct trace_record *record, struct trace_text text)
{
	trace_put_small(record, (uint64_t)text.n_bytes + 1);
	trace_put_bytes(record, text);
}

uint64_t trace_take_not_so_small(struct trace_unpacking *unpacking)
{
	uint8_t byte = trace_take_u8(unpacking);
	uint64_t value = byte & ~SMALL_GOES_ON;

	for (unsigned shift = SMALL_BITS; byte & SMALL_GOES_ON; shift += SMALL_BITS) {
		byte = trace_take_u8(unpacking);
		value |= (uint64_t)(byte & ~SMALL_GOES_ON) << shift;
	}
	return value;
}

struct trace_text trace_take_some_text(struct trace_unpacking *unpacking)
{
	uint64_t length = trace_take_small(unpacking);

	return trace_take_bytes(unpacking, (size_t)length - 1);
}
