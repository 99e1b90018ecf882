#include "trace/perfetto_tracks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/protobuf.h"
#include "trace/utf8.h"

enum { MAX_PARENTS = 100, SEPARATE_SIBLINGS = 2 /* merge behavior: the last name counts */, PROCESS_LABELS = 8 };

/* What has named a thread or a process. A name from the same or a higher source replaces it. */
enum naming { NAMED_BY_NOBODY, NAMED_BY_TYPE, NAMED_BY_EVENT, NAMED_BY_DESCRIPTOR };

struct trace_perfetto_described {
	uint64_t uuid, parent_uuid;
	bool is_described, has_pid, has_tid, is_counter, is_state, is_separate, is_found;
	bool has_rank, orders_children, orders_processes, orders_threads;
	int64_t pid, tid, rank;
	uint64_t merge_behavior, merge_key;
	struct trace_perfetto_counter counter; /* without name and unit, which are slices */
	struct trace_slice name, unit;
	struct trace_perfetto_place place; /* if is_found */
};

struct trace_perfetto_side {
	struct trace_track *track;
	bool has_uuid, takes_name, has_event;
	uint64_t uuid;		     /* that describes this thread or process */
	struct trace_track *current; /* if the number of a thread or process was used again, the last one; otherwise NULL */
	struct trace_track *process;
	uint32_t n_uses;
	enum naming naming;
	int64_t first_ts_ns;
};

/* ---- Names of Chrome's types of processes and threads, by number ---- */

static const char *const process_types[] = { NULL,  "Browser",	   "Renderer",	 "Utility", "SandboxHelper", "SandboxHelper",
					     "Gpu", "PpapiPlugin", "PpapiBroker" };

static const char *const thread_types[] = {
	NULL,
	"CrProcessMain",
	"ChromeIOThread",
	"ThreadPoolBackgroundWorker&",
	"ThreadPoolForegroundWorker&",
	"ThreadPoolSingleThreadForegroundBlocking&",
	"ThreadPoolSingleThreadBackgroundBlocking&",
	"ThreadPoolService",
	"Compositor",
	"VizCompositorThread",
	"CompositorTileWorker&",
	"ServiceWorkerThread&",
	"NetworkService",
	"Chrome_ChildIOThread",
	"Chrome_IOThread",
	"CrBrowserMain",
	"CrRendererMain",
	"CrUtilityMain",
	"CrGpuMain",
};

static struct trace_text type_name(const char *const *names, size_t n, uint64_t type)
{
	const char *name = type < n ? names[type] : NULL;

	return (struct trace_text){ name, name ? strlen(name) : 0 };
}

/* ---- Properties of tracks and of uuids ---- */

void trace_perfetto_tracks_release(struct trace_perfetto_tracks *tracks)
{
	trace_u64_map_clear(&tracks->by_uuid, tracks->budget);
	free(tracks->described);
	free(tracks->sides);
	trace_bytes_release(&tracks->texts);
	trace_bytes_release(&tracks->key);
	trace_bytes_release(&tracks->mended);
}

static int side_of(struct trace_perfetto_tracks *tracks, struct trace_track *track, struct trace_perfetto_side **side)
{
	while (tracks->n_sides < track->number) {
		int status = trace_array_reserve(tracks->budget, &tracks->sides, tracks->n_sides, &tracks->n_sides_allocated,
						 sizeof *tracks->sides);

		if (status < 0)
			return status;
		tracks->sides[tracks->n_sides++] = (struct trace_perfetto_side){ 0 };
	}
	*side = &tracks->sides[track->number - 1];
	(*side)->track = track;
	return TRACE_OK;
}

static int described_of(struct trace_perfetto_tracks *tracks, uint64_t uuid, struct trace_perfetto_described **described)
{
	uint64_t *place;
	bool is_new;
	int status = trace_array_reserve(tracks->budget, &tracks->described, tracks->n_described,
					 &tracks->n_described_allocated, sizeof **described);

	if (status == TRACE_OK)
		status = trace_u64_map_put(&tracks->by_uuid, tracks->budget, uuid, &place, &is_new);
	if (status < 0)
		return status;
	if (is_new) {
		*place = tracks->n_described;
		tracks->described[tracks->n_described++] = (struct trace_perfetto_described){
			.uuid = uuid,
			.name = TRACE_NO_SLICE,
			.unit = TRACE_NO_SLICE,
		};
	}
	*described = &tracks->described[*place];
	return TRACE_OK;
}

