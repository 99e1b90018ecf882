/* query/filtered_nodes.h -- Cache of node and leaf aggregates without the entries that a filter excludes.
 *
 *   of a leaf page   which entries of each block do not count
 *   of a node page   its nodes, of which some are known yet, as they would stand there if those entries had been removed
 *
 * A run never changes under its run id and generation. What the filter takes out may become more; of each node is kept how
 * many keys that were, so that it is known until there are more of its own.
 */
#ifndef IFOREST_QUERY_FILTERED_NODES_H
#define IFOREST_QUERY_FILTERED_NODES_H

#include <stdbool.h>

#include "core/base/alloc.h"
#include "core/page/leaf.h"
#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"
#include "core/run/pager.h"

/* Kept at most, but for what is pinned: with pages of 4000 bytes and a value column, what is left of some 150 000 leaf pages and
 * of the nodes above them. */
#define IFOREST_FILTERED_NODES_BYTES ((size_t)64 << 20)

struct iforest_filtered_page {
	struct iforest_filtered_page *next;  /* of its bucket */
	uint64_t run_id, generation, number; /* of the page */
	unsigned level, n_items;	     /* blocks or nodes */
	unsigned n_pins;
	size_t n_bytes;
	uint64_t version;		   /* of a node page: when n_gone was last looked at */
	uint64_t n_keys;		   /* of a leaf page, in its range, that do not count: IFOREST_NOT_KNOWN at first; */
	uint16_t n_entries;		   /* those of them that are live entries of it */
	struct iforest_block_gone *blocks; /* of a leaf page: n_items */
	uint8_t *nodes;			   /* of a node page: n_items of fields->node_bytes */
	uint64_t n_gone[];		   /* and how many keys of each did not count; IFOREST_NOT_KNOWN: not computed */
};

#define IFOREST_NOT_KNOWN UINT64_MAX

struct iforest_filtered_nodes {
	const struct iforest_alloc *alloc;
	struct iforest_filtered_page **buckets; /* n_buckets lists, a power of two, as many as there are pages or more */
	struct iforest_filtered_page *last;	/* that was found last, or NULL */
	size_t n_buckets, n_pages, n_bytes, most_bytes;
	uint64_t version; /* counts the times that more was taken out */
	bool is_fixed;	  /* several threads read: nothing is added or changed */
};

/* Keeps nothing yet. alloc must outlive it. */
void iforest_filtered_nodes_init(struct iforest_filtered_nodes *filtered_nodes, const struct iforest_alloc *alloc);
void iforest_filtered_nodes_release(struct iforest_filtered_nodes *filtered_nodes);

/* From now on more entries may be taken out of runs than before. */
static inline void iforest_filtered_nodes_outdate(struct iforest_filtered_nodes *filtered_nodes)
{
	filtered_nodes->version++;
}

/* That of a page, if there is one, perhaps of an older version; it stays until the next iforest_filtered_nodes_make(), and as long
 * as its n_holds is not 0. */
struct iforest_filtered_page *iforest_filtered_nodes_find(struct iforest_filtered_nodes *filtered_nodes,
							  const struct iforest_place *place, unsigned level, uint64_t number);

/* Makes one, which was not there, of which nothing is known. NULL without memory. Where all would take more than may be kept,
 * those that nobody holds are forgotten. */
struct iforest_filtered_page *iforest_filtered_nodes_make(struct iforest_filtered_nodes *filtered_nodes,
							  const struct iforest_place *place, unsigned level, uint64_t number,
							  unsigned n_items, const struct iforest_node_schema *fields);

/* ---- Filtered nodes and leaf pages at a cursor ---- */

/* Gives instead of a node, which is one of a page that is pinned, what is left of it without the entries that do not count; NULL
 * where that cannot be had. Pages below it are pinned afterwards that were not before. The bytes stay until the next call.
 * Requires  the filter keeps remainders. The same for the next.
 * Cost      the first time, all leaf pages below of which some entries do not count; then none. */
enum iforest_status iforest_filtered_node(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					  const struct iforest_filter *filter, const uint8_t **node);

/* That of node k of the page that is pinned on a level, if it is known. Cost: a search in memory. */
const uint8_t *iforest_filtered_node_if_known(struct iforest_cursor *cursor, unsigned level, unsigned k,
					      const struct iforest_filter *filter);

/* iforest_filtered_node() of the node of a leaf page, and of the page itself, which if some entries of it do not count is
 * held, without them. *known: that could be had, and the filter need not be asked; else *node is as it was. */
enum iforest_status iforest_filtered_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_filter *filter,
					  const uint8_t **node, bool *known);

#endif
