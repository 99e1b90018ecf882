/* remainder.h -- what is left of nodes without the entries that a filter takes out, kept in memory: computed when first asked
 * for, from the entries, so that afterwards a leaf page of which some do not count costs what a node does, and so does all
 * above it.
 *
 * Kept by node page: the nodes of a page, of which some are known yet, as they would stand there if those entries had been
 * removed. A run never changes under its run id and generation. What the filter takes out may become more; of each node is
 * kept how many keys that were, so that it is known until there are more of its own.
 */
#ifndef IFOREST_REMAINDER_H
#define IFOREST_REMAINDER_H

#include <stdbool.h>

#include "core/alloc.h"
#include "core/fields.h"
#include "core/pager.h"

#define IFOREST_REMAINDER_BYTES ((size_t)64 << 20) /* kept at most: at 4000 bytes a page, what is left of 16 000 node pages */

/* Of the nodes of a page. */
struct iforest_remainder_page {
	struct iforest_remainder_page *next; /* of its bucket */
	uint64_t run_id, generation, number;
	unsigned level, n_nodes;
	uint64_t version;
	uint8_t *nodes;                      /* n_nodes of fields->node_bytes */
	uint64_t n_gone[];                   /* of each node the keys that did not count; IFOREST_NOT_KNOWN: not computed */
};

#define IFOREST_NOT_KNOWN UINT64_MAX

struct iforest_remainders {
	const struct iforest_alloc *alloc;
	struct iforest_remainder_page **buckets; /* n_buckets lists, a power of two, as many as there are pages or more */
	struct iforest_remainder_page *last;     /* that was found last, or NULL */
	size_t n_buckets, n_pages, n_bytes, most_bytes;
	uint64_t version;                        /* counts the times that more was taken out */
	bool is_fixed;                           /* several threads read: nothing is added */
};

/* Keeps nothing yet. alloc must outlive it. */
void iforest_remainders_init(struct iforest_remainders *remainders, const struct iforest_alloc *alloc);
void iforest_remainders_release(struct iforest_remainders *remainders);

/* From now on more entries may be taken out of runs than before. */
static inline void iforest_remainders_outdate(struct iforest_remainders *remainders)
{
	remainders->version++;
}

/* That of a node page, if there is one, perhaps of an older version; it stays until the next iforest_remainders_make(). */
struct iforest_remainder_page *iforest_remainders_find(struct iforest_remainders *remainders, const struct iforest_place *place,
						       unsigned level, uint64_t number);

/* Makes one, which was not there, of nodes that are not known. NULL without memory. Where all would take more than may be kept
 * the others are forgotten. */
struct iforest_remainder_page *iforest_remainders_make(struct iforest_remainders *remainders, const struct iforest_place *place,
						       unsigned level, uint64_t number, unsigned n_nodes,
						       const struct iforest_fields *fields);

#endif
