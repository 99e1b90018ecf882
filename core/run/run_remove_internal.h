/* run_remove_internal.h -- what run_remove.c (which entries go) and run_renew.c (the order of writing) share. Not for
 * others. */
#ifndef IFOREST_RUN_REMOVE_INTERNAL_H
#define IFOREST_RUN_REMOVE_INTERNAL_H

#include "core/run/cursor_internal.h"
#include "core/run/remove.h"

/* A run whose leaf pages change. */
struct iforest_renewal {
	struct iforest_store *store;
	struct iforest_manifest *manifest;
	/* a copy: the manifest's moves with every commit. It bears no mark, for its nodes say what there */
	struct iforest_run run;
	bool is_marked;                    /* was before, until they are written. Whether the one in the manifest does */
	struct iforest_cursor cursor;      /* over the copy */
	uint32_t *changed;                 /* numbers of the leaf pages that changed, ascending; then of the pages above them */
	uint64_t n_changed, n_reserved;
	bool are_all;                      /* every page of the level, and `changed` is not used */
	uint32_t n_batch;                  /* pages that wait to be written as one batch */
	uint8_t *batch_bytes;              /* max_batch_pages of page_bytes */
	struct iforest_page_write *batch;
};

/* Starts on a run; one that is marked is repaired first. The renewal then holds memory and pages until end(), also on error.
 * Errors  IFOREST_NOT_FOUND: there is no such run. */
enum iforest_status iforest_renewal_start(struct iforest_renewal **renewal, struct iforest_store *store,
					  struct iforest_manifest *manifest, uint64_t run_id);
void iforest_renewal_end(struct iforest_renewal *renewal);

/* Gives a writable copy of the leaf page that the cursor holds; it is to be sealed before the next call. Each page once,
 * ascending. */
enum iforest_status iforest_renewal_change_leaf(struct iforest_renewal *renewal, uint8_t **page);

/* Writes what waits, computes the nodes above the changed leaf pages, and publishes; does nothing if no page changed. */
enum iforest_status iforest_renewal_finish(struct iforest_renewal *renewal);

#endif
