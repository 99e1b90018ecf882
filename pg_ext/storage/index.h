/* storage/index.h -- An index opened for work: metapage and manifest as of one moment, and core's pager over its blocks. */
#ifndef IFP_STORAGE_INDEX_H
#define IFP_STORAGE_INDEX_H

#include "core/run/manifest.h"
#include "pg_ext/storage/meta.h"
#include "pg_ext/storage/extents.h"

#define IFP_PAGE_BYTES IFP_CONTENT_BYTES
#define IFP_BATCH_PAGES MAX_GENERIC_XLOG_PAGES

struct ifp_page_buffer;

/* Which page it is that is being read, and in which state. */
struct ifp_page_mark {
	BlockNumber block;
	XLogRecPtr lsn; /* 0: what the page holds does not show in it */
	bool is_checked;
};

struct ifp_index {
	Relation relation;
	MemoryContext context;		  /* what lives as long as the index is open */
	struct ifp_meta meta;		  /* as of the last refresh */
	struct iforest_manifest manifest; /* in memory of the context in which the index was opened */
	struct iforest_pager pager;
	struct iforest_store store;

	/* a page was met that belongs to somebody else, as the run or chain that it was of has gone since the last refresh: all
	 * has to be read again. Set to false by readers who begin again with the same index */
	bool met_foreign_page;

	bool trusts_nothing; /* set by who checks: pages are checked however often they were before */
	/* NULL, or set by who may have to stop: called before pages of runs are read or written; may raise an error */
	void (*before_page)(struct ifp_index *index);

	/* the pager's own */
	struct ifp_extent *extents; /* by owner, then first */
	uint32 n_extents;
	BlockNumber n_blocks; /* of the file, at least */
	struct ifp_page_buffer *idle_buffers;
	Buffer borrowed; /* locked, or InvalidBuffer */
	struct ifp_page_mark borrowed_mark;
	uint8 *newest_manifest;
	uint32 new_run, n_new_pages; /* the run being written: its clock number, pages so far */
	uint32 n_new_reserved;
	struct ifp_extent new_extent;  /* its last extent */
	bool is_build;		       /* pages of runs are logged at the end of the build */
	uint32 sealed[IFP_MAX_CLOSED]; /* clock numbers of chains that go with the next publish */
	uint32 n_sealed;
};

/* Opens an index for work; refresh reads its metapage and manifest, again if need be. What it holds lives in the memory
 * context that is current at open. There is nothing to close. */
void ifp_index_open(struct ifp_index *index, Relation relation);
void ifp_index_refresh(struct ifp_index *index);

/* Writes an index without entries into an empty fork. fields must be finished. Nothing is logged: that is the caller's part. */
void ifp_index_create(Relation relation, ForkNumber fork, const struct iforest_node_schema *fields);

/* Raises the error that a status stands for. */
void ifp_index_require(struct ifp_index *index, enum iforest_status status);

/* A page that was looked for as one of this owner's, a run or chain by its clock number, is not: sets met_foreign_page if the
 * index does not name the owner any more; otherwise raises that the block is corrupt. */
void ifp_index_met_foreign(struct ifp_index *index, uint32 owner, BlockNumber block);

/* Clock number of a run. */
static inline uint32 ifp_run_clock(const struct iforest_run *run)
{
	return (uint32)run->place.location;
}

/* storage/index.c: the block of a page of a run, or of one that the run's owner has after its last; InvalidBlockNumber if there is
 * none. */
BlockNumber ifp_index_run_block(struct ifp_index *index, const struct iforest_place *place, uint64 page);

/* storage/index.c: the next ifp_index_run_block() reads the list of extents anew. What is remembered of it may be of when the run was
 * being written, with blocks after its last page that it has given back since: readers see whose a page is, but a writer has to
 * know. */
void ifp_index_forget_extents(struct ifp_index *index);

#endif
