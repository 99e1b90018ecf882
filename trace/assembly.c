#include "trace/assembly.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/pairing.h"
#include "trace/span_depth.h"

enum {
	SORTER_BYTES = 5 * 1024 * 1024, /* of each of the four sorters */
	RECORDS_A_STEP = 256
};

/* Stages after the file is read, in this order. */
enum trace_stage { STAGE_ADD, STAGE_PAIR, STAGE_BIND, STAGE_LINK, STAGE_TRACKS, STAGE_DONE };

/* Records of the span sorter are ordered by track, time, class, duration (longest first) and order of addition. They include
 * flow points that are bound by time. */
enum span_class { CLASS_NEXT, CLASS_SPAN, CLASS_ENCLOSING };

struct trace_assembly {
	struct trace_options options;
	struct trace_sink sink;
	struct trace_wants wants;
	struct trace_tracks tracks;
	struct trace_counts counts;
	struct trace_report report;

	struct trace_record key, data; /* of the record that is being made */
	struct trace_pairing pairing;
	struct trace_sorter *spans;
	struct trace_flows flows;
	uint64_t n_added, n_spans, n_instants;
	struct trace_bound last; /* the event that was added last */
	bool last_is_end;
	const struct trace_track *last_track;
	int64_t last_ts_ns;

	enum trace_stage stage;
	uint32_t track; /* the track being processed; 0 before the first */
	struct trace_span_depth depths;
};

/* ---- Life ---- */

static int pass_paired_span(void *context, const struct trace_paired_span *paired);
static int bind_to_closed(void *context, struct trace_text packed, uint32_t track, uint64_t span);

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
	assembly->spans = trace_sorter_new(SORTER_BYTES);
	assembly->pairing = (struct trace_pairing){
		.report = &assembly->report, .context = assembly, .on_span = pass_paired_span, .on_point = bind_to_closed
	};
	assembly->flows = (struct trace_flows){
		.tracks = &assembly->tracks, .sink = &assembly->sink, .counts = &assembly->counts, .report = &assembly->report
	};
	if (trace_flows_begin(&assembly->flows, SORTER_BYTES) == TRACE_OK &&
	    trace_pairing_begin(&assembly->pairing, SORTER_BYTES) == TRACE_OK && assembly->spans)
		return assembly;
	trace_assembly_free(assembly);
	return NULL;
}

