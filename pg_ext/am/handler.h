/* cost.h -- Costs of index scans. */
#ifndef IFP_AM_HANDLER_H
#define IFP_AM_HANDLER_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

#include "pg_ext/storage/meta.h"

void iforest_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
			   Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages);

/* The number of runs by the length of the manifest, near enough; and pages of pending entries. */
double iforest_estimate_runs(Relation index, const struct iforest_meta *meta);

uint32 iforest_pending_pages(const struct iforest_meta *meta);

/* ALTER INDEX ... SET refuses what CREATE INDEX refuses.
 *
 * PostgreSQL asks an access method about storage parameters without saying of which index, and so names of columns cannot be
 * checked there. They are checked by a hook that is called when the index has been altered.
 */

/* Makes it so. Once, when the library is loaded: opening an index loads it. */
void iforest_altered_register(void);

#endif