static int mend(struct trace_perfetto_tracks *tracks, struct trace_text *text)
{
	return trace_utf8_mend(&tracks->mended, text, tracks->n_mended);
}

static int keep_text(struct trace_perfetto_tracks *tracks, struct trace_text text, struct trace_slice *slice)
{
	int status = mend(tracks, &text);

	if (status == TRACE_OK)
		status = trace_budget_take(tracks->budget, text.n_bytes);
	return status < 0 ? status : trace_bytes_append(&tracks->texts, text, slice);
}

/* ---- Threads and processes ---- */

/* Finds a track by a key that is made as by printf; the identity has the rest. */
__attribute__((format(printf, 4, 5))) static int find_track(struct trace_perfetto_tracks *tracks,
							    struct trace_track_identity identity, struct trace_track **track,
							    const char *format, ...)
{
	char key[100];
	va_list arguments;
	int n_bytes;

	va_start(arguments, format);
	n_bytes = vsnprintf(key, sizeof key, format, arguments);
	va_end(arguments);
	identity.key = (struct trace_text){ key, (size_t)n_bytes };
	return trace_find_track(tracks->assembly, &identity, track);
}

struct decimal {
	char digits[24];
	struct trace_text text;
};

static struct trace_text decimal_text(struct decimal *number, int64_t value)
{
	int n_bytes = snprintf(number->digits, sizeof number->digits, "%" PRId64, value);

	return (struct trace_text){ number->digits, (size_t)n_bytes };
}

static int next_use(struct trace_perfetto_tracks *tracks, struct trace_track *first, struct trace_track *process,
		    struct trace_track **track)
{
	struct trace_track_identity identity = { .kind = first->kind, .pid = first->pid, .tid = first->tid, .parent = process };
	struct trace_perfetto_side *side;
	int status = side_of(tracks, first, &side);

	if (status < 0)
		return status;
	side->n_uses++;
	status = find_track(tracks, identity, track, "%.*s#%" PRIu32, (int)first->key.n_bytes, first->key.data,
			    side->n_uses + 1);
	if (status == TRACE_OK)
		status = side_of(tracks, *track, &side);
	if (status < 0)
		return status;
	side->process = process;
	tracks->sides[first->number - 1].current = *track;
	return TRACE_OK;
}

static int find_process(struct trace_perfetto_tracks *tracks, int64_t pid, struct trace_track **first,
			struct trace_track **track)
{
	struct decimal digits;
	struct trace_perfetto_side *side;
	int status = trace_find_process(tracks->assembly, decimal_text(&digits, pid), first);

	if (status == TRACE_OK)
		status = side_of(tracks, *first, &side);
	if (status < 0)
		return status;
	*track = side->current ? side->current : *first;
	return TRACE_OK;
}

static int find_thread(struct trace_perfetto_tracks *tracks, int64_t pid, int64_t tid, struct trace_track **first,
		       struct trace_perfetto_place *place)
{
	struct decimal pid_digits, tid_digits;
	struct trace_track_identity identity = { .kind = TRACE_TRACK_THREAD,
						 .pid = decimal_text(&pid_digits, pid),
						 .tid = decimal_text(&tid_digits, tid) };
	struct trace_track *first_process;
	struct trace_perfetto_side *side;
	int status = find_process(tracks, pid, &first_process, &place->process);

	identity.parent = place->process;
	if (status == TRACE_OK)
		status = find_track(tracks, identity, first, "%" PRId64 "/%" PRId64, pid, tid);
	if (status == TRACE_OK)
		status = side_of(tracks, *first, &side);
	if (status < 0)
		return status;
	if (!side->process)
		side->process = place->process;
	place->thread = side->current ? side->current : *first;
	/* a thread of a process that has ended is not a thread of the process that has its number now */
	if (tracks->sides[place->thread->number - 1].process != place->process)
		status = next_use(tracks, *first, place->process, &place->thread);
	place->track = place->thread;
	return status;
}

