/* am/handler.h -- The access method's routines, cost estimate, and checks of operator classes and parameters. */
#ifndef IFP_AM_HANDLER_H
#define IFP_AM_HANDLER_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

#include "pg_ext/storage/meta.h"

void ifp_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
		       Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages);

/* The number of runs by the length of the manifest, near enough; and pages of pending entries. */
double ifp_estimate_runs(Relation index, const struct ifp_meta *meta);

uint32 ifp_pending_pages(const struct ifp_meta *meta);

/* ALTER INDEX ... SET refuses what CREATE INDEX refuses.
 *
 * PostgreSQL asks an access method about storage parameters without saying of which index, and so names of columns cannot be
 * checked there. They are checked by a hook that is called when the index has been altered.
 */

/* Makes it so. Once, when the library is loaded: opening an index loads it. */
void ifp_reloptions_check_register(void);

#endif
