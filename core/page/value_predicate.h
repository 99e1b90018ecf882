/* page/value_predicate.h -- Predicate on values (intervals, NULL, span end), evaluated on nodes, blocks and entries.
 *
 * For a node, the counts, minima and maxima of its value columns and the latest end tell whether all, some or none of its
 * entries may meet the predicate; for a block, its summaries and column headers do. Only entries give an exact answer.
 */
#ifndef IFOREST_PAGE_VALUE_PREDICATE_H
#define IFOREST_PAGE_VALUE_PREDICATE_H

#include "core/page/leaf_fold.h"

struct iforest_value_predicate {
	uint32_t values; /* bit v: value v is not NULL and lies in [low[v], high[v]]; NaN is after all numbers */
	uint32_t nulls;	 /* bit v: value v is NULL */
	union iforest_number low[IFOREST_MAX_VALUES], high[IFOREST_MAX_VALUES];
	/* the span reaches into [reach, ...): it starts at or after `reach`, or ends after it. False without a time */
	bool has_reach;
	int64_t reach; /* requires an index that keeps latest ends (node.h); ends saturate */
};

/* Narrow the interval of value v, which is unbounded at first. */
void iforest_value_predicate_at_least(struct iforest_value_predicate *predicate, unsigned v, union iforest_number low,
				      enum iforest_value_type type);
void iforest_value_predicate_at_most(struct iforest_value_predicate *predicate, unsigned v, union iforest_number high,
				     enum iforest_value_type type);

/* Classifies the node's live entries: ALL meet the predicate, NONE does, or SOME may. Never ALL if has_reach. */
enum iforest_filter_class iforest_value_predicate_node(const struct iforest_value_predicate *predicate,
						       const struct iforest_node_schema *fields, const uint8_t *node);

/* Clears from *live the bits of the entries that do not meet the predicate. Does not unpack columns of a block without matches.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_value_predicate_entries(const struct iforest_value_predicate *predicate,
						    struct iforest_block_reader *reader, uint64_t *live);

/* True if an entry in memory, with all its values, meets the predicate. */
bool iforest_value_predicate_entry(const struct iforest_value_predicate *predicate, const struct iforest_node_schema *fields,
				   const struct iforest_entry *entry);

#endif
