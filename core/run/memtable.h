/* run/memtable.h -- Memtable: entries not yet in a run of the index, kept as a batch and as runs in memory.
 *
 *                        iforest_memtable_add()
 *                                  |
 *                                  v
 *   [ batch ]   entries as they arrived; once sorted, a scan folds them directly
 *       | iforest_memtable_build()
 *       v
 *   [ runs in memory ]   in `store`, listed in `manifest`; read by joining them to a reader
 *       | iforest_memtable_flush()
 *       v
 *   a new run of the index
 *
 * A memtable built for one question can stay a batch if the question reads each entry once. Runs are for readers that need
 * nodes, and for a memtable that is kept: each run is larger than all runs after it together, so there are at most log n.
 */
#ifndef IFOREST_RUN_MEMTABLE_H
#define IFOREST_RUN_MEMTABLE_H

#include "core/run/batch.h"
#include "core/run/pager_memory.h"

struct iforest_memtable {
	struct iforest_pager_memory memory;
	const struct iforest_pager *pager; /* of the index; generates the ids of runs */
	struct iforest_store store;
	struct iforest_manifest manifest; /* of the runs in memory */
	struct iforest_batch batch;
};

/* Starts an empty memtable for an index with this store and these fields. It must stay in place, and the store's pager and
 * allocator must outlive it. Release it also after an error.
 * Cost    no memory is taken.
 * Errors  as iforest_manifest_init(). */
enum iforest_status iforest_memtable_init(struct iforest_memtable *memtable, const struct iforest_store *store,
					  const struct iforest_node_schema *fields);
void iforest_memtable_release(struct iforest_memtable *memtable);

/* Makes a run of the batch, and merges the last two runs until each has over twice the rows of the next.
 * Cost    writes the batch; over many calls, each entry is packed log2(n) times.
 * Errors  IFOREST_UNORDERED: two entries have the same key. IFOREST_NO_MEMORY. The batch is then lost. */
enum iforest_status iforest_memtable_build(struct iforest_memtable *memtable);

/* Removes the entries with these keys from the runs in memory.
 * Requires  keys ascending, none twice; an empty batch.
 * Errors    IFOREST_NOT_FOUND: no run has one of the keys; others may have been removed. Also as iforest_runs_remove(). */
enum iforest_status iforest_memtable_remove(struct iforest_memtable *memtable, const struct iforest_key *keys, uint64_t n_keys);

/* Writes everything as one new run of the index's store, which is not published; run->n_leaves is 0 if there is no entry.
 * store and manifest are the index's, with the same page size as at iforest_memtable_init().
 * Cost    a batch is packed once. A run in memory is copied page by page; several are merged first.
 * Errors  as iforest_batch_write_run() and iforest_compact(); nothing of the run is left then. */
enum iforest_status iforest_memtable_flush(struct iforest_memtable *memtable, struct iforest_store *store,
					   const struct iforest_manifest *manifest, struct iforest_run *run);

#endif
