/* am/handler.h -- The access method: table of routines, cost estimate, checks of operator classes and parameters. */
#ifndef IFP_AM_HANDLER_H
#define IFP_AM_HANDLER_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

#include "pg_ext/storage/meta.h"

/* amcostestimate: a plain index scan. Each series is searched for in each run, and pending pages are read. Index-only scans get
 * a penalty, because they fetch every row anyway (am/index_scan.c).
 * Cost      reads the metapage once a second (ifp_plan_facts_sizes()). */
void ifp_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
		       Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages);

/* Returns the approximate number of runs of an index with n_values values, from the length of its manifest. Reads no page. */
double ifp_estimate_runs(int n_values, uint32 manifest_bytes);

/* Registers a hook that makes ALTER INDEX ... SET reject what CREATE INDEX rejects, and ALTER TABLE types that an index cannot hold
 * (altered_type.h). PostgreSQL has an access method check
 * storage parameters without naming the index, so names of columns cannot be checked there. The hook is called after the index
 * has been altered, and raises the error then.
 * Requires  called once, when the library is loaded; opening an index loads it. */
void ifp_reloptions_check_register(void);

/* The handler of the access method, which SQL calls. */
extern PGDLLEXPORT Datum iforest_handler(PG_FUNCTION_ARGS);

#endif
