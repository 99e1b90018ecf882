/* value_ranges.h -- conditions on value columns, as a range of each: by it nodes are taken whole, passed, or opened. */
#ifndef IFP_EXEC_VALUE_FILTER_H
#define IFP_EXEC_VALUE_FILTER_H

#include "pg_ext/storage/pending.h"
#include "pg_ext/planner/index_query.h"

#include "nodes/execnodes.h"

#include "core/page/leaf_fold.h"

struct iforest_value_ranges;

/* Prepares. Lives in the current memory context. */
struct iforest_value_ranges *iforest_value_ranges_begin(const struct iforest_question *question,
							const struct iforest_definition *definition, ExprContext *econtext);

/* Is any value column asked about? */
bool iforest_value_ranges_exist(const struct iforest_value_ranges *ranges);

/* Finds the ranges by asking the conditions themselves, which are monotone, at values between the least and greatest that the
 * runs and pending entries hold. */
void iforest_value_ranges_find(struct iforest_value_ranges *ranges, const struct iforest_manifest *manifest,
			       const struct iforest_pending_rows *pending);

/* What a condition raised then, for all values alike, so that it leaves none out; NULL: nothing. It is to be raised if there
 * are rows that all other conditions let pass. */
ErrorData *iforest_value_ranges_error(const struct iforest_value_ranges *ranges);

enum iforest_verdict iforest_value_ranges_of_node(const struct iforest_value_ranges *ranges, const uint8_t *node,
						  const struct iforest_fields *fields);
enum iforest_status iforest_value_ranges_of_entries(const struct iforest_value_ranges *ranges,
						    struct iforest_block_reader *reader, uint64_t *live);
bool iforest_value_ranges_of_entry(const struct iforest_value_ranges *ranges, const struct iforest_entry *entry);

#endif
