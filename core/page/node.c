#include "core/page/node.h"

#include "core/base/bits.h"
#include "core/page/page.h"

enum { RANGE_BYTES = 36, COUNT_BYTES = 16, INT64_BYTES = 72, FLOAT64_BYTES = 88, END_BYTES = 8, BLOCKS_BYTES = 8 };

static const uint8_t end_codes[IFOREST_END_RULES] = {
	[IFOREST_END_DURATION] = IFOREST_FIELD_LATEST_END,
	[IFOREST_END_COLUMN] = IFOREST_FIELD_LATEST_END_COLUMN,
	[IFOREST_END_PER_1000] = IFOREST_FIELD_LATEST_END_PER_1000,
	[IFOREST_END_TIMES_1000] = IFOREST_FIELD_LATEST_END_TIMES_1000,
	[IFOREST_END_TIMES_1000000] = IFOREST_FIELD_LATEST_END_TIMES_1000000,
};

enum iforest_status iforest_node_schema_finish(struct iforest_node_schema *fields)
{
	const struct iforest_accumulators *accumulators = &fields->accumulators;
	unsigned offset = RANGE_BYTES + COUNT_BYTES, a = 0;

	if (fields->n_values > IFOREST_MAX_VALUES ||
	    iforest_accumulators_finish(&fields->accumulators, fields->value_types, fields->n_values,
					fields->n_values * IFOREST_VALUE_WORDS))
		return IFOREST_ARGUMENT;
	for (unsigned v = 0; v < fields->n_values; v++) {
		if (fields->value_types[v] != IFOREST_INT64 && fields->value_types[v] != IFOREST_FLOAT64)
			return IFOREST_ARGUMENT;
		fields->value_offset[v] = (uint16_t)offset;
		offset += fields->value_types[v] == IFOREST_INT64 ? INT64_BYTES : FLOAT64_BYTES;
		for (; a < accumulators->n && accumulators->list[a].value == v; a++) {
			fields->accumulator_offset[a] = (uint16_t)offset;
			offset += 8 * accumulators->list[a].n_words;
		}
	}
	fields->latest_end_offset = 0;
	if (fields->duration_value != IFOREST_NO_VALUE) {
		if (fields->duration_value >= fields->n_values ||
		    fields->value_types[fields->duration_value] != IFOREST_INT64 || fields->end_rule >= IFOREST_END_RULES)
			return IFOREST_ARGUMENT;
		fields->latest_end_offset = (uint16_t)offset;
		offset += END_BYTES;
	}
	fields->blocks_offset = 0;
	if (fields->has_blocks) {
		fields->blocks_offset = (uint16_t)offset;
		offset += BLOCKS_BYTES;
	}
	fields->node_bytes = (uint16_t)offset;
	return IFOREST_OK;
}

unsigned iforest_fanout(const struct iforest_node_schema *fields, uint32_t page_bytes)
{
	return (page_bytes - IFOREST_PAGE_HEADER) / fields->node_bytes;
}

/* Writes the field of an accumulator. Returns the end of it. */
static uint8_t *write_accumulator(const struct iforest_accumulators *all, unsigned a, uint8_t *out)
{
	const struct iforest_accumulator *accumulator = &all->list[a];

	*out++ = accumulator->code;
	*out++ = accumulator->value;
	if (accumulator->second != IFOREST_NO_VALUE)
		*out++ = accumulator->second;
	if (accumulator->n_parameters)
		*out++ = accumulator->n_parameters;
	for (unsigned i = 0; i < accumulator->n_parameters; i++, out += 8)
		iforest_store64(out, (uint64_t)iforest_accumulator_parameters(all, a)[i]);
	return out;
}

