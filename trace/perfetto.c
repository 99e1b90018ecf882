#include "trace/perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "trace/perfetto_events.h"
#include "trace/perfetto_ftrace.h"
#include "trace/protobuf.h"

enum {
	MAX_PACKET_BYTES = 64 * 1024 * 1024,
	MAX_REMEMBERED_BYTES = 128 * 1024 * 1024,   /* state kept for the file: interned texts, descriptors, snapshots */
	MAX_WAITING_BYTES = 16 * 1024 * 1024,	    /* packets whose clock is not known yet, and those behind them */
	MAX_RETRIED_BYTES = 64 * MAX_WAITING_BYTES, /* of these, read again before the end of the file */
	HEAD_BYTES = 20,			    /* of a field of the file: the most that its number and length take */
	UNPACKED_PIECE_BYTES = 64 * 1024
};

/* Numbers of fields, as in Perfetto's protos/perfetto/trace/trace.proto, trace_packet.proto and clock_snapshot.proto. */
enum { TRACE_PACKET = 1 };
enum packet_field {
	PACKET_FTRACE_EVENTS = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_TRUSTED_UID = 3,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_STATE_CLEARED = 41,
	PACKET_PREVIOUS_DROPPED = 42,
	PACKET_PROCESS_DESCRIPTOR = 43,
	PACKET_THREAD_DESCRIPTOR = 44,
	PACKET_COMPRESSED = 50,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_TRUSTED_PID = 79,
	PACKET_IS_FIRST = 87,
	PACKET_RANGE_OF_INTEREST = 90,
	PACKET_MACHINE = 98,
	PACKET_ZSTD_COMPRESSED = 133,
	PACKET_LAST_KNOWN = 139
};
enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum snapshot_field { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY_CLOCK = 2 };
enum { RANGE_START_US = 1 };
enum clock_field { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2, CLOCK_IS_INCREMENTAL = 3, CLOCK_UNIT_NS = 4 };

/* The fields of a packet; texts point into it. */
struct packet {
	struct trace_text bytes;
	bool has_timestamp, has_sequence, is_cleared, is_after_loss, needs_state;
	uint64_t timestamp;
	uint32_t sequence, clock, machine;
	struct trace_text ftrace_events, clock_snapshot, track_event, interned_data, process_descriptor, thread_descriptor,
		compressed, defaults, track_descriptor, range_of_interest, process_tree;
	bool is_zstd;
};

/* When something happened, in a clock that may not be connected with the trace's yet. */
struct moment {
	uint64_t clock;
	bool is_taken; /* time is in nanoseconds, and not as in the packet */
	uint64_t time;
};

/* What stands before a packet that waits. */
struct waiting_head {
	struct moment moment;
	size_t n_bytes;
};

struct trace_perfetto_reader {
	struct trace_assembly *assembly;
	bool is_strict;
	uint64_t n_taken;      /* bytes of the file */
	uint64_t n_to_skip;    /* of a field that is not wanted */
	uint64_t offset;       /* of the current packet */
	bool is_in_compressed; /* the current packet is inside a compressed one */
	struct trace_budget budget;
	struct trace_perfetto_clocks clocks;
	bool has_primary_clock;
	struct trace_u64_map by_number;		    /* indexes into sequences */
	struct trace_perfetto_sequence **sequences; /* owned */
	size_t n_sequences, n_sequences_allocated;
	struct trace_perfetto_tracks tracks;
	struct trace_perfetto_events events;
	struct trace_perfetto_tasks tasks;
	struct trace_perfetto_sched sched;
	struct trace_perfetto_prints prints;
	struct trace_perfetto_ftrace ftrace;
	struct trace_bytes unpacked; /* packets of a compressed packet */
	struct trace_bytes waiting;  /* packets, in the order of the file, each behind a struct waiting_head */
	uint64_t n_changes;	     /* of clocks' connections and of tracks, up to which they were retried */
	uint64_t n_retried_bytes;
	uint64_t n_mended; /* texts of the current packet that are not UTF-8 */
	uint64_t n_packets, n_invalid;
	bool is_giving_up; /* packets that wait are taken, whether their clocks are known or not */
};

/* ---- Life ---- */

static void release(void *parser)
{
	struct trace_perfetto_reader *reader = parser;

	if (!reader)
		return;
	for (size_t i = 0; i < reader->n_sequences; i++) {
		trace_perfetto_sequence_release(reader->sequences[i]);
		free(reader->sequences[i]);
	}
	free(reader->sequences);
	trace_u64_map_clear(&reader->by_number, &reader->budget);
	trace_perfetto_ftrace_release(&reader->ftrace);
	trace_perfetto_prints_release(&reader->prints);
	trace_perfetto_sched_release(&reader->sched);
	trace_perfetto_tasks_release(&reader->tasks);
	trace_perfetto_events_release(&reader->events);
	trace_perfetto_tracks_release(&reader->tracks);
	trace_perfetto_clocks_release(&reader->clocks);
	trace_bytes_release(&reader->unpacked);
	trace_bytes_release(&reader->waiting);
	free(reader);
}

