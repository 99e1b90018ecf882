/* page/leaf_fold.h -- Aggregation of the entries of leaf pages, and the filter that says which of them count.
 *
 * The only place where entries become aggregates: builder, reader, removal and check all call it, so a node is by
 * definition what this says of its page.
 */
#ifndef IFOREST_PAGE_LEAF_FOLD_H
#define IFOREST_PAGE_LEAF_FOLD_H

#include "core/page/leaf.h"
#include "core/page/node.h"

struct iforest_filtered_nodes;

/* Which of the live entries under a node count. IFOREST_COUNTS_MOST: some do, and asking about them is cheap beside folding them; a
 * leaf page is then its node without the others. */
enum iforest_filter_class { IFOREST_COUNTS_ALL, IFOREST_COUNTS_MOST, IFOREST_COUNTS_SOME, IFOREST_COUNTS_NONE };

enum { IFOREST_MAX_EXCLUDED_REFS = 64 };

/* Tells which entries count where not all do: of what a snapshot sees, of values within bounds. Where it says IFOREST_COUNTS_ALL or
 * IFOREST_COUNTS_NONE of a node, nothing below is opened. */
struct iforest_filter {
	void *context;

	/* Of the live entries under a node, whose bytes are given (node.h). */
	enum iforest_filter_class (*of_node)(void *context, const uint8_t *node);

	/* Clears from *live the bits of the entries that do not count. May ask iforest_block_need() for columns. */
	enum iforest_status (*of_entries)(void *context, struct iforest_block_reader *reader, uint64_t *live);

	/* May be NULL. Of a node of which it said IFOREST_COUNTS_MOST, the refs of the entries that do not count, of which not all
	 * need to be there; false: they are too many. */
	bool (*refs_gone)(void *context, const uint8_t *node, int64_t refs[IFOREST_MAX_EXCLUDED_REFS], unsigned *n_refs);

	/* Both or none may be NULL. Where what is left of pages is kept (filtered_nodes.h), and how many keys in the range of a node
	 * do not count: while it is the same number, they are the same ones. Then of_entries() depends on nothing else. */
	struct iforest_filtered_nodes *filtered_nodes;
	uint64_t (*n_gone)(void *context, const uint8_t *node);
};

/* What a fold is asked for; the rest of the aggregate is left alone. n_rows and n_dead are always counted, the latter with or
 * without those that a filter takes out. */
struct iforest_request {
	uint32_t values;  /* bit v: n, sum, min and max of value column v */
	uint32_t no_mins; /* bit v: not its min, which is then left as it is or set */
	uint32_t no_maxs; /* bit v: not its max */
	uint32_t no_rows; /* bit v: of its min and max the value alone, so that times and refs need not be unpacked */
	uint32_t squares; /* bit v: its sum of squares, of columns that keep it (node.h) */
	uint32_t firsts;  /* bit v: its first row */
	uint32_t lasts;	  /* bit v: its last row */
	bool times;	  /* first and last time */
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
				       const struct iforest_request *request, struct iforest_aggregate *aggregate,
				       uint64_t *counted);

/* The same of all entries of the blocks [from, to) of a page. */
enum iforest_status iforest_leaf_fold_blocks(const struct iforest_leaf *leaf, unsigned from, unsigned to,
					     const struct iforest_request *request, struct iforest_aggregate *aggregate);

/* Are sums (and counts) of the first value column all that is wanted, so that the summary of a block says what the block
 * adds? */
bool iforest_wants_sums_alone(const struct iforest_request *request, const struct iforest_node_schema *fields);

/* Adds a block by its summary alone, where that is all that is wanted. False, and nothing was added: it has none, or entries
 * were removed, or values are missing, or the bytes are wrong; iforest_block_fold() then tells.
 * Cost  some dozen instructions; a fold that looks at the column's header is ten times that. */
bool iforest_leaf_add_summary(const struct iforest_leaf *leaf, unsigned block, struct iforest_aggregate *aggregate);

/* Can an entry of the block be a better extreme than those of the aggregate, as far as the block's summary tells? For
 * request->extremes_alone, and an aggregate that has a row.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_may_improve(struct iforest_block_reader *reader, const struct iforest_request *request,
					      const struct iforest_aggregate *aggregate, bool *may);

/* The node of a leaf page: its key range and the aggregate of its live entries.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_node(const struct iforest_leaf *leaf, struct iforest_node *node);

/* ---- Subtraction of the few entries that do not count from a leaf page's node ---- */

/* Can entries be taken out of a node, as far as what is wanted of it goes? Counts and sums of integers can. */
bool iforest_can_subtract(const struct iforest_request *request, const struct iforest_node_schema *fields);

/* aggregate = aggregate + the node over a leaf page, without those of its live entries that do not count. *done is false, and
 * the aggregate as it was, where a fold of the entries has to do it: first or last rows, times, squares or sums of reals are
 * wanted; an extreme of the node does not count; many entries of a block do not; or entries were removed between the reading of
 * the node and that of the page.
 * Requires  request->filter.
 * Errors    IFOREST_CORRUPT, and those of the filter. */
