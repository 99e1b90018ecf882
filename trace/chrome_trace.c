#include "trace/chrome_trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/bytes.h"
#include "trace/input.h"
#include "trace/json_events.h"

/* Events that wait to be handed out: the parser completes many at a time, the caller takes one. */

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

/* Spans that have begun and not ended: a stack for each (pid, tid). */

struct trace_open_track;

/* All zero is the empty set. */
struct trace_open_spans {
	struct trace_open_track **buckets; /* owned */
	size_t n_buckets, n_tracks;
	uint64_t n_spans;
};

struct trace_open_span {
	struct trace_open_span *below;
	struct trace_event begin; /* its texts follow the struct, in the same allocation */
};

/* Puts a copy of a B event on the stack of its (pid, tid). TRACE_OK or TRACE_ERROR_MEMORY. O(1) amortised. */
int trace_open_spans_push(struct trace_open_spans *spans, const struct trace_event *begin);

/* Takes the top of a (pid, tid): the caller calls free() on it. NULL if none is open. O(1) expected. */
struct trace_open_span *trace_open_spans_pop(struct trace_open_spans *spans, struct trace_text pid, struct trace_text tid);

void trace_open_spans_release(struct trace_open_spans *spans);

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

/* ---- Spans that have begun and not ended ---- */

/* A track lives only while a span of it is open, so that a file with ever new tracks needs no memory for the old. */
struct trace_open_track {
	struct trace_open_track *next_in_bucket;
	uint64_t hash;
	struct trace_open_span *top;
	struct trace_text pid, tid; /* they follow the struct, in the same allocation */
};

static uint64_t hash_bytes(uint64_t hash, struct trace_text text)
{
	for (size_t i = 0; i < text.n_bytes; i++)
		hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001b3u;
	return hash ^ (hash >> 29);
}

static uint64_t hash_track(struct trace_text pid, struct trace_text tid)
{
	uint64_t hash = hash_bytes(hash_bytes(0xcbf29ce484222325u, pid), tid);

	hash *= 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 32);
}

static bool same_text(struct trace_text a, struct trace_text b)
{
	return a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0;
}

/* The link that leads to the track, or the one where it would be put. Requires n_buckets > 0. */
static struct trace_open_track **find_link(struct trace_open_spans *spans, struct trace_text pid, struct trace_text tid,
					   uint64_t hash)
{
	struct trace_open_track **link = &spans->buckets[hash & (spans->n_buckets - 1)];

	while (*link && !((*link)->hash == hash && same_text((*link)->pid, pid) && same_text((*link)->tid, tid)))
		link = &(*link)->next_in_bucket;
	return link;
}

static int grow(struct trace_open_spans *spans)
{
	size_t n_buckets = spans->n_buckets ? 2 * spans->n_buckets : 64;
	struct trace_open_track **buckets;

	if (spans->n_tracks < spans->n_buckets)
		return TRACE_OK;
	buckets = calloc(n_buckets, sizeof(struct trace_open_track *));
	if (!buckets)
		return TRACE_ERROR_MEMORY;
	for (size_t i = 0; i < spans->n_buckets; i++) {
		struct trace_open_track *track, *next;

		for (track = spans->buckets[i]; track; track = next) {
			struct trace_open_track **bucket = &buckets[track->hash & (n_buckets - 1)];

			next = track->next_in_bucket;
			track->next_in_bucket = *bucket;
			*bucket = track;
		}
	}
	free(spans->buckets);
	spans->buckets = buckets;
	spans->n_buckets = n_buckets;
	return TRACE_OK;
}

/* Copies a text to *at, moves *at behind it and points the text to its copy. */
static void move_text(struct trace_text *text, char **at)
{
	if (!text->data)
		return;
	memcpy(*at, text->data, text->n_bytes);
	text->data = *at;
	*at += text->n_bytes;
}

static struct trace_open_track *new_track(struct trace_text pid, struct trace_text tid, uint64_t hash)
{
	struct trace_open_track *track = malloc(sizeof *track + pid.n_bytes + tid.n_bytes);
	char *texts;

	if (!track)
		return NULL;
	texts = (char *)(track + 1);
	*track = (struct trace_open_track){ .hash = hash, .pid = pid, .tid = tid };
	move_text(&track->pid, &texts);
	move_text(&track->tid, &texts);
	return track;
}

