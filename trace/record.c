#include "trace/record.h"

#include <string.h>

/* A length is put seven bits at a time, the lowest first; all bytes but the last have their highest bit set. */
enum { LENGTH_BITS = 7, LENGTH_GOES_ON = 0x80 };

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

void trace_put_some_text(struct trace_record *record, struct trace_text text)
{
	uint64_t length = (uint64_t)text.n_bytes + 1;
	char *at;

	for (; length >= LENGTH_GOES_ON; length >>= LENGTH_BITS)
		trace_put_u8(record, (uint8_t)(length | LENGTH_GOES_ON));
	trace_put_u8(record, (uint8_t)length);
	if (text.n_bytes > 0 && (at = trace_record_extend(record, text.n_bytes)))
		memcpy(at, text.data, text.n_bytes);
}

struct trace_text trace_take_some_text(struct trace_unpacking *unpacking)
{
	uint64_t length = trace_take_u8(unpacking);
	struct trace_text text;

	if (length & LENGTH_GOES_ON) {
		uint8_t byte;
		unsigned shift = 0;

		length &= ~(uint64_t)LENGTH_GOES_ON;
		do {
			byte = trace_take_u8(unpacking);
			shift += LENGTH_BITS;
			length |= (uint64_t)(byte & ~LENGTH_GOES_ON) << shift;
		} while (byte & LENGTH_GOES_ON);
	}
	text = (struct trace_text){ unpacking->at, (size_t)length - 1 };
	unpacking->at += text.n_bytes;
	return text;
}
