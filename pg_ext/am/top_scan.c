#include "pg_ext/am/index_scan.h"
#include "pg_ext/am/am_index_scan_own.h"

#include "pgstat.h"
#include "utils/memutils.h"

/* ---- the order ---- */

static const struct iforest_fields *fields_of(const struct iforest_index_scan *scan)
{
	return &scan->index->manifest.fields;
}

static bool is_null(const struct iforest_index_scan *scan, const struct iforest_entry *entry)
{
	return scan->order.by_value && !(entry->present >> scan->order.value & 1);
}

static struct iforest_row row_of(const struct iforest_index_scan *scan, const struct iforest_entry *entry)
{
	bool has_value = scan->order.by_value && !is_null(scan, entry);

	return (struct iforest_row){ .value = has_value ? entry->values[scan->order.value] : (union iforest_number){ 0 },
				     .time = entry->key.time, .ref = entry->key.ref, .time_is_null = entry->key.time_is_null,
				     .is_set = true };
}

/* Equal values come by time and then by place in the table, as core/query/top_k.h has them. */
static int compare_entries(const void *left, const void *right, void *context)
{
	const struct iforest_index_scan *scan = context;
	const struct iforest_entry *a = left, *b = right;
	struct iforest_row row_a = row_of(scan, a), row_b = row_of(scan, b);
	int order = 0;

	if (is_null(scan, a) != is_null(scan, b))
		return is_null(scan, a) == scan->order.nulls_first ? -1 : 1;
	if (scan->order.by_value && !is_null(scan, a))
		order = iforest_number_compare(row_a.value, row_b.value, fields_of(scan)->kinds[scan->order.value]);
	if (order)
		return scan->order.descends ? -order : order;
	return iforest_row_compare(&row_a, &row_b);
}

static bool wants_part(const struct iforest_index_scan *scan, bool of_nulls)
{
	return of_nulls ? scan->order.has_nulls : scan->order.has_values;
}

/* ---- what is pending ---- */

static bool is_wanted(void *context, const struct iforest_entry *entry)
{
	return wants_part(context, is_null(context, entry));
}

static bool is_chosen(void *context, const struct iforest_key *key)
{
	const struct iforest_index_scan *scan = context;
	uint32 id = (uint32)key->series;

	return iforest_scan_keys_hold(&scan->keys, key) &&
	       bsearch(&id, scan->keys.series, scan->keys.n_series, sizeof id, iforest_compare_series);
}

/* The pending entries that come after the last one given. False: the index has to be read again. */
static bool read_pending(struct iforest_index_scan *scan)
{
	struct iforest_top_scan *top = &scan->top;
	MemoryContext before = MemoryContextSwitchTo(scan->key_context);
	bool is_read;

	if (top->pending.entries)
		pfree(top->pending.entries);
	is_read = iforest_pending_rows_read(scan->index, is_chosen, scan, &top->pending);
	iforest_pending_rows_keep(&top->pending, is_wanted, scan);
	MemoryContextSwitchTo(before);
	qsort_arg(top->pending.entries, top->pending.n, sizeof *top->pending.entries, compare_entries, scan);
	for (top->at = 0; top->has_last && top->at < top->pending.n; top->at++)
		if (compare_entries(&top->pending.entries[top->at], &top->last, scan) > 0)
			break;
	return is_read;
}

/* ---- the runs ---- */

static void narrow_value(const struct iforest_index_scan *scan, const struct iforest_top_bound *bound,
			 struct iforest_match *match)
{
	uint8 value = scan->order.value;
	enum iforest_value_kind kind = (enum iforest_value_kind)fields_of(scan)->kinds[value];
	union iforest_number number = iforest_value_from_datum(scan->index->relation, &scan->definition, value, bound->datum);

	if (bound->kind == IFOREST_TOP_LOW)
		iforest_match_at_least(match, value, number, kind);
	else
		iforest_match_at_most(match, value, number, kind);
}

/* Spans that start at the time itself are let through either way. */
static void narrow_reach(const struct iforest_index_scan *scan, const struct iforest_top_bound *bound,
			 struct iforest_match *match)
{
	int64 time = iforest_time_from_datum(&scan->definition, bound->datum);

	if (bound->kind == IFOREST_TOP_REACHES && time > PG_INT64_MIN)
		time--;
	match->reach = match->has_reach ? Max(match->reach, time) : time;
	match->has_reach = true;
}

static void narrow(const struct iforest_index_scan *scan, bool of_nulls, struct iforest_match *match)
{
	for (int i = 0; i < scan->order.n_bounds; i++) {
		const struct iforest_top_bound *bound = &scan->order.bounds[i];

		if (bound->kind == IFOREST_TOP_REACHES || bound->kind == IFOREST_TOP_REACHES_BEYOND)
			narrow_reach(scan, bound, match);
		else if (!of_nulls)
			narrow_value(scan, bound, match);
	}
}

/* Starts the part of the entries whose value is NULL, or the other one, after the last one given if that is of this part. */
static enum iforest_status start_part(struct iforest_index_scan *scan, bool of_nulls)
{
	struct iforest_top_scan *top = &scan->top;
	const struct iforest_scan_keys *keys = &scan->keys;
	uint32 bit = 1u << scan->order.value;
	int64 high = keys->n_ranges > 0 ? keys->ranges[keys->n_ranges - 1].high : INT64_MAX;
	struct iforest_best_question question = {
		.value = scan->order.value, .series = keys->series, .n_series = keys->n_series,
		.from = keys->n_ranges > 0 ? iforest_key_at(0, keys->ranges[0].low) : iforest_key_nulls(0),
		.to = high < INT64_MAX ? iforest_key_at(0, high + 1) : iforest_key_nulls(0),
	};

