#include "trace/perfetto_events.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace/perfetto_args.h"
#include "trace/protobuf.h"
#include "trace/utf8.h"

/* Numbers of fields, as in Perfetto's protos/perfetto/trace/track_event/track_event.proto. */
enum event_field {
	EVENT_TIME_DELTA_US = 1,
	EVENT_THREAD_TIME_DELTA_US = 2,
	EVENT_CATEGORY_IIDS = 3,
	EVENT_LEGACY = 6,
	EVENT_INSTRUCTIONS_DELTA = 8,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_EXTRA_VALUES = 12,
	EVENT_TIME_US = 16,
	EVENT_THREAD_TIME_US = 17,
	EVENT_INSTRUCTIONS = 20,
	EVENT_CATEGORIES = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_EXTRA_UUIDS = 31,
	EVENT_FLOW_IDS_OLD = 36,
	EVENT_LAST_FLOW_IDS_OLD = 42,
	EVENT_DOUBLE_VALUE = 44,
	EVENT_EXTRA_DOUBLE_UUIDS = 45,
	EVENT_EXTRA_DOUBLE_VALUES = 46,
	EVENT_FLOW_IDS = 47,
	EVENT_LAST_FLOW_IDS = 48
};
enum legacy_field {
	LEGACY_NAME_IID = 1,
	LEGACY_PHASE = 2,
	LEGACY_DURATION_US = 3,
	LEGACY_UNSCOPED_ID = 6,
	LEGACY_ID_SCOPE = 7,
	LEGACY_BIND_ID = 8,
	LEGACY_LOCAL_ID = 10,
	LEGACY_GLOBAL_ID = 11,
	LEGACY_BINDS_TO_ENCLOSING = 12,
	LEGACY_FLOW_DIRECTION = 13,
	LEGACY_SCOPE = 14,
	LEGACY_PID = 18,
	LEGACY_TID = 19
};
enum event_type { TYPE_NONE, TYPE_BEGIN, TYPE_END, TYPE_INSTANT, TYPE_COUNTER, TYPE_STATE };
enum flow_direction { FLOW_IN = 1, FLOW_OUT = 2, FLOW_INOUT = 3 };
enum instant_scope { SCOPE_GLOBAL = 1, SCOPE_PROCESS, SCOPE_THREAD };
enum { N_FIELDS = 64 };

/* The scalar fields of a message, by number. Repeated fields are read from the message again. */
struct scalars {
	uint64_t has; /* bits by number */
	uint64_t values[N_FIELDS];
};

/* The current event. */
struct event {
	struct trace_perfetto_events *events;
	struct trace_perfetto_sequence *sequence;
	struct trace_text message;
	struct scalars fields, legacy, defaults;
	struct trace_text name_text, id_scope; /* fields that are texts */
	enum event_type type;
	char phase; /* of a legacy event; otherwise 0 */
	struct trace_perfetto_place place;
	struct trace_track *legacy_thread; /* of the sequence; NULL if it has none */
	bool has_thread_time, has_instructions;
	int64_t thread_time_ns, instructions;
	bool is_left_out; /* and has been reported */
	struct trace_event added;
};

void trace_perfetto_events_release(struct trace_perfetto_events *events)
{
	trace_bytes_release(&events->name);
	trace_bytes_release(&events->categories);
	trace_bytes_release(&events->category);
	trace_bytes_release(&events->args);
	trace_bytes_release(&events->scope);
	trace_bytes_release(&events->id_scope);
	trace_bytes_release(&events->flow_key);
}

/* ---- Fields ---- */

static bool has(const struct scalars *scalars, uint32_t number)
{
	return scalars->has >> number & 1;
}

static int64_t number_of(const struct scalars *scalars, uint32_t number)
{
	return (int64_t)scalars->values[number];
}

static void take_scalar(struct scalars *scalars, const struct trace_field *field)
{
	if (field->number >= N_FIELDS)
		return;
	scalars->has |= UINT64_C(1) << field->number;
	scalars->values[field->number] = field->value;
}

static int read_scalars(struct trace_text message, struct scalars *scalars, uint32_t text_number, struct trace_text *text)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	scalars->has = 0;
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		take_scalar(scalars, &field);
		if (field.number == text_number)
			*text = field.text;
	}
	return status;
}