static void *begin(struct trace_assembly *assembly, const struct trace_options *options)
{
	struct trace_perfetto_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return NULL;
	reader->assembly = assembly;
	reader->is_strict = options->strict;
	reader->budget.n_left = MAX_REMEMBERED_BYTES;
	reader->clocks.budget = &reader->budget;
	reader->clocks.trace_clock = trace_perfetto_clock_id(TRACE_CLOCK_BOOTTIME, 0);
	reader->tracks.assembly = reader->events.assembly = reader->sched.assembly = assembly;
	reader->tracks.budget = reader->sched.budget = reader->tasks.budget = &reader->budget;
	reader->tracks.n_mended = reader->events.n_mended = reader->sched.n_mended = &reader->n_mended;
	reader->events.tracks = &reader->tracks;
	reader->events.clocks = &reader->clocks;
	reader->prints = (struct trace_perfetto_prints){
		.assembly = assembly,
		.tracks = &reader->tracks,
		.tasks = &reader->tasks,
		.n_mended = &reader->n_mended,
	};
	reader->ftrace = (struct trace_perfetto_ftrace){
		.assembly = assembly,
		.budget = &reader->budget,
		.clocks = &reader->clocks,
		.tasks = &reader->tasks,
		.sched = &reader->sched,
		.prints = &reader->prints,
	};
	return reader;
}

static int left_out(struct trace_perfetto_reader *reader, const char *what)
{
	return trace_leave_out(reader->assembly, 1, what);
}

/* ---- Recognition ---- */

/* True if the field belongs to a packet. OpenTelemetry's files begin with messages that have fields 1, 2, 3 and 1000. */
static bool is_of_packet(const struct trace_field *field)
{
	if (field->number == 3)
		return field->wire == TRACE_WIRE_VARINT;
	return field->number > 3 && field->number < 1000;
}

/* ftrace's events begin with the number of a CPU, OpenTelemetry's with a text. */
static bool is_of_ftrace(struct trace_message rest)
{
	struct trace_field field;
	uint64_t n_bytes;

	return trace_message_next_head(&rest, &field, &n_bytes) == TRACE_ROW && field.number == 1 &&
	       field.wire == TRACE_WIRE_VARINT;
}

/* False if the field is not written as Perfetto has it: all but a few are messages. */
static bool is_sound(const struct trace_field *field)
{
	static const uint32_t numbers[] = { PACKET_TRUSTED_UID,	   PACKET_TIMESTAMP,	 PACKET_SEQUENCE,
					    PACKET_SEQUENCE_FLAGS, PACKET_STATE_CLEARED, PACKET_PREVIOUS_DROPPED,
					    PACKET_CLOCK,	   PACKET_TRUSTED_PID,	 PACKET_IS_FIRST,
					    PACKET_MACHINE };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (field->number == numbers[i])
			return field->wire == TRACE_WIRE_VARINT;
	}
	return field->wire == TRACE_WIRE_BYTES || field->number > PACKET_LAST_KNOWN;
}

/* Judges a packet by those of its bytes that there are. TRACE_ROW: it is one of Perfetto's; TRACE_OK: it may be; TRACE_ERROR_FORMAT:
 * it is none, or cannot be read. */
static int judge_packet(struct trace_message packet, bool is_cut)
{
	struct trace_field field;
	uint64_t n_field_bytes;
	bool is_known = false;
	int status;

	while ((status = trace_message_next_head(&packet, &field, &n_field_bytes)) == TRACE_ROW) {
		bool is_longer = n_field_bytes > (uint64_t)(packet.end - packet.at);

		if (!is_sound(&field) || (is_longer && !is_cut))
			return TRACE_ERROR_FORMAT;
		is_known = is_known || is_of_packet(&field) || (field.number == PACKET_FTRACE_EVENTS && is_of_ftrace(packet));
		packet.at = is_longer ? packet.end : packet.at + n_field_bytes;
	}
	if (status < 0 && !(is_cut && packet.end - packet.at < HEAD_BYTES))
		return TRACE_ERROR_FORMAT;
	return is_known ? TRACE_ROW : TRACE_OK;
}

/* The first packets that say nothing are passed over. */
static bool recognise(const char *head, size_t n_bytes, bool is_all)
{
	struct trace_message file = { head, head + n_bytes };
	struct trace_field field;
	uint64_t n_packet_bytes;
	int status = TRACE_OK;

	(void)is_all;
	while (status == TRACE_OK && trace_message_next_head(&file, &field, &n_packet_bytes) == TRACE_ROW &&
	       field.number == TRACE_PACKET && field.wire == TRACE_WIRE_BYTES) {
		uint64_t n_left = (uint64_t)(file.end - file.at);
		bool is_cut = n_packet_bytes > n_left;
		struct trace_message packet = { file.at, is_cut ? file.end : file.at + n_packet_bytes };

		status = judge_packet(packet, is_cut);
		file.at = packet.end;
	}
	return status == TRACE_ROW;
}

