/* storage/index.h -- An index opened for work: metapage and manifest as of one moment, and core's pager over its blocks.
 *
 * WAL: a new page of a run is one record with its full image. Pages of a run in force that change together are one generic
 * record. A manifest is written to the slot that is not in force, and the metapage then switches (storage/meta.h).
 */
#ifndef IFP_STORAGE_INDEX_H
#define IFP_STORAGE_INDEX_H

#include "core/run/manifest.h"
#include "pg_ext/storage/meta.h"
#include "pg_ext/storage/extents.h"

#define IFP_PAGE_BYTES IFP_CONTENT_BYTES
#define IFP_BATCH_PAGES MAX_GENERIC_XLOG_PAGES

struct ifp_page_buffer;

/* A page that is being read. */
struct ifp_page_mark {
	BlockNumber block;
	XLogRecPtr lsn;
	bool is_checked;
};

struct ifp_index {
	Relation relation;
	MemoryContext context;		  /* lives as long as the index is open */
	struct ifp_meta meta;		  /* as of the last refresh */
	struct iforest_manifest manifest; /* in memory of the context in which the index was opened */
	struct iforest_pager pager;
	struct iforest_store store;

	/* a page was met that has another owner, for its run or chain has gone since the last refresh: all has to be read
	 * again. Readers that start again with the same index set it to false */
	bool met_foreign_page;

	bool trusts_nothing; /* set by iforest_check(): pages are verified even if they were before */
	/* NULL, or called before pages of runs are read or written; it may raise an error to stop the work */
	void (*before_page)(struct ifp_index *index);

	/* private to the pager */
	struct ifp_extent *extents; /* by owner, then first */
	uint32 n_extents;
	struct ifp_page_buffer *idle_buffers;
	Buffer borrowed; /* locked, or InvalidBuffer */
	struct ifp_page_mark borrowed_mark;
	uint8 *newest_manifest;
	uint32 new_run, n_new_pages; /* the run being written: its clock number, pages so far */
	uint32 n_new_reserved;
	struct ifp_extent new_extent;	/* its last extent */
	bool is_build;			/* pages of runs are logged at the end of the build */
	uint32 flushed[IFP_MAX_CLOSED]; /* clock numbers of chains that the next publish removes */
	uint32 n_flushed;
};

/* Opens an index for work, with memory of the current context. There is nothing to close.
 * Requires  ifp_index_refresh() before any other use. */
void ifp_index_open(struct ifp_index *index, Relation relation);

/* Reads metapage and manifest (again). Raises "corrupt" errors. */
void ifp_index_refresh(struct ifp_index *index);

/* Writes an index without entries to an empty fork. Nothing is logged; the caller does that. Requires  fields are finished. */
void ifp_index_create(Relation relation, ForkNumber fork, const struct iforest_node_schema *fields);

/* Raises the error of a status, with the faulty page; returns if it is IFOREST_OK. */
void ifp_index_require(struct ifp_index *index, enum iforest_status status);

/* Called if a page does not belong to its expected owner, the clock number of a run or chain. Sets met_foreign_page if the
 * index no longer names the owner; otherwise raises the error that the block is corrupt. */
void ifp_index_met_foreign(struct ifp_index *index, uint32 owner, BlockNumber block);

/* True if this session has found a page whole as it is now, by its LSN, and pages of the index do not change without one. */
bool ifp_index_has_verified(const struct ifp_index *index, BlockNumber block, XLogRecPtr lsn);

/* Notes that. */
void ifp_index_note_verified(const struct ifp_index *index, BlockNumber block, XLogRecPtr lsn);

/* Returns the clock number of a run. */
static inline uint32 ifp_run_clock(const struct iforest_run *run)
{
	return (uint32)run->place.location;
}

/* Returns the block of a page of a run, or of a page that the run's owner has after the run's last; InvalidBlockNumber if there
 * is none. */
BlockNumber ifp_index_run_block(struct ifp_index *index, const struct iforest_place *place, uint64 page);

/* Makes the next ifp_index_run_block() read the list of extents again. The copy may be from the time when the run was written,
 * with blocks after its last page that were freed since. Readers see a page's owner; a writer must know it. */
void ifp_index_forget_extents(struct ifp_index *index);

#endif
