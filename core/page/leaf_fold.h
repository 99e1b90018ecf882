/* page/leaf_fold.h -- Aggregation of the entries of leaf pages, and the filter that excludes some of them.
 *
 * This is the only place where entries on pages become aggregates: writer, fold, removal and check all call it, so a node is by
 * definition the result of folding its page. (Entries that are on no page yet are folded by core/run/batch.) Three ways lead to
 * the same result, and a caller takes the cheapest that applies:
 *
 *   fold       add the entries of blocks; block summaries are used where they suffice
 *   subtract   take the node, and subtract the few entries that a filter excludes
 *   split      at a key that cuts the page: fold the shorter side, and derive the other by subtraction from the node
 */
#ifndef IFOREST_PAGE_LEAF_FOLD_H
#define IFOREST_PAGE_LEAF_FOLD_H

#include "core/page/leaf.h"
#include "core/page/node.h"

struct iforest_filtered_nodes;

/* How many of a node's live entries pass a filter. MOST: so few are excluded that subtracting them from the node
 * (iforest_leaf_subtract()) is cheaper than folding the page. */
enum iforest_filter_class { IFOREST_COUNTS_ALL, IFOREST_COUNTS_MOST, IFOREST_COUNTS_SOME, IFOREST_COUNTS_NONE };

enum { IFOREST_MAX_EXCLUDED_REFS = 64 };

/* Excludes entries: those that a snapshot does not see, or whose values are out of bounds. Pages below a node that is
 * classified ALL or NONE are not opened to ask it. */
struct iforest_filter {
	void *context;

	/* Classifies the live entries under a node, given as bytes (node.h). */
	enum iforest_filter_class (*of_node)(void *context, const uint8_t *node);

	/* Clears the bits of excluded entries in *live. May call iforest_block_need() for columns. */
	enum iforest_status (*of_entries)(void *context, struct iforest_block_reader *reader, uint64_t *live);

	/* Optional. Lists the refs to exclude under a node classified MOST; a superset is fine. Returns false if they do not
	 * fit. */
	bool (*list_excluded)(void *context, const uint8_t *node, int64_t refs[IFOREST_MAX_EXCLUDED_REFS], unsigned *n_refs);

	/* Optional, both or neither. The cache of nodes without excluded entries (query/filtered_nodes.h), and the number of
	 * excluded keys in a node's range. Equal numbers must mean the same keys, and of_entries() must depend on nothing else.
	 */
	struct iforest_filtered_nodes *filtered_nodes;
	uint64_t (*n_excluded)(void *context, const uint8_t *node);
};

/* Classifies the live entries under a node; filter may be NULL. */
static inline enum iforest_filter_class iforest_filter_class_of_node(const struct iforest_filter *filter, const uint8_t *node)
{
	return filter && iforest_node_rows(node) > 0 ? filter->of_node(filter->context, node) : IFOREST_COUNTS_ALL;
}

/* The parts of an aggregate that a fold computes, beside n_rows and n_dead; it does not touch the others. n_dead may include
 * entries that a filter excludes. */
struct iforest_request {
	uint32_t values;       /* bit v: n, sum, min and max of value column v, but for the next three */
	uint32_t no_mins;      /* bit v: without its min, which is then undefined */
	uint32_t no_maxs;      /* bit v: without its max */
	uint32_t no_rows;      /* bit v: its min and max without their time and ref, which need not be unpacked then */
	uint32_t firsts;       /* bit v: its first row */
	uint32_t lasts;	       /* bit v: its last row */
	uint32_t accumulators; /* bit a: accumulator a of the schema (model/kind.h) */
	bool times;	       /* first and last time */
	bool node_fields;      /* latest end and heap blocks, where the index keeps them */
	/* Only min and max of `values`; n and sums are left undefined, and n_rows is only 0 or more. Nodes and blocks that
	 * cannot improve the aggregate are skipped. Must not be combined with firsts, lasts, accumulators, times
	 * or node_fields. */
	bool extremes_alone;
	const struct iforest_filter *filter; /* NULL: all live entries count */
};

/* aggregate = aggregate + the requested parts of a node: all but times, and first and last rows, which nodes do not have. */
static inline void iforest_request_fold_node(const struct iforest_request *request, const uint8_t *node,
					     const struct iforest_node_schema *fields, struct iforest_aggregate *aggregate)
{
	struct iforest_node_parts parts = { .values = request->values,
					    .no_mins = request->no_mins,
					    .no_maxs = request->no_maxs,
					    .accumulators = request->accumulators,
					    .node_fields = request->node_fields };

	iforest_node_fold(node, fields, &parts, aggregate);
}

/* True if n, sum, min and max of `values` are all that is requested, and of all entries. */
static inline bool iforest_wants_values_alone(const struct iforest_request *request)
{
	return !(request->accumulators | request->firsts | request->lasts) && !request->times && !request->node_fields &&
	       !request->extremes_alone && !request->filter;
}

