/* extension.c -- Entry point of the library. */
#include "pg_ext/exec/agg_scan.h"
#include "pg_ext/planner/agg_path.h"
#include "pg_ext/am/handler.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/exec/topk_scan.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void _PG_init(void)
{
	iforest_options_register();
	iforest_pause_register();
	iforest_aggregate_register();
	iforest_aggregate_node_register();
	iforest_top_register();
	iforest_overlap_register();
	iforest_altered_register();
	iforest_newer_rows_register();
}
