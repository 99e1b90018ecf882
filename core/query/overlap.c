#include "core/query/overlap.h"

#include "core/base/array.h"
#include "core/base/bits.h"
#include "core/model/real_time.h"

enum { NO_SLOT = UINT32_MAX, FEW = 16 };

static iforest_int128 end_of(const struct iforest_open_span *span)
{
	return (iforest_int128)span->time + (uint64_t)span->duration;
}

static const struct iforest_open_span *span_at(const struct iforest_open_spans *open, uint32_t slot)
{
	return &open->slots[slot].span;
}

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
	return end_of(span_at(context, a)) < end_of(span_at(context, b));
}

static bool is_longer(const void *context, uint32_t slot_a, uint32_t slot_b)
{
	const struct iforest_open_spans *open = context;
	const struct iforest_open_span *a = span_at(open, slot_a), *b = span_at(open, slot_b);

	if (open->has_real_times && a->real_duration != b->real_duration)
		return a->real_duration > b->real_duration;
	if (!open->has_real_times && a->duration != b->duration)
		return a->duration > b->duration;
	return a->time != b->time ? a->time < b->time : a->ref < b->ref;
}

void iforest_open_spans_init(struct iforest_open_spans *open, const struct iforest_alloc *alloc, bool wants_longest)
{
	*open = (struct iforest_open_spans){ .alloc = alloc,
					     .wants_longest = wants_longest,
					     .free = NO_SLOT,
					     .by_end = { .comes_before = ends_before, .context = open },
					     .by_duration = { .comes_before = is_longer, .context = open } };
}

void iforest_open_spans_release(struct iforest_open_spans *open)
{
	iforest_priority_queue_release(&open->by_end, open->alloc);
	iforest_priority_queue_release(&open->by_duration, open->alloc);
	iforest_release(open->alloc, open->slots);
	iforest_open_spans_init(open, open->alloc, open->wants_longest);
}

void iforest_open_spans_clear(struct iforest_open_spans *open, bool wants_longest)
{
	open->by_end.n = open->by_duration.n = open->n_slots = 0;
	open->free = NO_SLOT;
	open->wants_longest = wants_longest;
}

/* ---- Slots ---- */

static enum iforest_status take_slot(struct iforest_open_spans *open, uint32_t *slot)
{
	*slot = open->free;
	if (*slot != NO_SLOT) {
		open->free = open->slots[*slot].next;
		return IFOREST_OK;
	}
	if (!iforest_array_reserve(open->alloc, &open->slots, sizeof *open->slots, (size_t)open->n_slots + 1,
				   &open->n_reserved))
		return IFOREST_NO_MEMORY;
	*slot = open->n_slots++;
	return IFOREST_OK;
}

static void give_slot(struct iforest_open_spans *open, uint32_t slot)
{
	open->slots[slot].next = open->free;
	open->free = slot;
}

enum iforest_status iforest_open_spans_add(struct iforest_open_spans *open, const struct iforest_open_span *span)
{
	uint32_t slot;
	enum iforest_status status = take_slot(open, &slot);

	if (status)
		return status;
	open->slots[slot] = (struct iforest_open_slot){ .span = *span };
	status = iforest_priority_queue_push(&open->by_end, open->alloc, slot);
	if (!status && open->wants_longest)
		status = iforest_priority_queue_push(&open->by_duration, open->alloc, slot);
	return status;
}

/* ---- Passing of time ---- */

/* Closes the span with the earliest end. Its slot is not freed while the heap by duration has it. */
static void end_first(struct iforest_open_spans *open)
{
	uint32_t slot = iforest_priority_queue_pop(&open->by_end);

	open->slots[slot].has_ended = true;
	if (!open->wants_longest)
		give_slot(open, slot);
}

/* Removes ended spans from the heap by duration: those at its top, or all if they are more than half of it. */
static void drop_ended(struct iforest_open_spans *open)
{
	struct iforest_priority_queue *heap = &open->by_duration;
	uint32_t n;

	while (heap->n > 0 && open->slots[heap->items[0]].has_ended)
		give_slot(open, iforest_priority_queue_pop(heap));
	if (heap->n <= 2 * (uint64_t)open->by_end.n + FEW)
		return;
	n = heap->n;
	heap->n = 0;
	for (uint32_t i = 0; i < n; i++) { /* pushes only overwrite items already read, and allocate nothing */
		if (open->slots[heap->items[i]].has_ended)
			give_slot(open, heap->items[i]);
		else
			iforest_priority_queue_push(heap, open->alloc, heap->items[i]);
	}
}

