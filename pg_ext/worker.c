#include "pg_ext/worker.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "pg_ext/maintenance.h"
#include "pg_ext/sketch_shelf.h"

enum { SECONDS_BETWEEN = 10, MILLISECONDS_BETWEEN_LOOKS = 50 };

/* What the worker needs to know; it goes by bgw_extra. */
struct order {
	Oid database, heap, index;
};

/* Where the access method's functions are loaded from: the server may have been told to look for extensions elsewhere. */
static void find_library(Relation index, char *library, Size n_bytes)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(index->rd_amhandler));
	bool is_null;
	Datum name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", index->rd_amhandler);
	name = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &is_null);
	if (!is_null)
		text_to_cstring_buffer(DatumGetTextPP(name), library, n_bytes);
	ReleaseSysCache(tuple);
}

void iforest_worker_start(Relation index)
{
	static TimestampTz last_time;
	static Oid last_index;
	struct order order = { .database = MyDatabaseId, .heap = index->rd_index->indrelid,
			       .index = RelationGetRelid(index) };
	TimestampTz now = GetCurrentTimestamp();
	BackgroundWorker worker = { .bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
				    .bgw_start_time = BgWorkerStart_RecoveryFinished,
				    .bgw_restart_time = BGW_NEVER_RESTART };

	if (last_index == order.index && !TimestampDifferenceExceeds(last_time, now, SECONDS_BETWEEN * 1000))
		return;
	last_time = now;
	last_index = order.index;
	snprintf(worker.bgw_name, BGW_MAXLEN, "iforest merge of %s", RelationGetRelationName(index));
	strlcpy(worker.bgw_type, "iforest merge", BGW_MAXLEN);
	find_library(index, worker.bgw_library_name, sizeof worker.bgw_library_name);
	strlcpy(worker.bgw_function_name, "iforest_worker_main", sizeof worker.bgw_function_name);
	memcpy(worker.bgw_extra, &order, sizeof order);
	(void)RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* Does anybody wait for a lock on the table, or on the index, that ours does not go with? */
static bool others_wait(Oid table, Oid index)
{
	LockData *locks = GetLockStatusData();
	bool found = false;

	for (int i = 0; i < locks->nelements && !found; i++) {
		const LockInstanceData *lock = &locks->locks[i];

		found = lock->waitLockMode != NoLock && lock->locktag.locktag_type == LOCKTAG_RELATION &&
			lock->locktag.locktag_field1 == MyDatabaseId &&
			(lock->locktag.locktag_field2 == table || lock->locktag.locktag_field2 == index) &&
			DoLockModesConflict(lock->waitLockMode, RowExclusiveLock);
	}
	pfree(locks->locks);
	pfree(locks);
	return found;
}

/* A merge that nobody asked for may last minutes. Whoever wants to change the table or the index would wait for it, and behind
 * him all who only want to read. */
static void give_way(struct iforest_index *index)
{
	static TimestampTz last_look;
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(last_look, now, MILLISECONDS_BETWEEN_LOOKS))
		return;
	last_look = now;
	if (others_wait(index->relation->rd_index->indrelid, RelationGetRelid(index->relation)))
		ereport(ERROR, errcode(ERRCODE_QUERY_CANCELED),
			errmsg("index \"%s\" is not merged now: others wait for it or for its table",
			       RelationGetRelationName(index->relation)));
}

void iforest_worker_main(Datum argument)
{
	struct order order;
	Relation heap, relation = NULL;

	(void)argument;
	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof order);
	/* what is there otherwise raises an error where the signal comes, if need be in a critical section */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	/* as no particular role: nothing of a user's is run, and an owner may be unable to log in */
	BackgroundWorkerInitializeConnectionByOid(order.database, InvalidOid, 0);
	StartTransactionCommand();
	/* VACUUM's own lock on the table: schema changes wait, and so do we for them */
	heap = try_table_open(order.heap, RowExclusiveLock);
	if (heap)
		relation = try_relation_open(order.index, RowExclusiveLock);
	if (relation && relation->rd_index && relation->rd_index->indisvalid && relation->rd_index->indrelid == order.heap) {
		struct iforest_index *index = palloc(sizeof *index);

		pgstat_report_activity(STATE_RUNNING, "merging runs of an iforest index");
		iforest_index_open(index, relation);
		index->before_batch = give_way;
		if (iforest_maintenance_begin(index, false)) {
			/* what workers before left that gave way */
			iforest_reclaim(index);
			iforest_merge_all(index, false);
			iforest_shelf_keep(index);
			iforest_maintenance_end(index);
		}
	}
	if (relation)
		relation_close(relation, RowExclusiveLock);
	if (heap)
		table_close(heap, RowExclusiveLock);
	CommitTransactionCommand();
}
