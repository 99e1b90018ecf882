#include "tests/trace/absolute_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MOST_SEQUENCES = 4000, MOST_CLOCKS = 32, BOOTTIME = 6, MONOTONIC = 3, UNPACKED_BYTES = 16 << 20, MOST_UNPACKED = 500 };

/* ---- Messages ---- */

struct field {
	uint32_t number, wire;
	uint64_t value;
	const uint8_t *start, *data, *end; /* of the field, of its contents, behind it */
};

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
		if (byte < 128)
			break;
	}
	return value;
}

/* Takes the next field of a message; false at its end. */
static bool next(const uint8_t **at, const uint8_t *end, struct field *field)
{
	uint64_t head;

	if (*at >= end)
		return false;
	field->start = *at;
	head = varint(at, end);
	field->number = (uint32_t)(head >> 3);
	field->wire = head & 7;
	field->data = *at;
	field->value = 0;
	if (field->wire == 0)
		field->value = varint(at, end);
	else if (field->wire == 1 || field->wire == 5)
		*at += field->wire == 1 ? 8 : 4;
	else
		field->value = varint(at, end);
	if (field->wire == 2) {
		field->data = *at;
		*at += field->value <= (uint64_t)(end - *at) ? field->value : (uint64_t)(end - *at);
	}
	field->end = *at;
	return *at <= end;
}

/* The last number in a field of a message; false if there is none. */
static bool number_in(const struct field *message, uint32_t number, uint64_t *value)
{
	const uint8_t *at = message->data;
	struct field field;
	bool is_found = false;

	*value = 0;
	while (message->data && next(&at, message->end, &field)) {
		if (field.number == number && field.wire == 0) {
			*value = field.value;
			is_found = true;
		}
	}
	return is_found;
}

static struct field message_in(const struct field *message, uint32_t number)
{
	const uint8_t *at = message->data;
	struct field field, found = { 0 };

	while (message->data && next(&at, message->end, &field)) {
		if (field.number == number && field.wire == 2)
			found = field;
	}
	return found;
}

/* ---- What is known up to a packet ---- */

struct reading {
	uint64_t id;
	int64_t ns;
};

struct snapshot {
	struct reading readings[MOST_CLOCKS];
	size_t n;
};

struct sequence {
	uint32_t number;
	uint64_t default_clock;
	bool is_valid, has_reference, has_time;
	int64_t time_us;
};

/* A clock's unit, and the latest time of one whose times are differences. */
struct clock {
	uint64_t id;
	bool is_incremental;
	int64_t unit, last_ns;
};

struct packet {
	struct field message;
	uint64_t clock; /* of the time; 0: it has none */
	bool has_ns, is_done, is_legacy, has_waited;
	int64_t ns;	     /* in its clock */
	uint64_t raw;	     /* where has_ns is false */
	int64_t absolute_ns; /* is_done */
};

static struct snapshot *snapshots;
static struct packet *packets;
static uint8_t *unpacked[MOST_UNPACKED]; /* packets point into them */
static size_t n_snapshots, n_packets, n_unpacked;
static struct sequence sequences[MOST_SEQUENCES];
static struct clock clocks[MOST_SEQUENCES];
static size_t n_sequences, n_clocks;
static uint64_t trace_clock;
static bool has_primary;

static struct sequence *sequence_of(uint32_t number)
{
	for (size_t i = 0; i < n_sequences; i++) {
		if (sequences[i].number == number)
			return &sequences[i];
	}
	assert_true(n_sequences < MOST_SEQUENCES);
	sequences[n_sequences] = (struct sequence){ .number = number };
	return &sequences[n_sequences++];
}

static struct clock *clock_of(uint64_t id)
{
	for (size_t i = 0; i < n_clocks; i++) {
		if (clocks[i].id == id)
			return &clocks[i];
	}
	return NULL;
}

static uint64_t id_of(uint64_t number, uint32_t sequence)
{
	return number >= 64 && number < 128 ? (uint64_t)sequence << 32 | number : number;
}

/* ---- Conversion ---- */

static bool time_in(const struct snapshot *snapshot, uint64_t id, int64_t *ns)
{
	for (size_t i = 0; i < snapshot->n; i++) {
		if (snapshot->readings[i].id == id) {
			*ns = snapshot->readings[i].ns;
			return true;
		}
	}
	return false;
}

/* Converts from a clock to one that is in a snapshot with it; false if there is none. */
static bool step(uint64_t from, uint64_t to, int64_t *ns)
{
	bool has_best = false;
	int64_t best_from = 0, best_to = 0, a, b;

	for (size_t i = 0; i < n_snapshots; i++) {
		if (!time_in(&snapshots[i], from, &a) || !time_in(&snapshots[i], to, &b))
			continue;
		if (!has_best || (a <= *ns ? best_from > *ns || a >= best_from : best_from > *ns && a < best_from)) {
			has_best = true;
			best_from = a;
			best_to = b;
		}
	}
	*ns += best_to - best_from;
	return has_best;
}

