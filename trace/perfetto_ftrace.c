#include "trace/perfetto_ftrace.h"

#include <stdlib.h>

#include "trace/protobuf.h"

/* Numbers of fields, as in Perfetto's protos/perfetto/trace/ftrace. */
enum bundle_field { BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_COMPACT = 4, BUNDLE_CLOCK = 5 };
enum event_field { EVENT_TIME = 1, EVENT_TID = 2, EVENT_PRINT = 3, EVENT_SCHED_SWITCH = 4 };
enum switch_field {
	SWITCH_PREV_PID = 2,
	SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5,
	SWITCH_NEXT_PID = 6,
	SWITCH_NEXT_PRIO = 7
};
enum compact_field {
	COMPACT_TIMES = 1,
	COMPACT_PREV_STATES = 2,
	COMPACT_NEXT_PIDS = 3,
	COMPACT_NEXT_PRIOS = 4,
	COMPACT_COMMS = 5,
	COMPACT_NEXT_COMM_INDEXES = 6,
	COMPACT_WAKING_TIMES = 7
};

void trace_perfetto_ftrace_release(struct trace_perfetto_ftrace *ftrace)
{
	free(ftrace->comms);
}

static int leave_out(struct trace_perfetto_ftrace *ftrace, uint64_t n, const char *what)
{
	return trace_leave_out(ftrace->assembly, n, what);
}

/* Converts an event's time and counts the event: TRACE_ROW, or TRACE_OK if it is left out. */
static int find_time(struct trace_perfetto_ftrace *ftrace, uint64_t time, int64_t *ts_ns)
{
	int status =
		trace_perfetto_clocks_convert(ftrace->clocks, trace_perfetto_clock_id(TRACE_CLOCK_BOOTTIME, 0), time, ts_ns);

	trace_count_event(ftrace->assembly);
	return status == TRACE_OK ? leave_out(ftrace, 1, "timestamp in a clock that cannot be resolved") : status;
}

static int take_switch(struct trace_perfetto_ftrace *ftrace, uint32_t cpu_number, uint64_t time,
		       const struct trace_perfetto_switch *taken)
{
	struct trace_perfetto_cpu *cpu;
	int64_t ts_ns;
	int status = find_time(ftrace, time, &ts_ns);

	if (status != TRACE_ROW)
		return status;
	if (taken->next_comm.n_bytes > 0)
		status = trace_perfetto_tasks_name(ftrace->tasks, taken->next_pid, taken->next_comm);
	if (status >= 0)
		status = trace_perfetto_sched_cpu(ftrace->sched, cpu_number, &cpu);
	return status < 0 ? status : trace_perfetto_sched_take(ftrace->sched, cpu, ts_ns, taken);
}

/* ---- One message for each event ---- */

static int take_switch_message(struct trace_perfetto_ftrace *ftrace, uint32_t cpu_number, uint64_t time,
			       struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_perfetto_switch taken = { 0 };
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		switch ((enum switch_field)field.number) {
		case SWITCH_PREV_PID:
			taken.prev_pid = (int32_t)field.value;
			break;
		case SWITCH_PREV_STATE:
			taken.prev_state = (int64_t)field.value;
			break;
		case SWITCH_NEXT_COMM:
			taken.next_comm = field.text;
			break;
		case SWITCH_NEXT_PID:
			taken.next_pid = (int32_t)field.value;
			break;
		case SWITCH_NEXT_PRIO:
			taken.next_prio = (int32_t)field.value;
			break;
		}
	}
	return status < 0 ? status : take_switch(ftrace, cpu_number, time, &taken);
}

static int take_event(struct trace_perfetto_ftrace *ftrace, uint32_t cpu_number, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field, body = { 0 };
	uint64_t time = 0;
	int64_t tid = 0, ts_ns;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == EVENT_TIME && field.wire == TRACE_WIRE_VARINT)
			time = field.value;
		else if (field.number == EVENT_TID && field.wire == TRACE_WIRE_VARINT)
			tid = (int32_t)field.value;
		else if (field.wire == TRACE_WIRE_BYTES)
			body = field;
	}
	if (status < 0)
		return status;
	if (body.number == EVENT_SCHED_SWITCH)
		return take_switch_message(ftrace, cpu_number, time, body.text);
	if (body.number != EVENT_PRINT && !trace_perfetto_prints_knows(body.number))
		return leave_out(ftrace, 1, "ftrace event: other");
	status = find_time(ftrace, time, &ts_ns);
	if (status != TRACE_ROW)
		return status;
	return body.number == EVENT_PRINT ? trace_perfetto_prints_take(ftrace->prints, tid, ts_ns, body.text)
					  : trace_perfetto_prints_take_mark(ftrace->prints, body.number, tid, ts_ns, body.text);
}

