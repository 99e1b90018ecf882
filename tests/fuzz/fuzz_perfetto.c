/* Perfetto traces made of what packets are made of, in any order and with any values, some of their bytes damaged: whatever they
 * say, reading them ends, and gives the same in pieces as whole.
 *
 *   byte 0    how: strict, complete, with arguments; how many bytes are damaged
 *   byte 1    pieces of so many bytes
 *   then      damages: where (2 bytes) and with what
 *   the rest  packets: what each of them is, then its values
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/support/protobuf_writer.h"
#include "trace/trace.h"
#include "trace/utf8.h"

enum { STRICT = 1, COMPLETE = 2, ARGS = 4, MOST_PACKETS = 1000, N_UUIDS = 8, MOST_NESTED = 6 };

static struct protobuf trace_bytes;

/* ---- Input ---- */

static const uint8_t *input;
static size_t n_input;

static uint8_t next_byte(void)
{
	if (n_input == 0)
		return 0;
	n_input--;
	return *input++;
}

/* Small numbers mostly, and those at which arithmetic breaks. */
static uint64_t next_number(void)
{
	static const uint64_t odd[] = { UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT32_MAX, INT32_MAX, 1ULL << 53, 0 };
	uint8_t byte = next_byte();

	return byte < 200 ? byte : byte < 220 ? 1000000ULL * byte : odd[byte % (sizeof odd / sizeof *odd)];
}

static uint64_t next_uuid(void)
{
	return next_byte() % N_UUIDS;
}

/* ---- Packets ---- */

static void write_text(uint32_t number)
{
	static const char *const texts[] = { "", "a", "b", "main", "thread_name", "process_name", "\xff\xfe", "\"q\"\n" };

	protobuf_text(&trace_bytes, number, texts[next_byte() % (sizeof texts / sizeof *texts)]);
}

/* Some of the numbers that a message may have. */
static void write_numbers(const uint32_t *numbers, size_t n)
{
	uint8_t chosen = next_byte();

	for (size_t i = 0; i < n; i++) {
		if (chosen >> (i % 8) & 1)
			protobuf_varint(&trace_bytes, numbers[i], next_number());
	}
}

/* A value of the kind that older programs write. */
static void write_nested(int depth)
{
	static const uint32_t numbers[] = { 1, 5, 7 };
	uint8_t kind = next_byte();
	size_t nested;

	write_numbers(numbers, sizeof numbers / sizeof *numbers);
	if (kind & 1)
		write_text(kind & 2 ? 2 : 8);
	protobuf_varint(&trace_bytes, 1, kind >> 2 & 3);
	for (int i = 0; i < kind % 3 && depth < MOST_NESTED; i++) {
		nested = protobuf_begin(&trace_bytes, kind & 16 ? 3 : 4);
		write_nested(depth + 1);
		protobuf_end(&trace_bytes, nested);
	}
}

static void write_annotation(int depth)
{
	static const uint32_t numbers[] = { 1, 2, 3, 4, 7, 17 };
	uint8_t kind = next_byte();
	size_t nested;

	write_numbers(numbers, sizeof numbers / sizeof *numbers);
	if (kind & 1)
		write_text(kind & 2 ? 10 : 6);
	if (kind & 16)
		protobuf_text(&trace_bytes, 9, kind & 32 ? "{\"a\": [1, null]}" : "[1,");
	if (kind & 64) {
		nested = protobuf_begin(&trace_bytes, 8);
		write_nested(0);
		protobuf_end(&trace_bytes, nested);
	}
	if (!(kind & 4) || depth == MOST_NESTED)
		return;
	for (int i = 0; i < kind % 3; i++) {
		nested = protobuf_begin(&trace_bytes, kind & 8 ? 11 : 12);
		write_annotation(depth + 1);
		protobuf_end(&trace_bytes, nested);
	}
}

