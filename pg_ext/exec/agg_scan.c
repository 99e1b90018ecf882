#include "pg_ext/exec/agg_scan.h"

#include "access/genam.h"
#include "access/table.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "rewrite/rewriteManip.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "core/query/sweep.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/exec/agg_explain.h"
#include "pg_ext/exec/agg_state.h"
#include "pg_ext/exec/bucket_values.h"
#include "pg_ext/exec/dimension_rows.h"
#include "pg_ext/exec/query_keys.h"
#include "pg_ext/exec/set_groups.h"
#include "pg_ext/exec/snapshot_reader.h"
#include "pg_ext/exec/top_heap.h"
#include "pg_ext/exec/value_classes.h"
#include "pg_ext/planner/agg_cost.h"
#include "pg_ext/planner/bucket_finder.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/value_passes.h"
#include "pg_ext/planner/value_steps.h"
#include "pg_ext/storage/locks.h"

/* A part of the rows of a bucket: those on steps of the query's histogram. */
struct answer_piece {
	uint64 steps;
	Datum value; /* on one of them */
	bool is_null;
};

/* A query that is being answered. */
struct agg_answer {
	const struct ifp_index_query *query;
	PlanState *node;	   /* gives snapshot and parameters */
	MemoryContext parameters;  /* results computed from parameters, until the next rescan */
	MemoryContext attempt;	   /* until the next attempt */
	MemoryContext current;	   /* until the next series is read, and then until the next group is returned */
	ExprContext *econtext;	   /* its scan tuple is the row */
	TupleTableSlot *row;	   /* of the index's columns */
	Relation *heaps, *indexes; /* kept open from begin to end, as a scan does */
	int n_tables;
	struct ifp_definition definition; /* of the first index; the others have the same columns */
	bool is_total;			  /* all entries are one bucket: no condition, no group, no time */
	bool is_begun, is_done;		  /* groups are made; all are returned */

	struct ifp_query_keys *keys;
	List *gates, *late; /* ExprStates */
	struct ifp_safe_expression *series, *runs;
	int n_series, n_runs;
	struct answer_piece *pieces;
	int n_pieces;
	AttrNumber piece_column; /* the value column of the histogram; 0: all rows are one piece */
	struct ifp_value_filter *values;
	struct ifp_value_classes *classes; /* classes of a bucket's rows; NULL: rows are not split */
	List *passes;			   /* struct ifp_value_pass, of a query with drawn histograms */
	struct ifp_bucket_finder *range_finder, *bucket_finder;
	struct ifp_agg_states *aggs;
	struct ifp_dimension_rows **dimensions;
	int n_dimensions;
	struct ifp_set_groups *groups;
	struct ifp_top_heap *top; /* NULL: all groups are returned */
	struct ifp_agg_counts counts;
};

/* An index that is being read. */
struct answer_reader {
	struct agg_answer *answer;
	struct iforest_request request;
	struct ifp_sketch_sidecar *sidecar; /* of kept sketches; NULL: none was needed yet */
	bool needs_values;
	struct iforest_aggregate *fold; /* of a bucket */
	ErrorData *series_error;	/* raised by its conditions; NULL: none */
	/* large, and not zeroed in the beginning */
	struct ifp_bucket_values values; /* of a bucket, if needs_values */
	struct ifp_snapshot_reader read;
};

/* The entries of a bucket: keys [from, to). */
struct bucket_range {
	struct iforest_key from, to;
};

/* ---- conditions ---- */

/* True if all conditions are true of the row. */
static bool answer_holds(const struct agg_answer *answer, List *conditions)
{
	ListCell *cell;

	foreach (cell, conditions) {
		bool is_null;
		Datum holds = ExecEvalExprSwitchContext(lfirst(cell), answer->econtext, &is_null);

		if (is_null || !DatumGetBool(holds))
			return false;
	}
	return true;
}

/* True if no condition is false for the row. For conditions that are evaluated before it is known whether there are visible
 * rows: catches the first error and returns it in *error, to be raised if there are such rows; otherwise sets *error to
 * NULL. */
static bool answer_holds_safely(const struct agg_answer *answer, const struct ifp_safe_expression *conditions, int n_conditions,
				ErrorData **error)
{
	*error = NULL;
	for (int i = 0; i < n_conditions; i++) {
		bool is_null;
		Datum holds;

		if (ifp_safe_eval(&conditions[i], answer->econtext, &holds, &is_null, *error ? NULL : error) &&
		    (is_null || !DatumGetBool(holds))) {
			*error = NULL;
			return false;
		}
	}
	return true;
}

/* ---- buckets ---- */

static void set_time(const struct agg_answer *answer, bool is_null, int64 time)
{
	int column = ifp_time_attribute(answer->query) - 1;

	answer->row->tts_isnull[column] = is_null;
	answer->row->tts_values[column] = is_null ? (Datum)0 : ifp_time_to_datum(&answer->definition, time);
}

