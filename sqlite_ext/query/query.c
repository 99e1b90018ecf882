#include "sqlite_ext/query/query_groups.h"

#include "core/base/xxh64.h"
#include "sqlite_ext/storage/pager.h"

#include <stddef.h>

/* ---- what to fill ---- */

/* Which buckets fill speaks of. */
static int limit_fill(struct iforest_query *query, const struct iforest_bucketing *bucketing, struct iforest_error *error)
{
	const struct iforest_window *window = &bucketing->window;
	int64_t last = bucketing->mode == IFOREST_COUNT ? bucketing->n - 1 : 0;
	enum iforest_status status = IFOREST_OK;

	if (iforest_window_is_empty(window)) {
		query->fill = IFOREST_FILL_NONE;
		return SQLITE_OK;
	}
	if (bucketing->mode == IFOREST_STEP) {
		status = iforest_bucket_of(bucketing, window->t0, &query->first_filled);
		if (!status)
			status = iforest_bucket_of(bucketing, window->t1 - 1, &last);
	}
	if (status)
		return iforest_error_set(error, SQLITE_ERROR, "%s: a bucket number exceeds 64 bits", query->name);
	query->n_to_fill = (uint64_t)last - (uint64_t)query->first_filled + 1;
	if (query->n_to_fill > IFOREST_MAX_FILLED)
		return iforest_error_set(error, SQLITE_ERROR, "%s: %s more than %d buckets", query->name,
					 query->is_counter ? "the window has" : "fill would give", IFOREST_MAX_FILLED);
	return SQLITE_OK;
}

/* ---- rows ---- */

static const struct iforest_fields *fields_of(const struct iforest_query *query)
{
	return &query->snapshot->manifest.fields;
}

/* Old keys of pending rows do not count. */
static const struct iforest_filter *filter_of(const struct iforest_query *query)
{
	return query->snapshot->tail.n_removed > 0 ? &query->snapshot->tail.filter : NULL;
}

enum { MOST_STEPS = 4096 };

/* A bucket or a series was passed without a row for SQLite: the program may have interrupted it. */
static enum iforest_status pass(struct iforest_query *query)
{
	if (++query->n_steps < MOST_STEPS)
		return IFOREST_OK;
	query->n_steps = 0;
	return iforest_pager_sqlite_may_go_on(query->index);
}

static enum iforest_status list_of_series(struct iforest_query *query, uint32_t member, struct iforest_bucket_list *list)
{
	enum iforest_status status = iforest_ahead_start(&query->ahead, member);
	bool found = true;

	while (!status && found) {
		int64_t bucket;

		status = iforest_ahead_next(&query->ahead, &bucket, &query->pending, &found);
		if (!status)
			status = pass(query);
		if (!status && found && query->is_overlap && list->n == IFOREST_MAX_OVERLAPPED)
			status = IFOREST_TOO_LARGE;
		if (!status && found)
			status = iforest_bucket_list_append(list, fields_of(query), bucket, &query->pending);
	}
	return status;
}

enum { MAX_STACK = 33 };

/* Adds up the series of a group: a stack of lists, each of more series than the next, merged like the digits of a counter. */
static enum iforest_status list_of_group(struct iforest_query *query, uint32_t from, uint32_t to)
{
	struct iforest_bucket_list stack[MAX_STACK] = { { .items = NULL } };
	unsigned depth = 0;
	enum iforest_status status = IFOREST_OK;

	for (uint32_t m = from; m < to && !status; m++) {
		status = list_of_series(query, m, &stack[depth++]);
		for (uint32_t carry = m - from; carry & 1 && !status; carry >>= 1, depth--)
			status = iforest_bucket_list_merge(&stack[depth - 2], &stack[depth - 1], fields_of(query));
	}
	for (; depth > 1 && !status; depth--)
		status = iforest_bucket_list_merge(&stack[depth - 2], &stack[depth - 1], fields_of(query));
	iforest_bucket_list_release(&query->list);
	query->list = stack[0];
	for (unsigned d = 1; d < MAX_STACK; d++)
		iforest_bucket_list_release(&stack[d]);
	query->at = 0;
	return status;
}

static bool is_single(const struct iforest_query *query)
{
	return query->group_starts[query->group + 1] - query->group_starts[query->group] == 1;
}