/* ---- Packets ---- */

static void read_packet_number(const struct trace_field *field, struct packet *packet)
{
	switch ((enum packet_field)field->number) {
	case PACKET_TIMESTAMP:
		packet->has_timestamp = true;
		packet->timestamp = field->value;
		break;
	case PACKET_SEQUENCE:
		packet->has_sequence = true;
		packet->sequence = (uint32_t)field->value;
		break;
	case PACKET_SEQUENCE_FLAGS:
		packet->is_cleared = packet->is_cleared || (field->value & FLAG_STATE_CLEARED);
		packet->needs_state = field->value & FLAG_NEEDS_STATE;
		break;
	case PACKET_STATE_CLEARED:
		packet->is_cleared = packet->is_cleared || field->value;
		break;
	case PACKET_PREVIOUS_DROPPED:
		packet->is_after_loss = field->value;
		break;
	case PACKET_CLOCK:
		packet->clock = (uint32_t)field->value;
		break;
	case PACKET_MACHINE:
		packet->machine = (uint32_t)field->value;
		break;
	default:
		break;
	}
}

static void read_packet_text(const struct trace_field *field, struct packet *packet)
{
	switch ((enum packet_field)field->number) {
	case PACKET_FTRACE_EVENTS:
		packet->ftrace_events = field->text;
		break;
	case PACKET_PROCESS_TREE:
		packet->process_tree = field->text;
		break;
	case PACKET_CLOCK_SNAPSHOT:
		packet->clock_snapshot = field->text;
		break;
	case PACKET_TRACK_EVENT:
		packet->track_event = field->text;
		break;
	case PACKET_INTERNED_DATA:
		packet->interned_data = field->text;
		break;
	case PACKET_PROCESS_DESCRIPTOR:
		packet->process_descriptor = field->text;
		break;
	case PACKET_THREAD_DESCRIPTOR:
		packet->thread_descriptor = field->text;
		break;
	case PACKET_COMPRESSED:
		packet->compressed = field->text;
		break;
	case PACKET_DEFAULTS:
		packet->defaults = field->text;
		break;
	case PACKET_TRACK_DESCRIPTOR:
		packet->track_descriptor = field->text;
		break;
	case PACKET_RANGE_OF_INTEREST:
		packet->range_of_interest = field->text;
		break;
	case PACKET_ZSTD_COMPRESSED:
		packet->is_zstd = true;
		break;
	default:
		break;
	}
}

static int read_packet(struct trace_text bytes, struct packet *packet)
{
	struct trace_message fields = trace_message_of(bytes);
	struct trace_field field;
	int status;

	*packet = (struct packet){ .bytes = bytes };
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.wire == TRACE_WIRE_BYTES)
			read_packet_text(&field, packet);
		else
			read_packet_number(&field, packet);
	}
	return status;
}

static int find_sequence(struct trace_perfetto_reader *reader, uint32_t number, struct trace_perfetto_sequence **sequence)
{
	uint64_t *place;
	bool is_new;
	int status = trace_array_reserve(&reader->budget, &reader->sequences, reader->n_sequences,
					 &reader->n_sequences_allocated, sizeof *reader->sequences);

	place = status < 0 ? NULL : trace_u64_map_find(&reader->by_number, number);
	if (status < 0 || place) {
		*sequence = place ? reader->sequences[*place] : NULL;
		return status;
	}
	status = trace_budget_take(&reader->budget, sizeof **sequence);
	if (status < 0)
		return status;
	*sequence = calloc(1, sizeof **sequence);
	if (!*sequence)
		return TRACE_ERROR_MEMORY;
	(*sequence)->budget = &reader->budget;
	(*sequence)->number = number;
	reader->sequences[reader->n_sequences++] = *sequence;
	status = trace_u64_map_put(&reader->by_number, &reader->budget, number, &place, &is_new);
	if (status == TRACE_OK)
		*place = reader->n_sequences - 1;
	return status;
}

/* ---- Clocks ---- */

static int read_clock(struct trace_text message, uint32_t sequence, struct trace_clock_reading *reading)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	*reading = (struct trace_clock_reading){ 0 };
	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		switch ((enum clock_field)field.number) {
		case CLOCK_ID:
			reading->id = trace_perfetto_clock_id((uint32_t)field.value, sequence);
			break;
		case CLOCK_TIMESTAMP:
			reading->timestamp = field.value;
			break;
		case CLOCK_IS_INCREMENTAL:
			reading->is_incremental = field.value != 0;
			break;
		case CLOCK_UNIT_NS:
			reading->unit_ns = field.value;
			break;
		}
	}
	return status;
}

