/* node.h -- nodes: the aggregate of one child page, and the pages they are packed into.
 *
 * A node page is the page header and then its nodes, one every fields->node_bytes (the layout of a node is in fields.h).
 * Nodes have a fixed size, so node i of a page is found by arithmetic and read in place.
 */
#ifndef IFOREST_NODE_H
#define IFOREST_NODE_H

#include "core/model/aggregate.h"
#include "core/page/node.h"
#include "core/model/key.h"
#include "core/page/page.h"
#include "core/base/status.h"

struct iforest_node {
	struct iforest_key first; /* of the child's first entry, removed or not */
	struct iforest_key last;  /* of its last entry; last.ref is not kept and is INT64_MAX */
	struct iforest_aggregate aggregate; /* of live entries; first and last times and rows are not kept */
};

void iforest_node_write(const struct iforest_node *node, const struct iforest_fields *fields, uint8_t *bytes);
void iforest_node_read(struct iforest_node *node, const struct iforest_fields *fields, const uint8_t *bytes);

/* Parts of a node read in place, without the rest: its bytes are in fields.h. */
enum { IFOREST_NODE_LAST_SERIES = 4, IFOREST_NODE_FIRST_TIME = 8, IFOREST_NODE_FIRST_REF = 16, IFOREST_NODE_LAST_TIME = 24,
       IFOREST_NODE_NULL_BITS = 32, IFOREST_NODE_N_ROWS = 36, IFOREST_NODE_N_DEAD = 44 };
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
				     .time = iforest_load_int64(bytes + IFOREST_NODE_LAST_TIME), .ref = INT64_MAX };
}

static inline uint64_t iforest_node_rows(const uint8_t *bytes)
{
	return iforest_load64(bytes + IFOREST_NODE_N_ROWS);
}

static inline uint64_t iforest_node_dead(const uint8_t *bytes)
{
	return iforest_load64(bytes + IFOREST_NODE_N_DEAD);
}

uint64_t iforest_node_value_rows(const uint8_t *bytes, const struct iforest_fields *fields, unsigned value);

/* Bytes from the start of a value's field to its min row, of 24 bytes; the max row follows. */
static inline unsigned iforest_node_rows_offset(unsigned kind)
{
	return kind == IFOREST_INT64 ? 24 : 40;
}

/* The value alone of iforest_node_extreme(); any, where the node has no value. */
static inline union iforest_number iforest_node_extreme_value(const uint8_t *bytes, const struct iforest_fields *fields,
							      unsigned value, int sign)
{
	const uint8_t *rows = bytes + fields->value_offset[value] + iforest_node_rows_offset(fields->kinds[value]);

	return (union iforest_number){ .integer = iforest_load_int64(rows + (sign < 0 ? 0 : 24)) };
}

/* The row of the smallest (sign -1) or the greatest value (1); not set where the node has no such value. */
struct iforest_row iforest_node_extreme(const uint8_t *bytes, const struct iforest_fields *fields, unsigned value, int sign);

/* Where the fields have it; INT64_MIN where nothing live has a time. */
int64_t iforest_node_latest_end(const uint8_t *bytes, const struct iforest_fields *fields);

/* Lowest and highest heap block, where the fields have them. */
void iforest_node_blocks(const uint8_t *bytes, const struct iforest_fields *fields, uint32_t *lowest, uint32_t *highest);

/* What of a node is added up: n, sums and extremes of the value columns whose bit is set in `values`, but for the mins of
 * no_mins and the maxs of no_maxs; the sums of squares of those in `squares` that keep it; and with node_fields the latest end
 * and the heap blocks. */
struct iforest_node_parts {
	uint32_t values, no_mins, no_maxs, squares;
	bool node_fields;
};

/* aggregate = aggregate + those parts of the node, and its counts. */
void iforest_node_fold(const uint8_t *bytes, const struct iforest_fields *fields, const struct iforest_node_parts *parts,
		       struct iforest_aggregate *aggregate);

/* into = into + from, as siblings in key order: the parent of a row of nodes. */
void iforest_node_combine(struct iforest_node *into, const struct iforest_node *from, const struct iforest_fields *fields);

/* Bytes of node i of a checked node page. */
static inline const uint8_t *iforest_node_at(const uint8_t *page, const struct iforest_fields *fields, unsigned i)
{
	return page + IFOREST_PAGE_HEADER + i * fields->node_bytes;
}

/* Checks a node page, unless is_checked. Errors: as iforest_page_check(). */
enum iforest_status iforest_node_page_check(const uint8_t *page, uint32_t n_bytes, const struct iforest_fields *fields,
					    uint64_t run_id, unsigned level, uint32_t number, bool is_checked,
					    struct iforest_page_header *header, const char **what);

/* Writes the header of a page that holds n_nodes nodes. Returns its length. */
uint32_t iforest_node_page_finish(uint8_t *page, const struct iforest_fields *fields, uint64_t run_id, unsigned level,
				  uint32_t number, unsigned n_nodes);

#endif
