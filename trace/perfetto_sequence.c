#include "trace/perfetto_sequence.h"

#include <stdlib.h>
#include <string.h>

#include "trace/protobuf.h"

enum interned_data_field {
	INTERNED_EVENT_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ARGUMENT_NAMES = 3,
	INTERNED_ARGUMENT_TEXTS = 29
};
enum interned_text_field { INTERNED_TEXT_IID = 1, INTERNED_TEXT_TEXT = 2 };
enum packet_defaults_field { DEFAULTS_TRACK_EVENT = 11, DEFAULTS_CLOCK = 58 };
enum track_event_defaults_field { DEFAULTS_TRACK = 11 };

static void forget_interned(struct trace_perfetto_sequence *sequence)
{
	for (int i = 0; i < TRACE_N_INTERNED; i++)
		trace_u64_map_clear(&sequence->interned[i], sequence->budget);
	trace_budget_return(sequence->budget, sequence->n_slices_allocated * sizeof *sequence->slices);
	free(sequence->slices);
	sequence->slices = NULL;
	sequence->n_slices = sequence->n_slices_allocated = 0;
	trace_bytes_release(&sequence->texts);
	trace_budget_return(sequence->budget, sequence->n_text_bytes_taken);
	sequence->n_text_bytes_taken = 0;
}

static void forget_defaults(struct trace_perfetto_sequence *sequence)
{
	trace_budget_return(sequence->budget, sequence->event_defaults.n_bytes);
	free((char *)sequence->event_defaults.data);
	sequence->event_defaults = (struct trace_text){ NULL, 0 };
	sequence->default_track = 0;
}

static void forget_differences(struct trace_perfetto_sequence *sequence)
{
	trace_u64_map_clear(&sequence->counters, sequence->budget);
	sequence->has_reference = false;
}

void trace_perfetto_sequence_release(struct trace_perfetto_sequence *sequence)
{
	forget_interned(sequence);
	forget_defaults(sequence);
	forget_differences(sequence);
}

void trace_perfetto_sequence_clear(struct trace_perfetto_sequence *sequence)
{
	trace_perfetto_sequence_release(sequence);
	sequence->is_valid = true;
}

void trace_perfetto_sequence_lose(struct trace_perfetto_sequence *sequence)
{
	forget_differences(sequence);
	sequence->is_valid = false;
}

/* ---- Interned texts ---- */

static int add_text(struct trace_perfetto_sequence *sequence, enum trace_interned kind, uint64_t iid, struct trace_text text)
{
	uint64_t *place;
	bool is_new;
	int status = trace_array_reserve(sequence->budget, &sequence->slices, sequence->n_slices, &sequence->n_slices_allocated,
					 sizeof *sequence->slices);

	if (status < 0)
		return status;
	if (trace_u64_map_find(&sequence->interned[kind], iid))
		return TRACE_OK;
	status = trace_budget_take(sequence->budget, text.n_bytes);
	if (status < 0)
		return status;
	sequence->n_text_bytes_taken += text.n_bytes;
	status = trace_bytes_append(&sequence->texts, text, &sequence->slices[sequence->n_slices]);
	if (status == TRACE_OK)
		status = trace_u64_map_put(&sequence->interned[kind], sequence->budget, iid, &place, &is_new);
	if (status == TRACE_OK)
		*place = sequence->n_slices++;
	return status;
}

static int take_text(struct trace_perfetto_sequence *sequence, enum trace_interned kind, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_text text = { "", 0 };
	struct trace_field field;
	uint64_t iid = 0;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == INTERNED_TEXT_IID && field.wire == TRACE_WIRE_VARINT)
			iid = field.value;
		else if (field.number == INTERNED_TEXT_TEXT && field.wire == TRACE_WIRE_BYTES)
			text = field.text;
	}
	return status < 0 || iid == 0 ? status : add_text(sequence, kind, iid, text);
}

