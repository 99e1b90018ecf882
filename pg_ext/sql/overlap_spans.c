/* sql/overlap_spans.c -- SQL function iforest_overlap_spans(): the spans of an index that overlap each bucket of a window.
 *
 * Uses core/query/overlap.h over runs and pending entries, read consistently under the snapshot (exec/snapshot_reader.h). If
 * the columns that are asked for are those of peaks, also core/query/peak.h; if they are those of gaps, core/query/gap.h
 * instead: the stretches in which no span is open.
 *
 * For types with infinite times an open window ends with the finite times. A span that goes on beyond has no end, and one that
 * starts at infinity no length; the answer shows these cases.
 */
#include "pg_ext/base/engine.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/skey.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/buffile.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "core/base/bits.h"
#include "core/model/bucket.h"
#include "core/query/gap.h"
#include "core/query/overlap.h"
#include "core/query/peak.h"
#include "pg_ext/base/compat.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/exec/snapshot_reader.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/sql/bucket_functions.h"
#include "pg_ext/sql/index_info.h"
#include "pg_ext/storage/locks.h"

/* The kind of answer, by its number of columns after the by columns. */
enum wanted { WANTS_GAPS = 2, WANTS_PEAKS = 5, WANTS_OVERLAPS = 8 };

/* A bucket of a series that a span overlaps; or a gap. */
struct overlapped {
	uint32 series;		/* number in reader.keys.series */
	struct iforest_gap gap; /* of WANTS_GAPS; the following members are then not set */
	int64 bucket;
	uint64 n;
	iforest_int128 inside;
	struct iforest_extreme longest; /* not set: all durations are NULL */
	struct iforest_peak peak;	/* of WANTS_PEAKS; the two members above are then not set */
	bool has_no_end;		/* a span ends after all finite times, and so does the bucket */
};

/* The overlapped buckets of an index: series by series, buckets ascending. */
struct overlaps {
	Relation heap, index;
	Snapshot snapshot;
	struct iforest_bucketing bucketing; /* checked */
	enum wanted wanted;
	ScanKey conditions; /* on by columns */
	int n_conditions;
	MemoryContext context; /* of the following members, reset by each attempt */

	struct ifp_snapshot_reader *reader;
	struct overlapped *rows; /* the latest results, as many as fit in work_mem */
	uint64 n_rows, n_reserved;
	BufFile *file; /* earlier results, if there are more */
	uint64 n_filed, n_given;
	bool has_infinite_time; /* a span of the window starts at an infinite time */
	bool is_out_of_range;	/* the number of a bucket is out of range */
	uint64 n_restarts;
};

/* One attempt to read the index. */
struct overlap_reading {
	struct overlaps *overlaps;
	struct ifp_snapshot_reader *reader;
	struct ifp_time_keys times;
	struct iforest_window window; /* cut to finite times */
	struct iforest_filter filter; /* the reader's, restricted to finite times */
	struct iforest_overlap overlap;
	struct iforest_peak_reader peaks;
	struct iforest_gap_reader gaps;
};

/* ---- infinite times ---- */

static bool has_infinities(const struct overlap_reading *reading)
{
	return reading->times.lowest < reading->times.lowest_finite;
}

static bool is_infinite(const struct overlap_reading *reading, int64 time)
{
	return has_infinities(reading) && (time == reading->times.lowest || time == reading->times.highest);
}

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	const struct overlap_reading *reading = context;
	enum iforest_filter_class class = reading->reader->filter.of_node(reading->reader->filter.context, node);
	struct iforest_key first = iforest_node_first(node);

	if (class == IFOREST_COUNTS_ALL && has_infinities(reading) && !first.time_is_null &&
	    first.time == reading->times.lowest)
		return IFOREST_COUNTS_SOME;
	return class;
}

/* Excludes spans that start at -infinity: they reach nowhere, whatever their duration. */
static enum iforest_status of_entries(void *context, struct iforest_block_reader *block, uint64_t *live)
{
	const struct overlap_reading *reading = context;
	enum iforest_status status = reading->reader->filter.of_entries(reading->reader->filter.context, block, live);