static int read_event(struct event *event)
{
	struct trace_message fields = trace_message_of(event->message);
	struct trace_text legacy = { NULL, 0 }, none;
	struct trace_field field;
	int status;

	event->fields.has = event->legacy.has = event->defaults.has = 0;
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		take_scalar(&event->fields, &field);
		if (field.number == EVENT_NAME)
			event->name_text = field.text;
		else if (field.number == EVENT_LEGACY)
			legacy = field.text;
	}
	if (status == TRACE_OK && legacy.data)
		status = read_scalars(legacy, &event->legacy, LEGACY_ID_SCOPE, &event->id_scope);
	if (status == TRACE_OK && event->sequence->event_defaults.data)
		status = read_scalars(event->sequence->event_defaults, &event->defaults, 0, &none);
	if (has(&event->fields, EVENT_TYPE))
		event->type = event->fields.values[EVENT_TYPE] <= TYPE_STATE ? (enum event_type)event->fields.values[EVENT_TYPE]
									     : TYPE_NONE;
	if (has(&event->legacy, LEGACY_PHASE))
		event->phase = (char)event->legacy.values[LEGACY_PHASE];
	return status;
}

__attribute__((format(printf, 2, 3))) static int leave_out(struct event *event, const char *format, ...)
{
	char text[100];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	event->is_left_out = true;
	return trace_leave_out(event->events->assembly, 1, text);
}

/* ---- Times ---- */

/* Reads a thread's time or its count of instructions, either absolute or as a difference; *is_found: there is one. False if
 * there is nothing to add a difference to. */
static bool find_thread_number(const struct event *event, uint32_t delta, uint32_t whole, int64_t factor, int64_t *running,
			       bool *is_found, int64_t *value)
{
	*is_found = true;
	if (has(&event->fields, delta)) {
		if (!event->sequence->has_reference)
			return false;
		*running = trace_saturating_sum(*running, trace_saturating_product(number_of(&event->fields, delta), factor));
		*value = *running;
	} else if (has(&event->fields, whole)) {
		*value = trace_saturating_product(number_of(&event->fields, whole), factor);
	} else {
		*is_found = false;
	}
	return true;
}

/* Legacy times are of the monotonic clock. Without a snapshot of it they are taken as they are. */
static int convert_legacy_time(struct event *event, int64_t time_ns)
{
	int status = TRACE_OK;

	if (time_ns >= 0)
		status = trace_perfetto_clocks_convert(event->events->clocks, trace_perfetto_clock_id(TRACE_CLOCK_MONOTONIC, 0),
						       (uint64_t)time_ns, &event->added.ts_ns);
	if (status < 0)
		return status;
	if (status == TRACE_OK)
		event->added.ts_ns = time_ns;
	return TRACE_OK;
}

static int find_time(struct event *event, bool has_time, int64_t ts_ns)
{
	struct trace_perfetto_sequence *sequence = event->sequence;
	int64_t whole_us = has(&event->fields, EVENT_TIME_US) ? number_of(&event->fields, EVENT_TIME_US) : 0;
	int status = TRACE_OK;

	if (has(&event->fields, EVENT_TIME_DELTA_US)) {
		if (!sequence->has_reference)
			return leave_out(event, "difference of time without a thread descriptor");
		sequence->time_ns = trace_saturating_sum(
			sequence->time_ns, trace_saturating_product(number_of(&event->fields, EVENT_TIME_DELTA_US), 1000));
		status = convert_legacy_time(event, sequence->time_ns);
	} else if (whole_us != 0) {
		status = convert_legacy_time(event, trace_saturating_product(whole_us, 1000));
	} else if (has_time) {
		event->added.ts_ns = ts_ns;
	} else {
		return leave_out(event, "track event without a time");
	}
	if (status == TRACE_OK && event->added.ts_ns < 0)
		return leave_out(event, "track event before time 0");
	if (status < 0 || (find_thread_number(event, EVENT_THREAD_TIME_DELTA_US, EVENT_THREAD_TIME_US, 1000,
					      &sequence->thread_time_ns, &event->has_thread_time, &event->thread_time_ns) &&
			   find_thread_number(event, EVENT_INSTRUCTIONS_DELTA, EVENT_INSTRUCTIONS, 1,
					      &sequence->instruction_count, &event->has_instructions, &event->instructions)))
		return status;
	return leave_out(event, "difference of thread time without a thread descriptor");
}