int trace_perfetto_tracks_thread(struct trace_perfetto_tracks *tracks, int64_t pid, int64_t tid,
				 struct trace_perfetto_place *place)
{
	struct trace_track *first;

	return find_thread(tracks, pid, tid, &first, place);
}

int trace_perfetto_tracks_process(struct trace_perfetto_tracks *tracks, int64_t pid, struct trace_track **track)
{
	struct trace_track *first;

	return find_process(tracks, pid, &first, track);
}

/* Assigns a uuid to a thread or process. If it has another uuid already, the new one means another thread or process with the
 * same number. */
static int claim(struct trace_perfetto_tracks *tracks, uint64_t uuid, struct trace_track *first, struct trace_track *process,
		 struct trace_track **track)
{
	struct trace_perfetto_side *side;
	int status = side_of(tracks, *track, &side);

	if (status < 0)
		return status;
	if (side->has_uuid && side->uuid != uuid) {
		status = next_use(tracks, first, process, track);
		side = status < 0 ? NULL : &tracks->sides[(*track)->number - 1];
	}
	if (side) {
		side->has_uuid = true;
		side->uuid = uuid;
	}
	return status;
}

/* ---- Names ---- */

static int name_as(struct trace_perfetto_tracks *tracks, struct trace_track *track, struct trace_text name, enum naming naming)
{
	struct trace_perfetto_side *side;
	int status = side_of(tracks, track, &side);

	if (status < 0 || !name.data || naming < side->naming)
		return status;
	side->naming = naming;
	side->takes_name = false;
	status = mend(tracks, &name);
	return status < 0 ? status : trace_name_track(tracks->assembly, track, name);
}

int trace_perfetto_tracks_rename(struct trace_perfetto_tracks *tracks, struct trace_track *track, struct trace_text name)
{
	return name_as(tracks, track, name, NAMED_BY_EVENT);
}

static bool is_empty(struct trace_text text)
{
	return text.n_bytes == 0;
}

int trace_perfetto_tracks_name_thread(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_thread *thread)
{
	struct trace_text type = type_name(thread_types, sizeof thread_types / sizeof *thread_types, thread->chrome_type);
	struct trace_perfetto_place place;
	int status = trace_perfetto_tracks_thread(tracks, thread->pid, thread->tid, &place);

	if (status == TRACE_OK && thread->has_sort_index)
		trace_sort_track(place.thread, thread->sort_index);
	if (status == TRACE_OK)
		status = name_as(tracks, place.thread, type, NAMED_BY_TYPE);
	if (status == TRACE_OK && !is_empty(thread->name))
		status = name_as(tracks, place.thread, thread->name, NAMED_BY_DESCRIPTOR);
	return status;
}

static int label(struct trace_perfetto_tracks *tracks, struct trace_track *track, struct trace_text message)
{
	struct trace_repeated labels = trace_repeated_of(message, PROCESS_LABELS, TRACE_WIRE_BYTES);
	struct trace_text text, joined;
	int status = TRACE_OK;

	trace_bytes_clear(&tracks->key);
	while (status == TRACE_OK && trace_repeated_next_text(&labels, &text) == TRACE_ROW) {
		if (tracks->key.n_bytes > 0)
			status = trace_bytes_append(&tracks->key, (struct trace_text){ ", ", 2 }, NULL);
		if (status == TRACE_OK)
			status = trace_bytes_append(&tracks->key, text, NULL);
	}
	if (status < 0 || tracks->key.n_bytes == 0)
		return status;
	joined = (struct trace_text){ tracks->key.data, tracks->key.n_bytes };
	status = mend(tracks, &joined);
	return status < 0 ? status : trace_label_track(tracks->assembly, track, joined);
}