enum iforest_status iforest_leaf_subtract(const struct iforest_leaf *leaf, const uint8_t *node,
					  struct iforest_block_reader *reader, const struct iforest_request *request,
					  struct iforest_aggregate *aggregate, bool *done);

/* ---- Counts and sums alone, which can be subtracted ---- */

struct iforest_sums {
	uint64_t n_rows, n_dead; /* entries that are live, and removed ones */
	uint64_t n;		 /* live ones that have a value; it and the sum are 0 where no value is wanted */
	iforest_int128 sum;
};

/* Is that all that is wanted, and of all entries? Of values, none or the first, which has integers. */
static inline bool iforest_wants_sums(const struct iforest_request *request, const struct iforest_node_schema *fields)
{
	bool is_sum =
		request->values == 1 && fields->value_types[0] == IFOREST_INT64 && request->no_mins & request->no_maxs & 1;

	return (is_sum || request->values == 0) && !(request->squares | request->firsts | request->lasts) && !request->times &&
	       !request->node_fields && !request->extremes_alone && !request->filter;
}

static inline void iforest_sums_add(struct iforest_sums *into, const struct iforest_sums *from)
{
	into->n_rows += from->n_rows;
	into->n_dead += from->n_dead;
	into->n += from->n;
	into->sum = iforest_add_wrapping(into->sum, from->sum);
}

static inline void iforest_sums_subtract(struct iforest_sums *from, const struct iforest_sums *part)
{
	from->n_rows -= part->n_rows;
	from->n_dead -= part->n_dead;
	from->n -= part->n;
	from->sum = (iforest_int128)((iforest_uint128)from->sum - (iforest_uint128)part->sum);
}

/* of_value: of the first value column too, which has integers. The same below. */
static inline void iforest_sums_add_node(struct iforest_sums *into, const uint8_t *node,
					 const struct iforest_node_schema *fields, bool of_value)
{
	const uint8_t *value = node + fields->value_offset[0];
	iforest_uint128 sum;

	into->n_rows += iforest_node_rows(node);
	into->n_dead += iforest_node_dead(node);
	if (!of_value)
		return;
	into->n += iforest_load64(value);
	sum = (iforest_uint128)iforest_load64(value + 16) << 64 | iforest_load64(value + 8);
	into->sum = iforest_add_wrapping(into->sum, (iforest_int128)sum);
}

/* Added to the parts of an aggregate that are wanted; and these alone. The other parts are left as they are. */
static inline void iforest_sums_add_to_aggregate(const struct iforest_sums *sums, const struct iforest_request *request,
						 struct iforest_aggregate *aggregate)
{
	aggregate->n_rows += sums->n_rows;
	aggregate->n_dead += sums->n_dead;
	if (!request->values)
		return;
	aggregate->values[0].n += sums->n;
	aggregate->values[0].sum = iforest_add_wrapping(aggregate->values[0].sum, sums->sum);
}

static inline struct iforest_sums iforest_sums_of_aggregate(const struct iforest_aggregate *aggregate,
							    const struct iforest_request *request)
{
	struct iforest_sums sums = { .n_rows = aggregate->n_rows, .n_dead = aggregate->n_dead };

	if (request->values) {
		sums.n = aggregate->values[0].n;
		sums.sum = aggregate->values[0].sum;
	}
	return sums;
}

/* sums = sums + the entries [from, to) of the block, from < to.
 * Cost    what the fewer take: these, or the others, where the block has a summary.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_add_sums(struct iforest_block_reader *reader, unsigned from, unsigned to, bool of_value,
					   struct iforest_sums *sums);

/* What of a page comes from an entry of the reader's block on. all: what its node says of it.
 * Requires  the node has counted as many removed entries as the page has: removed ones stay removed, so they are the same ones.
 * Cost      a block, and the summaries of those on the shorter side of it.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_sums_from(const struct iforest_leaf *leaf, const struct iforest_sums *all,
					   struct iforest_block_reader *reader, unsigned entry, bool of_value,
					   struct iforest_sums *rest);

/* ---- A leaf page split at a key ---- */

/* Can it be done? The page must have the key's series alone, and times; first and last rows, times, and what makes a node
 * beside sums and extremes cannot be wanted. */
bool iforest_leaf_can_split(const uint8_t *node, const struct iforest_key *key, const struct iforest_request *request);

/* Where a key belongs in a leaf page; (blocks of the page, 0) is its end. first: the key of the entry there, without its
 * ref. */
struct iforest_leaf_cut {
	unsigned block, entry;
	struct iforest_key first;
};

/* into = into + the live entries before the key; after = those from it on.
 * Requires  iforest_leaf_can_split(); wanted has no filter that is to be asked.
 * Cost      log2(blocks), a block, and the entries of one side, that which does not have the extremes; of both where the
 *           extremes that are wanted stand on both, where what is wanted cannot be taken out of a node
 *           (iforest_can_subtract()), and where entries were removed between the reading of the node and that of the page.
 * Errors    IFOREST_CORRUPT; then all three are undefined. */
enum iforest_status iforest_leaf_split(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_key *key,
				       const struct iforest_request *request, struct iforest_aggregate *into,
				       struct iforest_aggregate *after, struct iforest_leaf_cut *cut);

#endif