/* ---- Names ---- */

/* Replaces text that is not UTF-8 by a repaired copy. */
static int mend(struct event *event, struct trace_bytes *copy, struct trace_text *text)
{
	return trace_utf8_mend(copy, text, event->events->n_mended);
}

static int find_name(struct event *event)
{
	uint64_t iid = has(&event->fields, EVENT_NAME_IID) ? event->fields.values[EVENT_NAME_IID] : 0;

	if (iid == 0 && has(&event->legacy, LEGACY_NAME_IID))
		iid = event->legacy.values[LEGACY_NAME_IID];
	if (iid != 0)
		event->added.name = trace_perfetto_sequence_text(event->sequence, TRACE_INTERNED_EVENT_NAME, iid);
	else
		event->added.name = event->name_text;
	return mend(event, &event->events->name, &event->added.name);
}

static int add_category(struct trace_bytes *categories, struct trace_text category, bool *is_first)
{
	int status = *is_first ? trace_bytes_reserve(categories, 1)
			       : trace_bytes_append(categories, (struct trace_text){ ",", 1 }, NULL);

	*is_first = false;
	return status < 0 ? status : trace_bytes_append(categories, category, NULL);
}

/* Categories by number come first, and are joined by commas. */
static int find_category(struct event *event)
{
	struct trace_repeated iids = trace_repeated_of(event->message, EVENT_CATEGORY_IIDS, TRACE_WIRE_VARINT);
	struct trace_repeated texts = trace_repeated_of(event->message, EVENT_CATEGORIES, TRACE_WIRE_BYTES);
	struct trace_bytes *categories = &event->events->categories;
	bool is_first = true;
	struct trace_text text;
	uint64_t iid;
	int status = TRACE_OK, more = TRACE_ROW;

	if (!has(&event->fields, EVENT_CATEGORY_IIDS) && !has(&event->fields, EVENT_CATEGORIES))
		return TRACE_OK;
	trace_bytes_clear(categories);
	while (status == TRACE_OK && (more = trace_repeated_next(&iids, &iid)) == TRACE_ROW) {
		text = trace_perfetto_sequence_text(event->sequence, TRACE_INTERNED_CATEGORY, iid);
		if (text.data)
			status = add_category(categories, text, &is_first);
	}
	while (status == TRACE_OK && more >= 0 && (more = trace_repeated_next_text(&texts, &text)) == TRACE_ROW)
		status = add_category(categories, text, &is_first);
	if (!is_first)
		event->added.category = (struct trace_text){ categories->data, categories->n_bytes };
	if (status == TRACE_OK)
		status = mend(event, &event->events->category, &event->added.category);
	return status < 0 ? status : more;
}

/* ---- Places ---- */

/* Finds the thread of the sequence, or the one that the event names instead. */
static int find_legacy_place(struct event *event)
{
	const struct trace_perfetto_sequence *sequence = event->sequence;
	int64_t pid = sequence->has_thread ? sequence->pid : 0, tid = sequence->has_thread ? sequence->tid : 0;

	if (has(&event->legacy, LEGACY_PID)) {
		pid = (int32_t)event->legacy.values[LEGACY_PID];
		tid = -1;
	}
	if (has(&event->legacy, LEGACY_TID))
		tid = (int32_t)event->legacy.values[LEGACY_TID];
	if (pid == 0 || tid == 0)
		return leave_out(event, "legacy event of process or thread 0");
	return trace_perfetto_tracks_thread(event->events->tracks, pid, tid, &event->place);
}

static int find_sequence_thread(struct event *event)
{
	struct trace_perfetto_place place;
	int status = TRACE_OK;

	if (!event->place.thread && event->sequence->has_thread && event->sequence->pid && event->sequence->tid) {
		status =
			trace_perfetto_tracks_thread(event->events->tracks, event->sequence->pid, event->sequence->tid, &place);
		if (status == TRACE_OK)
			event->legacy_thread = place.thread;
	}
	return status;
}

