#include "sqlite_ext/query/buckets.h"

#include <stddef.h>

#include "core/base/xxh64.h"
#include "core/query/sketch_scan.h"
#include "sqlite_ext/query/series_filter.h"
#include "sqlite_ext/storage/pager.h"

/* ---- Lists of buckets ---- */

static size_t item_bytes(const struct iforest_node_schema *fields)
{
	return sizeof(int64_t) + iforest_aggregate_bytes(fields->n_values, &fields->accumulators);
}

/* Return the bucket and the aggregate of item i. */
static int64_t bucket_list_bucket(const struct ifs_bucket_list *list, const struct iforest_node_schema *fields, size_t i)
{
	return *(int64_t *)(void *)(list->items + i * item_bytes(fields));
}

static struct iforest_aggregate *bucket_list_aggregate(const struct ifs_bucket_list *list,
						       const struct iforest_node_schema *fields, size_t i)
{
	return (struct iforest_aggregate *)(void *)(list->items + i * item_bytes(fields) + sizeof(int64_t));
}

/* Appends a bucket, which must be greater than all others. IFOREST_NO_MEMORY leaves the list unchanged. */
static enum iforest_status bucket_list_append(struct ifs_bucket_list *list, const struct iforest_node_schema *fields,
					      int64_t bucket, const struct iforest_aggregate *aggregate)
{
	if (list->n == list->n_reserved) {
		size_t capacity = list->n_reserved ? 2 * list->n_reserved : 16;
		char *items = sqlite3_realloc64(list->items, capacity * item_bytes(fields));

		if (!items)
			return IFOREST_NO_MEMORY;
		list->items = items;
		list->n_reserved = capacity;
	}
	memcpy(list->items + list->n * item_bytes(fields), &bucket, sizeof bucket);
	memcpy(bucket_list_aggregate(list, fields, list->n), aggregate,
	       iforest_aggregate_bytes(fields->n_values, &fields->accumulators));
	list->n++;
	return IFOREST_OK;
}

static void bucket_list_release(struct ifs_bucket_list *list)
{
	sqlite3_free(list->items);
	*list = (struct ifs_bucket_list){ .items = NULL };
}

/* Adds `from` to `into`; `from` is empty afterwards. On IFOREST_NO_MEMORY both are empty. */
static enum iforest_status bucket_list_merge(struct ifs_bucket_list *into, struct ifs_bucket_list *from,
					     const struct iforest_node_schema *fields)
{
	struct ifs_bucket_list merged = { .items = NULL };
	enum iforest_status status = IFOREST_OK;
	size_t i = 0, k = 0;

	while (!status && (i < into->n || k < from->n)) {
		bool is_first = k == from->n ||
				(i < into->n && bucket_list_bucket(into, fields, i) <= bucket_list_bucket(from, fields, k));
		const struct ifs_bucket_list *list = is_first ? into : from;
		size_t at = is_first ? i++ : k++;
		int64_t bucket = bucket_list_bucket(list, fields, at);

		if (merged.n > 0 && bucket_list_bucket(&merged, fields, merged.n - 1) == bucket)
			iforest_aggregate_combine(bucket_list_aggregate(&merged, fields, merged.n - 1),
						  bucket_list_aggregate(list, fields, at), fields->value_types,
						  fields->n_values, &fields->accumulators);
		else
			status = bucket_list_append(&merged, fields, bucket, bucket_list_aggregate(list, fields, at));
	}
	bucket_list_release(into);
	bucket_list_release(from);
	if (status)
		bucket_list_release(&merged);
	*into = merged;
	return status;
}

/* ---- Series and groups of a query ---- */

static int compare_groups(const struct ifs_bucket_query *query, const struct ifs_series *a, const struct ifs_series *b)
{
	int order = 0;

	for (unsigned k = 0; k < query->n_kept && !order; k++)
		order = ifs_by_compare(&a->values[query->kept[k]], &b->values[query->kept[k]]);
	return order;
}

/* True if the by columns kept are the first of the index, in its order. Then the dictionary is sorted by them already. */
static bool is_prefix(const struct ifs_bucket_query *query)
{
	for (unsigned k = 0; k < query->n_kept; k++)
		if (query->kept[k] != k)
			return false;
	return true;
}

