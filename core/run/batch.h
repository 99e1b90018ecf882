/* run/batch.h -- Batch: entries in memory, added in any order and read in key order, without pages.
 *
 *   arrivals  | key, 2 | key, 0 | key, 1 |       sorted: these are moved
 *   values    | of 0   | of 1   | of 2   |       in the order of arrival: these stay
 *
 *   room      |        |        |        |       to sort arrivals
 *
 * The cheapest form for entries that are read once or twice: nothing is packed and no node is computed. Memory: 88 bytes per
 * entry, 40 of which are touched only if entries come out of order, and 8 per value column. It is one allocation: with several,
 * the C library would return memory to the system whenever a batch is released.
 */
#ifndef IFOREST_RUN_BATCH_H
#define IFOREST_RUN_BATCH_H

#include "core/page/leaf_fold.h"
#include "core/run/writer.h"

struct iforest_batch {
	const struct iforest_alloc *alloc;
	unsigned n_values;
	uint32_t n;			  /* entries */
	uint32_t n_added, n_reserved;	  /* entries and dropped ones; room for them */
	bool is_sorted;			  /* arrivals ascend */
	struct iforest_arrival *arrivals; /* start of the allocation, which also has the other two */
	union iforest_number *values;	  /* for each entry added: bits of present values, then n_values numbers */
	struct iforest_arrival *room;	  /* scratch space of the sort */
};

/* Starts an empty batch; allocates nothing. */
void iforest_batch_init(struct iforest_batch *batch, const struct iforest_alloc *alloc, unsigned n_values);
void iforest_batch_release(struct iforest_batch *batch);

/* Drops all entries, and keeps the memory. */
void iforest_batch_clear(struct iforest_batch *batch);

/* Allocates room for exactly n entries in total.
 * Errors  IFOREST_NO_MEMORY; IFOREST_TOO_LARGE: more than 2^31. */
enum iforest_status iforest_batch_reserve(struct iforest_batch *batch, uint64_t n);

/* Adds an entry, of a series below 2^32. Room doubles as needed.
 * Errors  as iforest_batch_reserve(); nothing is added. */
enum iforest_status iforest_batch_add(struct iforest_batch *batch, const struct iforest_entry *entry);

/* Drops the entries for which is_kept() returns false. It is called once for each entry, in the current order. */
void iforest_batch_keep(struct iforest_batch *batch, bool (*is_kept)(void *context, const struct iforest_entry *entry),
			void *context);

/* Sorts by key; stable. `interrupt` may be NULL.
 * Cost    that of iforest_key_sort(); if entries came in order, one comparison per entry when it was added.
 * Errors  those of the interrupt; then only clear and release are allowed. */
enum iforest_status iforest_batch_sort(struct iforest_batch *batch, const struct iforest_interrupt *interrupt);

/* ---- Reading; entries are numbered in the current order ---- */

static inline const struct iforest_key *iforest_batch_key(const struct iforest_batch *batch, uint32_t i)
{
	return &batch->arrivals[i].key;
}

/* Returns the n_values values of an entry; bit v of *present is set if it has value v. */
static inline const union iforest_number *iforest_batch_values(const struct iforest_batch *batch, uint32_t i, uint32_t *present)
{
	const union iforest_number *values = batch->values + (size_t)batch->arrivals[i].entry * (batch->n_values + 1);

	*present = (uint32_t)values->integer;
	return values + 1;
}

void iforest_batch_entry(const struct iforest_batch *batch, uint32_t i, struct iforest_entry *entry);

/* Returns the first entry at or after the key, but not before number `from`; batch->n if there is none.
 * Requires  the batch is sorted.
 * Cost      log2 of the distance from `from`. */
uint32_t iforest_batch_find(const struct iforest_batch *batch, uint32_t from, const struct iforest_key *key);

/* aggregate = aggregate + entries [from, to). The request's filter is not applied. */
void iforest_batch_fold(const struct iforest_batch *batch, uint32_t from, uint32_t to, const struct iforest_node_schema *fields,
			const struct iforest_request *request, struct iforest_aggregate *aggregate);

/* ---- Writing ---- */

/* Sorts the batch and adds its entries to a run writer. Errors: as iforest_run_writer_add(). */
enum iforest_status iforest_batch_write(struct iforest_batch *batch, struct iforest_run_writer *writer);

/* Sorts the batch and writes it as a new run, which is not published; run->n_leaves is 0 if the batch is empty.
 * Errors  IFOREST_UNORDERED: two entries have the same key. Else as iforest_run_writer_start() and iforest_batch_write(). On
 *         error nothing of the run is left. */
enum iforest_status iforest_batch_write_run(struct iforest_batch *batch, struct iforest_store *store,
					    const struct iforest_manifest *manifest, struct iforest_run *run);

#endif
