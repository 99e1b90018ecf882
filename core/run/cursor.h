/* cursor.h -- a position in one run, and folding from it: seek, look, fold up to a key.
 *
 * A window is a seek to its start and a fold until its end. Adjacent buckets go on from where the last one ended: the fold
 * climbs from the leaf page through nodes as far as they lie below the target and descends again, so w buckets cost
 * O(w + log N) node reads and never w searches (a finger search; a window opens at most two leaf pages and two node
 * pages a level). The cursor holds one page a level. Entries are walked block by block, in either direction.
 */
#ifndef IFOREST_CURSOR_H
#define IFOREST_CURSOR_H

#include "core/page/leaf_split.h"
#include "core/page/leaf_sums.h"
#include "core/run/manifest.h"

/* A page the cursor holds. */
struct iforest_held_page {
	struct iforest_page page;
	bool is_held;
	uint64_t number;
	uint64_t n_between;                /* of level 1: node pages that stand before leaf pages under it */
	unsigned reached;                  /* the node, or block, where the last range of iforest_cursor_extremes() ended */
	unsigned after_node;               /* `after` is what its nodes from this one on add up to; UINT_MAX: it is not known */
	struct iforest_sums after;
	struct iforest_page_header header;
};

struct iforest_cursor {
	struct iforest_store *store;
	const struct iforest_manifest *manifest;
	const struct iforest_run *run;
	struct iforest_held_page path[IFOREST_MAX_LEVELS + 1]; /* [0]: the leaf page */
	struct iforest_leaf leaf;          /* over path[0] */
	unsigned *n_users;                 /* NULL, or of what leaf.gone points to: one less once the leaf page is unpinned */
	uint16_t n_gone;                   /* entries of the leaf that leaf.gone takes out */
	struct iforest_block_reader reader;/* over a block of leaf; its number is block if reader_is_open */
	bool reader_is_open;
	unsigned reached_entry;            /* of it, a guess: where that range ended */
	/* the position: entry `entry` of block `block` of leaf page `leaf_number`; n_leaves: the end of the run */
	uint64_t leaf_number;
	unsigned block, entry;
	/* what a filter says of leaf page judged_leaf, UINT64_MAX for none yet; from one seek to the next, a cursor is folded
	 * with one filter or without any */
	uint64_t judged_leaf, asked_leaf; /* asked_leaf: one of which a small part was asked for, without that */
	enum iforest_verdict verdict;
	/* What of a leaf page lies at and after a position, as far as `wanted` goes; leaf_number UINT64_MAX: of none. */
	struct {
		uint64_t leaf_number;
		struct iforest_leaf_cut cut;
		struct iforest_wanted wanted;
		struct iforest_aggregate aggregate;
	} rest;
	/* Where positions will be, as far as node pages that are held tell: the next one, the one after it, and one more. */
	struct { struct iforest_key key; uint64_t leaf_number; } expected[3]; /* UINT64_MAX: not known */
	uint64_t expected_row;             /* the row of nodes that was told to the pager last */
	uint64_t n_pages_opened, n_leaf_pages_opened, n_nodes_folded; /* since init, for tests and EXPLAIN */
};

/* Stands at the start of the run, holds nothing yet. store, manifest and run must outlive the cursor and stay in place. */
void iforest_cursor_init(struct iforest_cursor *cursor, struct iforest_store *store,
			 const struct iforest_manifest *manifest, const struct iforest_run *run);

/* Releases the pages it holds; the cursor stands at the start again. */
void iforest_cursor_release(struct iforest_cursor *cursor);

/* Moves to the first entry at or after the key.
 * Cost    one page a level.
 * Errors  IFOREST_CORRUPT or IFOREST_FORMAT (store->fault names the page), or what the pager returned. The same
 *         for all below. */
enum iforest_status iforest_cursor_seek(struct iforest_cursor *cursor, const struct iforest_key *key);

/* The key of the entry it stands at, removed or not; its ref is INT64_MIN (not read). *at_end: there is none. */
enum iforest_status iforest_cursor_key(struct iforest_cursor *cursor, struct iforest_key *key, bool *at_end);

/* The block in which the cursor stands, with the asked columns unpacked (bit IFOREST_TIMES, IFOREST_REFS, IFOREST_VALUES +
 * v); NULL at the end of the run. cursor->entry is the entry in it. Valid until the next call. */
enum iforest_status iforest_cursor_block(struct iforest_cursor *cursor, uint32_t columns, const struct iforest_block **block);

/* To the first entry of the next block (or the end of the run). */
enum iforest_status iforest_cursor_next(struct iforest_cursor *cursor);

/* To the first entry of the block before the one it stands in (from the end of the run: the last block); *at_start: there is
 * none, and the cursor stays. */
enum iforest_status iforest_cursor_previous(struct iforest_cursor *cursor, bool *at_start);

#endif
