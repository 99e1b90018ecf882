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
	N_NAME_HASHES = 4096,
	BEGUN_NAME_BYTE = 1 + 8 + 4 /* of the record of a begin: behind its operation, the span's number and its thread's */
};

/* What is left to do once the file is read, in this order. */
enum trace_stage { STAGE_ADD, STAGE_PAIR, STAGE_BIND, STAGE_LINK, STAGE_TRACKS, STAGE_DONE };

/* Records of the sorters. Keys begin with what groups them, then comes the time.
 *
 *     pairs   track, time, order of adding                        begins, ends, states, and flow points of ends
 *     spans   track, time, class, longest first, order of adding  spans, and flow points that are bound by time */
enum pair_operation { PAIR_BEGIN, PAIR_END, PAIR_STATE, PAIR_POINT };
enum span_class { CLASS_NEXT, CLASS_SPAN, CLASS_ENCLOSING };

/* A begin whose end has not come: in the order of time, and among those of the same hash of their names. */
struct trace_begun {
	struct trace_begun *below, *above; /* those begun before and after it */
	struct trace_begun *older;	   /* of the same hash */
	int64_t ts_ns;
	struct trace_text name, category; /* in data */
	size_t n_bytes;			  /* with all of this */
	char data[];			  /* of its record */
};

struct trace_assembly {
	struct trace_options options;
	struct trace_sink sink;
	struct trace_wants wants;
	struct trace_tracks tracks;
	struct trace_counts counts;
	struct trace_report report;

	struct trace_record key, data; /* of the record that is being made */
	struct trace_sorter *pairs, *spans;
	struct trace_flows flows;
	uint64_t n_added, n_spans, n_instants;
	struct trace_bound last; /* event added */
	bool last_is_end;
	const struct trace_track *last_track;
	int64_t last_ts_ns;

	enum trace_stage stage;
	uint32_t track;		 /* whose records are at hand; 0 before the first */
	struct trace_begun *top; /* of those begun, each owned */
	struct trace_begun *newest[N_NAME_HASHES];
	size_t n_begun_bytes; /* of memory for all of them */
	uint64_t closed;      /* the span that the last end has closed; 0 if none */
	struct trace_span_depth depths;
};

/* ---- The stack of those begun ---- */

static struct trace_begun **newest_of(struct trace_assembly *assembly, struct trace_text name)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < name.n_bytes; i++)
		hash = (hash ^ (unsigned char)name.data[i]) * 0x100000001b3u;
	return &assembly->newest[(hash ^ hash >> 32) % N_NAME_HASHES];
}

/* Takes one off the stack, from wherever it is; the caller frees it. O(1) for the newest of its name, expected. */
static struct trace_begun *take_off(struct trace_assembly *assembly, struct trace_begun *begun)
{
	struct trace_begun **link = newest_of(assembly, begun->name);

	while (*link != begun)
		link = &(*link)->older;
	*link = begun->older;
	if (begun->above)
		begun->above->below = begun->below;
	else
		assembly->top = begun->below;
	if (begun->below)
		begun->below->above = begun->above;
	assembly->n_begun_bytes -= begun->n_bytes;
	return begun;
}

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
	assembly->flows = (struct trace_flows){
		.tracks = &assembly->tracks, .sink = &assembly->sink, .counts = &assembly->counts, .report = &assembly->report
	};
	if (trace_flows_begin(&assembly->flows, SORTER_BYTES) == TRACE_OK && assembly->pairs && assembly->spans)
		return assembly;
	trace_assembly_free(assembly);
	return NULL;
}

void trace_assembly_free(struct trace_assembly *assembly)
{
	if (!assembly)
		return;
	while (assembly->top)
		free(take_off(assembly, assembly->top));
	trace_sorter_free(assembly->pairs);
	trace_sorter_free(assembly->spans);
	trace_flows_release(&assembly->flows);
	trace_record_release(&assembly->key);
	trace_record_release(&assembly->data);
	trace_span_depth_release(&assembly->depths);
	trace_tracks_release(&assembly->tracks);
	free(assembly);
}

struct trace_wants trace_assembly_wants(const struct trace_assembly *assembly)
{
	return assembly->wants;
}

const struct trace_counts *trace_assembly_counts(const struct trace_assembly *assembly)
{
	return &assembly->counts;
}

/* ---- Report and errors ---- */

const struct trace_report *trace_assembly_report(const struct trace_assembly *assembly)
{
	return &assembly->report;
}

void trace_count_event(struct trace_assembly *assembly)
{
	assembly->counts.n_events++;
}