static uint64 rows_of_piece(const struct answer_reader *reader, const struct answer_piece *piece)
{
	return ifp_agg_states_rows(reader->answer->aggs, piece->steps, reader->fold);
}

/* True if the fold has rows that the query asks for. */
static bool has_rows(const struct answer_reader *reader)
{
	for (int i = 0; i < reader->answer->n_pieces; i++)
		if (rows_of_piece(reader, &reader->answer->pieces[i]) > 0)
			return true;
	return false;
}

/* Adds a piece of the fold to the groups of the row. */
static void add_piece(struct answer_reader *reader, int i, bool has_time)
{
	struct agg_answer *answer = reader->answer;
	const struct answer_piece *piece = &answer->pieces[i];
	int column = answer->piece_column - 1;
	uint64 n_rows = rows_of_piece(reader, piece);

	if (n_rows == 0)
		return;
	if (column >= 0) {
		answer->row->tts_values[column] = piece->value;
		answer->row->tts_isnull[column] = piece->is_null;
	}
	for (int set = 0; set < ifp_set_groups_n(answer->groups); set++)
		ifp_agg_states_add(answer->aggs, ifp_set_groups_find(answer->groups, set, i), reader->fold, piece->steps,
				   n_rows, &reader->values, has_time, answer->attempt);
}

/* Adds the fold of a bucket to the groups of the row. */
static enum iforest_status add_bucket(struct answer_reader *reader, const struct bucket_range *range, bool has_time, int64 time)
{
	struct agg_answer *answer = reader->answer;
	enum iforest_status status = IFOREST_OK;

	if (!has_rows(reader))
		return IFOREST_OK;
	set_time(answer, !has_time, time);
	if (answer_holds(answer, answer->late)) {
		/* sketches and numbers are of the entries that pass the request's filter */
		reader->read.scan.request = reader->request;
		if (reader->needs_values)
			status = ifp_bucket_values_read(&reader->values, answer->aggs, &reader->read, &reader->sidecar,
							&range->from, &range->to, answer->attempt);
		ifp_set_groups_move(answer->groups, has_time ? ifp_bucket_finder_note(answer->bucket_finder, time) : NULL);
		for (int i = 0; i < answer->n_pieces && !status; i++)
			add_piece(reader, i, has_time);
		if (!status && reader->needs_values)
			ifp_bucket_values_free(&reader->values);
		answer->counts.n_buckets++;
	}
	ResetExprContext(answer->econtext);
	return status;
}

static void clear_fold(struct answer_reader *reader)
{
	iforest_aggregate_clear(reader->fold, reader->read.index.manifest.fields.n_values,
				&reader->read.index.manifest.fields.accumulators);
}

/* ---- ranges of a series ---- */

static struct iforest_key key_after(uint64 series, int64 time)
{
	return time == PG_INT64_MAX ? iforest_key_nulls(series) : iforest_key_at(series, time + 1);
}

static const struct iforest_request nothing = { .values = 0 };

/* Advances past the entries up to a time, and folds them if they are wanted and not split into classes. */
static enum iforest_status pass(struct answer_reader *reader, int64 through, bool is_wanted)
{
	is_wanted = is_wanted && !reader->answer->classes;
	return iforest_scan_through(&reader->read.scan, through, is_wanted ? &reader->request : &nothing, reader->fold);
}

/* Finds the last time of the series in the range. */
static enum iforest_status find_last(struct answer_reader *reader, uint64 series, const struct ifp_time_range *range,
				     int64 *last, bool *found)
{
	struct ifp_time_keys times = ifp_time_keys(&reader->answer->definition);

	return iforest_scan_latest(&reader->read.scan, series, Min(range->high, times.highest_finite), last, found);
}

/* Raises the error that a condition raised for a time, for the series, or for values, if there are rows that pass all other
 * conditions. */
static void raise_late(const struct answer_reader *reader, ErrorData *error, bool has_time, int64 time)
{
	if (!error)
		error = reader->series_error;
	if (!error)
		error = ifp_value_filter_error(reader->answer->values);
	if (!error || !has_rows(reader))
		return;
	set_time(reader->answer, !has_time, time);
	if (answer_holds(reader->answer, reader->answer->late))
		ReThrowError(error);
}

static void set_window(struct answer_reader *reader, const struct ifp_time_range *range)
{
	reader->read.scan.bucketing.window = (struct iforest_window){ .has_t0 = range->low != PG_INT64_MIN,
								      .t0 = range->low,
								      .has_t1 = range->high != PG_INT64_MAX,
								      .t1 = range->high == PG_INT64_MAX ? 0 : range->high + 1 };
}

