#include "trace/chrome_json.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/decimal_time.h"
#include "trace/json.h"
#include "trace/json_frames.h"

enum field {
	FIELD_NONE,
	FIELD_NAME,
	FIELD_CATEGORY,
	FIELD_PHASE,
	FIELD_TIME,
	FIELD_DURATION,
	FIELD_PID,
	FIELD_TID,
	FIELD_ID,
	FIELD_ID2,
	FIELD_ARGS,
	FIELD_SCOPE,
	FIELD_BINDING_POINT,
	FIELD_BIND_ID,
	FIELD_FLOW_IN,
	FIELD_FLOW_OUT,
	N_FIELDS
};

/* An argument of a counter. */
struct argument {
	struct trace_text key;
	size_t value, position;
};

struct trace_chrome_reader {
	struct trace_assembly *assembly;
	struct trace_wants wants;
	bool is_strict;
	locale_t c_locale; /* numbers have a '.' in every locale */
	struct trace_json_frames frames;
	struct trace_json json;
	uint64_t n_taken;	 /* bytes of the file */
	uint64_t event_offset;	 /* of the current event */
	size_t fields[N_FIELDS]; /* of the current event: nodes, 0 if absent */
	char phase;
	uint64_t n_with_phase, n_without_phase;
	struct trace_track *thread; /* of the last event that has one; usually the next event has the same */
	struct trace_bytes key, number;
	struct argument *arguments;
	size_t n_arguments, n_arguments_allocated;
};

/* ---- Life ---- */

static void release(void *parser)
{
	struct trace_chrome_reader *reader = parser;

	if (!reader)
		return;
	if (reader->c_locale)
		freelocale(reader->c_locale);
	trace_json_release(&reader->json);
	trace_bytes_release(&reader->key);
	trace_bytes_release(&reader->number);
	free(reader->arguments);
	free(reader);
}

static void *begin(struct trace_assembly *assembly, const struct trace_options *options)
{
	struct trace_chrome_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return NULL;
	reader->assembly = assembly;
	reader->wants = trace_assembly_wants(assembly);
	reader->is_strict = options->strict;
	reader->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (reader->c_locale)
		return reader;
	release(reader);
	return NULL;
}

static bool recognise(const char *head, size_t n_bytes, bool is_all)
{
	(void)is_all;
	if (n_bytes >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) {
		head += 3;
		n_bytes -= 3;
	}
	while (n_bytes > 0 && (*head == ' ' || *head == '\t' || *head == '\r' || *head == '\n')) {
		head++;
		n_bytes--;
	}
	return n_bytes > 0 && (*head == '{' || *head == '[');
}

/* ---- Fields ---- */

static bool is(struct trace_text text, const char *word)
{
	return text.data && text.n_bytes == strlen(word) && memcmp(text.data, word, text.n_bytes) == 0;
}

static bool has(struct trace_text key, const char *word)
{
	return memcmp(key.data, word, key.n_bytes) == 0;
}

static enum field field_of(struct trace_text key)
{
	switch (key.n_bytes) {
	case 1:
		return has(key, "s") ? FIELD_SCOPE : FIELD_NONE;
	case 2:
		return has(key, "ph")	? FIELD_PHASE
		       : has(key, "ts") ? FIELD_TIME
		       : has(key, "id") ? FIELD_ID
		       : has(key, "bp") ? FIELD_BINDING_POINT
					: FIELD_NONE;
	case 3:
		return has(key, "pid")	 ? FIELD_PID
		       : has(key, "tid") ? FIELD_TID
		       : has(key, "dur") ? FIELD_DURATION
		       : has(key, "cat") ? FIELD_CATEGORY
		       : has(key, "id2") ? FIELD_ID2
					 : FIELD_NONE;
	case 4:
		return has(key, "name") ? FIELD_NAME : has(key, "args") ? FIELD_ARGS : FIELD_NONE;
	case 7:
		return has(key, "bind_id") ? FIELD_BIND_ID : has(key, "flow_in") ? FIELD_FLOW_IN : FIELD_NONE;
	case 8:
		return has(key, "flow_out") ? FIELD_FLOW_OUT : FIELD_NONE;
	default:
		return FIELD_NONE;
	}
}

