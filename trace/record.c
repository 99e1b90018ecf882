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

static void put(struct trace_record *record, const void *data, size_t n_bytes)
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

static void put_big_endian(struct trace_record *record, uint64_t value, unsigned n_bytes)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < n_bytes; i++)
		bytes[i] = (unsigned char)(value >> 8 * (n_bytes - 1 - i));
	put(record, bytes, n_bytes);
}

void trace_put_u8(struct trace_record *record, uint8_t value)
{
	put(record, &value, 1);
}

void trace_put_u32(struct trace_record *record, uint32_t value)
{
	put_big_endian(record, value, 4);
}

void trace_put_u64(struct trace_record *record, uint64_t value)
{
	put_big_endian(record, value, 8);
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

static uint64_t take_big_endian(struct trace_unpacking *unpacking, unsigned n_bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n_bytes; i++)
		value = value << 8 | (unsigned char)unpacking->at[i];
	unpacking->at += n_bytes;
	return value;
}

uint8_t trace_take_u8(struct trace_unpacking *unpacking)
{
	return (uint8_t)take_big_endian(unpacking, 1);
}

uint32_t trace_take_u32(struct trace_unpacking *unpacking)
{
	return (uint32_t)take_big_endian(unpacking, 4);
}

uint64_t trace_take_u64(struct trace_unpacking *unpacking)
{
	return take_big_endian(unpacking, 8);
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