/* Adds a bucket to the groups, or each class of its rows; *error: raised by a condition on the time. */
static enum iforest_status answer_bucket(struct answer_reader *reader, const struct bucket_range *range,
					 const struct iforest_request *request, ErrorData *error, bool has_time, int64 time)
{
	struct ifp_value_classes *classes = reader->answer->classes;
	struct iforest_aggregate *fold = reader->fold;
	enum iforest_status status;

	if (!classes) {
		raise_late(reader, error, has_time, time);
		return add_bucket(reader, range, has_time, time);
	}
	/* the fold is of all entries, ignoring the request's filter */
	if (fold->n_rows == 0)
		return IFOREST_OK;
	status = ifp_value_classes_read(classes, &reader->read.scan, &range->from, &range->to, request);
	for (Size i = 0; !status && i < ifp_value_classes_n(classes); i++) {
		reader->fold = ifp_value_classes_get(classes, i, reader->answer->econtext);
		raise_late(reader, error, has_time, time);
		status = add_bucket(reader, range, has_time, time);
	}
	reader->fold = fold;
	return status;
}

static enum iforest_status read_range(struct answer_reader *reader, uint64 series, const struct ifp_time_range *range)
{
	struct agg_answer *answer = reader->answer;
	bool is_one = ifp_bucket_finder_has_one(answer->range_finder) && ifp_bucket_finder_has_one(answer->bucket_finder),
	     found = true;
	int64 last = range->high, time, range_end = PG_INT64_MIN;
	bool in_range = true, has_range = false;
	ErrorData *error = NULL;
	enum iforest_status status = IFOREST_OK;

	set_window(reader, range);
	if (!is_one) {
		status = find_last(reader, series, range, &last, &found);
		if (!found)
			last = range->high;
		ifp_bucket_finder_start(answer->range_finder, last);
		ifp_bucket_finder_start(answer->bucket_finder, last);
	}
	if (!status)
		status = iforest_scan_start(&reader->read.scan, series);
	while (!status && !(status = iforest_scan_earliest(&reader->read.scan, &time, &found)) && found) {
		struct bucket_range bucket = { .from = iforest_key_at(series, time) };
		int64 end;

		CHECK_FOR_INTERRUPTS();
		if (!has_range || time > range_end) {
			if (error)
				FreeErrorData(error);
			range_end = ifp_bucket_finder_end(answer->range_finder, time);
			set_time(answer, false, time);
			in_range = answer_holds_safely(answer, answer->runs, answer->n_runs, &error);
			ResetExprContext(answer->econtext);
			has_range = true;
		}
		end = in_range ? Min(ifp_bucket_finder_end(answer->bucket_finder, time), range_end) : range_end;
		end = Min(end, range->high);
		clear_fold(reader);
		status = pass(reader, end, in_range);
		bucket.to = key_after(series, end);
		if (!status && in_range)
			status = answer_bucket(reader, &bucket, &reader->request, error, true, time);
	}
	return status;
}

static enum iforest_status read_nulls(struct answer_reader *reader, uint64 series)
{
	struct agg_answer *answer = reader->answer;
	struct bucket_range bucket = { .from = iforest_key_nulls(series), .to = iforest_key_at(series + 1, PG_INT64_MIN) };
	struct iforest_request timeless = reader->request;
	ErrorData *error;
	enum iforest_status status;

	ifp_agg_states_want_timeless(answer->aggs, &timeless);
	reader->read.scan.bucketing.window = (struct iforest_window){ .has_t0 = false };
	status = iforest_scan_start(&reader->read.scan, series);
	clear_fold(reader);
	if (!status)
		status = iforest_scan_nulls(&reader->read.scan, answer->classes ? &nothing : &timeless, reader->fold);
	if (status)
		return status;
	set_time(answer, true, 0);
	if (reader->fold->n_rows > 0 && answer_holds_safely(answer, answer->runs, answer->n_runs, &error))
		status = answer_bucket(reader, &bucket, &timeless, error, false, 0);
	return status;
}

/* ---- series ---- */

/* Reads a series. The row must have everything but its times and values. */
static enum iforest_status read_series(struct answer_reader *reader, uint32 id)
{
	struct agg_answer *answer = reader->answer;
	enum iforest_status status = IFOREST_OK;

	if (!answer_holds_safely(answer, answer->series, answer->n_series, &reader->series_error))
		return IFOREST_OK;
	answer->counts.n_series++;
	for (uint32 r = 0; r < reader->read.keys.n_ranges && !status; r++)
		status = read_range(reader, id, &reader->read.keys.ranges[r]);
	if (!status && reader->read.keys.has_nulls)
		status = read_nulls(reader, id);
	return status;
}

