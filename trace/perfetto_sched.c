#include "trace/perfetto_sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/utf8.h"

enum { COMM_BYTES = 64 /* Linux has 16 */, DECIMAL_BYTES = 20, ARGS_BYTES = 120 };

struct trace_perfetto_cpu {
	struct trace_track *track;
	bool has_run;
	int64_t ts_ns, tid, prio;
	char comm[COMM_BYTES];
	size_t n_comm_bytes;
};

void trace_perfetto_sched_release(struct trace_perfetto_sched *sched)
{
	trace_u64_map_clear(&sched->by_number, sched->budget);
	free(sched->cpus);
	trace_bytes_release(&sched->mended);
}

int trace_perfetto_sched_cpu(struct trace_perfetto_sched *sched, uint32_t number, struct trace_perfetto_cpu **cpu)
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

/* Writes the args of a run. dur_ns is negative for a run that never ends, which has no end state. */
static struct trace_text write_args(const struct trace_perfetto_cpu *cpu, int64_t dur_ns, int64_t prev_state,
				    char args[ARGS_BYTES])
{
	int n_bytes = snprintf(args, ARGS_BYTES, "{\"tid\":%" PRId64 ",\"prio\":%" PRId64, cpu->tid, cpu->prio);

	if (dur_ns >= 0)
		n_bytes += snprintf(args + n_bytes, ARGS_BYTES - (size_t)n_bytes, ",\"end_state\":%" PRId64, prev_state);
	n_bytes += snprintf(args + n_bytes, ARGS_BYTES - (size_t)n_bytes, "}");
	return (struct trace_text){ args, (size_t)n_bytes };
}

/* Writes a decimal number to the end of digits. Not by snprintf(), because each run needs one. */
static struct trace_text write_decimal(int64_t number, char digits[DECIMAL_BYTES])
{
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char *end = digits + DECIMAL_BYTES, *at = end;

	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (number < 0)
		*--at = '-';
	return (struct trace_text){ at, (size_t)(end - at) };
}

static int end_run(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, int64_t dur_ns, int64_t prev_state)
{
	struct trace_event event = { .track = cpu->track, .ts_ns = cpu->ts_ns };
	char tid[DECIMAL_BYTES], args[ARGS_BYTES];
	int status;

	if (trace_assembly_wants(sched->assembly).args)
		event.args = write_args(cpu, dur_ns, prev_state, args);
	event.id = write_decimal(cpu->tid, tid);
	event.name = (struct trace_text){ cpu->comm, cpu->n_comm_bytes };
	cpu->has_run = false;
	status = trace_utf8_mend(&sched->mended, &event.name, sched->n_mended);
	return status < 0 ? status : trace_add_span(sched->assembly, &event, dur_ns);
}

int trace_perfetto_sched_take(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, int64_t ts_ns,
			      const struct trace_perfetto_switch *taken)
{
	int status = TRACE_OK;

	if (cpu->has_run && ts_ns < cpu->ts_ns)
		return trace_leave_out(sched->assembly, 1, "sched_switch earlier than the one before it");
	if (cpu->has_run && !taken->is_compact && taken->prev_pid != cpu->tid)
		status = end_run(sched, cpu, TRACE_NEVER_CLOSED, 0);
	else if (cpu->has_run)
		status = end_run(sched, cpu, ts_ns - cpu->ts_ns, taken->prev_state);
	if (status < 0)
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

int trace_perfetto_sched_finish(struct trace_perfetto_sched *sched)
{
	int status = TRACE_OK;

	for (size_t i = 0; i < sched->n_cpus && status == TRACE_OK; i++) {
		if (sched->cpus[i].has_run)
			status = end_run(sched, &sched->cpus[i], TRACE_NEVER_CLOSED, 0);
	}
	return status;
}