static int find_place(struct event *event)
{
	uint64_t uuid = has(&event->fields, EVENT_TRACK_UUID)	  ? event->fields.values[EVENT_TRACK_UUID]
			: has(&event->defaults, EVENT_TRACK_UUID) ? event->defaults.values[EVENT_TRACK_UUID]
								  : 0;
	bool has_thread = event->sequence->has_thread;
	bool is_legacy = (!has(&event->fields, EVENT_TRACK_UUID) || !has(&event->fields, EVENT_TYPE)) && has_thread;
	int status;

	if (uuid == 0 && (is_legacy || has(&event->legacy, LEGACY_PID) || (has(&event->legacy, LEGACY_TID) && has_thread)))
		return find_legacy_place(event);
	if (event->type == TYPE_COUNTER && !event->phase)
		return TRACE_OK;
	status = trace_perfetto_tracks_find(event->events->tracks, uuid, event->type == TYPE_STATE && !event->phase,
					    &event->place);
	event->is_left_out = status == TRACE_OK && !event->place.track;
	return status < 0 ? status : find_sequence_thread(event);
}

/* ---- Flows ---- */

static int add_point(struct event *event, const struct trace_flow_point *point)
{
	return trace_add_flow_point(event->events->assembly, point);
}

/* Adds a point of the flow with that id, bound to the event that was added last. */
static int add_id_point(struct event *event, uint64_t id, enum trace_flow_role role, const char *what)
{
	char digits[24];
	struct trace_text text = { digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, id) };

	return add_point(event, &(struct trace_flow_point){ .role = role,
							    .binding = TRACE_BIND_EVENT,
							    .ts_ns = event->added.ts_ns,
							    .key = text,
							    .id = text,
							    .what = what });
}

static int add_id_points(struct event *event, uint32_t number, uint32_t old_number, enum trace_flow_role role, const char *what)
{
	struct trace_repeated ids;
	uint64_t id;
	int status = TRACE_OK, more = TRACE_ROW;

	if (has(&event->fields, number))
		ids = trace_repeated_of(event->message, number, TRACE_WIRE_FIXED64);
	else if (has(&event->fields, old_number))
		ids = trace_repeated_of(event->message, old_number, TRACE_WIRE_VARINT);
	else
		return TRACE_OK;
	while (status == TRACE_OK && (more = trace_repeated_next(&ids, &id)) == TRACE_ROW)
		status = add_id_point(event, id, role, what);
	return status < 0 ? status : more;
}

/* Adds the flows of the event that was added last. */
static int add_flows(struct event *event)
{
	uint64_t direction = has(&event->legacy, LEGACY_FLOW_DIRECTION) ? event->legacy.values[LEGACY_FLOW_DIRECTION] : 0;
	uint64_t bind_id = event->legacy.values[LEGACY_BIND_ID];
	int status = TRACE_OK;

	if (has(&event->legacy, LEGACY_BIND_ID)) {
		if (direction == FLOW_OUT)
			status = add_id_point(event, bind_id, TRACE_FLOW_OPEN, "flow out");
		else if (direction == FLOW_INOUT)
			status = add_id_point(event, bind_id, TRACE_FLOW_STEP, "flow in and out");
		else if (direction == FLOW_IN)
			status = add_id_point(event, bind_id, TRACE_FLOW_ARRIVE, "flow in");
		else
			status = trace_leave_out(event->events->assembly, 1, "bind_id without direction");
	}
	if (status == TRACE_OK)
		status = add_id_points(event, EVENT_FLOW_IDS, EVENT_FLOW_IDS_OLD, TRACE_FLOW_JOIN, "flow id");
	if (status == TRACE_OK)
		status = add_id_points(event, EVENT_LAST_FLOW_IDS, EVENT_LAST_FLOW_IDS_OLD, TRACE_FLOW_END,
				       "terminating flow id");
	return status;
}

