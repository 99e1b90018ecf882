#include "pg_ext/am/build.h"

#include "access/amapi.h"
#include "access/tableam.h"
#include "access/xloginsert.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "core/base/bits.h"
#include "core/model/series_key.h"
#include "core/page/leaf.h"
#include "core/run/compact.h"
#include "pg_ext/am/build_sort.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/series_dict.h"
#include "pg_ext/storage/sidecar.h"
#include "pg_ext/types/definition.h"

/* ---- the insertion buffer ----
 *
 * Puts nearly ordered entries in order: spans are written when they end, and so a little out of the order in which they began.
 * The buffer holds the last entries back, sorted. An entry that is more than BUFFER_ENTRIES places late does not fit. */

enum { BUFFER_ENTRIES = 1024 }; /* a power of two */

struct insertion_buffer {
	struct iforest_entry entries[BUFFER_ENTRIES + 1];
	struct iforest_entry *free;		     /* the one that is not in use */
	struct iforest_entry *order[BUFFER_ENTRIES]; /* a ring, in key order */
	uint32 first, n;
};

static void buffer_start(struct insertion_buffer *buffer)
{
	buffer->first = buffer->n = 0;
	buffer->free = &buffer->entries[BUFFER_ENTRIES];
	for (uint32 i = 0; i < BUFFER_ENTRIES; i++)
		buffer->order[i] = &buffer->entries[i];
}

static struct iforest_entry **place(struct insertion_buffer *buffer, uint32 i)
{
	return &buffer->order[(buffer->first + i) % BUFFER_ENTRIES];
}

/* Removes and returns the first entry; NULL if there is none. */
static const struct iforest_entry *buffer_take_first(struct insertion_buffer *buffer)
{
	struct iforest_entry **first = place(buffer, 0), *entry = *first;

	if (buffer->n == 0)
		return NULL;
	*first = buffer->free;
	buffer->free = entry;
	buffer->first++;
	buffer->n--;
	return entry;
}

/* Adds an entry. If the buffer was full, returns the first of all entries, valid until the next call; else NULL.
 * Cost      one step for each entry in the buffer that sorts after it. */
static const struct iforest_entry *buffer_add(struct insertion_buffer *buffer, const struct iforest_entry *entry)
{
	struct iforest_entry *added = buffer->free;
	const struct iforest_entry *given = NULL;
	uint32 i;

	*added = *entry;
	if (buffer->n == BUFFER_ENTRIES) {
		/* the new entry may itself be the first */
		if (iforest_key_compare(&added->key, &(*place(buffer, 0))->key) < 0)
			return added;
		given = buffer_take_first(buffer);
	} else {
		buffer->free = *place(buffer, buffer->n);
	}
	for (i = buffer->n; i > 0 && iforest_key_compare(&added->key, &(*place(buffer, i - 1))->key) < 0; i--)
		*place(buffer, i) = *place(buffer, i - 1);
	*place(buffer, i) = added;
	buffer->n++;
	return given;
}

/* ---- the build ---- */

enum { PHASE_SCAN = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1, PHASE_SORT, PHASE_WRITE, PHASE_LOG };

struct build_state {
	Relation index;
	struct ifp_index *opened;
	struct ifp_build_sort sort;	    /* all rows except those that arrive nearly in key order */
	struct iforest_run_writer in_order; /* run of these, if there is one series */
	struct insertion_buffer *buffer;    /* entries held back for in_order; NULL: there are by columns */
	uint64 n_rows;
};

/* ---- reading the table ---- */

static void add_in_order(struct build_state *build, const struct iforest_entry *entry)
{
	if (entry)
		ifp_index_require(build->opened, iforest_run_writer_add(&build->in_order, entry));
}

static void take_row(Relation index, ItemPointer tid, Datum *values, bool *are_null, bool is_alive, void *state)
{
	struct build_state *build = state;
	struct iforest_entry entry;

	(void)index;
	(void)is_alive;
	ifp_build_sort_form(&build->sort, tid, values, are_null, &entry);
	/* entries without a time sort last, so after one of them all others would be too late */
	if (build->buffer && !entry.key.time_is_null &&
	    (!build->in_order.has_entries || iforest_key_compare(&build->in_order.last_key, &entry.key) < 0))
		add_in_order(build, buffer_add(build->buffer, &entry));
	else
		ifp_build_sort_add(&build->sort, &entry);
}

