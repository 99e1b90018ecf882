#include "pg_ext/storage/compact.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "core/page/node.h"
#include "core/run/compact.h"
#include "core/run/memtable.h"
#include "core/run/remove.h"
#include "pg_ext/base/compat.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/base/library.h"
#include "pg_ext/base/owner_context.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/locks.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/sidecar.h"

/* ---- flush ---- */

/* True if the chain still waits to be flushed. */
static bool is_closed(struct ifp_index *index, uint32 clock, struct ifp_chain *chain)
{
	for (uint32 i = 0; i < index->meta.n_closed; i++)
		if (index->meta.closed[i].clock == clock) {
			*chain = index->meta.closed[i];
			return true;
		}
	return false;
}

/* Flushes a closed chain to a run. Returns false if another backend has done so. Requires  the chain's lock. */
static bool flush_chain(struct ifp_index *index, uint32 clock)
{
	struct iforest_memtable *memtable;
	struct ifp_chain chain;
	struct iforest_run run;
	struct iforest_edit edit = { 0 };

	ifp_index_refresh(index);
	if (!is_closed(index, clock, &chain))
		return false;
	memtable = palloc(sizeof *memtable);
	ifp_index_require(index, iforest_memtable_init(memtable, &index->store, &index->manifest.fields));
	(void)ifp_chain_read(index, &chain, NULL, &memtable->batch);
	if (index->met_foreign_page)
		ifp_require(IFOREST_CORRUPT, index->relation,
			    &(struct iforest_fault){ .what = "a chain of pending pages is broken", .run_id = clock });
	ifp_index_require(index, iforest_memtable_flush(memtable, &index->store, &index->manifest, &run));
	iforest_memtable_release(memtable);
	pfree(memtable);
	if (run.n_leaves > 0)
		edit.added = &run;
	index->flushed[index->n_flushed++] = clock;
	ifp_index_require(index, iforest_manifest_commit(&index->manifest, &index->store, &edit));
	return true;
}

/* Flushes closed chains to runs: those whose lock is free, or with `wait` all that were closed before the call. Sorts in
 * memory, one chain at a time. Returns the number of chains flushed. */
static uint32 flush_chains(struct ifp_index *index, bool wait)
{
	uint32 clocks[IFP_MAX_CLOSED], n_clocks, n_flushed = 0;

	ifp_meta_read(index->relation, &index->meta);
	n_clocks = index->meta.n_closed;
	for (uint32 i = 0; i < n_clocks; i++)
		clocks[i] = index->meta.closed[i].clock;
	for (uint32 i = 0; i < n_clocks; i++) {
		if (wait)
			ifp_lock(index->relation, clocks[i], ExclusiveLock);
		else if (!ifp_try_lock(index->relation, clocks[i], ExclusiveLock))
			continue;
		ifp_lock(index->relation, IFP_LOCK_WRITING, ShareLock);
		n_flushed += flush_chain(index, clocks[i]);
		ifp_unlock(index->relation, IFP_LOCK_WRITING, ShareLock);
		ifp_unlock(index->relation, clocks[i], ExclusiveLock);
	}
	return n_flushed;
}

/* Disjoint runs of more than CAP_PAGES (1 GiB) are not merged. An inserting backend merges FOREGROUND_PAGES at a time, and more
 * only if runs have piled up because nobody else merges. */
enum { CAP_PAGES = 131072, FOREGROUND_PAGES = 1024 };

/* ---- the maintenance lock ---- */

/* True if the manifest is so long that runs must be merged before another chain is flushed. */
static bool is_crowded(const struct ifp_index *index)
{
	return index->meta.manifest_bytes > IFP_SLOT_PAGES * IFP_CONTENT_BYTES / 4 * 3;
}

static void repair_runs(struct ifp_index *index)
{
	for (uint32 r = 0; r < index->manifest.n_runs; r++)
		if (index->manifest.runs[r].removal_in_progress) {
			ifp_index_require(index, iforest_run_repair(&index->store, &index->manifest,
								    index->manifest.runs[r].place.run_id));
			r = UINT32_MAX; /* the list may have changed */
		}
}

/* Puts everything numbered so far on the worklist. The lock on younger runs ensures that nobody merges any of them. */
static void renew_worklist(struct ifp_index *index)
{
	ifp_set_worklist(index->relation);
	ifp_unlock(index->relation, IFP_LOCK_NEWER, ExclusiveLock);
	ifp_index_refresh(index);
}

/* Flushes everything that has been appended. The list of closed chains may be too full to take all chains at once. If the
 * manifest has hardly room for another run, all runs are merged to one first. */