/* Phases s, t and f: these points are bound by time to a span of their track, and belong together by id, category and name. */
static int add_legacy_flow(struct event *event)
{
	static const struct {
		char phase;
		enum trace_flow_role role;
		const char *what;
	} kinds[] = { { 's', TRACE_FLOW_OPEN, "legacy flow s" },
		      { 't', TRACE_FLOW_STEP, "legacy flow t" },
		      { 'f', TRACE_FLOW_ARRIVE, "legacy flow f" } };
	int kind = event->phase == 's' ? 0 : event->phase == 't' ? 1 : 2;
	struct trace_bytes *key = &event->events->flow_key;
	char digits[32];
	int n_bytes = snprintf(digits, sizeof digits, "%" PRIu64, event->legacy.values[LEGACY_UNSCOPED_ID]);
	struct trace_text id = { digits, (size_t)n_bytes };
	struct trace_text parts[] = { id, { "", 1 }, event->added.category, { "", 1 }, event->added.name };
	bool is_enclosing =
		kind < 2 || (has(&event->legacy, LEGACY_BINDS_TO_ENCLOSING) && event->legacy.values[LEGACY_BINDS_TO_ENCLOSING]);
	int status = TRACE_OK;

	if (!has(&event->legacy, LEGACY_UNSCOPED_ID))
		return leave_out(event, "legacy flow without id");
	trace_bytes_clear(key);
	for (size_t i = 0; i < sizeof parts / sizeof *parts && status == TRACE_OK; i++) {
		if (parts[i].data)
			status = trace_bytes_append(key, parts[i], NULL);
	}
	if (status < 0)
		return status;
	return add_point(event, &(struct trace_flow_point){ .role = kinds[kind].role,
							    .binding = is_enclosing ? TRACE_BIND_ENCLOSING : TRACE_BIND_NEXT,
							    .track = event->place.track,
							    .ts_ns = event->added.ts_ns,
							    .key = { key->data, key->n_bytes },
							    .name = event->added.name,
							    .category = event->added.category,
							    .id = id,
							    .what = kinds[kind].what });
}

/* ---- Counters ---- */

static int add_sample(struct event *event, const struct trace_perfetto_counter *counter, struct trace_track *track,
		      struct trace_text id, double value)
{
	struct trace_sample sample = { .track = track,
				       .ts_ns = event->added.ts_ns,
				       .value = value,
				       .name = counter->name.data ? counter->name : (struct trace_text){ "", 0 },
				       .id = id,
				       .key = { "", 0 },
				       .unit = counter->unit };

	if (!isfinite(value))
		return trace_leave_out(event->events->assembly, 1, "counter value that is not finite");
	return trace_add_sample(event->events->assembly, &sample);
}

/* Adds a value of the counter with that uuid; *is_counter is false if the uuid is not a counter's. */
static int add_counter_value(struct event *event, uint64_t uuid, double value, bool *is_counter)
{
	struct trace_perfetto_counter counter;
	struct trace_track *track;
	char digits[24];
	struct trace_text id = { digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, uuid) };
	int status = trace_perfetto_tracks_find_counter(event->events->tracks, uuid, &counter, &track, is_counter);

	if (status < 0 || !*is_counter)
		return status;
	value *= counter.multiplier;
	if (counter.is_incremental)
		status = trace_perfetto_sequence_count(event->sequence, uuid, &value);
	return status < 0 ? status : add_sample(event, &counter, track, id, value);
}

/* Adds the values of several counters that an event carries. The uuids are those of the event, or else of the defaults. */
static int add_extra_values(struct event *event, uint32_t number, uint32_t uuid_number, bool is_double)
{
	bool has_uuids = has(&event->fields, uuid_number), is_counter = true;
	struct trace_text uuid_message = has_uuids ? event->message : event->sequence->event_defaults;
	struct trace_repeated values =
		trace_repeated_of(event->message, number, is_double ? TRACE_WIRE_FIXED64 : TRACE_WIRE_VARINT);
	struct trace_repeated uuids = trace_repeated_of(uuid_message, uuid_number, TRACE_WIRE_VARINT);
	uint64_t value, uuid;
	int status = TRACE_OK, more = TRACE_ROW;

	if (!has(&event->fields, number))
		return TRACE_OK;
	while (status == TRACE_OK && (more = trace_repeated_next(&values, &value)) == TRACE_ROW) {
		int of_uuid = trace_repeated_next(&uuids, &uuid);

		if (of_uuid < 0)
			return of_uuid;
		if (of_uuid == TRACE_OK || uuid == 0)
			return leave_out(event, "extra counter value without a track");
		status = add_counter_value(event, uuid, is_double ? trace_double_of(value) : (double)(int64_t)value,
					   &is_counter);
		if (status == TRACE_OK && !is_counter)
			return leave_out(event, "extra counter value of a track that is no counter");
	}
	return status < 0 ? status : more;
}