/* ---- writing ---- */

static void add_run(struct build_state *build, struct iforest_run_writer *writer)
{
	struct iforest_run run;
	struct iforest_edit edit = { .added = &run };

	ifp_index_require(build->opened, iforest_run_writer_finish(writer, &run));
	if (run.n_leaves > 0)
		ifp_index_require(build->opened,
				  iforest_manifest_commit(&build->opened->manifest, &build->opened->store, &edit));
}

static void begin_phase(int phase, uint64 n_entries)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64)n_entries);
}

static void write_sorted(struct build_state *build)
{
	struct iforest_run_writer *writer = palloc(sizeof *writer);

	begin_phase(build->sort.sorter.n_runs > 0 ? PHASE_WRITE : PHASE_SORT, build->sort.n_sorted);
	ifp_index_require(build->opened, iforest_run_writer_start(writer, &build->opened->store, &build->opened->manifest));
	ifp_index_require(build->opened, iforest_run_sorter_finish(&build->sort.sorter, writer));
	add_run(build, writer);
}

/* Reads the table in this process only. Returns the number of its rows; a partial index has fewer entries. */
static double build_alone(struct build_state *build, Relation heap, IndexInfo *info)
{
	const struct iforest_entry *entry;
	double n_heap_rows;

	ifp_build_sort_start(&build->sort, build->opened, (Size)maintenance_work_mem * 1024, NULL, 0, 1);
	if (build->sort.definition.n_by == 0) {
		build->buffer = palloc(sizeof *build->buffer);
		buffer_start(build->buffer);
		ifp_index_require(build->opened,
				  iforest_run_writer_start(&build->in_order, &build->opened->store, &build->opened->manifest));
	}
	/* starts at the first block, without synchronized scans, so that rows arrive nearly in time order */
	n_heap_rows = table_index_build_scan(heap, build->index, info, false, true, take_row, build, NULL);
	if (build->buffer) {
		while ((entry = buffer_take_first(build->buffer)))
			add_in_order(build, entry);
		add_run(build, &build->in_order);
	}
	if (build->sort.n_sorted > 0)
		write_sorted(build);
	build->n_rows = build->sort.n_rows;
	ifp_build_sort_end(&build->sort);
	return n_heap_rows;
}

/* Merges the runs of several processes. */
static void merge_sorted(void *context, struct iforest_store *store, const struct iforest_run *runs, uint32 n_runs)
{
	struct build_state *build = context;
	struct iforest_run_writer *writer = palloc(sizeof *writer);

	if (n_runs == 0)
		return;
	begin_phase(PHASE_WRITE, build->n_rows);
	/* workers have extended the file, and added series */
	ifp_index_refresh(build->opened);
	ifp_index_require(build->opened, iforest_run_writer_start(writer, &build->opened->store, &build->opened->manifest));
	ifp_index_require(build->opened, iforest_compact_into(store, &build->opened->manifest, runs, n_runs, writer));
	add_run(build, writer);
}

/* Returns the number of rows of the table. */
static double build_runs(struct build_state *build, Relation heap, IndexInfo *info)
{
	int n_workers = ifp_planned_workers(heap, build->index, info);
	struct ifp_build_totals totals;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SCAN);
	if (n_workers == 0 || !ifp_build_together(heap, build->opened, info, n_workers, merge_sorted, build, &totals))
		return build_alone(build, heap, info);
	build->n_rows = totals.n_rows;
	return totals.n_heap_rows;
}

/* ---- notice of too many series ---- */

static bool is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool is_date_or_timestamp(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* Returns (service, ts) INCLUDE (dur, cost) for an index (service, ts, dur) INCLUDE (cost). */
static char *with_value_included(Relation index)
{
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index), n = IndexRelationGetNumberOfAttributes(index);
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 1; i <= n; i++)
		appendStringInfo(&text, "%s%s",
				 i == 1	       ? "("
				 : i == n_keys ? ") INCLUDE ("
					       : ", ",
				 ifp_column_expression(RelationGetRelid(index), i));
	appendStringInfoChar(&text, ')');
	return text.data;
}

