/* storage/meta.h -- The metapage: block 0, the root of everything and the only commit point.
 *
 * It is small, and every change of it is one atomic record.
 *
 * A clock number is given to every chain of pending entries and every run when it is begun. It is the owner that stands on
 * its pages and in the list of extents, and its age: what is numbered below `worklist_below` is the business of whoever
 * holds the maintenance lock (storage/locks.h).
 *
 * The manifest (core/run/manifest.h) may be larger than a page. It lies in one of two slots of pages; a publish writes the other
 * slot and then turns the metapage to it, together with the chains that the new manifest replaces. Readers copy the metapage
 * and then the slot, and know by the manifest's id and checksum whether the slot was overwritten meanwhile.
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

/* A chain of pending pages (storage/pending.h). clock 0: there is none. */
struct ifp_chain {
	uint32 clock;
	BlockNumber head, tail;
	uint32 n_pages;
};

struct ifp_meta {
	uint32 magic, version;
	uint64 index_id;      /* random, new with every build: caches of a backend go by it */
	uint64 removal_epoch; /* raised by every removal of entries before VACUUM goes on to free rows */
	uint64 manifest_id;
	uint32 manifest_bytes;
	uint32 slot; /* 0 or 1: the one in force */
	uint32 n_slot_pages[2];
	BlockNumber slots[2][IFP_SLOT_PAGES];
	uint32 clock; /* last number given */
	uint32 worklist_below;
	BlockNumber series_head, series_tail;
	struct ifp_chain open[IFP_CHAINS]; /* entries are appended to these */
	uint32 n_closed;
	struct ifp_chain closed[IFP_MAX_CLOSED]; /* and these wait to be made into runs */
};

/* Writes blocks 0 to 3 of an index with this manifest, of at most a page, into a fork that has no block yet. Nothing is
 * logged. */
void ifp_meta_create(Relation index, ForkNumber fork, const uint8 *manifest, uint32 n_manifest_bytes);

/* Locks the metapage. Raises "corrupt" and "format" errors, as do those below. */
Buffer ifp_meta_lock(Relation index, int lock_mode);

/* Copies the metapage. */
void ifp_meta_read(Relation index, struct ifp_meta *meta);

/* Fails if entries may have been removed that the snapshot, being too old, should see: every removal writes the metapage. */
void ifp_meta_test_for_old_snapshot(Relation index, Snapshot snapshot);

/* A change of the metapage: begin, change edit.meta in place, then finish. Further buffers may be registered with edit.state
 * in between. begin locks the page; errors in between undo everything. */
struct ifp_meta_edit {
	Buffer buffer;
	GenericXLogState *state;
	Page page;
	struct ifp_meta *meta;
};

void ifp_meta_begin(Relation index, struct ifp_meta_edit *edit);
void ifp_meta_finish(struct ifp_meta_edit *edit);
void ifp_meta_cancel(struct ifp_meta_edit *edit);

/* Gives the next clock number, with a record of its own: a number is on its way to nobody else even if what it is for fails. */
uint32 ifp_meta_tick(Relation index);

/* Makes everything numbered so far older than the worklist. Requires the locks MAINTENANCE and, exclusively, NEWER. */
void ifp_set_worklist(Relation index);

/* A number that nobody can guess or has seen before. */
uint64 ifp_random(void);

#endif
