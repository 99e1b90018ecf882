#include "core/page/value_predicate.h"

#include <math.h>

static void open_interval(struct iforest_value_predicate *predicate, unsigned v, enum iforest_value_type type)
{
	if (predicate->values >> v & 1)
		return;
	predicate->values |= 1u << v;
	if (type == IFOREST_INT64) {
		predicate->low[v].integer = INT64_MIN;
		predicate->high[v].integer = INT64_MAX;
	} else {
		predicate->low[v].real = -INFINITY;
		predicate->high[v].real = NAN;
	}
}

void iforest_value_predicate_at_least(struct iforest_value_predicate *predicate, unsigned v, union iforest_number low,
				      enum iforest_value_type type)
{
	open_interval(predicate, v, type);
	if (iforest_number_compare(low, predicate->low[v], type) > 0)
		predicate->low[v] = low;
}

void iforest_value_predicate_at_most(struct iforest_value_predicate *predicate, unsigned v, union iforest_number high,
				     enum iforest_value_type type)
{
	open_interval(predicate, v, type);
	if (iforest_number_compare(high, predicate->high[v], type) < 0)
		predicate->high[v] = high;
}

/* Classifies non-NULL values between low and high by the interval of value v. */
static enum iforest_filter_class classify(const struct iforest_value_predicate *predicate, unsigned v, union iforest_number low,
					  union iforest_number high, enum iforest_value_type type)
{
	if (iforest_number_compare(high, predicate->low[v], type) < 0 ||
	    iforest_number_compare(low, predicate->high[v], type) > 0)
		return IFOREST_COUNTS_NONE;
	return iforest_number_compare(low, predicate->low[v], type) >= 0 &&
			       iforest_number_compare(high, predicate->high[v], type) <= 0
		       ? IFOREST_COUNTS_ALL
		       : IFOREST_COUNTS_SOME;
}

/* True if an entry of the node may reach `reach`. Because a start at `reach` counts, too, a latest end equal to `reach`
 * requires a check of the starts. */
static bool node_reaches(const struct iforest_value_predicate *predicate, const struct iforest_node_schema *fields,
			 const uint8_t *node)
{
	struct iforest_key first, last;
	int64_t latest_end = iforest_node_latest_end(node, fields);

	if (latest_end != predicate->reach)
		return latest_end > predicate->reach;
	first = iforest_node_first(node);
	last = iforest_node_last(node);
	return last.time_is_null || first.series != last.series || last.time >= predicate->reach;
}

/* Classifies the node's entries by value v. */
static enum iforest_filter_class classify_value(const struct iforest_value_predicate *predicate,
						const struct iforest_node_schema *fields, const uint8_t *node, unsigned v)
{
	enum iforest_value_type type = (enum iforest_value_type)fields->value_types[v];
	uint64_t n_rows = iforest_node_rows(node), n_values = iforest_node_value_rows(node, fields, v);
	bool wants_null = predicate->nulls >> v & 1, wants_value = predicate->values >> v & 1;
	struct iforest_extreme low, high;
	enum iforest_filter_class class;

	if (wants_null && (wants_value || n_values == n_rows))
		return IFOREST_COUNTS_NONE;
	if (wants_null)
		return n_values == 0 ? IFOREST_COUNTS_ALL : IFOREST_COUNTS_SOME;
	if (!wants_value)
		return IFOREST_COUNTS_ALL;
	low = iforest_node_extreme(node, fields, v, -1);
	high = iforest_node_extreme(node, fields, v, 1);
	class = low.is_set ? classify(predicate, v, low.value, high.value, type) : IFOREST_COUNTS_NONE;
	return class == IFOREST_COUNTS_ALL && n_values < n_rows ? IFOREST_COUNTS_SOME : class;
}

enum iforest_filter_class iforest_value_predicate_node(const struct iforest_value_predicate *predicate,
						       const struct iforest_node_schema *fields, const uint8_t *node)
{
	enum iforest_filter_class class = predicate->has_reach ? IFOREST_COUNTS_SOME : IFOREST_COUNTS_ALL;

	if (iforest_node_rows(node) == 0 || (predicate->has_reach && !node_reaches(predicate, fields, node)))
		return IFOREST_COUNTS_NONE;
	for (unsigned v = 0; (predicate->values | predicate->nulls) >> v && class != IFOREST_COUNTS_NONE; v++) {
		enum iforest_filter_class of_value = classify_value(predicate, fields, node, v);

		if (of_value != IFOREST_COUNTS_ALL)
			class = of_value;
	}
	return class;
}

/* Classifies the block's values by its summary; SOME without one. The column has been found. */
static enum iforest_filter_class classify_block(const struct iforest_value_predicate *predicate,
						const struct iforest_block_reader *reader, unsigned v,
						enum iforest_value_type type)
{
	const struct iforest_summary *summary = &reader->summaries[v];
	const struct iforest_column *column = &reader->columns[IFOREST_VALUES + v];

	if (!reader->has_summary[v])
		return IFOREST_COUNTS_SOME;
	return classify(predicate, v, (union iforest_number){ .integer = iforest_column_at(column, summary->low) },
			(union iforest_number){ .integer = iforest_column_at(column, summary->high) }, type);
}

