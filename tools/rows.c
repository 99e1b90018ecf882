#include "tools/rows.h"

#include <stdio.h>

enum { N_SPAN_COLUMNS = 9, N_COUNTER_COLUMNS = 7 };

static const char *decimal(__int128 value, char digits[42])
{
	unsigned __int128 magnitude = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
	char *first = digits + 41;

	*first = '\0';
	do {
		*--first = (char)('0' + (int)(magnitude % 10));
		magnitude /= 10;
	} while (magnitude);
	if (value < 0)
		*--first = '-';
	return first;
}

void row_sums_text(const struct row_sums *sums, char text[ROW_SUMS_TEXT_BYTES])
{
	char ts_digits[42], dur_digits[42];

	snprintf(text, ROW_SUMS_TEXT_BYTES, "%llu %llu %s %s %llu %llu", (unsigned long long)sums->n_rows,
		 (unsigned long long)sums->n_rows, decimal(sums->ts_ns, ts_digits), decimal(sums->dur_ns, dur_digits),
		 (unsigned long long)sums->n_name_bytes, (unsigned long long)sums->n_optional);
}

/* Appends the text as it can be stored; its length then. */
static size_t encode_text(struct row_encoder *encoder, struct copy_binary *rows, struct trace_text text, bool is_json)
{
	if (storable_repair(&text, is_json, &encoder->copy, &encoder->replaced) < 0)
		encoder->out_of_memory = true;
	copy_binary_text(rows, text);
	return text.n_bytes;
}

static void encode_span(struct row_encoder *encoder, const struct trace_event *span, struct copy_binary *rows,
			struct row_sums *sums)
{
	copy_binary_row(rows, N_SPAN_COLUMNS);
	copy_binary_int64(rows, (int64_t)sums->n_rows);
	copy_binary_int64(rows, span->ts_ns);
	copy_binary_int64(rows, span->dur_ns);
	encode_text(encoder, rows, span->pid, false);
	encode_text(encoder, rows, span->tid, false);
	sums->n_name_bytes += encode_text(encoder, rows, span->track, false);
	sums->n_name_bytes += encode_text(encoder, rows, span->name, false);
	encode_text(encoder, rows, span->category, false);
	encode_text(encoder, rows, span->args, true);
	sums->dur_ns += span->dur_ns;
	sums->n_optional += span->args.data != NULL;
}

static void encode_counter(struct row_encoder *encoder, const struct trace_event *sample, struct copy_binary *rows,
			   struct row_sums *sums)
{
	copy_binary_row(rows, N_COUNTER_COLUMNS);
	copy_binary_int64(rows, (int64_t)sums->n_rows);
	copy_binary_int64(rows, sample->ts_ns);
	sums->n_name_bytes += encode_text(encoder, rows, sample->pid, false);
	sums->n_name_bytes += encode_text(encoder, rows, sample->name, false);
	encode_text(encoder, rows, sample->id, false);
	sums->n_name_bytes += encode_text(encoder, rows, sample->key, false);
	copy_binary_float8(rows, sample->value);
	sums->n_optional += sample->id.data != NULL;
}

void row_encode(struct row_encoder *encoder, const struct trace_event *event, struct copy_binary *rows,
		struct row_sums *sums)
{
	sums->n_rows++;
	sums->ts_ns += event->ts_ns;
	if (event->kind == TRACE_SPAN)
		encode_span(encoder, event, rows, sums);
	else
		encode_counter(encoder, event, rows, sums);
	if (rows->out_of_memory)
		encoder->out_of_memory = true;
}

void row_encoder_release(struct row_encoder *encoder)
{
	trace_bytes_release(&encoder->copy);
}
