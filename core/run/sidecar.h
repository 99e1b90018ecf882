/* run/sidecar.h -- Sidecar store interface: variable-size summaries of nodes kept beside the runs, under names.
 *
 * Nodes have a fixed size and stand on pages of a run; what has none (sketch_scan.h), or is not of every index
 * (counter_scan.h), stands on a sidecar store.
 *
 * A thing is named by run, level, number, value column, and the count of removed entries under the node. A run never gains
 * entries, and one that was removed stays removed, so equal names are equal live entries: what a removal has made old is
 * not found any more, and its entries are read until the host has had it made anew. So a sidecar store may lack anything; it must not
 * outlive a rollback of the runs.
 */
#ifndef IFOREST_RUN_SIDECAR_H
#define IFOREST_RUN_SIDECAR_H

#include "core/run/pager.h"

struct iforest_sidecar_name {
	uint64_t run_id;
	unsigned level;	 /* of the node, 2 and up */
	uint64_t number; /* of the node in its level */
	unsigned value;
	uint64_t n_dead; /* removed entries under it */
};

/* What a host keeps, of one kind. Those that read call `get` alone. */
struct iforest_sidecar {
	void *context;

	/* Is there one of that name? */
	enum iforest_status (*has)(void *context, const struct iforest_sidecar_name *name, bool *found);

	/* The bytes of that name, if there are any: the caller's, to be given back with iforest_release(). */
	enum iforest_status (*get)(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
				   bool *found);

	/* Keeps bytes, in the place of those whose name differs in n_dead alone. */
	enum iforest_status (*put)(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes,
				   size_t n_bytes);
};

/* A sidecar store that has nothing, so that all is made anew from the entries, and instead of keeping that compares it with what
 * another one has under that name. Where they differ `put` gives IFOREST_CORRUPT, and the store's fault says `what` is
 * wrong. */
struct iforest_sidecar_comparison {
	const struct iforest_sidecar *kept;
	struct iforest_store *store;
	const char *what;
};

/* comparison must outlive the sidecar store. */
struct iforest_sidecar iforest_sidecar_comparing(struct iforest_sidecar_comparison *comparison);

#endif
