#include "sqlite_ext/query/carry.h"

enum iforest_status iforest_carry_start(struct iforest_carry *carry, enum iforest_fill fill, uint32_t wanted,
					const struct iforest_scan *beside, struct iforest_store *joined,
					const struct iforest_manifest *joined_manifest)
{
	enum iforest_status status = iforest_scan_init(&carry->scan, beside->store, beside->manifest);

	carry->has_scan = !status;
	carry->fill = fill;
	carry->wanted = wanted;
	carry->scan.wanted.filter = beside->wanted.filter;
	return status ? status : iforest_scan_join(&carry->scan, joined, joined_manifest);
}

void iforest_carry_release(struct iforest_carry *carry)
{
	if (carry->has_scan)
		iforest_scan_release(&carry->scan);
	carry->has_scan = false;
	carry->filled = 0;
}

void iforest_carry_turn(struct iforest_carry *carry)
{
	carry->knows_before = carry->knows_after = 0;
}

/* The last rows before a time, or the first at or after it, that have values of `columns` (bits), into rows[v]. */
static enum iforest_status look(struct iforest_carry *carry, const struct iforest_series *const *series, uint32_t n,
				int64_t time, bool is_before, uint32_t columns, struct iforest_row *rows)
{
	const struct iforest_fields *fields = &carry->scan.manifest->fields;
	struct iforest_scan *scan = &carry->scan;
	struct iforest_aggregate aggregate;
	enum iforest_status status = IFOREST_OK;
	int64_t bucket;
	bool found;

	scan->bucketing =
		(struct iforest_bucketing){ .mode = IFOREST_WHOLE,
					    .window = { .has_t0 = !is_before, .has_t1 = is_before, .t0 = time, .t1 = time } };
	scan->wanted = (struct iforest_wanted){ .lasts = is_before ? columns : 0, .firsts = is_before ? 0 : columns,
						.filter = scan->wanted.filter };
	for (unsigned v = 0; v < fields->n_values; v++)
		if (columns >> v & 1)
			rows[v] = (struct iforest_row){ .is_set = false };
	for (uint32_t s = 0; s < n && !status; s++) {
		status = iforest_scan_start(scan, series[s]->id);
		if (!status)
			status = iforest_scan_next(scan, &bucket, &aggregate, &found);
		for (unsigned v = 0; v < fields->n_values && !status; v++)
			if (is_before)
				iforest_row_last(&rows[v], &aggregate.values[v].last);
			else
				iforest_row_first(&rows[v], &aggregate.values[v].first);
	}
	return status;
}

/* The line from (a.time, a) to (b.time, b) at a time between: of integers exact but for the last steps. */
static double line(const struct iforest_row *a, const struct iforest_row *b, int64_t time, unsigned kind)
{
	uint64_t width = (uint64_t)b->time - (uint64_t)a->time, part = (uint64_t)time - (uint64_t)a->time;
	iforest_uint128 product;
	iforest_int128 whole;
	uint64_t rise;
	bool falls;

	if (kind == IFOREST_FLOAT64)
		return a->value.real * ((double)(width - part) / (double)width) +
		       b->value.real * ((double)part / (double)width);
	falls = b->value.integer < a->value.integer;
	rise = falls ? (uint64_t)a->value.integer - (uint64_t)b->value.integer :
		       (uint64_t)b->value.integer - (uint64_t)a->value.integer;
	product = (iforest_uint128)rise * part;
	whole = (iforest_int128)(product / width);
	rise = (uint64_t)(product % width);
	return falls ? (double)(a->value.integer - whole) - (double)rise / (double)width
		     : (double)(a->value.integer + whole) + (double)rise / (double)width;
}

enum iforest_status iforest_carry_bucket(struct iforest_carry *carry, const struct iforest_series *const *series, uint32_t n,
					 const struct iforest_bucketing *bucketing, int64_t bucket,
					 const struct iforest_aggregate *aggregate)
{
	const struct iforest_fields *fields = &carry->scan.manifest->fields;
	const struct iforest_window *window = &bucketing->window;
	int64_t start = iforest_bucket_start(bucketing, bucket);
	enum iforest_status status = IFOREST_OK;
	uint32_t empty = 0;

	if (window->has_t0 && start < window->t0)
		start = window->t0;
	for (unsigned v = 0; v < fields->n_values; v++)
		empty |= (uint32_t)(aggregate->values[v].n == 0) << v;
	carry->filled = carry->wanted & empty;
	carry->knows_before &= empty;
	carry->knows_after &= empty;
	if (!window->has_t0) /* nothing is before */
		carry->filled = 0;
	if (carry->filled & ~carry->knows_before)
		status = look(carry, series, n, start, true, carry->filled & ~carry->knows_before, carry->before);
	if (!status && carry->fill == IFOREST_FILL_LINEAR && carry->filled & ~carry->knows_after)
		status = look(carry, series, n, start, false, carry->filled & ~carry->knows_after, carry->after);
	if (status)
		return status;
	carry->knows_before |= carry->filled;
	carry->knows_after |= carry->filled;
	for (unsigned v = 0; v < fields->n_values; v++) {
		if (!(carry->filled >> v & 1))
			continue;
		if (!carry->before[v].is_set || (carry->fill == IFOREST_FILL_LINEAR && !carry->after[v].is_set))
			carry->filled &= ~(1u << v);
		else if (carry->fill == IFOREST_FILL_LINEAR)
			carry->lines[v] = line(&carry->before[v], &carry->after[v], start, fields->kinds[v]);
	}
	return IFOREST_OK;
}