	if (status || !has_infinities(reading) || block->block.time_is_null ||
	    iforest_leaf_block(block->leaf, block->number).first.time != reading->times.lowest)
		return status;
	status = iforest_block_need(block, IFOREST_TIMES);
	for (uint64 which = status ? 0 : *live; which; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);

		if (block->block.times[i] == reading->times.lowest)
			*live &= ~(UINT64CONST(1) << i);
	}
	return status;
}

/* Records whether visible spans of the runs start at this infinite time. */
static enum iforest_status look_at_infinity(struct overlap_reading *reading, uint32 series, int64 time)
{
	struct iforest_scan *scan = &reading->reader->scan;
	struct iforest_request request = { .filter = &reading->reader->filter };
	struct iforest_aggregate *found = palloc(sizeof *found);
	enum iforest_status status;

	iforest_aggregate_clear(found, reading->reader->index.manifest.fields.n_values,
				&reading->reader->index.manifest.fields.accumulators);
	scan->bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE,
						      .window = { .has_t0 = true,
								  .t0 = time,
								  .has_t1 = time < PG_INT64_MAX,
								  .t1 = time < PG_INT64_MAX ? time + 1 : 0 } };
	scan->joined_filter = NULL;
	status = iforest_scan_start(scan, series);
	if (!status)
		status = iforest_scan_through(scan, time, &request, found);
	reading->overlaps->has_infinite_time |= found->n_rows > 0;
	pfree(found);
	return status;
}

/* ---- pending entries ---- */

/* Drops entries without a time, and those at infinite times: they overlap nothing. Notes if the window has one of the
 * latter. */
static bool has_finite_time(void *context, const struct iforest_entry *entry)
{
	struct overlap_reading *reading = context;

	if (entry->key.time_is_null || !is_infinite(reading, entry->key.time))
		return !entry->key.time_is_null;
	reading->overlaps->has_infinite_time |= iforest_window_holds(&reading->window, entry->key.time);
	return false;
}

/* Makes an in-memory run of the pending entries, since overlaps need its nodes. */
static void join_pending(struct overlap_reading *reading)
{
	struct ifp_snapshot_reader *reader = reading->reader;

	if (!reader->has_pending)
		return;
	iforest_batch_keep(&reader->pending.batch, has_finite_time, reading);
	ifp_index_require(&reader->index, iforest_memtable_build(&reader->pending));
	ifp_index_require(&reader->index, iforest_scan_join_memtable(&reader->scan, &reader->pending));
}

/* ---- results ---- */

/* Writes results to a file: many buckets and series may exceed work_mem. */
static void put_aside(struct overlaps *overlaps)
{
	if (!overlaps->file)
		overlaps->file = BufFileCreateTemp(false);
	BufFileWrite(overlaps->file, overlaps->rows, overlaps->n_rows * sizeof *overlaps->rows);
	overlaps->n_filed += overlaps->n_rows;
	overlaps->n_rows = 0;
}

static void keep_bucket(struct overlaps *overlaps, const struct overlapped *row)
{
	if (overlaps->n_rows == overlaps->n_reserved && overlaps->n_rows * sizeof *row >= work_mem * (Size)1024) {
		put_aside(overlaps);
	} else if (overlaps->n_rows == overlaps->n_reserved) {
		overlaps->n_reserved = Max(256, 2 * overlaps->n_reserved);
		overlaps->rows = overlaps->rows ? repalloc_huge(overlaps->rows, overlaps->n_reserved * sizeof *overlaps->rows)
						: MemoryContextAllocHuge(overlaps->context,
									 overlaps->n_reserved * sizeof *overlaps->rows);
	}
	overlaps->rows[overlaps->n_rows++] = *row;
}

static bool overlaps_next(struct overlaps *overlaps, struct overlapped *row)
{
	uint64 i = overlaps->n_given++;

	if (i >= overlaps->n_filed + overlaps->n_rows)
		return false;
	if (i >= overlaps->n_filed)
		*row = overlaps->rows[i - overlaps->n_filed];
	else if ((i == 0 && BufFileSeek(overlaps->file, 0, 0, SEEK_SET) != 0) ||
		 BufFileRead(overlaps->file, row, sizeof *row) != sizeof *row)
		elog(ERROR, "could not read back what overlaps");
	return true;
}

