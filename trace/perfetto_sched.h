/* trace/perfetto_sched.h -- Scheduling in a Perfetto trace: each run of a thread on a CPU is a span.
 *
 * ftrace says with sched_switch that a CPU goes from one thread to another. A run begins with the switch to a thread and ends
 * with the next switch of that CPU. Switches of a CPU are expected in the order of time, as the kernel writes them.
 *
 * After Perfetto's src/trace_processor/importers/ftrace/ftrace_sched_event_tracker, in own words.
 */
#ifndef IFOREST_PERFETTO_SCHED_H
#define IFOREST_PERFETTO_SCHED_H

#include "trace/assembly.h"
#include "trace/perfetto_clocks.h"

struct trace_perfetto_cpu; /* what runs on a CPU */

/* All zero but for the first three is empty. */
struct trace_perfetto_sched {
	struct trace_assembly *assembly;
	struct trace_budget *budget;
	struct trace_perfetto_clocks *clocks;
	struct trace_u64_map by_number;	 /* places in cpus */
	struct trace_perfetto_cpu *cpus; /* owned */
	size_t n_cpus, n_allocated;
	struct trace_slice *comms; /* owned: names of a bundle's threads */
	size_t n_comms_allocated;
	struct trace_bytes comm_texts;
};

void trace_perfetto_sched_release(struct trace_perfetto_sched *sched);

/* Takes a message FtraceEventBundle. Events that are no sched_switch are left out.
 * TRACE_OK, TRACE_ERROR_FORMAT, TRACE_ERROR_MEMORY, TRACE_ERROR_LIMIT, or what the assembly answered. O(bytes) expected. */
int trace_perfetto_sched_bundle(struct trace_perfetto_sched *sched, struct trace_text message);

/* When the file is read: what still runs becomes spans that were never closed. */
int trace_perfetto_sched_finish(struct trace_perfetto_sched *sched);

#endif
