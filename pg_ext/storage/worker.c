#include "pg_ext/storage/worker.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "pg_ext/storage/compact.h"
#include "pg_ext/storage/sidecar.h"

enum { SECONDS_BETWEEN = 10, MILLISECONDS_BETWEEN_LOOKS = 50 };

/* Of so many indexes a session knows when it has asked for a worker: a table may have several. */
enum { REMEMBERED = 16 };
struct asked {
	Oid index;
	TimestampTz time;
};

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
	static struct asked all_asked[REMEMBERED];
	struct asked *asked = &all_asked[RelationGetRelid(index) % REMEMBERED];
	struct order order = { .database = MyDatabaseId, .heap = index->rd_index->indrelid,
			       .index = RelationGetRelid(index) };
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
	find_library(index, worker.bgw_library_name, sizeof worker.bgw_library_name);
	strlcpy(worker.bgw_function_name, "iforest_worker_main", sizeof worker.bgw_function_name);
	memcpy(worker.bgw_extra, &order, sizeof order);
	(void)RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* Is that waiting for a lock on the table, or on the index, that ours does not go with? */
static bool wants_table(const LockInstanceData *lock, Oid table, Oid index)
{
	return lock->waitLockMode != NoLock && lock->locktag.locktag_type == LOCKTAG_RELATION &&
	       lock->locktag.locktag_field1 == MyDatabaseId &&
	       (lock->locktag.locktag_field2 == table || lock->locktag.locktag_field2 == index) &&
	       DoLockModesConflict(lock->waitLockMode, RowExclusiveLock);
}

/* Is that waiting for the end of our transaction, as who does something CONCURRENTLY does? */
static bool wants_end(const LockInstanceData *lock)
{
	VirtualTransactionId own;
	LOCKTAG of_own;

	GET_VXID_FROM_PGPROC(own, *MyProc);
	SET_LOCKTAG_VIRTUALTRANSACTION(of_own, own);
	return lock->waitLockMode != NoLock && memcmp(&lock->locktag, &of_own, sizeof of_own) == 0;
}

/* Who drops, renames or copies a database has locked it, and for five seconds waits that nobody else is in it. */
static bool wants_database(const LockInstanceData *lock)
{
	return lock->locktag.locktag_type == LOCKTAG_OBJECT && lock->locktag.locktag_field1 == InvalidOid &&
	       lock->locktag.locktag_field2 == DatabaseRelationId && lock->locktag.locktag_field3 == MyDatabaseId &&
	       lock->holdMask >= LOCKBIT_ON(ShareLock);
}

/* What others wait for; NULL: for nothing. */
static const char *wanted_by_others(Oid table, Oid index)
{
	LockData *locks = GetLockStatusData();
	const char *wanted = NULL;

	for (int i = 0; i < locks->nelements && !wanted; i++) {
		if (wants_table(&locks->locks[i], table, index) || wants_end(&locks->locks[i]))
			wanted = "it or for its table";
		else if (wants_database(&locks->locks[i]))
			wanted = "its database";
	}
	pfree(locks->locks);
	pfree(locks);
	return wanted;
}

/* A merge that nobody asked for may last minutes. Whoever wants to change the table or the index would wait for it, and behind
 * him all who only want to read; and a database could not be dropped. */
static void give_way(struct iforest_index *index)
{
	static TimestampTz last_look;
	TimestampTz now = GetCurrentTimestamp();
	const char *wanted;

	if (!TimestampDifferenceExceeds(last_look, now, MILLISECONDS_BETWEEN_LOOKS))
		return;
	last_look = now;
	/* no row of any table is kept from being removed by who has only looked into catalogs */
	InvalidateCatalogSnapshot();
	wanted = wanted_by_others(index->relation->rd_index->indrelid, RelationGetRelid(index->relation));
	if (wanted)
		ereport(ERROR, errcode(ERRCODE_QUERY_CANCELED),
			errmsg("index \"%s\" is not merged now: others wait for %s", RelationGetRelationName(index->relation),
			       wanted));
}

/* Schema changes wait for us, but we not for them: whoever is at one, and inserts many rows besides, would have all workers of
 * the server wait for him. */
static Relation open_unless_locked(Oid oid)
{
	return ConditionalLockRelationOid(oid, RowExclusiveLock) ? try_relation_open(oid, NoLock) : NULL;
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
	iforest_allow_any_duration();
	StartTransactionCommand();
	heap = open_unless_locked(order.heap);
	if (heap)
		relation = open_unless_locked(order.index);
	if (relation && relation->rd_index && relation->rd_index->indisvalid && relation->rd_index->indrelid == order.heap) {
		struct iforest_index *index = palloc(sizeof *index);

		pgstat_report_activity(STATE_RUNNING, "merging runs of an iforest index");
		iforest_index_open(index, relation);
		index->before_page = give_way;
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
		relation_close(heap, RowExclusiveLock);
	CommitTransactionCommand();
}
