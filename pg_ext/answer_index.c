#include "pg_ext/answer_internal.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg_ext/locks.h"
#include "pg_ext/pause.h"
#include "pg_ext/pending_rows.h"
#include "pg_ext/series_pages.h"

/* One index being read. */
struct reader {
	struct iforest_answer *answer;
	struct iforest_index index;
	struct iforest_visibility visibility;
	struct iforest_scan_keys keys;
	struct iforest_pending_rows pending;
	struct iforest_scan scan;
	struct iforest_filter filter;
	struct iforest_wanted wanted;
	struct iforest_aggregate *fold;      /* of a bucket */
	const uint32 *sorted_series;         /* ids of keys.series, ascending */
	MemoryContext series_context;        /* by values of the series in hand */
};

/* ---- what counts ---- */

static enum iforest_verdict of_node(void *context, const uint8_t *node)
{
	struct reader *reader = context;
	const struct iforest_fields *fields = &reader->index.manifest.fields;
	enum iforest_verdict verdict = IFOREST_ALL;
	uint32_t lowest, highest;

	if (iforest_value_ranges_exist(reader->answer->values))
		verdict = iforest_value_ranges_of_node(reader->answer->values, node, fields);
	if (verdict == IFOREST_ALL) {
		iforest_node_blocks(node, fields, &lowest, &highest);
		if (!iforest_visibility_of_blocks(&reader->visibility, lowest, highest, iforest_node_rows(node)))
			verdict = IFOREST_SOME;
	}
	return verdict;
}

/* Neighbours in time are so in the heap, as a rule: then the block's rows need not be asked about one by one. */
static bool is_clean(struct reader *reader, const struct iforest_block_reader *block)
{
	int64 low, high;

	return iforest_column_bounds(&block->columns[IFOREST_REFS], block->block.n, &low, &high) && low >= 0 &&
	       iforest_visibility_of_blocks(&reader->visibility, (BlockNumber)(low >> 16),
					    (BlockNumber)Min(high >> 16, MaxBlockNumber), block->block.n);
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *block, uint64_t *live)
{
	struct reader *reader = context;
	enum iforest_status status = IFOREST_OK;

	if (iforest_value_ranges_exist(reader->answer->values))
		status = iforest_value_ranges_of_entries(reader->answer->values, block, live);
	if (!status && *live)
		status = iforest_block_find_column(block, IFOREST_REFS);
	if (status || !*live || is_clean(reader, block))
		return status;
	status = iforest_block_need(block, IFOREST_REFS);
	for (uint64_t left = status ? 0 : *live; left; left &= left - 1) {
		unsigned i = iforest_trailing_zeros(left);

		if (!iforest_visibility_of_row(&reader->visibility, block->block.refs[i]))
			*live &= ~(UINT64_C(1) << i);
	}
	return status;
}

static bool in_ranges(const struct iforest_scan_keys *keys, const struct iforest_key *key)
{
	for (uint32 r = 0; r < keys->n_ranges && !key->time_is_null; r++)
		if (key->time >= keys->ranges[r].low && key->time <= keys->ranges[r].high)
			return true;
	return key->time_is_null && keys->has_nulls;
}

/* Is a pending entry of the series and times asked for? */
static bool is_asked(void *context, const struct iforest_entry *entry)
{
	struct reader *reader = context;
	uint32 id = (uint32)entry->key.series;

	return in_ranges(&reader->keys, &entry->key) &&
	       bsearch(&id, reader->sorted_series, reader->keys.n_series, sizeof id, iforest_compare_series);
}

static bool counts(void *context, const struct iforest_entry *entry)
{
	struct reader *reader = context;

	return iforest_value_ranges_of_entry(reader->answer->values, entry) &&
	       iforest_visibility_of_row(&reader->visibility, entry->key.ref);
}

/* ---- reading what the index is ---- */

