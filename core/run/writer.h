/* run/writer.h -- Writer of a new run from sorted entries, in one pass.
 *
 * Memory: one page a level and one leaf page in the making, O(log N). Each page is written once, in index order. Nothing is
 * published: the run exists once a manifest that names it is.
 *
 *   iforest_run_writer_start(&builder, &store, &manifest);
 *   while (...) iforest_run_writer_add(&builder, &entry);
 *   iforest_run_writer_finish(&builder, &run);        or iforest_run_writer_abandon(&builder);
 *   iforest_manifest_commit(&manifest, &store, &(struct iforest_edit){ .added = &run });
 */
#ifndef IFOREST_RUN_WRITER_H
#define IFOREST_RUN_WRITER_H

#include "core/page/leaf.h"
#include "core/run/manifest.h"

struct iforest_writer_level;

struct iforest_run_writer {
	struct iforest_store *store;
	const struct iforest_manifest *manifest;
	struct iforest_place place;
	struct iforest_key last_key;
	bool has_entries;
	uint64_t n_pages; /* written so far */
	uint64_t n_leaves;
	struct iforest_block block; /* entries not yet packed */
	struct iforest_leaf_writer *writer;
	uint8_t *page;			     /* scratch for a leaf page */
	struct iforest_writer_level *levels; /* [1 .. IFOREST_MAX_LEVELS] */
};

/* Makes room for a run with a new random id. store and manifest must outlive the builder; the manifest is only read.
 * Errors  IFOREST_NO_MEMORY, or what the pager returned; then the builder holds nothing. */
enum iforest_status iforest_run_writer_start(struct iforest_run_writer *builder, struct iforest_store *store,
					     const struct iforest_manifest *manifest);

/* Adds the next entry.
 * Requires  its key is greater than that of the one before, else IFOREST_UNORDERED and nothing is added; series below 2^32.
 * Errors    also what the pager returned: then only abandon is left. */
enum iforest_status iforest_run_writer_add(struct iforest_run_writer *builder, const struct iforest_entry *entry);

/* Adds entries [from, to) of a block. Errors: as above; IFOREST_UNORDERED: nothing is added. */
enum iforest_status iforest_run_writer_add_block(struct iforest_run_writer *builder, const struct iforest_block *block,
						 unsigned from, unsigned to);

/* Writes what is left and fills in *run. Without entries run->n_leaves is 0, and nothing is left to be named.
 * The builder then holds nothing, also on error. */
enum iforest_status iforest_run_writer_finish(struct iforest_run_writer *builder, struct iforest_run *run);

/* Gives back the pages written and the memory. */
void iforest_run_writer_abandon(struct iforest_run_writer *builder);

#endif