/* Adds the time of n spans from `from` to `to`. */
static void add_inside(const struct iforest_open_spans *open, iforest_int128 from, iforest_int128 to, uint32_t n,
		       struct iforest_stretch *stretch)
{
	if (open->has_real_times)
		stretch->real_inside += n * (iforest_real_of_time((int64_t)to) - iforest_real_of_time((int64_t)from));
	else
		stretch->inside += n * (to - from);
}

void iforest_open_spans_pass(struct iforest_open_spans *open, iforest_int128 from, iforest_int128 to,
			     struct iforest_stretch *stretch)
{
	struct iforest_priority_queue *by_end = &open->by_end;

	*stretch = (struct iforest_stretch){ .n = by_end->n };
	if (open->by_duration.n > 0) {
		const struct iforest_open_span *longest = span_at(open, open->by_duration.items[0]);

		stretch->longest = (struct iforest_extreme){
			.value.integer = longest->duration, .time = longest->time, .ref = longest->ref, .is_set = true
		};
		if (open->has_real_times)
			stretch->longest.value.real = longest->real_duration;
	}
	while (by_end->n > 0 && end_of(span_at(open, by_end->items[0])) <= to) {
		add_inside(open, from, end_of(span_at(open, by_end->items[0])), 1, stretch);
		end_first(open);
	}
	if (by_end->n > 0)
		add_inside(open, from, to, by_end->n, stretch);
	drop_ended(open);
}

/* ---- Spans collected while entries are folded ---- */

/* True if a span of the node may end after the bound; a saturated latest end may be later in fact. */
static bool reaches_beyond(const struct iforest_overlap *overlap, const uint8_t *node)
{
	int64_t latest_end = iforest_node_latest_end(node, &overlap->scan->manifest->fields);

	return overlap->has_bound && (latest_end > overlap->bound || latest_end == INT64_MAX);
}

static bool has_real_times(const struct iforest_overlap *overlap)
{
	return overlap->real_duration != IFOREST_NO_VALUE;
}

/* Returns the value column of the answer, and its type. */
static unsigned measure_of(const struct iforest_overlap *overlap)
{
	return has_real_times(overlap) ? overlap->real_duration : overlap->duration;
}

static enum iforest_value_type type_of(const struct iforest_overlap *overlap)
{
	return has_real_times(overlap) ? IFOREST_FLOAT64 : IFOREST_INT64;
}

static bool is_negative(const struct iforest_overlap *overlap, union iforest_number duration)
{
	return has_real_times(overlap) ? duration.real < 0 : duration.integer < 0;
}

static bool has_negatives(const struct iforest_overlap *overlap, const uint8_t *node)
{
	const struct iforest_node_schema *fields = &overlap->scan->manifest->fields;
	struct iforest_extreme least;

	if (!overlap->wants_inside || overlap->is_searching)
		return false;
	least = iforest_node_extreme(node, fields, measure_of(overlap), -1);
	return least.is_set && is_negative(overlap, least.value);
}

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	const struct iforest_overlap_filter *filter = context;

	if (reaches_beyond(filter->overlap, node) || has_negatives(filter->overlap, node))
		return IFOREST_COUNTS_SOME;
	if (filter->overlap->is_searching)
		return IFOREST_COUNTS_NONE;
	return filter->inner ? filter->inner->of_node(filter->inner->context, node) : IFOREST_COUNTS_ALL;
}

/* Counts an entry, whose duration is unpacked, in overlap->apart, and clears it from *live so that it is not folded. */
static enum iforest_status count_apart(struct iforest_overlap *overlap, struct iforest_block_reader *reader, unsigned i,
				       uint64_t *live)
{
	const struct iforest_block *block = &reader->block;
	struct iforest_extreme row = { .value.integer = block->values[measure_of(overlap)][i], .is_set = true };
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	if (!status)
		status = iforest_block_need(reader, IFOREST_REFS);
	row.time = block->times[i];
	row.ref = block->refs[i];
	iforest_extreme_max(&overlap->apart.max, &row, type_of(overlap));
	overlap->apart.n++;
	*live &= ~(UINT64_C(1) << i);
	return status;
}

/* Counts the entries with a negative duration in overlap->apart. Durations must be unpacked. */
static enum iforest_status take_negatives(struct iforest_overlap *overlap, struct iforest_block_reader *reader, uint64_t which,
					  uint64_t *live)
{
	const int64_t *durations = reader->block.values[measure_of(overlap)];
	enum iforest_status status = IFOREST_OK;

	for (; which && !status; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);

		if (is_negative(overlap, (union iforest_number){ .integer = durations[i] }))
			status = count_apart(overlap, reader, i, live);
	}
	return status;
}

