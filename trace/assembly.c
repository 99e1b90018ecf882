#include "trace/assembly.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/record.h"
#include "trace/sorter.h"
#include "trace/span_depth.h"

enum {
	SORTER_BYTES = 5 * 1024 * 1024, /* of each of three */
	RECORDS_A_STEP = 256,
	N_REPORT_LINES = 200,
	REPORT_BYTES = 101
};

/* What is left to do once the file is read, in this order. */
enum trace_stage { STAGE_ADD, STAGE_PAIR, STAGE_BIND, STAGE_LINK, STAGE_TRACKS, STAGE_DONE };

/* Records of the sorters. Keys begin with what groups them, then comes the time.
 *
 *     pairs   track, time, order of adding                        begins, ends, states, and flow points of ends
 *     spans   track, time, class, longest first, order of adding  spans, and flow points that are bound by time
 *     flows   key of the flow, time, order of adding              points with what they are bound to */
enum pair_operation { PAIR_BEGIN, PAIR_END, PAIR_STATE, PAIR_POINT };
enum span_class { CLASS_NEXT, CLASS_SPAN, CLASS_ENCLOSING };

/* What a flow point is bound to. */
struct trace_bound {
	uint64_t span, instant;
	uint32_t track;
};

/* A begin whose end has not come. */
struct trace_begun {
	int64_t ts_ns;
	char *data; /* of its record, owned */
	struct trace_text name, category;
};

/* A span that flow points may lie in. */
struct trace_candidate {
	uint64_t number;
	int64_t ts_ns, dur_ns;
};

struct trace_reported {
	struct trace_report_line line;
	char text[REPORT_BYTES];
};

struct trace_assembly {
	struct trace_options options;
	struct trace_sink sink;
	struct trace_wants wants;
	struct trace_tracks tracks;
	struct trace_counts counts;
	struct trace_reported report[N_REPORT_LINES];
	size_t n_report_lines;
	struct trace_problem problem;

	struct trace_record key, data; /* of the record that is being made */
	struct trace_sorter *pairs, *spans, *flows;
	uint64_t n_added, n_spans, n_instants;
	struct trace_bound last; /* event added */
	bool last_is_end;
	const struct trace_track *last_track;
	int64_t last_ts_ns;

	enum trace_stage stage;
	uint32_t track; /* whose records are at hand; 0 before the first */
	struct trace_begun *begun;
	size_t n_begun, n_begun_allocated;
	uint64_t closed; /* the span that the last end has closed; 0 if none */
	struct trace_span_depth depths;
	struct trace_candidate *candidates;
	size_t n_candidates, n_candidates_allocated;
	char **waiting; /* data of flow points that wait for the next span, owned */
	size_t n_waiting, n_waiting_allocated;
	struct trace_bytes flow_key;
	bool has_flow; /* of this key, in `from` */
	struct trace_flow_end from;
};

/* ---- Life ---- */

struct trace_assembly *trace_assembly_new(const struct trace_options *options, const struct trace_sink *sink)
{
	struct trace_assembly *assembly = calloc(1, sizeof *assembly);

	if (!assembly)
		return NULL;
	assembly->options = *options;
	assembly->sink = *sink;
	assembly->wants = (struct trace_wants){
		.spans = sink->on_span || sink->on_flow,
		.args = options->args,
		.samples = sink->on_sample,
		.instants = sink->on_instant || sink->on_flow,
		.flows = sink->on_flow,
	};
	assembly->pairs = trace_sorter_new(SORTER_BYTES);
	assembly->spans = trace_sorter_new(SORTER_BYTES);
	assembly->flows = trace_sorter_new(SORTER_BYTES);
	if (assembly->pairs && assembly->spans && assembly->flows)
		return assembly;
	trace_assembly_free(assembly);
	return NULL;
}

void trace_assembly_free(struct trace_assembly *assembly)
{
	if (!assembly)
		return;
	for (size_t i = 0; i < assembly->n_begun; i++)
		free(assembly->begun[i].data);
	for (size_t i = 0; i < assembly->n_waiting; i++)
		free(assembly->waiting[i]);
	free(assembly->begun);
	free(assembly->waiting);
	free(assembly->candidates);
	trace_sorter_free(assembly->pairs);
	trace_sorter_free(assembly->spans);
	trace_sorter_free(assembly->flows);
	trace_record_release(&assembly->key);
	trace_record_release(&assembly->data);
	trace_bytes_release(&assembly->flow_key);
	trace_span_depth_release(&assembly->depths);
	trace_tracks_release(&assembly->tracks);
	free(assembly);
}

struct trace_wants trace_assembly_wants(const struct trace_assembly *assembly)
{
	return assembly->wants;
}