static int add_counter(struct event *event)
{
	bool is_counter, is_double = !has(&event->fields, EVENT_COUNTER_VALUE);
	uint64_t uuid = has(&event->fields, EVENT_TRACK_UUID)	  ? event->fields.values[EVENT_TRACK_UUID]
			: has(&event->defaults, EVENT_TRACK_UUID) ? event->defaults.values[EVENT_TRACK_UUID]
								  : 0;
	double value;
	int status;

	if (is_double && !has(&event->fields, EVENT_DOUBLE_VALUE))
		return leave_out(event, "counter event without a value");
	value = is_double ? trace_double_of(event->fields.values[EVENT_DOUBLE_VALUE])
			  : (double)number_of(&event->fields, EVENT_COUNTER_VALUE);
	status = add_counter_value(event, uuid, value, &is_counter);
	return status < 0 || is_counter ? status : leave_out(event, "counter event of a track that is no counter");
}

static enum instant_scope legacy_scope(const struct event *event)
{
	uint64_t scope = has(&event->legacy, LEGACY_SCOPE) ? event->legacy.values[LEGACY_SCOPE] : SCOPE_THREAD;

	return event->phase != 'R' && (scope == SCOPE_GLOBAL || scope == SCOPE_PROCESS) ? (enum instant_scope)scope
											: SCOPE_THREAD;
}

/* Adds samples of the thread's time and its count of instructions, which legacy events carry. */
static int add_thread_samples(struct event *event)
{
	static const struct trace_perfetto_counter time = { .name = { "thread_time", 11 } };
	static const struct trace_perfetto_counter instructions = { .name = { "thread_instruction_count", 24 } };
	struct trace_text none = { NULL, 0 };
	bool is_beside = (event->phase == 'i' || event->phase == 'I') && legacy_scope(event) != SCOPE_THREAD;
	struct trace_track *thread = is_beside ? NULL : event->place.thread;
	int status = TRACE_OK;

	if (thread && event->has_thread_time)
		status = add_sample(event, &time, thread, none, (double)event->thread_time_ns);
	if (status == TRACE_OK && thread && event->has_instructions)
		status = add_sample(event, &instructions, thread, none, (double)event->instructions);
	return status;
}

/* ---- Spans, instants and states ---- */

static int find_args(struct event *event)
{
	struct trace_bytes *args = &event->events->args;
	int status;

	if (!trace_assembly_wants(event->events->assembly).args)
		return TRACE_OK;
	status = trace_perfetto_args(event->sequence, event->message, args, event->events->n_mended);
	if (status == TRACE_OK && args->n_bytes > 0)
		event->added.args = (struct trace_text){ args->data, args->n_bytes };
	return status;
}

/* Sets the event's track and thread, and tells the track that it has an event. */
static int stand(struct event *event, struct trace_track *track)
{
	event->added.track = track;
	event->added.thread = event->place.thread ? event->place.thread : event->legacy_thread;
	return trace_perfetto_tracks_saw(event->events->tracks, track, event->added.ts_ns, event->added.name);
}

static int add_begin(struct event *event)
{
	int status = find_args(event);

	if (status == TRACE_OK)
		status = trace_add_begin(event->events->assembly, &event->added);
	return status < 0 ? status : add_flows(event);
}

static int add_end(struct event *event)
{
	int status = trace_add_end(event->events->assembly, &event->added, "end without begin");

	return status < 0 ? status : add_flows(event);
}

static int add_instant(struct event *event, bool with_flows)
{
	int status = find_args(event);

	if (status == TRACE_OK)
		status = trace_add_instant(event->events->assembly, &event->added);
	return status < 0 || !with_flows ? status : add_flows(event);
}

