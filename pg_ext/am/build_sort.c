#include "pg_ext/am/build_sort.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "pg_ext/am/insert.h"
#include "pg_ext/base/library.h"

/* ---- one process ---- */

void ifp_build_sort_start(struct ifp_build_sort *sort, struct ifp_index *opened, Size most_bytes, SharedFileSet *shared,
			  uint32 number, uint32 n_files)
{
	*sort = (struct ifp_build_sort){ .index = opened->relation, .opened = opened };
	ifp_definition_read(sort->index, &sort->definition);
	sort->row_context = AllocSetContextCreate(CurrentMemoryContext, "iforest build row", ALLOCSET_DEFAULT_SIZES);
	ifp_temp_store_start(&sort->waiting, shared, number, n_files);
	iforest_run_sorter_start(&sort->sorter, &sort->waiting.store, &opened->manifest, most_bytes);
}

void ifp_build_sort_form(struct ifp_build_sort *sort, ItemPointer tid, Datum *values, const bool *are_null,
			 struct iforest_entry *entry)
{
	MemoryContext before = MemoryContextSwitchTo(sort->row_context);

	ifp_entry_form(sort->index, &sort->definition, values, are_null, tid, entry);
	entry->key.series = ifp_entry_series(sort->index, &sort->definition, sort->opened->meta.index_id, values, are_null);
	MemoryContextSwitchTo(before);
	MemoryContextReset(sort->row_context);
	sort->n_rows++;
}

void ifp_build_sort_add(struct ifp_build_sort *sort, const struct iforest_entry *entry)
{
	ifp_index_require(sort->opened, iforest_run_sorter_add(&sort->sorter, entry));
	sort->n_sorted++;
}

void ifp_build_sort_end(struct ifp_build_sort *sort)
{
	iforest_run_sorter_release(&sort->sorter);
	ifp_temp_store_end(&sort->waiting);
	MemoryContextDelete(sort->row_context);
}

/* ---- several processes ---- */

enum { KEY_SHARED = 1, KEY_QUERY, KEY_WAL_USAGE, KEY_BUFFER_USAGE }; /* keys in the table of contents of the shared memory */

/* Each process takes several ranges, so that all finish at about the same time. */
enum { RANGES_A_PROCESS = 8, FEWEST_BLOCKS = 16 };

struct shared_build {
	Oid heap, index;
	bool is_concurrent;
	uint32 n_processes; /* at most */
	BlockNumber n_blocks, range_blocks;
	pg_atomic_uint32 next_range;
	slock_t mutex; /* protects the following members */
	struct ifp_build_totals totals;
	bool has_broken_hot_chain;
	SharedFileSet files;
};

static void take_row(Relation index, ItemPointer tid, Datum *values, bool *are_null, bool is_alive, void *state)
{
	struct ifp_build_sort *sort = state;
	struct iforest_entry entry;

	(void)index;
	(void)is_alive;
	ifp_build_sort_form(sort, tid, values, are_null, &entry);
	ifp_build_sort_add(sort, &entry);
}

/* Takes ranges of blocks until there are none left. Returns the number of rows in them. */
static double scan_ranges(struct shared_build *shared, struct ifp_build_sort *sort, Relation heap, IndexInfo *info)
{
	double n_heap_rows = 0;

	for (;;) {
		uint64 first = (uint64)pg_atomic_fetch_add_u32(&shared->next_range, 1) * shared->range_blocks;

		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, (int64)Min(first, shared->n_blocks));
		if (first >= shared->n_blocks)
			return n_heap_rows;
		n_heap_rows += table_index_build_range_scan(heap, sort->index, info, false, false, false, (BlockNumber)first,
							    Min(shared->range_blocks, shared->n_blocks - (BlockNumber)first),
							    take_row, sort, NULL);
	}
}

static void name_list(uint32 number, char *name, Size n_bytes)
{
	snprintf(name, n_bytes, "list.%u", number);
}

