#include "core/run/sorter.h"

#include "core/base/array.h"
#include "core/run/compact.h"

/* CURSOR_BYTES: memory that a merge takes for each run */
enum { FEWEST_ENTRIES = 64, FIRST_RESERVED = 1024, CURSOR_BYTES = 24 << 10 };

#define MOST_ENTRIES (UINT32_MAX / 2)

static size_t entry_bytes(const struct iforest_manifest *manifest)
{
	return 2 * sizeof(struct iforest_arrival) + (manifest->fields.n_values + 1) * sizeof(union iforest_number);
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
	iforest_batch_init(&sort->batch, waiting->alloc, manifest->fields.n_values);
}

/* Merging must not take more memory than sorting, so batches grow when there are many. */
static void enlarge_batches(struct iforest_run_sorter *sort)
{
	uint64_t batch_bytes = (uint64_t)sort->most_entries * entry_bytes(sort->manifest);

	if ((uint64_t)sort->n_runs * CURSOR_BYTES > batch_bytes && sort->most_entries <= MOST_ENTRIES / 2)
		sort->most_entries *= 2;
}

/* Writes the batch as a run of the other store. */
static enum iforest_status put_batch_off(struct iforest_run_sorter *sort)
{
	enum iforest_status status;

	if (!iforest_array_reserve(sort->waiting->alloc, &sort->runs, sizeof *sort->runs, sort->n_runs + 1, &sort->n_reserved))
		return IFOREST_NO_MEMORY;
	status = iforest_batch_write_run(&sort->batch, sort->waiting, sort->manifest, &sort->runs[sort->n_runs]);
	iforest_batch_clear(&sort->batch);
	if (status)
		return status;
	sort->n_runs++;
	enlarge_batches(sort);
	return IFOREST_OK;
}

/* Doubles the batch's capacity, up to most_entries. */
static enum iforest_status reserve(struct iforest_run_sorter *sort)
{
	uint64_t n = sort->batch.n_reserved ? 2 * (uint64_t)sort->batch.n_reserved : FIRST_RESERVED;

	return iforest_batch_reserve(&sort->batch, n < sort->most_entries ? n : sort->most_entries);
}

enum iforest_status iforest_run_sorter_add(struct iforest_run_sorter *sort, const struct iforest_entry *entry)
{
	enum iforest_status status = IFOREST_OK;

	if (sort->batch.n == sort->most_entries)
		status = put_batch_off(sort);
	if (!status && sort->batch.n == sort->batch.n_reserved)
		status = reserve(sort);
	return status ? status : iforest_batch_add(&sort->batch, entry);
}

enum iforest_status iforest_run_sorter_put_off(struct iforest_run_sorter *sort)
{
	enum iforest_status status = sort->batch.n > 0 ? put_batch_off(sort) : IFOREST_OK;

	iforest_batch_release(&sort->batch);
	return status;
}

enum iforest_status iforest_run_sorter_finish(struct iforest_run_sorter *sort, struct iforest_run_writer *writer)
{
	enum iforest_status status;

	if (sort->n_runs == 0)
		return iforest_batch_write(&sort->batch, writer);
	status = iforest_run_sorter_put_off(sort);
	return status ? status
		      : iforest_compact_into(sort->waiting, sort->manifest, sort->runs, (uint32_t)sort->n_runs, writer);
}

void iforest_run_sorter_release(struct iforest_run_sorter *sort)
{
	const struct iforest_pager *pager;

	if (!sort->waiting)
		return;
	pager = sort->waiting->pager;
	for (size_t r = 0; r < sort->n_runs; r++)
		(void)pager->drop_run(pager->context, &sort->runs[r].place, iforest_run_pages(sort->manifest, &sort->runs[r]));
	iforest_batch_release(&sort->batch);
	iforest_release(sort->waiting->alloc, sort->runs);
	*sort = (struct iforest_run_sorter){ .waiting = NULL };
}