static void overlaps_release(struct overlaps *overlaps)
{
	if (overlaps->file)
		BufFileClose(overlaps->file);
	overlaps->file = NULL;
	overlaps->rows = NULL;
	overlaps->n_rows = overlaps->n_reserved = overlaps->n_filed = overlaps->n_given = 0;
}

/* ---- an attempt ---- */

static enum iforest_status read_series(struct overlap_reading *reading, uint32 i, struct iforest_aggregate *aggregate)
{
	struct overlaps *overlaps = reading->overlaps;
	struct iforest_overlap *overlap = &reading->overlap;
	uint32 series = reading->reader->keys.series[i];
	uint64 n_before = overlaps->n_filed + overlaps->n_rows;
	struct overlapped row = { .series = i };
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	if (has_infinities(reading) && !reading->window.has_t0)
		status = look_at_infinity(reading, series, reading->times.lowest);
	if (!status && has_infinities(reading) && !reading->window.has_t1)
		status = look_at_infinity(reading, series, reading->times.highest);
	if (!status)
		status = iforest_overlap_start(overlap, series);
	if (!status && overlaps->wanted == WANTS_PEAKS)
		status = iforest_peak_start(&reading->peaks, &series, 1);
	while (!status && !(status = iforest_overlap_next(overlap, &row.bucket, aggregate, &found)) && found) {
		const struct iforest_value_aggregate *value = &aggregate->values[overlap->duration];

		CHECK_FOR_INTERRUPTS();
		row.n = aggregate->n_rows;
		row.inside = value->sum;
		row.longest = value->max;
		if (overlaps->wanted == WANTS_PEAKS)
			status = iforest_peak_of_bucket(&reading->peaks, row.bucket, &row.peak);
		keep_bucket(overlaps, &row);
	}
	/* spans that are open after the last bucket go on beyond the finite times, if the window does */
	if (!status && overlaps->n_filed + overlaps->n_rows > n_before && overlap->open.by_end.n > 0)
		overlaps->rows[overlaps->n_rows - 1].has_no_end = has_infinities(reading) && !reading->window.has_t1;
	return status;
}

/* Finds the gaps of all series: those longer than the step. */
static enum iforest_status read_gaps(struct overlap_reading *reading)
{
	struct overlaps *overlaps = reading->overlaps;
	struct ifp_snapshot_reader *reader = reading->reader;
	struct iforest_gap_question question = { .window = overlaps->bucketing.window,
						 .longer_than = overlaps->bucketing.mode == IFOREST_STEP
									? (uint64)overlaps->bucketing.step
									: 0,
						 .filter = &reading->filter };
	enum iforest_status status = iforest_gap_init(&reading->gaps, &reader->index.store, &reader->index.manifest);

	if (!status && reader->has_pending)
		status = iforest_gap_join(&reading->gaps, &reader->pending.store, &reader->pending.manifest);
	for (uint32 i = 0; i < reader->keys.n_series && !status; i++) {
		struct overlapped row = { .series = i };
		bool found = true;

		question.series = reader->keys.series[i];
		status = iforest_gap_start(&reading->gaps, &question);
		while (!status && !(status = iforest_gap_next(&reading->gaps, &row.gap, &found)) && found) {
			CHECK_FOR_INTERRUPTS();
			if (!is_infinite(reading, row.gap.end))
				keep_bucket(overlaps, &row);
		}
		ifp_test_point("series read");
		CHECK_FOR_INTERRUPTS();
	}
	return status;
}

/* Opens the reader of peaks, over the same buckets and entries as the overlap. */
static enum iforest_status open_peaks(struct overlap_reading *reading)
{
	struct ifp_snapshot_reader *reader = reading->reader;
	enum iforest_status status = iforest_peak_init(&reading->peaks, &reader->index.store, &reader->index.manifest);

	if (!status && reader->has_pending)
		status = iforest_peak_join(&reading->peaks, &reader->pending.store, &reader->pending.manifest);
	reading->peaks.bucketing = reading->overlap.bucketing;
	reading->peaks.filter = reading->overlap.filter;
	return status;
}

