#include "trace/perfetto_sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/protobuf.h"

/* Numbers of fields, as in Perfetto's protos/perfetto/trace/ftrace. */
enum bundle_field { BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_COMPACT = 4, BUNDLE_CLOCK = 5 };
enum event_field { EVENT_TIME = 1, EVENT_SCHED_SWITCH = 4 };
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

enum { COMM_BYTES = 64 /* Linux has 16 */ };

struct trace_perfetto_cpu {
	struct trace_track *track;
	bool is_known; /* who runs: a compact switch says only who comes */
	bool has_run;
	int64_t ts_ns, tid, prio;
	char comm[COMM_BYTES];
	size_t n_comm_bytes;
};

/* A switch from one thread to another. */
struct sched_switch {
	uint64_t time;
	bool is_compact; /* without prev_pid */
	int64_t prev_pid, prev_state, next_pid, next_prio;
	struct trace_text next_comm;
};

void trace_perfetto_sched_release(struct trace_perfetto_sched *sched)
{
	trace_u64_map_clear(&sched->by_number, sched->budget);
	free(sched->cpus);
	free(sched->comms);
	trace_bytes_release(&sched->comm_texts);
}

static int find_cpu(struct trace_perfetto_sched *sched, uint32_t number, struct trace_perfetto_cpu **cpu)
{
	struct trace_track_identity identity = { .kind = TRACE_TRACK_CPU };
	char key[32];
	uint64_t *place;
	bool is_new;
	int status = trace_array_reserve(sched->budget, &sched->cpus, sched->n_cpus, &sched->n_allocated, sizeof **cpu);

	if (status == TRACE_OK)
		status = trace_u64_map_put(&sched->by_number, sched->budget, number, &place, &is_new);
	if (status < 0)
		return status;
	if (is_new) {
		*place = sched->n_cpus;
		sched->cpus[sched->n_cpus++] = (struct trace_perfetto_cpu){ 0 };
	}
	*cpu = &sched->cpus[*place];
	if ((*cpu)->track)
		return TRACE_OK;
	identity.key = (struct trace_text){ key, (size_t)snprintf(key, sizeof key, "cpu:%" PRIu32, number) };
	return trace_find_track(sched->assembly, &identity, &(*cpu)->track);
}

/* The run that is over, or never ends. */
static int end_run(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, int64_t dur_ns, int64_t prev_state)
{
	struct trace_event event = { .track = cpu->track, .ts_ns = cpu->ts_ns };
	char tid[24], args[120];
	int n_bytes = snprintf(args, sizeof args, "{\"tid\":%" PRId64 ",\"prio\":%" PRId64, cpu->tid, cpu->prio);

	if (dur_ns >= 0)
		n_bytes += snprintf(args + n_bytes, sizeof args - (size_t)n_bytes, ",\"end_state\":%" PRId64, prev_state);
	n_bytes += snprintf(args + n_bytes, sizeof args - (size_t)n_bytes, "}");
	event.args = (struct trace_text){ args, (size_t)n_bytes };
	event.id = (struct trace_text){ tid, (size_t)snprintf(tid, sizeof tid, "%" PRId64, cpu->tid) };
	event.name = (struct trace_text){ cpu->comm, cpu->n_comm_bytes };
	cpu->has_run = false;
	return trace_add_span(sched->assembly, &event, dur_ns);
}

static int take_switch(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, const struct sched_switch *taken)
{
	bool was_known = cpu->is_known;
	int64_t ts_ns;
	int status = trace_perfetto_clocks_convert(sched->clocks, trace_perfetto_clock_id(TRACE_CLOCK_BOOTTIME, 0), taken->time,
						   &ts_ns);

	trace_count_event(sched->assembly);
	if (status == TRACE_OK)
		return trace_report_add(sched->assembly, TRACE_LEFT_OUT, 1, "timestamp in a clock that cannot be resolved");
	if (status < 0)
		return status;
	if (cpu->has_run && ts_ns < cpu->ts_ns)
		return trace_report_add(sched->assembly, TRACE_LEFT_OUT, 1, "sched_switch earlier than the one before it");
	status = TRACE_OK;
	if (cpu->has_run && !taken->is_compact && taken->prev_pid != cpu->tid)
		status = end_run(sched, cpu, TRACE_NEVER_CLOSED, 0);
	else if (cpu->has_run)
		status = end_run(sched, cpu, ts_ns - cpu->ts_ns, taken->prev_state);
	cpu->is_known = true;
	if (status < 0 || (taken->is_compact && !was_known))
		return status;
	cpu->has_run = true;
	cpu->ts_ns = ts_ns;
	cpu->tid = taken->next_pid;
	cpu->prio = taken->next_prio;
	cpu->n_comm_bytes = taken->next_comm.n_bytes < COMM_BYTES ? taken->next_comm.n_bytes : COMM_BYTES;
	if (cpu->n_comm_bytes > 0)
		memcpy(cpu->comm, taken->next_comm.data, cpu->n_comm_bytes);
	return TRACE_OK;
}

/* ---- One event for each switch ---- */

static int read_switch(struct trace_text message, struct sched_switch *taken)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		switch ((enum switch_field)field.number) {
		case SWITCH_PREV_PID:
			taken->prev_pid = (int32_t)field.value;
			break;
		case SWITCH_PREV_STATE:
			taken->prev_state = (int64_t)field.value;
			break;
		case SWITCH_NEXT_COMM:
			taken->next_comm = field.text;
			break;
		case SWITCH_NEXT_PID:
			taken->next_pid = (int32_t)field.value;
			break;
		case SWITCH_NEXT_PRIO:
			taken->next_prio = (int32_t)field.value;
			break;
		}
	}
	return status;
}