static int out_of_memory(struct trace_chrome_reader *reader)
{
	return trace_fail(reader->assembly, TRACE_ERROR_MEMORY, reader->event_offset, "out of memory");
}

static int find_fields(struct trace_chrome_reader *reader)
{
	struct trace_text key;
	size_t value = 0;
	int status;

	memset(reader->fields, 0, sizeof reader->fields);
	while ((status = trace_json_next_member(&reader->json, 0, &value, &key)) == TRACE_ROW)
		reader->fields[field_of(key)] = value;
	return status < 0 ? out_of_memory(reader) : TRACE_OK;
}

/* Sets the text of a node; without data if the node is 0, null, an object or an array. */
static int text_of(struct trace_chrome_reader *reader, size_t node, struct trace_text *text)
{
	*text = (struct trace_text){ NULL, 0 };
	if (node && trace_json_text(&reader->json, node, text) < 0)
		return out_of_memory(reader);
	return TRACE_OK;
}

static int field_text(struct trace_chrome_reader *reader, enum field field, struct trace_text *text)
{
	return text_of(reader, reader->fields[field], text);
}

/* Finds the value of an object's member; 0 if there is none, or if it is no object. Of members with equal keys, the last one
 * counts. */
static int find_member(struct trace_chrome_reader *reader, size_t object, const char *name, size_t *value)
{
	struct trace_json *json = &reader->json;
	struct trace_text key;
	size_t member = 0;
	int status;

	*value = 0;
	if (!object || trace_json_type_of(json, object) != TRACE_JSON_OBJECT)
		return TRACE_OK;
	while ((status = trace_json_next_member(json, object, &member, &key)) == TRACE_ROW) {
		if (is(key, name))
			*value = member;
	}
	return status < 0 ? out_of_memory(reader) : TRACE_OK;
}

static int member_text(struct trace_chrome_reader *reader, size_t object, const char *name, struct trace_text *text)
{
	size_t value;
	int status = find_member(reader, object, name, &value);

	return status < 0 ? status : text_of(reader, value, text);
}

static int is_true(struct trace_chrome_reader *reader, enum field field, bool *answer)
{
	struct trace_text text;
	int status = field_text(reader, field, &text);

	*answer = is(text, "true");
	return status;
}

/* Reads a time in microseconds: TRACE_ROW with *ns, or TRACE_OK if there is no usable time. */
static int field_time(struct trace_chrome_reader *reader, enum field field, int64_t *ns)
{
	struct trace_text text;
	int status = field_text(reader, field, &text);

	if (status < 0 || !text.data)
		return status;
	switch (trace_time_from_us(text.data, text.n_bytes, ns)) {
	case TRACE_TIME_OK:
		return TRACE_ROW;
	case TRACE_TIME_NOT_A_NUMBER:
		return TRACE_OK;
	case TRACE_TIME_OUT_OF_RANGE:
		break;
	}
	return trace_fail(reader->assembly, TRACE_ERROR_RANGE, reader->event_offset,
			  "the %s of the event that starts here does not fit into 64-bit nanoseconds",
			  field == FIELD_TIME ? "ts" : "dur");
}

/* ---- Tracks ---- */

static struct trace_text or_empty(struct trace_text text)
{
	return text.data ? text : (struct trace_text){ "", 0 };
}

static bool same(struct trace_text a, struct trace_text b)
{
	return a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0;
}

/* Finds the thread of the event. */
static int find_thread(struct trace_chrome_reader *reader, struct trace_track **thread)
{
	struct trace_text pid, tid;
	int status = field_text(reader, FIELD_PID, &pid);

	if (status == TRACE_OK)
		status = field_text(reader, FIELD_TID, &tid);
	if (status < 0)
		return status;
	pid = or_empty(pid);
	tid = or_empty(tid);
	if (!reader->thread || !same(reader->thread->pid, pid) || !same(reader->thread->tid, tid))
		status = trace_find_thread(reader->assembly, pid, tid, &reader->thread);
	*thread = reader->thread;
	return status;
}