/* Merge sort, because qsort() takes no context: `from` has n members, `scratch` room for as many. */
static void sort_between(const struct ifs_bucket_query *query, const struct ifs_series **from,
			 const struct ifs_series **scratch, uint32_t n)
{
	uint32_t middle = n / 2, left = 0, right = middle;

	if (n < 2)
		return;
	sort_between(query, from, scratch, middle);
	sort_between(query, from + middle, scratch, n - middle);
	for (uint32_t i = 0; i < n; i++) {
		bool take_left = right == n || (left < middle && compare_groups(query, from[left], from[right]) <= 0);

		scratch[i] = take_left ? from[left++] : from[right++];
	}
	memcpy(from, scratch, n * sizeof(struct ifs_series *));
}

static int sort_members(struct ifs_bucket_query *query, struct ifs_error *error)
{
	const struct ifs_series **scratch = sqlite3_malloc64((query->n_members + (size_t)1) * sizeof(struct ifs_series *));

	if (!scratch)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	sort_between(query, query->members, scratch, query->n_members);
	sqlite3_free(scratch);
	return SQLITE_OK;
}

/* Sets the query's members and groups, from the dictionary of its snapshot. argv are the values of the plan's conditions. */
static int choose_series(struct ifs_bucket_query *query, const struct ifs_plan *plan, sqlite3_value **argv,
			 struct ifs_error *error)
{
	struct ifs_by_condition conditions[IFS_MAX_CONDITIONS];

	for (unsigned c = 0; c < plan->n_conditions; c++) {
		conditions[c].op = plan->conditions[c].op;
		conditions[c].by = (int)query->kept[plan->conditions[c].by];
	}
	if (ifs_series_choose(&query->snapshot->dictionary, conditions, plan->n_conditions, argv, &query->members,
			      &query->n_members, error))
		return error->rc;
	query->group_starts = sqlite3_malloc64((query->n_members + (size_t)2) * sizeof *query->group_starts);
	if (!query->group_starts)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	if (!is_prefix(query) && sort_members(query, error))
		return error->rc;
	for (uint32_t m = 0; m < query->n_members; m++)
		if (m == 0 || compare_groups(query, query->members[m - 1], query->members[m]) != 0)
			query->group_starts[query->n_groups++] = m;
	/* without by columns there is one group, even over no series at all */
	if (query->n_kept == 0 && query->n_groups == 0)
		query->group_starts[query->n_groups++] = 0;
	query->group_starts[query->n_groups] = query->n_members;
	return SQLITE_OK;
}

/* ---- Sketches of a row ---- */

/* Sets the range of a series' keys that belong to the row. Entries without a time belong to a row without bounds. */
static void range_of(const struct ifs_bucket_query *query, uint64_t series, struct iforest_key *from, struct iforest_key *to)
{
	const struct iforest_bucketing *bucketing = &query->scan.bucketing;
	const struct iforest_window *window = &bucketing->window;
	int64_t start = iforest_bucket_start(bucketing, query->bucket);
	bool after_all;
	int64_t end = iforest_bucket_end(bucketing, query->bucket, &after_all);

	if (window->has_t0 && start < window->t0)
		start = window->t0;
	if (window->has_t1 && (after_all || end > window->t1)) {
		end = window->t1;
		after_all = false;
	}
	*from = iforest_key_at(series, start);
	*to = after_all ? iforest_key_nulls(series) : iforest_key_at(series, end);
	if (bucketing->mode == IFOREST_WHOLE && !window->has_t0 && !window->has_t1)
		*to = iforest_key_at(series + 1, INT64_MIN);
}

static enum iforest_status add_group(struct ifs_bucket_query *query, unsigned v, struct iforest_digest *sketch)
{
	static const enum ifs_sidecar_table tables[IFOREST_N_DIGESTS] = {
		[IFOREST_DIGEST_QUANTILES] = IFS_SIDECAR_SKETCHES, [IFOREST_DIGEST_DISTINCT] = IFS_SIDECAR_DISTINCTS
	};
	struct ifs_sidecar sidecar;
	enum iforest_status status = IFOREST_OK;

	ifs_sidecar_open(&sidecar, query->index, tables[sketch->kind]);
	for (uint32_t m = query->group_starts[query->group]; m < query->group_starts[query->group + 1] && !status; m++) {
		struct iforest_key from, to;

		range_of(query, query->members[m]->id, &from, &to);
		status = iforest_scan_sketch(&query->scan, &from, &to, v, &sidecar.sidecar, sketch);
	}
	return status;
}

