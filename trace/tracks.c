#include "trace/tracks.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_SLOTS = 64 };

/* A stored track. Its texts that never change follow it in the same allocation. */
struct trace_kept_track {
	struct trace_track track; /* must be first */
	uint64_t hash;
};

static uint64_t hash_of(const struct trace_track_identity *identity)
{
	uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)identity->kind;

	for (size_t i = 0; i < identity->key.n_bytes; i++)
		hash = (hash ^ (unsigned char)identity->key.data[i]) * 0x100000001b3u;
	hash *= 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 32);
}

static const struct trace_kept_track *kept(const struct trace_tracks *tracks, uint32_t number)
{
	return (const struct trace_kept_track *)tracks->by_number[number - 1];
}

static bool is_meant(const struct trace_kept_track *track, const struct trace_track_identity *identity, uint64_t hash)
{
	return track->hash == hash && track->track.kind == identity->kind &&
	       track->track.key.n_bytes == identity->key.n_bytes &&
	       memcmp(track->track.key.data, identity->key.data, identity->key.n_bytes) == 0 &&
	       /* equal keys may be of different threads, because a pid and a tid may contain slashes */
	       (identity->kind != TRACE_TRACK_THREAD || track->track.pid.n_bytes == identity->pid.n_bytes);
}

/* Returns the slot of the track, or the empty one where it belongs. Requires an empty slot. */
static uint32_t *find_slot(const struct trace_tracks *tracks, const struct trace_track_identity *identity, uint64_t hash)
{
	size_t i = hash & (tracks->n_slots - 1);

	while (tracks->slots[i] && !is_meant(kept(tracks, tracks->slots[i]), identity, hash))
		i = (i + 1) & (tracks->n_slots - 1);
	return &tracks->slots[i];
}

static int make_slots(struct trace_tracks *tracks)
{
	size_t n_slots = tracks->n_slots ? 2 * tracks->n_slots : FEWEST_SLOTS;
	uint32_t *slots;

	if ((size_t)tracks->n_tracks * 2 < tracks->n_slots)
		return TRACE_OK;
	slots = calloc(n_slots, sizeof *slots);
	if (!slots)
		return TRACE_ERROR_MEMORY;
	for (uint32_t number = 1; number <= tracks->n_tracks; number++) {
		size_t i = kept(tracks, number)->hash & (n_slots - 1);

		while (slots[i])
			i = (i + 1) & (n_slots - 1);
		slots[i] = number;
	}
	free(tracks->slots);
	tracks->slots = slots;
	tracks->n_slots = n_slots;
	return TRACE_OK;
}

static int make_place(struct trace_tracks *tracks)
{
	uint32_t n_allocated = tracks->n_allocated ? 2 * tracks->n_allocated : FEWEST_SLOTS;
	struct trace_track **by_number;

	if (tracks->n_tracks < tracks->n_allocated)
		return TRACE_OK;
	if (n_allocated > UINT32_MAX / 4)
		return TRACE_ERROR_MEMORY;
	by_number = realloc(tracks->by_number, n_allocated * sizeof(struct trace_track *));
	if (!by_number)
		return TRACE_ERROR_MEMORY;
	tracks->by_number = by_number;
	tracks->n_allocated = n_allocated;
	return TRACE_OK;
}

/* Copies a text to *at and moves *at behind it. */
static struct trace_text copy_text(struct trace_text text, char **at)
{
	struct trace_text copy = { *at, text.n_bytes };

	if (text.n_bytes > 0)
		memcpy(*at, text.data, text.n_bytes);
	*at += text.n_bytes;
	return copy;
}

/* Takes n_bytes from the memory that tracks may use. */
static int take_bytes(struct trace_tracks *tracks, size_t n_bytes)
{
	if (n_bytes > TRACE_MAX_KEPT_BYTES - tracks->n_bytes)
		return TRACE_ERROR_LIMIT;
	tracks->n_bytes += n_bytes;
	return TRACE_OK;
}

