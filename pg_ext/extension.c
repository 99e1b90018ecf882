/* extension.c -- Entry point of the library. */
#include "pg_ext/aggregate_node.h"
#include "pg_ext/aggregate_plan.h"
#include "pg_ext/altered.h"
#include "pg_ext/newer_rows.h"
#include "pg_ext/options.h"
#include "pg_ext/overlap_plan.h"
#include "pg_ext/pause.h"
#include "pg_ext/top.h"

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
