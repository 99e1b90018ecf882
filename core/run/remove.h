/* run/remove.h -- Removal of entries from a run in place, and repair of a run whose removal was interrupted.
 *
 * Order of writes, so that a crash at any point leaves an index that is correct or marked as in need of repair:
 *   1. publish the manifest with the run marked "removal in progress"
 *   2. write the leaf pages; each page is valid by itself
 *   3. write the node pages above them, lowest level first
 *   4. publish the new root and a new generation, without the mark
 * A marked run has valid leaf pages and possibly stale nodes: iforest_run_repair() recomputes its nodes.
 *
 * Runs are identified by id. Other writers may publish changes of other runs meanwhile (pager.h); the engine must prevent
 * concurrent changes of this run.
 */
#ifndef IFOREST_RUN_REMOVE_H
#define IFOREST_RUN_REMOVE_H

#include "core/run/manifest.h"

/* Removes the entries with these keys from a run, and publishes. A marked run is repaired first.
 * Requires  keys ascending, none twice.
 * Cost      one leaf page and its path for each page touched; memory: 8 bytes per key, 4 bytes per leaf page touched.
 * Errors    IFOREST_NOT_FOUND: a key has no live entry in the run, or there is no such run; nothing was removed.
 *           IFOREST_UNORDERED: nothing was removed. After any other error the run may be left marked, with some of the entries
 *           removed: repair it. */
enum iforest_status iforest_run_remove(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
				       const struct iforest_key *keys, uint64_t n_keys);

/* Removes the entries with these keys from whichever runs have them, as iforest_run_remove() does; keys that no run has are
 * ignored. Publishes a manifest for each run touched. *n_removed becomes the number of entries removed.
 * Cost    a search for each key that a run has, and for each group of keys between two of its entries; memory: 20 bytes per
 *         key.
 * Errors  IFOREST_UNORDERED: nothing was removed. Else as iforest_run_remove(). */
enum iforest_status iforest_runs_remove(struct iforest_store *store, struct iforest_manifest *manifest,
					const struct iforest_key *keys, uint64_t n_keys, uint64_t *n_removed);

/* Decides which entries are removed; may longjmp. */
struct iforest_remover {
	bool (*is_dead)(void *context, int64_t ref);
	void *context;
};

struct iforest_removal {
	uint64_t n_kept, n_removed; /* among the entries that were live before */
};

/* Calls is_dead() once for each live entry of the run, in order, and removes those for which it returns true. Publishes nothing
 * if there are none. A marked run is repaired first.
 * Cost    reads every leaf page once, without its values, except those without live entries by their nodes; touched ones once
 *         more, and rewrites the nodes above them; memory: 4 bytes per leaf page touched.
 * Errors  IFOREST_NOT_FOUND: there is no such run. After any other error the run may be left marked, with some of the entries
 *         removed: repair it. */
enum iforest_status iforest_run_remove_where(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
					     const struct iforest_remover *remover, struct iforest_removal *removal);

/* Recomputes every node of a run from its leaf pages, and publishes.
 * Cost    reads every page, node pages twice; memory of a cursor and a batch.
 * Errors  IFOREST_NOT_FOUND: there is no such run. */
enum iforest_status iforest_run_repair(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id);

#endif