/* Makes the next track. Requires room for it in by_number. */
static int make_track(struct trace_tracks *tracks, const struct trace_track_identity *identity, uint64_t hash)
{
	size_t n_bytes =
		sizeof(struct trace_kept_track) + identity->key.n_bytes + identity->pid.n_bytes + identity->tid.n_bytes;
	int status = take_bytes(tracks, n_bytes);
	struct trace_kept_track *made;
	char *texts;

	if (status < 0)
		return status;
	made = calloc(1, n_bytes);
	if (!made)
		return TRACE_ERROR_MEMORY;
	tracks->by_number[tracks->n_tracks++] = &made->track;
	texts = (char *)(made + 1);
	made->hash = hash;
	made->track.number = tracks->n_tracks;
	made->track.kind = identity->kind;
	made->track.key = copy_text(identity->key, &texts);
	made->track.pid = copy_text(identity->pid, &texts);
	made->track.tid = copy_text(identity->tid, &texts);
	made->track.parent = identity->parent;
	return TRACE_OK;
}

int trace_tracks_find(struct trace_tracks *tracks, const struct trace_track_identity *identity, struct trace_track **track)
{
	uint64_t hash = hash_of(identity);
	uint32_t *slot;
	int status;

	if (make_slots(tracks) < 0)
		return TRACE_ERROR_MEMORY;
	slot = find_slot(tracks, identity, hash);
	if (!*slot) {
		if (make_place(tracks) < 0)
			return TRACE_ERROR_MEMORY;
		status = make_track(tracks, identity, hash);
		if (status < 0)
			return status;
		*slot = tracks->n_tracks;
	}
	*track = tracks->by_number[*slot - 1];
	return TRACE_OK;
}

static int find_process(struct trace_tracks *tracks, struct trace_text pid, struct trace_track **track)
{
	return trace_tracks_find(tracks, &(struct trace_track_identity){ .kind = TRACE_TRACK_PROCESS, .key = pid, .pid = pid },
				 track);
}

int trace_tracks_find_thread(struct trace_tracks *tracks, struct trace_text pid, struct trace_text tid,
			     struct trace_track **track)
{
	struct trace_track_identity identity = { .kind = TRACE_TRACK_THREAD, .pid = pid, .tid = tid };
	struct trace_bytes *key = &tracks->key;
	int status;

	trace_bytes_clear(key);
	if (trace_bytes_append(key, pid, NULL) < 0 || trace_bytes_append(key, (struct trace_text){ "/", 1 }, NULL) < 0 ||
	    trace_bytes_append(key, tid, NULL) < 0)
		return TRACE_ERROR_MEMORY;
	identity.key = (struct trace_text){ key->data, key->n_bytes };
	if (make_slots(tracks) < 0)
		return TRACE_ERROR_MEMORY;
	if (!*find_slot(tracks, &identity, hash_of(&identity)) && (status = find_process(tracks, pid, &identity.parent)) < 0)
		return status;
	return trace_tracks_find(tracks, &identity, track);
}

int trace_tracks_set_text(struct trace_tracks *tracks, struct trace_text *text, struct trace_text value)
{
	char *copy = NULL;
	int status;

	tracks->n_bytes -= text->n_bytes;
	status = take_bytes(tracks, value.n_bytes);
	if (status < 0)
		return status;
	if (value.data && !(copy = malloc(value.n_bytes + 1)))
		return TRACE_ERROR_MEMORY;
	if (value.n_bytes > 0)
		memcpy(copy, value.data, value.n_bytes);
	free((char *)text->data);
	*text = (struct trace_text){ copy, value.n_bytes };
	return TRACE_OK;
}

void trace_tracks_release(struct trace_tracks *tracks)
{
	for (uint32_t i = 0; i < tracks->n_tracks; i++) {
		free((char *)tracks->by_number[i]->name.data);
		free((char *)tracks->by_number[i]->labels.data);
		free(tracks->by_number[i]);
	}
	free(tracks->by_number);
	free(tracks->slots);
	trace_bytes_release(&tracks->key);
	*tracks = (struct trace_tracks){ 0 };
}
