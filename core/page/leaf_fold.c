#include "core/page/leaf_fold.h"

#include "core/base/bits.h"

/* Returns value v of entry i; the column has been found. */
static union iforest_number number_at(const struct iforest_block_reader *reader, unsigned v, unsigned i)
{
	return (union iforest_number){ .integer = iforest_column_at(&reader->columns[IFOREST_VALUES + v], i) };
}

/* Loads the value, time and ref of entry i; called only for rows that matter. */
static enum iforest_status load_row(struct iforest_block_reader *reader, unsigned v, unsigned i, struct iforest_extreme *row)
{
	int64_t time, ref;
	enum iforest_status status = iforest_block_pick(reader, IFOREST_TIMES, i, &time);

	if (!status)
		status = iforest_block_pick(reader, IFOREST_REFS, i, &ref);
	if (!status)
		*row = (struct iforest_extreme){ .value = number_at(reader, v, i),
						 .time = time,
						 .ref = ref,
						 .time_is_null = reader->block.time_is_null,
						 .is_set = true };
	return status;
}

/* True if, by the column's header, none of its numbers is a better extreme. */
static inline bool is_beaten(const struct iforest_column *column, enum iforest_value_type type, int sign,
			     const struct iforest_extreme *extreme)
{
	if (!extreme->is_set || type != IFOREST_INT64)
		return false;
	return sign < 0 ? iforest_column_is_above(column, extreme->value.integer)
			: iforest_column_is_below(column, extreme->value.integer);
}

/* Offers entry i as a new minimum or maximum, unless its column header or its value shows that it is not one. */
static inline enum iforest_status offer_extreme(struct iforest_block_reader *reader, unsigned v, unsigned i, int sign,
						bool value_alone, struct iforest_extreme *extreme)
{
	enum iforest_value_type type = (enum iforest_value_type)reader->leaf->fields->value_types[v];
	union iforest_number value;
	struct iforest_extreme row;
	enum iforest_status status = IFOREST_OK;

	if (is_beaten(&reader->columns[IFOREST_VALUES + v], type, sign, extreme))
		return IFOREST_OK;
	value = number_at(reader, v, i);
	if (extreme->is_set && sign * iforest_number_compare(value, extreme->value, type) < 0)
		return IFOREST_OK;
	row = (struct iforest_extreme){ .value = value, .is_set = true };
	if (!value_alone)
		status = load_row(reader, v, i, &row);
	if (status)
		return status;
	if (sign < 0)
		iforest_extreme_min(extreme, &row, type);
	else
		iforest_extreme_max(extreme, &row, type);
	return IFOREST_OK;
}

/* True if no entry of the block can be a better extreme. An equal value can be: the earlier row wins. */
static bool is_hopeless(const struct iforest_block_reader *reader, unsigned v, int sign, const struct iforest_extreme *extreme)
{
	const struct iforest_column *column = &reader->columns[IFOREST_VALUES + v];
	enum iforest_value_type type = (enum iforest_value_type)reader->leaf->fields->value_types[v];
	const struct iforest_summary *summary = &reader->summaries[v];

	if (column->present == 0 || is_beaten(column, type, sign, extreme))
		return true;
	return reader->has_summary[v] && extreme->is_set &&
	       sign * iforest_number_compare(number_at(reader, v, sign < 0 ? summary->low : summary->high), extreme->value,
					     type) <
		       0;
}

/* Finds only an extreme of the entries whose bit is set in `which`. */
static enum iforest_status fold_extreme(struct iforest_block_reader *reader, unsigned v, uint64_t which, int sign,
					bool value_alone, struct iforest_extreme *extreme)
{
	enum iforest_value_type type = (enum iforest_value_type)reader->leaf->fields->value_types[v];
	const struct iforest_summary *summary = &reader->summaries[v];
	unsigned i = sign < 0 ? summary->low : summary->high;
	struct iforest_summary computed;
	enum iforest_status status;

	if (is_hopeless(reader, v, sign, extreme))
		return IFOREST_OK;
	if (!reader->has_summary[v] || !(which >> i & 1)) {
		status = iforest_block_need(reader, IFOREST_VALUES + v);
		if (status)
			return status;
		iforest_summarize(&computed, reader->block.values[v], which, type);
		i = sign < 0 ? computed.low : computed.high;
	}
	return offer_extreme(reader, v, i, sign, value_alone, extreme);
}

