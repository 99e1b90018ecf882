/* run/cursor.h -- Position in one run and the pages pinned along the path to it.
 *
 * The cursor pins one page of each level. A seek descends from the root; a step to the next page goes on from the pinned path.
 * Entries are read block by block, in either direction.
 */
#ifndef IFOREST_RUN_CURSOR_H
#define IFOREST_RUN_CURSOR_H

#include "core/page/leaf.h"
#include "core/run/manifest.h"

/* A page the cursor holds. */
struct iforest_pinned_page {
	struct iforest_page page;
	bool is_pinned;
	uint64_t number;
	uint64_t n_between; /* of level 1: node pages that stand before leaf pages under it */
	uint64_t opening;   /* differs from that of every other page that the cursor has pinned; 1 or more */
	struct iforest_page_header header;
};

struct iforest_cursor {
	struct iforest_store *store;
	const struct iforest_manifest *manifest;
	const struct iforest_run *run;
	struct iforest_pinned_page path[IFOREST_MAX_LEVELS + 1]; /* [0]: the leaf page */
	struct iforest_leaf leaf;				 /* over path[0] */
	unsigned *n_users;		    /* NULL, or of what leaf.gone points to: one less once the leaf page is unpinned */
	uint16_t n_gone;		    /* entries of the leaf that leaf.gone takes out */
	struct iforest_block_reader reader; /* over a block of leaf; its number is block if reader_is_open */
	bool reader_is_open;
	/* the position: entry `entry` of block `block` of leaf page `leaf_number`; n_leaves: the end of the run */
	uint64_t leaf_number;
	unsigned block, entry;
	uint64_t n_pages_opened, n_leaf_pages_opened; /* since init, for tests and EXPLAIN */
};

/* Stands at the start of the run, holds nothing yet. store, manifest and run must outlive the cursor and stay in place. */
void iforest_cursor_init(struct iforest_cursor *cursor, struct iforest_store *store, const struct iforest_manifest *manifest,
			 const struct iforest_run *run);

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

/* What cursor.c (position), fold.c (folding), fold.c (of it the leaf pages that are cut),
 * fold.c (its whole nodes), filtered_nodes.c (pages without what does not count), fold.c (counts and sums
 * alone), fold.c (what will be read next), extremes.c (extremes alone), and find_single_maximum.c and
 * extremes.c (of them one greatest value, the longest span of a pixel) share. Not for others. */

/* Notes in the store's fault what is wrong with which page; returns status. */
enum iforest_status iforest_cursor_report_corrupt(struct iforest_cursor *cursor, enum iforest_status status, const char *what,
						  unsigned level, uint64_t number);

/* The same for an entry of the leaf page that is pinned; does nothing where status is IFOREST_OK. */
enum iforest_status iforest_cursor_report_leaf(struct iforest_cursor *cursor, enum iforest_status status);

/* Sees to it that path[level] is page `number` of the level, checked. */
enum iforest_status iforest_cursor_pin(struct iforest_cursor *cursor, unsigned level, uint64_t number);

/* Where a page stands in the run. Leaf pages under the node page that is pinned follow one another. */
uint64_t iforest_cursor_page_index(const struct iforest_cursor *cursor, unsigned level, uint64_t number);

/* A leaf page for as long as nothing else of the run is read and nothing is asked that may wait (pager.h). Where the pager
 * lends none, or it is pinned already, it is pinned. To be given back if the status is IFOREST_OK. */
enum iforest_status iforest_cursor_pin_briefly(struct iforest_cursor *cursor, uint64_t number, struct iforest_page *page,
					       struct iforest_leaf *leaf);
void iforest_cursor_unpin_brief(struct iforest_cursor *cursor, struct iforest_page *page);

/* Bytes of node i of a level: 1 .. n_levels on pages, n_levels + 1 is the root in the manifest. They stay while the page
 * is pinned. */
enum iforest_status iforest_cursor_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, const uint8_t **bytes);

/* Does node k of a held page begin before the key, or at it? */
static inline bool iforest_cursor_begins_before(const struct iforest_cursor *cursor, unsigned level, unsigned k,
						const struct iforest_key *key, bool or_at)
{
	const struct iforest_pinned_page *pinned = &cursor->path[level];
	struct iforest_key first = iforest_node_first(iforest_node_at(pinned->page.bytes, &cursor->manifest->fields, k));

	return iforest_key_compare(&first, key) < (or_at ? 1 : 0);
}

/* The last of the nodes [low, high) of a held page whose first key is before the key (or at it), as it is taken of `low`. */
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

/* The last of the nodes of a held page, from `low` on, whose first key is before the key (or at it); `low` if there is none.
 * Cost: O(log of the distance). */
static inline unsigned iforest_cursor_last_node(const struct iforest_cursor *cursor, unsigned level, unsigned low,
						const struct iforest_key *key, bool or_at)
{
	unsigned n = cursor->path[level].header.n_items, step = 1, high;

	for (; low + step < n && iforest_cursor_begins_before(cursor, level, low + step, key, or_at); step *= 2)
		low += step;
	high = low + step < n ? low + step : n;
	return iforest_cursor_bisect_nodes(cursor, level, low, high, key, or_at);
}

/* The same from a guess on, which is `low` or more. Cost: O(log of the distance to the guess). */
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

/* Puts the reader on a block of the leaf page that is pinned. */
void iforest_cursor_read_block(struct iforest_cursor *cursor, unsigned block);

void iforest_cursor_stand_at(struct iforest_cursor *cursor, uint64_t leaf_number, unsigned block, unsigned entry);

/* Standing at the start of a leaf page: passes over leaf pages in which by their nodes nothing is live. Does nothing within
 * a leaf page, and in a run that is marked, whose nodes are not to be trusted.
 * Cost  no leaf page is read; each node page once, and none below a node without live entries. */
enum iforest_status iforest_cursor_pass_dead(struct iforest_cursor *cursor);

/* Where in the leaf page that is pinned the key belongs; (blocks of the page, 0) is its end. */
enum iforest_status iforest_cursor_find_in_leaf(struct iforest_cursor *cursor, const struct iforest_key *key, unsigned *block,
						unsigned *entry);

/* Is the leaf page that is pinned known by its maxima to have all entries from one position up to another, and one at or after
 * that? Both are of times of a series (iforest_key_at()). */
bool iforest_cursor_leaf_has(const struct iforest_cursor *cursor, const struct iforest_key *from, const struct iforest_key *to);

#endif