/* One step, or two by the clock with the lowest number. */
static bool to_trace_clock(uint64_t clock, int64_t *ns)
{
	int64_t start = *ns;

	if (clock == trace_clock || step(clock, trace_clock, ns))
		return true;
	for (uint64_t between = 1; between < 64; between++) {
		*ns = start;
		if (between != clock && step(clock, between, ns) && step(between, trace_clock, ns))
			return true;
	}
	*ns = start;
	return false;
}

static bool resolve(struct packet *packet)
{
	const struct clock *clock = clock_of(packet->clock);

	if (!packet->has_ns && clock && !clock->is_incremental) {
		packet->has_ns = true;
		packet->ns = (int64_t)packet->raw * clock->unit;
	}
	packet->absolute_ns = packet->ns;
	packet->is_done = packet->has_ns && to_trace_clock(packet->clock, &packet->absolute_ns);
	return packet->is_done;
}

/* ---- Packets ---- */

static void take_snapshot(const struct field *message, uint32_t sequence)
{
	const uint8_t *at = message->data;
	struct snapshot *snapshot;
	struct field field;
	uint64_t primary;

	snapshots = realloc(snapshots, (n_snapshots + 1) * sizeof *snapshots);
	assert_non_null(snapshots);
	snapshot = &snapshots[n_snapshots++];
	snapshot->n = 0;
	if (number_in(message, 2, &primary) && !has_primary) {
		trace_clock = primary;
		has_primary = true;
	}
	while (next(&at, message->end, &field)) {
		uint64_t number, time, unit, is_incremental;
		struct clock *clock;

		if (field.number != 1 || field.wire != 2)
			continue;
		number_in(&field, 1, &number);
		number_in(&field, 2, &time);
		number_in(&field, 3, &is_incremental);
		if (!number_in(&field, 4, &unit) || unit == 0)
			unit = 1;
		clock = clock_of(id_of(number, sequence));
		if (!clock) {
			assert_true(n_clocks < MOST_SEQUENCES);
			clock = &clocks[n_clocks++];
		}
		*clock = (struct clock){ id_of(number, sequence), is_incremental, (int64_t)unit, (int64_t)(time * unit) };
		snapshot->readings[snapshot->n++] = (struct reading){ clock->id, clock->last_ns };
	}
	for (size_t i = 0; i < n_packets; i++) {
		if (packets[i].clock && !packets[i].is_done)
			resolve(&packets[i]);
	}
}

/* µs since the reference of the sequence, or absolute ones; both are monotonic. */
static void take_legacy_time(struct sequence *sequence, struct packet *packet)
{
	struct field event = message_in(&packet->message, 11);
	uint64_t value;

	if (!event.data)
		return;
	if (number_in(&event, 1, &value)) {
		if (!sequence->has_reference)
			return;
		sequence->time_us += (int64_t)value;
		packet->is_legacy = true;
		packet->ns = sequence->time_us * 1000;
	} else if (number_in(&event, 16, &value) && value) {
		packet->is_legacy = true;
		packet->ns = (int64_t)value * 1000;
	}
	if (!packet->is_legacy)
		return;
	packet->clock = MONOTONIC;
	packet->has_ns = packet->is_done = true;
	packet->absolute_ns = packet->ns;
	to_trace_clock(MONOTONIC, &packet->absolute_ns);
}

static void take_time(struct sequence *sequence, struct packet *packet)
{
	uint64_t value, number;
	struct clock *clock;

	if (!number_in(&packet->message, 8, &value))
		return;
	sequence->has_time = true;
	if (!number_in(&packet->message, 58, &number) || number == 0)
		number = sequence->default_clock;
	packet->clock = number ? id_of(number, sequence->number) : trace_clock;
	clock = clock_of(packet->clock);
	packet->raw = value;
	packet->has_ns = clock || packet->clock == trace_clock;
	packet->ns = (int64_t)value * (clock && packet->clock != trace_clock ? clock->unit : 1);
	if (clock && clock->is_incremental)
		packet->ns = clock->last_ns += packet->ns;
	packet->has_waited = !resolve(packet);
}

static void take_state(struct sequence *sequence, const struct field *message)
{
	struct field defaults = message_in(message, 59), thread = message_in(message, 44);
	struct field track = message_in(message, 60);
	uint64_t flags, is_cleared, is_after_loss;

	number_in(message, 13, &flags);
	number_in(message, 41, &is_cleared);
	number_in(message, 42, &is_after_loss);
	if ((flags & 1) || is_cleared) {
		sequence->is_valid = true;
		sequence->has_reference = false;
		sequence->default_clock = 0;
	} else if (is_after_loss) {
		sequence->is_valid = sequence->has_reference = false;
	}
	if (defaults.data)
		number_in(&defaults, 58, &sequence->default_clock);
	if (!thread.data)
		thread = message_in(&track, 4);
	if (thread.data && sequence->is_valid) {
		uint64_t time_us;

		number_in(&thread, 6, &time_us);
		sequence->has_reference = true;
		sequence->time_us = (int64_t)time_us;
	}
}