static void flush_all(struct ifp_index *index)
{
	for (bool all_closed = false; !all_closed;) {
		ifp_index_refresh(index);
		if (is_crowded(index)) {
			ifp_lock(index->relation, IFP_LOCK_NEWER, ExclusiveLock);
			renew_worklist(index);
			ifp_compact_all(index, true);
		}
		all_closed = ifp_pending_close(index->relation, true);
		ifp_test_point("chains closed");
		(void)flush_chains(index, true);
	}
}

bool ifp_maintenance_begin(struct ifp_index *index, bool wait)
{
	Relation relation = index->relation;

	if (!wait && !ifp_try_lock(relation, IFP_LOCK_MAINTENANCE, ExclusiveLock))
		return false;
	if (wait) {
		ifp_lock(relation, IFP_LOCK_MAINTENANCE, ExclusiveLock);
		flush_all(index);
		ifp_lock(relation, IFP_LOCK_NEWER, ExclusiveLock);
	} else if (!ifp_try_lock(relation, IFP_LOCK_NEWER, ExclusiveLock)) {
		ifp_unlock(relation, IFP_LOCK_MAINTENANCE, ExclusiveLock);
		return false;
	}
	renew_worklist(index);
	if (wait)
		repair_runs(index);
	return true;
}

void ifp_maintenance_end(struct ifp_index *index)
{
	ifp_unlock(index->relation, IFP_LOCK_MAINTENANCE, ExclusiveLock);
}

/* ---- merging ---- */

/* Runs that are merged together: those on the worklist, or the younger ones. */
struct share {
	const struct ifp_index *index;
	bool older;
	bool complete; /* merge all of them to one run */
};

/* Gives a run's heap blocks to the policy. Excludes a run whose removal was interrupted: a backend that may take the time
 * repairs it. */
static bool may_merge(void *context, const struct iforest_run *run, int64_t *low, int64_t *high)
{
	const struct share *share = context;
	uint32 lowest, highest;

	iforest_node_blocks(run->root, &share->index->manifest.fields, &lowest, &highest);
	*low = lowest;
	*high = highest;
	return (ifp_run_clock(run) < share->index->meta.worklist_below) == share->older &&
	       (share->complete || !run->removal_in_progress);
}

static struct iforest_compaction rules_of(struct share *share, uint64 most_pages)
{
	return (struct iforest_compaction){ .to_one = share->complete,
					    .settings = { .fan_in = IFOREST_USUAL_FAN_IN,
							  .most_pages = most_pages,
							  .cap_pages = is_crowded(share->index) ? UINT64_MAX : CAP_PAGES },
					    .may_merge = may_merge,
					    .context = share };
}

/* Merges once. Returns the number of runs merged. */
static uint32 merge_once(struct ifp_index *index, struct iforest_compaction *rules)
{
	uint32 n;

	ifp_index_require(index, iforest_compact_next(&index->store, &index->manifest, rules, &n));
	return n;
}

void ifp_compact_all(struct ifp_index *index, bool complete)
{
	struct share older = { .index = index, .older = true, .complete = complete };
	struct iforest_compaction rules = rules_of(&older, UINT64_MAX);

	while (merge_once(index, &rules) > 0) {
		/* the merged run has a new number */
		ifp_lock(index->relation, IFP_LOCK_NEWER, ExclusiveLock);
		renew_worklist(index);
		if (complete)
			break;
		rules = rules_of(&older, UINT64_MAX);
	}
}

/* Merges once, among older or younger runs according to the lock held. Returns true if nothing is left to merge. */
static bool merge_under_lock(struct ifp_index *index, bool older, uint64 most_pages)
{
	struct share share = { .index = index, .older = older };
	struct iforest_compaction rules = rules_of(&share, most_pages);
	uint32 n_left;

	(void)merge_once(index, &rules);
	rules = rules_of(&share, UINT64_MAX);
	ifp_index_require(index, iforest_compact_peek(&index->manifest, &rules, &n_left));
	return n_left == 0;
}

/* Merges once, as the policy selects among the runs that may be merged now, at most most_pages source pages. Returns false if
 * there is more to merge that no other backend is merging. Requires  index is refreshed. */
