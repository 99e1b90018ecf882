/* trace/perfetto_tracks.h -- Tracks of a Perfetto trace: those that descriptors describe, by uuid, and those of legacy events.
 *
 *     descriptor has     track                        key
 *     thread             of the thread                "pid/tid"; of a tid that is used again "pid/tid#2"
 *     process            of the process               "pid"; "pid#2"
 *     counter            none: samples are of the thread or process above it
 *     state              of states                    "uuid:n"
 *     none of these      of an operation              "uuid:n"
 *
 * An event may precede the descriptor of its track: the reader lets it wait for a while (perfetto.c). If it cannot, the track is that of
 * an operation, and gets its name, its numbers and its parent when the file is read.
 *
 * After Perfetto's src/trace_processor/importers/proto/track_event_tracker, in own words.
 */
#ifndef IFOREST_PERFETTO_TRACKS_H
#define IFOREST_PERFETTO_TRACKS_H

#include "trace/assembly.h"
#include "trace/perfetto_descriptor.h"
#include "trace/u64_map.h"

struct trace_perfetto_described; /* what is known of a uuid */
struct trace_perfetto_side;	 /* what is known of a track beside what the assembly knows */

/* All zero but for the first three has no tracks. */
struct trace_perfetto_tracks {
	struct trace_assembly *assembly;
	struct trace_budget *budget;
	uint64_t *n_mended;			    /* texts that are not UTF-8 */
	struct trace_u64_map by_uuid;		    /* places in described */
	struct trace_perfetto_described *described; /* owned */
	size_t n_described, n_described_allocated;
	struct trace_perfetto_side *sides; /* owned; of track number 1 at 0 */
	size_t n_sides, n_sides_allocated;
	struct trace_bytes texts; /* names and units of counters, and keys while they are made */
	struct trace_bytes key, mended;
};

void trace_perfetto_tracks_release(struct trace_perfetto_tracks *tracks);

/* The place of an event. */
struct trace_perfetto_place {
	struct trace_track *track, *thread, *process; /* the last two may be NULL */
};

/* All that answer int answer TRACE_OK, TRACE_ERROR_MEMORY, TRACE_ERROR_LIMIT, or what the assembly answered. O(1) expected. */

/* Takes a descriptor. One that contradicts an earlier one of its uuid is reported as left out. */
int trace_perfetto_tracks_describe(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_descriptor *descriptor);

/* Names the thread or process as its descriptor does. */
int trace_perfetto_tracks_name_thread(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_thread *thread);
int trace_perfetto_tracks_name_process(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_process *process);

/* The place of a uuid. place->track is NULL, and that is reported, if its parents form a circle or are more than 100. */
int trace_perfetto_tracks_find(struct trace_perfetto_tracks *tracks, uint64_t uuid, bool is_state,
			       struct trace_perfetto_place *place);

/* True if a track is described, or was found: an event on it need not wait for a descriptor. */
bool trace_perfetto_tracks_knows(const struct trace_perfetto_tracks *tracks, uint64_t uuid);

/* The counter of a uuid, and the thread or process that it counts for, both NULL if there is none. Texts live until the next
 * call of a function of this header. */
int trace_perfetto_tracks_find_counter(struct trace_perfetto_tracks *tracks, uint64_t uuid,
				       struct trace_perfetto_counter *counter, struct trace_track **track, bool *is_counter);

/* A thread and a process by number; the track of a legacy operation, which is of a process unless that is NULL. */
int trace_perfetto_tracks_thread(struct trace_perfetto_tracks *tracks, int64_t pid, int64_t tid,
				 struct trace_perfetto_place *place);
int trace_perfetto_tracks_process(struct trace_perfetto_tracks *tracks, int64_t pid, struct trace_track **track);
int trace_perfetto_tracks_async(struct trace_perfetto_tracks *tracks, struct trace_track *process, struct trace_text scope,
				uint64_t id, struct trace_track **track);

/* The track of an operation of a process that atrace's prints carry on: of operations that have a name each, or a named track
 * each; without a cookie, that of instants. */
enum trace_atrace { TRACE_ATRACE_OPERATION, TRACE_ATRACE_ON_TRACK, TRACE_ATRACE_INSTANTS };
int trace_perfetto_tracks_atrace(struct trace_perfetto_tracks *tracks, struct trace_track *process, enum trace_atrace kind,
				 struct trace_text name, int64_t cookie, struct trace_track **track);

/* Returns the next thread or process without a name, or NULL; *i is the position of the search. */
struct trace_track *trace_perfetto_tracks_unnamed(const struct trace_perfetto_tracks *tracks, size_t *i);

/* Names a thread or a process by a legacy metadata event, or by what the kernel knows. */
int trace_perfetto_tracks_rename(struct trace_perfetto_tracks *tracks, struct trace_track *track, struct trace_text name);

/* Records an event: a track that no descriptor names is named after its first event in time. */
int trace_perfetto_tracks_saw(struct trace_perfetto_tracks *tracks, struct trace_track *track, int64_t ts_ns,
			      struct trace_text name);

/* When the file is read: gives tracks the parents, and the numbers of threads and processes, that were described after them. */
int trace_perfetto_tracks_finish(struct trace_perfetto_tracks *tracks);

#endif
