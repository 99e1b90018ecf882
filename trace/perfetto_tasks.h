/* trace/perfetto_tasks.h -- Names and processes of threads, from the kernel and from the list of processes.
 *
 *     process_tree    names of processes, and names of threads with their processes
 *     sched_switch    names of threads
 *     prints          of what process a thread is
 *
 * They create no tracks, but name those without a name at the end of the file. The last definition wins.
 */
#ifndef IFOREST_PERFETTO_TASKS_H
#define IFOREST_PERFETTO_TASKS_H

#include "trace/perfetto_tracks.h"

struct trace_perfetto_task; /* what is known of a thread */

/* All zero but for the first one knows nothing. */
struct trace_perfetto_tasks {
	struct trace_budget *budget;
	struct trace_u64_map by_tid;	   /* places in tasks */
	struct trace_perfetto_task *tasks; /* owned */
	size_t n_tasks, n_tasks_allocated;
	struct trace_u64_map by_pid; /* places in names */
	struct trace_slice *names;   /* of processes, owned */
	size_t n_names, n_names_allocated;
	struct trace_bytes texts;
};

void trace_perfetto_tasks_release(struct trace_perfetto_tasks *tasks);

/* All that answer int answer TRACE_OK, TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT. O(bytes) expected. */

/* Takes a message ProcessTree: TRACE_ERROR_FORMAT, too. */
int trace_perfetto_tasks_take_tree(struct trace_perfetto_tasks *tasks, struct trace_text message);

/* A thread's name, which is cut after as many bytes as the kernel gives it and more; and its process. */
int trace_perfetto_tasks_name(struct trace_perfetto_tasks *tasks, int64_t tid, struct trace_text name);
int trace_perfetto_tasks_place(struct trace_perfetto_tasks *tasks, int64_t tid, int64_t pid);

/* Returns the process of a thread; 0 if unknown. */
int64_t trace_perfetto_tasks_pid(const struct trace_perfetto_tasks *tasks, int64_t tid);

/* When the file is read: names tracks, or answers what the assembly answered. */
int trace_perfetto_tasks_finish(struct trace_perfetto_tasks *tasks, struct trace_perfetto_tracks *tracks);

#endif