/* Writes the list of the process's runs for the leader. */
static void write_list(struct shared_build *shared, uint32 number, const struct iforest_run_sorter *sorter)
{
	uint32 n_runs = (uint32)sorter->n_runs;
	char name[32];
	BufFile *file;

	name_list(number, name, sizeof name);
	file = BufFileCreateFileSet(&shared->files.fs, name);
	BufFileWrite(file, &n_runs, sizeof n_runs);
	BufFileWrite(file, sorter->runs, n_runs * sizeof *sorter->runs);
	BufFileExportFileSet(file);
	BufFileClose(file);
}

/* The part of each process, including the leader. */
static void do_part(struct shared_build *shared, uint32 number, Relation heap, struct ifp_index *opened, IndexInfo *info)
{
	struct ifp_build_sort *sort = palloc(sizeof *sort);
	double n_heap_rows;

	ifp_build_sort_start(sort, opened, (Size)maintenance_work_mem * 1024 / shared->n_processes, &shared->files, number,
			     shared->n_processes);
	n_heap_rows = scan_ranges(shared, sort, heap, info);
	ifp_index_require(opened, iforest_run_sorter_put_off(&sort->sorter));
	ifp_temp_store_export(&sort->waiting);
	write_list(shared, number, &sort->sorter);
	SpinLockAcquire(&shared->mutex);
	shared->totals.n_heap_rows += n_heap_rows;
	shared->totals.n_rows += sort->n_rows;
	shared->has_broken_hot_chain |= info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
	ifp_build_sort_end(sort);
	pfree(sort);
}

/* ---- the leader ---- */

static struct shared_build *share(ParallelContext *parallel, Relation heap, Relation index, IndexInfo *info)
{
	struct shared_build *shared = shm_toc_allocate(parallel->toc, sizeof *shared);
	uint32 n_ranges;

	*shared = (struct shared_build){ .heap = RelationGetRelid(heap),
					 .index = RelationGetRelid(index),
					 .is_concurrent = info->ii_Concurrent,
					 .n_processes = (uint32)parallel->nworkers + 1,
					 .n_blocks = RelationGetNumberOfBlocks(heap) };
	n_ranges = shared->n_processes * RANGES_A_PROCESS;
	shared->range_blocks = Max(shared->n_blocks / n_ranges + 1, FEWEST_BLOCKS);
	pg_atomic_init_u32(&shared->next_range, 0);
	SpinLockInit(&shared->mutex);
	SharedFileSetInit(&shared->files, parallel->seg);
	shm_toc_insert(parallel->toc, KEY_SHARED, shared);
	return shared;
}

static void share_query(ParallelContext *parallel)
{
	Size n_bytes = debug_query_string ? strlen(debug_query_string) + 1 : 0;

	if (n_bytes > 0)
		shm_toc_insert(parallel->toc, KEY_QUERY,
			       memcpy(shm_toc_allocate(parallel->toc, n_bytes), debug_query_string, n_bytes));
}

static ParallelContext *make_context(Relation index, int n_workers)
{
	ParallelContext *parallel;
	Size n_query = debug_query_string ? strlen(debug_query_string) + 1 : 0;

	parallel = CreateParallelContext(ifp_library_of(index), "iforest_build_worker", n_workers);
	shm_toc_estimate_chunk(&parallel->estimator, sizeof(struct shared_build));
	shm_toc_estimate_chunk(&parallel->estimator, n_query);
	shm_toc_estimate_chunk(&parallel->estimator, mul_size(sizeof(WalUsage), (Size)n_workers));
	shm_toc_estimate_chunk(&parallel->estimator, mul_size(sizeof(BufferUsage), (Size)n_workers));
	shm_toc_estimate_keys(&parallel->estimator, 4);
	InitializeParallelDSM(parallel);
	return parallel;
}

/* Reads the lists of all processes. Returns the number of runs. */
static uint32 read_lists(struct shared_build *shared, uint32 n_processes, struct iforest_run **runs)
{
	uint32 n_all = 0;

	*runs = NULL;
	for (uint32 i = 0; i < n_processes; i++) {
		char name[32];
		BufFile *file;
		uint32 n_runs = 0;
		Size n_bytes;

		name_list(i, name, sizeof name);
		file = BufFileOpenFileSet(&shared->files.fs, name, O_RDONLY, false);
		if (BufFileRead(file, &n_runs, sizeof n_runs) != sizeof n_runs)
			elog(ERROR, "the list of runs of process %u of a build is cut", i);
		n_bytes = n_runs * sizeof **runs;
		*runs = *runs ? repalloc_huge(*runs, (n_all + n_runs) * sizeof **runs + 1)
			      : palloc_extended(n_bytes + 1, MCXT_ALLOC_HUGE);
		if (BufFileRead(file, *runs + n_all, n_bytes) != n_bytes)
			elog(ERROR, "the list of runs of process %u of a build is cut", i);
		n_all += n_runs;
		BufFileClose(file);
	}
	return n_all;
}

