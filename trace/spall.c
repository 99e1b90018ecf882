#include "trace/spall.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/json_writer.h"
#include "trace/utf8.h"

__extension__ typedef unsigned __int128 uint128;

enum { HEADER_BYTES = 32, BUFFER_HEADER_BYTES = 20, NS_PER_US = 1000 };

static const uint64_t magic = 0x0BADF00D, magic_of_addresses = 0xABADF00D;

/* Version 2 was never in use. */
enum { VERSION_FIRST = 0, VERSION_ARGS = 1, VERSION_BUFFERS = 3 };

enum event_type { EVENT_BEGIN = 3, EVENT_END = 4, EVENT_SKIP = 7, EVENT_NAME_PROCESS = 8, EVENT_NAME_THREAD = 9 };

struct spall_reader {
	struct trace_assembly *assembly;
	struct trace_wants wants;
	bool is_strict, has_header;
	uint64_t version;
	double unit;
	uint64_t n_taken;     /* bytes of the file */
	uint64_t n_in_buffer; /* remaining bytes of the current buffer */
	uint64_t n_to_skip;
	uint32_t pid, tid;	    /* of the last event, or of the buffer */
	struct trace_track *thread; /* of pid and tid; NULL before there is one */
	struct trace_bytes text;    /* a mended name */
	struct trace_json_writer args;
	uint64_t n_mended;
};

/* ---- Life ---- */

static bool recognise(const char *head, size_t n_bytes, bool is_all);

static void *begin(struct trace_assembly *assembly, const struct trace_options *options)
{
	struct spall_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return NULL;
	reader->assembly = assembly;
	reader->wants = trace_assembly_wants(assembly);
	reader->is_strict = options->strict;
	/* a thread's time stamp counter steps back where it moves to another core */
	trace_pair_in_file_order(assembly);
	return reader;
}

static void release(void *parser)
{
	struct spall_reader *reader = parser;

	if (!reader)
		return;
	trace_bytes_release(&reader->text);
	trace_write_release(&reader->args);
	free(reader);
}

/* ---- Times ---- */

/* Computes mantissa * 2^exponent, rounded half to even. False if it does not fit. */
static bool scale(uint128 mantissa, int exponent, bool is_negative, int64_t *product)
{
	uint128 rest, half;

	if (exponent >= 0) {
		if (exponent > 63 || mantissa >> (63 - exponent))
			return mantissa == 0 && (*product = 0, true);
		mantissa <<= exponent;
	} else if (exponent < -127) {
		mantissa = 0;
	} else {
		half = (uint128)1 << (-exponent - 1);
		rest = mantissa & (2 * half - 1);
		mantissa >>= -exponent;
		mantissa += rest > half || (rest == half && (mantissa & 1));
	}
	if (mantissa > INT64_MAX)
		return false;
	*product = is_negative ? -(int64_t)mantissa : (int64_t)mantissa;
	return true;
}

/* Splits a value, whose sign is ignored, into mantissa * 2^exponent. False if it is not finite. */
static bool split(double value, uint64_t *mantissa, int *exponent)
{
	enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1075, NOT_FINITE = 0x7FF };
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	*exponent = (int)(bits >> MANTISSA_BITS) & NOT_FINITE;
	*mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
	if (*exponent == NOT_FINITE)
		return false;
	if (*exponent > 0)
		*mantissa |= UINT64_C(1) << MANTISSA_BITS;
	else
		*exponent = 1; /* the number is denormal */
	*exponent -= EXPONENT_BIAS;
	return true;
}

bool trace_spall_time(double a, double b, unsigned factor, int64_t *product)
{
	uint64_t a_mantissa, b_mantissa;
	int a_exponent, b_exponent;

	return split(a, &a_mantissa, &a_exponent) && split(b, &b_mantissa, &b_exponent) &&
	       scale((uint128)a_mantissa * b_mantissa * factor, a_exponent + b_exponent, signbit(a) != signbit(b), product);
}

bool trace_spall_ticks(uint64_t ticks, double unit, int64_t *product)
{
	uint64_t mantissa;
	int exponent;

	return split(unit, &mantissa, &exponent) && scale((uint128)ticks * mantissa, exponent, signbit(unit), product);
}

/* ---- Bytes ---- */

/* Reads a little-endian integer of n bytes. */
static uint64_t load(const char *data, int n)
{
	uint64_t value = 0;

	while (n-- > 0)
		value = value << 8 | (unsigned char)data[n];
	return value;
}