static enum iforest_status fold_extremes(struct iforest_block_reader *reader, unsigned v, uint64_t which,
					 const struct iforest_request *request, struct iforest_value_aggregate *into)
{
	bool value_alone = request->no_rows >> v & 1;
	enum iforest_status status = IFOREST_OK;

	if (!(request->no_mins >> v & 1))
		status = fold_extreme(reader, v, which, -1, value_alone, &into->min);
	if (!status && !(request->no_maxs >> v & 1))
		status = fold_extreme(reader, v, which, 1, value_alone, &into->max);
	return status;
}

enum iforest_status iforest_block_may_improve(struct iforest_block_reader *reader, const struct iforest_request *request,
					      const struct iforest_aggregate *aggregate, bool *may)
{
	*may = false;
	for (unsigned v = 0; v < reader->leaf->fields->n_values && !*may; v++) {
		const struct iforest_value_aggregate *value = &aggregate->values[v];
		enum iforest_status status;

		if (!(request->values >> v & 1))
			continue;
		status = iforest_block_find_column(reader, IFOREST_VALUES + v);
		if (status)
			return status;
		*may = (!(request->no_mins >> v & 1) && !is_hopeless(reader, v, -1, &value->min)) ||
		       (!(request->no_maxs >> v & 1) && !is_hopeless(reader, v, 1, &value->max));
	}
	return IFOREST_OK;
}

/* True if the extreme of some entries is known without reading them: the block's own is one of them, or none is better than the
 * one so far. */
static inline bool is_extreme_known(const struct iforest_block_reader *reader, unsigned v, uint64_t which, int sign,
				    const struct iforest_extreme *extreme)
{
	const struct iforest_summary *summary = &reader->summaries[v];

	return (reader->has_summary[v] && which >> (sign < 0 ? summary->low : summary->high) & 1) ||
	       is_beaten(&reader->columns[IFOREST_VALUES + v], IFOREST_INT64, sign, extreme);
}

/* True if only a sum of integers remains to be computed. */
static bool is_sum_alone(const struct iforest_block_reader *reader, unsigned v, uint64_t which,
			 const struct iforest_request *request, const struct iforest_value_aggregate *into)
{
	return reader->leaf->fields->value_types[v] == IFOREST_INT64 &&
	       (request->no_mins >> v & 1 || is_extreme_known(reader, v, which, -1, &into->min)) &&
	       (request->no_maxs >> v & 1 || is_extreme_known(reader, v, which, 1, &into->max));
}

/* Sums entries [from, to) of a packed column, removed ones included: adds them, or subtracts the others from the block's sum if
 * there are fewer of those. Returns false if the column has gaps or cannot be summed packed. */
static bool sum_of_stretch(const struct iforest_block_reader *reader, unsigned v, unsigned from, unsigned to,
			   iforest_int128 *sum)
{
	const struct iforest_column *column = &reader->columns[IFOREST_VALUES + v];
	unsigned n = reader->block.n;
	bool is_edge = from == 0 || to == n, most = 2 * (to - from) > n;

	if (!is_edge || !most || !reader->has_summary[v] || column->present != iforest_low_bits(n))
		return iforest_column_sum(column, from, to, sum);
	*sum = 0;
	if (to - from < n && !iforest_column_sum(column, from == 0 ? to : 0, from == 0 ? n : from, sum))
		return false;
	*sum = reader->summaries[v].sum - *sum;
	return true;
}

/* Sums entries of an unpacked column: adds them, or subtracts the others from the block's sum if there are fewer. */
static iforest_int128 sum_unpacked(const struct iforest_block_reader *reader, unsigned v, uint64_t which)
{
	const int64_t *numbers = reader->block.values[v];
	uint64_t others = reader->columns[IFOREST_VALUES + v].present & ~which;
	iforest_int128 sum = 0;

	if (!reader->has_summary[v] || iforest_popcount(others) >= iforest_popcount(which)) {
		for (; which; which &= which - 1)
			sum += numbers[iforest_trailing_zeros(which)];
		return sum;
	}
	for (; others; others &= others - 1)
		sum -= numbers[iforest_trailing_zeros(others)];
	return iforest_add_wrapping(reader->summaries[v].sum, sum);
}

/* Sums the entries of [from, to) whose bit is set in `which`, of a column of integers that has been found. */
static enum iforest_status sum_values(struct iforest_block_reader *reader, unsigned v, unsigned from, unsigned to,
				      uint64_t which, iforest_int128 *sum)
{
	uint64_t holes = iforest_low_bits(to) & ~iforest_low_bits(from) & ~which;
	enum iforest_status status;

	if (!(reader->unpacked >> (IFOREST_VALUES + v) & 1) && sum_of_stretch(reader, v, from, to, sum) &&
	    iforest_column_subtract(&reader->columns[IFOREST_VALUES + v], holes, sum))
		return IFOREST_OK;
	status = iforest_block_need(reader, IFOREST_VALUES + v);
	if (!status)
		*sum = sum_unpacked(reader, v, which);
	return status;
}