static enum iforest_status read_index(struct overlap_reading *reading)
{
	struct overlaps *overlaps = reading->overlaps;
	struct iforest_overlap *overlap = &reading->overlap;
	struct iforest_window *window = &overlap->bucketing.window;
	struct iforest_aggregate *aggregate = palloc(sizeof *aggregate);
	enum iforest_status status;

	reading->filter = (struct iforest_filter){ .context = reading, .of_node = of_node, .of_entries = of_entries };
	if (overlaps->wanted == WANTS_GAPS)
		return read_gaps(reading);
	status = iforest_overlap_init(overlap, &reading->reader->scan);
	overlap->bucketing = overlaps->bucketing;
	if (has_infinities(reading) && !window->has_t0)
		*window = (struct iforest_window){
			.has_t0 = true, .t0 = reading->times.lowest_finite, .has_t1 = window->has_t1, .t1 = window->t1
		};
	if (has_infinities(reading) && !window->has_t1)
		*window = (struct iforest_window){
			.has_t0 = window->has_t0, .t0 = window->t0, .has_t1 = true, .t1 = reading->times.highest_finite + 1
		};
	overlap->filter = &reading->filter;
	overlap->wants_inside = overlap->wants_longest = overlaps->wanted == WANTS_OVERLAPS;
	if (!status && overlaps->wanted == WANTS_PEAKS)
		status = open_peaks(reading);
	for (uint32 i = 0; i < reading->reader->keys.n_series && !status; i++) {
		status = read_series(reading, i, aggregate);
		ifp_test_point("series read");
		CHECK_FOR_INTERRUPTS();
	}
	if (status == IFOREST_RANGE) {
		overlaps->is_out_of_range = true;
		status = IFOREST_OK;
	}
	return status;
}

/* True if all spans end before the window starts, as in a past partition. Reads only the roots. */
static bool is_over(const struct ifp_index *index, const struct iforest_window *window)
{
	const struct iforest_manifest *manifest = &index->manifest;
	bool is_over = window->has_t0 && index->meta.n_closed == 0;

	for (int i = 0; i < IFP_CHAINS && is_over; i++)
		is_over = index->meta.open[i].clock == 0;
	for (uint32 i = 0; i < manifest->n_runs && is_over; i++)
		is_over = iforest_node_latest_end(manifest->runs[i].root, &manifest->fields) < window->t0;
	return is_over;
}

static bool read_consistently(struct overlaps *overlaps)
{
	struct overlap_reading *reading = palloc0(sizeof *reading);
	struct ifp_snapshot_reader *reader = overlaps->reader = palloc0(sizeof *reader);

	*reading = (struct overlap_reading){ .overlaps = overlaps, .reader = reader, .window = overlaps->bucketing.window };
	ifp_snapshot_reader_open(reader, overlaps->index);
	if (overlaps->wanted != WANTS_GAPS && is_over(&reader->index, &reading->window)) {
		ifp_meta_test_for_old_snapshot(overlaps->index, overlaps->snapshot);
		return true;
	}
	reading->times = ifp_time_keys(&reader->definition);
	/* series are read after the manifest, so all series of its runs are known */
	ifp_scan_keys_read(overlaps->index, &reader->definition, reader->index.meta.index_id, overlaps->conditions,
			   overlaps->n_conditions, false, &reader->keys);
	if (!ifp_snapshot_reader_read(reader, overlaps->heap, overlaps->snapshot))
		return false;
	join_pending(reading);
	return ifp_snapshot_reader_finish(reader, read_index(reading));
}

static bool attempt(void *context, bool locked)
{
	struct overlaps *overlaps = context;
	bool done;

	overlaps_release(overlaps);
	MemoryContextReset(overlaps->context);
	overlaps->has_infinite_time = overlaps->is_out_of_range = false;
	if (locked)
		ifp_lock(overlaps->index, IFP_LOCK_MAINTENANCE, ShareLock);
	done = read_consistently(overlaps);
	if (locked)
		ifp_unlock(overlaps->index, IFP_LOCK_MAINTENANCE, ShareLock);
	return done;
}

