/* exec/value_filter.h -- Conditions on value columns as core's predicate, by which whole nodes are classified.
 *
 * Each condition is monotone in its column (planner/index_query.h), so it is true in one range of values. Binary search finds
 * the range by evaluating the condition itself.
 */
#ifndef IFP_EXEC_VALUE_FILTER_H
#define IFP_EXEC_VALUE_FILTER_H

#include "pg_ext/storage/pending.h"
#include "pg_ext/planner/index_query.h"

#include "nodes/execnodes.h"

#include "core/page/value_predicate.h"

struct ifp_value_filter;

/* Prepares the query's conditions on values, in the current memory context. */
struct ifp_value_filter *ifp_value_filter_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
						ExprContext *econtext);

/* Restricts the filter to rows with a value from low to high, or to NULL (as given by ifp_value_steps_range()), in addition to
 * the conditions. Takes effect at the next ifp_value_filter_find(). value: the value column; -1: removes the restriction. */
void ifp_value_filter_set_pass(struct ifp_value_filter *filter, int value, bool is_null, int64 low, int64 high);

/* True if there is a condition, or a pass. */
bool ifp_value_filter_has_conditions(const struct ifp_value_filter *filter);

/* Finds the ranges by evaluating conditions between the least and greatest value of the runs and of pending entries (NULL: none).
 * Cost      O(64) evaluations of each condition. */
void ifp_value_filter_find(struct ifp_value_filter *filter, const struct iforest_manifest *manifest,
			   const struct iforest_batch *pending);

/* Returns the error that a condition raised for all values alike, or NULL. Such a condition excludes nothing. The caller must
 * raise the error if there are rows that pass all other conditions. */
ErrorData *ifp_value_filter_error(const struct ifp_value_filter *filter);

/* Returns the predicate of the ranges. Valid until the next ifp_value_filter_find(). */
const struct iforest_value_predicate *ifp_value_filter_predicate(const struct ifp_value_filter *filter);

#endif
