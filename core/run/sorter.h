/* run/sorter.h -- External merge sort: entries in any order to a run writer in key order.
 *
 * As many as a given amount of memory has room for are sorted there (key.h). Where there are more, each such batch waits
 * as a run of another store, and in the end all of these are merged: an external merge sort (Knuth, The Art of Computer
 * Programming, volume 3, 5.4), whose runs are packed as those of an index are.
 *
 *   iforest_run_sorter_start(&sort, &waiting, &manifest, most_bytes);
 *   while (...) iforest_run_sorter_add(&sort, &entry);
 *   iforest_run_sorter_finish(&sort, &builder);
 *   iforest_run_sorter_release(&sort);
 */
#ifndef IFOREST_RUN_SORTER_H
#define IFOREST_RUN_SORTER_H

#include "core/model/key.h"
#include "core/run/writer.h"

struct iforest_run_sorter {
	struct iforest_store *waiting;		 /* where batches wait */
	const struct iforest_manifest *manifest; /* whose fields the entries have; its runs are not looked at */
	uint32_t n_entries, n_reserved, most_entries;
	struct iforest_arrival *arrivals, *room;
	union iforest_number *values; /* n_values an entry */
	uint32_t *present;	      /* of each entry */
	struct iforest_run *runs;     /* batches, in the order they came */
	uint32_t n_runs, n_runs_reserved;
};

/* Begins with nothing. waiting and manifest must outlive the sort. Batches take most_bytes of memory, or what a few entries
 * need; more once so many of them wait that merging them (compact.h) takes as much: then memory grows with the square root of
 * the number of entries. */
void iforest_run_sorter_start(struct iforest_run_sorter *sort, struct iforest_store *waiting,
			      const struct iforest_manifest *manifest, size_t most_bytes);

/* Takes an entry, of a series below 2^32.
 * Errors  IFOREST_NO_MEMORY, IFOREST_UNORDERED (two of a batch have the same key), what the pager returned: then only
 *         release is left. */
enum iforest_status iforest_run_sorter_add(struct iforest_run_sorter *sort, const struct iforest_entry *entry);

/* Adds all entries to the builder, which has none that are greater.
 * Cost    one pass over the entries where a batch holds them all, else each is packed and unpacked once more.
 * Errors  as of iforest_run_sorter_add() and iforest_compact_into(); then the builder is to be abandoned. */
enum iforest_status iforest_run_sorter_finish(struct iforest_run_sorter *sort, struct iforest_run_writer *builder);

/* Gives back the memory, and the batches that wait. */
void iforest_run_sorter_release(struct iforest_run_sorter *sort);

#endif