static int make_sketch(struct ifs_bucket_query *query, enum iforest_digest_kind kind, unsigned v, struct ifs_error *error)
{
	struct ifs_bucket_query_sketch *made = &query->sketches[kind][v];
	struct iforest_digest sketch;
	enum iforest_status status;

	/* it reads pages, and a command may have run since the row was read */
	if (ifs_bucket_query_check(query, error))
		return error->rc;
	query->has_sketches = true;
	iforest_digest_init(&sketch, kind, &ifs_alloc);
	status = add_group(query, v, &sketch);
	if (!status && !iforest_digest_is_empty(&sketch))
		status = iforest_digest_write(&sketch, &made->bytes, &made->n_bytes);
	iforest_digest_release(&sketch);
	made->is_made = !status;
	return ifs_snapshot_error(query->index, query->snapshot, status, error);
}

int ifs_bucket_query_sketch(struct ifs_bucket_query *query, enum iforest_digest_kind kind, unsigned v, const uint8_t **bytes,
			    size_t *n_bytes, struct ifs_error *error)
{
	const struct ifs_bucket_query_sketch *sketch = &query->sketches[kind][v];
	int rc = SQLITE_OK;

	if (!sketch->is_made && query->aggregate.n_rows > 0)
		rc = make_sketch(query, kind, v, error);
	*bytes = sketch->bytes;
	*n_bytes = sketch->n_bytes;
	return rc;
}

static void bucket_query_forget_sketches(struct ifs_bucket_query *query)
{
	for (unsigned i = 0; i < IFOREST_N_DIGESTS * IFOREST_MAX_VALUES && query->has_sketches; i++) {
		struct ifs_bucket_query_sketch *sketch = &query->sketches[i / IFOREST_MAX_VALUES][i % IFOREST_MAX_VALUES];

		sqlite3_free(sketch->bytes);
		*sketch = (struct ifs_bucket_query_sketch){ .bytes = NULL };
	}
	query->has_sketches = false;
}

/* ---- Bucket queries ---- */

/* ---- buckets to fill ---- */

/* Sets the range of buckets to return for each group. */
static int limit_fill(struct ifs_bucket_query *query, const struct iforest_bucketing *bucketing, struct ifs_error *error)
{
	const struct iforest_window *window = &bucketing->window;
	int64_t last = bucketing->mode == IFOREST_COUNT ? bucketing->n - 1 : 0;
	enum iforest_status status = IFOREST_OK;

	if (iforest_window_is_empty(window)) {
		query->fill_mode = IFS_FILL_NONE;
		return SQLITE_OK;
	}
	if (bucketing->mode == IFOREST_STEP) {
		status = iforest_bucket_of(bucketing, window->t0, &query->first_filled);
		if (!status)
			status = iforest_bucket_of(bucketing, window->t1 - 1, &last);
	}
	if (status)
		return ifs_error_set(error, SQLITE_ERROR, "%s: a bucket number exceeds 64 bits", query->name);
	query->n_to_fill = (uint64_t)last - (uint64_t)query->first_filled + 1;
	if (query->n_to_fill > IFS_MAX_FILLED)
		return ifs_error_set(error, SQLITE_ERROR, "%s: %s more than %d buckets", query->name,
				     query->is_counter ? "the window has" : "fill would give", IFS_MAX_FILLED);
	return SQLITE_OK;
}

/* ---- rows ---- */

static const struct iforest_node_schema *fields_of(const struct ifs_bucket_query *query)
{
	return &query->snapshot->manifest.fields;
}

enum { MOST_STEPS = 4096 };

/* Called for a bucket or a series that gives SQLite no row, so that a long query can be interrupted. */
static enum iforest_status check_interrupt(struct ifs_bucket_query *query)
{
	if (++query->n_steps < MOST_STEPS)
		return IFOREST_OK;
	query->n_steps = 0;
	return ifs_pager_may_go_on(query->index);
}

/* Starts the buckets of a member, which next_of_member() returns. */
static enum iforest_status start_member(struct ifs_bucket_query *query, uint32_t member)
{
	query->is_swept = ifs_series_sweep_has(&query->sweep, query->members[member]->id);
	query->member = member;
	return query->is_swept ? IFOREST_OK : ifs_parallel_start(&query->parallel, member);
}

