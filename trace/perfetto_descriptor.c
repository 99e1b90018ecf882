#include "trace/perfetto_descriptor.h"

#include "trace/protobuf.h"

/* Numbers of fields, as in Perfetto's protos/perfetto/trace/track_event. */
enum track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT_UUID = 5,
	TRACK_CHROME_PROCESS = 6,
	TRACK_CHROME_THREAD = 7,
	TRACK_COUNTER = 8,
	TRACK_IS_SEPARATE = 9,
	TRACK_STATIC_NAME = 10,
	TRACK_CHILD_ORDERING = 11,
	TRACK_RANK = 12,
	TRACK_ATRACE_NAME = 13,
	TRACK_MERGE_BEHAVIOR = 15,
	TRACK_MERGE_KEY = 16,
	TRACK_MERGE_KEY_NUMBER = 17,
	TRACK_STATE = 18,
	TRACK_PROCESS_ORDERING = 19,
	TRACK_THREAD_ORDERING = 20
};
enum thread_field {
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_SORT_INDEX = 3,
	THREAD_CHROME_TYPE = 4,
	THREAD_NAME = 5,
	THREAD_TIME_US = 6,
	THREAD_THREAD_TIME_US = 7,
	THREAD_INSTRUCTION_COUNT = 8
};
enum process_field { PROCESS_PID = 1, PROCESS_SORT_INDEX = 3, PROCESS_CHROME_TYPE = 4, PROCESS_NAME = 6 };
enum counter_field {
	COUNTER_TYPE = 1,
	COUNTER_CATEGORIES = 2,
	COUNTER_UNIT = 3,
	COUNTER_UNIT_MULTIPLIER = 4,
	COUNTER_IS_INCREMENTAL = 5,
	COUNTER_UNIT_NAME = 6,
	COUNTER_Y_AXIS_KEY = 7
};
enum { CHROME_TYPE = 1 /* of a process or a thread */ };
enum { EXPLICIT_CHILDREN = 3, EXPLICIT_ORDERING = 1 /* of processes or threads */ };

static const char *const counter_names[] = { "", "thread_time", "thread_instruction_count" };
static const char *const units[] = { "", "ns", "count", "bytes" };

/* Adds a field to a hash of the fields that must not change. */
static uint64_t hashed(uint64_t hash, const struct trace_field *field)
{
	hash = (hash ^ field->number) * UINT64_C(0x100000001b3);
	hash = (hash ^ field->value) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < field->text.n_bytes; i++)
		hash = (hash ^ (unsigned char)field->text.data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static struct trace_text text_of(const char *literal)
{
	size_t n_bytes = 0;

	while (literal[n_bytes])
		n_bytes++;
	return (struct trace_text){ literal, n_bytes };
}

int trace_perfetto_read_thread(struct trace_text message, struct trace_perfetto_thread *thread)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	*thread = (struct trace_perfetto_thread){ 0 };
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		switch ((enum thread_field)field.number) {
		case THREAD_PID:
			thread->has_pid = true;
			thread->pid = (int32_t)field.value;
			break;
		case THREAD_TID:
			thread->has_tid = true;
			thread->tid = (int64_t)field.value;
			break;
		case THREAD_SORT_INDEX:
			thread->has_sort_index = true;
			thread->sort_index = (int32_t)field.value;
			break;
		case THREAD_CHROME_TYPE:
			thread->chrome_type = field.value;
			break;
		case THREAD_NAME:
			thread->name = field.text;
			break;
		case THREAD_TIME_US:
			thread->time_us = (int64_t)field.value;
			break;
		case THREAD_THREAD_TIME_US:
			thread->thread_time_us = (int64_t)field.value;
			break;
		case THREAD_INSTRUCTION_COUNT:
			thread->instruction_count = (int64_t)field.value;
			break;
		}
	}
	return status;
}

int trace_perfetto_read_process(struct trace_text message, struct trace_perfetto_process *process)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	*process = (struct trace_perfetto_process){ .message = message };
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		switch ((enum process_field)field.number) {
		case PROCESS_PID:
			process->has_pid = true;
			process->pid = (int32_t)field.value;
			break;
		case PROCESS_SORT_INDEX:
			process->has_sort_index = true;
			process->sort_index = (int32_t)field.value;
			break;
		case PROCESS_CHROME_TYPE:
			process->chrome_type = field.value;
			break;
		case PROCESS_NAME:
			process->name = field.text;
			break;
		}
	}
	return status;
}