static void set_trace_clock(struct trace_perfetto_reader *reader, uint32_t number)
{
	reader->clocks.trace_clock = trace_perfetto_clock_id(number, 0);
	reader->clocks.n_changes++;
	reader->has_primary_clock = true;
}

static int take_snapshot(struct trace_perfetto_reader *reader, const struct packet *packet)
{
	struct trace_message fields = trace_message_of(packet->clock_snapshot);
	struct trace_clock_reading readings[TRACE_CLOCKS_A_SNAPSHOT + 1];
	const char *problem;
	uint64_t primary = 0;
	struct trace_field field;
	size_t n = 0;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == SNAPSHOT_PRIMARY_CLOCK && field.wire == TRACE_WIRE_VARINT)
			primary = field.value;
		if (field.number != SNAPSHOT_CLOCK || field.wire != TRACE_WIRE_BYTES || n > TRACE_CLOCKS_A_SNAPSHOT)
			continue;
		status = read_clock(field.text, packet->sequence, &readings[n++]);
		if (status < 0)
			return status;
	}
	if (status < 0)
		return status;
	if (primary && !reader->has_primary_clock)
		set_trace_clock(reader, (uint32_t)primary);
	status = trace_perfetto_clocks_add(&reader->clocks, readings, n, &problem);
	return status < 0 || !problem ? status : left_out(reader, problem);
}

/* Finds when a packet is. A clock whose times are differences advances now, because later packets add to it. */
static struct moment find_moment(struct trace_perfetto_reader *reader, const struct packet *packet,
				 const struct trace_perfetto_sequence *sequence)
{
	uint32_t clock = packet->clock ? packet->clock : sequence->coming_clock;
	struct moment moment = { .clock = reader->clocks.trace_clock, .is_taken = true };
	int64_t time_ns = 0;

	if (!packet->has_timestamp)
		return moment;
	if (clock)
		moment.clock = trace_perfetto_clock_id(clock, packet->sequence);
	moment.is_taken = trace_perfetto_clocks_take(&reader->clocks, moment.clock, packet->timestamp, &time_ns) == TRACE_ROW;
	moment.time = moment.is_taken ? (uint64_t)time_ns : packet->timestamp;
	return moment;
}

/* Converts a moment to the trace's clock: TRACE_ROW, or TRACE_OK if that is not possible yet. */
static int resolve(struct trace_perfetto_reader *reader, const struct moment *moment, int64_t *ts_ns)
{
	if (moment->is_taken)
		return trace_perfetto_clocks_resolve(&reader->clocks, moment->clock, (int64_t)moment->time, ts_ns);
	/* nobody knows what a difference was added to that came before all snapshots of its clock */
	if (trace_perfetto_clocks_is_incremental(&reader->clocks, moment->clock))
		return TRACE_OK;
	return trace_perfetto_clocks_convert(&reader->clocks, moment->clock, moment->time, ts_ns);
}

/* ---- Contents of a packet ---- */

/* False, with the reason, unless a descriptor has what it needs. */
static bool is_sound_descriptor(const struct trace_perfetto_descriptor *descriptor, const char **problem)
{
	*problem = !descriptor->has_uuid				   ? "track descriptor without uuid"
		   : descriptor->uuid == 0 && descriptor->parent_uuid != 0 ? "descriptor of the default track with a parent"
		   : descriptor->has_thread && (!descriptor->thread.has_pid || !descriptor->thread.has_tid)
			   ? "descriptor of a thread without pid or tid"
		   : !descriptor->has_thread && descriptor->has_process && !descriptor->process.has_pid
			   ? "descriptor of a process without pid"
			   : NULL;
	return !*problem;
}

/* Takes what a descriptor says of its track, and leaves the sequence as it is. */
static int describe(struct trace_perfetto_reader *reader, struct trace_text message)
{
	struct trace_perfetto_descriptor descriptor;
	const char *problem;
	int status = trace_perfetto_read_descriptor(message, &descriptor);

	/* the rest is taken, or reported, when its turn comes */
	if (status < 0 || !is_sound_descriptor(&descriptor, &problem) ||
	    trace_perfetto_tracks_knows(&reader->tracks, descriptor.uuid))
		return status;
	return trace_perfetto_tracks_describe(&reader->tracks, &descriptor);
}

static int take_track_descriptor(struct trace_perfetto_reader *reader, struct trace_perfetto_sequence *sequence,
				 struct trace_text message)
{
	struct trace_perfetto_descriptor descriptor;
	const struct trace_perfetto_thread *thread = &descriptor.thread;
	const char *problem;
	int status = trace_perfetto_read_descriptor(message, &descriptor);

