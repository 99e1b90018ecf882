#include "bench/trace_copies.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bench/trace_fields.h"
#include "trace/json_frames.h"
#include "trace/protobuf.h"
#include "trace/trace.h"

static void die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

/* ---- The recorded trace ---- */

struct extent {
	int64_t first, last;
};

static void extend(struct extent *extent, int64_t from, int64_t to)
{
	extent->first = from < extent->first ? from : extent->first;
	extent->last = to > extent->last ? to : extent->last;
}

static int on_span(void *context, const struct trace_span *span)
{
	extend(context, span->ts_ns, span->ts_ns + (span->dur_ns > 0 ? span->dur_ns : 0));
	return TRACE_OK;
}

static int on_sample(void *context, const struct trace_sample *sample)
{
	extend(context, sample->ts_ns, sample->ts_ns);
	return TRACE_OK;
}

static int on_instant(void *context, const struct trace_instant *instant)
{
	extend(context, instant->ts_ns, instant->ts_ns);
	return TRACE_OK;
}

static void unpack(struct recorded_trace *recorded, const char *path)
{
	enum { PIECE_BYTES = 1 << 20 };
	gzFile input = gzopen(path, "rb");
	int n;

	if (!input)
		die("cannot open a trace");
	do {
		recorded->data = realloc(recorded->data, recorded->n_bytes + PIECE_BYTES);
		if (!recorded->data || (n = gzread(input, recorded->data + recorded->n_bytes, PIECE_BYTES)) < 0)
			die("cannot unpack a trace");
		recorded->n_bytes += (size_t)n;
	} while (n > 0);
	gzclose(input);
}

struct recorded_trace recorded_trace_read(const char *path)
{
	struct extent extent = { INT64_MAX, INT64_MIN };
	struct trace_sink sink = { .context = &extent, .on_span = on_span, .on_sample = on_sample, .on_instant = on_instant };
	struct recorded_trace recorded = { 0 };
	struct trace *trace;
	int status = trace_open(path, &(struct trace_options){ 0 }, &sink, &trace);

	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		;
	if (status < 0)
		die(trace_error(trace));
	snprintf(recorded.format, sizeof recorded.format, "%s", trace_format_name(trace));
	recorded.n_spans = trace_counts(trace)->n_spans;
	recorded.length_ns = extent.last >= extent.first ? extent.last - extent.first : 0;
	trace_close(trace);
	unpack(&recorded, path);
	return recorded;
}

void recorded_trace_release(struct recorded_trace *recorded)
{
	free(recorded->data);
	recorded->data = NULL;
	recorded->n_bytes = 0;
}

/* ---- Copies of JSON ---- */

/* Text as it is, and then a whole number that is shifted. */
struct piece {
	struct trace_text text;
	bool has_time;
	int64_t time, unit_ns;
};

struct pieces {
	struct piece *pieces;
	size_t n, n_allocated;
};

static struct piece *next_piece(struct pieces *pieces)
{
	if (pieces->n == pieces->n_allocated) {
		pieces->n_allocated = pieces->n_allocated ? 2 * pieces->n_allocated : 1024;
		pieces->pieces = realloc(pieces->pieces, pieces->n_allocated * sizeof *pieces->pieces);
		if (!pieces->pieces)
			die("out of memory");
	}
	pieces->pieces[pieces->n] = (struct piece){ 0 };
	return &pieces->pieces[pieces->n++];
}

/* The number of the next such key, in quotes or not; NULL if there is none. */
static const char *find_time(const char *at, const char *end, const char *key)
{
	size_t n_bytes = strlen(key);

	while ((at = memmem(at, (size_t)(end - at), key, n_bytes))) {
		for (at += n_bytes; at < end && (*at == ':' || *at == ' ' || *at == '"'); at++)
			;
		if (at < end && (isdigit((unsigned char)*at) || *at == '-'))
			return at;
	}
	return NULL;
}

/* Cuts the text before each time. */
static void cut_text(struct pieces *pieces, const char *at, const char *end, const char *key, int64_t unit_ns)
{
	const char *time;

	while (at < end && (time = find_time(at, end, key))) {
		struct piece *piece = next_piece(pieces);
		char *behind;

		*piece = (struct piece){ { at, (size_t)(time - at) }, true, strtoll(time, &behind, 10), unit_ns };
		at = behind;
	}
	next_piece(pieces)->text = (struct trace_text){ at, (size_t)(end - at) };
}

