/* run_remove.h -- taking entries out of a run, in place: dead bits on leaf pages, then the nodes above, then a new generation.
 *
 * Order of writing, so that a crash at any point leaves an index that is right or says that it needs repair:
 *   1. publish the manifest with the run marked "removal in progress"
 *   2. write the leaf pages, each of which is valid alone
 *   3. write the node pages above them, lowest level first
 *   4. publish the new root, a new generation, and no mark
 * A run that is found marked has leaf pages to be trusted and nodes that are not: iforest_run_repair() makes them anew.
 */
#ifndef IFOREST_RUN_REMOVE_H
#define IFOREST_RUN_REMOVE_H

#include "core/manifest.h"

/* Removes the entries with these keys from run number r, and publishes.
 * Requires  keys ascending, none twice. A run that is marked is repaired first.
 * Cost      a leaf page and its path for each page touched; memory 12 bytes a key.
 * Errors    IFOREST_NOT_FOUND: a key has no live entry in the run; nothing was written. IFOREST_UNORDERED. Otherwise the run may
 *           be left marked: read the manifest again and repair. */
enum iforest_status iforest_run_remove(struct iforest_store *store, struct iforest_manifest *manifest, uint32_t r,
				       const struct iforest_key *keys, uint64_t n_keys);

/* Computes every node of run number r anew from its leaf pages, and publishes. */
enum iforest_status iforest_run_repair(struct iforest_store *store, struct iforest_manifest *manifest, uint32_t r);

#endif
