#include "trace/otlp.h"

#include <string.h>

enum { FLOW_KEY_BYTES = 2 * sizeof(struct trace_otlp_id), USUAL_TRACE_ID_DIGITS = 32 };

void trace_otlp_release(struct trace_otlp *otlp)
{
	trace_bytes_release(&otlp->service);
	trace_bytes_release(&otlp->scope);
	trace_write_release(&otlp->resource_args);
	trace_write_release(&otlp->scope_args);
	trace_write_release(&otlp->args);
	trace_write_release(&otlp->attributes);
}

static int fail(struct trace_otlp *otlp, int status, const char *problem)
{
	return trace_fail(otlp->assembly, status, otlp->offset, "%s", problem);
}

static int out_of_memory(struct trace_otlp *otlp)
{
	return fail(otlp, TRACE_ERROR_MEMORY, "out of memory");
}

/* ---- Words ---- */

struct trace_text trace_otlp_kind(uint64_t number)
{
	static const struct trace_text words[] = {
		{ 0 }, { "internal", 8 }, { "server", 6 }, { "client", 6 }, { "producer", 8 }, { "consumer", 8 },
	};

	return number < sizeof words / sizeof *words ? words[number] : words[0];
}

struct trace_text trace_otlp_status(uint64_t number)
{
	static const struct trace_text words[] = { { 0 }, { "ok", 2 }, { "error", 5 } };

	return number < sizeof words / sizeof *words ? words[number] : words[0];
}

/* ---- Ids ---- */

bool trace_otlp_id_of_bytes(struct trace_otlp_id *id, struct trace_text bytes)
{
	static const char digits[] = "0123456789abcdef";
	unsigned any = 0;

	id->n_digits = 0;
	if (bytes.n_bytes > TRACE_OTLP_MAX_ID_BYTES)
		return false;
	for (size_t i = 0; i < bytes.n_bytes; i++) {
		unsigned char byte = (unsigned char)bytes.data[i];

		id->digits[2 * i] = digits[byte >> 4];
		id->digits[2 * i + 1] = digits[byte & 15];
		any |= byte;
	}
	id->n_digits = any ? 2 * bytes.n_bytes : 0;
	return true;
}