unsigned iforest_node_schema_write(const struct iforest_node_schema *fields, uint8_t *bytes)
{
	const struct iforest_accumulators *accumulators = &fields->accumulators;
	unsigned n_fields = 2u + fields->n_values + accumulators->n, a = 0;
	uint8_t *out = bytes + 1;

	*out++ = IFOREST_FIELD_RANGE;
	*out++ = IFOREST_NO_VALUE;
	*out++ = IFOREST_FIELD_COUNT;
	*out++ = IFOREST_NO_VALUE;
	for (uint8_t v = 0; v < fields->n_values; v++) {
		*out++ = fields->value_types[v] == IFOREST_INT64 ? IFOREST_FIELD_INT64 : IFOREST_FIELD_FLOAT64;
		*out++ = v;
		for (; a < accumulators->n && accumulators->list[a].value == v; a++)
			out = write_accumulator(accumulators, a, out);
	}
	if (fields->duration_value != IFOREST_NO_VALUE) {
		*out++ = end_codes[fields->end_rule];
		*out++ = fields->duration_value;
	}
	if (fields->has_blocks) {
		*out++ = IFOREST_FIELD_BLOCKS;
		*out++ = IFOREST_NO_VALUE;
	}
	n_fields += (fields->duration_value != IFOREST_NO_VALUE) + fields->has_blocks;
	bytes[0] = (uint8_t)n_fields;
	return (unsigned)(out - bytes);
}

/* Parses one (code, column) pair of the list. */
static enum iforest_status parse_field(struct iforest_node_schema *fields, unsigned code, uint8_t column)
{
	switch (code) {
	case IFOREST_FIELD_RANGE:
	case IFOREST_FIELD_COUNT:
		return IFOREST_OK;
	case IFOREST_FIELD_INT64:
	case IFOREST_FIELD_FLOAT64:
		if (column != fields->n_values || fields->n_values == IFOREST_MAX_VALUES)
			return IFOREST_CORRUPT;
		fields->value_types[fields->n_values++] = code == IFOREST_FIELD_INT64 ? IFOREST_INT64 : IFOREST_FLOAT64;
		return IFOREST_OK;
	case IFOREST_FIELD_BLOCKS:
		fields->has_blocks = true;
		return IFOREST_OK;
	default:
		break;
	}
	for (uint8_t rule = 0; rule < IFOREST_END_RULES; rule++)
		if (code == end_codes[rule]) {
			fields->duration_value = column;
			fields->end_rule = rule;
			return IFOREST_OK;
		}
	return IFOREST_FORMAT;
}

/* Parses what follows the pair of an accumulator, and moves *at past it. */
static enum iforest_status parse_accumulator(struct iforest_node_schema *fields, const struct iforest_kind *kind,
					     uint8_t column, const uint8_t *bytes, uint32_t n_bytes, uint32_t *at)
{
	unsigned n_more = (kind->has_second ? 1u : 0u) + (kind->most_parameters ? 1u : 0u), n_parameters = 0;
	int64_t parameters[UINT8_MAX];
	uint8_t second = IFOREST_NO_VALUE;

	if (n_bytes - *at < n_more)
		return IFOREST_CORRUPT;
	if (kind->has_second)
		second = bytes[(*at)++];
	if (kind->most_parameters)
		n_parameters = bytes[(*at)++];
	if (n_parameters > kind->most_parameters || n_bytes - *at < 8 * n_parameters)
		return IFOREST_CORRUPT;
	for (unsigned i = 0; i < n_parameters; i++, *at += 8)
		parameters[i] = iforest_load_int64(bytes + *at);
	return iforest_accumulators_add(&fields->accumulators, kind->code, column, second, parameters, n_parameters)
		       ? IFOREST_CORRUPT
		       : IFOREST_OK;
}

