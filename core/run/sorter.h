/* run/sorter.h -- External merge sort: takes entries in any order, and adds them to a run writer in key order.
 *
 * Entries are sorted in batches of a given amount of memory (batch.h). If one batch is not enough, each is written as a run of
 * another store, and all are merged at the end (Knuth, The Art of Computer Programming, volume 3, 5.4). Batches are packed like
 * the runs of an index.
 *
 *   iforest_run_sorter_start(&sort, &waiting, &manifest, most_bytes);
 *   while (...) iforest_run_sorter_add(&sort, &entry);
 *   iforest_run_sorter_finish(&sort, &writer);
 *   iforest_run_sorter_release(&sort);
 */
#ifndef IFOREST_RUN_SORTER_H
#define IFOREST_RUN_SORTER_H

#include "core/run/batch.h"

struct iforest_run_sorter {
	struct iforest_store *waiting;		 /* store of the batches */
	const struct iforest_manifest *manifest; /* gives the fields of the entries; its runs are not used */
	struct iforest_batch batch;		 /* of at most most_entries */
	uint32_t most_entries;
	struct iforest_run *runs; /* batches written, in order of arrival */
	size_t n_runs, n_reserved;
};

/* Starts a sort. waiting and manifest must outlive it. A batch takes most_bytes of memory, or as much as a few entries need. It
 * grows once there are so many batches that merging them (compact.h) takes as much memory; from then on memory grows with the
 * square root of the number of entries. */
void iforest_run_sorter_start(struct iforest_run_sorter *sort, struct iforest_store *waiting,
			      const struct iforest_manifest *manifest, size_t most_bytes);

/* Adds an entry, of a series below 2^32.
 * Errors  IFOREST_NO_MEMORY, IFOREST_UNORDERED (two entries of a batch have the same key), what the pager returned; then only
 *         release is allowed. */
enum iforest_status iforest_run_sorter_add(struct iforest_run_sorter *sort, const struct iforest_entry *entry);

/* Writes the entries in memory as another batch: all entries are then in sort->runs, in the other store.
 * Errors  as iforest_run_sorter_add(). */
enum iforest_status iforest_run_sorter_put_off(struct iforest_run_sorter *sort);

/* Adds all entries to the writer, whose entries so far must have smaller keys.
 * Cost    one pass over the entries if there is one batch, else each is packed and unpacked once more.
 * Errors  as iforest_run_sorter_add() and iforest_compact_into(); then abandon the writer. */
enum iforest_status iforest_run_sorter_finish(struct iforest_run_sorter *sort, struct iforest_run_writer *writer);

/* Frees the memory and the batches. */
void iforest_run_sorter_release(struct iforest_run_sorter *sort);

#endif