static int add_complete(struct event *event)
{
	int64_t dur_us = has(&event->legacy, LEGACY_DURATION_US) ? number_of(&event->legacy, LEGACY_DURATION_US) : 0;
	int status;

	if (dur_us < 0)
		return leave_out(event, "legacy phase X with a negative duration");
	status = find_args(event);
	if (status == TRACE_OK)
		status = trace_add_span(event->events->assembly, &event->added, trace_saturating_product(dur_us, 1000));
	return status < 0 ? status : add_flows(event);
}

static int add_state(struct event *event)
{
	int status = find_args(event);

	return status < 0 ? status : trace_add_state(event->events->assembly, &event->added);
}

/* ---- Legacy events ---- */

/* Finds the scope in which the id of an asynchronous event is unique. */
static int find_scope(struct event *event, struct trace_text *scope)
{
	bool is_old = strchr("STpF", event->phase) != NULL;
	struct trace_bytes *bytes = &event->events->scope;
	int status = TRACE_OK;

	*scope = is_old ? event->added.name : event->added.category;
	if (!has(&event->legacy, LEGACY_ID_SCOPE))
		return TRACE_OK;
	trace_bytes_clear(bytes);
	status = mend(event, &event->events->id_scope, &event->id_scope);
	if (status == TRACE_OK && event->added.category.data)
		status = trace_bytes_append(bytes, event->added.category, NULL);
	if (status == TRACE_OK)
		status = trace_bytes_append(bytes, (struct trace_text){ ":", 1 }, NULL);
	if (status == TRACE_OK && event->id_scope.data)
		status = trace_bytes_append(bytes, event->id_scope, NULL);
	*scope = (struct trace_text){ bytes->data, bytes->n_bytes };
	return status;
}

static int stand_on_operation(struct event *event, char digits[24])
{
	bool is_local = false;
	struct trace_text scope;
	struct trace_track *track;
	uint64_t id;
	int status;

	if (has(&event->legacy, LEGACY_UNSCOPED_ID)) {
		id = event->legacy.values[LEGACY_UNSCOPED_ID];
	} else if (has(&event->legacy, LEGACY_GLOBAL_ID)) {
		id = event->legacy.values[LEGACY_GLOBAL_ID];
	} else if (has(&event->legacy, LEGACY_LOCAL_ID)) {
		id = event->legacy.values[LEGACY_LOCAL_ID];
		is_local = true;
	} else {
		return leave_out(event, "legacy asynchronous event without id");
	}
	if (is_local && !event->place.process)
		return leave_out(event, "legacy asynchronous event with a local id, of no process");
	status = find_scope(event, &scope);
	if (status == TRACE_OK)
		status = trace_perfetto_tracks_async(event->events->tracks, is_local ? event->place.process : NULL, scope, id,
						     &track);
	if (status < 0)
		return status;
	event->added.id = (struct trace_text){ digits, (size_t)snprintf(digits, 24, "%" PRIu64, id) };
	return stand(event, track);
}

static int take_operation(struct event *event)
{
	char digits[24];
	int status = stand_on_operation(event, digits);

	if (status < 0 || event->is_left_out)
		return status;
	switch (event->phase) {
	case 'b':
	case 'S':
		return add_begin(event);
	case 'e':
	case 'F':
		return add_end(event);
	default:
		return add_instant(event, event->phase == 'n');
	}
}

static int take_legacy_instant(struct event *event)
{
	static const struct trace_text global = { "global", 6 };
	struct trace_track_identity identity = { .kind = TRACE_TRACK_GLOBAL, .key = global };
	enum instant_scope scope = legacy_scope(event);
	struct trace_track *track = event->place.track;
	int status = TRACE_OK;

	if (scope == SCOPE_GLOBAL)
		status = trace_find_track(event->events->assembly, &identity, &track);
	else if (scope == SCOPE_PROCESS && !event->place.process)
		return leave_out(event, "legacy instant of a process, of no process");
	else if (scope == SCOPE_PROCESS)
		track = event->place.process;
	else if (event->phase != 'R' && !event->place.thread)
		return leave_out(event, "legacy instant of a thread, of no thread");
	if (status == TRACE_OK)
		status = stand(event, track);
	return status < 0 ? status : add_instant(event, true);
}

