#include "tests/trace/perfetto_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Writing ---- */


struct protobuf perfetto_bytes;
size_t perfetto_event;
static size_t packet;

void perfetto_begin_packet(uint64_t sequence, uint64_t timestamp)
{
	packet = protobuf_begin(&perfetto_bytes, 1);
	if (timestamp)
		protobuf_varint(&perfetto_bytes, 8, timestamp);
	if (sequence)
		protobuf_varint(&perfetto_bytes, 10, sequence);
}

void perfetto_end_packet(void)
{
	protobuf_end(&perfetto_bytes, packet);
}

void perfetto_clear_state(uint64_t sequence)
{
	perfetto_begin_packet(sequence, 0);
	protobuf_varint(&perfetto_bytes, 13, 1);
	perfetto_end_packet();
}

void perfetto_begin_event(uint64_t sequence, uint64_t timestamp, uint64_t type, uint64_t uuid)
{
	perfetto_begin_packet(sequence, timestamp);
	perfetto_event = protobuf_begin(&perfetto_bytes, 11);
	if (type)
		protobuf_varint(&perfetto_bytes, 9, type);
	if (uuid)
		protobuf_varint(&perfetto_bytes, 11, uuid);
}

void perfetto_end_event(void)
{
	protobuf_end(&perfetto_bytes, perfetto_event);
	perfetto_end_packet();
}

void perfetto_write_event(uint64_t sequence, uint64_t timestamp, uint64_t type, uint64_t uuid, const char *name,
			const char *category)
{
	perfetto_begin_event(sequence, timestamp, type, uuid);
	if (name)
		protobuf_text(&perfetto_bytes, 23, name);
	if (category)
		protobuf_text(&perfetto_bytes, 22, category);
	perfetto_end_event();
}

static size_t descriptor;

void perfetto_begin_descriptor(uint64_t uuid, uint64_t parent, const char *name)
{
	perfetto_begin_packet(7, 0);
	descriptor = protobuf_begin(&perfetto_bytes, 60);
	protobuf_varint(&perfetto_bytes, 1, uuid);
	if (parent)
		protobuf_varint(&perfetto_bytes, 5, parent);
	if (name)
		protobuf_text(&perfetto_bytes, 2, name);
}

void perfetto_end_descriptor(void)
{
	protobuf_end(&perfetto_bytes, descriptor);
	perfetto_end_packet();
}

void perfetto_describe_thread(uint64_t uuid, uint64_t pid, uint64_t tid, const char *name)
{
	size_t thread;

	perfetto_begin_descriptor(uuid, 0, NULL);
	thread = protobuf_begin(&perfetto_bytes, 4);
	protobuf_varint(&perfetto_bytes, 1, pid);
	protobuf_varint(&perfetto_bytes, 2, tid);
	if (name)
		protobuf_text(&perfetto_bytes, 5, name);
	protobuf_end(&perfetto_bytes, thread);
	perfetto_end_descriptor();
}

void perfetto_describe_process(uint64_t uuid, uint64_t pid, const char *name)
{
	size_t process;

	perfetto_begin_descriptor(uuid, 0, NULL);
	process = protobuf_begin(&perfetto_bytes, 3);
	protobuf_varint(&perfetto_bytes, 1, pid);
	protobuf_text(&perfetto_bytes, 6, name);
	protobuf_end(&perfetto_bytes, process);
	perfetto_end_descriptor();
}

void perfetto_describe(uint64_t uuid, uint64_t parent, const char *name)
{
	perfetto_begin_descriptor(uuid, parent, name);
	perfetto_end_descriptor();
}

void perfetto_describe_counter(uint64_t uuid, uint64_t parent, const char *name, uint64_t multiplier, bool is_incremental)
{
	size_t counter;

	perfetto_begin_descriptor(uuid, parent, name);
	counter = protobuf_begin(&perfetto_bytes, 8);
	protobuf_varint(&perfetto_bytes, 3, 3);
	if (multiplier)
		protobuf_varint(&perfetto_bytes, 4, multiplier);
	if (is_incremental)
		protobuf_varint(&perfetto_bytes, 5, 1);
	protobuf_end(&perfetto_bytes, counter);
	perfetto_end_descriptor();
}