static enum iforest_status next_of_member(struct ifs_bucket_query *query, int64_t *bucket, struct iforest_aggregate *aggregate,
					  bool *found)
{
	uint32_t member = query->member;

	if (!query->is_swept)
		return ifs_parallel_next(&query->parallel, bucket, aggregate, found);
	*found = false;
	*bucket = 0;
	query->member = UINT32_MAX; /* a swept series has one bucket */
	return member == UINT32_MAX ? IFOREST_OK
				    : ifs_series_sweep_answer(&query->sweep, query->members[member]->id, aggregate, found);
}

static enum iforest_status list_of_series(struct ifs_bucket_query *query, uint32_t member, struct ifs_bucket_list *list)
{
	enum iforest_status status = start_member(query, member);
	bool found = true;

	while (!status && found) {
		int64_t bucket;

		status = next_of_member(query, &bucket, &query->pending, &found);
		if (!status)
			status = check_interrupt(query);
		if (!status && found && query->is_overlap && list->n == IFS_MAX_OVERLAPPED)
			status = IFOREST_TOO_LARGE;
		if (!status && found)
			status = bucket_list_append(list, fields_of(query), bucket, &query->pending);
	}
	return status;
}

/* Lists of the buckets of a group's series, each of more series than the next, merged like the digits of a counter. */
enum { MAX_STACK = 34 };

struct list_stack {
	struct ifs_bucket_list lists[MAX_STACK];
	uint32_t n_series[MAX_STACK]; /* of each list */
	unsigned depth;
};

/* Merges the last list into the one before it. */
static enum iforest_status merge_last(struct list_stack *stack, const struct iforest_node_schema *fields)
{
	unsigned last = --stack->depth;

	stack->n_series[last - 1] += stack->n_series[last];
	return bucket_list_merge(&stack->lists[last - 1], &stack->lists[last], fields);
}

static enum iforest_status merge_all(struct list_stack *stack, const struct iforest_node_schema *fields)
{
	enum iforest_status status = IFOREST_OK;

	while (stack->depth > 1 && !status)
		status = merge_last(stack, fields);
	return status;
}

/* Keeps the buckets of overlaps in memory within bounds, which spans of several series may share. */
static enum iforest_status limit_overlapped(struct ifs_bucket_query *query, struct list_stack *stack)
{
	enum iforest_status status = IFOREST_OK;
	size_t n = 0;

	for (unsigned d = 0; d < stack->depth; d++)
		n += stack->lists[d].n;
	if (!query->is_overlap || n <= IFS_MAX_OVERLAPPED)
		return IFOREST_OK;
	status = merge_all(stack, fields_of(query));
	return !status && stack->lists[0].n > IFS_MAX_OVERLAPPED ? IFOREST_TOO_LARGE : status;
}

/* Adds up the series of a group. */
static enum iforest_status list_of_group(struct ifs_bucket_query *query, uint32_t from, uint32_t to)
{
	struct list_stack stack = { .depth = 0 };
	enum iforest_status status = IFOREST_OK;

	for (uint32_t m = from; m < to && !status; m++) {
		stack.n_series[stack.depth] = 1;
		status = list_of_series(query, m, &stack.lists[stack.depth++]);
		while (!status && stack.depth > 1 && stack.n_series[stack.depth - 2] == stack.n_series[stack.depth - 1])
			status = merge_last(&stack, fields_of(query));
		if (!status)
			status = limit_overlapped(query, &stack);
	}
	if (!status)
		status = merge_all(&stack, fields_of(query));
	bucket_list_release(&query->list);
	query->list = stack.lists[0];
	for (unsigned d = 1; d < MAX_STACK; d++)
		bucket_list_release(&stack.lists[d]);
	query->at = 0;
	return status;
}

static bool is_single(const struct ifs_bucket_query *query)
{
	return query->group_starts[query->group + 1] - query->group_starts[query->group] == 1;
}

/* Sets *found if any series of the group has a row, in the window or outside. All may have been deleted since the index
 * was built. */
static enum iforest_status has_rows(struct ifs_bucket_query *query, uint32_t from, uint32_t to, bool *found)
{
	struct iforest_request request = query->scan.request;
	enum iforest_status status = IFOREST_OK;
	int64_t bucket;

