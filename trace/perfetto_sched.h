/* trace/perfetto_sched.h -- Scheduling in a Perfetto trace: each run of a thread on a CPU is a span.
 *
 * The ftrace event sched_switch says that a CPU switches from one thread to another. A run begins with the switch to a thread
 * and ends with the next switch of that CPU. Switches of a CPU must come in order of time, as the kernel writes them.
 *
 * After Perfetto's src/trace_processor/importers/ftrace/ftrace_sched_event_tracker, in own words.
 */
#ifndef IFOREST_PERFETTO_SCHED_H
#define IFOREST_PERFETTO_SCHED_H

#include "trace/assembly.h"
#include "trace/u64_map.h"

struct trace_perfetto_cpu; /* what runs on a CPU */

/* All zero but for the first three is empty. */
struct trace_perfetto_sched {
	struct trace_assembly *assembly;
	struct trace_budget *budget;
	uint64_t *n_mended;		 /* texts that are not UTF-8 */
	struct trace_u64_map by_number;	 /* places in cpus */
	struct trace_perfetto_cpu *cpus; /* owned */
	size_t n_cpus, n_allocated;
	struct trace_bytes mended;
};

void trace_perfetto_sched_release(struct trace_perfetto_sched *sched);

/* A switch from one thread to another. */
struct trace_perfetto_switch {
	bool is_compact; /* without prev_pid */
	int64_t prev_pid, prev_state, next_pid, next_prio;
	struct trace_text next_comm;
};

/* All that answer int answer TRACE_OK, TRACE_ERROR_MEMORY, TRACE_ERROR_LIMIT, or what the assembly answered. O(1) expected. */

/* Finds a CPU, whose track is there from then on; valid until the next call. */
int trace_perfetto_sched_cpu(struct trace_perfetto_sched *sched, uint32_t number, struct trace_perfetto_cpu **cpu);

int trace_perfetto_sched_take(struct trace_perfetto_sched *sched, struct trace_perfetto_cpu *cpu, int64_t ts_ns,
			      const struct trace_perfetto_switch *taken);

/* When the file is read: runs that have not ended become spans that were never closed. */
int trace_perfetto_sched_finish(struct trace_perfetto_sched *sched);

#endif
