/* aggregate_plan.h -- Custom Scan (IForestAggregate): grouped query levels whose answer an index knows.
 *
 * The planner's hook for upper relations offers a path beside the ordinary ones for each GROUP BY, aggregation or DISTINCT over
 * one table (match.h), with a cost (aggregate_cost.c), and the cheapest wins. The plan has scanrelid 0; its scan tuple is the
 * group keys and aggregates, above which the executor projects and filters (HAVING) as above any scan.
 *
 *   custom_scan_tlist  group keys and Aggrefs, as the query has them
 *   custom_exprs       the parameters that the question mentions, so that rescans are known of
 *   custom_private     the question (question.h)
 */
#ifndef IFOREST_PG_AGGREGATE_PLAN_H
#define IFOREST_PG_AGGREGATE_PLAN_H

#include "pg_ext/match.h"

#include "nodes/extensible.h"

/* Registers hook, node and parameters; once, when the library is loaded. */
void iforest_aggregate_register(void);

/* Rows and cost of answering a question. */
struct iforest_estimate {
	double n_rows;
	Cost startup, total;
	double n_groups_bytes;   /* memory that groups will need */
	bool is_slower;          /* than a plain plan, whose cost is told too high for lack of statistics */
};

void iforest_aggregate_estimate(const struct iforest_query *query, const struct iforest_candidate *candidate,
				const struct iforest_question *question, struct iforest_estimate *estimate);

/* What any answer costs at least. */
Cost iforest_aggregate_least_cost(void);

/* aggregate_node.c: the executor's side. */
extern const CustomScanMethods iforest_aggregate_scan;

#endif
