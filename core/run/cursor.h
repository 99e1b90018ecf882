/* run/cursor.h -- Position in one run, and the pages pinned along the path to it.
 *
 * The cursor pins one page of each level. A seek descends from the root; a step to the next page continues from the pinned
 * path. Entries are read block by block, in either direction. Folds and other readers in core/query build on the second half of
 * this header: pages and nodes on the path.
 *
 *   level 3            [ root, in the manifest ]
 *   level 2   path[2]  [ node page ]
 *   level 1   path[1]  [ node page ]             the nodes of leaf pages
 *   level 0   path[0]  [ leaf page ]  position = (leaf_number, block, entry)
 *
 * All functions that open pages fail with IFOREST_CORRUPT or IFOREST_FORMAT, and then store->fault names the page, or with what
 * the pager returned.
 */
#ifndef IFOREST_RUN_CURSOR_H
#define IFOREST_RUN_CURSOR_H

#include "core/page/leaf.h"
#include "core/run/manifest.h"

#define IFOREST_EXCERPT_BYTES 2048

/* A page that the cursor has pinned. */
struct iforest_pinned_page {
	struct iforest_page page;
	bool is_pinned;
	uint64_t number;
	uint64_t n_between; /* on level 1: node pages that precede its leaf pages in the run */
	uint64_t opening;   /* 1 or more; different for every page that the cursor pins */
	struct iforest_page_header header;
};

struct iforest_cursor {
	struct iforest_store *store;
	const struct iforest_manifest *manifest;
	const struct iforest_run *run;
	unsigned top_level;					 /* of the run's node pages; the path above is not set */
	struct iforest_pinned_page path[IFOREST_MAX_LEVELS + 1]; /* [0]: the leaf page */
	struct iforest_leaf leaf;				 /* of path[0] */
	unsigned *n_users;		    /* NULL, or the pin count of leaf.excluded, released with the leaf page */
	uint16_t n_excluded;		    /* number of entries that leaf.excluded excludes */
	struct iforest_block_reader reader; /* on a block of the leaf page; the position's block if reader_is_open */
	bool reader_is_open;
	/* a few blocks copied from a leaf page, if is_there; no leaf page is pinned then, and while the position is in the
	 * excerpt, `reader` is on its block */
	struct {
		bool is_there, is_last; /* is_last: the page ends with them */
		uint64_t leaf_number;
		unsigned first; /* block */
		struct iforest_leaf leaf;
		struct iforest_key next; /* no entry after the blocks is before it; its ref is INT64_MIN */
		uint8_t bytes[IFOREST_EXCERPT_BYTES];
	} excerpt;
	/* the position; leaf_number = n_leaves is the end of the run */
	uint64_t leaf_number;
	unsigned block, entry;
	uint64_t n_pages_opened, n_leaf_pages_opened; /* since init, for tests and EXPLAIN */
};

/* Places the cursor at the start of the run, with nothing pinned. store, manifest and run must outlive the cursor and must not
 * be moved. */
void iforest_cursor_init(struct iforest_cursor *cursor, struct iforest_store *store, const struct iforest_manifest *manifest,
			 const struct iforest_run *run);

/* Unpins all pages and moves the cursor back to the start. */
void iforest_cursor_release(struct iforest_cursor *cursor);

/* Moves to the first entry at or after the key.
 * Cost  one page per level. */
enum iforest_status iforest_cursor_seek(struct iforest_cursor *cursor, const struct iforest_key *key);

/* iforest_cursor_seek() for a caller who probably reads no entry at or after `to`. If the entries before it are in a few blocks
 * of one leaf page, which is not pinned, and the pager can pin briefly, only these blocks are copied, as cursor->excerpt, and
 * the page is not pinned. Whoever reads on pins it.
 * Requires  both keys are made by iforest_key_at() or iforest_key_nulls(), of one series.
 * Errors    as iforest_cursor_seek().
 * Cost      as iforest_cursor_seek(); the leaf page twice if the blocks are too many. */
enum iforest_status iforest_cursor_seek_before(struct iforest_cursor *cursor, const struct iforest_key *key,
					       const struct iforest_key *to);

/* Gives the key of the entry at the position, removed or not; the ref is not read, it is INT64_MIN. *at_end: there is no
 * entry. */
enum iforest_status iforest_cursor_key(struct iforest_cursor *cursor, struct iforest_key *key, bool *at_end);