static struct trace_open_span *new_span(const struct trace_event *begin)
{
	size_t n_bytes = begin->name.n_bytes + begin->category.n_bytes + begin->args.n_bytes;
	struct trace_open_span *span = malloc(sizeof *span + n_bytes);
	char *texts;

	if (!span)
		return NULL;
	texts = (char *)(span + 1);
	span->begin = *begin;
	span->begin.pid = span->begin.tid = (struct trace_text){ NULL, 0 };
	move_text(&span->begin.name, &texts);
	move_text(&span->begin.category, &texts);
	move_text(&span->begin.args, &texts);
	return span;
}

int trace_open_spans_push(struct trace_open_spans *spans, const struct trace_event *begin)
{
	uint64_t hash = hash_track(begin->pid, begin->tid);
	struct trace_open_track **link;
	struct trace_open_span *span;

	if (grow(spans) < 0)
		return TRACE_ERROR_MEMORY;
	span = new_span(begin);
	if (!span)
		return TRACE_ERROR_MEMORY;
	link = find_link(spans, begin->pid, begin->tid, hash);
	if (!*link) {
		*link = new_track(begin->pid, begin->tid, hash);
		if (!*link) {
			free(span);
			return TRACE_ERROR_MEMORY;
		}
		spans->n_tracks++;
	}
	span->below = (*link)->top;
	(*link)->top = span;
	spans->n_spans++;
	return TRACE_OK;
}

struct trace_open_span *trace_open_spans_pop(struct trace_open_spans *spans, struct trace_text pid, struct trace_text tid)
{
	struct trace_open_track **link, *track;
	struct trace_open_span *span;

	if (spans->n_tracks == 0)
		return NULL;
	link = find_link(spans, pid, tid, hash_track(pid, tid));
	track = *link;
	if (!track)
		return NULL;
	span = track->top;
	track->top = span->below;
	if (!track->top) {
		*link = track->next_in_bucket;
		free(track);
		spans->n_tracks--;
	}
	spans->n_spans--;
	return span;
}

void trace_open_spans_release(struct trace_open_spans *spans)
{
	for (size_t i = 0; i < spans->n_buckets; i++) {
		struct trace_open_track *track = spans->buckets[i];

		while (track) {
			struct trace_open_track *next = track->next_in_bucket;

			while (track->top) {
				struct trace_open_span *below = track->top->below;

				free(track->top);
				track->top = below;
			}
			free(track);
			track = next;
		}
	}
	free(spans->buckets);
	*spans = (struct trace_open_spans){ 0 };
}

/* ---- The reader ---- */

enum {
	DEFAULT_PIECE_BYTES = 64 * 1024,
	SHOWN_PATH_BYTES = 300 /* of a longer path an error shows the end */
};

struct trace_reader {
	struct trace_options options;
	char *path;
	struct trace_input input;
	struct trace_json_events *parser;
	struct trace_event_queue queue;
	struct trace_open_spans open_spans;
	struct trace_statistics statistics;
	struct trace_bytes piece;
	int status; /* TRACE_ROW while there is more to read */
	char error[700];
};

static int fail(struct trace_reader *reader, int status, const char *format, ...)
{
	size_t n_path = strlen(reader->path);
	bool cut = n_path > SHOWN_PATH_BYTES;
	int n_prefix = snprintf(reader->error, sizeof reader->error, "%s%s: ", cut ? "..." : "",
				reader->path + (cut ? n_path - SHOWN_PATH_BYTES : 0));
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->error + n_prefix, sizeof reader->error - (size_t)n_prefix, format, arguments);
	va_end(arguments);
	return status;
}

static struct trace_text or_empty(struct trace_text text)
{
	return text.data ? text : (struct trace_text){ "", 0 };
}

/* What all phases have in common. */
static struct trace_event event_of(const struct trace_event_fields *fields)
{
	return (struct trace_event){
		.ts_ns = fields->ts.ns,
		.pid = or_empty(trace_fields_text(fields, TRACE_FIELD_PID)),
		.tid = or_empty(trace_fields_text(fields, TRACE_FIELD_TID)),
		.name = or_empty(trace_fields_text(fields, TRACE_FIELD_NAME)),
	};
}