	*found = false;
	query->scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE };
	query->scan.request = (struct iforest_request){ .filter = ifs_delta_filter(&query->snapshot->delta) };
	query->scan.joined_filter = NULL;
	for (uint32_t m = from; m < to && !status && !*found; m++) {
		status = iforest_scan_start(&query->scan, query->members[m]->id);
		if (!status)
			status = iforest_scan_next(&query->scan, &bucket, &query->pending, found);
	}
	query->scan.bucketing = query->bucketing;
	query->scan.request = request;
	return status;
}

static enum iforest_status open_counter(struct ifs_bucket_query *query, uint32_t from, uint32_t to)
{
	const struct iforest_bucketing *bucketing = &query->bucketing;
	struct iforest_counter_scan *scan = &query->counter_scan;
	bool has_series = from < to; /* not over an empty table without by columns */
	enum iforest_status status = IFOREST_OK;
	int64_t bucket;

	if (has_series)
		status = iforest_counter_scan_turn(scan, query->members[from]->id, bucketing->window.t0, bucketing->window.t1);
	if (status || (has_series && scan->has_begun))
		return status;
	if (!has_series || !scan->has_ahead) {
		query->n_filled = query->n_to_fill;
		return IFOREST_OK;
	}
	/* a counter has no buckets before its first row */
	status = iforest_bucket_of(bucketing, scan->ahead.key.time, &bucket);
	if (!status)
		query->n_filled = (uint64_t)bucket - (uint64_t)query->first_filled;
	return status;
}

/* Opens the group. If it is to be filled but has no rows at all, it has no buckets either. Without by columns there is one
 * series, even over an empty table. */
static enum iforest_status open_group(struct ifs_bucket_query *query)
{
	uint32_t from = query->group_starts[query->group], to = query->group_starts[query->group + 1];
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	query->group_is_open = true;
	query->peak_is_open = false;
	query->has_pending = query->is_exhausted = false;
	query->n_filled = 0;
	if (query->is_counter)
		return open_counter(query, from, to);
	if (query->fill_mode != IFS_FILL_NONE && query->n_kept > 0)
		status = has_rows(query, from, to, &found);
	if (!found)
		query->n_filled = query->n_to_fill;
	if (status)
		return status;
	iforest_fill_turn(&query->fill);
	if (is_single(query))
		return start_member(query, from);
	return list_of_group(query, from, to);
}

/* Returns the next bucket of the open group that has rows. */
static enum iforest_status next_of_group(struct ifs_bucket_query *query, int64_t *bucket, struct iforest_aggregate *aggregate,
					 bool *found)
{
	if (is_single(query))
		return next_of_member(query, bucket, aggregate, found);
	*found = query->at < query->list.n;
	if (!*found)
		return IFOREST_OK;
	*bucket = bucket_list_bucket(&query->list, fields_of(query), query->at);
	memcpy(aggregate, bucket_list_aggregate(&query->list, fields_of(query), query->at),
	       iforest_aggregate_bytes(fields_of(query)->n_values, &fields_of(query)->accumulators));
	query->at++;
	return IFOREST_OK;
}

/* Fills the row's values that are missing. */
static enum iforest_status fill_row(struct ifs_bucket_query *query)
{
	uint32_t from = query->group_starts[query->group], to = query->group_starts[query->group + 1];

	if (!query->fill.is_open)
		return IFOREST_OK;
	return iforest_fill_bucket(&query->fill, query->series + from, to - from, &query->bucketing, query->bucket,
				   &query->aggregate);
}

/* Moves to the next bucket of the open group, with rows or without. */
static enum iforest_status next_filled(struct ifs_bucket_query *query, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = query->n_filled < query->n_to_fill;
	if (!*found)
		return IFOREST_OK;
	if (!query->has_pending && !query->is_exhausted) {
		status = next_of_group(query, &query->pending_bucket, &query->pending, &query->has_pending);
		query->is_exhausted = !query->has_pending;
	}
	query->bucket = query->first_filled + (int64_t)query->n_filled++;
	iforest_aggregate_clear(&query->aggregate, fields_of(query)->n_values, &fields_of(query)->accumulators);
	if (!status && query->has_pending && query->bucket == query->pending_bucket) {
		memcpy(&query->aggregate, &query->pending,
		       iforest_aggregate_bytes(fields_of(query)->n_values, &fields_of(query)->accumulators));
		query->has_pending = false;
	}
	return status ? status : fill_row(query);
}

