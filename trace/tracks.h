/* trace/tracks.h -- Tracks of a trace, found by kind and key, or by number. */
#ifndef IFOREST_TRACKS_H
#define IFOREST_TRACKS_H

#include "trace/model.h"

/* Identifies a track by kind and key; the rest is used only if the track is created. */
struct trace_track_identity {
	enum trace_track_kind kind;
	struct trace_text key;
	struct trace_text pid, tid; /* text without data is "" */
	struct trace_track *parent; /* may be NULL */
};

/* All zero is the empty set. */
struct trace_tracks {
	struct trace_track **by_number; /* owned; number 1 is at index 0 */
	uint32_t n_tracks, n_allocated;
	uint32_t *slots; /* owned: numbers by hash, 0 is empty */
	size_t n_slots;
	struct trace_bytes key; /* scratch space for the key of a thread */
	size_t n_bytes;		/* of memory for tracks and their texts */
};

/* Finds or creates a track. Returns TRACE_OK, TRACE_ERROR_MEMORY, or TRACE_ERROR_LIMIT if all tracks would take more than
 * TRACE_MAX_KEPT_BYTES. O(bytes of key) expected. */
int trace_tracks_find(struct trace_tracks *tracks, const struct trace_track_identity *identity, struct trace_track **track);

/* Likewise for the thread "pid/tid" of the process "pid". */
int trace_tracks_find_thread(struct trace_tracks *tracks, struct trace_text pid, struct trace_text tid,
			     struct trace_track **track);

/* Replaces a text of a track by a copy. Returns the same. */
int trace_tracks_set_text(struct trace_tracks *tracks, struct trace_text *text, struct trace_text value);

void trace_tracks_release(struct trace_tracks *tracks);

#endif
