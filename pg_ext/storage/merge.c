#include "pg_ext/storage/compact.h"

#include "core/run/compact.h"
#include "core/page/node_slice.h"
#include "core/run/run_merge.h"
#include "core/run/remove.h"
#include "pg_ext/storage/locks.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/worker.h"
#include "pg_ext/storage/compact_private.h"
#include "pg_ext/storage/storage_compact_own.h"

#include "utils/memutils.h"

/* Runs of more than CAP_PAGES (1 GiB) that lie apart are left alone. An inserting backend merges FOREGROUND_PAGES at a time,
 * and more only where runs have piled up because nobody else merges. */
enum { CAP_PAGES = 131072, FOREGROUND_PAGES = 1024 };

/* ---- the maintenance lock ---- */

static void repair_runs(struct iforest_index *index)
{
	for (uint32 r = 0; r < index->manifest.n_runs; r++)
		if (index->manifest.runs[r].removal_in_progress) {
			iforest_index_require(index, iforest_run_repair(&index->store, &index->manifest,
									index->manifest.runs[r].place.run_id));
			r = UINT32_MAX; /* the list may be another now */
		}
}

/* Says that everything numbered so far is the holder's business. The lock on younger runs makes sure that nobody is merging
 * any of them. */
static void renew_worklist(struct iforest_index *index)
{
	iforest_set_worklist(index->relation);
	iforest_unlock(index->relation, IFOREST_LOCK_NEWER, ExclusiveLock);
	iforest_index_refresh(index);
}

bool iforest_is_crowded(const struct iforest_index *index)
{
	return index->meta.manifest_bytes > IFOREST_SLOT_PAGES * IFOREST_CONTENT_BYTES / 4 * 3;
}

/* Everything that has been appended is to be in a run; the list of closed chains may be too full to take all at once. Where
 * there is hardly room for another run, all that there are become one first. */
static void seal_all(struct iforest_index *index)
{
	for (bool all_closed = false; !all_closed;) {
		iforest_index_refresh(index);
		if (iforest_is_crowded(index)) {
			iforest_lock(index->relation, IFOREST_LOCK_NEWER, ExclusiveLock);
			renew_worklist(index);
			iforest_merge_all(index, true);
		}
		all_closed = iforest_pending_close(index->relation, true);
		iforest_pause("chains closed");
		(void)iforest_flush_chains(index, true);
	}
}

bool iforest_maintenance_begin(struct iforest_index *index, bool wait)
{
	Relation relation = index->relation;

	if (!wait && !iforest_try_lock(relation, IFOREST_LOCK_MAINTENANCE, ExclusiveLock))
		return false;
	if (wait) {
		iforest_lock(relation, IFOREST_LOCK_MAINTENANCE, ExclusiveLock);
		seal_all(index);
		iforest_lock(relation, IFOREST_LOCK_NEWER, ExclusiveLock);
	} else if (!iforest_try_lock(relation, IFOREST_LOCK_NEWER, ExclusiveLock)) {
		iforest_unlock(relation, IFOREST_LOCK_MAINTENANCE, ExclusiveLock);
		return false;
	}
	renew_worklist(index);
	if (wait)
		repair_runs(index);
	return true;
}

void iforest_maintenance_end(struct iforest_index *index)
{
	iforest_unlock(index->relation, IFOREST_LOCK_MAINTENANCE, ExclusiveLock);
}

/* ---- merging ---- */

/* Which runs the policy would merge, among those that are older (or not older) than the worklist. run_ids has room for all. */
static uint32 choose(struct iforest_index *index, bool older, uint64 most_pages, uint64 *run_ids)
{
	struct iforest_manifest *manifest = &index->manifest;
	struct iforest_merge_candidate *candidates = palloc0((manifest->n_runs + 1) * sizeof *candidates);
	uint64 *ids = palloc((manifest->n_runs + 1) * sizeof *ids);
	uint32 *chosen = palloc((manifest->n_runs + 1) * sizeof *chosen);
	struct iforest_merge_settings settings = { .fan_in = IFOREST_USUAL_FAN_IN,
						   .most_pages = most_pages,
						   .cap_pages = iforest_is_crowded(index) ? UINT64_MAX : CAP_PAGES };
	uint32 n = 0, n_chosen;

	for (uint32 r = 0; r < manifest->n_runs; r++) {
		const struct iforest_run *run = &manifest->runs[r];
		struct iforest_node node;

		/* a run whose removal was cut off is left to whoever may take the time to repair it */
		if ((iforest_run_clock(run) < index->meta.worklist_below) != older || run->removal_in_progress)
			continue;
		iforest_node_read(&node, &manifest->fields, run->root);
		ids[n] = run->place.run_id;
		candidates[n++] = (struct iforest_merge_candidate){ .n_pages = iforest_run_pages(manifest, run),
			.n_rows = node.aggregate.n_rows, .n_dead = node.aggregate.n_dead,
			.low = node.aggregate.lowest_block, .high = node.aggregate.highest_block };
	}
	n_chosen = iforest_merge_choose(candidates, n, &settings, chosen);
	for (uint32 i = 0; i < n_chosen; i++)
		run_ids[i] = ids[chosen[i]];
	pfree(candidates);
	pfree(ids);
	pfree(chosen);
	return n_chosen;
}

