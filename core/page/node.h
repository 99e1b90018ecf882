/* page/node.h -- Node page format: the schema of nodes, chosen per index, and the aggregates they hold.
 *
 * The list of fields is chosen when an index is created, is stored in its manifest, and determines the size of a node and so
 * the fan-out B. A node is the fields of the list in sequence, without gaps. At most one field is a LATEST_END, chosen by the
 * end rule (enum iforest_end_rule). Bytes: FORMAT.md, "Node page".
 */
#ifndef IFOREST_PAGE_NODE_H
#define IFOREST_PAGE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/model/aggregate.h"
#include "core/model/key.h"
#include "core/page/page.h"

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
	IFOREST_FIELD_LATEST_END_TIMES_1000000 = 10
	/* from 11 on accumulators: enum iforest_kind_code */
};

#define IFOREST_MAX_FIELDS (4 + IFOREST_MAX_VALUES + IFOREST_MAX_ACCUMULATORS)
/* of the list; an accumulator may have a second column, a number of parameters, and these */
#define IFOREST_MAX_SCHEMA_BYTES (1 + 2 * IFOREST_MAX_FIELDS + 2 * IFOREST_MAX_ACCUMULATORS + 8 * IFOREST_MAX_ACCUMULATOR_WORDS)
#define IFOREST_MAX_NODE_BYTES (36 + 16 + 88 * IFOREST_MAX_VALUES + 8 * IFOREST_MAX_ACCUMULATOR_WORDS + 8 + 8)

struct iforest_node_schema {
	uint8_t n_values;
	uint8_t value_types[IFOREST_MAX_VALUES]; /* enum iforest_value_type of each value column */
	/* the value column that is the span's duration or end (INT64), or IFOREST_NO_VALUE */
	uint8_t duration_value;
	uint8_t end_rule; /* enum iforest_end_rule: how that column tells the end */
	bool has_blocks;
	/* times are reals, mapped (model/real_time.h). Not in the list: the engine sets it where it reads counters */
	bool has_real_times;
	struct iforest_accumulators accumulators;

	/* derived by iforest_node_schema_finish() */
	uint16_t node_bytes;
	uint16_t value_offset[IFOREST_MAX_VALUES];
	uint16_t accumulator_offset[IFOREST_MAX_ACCUMULATORS];
	uint16_t latest_end_offset, blocks_offset; /* 0: not kept */
};

/* Derives sizes and offsets from the other members.
 * Errors  IFOREST_ARGUMENT: too many values, an unknown type or rule, or a duration column that is not INT64; those of
 *         iforest_accumulators_finish().
 */
enum iforest_status iforest_node_schema_finish(struct iforest_node_schema *fields);

/* Returns the number of nodes that fit a node page of page_bytes: the fan-out B. An index needs at least 2 (manifest.h): 1 KiB
 * is enough for four value columns with their squares, 2 KiB for eight, 4 KiB for the largest schema. */
unsigned iforest_fanout(const struct iforest_node_schema *fields, uint32_t page_bytes);

/* Write and parse the list as bytes: a count, then (code, value column) pairs; the column is IFOREST_NO_VALUE if the field has
 * none. Second column and parameters of an accumulator follow its pair.
 * Returns  bytes written, at most IFOREST_MAX_SCHEMA_BYTES.
 * Errors   of parse: IFOREST_CORRUPT cut short or contradictory; IFOREST_FORMAT unknown field. */
unsigned iforest_node_schema_write(const struct iforest_node_schema *fields, uint8_t *bytes);
enum iforest_status iforest_node_schema_parse(struct iforest_node_schema *fields, const uint8_t *bytes, uint32_t n_bytes,
					      uint32_t *n_read);

/* ---- Nodes and node pages ---- */

struct iforest_node {
	struct iforest_key first;	    /* of the child's first entry, removed or not */
	struct iforest_key last;	    /* of its last entry; its ref is not kept, and INT64_MAX */
	struct iforest_aggregate aggregate; /* of live entries; first and last times and rows are not kept */
};

void iforest_node_write(const struct iforest_node *node, const struct iforest_node_schema *fields, uint8_t *bytes);
void iforest_node_read(struct iforest_node *node, const struct iforest_node_schema *fields, const uint8_t *bytes);

/* Byte offsets in a node, which starts with the first series. Single parts are read in place. */
enum {
	IFOREST_NODE_LAST_SERIES = 4,
	IFOREST_NODE_FIRST_TIME = 8,
	IFOREST_NODE_FIRST_REF = 16,
	IFOREST_NODE_LAST_TIME = 24,
	IFOREST_NODE_NULL_BITS = 32,
	IFOREST_NODE_N_ROWS = 36,
	IFOREST_NODE_N_DEAD = 44,
	IFOREST_NODE_FIXED_BYTES = 52 /* the values follow */
};
enum { IFOREST_NODE_FIRST_IS_NULL = 1, IFOREST_NODE_LAST_IS_NULL = 2 };

