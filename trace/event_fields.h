/* trace/event_fields.h -- Fields of the trace event that is being parsed.
 *
 * Keys come in any order and may come twice: the last one counts.
 */
#ifndef IFOREST_EVENT_FIELDS_H
#define IFOREST_EVENT_FIELDS_H

#include <locale.h>

#include "trace/bytes.h"
#include "trace/decimal_time.h"

enum trace_field {
	TRACE_FIELD_OTHER,
	TRACE_FIELD_PHASE,
	TRACE_FIELD_TIME,
	TRACE_FIELD_DURATION,
	TRACE_FIELD_PID,
	TRACE_FIELD_TID,
	TRACE_FIELD_ID,
	TRACE_FIELD_NAME,
	TRACE_FIELD_CATEGORY,
	TRACE_FIELD_ARGS,
	TRACE_N_FIELDS
};

struct trace_field_time {
	enum trace_time_status status; /* TRACE_TIME_NOT_A_NUMBER if absent too */
	int64_t ns;
};

/* An argument of a counter event. */
struct trace_sample {
	struct trace_slice key;
	struct trace_text key_text; /* once settled */
	size_t position;
	bool is_numeric;
	double value;
};

struct trace_event_fields {
	uint64_t offset; /* of the event's '{' in the unpacked file */
	char phase;	 /* 0 if absent or not one character */
	struct trace_field_time ts, dur;
	struct trace_slice slices[TRACE_N_FIELDS]; /* of the fields that are kept as text */
	struct trace_bytes texts;
	struct trace_bytes args;      /* from behind the key "args" to the end of its value, as written */
	struct trace_sample *samples; /* owned */
	size_t n_samples, n_samples_allocated;
	locale_t c_locale; /* owned: numbers have a '.' wherever we run */
};

/* TRACE_OK or TRACE_ERROR_MEMORY; release in any case. */
int trace_fields_init(struct trace_event_fields *fields);
void trace_fields_release(struct trace_event_fields *fields);

/* Starts the event whose '{' is at offset. */
void trace_fields_begin(struct trace_event_fields *fields, uint64_t offset);

enum trace_field trace_field_of_key(struct trace_text key);

/* Sets a field to a number, string or literal; a value without data (null, objects, arrays) makes it absent.
 * TRACE_OK, TRACE_ERROR_MEMORY. */
int trace_fields_set(struct trace_event_fields *fields, enum trace_field field, struct trace_text value);

/* The text of a field; data is NULL if absent. Valid until the fields change. */
struct trace_text trace_fields_text(const struct trace_event_fields *fields, enum trace_field field);

/* Forgets the args of an earlier key of that name. */
void trace_fields_begin_args(struct trace_event_fields *fields);

/* The JSON text of args; data is NULL if absent, null or not kept. Valid until the fields change. */
struct trace_text trace_fields_args(const struct trace_event_fields *fields);

/* A member of the object "args" of what may be a counter: its key, then its value as in trace_fields_set.
 * TRACE_OK, TRACE_ERROR_MEMORY. */
int trace_fields_sample_key(struct trace_event_fields *fields, struct trace_text key);
int trace_fields_sample_value(struct trace_event_fields *fields, struct trace_text value);

/* Of the samples with one key leaves the last, and of those the numeric ones, in the order of the file.
 * O(n log n) for n samples. */
void trace_fields_settle_samples(struct trace_event_fields *fields);

/* How much memory the event needs by now. */
size_t trace_fields_kept_bytes(const struct trace_event_fields *fields);

#endif
