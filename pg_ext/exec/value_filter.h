/* exec/value_filter.h -- Conditions on value columns as ranges, which classify whole nodes. */
#ifndef IFP_EXEC_VALUE_FILTER_H
#define IFP_EXEC_VALUE_FILTER_H

#include "pg_ext/storage/pending.h"
#include "pg_ext/planner/index_query.h"

#include "nodes/execnodes.h"

#include "core/page/leaf_fold.h"

struct ifp_value_filter;

/* Prepares. Lives in the current memory context. */
struct ifp_value_filter *ifp_value_filter_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
						ExprContext *econtext);

/* Is any value column asked about? */
bool ifp_value_filter_exist(const struct ifp_value_filter *filter);

/* Finds the ranges by asking the conditions themselves, which are monotone, at values between the least and greatest that the
 * runs and pending entries hold. */
void ifp_value_filter_find(struct ifp_value_filter *filter, const struct iforest_manifest *manifest,
			   const struct ifp_pending_entries *pending);

/* What a condition raised then, for all values alike, so that it leaves none out; NULL: nothing. It is to be raised if there
 * are rows that all other conditions let pass. */
ErrorData *ifp_value_filter_error(const struct ifp_value_filter *filter);

enum iforest_filter_class ifp_value_filter_of_node(const struct ifp_value_filter *filter, const uint8_t *node,
						   const struct iforest_node_schema *fields);
enum iforest_status ifp_value_filter_of_entries(const struct ifp_value_filter *filter, struct iforest_block_reader *reader,
						uint64_t *live);
bool ifp_value_filter_of_entry(const struct ifp_value_filter *filter, const struct iforest_entry *entry);

#endif
