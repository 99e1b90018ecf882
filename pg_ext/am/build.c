#include "pg_ext/am/build.h"

#include "access/amapi.h"
#include "access/tableam.h"
#include "access/xloginsert.h"
#include "catalog/index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "core/base/bits.h"
#include "core/model/series_key.h"
#include "core/page/leaf.h"
#include "core/run/writer.h"
#include "pg_ext/am/insert.h"
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

/* Takes the first entry out; returns NULL if there is none. */
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

/* Adds an entry. If the buffer was full, returns the first of all, which is valid until the next call; else NULL.
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
enum { BYTEA_LESS = 1957 }; /* OID of the operator bytea < bytea, for which pg_operator.h has no name */

struct build_state {
	Relation index;
	struct ifp_index *opened;
	struct ifp_definition definition;
	struct iforest_run_writer in_order; /* rows that come nearly in key order, if there is one series */
	struct insertion_buffer *buffer;    /* entries held back for it; NULL: there are by columns */
	Tuplesortstate *sort;		    /* all others; NULL until there is one */
	uint64 n_sorted, n_rows;
	int64 first_time; /* of the first row that is sorted */
	MemoryContext row_context;
	bytea *encoded; /* scratch */
};

/* ---- entries as bytes that sort like their keys ----
 *
 * The sort compares the first eight bytes before all others, so keys are packed: the series in two or six bytes; the time as
 * its distance from the first row's, the number of its bytes before it; the ref in six bytes; then the values.
 */

enum { MOST_ENCODED = 6 + 9 + 6 + 1 + 8 * IFOREST_MAX_VALUES, SHORT_SERIES = 0xffff };
enum { TIME_IS_NULL = 0xff, FROM_FIRST = 0x80, BEFORE_FIRST = 0x7f }; /* plus, and minus, the number of bytes */

static uint8 *store_ordered(uint8 *out, uint64 number, int n_bytes)
{
	for (int i = n_bytes - 1; i >= 0; i--)
		*out++ = (uint8)(number >> 8 * i);
	return out;
}

static uint64 load_ordered(const uint8 **in, int n_bytes)
{
	uint64 number = 0;

	for (int i = 0; i < n_bytes; i++)
		number = number << 8 | *(*in)++;
	return number;
}

static int bytes_of(uint64 number)
{
	return number == 0 ? 0 : pg_leftmost_one_pos64(number) / 8 + 1;
}

static uint8 *store_time(uint8 *out, int64 time, int64 first)
{
	bool is_before = time < first;
	uint64 distance = is_before ? (uint64)first - (uint64)time : (uint64)time - (uint64)first;
	int n = bytes_of(distance);

	*out++ = (uint8)(is_before ? BEFORE_FIRST - n : FROM_FIRST + n);
	return store_ordered(out, is_before ? ~distance : distance, n);
}

static int64 load_time(const uint8 **in, uint8 lead, int64 first)
{
	bool is_before = lead < FROM_FIRST;
	int n = is_before ? BEFORE_FIRST - lead : lead - FROM_FIRST;
	uint64 stored = load_ordered(in, n);

	if (is_before)
		return (int64)((uint64)first - (~stored & (n == 8 ? PG_UINT64_MAX : (UINT64CONST(1) << 8 * n) - 1)));
	return (int64)((uint64)first + stored);
}

static void encode(const struct iforest_entry *entry, unsigned n_values, int64 first_time, bytea *encoded)
{
	uint8 *out = (uint8 *)VARDATA(encoded);

	if (entry->key.series < SHORT_SERIES)
		out = store_ordered(out, entry->key.series, 2);
	else
		out = store_ordered(out, (uint64)SHORT_SERIES << 32 | entry->key.series, 6);
	if (entry->key.time_is_null)
		*out++ = TIME_IS_NULL;
	else
		out = store_time(out, entry->key.time, first_time);
	out = store_ordered(out, (uint64)entry->key.ref, 6);
	*out++ = (uint8)entry->present;
	for (unsigned v = 0; v < n_values; v++, out += 8)
		iforest_store64(out, (uint64)entry->values[v].integer);
	SET_VARSIZE(encoded, (char *)out - (char *)encoded);
}

static void decode(bytea *encoded, unsigned n_values, int64 first_time, struct iforest_entry *entry)
{
	const uint8 *in = (const uint8 *)VARDATA_ANY(encoded);
	uint8 lead;

	entry->key.series = load_ordered(&in, 2);
	if (entry->key.series == SHORT_SERIES)
		entry->key.series = load_ordered(&in, 4);
	lead = *in++;
	entry->key.time_is_null = lead == TIME_IS_NULL;
	entry->key.time = lead == TIME_IS_NULL ? 0 : load_time(&in, lead, first_time);
	entry->key.ref = (int64)load_ordered(&in, 6);
	entry->present = *in++;
	for (unsigned v = 0; v < n_values; v++, in += 8)
		entry->values[v].integer = (int64)iforest_load64(in);
}

