/* trace/record.h -- Integers and texts packed in sequence, for the records of a sorter.
 *
 *     trace_put_u64(&bytes, number);               struct trace_unpacking unpacking = { data };
 *     trace_put_text(&bytes, name);                number = trace_take_u64(&unpacking);
 *     if (bytes.out_of_memory) ...                 name = trace_take_text(&unpacking);
 */
#ifndef IFOREST_RECORD_H
#define IFOREST_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/bytes.h"

/* All zero is empty. A failed allocation sets out_of_memory, after which all functions do nothing. */
struct trace_record {
	struct trace_bytes bytes;
	bool out_of_memory;
};

void trace_record_clear(struct trace_record *record);
void trace_record_release(struct trace_record *record);

/* Makes room for n_bytes, and returns their address; NULL if out of memory. */
char *trace_record_grow(struct trace_record *record, size_t n_bytes);

static inline char *trace_record_extend(struct trace_record *record, size_t n_bytes)
{
	struct trace_bytes *bytes = &record->bytes;

	if (record->out_of_memory || n_bytes > bytes->n_allocated - bytes->n_bytes)
		return trace_record_grow(record, n_bytes);
	bytes->n_bytes += n_bytes;
	return bytes->data + bytes->n_bytes - n_bytes;
}

/* Big-endian, so that memcmp orders them as numbers; the sign bit of an int64_t is inverted for the same reason. */
static inline void trace_put_u8(struct trace_record *record, uint8_t value)
{
	char *at = trace_record_extend(record, 1);

	if (at)
		*at = (char)value;
}

/* Compilers turn each of these loops into one instruction. */
static inline void trace_put_u32(struct trace_record *record, uint32_t value)
{
	char *at = trace_record_extend(record, 4);

	for (unsigned i = 0; at && i < 4; i++)
		at[i] = (char)(value >> 8 * (3 - i));
}

static inline void trace_put_u64(struct trace_record *record, uint64_t value)
{
	char *at = trace_record_extend(record, 8);

	for (unsigned i = 0; at && i < 8; i++)
		at[i] = (char)(value >> 8 * (7 - i));
}

static inline void trace_put_i64(struct trace_record *record, int64_t value)
{
	trace_put_u64(record, (uint64_t)value ^ (uint64_t)1 << 63);
}

/* The address of a literal, which must outlive the record. */
static inline void trace_put_literal(struct trace_record *record, const char *literal)
{
	trace_put_u64(record, (uint64_t)(uintptr_t)literal);
}

void trace_put_not_so_small(struct trace_record *record, uint64_t value);

/* A varint: one byte for every seven bits. */
static inline void trace_put_small(struct trace_record *record, uint64_t value)
{
	if (value < 0x80)
		trace_put_u8(record, (uint8_t)value);
	else
		trace_put_not_so_small(record, value);
}

/* Raw bytes. */
void trace_put_bytes(struct trace_record *record, struct trace_text bytes);

void trace_put_some_text(struct trace_record *record, struct trace_text text);

/* A text, or one byte if there is none. The length of a short text takes one byte. */
static inline void trace_put_text(struct trace_record *record, struct trace_text text)
{
	if (text.data)
		trace_put_some_text(record, text);
	else
		trace_put_u8(record, 0);
}

/* Reads values in the order in which they were put. Texts point into the record. Requires: no more than was put. */
struct trace_unpacking {
	const char *at;
};

static inline uint8_t trace_take_u8(struct trace_unpacking *unpacking)
{
	return (uint8_t)*unpacking->at++;
}

static inline uint32_t trace_take_u32(struct trace_unpacking *unpacking)
{
	const unsigned char *at = (const unsigned char *)unpacking->at;

	unpacking->at += 4;
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t trace_take_u64(struct trace_unpacking *unpacking)
{
	uint64_t high = trace_take_u32(unpacking);

	return high << 32 | trace_take_u32(unpacking);
}

static inline int64_t trace_take_i64(struct trace_unpacking *unpacking)
{
	return (int64_t)(trace_take_u64(unpacking) ^ (uint64_t)1 << 63);
}

static inline const char *trace_take_literal(struct trace_unpacking *unpacking)
{
	return (const char *)(uintptr_t)trace_take_u64(unpacking);
}

uint64_t trace_take_not_so_small(struct trace_unpacking *unpacking);

static inline uint64_t trace_take_small(struct trace_unpacking *unpacking)
{
	return *unpacking->at & 0x80 ? trace_take_not_so_small(unpacking) : trace_take_u8(unpacking);
}

static inline struct trace_text trace_take_bytes(struct trace_unpacking *unpacking, size_t n_bytes)
{
	struct trace_text bytes = { unpacking->at, n_bytes };

	unpacking->at += n_bytes;
	return bytes;
}

struct trace_text trace_take_some_text(struct trace_unpacking *unpacking);

static inline struct trace_text trace_take_text(struct trace_unpacking *unpacking)
{
	if (*unpacking->at)
		return trace_take_some_text(unpacking);
	unpacking->at++;
	return (struct trace_text){ NULL, 0 };
}

#endif
