/* am.h -- the functions of the access method, grouped by the file they are in. Their contracts are PostgreSQL's
 * (access/amapi.h); what is said here is what iforest makes of them. */
#ifndef IFOREST_PG_AM_H
#define IFOREST_PG_AM_H

#include "pg_ext/host.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

/* build.c -- a run from the sorted rows of the table; without by columns rows that come in time order are not sorted at all. */
IndexBuildResult *iforest_build(Relation heap, Relation index, IndexInfo *info);
void iforest_build_empty(Relation index);
char *iforest_build_phase_name(int64 phase);

/* insert.c -- one entry to a pending chain; every pending_pages pages a seal. */
bool iforest_insert(Relation index, Datum *values, bool *are_null, ItemPointer tid, Relation heap, IndexUniqueCheck unique,
		    bool index_unchanged, IndexInfo *info);

/* vacuum.c -- every TID is reported; the removal epoch is raised before return. */
IndexBulkDeleteResult *iforest_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					   IndexBulkDeleteCallback callback, void *state);
IndexBulkDeleteResult *iforest_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

/* amscan.c -- ordered scans in both directions, and bitmap scans. */
IndexScanDesc iforest_begin_scan(Relation index, int n_keys, int n_order_bys);
void iforest_rescan(IndexScanDesc scan, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys);
bool iforest_get_tuple(IndexScanDesc scan, ScanDirection direction);
int64 iforest_get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void iforest_end_scan(IndexScanDesc scan);
void iforest_mark_position(IndexScanDesc scan);
void iforest_restore_position(IndexScanDesc scan);

/* cost.c */
void iforest_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
			   Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages);

/* The number of runs by the length of the manifest, near enough; and pages of pending entries. */
struct iforest_meta;
double iforest_estimate_runs(Relation index, const struct iforest_meta *meta);
uint32 iforest_pending_pages(const struct iforest_meta *meta);

/* validate.c -- operator classes and families. */
bool iforest_validate(Oid opclass);

#endif