static int find_process(struct trace_chrome_reader *reader, struct trace_track **process)
{
	struct trace_text pid;
	int status = field_text(reader, FIELD_PID, &pid);

	return status < 0 ? status : trace_find_process(reader->assembly, or_empty(pid), process);
}

static int find_global(struct trace_chrome_reader *reader, struct trace_track **track)
{
	struct trace_track_identity identity = { .kind = TRACE_TRACK_GLOBAL, .key = { "global", 6 } };

	return trace_find_track(reader->assembly, &identity, track);
}

static int append(struct trace_chrome_reader *reader, struct trace_text text)
{
	return trace_bytes_append(&reader->key, text, NULL) < 0 ? out_of_memory(reader) : TRACE_OK;
}

static int append_word(struct trace_chrome_reader *reader, const char *word)
{
	return append(reader, (struct trace_text){ word, strlen(word) });
}

/* Finds the id of an asynchronous event or of a flow. *is_local: it is id2.local, which is unique only in its process. */
static int find_id(struct trace_chrome_reader *reader, struct trace_text *id, bool *is_local)
{
	size_t id2 = reader->fields[FIELD_ID2];
	int status = field_text(reader, FIELD_ID, id);

	*is_local = false;
	if (status == TRACE_OK && !id->data)
		status = member_text(reader, id2, "global", id);
	if (status == TRACE_OK && !id->data) {
		status = member_text(reader, id2, "local", id);
		*is_local = id->data;
	}
	return status;
}

/* Finds the track "async:g:CATEGORY:ID"; for a local id, "p" and the pid stand in the place of "g". For the older phases S, T,
 * p and F, the group is the event's name instead of the category. */
static int find_async_track(struct trace_chrome_reader *reader, const struct trace_track *thread, struct trace_text group,
			    struct trace_text id, bool is_local, struct trace_track **track)
{
	struct trace_track_identity identity = { .kind = TRACE_TRACK_ASYNC };
	int status;

	trace_bytes_clear(&reader->key);
	status = append_word(reader, is_local ? "async:p" : "async:g");
	if (status == TRACE_OK && is_local)
		status = append(reader, thread->pid);
	if (status == TRACE_OK)
		status = append_word(reader, ":");
	if (status == TRACE_OK)
		status = append(reader, or_empty(group));
	if (status == TRACE_OK)
		status = append_word(reader, ":");
	if (status == TRACE_OK)
		status = append(reader, id);
	if (status < 0)
		return status;
	identity.key = (struct trace_text){ reader->key.data, reader->key.n_bytes };
	if (is_local) {
		identity.parent = (struct trace_track *)thread->parent;
		identity.pid = thread->pid;
	}
	return trace_find_track(reader->assembly, &identity, track);
}

/* ---- Events ---- */

static int leave_out(struct trace_chrome_reader *reader, const char *what)
{
	return trace_leave_out(reader->assembly, 1, what);
}

/* Sets the parts that all events have, on the track of their thread. */
static int make_event(struct trace_chrome_reader *reader, int64_t ts_ns, struct trace_event *event)
{
	size_t args = reader->fields[FIELD_ARGS];
	struct trace_track *thread;
	int status = find_thread(reader, &thread);

	*event = (struct trace_event){ .track = thread, .thread = thread, .ts_ns = ts_ns };
	if (status == TRACE_OK)
		status = field_text(reader, FIELD_NAME, &event->name);
	if (status < 0 || reader->phase == 'E')
		return status; /* everything else comes from the begin */
	if (status == TRACE_OK)
		status = field_text(reader, FIELD_CATEGORY, &event->category);
	if (status < 0 || !reader->wants.args || !args || trace_json_type_of(&reader->json, args) == TRACE_JSON_NULL)
		return status;
	return trace_json_written(&reader->json, args, &event->args) < 0 ? out_of_memory(reader) : TRACE_OK;
}