static void cut_events(struct pieces *pieces, const struct recorded_trace *recorded)
{
	struct trace_json_frames frames = { 0 };
	struct trace_text event;
	size_t at = 0, n_taken;

	while (trace_frames_next(&frames, recorded->data + at, recorded->n_bytes - at, &n_taken, &event) == TRACE_ROW) {
		if (at > 0)
			next_piece(pieces)->text = (struct trace_text){ ",\n", 2 };
		cut_text(pieces, event.data, event.data + event.n_bytes, "\"ts\"", 1000);
		at += n_taken;
	}
}

static void write_pieces(FILE *file, const struct pieces *pieces, int64_t shift_ns)
{
	for (size_t i = 0; i < pieces->n; i++) {
		const struct piece *piece = &pieces->pieces[i];

		fwrite(piece->text.data, 1, piece->text.n_bytes, file);
		if (piece->has_time)
			fprintf(file, "%" PRId64, piece->time + shift_ns / piece->unit_ns);
	}
}

/* ---- Copies of protobuf ---- */

static void put(struct trace_bytes *bytes, const void *data, size_t n_bytes)
{
	if (n_bytes > 0 && trace_bytes_append(bytes, (struct trace_text){ data, n_bytes }, NULL) < 0)
		die("out of memory");
}

static void put_varint(struct trace_bytes *bytes, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(bytes, &(char){ (char)(value | 0x80) }, 1);
	put(bytes, &(char){ (char)value }, 1);
}

static uint64_t take_varint(struct trace_text *text)
{
	uint64_t value = 0;
	int n_bits = 0;

	for (; text->n_bytes > 0; n_bits += 7) {
		unsigned char byte = (unsigned char)*text->data++;

		text->n_bytes--;
		value |= (uint64_t)(byte & 0x7F) << n_bits;
		if (byte < 0x80)
			break;
	}
	return value;
}

static void put_bytes(struct trace_bytes *bytes, uint32_t number, const void *data, size_t n_bytes)
{
	put_varint(bytes, (uint64_t)number << 3 | TRACE_WIRE_BYTES);
	put_varint(bytes, n_bytes);
	put(bytes, data, n_bytes);
}

/* The first of them is shifted, and the others follow. */
static void put_packed(struct trace_bytes *bytes, uint32_t number, struct trace_text packed, int64_t shift_ns)
{
	struct trace_bytes shifted = { 0 };

	put_varint(&shifted, take_varint(&packed) + (uint64_t)shift_ns);
	put(&shifted, packed.data, packed.n_bytes);
	put_bytes(bytes, number, shifted.data, shifted.n_bytes);
	trace_bytes_release(&shifted);
}

static void put_shifted(struct trace_bytes *bytes, struct trace_text text, const struct field_kind *fields, int64_t shift_ns)
{
	struct trace_message message = trace_message_of(text);
	struct trace_field field;

	for (const char *at = message.at; trace_message_next(&message, &field) == TRACE_ROW; at = message.at) {
		const struct field_kind *kind = field_kind_of(fields, field.number);
		uint64_t shifted = field.value + (uint64_t)(kind && kind->time == TIME_US ? shift_ns / 1000 : shift_ns);

		if (kind && kind->fields && field.wire == TRACE_WIRE_BYTES) {
			struct trace_bytes inside = { 0 };

			put_shifted(&inside, field.text, kind->fields, shift_ns);
			put_bytes(bytes, field.number, inside.data, inside.n_bytes);
			trace_bytes_release(&inside);
		} else if (kind && kind->time == TIME_PACKED_NS && field.wire == TRACE_WIRE_BYTES && field.text.n_bytes > 0) {
			put_packed(bytes, field.number, field.text, shift_ns);
		} else if (kind && kind->time && field.wire == TRACE_WIRE_VARINT) {
			put_varint(bytes, (uint64_t)field.number << 3 | TRACE_WIRE_VARINT);
			put_varint(bytes, shifted);
		} else if (kind && kind->time && field.wire == TRACE_WIRE_FIXED64) {
			put_varint(bytes, (uint64_t)field.number << 3 | TRACE_WIRE_FIXED64);
			put(bytes, &shifted, sizeof shifted);
		} else {
			put(bytes, at, (size_t)(message.at - at));
		}
	}
}