	if (status < 0)
		return status;
	if (!is_sound_descriptor(&descriptor, &problem))
		return left_out(reader, problem);
	if (descriptor.has_thread && sequence->is_valid) {
		trace_perfetto_sequence_set_thread(sequence, thread->pid, thread->tid);
		trace_perfetto_sequence_set_reference(sequence, thread->time_us, thread->thread_time_us,
						      thread->instruction_count);
	}
	return trace_perfetto_tracks_describe(&reader->tracks, &descriptor);
}

static int take_thread_descriptor(struct trace_perfetto_reader *reader, struct trace_perfetto_sequence *sequence,
				  struct trace_text message)
{
	struct trace_perfetto_thread thread;
	int status = trace_perfetto_read_thread(message, &thread);

	if (status < 0)
		return status;
	if (!sequence->is_valid)
		return left_out(reader, "thread descriptor while the state is not valid");
	trace_perfetto_sequence_set_thread(sequence, thread.pid, thread.tid);
	trace_perfetto_sequence_set_reference(sequence, thread.time_us, thread.thread_time_us, thread.instruction_count);
	return trace_perfetto_tracks_name_thread(&reader->tracks, &thread);
}

static int take_process_descriptor(struct trace_perfetto_reader *reader, struct trace_text message)
{
	struct trace_perfetto_process process;
	int status = trace_perfetto_read_process(message, &process);

	return status < 0 ? status : trace_perfetto_tracks_name_process(&reader->tracks, &process);
}

static int take_range_of_interest(struct trace_perfetto_reader *reader, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number != RANGE_START_US || field.wire != TRACE_WIRE_VARINT)
			continue;
		reader->events.has_start = true;
		reader->events.start_ns = trace_saturating_product((int64_t)field.value, 1000);
	}
	return status;
}

static int take_compressed(struct trace_perfetto_reader *reader, struct trace_text packed);

static int take_contents(struct trace_perfetto_reader *reader, const struct packet *packet,
			 struct trace_perfetto_sequence *sequence, int64_t ts_ns)
{
	if (packet->ftrace_events.data)
		return trace_perfetto_ftrace_take(&reader->ftrace, packet->ftrace_events);
	if (packet->track_event.data) {
		if (!packet->has_sequence)
			return left_out(reader, "track event without a sequence");
		return trace_perfetto_events_take(&reader->events, sequence, packet->track_event, packet->has_timestamp, ts_ns);
	}
	if (packet->track_descriptor.data)
		return take_track_descriptor(reader, sequence, packet->track_descriptor);
	if (packet->thread_descriptor.data)
		return take_thread_descriptor(reader, sequence, packet->thread_descriptor);
	if (packet->process_descriptor.data)
		return take_process_descriptor(reader, packet->process_descriptor);
	if (packet->process_tree.data)
		return trace_perfetto_tasks_take_tree(&reader->tasks, packet->process_tree);
	if (packet->range_of_interest.data)
		return take_range_of_interest(reader, packet->range_of_interest);
	return left_out(reader, "packet: other data");
}

static int take_state(const struct packet *packet, struct trace_perfetto_sequence *sequence)
{
	int status = TRACE_OK;

	if (!packet->has_sequence)
		return TRACE_OK;
	if (packet->is_cleared)
		trace_perfetto_sequence_clear(sequence);
	else if (packet->is_after_loss)
		trace_perfetto_sequence_lose(sequence);
	if (packet->defaults.data)
		status = trace_perfetto_sequence_set_defaults(sequence, packet->defaults);
	if (status == TRACE_OK && packet->interned_data.data && sequence->is_valid)
		status = trace_perfetto_sequence_intern(sequence, packet->interned_data);
	return status;
}

/* True if the time of a packet is known; the kernel's events are in a clock of their own. */
static bool find_time(struct trace_perfetto_reader *reader, const struct packet *packet, const struct moment *moment,
		      int64_t *ts_ns)
{
	int64_t kernel_ns;

	return resolve(reader, moment, ts_ns) == TRACE_ROW &&
	       (!packet->ftrace_events.data || reader->is_giving_up ||
		trace_perfetto_clocks_resolve(&reader->clocks, trace_perfetto_clock_id(TRACE_CLOCK_BOOTTIME, 0), 0,
					      &kernel_ns) == TRACE_ROW);
}

static int take_waiting(struct trace_perfetto_reader *reader);

/* Takes all packets that wait, and leaves out those whose clock is still not known. */
static int give_up_waiting(struct trace_perfetto_reader *reader)
{
	int status;

	reader->is_giving_up = true;
	status = take_waiting(reader);
	reader->is_giving_up = false;
	return status;
}

