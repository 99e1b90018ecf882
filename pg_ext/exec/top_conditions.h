/* top_conditions.h -- what the conditions of a query say of the entries that a top or a reach has to look at. */
#ifndef IFOREST_PG_TOP_CONDITIONS_H
#define IFOREST_PG_TOP_CONDITIONS_H

#include "pg_ext/exec/topk_scan.h"

#include "nodes/pathnodes.h"

/* What they leave of the values and of the ends of spans. They are all checked again: this says where nothing need be looked
 * for. */
struct iforest_top_limits {
	bool has_nulls, has_values;
	List *expressions, *kinds; /* of bounds: enum iforest_top_bound_kind */
};

/* Those that choose series and times, as IndexClauses of a plain index scan. */
List *iforest_top_index_clauses(PlannerInfo *root, IndexOptInfo *index);

/* Those on the value column alone, which is a column of the index and has this base type. */
struct iforest_top_limits iforest_top_limits_of(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index, int column, Oid type);

/* Adds those on the end of the span, where the index was built with a duration or an end. Returns the last one's time, as an
 * expression, or NULL where there is none. */
Node *iforest_top_add_reach(PlannerInfo *root, IndexOptInfo *index, struct iforest_top_limits *limits);

#endif