int trace_report_add(struct trace_assembly *assembly, enum trace_finding finding, uint64_t n, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	trace_report_count(&assembly->report, finding, n, format, arguments);
	va_end(arguments);
	return TRACE_OK;
}

int trace_fail(struct trace_assembly *assembly, int status, uint64_t offset, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	trace_report_fail(&assembly->report, status, offset, format, arguments);
	va_end(arguments);
	return status;
}

static int checked(struct trace_assembly *assembly, int status)
{
	return trace_report_check(&assembly->report, status);
}

static int checked_sorter(struct trace_assembly *assembly, const struct trace_sorter *sorter, int status)
{
	return trace_report_check_sorter(&assembly->report, sorter, status);
}

/* ---- Tracks ---- */

static int checked_tracks(struct trace_assembly *assembly, int status)
{
	if (status == TRACE_ERROR_LIMIT)
		return trace_report_fail_anywhere(&assembly->report, status, "the tracks up to here take more than 256 MiB");
	return checked(assembly, status);
}

int trace_find_track(struct trace_assembly *assembly, const struct trace_track_identity *identity, struct trace_track **track)
{
	return checked_tracks(assembly, trace_tracks_find(&assembly->tracks, identity, track));
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
	return checked_tracks(assembly, trace_tracks_find_thread(&assembly->tracks, pid, tid, track));
}

int trace_name_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text name)
{
	return checked_tracks(assembly, trace_tracks_set_text(&assembly->tracks, &track->name, name));
}

int trace_label_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text labels)
{
	return checked_tracks(assembly, trace_tracks_set_text(&assembly->tracks, &track->labels, labels));
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
			return trace_report_fail_anywhere(&assembly->report, TRACE_ERROR_FORMAT,
							  "a track would be its own parent");
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
	return checked_sorter(assembly, sorter, trace_sorter_add_record(sorter, &assembly->key, &assembly->data));
}