/* Return the bits of the block's unpacked values that lie in the interval. NaN is after all numbers. */
static uint64_t integers_inside(const struct iforest_value_predicate *predicate, const struct iforest_block *block, unsigned v)
{
	int64_t low = predicate->low[v].integer, high = predicate->high[v].integer;
	uint64_t inside = 0;

	for (unsigned i = 0; i < block->n; i++)
		inside |= (uint64_t)((block->values[v][i] >= low) & (block->values[v][i] <= high)) << i;
	return inside;
}

static uint64_t reals_inside(const struct iforest_value_predicate *predicate, const struct iforest_block *block, unsigned v)
{
	double low = predicate->low[v].real, high = predicate->high[v].real;
	bool is_nan_alone = isnan(low), has_no_end = isnan(high);
	uint64_t inside = 0;

	for (unsigned i = 0; i < block->n; i++) {
		double real = (union iforest_number){ .integer = block->values[v][i] }.real;
		bool begins = is_nan_alone ? isnan(real) : !(real < low);

		inside |= (uint64_t)(begins & (has_no_end | (real <= high))) << i;
	}
	return inside;
}

static enum iforest_status keep_value(const struct iforest_value_predicate *predicate, struct iforest_block_reader *reader,
				      unsigned v, uint64_t *live)
{
	enum iforest_value_type type = (enum iforest_value_type)reader->leaf->fields->value_types[v];
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_VALUES + v);
	uint64_t present = status ? 0 : reader->columns[IFOREST_VALUES + v].present;
	enum iforest_filter_class class;

	if (predicate->nulls >> v & 1)
		*live &= ~present;
	if (status || !(predicate->values >> v & 1))
		return status;
	*live &= present;
	class = *live ? classify_block(predicate, reader, v, type) : IFOREST_COUNTS_NONE;
	if (class == IFOREST_COUNTS_NONE)
		*live = 0;
	if (class != IFOREST_COUNTS_SOME)
		return IFOREST_OK;
	status = iforest_block_need(reader, IFOREST_VALUES + v);
	if (!status)
		*live &= type == IFOREST_INT64 ? integers_inside(predicate, &reader->block, v)
					       : reals_inside(predicate, &reader->block, v);
	return status;
}

/* True if, by the headers of its columns, a span of the block may reach `reach`. The columns have been found. */
static bool block_reaches(const struct iforest_value_predicate *predicate, const struct iforest_block_reader *reader)
{
	const struct iforest_node_schema *fields = reader->leaf->fields;
	unsigned n = reader->block.n;
	int64_t first, last, shortest, longest;

	if (!iforest_column_bounds(&reader->columns[IFOREST_TIMES], n, &first, &last) || last >= predicate->reach ||
	    !iforest_column_bounds(&reader->columns[IFOREST_VALUES + fields->duration_value], n, &shortest, &longest))
		return true;
	return iforest_span_end(last, longest, true, (enum iforest_end_rule)fields->end_rule) > predicate->reach;
}

static bool reaches(const struct iforest_value_predicate *predicate, int64_t time, int64_t duration, bool has_duration,
		    enum iforest_end_rule rule)
{
	return time >= predicate->reach || iforest_span_end(time, duration, has_duration, rule) > predicate->reach;
}

static enum iforest_status keep_reach(const struct iforest_value_predicate *predicate, struct iforest_block_reader *reader,
				      uint64_t *live)
{
	const struct iforest_block *block = &reader->block;
	unsigned v = reader->leaf->fields->duration_value;
	enum iforest_end_rule rule = (enum iforest_end_rule)reader->leaf->fields->end_rule;
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_TIMES); /* after those of all values */

	if (status)
		return status;
	if (block->time_is_null || !block_reaches(predicate, reader)) {
		*live = 0;
		return IFOREST_OK;
	}
	status = iforest_block_need(reader, IFOREST_TIMES);
	if (!status)
		status = iforest_block_need(reader, IFOREST_VALUES + v);
	for (uint64_t left = status ? 0 : *live; left; left &= left - 1) {
		unsigned i = iforest_trailing_zeros(left);

		if (!reaches(predicate, block->times[i], block->values[v][i], block->present[v] >> i & 1, rule))
			*live &= ~(UINT64_C(1) << i);
	}
	return status;
}

enum iforest_status iforest_value_predicate_entries(const struct iforest_value_predicate *predicate,
						    struct iforest_block_reader *reader, uint64_t *live)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned v = 0; (predicate->values | predicate->nulls) >> v && *live && !status; v++)
		if ((predicate->values | predicate->nulls) >> v & 1)
			status = keep_value(predicate, reader, v, live);
	if (!status && *live && predicate->has_reach)
		status = keep_reach(predicate, reader, live);
	return status;
}

bool iforest_value_predicate_entry(const struct iforest_value_predicate *predicate, const struct iforest_node_schema *fields,
				   const struct iforest_entry *entry)
{
	unsigned duration = fields->duration_value;

	for (unsigned v = 0; (predicate->values | predicate->nulls) >> v; v++) {
		bool is_present = entry->present >> v & 1;

		if ((is_present ? predicate->nulls : predicate->values) >> v & 1)
			return false;
		if (predicate->values >> v & 1 &&
		    classify(predicate, v, entry->values[v], entry->values[v],
			     (enum iforest_value_type)fields->value_types[v]) == IFOREST_COUNTS_NONE)
			return false;
	}
	return !predicate->has_reach ||
	       (!entry->key.time_is_null && reaches(predicate, entry->key.time, entry->values[duration].integer,
						    entry->present >> duration & 1, (enum iforest_end_rule)fields->end_rule));
}