	if (keys->has_nulls)
		question.to = iforest_key_at(1, INT64_MIN);
	if (scan->order.by_value && !of_nulls) {
		question.order = scan->order.descends ? IFOREST_LARGEST_FIRST : IFOREST_SMALLEST_FIRST;
		question.values = bit;
	} else {
		question.order = IFOREST_EARLIEST_FIRST;
		question.match.nulls = of_nulls ? bit : 0;
	}
	narrow(scan, of_nulls, &question.match);
	if (top->has_last && is_null(scan, &top->last) == of_nulls)
		question.after = row_of(scan, &top->last);
	top->best_is_of_nulls = of_nulls;
	return iforest_best_start(&top->best, &question);
}

/* The part after the one that has come to its end, if it is wanted. */
static enum iforest_status next_part(struct iforest_index_scan *scan)
{
	bool of_nulls = !scan->top.best_is_of_nulls;

	scan->top.best_is_done = of_nulls == scan->order.nulls_first || !wants_part(scan, of_nulls);
	return scan->top.best_is_done ? IFOREST_OK : start_part(scan, of_nulls);
}

static enum iforest_status open_runs(struct iforest_index_scan *scan)
{
	struct iforest_top_scan *top = &scan->top;
	enum iforest_status status = iforest_best_init(&top->best, &scan->index->store, &scan->index->manifest);
	bool in_nulls = scan->order.nulls_first;

	top->best_is_open = !status;
	top->has_ahead = false;
	if ((top->has_last && is_null(scan, &top->last) != in_nulls) || !wants_part(scan, in_nulls))
		in_nulls = !in_nulls;
	top->best_is_done =
		(scan->keys.n_ranges == 0 && !scan->keys.has_nulls) || scan->keys.n_series == 0 || !wants_part(scan, in_nulls);
	return status || top->best_is_done ? status : start_part(scan, in_nulls);
}

/* The next entry of the runs, if there is one. */
static enum iforest_status look_ahead(struct iforest_index_scan *scan)
{
	struct iforest_top_scan *top = &scan->top;
	enum iforest_status status = IFOREST_OK;

	while (!status && !top->has_ahead && !top->best_is_done) {
		bool found;

		status = iforest_best_next(&top->best, &top->ahead, &found);
		if (!status && found)
			top->has_ahead = iforest_scan_keys_hold(&scan->keys, &top->ahead.key);
		else if (!status)
			status = next_part(scan);
	}
	return status;
}

static void close_runs(struct iforest_index_scan *scan)
{
	if (scan->top.best_is_open)
		iforest_best_release(&scan->top.best);
	scan->top.best_is_open = false;
}

/* ---- both ---- */

/* Where a run was merged away under the scan, or a chain of pending pages sealed, all is read again: the entries are elsewhere
 * by now, or were of dead rows. */
static enum iforest_status open_scan(struct iforest_index_scan *scan, bool again)
{
	for (int n = 0;; n++) {
		if (again || scan->index->met_foreign_page) {
			close_runs(scan);
			iforest_scan_read_index(scan);
		}
		if (read_pending(scan))
			return open_runs(scan);
		if (n == IFOREST_MOST_RESTARTS)
			return IFOREST_CORRUPT;
	}
}

static void begin(IndexScanDesc scan_desc)
{
	struct iforest_index_scan *scan = scan_desc->opaque;
	enum iforest_status status;
	MemoryContext before;

	pgstat_count_index_scan(scan_desc->indexRelation);
	iforest_scan_begin_keys(scan_desc, false);
	before = MemoryContextSwitchTo(scan->run_context);
	status = open_scan(scan, false);
	MemoryContextSwitchTo(before);
	iforest_index_require(scan->index, status);
	scan->top.is_open = true;
}

bool iforest_top_next(IndexScanDesc scan_desc, struct iforest_key *key)
{
	struct iforest_index_scan *scan = scan_desc->opaque;
	struct iforest_top_scan *top = &scan->top;
	enum iforest_status status;
	MemoryContext before;

	if (!top->is_open)
		begin(scan_desc);
	before = MemoryContextSwitchTo(scan->run_context);
	status = look_ahead(scan);
	for (int n = 0; status && scan->index->met_foreign_page && n < IFOREST_MOST_RESTARTS; n++) {
		status = open_scan(scan, true);
		if (!status)
			status = look_ahead(scan);
	}
	MemoryContextSwitchTo(before);
	iforest_index_require(scan->index, status);
	top->has_last = top->has_ahead || top->at < top->pending.n;
	if (!top->has_last)
		return false;
	if (top->has_ahead &&
	    (top->at == top->pending.n || compare_entries(&top->ahead, &top->pending.entries[top->at], scan) < 0)) {
		top->last = top->ahead;
		top->has_ahead = false;
	} else {
		top->last = top->pending.entries[top->at++];
	}
	*key = top->last.key;
	return true;
}

void iforest_top_rescan(struct iforest_index_scan *scan)
{
	close_runs(scan);
	scan->top = (struct iforest_top_scan){ .is_open = false };
}