/* ---- reading the table ---- */

static void sort_entry(struct build_state *build, const struct iforest_entry *entry)
{
	if (!build->sort) {
		build->sort = tuplesort_begin_datum(BYTEAOID, BYTEA_LESS, InvalidOid, false, maintenance_work_mem, NULL,
						    TUPLESORT_NONE);
		build->first_time = entry->key.time;
	}
	encode(entry, build->definition.n_values, build->first_time, build->encoded);
	tuplesort_putdatum(build->sort, PointerGetDatum(build->encoded), false);
	build->n_sorted++;
}

static void add_in_order(struct build_state *build, const struct iforest_entry *entry)
{
	if (entry)
		ifp_index_require(build->opened, iforest_run_writer_add(&build->in_order, entry));
}

static void take_row(Relation index, ItemPointer tid, Datum *values, bool *are_null, bool is_alive, void *state)
{
	struct build_state *build = state;
	MemoryContext before = MemoryContextSwitchTo(build->row_context);
	struct iforest_entry entry;

	(void)is_alive;
	ifp_entry_form(index, &build->definition, values, are_null, tid, &entry);
	entry.key.series = ifp_entry_series(index, &build->definition, build->opened->meta.index_id, values, are_null);
	MemoryContextSwitchTo(before);
	MemoryContextReset(build->row_context);
	/* entries without a time sort last, so after one of them all others would be too late */
	if (build->buffer && !entry.key.time_is_null &&
	    (!build->in_order.has_entries || iforest_key_compare(&build->in_order.last_key, &entry.key) < 0))
		add_in_order(build, buffer_add(build->buffer, &entry));
	else
		sort_entry(build, &entry);
	build->n_rows++;
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

static void write_sorted(struct build_state *build)
{
	struct iforest_run_writer *writer = palloc(sizeof *writer);
	struct iforest_entry entry;
	bool is_null;
	Datum datum;
	uint64 n_done = 0;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SORT);
	tuplesort_performsort(build->sort);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_WRITE);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64)build->n_sorted);
	ifp_index_require(build->opened, iforest_run_writer_start(writer, &build->opened->store, &build->opened->manifest));
	while (ifp_tuplesort_getdatum(build->sort, &datum, &is_null)) {
		decode((bytea *)DatumGetPointer(datum), build->definition.n_values, build->first_time, &entry);
		ifp_index_require(build->opened, iforest_run_writer_add(writer, &entry));
		pfree(DatumGetPointer(datum));
		if ((++n_done & 0xfff) == 0)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, (int64)n_done);
	}
	tuplesort_end(build->sort);
	add_run(build, writer);
}

/* Returns the number of rows of the table; a partial index has fewer entries. */
static double build_runs(struct build_state *build, Relation heap, IndexInfo *info)
{
	const struct iforest_entry *entry;
	double n_heap_rows;

	if (build->definition.n_by == 0) {
		build->buffer = palloc(sizeof *build->buffer);
		buffer_start(build->buffer);
		ifp_index_require(build->opened,
				  iforest_run_writer_start(&build->in_order, &build->opened->store, &build->opened->manifest));
	}
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_SCAN);
	/* starts at the first block, not at the place of another scan, so that rows come nearly in time order */
	n_heap_rows = table_index_build_scan(heap, build->index, info, false, true, take_row, build, NULL);
	if (build->buffer) {
		while ((entry = buffer_take_first(build->buffer)))
			add_in_order(build, entry);
		add_run(build, &build->in_order);
	}
	if (build->sort)
		write_sorted(build);
	return n_heap_rows;
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
	       IndexRelationGetNumberOfAttributes(index) - n_keys < IFOREST_MAX_VALUES &&
	       (is_date_or_timestamp(before) || (is_integer(before) && !is_date_or_timestamp(last)));
}

static void notice_many_series(const struct build_state *build)
{
	Relation index = build->index;
	uint32 n_series;

	if (build->definition.n_by == 0)
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
			: errhint("Leave out by columns that differ from row to row."));
}

/* ---- functions that PostgreSQL calls ---- */

IndexBuildResult *ifp_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof *result);
	struct build_state *build = palloc0(sizeof *build);
	struct iforest_node_schema fields;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	/* TRUNCATE of a table that was made in this transaction rebuilds the index with the old insert state in place */
	if (index->rd_amcache)
		pfree(index->rd_amcache);
	index->rd_amcache = NULL;
	build->index = index;
	ifp_definition_read(index, &build->definition);
	ifp_definition_check(heap, index, &build->definition, &fields);
	build->row_context = AllocSetContextCreate(CurrentMemoryContext, "iforest build row", ALLOCSET_DEFAULT_SIZES);
	build->encoded = palloc(VARHDRSZ + MOST_ENCODED);
	build->opened = palloc(sizeof *build->opened);

	ifp_index_create(index, MAIN_FORKNUM, &fields);
	/* the first pages are logged as a whole: the build changes them, and a record of a change needs the page before it */
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
