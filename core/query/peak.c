#include "core/query/peak.h"

#include "core/base/array.h"
#include "core/base/heap_sort.h"

/* ---- The pass ---- */

static void settle(struct iforest_peak_pass *pass)
{
	int64_t *heap = pass->last_times, moved = heap[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < pass->n) {
		child += child + 1 < pass->n && heap[child + 1] < heap[child];
		if (heap[child] >= moved)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* Updates the peak if more spans are open now. */
static void raise(const struct iforest_peak_pass *pass, int64_t time, struct iforest_peak *peak)
{
	if (pass->n > peak->n)
		*peak = (struct iforest_peak){ .n = pass->n, .time = time };
}

/* Closes the spans that are no longer open at `time`, and updates the peak. */
static void pass_to(struct iforest_peak_pass *pass, int64_t time, struct iforest_peak *peak)
{
	while (pass->n > 0 && pass->last_times[0] < time) {
		pass->last_times[0] = pass->last_times[--pass->n];
		if (pass->n > 0)
			settle(pass);
	}
	raise(pass, time, peak);
}

/* Advances to a span's first time, opens it, and updates the peak. Errors: IFOREST_NO_MEMORY. */
static enum iforest_status open_span(struct iforest_peak_pass *pass, int64_t first_time, int64_t last_time,
				     struct iforest_peak *peak)
{
	size_t at = 0;

	pass_to(pass, first_time, peak);
	if (!iforest_array_reserve(pass->alloc, &pass->last_times, sizeof *pass->last_times, pass->n + 1, &pass->n_reserved))
		return IFOREST_NO_MEMORY;
	for (at = pass->n++; at > 0 && pass->last_times[(at - 1) / 2] > last_time; at = (at - 1) / 2)
		pass->last_times[at] = pass->last_times[(at - 1) / 2];
	pass->last_times[at] = last_time;
	raise(pass, first_time, peak);
	return IFOREST_OK;
}

static void release_pass(struct iforest_peak_pass *pass)
{
	iforest_release(pass->alloc, pass->last_times);
	*pass = (struct iforest_peak_pass){ .alloc = pass->alloc };
}

/* ---- Spans in memory ---- */

static bool starts_before(const void *left, const void *right)
{
	const struct iforest_peak_span *a = left, *b = right;

	return a->first_time < b->first_time;
}

static enum iforest_status sort(struct iforest_peak_span *spans, size_t n, const struct iforest_interrupt *interrupt)
{
	return iforest_heap_sort(spans, n, sizeof *spans, starts_before, interrupt);
}

enum iforest_status iforest_peak_of_spans(const struct iforest_alloc *alloc, const struct iforest_interrupt *interrupt,
					  struct iforest_peak_span *spans, size_t n, struct iforest_peak *peak)
{
	struct iforest_peak_pass pass = { .alloc = alloc };
	enum iforest_status status = sort(spans, n, interrupt);

	*peak = (struct iforest_peak){ .n = 0 };
	for (size_t i = 0; i < n && !status; i++) {
		if (i % IFOREST_UNIT_OF_WORK == 0)
			status = iforest_interrupt_check(interrupt);
		if (!status)
			status = open_span(&pass, spans[i].first_time, spans[i].last_time, peak);
	}
	release_pass(&pass);
	return status;
}

/* ---- Spans of an index ---- */

enum iforest_status iforest_peak_init(struct iforest_peak_reader *reader, struct iforest_store *store,
				      const struct iforest_manifest *manifest)
{
	const struct iforest_node_schema *fields = &manifest->fields;
	enum iforest_status status;

	*reader = (struct iforest_peak_reader){ .fields = fields,
						.interrupt = &store->pager->interrupt,
						.pass = { .alloc = store->alloc } };
	if (fields->duration_value == IFOREST_NO_VALUE ||
	    (fields->end_rule != IFOREST_END_DURATION && fields->end_rule != IFOREST_END_COLUMN))
		return IFOREST_ARGUMENT;
	status = iforest_iterator_init(&reader->iterator, store, manifest);
	reader->has_iterator = !status;
	return status;
}

void iforest_peak_release(struct iforest_peak_reader *reader)
{
	if (!reader->has_iterator)
		return;
	iforest_iterator_release(&reader->iterator);
	iforest_release(reader->pass.alloc, reader->gathered);
	release_pass(&reader->pass);
	reader->gathered = NULL;
	reader->has_iterator = false;
}

enum iforest_status iforest_peak_join(struct iforest_peak_reader *reader, struct iforest_store *store,
				      const struct iforest_manifest *manifest)
{
	return iforest_iterator_join(&reader->iterator, store, manifest);
}

/* Starts the iterator on the spans before the window, or on those in it. */
static void start_stage(struct iforest_peak_reader *reader, enum iforest_peak_stage stage)
{
	const struct iforest_window *window = &reader->bucketing.window;
	struct iforest_iterator_question question = { .from = iforest_key_at(reader->series, INT64_MIN),
						      .to = iforest_key_nulls(reader->series),
						      .filter = reader->filter,
						      .values = 1u << reader->fields->duration_value };

	if (stage == IFOREST_PEAK_BEFORE) {
		question.to = iforest_key_at(reader->series, window->t0);
		question.match.has_reach = true;
		/* ends saturate: the greatest time may stand for a later end */
		question.match.reach = window->t0 - (window->t0 == INT64_MAX);
	} else {
		if (window->has_t0)
			question.from = iforest_key_at(reader->series, window->t0);
		if (window->has_t1)
			question.to = iforest_key_at(reader->series, window->t1);
	}
	reader->stage = stage;
	iforest_iterator_start(&reader->iterator, &question);
}

static int64_t last_time_of(const struct iforest_peak_reader *reader, const struct iforest_entry *entry)
{
	unsigned v = reader->fields->duration_value;
	bool is_known = entry->present >> v & 1;
	int64_t value = is_known ? entry->values[v].integer : 0;

	return reader->fields->end_rule == IFOREST_END_COLUMN ? iforest_span_last_before(entry->key.time, is_known, value)
							      : iforest_span_last_time(entry->key.time, is_known, value);
}

/* Reads the next span of the series that overlaps the window. */
static enum iforest_status read_span(struct iforest_peak_reader *reader, struct iforest_peak_span *span, bool *found)
{
	enum iforest_status status = IFOREST_OK;
	struct iforest_entry entry;

	*found = false;
	while (!status && !*found && reader->stage != IFOREST_PEAK_DONE) {
		status = iforest_iterator_next(&reader->iterator, &entry, found);
		if (status)
			break;
		if (!*found && reader->stage == IFOREST_PEAK_BEFORE) {
			start_stage(reader, IFOREST_PEAK_WITHIN);
			continue;
		}
		if (!*found) {
			reader->stage = IFOREST_PEAK_DONE;
			break;
		}
		span->first_time = entry.key.time;
		span->last_time = last_time_of(reader, &entry);
		*found = reader->stage == IFOREST_PEAK_WITHIN || span->last_time >= reader->bucketing.window.t0;
	}
	return status;
}

static void start_series(struct iforest_peak_reader *reader, uint64_t series)
{
	const struct iforest_window *window = &reader->bucketing.window;

	reader->series = series;
	start_stage(reader, window->has_t0 && window->t0 > INT64_MIN ? IFOREST_PEAK_BEFORE : IFOREST_PEAK_WITHIN);
	if (iforest_window_is_empty(window))
		reader->stage = IFOREST_PEAK_DONE;
}

static enum iforest_status gather(struct iforest_peak_reader *reader)
{
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	while (!status && found) {
		if (!iforest_array_reserve(reader->pass.alloc, &reader->gathered, sizeof *reader->gathered,
					   reader->n_gathered + 1, &reader->n_reserved))
			return IFOREST_NO_MEMORY;
		status = read_span(reader, &reader->gathered[reader->n_gathered], &found);
		reader->n_gathered += !status && found;
	}
	return status;
}

/* ---- Buckets ---- */

static enum iforest_status advance(struct iforest_peak_reader *reader)
{
	if (reader->stage != IFOREST_PEAK_DONE)
		return read_span(reader, &reader->ahead, &reader->has_ahead);
	reader->has_ahead = reader->at < reader->n_gathered;
	if (reader->has_ahead)
		reader->ahead = reader->gathered[reader->at++];
	return IFOREST_OK;
}

enum iforest_status iforest_peak_start(struct iforest_peak_reader *reader, const uint32_t *series, uint32_t n_series)
{
	enum iforest_status status = IFOREST_OK;

	reader->pass.n = reader->n_gathered = reader->at = 0;
	reader->stage = IFOREST_PEAK_DONE;
	reader->has_ahead = false;
	if (n_series == 1) {
		start_series(reader, series[0]);
		return advance(reader);
	}
	for (uint32_t s = 0; s < n_series && !status; s++) {
		start_series(reader, series[s]);
		status = gather(reader);
	}
	if (!status)
		status = sort(reader->gathered, reader->n_gathered, reader->interrupt);
	return status ? status : advance(reader);
}

/* Opens the next span. */
static enum iforest_status open_ahead(struct iforest_peak_reader *reader, struct iforest_peak *peak)
{
	enum iforest_status status = open_span(&reader->pass, reader->ahead.first_time, reader->ahead.last_time, peak);

	return status ? status : advance(reader);
}

enum iforest_status iforest_peak_of_bucket(struct iforest_peak_reader *reader, int64_t bucket, struct iforest_peak *peak)
{
	const struct iforest_window *window = &reader->bucketing.window;
	bool is_whole = reader->bucketing.mode == IFOREST_WHOLE, has_start = !is_whole || window->has_t0, after_all;
	int64_t start = iforest_bucket_start(&reader->bucketing, bucket);
	int64_t end = iforest_bucket_end(&reader->bucketing, bucket, &after_all);
	struct iforest_peak before = { .n = 0 };
	enum iforest_status status = IFOREST_OK;

	if (window->has_t0 && start < window->t0)
		start = window->t0;
	if (window->has_t1 && (after_all || end > window->t1)) {
		end = window->t1;
		after_all = false;
	}
	while (!status && has_start && reader->has_ahead && reader->ahead.first_time < start)
		status = open_ahead(reader, &before);
	*peak = (struct iforest_peak){ .n = 0 };
	if (!status && has_start)
		pass_to(&reader->pass, start, peak);
	while (!status && reader->has_ahead && (after_all || reader->ahead.first_time < end))
		status = open_ahead(reader, peak);
	return status;
}