static struct trace_event span_of(const struct trace_event_fields *fields)
{
	struct trace_event span = event_of(fields);

	span.kind = TRACE_SPAN;
	span.category = trace_fields_text(fields, TRACE_FIELD_CATEGORY);
	span.args = trace_fields_args(fields);
	return span;
}

static int complete_span(struct trace_reader *reader, const struct trace_event_fields *fields, const char **problem)
{
	struct trace_event span = span_of(fields);

	if (fields->dur.status == TRACE_TIME_OUT_OF_RANGE) {
		*problem = "the dur of the event that starts here does not fit into 64-bit nanoseconds";
		return TRACE_ERROR_RANGE;
	}
	if (fields->dur.status != TRACE_TIME_OK) {
		reader->statistics.n_without_duration++;
		return TRACE_OK;
	}
	reader->statistics.n_complete_spans++;
	span.dur_ns = fields->dur.ns;
	return trace_queue_push(&reader->queue, &span);
}

static int begin_span(struct trace_reader *reader, const struct trace_event_fields *fields)
{
	struct trace_event span = span_of(fields);
	int status = trace_open_spans_push(&reader->open_spans, &span);

	reader->statistics.n_unmatched_begin = reader->open_spans.n_spans;
	return status;
}

static bool subtract(int64_t end_ns, int64_t ts_ns, int64_t *dur_ns)
{
	bool fits = ts_ns >= 0 ? end_ns >= INT64_MIN + ts_ns : end_ns <= INT64_MAX + ts_ns;

	if (fits)
		*dur_ns = end_ns - ts_ns;
	return fits;
}

static int end_span(struct trace_reader *reader, const struct trace_event_fields *fields, const char **problem)
{
	struct trace_event end = event_of(fields), span;
	struct trace_open_span *open = trace_open_spans_pop(&reader->open_spans, end.pid, end.tid);
	int status;

	if (!open) {
		reader->statistics.n_unmatched_end++;
		return TRACE_OK;
	}
	reader->statistics.n_unmatched_begin = reader->open_spans.n_spans;
	reader->statistics.n_matched_spans++;
	span = open->begin;
	span.pid = end.pid;
	span.tid = end.tid;
	if (subtract(end.ts_ns, span.ts_ns, &span.dur_ns)) {
		status = trace_queue_push(&reader->queue, &span);
	} else {
		*problem = "the span that ends here is longer than 64-bit nanoseconds";
		status = TRACE_ERROR_RANGE;
	}
	free(open);
	return status;
}

static int sample_counters(struct trace_reader *reader, struct trace_event_fields *fields)
{
	struct trace_event sample = event_of(fields);

	reader->statistics.n_counter_events++;
	trace_fields_settle_samples(fields);
	sample.kind = TRACE_COUNTER;
	sample.id = trace_fields_text(fields, TRACE_FIELD_ID);
	for (size_t i = 0; i < fields->n_samples; i++) {
		sample.key = fields->samples[i].key_text;
		sample.value = fields->samples[i].value;
		if (trace_queue_push(&reader->queue, &sample) < 0)
			return TRACE_ERROR_MEMORY;
	}
	return TRACE_OK;
}

static bool is_wanted(const struct trace_options *options, char phase)
{
	switch (phase) {
	case 'X':
	case 'B':
	case 'E':
		return options->spans;
	case 'C':
		return options->counters;
	default:
		return false;
	}
}

static int on_event(void *context, struct trace_event_fields *fields, const char **problem)
{
	struct trace_reader *reader = context;

	reader->statistics.n_events++;
	if (!is_wanted(&reader->options, fields->phase))
		return TRACE_OK;
	if (fields->ts.status == TRACE_TIME_OUT_OF_RANGE) {
		*problem = "the ts of the event that starts here does not fit into 64-bit nanoseconds";
		return TRACE_ERROR_RANGE;
	}
	if (fields->ts.status != TRACE_TIME_OK) {
		reader->statistics.n_without_time++;
		return TRACE_OK;
	}
	switch (fields->phase) {
	case 'X':
		return complete_span(reader, fields, problem);
	case 'B':
		return begin_span(reader, fields);
	case 'E':
		return end_span(reader, fields, problem);
	default:
		return sample_counters(reader, fields);
	}
}