const struct trace_problem *trace_assembly_problem(const struct trace_assembly *assembly)
{
	return &assembly->problem;
}

const struct trace_counts *trace_assembly_counts(const struct trace_assembly *assembly)
{
	return &assembly->counts;
}

/* ---- Report and errors ---- */

const struct trace_report_line *trace_assembly_report(const struct trace_assembly *assembly, size_t i)
{
	return i < assembly->n_report_lines ? &assembly->report[i].line : NULL;
}

void trace_count_event(struct trace_assembly *assembly)
{
	assembly->counts.n_events++;
}

static struct trace_reported *find_line(struct trace_assembly *assembly, enum trace_finding finding, const char *text)
{
	struct trace_reported *reported;

	for (size_t i = 0; i < assembly->n_report_lines; i++) {
		reported = &assembly->report[i];
		if (reported->line.finding == finding && strcmp(reported->text, text) == 0)
			return reported;
	}
	if (assembly->n_report_lines == N_REPORT_LINES)
		return NULL;
	reported = &assembly->report[assembly->n_report_lines++];
	snprintf(reported->text, sizeof reported->text, "%s", text);
	reported->line = (struct trace_report_line){ finding, reported->text, 0 };
	return reported;
}

int trace_report_add(struct trace_assembly *assembly, enum trace_finding finding, uint64_t n, const char *format, ...)
{
	char text[REPORT_BYTES];
	struct trace_reported *reported;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	/* the last line but one is for all that have none of their own; the last, for the other finding */
	reported = assembly->n_report_lines < N_REPORT_LINES - 2 ? find_line(assembly, finding, text)
								 : find_line(assembly, finding, "other reasons");
	if (reported)
		reported->line.n += n;
	return TRACE_OK;
}

int trace_fail(struct trace_assembly *assembly, int status, uint64_t offset, const char *format, ...)
{
	struct trace_problem *problem = &assembly->problem;
	va_list arguments;

	problem->has_offset = true;
	problem->offset = offset;
	va_start(arguments, format);
	vsnprintf(problem->text, sizeof problem->text, format, arguments);
	va_end(arguments);
	return status;
}

static int fail_anywhere(struct trace_assembly *assembly, int status, const char *text)
{
	assembly->problem.has_offset = false;
	snprintf(assembly->problem.text, sizeof assembly->problem.text, "%s", text);
	return status;
}

static int checked(struct trace_assembly *assembly, int status)
{
	return status == TRACE_ERROR_MEMORY ? fail_anywhere(assembly, status, "out of memory") : status;
}

static int checked_sorter(struct trace_assembly *assembly, const struct trace_sorter *sorter, int status)
{
	if (status == TRACE_ERROR_TEMPORARY)
		return fail_anywhere(assembly, status, trace_sorter_problem(sorter));
	if (status == TRACE_ERROR_LIMIT)
		return fail_anywhere(assembly, status, "an event is too long to be sorted");
	return checked(assembly, status);
}

/* ---- Tracks ---- */

int trace_find_track(struct trace_assembly *assembly, const struct trace_track_identity *identity, struct trace_track **track)
{
	return checked(assembly, trace_tracks_find(&assembly->tracks, identity, track));
}

int trace_find_process(struct trace_assembly *assembly, struct trace_text pid, struct trace_track **track)
{
	struct trace_track_identity identity = { .kind = TRACE_TRACK_PROCESS, .key = pid, .pid = pid };

	return trace_find_track(assembly, &identity, track);
}

int trace_find_thread(struct trace_assembly *assembly, struct trace_text pid, struct trace_text tid, struct trace_track **track)
{
	if (!pid.data)
		pid = (struct trace_text){ "", 0 };
	if (!tid.data)
		tid = (struct trace_text){ "", 0 };
	return checked(assembly, trace_tracks_find_thread(&assembly->tracks, pid, tid, track));
}

int trace_name_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text name)
{
	return checked(assembly, trace_tracks_set_text(&track->name, name));
}

int trace_label_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text labels)
{
	return checked(assembly, trace_tracks_set_text(&track->labels, labels));
}

void trace_sort_track(struct trace_track *track, int64_t sort_index)
{
	track->has_sort_index = true;
	track->sort_index = sort_index;
}

int trace_set_parent(struct trace_assembly *assembly, struct trace_track *track, struct trace_track *parent)
{
	for (const struct trace_track *above = parent; above; above = above->parent) {
		if (above == track)
			return fail_anywhere(assembly, TRACE_ERROR_FORMAT, "a track would be its own parent");
	}
	track->parent = parent;
	return TRACE_OK;
}

static const struct trace_track *track_of(const struct trace_assembly *assembly, uint32_t number)
{
	return number ? assembly->tracks.by_number[number - 1] : NULL;
}