enum iforest_status iforest_node_schema_parse(struct iforest_node_schema *fields, const uint8_t *bytes, uint32_t n_bytes,
					      uint32_t *n_read)
{
	struct iforest_node_schema parsed = { .duration_value = IFOREST_NO_VALUE };
	uint8_t again[IFOREST_MAX_SCHEMA_BYTES];
	unsigned n_fields = n_bytes ? bytes[0] : 0;
	uint32_t at = 1;

	if (n_fields < 2 || n_fields > IFOREST_MAX_FIELDS)
		return IFOREST_CORRUPT;
	for (unsigned i = 0; i < n_fields; i++) {
		const struct iforest_kind *kind;
		enum iforest_status status;

		if (n_bytes - at < 2)
			return IFOREST_CORRUPT;
		kind = iforest_kind_find(bytes[at]);
		at += 2;
		status = kind ? parse_accumulator(&parsed, kind, bytes[at - 1], bytes, n_bytes, &at)
			      : parse_field(&parsed, bytes[at - 2], bytes[at - 1]);
		if (status)
			return status;
	}
	/* the order of fields is fixed, so a valid list is equal to what we would write */
	if (iforest_node_schema_finish(&parsed) || iforest_node_schema_write(&parsed, again) != at ||
	    memcmp(again, bytes, at) != 0)
		return IFOREST_CORRUPT;
	*fields = parsed;
	*n_read = at;
	return IFOREST_OK;
}

/* ---- Nodes and node pages ---- */

static void write_row(uint8_t *bytes, const struct iforest_extreme *row)
{
	iforest_store64(bytes, (uint64_t)row->value.integer);
	iforest_store64(bytes + 8, (uint64_t)row->time);
	iforest_store64(bytes + 16, (uint64_t)row->ref);
}

static struct iforest_extreme read_row(const uint8_t *bytes, bool time_is_null)
{
	return (struct iforest_extreme){ .value.integer = iforest_load_int64(bytes),
					 .time = iforest_load_int64(bytes + 8),
					 .ref = iforest_load_int64(bytes + 16),
					 .time_is_null = time_is_null,
					 .is_set = true };
}

