#include "core/leaf_fold.h"

#include "core/bits.h"

/* A row's value, and with it time and ref, which are unpacked only for rows that matter. */
static enum iforest_status load_row(struct iforest_block_reader *reader, unsigned value, unsigned i, struct iforest_row *row)
{
	const struct iforest_block *block = &reader->block;
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	if (!status)
		status = iforest_block_need(reader, IFOREST_REFS);
	if (!status)
		*row = (struct iforest_row){ .value.integer = block->values[value][i], .time = block->times[i],
					     .ref = block->refs[i], .time_is_null = block->time_is_null, .is_set = true };
	return status;
}

static union iforest_number number_at(const struct iforest_block *block, unsigned value, unsigned i)
{
	return (union iforest_number){ .integer = block->values[value][i] };
}

/* Offers entry i as a new minimum or maximum, unless its value alone shows that it loses. */
static enum iforest_status offer_extreme(struct iforest_block_reader *reader, unsigned value, unsigned i, int sign,
					 bool value_alone, struct iforest_row *extreme)
{
	enum iforest_value_kind kind = (enum iforest_value_kind)reader->leaf->fields->kinds[value];
	struct iforest_row row = { .value = number_at(&reader->block, value, i), .is_set = true };
	enum iforest_status status = IFOREST_OK;

	if (extreme->is_set && sign * iforest_number_compare(row.value, extreme->value, kind) < 0)
		return IFOREST_OK;
	if (!value_alone)
		status = load_row(reader, value, i, &row);
	if (status)
		return status;
	if (sign < 0)
		iforest_row_min(extreme, &row, kind);
	else
		iforest_row_max(extreme, &row, kind);
	return IFOREST_OK;
}

/* The numbers of a value column that are to be folded, without gaps; number k stands in entry at(k). */
struct gathered {
	const int64_t *numbers;
	unsigned n;
	unsigned first;                         /* entry of number 0, where there are no gaps */
	bool has_gaps;
	uint8_t entries[IFOREST_BLOCK_ENTRIES];
	int64_t copies[IFOREST_BLOCK_ENTRIES];
};

static void gather(struct gathered *gathered, const int64_t *values, uint64_t which)
{
	unsigned first = iforest_trailing_zeros(which), n = iforest_popcount(which);

	gathered->n = n;
	gathered->first = first;
	gathered->numbers = values + first;
	gathered->has_gaps = which != iforest_low_bits(n) << first;
	if (!gathered->has_gaps)
		return;
	gathered->numbers = gathered->copies;
	for (unsigned k = 0; k < n; k++, which &= which - 1) {
		gathered->entries[k] = (uint8_t)iforest_trailing_zeros(which);
		gathered->copies[k] = values[gathered->entries[k]];
	}
}

static unsigned entry_of(const struct gathered *gathered, unsigned k)
{
	return gathered->has_gaps ? gathered->entries[k] : gathered->first + k;
}

/* Exact, and without 128-bit additions in the loop: 64 halves of 32 bits cannot overflow 64. */
static void add_integers(const struct gathered *gathered, struct iforest_value_aggregate *into)
{
	uint64_t low = 0;
	int64_t high = 0;

	for (unsigned k = 0; k < gathered->n; k++) {
		low += (uint32_t)gathered->numbers[k];
		high += gathered->numbers[k] >> 32;
	}
	into->n += gathered->n;
	into->sum = iforest_add_wrapping(into->sum, (iforest_int128)high * ((int64_t)1 << 32) + low);
}

/* The first of the smallest numbers and the first of the greatest. */
static void find_integers(const struct gathered *gathered, unsigned *low, unsigned *high)
{
	const int64_t *numbers = gathered->numbers;
	int64_t least = numbers[0], greatest = numbers[0];

	for (unsigned k = 1; k < gathered->n; k++) {
		least = numbers[k] < least ? numbers[k] : least;
		greatest = numbers[k] > greatest ? numbers[k] : greatest;
	}
	for (*low = 0; numbers[*low] != least; ++*low)
		;
	for (*high = 0; numbers[*high] != greatest; ++*high)
		;
}

static void fold_reals(const struct gathered *gathered, struct iforest_value_aggregate *into, unsigned *low, unsigned *high)
{
	union iforest_number least = { .integer = gathered->numbers[0] }, greatest = least;

	*low = *high = 0;
	for (unsigned k = 0; k < gathered->n; k++) {
		union iforest_number x = { .integer = gathered->numbers[k] };

		iforest_value_add(into, x, IFOREST_FLOAT64);
		if (iforest_number_compare(x, least, IFOREST_FLOAT64) < 0) {
			least = x;
			*low = k;
		}
		if (iforest_number_compare(x, greatest, IFOREST_FLOAT64) > 0) {
			greatest = x;
			*high = k;
		}
	}
}