int ifs_bucket_query_check(struct ifs_bucket_query *query, struct ifs_error *error)
{
	return ifs_snapshot_check_since(query->index, query->snapshot, &query->n_changes, error);
}

/* Moves to the next bucket of the window that does not end before the counter begins. */
static enum iforest_status next_counted(struct ifs_bucket_query *query, bool *found)
{
	const struct iforest_bucketing *bucketing = &query->bucketing;
	enum iforest_status status = IFOREST_OK;

	while (!status && !*found && query->n_filled < query->n_to_fill) {
		int64_t start, end;
		bool after_all;

		query->bucket = query->first_filled + (int64_t)query->n_filled++;
		start = iforest_bucket_start(bucketing, query->bucket);
		end = iforest_bucket_end(bucketing, query->bucket, &after_all);
		if (start < bucketing->window.t0)
			start = bucketing->window.t0;
		if (after_all || end > bucketing->window.t1)
			end = bucketing->window.t1;
		if (start < end)
			status = iforest_counter_scan_bucket(&query->counter_scan, start, end, &query->aggregate, found);
	}
	return status;
}

/* Finds the peak of the row's bucket. */
static enum iforest_status find_peak(struct ifs_bucket_query *query)
{
	uint32_t from = query->group_starts[query->group], to = query->group_starts[query->group + 1];
	enum iforest_status status = IFOREST_OK;

	query->peak = (struct iforest_peak){ .n = 0 };
	if (!query->has_peak || query->aggregate.n_rows == 0)
		return IFOREST_OK;
	if (!query->peak_is_open)
		status = iforest_peak_start(&query->peak_reader, query->series + from, to - from);
	query->peak_is_open = true;
	return status ? status : iforest_peak_of_bucket(&query->peak_reader, query->bucket, &query->peak);
}

/* Opens the sweep before the first row: iforest_cover reads the scan instead. */
static enum iforest_status begin(struct ifs_bucket_query *query)
{
	enum iforest_status status;

	query->has_begun = true;
	if (query->is_overlap || query->is_counter || query->fill_mode != IFS_FILL_NONE)
		return IFOREST_OK;
	status = ifs_series_sweep_open(&query->sweep, query->index, query->snapshot, &query->scan, query->members,
				       query->n_members);
	query->parallel.first_id = query->sweep.end;
	query->is_sweep_alone = query->sweep.end == UINT32_MAX && query->n_groups == query->n_members;
	return status;
}

/* Moves to the next group that has rows, where each is one swept series. */
static enum iforest_status next_swept(struct ifs_bucket_query *query, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	query->group += query->group_is_open;
	query->group_is_open = true;
	while (!status && query->group < query->n_groups) {
		status = ifs_series_sweep_answer(&query->sweep, query->members[query->group]->id, &query->aggregate, found);
		if (status || *found)
			return status;
		query->group++;
		status = check_interrupt(query);
	}
	return status;
}

/* Moves to the next row of the open group, or of one after it. */
static enum iforest_status next_of_groups(struct ifs_bucket_query *query, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	while (!status && !*found && query->group < query->n_groups) {
		if (!query->group_is_open)
			status = open_group(query);
		if (!status && query->is_counter)
			status = next_counted(query, found);
		else if (!status && query->fill_mode != IFS_FILL_NONE)
			status = next_filled(query, found);
		else if (!status)
			status = next_of_group(query, &query->bucket, &query->aggregate, found);
		if (!status && !*found) {
			query->group++;
			query->group_is_open = false;
			status = check_interrupt(query);
		}
	}
	return status;
}

int ifs_bucket_query_next(struct ifs_bucket_query *query, bool *at_end, struct ifs_error *error)
{
	enum iforest_status status = IFOREST_OK;
	bool found = false;

	bucket_query_forget_sketches(query);
	if (ifs_bucket_query_check(query, error))
		return error->rc;
	if (!query->has_begun)
		status = begin(query);
	if (!status)
		status = query->is_sweep_alone ? next_swept(query, &found) : next_of_groups(query, &found);
	if (!status && found)
		status = find_peak(query);
	*at_end = !found;
	if (!status)
		return SQLITE_OK;
	if (status == IFOREST_TOO_LARGE)
		return ifs_error_set(error, SQLITE_ERROR, "%s: spans of several series overlap more than %d buckets",
				     query->name, IFS_MAX_OVERLAPPED);
	if (status == IFOREST_RANGE)
		return ifs_error_set(error, SQLITE_ERROR, "%s: a bucket number exceeds 64 bits", query->name);
	return ifs_snapshot_error(query->index, query->snapshot, status, error);
}