static void take_packets(const uint8_t *at, const uint8_t *end);

static void take_packet(const struct field *message)
{
	struct field packed = message_in(message, 50), snapshot = message_in(message, 6);
	struct sequence *sequence;
	struct packet packet = { .message = *message };
	uint64_t number;

	if (packed.data) {
		uLongf n_bytes = UNPACKED_BYTES;
		uint8_t *bytes = malloc(n_bytes);

		assert_true(bytes && n_unpacked < MOST_UNPACKED);
		unpacked[n_unpacked++] = bytes;
		assert_int_equal(uncompress(bytes, &n_bytes, packed.data, (uLong)(packed.end - packed.data)), Z_OK);
		take_packets(bytes, bytes + n_bytes);
		return;
	}
	number_in(message, 10, &number);
	sequence = sequence_of((uint32_t)number);
	take_state(sequence, message);
	if (!snapshot.data) {
		take_time(sequence, &packet);
		take_legacy_time(sequence, &packet);
	}
	packets = realloc(packets, (n_packets + 1) * sizeof *packets);
	assert_non_null(packets);
	packets[n_packets++] = packet;
	if (snapshot.data)
		take_snapshot(&snapshot, (uint32_t)number);
}

static void take_packets(const uint8_t *at, const uint8_t *end)
{
	struct field field;

	while (next(&at, end, &field)) {
		if (field.number == 1 && field.wire == 2)
			take_packet(&field);
	}
}

/* ---- The other form ---- */

/* Snapshots of the sequences' own clocks are not needed any more, and become empty. */
static bool is_of_sequence(const struct field *snapshot)
{
	const uint8_t *at = snapshot->data;
	struct field field;
	uint64_t number;

	while (snapshot->data && next(&at, snapshot->end, &field)) {
		if (field.number == 1 && field.wire == 2 && number_in(&field, 1, &number) && number >= 64 && number < 128)
			return true;
	}
	return false;
}

static void write_event(struct protobuf *trace, const struct field *event, bool is_legacy)
{
	const uint8_t *at = event->data;
	size_t begun = protobuf_begin(trace, 11);
	struct field field;

	while (next(&at, event->end, &field)) {
		if (!is_legacy || (field.number != 1 && field.number != 16))
			protobuf_raw(trace, field.start, (size_t)(field.end - field.start));
	}
	protobuf_end(trace, begun);
}

static void write_packet(struct protobuf *trace, const struct packet *packet)
{
	const uint8_t *at = packet->message.data;
	size_t begun = protobuf_begin(trace, 1);
	struct field field;

	while (next(&at, packet->message.end, &field)) {
		if (packet->is_done && (field.number == 8 || field.number == 58))
			continue;
		if (field.number == 6 && field.wire == 2 && is_of_sequence(&field))
			protobuf_bytes(trace, 6, "", 0);
		else if (field.number == 11 && field.wire == 2)
			write_event(trace, &field, packet->is_legacy);
		else
			protobuf_raw(trace, field.start, (size_t)(field.end - field.start));
	}
	if (packet->is_done) {
		protobuf_varint(trace, 8, (uint64_t)packet->absolute_ns);
		protobuf_varint(trace, 58, trace_clock);
	}
	protobuf_end(trace, begun);
}

void absolute_times(const uint8_t *bytes, size_t n_bytes, struct rewritten *rewritten)
{
	n_snapshots = n_packets = n_sequences = n_clocks = 0;
	trace_clock = BOOTTIME;
	has_primary = false;
	take_packets(bytes, bytes + n_bytes);
	rewritten->n_sequences = rewritten->n_relative = rewritten->n_waited = rewritten->n_unresolved = 0;
	protobuf_clear(&rewritten->trace);
	for (size_t i = 0; i < n_sequences; i++)
		rewritten->n_sequences += sequences[i].has_time;
	for (size_t i = 0; i < n_packets; i++) {
		rewritten->n_relative += packets[i].is_done && packets[i].clock != trace_clock;
		rewritten->n_waited += packets[i].has_waited;
		rewritten->n_unresolved += packets[i].clock && !packets[i].is_done;
		write_packet(&rewritten->trace, &packets[i]);
	}
	while (n_unpacked > 0)
		free(unpacked[--n_unpacked]);
	free(snapshots);
	free(packets);
	snapshots = NULL;
	packets = NULL;
}