/* ---- Records ---- */

static void begin_record(struct trace_assembly *assembly)
{
	trace_record_clear(&assembly->key);
	trace_record_clear(&assembly->data);
}

static int end_record(struct trace_assembly *assembly, struct trace_sorter *sorter)
{
	struct trace_bytes *key = &assembly->key.bytes, *data = &assembly->data.bytes;

	if (assembly->key.out_of_memory || assembly->data.out_of_memory)
		return checked(assembly, TRACE_ERROR_MEMORY);
	return checked_sorter(assembly, sorter,
			      trace_sorter_add(sorter, (struct trace_text){ key->data, key->n_bytes },
					       (struct trace_text){ data->data, data->n_bytes }));
}

static void put_place(struct trace_assembly *assembly, const struct trace_track *track, int64_t ts_ns)
{
	trace_put_u32(&assembly->key, track->number);
	trace_put_i64(&assembly->key, ts_ns);
}

static void put_literal(struct trace_record *record, const char *literal)
{
	trace_put_u64(record, (uint64_t)(uintptr_t)literal);
}

static const char *take_literal(struct trace_unpacking *unpacking)
{
	return (const char *)(uintptr_t)trace_take_u64(unpacking);
}

static struct trace_text or_empty(struct trace_text text)
{
	return text.data ? text : (struct trace_text){ "", 0 };
}

/* The event of a span, behind its number; texts that nobody will see are left out. */
static void put_event(struct trace_record *record, const struct trace_event *event, bool with_texts)
{
	static const struct trace_text none = { NULL, 0 };

	trace_put_u32(record, event->thread ? event->thread->number : 0);
	trace_put_text(record, with_texts ? or_empty(event->name) : none);
	trace_put_text(record, with_texts ? event->category : none);
	trace_put_text(record, with_texts ? event->id : none);
	trace_put_text(record, with_texts ? event->parent_id : none);
	trace_put_text(record, with_texts ? event->trace_id : none);
	trace_put_text(record, with_texts ? event->args : none);
}

static void take_event(const struct trace_assembly *assembly, struct trace_unpacking *unpacking, struct trace_span *span)
{
	span->thread = track_of(assembly, trace_take_u32(unpacking));
	span->name = trace_take_text(unpacking);
	span->category = trace_take_text(unpacking);
	span->id = trace_take_text(unpacking);
	span->parent_id = trace_take_text(unpacking);
	span->trace_id = trace_take_text(unpacking);
	span->args = trace_take_text(unpacking);
}

/* ---- Spans on their way out ---- */

static int hand_out_span(struct trace_assembly *assembly, const struct trace_span *span)
{
	assembly->counts.n_spans++;
	return assembly->sink.on_span ? assembly->sink.on_span(assembly->sink.context, span) : TRACE_OK;
}

/* A span that is known but for its depth and what is bound to it. */
static int pass_span(struct trace_assembly *assembly, const struct trace_span *span)
{
	bool is_complete = assembly->options.complete;
	struct trace_event event = {
		.thread = (struct trace_track *)span->thread,
		.name = span->name,
		.category = span->category,
		.id = span->id,
		.parent_id = span->parent_id,
		.trace_id = span->trace_id,
		.args = span->args,
	};

	if (is_complete || assembly->wants.flows) {
		int status;

		begin_record(assembly);
		put_place(assembly, span->track, span->ts_ns);
		trace_put_u8(&assembly->key, CLASS_SPAN);
		trace_put_u64(&assembly->key, span->dur_ns < 0 ? 0 : UINT64_MAX - (uint64_t)span->dur_ns);
		trace_put_u64(&assembly->key, span->number);
		trace_put_u64(&assembly->data, span->number);
		trace_put_i64(&assembly->data, span->dur_ns);
		put_event(&assembly->data, &event, is_complete);
		status = end_record(assembly, assembly->spans);
		if (status < 0)
			return status;
	}
	return is_complete ? TRACE_OK : hand_out_span(assembly, span);
}

/* ---- Events ---- */

static void remember_event(struct trace_assembly *assembly, const struct trace_event *event, struct trace_bound bound,
			   bool is_end)
{
	assembly->last = bound;
	assembly->last.track = event->track->number;
	assembly->last_is_end = is_end;
	assembly->last_track = event->track;
	assembly->last_ts_ns = event->ts_ns;
}