static inline struct iforest_key iforest_node_first(const uint8_t *bytes)
{
	return (struct iforest_key){ .series = iforest_load32(bytes),
				     .time_is_null =
					     (iforest_load32(bytes + IFOREST_NODE_NULL_BITS) & IFOREST_NODE_FIRST_IS_NULL) != 0,
				     .time = iforest_load_int64(bytes + IFOREST_NODE_FIRST_TIME),
				     .ref = iforest_load_int64(bytes + IFOREST_NODE_FIRST_REF) };
}

static inline struct iforest_key iforest_node_last(const uint8_t *bytes)
{
	return (struct iforest_key){ .series = iforest_load32(bytes + IFOREST_NODE_LAST_SERIES),
				     .time_is_null =
					     (iforest_load32(bytes + IFOREST_NODE_NULL_BITS) & IFOREST_NODE_LAST_IS_NULL) != 0,
				     .time = iforest_load_int64(bytes + IFOREST_NODE_LAST_TIME),
				     .ref = INT64_MAX };
}

static inline uint64_t iforest_node_rows(const uint8_t *bytes)
{
	return iforest_load64(bytes + IFOREST_NODE_N_ROWS);
}

static inline uint64_t iforest_node_dead(const uint8_t *bytes)
{
	return iforest_load64(bytes + IFOREST_NODE_N_DEAD);
}

uint64_t iforest_node_value_rows(const uint8_t *bytes, const struct iforest_node_schema *fields, unsigned value);

/* Returns the offset of the min row in a value's field, of 24 bytes; the max row follows. */
static inline unsigned iforest_node_rows_offset(unsigned type)
{
	return type == IFOREST_INT64 ? 24 : 40;
}

/* Returns only the value of iforest_node_extreme(); undefined if the node has no value. */
static inline union iforest_number iforest_node_extreme_value(const uint8_t *bytes, const struct iforest_node_schema *fields,
							      unsigned value, int sign)
{
	const uint8_t *rows = bytes + fields->value_offset[value] + iforest_node_rows_offset(fields->value_types[value]);

	return (union iforest_number){ .integer = iforest_load_int64(rows + (sign < 0 ? 0 : 24)) };
}

/* Returns the row of the smallest (sign -1) or the greatest value (1); not set if the node has no value. */
struct iforest_extreme iforest_node_extreme(const uint8_t *bytes, const struct iforest_node_schema *fields, unsigned value,
					    int sign);

/* Returns the latest end, which the schema must have; INT64_MIN if no live entry has a time. */
int64_t iforest_node_latest_end(const uint8_t *bytes, const struct iforest_node_schema *fields);

/* Gives the lowest and highest heap block, which the schema must have. */
void iforest_node_blocks(const uint8_t *bytes, const struct iforest_node_schema *fields, uint32_t *lowest, uint32_t *highest);

/* The parts of a node to add: n, sums and extremes of the value columns in `values`, without the mins of no_mins and the maxs
 * of no_maxs; the accumulators in `accumulators`; with node_fields the latest end and the heap blocks. */
struct iforest_node_parts {
	uint32_t values, no_mins, no_maxs, accumulators;
	bool node_fields;
};

/* aggregate = aggregate + those parts of the node, and its counts. */
void iforest_node_fold(const uint8_t *bytes, const struct iforest_node_schema *fields, const struct iforest_node_parts *parts,
		       struct iforest_aggregate *aggregate);

/* into = into + from, siblings in key order: computes the parent of siblings one by one. */
void iforest_node_combine(struct iforest_node *into, const struct iforest_node *from, const struct iforest_node_schema *fields);

/* Returns the bytes of node i of a checked node page. */
static inline const uint8_t *iforest_node_at(const uint8_t *page, const struct iforest_node_schema *fields, unsigned i)
{
	return page + IFOREST_PAGE_HEADER + i * fields->node_bytes;
}

/* Checks a node page, unless is_checked. Errors: as iforest_page_check(). */
enum iforest_status iforest_node_page_check(const uint8_t *page, uint32_t n_bytes, const struct iforest_node_schema *fields,
					    uint64_t run_id, unsigned level, uint32_t number, bool is_checked,
					    struct iforest_page_header *header, const char **what);

/* Writes the header of a page that holds n_nodes nodes. Returns its length. */
uint32_t iforest_node_page_finish(uint8_t *page, const struct iforest_node_schema *fields, uint64_t run_id, unsigned level,
				  uint32_t number, unsigned n_nodes);

#endif
