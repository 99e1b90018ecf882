/* fields.h -- which fields the nodes of an index carry, and at which byte.
 *
 * The list is chosen when an index is made, is written in its manifest and decides the size of a node and so the
 * fan-out B. A node is the fields of the list one after the other, without gaps:
 *
 *   code  field         bytes  holds
 *   1     RANGE         36     first series u32, last series u32, first time i64, first ref i64, last time i64, NULL bits u32
 *   2     COUNT         16     live entries u64, removed entries u64
 *   3     INT64 v       72     of value column v: n u64, sum i128, min (value, time, ref) 3 x i64, max the same
 *   4     FLOAT64 v     88     n u64, sum f64, NaN u64, +inf u64, -inf u64, min (value f64, time, ref), max the same
 *   11    SQUARES v     24     of value column v, INT64: the sum of the squares, u192. Follows the field of v
 *   5     LATEST_END v  8      latest end of the spans, i64; v is the duration's value column, or tells the end otherwise:
 *   7                            v is the end itself
 *   8                            v is the duration in thousandths of the time's unit; the end is rounded up
 *   9                            v is the duration in thousands of it
 *   10                           v is the duration in millions of it
 *   6     BLOCKS        8      lowest and highest heap block of the refs, 2 x u32; the block is ref >> 16
 *
 * One of 5, 7, 8, 9, 10 at most (enum iforest_end_rule).
 * NULL bits: 0 first time, 1 last time, 2 + 2v time of v's min, 3 + 2v time of v's max.
 */
#ifndef IFOREST_FIELDS_H
#define IFOREST_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/aggregate.h"
#include "core/base/status.h"

enum iforest_field {
	IFOREST_FIELD_RANGE = 1,
	IFOREST_FIELD_COUNT = 2,
	IFOREST_FIELD_INT64 = 3,
	IFOREST_FIELD_FLOAT64 = 4,
	IFOREST_FIELD_LATEST_END = 5,
	IFOREST_FIELD_BLOCKS = 6,
	IFOREST_FIELD_LATEST_END_COLUMN = 7,
	IFOREST_FIELD_LATEST_END_PER_1000 = 8,
	IFOREST_FIELD_LATEST_END_TIMES_1000 = 9,
	IFOREST_FIELD_LATEST_END_TIMES_1000000 = 10,
	IFOREST_FIELD_SQUARES = 11
};

#define IFOREST_MAX_FIELDS (4 + 2 * IFOREST_MAX_VALUES)
#define IFOREST_NO_VALUE UINT8_MAX

struct iforest_fields {
	uint8_t n_values;
	uint8_t kinds[IFOREST_MAX_VALUES];      /* enum iforest_value_kind of each value column */
	uint8_t squares;                        /* bit v: the sum of squares of value column v (INT64) is kept */
	/* value column that is the span's duration or end (INT64), or IFOREST_NO_VALUE */
	uint8_t duration_value;
	uint8_t end_rule;                       /* enum iforest_end_rule: how that column tells the end */
	bool has_blocks;

	/* derived by iforest_fields_finish() */
	uint16_t node_bytes;
	uint16_t value_offset[IFOREST_MAX_VALUES];
	uint16_t squares_offset[IFOREST_MAX_VALUES];   /* 0: not kept */
	uint16_t latest_end_offset, blocks_offset; /* 0: not kept */
};

/* Derives sizes and offsets from n_values, kinds, squares, duration_value, end_rule and has_blocks.
 * Errors  IFOREST_ARGUMENT: too many values, an unknown kind or rule, a duration or squares of what is no INT64 value
 *         column. */
enum iforest_status iforest_fields_finish(struct iforest_fields *fields);

/* Nodes that fit a node page of page_bytes: the fan-out B. An index needs 2 at least (manifest.h), which 1 KiB has for four
 * value columns whatever is kept of them, and 2 KiB for all. */
unsigned iforest_fanout(const struct iforest_fields *fields, uint32_t page_bytes);

/* The list as bytes: a count, then (code, value column) pairs, the column IFOREST_NO_VALUE where there is none.
 * Returns  bytes written (at most 1 + 2 * IFOREST_MAX_FIELDS), or read.
 * Errors   of parse: IFOREST_CORRUPT cut short or contradictory; IFOREST_FORMAT unknown field. */
unsigned iforest_fields_write(const struct iforest_fields *fields, uint8_t *bytes);
enum iforest_status iforest_fields_parse(struct iforest_fields *fields, const uint8_t *bytes, uint32_t n_bytes,
					 uint32_t *n_read);

#endif
