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

/* True if [low, high] meets the interval of value v. */
static bool meets(const struct iforest_value_predicate *predicate, unsigned v, union iforest_number low,
		  union iforest_number high, enum iforest_value_type type)
{
	return iforest_number_compare(high, predicate->low[v], type) >= 0 &&
	       iforest_number_compare(low, predicate->high[v], type) <= 0;
}

/* True if the node may reach `reach`. A start in the window is an end there too, so an end equal to `reach` needs a look at the
 * starts. */
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

	if (wants_null && (wants_value || n_values == n_rows))
		return IFOREST_COUNTS_NONE;
	if (wants_null)
		return n_values == 0 ? IFOREST_COUNTS_ALL : IFOREST_COUNTS_SOME;
	if (!wants_value)
		return IFOREST_COUNTS_ALL;
	low = iforest_node_extreme(node, fields, v, -1);
	high = iforest_node_extreme(node, fields, v, 1);
	if (!low.is_set || !meets(predicate, v, low.value, high.value, type))
		return IFOREST_COUNTS_NONE;
	return n_values == n_rows && iforest_number_compare(low.value, predicate->low[v], type) >= 0 &&
			       iforest_number_compare(high.value, predicate->high[v], type) <= 0
		       ? IFOREST_COUNTS_ALL
		       : IFOREST_COUNTS_SOME;
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

/* True if, by its summary, the block may meet the interval; true without a summary. The column has been found. */
static bool block_meets(const struct iforest_value_predicate *predicate, const struct iforest_block_reader *reader, unsigned v,
			enum iforest_value_type type)
{
	const struct iforest_summary *summary = &reader->summaries[v];
	const struct iforest_column *column = &reader->columns[IFOREST_VALUES + v];

	return !reader->has_summary[v] ||
	       meets(predicate, v, (union iforest_number){ .integer = iforest_column_at(column, summary->low) },
		     (union iforest_number){ .integer = iforest_column_at(column, summary->high) }, type);
}

static enum iforest_status keep_value(const struct iforest_value_predicate *predicate, struct iforest_block_reader *reader,
				      unsigned v, uint64_t *live)
{
	enum iforest_value_type type = (enum iforest_value_type)reader->leaf->fields->value_types[v];
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_VALUES + v);
	uint64_t present = status ? 0 : reader->columns[IFOREST_VALUES + v].present;

	if (predicate->nulls >> v & 1)
		*live &= ~present;
	if (status || !(predicate->values >> v & 1))
		return status;
	*live &= present;
	if (!*live || !block_meets(predicate, reader, v, type)) {
		*live = 0;
		return IFOREST_OK;
	}
	status = iforest_block_need(reader, IFOREST_VALUES + v);
	for (uint64_t left = status ? 0 : *live; left; left &= left - 1) {
		unsigned i = iforest_trailing_zeros(left);
		union iforest_number number = { .integer = reader->block.values[v][i] };

		if (!meets(predicate, v, number, number, type))
			*live &= ~(UINT64_C(1) << i);
	}
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
		    !meets(predicate, v, entry->values[v], entry->values[v], (enum iforest_value_type)fields->value_types[v]))
			return false;
	}
	return !predicate->has_reach ||
	       (!entry->key.time_is_null && reaches(predicate, entry->key.time, entry->values[duration].integer,
						    entry->present >> duration & 1, (enum iforest_end_rule)fields->end_rule));
}