/* Reads a series once for each combination of rows that it has in the dimensions from number d on. */
static enum iforest_status read_joined(struct answer_reader *reader, uint32 id, int d)
{
	const struct agg_answer *answer = reader->answer;
	enum iforest_status status = IFOREST_OK;

	if (d == answer->n_dimensions)
		return read_series(reader, id);
	ifp_dimension_rows_start(answer->dimensions[d]);
	while (!status && ifp_dimension_rows_next(answer->dimensions[d]))
		status = read_joined(reader, id, d + 1);
	return status;
}

/* Writes the by values of series number i of keys.series to the row. */
static void read_by(struct answer_reader *reader, uint32 i)
{
	const struct agg_answer *answer = reader->answer;
	TupleTableSlot *row = answer->row;
	MemoryContext before = MemoryContextSwitchTo(answer->current);

	MemoryContextReset(answer->current);
	ifp_snapshot_reader_by(&reader->read, i, row->tts_values, row->tts_isnull);
	MemoryContextSwitchTo(before);
}

/* Adds series number i of keys.series to the groups. */
static enum iforest_status answer_series(struct answer_reader *reader, uint32 i)
{
	if (reader->answer->definition.n_by > 0)
		read_by(reader, i);
	return read_joined(reader, reader->read.keys.series[i], 0);
}

/* Adds all entries of all series in one fold. */
static enum iforest_status answer_total(struct answer_reader *reader)
{
	struct bucket_range all = { .from = iforest_key_at(0, PG_INT64_MIN),
				    .to = iforest_key_at((uint64)PG_UINT32_MAX + 1, PG_INT64_MIN) };
	enum iforest_status status;

	clear_fold(reader);
	status = iforest_scan_everything(&reader->read.scan, &reader->request, reader->fold);
	if (status)
		return status;
	raise_late(reader, NULL, false, 0);
	return add_bucket(reader, &all, false, 0);
}

/* ---- all series at once ---- */

/* True if a key, a condition or an aggregate mentions a bucket's time. */
static bool mentions_time(const struct ifp_index_query *query)
{
	AttrNumber time = ifp_time_attribute(query);

	return ifp_mentions((Node *)query->groups, time) || ifp_mentions((Node *)query->late, time) ||
	       ifp_mentions((Node *)query->aggregates, time);
}

/* True if one fold of each series suffices, so that a sweep can read them all. A few of many series are read one by one. */
static bool may_sweep(const struct answer_reader *reader)
{
	const struct agg_answer *answer = reader->answer;
	const struct ifp_scan_keys *keys = &reader->read.keys;

	return answer->definition.n_by > 0 && !answer->classes && answer->n_dimensions == 0 && answer->n_runs == 0 &&
	       keys->n_ranges == 1 && ifp_bucket_finder_has_one(answer->range_finder) &&
	       ifp_bucket_finder_has_one(answer->bucket_finder) && !reader->needs_values &&
	       keys->n_series >= IFOREST_FEWEST_SWEPT_SERIES && (!keys->has_nulls || !mentions_time(answer->query)) &&
	       keys->n_series >= ifp_snapshot_reader_n_series(&reader->read) / IFOREST_MOST_PASSED_SERIES;
}

/* Adds the current series of a sweep, which is number i of keys.series. */
static enum iforest_status sweep_series(struct answer_reader *reader, struct iforest_sweep *sweep, uint32 i)
{
	struct agg_answer *answer = reader->answer;
	struct bucket_range bucket = { .from = iforest_key_at(0, PG_INT64_MIN) };
	bool has_time = !reader->read.keys.has_nulls;	     /* times do not matter, since there is one bucket */
	bool is_late = answer->top && answer->n_series == 0; /* the by values are read only if the group is returned */
	enum iforest_status status;

	if (!is_late)
		read_by(reader, i);
	if (!answer_holds_safely(answer, answer->series, answer->n_series, &reader->series_error))
		return IFOREST_OK;
	clear_fold(reader);
	status = iforest_sweep_fold(sweep, &reader->request, reader->fold);
	if (status)
		return status;
	answer->counts.n_series++;
	raise_late(reader, NULL, has_time, 0);
	if (!has_rows(reader))
		return IFOREST_OK;
	if (answer->top && !ifp_top_heap_add(answer->top, reader->fold)) {
		answer->counts.n_left_out++;
		return IFOREST_OK;
	}
	if (is_late)
		read_by(reader, i);
	return add_bucket(reader, &bucket, has_time, 0);
}

static enum iforest_status answer_sweep(struct answer_reader *reader)
{
	const struct ifp_scan_keys *keys = &reader->read.keys;
	struct iforest_sweep sweep;
	uint64 series;
	uint32 i = 0;
	bool found = true;
	enum iforest_status status;

