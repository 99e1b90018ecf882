/* trace/perfetto_ftrace.h -- Bundles of kernel events in a Perfetto trace, dispatched to the scheduler and to prints.
 *
 *     bundle of a CPU -+- sched_switch, one by one or compact --> perfetto_sched.h
 *                      +- prints, and marks of drivers ---------> perfetto_prints.h
 */
#ifndef IFOREST_PERFETTO_FTRACE_H
#define IFOREST_PERFETTO_FTRACE_H

#include "trace/perfetto_clocks.h"
#include "trace/perfetto_prints.h"
#include "trace/perfetto_sched.h"

/* All zero but for the first six is ready. */
struct trace_perfetto_ftrace {
	struct trace_assembly *assembly;
	struct trace_budget *budget;
	struct trace_perfetto_clocks *clocks;
	struct trace_perfetto_tasks *tasks;
	struct trace_perfetto_sched *sched;
	struct trace_perfetto_prints *prints;
	struct trace_slice *comms; /* owned: names of a bundle's threads */
	size_t n_comms_allocated;
};

void trace_perfetto_ftrace_release(struct trace_perfetto_ftrace *ftrace);

/* Takes a message FtraceEventBundle. Events of other kinds are left out.
 * TRACE_OK, TRACE_ERROR_FORMAT, TRACE_ERROR_MEMORY, TRACE_ERROR_LIMIT, or what the assembly answered. O(bytes) expected. */
int trace_perfetto_ftrace_take(struct trace_perfetto_ftrace *ftrace, struct trace_text message);

#endif