/* ---- Copies of Spall ---- */

/* Version 3: begins of 11 bytes and two texts, ends of 9, names of 3 and a text; each buffer has 20 bytes before it. */
static void shift_buffers(struct trace_bytes *bytes, struct trace_text buffers, int64_t shift)
{
	enum { HEADER_BYTES = 20, TYPE_BEGIN = 3, TYPE_END = 4 };
	size_t begin = bytes->n_bytes;
	unsigned char *at, *end;

	put(bytes, buffers.data, buffers.n_bytes);
	at = (unsigned char *)bytes->data + begin;
	end = (unsigned char *)bytes->data + bytes->n_bytes;
	while (at + HEADER_BYTES <= end) {
		uint32_t n_bytes;
		unsigned char *event = at + HEADER_BYTES;

		memcpy(&n_bytes, at, sizeof n_bytes);
		at = event + n_bytes;
		while (event < at && at <= end) {
			bool has_time = *event == TYPE_BEGIN || *event == TYPE_END;
			uint64_t time;

			if (has_time) {
				memcpy(&time, event + 1, sizeof time);
				time += (uint64_t)shift;
				memcpy(event + 1, &time, sizeof time);
			}
			event += *event == TYPE_BEGIN ? 11 + event[9] + event[10] : *event == TYPE_END ? 9 : 2 + event[1];
		}
	}
}

/* ---- Files ---- */

/* Appends a copy to the file. */
static void write_copy(FILE *file, const struct recorded_trace *recorded, const struct pieces *pieces,
		       struct trace_bytes *bytes, int64_t shift_ns)
{
	enum { SPALL_HEADER_BYTES = 32, SPALL_UNIT_AT = 16 };
	struct trace_text all = { recorded->data, recorded->n_bytes };
	double unit;

	trace_bytes_clear(bytes);
	if (pieces->n > 0) {
		write_pieces(file, pieces, shift_ns);
	} else if (strcmp(recorded->format, "Spall") == 0) {
		memcpy(&unit, recorded->data + SPALL_UNIT_AT, sizeof unit);
		shift_buffers(bytes, (struct trace_text){ all.data + SPALL_HEADER_BYTES, all.n_bytes - SPALL_HEADER_BYTES },
			      (int64_t)((double)shift_ns / unit));
	} else {
		put_shifted(bytes, all, strcmp(recorded->format, "OTLP protobuf") == 0 ? otlp_fields : perfetto_fields,
			    shift_ns);
	}
	fwrite(bytes->data, 1, bytes->n_bytes, file);
}

uint64_t trace_copies_write(const struct recorded_trace *recorded, uint64_t n_bytes, const char *path)
{
	enum { SPALL_HEADER_BYTES = 32, STEP_NS = 1000000 };
	bool is_chrome = strcmp(recorded->format, "Chrome JSON") == 0;
	int64_t step_ns = (recorded->length_ns / STEP_NS + 1) * STEP_NS;
	const char *end = recorded->data + recorded->n_bytes;
	struct trace_bytes bytes = { 0 };
	struct pieces pieces = { 0 };
	FILE *file = fopen(path, "wb");
	uint64_t n_copies = 0;

	if (!file)
		die("cannot write a file");
	if (is_chrome) {
		cut_events(&pieces, recorded);
		fputs("{\"traceEvents\":[\n", file);
	} else if (strcmp(recorded->format, "OTLP JSON") == 0) {
		cut_text(&pieces, recorded->data, end, "imeUnixNano\"", 1);
	} else if (strcmp(recorded->format, "Spall") == 0) {
		fwrite(recorded->data, 1, SPALL_HEADER_BYTES, file);
	}
	do {
		if (is_chrome && n_copies > 0)
			fputs(",\n", file);
		write_copy(file, recorded, &pieces, &bytes, (int64_t)n_copies * step_ns);
		n_copies++;
	} while ((uint64_t)ftell(file) < n_bytes && !ferror(file));
	if (is_chrome)
		fputs("]}\n", file);
	if (ferror(file) || fclose(file) != 0)
		die("cannot write a file");
	free(pieces.pieces);
	trace_bytes_release(&bytes);
	return n_copies;
}