	set_window(reader, &keys->ranges[0]);
	status = iforest_sweep_start(&sweep, &reader->read.scan, keys->series[0], keys->series[keys->n_series - 1],
				     keys->has_nulls);
	while (!status && !(status = iforest_sweep_next(&sweep, &series, &found)) && found) {
		while (i < keys->n_series && keys->series[i] < series)
			i++;
		if (i < keys->n_series && keys->series[i] == series)
			status = sweep_series(reader, &sweep, i);
		ifp_test_point("series read");
		ResetExprContext(reader->answer->econtext);
		CHECK_FOR_INTERRUPTS();
	}
	return status;
}

/* ---- an index ---- */

static enum iforest_status read_index(struct answer_reader *reader)
{
	struct agg_answer *answer = reader->answer;
	enum iforest_status status = IFOREST_OK;

	ifp_agg_states_set_index(answer->aggs, &reader->read.index.manifest.fields.accumulators);
	reader->request = ifp_agg_states_wanted(answer->aggs);
	reader->request.filter = &reader->read.filter;
	reader->needs_values = ifp_bucket_values_are_needed(answer->aggs);
	if (reader->needs_values)
		memset(&reader->values, 0, sizeof reader->values);
	reader->fold = palloc(sizeof *reader->fold);
	if (answer->classes)
		ifp_value_classes_start(answer->classes, &reader->read.index.manifest.fields);
	if (answer->is_total)
		return answer_total(reader);
	if (may_sweep(reader))
		return answer_sweep(reader);
	for (uint32 i = 0; i < reader->read.keys.n_series && !status; i++) {
		status = answer_series(reader, i);
		ifp_test_point("series read");
		ResetExprContext(answer->econtext);
		CHECK_FOR_INTERRUPTS();
	}
	return status;
}

static void count(struct answer_reader *reader)
{
	struct ifp_agg_counts *counts = &reader->answer->counts;

	counts->n_nodes += iforest_scan_nodes(&reader->read.scan);
	counts->n_pages += iforest_scan_pages(&reader->read.scan);
	counts->n_leaf_pages += iforest_scan_leaf_pages(&reader->read.scan);
	counts->n_runs += reader->read.index.manifest.n_runs;
	counts->n_pending += reader->read.n_pending;
	counts->n_heap_blocks += reader->read.visibility.n_looks;
}

static bool read_consistently(struct answer_reader *reader, Relation heap, Relation index)
{
	struct agg_answer *answer = reader->answer;
	enum iforest_status status = IFOREST_OK;

	ifp_snapshot_reader_open(&reader->read, index);
	/* series are looked up after the manifest is read, so that those of its runs are found */
	if (!ifp_query_keys_read(answer->keys, answer->econtext, index, &answer->definition, reader->read.index.meta.index_id,
				 &reader->read.keys))
		return true;
	if (ifp_value_filter_has_conditions(answer->values))
		reader->read.values = answer->values;
	if (!ifp_snapshot_reader_read(&reader->read, heap, answer->node->state->es_snapshot))
		return false;
	if (reader->read.has_pending)
		status = iforest_scan_join_memtable(&reader->read.scan, &reader->read.pending);
	if (!status)
		status = read_index(reader);
	count(reader);
	return ifp_snapshot_reader_finish(&reader->read, status);
}

/* Adds the entries of one index to the groups. Returns false if the index changed meanwhile and the answer must restart. With
 * `locked` it holds the maintenance lock, which prevents that. */
static bool answer_index(struct agg_answer *answer, Relation heap, Relation index, bool locked)
{
	struct answer_reader reader;
	bool done;

	memset(&reader, 0, offsetof(struct answer_reader, values));
	reader.answer = answer;
	if (locked)
		ifp_lock(index, IFP_LOCK_MAINTENANCE, ShareLock);
	done = read_consistently(&reader, heap, index);
	if (locked)
		ifp_unlock(index, IFP_LOCK_MAINTENANCE, ShareLock);
	return done;
}

/* ---- beginning and end ---- */

static void begin_pieces(struct agg_answer *answer)
{
	const struct ifp_index_query *query = answer->query;
	ListCell *cell;

	answer->pieces = palloc0((list_length(query->pieces) + 1) * sizeof *answer->pieces);
	foreach (cell, query->pieces) {
		struct answer_piece *piece = &answer->pieces[answer->n_pieces++];

		piece->steps = ifp_piece_steps(lfirst(cell));
		piece->value = ifp_value_steps_datum(query, query->histogram, piece->steps, &piece->is_null);
		answer->piece_column = (AttrNumber)(query->n_by + 2 + query->accumulators.list[query->histogram].value);
	}
	if (query->pieces == NIL)
		answer->pieces[answer->n_pieces++].steps = IFP_ALL_STEPS;
}