/* Adds a flow point of the second version of flows, where a span itself is the point. Requires that the span's event was added
 * last. */
static int add_bound_flow(struct trace_chrome_reader *reader, const struct trace_event *event)
{
	struct trace_flow_point point = {
		.binding = TRACE_BIND_EVENT,
		.ts_ns = event->ts_ns,
		.name = event->name,
		.category = event->category,
	};
	bool is_in, is_out;
	int status;

	if (!reader->wants.flows || !reader->fields[FIELD_BIND_ID])
		return TRACE_OK;
	status = field_text(reader, FIELD_BIND_ID, &point.id);
	if (status < 0 || !point.id.data)
		return status;
	if ((status = is_true(reader, FIELD_FLOW_IN, &is_in)) < 0 || (status = is_true(reader, FIELD_FLOW_OUT, &is_out)) < 0)
		return status;
	if (!is_in && !is_out)
		return TRACE_OK;
	point.role = !is_in ? TRACE_FLOW_START : is_out ? TRACE_FLOW_STEP : TRACE_FLOW_ARRIVE;
	point.what = !is_in ? "flow s" : is_out ? "flow t" : "flow f";
	trace_bytes_clear(&reader->key);
	status = append_word(reader, "bind_id:");
	if (status == TRACE_OK)
		status = append(reader, point.id);
	point.key = (struct trace_text){ reader->key.data, reader->key.n_bytes };
	return status < 0 ? status : trace_add_flow_point(reader->assembly, &point);
}

static int add_complete(struct trace_chrome_reader *reader, struct trace_event *event)
{
	int64_t dur_ns = -1;
	int status = field_time(reader, FIELD_DURATION, &dur_ns);

	if (status < 0)
		return status;
	if (dur_ns < 0)
		return leave_out(reader, "X without dur");
	status = trace_add_span(reader->assembly, event, dur_ns);
	return status < 0 ? status : add_bound_flow(reader, event);
}

static int add_begin(struct trace_chrome_reader *reader, struct trace_event *event)
{
	int status = trace_add_begin(reader->assembly, event);

	return status < 0 ? status : add_bound_flow(reader, event);
}

/* An E ends what has its name, or anything if it has none. */
static int add_end(struct trace_chrome_reader *reader, struct trace_event *event)
{
	if (event->name.n_bytes == 0)
		event->name = (struct trace_text){ NULL, 0 };
	return trace_add_end(reader->assembly, event, "E without B");
}

/* Phases b, n and e: spans of the same category and id nest. */
static int add_nestable(struct trace_chrome_reader *reader, struct trace_event *event)
{
	bool is_local;
	int status = find_id(reader, &event->id, &is_local);

	if (status < 0)
		return status;
	event->id = or_empty(event->id);
	status = find_async_track(reader, event->thread, event->category, event->id, is_local, &event->track);
	if (status < 0)
		return status;
	if (reader->phase == 'b')
		return add_begin(reader, event);
	if (reader->phase == 'n')
		return trace_add_instant(reader->assembly, event);
	event->category = (struct trace_text){ NULL, 0 };
	return trace_add_end(reader->assembly, event, "async e without begin");
}

/* Adds a state of a thread, which Perfetto exports as phase T with a duration and without an id. */
static int add_state(struct trace_chrome_reader *reader, struct trace_event *event, int64_t dur_ns)
{
	struct trace_track_identity identity = { .kind = TRACE_TRACK_STATE,
						 .pid = event->thread->pid,
						 .tid = event->thread->tid };
	int status;

	trace_bytes_clear(&reader->key);
	status = append_word(reader, "state:");
	if (status == TRACE_OK)
		status = append(reader, event->thread->key);
	identity.key = (struct trace_text){ reader->key.data, reader->key.n_bytes };
	identity.parent = event->thread;
	if (status == TRACE_OK)
		status = trace_find_track(reader->assembly, &identity, &event->track);
	return status < 0 ? status : trace_add_span(reader->assembly, event, dur_ns);
}