static bool is(struct trace_text text, const char *word)
{
	return text.data && text.n_bytes == strlen(word) && memcmp(text.data, word, text.n_bytes) == 0;
}

static int take_metadata(struct event *event)
{
	struct trace_track *named = is(event->added.name, "thread_name")    ? event->place.thread
				    : is(event->added.name, "process_name") ? event->place.process
									    : NULL;
	struct trace_text name = trace_perfetto_first_annotation(event->message);

	if (!named)
		return leave_out(event, "legacy phase M");
	return name.n_bytes > 0 ? trace_perfetto_tracks_rename(event->events->tracks, named, name) : TRACE_OK;
}

static int take_legacy(struct event *event)
{
	bool is_of_thread = event->phase != 0 && strchr("BEX", event->phase) != NULL;
	int status = TRACE_OK;

	if (event->phase != 0 && strchr("benSTpF", event->phase))
		return take_operation(event);
	if (event->phase != 0 && strchr("iIR", event->phase))
		return take_legacy_instant(event);
	if (event->phase != 0 && strchr("stf", event->phase))
		return add_legacy_flow(event);
	if (event->phase == 'M')
		return take_metadata(event);
	if (!is_of_thread)
		return leave_out(event, "legacy phase %c", event->phase >= ' ' && event->phase < 127 ? event->phase : '?');
	if (!event->place.thread)
		return leave_out(event, "legacy phase %c without a thread", event->phase);
	status = stand(event, event->place.track);
	if (status < 0)
		return status;
	return event->phase == 'B' ? add_begin(event) : event->phase == 'E' ? add_end(event) : add_complete(event);
}

/* ---- Events ---- */

static int take_placed(struct event *event)
{
	int status = add_thread_samples(event);

	if (status == TRACE_OK)
		status = add_extra_values(event, EVENT_EXTRA_VALUES, EVENT_EXTRA_UUIDS, false);
	if (status == TRACE_OK && !event->is_left_out)
		status = add_extra_values(event, EVENT_EXTRA_DOUBLE_VALUES, EVENT_EXTRA_DOUBLE_UUIDS, true);
	if (status < 0 || event->is_left_out)
		return status;
	if (event->type == TYPE_COUNTER)
		return add_counter(event);
	if (event->phase && event->type != TYPE_STATE)
		return take_legacy(event);
	if (event->type == TYPE_STATE && event->place.track->kind != TRACE_TRACK_STATE)
		return leave_out(event, "state event of a track that is none of states");
	status = stand(event, event->place.track);
	if (status < 0)
		return status;
	switch (event->type) {
	case TYPE_BEGIN:
		return add_begin(event);
	case TYPE_END:
		return add_end(event);
	case TYPE_INSTANT:
		return add_instant(event, true);
	case TYPE_STATE:
		return add_state(event);
	default:
		return leave_out(event, "track event of an unknown type");
	}
}

uint64_t trace_perfetto_events_track(const struct trace_perfetto_sequence *sequence, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;

	while (trace_message_next(&fields, &field) == TRACE_ROW) {
		if (field.number == EVENT_TRACK_UUID && field.wire == TRACE_WIRE_VARINT)
			return field.value;
	}
	return sequence->default_track;
}

int trace_perfetto_events_take(struct trace_perfetto_events *events, struct trace_perfetto_sequence *sequence,
			       struct trace_text message, bool has_time, int64_t ts_ns)
{
	struct event event = { .events = events, .sequence = sequence, .message = message };
	int status;

	trace_count_event(events->assembly);
	status = read_event(&event);
	if (status == TRACE_OK)
		status = find_time(&event, has_time, ts_ns);
	if (status < 0 || event.is_left_out)
		return status;
	if (events->has_start && event.added.ts_ns < events->start_ns)
		return leave_out(&event, "track event before the range of interest");
	if (event.type == TYPE_NONE && !event.phase)
		return leave_out(&event, "track event without type or phase");
	status = find_name(&event);
	if (status == TRACE_OK)
		status = find_category(&event);
	if (status == TRACE_OK)
		status = find_place(&event);
	return status < 0 || event.is_left_out ? status : take_placed(&event);
}
