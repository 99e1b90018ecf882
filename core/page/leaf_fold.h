/* leaf_fold.h -- the aggregate of entries on leaf pages. The only place where entries become aggregates: builder, reader,
 * removal and check all call it, so a node is by definition what this says of its page. */
#ifndef IFOREST_LEAF_FOLD_H
#define IFOREST_LEAF_FOLD_H

#include "core/page/leaf.h"
#include "core/page/node_slice.h"

struct iforest_remainders;

/* Which of the live entries under a node count. IFOREST_MOST: some do, and asking about them is cheap beside folding them; a
 * leaf page is then its node without the others. */
enum iforest_verdict { IFOREST_ALL, IFOREST_MOST, IFOREST_SOME, IFOREST_NONE };

enum { IFOREST_MOST_GONE = 64 };

/* Tells which entries count where not all do: of what a snapshot sees, of values within bounds. Where it says IFOREST_ALL or
 * IFOREST_NONE of a node, nothing below is opened. */
struct iforest_filter {
	void *context;

	/* Of the live entries under a node, whose bytes are given (node.h). */
	enum iforest_verdict (*of_node)(void *context, const uint8_t *node);

	/* Clears from *live the bits of the entries that do not count. May ask iforest_block_need() for columns. */
	enum iforest_status (*of_entries)(void *context, struct iforest_block_reader *reader, uint64_t *live);

	/* May be NULL. Of a node of which it said IFOREST_MOST, the refs of the entries that do not count, of which not all
	 * need to be there; false: they are too many. */
	bool (*refs_gone)(void *context, const uint8_t *node, int64_t refs[IFOREST_MOST_GONE], unsigned *n_refs);

	/* Both or none may be NULL. Where what is left of pages is kept (remainder.h), and how many keys in the range of a node
	 * do not count: while it is the same number, they are the same ones. Then of_entries() depends on nothing else. */
	struct iforest_remainders *remainders;
	uint64_t (*n_gone)(void *context, const uint8_t *node);
};

/* What a fold is asked for; the rest of the aggregate is left alone. n_rows and n_dead are always counted, the latter with or
 * without those that a filter takes out. */
struct iforest_wanted {
	uint32_t values;  /* bit v: n, sum, min and max of value column v */
	uint32_t no_mins; /* bit v: not its min, which is then left as it is or set */
	uint32_t no_maxs; /* bit v: not its max */
	uint32_t no_rows; /* bit v: of its min and max the value alone, so that times and refs need not be unpacked */
	uint32_t squares; /* bit v: its sum of squares, of columns that keep it (fields.h) */
	uint32_t firsts;  /* bit v: its first row */
	uint32_t lasts;   /* bit v: its last row */
	bool times;       /* first and last time */
	bool node_fields; /* latest end and heap blocks, where the index keeps them */
	/* Of `values` the min and max alone: n and sums are left unfinished, and of n_rows it only matters whether it is 0.
	 * Then what cannot hold a better one need not be read. Not with squares, firsts, lasts, times or node_fields. */
	bool extremes_alone;
	const struct iforest_filter *filter; /* NULL: all live entries count */
};

/* aggregate = aggregate + the entries [from, to) of the block that are live and count; their bits are *counted. Unpacks the
 * columns it needs, no others.
 * Errors  IFOREST_CORRUPT, and those of the filter. */
enum iforest_status iforest_block_fold(struct iforest_block_reader *reader, unsigned from, unsigned to,
				       const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate,
				       uint64_t *counted);

/* The same of all entries of the blocks [from, to) of a page. */
enum iforest_status iforest_leaf_fold_blocks(const struct iforest_leaf *leaf, unsigned from, unsigned to,
					     const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate);

/* Are sums (and counts) of the first value column all that is wanted, so that the summary of a block says what the block
 * adds? */
bool iforest_wants_sums_alone(const struct iforest_wanted *wanted, const struct iforest_fields *fields);

/* Adds a block by its summary alone, where that is all that is wanted. False, and nothing was added: it has none, or entries
 * were removed, or values are missing, or the bytes are wrong; iforest_block_fold() then tells.
 * Cost  some dozen instructions; a fold that looks at the column's header is ten times that. */
bool iforest_leaf_add_summary(const struct iforest_leaf *leaf, unsigned block, struct iforest_aggregate *aggregate);

/* Can an entry of the block be a better extreme than those of the aggregate, as far as the block's summary tells? For
 * wanted->extremes_alone, and an aggregate that has a row.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_may_improve(struct iforest_block_reader *reader, const struct iforest_wanted *wanted,
					      const struct iforest_aggregate *aggregate, bool *may);

/* The node of a leaf page: its key range and the aggregate of its live entries.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_node(const struct iforest_leaf *leaf, struct iforest_node *node);

#endif
