#include "core/run/batch.h"

#include <string.h>

#define MOST_ENTRIES (UINT32_MAX / 2)

enum { FIRST_RESERVED = 64 };

void iforest_batch_init(struct iforest_batch *batch, const struct iforest_alloc *alloc, unsigned n_values)
{
	*batch = (struct iforest_batch){ .alloc = alloc, .n_values = n_values, .is_sorted = true };
}

void iforest_batch_release(struct iforest_batch *batch)
{
	if (!batch->alloc)
		return;
	iforest_release(batch->alloc, batch->arrivals);
	iforest_batch_init(batch, batch->alloc, batch->n_values);
}

void iforest_batch_clear(struct iforest_batch *batch)
{
	batch->n = batch->n_added = 0;
	batch->is_sorted = true;
}

enum iforest_status iforest_batch_reserve(struct iforest_batch *batch, uint64_t n)
{
	size_t n_numbers = batch->n_values + 1;
	size_t item_bytes = 2 * sizeof *batch->arrivals + n_numbers * sizeof *batch->values;
	struct iforest_arrival *block;

	if (n <= batch->n_reserved)
		return IFOREST_OK;
	if (n > MOST_ENTRIES)
		return IFOREST_TOO_LARGE;
	block = batch->alloc->reallocate(batch->alloc->context, batch->arrivals, (size_t)n * item_bytes);
	if (!block)
		return IFOREST_NO_MEMORY;
	batch->arrivals = block;
	batch->values = (union iforest_number *)(block + n);
	memmove(batch->values, block + batch->n_reserved, batch->n_added * n_numbers * sizeof *batch->values);
	batch->room = (struct iforest_arrival *)(batch->values + n * n_numbers);
	batch->n_reserved = (uint32_t)n;
	return IFOREST_OK;
}

enum iforest_status iforest_batch_add(struct iforest_batch *batch, const struct iforest_entry *entry)
{
	uint32_t at = batch->n_added;
	union iforest_number *values;

	if (at == batch->n_reserved) {
		enum iforest_status status = iforest_batch_reserve(batch, at ? 2 * (uint64_t)at : FIRST_RESERVED);

		if (status)
			return status;
	}
	batch->is_sorted = batch->is_sorted &&
			   (batch->n == 0 || iforest_key_compare(iforest_batch_key(batch, batch->n - 1), &entry->key) <= 0);
	batch->arrivals[batch->n++] = (struct iforest_arrival){ .key = entry->key, .entry = at };
	values = batch->values + (size_t)at * (batch->n_values + 1);
	values++->integer = entry->present;
	for (unsigned v = 0; v < batch->n_values; v++)
		values[v] = entry->values[v];
	batch->n_added++;
	return IFOREST_OK;
}

void iforest_batch_keep(struct iforest_batch *batch, bool (*is_kept)(void *context, const struct iforest_entry *entry),
			void *context)
{
	struct iforest_entry entry;
	uint32_t n = 0;

	for (uint32_t i = 0; i < batch->n; i++) {
		iforest_batch_entry(batch, i, &entry);
		if (is_kept(context, &entry))
			batch->arrivals[n++] = batch->arrivals[i];
	}
	batch->n = n;
}

enum iforest_status iforest_batch_sort(struct iforest_batch *batch, const struct iforest_interrupt *interrupt)
{
	enum iforest_status status = IFOREST_OK;

	if (!batch->is_sorted)
		status = iforest_key_sort(batch->arrivals, batch->room, batch->n, interrupt);
	batch->is_sorted = batch->is_sorted || !status;
	return status;
}

/* ---- Reading ---- */

void iforest_batch_entry(const struct iforest_batch *batch, uint32_t i, struct iforest_entry *entry)
{
	const union iforest_number *values = iforest_batch_values(batch, i, &entry->present);

	entry->key = *iforest_batch_key(batch, i);
	for (unsigned v = 0; v < batch->n_values; v++)
		entry->values[v] = values[v];
}

static bool is_before(const struct iforest_batch *batch, uint32_t i, const struct iforest_key *key)
{
	return iforest_key_compare(iforest_batch_key(batch, i), key) < 0;
}

