/* run_merge.h -- several runs to one, without the removed entries. */
#ifndef IFOREST_RUN_MERGE_H
#define IFOREST_RUN_MERGE_H

#include "core/manifest.h"

/* Merges the runs whose numbers are given (ascending, at least one) into one new run, publishes the manifest with the new run in
 * their place, and gives their pages back. With no live entry left there is no new run.
 * Cost    each page read and written once; log2(n_chosen) comparisons an entry; memory of a builder and n_chosen cursors.
 *         An error from giving pages back comes after the publish: the new run is named, the old pages are lost until dropped.
 * Errors  IFOREST_CORRUPT, IFOREST_UNORDERED (two runs hold the same key), IFOREST_NO_MEMORY, what the pager returned. The
 *         published manifest then still names the old runs; read it again. */
enum iforest_status iforest_runs_merge(struct iforest_store *store, struct iforest_manifest *manifest,
				       const uint32_t *chosen, uint32_t n_chosen);

#endif