static inline void offer_integer(int64_t value, int sign, struct iforest_extreme *extreme)
{
	if (!extreme->is_set || (sign < 0 ? value < extreme->value.integer : value > extreme->value.integer))
		*extreme = (struct iforest_extreme){ .value.integer = value, .is_set = true };
}

/* fold_value() for the values of extremes, of a packed column of integers. Returns false, and adds nothing, if there are others
 * between the entries, or too many gaps. */
static bool fold_packed(const struct iforest_block_reader *reader, unsigned v, uint64_t which,
			const struct iforest_request *request, struct iforest_value_aggregate *into)
{
	const struct iforest_column *column = &reader->columns[IFOREST_VALUES + v];
	unsigned from = iforest_trailing_zeros(which), to = iforest_highest_bit(which) + 1;
	uint64_t holes = iforest_low_bits(to) & ~iforest_low_bits(from) & ~which;
	iforest_int128 sum;
	int64_t least, greatest;

	if (holes & column->present || !iforest_column_fold(column, from, to, &sum, &least, &greatest) ||
	    !iforest_column_subtract(column, holes, &sum))
		return false;
	into->n += iforest_popcount(which);
	into->sum = iforest_add_wrapping(into->sum, sum);
	if (!(request->no_mins >> v & 1))
		offer_integer(least, -1, &into->min);
	if (!(request->no_maxs >> v & 1))
		offer_integer(greatest, 1, &into->max);
	return true;
}

/* Adds n, sum, min and max over the entries whose bit is set in `which`, which is not 0. For a whole block without removed
 * entries they are in its summary. */
static enum iforest_status fold_value(struct iforest_block_reader *reader, unsigned v, uint64_t which,
				      const struct iforest_request *request, struct iforest_value_aggregate *into)
{
	enum iforest_value_type type = (enum iforest_value_type)reader->leaf->fields->value_types[v];
	bool value_alone = request->no_rows >> v & 1;
	const struct iforest_summary *summary = &reader->summaries[v];
	struct iforest_summary computed;
	enum iforest_status status = IFOREST_OK;

	if (which != reader->columns[IFOREST_VALUES + v].present || !reader->has_summary[v]) {
		computed = reader->has_summary[v] ? *summary : (struct iforest_summary){ .n = 0 };
		if (is_sum_alone(reader, v, which, request, into)) {
			status = sum_values(reader, v, iforest_trailing_zeros(which), iforest_highest_bit(which) + 1, which,
					    &computed.sum);
		} else if (value_alone && type == IFOREST_INT64 && !(reader->unpacked >> (IFOREST_VALUES + v) & 1) &&
			   fold_packed(reader, v, which, request, into)) {
			return IFOREST_OK;
		} else {
			status = iforest_block_need(reader, IFOREST_VALUES + v);
			if (!status)
				iforest_summarize(&computed, reader->block.values[v], which, type);
		}
		if (status)
			return status;
		summary = &computed;
	}
	into->n += iforest_popcount(which);
	if (type == IFOREST_INT64) {
		into->sum = iforest_add_wrapping(into->sum, summary->sum);
	} else {
		into->real_sum += summary->real_sum;
		into->n_nan += summary->n_nan;
		into->n_plus_infinity += summary->n_plus_infinity;
		into->n_minus_infinity += summary->n_minus_infinity;
	}
	if (!(request->no_mins >> v & 1))
		status = offer_extreme(reader, v, summary->low, -1, value_alone, &into->min);
	if (!status && !(request->no_maxs >> v & 1))
		status = offer_extreme(reader, v, summary->high, 1, value_alone, &into->max);
	return status;
}

/* Unpacks a column of an accumulator, and keeps the bits of the entries that have it. */
static enum iforest_status need_numbers(struct iforest_block_reader *reader, unsigned column, uint64_t *which,
					const int64_t **numbers)
{
	const struct iforest_block *block = &reader->block;
	bool is_time = column == IFOREST_TIME_COLUMN;
	enum iforest_status status = iforest_block_need(reader, is_time ? IFOREST_TIMES : IFOREST_VALUES + column);

	if (status)
		return status;
	*which &= is_time ? (block->time_is_null ? 0 : UINT64_MAX) : block->present[column];
	*numbers = is_time ? block->times : block->values[column];
	return IFOREST_OK;
}