int trace_add_span(struct trace_assembly *assembly, const struct trace_event *event, int64_t dur_ns)
{
	struct trace_span span = {
		.number = ++assembly->n_spans,
		.track = event->track,
		.thread = event->thread,
		.ts_ns = event->ts_ns,
		.dur_ns = dur_ns,
		.depth = TRACE_UNKNOWN_DEPTH,
		.name = or_empty(event->name),
		.category = event->category,
		.id = event->id,
		.parent_id = event->parent_id,
		.trace_id = event->trace_id,
	};

	if (assembly->wants.args)
		span.args = event->args;
	event->track->is_used = true;
	remember_event(assembly, event, (struct trace_bound){ .span = span.number }, false);
	return pass_span(assembly, &span);
}

static int add_pair_record(struct trace_assembly *assembly, const struct trace_track *track, int64_t ts_ns)
{
	put_place(assembly, track, ts_ns);
	trace_put_u64(&assembly->key, ++assembly->n_added);
	return end_record(assembly, assembly->pairs);
}

static int add_pair(struct trace_assembly *assembly, const struct trace_event *event, enum pair_operation operation)
{
	struct trace_event kept = *event;
	uint64_t number = ++assembly->n_spans;

	if (!assembly->wants.args)
		kept.args = (struct trace_text){ NULL, 0 };
	event->track->is_used = true;
	remember_event(assembly, event, (struct trace_bound){ .span = number }, false);
	begin_record(assembly);
	trace_put_u8(&assembly->data, (uint8_t)operation);
	trace_put_u64(&assembly->data, number);
	put_event(&assembly->data, &kept, true);
	return add_pair_record(assembly, event->track, event->ts_ns);
}

int trace_add_begin(struct trace_assembly *assembly, const struct trace_event *event)
{
	return add_pair(assembly, event, PAIR_BEGIN);
}

int trace_add_state(struct trace_assembly *assembly, const struct trace_event *event)
{
	return add_pair(assembly, event, PAIR_STATE);
}

int trace_add_end(struct trace_assembly *assembly, const struct trace_event *event, const char *unmatched)
{
	remember_event(assembly, event, (struct trace_bound){ 0 }, true);
	begin_record(assembly);
	trace_put_u8(&assembly->data, PAIR_END);
	put_literal(&assembly->data, unmatched);
	trace_put_text(&assembly->data, event->name);
	trace_put_text(&assembly->data, event->category);
	return add_pair_record(assembly, event->track, event->ts_ns);
}

int trace_add_instant(struct trace_assembly *assembly, const struct trace_event *event)
{
	struct trace_instant instant = {
		.number = ++assembly->n_instants,
		.track = event->track,
		.thread = event->thread,
		.ts_ns = event->ts_ns,
		.name = or_empty(event->name),
		.category = event->category,
		.id = event->id,
	};

	if (assembly->wants.args)
		instant.args = event->args;
	event->track->is_used = true;
	remember_event(assembly, event, (struct trace_bound){ .instant = instant.number }, false);
	assembly->counts.n_instants++;
	return assembly->sink.on_instant ? assembly->sink.on_instant(assembly->sink.context, &instant) : TRACE_OK;
}

int trace_add_sample(struct trace_assembly *assembly, const struct trace_sample *sample)
{
	if (sample->track)
		assembly->tracks.by_number[sample->track->number - 1]->is_used = true;
	assembly->counts.n_samples++;
	return assembly->sink.on_sample ? assembly->sink.on_sample(assembly->sink.context, sample) : TRACE_OK;
}

/* ---- Flows ---- */

static void put_point(struct trace_assembly *assembly, const struct trace_flow_point *point)
{
	struct trace_record *data = &assembly->data;

	trace_put_i64(data, point->ts_ns);
	trace_put_u64(data, ++assembly->n_added);
	trace_put_u8(data, (uint8_t)point->role);
	put_literal(data, point->what);
	trace_put_text(data, or_empty(point->key));
	trace_put_text(data, point->name);
	trace_put_text(data, point->category);
	trace_put_text(data, point->id);
}

/* A point as put_point() has put it, but for the order of adding. */
static struct trace_flow_point take_point(struct trace_unpacking *unpacking, uint64_t *order)
{
	struct trace_flow_point point = { .ts_ns = trace_take_i64(unpacking) };

	*order = trace_take_u64(unpacking);
	point.role = trace_take_u8(unpacking);
	point.what = take_literal(unpacking);
	point.key = trace_take_text(unpacking);
	point.name = trace_take_text(unpacking);
	point.category = trace_take_text(unpacking);
	point.id = trace_take_text(unpacking);
	return point;
}

static int add_bound_point(struct trace_assembly *assembly, const struct trace_flow_point *point, uint64_t order,
			   struct trace_bound bound)
{
	struct trace_record *data = &assembly->data;