/* Merges the runs of all processes; a file has the number of its process. */
static void merge_all(struct shared_build *shared, uint32 n_processes, ifp_build_merge merge, void *context)
{
	struct ifp_temp_store *all = palloc(sizeof *all);
	struct iforest_run *runs;
	uint32 n_runs = read_lists(shared, n_processes, &runs);

	ifp_temp_store_start(all, &shared->files, 0, shared->n_processes);
	merge(context, &all->store, runs, n_runs);
	ifp_temp_store_end(all);
	pfree(runs);
	pfree(all);
}

bool ifp_build_together(Relation heap, struct ifp_index *opened, IndexInfo *info, int n_workers, ifp_build_merge merge,
			void *context, struct ifp_build_totals *totals)
{
	ParallelContext *parallel;
	struct shared_build *shared;
	WalUsage *wal_usage;
	BufferUsage *buffer_usage;
	uint32 n_launched;

	EnterParallelMode();
	parallel = make_context(opened->relation, n_workers);
	/* without shared memory there are no workers */
	if (!parallel->seg) {
		DestroyParallelContext(parallel);
		ExitParallelMode();
		return false;
	}
	shared = share(parallel, heap, opened->relation, info);
	share_query(parallel);
	wal_usage = shm_toc_allocate(parallel->toc, mul_size(sizeof *wal_usage, (Size)parallel->nworkers));
	shm_toc_insert(parallel->toc, KEY_WAL_USAGE, wal_usage);
	buffer_usage = shm_toc_allocate(parallel->toc, mul_size(sizeof *buffer_usage, (Size)parallel->nworkers));
	shm_toc_insert(parallel->toc, KEY_BUFFER_USAGE, buffer_usage);
	LaunchParallelWorkers(parallel);
	n_launched = (uint32)parallel->nworkers_launched;
	if (n_launched > 0) {
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, shared->n_blocks);
		do_part(shared, n_launched, heap, opened, info);
		WaitForParallelWorkersToFinish(parallel);
		for (uint32 i = 0; i < n_launched; i++)
			InstrAccumParallelQuery(&buffer_usage[i], &wal_usage[i]);
		info->ii_BrokenHotChain = shared->has_broken_hot_chain;
		*totals = shared->totals;
		merge_all(shared, n_launched + 1, merge, context);
	}
	DestroyParallelContext(parallel);
	ExitParallelMode();
	return n_launched > 0;
}

/* ---- a worker ---- */

PGDLLEXPORT void iforest_build_worker(dsm_segment *segment, shm_toc *contents);

/* Workers are numbered by PostgreSQL, from 0 on; the leader has the number after the last one. */
void iforest_build_worker(dsm_segment *segment, shm_toc *contents)
{
	struct shared_build *shared = shm_toc_lookup(contents, KEY_SHARED, false);
	LOCKMODE heap_lock = shared->is_concurrent ? ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE index_lock = shared->is_concurrent ? RowExclusiveLock : AccessExclusiveLock;
	struct ifp_index *opened = palloc(sizeof *opened);
	WalUsage *wal_usage = shm_toc_lookup(contents, KEY_WAL_USAGE, false);
	BufferUsage *buffer_usage = shm_toc_lookup(contents, KEY_BUFFER_USAGE, false);
	Relation heap, index;
	IndexInfo *info;

	debug_query_string = shm_toc_lookup(contents, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);
	SharedFileSetAttach(&shared->files, segment);
	info = BuildIndexInfo(index);
	info->ii_Concurrent = shared->is_concurrent;
	ifp_index_open(opened, index);
	ifp_index_refresh(opened);
	InstrStartParallelQuery();
	do_part(shared, (uint32)ParallelWorkerNumber, heap, opened, info);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}
