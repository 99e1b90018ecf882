#include "core/query/fill.h"

#include "core/model/real_time.h"

enum iforest_status iforest_fill_init(struct iforest_fill *fill, enum iforest_fill_mode mode, uint32_t values,
				      const struct iforest_scan *beside, struct iforest_store *joined,
				      const struct iforest_manifest *joined_manifest)
{
	enum iforest_status status = iforest_scan_init(&fill->scan, beside->store, beside->manifest);

	fill->is_open = !status;
	fill->mode = mode;
	fill->values = values;
	fill->filled = 0;
	fill->scan.request.filter = beside->request.filter;
	iforest_fill_turn(fill);
	return status ? status : iforest_scan_join(&fill->scan, joined, joined_manifest);
}

void iforest_fill_release(struct iforest_fill *fill)
{
	if (fill->is_open)
		iforest_scan_release(&fill->scan);
	fill->is_open = false;
	fill->filled = 0;
}

void iforest_fill_turn(struct iforest_fill *fill)
{
	fill->knows_before = fill->knows_after = 0;
}

/* Finds the last rows before a time, or the first at or after it, with values of `columns` (bits), into rows[v]. */
static enum iforest_status find_nearest(struct iforest_fill *fill, const uint32_t *series, uint32_t n, int64_t time,
					bool is_before, uint32_t columns, struct iforest_extreme *rows)
{
	const struct iforest_node_schema *fields = &fill->scan.manifest->fields;
	struct iforest_scan *scan = &fill->scan;
	struct iforest_aggregate aggregate;
	enum iforest_status status = IFOREST_OK;
	int64_t bucket;
	bool found;

	scan->bucketing =
		(struct iforest_bucketing){ .mode = IFOREST_WHOLE,
					    .window = { .has_t0 = !is_before, .has_t1 = is_before, .t0 = time, .t1 = time } };
	scan->request = (struct iforest_request){ .lasts = is_before ? columns : 0,
						  .firsts = is_before ? 0 : columns,
						  .filter = scan->request.filter };
	for (unsigned v = 0; v < fields->n_values; v++)
		if (columns >> v & 1)
			rows[v] = (struct iforest_extreme){ .is_set = false };
	for (uint32_t s = 0; s < n && !status; s++) {
		status = iforest_scan_start(scan, series[s]);
		if (!status)
			status = iforest_scan_next(scan, &bucket, &aggregate, &found);
		for (unsigned v = 0; v < fields->n_values && !status; v++)
			if (is_before)
				iforest_extreme_last(&rows[v], &aggregate.values[v].last);
			else
				iforest_extreme_first(&rows[v], &aggregate.values[v].first);
	}
	return status;
}

/* Interpolates between (a.time, a) and (b.time, b). For integers, only the last steps round. */
static double line(const struct iforest_extreme *a, const struct iforest_extreme *b, int64_t time, unsigned value_type)
{
	uint64_t width = (uint64_t)b->time - (uint64_t)a->time, part = (uint64_t)time - (uint64_t)a->time;
	iforest_uint128 product;
	iforest_int128 whole;
	uint64_t rise;
	bool falls;

	if (value_type == IFOREST_FLOAT64)
		return iforest_line_real(a->value.real, b->value.real, part, width);
	falls = b->value.integer < a->value.integer;
	rise = falls ? (uint64_t)a->value.integer - (uint64_t)b->value.integer
		     : (uint64_t)b->value.integer - (uint64_t)a->value.integer;
	product = (iforest_uint128)rise * part;
	whole = (iforest_int128)(product / width);
	rise = (uint64_t)(product % width);
	return falls ? (double)(a->value.integer - whole) - (double)rise / (double)width
		     : (double)(a->value.integer + whole) + (double)rise / (double)width;
}

static double to_real(union iforest_number number, unsigned value_type)
{
	return value_type == IFOREST_FLOAT64 ? number.real : (double)number.integer;
}

/* line() for real times. */
static double line_of_reals(const struct iforest_extreme *a, const struct iforest_extreme *b, int64_t time, unsigned value_type)
{
	double from = iforest_real_of_time(a->time), to = iforest_real_of_time(b->time), at = iforest_real_of_time(time);
	double scale = to - from <= IFOREST_GREATEST_REAL ? 1 : 0.5,
	       share = (at * scale - from * scale) / (to * scale - from * scale);

	return to_real(a->value, value_type) * (1 - share) + to_real(b->value, value_type) * share;
}

enum iforest_status iforest_fill_bucket(struct iforest_fill *fill, const uint32_t *series, uint32_t n,
					const struct iforest_bucketing *bucketing, int64_t bucket,
					const struct iforest_aggregate *aggregate)
{
	const struct iforest_node_schema *fields = &fill->scan.manifest->fields;
	const struct iforest_window *window = &bucketing->window;
	int64_t start = iforest_bucket_start(bucketing, bucket);
	enum iforest_status status = IFOREST_OK;
	uint32_t empty = 0;

	if (window->has_t0 && start < window->t0)
		start = window->t0;
	for (unsigned v = 0; v < fields->n_values; v++)
		empty |= (uint32_t)(aggregate->values[v].n == 0) << v;
	fill->filled = fill->values & empty;
	fill->knows_before &= empty;
	fill->knows_after &= empty;
	if (!window->has_t0) /* there are no entries before */
		fill->filled = 0;
	if (fill->filled & ~fill->knows_before)
		status = find_nearest(fill, series, n, start, true, fill->filled & ~fill->knows_before, fill->before);
	if (!status && fill->mode == IFOREST_FILL_LINEAR && fill->filled & ~fill->knows_after)
		status = find_nearest(fill, series, n, start, false, fill->filled & ~fill->knows_after, fill->after);
	if (status)
		return status;
	fill->knows_before |= fill->filled;
	fill->knows_after |= fill->filled;
	for (unsigned v = 0; v < fields->n_values; v++) {
		if (!(fill->filled >> v & 1))
			continue;
		if (!fill->before[v].is_set || (fill->mode == IFOREST_FILL_LINEAR && !fill->after[v].is_set))
			fill->filled &= ~(1u << v);
		else if (fill->mode == IFOREST_FILL_LINEAR)
			fill->lines[v] = (bucketing->edges == IFOREST_EDGES_OF_REALS ? line_of_reals : line)(
				&fill->before[v], &fill->after[v], start, fields->value_types[v]);
	}
	return IFOREST_OK;
}
