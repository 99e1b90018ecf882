#include "trace/open_spans.h"

#include <stdlib.h>
#include <string.h>

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