static void write_legacy(void)
{
	static const uint32_t numbers[] = { 1, 3, 6, 8, 10, 11, 12, 13, 14, 18, 19 };
	static const char phases[] = "BEXbenSTpFiIRstfMCP";
	size_t legacy = protobuf_begin(&trace_bytes, 6);

	protobuf_varint(&trace_bytes, 2, (uint64_t)phases[next_byte() % (sizeof phases - 1)]);
	write_numbers(numbers, sizeof numbers / sizeof *numbers);
	if (next_byte() % 4 == 0)
		write_text(7);
	protobuf_end(&trace_bytes, legacy);
}

static void write_event(void)
{
	static const uint32_t numbers[] = { 10, 3, 30, 1, 16, 2, 36, 42 };
	size_t event = protobuf_begin(&trace_bytes, 11), annotation;
	uint8_t kind = next_byte();

	if (kind & 1)
		protobuf_varint(&trace_bytes, 9, next_byte() % 7);
	if (kind & 2)
		protobuf_varint(&trace_bytes, 11, next_uuid());
	if (kind & 4)
		write_text(23);
	if (kind & 8)
		write_numbers(numbers, sizeof numbers / sizeof *numbers);
	if (kind & 16)
		protobuf_fixed64(&trace_bytes, next_byte() % 2 ? 47 : 48, next_byte() % 4);
	if (kind & 32)
		write_legacy();
	if (kind & 64) {
		protobuf_varint(&trace_bytes, 31, next_uuid());
		protobuf_varint(&trace_bytes, 12, next_number());
		protobuf_fixed64(&trace_bytes, 46, next_number());
	}
	if (kind & 128) {
		annotation = protobuf_begin(&trace_bytes, 4);
		write_annotation(0);
		protobuf_end(&trace_bytes, annotation);
	}
	protobuf_end(&trace_bytes, event);
}

static void write_descriptor(void)
{
	static const uint32_t numbers[] = { 1, 2, 3, 4, 6, 7, 8 }, counter_numbers[] = { 1, 3, 4, 5 };
	size_t descriptor = protobuf_begin(&trace_bytes, 60), inner;
	uint8_t kind = next_byte();

	protobuf_varint(&trace_bytes, 1, next_uuid());
	if (kind & 1)
		protobuf_varint(&trace_bytes, 5, next_uuid());
	if (kind & 2)
		write_text(2);
	if (kind & 4) {
		inner = protobuf_begin(&trace_bytes, kind & 8 ? 3 : 4);
		write_numbers(numbers, sizeof numbers / sizeof *numbers);
		write_text(kind & 8 ? 6 : 5);
		protobuf_end(&trace_bytes, inner);
	}
	if (kind & 16) {
		inner = protobuf_begin(&trace_bytes, 8);
		write_numbers(counter_numbers, sizeof counter_numbers / sizeof *counter_numbers);
		protobuf_end(&trace_bytes, inner);
	}
	if (kind & 32)
		protobuf_varint(&trace_bytes, kind & 64 ? 9 : 15, next_byte() % 4);
	if (kind & 128)
		protobuf_bytes(&trace_bytes, 18, "", 0);
	if ((kind & 96) == 96) {
		protobuf_varint(&trace_bytes, 11, 3);
		protobuf_varint(&trace_bytes, 12, next_number());
		protobuf_varint(&trace_bytes, kind & 1 ? 19 : 20, 1);
	}
	protobuf_end(&trace_bytes, descriptor);
}

static uint64_t next_clock(void)
{
	static const uint64_t clocks[] = { 3, 6, 64, 64, 65, 1, 99 };

	return clocks[next_byte() % (sizeof clocks / sizeof *clocks)];
}