/* ---- Compact switches: a list for each field ---- */

/* Finds the names of a bundle's threads, as slices of the message. */
static int find_comms(struct trace_perfetto_ftrace *ftrace, struct trace_text message, size_t *n)
{
	struct trace_repeated texts = trace_repeated_of(message, COMPACT_COMMS, TRACE_WIRE_BYTES);
	struct trace_text text;
	int status;

	*n = 0;
	while ((status = trace_repeated_next_text(&texts, &text)) == TRACE_ROW) {
		status = trace_array_reserve(ftrace->budget, &ftrace->comms, *n, &ftrace->n_comms_allocated,
					     sizeof *ftrace->comms);
		if (status < 0)
			return status;
		ftrace->comms[(*n)++] = (struct trace_slice){ (size_t)(text.data - message.data), text.n_bytes };
	}
	return status;
}

static int count_wakings(struct trace_perfetto_ftrace *ftrace, struct trace_text message)
{
	struct trace_repeated times = trace_repeated_of(message, COMPACT_WAKING_TIMES, TRACE_WIRE_VARINT);
	uint64_t value, n = 0;

	while (trace_repeated_next(&times, &value) == TRACE_ROW)
		n++;
	return n ? leave_out(ftrace, n, "ftrace event: other") : TRACE_OK;
}

static int take_compact(struct trace_perfetto_ftrace *ftrace, uint32_t cpu_number, struct trace_text message)
{
	static const uint32_t numbers[] = { COMPACT_TIMES, COMPACT_PREV_STATES, COMPACT_NEXT_PIDS, COMPACT_NEXT_PRIOS,
					    COMPACT_NEXT_COMM_INDEXES };
	enum { N_LISTS = sizeof numbers / sizeof *numbers };
	struct trace_repeated lists[N_LISTS];
	struct trace_perfetto_switch taken = { .is_compact = true };
	uint64_t values[N_LISTS], time = 0;
	size_t n_comms;
	int status = find_comms(ftrace, message, &n_comms);

	for (int i = 0; i < N_LISTS; i++)
		lists[i] = trace_repeated_of(message, numbers[i], TRACE_WIRE_VARINT);
	while (status == TRACE_OK && (status = trace_repeated_next(&lists[0], &values[0])) == TRACE_ROW) {
		for (int i = 1; i < N_LISTS && status == TRACE_ROW; i++)
			status = trace_repeated_next(&lists[i], &values[i]);
		if (status != TRACE_ROW)
			return TRACE_ERROR_FORMAT;
		time += values[0];
		taken.prev_state = (int64_t)values[1];
		taken.next_pid = (int32_t)values[2];
		taken.next_prio = (int32_t)values[3];
		taken.next_comm = (struct trace_text){ "", 0 };
		if (values[4] < n_comms)
			taken.next_comm = (struct trace_text){ message.data + ftrace->comms[values[4]].start,
							       ftrace->comms[values[4]].n_bytes };
		status = take_switch(ftrace, cpu_number, time, &taken);
	}
	return status < 0 ? status : count_wakings(ftrace, message);
}

/* ---- Bundles ---- */

static int read_head(struct trace_text message, uint64_t *cpu_number, uint64_t *clock)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	*cpu_number = *clock = 0;
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == BUNDLE_CPU && field.wire == TRACE_WIRE_VARINT)
			*cpu_number = field.value;
		else if (field.number == BUNDLE_CLOCK && field.wire == TRACE_WIRE_VARINT)
			*clock = field.value;
	}
	return status;
}

int trace_perfetto_ftrace_take(struct trace_perfetto_ftrace *ftrace, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	uint64_t cpu_number, clock;
	int status = read_head(message, &cpu_number, &clock);

	if (status < 0)
		return status;
	if (clock != 0)
		return leave_out(ftrace, 1, "ftrace bundle in a clock of its own");
	while (status == TRACE_OK && (status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		status = TRACE_OK;
		if (field.wire != TRACE_WIRE_BYTES)
			continue;
		if (field.number == BUNDLE_EVENT)
			status = take_event(ftrace, (uint32_t)cpu_number, field.text);
		else if (field.number == BUNDLE_COMPACT)
			status = take_compact(ftrace, (uint32_t)cpu_number, field.text);
	}
	return status;
}