	if (!bound.span && !bound.instant)
		return trace_report_add(assembly, TRACE_LEFT_OUT, 1, "%s binds to no span", point->what);
	begin_record(assembly);
	trace_put_text(&assembly->key, or_empty(point->key));
	trace_put_i64(&assembly->key, point->role == TRACE_FLOW_SOURCE ? INT64_MIN : point->ts_ns);
	trace_put_u64(&assembly->key, order);
	trace_put_u8(data, (uint8_t)point->role);
	put_literal(data, point->what);
	trace_put_u64(data, bound.span);
	trace_put_u64(data, bound.instant);
	trace_put_u32(data, bound.track);
	trace_put_i64(data, point->ts_ns);
	trace_put_text(data, point->name);
	trace_put_text(data, point->category);
	trace_put_text(data, point->id);
	return end_record(assembly, assembly->flows);
}

/* A point that is bound by time waits among the spans of its track. */
static int add_placed_point(struct trace_assembly *assembly, const struct trace_flow_point *point)
{
	begin_record(assembly);
	put_place(assembly, point->track, point->ts_ns);
	trace_put_u8(&assembly->key, point->binding == TRACE_BIND_NEXT ? CLASS_NEXT : CLASS_ENCLOSING);
	put_point(assembly, point);
	trace_put_u64(&assembly->key, assembly->n_added);
	return end_record(assembly, assembly->spans);
}

int trace_add_flow_point(struct trace_assembly *assembly, const struct trace_flow_point *point)
{
	if (!assembly->wants.flows)
		return TRACE_OK;
	if (point->binding != TRACE_BIND_EVENT)
		return add_placed_point(assembly, point);
	if (!assembly->last_is_end)
		return add_bound_point(assembly, point, ++assembly->n_added, assembly->last);
	begin_record(assembly);
	trace_put_u8(&assembly->data, PAIR_POINT);
	put_point(assembly, point);
	return add_pair_record(assembly, assembly->last_track, assembly->last_ts_ns);
}

/* ---- Begins and ends ---- */

static struct trace_span begun_span(const struct trace_assembly *assembly, const struct trace_begun *begun)
{
	struct trace_unpacking unpacking = { begun->data + 1 };
	struct trace_span span = {
		.number = trace_take_u64(&unpacking),
		.track = track_of(assembly, assembly->track),
		.ts_ns = begun->ts_ns,
		.dur_ns = TRACE_NEVER_CLOSED,
		.depth = TRACE_UNKNOWN_DEPTH,
	};

	take_event(assembly, &unpacking, &span);
	return span;
}

static int push_begun(struct trace_assembly *assembly, int64_t ts_ns, struct trace_text data)
{
	struct trace_begun *begun;
	struct trace_span span;

	if (assembly->n_begun == assembly->n_begun_allocated) {
		size_t n_allocated = assembly->n_begun_allocated ? 2 * assembly->n_begun_allocated : 64;

		begun = realloc(assembly->begun, n_allocated * sizeof *begun);
		if (!begun)
			return checked(assembly, TRACE_ERROR_MEMORY);
		assembly->begun = begun;
		assembly->n_begun_allocated = n_allocated;
	}
	begun = &assembly->begun[assembly->n_begun];
	*begun = (struct trace_begun){ .ts_ns = ts_ns, .data = malloc(data.n_bytes) };
	if (!begun->data)
		return checked(assembly, TRACE_ERROR_MEMORY);
	memcpy(begun->data, data.data, data.n_bytes);
	span = begun_span(assembly, begun);
	begun->name = span.name;
	begun->category = span.category;
	assembly->n_begun++;
	return TRACE_OK;
}

static bool fits(struct trace_text wanted, struct trace_text text)
{
	return !wanted.data ||
	       (text.data && wanted.n_bytes == text.n_bytes && memcmp(wanted.data, text.data, text.n_bytes) == 0);
}

/* Takes a span off the stack and hands it on, as it ends here. */
static int close_place(struct trace_assembly *assembly, size_t i, int64_t ts_ns)
{
	struct trace_begun begun = assembly->begun[i];
	struct trace_span span = begun_span(assembly, &begun);
	int status;

	assembly->n_begun--;
	memmove(&assembly->begun[i], &assembly->begun[i + 1], (assembly->n_begun - i) * sizeof begun);
	if ((uint64_t)ts_ns - (uint64_t)span.ts_ns > INT64_MAX) {
		status = trace_report_add(assembly, TRACE_LEFT_OUT, 1, "span longer than 64-bit nanoseconds");
	} else {
		span.dur_ns = (int64_t)((uint64_t)ts_ns - (uint64_t)span.ts_ns);
		assembly->closed = span.number;
		status = pass_span(assembly, &span);
	}
	free(begun.data);
	return status;
}

