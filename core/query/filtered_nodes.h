/* query/filtered_nodes.h -- Cache of nodes and leaf pages without the entries that a filter excludes.
 *
 *   for a leaf page   the excluded entries of each block, as bits
 *   for a node page   its nodes, each recomputed on first use without the excluded entries below it
 *
 * Cached pages are keyed by run id and generation, under which a run never changes. The set of excluded entries may only grow:
 * each node keeps the number of excluded keys in its range, and is recomputed when that number has changed.
 */
#ifndef IFOREST_QUERY_FILTERED_NODES_H
#define IFOREST_QUERY_FILTERED_NODES_H

#include <stdbool.h>

#include "core/base/alloc.h"
#include "core/page/leaf.h"
#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"
#include "core/run/pager.h"

/* Most bytes kept, apart from pinned pages. With pages of 4000 bytes and one value column, that is enough for about 150 000
 * leaf pages and the nodes above them. */
#define IFOREST_FILTERED_NODES_BYTES ((size_t)64 << 20)

struct iforest_filtered_page {
	struct iforest_filtered_page *next;  /* in its hash bucket */
	uint64_t run_id, generation, number; /* of the page */
	unsigned level, n_items;	     /* blocks or nodes */
	unsigned n_pins;
	size_t n_bytes;
	uint64_t version;			/* of a node page: the cache's version when n_excluded was last checked */
	uint64_t n_keys;			/* of a leaf page: excluded keys in its range, IFOREST_NOT_KNOWN at first */
	uint16_t n_entries;			/* of a leaf page: live entries among them */
	struct iforest_block_exclusion *blocks; /* of a leaf page: n_items; else NULL */
	uint8_t *nodes;				/* of a node page: n_items of fields->node_bytes; else NULL */
	uint64_t n_excluded[]; /* of a node page: excluded keys under each node; IFOREST_NOT_KNOWN: not computed */
};

#define IFOREST_NOT_KNOWN UINT64_MAX

struct iforest_filtered_nodes {
	const struct iforest_alloc *alloc;
	struct iforest_filtered_page **buckets; /* n_buckets lists, a power of two and at least n_pages */
	struct iforest_filtered_page *last;	/* the page found last, or NULL */
	size_t n_buckets, n_pages, n_bytes, most_bytes;
	uint64_t version; /* rises when the filter excludes more */
	bool is_fixed;	  /* several threads read it: nothing may be added, changed or pinned */
};

/* Starts an empty cache. alloc must outlive it. */
void iforest_filtered_nodes_init(struct iforest_filtered_nodes *filtered_nodes, const struct iforest_alloc *alloc);
void iforest_filtered_nodes_release(struct iforest_filtered_nodes *filtered_nodes);

/* Tells the cache that the filter may exclude more entries from now on. */
static inline void iforest_filtered_nodes_outdate(struct iforest_filtered_nodes *filtered_nodes)
{
	filtered_nodes->version++;
}

/* Returns the cached page, possibly of an older version, or NULL. It stays valid until the next iforest_filtered_nodes_make(),
 * and while its n_pins is not 0. */
struct iforest_filtered_page *iforest_filtered_nodes_find(struct iforest_filtered_nodes *filtered_nodes,
							  const struct iforest_place *place, unsigned level, uint64_t number);

/* Adds an empty entry for a page that has none, and first evicts unpinned pages if the cache would exceed its size. Returns
 * NULL if out of memory. */
struct iforest_filtered_page *iforest_filtered_nodes_make(struct iforest_filtered_nodes *filtered_nodes,
							  const struct iforest_place *place, unsigned level, uint64_t number,
							  unsigned n_items, const struct iforest_node_schema *fields);

/* ---- Filtered nodes and leaf pages at a cursor ---- */

/* Replaces *node, node i of a level on a pinned page, by the same node without excluded entries; by NULL if there is not enough
 * memory, or the cache is fixed and does not have it. May replace pinned pages of lower levels. The bytes stay valid until the
 * next call.
 * Requires  filter->filtered_nodes; so do all functions below.
 * Cost      the first time, reads the leaf pages below that have excluded entries; then none.
 * Errors    as iforest_cursor_seek(), and those of the filter. */
enum iforest_status iforest_filtered_node(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					  const struct iforest_filter *filter, const uint8_t **node);

/* Returns the filtered node k of the page pinned on a level, or NULL if it is not in the cache. Cost: a search in memory. */
const uint8_t *iforest_filtered_node_if_known(struct iforest_cursor *cursor, unsigned level, unsigned k,
					      const struct iforest_filter *filter);

/* Replaces *node by the filtered node of a leaf page and, if the page has excluded entries, pins the page without them. *known:
 * this worked, and the filter need not be asked; otherwise *node is unchanged. */
enum iforest_status iforest_filtered_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_filter *filter,
					  const uint8_t **node, bool *known);

#endif