static double load_double(const char *data)
{
	uint64_t bits = load(data, 8);
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static bool recognise(const char *head, size_t n_bytes, bool is_all)
{
	(void)is_all;
	return n_bytes >= 8 && (load(head, 8) == magic || load(head, 8) == magic_of_addresses);
}

static int fail(struct spall_reader *reader, int status, uint64_t offset, const char *problem)
{
	return trace_fail(reader->assembly, status, offset, "%s", problem);
}

static int out_of_memory(struct spall_reader *reader)
{
	return fail(reader, TRACE_ERROR_MEMORY, reader->n_taken, "out of memory");
}

/* ---- Events ---- */

/* Where the parts of an event are in a version of the format. */
struct layout {
	size_t n_bytes; /* without texts */
	size_t ids, time, lengths;
	bool has_args;
};

static const struct layout begin_0 = { .n_bytes = 18, .ids = 1, .time = 9, .lengths = 17 };
static const struct layout begin_1 = { .n_bytes = 20, .ids = 2, .time = 10, .lengths = 18, .has_args = true };
static const struct layout begin_3 = { .n_bytes = 11, .time = 1, .lengths = 9, .has_args = true };
static const struct layout end_0 = { .n_bytes = 17, .ids = 1, .time = 9 };
static const struct layout end_3 = { .n_bytes = 9, .time = 1 };
static const struct layout name_3 = { .n_bytes = 2, .lengths = 1 };
static const struct layout skip_1 = { .n_bytes = 5 };

static const struct layout *layout_of(const struct spall_reader *reader, char type)
{
	bool has_buffers = reader->version == VERSION_BUFFERS;

	switch (type) {
	case EVENT_BEGIN:
		return has_buffers ? &begin_3 : reader->version == VERSION_ARGS ? &begin_1 : &begin_0;
	case EVENT_END:
		return has_buffers ? &end_3 : &end_0;
	case EVENT_SKIP:
		return reader->version == VERSION_FIRST ? NULL : &skip_1;
	case EVENT_NAME_PROCESS:
	case EVENT_NAME_THREAD:
		return has_buffers ? &name_3 : NULL;
	default:
		return NULL;
	}
}

/* Returns the length of an event with its texts; 0 if n_bytes are too few to know it. */
static size_t event_bytes(const struct layout *layout, const char *data, size_t n_bytes)
{
	size_t n = layout->n_bytes;

	if (n_bytes < n)
		return 0;
	if (layout->lengths > 0)
		n += (unsigned char)data[layout->lengths];
	if (layout->has_args)
		n += (unsigned char)data[layout->lengths + 1];
	return n;
}

static int find_thread(struct spall_reader *reader, uint32_t pid, uint32_t tid)
{
	char pid_digits[12], tid_digits[12];
	struct trace_text pid_text = { pid_digits, 0 }, tid_text = { tid_digits, 0 };

	if (reader->thread && reader->pid == pid && reader->tid == tid)
		return TRACE_OK;
	reader->pid = pid;
	reader->tid = tid;
	pid_text.n_bytes = (size_t)snprintf(pid_digits, sizeof pid_digits, "%" PRIu32, pid);
	tid_text.n_bytes = (size_t)snprintf(tid_digits, sizeof tid_digits, "%" PRIu32, tid);
	return trace_find_thread(reader->assembly, pid_text, tid_text, &reader->thread);
}

static int check_text(struct spall_reader *reader, bool is_mended)
{
	if (!is_mended)
		return TRACE_OK;
	reader->n_mended++;
	return reader->is_strict
		       ? fail(reader, TRACE_ERROR_FORMAT, reader->n_taken, "a text of the event that starts here is not UTF-8")
		       : TRACE_OK;
}

/* Replaces a name that is not UTF-8 by a repaired copy, which is valid until the next call. */
static int mend_name(struct spall_reader *reader, struct trace_text *name)
{
	if (trace_utf8_is_valid(*name))
		return TRACE_OK;
	trace_bytes_clear(&reader->text);
	if (trace_utf8_append_mended(&reader->text, *name) < 0)
		return out_of_memory(reader);
	*name = (struct trace_text){ reader->text.data, reader->text.n_bytes };
	return check_text(reader, true);
}

/* Args are plain text, which becomes a string in JSON. */
static int write_args(struct spall_reader *reader, struct trace_text text, struct trace_text *args)
{
	uint64_t n_mended = reader->args.n_mended;

	if (text.n_bytes == 0 || !reader->wants.args)
		return TRACE_OK;
	trace_write_clear(&reader->args);
	trace_write_string(&reader->args, text);
	*args = trace_written(&reader->args);
	return reader->args.out_of_memory ? out_of_memory(reader) : check_text(reader, reader->args.n_mended > n_mended);
}

static int time_of(struct spall_reader *reader, const char *data, int64_t *ts_ns)
{
	bool fits = reader->version == VERSION_BUFFERS ? trace_spall_ticks(load(data, 8), reader->unit, ts_ns)
						       : trace_spall_time(load_double(data), reader->unit, NS_PER_US, ts_ns);

	return fits ? TRACE_OK
		    : fail(reader, TRACE_ERROR_RANGE, reader->n_taken,
			   "the time of the event that starts here does not fit into 64-bit nanoseconds");
}

static int add_begin(struct spall_reader *reader, const struct layout *layout, const char *data, struct trace_event *event)
{
	const char *texts = data + layout->n_bytes;
	size_t n_name = (unsigned char)data[layout->lengths];
	size_t n_args = layout->has_args ? (unsigned char)data[layout->lengths + 1] : 0;
	int status;

	event->name = (struct trace_text){ texts, n_name };
	status = mend_name(reader, &event->name);
	if (status == TRACE_OK)
		status = write_args(reader, (struct trace_text){ texts + n_name, n_args }, &event->args);
	return status == TRACE_OK ? trace_add_begin(reader->assembly, event) : status;
}

static int add_timed(struct spall_reader *reader, const struct layout *layout, const char *data)
{
	struct trace_event event = { 0 };
	int status = layout->ids ? find_thread(reader, (uint32_t)load(data + layout->ids, 4),
					       (uint32_t)load(data + layout->ids + 4, 4))
				 : TRACE_OK;

	if (status == TRACE_OK)
		status = time_of(reader, data + layout->time, &event.ts_ns);
	if (status < 0)
		return status;
	event.track = event.thread = reader->thread;
	return *data == EVENT_BEGIN ? add_begin(reader, layout, data, &event)
				    : trace_add_end(reader->assembly, &event, "end without begin");
}

static int set_name(struct spall_reader *reader, const struct layout *layout, const char *data)
{
	struct trace_text name = { data + layout->n_bytes, (unsigned char)data[layout->lengths] };
	struct trace_track *process;
	char digits[12];
	int status = mend_name(reader, &name);

	if (status < 0 || *data == EVENT_NAME_THREAD)
		return status < 0 ? status : trace_name_track(reader->assembly, reader->thread, name);
	status = trace_find_process(
		reader->assembly,
		(struct trace_text){ digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu32, reader->pid) }, &process);
	return status == TRACE_OK ? trace_name_track(reader->assembly, process, name) : status;
}