/* Phases S, T, p and F: they belong together by name and id. */
static int add_async(struct trace_chrome_reader *reader, struct trace_event *event)
{
	struct trace_text step;
	int64_t dur_ns = -1;
	bool is_local;
	int status = find_id(reader, &event->id, &is_local);

	if (status == TRACE_OK && reader->phase == 'T' && !event->id.data) {
		status = field_time(reader, FIELD_DURATION, &dur_ns);
		if (status == TRACE_ROW && dur_ns >= 0)
			return add_state(reader, event, dur_ns);
	}
	if (status < 0)
		return status;
	event->id = or_empty(event->id);
	status = find_async_track(reader, event->thread, event->name, event->id, is_local, &event->track);
	if (status < 0)
		return status;
	if (reader->phase == 'S')
		return add_begin(reader, event);
	if (reader->phase == 'F') {
		event->name = event->category = (struct trace_text){ NULL, 0 };
		return trace_add_end(reader->assembly, event, "async F without begin");
	}
	status = member_text(reader, reader->fields[FIELD_ARGS], "step", &step);
	if (step.data)
		event->name = step;
	return status < 0 ? status : trace_add_instant(reader->assembly, event);
}

static int add_instant(struct trace_chrome_reader *reader, struct trace_event *event)
{
	struct trace_text scope;
	int status = field_text(reader, FIELD_SCOPE, &scope);

	if (status == TRACE_OK && is(scope, "g"))
		status = find_global(reader, &event->track);
	else if (status == TRACE_OK && is(scope, "p"))
		event->track = (struct trace_track *)event->thread->parent;
	return status < 0 ? status : trace_add_instant(reader->assembly, event);
}

static int add_flow(struct trace_chrome_reader *reader, const struct trace_event *event)
{
	static const char *const names[] = { "flow s", "flow t", "flow f" };
	static const enum trace_flow_role roles[] = { TRACE_FLOW_START, TRACE_FLOW_STEP, TRACE_FLOW_ARRIVE };
	int i = reader->phase == 's' ? 0 : reader->phase == 't' ? 1 : 2;
	struct trace_flow_point point = {
		.role = roles[i],
		.track = event->thread,
		.ts_ns = event->ts_ns,
		.name = event->name,
		.category = event->category,
		.what = names[i],
	};
	struct trace_text binding_point;
	bool is_local;
	int status = find_id(reader, &point.id, &is_local);

	if (status == TRACE_OK)
		status = field_text(reader, FIELD_BINDING_POINT, &binding_point);
	if (status < 0)
		return status;
	point.binding = i == 2 && !is(binding_point, "e") ? TRACE_BIND_NEXT : TRACE_BIND_ENCLOSING;
	trace_bytes_clear(&reader->key);
	status = append(reader, or_empty(event->category));
	if (status == TRACE_OK)
		status = append(reader, (struct trace_text){ "", 1 });
	if (status == TRACE_OK)
		status = append(reader, or_empty(event->name));
	if (status == TRACE_OK)
		status = append(reader, (struct trace_text){ "", 1 });
	if (status == TRACE_OK && is_local)
		status = append(reader, event->thread->pid);
	if (status == TRACE_OK)
		status = append(reader, or_empty(point.id));
	point.key = (struct trace_text){ reader->key.data, reader->key.n_bytes };
	return status < 0 ? status : trace_add_flow_point(reader->assembly, &point);
}

/* ---- Counters ---- */

/* Reads a decimal number; *is_number is false if the text as a whole is none. */
static int read_number(struct trace_chrome_reader *reader, struct trace_text text, double *value, bool *is_number)
{
	struct trace_bytes *number = &reader->number;
	locale_t locale_before;
	char *end;

	*is_number = false;
	for (size_t i = 0; i < text.n_bytes; i++) {
		if (!memchr("0123456789+-.eE", text.data[i], 15))
			return TRACE_OK;
	}
	/* strtod needs a NUL after the number */
	trace_bytes_clear(number);
	if (!text.data || text.n_bytes == 0)
		return TRACE_OK;
	if (trace_bytes_append(number, text, NULL) < 0 || trace_bytes_append(number, (struct trace_text){ "", 1 }, NULL) < 0)
		return out_of_memory(reader);
	locale_before = uselocale(reader->c_locale);
	*value = strtod(number->data, &end);
	uselocale(locale_before);
	*is_number = end == number->data + text.n_bytes && isfinite(*value);
	return TRACE_OK;
}

