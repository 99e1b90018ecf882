/* run/writer.h -- Writer of a new run from sorted entries, in one pass.
 *
 * Memory: one page per level and the current leaf page, O(log N). Each page is written once, in index order. Nothing is
 * published: the run exists once a published manifest names it.
 *
 *   iforest_run_writer_start(&writer, &store, &manifest);
 *   while (...) iforest_run_writer_add(&writer, &entry);
 *   iforest_run_writer_finish(&writer, &run);        or iforest_run_writer_abandon(&writer);
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
	struct iforest_block block; /* entries not packed yet */
	struct iforest_leaf_writer *leaf;
	uint8_t *page;			     /* scratch for a leaf page */
	struct iforest_writer_level *levels; /* [1 .. IFOREST_MAX_LEVELS] */
};

/* Starts a run with a new random id. store and manifest must outlive the writer; the manifest is only read.
 * Errors  IFOREST_NO_MEMORY, or what the pager returned; the writer then needs no release. */
enum iforest_status iforest_run_writer_start(struct iforest_run_writer *writer, struct iforest_store *store,
					     const struct iforest_manifest *manifest);

/* Adds the next entry.
 * Requires  a series below 2^32.
 * Errors    IFOREST_UNORDERED: its key is not greater than the last one's; nothing is added. After any error of the pager only
 *           abandon is allowed. */
enum iforest_status iforest_run_writer_add(struct iforest_run_writer *writer, const struct iforest_entry *entry);

/* Adds entries [from, to) of a block. Errors: as iforest_run_writer_add(). */
enum iforest_status iforest_run_writer_add_block(struct iforest_run_writer *writer, const struct iforest_block *block,
						 unsigned from, unsigned to);

/* Writes the remaining pages and fills in *run. Without entries there is no run, and run->n_leaves is 0. Releases the writer,
 * even on error. */
enum iforest_status iforest_run_writer_finish(struct iforest_run_writer *writer, struct iforest_run *run);

/* Frees the pages written and the memory. */
void iforest_run_writer_abandon(struct iforest_run_writer *writer);

#endif