/* Processes a complete event. */
static int take_event(struct spall_reader *reader, const struct layout *layout, const char *data)
{
	trace_count_event(reader->assembly);
	switch (*data) {
	case EVENT_SKIP:
		reader->n_to_skip = load(data + 1, 4);
		return TRACE_OK;
	case EVENT_NAME_PROCESS:
	case EVENT_NAME_THREAD:
		return set_name(reader, layout, data);
	default:
		return reader->wants.spans ? add_timed(reader, layout, data) : TRACE_OK;
	}
}

/* ---- The file ---- */

static int take_header(struct spall_reader *reader, const char *data)
{
	reader->version = load(data + 8, 8);
	reader->unit = load_double(data + 16);
	reader->has_header = true;
	if (load(data, 8) == magic_of_addresses)
		return fail(reader, TRACE_ERROR_NOT_TRACE, 0,
			    "Spall's native format has addresses in place of names, and only the program knows these");
	if (reader->version != VERSION_FIRST && reader->version != VERSION_ARGS && reader->version != VERSION_BUFFERS)
		return fail(reader, TRACE_ERROR_NOT_TRACE, 8, "Spall's versions are 0, 1 and 3");
	if (!isfinite(reader->unit) || reader->unit <= 0)
		return fail(reader, TRACE_ERROR_FORMAT, 16, "the unit of time is no positive number");
	return TRACE_OK;
}