/* Has any series of the group a row at all, in the window or outside? All may have been deleted since the index was built. */
static enum iforest_status has_rows(struct iforest_query *query, uint32_t from, uint32_t to, bool *found)
{
	struct iforest_wanted wanted = query->scan.wanted;
	enum iforest_status status = IFOREST_OK;
	int64_t bucket;

	*found = false;
	query->scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE };
	query->scan.wanted = (struct iforest_wanted){ .filter = filter_of(query) };
	query->scan.joined_filter = NULL;
	for (uint32_t m = from; m < to && !status && !*found; m++) {
		status = iforest_scan_start(&query->scan, query->members[m]->id);
		if (!status)
			status = iforest_scan_next(&query->scan, &bucket, &query->pending, found);
	}
	query->scan.bucketing = query->bucketing;
	query->scan.wanted = wanted;
	return status;
}

static enum iforest_status open_counter(struct iforest_query *query, uint32_t from, uint32_t to)
{
	const struct iforest_bucketing *bucketing = &query->bucketing;
	struct iforest_counting *counting = &query->counting;
	bool has_series = from < to; /* not so over an empty table without by columns */
	enum iforest_status status = IFOREST_OK;
	int64_t bucket;

	if (has_series)
		status = iforest_counting_turn(counting, query->members[from]->id, bucketing->window.t0, bucketing->window.t1);
	if (status || (has_series && counting->has_begun))
		return status;
	if (!has_series || !counting->has_ahead) {
		query->n_filled = query->n_to_fill;
		return IFOREST_OK;
	}
	/* buckets before the first row are none of its */
	status = iforest_bucket_of(bucketing, counting->ahead.key.time, &bucket);
	if (!status)
		query->n_filled = (uint64_t)bucket - (uint64_t)query->first_filled;
	return status;
}

/* Opens the group; one that is to be filled, and has no rows at all, has no buckets either. Without by columns there is one
 * series, even over an empty table. */
static enum iforest_status open_group(struct iforest_query *query)
{
	uint32_t from = query->group_starts[query->group], to = query->group_starts[query->group + 1];
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	query->group_is_open = true;
	query->has_pending = query->is_exhausted = false;
	query->n_filled = 0;
	if (query->is_counter)
		return open_counter(query, from, to);
	if (query->fill != IFOREST_FILL_NONE && query->n_kept > 0)
		status = has_rows(query, from, to, &found);
	if (!found)
		query->n_filled = query->n_to_fill;
	if (status)
		return status;
	iforest_carry_turn(&query->carry);
	if (is_single(query))
		return iforest_ahead_start(&query->ahead, from);
	return list_of_group(query, from, to);
}

/* The next bucket of the open group that has rows. */
static enum iforest_status next_of_group(struct iforest_query *query, int64_t *bucket, struct iforest_aggregate *aggregate,
					 bool *found)
{
	if (is_single(query))
		return iforest_ahead_next(&query->ahead, bucket, aggregate, found);
	*found = query->at < query->list.n;
	if (!*found)
		return IFOREST_OK;
	*bucket = iforest_bucket_list_bucket(&query->list, fields_of(query), query->at);
	memcpy(aggregate, iforest_bucket_list_aggregate(&query->list, fields_of(query), query->at),
	       iforest_aggregate_bytes(fields_of(query)->n_values));
	query->at++;
	return IFOREST_OK;
}

/* Values of the row where it has none. */
static enum iforest_status carry(struct iforest_query *query)
{
	uint32_t from = query->group_starts[query->group], to = query->group_starts[query->group + 1];

	if (!query->carry.has_scan)
		return IFOREST_OK;
	return iforest_carry_bucket(&query->carry, query->members + from, to - from, &query->bucketing, query->bucket,
				    &query->aggregate);
}

/* The same, with the buckets between. */
static enum iforest_status next_filled(struct iforest_query *query, bool *found)
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
	iforest_aggregate_clear(&query->aggregate, fields_of(query)->n_values);
	if (!status && query->has_pending && query->bucket == query->pending_bucket) {
		memcpy(&query->aggregate, &query->pending, iforest_aggregate_bytes(fields_of(query)->n_values));
		query->has_pending = false;
	}
	return status ? status : carry(query);
}