/* A state ends the one before, unless it is the same one. */
static int turn_state(struct trace_assembly *assembly, int64_t ts_ns, struct trace_text data)
{
	int status = push_begun(assembly, ts_ns, data);
	size_t n = assembly->n_begun;
	const struct trace_begun *before, *begun;

	if (status < 0)
		return status;
	begun = &assembly->begun[n - 1];
	before = n > 1 ? begun - 1 : NULL;
	if (begun->name.n_bytes == 0 || (before && fits(begun->name, before->name))) {
		bool is_end = begun->name.n_bytes == 0;

		free(begun->data);
		assembly->n_begun--;
		return before && is_end ? close_place(assembly, n - 2, ts_ns) : TRACE_OK;
	}
	return before ? close_place(assembly, n - 2, ts_ns) : TRACE_OK;
}

static int close_begun(struct trace_assembly *assembly, int64_t ts_ns, struct trace_unpacking *end)
{
	const char *unmatched = take_literal(end);
	struct trace_text name = trace_take_text(end), category = trace_take_text(end);
	size_t i = assembly->n_begun;

	assembly->closed = 0;
	while (i > 0 && !(fits(name, assembly->begun[i - 1].name) && fits(category, assembly->begun[i - 1].category)))
		i--;
	return i == 0 ? trace_report_add(assembly, TRACE_LEFT_OUT, 1, "%s", unmatched) : close_place(assembly, i - 1, ts_ns);
}

static int bind_to_closed(struct trace_assembly *assembly, struct trace_unpacking *unpacking)
{
	uint64_t order;
	struct trace_flow_point point = take_point(unpacking, &order);

	return add_bound_point(assembly, &point, order,
			       (struct trace_bound){ .span = assembly->closed, .track = assembly->track });
}

/* The spans of the track that nobody has closed. */
static int end_pairs_of_track(struct trace_assembly *assembly)
{
	int status = TRACE_OK;

	for (size_t i = 0; i < assembly->n_begun; i++) {
		struct trace_span span = begun_span(assembly, &assembly->begun[i]);

		if (status == TRACE_OK)
			status = pass_span(assembly, &span);
		free(assembly->begun[i].data);
	}
	assembly->n_begun = 0;
	return status;
}

static int take_pair(struct trace_assembly *assembly, const struct trace_sorted_record *record)
{
	struct trace_unpacking key = { record->key.data }, data = { record->data.data };
	uint32_t track = trace_take_u32(&key);
	int64_t ts_ns = trace_take_i64(&key);
	int status = track == assembly->track ? TRACE_OK : end_pairs_of_track(assembly);

	assembly->track = track;
	if (status < 0)
		return status;
	switch ((enum pair_operation)trace_take_u8(&data)) {
	case PAIR_BEGIN:
		return push_begun(assembly, ts_ns, record->data);
	case PAIR_END:
		return close_begun(assembly, ts_ns, &data);
	case PAIR_STATE:
		return turn_state(assembly, ts_ns, record->data);
	case PAIR_POINT:
		return bind_to_closed(assembly, &data);
	}
	return TRACE_OK;
}

/* ---- Depths, and what flow points are bound to by time ---- */

static int wait_for_span(struct trace_assembly *assembly, struct trace_text data)
{
	char *copy = malloc(data.n_bytes);

	if (!copy)
		return checked(assembly, TRACE_ERROR_MEMORY);
	memcpy(copy, data.data, data.n_bytes);
	if (assembly->n_waiting == assembly->n_waiting_allocated) {
		size_t n_allocated = assembly->n_waiting_allocated ? 2 * assembly->n_waiting_allocated : 64;
		char **waiting = realloc(assembly->waiting, n_allocated * sizeof(char *));

		if (!waiting) {
			free(copy);
			return checked(assembly, TRACE_ERROR_MEMORY);
		}
		assembly->waiting = waiting;
		assembly->n_waiting_allocated = n_allocated;
	}
	assembly->waiting[assembly->n_waiting++] = copy;
	return TRACE_OK;
}

/* Binds the points that wait to a span; 0 is none. */
static int bind_waiting(struct trace_assembly *assembly, uint64_t span)
{
	int status = TRACE_OK;

	for (size_t i = 0; i < assembly->n_waiting; i++) {
		struct trace_unpacking unpacking = { assembly->waiting[i] };
		uint64_t order;
		struct trace_flow_point point = take_point(&unpacking, &order);

		if (status == TRACE_OK)
			status = add_bound_point(assembly, &point, order,
						 (struct trace_bound){ .span = span, .track = assembly->track });
		free(assembly->waiting[i]);
	}
	assembly->n_waiting = 0;
	return status;
}