/* True if a span of that duration that starts at that time, before the bound, would end after it. */
static bool outlives(const struct iforest_overlap *overlap, int64_t time, int64_t duration)
{
	if (overlap->has_ends)
		return duration > overlap->bound && duration > time; /* damaged pages may violate the latter */
	return duration > 0 && (uint64_t)duration > (uint64_t)overlap->bound - (uint64_t)time;
}

/* True if one of the block's entries `which` may outlive the bound, by the longest of the block and the latest of them. */
static bool may_outlive(const struct iforest_overlap *overlap, const struct iforest_block_reader *reader, uint64_t which,
			int64_t longest)
{
	const struct iforest_block *block = &reader->block;
	struct iforest_key next;

	if (reader->unpacked >> IFOREST_TIMES & 1)
		return outlives(overlap, block->times[iforest_highest_bit(which)], longest);
	if (reader->number + 1u == reader->leaf->header.n_items)
		return true;
	next = iforest_leaf_block(reader->leaf, reader->number + 1).first;
	if (next.series != block->series || next.time_is_null || next.time >= overlap->bound)
		return true;
	return outlives(overlap, next.time, longest);
}

/* Adds an entry that outlives the bound to the open spans. With real times, the part before the bound is counted apart. */
static enum iforest_status collect_one(struct iforest_overlap *overlap, struct iforest_block_reader *reader, unsigned i,
				       uint64_t *live)
{
	const struct iforest_block *block = &reader->block;
	int64_t value = block->values[overlap->duration][i];
	struct iforest_open_span span = { .time = block->times[i], .duration = value, .ref = block->refs[i] };

	if (overlap->has_ends)
		span.duration = (int64_t)((uint64_t)value - (uint64_t)span.time);
	overlap->beyond += (iforest_int128)span.time + (uint64_t)span.duration - overlap->bound;
	if (has_real_times(overlap)) {
		span.real_duration = (union iforest_number){ .integer = block->values[overlap->real_duration][i] }.real;
		if (overlap->wants_inside && !overlap->is_searching) {
			overlap->before += iforest_real_of_time(overlap->bound) - iforest_real_of_time(span.time);
			count_apart(overlap, reader, i, live); /* all columns are unpacked */
		}
	}
	return iforest_open_spans_add(&overlap->open, &span);
}

/* Adds the entries that outlive the bound to the open spans. None is longer than `longest`, so entries that start too early to
 * reach the bound are skipped. */
static enum iforest_status collect(struct iforest_overlap *overlap, struct iforest_block_reader *reader, uint64_t which,
				   int64_t longest, uint64_t *live)
{
	const struct iforest_block *block = &reader->block;
	const int64_t *durations = block->values[overlap->duration];
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	if (!status && has_real_times(overlap))
		status = iforest_block_need(reader, IFOREST_VALUES + overlap->real_duration);
	while (which && !status) {
		unsigned i = iforest_highest_bit(which);

		if (!outlives(overlap, block->times[i], longest))
			break;
		which ^= UINT64_C(1) << i;
		if (!outlives(overlap, block->times[i], durations[i]))
			continue;
		status = iforest_block_need(reader, IFOREST_REFS);
		if (!status)
			status = collect_one(overlap, reader, i, live);
	}
	return status;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	const struct iforest_overlap_filter *filter = context;
	struct iforest_overlap *overlap = filter->overlap;
	unsigned column = IFOREST_VALUES + overlap->duration;
	const struct iforest_summary *summary = &reader->summaries[overlap->duration];
	int64_t least = INT64_MIN, longest = INT64_MAX;
	bool splits, collects;
	uint64_t which;
	enum iforest_status status = IFOREST_OK;

	if (filter->inner)
		status = filter->inner->of_entries(filter->inner->context, reader, live);
	if (!status)
		status = iforest_block_find_column(reader, column);
	if (status || reader->block.time_is_null)
		return status;
	which = *live & reader->columns[column].present;
	if (which && reader->has_summary[overlap->duration]) {
		least = iforest_column_at(&reader->columns[column], summary->low);
		longest = iforest_column_at(&reader->columns[column], summary->high);
	}
	/* ends do not tell whether a duration is negative */
	splits = which && (least < 0 || has_real_times(overlap)) && overlap->wants_inside && !overlap->is_searching;
	collects = which && overlap->has_bound && may_outlive(overlap, reader, which, longest);
	if (splits || collects)
		status = iforest_block_need(reader, column);
	if (!status && splits)
		status = iforest_block_need(reader, IFOREST_VALUES + measure_of(overlap));
	if (!status && splits)
		status = take_negatives(overlap, reader, which, live);
	if (!status && collects)
		status = collect(overlap, reader, which, longest, live);
	return status;
}

