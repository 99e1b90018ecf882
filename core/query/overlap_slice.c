#include "core/query/overlap_internal.h"

/* ---- starting ---- */

enum iforest_status iforest_overlap_init(struct iforest_overlap *overlap, struct iforest_scan *scan)
{
	const struct iforest_fields *fields = &scan->manifest->fields;

	*overlap = (struct iforest_overlap){ .scan = scan, .duration = fields->duration_value, .is_done = true };
	iforest_open_spans_init(&overlap->open, scan->store->alloc, false);
	iforest_longest_init(&overlap->longest, scan);
	if (fields->duration_value == IFOREST_NO_VALUE || fields->end_rule != IFOREST_END_DURATION)
		return IFOREST_ARGUMENT;
	return IFOREST_OK;
}

void iforest_overlap_release(struct iforest_overlap *overlap)
{
	iforest_open_spans_release(&overlap->open);
	iforest_longest_release(&overlap->longest);
}

void iforest_overlap_let_go(struct iforest_overlap *overlap)
{
	iforest_longest_let_go(&overlap->longest);
	iforest_scan_let_go(overlap->scan);
	overlap->is_done = true;
}

/* Bounds only rise from bucket to bucket: what of_node() said of a leaf page, and the cursor keeps, then still holds. */
static void look_for(struct iforest_overlap *overlap, bool is_searching, bool has_bound, int64_t bound)
{
	overlap->is_searching = is_searching;
	overlap->has_bound = has_bound;
	overlap->bound = bound;
	overlap->beyond = 0;
	overlap->negative = (struct iforest_value_aggregate){ .n = 0 };
}

/* Those that start before t0 and end after it. */
static enum iforest_status find_open(struct iforest_overlap *overlap, uint64_t series, int64_t t0)
{
	struct iforest_scan *scan = overlap->scan;
	struct iforest_aggregate unused;
	enum iforest_status status;

	if (t0 == INT64_MIN)
		return IFOREST_OK;
	iforest_aggregate_clear(&unused, scan->manifest->fields.n_values);
	look_for(overlap, true, true, t0);
	scan->bucketing.window = (struct iforest_window){ .has_t1 = true, .t1 = t0 };
	status = iforest_scan_start(scan, series);
	return status ? status : iforest_scan_through(scan, t0 - 1, &scan->wanted, &unused);
}

/* Carries spans along, from that window's start on, which begins where a bucket does. */
static enum iforest_status start_carrying(struct iforest_overlap *overlap, uint64_t series, const struct iforest_window *window)
{
	struct iforest_scan *scan = overlap->scan;
	enum iforest_status status = IFOREST_OK;

	overlap->own = iforest_overlap_collector(overlap, &overlap->own, overlap->filter);
	overlap->joined = iforest_overlap_collector(overlap, &overlap->joined, NULL);
	scan->bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE };
	scan->wanted = (struct iforest_wanted){ .filter = &overlap->own.filter };
	scan->joined_filter = &overlap->joined.filter;
	if (window->has_t0)
		status = find_open(overlap, series, window->t0);
	scan->bucketing.window = *window;
	scan->wanted.values = overlap->wants_inside || overlap->wants_longest ? 1u << overlap->duration : 0;
	scan->wanted.no_mins = UINT32_MAX;
	if (!status)
		status = iforest_scan_start(scan, series);
	return status ? status : iforest_scan_earliest(scan, &overlap->next_start, &overlap->has_next);
}

static enum iforest_status start_from(struct iforest_overlap *overlap, uint64_t series, const struct iforest_window *window,
				      int64_t first)
{
	enum iforest_status status = IFOREST_OK;

	iforest_open_spans_clear(&overlap->open, overlap->wants_longest);
	overlap->has_next = overlap->is_longest = false;
	overlap->is_done = iforest_window_is_empty(window);
	if (!overlap->is_done && overlap->longest_alone && !overlap->filter)
		status = iforest_longest_start(&overlap->longest, &overlap->bucketing, series, first, &overlap->is_longest);
	return status || overlap->is_done || overlap->is_longest ? status : start_carrying(overlap, series, window);
}