/* Gives the block at the position with the requested columns unpacked (bit IFOREST_TIMES, IFOREST_REFS, IFOREST_VALUES + v);
 * NULL at the end of the run. cursor->entry is the index of the entry in it. Valid until the next call. */
enum iforest_status iforest_cursor_block(struct iforest_cursor *cursor, uint32_t columns, const struct iforest_block **block);

/* Moves to the first entry of the next block, or to the end of the run. */
enum iforest_status iforest_cursor_next(struct iforest_cursor *cursor);

/* Moves to the first entry of the previous block; from the end of the run, of the last block. *at_start: there is no previous
 * block, and the cursor does not move. */
enum iforest_status iforest_cursor_previous(struct iforest_cursor *cursor, bool *at_start);

/* ---- Pages and nodes on the path; for core/run and core/query only ---- */

/* Notes in the store's fault which page is wrong and how. Returns status. */
enum iforest_status iforest_cursor_report_corrupt(struct iforest_cursor *cursor, enum iforest_status status, const char *what,
						  unsigned level, uint64_t number);

/* Notes that the pinned leaf page is wrong, unless status is IFOREST_OK. Returns status. */
enum iforest_status iforest_cursor_report_leaf(struct iforest_cursor *cursor, enum iforest_status status);

/* Pins page `number` in path[level] in place of the page there, and checks it unless that was done before. A leaf page number
 * beyond the run is IFOREST_CORRUPT: the node page that led there has too many nodes. */
enum iforest_status iforest_cursor_replace(struct iforest_cursor *cursor, unsigned level, uint64_t number);

/* Pins page `number` in path[level] unless it is there already. */
static inline enum iforest_status iforest_cursor_pin(struct iforest_cursor *cursor, unsigned level, uint64_t number)
{
	const struct iforest_pinned_page *pinned = &cursor->path[level];

	return pinned->is_pinned && pinned->number == number ? IFOREST_OK : iforest_cursor_replace(cursor, level, number);
}

/* Prefetches a page unless it is pinned or the pager cannot prefetch. of_maxima: as in pager.h. */
void iforest_cursor_prefetch(const struct iforest_cursor *cursor, unsigned level, uint64_t number, bool of_maxima);

/* Returns a page's index in the run. Leaf pages under one node page are contiguous. */
uint64_t iforest_cursor_page_index(const struct iforest_cursor *cursor, unsigned level, uint64_t number);

/* Pins a leaf page briefly, without a copy if the pager can: until the unpin the caller must not read another page, nor call
 * anything that may block or longjmp (pager.h). If the pager cannot, or the page is path[0] already, pins it as
 * iforest_cursor_pin() does. The caller must unpin it if the status is IFOREST_OK. */
enum iforest_status iforest_cursor_pin_briefly(struct iforest_cursor *cursor, uint64_t number, struct iforest_page *page,
					       struct iforest_leaf *leaf);
void iforest_cursor_unpin_brief(struct iforest_cursor *cursor, struct iforest_page *page);

/* Returns the bytes of node k of the page pinned on a level. */
static inline const uint8_t *iforest_cursor_sibling(const struct iforest_cursor *cursor, unsigned level, unsigned k)
{
	return iforest_node_at(cursor->path[level].page.bytes, &cursor->manifest->fields, k);
}

/* iforest_cursor_node() for a page that is not pinned. */
enum iforest_status iforest_cursor_seek_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, const uint8_t **bytes);

/* Gives the bytes of node i of a level: levels 1 .. n_levels are on pages, which this pins; n_levels + 1 is the root in the
 * manifest. Valid while the page is pinned. */
static inline enum iforest_status iforest_cursor_node(struct iforest_cursor *cursor, unsigned level, uint64_t i,
						      const uint8_t **bytes)
{
	const struct iforest_pinned_page *pinned = &cursor->path[level];

	if (level <= cursor->run->n_levels && pinned->is_pinned) {
		uint64_t k = i - pinned->number * cursor->manifest->fanout;

		if (k < pinned->header.n_items) {
			*bytes = iforest_cursor_sibling(cursor, level, (unsigned)k);
			return IFOREST_OK;
		}
	}
	return iforest_cursor_seek_node(cursor, level, i, bytes);
}

/* True if node k of a pinned page begins before the key (or_at: or at it). */
static inline bool iforest_cursor_begins_before(const struct iforest_cursor *cursor, unsigned level, unsigned k,
						const struct iforest_key *key, bool or_at)
{
	struct iforest_key first = iforest_node_first(iforest_cursor_sibling(cursor, level, k));

	return iforest_key_compare(&first, key) < (or_at ? 1 : 0);
}