void perfetto_write_count(uint64_t sequence, uint64_t timestamp, uint64_t uuid, int64_t value)
{
	perfetto_begin_event(sequence, timestamp, COUNT, uuid);
	protobuf_varint(&perfetto_bytes, 30, (uint64_t)value);
	perfetto_end_event();
}

void perfetto_intern(uint64_t sequence, uint32_t field, uint64_t iid, const char *text)
{
	size_t interned, entry;

	perfetto_begin_packet(sequence, 0);
	interned = protobuf_begin(&perfetto_bytes, 12);
	entry = protobuf_begin(&perfetto_bytes, field);
	protobuf_varint(&perfetto_bytes, 1, iid);
	protobuf_text(&perfetto_bytes, 2, text);
	protobuf_end(&perfetto_bytes, entry);
	protobuf_end(&perfetto_bytes, interned);
	perfetto_end_packet();
}

void perfetto_snapshot(uint64_t sequence, uint64_t clock, uint64_t time, uint64_t other, uint64_t other_time, uint64_t unit_ns,
		     bool is_incremental)
{
	size_t message, reading;

	perfetto_begin_packet(sequence, 0);
	message = protobuf_begin(&perfetto_bytes, 6);
	reading = protobuf_begin(&perfetto_bytes, 1);
	protobuf_varint(&perfetto_bytes, 1, clock);
	protobuf_varint(&perfetto_bytes, 2, time);
	protobuf_end(&perfetto_bytes, reading);
	reading = protobuf_begin(&perfetto_bytes, 1);
	protobuf_varint(&perfetto_bytes, 1, other);
	protobuf_varint(&perfetto_bytes, 2, other_time);
	if (is_incremental)
		protobuf_varint(&perfetto_bytes, 3, 1);
	if (unit_ns)
		protobuf_varint(&perfetto_bytes, 4, unit_ns);
	protobuf_end(&perfetto_bytes, reading);
	protobuf_end(&perfetto_bytes, message);
	perfetto_end_packet();
}

void perfetto_write_at_clock(uint64_t sequence, uint64_t timestamp, uint64_t clock, const char *name)
{
	perfetto_begin_packet(sequence, timestamp);
	protobuf_varint(&perfetto_bytes, 58, clock);
	perfetto_event = protobuf_begin(&perfetto_bytes, 11);
	protobuf_varint(&perfetto_bytes, 9, INSTANT);
	protobuf_varint(&perfetto_bytes, 11, THREAD);
	protobuf_text(&perfetto_bytes, 23, name);
	perfetto_end_event();
}

void perfetto_write_interned(uint64_t sequence, uint64_t timestamp, uint64_t name_iid, uint64_t category_iid)
{
	perfetto_begin_packet(sequence, timestamp);
	protobuf_varint(&perfetto_bytes, 13, 2);
	perfetto_event = protobuf_begin(&perfetto_bytes, 11);
	protobuf_varint(&perfetto_bytes, 9, INSTANT);
	protobuf_varint(&perfetto_bytes, 10, name_iid);
	protobuf_varint(&perfetto_bytes, 3, category_iid);
	protobuf_text(&perfetto_bytes, 22, "more");
	perfetto_end_event();
}

void perfetto_write_with_flow(uint64_t timestamp, uint64_t type, uint32_t field, uint64_t id)
{
	perfetto_begin_event(7, timestamp, type, THREAD);
	if (field < 47)
		protobuf_varint(&perfetto_bytes, field, id);
	else
		protobuf_fixed64(&perfetto_bytes, field, id);
	perfetto_end_event();
}

/* ---- Reading ---- */

struct perfetto_shown perfetto_shown;


static struct source {
	size_t at, n_bytes_at_once;
} source;

__attribute__((format(printf, 1, 2))) static void show(const char *format, ...)
{
	size_t n_left = sizeof perfetto_shown.text - perfetto_shown.n_bytes;
	va_list arguments;
	int n_bytes;

	va_start(arguments, format);
	n_bytes = vsnprintf(perfetto_shown.text + perfetto_shown.n_bytes, n_left, format, arguments);
	va_end(arguments);
	if (n_bytes > 0 && (size_t)n_bytes < n_left)
		perfetto_shown.n_bytes += (size_t)n_bytes;
}

