/* trace/perfetto_descriptor.h -- Descriptors of a Perfetto trace: of tracks, and of threads, processes and counters.
 *
 * Decodes them; perfetto_tracks.h interprets them.
 */
#ifndef IFOREST_PERFETTO_DESCRIPTOR_H
#define IFOREST_PERFETTO_DESCRIPTOR_H

#include <stdbool.h>

#include "trace/bytes.h"

/* A message TrackDescriptor. Texts point into the message. */
struct trace_perfetto_descriptor {
	bool has_uuid, has_thread, has_process, has_counter, has_state, is_separate;
	uint64_t uuid, parent_uuid;
	struct trace_text name;
	bool has_rank;
	int64_t rank;
	bool orders_children;		       /* their ranks say how they are sorted */
	bool orders_processes, orders_threads; /* of uuid 0: the same of processes and of threads */
	uint64_t merge_behavior, merge_key;    /* of siblings: how, and a hash of the key */
	struct trace_perfetto_thread {
		bool has_pid, has_tid, has_sort_index;
		int32_t pid;
		int64_t tid, sort_index;
		struct trace_text name;
		uint64_t chrome_type;
		int64_t time_us, thread_time_us, instruction_count; /* that differences are added to */
	} thread;
	struct trace_perfetto_process {
		bool has_pid, has_sort_index;
		int32_t pid;
		int64_t sort_index;
		struct trace_text name, message; /* the whole message ProcessDescriptor: it has the labels */
		uint64_t chrome_type;
	} process;
	struct trace_perfetto_counter {
		struct trace_text name, unit;
		double multiplier;
		bool is_incremental;
		uint64_t type, rest; /* a hash of what else must not change */
	} counter;
};

/* Reads a message of the file: TRACE_OK or TRACE_ERROR_FORMAT. O(bytes). */
int trace_perfetto_read_descriptor(struct trace_text message, struct trace_perfetto_descriptor *descriptor);
int trace_perfetto_read_thread(struct trace_text message, struct trace_perfetto_thread *thread);
int trace_perfetto_read_process(struct trace_text message, struct trace_perfetto_process *process);

#endif