static void begin_dimensions(struct agg_answer *answer)
{
	ListCell *cell;

	answer->dimensions = palloc((Size)(list_length(answer->query->dimensions) + 1) * sizeof *answer->dimensions);
	foreach (cell, answer->query->dimensions) {
		struct ifp_dimension dimension;

		ifp_dimension_read(lfirst(cell), &dimension);
		answer->dimensions[answer->n_dimensions++] = ifp_dimension_rows_begin(&dimension, answer->econtext);
	}
}

static struct ifp_safe_expression *prepare_all(List *conditions, int *n)
{
	struct ifp_safe_expression *expressions = palloc((list_length(conditions) + 1) * sizeof *expressions);
	ListCell *cell;

	foreach (cell, conditions)
		expressions[(*n)++] = ifp_safe_eval_prepare(lfirst(cell));
	return expressions;
}

/* Opens tables and indexes. Reads the definition from the first index, since all have the same columns. */
static void open_tables(struct agg_answer *answer)
{
	ListCell *cell;

	answer->heaps = palloc(list_length(answer->query->tables) * sizeof(Relation));
	answer->indexes = palloc(list_length(answer->query->tables) * sizeof(Relation));
	foreach (cell, answer->query->tables) {
		answer->heaps[answer->n_tables] = table_open(linitial_oid(lfirst(cell)), AccessShareLock);
		answer->indexes[answer->n_tables++] = index_open(lsecond_oid(lfirst(cell)), AccessShareLock);
	}
	ifp_definition_read(answer->indexes[0], &answer->definition);
}

static bool has_columns(List *expressions)
{
	ListCell *cell;

	foreach (cell, expressions)
		if (ifp_has_columns(lfirst(cell)))
			return true;
	return false;
}

/* True if all entries can be folded at once. */
static bool is_total(const struct ifp_index_query *query, const struct ifp_agg_states *aggs)
{
	struct iforest_request request;
	ListCell *cell;

	if (query->dimensions || query->splits || query->keys || query->series || query->runs || query->late ||
	    has_columns(query->groups))
		return false;
	foreach (cell, query->aggregates)
		if (has_columns(ifp_aggregate_conditions(lfirst(cell), query)))
			return false;
	request = ifp_agg_states_wanted(aggs);
	return !request.times && !request.firsts && !request.lasts;
}

/* Raises an error if the user may not call an aggregate, as a plain plan does when it begins. */
static void require_executable(const struct ifp_index_query *query)
{
	ListCell *cell;

	foreach (cell, query->aggregates) {
		Oid function = lfirst_node(Aggref, cell)->aggfnoid;

		if (!ifp_may_execute(function))
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_AGGREGATE, get_func_name(function));
	}
}

/* Prepares an answer, in the current memory context. */
static struct agg_answer *answer_begin(const struct ifp_index_query *query, PlanState *node)
{
	struct agg_answer *answer = palloc0(sizeof *answer);
	AttrNumber time = ifp_time_attribute(query);
	struct ifp_run_keys keys;

	require_executable(query);
	answer->query = query;
	answer->node = node;
	answer->parameters = AllocSetContextCreate(CurrentMemoryContext, "iforest parameters", ALLOCSET_SMALL_SIZES);
	answer->attempt = AllocSetContextCreate(CurrentMemoryContext, "iforest answer", ALLOCSET_DEFAULT_SIZES);
	answer->current = AllocSetContextCreate(CurrentMemoryContext, "iforest series or group", ALLOCSET_SMALL_SIZES);
	answer->econtext = CreateExprContext(node->state);
	answer->row = ifp_index_query_row(query);
	answer->econtext->ecxt_scantuple = answer->row;
	open_tables(answer);
	answer->keys = ifp_query_keys_begin(query);
	begin_pieces(answer);
	begin_dimensions(answer);
	answer->gates = ExecInitExprList(query->gates, NULL);
	answer->series = prepare_all(query->series, &answer->n_series);
	answer->runs = prepare_all(query->runs, &answer->n_runs);
	answer->late = ExecInitExprList(query->late, NULL);
	answer->values = ifp_value_filter_begin(query, &answer->definition, answer->econtext);
	answer->passes = ifp_value_passes(query);
	answer->classes = ifp_value_classes_begin(query, &answer->definition, answer->row);
	ifp_index_query_range_keys(query, &keys);
	answer->range_finder = ifp_bucket_finder_begin(&keys, &answer->definition, time, answer->econtext);
	ifp_aggregate_bucket_keys(query, &keys);
	answer->bucket_finder = ifp_bucket_finder_begin(&keys, &answer->definition, time, answer->econtext);
	answer->aggs = ifp_agg_states_begin(query, &answer->definition, answer->econtext);
	if (answer->n_tables == 1)
		ifp_agg_states_set_table(answer->aggs, answer->heaps[0], node->state->es_snapshot);
	answer->is_total = is_total(query, answer->aggs);
	answer->groups = ifp_set_groups_begin(query, ifp_agg_states_bytes(answer->aggs), node, answer->econtext);
	answer->top = ifp_top_heap_begin(query);
	return answer;
}