enum iforest_status iforest_overlap_start(struct iforest_overlap *overlap, uint64_t series)
{
	overlap->has_bucket = false;
	return start_from(overlap, series, &overlap->bucketing.window, 0);
}

enum iforest_status iforest_overlap_start_after(struct iforest_overlap *overlap, uint64_t series, int64_t bucket)
{
	struct iforest_window window = overlap->bucketing.window;
	bool after_all;
	int64_t end = iforest_bucket_end(&overlap->bucketing, bucket, &after_all);

	overlap->has_bucket = true;
	overlap->last_bucket = bucket;
	overlap->is_longest = false;
	overlap->is_done = after_all || (window.has_t1 && end >= window.t1) || overlap->bucketing.mode == IFOREST_WHOLE;
	if (overlap->is_done)
		return IFOREST_OK;
	window.has_t0 = true;
	window.t0 = end;
	return start_from(overlap, series, &window, bucket + (bucket < INT64_MAX));
}

/* ---- buckets ---- */

/* Passes the entries that start up to `time`, inclusive. */
static enum iforest_status pass_starts(struct iforest_overlap *overlap, int64_t time, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = iforest_scan_through(overlap->scan, time, &overlap->scan->wanted, aggregate);

	return status ? status : iforest_scan_earliest(overlap->scan, &overlap->next_start, &overlap->has_next);
}

/* No span is open: the bucket in which the next one starts. *found is false where only removed ones would start. */
static enum iforest_status bucket_of_next_start(struct iforest_overlap *overlap, int64_t *bucket, bool *found)
{
	struct iforest_aggregate beyond_numbers;
	enum iforest_status status = iforest_bucket_of(&overlap->bucketing, overlap->next_start, bucket);

	*found = !status;
	if (status != IFOREST_RANGE)
		return status;
	iforest_aggregate_clear(&beyond_numbers, overlap->scan->manifest->fields.n_values);
	look_for(overlap, false, true, overlap->next_start);
	status = pass_starts(overlap, overlap->next_start, &beyond_numbers);
	return !status && (beyond_numbers.n_rows > 0 || overlap->negative.n > 0) ? IFOREST_RANGE : status;
}

/* The next bucket that may be overlapped: the one after the last while spans are open, else the one where the next starts. */
static enum iforest_status next_bucket(struct iforest_overlap *overlap, int64_t *bucket, bool *found)
{
	const struct iforest_bucketing *bucketing = &overlap->bucketing;

	*found = overlap->open.by_end.n > 0;
	if (*found && overlap->has_bucket) {
		*bucket = overlap->last_bucket + (overlap->last_bucket < INT64_MAX);
		return overlap->last_bucket < INT64_MAX ? IFOREST_OK : IFOREST_RANGE;
	}
	*bucket = 0; /* the first of n, be it an empty interval, of which t0 is no part */
	if (*found)
		return bucketing->mode == IFOREST_STEP ? iforest_bucket_of(bucketing, bucketing->window.t0, bucket) :
							 IFOREST_OK;
	overlap->is_done = !overlap->has_next;
	return overlap->is_done ? IFOREST_OK : bucket_of_next_start(overlap, bucket, found);
}

/* What of a bucket the window leaves: [from, to), or all from `from` on. */
struct bounds {
	iforest_int128 from;
	bool has_end;
	int64_t to;
	bool is_last;
};

static struct bounds bounds_of(const struct iforest_overlap *overlap, int64_t bucket)
{
	const struct iforest_bucketing *bucketing = &overlap->bucketing;
	const struct iforest_window *window = &bucketing->window;
	int64_t from = iforest_bucket_start(bucketing, bucket);
	bool after_all;
	struct bounds bounds = { .to = iforest_bucket_end(bucketing, bucket, &after_all) };

