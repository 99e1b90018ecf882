/* run_merge.h -- several runs to one, without the removed entries. */
#ifndef IFOREST_RUN_MERGE_H
#define IFOREST_RUN_MERGE_H

#include "core/run/writer.h"

/* Adds the live entries of runs (at least one), in order, to a builder of the same fields, whose store may be another.
 * Cost    each page with a live entry by its node is read once; log2(n_runs) comparisons for each stretch of entries that come
 *         from one run; memory of n_runs cursors, some 20 KB each.
 * Errors  IFOREST_CORRUPT, IFOREST_UNORDERED (two runs hold the same key, or the builder has a greater one),
 *         IFOREST_NO_MEMORY, what the pagers returned: then the builder is to be abandoned. */
enum iforest_status iforest_runs_add(struct iforest_store *store, const struct iforest_manifest *manifest,
				     const struct iforest_run *runs, uint32_t n_runs, struct iforest_run_builder *builder);

/* Merges the runs with these ids (at least one) into one new run, publishes the manifest with the new run in their place,
 * and gives their pages back. *merged is the new run; with no live entry left there is none, and merged->n_leaves is 0.
 * Others may publish changes of other runs meanwhile (pager.h); that nobody else changes these is the host's part.
 * Cost    that of iforest_runs_add(), and each page of the new run is written once.
 *         An error from giving pages back comes after the publish: the new run is named, the old pages are lost until dropped.
 * Errors  IFOREST_NOT_FOUND: there is no such run. IFOREST_CORRUPT, IFOREST_UNORDERED (two runs hold the same key),
 *         IFOREST_NO_MEMORY, what the pager returned. The stored manifest then names the old runs still, and so does the one in
 *         memory. */
enum iforest_status iforest_runs_merge(struct iforest_store *store, struct iforest_manifest *manifest, const uint64_t *run_ids,
				       uint32_t n_runs, struct iforest_run *merged);

#endif
