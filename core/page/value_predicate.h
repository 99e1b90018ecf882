/* page/value_predicate.h -- Predicate on values (intervals, NULL, span end), evaluated on nodes, blocks and entries.
 *
 * A node says whether any of its entries may meet them, by what it keeps of each value column (count, minimum, maximum) and of
 * the ends of spans; a block by its summaries and the headers of its columns; an entry for certain.
 */
#ifndef IFOREST_PAGE_VALUE_PREDICATE_H
#define IFOREST_PAGE_VALUE_PREDICATE_H

#include "core/page/leaf.h"
#include "core/page/node.h"

struct iforest_value_predicate {
	uint32_t values; /* bit v: value v is there and lies in [low[v], high[v]], NaN after all numbers */
	uint32_t nulls;	 /* bit v: value v is NULL */
	union iforest_number low[IFOREST_MAX_VALUES], high[IFOREST_MAX_VALUES];
	/* the span starts at or after `reach` or ends after it: it reaches into [reach, ...). Never so */
	bool has_reach;
	int64_t reach; /* without a time. Requires an index that keeps latest ends (node.h); ends saturate */
};

/* Narrows the interval of value v, which was open or narrowed before. */
void iforest_value_predicate_at_least(struct iforest_value_predicate *predicate, unsigned v, union iforest_number low,
				      enum iforest_value_type kind);
void iforest_value_predicate_at_most(struct iforest_value_predicate *predicate, unsigned v, union iforest_number high,
				     enum iforest_value_type kind);

/* May a live entry under the node meet all? */
bool iforest_value_predicate_node(const struct iforest_value_predicate *predicate, const struct iforest_node_schema *fields,
				  const uint8_t *node);

/* Clears from *live the bits of the entries that do not meet all. Unpacks no column of a block that has none.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_value_predicate_entries(const struct iforest_value_predicate *predicate,
						    struct iforest_block_reader *reader, uint64_t *live);

#endif