	bounds.from = window->has_t0 && window->t0 > from ? window->t0 : from;
	bounds.has_end = !after_all;
	if (window->has_t1 && (after_all || window->t1 <= bounds.to)) {
		bounds.has_end = bounds.is_last = true;
		bounds.to = window->t1;
	}
	bounds.is_last = bounds.is_last || !bounds.has_end || bucketing->mode == IFOREST_WHOLE;
	return bounds;
}

/* The spans that start in the bucket, added to the aggregate; those that outlive it are open afterwards. */
static enum iforest_status fold_starts(struct iforest_overlap *overlap, const struct bounds *bounds,
				       struct iforest_aggregate *aggregate)
{
	struct iforest_value_aggregate *value = &aggregate->values[overlap->duration];
	bool outliving_matter = bounds->has_end && (overlap->wants_inside || !bounds->is_last);
	enum iforest_status status;

	if (!overlap->has_next || (bounds->has_end && overlap->next_start >= bounds->to))
		return IFOREST_OK;
	look_for(overlap, false, outliving_matter, bounds->to);
	status = pass_starts(overlap, bounds->has_end ? bounds->to - 1 : INT64_MAX, aggregate);
	aggregate->n_rows += overlap->negative.n;
	if (!overlap->wants_inside)
		return status;
	value->sum = iforest_add_wrapping(value->sum, -overlap->beyond);
	iforest_row_max(&value->max, &overlap->negative.max, IFOREST_INT64);
	return status;
}

static enum iforest_status answer(struct iforest_overlap *overlap, int64_t bucket, struct iforest_aggregate *aggregate)
{
	struct iforest_value_aggregate *value = &aggregate->values[overlap->duration];
	struct bounds bounds = bounds_of(overlap, bucket);
	struct iforest_stretch stretch;
	enum iforest_status status;

	overlap->has_bucket = true;
	overlap->last_bucket = bucket;
	iforest_open_spans_pass(&overlap->open, bounds.from, bounds.has_end ? bounds.to : IFOREST_NEVER, &stretch);
	status = fold_starts(overlap, &bounds, aggregate);
	aggregate->n_dead = 0;
	aggregate->n_rows += stretch.n;
	if (overlap->wants_inside || overlap->wants_longest) {
		value->n = aggregate->n_rows;
		value->sum = iforest_add_wrapping(value->sum, stretch.inside);
		iforest_row_max(&value->max, &stretch.longest, IFOREST_INT64);
		value->min = (struct iforest_row){ .is_set = false }; /* which nodes add unasked */
	}
	overlap->is_done = bounds.is_last;
	return status;
}

static enum iforest_status next_longest(struct iforest_overlap *overlap, int64_t *bucket, struct iforest_aggregate *aggregate,
					bool *found)
{
	struct iforest_value_aggregate *value = &aggregate->values[overlap->duration];
	enum iforest_status status = IFOREST_OK;

	*found = false;
	if (!overlap->is_done)
		status = iforest_longest_next(&overlap->longest, bucket, &value->max, found);
	aggregate->n_rows = value->n = *found;
	return status;
}

enum iforest_status iforest_overlap_next(struct iforest_overlap *overlap, int64_t *bucket, struct iforest_aggregate *aggregate,
					 bool *found)
{
	enum iforest_status status = IFOREST_OK;
	bool is_there;

	iforest_aggregate_clear(aggregate, overlap->scan->manifest->fields.n_values);
	if (overlap->is_longest)
		return next_longest(overlap, bucket, aggregate, found);
	while (!status && !overlap->is_done && aggregate->n_rows == 0) {
		status = next_bucket(overlap, bucket, &is_there);
		if (!status && is_there)
			status = answer(overlap, *bucket, aggregate);
	}
	*found = !status && aggregate->n_rows > 0;
	return status;
}
