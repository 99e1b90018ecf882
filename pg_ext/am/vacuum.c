#include "pg_ext/base/engine.h"

#include "access/amapi.h"

#include "storage/indexfsm.h"
#include "utils/memutils.h"

#include "core/run/remove.h"
#include "pg_ext/storage/compact.h"
#include "pg_ext/storage/sidecar.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/types/values.h"
#include "pg_ext/am/vacuum.h"

struct dead_check {
	IndexBulkDeleteCallback callback;
	void *state;
};

static bool is_dead(void *context, int64_t ref)
{
	struct dead_check *check = context;
	ItemPointerData tid;

	iforest_ref_to_tid(ref, &tid);
	return check->callback(&tid, check->state);
}

/* Asks for every entry of every run of the worklist. */
static void remove_dead(struct iforest_index *index, struct dead_check *check, IndexBulkDeleteResult *stats)
{
	struct iforest_remover remover = { .is_dead = is_dead, .context = check };
	uint32 n_runs = 0;
	uint64 *run_ids = palloc((index->manifest.n_runs + 1) * sizeof *run_ids);
	struct iforest_meta_edit edit;

	for (uint32 r = 0; r < index->manifest.n_runs; r++)
		if (iforest_run_clock(&index->manifest.runs[r]) < index->meta.worklist_below)
			run_ids[n_runs++] = index->manifest.runs[r].place.run_id;
	for (uint32 r = 0; r < n_runs; r++) {
		struct iforest_removal removal;

		iforest_index_require(
			index, iforest_run_remove_where(&index->store, &index->manifest, run_ids[r], &remover, &removal));
		stats->num_index_tuples += (double)removal.n_kept;
		stats->tuples_removed += (double)removal.n_removed;
	}
	iforest_pause("entries removed");
	/* also where nothing was left to remove: an earlier vacuum may have been cut off after it had */
	iforest_meta_begin(index->relation, &edit);
	edit.meta->removal_epoch++;
	iforest_meta_finish(&edit);
}

static MemoryContext enter(struct iforest_index **index, Relation relation)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest vacuum", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);

	*index = palloc(sizeof **index);
	iforest_index_open(*index, relation);
	return before;
}

static void leave(MemoryContext before)
{
	MemoryContext context = MemoryContextSwitchTo(before);

	MemoryContextDelete(context);
}

IndexBulkDeleteResult *iforest_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					   IndexBulkDeleteCallback callback, void *state)
{
	struct dead_check check = { .callback = callback, .state = state };
	struct iforest_index *index;
	MemoryContext before;

	if (!stats)
		stats = palloc0(sizeof *stats);
	stats->num_index_tuples = 0;
	before = enter(&index, info->index);
	(void)iforest_maintenance_begin(index, true);
	remove_dead(index, &check, stats);
	iforest_maintenance_end(index);
	leave(before);
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	return stats;
}

static void count_space(struct iforest_index *index, IndexBulkDeleteResult *stats)
{
	uint32 n_extents;
	struct iforest_extent *extents = iforest_space_read(index->relation, &n_extents);

	stats->pages_deleted = stats->pages_free = 0;
	for (uint32 i = 0; i < n_extents; i++) {
		if (extents[i].owner == IFOREST_OWNER_NONE)
			stats->pages_free += extents[i].n_blocks;
		if (extents[i].owner == IFOREST_OWNER_NONE || extents[i].freed)
			stats->pages_deleted += extents[i].n_blocks;
	}
	stats->num_pages = RelationGetNumberOfBlocks(index->relation);
}

IndexBulkDeleteResult *iforest_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	struct iforest_index *index;
	MemoryContext before;

	if (info->analyze_only)
		return stats;
	if (!stats)
		stats = palloc0(sizeof *stats);
	before = enter(&index, info->index);
	(void)iforest_maintenance_begin(index, true);
	iforest_reclaim(index);
	iforest_merge_all(index, false);
	iforest_reclaim(index);
	iforest_shelf_keep(index);
	stats->num_index_tuples = 0;
	for (uint32 r = 0; r < index->manifest.n_runs; r++)
		stats->num_index_tuples += (double)iforest_node_rows(index->manifest.runs[r].root);
	count_space(index, stats);
	iforest_maintenance_end(index);
	leave(before);
	return stats;
}