static int add_candidate(struct trace_assembly *assembly, const struct trace_span *span)
{
	if (assembly->n_candidates == assembly->n_candidates_allocated) {
		size_t n_allocated = assembly->n_candidates_allocated ? 2 * assembly->n_candidates_allocated : 64;
		struct trace_candidate *candidates = realloc(assembly->candidates, n_allocated * sizeof *candidates);

		if (!candidates)
			return checked(assembly, TRACE_ERROR_MEMORY);
		assembly->candidates = candidates;
		assembly->n_candidates_allocated = n_allocated;
	}
	assembly->candidates[assembly->n_candidates++] = (struct trace_candidate){ span->number, span->ts_ns, span->dur_ns };
	return TRACE_OK;
}

/* Times only grow, so what has ended before this one is no candidate any more. */
static void drop_ended(struct trace_assembly *assembly, int64_t ts_ns)
{
	while (assembly->n_candidates > 0) {
		const struct trace_candidate *top = &assembly->candidates[assembly->n_candidates - 1];

		if (top->dur_ns < 0 || (uint64_t)ts_ns - (uint64_t)top->ts_ns <= (uint64_t)top->dur_ns)
			break;
		assembly->n_candidates--;
	}
}

static int bind_to_enclosing(struct trace_assembly *assembly, struct trace_unpacking *unpacking)
{
	uint64_t order;
	struct trace_flow_point point = take_point(unpacking, &order);
	struct trace_bound bound = { .track = assembly->track };

	drop_ended(assembly, point.ts_ns);
	if (assembly->n_candidates > 0)
		bound.span = assembly->candidates[assembly->n_candidates - 1].number;
	return add_bound_point(assembly, &point, order, bound);
}

static int finish_span(struct trace_assembly *assembly, int64_t ts_ns, struct trace_unpacking *data)
{
	struct trace_span span = { .track = track_of(assembly, assembly->track), .ts_ns = ts_ns };
	int status;

	span.number = trace_take_u64(data);
	span.dur_ns = trace_take_i64(data);
	take_event(assembly, data, &span);
	status = bind_waiting(assembly, span.number);
	if (status == TRACE_OK && assembly->wants.flows) {
		drop_ended(assembly, ts_ns);
		status = add_candidate(assembly, &span);
	}
	if (status < 0 || !assembly->options.complete)
		return status;
	if (trace_span_depth_next(&assembly->depths, span.ts_ns, span.dur_ns, &span.depth) < 0)
		return checked(assembly, TRACE_ERROR_MEMORY);
	return hand_out_span(assembly, &span);
}

static int end_spans_of_track(struct trace_assembly *assembly)
{
	assembly->n_candidates = 0;
	trace_span_depth_start_track(&assembly->depths);
	return bind_waiting(assembly, 0);
}

static int take_span(struct trace_assembly *assembly, const struct trace_sorted_record *record)
{
	struct trace_unpacking key = { record->key.data }, data = { record->data.data };
	uint32_t track = trace_take_u32(&key);
	int64_t ts_ns = trace_take_i64(&key);
	int status = track == assembly->track ? TRACE_OK : end_spans_of_track(assembly);

	assembly->track = track;
	if (status < 0)
		return status;
	switch ((enum span_class)trace_take_u8(&key)) {
	case CLASS_NEXT:
		return wait_for_span(assembly, record->data);
	case CLASS_SPAN:
		return finish_span(assembly, ts_ns, &data);
	case CLASS_ENCLOSING:
		return bind_to_enclosing(assembly, &data);
	}
	return TRACE_OK;
}

/* ---- Links of flows ---- */

static int link_points(struct trace_assembly *assembly, const struct trace_flow_point *point, const struct trace_flow_end *to)
{
	struct trace_flow flow = {
		.from = assembly->from,
		.to = *to,
		.name = point->name,
		.category = point->category,
		.id = point->id,
	};

	assembly->counts.n_flows++;
	return assembly->sink.on_flow(assembly->sink.context, &flow);
}

static int follow_flow(struct trace_assembly *assembly, const struct trace_flow_point *point, const struct trace_flow_end *end)
{
	bool is_source = point->role == TRACE_FLOW_SOURCE;
	bool begins = is_source || point->role == TRACE_FLOW_START || point->role == TRACE_FLOW_OPEN ||
		      (point->role == TRACE_FLOW_JOIN && !assembly->has_flow);
	int status = TRACE_OK;

	if (is_source && assembly->has_flow)
		return TRACE_OK;
	if (point->role == TRACE_FLOW_OPEN && assembly->has_flow)
		return trace_report_add(assembly, TRACE_LEFT_OUT, 1, "%s of a flow that has begun", point->what);
	if (!begins && !assembly->has_flow)
		return trace_report_add(assembly, TRACE_LEFT_OUT, 1, "%s without start", point->what);
	if (!begins)
		status = link_points(assembly, point, end);
	assembly->has_flow = point->role != TRACE_FLOW_END;
	if (point->role != TRACE_FLOW_ARRIVE)
		assembly->from = *end;
	return status;
}

