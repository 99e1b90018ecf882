/* storage/index.h -- An open index: metapage and manifest as of one moment, and core's pager over its blocks.
 *
 * WAL: a new page of a run is one record with its full image. Pages of a published run that change together are one generic
 * record. A manifest is written to the inactive slot, and the metapage then switches to it (storage/meta.h).
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
	MemoryContext context;		  /* for the pager; lives as long as the index is open */
	struct ifp_meta meta;		  /* as of the last refresh */
	struct iforest_manifest manifest; /* allocated in the context in which the index was opened */
	struct iforest_pager pager;
	struct iforest_store store;

	/* a page was found to have another owner, because its run or chain was removed since the last refresh: the read has to
	 * restart. Readers that restart with the same index reset it */
	bool met_foreign_page;

	bool trusts_nothing; /* set by iforest_check(): pages are verified even if already verified */
	uint64 reader;	     /* by ifp_index_use_kept_nodes(); 0: node pages are read from the index */
	/* NULL, or called before pages of runs are read or written; may raise an error to stop the work */
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

/* Opens an index, with memory of the current context. There is nothing to close.
 * Requires  ifp_index_refresh() before any other use. */
void ifp_index_open(struct ifp_index *index, Relation relation);

/* Lets the pager give node pages that the session keeps in memory, in place of copies.
 * Requires  the pages of the index for which this was called last are no longer in use. */
void ifp_index_use_kept_nodes(struct ifp_index *index);

/* Reads metapage and manifest (again). Raises "corrupt" errors. */
void ifp_index_refresh(struct ifp_index *index);

/* Writes an index without entries to an empty fork. The caller must log the pages. Requires  fields are finished. */
void ifp_index_create(Relation relation, ForkNumber fork, const struct iforest_node_schema *fields);

/* Raises the error of a status, with the faulty page; returns if it is IFOREST_OK. */
void ifp_index_require(struct ifp_index *index, enum iforest_status status);

/* Must be called if a page does not belong to the expected owner, the clock number of a run or chain. Sets met_foreign_page if
 * the index no longer names that owner; otherwise raises a "corrupt" error for the block. */
void ifp_index_met_foreign(struct ifp_index *index, uint32 owner, BlockNumber block);

/* True if this session has already verified the page with this LSN, and pages of the index change only with their LSN. */
bool ifp_index_has_verified(const struct ifp_index *index, BlockNumber block, XLogRecPtr lsn);

/* Records that the page was verified. */
void ifp_index_note_verified(const struct ifp_index *index, BlockNumber block, XLogRecPtr lsn);

/* Returns the clock number of a run. */
static inline uint32 ifp_run_clock(const struct iforest_run *run)
{
	return (uint32)run->place.location;
}

/* Returns the block of a page of a run, or of a page of the run's owner after the run's last page; InvalidBlockNumber if there
 * is none. */
BlockNumber ifp_index_run_block(struct ifp_index *index, const struct iforest_place *place, uint64 page);

/* Makes the next ifp_index_run_block() read the list of extents again. The copy may date from when the run was written, with
 * blocks after its last page that were freed since. Readers can check a page's owner; a writer must know the blocks. */
void ifp_index_forget_extents(struct ifp_index *index);

#endif
