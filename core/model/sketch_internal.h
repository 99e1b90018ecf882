/* sketch_internal.h -- what sketch.c (filling), sketch_bucket.c (numbers and buckets) and sketch_view.c (bytes) share. Not for
 * others. */
#ifndef IFOREST_SKETCH_INTERNAL_H
#define IFOREST_SKETCH_INTERNAL_H

#include "core/model/sketch.h"

enum {
	SKETCH_BITS = IFOREST_SKETCH_BITS,
	SKETCH_PER_POWER = 1 << SKETCH_BITS,
	SKETCH_LEAST_EXPONENT = -1074,
	SKETCH_N_POWERS = 1024 - SKETCH_LEAST_EXPONENT,
	SKETCH_ZERO = SKETCH_N_POWERS * SKETCH_PER_POWER + 1,
	SKETCH_MINUS_INFINITY = 0,
	SKETCH_PLUS_INFINITY = 2 * SKETCH_ZERO,
	SKETCH_NAN = 2 * SKETCH_ZERO + 1,

	SKETCH_MAGIC = 0x6b734649,
	SKETCH_VERSION = 1,
	SKETCH_HEADER_BYTES = 10,
};

#define SKETCH_MAX_NUMBERS ((uint64_t)INT64_MAX)

/* ---- numbers and buckets ---- */

uint32_t iforest_sketch_bucket(union iforest_number number, enum iforest_value_kind kind);

/* Can an int64 lie in the bucket? */
bool iforest_sketch_holds_integer(uint32_t bucket);

/* The middle of the bucket's integers. Requires iforest_sketch_holds_integer(). */
int64_t iforest_sketch_integer(uint32_t bucket);

/* The middle of the bucket; where denormals leave it a single number, that. */
double iforest_sketch_real(uint32_t bucket);

/* ---- bytes ---- */

/* Bytes that a varint needs. */
unsigned iforest_sketch_varint_bytes(uint64_t x);

/* A position among the buckets of a view. */
struct iforest_sketch_reader {
	const uint8_t *at, *end;
	uint32_t next;           /* the lowest bucket that may come */
	uint32_t bucket;
	uint64_t n;
};

static inline struct iforest_sketch_reader iforest_sketch_reader_of(const struct iforest_sketch_view *view)
{
	return (struct iforest_sketch_reader){ .at = view->bytes, .end = view->end };
}

/* The next bucket, if any; false also where the bytes are none, and then reader->at is NULL. */
bool iforest_sketch_next(struct iforest_sketch_reader *reader);

#endif
