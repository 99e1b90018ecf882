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

	ifp_ref_to_tid(ref, &tid);
	return check->callback(&tid, check->state);
}

/* Calls the callback for every entry of every run of the worklist, and removes the dead ones. */
static void remove_dead(struct ifp_index *index, struct dead_check *check, IndexBulkDeleteResult *stats)
{
	struct iforest_remover remover = { .is_dead = is_dead, .context = check };
	uint32 n_runs = 0;
	uint64 *run_ids = palloc((index->manifest.n_runs + 1) * sizeof *run_ids);
	struct ifp_meta_edit edit;

	for (uint32 r = 0; r < index->manifest.n_runs; r++)
		if (ifp_run_clock(&index->manifest.runs[r]) < index->meta.worklist_below)
			run_ids[n_runs++] = index->manifest.runs[r].place.run_id;
	for (uint32 r = 0; r < n_runs; r++) {
		struct iforest_removal removal;

		ifp_index_require(index,
				  iforest_run_remove_where(&index->store, &index->manifest, run_ids[r], &remover, &removal));
		stats->num_index_tuples += (double)removal.n_kept;
		stats->tuples_removed += (double)removal.n_removed;
	}
	ifp_test_point("entries removed");
	/* even if this one removed nothing: an earlier vacuum may have been interrupted after it removed entries */
	ifp_meta_begin(index->relation, &edit);
	edit.meta->removal_epoch++;
	ifp_meta_finish(&edit);
}

static MemoryContext enter(struct ifp_index **index, Relation relation)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest vacuum", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);

	*index = palloc(sizeof **index);
	ifp_index_open(*index, relation);
	return before;
}

static void leave(MemoryContext before)
{
	MemoryContext context = MemoryContextSwitchTo(before);

	MemoryContextDelete(context);
}

IndexBulkDeleteResult *ifp_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
				       void *state)
{
	struct dead_check check = { .callback = callback, .state = state };
	struct ifp_index *index;
	MemoryContext before;

	if (!stats)
		stats = palloc0(sizeof *stats);
	stats->num_index_tuples = 0;
	before = enter(&index, info->index);
	(void)ifp_maintenance_begin(index, true);
	remove_dead(index, &check, stats);
	ifp_maintenance_end(index);
	leave(before);
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	return stats;
}

static void count_space(struct ifp_index *index, IndexBulkDeleteResult *stats)
{
	uint32 n_extents;
	struct ifp_extent *extents = ifp_extents_read(index->relation, &n_extents);

	stats->pages_deleted = stats->pages_free = 0;
	for (uint32 i = 0; i < n_extents; i++) {
		if (extents[i].owner == IFP_OWNER_NONE)
			stats->pages_free += extents[i].n_blocks;
		if (extents[i].owner == IFP_OWNER_NONE || extents[i].freed)
			stats->pages_deleted += extents[i].n_blocks;
	}
	stats->num_pages = RelationGetNumberOfBlocks(index->relation);
}

IndexBulkDeleteResult *ifp_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	struct ifp_index *index;
	MemoryContext before;

	if (info->analyze_only)
		return stats;
	if (!stats)
		stats = palloc0(sizeof *stats);
	before = enter(&index, info->index);
	(void)ifp_maintenance_begin(index, true);
	ifp_compact_reclaim(index);
	ifp_compact_all(index, false);
	ifp_compact_reclaim(index);
	ifp_sidecar_keep(index);
	stats->num_index_tuples = 0;
	for (uint32 r = 0; r < index->manifest.n_runs; r++)
		stats->num_index_tuples += (double)iforest_node_rows(index->manifest.runs[r].root);
	count_space(index, stats);
	ifp_maintenance_end(index);
	leave(before);
	return stats;
}