sqlite3_int64 ifs_bucket_query_rowid(const struct ifs_bucket_query *query)
{
	const struct iforest_bucketing *bucketing = &query->bucketing;
	const struct iforest_window *window = &bucketing->window;
	uint32_t from = query->group_starts[query->group];
	uint64_t parts[] = {
		from < query->n_members ? query->members[from]->id : UINT64_MAX,
		(uint64_t)query->bucket,
		bucketing->mode,
		window->has_t0,
		window->has_t1,
		(uint64_t)window->t0,
		(uint64_t)window->t1,
		(uint64_t)bucketing->n,
		(uint64_t)bucketing->step,
		(uint64_t)bucketing->origin,
		query->fill_mode,
	};

	return (sqlite3_int64)iforest_xxh64((const uint8_t *)parts, sizeof parts);
}

/* Opens the scan over the stored runs and those of the delta. */
static int open_scan(struct ifs_bucket_query *query, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot = query->snapshot;
	enum iforest_status status = iforest_scan_init(&query->scan, &query->index->store, &snapshot->manifest);

	query->has_scan = !status;
	if (!status)
		status = iforest_scan_join_memtable(&query->scan, &snapshot->delta.memtable);
	return ifs_snapshot_error(query->index, snapshot, status, error);
}

static int start_overlap(struct ifs_bucket_query *query, const struct ifs_plan *plan, struct ifs_error *error)
{
	enum iforest_status status;

	if (query->fill_mode >= IFS_FILL_LAST)
		return ifs_error_set(error, SQLITE_ERROR, "%s: fill of overlaps is one of 'none', 'null', 'zero'", query->name);
	status = iforest_overlap_init(&query->overlap, &query->scan);
	query->has_overlap = true;
	query->overlap.bucketing = query->bucketing;
	query->overlap.filter = ifs_delta_filter(&query->snapshot->delta);
	if (query->snapshot->times.kind == IFS_TIMES_REAL)
		query->overlap.real_duration = query->index->definition.duration_value;
	query->overlap.wants_inside = plan->request.values != 0;
	query->overlap.wants_longest = plan->request.no_maxs != UINT32_MAX;
	query->overlap.longest_alone = plan->request.extremes_alone;
	return ifs_snapshot_error(query->index, query->snapshot, status, error);
}

/* Lists the ids of the chosen series. */
static int list_ids(struct ifs_bucket_query *query, struct ifs_error *error)
{
	query->series = sqlite3_malloc64((query->n_members + (size_t)1) * sizeof *query->series);
	if (!query->series)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	for (uint32_t m = 0; m < query->n_members; m++)
		query->series[m] = query->members[m]->id;
	return SQLITE_OK;
}

static int start_peak(struct ifs_bucket_query *query, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot = query->snapshot;
	enum iforest_status status = iforest_peak_init(&query->peak_reader, &query->index->store, &snapshot->manifest);

	if (!status)
		status = iforest_peak_join(&query->peak_reader, &snapshot->delta.memtable.store,
					   &snapshot->delta.memtable.manifest);
	query->has_peak = true;
	query->peak_reader.bucketing = query->bucketing;
	query->peak_reader.filter = ifs_delta_filter(&snapshot->delta);
	return ifs_snapshot_error(query->index, snapshot, status, error);
}

/* Starts fill = 'last' or 'linear' for the chosen series. They need the count of each value, also if only first and last of a
 * column are requested. */
static int start_fill(struct ifs_bucket_query *query, struct ifs_error *error)
{
	enum iforest_fill_mode mode = query->fill_mode == IFS_FILL_LINEAR ? IFOREST_FILL_LINEAR : IFOREST_FILL_LAST;
	struct ifs_snapshot *snapshot = query->snapshot;
	struct iforest_request *request = &query->scan.request;
	enum iforest_status status;

	request->values |= request->firsts | request->lasts;
	status = iforest_fill_init(&query->fill, mode, request->values, &query->scan, &snapshot->delta.memtable.store,
				   &snapshot->delta.memtable.manifest);
	return ifs_snapshot_error(query->index, snapshot, status, error);
}