/* Returns the filter that collects spans for the overlap, built in *place. inner: the filter in force; NULL: all live
 * entries count. */
static struct iforest_overlap_filter overlap_collector(struct iforest_overlap *overlap, struct iforest_overlap_filter *place,
						       const struct iforest_filter *inner)
{
	return (struct iforest_overlap_filter){ .overlap = overlap,
						.inner = inner,
						.filter = { .context = place, .of_node = of_node, .of_entries = of_entries } };
}

/* ---- Starting ---- */

enum iforest_status iforest_overlap_init(struct iforest_overlap *overlap, struct iforest_scan *scan)
{
	const struct iforest_node_schema *fields = &scan->manifest->fields;

	*overlap = (struct iforest_overlap){
		.scan = scan, .duration = fields->duration_value, .real_duration = IFOREST_NO_VALUE, .is_done = true
	};
	iforest_open_spans_init(&overlap->open, scan->store->alloc, false);
	iforest_longest_init(&overlap->longest, scan);
	overlap->has_ends = fields->end_rule == IFOREST_END_COLUMN;
	if (fields->duration_value == IFOREST_NO_VALUE || (fields->end_rule != IFOREST_END_DURATION && !overlap->has_ends))
		return IFOREST_ARGUMENT;
	return IFOREST_OK;
}

void iforest_overlap_release(struct iforest_overlap *overlap)
{
	iforest_open_spans_release(&overlap->open);
	iforest_longest_release(&overlap->longest);
}

void iforest_overlap_unpin(struct iforest_overlap *overlap)
{
	iforest_longest_unpin(&overlap->longest);
	iforest_scan_unpin(overlap->scan);
	overlap->is_done = true;
}

/* Sets which spans the filter collects. Bounds only increase, so the class that a fold keeps for a leaf page stays valid. */
static void look_for(struct iforest_overlap *overlap, bool is_searching, bool has_bound, int64_t bound)
{
	overlap->is_searching = is_searching;
	overlap->has_bound = has_bound;
	overlap->bound = bound;
	overlap->beyond = 0;
	overlap->before = 0;
	overlap->apart = (struct iforest_value_aggregate){ .n = 0 };
}

/* Collects the spans that start before t0 and end after it. */
static enum iforest_status find_open(struct iforest_overlap *overlap, uint64_t series, int64_t t0)
{
	struct iforest_scan *scan = overlap->scan;
	struct iforest_aggregate unused;
	enum iforest_status status;

	if (t0 == INT64_MIN)
		return IFOREST_OK;
	iforest_aggregate_clear(&unused, scan->manifest->fields.n_values, &scan->manifest->fields.accumulators);
	look_for(overlap, true, true, t0);
	scan->bucketing.window = (struct iforest_window){ .has_t1 = true, .t1 = t0 };
	status = iforest_scan_start(scan, series);
	return status ? status : iforest_scan_through(scan, t0 - 1, &scan->request, &unused);
}

/* Collects the spans that are open at the start of a window, which is also the start of a bucket. */
static enum iforest_status start_carrying(struct iforest_overlap *overlap, uint64_t series, const struct iforest_window *window)
{
	struct iforest_scan *scan = overlap->scan;
	enum iforest_status status = IFOREST_OK;

	overlap->own = overlap_collector(overlap, &overlap->own, overlap->filter);
	overlap->joined = overlap_collector(overlap, &overlap->joined, NULL);
	scan->bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE };
	scan->request = (struct iforest_request){ .filter = &overlap->own.filter };
	scan->joined_filter = &overlap->joined.filter;
	if (window->has_t0)
		status = find_open(overlap, series, window->t0);
	scan->bucketing.window = *window;
	scan->request.values = overlap->wants_inside || overlap->wants_longest ? 1u << measure_of(overlap) : 0;
	scan->request.no_mins = UINT32_MAX;
	if (!status)
		status = iforest_scan_start(scan, series);
	return status ? status : iforest_scan_earliest(scan, &overlap->next_start, &overlap->has_next);
}

