/* run/check.h -- Integrity check of an index: reads every page and recomputes every aggregate.
 *
 * It checks: magic, version, checksum and location of each page; block directories and packed columns; the summary of every
 * block; the order of all keys; every node, byte for byte, against the page below it; the root in the manifest; and that no run
 * is left in the middle of a removal.
 */
#ifndef IFOREST_RUN_CHECK_H
#define IFOREST_RUN_CHECK_H

#include "core/run/manifest.h"

/* Counts of what was read. */
struct iforest_check_result {
	uint64_t n_pages, n_leaf_pages;
	uint64_t n_rows, n_dead;
};

/* Checks the index of a manifest.
 * Returns  IFOREST_OK if the index is valid; IFOREST_CORRUPT with store->fault naming the first wrong page.
 * Cost     reads the whole index once; memory of a cursor. */
enum iforest_status iforest_check(struct iforest_store *store, const struct iforest_manifest *manifest,
				  struct iforest_check_result *result);

#endif
