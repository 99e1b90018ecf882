/* trace/record.h -- Integers and texts packed one behind the other, as records of a sorter are made.
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

/* All zero is empty. An allocation that fails sets out_of_memory, and all that follows does nothing. */
struct trace_record {
	struct trace_bytes bytes;
	bool out_of_memory;
};

void trace_record_clear(struct trace_record *record);
void trace_record_release(struct trace_record *record);

/* Big-endian, so that memcmp orders them as numbers; an int64_t with its sign turned for the same reason. */
void trace_put_u8(struct trace_record *record, uint8_t value);
void trace_put_u32(struct trace_record *record, uint32_t value);
void trace_put_u64(struct trace_record *record, uint64_t value);
void trace_put_i64(struct trace_record *record, int64_t value);

/* A text, or that there is none. Requires fewer than 2^32 - 1 bytes. */
void trace_put_text(struct trace_record *record, struct trace_text text);

/* What was put, in the same order. Texts point into the record. Requires: that much was put. */
struct trace_unpacking {
	const char *at;
};

uint8_t trace_take_u8(struct trace_unpacking *unpacking);
uint32_t trace_take_u32(struct trace_unpacking *unpacking);
uint64_t trace_take_u64(struct trace_unpacking *unpacking);
int64_t trace_take_i64(struct trace_unpacking *unpacking);
struct trace_text trace_take_text(struct trace_unpacking *unpacking);

#endif