static int take_event(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct sched_switch taken = { 0 };
	struct trace_text body = { NULL, 0 };
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == EVENT_TIME && field.wire == TRACE_WIRE_VARINT)
			taken.time = field.value;
		else if (field.number == EVENT_SCHED_SWITCH && field.wire == TRACE_WIRE_BYTES)
			body = field.text;
	}
	if (status < 0)
		return status;
	if (!body.data)
		return trace_report_add(sched->assembly, TRACE_LEFT_OUT, 1, "ftrace event: not sched_switch");
	status = read_switch(body, &taken);
	return status < 0 ? status : take_switch(sched, cpu, &taken);
}

/* ---- Compact switches: a list for each field ---- */

/* Finds the names of a bundle's threads; they lie in the message. */
static int find_comms(struct trace_perfetto_sched *sched, struct trace_text message, size_t *n)
{
	struct trace_repeated texts = trace_repeated_of(message, COMPACT_COMMS, TRACE_WIRE_BYTES);
	struct trace_text text;
	int status;

	*n = 0;
	while ((status = trace_repeated_next_text(&texts, &text)) == TRACE_ROW) {
		status = trace_array_reserve(sched->budget, &sched->comms, *n, &sched->n_comms_allocated, sizeof *sched->comms);
		if (status < 0)
			return status;
		sched->comms[(*n)++] = (struct trace_slice){ (size_t)(text.data - message.data), text.n_bytes };
	}
	return status;
}

static int count_wakings(struct trace_perfetto_sched *sched, struct trace_text message)
{
	struct trace_repeated times = trace_repeated_of(message, COMPACT_WAKING_TIMES, TRACE_WIRE_VARINT);
	uint64_t value, n = 0;

	while (trace_repeated_next(&times, &value) == TRACE_ROW)
		n++;
	return n ? trace_report_add(sched->assembly, TRACE_LEFT_OUT, n, "ftrace event: not sched_switch") : TRACE_OK;
}

static int take_compact(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, struct trace_text message)
{
	static const uint32_t numbers[] = { COMPACT_TIMES, COMPACT_PREV_STATES, COMPACT_NEXT_PIDS, COMPACT_NEXT_PRIOS,
					    COMPACT_NEXT_COMM_INDEXES };
	enum { N_LISTS = sizeof numbers / sizeof *numbers };
	struct trace_repeated lists[N_LISTS];
	struct sched_switch taken = { .is_compact = true };
	uint64_t values[N_LISTS];
	size_t n_comms;
	int status = find_comms(sched, message, &n_comms);

	for (int i = 0; i < N_LISTS; i++)
		lists[i] = trace_repeated_of(message, numbers[i], TRACE_WIRE_VARINT);
	while (status == TRACE_OK && (status = trace_repeated_next(&lists[0], &values[0])) == TRACE_ROW) {
		for (int i = 1; i < N_LISTS && status == TRACE_ROW; i++)
			status = trace_repeated_next(&lists[i], &values[i]);
		if (status != TRACE_ROW)
			return TRACE_ERROR_FORMAT;
		taken.time += values[0];
		taken.prev_state = (int64_t)values[1];
		taken.next_pid = (int32_t)values[2];
		taken.next_prio = (int32_t)values[3];
		taken.next_comm = (struct trace_text){ "", 0 };
		if (values[4] < n_comms)
			taken.next_comm = (struct trace_text){ message.data + sched->comms[values[4]].start,
							       sched->comms[values[4]].n_bytes };
		status = take_switch(sched, cpu, &taken);
	}
	return status < 0 ? status : count_wakings(sched, message);
}

/* ---- Bundles ---- */

static int read_bundle_head(struct trace_text message, uint64_t *cpu, uint64_t *clock)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	*cpu = *clock = 0;
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == BUNDLE_CPU && field.wire == TRACE_WIRE_VARINT)
			*cpu = field.value;
		else if (field.number == BUNDLE_CLOCK && field.wire == TRACE_WIRE_VARINT)
			*clock = field.value;
	}
	return status;
}

int trace_perfetto_sched_bundle(struct trace_perfetto_sched *sched, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_perfetto_cpu *cpu = NULL;
	struct trace_field field;
	uint64_t number, clock;
	int status = read_bundle_head(message, &number, &clock);

	if (status < 0)
		return status;
	if (clock != 0)
		return trace_report_add(sched->assembly, TRACE_LEFT_OUT, 1, "ftrace bundle in a clock of its own");
	while (status == TRACE_OK && (status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		status = TRACE_OK;
		if (field.wire != TRACE_WIRE_BYTES || (field.number != BUNDLE_EVENT && field.number != BUNDLE_COMPACT))
			continue;
		if (!cpu)
			status = find_cpu(sched, (uint32_t)number, &cpu);
		if (status == TRACE_OK)
			status = field.number == BUNDLE_EVENT ? take_event(sched, cpu, field.text)
							      : take_compact(sched, cpu, field.text);
		if (status == TRACE_OK)
			continue;
		break;
	}
	return status;
}

int trace_perfetto_sched_finish(struct trace_perfetto_sched *sched)
{
	int status = TRACE_OK;

	for (size_t i = 0; i < sched->n_cpus && status == TRACE_OK; i++) {
		if (sched->cpus[i].has_run)
			status = end_run(sched, &sched->cpus[i], TRACE_NEVER_CLOSED, 0);
	}
	return status;
}