/* Adds entries to the words of accumulator a. Summaries do not have accumulators, so the numbers are unpacked. */
static enum iforest_status lift(struct iforest_block_reader *reader, unsigned a, uint64_t which, uint64_t *words)
{
	const struct iforest_accumulators *all = &reader->leaf->fields->accumulators;
	struct iforest_lift entries = { .which = which };
	enum iforest_status status = need_numbers(reader, all->list[a].value, &entries.which, &entries.numbers);

	if (!status && all->list[a].second != IFOREST_NO_VALUE)
		status = need_numbers(reader, all->list[a].second, &entries.which, &entries.others);
	if (!status && entries.which)
		iforest_accumulator_lift(all, a, &entries, words);
	return status;
}

/* Adds entries to the requested accumulators, or subtracts them. */
static enum iforest_status fold_accumulators(struct iforest_block_reader *reader, uint64_t which, uint32_t requested,
					     bool is_subtracted, struct iforest_aggregate *aggregate)
{
	const struct iforest_accumulators *all = &reader->leaf->fields->accumulators;
	enum iforest_status status = IFOREST_OK;

	for (unsigned a = 0; a < all->n && !status; a++) {
		uint64_t words[IFOREST_MAX_ACCUMULATOR_WORDS], *into = aggregate->words + all->list[a].word;

		if (!(requested >> a & 1))
			continue;
		if (!is_subtracted) {
			status = lift(reader, a, which, into);
			continue;
		}
		memset(words, 0, all->list[a].n_words * sizeof *words);
		status = lift(reader, a, which, words);
		iforest_accumulator_subtract(&all->list[a], into, words);
	}
	return status;
}

static enum iforest_status fold_one_value(struct iforest_block_reader *reader, unsigned v, uint64_t live,
					  const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct iforest_value_aggregate *into = &aggregate->values[v];
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_VALUES + v);
	struct iforest_extreme row;
	uint64_t which;

	if (status)
		return status;
	which = live & reader->columns[IFOREST_VALUES + v].present;
	if (!which)
		return IFOREST_OK;
	if (request->values >> v & 1)
		status = (request->extremes_alone ? fold_extremes : fold_value)(reader, v, which, request, into);
	if (!status && request->firsts >> v & 1 && !(status = load_row(reader, v, iforest_trailing_zeros(which), &row)))
		iforest_extreme_first(&into->first, &row);
	if (!status && request->lasts >> v & 1 && !(status = load_row(reader, v, iforest_highest_bit(which), &row)))
		iforest_extreme_last(&into->last, &row);
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

static enum iforest_status fold_latest_end(struct iforest_block_reader *reader, uint64_t live,
					   struct iforest_aggregate *aggregate)
{
	const struct iforest_block *block = &reader->block;
	unsigned v = reader->leaf->fields->duration_value;
	enum iforest_end_rule rule = (enum iforest_end_rule)reader->leaf->fields->end_rule;
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	if (!status)
		status = iforest_block_need(reader, IFOREST_VALUES + v);
	if (status || block->time_is_null)
		return status;
	for (; live; live &= live - 1) {
		unsigned i = iforest_trailing_zeros(live);
		int64_t end = iforest_span_end(block->times[i], block->values[v][i], block->present[v] >> i & 1, rule);

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
				       const struct iforest_request *request, struct iforest_aggregate *aggregate,
				       uint64_t *counted)
{
	const struct iforest_node_schema *fields = reader->leaf->fields;
	uint64_t range = iforest_low_bits(to) & ~iforest_low_bits(from);
	uint64_t live = range & ~reader->block.dead;
	uint32_t values = request->values | request->firsts | request->lasts;
	enum iforest_status status = IFOREST_OK;

	aggregate->n_dead += iforest_popcount(range) - iforest_popcount(live);
	if (request->filter && live)
		status = request->filter->of_entries(request->filter->context, reader, &live);
	*counted = live;
	if (status || !live)
		return status;
	aggregate->n_rows += iforest_popcount(live);
	for (unsigned v = 0; v < fields->n_values && !status; v++)
		if (values >> v & 1)
			status = fold_one_value(reader, v, live, request, aggregate);
	if (!status && request->accumulators)
		status = fold_accumulators(reader, live, request->accumulators, false, aggregate);
	if (!status && request->times)
		status = fold_times(reader, live, aggregate);
	if (!status && request->node_fields && fields->latest_end_offset)
		status = fold_latest_end(reader, live, aggregate);
	if (!status && request->node_fields && fields->has_blocks)
		status = fold_blocks(reader, live, aggregate);
	return status;
}

enum iforest_status iforest_block_add_sums(struct iforest_block_reader *reader, unsigned from, unsigned to, bool of_value,
					   struct iforest_sums *sums)
{
	uint64_t range = iforest_low_bits(to) & ~iforest_low_bits(from), which = range & ~reader->block.dead;
	enum iforest_status status;
	iforest_int128 sum;