static void show_text(const char *before, struct trace_text text)
{
	if (text.data)
		show("%s%.*s", before, (int)text.n_bytes, text.data);
}

int perfetto_show_span(void *context, const struct trace_span *span)
{
	(void)context;
	show("span %" PRIu64 ": %" PRId64 " %" PRId64, span->number, span->ts_ns, span->dur_ns);
	show_text(" on ", span->track->key);
	show_text(" ", span->name);
	show_text(" cat ", span->category);
	show_text(" id ", span->id);
	show_text(" ", span->args);
	show("\n");
	return TRACE_OK;
}

int perfetto_show_sample(void *context, const struct trace_sample *sample)
{
	(void)context;
	show("sample %" PRId64 " %.15g", sample->ts_ns, sample->value);
	show_text(" ", sample->name);
	if (sample->track)
		show_text(" of ", sample->track->key);
	show_text(" in ", sample->unit);
	show("\n");
	return TRACE_OK;
}

int perfetto_show_instant(void *context, const struct trace_instant *instant)
{
	(void)context;
	show("instant %" PRIu64 ": %" PRId64, instant->number, instant->ts_ns);
	show_text(" on ", instant->track->key);
	show_text(" ", instant->name);
	show_text(" cat ", instant->category);
	show_text(" ", instant->args);
	show("\n");
	return TRACE_OK;
}

int perfetto_show_flow(void *context, const struct trace_flow *flow)
{
	(void)context;
	show("flow %s %" PRIu64 " -> %s %" PRIu64, flow->from.span ? "span" : "instant",
	     flow->from.span ? flow->from.span : flow->from.instant, flow->to.span ? "span" : "instant",
	     flow->to.span ? flow->to.span : flow->to.instant);
	show_text(" id ", flow->id);
	show("\n");
	return TRACE_OK;
}

int perfetto_show_track(void *context, const struct trace_track *track)
{
	(void)context;
	if (!track->is_used && !track->name.data)
		return TRACE_OK;
	show("%s", trace_track_kind_name(track->kind));
	show_text(" ", track->key);
	show_text(": ", track->name);
	if (track->parent)
		show_text(" in ", track->parent->key);
	if (track->has_sort_index)
		show(" sorted %" PRId64, track->sort_index);
	show("\n");
	return TRACE_OK;
}

static int read_bytes(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	size_t n_left = perfetto_bytes.n_bytes - source.at;

	(void)context;
	n_bytes = n_bytes < source.n_bytes_at_once ? n_bytes : source.n_bytes_at_once;
	*n_read = n_bytes < n_left ? n_bytes : n_left;
	if (*n_read > 0)
		memcpy(data, perfetto_bytes.bytes + source.at, *n_read);
	source.at += *n_read;
	return TRACE_OK;
}

void perfetto_read_trace(bool is_strict, size_t piece_bytes)
{
	struct trace_sink sink = { NULL, perfetto_show_span, perfetto_show_sample, perfetto_show_instant, perfetto_show_flow, perfetto_show_track };
	struct trace_options options = { .args = true, .strict = is_strict, .piece_bytes = piece_bytes };
	const struct trace_report_line *line;
	struct trace *trace;

	perfetto_shown.n_bytes = 0;
	perfetto_shown.text[0] = 0;
	source = (struct source){ 0, piece_bytes ? piece_bytes : SIZE_MAX };
	perfetto_shown.status = trace_open_source(read_bytes, NULL, "trace", &options, &sink, &trace);
	while (perfetto_shown.status >= 0 && (perfetto_shown.status = trace_step(trace)) == TRACE_ROW)
		;
	for (size_t i = 0; trace && (line = trace_report(trace, i)); i++)
		show("%s %" PRIu64 ": %s\n", line->finding == TRACE_MENDED ? "mended" : "left out", line->n, line->what);
	snprintf(perfetto_shown.error, sizeof perfetto_shown.error, "%s", trace_error(trace));
	trace_close(trace);
}

void perfetto_expect(const char *text)
{
	perfetto_read_trace(false, 0);
	protobuf_clear(&perfetto_bytes);
	assert_string_equal(perfetto_shown.error, "");
	assert_int_equal(perfetto_shown.status, TRACE_OK);
	assert_string_equal(perfetto_shown.text, text);
}
