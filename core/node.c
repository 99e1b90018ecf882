#include "core/node.h"

#include "core/bits.h"

enum { LAST_SERIES = 4, FIRST_TIME = 8, FIRST_REF = 16, LAST_TIME = 24, NULL_BITS = 32, N_ROWS = 36, N_DEAD = 44 };
enum { FIRST_IS_NULL = 1, LAST_IS_NULL = 2 };

static void write_row(uint8_t *bytes, const struct iforest_row *row)
{
	iforest_store64(bytes, (uint64_t)row->value.integer);
	iforest_store64(bytes + 8, (uint64_t)row->time);
	iforest_store64(bytes + 16, (uint64_t)row->ref);
}

static struct iforest_row read_row(const uint8_t *bytes, bool time_is_null)
{
	return (struct iforest_row){ .value.integer = iforest_load_int64(bytes), .time = iforest_load_int64(bytes + 8),
				     .ref = iforest_load_int64(bytes + 16), .time_is_null = time_is_null, .is_set = true };
}

/* Bytes from the start of a value's field to its min row; the max row follows. */
static unsigned rows_offset(unsigned kind)
{
	return kind == IFOREST_INT64 ? 24 : 40;
}

static void write_value(uint8_t *bytes, const struct iforest_value_aggregate *value, unsigned kind)
{
	iforest_store64(bytes, value->n);
	if (kind == IFOREST_INT64) {
		iforest_store64(bytes + 8, (uint64_t)value->sum);
		iforest_store64(bytes + 16, (uint64_t)((iforest_uint128)value->sum >> 64));
	} else {
		uint64_t bits;

		memcpy(&bits, &value->real_sum, sizeof bits);
		iforest_store64(bytes + 8, bits);
		iforest_store64(bytes + 16, value->n_nan);
		iforest_store64(bytes + 24, value->n_plus_infinity);
		iforest_store64(bytes + 32, value->n_minus_infinity);
	}
	write_row(bytes + rows_offset(kind), &value->min);
	write_row(bytes + rows_offset(kind) + 24, &value->max);
}

static void write_squares(uint8_t *bytes, const struct iforest_squares *squares)
{
	for (unsigned i = 0; i < 3; i++)
		iforest_store64(bytes + 8 * i, squares->words[i]);
}

static void fold_squares(struct iforest_squares *into, const uint8_t *bytes)
{
	struct iforest_squares read;

	for (unsigned i = 0; i < 3; i++)
		read.words[i] = iforest_load64(bytes + 8 * i);
	iforest_squares_combine(into, &read);
}

static void read_rows(const uint8_t *bytes, unsigned kind, unsigned null_bits, struct iforest_row *min, struct iforest_row *max)
{
	*min = *max = (struct iforest_row){ .is_set = false };
	if (iforest_load64(bytes) == 0)
		return;
	*min = read_row(bytes + rows_offset(kind), null_bits & 1);
	*max = read_row(bytes + rows_offset(kind) + 24, null_bits >> 1 & 1);
}

/* Of reals. */
static void read_value(struct iforest_value_aggregate *value, const uint8_t *bytes, unsigned null_bits)
{
	uint64_t bits = iforest_load64(bytes + 8);

	*value = (struct iforest_value_aggregate){ .n = iforest_load64(bytes), .n_nan = iforest_load64(bytes + 16),
		.n_plus_infinity = iforest_load64(bytes + 24), .n_minus_infinity = iforest_load64(bytes + 32) };
	memcpy(&value->real_sum, &bits, sizeof bits);
	read_rows(bytes, IFOREST_FLOAT64, null_bits, &value->min, &value->max);
}

static iforest_int128 read_sum(const uint8_t *bytes)
{
	return (iforest_int128)((iforest_uint128)iforest_load64(bytes + 16) << 64 | iforest_load64(bytes + 8));
}