	sums->n_rows += to - from;
	if (which != range) {
		sums->n_dead += iforest_popcount(range & ~which);
		sums->n_rows -= iforest_popcount(range & ~which);
	}
	if (!of_value)
		return IFOREST_OK;
	status = iforest_block_find_column(reader, IFOREST_VALUES);
	which &= status ? 0 : reader->columns[IFOREST_VALUES].present;
	if (!status)
		status = sum_values(reader, 0, from, to, which, &sum);
	if (status)
		return status;
	sums->n += iforest_popcount(which);
	sums->sum = iforest_add_wrapping(sums->sum, sum);
	return IFOREST_OK;
}

/* Adds a block by its directory entry and summary where possible. */
static enum iforest_status add_block(const struct iforest_leaf *leaf, unsigned b, bool of_value, struct iforest_sums *sums)
{
	struct iforest_block_reader reader;
	unsigned n;
	int64_t sum;

	if (of_value && iforest_leaf_block_sum(leaf, b, &n, &sum)) {
		sums->n_rows += n;
		sums->n += n;
		sums->sum = iforest_add_wrapping(sums->sum, sum);
		return IFOREST_OK;
	}
	iforest_block_start(&reader, leaf, b);
	return iforest_block_add_sums(&reader, 0, reader.block.n, of_value, sums);
}

/* True if n, sum and the values of extremes of the first value column are all that is requested, and it is of integers. */
static bool wants_first_value_alone(const struct iforest_request *request, const struct iforest_node_schema *fields)
{
	return request->values == 1 && fields->value_types[0] == IFOREST_INT64 && request->no_rows & 1 &&
	       iforest_wants_values_alone(request);
}

static inline void offer_value(const struct iforest_column *column, unsigned i, int sign, struct iforest_extreme *extreme)
{
	if (!is_beaten(column, IFOREST_INT64, sign, extreme))
		offer_integer(iforest_column_at(column, i), sign, extreme);
}

/* iforest_block_fold() for such a request, in a fraction of its instructions. Returns false, and adds nothing, if it does not
 * apply. */
static inline bool add_first_value(const struct iforest_leaf *leaf, unsigned block, const struct iforest_request *request,
				   struct iforest_aggregate *aggregate)
{
	struct iforest_value_aggregate *into = &aggregate->values[0];
	struct iforest_summary summary;
	struct iforest_column column;
	unsigned n;

	if (!iforest_leaf_first_column(leaf, block, &n, &summary, &column))
		return false;
	aggregate->n_rows += n;
	into->n += iforest_popcount(column.present);
	into->sum = iforest_add_wrapping(into->sum, summary.sum);
	if (!(request->no_mins & 1))
		offer_value(&column, summary.low, -1, &into->min);
	if (!(request->no_maxs & 1))
		offer_value(&column, summary.high, 1, &into->max);
	return true;
}

enum iforest_status iforest_leaf_fold_blocks(const struct iforest_leaf *leaf, unsigned from, unsigned to,
					     const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	bool is_short = wants_first_value_alone(request, leaf->fields), is_sums = iforest_wants_sums(request, leaf->fields);
	struct iforest_sums sums = { .n_rows = 0 };
	struct iforest_block_reader reader;
	enum iforest_status status = IFOREST_OK;
	uint64_t counted;

	for (unsigned b = from; b < to && !status; b++) {
		if (is_sums) {
			status = add_block(leaf, b, request->values, &sums);
		} else if (!is_short || !add_first_value(leaf, b, request, aggregate)) {
			iforest_block_start(&reader, leaf, b);
			status = iforest_block_fold(&reader, 0, reader.block.n, request, aggregate, &counted);
		}
	}
	iforest_sums_add_to_aggregate(&sums, request, aggregate);
	return status;
}

enum iforest_status iforest_leaf_node(const struct iforest_leaf *leaf, struct iforest_node *node)
{
	static const struct iforest_request all = { .values = UINT32_MAX, .accumulators = UINT32_MAX, .node_fields = true };
	struct iforest_block_reader reader;
	uint64_t counted;
	enum iforest_status status = IFOREST_OK;