uint32_t iforest_batch_find(const struct iforest_batch *batch, uint32_t from, const struct iforest_key *key)
{
	uint32_t low = from, high, step = 1;

	for (; low < batch->n && step < batch->n - low && is_before(batch, low + step - 1, key); step *= 2)
		low += step;
	high = step < batch->n - low ? low + step - 1 : batch->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (is_before(batch, middle, key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void fold_value(const struct iforest_extreme *row, unsigned v, enum iforest_value_type type,
		       const struct iforest_request *request, struct iforest_value_aggregate *into)
{
	if (request->values >> v & 1) {
		iforest_value_add(into, row->value, type);
		if (!(request->no_mins >> v & 1))
			iforest_extreme_min(&into->min, row, type);
		if (!(request->no_maxs >> v & 1))
			iforest_extreme_max(&into->max, row, type);
	}
	if (request->firsts >> v & 1)
		iforest_extreme_first(&into->first, row);
	if (request->lasts >> v & 1)
		iforest_extreme_last(&into->last, row);
}

/* Returns the number in a column that accumulators read. *has becomes false if it is NULL. */
static int64_t number_of(const struct iforest_batch *batch, uint32_t i, unsigned column, bool *has)
{
	const struct iforest_key *key = iforest_batch_key(batch, i);
	uint32_t present;
	const union iforest_number *values = iforest_batch_values(batch, i, &present);

	if (column == IFOREST_TIME_COLUMN) {
		*has = *has && !key->time_is_null;
		return key->time;
	}
	*has = *has && present >> column & 1;
	return values[column].integer;
}

static void fold_accumulators(const struct iforest_batch *batch, uint32_t i, const struct iforest_accumulators *all,
			      uint32_t requested, struct iforest_aggregate *aggregate)
{
	for (unsigned a = 0; a < all->n; a++) {
		bool has = requested >> a & 1, has_second = all->list[a].second != IFOREST_NO_VALUE;
		int64_t number = number_of(batch, i, all->list[a].value, &has);
		int64_t other = has_second ? number_of(batch, i, all->list[a].second, &has) : 0;
		struct iforest_lift entries = { .numbers = &number, .others = &other, .which = 1 };

		if (has)
			iforest_accumulator_lift(all, a, &entries, aggregate->words + all->list[a].word);
	}
}

static void fold_node_fields(const struct iforest_batch *batch, uint32_t i, const struct iforest_node_schema *fields,
			     struct iforest_aggregate *aggregate)
{
	const struct iforest_key *key = iforest_batch_key(batch, i);
	uint32_t present, block = (uint32_t)(key->ref >> 16);
	const union iforest_number *values = iforest_batch_values(batch, i, &present);

	if (fields->latest_end_offset && !key->time_is_null) {
		unsigned v = fields->duration_value;
		int64_t end = iforest_span_end(key->time, values[v].integer, present >> v & 1,
					       (enum iforest_end_rule)fields->end_rule);

		aggregate->latest_end = end > aggregate->latest_end ? end : aggregate->latest_end;
	}
	if (fields->has_blocks) {
		aggregate->lowest_block = block < aggregate->lowest_block ? block : aggregate->lowest_block;
		aggregate->highest_block = block > aggregate->highest_block ? block : aggregate->highest_block;
	}
}

void iforest_batch_fold(const struct iforest_batch *batch, uint32_t from, uint32_t to, const struct iforest_node_schema *fields,
			const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	uint32_t wanted = request->values | request->firsts | request->lasts;

	aggregate->n_rows += to > from ? to - from : 0;
	for (uint32_t i = from; i < to; i++) {
		const struct iforest_key *key = iforest_batch_key(batch, i);
		uint32_t present;
		const union iforest_number *values = iforest_batch_values(batch, i, &present);

		if (request->times && !key->time_is_null)
			iforest_aggregate_add_time(aggregate, key->time);
		for (unsigned v = 0; v < batch->n_values; v++) {
			struct iforest_extreme row = {
				.time = key->time, .ref = key->ref, .time_is_null = key->time_is_null, .is_set = true
			};

			if (!((present & wanted) >> v & 1))
				continue;
			row.value = values[v];
			fold_value(&row, v, (enum iforest_value_type)fields->value_types[v], request, &aggregate->values[v]);
		}
		if (request->accumulators)
			fold_accumulators(batch, i, &fields->accumulators, request->accumulators, aggregate);
		if (request->node_fields)
			fold_node_fields(batch, i, fields, aggregate);
	}
}

/* ---- Writing ---- */

enum iforest_status iforest_batch_write(struct iforest_batch *batch, struct iforest_run_writer *writer)
{
	enum iforest_status status = iforest_batch_sort(batch, &writer->store->pager->interrupt);
	struct iforest_entry entry;

	for (uint32_t i = 0; i < batch->n && !status; i++) {
		iforest_batch_entry(batch, i, &entry);
		status = iforest_run_writer_add(writer, &entry);
	}
	return status;
}

enum iforest_status iforest_batch_write_run(struct iforest_batch *batch, struct iforest_store *store,
					    const struct iforest_manifest *manifest, struct iforest_run *run)
{
	struct iforest_run_writer *writer = iforest_allocate(store->alloc, sizeof *writer);
	enum iforest_status status = writer ? iforest_run_writer_start(writer, store, manifest) : IFOREST_NO_MEMORY;

	if (!status) {
		status = iforest_batch_write(batch, writer);
		if (status)
			iforest_run_writer_abandon(writer);
		else
			status = iforest_run_writer_finish(writer, run);
	}
	iforest_release(store->alloc, writer);
	return status;
}