static bool merge_some(struct ifp_index *index, uint64 most_pages)
{
	bool is_done = true;

	if (ifp_maintenance_begin(index, false)) {
		is_done = merge_under_lock(index, true, most_pages);
		ifp_maintenance_end(index);
	} else if (ifp_try_lock(index->relation, IFP_LOCK_NEWER, ExclusiveLock)) {
		/* another backend works on the older runs, and will merge what exceeds our limit */
		ifp_index_refresh(index);
		(void)merge_under_lock(index, false, most_pages);
		ifp_unlock(index->relation, IFP_LOCK_NEWER, ExclusiveLock);
	}
	return is_done;
}

enum { SECONDS_BETWEEN = 10, MILLISECONDS_BETWEEN_LOOKS = 50 };

/* Indexes for which a session remembers when it started a worker: a table may have several. */
enum { REMEMBERED = 16 };
struct asked {
	Oid index;
	TimestampTz time;
};

/* The worker's task, passed in bgw_extra. */
struct order {
	Oid database, heap, index;
};

/* Starts a worker, unless none is available or this backend started one within the last seconds. Requires  the index is
 * committed. */
static void worker_start(Relation index)
{
	static struct asked all_asked[REMEMBERED];
	struct asked *asked = &all_asked[RelationGetRelid(index) % REMEMBERED];
	struct order order = { .database = MyDatabaseId, .heap = index->rd_index->indrelid, .index = RelationGetRelid(index) };
	TimestampTz now = GetCurrentTimestamp();
	BackgroundWorker worker = { .bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
				    .bgw_start_time = BgWorkerStart_RecoveryFinished,
				    .bgw_restart_time = BGW_NEVER_RESTART };

	if (asked->index == order.index && !TimestampDifferenceExceeds(asked->time, now, SECONDS_BETWEEN * 1000))
		return;
	asked->index = order.index;
	asked->time = now;
	snprintf(worker.bgw_name, BGW_MAXLEN, "iforest merge of %s", RelationGetRelationName(index));
	strlcpy(worker.bgw_type, "iforest merge", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, ifp_library_of(index), sizeof worker.bgw_library_name);
	strlcpy(worker.bgw_function_name, "iforest_worker_main", sizeof worker.bgw_function_name);
	memcpy(worker.bgw_extra, &order, sizeof order);
	(void)RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* ---- after an append ---- */

void ifp_compact_after_append(Relation relation, bool background)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest flush", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	struct ifp_index *index = palloc(sizeof *index);
	bool is_unshared = ifp_is_unshared(relation);
	uint64 most_pages;

	ifp_index_open(index, relation);
	ifp_index_refresh(index);
	/* if there are too many runs to add another, the chain grows; if there is no room for another closed chain, flushing
	 * makes room */
	if (!is_crowded(index)) {
		(void)ifp_pending_close(relation, false);
		(void)flush_chains(index, false);
		ifp_index_refresh(index);
	}
	/* nobody else can merge what only this transaction sees */
	most_pages = is_unshared ? UINT64_MAX : iforest_merge_bound(FOREGROUND_PAGES, index->manifest.n_runs);
	if (index->manifest.n_runs >= IFOREST_USUAL_FAN_IN && !merge_some(index, most_pages) && background && !is_unshared)
		worker_start(relation);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
}

/* ---- reclaiming space ---- */

void ifp_compact_reclaim(struct ifp_index *index)
{
	Relation relation = index->relation;
	Buffer buffer;
	const struct ifp_meta *meta;
	uint32 *owners, n = 0;

	if (!ifp_try_lock(relation, IFP_LOCK_NEWER, ExclusiveLock))
		return;
	if (ifp_try_lock(relation, IFP_LOCK_WRITING, ExclusiveLock)) {
		ifp_index_refresh(index);
		owners = palloc((index->manifest.n_runs + IFP_CHAINS + IFP_MAX_CLOSED) * sizeof *owners);
		for (uint32 r = 0; r < index->manifest.n_runs; r++)
			owners[n++] = ifp_run_clock(&index->manifest.runs[r]);
		/* no chain is started while the metapage is locked */
		buffer = ifp_meta_lock(relation, BUFFER_LOCK_SHARE);
		meta = (const struct ifp_meta *)ifp_content(BufferGetPage(buffer));
		for (unsigned c = 0; c < IFP_CHAINS; c++)
			owners[n++] = meta->open[c].clock;
		for (uint32 c = 0; c < meta->n_closed; c++)
			owners[n++] = meta->closed[c].clock;
		(void)ifp_extents_sweep(relation, owners, n);
		UnlockReleaseBuffer(buffer);
		ifp_unlock(relation, IFP_LOCK_WRITING, ExclusiveLock);
	}
	ifp_unlock(relation, IFP_LOCK_NEWER, ExclusiveLock);
}