int iforest_query_check(struct iforest_query *query, struct iforest_error *error)
{
	if (query->n_changes == query->index->connection->n_changes)
		return SQLITE_OK;
	if (iforest_index_check_snapshot(query->index, query->snapshot, error))
		return error->rc;
	query->n_changes = query->index->connection->n_changes;
	return SQLITE_OK;
}

/* The next bucket of the window that does not end before the counter begins. */
static enum iforest_status next_counted(struct iforest_query *query, bool *found)
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
			status = iforest_counting_bucket(&query->counting, start, end, &query->aggregate, found);
	}
	return status;
}

int iforest_query_next(struct iforest_query *query, struct iforest_error *error)
{
	enum iforest_status status = IFOREST_OK;
	bool found = false;

	iforest_query_forget_sketches(query);
	if (iforest_query_check(query, error))
		return error->rc;
	while (!status && !found && query->group < query->n_groups) {
		if (!query->group_is_open)
			status = open_group(query);
		if (!status && query->is_counter)
			status = next_counted(query, &found);
		else if (!status && query->fill != IFOREST_FILL_NONE)
			status = next_filled(query, &found);
		else if (!status)
			status = next_of_group(query, &query->bucket, &query->aggregate, &found);
		if (!status && !found) {
			query->group++;
			query->group_is_open = false;
			status = pass(query);
		}
	}
	query->at_end = !found;
	if (!status)
		return SQLITE_OK;
	if (status == IFOREST_TOO_LARGE)
		return iforest_error_set(error, SQLITE_ERROR, "%s: spans of several series overlap more than %d buckets",
					 query->name, IFOREST_MAX_OVERLAPPED);
	if (status == IFOREST_RANGE)
		return iforest_error_set(error, SQLITE_ERROR, "%s: a bucket number exceeds 64 bits", query->name);
	return iforest_index_error(query->index, query->snapshot, status, error);
}

sqlite3_int64 iforest_query_rowid(const struct iforest_query *query)
{
	const struct iforest_bucketing *bucketing = &query->bucketing;
	const struct iforest_window *window = &bucketing->window;
	uint32_t from = query->group_starts[query->group];
	uint64_t parts[] = {
		from < query->n_members ? query->members[from]->id : UINT64_MAX, (uint64_t)query->bucket, bucketing->mode,
		window->has_t0, window->has_t1, (uint64_t)window->t0, (uint64_t)window->t1, (uint64_t)bucketing->n,
		(uint64_t)bucketing->step, (uint64_t)bucketing->origin, query->fill,
	};

	return (sqlite3_int64)iforest_checksum64((const uint8_t *)parts, sizeof parts);
}

/* Over the runs of the index and those of what is pending. */
static int open_scan(struct iforest_query *query, struct iforest_error *error)
{
	struct iforest_snapshot *snapshot = query->snapshot;
	enum iforest_status status = iforest_scan_init(&query->scan, &query->index->store, &snapshot->manifest);

	query->has_scan = !status;
	if (!status)
		status = iforest_scan_join(&query->scan, &snapshot->tail.store, &snapshot->tail.manifest);
	return iforest_index_error(query->index, snapshot, status, error);
}

static int start_overlap(struct iforest_query *query, const struct iforest_plan *plan, struct iforest_error *error)
{
	enum iforest_status status;

	if (query->fill >= IFOREST_FILL_LAST)
		return iforest_error_set(error, SQLITE_ERROR, "%s: fill of overlaps is one of 'none', 'null', 'zero'",
					 query->name);
	status = iforest_overlap_init(&query->overlap, &query->scan);
	query->has_overlap = true;
	query->overlap.bucketing = query->bucketing;
	query->overlap.filter = filter_of(query);
	query->overlap.wants_inside = plan->wanted.values != 0;
	query->overlap.wants_longest = plan->wanted.no_maxs != UINT32_MAX;
	query->overlap.longest_alone = plan->wanted.extremes_alone;
	return iforest_index_error(query->index, query->snapshot, status, error);
}

