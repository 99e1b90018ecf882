#include "pg_ext/exec/answer_internal.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* ---- a bucket ---- */

static void set_time(const struct iforest_answer *answer, bool is_null, int64 time)
{
	int column = iforest_time_attribute(answer->question) - 1;

	answer->row->tts_isnull[column] = is_null;
	answer->row->tts_values[column] = is_null ? (Datum)0 : iforest_time_to_datum(&answer->definition, time);
}

/* Adds the fold of a bucket to the group of the row. */
static enum iforest_status add_bucket(struct iforest_answer_reader *reader, const struct iforest_bucket_range *range,
				      bool has_time, int64 time)
{
	struct iforest_answer *answer = reader->answer;
	bytea *sketches[IFOREST_MAX_VALUES];
	enum iforest_status status = IFOREST_OK;

	if (reader->fold->n_rows == 0)
		return IFOREST_OK;
	set_time(answer, !has_time, time);
	if (iforest_answer_holds(answer, answer->late)) {
		status = iforest_answer_sketches(reader, range, sketches);
		if (!status)
			iforest_measures_add(answer->measures, iforest_groups_find(answer->groups), reader->fold, sketches,
					     has_time, answer->attempt);
		for (unsigned v = 0; v < IFOREST_MAX_VALUES && !status; v++)
			if (sketches[v])
				pfree(sketches[v]);
		answer->counts.n_buckets++;
	}
	ResetExprContext(answer->econtext);
	return status;
}

static void clear_fold(struct iforest_answer_reader *reader)
{
	iforest_aggregate_clear(reader->fold, reader->read.index.manifest.fields.n_values);
}

/* ---- a range of a series ---- */

static enum iforest_status earliest(struct iforest_answer_reader *reader, uint64 series, uint32 *pending, int64 high,
				    int64 *time, bool *found)
{
	const struct iforest_pending_rows *rows = &reader->read.pending;
	enum iforest_status status = iforest_scan_earliest(&reader->read.scan, time, found);
	const struct iforest_key *key = *pending < rows->n ? &rows->entries[*pending].key : NULL;

	if (!status && key && key->series == series && !key->time_is_null && key->time <= high &&
	    (!*found || key->time < *time)) {
		*time = key->time;
		*found = true;
	}
	return status;
}

static struct iforest_key key_after(uint64 series, int64 time)
{
	return time == PG_INT64_MAX ? iforest_key_nulls(series) : iforest_key_at(series, time + 1);
}

/* Passes the entries up to a time, adding them if they are wanted. */
static enum iforest_status pass(struct iforest_answer_reader *reader, uint64 series, uint32 *pending, int64 through,
				bool is_wanted)
{
	static const struct iforest_wanted nothing = { .values = 0 };
	struct iforest_key after = key_after(series, through);
	uint32 end = iforest_pending_rows_find(&reader->read.pending, &after);
	enum iforest_status status;

	status = iforest_scan_through(&reader->read.scan, through, is_wanted ? &reader->wanted : &nothing, reader->fold);
	if (!status && is_wanted)
		iforest_pending_rows_fold(&reader->read.pending, *pending, end, &reader->read.index.manifest.fields,
					  reader->fold);
	*pending = Max(*pending, end);
	return status;
}

/* The last time of the series in the range; false if there is none. */
static enum iforest_status find_last(struct iforest_answer_reader *reader, uint64 series,
				     const struct iforest_time_range *range, int64 *last, bool *found)
{
	struct iforest_time_keys times = iforest_time_keys(&reader->answer->definition);
	int64 high = Min(range->high, times.highest_finite);
	struct iforest_key end = key_after(series, high);
	uint32 at = iforest_pending_rows_find(&reader->read.pending, &end);
	enum iforest_status status = iforest_scan_latest(&reader->read.scan, series, high, last, found);

	if (!status && at > 0 && reader->read.pending.entries[at - 1].key.series == series &&
	    !reader->read.pending.entries[at - 1].key.time_is_null &&
	    (!*found || reader->read.pending.entries[at - 1].key.time > *last)) {
		*last = reader->read.pending.entries[at - 1].key.time;
		*found = true;
	}
	return status;
}

/* Raises what a condition raised for a time, or for the series, now that it is known whether there are rows that all others let
 * pass. */
static void raise_late(const struct iforest_answer_reader *reader, ErrorData *error, bool has_time, int64 time)
{
	if (!error)
		error = reader->series_error;
	if (!error)
		error = iforest_value_ranges_error(reader->answer->values);
	if (!error || reader->fold->n_rows == 0)
		return;
	set_time(reader->answer, !has_time, time);
	if (iforest_answer_holds(reader->answer, reader->answer->late))
		ReThrowError(error);
}