/* Discards groups; parameters may have changed. */
static void answer_rescan(struct agg_answer *answer)
{
	answer->is_begun = answer->is_done = false;
	ifp_bucket_finder_rescan(answer->range_finder);
	ifp_bucket_finder_rescan(answer->bucket_finder);
}

static void answer_end(struct agg_answer *answer)
{
	for (int i = 0; i < answer->n_tables; i++) {
		index_close(answer->indexes[i], NoLock);
		table_close(answer->heaps[i], NoLock);
	}
	MemoryContextDelete(answer->parameters);
	MemoryContextDelete(answer->attempt);
	MemoryContextDelete(answer->current);
}

/* ---- attempts ---- */

static void set_pass(const struct agg_answer *answer, const struct ifp_value_pass *pass)
{
	const struct ifp_index_query *query = answer->query;
	int value = -1;
	int64 low = 0, high = 0;
	bool has_range = true;

	if (pass->histogram >= 0) {
		value = query->accumulators.list[pass->histogram].value;
		has_range = ifp_value_steps_range(query, pass->histogram, pass->steps, &low, &high);
	}
	ifp_agg_states_set_pass(answer->aggs, pass);
	ifp_value_filter_set_pass(answer->values, value, !has_range, low, high);
}

/* Reads all tables, once. Returns false if an index changed meanwhile. */
static bool read_tables(struct agg_answer *answer, bool locked)
{
	bool done = true;

	for (int i = 0; i < answer->n_tables && done; i++) {
		/* locks as of a sequential scan and of an index scan, before anything is read, so that whatever comes later
		 * conflicts. Both are needed: a row may be in the table before its entry is in the index */
		PredicateLockRelation(answer->heaps[i], answer->node->state->es_snapshot);
		PredicateLockRelation(answer->indexes[i], answer->node->state->es_snapshot);
		done = answer_index(answer, answer->heaps[i], answer->indexes[i], locked);
		ifp_test_point("index read");
	}
	return done;
}

static bool attempt(void *context, bool locked)
{
	struct agg_answer *answer = context;
	bool done = true;
	ListCell *cell;

	MemoryContextReset(answer->attempt);
	ifp_bucket_finder_forget_notes(answer->bucket_finder);
	ifp_set_groups_reset(answer->groups, answer->attempt);
	ifp_agg_states_reset(answer->aggs, answer->attempt);
	if (answer->top)
		ifp_top_heap_reset(answer->top, answer->econtext, answer->attempt);
	answer->counts = (struct ifp_agg_counts){ .n_restarts = answer->counts.n_restarts };
	if (!answer->query->drawn)
		return read_tables(answer, locked);
	/* there is none if no value can meet the conditions */
	foreach (cell, answer->passes) {
		set_pass(answer, lfirst(cell));
		done = done && read_tables(answer, locked);
	}
	return done;
}

/* Counts scans for pg_stat_user_indexes. idx_tup_read stays 0, because nodes are not entries. */
static void count_scans(const struct agg_answer *answer)
{
	for (int i = 0; i < answer->n_tables; i++)
		pgstat_count_index_scan(answer->indexes[i]);
}

static void read_dimensions(struct agg_answer *answer)
{
	ListCell *cell;

	foreach (cell, answer->query->dimensions != NIL ? castNode(CustomScanState, answer->node)->custom_ps : NIL)
		ifp_dimension_rows_read(answer->dimensions[foreach_current_index(cell)], lfirst(cell), answer->parameters);
}

static void answer_query(struct agg_answer *answer)
{
	MemoryContext before = MemoryContextSwitchTo(answer->parameters);
	Snapshot snapshot = answer->node->state->es_snapshot;

	if (!IsMVCCSnapshot(snapshot))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("an iforest index answers MVCC snapshots only"));
	MemoryContextReset(answer->parameters);
	ifp_agg_states_rescan(answer->aggs, answer->parameters);
	MemoryContextReset(answer->attempt);
	MemoryContextSwitchTo(answer->attempt);
	ifp_set_groups_reset(answer->groups, answer->attempt);
	ifp_agg_states_reset(answer->aggs, answer->attempt);
	if (answer_holds(answer, answer->gates)) {
		count_scans(answer);
		read_dimensions(answer);
		ifp_snapshot_retry(attempt, answer, &answer->counts.n_restarts);
	}
	answer->is_begun = true;
	MemoryContextSwitchTo(before);
}

/* Returns the next group: its keys, the aggregates and GROUPING(), in the order of the query's lists; false after the last.
 * values and are_null must have room for all. Referenced data is valid until the next call. */