/* The conditions on the key, evaluated. False: one is NULL, so nothing passes. */
static bool read_keys(struct reader *reader)
{
	struct iforest_answer *answer = reader->answer;
	ScanKey keys = palloc0((answer->n_keys + 1) * sizeof *keys);
	Relation index = reader->index.relation;

	for (int i = 0; i < answer->n_keys; i++) {
		const struct iforest_key_condition *condition = &answer->keys[i];
		int flags = condition->is_array ? SK_SEARCHARRAY : 0;
		bool is_null = false;
		Datum comparand = (Datum)0;

		if (condition->is_null_test)
			flags = SK_ISNULL | (condition->wants_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
		else
			comparand = ExecEvalExpr(answer->comparands[i], answer->econtext, &is_null);
		if (is_null)
			return false;
		ScanKeyEntryInitializeWithInfo(&keys[i], flags, condition->column,
					       condition->is_null_test
						       ? InvalidStrategy
						       : (StrategyNumber)get_op_opfamily_strategy(
								 condition->function, index->rd_opfamily[condition->column - 1]),
					       condition->right_type, condition->collation, &answer->operators[i], comparand);
	}
	iforest_scan_keys_read(index, &answer->definition, reader->index.meta.index_id, keys, answer->n_keys, false,
			       &reader->keys);
	return true;
}

/* ---- a bucket ---- */

static void require(struct reader *reader, enum iforest_status status)
{
	iforest_index_require(&reader->index, status);
}

static void set_time(const struct iforest_answer *answer, bool is_null, int64 time)
{
	int column = iforest_time_attribute(answer->question) - 1;

	answer->row->tts_isnull[column] = is_null;
	answer->row->tts_values[column] = is_null ? (Datum)0 : iforest_time_to_datum(&answer->definition, time);
}

/* Adds the fold of a bucket to the group of the row. */
static void add_bucket(struct reader *reader, bool has_time, int64 time)
{
	struct iforest_answer *answer = reader->answer;

	if (reader->fold->n_rows == 0)
		return;
	set_time(answer, !has_time, time);
	if (iforest_answer_holds(answer, answer->late)) {
		iforest_measures_add(answer->measures, iforest_groups_find(answer->groups), reader->fold, has_time,
				     answer->attempt);
		answer->counts.n_buckets++;
	}
	ResetExprContext(answer->econtext);
}

static void clear_fold(struct reader *reader)
{
	iforest_aggregate_clear(reader->fold, reader->index.manifest.fields.n_values);
}

/* ---- a range of a series ---- */

static enum iforest_status earliest(struct reader *reader, uint64 series, uint32 *pending, int64 high, int64 *time, bool *found)
{
	const struct iforest_pending_rows *rows = &reader->pending;
	enum iforest_status status = iforest_scan_earliest(&reader->scan, time, found);
	const struct iforest_key *key = *pending < rows->n ? &rows->entries[*pending].key : NULL;

	if (!status && key && key->series == series && !key->time_is_null && key->time <= high &&
	    (!*found || key->time < *time)) {
		*time = key->time;
		*found = true;
	}
	return status;
}

/* Passes the entries up to a time, adding them if they are wanted. */
static enum iforest_status pass(struct reader *reader, uint64 series, uint32 *pending, int64 through, bool is_wanted)
{
	static const struct iforest_wanted nothing = { .values = 0 };
	struct iforest_key after = through == PG_INT64_MAX ? iforest_key_nulls(series) : iforest_key_at(series, through + 1);
	uint32 end = iforest_pending_rows_find(&reader->pending, &after);
	enum iforest_status status;

	status = iforest_scan_through(&reader->scan, through, is_wanted ? &reader->wanted : &nothing, reader->fold);
	if (!status && is_wanted)
		iforest_pending_rows_fold(&reader->pending, *pending, end, &reader->index.manifest.fields, reader->fold);
	*pending = Max(*pending, end);
	return status;
}

/* The last time of the series in the range; false if there is none. */
static enum iforest_status find_last(struct reader *reader, uint64 series, const struct iforest_time_range *range, int64 *last,
				     bool *found)
{
	struct iforest_time_keys times = iforest_time_keys(&reader->answer->definition);
	int64 high = Min(range->high, times.highest_finite);
	struct iforest_key end = high == PG_INT64_MAX ? iforest_key_nulls(series) : iforest_key_at(series, high + 1);
	uint32 at = iforest_pending_rows_find(&reader->pending, &end);
	enum iforest_status status = iforest_scan_latest(&reader->scan, series, high, last, found);

	if (!status && at > 0 && reader->pending.entries[at - 1].key.series == series &&
	    !reader->pending.entries[at - 1].key.time_is_null &&
	    (!*found || reader->pending.entries[at - 1].key.time > *last)) {
		*last = reader->pending.entries[at - 1].key.time;
		*found = true;
	}
	return status;
}

/* Raises what a condition raised for a time, now that it is known whether there are rows. */
static void raise_late(const struct reader *reader, ErrorData *error)
{
	if (error && reader->fold->n_rows > 0)
		ReThrowError(error);
}

static enum iforest_status read_range(struct reader *reader, uint64 series, const struct iforest_time_range *range)
{
	struct iforest_answer *answer = reader->answer;
	struct iforest_key from = iforest_key_at(series, range->low);
	uint32 pending = iforest_pending_rows_find(&reader->pending, &from);
	bool is_one = iforest_buckets_is_one(answer->ranges) && iforest_buckets_is_one(answer->buckets), found = true;
	int64 last = range->high, time, range_end = PG_INT64_MIN;
	bool in_range = true, has_range = false;
	ErrorData *error = NULL;
	enum iforest_status status = IFOREST_OK;

	reader->scan.bucketing.window = (struct iforest_window){ .has_t0 = range->low != PG_INT64_MIN, .t0 = range->low,
								 .has_t1 = range->high != PG_INT64_MAX,
								 .t1 = range->high == PG_INT64_MAX ? 0 : range->high + 1 };
	if (!is_one) {
		status = find_last(reader, series, range, &last, &found);
		if (!found)
			last = range->high;
		iforest_buckets_start(answer->ranges, last);
		iforest_buckets_start(answer->buckets, last);
	}
	if (!status)
		status = iforest_scan_start(&reader->scan, series);
	while (!status && !(status = earliest(reader, series, &pending, range->high, &time, &found)) && found) {
		int64 end;

		CHECK_FOR_INTERRUPTS();
		if (!has_range || time > range_end) {
			range_end = iforest_buckets_end(answer->ranges, time);
			set_time(answer, false, time);
			in_range = iforest_answer_runs_hold(answer, &error);
			ResetExprContext(answer->econtext);
			has_range = true;
		}
		end = in_range ? Min(iforest_buckets_end(answer->buckets, time), range_end) : range_end;
		clear_fold(reader);
		status = pass(reader, series, &pending, Min(end, range->high), in_range);
		raise_late(reader, error);
		if (!status && in_range)
			add_bucket(reader, true, time);
	}
	return status;
}

static enum iforest_status read_nulls(struct reader *reader, uint64 series)
{
	struct iforest_answer *answer = reader->answer;
	struct iforest_key from = iforest_key_nulls(series), end = iforest_key_at(series + 1, PG_INT64_MIN);
	ErrorData *error;
	enum iforest_status status;

	set_time(answer, true, 0);
	if (!iforest_answer_runs_hold(answer, &error))
		return IFOREST_OK;
	reader->scan.bucketing.window = (struct iforest_window){ .has_t0 = false };
	status = iforest_scan_start(&reader->scan, series);
	clear_fold(reader);
	if (!status)
		status = iforest_scan_nulls(&reader->scan, &(struct iforest_wanted){ .values = reader->wanted.values,
										     .no_rows = UINT32_MAX,
										     .filter = reader->wanted.filter },
					    reader->fold);
	if (status)
		return status;
	iforest_pending_rows_fold(&reader->pending, iforest_pending_rows_find(&reader->pending, &from),
				  iforest_pending_rows_find(&reader->pending, &end), &reader->index.manifest.fields, reader->fold);
	raise_late(reader, error);
	add_bucket(reader, false, 0);
	return IFOREST_OK;
}

/* ---- all series ---- */

static enum iforest_status read_series(struct reader *reader, uint32 id)
{
	struct iforest_answer *answer = reader->answer;
	enum iforest_status status = IFOREST_OK;
	uint32 n_bytes;
	const uint8 *key;

	if (answer->definition.n_by > 0) {
		MemoryContext before = MemoryContextSwitchTo(reader->series_context);

		MemoryContextReset(reader->series_context);
		key = iforest_series_key(iforest_series_cache_get(reader->index.meta.index_id), id, &n_bytes);
		iforest_by_read(reader->index.relation, &answer->definition, key, n_bytes, answer->row->tts_values,
				answer->row->tts_isnull);
		MemoryContextSwitchTo(before);
	}
	if (!iforest_answer_holds(answer, answer->series))
		return IFOREST_OK;
	answer->counts.n_series++;
	for (uint32 r = 0; r < reader->keys.n_ranges && !status; r++)
		status = read_range(reader, id, &reader->keys.ranges[r]);
	if (!status && reader->keys.has_nulls)
		status = read_nulls(reader, id);
	return status;
}

/* All entries of all series in one fold. */
static enum iforest_status read_total(struct reader *reader)
{
	enum iforest_status status;

	clear_fold(reader);
	status = iforest_scan_everything(&reader->scan, &reader->wanted, reader->fold);
	if (status)
		return status;
	iforest_pending_rows_fold(&reader->pending, 0, reader->pending.n, &reader->index.manifest.fields, reader->fold);
	add_bucket(reader, false, 0);
	return IFOREST_OK;
}

static enum iforest_status read_index(struct reader *reader)
{
	struct iforest_answer *answer = reader->answer;
	enum iforest_status status = iforest_scan_init(&reader->scan, &reader->index.store, &reader->index.manifest);

	reader->filter = (struct iforest_filter){ .context = reader, .of_node = of_node, .of_entries = of_entries };
	reader->wanted = iforest_measures_wanted(answer->measures);
	reader->wanted.filter = &reader->filter;
	reader->fold = palloc(sizeof *reader->fold);
	if (!status && answer->is_total)
		return read_total(reader);
	for (uint32 i = 0; i < reader->keys.n_series && !status; i++) {
		status = read_series(reader, reader->keys.series[i]);
		iforest_pause("series read");
		ResetExprContext(answer->econtext);
		CHECK_FOR_INTERRUPTS();
	}
	return status;
}

static void count(struct reader *reader)
{
	struct iforest_answer_counts *counts = &reader->answer->counts;

	counts->n_nodes += iforest_scan_nodes(&reader->scan);
	counts->n_pages += iforest_scan_pages(&reader->scan);
	counts->n_leaf_pages += iforest_scan_leaf_pages(&reader->scan);
	counts->n_runs += reader->index.manifest.n_runs;
	counts->n_pending += reader->pending.n_read;
	counts->n_heap_blocks += reader->visibility.n_looks;
}

/* Was nothing removed since the metapage was read, and no page given to somebody else? */
static bool is_unchanged(struct reader *reader)
{
	struct iforest_meta *now = palloc(sizeof *now);
	bool unchanged;

	iforest_meta_read(reader->index.relation, now);
	unchanged = !reader->index.met_foreign_page && now->removal_epoch == reader->index.meta.removal_epoch &&
		    now->index_id == reader->index.meta.index_id;
	pfree(now);
	return unchanged;
}

static bool read_consistently(struct reader *reader, Relation heap, Relation index)
{
	struct iforest_answer *answer = reader->answer;
	enum iforest_status status;
	uint32 *sorted;

	iforest_index_open(&reader->index, index);
	iforest_index_refresh(&reader->index);
	iforest_pause("metapage read");
	/* series come after the manifest: so all that its runs have are known */
	if (!read_keys(reader))
		return true;
	sorted = palloc((reader->keys.n_series + 1) * sizeof *sorted);
	memcpy(sorted, reader->keys.series, reader->keys.n_series * sizeof *sorted);
	qsort(sorted, reader->keys.n_series, sizeof *sorted, iforest_compare_series);
	reader->sorted_series = sorted;
	if (!iforest_pending_rows_read(&reader->index, is_asked, reader, &reader->pending))
		return false;
	iforest_pause("pending read");
	iforest_value_ranges_find(answer->values, &reader->index.manifest, &reader->pending);
	/* only now: an entry read before the map is copied had cleared its block's bit */
	iforest_visibility_begin(&reader->visibility, heap, answer->node->state->es_snapshot, answer->attempt);
	iforest_pending_rows_keep(&reader->pending, counts, reader);
	status = read_index(reader);
	iforest_pause("runs read");
	if (status && !reader->index.met_foreign_page)
		require(reader, status);
	count(reader);
	return is_unchanged(reader);
}

bool iforest_answer_index(struct iforest_answer *answer, Relation heap, Relation index, bool locked)
{
	struct reader *reader = palloc0(sizeof *reader);
	bool done;

	reader->answer = answer;
	reader->series_context = AllocSetContextCreate(answer->attempt, "iforest series", ALLOCSET_SMALL_SIZES);
	if (locked)
		iforest_lock(index, IFOREST_LOCK_MAINTENANCE, ShareLock);
	done = read_consistently(reader, heap, index);
	if (locked)
		iforest_unlock(index, IFOREST_LOCK_MAINTENANCE, ShareLock);
	return done;
}
