#include "core/run/sorter.h"

#include <string.h>

#include "core/run/compact.h"

/* CURSOR_BYTES: memory that a merge takes for each run */
enum { FEWEST_ENTRIES = 64, FIRST_RESERVED = 1024, CURSOR_BYTES = 24 << 10 };

#define MOST_ENTRIES (UINT32_MAX / 2)

static size_t entry_bytes(const struct iforest_manifest *manifest)
{
	return 2 * sizeof(struct iforest_arrival) + sizeof(uint32_t) + manifest->fields.n_values * sizeof(union iforest_number);
}

void iforest_run_sorter_start(struct iforest_run_sorter *sort, struct iforest_store *waiting,
			      const struct iforest_manifest *manifest, size_t most_bytes)
{
	size_t most_entries = most_bytes / entry_bytes(manifest);

	if (most_entries > MOST_ENTRIES)
		most_entries = MOST_ENTRIES;
	*sort = (struct iforest_run_sorter){ .waiting = waiting,
					     .manifest = manifest,
					     .most_entries =
						     most_entries < FEWEST_ENTRIES ? FEWEST_ENTRIES : (uint32_t)most_entries };
}

/* ---- A batch ---- */

static void release_batch(struct iforest_run_sorter *sort)
{
	const struct iforest_alloc *alloc = sort->waiting->alloc;

	iforest_release(alloc, sort->arrivals);
	iforest_release(alloc, sort->room);
	iforest_release(alloc, sort->values);
	iforest_release(alloc, sort->present);
	sort->arrivals = sort->room = NULL;
	sort->values = NULL;
	sort->present = NULL;
	sort->n_entries = sort->n_reserved = 0;
}

static void *resize(const struct iforest_alloc *alloc, void *items, size_t n_bytes)
{
	return alloc->reallocate(alloc->context, items, n_bytes);
}

static enum iforest_status reserve(struct iforest_run_sorter *sort)
{
	const struct iforest_alloc *alloc = sort->waiting->alloc;
	size_t n = sort->n_reserved ? 2 * (size_t)sort->n_reserved : FIRST_RESERVED;
	struct iforest_arrival *arrivals;
	union iforest_number *values;
	uint32_t *present;

	n = n < sort->most_entries ? n : sort->most_entries;
	/* its content need not be kept */
	iforest_release(alloc, sort->room);
	sort->room = iforest_allocate(alloc, n * sizeof *sort->room);
	arrivals = resize(alloc, sort->arrivals, n * sizeof *arrivals);
	sort->arrivals = arrivals ? arrivals : sort->arrivals;
	values = resize(alloc, sort->values, (n * sort->manifest->fields.n_values + 1) * sizeof *values);
	sort->values = values ? values : sort->values;
	present = resize(alloc, sort->present, n * sizeof *present);
	sort->present = present ? present : sort->present;
	if (!sort->room || !arrivals || !values || !present)
		return IFOREST_NO_MEMORY;
	sort->n_reserved = (uint32_t)n;
	return IFOREST_OK;
}

/* Adds the batch to a writer, in order. */
static enum iforest_status add_batch(struct iforest_run_sorter *sort, struct iforest_run_writer *writer)
{
	unsigned n_values = sort->manifest->fields.n_values;
	enum iforest_status status = IFOREST_OK;
	struct iforest_entry entry;

	iforest_key_sort(sort->arrivals, sort->room, sort->n_entries);
	for (uint32_t i = 0; i < sort->n_entries && !status; i++) {
		uint32_t at = sort->arrivals[i].entry;

		entry.key = sort->arrivals[i].key;
		entry.present = sort->present[at];
		for (unsigned v = 0; v < n_values; v++)
			entry.values[v] = sort->values[(size_t)at * n_values + v];
		status = iforest_run_writer_add(writer, &entry);
	}
	sort->n_entries = 0;
	return status;
}

/* ---- Batches that wait ---- */

static enum iforest_status build_batch(struct iforest_run_sorter *sort, struct iforest_run_writer *writer,
				       struct iforest_run *run)
{
	enum iforest_status status = iforest_run_writer_start(writer, sort->waiting, sort->manifest);

	if (status)
		return status;
	status = add_batch(sort, writer);
	if (status)
		iforest_run_writer_abandon(writer);
	else
		status = iforest_run_writer_finish(writer, run);
	return status;
}

/* Merging must take no more memory than sorting, so batches grow when there are many. */
static void enlarge_batches(struct iforest_run_sorter *sort)
{
	uint64_t batch_bytes = (uint64_t)sort->most_entries * entry_bytes(sort->manifest);

	if ((uint64_t)sort->n_runs * CURSOR_BYTES > batch_bytes && sort->most_entries <= MOST_ENTRIES / 2)
		sort->most_entries *= 2;
}

/* Writes the batch as a run of the other store. */
static enum iforest_status put_batch_off(struct iforest_run_sorter *sort)
{
	const struct iforest_alloc *alloc = sort->waiting->alloc;
	struct iforest_run_writer *writer;
	enum iforest_status status;

	if (sort->n_runs == sort->n_runs_reserved) {
		uint32_t n = sort->n_runs_reserved ? 2 * sort->n_runs_reserved : 16;
		struct iforest_run *runs = resize(alloc, sort->runs, n * sizeof *runs);

		if (!runs)
			return IFOREST_NO_MEMORY;
		sort->runs = runs;
		sort->n_runs_reserved = n;
	}
	writer = iforest_allocate(alloc, sizeof *writer);
	if (!writer)
		return IFOREST_NO_MEMORY;
	status = build_batch(sort, writer, &sort->runs[sort->n_runs]);
	iforest_release(alloc, writer);
	if (status)
		return status;
	sort->n_runs++;
	enlarge_batches(sort);
	return IFOREST_OK;
}

/* ---- The whole ---- */

enum iforest_status iforest_run_sorter_add(struct iforest_run_sorter *sort, const struct iforest_entry *entry)
{
	unsigned n_values = sort->manifest->fields.n_values;
	uint32_t at;
	enum iforest_status status = IFOREST_OK;

	if (sort->n_entries == sort->most_entries)
		status = put_batch_off(sort);
	if (!status && sort->n_entries == sort->n_reserved)
		status = reserve(sort);
	if (status)
		return status;
	at = sort->n_entries++;
	sort->arrivals[at] = (struct iforest_arrival){ .key = entry->key, .entry = at };
	sort->present[at] = entry->present;
	for (unsigned v = 0; v < n_values; v++)
		sort->values[(size_t)at * n_values + v] = entry->values[v];
	return IFOREST_OK;
}

enum iforest_status iforest_run_sorter_finish(struct iforest_run_sorter *sort, struct iforest_run_writer *writer)
{
	enum iforest_status status;

	if (sort->n_runs == 0)
		return add_batch(sort, writer);
	status = sort->n_entries > 0 ? put_batch_off(sort) : IFOREST_OK;
	release_batch(sort);
	return status ? status : iforest_compact_into(sort->waiting, sort->manifest, sort->runs, sort->n_runs, writer);
}

void iforest_run_sorter_release(struct iforest_run_sorter *sort)
{
	const struct iforest_pager *pager;

	if (!sort->waiting)
		return;
	pager = sort->waiting->pager;
	for (uint32_t r = 0; r < sort->n_runs; r++)
		(void)pager->drop_run(pager->context, &sort->runs[r].place, iforest_run_pages(sort->manifest, &sort->runs[r]));
	release_batch(sort);
	iforest_release(sort->waiting->alloc, sort->runs);
	*sort = (struct iforest_run_sorter){ .waiting = NULL };
}