static void overlaps_read(struct overlaps *overlaps)
{
	MemoryContext before = MemoryContextSwitchTo(overlaps->context);

	/* locks as of scans of the table and of the index, before anything is read: see exec/agg_scan.c */
	PredicateLockRelation(overlaps->heap, overlaps->snapshot);
	PredicateLockRelation(overlaps->index, overlaps->snapshot);
	pgstat_count_index_scan(overlaps->index);
	ifp_snapshot_retry(attempt, overlaps, &overlaps->n_restarts);
	MemoryContextSwitchTo(before);
}

IFP_SQL_FUNCTION(iforest_overlap_spans);

/* Arguments: the index; t0, t1, n, step, origin; then, for each condition, the number of a by column and its comparand. */
enum { INDEX, BUCKETING, CONDITIONS = BUCKETING + 5 };

/* Columns of the answer, after the by columns: of overlaps, of peaks, of gaps. */
enum { BUCKET, BUCKET_START, BUCKET_END, COUNT, CLIPPED, LONGEST, LONGEST_ROW, LONGEST_TIME, N_COLUMNS };
enum { PEAK = COUNT, PEAK_TIME };
enum { GAP_START, GAP_END };

/* ---- arguments ---- */

static Oid time_argument_type(Oid time)
{
	return time == INT2OID || time == INT4OID ? INT8OID : time;
}

static Oid base_type(TupleDesc descriptor, int column)
{
	return getBaseType(TupleDescAttr(descriptor, column)->atttypid);
}

/* True if the requested column is of the type or its base type. False for a domain over it, since nobody would check its
 * constraints.
 */
static bool is_of_type(TupleDesc request, int column, Oid type)
{
	Oid given = TupleDescAttr(request, column)->atttypid;

	return given == type || given == getBaseType(type);
}

/* Raises an error unless the requested columns have the types of the index's columns, times and numbers as SQL shows them. */
static void require_columns(TupleDesc request, Relation index, unsigned duration)
{
	TupleDesc own = RelationGetDescr(index);
	int n_by = IndexRelationGetNumberOfKeyAttributes(index) - 1;
	Oid argument = time_argument_type(base_type(own, n_by));
	Oid types[N_COLUMNS] = { [BUCKET] = INT8OID,
				 [BUCKET_START] = argument,
				 [BUCKET_END] = argument,
				 [COUNT] = INT8OID,
				 [CLIPPED] = argument == INT8OID   ? NUMERICOID
					     : argument == DATEOID ? INT8OID
								   : INTERVALOID,
				 [LONGEST_ROW] = TIDOID,
				 [LONGEST_TIME] = TupleDescAttr(own, n_by)->atttypid };
	int wanted = request->natts - n_by;
	bool is_right = wanted == WANTS_OVERLAPS || wanted == WANTS_PEAKS || wanted == WANTS_GAPS;

	if (wanted == WANTS_OVERLAPS)
		types[LONGEST] = TupleDescAttr(own, n_by + 1 + (int)duration)->atttypid;
	if (wanted == WANTS_PEAKS)
		types[PEAK_TIME] = argument;
	if (wanted == WANTS_GAPS)
		types[GAP_START] = types[GAP_END] = argument;

	for (int i = 0; is_right && i < n_by; i++)
		is_right = is_of_type(request, i, TupleDescAttr(own, i)->atttypid);
	for (int i = 0; is_right && n_by + i < request->natts; i++)
		is_right = is_of_type(request, n_by + i, types[i]);
	if (!is_right)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("the columns asked for are not those of index \"%s\"", RelationGetRelationName(index)),
			errhint("Call the function of the index that iforest_create_functions() makes."));
}

static void require_arguments(FunctionCallInfo fcinfo, Relation index, Oid type)
{
	Oid step = type == INT8OID ? INT8OID : type == DATEOID ? INT4OID : INTERVALOID;
	Oid types[] = { type, type, INT8OID, step, type };
	bool is_right = PG_NARGS() >= CONDITIONS && !get_fn_expr_variadic(fcinfo->flinfo);

	for (size_t i = 0; is_right && i < lengthof(types); i++)
		is_right = get_fn_expr_argtype(fcinfo->flinfo, (int)(BUCKETING + i)) == types[i];
	if (!is_right)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("the arguments are not those of index \"%s\"", RelationGetRelationName(index)),
			errhint("Call the function of the index that iforest_create_functions() makes."));
}