static enum iforest_status start_from(struct iforest_overlap *overlap, uint64_t series, const struct iforest_window *window,
				      int64_t first)
{
	enum iforest_status status = IFOREST_OK;

	iforest_open_spans_clear(&overlap->open, overlap->wants_longest);
	overlap->open.has_real_times = has_real_times(overlap);
	overlap->has_next = overlap->is_longest = false;
	overlap->is_done = iforest_window_is_empty(window);
	if (!overlap->is_done && overlap->longest_alone && !overlap->filter && !overlap->has_ends)
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

/* ---- Buckets ---- */

/* Passes the entries that start at or before `time`. */
static enum iforest_status pass_starts(struct iforest_overlap *overlap, int64_t time, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = iforest_scan_through(overlap->scan, time, &overlap->scan->request, aggregate);

	return status ? status : iforest_scan_earliest(overlap->scan, &overlap->next_start, &overlap->has_next);
}

/* With no span open, finds the bucket in which the next span starts. *found is false if there are only removed ones. */
static enum iforest_status bucket_of_next_start(struct iforest_overlap *overlap, int64_t *bucket, bool *found)
{
	struct iforest_aggregate beyond_numbers;
	enum iforest_status status = iforest_bucket_of(&overlap->bucketing, overlap->next_start, bucket);

	*found = !status;
	if (status != IFOREST_RANGE)
		return status;
	iforest_aggregate_clear(&beyond_numbers, overlap->scan->manifest->fields.n_values,
				&overlap->scan->manifest->fields.accumulators);
	look_for(overlap, false, true, overlap->next_start);
	status = pass_starts(overlap, overlap->next_start, &beyond_numbers);
	return !status && (beyond_numbers.n_rows > 0 || overlap->apart.n > 0) ? IFOREST_RANGE : status;
}

/* Finds the next bucket that may be overlapped: the one after the last while spans are open, else the one in which the next
 * span starts. */
static enum iforest_status next_bucket(struct iforest_overlap *overlap, int64_t *bucket, bool *found)
{
	const struct iforest_bucketing *bucketing = &overlap->bucketing;

	*found = overlap->open.by_end.n > 0;
	if (*found && overlap->has_bucket) {
		*bucket = overlap->last_bucket + (overlap->last_bucket < INT64_MAX);
		return overlap->last_bucket < INT64_MAX ? IFOREST_OK : IFOREST_RANGE;
	}
	*bucket = 0; /* of n buckets the first may be an empty interval without t0 */
	if (*found)
		return bucketing->mode == IFOREST_STEP ? iforest_bucket_of(bucketing, bucketing->window.t0, bucket)
						       : IFOREST_OK;
	overlap->is_done = !overlap->has_next;
	return overlap->is_done ? IFOREST_OK : bucket_of_next_start(overlap, bucket, found);
}

/* The part of a bucket in the window: [from, to), or from `from` on. */
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

/* Adds the spans that start in the bucket to the aggregate; those that outlive it are added to the open spans. */
static enum iforest_status fold_starts(struct iforest_overlap *overlap, const struct bounds *bounds,
				       struct iforest_aggregate *aggregate)
{
	struct iforest_value_aggregate *value = &aggregate->values[measure_of(overlap)];
	bool outliving_matter = bounds->has_end && (overlap->wants_inside || !bounds->is_last);
	enum iforest_status status;

	if (!overlap->has_next || (bounds->has_end && overlap->next_start >= bounds->to))
		return IFOREST_OK;
	look_for(overlap, false, outliving_matter, bounds->to);
	status = pass_starts(overlap, bounds->has_end ? bounds->to - 1 : INT64_MAX, aggregate);
	aggregate->n_rows += overlap->apart.n;
	if (!overlap->wants_inside)
		return status;
	if (has_real_times(overlap))
		value->real_sum += overlap->before;
	else
		value->sum = iforest_add_wrapping(value->sum, -overlap->beyond);
	iforest_extreme_max(&value->max, &overlap->apart.max, type_of(overlap));
	return status;
}

static enum iforest_status answer(struct iforest_overlap *overlap, int64_t bucket, struct iforest_aggregate *aggregate)
{
	struct iforest_value_aggregate *value = &aggregate->values[measure_of(overlap)];
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
		value->real_sum += stretch.real_inside;
		iforest_extreme_max(&value->max, &stretch.longest, type_of(overlap));
		value->min = (struct iforest_extreme){ .is_set = false }; /* nodes add minima although not requested */
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

	iforest_aggregate_clear(aggregate, overlap->scan->manifest->fields.n_values,
				&overlap->scan->manifest->fields.accumulators);
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