	iforest_aggregate_clear(&node->aggregate, leaf->fields->n_values, &leaf->fields->accumulators);
	node->first = iforest_leaf_block(leaf, 0).first;
	for (unsigned b = 0; b < leaf->header.n_items && !status; b++) {
		iforest_block_start(&reader, leaf, b);
		status = iforest_block_fold(&reader, 0, reader.block.n, &all, &node->aggregate, &counted);
	}
	if (!status)
		status = iforest_block_need(&reader, IFOREST_TIMES);
	if (!status)
		node->last = (struct iforest_key){ .series = reader.block.series,
						   .time_is_null = reader.block.time_is_null,
						   .time = reader.block.times[reader.block.n - 1],
						   .ref = INT64_MAX };
	return status;
}

/* ---- Subtraction of excluded entries from a leaf page's node ---- */

enum { FEW_EXCLUDED = 8 }; /* of a block; for more, folding the others is faster */

/* True if entries can be subtracted from the node: all requested parts can be, and the node counts as many removed entries as
 * the page. Removed entries stay removed, so equal counts mean the same entries. */
static bool can_subtract(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_request *request)
{
	const struct iforest_node_schema *fields = leaf->fields;
	bool can = !request->firsts && !request->lasts && !request->times && !request->node_fields && !request->extremes_alone;

	for (unsigned v = 0; v < fields->n_values && can; v++)
		can = !(request->values >> v & 1) || fields->value_types[v] == IFOREST_INT64;
	return can && iforest_node_dead(node) == leaf->header.n_dead;
}

/* Clears *done if the entry may be the row of an extreme. */
static enum iforest_status is_extreme(struct iforest_block_reader *reader, int64_t number, unsigned i, bool is_wanted,
				      const struct iforest_extreme *extreme, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	if (!is_wanted || number != extreme->value.integer)
		return IFOREST_OK;
	status = iforest_block_need(reader, IFOREST_REFS);
	if (!status && reader->block.refs[i] == extreme->ref)
		*done = false;
	return status;
}

/* Subtracts entries from one column of the node. *done becomes false if one of them is an extreme. */
static enum iforest_status subtract_value(struct iforest_block_reader *reader, unsigned v, uint64_t excluded,
					  const struct iforest_request *request, struct iforest_value_aggregate *rest,
					  bool *done)
{
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_VALUES + v);

	if (!status)
		excluded &= reader->columns[IFOREST_VALUES + v].present;
	for (; excluded && !status && *done; excluded &= excluded - 1) {
		unsigned i = iforest_trailing_zeros(excluded);
		int64_t number = iforest_column_at(&reader->columns[IFOREST_VALUES + v], i);

		rest->n--;
		rest->sum = iforest_add_wrapping(rest->sum, -(iforest_int128)number);
		status = is_extreme(reader, number, i, !(request->no_mins >> v & 1), &rest->min, done);
		if (!status)
			status = is_extreme(reader, number, i, !(request->no_maxs >> v & 1), &rest->max, done);
	}
	return status;
}

/* Subtracts the entries of the reader's block whose bit is set from the node. */
static enum iforest_status exclude(struct iforest_block_reader *reader, uint64_t excluded,
				   const struct iforest_request *request, struct iforest_aggregate *rest, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	rest->n_rows -= iforest_popcount(excluded);
	for (unsigned v = 0; v < reader->leaf->fields->n_values && excluded && !status && *done; v++)
		if (request->values >> v & 1)
			status = subtract_value(reader, v, excluded, request, &rest->values[v], done);
	if (excluded && !status && *done && request->accumulators)
		status = fold_accumulators(reader, excluded, request->accumulators, true, rest);
	return status;
}

/* Subtracts entries by their refs. */
static enum iforest_status subtract_refs(const struct iforest_leaf *leaf, const int64_t *refs, unsigned n_refs,
					 struct iforest_block_reader *reader, const struct iforest_request *request,
					 struct iforest_aggregate *rest, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned r = 0; r < n_refs && !status && *done; r++) {
		unsigned i;
		bool found;

		status = iforest_leaf_find_ref(leaf, refs[r], reader, &i, &found);
		if (!status && found && !(reader->block.dead >> i & 1))
			status = exclude(reader, UINT64_C(1) << i, request, rest, done);
	}
	return status;
}

/* Subtracts the entries that the filter excludes, after checking all of them. */
static enum iforest_status subtract_others(const struct iforest_leaf *leaf, struct iforest_block_reader *reader,
					   const struct iforest_request *request, struct iforest_aggregate *rest, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < leaf->header.n_items && !status && *done; b++) {
		uint64_t live, kept;

		iforest_block_start(reader, leaf, b);
		live = kept = iforest_low_bits(reader->block.n) & ~reader->block.dead;
		if (live)
			status = request->filter->of_entries(request->filter->context, reader, &kept);
		*done = iforest_popcount(live & ~kept) <= FEW_EXCLUDED;
		if (!status && *done)
			status = exclude(reader, live & ~kept, request, rest, done);
	}
	return status;
}