/* Returns the type of a comparand as the operators of the index have it. */
static Oid compared_type(Relation index, int column, Oid given)
{
	Oid own = index->rd_opcintype[column - 1], type = getBaseType(given);

	return IsPolymorphicType(own) && type == base_type(RelationGetDescr(index), column - 1) ? own : type;
}

/* Reads conditions as scan keys if the index has their operator; the query rechecks all conditions. */
static void read_conditions(FunctionCallInfo fcinfo, Relation index, struct overlaps *overlaps)
{
	int n_by = IndexRelationGetNumberOfKeyAttributes(index) - 1;

	overlaps->conditions = palloc0(PG_NARGS() * sizeof *overlaps->conditions);
	for (int i = CONDITIONS; i + 1 < PG_NARGS(); i += 2) {
		int column = PG_ARGISNULL(i) || get_fn_expr_argtype(fcinfo->flinfo, i) != INT4OID ? 0 : PG_GETARG_INT32(i);
		Oid given = get_fn_expr_argtype(fcinfo->flinfo, i + 1), element = get_element_type(given);
		Oid type, operator;

		if (column < 1 || column > n_by || PG_ARGISNULL(i + 1))
			continue;
		type = compared_type(index, column, OidIsValid(element) ? element : given);
		operator= get_opfamily_member(index->rd_opfamily[column - 1], index->rd_opcintype[column - 1], type,
					      BTEqualStrategyNumber);
		if (OidIsValid(operator))
			ScanKeyEntryInitialize(&overlaps->conditions[overlaps->n_conditions++],
					       OidIsValid(element) ? SK_SEARCHARRAY : 0, (AttrNumber)column,
					       BTEqualStrategyNumber, type, index->rd_indcollation[column - 1],
					       get_opcode(operator), PG_GETARG_DATUM(i + 1));
	}
}

/* ---- the answer ---- */

/* Returns the time inside the bucket, in the type of a difference of times. */
static Datum clipped(const struct overlapped *row, Oid type)
{
	iforest_int128 inside = row->inside, n_days = inside / USECS_PER_DAY;
	Interval *interval;

	if (type == INT8OID)
		return ifp_numeric_from_int128(inside, 0);
	if (row->has_no_end && type == DATEOID)
		ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("cannot subtract infinite dates"));
	if (type == DATEOID && inside <= PG_INT64_MAX)
		return Int64GetDatum((int64)inside);
	if (type == DATEOID)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range"));
	interval = palloc0(sizeof *interval);
	if (row->has_no_end) {
		ifp_endless_interval(interval);
		return IntervalPGetDatum(interval);
	}
	if (n_days > PG_INT32_MAX)
		ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("interval out of range"));
	interval->day = (int32)n_days;
	interval->time = (TimeOffset)(inside % USECS_PER_DAY);
	return IntervalPGetDatum(interval);
}

/* The row of a ref as the snapshot sees it. Cached, because neighbouring buckets usually have the same longest span. */
struct shown_row {
	int64 ref;
	ItemPointerData tid;
};

static void set_overlap(const struct overlaps *overlaps, const struct overlapped *row, Oid type, Datum *values, bool *are_null,
			struct shown_row *shown)
{
	const struct ifp_snapshot_reader *reader = overlaps->reader;
	const struct iforest_node_schema *fields = &reader->index.manifest.fields;

	values[COUNT] = Int64GetDatum((int64)row->n);
	values[CLIPPED] = clipped(row, type);
	for (int i = LONGEST; i < N_COLUMNS; i++)
		are_null[i] = !row->longest.is_set;
	if (!row->longest.is_set)
		return;
	values[LONGEST] = ifp_value_to_datum(&reader->definition, fields->duration_value, row->longest.value);
	if (shown->ref != row->longest.ref) {
		shown->ref = row->longest.ref;
		ifp_ref_to_tid(shown->ref, &shown->tid);
		ifp_heap_visible_ctid(overlaps->heap, overlaps->snapshot, &shown->tid);
	}
	values[LONGEST_ROW] = PointerGetDatum(&shown->tid);
	values[LONGEST_TIME] = ifp_time_to_datum(&reader->definition, row->longest.time);
}

