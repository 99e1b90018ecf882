/* pg_ext/extension.c -- Entry point of the library: registration of settings, hooks and custom scans.
 *
 * The planner calls a hook several times a query, for queries of other tables too. So there is one of each kind here, which calls
 * the modules that have something to do at that stage.
 */
#include "pg_ext/exec/agg_scan.h"
#include "pg_ext/planner/agg_path.h"
#include "pg_ext/am/handler.h"
#include "pg_ext/planner/outer_rows.h"
#include "pg_ext/planner/partition_groups.h"
#include "pg_ext/planner/partition_rows.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/planner/skip_path.h"
#include "pg_ext/planner/state_aggregates.h"
#include "pg_ext/planner/topk_path.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/planner/verdict.h"
#include "pg_ext/planner/wish.h"
#include "pg_ext/planner/would_be_index.h"
#include "pg_ext/base/known_functions.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/exec/combine_scan.h"
#include "pg_ext/exec/skip_scan.h"
#include "pg_ext/exec/topk_scan.h"

#include "fmgr.h"
#include "optimizer/plancat.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"

PG_MODULE_MAGIC;

static create_upper_paths_hook_type previous_upper_paths;

static void report_on_level(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output, void *extra)
{
	if (stage == UPPERREL_FINAL)
		ifp_verdicts_end_level(root);
	else
		ifp_wishes_consider(root, stage, input, output, extra);
}

pg_attribute_hot static void add_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
					     void *extra)
{
	if (previous_upper_paths)
		previous_upper_paths(root, stage, input, output, extra);
	if (ifp_enable && stage == UPPERREL_GROUP_AGG) {
		if (!IS_JOIN_REL(input) || !ifp_outer_rows_consider(root, input, output, extra))
			ifp_agg_path_consider(root, stage, input, output, extra);
		if (input->nparts > 0)
			ifp_partition_groups_consider(root, input, output, extra);
	} else if (ifp_enable && stage == UPPERREL_DISTINCT) {
		ifp_agg_path_consider(root, stage, input, output, extra);
		if (root->parse->hasDistinctOn)
			ifp_skip_path_consider(root, stage, input, output);
	} else if (ifp_enable && stage == UPPERREL_WINDOW) {
		ifp_skip_path_consider(root, stage, input, output);
	} else if (ifp_enable && stage == UPPERREL_ORDERED && input->nparts > 0) {
		ifp_partition_rows_consider(root, input, output);
	}
	if (ifp_collection)
		report_on_level(root, stage, input, output, extra);
}

static set_rel_pathlist_hook_type previous_rel_pathlist;

pg_attribute_hot static void add_paths(PlannerInfo *root, RelOptInfo *rel, Index number, RangeTblEntry *table)
{
	if (previous_rel_pathlist)
		previous_rel_pathlist(root, rel, number, table);
	if (table->rtekind != RTE_RELATION)
		ifp_overlap_index_consider(root, rel, number, table);
	else if (ifp_enable)
		ifp_topk_path_consider(root, rel, table);
}

static get_relation_info_hook_type previous_relation_info;

pg_attribute_hot static void complete_relation(PlannerInfo *root, Oid table, bool is_parent, RelOptInfo *rel)
{
	if (previous_relation_info)
		previous_relation_info(root, table, is_parent, rel);
	if (ifp_collection)
		ifp_would_be_indexes_add(root, table, is_parent, rel);
}

static void register_hooks(void)
{
	previous_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
	previous_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_paths;
	previous_relation_info = get_relation_info_hook;
	get_relation_info_hook = complete_relation;
}

extern PGDLLEXPORT void _PG_init(void);

void _PG_init(void)
{
	ifp_known_functions_register(iforest_handler);
	ifp_options_register();
	ifp_test_points_register();
	ifp_verdicts_register();
	ifp_agg_path_register();
	ifp_agg_scan_register();
	ifp_topk_scan_register();
	ifp_skip_scan_register();
	ifp_combine_scan_register();
	ifp_state_aggregates_register();
	ifp_reloptions_check_register();
	ifp_selectivity_histogram_register();
	register_hooks();
}
