/* cost.h -- Costs of index scans. */
#ifndef IFOREST_PG_COST_H
#define IFOREST_PG_COST_H

#include "pg_ext/storage/meta.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

void iforest_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
			   Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages);

/* The number of runs by the length of the manifest, near enough; and pages of pending entries. */
double iforest_estimate_runs(Relation index, const struct iforest_meta *meta);

uint32 iforest_pending_pages(const struct iforest_meta *meta);

#endif
