#include "trace/perfetto_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "trace/protobuf.h"

/* Numbers of fields, as in Perfetto's protos/perfetto/trace/ps/process_tree.proto. */
enum tree_field { TREE_PROCESS = 1, TREE_THREAD = 2 };
enum process_field { PROCESS_PID = 1, PROCESS_COMMAND_LINE = 3 };
enum thread_field { THREAD_TID = 1, THREAD_NAME = 2, THREAD_PID = 3 };

enum { NAME_BYTES = 31 /* Linux has 15 */ };

struct trace_perfetto_task {
	int64_t pid; /* 0 if it is not known */
	uint8_t n_name_bytes;
	char name[NAME_BYTES];
};

void trace_perfetto_tasks_release(struct trace_perfetto_tasks *tasks)
{
	trace_u64_map_clear(&tasks->by_tid, tasks->budget);
	trace_u64_map_clear(&tasks->by_pid, tasks->budget);
	free(tasks->tasks);
	free(tasks->names);
	trace_bytes_release(&tasks->texts);
}

static int find_task(struct trace_perfetto_tasks *tasks, int64_t tid, struct trace_perfetto_task **task)
{
	uint64_t *place;
	bool is_new;
	int status =
		trace_array_reserve(tasks->budget, &tasks->tasks, tasks->n_tasks, &tasks->n_tasks_allocated, sizeof **task);

	if (status == TRACE_OK)
		status = trace_u64_map_put(&tasks->by_tid, tasks->budget, (uint64_t)tid, &place, &is_new);
	if (status < 0)
		return status;
	if (is_new) {
		*place = tasks->n_tasks;
		tasks->tasks[tasks->n_tasks++] = (struct trace_perfetto_task){ 0 };
	}
	*task = &tasks->tasks[*place];
	return TRACE_OK;
}

int trace_perfetto_tasks_name(struct trace_perfetto_tasks *tasks, int64_t tid, struct trace_text name)
{
	struct trace_perfetto_task *task;
	int status = find_task(tasks, tid, &task);

	if (status < 0)
		return status;
	task->n_name_bytes = (uint8_t)(name.n_bytes < NAME_BYTES ? name.n_bytes : NAME_BYTES);
	if (task->n_name_bytes > 0)
		memcpy(task->name, name.data, task->n_name_bytes);
	return TRACE_OK;
}

int trace_perfetto_tasks_place(struct trace_perfetto_tasks *tasks, int64_t tid, int64_t pid)
{
	struct trace_perfetto_task *task;
	int status = find_task(tasks, tid, &task);

	if (status == TRACE_OK)
		task->pid = pid;
	return status;
}

static const struct trace_perfetto_task *task_of(const struct trace_perfetto_tasks *tasks, int64_t tid)
{
	const uint64_t *place = trace_u64_map_find(&tasks->by_tid, (uint64_t)tid);

	return place ? &tasks->tasks[*place] : NULL;
}

int64_t trace_perfetto_tasks_pid(const struct trace_perfetto_tasks *tasks, int64_t tid)
{
	const struct trace_perfetto_task *task = task_of(tasks, tid);

	return task ? task->pid : 0;
}

/* ---- The list of processes ---- */

static int name_process(struct trace_perfetto_tasks *tasks, int64_t pid, struct trace_text name)
{
	struct trace_text before;
	uint64_t *place;
	bool is_new;
	int status = trace_array_reserve(tasks->budget, &tasks->names, tasks->n_names, &tasks->n_names_allocated,
					 sizeof *tasks->names);

	if (status == TRACE_OK)
		status = trace_u64_map_put(&tasks->by_pid, tasks->budget, (uint64_t)pid, &place, &is_new);
	if (status < 0)
		return status;
	if (is_new) {
		*place = tasks->n_names;
		tasks->names[tasks->n_names++] = TRACE_NO_SLICE;
	}
	/* the list is repeated in the file, mostly with the same names */
	before = trace_bytes_text(&tasks->texts, tasks->names[*place]);
	if (before.data && before.n_bytes == name.n_bytes && memcmp(before.data, name.data, name.n_bytes) == 0)
		return TRACE_OK;
	status = trace_budget_take(tasks->budget, name.n_bytes);
	return status < 0 ? status : trace_bytes_append(&tasks->texts, name, &tasks->names[*place]);
}

static int take_process(struct trace_perfetto_tasks *tasks, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_text name = { NULL, 0 };
	struct trace_field field;
	int64_t pid = 0;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == PROCESS_PID && field.wire == TRACE_WIRE_VARINT)
			pid = (int32_t)field.value;
		else if (field.number == PROCESS_COMMAND_LINE && field.wire == TRACE_WIRE_BYTES && !name.data)
			name = field.text;
	}
	if (status < 0 || !name.data || name.n_bytes == 0)
		return status;
	return name_process(tasks, pid, name);
}

static int take_thread(struct trace_perfetto_tasks *tasks, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_text name = { NULL, 0 };
	struct trace_field field;
	int64_t tid = 0, pid = 0;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == THREAD_TID && field.wire == TRACE_WIRE_VARINT)
			tid = (int32_t)field.value;
		else if (field.number == THREAD_PID && field.wire == TRACE_WIRE_VARINT)
			pid = (int32_t)field.value;
		else if (field.number == THREAD_NAME && field.wire == TRACE_WIRE_BYTES)
			name = field.text;
	}
	if (status == TRACE_OK && pid)
		status = trace_perfetto_tasks_place(tasks, tid, pid);
	if (status < 0 || name.n_bytes == 0)
		return status;
	return trace_perfetto_tasks_name(tasks, tid, name);
}

int trace_perfetto_tasks_take_tree(struct trace_perfetto_tasks *tasks, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		status = TRACE_OK;
		if (field.number == TREE_PROCESS && field.wire == TRACE_WIRE_BYTES)
			status = take_process(tasks, field.text);
		else if (field.number == TREE_THREAD && field.wire == TRACE_WIRE_BYTES)
			status = take_thread(tasks, field.text);
		if (status < 0)
			return status;
	}
	return status;
}

/* ---- End ---- */

/* Reads the pid or tid of a track, which is a decimal number. */
static uint64_t number_of(struct trace_text text)
{
	char digits[24] = "";

	if (text.n_bytes < sizeof digits)
		memcpy(digits, text.data, text.n_bytes);
	return (uint64_t)strtoll(digits, NULL, 10);
}

static struct trace_text name_of(const struct trace_perfetto_tasks *tasks, const struct trace_track *track)
{
	const struct trace_perfetto_task *task;
	const uint64_t *place;

	if (track->kind == TRACE_TRACK_PROCESS) {
		place = trace_u64_map_find(&tasks->by_pid, number_of(track->pid));
		return trace_bytes_text(&tasks->texts, place ? tasks->names[*place] : TRACE_NO_SLICE);
	}
	task = task_of(tasks, (int64_t)number_of(track->tid));
	return (struct trace_text){ task && task->n_name_bytes > 0 ? task->name : NULL, task ? task->n_name_bytes : 0 };
}

int trace_perfetto_tasks_finish(struct trace_perfetto_tasks *tasks, struct trace_perfetto_tracks *tracks)
{
	struct trace_track *track;
	int status = TRACE_OK;

	for (size_t i = 0; status == TRACE_OK && (track = trace_perfetto_tracks_unnamed(tracks, &i));) {
		struct trace_text name = name_of(tasks, track);

		if (name.data)
			status = trace_perfetto_tracks_rename(tracks, track, name);
	}
	return status;
}