/* Returns the last of the nodes [low, high) of a pinned page that begins before the key (or_at: or at it). Assumes that node
 * `low` does. */
static inline unsigned iforest_cursor_bisect_nodes(const struct iforest_cursor *cursor, unsigned level, unsigned low,
						   unsigned high, const struct iforest_key *key, bool or_at)
{
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (iforest_cursor_begins_before(cursor, level, middle, key, or_at))
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Returns the last node of a pinned page, from `low` on, that begins before the key (or_at: or at it); `low` if none does.
 * Cost  O(log of the distance). */
static inline unsigned iforest_cursor_last_node(const struct iforest_cursor *cursor, unsigned level, unsigned low,
						const struct iforest_key *key, bool or_at)
{
	unsigned n = cursor->path[level].header.n_items, step = 1, high;

	for (; low + step < n && iforest_cursor_begins_before(cursor, level, low + step, key, or_at); step *= 2)
		low += step;
	high = low + step < n ? low + step : n;
	return iforest_cursor_bisect_nodes(cursor, level, low, high, key, or_at);
}

/* iforest_cursor_last_node() that starts at a guess, `low` or more.
 * Cost  O(log of the distance to the guess). */
static inline unsigned iforest_cursor_last_node_near(const struct iforest_cursor *cursor, unsigned level, unsigned low,
						     unsigned guess, const struct iforest_key *key, bool or_at)
{
	unsigned n = cursor->path[level].header.n_items, step = 1, high;

	guess = guess < n ? guess : n - 1;
	if (guess <= low || iforest_cursor_begins_before(cursor, level, guess, key, or_at))
		return iforest_cursor_last_node(cursor, level, guess > low ? guess : low, key, or_at);
	for (high = guess; high - low > step && !iforest_cursor_begins_before(cursor, level, high - step, key, or_at);
	     step *= 2)
		high -= step;
	low = high - low > step ? high - step : low;
	return iforest_cursor_bisect_nodes(cursor, level, low, high, key, or_at);
}

/* Puts the reader on a block of the pinned leaf page. */
void iforest_cursor_read_block(struct iforest_cursor *cursor, unsigned block);

/* Finds the entries [*first, *end) of a block of the pinned leaf page whose keys lie in [from, to), and puts the reader on the
 * block if there may be any. The key columns are unpacked only if an end of the range may lie in the block.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_cursor_find_in_block(struct iforest_cursor *cursor, unsigned block, const struct iforest_key *from,
						 const struct iforest_key *to, unsigned *first, unsigned *end);

static inline void iforest_cursor_stand_at(struct iforest_cursor *cursor, uint64_t leaf_number, unsigned block, unsigned entry)
{
	cursor->leaf_number = leaf_number;
	cursor->block = block;
	cursor->entry = entry;
}

/* From the start of a leaf page, skips leaf pages that have no live entries according to their nodes. Does nothing within a
 * leaf page, or in a run marked removal_in_progress, whose nodes may be stale.
 * Cost  reads no leaf page, and each node page at most once, but none below a node without live entries. */
enum iforest_status iforest_cursor_pass_dead(struct iforest_cursor *cursor);

/* True if the position is in the excerpt. */
static inline bool iforest_cursor_is_in_excerpt(const struct iforest_cursor *cursor)
{
	return cursor->excerpt.is_there && cursor->leaf_number == cursor->excerpt.leaf_number &&
	       cursor->block >= cursor->excerpt.first &&
	       cursor->block - cursor->excerpt.first < cursor->excerpt.leaf.header.n_items;
}

/* Moves to an entry of the position's block, which is in the excerpt; with the block's number of entries, to the start of the
 * next block. Returns true if it moved to a block of the excerpt. */
bool iforest_cursor_stand_in_excerpt(struct iforest_cursor *cursor, unsigned entry);

/* Finds the position of the key in the pinned leaf page; (number of blocks, 0) is its end. */
enum iforest_status iforest_cursor_find_in_leaf(struct iforest_cursor *cursor, const struct iforest_key *key, unsigned *block,
						unsigned *entry);

/* True if the pinned leaf page has cached maxima that prove that it has all entries of [from, to) and one at or after `to`.
 * Both are keys made by iforest_key_at(). */
bool iforest_cursor_leaf_has(const struct iforest_cursor *cursor, const struct iforest_key *from, const struct iforest_key *to);

#endif
