/* run/sorter.h -- External merge sort: entries in any order to a run writer in key order.
 *
 * As many entries as a given amount of memory has room for are sorted there (batch.h). If there are more, each such batch becomes
 * a run of another store, and at the end all batches are merged (Knuth, The Art of Computer Programming, volume 3, 5.4).
 * Batches are packed like the runs of an index.
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
	struct iforest_run *runs; /* batches that wait, in the order they came */
	size_t n_runs, n_reserved;
};

/* Starts a sort. waiting and manifest must outlive it. A batch takes most_bytes of memory, at least those of a few entries. It
 * takes more once there are so many batches that merging them (compact.h) takes as much; from then on memory grows with the
 * square root of the number of entries. */
void iforest_run_sorter_start(struct iforest_run_sorter *sort, struct iforest_store *waiting,
			      const struct iforest_manifest *manifest, size_t most_bytes);

/* Takes an entry, of a series below 2^32.
 * Errors  IFOREST_NO_MEMORY, IFOREST_UNORDERED (two of a batch have the same key), what the pager returned; only release is
 *         allowed then. */
enum iforest_status iforest_run_sorter_add(struct iforest_run_sorter *sort, const struct iforest_entry *entry);

/* Makes the entries that are in memory another batch that waits: all of them are in sort->runs then, in the other store.
 * Errors  as iforest_run_sorter_add(). */
enum iforest_status iforest_run_sorter_put_off(struct iforest_run_sorter *sort);

/* Adds all entries to the writer, which must not have greater ones.
 * Cost    one pass over the entries if one batch has them all, else each is packed and unpacked once more.
 * Errors  as iforest_run_sorter_add() and iforest_compact_into(); abandon the writer then. */
enum iforest_status iforest_run_sorter_finish(struct iforest_run_sorter *sort, struct iforest_run_writer *writer);

/* Frees the memory and the batches. */
void iforest_run_sorter_release(struct iforest_run_sorter *sort);

#endif