static int compare_positions(const void *left, const void *right)
{
	const struct argument *a = left, *b = right;

	return (a->position > b->position) - (a->position < b->position);
}

static int compare_keys(const void *left, const void *right)
{
	const struct argument *a = left, *b = right;
	size_t n = a->key.n_bytes < b->key.n_bytes ? a->key.n_bytes : b->key.n_bytes;
	int order = memcmp(a->key.data, b->key.data, n);

	if (order != 0)
		return order;
	if (a->key.n_bytes != b->key.n_bytes)
		return a->key.n_bytes < b->key.n_bytes ? -1 : 1;
	return compare_positions(left, right);
}

/* Of arguments with equal keys, keeps only the last. The kept arguments stay in file order. */
static void drop_superseded(struct trace_chrome_reader *reader)
{
	struct argument *arguments = reader->arguments;
	size_t n = reader->n_arguments, n_left = 0;

	if (n < 2)
		return;
	qsort(arguments, n, sizeof *arguments, compare_keys);
	for (size_t i = 0; i < n; i++) {
		if (i + 1 == n || !same(arguments[i].key, arguments[i + 1].key))
			arguments[n_left++] = arguments[i];
	}
	qsort(arguments, n_left, sizeof *arguments, compare_positions);
	reader->n_arguments = n_left;
}

static int find_arguments(struct trace_chrome_reader *reader)
{
	struct trace_json *json = &reader->json;
	size_t args = reader->fields[FIELD_ARGS], value = 0;
	struct trace_text key;
	int status;

	reader->n_arguments = 0;
	if (!args || trace_json_type_of(json, args) != TRACE_JSON_OBJECT)
		return TRACE_OK;
	while ((status = trace_json_next_member(json, args, &value, &key)) == TRACE_ROW) {
		struct argument *argument;

		if (reader->n_arguments == reader->n_arguments_allocated) {
			size_t n_allocated = reader->n_arguments_allocated ? 2 * reader->n_arguments_allocated : 16;

			argument = realloc(reader->arguments, n_allocated * sizeof *argument);
			if (!argument)
				return out_of_memory(reader);
			reader->arguments = argument;
			reader->n_arguments_allocated = n_allocated;
		}
		argument = &reader->arguments[reader->n_arguments];
		*argument = (struct argument){ .key = key, .value = value, .position = reader->n_arguments++ };
	}
	if (status < 0)
		return out_of_memory(reader);
	drop_superseded(reader);
	return TRACE_OK;
}

static int add_samples(struct trace_chrome_reader *reader, int64_t ts_ns)
{
	struct trace_sample sample = { .ts_ns = ts_ns };
	struct trace_track *process;
	bool is_local, is_number;
	int status = find_process(reader, &process);

	sample.track = process;
	if (status == TRACE_OK)
		status = field_text(reader, FIELD_NAME, &sample.name);
	if (status == TRACE_OK)
		status = find_id(reader, &sample.id, &is_local);
	if (status == TRACE_OK)
		status = find_arguments(reader);
	if (status < 0)
		return status;
	if (reader->n_arguments == 0)
		return leave_out(reader, "C without arguments");
	sample.name = or_empty(sample.name);
	for (size_t i = 0; status == TRACE_OK && i < reader->n_arguments; i++) {
		struct trace_text text;

		sample.key = reader->arguments[i].key;
		status = text_of(reader, reader->arguments[i].value, &text);
		if (status == TRACE_OK)
			status = read_number(reader, text, &sample.value, &is_number);
		if (status < 0)
			return status;
		status = is_number ? trace_add_sample(reader->assembly, &sample)
				   : leave_out(reader, "counter value that is no finite number");
	}
	return status;
}