int trace_perfetto_tracks_name_process(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_process *process)
{
	struct trace_text type = type_name(process_types, sizeof process_types / sizeof *process_types, process->chrome_type);
	struct trace_track *track;
	int status = trace_perfetto_tracks_process(tracks, process->pid, &track);

	if (status == TRACE_OK && process->has_sort_index)
		trace_sort_track(track, process->sort_index);
	if (status == TRACE_OK)
		status = name_as(tracks, track, type, NAMED_BY_TYPE);
	if (status == TRACE_OK && !is_empty(process->name))
		status = name_as(tracks, track, process->name, NAMED_BY_DESCRIPTOR);
	return status < 0 ? status : label(tracks, track, process->message);
}

int trace_perfetto_tracks_saw(struct trace_perfetto_tracks *tracks, struct trace_track *track, int64_t ts_ns,
			      struct trace_text name)
{
	struct trace_perfetto_side *side;
	int status = side_of(tracks, track, &side);

	if (status < 0 || !side->takes_name || (side->has_event && side->first_ts_ns <= ts_ns))
		return status;
	side->has_event = true;
	side->first_ts_ns = ts_ns;
	return trace_name_track(tracks->assembly, track, is_empty(name) ? (struct trace_text){ NULL, 0 } : name);
}

/* ---- Descriptors ---- */

static bool is_same(const struct trace_perfetto_described *described, const struct trace_perfetto_descriptor *descriptor)
{
	bool has_tid = descriptor->has_thread, has_pid = has_tid || descriptor->has_process;
	bool is_counter = descriptor->has_counter && !has_pid, is_state = descriptor->has_state && !has_pid && !is_counter;
	int64_t pid = has_tid ? descriptor->thread.pid : has_pid ? descriptor->process.pid : 0;

	return described->parent_uuid == descriptor->parent_uuid && described->has_pid == has_pid && described->pid == pid &&
	       described->has_tid == has_tid && described->tid == (has_tid ? descriptor->thread.tid : 0) &&
	       described->is_counter == is_counter && described->is_state == is_state &&
	       described->counter.rest == (is_counter ? descriptor->counter.rest : 0) &&
	       described->merge_behavior == descriptor->merge_behavior && described->merge_key == descriptor->merge_key;
}

static int take_identity(struct trace_perfetto_tracks *tracks, struct trace_perfetto_described *described,
			 const struct trace_perfetto_descriptor *descriptor)
{
	described->is_described = true;
	described->parent_uuid = descriptor->parent_uuid;
	described->merge_behavior = descriptor->merge_behavior;
	described->merge_key = descriptor->merge_key;
	described->has_tid = descriptor->has_thread;
	described->has_pid = descriptor->has_thread || descriptor->has_process;
	if (descriptor->has_thread) {
		described->pid = descriptor->thread.pid;
		described->tid = descriptor->thread.tid;
		described->is_separate = descriptor->is_separate;
	} else if (descriptor->has_process) {
		described->pid = descriptor->process.pid;
	} else if (descriptor->has_counter) {
		described->is_counter = true;
		described->counter = descriptor->counter;
		return keep_text(tracks, descriptor->counter.unit, &described->unit);
	} else {
		described->is_state = descriptor->has_state;
	}
	return TRACE_OK;
}

static int take_name(struct trace_perfetto_tracks *tracks, struct trace_perfetto_described *described,
		     const struct trace_perfetto_descriptor *descriptor)
{
	struct trace_text name = described->is_counter ? descriptor->counter.name : descriptor->name;
	struct trace_perfetto_side *side;
	int status;

	if (!name.data || (described->name.start != SIZE_MAX && descriptor->merge_behavior != SEPARATE_SIBLINGS))
		return TRACE_OK;
	status = keep_text(tracks, name, &described->name);
	if (status < 0 || !described->is_found || described->has_pid || !described->place.track)
		return status;
	status = side_of(tracks, described->place.track, &side);
	if (status < 0)
		return status;
	side->takes_name = false;
	return trace_name_track(tracks->assembly, described->place.track, trace_bytes_text(&tracks->texts, described->name));
}

static void take_ordering(struct trace_perfetto_described *described, const struct trace_perfetto_descriptor *descriptor)
{
	if (descriptor->has_rank) {
		described->has_rank = true;
		described->rank = descriptor->rank;
	}
	described->orders_children |= descriptor->orders_children;
	described->orders_processes |= descriptor->orders_processes;
	described->orders_threads |= descriptor->orders_threads;
}