static void write_value(uint8_t *bytes, const struct iforest_value_aggregate *value, unsigned type)
{
	iforest_store64(bytes, value->n);
	if (type == IFOREST_INT64) {
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
	write_row(bytes + iforest_node_rows_offset(type), &value->min);
	write_row(bytes + iforest_node_rows_offset(type) + 24, &value->max);
}

static void write_accumulators(uint8_t *bytes, const struct iforest_node_schema *fields,
			       const struct iforest_aggregate *aggregate)
{
	for (unsigned a = 0; a < fields->accumulators.n; a++) {
		const struct iforest_accumulator *accumulator = &fields->accumulators.list[a];

		for (unsigned i = 0; i < accumulator->n_words; i++)
			iforest_store64(bytes + fields->accumulator_offset[a] + 8 * i, aggregate->words[accumulator->word + i]);
	}
}

static void fold_accumulators(const uint8_t *bytes, const struct iforest_node_schema *fields, uint32_t requested,
			      struct iforest_aggregate *aggregate)
{
	for (unsigned a = 0; a < fields->accumulators.n; a++) {
		const struct iforest_accumulator *accumulator = &fields->accumulators.list[a];
		uint64_t words[IFOREST_MAX_ACCUMULATOR_WORDS];

		if (!(requested >> a & 1))
			continue;
		for (unsigned i = 0; i < accumulator->n_words; i++)
			words[i] = iforest_load64(bytes + fields->accumulator_offset[a] + 8 * i);
		iforest_accumulator_combine(accumulator, aggregate->words + accumulator->word, words);
	}
}

/* Reads a value field's min (sign -1) or max (1). */
static inline struct iforest_extreme read_extreme(const uint8_t *bytes, unsigned type, unsigned null_bits, int sign)
{
	if (iforest_load64(bytes) == 0)
		return (struct iforest_extreme){ .is_set = false };
	return sign < 0 ? read_row(bytes + iforest_node_rows_offset(type), null_bits & 1)
			: read_row(bytes + iforest_node_rows_offset(type) + 24, null_bits >> 1 & 1);
}

/* Offers an extreme of a node, and stops reading it once it is known not to win. */
static inline void fold_extreme(struct iforest_value_aggregate *into, const uint8_t *bytes, bool time_is_null, int sign,
				enum iforest_value_type type)
{
	union iforest_number value = { .integer = iforest_load_int64(bytes) };
	struct iforest_extreme row, *extreme = sign < 0 ? &into->min : &into->max;

	if (extreme->is_set && sign * iforest_number_compare(value, extreme->value, type) < 0)
		return;
	row = read_row(bytes, time_is_null);
	if (sign < 0)
		iforest_extreme_min(extreme, &row, type);
	else
		iforest_extreme_max(extreme, &row, type);
}

/* Adds all but the extremes. */
static inline void fold_sums(struct iforest_value_aggregate *into, const uint8_t *bytes, unsigned type)
{
	into->n += iforest_load64(bytes);
	if (type == IFOREST_INT64) {
		iforest_uint128 sum = (iforest_uint128)iforest_load64(bytes + 16) << 64 | iforest_load64(bytes + 8);

		into->sum = iforest_add_wrapping(into->sum, (iforest_int128)sum);
	} else {
		into->real_sum += (union iforest_number){ .integer = iforest_load_int64(bytes + 8) }.real;
		into->n_nan += iforest_load64(bytes + 16);
		into->n_plus_infinity += iforest_load64(bytes + 24);
		into->n_minus_infinity += iforest_load64(bytes + 32);
	}
}

void iforest_node_write(const struct iforest_node *node, const struct iforest_node_schema *fields, uint8_t *bytes)
{
	const struct iforest_aggregate *aggregate = &node->aggregate;
	uint32_t null_bits = (node->first.time_is_null ? IFOREST_NODE_FIRST_IS_NULL : 0) |
			     (node->last.time_is_null ? IFOREST_NODE_LAST_IS_NULL : 0);

	iforest_store32(bytes, (uint32_t)node->first.series);
	iforest_store32(bytes + IFOREST_NODE_LAST_SERIES, (uint32_t)node->last.series);
	iforest_store64(bytes + IFOREST_NODE_FIRST_TIME, (uint64_t)node->first.time);
	iforest_store64(bytes + IFOREST_NODE_FIRST_REF, (uint64_t)node->first.ref);
	iforest_store64(bytes + IFOREST_NODE_LAST_TIME, (uint64_t)node->last.time);
	iforest_store64(bytes + IFOREST_NODE_N_ROWS, aggregate->n_rows);
	iforest_store64(bytes + IFOREST_NODE_N_DEAD, aggregate->n_dead);
	for (unsigned v = 0; v < fields->n_values; v++) {
		const struct iforest_value_aggregate *value = &aggregate->values[v];

		write_value(bytes + fields->value_offset[v], value, fields->value_types[v]);
		null_bits |= (uint32_t)value->min.time_is_null << (2 + 2 * v) | (uint32_t)value->max.time_is_null
											<< (3 + 2 * v);
	}
	iforest_store32(bytes + IFOREST_NODE_NULL_BITS, null_bits);
	write_accumulators(bytes, fields, aggregate);
	if (fields->latest_end_offset)
		iforest_store64(bytes + fields->latest_end_offset, (uint64_t)aggregate->latest_end);
	if (fields->blocks_offset) {
		iforest_store32(bytes + fields->blocks_offset, aggregate->lowest_block);
		iforest_store32(bytes + fields->blocks_offset + 4, aggregate->highest_block);
	}
}

uint64_t iforest_node_value_rows(const uint8_t *bytes, const struct iforest_node_schema *fields, unsigned value)
{
	return iforest_load64(bytes + fields->value_offset[value]);
}

static unsigned null_bits_of(const uint8_t *bytes, unsigned value)
{
	return iforest_load32(bytes + IFOREST_NODE_NULL_BITS) >> (2 + 2 * value);
}

struct iforest_extreme iforest_node_extreme(const uint8_t *bytes, const struct iforest_node_schema *fields, unsigned value,
					    int sign)
{
	return read_extreme(bytes + fields->value_offset[value], fields->value_types[value], null_bits_of(bytes, value), sign);
}

int64_t iforest_node_latest_end(const uint8_t *bytes, const struct iforest_node_schema *fields)
{
	return iforest_load_int64(bytes + fields->latest_end_offset);
}

void iforest_node_blocks(const uint8_t *bytes, const struct iforest_node_schema *fields, uint32_t *lowest, uint32_t *highest)
{
	*lowest = iforest_load32(bytes + fields->blocks_offset);
	*highest = iforest_load32(bytes + fields->blocks_offset + 4);
}

void iforest_node_read(struct iforest_node *node, const struct iforest_node_schema *fields, const uint8_t *bytes)
{
	static const struct iforest_node_parts all = { .values = UINT32_MAX, .accumulators = UINT32_MAX, .node_fields = true };

	node->first = iforest_node_first(bytes);
	node->last = iforest_node_last(bytes);
	iforest_aggregate_clear(&node->aggregate, fields->n_values, &fields->accumulators);
	iforest_node_fold(bytes, fields, &all, &node->aggregate);
}

static inline void fold_value(const uint8_t *bytes, const struct iforest_node_schema *fields, unsigned v,
			      const struct iforest_node_parts *parts, struct iforest_value_aggregate *into)
{
	enum iforest_value_type type = (enum iforest_value_type)fields->value_types[v];
	const uint8_t *value = bytes + fields->value_offset[v], *rows = value + iforest_node_rows_offset(type);
	unsigned null_bits = null_bits_of(bytes, v);

	if (iforest_load64(value) == 0)
		return;
	fold_sums(into, value, type);
	if (!(parts->no_mins >> v & 1))
		fold_extreme(into, rows, null_bits & 1, -1, type);
	if (!(parts->no_maxs >> v & 1))
		fold_extreme(into, rows + 24, null_bits >> 1 & 1, 1, type);
}

void iforest_node_fold(const uint8_t *bytes, const struct iforest_node_schema *fields, const struct iforest_node_parts *parts,
		       struct iforest_aggregate *aggregate)
{
	aggregate->n_rows += iforest_node_rows(bytes);
	aggregate->n_dead += iforest_node_dead(bytes);
	for (unsigned v = 0; v < fields->n_values; v++)
		if (parts->values >> v & 1)
			fold_value(bytes, fields, v, parts, &aggregate->values[v]);
	if (parts->accumulators)
		fold_accumulators(bytes, fields, parts->accumulators, aggregate);
	if (parts->node_fields && fields->latest_end_offset) {
		int64_t end = iforest_node_latest_end(bytes, fields);

		if (end > aggregate->latest_end)
			aggregate->latest_end = end;
	}
	if (parts->node_fields && fields->blocks_offset) {
		uint32_t lowest, highest;

		iforest_node_blocks(bytes, fields, &lowest, &highest);

		if (lowest < aggregate->lowest_block)
			aggregate->lowest_block = lowest;
		if (highest > aggregate->highest_block)
			aggregate->highest_block = highest;
	}
}

void iforest_node_combine(struct iforest_node *into, const struct iforest_node *from, const struct iforest_node_schema *fields)
{
	into->last = from->last;
	iforest_aggregate_combine(&into->aggregate, &from->aggregate, fields->value_types, fields->n_values,
				  &fields->accumulators);
}

enum iforest_status iforest_node_page_check(const uint8_t *page, uint32_t n_bytes, const struct iforest_node_schema *fields,
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

uint32_t iforest_node_page_finish(uint8_t *page, const struct iforest_node_schema *fields, uint64_t run_id, unsigned level,
				  uint32_t number, unsigned n_nodes)
{
	struct iforest_page_header header = { .run_id = run_id,
					      .number = number,
					      .level = (uint8_t)level,
					      .length = (uint16_t)(IFOREST_PAGE_HEADER + n_nodes * fields->node_bytes),
					      .n_items = (uint16_t)n_nodes };

	iforest_page_finish(page, &header);
	return header.length;
}