/* True if only counts are requested, or also n and sum of the first value column, which is of integers; and of all entries. */
static inline bool iforest_wants_sums(const struct iforest_request *request, const struct iforest_node_schema *fields)
{
	bool is_sum =
		request->values == 1 && fields->value_types[0] == IFOREST_INT64 && request->no_mins & request->no_maxs & 1;

	return (is_sum || request->values == 0) && iforest_wants_values_alone(request);
}

/* aggregate = aggregate + the entries [from, to) of the block that are live and count. *counted becomes their bits. Unpacks
 * only the columns it needs.
 * Errors  IFOREST_CORRUPT, and those of the filter. */
enum iforest_status iforest_block_fold(struct iforest_block_reader *reader, unsigned from, unsigned to,
				       const struct iforest_request *request, struct iforest_aggregate *aggregate,
				       uint64_t *counted);

/* Folds all entries of the blocks [from, to) of a page, as iforest_block_fold() does. A block whose summary suffices for sums,
 * or for the values of extremes, takes some dozen instructions; a fold that opens the column's header takes ten times that. */
enum iforest_status iforest_leaf_fold_blocks(const struct iforest_leaf *leaf, unsigned from, unsigned to,
					     const struct iforest_request *request, struct iforest_aggregate *aggregate);

/* Sets *may if, by the block's summary, one of its entries may improve an extreme of the aggregate.
 * Requires  request->extremes_alone, and an aggregate that has a row.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_block_may_improve(struct iforest_block_reader *reader, const struct iforest_request *request,
					      const struct iforest_aggregate *aggregate, bool *may);

/* Computes the node of a leaf page: its key range and the aggregate of its live entries.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_node(const struct iforest_leaf *leaf, struct iforest_node *node);

/* ---- Subtraction of the few entries that do not count from a leaf page's node ---- */

/* aggregate = aggregate + the leaf page's node without the live entries that the filter excludes. Counts, sums of integers and
 * accumulators can be subtracted, and extremes as long as no excluded entry is one. *done becomes false, and the aggregate is
 * unchanged, if the entries must be folded instead: the request has other parts; an extreme of the node is excluded; many
 * entries of a block are; or entries were removed after the node was read.
 * Requires  request->filter.
 * Errors    IFOREST_CORRUPT, and those of the filter. */
enum iforest_status iforest_leaf_subtract(const struct iforest_leaf *leaf, const uint8_t *node,
					  struct iforest_block_reader *reader, const struct iforest_request *request,
					  struct iforest_aggregate *aggregate, bool *done);

/* ---- Counts and sums alone ---- */

struct iforest_sums {
	uint64_t n_rows, n_dead; /* live entries, removed entries */
	uint64_t n;		 /* live entries with a value; 0, as the sum, if no value is requested */
	iforest_int128 sum;
};

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

/* Adds a node's counts. of_value, here and below: also n and sum of the first value column, which is of integers. */
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

/* Adds to the parts of the aggregate that are requested; the others stay as they are. */
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

/* sums = sums + the entries [from, to) of the block, from < to.
 * Cost    unpacks the fewer: these entries, or the others where the block has a summary.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_add_sums(struct iforest_block_reader *reader, unsigned from, unsigned to, bool of_value,
					   struct iforest_sums *sums);

/* Computes the sums of the page from an entry of the reader's block on. all: the sums of the whole page, from its node.
 * Requires  node and page have equal counts of removed entries. Entries are never restored, so equal counts mean the same
 *           entries.
 * Cost      one block, and the summaries of the blocks on the shorter side of it.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_sums_from(const struct iforest_leaf *leaf, const struct iforest_sums *all,
					   struct iforest_block_reader *reader, unsigned entry, bool of_value,
					   struct iforest_sums *rest);

/* ---- A leaf page split at a key ---- */

/* True if iforest_leaf_split() answers the request: the page has only the key's series, with times, and no first or last rows,
 * times, node_fields or extremes_alone are requested. */
bool iforest_leaf_can_split(const uint8_t *node, const struct iforest_key *key, const struct iforest_request *request);

/* The position of a key in a leaf page; (number of blocks, 0) is the end. first: the key of the entry there, ref INT64_MIN. */
struct iforest_leaf_cut {
	unsigned block, entry;
	struct iforest_key first;
};

/* into = into + the live entries before the key; after = those from the key on.
 * Requires  iforest_leaf_can_split(). The request's filter is not asked: all live entries must count.
 * Cost      log2(blocks), one block, and the entries of one side, the one without the requested extremes. Both sides if
 *           extremes lie on both, if the request has parts that cannot be subtracted (iforest_leaf_subtract()), or if entries
 *           were removed after the node was read.
 * Errors    IFOREST_CORRUPT; into, after and cut are then undefined. */
enum iforest_status iforest_leaf_split(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_key *key,
				       const struct iforest_request *request, struct iforest_aggregate *into,
				       struct iforest_aggregate *after, struct iforest_leaf_cut *cut);

#endif