/* ---- Names ---- */

static int take_sort_index(struct trace_chrome_reader *reader, struct trace_track *track)
{
	struct trace_text text;
	int status = member_text(reader, reader->fields[FIELD_ARGS], "sort_index", &text);
	double value;
	bool is_number;

	if (status == TRACE_OK)
		status = read_number(reader, text, &value, &is_number);
	if (status == TRACE_OK && is_number && fabs(value) < 1e15)
		trace_sort_track(track, (int64_t)value);
	return status;
}

static int take_metadata(struct trace_chrome_reader *reader)
{
	size_t args = reader->fields[FIELD_ARGS];
	struct trace_text name, text;
	struct trace_track *thread = NULL, *process = NULL;
	int status = field_text(reader, FIELD_NAME, &name);

	if (status == TRACE_OK && (is(name, "thread_name") || is(name, "thread_sort_index")))
		status = find_thread(reader, &thread);
	if (status == TRACE_OK && (is(name, "process_name") || is(name, "process_sort_index") || is(name, "process_labels")))
		status = find_process(reader, &process);
	if (status < 0 || (!thread && !process))
		return status;
	if (is(name, "thread_sort_index") || is(name, "process_sort_index"))
		return take_sort_index(reader, thread ? thread : process);
	status = member_text(reader, args, is(name, "process_labels") ? "labels" : "name", &text);
	if (status < 0 || !text.data)
		return status;
	return is(name, "process_labels") ? trace_label_track(reader->assembly, process, text)
					  : trace_name_track(reader->assembly, thread ? thread : process, text);
}

/* ---- An event ---- */

static bool is_wanted(const struct trace_chrome_reader *reader)
{
	switch (reader->phase) {
	case 'X':
	case 'B':
	case 'E':
	case 'b':
	case 'e':
	case 'S':
	case 'F':
		return reader->wants.spans;
	case 'T':
		return reader->wants.spans || reader->wants.instants;
	case 'n':
	case 'p':
	case 'i':
	case 'I':
	case 'R':
		return reader->wants.instants;
	case 'C':
		return reader->wants.samples;
	case 's':
	case 't':
	case 'f':
		return reader->wants.flows;
	default:
		return true;
	}
}

static int add_event(struct trace_chrome_reader *reader, struct trace_event *event)
{
	switch (reader->phase) {
	case 'X':
		return add_complete(reader, event);
	case 'B':
		return add_begin(reader, event);
	case 'E':
		return add_end(reader, event);
	case 'b':
	case 'n':
	case 'e':
		return add_nestable(reader, event);
	case 'S':
	case 'T':
	case 'p':
	case 'F':
		return add_async(reader, event);
	case 's':
	case 't':
	case 'f':
		return add_flow(reader, event);
	default:
		return add_instant(reader, event);
	}
}

static int take_timed(struct trace_chrome_reader *reader)
{
	struct trace_event event;
	int64_t ts_ns;
	int status;

	if (!is_wanted(reader))
		return TRACE_OK;
	if (!memchr("XBEbneSTpFstfiIRC", reader->phase, 17))
		return trace_report_add(reader->assembly, TRACE_LEFT_OUT, 1, "phase %c",
					isprint((unsigned char)reader->phase) ? reader->phase : '?');
	status = field_time(reader, FIELD_TIME, &ts_ns);
	if (status < 0)
		return status;
	if (status != TRACE_ROW)
		return trace_report_add(reader->assembly, TRACE_LEFT_OUT, 1, "phase %c without ts", reader->phase);
	if (reader->phase == 'C')
		return add_samples(reader, ts_ns);
	status = make_event(reader, ts_ns, &event);
	return status < 0 ? status : add_event(reader, &event);
}