static void put_row(const struct overlaps *overlaps, const struct overlapped *row, Oid type, ReturnSetInfo *result,
		    Datum *values, bool *are_null, struct shown_row *shown)
{
	int n_by = overlaps->reader->definition.n_by;

	if (overlaps->wanted == WANTS_GAPS) {
		values[n_by + GAP_START] = ifp_bucket_time(row->gap.start, type);
		values[n_by + GAP_END] = ifp_bucket_time(row->gap.end, type);
		tuplestore_putvalues(result->setResult, result->setDesc, values, are_null);
		return;
	}
	values[n_by + BUCKET] = Int64GetDatum(row->bucket);
	values[n_by + BUCKET_START] =
		ifp_bucket_bound(&overlaps->bucketing, row->bucket, false, type, &are_null[n_by + BUCKET_START]);
	values[n_by + BUCKET_END] =
		ifp_bucket_bound(&overlaps->bucketing, row->bucket, true, type, &are_null[n_by + BUCKET_END]);
	if (overlaps->wanted == WANTS_PEAKS) {
		values[n_by + PEAK] = Int64GetDatum((int64)row->peak.n);
		values[n_by + PEAK_TIME] = ifp_bucket_time(row->peak.time, type);
	} else {
		set_overlap(overlaps, row, type, values + n_by, are_null + n_by, shown);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, are_null);
}

static void put_rows(struct overlaps *overlaps, Oid type, ReturnSetInfo *result)
{
	int n = overlaps->reader->definition.n_by + N_COLUMNS;
	Datum *values = palloc0(n * sizeof *values);
	bool *are_null = palloc0(n * sizeof *are_null);
	MemoryContext of_series = AllocSetContextCreate(CurrentMemoryContext, "iforest series", ALLOCSET_SMALL_SIZES);
	MemoryContext of_row = AllocSetContextCreate(CurrentMemoryContext, "iforest row", ALLOCSET_SMALL_SIZES);
	MemoryContext before = MemoryContextSwitchTo(of_row);
	struct shown_row shown = { .ref = -1 };
	struct overlapped row;
	int64 series = -1;

	while (overlaps_next(overlaps, &row)) {
		CHECK_FOR_INTERRUPTS();
		if (overlaps->reader->definition.n_by > 0 && row.series != series) {
			MemoryContextReset(of_series);
			MemoryContextSwitchTo(of_series);
			ifp_snapshot_reader_by(overlaps->reader, row.series, values, are_null);
			series = row.series;
		}
		MemoryContextSwitchTo(of_row);
		MemoryContextReset(of_row);
		put_row(overlaps, &row, type, result, values, are_null, &shown);
	}
	MemoryContextSwitchTo(before);
}

static void answer(struct overlaps *overlaps, Oid type, ReturnSetInfo *result)
{
	if (overlaps->is_out_of_range)
		ifp_bucket_out_of_range();
	if (overlaps->has_infinite_time && overlaps->wanted == WANTS_OVERLAPS)
		ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			type == DATEOID ? errmsg("cannot subtract infinite dates")
					: errmsg("cannot subtract infinite timestamps"));
	put_rows(overlaps, type, result);
}

/* ---- indexes ---- */

static void require_usable(Relation index, bool is_partition)
{
	/* a partition's index was valid when it was found; if it has been replaced since, it is kept while the lock is held */
	if (!(is_partition ? ifp_index_is_old_enough(index) : ifp_index_is_usable(index)))
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			errmsg("index \"%s\" cannot be read by this transaction", RelationGetRelationName(index)),
			errhint("It is not valid, or was made while rows were changed that this transaction still sees: "
				"try again in a new one."));
}

/* Returns the value that is the duration. Raises an error if there is none; points have gaps as well. */
static unsigned require_spans(Relation relation, bool are_gaps)
{
	struct ifp_index *index = palloc(sizeof *index);

	ifp_index_open(index, relation);
	ifp_index_refresh(index);
	if (index->manifest.fields.duration_value == IFOREST_NO_VALUE ? !are_gaps
								      : index->manifest.fields.end_rule != IFOREST_END_DURATION)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" has no durations in the unit of its times", RelationGetRelationName(relation)));
	return index->manifest.fields.duration_value;
}

