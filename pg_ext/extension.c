/* pg_ext/extension.c -- Entry point of the library: registration of settings, hooks and custom scans. */
#include "pg_ext/exec/agg_scan.h"
#include "pg_ext/planner/agg_path.h"
#include "pg_ext/am/handler.h"
#include "pg_ext/planner/partition_groups.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/planner/skip_path.h"
#include "pg_ext/planner/state_aggregates.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/planner/verdict.h"
#include "pg_ext/planner/wish.h"
#include "pg_ext/planner/would_be_index.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/exec/combine_scan.h"
#include "pg_ext/exec/skip_scan.h"
#include "pg_ext/exec/topk_scan.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void _PG_init(void)
{
	ifp_options_register();
	ifp_test_points_register();
	ifp_verdicts_register();
	ifp_agg_path_register();
	ifp_wishes_register();
	ifp_would_be_indexes_register();
	ifp_agg_scan_register();
	ifp_topk_register();
	ifp_skip_scan_register();
	ifp_skip_path_register();
	ifp_combine_scan_register();
	ifp_partition_groups_register();
	ifp_overlap_support_register();
	ifp_state_aggregates_register();
	ifp_reloptions_check_register();
	ifp_selectivity_histogram_register();
}