static enum iforest_status read_range(struct iforest_answer_reader *reader, uint64 series,
				      const struct iforest_time_range *range)
{
	struct iforest_answer *answer = reader->answer;
	struct iforest_key from = iforest_key_at(series, range->low);
	uint32 pending = iforest_pending_rows_find(&reader->read.pending, &from);
	bool is_one = iforest_buckets_is_one(answer->ranges) && iforest_buckets_is_one(answer->buckets), found = true;
	int64 last = range->high, time, range_end = PG_INT64_MIN;
	bool in_range = true, has_range = false;
	ErrorData *error = NULL;
	enum iforest_status status = IFOREST_OK;

	reader->read.scan.bucketing.window = (struct iforest_window){ .has_t0 = range->low != PG_INT64_MIN, .t0 = range->low,
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
		status = iforest_scan_start(&reader->read.scan, series);
	while (!status && !(status = earliest(reader, series, &pending, range->high, &time, &found)) && found) {
		struct iforest_bucket_range bucket = { .from = iforest_key_at(series, time), .pending = pending };
		int64 end;

		CHECK_FOR_INTERRUPTS();
		if (!has_range || time > range_end) {
			if (error)
				FreeErrorData(error);
			range_end = iforest_buckets_end(answer->ranges, time);
			set_time(answer, false, time);
			in_range = iforest_answer_holds_softly(answer, answer->runs, answer->n_runs, &error);
			ResetExprContext(answer->econtext);
			has_range = true;
		}
		end = in_range ? Min(iforest_buckets_end(answer->buckets, time), range_end) : range_end;
		end = Min(end, range->high);
		clear_fold(reader);
		status = pass(reader, series, &pending, end, in_range);
		raise_late(reader, error, true, time);
		bucket.to = key_after(series, end);
		bucket.pending_end = pending;
		if (!status && in_range)
			status = add_bucket(reader, &bucket, true, time);
	}
	return status;
}

static enum iforest_status read_nulls(struct iforest_answer_reader *reader, uint64 series)
{
	struct iforest_answer *answer = reader->answer;
	struct iforest_bucket_range bucket = { .from = iforest_key_nulls(series),
					       .to = iforest_key_at(series + 1, PG_INT64_MIN) };
	struct iforest_wanted timeless = reader->wanted;
	ErrorData *error;
	enum iforest_status status;

	timeless.times = false;
	reader->read.scan.bucketing.window = (struct iforest_window){ .has_t0 = false };
	status = iforest_scan_start(&reader->read.scan, series);
	clear_fold(reader);
	if (!status)
		status = iforest_scan_nulls(&reader->read.scan, &timeless, reader->fold);
	if (status)
		return status;
	bucket.pending = iforest_pending_rows_find(&reader->read.pending, &bucket.from);
	bucket.pending_end = iforest_pending_rows_find(&reader->read.pending, &bucket.to);
	iforest_pending_rows_fold(&reader->read.pending, bucket.pending, bucket.pending_end,
				  &reader->read.index.manifest.fields, reader->fold);
	set_time(answer, true, 0);
	if (reader->fold->n_rows > 0 && iforest_answer_holds_softly(answer, answer->runs, answer->n_runs, &error)) {
		raise_late(reader, error, false, 0);
		status = add_bucket(reader, &bucket, false, 0);
	}
	return status;
}

/* ---- all series ---- */

enum iforest_status iforest_answer_series(struct iforest_answer_reader *reader, uint32 i)
{
	struct iforest_answer *answer = reader->answer;
	uint32 id = reader->read.keys.series[i];
	enum iforest_status status = IFOREST_OK;

	if (answer->definition.n_by > 0) {
		MemoryContext before = MemoryContextSwitchTo(reader->series_context);

		MemoryContextReset(reader->series_context);
		iforest_reader_by(&reader->read, i, answer->row->tts_values, answer->row->tts_isnull);
		MemoryContextSwitchTo(before);
	}
	if (!iforest_answer_holds_softly(answer, answer->series, answer->n_series, &reader->series_error))
		return IFOREST_OK;
	answer->counts.n_series++;
	for (uint32 r = 0; r < reader->read.keys.n_ranges && !status; r++)
		status = read_range(reader, id, &reader->read.keys.ranges[r]);
	if (!status && reader->read.keys.has_nulls)
		status = read_nulls(reader, id);
	return status;
}

enum iforest_status iforest_answer_total(struct iforest_answer_reader *reader)
{
	struct iforest_bucket_range all = { .from = iforest_key_at(0, PG_INT64_MIN), .pending_end = reader->read.pending.n,
					    .to = iforest_key_at((uint64)PG_UINT32_MAX + 1, PG_INT64_MIN) };
	enum iforest_status status;

	clear_fold(reader);
	status = iforest_scan_everything(&reader->read.scan, &reader->wanted, reader->fold);
	if (status)
		return status;
	iforest_pending_rows_fold(&reader->read.pending, 0, reader->read.pending.n, &reader->read.index.manifest.fields,
				  reader->fold);
	raise_late(reader, NULL, false, 0);
	return add_bucket(reader, &all, false, 0);
}
