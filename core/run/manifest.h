/* run/manifest.h -- Manifest: the record that lists an index's live runs; replacing it is the only commit point.
 *
 * Bytes: FORMAT.md, "Manifest". The record may be larger than a page; the pager must store it whole.
 */
#ifndef IFOREST_RUN_MANIFEST_H
#define IFOREST_RUN_MANIFEST_H

#include "core/page/node.h"
#include "core/run/pager.h"

#define IFOREST_MAX_LEVELS 33 /* of node pages: 2^32 leaf pages at fan-out 2 */
#define IFOREST_MAX_RUNS 4096
#define IFOREST_MAX_HOST_BYTES (1u << 28)

/* Byte offsets in the record, which starts with the magic, and in the record of each run, which starts with the run id. */
enum {
	IFOREST_MANIFEST_CHECKSUM_OFFSET = 4,
	IFOREST_MANIFEST_VERSION_OFFSET = 8,
	IFOREST_MANIFEST_ZERO_OFFSET = 10,
	IFOREST_MANIFEST_LENGTH_OFFSET = 12,
	IFOREST_MANIFEST_ID_OFFSET = 16,
	IFOREST_MANIFEST_PAGE_BYTES_OFFSET = 24,
	IFOREST_MANIFEST_N_RUNS_OFFSET = 28,
	IFOREST_MANIFEST_HEADER = 32
};
enum {
	IFOREST_RUN_GENERATION_OFFSET = 8,
	IFOREST_RUN_LOCATION_OFFSET = 16,
	IFOREST_RUN_N_LEAVES_OFFSET = 24,
	IFOREST_RUN_FLAGS_OFFSET = 28,
	IFOREST_RUN_ROOT_OFFSET = 32
};

/* A run in the manifest. */
struct iforest_run {
	struct iforest_place place;
	uint32_t n_leaves;		      /* leaf pages, at least 1 */
	unsigned n_levels;		      /* of node pages, at least 1 */
	bool removal_in_progress;	      /* its nodes may be stale: repair it first */
	uint8_t root[IFOREST_MAX_NODE_BYTES]; /* the node over the whole run */
};

struct iforest_manifest {
	const struct iforest_alloc *alloc;
	uint64_t id;
	uint32_t page_bytes;
	uint32_t fanout; /* derived */
	struct iforest_node_schema fields;
	uint8_t *host_bytes;
	uint32_t n_host_bytes;
	struct iforest_run *runs;
	uint32_t n_runs;
};

/* A change to the list of runs; pointers may be NULL. */
struct iforest_edit {
	const uint64_t *removed;
	uint32_t n_removed;
	const struct iforest_run *added;   /* appended; has at least one leaf page */
	const struct iforest_run *changed; /* replaces the run with the same id */
};

/* Starts the manifest of an index without runs. fields must be finished.
 * Errors  IFOREST_ARGUMENT: page_bytes outside the format's limits, or too small for two nodes. */
enum iforest_status iforest_manifest_init(struct iforest_manifest *manifest, const struct iforest_alloc *alloc,
					  const struct iforest_node_schema *fields, uint32_t page_bytes);
void iforest_manifest_release(struct iforest_manifest *manifest);

/* Reads untrusted bytes into a new manifest; on error it needs no release.
 * Errors  IFOREST_CORRUPT, IFOREST_FORMAT with *what; IFOREST_NO_MEMORY. */
enum iforest_status iforest_manifest_read(struct iforest_manifest *manifest, const struct iforest_alloc *alloc,
					  const uint8_t *bytes, uint32_t n_bytes, const char **what);

/* Makes an independent copy. On error (IFOREST_NO_MEMORY) it needs no release. */
enum iforest_status iforest_manifest_copy(struct iforest_manifest *copy, const struct iforest_alloc *alloc,
					  const struct iforest_manifest *manifest);

/* Returns the number of the run with an id, n_runs if there is none. */
uint32_t iforest_manifest_find(const struct iforest_manifest *manifest, uint64_t run_id);

/* Applies the edit to the newest manifest, gives it a new id, and publishes it. edit may be NULL, for an engine that has
 * changed host_bytes. Afterwards `runs` may have moved and its indexes may have changed.
 *
 * If the pager has begin_publish() and another writer has published meanwhile, the manifest is first replaced by the newest
 * one, host_bytes included: an engine that changes host_bytes must lock the manifest and read it before. The engine must
 * prevent concurrent work on the runs that the edit removes or changes.
 * Errors  IFOREST_NOT_FOUND: a removed or changed run does not exist, or is named twice. IFOREST_CORRUPT, IFOREST_FORMAT of the
 *         newest manifest; IFOREST_TOO_LARGE, IFOREST_NO_MEMORY, what the pager returned. The stored manifest is then
 *         unchanged, and the one in memory is without the edit: the old one or the newest. */
enum iforest_status iforest_manifest_commit(struct iforest_manifest *manifest, struct iforest_store *store,
					    const struct iforest_edit *edit);

/* Return the number of a run's pages, and the index of one of them (layout.h). */
uint64_t iforest_run_pages(const struct iforest_manifest *manifest, const struct iforest_run *run);
uint64_t iforest_run_page_index(const struct iforest_manifest *manifest, const struct iforest_run *run, unsigned level,
				uint64_t number);

#endif
