/* exec/value_filter.h -- Conditions on value columns as ranges of values, by which whole nodes are classified.
 *
 * Each condition is monotone in its column (planner/index_query.h), so it holds in one range of values. The range is found by
 * binary search, evaluating the condition itself.
 */
#ifndef IFP_EXEC_VALUE_FILTER_H
#define IFP_EXEC_VALUE_FILTER_H

#include "pg_ext/storage/pending.h"
#include "pg_ext/planner/index_query.h"

#include "nodes/execnodes.h"

#include "core/page/leaf_fold.h"

struct ifp_value_filter;

/* Prepares the query's conditions on values, in the current memory context. */
struct ifp_value_filter *ifp_value_filter_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
						ExprContext *econtext);

/* True if there is a condition. */
bool ifp_value_filter_has_conditions(const struct ifp_value_filter *filter);

/* Finds the ranges, by evaluating conditions at values between the least and greatest of the runs and pending entries.
 * Cost      O(64) evaluations of each condition. */
void ifp_value_filter_find(struct ifp_value_filter *filter, const struct iforest_manifest *manifest,
			   const struct iforest_batch *pending);

/* Returns the error that a condition raised meanwhile, for all values alike; NULL: none. Such a condition excludes nothing. The
 * error is to be raised if there are rows that pass all other conditions. */
ErrorData *ifp_value_filter_error(const struct ifp_value_filter *filter);

/* Classify the entries of a node; clear the bits of a block's entries that do not pass; check one entry. */
enum iforest_filter_class ifp_value_filter_of_node(const struct ifp_value_filter *filter, const uint8_t *node,
						   const struct iforest_node_schema *fields);
enum iforest_status ifp_value_filter_of_entries(const struct ifp_value_filter *filter, struct iforest_block_reader *reader,
						uint64_t *live);
bool ifp_value_filter_of_entry(const struct ifp_value_filter *filter, const struct iforest_entry *entry);

#endif