enum iforest_status iforest_leaf_subtract(const struct iforest_leaf *leaf, const uint8_t *node,
					  struct iforest_block_reader *reader, const struct iforest_request *request,
					  struct iforest_aggregate *aggregate, bool *done)
{
	const struct iforest_node_schema *fields = leaf->fields;
	const struct iforest_filter *filter = request->filter;
	struct iforest_aggregate rest;
	int64_t refs[IFOREST_MAX_EXCLUDED_REFS];
	unsigned n_refs;
	enum iforest_status status;

	*done = can_subtract(leaf, node, request);
	if (!*done)
		return IFOREST_OK;
	iforest_aggregate_clear(&rest, fields->n_values, &fields->accumulators);
	iforest_request_fold_node(request, node, fields, &rest);
	if (leaf->header.flags & IFOREST_PAGE_REFS_ASCEND && filter->list_excluded &&
	    filter->list_excluded(filter->context, node, refs, &n_refs))
		status = subtract_refs(leaf, refs, n_refs, reader, request, &rest, done);
	else
		status = subtract_others(leaf, reader, request, &rest, done);
	if (!status && *done)
		iforest_aggregate_combine(aggregate, &rest, fields->value_types, fields->n_values, &fields->accumulators);
	return status;
}

/* ---- Counts and sums from an entry on ---- */

enum iforest_status iforest_leaf_sums_from(const struct iforest_leaf *leaf, const struct iforest_sums *all,
					   struct iforest_block_reader *reader, unsigned entry, bool of_value,
					   struct iforest_sums *rest)
{
	unsigned block = reader->number, n_blocks = leaf->header.n_items, n = reader->block.n;
	bool is_before = block < n_blocks / 2;
	unsigned from = is_before ? 0 : block + 1, to = is_before ? block : n_blocks;
	struct iforest_sums side = { .n_rows = 0 };
	enum iforest_status status = IFOREST_OK;

	if (is_before ? entry > 0 : entry < n)
		status = iforest_block_add_sums(reader, is_before ? 0 : entry, is_before ? entry : n, of_value, &side);
	for (unsigned b = from; b < to && !status; b++)
		status = add_block(leaf, b, of_value, &side);
	*rest = side;
	if (is_before) {
		*rest = *all;
		iforest_sums_subtract(rest, &side);
	}
	return status;
}

/* ---- A leaf page split at a key ---- */

/* Sides of the cut that have requested extremes. */
enum { BEFORE = 1, AFTER = 2 };

static unsigned side_of(const struct iforest_extreme *extreme, const struct iforest_key *key)
{
	struct iforest_key at = { .series = key->series, .time = extreme->time, .ref = extreme->ref };

	return iforest_key_compare(&at, key) < 0 ? BEFORE : AFTER;
}

/* Returns the sides that have the node's requested extremes. An extreme is the earliest of its value: if it is after the cut,
 * no row before the cut is as good. */
static unsigned sides_of_extremes(const uint8_t *node, const struct iforest_node_schema *fields, const struct iforest_key *key,
				  const struct iforest_request *request)
{
	unsigned sides = 0;

	for (unsigned v = 0; v < fields->n_values; v++) {
		struct iforest_extreme min, max;

		if (!(request->values >> v & 1) || iforest_node_value_rows(node, fields, v) == 0)
			continue;
		min = iforest_node_extreme(node, fields, v, -1);
		max = iforest_node_extreme(node, fields, v, 1);
		if (!(request->no_mins >> v & 1))
			sides |= side_of(&min, key);
		if (!(request->no_maxs >> v & 1))
			sides |= side_of(&max, key);
	}
	return sides;
}

/* Returns the sides of a cut in block `block` to fold: one, or both if the node cannot be used. */
static unsigned sides_to_fold(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_key *key,
			      unsigned block, const struct iforest_request *request)
{
	unsigned taken =
		can_subtract(leaf, node, request) ? sides_of_extremes(node, leaf->fields, key, request) : BEFORE | AFTER;

	if (taken == (BEFORE | AFTER))
		return BEFORE | AFTER;
	if (taken)
		return taken == BEFORE ? AFTER : BEFORE;
	return block < leaf->header.n_items / 2 ? BEFORE : AFTER;
}

/* Finds the position of the key, in the block or after it. */
static enum iforest_status find_cut(const struct iforest_leaf *leaf, const struct iforest_key *key, unsigned block,
				    struct iforest_block_reader *reader, struct iforest_leaf_cut *cut)
{
	enum iforest_status status;

