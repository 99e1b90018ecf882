#include "trace/event_queue.h"

#include <stdlib.h>

/* An event whose texts are slices, because the buffer moves as it grows. */
struct trace_queued_event {
	struct trace_event event;
	struct trace_slice pid, tid, name, category, args, id, key;
};

static int make_room(struct trace_event_queue *queue)
{
	size_t n_allocated = queue->n_allocated ? 2 * queue->n_allocated : 64;
	struct trace_queued_event *events;

	if (queue->n_events < queue->n_allocated)
		return TRACE_OK;
	events = realloc(queue->events, n_allocated * sizeof *events);
	if (!events)
		return TRACE_ERROR_MEMORY;
	queue->events = events;
	queue->n_allocated = n_allocated;
	return TRACE_OK;
}

int trace_queue_push(struct trace_event_queue *queue, const struct trace_event *event)
{
	struct trace_bytes *texts = &queue->texts;
	struct trace_queued_event *queued;

	if (make_room(queue) < 0)
		return TRACE_ERROR_MEMORY;
	queued = &queue->events[queue->n_events];
	queued->event = *event;
	if (trace_bytes_append(texts, event->pid, &queued->pid) < 0 ||
	    trace_bytes_append(texts, (struct trace_text){ "/", 1 }, NULL) < 0 ||
	    trace_bytes_append(texts, event->tid, &queued->tid) < 0 ||
	    trace_bytes_append(texts, event->name, &queued->name) < 0 ||
	    trace_bytes_append(texts, event->category, &queued->category) < 0 ||
	    trace_bytes_append(texts, event->args, &queued->args) < 0 ||
	    trace_bytes_append(texts, event->id, &queued->id) < 0 || trace_bytes_append(texts, event->key, &queued->key) < 0)
		return TRACE_ERROR_MEMORY;
	queue->n_events++;
	return TRACE_OK;
}

bool trace_queue_pop(struct trace_event_queue *queue, struct trace_event *event)
{
	const struct trace_bytes *texts = &queue->texts;
	const struct trace_queued_event *queued;

	if (queue->n_taken == queue->n_events)
		return false;
	queued = &queue->events[queue->n_taken++];
	*event = queued->event;
	event->pid = trace_bytes_text(texts, queued->pid);
	event->tid = trace_bytes_text(texts, queued->tid);
	event->track = (struct trace_text){ event->pid.data, event->pid.n_bytes + 1 + event->tid.n_bytes };
	event->name = trace_bytes_text(texts, queued->name);
	event->category = trace_bytes_text(texts, queued->category);
	event->args = trace_bytes_text(texts, queued->args);
	event->id = trace_bytes_text(texts, queued->id);
	event->key = trace_bytes_text(texts, queued->key);
	return true;
}

void trace_queue_clear(struct trace_event_queue *queue)
{
	queue->n_events = queue->n_taken = 0;
	trace_bytes_clear(&queue->texts);
}

void trace_queue_release(struct trace_event_queue *queue)
{
	free(queue->events);
	trace_bytes_release(&queue->texts);
	*queue = (struct trace_event_queue){ 0 };
}