int trace_perfetto_tracks_describe(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_descriptor *descriptor)
{
	struct trace_perfetto_described *described;
	struct trace_perfetto_place place;
	int status = described_of(tracks, descriptor->uuid, &described);

	if (status < 0)
		return status;
	if (described->is_described && !is_same(described, descriptor)) {
		status = trace_leave_out(tracks->assembly, 1, "conflicting track descriptor");
	} else {
		if (!described->is_described)
			status = take_identity(tracks, described, descriptor);
		if (status == TRACE_OK)
			status = take_name(tracks, described, descriptor);
		take_ordering(described, descriptor);
	}
	if (status == TRACE_OK && (descriptor->has_thread || descriptor->has_process))
		status = trace_perfetto_tracks_find(tracks, descriptor->uuid, false, &place);
	if (status == TRACE_OK && descriptor->has_thread)
		status = trace_perfetto_tracks_name_thread(tracks, &descriptor->thread);
	else if (status == TRACE_OK && descriptor->has_process)
		status = trace_perfetto_tracks_name_process(tracks, &descriptor->process);
	return status;
}

/* ---- Places ---- */

/* False if the parents of a uuid form a circle, or are too many. */
static bool has_sound_parents(const struct trace_perfetto_tracks *tracks, uint64_t uuid)
{
	for (int i = 0; i < MAX_PARENTS; i++) {
		const uint64_t *place = uuid ? trace_u64_map_find(&tracks->by_uuid, uuid) : NULL;

		if (!place)
			return true;
		uuid = tracks->described[*place].parent_uuid;
	}
	return false;
}

static int find_place(struct trace_perfetto_tracks *tracks, uint64_t uuid, bool is_state, struct trace_perfetto_place *place);

/* Finds the uuid's own track, below that of its parent. */
static int find_own_track(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_described *described, bool is_state,
			  struct trace_perfetto_place *place)
{
	struct trace_track_identity identity = { .kind = is_state ? TRACE_TRACK_STATE : TRACE_TRACK_ASYNC };
	struct trace_text name = trace_bytes_text(&tracks->texts, described->name);
	struct trace_perfetto_side *side;
	int status;

	if (described->uuid == 0 && !name.data)
		name = (struct trace_text){ "Default Track", 13 };
	identity.parent = place->track ? place->track : place->thread;
	if (place->thread) {
		identity.pid = place->thread->pid;
		identity.tid = place->thread->tid;
	} else if (place->process) {
		identity.pid = place->process->pid;
	}
	status = find_track(tracks, identity, &place->track, "uuid:%" PRIu64, described->uuid);
	if (status == TRACE_OK)
		status = side_of(tracks, place->track, &side);
	if (status < 0)
		return status;
	side->takes_name = !name.data && !described->is_separate;
	return name.data ? trace_name_track(tracks->assembly, place->track, name) : TRACE_OK;
}

static int find_new_place(struct trace_perfetto_tracks *tracks, struct trace_perfetto_described described, bool is_state,
			  struct trace_perfetto_place *place)
{
	struct trace_track *first;
	int status = TRACE_OK;

	*place = (struct trace_perfetto_place){ 0 };
	if (described.has_tid) {
		status = find_thread(tracks, described.pid, described.tid, &first, place);
		if (status == TRACE_OK)
			status = claim(tracks, described.uuid, first, place->process, &place->thread);
		place->track = place->thread;
		return status < 0 || !described.is_separate ? status : find_own_track(tracks, &described, is_state, place);
	}
	if (described.has_pid) {
		status = find_process(tracks, described.pid, &first, &place->process);
		if (status == TRACE_OK)
			status = claim(tracks, described.uuid, first, NULL, &place->process);
		place->track = place->process;
		return status;
	}
	if (described.parent_uuid && trace_u64_map_find(&tracks->by_uuid, described.parent_uuid))
		status = find_place(tracks, described.parent_uuid, false, place);
	if (status < 0 || described.is_counter)
		return status;
	return find_own_track(tracks, &described, described.is_described ? described.is_state : is_state, place);
}