	iforest_block_start(reader, leaf, block);
	status = iforest_block_find(reader, key, &cut->entry);
	if (status)
		return status;
	if (cut->entry == reader->block.n) {
		cut->entry = 0;
		block++;
	}
	cut->block = block;
	cut->first = (struct iforest_key){ .series = key->series };
	if (block < leaf->header.n_items)
		cut->first = iforest_leaf_block(leaf, block).first;
	cut->first.ref = INT64_MIN;
	return cut->entry > 0 ? iforest_block_pick(reader, IFOREST_TIMES, cut->entry, &cut->first.time) : IFOREST_OK;
}

static enum iforest_status fold_side(const struct iforest_leaf *leaf, struct iforest_block_reader *reader, unsigned side,
				     const struct iforest_leaf_cut *cut, const struct iforest_request *request,
				     struct iforest_aggregate *aggregate)
{
	unsigned from = side == BEFORE ? 0 : cut->entry, to = side == BEFORE ? cut->entry : reader->block.n;
	enum iforest_status status = IFOREST_OK;
	uint64_t counted;

	if (cut->entry > 0)
		status = iforest_block_fold(reader, from, to, request, aggregate, &counted);
	if (status)
		return status;
	from = side == BEFORE ? 0 : cut->block + (cut->entry > 0);
	to = side == BEFORE ? cut->block : leaf->header.n_items;
	return iforest_leaf_fold_blocks(leaf, from, to, request, aggregate);
}

/* rest, which is empty, = the node without a side. Its extremes are the node's. */
static void subtract_side(const uint8_t *node, const struct iforest_node_schema *fields, const struct iforest_request *request,
			  const struct iforest_aggregate *side, struct iforest_aggregate *rest)
{
	iforest_request_fold_node(request, node, fields, rest);
	rest->n_rows -= side->n_rows;
	rest->n_dead -= side->n_dead;
	for (unsigned v = 0; v < fields->n_values; v++)
		if (request->values >> v & 1) {
			rest->values[v].n -= side->values[v].n;
			rest->values[v].sum = iforest_add_wrapping(rest->values[v].sum, -side->values[v].sum);
		}
	for (unsigned a = 0; a < fields->accumulators.n; a++) {
		const struct iforest_accumulator *accumulator = &fields->accumulators.list[a];

		if (request->accumulators >> a & 1)
			iforest_accumulator_subtract(accumulator, rest->words + accumulator->word,
						     side->words + accumulator->word);
	}
}

bool iforest_leaf_can_split(const uint8_t *node, const struct iforest_key *key, const struct iforest_request *request)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	return first.series == key->series && last.series == key->series && !first.time_is_null && !last.time_is_null &&
	       !request->firsts && !request->lasts && !request->times && !request->node_fields && !request->extremes_alone;
}

/* Initialises a side with the extremes so far, so that only better ones are searched for. */
static void seed_extremes(const struct iforest_aggregate *from, unsigned n_values, struct iforest_aggregate *side)
{
	for (unsigned v = 0; v < n_values; v++) {
		side->values[v].min = from->values[v].min;
		side->values[v].max = from->values[v].max;
	}
}

enum iforest_status iforest_leaf_split(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_key *key,
				       const struct iforest_request *request, struct iforest_aggregate *into,
				       struct iforest_aggregate *after, struct iforest_leaf_cut *cut)
{
	const struct iforest_node_schema *fields = leaf->fields;
	unsigned block = iforest_leaf_find_block(leaf, key), sides = sides_to_fold(leaf, node, key, block, request);
	struct iforest_aggregate before;
	struct iforest_block_reader reader;
	struct iforest_request all = *request;
	enum iforest_status status;

	all.filter = NULL;
	iforest_leaf_prefetch_block(leaf, block);
	iforest_leaf_prefetch(leaf, sides & BEFORE ? 0 : block + 1, sides & AFTER ? leaf->header.n_items : block);
	status = find_cut(leaf, key, block, &reader, cut);
	iforest_aggregate_clear(&before, fields->n_values, &fields->accumulators);
	iforest_aggregate_clear(after, fields->n_values, &fields->accumulators);
	if (!status && sides & BEFORE) {
		seed_extremes(into, fields->n_values, &before);
		status = fold_side(leaf, &reader, BEFORE, cut, &all, &before);
	}
	if (!status && sides & AFTER)
		status = fold_side(leaf, &reader, AFTER, cut, &all, after);
	if (sides == BEFORE)
		subtract_side(node, fields, request, &before, after);
	else if (sides == AFTER)
		subtract_side(node, fields, request, after, &before);
	iforest_aggregate_combine(into, &before, fields->value_types, fields->n_values, &fields->accumulators);
	return status;
}
