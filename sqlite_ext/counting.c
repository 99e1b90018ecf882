#include "sqlite_ext/counting.h"

#include <math.h>

enum iforest_status iforest_counting_start(struct iforest_counting *counting, uint32_t wanted, const struct iforest_filter *filter,
					   struct iforest_store *store, const struct iforest_manifest *manifest,
					   struct iforest_store *joined, const struct iforest_manifest *joined_manifest)
{
	enum iforest_status status = iforest_walk_init(&counting->walk, store, manifest);

	counting->has_walk = !status;
	counting->fields = &manifest->fields;
	counting->filter = filter;
	counting->wanted = wanted;
	return status ? status : iforest_walk_join(&counting->walk, joined, joined_manifest);
}

void iforest_counting_release(struct iforest_counting *counting)
{
	if (counting->has_walk)
		iforest_walk_release(&counting->walk);
	counting->has_walk = false;
}

/* The last row before t0, of those with a value where the question says so. */
static enum iforest_status find_before(struct iforest_counting *counting, uint64_t series, int64_t t0,
				       struct iforest_walk_question *question, struct iforest_entry *entry, bool *found)
{
	question->from = iforest_key_at(series, INT64_MIN);
	question->to = iforest_key_at(series, t0);
	question->descends = true;
	question->filter = counting->filter;
	iforest_walk_start(&counting->walk, question);
	return iforest_walk_next(&counting->walk, entry, found);
}

/* To where a sample holds by its own duration; unfinished, or of an unknown one, till the next. */
static int64_t until_of(const struct iforest_counting *counting, const struct iforest_entry *entry)
{
	unsigned v = counting->fields->duration_value;

	if (v == IFOREST_NO_VALUE || !(entry->present >> v & 1) || entry->values[v].integer < 0)
		return INT64_MAX;
	return iforest_span_end(entry->key.time, entry->values[v].integer, true, (enum iforest_end_rule)counting->fields->end_rule);
}

/* The columns to read, durations among them. */
static uint32_t with_durations(const struct iforest_counting *counting, uint32_t values)
{
	unsigned v = counting->fields->duration_value;

	return values && v != IFOREST_NO_VALUE ? values | 1u << v : values;
}

static enum iforest_status carry_in(struct iforest_counting *counting, uint64_t series, int64_t t0, unsigned v)
{
	struct iforest_walk_question question = { .match = { .values = 1u << v }, .values = with_durations(counting, 1u << v) };
	struct iforest_counter *counter = &counting->values[v];
	struct iforest_entry entry;
	enum iforest_status status;

	if (counting->fields->kinds[v] == IFOREST_INT64) {
		question.match.low[v].integer = INT64_MIN;
		question.match.high[v].integer = INT64_MAX;
	} else {
		question.match.low[v].real = -INFINITY;
		question.match.high[v].real = NAN; /* which is the greatest */
	}
	status = find_before(counting, series, t0, &question, &entry, &counter->is_known);
	if (!status && counter->is_known) {
		counter->value = entry.values[v];
		counter->until = until_of(counting, &entry);
	}
	return status;
}

enum iforest_status iforest_counting_turn(struct iforest_counting *counting, uint64_t series, int64_t t0, int64_t t1)
{
	struct iforest_walk_question question = { .from = iforest_key_at(series, t0), .to = iforest_key_at(series, t1),
						  .filter = counting->filter, .values = with_durations(counting, counting->wanted) };
	struct iforest_walk_question any = { .values = 0 };
	enum iforest_status status;

	memset(counting->values, 0, sizeof counting->values);
	status = find_before(counting, series, t0, &any, &counting->ahead, &counting->has_begun);
	for (unsigned v = 0; v < counting->fields->n_values && !status && counting->has_begun; v++)
		if (counting->wanted >> v & 1)
			status = carry_in(counting, series, t0, v);
	if (status)
		return status;
	iforest_walk_start(&counting->walk, &question);
	return iforest_walk_next(&counting->walk, &counting->ahead, &counting->has_ahead);
}

static void add_sample(struct iforest_counting *counting, const struct iforest_entry *entry)
{
	int64_t until = until_of(counting, entry);

	for (unsigned v = 0; v < counting->fields->n_values; v++)
		if (counting->wanted & entry->present & 1u << v)
			iforest_counter_add(&counting->values[v], (enum iforest_value_kind)counting->fields->kinds[v], entry->key.time,
					    entry->values[v], until);
}

enum iforest_status iforest_counting_bucket(struct iforest_counting *counting, int64_t start, int64_t end,
					    struct iforest_aggregate *aggregate, bool *found)
{
	unsigned n_values = counting->fields->n_values;
	enum iforest_status status = IFOREST_OK;

	iforest_aggregate_clear(aggregate, n_values);
	counting->width = (uint64_t)end - (uint64_t)start;
	for (unsigned v = 0; v < n_values; v++)
		iforest_counter_open(&counting->values[v], start);
	while (!status && counting->has_ahead && counting->ahead.key.time < end) {
		aggregate->n_rows++;
		iforest_aggregate_add_time(aggregate, counting->ahead.key.time);
		add_sample(counting, &counting->ahead);
		status = iforest_walk_next(&counting->walk, &counting->ahead, &counting->has_ahead);
	}
	for (unsigned v = 0; v < n_values; v++)
		iforest_counter_close(&counting->values[v], (enum iforest_value_kind)counting->fields->kinds[v], end);
	counting->has_begun = counting->has_begun || aggregate->n_rows > 0;
	*found = counting->has_begun;
	return status;
}

/* ---- columns ---- */

static void result_number(sqlite3_context *context, union iforest_number number, enum iforest_value_kind kind)
{
	if (kind == IFOREST_INT64)
		sqlite3_result_int64(context, number.integer);
	else
		sqlite3_result_double(context, number.real);
}

static int result_increase(sqlite3_context *context, const struct iforest_counter *counter, enum iforest_value_kind kind)
{
	if (kind == IFOREST_FLOAT64) {
		sqlite3_result_double(context, counter->real_increase);
	} else if (counter->increase > INT64_MAX || counter->increase < INT64_MIN) {
		sqlite3_result_error(context, "integer overflow", -1);
		return SQLITE_ERROR;
	} else {
		sqlite3_result_int64(context, (sqlite3_int64)counter->increase);
	}
	return SQLITE_OK;
}

int iforest_counting_column(sqlite3_context *context, const struct iforest_counting *counting, unsigned v,
			    enum iforest_counter_column column)
{
	const struct iforest_counter *counter = &counting->values[v];
	enum iforest_value_kind kind = (enum iforest_value_kind)counting->fields->kinds[v];

	if (column == IFOREST_COUNTER_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)counter->n);
	else if (column == IFOREST_COUNTER_START && counter->has_start)
		result_number(context, counter->start, kind);
	if (column <= IFOREST_COUNTER_START || !counter->is_known)
		return SQLITE_OK;
	switch (column) {
	case IFOREST_COUNTER_END:
		result_number(context, counter->value, kind);
		break;
	case IFOREST_COUNTER_MEAN:
		if (counter->known > 0)
			sqlite3_result_double(context, iforest_counter_mean(counter, kind));
		break;
	case IFOREST_COUNTER_INCREASE:
		return result_increase(context, counter, kind);
	case IFOREST_COUNTER_RATE:
		sqlite3_result_double(context, iforest_counter_increase(counter, kind) / (double)counting->width);
		break;
	default:
		sqlite3_result_int64(context, (sqlite3_int64)counter->n_resets);
	}
	return SQLITE_OK;
}