/* Requires has_sound_parents(), which limits the depth of the recursion. */
static int find_place(struct trace_perfetto_tracks *tracks, uint64_t uuid, bool is_state, struct trace_perfetto_place *place)
{
	struct trace_perfetto_described *described;
	int status = described_of(tracks, uuid, &described);

	if (status < 0)
		return status;
	if (described->is_found) {
		*place = described->place;
		return TRACE_OK;
	}
	status = find_new_place(tracks, *described, is_state, place);
	if (status < 0)
		return status;
	/* the array of described uuids may have moved */
	status = described_of(tracks, uuid, &described);
	if (status == TRACE_OK && !described->is_counter) {
		described->is_found = true;
		described->place = *place;
	}
	return status;
}

int trace_perfetto_tracks_find(struct trace_perfetto_tracks *tracks, uint64_t uuid, bool is_state,
			       struct trace_perfetto_place *place)
{
	*place = (struct trace_perfetto_place){ 0 };
	if (has_sound_parents(tracks, uuid))
		return find_place(tracks, uuid, is_state, place);
	return trace_leave_out(tracks->assembly, 1, "track whose parents form a circle or are too many");
}

bool trace_perfetto_tracks_knows(const struct trace_perfetto_tracks *tracks, uint64_t uuid)
{
	const uint64_t *place = trace_u64_map_find(&tracks->by_uuid, uuid);

	return place && (tracks->described[*place].is_described || tracks->described[*place].is_found);
}

int trace_perfetto_tracks_find_counter(struct trace_perfetto_tracks *tracks, uint64_t uuid,
				       struct trace_perfetto_counter *counter, struct trace_track **track, bool *is_counter)
{
	const uint64_t *found = trace_u64_map_find(&tracks->by_uuid, uuid);
	struct trace_perfetto_place place;
	int status;

	*track = NULL;
	*is_counter = found && tracks->described[*found].is_counter;
	if (!*is_counter)
		return TRACE_OK;
	status = trace_perfetto_tracks_find(tracks, uuid, false, &place);
	if (status < 0)
		return status;
	found = trace_u64_map_find(&tracks->by_uuid, uuid);
	*counter = tracks->described[*found].counter;
	counter->name = trace_bytes_text(&tracks->texts, tracks->described[*found].name);
	counter->unit = trace_bytes_text(&tracks->texts, tracks->described[*found].unit);
	*track = place.thread ? place.thread : place.process;
	return TRACE_OK;
}

/* Finds the track "async:HEAD PID:NAME:ID". Without a process it is "async:HEAD:NAME:ID"; without an id, ":ID" is missing. */
static int find_operation(struct trace_perfetto_tracks *tracks, const char *head, struct trace_track *process,
			  struct trace_text name, const char *id, struct trace_track **track)
{
	struct trace_track_identity identity = { .kind = TRACE_TRACK_ASYNC, .parent = process };
	struct trace_text parts[] = { { "async:", 6 },
				      { head, strlen(head) },
				      { " ", process ? 1 : 0 },
				      process ? process->pid : (struct trace_text){ "", 0 },
				      { ":", 1 },
				      name,
				      { ":", id ? 1 : 0 },
				      { id ? id : "", id ? strlen(id) : 0 } };
	int status = TRACE_OK;

	if (process)
		identity.pid = process->pid;
	trace_bytes_clear(&tracks->key);
	for (size_t i = 0; i < sizeof parts / sizeof *parts && status == TRACE_OK; i++) {
		if (parts[i].data)
			status = trace_bytes_append(&tracks->key, parts[i], NULL);
	}
	identity.key = (struct trace_text){ tracks->key.data, tracks->key.n_bytes };
	return status < 0 ? status : trace_find_track(tracks->assembly, &identity, track);
}

int trace_perfetto_tracks_async(struct trace_perfetto_tracks *tracks, struct trace_track *process, struct trace_text scope,
				uint64_t id, struct trace_track **track)
{
	struct trace_perfetto_side *side;
	char digits[24];
	int status;

	snprintf(digits, sizeof digits, "%" PRIu64, id);
	status = find_operation(tracks, process ? "pid" : "global", process, scope, digits, track);
	if (status == TRACE_OK)
		status = side_of(tracks, *track, &side);
	if (status == TRACE_OK)
		side->takes_name = true;
	return status;
}