static int take_event(struct trace_chrome_reader *reader, struct trace_text text)
{
	struct trace_text phase;
	int status = trace_json_parse(&reader->json, text, reader->is_strict);

	trace_count_event(reader->assembly);
	if (status < 0)
		return trace_fail(reader->assembly, status, reader->event_offset + reader->json.problem_at, "%s",
				  reader->json.problem);
	if (!trace_json_first(&reader->json, 0))
		return leave_out(reader, "empty object");
	status = find_fields(reader);
	if (status == TRACE_OK)
		status = field_text(reader, FIELD_PHASE, &phase);
	if (status < 0)
		return status;
	if (!phase.data || phase.n_bytes == 0) {
		reader->n_without_phase++;
		return leave_out(reader, "event without a phase");
	}
	reader->n_with_phase++;
	reader->phase = phase.data[0];
	return reader->phase == 'M' ? take_metadata(reader) : take_timed(reader);
}

/* ---- The file ---- */

static int check_frames(struct trace_chrome_reader *reader)
{
	for (int i = 0; reader->is_strict && i < TRACE_N_FRAME_MENDS; i++) {
		if (reader->frames.mended[i] > 0)
			return trace_fail(reader->assembly, TRACE_ERROR_FORMAT, reader->n_taken, "not valid JSON: %s",
					  trace_frame_mend_name(i));
	}
	return TRACE_OK;
}

static int feed(void *parser, const char *bytes, size_t n_bytes, size_t *n_taken)
{
	struct trace_chrome_reader *reader = parser;
	struct trace_text event;
	size_t n;
	int status;

	*n_taken = 0;
	do {
		status = trace_frames_next(&reader->frames, bytes + *n_taken, n_bytes - *n_taken, &n, &event);
		if (status < 0)
			return trace_fail(reader->assembly, status, reader->n_taken + reader->frames.problem_at, "%s",
					  reader->frames.problem);
		*n_taken += n;
		reader->n_taken += n;
		reader->event_offset = reader->n_taken - (status == TRACE_ROW ? event.n_bytes : 0);
		if (check_frames(reader) < 0)
			return TRACE_ERROR_FORMAT;
		if (status == TRACE_ROW && (status = take_event(reader, event)) == TRACE_OK)
			status = TRACE_ROW;
	} while (status == TRACE_ROW);
	return status;
}

/* Reports what was mended, elements of the array that are no events, and system events outside the array. */
static int report(struct trace_chrome_reader *reader)
{
	for (int i = 0; i < TRACE_N_MENDS; i++) {
		if (reader->json.mended[i] > 0)
			trace_report_add(reader->assembly, TRACE_MENDED, reader->json.mended[i], "%s", trace_json_mend_name(i));
	}
	for (int i = 0; i < TRACE_N_FRAME_MENDS; i++) {
		if (reader->frames.mended[i] > 0)
			trace_report_add(reader->assembly, TRACE_MENDED, reader->frames.mended[i], "%s",
					 trace_frame_mend_name(i));
	}
	if (reader->frames.n_other_elements > 0)
		trace_report_add(reader->assembly, TRACE_LEFT_OUT, reader->frames.n_other_elements,
				 "element that is no object");
	if (reader->frames.n_system_traces > 0)
		trace_report_add(reader->assembly, TRACE_LEFT_OUT, reader->frames.n_system_traces, "systemTraceEvents");
	return TRACE_OK;
}

static int end(void *parser, const char *bytes, size_t n_bytes)
{
	struct trace_chrome_reader *reader = parser;
	int status = trace_frames_end(&reader->frames, n_bytes);

	(void)bytes;
	if (status < 0)
		return trace_fail(reader->assembly, status, reader->n_taken + n_bytes, "%s", reader->frames.problem);
	/* the file is an array of something else, such as Zipkin's spans */
	if (reader->n_without_phase > 0 && reader->n_with_phase == 0)
		return trace_fail(reader->assembly, TRACE_ERROR_NOT_TRACE, reader->n_taken + n_bytes,
				  "no event has a phase (\"ph\"), so this is no trace of Chrome");
	return check_frames(reader) < 0 ? TRACE_ERROR_FORMAT : report(reader);
}

const struct trace_format trace_chrome_json = {
	.name = "Chrome JSON",
	.recognise = recognise,
	.begin = begin,
	.feed = feed,
	.end = end,
	.release = release,
};
