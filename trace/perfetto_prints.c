#include "trace/perfetto_prints.h"

#include <string.h>

#include "trace/protobuf.h"
#include "trace/utf8.h"

enum { PRINT_TEXT = 2 }; /* of the message PrintFtraceEvent */

/* The contents of a print. */
struct mark {
	char phase;
	bool has_pid;
	int64_t tid, pid, ts_ns;
	struct trace_text name, track; /* those that the phase has */
	int64_t number;		       /* the value, or the cookie */
};

void trace_perfetto_prints_release(struct trace_perfetto_prints *prints)
{
	trace_bytes_release(&prints->mended);
}

static int leave_out(struct trace_perfetto_prints *prints, const char *what)
{
	return trace_leave_out(prints->assembly, 1, what);
}

/* ---- Text ---- */

/* Takes the text before the next bar, and the bar; an empty text at the end. */
static struct trace_text next_part(struct trace_text *rest)
{
	const char *bar = rest->n_bytes > 0 ? memchr(rest->data, '|', rest->n_bytes) : NULL;
	struct trace_text part = { rest->data, bar ? (size_t)(bar - rest->data) : rest->n_bytes };
	size_t n_taken = part.n_bytes + (bar != NULL);

	*rest = (struct trace_text){ rest->data + n_taken, rest->n_bytes - n_taken };
	return part;
}

/* Reads a decimal integer. False if it is none, or does not fit into 64 bits. */
static bool read_number(struct trace_text text, int64_t *number)
{
	bool is_negative = text.n_bytes > 0 && text.data[0] == '-';
	size_t i = is_negative;
	uint64_t value = 0, most = (uint64_t)INT64_MAX + is_negative;

	if (i == text.n_bytes)
		return false;
	for (; i < text.n_bytes; i++) {
		unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';

		if (digit > 9 || value > (most - digit) / 10)
			return false;
		value = 10 * value + digit;
	}
	*number = is_negative ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

static bool read_pid(struct trace_text text, int64_t *pid)
{
	return read_number(text, pid) && *pid >= 0 && *pid <= INT32_MAX;
}

/* Reads NAME|COOKIE or NAME|VALUE. False if a part is missing. */
static bool read_named_number(struct trace_text rest, struct mark *mark)
{
	mark->name = next_part(&rest);
	return mark->name.n_bytes > 0 && read_number(next_part(&rest), &mark->number);
}

static bool read_track(struct trace_text rest, struct mark *mark)
{
	struct trace_text next;

	mark->track = next_part(&rest);
	if (mark->track.n_bytes == 0)
		return false;
	if (mark->phase == 'G')
		return read_named_number(rest, mark);
	/* an end may leave the name out */
	next = next_part(&rest);
	if (mark->phase == 'H')
		return read_number(rest.n_bytes > 0 ? next_part(&rest) : next, &mark->number);
	mark->name = next;
	return mark->name.n_bytes > 0;
}

static bool read_text(struct trace_text text, struct mark *mark)
{
	struct trace_text phase, rest;

	while (text.n_bytes > 0 && (text.data[text.n_bytes - 1] == '\n' || text.data[text.n_bytes - 1] == 0))
		text.n_bytes--;
	rest = text;
	phase = next_part(&rest);
	if (phase.n_bytes == 0)
		return false;
	mark->phase = phase.data[0];
	mark->has_pid = read_pid(next_part(&rest), &mark->pid);
	if (mark->phase == 'E')
		return phase.n_bytes == 1;
	if (phase.n_bytes != 1 || !mark->has_pid)
		return false;
	switch (mark->phase) {
	case 'B':
		mark->name = rest;
		return true;
	case 'I':
		mark->name = next_part(&rest);
		return mark->name.n_bytes > 0;
	case 'C':
	case 'S':
	case 'F':
		return read_named_number(rest, mark);
	case 'G':
	case 'H':
	case 'N':
		return read_track(rest, mark);
	default:
		return false;
	}
}

/* ---- Events ---- */

/* Adds an event on the thread that prints. Its process is the one in the print; otherwise the last one known for the thread, or
 * 0. */
static int take_on_thread(struct trace_perfetto_prints *prints, const struct mark *mark)
{
	struct trace_perfetto_place place;
	struct trace_event event = { .ts_ns = mark->ts_ns };
	int64_t pid = mark->has_pid && mark->pid ? mark->pid : trace_perfetto_tasks_pid(prints->tasks, mark->tid);
	int status = TRACE_OK;

	if (!pid && mark->phase == 'E')
		return leave_out(prints, "print E without B");
	if (pid)
		status = trace_perfetto_tasks_place(prints->tasks, mark->tid, pid);
	if (status == TRACE_OK)
		status = trace_perfetto_tracks_thread(prints->tracks, pid, mark->tid, &place);
	if (status < 0)
		return status;
	event.track = event.thread = place.thread;
	if (mark->phase == 'E')
		return trace_add_end(prints->assembly, &event, "print E without B");
	event.name = mark->name;
	return mark->phase == 'B' ? trace_add_begin(prints->assembly, &event) : trace_add_instant(prints->assembly, &event);
}

static int take_operation(struct trace_perfetto_prints *prints, const struct mark *mark, struct trace_track *process)
{
	bool is_named = mark->phase == 'S' || mark->phase == 'F';
	enum trace_atrace kind = is_named	      ? TRACE_ATRACE_OPERATION
				 : mark->phase == 'N' ? TRACE_ATRACE_INSTANTS
						      : TRACE_ATRACE_ON_TRACK;
	struct trace_event event = { .ts_ns = mark->ts_ns };
	struct trace_perfetto_place place;
	int status = trace_perfetto_tracks_atrace(prints->tracks, process, kind, is_named ? mark->name : mark->track,
						  mark->number, &event.track);

	if (status == TRACE_OK && trace_perfetto_tasks_pid(prints->tasks, mark->tid) == mark->pid) {
		status = trace_perfetto_tracks_thread(prints->tracks, mark->pid, mark->tid, &place);
		event.thread = place.thread;
	}
	if (status < 0)
		return status;
	if (mark->phase == 'H')
		return trace_add_end(prints->assembly, &event, "print H without G");
	if (mark->phase != 'F')
		event.name = mark->name;
	if (is_named)
		return trace_add_state(prints->assembly, &event);
	return mark->phase == 'G' ? trace_add_begin(prints->assembly, &event) : trace_add_instant(prints->assembly, &event);
}

static int take(struct trace_perfetto_prints *prints, struct mark *mark)
{
	struct trace_track *process;
	int status;

	if (strchr("BEI", mark->phase))
		return take_on_thread(prints, mark);
	status = trace_perfetto_tracks_process(prints->tracks, mark->pid, &process);
	if (status < 0)
		return status;
	if (mark->phase != 'C')
		return take_operation(prints, mark, process);
	return trace_add_sample(prints->assembly, &(struct trace_sample){ .track = process,
									  .ts_ns = mark->ts_ns,
									  .value = (double)mark->number,
									  .name = mark->name,
									  .key = { "", 0 } });
}

int trace_perfetto_prints_take(struct trace_perfetto_prints *prints, int64_t tid, int64_t ts_ns, struct trace_text message)
{
	struct trace_message fields = trace_message_of(message);
	struct mark mark = { .tid = tid, .ts_ns = ts_ns };
	struct trace_text text = { "", 0 };
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.number == PRINT_TEXT && field.wire == TRACE_WIRE_BYTES)
			text = field.text;
	}
	if (status == TRACE_OK)
		status = trace_utf8_mend(&prints->mended, &text, prints->n_mended);
	if (status < 0)
		return status;
	return read_text(text, &mark) ? take(prints, &mark) : leave_out(prints, "print that is not as atrace writes them");
}