/* n, sum, min and max over the entries whose bit is set in `which`, which is not 0. */
static enum iforest_status fold_value(struct iforest_block_reader *reader, unsigned value, uint64_t which,
				      bool value_alone, struct iforest_value_aggregate *into)
{
	struct gathered gathered;
	unsigned low, high;
	enum iforest_status status;

	gather(&gathered, reader->block.values[value], which);
	if (reader->leaf->fields->kinds[value] == IFOREST_INT64) {
		add_integers(&gathered, into);
		find_integers(&gathered, &low, &high);
	} else {
		fold_reals(&gathered, into, &low, &high);
	}
	status = offer_extreme(reader, value, entry_of(&gathered, low), -1, value_alone, &into->min);
	if (!status)
		status = offer_extreme(reader, value, entry_of(&gathered, high), 1, value_alone, &into->max);
	return status;
}

static enum iforest_status fold_one_value(struct iforest_block_reader *reader, unsigned v, uint64_t live,
					  const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate)
{
	struct iforest_value_aggregate *into = &aggregate->values[v];
	enum iforest_status status = iforest_block_need(reader, IFOREST_VALUES + v);
	struct iforest_row row;
	uint64_t which;

	if (status)
		return status;
	which = live & reader->block.present[v];
	if (!which)
		return IFOREST_OK;
	if (wanted->values >> v & 1)
		status = fold_value(reader, v, which, wanted->no_rows >> v & 1, into);
	if (!status && wanted->firsts >> v & 1 && !(status = load_row(reader, v, iforest_trailing_zeros(which), &row)))
		iforest_row_first(&into->first, &row);
	if (!status && wanted->lasts >> v & 1 && !(status = load_row(reader, v, iforest_highest_bit(which), &row)))
		iforest_row_last(&into->last, &row);
	return status;
}

static enum iforest_status fold_times(struct iforest_block_reader *reader, uint64_t live, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	if (!status && !reader->block.time_is_null) {
		iforest_aggregate_add_time(aggregate, reader->block.times[iforest_trailing_zeros(live)]);
		iforest_aggregate_add_time(aggregate, reader->block.times[iforest_highest_bit(live)]);
	}
	return status;
}

static enum iforest_status fold_latest_end(struct iforest_block_reader *reader, uint64_t live, unsigned duration,
					   struct iforest_aggregate *aggregate)
{
	const struct iforest_block *block = &reader->block;
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	if (!status)
		status = iforest_block_need(reader, IFOREST_VALUES + duration);
	if (status || block->time_is_null)
		return status;
	for (; live; live &= live - 1) {
		unsigned i = iforest_trailing_zeros(live);
		int64_t end = iforest_span_end(block->times[i], block->values[duration][i], block->present[duration] >> i & 1);

		if (end > aggregate->latest_end)
			aggregate->latest_end = end;
	}
	return IFOREST_OK;
}

static enum iforest_status fold_blocks(struct iforest_block_reader *reader, uint64_t live, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = iforest_block_need(reader, IFOREST_REFS);

	for (; live && !status; live &= live - 1) {
		uint32_t heap_block = (uint32_t)(reader->block.refs[iforest_trailing_zeros(live)] >> 16);

		if (heap_block < aggregate->lowest_block)
			aggregate->lowest_block = heap_block;
		if (heap_block > aggregate->highest_block)
			aggregate->highest_block = heap_block;
	}
	return status;
}

enum iforest_status iforest_block_fold(struct iforest_block_reader *reader, unsigned from, unsigned to,
				       const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate)
{
	const struct iforest_fields *fields = reader->leaf->fields;
	uint64_t range = iforest_low_bits(to) & ~iforest_low_bits(from);
	uint64_t live = range & ~reader->block.dead;
	uint32_t values = wanted->values | wanted->firsts | wanted->lasts;
	enum iforest_status status = IFOREST_OK;

	aggregate->n_rows += iforest_popcount(live);
	aggregate->n_dead += iforest_popcount(range) - iforest_popcount(live);
	if (!live)
		return IFOREST_OK;
	for (unsigned v = 0; v < fields->n_values && !status; v++)
		if (values >> v & 1)
			status = fold_one_value(reader, v, live, wanted, aggregate);
	if (!status && wanted->times)
		status = fold_times(reader, live, aggregate);
	if (!status && wanted->node_fields && fields->latest_end_offset)
		status = fold_latest_end(reader, live, fields->duration_value, aggregate);
	if (!status && wanted->node_fields && fields->has_blocks)
		status = fold_blocks(reader, live, aggregate);
	return status;
}

enum iforest_status iforest_leaf_node(const struct iforest_leaf *leaf, struct iforest_node *node)
{
	static const struct iforest_wanted all = { .values = UINT32_MAX, .node_fields = true };
	struct iforest_block_reader reader;
	enum iforest_status status = IFOREST_OK;

	iforest_aggregate_clear(&node->aggregate, leaf->fields->n_values);
	node->first = iforest_leaf_block(leaf, 0).first;
	for (unsigned b = 0; b < leaf->header.n_items && !status; b++) {
		iforest_block_start(&reader, leaf, b);
		status = iforest_block_fold(&reader, 0, reader.block.n, &all, &node->aggregate);
	}
	if (!status)
		status = iforest_block_need(&reader, IFOREST_TIMES);
	if (!status)
		node->last = (struct iforest_key){ .series = reader.block.series, .time_is_null = reader.block.time_is_null,
						   .time = reader.block.times[reader.block.n - 1], .ref = INT64_MAX };
	return status;
}