/* ---- the worker ---- */

/* True if others wait for a lock that we hold in this mode. LockHasWaiters() cannot tell: it follows a null pointer if the lock was
 * acquired by the fast path. Whoever has to wait has moved such a lock to the shared table before. */
static bool has_waiters(const LOCKTAG *tag, LOCKMODE mode)
{
	uint32 hash = LockTagHashCode(tag);
	const PROCLOCK *own;
	bool has = false;

	LWLockAcquire(LockHashPartitionLock(hash), LW_SHARED);
	own = ifp_own_shared_lock(tag, LockHashPartition(hash));
	if (own)
		has = GetLocksMethodTable(own->tag.myLock)->conflictTab[mode] & own->tag.myLock->waitMask;
	LWLockRelease(LockHashPartitionLock(hash));
	return has;
}

static bool is_relation_wanted(Oid relation)
{
	LOCKTAG tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relation);
	return has_waiters(&tag, RowExclusiveLock);
}

/* True if others wait for the end of our transaction, as CREATE INDEX CONCURRENTLY does. */
static bool is_end_wanted(void)
{
	VirtualTransactionId own;
	LOCKTAG tag;

	GET_VXID_FROM_PGPROC(own, *MyProc);
	SET_LOCKTAG_VIRTUALTRANSACTION(tag, own);
	return has_waiters(&tag, ExclusiveLock);
}

/* True if others drop, rename or copy our database: they have locked it, and wait up to five seconds for us to leave. */
static bool is_database_wanted(void)
{
	LOCKTAG tag;
	int n;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	pfree(GetLockConflicts(&tag, RowExclusiveLock, &n));
	return n > 0;
}

/* Raises an error if others wait. A background merge may last minutes: a command that changes the table or the index would wait
 * for it, and all readers behind that command; and a database could not be dropped. */
static void give_way(struct ifp_index *index)
{
	static TimestampTz last_look;
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(last_look, now, MILLISECONDS_BETWEEN_LOOKS))
		return;
	last_look = now;
	/* a catalog snapshot would keep VACUUM from removing rows of all tables */
	InvalidateCatalogSnapshot();
	if (is_relation_wanted(index->relation->rd_index->indrelid) || is_relation_wanted(RelationGetRelid(index->relation)) ||
	    is_end_wanted())
		ereport(ERROR, errcode(ERRCODE_QUERY_CANCELED),
			errmsg("index \"%s\" is not merged now: others wait for it or for its table",
			       RelationGetRelationName(index->relation)));
	if (is_database_wanted())
		ereport(ERROR, errcode(ERRCODE_QUERY_CANCELED),
			errmsg("index \"%s\" is not merged now: others wait for its database",
			       RelationGetRelationName(index->relation)));
}

/* Does not wait for schema changes: a transaction with one that inserts many rows would occupy all workers of the server.
 */
static Relation open_unless_locked(Oid oid)
{
	return ConditionalLockRelationOid(oid, RowExclusiveLock) ? try_relation_open(oid, NoLock) : NULL;
}

/* The entry point of the worker. */
extern PGDLLEXPORT void iforest_worker_main(Datum argument);

void iforest_worker_main(Datum argument)
{
	struct order order;
	Relation heap, relation = NULL;

	(void)argument;
	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof order);
	/* the default handler would raise an error at any point, even in a critical section */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	/* without a role: the owner may be unable to log in */
	BackgroundWorkerInitializeConnectionByOid(order.database, InvalidOid, 0);
	ifp_allow_any_duration();
	StartTransactionCommand();
	heap = open_unless_locked(order.heap);
	if (heap)
		relation = open_unless_locked(order.index);
	if (relation && relation->rd_index && relation->rd_index->indisvalid && relation->rd_index->indrelid == order.heap) {
		struct ifp_owner_context worker = ifp_become_owner(heap);
		struct ifp_index *index = palloc(sizeof *index);

		pgstat_report_activity(STATE_RUNNING, "merging runs of an iforest index");
		ifp_index_open(index, relation);
		index->before_page = give_way;
		if (ifp_maintenance_begin(index, false)) {
			/* extents left by workers that gave way */
			ifp_compact_reclaim(index);
			ifp_compact_all(index, false);
			ifp_sidecar_keep(index);
			ifp_maintenance_end(index);
		}
		ifp_leave_owner(&worker);
	}
	if (relation)
		relation_close(relation, RowExclusiveLock);
	if (heap)
		relation_close(heap, RowExclusiveLock);
	CommitTransactionCommand();
}