static int value_of_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int value_of_base64(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_hex(struct trace_text text)
{
	for (size_t i = 0; i < text.n_bytes; i++) {
		if (value_of_hex(text.data[i]) < 0)
			return false;
	}
	return text.n_bytes % 2 == 0;
}

/* Decodes groups of four digits, the last of which may end in one or two '='. Returns the number of bytes, or -1. */
static int decode_base64(struct trace_text text, char *bytes)
{
	size_t n_padding = 0;
	int n_bytes = 0;
	unsigned bits = 0;

	while (n_padding < 2 && n_padding < text.n_bytes && text.data[text.n_bytes - 1 - n_padding] == '=')
		n_padding++;
	if (text.n_bytes % 4 != 0)
		return -1;
	for (size_t i = 0; i < text.n_bytes - n_padding; i++) {
		int value = value_of_base64(text.data[i]);

		if (value < 0)
			return -1;
		bits = bits << 6 | (unsigned)value;
		if (i % 4 > 0)
			bytes[n_bytes++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	return n_bytes;
}

bool trace_otlp_id_of_text(struct trace_otlp_id *id, struct trace_text text)
{
	char bytes[2 * TRACE_OTLP_MAX_ID_BYTES];
	int n_bytes = 0;

	id->n_digits = 0;
	if (text.n_bytes > sizeof bytes)
		return false;
	if (is_hex(text)) {
		for (; 2 * (size_t)n_bytes < text.n_bytes; n_bytes++)
			bytes[n_bytes] =
				(char)(value_of_hex(text.data[2 * n_bytes]) * 16 + value_of_hex(text.data[2 * n_bytes + 1]));
	} else {
		n_bytes = decode_base64(text, bytes);
	}
	return n_bytes >= 0 && trace_otlp_id_of_bytes(id, (struct trace_text){ bytes, (size_t)n_bytes });
}

static struct trace_text text_of(const struct trace_otlp_id *id)
{
	return (struct trace_text){ id->n_digits > 0 ? id->digits : NULL, id->n_digits };
}

/* ---- Resources and scopes ---- */

static int keep(struct trace_otlp *otlp, struct trace_bytes *bytes, struct trace_text text)
{
	trace_bytes_clear(bytes);
	return trace_bytes_append(bytes, text, NULL) < 0 ? out_of_memory(otlp) : TRACE_OK;
}

static void write_member(struct trace_json_writer *writer, const char *key, struct trace_text json)
{
	if (!json.data)
		return;
	trace_write_key(writer, (struct trace_text){ key, strlen(key) });
	trace_write_json(writer, json);
}

static void write_text(struct trace_json_writer *writer, const char *key, struct trace_text text)
{
	if (!text.data || text.n_bytes == 0)
		return;
	trace_write_key(writer, (struct trace_text){ key, strlen(key) });
	trace_write_string(writer, text);
}

static void write_number(struct trace_json_writer *writer, const char *key, uint64_t number)
{
	if (number == 0)
		return;
	trace_write_key(writer, (struct trace_text){ key, strlen(key) });
	trace_write_uint64(writer, number);
}

int trace_otlp_begin_resource(struct trace_otlp *otlp, struct trace_text service, struct trace_text attributes)
{
	otlp->track = NULL;
	trace_write_clear(&otlp->resource_args);
	write_member(&otlp->resource_args, "resource", attributes);
	return otlp->resource_args.out_of_memory ? out_of_memory(otlp) : keep(otlp, &otlp->service, service);
}

int trace_otlp_begin_scope(struct trace_otlp *otlp, struct trace_text name, struct trace_text version,
			   struct trace_text attributes)
{
	trace_write_clear(&otlp->scope_args);
	write_text(&otlp->scope_args, "scope_version", version);
	write_member(&otlp->scope_args, "scope_attributes", attributes);
	return otlp->scope_args.out_of_memory ? out_of_memory(otlp) : keep(otlp, &otlp->scope, name);
}

static struct trace_text kept(const struct trace_bytes *bytes)
{
	return (struct trace_text){ bytes->n_bytes > 0 ? bytes->data : NULL, bytes->n_bytes };
}

/* ---- Spans ---- */

/* Finds the resource's track at its first span, because a resource without spans has no track. */
static int find_track(struct trace_otlp *otlp)
{
	struct trace_text service = kept(&otlp->service);
	struct trace_track_identity identity = { .kind = TRACE_TRACK_SERVICE, .key = service };
	int status;

	if (otlp->track)
		return TRACE_OK;
	if (!identity.key.data)
		identity.key = (struct trace_text){ "", 0 };
	status = trace_find_track(otlp->assembly, &identity, &otlp->track);
	if (status == TRACE_OK && service.data)
		status = trace_name_track(otlp->assembly, otlp->track, service);
	return status;
}

static int check_time(struct trace_otlp *otlp, uint64_t time_ns)
{
	return time_ns > INT64_MAX ? fail(otlp, TRACE_ERROR_RANGE, "a time does not fit into 64-bit nanoseconds") : TRACE_OK;
}

/* Copies the members of a resource's or scope's args. */
static void write_members(struct trace_json_writer *writer, const struct trace_json_writer *members)
{
	if (members->bytes.n_bytes > 0)
		trace_write_json(writer, trace_written(members));
}

/* Closes the object of args; *written is left without data if it has no members. */
static int end_args(struct trace_otlp *otlp, struct trace_text *written)
{
	bool has_members = otlp->args.bytes.n_bytes > 1;

	trace_write_close(&otlp->args, '}');
	if (has_members)
		*written = trace_written(&otlp->args);
	return otlp->args.out_of_memory ? out_of_memory(otlp) : TRACE_OK;
}

static int write_args(struct trace_otlp *otlp, const struct trace_otlp_span *span, struct trace_text *written)
{
	struct trace_json_writer *args = &otlp->args;

	trace_write_clear(args);
	trace_write_open(args, '{');
	write_text(args, "kind", span->kind);
	write_text(args, "status", span->status);
	write_text(args, "status_message", span->status_message);
	write_member(args, "attributes", span->attributes);
	write_members(args, &otlp->resource_args);
	write_members(args, &otlp->scope_args);
	write_text(args, "trace_state", span->trace_state);
	write_number(args, "flags", span->flags);
	write_number(args, "dropped_attributes", span->n_dropped_attributes);
	write_number(args, "dropped_events", span->n_dropped_events);
	write_number(args, "dropped_links", span->n_dropped_links);
	return end_args(otlp, written);
}

static int64_t duration_of(const struct trace_otlp_span *span)
{
	return span->end_ns >= span->start_ns && span->end_ns > 0 ? (int64_t)(span->end_ns - span->start_ns)
								  : TRACE_NEVER_CLOSED;
}

/* Makes a key of the trace and the span, with a separator between them. */
static struct trace_text flow_key(const struct trace_otlp_id *trace_id, const struct trace_otlp_id *span_id,
				  char key[FLOW_KEY_BYTES])
{
	memcpy(key, trace_id->digits, trace_id->n_digits);
	key[trace_id->n_digits] = '/';
	memcpy(key + trace_id->n_digits + 1, span_id->digits, span_id->n_digits);
	return (struct trace_text){ key, trace_id->n_digits + 1 + span_id->n_digits };
}

/* Makes the span a source, because links may lead to it. */
static int add_source(struct trace_otlp *otlp, const struct trace_otlp_span *span)
{
	char key[FLOW_KEY_BYTES];
	struct trace_flow_point point = {
		.role = TRACE_FLOW_SOURCE,
		.binding = TRACE_BIND_EVENT,
		.ts_ns = (int64_t)span->start_ns,
		.what = "link",
	};

	if (!otlp->wants.flows || span->span_id.n_digits == 0)
		return TRACE_OK;
	point.key = flow_key(&span->trace_id, &span->span_id, key);
	return trace_add_flow_point(otlp->assembly, &point);
}

int trace_otlp_add_span(struct trace_otlp *otlp, const struct trace_otlp_span *span)
{
	struct trace_event event = {
		.ts_ns = (int64_t)span->start_ns,
		.name = span->name,
		.category = kept(&otlp->scope),
		.id = text_of(&span->span_id),
		.parent_id = text_of(&span->parent_id),
		.trace_id = text_of(&span->trace_id),
	};
	int status = check_time(otlp, span->start_ns);

	trace_count_event(otlp->assembly);
	otlp->span_id = span->span_id;
	otlp->start_ns = event.ts_ns;
	otlp->is_left_out = !span->has_start;
	otlp->n_spans++;
	otlp->n_without_times += otlp->is_left_out && span->end_ns == 0 && span->trace_id.n_digits != USUAL_TRACE_ID_DIGITS;
	if (status == TRACE_OK)
		status = check_time(otlp, span->end_ns);
	if (status == TRACE_OK)
		status = find_track(otlp);
	if (status == TRACE_OK && otlp->is_left_out)
		return trace_leave_out(otlp->assembly, 1, "span without a start");
	if (status == TRACE_OK && span->end_ns > 0 && span->end_ns < span->start_ns)
		status = trace_report_add(otlp->assembly, TRACE_MENDED, 1, "span that ends before it starts");
	if (status == TRACE_OK && otlp->wants.args)
		status = write_args(otlp, span, &event.args);
	if (status < 0)
		return status;
	event.track = otlp->track;
	status = trace_add_span(otlp->assembly, &event, duration_of(span));
	return status == TRACE_OK ? add_source(otlp, span) : status;
}

int trace_otlp_add_link(struct trace_otlp *otlp, const struct trace_otlp_id *trace_id, const struct trace_otlp_id *span_id)
{
	char key[FLOW_KEY_BYTES];
	struct trace_flow_point point = {
		.role = TRACE_FLOW_ARRIVE,
		.binding = TRACE_BIND_EVENT,
		.ts_ns = otlp->start_ns,
		.key = flow_key(trace_id, span_id, key),
		.id = text_of(span_id),
		.what = "link",
	};

	trace_count_event(otlp->assembly);
	if (otlp->is_left_out)
		return trace_leave_out(otlp->assembly, 1, "link of a span without a start");
	return trace_add_flow_point(otlp->assembly, &point);
}

int trace_otlp_finish(struct trace_otlp *otlp)
{
	if (otlp->n_spans == 0 || otlp->n_without_times < otlp->n_spans)
		return TRACE_OK;
	return trace_fail(otlp->assembly, TRACE_ERROR_NOT_TRACE, otlp->offset,
			  "no span has a time or an id: metrics and logs of OTLP are not read, only spans");
}

/* ---- Events ---- */

static int write_event_args(struct trace_otlp *otlp, const struct trace_otlp_event *event, struct trace_text *written)
{
	struct trace_json_writer *args = &otlp->args;

	trace_write_clear(args);
	trace_write_open(args, '{');
	write_member(args, "attributes", event->attributes);
	write_number(args, "dropped_attributes", event->n_dropped_attributes);
	return end_args(otlp, written);
}

int trace_otlp_add_event(struct trace_otlp *otlp, const struct trace_otlp_event *event)
{
	struct trace_event instant = {
		.track = otlp->track,
		.ts_ns = (int64_t)event->time_ns,
		.name = event->name,
		.category = kept(&otlp->scope),
		.id = text_of(&otlp->span_id),
	};
	int status = check_time(otlp, event->time_ns);

	trace_count_event(otlp->assembly);
	if (status < 0)
		return status;
	if (event->time_ns == 0)
		return trace_leave_out(otlp->assembly, 1, "event without a time");
	if (otlp->wants.args)
		status = write_event_args(otlp, event, &instant.args);
	return status == TRACE_OK ? trace_add_instant(otlp->assembly, &instant) : status;
}
