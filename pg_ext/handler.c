#include "pg_ext/am.h"

#include "pg_ext/aggregate_plan.h"
#include "pg_ext/altered.h"
#include "pg_ext/functions.h"
#include "pg_ext/newer_rows.h"
#include "pg_ext/options.h"
#include "pg_ext/overlap_plan.h"
#include "pg_ext/pause.h"
#include "pg_ext/top.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void _PG_init(void)
{
	iforest_options_register();
	iforest_pause_register();
	iforest_aggregate_register();
	iforest_top_register();
	iforest_overlap_register();
	iforest_altered_register();
	iforest_newer_rows_register();
}

PG_FUNCTION_INFO_V1(iforest_handler);

Datum iforest_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	(void)fcinfo;
	routine->amstrategies = 5;             /* those of btree */
	routine->amsupport = 1;                /* comparison: orders series for ordered scans */
	routine->amcanorder = true;
	routine->amcanbackward = true;
	routine->amcanmulticol = true;
	routine->amoptionalkey = true;
	routine->amsearcharray = true;
	routine->amsearchnulls = true;
	routine->amcaninclude = true;
	routine->amusemaintenanceworkmem = true;
	routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
	/* no unique indexes, no CLUSTER: series are in the order of their coming. Predicate locks are on the whole index.
	 * No index-only scans: without pins that VACUUM respects, on standbys too, an entry may be gone before the
	 * visibility map is asked */
	routine->ambuild = iforest_build;
	routine->ambuildempty = iforest_build_empty;
	routine->ambuildphasename = iforest_build_phase_name;
	routine->aminsert = iforest_insert;
	routine->ambulkdelete = iforest_bulk_delete;
	routine->amvacuumcleanup = iforest_vacuum_cleanup;
	routine->amcostestimate = iforest_cost_estimate;
	routine->amoptions = iforest_options_parse;
	routine->amvalidate = iforest_validate;
	routine->ambeginscan = iforest_begin_scan;
	routine->amrescan = iforest_rescan;
	routine->amgettuple = iforest_get_tuple;
	routine->amgetbitmap = iforest_get_bitmap;
	routine->amendscan = iforest_end_scan;
	routine->ammarkpos = iforest_mark_position;
	routine->amrestrpos = iforest_restore_position;
	iforest_handler_complete(routine);
	PG_RETURN_POINTER(routine);
}