int trace_perfetto_sequence_intern(struct trace_perfetto_sequence *sequence, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status, taken = TRACE_OK;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW && taken == TRACE_OK) {
		if (field.wire != TRACE_WIRE_BYTES)
			continue;
		switch (field.number) {
		case INTERNED_EVENT_CATEGORIES:
			taken = take_text(sequence, TRACE_INTERNED_CATEGORY, field.text);
			break;
		case INTERNED_EVENT_NAMES:
			taken = take_text(sequence, TRACE_INTERNED_EVENT_NAME, field.text);
			break;
		case INTERNED_ARGUMENT_NAMES:
			taken = take_text(sequence, TRACE_INTERNED_ARGUMENT_NAME, field.text);
			break;
		case INTERNED_ARGUMENT_TEXTS:
			taken = take_text(sequence, TRACE_INTERNED_ARGUMENT_TEXT, field.text);
			break;
		default:
			break;
		}
	}
	return taken < 0 ? taken : status;
}

struct trace_text trace_perfetto_sequence_text(const struct trace_perfetto_sequence *sequence, enum trace_interned kind,
					       uint64_t iid)
{
	const uint64_t *place = trace_u64_map_find(&sequence->interned[kind], iid);

	return trace_bytes_text(&sequence->texts, place ? sequence->slices[*place] : TRACE_NO_SLICE);
}

/* ---- Defaults ---- */

static int keep_event_defaults(struct trace_perfetto_sequence *sequence, struct trace_text text)
{
	char *copy;
	int status = trace_budget_take(sequence->budget, text.n_bytes);

	if (status < 0)
		return status;
	copy = malloc(text.n_bytes ? text.n_bytes : 1);
	if (!copy) {
		trace_budget_return(sequence->budget, text.n_bytes);
		return TRACE_ERROR_MEMORY;
	}
	memcpy(copy, text.data, text.n_bytes);
	sequence->event_defaults = (struct trace_text){ copy, text.n_bytes };
	return TRACE_OK;
}

static int find_default_track(struct trace_perfetto_sequence *sequence)
{
	struct trace_message fields = trace_message_of(sequence->event_defaults);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == DEFAULTS_TRACK && field.wire == TRACE_WIRE_VARINT)
			sequence->default_track = field.value;
	}
	return status;
}

int trace_perfetto_sequence_come(struct trace_perfetto_sequence *sequence, bool is_cleared, struct trace_text defaults)
{
	struct trace_message fields = trace_message_of(defaults);
	struct trace_field field;
	int status = TRACE_OK;

	if (is_cleared || defaults.data)
		sequence->coming_clock = 0;
	while (defaults.data && (status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == DEFAULTS_CLOCK && field.wire == TRACE_WIRE_VARINT)
			sequence->coming_clock = (uint32_t)field.value;
	}
	return status;
}

int trace_perfetto_sequence_set_defaults(struct trace_perfetto_sequence *sequence, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_text event_defaults = { NULL, 0 };
	struct trace_field field;
	int status;

	forget_defaults(sequence);
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == DEFAULTS_TRACK_EVENT && field.wire == TRACE_WIRE_BYTES)
			event_defaults = field.text;
	}
	if (status < 0 || !event_defaults.data)
		return status;
	status = keep_event_defaults(sequence, event_defaults);
	return status < 0 ? status : find_default_track(sequence);
}

/* ---- Threads and differences ---- */

int64_t trace_saturating_product(int64_t a, int64_t b)
{
	int64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product;
	return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

int64_t trace_saturating_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

void trace_perfetto_sequence_set_thread(struct trace_perfetto_sequence *sequence, int32_t pid, int64_t tid)
{
	sequence->has_thread = true;
	sequence->pid = pid;
	sequence->tid = tid;
}

void trace_perfetto_sequence_set_reference(struct trace_perfetto_sequence *sequence, int64_t time_us, int64_t thread_time_us,
					   int64_t instruction_count)
{
	sequence->has_reference = true;
	sequence->time_ns = trace_saturating_product(time_us, 1000);
	sequence->thread_time_ns = trace_saturating_product(thread_time_us, 1000);
	sequence->instruction_count = instruction_count;
}

int trace_perfetto_sequence_count(struct trace_perfetto_sequence *sequence, uint64_t uuid, double *value)
{
	uint64_t *bits;
	bool is_new;
	int status = trace_u64_map_put(&sequence->counters, sequence->budget, uuid, &bits, &is_new);

	if (status < 0)
		return status;
	*value += trace_double_of(*bits);
	memcpy(bits, value, sizeof *bits);
	return TRACE_OK;
}