static void put_place(struct trace_assembly *assembly, const struct trace_track *track, int64_t ts_ns)
{
	trace_put_u32(&assembly->key, track->number);
	trace_put_i64(&assembly->key, ts_ns);
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
	trace_put_literal(&assembly->data, unmatched);
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

/* A point that is bound by time waits among the spans of its track. */
static int add_placed_point(struct trace_assembly *assembly, const struct trace_flow_point *point)
{
	begin_record(assembly);
	put_place(assembly, point->track, point->ts_ns);
	trace_put_u8(&assembly->key, point->binding == TRACE_BIND_NEXT ? CLASS_NEXT : CLASS_ENCLOSING);
	trace_flow_point_put(&assembly->data, point, ++assembly->n_added);
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
		return trace_flows_add(&assembly->flows, point, ++assembly->n_added, assembly->last);
	begin_record(assembly);
	trace_put_u8(&assembly->data, PAIR_POINT);
	trace_flow_point_put(&assembly->data, point, ++assembly->n_added);
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
	size_t n_bytes = sizeof(struct trace_begun) + data.n_bytes;
	struct trace_begun *begun, **newest;
	struct trace_unpacking unpacking;

	if (n_bytes > TRACE_MAX_KEPT_BYTES - assembly->n_begun_bytes)
		return trace_report_fail_anywhere(&assembly->report, TRACE_ERROR_LIMIT,
						  "more than 256 MiB of spans are open at a time on a track");
	begun = malloc(n_bytes);
	if (!begun)
		return checked(assembly, TRACE_ERROR_MEMORY);
	assembly->n_begun_bytes += n_bytes;
	*begun = (struct trace_begun){ .below = assembly->top, .ts_ns = ts_ns, .n_bytes = n_bytes };
	memcpy(begun->data, data.data, data.n_bytes);
	unpacking.at = begun->data + BEGUN_NAME_BYTE;
	begun->name = trace_take_text(&unpacking);
	begun->category = trace_take_text(&unpacking);
	newest = newest_of(assembly, begun->name);
	begun->older = *newest;
	*newest = begun;
	if (assembly->top)
		assembly->top->above = begun;
	assembly->top = begun;
	return TRACE_OK;
}

static bool fits(struct trace_text wanted, struct trace_text text)
{
	return !wanted.data ||
	       (text.data && wanted.n_bytes == text.n_bytes && memcmp(wanted.data, text.data, text.n_bytes) == 0);
}

/* Takes a span off the stack and hands it on, as it ends here. */
static int close_span(struct trace_assembly *assembly, struct trace_begun *begun, int64_t ts_ns)
{
	struct trace_span span = begun_span(assembly, begun);
	int status;

	take_off(assembly, begun);
	if ((uint64_t)ts_ns - (uint64_t)span.ts_ns > INT64_MAX) {
		status = trace_report_add(assembly, TRACE_LEFT_OUT, 1, "span longer than 64-bit nanoseconds");
	} else {
		span.dur_ns = (int64_t)((uint64_t)ts_ns - (uint64_t)span.ts_ns);
		assembly->closed = span.number;
		status = pass_span(assembly, &span);
	}
	free(begun);
	return status;
}

/* A state ends the one before, unless it is the same one. */
static int turn_state(struct trace_assembly *assembly, int64_t ts_ns, struct trace_text data)
{
	int status = push_begun(assembly, ts_ns, data);
	struct trace_begun *begun = assembly->top, *before;
	bool is_end;

	if (status < 0)
		return status;
	before = begun->below;
	is_end = begun->name.n_bytes == 0;
	if (is_end || (before && fits(begun->name, before->name))) {
		free(take_off(assembly, begun));
		return before && is_end ? close_span(assembly, before, ts_ns) : TRACE_OK;
	}
	return before ? close_span(assembly, before, ts_ns) : TRACE_OK;
}

/* The innermost open span that an end fits, or NULL. O(1) expected, but for an end with a category alone. */
static struct trace_begun *find_begun(struct trace_assembly *assembly, struct trace_text name, struct trace_text category)
{
	struct trace_begun *begun = name.data ? *newest_of(assembly, name) : assembly->top;

	while (begun && !(fits(name, begun->name) && fits(category, begun->category)))
		begun = name.data ? begun->older : begun->below;
	return begun;
}

static int close_begun(struct trace_assembly *assembly, int64_t ts_ns, struct trace_unpacking *end)
{
	const char *unmatched = trace_take_literal(end);
	struct trace_text name = trace_take_text(end), category = trace_take_text(end);
	struct trace_begun *begun = find_begun(assembly, name, category);

	assembly->closed = 0;
	return begun ? close_span(assembly, begun, ts_ns) : trace_report_add(assembly, TRACE_LEFT_OUT, 1, "%s", unmatched);
}

static int bind_to_closed(struct trace_assembly *assembly, struct trace_unpacking *unpacking)
{
	uint64_t order;
	struct trace_flow_point point = trace_flow_point_take(unpacking, &order);

	return trace_flows_add(&assembly->flows, &point, order,
			       (struct trace_bound){ .span = assembly->closed, .track = assembly->track });
}

/* The spans of the track that nobody has closed, the first one first. */
static int end_pairs_of_track(struct trace_assembly *assembly)
{
	struct trace_begun *begun = assembly->top, *above;
	int status = TRACE_OK;

	while (begun && begun->below)
		begun = begun->below;
	for (; begun && status == TRACE_OK; begun = above) {
		struct trace_span span = begun_span(assembly, begun);

		above = begun->above;
		status = pass_span(assembly, &span);
	}
	while (assembly->top)
		free(take_off(assembly, assembly->top));
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

static int finish_span(struct trace_assembly *assembly, int64_t ts_ns, struct trace_unpacking *data)
{
	struct trace_span span = { .track = track_of(assembly, assembly->track), .ts_ns = ts_ns };
	int status;

	span.number = trace_take_u64(data);
	span.dur_ns = trace_take_i64(data);
	take_event(assembly, data, &span);
	status = assembly->wants.flows ? trace_flows_pass_span(&assembly->flows, &span) : TRACE_OK;
	if (status < 0 || !assembly->options.complete)
		return status;
	if (trace_span_depth_next(&assembly->depths, span.ts_ns, span.dur_ns, &span.depth) < 0)
		return checked(assembly, TRACE_ERROR_MEMORY);
	return hand_out_span(assembly, &span);
}

static int end_spans_of_track(struct trace_assembly *assembly)
{
	trace_span_depth_start_track(&assembly->depths);
	return trace_flows_end_track(&assembly->flows, assembly->track);
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
		return trace_flows_bind_next(&assembly->flows, record->data);
	case CLASS_SPAN:
		return finish_span(assembly, ts_ns, &data);
	case CLASS_ENCLOSING:
		return trace_flows_bind_enclosing(&assembly->flows, &data, track);
	}
	return TRACE_OK;
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

static int link_flows(struct trace_assembly *assembly)
{
	int status = TRACE_ROW;

	for (int i = 0; status == TRACE_ROW && i < RECORDS_A_STEP; i++)
		status = trace_flows_next(&assembly->flows);
	return status;
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
		return link_flows(assembly);
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
		return status < 0 ? status : trace_flows_sort(&assembly->flows);
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