static int read_counter(struct trace_text message, struct trace_perfetto_counter *counter)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	*counter = (struct trace_perfetto_counter){ .multiplier = 1 };
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		switch ((enum counter_field)field.number) {
		case COUNTER_TYPE:
			counter->type = field.value;
			counter->rest = hashed(counter->rest, &field);
			break;
		case COUNTER_UNIT:
			if (!counter->unit.data && field.value > 0 && field.value < sizeof units / sizeof *units)
				counter->unit = text_of(units[field.value]);
			break;
		case COUNTER_UNIT_NAME:
			counter->unit = field.text;
			break;
		case COUNTER_UNIT_MULTIPLIER:
			counter->multiplier = (int64_t)field.value > 0 ? (double)(int64_t)field.value : 1;
			counter->rest = hashed(counter->rest, &field);
			break;
		case COUNTER_IS_INCREMENTAL:
			counter->is_incremental = field.value != 0;
			counter->rest = hashed(counter->rest, &field);
			break;
		case COUNTER_CATEGORIES:
		case COUNTER_Y_AXIS_KEY:
			counter->rest = hashed(counter->rest, &field);
			break;
		}
	}
	return status;
}

/* Reads the type of a Chrome process or thread from its own descriptor. */
static int read_chrome_type(struct trace_text message, uint64_t *type)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == CHROME_TYPE)
			*type = field.value;
	}
	return status;
}

/* Reads a field that says what the track belongs to, such as a process or a thread. */
static int read_subject(const struct trace_field *field, struct trace_perfetto_descriptor *descriptor, uint64_t *chrome_process,
			uint64_t *chrome_thread)
{
	switch ((enum track_field)field->number) {
	case TRACK_PROCESS:
		descriptor->has_process = true;
		return trace_perfetto_read_process(field->text, &descriptor->process);
	case TRACK_THREAD:
		descriptor->has_thread = true;
		return trace_perfetto_read_thread(field->text, &descriptor->thread);
	case TRACK_COUNTER:
		descriptor->has_counter = true;
		return read_counter(field->text, &descriptor->counter);
	case TRACK_STATE:
		descriptor->has_state = true;
		return TRACE_OK;
	case TRACK_CHROME_PROCESS:
		return read_chrome_type(field->text, chrome_process);
	case TRACK_CHROME_THREAD:
		return read_chrome_type(field->text, chrome_thread);
	default:
		return TRACE_OK;
	}
}

static void read_property(const struct trace_field *field, struct trace_perfetto_descriptor *descriptor)
{
	switch ((enum track_field)field->number) {
	case TRACK_UUID:
		descriptor->has_uuid = true;
		descriptor->uuid = field->value;
		break;
	case TRACK_PARENT_UUID:
		descriptor->parent_uuid = field->value;
		break;
	case TRACK_NAME:
	case TRACK_STATIC_NAME:
	case TRACK_ATRACE_NAME:
		if (field->wire == TRACE_WIRE_BYTES)
			descriptor->name = field->text;
		break;
	case TRACK_IS_SEPARATE:
		descriptor->is_separate = field->value != 0;
		break;
	case TRACK_RANK:
		descriptor->has_rank = true;
		descriptor->rank = (int32_t)field->value;
		break;
	case TRACK_CHILD_ORDERING:
		descriptor->orders_children = field->value == EXPLICIT_CHILDREN;
		break;
	case TRACK_PROCESS_ORDERING:
		descriptor->orders_processes = field->value == EXPLICIT_ORDERING;
		break;
	case TRACK_THREAD_ORDERING:
		descriptor->orders_threads = field->value == EXPLICIT_ORDERING;
		break;
	case TRACK_MERGE_BEHAVIOR:
		descriptor->merge_behavior = field->value;
		break;
	case TRACK_MERGE_KEY:
	case TRACK_MERGE_KEY_NUMBER:
		descriptor->merge_key = hashed(0, field);
		break;
	default:
		break;
	}
}

int trace_perfetto_read_descriptor(struct trace_text message, struct trace_perfetto_descriptor *descriptor)
{
	struct trace_message fields = trace_message_of(message);
	uint64_t chrome_process = 0, chrome_thread = 0;
	struct trace_field field;
	int status;

	*descriptor = (struct trace_perfetto_descriptor){ 0 };
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		read_property(&field, descriptor);
		if (field.wire == TRACE_WIRE_BYTES && read_subject(&field, descriptor, &chrome_process, &chrome_thread) < 0)
			return TRACE_ERROR_FORMAT;
	}
	if (chrome_process)
		descriptor->process.chrome_type = chrome_process;
	if (chrome_thread)
		descriptor->thread.chrome_type = chrome_thread;
	if (!descriptor->counter.unit.data && descriptor->counter.type > 0 &&
	    descriptor->counter.type < sizeof counter_names / sizeof *counter_names)
		descriptor->counter.unit = text_of(units[descriptor->counter.type]);
	descriptor->counter.name = descriptor->name;
	if (!descriptor->name.data && descriptor->counter.type > 0 &&
	    descriptor->counter.type < sizeof counter_names / sizeof *counter_names)
		descriptor->counter.name = text_of(counter_names[descriptor->counter.type]);
	return status;
}