/* True if the column before the last one probably is the time, as in a B-tree that covers a query. */
static bool is_value_among_keys(Relation index)
{
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index);
	Oid last = getBaseType(TupleDescAttr(RelationGetDescr(index), n_keys - 1)->atttypid);
	Oid before = getBaseType(TupleDescAttr(RelationGetDescr(index), n_keys - 2)->atttypid);

	return index->rd_index->indkey.values[n_keys - 1] != 0 &&
	       IndexRelationGetNumberOfAttributes(index) - n_keys < IFOREST_MAX_VALUES && !is_date_or_timestamp(last) &&
	       (is_date_or_timestamp(before) || (is_integer(before) && !is_integer(last)));
}

static void notice_many_series(const struct build_state *build)
{
	Relation index = build->index;
	uint32 n_series;

	if (IndexRelationGetNumberOfKeyAttributes(index) == 1)
		return;
	n_series = ifp_series_dict_refresh(index, ifp_series_dict_get(index, build->opened->meta.index_id));
	if (!iforest_are_series_too_many(n_series, build->n_rows))
		return;
	ereport(NOTICE,
		errmsg("index \"%s\" has %u series for " UINT64_FORMAT " rows, which makes it large and slow",
		       RelationGetRelationName(index), n_series, build->n_rows),
		errdetail("The last column in parentheses is the time; rows that agree on the columns before it are a series."),
		is_value_among_keys(index)
			? errhint("Values to be aggregated are INCLUDEd: probably USING iforest %s is meant.",
				  with_value_included(index))
			: errhint("Leave out by columns that differ from row to row; INCLUDE those whose values are aggregated."));
}

/* ---- functions that PostgreSQL calls ---- */

IndexBuildResult *ifp_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof *result);
	struct build_state *build = palloc0(sizeof *build);
	struct ifp_definition definition;
	struct iforest_node_schema fields;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	/* TRUNCATE of a table that was made in this transaction rebuilds the index with the old insert state in place */
	if (index->rd_amcache)
		pfree(index->rd_amcache);
	index->rd_amcache = NULL;
	build->index = index;
	ifp_definition_read(index, &definition);
	ifp_definition_check(heap, index, &definition, &fields);
	build->opened = palloc(sizeof *build->opened);

	ifp_index_create(index, MAIN_FORKNUM, &fields);
	/* the first pages are logged as full images: the build changes them, and a record of a change needs an earlier image */
	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, 0, IFP_FIRST_FREE_BLOCK, true);
	ifp_index_open(build->opened, index);
	ifp_index_refresh(build->opened);
	build->opened->is_build = true;
	result->heap_tuples = build_runs(build, heap, info);
	ifp_sidecar_keep(build->opened);
	if (RelationNeedsWAL(index)) {
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_LOG);
		log_newpage_range(index, MAIN_FORKNUM, 0, RelationGetNumberOfBlocks(index), true);
	}
	result->index_tuples = (double)build->n_rows;
	notice_many_series(build);
	return result;
}

void ifp_build_empty(Relation index)
{
	struct ifp_definition definition;
	struct iforest_node_schema fields;
	Relation heap = RelationIdGetRelation(index->rd_index->indrelid);

	ifp_definition_read(index, &definition);
	ifp_definition_check(heap, index, &definition, &fields);
	RelationClose(heap);
	ifp_index_create(index, INIT_FORKNUM, &fields);
	log_newpage_range(index, INIT_FORKNUM, 0, RelationGetNumberOfBlocksInFork(index, INIT_FORKNUM), true);
}

char *ifp_build_phase_name(int64 phase)
{
	switch (phase) {
	case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
		return "initializing";
	case PHASE_SCAN:
		return "scanning table";
	case PHASE_SORT:
		return "sorting entries";
	case PHASE_WRITE:
		return "writing runs";
	case PHASE_LOG:
		return "logging pages";
	default:
		return NULL;
	}
}