static void merge_runs(struct iforest_index *index, const uint64 *run_ids, uint32 n_runs)
{
	struct iforest_run merged;

	iforest_index_require(index, iforest_runs_merge(&index->store, &index->manifest, run_ids, n_runs, &merged));
}

/* All runs of the worklist, unless they are one already, and whole. */
static uint32 choose_all(const struct iforest_index *index, uint64 *run_ids)
{
	bool has_dead = false;
	uint32 n = 0;

	for (uint32 r = 0; r < index->manifest.n_runs; r++) {
		const struct iforest_run *run = &index->manifest.runs[r];

		if (iforest_run_clock(run) >= index->meta.worklist_below)
			continue;
		run_ids[n++] = run->place.run_id;
		has_dead = has_dead || iforest_node_dead(run->root) > 0;
	}
	return n > 1 || has_dead ? n : 0;
}

void iforest_merge_all(struct iforest_index *index, bool complete)
{
	uint64 *run_ids = palloc(IFOREST_MAX_RUNS * sizeof *run_ids);
	uint32 n = complete ? choose_all(index, run_ids) : choose(index, true, UINT64_MAX, run_ids);

	while (n > 0) {
		merge_runs(index, run_ids, n);
		/* what was merged bears a new number */
		iforest_lock(index->relation, IFOREST_LOCK_NEWER, ExclusiveLock);
		renew_worklist(index);
		n = complete ? 0 : choose(index, true, UINT64_MAX, run_ids);
	}
	pfree(run_ids);
}

/* The lock that was got decides whose runs are merged. */
static bool merge_under_lock(struct iforest_index *index, bool older, uint64 most_pages)
{
	/* others may name more runs meanwhile */
	uint64 *run_ids = palloc(IFOREST_MAX_RUNS * sizeof *run_ids);
	uint32 n = choose(index, older, most_pages, run_ids);
	bool is_done;

	if (n > 0)
		merge_runs(index, run_ids, n);
	is_done = choose(index, older, UINT64_MAX, run_ids) == 0;
	pfree(run_ids);
	return is_done;
}

bool iforest_merge_some(struct iforest_index *index, uint64 most_pages)
{
	bool is_done = true;

	if (iforest_maintenance_begin(index, false)) {
		is_done = merge_under_lock(index, true, most_pages);
		iforest_maintenance_end(index);
	} else if (iforest_try_lock(index->relation, IFOREST_LOCK_NEWER, ExclusiveLock)) {
		/* somebody is at work on the older runs, who will see to what is too much for us */
		iforest_index_refresh(index);
		(void)merge_under_lock(index, false, most_pages);
		iforest_unlock(index->relation, IFOREST_LOCK_NEWER, ExclusiveLock);
	}
	return is_done;
}

void iforest_after_append(Relation relation, bool background)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest seal", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	struct iforest_index *index = palloc(sizeof *index);
	bool is_unshared = iforest_is_unshared(relation);
	uint64 most_pages;

	iforest_index_open(index, relation);
	iforest_index_refresh(index);
	/* in a crowd of runs that nobody may merge just now, the chain grows. Where there is no room for another closed
	 * chain, sealing the others makes some */
	if (!iforest_is_crowded(index)) {
		(void)iforest_pending_close(relation, false);
		(void)iforest_flush_chains(index, false);
		iforest_index_refresh(index);
	}
	/* nobody else can merge what only this transaction sees */
	most_pages = is_unshared ? UINT64_MAX : iforest_merge_bound(FOREGROUND_PAGES, index->manifest.n_runs);
	if (index->manifest.n_runs >= IFOREST_USUAL_FAN_IN && !iforest_merge_some(index, most_pages) && background &&
	    !is_unshared)
		iforest_worker_start(relation);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
}

/* ---- space ---- */

void iforest_reclaim(struct iforest_index *index)
{
	Relation relation = index->relation;
	Buffer buffer;
	const struct iforest_meta *meta;
	uint32 *owners, n = 0;

	if (!iforest_try_lock(relation, IFOREST_LOCK_NEWER, ExclusiveLock))
		return;
	if (iforest_try_lock(relation, IFOREST_LOCK_WRITING, ExclusiveLock)) {
		iforest_index_refresh(index);
		owners = palloc((index->manifest.n_runs + IFOREST_CHAINS + IFOREST_MAX_CLOSED) * sizeof *owners);
		for (uint32 r = 0; r < index->manifest.n_runs; r++)
			owners[n++] = iforest_run_clock(&index->manifest.runs[r]);
		/* while the metapage is locked no chain is begun */
		buffer = iforest_meta_lock(relation, BUFFER_LOCK_SHARE);
		meta = (const struct iforest_meta *)iforest_content(BufferGetPage(buffer));
		for (unsigned c = 0; c < IFOREST_CHAINS; c++)
			owners[n++] = meta->open[c].clock;
		for (uint32 c = 0; c < meta->n_closed; c++)
			owners[n++] = meta->closed[c].clock;
		(void)iforest_space_sweep(relation, owners, n);
		UnlockReleaseBuffer(buffer);
		iforest_unlock(relation, IFOREST_LOCK_WRITING, ExclusiveLock);
	}
	iforest_unlock(relation, IFOREST_LOCK_NEWER, ExclusiveLock);
}