/* ---- Marks of drivers ---- */

/* The number of a driver's field in FtraceEvent, and the numbers of that message's fields; 0 if it has none. The phase is a
 * letter, or a boolean that says whether something begins. */
static const struct driver {
	uint32_t number, pid, name, phase, begins, value;
	bool is_misplaced; /* except for counters, the process in the mark is not that of the thread */
} drivers[] = {
	{ .number = 80, .pid = 1, .name = 2, .begins = 3 },				      /* mdss */
	{ .number = 333, .pid = 1, .name = 2, .phase = 3, .begins = 5, .value = 4 },	      /* sde */
	{ .number = 348, .pid = 1, .name = 4, .phase = 5, .value = 6, .is_misplaced = true }, /* dpu */
	{ .number = 349, .pid = 1, .name = 4, .phase = 5, .value = 6 },			      /* g2d */
	{ .number = 350, .pid = 2, .name = 1, .phase = 3, .value = 4 },			      /* mali */
	{ .number = 467, .pid = 3, .name = 4, .phase = 2, .value = 5 },			      /* lwis */
	{ .number = 484, .pid = 1, .name = 2, .phase = 4, .begins = 3, .value = 5 },	      /* samsung */
};

static const struct driver *find_driver(uint32_t number)
{
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		if (drivers[i].number == number)
			return &drivers[i];
	}
	return NULL;
}

bool trace_perfetto_prints_knows(uint32_t number)
{
	return find_driver(number) != NULL;
}

int trace_perfetto_prints_take_mark(struct trace_perfetto_prints *prints, uint32_t number, int64_t tid, int64_t ts_ns,
				    struct trace_text message)
{
	const struct driver *driver = find_driver(number);
	struct trace_message fields = trace_message_of(message);
	struct mark mark = { .tid = tid, .ts_ns = ts_ns, .has_pid = true, .name = { "", 0 } };
	bool begins = false;
	struct trace_field field;
	int status;

	while ((status = trace_message_next(&fields, &field)) == TRACE_ROW) {
		if (field.wire == TRACE_WIRE_BYTES && field.number == driver->name)
			mark.name = field.text;
		if (field.wire != TRACE_WIRE_VARINT)
			continue;
		if (field.number == driver->pid)
			mark.pid = (int32_t)field.value;
		else if (field.number == driver->phase)
			mark.phase = (char)field.value;
		else if (field.number == driver->begins)
			begins = field.value != 0;
		else if (field.number == driver->value)
			mark.number = (int64_t)field.value;
	}
	if (status == TRACE_OK)
		status = trace_utf8_mend(&prints->mended, &mark.name, prints->n_mended);
	if (status < 0)
		return status;
	if (!mark.phase && driver->begins)
		mark.phase = begins ? 'B' : 'E';
	if (!mark.phase || !strchr("BEIC", mark.phase) || mark.pid < 0)
		return leave_out(prints, "mark of a driver of an unknown phase");
	mark.has_pid = !driver->is_misplaced || mark.phase == 'C';
	return take(prints, &mark);
}
