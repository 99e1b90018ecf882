/* run/memtable.h -- Memtable: the entries that are in no run of an index yet, as a batch and as runs in memory.
 *
 *                        iforest_memtable_add()
 *                                  |
 *                                  v
 *   [ batch ]   entries as they came; sorted, a scan folds them as they are
 *       | iforest_memtable_build()
 *       v
 *   [ runs in memory ]   in `store`, named by `manifest`: read as any others, by joining them to a reader
 *       | iforest_memtable_flush()
 *       v
 *   a new run of the index
 *
 * A memtable that lives for one question stays a batch, if the question takes each entry once. Runs are for readers that need
 * nodes, and for a memtable that is kept: each run is larger than all that come after it, so there are at most log n.
 */
#ifndef IFOREST_RUN_MEMTABLE_H
#define IFOREST_RUN_MEMTABLE_H

#include "core/run/batch.h"
#include "core/run/pager_memory.h"

struct iforest_memtable {
	struct iforest_pager_memory memory;
	const struct iforest_pager *pager; /* of the index; draws the ids of runs */
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

/* Makes a run of the batch, and merges the last two runs until each is larger than all that come after it.
 * Cost    that of writing the batch; over many calls, log2(n) packings an entry.
 * Errors  IFOREST_UNORDERED: two entries have the same key. IFOREST_NO_MEMORY. The batch is then lost. */
enum iforest_status iforest_memtable_build(struct iforest_memtable *memtable);

/* Removes the entries with these keys from the runs in memory.
 * Requires  keys ascending, none twice; an empty batch.
 * Errors    IFOREST_NOT_FOUND: a key is not there, and others may have been removed. As iforest_runs_remove(). */
enum iforest_status iforest_memtable_remove(struct iforest_memtable *memtable, const struct iforest_key *keys, uint64_t n_keys);

/* Writes everything as one new run of the index's store, which is not published; run->n_leaves is 0 if there is no entry.
 * store and manifest are the index's, of the page size that iforest_memtable_init() saw.
 * Cost    a batch is packed once. A run in memory is copied page by page; several are merged first.
 * Errors  as iforest_batch_write_run() and iforest_compact(); nothing is left of the run. */
enum iforest_status iforest_memtable_flush(struct iforest_memtable *memtable, struct iforest_store *store,
					   const struct iforest_manifest *manifest, struct iforest_run *run);

#endif