/* Keeps a packet until its clock may be known: until other clocks are connected, or until the end of the file. */
static int keep_waiting(struct trace_perfetto_reader *reader, const struct packet *packet,
			struct trace_perfetto_sequence *sequence, const struct moment *moment)
{
	struct waiting_head head = { *moment, packet->bytes.n_bytes };
	int status = trace_bytes_append(&reader->waiting, (struct trace_text){ (const char *)&head, sizeof head }, NULL);

	sequence->n_waiting++;
	if (status == TRACE_OK)
		status = trace_bytes_append(&reader->waiting, packet->bytes, NULL);
	return status < 0 || reader->waiting.n_bytes <= MAX_WAITING_BYTES ? status : give_up_waiting(reader);
}

/* True if an event's track may be described further on: writers of some languages put it behind its first event. */
static bool lacks_descriptor(const struct trace_perfetto_reader *reader, const struct packet *packet,
			     const struct trace_perfetto_sequence *sequence)
{
	uint64_t uuid = packet->track_event.data && packet->has_sequence && !reader->is_giving_up
				? trace_perfetto_events_track(sequence, packet->track_event)
				: 0;

	return uuid && !trace_perfetto_tracks_knows(&reader->tracks, uuid);
}

/* Takes a packet, all of whose sequence's packets before it have been taken. */
static int take_next(struct trace_perfetto_reader *reader, const struct packet *packet,
		     struct trace_perfetto_sequence *sequence, const struct moment *moment)
{
	int64_t ts_ns;
	bool has_time = find_time(reader, packet, moment, &ts_ns);
	int status;

	if (!has_time && !reader->is_giving_up)
		return keep_waiting(reader, packet, sequence, moment);
	status = take_state(packet, sequence);
	if (status < 0 || packet->clock_snapshot.data)
		return status;
	if (packet->needs_state && !sequence->is_valid)
		return left_out(reader, "packet needs incremental state that is not valid");
	/* to apply the state again changes nothing, as those behind this packet wait as well */
	if (has_time && lacks_descriptor(reader, packet, sequence))
		return keep_waiting(reader, packet, sequence, moment);
	return has_time ? take_contents(reader, packet, sequence, ts_ns)
			: left_out(reader, "timestamp in a clock that cannot be resolved");
}

static int retry_waiting(struct trace_perfetto_reader *reader);

static int take_fields(struct trace_perfetto_reader *reader, const struct packet *packet)
{
	struct trace_perfetto_sequence *sequence;
	struct moment moment;
	int status;

	if (packet->compressed.data)
		return take_compressed(reader, packet->compressed);
	if (packet->is_zstd)
		return left_out(reader, "packets compressed with zstd");
	if (packet->machine)
		return left_out(reader, "packet of another machine");
	status = find_sequence(reader, packet->sequence, &sequence);
	if (status == TRACE_OK && packet->has_sequence)
		status = trace_perfetto_sequence_come(sequence, packet->is_cleared, packet->defaults);
	if (status == TRACE_OK && packet->clock_snapshot.data)
		status = take_snapshot(reader, packet);
	/* a descriptor may stand behind the events that wait for it */
	if (status == TRACE_OK && packet->track_descriptor.data && reader->waiting.n_bytes > 0)
		status = describe(reader, packet->track_descriptor);
	if (status == TRACE_OK && (packet->clock_snapshot.data || packet->track_descriptor.data))
		status = retry_waiting(reader);
	if (status < 0)
		return status;
	moment = find_moment(reader, packet, sequence);
	return sequence->n_waiting > 0 ? keep_waiting(reader, packet, sequence, &moment)
				       : take_next(reader, packet, sequence, &moment);
}

/* Turns the status of a packet into that of the file. A packet that is no valid message is left out; other errors are final. */
static int judge(struct trace_perfetto_reader *reader, int status)
{
	uint64_t n_mended = reader->n_mended;

	reader->n_mended = 0;
	if (status == TRACE_OK && n_mended > 0 && reader->is_strict)
		return trace_fail(reader->assembly, TRACE_ERROR_FORMAT, reader->offset, "a text in the packet is not UTF-8");
	if (status == TRACE_OK && n_mended > 0)
		return trace_report_add(reader->assembly, TRACE_MENDED, n_mended, "string that is not UTF-8");
	if (status == TRACE_ERROR_FORMAT && !reader->is_strict) {
		reader->n_invalid++;
		return left_out(reader, "packet that is no valid protobuf message");
	}
	if (status == TRACE_ERROR_FORMAT)
		return trace_fail(reader->assembly, status, reader->offset, "the packet is no valid protobuf message");
	if (status == TRACE_ERROR_LIMIT && reader->budget.is_exceeded)
		return trace_fail(reader->assembly, status, reader->offset,
				  "descriptors, interned texts and clocks take more than %d MiB", MAX_REMEMBERED_BYTES >> 20);
	if (status == TRACE_ERROR_MEMORY)
		return trace_fail(reader->assembly, status, reader->offset, "out of memory");
	return status;
}

