#include "pg_ext/base/engine.h"

#include "access/amapi.h"

#include "pg_ext/base/engine.h"

#include "fmgr.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/am/build.h"
#include "pg_ext/am/insert.h"
#include "pg_ext/am/vacuum.h"
#include "pg_ext/am/index_scan.h"
#include "pg_ext/am/handler.h"
#include "pg_ext/am/validate.h"

IFOREST_SQL_FUNCTION(iforest_handler);

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