int trace_perfetto_tracks_atrace(struct trace_perfetto_tracks *tracks, struct trace_track *process, enum trace_atrace kind,
				 struct trace_text name, int64_t cookie, struct trace_track **track)
{
	static const char *const heads[] = { "atrace", "atrace track", "atrace instants" };
	char digits[24];
	int status;

	snprintf(digits, sizeof digits, "%" PRId64, cookie);
	status = find_operation(tracks, heads[kind], process, name, kind == TRACE_ATRACE_INSTANTS ? NULL : digits, track);
	return status < 0 || (*track)->name.data ? status : trace_name_track(tracks->assembly, *track, name);
}

struct trace_track *trace_perfetto_tracks_unnamed(const struct trace_perfetto_tracks *tracks, size_t *i)
{
	while (*i < tracks->n_sides) {
		const struct trace_perfetto_side *side = &tracks->sides[(*i)++];

		if (side->track && side->naming == NAMED_BY_NOBODY &&
		    (side->track->kind == TRACE_TRACK_THREAD || side->track->kind == TRACE_TRACK_PROCESS))
			return side->track;
	}
	return NULL;
}

/* ---- End ---- */

/* Finds what is above a track that was found before its descriptor: its own thread or process, or its parent. */
static int find_above(struct trace_perfetto_tracks *tracks, const struct trace_perfetto_described *described,
		      struct trace_perfetto_place *above)
{
	*above = (struct trace_perfetto_place){ 0 };
	if (described->has_tid)
		return trace_perfetto_tracks_thread(tracks, described->pid, described->tid, above);
	if (described->has_pid)
		return trace_perfetto_tracks_process(tracks, described->pid, &above->track);
	return described->parent_uuid ? trace_perfetto_tracks_find(tracks, described->parent_uuid, false, above) : TRACE_OK;
}

static const struct trace_perfetto_described *find_described(const struct trace_perfetto_tracks *tracks, uint64_t uuid)
{
	const uint64_t *place = trace_u64_map_find(&tracks->by_uuid, uuid);

	return place ? &tracks->described[*place] : NULL;
}

/* A track is sorted by its rank only if the descriptor above it says so. */
static void sort_by_rank(const struct trace_perfetto_tracks *tracks, const struct trace_perfetto_described *described)
{
	bool is_own = !described->has_pid; /* a track that is neither a thread nor a process */
	const struct trace_perfetto_described *above = find_described(tracks, is_own ? described->parent_uuid : 0);
	/* after an event that came before the descriptor, place.track is not the thread but a track of its own */
	bool has_thread = described->has_tid && described->place.thread;

	if (above && (is_own ? above->orders_children : described->has_tid ? above->orders_threads : above->orders_processes))
		trace_sort_track(has_thread ? described->place.thread : described->place.track, described->rank);
}

/* The texts live as long as the trace. */
static void take_numbers(struct trace_track *track, const struct trace_perfetto_place *above)
{
	const struct trace_track *numbered = above->thread ? above->thread : above->process ? above->process : above->track;

	if (!numbered || track->pid.n_bytes > 0)
		return;
	track->pid = numbered->pid;
	track->tid = numbered->tid;
}

int trace_perfetto_tracks_finish(struct trace_perfetto_tracks *tracks)
{
	int status = TRACE_OK;

	for (size_t i = 0; i < tracks->n_described && status == TRACE_OK; i++) {
		struct trace_perfetto_described described = tracks->described[i];
		struct trace_track *track = described.place.track;
		struct trace_perfetto_place above;

		if (!described.is_found)
			continue;
		if (described.has_rank)
			sort_by_rank(tracks, &described);
		if (track->parent || track->kind == TRACE_TRACK_THREAD || track->kind == TRACE_TRACK_PROCESS)
			continue;
		status = find_above(tracks, &described, &above);
		if (status == TRACE_OK && above.track && above.track != track)
			status = trace_set_parent(tracks->assembly, track, above.track);
		if (status == TRACE_OK && track->parent == above.track)
			take_numbers(track, &above);
	}
	return status;
}