static void write_snapshot(void)
{
	size_t message = protobuf_begin(&trace_bytes, 6), clock;
	int n = next_byte() % 4;

	for (int i = 0; i < n; i++) {
		uint8_t kind = next_byte();

		clock = protobuf_begin(&trace_bytes, 1);
		protobuf_varint(&trace_bytes, 1, next_clock());
		protobuf_varint(&trace_bytes, 2, next_number());
		if (kind & 64)
			protobuf_varint(&trace_bytes, 3, 1);
		if (kind & 128)
			protobuf_varint(&trace_bytes, 4, next_number());
		protobuf_end(&trace_bytes, clock);
	}
	if (next_byte() % 8 == 0)
		protobuf_varint(&trace_bytes, 2, 3);
	protobuf_end(&trace_bytes, message);
}

static void write_interned(void)
{
	static const uint32_t fields[] = { 1, 2, 3, 29 };
	size_t message = protobuf_begin(&trace_bytes, 12), entry;

	entry = protobuf_begin(&trace_bytes, fields[next_byte() % 4]);
	protobuf_varint(&trace_bytes, 1, next_byte() % 4);
	write_text(2);
	protobuf_end(&trace_bytes, entry);
	protobuf_end(&trace_bytes, message);
}

static void write_defaults(void)
{
	size_t message = protobuf_begin(&trace_bytes, 59), event;

	protobuf_varint(&trace_bytes, 58, next_clock());
	event = protobuf_begin(&trace_bytes, 11);
	protobuf_varint(&trace_bytes, 11, next_uuid());
	protobuf_varint(&trace_bytes, 31, next_uuid());
	protobuf_end(&trace_bytes, event);
	protobuf_end(&trace_bytes, message);
}

static void write_compact(void)
{
	size_t compact = protobuf_begin(&trace_bytes, 4);
	int n = next_byte() % 4;

	protobuf_text(&trace_bytes, 5, "a");
	for (int i = 0; i < n; i++) {
		for (uint32_t number = 1; number <= 6; number += number == 4 ? 2 : 1)
			protobuf_varint(&trace_bytes, number, next_number());
	}
	protobuf_end(&trace_bytes, compact);
}

static void write_switch(void)
{
	static const uint32_t numbers[] = { 2, 4, 6, 7 };
	size_t body = protobuf_begin(&trace_bytes, 4);

	write_numbers(numbers, sizeof numbers / sizeof *numbers);
	write_text(5);
	protobuf_end(&trace_bytes, body);
}

/* Letters, bars and numbers, mostly as atrace has them. */
static void write_print(void)
{
	static const char *const parts[] = { "|5", "|7|", "|", "||", "|a", "|b|", "|-1", "|0", "|9223372036854775808", "\n", "\xff" };
	static const char phases[] = "BEICSFGHNX";
	size_t body = protobuf_begin(&trace_bytes, 3);
	char text[200] = { phases[next_byte() % (sizeof phases - 1)] };
	int n = next_byte() % 6;

	if (next_byte() % 4)
		strcat(text, "|5|a");
	for (int i = 0; i < n; i++)
		strcat(text, parts[next_byte() % (sizeof parts / sizeof *parts)]);
	protobuf_text(&trace_bytes, 2, text);
	protobuf_end(&trace_bytes, body);
}

static void write_mark(void)
{
	static const uint32_t drivers[] = { 80, 333, 348, 349, 350, 467, 484 };
	size_t body = protobuf_begin(&trace_bytes, drivers[next_byte() % (sizeof drivers / sizeof *drivers)]);

	for (uint32_t number = 1; number <= 6; number++) {
		uint8_t byte = next_byte();

		if (byte & 1)
			protobuf_varint(&trace_bytes, number, (uint64_t)"BEIC"[byte >> 1 & 3]);
		else if (byte & 2)
			write_text(number);
		else if (byte & 4)
			protobuf_varint(&trace_bytes, number, next_number());
	}
	protobuf_end(&trace_bytes, body);
}