/* A bucket is known to have no value by its count, of columns of which nothing but first and last may be asked. */
static int start_carry(struct iforest_query *query, struct iforest_error *error)
{
	struct iforest_snapshot *snapshot = query->snapshot;
	struct iforest_wanted *wanted = &query->scan.wanted;

	wanted->values |= wanted->firsts | wanted->lasts;
	return iforest_index_error(query->index, snapshot,
				   iforest_carry_start(&query->carry, query->fill, wanted->values, &query->scan,
						       &snapshot->tail.store, &snapshot->tail.manifest),
				   error);
}

static int start_counter(struct iforest_query *query, struct iforest_error *error)
{
	struct iforest_snapshot *snapshot = query->snapshot;
	const struct iforest_wanted *wanted = &query->scan.wanted;
	enum iforest_status status =
		iforest_counting_start(&query->counting, wanted->values, wanted->filter, &query->index->store,
				       &snapshot->manifest, &snapshot->tail.store, &snapshot->tail.manifest);

	iforest_shelf_open(&query->pieces, query->index, IFOREST_SHELF_COUNTERS);
	if (!status)
		status = iforest_counting_use(&query->counting, &query->pieces.shelf,
					      iforest_shelf_values(&query->index->definition, IFOREST_SHELF_COUNTERS));
	return iforest_index_error(query->index, snapshot, status, error);
}

int iforest_query_start(struct iforest_query *query, struct iforest_index *index, const struct iforest_definition *definition,
			const unsigned *kept, const struct iforest_plan *plan, sqlite3_value **argv,
			struct iforest_error *error)
{
	struct iforest_arguments arguments;
	unsigned n_arguments = iforest_popcount(plan->arguments);
	int rc;

	memset(query, 0, offsetof(struct iforest_query, aggregate));
	query->name = plan->name;
	query->index = index;
	query->n_changes = index->connection->n_changes;
	query->n_kept = definition->n_by;
	query->is_overlap = definition->is_overlap;
	query->is_counter = definition->is_counter;
	memcpy(query->kept, kept, definition->n_by * sizeof *kept);
	rc = iforest_index_open(index, &query->snapshot, error);
	if (!rc)
		rc = iforest_arguments_read(plan->name, plan->arguments, argv, &arguments, error);
	if (rc || arguments.has_null)
		return rc;
	query->fill = arguments.fill;
	if (query->is_counter && !(arguments.is_given[IFOREST_ARGUMENT_T0] && arguments.is_given[IFOREST_ARGUMENT_T1]))
		return iforest_error_set(error, SQLITE_ERROR, "%s: a counter needs both t0 and t1", plan->name);
	rc = open_scan(query, error);
	if (rc)
		return rc;
	query->bucketing = query->scan.bucketing = iforest_arguments_bucketing(&arguments);
	query->scan.wanted = plan->wanted;
	if (query->fill >= IFOREST_FILL_LAST) /* it asks whether a bucket has values */
		query->scan.wanted.extremes_alone = false;
	query->scan.wanted.filter = filter_of(query);
	if (query->is_overlap)
		rc = start_overlap(query, plan, error);
	if (!rc && (query->fill != IFOREST_FILL_NONE || query->is_counter))
		rc = limit_fill(query, &query->bucketing, error);
	if (!rc && query->is_counter)
		rc = start_counter(query, error);
	if (!rc && query->fill >= IFOREST_FILL_LAST)
		rc = start_carry(query, error);
	if (!rc)
		rc = iforest_query_choose(query, plan, argv + n_arguments, error);
	if (!rc && !query->is_counter)
		iforest_ahead_open(&query->ahead, index, query->snapshot, &query->scan,
				   query->is_overlap ? &query->overlap : NULL, query->members, query->n_members);
	return rc;
}

void iforest_query_init(struct iforest_query *query)
{
	query->index = NULL;
	query->at_end = true;
}

void iforest_query_release(struct iforest_query *query)
{
	if (!query->index)
		return;
	iforest_ahead_close(&query->ahead);
	if (query->has_overlap)
		iforest_overlap_release(&query->overlap);
	if (query->has_scan)
		iforest_scan_release(&query->scan);
	iforest_carry_release(&query->carry);
	iforest_counting_release(&query->counting);
	iforest_snapshot_release(query->snapshot);
	sqlite3_free(query->members);
	sqlite3_free(query->group_starts);
	iforest_bucket_list_release(&query->list);
	iforest_query_forget_sketches(query);
	iforest_query_init(query);
}