static int start(struct trace_reader *reader)
{
	struct trace_json_handler handler = {
		.on_event = on_event,
		.context = reader,
		.keep_args = reader->options.spans && reader->options.args,
		.keep_samples = reader->options.counters,
	};
	int status = trace_input_open(&reader->input, reader->path);

	if (status < 0)
		return fail(reader, status, "%s", reader->input.problem);
	reader->parser = trace_json_events_new(&handler);
	if (!reader->parser)
		return fail(reader, TRACE_ERROR_MEMORY, "out of memory");
	return TRACE_ROW;
}

int trace_reader_open(const char *path, const struct trace_options *options, struct trace_reader **reader)
{
	struct trace_reader *opened = calloc(1, sizeof *opened);

	*reader = opened;
	if (!opened)
		return TRACE_ERROR_MEMORY;
	opened->options = *options;
	if (opened->options.piece_bytes == 0)
		opened->options.piece_bytes = DEFAULT_PIECE_BYTES;
	opened->path = strdup(path);
	if (!opened->path) {
		free(opened);
		*reader = NULL;
		return TRACE_ERROR_MEMORY;
	}
	opened->status = start(opened);
	return opened->status < 0 ? opened->status : TRACE_OK;
}

static int parser_failed(struct trace_reader *reader, int status)
{
	const struct trace_json_problem *problem = trace_json_events_problem(reader->parser);

	return fail(reader, status, "byte %llu: %s", (unsigned long long)problem->offset, problem->text);
}

static int finish(struct trace_reader *reader)
{
	int status = trace_json_events_end(reader->parser, &reader->statistics.truncated);

	return status < 0 ? parser_failed(reader, status) : TRACE_OK;
}

/* Reads the next *n_read bytes of the file, behind what is left of the last piece. */
static int read_piece(struct trace_reader *reader, size_t *n_read)
{
	size_t n_wanted = trace_json_events_piece_bytes(reader->parser);
	struct trace_bytes *piece = &reader->piece;
	int status;

	if (n_wanted < reader->options.piece_bytes)
		n_wanted = reader->options.piece_bytes;
	if (piece->n_allocated > 2 * n_wanted && piece->n_bytes == 0)
		trace_bytes_release(piece);
	if (trace_bytes_reserve(piece, n_wanted) < 0)
		return fail(reader, TRACE_ERROR_MEMORY, "out of memory");
	status = trace_input_read(&reader->input, piece->data + piece->n_bytes, n_wanted, n_read);
	piece->n_bytes += *n_read;
	return status < 0 ? fail(reader, status, "%s", reader->input.problem) : TRACE_OK;
}

/* Parses the next piece. TRACE_ROW if there may be more, TRACE_OK at the end. */
static int advance(struct trace_reader *reader)
{
	struct trace_bytes *piece = &reader->piece;
	size_t n_read, n_taken;
	int status = read_piece(reader, &n_read);

	if (status < 0)
		return status;
	if (n_read == 0)
		return finish(reader);
	status = trace_json_events_feed(reader->parser, piece->data, piece->n_bytes, &n_taken);
	if (status < 0)
		return parser_failed(reader, status);
	piece->n_bytes -= n_taken;
	memmove(piece->data, piece->data + n_taken, piece->n_bytes);
	return TRACE_ROW;
}

int trace_reader_next(struct trace_reader *reader, struct trace_event *event)
{
	while (!trace_queue_pop(&reader->queue, event)) {
		if (reader->status != TRACE_ROW)
			return reader->status;
		trace_queue_clear(&reader->queue);
		reader->status = advance(reader);
	}
	return TRACE_ROW;
}

const char *trace_reader_error(const struct trace_reader *reader)
{
	return reader ? reader->error : "out of memory";
}

const struct trace_statistics *trace_reader_statistics(const struct trace_reader *reader)
{
	return &reader->statistics;
}

uint64_t trace_reader_position(const struct trace_reader *reader)
{
	return trace_input_position(&reader->input);
}

void trace_reader_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	trace_json_events_free(reader->parser);
	trace_input_close(&reader->input);
	trace_queue_release(&reader->queue);
	trace_open_spans_release(&reader->open_spans);
	trace_bytes_release(&reader->piece);
	free(reader->path);
	free(reader);
}
