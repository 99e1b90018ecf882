/* run/remove.h -- Removal of entries from a run in place, and repair of a run whose removal was interrupted.
 *
 * Order of writing, so that a crash at any point leaves an index that is right or says that it needs repair:
 *   1. publish the manifest with the run marked "removal in progress"
 *   2. write the leaf pages, each of which is valid alone
 *   3. write the node pages above them, lowest level first
 *   4. publish the new root, a new generation, and no mark
 * A run that is found marked has leaf pages to be trusted and nodes that are not: iforest_run_repair() makes them anew.
 *
 * Runs are named by id. Others may publish changes of other runs meanwhile (pager.h); that nobody else changes this one is
 * the host's part.
 */
#ifndef IFOREST_RUN_REMOVE_H
#define IFOREST_RUN_REMOVE_H

#include "core/run/manifest.h"

/* Removes the entries with these keys from a run, and publishes.
 * Requires  keys ascending, none twice. A run that is marked is repaired first.
 * Cost      a leaf page and its path for each page touched; memory 8 bytes a key, 4 bytes a leaf page touched.
 * Errors    IFOREST_NOT_FOUND: a key has no live entry in the run, or there is no such run; nothing was removed.
 *           IFOREST_UNORDERED: the same. Otherwise the run may be left marked, and some of the entries removed: repair. */
enum iforest_status iforest_run_remove(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
				       const struct iforest_key *keys, uint64_t n_keys);

/* The same for keys whose runs are not known: each is removed from the run that holds it, if one does, and a manifest published
 * for each run touched. *n_removed is how many were pinned.
 * Cost      a search for each key that a run holds, and for each stretch of keys that lie between two of its entries; memory 20
 *           bytes for each key.
 * Errors    IFOREST_UNORDERED: nothing was removed. */
enum iforest_status iforest_runs_remove(struct iforest_store *store, struct iforest_manifest *manifest,
					const struct iforest_key *keys, uint64_t n_keys, uint64_t *n_removed);

/* Says which entries go; may longjmp. */
struct iforest_remover {
	bool (*is_dead)(void *context, int64_t ref);
	void *context;
};

struct iforest_removal {
	uint64_t n_kept, n_removed; /* entries that were live before */
};

/* Asks is_dead once for each live entry of the run, leaf page by leaf page in order, and removes those for which it says
 * yes. Publishes nothing if there are none. A run that is marked is repaired first.
 * Cost    every leaf page that has a live entry by its node is read once, values not unpacked; touched ones once more, and
 *         the nodes above them are renewed; memory 4 bytes a leaf page touched.
 * Errors  IFOREST_NOT_FOUND: there is no such run. Otherwise the run may be left marked, and some of the entries removed:
 *         repair. */
enum iforest_status iforest_run_remove_where(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
					     const struct iforest_remover *remover, struct iforest_removal *removal);

/* Computes every node of a run anew from its leaf pages, and publishes.
 * Cost    every page is read, node pages twice; memory of a cursor and a batch.
 * Errors  IFOREST_NOT_FOUND: there is no such run. */
enum iforest_status iforest_run_repair(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id);

#endif