static int start_counter(struct ifs_bucket_query *query, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot = query->snapshot;
	const struct iforest_request *request = &query->scan.request;
	enum iforest_status status =
		iforest_counter_scan_start(&query->counter_scan, request->values, request->filter, &query->index->store,
					   &snapshot->manifest, &snapshot->delta.memtable.store,
					   &snapshot->delta.memtable.manifest);

	ifs_sidecar_open(&query->counter_sidecar, query->index, IFS_SIDECAR_COUNTERS);
	if (!status)
		status = iforest_counter_scan_use(&query->counter_scan, &query->counter_sidecar.sidecar,
						  ifs_sidecar_values(&query->index->definition, IFS_SIDECAR_COUNTERS));
	return ifs_snapshot_error(query->index, snapshot, status, error);
}

int ifs_bucket_query_start(struct ifs_bucket_query *query, struct ifs_index *index, const struct ifs_definition *definition,
			   const unsigned *kept, const struct ifs_plan *plan, sqlite3_value **argv, struct ifs_error *error)
{
	struct ifs_arguments arguments;
	unsigned n_arguments = iforest_popcount(plan->arguments);
	int rc;

	memset(query, 0, offsetof(struct ifs_bucket_query, aggregate));
	query->name = plan->name;
	query->index = index;
	query->n_changes = index->connection->n_changes;
	query->n_kept = definition->n_by;
	query->is_overlap = definition->is_overlap;
	query->is_counter = definition->is_counter;
	memcpy(query->kept, kept, definition->n_by * sizeof *kept);
	rc = ifs_snapshot_open(index, &query->snapshot, error);
	if (!rc)
		rc = ifs_arguments_read(&query->snapshot->times, plan->name, plan->arguments, argv, &arguments, error);
	if (rc || arguments.has_null)
		return rc;
	query->fill_mode = arguments.fill;
	if (query->is_counter && !(arguments.is_given[IFS_ARGUMENT_T0] && arguments.is_given[IFS_ARGUMENT_T1]))
		return ifs_error_set(error, SQLITE_ERROR, "%s: a counter needs both t0 and t1", plan->name);
	rc = open_scan(query, error);
	if (rc)
		return rc;
	query->bucketing = query->scan.bucketing = ifs_arguments_bucketing(&arguments);
	query->scan.request = plan->request;
	if (query->fill_mode >= IFS_FILL_LAST) /* it needs to know whether a bucket has values */
		query->scan.request.extremes_alone = false;
	query->scan.request.filter = ifs_delta_filter(&query->snapshot->delta);
	if (query->is_overlap)
		rc = start_overlap(query, plan, error);
	if (!rc && (query->fill_mode != IFS_FILL_NONE || query->is_counter))
		rc = limit_fill(query, &query->bucketing, error);
	if (!rc && query->is_counter)
		rc = start_counter(query, error);
	if (!rc)
		rc = choose_series(query, plan, argv + n_arguments, error);
	if (!rc && (query->fill_mode >= IFS_FILL_LAST || plan->wants_peak))
		rc = list_ids(query, error);
	if (!rc && query->fill_mode >= IFS_FILL_LAST)
		rc = start_fill(query, error);
	if (!rc && plan->wants_peak)
		rc = start_peak(query, error);
	if (!rc && !query->is_counter)
		ifs_parallel_open(&query->parallel, index, query->snapshot, &query->scan,
				  query->is_overlap ? &query->overlap : NULL, query->members, query->n_members);
	return rc;
}

void ifs_bucket_query_release(struct ifs_bucket_query *query)
{
	if (!query->index)
		return;
	ifs_parallel_close(&query->parallel);
	ifs_series_sweep_release(&query->sweep);
	if (query->has_overlap)
		iforest_overlap_release(&query->overlap);
	if (query->has_scan)
		iforest_scan_release(&query->scan);
	iforest_fill_release(&query->fill);
	iforest_peak_release(&query->peak_reader);
	iforest_counter_scan_release(&query->counter_scan);
	ifs_snapshot_release(query->snapshot);
	sqlite3_free(query->members);
	sqlite3_free(query->group_starts);
	sqlite3_free(query->series);
	bucket_list_release(&query->list);
	bucket_query_forget_sketches(query);
	query->index = NULL;
}