static int take_flow(struct trace_assembly *assembly, const struct trace_sorted_record *record)
{
	struct trace_unpacking key = { record->key.data }, data = { record->data.data };
	struct trace_text flow_key = trace_take_text(&key);
	struct trace_bytes *before = &assembly->flow_key;
	struct trace_flow_point point = { 0 };
	struct trace_flow_end end = { 0 };

	if (flow_key.n_bytes != before->n_bytes ||
	    (before->n_bytes > 0 && memcmp(flow_key.data, before->data, before->n_bytes) != 0)) {
		assembly->has_flow = false;
		trace_bytes_clear(before);
		if (trace_bytes_append(before, flow_key, NULL) < 0)
			return checked(assembly, TRACE_ERROR_MEMORY);
	}
	point.role = trace_take_u8(&data);
	point.what = take_literal(&data);
	end.span = trace_take_u64(&data);
	end.instant = trace_take_u64(&data);
	end.track = track_of(assembly, trace_take_u32(&data));
	end.ts_ns = trace_take_i64(&data);
	point.name = trace_take_text(&data);
	point.category = trace_take_text(&data);
	point.id = trace_take_text(&data);
	return follow_flow(assembly, &point, &end);
}

/* ---- What is left to do when the file is read ---- */

/* Takes some records from a sorter: TRACE_ROW if there are more. */
static int sweep(struct trace_assembly *assembly, struct trace_sorter *sorter,
		 int (*take)(struct trace_assembly *assembly, const struct trace_sorted_record *record))
{
	for (int i = 0; i < RECORDS_A_STEP; i++) {
		struct trace_sorted_record record;
		int status = checked_sorter(assembly, sorter, trace_sorter_next(sorter, &record));

		if (status == TRACE_ROW)
			status = take(assembly, &record);
		else if (status == TRACE_OK)
			return TRACE_OK;
		if (status < 0)
			return status;
	}
	return TRACE_ROW;
}

static int hand_out_tracks(struct trace_assembly *assembly)
{
	for (int i = 0; i < RECORDS_A_STEP; i++) {
		int status;

		if (assembly->counts.n_tracks == assembly->tracks.n_tracks)
			return TRACE_OK;
		assembly->counts.n_tracks++;
		status = assembly->sink.on_track
				 ? assembly->sink.on_track(assembly->sink.context,
							   track_of(assembly, (uint32_t)assembly->counts.n_tracks))
				 : TRACE_OK;
		if (status < 0)
			return status;
	}
	return TRACE_ROW;
}

static int do_stage(struct trace_assembly *assembly)
{
	switch (assembly->stage) {
	case STAGE_ADD:
	case STAGE_DONE:
		return TRACE_OK;
	case STAGE_PAIR:
		return sweep(assembly, assembly->pairs, take_pair);
	case STAGE_BIND:
		return sweep(assembly, assembly->spans, take_span);
	case STAGE_LINK:
		return sweep(assembly, assembly->flows, take_flow);
	case STAGE_TRACKS:
		return hand_out_tracks(assembly);
	}
	return TRACE_OK;
}

static int sort_for(struct trace_assembly *assembly, struct trace_sorter *sorter)
{
	assembly->track = 0;
	return checked_sorter(assembly, sorter, trace_sorter_sort(sorter));
}

/* What a sorter has given is given: its memory and its file are free for the next. */
static void drop_sorter(struct trace_sorter **sorter)
{
	trace_sorter_free(*sorter);
	*sorter = NULL;
}

/* Goes on to the next stage: what one leaves over, the next one needs sorted. */
static int next_stage(struct trace_assembly *assembly)
{
	int status = TRACE_OK;

	switch (assembly->stage++) {
	case STAGE_ADD:
		return sort_for(assembly, assembly->pairs);
	case STAGE_PAIR:
		drop_sorter(&assembly->pairs);
		status = end_pairs_of_track(assembly);
		return status < 0 ? status : sort_for(assembly, assembly->spans);
	case STAGE_BIND:
		drop_sorter(&assembly->spans);
		status = end_spans_of_track(assembly);
		return status < 0 ? status : sort_for(assembly, assembly->flows);
	default:
		return TRACE_OK;
	}
}

int trace_assembly_finish(struct trace_assembly *assembly)
{
	int status = do_stage(assembly);

	if (status != TRACE_OK)
		return status;
	if (assembly->stage == STAGE_DONE)
		return TRACE_OK;
	status = next_stage(assembly);
	return status < 0 ? status : TRACE_ROW;
}