void trace_assembly_free(struct trace_assembly *assembly)
{
	if (!assembly)
		return;
	trace_pairing_release(&assembly->pairing);
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

int trace_leave_out(struct trace_assembly *assembly, uint64_t n, const char *what)
{
	trace_report_count_text(&assembly->report, TRACE_LEFT_OUT, n, what);
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

/* Packs the event of a span, with or without its texts. */
static void put_event(struct trace_record *record, const struct trace_event *event, bool with_texts)
{
	static const struct trace_text none = { NULL, 0 };

	trace_put_text(record, with_texts ? or_empty(event->name) : none);
	trace_put_text(record, with_texts ? event->category : none);
	trace_put_u32(record, event->thread ? event->thread->number : 0);
	trace_put_text(record, with_texts ? event->id : none);
	trace_put_text(record, with_texts ? event->parent_id : none);
	trace_put_text(record, with_texts ? event->trace_id : none);
	trace_put_text(record, with_texts ? event->args : none);
}

static void take_event(const struct trace_assembly *assembly, struct trace_unpacking *unpacking, struct trace_span *span)
{
	span->name = trace_take_text(unpacking);
	span->category = trace_take_text(unpacking);
	span->thread = track_of(assembly, trace_take_u32(unpacking));
	span->id = trace_take_text(unpacking);
	span->parent_id = trace_take_text(unpacking);
	span->trace_id = trace_take_text(unpacking);
	span->args = trace_take_text(unpacking);
}

/* ---- Output of spans ---- */

static int hand_out_span(struct trace_assembly *assembly, const struct trace_span *span)
{
	assembly->counts.n_spans++;
	return assembly->sink.on_span ? assembly->sink.on_span(assembly->sink.context, span) : TRACE_OK;
}

/* Adds a span to the sorter, where it waits for its depth and for the points that are bound to it. */
static int sort_span(struct trace_assembly *assembly, const struct trace_span *span)
{
	struct trace_event event = {
		.thread = (struct trace_track *)span->thread,
		.name = span->name,
		.category = span->category,
		.id = span->id,
		.parent_id = span->parent_id,
		.trace_id = span->trace_id,
		.args = span->args,
	};

	begin_record(assembly);
	put_place(assembly, span->track, span->ts_ns);
	trace_put_u8(&assembly->key, CLASS_SPAN);
	trace_put_u64(&assembly->key, span->dur_ns < 0 ? 0 : UINT64_MAX - (uint64_t)span->dur_ns);
	trace_put_u64(&assembly->key, span->number);
	trace_put_u64(&assembly->data, span->number);
	trace_put_i64(&assembly->data, span->dur_ns);
	put_event(&assembly->data, &event, assembly->options.complete);
	return end_record(assembly, assembly->spans);
}

/* Takes a span that lacks only its depth and the points that are bound to it. It is sorted if either is wanted, and handed out
 * at once unless depths are wanted. */
static int pass_span(struct trace_assembly *assembly, const struct trace_span *span)
{
	bool is_complete = assembly->options.complete;
	int status = is_complete || assembly->wants.flows ? sort_span(assembly, span) : TRACE_OK;

	return status < 0 || is_complete ? status : hand_out_span(assembly, span);
}

/* ---- Events ---- */

void trace_pair_in_file_order(struct trace_assembly *assembly)
{
	assembly->pairing.in_file_order = true;
}

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

static struct trace_text packed_of(const struct trace_record *record)
{
	return (struct trace_text){ record->bytes.data, record->bytes.n_bytes };
}

/* Adds an operation, whose packed texts are in data. */
static int add_pair(struct trace_assembly *assembly, struct trace_pair_operation *operation)
{
	if (assembly->data.out_of_memory)
		return checked(assembly, TRACE_ERROR_MEMORY);
	operation->packed = packed_of(&assembly->data);
	return trace_pairing_add(&assembly->pairing, operation);
}

static int add_start(struct trace_assembly *assembly, const struct trace_event *event, enum trace_pair_kind kind)
{
	struct trace_event kept = *event;
	struct trace_pair_operation operation = {
		.kind = kind, .track = event->track->number, .ts_ns = event->ts_ns, .number = ++assembly->n_spans
	};

	if (!assembly->wants.args)
		kept.args = (struct trace_text){ NULL, 0 };
	event->track->is_used = true;
	remember_event(assembly, event, (struct trace_bound){ .span = operation.number }, false);
	trace_record_clear(&assembly->data);
	put_event(&assembly->data, &kept, true);
	return add_pair(assembly, &operation);
}

int trace_add_begin(struct trace_assembly *assembly, const struct trace_event *event)
{
	return add_start(assembly, event, TRACE_PAIR_BEGIN);
}

int trace_add_state(struct trace_assembly *assembly, const struct trace_event *event)
{
	return add_start(assembly, event, TRACE_PAIR_STATE);
}

int trace_add_end(struct trace_assembly *assembly, const struct trace_event *event, const char *unmatched)
{
	struct trace_pair_operation operation = {
		.kind = TRACE_PAIR_END, .track = event->track->number, .ts_ns = event->ts_ns, .unmatched = unmatched
	};

	remember_event(assembly, event, (struct trace_bound){ 0 }, true);
	trace_record_clear(&assembly->data);
	trace_put_text(&assembly->data, event->name);
	trace_put_text(&assembly->data, event->category);
	return add_pair(assembly, &operation);
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

/* Adds a point that is bound by time to the sorter, among the spans of its track. */
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
	struct trace_pair_operation operation = { .kind = TRACE_PAIR_POINT };

	if (!assembly->wants.flows)
		return TRACE_OK;
	if (point->binding != TRACE_BIND_EVENT)
		return add_placed_point(assembly, point);
	if (!assembly->last_is_end)
		return trace_flows_add(&assembly->flows, point, ++assembly->n_added, assembly->last);
	operation.track = assembly->last_track->number;
	operation.ts_ns = assembly->last_ts_ns;
	trace_record_clear(&assembly->data);
	trace_flow_point_put(&assembly->data, point, ++assembly->n_added);
	return add_pair(assembly, &operation);
}

/* ---- Begins and ends that are paired ---- */

static int pass_paired_span(void *context, const struct trace_paired_span *paired)
{
	struct trace_assembly *assembly = context;
	struct trace_unpacking unpacking = { paired->packed.data };
	struct trace_span span = {
		.number = paired->number,
		.track = track_of(assembly, paired->track),
		.ts_ns = paired->ts_ns,
		.dur_ns = paired->dur_ns,
		.depth = TRACE_UNKNOWN_DEPTH,
	};

	take_event(assembly, &unpacking, &span);
	return pass_span(assembly, &span);
}

static int bind_to_closed(void *context, struct trace_text packed, uint32_t track, uint64_t span)
{
	struct trace_assembly *assembly = context;
	struct trace_unpacking unpacking = { packed.data };
	uint64_t order;
	struct trace_flow_point point = trace_flow_point_take(&unpacking, &order);

	return trace_flows_add(&assembly->flows, &point, order, (struct trace_bound){ .span = span, .track = track });
}

/* ---- Depths of spans, and flow points that are bound by time ---- */

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

/* ---- After the end of the file ---- */

/* Processes some spans and points in order. Returns TRACE_ROW if there are more. */
static int sweep_spans(struct trace_assembly *assembly)
{
	for (int i = 0; i < RECORDS_A_STEP; i++) {
		struct trace_sorted_record record;
		int status = checked_sorter(assembly, assembly->spans, trace_sorter_next(assembly->spans, &record));

		if (status == TRACE_ROW)
			status = take_span(assembly, &record);
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
		return trace_pairing_step(&assembly->pairing);
	case STAGE_BIND:
		return sweep_spans(assembly);
	case STAGE_LINK:
		return link_flows(assembly);
	case STAGE_TRACKS:
		return hand_out_tracks(assembly);
	}
	return TRACE_OK;
}

/* Moves to the next stage, and sorts what the stage before has collected for it. */
static int next_stage(struct trace_assembly *assembly)
{
	int status;

	switch (assembly->stage++) {
	case STAGE_PAIR:
		return checked_sorter(assembly, assembly->spans, trace_sorter_sort(assembly->spans));
	case STAGE_BIND:
		/* the sorter is exhausted: its memory and file are freed for the next one */
		trace_sorter_free(assembly->spans);
		assembly->spans = NULL;
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
