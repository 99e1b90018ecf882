/* run/sidecar.h -- Sidecar store interface: variable-size summaries of nodes kept beside the runs, by name.
 *
 * Nodes have a fixed size. Summaries of variable size (sketch_scan.h), or that only some indexes have (counter_scan.h), are
 * kept in a sidecar store that the engine provides.
 *
 * A name consists of run, level, number, value column, and the number of removed entries under the node. A run never gains
 * entries, and removed entries stay removed, so equal names mean equal live entries. After a removal the old summary is no
 * longer found, and readers use the entries until the engine has stored a new one. So any summary may be missing, but none may
 * survive a rollback of its run.
 */
#ifndef IFOREST_RUN_SIDECAR_H
#define IFOREST_RUN_SIDECAR_H

#include "core/run/pager.h"

struct iforest_sidecar_name {
	uint64_t run_id;
	unsigned level;	 /* of the node, 2 and up */
	uint64_t number; /* of the node on its level */
	unsigned value;
	uint64_t n_dead; /* removed entries under it */
};

/* A store of one kind of summaries. Readers only call `get`. */
struct iforest_sidecar {
	void *context;

	/* Sets *found if there is a summary of that name. */
	enum iforest_status (*has)(void *context, const struct iforest_sidecar_name *name, bool *found);

	/* Gives the bytes of that name, if any; the caller frees them with iforest_release(). */
	enum iforest_status (*get)(void *context, const struct iforest_sidecar_name *name, uint8_t **bytes, size_t *n_bytes,
				   bool *found);

	/* Stores bytes, and replaces those under a name that differs only in n_dead. */
	enum iforest_status (*put)(void *context, const struct iforest_sidecar_name *name, const uint8_t *bytes,
				   size_t n_bytes);
};

/* A sidecar store for verification. `has` and `get` find nothing, so that all summaries are computed from the entries; `put`
 * compares them with those in `kept` under the same name. If they differ it returns IFOREST_CORRUPT and sets store->fault, with
 * the text `what`. */
struct iforest_sidecar_comparison {
	const struct iforest_sidecar *kept;
	struct iforest_store *store;
	const char *what;
};

/* Returns a sidecar store for the comparison, which must outlive it. */
struct iforest_sidecar iforest_sidecar_comparing(struct iforest_sidecar_comparison *comparison);

#endif
