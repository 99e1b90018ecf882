/* storage/meta.h -- The metapage: block 0, the root of the index and its only commit point.
 *
 * Every change of it is one atomic WAL record. Bytes: FORMAT.md, "Metapage".
 *
 * Every pending chain and every run gets a clock number when it is started. The number is its owner number, on its pages and in
 * the list of extents, and its age: runs and chains below `worklist_below` are reserved for the holder of the maintenance lock
 * (storage/locks.h).
 *
 * The manifest (core/run/manifest.h) may be larger than a page. It is in one of two slots of pages. A publish writes the
 * inactive slot. Then one record activates that slot and removes the chains that the new manifest replaces. Readers copy the
 * metapage and then the slot; the manifest's id and checksum tell them if the slot was overwritten meanwhile.
 */
#ifndef IFP_STORAGE_META_H
#define IFP_STORAGE_META_H

#include "pg_ext/storage/page.h"

#include "access/generic_xlog.h"
#include "utils/snapshot.h"

#define IFP_META_BLOCK 0
#define IFP_EXTENTS_BLOCK 3
#define IFP_FIRST_FREE_BLOCK 4
#define IFP_META_MAGIC 0x656d4649 /* "IFme" */
#define IFP_META_VERSION 1

enum { IFP_CHAINS = 8, IFP_MAX_CLOSED = 64, IFP_SLOT_PAGES = 32, IFP_FIRST_CLOCK = 16 };

/* A chain of pending pages (storage/pending.h); clock is 0 if there is none. */
struct ifp_chain {
	uint32 clock;
	BlockNumber head, tail;
	uint32 n_pages;
};

struct ifp_meta {
	uint32 magic, version;
	uint64 index_id;      /* random, new with every build: the key of a backend's caches */
	uint64 removal_epoch; /* incremented by every removal of entries, before VACUUM frees the rows */
	uint64 manifest_id;
	uint32 manifest_bytes;
	uint32 slot; /* 0 or 1: the active one */
	uint32 n_slot_pages[2];
	BlockNumber slots[2][IFP_SLOT_PAGES];
	uint32 clock; /* last number assigned */
	uint32 worklist_below;
	BlockNumber series_head, series_tail;
	struct ifp_chain open[IFP_CHAINS]; /* entries are appended to these */
	uint32 n_closed;
	struct ifp_chain closed[IFP_MAX_CLOSED]; /* waiting to be flushed */
};

/* Writes blocks 0 to 3 of an index with this manifest, of at most a page, to an empty fork. Logs nothing. */
void ifp_meta_create(Relation index, ForkNumber fork, const uint8 *manifest, uint32 n_manifest_bytes);

/* Locks the metapage. Raises "corrupt" and "format" errors, as do the functions below. */
Buffer ifp_meta_lock(Relation index, int lock_mode);

/* Copies the metapage, but for unused members of `closed`. */
void ifp_meta_read(Relation index, struct ifp_meta *meta);

/* True if entries were removed since the metapage was read, or the index was rebuilt. */
bool ifp_meta_has_removed(Relation index, const struct ifp_meta *before);

/* Returns the number of pages in pending chains. Reads no page. */
uint32 ifp_pending_pages(const struct ifp_meta *meta);

/* Fields of the metapage that estimates need. */
struct ifp_meta_sizes {
	uint64 index_id, manifest_id;
	uint32 manifest_bytes, n_pending_pages;
};

/* Reads them, without verifying the checksum, since planning a query needs them several times. */
void ifp_meta_read_sizes(Relation index, struct ifp_meta_sizes *sizes);

/* The number of changes of metapages that this backend has made. */
extern uint64 ifp_meta_n_changes;

/* Raises an error if the snapshot is too old and entries that it should see may have been removed: every removal writes the
 * metapage. */
void ifp_meta_test_for_old_snapshot(Relation index, Snapshot snapshot);

/* A change of the metapage: begin locks the page, the caller changes edit.meta in place, finish logs the change, cancel
 * discards it. Further buffers may be registered with edit.state in between. An error in between undoes everything. */
struct ifp_meta_edit {
	Buffer buffer;
	GenericXLogState *state;
	Page page;
	struct ifp_meta *meta;
};

void ifp_meta_begin(Relation index, struct ifp_meta_edit *edit);
void ifp_meta_finish(struct ifp_meta_edit *edit);
void ifp_meta_cancel(struct ifp_meta_edit *edit);

/* Assigns the next clock number, in a separate WAL record: a number is never assigned twice, even if its run or chain is not
 * created. */
uint32 ifp_meta_tick(Relation index);

/* Puts everything numbered so far on the worklist. Requires  the locks MAINTENANCE and, exclusively, NEWER. */
void ifp_set_worklist(Relation index);

/* Returns a random number that nobody can guess. */
uint64 ifp_random(void);

#endif