/* ---- Packets that wait ---- */

static int take_waiting_packet(struct trace_perfetto_reader *reader, const struct waiting_head *head, const char *bytes)
{
	struct trace_perfetto_sequence *sequence;
	struct packet packet;
	int status = read_packet((struct trace_text){ bytes, head->n_bytes }, &packet);

	if (status == TRACE_OK)
		status = find_sequence(reader, packet.sequence, &sequence);
	if (status == TRACE_OK)
		status = sequence->n_waiting > 0 ? keep_waiting(reader, &packet, sequence, &head->moment)
						 : take_next(reader, &packet, sequence, &head->moment);
	return judge(reader, status);
}

/* Takes the packets that wait. Of a sequence these are the first one whose clock is not known and all behind it, so that each
 * packet is read with the state that those before it have made. */
static int take_waiting(struct trace_perfetto_reader *reader)
{
	struct trace_bytes waiting = reader->waiting;
	int status = TRACE_OK;

	reader->waiting = (struct trace_bytes){ 0 };
	for (size_t i = 0; i < reader->n_sequences; i++)
		reader->sequences[i]->n_waiting = 0;
	for (size_t at = 0; at < waiting.n_bytes && status == TRACE_OK;) {
		struct waiting_head head;

		memcpy(&head, waiting.data + at, sizeof head);
		at += sizeof head;
		status = take_waiting_packet(reader, &head, waiting.data + at);
		at += head.n_bytes;
	}
	trace_bytes_release(&waiting);
	return status;
}

/* After a snapshot or a descriptor: if it has connected clocks or describes a track, their packets come before the next ones. */
static int retry_waiting(struct trace_perfetto_reader *reader)
{
	uint64_t n_changes = reader->clocks.n_changes + reader->tracks.n_described;

	if (reader->waiting.n_bytes == 0 || reader->n_changes == n_changes ||
	    reader->n_retried_bytes + reader->waiting.n_bytes > MAX_RETRIED_BYTES)
		return TRACE_OK;
	reader->n_changes = n_changes;
	reader->n_retried_bytes += reader->waiting.n_bytes;
	return take_waiting(reader);
}

static int take_packet(struct trace_perfetto_reader *reader, struct trace_text bytes)
{
	struct packet packet;
	int status = read_packet(bytes, &packet);

	reader->n_packets++;
	return judge(reader, status < 0 ? status : take_fields(reader, &packet));
}

/* ---- Pieces of the file ---- */

static int leave_out_large(struct trace_perfetto_reader *reader)
{
	return trace_report_add(reader->assembly, TRACE_LEFT_OUT, 1, "packet of more than %d MiB", MAX_PACKET_BYTES >> 20);
}

/* Takes the whole fields in some bytes of a message Trace: *n_taken bytes. The next *n_to_skip bytes are to be skipped.
 * `offset` is where the bytes begin in the file. */
static int take_whole(struct trace_perfetto_reader *reader, struct trace_text bytes, uint64_t offset, size_t *n_taken,
		      uint64_t *n_to_skip)
{
	struct trace_message file = trace_message_of(bytes);
	int status = TRACE_OK;

	*n_to_skip = 0;
	while (status == TRACE_OK && *n_to_skip == 0) {
		struct trace_message rest = file;
		struct trace_field field;
		uint64_t n_bytes, n_left;

		*n_taken = (size_t)(file.at - bytes.data);
		if (!reader->is_in_compressed)
			reader->offset = offset + *n_taken;
		status = trace_message_next_head(&rest, &field, &n_bytes);
		if (status < 0 && rest.end - file.at < HEAD_BYTES)
			return TRACE_OK; /* there may be more to come */
		if (status < 0)
			return trace_fail(reader->assembly, TRACE_ERROR_FORMAT, reader->offset, "no packet begins here");
		if (status == TRACE_OK)
			break;
		n_left = (uint64_t)(rest.end - rest.at);
		status = TRACE_OK;
		if (field.number != TRACE_PACKET || field.wire != TRACE_WIRE_BYTES || n_bytes > MAX_PACKET_BYTES) {
			status = field.number == TRACE_PACKET && field.wire == TRACE_WIRE_BYTES
					 ? leave_out_large(reader)
					 : left_out(reader, "field of the file that is no packet");
			*n_to_skip = n_bytes > n_left ? n_bytes - n_left : 0;
			n_bytes = n_bytes > n_left ? n_left : n_bytes;
		} else if (n_bytes > n_left) {
			return TRACE_OK;
		} else {
			status = take_packet(reader, (struct trace_text){ rest.at, (size_t)n_bytes });
		}
		file.at = rest.at + n_bytes;
		*n_taken = (size_t)(file.at - bytes.data);
	}
	return status;
}