static void write_bundle(void)
{
	static void (*const writers[])(void) = { write_switch, write_print, write_print, write_mark };
	size_t bundle = protobuf_begin(&trace_bytes, 1), event;

	protobuf_varint(&trace_bytes, 1, next_byte() % 3);
	if (next_byte() % 4 == 0)
		write_compact();
	for (int n = next_byte() % 4; n > 0; n--) {
		event = protobuf_begin(&trace_bytes, 2);
		protobuf_varint(&trace_bytes, 1, next_number());
		protobuf_varint(&trace_bytes, 2, next_number());
		writers[next_byte() % (sizeof writers / sizeof *writers)]();
		protobuf_end(&trace_bytes, event);
	}
	protobuf_end(&trace_bytes, bundle);
}

static void write_tree(void)
{
	size_t tree = protobuf_begin(&trace_bytes, 2), entry;

	for (int n = next_byte() % 4; n > 0; n--) {
		bool is_process = n % 2;

		entry = protobuf_begin(&trace_bytes, is_process ? 1 : 2);
		protobuf_varint(&trace_bytes, 1, next_number());
		write_text(is_process ? 3 : 2);
		if (!is_process)
			protobuf_varint(&trace_bytes, 3, next_number());
		protobuf_end(&trace_bytes, entry);
	}
	protobuf_end(&trace_bytes, tree);
}

static void write_range(void)
{
	size_t range = protobuf_begin(&trace_bytes, 90);

	protobuf_varint(&trace_bytes, 1, next_number());
	protobuf_end(&trace_bytes, range);
}

static void write_packet(void)
{
	static void (*const writers[])(void) = { write_event,	 write_event,	 write_event,	 write_event,
						 write_event,	 write_event,	 write_event,	 write_descriptor,
						 write_descriptor, write_snapshot, write_snapshot, write_interned, write_defaults,
						 write_bundle, write_bundle, write_bundle, write_tree, write_range };
	static const uint32_t thread_numbers[] = { 1, 2, 6, 7, 8 };
	size_t packet = protobuf_begin(&trace_bytes, 1), thread;
	uint8_t kind = next_byte(), flags = next_byte();

	if (flags & 1)
		protobuf_varint(&trace_bytes, 8, next_number());
	if (flags & 2 || flags & 4)
		protobuf_varint(&trace_bytes, 10, 1 + (flags >> 3 & 1));
	if (flags & 16)
		protobuf_varint(&trace_bytes, 13, next_byte() % 4);
	if ((flags & 96) == 96)
		protobuf_varint(&trace_bytes, flags & 128 ? 42 : 58, flags & 128 ? 1 : next_clock());
	if (kind < 240) {
		writers[kind % (sizeof writers / sizeof *writers)]();
	} else {
		thread = protobuf_begin(&trace_bytes, kind % 2 ? 43 : 44);
		write_numbers(thread_numbers, sizeof thread_numbers / sizeof *thread_numbers);
		protobuf_end(&trace_bytes, thread);
	}
	protobuf_end(&trace_bytes, packet);
}

/* By this packet the format is told. */
static void write_head(void)
{
	size_t packet = protobuf_begin(&trace_bytes, 1);

	protobuf_varint(&trace_bytes, 10, 1);
	protobuf_varint(&trace_bytes, 13, 1);
	protobuf_end(&trace_bytes, packet);
}

/* ---- Reading ---- */

/* A hash of all that was handed out. */
static uint64_t hash;
static uint32_t n_tracks;