/* Returns how many bytes are taken: all n, or none if there are fewer. */
static size_t all_or_none(size_t n, size_t n_bytes)
{
	return n <= n_bytes ? n : 0;
}

static int take_buffer_header(struct spall_reader *reader, const char *data, size_t n_bytes, size_t *n_taken)
{
	*n_taken = all_or_none(BUFFER_HEADER_BYTES, n_bytes);
	if (*n_taken == 0)
		return TRACE_OK;
	reader->n_in_buffer = load(data, 4);
	return find_thread(reader, (uint32_t)load(data + 8, 4), (uint32_t)load(data + 4, 4));
}

static int take_next_event(struct spall_reader *reader, const char *data, size_t n_bytes, size_t *n_taken)
{
	bool has_buffers = reader->version == VERSION_BUFFERS;
	const struct layout *layout = layout_of(reader, *data);
	size_t n_event;
	int status;

	if (!layout)
		return trace_fail(reader->assembly, TRACE_ERROR_FORMAT, reader->n_taken,
				  "an event of type %d, which Spall does not have", (unsigned char)*data);
	n_event = event_bytes(layout, data, n_bytes);
	if (has_buffers && (n_event > 0 ? n_event : layout->n_bytes) > reader->n_in_buffer)
		return fail(reader, TRACE_ERROR_FORMAT, reader->n_taken,
			    "the event that starts here does not end in its buffer");
	if (n_event == 0 || n_event > n_bytes)
		return TRACE_OK;
	status = take_event(reader, layout, data);
	*n_taken = n_event;
	if (has_buffers)
		reader->n_in_buffer -= n_event;
	if (has_buffers && reader->n_to_skip > reader->n_in_buffer)
		return fail(reader, TRACE_ERROR_FORMAT, reader->n_taken,
			    "what is to be skipped here does not end in its buffer");
	return status;
}

static size_t skip(struct spall_reader *reader, size_t n_bytes)
{
	size_t n = reader->n_to_skip < n_bytes ? (size_t)reader->n_to_skip : n_bytes;

	reader->n_to_skip -= n;
	if (reader->version == VERSION_BUFFERS)
		reader->n_in_buffer -= n;
	return n;
}

static int take(struct spall_reader *reader, const char *data, size_t n_bytes, size_t *n_taken)
{
	*n_taken = 0;
	if (!reader->has_header) {
		*n_taken = all_or_none(HEADER_BYTES, n_bytes);
		return *n_taken > 0 ? take_header(reader, data) : TRACE_OK;
	}
	if (reader->n_to_skip > 0) {
		*n_taken = skip(reader, n_bytes);
		return TRACE_OK;
	}
	if (reader->version == VERSION_BUFFERS && reader->n_in_buffer == 0)
		return take_buffer_header(reader, data, n_bytes, n_taken);
	return take_next_event(reader, data, n_bytes, n_taken);
}

static int feed(void *parser, const char *bytes, size_t n_bytes, size_t *n_taken)
{
	struct spall_reader *reader = parser;
	size_t at = 0, n = 1;
	int status = TRACE_OK;

	while (status == TRACE_OK && n > 0 && at < n_bytes) {
		status = take(reader, bytes + at, n_bytes - at, &n);
		at += n;
		reader->n_taken += n;
	}
	*n_taken = at;
	return status;
}

static int end(void *parser, const char *bytes, size_t n_bytes)
{
	struct spall_reader *reader = parser;
	bool is_cut = n_bytes > 0 || reader->n_to_skip > 0 || reader->n_in_buffer > 0;
	int status = TRACE_OK;

	(void)bytes;
	if (!reader->has_header)
		return fail(reader, TRACE_ERROR_FORMAT, n_bytes, "the file ends in its header");
	if (is_cut && reader->is_strict)
		return fail(reader, TRACE_ERROR_FORMAT, reader->n_taken + n_bytes, "the file ends inside an event or buffer");
	if (is_cut)
		status = trace_report_add(reader->assembly, TRACE_MENDED, 1, "file cut in an event or buffer");
	if (status == TRACE_OK && reader->n_mended > 0)
		status = trace_report_add(reader->assembly, TRACE_MENDED, reader->n_mended, "string that is not UTF-8");
	return status;
}

const struct trace_format trace_spall = {
	.name = "Spall",
	.recognise = recognise,
	.begin = begin,
	.feed = feed,
	.end = end,
	.release = release,
};