static void read_named_index(FunctionCallInfo fcinfo, Relation heap, Relation index)
{
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;
	Oid type = time_argument_type(base_type(RelationGetDescr(index), IndexRelationGetNumberOfKeyAttributes(index) - 1));
	int n_wanted = result->setDesc->natts - IndexRelationGetNumberOfKeyAttributes(index) + 1;
	struct overlaps *overlaps;

	require_columns(result->setDesc, index, require_spans(index, n_wanted == WANTS_GAPS));
	require_arguments(fcinfo, index, type);
	if (PG_ARGISNULL(BUCKETING) || PG_ARGISNULL(BUCKETING + 1))
		return;
	overlaps = palloc0(sizeof *overlaps);
	overlaps->heap = heap;
	overlaps->index = index;
	overlaps->snapshot = GetActiveSnapshot();
	overlaps->wanted = (enum wanted)n_wanted;
	overlaps->context = AllocSetContextCreate(CurrentMemoryContext, "iforest overlaps", ALLOCSET_DEFAULT_SIZES);
	overlaps->bucketing = ifp_bucketing_argument(fcinfo, BUCKETING, type);
	read_conditions(fcinfo, index, overlaps);
	overlaps_read(overlaps);
	answer(overlaps, type, result);
	overlaps_release(overlaps);
	MemoryContextDelete(overlaps->context);
}

/* ---- the function ---- */

/* The parts of an index, cached for the query: they stay usable, because their locks are held. */
struct known {
	Oid index;
	struct ifp_overlap_parts parts;
};

static const struct ifp_overlap_parts *known_parts(FunctionCallInfo fcinfo, Relation heap, Relation index)
{
	struct known *known = fcinfo->flinfo->fn_extra;
	MemoryContext before = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	struct ifp_overlap_parts parts;
	ListCell *cell;

	if (known && known->index == RelationGetRelid(index)) {
		MemoryContextSwitchTo(before);
		return &known->parts;
	}
	parts = ifp_overlap_parts(heap, index);
	if (parts.has_foreign)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("table \"%s\" has foreign tables as partitions, which have no index",
			       RelationGetRelationName(heap)),
			errhint("Call the function of the index that iforest_create_functions() makes; it reads the tables "
				"then."));
	foreach (cell, parts.indexes) {
		Relation part = index_open(lfirst_oid(cell), AccessShareLock);

		require_usable(part, lfirst_oid(cell) != RelationGetRelid(index));
		index_close(part, NoLock);
	}
	if (!known)
		known = fcinfo->flinfo->fn_extra = palloc0(sizeof *known);
	*known = (struct known){ .index = RelationGetRelid(index), .parts = parts };
	MemoryContextSwitchTo(before);
	return &known->parts;
}

/* Reads the parts in turn. The query adds up their rows of the same bucket. */
static void read_parts(FunctionCallInfo fcinfo, const struct ifp_overlap_parts *parts)
{
	MemoryContext of_part = AllocSetContextCreate(CurrentMemoryContext, "iforest part", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(of_part);
	ListCell *table, *index;

	forboth(table, parts->tables, index, parts->indexes)
	{
		Relation heap = table_open(lfirst_oid(table), AccessShareLock);
		Relation part = index_open(lfirst_oid(index), AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		read_named_index(fcinfo, heap, part);
		/* locks are kept until the transaction ends, as those of a scan */
		ifp_close_index(part, heap, NoLock);
		MemoryContextReset(of_part);
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(of_part);
}

Datum iforest_overlap_spans(PG_FUNCTION_ARGS)
{
	Relation heap, index;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(INDEX))
		PG_RETURN_VOID();
	index = ifp_open_index(PG_GETARG_OID(INDEX), AccessShareLock, &heap);
	/* privileges are checked on the named table, not on partitions, as in a query */
	ifp_require_readable(heap, index);
	read_parts(fcinfo, known_parts(fcinfo, heap, index));
	ifp_close_index(index, heap, NoLock);
	PG_RETURN_VOID();
}
