#include "trace/perfetto_sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/utf8.h"

enum { COMM_BYTES = 64 /* Linux has 16 */ };

struct trace_perfetto_cpu {
	struct trace_track *track;
	bool is_known; /* who runs: a compact switch says only who comes */
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

/* The run that is over, or never ends. */
static int end_run(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, int64_t dur_ns, int64_t prev_state)
{
	struct trace_event event = { .track = cpu->track, .ts_ns = cpu->ts_ns };
	int status;
	char tid[24], args[120];
	int n_bytes = snprintf(args, sizeof args, "{\"tid\":%" PRId64 ",\"prio\":%" PRId64, cpu->tid, cpu->prio);

	if (dur_ns >= 0)
		n_bytes += snprintf(args + n_bytes, sizeof args - (size_t)n_bytes, ",\"end_state\":%" PRId64, prev_state);
	n_bytes += snprintf(args + n_bytes, sizeof args - (size_t)n_bytes, "}");
	event.args = (struct trace_text){ args, (size_t)n_bytes };
	event.id = (struct trace_text){ tid, (size_t)snprintf(tid, sizeof tid, "%" PRId64, cpu->tid) };
	event.name = (struct trace_text){ cpu->comm, cpu->n_comm_bytes };
	cpu->has_run = false;
	status = trace_utf8_mend(&sched->mended, &event.name, sched->n_mended);
	return status < 0 ? status : trace_add_span(sched->assembly, &event, dur_ns);
}

int trace_perfetto_sched_take(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, int64_t ts_ns,
			      const struct trace_perfetto_switch *taken)
{
	bool was_known = cpu->is_known;
	int status = TRACE_OK;

	if (cpu->has_run && ts_ns < cpu->ts_ns)
		return trace_report_add(sched->assembly, TRACE_LEFT_OUT, 1, "sched_switch earlier than the one before it");
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

int trace_perfetto_sched_finish(struct trace_perfetto_sched *sched)
{
	int status = TRACE_OK;

	for (size_t i = 0; i < sched->n_cpus && status == TRACE_OK; i++) {
		if (sched->cpus[i].has_run)
			status = end_run(sched, &sched->cpus[i], TRACE_NEVER_CLOSED, 0);
	}
	return status;
}