static bool answer_next(struct agg_answer *answer, Datum *values, bool *are_null)
{
	int n_groups = list_length(answer->query->groups), n_aggregates = list_length(answer->query->aggregates);
	const struct ifp_measure_state *states;
	MemoryContext before;

	if (!answer->is_begun)
		answer_query(answer);
	if (answer->is_done)
		return false;
	MemoryContextReset(answer->current);
	states = ifp_set_groups_next(answer->groups, values, are_null, n_groups + n_aggregates);
	answer->is_done = !states;
	if (!states)
		return false;
	before = MemoryContextSwitchTo(answer->current);
	for (int i = 0; i < n_aggregates; i++)
		values[n_groups + i] = ifp_agg_states_result(answer->aggs, i, states, &are_null[n_groups + i]);
	MemoryContextSwitchTo(before);
	return true;
}

static struct ifp_agg_counts answer_counts(const struct agg_answer *answer)
{
	struct ifp_agg_counts counts = answer->counts;

	counts.buckets = ifp_bucket_finder_counts(answer->bucket_finder);
	return counts;
}

/* ---- the node ---- */

struct aggregate_state {
	CustomScanState custom;
	struct ifp_index_query query;
	struct agg_answer *answer; /* NULL under EXPLAIN without ANALYZE */
};

static void begin(CustomScanState *node, EState *estate, int flags)
{
	struct aggregate_state *state = (struct aggregate_state *)node;
	ListCell *cell;

	foreach (cell, state->query.dimensions != NIL ? castNode(CustomScan, node->ss.ps.plan)->custom_plans : NIL)
		node->custom_ps = lappend(node->custom_ps, ExecInitNode(lfirst(cell), estate, flags));
	if (!(flags & EXEC_FLAG_EXPLAIN_ONLY))
		state->answer = answer_begin(&state->query, &node->ss.ps);
}

static TupleTableSlot *next(CustomScanState *node)
{
	struct aggregate_state *state = (struct aggregate_state *)node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (!answer_next(state->answer, slot->tts_values, slot->tts_isnull))
		return slot;
	return ExecStoreVirtualTuple(slot);
}

/* Does not use ExecScan(): when a concurrently changed row is checked again (EvalPlanQual), ExecScan() takes a node without a
 * table for a join of such rows. Older servers do so even in a subquery that depends on the row. */
static TupleTableSlot *execute(CustomScanState *node)
{
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	for (;;) {
		TupleTableSlot *slot;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		slot = next(node);
		if (TupIsNull(slot))
			return projection ? ExecClearTuple(projection->pi_state.resultslot) : slot;
		econtext->ecxt_scantuple = slot;
		if (!node->ss.ps.qual || ExecQual(node->ss.ps.qual, econtext))
			return projection ? ExecProject(projection) : slot;
		InstrCountFiltered1(node, 1);
	}
}

static void rescan(CustomScanState *node)
{
	struct aggregate_state *state = (struct aggregate_state *)node;

	ListCell *cell;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	foreach (cell, node->custom_ps) {
		PlanState *dimension = lfirst(cell);

		if (node->ss.ps.chgParam)
			UpdateChangedParamSet(dimension, node->ss.ps.chgParam);
		if (!dimension->chgParam)
			ExecReScan(dimension);
	}
	answer_rescan(state->answer);
}

static void end(CustomScanState *node)
{
	struct aggregate_state *state = (struct aggregate_state *)node;

	ListCell *cell;

	if (state->answer)
		answer_end(state->answer);
	foreach (cell, node->custom_ps)
		ExecEndNode(lfirst(cell));
}

static void explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	struct aggregate_state *state = (struct aggregate_state *)node;

	(void)ancestors;
	ifp_agg_explain_query(&state->query, es);
	if (es->analyze && state->answer) {
		struct ifp_agg_counts counts = answer_counts(state->answer);

		ifp_agg_explain_counts(&state->query, &counts, es);
	}
}

/* ---- registration ---- */

static const CustomExecMethods exec_methods = { .CustomName = "IForestAggregate",
						.BeginCustomScan = begin,
						.ExecCustomScan = execute,
						.EndCustomScan = end,
						.ReScanCustomScan = rescan,
						.ExplainCustomScan = explain };

static Node *create_state(CustomScan *scan)
{
	struct aggregate_state *state = palloc0(sizeof *state);

	NodeSetTag(state, T_CustomScanState);
	state->custom.methods = &exec_methods;
	ifp_index_query_read(&state->query, scan->custom_private);
	return (Node *)state;
}

static const CustomScanMethods scan_methods = { .CustomName = "IForestAggregate", .CreateCustomScanState = create_state };

void ifp_agg_scan_register(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