/* Offers an extreme of a node, which is read as far as it takes to see that it loses. */
static void fold_extreme(struct iforest_row *into, const uint8_t *bytes, bool time_is_null, int sign)
{
	int64_t value = iforest_load_int64(bytes);
	struct iforest_row row;

	if (into->is_set && (sign < 0 ? value > into->value.integer : value < into->value.integer))
		return;
	row = read_row(bytes, time_is_null);
	if (sign < 0)
		iforest_row_min(into, &row, IFOREST_INT64);
	else
		iforest_row_max(into, &row, IFOREST_INT64);
}

/* into = into + a value column of the node. */
static void fold_value(struct iforest_value_aggregate *into, const uint8_t *bytes, enum iforest_value_kind kind, unsigned null_bits)
{
	struct iforest_value_aggregate value;

	if (kind != IFOREST_INT64) {
		read_value(&value, bytes, null_bits);
		iforest_value_combine(into, &value, kind);
	} else if (iforest_load64(bytes) > 0) {
		into->n += iforest_load64(bytes);
		into->sum = iforest_add_wrapping(into->sum, read_sum(bytes));
		fold_extreme(&into->min, bytes + rows_offset(kind), null_bits & 1, -1);
		fold_extreme(&into->max, bytes + rows_offset(kind) + 24, null_bits >> 1 & 1, 1);
	}
}

void iforest_node_write(const struct iforest_node *node, const struct iforest_fields *fields, uint8_t *bytes)
{
	const struct iforest_aggregate *aggregate = &node->aggregate;
	uint32_t null_bits = (node->first.time_is_null ? FIRST_IS_NULL : 0) | (node->last.time_is_null ? LAST_IS_NULL : 0);

	iforest_store32(bytes, (uint32_t)node->first.series);
	iforest_store32(bytes + LAST_SERIES, (uint32_t)node->last.series);
	iforest_store64(bytes + FIRST_TIME, (uint64_t)node->first.time);
	iforest_store64(bytes + FIRST_REF, (uint64_t)node->first.ref);
	iforest_store64(bytes + LAST_TIME, (uint64_t)node->last.time);
	iforest_store64(bytes + N_ROWS, aggregate->n_rows);
	iforest_store64(bytes + N_DEAD, aggregate->n_dead);
	for (unsigned v = 0; v < fields->n_values; v++) {
		const struct iforest_value_aggregate *value = &aggregate->values[v];

		write_value(bytes + fields->value_offset[v], value, fields->kinds[v]);
		if (fields->squares_offset[v])
			write_squares(bytes + fields->squares_offset[v], &value->squares);
		null_bits |= (uint32_t)value->min.time_is_null << (2 + 2 * v) | (uint32_t)value->max.time_is_null << (3 + 2 * v);
	}
	iforest_store32(bytes + NULL_BITS, null_bits);
	if (fields->latest_end_offset)
		iforest_store64(bytes + fields->latest_end_offset, (uint64_t)aggregate->latest_end);
	if (fields->blocks_offset) {
		iforest_store32(bytes + fields->blocks_offset, aggregate->lowest_block);
		iforest_store32(bytes + fields->blocks_offset + 4, aggregate->highest_block);
	}
}

struct iforest_key iforest_node_first(const uint8_t *bytes)
{
	return (struct iforest_key){ .series = iforest_load32(bytes),
				     .time_is_null = iforest_load32(bytes + NULL_BITS) & FIRST_IS_NULL,
				     .time = iforest_load_int64(bytes + FIRST_TIME),
				     .ref = iforest_load_int64(bytes + FIRST_REF) };
}

struct iforest_key iforest_node_last(const uint8_t *bytes)
{
	return (struct iforest_key){ .series = iforest_load32(bytes + LAST_SERIES),
				     .time_is_null = iforest_load32(bytes + NULL_BITS) & LAST_IS_NULL,
				     .time = iforest_load_int64(bytes + LAST_TIME), .ref = INT64_MAX };
}

uint64_t iforest_node_rows(const uint8_t *bytes)
{
	return iforest_load64(bytes + N_ROWS);
}

uint64_t iforest_node_dead(const uint8_t *bytes)
{
	return iforest_load64(bytes + N_DEAD);
}

uint64_t iforest_node_value_rows(const uint8_t *bytes, const struct iforest_fields *fields, unsigned value)
{
	return iforest_load64(bytes + fields->value_offset[value]);
}