static void demand(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void mix(uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
}

static void mix_text(struct trace_text text)
{
	demand(trace_utf8_is_valid(text), "a text is not UTF-8");
	mix(text.n_bytes + (text.data != NULL));
	for (size_t i = 0; i < text.n_bytes; i++)
		mix((unsigned char)text.data[i]);
}

static int take_span(void *context, const struct trace_span *span)
{
	(void)context;
	demand(span->track && span->dur_ns >= TRACE_NEVER_CLOSED && span->name.data, "a span is none");
	mix(span->number);
	mix(span->track->number);
	mix((uint64_t)span->ts_ns);
	mix((uint64_t)span->dur_ns);
	mix_text(span->name);
	mix_text(span->category);
	mix_text(span->args);
	return TRACE_OK;
}

static int take_sample(void *context, const struct trace_sample *sample)
{
	(void)context;
	demand(sample->value - sample->value == 0, "a value is not finite");
	mix((uint64_t)sample->ts_ns);
	mix_text(sample->name);
	mix_text(sample->unit);
	return TRACE_OK;
}

static int take_instant(void *context, const struct trace_instant *instant)
{
	(void)context;
	demand(instant->track != NULL, "an instant has no track");
	mix((uint64_t)instant->ts_ns);
	mix_text(instant->name);
	mix_text(instant->args);
	return TRACE_OK;
}

static int take_flow(void *context, const struct trace_flow *flow)
{
	(void)context;
	demand((flow->from.span == 0) != (flow->from.instant == 0) && (flow->to.span == 0) != (flow->to.instant == 0),
	       "a flow has an end that is none");
	mix(flow->from.span);
	mix(flow->to.span);
	mix_text(flow->id);
	return TRACE_OK;
}

static int take_track(void *context, const struct trace_track *track)
{
	int n_above = 0;

	(void)context;
	demand(track->number == ++n_tracks, "tracks are out of order");
	for (const struct trace_track *above = track->parent; above; above = above->parent)
		demand(++n_above < 1000, "tracks form a circle");
	mix_text(track->key);
	mix_text(track->name);
	return TRACE_OK;
}

static size_t n_given;

static int give(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	size_t n_left = trace_bytes.n_bytes - n_given;

	(void)context;
	*n_read = n_bytes < n_left ? n_bytes : n_left;
	if (*n_read > 0)
		memcpy(data, trace_bytes.bytes + n_given, *n_read);
	n_given += *n_read;
	return TRACE_OK;
}

static uint64_t read_trace(uint8_t how, size_t piece_bytes)
{
	struct trace_sink sink = { NULL, take_span, take_sample, take_instant, take_flow, take_track };
	struct trace_options options = { .strict = how & STRICT,
					 .complete = how & COMPLETE,
					 .args = how & ARGS,
					 .piece_bytes = piece_bytes };
	struct trace *trace;
	int status;

	hash = n_tracks = 0;
	n_given = 0;
	status = trace_open_source(give, NULL, "trace", &options, &sink, &trace);
	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		;
	for (size_t i = 0; trace_report(trace, i); i++)
		mix(trace_report(trace, i)->n);
	mix((uint64_t)status);
	for (const char *error = trace_error(trace); *error; error++)
		mix((unsigned char)*error);
	trace_close(trace);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	const uint8_t *damages;
	uint8_t how;
	size_t n_damages, piece_bytes, n_head;

	if (n_data < 2)
		return 0;
	how = data[0];
	n_damages = how >> 4 & 3;
	piece_bytes = 1 + data[1];
	if (n_data < 2 + 3 * n_damages)
		return 0;
	damages = data + 2;
	input = damages + 3 * n_damages;
	n_input = n_data - 2 - 3 * n_damages;
	protobuf_clear(&trace_bytes);
	write_head();
	n_head = trace_bytes.n_bytes;
	for (int i = 0; i < MOST_PACKETS && n_input > 0; i++)
		write_packet();
	for (size_t i = 0; i < n_damages && trace_bytes.n_bytes > n_head; i++) {
		size_t at = (size_t)(damages[3 * i] | damages[3 * i + 1] << 8) % (trace_bytes.n_bytes - n_head);

		trace_bytes.bytes[n_head + at] = damages[3 * i + 2];
	}
	demand(read_trace(how, 0) == read_trace(how, piece_bytes), "pieces give another answer than the whole");
	protobuf_release(&trace_bytes);
	return 0;
}

static size_t random_input(struct random *dice, uint8_t *data)
{
	size_t n = 2 + random_below(dice, FUZZ_MOST_RANDOM - 2);

	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)random_next(dice);
	return n;
}

const struct fuzz_target fuzz_target = { .n_inputs = 8000, .random_input = random_input };
