#include "trace/record.h"

#include <string.h>

void trace_record_clear(struct trace_record *record)
{
	trace_bytes_clear(&record->bytes);
	record->out_of_memory = false;
}

void trace_record_release(struct trace_record *record)
{
	trace_bytes_release(&record->bytes);
}

static inline void put(struct trace_record *record, const void *data, size_t n_bytes)
{
	struct trace_bytes *bytes = &record->bytes;

	if (record->out_of_memory)
		return;
	if (n_bytes > bytes->n_allocated - bytes->n_bytes && trace_bytes_reserve(bytes, n_bytes) < 0) {
		record->out_of_memory = true;
		return;
	}
	memcpy(bytes->data + bytes->n_bytes, data, n_bytes);
	bytes->n_bytes += n_bytes;
}

void trace_put_u8(struct trace_record *record, uint8_t value)
{
	put(record, &value, 1);
}

void trace_put_u32(struct trace_record *record, uint32_t value)
{
	unsigned char bytes[4];

	for (unsigned i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(value >> 8 * (3 - i));
	put(record, bytes, sizeof bytes);
}

void trace_put_u64(struct trace_record *record, uint64_t value)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(value >> 8 * (7 - i));
	put(record, bytes, sizeof bytes);
}

void trace_put_i64(struct trace_record *record, int64_t value)
{
	trace_put_u64(record, (uint64_t)value ^ (uint64_t)1 << 63);
}

void trace_put_text(struct trace_record *record, struct trace_text text)
{
	trace_put_u32(record, text.data ? (uint32_t)text.n_bytes : UINT32_MAX);
	if (text.data && text.n_bytes > 0)
		put(record, text.data, text.n_bytes);
}

uint8_t trace_take_u8(struct trace_unpacking *unpacking)
{
	return (uint8_t)*unpacking->at++;
}

/* The compiler makes one instruction of each of these. */
uint32_t trace_take_u32(struct trace_unpacking *unpacking)
{
	const unsigned char *at = (const unsigned char *)unpacking->at;

	unpacking->at += 4;
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

uint64_t trace_take_u64(struct trace_unpacking *unpacking)
{
	const unsigned char *at = (const unsigned char *)unpacking->at;

	unpacking->at += 8;
	return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 |
	       (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 | (uint64_t)at[6] << 8 | at[7];
}

int64_t trace_take_i64(struct trace_unpacking *unpacking)
{
	return (int64_t)(trace_take_u64(unpacking) ^ (uint64_t)1 << 63);
}

struct trace_text trace_take_text(struct trace_unpacking *unpacking)
{
	uint32_t n_bytes = trace_take_u32(unpacking);
	struct trace_text text = { unpacking->at, n_bytes };

	if (n_bytes == UINT32_MAX)
		return (struct trace_text){ NULL, 0 };
	unpacking->at += n_bytes;
	return text;
}