void iforest_node_extremes(const uint8_t *bytes, const struct iforest_fields *fields, unsigned value, struct iforest_row *min,
			   struct iforest_row *max)
{
	read_rows(bytes + fields->value_offset[value], fields->kinds[value], iforest_load32(bytes + NULL_BITS) >> (2 + 2 * value), min,
		  max);
}

int64_t iforest_node_latest_end(const uint8_t *bytes, const struct iforest_fields *fields)
{
	return iforest_load_int64(bytes + fields->latest_end_offset);
}

void iforest_node_blocks(const uint8_t *bytes, const struct iforest_fields *fields, uint32_t *lowest, uint32_t *highest)
{
	*lowest = iforest_load32(bytes + fields->blocks_offset);
	*highest = iforest_load32(bytes + fields->blocks_offset + 4);
}

void iforest_node_read(struct iforest_node *node, const struct iforest_fields *fields, const uint8_t *bytes)
{
	node->first = iforest_node_first(bytes);
	node->last = iforest_node_last(bytes);
	iforest_aggregate_clear(&node->aggregate, fields->n_values);
	iforest_node_fold(bytes, fields, UINT32_MAX, UINT32_MAX, true, &node->aggregate);
}

void iforest_node_fold(const uint8_t *bytes, const struct iforest_fields *fields, uint32_t values, uint32_t squares,
		       bool node_fields, struct iforest_aggregate *aggregate)
{
	uint32_t null_bits = iforest_load32(bytes + NULL_BITS);

	aggregate->n_rows += iforest_node_rows(bytes);
	aggregate->n_dead += iforest_node_dead(bytes);
	for (unsigned v = 0; v < fields->n_values; v++) {
		if (squares >> v & 1 && fields->squares_offset[v])
			fold_squares(&aggregate->values[v].squares, bytes + fields->squares_offset[v]);
		if (values >> v & 1)
			fold_value(&aggregate->values[v], bytes + fields->value_offset[v], (enum iforest_value_kind)fields->kinds[v],
				   null_bits >> (2 + 2 * v));
	}
	if (node_fields && fields->latest_end_offset) {
		int64_t end = iforest_node_latest_end(bytes, fields);

		if (end > aggregate->latest_end)
			aggregate->latest_end = end;
	}
	if (node_fields && fields->blocks_offset) {
		uint32_t lowest, highest;

		iforest_node_blocks(bytes, fields, &lowest, &highest);

		if (lowest < aggregate->lowest_block)
			aggregate->lowest_block = lowest;
		if (highest > aggregate->highest_block)
			aggregate->highest_block = highest;
	}
}

void iforest_node_combine(struct iforest_node *into, const struct iforest_node *from, const struct iforest_fields *fields)
{
	into->last = from->last;
	iforest_aggregate_combine(&into->aggregate, &from->aggregate, fields->kinds, fields->n_values);
}

enum iforest_status iforest_node_page_check(const uint8_t *page, uint32_t n_bytes, const struct iforest_fields *fields,
					    uint64_t run_id, unsigned level, uint32_t number, bool is_checked,
					    struct iforest_page_header *header, const char **what)
{
	struct iforest_page_header read;
	enum iforest_status status = iforest_page_check(page, n_bytes, run_id, level, number, is_checked, &read, what);

	if (status)
		return status;
	*what = "the page's number of nodes is wrong";
	if (read.n_items == 0 || IFOREST_PAGE_HEADER + read.n_items * (uint32_t)fields->node_bytes != read.length)
		return IFOREST_CORRUPT;
	*header = read;
	return IFOREST_OK;
}

uint32_t iforest_node_page_finish(uint8_t *page, const struct iforest_fields *fields, uint64_t run_id, unsigned level,
				  uint32_t number, unsigned n_nodes)
{
	struct iforest_page_header header = { .run_id = run_id, .number = number, .level = (uint8_t)level,
		.length = (uint16_t)(IFOREST_PAGE_HEADER + n_nodes * fields->node_bytes), .n_items = (uint16_t)n_nodes };

	iforest_page_seal(page, &header);
	return header.length;
}
