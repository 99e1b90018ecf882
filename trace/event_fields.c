#include "trace/event_fields.h"

#include <stdlib.h>
#include <string.h>

int trace_fields_init(struct trace_event_fields *fields)
{
	*fields = (struct trace_event_fields){ 0 };
	fields->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	return fields->c_locale ? TRACE_OK : TRACE_ERROR_MEMORY;
}

void trace_fields_release(struct trace_event_fields *fields)
{
	trace_bytes_release(&fields->texts);
	trace_bytes_release(&fields->args);
	free(fields->samples);
	if (fields->c_locale)
		freelocale(fields->c_locale);
	*fields = (struct trace_event_fields){ 0 };
}

void trace_fields_begin(struct trace_event_fields *fields, uint64_t offset)
{
	fields->offset = offset;
	fields->phase = 0;
	fields->ts.status = fields->dur.status = TRACE_TIME_NOT_A_NUMBER;
	for (int i = 0; i < TRACE_N_FIELDS; i++)
		fields->slices[i] = TRACE_NO_SLICE;
	trace_bytes_clear(&fields->texts);
	trace_fields_begin_args(fields);
}

void trace_fields_begin_args(struct trace_event_fields *fields)
{
	trace_bytes_clear(&fields->args);
	fields->n_samples = 0;
}

static bool is(struct trace_text text, const char *word)
{
	return memcmp(text.data, word, text.n_bytes) == 0;
}

enum trace_field trace_field_of_key(struct trace_text key)
{
	switch (key.n_bytes) {
	case 2:
		return is(key, "ph")   ? TRACE_FIELD_PHASE
		       : is(key, "ts") ? TRACE_FIELD_TIME
		       : is(key, "id") ? TRACE_FIELD_ID
				       : TRACE_FIELD_OTHER;
	case 3:
		return is(key, "pid")	? TRACE_FIELD_PID
		       : is(key, "tid") ? TRACE_FIELD_TID
		       : is(key, "dur") ? TRACE_FIELD_DURATION
		       : is(key, "cat") ? TRACE_FIELD_CATEGORY
					: TRACE_FIELD_OTHER;
	case 4:
		return is(key, "name") ? TRACE_FIELD_NAME : is(key, "args") ? TRACE_FIELD_ARGS : TRACE_FIELD_OTHER;
	default:
		return TRACE_FIELD_OTHER;
	}
}

static void set_time(struct trace_field_time *time, struct trace_text value)
{
	time->status = value.data ? trace_time_from_us(value.data, value.n_bytes, &time->ns) : TRACE_TIME_NOT_A_NUMBER;
}

int trace_fields_set(struct trace_event_fields *fields, enum trace_field field, struct trace_text value)
{
	switch (field) {
	case TRACE_FIELD_PHASE:
		fields->phase = value.data && value.n_bytes == 1 ? value.data[0] : 0;
		return TRACE_OK;
	case TRACE_FIELD_TIME:
		set_time(&fields->ts, value);
		return TRACE_OK;
	case TRACE_FIELD_DURATION:
		set_time(&fields->dur, value);
		return TRACE_OK;
	case TRACE_FIELD_PID:
	case TRACE_FIELD_TID:
	case TRACE_FIELD_ID:
	case TRACE_FIELD_NAME:
	case TRACE_FIELD_CATEGORY:
		return trace_bytes_append(&fields->texts, value, &fields->slices[field]);
	default:
		return TRACE_OK;
	}
}

struct trace_text trace_fields_text(const struct trace_event_fields *fields, enum trace_field field)
{
	return trace_bytes_text(&fields->texts, fields->slices[field]);
}

struct trace_text trace_fields_args(const struct trace_event_fields *fields)
{
	struct trace_text args = { fields->args.data, fields->args.n_bytes };

	while (args.n_bytes > 0 && strchr(" \t\r\n:", args.data[0])) {
		args.data++;
		args.n_bytes--;
	}
	if (args.n_bytes == 0 || (args.n_bytes == 4 && is(args, "null")))
		return (struct trace_text){ NULL, 0 };
	return args;
}

int trace_fields_sample_key(struct trace_event_fields *fields, struct trace_text key)
{
	struct trace_sample *sample;

	if (fields->n_samples == fields->n_samples_allocated) {
		size_t n_allocated = fields->n_samples_allocated ? 2 * fields->n_samples_allocated : 16;
		struct trace_sample *samples = realloc(fields->samples, n_allocated * sizeof *samples);

		if (!samples)
			return TRACE_ERROR_MEMORY;
		fields->samples = samples;
		fields->n_samples_allocated = n_allocated;
	}
	sample = &fields->samples[fields->n_samples];
	*sample = (struct trace_sample){ .position = fields->n_samples++ };
	return trace_bytes_append(&fields->texts, key, &sample->key);
}

int trace_fields_sample_value(struct trace_event_fields *fields, struct trace_text value)
{
	struct trace_sample *sample = &fields->samples[fields->n_samples - 1];
	struct trace_slice copy;
	locale_t locale_before;

	sample->is_numeric = value.data && trace_is_decimal(value.data, value.n_bytes);
	if (!sample->is_numeric)
		return TRACE_OK;
	/* strtod wants a NUL behind the number. */
	if (trace_bytes_append(&fields->texts, value, &copy) < 0 ||
	    trace_bytes_append(&fields->texts, (struct trace_text){ "", 1 }, NULL) < 0)
		return TRACE_ERROR_MEMORY;
	locale_before = uselocale(fields->c_locale);
	sample->value = strtod(fields->texts.data + copy.start, NULL);
	uselocale(locale_before);
	fields->texts.n_bytes = copy.start;
	return TRACE_OK;
}

static int compare_positions(const void *left, const void *right)
{
	const struct trace_sample *a = left, *b = right;

	return (a->position > b->position) - (a->position < b->position);
}

static int compare_keys(const void *left, const void *right)
{
	const struct trace_sample *a = left, *b = right;
	size_t n_bytes_a = a->key_text.n_bytes, n_bytes_b = b->key_text.n_bytes;
	int order = memcmp(a->key_text.data, b->key_text.data, n_bytes_a < n_bytes_b ? n_bytes_a : n_bytes_b);

	if (order != 0)
		return order;
	if (n_bytes_a != n_bytes_b)
		return n_bytes_a < n_bytes_b ? -1 : 1;
	return compare_positions(left, right);
}

static bool same_key(const struct trace_sample *a, const struct trace_sample *b)
{
	return a->key_text.n_bytes == b->key_text.n_bytes &&
	       memcmp(a->key_text.data, b->key_text.data, a->key_text.n_bytes) == 0;
}

void trace_fields_settle_samples(struct trace_event_fields *fields)
{
	struct trace_sample *samples = fields->samples;
	size_t n_samples = fields->n_samples, n_left = 0;

	for (size_t i = 0; i < n_samples; i++)
		samples[i].key_text = trace_bytes_text(&fields->texts, samples[i].key);
	if (n_samples > 1)
		qsort(samples, n_samples, sizeof *samples, compare_keys);
	for (size_t i = 0; i < n_samples; i++) {
		bool superseded = i + 1 < n_samples && same_key(&samples[i], &samples[i + 1]);

		if (samples[i].is_numeric && !superseded)
			samples[n_left++] = samples[i];
	}
	if (n_left > 1)
		qsort(samples, n_left, sizeof *samples, compare_positions);
	fields->n_samples = n_left;
}

size_t trace_fields_kept_bytes(const struct trace_event_fields *fields)
{
	return fields->texts.n_bytes + fields->args.n_bytes + fields->n_samples * sizeof *fields->samples;
}
