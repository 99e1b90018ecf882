/* remainder.h -- what is left of pages without the entries that a filter takes out, kept in memory: found out when first asked
 * for, from the entries, so that afterwards a page costs what it would if those had been removed from it.
 *
 *   of a leaf page   which entries of each block do not count
 *   of a node page   its nodes, of which some are known yet, as they would stand there if those entries had been removed
 *
 * A run never changes under its run id and generation. What the filter takes out may become more; of each node is kept how
 * many keys that were, so that it is known until there are more of its own.
 */
#ifndef IFOREST_REMAINDER_H
#define IFOREST_REMAINDER_H

#include <stdbool.h>

#include "core/base/alloc.h"
#include "core/page/leaf.h"
#include "core/run/pager.h"

/* Kept at most, but for what is held: with pages of 4000 bytes and a value column, what is left of some 150 000 leaf pages and
 * of the nodes above them. */
#define IFOREST_REMAINDER_BYTES ((size_t)64 << 20)

struct iforest_remainder {
	struct iforest_remainder *next;      /* of its bucket */
	uint64_t run_id, generation, number; /* of the page */
	unsigned level, n_items;             /* blocks or nodes */
	unsigned n_holds;
	size_t n_bytes;
	uint64_t version;                    /* of a node page: when n_gone was last looked at */
	uint64_t n_keys;                     /* of a leaf page, in its range, that do not count: IFOREST_NOT_KNOWN at first; */
	uint16_t n_entries;                  /* those of them that are live entries of it */
	struct iforest_block_gone *blocks;   /* of a leaf page: n_items */
	uint8_t *nodes;                      /* of a node page: n_items of fields->node_bytes */
	uint64_t n_gone[];                   /* and how many keys of each did not count; IFOREST_NOT_KNOWN: not computed */
};

#define IFOREST_NOT_KNOWN UINT64_MAX

struct iforest_remainders {
	const struct iforest_alloc *alloc;
	struct iforest_remainder **buckets; /* n_buckets lists, a power of two, as many as there are pages or more */
	struct iforest_remainder *last;     /* that was found last, or NULL */
	size_t n_buckets, n_pages, n_bytes, most_bytes;
	uint64_t version;                   /* counts the times that more was taken out */
	bool is_fixed;                      /* several threads read: nothing is added or changed */
};

/* Keeps nothing yet. alloc must outlive it. */
void iforest_remainders_init(struct iforest_remainders *remainders, const struct iforest_alloc *alloc);
void iforest_remainders_release(struct iforest_remainders *remainders);

/* From now on more entries may be taken out of runs than before. */
static inline void iforest_remainders_outdate(struct iforest_remainders *remainders)
{
	remainders->version++;
}

/* That of a page, if there is one, perhaps of an older version; it stays until the next iforest_remainders_make(), and as long
 * as its n_holds is not 0. */
struct iforest_remainder *iforest_remainders_find(struct iforest_remainders *remainders, const struct iforest_place *place,
						  unsigned level, uint64_t number);

/* Makes one, which was not there, of which nothing is known. NULL without memory. Where all would take more than may be kept,
 * those that nobody holds are forgotten. */
struct iforest_remainder *iforest_remainders_make(struct iforest_remainders *remainders, const struct iforest_place *place,
						  unsigned level, uint64_t number, unsigned n_items,
						  const struct iforest_fields *fields);

#endif
