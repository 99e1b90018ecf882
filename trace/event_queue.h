/* Events that wait to be handed out: the parser completes many at a time, the caller takes one. */
#ifndef TRACE_EVENT_QUEUE_H
#define TRACE_EVENT_QUEUE_H

#include "trace/bytes.h"
#include "trace/chrome_trace.h"

struct trace_queued_event;

/* All zero is an empty queue. */
struct trace_event_queue {
	struct trace_queued_event *events; /* owned */
	size_t n_events, n_taken, n_allocated;
	struct trace_bytes texts;
};

/* Copies an event with its texts; its track is made from pid and tid. TRACE_OK or TRACE_ERROR_MEMORY. */
int trace_queue_push(struct trace_event_queue *queue, const struct trace_event *event);

/* Takes the oldest event: true, or false if there is none. Its texts are valid until the next push or clear. */
bool trace_queue_pop(struct trace_event_queue *queue, struct trace_event *event);

/* Forgets all events and keeps the memory. */
void trace_queue_clear(struct trace_event_queue *queue);

void trace_queue_release(struct trace_event_queue *queue);

#endif