static int feed(void *parser, const char *bytes, size_t n_bytes, size_t *n_taken)
{
	struct trace_perfetto_reader *reader = parser;
	size_t n_skipped = n_bytes < reader->n_to_skip ? n_bytes : (size_t)reader->n_to_skip, n_whole = 0;
	int status = TRACE_OK;

	reader->n_to_skip -= n_skipped;
	if (n_skipped < n_bytes)
		status = take_whole(reader, (struct trace_text){ bytes + n_skipped, n_bytes - n_skipped },
				    reader->n_taken + n_skipped, &n_whole, &reader->n_to_skip);
	*n_taken = n_skipped + n_whole;
	reader->n_taken += *n_taken;
	return status;
}

static int end(void *parser, const char *bytes, size_t n_bytes)
{
	struct trace_perfetto_reader *reader = parser;
	int status = TRACE_OK;

	(void)bytes;
	reader->offset = reader->n_taken;
	if ((n_bytes > 0 || reader->n_to_skip > 0) && reader->is_strict)
		return trace_fail(reader->assembly, TRACE_ERROR_FORMAT, reader->n_taken, "the file ends inside a packet");
	if (reader->n_packets > 0 && reader->n_invalid >= reader->n_packets)
		return trace_fail(reader->assembly, TRACE_ERROR_NOT_TRACE, reader->n_taken, "none of the packets can be read");
	if (n_bytes > 0 || reader->n_to_skip > 0)
		status = trace_report_add(reader->assembly, TRACE_MENDED, 1, "file that ends inside a packet");
	if (status == TRACE_OK)
		status = give_up_waiting(reader);
	if (status == TRACE_OK)
		status = judge(reader, trace_perfetto_sched_finish(&reader->sched));
	if (status == TRACE_OK)
		status = judge(reader, trace_perfetto_tasks_finish(&reader->tasks, &reader->tracks));
	return status < 0 ? status : judge(reader, trace_perfetto_tracks_finish(&reader->tracks));
}

/* ---- Compressed packets ---- */

/* Takes the whole packets, and moves the rest to the front. */
static int take_unpacked(struct trace_perfetto_reader *reader, uint64_t *n_to_skip)
{
	struct trace_bytes *unpacked = &reader->unpacked;
	size_t n_skipped = unpacked->n_bytes < *n_to_skip ? unpacked->n_bytes : (size_t)*n_to_skip, n_taken = 0;
	int status = TRACE_OK;

	*n_to_skip -= n_skipped;
	if (n_skipped < unpacked->n_bytes)
		status = take_whole(reader, (struct trace_text){ unpacked->data + n_skipped, unpacked->n_bytes - n_skipped }, 0,
				    &n_taken, n_to_skip);
	n_taken += n_skipped;
	unpacked->n_bytes -= n_taken;
	memmove(unpacked->data, unpacked->data + n_taken, unpacked->n_bytes);
	return status;
}

static int unpack(struct trace_perfetto_reader *reader, z_stream *stream)
{
	struct trace_bytes *unpacked = &reader->unpacked;
	uint64_t n_to_skip = 0;
	int status = TRACE_OK, unpacking = Z_OK;

	while (status == TRACE_OK && unpacking == Z_OK) {
		status = trace_bytes_reserve(unpacked, UNPACKED_PIECE_BYTES);
		if (status < 0)
			return status;
		stream->next_out = (Bytef *)unpacked->data + unpacked->n_bytes;
		stream->avail_out = (uInt)(unpacked->n_allocated - unpacked->n_bytes);
		unpacking = inflate(stream, Z_NO_FLUSH);
		unpacked->n_bytes = unpacked->n_allocated - stream->avail_out;
		status = take_unpacked(reader, &n_to_skip);
	}
	if (status < 0)
		return status;
	if (unpacking == Z_MEM_ERROR)
		return TRACE_ERROR_MEMORY;
	return unpacking != Z_STREAM_END || unpacked->n_bytes > 0 || n_to_skip > 0 ? TRACE_ERROR_FORMAT : TRACE_OK;
}

static int take_compressed(struct trace_perfetto_reader *reader, struct trace_text packed)
{
	z_stream stream = { 0 };
	int status;

	if (reader->is_in_compressed)
		return left_out(reader, "compressed packets inside compressed packets");
	if (inflateInit(&stream) != Z_OK)
		return TRACE_ERROR_MEMORY;
	stream.next_in = (Bytef *)packed.data;
	stream.avail_in = (uInt)packed.n_bytes;
	reader->is_in_compressed = true;
	status = unpack(reader, &stream);
	reader->is_in_compressed = false;
	inflateEnd(&stream);
	trace_bytes_clear(&reader->unpacked);
	return status;
}

const struct trace_format trace_perfetto = { "Perfetto protobuf", recognise, begin, feed, end, release };
